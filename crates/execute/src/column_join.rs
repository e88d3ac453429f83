//! Hash joins by columns, of inner sides that fit in memory: keys of thousands of outer rows are computed and looked up at a
//! time, and what is handed out is gathered from the columns of both sides.
//!
//! # Promises
//! - Rows come in the order of the outer side, the partners of each in the order of the inner one.
//! - A condition that fails is met at its pair: the pairs before are handed out first.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use farbird_budget::Reservation;
use farbird_expression::{ExecutionContext, Expression};
use farbird_plan::{HashJoin, HashJoinKind, JoinKey};
use farbird_types::{Error, Result};
use farbird_vector::truth::TRUE;
use farbird_vector::{Column, NO_ROW, Vectors};

use crate::column_source::COLUMN_ROWS_MAX;
use crate::computed::Computed;
use crate::in_order::{Prepared, for_each_prepared};
use crate::join_columns::{Index, JoinColumns, NONE, Partners};
use crate::join_keys::JoinKeys;
use crate::operator::Operator;
use crate::stage::is_for_any_thread;

/// A join while all of its inner side is in memory.
pub(crate) struct ColumnJoin {
    join: Arc<HashJoin>,
    outer_keys: Vec<Computed>,
    inner_keys: Vec<Computed>,
    condition: Option<Computed>,
    /// Which columns of the rows that are handed out somebody looks at.
    wanted: Vec<bool>,
    /// Which columns of pairs of rows the condition looks at.
    wanted_of_pairs: Vec<bool>,
    table: Table,
    /// Which inner rows had a partner, where that matters; threads note it together.
    matched_inner: Arc<[AtomicBool]>,
    outer: Vectors,
    keys: JoinKeys,
    /// The partners of the outer rows at hand, once they have been looked up.
    partners: Option<Partners>,
    /// What follows the outer rows at hand, or the pairs.
    error: Option<Error>,
    /// The outer row being joined, its next candidate, and whether it has had a partner.
    place: usize,
    candidate: Candidate,
    matched: bool,
    /// How far the inner rows that come by themselves have been handed out; `None` before that.
    inner_from: Option<usize>,
    pairs: Pairs,
}

/// The inner side: filled, then shared.
enum Table {
    None,
    Filling(Box<JoinColumns>),
    Filled(Arc<JoinColumns>),
}

/// Where to go on with an outer row.
#[derive(Clone, Copy, PartialEq)]
enum Candidate {
    /// It has not been looked up.
    Unknown,
    Row(u32),
}

/// Rows that belong together: of the outer side, and of the inner one or none.
#[derive(Default)]
struct Pairs {
    outer: Vec<u32>,
    inner: Vec<u32>,
}

impl Pairs {
    fn push(&mut self, outer: usize, inner: u32) {
        self.outer.push(outer as u32);
        self.inner.push(inner);
    }

    fn clear(&mut self) {
        self.outer.clear();
        self.inner.clear();
    }

    fn len(&self) -> usize {
        self.outer.len()
    }
}

impl ColumnJoin {
    /// A join; `None` if keys or condition are to be computed row by row, as often and in the order that rows are read.
    pub(crate) fn of(join: &Arc<HashJoin>) -> Option<ColumnJoin> {
        let keys = join.outer_keys.iter().chain(&join.inner_keys).map(|key| &key.value);
        if keys.chain(&join.condition).any(Expression::is_volatile) {
            return None;
        }
        let computed = |keys: &[JoinKey]| keys.iter().map(|key| Computed::new(key.value.clone())).collect();
        let condition = join.condition.clone().map(Computed::new);
        let mut wanted_of_pairs = vec![false; join.outer.width() + join.inner.width()];
        want(&mut wanted_of_pairs, condition.iter(), 0);
        Some(ColumnJoin {
            outer_keys: computed(&join.outer_keys),
            inner_keys: computed(&join.inner_keys),
            condition,
            wanted: vec![true; join.width()],
            wanted_of_pairs,
            table: Table::None,
            matched_inner: Arc::default(),
            outer: Vectors::default(),
            keys: JoinKeys::default(),
            partners: None,
            error: None,
            place: 0,
            candidate: Candidate::Unknown,
            matched: false,
            inner_from: None,
            pairs: Pairs::default(),
            join: join.clone(),
        })
    }

