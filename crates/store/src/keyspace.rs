//! The keys under which things stand in the substrate's spaces. Numbers are big-endian, so that order is kept.
//!
//! | space | key | value |
//! |---|---|---|
//! | versions of a relation | row (8), complement of the commit number (8): newest first | [`crate::version`] |
//! | changes of a relation | row (8), transaction (8), complement of the change number (8): newest first | [`crate::version`] |
//! | blocks of a relation | first row (8) | [`crate::block`] |
//! | an index | encoded key, row (8) | empty; in the file they stand [packed](crate::substrate) |
//! | blobs, pages of blobs | blob (8), part (1), chunk (4), piece (1) | see [`crate::blob`] |
//! | references to blobs | blob whose contents they are (8), blob that has them (8); 0 for the latter: its own row is gone | empty |
//! | sequences | sequence (4) | value, end of the reservation (8 each, little-endian) |
//! | catalog | the engine's | the engine's |
//! | meta | see [`meta`] | |

use crate::{BlobKey, CommitNumber, RowId, TransactionId};

/// Version of the layouts that docs/store.md describes.
pub(crate) const STORE_FORMAT: u64 = 4;
/// The version before: all BLOBs stood alone.
pub(crate) const FORMAT_OF_SINGLE_BLOBS: u64 = 3;
/// The version before that: the entries of indexes stood one by one, too.
pub(crate) const FORMAT_OF_SINGLE_ENTRIES: u64 = 2;

/// Keys of the meta space.
pub(crate) mod meta {
    use crate::{IndexId, RelationId, TransactionId};

    /// Format of the store: 8 bytes, little-endian.
    pub(crate) const FORMAT: &[u8] = b"format";
    /// The latest commit number: 8 bytes, little-endian.
    pub(crate) const LAST_COMMIT: &[u8] = b"last commit";
    /// The latest batch of the commit log that the tree has: generation and number, 8 bytes each, little-endian.
    pub(crate) const LOG: &[u8] = b"log";
    /// Transaction numbers below this one may have been used.
    pub(crate) const TRANSACTIONS_RESERVED: &[u8] = b"transactions reserved";
    /// Blob numbers below this one may have been used.
    pub(crate) const BLOBS_RESERVED: &[u8] = b"blobs reserved";

    /// Uncommitted BLOB whose contents are in the file already; no value.
    pub(crate) const PENDING_BLOB: &[u8] = b"pending blob/";
    /// BLOB with contents of its own that has lost its row, or another one that has its contents: perhaps nobody needs them
    /// any more; no value.
    pub(crate) const RELEASED_BLOB: &[u8] = b"released blob/";
    /// A pack of BLOBs ([`crate::blob::packs`]): its last member; the value is its first one (8 bytes, big-endian).
    pub(crate) const BLOB_PACK: &[u8] = b"blob pack/";
    /// A pack that has lost members since the sweep has seen it: its last member; no value.
    pub(crate) const PACK_WITH_GAPS: &[u8] = b"pack with gaps/";
    /// Smaller BLOBs than this one are not looked at any more for packs: 8 bytes, little-endian.
    pub(crate) const SINGLE_BLOBS_FROM: &[u8] = b"single blobs from";
    /// Index that is being filled; no value.
    pub(crate) const PENDING_INDEX: &[u8] = b"pending index/";
    /// Rows that a transaction has spilled and not committed: transaction, relation. The value of a relation that the
    /// transaction itself has created is [`CREATED`] and the numbers of its indexes (4 bytes each); else none.
    pub(crate) const PENDING_ROWS: &[u8] = b"pending rows/";
    /// See [`PENDING_ROWS`].
    pub(crate) const CREATED: u8 = 1;
    /// Transaction whose spilled rows are committed, with its commit number and the changes that it had undone: pairs of
    /// the last change before and the last one of them (8 bytes each, little-endian).
    pub(crate) const SPILLED: &[u8] = b"spilled/";
    /// Spilled rows of a committed transaction, of which changes are not versions yet, or blocks name the transaction and
    /// not its commit: transaction, relation. The value is the first row of the first such block (8 bytes), if any.
    pub(crate) const UNSETTLED: &[u8] = b"unsettled/";
    /// Record of a prepared transaction, a piece of it: transaction, piece (4 bytes, big-endian); see [`crate::transaction::prepared`].
    pub(crate) const PREPARED: &[u8] = b"prepared/";
    /// Index dropped by a commit, with the commit's number.
    pub(crate) const DROPPED_INDEX: &[u8] = b"dropped index/";
    /// Relation dropped by a commit, with the commit's number.
    pub(crate) const DROPPED_RELATION: &[u8] = b"dropped relation/";
    /// BLOB that a dropped relation owned: removed with it; relation, blob; no value.
    pub(crate) const DROPPED_BLOB: &[u8] = b"dropped blob/";

