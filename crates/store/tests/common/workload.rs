//! A random workload that does everything a store can do, with a model of what each commit leads to.

use std::collections::BTreeMap;
use std::sync::Arc;

use farbird_record::RecordFormat;
use farbird_sim::{Random, SimulatedDisk};
use farbird_store::log::LoggedSubstrate;
use farbird_store::{
    AmpleRoom, BlobOptions, CancelFlag, CodecId, IndexId, Projection, RelationId, RelationLayout,
    RelationScan, Result, RowBatch, RowId, SequenceId, Store, StoreOptions, Transaction,
};
use farbird_types::character_set::CharacterSet;
use farbird_types::{BlobId, SqlType, Value};
use parking_lot::Mutex;

use super::{NAME, NAME_DESCENDING, PRIMARY, SNAPSHOT, column_index, integer, options, text};

pub const SEQUENCE: SequenceId = SequenceId(1);
const SCHEMA_KEY: &[u8] = b"schema";
/// What rows written before the column EXTRA existed have in it.
const EXTRA_DEFAULT: i64 = 77;

/// What a database holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Model {
    pub schema: Schema,
    pub rows: BTreeMap<i64, ModelRow>,
    pub others: BTreeMap<i64, String>,
}

/// What DDL changes; stands in the catalog.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Schema {
    /// Whether T has its second format, with the column EXTRA.
    pub has_extra: bool,
    /// A fourth index on T.
    pub index: Option<u8>,
    /// A second relation.
    pub other: Option<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRow {
    pub name: String,
    pub note: Option<Note>,
    pub extra: Option<i64>,
}

/// Contents of a BLOB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    pub length: u32,
    pub seed: u8,
    /// Bytes per segment.
    pub segment: u32,
}

impl Note {
    pub fn random(random: &mut Random) -> Note {
        let length = match random.below(8) {
            0 => 0,
            1..=4 => random.below(3_000),
            5 | 6 => random.below(40_000),
            // Larger than what stays in memory.
            _ => 70_000 + random.below(60_000),
        };
        let segment = [1_000_000, 977, 16_000, 60_000][random.below(4) as usize];
        Note { length: length as u32, seed: random.below(250) as u8, segment }
    }

    /// Half of them can be compressed.
    pub fn contents(&self) -> Vec<u8> {
        let mut random = Random::new(u64::from(self.seed));
        match self.seed % 2 {
            0 => (0..self.length).map(|place| (place / 50) as u8 ^ self.seed).collect(),
            _ => (0..self.length).map(|_| random.number() as u8).collect(),
        }
    }

    fn write(&self, transaction: &Transaction) -> Result<BlobId> {
        let stream = self.seed.is_multiple_of(5);
        let mut writer = transaction.create_blob(BlobOptions { stream, ..BlobOptions::default() })?;
        for (number, segment) in self.contents().chunks(self.segment as usize).enumerate() {
            // Now and then of another length, so that lengths must be listed.
            let (first, rest) = segment.split_at(if number == 1 { segment.len() / 2 } else { 0 });
            for part in [first, rest].into_iter().filter(|part| !part.is_empty()) {
                writer.write_segment(transaction, part)?;
            }
        }
        writer.close(transaction)
    }
}

impl Schema {
    fn bytes(self) -> Vec<u8> {
        vec![u8::from(self.has_extra), self.index.map_or(0, |n| n + 1), self.other.map_or(0, |n| n + 1)]
    }

    pub fn read(store: &Store) -> Result<Schema> {
        let entries = store.catalog_entries()?;
        let entry = entries.iter().find(|(key, _)| key == SCHEMA_KEY);
        Ok(entry.map_or(Schema::default(), |(_, value)| Schema {
            has_extra: value[0] == 1,
            index: value[1].checked_sub(1),
            other: value[2].checked_sub(1),
        }))
    }

