//! What is made of a FROM clause and its conditions before it is planned: rules that give the same rows by less work.
//!
//! | file | rule |
//! |---|---|
//! | `common_conjuncts` | what all alternatives of an OR ask for is asked for once |
//! | `alternatives` | what the alternatives of an OR say of one table is asked of that table |
//! | `dropping` | EXISTS, NOT EXISTS, IN and NOT IN become joins that only drop rows |
//! | `one_partner` | those that find one row by a key become ordinary joins |
//! | `optional` | a LEFT JOIN among inner joins may come at any time behind what its condition looks at |
//! | `outer_to_inner` | a LEFT JOIN whose rows without a partner are refused becomes an inner join |
//! | `unused_outer` | a LEFT JOIN is dropped that changes nothing; one whose rows without a partner are asked for only drops rows |
//! | `scalar_groups` | a query of aggregates for each row becomes one that groups, and a join with it |
//! | `equivalence` | what is asked of a column is asked of its equals |
//!
//! `joins` is what they change; what keys say of sources is found in `keys`.
//!
//! A rule changes neither how often something volatile is evaluated nor whether something is NULL, and evaluates nothing that may
//! fail on rows which the query as written keeps away from it by an alternative of an OR (`infallible`).

mod alternatives;
mod common_conjuncts;
mod dropping;
mod equivalence;
pub(crate) mod infallible;
pub(crate) mod joins;
mod keys;
mod one_partner;
mod optional;
mod outer_to_inner;
mod scalar_groups;
mod unused_outer;

use farbird_catalog::statistics::Statistics;
use farbird_expression::Expression;

use crate::bound::source::FromTree;
use crate::rewrite::joins::{Groups, Joins, flatten};

pub(crate) use dropping::{derived, unnested};
pub(crate) use scalar_groups::{GroupedOutline, Replaced, grouped};

impl Joins {
    /// Applies the rules. `in_order`: the first rows of an order are wanted, so that rows should come as they are read.
    pub(crate) fn rewrite(&mut self, in_order: bool, statistics: &Statistics) {
        self.hoist();
        if !in_order && self.groups != Groups::Forbidden {
            self.take_in_groups_of_conditions(statistics);
        }
        outer_to_inner::apply(self);
        // A table that a PLAN clause names is read.
        if self.sources.iter().all(|source| source.hint.is_none()) {
            unused_outer::apply(self);
        }
        common_conjuncts::apply(self);
        alternatives::apply(self);
        if !in_order {
            dropping::apply(self, statistics);
            one_partner::apply(self);
        }
        optional::apply(self);
        equivalence::apply(self);
    }

    fn take_in_groups_of_conditions(&mut self, statistics: &Statistics) {
        let mut conditions = std::mem::take(&mut self.conditions);
        if conditions.iter().any(Expression::is_volatile) {
            self.conditions = conditions;
            return;
        }
        self.conditions = conditions.clone();
        let mut replaced = Replaced::default();
        for condition in &mut conditions {
            self.take_in_groups(condition, statistics, &mut replaced);
        }
        if !replaced.is_empty() {
            self.groups = Groups::Taken;
        }
        self.conditions = conditions;
    }

    /// Makes all inner joins one list, and their conditions conditions of the whole, before those of WHERE: what a view or ON
    /// asks for keeps rows away from conditions that would fail on them.
    fn hoist(&mut self) {
        let tree = std::mem::replace(&mut self.tree, FromTree::Group(Vec::new(), Vec::new()));
        let (mut items, mut conditions) = (Vec::new(), Vec::new());
        flatten(tree, &mut items, &mut conditions);
        conditions.append(&mut self.conditions);
        self.conditions = conditions;
        self.tree = match items.len() {
            1 => items.swap_remove(0),
            _ => FromTree::Group(items, Vec::new()),
        };
    }
}
