//! Room for deep recursion.
//!
//! Routines that call each other nest the engine's own calls: an expression calls a function, whose statement fires a
//! trigger, whose statement ... A thousand levels need more stack than a thread is sure to have, so each so many levels
//! go on on a stack of their own, that of a thread which exists for that purpose. Few programs ever nest so deeply.

use std::panic::resume_unwind;
use std::thread;

use farbird_types::{Error, Result, isc};

/// How many levels share one stack.
pub(super) const LEVELS_PER_STACK: u32 = 24;

/// Size of such a stack: room for its levels even in builds without optimization. Only what is used takes memory.
const STACK_BYTES: usize = 8 << 20;

/// Runs on a stack of its own and waits for it.
///
/// # Errors
/// Those of `run`; `exception_stack_overflow` if there is no thread to be had.
pub(super) fn on_new_stack<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("psql-recursion".to_owned()).stack_size(STACK_BYTES);
        match builder.spawn_scoped(scope, run) {
            Ok(running) => running.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => Err(Error::new(isc::EXCEPTION_STACK_OVERFLOW)),
        }
    })
}
