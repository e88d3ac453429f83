//! The groups of an aggregation in memory, found by the keys of rows or of columns.
//!
//! They are charged to the statement: when it has no room for another group its rows are for others to sort.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use farbird_budget::{Reservation, heap_bytes};
use farbird_expression::{ExecutionContext, evaluate_all};
use farbird_function::{Accumulator, GroupedAccumulator, GroupedRows};
use farbird_plan::{Aggregate, AggregateCall};
use farbird_session::Interrupt;
use farbird_types::key::KeyPart;
use farbird_types::{Collation, Error, Result, Value, compare};
use farbird_vector::truth::TRUE;
use farbird_vector::{Column, Operand, Selection, Unit};

use crate::blob_keys::BlobKeys;
use crate::distinct_set::DistinctSet;
use crate::folded_hash::FoldedState;
use crate::keyed_rows::KeyedRows;
use crate::number_groups::{AmongNumbers, NumberGroups};
use crate::rows_in_memory::RowsInMemory;
use crate::sort_keys::append_key;

/// What an accumulator takes, more or less. Those that keep texts charge them themselves.
const ACCUMULATOR_BYTES: usize = 96;
/// What an entry of the tables of groups takes beside its key: the tables are half full, and there is room to sort.
const ENTRY_BYTES: usize = 160;
/// What a number takes in the bytes that order groups.
const NUMBER_ORDER_BYTES: usize = 12;
/// Up to so many groups rows are told apart by counting them, above by sorting.
const COUNTED_GROUPS_MAX: usize = 4_096;
/// Of a row whose group has no place in memory.
const NO_GROUP: u32 = u32::MAX;