    /// As [`Operator::want`].
    pub(crate) fn want(&mut self, columns: &[bool]) {
        self.wanted = columns.to_vec();
    }

    /// Which columns of the outer side it looks at.
    pub(crate) fn wanted_outer(&self) -> Vec<bool> {
        let outer_width = self.join.outer.width();
        let mut wanted = vec![false; outer_width];
        want(&mut wanted, self.outer_keys.iter(), 0);
        want(&mut wanted, self.condition.iter(), 0);
        if self.join.kind.has_outer() {
            wanted.iter_mut().zip(&self.wanted).for_each(|(wanted, more)| *wanted |= more);
        }
        wanted
    }

    /// Which columns of the inner side it looks at.
    pub(crate) fn wanted_inner(&self) -> Vec<bool> {
        let outer_width = self.join.outer.width();
        let mut wanted = vec![false; self.join.inner.width()];
        want(&mut wanted, self.inner_keys.iter(), 0);
        want(&mut wanted, self.condition.iter(), outer_width);
        if self.join.kind.has_inner() {
            let skipped = if self.join.kind.has_outer() { outer_width } else { 0 };
            let of_inner = self.wanted.iter().skip(skipped);
            wanted.iter_mut().zip(of_inner).for_each(|(wanted, more)| *wanted |= more);
        }
        wanted
    }

    /// Starts, or starts again, without inner rows.
    pub(crate) fn open(&mut self, memory: Reservation) {
        let all = self.outer_keys.iter_mut().chain(&mut self.inner_keys).chain(&mut self.condition);
        all.for_each(Computed::reset);
        self.table = Table::Filling(Box::new(JoinColumns::new(memory)));
        self.matched_inner = Arc::default();
        self.outer = Vectors::default();
        self.partners = None;
        self.error = None;
        self.place = 0;
        self.candidate = Candidate::Unknown;
        self.matched = false;
        self.inner_from = None;
        self.pairs.clear();
    }

