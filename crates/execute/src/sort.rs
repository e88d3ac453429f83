//! ORDER BY and DISTINCT.
//!
//! Rows are kept by columns with keys that compare as they are ordered, and put together again when they are handed out. Of an
//! order of which only the first rows are asked for, only those are kept. What fits in one batch stays there.

use std::sync::Arc;

use farbird_expression::ExecutionContext;
use farbird_plan::{Distinct, Sort};
use farbird_types::Result;
use farbird_vector::Vectors;

use crate::batch::{BATCH_ROWS_MAX, Batch};
use crate::column_source::COLUMN_ROWS_MAX;
use crate::few_rows::FewRows;
use crate::in_order::{Prepared, for_each, for_each_prepared};
use crate::join_columns::bytes_of;
use crate::key_filter::KeyFilter;
use crate::keyed_columns::KeyedColumns;
use crate::operator::{Build, Operator};
use crate::sort_keys::{KeyBytes, SortKeys};
use crate::spill::{Sorted, Sorter};
use crate::told_texts::ToldTexts;

/// Orders rows.
pub(crate) struct SortOperator {
    sort: Arc<Sort>,
    sorting: Sorting,
    /// What it is told before it is opened.
    at_most: Option<usize>,
}

impl SortOperator {
    pub(crate) fn new(sort: &Arc<Sort>, build: Build) -> SortOperator {
        let keys = SortKeys::of_order(&sort.keys);
        let sorting = Sorting::new(build(&sort.input), sort.input.width(), keys, false);
        SortOperator { sorting, at_most: None, sort: sort.clone() }
    }
}

impl Operator for SortOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.sorting.rows_max = self.at_most.take().unwrap_or(usize::MAX);
        self.sorting.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        self.sorting.next(context, batch)
    }

    fn at_most(&mut self, rows: usize) {
        self.at_most = Some(rows);
    }

    fn skip(&mut self, context: &mut ExecutionContext<'_>, rows: usize) -> Result<usize> {
        self.sorting.skip(context, rows)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        if !self.sort.keys.iter().any(|key| key.value.is_volatile()) {
            self.sorting.input.restrict(column, keys);
        }
    }

    fn has_vectors(&self) -> bool {
        true
    }

    fn want(&mut self, columns: &[bool]) {
        self.sorting.want(columns);
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        self.sorting.next_vectors(context, rows_max, vectors)
    }
}

/// Drops repeated rows. They come out in the order of their values, as Firebird's do.
pub(crate) struct DistinctOperator {
    sorting: Sorting,
}

impl DistinctOperator {
    pub(crate) fn new(distinct: &Arc<Distinct>, build: Build) -> DistinctOperator {
        let keys = SortKeys::of_columns(&distinct.collations);
        DistinctOperator { sorting: Sorting::new(build(&distinct.input), distinct.input.width(), keys, true) }
    }
}

impl Operator for DistinctOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.sorting.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        self.sorting.next(context, batch)
    }

    fn has_vectors(&self) -> bool {
        true
    }

    fn want(&mut self, columns: &[bool]) {
        self.sorting.want(columns);
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        self.sorting.next_vectors(context, rows_max, vectors)
    }
}

/// An input whose rows are put in order, all of them before the first is handed out.
struct Sorting {
    input: Box<dyn Operator>,
    keys: SortKeys,
    /// Whether rows with equal keys come once.
    unique: bool,
    /// So many rows will be asked for at most.
    rows_max: usize,
    /// The columns that are looked at, those of the keys among them, and those of rows that are handed out.
    wanted: Vec<bool>,
    handed_out: Vec<bool>,
    /// The texts that are not kept, if rows are kept by columns.
    told: Option<ToldTexts>,
    rows: Ordered,
    filled: bool,
}

/// Rows in order.
enum Ordered {
    Few(FewRows),
    Many(Sorted<KeyedColumns>),
}

/// Rows with their keys.
struct WithKeys(Vectors, KeyBytes);

impl Prepared for WithKeys {
    fn size_bytes(&self) -> usize {
        bytes_of(&self.0) + self.1.size_bytes()
    }
}

impl Sorting {
    fn new(input: Box<dyn Operator>, width: usize, keys: SortKeys, unique: bool) -> Sorting {
        Sorting {
            input,
            keys,
            unique,
            rows_max: usize::MAX,
            wanted: vec![true; width],
            handed_out: vec![true; width],
            told: None,
            rows: Ordered::Few(FewRows::default()),
            filled: false,
        }
    }

