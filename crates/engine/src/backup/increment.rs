//! Incremental backups of a database: what nbackup's levels are in Firebird.
//!
//! # Promises
//! - A backup builds on one that is in the history of its database, by level or by GUID; what that one had is not written again. Its file
//!   need not be there.
//! - A backup is entered in the history by [`Increment::note`], once its file is whole: the next level never builds on half a file.
//! - A chain of files becomes a database as a whole backup does, or nothing.
//!
//! Source: Firebird 5 nbackup (levels, GUIDs, RDB$BACKUP_HISTORY); how files look is Farbird's own (docs/backup.md).

use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::Arc;

use farbird_store::backup::{
    BackupChain, BackupError, ChunkDigest, IncrementHeader, KnownChunks, guid_of_text, guid_text,
    is_increment, write_increment,
};
use farbird_store::{BackupRecord, CancelFlag};
use farbird_types::{Error, Result, isc};

use super::{
    BackupName, BackupSummary, ChosenTables, ProgressObserver, RestoreOptions, Restored, begin, io_error,
    status,
};
use crate::budget::StatementBudget;
use crate::build_room::memory_of;
use crate::catalog::new_guid;
use crate::clock;
use crate::database::{Database, shown};
use crate::engine::Engine;
use crate::open_databases::store_error;

/// nbackup_lostrec_db: the backup to build on is not in the history. Database, level.
const LOST_LEVEL: u32 = 337_117_235;
/// nbackup_lostrec_guid_db: the same, by GUID. Database, GUID.
const LOST_GUID: u32 = 337_117_261;
/// nbackup_invlevel_incbk: a file of another level than its place. Level, file, level that is expected.
const WRONG_LEVEL: u32 = 337_117_246;
/// nbackup_wrong_orderbk: a file that builds on another one than the file before it. File.
const WRONG_ORDER: u32 = 337_117_247;
/// nbackup_invalid_incbk: no file of a chain. File.
const NO_INCREMENT: u32 = 337_117_244;

const US_PER_DAY: i64 = 86_400_000_000;

/// What a backup builds on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BackupSince {
    /// On the latest one of the level before this; on none, if it is 0.
    Level(u8),
    /// On the one of this GUID, as RDB$BACKUP_HISTORY shows it.
    Guid(String),
}

/// Which entries of the history are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryKept {
    /// Those of so many days, today included.
    Days(u32),
    /// So many of the latest.
    Rows(u32),
}

/// A backup that was written, and is in no history yet.
#[derive(Debug)]
pub struct Increment {
    /// What is in it. The bytes are those of its own file.
    pub summary: BackupSummary,
    record: BackupRecord,
    contents: Vec<ChunkDigest>,
}

/// Writes an incremental backup of the database as it is now.
///
/// # Errors
/// As [`super::back_up_database`]; nbackup_lostrec_db and nbackup_lostrec_guid_db if there is nothing to build on.
pub fn back_up_increment(
    database: &Database,
    since: &BackupSince,
    out: impl Write,
    name: BackupName<'_>,
    cancel: &Arc<CancelFlag>,
    observer: &mut ProgressObserver<'_>,
) -> Result<Increment> {
    let failed = |error| store_error(&database.path, error);
    let (transaction, contents) = begin(database, &ChosenTables::default(), cancel)?;
    let earlier = earlier(database, since)?;
    let budget = database.budget.statement();
    // Held until the backup is written.
    let mut room = budget.reserve();
    let (known, level, parent) = match &earlier {
        None => (Vec::new(), 0, [0; 16]),
        Some(earlier) => {
            let chunks = usize::try_from(earlier.chunks).unwrap_or(usize::MAX);
            room.grow(chunks.saturating_mul(size_of::<ChunkDigest>()))?;
            let known = database.store.backup_contents(earlier).map_err(failed)?;
            let level = earlier.level.checked_add(1).ok_or_else(|| about_level(earlier))?;
            (known.ok_or_else(|| not_kept(earlier))?, level, earlier.guid)
        }
    };
    let guid = guid_of_text(&new_guid()).unwrap_or_default();
    let header = IncrementHeader { level, guid, parent };
    let mut known = KnownChunks::new(known, memory_of(&budget));
    let summary = write_increment(&transaction, &contents, &header, &mut known, out, observer)
        .map_err(|error| status(error, &database.path, name))?;
    let record = BackupRecord {
        id: 0,
        time_us: contents.time_us,
        level,
        is_since_guid: matches!(since, BackupSince::Guid(_)),
        guid,
        commit: summary.commit,
        chunks: 0,
        file: name.to_owned(),
    };
    Ok(Increment { summary, record, contents: known.into_all() })
}

impl Increment {
    /// Its level, counted from the backup that is whole by itself.
    pub fn level(&self) -> u8 {
        self.record.level
    }

    /// Its GUID, as RDB$BACKUP_HISTORY shows it.
    pub fn guid(&self) -> String {
        guid_text(&self.record.guid)
    }

    /// Enters it in the history of its database: its file is whole.
    ///
    /// # Errors
    /// Those of writing. Then the file can be restored, and nothing can build on it.
    pub fn note(self, database: &Database) -> Result<()> {
        let noted = database.store.note_backup(self.record, &self.contents);
        noted.map(|_| ()).map_err(|error| store_error(&database.path, error))
    }
}