    /// Takes rows of the inner side; if there is no memory for them all rows come back, those from before first.
    ///
    /// # Errors
    /// Those of the keys.
    pub(crate) fn push_inner(
        &mut self,
        rows: Vectors,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Option<Vec<Vectors>>> {
        let (keys, error) = keys_of(&mut self.inner_keys, &self.join.inner_keys, &rows, context)?;
        if let Some(error) = error {
            return Err(error);
        }
        // A row whose key is NULL has no partner; FULL JOIN and its like hand it out all the same.
        let (rows, keys) = match self.join.kind.keeps_inner() {
            true => (rows, keys),
            false => keys.without_nulls(rows),
        };
        let Table::Filling(table) = &mut self.table else { return Ok(None) };
        match table.push(rows, keys) {
            Ok(()) => Ok(None),
            Err(rows) => {
                let mut all = table.take_rows();
                all.push(rows);
                Ok(Some(all))
            }
        }
    }

    /// All inner rows are there.
    pub(crate) fn end_inner(&mut self) {
        if let Table::Filling(mut table) = std::mem::replace(&mut self.table, Table::None) {
            table.link();
            if self.notes_inner() {
                self.matched_inner = (0..table.len()).map(|_| AtomicBool::new(false)).collect();
            }
            self.table = Table::Filled(Arc::from(table));
        }
    }

    /// The inner side, once all of it is there.
    pub(crate) fn table(&self) -> Option<&Arc<JoinColumns>> {
        match &self.table {
            Table::Filled(table) => Some(table),
            _ => None,
        }
    }

    /// Whether it matters which inner rows had a partner.
    fn notes_inner(&self) -> bool {
        self.join.kind.hands_out_inner().is_some()
    }

    /// A join of the same inner side for another thread; `None` where inner rows are handed out when all outer ones have been looked
    /// at, or one thread only can compute what it is joined by.
    pub(crate) fn for_thread(&self) -> Option<ColumnJoin> {
        if self.notes_inner() || !self.is_for_any_thread() {
            return None;
        }
        Some(self.with_table(self.table()?))
    }

    fn is_for_any_thread(&self) -> bool {
        self.outer_keys.iter().chain(&self.condition).map(Computed::expression).all(is_for_any_thread)
    }

    /// A join of the same inner side, which notes its partners in the same place.
    fn with_table(&self, table: &Arc<JoinColumns>) -> ColumnJoin {
        ColumnJoin {
            join: self.join.clone(),
            outer_keys: self.outer_keys.clone(),
            inner_keys: Vec::new(),
            condition: self.condition.clone(),
            wanted: self.wanted.clone(),
            wanted_of_pairs: self.wanted_of_pairs.clone(),
            table: Table::Filled(Arc::clone(table)),
            matched_inner: Arc::clone(&self.matched_inner),
            outer: Vectors::default(),
            keys: JoinKeys::default(),
            partners: None,
            error: None,
            place: 0,
            candidate: Candidate::Unknown,
            matched: false,
            inner_from: None,
            pairs: Pairs::default(),
        }
    }

    /// What notes which inner rows have a partner, where nothing else is made of the outer side.
    fn marking(&self) -> Option<Marking> {
        let is_only_noted = matches!(self.join.kind, HashJoinKind::InnerSemi | HashJoinKind::InnerAnti);
        if !is_only_noted || !self.is_for_any_thread() {
            return None;
        }
        let table = Arc::clone(self.table()?);
        Some(Marking { join: self.with_table(&table), table })
    }

    /// Whether outer rows at hand are still to be joined.
    pub(crate) fn is_joining(&self) -> bool {
        self.place < self.outer.len()
    }

    /// Joins further ones of the outer rows at hand, into so many rows at most; gives what the row behind these fails with, if all
    /// before it have been joined. For joins that hand out no inner rows by themselves.
    pub(crate) fn join_more(
        &mut self,
        rows_max: usize,
        context: &mut ExecutionContext<'_>,
    ) -> (Vectors, Option<Error>) {
        if !self.is_joining() {
            return (Vectors::default(), self.error.take());
        }
        if let Err(error) = self.next_pairs(context, rows_max) {
            return (Vectors::default(), Some(error));
        }
        let rows = self.gathered();
        (rows, if self.is_joining() { None } else { self.error.take() })
    }

    /// The next joined rows, about as many as `rows_max` at most; false at the end.
    ///
    /// # Errors
    /// Those of the outer side, of keys and condition, after the rows before.
    pub(crate) fn next(
        &mut self,
        outer: &mut dyn Operator,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
        vectors: &mut Vectors,
    ) -> Result<bool> {
        if self.inner_from.is_none()
            && let Some(mut marking) = self.marking()
        {
            let mark = move |rows: Vectors, context: &mut ExecutionContext<'_>| marking.mark(rows, context);
            for_each_prepared(outer, COLUMN_ROWS_MAX, context, mark, |(), _| Ok(()))?;
            self.inner_from = Some(0);
        }
        while self.inner_from.is_none() {
            if !self.is_joining() {
                if let Some(error) = self.error.take() {
                    return Err(error);
                }
                if !self.read_outer(outer, context, rows_max)? {
                    self.inner_from = Some(0);
                    break;
                }
            }
            self.next_pairs(context, rows_max)?;
            if self.pairs.len() > 0 {
                *vectors = self.gathered();
                return Ok(true);
            }
        }
        self.next_inner(rows_max, vectors)
    }

    fn read_outer(
        &mut self,
        outer: &mut dyn Operator,
        context: &mut ExecutionContext<'_>,
        rows_max: usize,
    ) -> Result<bool> {
        // The last ones stay when there are no more: their columns say of which kinds the NULLs in their place are.
        let mut rows = Vectors::default();
        if !outer.next_vectors(context, rows_max, &mut rows)? {
            return Ok(false);
        }
        self.begin_outer(rows, context)?;
        Ok(true)
    }

    /// Takes outer rows that are to be joined next.
    ///
    /// # Errors
    /// Internal ones.
    pub(crate) fn begin_outer(&mut self, rows: Vectors, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.outer = rows;
        self.place = 0;
        self.candidate = Candidate::Unknown;
        self.matched = false;
        let (keys, error) = keys_of(&mut self.outer_keys, &self.join.outer_keys, &self.outer, context)?;
        if error.is_some() {
            // Rows before the one that fails are joined first.
            self.outer.truncate(keys.len());
            self.error = error;
        }
        self.keys = keys;
        self.partners = None;
        Ok(())
    }

    /// Finds the next pairs of the outer rows at hand.
    fn next_pairs(&mut self, context: &mut ExecutionContext<'_>, rows_max: usize) -> Result<()> {
        self.pairs.clear();
        match self.condition.is_some() {
            false => self.find_pairs(context, rows_max),
            true => self.find_pairs_that_hold(context, rows_max),
        }
    }

    /// Looks up outer rows until there are so many pairs.
    fn find_pairs(&mut self, context: &ExecutionContext<'_>, rows_max: usize) -> Result<()> {
        let Table::Filled(table) = &self.table else { return Ok(()) };
        let table = table.index_for(&mut self.keys)?;
        let partners = looked_up(&mut self.partners, table, &self.keys);
        let (keys, pairs, kind) = (&self.keys, &mut self.pairs, self.join.kind);
        let matched_inner = &*self.matched_inner;
        while self.place < self.outer.len() && pairs.len() < rows_max {
            context.check_interrupt()?;
            let row = self.place;
            let mut number = match self.candidate {
                Candidate::Row(number) => number,
                Candidate::Unknown => partners.first(row),
            };
            match kind {
                HashJoinKind::Semi | HashJoinKind::Anti => {
                    if (number != NONE) == (kind == HashJoinKind::Semi) {
                        pairs.push(row, NO_ROW);
                    }
                }
                HashJoinKind::InnerSemi | HashJoinKind::InnerAnti => {
                    // All rows of a key have had their partner with the first one.
                    if number != NONE && !is_matched(matched_inner, number) {
                        while number != NONE {
                            set_matched(matched_inner, number);
                            number = table.following(number, partners, keys, row);
                        }
                    }
                }
                HashJoinKind::Inner | HashJoinKind::Left | HashJoinKind::Right | HashJoinKind::Full => {
                    if number == NONE && kind.keeps_outer() && self.candidate == Candidate::Unknown {
                        pairs.push(row, NO_ROW);
                    }
                    while number != NONE && pairs.len() < rows_max {
                        pairs.push(row, number);
                        set_matched(matched_inner, number);
                        number = table.following(number, partners, keys, row);
                    }
                    if number != NONE {
                        self.candidate = Candidate::Row(number);
                        return Ok(());
                    }
                }
            }
            self.candidate = Candidate::Unknown;
            self.place += 1;
        }
        Ok(())
    }

    /// As [`ColumnJoin::find_pairs`], of pairs for which the condition is true.
    fn find_pairs_that_hold(&mut self, context: &mut ExecutionContext<'_>, rows_max: usize) -> Result<()> {
        let (Table::Filled(table), Some(condition)) = (&self.table, &mut self.condition) else {
            return Ok(());
        };
        let inner = table.rows();
        let table = table.index_for(&mut self.keys)?;
        let partners = looked_up(&mut self.partners, table, &self.keys);
        let (keys, kind) = (&self.keys, self.join.kind);
        let matched_inner = &*self.matched_inner;
        let (first, first_matched) = (self.place, self.matched);
        let mut tried = Pairs::default();
        // Outer rows without a candidate, which may come alone.
        let mut lonely = 0;
        while self.place < self.outer.len() && tried.len() + lonely < rows_max {
            context.check_interrupt()?;
            let (row, tried_before) = (self.place, tried.len());
            let mut number = match self.candidate {
                Candidate::Row(number) => number,
                Candidate::Unknown => partners.first(row),
            };
            while number != NONE && tried.len() + lonely < rows_max {
                // One partner is enough.
                if kind != HashJoinKind::InnerSemi || !is_matched(matched_inner, number) {
                    tried.push(row, number);
                }
                number = table.following(number, partners, keys, row);
            }
            if number != NONE {
                self.candidate = Candidate::Row(number);
                break;
            }
            lonely += usize::from(tried.len() == tried_before);
            self.candidate = Candidate::Unknown;
            self.place += 1;
        }
        let rows = joined(&self.outer, inner, &tried, self.wanted_of_pairs.split_at(self.join.outer.width()));
        let truths = condition.truths(&rows, context);
        let mut place = 0;
        let mut matched = first_matched;
        // The last row may have further candidates.
        let last = self.place + usize::from(self.candidate != Candidate::Unknown);
        for row in first..last {
            if row > first {
                matched = false;
            }
            while tried.outer.get(place) == Some(&(row as u32)) {
                let number = tried.inner.get(place).copied().unwrap_or(NONE);
                let is_settled = match kind {
                    HashJoinKind::Semi | HashJoinKind::Anti => matched,
                    HashJoinKind::InnerSemi => is_matched(matched_inner, number),
                    _ => false,
                };
                let holds = match &truths {
                    _ if is_settled => false,
                    Some(truths) => truths.get(place) == Some(&TRUE),
                    None => {
                        // The pair may fail: what stands before it has been looked at.
                        let pair = rows.gather(&[place as u32]);
                        let found = condition.truths_by_rows(&pair, context);
                        if let Some(error) = found.error {
                            self.error = Some(error);
                            self.place = self.outer.len();
                            return Ok(());
                        }
                        found.values.first() == Some(&TRUE)
                    }
                };
                if holds {
                    match kind {
                        HashJoinKind::Semi => self.pairs.push(row, NO_ROW),
                        HashJoinKind::Anti | HashJoinKind::InnerSemi | HashJoinKind::InnerAnti => {}
                        _ => self.pairs.push(row, number),
                    }
                    matched = true;
                    set_matched(matched_inner, number);
                }
                place += 1;
            }
            let is_whole = row < self.place;
            let keeps = matches!(kind, HashJoinKind::Left | HashJoinKind::Full | HashJoinKind::Anti);
            if is_whole && !matched && keeps {
                self.pairs.push(row, NO_ROW);
            }
        }
        self.matched = self.candidate != Candidate::Unknown && matched;
        if self.matched && matches!(kind, HashJoinKind::Semi | HashJoinKind::Anti) {
            self.candidate = Candidate::Unknown;
            self.matched = false;
            self.place += 1;
        }
        Ok(())
    }

    /// What the pairs at hand are handed out as.
    fn gathered(&self) -> Vectors {
        let none = Vectors::default();
        let inner = self.table().map_or(&none, |table| table.rows());
        let kind = self.join.kind;
        if kind.has_outer() && kind.has_inner() {
            return joined(&self.outer, inner, &self.pairs, self.wanted_of_both());
        }
        gather_wanted(&self.outer, &self.pairs.outer, &self.wanted)
    }

    /// What is wanted of the outer side and of the inner one, where both are handed out.
    fn wanted_of_both(&self) -> (&[bool], &[bool]) {
        self.wanted.split_at_checked(self.join.outer.width()).unwrap_or((&self.wanted, &[]))
    }

    /// Inner rows that come by themselves, when all outer ones have been looked at.
    fn next_inner(&mut self, rows_max: usize, vectors: &mut Vectors) -> Result<bool> {
        let (Some(from), Some(wanted), Some(table)) =
            (self.inner_from, self.join.kind.hands_out_inner(), self.table().cloned())
        else {
            *vectors = Vectors::default();
            return Ok(false);
        };
        let mut places = Vec::new();
        let mut number = from;
        while places.len() < rows_max && number < table.len() {
            if is_matched(&self.matched_inner, number as u32) == wanted {
                places.push(number as u32);
            }
            number += 1;
        }
        self.inner_from = Some(number);
        *vectors = match self.join.kind.has_outer() {
            true => {
                let pairs = Pairs { outer: vec![NO_ROW; places.len()], inner: places };
                joined(&self.outer, table.rows(), &pairs, self.wanted_of_both())
            }
            false => gather_wanted(table.rows(), &places, &self.wanted),
        };
        Ok(!vectors.is_empty())
    }
}

/// Notes the partners of inner rows, for one of several threads.
struct Marking {
    join: ColumnJoin,
    table: Arc<JoinColumns>,
}

impl Marking {
    /// # Errors
    /// Those of keys and condition.
    fn mark(&mut self, rows: Vectors, context: &mut ExecutionContext<'_>) -> Result<()> {
        self.join.begin_outer(rows, context)?;
        while self.join.is_joining() {
            self.join.next_pairs(context, COLUMN_ROWS_MAX)?;
        }
        self.join.error.take().map_or(Ok(()), Err)
    }
}

impl Clone for Marking {
    fn clone(&self) -> Marking {
        Marking { join: self.join.with_table(&self.table), table: Arc::clone(&self.table) }
    }
}

impl Prepared for () {
    fn size_bytes(&self) -> usize {
        0
    }
}

/// The partners of the rows that have these keys, looked up once.
fn looked_up<'a>(partners: &'a mut Option<Partners>, index: &Index, keys: &JoinKeys) -> &'a Partners {
    partners.get_or_insert_with(|| {
        let mut partners = Partners::default();
        index.look_up(keys, &mut partners);
        partners
    })
}

