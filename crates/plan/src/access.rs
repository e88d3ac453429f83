//! Which index reads a table, or none.
//!
//! What each way costs says [`cost`], from how many rows it reads ([`Estimator`]).

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::layout::is_maintained;
use farbird_catalog::{Index, Relation};
use farbird_expression::{Expression, PatternKind};
use farbird_sql::ast::ComparisonOperator;
use farbird_types::{Collation, SqlType};

use crate::bound::environment::Surroundings;
use crate::bound::source::{Slot, SourceColumn};
use crate::cost;
use crate::estimate::{Estimator, RANGE_FRACTION};
use crate::node::{Access, AccessHint, IndexRange, RangeKey, RowSet};
use crate::prefix::like_prefix;

/// Most ranges of one scan: OR and IN beyond that read the whole table.
const RANGES_MAX: usize = 1_500;

/// Most indexes that are tried together with the one that leaves the fewest rows.
const SETS_MAX: usize = 4;

/// A way to read a table.
#[derive(Debug, Clone)]
pub(crate) struct AccessChoice {
    /// How.
    pub(crate) access: Access,
    /// How many rows that reads, more or less.
    pub(crate) rows: f64,
    /// What it costs.
    pub(crate) cost: f64,
    /// What of that is for its rows: as much is added if there are as many again.
    pub(crate) rows_cost: f64,
    /// How far the rows lie in the order in which they are found, -1 to 1.
    order: f64,
    /// The numbers of the conditions that it makes use of.
    conditions: Vec<usize>,
}

impl AccessChoice {
    /// Reading all rows of a table.
    pub(crate) fn of_all(access: Access, rows: f64, cost: f64) -> AccessChoice {
        AccessChoice { access, rows, cost, rows_cost: 0.0, order: 1.0, conditions: Vec::new() }
    }

    /// Those of the conditions that it was chosen by which it makes no use of.
    pub(crate) fn left_over<'c>(&self, conditions: &'c [Expression]) -> impl Iterator<Item = &'c Expression> {
        let conditions = conditions.iter().enumerate();
        conditions.filter(|(number, _)| !self.conditions.contains(number)).map(|(_, condition)| condition)
    }
}

/// Rows that indexes name.
#[derive(Debug, Clone)]
struct Named {
    set: RowSet,
    ranges: f64,
    rows: f64,
    /// The row blocks in which they are.
    blocks: f64,
    /// The numbers of the conditions that they meet.
    conditions: Vec<usize>,
}

impl Named {
    /// Whether another set follows, in part, from what this one does.
    fn says_of(&self, other: &Named) -> bool {
        other.conditions.is_empty() || self.conditions.iter().any(|number| other.conditions.contains(number))
    }
}

/// What choosing looks at.
pub(crate) struct AccessPlanner<'a> {
    /// The table's number among the sources.
    pub(crate) source: usize,
    /// The table.
    pub(crate) relation: &'a Arc<Relation>,
    /// What index expressions are bound against.
    pub(crate) surroundings: Surroundings<'a>,
    /// What is known of the tables.
    pub(crate) estimator: &'a Estimator<'a>,
    /// The slots of the block.
    pub(crate) slots: &'a [Slot],
    /// Whether a source's columns are at hand when the table is read.
    pub(crate) available: &'a dyn Fn(usize) -> bool,
    /// What a PLAN clause says of it.
    pub(crate) hint: Option<&'a AccessHint>,
    /// Whether all rows will be asked for: then those that an index names may be put in order first.
    pub(crate) reads_all: bool,
}

/// A part of an index key.
enum Part {
    /// A column, by its place in the table.
    Column(usize),
    /// COMPUTED BY, over the row by slot (field id).
    Expression(Expression),
}

/// What a condition says about a part of an index key.
#[derive(Debug, Clone)]
enum Claim {
    /// It equals this; with `true` also if both are NULL.
    Equal(Expression, bool),
    /// It is above this (`true`: or equal).
    Above(Expression, bool),
    /// It is below this (`true`: or equal).
    Below(Expression, bool),
    /// It is between these.
    Within(Expression, Expression),
    /// It starts with this.
    Prefix(Expression),
    /// It equals one of these.
    OneOf(Vec<Expression>),
}

