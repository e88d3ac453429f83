//! A program whose session is over goes on in the next if it has nothing in it, and else loses its connection.

use farbird_wire::clumplet::{ClumpletWriter, dpb};
use farbird_wire::protocol::cancel;

use super::*;
use crate::message::Pass;

const GUID: &str = "{guid}";

fn pass(number: u8) -> Pass {
    Pass(vec![number; 56])
}

fn facts(database: u32, guid: &str) -> Tell {
    Tell::Attached { database, commit: CommitPoint(1), strict_transactions: false, guid: guid.to_owned() }
}

fn let_in(version: ProtocolVersion) -> Reply {
    Reply::AcceptWithData(AcceptWithData {
        accept: accept(version),
        data: Vec::new(),
        plugin: b"Srp256".to_vec(),
        authenticated: true,
        keys: Vec::new(),
    })
}

/// A program that has logged in with a pass, attached, and has a query prepared that it has executed.
fn idle(site: &Arc<Site>) -> Played {
    let mut played = attached(site);
    played.says(&begin());
    played.prepares(1, 2, SQL, 1);
    played.tell(reads(Some(vec![Relation(1)])));
    played.says(&execute(1, 2));
    let asked = played.asked();
    let id = opened(&asked);
    played.replies(id, &[made(1)]);
    played.says(&free(2, 1));
    played.says(&Request::Commit(Handle(1)));
    played.output.clear();
    played.asked();
    played
}

fn attached(site: &Arc<Site>) -> Played {
    attached_by(site, &attach())
}

fn attached_by(site: &Arc<Site>, attach: &Request) -> Played {
    let mut played = Played::new(site, 1, ProtocolVersion::V13);
    played.says(&connect(false));
    played.tell(Tell::Pass { pass: pass(1) });
    played.replies(RequestId::CONNECT, &[let_in(played.version)]);
    played.says(attach);
    let id = played.relayed();
    played.replies(id, &[done()]);
    played.tell(facts(7, GUID));
    played.output.clear();
    played.asked();
    played
}

fn reads(reads: Option<Vec<Relation>>) -> Tell {
    reads_of(2, reads)
}

fn reads_of(statement: u16, reads: Option<Vec<Relation>>) -> Tell {
    Tell::Statement { statement, described: crate::message::Fingerprint::of(&description(1)), reads }
}

fn opened(asked: &[Ask]) -> RequestId {
    let id = asked.iter().find_map(|ask| match ask {
        Ask::Open { id, .. } => Some(*id),
        _ => None,
    });
    id.unwrap_or_else(|| panic!("{asked:?}"))
}

fn over(played: &mut Played) {
    played.machine.session_over("over");
    played.collect();
}

/// What the edge has sent to attach again: the pass and the op_attach's request.
fn attaching(played: &mut Played) -> (Pass, RequestId) {
    let messages = std::mem::take(&mut played.messages);
    let [
        ToOrigin::Open { channel: Channel(1), ticket: None, pass: Some(pass), .. },
        ToOrigin::On { ask, .. },
    ] = &messages[..]
    else {
        panic!("{messages:?}")
    };
    let Ask::Relay { id, object: 0, packet } = ask else { panic!("{ask:?}") };
    let mut wanted = Vec::new();
    attach().encode(played.version, &mut wanted);
    assert_eq!(*packet, wanted);
    (pass.clone(), *id)
}

