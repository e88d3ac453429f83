//! Transactions: reading, writing, savepoints, commit and rollback.

use farbird_types::{BlobId, Value};

use crate::{
    BlobOptions, BlobReader, BlobWriter, CommitNumber, IndexId, LockLevel, Projection, ReadView, RelationId,
    RelationLayout, Result, RowId, Store, TransactionId, TransactionOptions,
};

/// A running transaction. Dropping it rolls it back.
///
/// All methods take `&self`: several cursors and statements of one transaction interleave as the client likes.
#[derive(Debug)]
pub struct Transaction {
    store: Store,
}

/// A point to which a transaction can be rolled back. Savepoints nest: rolling back to one ends those taken after it.
///
/// Must be given to [`Transaction::release`] or [`Transaction::rollback_to`] in the end; that of a whole transaction's
/// end is implied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Savepoint(pub(crate) u64);

impl Transaction {
    /// Its number.
    pub fn id(&self) -> TransactionId {
        unimplemented!()
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// How it was begun.
    pub fn options(&self) -> TransactionOptions {
        unimplemented!()
    }

    /// The commit number that it reads as of; for READ COMMITTED the latest one.
    pub fn snapshot(&self) -> CommitNumber {
        unimplemented!()
    }

    /// Takes the view of a statement.
    pub fn view(&self) -> Result<ReadView> {
        self.view_with(|_| ()).map(|(view, ())| view)
    }

    /// As [`Transaction::view`]; `at_snapshot` runs with its number while no commit can be published, so that the
    /// engine can take the catalog that belongs to it.
    pub fn view_with<T>(&self, at_snapshot: impl FnOnce(CommitNumber) -> T) -> Result<(ReadView, T)> {
        let _ = at_snapshot;
        unimplemented!()
    }

    /// Reads the visible version of one row, the projected columns in the projection's order.
    pub fn read_row(
        &self,
        layout: &RelationLayout,
        view: &ReadView,
        row: RowId,
        columns: &Projection,
    ) -> Result<Option<Vec<Value>>> {
        let _ = (layout, view, row, columns);
        unimplemented!()
    }

    /// How many rows the view sees. Reads block headers only where it can.
    pub fn count_rows(&self, layout: &RelationLayout, view: &ReadView) -> Result<u64> {
        let _ = (layout, view);
        unimplemented!()
    }

    /// Inserts a row, by slot, of the layout's current format (missing values at its end are NULL).
    ///
    /// BLOBs in it become the row's own: one just created by this transaction keeps its id; of one that belongs to
    /// another row a copy is made, whose id replaces it in `row`.
    ///
    /// # Errors
    /// `UniqueViolation`; `LockConflict`, `LockTimeout`, `Deadlock` if another transaction is about to commit the same key.
    pub fn insert(&self, layout: &RelationLayout, row: &mut [Value]) -> Result<RowId> {
        let _ = (layout, row);
        unimplemented!()
    }

    /// Replaces a row. BLOBs as with [`Transaction::insert`]; those that the old version has too stay as they are.
    ///
    /// # Errors
    /// As [`Transaction::insert`], and `UpdateConflict`, `StatementRestart`, `NoSuchRow`.
    pub fn update(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId, row: &mut [Value]) -> Result<()> {
        let _ = (layout, view, row_id, row);
        unimplemented!()
    }

    /// Deletes a row. Errors as [`Transaction::update`].
    pub fn delete(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId) -> Result<()> {
        let _ = (layout, view, row_id);
        unimplemented!()
    }

    /// Locks a row until the end of the transaction without changing it (WITH LOCK). Errors as [`Transaction::update`].
    pub fn lock_row(&self, layout: &RelationLayout, view: &ReadView, row_id: RowId) -> Result<()> {
        let _ = (layout, view, row_id);
        unimplemented!()
    }

    /// Whether any row has this key, or one that begins with these values if there are fewer than the index has parts:
    /// committed by anybody (also after this transaction's snapshot) or written by this transaction. Waits, as the
    /// transaction's parameters say, for others that have written or deleted such a key.
    ///
    /// For foreign keys: on insert into the child ask the parent's index, on delete from the parent the child's.
    /// A row to be ignored (a row that references itself while it is deleted) can be given.
    pub fn key_exists(
        &self,
        layout: &RelationLayout,
        index: IndexId,
        values: &[Value],
        except: Option<RowId>,
    ) -> Result<bool> {
        let _ = (layout, index, values, except);
        unimplemented!()
    }

    /// Marks this moment, to be able to undo what follows. Cheap.
    pub fn savepoint(&self) -> Savepoint {
        unimplemented!()
    }

    /// Undoes all changes since the savepoint and ends it and those taken after it. Locks taken are kept.
    pub fn rollback_to(&self, savepoint: Savepoint) -> Result<()> {
        let _ = savepoint;
        unimplemented!()
    }

    /// Ends the savepoint and those taken after it; the changes stay.
    pub fn release(&self, savepoint: Savepoint) {
        let _ = savepoint;
        unimplemented!()
    }

    /// Writes a catalog entry; committed or undone with the transaction. Two transactions that write the same entry
    /// conflict as with rows.
    pub fn catalog_put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        let _ = (key, value);
        unimplemented!()
    }

