//! Two-phase commit: what is prepared survives crashes, keeps its locks, and happens whole or not at all.

mod common;

use std::sync::Arc;

use common::*;
use farbird_sim::{Random, SimulatedDisk};
use farbird_store::substrate::MemorySubstrate;
use farbird_store::{
    BlobOptions, CommitNumber, RelationLayout, Store, StoreError, StoreOptions, Transaction, TransactionId,
    TransactionOptions,
};
use farbird_types::Value;

const IGNORE_LIMBO: TransactionOptions = TransactionOptions { ignore_limbo: true, ..SNAPSHOT };

/// A database of rows 1 to 3, whose store can be left as by a power cut.
struct Bench {
    substrate: Arc<MemorySubstrate>,
    store: Store,
    layout: Arc<RelationLayout>,
}

impl Bench {
    fn new() -> Bench {
        let substrate = Arc::new(MemorySubstrate::new());
        let bench = Bench::open(substrate);
        let transaction = begin(&bench.store, SNAPSHOT);
        for id in 1..=3 {
            insert(&transaction, &bench.layout, id, "old");
        }
        transaction.commit().expect("commit");
        bench
    }

    fn open(substrate: Arc<MemorySubstrate>) -> Bench {
        let options = StoreOptions { background_sweep: false, ..options() };
        let store = Store::on_substrate(Arc::clone(&substrate) as Arc<_>, options).expect("open");
        let layout = layout();
        store.register_layout(Arc::clone(&layout));
        Bench { substrate, store, layout }
    }

    /// The same store.
    fn shared(&self) -> Bench {
        let Bench { substrate, store, layout } = self;
        Bench { substrate: Arc::clone(substrate), store: store.clone(), layout: Arc::clone(layout) }
    }

    /// Another one that begins with what the power would leave of this one's.
    fn again(&self) -> Bench {
        Bench::open(Arc::new(self.substrate.after_crash()))
    }

    /// The power goes: what was not durable is gone.
    fn crash(self) -> Bench {
        self.again()
    }

    /// Inserts row 4, renames row 1, deletes row 2 and locks row 3; prepared.
    fn prepare(&self) -> TransactionId {
        let transaction = begin(&self.store, SNAPSHOT);
        insert(&transaction, &self.layout, 4, "new");
        rename(&transaction, &self.layout, 1, "renamed").expect("rename");
        delete(&transaction, &self.layout, 2).expect("delete");
        let view = transaction.view().expect("view");
        let third = find(&transaction, &self.layout, &view, 3).expect("a row");
        transaction.lock_row(&self.layout, &view, third).expect("lock");
        drop(view);
        transaction.prepare(b"a note").expect("prepare")
    }

    fn sweep(&self) {
        while self.store.sweep(10).expect("sweep") > 0 {}
    }

    fn names(&self, options: TransactionOptions) -> Vec<(i64, String)> {
        rows(&begin(&self.store, options), &self.layout)
    }

    /// What everybody sees once it is decided, before and behind the sweep, by both ways to read.
    fn expect(&self, commits: bool) {
        let expected: &[(i64, &str)] = match commits {
            true => &[(1, "renamed"), (3, "old"), (4, "new")],
            false => &[(1, "old"), (2, "old"), (3, "old")],
        };
        let expected: Vec<(i64, String)> =
            expected.iter().map(|(id, name)| (*id, (*name).to_owned())).collect();
        for _ in 0..2 {
            let mut found = self.names(SNAPSHOT);
            found.sort();
            assert_eq!(found, expected);
            self.sweep();
        }
        assert_eq!(self.store.prepared(), []);
        // All locks are gone, and numbers and keys are free as they should be.
        let transaction = begin(&self.store, SNAPSHOT);
        rename(&transaction, &self.layout, 1, "again").expect("nobody has locked it");
        rename(&transaction, &self.layout, 3, "again").expect("nobody has locked it");
        let fourth = transaction.insert(&self.layout, &mut row(4, "another"));
        assert_eq!(fourth.is_ok(), !commits, "{fourth:?}");
        insert(&transaction, &self.layout, 5, "five");
        transaction.commit().expect("commit");
    }
}

fn expect_limbo<T: std::fmt::Debug>(outcome: farbird_store::Result<T>, id: TransactionId) {
    match outcome {
        Err(StoreError::InLimbo { transaction }) => assert_eq!(transaction, id),
        other => panic!("{other:?}"),
    }
}

fn expect_conflict<T: std::fmt::Debug>(outcome: farbird_store::Result<T>) {
    assert!(matches!(outcome, Err(StoreError::LockConflict { .. })), "{outcome:?}");
}

fn try_count(bench: &Bench, transaction: &Transaction) -> farbird_store::Result<u64> {
    let view = transaction.view()?;
    transaction.count_rows(&bench.layout, &view)
}

