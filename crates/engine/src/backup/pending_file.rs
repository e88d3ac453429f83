//! Files that appear under their name only when they are whole.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use farbird_store::FileKind;
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::backup::failure::io_error;
use crate::database::shown;
use crate::open_databases::exists;

/// Comes behind the name of a file that is not whole yet.
const PENDING_SUFFIX: &str = ".incomplete";

/// The files that this process is writing: one is closed and opened again before it has its name, and nobody's lock is on it meanwhile.
static WRITTEN_HERE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A file that is being written. Dropped before [`PendingFile::publish`] it goes.
#[derive(Debug)]
pub struct PendingFile {
    target: PathBuf,
    path: PathBuf,
    replace: bool,
    published: bool,
}

impl PendingFile {
    /// Makes room for a file that will be called `target`; removes what a crash has left of an earlier one.
    ///
    /// # Errors
    /// `isc_io_error` if somebody else is writing it, in this process or another.
    pub fn reserve(target: &Path, replace: bool) -> Result<PendingFile> {
        let mut name = target.file_name().map(OsString::from).unwrap_or_default();
        name.push(PENDING_SUFFIX);
        let path = target.with_file_name(name);
        let mut written_here = WRITTEN_HERE.lock();
        if written_here.contains(&path) {
            return Err(busy(&path));
        }
        remove_leftover(&path)?;
        written_here.insert(path.clone());
        Ok(PendingFile { target: target.to_owned(), path, replace, published: false })
    }

    /// Its name until it is whole.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the file itself, and locks it against another one who would write it.
    ///
    /// # Errors
    /// `isc_io_error`.
    pub fn create(&self) -> Result<File> {
        let made = OpenOptions::new().write(true).create_new(true).open(&self.path);
        let file =
            made.map_err(|error| io_error("create", &shown(&self.path), isc::IO_CREATE_ERR, &error))?;
        file.try_lock().map_err(|_| busy(&self.path))?;
        Ok(file)
    }

    /// Gives the file its name, now that it is whole and closed.
    ///
    /// # Durability
    /// Contents and name are on the disk when this returns.
    ///
    /// # Errors
    /// `isc_db_or_file_exists` if there is a file meanwhile that is not to be replaced; `isc_io_error`.
    pub fn publish(&mut self) -> Result<()> {
        let failed = |error: io::Error| io_error("rename", &shown(&self.path), isc::IO_WRITE_ERR, &error);
        File::open(&self.path).and_then(|file| file.sync_all()).map_err(failed)?;
        match self.replace {
            true => fs::rename(&self.path, &self.target).map_err(failed)?,
            false => self.take_free_name()?,
        }
        self.published = true;
        sync_folder(&self.target).map_err(failed)
    }

    /// Takes a file away that has been published, since another one that it belongs to could not be: a new one goes, one
    /// that took the place of another stays.
    pub fn withdraw(&mut self) {
        if self.published && !self.replace {
            let _ = fs::remove_file(&self.target);
        }
    }

    /// Unlike a renaming, a link never takes the place of a file that has come meanwhile.
    fn take_free_name(&self) -> Result<()> {
        let failed = |error: io::Error| io_error("rename", &shown(&self.path), isc::IO_WRITE_ERR, &error);
        match fs::hard_link(&self.path, &self.target) {
            Ok(()) => fs::remove_file(&self.path).map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(exists(&self.target)),
            // The file system has no links.
            Err(_) => {
                check_absent(&self.target)?;
                fs::rename(&self.path, &self.target).map_err(failed)
            }
        }
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        let mut written_here = WRITTEN_HERE.lock();
        written_here.remove(&self.path);
        if self.published {
            return;
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!(path = %self.path.display(), %error, "an incomplete file was left behind");
            }
            _ => {}
        }
    }
}

/// Makes a new name in a folder durable.
fn sync_folder(target: &Path) -> io::Result<()> {
    // Other systems cannot open folders, and keep their names without.
    if cfg!(unix) {
        let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
    }
    Ok(())
}