    fn want(&mut self, columns: &[bool]) {
        self.wanted = columns.to_vec();
        self.handed_out = columns.to_vec();
        self.keys.want(&mut self.wanted);
        self.input.want(&self.wanted);
    }

    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.filled = false;
        self.rows = Ordered::Few(FewRows::default());
        self.keys.reset();
        let is_handed_out = |(position, _): &(usize, _)| self.handed_out.get(*position) == Some(&true);
        let told = self.keys.first_column().filter(is_handed_out);
        self.told = told.map(|(position, part)| ToldTexts::of(position, part));
        self.input.open(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.wanted.len());
        if !self.filled {
            self.fill(context)?;
        }
        match &mut self.rows {
            Ordered::Few(rows) => rows.hand_out(batch),
            Ordered::Many(rows) => match &self.told {
                Some(told) => told.hand_out(rows, &self.handed_out, batch, &context.session.interrupt)?,
                None => rows.hand_out(batch, &context.session.interrupt)?,
            },
        }
        Ok(!batch.is_empty())
    }

    fn skip(&mut self, context: &mut ExecutionContext<'_>, rows: usize) -> Result<usize> {
        if !self.filled {
            self.fill(context)?;
        }
        match &mut self.rows {
            Ordered::Few(sorted) => Ok(sorted.skip(rows)),
            Ordered::Many(sorted) => sorted.skip(rows, &context.session.interrupt),
        }
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        if !self.filled {
            self.fill(context)?;
        }
        *vectors = match &mut self.rows {
            Ordered::Few(rows) => {
                let mut batch = Batch::new(self.wanted.len(), rows_max.min(BATCH_ROWS_MAX));
                rows.hand_out(&mut batch);
                Vectors::of_rows(batch.len(), batch.values(), &self.handed_out)
            }
            Ordered::Many(rows) => {
                let (wanted, interrupt) = (&self.handed_out, &context.session.interrupt);
                match &self.told {
                    Some(told) => told.take(rows, rows_max, wanted, interrupt)?,
                    None => rows.take(rows_max, usize::MAX, wanted, interrupt, |_| {})?,
                }
            }
        };
        Ok(!vectors.is_empty())
    }

    fn fill(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.rows = match self.input.has_vectors() {
            true => Ordered::Many(self.sorted_columns(context)?),
            false => self.sorted_rows(context)?,
        };
        self.filled = true;
        Ok(())
    }

    fn sorter(&self, context: &ExecutionContext<'_>) -> Sorter<KeyedColumns> {
        let workers = context.session.parallel_workers();
        Sorter::by_columns(self.unique, self.rows_max, workers, &context.budget)
    }

    /// The rows of an input that has vectors.
    fn sorted_columns(&mut self, context: &mut ExecutionContext<'_>) -> Result<Sorted<KeyedColumns>> {
        let mut sorter = self.sorter(context);
        let keys = &mut self.keys;
        let (handed_out, told) = (&self.handed_out, &self.told);
        let keep = |rows: &mut Vectors| kept_of(rows, handed_out, told.as_ref());
        if keys.are_for_any_thread() {
            let mut keys = keys.clone();
            for_each_prepared(
                self.input.as_mut(),
                COLUMN_ROWS_MAX,
                context,
                move |mut rows, context| {
                    let keys = keys.of(&rows, context)?;
                    keep(&mut rows);
                    Ok(WithKeys(rows, keys))
                },
                |WithKeys(rows, keys), context| sorter.push_columns(rows, keys, &context.session.interrupt),
            )?;
        } else {
            for_each(self.input.as_mut(), COLUMN_ROWS_MAX, context, |mut rows, context| {
                let keys = keys.of(&rows, context)?;
                keep(&mut rows);
                sorter.push_columns(rows, keys, &context.session.interrupt)
            })?;
        }
        sorter.finish(&context.session.interrupt)
    }

    /// The rows of an input that has none.
    fn sorted_rows(&mut self, context: &mut ExecutionContext<'_>) -> Result<Ordered> {
        let mut first = Batch::new(self.wanted.len(), BATCH_ROWS_MAX);
        if !self.input.next(context, &mut first)? {
            return Ok(Ordered::Few(FewRows::default()));
        }
        let keys = self.keys.of_batch(&first, context)?;
        let mut batch = Batch::new(self.wanted.len(), BATCH_ROWS_MAX);
        let mut has_more = self.input.next(context, &mut batch)?;
        if !has_more && FewRows::are(&first) {
            return Ok(Ordered::Few(FewRows::new(first, &keys, self.unique, self.rows_max)));
        }
        let mut sorter = self.sorter(context);
        let columns_of = |batch: &Batch| Vectors::of_rows(batch.len(), batch.values(), &self.wanted);
        let mut rows = columns_of(&first);
        kept_of(&mut rows, &self.handed_out, self.told.as_ref());
        sorter.push_columns(rows, keys, &context.session.interrupt)?;
        drop(first);
        while has_more {
            let mut rows = columns_of(&batch);
            let keys = self.keys.of(&rows, context)?;
            kept_of(&mut rows, &self.handed_out, self.told.as_ref());
            sorter.push_columns(rows, keys, &context.session.interrupt)?;
            has_more = self.input.next(context, &mut batch)?;
        }
        Ok(Ordered::Many(sorter.finish(&context.session.interrupt)?))
    }
}

/// Drops what is not kept of rows whose keys have been made.
fn kept_of(rows: &mut Vectors, handed_out: &[bool], told: Option<&ToldTexts>) {
    rows.keep_columns(handed_out);
    if let Some(told) = told {
        told.leave_out(rows);
    }
}
