//! How many rows: of tables, of what conditions leave, of joins.
//!
//! Where nothing is known of a table fixed fractions stand in, which favour indexes: a plan that is made for a table without
//! rows lives on when it has many.

use std::cmp::Ordering;
use std::sync::Arc;

use farbird_catalog::statistics::Statistics;
use farbird_catalog::{Index, Relation};
use farbird_expression::{Expression, PatternKind, PatternMatch, SubqueryKind};
use farbird_function::date::part_value;
use farbird_sql::ast::{self, ComparisonOperator};
use farbird_store::{ColumnStatistics, IndexId, IndexStatistics, RelationId, RelationStatistics};
use farbird_types::temporal::{self, DatePart};
use farbird_types::{CastContext, Collation, ExactWidth, SqlType, Text, Value, arithmetic, compare, convert};

use crate::bound::source::{Slot, Source, SourceColumn, SourceKind};
use crate::classes::{Composite, ValueShares};
use crate::node::{Access, Node};
use crate::prefix::like_prefix;

/// Rows of a table of which nothing is known.
const ROWS_UNKNOWN: f64 = 10.0;
/// Rows of a temporary table that nobody has filled yet: enough that none is gone through for each row of another.
const ROWS_TEMPORARY: f64 = 1_000.0;
/// Rows of a block, when nothing is known.
const BLOCK_ROWS: f64 = 350.0;
/// Part of the rows that an equality leaves, when nothing is known.
const EQUAL_FRACTION: f64 = 0.01;
/// Part of the rows that a bound leaves.
pub(crate) const RANGE_FRACTION: f64 = 0.2;
/// Part of the rows that a prefix leaves.
const PREFIX_FRACTION: f64 = 0.05;
/// What is put behind a prefix to come behind all texts that have it, more or less.
const PREFIX_END_BYTES: usize = 8;
/// Part of the rows in which a text is found.
const PATTERN_FRACTION: f64 = 0.05;
/// Part of the rows for which EXISTS, IN and the like hold.
const SUBQUERY_FRACTION: f64 = 0.5;
/// Part of the rows for which anything else holds.
const OTHER_FRACTION: f64 = 0.33;
/// Common values of columns that are compared with each other, of each, or of all of a class.
const COMMON_COMPARED: usize = 32;
/// Different values among which a text or number is taken to be, when nothing is known.
const DISTINCT_UNKNOWN: f64 = 100.0;

/// Parts of dates, and how many values each has; of years there are as many as there are in the dates.
const DATE_PARTS: [(ast::DatePart, DatePart, Option<f64>); 11] = [
    (ast::DatePart::Year, DatePart::Year, None),
    (ast::DatePart::Month, DatePart::Month, Some(12.0)),
    (ast::DatePart::Day, DatePart::Day, Some(31.0)),
    (ast::DatePart::Week, DatePart::Week, Some(53.0)),
    (ast::DatePart::Weekday, DatePart::WeekDay, Some(7.0)),
    (ast::DatePart::Yearday, DatePart::YearDay, Some(366.0)),
    (ast::DatePart::Quarter, DatePart::Quarter, Some(4.0)),
    (ast::DatePart::Hour, DatePart::Hour, Some(24.0)),
    (ast::DatePart::Minute, DatePart::Minute, Some(60.0)),
    (ast::DatePart::Second, DatePart::Second, Some(60.0)),
    (ast::DatePart::Millisecond, DatePart::Millisecond, Some(1_000.0)),
];
/// Days of a year, and what dates of whole days are counted in: days, or parts of them.
const YEAR_DAYS: f64 = 365.25;
const DAY_TICKS: f64 = 864_000_000.0;

/// How fast the bounds of blocks say less the less rows lie in the order of a column: an even power of that, from -1 to 1.
const BOUNDS_ORDER: i32 = 8;

/// What is known of the sources of a block.
pub(crate) struct Estimator<'a> {
    sources: &'a [Source],
    slots: &'a [Slot],
    tables: Vec<Option<Arc<RelationStatistics>>>,
    rows: Vec<f64>,
}

/// Bounds that several conditions give one column, as parts of its rows.
struct Bounds {
    slot: usize,
    /// Rows below the lower bound; NULLs are never in a range.
    below: Option<f64>,
    /// Rows below the upper bound.
    up_to: Option<f64>,
    null_fraction: f64,
    /// Bounds whose values are not known.
    unknown: i32,
}

