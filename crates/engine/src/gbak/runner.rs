//! Executes definitions in the database that is being made.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farbird_store::StoreOptions;
use farbird_types::{CharacterSet, Error, Result, isc};

use super::statements::Definition;
use crate::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, TransactionHandle,
    TransactionParameters,
};
use crate::attachment::Attachment;
use crate::backup::CancelFlag;
use crate::database::Database;
use crate::engine::Engine;
use crate::session::{Interrupt, StopReason};
use crate::users::NoUsers;

/// Whose the database is until owners are known.
const OWNER: &str = "SYSDBA";
/// Names a moment to go back to.
const PROBE: &str = "GBAK$PROBE";
/// How often it is looked whether the restore is to stop.
const LOOKS_APART: Duration = Duration::from_millis(50);

/// How long it waits for a table. Who restores into a server works by two attachments, of which one would wait for the other for ever.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Definitions that were refused, with the last reason.
pub(super) type Failed = Vec<(Definition, Error)>;

/// An attachment to a database that is being restored, most often the only one.
pub(super) struct Runner {
    attachment: Attachment,
    transaction: Option<TransactionHandle>,
    dialect: u8,
}

impl Runner {
    /// Makes the database. When `cancel` is raised the statement that runs is stopped, and none runs any more.
    ///
    /// # Errors
    /// `isc_io_error`.
    pub(super) fn create(
        path: &Path,
        create: &CreateDatabaseOptions,
        options: StoreOptions,
        cancel: &Arc<CancelFlag>,
    ) -> Result<Runner> {
        let attach = AttachOptions {
            user: OWNER.to_owned(),
            character_set: CharacterSet::UTF8,
            dialect: create.dialect,
            role: None,
            time_zone: None,
            no_database_triggers: true,
            client: ClientDescription::default(),
        };
        let attachment = Engine::new(options).create_database(path, create, attach, Arc::new(NoUsers))?;
        Ok(Runner::by(attachment, create.dialect, cancel))
    }

    /// Another attachment to a database that somebody restores, and owns.
    ///
    /// # Errors
    /// As [`Engine::attach`].
    pub(super) fn beside(engine: &Arc<Engine>, owner: &Attachment) -> Result<Runner> {
        let database = owner.database();
        let dialect = database.catalog().database.dialect;
        let attach = AttachOptions {
            user: owner.session().options.user.clone(),
            character_set: CharacterSet::UTF8,
            dialect,
            role: None,
            time_zone: None,
            no_database_triggers: true,
            client: ClientDescription::default(),
        };
        let attachment = engine.attach(&database.path, attach, Arc::clone(&database.users))?;
        Ok(Runner::by(attachment, dialect, &owner.interrupt().cancel))
    }

    fn by(attachment: Attachment, dialect: u8, cancel: &Arc<CancelFlag>) -> Runner {
        attachment.session().settings.lock().restores = true;
        stop_with(&attachment.interrupt(), cancel);
        Runner { attachment, transaction: None, dialect }
    }

    pub(super) fn database(&self) -> &Arc<Database> {
        self.attachment.database()
    }

    /// Executes a statement.
    ///
    /// # Errors
    /// Those of the statement, which has not happened then.
    pub(super) fn run(&mut self, sql: &str) -> Result<()> {
        let transaction = self.transaction()?;
        let statement = self.attachment.allocate_statement()?;
        let prepared = self.attachment.prepare_restored(statement, transaction, sql, self.dialect);
        let done = prepared.and_then(|_| {
            self.attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default())
        });
        self.attachment.drop_statement(statement)?;
        done.map(drop)
    }

    /// Whether a statement could be executed; it is undone.
    ///
    /// # Errors
    /// Those of savepoints; `isc_cancelled`.
    pub(super) fn is_possible(&mut self, sql: &str) -> Result<bool> {
        let transaction = self.transaction()?;
        self.attachment.set_savepoint(transaction, PROBE)?;
        let done = self.run(sql);
        self.check_stopped()?;
        self.attachment.rollback_to_savepoint(transaction, PROBE)?;
        Ok(done.is_ok())
    }

    /// Executes definitions, those that are refused again as long as others become possible meanwhile: they may need each
    /// other. Gives those that never were.
    ///
    /// # Errors
    /// Those of transactions, not those of the definitions; `isc_cancelled`.
    pub(super) fn run_all(&mut self, definitions: Vec<Definition>) -> Result<Failed> {
        let mut waiting: Failed = Vec::new();
        for definition in definitions {
            if let Err(error) = self.run(&definition.sql) {
                self.check_stopped()?;
                waiting.push((definition, error));
            }
        }
        loop {
            let before = waiting.len();
            let mut still = Vec::new();
            for (definition, _) in waiting {
                if let Err(error) = self.run(&definition.sql) {
                    self.check_stopped()?;
                    still.push((definition, error));
                }
            }
            waiting = still;
            if waiting.len() == before || waiting.is_empty() {
                return Ok(waiting);
            }
        }
    }

    /// What fails now fails because the restore was told to stop.
    fn check_stopped(&self) -> Result<()> {
        match self.attachment.interrupt().is_closing() {
            true => Err(Error::new(isc::CANCELLED)),
            false => Ok(()),
        }
    }

    pub(super) fn commit(&mut self) -> Result<()> {
        match self.transaction.take() {
            Some(transaction) => self.attachment.commit(transaction),
            None => Ok(()),
        }
    }

    /// Commits, and closes the file.
    ///
    /// # Errors
    /// From writing: the file is to be thrown away.
    pub(super) fn close(mut self) -> Result<()> {
        self.commit()?;
        self.attachment.detach()
    }

    fn transaction(&mut self) -> Result<TransactionHandle> {
        match self.transaction {
            Some(transaction) => Ok(transaction),
            None => {
                let parameters = TransactionParameters {
                    lock_timeout: Some(LOCK_TIMEOUT),
                    ..TransactionParameters::default()
                };
                let transaction = self.attachment.start_transaction(parameters)?;
                self.transaction = Some(transaction);
                Ok(transaction)
            }
        }
    }
}

/// Ends a session for good once a flag is raised. The flag cannot be the session's own: that one is taken down after each
/// statement.
pub(super) fn stop_with(interrupt: &Arc<Interrupt>, cancel: &Arc<CancelFlag>) {
    let (interrupt, cancel) = (Arc::downgrade(interrupt), Arc::clone(cancel));
    std::thread::spawn(move || {
        while let Some(session) = interrupt.upgrade() {
            if cancel.is_raised() {
                return session.raise(StopReason::Shutdown);
            }
            drop(session);
            std::thread::sleep(LOOKS_APART);
        }
    });
}