/// Forgets older backups; gives how many.
///
/// # Errors
/// Those of writing.
pub fn clean_history(database: &Database, kept: HistoryKept) -> Result<u64> {
    let failed = |error| store_error(&database.path, error);
    let forgotten = match kept {
        HistoryKept::Rows(rows) => {
            let history = database.store.backup_history().map_err(failed)?;
            let first = history.len().saturating_sub(rows as usize);
            let first = history.get(first).map_or(u64::MAX, |backup| backup.id);
            database.store.forget_backups(|backup| backup.id < first)
        }
        HistoryKept::Days(days) => {
            let today = clock::now_us().div_euclid(US_PER_DAY);
            let first = today + 1 - i64::from(days);
            database.store.forget_backups(|backup| backup.time_us.div_euclid(US_PER_DAY) < first)
        }
    };
    forgotten.map_err(failed)
}

/// The backup that a new one builds on.
fn earlier(database: &Database, since: &BackupSince) -> Result<Option<BackupRecord>> {
    let history = database.store.backup_history().map_err(|error| store_error(&database.path, error))?;
    let mut latest_first = history.into_iter().rev();
    match since {
        BackupSince::Level(0) => Ok(None),
        BackupSince::Level(level) => {
            let below = level - 1;
            let found = latest_first.find(|backup| backup.level == below && !backup.is_since_guid);
            let lost = || {
                let lost = Error::new(LOST_LEVEL).with(shown(&database.path)).with(i32::from(below));
                lost.and(isc::RANDOM)
                    .with(format!("make a backup of level {below} first: level {level} builds on it"))
            };
            found.map(Some).ok_or_else(lost)
        }
        BackupSince::Guid(text) => {
            let guid = guid_of_text(text);
            let found = latest_first.find(|backup| Some(backup.guid) == guid);
            let lost = || {
                let lost = Error::new(LOST_GUID).with(shown(&database.path)).with(text.as_str());
                lost.and(isc::RANDOM).with("no backup in RDB$BACKUP_HISTORY has this GUID")
            };
            found.map(Some).ok_or_else(lost)
        }
    }
}

fn not_kept(backup: &BackupRecord) -> Error {
    Error::new(isc::RANDOM).with(format!(
        "what was in the backup {} is not kept any more: make one of level 0, or build on a later one",
        guid_text(&backup.guid)
    ))
}

fn about_level(backup: &BackupRecord) -> Error {
    let text = format!("a chain of backups has at most {} files: make one of level 0", backup.level);
    Error::new(isc::RANDOM).with(text)
}

/// A file of a chain, and its name in messages.
pub struct ChainFile<F> {
    /// Its name.
    pub name: String,
    /// The file.
    pub file: F,
}

/// The backup that the last of these files is, as one stream.
///
/// # Errors
/// nbackup_invlevel_incbk, nbackup_wrong_orderbk, nbackup_invalid_incbk; `isc_io_error`; `isc_cancelled`; and what damage gives.
pub fn open_chain<F: Read + Seek>(
    files: Vec<ChainFile<F>>,
    cancel: &CancelFlag,
    budget: &Arc<StatementBudget>,
) -> Result<BackupChain<F>> {
    let (names, files): (Vec<String>, Vec<F>) = files.into_iter().map(|it| (it.name, it.file)).unzip();
    let name = |position: usize| names.get(position).map_or("", String::as_str);
    BackupChain::open(files, memory_of(budget), cancel).map_err(|error| match error {
        BackupError::ChainLevel { position, level } => {
            let expected = i32::try_from(position).unwrap_or(i32::MAX);
            let wrong = Error::new(WRONG_LEVEL).with(i32::from(level)).with(name(position)).with(expected);
            let text = format!(
                "{} has level {level}: give the files in the order of their levels, from 0 on",
                name(position)
            );
            wrong.and(isc::RANDOM).with(text)
        }
        BackupError::ChainOrder { position } => {
            let text = format!("{} builds on another backup than the file before it", name(position));
            Error::new(WRONG_ORDER).with(name(position)).and(isc::RANDOM).with(text)
        }
        BackupError::NotAnIncrement { position } => {
            let text = format!("{} is no file of an incremental backup", name(position));
            Error::new(NO_INCREMENT).with(name(position)).and(isc::RANDOM).with(text)
        }
        error => status(error, Path::new(""), &names.join(", ")),
    })
}

/// Whether a file is one of a chain.
///
/// # Errors
/// `isc_io_error`.
pub fn is_chain_file(file: &mut (impl Read + Seek), name: BackupName<'_>) -> Result<bool> {
    is_increment(file).map_err(|error| io_error("read", name, isc::IO_READ_ERR, &error))
}

impl Engine {
    /// Makes a database of a chain of incremental backups, the one of level 0 first.
    ///
    /// # Durability
    /// As of [`Engine::restore`].
    ///
    /// # Errors
    /// As [`open_chain`] and [`Engine::restore`].
    pub fn restore_chain<F: Read + Seek>(
        &self,
        files: Vec<ChainFile<F>>,
        target: &Path,
        options: &RestoreOptions,
        cancel: &Arc<CancelFlag>,
        observer: &mut ProgressObserver<'_>,
    ) -> Result<Restored> {
        let names: Vec<&str> = files.iter().map(|it| it.name.as_str()).collect();
        let names = names.join(", ");
        let chain = open_chain(files, cancel, &self.budget().statement())?;
        self.restore(chain, &names, target, options, cancel, observer)
    }
}