    /// The layouts of a schema; always the same values, since a store knows its layouts by identity.
    pub fn layouts(self) -> Vec<Arc<RelationLayout>> {
        static KNOWN: Mutex<BTreeMap<Schema, Vec<Arc<RelationLayout>>>> = Mutex::new(BTreeMap::new());
        let make = || std::iter::once(self.make_table()).chain(self.make_other()).collect();
        KNOWN.lock().entry(self).or_insert_with(make).clone()
    }

    pub fn table(self) -> Arc<RelationLayout> {
        Arc::clone(&self.layouts()[0])
    }

    pub fn other_table(self) -> Option<Arc<RelationLayout>> {
        self.layouts().get(1).cloned()
    }

    fn make_table(self) -> Arc<RelationLayout> {
        let mut columns = vec![
            SqlType::BIGINT,
            SqlType::varchar(100, CharacterSet::UTF8),
            SqlType::blob_text(CharacterSet::UTF8),
        ];
        let mut formats = vec![RecordFormat::new(columns.clone())];
        columns.push(SqlType::BIGINT);
        if self.has_extra {
            formats.push(RecordFormat::new(columns));
        }
        let mut indexes = vec![
            column_index(PRIMARY, 0, true, false),
            column_index(NAME, 1, false, false),
            column_index(NAME_DESCENDING, 1, false, true),
        ];
        indexes.extend(self.index.map(|n| column_index(IndexId(100 + u32::from(n)), 1, false, false)));
        Arc::new(RelationLayout {
            id: RelationId(128),
            current: formats.len() as u16 - 1,
            formats,
            added_defaults: vec![Value::Null, Value::Null, Value::Null, Value::integer(EXTRA_DEFAULT)],
            codec: None,
            temporary: None,
            indexes,
        })
    }

    fn make_other(self) -> Option<Arc<RelationLayout>> {
        let number = u32::from(self.other?);
        let columns = vec![
            SqlType::BIGINT,
            SqlType::varchar(100, CharacterSet::UTF8),
            SqlType::blob_text(CharacterSet::UTF8),
        ];
        Some(Arc::new(RelationLayout {
            id: RelationId(200 + number),
            formats: vec![RecordFormat::new(columns)],
            current: 0,
            added_defaults: Vec::new(),
            codec: None,
            temporary: None,
            indexes: vec![column_index(IndexId(1_000 + number), 0, true, false)],
        }))
    }

    pub fn register(self, store: &Store) {
        for layout in self.layouts() {
            store.register_layout(layout);
        }
    }
}

/// Little memory, so that transactions and BLOBs are spilled; a small log, so that it fills up.
pub fn open(disk: &SimulatedDisk) -> Result<Store> {
    let mut substrate = LoggedSubstrate::on_backend(disk.clone(), 1 << 20, 24 << 10)?;
    substrate.keep_leaves_small();
    Store::on_substrate(Arc::new(substrate), small_options())
}

pub fn small_options() -> StoreOptions {
    StoreOptions {
        cache_bytes: 1 << 20,
        write_set_bytes_max: 4_000,
        blob_bytes_max: 64 << 10,
        codec: CodecId::COLUMN,
        ..options()
    }
}

/// As [`open`], with the layouts that the catalog tells of.
pub fn open_with_layouts(disk: &SimulatedDisk) -> Result<Store> {
    let store = open(disk)?;
    Schema::read(&store)?.register(&store);
    Ok(store)
}

/// What was committed when, in changes of the disk.
#[derive(Debug, Clone, Default)]
pub struct Journal {
    commits: Vec<Commit>,
    /// Values that the sequence gave.
    values: Vec<(usize, i64)>,
}

#[derive(Debug, Clone)]
struct Commit {
    begun: usize,
    acknowledged: Option<usize>,
    model: Arc<Model>,
}

