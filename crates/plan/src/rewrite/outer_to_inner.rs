//! A LEFT JOIN of which a condition refuses the rows without a partner is an inner join.

use std::collections::BTreeSet;

use farbird_expression::Expression;

use crate::bound::source::FromTree;
use crate::rewrite::joins::Joins;

/// Turns LEFT JOINs into inner joins where that gives the same rows.
pub(super) fn apply(joins: &mut Joins) {
    if joins.tree.is_inner() {
        return;
    }
    loop {
        let refused: Vec<BTreeSet<usize>> =
            joins.conditions.iter().filter_map(|condition| refused_without(joins, condition)).collect();
        let tree = std::mem::replace(&mut joins.tree, FromTree::Group(Vec::new(), Vec::new()));
        let mut changed = false;
        joins.tree = turned(tree, &refused, &mut changed);
        if !changed {
            return;
        }
        // The conditions of the join are conditions of the whole now, and may refuse more.
        joins.hoist();
    }
}

/// The sources whose rows must be there for a condition to be true.
fn refused_without(joins: &Joins, condition: &Expression) -> Option<BTreeSet<usize>> {
    if condition.is_volatile() {
        return None;
    }
    let is_strict = |operand: &Expression| !operand.is_row_independent() && operand.is_null_without_row();
    let mut sources = BTreeSet::new();
    match condition {
        Expression::Comparison { left, right, .. } => {
            for operand in [left, right] {
                if is_strict(operand) {
                    sources.extend(only(joins.sources_of(operand)));
                }
            }
        }
        Expression::Between { operand, .. } | Expression::InList { operand, .. } if is_strict(operand) => {
            sources.extend(only(joins.sources_of(operand)));
        }
        Expression::Pattern(pattern) if is_strict(&pattern.operand) => {
            sources.extend(only(joins.sources_of(&pattern.operand)));
        }
        Expression::Not(inner) => match inner.as_ref() {
            Expression::IsNull(operand) if is_strict(operand) => {
                sources.extend(only(joins.sources_of(operand)));
            }
            _ => return None,
        },
        _ => return None,
    }
    (!sources.is_empty()).then_some(sources)
}

/// The one source of an operand. With several it may be NULL for want of another one.
fn only(sources: BTreeSet<usize>) -> Option<usize> {
    if sources.len() == 1 { sources.first().copied() } else { None }
}

fn turned(tree: FromTree, refused: &[BTreeSet<usize>], changed: &mut bool) -> FromTree {
    match tree {
        FromTree::Left(left, right, on) => {
            let mut sources = Vec::new();
            right.sources(&mut sources);
            let is_refused =
                refused.iter().any(|needed| sources.iter().any(|source| needed.contains(source)));
            let left = turned(*left, refused, changed);
            if is_refused {
                *changed = true;
                return FromTree::Group(vec![left, *right], on);
            }
            FromTree::Left(Box::new(left), right, on)
        }
        FromTree::Group(items, on) => {
            FromTree::Group(items.into_iter().map(|item| turned(item, refused, changed)).collect(), on)
        }
        other => other,
    }
}
