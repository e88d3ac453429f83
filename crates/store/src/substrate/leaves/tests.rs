//! Leaves in a map, against a set of entries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;

use super::coding::{append_entry, take_entry};
use super::map::{LeafMap, scan, visited};
use super::*;
use crate::substrate::{Direction, KeyChange, KeySpan, SortedEntries, is_empty_span};

/// Small enough for splits and joins with every change.
const SMALL: Limits = Limits { leaf_bytes: 120, group_entries: 3 };

/// Keys of few bytes, so that they meet, and now and then long ones; rows near each other, and anywhere.
fn entry() -> impl Strategy<Value = Vec<u8>> {
    let key = prop_oneof![
        3 => vec(0u8..3, 0..4),
        2 => vec(prop_oneof![Just(0u8), Just(255u8), any::<u8>()], 3..5),
        1 => (0u8..3, 30usize..200).prop_map(|(byte, length)| vec![byte; length]),
    ];
    let row = prop_oneof![4 => 0u64..40, 1 => any::<u64>(), 1 => Just(u64::MAX)];
    (key, row).prop_map(|(key, row)| [key.as_slice(), &row.to_be_bytes()].concat())
}

fn sorted(entries: &[Vec<u8>]) -> SortedEntries {
    let mut sorted = SortedEntries::default();
    entries.iter().for_each(|entry| sorted.push(entry));
    sorted
}

fn check_sizes(leaves: &LeafMap, limits: Limits) {
    for (key, value) in &leaves.0 {
        let leaf = Leaf::open(key, value).expect("a leaf");
        let mut entries = 0;
        for group in 0..leaf.groups {
            let mut arena = read::EntryArena::default();
            read::read_group(&leaf, group, &mut arena).expect("a group");
            assert!(arena.len() <= limits.group_entries);
            entries += arena.len();
        }
        assert!(entries == 1 || leaf.groups == 1 || key.len() + value.len() <= limits.leaf_bytes);
    }
}