#[test]
fn an_idle_program_goes_on_with_its_statements() {
    let site = site(true);
    let mut played = idle(&site);
    for round in 1..=2 {
        over(&mut played);
        let (given, id) = attaching(&mut played);
        assert_eq!(given, pass(round), "the newest");
        // What it asks meanwhile waits.
        played.says(&begin());
        assert!(played.output.is_empty() && played.messages.is_empty());
        // It is over once more before anything is answered.
        over(&mut played);
        let (_, second) = attaching(&mut played);
        played.replies(id, &[done()]);
        assert!(!played.machine.is_ended(), "nobody waits for that any more");
        played.tell(Tell::Pass { pass: pass(round + 1) });
        played.replies(RequestId::CONNECT, &[let_in(played.version)]);
        played.replies(second, &[done()]);
        assert!(played.output.is_empty(), "which database it is must be told");
        played.tell(facts(9, GUID));
        let asked = played.asked();
        let [Ask::Quiet { object: 2, .. }, Ask::Prepared { .. }, Ask::Quiet { object: 1, .. }] = &asked[..]
        else {
            panic!("its statement, and then what it has asked: {asked:?}")
        };
        assert_eq!(played.answers(1), [made(1)]);
        played.says(&execute(1, 2));
        let id = opened(&played.asked());
        played.tell(reads(Some(vec![Relation(1)])));
        played.replies(id, &[made(1)]);
        played.says(&free(2, 1));
        played.says(&Request::Rollback(Handle(1)));
        for ask in played.asked() {
            if let Ask::Relay { id, .. } = ask {
                played.replies(id, &[done()]);
            }
        }
        played.output.clear();
        played.messages.clear();
    }
    assert_eq!((site.counters().attached_again, site.counters().lost), (2, 0));
}

#[test]
fn who_is_let_in_differently_loses_the_connection() {
    type Answers = fn(&mut Played, RequestId);
    let differences: [(&str, Answers); 6] = [
        ("the user must prove the password", |played, _| {
            let mut reply = let_in(played.version);
            if let Reply::AcceptWithData(accept) = &mut reply {
                accept.authenticated = false;
            }
            played.replies(RequestId::CONNECT, &[reply]);
        }),
        ("another protocol", |played, _| {
            played.replies(RequestId::CONNECT, &[let_in(ProtocolVersion::V12)]);
        }),
        ("no server there", |played, _| played.machine.closed("gone")),
        ("the database is shut down", |played, id| {
            played.replies(RequestId::CONNECT, &[let_in(played.version)]);
            played.replies(id, &[Reply::Response(Response::error(&Error::new(isc::SHUTDOWN)))]);
        }),
        ("another database", |played, id| {
            played.replies(RequestId::CONNECT, &[let_in(played.version)]);
            played.replies(id, &[done()]);
            played.tell(facts(7, "{another}"));
        }),
        ("another kind of server", |played, id| {
            let welcome = ToEdge::Welcome { is_farbird: false, server: "another".to_owned() };
            played.machine.site.message(&welcome);
            played.replies(RequestId::CONNECT, &[let_in(played.version)]);
            played.replies(id, &[done()]);
        }),
    ];
    for (name, answers) in differences {
        let mut played = idle(&site(true));
        over(&mut played);
        let (_, id) = attaching(&mut played);
        answers(&mut played, id);
        assert!(played.machine.is_ended(), "{name}");
    }
    // Without a link nobody waits for ever.
    let mut played = idle(&site(true));
    over(&mut played);
    played.machine.link_lost();
    assert!(!played.machine.is_ended(), "it asks for nothing");
    played.says(&begin());
    assert!(played.machine.is_ended());
}

