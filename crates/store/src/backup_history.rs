//! Which incremental backups were made of a database, and what was in them: the next one leaves out what is there already.
//!
//! # Promises
//! - A backup is in the history only once its maker has said that its file is whole.
//! - What was in the latest [`CONTENTS_KEPT`] backups of each level is kept in the file; of older ones only that they were made.
//!
//! # Place
//! Stands in the meta space, outside of transactions: a backup changes nothing that a transaction sees.

use std::ops::Bound;

use farbird_record::bytes::{Reader, put_bytes, put_varint};

use crate::backup::ChunkDigest;
use crate::keyspace::{self, meta};
use crate::store::Store;
use crate::substrate::{Direction, Durability, Space, SubstrateState, WriteBatch};
use crate::{CommitNumber, Result, StoreError};

/// Of so many backups of a level it is known what was in them.
const CONTENTS_KEPT: usize = 8;
/// Digests of one entry: 15,360 bytes of them.
const DIGESTS_PER_PIECE: usize = 480;
/// Pieces that are written together.
const PIECES_PER_BATCH: usize = 64;

/// A backup that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupRecord {
    /// Its number: 1 for the first one of the database.
    pub id: u64,
    /// The time of its snapshot: microseconds since 1970, UTC.
    pub time_us: i64,
    /// How many files it builds on.
    pub level: u8,
    /// Whether it builds on a backup that was named by its GUID, and not on the latest one of the level before.
    pub is_since_guid: bool,
    /// Its GUID.
    pub guid: [u8; 16],
    /// The commit whose state it is.
    pub commit: CommitNumber,
    /// How many chunks it has, those of the backups that it builds on included.
    pub chunks: u64,
    /// The name of its file.
    pub file: String,
}

impl BackupRecord {
    fn encode(&self) -> Vec<u8> {
        let mut bytes = self.time_us.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[self.level, u8::from(self.is_since_guid)]);
        bytes.extend_from_slice(&self.guid);
        put_varint(self.commit.0, &mut bytes);
        put_varint(self.chunks, &mut bytes);
        put_bytes(self.file.as_bytes(), &mut bytes);
        bytes
    }

    fn decode(id: u64, bytes: &[u8]) -> Option<BackupRecord> {
        let mut reader = Reader::new(bytes);
        let time_us = i64::from_le_bytes(reader.array().ok()?);
        let [level, is_since_guid] = reader.array().ok()?;
        let guid = reader.array().ok()?;
        let commit = CommitNumber(reader.varint().ok()?);
        let chunks = reader.varint().ok()?;
        let file = String::from_utf8(reader.length_and_bytes().ok()?.to_vec()).ok()?;
        Some(BackupRecord {
            id,
            time_us,
            level,
            is_since_guid: is_since_guid != 0,
            guid,
            commit,
            chunks,
            file,
        })
    }
}

impl Store {
    /// The incremental backups that were made, oldest first.
    ///
    /// # Errors
    /// From reading.
    pub fn backup_history(&self) -> Result<Vec<BackupRecord>> {
        history(&*self.inner.snapshot())
    }

    /// What was in a backup: its chunks in their order; nothing if that is not kept any more.
    ///
    /// # Errors
    /// From reading.
    pub fn backup_contents(&self, backup: &BackupRecord) -> Result<Option<Vec<ChunkDigest>>> {
        let mut digests = Vec::new();
        for entry in entries(&*self.inner.snapshot(), &meta::backup_contents(backup.id))? {
            let (pieces, rest) = entry.1.as_chunks();
            if !rest.is_empty() {
                return Err(StoreError::corrupt("the contents of a backup"));
            }
            digests.extend(pieces.iter().copied().map(ChunkDigest));
        }
        Ok((digests.len() as u64 == backup.chunks).then_some(digests))
    }

