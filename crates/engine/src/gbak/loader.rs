//! The threads of a restore: one reads the backup, one makes transactions of the rows that it has read, one packs and commits
//! these. Each hands on what it has done to the next, in order.

use std::sync::Arc;

use farbird_store::{CancelFlag, Store};

use super::batch::Batch;
use super::columns::Malformed;
use super::failure::GbakResult;
use super::filler::Filler;
use super::stage::Stage;

/// Rows on their way into the store, of one table after the other. Dropping it waits for its threads.
pub(super) struct Loader {
    store: Store,
    cancel: Arc<CancelFlag>,
    filling: Option<Stage<Batch, Malformed>>,
}

impl Loader {
    pub(super) fn new(store: &Store, cancel: &Arc<CancelFlag>) -> Loader {
        Loader { store: store.clone(), cancel: Arc::clone(cancel), filling: None }
    }

    pub(super) fn check_cancelled(&self) -> GbakResult<()> {
        Ok(self.cancel.check()?)
    }

    /// Hands a batch on.
    ///
    /// # Errors
    /// Those of batches before it.
    pub(super) fn load(&mut self, batch: Batch) -> GbakResult<()> {
        let filling = match self.filling.take() {
            Some(filling) => filling,
            None => {
                let filler = Filler::new(&self.store, &self.cancel);
                Stage::start("restore rows", move |batches| filler.run(batches))?
            }
        };
        match filling.give(batch) {
            Ok(filling) => {
                self.filling = Some(filling);
                Ok(())
            }
            Err(ended) => ended.map(drop),
        }
    }

    /// Waits until all rows are committed. Gives what was wrong with their texts.
    ///
    /// # Errors
    /// Those of the batches.
    pub(super) fn finish(&mut self) -> GbakResult<Malformed> {
        self.filling.take().map_or_else(|| Ok(Malformed::new()), Stage::finish)
    }
}