#[test]
fn what_is_prepared_is_decided_in_the_same_process_or_behind_any_number_of_crashes() {
    for commits in [true, false] {
        for crashes in 0..3 {
            let mut bench = Bench::new();
            let id = bench.prepare();
            for _ in 0..crashes {
                bench = bench.crash();
                bench.sweep();
            }
            let [known] = &bench.store.prepared()[..] else { panic!("{:?}", bench.store.prepared()) };
            assert_eq!(
                (known.id, &known.description[..], known.is_in_limbo),
                (id, &b"a note"[..], crashes > 0)
            );
            match commits {
                true => drop(bench.store.commit_prepared(id, None, |_| ()).expect("commit")),
                false => bench.store.roll_back_prepared(id).expect("rollback"),
            }
            if crashes == 2 {
                bench = bench.crash();
            }
            let again = bench.store.commit_prepared(id, None, |_| ());
            assert!(matches!(again, Err(StoreError::NotPrepared { .. })), "{again:?}");
            bench.expect(commits);
            bench.crash().sweep();
        }
    }
}

#[test]
fn others_meet_a_running_transaction_until_its_session_ends_and_one_in_limbo_from_then_on() {
    let bench = Bench::new();
    let before = begin(&bench.store, SNAPSHOT);
    let id = bench.prepare();
    let other = begin(&bench.store, SNAPSHOT);
    assert_eq!(try_count(&bench, &other).expect("as before"), 3);
    expect_conflict(rename(&other, &bench.layout, 1, "mine"));
    drop(other);

    bench.store.leave_in_limbo(id);
    for restarts in [false, true] {
        let bench = if restarts { bench.again() } else { bench.shared() };
        let other = begin(&bench.store, SNAPSHOT);
        expect_limbo(try_count(&bench, &other), id);
        let view = other.view().expect("view");
        let ignoring = begin(&bench.store, IGNORE_LIMBO);
        assert_eq!(try_count(&bench, &ignoring).expect("as before"), 3);
        expect_conflict(rename(&ignoring, &bench.layout, 1, "mine"));
        expect_conflict(rename(&ignoring, &bench.layout, 3, "mine"));
        for known in [1, 2, 3] {
            let seen = ignoring.view().expect("view");
            let row_id = find(&ignoring, &bench.layout, &seen, known).expect("a row");
            expect_limbo(other.lock_row(&bench.layout, &view, row_id), id);
        }
        expect_limbo(other.insert(&bench.layout, &mut row(4, "mine")), id);
        let duplicate = ignoring.insert(&bench.layout, &mut row(4, "mine"));
        assert!(matches!(duplicate, Err(StoreError::UniqueViolation { .. })), "{duplicate:?}");
        assert!(other.insert(&bench.layout, &mut row(9, "mine")).is_ok());
    }
    assert_eq!(try_count(&bench, &before).expect("began before it was prepared"), 3);
}

#[test]
fn whoever_waits_for_a_prepared_transaction_is_told_when_it_is_in_limbo() {
    let bench = Bench::new();
    let id = bench.prepare();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let patient = TransactionOptions { wait: farbird_store::Wait::Forever, ..SNAPSHOT };
            rename(&begin(&bench.store, patient), &bench.layout, 1, "mine")
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        bench.store.leave_in_limbo(id);
        expect_limbo(waiting.join().expect("no panic"), id);
    });
}

#[test]
fn a_transaction_that_was_rolled_back_in_part_is_prepared_as_it_was_left() {
    let mut bench = Bench::new();
    let transaction = begin(&bench.store, SNAPSHOT);
    insert(&transaction, &bench.layout, 4, "new");
    let savepoint = transaction.savepoint();
    rename(&transaction, &bench.layout, 1, "undone").expect("rename");
    insert(&transaction, &bench.layout, 5, "undone");
    transaction.rollback_to(savepoint).expect("undo");
    rename(&transaction, &bench.layout, 1, "renamed").expect("rename");
    delete(&transaction, &bench.layout, 2).expect("delete");
    let id = transaction.prepare(&[]).expect("prepare");
    bench = bench.crash();
    let free = begin(&bench.store, IGNORE_LIMBO);
    insert(&free, &bench.layout, 5, "free");
    drop(free);
    let number = bench.store.commit_prepared(id, None, |_| ()).expect("commit");
    assert!(number > CommitNumber(0));
    bench.expect(true);
}

#[test]
fn a_transaction_that_has_changed_nothing_can_be_prepared_too() {
    let bench = Bench::new();
    let id = begin(&bench.store, SNAPSHOT).prepare(b"").expect("prepare");
    let bench = bench.crash();
    assert_eq!(bench.store.prepared().len(), 1);
    bench.store.roll_back_prepared(id).expect("rollback");
    let bench = bench.crash();
    bench.expect(false);
}

/// When something was begun, and when it was acknowledged, in changes of the disk.
struct Times {
    begun: usize,
    done: usize,
}

