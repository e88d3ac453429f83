//! Rows of a table by columns: a scan in row order with the conditions that stand over it.
//!
//! The columns that a condition looks at are decoded for thousands of rows at a time and the condition is computed on
//! them; the other columns are decoded for whoever asks for them, of the rows that are left. Where computing by columns
//! fails, or does not pay, conditions are evaluated row by row.

use std::sync::Arc;

use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{Access, Filter, Node, RowSet, TableScan};
use farbird_record::{ColumnValues, ColumnVector};
use farbird_store::{BlockColumns, ColumnBatch, RecordCounter, RelationScan};
use farbird_types::{Error, Result, SqlType, Value};
use farbird_vector::truth::{FALSE, TRUE, rows_that_are_open, rows_that_are_true};
use farbird_vector::{Column, Failed, Nulls, Operand, Vectors};
use parking_lot::Mutex;

use crate::batch::row_number;
use crate::column_rows::ColumnRows;
use crate::key_filter::KeyFilter;
use crate::measured::ScanMeasure;
use crate::named_rows::NamedRows;
use crate::stage::{Stage, Stretch, is_for_any_thread};
use crate::vector::{ColumnKind, Possible, Program, Rows};

/// Fewer rows are gone through one by one: compiling would cost more.
pub(crate) const COLUMN_ROWS_MIN: usize = 64;
/// Most rows of a batch.
pub(crate) const COLUMN_ROWS_MAX: usize = 8_192;
/// Of a batch of which fewer rows than one in so many are left, these are decoded by themselves.
const SCATTERED_ROWS: usize = 32;
/// Most values of a batch of which all columns may be decoded.
const COLUMN_VALUES_MAX: usize = 1 << 18;

/// A thread takes stretches of about so many row blocks, or rows.
const STRETCH_BLOCKS: u64 = 24;
const STRETCH_ROWS: u64 = 32_768;
/// So many blocks that are passed over take as long as one that is read.
const SKIPPED_BLOCKS: u64 = 8;
/// How many row numbers that is, at first and in any case.
const STRETCH_NUMBERS_FIRST: u64 = 8_192;
const STRETCH_NUMBERS_MIN: u64 = 256;
const STRETCH_NUMBERS_MAX: u64 = 1 << 24;
/// A part of a stretch is handed on when it has so many rows, or so many have been looked at for it.
const PART_ROWS: usize = 1_024;
const LOOKED_AT_MAX: usize = 4 * COLUMN_ROWS_MAX;

/// So many rows that are named: they are in as many blocks, if they lie far from each other.
const STRETCH_NAMED: usize = 256;

/// Of named rows fewer than one in so many are looked at row by row: picking one out of a block costs as much as decoding so many.
const SPARSE_ROWS: usize = 10;

/// Reads a table.
pub(crate) struct ColumnSource {
    scan: Arc<TableScan>,
    /// The type of each column, and its kind.
    types: Vec<SqlType>,
    kinds: Vec<ColumnKind>,
    /// The innermost first.
    filters: Vec<ColumnFilter>,
    /// Behind the filters, or before them if those cannot fail: columns whose values must be among the keys of joins; for this
    /// opening, and for the next one.
    restrictions: Vec<(usize, Arc<KeyFilter>)>,
    next_restrictions: Vec<(usize, Arc<KeyFilter>)>,
    place: Option<Box<RelationScan>>,
    /// The rows that indexes name, if only those are read.
    named: Option<NamedRows>,
    batch: ColumnBatch,
    selection: Vec<u32>,
    /// What the row behind the selected ones failed with.
    error: Option<Error>,
    /// Where is noted what it does, if somebody wants to know.
    measure: Option<Box<ScanMeasure>>,
}

/// A scan that several sources share: each takes stretches of the table out of it, and reads those by itself.
struct SharedScan {
    /// What nobody has taken yet.
    rest: Box<RelationScan>,
    /// Of the rows that indexes name, if only those are read.
    named: Option<NamedRows>,
    /// How many stretches there have been.
    stretches: u64,
    /// How many row numbers the next one has, more or less.
    numbers: u64,
}

