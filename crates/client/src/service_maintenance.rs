//! What keeps a database in order: sweep, validation, transactions in limbo, copies of its file, the server's log.
//!
//! Source: wire-protocol.md, 11.5 (isc_spb_rpr_, isc_spb_val_, isc_spb_nbk_, isc_spb_tra_).

use std::time::Duration;

use farbird_types::Result;
use farbird_wire::clumplet::spb;
use farbird_wire::info::common;

use crate::error;
use crate::service::Services;
use crate::service_action::{ServiceAction, split_text};

/// How a database that nobody uses is checked: bits of `isc_spb_rpr_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repair {
    /// Nothing is changed.
    pub read_only: bool,
    /// Rows are looked at as well as pages.
    pub full: bool,
    /// What is damaged is marked, so that a backup passes over it.
    pub mend: bool,
    /// Checksums are not looked at.
    pub ignore_checksums: bool,
    /// Shadows that cannot be reached are given up.
    pub kill_shadows: bool,
}

impl Repair {
    fn bits(self) -> u32 {
        let bits = [
            (self.read_only, spb::repair::CHECK_DB),
            (self.full, spb::repair::FULL),
            (self.mend, spb::repair::MEND_DB),
            (self.ignore_checksums, spb::repair::IGNORE_CHECKSUM),
            (self.kill_shadows, spb::repair::KILL_SHADOWS),
        ];
        let wanted = bits.iter().filter(|(is_set, _)| *is_set).map(|(_, bit)| u32::from(*bit));
        u32::from(spb::repair::VALIDATE_DB) | wanted.sum::<u32>()
    }
}

/// What is validated while others work, as SIMILAR TO patterns of names; empty for everything, or for nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Validation {
    /// These tables.
    pub tables: String,
    /// But not these.
    pub without_tables: String,
    /// These indices.
    pub indices: String,
    /// But not these.
    pub without_indices: String,
    /// How long to wait for a table that is in use; whole seconds; the server's 10 if `None`.
    pub lock_timeout: Option<Duration>,
}

/// A transaction that waits for somebody to say how a two-phase commit ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LimboTransaction {
    /// Its number.
    pub id: u64,
    /// The machine on which it was begun, where the server tells.
    pub host: String,
    /// The database of its other part, where the server tells.
    pub database: String,
}

impl Services {
    /// Removes versions of rows that nobody needs any more.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn sweep(&self, database: &str) -> Result<()> {
        self.repair_action(database, u32::from(spb::repair::SWEEP_DB)).await.map(|_| ())
    }

    /// Checks a database that nobody else uses; gives what is found, in lines.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn repair(&self, database: &str, how: Repair) -> Result<Vec<String>> {
        self.repair_action(database, how.bits()).await
    }

    /// Checks a database while others use it; gives what is found, in lines.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn validate(&self, database: &str, what: &Validation) -> Result<Vec<String>> {
        let mut action = ServiceAction::new(spb::action::VALIDATE).text(spb::DBNAME, database)?;
        let patterns = [
            (spb::validate::TAB_INCL, &what.tables),
            (spb::validate::TAB_EXCL, &what.without_tables),
            (spb::validate::IDX_INCL, &what.indices),
            (spb::validate::IDX_EXCL, &what.without_indices),
        ];
        for (tag, pattern) in patterns.into_iter().filter(|(_, pattern)| !pattern.is_empty()) {
            action = action.text(tag, pattern)?;
        }
        if let Some(timeout) = what.lock_timeout {
            let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
            action = action.integer(spb::validate::LOCK_TIMEOUT, seconds);
        }
        self.run(&action).await
    }

    /// The transactions of a database that are in limbo. Servers expect that what was said when they were prepared
    /// (the message of [`Connection::prepare_transaction`](crate::Connection::prepare_transaction)) is empty or of Firebird's own form.
    ///
    /// # Round trips
    /// Two, and one for each time that the server has nothing to say yet.
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn limbo_transactions(&self, database: &str) -> Result<Vec<LimboTransaction>> {
        let action = ServiceAction::new(spb::action::REPAIR)
            .text(spb::DBNAME, database)?
            .integer(spb::OPTIONS, u32::from(spb::repair::LIST_LIMBO_TRANS));
        self.start_action(&action).await?;
        let mut block = Vec::new();
        loop {
            let reply = self.information(&[spb::info::LIMBO_TRANS]).await?;
            let [spb::info::LIMBO_TRANS, rest @ ..] = &reply[..] else { break };
            let (list, rest) = split_text(rest).ok_or_else(|| error::unexpected("a service"))?;
            block.extend_from_slice(list);
            if list.is_empty() || !rest.contains(&common::TRUNCATED) {
                break;
            }
        }
        parse_limbo(&block).ok_or_else(|| error::unexpected("a service"))
    }

    /// Commits a transaction in limbo, or rolls it back.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn end_limbo(&self, database: &str, id: u64, commits: bool) -> Result<()> {
        let action = ServiceAction::new(spb::action::REPAIR).text(spb::DBNAME, database)?;
        let action = match (u32::try_from(id), commits) {
            (Ok(id), true) => action.integer(spb::repair::COMMIT_TRANS, id),
            (Ok(id), false) => action.integer(spb::repair::ROLLBACK_TRANS, id),
            (Err(_), true) => action.big(spb::repair::COMMIT_TRANS_64, id),
            (Err(_), false) => action.big(spb::repair::ROLLBACK_TRANS_64, id),
        };
        self.run(&action).await.map(|_| ())
    }

    /// Copies a database's file, or what has changed since the copy of the level below, to a file on the server (nbackup).
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn copy_file(&self, database: &str, level: u32, file: &str) -> Result<()> {
        let action = ServiceAction::new(spb::action::NBAK)
            .text(spb::DBNAME, database)?
            .text(spb::nbackup::FILE, file)?
            .integer(spb::nbackup::LEVEL, level);
        self.run(&action).await.map(|_| ())
    }

    /// Makes a database of copies by [`Services::copy_file`], that of level 0 first.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn restore_copies(&self, database: &str, files: &[&str]) -> Result<()> {
        let mut action = ServiceAction::new(spb::action::NREST).text(spb::DBNAME, database)?;
        for file in files {
            action = action.text(spb::nbackup::FILE, file)?;
        }
        self.run(&action).await.map(|_| ())
    }

    /// Makes a database of a copy of its file that was taken by other means between ALTER DATABASE BEGIN BACKUP and END
    /// BACKUP.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn fix_copy(&self, database: &str) -> Result<()> {
        self.run(&ServiceAction::new(spb::action::NFIX).text(spb::DBNAME, database)?).await.map(|_| ())
    }

    /// The server's log, in lines.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn server_log(&self) -> Result<Vec<String>> {
        self.run(&ServiceAction::new(spb::action::GET_FB_LOG)).await
    }

    async fn repair_action(&self, database: &str, options: u32) -> Result<Vec<String>> {
        let action = ServiceAction::new(spb::action::REPAIR).text(spb::DBNAME, database)?;
        self.run(&action.integer(spb::OPTIONS, options)).await
    }
}

