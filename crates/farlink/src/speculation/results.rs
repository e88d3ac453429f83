//! Results that were run ahead, kept at the edge until a program asks for them; and when they may be given.
//!
//! A result answers an execution only if asking now could have given the same ([`View::allows`]):
//!
//! - It ran in the same transaction, after that began and after everything that the transaction has written. Both by the number of asks
//!   that had gone to the server before it, so a transaction whose handle was used before is never taken for the earlier one.
//! - SNAPSHOT and SNAPSHOT TABLE STABILITY: then it is the same, always.
//! - READ COMMITTED: no commit since it ran has changed a relation that it read, as far as commits are known here; and those are
//!   known here before any reply that could have seen them. So it is never older than an ordinary reply that arrives now. A server
//!   that tells of no commits gives results that are good for no longer than an age that the administrator has asked for, if at all.
//! - READ COMMITTED NO RECORD VERSION waits for, or fails because of, others' changes that are not committed. Farbird (as Firebird from
//!   4.0 on, if not told otherwise) reads consistently instead and does not wait; before other servers it is never answered.
//! - No definition of the database has changed since the ask that it came behind.
//!
//! Promises: bounded by [`Limits::result_bytes`](super::Limits::result_bytes); what has been used goes first, then the oldest.

use std::collections::BTreeMap;
use std::time::Duration;

use farbird_wire::clumplet::tpb;
use farbird_wire::message::{MessageFormat, MessageType};

use super::rules::StatementText;
use crate::message::{Answered, CommitPoint, Cursor, Execution, Fingerprint, Relation, Rule};
use crate::quick_hash::QuickMap;

/// How a transaction sees others' changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// SNAPSHOT.
    Snapshot,
    /// SNAPSHOT TABLE STABILITY.
    TableStability,
    /// READ COMMITTED RECORD VERSION or READ CONSISTENCY.
    ReadCommitted,
    /// READ COMMITTED NO RECORD VERSION.
    ReadCommittedWaiting,
}

impl Isolation {
    /// Whether what is run for such a transaction at a server that tells of commits is run in a transaction of the origin's own: it
    /// sees the same as long as this one has written nothing. Not so rows with BLOBs, which may belong to the transaction that made them.
    pub fn may_be_shared(self, output_blr: &[u8]) -> bool {
        let is_read_committed = matches!(self, Isolation::ReadCommitted | Isolation::ReadCommittedWaiting);
        let names_no_blobs = || match MessageFormat::parse(output_blr) {
            Ok(Some(format)) => !format.columns().any(MessageType::is_blob),
            // Not known yet: nothing is run for it.
            Ok(None) => true,
            Err(_) => false,
        };
        is_read_committed && names_no_blobs()
    }

    /// That of a TPB; `None` for one that cannot be read, or that does more than say how to read.
    pub fn of_tpb(tpb: &[u8]) -> Option<Isolation> {
        let (version, mut items) = tpb.split_first()?;
        if !matches!(*version, tpb::VERSION1 | tpb::VERSION3) {
            return None;
        }
        // The last of each kind counts, as at the server.
        let (mut isolation, mut has_versions) = (Isolation::Snapshot, false);
        while let Some((item, rest)) = items.split_first() {
            items = rest;
            match *item {
                tpb::CONSISTENCY => isolation = Isolation::TableStability,
                tpb::CONCURRENCY => isolation = Isolation::Snapshot,
                tpb::READ_COMMITTED => isolation = Isolation::ReadCommitted,
                tpb::REC_VERSION | tpb::READ_CONSISTENCY => has_versions = true,
                tpb::NO_REC_VERSION => has_versions = false,
                tpb::SHARED..=tpb::NOWAIT | tpb::READ | tpb::WRITE => {}
                tpb::NO_AUTO_UNDO => {}
                tpb::LOCK_TIMEOUT => {
                    let (length, rest) = items.split_first()?;
                    items = rest.get(usize::from(*length)..)?;
                }
                // Reservations of tables, commits after each statement, limbo, a snapshot by its number: left to the server.
                _ => return None,
            }
        }
        Some(match isolation {
            Isolation::ReadCommitted if !has_versions => Isolation::ReadCommittedWaiting,
            isolation => isolation,
        })
    }
}

