//! Room for deep recursion.
//!
//! Routines that call each other nest the engine's own calls: an expression calls a function, whose statement fires a
//! trigger, whose statement ... A thousand levels need more stack than a thread is sure to have. So whoever finds that
//! much of a stack is used goes on on another one, that of a thread which exists for that purpose. Few programs ever
//! nest so deeply.

use std::panic::resume_unwind;
use std::thread;

use farbird_types::{Error, Result, isc};

/// How much of a stack that somebody else made is used: those of server threads and of tests have two megabytes.
const FOREIGN_BYTES: usize = 640 << 10;

/// Size of a stack of our own. Only what is used takes memory.
const OWN_STACK_BYTES: usize = 16 << 20;

/// How much of it is used: one level more must find room in the rest.
const OWN_BYTES: usize = 12 << 20;

/// The stack that runs, as far as its size matters.
#[derive(Debug, Clone, Copy)]
pub struct StackSegment {
    /// An address near its beginning.
    base: usize,
    /// How much of it may be used.
    bytes: usize,
}

impl StackSegment {
    /// The rest of a stack that somebody else made.
    pub fn foreign() -> StackSegment {
        StackSegment { base: address(), bytes: FOREIGN_BYTES }
    }

    fn own() -> StackSegment {
        StackSegment { base: address(), bytes: OWN_BYTES }
    }

    /// Whether so much is used that the next level should go on elsewhere.
    pub fn is_used_up(self) -> bool {
        self.base.abs_diff(address()) > self.bytes
    }
}

/// Where the stack is now.
#[inline(never)]
fn address() -> usize {
    let marker = 0_u8;
    std::ptr::from_ref(&marker).addr()
}

/// Runs on a stack of its own, which it is told of, and waits for it.
///
/// # Errors
/// Those of `run`; `exception_stack_overflow` if there is no thread to be had.
pub fn on_new_stack<T: Send>(run: impl FnOnce(StackSegment) -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("psql-recursion".to_owned()).stack_size(OWN_STACK_BYTES);
        match builder.spawn_scoped(scope, || run(StackSegment::own())) {
            Ok(running) => running.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => Err(Error::new(isc::EXCEPTION_STACK_OVERFLOW)),
        }
    })
}
