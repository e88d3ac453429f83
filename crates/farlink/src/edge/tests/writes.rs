//! Writes that are answered before they are done, where that is allowed.

use super::*;

const INSERT: &str = "insert into t values (1)";

fn optimistic(optimistic_bytes: usize) -> Arc<Site> {
    let limits = Limits { speculates: false, optimistic_writes: true, optimistic_bytes, ..Limits::default() };
    let site = Site::new(limits);
    site.message(&ToEdge::Welcome { is_farbird: true, server: "played".to_owned() });
    site
}

/// A program in transaction 1 with an INSERT as its statement 2.
fn writing(site: &Arc<Site>) -> Played {
    let mut played = Played::attached(site, 1);
    played.says(&begin());
    played.prepares(1, 2, INSERT, 2);
    played
}

/// The writes that the origin has got.
fn writes(played: &mut Played) -> Vec<RequestId> {
    let asked = played.asked();
    let id = |ask: &Ask| match ask {
        Ask::Write { id, .. } => *id,
        other => panic!("{other:?}"),
    };
    asked.iter().map(id).collect()
}

fn failed() -> Reply {
    Reply::Response(Response::error(&Error::new(isc::UNIQUE_KEY_VIOLATION)))
}

#[test]
fn a_write_is_answered_at_once_only_where_that_is_allowed() {
    let mut played = writing(&site(true));
    played.says(&execute(1, 2));
    played.relayed();
    assert_eq!(played.output, b"");

    let site = optimistic(1 << 20);
    let mut played = writing(&site);
    played.says(&execute(1, 2));
    assert_eq!(played.response().object, Handle(1));
    played.says(&execute_immediately(1, " /* why */ Delete from t"));
    assert_eq!(played.response().object, Handle(1));
    let ids = writes(&mut played);
    assert_eq!((ids.len(), site.counters().saved(Saved::Write)), (2, 2));
    assert!(site.memory().writes > 0);
    // The commit is the server's to answer.
    played.says(&Request::Commit(Handle(1)));
    assert_eq!(played.output, b"");
    let asked = played.asked();
    let Some(Ask::Relay { id: commit, .. }) = asked.last() else { panic!("{asked:?}") };
    ids.iter().for_each(|id| played.replies(*id, &[made(1)]));
    assert_eq!((site.memory().writes, site.counters().optimistic_failed), (0, 0));
    played.replies(*commit, &[done()]);
    assert!(played.response().status.is_success());
}

/// What comes behind a commit that is not answered may be in no transaction.
#[test]
fn a_write_behind_an_end_is_waited_for() {
    let site = optimistic(1 << 20);
    let mut played = writing(&site);
    played.says(&execute(1, 2));
    played.response();
    played.says(&Request::Commit(Handle(1)));
    played.says(&execute(1, 2));
    let asked = played.asked();
    assert!(matches!(asked.last(), Some(Ask::Relay { .. })), "{asked:?}");
    assert_eq!(played.output, b"");
}

#[test]
fn what_may_do_more_than_write_rows_is_waited_for() {
    let site = optimistic(1 << 20);
    let mut played = writing(&site);
    for text in ["execute procedure p", "execute block as begin end", "create table x (a int)", "set role r"]
    {
        played.says(&execute_immediately(1, text));
        let id = played.relayed();
        assert_eq!(played.output, b"", "{text}");
        played.replies(id, &[made(1)]);
        played.response();
    }
    // Described as a procedure, as INSERT ... RETURNING is.
    played.says(&begin());
    played.response();
    played.prepares(1, 4, "insert into t values (1) returning a", 8);
    played.says(&execute(1, 4));
    played.relayed();

    // Who knows what this transaction does by itself?
    let mut played = Played::attached(&site, 2);
    played.says(&Request::StartTransaction { database: Handle(0), tpb: vec![3, 2, 9, 16] });
    let id = played.relayed();
    played.replies(id, &[made(1)]);
    played.response();
    played.prepares(1, 2, "insert into t values (2)", 2);
    played.says(&execute(1, 2));
    played.relayed();
    assert_eq!(site.counters().saved(Saved::Write), 0);
}

#[test]
fn behind_a_failure_writes_are_waited_for_until_it_is_undone() {
    let site = optimistic(1 << 20);
    let mut played = writing(&site);
    played.says(&execute(1, 2));
    played.says(&execute(1, 2));
    let [first, second] = writes(&mut played)[..] else { panic!("two writes") };
    played.replies(first, &[failed()]);
    played.answers(2);
    played.says(&execute(1, 2));
    let third = played.relayed();
    assert_eq!(played.output, b"");
    played.replies(second, &[failed()]);
    played.replies(third, &[failed()]);
    assert!(!played.response().status.is_success());
    assert_eq!(site.counters().optimistic_failed, 2);

    played.says(&execute_immediately(1, "rollback to savepoint s"));
    let asked = played.asked();
    let [Ask::Undo { id, .. }] = &asked[..] else { panic!("{asked:?}") };
    played.replies(*id, &[made(1)]);
    assert!(played.response().status.is_success());
    played.says(&execute(1, 2));
    assert!(played.response().status.is_success());
    let failing = writes(&mut played)[0];
    // A failure that is told when it is undone already changes nothing.
    played.says(&Request::RollbackRetaining(Handle(1)));
    let asked = played.asked();
    let [Ask::Undo { id, .. }] = &asked[..] else { panic!("{asked:?}") };
    played.replies(failing, &[failed()]);
    played.replies(*id, &[done()]);
    played.response();
    played.says(&execute(1, 2));
    assert_eq!(writes(&mut played).len(), 1);
}

/// An origin that never answers: the program waits, and nothing grows.
#[test]
fn what_is_not_done_is_bounded() {
    let site = optimistic(4_000);
    let mut played = writing(&site);
    for _ in 0..1_000 {
        played.says(&execute(1, 2));
        assert!(site.memory().writes <= 4_000);
    }
    let answered = site.counters().saved(Saved::Write);
    assert!((5..50).contains(&answered), "{answered}");
    assert!(site.counters().optimistic_waited > 0);
    assert!(played.machine.waiting() > 900);
    played.machine.disconnected();
    assert_eq!(site.memory().writes, 0);
}

/// What was answered and is lost with the link is not passed over: the program's connection breaks, and so it does for one that begins to
/// write when the link is given up.
#[test]
fn a_lost_link_is_noticed() {
    let site = optimistic(1 << 20);
    let mut played = writing(&site);
    played.says(&execute(1, 2));
    assert!(played.response().status.is_success());
    played.machine.link_lost();
    assert!(played.machine.is_ended());
    assert_eq!(site.memory().writes, 0);

    let site = optimistic(1 << 20);
    let mut played = writing(&site);
    played.says(&Request::Rollback(Handle(1)));
    let asked = played.asked();
    assert!(asked.iter().all(|ask| matches!(ask, Ask::Quiet { .. })), "{asked:?}");
    played.response();
    played.machine.link_lost();
    assert!(!played.machine.is_ended());
    played.says(&begin());
    played.response();
    played.says(&execute(1, 2));
    assert!(played.machine.is_ended());
    assert!(!played.response().status.is_success());
}
