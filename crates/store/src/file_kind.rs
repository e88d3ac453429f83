//! What a file is, told by its first bytes: so that opening something else can name it.

use std::fmt;
use std::io::Read;
use std::path::Path;

use crate::Result;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileKind {
    /// A database of ours.
    Farbird,
    /// A database of the real Firebird, with its on-disk structure's version.
    Firebird {
        /// Major ODS version: 12 is Firebird 3, 13 Firebird 4 and 5.
        ods: u16,
    },
    /// A backup made by `farbird backup`.
    FarbirdBackup,
    /// A backup made by gbak.
    FirebirdBackup,
    /// A SQLite database.
    Sqlite,
    /// A file of no bytes.
    Empty,
    /// Something else.
    Other,
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileKind::Farbird => write!(f, "a Farbird database"),
            FileKind::Firebird { ods } => {
                write!(f, "a Firebird database (ODS {ods}), which only a Firebird server can open")
            }
            FileKind::FarbirdBackup => {
                write!(f, "a Farbird backup, of which `farbird restore` makes a database")
            }
            FileKind::FirebirdBackup => write!(f, "a gbak backup"),
            FileKind::Sqlite => write!(f, "a SQLite database"),
            FileKind::Empty => write!(f, "an empty file"),
            FileKind::Other => write!(f, "a file of another kind"),
        }
    }
}

/// Bytes looked at.
const HEAD_BYTES: u64 = 64;
/// First bytes of a SQLite file.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// Bit of the ODS version that says Firebird rather than InterBase (FirebirdSQL/firebird src/jrd/ods.h).
const ODS_FIREBIRD_FLAG: u16 = 0x8000;

/// Looks at a file's first bytes.
///
/// # Errors
/// `Io` if it cannot be read.
pub fn identify(path: &Path) -> Result<FileKind> {
    identify_open(std::fs::File::open(path)?)
}

/// As [`identify`], of a file that has just been opened.
///
/// # Errors
/// As [`identify`].
pub fn identify_open(file: impl Read) -> Result<FileKind> {
    let mut head = Vec::new();
    file.take(HEAD_BYTES).read_to_end(&mut head)?;
    Ok(identify_bytes(&head))
}

/// What a file that begins with these bytes is.
pub(crate) fn identify_bytes(head: &[u8]) -> FileKind {
    if head.is_empty() {
        return FileKind::Empty;
    }
    if head.starts_with(crate::substrate::MAGIC) {
        return FileKind::Farbird;
    }
    if head.starts_with(&crate::backup::MAGIC) {
        return FileKind::FarbirdBackup;
    }
    if head.starts_with(SQLITE_MAGIC) {
        return FileKind::Sqlite;
    }
    // A header page: page type 1, then at offset 16 the page size and the ODS version.
    let word = |at: usize| head.get(at..at + 2).and_then(|b| b.try_into().ok()).map(u16::from_le_bytes);
    if let (Some(1), Some(page_size), Some(ods)) = (head.first(), word(16), word(18)) {
        let version = ods & !ODS_FIREBIRD_FLAG;
        if ods & ODS_FIREBIRD_FLAG != 0
            && (8..=99).contains(&version)
            && (page_size == 0 || page_size.is_power_of_two())
        {
            return FileKind::Firebird { ods: version };
        }
    }
    // A gbak file begins with its record of attributes (0), whose first attribute is the format (2), 4 bytes long.
    if head.starts_with(&[0, 2, 4]) {
        return FileKind::FirebirdBackup;
    }
    FileKind::Other
}
