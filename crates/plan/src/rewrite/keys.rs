//! What is known of keys: which columns tell the rows of a source apart, and which are never NULL.

use std::collections::BTreeSet;

use farbird_catalog::Relation;
use farbird_catalog::layout::{collation_of, is_maintained};
use farbird_expression::Expression;
use farbird_sql::ast::ComparisonOperator;
use farbird_types::SqlType;

use crate::bound::source::{FromTree, SourceColumn, SourceKind};
use crate::node::{Node, SortKey};
use crate::rewrite::joins::Joins;

impl Joins {
    /// Whether a row of other sources has one partner at most in a source: conditions give it all columns of a key, by
    /// values that the source has no part in.
    pub(super) fn finds_one_row<'e>(
        &self,
        source: usize,
        conditions: impl IntoIterator<Item = &'e Expression>,
    ) -> bool {
        let given: BTreeSet<usize> =
            conditions.into_iter().filter_map(|condition| self.given_column(source, condition)).collect();
        self.has_key_among(source, &given)
    }

    /// How many keys of an order decide it: what comes behind all columns of a key without NULLs tells no rows apart. Said of
    /// a single table.
    pub(crate) fn deciding_keys(&self, order: &[SortKey]) -> usize {
        let FromTree::Source(source) = self.tree else { return order.len() };
        let mut places = BTreeSet::new();
        for (number, key) in order.iter().enumerate() {
            let Expression::Column(slot) = key.value else { return order.len() };
            let Some(slot) = self.slots.get(slot) else { return order.len() };
            match slot.column {
                SourceColumn::RowNumber => return number + 1,
                SourceColumn::Field(place) if self.is_not_null_column(source, slot.column) => {
                    places.insert(place);
                }
                SourceColumn::Field(_) => {}
            }
            if self.is_table(source) && self.has_key_among(source, &places) {
                return number + 1;
            }
        }
        order.len()
    }

    fn is_table(&self, source: usize) -> bool {
        matches!(self.sources.get(source).map(|source| &source.kind), Some(SourceKind::Table(_)))
    }

    /// The column of a source, by its place, that a condition says is equal to something without the source.
    fn given_column(&self, source: usize, condition: &Expression) -> Option<usize> {
        let Expression::Comparison { operator: ComparisonOperator::Equal, left, right, collation } =
            condition
        else {
            return None;
        };
        if condition.is_volatile() {
            return None;
        }
        [(left, right), (right, left)].into_iter().find_map(|(column, value)| {
            let Expression::Column(slot) = column.as_ref() else { return None };
            let slot_type = self.slot_type(*slot)?;
            let slot = self.slots.get(*slot).filter(|slot| slot.source == source)?;
            let SourceColumn::Field(place) = slot.column else { return None };
            let same_order = !matches!(slot_type, SqlType::Text(_)) || collation_of(&slot_type) == *collation;
            (same_order && !self.sources_of(value).contains(&source)).then_some(place)
        })
    }

    /// Whether these columns of a source, by their places, hold a key: no two rows are equal in them, NULLs aside.
    fn has_key_among(&self, source: usize, places: &BTreeSet<usize>) -> bool {
        match self.sources.get(source).map(|source| &source.kind) {
            Some(SourceKind::Table(relation)) => table_has_key_among(relation, places),
            Some(SourceKind::Derived { plan, captures, .. }) if captures.is_empty() => {
                plan_has_key_among(plan, places)
            }
            _ => false,
        }
    }

    /// Whether an expression is never NULL in rows that a join of the sources makes. Said of columns of tables that no outer
    /// join may leave without a row, and of constants.
    pub(super) fn is_never_null(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Constant(value) => !value.is_null(),
            Expression::Column(slot) => {
                let Some(slot) = self.slots.get(*slot) else { return false };
                let mut missing = BTreeSet::new();
                self.tree.nullable_sources(&mut missing);
                !missing.contains(&slot.source) && self.is_not_null_column(slot.source, slot.column)
            }
            _ => false,
        }
    }

    /// Whether a column of a table is part of a key that forbids NULL.
    pub(super) fn is_not_null_column(&self, source: usize, column: SourceColumn) -> bool {
        let Some(SourceKind::Table(relation)) = self.sources.get(source).map(|source| &source.kind) else {
            return false;
        };
        match column {
            SourceColumn::RowNumber => true,
            SourceColumn::Field(place) => relation.columns.get(place).is_some_and(|column| {
                column.not_null
                    && column.added_default.is_none()
                    && relation.indexes.iter().any(|index| {
                        index.unique
                            && index.condition_source.is_none()
                            && is_maintained(relation, index)
                            && index.columns.contains(&column.name)
                    })
            }),
        }
    }
}

fn table_has_key_among(relation: &Relation, places: &BTreeSet<usize>) -> bool {
    let names: BTreeSet<&str> = places
        .iter()
        .filter_map(|place| relation.columns.get(*place))
        .map(|column| column.name.as_str())
        .collect();
    relation.indexes.iter().any(|index| {
        index.unique
            && !index.columns.is_empty()
            && index.condition_source.is_none()
            && is_maintained(relation, index)
            && index.columns.iter().all(|column| names.contains(column.as_str()))
    })
}

/// Whether no two rows of a plan are equal in all of these columns.
fn plan_has_key_among(plan: &Node, places: &BTreeSet<usize>) -> bool {
    match plan {
        Node::Aggregate(aggregate) => (0..aggregate.keys.len()).all(|key| places.contains(&key)),
        Node::Distinct(distinct) => (0..distinct.collations.len()).all(|column| places.contains(&column)),
        Node::Count(_) => true,
        Node::Filter(filter) => plan_has_key_among(&filter.input, places),
        Node::Sort(sort) => plan_has_key_among(&sort.input, places),
        Node::Limit(limit) => plan_has_key_among(&limit.input, places),
        Node::Shared(shared) => plan_has_key_among(&shared.input, places),
        Node::Project(project) => {
            let behind = places.iter().filter_map(|place| match project.items.get(*place) {
                Some(Expression::Column(column)) => Some(*column),
                _ => None,
            });
            plan_has_key_among(&project.input, &behind.collect())
        }
        _ => false,
    }
}
