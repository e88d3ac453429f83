//! What the first attachment does to a file whose indexes were made with other collation data.

use std::sync::Arc;

use farbird_types::{Error, Result, isc};

use crate::above::ABOVE;
use crate::api::TransactionParameters;
use crate::attachment::Attachment;
use crate::catalog::CollationData;
use crate::clock;
use crate::ddl;
use crate::expression::ExecutionContext;

impl Attachment {
    /// Has outdated indexes made anew before anybody reads by them; who attaches meanwhile waits.
    ///
    /// # Errors
    /// `isc_read_only_database` if the database may not be written to; those of the store.
    pub(super) fn bring_collation_data_up_to_date(&mut self) -> Result<()> {
        let is_current = |attachment: &Attachment| {
            attachment.database().catalog().database.collation_data == CollationData::current()
        };
        if is_current(self) {
            return Ok(());
        }
        let database = Arc::clone(self.database());
        let _only_one = database.collation_data.lock();
        if is_current(self) {
            return Ok(());
        }
        if database.catalog().database.read_only {
            return match database.catalog().outdated_indexes().next() {
                None => Ok(()),
                Some((_, index)) => Err(Error::new(isc::READ_ONLY_DATABASE).and(isc::RANDOM).with(format!(
                    "index {} was made with other collation data and has to be made anew: make the database writable",
                    index.name
                ))),
            };
        }
        let handle = self.begin_transaction(TransactionParameters::default())?;
        let done = self.make_outdated_indexes_anew(handle);
        done.and_then(|()| self.commit_quietly(handle)).or_else(|error| {
            self.rollback_quietly(handle)?;
            Err(error)
        })
    }

    fn make_outdated_indexes_anew(&self, handle: crate::api::TransactionHandle) -> Result<()> {
        let transaction = self.transaction(handle)?;
        let now = clock::now(self.session.settings.lock().time_zone);
        let view = transaction.store.view()?;
        let (given, budget) = (Vec::new(), self.session.budget.statement());
        let mut context = ExecutionContext::new(
            &ABOVE,
            self.database(),
            &self.session,
            transaction,
            view,
            now,
            given,
            budget,
        );
        ddl::collation_data::bring_up_to_date(&mut context).map_err(|error| self.database().status(error))
    }
}
