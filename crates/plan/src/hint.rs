//! What PLAN clauses say of access and of the order of joins, done; and refused where it cannot be.
//!
//! The names in a clause have been found by the binder (`bind::plan_clause`). What is said of a table bounds the choice of
//! [`crate::access`]; what is said of the order of joins takes the place of [`crate::order`].
//!
//! Source of the rules: Firebird 5, `Optimizer::formRivers`, `checkIndices`; what it says of the plans of
//! `engine/tests/data/plan-clauses.tsv`.

use std::collections::BTreeSet;

use farbird_expression::Expression;
use farbird_types::{Error, Result, isc};

use crate::bound::source::{FromTree, JoinHint};
use crate::cost;
use crate::join::{GroupMember, JoinPlanner, Pending, Planned};
use crate::node::{Access, AccessHint, HashJoinKind, Node, SortKey, Told};
use crate::order::Method;
use crate::text::for_each_input;

/// What stands where sources have been joined already.
static JOINED: FromTree = FromTree::Group(Vec::new(), Vec::new());

/// Refuses a plan in which an index that a PLAN clause names has no use.
///
/// # Errors
/// `index_unused`.
pub(crate) fn refuse_unused(root: &Node) -> Result<()> {
    if let Node::Table(scan) = root {
        let unused = scan.told.as_ref().and_then(|told| told.unused.first());
        return unused.map_or(Ok(()), |name| Err(Error::new(isc::INDEX_UNUSED).with(name.as_str())));
    }
    let mut checked = Ok(());
    for_each_input(root, &mut |input| {
        if checked.is_ok() {
            checked = refuse_unused(input);
        }
    });
    checked
}

