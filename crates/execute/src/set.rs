//! Filters, projections, unions and limits.

use std::sync::Arc;

use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{Filter, Limit, Project, Union};
use farbird_types::{Error, Result, SqlType, Value, convert, isc};
use farbird_vector::Vectors;
use farbird_vector::truth::rows_that_are_true;

use crate::batch::Batch;
use crate::column_rows::ColumnRows;
use crate::computed::Computed;
use crate::key_filter::KeyFilter;
use crate::operator::{Build, ByColumns, Operator};
use crate::stage::{Stage, Stretch, is_for_any_thread};

/// One row without columns.
#[derive(Default)]
pub(crate) struct SingleOperator {
    done: bool,
}

impl Operator for SingleOperator {
    fn open(&mut self, _context: &mut ExecutionContext<'_>) -> Result<()> {
        self.done = false;
        Ok(())
    }

    fn next(&mut self, _context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(0);
        if !std::mem::replace(&mut self.done, true) {
            batch.push([]);
        }
        Ok(!batch.is_empty())
    }
}

/// Rows for which a condition is true.
pub(crate) struct FilterOperator {
    filter: Arc<Filter>,
    input: Box<dyn Operator>,
    computed: Computed,
    /// What follows rows that have been handed out by columns.
    error: Option<Error>,
}

impl FilterOperator {
    pub(crate) fn new(filter: &Arc<Filter>, build: Build) -> FilterOperator {
        FilterOperator {
            input: build(&filter.input),
            computed: Computed::new(filter.condition.clone()),
            error: None,
            filter: filter.clone(),
        }
    }
}

impl Operator for FilterOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.computed.reset();
        self.error = None;
        self.input.open(context)
    }

    fn has_vectors(&self) -> bool {
        self.input.has_vectors() && !self.filter.condition.is_volatile()
    }

    fn want(&mut self, columns: &[bool]) {
        let mut wanted = columns.to_vec();
        for position in self.computed.columns() {
            if let Some(wanted) = wanted.get_mut(*position) {
                *wanted = true;
            }
        }
        self.input.want(&wanted);
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        loop {
            if let Some(error) = self.error.take() {
                return Err(error);
            }
            if !self.input.next_vectors(context, rows_max, vectors)? {
                return Ok(false);
            }
            self.error = keep_true(&mut self.computed, vectors, context);
            if !vectors.is_empty() {
                return Ok(true);
            }
        }
    }

    fn stage(&mut self, context: &mut ExecutionContext<'_>) -> Option<Box<dyn Stage>> {
        if !is_for_any_thread(&self.filter.condition) || !self.has_vectors() {
            return None;
        }
        Some(Box::new(FilterStage { input: self.input.stage(context)?, computed: self.computed.clone() }))
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        while self.input.next(context, batch)? {
            batch.retain(|row| {
                context.check_interrupt()?;
                Ok(self.filter.condition.truth(row, context)? == Some(true))
            })?;
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        if !self.filter.condition.is_volatile() {
            self.input.restrict(column, keys);
        }
    }
}

/// Keeps the rows for which a condition is true, up to the first for which it fails; gives what it fails with.
fn keep_true(
    condition: &mut Computed,
    vectors: &mut Vectors,
    context: &mut ExecutionContext<'_>,
) -> Option<Error> {
    let (truths, error) = match condition.truths(vectors, context) {
        Some(truths) => (truths, None),
        None => {
            let found = condition.truths_by_rows(vectors, context);
            (found.values, found.error)
        }
    };
    let places = rows_that_are_true(&truths);
    if places.len() < vectors.len() {
        *vectors = vectors.gather(&places);
    }
    error
}

/// A filter for one of several threads.
struct FilterStage {
    input: Box<dyn Stage>,
    computed: Computed,
}

impl Stage for FilterStage {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<Stretch> {
        let mut stretch = self.input.next(context)?;
        stretch.change(|rows| keep_true(&mut self.computed, rows, context));
        Some(stretch)
    }

    fn another(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(FilterStage { input: self.input.another()?, computed: self.computed.clone() }))
    }
}

