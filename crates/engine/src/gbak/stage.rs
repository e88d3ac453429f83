//! A thread that works on what another one hands it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use farbird_store::{StoreError, Transaction};

use super::failure::GbakResult;

/// A thread that takes one thing after the other, until there are no more or one of them fails. Dropping it waits for it.
pub(super) struct Stage<T, R> {
    input: Option<SyncSender<T>>,
    thread: Option<JoinHandle<GbakResult<R>>>,
}

impl<T: Send + 'static, R: Send + Default + 'static> Stage<T, R> {
    pub(super) fn start(
        name: &str,
        work: impl FnOnce(Receiver<T>) -> GbakResult<R> + Send + 'static,
    ) -> GbakResult<Stage<T, R>> {
        // One waits while the one before is worked on.
        let (input, output) = sync_channel(1);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(output));
        Ok(Stage { input: Some(input), thread: Some(thread.map_err(StoreError::from)?) })
    }

    /// Hands something on. If the thread has failed, how it has ended.
    pub(super) fn give(self, next: T) -> Result<Stage<T, R>, GbakResult<R>> {
        match self.input.as_ref().map(|input| input.send(next)) {
            Some(Ok(())) => Ok(self),
            _ => Err(self.finish()),
        }
    }

    /// Waits until all is done.
    pub(super) fn finish(mut self) -> GbakResult<R> {
        drop(self.input.take());
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(done)) => done,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => Ok(R::default()),
        }
    }
}

impl<T, R> Drop for Stage<T, R> {
    fn drop(&mut self) {
        drop(self.input.take());
        if let Some(thread) = self.thread.take() {
            // Whoever drops it without an end has an error to tell already.
            let _ = thread.join();
        }
    }
}

/// Commits transactions.
pub(super) type Committer = Stage<Transaction, ()>;

impl Committer {
    pub(super) fn committing() -> GbakResult<Committer> {
        Stage::start("restore commits", |transactions: Receiver<Transaction>| {
            for transaction in transactions {
                transaction.commit()?;
            }
            Ok(())
        })
    }
}