impl Journal {
    /// The models that a database may hold that was cut off after `point` changes: the first one if nothing more than
    /// what was acknowledged is there.
    pub fn possible(&self, point: usize) -> Vec<Arc<Model>> {
        let acknowledged =
            self.commits.iter().rposition(|commit| commit.acknowledged.is_some_and(|at| at <= point));
        let begun = self.commits.iter().filter(|commit| commit.begun < point).count();
        let first = acknowledged.map_or_else(Arc::default, |at| Arc::clone(&self.commits[at].model));
        let after = acknowledged.map_or(0, |at| at + 1);
        let later = self.commits.get(after..begun.max(after)).unwrap_or_default();
        std::iter::once(first).chain(later.iter().map(|commit| Arc::clone(&commit.model))).collect()
    }

    /// The greatest value that the sequence had given.
    pub fn greatest_value(&self, point: usize) -> i64 {
        self.values.iter().filter(|(at, _)| *at <= point).map(|(_, value)| *value).max().unwrap_or(0)
    }

    /// The model of all that was acknowledged.
    pub fn latest(&self) -> Arc<Model> {
        let latest = self.commits.iter().rfind(|commit| commit.acknowledged.is_some());
        latest.map_or_else(Arc::default, |commit| Arc::clone(&commit.model))
    }
}

/// A running workload.
pub struct Worker<'a> {
    pub disk: &'a SimulatedDisk,
    pub random: Random,
    pub model: Model,
    pub journal: Journal,
    next_id: i64,
    next_object: u8,
}

impl<'a> Worker<'a> {
    pub fn new(disk: &'a SimulatedDisk, seed: u64) -> Worker<'a> {
        let (model, journal) = (Model::default(), Journal::default());
        Worker { disk, random: Random::new(seed), model, journal, next_id: 1, next_object: 0 }
    }

    /// Goes on with what a database holds, after a fault.
    pub fn resume(&mut self, model: Model) {
        self.model = model;
    }

    /// Does so many rounds.
    pub fn run(&mut self, store: &Store, rounds: u64) -> Result<()> {
        for _ in 0..rounds {
            match self.random.below(10) {
                0 => self.define(store)?,
                1 => self.interleave(store)?,
                _ => {
                    let model = self.model.clone();
                    let transaction = begin(store)?;
                    let model = self.changes(&transaction, model)?;
                    self.finish(transaction, model)?;
                }
            }
            if self.random.once_in(3) {
                store.sweep(1 + self.random.below(4) as usize)?;
            }
            if self.random.once_in(3) {
                let value = store.sequence_next(SEQUENCE, 1)?;
                self.journal.values.push((self.disk.recorded(), value));
            }
        }
        Ok(())
    }

    /// A few changes of one transaction, now and then undone in part.
    fn changes(&mut self, transaction: &Transaction, mut model: Model) -> Result<Model> {
        for _ in 0..=self.random.below(4) {
            if self.random.once_in(4) {
                let savepoint = transaction.savepoint();
                let undone = self.change(transaction, model.clone())?;
                if self.random.once_in(2) {
                    transaction.rollback_to(savepoint)?;
                } else {
                    transaction.release(savepoint);
                    model = undone;
                }
            } else {
                model = self.change(transaction, model)?;
            }
        }
        Ok(model)
    }

    fn change(&mut self, transaction: &Transaction, mut model: Model) -> Result<Model> {
        let table = model.schema.table();
        let existing = self.random.below(model.rows.len().max(1) as u64) as usize;
        let existing = model.rows.keys().copied().nth(existing);
        match (self.random.below(8), existing) {
            (0 | 1, Some(id)) => {
                let view = transaction.view()?;
                let row_id = find(transaction, &table, id)?.expect("a row of the model");
                transaction.delete(&table, &view, row_id)?;
                model.rows.remove(&id);
            }
            (2 | 3, Some(id)) => {
                let (row, mut values) = self.new_row(transaction, &model, id)?;
                let view = transaction.view()?;
                let row_id = find(transaction, &table, id)?.expect("a row of the model");
                transaction.update(&table, &view, row_id, &mut values)?;
                model.rows.insert(id, row);
            }
            (4, Some(_)) => {
                // Many at once.
                let ids: Vec<i64> = model.rows.keys().copied().filter(|id| id % 3 == 0).take(60).collect();
                for id in ids {
                    let row = ModelRow { name: format!("changed {}", self.next_id), note: None, extra: None };
                    let view = transaction.view()?;
                    let row_id = find(transaction, &table, id)?.expect("a row of the model");
                    transaction.update(&table, &view, row_id, &mut values(transaction, &model, id, &row)?)?;
                    model.rows.insert(id, row);
                }
            }
            (5, _) if model.rows.len() < 300 => {
                for _ in 0..60 + self.random.below(90) {
                    let id = self.id();
                    let row = ModelRow { name: format!("one of many {id}"), note: None, extra: Some(id) };
                    let row = row.of(&model);
                    transaction.insert(&table, &mut values(transaction, &model, id, &row)?)?;
                    model.rows.insert(id, row);
                }
            }
            _ => {
                let id = self.id();
                let (row, mut values) = self.new_row(transaction, &model, id)?;
                transaction.insert(&table, &mut values)?;
                model.rows.insert(id, row);
                if let Some(other) = model.schema.other_table() {
                    let note = match values[2] {
                        Value::Blob(taken) if self.random.once_in(2) => taken,
                        _ => Note::random(&mut self.random).write(transaction)?,
                    };
                    let mut row = vec![Value::integer(id), Value::text("other"), Value::Blob(note)];
                    transaction.insert(&other, &mut row)?;
                    model.others.insert(id, "other".to_owned());
                }
            }
        }
        Ok(model)
    }

    fn id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id
    }

