//! What a check says of index entries and rows that do not agree.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::check::{CheckReport, Location};
use farbird_store::{AmpleRoom, CancelFlag, IndexId, RelationLayout, RowId, Store};

const OTHER: IndexId = IndexId(77);

fn check(store: &Store, layout: &Arc<RelationLayout>) -> CheckReport {
    let layouts = [Arc::clone(layout)];
    store.check(&layouts, &AmpleRoom, &mut |_| (), &CancelFlag::new()).expect("check")
}

fn findings(report: &CheckReport) -> Vec<(Location, &str)> {
    report.findings.iter().map(|finding| (finding.place, finding.what.as_str())).collect()
}

/// A store with rows of these names.
fn filled(layout: &Arc<RelationLayout>, names: &[&str]) -> Store {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    for (id, name) in (1..).zip(names) {
        insert(&transaction, layout, id, name);
    }
    transaction.commit().expect("commit");
    store
}

#[test]
fn entries_of_older_versions_lead_somewhere() {
    let layout = layout();
    let store = filled(&layout, &["a", "b", "c", "b"]);
    // Somebody still sees the old names.
    let reader = begin(&store, SNAPSHOT);
    let view = reader.view().expect("view");
    let writer = begin(&store, SNAPSHOT);
    rename(&writer, &layout, 2, "x").expect("rename");
    delete(&writer, &layout, 3).expect("delete");
    writer.commit().expect("commit");
    let report = check(&store, &layout);
    assert!(report.is_sound(), "{:?}", report.findings);
    // Four rows, three indexes, and the new name in two of them.
    assert_eq!((report.entries, report.stale_entries, report.rows), (14, 0, 3));
    drop(view);
}

#[test]
fn a_row_without_an_entry_is_named() {
    let layout = layout_with(vec![column_index(PRIMARY, 0, true, false)]);
    let store = filled(&layout, &["a", "b"]);
    // An index that nobody has filled.
    let wider =
        layout_with(vec![column_index(PRIMARY, 0, true, false), column_index(OTHER, 1, false, false)]);
    let report = check(&store, &wider);
    let place = Location::Index(layout.id, OTHER);
    assert_eq!(findings(&report), [(place, "has no entry for row 1"), (place, "has no entry for row 2")]);
}

#[test]
fn entries_of_no_row_are_counted() {
    let layout = layout();
    let store = filled(&layout, &["a", "b"]);
    // The same entries, as if they were of an index of ids.
    let other = layout_with(vec![column_index(PRIMARY, 0, true, false), column_index(NAME, 0, false, false)]);
    let report = check(&store, &other);
    let place = Location::Index(layout.id, NAME);
    assert_eq!(findings(&report), [(place, "has no entry for row 1"), (place, "has no entry for row 2")]);
    assert_eq!((report.entries, report.stale_entries), (4, 2));
}

#[test]
fn equal_keys_of_a_unique_index_are_named() {
    let layout = layout();
    let store = filled(&layout, &["a", "same", "b", "same"]);
    let unique = layout_with(vec![column_index(NAME, 1, true, false)]);
    let report = check(&store, &unique);
    let place = Location::Index(layout.id, NAME);
    assert_eq!(findings(&report), [(place, "rows 2 and 4 have the same key")]);
}

#[test]
fn a_row_whose_key_cannot_be_made_is_named() {
    let bare = layout_with(Vec::new());
    let long = "x".repeat(20_000);
    let store = filled(&bare, &["a", &long, "b"]);
    let layout = layout_with(vec![column_index(NAME, 1, false, false)]);
    let report = check(&store, &layout);
    let places: Vec<Location> = report.findings.iter().map(|finding| finding.place).collect();
    assert_eq!(places, [Location::Row(layout.id, RowId(2))], "{:?}", report.findings);
    assert_eq!(rows(&begin(&store, SNAPSHOT), &layout).len(), 3);
}
