//! gbak restoring a database by requests (`gbak -c` without `-se`): what it stores into system tables, and when definitions are made of it.
//!
//! Only the attachment that has created the database so restores; all others are refused to write into system tables.

use std::sync::Arc;

use farbird_blr as blr;
use farbird_expression::row_of_db_key;
use farbird_sql::ast;
use farbird_store::{SegmentRead, TransactionOptions};
use farbird_types::{BlobId, CharacterSet, Error, Result, Text, Value, isc};

use crate::api::{Isolation, TransactionHandle};
use crate::attachment::Attachment;
use crate::budget::row_bytes;
use crate::catalog::{self, CatalogChanges, CatalogObject, Relation};
use crate::maintenance::ShutdownMode;
use crate::session::RestoredRows;
use crate::transaction::TransactionCatalog;

/// Longest source, comment or program. Firebird's own limits are far below.
const BLOB_BYTES_MAX: usize = 64 << 20;
/// How names of generators begin that Firebird numbers names of its own objects with.
const NUMBERS_OF_NAMES: [&str; 2] = ["RDB$", "SQL$"];
/// A segment as it is read.
const SEGMENT_BYTES: usize = 1 << 16;
/// Most differences that are told one by one.
const DIFFERENCES_TOLD: usize = 40;

/// What becomes of what gbak stores.
pub(crate) trait DatabaseRestore: Send {
    /// Whether everything has been defined that is in the backup.
    fn is_defined(&self) -> bool;

    /// A transaction activates an index.
    fn note_activated(&mut self, by: TransactionHandle, index: String);

    /// A transaction says who owns what: it is gbak's last.
    fn note_last(&mut self, transaction: TransactionHandle);

    /// Whether it is the one that says so.
    fn is_last(&self, transaction: TransactionHandle) -> bool;

    /// A transaction is undone.
    fn forget(&mut self, transaction: TransactionHandle);

    /// Takes the definitions as they have been stored by now. Gives the character set that the database has by default.
    ///
    /// # Errors
    /// Those of reading them.
    fn read(&mut self, attachment: &mut Attachment, transaction: TransactionHandle) -> Result<CharacterSet>;

    /// Whether a table is among the definitions that were read.
    fn knows_table(&self, name: &str) -> bool;

    /// Makes the table that rows come for, with the columns that they have.
    ///
    /// # Errors
    /// Those of its definition.
    fn make_table(&mut self, name: &str, columns: &[String]) -> Result<()>;

    /// Makes everything else.
    ///
    /// # Errors
    /// Those of the store; `isc_cancelled`. What is refused is a difference.
    fn define(&mut self) -> Result<()>;

    /// Why the index could not be made that a transaction activates. It is told once. As in Firebird it is there and inactive then,
    /// unless it is a constraint's, which there is not without it.
    fn refusal(&mut self, transaction: TransactionHandle) -> Option<Error>;

    /// What there is no statement for, as objects that are to take the place of those in the catalog.
    ///
    /// # Errors
    /// Those of the store.
    fn last_objects(&mut self) -> Result<Vec<CatalogObject>>;

    /// What is not there, or not as it was in the backup, each with the reason.
    fn differences(self: Box<Self>) -> Vec<(String, String)>;
}

impl Attachment {
    /// Lets gbak restore the database that this attachment has created. As gbak asks for, nobody else is let in until it brings it
    /// online.
    ///
    /// # Errors
    /// Those of shutting the database down.
    pub(crate) fn begin_restoring(&mut self, restore: Box<dyn DatabaseRestore>) -> Result<()> {
        self.change_properties(|properties| properties.shutdown = ShutdownMode::Single)?;
        self.has_shut_down = true;
        self.restoring = Some(restore);
        *self.session.restored.lock() = Some(Box::new(RestoredRows::default()));
        Ok(())
    }

    /// What the restore that has just ended has not made, or not as it was.
    pub fn take_restore_warnings(&mut self) -> Option<Error> {
        self.restore_warnings.take()
    }

