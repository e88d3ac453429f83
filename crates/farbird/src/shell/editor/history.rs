//! What was typed before, kept in the user's data folder. Statements with passwords are not.

use std::fs::OpenOptions;
use std::path::PathBuf;

use anyhow::Context;
use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery,
};

use super::scan::{PieceKind, pieces};

/// Statements that are kept.
const STATEMENTS_MAX: usize = 10_000;

/// Opens the history; the file is readable by the user alone.
pub(super) fn open() -> anyhow::Result<Box<dyn History>> {
    let folder = data_folder().context("neither XDG_DATA_HOME nor HOME names a folder")?.join("farbird");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("history");
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&path).with_context(|| format!("cannot open {}", path.display()))?;
    let history = FileBackedHistory::with_file(STATEMENTS_MAX, path)?;
    Ok(Box::new(WithoutPasswords(history)))
}

/// Where programs keep a user's data.
fn data_folder() -> Option<PathBuf> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    named("XDG_DATA_HOME")
        .or_else(|| named("HOME").map(|home| home.join(".local/share")))
        .or_else(|| named("APPDATA"))
}

/// Whether a statement names a password.
fn has_password(statement: &str) -> bool {
    pieces(statement).any(|(kind, piece)| kind == PieceKind::Word && piece.eq_ignore_ascii_case("PASSWORD"))
}

/// A history that forgets statements with passwords.
struct WithoutPasswords(FileBackedHistory);

impl History for WithoutPasswords {
    fn save(&mut self, item: HistoryItem) -> Result<HistoryItem> {
        if has_password(&item.command_line) { Ok(item) } else { self.0.save(item) }
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.0.load(id)
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.0.count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.0.search(query)
    }

    fn update(&mut self, id: HistoryItemId, updater: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        self.0.update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.0.clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.0.delete(id)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.0.session()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_with_passwords_are_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("history");
        let mut history = WithoutPasswords(FileBackedHistory::with_file(10, path.clone()).unwrap());
        for statement in ["select 1", "create user a Password 'x'", "select 'password' from t"] {
            history.save(HistoryItem::from_command_line(statement)).unwrap();
        }
        history.sync().unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "select 1\nselect 'password' from t\n");
    }
}