/// A source of one of several threads, which share the scan.
pub(crate) struct ScanStage {
    source: ColumnSource,
    wanted: Vec<bool>,
    shared: Arc<Mutex<SharedScan>>,
    own: Option<OwnStretch>,
}

/// The stretch that a source reads, which has its place.
struct OwnStretch {
    number: u64,
    /// So many row numbers were asked for.
    numbers: u64,
    /// How many of its rows have been looked at.
    rows: u64,
}

/// A condition on the rows.
#[derive(Clone)]
struct ColumnFilter {
    filter: Arc<Filter>,
    /// What it is computed by, since the source was opened.
    compiled: Option<CompiledFilter>,
}

/// The conjuncts of a condition.
#[derive(Clone)]
struct CompiledFilter {
    /// Computed by columns.
    programs: Vec<Program>,
    /// Evaluated row by row after them: volatile, or about the row's number.
    rest: Vec<Expression>,
    /// Whether it fails on no row, whatever stands there.
    cannot_fail: bool,
}

impl ColumnSource {
    /// The source for a plan; `None` if it is not a table in row order, all of it or what indexes name, with or without filters.
    pub(crate) fn of(node: &Node) -> Option<ColumnSource> {
        match node {
            Node::Table(scan) if matches!(scan.access, Access::Natural | Access::Rows(_)) => {
                let types = column_types(scan);
                Some(ColumnSource {
                    kinds: types.iter().map(ColumnKind::of_type).collect(),
                    types,
                    scan: scan.clone(),
                    filters: Vec::new(),
                    restrictions: Vec::new(),
                    next_restrictions: Vec::new(),
                    place: None,
                    named: None,
                    batch: ColumnBatch::new(),
                    selection: Vec::new(),
                    error: None,
                    measure: None,
                })
            }
            Node::Filter(filter) => {
                let mut source = ColumnSource::of(&filter.input)?;
                source.filters.push(ColumnFilter { filter: filter.clone(), compiled: None });
                Some(source)
            }
            _ => None,
        }
    }

    /// What reads the rest of the table for several threads; `None` if what stands over it is for one only. Nothing is read
    /// here any more then.
    pub(crate) fn stage(&mut self, wanted: &[bool], context: &mut ExecutionContext<'_>) -> Option<ScanStage> {
        let is_blob = |sql_type: &SqlType| matches!(sql_type, SqlType::Blob { .. } | SqlType::Array);
        let conditions = self.filters.iter().map(|filter| &filter.filter.condition);
        if !conditions.clone().all(is_for_any_thread)
            || conditions.clone().any(Expression::is_volatile)
            || self.types.iter().any(is_blob)
        {
            return None;
        }
        for filter in &mut self.filters {
            let compiled = CompiledFilter::of(&filter.filter.condition, &self.kinds, context);
            if !filter.compiled.insert(compiled).rest.is_empty() {
                return None;
            }
        }
        let (rest, named) = (self.place.take()?, self.named.take());
        let shared = SharedScan { rest, named, stretches: 0, numbers: STRETCH_NUMBERS_FIRST };
        Some(ScanStage {
            source: self.for_thread(),
            wanted: wanted.to_vec(),
            shared: Arc::new(Mutex::new(shared)),
            own: None,
        })
    }

    /// The same without a place: for whoever has one.
    fn for_thread(&self) -> ColumnSource {
        ColumnSource {
            scan: self.scan.clone(),
            types: self.types.clone(),
            kinds: self.kinds.clone(),
            filters: self.filters.clone(),
            restrictions: self.restrictions.clone(),
            next_restrictions: Vec::new(),
            place: None,
            named: None,
            batch: ColumnBatch::new(),
            selection: Vec::new(),
            error: None,
            measure: None,
        }
    }