/// Notes that an inner row has had a partner, where that matters.
#[inline]
fn set_matched(matched: &[AtomicBool], number: u32) {
    if let Some(matched) = matched.get(number as usize) {
        matched.store(true, Ordering::Relaxed);
    }
}

/// Whether an inner row has had a partner.
#[inline]
fn is_matched(matched: &[AtomicBool], number: u32) -> bool {
    matched.get(number as usize).is_some_and(|matched| matched.load(Ordering::Relaxed))
}

/// The columns of pairs of rows that are wanted, the outer ones first.
fn joined(
    outer: &Vectors,
    inner: &Vectors,
    pairs: &Pairs,
    (of_outer, of_inner): (&[bool], &[bool]),
) -> Vectors {
    let mut columns = gather_wanted(outer, &pairs.outer, of_outer).into_columns();
    columns.extend(gather_wanted(inner, &pairs.inner, of_inner).into_columns());
    Vectors::new(pairs.len(), columns)
}

/// Rows at some places, of the columns that are wanted: as many columns as `wanted` speaks of.
fn gather_wanted(rows: &Vectors, places: &[u32], wanted: &[bool]) -> Vectors {
    let column = |(position, wanted): (usize, &bool)| -> Option<Column<'static>> {
        if !wanted {
            return None;
        }
        Some(match rows.column(position) {
            Some(column) => column.gather(places),
            None => Column::Values(vec![farbird_types::Value::Null; places.len()]),
        })
    };
    Vectors::new(places.len(), wanted.iter().enumerate().map(column).collect())
}

/// Adds the columns that expressions look at, from `first` on.
fn want<'a>(wanted: &mut [bool], expressions: impl Iterator<Item = &'a Computed>, first: usize) {
    for position in expressions.flat_map(Computed::columns) {
        if let Some(wanted) = position.checked_sub(first).and_then(|position| wanted.get_mut(position)) {
            *wanted = true;
        }
    }
}

/// The keys of rows, up to the first that fails, and what that fails with.
fn keys_of(
    computed: &mut [Computed],
    keys: &[JoinKey],
    rows: &Vectors,
    context: &mut ExecutionContext<'_>,
) -> Result<(JoinKeys, Option<Error>)> {
    let mut parts = Vec::with_capacity(keys.len());
    let mut count = rows.len();
    let mut error = None;
    for part in computed {
        let found = part.values(rows, context);
        // Of two parts that fail the one of the earlier row counts, of one row the first part.
        if let Some(failure) = found.error
            && found.rows < count
        {
            (count, error) = (found.rows, Some(failure));
        }
        parts.push(found.values);
    }
    Ok((JoinKeys::of(count, &parts, keys)?, error))
}