/// An execution of a program, or what was run in its place: the same key, the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    /// The transaction: the edge's handle.
    pub transaction: u16,
    /// The statement.
    pub statement: StatementText,
    /// BLR of its parameters.
    pub blr: Vec<u8>,
    /// Its parameters.
    pub message: Vec<u8>,
    /// What else its op_execute says.
    pub execution: Execution,
    /// BLR of its rows.
    pub output_blr: Vec<u8>,
    /// What it is described as.
    pub described: Fingerprint,
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The replies to op_execute.
    pub opened: Vec<u8>,
    /// Its rows.
    pub packets: Vec<u8>,
    /// How many.
    pub rows: u32,
    /// The rule that asked for it.
    pub rule: Rule,
    /// For the rows of which cursor it was run.
    pub outer: Cursor,
    /// What the server says about the execution, if that was asked.
    pub answered: Option<Answered>,
}

/// What a result has seen.
#[derive(Debug, Clone, PartialEq)]
pub struct Sight {
    /// Asks of the channel that had gone to the server before it.
    pub asked: u32,
    /// The commits that it has seen.
    pub commit: CommitPoint,
    /// What it read.
    pub reads: Vec<Relation>,
    /// When it came.
    pub came: Duration,
}

/// What is known now of a transaction and its database.
#[derive(Clone, Copy)]
pub struct View<'v> {
    /// How the transaction sees others' changes.
    pub isolation: Isolation,
    /// How many asks the channel had sent when the transaction began, its beginning included.
    pub begun: u32,
    /// How many when it last wrote, the write included; 0 if it has not.
    pub written: u32,
    /// How many when definitions of the database were last told to have changed.
    pub redefined: u32,
    /// Whether the server tells of commits.
    pub has_notices: bool,
    /// The newest commit that is known to have changed a relation.
    pub newest: &'v dyn Fn(Relation) -> CommitPoint,
    /// How old a result may be if the server tells of no commits.
    pub age_max: Option<Duration>,
    /// Now.
    pub now: Duration,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("View")
            .field("isolation", &self.isolation)
            .field("begun", &self.begun)
            .finish_non_exhaustive()
    }
}

impl View<'_> {
    /// Whether asking now could give what was seen then.
    pub fn allows(&self, sight: &Sight) -> bool {
        if sight.asked < self.begun || sight.asked < self.written || sight.asked < self.redefined {
            return false;
        }
        let is_current = || match (self.has_notices, self.age_max) {
            (true, _) => sight.reads.iter().all(|relation| (self.newest)(*relation) <= sight.commit),
            (false, Some(age)) => self.now.saturating_sub(sight.came) <= age,
            (false, None) => false,
        };
        match self.isolation {
            Isolation::Snapshot | Isolation::TableStability => true,
            Isolation::ReadCommitted => is_current(),
            Isolation::ReadCommittedWaiting => self.has_notices && is_current(),
        }
    }
}

#[derive(Debug)]
struct Stored {
    answer: Answer,
    sight: Sight,
    is_used: bool,
    number: u64,
    bytes: usize,
}

/// What became of a result that left the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gone {
    /// The rule that asked for it.
    pub rule: Rule,
    /// Whether it had answered somebody.
    pub was_used: bool,
}

/// What a store has for an execution.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// Nothing.
    Nothing,
    /// A result that may not be given any more; it is dropped.
    Outdated(Gone),
    /// The answer, and whether it is given for the first time.
    Answer(Answer, bool),
}

/// The results of one program.
#[derive(Debug)]
pub struct Results {
    bytes_max: usize,
    stored: QuickMap<Key, Stored>,
    /// Keys by age.
    order: BTreeMap<u64, Key>,
    next: u64,
    bytes: usize,
}

/// What a result takes beside its bytes, about.
const OVERHEAD_BYTES: usize = 512;

impl Results {
    /// An empty store.
    pub fn new(bytes_max: usize) -> Results {
        Results { bytes_max, stored: QuickMap::default(), order: BTreeMap::new(), next: 0, bytes: 0 }
    }