proptest! {
    #[test]
    fn leaves_hold_what_a_set_holds(
        batches in vec(vec((entry(), prop::bool::weighted(0.7)), 1..40), 1..12),
        probes in vec(entry(), 6),
        is_small in any::<bool>(),
    ) {
        let limits = if is_small { SMALL } else { Limits::default() };
        let mut leaves = LeafMap::default();
        let mut model = BTreeSet::new();
        for batch in &batches {
            let changes: BTreeMap<&Vec<u8>, bool> = batch.iter().map(|(entry, put)| (entry, *put)).collect();
            for (entry, put) in &changes {
                if *put { model.insert((*entry).clone()); } else { model.remove(*entry); }
            }
            let changes: Vec<KeyChange> =
                changes.into_iter().map(|(entry, put)| (entry.clone(), put.then(Vec::new))).collect();
            apply(&mut leaves, &changes, limits).expect("apply");
            check_sizes(&leaves, limits);
        }
        let bounds = bounds(&&leaves).expect("bounds").map(|bounds| (bounds.first, bounds.last));
        prop_assert_eq!(bounds, model.first().cloned().zip(model.last().cloned()));
        for probe in batches.iter().flatten().map(|(entry, _)| entry).chain(&probes) {
            prop_assert_eq!(contains(&&leaves, probe).expect("contains"), model.contains(probe));
        }
        let all = (Bound::Unbounded, Bound::Unbounded);
        let mut spans: Vec<KeySpan<'_>> = vec![all];
        for (from, until) in probes.iter().zip(probes.iter().rev()) {
            spans.push((Bound::Included(from), Bound::Excluded(until)));
            spans.push((Bound::Included(from), Bound::Unbounded));
            spans.push((Bound::Excluded(from), Bound::Included(until)));
            spans.push((Bound::Excluded(from), Bound::Unbounded));
            spans.push((Bound::Unbounded, Bound::Included(until)));
        }
        for span in spans {
            let mut expected: Vec<Vec<u8>> = match is_empty_span(span) {
                true => Vec::new(),
                false => model.range::<[u8], _>(span).cloned().collect(),
            };
            prop_assert_eq!(&scan(&leaves, span, Direction::Forward).expect("scan"), &expected);
            if let (Bound::Included(first), false) = (span.0, is_empty_span(span)) {
                for most in [1, 2, 7, usize::MAX] {
                    let first_ones = expected.get(..most).unwrap_or(&expected);
                    prop_assert_eq!(visited(&leaves, first, span.1, most).expect("visit"), first_ones);
                }
            }
            expected.reverse();
            prop_assert_eq!(&scan(&leaves, span, Direction::Backward).expect("scan"), &expected);
        }
    }

    #[test]
    fn leaves_made_of_entries_in_order_hold_them_and_can_be_changed(
        all in prop::collection::btree_set(entry(), 1..200),
        cuts in vec(any::<prop::sample::Index>(), 0..3),
        others in vec(entry(), 0..20),
        is_small in any::<bool>(),
    ) {
        let limits = if is_small { SMALL } else { Limits::default() };
        let mut leaves = LeafMap::default();
        let all: Vec<Vec<u8>> = all.into_iter().collect();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(all.len())).chain([0, all.len()]).collect();
        cuts.sort_unstable();
        for cut in cuts.windows(2) {
            append(&mut leaves, &sorted(&all[cut[0]..cut[1]]), limits).expect("append");
        }
        check_sizes(&leaves, limits);
        let everything = (Bound::Unbounded, Bound::Unbounded);
        prop_assert_eq!(&scan(&leaves, everything, Direction::Forward).expect("scan"), &all);
        let mut model: BTreeSet<Vec<u8>> = all.iter().cloned().collect();
        let changes: BTreeMap<Vec<u8>, Option<Vec<u8>>> = others.into_iter().map(|entry| (entry, Some(Vec::new()))).collect();
        model.extend(changes.keys().cloned());
        apply(&mut leaves, &changes.into_iter().collect::<Vec<KeyChange>>(), limits).expect("apply");
        let found = scan(&leaves, everything, Direction::Forward).expect("scan");
        prop_assert_eq!(found, model.into_iter().collect::<Vec<_>>());
        // Only behind all others.
        for entry in &all {
            prop_assert!(append(&mut leaves, &sorted(std::slice::from_ref(entry)), limits).is_err());
        }
    }

    #[test]
    fn an_entry_comes_back_behind_any_lesser_one(a in entry(), b in entry()) {
        prop_assume!(a != b);
        let (before, entry) = if a < b { (a, b) } else { (b, a) };
        let mut bytes = Vec::new();
        append_entry(&before, &entry, &mut bytes);
        let (mut position, mut read) = (0, before.clone());
        take_entry(&bytes, &mut position, &mut read).expect("an entry");
        prop_assert_eq!((position, &read), (bytes.len(), &entry));
    }

    #[test]
    fn damaged_leaves_are_errors_or_other_entries_in_order(
        entries in vec(entry(), 1..60),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let entries: BTreeSet<Vec<u8>> = entries.into_iter().collect();
        let changes: Vec<KeyChange> = entries.into_iter().map(|entry| (entry, Some(Vec::new()))).collect();
        let mut leaves = LeafMap::default();
        apply(&mut leaves, &changes, SMALL).expect("apply");
        let at = place.index(leaves.0.len());
        let value = leaves.0.values_mut().nth(at).expect("a leaf");
        match cut {
            Some(cut) => value.truncate(cut.index(value.len())),
            None => {
                let at = place.index(value.len());
                value[at] = byte;
            }
        }
        let _ = bounds(&&leaves);
        for direction in [Direction::Forward, Direction::Backward] {
            if let Ok(mut found) = scan(&leaves, (Bound::Unbounded, Bound::Unbounded), direction) {
                if direction == Direction::Backward {
                    found.reverse();
                }
                prop_assert!(found.is_sorted_by(|a, b| a < b));
            }
        }
        for (entry, _) in &changes {
            let _ = contains(&&leaves, entry);
            let _ = scan(&leaves, (Bound::Excluded(entry), Bound::Unbounded), Direction::Forward);
            let _ = scan(&leaves, (Bound::Unbounded, Bound::Excluded(entry)), Direction::Backward);
        }
        let _ = apply(&mut leaves, &changes, SMALL);
    }
}

proptest! {
    #[test]
    fn any_bytes_as_a_leaf_are_an_error_or_entries(
        entries in vec(entry(), 1..30),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        other in entry(),
        noise in vec(any::<u8>(), 0..40),
    ) {
        let entries: BTreeSet<Vec<u8>> = entries.into_iter().collect();
        let changes: Vec<KeyChange> = entries.into_iter().map(|entry| (entry, Some(Vec::new()))).collect();
        let mut leaves = LeafMap::default();
        apply(&mut leaves, &changes, Limits { group_entries: 3, ..Limits::default() }).expect("apply");
        for (key, value) in &leaves.0 {
            try_leaf(key, value, &other).expect("a whole leaf");
            let mut damaged = value.clone();
            damaged[place.index(value.len())] = byte;
            let _ = try_leaf(key, &damaged, &other);
            let _ = try_leaf(key, &noise, &other);
        }
    }
}

