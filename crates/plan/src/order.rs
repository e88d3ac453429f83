//! The order in which tables are joined, and how each is.
//!
//! Knows nothing of tables and expressions: members with their rows and costs, links between them, and what a lookup by index
//! costs. Up to a dozen members every order in which one member is joined to those before is looked at (dynamic programming over
//! sets); of more, the cheapest next member is taken, from several starts.

use std::collections::HashMap;

use crate::classes::{Columns, Composite, Groups};
use crate::cost::{self, KeyedReading};

/// Most members for which every order is looked at.
const ALL_ORDERS_MAX: usize = 12;
/// Most members that are put in order at all: a set is a word of 64 bits.
pub(super) const MEMBERS_MAX: usize = 64;
/// From how many starts the next member is looked for among many.
const STARTS_MAX: usize = 8;

/// Something to be joined.
#[derive(Debug, Clone)]
pub(super) struct Member {
    /// Its rows that its own conditions leave.
    pub(super) rows: f64,
    /// Its rows without conditions.
    pub(super) all_rows: f64,
    /// What reading it by itself costs.
    pub(super) read_cost: f64,
    /// Members that must come before.
    pub(super) needs: u64,
    /// Whether it looks at their rows, so that it runs for each of them.
    pub(super) runs_for_each: bool,
    /// EXISTS and its like, and what a LEFT JOIN adds: how many rows it leaves of each row of the others.
    pub(super) leaves: Option<f64>,
    /// Whether rows without a partner in it stay (NOT EXISTS, LEFT JOIN).
    pub(super) keeps_lonely: bool,
    /// Whether it is a scan by columns: then a hash join tells it which keys have a partner.
    pub(super) scanned: bool,
    /// Whether its rows come by columns when it is read by itself.
    pub(super) by_columns: bool,
    /// How many combinations of values columns of it have together.
    pub(super) composites: Vec<Composite>,
    /// Of a query that groups: what its groups cost, and the columns by which a hash join tells it which of them have a partner.
    pub(super) groups: Option<GroupsOfMember>,
}

/// Groups that a member makes.
#[derive(Debug, Clone)]
pub(super) struct GroupsOfMember {
    /// What making all of them costs.
    pub(super) cost: f64,
    /// Their keys that are columns of the rows that are grouped, by slot.
    pub(super) keys: Vec<usize>,
}

/// A condition on several members.
#[derive(Debug, Clone)]
pub(super) struct Link {
    /// Which.
    pub(super) members: u64,
    /// Part of the combinations of rows that it leaves.
    pub(super) fraction: f64,
    /// Whether a hash join can use it.
    pub(super) hashable: bool,
    /// Whether a join by ranges can use it.
    pub(super) is_range: bool,
    /// Whether a scan by columns can leave rows out by it: it is about numbers or dates.
    pub(super) filters: bool,
    /// The columns that it says are equal.
    pub(super) equal: Option<(usize, usize)>,
}

/// How a member is joined to those before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// By a hash table of the member's rows (or all pairs are tried).
    BuildMember,
    /// By a hash table of the rows so far.
    BuildJoined,
    /// The same, of a member of which an index names the rows under the keys in it.
    BuildJoinedByKeys,
    /// It is looked up, or runs, for each row so far.
    Nested,
}

/// A step of the join.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Step {
    /// The member that is joined; the first one is only read.
    pub(super) member: usize,
    /// How.
    pub(super) method: Method,
    /// Rows after it.
    pub(super) rows: f64,
    /// What everything up to it costs.
    pub(super) cost: f64,
    /// The member whose rows flow through the joins so far: the others are in hash tables or looked up.
    pub(super) flowing: usize,
    /// Whether rows come out of it by columns: what is looked up for each row gives rows.
    pub(super) by_columns: bool,
}

/// What it costs to look one row's partners up in a member by an index.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lookup {
    /// With as many partners as the values of the index have rows in the mean.
    pub(super) cost: f64,
    /// What is added if there are as many again.
    pub(super) partners_cost: f64,
    /// What reading the partners of all rows together costs, if that is possible.
    pub(super) keyed: Option<KeyedReading>,
}