impl AccessPlanner<'_> {
    /// The best way to read the table by these conditions.
    pub(crate) fn choose(&self, conditions: &[Expression]) -> AccessChoice {
        let rows = self.estimator.rows(self.source);
        let found = rows * self.estimator.selectivity(conditions);
        let looked_at = self.estimator.rows_looked_at(self.source, conditions);
        let scan = cost::scan_of_blocks(rows, looked_at, found, self.estimator.blocks(self.source));
        let natural = AccessChoice::of_all(Access::Natural, rows, scan);
        let candidates = self.candidates(conditions);
        let by_sets = if self.reads_all { self.by_sets(&candidates, found) } else { Vec::new() };
        let all = candidates.into_iter().chain(by_sets);
        let cheaper = |best: AccessChoice, choice: AccessChoice| {
            if choice.cost < best.cost { choice } else { best }
        };
        match self.hint {
            None => all.fold(natural, cheaper),
            // Of several indexes that a clause names as many are used as there are conditions for.
            Some(_) if self.is_told_several() => all
                .reduce(|best, choice| match index_count(&choice.access).cmp(&index_count(&best.access)) {
                    Ordering::Greater => choice,
                    Ordering::Equal => cheaper(best, choice),
                    Ordering::Less => best,
                })
                .unwrap_or(natural),
            Some(_) => all.reduce(cheaper).unwrap_or(natural),
        }
    }

    /// Ways to read the rows that indexes name in row order: those of one index, and of several that leave fewer together.
    fn by_sets(&self, candidates: &[AccessChoice], found: f64) -> Vec<AccessChoice> {
        let mut sets: Vec<Named> = candidates.iter().filter_map(|choice| self.named(choice)).collect();
        sets.sort_by(|left, right| left.rows.total_cmp(&right.rows));
        let mut choices: Vec<AccessChoice> =
            sets.iter().map(|set| self.by_set(std::slice::from_ref(set), found)).collect();
        // The one that names the fewest rows, with each that leaves fewer of those for less.
        let mut sets = sets.into_iter();
        let mut together: Vec<Named> = sets.next().into_iter().collect();
        let mut best = choices.first().map_or(f64::INFINITY, |choice| choice.cost);
        let is_told = self.is_told_several();
        for set in sets.take(if is_told { usize::MAX } else { SETS_MAX }) {
            if !is_told && together.iter().any(|other| other.says_of(&set)) {
                continue;
            }
            together.push(set);
            let choice = self.by_set(&together, found);
            if choice.cost < best || is_told {
                best = choice.cost;
                choices.push(choice);
            } else {
                together.pop();
            }
        }
        choices
    }

    /// The rows that an access by index names; of one row by its key there is nothing to be put in order.
    fn named(&self, choice: &AccessChoice) -> Option<Named> {
        let Access::Index { ranges, ordered: None } = &choice.access else { return None };
        if ranges.iter().all(|range| range.unique) && ranges.len() == 1 && !self.is_told_several() {
            return None;
        }
        let mut sets: Vec<RowSet> = ranges.iter().cloned().map(RowSet::Range).collect();
        let set = if sets.len() == 1 { sets.swap_remove(0) } else { RowSet::Any(sets) };
        let blocks =
            cost::blocks_of(choice.rows, self.estimator.rows(self.source), self.blocks(), choice.order);
        let (rows, conditions) = (choice.rows.max(1.0), choice.conditions.clone());
        Some(Named { set, ranges: count(ranges.len()), rows, blocks, conditions })
    }

    /// Reading the rows that all of these name.
    fn by_set(&self, together: &[Named], found: f64) -> AccessChoice {
        let all = self.estimator.rows(self.source);
        let rows = together.iter().fold(all, |rows, set| rows * (set.rows / all).min(1.0));
        let least = |least: f64, set: &Named| least.min(set.blocks);
        let blocks = match together {
            [only] => only.blocks,
            several => several.iter().fold(cost::blocks_of(rows, all, self.blocks(), 0.0), least),
        };
        let ranges: f64 = together.iter().map(|set| set.ranges).sum();
        let entries: f64 = together.iter().map(|set| set.rows).sum();
        let cost = cost::named_rows(ranges, entries, rows, found, all, blocks, self.blocks());
        let mut sets: Vec<RowSet> = together.iter().map(|set| set.set.clone()).collect();
        let set = if sets.len() == 1 { sets.swap_remove(0) } else { RowSet::All(sets) };
        let conditions = together.iter().flat_map(|set| &set.conditions).copied().collect();
        AccessChoice { access: Access::Rows(set), rows, cost, rows_cost: cost, order: 1.0, conditions }
    }

    /// Whether a PLAN clause names several indexes to find rows by.
    fn is_told_several(&self) -> bool {
        self.hint.is_some_and(|hint| hint.indexes().len() > 1)
    }

    fn blocks(&self) -> f64 {
        self.estimator.blocks(self.source)
    }

    /// Every way to read the table by an index or by the number of its row.
    pub(crate) fn candidates(&self, conditions: &[Expression]) -> Vec<AccessChoice> {
        if let Some(choice) = self.by_row(conditions) {
            return vec![choice];
        }
        let mut choices: Vec<AccessChoice> =
            self.offered().filter_map(|index| self.by_index(index, conditions)).collect();
        for (number, condition) in conditions.iter().enumerate() {
            if let Expression::Or(parts) = condition {
                choices.extend(self.by_alternatives(number, parts));
            }
        }
        choices
    }

    /// The indexes that may be used.
    fn offered(&self) -> impl Iterator<Item = &Index> {
        let is_allowed = |index: &&Index| self.hint.is_none_or(|hint| hint.allows(&index.name));
        self.relation.indexes.iter().filter(is_allowed)
    }

    /// Those of a PLAN clause that say nothing of these conditions, or whose order is not that of an access. As in Firebird
    /// an index counts as used that serves one alternative of an OR, and one that is not needed beside others.
    pub(crate) fn unused(&self, access: &Access, conditions: &[Expression]) -> Vec<String> {
        let Some(hint) = self.hint else { return Vec::new() };
        let is_followed = |name: &str| match access {
            Access::Index { ranges, ordered: Some(_) } => ranges.iter().any(|range| range.name == name),
            _ => false,
        };
        let order = hint.order().filter(|name| !is_followed(name)).into_iter();
        let finding = hint.indexes().iter().map(String::as_str).filter(|name| !self.serves(name, conditions));
        let mut unused: Vec<String> = order.chain(finding).map(str::to_owned).collect();
        // Firebird names those of other tables first, then the others as the table has them.
        let place = |name: &String| self.relation.indexes.iter().position(|index| index.name == *name);
        unused.sort_by_key(place);
        unused
    }

    fn serves(&self, name: &str, conditions: &[Expression]) -> bool {
        let Some(index) = self.relation.index(name) else { return false };
        let serves_alternative = |condition: &Expression| {
            let Expression::Or(parts) = condition else { return false };
            parts.iter().any(|part| {
                let mut conjuncts = Vec::new();
                part.clone().into_conjuncts(&mut conjuncts);
                self.by_index(index, &conjuncts).is_some()
            })
        };
        self.by_index(index, conditions).is_some() || conditions.iter().any(serves_alternative)
    }

    /// Reading single rows by RDB$DB_KEY or number.
    fn by_row(&self, conditions: &[Expression]) -> Option<AccessChoice> {
        for condition in conditions {
            let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. } = condition
            else {
                continue;
            };
            for (this, other) in [(left, right), (right, left)] {
                if !self.is_at_hand(other) {
                    continue;
                }
                let access = match this.as_ref() {
                    Expression::DbKey { row, .. } if self.is_row_number(row) => {
                        Access::RowKeys(vec![other.as_ref().clone()])
                    }
                    row if self.is_row_number(row) => Access::RowNumber(other.as_ref().clone()),
                    _ => continue,
                };
                let cost = cost::index(0.0, 1.0, 1.0, 1.0);
                return Some(AccessChoice::of_all(access, 1.0, cost));
            }
        }
        None
    }

    pub(crate) fn by_index(&self, index: &Index, conditions: &[Expression]) -> Option<AccessChoice> {
        if !is_maintained(self.relation, index) || !self.is_implied(index, conditions) {
            return None;
        }
        let mut range = empty_range(index);
        let mut used = Vec::new();
        let mut alternatives: Option<Vec<RangeKey>> = None;
        let mut bounded = 1.0;
        let parts = self.parts(index)?;
        let count_of_parts = parts.len();
        for (key, sql_type) in &parts {
            let sql_type = *sql_type;
            let claims = self.claims(key, &sql_type, conditions);
            if let Some((number, value, null_matches)) = claims.iter().find_map(|(number, claim)| match claim
            {
                Claim::Equal(value, null_matches) => Some((*number, value.clone(), *null_matches)),
                _ => None,
            }) {
                range.equal.push(RangeKey { value, sql_type, null_matches });
                used.push(number);
                continue;
            }
            let list = claims.iter().find_map(|(number, claim)| match claim {
                Claim::OneOf(list) if list.len() <= RANGES_MAX => Some((*number, list.clone())),
                _ => None,
            });
            if let Some((number, list)) = list {
                let keys = list.into_iter().map(|value| RangeKey { value, sql_type, null_matches: false });
                alternatives = Some(keys.collect());
                used.push(number);
                break;
            }
            let before = used.len();
            self.bound(&claims, &mut range, &sql_type, &mut used);
            let bounds = used.get(before..).unwrap_or_default();
            bounded = self.estimator.selectivity(bounds.iter().filter_map(|number| conditions.get(*number)));
            break;
        }
        if used.is_empty() {
            // A partial index whose condition is asked for leaves rows out even if nothing is said about its key.
            index.condition_source.as_ref()?;
            bounded = RANGE_FRACTION;
        }
        let equal = range.equal.len();
        let by_equal = used.iter().take(equal).filter_map(|number| conditions.get(*number));
        let mut rows = self.estimator.equal_rows(self.source, index, equal, by_equal) * bounded;
        range.unique = index.unique && equal == count_of_parts;
        if range.unique {
            rows = 1.0;
        }
        let ranges: Vec<IndexRange> = match alternatives {
            Some(keys) => {
                let given = used.iter().filter_map(|number| conditions.get(*number));
                rows = self.estimator.equal_rows(self.source, index, equal + 1, given);
                // Where the values of the column are known all items of the list have been counted.
                if equal > 0 || !self.estimator.knows_values(self.source, index) {
                    rows *= count(keys.len());
                }
                let ranges = keys.into_iter().map(|key| {
                    let mut one = range.clone();
                    one.equal.push(key);
                    one.unique = index.unique && one.equal.len() == count_of_parts;
                    one
                });
                let ranges: Vec<IndexRange> = ranges.collect();
                if ranges.iter().all(|range| range.unique) {
                    rows = count(ranges.len());
                }
                ranges
            }
            None => vec![range],
        };
        let order = self.estimator.order(self.source, self.relation, index);
        let mut cost = cost::index(count(ranges.len()), rows.max(1.0), order, self.blocks());
        let mut rows_cost = 0.0;
        if !ranges.iter().all(|range| range.unique) {
            cost += cost::NOT_UNIQUE;
            rows_cost = cost::index(0.0, rows.max(1.0), order, self.blocks());
        }
        let access = Access::Index { ranges, ordered: None };
        Some(AccessChoice { access, rows, cost, rows_cost, order, conditions: used })
    }

    /// The parts of an index key with their types.
    fn parts(&self, index: &Index) -> Option<Vec<(Part, SqlType)>> {
        if let Some(source) = &index.expression_source {
            // A text of another dialect than the database has now may mean something else.
            if index.dialect != self.surroundings.catalog.database.dialect {
                return None;
            }
            let bound = self.surroundings.row_expressions.value(self.relation, source).ok()?;
            let expression = Expression::clone(&bound.expression);
            return Some(vec![(Part::Expression(expression), bound.column_type.sql_type)]);
        }
        index
            .columns
            .iter()
            .map(|name| {
                let place = self.relation.columns.iter().position(|column| column.name == *name)?;
                Some((Part::Column(place), self.relation.columns.get(place)?.sql_type))
            })
            .collect()
    }

    /// Whether all rows that the conditions want are in a partial index: each part of its condition follows from one of
    /// them.
    fn is_implied(&self, index: &Index, conditions: &[Expression]) -> bool {
        let Some(source) = index.condition() else { return true };
        if index.dialect != self.surroundings.catalog.database.dialect {
            return false;
        }
        let bound = self.surroundings.row_expressions.condition(self.relation, source);
        let Ok(bound) = bound else { return false };
        let mut wanted = Vec::new();
        Expression::clone(&bound.expression).into_conjuncts(&mut wanted);
        let given: Vec<Expression> = conditions.iter().map(|condition| self.over_fields(condition)).collect();
        wanted.iter().all(|part| given.iter().any(|condition| implies(condition, part)))
    }

    /// An expression in terms of the table's row by slot (field id), as index expressions are.
    fn over_fields(&self, expression: &Expression) -> Expression {
        let mut moved = expression.clone();
        moved.move_columns(&|slot| match self.slots.get(slot) {
            Some(Slot { source, column: SourceColumn::Field(place) }) if *source == self.source => {
                self.relation.columns.get(*place).map_or(usize::MAX, |column| usize::from(column.field_id))
            }
            _ => usize::MAX,
        });
        moved
    }

    /// Bounds or prefix of the part of an index that no equality is given for.
    fn bound(
        &self,
        claims: &[(usize, Claim)],
        range: &mut IndexRange,
        sql_type: &SqlType,
        used: &mut Vec<usize>,
    ) {
        for (number, claim) in claims {
            if let Claim::Prefix(prefix) = claim {
                range.starting = Some(prefix.clone());
                range.bound_type = Some(*sql_type);
                used.push(*number);
                return;
            }
        }
        for (number, claim) in claims {
            match claim {
                Claim::Above(value, inclusive) if range.lower.is_none() => {
                    range.lower = Some((value.clone(), *inclusive));
                }
                Claim::Below(value, inclusive) if range.upper.is_none() => {
                    range.upper = Some((value.clone(), *inclusive));
                }
                Claim::Within(low, high) if range.lower.is_none() && range.upper.is_none() => {
                    range.lower = Some((low.clone(), true));
                    range.upper = Some((high.clone(), true));
                }
                _ => continue,
            }
            range.bound_type = Some(*sql_type);
            used.push(*number);
        }
    }

    /// OR, the condition of this number: each side reads by an index of its own.
    fn by_alternatives(&self, number: usize, parts: &[Expression]) -> Option<AccessChoice> {
        let mut all = Vec::new();
        let (mut rows, mut cost, mut rows_cost) = (0.0, 0.0, 0.0);
        let mut order = 1.0;
        for part in parts {
            let mut conjuncts = Vec::new();
            part.clone().into_conjuncts(&mut conjuncts);
            let best = self
                .offered()
                .filter_map(|index| self.by_index(index, &conjuncts))
                .min_by(|left, right| left.cost.total_cmp(&right.cost))?;
            let Access::Index { ranges, .. } = best.access else { return None };
            all.extend(ranges);
            rows += best.rows;
            cost += best.cost;
            rows_cost += best.rows_cost;
            order = f64::min(order, best.order.abs());
            if all.len() > RANGES_MAX {
                return None;
            }
        }
        let access = Access::Index { ranges: all, ordered: None };
        Some(AccessChoice { access, rows, cost, rows_cost, order, conditions: vec![number] })
    }

    /// What the conditions say about a part of a key, with their numbers.
    fn claims(&self, part: &Part, sql_type: &SqlType, conditions: &[Expression]) -> Vec<(usize, Claim)> {
        let collation = farbird_catalog::layout::collation_of(sql_type);
        conditions
            .iter()
            .enumerate()
            .filter_map(|(number, condition)| {
                Some((number, self.claim(part, sql_type, collation, condition)?))
            })
            .collect()
    }

    fn claim(
        &self,
        part: &Part,
        sql_type: &SqlType,
        collation: Collation,
        condition: &Expression,
    ) -> Option<Claim> {
        let is_text = matches!(sql_type, SqlType::Text(_));
        let same_order = |other: &Collation| !is_text || *other == collation;
        match condition {
            Expression::Comparison { operator, left, right, collation } if same_order(collation) => {
                if self.is_part(left, part) && self.is_at_hand(right) {
                    return comparison_claim(*operator, right);
                }
                if self.is_part(right, part) && self.is_at_hand(left) {
                    return comparison_claim(turned(*operator), left);
                }
                None
            }
            Expression::Between { operand, low, high, collation }
                if same_order(collation)
                    && self.is_part(operand, part)
                    && self.is_at_hand(low)
                    && self.is_at_hand(high) =>
            {
                Some(Claim::Within((**low).clone(), (**high).clone()))
            }
            Expression::InList { operand, list, collation }
                if same_order(collation)
                    && self.is_part(operand, part)
                    && list.iter().all(|item| self.is_at_hand(item)) =>
            {
                Some(Claim::OneOf(list.clone()))
            }
            Expression::IsNull(operand) if self.is_part(operand, part) => {
                Some(Claim::Equal(Expression::NULL, true))
            }
            Expression::Not(inner) => match inner.as_ref() {
                Expression::Distinct { left, right, collation } if same_order(collation) => {
                    if self.is_part(left, part) && self.is_at_hand(right) {
                        return Some(Claim::Equal((**right).clone(), true));
                    }
                    if self.is_part(right, part) && self.is_at_hand(left) {
                        return Some(Claim::Equal((**left).clone(), true));
                    }
                    None
                }
                _ => None,
            },
            Expression::Pattern(pattern)
                if is_text && same_order(&pattern.collation) && self.is_part(&pattern.operand, part) =>
            {
                match pattern.kind {
                    PatternKind::Starting if self.is_at_hand(&pattern.pattern) => {
                        Some(Claim::Prefix(pattern.pattern.clone()))
                    }
                    PatternKind::Like if pattern.escape.is_none() => {
                        like_prefix(&pattern.pattern).map(Claim::Prefix)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn is_part(&self, expression: &Expression, part: &Part) -> bool {
        match part {
            Part::Column(place) => self.slot_is(expression, SourceColumn::Field(*place)),
            Part::Expression(wanted) => self.over_fields(expression) == *wanted,
        }
    }

    fn is_row_number(&self, expression: &Expression) -> bool {
        self.slot_is(expression, SourceColumn::RowNumber)
    }

    fn slot_is(&self, expression: &Expression, column: SourceColumn) -> bool {
        match expression {
            Expression::Column(slot) => {
                self.slots.get(*slot).is_some_and(|slot| slot.source == self.source && slot.column == column)
            }
            _ => false,
        }
    }

    /// Whether a value can be computed before the table is read.
    fn is_at_hand(&self, expression: &Expression) -> bool {
        let mut at_hand = !expression.is_volatile();
        expression.for_each_column(&mut |slot| {
            let source = self.slots.get(slot).map(|slot| slot.source);
            at_hand =
                at_hand && source.is_some_and(|source| source != self.source && (self.available)(source));
        });
        at_hand
    }
}

/// Whether part of a partial index's condition is true wherever a condition is. As in Firebird 5 (Retrieval.cpp): it is the
/// same condition, or that is one of its alternatives, or it is IS NOT NULL of something that is compared; and also if each
/// alternative of the condition implies it.
fn implies(given: &Expression, wanted: &Expression) -> bool {
    if is_same(given, wanted) {
        return true;
    }
    match (given, wanted) {
        (Expression::And(parts), _) => parts.iter().any(|part| implies(part, wanted)),
        (Expression::Or(alternatives), _) => alternatives.iter().all(|given| implies(given, wanted)),
        (_, Expression::Or(alternatives)) => alternatives.iter().any(|wanted| implies(given, wanted)),
        (_, Expression::Not(inner)) => match inner.as_ref() {
            Expression::IsNull(operand) => compares(given, operand),
            _ => false,
        },
        _ => false,
    }
}

/// Whether two conditions are the same, whichever way round they are written.
fn is_same(left: &Expression, right: &Expression) -> bool {
    match (left, right) {
        (
            Expression::Comparison { operator, left, right, collation },
            Expression::Comparison { operator: other, left: low, right: high, collation: other_collation },
        ) => {
            collation == other_collation
                && ((operator == other && left == low && right == high)
                    || (turned(*operator) == *other && left == high && right == low))
        }
        // Where the compiled pattern is kept does not matter.
        (Expression::Pattern(left), Expression::Pattern(right)) => {
            left.kind == right.kind
                && left.operand == right.operand
                && left.pattern == right.pattern
                && left.escape == right.escape
                && left.collation == right.collation
        }
        _ => left == right,
    }
}

/// Whether a condition that compares an operand can be true only if that is not NULL.
fn compares(condition: &Expression, operand: &Expression) -> bool {
    match condition {
        Expression::Comparison { left, right, .. } => **left == *operand || **right == *operand,
        Expression::Between { operand: compared, low, high, .. } => {
            [compared, low, high].into_iter().any(|compared| **compared == *operand)
        }
        Expression::InList { operand: compared, .. } => **compared == *operand,
        Expression::Pattern(pattern) => pattern.operand == *operand || pattern.pattern == *operand,
        _ => false,
    }
}

/// A range of an index that holds everything.
pub(crate) fn empty_range(index: &Index) -> IndexRange {
    IndexRange {
        index: farbird_store::IndexId(index.id.0),
        name: index.name.clone(),
        equal: Vec::new(),
        lower: None,
        upper: None,
        starting: None,
        bound_type: None,
        unique: false,
    }
}

fn comparison_claim(operator: ComparisonOperator, value: &Expression) -> Option<Claim> {
    let value = value.clone();
    match operator {
        ComparisonOperator::Equal => Some(Claim::Equal(value, false)),
        ComparisonOperator::NotEqual => None,
        ComparisonOperator::Less => Some(Claim::Below(value, false)),
        ComparisonOperator::LessOrEqual => Some(Claim::Below(value, true)),
        ComparisonOperator::Greater => Some(Claim::Above(value, false)),
        ComparisonOperator::GreaterOrEqual => Some(Claim::Above(value, true)),
    }
}

/// The operator with its operands exchanged.
pub(crate) fn turned(operator: ComparisonOperator) -> ComparisonOperator {
    match operator {
        ComparisonOperator::Less => ComparisonOperator::Greater,
        ComparisonOperator::LessOrEqual => ComparisonOperator::GreaterOrEqual,
        ComparisonOperator::Greater => ComparisonOperator::Less,
        ComparisonOperator::GreaterOrEqual => ComparisonOperator::LessOrEqual,
        same => same,
    }
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn count(number: usize) -> f64 {
    number as f64
}

/// How many indexes an access reads.
fn index_count(access: &Access) -> usize {
    let names: BTreeSet<&str> = match access {
        Access::Index { ranges, .. } => ranges.iter().map(|range| range.name.as_str()).collect(),
        Access::Rows(set) => set.ranges().into_iter().map(|range| range.name.as_str()).collect(),
        _ => BTreeSet::new(),
    };
    names.len()
}

/// The values that an access looks at.
pub(super) fn access_expressions(access: &Access) -> Vec<&Expression> {
    match access {
        Access::Natural => Vec::new(),
        Access::RowKeys(keys) => keys.iter().collect(),
        Access::RowNumber(number) => vec![number],
        Access::Index { ranges, .. } => ranges.iter().flat_map(range_expressions).collect(),
        Access::Rows(set) => set.ranges().into_iter().flat_map(range_expressions).collect(),
    }
}

fn range_expressions(range: &IndexRange) -> impl Iterator<Item = &Expression> {
    let bounds = range.lower.iter().chain(&range.upper).map(|(value, _)| value);
    range.equal.iter().map(|key| &key.value).chain(bounds).chain(&range.starting)
}

pub(crate) fn access_expressions_mut(access: &mut Access) -> Vec<&mut Expression> {
    match access {
        Access::Natural => Vec::new(),
        Access::RowKeys(keys) => keys.iter_mut().collect(),
        Access::RowNumber(number) => vec![number],
        Access::Index { ranges, .. } => ranges.iter_mut().flat_map(range_expressions_mut).collect(),
        Access::Rows(set) => set.ranges_mut().into_iter().flat_map(range_expressions_mut).collect(),
    }
}

fn range_expressions_mut(range: &mut IndexRange) -> impl Iterator<Item = &mut Expression> {
    let bounds = range.lower.iter_mut().chain(&mut range.upper).map(|(value, _)| value);
    range.equal.iter_mut().map(|key| &mut key.value).chain(bounds).chain(&mut range.starting)
}
