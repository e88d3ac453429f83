//! The groups of an aggregation in memory, found by the keys of rows or of columns.
//!
//! They are charged to the statement: when it has no room for another group its rows are for others to sort.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use farbird_budget::{Reservation, row_bytes};
use farbird_expression::{ExecutionContext, evaluate_all};
use farbird_function::Accumulator;
use farbird_plan::{Aggregate, AggregateCall};
use farbird_session::Interrupt;
use farbird_types::key::KeyPart;
use farbird_types::{Collation, Error, Result, Value, compare};
use farbird_vector::truth::TRUE;
use farbird_vector::{Column, Selection};

use crate::blob_keys::BlobKeys;
use crate::distinct_set::DistinctSet;
use crate::ordering::sort_by;
use crate::sort::append_key;

/// What an accumulator takes, more or less. Those that keep texts charge them themselves.
const ACCUMULATOR_BYTES: usize = 96;
/// What an entry of the tables of groups takes beside its key: the tables are half full, and there is room to sort.
const ENTRY_BYTES: usize = 160;
/// Up to so many groups rows are told apart by counting them, above by sorting.
const COUNTED_GROUPS_MAX: usize = 4_096;
/// Of a row whose group has no place in memory.
const NO_GROUP: u32 = u32::MAX;

/// One group.
pub(crate) struct Group {
    keys: Vec<Value>,
    calls: Vec<RunningCall>,
    /// What the first of its rows that failed failed with: its row in the result is not one but that error, which comes
    /// behind the groups before.
    error: Option<Error>,
}

/// One aggregate of one group.
pub(crate) struct RunningCall {
    accumulator: Box<dyn Accumulator>,
    /// Arguments seen, for DISTINCT.
    seen: Option<DistinctSet>,
    /// Whether new arguments may wait for [`RunningCall::finish`].
    may_wait: bool,
}

impl RunningCall {
    /// A call whose result may be asked for at any time.
    pub(crate) fn start(call: &AggregateCall) -> RunningCall {
        RunningCall {
            accumulator: (call.function.start)(&call.argument_types, &call.result),
            seen: call.distinct.then(DistinctSet::default),
            may_wait: false,
        }
    }

    /// A call that is finished before anybody asks for its result.
    fn start_in_group(call: &AggregateCall) -> RunningCall {
        RunningCall { may_wait: true, ..RunningCall::start(call) }
    }

    /// Takes a row.
    pub(crate) fn add(
        &mut self,
        call: &AggregateCall,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        if let Some(filter) = &call.filter
            && filter.truth(row, context)? != Some(true)
        {
            return Ok(());
        }
        let arguments = evaluate_all(&call.arguments, row, context)?;
        self.add_arguments(call, &arguments, context)
    }

    /// Takes a row whose arguments are computed already.
    pub(crate) fn add_arguments(
        &mut self,
        call: &AggregateCall,
        arguments: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        if let Some(seen) = &mut self.seen {
            let mut key = Vec::new();
            for (argument, argument_type) in arguments.iter().zip(&call.argument_types).take(1) {
                let collation = farbird_catalog::layout::collation_of(&argument_type.sql_type);
                compare::equality_key(argument, collation, &mut key);
            }
            if !seen.insert(key, arguments, self.may_wait, context)? {
                return Ok(());
            }
        }
        self.accumulator.add(context, arguments)
    }

    /// Takes some rows of columns.
    fn add_columns(
        &mut self,
        call: &AggregateCall,
        columns: &CallColumns<'_>,
        places: Selection<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        let filtered = columns.filter.as_ref().map(|truths| {
            let mut list = Vec::new();
            places.for_each(|place| {
                if truths.get(place) == Some(&TRUE) {
                    list.push(place as u32);
                }
            });
            list
        });
        let places = filtered.as_deref().map_or(places, Selection::Listed);
        if self.seen.is_none() {
            return self.accumulator.add_columns(context, &columns.arguments, places);
        }
        let mut result = Ok(());
        places.for_each(|place| {
            if result.is_ok() {
                result = context.check_interrupt();
            }
            if result.is_ok() {
                let arguments: Result<Vec<Value>> =
                    columns.arguments.iter().map(|argument| argument.value(place)).collect();
                result = arguments.and_then(|arguments| self.add_arguments(call, &arguments, context));
            }
        });
        result
    }

    pub(crate) fn result(&self, context: &mut ExecutionContext<'_>) -> Result<Value> {
        self.accumulator.result(context)
    }