/// What is to be put in order.
pub(super) struct Order<'a> {
    pub(super) members: &'a [Member],
    pub(super) links: &'a [Link],
    /// How the values of the columns are spread that links are about.
    columns: &'a Columns,
    /// What a lookup in a member costs, given the set of members before; `None` if no index does that.
    pub(super) lookup: &'a mut dyn FnMut(usize, u64) -> Option<Lookup>,
    rows: HashMap<u64, Joined>,
    lookups: HashMap<(usize, u64), Option<Lookup>>,
}

/// How many rows the join of a set has.
#[derive(Debug, Clone, Copy)]
struct Joined {
    rows: f64,
    /// As many if all values were equally frequent.
    rows_if_even: f64,
}

#[derive(Clone, Copy)]
struct Best {
    step: Step,
    before: u64,
}

impl<'a> Order<'a> {
    pub(super) fn new(
        members: &'a [Member],
        links: &'a [Link],
        columns: &'a Columns,
        lookup: &'a mut dyn FnMut(usize, u64) -> Option<Lookup>,
    ) -> Order<'a> {
        Order { members, links, columns, lookup, rows: HashMap::new(), lookups: HashMap::new() }
    }

    /// The steps of the cheapest order; none if no order has every member behind those that it needs.
    pub(super) fn best(&mut self) -> Option<Vec<Step>> {
        if self.members.len() <= ALL_ORDERS_MAX { self.of_all() } else { self.cheapest_next() }
    }

    /// The cheapest next member each time, from this start, if each of them can be looked up for the rows before: then rows
    /// come one by one.
    pub(super) fn streaming(&mut self, start: usize) -> Option<Vec<Step>> {
        let start = self.starts().into_iter().find(|step| step.member == start)?;
        let mut steps = vec![start];
        let mut set = 1 << start.member;
        let mut cost = start.cost;
        while steps.len() < self.members.len() {
            let mut next: Option<Step> = None;
            for member in self.candidates(set) {
                let Some(lookup) = self.lookup_cost(set, member) else { continue };
                let rows = self.rows_of(set | 1 << member);
                let cost = cost + cost::nested_loop(self.rows_of(set), lookup, rows);
                if next.is_none_or(|next| cost < next.cost) {
                    next = Some(Step {
                        member,
                        method: Method::Nested,
                        rows,
                        cost,
                        flowing: start.member,
                        by_columns: false,
                    });
                }
            }
            let next = next?;
            set |= 1 << next.member;
            cost = next.cost;
            steps.push(next);
        }
        Some(steps)
    }

    fn lookup(&mut self, set: u64, number: usize) -> Option<Lookup> {
        let relevant = set & self.neighbours(number);
        match self.lookups.get(&(number, relevant)) {
            Some(known) => *known,
            None => {
                let found = (self.lookup)(number, relevant);
                self.lookups.insert((number, relevant), found);
                found
            }
        }
    }

    /// How a member is read by the keys of the rows of a set.
    fn keyed(&mut self, set: u64, number: usize) -> Option<KeyedReading> {
        let keyed = self.lookup(set, number)?.keyed?;
        Some(KeyedReading { rows: keyed.rows * self.skew(set, number), ..keyed })
    }

    fn lookup_cost(&mut self, set: u64, number: usize) -> Option<f64> {
        let lookup = self.lookup(set, number)?;
        Some(lookup.cost + (self.skew(set, number) - 1.0) * lookup.partners_cost)
    }

    /// How many times as many partners the rows of a set have in a member as its values have rows in the mean: what is
    /// frequent in the set is often frequent there too.
    fn skew(&mut self, set: u64, number: usize) -> f64 {
        if self.members.get(number).is_some_and(|member| member.leaves.is_some()) {
            return 1.0;
        }
        let (before, after) = (self.joined(set), self.joined(set | 1 << number));
        let even = after.rows_if_even / before.rows_if_even;
        (after.rows / before.rows / even).max(1.0)
    }

    fn of_all(&mut self) -> Option<Vec<Step>> {
        let all = set_of_all(self.members.len());
        let mut bests: HashMap<u64, Best> = HashMap::new();
        let mut level: Vec<u64> = Vec::new();
        for step in self.starts() {
            let set = 1 << step.member;
            bests.insert(set, Best { step, before: 0 });
            level.push(set);
        }
        for _ in 1..self.members.len() {
            let mut next: Vec<u64> = Vec::new();
            for set in level {
                let Some(before) = bests.get(&set).map(|best| best.step) else { continue };
                for member in self.candidates(set) {
                    let step = self.step(set, before, member);
                    let joined = set | 1 << member;
                    let known = bests.get(&joined);
                    if known.is_none() {
                        next.push(joined);
                    }
                    if known.is_none_or(|known| step.cost < known.step.cost) {
                        bests.insert(joined, Best { step, before: set });
                    }
                }
            }
            level = next;
        }
        let mut steps = Vec::with_capacity(self.members.len());
        let mut set = all;
        while set != 0 {
            let best = bests.get(&set)?;
            steps.push(best.step);
            set = best.before;
        }
        steps.reverse();
        Some(steps)
    }

    fn cheapest_next(&mut self) -> Option<Vec<Step>> {
        let mut starts = self.starts();
        starts.sort_by(|left, right| left.rows.total_cmp(&right.rows));
        starts.truncate(STARTS_MAX);
        let orders: Vec<Vec<Step>> = starts.into_iter().filter_map(|start| self.greedy(start)).collect();
        let total = |steps: &Vec<Step>| steps.last().map_or(0.0, |step| step.cost);
        orders.into_iter().min_by(|left, right| total(left).total_cmp(&total(right)))
    }

    fn greedy(&mut self, start: Step) -> Option<Vec<Step>> {
        let mut steps = vec![start];
        let mut set = 1 << start.member;
        let mut before = start;
        while steps.len() < self.members.len() {
            let candidates = self.candidates(set);
            let next = candidates
                .into_iter()
                .map(|member| self.step(set, before, member))
                .min_by(|left, right| (left.cost + left.rows).total_cmp(&(right.cost + right.rows)))?;
            set |= 1 << next.member;
            before = next;
            steps.push(next);
        }
        Some(steps)
    }

    /// Every member with which a join may begin.
    fn starts(&self) -> Vec<Step> {
        let members = self.members.iter().enumerate();
        members
            .filter(|(_, member)| member.needs == 0 && member.leaves.is_none())
            .map(|(number, member)| Step {
                member: number,
                method: Method::BuildMember,
                rows: member.rows.max(1.0),
                cost: member.read_cost,
                flowing: number,
                by_columns: member.by_columns,
            })
            .collect()
    }

    /// The members that may be joined to a set: those that a condition links to it, if there are any.
    fn candidates(&self, set: u64) -> Vec<usize> {
        let free: Vec<usize> = self
            .members
            .iter()
            .enumerate()
            .filter(|(number, member)| set & (1 << number) == 0 && member.needs & !set == 0)
            .map(|(number, _)| number)
            .collect();
        let linked: Vec<usize> = free
            .iter()
            .copied()
            .filter(|number| {
                self.members.get(*number).is_some_and(|member| member.needs != 0)
                    || self.links_between(set, *number).next().is_some()
            })
            .collect();
        if linked.is_empty() { free } else { linked }
    }

    fn links_between(&self, set: u64, member: usize) -> impl Iterator<Item = &Link> {
        let own = 1 << member;
        self.links.iter().filter(move |link| {
            link.members & own != 0 && link.members & set != 0 && link.members & !(set | own) == 0
        })
    }

    fn step(&mut self, set: u64, so_far: Step, number: usize) -> Step {
        let before = self.rows_of(set);
        let rows = self.rows_of(set | 1 << number);
        let hashable = self.links_between(set, number).any(|link| link.hashable);
        let lookup = self.lookup_cost(set, number);
        let keyed = if hashable { self.keyed(set, number) } else { None };
        let mut best = (f64::INFINITY, Method::Nested);
        let mut offer = |cost: f64, method: Method| {
            if cost < best.0 {
                best = (cost, method);
            }
        };
        if let Some(member) = self.members.get(number) {
            if member.runs_for_each {
                offer(cost::nested_plan(before, member.rows), Method::Nested);
            } else if hashable {
                let read = member.read_cost;
                let build_member = cost::hash_join(member.rows, before, rows, so_far.by_columns);
                let build_joined = cost::hash_join(before, member.rows, rows, member.by_columns);
                let flowing = self
                    .members
                    .get(so_far.flowing)
                    .filter(|flowing| flowing.scanned && !member.keeps_lonely);
                let spared =
                    flowing.zip(self.partners(set, number, so_far.flowing)).map(|(flowing, part)| {
                        let share = (part * member.rows).min(1.0);
                        cost::left_out(flowing.rows, flowing.rows * share).min(build_member)
                    });
                offer(read + build_member - spared.unwrap_or(0.0), Method::BuildMember);
                let spared = self.partners(set, number, number).filter(|_| member.scanned).map(|part| {
                    let share = (part * before).min(1.0);
                    cost::left_out(member.rows, member.rows * share).min(build_joined + read / 2.0)
                });
                let spared = spared.unwrap_or(0.0) + self.groups_spared(set, number, before);
                offer(read + build_joined - spared, Method::BuildJoined);
                if let Some(keyed) =
                    keyed.filter(|_| (cost::KEYED_ROWS_MIN..=cost::KEYS_MAX).contains(&before))
                {
                    let joined = cost::hash_join(before, keyed.found(before), rows, true);
                    offer(keyed.cost(before) + joined, Method::BuildJoinedByKeys);
                }
            } else if self.links_between(set, number).any(|link| link.is_range) {
                let read = member.read_cost;
                offer(read + cost::range_join(member.rows, before, rows), Method::BuildMember);
                if member.leaves.is_none() {
                    offer(read + cost::range_join(before, member.rows, rows), Method::BuildJoined);
                }
            } else {
                offer(member.read_cost + cost::all_pairs(member.rows, before, rows), Method::BuildMember);
            }
        }
        if let Some(lookup) = lookup {
            offer(cost::nested_loop(before, lookup, rows), Method::Nested);
        }
        let flowing = match best.1 {
            Method::BuildJoined | Method::BuildJoinedByKeys => number,
            Method::BuildMember | Method::Nested => so_far.flowing,
        };
        let by_columns = match best.1 {
            Method::BuildMember => so_far.by_columns && hashable,
            Method::BuildJoined => {
                self.members.get(number).is_some_and(|member| member.by_columns) && hashable
            }
            Method::BuildJoinedByKeys => true,
            Method::Nested => false,
        };
        Step { member: number, method: best.1, rows, cost: so_far.cost + best.0, flowing, by_columns }
    }

    /// The part of the pairs of a set's rows and a member's that are partners by what a scan of one of them can look at: of
    /// the member itself, or of one of the set.
    fn partners(&self, set: u64, number: usize, scanned: usize) -> Option<f64> {
        let links = self.links_between(set, number);
        links
            .filter(|link| link.filters && link.members & 1 << scanned != 0 && link.members.count_ones() == 2)
            .map(|link| link.fraction)
            .min_by(f64::total_cmp)
    }

    /// What a member that groups need not do if the rows so far, which are so many, tell it which groups have a partner: rows of the
    /// others are left out before they are grouped, and their groups are neither made nor looked up.
    fn groups_spared(&self, set: u64, number: usize, before: f64) -> f64 {
        let Some((member, groups)) =
            self.members.get(number).and_then(|member| Some((member, member.groups.as_ref()?)))
        else {
            return 0.0;
        };
        let is_key = |slot: usize| groups.keys.contains(&slot);
        let parts = self
            .links_between(set, number)
            .filter(|link| {
                link.filters && link.equal.is_some_and(|(left, right)| is_key(left) || is_key(right))
            })
            .map(|link| link.fraction);
        let Some(part) = parts.min_by(f64::total_cmp) else { return 0.0 };
        let share = (part * before).min(1.0);
        (groups.cost + cost::hash_join(0.0, member.rows, 0.0, member.by_columns)) * (1.0 - share)
    }

    fn neighbours(&self, member: usize) -> u64 {
        let own = 1 << member;
        let linked = self.links.iter().filter(|link| link.members & own != 0);
        linked.fold(0, |all, link| all | link.members) & !own
    }

    /// Rows of the join of a set, whatever the order.
    fn rows_of(&mut self, set: u64) -> f64 {
        self.joined(set).rows.max(1.0)
    }

    fn joined(&mut self, set: u64) -> Joined {
        if let Some(joined) = self.rows.get(&set) {
            return *joined;
        }
        let joined = self.join_of(set);
        self.rows.insert(set, joined);
        joined
    }

    fn join_of(&self, set: u64) -> Joined {
        let mut rows = 1.0;
        let mut dropping = 0;
        for (number, member) in self.members.iter().enumerate().filter(|(number, _)| set & (1 << number) != 0)
        {
            if member.leaves.is_some() {
                dropping |= 1 << number;
            }
            rows *= member.leaves.unwrap_or(member.rows);
        }
        let mut groups = Groups::default();
        for link in self.links.iter().filter(|link| link.members & !set == 0 && link.members & dropping == 0)
        {
            match link.equal {
                Some((left, right)) => groups.join(left, right, link.members),
                None => rows *= link.fraction,
            }
        }
        // Several columns together are no better than a key.
        let mut together: HashMap<u64, (f64, f64)> = HashMap::new();
        for group in groups.iter() {
            let (fraction, if_even) = self.columns.fraction(&group.columns);
            let parts = together.entry(group.members).or_insert((1.0, 1.0));
            *parts = (parts.0 * fraction, parts.1 * if_even);
        }
        let belonging = self.belonging(set & !dropping, &groups);
        rows *= belonging;
        let mut rows_if_even = rows;
        for (members, (fraction, if_even)) in together {
            let others = i32::try_from(members.count_ones()).unwrap_or(1) - 1;
            let least = self.most_rows(members).powi(-others);
            rows *= fraction.max(least);
            rows_if_even *= if_even.max(least);
        }
        Joined { rows: rows.max(f64::MIN_POSITIVE), rows_if_even: rows_if_even.max(f64::MIN_POSITIVE) }
    }

    /// How many times as many rows the join of a set has as if columns that belong together were independent.
    fn belonging(&self, set: u64, groups: &Groups) -> f64 {
        let (mut times, mut told) = (1.0, 0);
        for (number, member) in self.members.iter().enumerate() {
            let own = 1 << number;
            if set & own == 0 {
                continue;
            }
            let found = member.composites.iter().filter_map(|composite| {
                self.columns.belonging(composite, own, groups).filter(|(_, others)| others & set != 0)
            });
            // What one side says of two members the other says again.
            let Some((more, others)) = found.max_by(|left, right| left.0.total_cmp(&right.0)) else {
                continue;
            };
            if told & own == 0 || told & others & set == 0 {
                times *= more;
                told |= own | others & set;
            }
        }
        times
    }

    fn most_rows(&self, set: u64) -> f64 {
        let members = self.members.iter().enumerate().filter(|(number, _)| set & (1 << number) != 0);
        members.fold(1.0, |most, (_, member)| most.max(member.all_rows))
    }
}

