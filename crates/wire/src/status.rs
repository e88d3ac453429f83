//! Status vectors: how an outcome (success, warnings, an error) travels in op_response.
//!
//! Uses [`crate::xdr`] and `farbird_types::Error`. Source: wire-protocol.md, 6.1 and 11.11.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use farbird_types::error::{StatusArgument, StatusItem};
use farbird_types::{Error, isc};

use crate::protocol::ProtocolVersion;
use crate::xdr::{DecodeError, Reader, Stop, Writer};

/// Most entries that we read from one vector; Firebird's own are a few dozen at most.
pub const STATUS_ENTRIES_MAX: usize = 1_000;
/// Longest string in a vector (Firebird's limit).
pub const STATUS_TEXT_BYTES_MAX: usize = 65_535;
/// What peers older than protocol 13 have room for: 20 words with the end, two to an entry.
const OLD_ENTRIES_MAX: usize = 9;

mod kind {
    pub(super) const END: u32 = 0;
    pub(super) const GDS: u32 = 1;
    pub(super) const STRING: u32 = 2;
    pub(super) const NUMBER: u32 = 4;
    pub(super) const INTERPRETED: u32 = 5;
    pub(super) const UNIX: u32 = 7;
    pub(super) const NEXT_MACH: u32 = 15;
    pub(super) const WIN32: u32 = 17;
    pub(super) const WARNING: u32 = 18;
    pub(super) const SQL_STATE: u32 = 19;
}

/// One entry of a vector. Texts are in the connection's character set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusEntry {
    /// An error code; 0 is success.
    Gds(u32),
    /// A text argument.
    Text(Vec<u8>),
    /// A number argument.
    Number(i32),
    /// A ready message.
    Interpreted(Vec<u8>),
    /// An errno.
    Unix(i32),
    /// A system error of another kind.
    NextMach(i32),
    /// A Windows error.
    Win32(i32),
    /// A warning code.
    Warning(u32),
    /// Five characters of SQLSTATE.
    SqlState(Vec<u8>),
}

/// An outcome as its entries, without the closing end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusVector {
    entries: Cow<'static, [StatusEntry]>,
}

/// By far the commonest outcome; it costs no allocation.
const SUCCESS: &[StatusEntry] = &[StatusEntry::Gds(0)];
/// The same as it travels: [`kind::GDS`], 0, [`kind::END`].
const SUCCESS_WIRE: &[u8] = &[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];

impl StatusVector {
    /// Success without warnings.
    pub fn success() -> StatusVector {
        StatusVector { entries: Cow::Borrowed(SUCCESS) }
    }

    /// A vector of these entries.
    pub fn from_entries(entries: Vec<StatusEntry>) -> StatusVector {
        StatusVector { entries: Cow::Owned(entries) }
    }

    /// An error, its texts in UTF-8.
    pub fn from_error(error: &Error) -> StatusVector {
        StatusVector::from_error_with(error, |text| text.as_bytes().to_vec())
    }

    /// An error, its texts brought into the connection's character set by `encode`.
    pub fn from_error_with(error: &Error, encode: impl Fn(&str) -> Vec<u8>) -> StatusVector {
        let mut entries = Vec::new();
        push_items(&mut entries, error, StatusEntry::Gds, &encode);
        StatusVector::from_entries(entries)
    }

    /// The same outcome with warnings behind it.
    #[must_use]
    pub fn with_warnings(mut self, warnings: &Error) -> StatusVector {
        push_items(self.entries.to_mut(), warnings, StatusEntry::Warning, &|text| text.as_bytes().to_vec());
        self
    }

    /// Changes the texts, such as from the connection's character set to UTF-8.
    pub fn change_texts(&mut self, change: impl Fn(&[u8]) -> Vec<u8>) {
        let is_text =
            |entry: &StatusEntry| matches!(entry, StatusEntry::Text(_) | StatusEntry::Interpreted(_));
        if !self.entries.iter().any(is_text) {
            return;
        }
        for entry in self.entries.to_mut() {
            if let StatusEntry::Text(text) | StatusEntry::Interpreted(text) = entry {
                *text = change(text);
            }
        }
    }

    /// The entries.
    pub fn entries(&self) -> &[StatusEntry] {
        &self.entries
    }

    /// Whether this is success, perhaps with warnings.
    pub fn is_success(&self) -> bool {
        !matches!(self.entries.first(), Some(StatusEntry::Gds(code)) if *code != 0)
    }