/// One group by itself.
pub(crate) struct Group {
    keys: Vec<Value>,
    calls: Vec<RunningCall>,
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
        if let Some(seen) = &mut self.seen
            && !seen.insert(call, arguments, self.may_wait, context)?
        {
            return Ok(());
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
        let filtered = columns.filtered(places);
        let places = filtered.as_deref().map_or(places, Selection::Listed);
        let Some(seen) = &mut self.seen else {
            return self.accumulator.add_columns(context, &columns.arguments, places);
        };
        let mut taken = 0;
        if let Some(Column::Numbers(numbers, unit)) = columns.arguments.first() {
            let mut new = Vec::new();
            taken = seen.insert_numbers(numbers, *unit, places, self.may_wait, context, &mut new)?;
            self.accumulator.add_columns(context, &columns.arguments, Selection::Listed(&new))?;
        }
        let mut result = Ok(());
        places.for_each(|place| {
            if taken > 0 {
                taken -= 1;
                return;
            }
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
        Group { keys, calls }
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

    /// The group's row: keys and results.
    ///
    /// # Errors
    /// Those of its rows and results.
    pub(crate) fn finish(self, context: &mut ExecutionContext<'_>) -> Result<Vec<Value>> {
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
    count: u32,
    /// The groups' keys, while they have one that came as plain numbers of one unit: none of what follows is there then.
    numbers: Option<NumberGroups>,
    /// The keys of each group, one behind the other.
    keys: Vec<Value>,
    calls: Vec<Calls>,
    /// What the first row that failed of a group failed with: its row in the result is not one but that error, which
    /// comes behind the groups before.
    errors: HashMap<u32, Error>,
    /// By the bytes that order the groups. None while all keys came as numbers of the same units, which say by themselves
    /// which group is theirs.
    by_order: Option<HashMap<Vec<u8>, u32>>,
    units: Vec<Unit>,
    /// By the keys as columns have them. Several may lead to one group: texts that differ in case only.
    by_bytes: HashMap<Vec<u8>, u32, FoldedState>,
    memory: Reservation,
    /// Whether a group had no place.
    is_full: bool,
    blobs: BlobKeys,
}

/// One aggregate of all groups.
enum Calls {
    /// Side by side.
    Grouped(Box<dyn GroupedAccumulator>),
    /// Each by itself: with DISTINCT, without keys, and where the function knows no better.
    Single(Vec<Option<RunningCall>>),
}

impl Calls {
    fn of(call: &AggregateCall, has_keys: bool) -> Calls {
        match call.function.start_grouped.filter(|_| has_keys && !call.distinct) {
            Some(start) => Calls::Grouped(start(&call.argument_types, &call.result)),
            None => Calls::Single(Vec::new()),
        }
    }

    fn push(&mut self, call: &AggregateCall) {
        match self {
            Calls::Grouped(accumulators) => accumulators.push(),
            Calls::Single(calls) => calls.push(Some(RunningCall::start_in_group(call))),
        }
    }

    fn group_bytes(&self) -> usize {
        match self {
            Calls::Grouped(accumulators) => accumulators.group_bytes(),
            Calls::Single(_) => 2 * size_of::<Option<RunningCall>>() + ACCUMULATOR_BYTES,
        }
    }

    /// Takes a row.
    fn add(
        &mut self,
        call: &AggregateCall,
        group: u32,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<()> {
        match self {
            Calls::Single(calls) => match calls.get_mut(group as usize) {
                Some(Some(running)) => running.add(call, row, context),
                _ => Ok(()),
            },
            Calls::Grouped(accumulators) => {
                if let Some(filter) = &call.filter
                    && filter.truth(row, context)? != Some(true)
                {
                    return Ok(());
                }
                let arguments = evaluate_all(&call.arguments, row, context)?;
                accumulators.add(group, context, &arguments)
            }
        }
    }

    /// The result of a group; asked for once.
    fn finish(&mut self, group: u32, context: &mut ExecutionContext<'_>) -> Result<Value> {
        match self {
            Calls::Grouped(accumulators) => accumulators.result(group, context),
            Calls::Single(calls) => match calls.get_mut(group as usize).and_then(Option::take) {
                Some(running) => running.finish(context),
                None => Err(Error::internal("a group that has been finished before")),
            },
        }
    }
}

impl GroupTable {
    /// No groups; without keys the one group that there always is. All are charged to a reservation.
    pub(crate) fn new(aggregate: &Arc<Aggregate>, memory: Reservation) -> GroupTable {
        let has_keys = !aggregate.keys.is_empty();
        let mut table = GroupTable {
            count: 0,
            numbers: None,
            keys: Vec::new(),
            calls: aggregate.calls.iter().map(|call| Calls::of(call, has_keys)).collect(),
            errors: HashMap::new(),
            by_order: None,
            units: Vec::new(),
            by_bytes: HashMap::with_hasher(FoldedState::new()),
            memory,
            is_full: false,
            blobs: BlobKeys::default(),
            aggregate: aggregate.clone(),
        };
        if !has_keys {
            table.begin(Vec::new(), 0);
        }
        table
    }

    /// Begins a group, whose order takes so many bytes; `None` if there is no place for it.
    fn begin(&mut self, keys: Vec<Value>, order_bytes: usize) -> Option<u32> {
        let group = self.begin_with(
            ENTRY_BYTES
                + 2 * order_bytes
                + 2 * size_of_val(keys.as_slice())
                + keys.iter().map(heap_bytes).sum::<usize>(),
        )?;
        self.keys.extend(keys);
        Some(group)
    }

    /// Begins a group, whose key takes so many bytes; `None` if there is no place for it.
    fn begin_with(&mut self, key_bytes: usize) -> Option<u32> {
        let group = Some(self.count).filter(|group| *group != NO_GROUP)?;
        let bytes = key_bytes + self.calls.iter().map(Calls::group_bytes).sum::<usize>();
        // One group fits anywhere. Once one had no place no other gets one: its first rows may be elsewhere.
        self.is_full |= !self.memory.try_grow_to_share(bytes) && group > 0;
        if self.is_full {
            return None;
        }
        for (calls, call) in self.calls.iter_mut().zip(&self.aggregate.calls) {
            calls.push(call);
        }
        self.count += 1;
        Some(group)
    }

    /// The group of a number, or of NULL, where all keys are numbers; `None` if there is no place for it.
    fn find_number(&mut self, key: Option<i64>) -> Option<u32> {
        let numbers = self.numbers.as_ref()?;
        if let Some(group) = numbers.find(key) {
            return Some(group);
        }
        let room = numbers.room();
        let group = self.begin_with(room)?;
        self.numbers.as_mut()?.push(key);
        Some(group)
    }

    /// Makes of groups by numbers such by values: for keys of another kind.
    ///
    /// # Errors
    /// `virmemexh` without memory for them.
    fn leave_numbers(&mut self) -> Result<()> {
        let Some(numbers) = self.numbers.take() else { return Ok(()) };
        let bytes = ENTRY_BYTES + 2 * (NUMBER_ORDER_BYTES + size_of::<Value>());
        self.memory.grow(self.count as usize * bytes)?;
        self.keys = (0..self.count).map(|group| numbers.value(group)).collect();
        Ok(())
    }

    /// The group of a key; a new one takes the key's values. `None` if there is no place for it.
    fn find(&mut self, order: &[u8], keys: Vec<Value>) -> Result<Option<u32>> {
        if let (Some(numbers), [key]) = (&self.numbers, keys.as_slice()) {
            match numbers.number_of(key) {
                AmongNumbers::Key(key) => return Ok(self.find_number(key)),
                AmongNumbers::Other => {
                    self.refuse_others();
                    return Ok(None);
                }
                AmongNumbers::Unknown => {}
            }
        }
        if let Some(group) = self.by_order()?.get(order) {
            return Ok(Some(*group));
        }
        let group = self.begin(keys, order.len());
        if let (Some(group), Some(by_order)) = (group, &mut self.by_order) {
            by_order.insert(order.to_vec(), group);
        }
        Ok(group)
    }

    /// The groups by what orders them.
    fn by_order(&mut self) -> Result<&HashMap<Vec<u8>, u32>> {
        self.leave_numbers()?;
        if self.by_order.is_none() {
            let mut by_order = HashMap::with_capacity(self.count as usize);
            for group in 0..self.count {
                let mut order = Vec::new();
                self.append_order(group, &mut order)?;
                by_order.insert(order, group);
            }
            self.by_order = Some(by_order);
        }
        Ok(self.by_order.get_or_insert_default())
    }

    fn keys_of_group(&self, group: u32) -> &[Value] {
        let width = self.aggregate.keys.len();
        self.keys.get(group as usize * width..(group as usize + 1) * width).unwrap_or_default()
    }

    fn append_order(&self, group: u32, order: &mut Vec<u8>) -> Result<()> {
        for (value, key) in self.keys_of_group(group).iter().zip(&self.aggregate.keys) {
            append_key(value, &ordered_by(key.collation), order)?;
        }
        Ok(())
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
        let group = match self.aggregate.keys.is_empty() {
            true => 0,
            false => match self.find(order, keys)? {
                Some(group) => group,
                None => return Ok(false),
            },
        };
        if self.errors.contains_key(&group) {
            return Ok(true);
        }
        let mut add = || -> Result<()> {
            for (calls, call) in self.calls.iter_mut().zip(&self.aggregate.calls) {
                calls.add(call, group, row, context)?;
            }
            Ok(())
        };
        match add() {
            Err(error) if self.aggregate.keys.is_empty() => return Err(error),
            Err(error) => {
                self.errors.insert(group, error);
            }
            Ok(()) => {}
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
            for ((running, call), columns) in self.calls.iter_mut().zip(&aggregate.calls).zip(calls) {
                if let Calls::Single(groups) = running
                    && let Some(Some(running)) = groups.first_mut()
                {
                    running.add_columns(call, columns, Selection::All(rows), context)?;
                }
            }
            return Ok(Vec::new());
        }
        let numbers = self.numbers_of(rows, keys, context)?;
        let (with_group, left): (Vec<u32>, Vec<u32>) = match numbers.contains(&NO_GROUP) {
            false => (Vec::new(), Vec::new()),
            true => (0..rows as u32).partition(|row| numbers.get(*row as usize) != Some(&NO_GROUP)),
        };
        let places = if left.is_empty() { Selection::All(rows) } else { Selection::Listed(&with_group) };
        let mut told_apart = None;
        for ((running, call), columns) in self.calls.iter_mut().zip(&aggregate.calls).zip(calls) {
            let errors = &mut self.errors;
            match running {
                Calls::Grouped(accumulators) => {
                    let filtered = columns.filtered(places);
                    let places = filtered.as_deref().map_or(places, Selection::Listed);
                    let rows = GroupedRows { arguments: &columns.arguments, places, groups: &numbers };
                    accumulators.add_columns(context, &rows, &mut |group, error| {
                        errors.entry(group).or_insert(error);
                    });
                }
                Calls::Single(groups) => {
                    let by_group = told_apart.get_or_insert_with(|| by_group(&numbers, groups.len()));
                    for (group, places) in by_group.iter() {
                        let Some(Some(running)) = groups.get_mut(*group as usize) else { continue };
                        if !errors.contains_key(group)
                            && let Err(error) =
                                running.add_columns(call, columns, Selection::Listed(places), context)
                        {
                            errors.insert(*group, error);
                        }
                    }
                }
            }
        }
        // A statement that must stop fails as a whole.
        context.check_interrupt()?;
        Ok(left)
    }

    /// The group of each row.
    fn numbers_of(
        &mut self,
        rows: usize,
        keys: &[Column<'_>],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Vec<u32>> {
        if let [Column::Numbers(column, unit)] = keys
            && self.has_numbers(*unit)
        {
            return Ok(self.numbers_of_numbers(rows, column));
        }
        if let [column] = keys
            && let Some(numbers) = self.numbers_of_values(rows, column)?
        {
            return Ok(numbers);
        }
        let is_canonical = self.is_canonical(keys)?;
        let mut numbers = Vec::with_capacity(rows);
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(rows);
        representations(rows, keys, &mut bytes, &mut ends);
        let mut start = 0;
        for (row, end) in ends.into_iter().enumerate() {
            let bytes = bytes.get(start..end).unwrap_or_default();
            start = end;
            let number = match self.by_bytes.get(bytes) {
                Some(group) => *group,
                None => {
                    let group = self.find_values(keys, row, is_canonical, context)?;
                    // As many spellings as there are rows may lead to a few groups: those for which there is no memory are
                    // looked up by their order. Numbers have but one.
                    if group != NO_GROUP && (is_canonical || self.memory.try_grow(bytes.len() + ENTRY_BYTES))
                    {
                        self.by_bytes.insert(bytes.to_vec(), group);
                    }
                    group
                }
            };
            numbers.push(number);
        }
        Ok(numbers)
    }

    /// As [`GroupTable::numbers_of`] for one key of plain numbers.
    fn numbers_of_numbers(&mut self, rows: usize, column: &Operand<'_, i64>) -> Vec<u32> {
        // Rows of one group often follow each other.
        let mut latest = None;
        let number = |row| {
            let key = column.get(row);
            match latest {
                Some((latest_key, group)) if latest_key == key => group,
                _ => {
                    let group = self.find_number(key).unwrap_or(NO_GROUP);
                    latest = Some((key, group));
                    group
                }
            }
        };
        (0..rows).map(number).collect()
    }

    /// As [`GroupTable::numbers_of_numbers`] for values that are equal to such numbers, or to none of them; `None` if nobody can
    /// tell, or if the groups' keys are no numbers.
    fn numbers_of_values(&mut self, rows: usize, column: &Column<'_>) -> Result<Option<Vec<u32>>> {
        let mut found = Vec::with_capacity(rows);
        for row in 0..rows {
            let Some(numbers) = &self.numbers else { return Ok(None) };
            found.push(match numbers.number_of(&column.value(row)?) {
                AmongNumbers::Key(key) => self.find_number(key).unwrap_or(NO_GROUP),
                AmongNumbers::Other => self.refuse_others(),
                AmongNumbers::Unknown => return Ok(None),
            });
        }
        Ok(Some(found))
    }

    /// Of a key that no group has: none gets it, nor any other that has none.
    fn refuse_others(&mut self) -> u32 {
        self.is_full = true;
        NO_GROUP
    }

    /// Whether all groups have numbers of this unit for keys; if there are none yet, those to come.
    fn has_numbers(&mut self, unit: Unit) -> bool {
        if self.count == 0 && self.by_order.is_none() && self.numbers.is_none() {
            self.numbers = Some(NumberGroups::new(unit));
        }
        self.numbers.as_ref().is_some_and(|numbers| numbers.unit().narrowed() == unit.narrowed())
    }

    /// Whether keys are numbers of the same units as all before, so that what they are says which group is theirs.
    fn is_canonical(&mut self, keys: &[Column<'_>]) -> Result<bool> {
        let unit = |key: &Column<'_>| match key {
            Column::Numbers(_, unit) => Some(*unit),
            _ => None,
        };
        let Some(units) = keys.iter().map(unit).collect::<Option<Vec<Unit>>>() else {
            self.by_order()?;
            return Ok(false);
        };
        if self.units.is_empty() {
            self.units = units;
            return Ok(true);
        }
        if self.units != units {
            self.by_order()?;
            return Ok(false);
        }
        Ok(true)
    }

    /// The group of a row of columns.
    fn find_values(
        &mut self,
        keys: &[Column<'_>],
        row: usize,
        is_canonical: bool,
        context: &mut ExecutionContext<'_>,
    ) -> Result<u32> {
        let values: Vec<Value> = keys.iter().map(|key| key.value(row)).collect::<Result<_>>()?;
        if is_canonical && self.by_order.is_none() {
            let order_bytes = values.len() * NUMBER_ORDER_BYTES;
            return Ok(self.begin(values, order_bytes).unwrap_or(NO_GROUP));
        }
        let (values, order) = self.key(values.into_iter(), context)?;
        Ok(self.find(&order, values)?.unwrap_or(NO_GROUP))
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

    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// The groups in the order of their keys; so many threads may help.
    ///
    /// # Errors
    /// The interrupt's.
    pub(crate) fn into_ordered(mut self, helping: usize, interrupt: &Interrupt) -> Result<OrderedGroups> {
        let order = match &mut self.numbers {
            Some(numbers) => Order::Numbers(numbers.put_in_order(helping, interrupt)?.into_iter()),
            None => Order::Keys(self.order_of_keys(interrupt)?),
        };
        self.by_bytes = HashMap::with_hasher(FoldedState::new());
        let mut ordered = OrderedGroups { groups: self, order, head: None, key: Vec::new() };
        ordered.advance();
        Ok(ordered)
    }

    /// Whether a group ends in an error, which comes behind the groups before it.
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    /// The groups as they were begun.
    pub(crate) fn into_unordered(self) -> OrderedGroups {
        let order = Order::Begun(0..self.count);
        let mut begun = OrderedGroups { groups: self, order, head: None, key: Vec::new() };
        begun.advance();
        begun
    }

    fn order_of_keys(&mut self, interrupt: &Interrupt) -> Result<KeyedRows> {
        let mut order = KeyedRows::default();
        match self.by_order.take() {
            Some(by_order) => by_order.into_iter().for_each(|(key, group)| {
                order.push(&key, [Value::integer(i64::from(group))]);
            }),
            None => {
                let mut key = Vec::new();
                for group in 0..self.count {
                    key.clear();
                    self.append_order(group, &mut key)?;
                    order.push(&key, [Value::integer(i64::from(group))]);
                }
            }
        }
        order.sort(0, interrupt)?;
        Ok(order)
    }
}

/// Groups on their way out, mostly in the order of their keys.
pub(crate) struct OrderedGroups {
    groups: GroupTable,
    order: Order,
    /// The next group, and the bytes that order it, if they are known.
    head: Option<u32>,
    key: Vec<u8>,
}

/// The numbers of groups in the order of their keys.
enum Order {
    /// Of keys that are numbers.
    Numbers(std::vec::IntoIter<u32>),
    /// Behind the bytes that order each.
    Keys(KeyedRows),
    /// In any order: as they were begun.
    Begun(Range<u32>),
}

impl OrderedGroups {
    /// Whether there is no further group.
    pub(crate) fn is_at_end(&self) -> bool {
        self.head.is_none()
    }

    /// The bytes that order the next group; `None` at the end.
    ///
    /// # Errors
    /// Internal ones.
    pub(crate) fn next_key(&mut self) -> Result<Option<&[u8]>> {
        let Some(group) = self.head else { return Ok(None) };
        if let (Some(numbers), Some(key)) = (&self.groups.numbers, self.groups.aggregate.keys.first()) {
            self.key.clear();
            append_key(&numbers.value(group), &ordered_by(key.collation), &mut self.key)?;
        }
        Ok(Some(&self.key))
    }

    /// The row of the next group: keys and results.
    ///
    /// # Errors
    /// Those of its rows and results.
    pub(crate) fn next(&mut self, context: &mut ExecutionContext<'_>) -> Result<Option<Vec<Value>>> {
        let Some(group) = self.head else { return Ok(None) };
        self.advance();
        if let Some(error) = self.groups.errors.remove(&group) {
            return Err(error);
        }
        let width = self.groups.aggregate.keys.len();
        let mut row = Vec::with_capacity(width + self.groups.calls.len());
        match &self.groups.numbers {
            Some(numbers) => row.push(numbers.value(group)),
            None => {
                let keys = self.groups.keys.get_mut(group as usize * width..(group as usize + 1) * width);
                row.extend(keys.unwrap_or_default().iter_mut().map(std::mem::take));
            }
        }
        for calls in &mut self.groups.calls {
            row.push(calls.finish(group, context)?);
        }
        Ok(Some(row))
    }

    fn advance(&mut self) {
        self.head = match &mut self.order {
            Order::Numbers(order) => order.next(),
            Order::Begun(order) => order.next(),
            Order::Keys(order) => match order.next_with(&mut self.key) {
                Some([Value::Integer { unscaled, .. }]) => u32::try_from(*unscaled).ok(),
                _ => None,
            },
        };
    }
}

impl CallColumns<'_> {
    /// The rows, among some, that FILTER lets through; `None` without one.
    fn filtered(&self, places: Selection<'_>) -> Option<Vec<u32>> {
        let truths = self.filter.as_ref()?;
        let mut list = Vec::new();
        places.for_each(|place| {
            if truths.get(place) == Some(&TRUE) {
                list.push(place as u32);
            }
        });
        Some(list)
    }
}

/// The order of a key.
pub(crate) fn ordered_by(collation: Collation) -> KeyPart {
    KeyPart { collation, ..KeyPart::default() }
}

/// The places of the rows of each group, by a number for each row; those without a group last.
fn by_group(numbers: &[u32], groups: usize) -> Vec<(u32, Vec<u32>)> {
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

/// Appends for each row bytes that only equal keys have, and where they end.
fn representations(rows: usize, keys: &[Column<'_>], bytes: &mut Vec<u8>, ends: &mut Vec<usize>) {
    for row in 0..rows {
        keys.iter().for_each(|key| append_representation(key, row, bytes));
        ends.push(bytes.len());
    }
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
