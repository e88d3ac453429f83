//! Names of tables in plans: those of the views and derived tables that they stand in come first.

use std::sync::Arc;

use crate::node::Node;

impl Node {
    /// This plan, just made, as that of something that the query around it calls by a name.
    #[must_use]
    pub(crate) fn called(mut self, name: &str) -> Node {
        if !name.is_empty() {
            put_before(&mut self, name);
        }
        self
    }
}

fn put_before(node: &mut Node, name: &str) {
    let path = match node {
        Node::Table(scan) => Arc::get_mut(scan).map(|scan| &mut scan.path),
        Node::External(scan) => Arc::get_mut(scan).map(|scan| &mut scan.path),
        Node::System(scan) => Arc::get_mut(scan).map(|scan| &mut scan.path),
        Node::Procedure(scan) => Arc::get_mut(scan).map(|scan| &mut scan.path),
        Node::Count(count) => Arc::get_mut(count).map(|count| &mut count.path),
        _ => None,
    };
    if let Some(path) = path {
        return path.insert(0, name.to_owned());
    }
    match node {
        Node::Filter(filter) => one(Arc::get_mut(filter).map(|filter| &mut filter.input), name),
        Node::Project(project) => one(Arc::get_mut(project).map(|project| &mut project.input), name),
        Node::Sort(sort) => one(Arc::get_mut(sort).map(|sort| &mut sort.input), name),
        Node::Aggregate(groups) => one(Arc::get_mut(groups).map(|groups| &mut groups.input), name),
        Node::Window(window) => one(Arc::get_mut(window).map(|window| &mut window.input), name),
        Node::Distinct(distinct) => one(Arc::get_mut(distinct).map(|distinct| &mut distinct.input), name),
        Node::Limit(limit) => one(Arc::get_mut(limit).map(|limit| &mut limit.input), name),
        Node::Shared(shared) => one(Arc::get_mut(shared).map(|shared| &mut shared.input), name),
        Node::Lock(lock) => one(Arc::get_mut(lock).map(|lock| &mut lock.input), name),
        Node::NestedLoop(join) => {
            let sides = Arc::get_mut(join).map(|join| [&mut join.outer, &mut join.inner]);
            sides.into_iter().flatten().for_each(|side| put_before(side, name));
        }
        Node::RangeJoin(join) => {
            let sides = Arc::get_mut(join).map(|join| [&mut join.outer, &mut join.inner]);
            sides.into_iter().flatten().for_each(|side| put_before(side, name));
        }
        Node::HashJoin(join) => {
            let sides = Arc::get_mut(join).map(|join| [&mut join.outer, &mut join.inner]);
            sides.into_iter().flatten().for_each(|side| put_before(side, name));
        }
        Node::Recursive(table) => {
            let sides = Arc::get_mut(table).map(|table| [&mut table.anchor, &mut table.step]);
            sides.into_iter().flatten().for_each(|side| put_before(side, name));
        }
        Node::Union(union) => {
            let inputs = Arc::get_mut(union).map(|union| &mut union.inputs);
            inputs.into_iter().flatten().for_each(|input| put_before(input, name));
        }
        _ => {}
    }
}

fn one(input: Option<&mut Node>, name: &str) {
    if let Some(input) = input {
        put_before(input, name);
    }
}
