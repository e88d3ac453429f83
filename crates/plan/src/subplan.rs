//! The plan of a query inside an expression, which holds it without knowing what it is.

use std::any::Any;

use farbird_expression::{Subplan, Subquery};

use crate::node::Node;
use crate::rewrite::joins::{GroupedQuery, UnnestedQuery};

/// A query inside an expression, as it has been planned.
#[derive(Debug)]
pub struct PlannedQuery {
    /// The plan.
    pub node: Node,
    /// The query in a form that can become part of the FROM clause around it.
    pub(crate) unnested: Option<UnnestedQuery>,
    /// The query in a form that groups, and is joined.
    pub(crate) grouped: Option<GroupedQuery>,
}

impl Subplan for PlannedQuery {}

/// What was planned for a subquery; `None` if it was none of this planner's, which is a mistake of ours.
pub fn planned(subquery: &Subquery) -> Option<&PlannedQuery> {
    let plan: &dyn Any = subquery.plan.as_ref();
    plan.downcast_ref()
}
