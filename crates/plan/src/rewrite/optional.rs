//! A LEFT JOIN among inner joins is a member of their group that may come at any time: `(a LEFT JOIN b ON p) JOIN c ON q` has the rows of
//! `(a JOIN c ON q) LEFT JOIN b ON p`, as long as `q` looks at `a` and `c` only. So what leaves few rows can be joined first.
//!
//! It comes behind what its own condition looks at, and conditions of the others that look at it come behind it.

use farbird_expression::Expression;

use crate::bound::source::{FromTree, SourceKind};
use crate::rewrite::joins::Joins;

/// Makes members of the LEFT JOINs of a query that no PLAN clause speaks of.
pub(super) fn apply(joins: &mut Joins) {
    if joins.tree.is_inner()
        || joins.sources.iter().any(|source| source.hint.is_some())
        || joins.conditions.iter().any(Expression::is_volatile)
        || !joined_without_fail(joins)
    {
        return;
    }
    let tree = std::mem::replace(&mut joins.tree, FromTree::Group(Vec::new(), Vec::new()));
    let (mut items, mut conditions) = (Vec::new(), Vec::new());
    take_apart(joins, tree, &mut items, &mut conditions);
    conditions.append(&mut joins.conditions);
    joins.conditions = conditions;
    joins.tree = match items.len() {
        1 => items.swap_remove(0),
        _ => FromTree::Group(items, Vec::new()),
    };
}

/// Whether what is asked of several sources cannot fail: on rows that a condition on a right side would have dropped, too.
fn joined_without_fail(joins: &mut Joins) -> bool {
    let mut all = joins.conditions.clone();
    joins.tree.for_each_condition_mut(&mut |condition| all.push(condition.clone()));
    all.iter().all(|condition| joins.sources_of(condition).len() < 2 || joins.cannot_fail(condition))
}

fn take_apart(joins: &Joins, tree: FromTree, items: &mut Vec<FromTree>, conditions: &mut Vec<Expression>) {
    match tree {
        FromTree::Group(parts, own) => {
            parts.into_iter().for_each(|part| take_apart(joins, part, items, conditions));
            conditions.extend(own);
        }
        FromTree::Left(left, right, on) if may_come_later(joins, &left, &right, &on) => {
            take_apart(joins, *left, items, conditions);
            items.push(FromTree::Optional { query: right, on });
        }
        other => items.push(other),
    }
}

/// Whether neither errors nor what runs depend on how many rows the right side is joined to.
fn may_come_later(joins: &Joins, left: &FromTree, right: &FromTree, on: &[Expression]) -> bool {
    let (mut sources, mut of_left) = (Vec::new(), Vec::new());
    right.sources(&mut sources);
    left.sources(&mut of_left);
    let is_plain = |source: &usize| match joins.sources.get(*source).map(|source| &source.kind) {
        Some(SourceKind::Table(_)) => true,
        Some(SourceKind::Derived { captures, .. }) => captures.is_empty(),
        _ => false,
    };
    // A condition that looks at nothing of the left side has no place of its own.
    let is_tied = on.iter().any(|condition| {
        let sources_of = joins.sources_of(condition);
        of_left.iter().any(|source| sources_of.contains(source))
    });
    is_tied && sources.iter().all(is_plain) && on.iter().all(|condition| joins.cannot_fail(condition))
}
