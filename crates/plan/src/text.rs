//! Plans as Firebird writes them: short (`PLAN JOIN (A NATURAL, B INDEX (PK_B))`) and explained.
//!
//! Source: Firebird 3 and 4, `isql` with SET PLAN and SET EXPLAIN; the record sizes of the explained form are left out,
//! since rows have no fixed size here.

use std::fmt::Write as _;

use farbird_expression::{Expression, Subquery, SubqueryKind};

use crate::access_text::{self, quoted};
use crate::node::{
    Access, FrameBound, HashJoin, HashJoinKind, IndexRange, NestedLoop, NestedLoopKind, Node, RowSet,
    TableScan, Window, WindowFunction,
};
use crate::subplan::planned;

/// Deeper bitmaps are shown side by side.
const BITMAPS_NESTED_MAX: usize = 8;

/// The short form: one line for each subquery, then one for the query itself. Empty if no table is read. `values` are computed
/// besides, for each of its rows.
pub(crate) fn short(root: &Node, values: &[&Expression]) -> String {
    let mut lines = Vec::new();
    let mut add = |subquery: &Subquery| lines.extend(planned(subquery).map(|query| line(&query.node)));
    values.iter().for_each(|value| in_expression(value, &mut add));
    subqueries(root, &mut add);
    lines.push(line(root));
    lines.retain(|line| !line.is_empty());
    lines.join("\n")
}

/// The explained form: a tree, one operator a line.
pub(crate) fn explained(root: &Node, values: &[&Expression]) -> String {
    let mut texts = Vec::new();
    let mut add = |subquery: &Subquery| {
        let mut text = title(subquery).to_owned();
        if let Some(query) = planned(subquery) {
            let mut depth = 1;
            if matches!(subquery.kind, SubqueryKind::Scalar) {
                explain_line("Singularity Check", depth, &mut text);
                depth += 1;
            }
            explain(&query.node, depth, &mut text);
        }
        texts.push(text);
    };
    values.iter().for_each(|value| in_expression(value, &mut add));
    subqueries(root, &mut add);
    let mut text = "Select Expression".to_owned();
    explain(root, 1, &mut text);
    // A row of values is read from nowhere.
    if !matches!(root, Node::Single) {
        texts.push(text);
    }
    texts.join("\n")
}

/// What a subquery is called.
pub(crate) fn title(subquery: &Subquery) -> &'static str {
    if subquery.captures.is_empty() { "Sub-query (invariant)" } else { "Sub-query" }
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
        Node::External(scan) => Item::Plain(format!("{} NATURAL", scan.path.join(" "))),
        Node::System(scan) => Item::Plain(format!("{} NATURAL", scan.path.join(" "))),
        Node::Procedure(scan) => Item::Plain(format!("{} NATURAL", scan.path.join(" "))),
        Node::Count(count) => Item::Plain(format!("{} NATURAL", count.path.join(" "))),
        Node::Filter(filter) => item(&filter.input),
        Node::Project(project) => item(&project.input),
        Node::Limit(limit) => item(&limit.input),
        Node::Shared(shared) => item(&shared.input),
        Node::Lock(lock) => item(&lock.input),
        Node::Window(window) => sorted(item(&window.input)),
        Node::Sort(sort) => sorted(item(&sort.input)),
        Node::Distinct(distinct) => sorted(item(&distinct.input)),
        Node::Aggregate(aggregate) if aggregate.keys.is_empty() => item(&aggregate.input),
        Node::Aggregate(aggregate) => sorted(item(&aggregate.input)),
        Node::NestedLoop(join) => {
            joined("JOIN", join.kind == NestedLoopKind::Inner, &join.outer, &join.inner)
        }
        Node::RangeJoin(join) => joined("JOIN", join.kind == NestedLoopKind::Inner, &join.outer, &join.inner),
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
            let names = names(&ranges.iter().collect::<Vec<_>>());
            match (ordered, names.as_slice()) {
                (Some(_), [index]) => format!("{name} ORDER {index}"),
                _ => format!("{name} INDEX ({})", names.join(", ")),
            }
        }
        Access::Rows(set) => {
            let names: Vec<&str> =
                access_text::parts(set).iter().flat_map(|set| names(&set.ranges())).collect();
            format!("{name} INDEX ({})", names.join(", "))
        }
    }
}