    /// A row is stored into a system table: values by the columns' places.
    pub(super) fn restore_row(
        &mut self,
        transaction: TransactionHandle,
        relation: &Relation,
        values: Vec<(usize, Value)>,
    ) -> Result<()> {
        let mut row = vec![Value::Null; relation.columns.len()];
        for (place, value) in values {
            if let Some(column) = row.get_mut(place) {
                *column = value;
            }
        }
        let memory = self.session.budget.charge(row_bytes(&row))?;
        self.with_restored(|rows| rows.store(transaction.0, &relation.name, row, memory))
    }

    /// A row of a system table is changed.
    pub(super) fn restore_change(
        &mut self,
        transaction: TransactionHandle,
        relation: &Relation,
        key: &Value,
        values: Vec<(usize, Value)>,
    ) -> Result<()> {
        let place = place_of(relation, key)?;
        let bytes: Vec<Value> = values.iter().map(|(_, value)| value.clone()).collect();
        let memory = self.session.budget.charge(row_bytes(&bytes))?;
        let column = |name: &str| relation.columns.iter().position(|column| column.name == name);
        let inactive = column("RDB$INDEX_INACTIVE").filter(|_| relation.name == "RDB$INDICES");
        let is_activated = values.iter().any(|(place, value)| {
            Some(*place) == inactive && matches!(value, Value::Integer { unscaled: 0, .. })
        });
        let name = column("RDB$INDEX_NAME").filter(|_| is_activated);
        let index = self.with_restored(|rows| {
            let row = rows.change(transaction.0, &relation.name, place, values, memory)?;
            match row.get(name?)? {
                Value::Text(text) => Some(String::from_utf8_lossy(text.bytes()).trim_end().to_owned()),
                _ => None,
            }
        })?;
        if let (Some(index), Some(restoring)) = (index, &mut self.restoring) {
            restoring.note_activated(transaction, index);
        }
        Ok(())
    }

    /// A row of a system table is erased.
    pub(super) fn restore_erasure(
        &mut self,
        transaction: TransactionHandle,
        relation: &Relation,
        key: &Value,
    ) -> Result<()> {
        let place = place_of(relation, key)?;
        self.with_restored(|rows| rows.erase(transaction.0, &relation.name, place))
    }

    /// GEN_ID of a sequence of the backup.
    pub(super) fn restore_sequence(
        &mut self,
        transaction: TransactionHandle,
        name: &str,
        increment: &Value,
    ) -> Result<()> {
        let Value::Integer { unscaled, scale: 0 } = increment else {
            return Err(Error::new(isc::WISH_LIST)
                .and(isc::RANDOM)
                .with("a sequence that does not go by whole numbers"));
        };
        let increment = *unscaled;
        self.with_restored(|rows| rows.add_to_sequence(transaction.0, name, increment))
    }

    /// What a sequence of the backup has come to, or one that gbak numbers names with.
    pub(super) fn restored_sequence(&self, name: &str) -> Result<i64> {
        self.with_restored(|rows| rows.sequence(name))
    }

    /// Whether a statement is one by which gbak sets a generator that Firebird numbers the names of its own objects with, by those in
    /// the backup. Here a name is looked for that is free, so there is nothing to be set.
    pub(super) fn sets_number_of_names(&self, sql: &str, statement: &ast::StatementKind) -> bool {
        let is_block = matches!(statement, ast::StatementKind::ExecuteBlock(_));
        is_block && NUMBERS_OF_NAMES.iter().any(|prefix| sql.contains(&format!("'SET GENERATOR {prefix}")))
    }

    /// The bytes of a BLOB that is stored into a system table.
    pub(super) fn restored_blob(&mut self, transaction: TransactionHandle, id: BlobId) -> Result<Value> {
        if id == BlobId(0) {
            return Ok(Value::Null);
        }
        let blob = self.open_blob_as_stream(transaction, id)?;
        let mut bytes = Vec::new();
        let read = loop {
            match self.get_segment(blob, SEGMENT_BYTES, &mut bytes) {
                Ok(SegmentRead::End) => break Ok(()),
                Ok(_) if bytes.len() > BLOB_BYTES_MAX => {
                    break Err(Error::new(isc::IMP_EXC).and(isc::BLKTOOBIG));
                }
                Ok(_) => {}
                Err(error) => break Err(error),
            }
        };
        self.close_blob(blob)?;
        read?;
        Ok(Value::Text(Text::new(bytes, CharacterSet::OCTETS)))
    }

