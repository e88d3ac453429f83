//! The files of external tables: which of them may be opened, and how.
//!
//! Promises: nothing is opened but ordinary files inside of the folders that the administrator has named, whatever a definition calls them:
//! `..` and symbolic links are followed first, and what has been opened is compared with what was looked at. Nor is a database or
//! a backup opened, of Farbird or Firebird, wherever it lies. Without a folder everything is refused.
//!
//! A file is named by its whole path, or by one that begins in one of the folders: the first folder that has such a file, else the first
//! one (Firebird's ExternalFileAccess).

use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Component, Path, PathBuf};

use farbird_store::{FileKind, identify_open};
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

/// The folders whose files external tables may use.
#[derive(Debug, Default)]
pub struct ExternalFolders {
    /// Without symbolic links and `..`.
    folders: Vec<PathBuf>,
    /// Held while something is appended: nothing else comes between its bytes, or between the end of the file and them.
    appending: Mutex<()>,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Read,
    Append,
}

/// Why a file is not opened.
enum Refused {
    /// It is not in one of the folders, or must not be used as a table.
    NotAllowed,
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        Refused::Io(error)
    }
}

impl ExternalFolders {
    /// These folders.
    ///
    /// # Errors
    /// The first one that is not there, or is none, with the reason.
    pub fn new(folders: &[PathBuf]) -> std::result::Result<ExternalFolders, (PathBuf, io::Error)> {
        let canonical = folders.iter().map(|folder| {
            let found = folder.canonicalize().map_err(|error| (folder.clone(), error))?;
            match found.is_dir() {
                true => Ok(found),
                false => Err((folder.clone(), ErrorKind::NotADirectory.into())),
            }
        });
        Ok(ExternalFolders {
            folders: canonical.collect::<std::result::Result<_, _>>()?,
            appending: Mutex::new(()),
        })
    }

    /// Whether a place is in one of the folders, or one of them in it.
    pub fn overlap(&self, place: &Path) -> bool {
        let absolute = || std::path::absolute(place).unwrap_or_else(|_| place.to_owned());
        let place = place.canonicalize().unwrap_or_else(|_| absolute());
        self.folders.iter().any(|folder| folder.starts_with(&place) || place.starts_with(folder))
    }