/// Computes new rows.
pub(crate) struct ProjectOperator {
    project: Arc<Project>,
    input: Box<dyn Operator>,
    rows: Batch,
    /// The input's columns that the new rows are made of, if they are made of nothing else.
    columns: Option<Vec<usize>>,
    computed: Vec<Computed>,
    /// Which of the new columns are computed: those that are looked at, and those that may fail.
    wanted: Vec<bool>,
    /// What follows rows that have been handed out by columns.
    error: Option<Error>,
}

impl ProjectOperator {
    pub(crate) fn new(project: &Arc<Project>, build: Build) -> ProjectOperator {
        let column = |item: &Expression| match item {
            Expression::Column(position) => Some(*position),
            _ => None,
        };
        let mut operator = ProjectOperator {
            input: build(&project.input),
            rows: Batch::default(),
            columns: project.items.iter().map(column).collect(),
            computed: project.items.iter().cloned().map(Computed::new).collect(),
            wanted: Vec::new(),
            error: None,
            project: project.clone(),
        };
        operator.want(&vec![true; project.items.len()]);
        operator
    }
}

impl Operator for ProjectOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.computed.iter_mut().for_each(Computed::reset);
        self.error = None;
        self.input.open(context)
    }

    fn has_vectors(&self) -> bool {
        self.input.has_vectors() && !self.project.items.iter().any(Expression::is_volatile)
    }

    fn want(&mut self, columns: &[bool]) {
        let cannot_fail = |item: &Expression| matches!(item, Expression::Column(_) | Expression::Constant(_));
        let of_items = self.project.items.iter().zip(columns);
        self.wanted = of_items.map(|(item, wanted)| *wanted || !cannot_fail(item)).collect();
        let mut wanted = vec![false; self.project.input.width()];
        for (item, _) in self.computed.iter().zip(&self.wanted).filter(|(_, wanted)| **wanted) {
            for position in item.columns() {
                if let Some(wanted) = wanted.get_mut(*position) {
                    *wanted = true;
                }
            }
        }
        self.input.want(&wanted);
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        let mut input = Vectors::default();
        if !self.input.next_vectors(context, rows_max, &mut input)? {
            *vectors = Vectors::default();
            return Ok(false);
        }
        self.error = project_rows(&mut self.computed, &self.wanted, &mut input, context);
        *vectors = input;
        match self.error.take_if(|_| vectors.is_empty()) {
            Some(error) => Err(error),
            None => Ok(true),
        }
    }

    fn stage(&mut self, context: &mut ExecutionContext<'_>) -> Option<Box<dyn Stage>> {
        if !self.project.items.iter().all(is_for_any_thread) || !self.has_vectors() {
            return None;
        }
        let (computed, wanted) = (self.computed.clone(), self.wanted.clone());
        Some(Box::new(ProjectStage { input: self.input.stage(context)?, computed, wanted }))
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        batch.reset(self.project.items.len());
        self.rows.set_limit(batch.limit());
        if !self.input.next(context, &mut self.rows)? {
            return Ok(false);
        }
        for row in self.rows.rows() {
            context.check_interrupt()?;
            batch.try_push(self.project.items.iter().map(|item| item.evaluate(row, context)))?;
        }
        Ok(true)
    }

    fn at_most(&mut self, rows: usize) {
        self.input.at_most(rows);
    }

    fn skip(&mut self, context: &mut ExecutionContext<'_>, rows: usize) -> Result<usize> {
        match self.columns {
            Some(_) => self.input.skip(context, rows),
            // An item may fail.
            None => Ok(0),
        }
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        let is_volatile = self.project.items.iter().any(Expression::is_volatile);
        if let Some(Expression::Column(position)) = self.project.items.get(column).filter(|_| !is_volatile) {
            self.input.restrict(*position, keys);
        }
    }

    fn next_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        let Some(columns) = &self.columns else { return Ok(ByColumns::Unavailable) };
        let found = self.input.next_columns(context, rows_max, rows)?;
        if found == ByColumns::Rows {
            rows.project(columns);
        }
        Ok(found)
    }
}