    fn with_restored<T>(&self, work: impl FnOnce(&mut RestoredRows) -> T) -> Result<T> {
        match self.session.restored.lock().as_mut() {
            Some(rows) => Ok(work(rows)),
            // A request that was compiled while the restore went on.
            None => Err(Error::new(isc::REQ_SYNC)),
        }
    }

    /// Makes the table that a statement inserts into, if gbak restores it.
    ///
    /// # Errors
    /// Those of its definition.
    pub(super) fn make_inserted_table(
        &mut self,
        transaction: Option<TransactionHandle>,
        statement: &ast::StatementKind,
    ) -> Result<()> {
        let ast::StatementKind::Insert(insert) = statement else { return Ok(()) };
        let columns = insert.columns.iter().flatten().map(|name| name.text.clone()).collect();
        self.make_restored_table(transaction, &insert.table.name.text, columns)
    }

    /// As [`Attachment::make_inserted_table`], for what a request stores into.
    ///
    /// # Errors
    /// Those of its definition.
    pub(super) fn make_stored_table(&mut self, statement: &blr::Statement) -> Result<()> {
        if self.restoring.is_none() {
            return Ok(());
        }
        let mut stored = Vec::new();
        stored_tables(statement, &mut stored);
        for (name, columns) in stored {
            self.make_restored_table(None, &name, columns)?;
        }
        Ok(())
    }

    fn make_restored_table(
        &mut self,
        transaction: Option<TransactionHandle>,
        name: &str,
        columns: Vec<String>,
    ) -> Result<()> {
        if self.database().catalog().relation(name).is_some() {
            return Ok(());
        }
        let transaction = transaction.or_else(|| self.transactions.keys().next().copied());
        let Some(transaction) = transaction else { return Ok(()) };
        self.while_restoring(|attachment, restore| {
            if restore.is_defined() {
                return Ok(());
            }
            // All tables stand in front of the first rows.
            if !restore.knows_table(name) {
                attachment.read_restored(restore, transaction)?;
            }
            restore.make_table(name, &columns)?;
            // Arrays are written for a column before a statement looks at it.
            let committed = attachment.database().catalog();
            for slot in attachment.transactions.values() {
                slot.transaction.catalog.lock().refresh(&committed);
            }
            Ok(())
        })
    }

    /// What a commit means to the restore: definitions are made, or an error tells of an index that could not be.
    ///
    /// # Errors
    /// Those of the store; that of an index. The transaction is still there.
    pub(super) fn restore_before_commit(&mut self, transaction: TransactionHandle) -> Result<()> {
        let is_read_committed =
            self.transaction(transaction)?.parameters.isolation == Isolation::ReadCommitted;
        self.while_restoring(|attachment, restore| {
            if let Some(refusal) = restore.refusal(transaction) {
                return Err(refusal);
            }
            if !restore.is_defined() && is_read_committed {
                attachment.read_restored(restore, transaction)?;
                restore.define()?;
            }
            if restore.is_defined() && restore.is_last(transaction) {
                attachment.read_restored(restore, transaction)?;
                let objects = restore.last_objects()?;
                attachment.put_objects(objects)?;
            }
            Ok(())
        })
    }

    /// A transaction has been committed.
    pub(super) fn restore_behind_commit(&mut self, transaction: TransactionHandle) {
        if let Some(rows) = self.session.restored.lock().as_mut() {
            rows.commit(transaction.0);
        }
        let ended = self.restoring.take_if(|it| it.is_defined() && it.is_last(transaction));
        let Some(restore) = ended else { return };
        *self.session.restored.lock() = None;
        self.restore_warnings = warnings(&restore.differences());
    }

    /// A transaction has been rolled back.
    pub(super) fn restore_behind_rollback(&mut self, transaction: TransactionHandle) {
        if let Some(restore) = &mut self.restoring {
            restore.forget(transaction);
        }
        if let Some(rows) = self.session.restored.lock().as_mut() {
            rows.roll_back(transaction.0);
        }
    }

