//! Columns that are equal to each other, and what part of the combinations of rows that leaves.
//!
//! Knows numbers only: of each column which part of its rows has each of the values that are common in any column that it is
//! compared with. What is frequent on several sides makes most of the rows of their join, the more the more sides there are:
//! a mean number of rows per value says little of skewed data.

use std::collections::HashMap;

/// How the values of a column are spread.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ValueShares {
    /// The part of the rows that has each of the values that are common somewhere in the column's class, in an order that all
    /// columns of the class have.
    pub(super) common: Vec<f64>,
    /// The part that has any other value (and is not NULL).
    pub(super) rest: f64,
    /// How many different values those are.
    pub(super) others: f64,
    /// How many different values there are at all.
    pub(super) distinct: f64,
}

impl ValueShares {
    /// So many values, equally frequent.
    #[cfg(test)]
    pub(super) fn even(distinct: f64) -> ValueShares {
        ValueShares { common: Vec::new(), rest: 1.0, others: distinct, distinct }
    }
}

/// Columns of one member, by slot, and how many different combinations of their values there are: what belongs together has fewer
/// than its columns by themselves would make.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Composite {
    pub(super) columns: Vec<usize>,
    pub(super) distinct: f64,
}

/// What is known of the columns that are compared, by slot.
#[derive(Debug, Default)]
pub(super) struct Columns(HashMap<usize, ValueShares>);

impl Columns {
    pub(super) fn add(&mut self, slot: usize, shares: ValueShares) {
        self.0.insert(slot, shares);
    }

    /// The part of the combinations of rows in which these columns are all equal; and that part if all values were equally
    /// frequent.
    pub(super) fn fraction(&self, slots: &[usize]) -> (f64, f64) {
        let columns: Vec<&ValueShares> = slots.iter().filter_map(|slot| self.0.get(slot)).collect();
        let others = i32::try_from(columns.len()).unwrap_or(i32::MAX) - 1;
        if others < 1 {
            return (1.0, 1.0);
        }
        let most = |of: fn(&ValueShares) -> f64| columns.iter().map(|column| of(column)).fold(1.0, f64::max);
        let common = columns.iter().map(|column| column.common.len()).min().unwrap_or(0);
        let share = |place: usize| {
            let shares = columns.iter().map(|column| column.common.get(place).copied().unwrap_or(0.0));
            shares.product::<f64>()
        };
        let rest: f64 = columns.iter().map(|column| column.rest).product();
        let of_rest = rest * most(|column| column.others).powi(-others);
        let fraction = (0..common).map(share).sum::<f64>() + of_rest;
        (fraction.clamp(0.0, 1.0), most(|column| column.distinct).powi(-others))
    }
}

impl Columns {
    /// The most different values that one of these columns has.
    fn most_distinct(&self, slots: &[usize]) -> f64 {
        slots.iter().filter_map(|slot| self.0.get(slot)).map(|column| column.distinct).fold(1.0, f64::max)
    }

    /// How many times as many combinations of rows are equal in all columns of a composite as if those were independent: its
    /// combinations are fewer than the products of their values. One, unless some other member is compared with all of them.
    pub(super) fn belonging(
        &self,
        composite: &Composite,
        member: u64,
        groups: &Groups,
    ) -> Option<(f64, u64)> {
        let mut others = !member;
        let (mut product, mut seen) = (1.0, Vec::new());
        for column in &composite.columns {
            let place = groups.0.iter().position(|group| group.columns.contains(column))?;
            if seen.contains(&place) {
                return None;
            }
            let group = groups.0.get(place)?;
            others &= group.members;
            product *= self.most_distinct(&group.columns);
            seen.push(place);
        }
        (others != 0).then(|| ((product / composite.distinct).max(1.0), others))
    }
}

/// Columns that are equal to each other, and their members.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) columns: Vec<usize>,
    pub(super) members: u64,
}

/// Groups of columns that equalities make.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<Group>);

impl Groups {
    /// Says that two columns, of these members, are equal.
    pub(super) fn join(&mut self, left: usize, right: usize, members: u64) {
        let place = |groups: &Vec<Group>, column: usize| {
            groups.iter().position(|group| group.columns.contains(&column))
        };
        let mut joined = Group { columns: vec![left, right], members };
        for column in [left, right] {
            if let Some(place) = place(&self.0, column) {
                let known = self.0.swap_remove(place);
                joined.members |= known.members;
                joined.columns.extend(known.columns);
            }
        }
        joined.columns.sort_unstable();
        joined.columns.dedup();
        self.0.push(joined);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Group> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_frequent_on_all_sides_makes_most_rows() {
        let mut columns = Columns::default();
        let skewed = ValueShares { common: vec![0.5, 0.25], rest: 0.25, others: 98.0, distinct: 100.0 };
        let key = ValueShares { common: vec![0.01, 0.01], rest: 0.98, others: 98.0, distinct: 100.0 };
        columns.add(0, skewed.clone());
        columns.add(1, skewed);
        columns.add(2, key);
        let of = |slots: &[usize]| columns.fraction(slots);
        let near = |left: f64, right: f64| (left / right - 1.0).abs() < 0.02;
        assert!(near(of(&[0, 1]).0, 0.313), "{:?}", of(&[0, 1]));
        // A key has one partner for each row, however those are spread.
        assert!(near(of(&[0, 2]).0, 0.01), "{:?}", of(&[0, 2]));
        assert!(near(of(&[0, 1, 2]).0, 0.00313), "{:?}", of(&[0, 1, 2]));
        assert!(near(of(&[0, 1, 2]).1, 0.0001));
        assert_eq!(of(&[0]), (1.0, 1.0));
    }

    #[test]
    fn columns_that_belong_together_are_one_key() {
        let mut columns = Columns::default();
        let mut groups = Groups::default();
        for (slot, other, distinct) in [(0, 10, 20_000.0), (1, 11, 1_000.0)] {
            columns.add(slot, ValueShares::even(distinct));
            columns.add(other, ValueShares::even(distinct));
            groups.join(slot, other, 0b11);
        }
        let key = Composite { columns: vec![0, 1], distinct: 80_000.0 };
        assert_eq!(columns.belonging(&key, 0b01, &groups), Some((250.0, 0b10)));
        // Compared with different members each says nothing of the other.
        let mut apart = Groups::default();
        apart.join(0, 10, 0b011);
        apart.join(1, 11, 0b101);
        assert_eq!(columns.belonging(&key, 0b01, &apart), None);
    }

    #[test]
    fn equalities_that_meet_make_one_group() {
        let mut groups = Groups::default();
        groups.join(1, 2, 0b11);
        groups.join(5, 6, 0b1100);
        groups.join(6, 2, 0b110);
        groups.join(1, 6, 0b101);
        let found: Vec<_> = groups.iter().map(|group| (group.columns.clone(), group.members)).collect();
        assert_eq!(found, [(vec![1, 2, 5, 6], 0b1111)]);
    }
}