    /// As [`crate::operator::Operator::restrict`].
    pub(crate) fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        if self.types.get(column).is_some_and(|sql_type| keys.is_about(sql_type)) {
            self.next_restrictions.push((column, Arc::clone(keys)));
        }
    }

    /// Values per row.
    pub(crate) fn width(&self) -> usize {
        self.scan.width + usize::from(self.scan.row_number)
    }

    /// Starts, or starts again.
    ///
    /// # Errors
    /// Those of reading indexes.
    pub(crate) fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let (layout, view) = (self.scan.layout.clone(), context.view.clone());
        self.place = Some(Box::new(RelationScan::new(layout, view, self.scan.columns.clone())));
        self.clear();
        self.error = None;
        self.restrictions = std::mem::take(&mut self.next_restrictions);
        for filter in &mut self.filters {
            filter.compiled = None;
        }
        let filters = self.filters.iter().map(|filter| &filter.filter);
        self.measure = ScanMeasure::open(&self.scan, filters, context);
        self.named = None;
        if let Access::Rows(set) = &self.scan.access {
            self.named = NamedRows::of(set, &self.scan, &self.restrictions, context)?;
            // The rows under those keys are all that there are: the join need not be asked for each of them.
            if let (RowSet::Keys(keyed), Some(_)) = (set, &self.named) {
                self.restrictions.retain(|(column, _)| *column != keyed.column);
            }
        }
        Ok(())
    }

    /// Goes to the next rows for which the conditions are true, among the next `rows_max`, and so on until there are
    /// some; false at the end.
    ///
    /// # Errors
    /// Those of the conditions, after the rows before them have been at hand; those of reading.
    pub(crate) fn next(&mut self, context: &mut ExecutionContext<'_>, rows_max: usize) -> Result<bool> {
        let most = self.rows_max();
        // Of a block only the rows that are named are read: one look at each is enough.
        let rows_max = if self.named.is_some() { most } else { rows_max.min(most) };
        loop {
            context.check_interrupt()?;
            self.clear();
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if !self.fill(rows_max, context)? {
                return Ok(false);
            }
            self.select(context)?;
            if !self.selection.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Has the next rows at hand, so many at most, and nothing selected of them: of blocks of which there may be some; false at the end.
    fn fill(&mut self, rows_max: usize, context: &mut ExecutionContext<'_>) -> Result<bool> {
        let Some(scan) = &mut self.place else { return Ok(false) };
        let transaction = context.transaction;
        let (filters, restrictions, named) = (&self.filters, &self.restrictions, &self.named);
        if let Some(named) = named {
            let Some(next) = named.next() else { return Ok(false) };
            scan.seek(next);
        }
        let mut skip = |columns: &BlockColumns<'_>| {
            let (first, last) = columns.row_ids();
            named.as_ref().is_some_and(|named| !named.has_any(first, last))
                || !may_select(filters, restrictions, columns)
        };
        if let Some(measure) = &mut self.measure {
            measure.begin();
        }
        let more = scan
            .next_columns_unless(&transaction.store, rows_max, &mut self.batch, &mut skip)
            .map_err(|error| transaction.status_of(error))?;
        if let Some(measure) = &mut self.measure {
            measure.scanned(self.batch.len(), scan.blocks());
        }
        Ok(more)
    }

    /// Whether it is known that no rows come behind those at hand.
    fn is_finished(&self) -> bool {
        match (&self.named, &self.place) {
            (Some(named), _) => named.next().is_none(),
            (None, place) => place.as_ref().is_none_or(|scan| scan.is_finished()),
        }
    }

    /// Most rows that are looked at at a time.
    fn rows_max(&self) -> usize {
        COLUMN_ROWS_MAX.min(COLUMN_VALUES_MAX / self.scan.width.max(1))
    }

    /// Forgets the rows at hand.
    pub(crate) fn clear(&mut self) {
        self.batch.clear();
        self.selection.clear();
    }

    /// The places of the rows at hand in the batch, ascending.
    pub(crate) fn selection(&self) -> &[u32] {
        &self.selection
    }

    /// Decodes the rows at hand and lets go of everything else: between two calls nothing is held.
    pub(crate) fn detach(&mut self) -> Result<()> {
        Ok(self.batch.detach()?)
    }

    /// How many rows were looked at for those at hand.
    pub(crate) fn looked_at(&self) -> usize {
        self.batch.len()
    }

    /// Gives the rows at hand away, from a place in the selection on, in exchange for memory.
    pub(crate) fn hand_over(&mut self, from: usize, rows: &mut ColumnRows) -> Result<()> {
        self.detach()?;
        self.selection.drain(..from);
        rows.exchange(&mut self.batch, &mut self.selection);
        self.clear();
        Ok(())
    }

    /// Appends some of the rows at hand, whole, row after row: those at a range of places in the selection.
    pub(crate) fn read(&mut self, range: std::ops::Range<usize>, out: &mut Vec<Value>) -> Result<()> {
        let places = self.selection.get(range).unwrap_or_default();
        read_rows(&mut self.batch, &self.scan, places, out)
    }

    /// The rows at hand, of those columns that are wanted, and nothing is at hand any more.
    pub(crate) fn take(&mut self, wanted: &[bool]) -> Result<Vectors> {
        let is_wanted = |position: usize| wanted.get(position).is_some_and(|wanted| *wanted);
        let rows = self.selection.len();
        let mut columns = vec![None; self.width()];
        if rows < self.batch.len() / SCATTERED_ROWS {
            let mut values = Vec::new();
            read_rows(&mut self.batch, &self.scan, &self.selection, &mut values)?;
            for (position, column) in
                columns.iter_mut().enumerate().filter(|(position, _)| is_wanted(*position))
            {
                let mut vector = ColumnVector::default();
                let sql_type = self.types.get(position).unwrap_or(&SqlType::BIGINT);
                for value in values
                    .iter_mut()
                    .skip(position)
                    .step_by(self.scan.width + usize::from(self.scan.row_number))
                {
                    let pushed = vector.push(sql_type, std::mem::take(value));
                    pushed.map_err(|_| Error::internal("a value that is not of its column's type"))?;
                }
                *column = Some(exchanged(&vector, sql_type, None));
            }
        } else {
            self.batch.load((0..self.scan.width).filter(|position| is_wanted(*position)))?;
            let places = (rows < self.batch.len()).then_some(self.selection.as_slice());
            for (position, column) in
                columns.iter_mut().enumerate().filter(|(position, _)| is_wanted(*position))
            {
                if let Some(texts) = self.batch.texts(position) {
                    let value = |row: usize| texts.value(row).cloned().unwrap_or_default();
                    *column = Some(Column::Values(match places {
                        None => (0..rows).map(value).collect(),
                        Some(places) => places.iter().map(|place| value(*place as usize)).collect(),
                    }));
                } else if let (Some(vector), Some(sql_type)) =
                    (self.batch.column(position), self.batch.column_type(position))
                {
                    *column = Some(exchanged(vector, sql_type, places));
                }
            }
        }
        if let Some(numbers) = columns.get_mut(self.scan.width)
            && is_wanted(self.scan.width)
        {
            let ids = self.batch.row_ids();
            let number = |place: &u32| ids.get(*place as usize).map_or(Value::Null, |row| row_number(*row));
            *numbers = Some(Column::of_values(self.selection.iter().map(number).collect()));
        }
        self.clear();
        Ok(Vectors::new(rows, columns))
    }

    /// Selects the rows for which the conditions are true, up to the first for which one of them fails.
    fn select(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.selection = match &mut self.named {
            Some(named) => named.places(&self.batch.row_ids()),
            None => (0..self.batch.len() as u32).collect(),
        };
        let counter = if self.named.is_some() { RecordCounter::IdxReads } else { RecordCounter::SeqReads };
        let tally = context.transaction.store.tally();
        tally.add(self.scan.layout.id, counter, self.selection.len() as u64);
        if let Some(measure) = &mut self.measure {
            measure.picked(self.selection.len());
        }
        // Looking a number up is cheaper than a condition, but a row without a partner may be one on which a condition fails. Who
        // measures wants to know what the conditions leave.
        let keys_first = self.measure.is_none()
            && !self.restrictions.is_empty()
            && self.filters.iter().all(ColumnFilter::cannot_fail);
        if keys_first {
            self.leave_out_lonely()?;
        }
        for (number, filter) in self.filters.iter_mut().enumerate() {
            if self.selection.is_empty() {
                break;
            }
            let condition = &filter.filter.condition;
            // Few rows of many are worth no decoding of columns.
            let is_sparse = match self.named {
                Some(_) => self.selection.len() < self.batch.len() / SPARSE_ROWS,
                None => keys_first && self.selection.len() < self.batch.len() / SCATTERED_ROWS,
            };
            if filter.compiled.is_none() && !is_sparse && self.batch.len() >= COLUMN_ROWS_MIN {
                filter.compiled = Some(CompiledFilter::of(condition, &self.kinds, context));
            }
            let by_columns = match &filter.compiled {
                Some(compiled) if !is_sparse => {
                    compiled.select(&mut self.batch, &self.scan, &self.selection, context)?
                }
                _ => Err(Failed),
            };
            let selected = match by_columns {
                Ok(selected) => selected,
                Err(Failed) => {
                    select_by_rows(condition, &mut self.batch, &self.scan, &self.selection, context)?
                }
            };
            self.selection = selected.places;
            if let Some(measure) = &mut self.measure {
                measure.filtered(number, self.selection.len());
            }
            // A condition that is tried later looks only at rows before the one that failed.
            if selected.error.is_some() {
                self.error = selected.error;
            }
        }
        if !keys_first {
            self.leave_out_lonely()?;
        }
        Ok(())
    }

    /// Of the selected rows, leaves out those without a partner.
    fn leave_out_lonely(&mut self) -> Result<()> {
        let selected = self.selection.len();
        for (column, keys) in &self.restrictions {
            if self.selection.is_empty() {
                break;
            }
            self.batch.load([*column])?;
            let Some(vector) = self.batch.column(*column) else { continue };
            let ColumnValues::Numbers(numbers) = vector.values() else { continue };
            let nulls = vector.nulls();
            let may_have = |place: &u32| {
                let place = *place as usize;
                numbers.get(place).is_some_and(|number| keys.may_have(*number)) && !nulls.is_null(place)
            };
            self.selection.retain(may_have);
        }
        if let Some(measure) = &mut self.measure {
            measure.without_partner(selected - self.selection.len());
        }
        Ok(())
    }
}

