//! Who has lost the answer to a commit learns what became of it, and what was told stays true.

mod common;

use std::sync::Arc;

use common::*;
use farbird_store::substrate::MemorySubstrate;
use farbird_store::{CommitName, CommitNumber, CommitOutcome, Store, StoreError, StoreOptions};

/// Names that a database keeps here.
const KEPT: u64 = 40;

fn name(number: u64) -> CommitName {
    CommitName((u128::from(number) << 64 | 7).to_be_bytes())
}

fn outcome(store: &Store, number: u64, since: u64) -> CommitOutcome {
    store.commit_outcome(name(number), CommitNumber(since)).expect("outcome")
}

fn on_memory(substrate: &Arc<MemorySubstrate>) -> Store {
    let options = StoreOptions { commit_names_max: 40, ..options() };
    Store::on_substrate(Arc::clone(substrate) as Arc<_>, options).expect("open")
}

fn count(store: &Store) -> usize {
    names(&begin(store, SNAPSHOT), &layout()).len()
}

#[test]
fn a_name_is_there_if_and_only_if_its_commit_is() {
    let substrate = Arc::new(MemorySubstrate::new());
    let layout = layout();
    let store = on_memory(&substrate);
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 1, "one");
    transaction.name_commit(name(1)).expect("name");
    let open = Arc::new(substrate.after_crash());
    transaction.commit().expect("commit");
    let closed = Arc::new(substrate.after_crash());

    assert_eq!(outcome(&store, 1, 0), CommitOutcome::Committed);
    assert_eq!(outcome(&on_memory(&closed), 1, 0), CommitOutcome::Committed);
    assert_eq!(count(&on_memory(&closed)), 1);
    assert_eq!(outcome(&on_memory(&open), 1, 0), CommitOutcome::NotCommitted);
    assert_eq!(count(&on_memory(&open)), 0);
}

#[test]
fn what_was_told_not_to_have_happened_never_does() {
    let store = memory_store();
    let layout = layout();
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 1, "one");
    transaction.name_commit(name(1)).expect("name");
    assert_eq!(outcome(&store, 1, 0), CommitOutcome::NotCommitted);
    let refused = transaction.commit_with(|_| ()).expect_err("given up");
    assert!(matches!(refused, StoreError::Abandoned), "{refused}");
    assert!(transaction.is_lost());
    transaction.rollback().expect("rollback");
    assert_eq!(count(&store), 0);
    assert_eq!(outcome(&store, 1, 0), CommitOutcome::NotCommitted);
    // Others are not concerned.
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 1, "one");
    transaction.name_commit(name(2)).expect("name");
    transaction.commit().expect("commit");
    assert_eq!(outcome(&store, 2, 0), CommitOutcome::Committed);
}

/// COMMIT RETAIN has a name too; what follows it has none.
#[test]
fn a_name_is_for_one_commit() {
    let store = memory_store();
    let layout = layout();
    let transaction = begin(&store, SNAPSHOT);
    insert(&transaction, &layout, 1, "one");
    transaction.name_commit(name(1)).expect("name");
    transaction.commit_retaining().expect("commit");
    assert_eq!(outcome(&store, 1, 0), CommitOutcome::Committed);
    insert(&transaction, &layout, 2, "two");
    transaction.commit().expect("a name that was used is not used again");
    assert_eq!(count(&store), 2);
    assert_eq!(outcome(&store, 1, 0), CommitOutcome::Committed);
}

/// Of what is decided behind a commit its name does not tell; and it is refused like any other when it was told not to happen.
#[test]
fn nobody_can_tell_what_is_decided_behind_a_commit() {
    let substrate = Arc::new(MemorySubstrate::new());
    let store = on_memory(&substrate);
    for (number, changes) in [(1, true), (2, false)] {
        let transaction = begin(&store, SNAPSHOT);
        if changes {
            insert(&transaction, &layout(), 1, "one");
        }
        transaction.name_commit(name(number)).expect("name");
        transaction.goes_on_behind_commit().expect("marked");
        transaction.commit().expect("commit");
        assert_eq!(outcome(&store, number, 0), CommitOutcome::Unknown);
        assert_eq!(
            outcome(&on_memory(&Arc::new(substrate.after_crash())), number, 0),
            CommitOutcome::Unknown
        );
    }
    let transaction = begin(&store, SNAPSHOT);
    transaction.name_commit(name(3)).expect("name");
    transaction.goes_on_behind_commit().expect("marked");
    assert_eq!(outcome(&store, 3, 0), CommitOutcome::NotCommitted);
    let refused = transaction.commit_with(|_| ()).expect_err("given up");
    assert!(matches!(refused, StoreError::Abandoned), "{refused}");
}

/// Others have been told of what a transaction posts: it has been committed.
#[test]
fn a_commit_that_only_posts_events_leaves_its_name() {
    let store = memory_store();
    let transaction = begin(&store, SNAPSHOT);
    transaction.name_commit(name(1)).expect("name");
    assert!(transaction.post_event("A").expect("posted"));
    transaction.commit().expect("commit");
    assert_eq!(outcome(&store, 1, 0), CommitOutcome::Committed);
}

#[test]
fn old_names_go_and_then_nobody_can_tell() {
    let substrate = Arc::new(MemorySubstrate::new());
    let layout = layout();
    let store = on_memory(&substrate);
    for number in 1..=KEPT + 10 {
        let transaction = begin(&store, SNAPSHOT);
        insert(&transaction, &layout, i64::try_from(number).expect("small"), "row");
        transaction.name_commit(name(number)).expect("name");
        transaction.commit().expect("commit");
    }
    for store in [&store, &on_memory(&Arc::new(substrate.after_crash()))] {
        assert_eq!(outcome(store, 10, 9), CommitOutcome::Unknown);
        assert_eq!(outcome(store, 11, 10), CommitOutcome::Committed);
        assert_eq!(outcome(store, KEPT + 10, 10), CommitOutcome::Committed);
        // One that was never there, asked for by who knows an old commit only, and by who knows a late one.
        assert_eq!(outcome(store, 99_999, 9), CommitOutcome::Unknown);
        assert_eq!(outcome(store, 99_999, 11), CommitOutcome::NotCommitted);
        // The asker has seen commits that are not in this database: it is an older copy.
        assert_eq!(outcome(store, 99_998, KEPT + 11), CommitOutcome::Unknown);
    }
}

/// Asking and committing at the same moment: one of them is first.
#[test]
fn asking_meanwhile_is_answered_by_what_becomes_true() {
    let store = memory_store();
    let layout = layout();
    let mut told = [0, 0];
    for number in 1..=300_u64 {
        let transaction = begin(&store, SNAPSHOT);
        insert(&transaction, &layout, i64::try_from(number).expect("small"), "row");
        transaction.name_commit(name(number)).expect("name");
        let before = count(&store);
        let (committed, outcome) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| outcome(&store, number, 0));
            (transaction.commit_with(|_| ()).is_ok(), asking.join().expect("asked"))
        });
        drop(transaction);
        assert_eq!(committed, outcome == CommitOutcome::Committed);
        assert_eq!(count(&store), before + usize::from(committed));
        told[usize::from(committed)] += 1;
    }
    println!("not committed, committed: {told:?}");
}
