//! Read errors that pass through redb without stopping it.
//!
//! redb answers the first error of its storage, be it of a single read, by refusing every further one until the database
//! is opened again: one damaged page, or one hiccup of a network disk, would take all the others away. So an error of a
//! read unwinds the stack to whoever called redb, which redb is prepared for: its caches and locks are left as they
//! were, and a write transaction is given up. No panic hook runs. In a program built with `panic = "abort"` the error is
//! returned and redb does as it does.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::{Result, StoreError};

/// What the stack is unwound with.
struct Fault(io::Error);

thread_local! {
    /// How many calls of [`catch`] this thread is within.
    static CATCHING: Cell<usize> = const { Cell::new(0) };
}

/// Hands an error of a read to the [`catch`] that is waiting for it, or returns it if there is none.
pub(super) fn raise(error: io::Error) -> io::Result<()> {
    let is_awaited = CATCHING.get() > 0 && !std::thread::panicking();
    if cfg!(panic = "unwind") && is_awaited { resume_unwind(Box::new(Fault(error))) } else { Err(error) }
}

/// Runs something that calls redb; gives the error of a read in it, and calls any other panic damage.
pub(super) fn catch<T>(run: impl FnOnce() -> Result<T>) -> Result<T> {
    CATCHING.set(CATCHING.get() + 1);
    // What redb leaves behind when it is unwound is its own affair (see above); ours is not touched in between.
    let outcome = catch_unwind(AssertUnwindSafe(run));
    CATCHING.set(CATCHING.get() - 1);
    outcome.unwrap_or_else(|payload| Err(error_of(payload)))
}

fn error_of(payload: Box<dyn Any + Send>) -> StoreError {
    match payload.downcast::<Fault>() {
        Ok(fault) => fault.0.into(),
        Err(payload) => {
            let message = payload.downcast_ref::<String>().map(String::as_str);
            let message = message.or(payload.downcast_ref::<&str>().copied()).unwrap_or("unknown");
            StoreError::corrupt(format!("what redb reads makes no sense: {message}"))
        }
    }
}
