//! Requests whose turn it is not yet, and op_cancel, which overtakes them.

use farbird_wire::protocol::cancel;

use super::*;
use crate::message::Fingerprint;

/// A program that waits for the rows of a query: its cursor and the request that opened it.
fn fetching(site: &Arc<Site>) -> (Played, RequestId, Cursor) {
    let mut played = Played::attached(site, 1);
    played.says(&begin());
    played.prepares(1, 2, SQL, 1);
    let described = Fingerprint::of(&description(1));
    played.tell(Tell::Statement { statement: 2, described, reads: Some(vec![Relation(1)]) });
    played.says(&execute(1, 2));
    let asked = played.asked();
    let [Ask::Open { id, cursor, .. }] = &asked[..] else { panic!("{asked:?}") };
    let (id, cursor) = (*id, *cursor);
    played.says(&fetch(2, 2));
    played.asked();
    (played, id, cursor)
}

/// The query runs long, and the program has asked for its end already: it is cancelled at once, and not when its rows are there.
#[test]
fn a_cancel_overtakes_what_waits_for_rows() {
    let site = site(true);
    let (mut played, opened, cursor) = fetching(&site);
    played.says(&Request::Commit(Handle(1)));
    played.says(&begin());
    assert_eq!(played.asked(), [], "they wait for the rows");
    played.says(&Request::Cancel { kind: cancel::RAISE });
    assert_eq!(played.asked(), [Ask::Cancel { kind: cancel::RAISE }]);
    played.says(&Request::Ping);
    assert_eq!(played.asked(), []);

    played.replies(opened, &[made(1)]);
    let mut failed = Vec::new();
    let cancelled = Response::error(&Error::new(isc::CANCELLED));
    Reply::Response(cancelled).encode(played.version, &mut failed);
    played.tell(Tell::Rows { cursor, packets: Vec::new(), rows: 0, end: Some(End::Failed(failed)) });
    let asked = played.asked();
    let Some(Ask::Relay { id, .. }) = asked.last() else { panic!("the rest has its turn: {asked:?}") };
    played.replies(*id, &[done()]);
    let answers = played.answers(5);
    let is_success = answers.iter().map(|answer| match answer {
        Reply::Response(response) => response.status.is_success(),
        other => panic!("{other:?}"),
    });
    let expected = [true, false, true, true, true];
    assert_eq!(is_success.collect::<Vec<_>>(), expected, "open, fetch, commit, begin, ping");
    assert_eq!(answers[3], made(1), "handles are those that the order of requests gives");
}

/// So does one behind more requests than may wait for their answers.
#[test]
fn a_cancel_overtakes_what_there_is_no_room_for() {
    let site = Site::new(Limits { speculates: false, requests_waiting: 2, ..Limits::default() });
    site.message(&ToEdge::Welcome { is_farbird: true, server: "played".to_owned() });
    let mut played = Played::attached(&site, 1);
    for _ in 0..4 {
        played.says(&Request::Ping);
    }
    let pings = played.asked();
    assert_eq!(pings.len(), 2, "{pings:?}");
    played.says(&Request::Cancel { kind: cancel::RAISE });
    assert_eq!(played.asked(), [Ask::Cancel { kind: cancel::RAISE }]);
    for ping in pings {
        let Ask::Relay { id, .. } = ping else { panic!("{ping:?}") };
        played.replies(id, &[done()]);
    }
    played.answers(2);
    assert_eq!(played.asked().len(), 2, "the others have their turn");
}

/// What is looked at before its turn is bounded: then the program is not read from any more, and goes on when its rows are there.
#[test]
fn a_flood_behind_a_fetch_waits_in_bounds() {
    let site = site(true);
    let (mut played, opened, cursor) = fetching(&site);
    played.says(&Request::Commit(Handle(1)));
    let mut ping = Vec::new();
    Request::Ping.encode(played.version, &mut ping);
    let (mut sent, mut pings) = (0, 0);
    while !played.machine.is_full() && sent < 8 << 20 {
        let mut flood = ping.repeat(10_000);
        (sent, pings) = (sent + flood.len(), pings + 10_000);
        played.machine.receive(&mut flood, NOW);
    }
    assert!(sent < 2 << 20, "{sent} bytes were taken");
    played.collect();
    assert_eq!(played.asked(), []);
    played.replies(opened, &[made(1)]);
    played.tell(Tell::Rows { cursor, packets: Vec::new(), rows: 0, end: Some(End::Complete) });
    let mut answered = 0;
    while answered < pings {
        let asked = played.asked();
        assert!(!asked.is_empty(), "{answered} of {pings}");
        for ask in asked {
            if let Ask::Relay { id, .. } = ask {
                played.replies(id, &[done()]);
                answered += 1;
            }
        }
    }
    assert!(!played.machine.is_full() && !played.machine.is_ended());
}

/// A transaction in limbo that is taken over ends at the server alone, and what became of its end is asked by nobody else.
#[test]
fn the_phases_of_a_commit_are_the_servers() {
    let site = site(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.says(&Request::PrepareTransaction(Handle(1)));
    let asked = played.asked();
    let [Ask::Quiet { .. }, Ask::Relay { id, .. }] = &asked[..] else { panic!("{asked:?}") };
    played.replies(*id, &[done()]);
    played.answers(2);
    // Though it has changed nothing.
    played.says(&Request::Commit(Handle(1)));
    let id = played.relayed();
    assert_eq!(played.output, b"");
    played.replies(id, &[done()]);
    played.answers(1);

    played.says(&Request::Reconnect { database: Handle(0), transaction_id: vec![7, 0, 0, 0] });
    let id = played.relayed();
    played.replies(id, &[made(9)]);
    let handle = played.response().object;
    played.says(&Request::Rollback(handle));
    let id = played.relayed();
    assert_eq!(played.output, b"");
    played.replies(id, &[done()]);
    assert!(played.response().status.is_success());
}