/// The list of transactions in limbo. `None` if it is damaged.
fn parse_limbo(mut block: &[u8]) -> Option<Vec<LimboTransaction>> {
    /// A transaction of this database alone, and one with parts elsewhere; with a number of four bytes or of eight.
    const SINGLE: u8 = 19;
    const MULTI: u8 = 20;
    const SINGLE_64: u8 = 47;
    const MULTI_64: u8 = 48;
    let mut found: Vec<LimboTransaction> = Vec::new();
    while let Some((&tag, rest)) = block.split_first() {
        block = match tag {
            SINGLE | MULTI | spb::limbo::ID => {
                let (id, rest) = rest.split_first_chunk()?;
                note(&mut found, tag == spb::limbo::ID, u64::from(u32::from_le_bytes(*id)));
                rest
            }
            SINGLE_64 | MULTI_64 | spb::limbo::ID_64 => {
                let (id, rest) = rest.split_first_chunk()?;
                note(&mut found, tag == spb::limbo::ID_64, u64::from_le_bytes(*id));
                rest
            }
            spb::limbo::STATE | spb::limbo::ADVISE => rest.get(1..)?,
            spb::limbo::HOST_SITE | spb::limbo::REMOTE_SITE | spb::limbo::DB_PATH => {
                let (text, rest) = split_text(rest)?;
                let text = String::from_utf8_lossy(text).into_owned();
                match (found.last_mut(), tag) {
                    (Some(known), spb::limbo::HOST_SITE) => known.host = text,
                    (Some(known), spb::limbo::DB_PATH) => known.database = text,
                    _ => {}
                }
                rest
            }
            common::END | common::FLAG_END => rest,
            _ => return None,
        };
    }
    Some(found)
}

/// A transaction's number: its own, or that of its part.
fn note(found: &mut Vec<LimboTransaction>, is_part: bool, id: u64) {
    if !is_part {
        found.push(LimboTransaction { id, ..LimboTransaction::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_in_limbo_are_read_and_damage_is_refused() {
        let block = [
            &[19, 7, 0, 0, 0][..],
            &[20, 8, 0, 0, 0, 18, 9, 0, 0, 0, 26, 1, 0, b'h', 21, 22, 28, 2, 0, b'd', b'b', 29, 30],
            &[47, 0, 0, 0, 0, 1, 0, 0, 0, 127],
        ]
        .concat();
        let found = parse_limbo(&block).unwrap();
        let ids: Vec<u64> = found.iter().map(|transaction| transaction.id).collect();
        assert_eq!(ids, [7, 8, 1 << 32]);
        assert_eq!((found[1].host.as_str(), found[1].database.as_str()), ("h", "db"));
        for damaged in [&block[..3], &[99], &[28, 9, 0, 1]] {
            assert_eq!(parse_limbo(damaged), None, "{damaged:?}");
        }
    }
}
