//! What can be wrong with a backup.

/// What reading a backup gives.
pub type Result<T> = std::result::Result<T, Fault>;

/// Why a backup cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file could not be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// It ends inside of something.
    #[error("the backup ends too early")]
    Eof,
    /// It does not begin as a backup does.
    #[error("this is no backup made by gbak")]
    NotABackup,
    /// A format that is not known.
    #[error("backup format {0} is not known; formats 6 to 11 are")]
    Format(i64),
    /// It is encrypted.
    #[error("the backup is encrypted; restore it with gbak and its key, then back it up without -crypt")]
    Encrypted,
    /// Parts are missing, or do not belong together.
    #[error("{0}")]
    Volumes(String),
    /// A record that does not exist, or has no business where it stands.
    #[error("record type {kind} at byte {at}")]
    Record {
        /// Its number.
        kind: u8,
        /// Where it stands among the unpacked bytes.
        at: u64,
    },
    /// Bytes that do not fit the format.
    #[error("{what} at byte {at}")]
    Damaged {
        /// Where, among the unpacked bytes.
        at: u64,
        /// What is wrong there.
        what: &'static str,
    },
}
