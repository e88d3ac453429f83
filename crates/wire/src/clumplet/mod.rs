//! Parameter blocks: tagged values in DPB, SPB, TPB, BPB, batch parameters, user identification, keys.
//!
//! Promises: no panic and no allocation on any bytes; every step of a reader consumes a byte, so it ends.
//! Uses [`crate::xdr::DecodeError`]. Source: wire-protocol.md, 1.5.

mod start;
mod tags;

pub use start::{StartItem, StartValue, parse_service_query, parse_service_start};
pub use tags::{batch, bpb, dpb, spb, tpb};

use crate::xdr::DecodeError;

/// How an item's length is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// One byte.
    Traditional,
    /// Four bytes, little-endian.
    Wide,
    /// One byte, but only behind the tags of a TPB that take a value.
    Transaction,
}

/// One tagged value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clumplet<'a> {
    /// What it is.
    pub tag: u8,
    /// Its bytes.
    pub data: &'a [u8],
}

impl Clumplet<'_> {
    /// The value as a little-endian integer of any width up to 8 bytes, the highest byte's sign extended; an empty
    /// value is 0, a longer one `None`.
    pub fn integer(&self) -> Option<i64> {
        integer(self.data)
    }

    /// The value as text, repaired where it is not UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(self.data).into_owned()
    }

    /// The value as a flag: a missing value stands for true, as drivers send several flags empty.
    pub fn flag(&self) -> bool {
        self.data.is_empty() || self.data.iter().any(|byte| *byte != 0)
    }
}

/// A little-endian integer of up to 8 bytes, sign-extended; no bytes are 0.
pub fn integer(bytes: &[u8]) -> Option<i64> {
    if bytes.len() > 8 {
        return None;
    }
    let negative = bytes.last().is_some_and(|highest| *highest >= 0x80);
    let mut wide = if negative { [0xFF; 8] } else { [0; 8] };
    wide.iter_mut().zip(bytes).for_each(|(wide, byte)| *wide = *byte);
    Some(i64::from_le_bytes(wide))
}

/// Reads the items of a block in order. After an error it gives nothing more.
#[derive(Debug, Clone)]
pub struct ClumpletReader<'a> {
    bytes: &'a [u8],
    offset: usize,
    form: Form,
}

impl<'a> ClumpletReader<'a> {
    /// A block without a version byte.
    pub fn untagged(form: Form, bytes: &'a [u8]) -> ClumpletReader<'a> {
        ClumpletReader { bytes, offset: 0, form }
    }

    fn versioned(
        bytes: &'a [u8],
        form_of: impl Fn(u8) -> Option<Form>,
    ) -> Result<ClumpletReader<'a>, DecodeError> {
        match bytes.first() {
            None => Ok(ClumpletReader { bytes, offset: 0, form: Form::Traditional }),
            Some(version) => match form_of(*version) {
                Some(form) => Ok(ClumpletReader { bytes, offset: 1, form }),
                None => Err(DecodeError::BadValue { offset: 0, value: u32::from(*version) }),
            },
        }
    }