    /// A new row, without a BLOB, with one of its own, or with that of another row.
    fn new_row(
        &mut self,
        transaction: &Transaction,
        model: &Model,
        id: i64,
    ) -> Result<(ModelRow, Vec<Value>)> {
        let name = format!("name {}", self.random.below(1_000));
        let known: Vec<_> =
            model.rows.iter().filter_map(|(id, row)| row.note.map(|note| (*id, note))).collect();
        let other =
            self.random.once_in(3).then(|| known.get(self.random.below(known.len() as u64 + 1) as usize));
        let other = other.flatten().copied();
        let note = match other {
            Some((_, note)) => Some(note),
            None => self.random.once_in(2).then(|| Note::random(&mut self.random)),
        };
        let row = ModelRow { name, note, extra: Some(self.random.below(99) as i64) }.of(model);
        let mut values = match other {
            None => values(transaction, model, id, &row)?,
            Some(_) => values(transaction, model, id, &ModelRow { note: None, ..row.clone() })?,
        };
        if let Some((other, _)) = other {
            values[2] = note_value(transaction, &model.schema.table(), other)?;
        }
        Ok((row, values))
    }

    fn finish(&mut self, transaction: Transaction, model: Model) -> Result<()> {
        match self.random.below(5) {
            0 => transaction.rollback(),
            1 => {
                let begun = self.disk.recorded();
                self.journal.commits.push(Commit {
                    begun,
                    acknowledged: None,
                    model: Arc::new(model.clone()),
                });
                transaction.commit_retaining()?;
                self.acknowledge(model);
                transaction.rollback()
            }
            _ => self.commit(transaction, model),
        }
    }

    fn commit(&mut self, transaction: Transaction, model: Model) -> Result<()> {
        let begun = self.disk.recorded();
        self.journal.commits.push(Commit { begun, acknowledged: None, model: Arc::new(model.clone()) });
        let (store, old, new) = (transaction.store().clone(), self.model.schema, model.schema);
        transaction.commit_with(move |_| {
            if old != new {
                if let Some(dropped) = old.other_table().filter(|_| new.other != old.other) {
                    store.unregister_layout(dropped.id);
                }
                new.register(&store);
            }
        })?;
        self.acknowledge(model);
        Ok(())
    }

