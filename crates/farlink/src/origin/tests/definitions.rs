//! Looking up what a query's names stand for.

use super::super::definitions::ROW;
use super::*;

const VIEW: i64 = 1;
const COMPUTED_COLUMN: i64 = 2;
const PROCEDURE: i64 = 3;

/// What the catalogue says of one name: what it is, and its source.
type Row<'t> = (i64, Option<&'t str>);

fn prepare_text(sql: &str) -> Request {
    let Request::Prepare(text) = prepare(1, 2) else { panic!("no op_prepare_statement") };
    Request::Prepare(StatementText { sql: sql.as_bytes().to_vec(), ..text })
}

/// A program's op_prepare_statement, answered by the server; the program waits for what is looked up.
fn prepared(sql: &str) -> Played {
    let mut played = Played::firebird(VERSION);
    played.quiet(1, &begin());
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.quiet(2, &Request::AllocateStatement(Handle(0)));
    played.relay(7, 0, &prepare_text(sql));
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(9))));
    played.answer(&Reply::Response(Response::success()));
    played.asked();
    played.told();
    played.answer(&Reply::Response(Response::data(Handle(4), b"one".to_vec())));
    played
}

/// Answers one round with these rows; gives the question.
fn answer_round(played: &mut Played, rows: &[Row<'_>]) -> String {
    let asked = played.asked();
    let [Request::StartTransaction { tpb, .. }, Request::AllocateStatement(_), Request::Ping] = &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert!(tpb.contains(&8) && tpb.contains(&15), "it reads only, and what is committed: {tpb:?}");
    played.answer(&Reply::Response(Response::object(Handle(20))));
    played.answer(&Reply::Response(Response::object(Handle(21))));
    played.answer(&Reply::Response(Response::success()));
    let asked = played.asked();
    let [Request::Prepare(text), Request::Execute(execute), Request::Fetch(_), free, commit] = &asked[..]
    else {
        panic!("{asked:?}")
    };
    assert_eq!((text.transaction, text.statement), (Handle(20), Handle(21)));
    assert_eq!((execute.transaction, execute.statement), (Handle(20), Handle(21)));
    let drop = Request::FreeStatement { statement: Handle(21), option: free_statement::DROP };
    assert_eq!((free, commit), (&drop, &Request::Commit(Handle(20))), "nothing is left behind");
    assert!(!played.told().iter().any(|tell| matches!(tell, Tell::Reply { .. })), "the program waits");
    let sql = String::from_utf8(text.sql.clone()).unwrap();
    played.answer(&Reply::Response(Response::success()));
    played.answer(&Reply::Response(Response::success()));
    let mut packets = Vec::new();
    for (what, source) in rows {
        let source = source.map_or(Value::Null, Value::text);
        encode_fetch_row(&ROW, VERSION, &[Value::integer(*what), source], &mut packets).unwrap();
    }
    Reply::FetchResponse(FetchResponse::END_OF_CURSOR).encode(VERSION, &mut packets);
    played.conversation.receive(&mut packets, Duration::ZERO);
    played.answer(&Reply::Response(Response::success()));
    played.answer(&Reply::Response(Response::success()));
    sql
}

/// What the edge hears with the reply to the program: whether the query only reads.
fn is_told_plain(played: &mut Played) -> bool {
    let told = played.told();
    let [Tell::Statement { statement: 2, reads, described }, Tell::Reply { id, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((described, *id), (&Fingerprint::of(b"one"), RequestId(7)));
    reads.is_some()
}

#[test]
fn a_query_of_tables_and_plain_views_only_reads() {
    let mut played = prepared("select a from v where b = 'no name'");
    let question = answer_round(&mut played, &[(VIEW, Some("select id from \"My View\""))]);
    assert!(question.contains("('SELECT','A','FROM','V','WHERE','B')"), "{question}");
    // What the view is made of.
    let question =
        answer_round(&mut played, &[(VIEW, Some("select * from t")), (COMPUTED_COLUMN, Some("(a + b)"))]);
    assert!(question.contains("('ID','My View')"), "{question}");
    answer_round(&mut played, &[]);
    assert!(is_told_plain(&mut played));
    assert_eq!(played.asked(), []);
}

#[test]
fn what_may_do_more_is_told_as_that() {
    let hidden: &[&[Row<'_>]] = &[
        &[(PROCEDURE, None)],
        &[(VIEW, Some("select gen_id(g, 1) as a from t"))],
        &[(VIEW, Some("select f(a) as a from t"))],
        &[(VIEW, Some("select current_timestamp as a from t"))],
        &[(VIEW, None)],
        &[(COMPUTED_COLUMN, Some("(f(a))"))],
        &[(COMPUTED_COLUMN, None)],
        &[(VIEW, Some("select a from t")), (4, None)],
        &[(5, None)],
    ];
    for rows in hidden {
        let mut played = prepared("select a from v");
        answer_round(&mut played, rows);
        assert!(!is_told_plain(&mut played), "{rows:?}");
    }
    // A view that says nothing but names a procedure.
    let mut played = prepared("select a from v");
    answer_round(&mut played, &[(VIEW, Some("select x from p"))]);
    answer_round(&mut played, &[(PROCEDURE, None)]);
    assert!(!is_told_plain(&mut played));
}

#[test]
fn views_without_end_are_given_up() {
    let mut played = prepared("select a from v");
    let mut rounds = 0;
    while played.conversation.definitions.is_asking() {
        rounds += 1;
        assert!(rounds < 100);
        answer_round(&mut played, &[(VIEW, Some(&format!("select a from v{rounds}")))]);
    }
    assert!(!is_told_plain(&mut played));
    let many = (0..500).map(|number| format!("a{number}")).collect::<Vec<_>>().join(",");
    let mut played = prepared(&format!("select {many} from t"));
    assert_eq!(played.asked(), [], "too many names to ask for");
    assert!(!is_told_plain(&mut played));
}

#[test]
fn a_server_that_refuses_to_answer_leaves_nothing_open_and_nobody_waiting() {
    for refused in 0..4 {
        let mut played = prepared("select a from t");
        let answer = |step: u16, handle: u16| match step == refused {
            true => failed(isc::NO_PRIV),
            false => Reply::Response(Response::object(Handle(handle))),
        };
        played.asked();
        played.answer(&answer(0, 20));
        played.answer(&answer(1, 21));
        played.answer(&Reply::Response(Response::success()));
        for (number, request) in played.asked().iter().enumerate() {
            match request {
                Request::FreeStatement { statement, .. } => assert_eq!(*statement, Handle(21)),
                Request::Commit(transaction) => assert_eq!(*transaction, Handle(20)),
                _ => assert!(refused > 1, "{request:?}"),
            }
            match request {
                Request::Fetch(_) => played.answer(&failed(isc::DSQL_CURSOR_ERR)),
                _ => played.answer(&answer(u16::try_from(number).unwrap() + 2, 0)),
            }
        }
        assert!(!is_told_plain(&mut played), "step {refused}");
        assert!(!played.conversation.is_waiting(), "step {refused}");
    }
}

#[test]
fn nobody_looks_up_what_is_believed_or_shows_itself_that_it_does_more() {
    let mut played = prepared("select f(a) from t");
    assert_eq!(played.asked(), []);
    assert!(!is_told_plain(&mut played));
    let mut played = Played::firebird(VERSION);
    played.ask(Ask::BelieveTexts);
    played.quiet(1, &begin());
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(8))));
    played.quiet(2, &Request::AllocateStatement(Handle(0)));
    played.relay(7, 0, &prepare_text("select a from t"));
    played.asked();
    played.answer(&Reply::Response(Response::object(Handle(9))));
    played.answer(&Reply::Response(Response::success()));
    played.asked();
    played.answer(&Reply::Response(Response::data(Handle(4), b"one".to_vec())));
    assert_eq!(played.asked(), []);
}

#[test]
fn a_detach_waits_until_the_look_up_has_ended_its_transaction() {
    let mut played = prepared("select a from t");
    played.relay(8, 0, &Request::Detach(Handle(0)));
    answer_round(&mut played, &[]);
    assert!(is_told_plain(&mut played));
    assert_eq!(played.asked(), [Request::Detach(Handle(0))]);
}