impl ColumnFilter {
    /// Whether it is known to fail on no row.
    fn cannot_fail(&self) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.cannot_fail)
    }
}

impl ScanStage {
    /// Takes the next stretch that nobody has taken; `None` at the end.
    fn take_stretch(&mut self, context: &ExecutionContext<'_>) -> Option<Result<()>> {
        let mut shared = self.shared.lock();
        let number = shared.stretches;
        let numbers = shared.numbers;
        let taken = if let Some(named) = &mut shared.named {
            self.source.named = Some(named.split_off(STRETCH_NAMED)?);
            Ok(RelationScan::clone(&shared.rest))
        } else if shared.rest.is_finished() {
            return None;
        } else {
            let transaction = context.transaction;
            let taken = shared.rest.split_off(&transaction.store, numbers);
            taken.map_err(|error| transaction.status_of(error))
        };
        shared.stretches += 1;
        self.own = Some(OwnStretch { number, numbers, rows: 0 });
        Some(taken.map(|scan| self.source.place = Some(Box::new(scan))))
    }

    /// Tells the others what is known behind a stretch that has been read.
    fn finish_stretch(&mut self) {
        let (Some(own), Some(read)) = (self.own.take(), self.source.place.take()) else { return };
        if self.source.named.take().is_some() {
            return;
        }
        let blocks = read.blocks();
        // A block that is passed over takes a fraction of the time.
        let blocks = blocks.read + blocks.skipped / SKIPPED_BLOCKS;
        let times = (STRETCH_BLOCKS / blocks.max(1)).min(STRETCH_ROWS / own.rows.max(1));
        let mut shared = self.shared.lock();
        shared.rest.pass(read.next_row());
        shared.numbers = match times {
            0 => own.numbers / 2,
            1 => own.numbers,
            _ => own.numbers.saturating_mul(2),
        }
        .clamp(STRETCH_NUMBERS_MIN, STRETCH_NUMBERS_MAX);
    }

