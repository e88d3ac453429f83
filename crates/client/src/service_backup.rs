//! Backup and restore over the wire: the files are the client's.
//!
//! Source: FirebirdSQL/firebird doc/README.services_extension.

use std::collections::VecDeque;

use farbird_wire::clumplet::spb;

use crate::service::Services;
use crate::service_action::ServiceAction;
use crate::service_backup_options::{BackupOptions, RestoreOptions};

/// Files that are the client's.
const STDOUT: &str = "stdout";
const STDIN: &str = "stdin";
/// Questions for the next bytes of a backup that are under way at once: a megabyte, so that a distant server need not
/// wait for each.
const QUESTIONS_AHEAD: usize = 16;
/// Most bytes sent in one item.
const INPUT_BYTES_MAX: usize = 60_000;

/// What a restore says while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard<'a> {
    /// A line about what is done.
    Line(&'a str),
    /// So many bytes of the backup have been sent.
    Sent(u64),
}

impl Services {
    /// Backs a database of the server up; `take` gets the backup's bytes in order.
    ///
    /// # Round trips
    /// One to start, then about one per megabyte.
    ///
    /// # Errors
    /// What the server says of the database or the user's privileges; those of `take`, after which the connection is of
    /// no more use.
    pub async fn back_up<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.back_up_with(database, &BackupOptions::default(), take).await
    }

    /// As [`Services::back_up`], with options.
    ///
    /// # Round trips
    /// As [`Services::back_up`].
    ///
    /// # Errors
    /// As [`Services::back_up`].
    pub async fn back_up_with<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        options: &BackupOptions,
        take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.start_action(&options.action(database, STDOUT)?).await?;
        self.take_all(take).await
    }

    /// Makes a level of an incremental backup of a database of the server, as Firebird's nbackup does: 0 is whole, others have what has
    /// changed since the latest one of the level below. `take` gets its bytes in order.
    ///
    /// # Round trips
    /// As [`Services::back_up`].
    ///
    /// # Errors
    /// As [`Services::back_up`]; a level below which there is no backup.
    pub async fn back_up_level<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        level: u8,
        take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let action = ServiceAction::new(spb::action::NBAK)
            .text(spb::DBNAME, database)?
            .text(spb::nbackup::FILE, STDOUT)?
            .integer(spb::nbackup::LEVEL, u32::from(level));
        self.start_action(&action).await?;
        self.take_all(take).await
    }

    /// Takes what a service writes to the client, to the end.
    async fn take_all<E: From<farbird_types::Error>>(
        &self,
        mut take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let mut questions = VecDeque::new();
        loop {
            while questions.len() < QUESTIONS_AHEAD {
                questions.push_back(self.ask_service(Vec::new(), &[spb::info::TO_EOF])?);
            }
            let Some(oldest) = questions.pop_front() else { continue };
            let answer = self.answer(oldest).await?;
            if !answer.bytes.is_empty() {
                take(&answer.bytes)?;
            } else if !answer.goes_on {
                // Those asked ahead have the same answer, which is passed over.
                return Ok(());
            }
        }
    }

    /// Restores a backup, which `read` hands out: it fills what it is given, and gives the number of bytes, 0 at the end.
    /// Gives the number of bytes sent.
    ///
    /// # Round trips
    /// One to start, then one for each 60,000 bytes and each line.
    ///
    /// # Errors
    /// What the server says of the backup or the database; those of `read` and `hear`, after which the connection is of
    /// no more use.
    pub async fn restore<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        replace: bool,
        read: impl FnMut(&mut [u8]) -> std::result::Result<usize, E>,
        hear: impl FnMut(Heard<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        let options = RestoreOptions { replace, ..RestoreOptions::default() };
        self.restore_with(database, &options, read, hear).await
    }

    /// As [`Services::restore`], with options.
    ///
    /// # Round trips
    /// As [`Services::restore`].
    ///
    /// # Errors
    /// As [`Services::restore`].
    pub async fn restore_with<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        options: &RestoreOptions,
        mut read: impl FnMut(&mut [u8]) -> std::result::Result<usize, E>,
        mut hear: impl FnMut(Heard<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        self.start_action(&options.action(database, STDIN)?.flag(spb::VERBOSE)).await?;
        let mut sent = 0;
        let mut input = Vec::new();
        loop {
            let question = self.ask_service(input, &[spb::info::STDIN, spb::info::LINE])?;
            input = Vec::new();
            let answer = self.answer(question).await?;
            if !answer.bytes.is_empty() {
                hear(Heard::Line(&String::from_utf8_lossy(&answer.bytes)))?;
            }
            if answer.wanted > 0 {
                let mut piece = vec![0; answer.wanted.min(INPUT_BYTES_MAX)];
                let count = read(&mut piece)?;
                input = line_item(piece.get(..count).unwrap_or_default());
                sent += count as u64;
                hear(Heard::Sent(sent))?;
            } else if answer.bytes.is_empty() && !answer.goes_on {
                return Ok(sent);
            }
        }
    }
}

/// Bytes for the service's standard input.
fn line_item(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
    [&[spb::info::LINE][..], &length.to_le_bytes(), bytes].concat()
}
