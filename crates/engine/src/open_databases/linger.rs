//! Databases that stay open for a while when their last attachment has left (ALTER DATABASE SET LINGER).
//!
//! Only those of a server do: a program that works with a file by itself lets go of it with its last attachment.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use farbird_types::Result;

use super::{OpenDatabase, OpenDatabases, Slot};
use crate::database::Database;

/// Between two looks whether anybody could still attach.
const LOOKS_APART: Duration = Duration::from_secs(5);

impl OpenDatabases {
    /// Whether databases linger as they say. Once they do not, those that linger are closed.
    pub(crate) fn set_lingers(&self, lingers: bool) {
        self.lingers.store(lingers, Ordering::Relaxed);
        if lingers {
            return;
        }
        let slots: Vec<_> =
            self.slots.lock().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect();
        for (path, slot) in slots {
            self.close_idle_slot(&path, &slot);
        }
    }

    /// Begins to linger if the database says so; false if it is to be closed now.
    pub(super) fn begin_to_linger(self: &Arc<Self>, slot: &Arc<Slot>, state: &mut OpenDatabase) -> bool {
        let Some(time) = self.linger_time(&state.database) else { return false };
        state.lingers_until = Instant::now().checked_add(time);
        if !std::mem::replace(&mut state.is_watched, true) {
            let (databases, slot) = (Arc::downgrade(self), Arc::downgrade(slot));
            let path = state.database.path.clone();
            std::thread::spawn(move || watch(&databases, &slot, &path));
        }
        true
    }

    fn linger_time(&self, database: &Database) -> Option<Duration> {
        let lingers = self.lingers.load(Ordering::Relaxed) && !database.no_linger.load(Ordering::Relaxed);
        let seconds = database.catalog().database.linger_seconds.filter(|seconds| lingers && *seconds > 0)?;
        Some(Duration::from_secs(seconds.into()))
    }

    /// Closes a database that only lingers.
    ///
    /// # Errors
    /// From closing the file.
    pub(crate) fn close_idle(&self, path: &Path, open: &mut Option<OpenDatabase>) -> Result<()> {
        match open.as_ref().filter(|state| state.attachments == 0).map(|state| Arc::clone(&state.database)) {
            Some(database) => self.close_open(path, open, database, false),
            None => Ok(()),
        }
    }

    fn close_idle_slot(&self, path: &Path, slot: &Arc<Slot>) {
        if let Err(error) = self.close_idle(path, &mut slot.open.lock()) {
            tracing::warn!(path = %path.display(), %error, "closing the database failed");
        }
        self.forget_if_idle(path, slot);
    }
}

/// Closes a database when its time is up; ends when somebody attaches, who begins anew when leaving.
fn watch(databases: &Weak<OpenDatabases>, slot: &Weak<Slot>, path: &Path) {
    loop {
        let (Some(databases), Some(slot)) = (databases.upgrade(), slot.upgrade()) else { return };
        let until = match &mut *slot.open.lock() {
            None => return,
            Some(state) if state.attachments > 0 => {
                state.is_watched = false;
                return;
            }
            Some(state) => state.lingers_until,
        };
        let left = until.map_or(LOOKS_APART, |until| until.saturating_duration_since(Instant::now()));
        if left.is_zero() {
            return databases.close_idle_slot(path, &slot);
        }
        drop((databases, slot));
        sleep(left.min(LOOKS_APART));
    }
}