    fn acknowledge(&mut self, model: Model) {
        if let Some(commit) = self.journal.commits.last_mut() {
            commit.acknowledged = Some(self.disk.recorded());
        }
        self.model = model;
    }

    /// DDL, committed or rolled back.
    fn define(&mut self, store: &Store) -> Result<()> {
        let transaction = begin(store)?;
        let mut model = self.model.clone();
        let old = model.schema;
        match self.random.below(3) {
            0 if !old.has_extra => {
                model.schema.has_extra = true;
                for row in model.rows.values_mut() {
                    row.extra = Some(EXTRA_DEFAULT);
                }
            }
            0 | 1 => match old.index {
                Some(number) => {
                    transaction.drop_index(IndexId(100 + u32::from(number)))?;
                    model.schema.index = None;
                }
                None => {
                    self.next_object += 1;
                    model.schema.index = Some(self.next_object);
                    let index = IndexId(100 + u32::from(self.next_object));
                    transaction.note_own_layout(RelationId(128))?;
                    transaction.build_index(&model.schema.table(), index, &AmpleRoom)?;
                }
            },
            _ => match (old.other, old.other_table()) {
                (Some(number), Some(layout)) => {
                    transaction.drop_relation(&layout)?;
                    transaction.drop_index(IndexId(1_000 + u32::from(number)))?;
                    model.schema.other = None;
                    model.others.clear();
                }
                _ => {
                    self.next_object += 1;
                    model.schema.other = Some(self.next_object);
                }
            },
        }
        transaction.catalog_put(SCHEMA_KEY, &model.schema.bytes())?;
        if self.random.once_in(4) { transaction.rollback() } else { self.commit(transaction, model) }
    }

    /// A transaction that has spilled rows while others commit.
    fn interleave(&mut self, store: &Store) -> Result<()> {
        let long = begin(store)?;
        let schema = self.model.schema;
        let mut inserted = BTreeMap::new();
        for _ in 0..80 {
            let id = self.id();
            let row = ModelRow { name: format!("long {id}"), note: None, extra: Some(1) }.of(&self.model);
            long.insert(&schema.table(), &mut values(&long, &self.model, id, &row)?)?;
            inserted.insert(id, row);
        }
        for _ in 0..2 {
            let transaction = begin(store)?;
            let model = self.changes(&transaction, self.model.clone())?;
            self.commit(transaction, model)?;
            store.sweep(2)?;
        }
        let mut model = self.model.clone();
        model.rows.extend(inserted);
        if self.random.once_in(3) { long.rollback() } else { self.commit(long, model) }
    }
}

impl ModelRow {
    /// As the schema keeps it.
    fn of(self, model: &Model) -> ModelRow {
        ModelRow { extra: self.extra.filter(|_| model.schema.has_extra), ..self }
    }
}

pub fn begin(store: &Store) -> Result<Transaction> {
    store.begin(SNAPSHOT, CancelFlag::new())
}

fn values(transaction: &Transaction, model: &Model, id: i64, row: &ModelRow) -> Result<Vec<Value>> {
    let note = row.note.map(|note| note.write(transaction)).transpose()?;
    let mut values = vec![Value::integer(id), Value::text(&row.name), note.map_or(Value::Null, Value::Blob)];
    if model.schema.has_extra {
        values.push(row.extra.map_or(Value::Null, Value::integer));
    }
    Ok(values)
}

/// The BLOB of a row that is there.
fn note_value(transaction: &Transaction, layout: &Arc<RelationLayout>, id: i64) -> Result<Value> {
    let row_id = find(transaction, layout, id)?.expect("a row of the model");
    let row = transaction.read_row(layout, &transaction.view()?, row_id, &Projection::of([2]))?;
    Ok(row.expect("a row that was found").remove(0))
}