impl<'a> Estimator<'a> {
    pub(crate) fn new(sources: &'a [Source], slots: &'a [Slot], statistics: &Statistics) -> Estimator<'a> {
        let tables: Vec<_> = sources
            .iter()
            .map(|source| match &source.kind {
                SourceKind::Table(relation) => of_table(statistics, relation),
                _ => None,
            })
            .collect();
        let rows = sources
            .iter()
            .zip(&tables)
            .map(|(source, table)| match (&source.kind, table) {
                (_, Some(table)) => count(table.rows),
                (SourceKind::Derived { plan, .. }, _) => rows_of(plan, statistics),
                (SourceKind::Working(..), _) => 1.0,
                (SourceKind::Table(relation), _) => rows_of_table(relation, statistics),
                _ => ROWS_UNKNOWN,
            })
            .collect();
        Estimator { sources, slots, tables, rows }
    }

    /// Rows of a source.
    pub(crate) fn rows(&self, source: usize) -> f64 {
        self.rows.get(source).copied().unwrap_or(1.0).max(1.0)
    }

    /// Part of the rows of one source for which all conditions are true.
    pub(crate) fn selectivity<'e>(&self, conditions: impl IntoIterator<Item = &'e Expression>) -> f64 {
        let mut fraction = 1.0;
        let mut bounds: Vec<Bounds> = Vec::new();
        for condition in conditions {
            if !self.note_bounds(condition, &mut bounds) {
                fraction *= self.fraction(condition);
            }
        }
        fraction * bounds.iter().map(Bounds::fraction).product::<f64>()
    }

    /// Whether figures of a table are known.
    pub(crate) fn is_known(&self, source: usize) -> bool {
        self.tables.get(source).is_some_and(Option::is_some)
    }

    /// Rows of a source that a scan looks at: it passes over blocks of which the bounds of a column say that no row meets the conditions.
    pub(crate) fn rows_looked_at(&self, source: usize, conditions: &[Expression]) -> f64 {
        let mut columns: Vec<(usize, f64, Vec<&Expression>)> = Vec::new();
        for condition in conditions {
            let Some((slot, order)) = self.bounded_column(condition) else { continue };
            match columns.iter_mut().find(|(known, ..)| *known == slot) {
                Some((.., conditions)) => conditions.push(condition),
                None => columns.push((slot, order, vec![condition])),
            }
        }
        let parts = columns.iter().map(|(_, order, conditions)| {
            let part = self.selectivity(conditions.iter().copied());
            // Where rows lie a little out of order most blocks have values from far away.
            part + (1.0 - order.powi(BOUNDS_ORDER)) * (1.0 - part)
        });
        let (rows, part) = (self.rows(source), parts.fold(1.0, f64::min));
        // Those that are looked at begin and end within a block.
        (rows * part + 2.0 * rows / self.blocks(source)).min(rows)
    }

    /// The column of numbers or points in time that a condition compares with what is the same in all rows, and how far rows lie in
    /// its order.
    fn bounded_column(&self, condition: &Expression) -> Option<(usize, f64)> {
        let operand = match condition {
            Expression::Between { operand, low, high, .. }
                if low.is_row_independent() && high.is_row_independent() =>
            {
                operand
            }
            Expression::Comparison { operator, left, right, .. }
                if *operator != ComparisonOperator::NotEqual =>
            {
                match (left.is_row_independent(), right.is_row_independent()) {
                    (false, true) => left,
                    (true, false) => right,
                    _ => return None,
                }
            }
            _ => return None,
        };
        let Expression::Column(slot) = **operand else { return None };
        let (_, statistics) = self.column(operand)?;
        let Slot { source, column: SourceColumn::Field(place) } = self.slots.get(slot)? else { return None };
        let has_bounds = matches!(
            self.sources.get(*source)?.kind.column_type(*place)?,
            SqlType::Exact { width: ExactWidth::Short | ExactWidth::Long | ExactWidth::Int64, .. }
                | SqlType::Date
                | SqlType::Time
                | SqlType::Timestamp
                | SqlType::Float
                | SqlType::Double
        );
        has_bounds.then_some((slot, statistics.correlation.clamp(-1.0, 1.0)))
    }

    /// Part of the rows for which a condition is true.
    fn fraction(&self, condition: &Expression) -> f64 {
        let fraction = match condition {
            Expression::Constant(Value::Boolean(true)) => 1.0,
            Expression::Constant(_) => 0.0,
            Expression::Comparison { operator, left, right, .. } => {
                self.comparison_fraction(*operator, left, right)
            }
            Expression::Between { .. } => {
                let mut bounds = Vec::new();
                match self.note_bounds(condition, &mut bounds) {
                    true => bounds.iter().map(Bounds::fraction).product(),
                    false => RANGE_FRACTION / 2.0,
                }
            }
            Expression::InList { operand, list, .. } => {
                list.iter().map(|item| self.equal_fraction(operand, item)).sum()
            }
            Expression::IsNull(operand) => {
                self.column(operand).map_or(EQUAL_FRACTION, |(_, column)| column.null_fraction)
            }
            Expression::Distinct { left, right, .. } => 1.0 - self.equal_fraction(left, right),
            Expression::Not(inner) => match inner.as_ref() {
                Expression::Comparison { .. }
                | Expression::Between { .. }
                | Expression::InList { .. }
                | Expression::Pattern(_)
                | Expression::IsNull(_)
                | Expression::Distinct { .. }
                | Expression::Not(_)
                | Expression::And(_)
                | Expression::Or(_)
                | Expression::Subquery(_) => 1.0 - self.fraction(inner),
                _ => OTHER_FRACTION,
            },
            Expression::And(parts) => self.selectivity(parts),
            Expression::Or(parts) => {
                1.0 - parts.iter().map(|part| 1.0 - self.fraction(part)).product::<f64>()
            }
            Expression::Pattern(pattern) => self.prefix_fraction(pattern).unwrap_or(match pattern.kind {
                PatternKind::Starting => PREFIX_FRACTION,
                _ => PATTERN_FRACTION,
            }),
            Expression::Subquery(subquery) => match subquery.kind {
                SubqueryKind::Exists | SubqueryKind::Quantified { .. } => SUBQUERY_FRACTION,
                _ => OTHER_FRACTION,
            },
            _ => OTHER_FRACTION,
        };
        fraction.clamp(0.0, 1.0)
    }

    /// Part of the rows whose texts begin with what a pattern begins with, if that is known.
    fn prefix_fraction(&self, pattern: &PatternMatch) -> Option<f64> {
        let (_, column) = self.column(&pattern.operand)?;
        let prefix = match pattern.kind {
            PatternKind::Starting => constant(&pattern.pattern)?,
            PatternKind::Like if pattern.escape.is_none() => constant(&like_prefix(&pattern.pattern)?)?,
            _ => return None,
        };
        let Value::Text(text) = &prefix else { return None };
        if text.bytes().is_empty() || column.histogram.len() < 2 {
            return None;
        }
        let after = [text.bytes(), &[b'z'; PREFIX_END_BYTES]].concat();
        let after = Value::Text(Text::new(after, text.character_set()));
        let part = part_below(column, &after)? - part_below(column, &prefix)?;
        // Within a slice of the histogram nothing is known.
        let slice = 1.0 / count(column.histogram.len() as u64);
        Some(part.max(slice / 4.0))
    }

    fn comparison_fraction(
        &self,
        operator: ComparisonOperator,
        left: &Expression,
        right: &Expression,
    ) -> f64 {
        match operator {
            ComparisonOperator::Equal => self.equal_fraction(left, right),
            ComparisonOperator::NotEqual => 1.0 - self.equal_fraction(left, right),
            _ if left.is_row_independent() || right.is_row_independent() => RANGE_FRACTION,
            _ => OTHER_FRACTION,
        }
    }

    /// Part of the rows, or of the pairs of rows, in which two values are equal.
    pub(crate) fn equal_fraction(&self, left: &Expression, right: &Expression) -> f64 {
        let fraction = self.equal_fraction_of_values(left, right);
        let following = self.following_fraction(left, right).or_else(|| self.following_fraction(right, left));
        following.map_or(fraction, |following| fraction.min(following))
    }

    /// Part of a table's rows that follow the working row of a recursion, where `working` is a value of that and `other` one of the
    /// table. A recursion has an end since a row is followed by about one on the average, however often each value is in the table:
    /// most working rows are leaves.
    fn following_fraction(&self, working: &Expression, other: &Expression) -> Option<f64> {
        let (working, other) = (self.source_of(working)?, self.source_of(other)?);
        let kind = |source: usize| self.sources.get(source).map(|source| &source.kind);
        let follows = matches!(kind(working), Some(SourceKind::Working(..)))
            && matches!(kind(other), Some(SourceKind::Table(_)));
        follows.then(|| 1.0 / self.rows(other))
    }

    /// The only source of the columns of an expression.
    fn source_of(&self, expression: &Expression) -> Option<usize> {
        let mut sources = Vec::new();
        expression.for_each_column(&mut |slot| sources.extend(self.slots.get(slot).map(|slot| slot.source)));
        let first = *sources.first()?;
        sources.iter().all(|source| *source == first).then_some(first)
    }

    fn equal_fraction_of_values(&self, left: &Expression, right: &Expression) -> f64 {
        for (this, other) in [(left, right), (right, left)] {
            if !other.is_row_independent() {
                continue;
            }
            let Some((_, column)) = self.column(this) else { continue };
            if let Some(value) = constant(other) {
                if let Some((_, share)) = column.common.iter().find(|(known, _)| is_equal(known, &value)) {
                    return *share;
                }
                let others = (column.distinct - count(column.common.len() as u64)).max(1.0);
                return (rest(column) / others).min(1.0);
            }
            return (1.0 - column.null_fraction) / column.distinct.max(1.0);
        }
        if left.is_row_independent() || right.is_row_independent() {
            let this = if left.is_row_independent() { right } else { left };
            return match this.is_row_independent() {
                true => OTHER_FRACTION,
                false => 1.0 / self.distinct(this).max(1.0 / EQUAL_FRACTION),
            };
        }
        let distinct = self.distinct(left).max(self.distinct(right));
        match (self.column(left), self.column(right)) {
            (Some((_, left)), Some((_, right))) => joined_fraction(left, right, distinct),
            _ => 1.0 / distinct,
        }
    }

    /// Part of the pairs of rows in which a value of one side is between two columns of the other, as far as the mean distance
    /// between these says.
    pub(crate) fn between_fraction(
        &self,
        operand: &Expression,
        low: &Expression,
        high: &Expression,
    ) -> Option<f64> {
        let ends = |expression: &Expression| {
            let (_, column) = self.column(expression)?;
            Some((number(column.least.as_ref()?)?, number(column.greatest.as_ref()?)?))
        };
        let ((least, greatest), low, high) = (ends(operand)?, ends(low)?, ends(high)?);
        let distance = f64::midpoint(high.0, high.1) - f64::midpoint(low.0, low.1);
        (greatest > least && distance > 0.0)
            .then(|| (distance / (greatest - least)).clamp(0.0, OTHER_FRACTION))
    }

    /// How the values of columns, by slot, are spread that are equal to each other.
    pub(crate) fn value_shares(&self, slots: &[usize]) -> Vec<ValueShares> {
        let known: Vec<Option<&ColumnStatistics>> = slots
            .iter()
            .map(|slot| self.column(&Expression::Column(*slot)).map(|(_, column)| column))
            .collect();
        let mut values: Vec<&Value> = Vec::new();
        for (value, _) in known.iter().flatten().flat_map(|column| &column.common) {
            if values.len() < COMMON_COMPARED && !values.iter().any(|other| is_equal(other, value)) {
                values.push(value);
            }
        }
        let shares = slots.iter().zip(known).map(|(slot, column)| {
            let distinct = self.distinct(&Expression::Column(*slot));
            let mut rest = column.map_or(1.0, rest);
            let of_column = column.map_or(0, |column| column.common.len());
            let each = rest / (distinct - count(of_column as u64)).max(1.0);
            let own = |value: &Value| {
                let mut common = column.into_iter().flat_map(|column| &column.common);
                common.find(|(other, _)| is_equal(other, value)).map(|(_, share)| *share)
            };
            let mut left = distinct;
            let common = values.iter().map(|value| {
                left -= 1.0;
                own(value).unwrap_or_else(|| {
                    rest -= each;
                    each
                })
            });
            let common = common.collect();
            ValueShares { common, rest: rest.max(0.0), others: left.max(1.0), distinct }
        });
        shares.collect()
    }

    /// How many different values an expression has.
    pub(crate) fn distinct(&self, expression: &Expression) -> f64 {
        if let Some((_, column)) = self.column(expression) {
            return column.distinct.max(1.0);
        }
        let mut rows: f64 = 1.0;
        expression.for_each_column(&mut |slot| {
            if let Some(slot) = self.slots.get(slot) {
                rows = rows.max(self.rows(slot.source));
            }
        });
        match expression {
            Expression::Function { function, arguments, .. } if function.0.name == "EXTRACT" => {
                self.distinct_parts(arguments).unwrap_or(DISTINCT_UNKNOWN).min(rows)
            }
            Expression::Column(slot) if self.is_key(*slot) => rows,
            Expression::Column(_) => rows.min(DISTINCT_UNKNOWN.max(rows / 10.0)),
            _ => rows.min(DISTINCT_UNKNOWN),
        }
    }

    /// How many different values EXTRACT gives.
    fn distinct_parts(&self, arguments: &[Expression]) -> Option<f64> {
        let [part, date] = arguments else { return None };
        let part = date_part(part)?;
        let (.., values) = DATE_PARTS.into_iter().find(|(_, known, _)| *known == part)?;
        values.or_else(|| {
            let (_, column) = self.column(date)?;
            let days = |value: &Value| match value {
                Value::Timestamp(_) => number(value).map(|ticks| ticks / DAY_TICKS),
                other => number(other),
            };
            let (least, greatest) = (days(column.least.as_ref()?)?, days(column.greatest.as_ref()?)?);
            Some(((greatest - least) / YEAR_DAYS).ceil().max(1.0))
        })
    }

    /// The mean of the numbers of a column, and how far they are from it.
    pub(crate) fn mean_and_deviation(&self, expression: &Expression) -> Option<(f64, f64)> {
        let (_, column) = self.column(expression)?;
        let common: Vec<(f64, f64)> = column
            .common
            .iter()
            .filter_map(|(value, share)| number(value).map(|value| (value, *share)))
            .collect();
        let bounds: Vec<f64> = match column.histogram.len() {
            0 | 1 => column.least.iter().chain(&column.greatest).filter_map(number).collect(),
            _ => column.histogram.iter().filter_map(number).collect(),
        };
        let each = rest(column) / count(bounds.len().max(1) as u64);
        let weighted: Vec<(f64, f64)> =
            common.into_iter().chain(bounds.into_iter().map(|bound| (bound, each))).collect();
        let weight: f64 = weighted.iter().map(|(_, share)| share).sum();
        if weight <= 0.0 {
            return None;
        }
        let mean = weighted.iter().map(|(value, share)| value * share).sum::<f64>() / weight;
        let variance =
            weighted.iter().map(|(value, share)| (value - mean).powi(2) * share).sum::<f64>() / weight;
        Some((mean, variance.sqrt()))
    }

    /// How many different keys there are of the columns of each index together: by their slots, of two columns and more.
    pub(crate) fn composites(&self, source: usize, relation: &Relation) -> Vec<Composite> {
        let slot_of = |name: &String| {
            let place = relation.columns.iter().position(|column| column.name == *name)?;
            let wanted = Slot { source, column: SourceColumn::Field(place) };
            self.slots.iter().position(|slot| *slot == wanted)
        };
        let mut composites = Vec::new();
        for index in &relation.indexes {
            if index.expression_source.is_some() || index.condition_source.is_some() {
                continue;
            }
            let slots: Vec<usize> = index.columns.iter().map_while(slot_of).collect();
            let known = self.index(source, index);
            for columns in 2..=slots.len() {
                let of_statistics = known.and_then(|index| index.distinct.get(columns - 1)).copied();
                let is_key = index.unique && columns == index.columns.len();
                let distinct = if is_key { Some(self.rows(source)) } else { of_statistics };
                if let Some(distinct) = distinct.filter(|distinct| *distinct >= 1.0) {
                    composites
                        .push(Composite { columns: slots.iter().take(columns).copied().collect(), distinct });
                }
            }
        }
        composites
    }

    /// Whether a column is a unique key by itself.
    fn is_key(&self, slot: usize) -> bool {
        let Some(Slot { source, column: SourceColumn::Field(place) }) = self.slots.get(slot) else {
            return true;
        };
        let Some(SourceKind::Table(relation)) = self.sources.get(*source).map(|source| &source.kind) else {
            return false;
        };
        let Some(column) = relation.columns.get(*place) else { return false };
        relation.indexes.iter().any(|index| {
            index.unique
                && index.condition_source.is_none()
                && matches!(index.columns.as_slice(), [only] if *only == column.name)
        })
    }

    /// Rows that the first parts of an index leave when they are given by equality, `conditions` among them if that is one
    /// part.
    pub(crate) fn equal_rows<'e>(
        &self,
        source: usize,
        index: &Index,
        parts: usize,
        conditions: impl IntoIterator<Item = &'e Expression>,
    ) -> f64 {
        let rows = self.rows(source);
        let Some(place) = parts.checked_sub(1) else { return rows };
        let known = self.index(source, index).and_then(|index| index.distinct.get(place)).copied();
        if parts == 1 && self.knows_values(source, index) {
            return rows * self.selectivity(conditions);
        }
        if let Some(distinct) = known.filter(|distinct| *distinct >= 1.0) {
            return rows / distinct;
        }
        match index.selectivity.get(place) {
            Some(selectivity) if *selectivity > 0.0 => rows * selectivity,
            _ if self.has_columns(source) => rows * self.selectivity(conditions),
            _ => rows * EQUAL_FRACTION.powi(i32::try_from(parts).unwrap_or(1)),
        }
    }

    /// How far the rows of a table lie in the order of an index, -1 to 1.
    pub(crate) fn order(&self, source: usize, relation: &Relation, index: &Index) -> f64 {
        let column = index.columns.first().and_then(|name| relation.column(name));
        let statistics = self.tables.get(source).and_then(Option::as_ref);
        match (statistics, column) {
            (Some(statistics), Some(column)) => {
                statistics.column(column.field_id).map_or(0.0, |column| column.correlation.clamp(-1.0, 1.0))
            }
            // Nothing is known: keys are often given in order.
            _ => 1.0,
        }
    }

    /// Row blocks of a table, more or less.
    pub(crate) fn blocks(&self, source: usize) -> f64 {
        let known = self.tables.get(source).and_then(Option::as_ref).map(|table| count(table.blocks));
        known.filter(|blocks| *blocks > 0.0).unwrap_or(self.rows(source) / BLOCK_ROWS).max(1.0)
    }

    /// Whether the values of the columns of an index are known.
    pub(crate) fn knows_values(&self, source: usize, index: &Index) -> bool {
        index.expression_source.is_none() && self.has_columns(source)
    }

    fn has_columns(&self, source: usize) -> bool {
        self.tables.get(source).and_then(Option::as_ref).is_some_and(|table| !table.columns.is_empty())
    }

    fn index(&self, source: usize, index: &Index) -> Option<&IndexStatistics> {
        self.tables.get(source)?.as_ref()?.index(IndexId(index.id.0))
    }

    /// What is known of the values of a column, also where they are converted.
    fn column(&self, expression: &Expression) -> Option<(usize, &ColumnStatistics)> {
        let slot = match expression {
            Expression::Column(slot) => *slot,
            Expression::Cast { operand, .. } => return self.column(operand),
            _ => return None,
        };
        let Slot { source, column: SourceColumn::Field(place) } = self.slots.get(slot)? else { return None };
        let SourceKind::Table(relation) = &self.sources.get(*source)?.kind else { return None };
        let field = relation.columns.get(*place)?.field_id;
        let statistics = self.tables.get(*source)?.as_ref()?.column(field)?;
        Some((slot, statistics))
    }

    /// Takes a condition in that bounds one column; false if it does not.
    fn note_bounds(&self, condition: &Expression, bounds: &mut Vec<Bounds>) -> bool {
        use ComparisonOperator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
        match condition {
            Expression::Between { operand, low, high, .. } => {
                let (low_at_hand, high_at_hand) = (low.is_row_independent(), high.is_row_independent());
                if !matches!(**operand, Expression::Column(_)) || !low_at_hand || !high_at_hand {
                    return false;
                }
                self.note_bound(operand, low, true, bounds);
                self.note_bound(operand, high, false, bounds);
                true
            }
            Expression::Comparison { operator, left, right, .. } => {
                let (column, value, is_lower) = match (left.as_ref(), operator) {
                    (_, Equal | NotEqual) => return false,
                    (Expression::Column(_), Greater | GreaterOrEqual) => (left, right, true),
                    (Expression::Column(_), Less | LessOrEqual) => (left, right, false),
                    (_, Greater | GreaterOrEqual) => (right, left, false),
                    (_, Less | LessOrEqual) => (right, left, true),
                };
                if !matches!(**column, Expression::Column(_)) || !value.is_row_independent() {
                    return false;
                }
                self.note_bound(column, value, is_lower, bounds);
                true
            }
            _ => false,
        }
    }

    fn note_bound(&self, column: &Expression, value: &Expression, is_lower: bool, bounds: &mut Vec<Bounds>) {
        let Expression::Column(slot) = column else { return };
        let place = bounds.iter().position(|bound| bound.slot == *slot).unwrap_or_else(|| {
            bounds.push(Bounds { slot: *slot, below: None, up_to: None, null_fraction: 0.0, unknown: 0 });
            bounds.len() - 1
        });
        let Some(bound) = bounds.get_mut(place) else { return };
        let known = self.column(column).zip(constant(value));
        let part = known.and_then(|((_, column), value)| {
            bound.null_fraction = column.null_fraction;
            part_below(column, &value)
        });
        match part {
            None => bound.unknown += 1,
            Some(part) if is_lower => bound.below = Some(bound.below.map_or(part, |known| known.max(part))),
            Some(part) => bound.up_to = Some(bound.up_to.map_or(part, |known| known.min(part))),
        }
    }
}