    /// Instance of a temporary relation of which something is in the file: relation; the numbers of its indexes (4 bytes each, big-endian).
    pub(crate) const TEMPORARY: &[u8] = b"temporary/";

    pub(crate) fn temporary(relation: RelationId) -> Vec<u8> {
        [TEMPORARY, &relation.0.to_be_bytes()].concat()
    }

    /// Name of a commit ([`crate::named_commits`]): commit; 16 bytes, and one more if a part of it is decided behind it.
    pub(crate) const NAMED_COMMIT: &[u8] = b"named commit/";

    /// No name of this commit or an earlier one is sure to be there: 8 bytes, little-endian.
    pub(crate) const FORGOTTEN_NAMES: &[u8] = b"forgotten names";

    pub(crate) fn named_commit(commit: crate::CommitNumber) -> Vec<u8> {
        [NAMED_COMMIT, &commit.0.to_be_bytes()].concat()
    }

    /// An incremental backup that was made ([`crate::backup_history`]): its number.
    pub(crate) const BACKUP: &[u8] = b"backup/";
    /// Digests of the chunks of such a backup, a piece of them: its number, piece (4 bytes, big-endian).
    const BACKUP_CONTENTS: &[u8] = b"backup contents/";

    pub(crate) fn backup(id: u64) -> Vec<u8> {
        [BACKUP, &id.to_be_bytes()].concat()
    }

    /// Beginning of the keys of what was in a backup.
    pub(crate) fn backup_contents(id: u64) -> Vec<u8> {
        [BACKUP_CONTENTS, &id.to_be_bytes()].concat()
    }

    pub(crate) fn backup_piece(id: u64, piece: u32) -> Vec<u8> {
        [BACKUP_CONTENTS, &id.to_be_bytes(), &piece.to_be_bytes()].concat()
    }

    /// What is known of a relation's rows: relation; see [`crate::relation_statistics`].
    const STATISTICS: &[u8] = b"statistics/";
    /// The commit as of which all of these are: 8 bytes, little-endian. If it is not the latest one the database was not closed, or
    /// by a program that does not know them.
    pub(crate) const STATISTICS_AS_OF: &[u8] = b"statistics as of";

    pub(crate) fn statistics(relation: RelationId) -> Vec<u8> {
        [STATISTICS, &relation.0.to_be_bytes()].concat()
    }

    pub(crate) fn pending_blob(blob: u64) -> Vec<u8> {
        [PENDING_BLOB, &blob.to_be_bytes()].concat()
    }

    pub(crate) fn released_blob(blob: u64) -> Vec<u8> {
        [RELEASED_BLOB, &blob.to_be_bytes()].concat()
    }

    pub(crate) fn blob_pack(last: u64) -> Vec<u8> {
        [BLOB_PACK, &last.to_be_bytes()].concat()
    }

    pub(crate) fn pack_with_gaps(last: u64) -> Vec<u8> {
        [PACK_WITH_GAPS, &last.to_be_bytes()].concat()
    }

    pub(crate) fn pending_index(index: IndexId) -> Vec<u8> {
        [PENDING_INDEX, &index.0.to_be_bytes()].concat()
    }

    pub(crate) fn pending_rows(transaction: TransactionId, relation: RelationId) -> Vec<u8> {
        [PENDING_ROWS, &transaction.0.to_be_bytes(), &relation.0.to_be_bytes()].concat()
    }

    pub(crate) fn unsettled(transaction: TransactionId, relation: RelationId) -> Vec<u8> {
        [UNSETTLED, &transaction.0.to_be_bytes(), &relation.0.to_be_bytes()].concat()
    }

    pub(crate) fn spilled(transaction: TransactionId) -> Vec<u8> {
        [SPILLED, &transaction.0.to_be_bytes()].concat()
    }

