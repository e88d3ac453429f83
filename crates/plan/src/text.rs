//! Plans as Firebird writes them: short (`PLAN JOIN (A NATURAL, B INDEX (PK_B))`) and explained.
//!
//! Source: Firebird 3 and 4, `isql` with SET PLAN and SET EXPLAIN; the record sizes of the explained form are left out,
//! since rows have no fixed size here.

use std::fmt::Write as _;

use farbird_expression::{Expression, Subquery};

use crate::node::{Access, FrameBound, HashJoinKind, NestedLoopKind, Node, TableScan, WindowFunction};
use crate::subplan::planned;

/// The short form: one line for each subquery, then one for the query itself. Empty if no table is read.
pub(crate) fn short(root: &Node) -> String {
    let mut lines = Vec::new();
    subqueries(root, &mut |subquery| lines.extend(planned(subquery).map(|query| line(&query.node))));
    lines.push(line(root));
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

/// The explained form: a tree, one operator a line.
pub(crate) fn explained(root: &Node) -> String {
    let mut text = String::new();
    subqueries(root, &mut |subquery| {
        let title = if subquery.captures.is_empty() { "Sub-query (invariant)" } else { "Sub-query" };
        text.push_str(title);
        if let Some(query) = planned(subquery) {
            explain(&query.node, 1, &mut text);
        }
        text.push('\n');
    });
    text.push_str("Select Expression");
    explain(root, 1, &mut text);
    text
}

fn line(root: &Node) -> String {
    match item(root) {
        Item::None => String::new(),
        Item::Plain(text) => format!("PLAN ({text})"),
        Item::Joined(_, text) => format!("PLAN {text}"),
    }
}

/// A part of a plan in the short form.
enum Item {
    /// Reads no table.
    None,
    /// Tables, to be put into parentheses.
    Plain(String),
    /// JOIN (...), SORT (...) and the like; `true` for inner joins, which take further tables in.
    Joined(bool, String),
}

impl Item {
    fn text(self) -> Option<String> {
        match self {
            Item::None => None,
            Item::Plain(text) | Item::Joined(_, text) => Some(text),
        }
    }
}

fn item(node: &Node) -> Item {
    match node {
        Node::Single | Node::WorkingRow(_) => Item::None,
        Node::Table(scan) => Item::Plain(table(scan)),
        Node::System(scan) => Item::Plain(format!("{} NATURAL", scan.path.join(" "))),
        Node::Procedure(scan) => Item::Plain(format!("{} NATURAL", scan.path.join(" "))),
        Node::Count(count) => Item::Plain(format!("{} NATURAL", count.path.join(" "))),
        Node::Filter(filter) => item(&filter.input),
        Node::Project(project) => item(&project.input),
        Node::Limit(limit) => item(&limit.input),
        Node::Lock(lock) => item(&lock.input),
        Node::Window(window) => sorted(item(&window.input)),
        Node::Sort(sort) => sorted(item(&sort.input)),
        Node::Distinct(distinct) => sorted(item(&distinct.input)),
        Node::Aggregate(aggregate) if aggregate.keys.is_empty() => item(&aggregate.input),
        Node::Aggregate(aggregate) => sorted(item(&aggregate.input)),
        Node::NestedLoop(join) => {
            joined("JOIN", join.kind == NestedLoopKind::Inner, &join.outer, &join.inner)
        }
        Node::HashJoin(join) => {
            let inner = join.kind == HashJoinKind::Inner;
            match join.outer_keys.is_empty() {
                true => joined("JOIN", inner, &join.outer, &join.inner),
                false => joined("HASH", false, &join.outer, &join.inner),
            }
        }
        Node::Union(union) => listed(union.inputs.iter()),
        Node::Recursive(recursive) => listed([&recursive.anchor, &recursive.step].into_iter()),
    }
}

fn sorted(input: Item) -> Item {
    match input {
        Item::None => Item::None,
        Item::Plain(text) | Item::Joined(_, text) => Item::Joined(false, format!("SORT ({text})")),
    }
}

fn listed<'n>(nodes: impl Iterator<Item = &'n Node>) -> Item {
    let texts: Vec<String> = nodes.filter_map(|node| item(node).text()).collect();
    if texts.is_empty() { Item::None } else { Item::Plain(texts.join(", ")) }
}

fn joined(word: &str, flat: bool, left: &Node, right: &Node) -> Item {
    let left = match (item(left), flat) {
        // Inner joins of several tables are one list.
        (Item::Joined(true, text), true) => {
            text.strip_prefix("JOIN (").and_then(|text| text.strip_suffix(')')).map(str::to_owned)
        }
        (other, _) => other.text(),
    };
    let parts: Vec<String> = left.into_iter().chain(item(right).text()).collect();
    match parts.as_slice() {
        [] => Item::None,
        [one] => Item::Plain(one.clone()),
        _ => Item::Joined(flat, format!("{word} ({})", parts.join(", "))),
    }
}