#[test]
fn who_has_something_in_the_session_loses_the_connection() {
    type Does = fn(&mut Played);
    let ways: [(&str, Does, bool); 15] = [
        ("nothing", |_| {}, true),
        ("prepares", |played| played.prepares(0, 1, SQL, 1), true),
        ("begins", |played| played.says(&begin()), false),
        ("waits", |played| played.says(&Request::Ping), false),
        ("changes something", |played| run(played, "delete from t"), false),
        ("changes its session", |played| run(played, "set role r"), false),
        (
            "asks for its number",
            |played| {
                played.says(&Request::DatabaseInformation(Information {
                    object: Handle(0),
                    incarnation: 0,
                    items: vec![22],
                    buffer_length: BufferLength(64),
                }));
                let id = played.relayed();
                played.replies(id, &[done()]);
            },
            false,
        ),
        (
            "asks for something else",
            |played| {
                played.says(&Request::DatabaseInformation(Information {
                    object: Handle(0),
                    incarnation: 0,
                    items: vec![12],
                    buffer_length: BufferLength(64),
                }));
                let id = played.relayed();
                played.replies(id, &[done()]);
            },
            true,
        ),
        ("reads what is not known to be reading", |played| query(played, None), false),
        ("reads", |played| query(played, Some(vec![Relation(1)])), true),
        ("reads what only reads no more", read_another, false),
        ("is not to be cancelled", |played| played.says(&Request::Cancel { kind: cancel::DISABLE }), false),
        (
            "has triggers on transactions",
            |played| {
                played.tell(Tell::Attached {
                    database: 7,
                    commit: CommitPoint(1),
                    strict_transactions: true,
                    guid: GUID.to_owned(),
                });
            },
            false,
        ),
        (
            "has a BLR request",
            |played| {
                played.says(&Request::Compile { database: Handle(0), blr: vec![5, 2, 255, 76] });
                let id = played.relayed();
                played.replies(id, &[made(3)]);
            },
            false,
        ),
        (
            "waits for events",
            |played| {
                played.says(&Request::CancelEvents { database: Handle(0), id: 1 });
                let id = played.relayed();
                played.replies(id, &[done()]);
            },
            false,
        ),
    ];
    for (name, does, goes_on) in ways {
        let mut played = idle(&site(true));
        does(&mut played);
        played.messages.clear();
        over(&mut played);
        assert_eq!(!played.machine.is_ended(), goes_on, "{name}");
    }
    // A server that gives no pass.
    let mut played = Played::attached(&site(true), 1);
    over(&mut played);
    assert!(played.machine.is_ended());
    // A server attaches without a role that the user may not take any more, and says nothing.
    for (role, goes_on) in [("", true), ("R", false)] {
        let mut parameters = ClumpletWriter::dpb();
        parameters.text(dpb::SQL_ROLE_NAME, role);
        let parameters = parameters.into_bytes();
        let attach = Request::Attach(Attach { database: Handle(0), file: b"db".to_vec(), parameters });
        let mut played = attached_by(&site(true), &attach);
        over(&mut played);
        assert_eq!(!played.machine.is_ended(), goes_on, "role {role:?}");
    }
}

/// Executes a statement at once, and ends its transaction.
fn run(played: &mut Played, sql: &str) {
    played.says(&begin());
    played.asked();
    played.says(&execute_immediately(1, sql));
    let id = played.relayed();
    played.replies(id, &[made(1)]);
    played.says(&Request::Rollback(Handle(1)));
    for ask in played.asked() {
        if let Ask::Relay { id, .. } = ask {
            played.replies(id, &[done()]);
        }
    }
}

/// Executes a query before it is told what it reads.
fn query(played: &mut Played, told: Option<Vec<Relation>>) {
    played.says(&begin());
    played.output.clear();
    played.prepares(1, 3, "select b from t", 1);
    executes(played, 3, told);
}

/// Executes the prepared query as one that only reads; by now it does more.
fn read_another(played: &mut Played) {
    played.says(&begin());
    played.asked();
    executes(played, 2, None);
}

fn executes(played: &mut Played, statement: u16, told: Option<Vec<Relation>>) {
    played.says(&execute(1, statement));
    let id = opened(&played.asked());
    played.tell(reads_of(statement, told));
    played.replies(id, &[made(1)]);
    played.says(&free(statement, 1));
    played.says(&Request::Rollback(Handle(1)));
    for ask in played.asked() {
        if let Ask::Relay { id, .. } = ask {
            played.replies(id, &[done()]);
        }
    }
}

/// What was asked about an execution of the session before, nobody knows.
#[test]
fn counts_of_an_execution_of_the_session_before_are_not_made_up() {
    let mut played = idle(&site(true));
    over(&mut played);
    let (_, id) = attaching(&mut played);
    played.replies(RequestId::CONNECT, &[let_in(played.version)]);
    played.replies(id, &[done()]);
    played.tell(facts(7, GUID));
    assert!(!played.machine.is_ended());
    played.says(&counts(2));
    assert!(played.machine.is_ended());
}