    /// Enters a backup whose file is whole. Its number is given to it.
    ///
    /// # Durability
    /// Durable when it returns. After a crash before it is not in the history.
    ///
    /// # Errors
    /// Those of writing.
    pub fn note_backup(&self, backup: BackupRecord, contents: &[ChunkDigest]) -> Result<BackupRecord> {
        let _one_at_a_time = self.inner.backup_history.lock();
        let mut known = self.backup_history()?;
        let id = known.last().map_or(1, |latest| latest.id + 1);
        let backup = BackupRecord { id, chunks: contents.len() as u64, ..backup };
        let mut batch = WriteBatch::new();
        self.remove_contents(id, &mut batch)?;
        if !batch.is_empty() {
            // Of an attempt that a crash has ended.
            self.inner.write(std::mem::take(&mut batch), Durability::Relaxed)?;
        }
        for (number, piece) in contents.chunks(DIGESTS_PER_PIECE).enumerate() {
            let bytes: Vec<u8> = piece.iter().flat_map(|digest| digest.0).collect();
            batch.put(Space::Meta, meta::backup_piece(id, number as u32), bytes);
            if (number + 1) % PIECES_PER_BATCH == 0 {
                self.inner.write(std::mem::take(&mut batch), Durability::Relaxed)?;
            }
        }
        known.push(backup.clone());
        for old in outdated(&known) {
            self.remove_contents(old, &mut batch)?;
        }
        batch.put(Space::Meta, meta::backup(id), backup.encode());
        self.inner.write(batch, Durability::Durable)?;
        Ok(backup)
    }

    /// Forgets backups for which `forget` says so, and what was in them; gives how many.
    ///
    /// # Durability
    /// Durable when it returns.
    ///
    /// # Errors
    /// From reading and writing.
    pub fn forget_backups(&self, forget: impl Fn(&BackupRecord) -> bool) -> Result<u64> {
        let _one_at_a_time = self.inner.backup_history.lock();
        let mut batch = WriteBatch::new();
        let mut forgotten = 0;
        for backup in self.backup_history()?.iter().filter(|backup| forget(backup)) {
            batch.delete(Space::Meta, meta::backup(backup.id));
            self.remove_contents(backup.id, &mut batch)?;
            forgotten += 1;
        }
        if forgotten > 0 {
            self.inner.write(batch, Durability::Durable)?;
        }
        Ok(forgotten)
    }

    fn remove_contents(&self, id: u64, batch: &mut WriteBatch) -> Result<()> {
        for (key, _) in entries(&*self.inner.snapshot(), &meta::backup_contents(id))? {
            batch.delete(Space::Meta, key);
        }
        Ok(())
    }
}

/// The backups of which it has just become too long ago to keep what was in them.
fn outdated(known: &[BackupRecord]) -> Vec<u64> {
    let Some(latest) = known.last() else { return Vec::new() };
    let same_level = known.iter().rev().filter(|backup| backup.level == latest.level);
    same_level.skip(CONTENTS_KEPT).map(|backup| backup.id).collect()
}

fn history(snapshot: &dyn SubstrateState) -> Result<Vec<BackupRecord>> {
    let damaged = || StoreError::corrupt("the history of backups");
    entries(snapshot, meta::BACKUP)?
        .into_iter()
        .map(|(key, value)| {
            let id = key.get(meta::BACKUP.len()..).and_then(keyspace::number);
            id.and_then(|id| BackupRecord::decode(id, &value)).ok_or_else(damaged)
        })
        .collect()
}

type Entry = (Vec<u8>, Vec<u8>);

/// The entries of the meta space whose keys begin so, in order.
fn entries(snapshot: &dyn SubstrateState, prefix: &[u8]) -> Result<Vec<Entry>> {
    let after = keyspace::after_prefix(prefix);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let found = snapshot.scan(Space::Meta, (Bound::Included(prefix), upper), Direction::Forward)?;
    found.map(|entry| entry.map(|(key, value)| (key.to_vec(), value.to_vec()))).collect()
}