    /// Appends the next rows of the stretch for which the conditions are true; false at its end.
    fn read(&mut self, part: &mut Stretch, context: &mut ExecutionContext<'_>) -> Result<bool> {
        context.check_interrupt()?;
        let rows_max = self.source.rows_max().min(COLUMN_ROWS_MAX.saturating_sub(part.rows.len()));
        let more = self.source.fill(rows_max, context)?;
        if more {
            part.looked_at += self.source.batch.len();
            self.source.select(context)?;
            if !self.source.selection().is_empty() {
                part.rows.append(self.source.take(&self.wanted)?);
            }
        }
        Ok(more && !self.source.is_finished())
    }
}

impl Stage for ScanStage {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<Stretch> {
        let begun = match self.own {
            Some(_) => Ok(()),
            None => self.take_stretch(context)?,
        };
        let own = self.own.as_ref()?;
        let mut part = Stretch { number: own.number, error: begun.err(), ..Stretch::default() };
        let mut is_going_on = true;
        while is_going_on
            && part.error.is_none()
            && part.rows.len() < PART_ROWS
            && part.looked_at < LOOKED_AT_MAX
        {
            self.source.clear();
            match self.read(&mut part, context) {
                Ok(more) => is_going_on = more,
                Err(error) => part.error = Some(error),
            }
            // What the row behind the selected ones failed with.
            part.error = part.error.take().or(self.source.error.take());
        }
        self.source.clear();
        if let Some(own) = &mut self.own {
            own.rows += part.looked_at as u64;
        }
        if !is_going_on || part.error.is_some() {
            part.is_last = true;
            self.finish_stretch();
        }
        Some(part)
    }