impl Bounds {
    fn fraction(&self) -> f64 {
        let unknown = match self.unknown {
            0 => 1.0,
            1 => RANGE_FRACTION,
            _ => RANGE_FRACTION / 2.0,
        };
        if self.below.is_none() && self.up_to.is_none() {
            return unknown;
        }
        let all = 1.0 - self.null_fraction;
        let between = self.up_to.unwrap_or(all) - self.below.unwrap_or(0.0);
        between.clamp(0.0005, 1.0) * unknown
    }
}

/// Part of the pairs of rows in which two columns are equal. What is common on both sides makes most of the pairs.
fn joined_fraction(left: &ColumnStatistics, right: &ColumnStatistics, distinct: f64) -> f64 {
    let common = |column: &ColumnStatistics| column.common.len().min(COMMON_COMPARED);
    let (mut pairs, mut of_left, mut of_right) = (0.0, 0.0, 0.0);
    for (value, share) in left.common.iter().take(common(left)) {
        let other = right.common.iter().take(common(right)).find(|(other, _)| is_equal(value, other));
        if let Some((_, other)) = other {
            pairs += share * other;
            of_left += share;
            of_right += other;
        }
    }
    let others = |column: &ColumnStatistics, known: f64| (1.0 - column.null_fraction - known).max(0.0);
    (pairs + others(left, of_left) * others(right, of_right) / distinct).clamp(0.0, 1.0)
}