    /// Bytes kept.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many results are kept.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Keeps a result; gives those that had to go for it.
    pub fn store(&mut self, key: Key, answer: Answer, sight: Sight) -> Vec<Gone> {
        let rule = answer.rule;
        let bytes = OVERHEAD_BYTES
            + 2 * (key.blr.len() + key.message.len() + key.output_blr.len())
            + answer.opened.len()
            + answer.packets.len()
            + answer.answered.as_ref().map_or(0, |answered| {
                answered.question.items.len() + answered.opened.len() + answered.ended.len()
            })
            + sight.reads.len() * size_of::<Relation>();
        if bytes > self.bytes_max {
            return vec![Gone { rule, was_used: false }];
        }
        let mut gone = Vec::new();
        gone.extend(self.remove(&key));
        while self.bytes + bytes > self.bytes_max {
            let Some(oldest) = self.order.first_key_value().map(|(_, key)| key.clone()) else { break };
            gone.extend(self.remove(&oldest));
        }
        let number = self.next;
        self.next += 1;
        self.bytes += bytes;
        self.order.insert(number, key.clone());
        self.stored.insert(key, Stored { answer, sight, is_used: false, number, bytes });
        gone
    }

    /// What there is for this execution.
    pub fn find(&mut self, key: &Key, view: &View<'_>) -> Found {
        let Some(stored) = self.stored.get_mut(key) else { return Found::Nothing };
        if !view.allows(&stored.sight) {
            return self.remove(key).map_or(Found::Nothing, Found::Outdated);
        }
        let is_first = !stored.is_used;
        stored.is_used = true;
        Found::Answer(stored.answer.clone(), is_first)
    }

    /// Whether there is anything for this execution, given or not.
    pub fn has(&self, key: &Key) -> bool {
        self.stored.contains_key(key)
    }

    /// Drops what ran in a transaction: it has ended or written.
    pub fn drop_transaction(&mut self, transaction: u16) -> Vec<Gone> {
        self.drop_if(|key| key.transaction == transaction)
    }

    /// Drops everything.
    pub fn clear(&mut self) -> Vec<Gone> {
        self.drop_if(|_| true)
    }

    fn drop_if(&mut self, is_over: impl Fn(&Key) -> bool) -> Vec<Gone> {
        let over: Vec<Key> = self.stored.keys().filter(|key| is_over(key)).cloned().collect();
        over.iter().filter_map(|key| self.remove(key)).collect()
    }

    fn remove(&mut self, key: &Key) -> Option<Gone> {
        let stored = self.stored.remove(key)?;
        self.order.remove(&stored.number);
        self.bytes = self.bytes.saturating_sub(stored.bytes);
        Some(Gone { rule: stored.answer.rule, was_used: stored.is_used })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(transaction: u16, parameter: u8) -> Key {
        Key {
            transaction,
            statement: StatementText::new(b"db", b"select"),
            blr: vec![5],
            message: vec![parameter],
            execution: Execution::default(),
            output_blr: vec![5],
            described: Fingerprint(1),
        }
    }

    fn answer(bytes: usize) -> Answer {
        let (opened, packets) = (Vec::new(), vec![0; bytes]);
        Answer { opened, packets, rows: 1, rule: Rule(1), outer: Cursor(1), answered: None }
    }

    fn sight(asked: u32, commit: u64) -> Sight {
        Sight { asked, commit: CommitPoint(commit), reads: vec![Relation(4)], came: Duration::from_secs(10) }
    }

    /// A view in which relation 4 was changed last by commit 7.
    fn view(isolation: Isolation) -> View<'static> {
        View {
            isolation,
            begun: 5,
            written: 0,
            redefined: 0,
            has_notices: true,
            newest: &|relation| CommitPoint(if relation == Relation(4) { 7 } else { 0 }),
            age_max: None,
            now: Duration::from_secs(11),
        }
    }

    #[test]
    fn a_snapshot_sees_what_it_saw_whatever_others_commit() {
        for isolation in [Isolation::Snapshot, Isolation::TableStability] {
            assert!(view(isolation).allows(&sight(5, 0)));
            assert!(View { has_notices: false, ..view(isolation) }.allows(&sight(5, 0)));
        }
    }