fn timed<T>(disk: &SimulatedDisk, act: impl FnOnce() -> T) -> (Times, T) {
    let begun = disk.recorded();
    let outcome = act();
    (Times { begun, done: disk.recorded() }, outcome)
}

/// Rows 1 to 40 that a large transaction has made of rows 1 to 20, with a BLOB for each new one.
fn large_work(transaction: &Transaction, layout: &Arc<RelationLayout>) {
    for id in 21..=40 {
        let mut writer = transaction.create_blob(BlobOptions::default()).expect("create");
        writer.write_segment(transaction, &vec![id as u8; 9_000]).expect("write");
        let blob = writer.close(transaction).expect("close");
        let mut row = [Value::integer(id), Value::text(&format!("{id:>90}")), Value::Blob(blob)];
        transaction.insert(layout, &mut row).expect("insert");
    }
    for id in 1..=20 {
        rename(transaction, layout, id, "renamed").expect("rename");
    }
}

/// Whatever the power leaves, the transaction is running, in limbo or decided, and whole in each case.
#[test]
fn power_cuts_at_every_step_leave_nothing_half() {
    let layout = layout();
    for commits in [true, false] {
        let disk = SimulatedDisk::default();
        let store = common::workload::open(&disk).expect("create");
        store.register_layout(Arc::clone(&layout));
        let base = begin(&store, SNAPSHOT);
        for id in 1..=20 {
            insert(&base, &layout, id, "old");
        }
        base.commit().expect("commit");
        disk.record();
        let transaction = begin(&store, SNAPSHOT);
        large_work(&transaction, &layout);
        let (prepared, id) = timed(&disk, || transaction.prepare(b"a note").expect("prepare"));
        let other = begin(&store, SNAPSHOT);
        insert(&other, &layout, 100, "other");
        let (other, _) = timed(&disk, || other.commit().expect("commit"));
        let (decided, ()) = timed(&disk, || match commits {
            true => drop(store.commit_prepared(id, None, |_| ()).expect("commit")),
            false => store.roll_back_prepared(id).expect("rollback"),
        });
        while store.sweep(10).expect("sweep") > 0 {}
        drop((transaction, store));
        let recording = disk.take_recording();
        let mut random = Random::new(7);
        for point in 0..=recording.len() {
            let disk = SimulatedDisk::holding(recording.after_power_cut(point, &mut random));
            let store = common::workload::open(&disk).expect("open");
            store.register_layout(Arc::clone(&layout));
            let limbo = store.prepared();
            let may_be_in_limbo = prepared.begun < point && point < decided.done;
            let must_be_in_limbo = prepared.done <= point && point <= decided.begun;
            assert!(limbo.is_empty() || may_be_in_limbo, "after change {point}");
            assert!(!limbo.is_empty() || !must_be_in_limbo, "after change {point}");
            let mut has_happened = limbo.is_empty() && point > decided.begun && commits;
            if let [known] = &limbo[..] {
                assert_eq!((known.id, &known.description[..]), (id, &b"a note"[..]));
                expect_limbo(rename_any(&store, &layout), id);
                has_happened = random.once_in(2);
                match has_happened {
                    true => drop(store.commit_prepared(id, None, |_| ()).expect("commit")),
                    false => store.roll_back_prepared(id).expect("rollback"),
                }
            }
            expect_whole(&store, &layout, has_happened, other.done <= point);
            while store.sweep(10).expect("sweep") > 0 {}
            expect_whole(&store, &layout, has_happened, other.done <= point);
            let layouts = [Arc::clone(&layout)];
            let report = store
                .check(&layouts, &farbird_store::AmpleRoom, &mut |_| (), &farbird_store::CancelFlag::new())
                .expect("check");
            assert_eq!(report.findings, [], "after change {point}");
            assert_eq!(report.orphan_blobs, 0, "after change {point}");
        }
    }
}

fn rename_any(store: &Store, layout: &Arc<RelationLayout>) -> farbird_store::Result<()> {
    let transaction = begin(store, IGNORE_LIMBO);
    let row_id = find(&transaction, layout, &transaction.view()?, 1).expect("a row");
    let other = begin(store, SNAPSHOT);
    other.lock_row(layout, &other.view()?, row_id)
}

fn expect_whole(store: &Store, layout: &Arc<RelationLayout>, has_happened: bool, has_other: bool) {
    let transaction = begin(store, SNAPSHOT);
    let mut found = rows(&transaction, layout);
    found.sort();
    found.retain(|(id, _)| *id != 100 || has_other);
    let mut expected: Vec<(i64, String)> = match has_happened {
        false => (1..=20).map(|id| (id, "old".to_owned())).collect(),
        true => {
            let renamed = (1..=20).map(|id| (id, "renamed".to_owned()));
            renamed.chain((21..=40).map(|id| (id, format!("{id:>90}")))).collect()
        }
    };
    expected.extend(has_other.then(|| (100, "other".to_owned())));
    assert_eq!(found, expected);
}
