//! A commit whose answer is lost with the session is told as it was, or not at all.

use super::*;
use crate::message::{CommitOutcome, NamedCommit};

const FIRST_NAME: u128 = 77;

/// A program that waits for its commit to be answered.
fn committing(site: &Arc<Site>) -> Played {
    committing_behind(site, |_, _| {})
}

/// The same, behind something else that it does with its transaction.
fn committing_behind(site: &Arc<Site>, does: impl FnOnce(&mut Played, Handle)) -> Played {
    site.name_commits_from(FIRST_NAME);
    let mut played = Played::attached(site, 1);
    let (database, commit) = (7, CommitPoint(1));
    let guid = "{guid}".to_owned();
    played.tell(Tell::Attached { database, commit, strict_transactions: false, guid });
    site.message(&ToEdge::Notice { database, commit: CommitPoint(5), relations: Vec::new() });
    played.says(&begin());
    let Reply::Response(Response { object: transaction, .. }) = played.answers(1).remove(0) else {
        panic!("no transaction")
    };
    played.says(&Request::ExecuteImmediate(StatementText {
        transaction,
        statement: Handle(0),
        dialect: 3,
        sql: b"delete from t".to_vec(),
        items: Vec::new(),
        buffer_length: BufferLength(0),
        flags: 0,
    }));
    let id = played.relayed();
    played.replies(id, &[made(transaction.0)]);
    played.answers(1);
    does(&mut played, transaction);
    played.says(&Request::Commit(transaction));
    let asked = played.asked();
    let name = FIRST_NAME.to_le_bytes();
    assert!(
        matches!(&asked[..], [Ask::NameCommit { transaction: of, name: called }, Ask::Relay { .. }]
            if *of == transaction.0 && *called == name),
        "{asked:?}"
    );
    played
}

fn question() -> ToOrigin {
    let commit = NamedCommit { name: FIRST_NAME.to_le_bytes(), since: CommitPoint(5) };
    ToOrigin::Outcome { channel: Channel(1), file: b"db".to_vec(), guid: "{guid}".to_owned(), commit }
}

#[test]
fn it_is_asked_for_in_each_new_session_until_it_is_told() {
    for (outcome, is_success) in [(CommitOutcome::Committed, true), (CommitOutcome::NotCommitted, false)] {
        let mut played = committing(&site(true));
        for _ in 0..2 {
            played.machine.link_lost();
            played.machine.session_over("over");
            played.collect();
            assert_eq!(std::mem::take(&mut played.messages), [question()]);
            assert!(!played.machine.is_ended() && played.output.is_empty());
        }
        played.machine.outcome(outcome);
        played.collect();
        assert_eq!(played.response().status.is_success(), is_success);
        assert!(played.machine.is_ended(), "what it had open is gone");
        assert_eq!(played.messages, [], "the channel was of another session");
    }
}

#[test]
fn who_cannot_be_told_gets_a_broken_connection() {
    let mut played = committing(&site(true));
    played.machine.session_over("over");
    played.machine.outcome(CommitOutcome::Unknown);
    played.collect();
    assert!(played.response().status.error().is_some_and(|error| error.has(isc::NETWORK_ERROR)));
    assert!(played.machine.is_ended());
    // A server that keeps no names, or a program that waits for something else.
    let mut played = committing(&site(true));
    played.says(&Request::Ping);
    played.machine.outcome(CommitOutcome::Committed);
    assert!(!played.machine.is_ended(), "nobody has asked");
    let mut idle = Played::attached(&site(true), 1);
    idle.machine.session_over("over");
    assert!(idle.machine.is_ended());
}

/// A prepared transaction outlives its session: it is not rolled back.
#[test]
fn who_has_prepared_is_told_of_limbo() {
    for is_prepared in [true, false] {
        let mut played = committing_behind(&site(true), |played, transaction| {
            if is_prepared {
                played.says(&Request::PrepareTransaction(transaction));
                let id = played.relayed();
                played.replies(id, &[done()]);
                played.answers(1);
            }
        });
        played.machine.session_over("over");
        played.machine.outcome(CommitOutcome::NotCommitted);
        played.collect();
        let told = format!("{:?}", played.response().status.error());
        assert_eq!(told.contains("is in limbo"), is_prepared, "{told}");
        assert_eq!(told.contains("was rolled back"), !is_prepared, "{told}");
    }
}