    /// The error, if this is one. Texts that are not UTF-8 are repaired for display.
    pub fn error(&self) -> Option<Error> {
        collect(self.entries.iter().take_while(|entry| !matches!(entry, StatusEntry::Warning(_))))
    }

    /// The warnings, if there are any.
    pub fn warnings(&self) -> Option<Error> {
        collect(self.entries.iter().skip_while(|entry| !matches!(entry, StatusEntry::Warning(_))))
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<StatusVector, Stop> {
        let mut ahead = reader.clone();
        if ahead.raw(SUCCESS_WIRE.len()) == Ok(SUCCESS_WIRE) {
            *reader = ahead;
            return Ok(StatusVector::success());
        }
        let mut entries = Vec::new();
        loop {
            let offset = reader.offset();
            let entry = match reader.u32()? {
                kind::END => return Ok(StatusVector::from_entries(entries)),
                kind::GDS => StatusEntry::Gds(reader.u32()?),
                kind::STRING => StatusEntry::Text(text(reader)?),
                kind::NUMBER => StatusEntry::Number(reader.i32()?),
                kind::INTERPRETED => StatusEntry::Interpreted(text(reader)?),
                kind::UNIX => StatusEntry::Unix(reader.i32()?),
                kind::NEXT_MACH => StatusEntry::NextMach(reader.i32()?),
                kind::WIN32 => StatusEntry::Win32(reader.i32()?),
                kind::WARNING => StatusEntry::Warning(reader.u32()?),
                kind::SQL_STATE => StatusEntry::SqlState(text(reader)?),
                value => return Err(DecodeError::BadValue { offset, value }.into()),
            };
            if entries.len() == STATUS_ENTRIES_MAX {
                let (count, limit) = (STATUS_ENTRIES_MAX + 1, STATUS_ENTRIES_MAX);
                return Err(DecodeError::TooMany { offset, count, limit }.into());
            }
            entries.push(entry);
        }
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>, version: ProtocolVersion) {
        let most = if version.has_plugins() { self.entries.len() } else { OLD_ENTRIES_MAX };
        for entry in self.entries.iter().take(most) {
            match entry {
                StatusEntry::Gds(code) => word(writer, kind::GDS, *code),
                StatusEntry::Text(text) => string(writer, kind::STRING, text),
                StatusEntry::Number(number) => word(writer, kind::NUMBER, number.cast_unsigned()),
                StatusEntry::Interpreted(text) => string(writer, kind::INTERPRETED, text),
                StatusEntry::Unix(number) => word(writer, kind::UNIX, number.cast_unsigned()),
                StatusEntry::NextMach(number) => word(writer, kind::NEXT_MACH, number.cast_unsigned()),
                StatusEntry::Win32(number) => word(writer, kind::WIN32, number.cast_unsigned()),
                StatusEntry::Warning(code) => word(writer, kind::WARNING, *code),
                StatusEntry::SqlState(text) => string(writer, kind::SQL_STATE, text),
            }
        }
        writer.u32(kind::END);
    }
}

impl From<&Error> for StatusVector {
    fn from(error: &Error) -> StatusVector {
        StatusVector::from_error(error)
    }
}

fn text(reader: &mut Reader<'_>) -> Result<Vec<u8>, Stop> {
    Ok(reader.counted(STATUS_TEXT_BYTES_MAX)?.to_vec())
}

fn word(writer: &mut Writer<'_>, kind: u32, value: u32) {
    writer.u32(kind);
    writer.u32(value);
}

fn string(writer: &mut Writer<'_>, kind: u32, text: &[u8]) {
    writer.u32(kind);
    writer.counted(text.get(..STATUS_TEXT_BYTES_MAX).unwrap_or(text));
}

/// What the operating system says travels as a ready message behind one of these, as Firebird sends it.
const IO_CODES: RangeInclusive<u32> = isc::IO_CREATE_ERR..=isc::IO_ACCESS_ERR;

fn push_items(
    entries: &mut Vec<StatusEntry>,
    error: &Error,
    code: impl Fn(u32) -> StatusEntry,
    encode: &impl Fn(&str) -> Vec<u8>,
) {
    let mut before = 0;
    for StatusItem { gds_code, arguments } in error.items() {
        let follows_io_code = IO_CODES.contains(&std::mem::replace(&mut before, *gds_code));
        if let (isc::RANDOM, true, [StatusArgument::Text(text)]) =
            (*gds_code, follows_io_code, &arguments[..])
        {
            entries.push(StatusEntry::Interpreted(encode(text)));
            continue;
        }
        entries.push(code(*gds_code));
        entries.extend(arguments.iter().map(|argument| match argument {
            StatusArgument::Text(text) => StatusEntry::Text(encode(text)),
            StatusArgument::Number(number) => StatusEntry::Number(*number),
        }));
    }
}

/// Builds an error from codes and arguments. Ready messages become an isc_random with their text; errno words and
/// SQLSTATEs say nothing that the codes do not.
fn collect<'a>(entries: impl Iterator<Item = &'a StatusEntry>) -> Option<Error> {
    let mut error: Option<Error> = None;
    let add = |error: Option<Error>, code| match error {
        None => Error::new(code),
        Some(error) => error.and(code),
    };
    for entry in entries {
        error = match entry {
            StatusEntry::Gds(0) => error,
            StatusEntry::Gds(code) | StatusEntry::Warning(code) => Some(add(error, *code)),
            StatusEntry::Text(text) => {
                error.map(|error| error.with(String::from_utf8_lossy(text).into_owned()))
            }
            StatusEntry::Number(number) => error.map(|error| error.with(*number)),
            StatusEntry::Interpreted(text) => {
                let text = String::from_utf8_lossy(text).into_owned();
                Some(add(error, isc::RANDOM).with(text))
            }
            StatusEntry::Unix(_)
            | StatusEntry::NextMach(_)
            | StatusEntry::Win32(_)
            | StatusEntry::SqlState(_) => error,
        };
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unique_violation() -> Error {
        Error::new(isc::UNIQUE_KEY_VIOLATION).with("PK_T").with("T").and(isc::RANDOM).with(7)
    }

    fn encoded(vector: &StatusVector, version: ProtocolVersion) -> Vec<u8> {
        let mut out = Vec::new();
        vector.write(&mut Writer::new(&mut out), version);
        out
    }

    #[test]
    fn success_is_one_zero_zero() {
        let bytes = encoded(&StatusVector::success(), ProtocolVersion::V19);
        assert_eq!(bytes, [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let vector = StatusVector::read(&mut Reader::new(&bytes)).unwrap();
        assert!(vector.is_success() && vector.error().is_none());
    }

    #[test]
    fn errors_and_warnings_come_back_as_they_went() {
        let vector = StatusVector::from_error(&unique_violation()).with_warnings(&Error::new(isc::RANDOM));
        let bytes = encoded(&vector, ProtocolVersion::V19);
        let decoded = StatusVector::read(&mut Reader::new(&bytes)).unwrap();
        assert_eq!(decoded.error(), Some(unique_violation()));
        assert_eq!(decoded.warnings(), Some(Error::new(isc::RANDOM)));
        for cut in 0..bytes.len() {
            assert_eq!(StatusVector::read(&mut Reader::new(&bytes[..cut])), Err(Stop::NeedMore));
        }
    }

    #[test]
    fn what_the_operating_system_says_is_a_ready_message() {
        let error = Error::new(isc::IO_ERROR).with("open").with("x.fdb").and(isc::IO_OPEN_ERR);
        let error = error.and(isc::RANDOM).with("No such file or directory");
        let vector = StatusVector::from_error(&error);
        assert_eq!(
            vector.entries()[3..],
            [
                StatusEntry::Gds(isc::IO_OPEN_ERR),
                StatusEntry::Interpreted(b"No such file or directory".to_vec())
            ]
        );
        assert_eq!(vector.error(), Some(error));
    }

    #[test]
    fn old_peers_get_twenty_words_at_most() {
        let long = (0..30).fold(Error::new(isc::RANDOM), |error, _| error.and(isc::RANDOM));
        let bytes = encoded(&StatusVector::from_error(&long), ProtocolVersion::V12);
        assert_eq!(bytes.len(), (9 * 2 + 1) * 4);
    }

    #[test]
    fn foreign_kinds_are_refused() {
        for kind in [3, 6, 8, 14, 16, 20] {
            let bytes = [0, 0, 0, kind, 0, 0, 0, 0];
            assert!(matches!(StatusVector::read(&mut Reader::new(&bytes)), Err(Stop::Bad(_))));
        }
    }
}
