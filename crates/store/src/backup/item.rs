//! What stands in the chunks of a backup: items, one after the other, none of them across two chunks.
//!
//! # Layout
//! An item is a kind (1 byte), the length of its body (varint), and the body. `bytes` is a varint length and so many bytes;
//! varints as in [`farbird_record::bytes`].
//!
//! | kind | item | body |
//! |---|---|---|
//! | 1 | database | varint commit number; bytes producer |
//! | 2 | catalog entry | bytes key; bytes value |
//! | 3 | sequence | varint number; signed varint value |
//! | 4 | relation | varint number; bytes name; varint record format; varint columns; varint rows |
//! | 5 | BLOB | varint number; 1 byte flags (1: stream, 2: later BLOBs have the same contents); 2 bytes subtype, little-endian; 1 byte character set; varint bytes; varint segments |
//! | 6 | BLOB contents | 1 byte flags (1: the last piece's segment goes on in the next item); pieces: bytes each |
//! | 7 | rows | 1 byte codec; varint rows; the rows, as the codec packs them |
//! | 8 | end of relation | varint rows |
//! | 9 | end of contents | varint relations; varint rows; varint BLOBs; varint BLOB bytes |
//! | 10 | BLOB with the contents of another one | varint number; varint number of the other; varint bytes |
//!
//! Their order: 1, any 2, any 3, then for each relation 4, any 5, 6, 7 and 10, and 8; at last 9. A BLOB (5) is followed by its
//! contents (6) until it has its bytes and segments. BLOBs (5 and 10) stand before the rows (7) in which a row owns them; the
//! other BLOB of a 10 is a 5 with flag 2 before it, of any relation.
//! Items of other kinds are an error: a version that adds one writes another format number.

use farbird_record::CodecId;
use farbird_record::DecodeError;
use farbird_record::bytes::{Reader, put_bytes, put_signed, put_varint};
use farbird_types::CharacterSet;

use super::BackupSummary;
use crate::{BlobOptions, CommitNumber, RelationId, SequenceId};

const DATABASE: u8 = 1;
const CATALOG: u8 = 2;
const SEQUENCE: u8 = 3;
const RELATION: u8 = 4;
const BLOB: u8 = 5;
const BLOB_CONTENTS: u8 = 6;
const ROWS: u8 = 7;
const RELATION_END: u8 = 8;
const END: u8 = 9;
const SHARED_BLOB: u8 = 10;

const FLAG_STREAM: u8 = 1;
const FLAG_SHARED: u8 = 2;
const FLAG_GOES_ON: u8 = 1;

