//! What a server has noted of the backups that it makes by itself, so that databases can show it.
//!
//! The server's scheduler writes the book; FARBIRD$BACKUPS and metrics read it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

/// How a backup, or an attempt at one, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupState {
    /// It is in its place, and was checked.
    Kept,
    /// It was made, and is not in its place any more.
    Missing,
    /// It was made, and something else is in its place.
    Changed,
    /// It was made, and its place cannot be read.
    Unreadable,
    /// It is being made.
    Running,
    /// The latest attempt has failed.
    Failed,
    /// The next one is to be made then.
    Due,
}

impl BackupState {
    /// Its name in FARBIRD$BACKUPS.
    pub fn name(self) -> &'static str {
        match self {
            BackupState::Kept => "KEPT",
            BackupState::Missing => "MISSING",
            BackupState::Changed => "CHANGED",
            BackupState::Unreadable => "UNREADABLE",
            BackupState::Running => "RUNNING",
            BackupState::Failed => "FAILED",
            BackupState::Due => "DUE",
        }
    }
}

/// A backup, an attempt at one, or the next one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupEntry {
    /// The schedule's name.
    pub schedule: String,
    /// How it is.
    pub state: BackupState,
    /// When it was or will be begun, in microseconds since 1970, UTC.
    pub at_us: Option<i64>,
    /// Its file.
    pub file: Option<PathBuf>,
    /// Bytes of the file.
    pub bytes: Option<u64>,
    /// Rows in it.
    pub rows: Option<u64>,
    /// How long it took to be made and checked, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Why it has failed.
    pub message: Option<String>,
}

/// What has come of the backups of one database by one schedule since the server's start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupCounts {
    /// Backups made.
    pub made: u64,
    /// Attempts that have failed.
    pub failed: u64,
    /// When the latest backup that was made was begun, wherever its file is now, in microseconds since 1970, UTC: be it of an earlier start.
    pub latest_us: Option<i64>,
    /// Bytes of the newest one that is kept.
    pub latest_bytes: Option<u64>,
    /// How long it took, in milliseconds.
    pub latest_duration_ms: Option<u64>,
    /// Backups that are kept.
    pub kept: u64,
}

/// A database's file and a schedule.
type Key = (PathBuf, String);

/// All that is known of backups, by database and schedule.
#[derive(Debug, Default)]
pub struct BackupBook {
    pages: Mutex<BTreeMap<Key, (Vec<BackupEntry>, BackupCounts)>>,
}

impl BackupBook {
    /// Replaces what is known of one database and schedule.
    pub fn set(&self, database: &Path, schedule: &str, entries: Vec<BackupEntry>, counts: BackupCounts) {
        self.pages.lock().insert((database.to_owned(), schedule.to_owned()), (entries, counts));
    }

    /// Forgets what is of none of these databases and schedules: those that were dropped.
    pub fn retain(&self, is_known: impl Fn(&Path, &str) -> bool) {
        self.pages.lock().retain(|(database, schedule), _| is_known(database, schedule));
    }

    /// What is known of a database.
    pub fn of(&self, database: &Path) -> Vec<BackupEntry> {
        let pages = self.pages.lock();
        let own = pages.iter().filter(|((path, _), _)| path == database);
        own.flat_map(|(_, (entries, _))| entries.iter().cloned()).collect()
    }

    /// Databases and schedules with what has come of them.
    pub fn counts(&self) -> Vec<(PathBuf, String, BackupCounts)> {
        let pages = self.pages.lock();
        pages
            .iter()
            .map(|((path, schedule), (_, counts))| (path.clone(), schedule.clone(), counts.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dropped_is_forgotten() {
        let book = BackupBook::default();
        let paths = ["/data/a.fbd", "/data/b.fbd"].map(Path::new);
        for path in paths {
            book.set(path, "nightly", Vec::new(), BackupCounts::default());
        }
        book.retain(|path, schedule| path == paths[1] && schedule == "nightly");
        let left: Vec<_> = book.counts().into_iter().map(|(path, ..)| path).collect();
        assert_eq!(left, [paths[1]]);
    }
}
