//! Statements of the engine as this library holds them, and the ones it keeps between their uses.

use std::collections::VecDeque;
use std::sync::Arc;

use farbird_engine::api::{StatementDescription, StatementHandle, TransactionHandle};
use farbird_sql::Dialect;

use super::connection::{Shared, controls_transactions};
use super::error::{Fault, Result};

/// Statements that a connection keeps for their next use.
const CACHED_MAX: usize = 32;

/// A prepared statement. Dropped, it is kept by its connection if its text was given, and forgotten otherwise.
pub(super) struct Prepared {
    pub(super) shared: Arc<Shared>,
    pub(super) handle: StatementHandle,
    pub(super) description: Arc<StatementDescription>,
    /// Its text, if it is to be kept.
    sql: Option<Box<str>>,
    /// The dialect of its text.
    dialect: Dialect,
}

/// A statement between two uses.
pub(super) struct Idle {
    sql: Box<str>,
    dialect: Dialect,
    pub(super) handle: StatementHandle,
    description: Arc<StatementDescription>,
}

impl Prepared {
    pub(super) fn new(
        shared: Arc<Shared>,
        sql: &str,
        transaction: Option<TransactionHandle>,
        keep: bool,
    ) -> Result<Prepared> {
        let prepared = Prepared::any(shared, sql, transaction, keep)?;
        if controls_transactions(prepared.description.kind) {
            return Err(Fault::TransactionControl.into());
        }
        Ok(prepared)
    }

    /// As [`Prepared::new`], also for COMMIT and its relatives.
    pub(super) fn any(
        shared: Arc<Shared>,
        sql: &str,
        transaction: Option<TransactionHandle>,
        keep: bool,
    ) -> Result<Prepared> {
        let dialect = shared.dialect();
        let (handle, description) = shared.with(|attachment| {
            let handle = attachment.allocate_statement()?;
            match attachment.prepare(handle, transaction, sql, dialect.number()) {
                Ok(description) => Ok((handle, description)),
                Err(error) => {
                    attachment.drop_statement(handle)?;
                    Err(error.into())
                }
            }
        })?;
        Ok(Prepared { shared, handle, description, sql: keep.then(|| sql.into()), dialect })
    }

    /// A statement that was kept.
    pub(super) fn again(shared: Arc<Shared>, idle: Idle) -> Prepared {
        let Idle { sql, dialect, handle, description } = idle;
        Prepared { shared, handle, description, sql: Some(sql), dialect }
    }

    /// Prepares the same text again: what it names is not what it was.
    pub(super) fn renew(&mut self, transaction: TransactionHandle) -> Result<()> {
        let Some(sql) = &self.sql else { return Ok(()) };
        let dialect = self.dialect.number();
        self.description = self
            .shared
            .with(|attachment| Ok(attachment.prepare(self.handle, Some(transaction), sql, dialect)?))?;
        Ok(())
    }

    /// Whether it may have been prepared some time ago, for somebody else.
    pub(super) fn is_kept(&self) -> bool {
        self.sql.is_some()
    }

    /// It is of no further use: not to be kept.
    pub(super) fn spoil(&mut self) {
        self.sql = None;
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        match self.sql.take() {
            Some(sql) => self.shared.keep(Idle {
                sql,
                dialect: self.dialect,
                handle: self.handle,
                description: Arc::clone(&self.description),
            }),
            None => self.shared.forget(self.handle),
        }
    }
}

/// Statements between their uses, the one used last in front.
#[derive(Default)]
pub(super) struct StatementCache {
    idle: VecDeque<Idle>,
}

impl StatementCache {
    /// The statement of this text in this dialect, if there is one that nobody uses.
    pub(super) fn take(&mut self, sql: &str, dialect: Dialect) -> Option<Idle> {
        let place = self.idle.iter().position(|idle| *idle.sql == *sql && idle.dialect == dialect)?;
        self.idle.remove(place)
    }

    /// Keeps a statement; gives the one that has to go for it.
    pub(super) fn put(&mut self, idle: Idle) -> Option<Idle> {
        self.idle.push_front(idle);
        if self.idle.len() > CACHED_MAX { self.idle.pop_back() } else { None }
    }
}
