//! Databases by file, opened once however many attach, closed when the last one leaves. Knows no sessions.

mod failure;
mod files;
mod linger;
mod numbers;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use farbird_store::StoreOptions;
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::budget::Account;
use crate::database::{Database, shown};
use crate::users::UserDirectory;

use failure::io_error;
pub(crate) use failure::store_error;
pub(crate) use files::{create_file, exists, open_file};
use numbers::{FileMark, Numbers};

/// The databases that one engine has open.
pub(crate) struct OpenDatabases {
    options: StoreOptions,
    /// What the statements of all of them have taken together.
    budget: Arc<Account>,
    /// A slot per file that is or was open. Its lock is held while the file is opened or closed, so that whoever comes
    /// at that moment waits instead of finding the file locked by ourselves.
    slots: Mutex<HashMap<PathBuf, Arc<Slot>>>,
    numbers: Numbers,
    /// Whether databases linger.
    lingers: AtomicBool,
}

/// One file's place: empty while nobody is attached.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) open: Mutex<Option<OpenDatabase>>,
}

/// One that is open.
pub(crate) struct OpenDatabase {
    pub(crate) database: Arc<Database>,
    /// Attachments and holds; 0 while it lingers.
    attachments: usize,
    /// When it is closed if nobody attaches.
    lingers_until: Option<Instant>,
    /// Whether somebody looks when that is.
    is_watched: bool,
}

impl OpenDatabase {
    /// Counts a new attachment or hold of a slot's database.
    pub(crate) fn count(open: &mut Option<OpenDatabase>, database: Arc<Database>) {
        let state = open.get_or_insert_with(|| OpenDatabase {
            database,
            attachments: 0,
            lingers_until: None,
            is_watched: false,
        });
        state.attachments += 1;
    }
}

impl OpenDatabases {
    /// None yet. Those that are opened are opened with these options, and charge this account.
    pub(crate) fn new(options: StoreOptions, budget: Arc<Account>) -> Arc<OpenDatabases> {
        Arc::new(OpenDatabases {
            options,
            budget,
            slots: Mutex::new(HashMap::new()),
            numbers: Numbers::default(),
            lingers: AtomicBool::new(false),
        })
    }

    /// How stores are opened.
    pub(crate) fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// What the statements of all of them have taken together.
    pub(crate) fn budget(&self) -> &Arc<Account> {
        &self.budget
    }

    /// The database of a slot, which is opened if it is not open. Nobody has it then: it is to be counted
    /// ([`OpenDatabase::count`]) or closed again ([`OpenDatabases::close_uncounted`]) before the slot is let go of.
    ///
    /// # Errors
    /// `isc_io_error` if there is no such file, `isc_bad_db_format` if it is something else.
    pub(crate) fn open(
        &self,
        path: &Path,
        open: &Option<OpenDatabase>,
        users: Arc<dyn UserDirectory>,
    ) -> Result<Arc<Database>> {
        if let Some(open) = open {
            return Ok(Arc::clone(&open.database));
        }
        let before = FileMark::of(path);
        let mut database = open_file(path, &self.options, users, &self.budget)?;
        self.numbers.restore(path, before, &mut database);
        Ok(Arc::new(database))
    }

    /// Closes a database that was opened and not counted.
    ///
    /// # Errors
    /// From closing the file.
    pub(crate) fn close_uncounted(
        &self,
        path: &Path,
        open: &mut Option<OpenDatabase>,
        database: Arc<Database>,
    ) -> Result<()> {
        match open {
            Some(_) => Ok(()),
            None => self.close_open(path, open, database, false),
        }
    }

    /// The databases that are open, with their numbers of attachments.
    pub(crate) fn list(&self) -> Vec<(PathBuf, usize)> {
        let slots: Vec<_> =
            self.slots.lock().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect();
        let mut open: Vec<_> = slots
            .into_iter()
            .filter_map(|(path, slot)| slot.open.lock().as_ref().map(|open| (path, open.attachments)))
            .filter(|(_, attachments)| *attachments > 0)
            .collect();
        open.sort();
        open
    }

