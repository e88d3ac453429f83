//! A LEFT JOIN of whose right side nothing is used, and in which a row has one partner at most, changes nothing and is dropped;
//! one whose rows without a partner are all that is asked for (`WHERE right.key IS NULL`) becomes a join that only drops rows.

use std::collections::{BTreeMap, BTreeSet};

use farbird_expression::Expression;

use crate::bound::source::{FromTree, SourceKind};
use crate::rewrite::joins::Joins;

/// Applies both rules until nothing changes.
pub(super) fn apply(joins: &mut Joins) {
    if joins.tree.is_inner() {
        return;
    }
    loop {
        let looks = Looks::of(joins);
        let mut tree = std::mem::replace(&mut joins.tree, FromTree::Group(Vec::new(), Vec::new()));
        let found = change_one(&mut tree, joins, &looks);
        joins.tree = tree;
        let Some(asked) = found else { return };
        joins.conditions = std::mem::take(&mut joins.conditions)
            .into_iter()
            .enumerate()
            .filter(|(number, _)| !asked.contains(number))
            .map(|(_, condition)| condition)
            .collect();
        joins.hoist();
    }
}

/// How often columns are looked at: by slot.
struct Looks(BTreeMap<usize, usize>);

impl Joins {
    /// The columns that anything looks at, by slot. Others stand in the select list of EXISTS, or of a view.
    pub(crate) fn needed(&mut self) -> BTreeSet<usize> {
        Looks::of(self).0.into_keys().collect()
    }
}

impl Looks {
    fn of(joins: &mut Joins) -> Looks {
        let mut looks = Looks(BTreeMap::new());
        joins.wanted.iter().for_each(|slot| looks.note(*slot));
        joins.conditions.iter().for_each(|condition| looks.note_all(condition));
        joins.tree.for_each_condition_mut(&mut |condition| looks.note_all(condition));
        for source in &joins.sources {
            match &source.kind {
                SourceKind::Procedure(_, arguments) => {
                    arguments.iter().for_each(|value| looks.note_all(value))
                }
                SourceKind::Derived { captures, .. } => {
                    captures.iter().for_each(|(_, value)| looks.note_all(value));
                }
                SourceKind::Table(_) | SourceKind::Working(..) => {}
            }
        }
        looks
    }

    fn note(&mut self, slot: usize) {
        *self.0.entry(slot).or_default() += 1;
    }

    fn note_all(&mut self, expression: &Expression) {
        expression.for_each_column(&mut |slot| self.note(slot));
    }

    /// Whether the columns of some sources are looked at by nothing but these expressions.
    fn only_by<'e>(
        &self,
        joins: &Joins,
        sources: &[usize],
        expressions: impl IntoIterator<Item = &'e Expression>,
    ) -> bool {
        let mut known = Looks(BTreeMap::new());
        expressions.into_iter().for_each(|expression| known.note_all(expression));
        self.0.iter().all(|(slot, times)| {
            let is_of_them = joins.slots.get(*slot).is_some_and(|slot| sources.contains(&slot.source));
            !is_of_them || known.0.get(slot) == Some(times)
        })
    }
}

/// Changes one LEFT JOIN whose rows all come out of the tree; gives the numbers of the conditions that it made needless.
fn change_one(tree: &mut FromTree, joins: &Joins, looks: &Looks) -> Option<Vec<usize>> {
    match tree {
        FromTree::Group(items, _) => items.iter_mut().find_map(|item| change_one(item, joins, looks)),
        FromTree::Left(left, right, on) => {
            if is_needless(right, on, joins, looks) {
                *tree = std::mem::replace(left.as_mut(), FromTree::Group(Vec::new(), Vec::new()));
                return Some(Vec::new());
            }
            if let Some(asked) = asks_for_missing(right, on, joins, looks) {
                let empty = || Box::new(FromTree::Group(Vec::new(), Vec::new()));
                let (left, right) = (std::mem::replace(left, empty()), std::mem::replace(right, empty()));
                let missing = FromTree::Dropping { query: right, on: std::mem::take(on), anti: true };
                *tree = FromTree::Group(vec![*left, missing], Vec::new());
                return Some(asked);
            }
            change_one(left, joins, looks)
        }
        _ => None,
    }
}

fn is_needless(right: &FromTree, on: &[Expression], joins: &Joins, looks: &Looks) -> bool {
    let FromTree::Source(source) = right else { return false };
    let is_table =
        matches!(joins.sources.get(*source).map(|source| &source.kind), Some(SourceKind::Table(_)));
    is_table
        && on.iter().all(|condition| joins.cannot_fail(condition))
        && joins.finds_one_row(*source, on)
        && looks.only_by(joins, &[*source], on)
}

/// The conditions that ask for NULL in columns of the right side that no partner has NULL in, if all else looks at nothing of
/// that side.
fn asks_for_missing(right: &FromTree, on: &[Expression], joins: &Joins, looks: &Looks) -> Option<Vec<usize>> {
    let mut sources = Vec::new();
    right.sources(&mut sources);
    let reads_tables = sources.iter().all(|source| {
        matches!(joins.sources.get(*source).map(|source| &source.kind), Some(SourceKind::Table(_)))
    });
    if !right.is_inner() || !reads_tables || joins.conditions.iter().chain(on).any(Expression::is_volatile) {
        return None;
    }
    let asks = |condition: &Expression| match condition {
        Expression::IsNull(operand) => match operand.as_ref() {
            Expression::Column(slot) => {
                let of_right = joins.slots.get(*slot).filter(|slot| sources.contains(&slot.source));
                of_right.is_some_and(|found| {
                    joins.is_not_null_column(found.source, found.column)
                        || on.iter().any(|condition| refuses_null(condition, *slot))
                })
            }
            _ => false,
        },
        _ => false,
    };
    let asked: Vec<usize> = (0..joins.conditions.len())
        .filter(|number| joins.conditions.get(*number).is_some_and(asks))
        .collect();
    let found = asked.iter().filter_map(|number| joins.conditions.get(*number));
    (!asked.is_empty() && looks.only_by(joins, &sources, on.iter().chain(found))).then_some(asked)
}

/// Whether a condition is not true where a column is NULL.
fn refuses_null(condition: &Expression, slot: usize) -> bool {
    let is_it = |operand: &Expression| *operand == Expression::Column(slot);
    match condition {
        Expression::Comparison { left, right, .. } => is_it(left) || is_it(right),
        Expression::Between { operand, .. } | Expression::InList { operand, .. } => is_it(operand),
        Expression::Pattern(pattern) => is_it(&pattern.operand),
        _ => false,
    }
}