    /// A DPB of either version; an empty one has no items.
    ///
    /// # Errors
    /// [`DecodeError`] for an unknown version.
    pub fn dpb(bytes: &'a [u8]) -> Result<ClumpletReader<'a>, DecodeError> {
        Self::versioned(bytes, |version| match version {
            dpb::VERSION1 => Some(Form::Traditional),
            dpb::VERSION2 => Some(Form::Wide),
            _ => None,
        })
    }

    /// The SPB of attaching, of any version; an empty one has no items.
    ///
    /// # Errors
    /// [`DecodeError`] for an unknown version.
    pub fn spb_attach(bytes: &'a [u8]) -> Result<ClumpletReader<'a>, DecodeError> {
        let mut reader = Self::versioned(bytes, |version| match version {
            spb::VERSION1 | spb::CURRENT_VERSION => Some(Form::Traditional),
            spb::VERSION3 => Some(Form::Wide),
            _ => None,
        })?;
        // Version 2 is announced by a first byte of 2 and written into the second.
        if bytes.first() == Some(&spb::CURRENT_VERSION) {
            reader.offset = 2.min(bytes.len());
        }
        Ok(reader)
    }

    /// A TPB; an empty one has no items.
    ///
    /// # Errors
    /// [`DecodeError`] for an unknown version.
    pub fn tpb(bytes: &'a [u8]) -> Result<ClumpletReader<'a>, DecodeError> {
        Self::versioned(bytes, |version| {
            matches!(version, tpb::VERSION1 | tpb::VERSION3).then_some(Form::Transaction)
        })
    }

    /// A BPB; an empty one has no items.
    ///
    /// # Errors
    /// [`DecodeError`] for an unknown version.
    pub fn bpb(bytes: &'a [u8]) -> Result<ClumpletReader<'a>, DecodeError> {
        Self::versioned(bytes, |version| (version == bpb::VERSION1).then_some(Form::Traditional))
    }

    /// A batch parameter block; an empty one has no items.
    ///
    /// # Errors
    /// [`DecodeError`] for an unknown version.
    pub fn batch(bytes: &'a [u8]) -> Result<ClumpletReader<'a>, DecodeError> {
        Self::versioned(bytes, |version| (version == batch::VERSION1).then_some(Form::Wide))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let end = self.offset.checked_add(length)?;
        let taken = self.bytes.get(self.offset..end)?;
        self.offset = end;
        Some(taken)
    }

    fn item(&mut self) -> Option<Clumplet<'a>> {
        let tag = *self.take(1)?.first()?;
        let length = match self.form {
            Form::Wide => {
                let length = self.take(4)?.first_chunk()?;
                usize::try_from(u32::from_le_bytes(*length)).ok()?
            }
            Form::Transaction if !takes_value(tag) => 0,
            Form::Traditional | Form::Transaction => usize::from(*self.take(1)?.first()?),
        };
        Some(Clumplet { tag, data: self.take(length)? })
    }
}

/// Whether an item of a TPB has a value.
fn takes_value(tag: u8) -> bool {
    matches!(
        tag,
        tpb::LOCK_READ
            | tpb::LOCK_WRITE
            | tpb::LOCK_TIMEOUT
            | tpb::AT_SNAPSHOT_NUMBER
            | tpb::LOCK_TABLE_SCHEMA
    )
}

impl<'a> Iterator for ClumpletReader<'a> {
    type Item = Result<Clumplet<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.offset >= self.bytes.len() {
            return None;
        }
        let offset = self.offset;
        match self.item() {
            Some(item) => Some(Ok(item)),
            None => {
                self.offset = self.bytes.len();
                Some(Err(DecodeError::Truncated { offset }))
            }
        }
    }
}

/// Writes a block.
#[derive(Debug, Clone)]
pub struct ClumpletWriter {
    out: Vec<u8>,
    form: Form,
}

impl ClumpletWriter {
    /// A block without a version byte.
    pub fn untagged(form: Form) -> ClumpletWriter {
        ClumpletWriter { out: Vec::new(), form }
    }

    /// A DPB of version 1 (values of at most 255 bytes).
    pub fn dpb() -> ClumpletWriter {
        ClumpletWriter { out: vec![dpb::VERSION1], form: Form::Traditional }
    }

    /// A DPB of version 2.
    pub fn wide_dpb() -> ClumpletWriter {
        ClumpletWriter { out: vec![dpb::VERSION2], form: Form::Wide }
    }

    /// The SPB of attaching, version 3.
    pub fn spb_attach() -> ClumpletWriter {
        ClumpletWriter { out: vec![spb::VERSION3], form: Form::Wide }
    }

    /// The SPB of attaching, version 2, for servers before Firebird 3 (values of at most 255 bytes).
    pub fn old_spb_attach() -> ClumpletWriter {
        ClumpletWriter { out: vec![spb::CURRENT_VERSION; 2], form: Form::Traditional }
    }

    /// A TPB.
    pub fn tpb() -> ClumpletWriter {
        ClumpletWriter { out: vec![tpb::VERSION3], form: Form::Transaction }
    }

    /// A BPB.
    pub fn bpb() -> ClumpletWriter {
        ClumpletWriter { out: vec![bpb::VERSION1], form: Form::Traditional }
    }

    /// A batch parameter block.
    pub fn batch() -> ClumpletWriter {
        ClumpletWriter { out: vec![batch::VERSION1], form: Form::Wide }
    }

    /// Adds an item without a value.
    pub fn flag(&mut self, tag: u8) -> &mut ClumpletWriter {
        self.bytes(tag, &[])
    }

    /// Adds an item. Values that the form cannot hold (over 255 bytes in a traditional block) are cut there.
    pub fn bytes(&mut self, tag: u8, data: &[u8]) -> &mut ClumpletWriter {
        self.out.push(tag);
        match self.form {
            Form::Wide => {
                let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
                self.out.extend_from_slice(&length.to_le_bytes());
                self.out.extend_from_slice(data);
            }
            Form::Transaction if !takes_value(tag) => {}
            Form::Traditional | Form::Transaction => {
                let length = u8::try_from(data.len()).unwrap_or(u8::MAX);
                self.out.push(length);
                self.out.extend_from_slice(data.get(..usize::from(length)).unwrap_or(data));
            }
        }
        self
    }

    /// Adds a text.
    pub fn text(&mut self, tag: u8, text: &str) -> &mut ClumpletWriter {
        self.bytes(tag, text.as_bytes())
    }

    /// Adds a number of four bytes.
    pub fn integer(&mut self, tag: u8, number: i32) -> &mut ClumpletWriter {
        self.bytes(tag, &number.to_le_bytes())
    }

    /// The block.
    pub fn into_bytes(self) -> Vec<u8> {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items<'a>(reader: Result<ClumpletReader<'a>, DecodeError>) -> Vec<(u8, &'a [u8])> {
        reader.unwrap().map(|item| item.map(|item| (item.tag, item.data)).unwrap()).collect()
    }

    #[test]
    fn both_versions_of_a_dpb_read_alike() {
        for mut writer in [ClumpletWriter::dpb(), ClumpletWriter::wide_dpb()] {
            writer.text(dpb::USER_NAME, "JOE").integer(dpb::SQL_DIALECT, 3).flag(dpb::UTF8_FILENAME);
            let bytes = writer.into_bytes();
            let expected: [(u8, &[u8]); 3] = [(28, b"JOE"), (63, &[3, 0, 0, 0]), (77, b"")];
            assert_eq!(items(ClumpletReader::dpb(&bytes)), expected);
            let cut = ClumpletReader::dpb(&bytes[..bytes.len() - 1]).unwrap();
            assert!(cut.last().unwrap().is_err());
        }
    }

    #[test]
    fn every_version_of_an_spb() {
        let expected: [(u8, &[u8]); 1] = [(28, b"A")];
        assert_eq!(items(ClumpletReader::spb_attach(&[1, 28, 1, b'A'])), expected);
        assert_eq!(items(ClumpletReader::spb_attach(&[2, 2, 28, 1, b'A'])), expected);
        assert_eq!(items(ClumpletReader::spb_attach(&[3, 28, 1, 0, 0, 0, b'A'])), expected);
        assert!(ClumpletReader::spb_attach(&[9]).is_err());
    }

    #[test]
    fn transaction_items_have_values_only_where_they_must() {
        let tpb_bytes = [3, 2, 7, 11, 1, b'T', 3, 21, 1, 5];
        let expected: [(u8, &[u8]); 5] = [(2, b""), (7, b""), (11, b"T"), (3, b""), (21, &[5])];
        assert_eq!(items(ClumpletReader::tpb(&tpb_bytes)), expected);
        let mut writer = ClumpletWriter::tpb();
        expected.iter().for_each(|(tag, data)| {
            writer.bytes(*tag, data);
        });
        assert_eq!(writer.into_bytes(), tpb_bytes);
    }

    #[test]
    fn integers_have_any_width() {
        assert_eq!(integer(&[]), Some(0));
        assert_eq!(integer(&[0xFF]), Some(-1));
        assert_eq!(integer(&[0xFF, 0]), Some(255));
        assert_eq!(integer(&i64::MIN.to_le_bytes()), Some(i64::MIN));
        assert_eq!(integer(&[0; 9]), None);
    }
}
