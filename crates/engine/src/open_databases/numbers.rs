//! Numbers of databases that nobody is attached to: one that is opened again as it was left keeps its number, so what others know
//! of it by that number still holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use farbird_store::CommitNumber;
use parking_lot::Mutex;

use crate::database::Database;

/// Files that are remembered; with more of them all are forgotten.
const FILES_MAX: usize = 10_000;

/// What tells that a file has not been touched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileMark {
    length: u64,
    modified: SystemTime,
}

impl FileMark {
    pub(super) fn of(path: &Path) -> Option<FileMark> {
        let metadata = std::fs::metadata(path).ok()?;
        Some(FileMark { length: metadata.len(), modified: metadata.modified().ok()? })
    }
}

/// How a file was left.
#[derive(Debug)]
struct Left {
    number: u32,
    commit: CommitNumber,
    mark: FileMark,
}

/// Numbers of closed files.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    left: Mutex<HashMap<PathBuf, Left>>,
}

impl Numbers {
    /// A database is closed, its last commit was this.
    pub(super) fn keep(&self, path: &Path, number: u32, commit: CommitNumber) {
        let mut left = self.left.lock();
        if left.len() >= FILES_MAX {
            left.clear();
        }
        if let Some(mark) = FileMark::of(path) {
            left.insert(path.to_owned(), Left { number, commit, mark });
        }
    }

    /// A database has been opened whose file was `before`: it gets the number that it had, if nobody has touched it since.
    pub(super) fn restore(&self, path: &Path, before: Option<FileMark>, database: &mut Database) {
        if let Some(left) = self.left.lock().remove(path)
            && before == Some(left.mark)
            && database.store.last_commit() == left.commit
        {
            database.number = left.number;
        }
    }
}