fn put(entries: impl Iterator<Item = (u64, u64)>) -> Vec<KeyChange> {
    let mut changes: Vec<KeyChange> = entries
        .map(|(key, row)| {
            let key = [&[0x84][..], &key.to_be_bytes()[4..], &row.to_be_bytes()].concat();
            (key, Some(Vec::new()))
        })
        .collect();
    changes.sort();
    changes
}

fn bytes_per_entry(leaves: &LeafMap, entries: usize) -> f64 {
    leaves.0.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() as f64 / entries as f64
}

#[test]
fn keys_in_order_of_their_rows_take_few_bytes_whether_they_come_at_once_or_one_by_one() {
    let all = put((0..20_000).map(|number| (number, number)));
    for at_a_time in [20_000, 50, 1] {
        let mut leaves = LeafMap::default();
        for changes in all.chunks(at_a_time) {
            apply(&mut leaves, changes, Limits::default()).expect("apply");
        }
        let bytes = bytes_per_entry(&leaves, all.len());
        assert!(bytes < 3.0, "{bytes} by {at_a_time}");
        let pages = leaves.0.len();
        assert!(pages * 4_096 < 20_000 * 16 / 5, "{pages} leaves by {at_a_time}");
    }
}

#[test]
fn entries_appended_in_order_fill_their_leaves() {
    let all: Vec<Vec<u8>> =
        put((0..60_000).map(|row| (row * 7_919 % 1_000, row))).into_iter().map(|it| it.0).collect();
    let mut leaves = LeafMap::default();
    append(&mut leaves, &sorted(&all), Limits::default()).expect("append");
    let bytes = bytes_per_entry(&leaves, all.len());
    assert!(bytes < 3.0, "{bytes}");
    assert!(leaves.0.len() * 4_096 < all.len() * 16 / 5, "{} leaves", leaves.0.len());
    let back: Vec<Vec<u8>> = all.iter().rev().take(2).cloned().collect();
    assert!(append(&mut LeafMap::default(), &sorted(&back), Limits::default()).is_err(), "not in order");
}

#[test]
fn many_rows_of_few_keys_take_few_bytes() {
    let all = put((0..60_000).map(|row| (row * 7_919 % 1_000, row)));
    let mut leaves = LeafMap::default();
    apply(&mut leaves, &all, Limits::default()).expect("apply");
    let bytes = bytes_per_entry(&leaves, all.len());
    assert!(bytes < 3.0, "{bytes}");
}

#[test]
fn leaves_that_lose_most_entries_join() {
    let all = put((0..60_000).map(|row| (row / 3, row)));
    let mut leaves = LeafMap::default();
    apply(&mut leaves, &all, Limits::default()).expect("apply");
    let before = leaves.0.len();
    let gone: Vec<KeyChange> = all
        .iter()
        .enumerate()
        .filter(|(at, _)| at % 20 != 0)
        .map(|(_, (entry, _))| (entry.clone(), None))
        .collect();
    for changes in gone.chunks(700) {
        apply(&mut leaves, changes, Limits::default()).expect("apply");
    }
    assert!(leaves.0.len() * 4 < before, "{} of {before}", leaves.0.len());
    let left = scan(&leaves, (Bound::Unbounded, Bound::Unbounded), Direction::Forward).expect("scan");
    assert_eq!(left.len(), 3_000);
}

#[test]
fn leaves_of_no_sense_are_errors() {
    let key = [1; 9];
    for value in [
        &b""[..],
        b"\0",
        b"\0\0",
        b"\x01\0\x01\0",
        b"\x01\0\0\0\0",
        b"\xFF\xFF\0\0",
        b"\x02\0\x05\0\x02\0\0\0",
    ] {
        let leaf = Leaf::open(&key, value).and_then(|leaf| {
            (0..leaf.groups)
                .try_for_each(|group| read::read_group(&leaf, group, &mut read::EntryArena::default()))
        });
        assert!(leaf.is_err(), "{value:?}");
    }
    assert!(Leaf::open(&[1; 7], b"\x01\0\0\0").is_err());
    assert!(Leaf::open(&key, b"\x01\0\0\0").is_ok());
}