    fn another(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(ScanStage {
            source: self.source.for_thread(),
            wanted: self.wanted.clone(),
            shared: Arc::clone(&self.shared),
            own: None,
        }))
    }
}

/// A column of a table, or some places of it, for another operator.
fn exchanged(vector: &ColumnVector, sql_type: &SqlType, places: Option<&[u32]>) -> Column<'static> {
    fn picked<T: Copy + Default>(values: &[T], places: Option<&[u32]>) -> Vec<T> {
        match places {
            None => values.to_vec(),
            Some(places) => {
                places.iter().map(|place| values.get(*place as usize).copied().unwrap_or_default()).collect()
            }
        }
    }
    let nulls = || Nulls::of_bits(vector.nulls(), places);
    match (vector.values(), ColumnKind::of_type(sql_type)) {
        (ColumnValues::Numbers(numbers), ColumnKind::Numbers(unit)) => {
            Column::Numbers(Operand::many(picked(numbers, places), nulls()), unit)
        }
        (ColumnValues::Numbers(numbers), ColumnKind::Truths) => {
            let flags = Operand::many(picked(numbers, places), nulls());
            let rows = places.map_or(numbers.len(), <[u32]>::len);
            Column::Truths(flags.test(Operand::one(Some(0)), rows, |flag: i64, zero: i64| flag != zero))
        }
        (ColumnValues::Doubles(doubles), ColumnKind::Doubles) => {
            Column::Doubles(Operand::many(picked(doubles, places), nulls()))
        }
        (ColumnValues::Doubles(doubles), ColumnKind::Floats) => {
            Column::Floats(Operand::many(picked(doubles, places), nulls()))
        }
        _ => {
            let value = |place: usize| vector.value(place, sql_type).unwrap_or_default();
            Column::Values(match places {
                None => (0..vector.len()).map(value).collect(),
                Some(places) => places.iter().map(|place| value(*place as usize)).collect(),
            })
        }
    }
}

