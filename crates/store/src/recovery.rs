//! What an open does after a crash: the substrate recovers itself; here the traces of unfinished transactions go.

use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use crate::block::{Block, Stamp};
use crate::keyspace::{self, meta};
use crate::substrate::{ALL_KEYS, Direction, Durability, Snapshot, Space, Substrate, WriteBatch};
use crate::{BlobKey, CommitNumber, IndexId, RelationId, Result, StoreError, TransactionId};

/// Deletes spilled blocks, BLOBs and half-filled indexes of transactions that were running when the database was left.
pub(crate) fn remove_unfinished(substrate: &dyn Substrate) -> Result<()> {
    let snapshot = substrate.snapshot()?;
    let mut batch = WriteBatch::new();
    for key in marks(&*snapshot, meta::PENDING_BLOB)? {
        if let Some(blob) = key.get(meta::PENDING_BLOB.len()..).and_then(keyspace::number) {
            delete_blob(&*snapshot, blob, &mut batch)?;
        }
        batch.delete(Space::Meta, key);
    }
    for key in marks(&*snapshot, meta::PENDING_INDEX)? {
        if let Some(index) = key.get(meta::PENDING_INDEX.len()..).and_then(id) {
            batch.clear(Space::Index(IndexId(index)));
        }
        batch.delete(Space::Meta, key);
    }
    let mut relations = HashSet::new();
    let mut transactions = HashSet::new();
    for key in marks(&*snapshot, meta::PENDING_ROWS)? {
        let numbers = key.get(meta::PENDING_ROWS.len()..).and_then(|numbers| numbers.split_at_checked(8));
        if let Some((transaction, relation)) = numbers {
            transactions.extend(keyspace::number(transaction).map(TransactionId));
            relations.extend(id(relation).map(RelationId));
        }
        batch.delete(Space::Meta, key);
    }
    for relation in relations {
        delete_blocks(&*snapshot, relation, &transactions, &mut batch)?;
    }
    if batch.is_empty() { Ok(()) } else { substrate.write(batch, Durability::Durable) }
}

/// Deletes the blocks that these transactions spilled.
pub(crate) fn delete_blocks(
    snapshot: &dyn Snapshot,
    relation: RelationId,
    transactions: &HashSet<TransactionId>,
    batch: &mut WriteBatch,
) -> Result<()> {
    for entry in snapshot.scan(Space::Blocks(relation), ALL_KEYS, Direction::Forward)? {
        let (key, value) = entry?;
        let block = Block::open(&key, value)?;
        if matches!(block.stamp, Stamp::Transaction(transaction) if transactions.contains(&transaction)) {
            batch.delete(Space::Blocks(relation), key.to_vec());
        }
    }
    Ok(())
}

/// Deletes all parts of a BLOB.
pub(crate) fn delete_blob(snapshot: &dyn Snapshot, blob: u64, batch: &mut WriteBatch) -> Result<()> {
    let first = keyspace::blob(BlobKey { blob, part: 0, chunk: 0 });
    let last = keyspace::blob(BlobKey { blob, part: u8::MAX, chunk: u32::MAX });
    let span = (Bound::Included(&first[..]), Bound::Included(&last[..]));
    for entry in snapshot.scan(Space::Blobs, span, Direction::Forward)? {
        batch.delete(Space::Blobs, entry?.0.to_vec());
    }
    Ok(())
}

/// Transactions whose committed blocks carry their number, with their commits.
pub(crate) fn spilled_commits(snapshot: &dyn Snapshot) -> Result<HashMap<TransactionId, CommitNumber>> {
    let mut commits = HashMap::new();
    for key in marks(snapshot, meta::SPILLED)? {
        let transaction = key.get(meta::SPILLED.len()..).and_then(keyspace::number);
        let commit = crate::numbers::read_number(snapshot, &key)?;
        match (transaction, commit) {
            (Some(transaction), Some(commit)) => {
                commits.insert(TransactionId(transaction), CommitNumber(commit))
            }
            _ => return Err(StoreError::corrupt("a mark of spilled rows")),
        };
    }
    Ok(commits)
}

/// Keys of the meta space that begin with `prefix`.
pub(crate) fn marks(snapshot: &dyn Snapshot, prefix: &[u8]) -> Result<Vec<Vec<u8>>> {
    let after = keyspace::after_prefix(prefix);
    let upper = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let entries = snapshot.scan(Space::Meta, (Bound::Included(prefix), upper), Direction::Forward)?;
    entries.map(|entry| entry.map(|(key, _)| key.to_vec())).collect()
}

/// A relation's or index's number in a mark's key.
pub(crate) fn id(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}