/// The indexes of ranges; that of a list of values once.
fn names<'r>(ranges: &[&'r IndexRange]) -> Vec<&'r str> {
    let shown = if access_text::is_list(ranges) { 1 } else { ranges.len() };
    ranges.iter().take(shown).map(|range| range.name.as_str()).collect()
}

fn explain(node: &Node, depth: usize, out: &mut String) {
    let below = depth + 1;
    let mut say = |text: &str| explain_line(text, depth, out);
    match node {
        Node::Single | Node::WorkingRow(_) => {}
        Node::Table(scan) => explain_table(scan, depth, out),
        Node::External(scan) => say(&format!("Table {} Full Scan", quoted(&scan.relation.name, &scan.path))),
        Node::System(scan) => say(&format!("Table {} Full Scan", quoted(&scan.relation.name, &scan.path))),
        Node::Count(count) => {
            say("Aggregate");
            explain_line(
                &format!("Table {} Full Scan", quoted(&count.relation.name, &count.path)),
                below,
                out,
            );
        }
        Node::Procedure(scan) => say(&format!("Procedure {} Scan", quoted(&scan.procedure.name, &scan.path))),
        Node::Filter(filter) => {
            say("Filter");
            explain(&filter.input, below, out);
        }
        Node::Project(project) => explain(&project.input, depth, out),
        Node::Limit(limit) => {
            let mut depth = depth;
            let steps = [("First N Records", &limit.first), ("Skip N Records", &limit.skip)];
            for (step, _) in steps.into_iter().filter(|(_, value)| value.is_some()) {
                explain_line(step, depth, out);
                depth += 1;
            }
            explain(&limit.input, depth, out);
        }
        Node::Lock(lock) => {
            say("Write Lock");
            explain(&lock.input, below, out);
        }
        Node::Window(window) => {
            say("Window");
            explain_window(window, below, out);
        }
        Node::Shared(shared) if !shared.is_used_again() => explain(&shared.input, depth, out),
        Node::Shared(shared) => {
            say("Record Buffer");
            explain(&shared.input, below, out);
        }
        Node::Sort(sort) => {
            say("Sort");
            explain(&sort.input, below, out);
        }
        Node::Distinct(distinct) => {
            say("Unique Sort");
            explain(&distinct.input, below, out);
        }
        Node::Aggregate(aggregate) => {
            say("Aggregate");
            if aggregate.keys.is_empty() {
                explain(first_of_order(&aggregate.input).unwrap_or(&aggregate.input), below, out);
            } else {
                explain_line("Sort", below, out);
                explain(&aggregate.input, below + 1, out);
            }
        }
        // A row of values is joined with nothing.
        Node::NestedLoop(join) if matches!(join.outer, Node::Single | Node::WorkingRow(_)) => {
            explain_inner(join, depth, out);
        }
        Node::NestedLoop(join) => {
            say(nested_loop(join.kind));
            explain_outer(join, below, out);
            explain_inner(join, below, out);
        }
        Node::RangeJoin(join) => {
            say(range_join(join.kind));
            explain(&join.outer, below, out);
            explain_line("Record Buffer", below, out);
            explain(&join.inner, below + 1, out);
        }
        Node::HashJoin(join) => {
            say(&hash_join(join));
            explain(&join.outer, below, out);
            explain_line("Record Buffer", below, out);
            explain(&join.inner, below + 1, out);
        }
        Node::Union(union) => {
            say("Union");
            union.inputs.iter().for_each(|input| explain(input, below, out));
        }
        Node::Recursive(recursive) => {
            say("Recursion");
            explain(&recursive.anchor, below, out);
            explain(&recursive.step, below, out);
        }
    }
}