/// Whether filters, the innermost first, and joins' keys may select a row of a block, or a filter may fail on one.
fn may_select(
    filters: &[ColumnFilter],
    restrictions: &[(usize, Arc<KeyFilter>)],
    columns: &BlockColumns<'_>,
) -> bool {
    let is_fallible = |filter: &ColumnFilter| match &filter.compiled {
        None => true,
        Some(compiled) => {
            !compiled.rest.is_empty()
                || compiled.programs.iter().any(|program| program.possible(columns).fails)
        }
    };
    // Where a filter could fail it is evaluated.
    if !restrictions.is_empty() && !filters.iter().any(is_fallible) {
        let has_none = |(column, keys): &(usize, Arc<KeyFilter>)| {
            let Some(bounds) = columns.bounds(*column) else { return false };
            bounds.numbers.is_none_or(|(low, high)| !keys.may_have_between(low, high))
        };
        if restrictions.iter().any(has_none) {
            return false;
        }
    }
    for filter in filters {
        let Some(compiled) = &filter.compiled else { return true };
        let mut possible = Possible::TRUE;
        for program in &compiled.programs {
            possible = possible.and(|| program.possible(columns));
        }
        if !compiled.rest.is_empty() {
            possible = possible.and(|| Possible::ANYTHING);
        }
        if possible.fails {
            return true;
        }
        if !possible.is_true {
            return false;
        }
    }
    true
}

/// The places of the rows for which a condition is true.
struct Selected {
    places: Vec<u32>,
    /// What the condition failed with, if it did; the rows behind that one have not been looked at.
    error: Option<Error>,
}

impl CompiledFilter {
    fn of(
        condition: &Expression,
        kinds: &[ColumnKind],
        context: &mut ExecutionContext<'_>,
    ) -> CompiledFilter {
        let mut conjuncts = Vec::new();
        condition.clone().into_conjuncts(&mut conjuncts);
        let mut compiled = CompiledFilter { programs: Vec::new(), rest: Vec::new(), cannot_fail: false };
        for conjunct in conjuncts {
            // What comes behind a volatile part is not computed before it.
            let program = match compiled.rest.is_empty() {
                true => Program::condition(&conjunct, kinds, context),
                false => None,
            };
            match program {
                Some(program) => compiled.programs.push(program),
                None => compiled.rest.push(conjunct),
            }
        }
        compiled.cannot_fail = compiled.rest.is_empty() && compiled.programs.iter().all(Program::cannot_fail);
        compiled
    }

