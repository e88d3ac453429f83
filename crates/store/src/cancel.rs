//! A flag by which another thread interrupts a statement, also while it waits for a lock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use crate::{Result, StoreError};

/// Interrupts what an attachment is doing.
///
/// The one who runs statements looks at it between steps ([`CancelFlag::check`]); a wait for a lock ends at once.
#[derive(Default)]
pub struct CancelFlag {
    raised: AtomicBool,
    waker: Mutex<Option<Arc<dyn Fn() + Send + Sync>>>,
}

impl CancelFlag {
    /// A flag that is down.
    pub fn new() -> Arc<CancelFlag> {
        Arc::new(CancelFlag::default())
    }

    /// Raises the flag and wakes whoever waits under it.
    pub fn cancel(&self) {
        self.raised.store(true, Ordering::SeqCst);
        let waker = self.waker.lock().clone();
        if let Some(wake) = waker {
            wake();
        }
    }

    /// Takes the flag down, before the next statement.
    pub fn reset(&self) {
        self.raised.store(false, Ordering::SeqCst);
    }

    /// Whether the flag is up. A plain load: loops look at it once per row. Who waits is woken after the flag went up,
    /// under the waker's lock, and so sees it.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.raised.load(Ordering::Relaxed)
    }

    /// [`StoreError::Cancelled`] if the flag is up.
    #[inline]
    pub fn check(&self) -> Result<()> {
        if self.is_raised() { Err(StoreError::Cancelled) } else { Ok(()) }
    }

    /// Sets what [`CancelFlag::cancel`] calls, for the time of a wait.
    pub(crate) fn set_waker(&self, waker: Option<Arc<dyn Fn() + Send + Sync>>) {
        *self.waker.lock() = waker;
    }
}

impl fmt::Debug for CancelFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelFlag").field("raised", &self.is_raised()).finish_non_exhaustive()
    }
}