/// What a join by ranges is called.
pub(crate) fn range_join(kind: NestedLoopKind) -> &'static str {
    match kind {
        NestedLoopKind::Inner => "Range Join (inner)",
        NestedLoopKind::Left => "Range Join (outer)",
        NestedLoopKind::Semi => "Range Join (semi)",
        NestedLoopKind::Anti => "Range Join (anti)",
    }
}

/// What a nested loop is called.
pub(crate) fn nested_loop(kind: NestedLoopKind) -> &'static str {
    match kind {
        NestedLoopKind::Inner => "Nested Loop Join (inner)",
        NestedLoopKind::Left => "Nested Loop Join (outer)",
        NestedLoopKind::Semi => "Nested Loop Join (semi)",
        NestedLoopKind::Anti => "Nested Loop Join (anti)",
    }
}

/// What a join by a table in memory is called.
pub(crate) fn hash_join(join: &HashJoin) -> String {
    let kind = match join.kind {
        HashJoinKind::Inner => "inner",
        HashJoinKind::Left | HashJoinKind::Right => "outer",
        HashJoinKind::Semi | HashJoinKind::InnerSemi => "semi",
        HashJoinKind::Anti | HashJoinKind::InnerAnti => "anti",
        HashJoinKind::Full => "full",
    };
    match join.outer_keys.is_empty() {
        true => format!("Nested Loop Join ({kind})"),
        false => format!("Hash Join ({kind})"),
    }
}

/// Inner joins of several tables are one list.
fn explain_outer(join: &NestedLoop, depth: usize, out: &mut String) {
    match &join.outer {
        Node::NestedLoop(outer)
            if (join.kind, outer.kind) == (NestedLoopKind::Inner, NestedLoopKind::Inner) =>
        {
            explain_outer(outer, depth, out);
            explain_inner(outer, depth, out);
        }
        outer => explain(outer, depth, out),
    }
}

/// The inner side, with what the join asks of its rows.
fn explain_inner(join: &NestedLoop, depth: usize, out: &mut String) {
    if join.condition.is_none() || matches!(join.inner, Node::Filter(_)) {
        return explain(&join.inner, depth, out);
    }
    explain_line("Filter", depth, out);
    explain(&join.inner, depth + 1, out);
}

/// Windows that look at each other's rows are one list.
fn explain_window(window: &Window, depth: usize, out: &mut String) {
    let mut depth = depth;
    let mut say = |text: &str| {
        explain_line(text, depth, out);
        depth += 1;
    };
    if !window.partition.is_empty() || !window.order.is_empty() {
        ["Window Partition", "Record Buffer", "Sort"].into_iter().for_each(&mut say);
    }
    match &window.input {
        Node::Window(inner) => explain_window(inner, depth, out),
        input => {
            ["Window Partition", "Window Buffer", "Record Buffer"].into_iter().for_each(&mut say);
            explain(input, depth, out);
        }
    }
}

/// The table that MIN and MAX read in the order of an index, up to its first value.
fn first_of_order(node: &Node) -> Option<&Node> {
    let Node::Limit(limit) = node else { return None };
    let Node::Filter(filter) = &limit.input else { return None };
    match &filter.input {
        Node::Table(scan) => {
            matches!(scan.access, Access::Index { ordered: Some(_), .. }).then_some(&filter.input)
        }
        _ => None,
    }
}

fn explain_line(text: &str, depth: usize, out: &mut String) {
    // Writing to a string cannot fail.
    let _ = write!(out, "\n{}-> {text}", "    ".repeat(depth));
}

fn explain_table(scan: &TableScan, depth: usize, out: &mut String) {
    let name = quoted(&scan.relation.name, &scan.path);
    if matches!(scan.access, Access::Natural) {
        return explain_line(&format!("Table {name} Full Scan"), depth, out);
    }
    explain_line(&format!("Table {name} Access By ID"), depth, out);
    match &scan.access {
        Access::Natural => {}
        Access::RowKeys(_) | Access::RowNumber(_) => explain_line("DBKEY", depth + 1, out),
        Access::Index { ranges, ordered: Some(_) } => {
            let lines = ranges.iter().map(|range| access_text::range(&scan.relation, range, false));
            lines.for_each(|line| explain_line(&line, depth + 1, out));
        }
        Access::Index { ranges, .. } => {
            explain_ranges(scan, &ranges.iter().collect::<Vec<_>>(), depth + 1, out);
        }
        Access::Rows(set) => explain_sets(scan, access_text::parts(set), depth + 1, out),
    }
}