    /// Opens a file for reading; nothing if there is none.
    ///
    /// # Errors
    /// `conf_access_denied` for one that may not be used, `io_error`.
    pub fn open(&self, file: &str) -> Result<Option<File>> {
        match self.try_open(file, Purpose::Read) {
            Ok(found) => Ok(Some(found)),
            Err(Refused::Io(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(refused) => Err(status(file, "open", isc::IO_OPEN_ERR, &refused)),
        }
    }

    /// Opens a file for [`ExternalFolders::append`]; one that is not there is made, with its folders.
    ///
    /// # Errors
    /// As [`ExternalFolders::open`]; `ext_readonly_err` for one that cannot be written.
    pub fn open_to_append(&self, file: &str) -> Result<File> {
        self.try_open(file, Purpose::Append).map_err(|refused| match refused {
            Refused::Io(error)
                if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) =>
            {
                Error::new(isc::IO_ERROR)
                    .with("insert")
                    .with(file)
                    .and(isc::IO_WRITE_ERR)
                    .and(isc::EXT_READONLY_ERR)
            }
            refused => status(file, "open", isc::IO_OPEN_ERR, &refused),
        })
    }

    /// Appends bytes that belong together to a file that was opened for it. `begin` is told how long the file is; it gives the length that is kept of it,
    /// and what comes between that and the bytes. What cannot be written as a whole is taken back.
    ///
    /// # Errors
    /// `io_error`.
    pub fn append(
        &self,
        name: &str,
        mut file: &File,
        bytes: &[u8],
        begin: impl FnOnce(&File, u64) -> io::Result<(u64, &'static [u8])>,
    ) -> Result<()> {
        let _alone = self.appending.lock();
        let written = (|| {
            let length = file.metadata()?.len();
            let (kept, between) = begin(file, length)?;
            if kept < length {
                file.set_len(kept)?;
            }
            let written = match between {
                [] => file.write_all(bytes),
                between => file.write_all(&[between, bytes].concat()),
            };
            written.inspect_err(|_| {
                // That it cannot be written is what is told.
                let _ = file.set_len(kept);
            })
        })();
        written.map_err(|error| status(name, "write", isc::IO_WRITE_ERR, &Refused::Io(error)))
    }

    /// Bytes of a file, if it is there and may be read.
    pub fn length(&self, file: &str) -> Option<u64> {
        let place = self.place(file).ok()?;
        place.metadata().ok().filter(Metadata::is_file).map(|found| found.len())
    }

    fn try_open(&self, file: &str, purpose: Purpose) -> std::result::Result<File, Refused> {
        let place = self.place(file)?;
        let known = match place.symlink_metadata() {
            Ok(found) if found.is_file() => Some(found),
            // Whoever opens a pipe waits for its other end.
            Ok(_) => return Err(Refused::Io(io::Error::other("not an ordinary file"))),
            Err(error) if error.kind() == ErrorKind::NotFound && purpose == Purpose::Append => None,
            Err(error) => return Err(error.into()),
        };
        if let Some(parent) = place.parent().filter(|_| known.is_none()) {
            std::fs::create_dir_all(parent)?;
        }
        let mut options = OpenOptions::new();
        options.read(true);
        if purpose == Purpose::Append {
            options.append(true).create(true);
        }
        let mut opened = options.open(&place)?;
        // Somebody may have put something else there meanwhile.
        if self.place(file)? != place || !is_same(&opened.metadata()?, &place.symlink_metadata()?) {
            return Err(Refused::NotAllowed);
        }
        let kind = identify_open(&opened).map_err(|error| Refused::Io(io::Error::other(error)))?;
        if matches!(kind, FileKind::Farbird | FileKind::Firebird { .. } | FileKind::FarbirdBackup) {
            return Err(Refused::NotAllowed);
        }
        opened.seek(SeekFrom::Start(0))?;
        Ok(opened)
    }

    /// Where a file is, or would be, without symbolic links and `..`.
    fn place(&self, file: &str) -> std::result::Result<PathBuf, Refused> {
        let (Some(first), false) = (self.folders.first(), file.is_empty()) else {
            return Err(Refused::NotAllowed);
        };
        let path = Path::new(file);
        if path.is_absolute() {
            return self.inside(path);
        }
        let places = self.folders.iter().map(|folder| self.inside(&folder.join(path)));
        let existing = places.flatten().find(|place| place.exists());
        existing.map_or_else(|| self.inside(&first.join(path)), Ok)
    }

    /// A path without symbolic links and `..`, if it leads into one of the folders.
    fn inside(&self, path: &Path) -> std::result::Result<PathBuf, Refused> {
        let path = without_dots(path).ok_or(Refused::NotAllowed)?;
        let place = followed(&path)?;
        let is_inside = self.folders.iter().any(|folder| place.starts_with(folder) && place != *folder);
        if is_inside { Ok(place) } else { Err(Refused::NotAllowed) }
    }
}

/// A path without `.` and `..`, as far as names tell.
fn without_dots(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            other => plain.push(other),
        }
    }
    Some(plain)
}

/// A path with its symbolic links followed, as far as it is there. A link that leads nowhere is refused: what is made under its name would
/// be made elsewhere.
fn followed(path: &Path) -> std::result::Result<PathBuf, Refused> {
    let mut missing: Vec<OsString> = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |place, name| place.join(name))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if existing.symlink_metadata().is_ok() {
                    return Err(Refused::NotAllowed);
                }
                let (Some(parent), Some(name)) = (existing.parent(), existing.file_name()) else {
                    return Err(Refused::NotAllowed);
                };
                missing.push(name.to_owned());
                existing = parent;
            }
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(unix)]
fn is_same(opened: &Metadata, there: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    opened.is_file() && opened.dev() == there.dev() && opened.ino() == there.ino()
}

#[cfg(not(unix))]
fn is_same(opened: &Metadata, there: &Metadata) -> bool {
    opened.is_file() && there.is_file()
}

/// What is told of a file that is not opened, by the name that the table's definition has for it.
fn status(file: &str, operation: &str, detail: u32, refused: &Refused) -> Error {
    match refused {
        Refused::NotAllowed => Error::new(isc::CONF_ACCESS_DENIED).with("external file").with(file),
        Refused::Io(error) => Error::new(isc::IO_ERROR)
            .with(operation)
            .with(file)
            .and(detail)
            .and(isc::RANDOM)
            .with(error.to_string()),
    }
}

/// A failure to read a file that is open.
pub fn read_error(file: &str, error: io::Error) -> Error {
    status(file, "read", isc::IO_READ_ERR, &Refused::Io(error))
}