/// Makes new rows of some, up to the first for which an item fails; gives what it fails with.
fn project_rows(
    items: &mut [Computed],
    wanted: &[bool],
    vectors: &mut Vectors,
    context: &mut ExecutionContext<'_>,
) -> Option<Error> {
    let mut rows = vectors.len();
    let mut error = None;
    let mut columns = Vec::with_capacity(items.len());
    for (item, wanted) in items.iter_mut().zip(wanted) {
        if !wanted {
            columns.push(None);
            continue;
        }
        let found = item.values(vectors, context);
        // Of two items that fail the one of the earlier row counts, of one row the first item.
        if let Some(failure) = found.error
            && found.rows < rows
        {
            rows = found.rows;
            error = Some(failure);
        }
        columns.push(Some(found.values.into_owned(vectors.len())));
    }
    *vectors = Vectors::new(vectors.len(), columns);
    vectors.truncate(rows);
    error
}

/// A projection for one of several threads.
struct ProjectStage {
    input: Box<dyn Stage>,
    computed: Vec<Computed>,
    wanted: Vec<bool>,
}

impl Stage for ProjectStage {
    fn next(&mut self, context: &mut ExecutionContext<'_>) -> Option<Stretch> {
        let mut stretch = self.input.next(context)?;
        stretch.change(|rows| project_rows(&mut self.computed, &self.wanted, rows, context));
        Some(stretch)
    }

    fn another(&self) -> Option<Box<dyn Stage>> {
        let (computed, wanted) = (self.computed.clone(), self.wanted.clone());
        Some(Box::new(ProjectStage { input: self.input.another()?, computed, wanted }))
    }
}

/// Several inputs one after the other.
pub(crate) struct UnionOperator {
    inputs: Vec<Box<dyn Operator>>,
    place: usize,
    /// What each input is told before it is opened: for this opening, and for the next one.
    restrictions: Vec<(usize, Arc<KeyFilter>)>,
    next_restrictions: Vec<(usize, Arc<KeyFilter>)>,
}

impl UnionOperator {
    pub(crate) fn new(union: &Arc<Union>, build: Build) -> UnionOperator {
        UnionOperator {
            inputs: union.inputs.iter().map(build).collect(),
            place: 0,
            restrictions: Vec::new(),
            next_restrictions: Vec::new(),
        }
    }

    /// Opens the input whose turn it is, if there is one.
    fn open_input(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let Some(input) = self.inputs.get_mut(self.place) else { return Ok(()) };
        self.restrictions.iter().for_each(|(column, keys)| input.restrict(*column, keys));
        input.open(context)
    }
}

impl Operator for UnionOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.place = 0;
        self.restrictions = std::mem::take(&mut self.next_restrictions);
        self.open_input(context)
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        while let Some(input) = self.inputs.get_mut(self.place) {
            if input.next(context, batch)? {
                return Ok(true);
            }
            self.place += 1;
            self.open_input(context)?;
        }
        batch.truncate(0);
        Ok(false)
    }

    fn has_vectors(&self) -> bool {
        self.inputs.iter().all(|input| input.has_vectors())
    }

    fn want(&mut self, columns: &[bool]) {
        self.inputs.iter_mut().for_each(|input| input.want(columns));
    }

    fn next_vectors(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        while let Some(input) = self.inputs.get_mut(self.place) {
            if input.next_vectors(context, rows_max, vectors)? {
                return Ok(true);
            }
            self.place += 1;
            self.open_input(context)?;
        }
        *vectors = Vectors::default();
        Ok(false)
    }

    fn restrict(&mut self, column: usize, keys: &Arc<KeyFilter>) {
        self.next_restrictions.push((column, Arc::clone(keys)));
    }
}

/// Some rows from the beginning are skipped, some handed out.
pub(crate) struct LimitOperator {
    limit: Arc<Limit>,
    input: Box<dyn Operator>,
    to_skip: u64,
    to_hand_out: u64,
    /// What it is told before it is opened.
    at_most: Option<usize>,
}

