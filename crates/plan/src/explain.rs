//! Plans for EXPLAIN: a line for each operator, with what is expected of it and the number under which what it does is measured.
//!
//! The words are those of Firebird's explained plans (`text`); every operator that runs has its line here, also where Firebird's form
//! shows several of them as one.

use farbird_expression::{Expression, Subquery, SubqueryKind};

use crate::access_text::{quoted, table};
use crate::bind::Action;
use crate::modification::{ModifyAction, ModifyPlan};
use crate::node::{Estimate, Node};
use crate::subplan::planned;
use crate::text::{
    explained, for_each_input, hash_join, nested_loop, own_in_expression, own_subqueries, range_join, short,
    title,
};

/// A line of an explained plan.
#[derive(Debug, Clone, PartialEq)]
pub struct ExplainLine {
    /// How deep it stands in the tree; 0: the statement.
    pub depth: usize,
    /// What it is.
    pub operator: String,
    /// What is expected of it, each time that it runs.
    pub estimate: Option<Estimate>,
    /// Under which number is noted what it does ([`farbird_expression::Measurements`]).
    pub part: usize,
}

/// The lines of a statement, the statement itself first; each operator is followed by its inputs, and by the queries that it
/// runs for its rows.
pub fn explain(action: &Action) -> Vec<ExplainLine> {
    let mut lines = Vec::new();
    match action {
        Action::Select(plan) => {
            add_root(&plan.root, "Select Expression".to_owned(), plan.root.identity(), &mut lines);
            add(&plan.root, 1, &mut lines);
        }
        Action::Modify(plan) => explain_modification(plan, &mut lines),
    }
    lines
}

/// The lines of the queries inside a value.
pub fn explain_value(value: &Expression) -> Vec<ExplainLine> {
    let mut lines = Vec::new();
    add_of_expression(value, 0, &mut lines);
    lines
}

/// A plan in Firebird's short form and in its explained form.
pub fn plan_text(action: &Action) -> (String, String) {
    match action {
        Action::Select(plan) => (short(&plan.root, &[]), explained(&plan.root, &[])),
        Action::Modify(plan) => {
            let values: Vec<&Expression> = plan.action.values().into_iter().chain(&plan.returning).collect();
            let source = plan.action.source();
            (short(source, &values), explained(source, &values))
        }
    }
}

/// As [`plan_text`] for the queries inside a value.
pub fn plan_text_of_value(value: &Expression) -> (String, String) {
    (short(&Node::Single, &[value]), explained(&Node::Single, &[value]))
}

fn explain_modification(plan: &ModifyPlan, lines: &mut Vec<ExplainLine>) {
    let word = match &plan.action {
        ModifyAction::Insert(_) => "Insert",
        ModifyAction::Update(_) => "Update",
        ModifyAction::Delete(_) => "Delete",
        ModifyAction::UpdateOrInsert(_) => "Update or Insert",
        ModifyAction::Merge(_) => "Merge",
    };
    let source = plan.action.source();
    let name = quoted(&plan.action.target().relation.name, &[]);
    add_root(source, format!("{word} {name}"), plan.identity(), lines);
    add(source, 1, lines);
    let values = plan.action.values().into_iter().chain(&plan.returning);
    values.for_each(|value| add_of_expression(value, 1, lines));
}

fn add_root(node: &Node, operator: String, part: usize, lines: &mut Vec<ExplainLine>) {
    lines.push(ExplainLine { depth: 0, operator, estimate: Some(node.estimate()), part });
}

fn add(node: &Node, depth: usize, lines: &mut Vec<ExplainLine>) {
    let own = words(node);
    let below = depth + usize::from(own.is_some());
    if let Some(operator) = own {
        let (estimate, part) = (Some(node.estimate()), node.identity());
        lines.push(ExplainLine { depth, operator, estimate, part });
    }
    for_each_input(node, &mut |input| add(input, below, lines));
    own_subqueries(node, &mut |subquery| add_subquery(subquery, below, lines));
}

fn add_of_expression(expression: &Expression, depth: usize, lines: &mut Vec<ExplainLine>) {
    own_in_expression(expression, &mut |subquery| add_subquery(subquery, depth, lines));
}

fn add_subquery(subquery: &Subquery, depth: usize, lines: &mut Vec<ExplainLine>) {
    let Some(query) = planned(subquery) else { return };
    let operator = match subquery.kind {
        SubqueryKind::Exists => format!("{}: Exists", title(subquery)),
        SubqueryKind::Singular => format!("{}: Singular", title(subquery)),
        SubqueryKind::Scalar => format!("{}: Value", title(subquery)),
        SubqueryKind::Quantified { .. } => format!("{}: Compared", title(subquery)),
    };
    let (estimate, part) = (Some(query.node.estimate()), query.node.identity());
    lines.push(ExplainLine { depth, operator, estimate, part });
    add(&query.node, depth + 1, lines);
}

/// What an operator is called; nothing for one that only computes the values of the rows of what it stands in.
fn words(node: &Node) -> Option<String> {
    Some(match node {
        Node::Single | Node::Project(_) => return None,
        Node::Shared(shared) if !shared.is_used_again() => return None,
        Node::Shared(_) => "Record Buffer (shared)".to_owned(),
        Node::Table(scan) => table(scan),
        Node::External(scan) => format!("Table {} Full Scan", quoted(&scan.relation.name, &scan.path)),
        Node::System(scan) => format!("Table {} Full Scan", quoted(&scan.relation.name, &scan.path)),
        Node::Procedure(scan) => format!("Procedure {} Scan", quoted(&scan.procedure.name, &scan.path)),
        Node::Count(count) => format!("Table {} Count", quoted(&count.relation.name, &count.path)),
        Node::Filter(_) => "Filter".to_owned(),
        Node::NestedLoop(join) => nested_loop(join.kind).to_owned(),
        Node::HashJoin(join) => hash_join(join),
        Node::RangeJoin(join) => range_join(join.kind).to_owned(),
        Node::Sort(_) => "Sort".to_owned(),
        Node::Aggregate(aggregate) if aggregate.keys.is_empty() => "Aggregate".to_owned(),
        Node::Aggregate(_) => "Aggregate (hashed)".to_owned(),
        Node::Window(_) => "Window".to_owned(),
        Node::Distinct(_) => "Unique Sort".to_owned(),
        Node::Union(_) => "Union".to_owned(),
        Node::Limit(limit) => match (&limit.skip, &limit.first) {
            (Some(_), None) => "Skip N Records".to_owned(),
            (Some(_), Some(_)) => "First N Records after Skip".to_owned(),
            _ => "First N Records".to_owned(),
        },
        Node::Recursive(_) => "Recursion".to_owned(),
        Node::WorkingRow(_) => "Row of the recursion".to_owned(),
        Node::Lock(_) => "Write Lock".to_owned(),
    })
}