    /// Deletes a catalog entry.
    pub fn catalog_delete(&self, key: &[u8]) -> Result<()> {
        let _ = key;
        unimplemented!()
    }

    /// Reads a catalog entry: the transaction's own, or the latest committed.
    pub fn catalog_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let _ = key;
        unimplemented!()
    }

    /// Locks a relation until the end of the transaction, waiting as the transaction's parameters say.
    /// Asking again for more strengthens the lock.
    pub fn lock_relation(&self, relation: RelationId, level: LockLevel) -> Result<()> {
        let _ = (relation, level);
        unimplemented!()
    }

    /// Fills a new index of the layout from the rows that exist. The relation must be locked against writers.
    ///
    /// # Errors
    /// `UniqueViolation`: the index is empty again then.
    pub fn build_index(&self, layout: &RelationLayout, index: IndexId) -> Result<()> {
        let _ = (layout, index);
        unimplemented!()
    }

    /// Drops an index with the commit; its space comes back when nobody can be reading it any more.
    pub fn drop_index(&self, index: IndexId) -> Result<()> {
        let _ = index;
        unimplemented!()
    }

    /// Drops all rows (and BLOBs) of a relation with the commit; the space comes back when nobody can be reading it any more.
    /// Its indexes are dropped by [`Transaction::drop_index`].
    pub fn drop_relation(&self, layout: &RelationLayout) -> Result<()> {
        let _ = layout;
        unimplemented!()
    }

    /// Begins a BLOB.
    pub fn create_blob(&self, options: BlobOptions) -> Result<BlobWriter> {
        let _ = options;
        unimplemented!()
    }

    /// Opens a BLOB for reading.
    pub fn open_blob(&self, id: BlobId) -> Result<BlobReader> {
        let _ = id;
        unimplemented!()
    }

    /// Commits.
    ///
    /// # Durability
    /// Everything is on the disk when this returns. An error means that the commit did not happen, and the transaction is rolled back.
    pub fn commit(self) -> Result<CommitNumber> {
        self.commit_with(|_| ())
    }

    /// As [`Transaction::commit`]; `publish` runs with the commit's number before any other transaction can see the commit or
    /// take a newer snapshot (it may run on another thread, and must not call the store's transactions).
    pub fn commit_with(self, publish: impl FnOnce(CommitNumber) + Send + 'static) -> Result<CommitNumber> {
        let _ = publish;
        unimplemented!()
    }

    /// Commits and goes on under a new number with the same options and snapshot (COMMIT RETAIN).
    pub fn commit_retaining(&self) -> Result<CommitNumber> {
        self.commit_retaining_with(|_| ())
    }

    /// As [`Transaction::commit_retaining`], with `publish` as in [`Transaction::commit_with`].
    pub fn commit_retaining_with(&self, publish: impl FnOnce(CommitNumber) + Send + 'static) -> Result<CommitNumber> {
        let _ = publish;
        unimplemented!()
    }

    /// Undoes everything.
    pub fn rollback(self) -> Result<()> {
        unimplemented!()
    }

    /// Undoes everything and goes on under a new number with the same options and snapshot (ROLLBACK RETAIN).
    pub fn rollback_retaining(&self) -> Result<()> {
        unimplemented!()
    }
}
