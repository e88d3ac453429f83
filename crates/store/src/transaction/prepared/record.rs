//! What the file keeps of a prepared transaction: all that its locks, its commit and its rollback need.
//!
//! Its rows, index entries and BLOBs are in the file already, under the transaction's own number. The record is written in the
//! one batch that makes the transaction prepared, and deleted in the one that commits it or rolls it back.
//!
//! # Layout
//! The record is cut into pieces of [`PIECE_BYTES`]; each stands in the meta space under the transaction's number and its own
//! (8 and 4 bytes, big-endian). Together they are:
//!
//! | bytes | item |
//! |---|---|
//! | 8 | checksum: XXH3-64 of the rest, seeded with the transaction's number, little-endian |
//! | 1 | version of the layout: 1 |
//! | varint | commit number of the preparation |
//! | varint | when: microseconds since 1970 |
//! | bytes | the description, as its client gave it |
//! | list of (varint, varint) | changes that it has undone: the last one before, the last one of them |
//! | list of (varint, 1 byte, 1 byte, varint, signed, varint) | relations: number, lock levels, whether it has rows there, first row of its first block (0: none), rows added, changes |
//! | list of (varint, varint, varint) | row numbers taken: relation, first, the one behind the last |
//! | list of varint | BLOBs |
//! | list of varint | those of them that no row has, but that others have the contents of |
//! | list of (varint, varint, bits, bits, list of (varint, bits)) | stretches of locked rows: relation, number, locked, deleted; indexes whose keys go, and of which rows |
//!
//! A list begins with how many items it has (varint), bytes with how many (varint). Bits are 64 bytes, a bit for each row of the stretch.

use farbird_record::DecodeError;
use farbird_record::bytes::{Reader, put_bytes, put_signed, put_varint, unzigzag};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::keyspace::{self, meta};
use crate::locks::Levels;
use crate::relation_statistics::Changed;
use crate::row_locks::{LockedRows, STRETCH_WORDS};
use crate::substrate::{Space, SubstrateState, WriteBatch};
use crate::{CommitNumber, IndexId, RelationId, Result, RowId, StoreError, TransactionId};

/// Below what one value of the substrate may be.
const PIECE_BYTES: usize = 15_000;

const VERSION: u8 = 1;
const CHECKSUM_BYTES: usize = 8;

/// What the file keeps of a prepared transaction.
#[derive(Debug, Clone, Default)]
pub(crate) struct PreparedRecord {
    /// The place of the preparation among the commits: who reads as of an earlier one is not concerned.
    pub(crate) number: CommitNumber,
    /// When it was prepared, in microseconds since 1970.
    pub(crate) at: u64,
    /// As its client gave it.
    pub(crate) description: Vec<u8>,
    /// As [`crate::spilled::SpilledTransaction`] has it.
    pub(crate) undone: Vec<(u64, u64)>,
    pub(crate) relations: Vec<PreparedRelation>,
    /// Row numbers taken: relation, first, the one behind the last.
    pub(crate) row_numbers: Vec<(RelationId, u64, u64)>,
    /// BLOBs of its rows.
    pub(crate) blobs: Vec<u64>,
    /// Those of them that no row has, but that others have the contents of.
    pub(crate) ownerless: Vec<u64>,
    pub(crate) locked: Vec<LockedRows>,
}

/// A relation that a prepared transaction has locked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PreparedRelation {
    pub(crate) id: RelationId,
    pub(crate) levels: Levels,
    /// Whether it has changed rows of it.
    pub(crate) has_rows: bool,
    /// The first row of the first block that it has written.
    pub(crate) first_block: Option<RowId>,
    pub(crate) changed: Changed,
}

impl PreparedRecord {
    /// Puts the record of a transaction into a batch.
    pub(crate) fn write(&self, id: TransactionId, batch: &mut WriteBatch) {
        let bytes = self.encode(id);
        for (number, piece) in (0u32..).zip(bytes.chunks(PIECE_BYTES)) {
            batch.put(Space::Meta, meta::prepared(id, number), piece.to_vec());
        }
    }