/// Part of all rows that have a value which is not among the common ones.
fn rest(column: &ColumnStatistics) -> f64 {
    (1.0 - column.null_fraction - column.common.iter().map(|(_, share)| share).sum::<f64>()).max(0.0)
}

/// Part of all rows whose values are below this one.
fn part_below(column: &ColumnStatistics, value: &Value) -> Option<f64> {
    let mut part = 0.0;
    for (common, share) in &column.common {
        if order_of(common, value)? == Ordering::Less {
            part += share;
        }
    }
    let (first, last) = match (column.histogram.first(), column.histogram.last()) {
        (Some(first), Some(last)) => (first, last),
        _ => (column.least.as_ref()?, column.greatest.as_ref()?),
    };
    let rest = rest(column);
    if order_of(value, first)? != Ordering::Greater {
        return Some(part);
    }
    if order_of(value, last)? == Ordering::Greater {
        return Some(part + rest);
    }
    let slices = column.histogram.len().saturating_sub(1).max(1);
    let place = column.histogram.partition_point(|bound| order_of(bound, value) == Some(Ordering::Less));
    let slice = place.saturating_sub(1).min(slices - 1);
    let (low, high) = match (column.histogram.get(slice), column.histogram.get(slice + 1)) {
        (Some(low), Some(high)) => (low, high),
        _ => (first, last),
    };
    let within = match (number(low), number(value), number(high)) {
        (Some(low), Some(value), Some(high)) if high > low => ((value - low) / (high - low)).clamp(0.0, 1.0),
        _ => 0.5,
    };
    Some(part + rest * (count(slice as u64) + within) / count(slices as u64))
}