fn find(transaction: &Transaction, layout: &Arc<RelationLayout>, id: i64) -> Result<Option<RowId>> {
    let mut scan = RelationScan::new(Arc::clone(layout), transaction.view()?, Projection::of([0]));
    let mut batch = RowBatch::new();
    while scan.next_batch(transaction, 100, &mut batch)? {
        for index in 0..batch.len() {
            if batch.value(index, 0) == Value::integer(id) {
                return Ok(Some(batch.row_id(index)));
            }
        }
    }
    Ok(None)
}

/// All that a database holds, read like anybody would.
pub fn contents(store: &Store) -> Result<Model> {
    let schema = Schema::read(store)?;
    let transaction = begin(store)?;
    let mut model = Model { schema, ..Model::default() };
    let table = schema.table();
    let mut scan = RelationScan::new(Arc::clone(&table), transaction.view()?, Projection::all());
    let mut batch = RowBatch::new();
    while scan.next_batch(&transaction, 100, &mut batch)? {
        for index in 0..batch.len() {
            let row = batch.take_row(index);
            let note = note_of(&transaction, &row[2])?;
            let extra = row.get(3).filter(|value| !value.is_null()).map(integer);
            model.rows.insert(integer(&row[0]), ModelRow { name: text(&row[1]), note, extra });
        }
    }
    assert_eq!(transaction.count_rows(&table, &transaction.view()?)?, model.rows.len() as u64);
    if let Some(other) = schema.other_table() {
        let mut scan = RelationScan::new(other, transaction.view()?, Projection::all());
        while scan.next_batch(&transaction, 100, &mut batch)? {
            for index in 0..batch.len() {
                let row = batch.take_row(index);
                note_of(&transaction, &row[2])?;
                model.others.insert(integer(&row[0]), text(&row[1]));
            }
        }
    }
    Ok(model)
}

/// A BLOB, whose contents must be those of some note: its length and first bytes say which.
fn note_of(transaction: &Transaction, value: &Value) -> Result<Option<Note>> {
    let Value::Blob(id) = value else { return Ok(None) };
    let mut reader = transaction.open_blob(*id)?;
    let properties = reader.properties();
    let bytes = reader.read_all(transaction, 1 << 20)?;
    assert_eq!(properties.bytes, bytes.len() as u64);
    Ok(Some(NOTES.with(|notes| notes.borrow_mut().identify(&bytes))))
}

thread_local! {
    static NOTES: std::cell::RefCell<Notes> = std::cell::RefCell::default();
}

/// Notes by what they begin with.
#[derive(Default)]
struct Notes(Vec<(u8, Vec<u8>)>);

impl Notes {
    fn identify(&mut self, bytes: &[u8]) -> Note {
        if self.0.is_empty() {
            let longest = |seed| Note { length: 130_000, seed, segment: 0 };
            self.0 = (0..250).map(|seed| (seed, longest(seed).contents())).collect();
        }
        let seed = self.0.iter().find(|(_, contents)| contents.starts_with(bytes)).map(|(seed, _)| *seed);
        let seed = seed.expect("contents that nobody has written");
        Note { length: bytes.len() as u32, seed, segment: 0 }
    }
}

/// Equal but for what cannot be told of a BLOB: in which segments it was written and, of a short one, by which seed.
pub fn is_same(found: &Model, expected: &Model) -> bool {
    let same_note = |found: &Option<Note>, expected: &Option<Note>| match (found, expected) {
        (None, None) => true,
        (Some(found), Some(expected)) => {
            found.length == expected.length && (found.seed == expected.seed || found.length < 60)
        }
        _ => false,
    };
    found.schema == expected.schema
        && found.others == expected.others
        && found.rows.len() == expected.rows.len()
        && found.rows.iter().zip(&expected.rows).all(|((id, row), (expected_id, expected))| {
            id == expected_id
                && row.name == expected.name
                && row.extra == expected.extra
                && same_note(&row.note, &expected.note)
        })
}