    #[test]
    fn what_ran_before_the_transaction_or_its_last_write_or_a_definition_is_not_given() {
        for isolation in [Isolation::Snapshot, Isolation::TableStability, Isolation::ReadCommitted] {
            assert!(!view(isolation).allows(&sight(4, 9)), "an earlier transaction of this handle");
            assert!(!View { written: 8, ..view(isolation) }.allows(&sight(7, 9)));
            assert!(View { written: 8, ..view(isolation) }.allows(&sight(8, 9)));
            assert!(!View { redefined: 8, ..view(isolation) }.allows(&sight(7, 9)));
        }
    }

    #[test]
    fn read_committed_sees_nothing_older_than_the_last_commit_it_was_told_of() {
        for isolation in [Isolation::ReadCommitted, Isolation::ReadCommittedWaiting] {
            assert!(!view(isolation).allows(&sight(5, 6)));
            assert!(view(isolation).allows(&sight(5, 7)));
            let elsewhere = Sight { reads: vec![Relation(5)], ..sight(5, 0) };
            assert!(view(isolation).allows(&elsewhere));
        }
    }

    #[test]
    fn without_notices_read_committed_has_an_age_or_nothing() {
        let silent = View { has_notices: false, ..view(Isolation::ReadCommitted) };
        assert!(!silent.allows(&sight(5, 9)));
        assert!(View { age_max: Some(Duration::from_secs(1)), ..silent }.allows(&sight(5, 0)));
        assert!(!View { age_max: Some(Duration::from_millis(999)), ..silent }.allows(&sight(5, 0)));
        let waiting =
            View { isolation: Isolation::ReadCommittedWaiting, age_max: Some(Duration::MAX), ..silent };
        assert!(!waiting.allows(&sight(5, 9)), "it would wait for what is not committed");
    }

    #[test]
    fn the_oldest_go_when_there_is_no_room() {
        let mut results = Results::new(3 * (OVERHEAD_BYTES + 110));
        for parameter in 0..3 {
            assert_eq!(results.store(key(1, parameter), answer(100), sight(5, 9)), []);
        }
        let Found::Answer(found, true) = results.find(&key(1, 0), &view(Isolation::Snapshot)) else {
            panic!()
        };
        assert_eq!(found.packets.len(), 100);
        assert_eq!(
            results.store(key(1, 3), answer(100), sight(5, 9)),
            [Gone { rule: Rule(1), was_used: true }]
        );
        assert!(!results.has(&key(1, 0)) && results.has(&key(1, 1)));
        assert_eq!(results.store(key(1, 9), answer(10_000), sight(5, 9)).len(), 1, "it never fits");
        assert_eq!(results.len(), 3);
        assert_eq!(results.drop_transaction(1).len(), 3);
        assert_eq!(results.bytes(), 0);
    }

    #[test]
    fn outdated_results_are_dropped_when_they_are_met() {
        let mut results = Results::new(10_000);
        results.store(key(1, 0), answer(10), sight(5, 6));
        let found = results.find(&key(1, 0), &view(Isolation::ReadCommitted));
        assert_eq!(found, Found::Outdated(Gone { rule: Rule(1), was_used: false }));
        assert_eq!(results.find(&key(1, 0), &view(Isolation::ReadCommitted)), Found::Nothing);
    }

    #[test]
    fn isolation_is_read_from_a_tpb() {
        use Isolation::{ReadCommitted, ReadCommittedWaiting, Snapshot, TableStability};
        for (tpb, isolation) in [
            (&[3][..], Some(Snapshot)),
            (&[3, 2, 6, 9], Some(Snapshot)),
            (&[3, 1, 6, 9], Some(TableStability)),
            (&[3, 15, 17, 7, 8], Some(ReadCommitted)),
            (&[3, 15, 18, 6, 21, 4, 10, 0, 0, 0, 9], Some(ReadCommittedWaiting)),
            (&[3, 15, 6], Some(ReadCommittedWaiting)),
            (&[3, 15, 22], Some(ReadCommitted)),
            (&[3, 10, 1, b'T', 3], None), // A table reserved.
            (&[3, 21, 200, 1], None),
            (&[9], None),
            (&[], None),
        ] {
            assert_eq!(Isolation::of_tpb(tpb), isolation, "{tpb:?}");
        }
    }
}