/// One item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item<'a> {
    Database { commit: CommitNumber, producer: &'a [u8] },
    Catalog { key: &'a [u8], value: &'a [u8] },
    Sequence { sequence: SequenceId, value: i64 },
    Relation { relation: RelationId, name: &'a [u8], format: u16, columns: u64, rows: u64 },
    Blob { blob: u64, options: BlobOptions, is_shared: bool, bytes: u64, segments: u64 },
    SharedBlob { blob: u64, contents_of: u64, bytes: u64 },
    BlobContents { goes_on: bool, pieces: &'a [u8] },
    Rows { codec: CodecId, rows: u64, packed: &'a [u8] },
    RelationEnd { rows: u64 },
    End(BackupSummary),
}

impl<'a> Item<'a> {
    /// Appends the item.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        let kind = self.encode_body(&mut body);
        out.push(kind);
        put_bytes(&body, out);
    }

    fn encode_body(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Item::Database { commit, producer } => {
                put_varint(commit.0, out);
                put_bytes(producer, out);
                DATABASE
            }
            Item::Catalog { key, value } => {
                put_bytes(key, out);
                put_bytes(value, out);
                CATALOG
            }
            Item::Sequence { sequence, value } => {
                put_varint(u64::from(sequence.0), out);
                put_signed(*value, out);
                SEQUENCE
            }
            Item::Relation { relation, name, format, columns, rows } => {
                put_varint(u64::from(relation.0), out);
                put_bytes(name, out);
                put_varint(u64::from(*format), out);
                put_varint(*columns, out);
                put_varint(*rows, out);
                RELATION
            }
            Item::Blob { blob, options, is_shared, bytes, segments } => {
                put_varint(*blob, out);
                let stream = if options.stream { FLAG_STREAM } else { 0 };
                out.push(stream | if *is_shared { FLAG_SHARED } else { 0 });
                out.extend_from_slice(&options.subtype.to_le_bytes());
                out.push(options.character_set.0);
                put_varint(*bytes, out);
                put_varint(*segments, out);
                BLOB
            }
            Item::SharedBlob { blob, contents_of, bytes } => {
                put_varint(*blob, out);
                put_varint(*contents_of, out);
                put_varint(*bytes, out);
                SHARED_BLOB
            }
            Item::BlobContents { goes_on, pieces } => {
                out.push(if *goes_on { FLAG_GOES_ON } else { 0 });
                out.extend_from_slice(pieces);
                BLOB_CONTENTS
            }
            Item::Rows { codec, rows, packed } => {
                out.push(codec.0);
                put_varint(*rows, out);
                out.extend_from_slice(packed);
                ROWS
            }
            Item::RelationEnd { rows } => {
                put_varint(*rows, out);
                RELATION_END
            }
            Item::End(summary) => {
                for number in [summary.relations, summary.rows, summary.blobs, summary.blob_bytes] {
                    put_varint(number, out);
                }
                END
            }
        }
    }

    /// Takes the next item off a chunk.
    pub(crate) fn decode(chunk: &mut Reader<'a>) -> Result<Item<'a>, DecodeError> {
        let offset = chunk.offset();
        let kind = chunk.u8()?;
        let mut body = Reader::new(chunk.length_and_bytes()?);
        let item = Item::decode_body(kind, &mut body, offset)?;
        if !body.is_at_end() {
            return Err(DecodeError::Invalid { what: "length of an item", offset });
        }
        Ok(item)
    }

    fn decode_body(kind: u8, body: &mut Reader<'a>, offset: usize) -> Result<Item<'a>, DecodeError> {
        let invalid = |what| DecodeError::Invalid { what, offset };
        Ok(match kind {
            DATABASE => {
                Item::Database { commit: CommitNumber(body.varint()?), producer: body.length_and_bytes()? }
            }
            CATALOG => Item::Catalog { key: body.length_and_bytes()?, value: body.length_and_bytes()? },
            SEQUENCE => {
                let number = u32::try_from(body.varint()?).map_err(|_| invalid("number of a sequence"))?;
                Item::Sequence { sequence: SequenceId(number), value: body.signed()? }
            }
            RELATION => Item::Relation {
                relation: RelationId(
                    u32::try_from(body.varint()?).map_err(|_| invalid("number of a relation"))?,
                ),
                name: body.length_and_bytes()?,
                format: u16::try_from(body.varint()?).map_err(|_| invalid("record format"))?,
                columns: body.varint()?,
                rows: body.varint()?,
            },
            BLOB => {
                let blob = body.varint()?;
                let flags = body.u8()?;
                let (stream, is_shared) = (flags & FLAG_STREAM != 0, flags & FLAG_SHARED != 0);
                let subtype = i16::from_le_bytes(body.array()?);
                let character_set = CharacterSet(body.u8()?);
                let options = BlobOptions { stream, subtype, character_set };
                Item::Blob { blob, options, is_shared, bytes: body.varint()?, segments: body.varint()? }
            }
            SHARED_BLOB => {
                Item::SharedBlob { blob: body.varint()?, contents_of: body.varint()?, bytes: body.varint()? }
            }
            BLOB_CONTENTS => {
                let goes_on = body.u8()? & FLAG_GOES_ON != 0;
                Item::BlobContents { goes_on, pieces: take_rest(body)? }
            }
            ROWS => Item::Rows { codec: CodecId(body.u8()?), rows: body.varint()?, packed: take_rest(body)? },
            RELATION_END => Item::RelationEnd { rows: body.varint()? },
            END => Item::End(BackupSummary {
                relations: body.varint()?,
                rows: body.varint()?,
                blobs: body.varint()?,
                blob_bytes: body.varint()?,
                ..BackupSummary::default()
            }),
            _ => return Err(invalid("kind of an item")),
        })
    }
}

fn take_rest<'a>(body: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    body.take(body.rest().len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_back() {
        let options = BlobOptions { stream: true, subtype: -7, character_set: CharacterSet(4) };
        let items = [
            Item::Database { commit: CommitNumber(300), producer: b"farbird" },
            Item::Catalog { key: b"relation/T", value: b"{}" },
            Item::Sequence { sequence: SequenceId(u32::MAX), value: i64::MIN },
            Item::Relation { relation: RelationId(128), name: b"T", format: 3, columns: 7, rows: 1_000_000 },
            Item::Blob { blob: 1, options, is_shared: true, bytes: 70_000, segments: 2 },
            Item::SharedBlob { blob: 300, contents_of: 1, bytes: 70_000 },
            Item::BlobContents { goes_on: true, pieces: b"\x01a\x00" },
            Item::Rows { codec: CodecId::COLUMN, rows: 8_192, packed: b"..." },
            Item::RelationEnd { rows: 1_000_000 },
            Item::End(BackupSummary { relations: 1, rows: 2, blobs: 3, blob_bytes: 4, ..Default::default() }),
        ];
        let mut chunk = Vec::new();
        items.iter().for_each(|item| item.encode(&mut chunk));
        let mut reader = Reader::new(&chunk);
        for item in &items {
            assert_eq!(Item::decode(&mut reader).as_ref(), Ok(item));
        }
        assert!(reader.is_at_end());
    }

    #[test]
    fn an_unknown_kind_and_a_body_too_long_are_refused() {
        assert!(Item::decode(&mut Reader::new(&[77, 0])).is_err());
        assert!(Item::decode(&mut Reader::new(&[RELATION_END, 2, 5, 5])).is_err());
        assert!(Item::decode(&mut Reader::new(&[RELATION_END, 9, 5])).is_err());
    }
}