    /// Adds what has waited, and gives the result.
    fn finish(mut self, context: &mut ExecutionContext<'_>) -> Result<Value> {
        if let Some(seen) = self.seen.take()
            && let Some(mut later) = seen.into_later(context)?
        {
            while let Some((_, arguments)) = later.next(&context.session.interrupt)? {
                if !arguments.is_empty() {
                    self.accumulator.add(context, &arguments)?;
                }
            }
        }
        self.result(context)
    }
}

impl Group {
    pub(crate) fn start(aggregate: &Aggregate, keys: Vec<Value>) -> Group {
        let calls = aggregate.calls.iter().map(RunningCall::start_in_group).collect();
        Group { keys, calls, error: None }
    }

    /// Takes a row.
    pub(crate) fn add(
        &mut self,
        aggregate: &Aggregate,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        for (running, call) in self.calls.iter_mut().zip(&aggregate.calls) {
            running.add(call, row, context)?;
        }
        Ok(())
    }

    /// Takes rows of columns.
    fn add_columns(
        &mut self,
        aggregate: &Aggregate,
        columns: &[CallColumns<'_>],
        places: Selection<'_>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        for ((running, call), columns) in self.calls.iter_mut().zip(&aggregate.calls).zip(columns) {
            running.add_columns(call, columns, places, context)?;
        }
        Ok(())
    }

    /// Takes rows by `add`, if none has failed yet.
    fn add_unless_failed(&mut self, add: impl FnOnce(&mut Group) -> Result<()>) {
        if self.error.is_none() {
            self.error = add(self).err();
        }
    }

    /// The group's row: keys and results.
    ///
    /// # Errors
    /// Those of its rows and results.
    pub(crate) fn finish(self, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut row = self.keys;
        for call in self.calls {
            row.push(call.finish(context)?);
        }
        Ok(row)
    }
}

/// What a call looks at, computed for rows of a batch.
pub(crate) struct CallColumns<'a> {
    pub(crate) arguments: Vec<Column<'a>>,
    /// FILTER.
    pub(crate) filter: Option<Vec<u8>>,
}

/// Groups by key.
pub(crate) struct GroupTable {
    aggregate: Arc<Aggregate>,
    groups: Vec<Group>,
    /// By the bytes that order the groups.
    by_order: HashMap<Vec<u8>, u32>,
    /// By the keys as columns have them. Several may lead to one group: texts that differ in case only.
    by_number: HashMap<i64, u32, FoldedState>,
    by_bytes: HashMap<Vec<u8>, u32, FoldedState>,
    memory: Reservation,
    blobs: BlobKeys,
}

impl GroupTable {
    /// No groups; without keys the one group that there always is. All are charged to a reservation.
    pub(crate) fn new(aggregate: &Arc<Aggregate>, memory: Reservation) -> GroupTable {
        let state = FoldedState::new();
        let mut table = GroupTable {
            aggregate: aggregate.clone(),
            groups: Vec::new(),
            by_order: HashMap::new(),
            by_number: HashMap::with_hasher(state),
            by_bytes: HashMap::with_hasher(state),
            memory,
            blobs: BlobKeys::default(),
        };
        if aggregate.keys.is_empty() {
            table.find(&[], Vec::new);
        }
        table
    }

    /// The group of a key; a new one takes the key's values. `None` if there is no place for it.
    fn find(&mut self, order: &[u8], keys: impl FnOnce() -> Vec<Value>) -> Option<u32> {
        if let Some(group) = self.by_order.get(order) {
            return Some(*group);
        }
        let group = u32::try_from(self.groups.len()).ok().filter(|group| *group != NO_GROUP)?;
        let keys = keys();
        let bytes = ENTRY_BYTES
            + 2 * (size_of::<Group>() + order.len())
            + row_bytes(&keys)
            + self.aggregate.calls.len() * (size_of::<RunningCall>() + ACCUMULATOR_BYTES);
        // One group fits anywhere.
        if !self.memory.try_grow(bytes) && group > 0 {
            return None;
        }
        self.groups.push(Group::start(&self.aggregate, keys));
        self.by_order.insert(order.to_vec(), group);
        Some(group)
    }