    /// Reads the record of a transaction; `None` if there is none.
    pub(crate) fn read(
        snapshot: &dyn SubstrateState,
        id: TransactionId,
    ) -> Result<Option<(PreparedRecord, u32)>> {
        let mut bytes = Vec::new();
        let mut pieces = 0;
        while let Some(piece) = snapshot.get(Space::Meta, &meta::prepared(id, pieces))? {
            bytes.extend_from_slice(&piece);
            pieces += 1;
        }
        if pieces == 0 {
            return Ok(None);
        }
        let damaged = || StoreError::corrupt(format!("the record of prepared transaction {}", id.0));
        Ok(Some((PreparedRecord::decode(id, &bytes).ok_or_else(damaged)?, pieces)))
    }

    fn encode(&self, id: TransactionId) -> Vec<u8> {
        let mut out = vec![0; CHECKSUM_BYTES];
        out.push(VERSION);
        put_varint(self.number.0, &mut out);
        put_varint(self.at, &mut out);
        put_bytes(&self.description, &mut out);
        put_count(self.undone.len(), &mut out);
        for (after, until) in &self.undone {
            put_varint(*after, &mut out);
            put_varint(*until, &mut out);
        }
        put_count(self.relations.len(), &mut out);
        for relation in &self.relations {
            put_varint(u64::from(relation.id.0), &mut out);
            out.push(relation.levels.bits());
            out.push(u8::from(relation.has_rows));
            put_varint(relation.first_block.map_or(0, |row| row.0), &mut out);
            put_signed(relation.changed.rows, &mut out);
            put_varint(relation.changed.changes, &mut out);
        }
        put_count(self.row_numbers.len(), &mut out);
        for (relation, first, end) in &self.row_numbers {
            put_varint(u64::from(relation.0), &mut out);
            put_varint(*first, &mut out);
            put_varint(*end, &mut out);
        }
        for blobs in [&self.blobs, &self.ownerless] {
            put_count(blobs.len(), &mut out);
            blobs.iter().for_each(|blob| put_varint(*blob, &mut out));
        }
        put_count(self.locked.len(), &mut out);
        for rows in &self.locked {
            put_varint(u64::from(rows.relation.0), &mut out);
            put_varint(rows.stretch, &mut out);
            put_bits(&rows.locked, &mut out);
            put_bits(&rows.deleted, &mut out);
            put_count(rows.changed.len(), &mut out);
            for (index, bits) in &rows.changed {
                put_varint(u64::from(index.0), &mut out);
                put_bits(bits, &mut out);
            }
        }
        let checksum = xxh3_64_with_seed(&out[CHECKSUM_BYTES..], id.0);
        out[..CHECKSUM_BYTES].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    fn decode(id: TransactionId, bytes: &[u8]) -> Option<PreparedRecord> {
        let (sum, rest) = bytes.split_at_checked(CHECKSUM_BYTES)?;
        if sum != xxh3_64_with_seed(rest, id.0).to_le_bytes() {
            return None;
        }
        let mut reader = Reader::new(rest);
        if reader.u8().ok()? != VERSION {
            return None;
        }
        let record = read_fields(&mut reader).ok()?;
        reader.is_at_end().then_some(record)
    }
}

/// The transactions that have records in a state of the file.
pub(crate) fn recorded(snapshot: &dyn SubstrateState) -> Result<Vec<TransactionId>> {
    let keys = crate::recovery::marks(snapshot, meta::PREPARED)?;
    let mut ids: Vec<TransactionId> = keys
        .iter()
        .filter_map(|key| keyspace::number(key.get(meta::PREPARED.len()..)?.get(..8)?))
        .map(TransactionId)
        .collect();
    ids.dedup();
    Ok(ids)
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    put_varint(count as u64, out);
}

fn put_bits(bits: &[u64; STRETCH_WORDS], out: &mut Vec<u8>) {
    bits.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

type Fields<'a, 'b> = &'a mut Reader<'b>;

fn read_fields(from: Fields<'_, '_>) -> std::result::Result<PreparedRecord, DecodeError> {
    let (number, at) = (CommitNumber(from.varint()?), from.varint()?);
    let length = from.varint()?;
    let description = from.take(usize::try_from(length).unwrap_or(usize::MAX))?.to_vec();
    Ok(PreparedRecord {
        number,
        at,
        description,
        undone: read_list(from, |from| Ok((from.varint()?, from.varint()?)))?,
        relations: read_list(from, |from| {
            Ok(PreparedRelation {
                id: RelationId(read_id(from)?),
                levels: Levels::of_bits(from.u8()?),
                has_rows: from.u8()? != 0,
                first_block: Some(RowId(from.varint()?)).filter(|row| row.0 != 0),
                changed: Changed { rows: unzigzag(from.varint()?), changes: from.varint()? },
            })
        })?,
        row_numbers: read_list(from, |from| {
            Ok((RelationId(read_id(from)?), from.varint()?, from.varint()?))
        })?,
        blobs: read_list(from, |from| from.varint())?,
        ownerless: read_list(from, |from| from.varint())?,
        locked: read_list(from, |from| {
            Ok(LockedRows {
                relation: RelationId(read_id(from)?),
                stretch: from.varint()?,
                locked: read_bits(from)?,
                deleted: read_bits(from)?,
                changed: read_list(from, |from| Ok((IndexId(read_id(from)?), read_bits(from)?)))?,
            })
        })?,
    })
}

/// A list; nothing is allocated ahead of what the bytes hold.
fn read_list<T>(
    from: Fields<'_, '_>,
    mut item: impl FnMut(Fields<'_, '_>) -> std::result::Result<T, DecodeError>,
) -> std::result::Result<Vec<T>, DecodeError> {
    let count = from.varint()?;
    let mut list = Vec::new();
    for _ in 0..count {
        list.push(item(from)?);
    }
    Ok(list)
}

fn read_id(from: Fields<'_, '_>) -> std::result::Result<u32, DecodeError> {
    Ok(from.varint()? as u32)
}

fn read_bits(from: Fields<'_, '_>) -> std::result::Result<[u64; STRETCH_WORDS], DecodeError> {
    let mut bits = [0; STRETCH_WORDS];
    for word in &mut bits {
        *word = u64::from_le_bytes(from.array()?);
    }
    Ok(bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LockLevel;

    #[test]
    fn a_record_comes_back_and_damage_is_noticed() {
        let mut locked = [0; STRETCH_WORDS];
        locked[7] = 1 << 63;
        let record = PreparedRecord {
            number: CommitNumber(300),
            at: 1_700_000_000_000_000,
            description: vec![7; 40_000],
            undone: vec![(5, 9)],
            relations: vec![PreparedRelation {
                id: RelationId(128),
                levels: Levels::default().with(LockLevel::SharedWrite),
                has_rows: true,
                first_block: Some(RowId(17)),
                changed: Changed { rows: -3, changes: 8 },
            }],
            row_numbers: vec![(RelationId(128), 17, 18)],
            blobs: vec![1 << 40, 3],
            ownerless: vec![3],
            locked: vec![LockedRows {
                relation: RelationId(128),
                stretch: 2,
                locked,
                deleted: [0; STRETCH_WORDS],
                changed: vec![(IndexId(4), locked)],
            }],
        };
        let bytes = record.encode(TransactionId(9));
        let back = PreparedRecord::decode(TransactionId(9), &bytes).expect("decodes");
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
        assert!(PreparedRecord::decode(TransactionId(8), &bytes).is_none(), "another one's");
        for place in (0..bytes.len()).step_by(97) {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(PreparedRecord::decode(TransactionId(9), &damaged).is_none(), "byte {place}");
        }
    }
}
