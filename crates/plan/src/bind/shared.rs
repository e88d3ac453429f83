//! Queries in FROM that stand in several places of a statement and give the same rows in each: common tables and views that group,
//! sort or drop rows. They are computed once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use farbird_expression::{Expression, Subquery};

use crate::bind::binder::Binder;
use crate::bind::namespace::{SharedName, SharedQuery};
use crate::bound::query::BoundSelect;
use crate::node::{Node, Shared, WindowFunction};
use crate::subplan::planned;
use crate::text::{for_each_expression, for_each_input, own_in_expression, own_subqueries};

/// What stood around a query before it was bound.
pub(crate) struct Around {
    own_block: usize,
    outermost_reference: usize,
    variables_used: usize,
}

impl Binder<'_> {
    /// Notes what stands around a query that is bound next.
    pub(super) fn begin_shared(&mut self) -> Around {
        Around {
            own_block: self.blocks.len(),
            outermost_reference: std::mem::replace(&mut self.outermost_reference, usize::MAX),
            variables_used: self.variables_used,
        }
    }

    /// Whether a query that has just been bound looks at nothing around it and gives the same rows each time.
    pub(super) fn end_shared(&mut self, around: &Around, select: &BoundSelect) -> bool {
        let stands_alone = self.outermost_reference >= around.own_block
            && self.variables_used == around.variables_used
            && select.block.captures.is_empty();
        self.outermost_reference = self.outermost_reference.min(around.outermost_reference);
        let block = &select.block;
        stands_alone
            && !block.volatile
            && !block.is_told
            && !block.is_told_from_around
            && !select.items.iter().any(|item| item.expression.is_volatile())
    }

    /// The plan of a query, as one that other places may share, if it is worth it.
    pub(super) fn shared(&mut self, name: SharedName, plan: Node) -> Node {
        if !makes_all_rows_first(&plan) || !only_reads_tables(&plan) {
            return plan;
        }
        let known = self.shared.iter().position(|query| query.name.is(&name));
        let known = known.unwrap_or_else(|| {
            let place = self.frame.shared_rows;
            self.frame.shared_rows += 1;
            self.shared.push(SharedQuery { name, place, uses: Arc::default() });
            self.shared.len() - 1
        });
        let Some(SharedQuery { place, uses, .. }) = self.shared.get(known) else { return plan };
        uses.fetch_add(1, Ordering::Relaxed);
        Node::Shared(Arc::new(Shared { input: plan, place: *place, uses: uses.clone() }))
    }

    /// Counts how often the finished plan of a statement asks for each shared query: while it was planned there were more places,
    /// in plans that have been given up. `values` are computed besides, for each of its rows.
    pub(super) fn count_shared(&self, root: &Node, values: &[&Expression]) {
        if self.shared.is_empty() {
            return;
        }
        let mut uses = Uses::default();
        uses.of_plan(root, 1);
        for value in values {
            own_in_expression(value, &mut |subquery| uses.of_subquery(subquery, 1));
        }
        for query in &self.shared {
            query.uses.store(uses.0.get(&query.place).copied().unwrap_or(0), Ordering::Relaxed);
        }
    }
}

/// How often shared queries are asked for, by their places in the frame.
#[derive(Default)]
struct Uses(BTreeMap<usize, usize>);

impl Uses {
    /// Adds those of a plan that runs so many times.
    fn of_plan(&mut self, node: &Node, times: usize) {
        if let Node::Shared(shared) = node {
            let known = self.0.entry(shared.place).or_default();
            let is_computed = *known > 0;
            *known += times;
            // What it asks for itself is asked for once.
            if is_computed {
                return;
            }
            return self.of_parts(&shared.input, 1);
        }
        self.of_parts(node, times);
    }

    fn of_parts(&mut self, node: &Node, times: usize) {
        own_subqueries(node, &mut |subquery| self.of_subquery(subquery, times));
        match node {
            // The step runs for the rows of each level.
            Node::Recursive(recursive) => {
                self.of_plan(&recursive.anchor, times);
                self.of_plan(&recursive.step, times.max(2));
            }
            _ => for_each_input(node, &mut |input| self.of_plan(input, times)),
        }
    }

    fn of_subquery(&mut self, subquery: &Subquery, times: usize) {
        // One that looks at the row around it runs for many of them.
        let times = if subquery.captures.is_empty() { times } else { times.max(2) };
        if let Some(query) = planned(subquery) {
            self.of_plan(&query.node, times);
        }
    }
}

/// Whether a plan makes all of its rows before it gives the first: then nobody waits longer, or sees an error sooner, if they are kept.
fn makes_all_rows_first(plan: &Node) -> bool {
    match plan {
        Node::Project(project) => makes_all_rows_first(&project.input),
        Node::Filter(filter) => makes_all_rows_first(&filter.input),
        Node::Limit(limit) => makes_all_rows_first(&limit.input),
        Node::Sort(sort) => sort.first.is_none(),
        Node::Aggregate(_) | Node::Distinct(_) | Node::Window(_) => true,
        _ => false,
    }
}

/// Whether a plan reads stored tables and does nothing else.
fn only_reads_tables(plan: &Node) -> bool {
    is_plain(plan, &|node| {
        !matches!(
            node,
            Node::Procedure(_)
                | Node::System(_)
                | Node::External(_)
                | Node::Lock(_)
                | Node::WorkingRow(_)
                | Node::Recursive(_)
        )
    })
}

/// Whether a plan does nothing but read: whoever asks it for more rows than he needs yet changes nothing by that.
pub(super) fn only_reads(plan: &Node) -> bool {
    is_plain(plan, &|node| !matches!(node, Node::Procedure(_) | Node::Lock(_)))
}

/// Whether a plan consists of nodes of some kinds, whose values run no code and are the same whenever they are computed.
fn is_plain(plan: &Node, allows: &dyn Fn(&Node) -> bool) -> bool {
    let mut all_plain = match plan {
        node if !allows(node) => false,
        Node::Aggregate(aggregate) => aggregate.calls.iter().flat_map(|call| &call.filter).all(is_fixed),
        Node::Window(window) => window.calls.iter().all(|call| match &call.function {
            WindowFunction::Aggregate(call) => call.filter.iter().all(is_fixed),
            WindowFunction::Ntile(value)
            | WindowFunction::FirstValue(value)
            | WindowFunction::LastValue(value)
            | WindowFunction::NthValue { value, .. } => is_fixed(value),
            WindowFunction::Offset { value, distance, default, .. } => {
                [value, distance, default].into_iter().all(is_fixed)
            }
            _ => true,
        }),
        _ => true,
    };
    for_each_expression(plan, &mut |value| all_plain &= is_fixed(value));
    for_each_input(plan, &mut |input| all_plain &= is_plain(input, allows));
    all_plain
}

/// Whether a value runs no stored code, and is the same whenever it is computed of the same row.
fn is_fixed(value: &Expression) -> bool {
    !value.is_volatile()
        && !value.any(&|part| match part {
            Expression::Routine { .. } | Expression::LocalRoutine { .. } => true,
            Expression::Subquery(query) => !query.invariant && !query.repeatable,
            _ => false,
        })
}