/// What is known of a table; nothing of those that have no rows in the store, and of temporary tables only in a plan for a
/// session or transaction that keeps rows in them.
fn of_table(statistics: &Statistics, relation: &Relation) -> Option<Arc<RelationStatistics>> {
    relation.is_stored().then(|| statistics.relation(RelationId(relation.id.0))).flatten()
}

/// Row blocks of a table, as far as they are known.
pub(crate) fn blocks_of_table(statistics: &Statistics, relation: &Relation) -> f64 {
    of_table(statistics, relation).map_or(1.0, |table| count(table.blocks).max(1.0))
}

fn rows_of_table(relation: &Relation, statistics: &Statistics) -> f64 {
    match of_table(statistics, relation) {
        Some(known) => count(known.rows),
        None if relation.is_temporary() => ROWS_TEMPORARY,
        None => statistics.external_rows(relation).map_or(ROWS_UNKNOWN, count),
    }
}

/// Rows that a plan gives, more or less.
fn rows_of(node: &Node, statistics: &Statistics) -> f64 {
    let of = |node: &Node| rows_of(node, statistics);
    match node {
        Node::Single | Node::Count(_) | Node::WorkingRow(_) => 1.0,
        Node::Table(scan) => {
            let rows = rows_of_table(&scan.relation, statistics);
            match &scan.access {
                Access::Natural => rows,
                Access::Index { ranges, .. } if ranges.iter().all(|range| range.unique) => {
                    count(ranges.len() as u64)
                }
                Access::Index { ordered: Some(_), .. } => rows,
                Access::Index { .. } | Access::Rows(_) => (rows * RANGE_FRACTION).max(1.0),
                Access::RowKeys(_) | Access::RowNumber(_) => 1.0,
            }
        }
        Node::External(scan) => rows_of_table(&scan.relation, statistics),
        Node::System(_) | Node::Procedure(_) => ROWS_UNKNOWN,
        Node::Filter(filter) => (of(&filter.input) * OTHER_FRACTION).max(1.0),
        Node::Project(project) => of(&project.input),
        Node::NestedLoop(join) => of(&join.outer),
        Node::HashJoin(join) => of(&join.outer).max(of(&join.inner)),
        Node::RangeJoin(join) => of(&join.outer).max(of(&join.inner)),
        Node::Sort(sort) => of(&sort.input),
        Node::Aggregate(aggregate) if aggregate.keys.is_empty() => 1.0,
        Node::Aggregate(aggregate) => (of(&aggregate.input) / 5.0).max(1.0),
        Node::Window(window) => of(&window.input),
        Node::Distinct(distinct) => (of(&distinct.input) / 2.0).max(1.0),
        Node::Shared(shared) => of(&shared.input),
        Node::Union(union) => union.inputs.iter().map(of).sum(),
        Node::Limit(limit) => match limit.first.as_ref().and_then(constant).as_ref().and_then(number) {
            Some(first) => of(&limit.input).min(first.max(1.0)),
            None => of(&limit.input),
        },
        Node::Recursive(recursive) => of(&recursive.anchor) * 10.0,
        Node::Lock(lock) => of(&lock.input),
    }
}