    /// The places, among some, of the rows for which the condition is true.
    fn select(
        &self,
        batch: &mut ColumnBatch,
        scan: &TableScan,
        among: &[u32],
        context: &mut ExecutionContext<'_>,
    ) -> Result<std::result::Result<Selected, Failed>> {
        // As of the conjuncts so far. One that is unknown does not keep the next ones from failing.
        let mut truths = vec![TRUE; among.len()];
        let mut open: Vec<u32> = (0..among.len() as u32).collect();
        for (number, program) in self.programs.iter().enumerate() {
            if number > 0 {
                open = rows_that_are_open(&truths, FALSE);
            }
            if open.is_empty() {
                return Ok(Ok(Selected { places: Vec::new(), error: None }));
            }
            batch.load(program.columns().iter().copied())?;
            let places = pick(among, &open);
            let found = match program.truths(&Rows::at(batch, &places), context) {
                Ok(found) => found,
                Err(Failed) => return Ok(Err(Failed)),
            };
            if open.len() == truths.len() && number == 0 {
                truths = found;
                continue;
            }
            for (place, found) in open.iter().zip(found) {
                if let Some(truth) = truths.get_mut(*place as usize) {
                    *truth &= found;
                }
            }
        }
        let mut error = None;
        if !self.rest.is_empty() {
            let open = rows_that_are_open(&truths, FALSE);
            let mut rows = Vec::new();
            read_rows(batch, scan, &pick(among, &open), &mut rows)?;
            let width = scan.width + usize::from(scan.row_number);
            for (index, place) in open.iter().enumerate() {
                context.check_interrupt()?;
                let row = rows.get(index * width..(index + 1) * width).unwrap_or_default();
                match all_hold(&self.rest, row, context) {
                    Ok(true) => {}
                    Ok(false) => {
                        if let Some(truth) = truths.get_mut(*place as usize) {
                            *truth = FALSE;
                        }
                    }
                    Err(failure) => {
                        truths.truncate(*place as usize);
                        error = Some(failure);
                        break;
                    }
                }
            }
        }
        Ok(Ok(Selected { places: pick(among, &rows_that_are_true(&truths)), error }))
    }
}

/// Whether all conditions are true, evaluated up to the first that is false.
fn all_hold(conditions: &[Expression], row: &[Value], context: &mut ExecutionContext<'_>) -> Result<bool> {
    let mut all = true;
    for condition in conditions {
        match condition.truth(row, context)? {
            Some(true) => {}
            Some(false) => return Ok(false),
            None => all = false,
        }
    }
    Ok(all)
}

fn select_by_rows(
    condition: &Expression,
    batch: &mut ColumnBatch,
    scan: &TableScan,
    among: &[u32],
    context: &mut ExecutionContext<'_>,
) -> Result<Selected> {
    let mut rows = Vec::new();
    read_rows(batch, scan, among, &mut rows)?;
    let width = scan.width + usize::from(scan.row_number);
    let mut selected = Selected { places: Vec::new(), error: None };
    for (index, place) in among.iter().enumerate() {
        context.check_interrupt()?;
        let row = rows.get(index * width..(index + 1) * width).unwrap_or_default();
        match condition.truth(row, context) {
            Ok(Some(true)) => selected.places.push(*place),
            Ok(_) => {}
            Err(error) => {
                selected.error = Some(error);
                break;
            }
        }
    }
    Ok(selected)
}

/// Appends rows of a batch as the scan hands them out.
fn read_rows(batch: &mut ColumnBatch, scan: &TableScan, places: &[u32], out: &mut Vec<Value>) -> Result<()> {
    if !scan.row_number {
        return Ok(batch.read_rows(places, out)?);
    }
    let ids = batch.row_ids();
    let mut columns = Vec::with_capacity(places.len() * scan.width);
    batch.read_rows(places, &mut columns)?;
    let mut columns = columns.into_iter();
    for place in places {
        out.extend(columns.by_ref().take(scan.width));
        out.push(ids.get(*place as usize).map_or(Value::Null, |row| row_number(*row)));
    }
    Ok(())
}

/// The places at some places of a list.
fn pick(places: &[u32], at: &[u32]) -> Vec<u32> {
    at.iter().filter_map(|index| places.get(*index as usize)).copied().collect()
}

fn column_types(scan: &TableScan) -> Vec<SqlType> {
    let Some(format) = scan.layout.current_format() else { return Vec::new() };
    let slot = |position: usize| match scan.columns.slots() {
        None => Some(position),
        Some(slots) => slots.get(position).copied().map(usize::from),
    };
    (0..scan.width)
        .map(|position| slot(position).and_then(|slot| format.columns().get(slot)))
        .map(|sql_type| sql_type.copied().unwrap_or(SqlType::Null))
        .collect()
}