    /// A request begins that says who owns tables: gbak's transaction that does so is its last.
    pub(super) fn note_owners_told(&mut self, transaction: TransactionHandle) {
        if let Some(restore) = self.restoring.as_mut().filter(|it| it.is_defined()) {
            restore.note_last(transaction);
        }
    }

    fn while_restoring<T: Default>(
        &mut self,
        work: impl FnOnce(&mut Attachment, &mut dyn DatabaseRestore) -> Result<T>,
    ) -> Result<T> {
        let Some(mut restore) = self.restoring.take() else { return Ok(T::default()) };
        let done = work(self, &mut *restore);
        self.restoring = Some(restore);
        done
    }

    /// Reads what has been stored by now, and gives the database the character set that it has by default.
    fn read_restored(
        &mut self,
        restore: &mut dyn DatabaseRestore,
        transaction: TransactionHandle,
    ) -> Result<()> {
        let wanted = restore.read(self, transaction)?;
        if self.database().catalog().database.default_character_set != wanted {
            self.change_properties(|properties| properties.default_character_set = wanted)?;
        }
        Ok(())
    }

    /// Puts objects into the places of those that there are.
    fn put_objects(&self, objects: Vec<CatalogObject>) -> Result<()> {
        let database = Arc::clone(self.database());
        let failed = |error| database.status(error);
        let cancel = Arc::clone(&self.session.interrupt.cancel);
        let transaction = database.store.begin(TransactionOptions::default(), cancel).map_err(failed)?;
        let mut own = TransactionCatalog { current: database.catalog(), changes: CatalogChanges::default() };
        for object in objects {
            let (kind, name) = object.identity();
            transaction.catalog_put(&kind.key(&name), &object.encode()?).map_err(failed)?;
            own.put(object);
        }
        transaction.commit_with(catalog::publication(&database, &own.changes)).map(|_| ()).map_err(failed)
    }
}

/// The place of a row among those of a system table, counted from 1.
fn place_of(relation: &Relation, key: &Value) -> Result<u64> {
    let place = match key {
        Value::Text(text) => row_of_db_key(relation.id.0, text.bytes()),
        _ => None,
    };
    place.ok_or_else(|| Error::internal("a key of a system table that is none"))
}

/// The tables that a statement stores into, with the fields that get values.
fn stored_tables(statement: &blr::Statement, found: &mut Vec<(String, Vec<String>)>) {
    match statement {
        blr::Statement::Block(statements) => statements.iter().for_each(|one| stored_tables(one, found)),
        blr::Statement::Store { relation, body, .. } => {
            if let blr::RelationName::Name(name) = &relation.name {
                let mut fields = Vec::new();
                assigned_fields(body, &mut fields);
                found.push((name.clone(), fields));
            }
        }
        blr::Statement::For { body, .. }
        | blr::Statement::Send { body, .. }
        | blr::Statement::Receive { body, .. }
        | blr::Statement::Loop(body)
        | blr::Statement::Label(_, body) => stored_tables(body, found),
        _ => {}
    }
}

fn assigned_fields(statement: &blr::Statement, found: &mut Vec<String>) {
    match statement {
        blr::Statement::Block(statements) => statements.iter().for_each(|one| assigned_fields(one, found)),
        blr::Statement::Assign { target: blr::Target::Field(field), .. } => {
            if let blr::FieldName::Name(name) = &field.name {
                found.push(name.clone());
            }
        }
        _ => {}
    }
}

/// What is not there, as warnings that gbak shows.
fn warnings(differences: &[(String, String)]) -> Option<Error> {
    let mut told =
        differences.iter().take(DIFFERENCES_TOLD).map(|(object, reason)| format!("{object}: {reason}"));
    for (object, reason) in differences {
        tracing::warn!(object, reason, "not restored as it was");
    }
    let first = told.next()?;
    let error = told.fold(Error::new(isc::RANDOM).with(first), |error, it| error.and(isc::RANDOM).with(it));
    let left = differences.len().saturating_sub(DIFFERENCES_TOLD);
    Some(match left {
        0 => error,
        left => error.and(isc::RANDOM).with(format!("{left} more differences: see the log of the server")),
    })
}