fn remove_leftover(path: &Path) -> Result<()> {
    let failed = |error: io::Error| io_error("delete", &shown(path), isc::IO_DELETE_ERR, &error);
    let leftover = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    match leftover.try_lock() {
        Ok(()) => fs::remove_file(path).map_err(failed),
        Err(TryLockError::WouldBlock) => Err(busy(path)),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

fn busy(path: &Path) -> Error {
    let text = "another backup or restore is writing this file";
    Error::new(isc::IO_ERROR).with("lock").with(shown(path)).and(isc::RANDOM).with(text)
}

/// Refuses to take the name of a file that is there.
///
/// # Errors
/// `isc_db_or_file_exists`; `isc_io_error` if there is no such folder.
pub(crate) fn check_absent(target: &Path) -> Result<()> {
    match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(io_error("open", &shown(target), isc::IO_OPEN_ERR, &error)),
        Ok(_) => Err(exists(target)),
    }
}

/// Lets only a file of this kind, which nobody has open, be replaced; there need not be one.
///
/// # Errors
/// `isc_db_or_file_exists` for another kind, `isc_io_error` if a process has it open.
pub(crate) fn check_replaceable(target: &Path, kind: FileKind) -> Result<()> {
    let failed = |error: io::Error| io_error("open", &shown(target), isc::IO_OPEN_ERR, &error);
    let file = match File::open(target) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return check_absent(target),
        Err(error) => return Err(failed(error)),
    };
    match farbird_store::identify(target) {
        Ok(found) if found == kind || found == FileKind::Empty => {}
        Ok(found) => {
            let text = format!("the file is {found}, and is not overwritten");
            return Err(exists(target).and(isc::RANDOM).with(text));
        }
        Err(error) => return Err(crate::open_databases::store_error(target, error)),
    }
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let text = "another process has the file open; stop it first";
            Err(Error::new(isc::IO_ERROR).with("lock").with(shown(target)).and(isc::RANDOM).with(text))
        }
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Makes room for a backup file that will be called `target`.
///
/// # Errors
/// As [`PendingFile::reserve`]; `isc_db_or_file_exists` if there is a file and `replace` was not asked for, or it is
/// something else than a backup.
pub fn pending_backup(target: &Path, replace: bool) -> Result<PendingFile> {
    pending_of_kind(target, replace, FileKind::FarbirdBackup)
}

/// As [`pending_backup`], for a backup in the format of Firebird's gbak.
///
/// # Errors
/// As [`pending_backup`].
pub fn pending_gbak(target: &Path, replace: bool) -> Result<PendingFile> {
    pending_of_kind(target, replace, FileKind::FirebirdBackup)
}

/// As [`pending_backup`], for a text that begins with `head`: what begins with something else is not replaced, nor is
/// anything but a file.
///
/// # Errors
/// As [`pending_backup`].
pub fn pending_text(target: &Path, replace: bool, head: &str) -> Result<PendingFile> {
    let failed = |error: io::Error| io_error("open", &shown(target), isc::IO_OPEN_ERR, &error);
    let found = match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return PendingFile::reserve(target, replace);
        }
        Err(error) => return Err(failed(error)),
        Ok(found) => found,
    };
    if !replace {
        return Err(exists(target));
    }
    let mut begin = Vec::new();
    if found.is_file() {
        let file = File::open(target).map_err(failed)?;
        file.take(head.len() as u64).read_to_end(&mut begin).map_err(failed)?;
    }
    if begin != head.as_bytes() {
        let text = "it is something else than the script of a backup, and is not overwritten";
        return Err(exists(target).and(isc::RANDOM).with(text));
    }
    PendingFile::reserve(target, replace)
}

fn pending_of_kind(target: &Path, replace: bool, kind: FileKind) -> Result<PendingFile> {
    if replace {
        check_replaceable(target, kind)?;
    } else {
        check_absent(target)?;
    }
    PendingFile::reserve(target, replace)
}