impl LimitOperator {
    pub(crate) fn new(limit: &Arc<Limit>, build: Build) -> LimitOperator {
        LimitOperator {
            input: build(&limit.input),
            to_skip: 0,
            to_hand_out: 0,
            at_most: None,
            limit: limit.clone(),
        }
    }
}

impl Operator for LimitOperator {
    fn open(&mut self, context: &mut ExecutionContext<'_>) -> Result<()> {
        let skip = count(self.limit.skip.as_ref(), context)?;
        let first = count(self.limit.first.as_ref(), context)?;
        let (skip, first) = if self.limit.ordinals {
            // ROWS from TO to: both are numbers of rows, from 1.
            let from = skip.unwrap_or(1);
            (from - 1, first.map(|to| to - from + 1))
        } else {
            (skip.unwrap_or(0), first)
        };
        self.to_skip = u64::try_from(skip).map_err(|_| Error::new(isc::BAD_SKIP_PARAM))?;
        self.to_hand_out = match first {
            Some(first) => u64::try_from(first).map_err(|_| Error::new(isc::BAD_LIMIT_PARAM))?,
            None => u64::MAX,
        };
        let at_most = self.at_most.take().unwrap_or(usize::MAX);
        let rows = usize::try_from(self.to_hand_out).unwrap_or(usize::MAX).min(at_most);
        self.input.at_most(rows.saturating_add(usize::try_from(self.to_skip).unwrap_or(usize::MAX)));
        self.input.open(context)
    }

    fn at_most(&mut self, rows: usize) {
        self.at_most = Some(rows);
    }

    fn want(&mut self, columns: &[bool]) {
        self.input.want(columns);
    }

    fn next(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        let limit = batch.limit();
        let result = self.next_within(context, batch);
        batch.set_limit(limit);
        result
    }

    fn next_columns(
        &mut self,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        rows: &mut ColumnRows,
    ) -> Result<ByColumns> {
        if self.to_skip > 0 {
            return Ok(ByColumns::Unavailable);
        }
        if self.to_hand_out == 0 {
            return Ok(ByColumns::End);
        }
        let left = usize::try_from(self.to_hand_out).unwrap_or(usize::MAX);
        let found = self.input.next_columns(context, rows_max.min(left), rows)?;
        if found == ByColumns::Rows {
            rows.truncate(left);
            self.to_hand_out -= rows.len() as u64;
        }
        Ok(found)
    }
}

impl LimitOperator {
    fn next_within(&mut self, context: &mut ExecutionContext<'_>, batch: &mut Batch) -> Result<bool> {
        let limit = batch.limit();
        // What only goes on says so; others make the rows that are dropped.
        if self.to_skip > 0 && self.to_hand_out > 0 {
            let rows = usize::try_from(self.to_skip).unwrap_or(usize::MAX);
            self.to_skip -= self.input.skip(context, rows)? as u64;
        }
        while self.to_hand_out > 0 {
            // Rows past the limit are not even asked for: they may be expensive, or have side effects.
            let wanted = self.to_skip.saturating_add(self.to_hand_out);
            batch.set_limit(limit.min(usize::try_from(wanted).unwrap_or(usize::MAX)));
            if !self.input.next(context, batch)? {
                return Ok(false);
            }
            let rows = batch.len();
            let skipped = rows.min(usize::try_from(self.to_skip).unwrap_or(usize::MAX));
            if skipped > 0 {
                batch.skip(skipped);
                self.to_skip -= skipped as u64;
            }
            batch.truncate(usize::try_from(self.to_hand_out).unwrap_or(usize::MAX));
            self.to_hand_out -= batch.len() as u64;
            if !batch.is_empty() {
                return Ok(true);
            }
        }
        batch.truncate(0);
        Ok(false)
    }
}

/// The value of a limit; `None` if there is none, or if it is NULL.
fn count(limit: Option<&Expression>, context: &mut ExecutionContext<'_>) -> Result<Option<i64>> {
    let Some(limit) = limit else { return Ok(None) };
    let value = limit.evaluate(&[], context)?;
    match convert::cast(&value, &SqlType::BIGINT, &context.cast)? {
        Value::Integer { unscaled, .. } => Ok(Some(unscaled)),
        _ => Ok(None),
    }
}