impl JoinPlanner<'_> {
    /// What a PLAN clause says of a source.
    pub(super) fn hint(&self, source: usize) -> Option<&AccessHint> {
        self.sources.get(source)?.hint.as_deref()
    }

    /// As [`JoinPlanner::hint`], with the indexes that are not used.
    pub(super) fn told(&self, source: usize) -> Option<Told> {
        let hint = self.sources.get(source)?.hint.clone()?;
        Some(Told { hint, unused: self.unused.get(&source).cloned().unwrap_or_default() })
    }

    /// Notes which indexes of a PLAN clause a way to read a source does without.
    pub(super) fn note_unused(
        &mut self,
        source: usize,
        access: &Access,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) {
        if self.hint(source).is_none() {
            return;
        }
        let unused = self.unused_beside(source, access, available, conditions);
        self.unused.insert(source, unused);
    }

    fn unused_beside(
        &self,
        source: usize,
        access: &Access,
        available: &BTreeSet<usize>,
        conditions: &[Expression],
    ) -> Vec<String> {
        let Some(relation) = self.stored_table(source) else { return Vec::new() };
        self.access_planner(source, relation, &|source| available.contains(&source))
            .unused(access, conditions)
    }

    /// Joins the members of a group for which PLAN clauses say how: each clause makes one member of them.
    pub(super) fn joined_as_told<'t>(
        &mut self,
        members: Vec<GroupMember<'t>>,
        pending: &mut Pending,
        order: &[SortKey],
    ) -> Result<Vec<GroupMember<'t>>> {
        let mut members: Vec<Option<GroupMember<'t>>> = members.into_iter().map(Some).collect();
        for hint in self.join_hints {
            let mut sources = BTreeSet::new();
            hint.sources(&mut sources);
            let is_told = |member: &&GroupMember<'t>| !member.own.is_disjoint(&sources);
            let told: Vec<&GroupMember<'t>> = members.iter().flatten().filter(is_told).collect();
            let own: BTreeSet<usize> = told.iter().flat_map(|member| member.own.iter().copied()).collect();
            if told.len() < 2 || told.iter().any(|member| !member.needs.is_subset(&own)) {
                continue;
            }
            if let Some(planned) = self.join_told(hint, &mut members, pending, order)? {
                let planned = self.join_dependent(planned, &own, &mut members, pending)?;
                members.push(Some(GroupMember {
                    tree: &JOINED,
                    own: planned.sources.clone(),
                    needs: BTreeSet::new(),
                    beside: None,
                    planned: Some(planned),
                }));
            }
        }
        Ok(members.into_iter().flatten().collect())
    }

    /// Joins what a clause names in front of what it looks at: inputs of procedures, LATERAL.
    fn join_dependent(
        &mut self,
        mut joined: Planned,
        told: &BTreeSet<usize>,
        members: &mut [Option<GroupMember<'_>>],
        pending: &mut Pending,
    ) -> Result<Planned> {
        loop {
            let is_next = |member: &GroupMember<'_>| {
                member.own.is_subset(told) && member.needs.is_subset(&joined.sources)
            };
            let place = members.iter().position(|member| member.as_ref().is_some_and(is_next));
            match place.and_then(|place| members.get_mut(place)).and_then(Option::take) {
                Some(member) => joined = self.follow(joined, member, pending)?,
                None => return Ok(joined),
            }
        }
    }

    /// Joins what a part of a clause names, and what has not been joined yet. Tables that are looked up by indexes for the
    /// rows of others make one stream with those; streams are joined by hash as they follow each other.
    fn join_told(
        &mut self,
        hint: &JoinHint,
        members: &mut [Option<GroupMember<'_>>],
        pending: &mut Pending,
        order: &[SortKey],
    ) -> Result<Option<Planned>> {
        let parts = match hint {
            JoinHint::Source(_) => std::slice::from_ref(hint),
            JoinHint::Join(parts) => parts.as_slice(),
        };
        let mut streams: Vec<Planned> = Vec::new();
        for part in parts {
            let order = if streams.is_empty() { order } else { &[] };
            match part {
                JoinHint::Source(source) => {
                    let there: BTreeSet<usize> =
                        streams.iter().flat_map(|stream| stream.sources.iter().copied()).collect();
                    let is_it = |member: &GroupMember<'_>| {
                        member.own.contains(source) && member.needs.is_subset(&there)
                    };
                    let place = members.iter().position(|member| member.as_ref().is_some_and(is_it));
                    let member = place.and_then(|place| members.get_mut(place)).and_then(Option::take);
                    if let Some(member) = member {
                        self.add_told(&mut streams, member, pending, order)?;
                    }
                }
                JoinHint::Join(_) => streams.extend(self.join_told(part, members, pending, order)?),
            }
        }
        Ok(self.one_stream(streams, pending))
    }

    /// Lets a member follow a stream whose rows it is looked up by, or makes it a stream of its own.
    fn add_told(
        &mut self,
        streams: &mut Vec<Planned>,
        member: GroupMember<'_>,
        pending: &mut Pending,
        order: &[SortKey],
    ) -> Result<()> {
        let needs_all = !member.needs.is_empty();
        let leader = streams.iter().position(|stream| !needs_all && self.follows(&member, stream, pending));
        if let Some(leader) = leader {
            let stream = streams.remove(leader);
            let joined = self.follow(stream, member, pending)?;
            streams.insert(leader, joined);
            return Ok(());
        }
        if !streams.is_empty() && (needs_all || self.follows_all(&member, streams, pending)) {
            if let Some(stream) = self.one_stream(std::mem::take(streams), pending) {
                let joined = self.follow(stream, member, pending)?;
                streams.push(joined);
            }
            return Ok(());
        }
        let stream = self.first(member, pending, order)?;
        streams.push(stream);
        Ok(())
    }

    /// Whether indexes find a member's rows by those of a stream, all that the clause names.
    fn follows(&self, member: &GroupMember<'_>, stream: &Planned, pending: &Pending) -> bool {
        self.looked_up(member, &stream.sources, pending).is_some_and(|(_, unused)| unused == 0)
    }

    fn follows_all(&self, member: &GroupMember<'_>, streams: &[Planned], pending: &Pending) -> bool {
        let all = streams.iter().flat_map(|stream| stream.sources.iter().copied()).collect();
        self.looked_up(member, &all, pending).is_some()
    }

    /// What looking a member up costs for each row of sources before it, and how many of the indexes that the clause names
    /// that leaves; nothing if none finds its rows by theirs.
    fn looked_up(
        &self,
        member: &GroupMember<'_>,
        before: &BTreeSet<usize>,
        pending: &Pending,
    ) -> Option<(f64, usize)> {
        let FromTree::Source(source) = member.tree else { return None };
        let mut conditions = pending.matching(|sources| {
            sources.iter().all(|source| member.own.contains(source) || before.contains(source))
        });
        conditions.retain(|condition| !condition.is_volatile());
        let choice = self.lookup(*source, before, &conditions)?;
        let unused = self.unused_beside(*source, &choice.access, before, &conditions);
        Some((choice.cost, unused.len()))
    }

    /// Joins a member to a stream by looking it up, or running it, for each row.
    fn follow(&mut self, stream: Planned, member: GroupMember<'_>, pending: &mut Pending) -> Result<Planned> {
        let lookup = self.looked_up(&member, &stream.sources, pending).map_or(1.0, |(cost, _)| cost);
        let (before, cost) = (stream.rows, stream.cost);
        let own: BTreeSet<usize> = member.own.clone();
        let across = self.across(&stream.sources, &own, pending);
        let found = own.iter().map(|source| self.estimator.rows(*source)).product::<f64>();
        let rows = self.rows_joined(before, found, &across);
        let mut joined = self.join_next(stream, member, Method::Nested, pending)?;
        joined.rows = rows;
        joined.cost = cost + cost::nested_loop(before, lookup, rows);
        Ok(self.settled(joined, pending))
    }

    /// Joins streams by hash: to what is there the next one that a condition joins to it.
    fn one_stream(&mut self, streams: Vec<Planned>, pending: &mut Pending) -> Option<Planned> {
        let mut left = streams.into_iter();
        let mut current = left.next()?;
        let mut left: Vec<Planned> = left.collect();
        while !left.is_empty() {
            let is_linked =
                |next: &Planned| !self.across(&current.sources, &next.sources, pending).is_empty();
            let next = left.remove(left.iter().position(is_linked).unwrap_or(0));
            let across = self.across(&current.sources, &next.sources, pending);
            let rows = self.rows_joined(current.rows, next.rows, &across);
            let is_hashed = across.iter().any(|condition| self.link(condition, 0).hashable);
            let cost = match is_hashed {
                true => cost::hash_join(next.rows, current.rows, rows, current.node.is_by_columns()),
                false => cost::all_pairs(next.rows, current.rows, rows),
            };
            let cost = current.cost + next.cost + cost;
            let both: BTreeSet<usize> = current.sources.union(&next.sources).copied().collect();
            let across = pending.take(|sources| !sources.is_empty() && sources.is_subset(&both));
            current = self.hash_join(current, next, HashJoinKind::Inner, Method::BuildMember, across);
            current.rows = rows;
            current.cost = cost;
        }
        Some(current)
    }

    /// The conditions that look at both of two parts of a join.
    fn across(&self, left: &BTreeSet<usize>, right: &BTreeSet<usize>, pending: &Pending) -> Vec<Expression> {
        pending.matching(|sources| {
            !sources.is_disjoint(left)
                && !sources.is_disjoint(right)
                && sources.iter().all(|source| left.contains(source) || right.contains(source))
        })
    }

    fn rows_joined(&self, left: f64, right: f64, across: &[Expression]) -> f64 {
        across.iter().fold(left * right, |rows, condition| rows * self.link(condition, 0).fraction).max(1.0)
    }

    /// What can be asked of joined rows.
    fn settled(&self, joined: Planned, pending: &mut Pending) -> Planned {
        let ready = pending.take(|sources| !sources.is_empty() && sources.is_subset(&joined.sources));
        self.filtered(joined, ready)
    }
}