/// Of a list of values only one range is shown.
fn explain_ranges(scan: &TableScan, ranges: &[&IndexRange], depth: usize, out: &mut String) {
    match access_text::is_list(ranges) {
        true => explain_bitmaps(scan, ranges.get(..1).unwrap_or_default(), true, depth, out),
        false => explain_bitmaps(scan, ranges, false, depth, out),
    }
}

fn explain_sets(scan: &TableScan, sets: &[RowSet], depth: usize, out: &mut String) {
    match sets {
        [] => {}
        [set] => explain_ranges(scan, &set.ranges(), depth, out),
        [before @ .., last] => {
            explain_line("Bitmap And", depth, out);
            explain_sets(scan, before, depth + 1, out);
            explain_ranges(scan, &last.ranges(), depth + 1, out);
        }
    }
}

/// Two bitmaps are taken together at a time, up to a depth that can be read.
fn explain_bitmaps(scan: &TableScan, ranges: &[&IndexRange], listed: bool, depth: usize, out: &mut String) {
    let one = |range: &IndexRange, depth: usize, out: &mut String| {
        explain_line("Bitmap", depth, out);
        explain_line(&access_text::range(&scan.relation, range, listed), depth + 1, out);
    };
    match ranges {
        [] => {}
        [range] => one(range, depth, out),
        ranges if ranges.len() > BITMAPS_NESTED_MAX => {
            explain_line("Bitmap Or", depth, out);
            ranges.iter().for_each(|range| one(range, depth + 1, out));
        }
        [before @ .., last] => {
            explain_line("Bitmap Or", depth, out);
            explain_bitmaps(scan, before, listed, depth + 1, out);
            one(last, depth + 1, out);
        }
    }
}

/// Calls `visit` with each subquery of an expression that is the operator's own, not one of those inside of such.
pub(crate) fn own_subqueries(node: &Node, visit: &mut dyn FnMut(&Subquery)) {
    for_each_expression(node, &mut |expression| own_in_expression(expression, visit));
}

/// As [`own_subqueries`], of an expression.
pub(crate) fn own_in_expression(expression: &Expression, visit: &mut dyn FnMut(&Subquery)) {
    if let Expression::Subquery(subquery) = expression {
        visit(subquery);
    }
    expression.for_each_child(&mut |child| own_in_expression(child, visit));
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
        | Node::External(_)
        | Node::Procedure(_)
        | Node::WorkingRow(_)
        | Node::Count(_) => {}
        Node::Filter(filter) => visit(&filter.input),
        Node::Project(project) => visit(&project.input),
        Node::NestedLoop(join) => {
            visit(&join.outer);
            visit(&join.inner);
        }
        Node::RangeJoin(join) => {
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
        Node::Shared(shared) => visit(&shared.input),
        Node::Recursive(recursive) => {
            visit(&recursive.anchor);
            visit(&recursive.step);
        }
        Node::Lock(lock) => visit(&lock.input),
    }
}

pub(crate) fn for_each_expression(node: &Node, visit: &mut dyn FnMut(&Expression)) {
    match node {
        Node::Filter(filter) => visit(&filter.condition),
        Node::Project(project) => project.items.iter().for_each(visit),
        Node::NestedLoop(join) => {
            join.captures.iter().for_each(|(_, value)| visit(value));
            join.condition.iter().for_each(visit);
        }
        Node::HashJoin(join) => join.condition.iter().for_each(visit),
        Node::RangeJoin(join) => {
            let bounds = join.lower.iter().chain(&join.upper).map(|bound| &bound.value);
            let beside = join.beside.iter().flat_map(|beside| [&beside.key, &beside.bound.value]);
            bounds.chain(beside).chain([&join.key]).chain(&join.condition).for_each(visit);
        }
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
