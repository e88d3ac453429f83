//! The transactions that a restore fills with rows: while one is filled another thread packs and writes the one before.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use farbird_store::{CancelFlag, Store, StoreError, Transaction, TransactionOptions};

use super::failure::GbakResult;

/// Rows are committed when they have come to so many bytes, or to so many.
const BYTES_PER_COMMIT: usize = 8 << 20;
const ROWS_PER_COMMIT: usize = 100_000;

/// Rows on their way into the store, of one table after the other. Dropping it waits for its thread.
pub(super) struct Loader {
    store: Store,
    cancel: Arc<CancelFlag>,
    /// The transaction that is being filled, with what it holds.
    current: Option<Transaction>,
    bytes: usize,
    rows: usize,
    committer: Option<Committer>,
}

/// The thread that commits what is full.
struct Committer {
    full: SyncSender<Transaction>,
    thread: JoinHandle<Result<(), StoreError>>,
}

impl Loader {
    pub(super) fn new(store: &Store, cancel: &Arc<CancelFlag>) -> Loader {
        Loader {
            store: store.clone(),
            cancel: Arc::clone(cancel),
            current: None,
            bytes: 0,
            rows: 0,
            committer: None,
        }
    }

    pub(super) fn check_cancelled(&self) -> GbakResult<()> {
        Ok(self.cancel.check()?)
    }

    /// The transaction that takes the next row, until [`Loader::inserted`] gets it back.
    pub(super) fn transaction(&mut self) -> GbakResult<Transaction> {
        match self.current.take() {
            Some(transaction) => Ok(transaction),
            None => Ok(self.store.begin(TransactionOptions::default(), Arc::clone(&self.cancel))?),
        }
    }

    /// Notes a row of so many bytes, with its BLOBs; hands the transaction on if it is full.
    pub(super) fn inserted(&mut self, transaction: Transaction, bytes: usize) -> GbakResult<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.rows += 1;
        if self.rows < ROWS_PER_COMMIT && self.bytes < BYTES_PER_COMMIT {
            self.current = Some(transaction);
            return Ok(());
        }
        (self.bytes, self.rows) = (0, 0);
        self.commit_beside(transaction)
    }

    fn commit_beside(&mut self, transaction: Transaction) -> GbakResult<()> {
        let committer = match self.committer.take() {
            Some(committer) => committer,
            None => Committer::start()?,
        };
        // It stops taking more only if it has failed, and says why when it is waited for.
        match committer.full.send(transaction) {
            Ok(()) => {
                self.committer = Some(committer);
                Ok(())
            }
            Err(_) => committer.finish(),
        }
    }

    /// Commits what is left; all rows are there then.
    pub(super) fn finish(&mut self) -> GbakResult<()> {
        if let Some(committer) = self.committer.take() {
            committer.finish()?;
        }
        if let Some(last) = self.current.take() {
            last.commit()?;
        }
        Ok(())
    }
}

impl Drop for Loader {
    fn drop(&mut self) {
        if let Some(Committer { full, thread }) = self.committer.take() {
            drop(full);
            // Whoever drops it without an end has an error to tell already.
            let _ = thread.join();
        }
    }
}

impl Committer {
    fn start() -> GbakResult<Committer> {
        let (full, transactions) = sync_channel::<Transaction>(1);
        let thread = std::thread::Builder::new()
            .name("restore".to_owned())
            .spawn(move || {
                for transaction in transactions {
                    transaction.commit()?;
                }
                Ok(())
            })
            .map_err(StoreError::from)?;
        Ok(Committer { full, thread })
    }

    fn finish(self) -> GbakResult<()> {
        drop(self.full);
        match self.thread.join() {
            Ok(committed) => Ok(committed?),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}