fn set_of_all(members: usize) -> u64 {
    if members >= 64 { u64::MAX } else { (1 << members) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::ValueShares;

    fn table(rows: f64, all_rows: f64) -> Member {
        Member {
            rows,
            all_rows,
            read_cost: cost::scan(all_rows, rows),
            needs: 0,
            runs_for_each: false,
            leaves: None,
            keeps_lonely: false,
            scanned: false,
            by_columns: true,
            composites: Vec::new(),
            groups: None,
        }
    }

    fn link(left: usize, right: usize, distinct: f64) -> Link {
        Link {
            members: 1 << left | 1 << right,
            fraction: 1.0 / distinct,
            hashable: true,
            is_range: false,
            filters: false,
            equal: Some((left * 10, right * 10 + 1)),
        }
    }

    /// Columns whose values are equally frequent.
    fn even(links: &[Link]) -> Columns {
        let mut columns = Columns::default();
        for link in links {
            let (left, right) = link.equal.unwrap();
            columns.add(left, ValueShares::even(1.0 / link.fraction));
            columns.add(right, ValueShares::even(1.0 / link.fraction));
        }
        columns
    }

    fn methods(members: &[Member], links: &[Link]) -> Vec<(usize, Method)> {
        let mut lookup = |_, _| None;
        let steps = Order::new(members, links, &even(links), &mut lookup).best().unwrap();
        steps.iter().map(|step| (step.member, step.method)).collect()
    }

    #[test]
    fn the_smaller_side_is_built_whichever_is_written_first() {
        let (big, small) = (table(100_000.0, 100_000.0), table(10_000.0, 10_000.0));
        let links = [link(0, 1, 10_000.0)];
        let first = methods(&[big.clone(), small.clone()], &links);
        let second = methods(&[small, big], &links);
        let built = |steps: &[(usize, Method)], big: usize| match steps {
            [(first, _), (_, Method::BuildMember)] => *first == big,
            [(first, _), (_, Method::BuildJoined)] => *first != big,
            _ => false,
        };
        assert!(built(&first, 0), "{first:?}");
        assert!(built(&second, 1), "{second:?}");
    }

    #[test]
    fn few_rows_look_others_up_and_many_do_not() {
        let links = [link(0, 1, 1_000_000.0)];
        for (rows, expected) in [(10.0, Method::Nested), (500_000.0, Method::BuildJoined)] {
            let members = [table(rows, 1_000_000.0), table(1_000_000.0, 1_000_000.0)];
            let mut lookup = |member, set| {
                (member == 1 && set == 1).then_some(Lookup { cost: 5.0, partners_cost: 1.0, keyed: None })
            };
            let steps = Order::new(&members, &links, &even(&links), &mut lookup).best().unwrap();
            assert_eq!(steps.first().map(|step| step.member), Some(0));
            assert_eq!(steps.last().map(|step| step.method), Some(expected));
        }
    }

    #[test]
    fn groups_are_asked_for_by_their_keys_where_few_are_wanted() {
        let mut grouping = table(400_000.0, 400_000.0);
        grouping.by_columns = false;
        grouping.groups = Some(GroupsOfMember { cost: 450_000.0, keys: vec![11] });
        let few = table(2_000.0, 200_000.0);
        let mut keys = link(0, 1, 200_000.0);
        keys.filters = true;
        let method = |member: &Member, link: &Link| {
            let steps = methods(&[few.clone(), member.clone()], std::slice::from_ref(link));
            steps.last().copied()
        };
        assert_eq!(method(&grouping, &keys), Some((1, Method::BuildJoined)));
        // By what is computed of a group nothing is left out.
        let mut by_value = keys.clone();
        by_value.equal = Some((0, 12));
        let (of_keys, of_values) = ([keys], [by_value]);
        let cost = |links: &[Link; 1]| {
            let members = [few.clone(), grouping.clone()];
            let columns = even(links);
            let mut lookup = |_, _| None;
            let steps = Order::new(&members, links, &columns, &mut lookup).best().unwrap();
            steps.last().map_or(0.0, |step| step.cost)
        };
        assert!(cost(&of_keys) + 400_000.0 < cost(&of_values), "{} {}", cost(&of_keys), cost(&of_values));
    }

    #[test]
    fn what_drops_rows_never_comes_first() {
        let mut dropping = table(10.0, 10.0);
        dropping.leaves = Some(0.1);
        dropping.needs = 1 << 1;
        let steps = methods(&[dropping, table(100.0, 100.0)], &[link(0, 1, 100.0)]);
        assert_eq!(steps.iter().map(|(member, _)| *member).collect::<Vec<_>>(), [1, 0]);
    }

    #[test]
    fn thirty_members_are_put_in_order_one_after_the_other() {
        let members: Vec<Member> =
            (0..30).map(|number| table(1_000.0 + f64::from(number), 2_000.0)).collect();
        let links: Vec<Link> = (0..29).map(|number| link(number, number + 1, 1_000.0)).collect();
        let mut order: Vec<usize> = methods(&members, &links).iter().map(|(member, _)| *member).collect();
        order.sort_unstable();
        assert_eq!(order, (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn equalities_that_follow_from_others_leave_no_fewer_rows() {
        let members = [table(1_000.0, 1_000.0), table(1_000.0, 1_000.0), table(1_000.0, 1_000.0)];
        let same = |left: usize, right: usize| Link {
            members: 1 << left | 1 << right,
            fraction: 0.001,
            hashable: true,
            is_range: false,
            filters: false,
            equal: Some((left, right)),
        };
        let links = [same(0, 1), same(1, 2), same(0, 2)];
        let mut lookup = |_, _| None;
        let steps = Order::new(&members, &links, &even(&links), &mut lookup).best().unwrap();
        assert!(steps.last().is_some_and(|step| step.rows > 900.0));
    }
}
