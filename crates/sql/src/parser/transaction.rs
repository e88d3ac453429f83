//! Transactions and savepoints.

use super::cursor::Parser;
use crate::ast::{
    IsolationLevel, ReadCommittedMode, SetTransaction, TableReservation, TransactionAccess,
    TransactionStatement,
};
use crate::error;
use farbird_types::Result;

impl Parser<'_> {
    /// COMMIT, ROLLBACK, SAVEPOINT, RELEASE SAVEPOINT, SET TRANSACTION.
    pub(super) fn transaction_statement(&mut self) -> Result<TransactionStatement> {
        if self.eat_keyword("COMMIT") {
            self.eat_keyword("WORK");
            return Ok(TransactionStatement::Commit { retain: self.retain() });
        }
        if self.eat_keyword("ROLLBACK") {
            self.eat_keyword("WORK");
            if self.eat_keyword("TO") {
                self.eat_keyword("SAVEPOINT");
                return Ok(TransactionStatement::RollbackToSavepoint(self.name()?));
            }
            return Ok(TransactionStatement::Rollback { retain: self.retain() });
        }
        if self.eat_keyword("SAVEPOINT") {
            return Ok(TransactionStatement::Savepoint(self.name()?));
        }
        if self.eat_keyword("RELEASE") {
            self.expect_keyword("SAVEPOINT")?;
            let name = self.name()?;
            return Ok(TransactionStatement::ReleaseSavepoint { name, only: self.eat_keyword("ONLY") });
        }
        self.set_transaction().map(TransactionStatement::Set)
    }

    /// `[RETAIN [SNAPSHOT]]`.
    fn retain(&mut self) -> bool {
        let retain = self.eat_keyword("RETAIN");
        if retain {
            self.eat_keyword("SNAPSHOT");
        }
        retain
    }

    fn set_transaction(&mut self) -> Result<SetTransaction> {
        let mut set = SetTransaction { position: self.position(), ..SetTransaction::default() };
        self.expect_keywords(&["SET", "TRANSACTION"])?;
        while self.transaction_option(&mut set)? {}
        Ok(set)
    }

    /// One option; false if there is no further one.
    fn transaction_option(&mut self, set: &mut SetTransaction) -> Result<bool> {
        match self.keyword().unwrap_or_default() {
            "READ" if self.keyword_ahead(1, "ONLY") || self.keyword_ahead(1, "WRITE") => {
                self.take();
                let access = if self.eat_keyword("ONLY") {
                    TransactionAccess::ReadOnly
                } else {
                    TransactionAccess::ReadWrite
                };
                self.eat_keyword("WRITE");
                once(&mut set.access, access, "READ {ONLY | WRITE}")?;
            }
            "WAIT" => {
                self.take();
                once(&mut set.wait, true, "[NO] WAIT")?;
            }
            "NO" if self.keyword_ahead(1, "AUTO") => {
                self.expect_keywords(&["NO", "AUTO", "UNDO"])?;
                flag(&mut set.no_auto_undo, "NO AUTO UNDO")?;
            }
            "NO" => {
                self.expect_keywords(&["NO", "WAIT"])?;
                once(&mut set.wait, false, "[NO] WAIT")?;
            }
            "ISOLATION" | "SNAPSHOT" | "READ" => {
                let isolation = self.isolation()?;
                once(&mut set.isolation, isolation, "ISOLATION LEVEL")?;
            }
            "IGNORE" => {
                self.expect_keywords(&["IGNORE", "LIMBO"])?;
                flag(&mut set.ignore_limbo, "IGNORE LIMBO")?;
            }
            "RESTART" => {
                self.expect_keywords(&["RESTART", "REQUESTS"])?;
                flag(&mut set.restart_requests, "RESTART REQUESTS")?;
            }
            "AUTO" => self.auto_option(set)?,
            "LOCK" => {
                self.expect_keywords(&["LOCK", "TIMEOUT"])?;
                let seconds = u32::from(self.short()?.unsigned_abs());
                once(&mut set.lock_timeout, seconds, "LOCK TIMEOUT")?;
            }
            "RESERVING" | "RESERV" => {
                if !set.reserving.is_empty() {
                    return Err(error::duplicate_clause("RESERVING"));
                }
                self.take();
                set.reserving = self.reservations()?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// AUTO COMMIT, AUTO RELEASE TEMP BLOBID.
    fn auto_option(&mut self, set: &mut SetTransaction) -> Result<()> {
        self.take();
        if self.eat_keyword("RELEASE") {
            self.expect_keywords(&["TEMP", "BLOBID"])?;
            return flag(&mut set.auto_release_temp_blobs, "AUTO RELEASE TEMP BLOBID");
        }
        self.expect_keyword("COMMIT")?;
        flag(&mut set.auto_commit, "AUTO COMMIT")
    }

    fn isolation(&mut self) -> Result<IsolationLevel> {
        if self.eat_keyword("ISOLATION") {
            self.expect_keyword("LEVEL")?;
        }
        if self.eat_keyword("SNAPSHOT") {
            return self.snapshot();
        }
        self.expect_keyword("READ")?;
        if self.eat_keyword("UNCOMMITTED") {
            self.read_committed_mode()?;
            return Ok(IsolationLevel::ReadUncommitted);
        }
        self.expect_keyword("COMMITTED")?;
        Ok(IsolationLevel::ReadCommitted(self.read_committed_mode()?))
    }

    fn snapshot(&mut self) -> Result<IsolationLevel> {
        if self.eat_keyword("TABLE") {
            self.eat_keyword("STABILITY");
            return Ok(IsolationLevel::SnapshotTableStability);
        }
        let at_number = if self.eat_keyword("AT") {
            self.expect_keyword("NUMBER")?;
            Some(self.bigint()?)
        } else {
            None
        };
        Ok(IsolationLevel::Snapshot { at_number })
    }

    fn read_committed_mode(&mut self) -> Result<Option<ReadCommittedMode>> {
        if self.eat_keyword("RECORD_VERSION") {
            return Ok(Some(ReadCommittedMode::RecordVersion));
        }
        if self.eat_keywords(&["NO", "RECORD_VERSION"]) {
            return Ok(Some(ReadCommittedMode::NoRecordVersion));
        }
        Ok(self.eat_keywords(&["READ", "CONSISTENCY"]).then_some(ReadCommittedMode::ReadConsistency))
    }

    /// `table, ... [FOR [SHARED | PROTECTED] READ | WRITE], ...`.
    fn reservations(&mut self) -> Result<Vec<TableReservation>> {
        self.comma_list(|parser| {
            let mut tables = vec![parser.name()?];
            while parser.eat_symbol(",") {
                tables.push(parser.name()?);
            }
            let (mut protected, mut write) = (false, false);
            if parser.eat_keyword("FOR") {
                protected = parser.eat_keyword("PROTECTED");
                if !protected {
                    parser.eat_keyword("SHARED");
                }
                write = parser.eat_keyword("WRITE");
                if !write {
                    parser.expect_keyword("READ")?;
                }
            }
            Ok(TableReservation { tables, protected, write })
        })
    }
}

/// Sets what may be set once.
pub(super) fn once<T>(place: &mut Option<T>, value: T, what: &str) -> Result<()> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(error::duplicate_clause(what)),
    }
}

/// Raises what may be raised once.
fn flag(place: &mut bool, what: &str) -> Result<()> {
    if std::mem::replace(place, true) { Err(error::duplicate_clause(what)) } else { Ok(()) }
}