fn table(scan: &TableScan) -> String {
    let name = scan.path.join(" ");
    match &scan.access {
        Access::Natural => format!("{name} NATURAL"),
        Access::RowKeys(_) | Access::RowNumber(_) => format!("{name} INDEX ()"),
        Access::Index { ranges, ordered } => {
            let names: Vec<&str> = ranges.iter().map(|range| range.name.as_str()).collect();
            match (ordered, names.as_slice()) {
                (Some(_), [index]) => format!("{name} ORDER {index}"),
                _ => format!("{name} INDEX ({})", names.join(", ")),
            }
        }
    }
}

fn explain(node: &Node, depth: usize, out: &mut String) {
    let mut say = |text: &str| {
        // Writing to a string cannot fail.
        let _ = write!(out, "\n{}-> {text}", "    ".repeat(depth));
    };
    match node {
        Node::Single | Node::WorkingRow(_) => {}
        Node::Table(scan) => explain_table(scan, depth, out),
        Node::System(scan) => say(&format!("Table {} Full Scan", quoted(&scan.relation.name, &scan.path))),
        Node::Count(count) => {
            say("Aggregate");
            explain_line(
                &format!("Table {} Count", quoted(&count.relation.name, &count.path)),
                depth + 1,
                out,
            );
        }
        Node::Procedure(scan) => say(&format!("Procedure {} Scan", quoted(&scan.procedure.name, &scan.path))),
        Node::Filter(filter) => {
            say("Filter");
            explain(&filter.input, depth + 1, out);
        }
        Node::Project(project) => explain(&project.input, depth, out),
        Node::Limit(limit) => {
            say(match (&limit.skip, &limit.first) {
                (Some(_), None) => "Skip N Records",
                (Some(_), Some(_)) => "First N Records after Skip",
                _ => "First N Records",
            });
            explain(&limit.input, depth + 1, out);
        }
        Node::Lock(lock) => {
            say("Write Lock");
            explain(&lock.input, depth + 1, out);
        }
        Node::Window(window) => {
            say("Window");
            explain_line("Window Partition", depth + 1, out);
            explain_line("Sort", depth + 2, out);
            explain(&window.input, depth + 3, out);
        }
        Node::Sort(sort) => {
            say("Sort");
            explain(&sort.input, depth + 1, out);
        }
        Node::Distinct(distinct) => {
            say("Unique Sort");
            explain(&distinct.input, depth + 1, out);
        }
        Node::Aggregate(aggregate) => {
            say("Aggregate");
            if aggregate.keys.is_empty() {
                explain(&aggregate.input, depth + 1, out);
            } else {
                explain_line("Sort", depth + 1, out);
                explain(&aggregate.input, depth + 2, out);
            }
        }
        Node::NestedLoop(join) => {
            say(match join.kind {
                NestedLoopKind::Inner => "Nested Loop Join (inner)",
                NestedLoopKind::Left => "Nested Loop Join (outer)",
                NestedLoopKind::Semi => "Nested Loop Join (semi)",
                NestedLoopKind::Anti => "Nested Loop Join (anti)",
            });
            explain(&join.outer, depth + 1, out);
            explain(&join.inner, depth + 1, out);
        }
        Node::HashJoin(join) => {
            let kind = match join.kind {
                HashJoinKind::Inner => "inner",
                HashJoinKind::Left | HashJoinKind::Right => "outer",
                HashJoinKind::Semi | HashJoinKind::InnerSemi => "semi",
                HashJoinKind::Anti | HashJoinKind::InnerAnti => "anti",
                HashJoinKind::Full => "full",
            };
            say(&match join.outer_keys.is_empty() {
                true => format!("Nested Loop Join ({kind})"),
                false => format!("Hash Join ({kind})"),
            });
            explain(&join.outer, depth + 1, out);
            explain_line("Record Buffer", depth + 1, out);
            explain(&join.inner, depth + 2, out);
        }
        Node::Union(union) => {
            say("Union");
            union.inputs.iter().for_each(|input| explain(input, depth + 1, out));
        }
        Node::Recursive(recursive) => {
            say("Recursion");
            explain(&recursive.anchor, depth + 1, out);
            explain(&recursive.step, depth + 1, out);
        }
    }
}

fn explain_line(text: &str, depth: usize, out: &mut String) {
    let _ = write!(out, "\n{}-> {text}", "    ".repeat(depth));
}

