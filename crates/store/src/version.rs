//! The bytes of one committed version of a row.
//!
//! # Layout
//! | bytes | item |
//! |---|---|
//! | 4 | checksum: low half of XXH3-64 of the rest, seeded with the row's number, little-endian |
//! | 1 | 0: the row is deleted; 1: values follow |
//! | varint | the transaction that wrote it |
//! | varint | record format (not of deleted rows) |
//! | ... | the row in value encoding (not of deleted rows) |

use farbird_record::bytes::{Reader, put_varint};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::{Result, RowId, StoreError, TransactionId};

/// What a version holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionContent<'a> {
    Deleted,
    Row { format: u16, bytes: &'a [u8] },
}

/// A version as stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredVersion<'a> {
    pub(crate) writer: TransactionId,
    pub(crate) content: VersionContent<'a>,
}

const DELETED: u8 = 0;
const ROW: u8 = 1;
const CHECKSUM_BYTES: usize = 4;
/// What stands between the checksum and the row, mostly no more.
const HEADER_BYTES_USUAL: usize = 8;

impl<'a> StoredVersion<'a> {
    pub(crate) fn encode(&self, row: RowId) -> Vec<u8> {
        let row_bytes = match self.content {
            VersionContent::Deleted => 0,
            VersionContent::Row { bytes, .. } => bytes.len(),
        };
        let mut out = Vec::with_capacity(CHECKSUM_BYTES + HEADER_BYTES_USUAL + row_bytes);
        out.resize(CHECKSUM_BYTES, 0);
        match self.content {
            VersionContent::Deleted => {
                out.push(DELETED);
                put_varint(self.writer.0, &mut out);
            }
            VersionContent::Row { format, bytes } => {
                out.push(ROW);
                put_varint(self.writer.0, &mut out);
                put_varint(u64::from(format), &mut out);
                out.extend_from_slice(bytes);
            }
        }
        let checksum = checksum(&out[CHECKSUM_BYTES..], row);
        out[..CHECKSUM_BYTES].copy_from_slice(&checksum);
        out
    }

    pub(crate) fn decode(value: &'a [u8], row: RowId) -> Result<StoredVersion<'a>> {
        StoredVersion::parse(value, row)
            .ok_or_else(|| StoreError::corrupt(format!("version of row {}", row.0)))
    }

    fn parse(value: &'a [u8], row: RowId) -> Option<StoredVersion<'a>> {
        let (sum, rest) = value.split_at_checked(CHECKSUM_BYTES)?;
        if sum != checksum(rest, row) {
            return None;
        }
        let mut reader = Reader::new(rest);
        let kind = reader.u8().ok()?;
        let writer = TransactionId(reader.varint().ok()?);
        let content = match kind {
            DELETED => VersionContent::Deleted,
            ROW => {
                let format = u16::try_from(reader.varint().ok()?).ok()?;
                VersionContent::Row { format, bytes: reader.rest() }
            }
            _ => return None,
        };
        Some(StoredVersion { writer, content })
    }
}

fn checksum(bytes: &[u8], row: RowId) -> [u8; CHECKSUM_BYTES] {
    (xxh3_64_with_seed(bytes, row.0) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_back_and_damage_is_seen() {
        for content in [VersionContent::Deleted, VersionContent::Row { format: 300, bytes: b"values" }] {
            let version = StoredVersion { writer: TransactionId(77), content };
            let bytes = version.encode(RowId(5));
            assert_eq!(StoredVersion::decode(&bytes, RowId(5)).expect("decodes"), version);
            assert!(StoredVersion::decode(&bytes, RowId(6)).is_err());
            for place in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[place] ^= 4;
                assert!(StoredVersion::decode(&damaged, RowId(5)).is_err());
                assert!(StoredVersion::decode(&bytes[..place], RowId(5)).is_err());
            }
        }
    }
}