    /// As [`OpenDatabases::list`], with the databases themselves. Who keeps one keeps its file open: ask and let go.
    pub(crate) fn with_each(&self, mut see: impl FnMut(&Path, &Database)) {
        let slots: Vec<_> =
            self.slots.lock().iter().map(|(path, slot)| (path.clone(), Arc::clone(slot))).collect();
        for (path, slot) in slots {
            // One that is being opened or closed is passed over: nobody shall wait for that.
            let Some(open) = slot.open.try_lock() else { continue };
            if let Some(open) = &*open {
                see(&path, &open.database);
            }
        }
    }

    /// Whether nobody else is attached to a database that somebody is attached to.
    ///
    /// # Errors
    /// As for a lock that is not to be had.
    pub(crate) fn check_alone(&self, database: &Database) -> Result<()> {
        let slot = self.slot(&database.path);
        let open = slot.open.lock();
        match open.as_ref().is_some_and(|open| open.attachments > 1) {
            true => Err(shared(&database.path)),
            false => Ok(()),
        }
    }

    /// One attachment less; the last one closes the file. If `delete`, the file goes too.
    ///
    /// The attachment hands over its share of the database: the file is free again when this returns.
    ///
    /// # Errors
    /// `isc_obj_in_use` if the file is to be deleted while others are attached: the share is handed back; `isc_io_error`.
    pub(crate) fn release(
        self: &Arc<Self>,
        database: Arc<Database>,
        delete: bool,
    ) -> std::result::Result<(), (Option<Arc<Database>>, Error)> {
        let path = database.path.clone();
        let slot = self.slot(&path);
        let mut open = slot.open.lock();
        let Some(state) = open.as_mut() else { return Ok(()) };
        if delete && state.attachments > 1 {
            return Err((Some(database), shared(&path)));
        }
        state.attachments -= 1;
        if state.attachments > 0 || (!delete && self.begin_to_linger(&slot, state)) {
            return Ok(());
        }
        let closed = self.close_open(&path, &mut open, database, delete);
        drop(open);
        self.forget_if_idle(&path, &slot);
        closed.map_err(|error| (None, error))
    }

    /// Closes a database that nobody is attached to; `database` is the caller's share. If `delete`, the file goes too.
    fn close_open(
        &self,
        path: &Path,
        open: &mut Option<OpenDatabase>,
        database: Arc<Database>,
        delete: bool,
    ) -> Result<()> {
        *open = None;
        let (number, commit) = (database.number, database.store.last_commit());
        let closed = database.store.close().map_err(|error| store_error(path, error));
        // The last reference: with it the file's lock goes, before anybody else can open the file.
        drop(database);
        let deleted = match delete {
            true => std::fs::remove_file(path).map_err(|error| io_error("delete", path, &error)),
            false => {
                self.numbers.keep(path, number, commit);
                Ok(())
            }
        };
        closed.and(deleted)
    }

    /// Runs while nobody has a file open here, and nobody can open it.
    ///
    /// # Errors
    /// `isc_obj_in_use` if somebody has; those of `run`.
    pub(crate) fn while_closed<T>(&self, path: &Path, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let slot = self.slot(path);
        let mut open = slot.open.lock();
        self.close_idle(path, &mut open)?;
        let result = match &*open {
            Some(_) => Err(Error::new(isc::OBJ_IN_USE).with("DATABASE").with(shown(path))),
            None => run(),
        };
        drop(open);
        self.forget_if_idle(path, &slot);
        result
    }

    /// The place of a file.
    pub(crate) fn slot(&self, path: &Path) -> Arc<Slot> {
        Arc::clone(self.slots.lock().entry(path.to_owned()).or_default())
    }

    /// Drops a file's slot unless somebody is about to use it.
    fn forget_if_idle(&self, path: &Path, slot: &Arc<Slot>) {
        let mut slots = self.slots.lock();
        // Two references are the map's and the caller's own.
        if Arc::strong_count(slot) == 2 && slot.open.lock().is_none() {
            slots.remove(path);
        }
    }
}

/// A database that is to be deleted is in use by others.
fn shared(path: &Path) -> Error {
    Error::new(isc::LOCK_TIMEOUT).and(isc::OBJ_IN_USE).with(shown(path))
}
