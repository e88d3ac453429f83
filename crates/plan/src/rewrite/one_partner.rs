//! What drops rows, and has one partner at most for a row, is an ordinary member of the join: then it may also come first, and
//! lead to the others by their indexes.

use crate::bound::source::FromTree;
use crate::rewrite::joins::Joins;

/// Makes members of EXISTS and IN that find one row by a key.
pub(super) fn apply(joins: &mut Joins) {
    let FromTree::Group(items, _) = &mut joins.tree else { return };
    let items = std::mem::take(items);
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        match item {
            FromTree::Dropping { query, on, anti: false } => match *query {
                FromTree::Source(source) if joins.finds_one_row(source, &on) => {
                    kept.push(FromTree::Source(source));
                    joins.conditions.extend(on);
                }
                query => kept.push(FromTree::Dropping { query: Box::new(query), on, anti: false }),
            },
            item => kept.push(item),
        }
    }
    if let FromTree::Group(items, _) = &mut joins.tree {
        *items = kept;
    }
}