    /// Takes a row with its keys, as values and as the bytes that order them; false if there is no place for its group.
    ///
    /// # Errors
    /// Those of the row if there are no keys; with keys the group fails when it is finished.
    pub(crate) fn add_row(
        &mut self,
        keys: Vec<Value>,
        order: &[u8],
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<bool> {
        let Some(group) = self.find(order, || keys) else { return Ok(false) };
        match self.groups.get_mut(group as usize) {
            Some(group) if self.aggregate.keys.is_empty() => group.add(&self.aggregate, row, context)?,
            Some(group) => group.add_unless_failed(|group| group.add(&self.aggregate, row, context)),
            None => {}
        }
        Ok(true)
    }

    /// Takes rows of columns; gives the places of those whose groups have no place.
    ///
    /// # Errors
    /// As [`GroupTable::add_row`].
    pub(crate) fn add_columns(
        &mut self,
        rows: usize,
        keys: &[Column<'_>],
        calls: &[CallColumns<'_>],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<u32>> {
        let aggregate = self.aggregate.clone();
        if keys.is_empty() {
            if let Some(group) = self.groups.first_mut() {
                group.add_columns(&aggregate, calls, Selection::All(rows), context)?;
            }
            return Ok(Vec::new());
        }
        let numbers = self.numbers_of(rows, keys, context)?;
        let mut left = Vec::new();
        for (number, places) in told_apart(&numbers, self.groups.len()) {
            let Some(group) = self.groups.get_mut(number as usize) else {
                left = places;
                continue;
            };
            group.add_unless_failed(|group| {
                group.add_columns(&aggregate, calls, Selection::Listed(&places), context)
            });
        }
        Ok(left)
    }

    /// The group of each row.
    fn numbers_of(
        &mut self,
        rows: usize,
        keys: &[Column<'_>],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<u32>> {
        let mut numbers = Vec::with_capacity(rows);
        if let [Column::Numbers(column, _)] = keys {
            let mut null_group = None;
            // Rows of one group often follow each other.
            let mut latest = None;
            for row in 0..rows {
                let number = match (column.get(row), latest) {
                    (Some(key), Some((latest_key, group))) if key == latest_key => group,
                    (Some(key), _) => {
                        let group = match self.by_number.get(&key) {
                            Some(group) => *group,
                            None => {
                                let group = self.find_values(keys, row, context)?;
                                if group != NO_GROUP {
                                    self.by_number.insert(key, group);
                                }
                                group
                            }
                        };
                        latest = Some((key, group));
                        group
                    }
                    (None, _) => match null_group {
                        Some(group) => group,
                        None => {
                            let group = self.find_values(keys, row, context)?;
                            null_group = Some(group);
                            group
                        }
                    },
                };
                numbers.push(number);
            }
            return Ok(numbers);
        }
        let mut bytes = Vec::new();
        for row in 0..rows {
            bytes.clear();
            keys.iter().for_each(|key| append_representation(key, row, &mut bytes));
            let number = match self.by_bytes.get(&bytes) {
                Some(group) => *group,
                None => {
                    let group = self.find_values(keys, row, context)?;
                    // As many spellings as there are rows may lead to a few groups: those for which there is no memory are
                    // looked up by their order.
                    if group != NO_GROUP && self.memory.try_grow(bytes.len() + ENTRY_BYTES) {
                        self.by_bytes.insert(bytes.clone(), group);
                    }
                    group
                }
            };
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// The group of a row of columns.
    fn find_values(
        &mut self,
        keys: &[Column<'_>],
        row: usize,
        context: &mut ExecutionContext<'_>,
    ) -> Result<u32> {
        let values: Vec<Value> = keys.iter().map(|key| key.value(row)).collect::<Result<_>>()?;
        let (values, order) = self.key(values.into_iter(), context)?;
        Ok(self.find(&order, || values).unwrap_or(NO_GROUP))
    }

    /// What the groups are charged to, for whoever has them next.
    pub(crate) fn take_memory(&mut self) -> Reservation {
        let none = self.memory.budget().reserve();
        std::mem::replace(&mut self.memory, none)
    }

    /// The keys of a row, as values and as bytes that order them.
    ///
    /// # Errors
    /// Those of the values and of reading BLOBs.
    pub(crate) fn keys_of(
        &mut self,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<(Vec<Value>, Vec<u8>)> {
        let aggregate = self.aggregate.clone();
        let mut values = Vec::with_capacity(aggregate.keys.len());
        for key in &aggregate.keys {
            values.push(key.value.evaluate(row, context)?);
        }
        self.key(values.into_iter(), context)
    }

    fn key(
        &mut self,
        values: impl Iterator<Item = Value>,
        context: &mut ExecutionContext<'_>,
    ) -> Result<(Vec<Value>, Vec<u8>)> {
        let mut keys = Vec::with_capacity(self.aggregate.keys.len());
        let mut order = Vec::new();
        for (value, key) in values.zip(&self.aggregate.keys) {
            let value = self.blobs.key_of(value, key.collation, context)?;
            append_key(&value, &ordered_by(key.collation), &mut order)?;
            keys.push(value);
        }
        Ok((keys, order))
    }

    /// The groups in the order of their keys, with the bytes that order them.
    ///
    /// # Errors
    /// The interrupt's.
    pub(crate) fn into_ordered(self, interrupt: &Interrupt) -> Result<Vec<(Vec<u8>, Group)>> {
        let mut groups: Vec<Option<(Vec<u8>, Group)>> = Vec::new();
        groups.resize_with(self.groups.len(), || None);
        let mut keys: Vec<Vec<u8>> = vec![Vec::new(); self.groups.len()];
        for (key, number) in self.by_order {
            if let Some(place) = keys.get_mut(number as usize) {
                *place = key;
            }
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        sort_by(&mut order, |left, right| keys.get(*left).cmp(&keys.get(*right)), interrupt)?;
        for ((place, key), group) in groups.iter_mut().zip(keys).zip(self.groups) {
            *place = Some((key, group));
        }
        Ok(order.into_iter().filter_map(|number| groups.get_mut(number)?.take()).collect())
    }
}

/// The order of a key.
pub(crate) fn ordered_by(collation: Collation) -> KeyPart {
    KeyPart { collation, ..KeyPart::default() }
}

/// The places of the rows of each group, by a number for each row; those without a group last.
fn told_apart(numbers: &[u32], groups: usize) -> Vec<(u32, Vec<u32>)> {
    if groups > COUNTED_GROUPS_MAX {
        let mut pairs: Vec<(u32, u32)> = numbers.iter().copied().zip(0..).collect();
        pairs.sort_unstable();
        return pairs
            .chunk_by(|left, right| left.0 == right.0)
            .filter_map(|rows| Some((rows.first()?.0, rows.iter().map(|(_, place)| *place).collect())))
            .collect();
    }
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); groups + 1];
    for (place, number) in numbers.iter().enumerate() {
        if let Some(list) = lists.get_mut((*number as usize).min(groups)) {
            list.push(place as u32);
        }
    }
    (0..).zip(lists).filter(|(_, list)| !list.is_empty()).collect()
}

/// Appends bytes that only equal values of a column have.
fn append_representation(column: &Column<'_>, row: usize, out: &mut Vec<u8>) {
    match column {
        Column::Numbers(numbers, _) => match numbers.get(row) {
            None => out.push(0),
            Some(number) => {
                out.push(1);
                out.extend(number.to_le_bytes());
            }
        },
        Column::Doubles(doubles) | Column::Floats(doubles) => match doubles.get(row) {
            None => out.push(0),
            Some(double) => {
                out.push(1);
                out.extend(double.to_bits().to_le_bytes());
            }
        },
        Column::Truths(truths) => out.push(truths.get(row).copied().unwrap_or_default()),
        Column::Values(values) => match values.get(row) {
            Some(Value::Text(text)) => {
                out.push(1);
                out.extend((text.bytes().len() as u64).to_le_bytes());
                out.extend_from_slice(text.bytes());
            }
            Some(value) => compare::equality_key(value, Collation(0), out),
            None => out.push(0),
        },
    }
}

/// A quick hash with a seed of its own for each table, so that nobody can prepare keys that collide.
#[derive(Debug, Clone, Copy)]
struct FoldedState {
    seed: u64,
}

impl FoldedState {
    fn new() -> FoldedState {
        FoldedState { seed: RandomState::new().hash_one(0u8) | 1 }
    }
}

impl BuildHasher for FoldedState {
    type Hasher = FoldedHasher;

    fn build_hasher(&self) -> FoldedHasher {
        FoldedHasher { seed: self.seed, state: self.seed }
    }
}

/// Multiplies to 128 bits and folds both halves together.
struct FoldedHasher {
    seed: u64,
    state: u64,
}

impl FoldedHasher {
    fn fold(&mut self, word: u64) {
        /// Any odd number with bits all over.
        const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(self.state ^ word) * u128::from(self.seed.wrapping_mul(FACTOR) | 1);
        self.state = (product as u64) ^ ((product >> 64) as u64);
    }
}

impl Hasher for FoldedHasher {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word.iter_mut().zip(chunk).for_each(|(place, byte)| *place = *byte);
            self.fold(u64::from_le_bytes(word));
        }
    }

    fn write_i64(&mut self, number: i64) {
        self.fold(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.fold(number as u64);
    }

    fn finish(&self) -> u64 {
        self.state
    }
}