    pub(crate) fn prepared(transaction: TransactionId, piece: u32) -> Vec<u8> {
        [PREPARED, &transaction.0.to_be_bytes(), &piece.to_be_bytes()].concat()
    }

    pub(crate) fn dropped_index(index: IndexId) -> Vec<u8> {
        [DROPPED_INDEX, &index.0.to_be_bytes()].concat()
    }

    /// Beginning of the marks of a dropped relation's BLOBs.
    pub(crate) fn dropped_blobs(relation: RelationId) -> Vec<u8> {
        [DROPPED_BLOB, &relation.0.to_be_bytes()].concat()
    }

    pub(crate) fn dropped_blob(relation: RelationId, blob: u64) -> Vec<u8> {
        [DROPPED_BLOB, &relation.0.to_be_bytes(), &blob.to_be_bytes()].concat()
    }

    pub(crate) fn dropped_relation(relation: RelationId) -> Vec<u8> {
        [DROPPED_RELATION, &relation.0.to_be_bytes()].concat()
    }
}

/// Size of a row's number at the end of an index entry.
pub(crate) const ROW_BYTES: usize = 8;

/// Key of a row's version.
pub(crate) fn version(row: RowId, commit: CommitNumber) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&row.0.to_be_bytes());
    key[8..].copy_from_slice(&(!commit.0).to_be_bytes());
    key
}

/// Reads the key of a version.
pub(crate) fn parse_version(key: &[u8]) -> Option<(RowId, CommitNumber)> {
    let (row, commit) = key.split_at_checked(8)?;
    Some((RowId(number(row)?), CommitNumber(!number(commit)?)))
}

/// Key of a spilled change of a row.
pub(crate) fn change(row: RowId, transaction: TransactionId, change: u64) -> [u8; 24] {
    let mut key = [0; 24];
    key[..8].copy_from_slice(&row.0.to_be_bytes());
    key[8..16].copy_from_slice(&transaction.0.to_be_bytes());
    key[16..].copy_from_slice(&(!change).to_be_bytes());
    key
}

/// Reads the key of a spilled change.
pub(crate) fn parse_change(key: &[u8]) -> Option<(RowId, TransactionId, u64)> {
    let (row, rest) = key.split_at_checked(8)?;
    let (transaction, change) = rest.split_at_checked(8)?;
    Some((RowId(number(row)?), TransactionId(number(transaction)?), !number(change)?))
}

/// Key of a block.
pub(crate) fn block(first: RowId) -> [u8; 8] {
    first.0.to_be_bytes()
}

/// Reads the key of a block, a sequence's or another single number.
pub(crate) fn number(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

/// Splits an index entry into its key and its row.
pub(crate) fn parse_entry(entry: &[u8]) -> Option<(&[u8], RowId)> {
    let (key, row) = entry.split_at_checked(entry.len().checked_sub(ROW_BYTES)?)?;
    Some((key, RowId(number(row)?)))
}

/// Size of the key of a piece of a BLOB.
pub(crate) const BLOB_PIECE_BYTES: usize = 14;

/// Key of a piece of an entry of a BLOB.
pub(crate) fn blob_piece(key: BlobKey, piece: u8) -> [u8; BLOB_PIECE_BYTES] {
    let mut bytes = [piece; BLOB_PIECE_BYTES];
    bytes[..8].copy_from_slice(&key.blob.to_be_bytes());
    bytes[8] = key.part;
    bytes[9..13].copy_from_slice(&key.chunk.to_be_bytes());
    bytes
}

/// Key of a reference to a BLOB's contents.
pub(crate) fn blob_reference(owner: u64, referrer: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&owner.to_be_bytes());
    key[8..].copy_from_slice(&referrer.to_be_bytes());
    key
}

/// The least key greater than all that begin with `prefix`; `None` if there is none.
pub(crate) fn after_prefix(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut after = Vec::new();
    after_prefix_into(prefix, &mut after).then_some(after)
}

/// As [`after_prefix`], in the place of what `after` has; false if there is none.
pub(crate) fn after_prefix_into(prefix: &[u8], after: &mut Vec<u8>) -> bool {
    after.clear();
    let Some(last) = prefix.iter().rposition(|&byte| byte != 0xFF) else { return false };
    after.extend_from_slice(&prefix[..=last]);
    after[last] += 1;
    true
}
