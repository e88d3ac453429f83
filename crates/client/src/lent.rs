//! Something that operations work on one after the other, and that a poll may leave in the hands of one.
//!
//! What it is for: `async fn`s borrow what they work on, and those who poll (tokio's traits for reading and writing) cannot
//! keep a borrow from one poll to the next. So the operation takes the thing along, and gives it back with its result.
//!
//! Promises: an operation that was begun goes on with the next poll, whoever polls; nothing is lost when nobody does.

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use farbird_types::{Error, Result, isc};

type Work<T> = Pin<Box<dyn Future<Output = (T, Result<()>)> + Send + Sync>>;

/// The thing, or the operation that has it.
#[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "only the traits of tokio lend it"))]
pub(crate) enum Lent<T> {
    Here(T),
    Away(Work<T>),
    /// An operation has panicked with it.
    Lost,
}

impl<T> Lent<T> {
    /// The thing, once the operation that has it is done.
    ///
    /// # Errors
    /// Those of the operation, once: the thing is back then.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<&mut T>> {
        if let Lent::Away(work) = self {
            let (thing, result) = ready!(work.as_mut().poll(context));
            *self = Lent::Here(thing);
            result?;
        }
        Poll::Ready(self.here())
    }

    /// As [`Lent::poll`].
    pub(crate) async fn back(&mut self) -> Result<&mut T> {
        poll_fn(|context| self.poll(context).map_ok(|_| ())).await?;
        self.here()
    }

    /// As [`Lent::back`], to keep.
    pub(crate) async fn into_inner(mut self) -> Result<T> {
        self.back().await?;
        match self {
            Lent::Here(thing) => Ok(thing),
            Lent::Away(_) | Lent::Lost => Err(lost()),
        }
    }

    fn here(&mut self) -> Result<&mut T> {
        match self {
            Lent::Here(thing) => Ok(thing),
            Lent::Away(_) | Lent::Lost => Err(lost()),
        }
    }

    /// Gives the thing to an operation. If one has it already, that one goes on.
    #[cfg(feature = "tokio")]
    pub(crate) fn lend<W>(&mut self, work: impl FnOnce(T) -> W)
    where
        W: Future<Output = (T, Result<()>)> + Send + Sync + 'static,
    {
        *self = match std::mem::replace(self, Lent::Lost) {
            Lent::Here(thing) => Lent::Away(Box::pin(work(thing))),
            away => away,
        };
    }
}

fn lost() -> Error {
    Error::new(isc::RANDOM).with("an operation on this BLOB has panicked")
}

impl<T: fmt::Debug> fmt::Debug for Lent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lent::Here(thing) => thing.fmt(f),
            Lent::Away(_) | Lent::Lost => f.write_str("(at work)"),
        }
    }
}
