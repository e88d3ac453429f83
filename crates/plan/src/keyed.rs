//! Reading a table by the keys of a hash join's other side, where those are few: the rows that an index names under them, in row order.
//!
//! Beside looking each row's partners up this comes to each row block once, by columns, and several threads may read. How many keys
//! there are turns out when the other side has been read: past [`KeyedRows::keys_max`] all rows are read, as if nothing had been planned.

use std::collections::BTreeSet;

use farbird_catalog::layout::is_maintained;
use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;
use farbird_types::{ExactWidth, SqlType};

use crate::access::{AccessChoice, empty_range};
use crate::bound::source::SourceColumn;
use crate::cost::{KEYS_MAX, KeyedReading};
use crate::join::{JoinPlanner, position};
use crate::node::{Access, IndexRange, KeyedRows, RangeKey, RowSet};

/// How many times as many rows as are expected may be found before all are read.
const ROWS_TIMES: f64 = 2.0;

/// How a table is read by keys.
pub(super) struct Keyed {
    slot: usize,
    sql_type: SqlType,
    range: IndexRange,
    pub(super) reading: KeyedReading,
}

impl JoinPlanner<'_> {
    /// How a table is read by the values of a column of others, to which a condition says that one of its own is equal that leads an index.
    pub(super) fn keyed(
        &self,
        source: usize,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) -> Option<Keyed> {
        if self.first_rows.is_some() || self.hint(source).is_some() {
            return None;
        }
        let own = BTreeSet::from([source]);
        let local = conditions.iter().filter(|condition| self.sources_of(condition).is_subset(&own));
        let part = self.estimator.selectivity(local);
        let ways =
            conditions.iter().filter_map(|condition| self.keyed_by(source, available, condition, part));
        ways.min_by(|left, right| left.reading.rows.total_cmp(&right.reading.rows))
    }

    fn keyed_by(
        &self,
        source: usize,
        available: &BTreeSet<usize>,
        condition: &Expression,
        part: f64,
    ) -> Option<Keyed> {
        let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, .. } = condition
        else {
            return None;
        };
        let (Expression::Column(left), Expression::Column(right)) = (left.as_ref(), right.as_ref()) else {
            return None;
        };
        let source_of = |slot: usize| self.slots.get(slot).map(|slot| slot.source);
        let is_other = |slot: usize| source_of(slot).is_some_and(|source| available.contains(&source));
        let slot = match (source_of(*left) == Some(source), source_of(*right) == Some(source)) {
            (true, false) if is_other(*right) => *left,
            (false, true) if is_other(*left) => *right,
            _ => return None,
        };
        if !self.have_one_unit(*left, *right) {
            return None;
        }
        let sql_type = self.slot_type(slot)?;
        if matches!(sql_type, SqlType::Exact { width: ExactWidth::Int128, .. }) {
            return None;
        }
        let relation = self.stored_table(source)?;
        let SourceColumn::Field(place) = self.slots.get(slot)?.column else { return None };
        let name = &relation.columns.get(place)?.name;
        let leads = relation.indexes.iter().filter(|index| {
            index.columns.first() == Some(name)
                && index.expression_source.is_none()
                && index.condition_source.is_none()
                && is_maintained(relation, index)
        });
        // The one with the fewest parts has the shortest entries.
        let index = leads.min_by_key(|index| index.columns.len())?;
        let reading = KeyedReading {
            rows: self.estimator.equal_rows(source, index, 1, [condition]).max(1.0),
            part,
            order: self.estimator.order(source, relation, index),
            all_rows: self.estimator.rows(source),
            blocks: self.estimator.blocks(source),
        };
        let mut range = empty_range(index);
        range.equal.push(RangeKey { value: Expression::NULL, sql_type, null_matches: false });
        range.unique = index.unique && index.columns.len() == 1;
        Some(Keyed { slot, sql_type, range, reading })
    }

    /// The access of a table that is read by the keys of so many rows, where reading all of it costs so much.
    pub(super) fn keyed_access(&self, source: usize, keyed: Keyed, keys: f64, natural: f64) -> AccessChoice {
        let Keyed { slot, sql_type, range, reading } = keyed;
        let keys_max = reading.keys_max(natural).max(keys).min(KEYS_MAX);
        let slots: Vec<usize> = self.slots_of(source).into_iter().map(|(slot, _)| slot).collect();
        let rows_max = (keys_max * reading.rows * ROWS_TIMES).min(reading.all_rows);
        let set = RowSet::Keys(KeyedRows {
            column: position(&slots, slot),
            sql_type,
            range,
            keys_max: keys_max as usize,
            rows_max: rows_max as usize,
        });
        AccessChoice::of_all(
            Access::Rows(set),
            (keys * reading.rows).min(reading.all_rows),
            reading.cost(keys),
        )
    }
}