fn explain_table(scan: &TableScan, depth: usize, out: &mut String) {
    let name = quoted(&scan.relation.name, &scan.path);
    match &scan.access {
        Access::Natural => explain_line(&format!("Table {name} Full Scan"), depth, out),
        Access::RowKeys(_) | Access::RowNumber(_) => {
            explain_line(&format!("Table {name} Access By ID"), depth, out);
            explain_line("DBKEY", depth + 1, out);
        }
        Access::Index { ranges, ordered } => {
            explain_line(&format!("Table {name} Access By ID"), depth, out);
            let mut depth = depth + 1;
            if ordered.is_none() {
                if ranges.len() > 1 {
                    explain_line("Bitmap Or", depth, out);
                    depth += 1;
                }
                for range in ranges {
                    explain_line("Bitmap", depth, out);
                    explain_line(&index(range), depth + 1, out);
                }
                return;
            }
            ranges.iter().for_each(|range| explain_line(&index(range), depth, out));
        }
    }
}

fn index(range: &crate::node::IndexRange) -> String {
    let has_bounds = range.lower.is_some() || range.upper.is_some();
    let kind = match (range.unique, range.equal.is_empty(), has_bounds, &range.starting) {
        (true, ..) => "Unique Scan".to_owned(),
        (_, true, false, None) => "Full Scan".to_owned(),
        (_, _, _, Some(_)) => "Range Scan (starts with)".to_owned(),
        (_, _, true, _) => match (&range.lower, &range.upper) {
            (Some(_), Some(_)) => "Range Scan (lower bound, upper bound)".to_owned(),
            (Some(_), None) => "Range Scan (lower bound)".to_owned(),
            _ => "Range Scan (upper bound)".to_owned(),
        },
        _ => "Range Scan (full match)".to_owned(),
    };
    format!("Index \"{}\" {kind}", range.name)
}

fn quoted(name: &str, path: &[String]) -> String {
    match path.last() {
        Some(alias) if alias != name => format!("\"{name}\" as \"{}\"", path.join("\" \"")),
        _ => format!("\"{name}\""),
    }
}

/// Calls `visit` with each subquery of a plan's expressions, inner ones first.
fn subqueries(node: &Node, visit: &mut dyn FnMut(&Subquery)) {
    for_each_expression(node, &mut |expression| in_expression(expression, visit));
    for_each_input(node, &mut |input| subqueries(input, visit));
}

fn in_expression(expression: &Expression, visit: &mut dyn FnMut(&Subquery)) {
    if let Expression::Subquery(subquery) = expression {
        if let Some(query) = planned(subquery) {
            subqueries(&query.node, visit);
        }
        visit(subquery);
    }
    expression.for_each_child(&mut |child| in_expression(child, visit));
}

pub(crate) fn for_each_input(node: &Node, visit: &mut dyn FnMut(&Node)) {
    match node {
        Node::Single
        | Node::Table(_)
        | Node::System(_)
        | Node::Procedure(_)
        | Node::WorkingRow(_)
        | Node::Count(_) => {}
        Node::Filter(filter) => visit(&filter.input),
        Node::Project(project) => visit(&project.input),
        Node::NestedLoop(join) => {
            visit(&join.outer);
            visit(&join.inner);
        }
        Node::HashJoin(join) => {
            visit(&join.outer);
            visit(&join.inner);
        }
        Node::Sort(sort) => visit(&sort.input),
        Node::Aggregate(aggregate) => visit(&aggregate.input),
        Node::Window(window) => visit(&window.input),
        Node::Distinct(distinct) => visit(&distinct.input),
        Node::Union(union) => union.inputs.iter().for_each(visit),
        Node::Limit(limit) => visit(&limit.input),
        Node::Recursive(recursive) => {
            visit(&recursive.anchor);
            visit(&recursive.step);
        }
        Node::Lock(lock) => visit(&lock.input),
    }
}

fn for_each_expression(node: &Node, visit: &mut dyn FnMut(&Expression)) {
    match node {
        Node::Filter(filter) => visit(&filter.condition),
        Node::Project(project) => project.items.iter().for_each(visit),
        Node::NestedLoop(join) => {
            join.captures.iter().for_each(|(_, value)| visit(value));
            join.condition.iter().for_each(visit);
        }
        Node::HashJoin(join) => join.condition.iter().for_each(visit),
        Node::Sort(sort) => sort.keys.iter().for_each(|key| visit(&key.value)),
        Node::Aggregate(aggregate) => {
            aggregate.keys.iter().for_each(|key| visit(&key.value));
            aggregate.calls.iter().flat_map(|call| &call.arguments).for_each(visit);
        }
        Node::Window(window) => {
            for call in &window.calls {
                if let WindowFunction::Aggregate(aggregate) = &call.function {
                    aggregate.arguments.iter().for_each(&mut *visit);
                }
                for bound in [&call.frame.start, &call.frame.end] {
                    if let FrameBound::Preceding(value) | FrameBound::Following(value) = bound {
                        visit(value);
                    }
                }
            }
        }
        Node::Limit(limit) => limit.skip.iter().chain(&limit.first).for_each(visit),
        Node::Procedure(scan) => scan.arguments.iter().for_each(visit),
        _ => {}
    }
}