/// The part of a date that a constant stands for.
fn date_part(expression: &Expression) -> Option<DatePart> {
    let Expression::Constant(value) = expression else { return None };
    DATE_PARTS.into_iter().find(|(part, ..)| part_value(*part) == *value).map(|(_, part, _)| part)
}

/// The value of an expression of constants.
pub(crate) fn constant(expression: &Expression) -> Option<Value> {
    match expression {
        Expression::Constant(value) => Some(value.clone()),
        Expression::Cast { operand, to } => convert::cast(&constant(operand)?, to, &CastContext::UTC).ok(),
        Expression::Negate(operand) => arithmetic::negate(&constant(operand)?).ok(),
        Expression::Arithmetic { operator, left, right, result } => {
            arithmetic::apply(*operator, &constant(left)?, &constant(right)?, result, &CastContext::UTC).ok()
        }
        Expression::Function { function, arguments, .. } if function.0.name == "DATEADD" => {
            let [amount, part, date] = arguments.as_slice() else { return None };
            temporal::add_to_part(date_part(part)?, &constant(amount)?, &constant(date)?).ok()
        }
        _ => None,
    }
}

fn order_of(left: &Value, right: &Value) -> Option<Ordering> {
    compare::compare(left, right, Collation::default()).ok()
}

fn is_equal(left: &Value, right: &Value) -> bool {
    order_of(left, right) == Some(Ordering::Equal)
}

/// A value on a line, to see how far between two others it lies.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer { unscaled, scale } => Some(*unscaled as f64 * 10f64.powi(i32::from(*scale))),
        Value::Int128 { unscaled, scale } => Some(*unscaled as f64 * 10f64.powi(i32::from(*scale))),
        Value::Float(value) => Some(f64::from(*value)),
        Value::Double(value) => Some(*value),
        Value::Date(date) => Some(f64::from(date.0)),
        Value::Timestamp(timestamp) => Some(timestamp.ticks() as f64),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count(number: u64) -> f64 {
    number as f64
}
