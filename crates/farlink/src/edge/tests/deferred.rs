//! Statements that are described from their texts alone, where that is allowed.

use super::*;
use crate::message::Fingerprint;

fn site_that(deferred_prepare: bool) -> Arc<Site> {
    let site = Site::new(Limits { speculates: false, deferred_prepare, ..Limits::default() });
    site.message(&ToEdge::Welcome { is_farbird: true, server: "played".to_owned() });
    site
}

/// A program in transaction 1 that has prepared an INSERT as its statement 2.
fn prepared(site: &Arc<Site>) -> Played {
    let mut played = Played::attached(site, 1);
    played.says(&begin());
    played.prepares(1, 2, "insert into t values (1)", 2);
    played.says(&allocate());
    played.asked();
    played
}

#[test]
fn a_statement_of_a_known_shape_is_answered_where_that_is_allowed() {
    let mut played = prepared(&site_that(false));
    played.says(&prepare(1, 3, "insert into t values (2)"));
    played.relayed();

    let site = site_that(true);
    let mut played = prepared(&site);
    played.says(&prepare(1, 3, "insert into t values (2)"));
    let described = Response::data(Handle(0), description(2).to_vec());
    assert_eq!(played.answers(2), [made(3), Reply::Response(described)]);
    let asked = played.asked();
    let [Ask::Prepared { described, .. }] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(*described, Fingerprint::of(&description(2)));
    assert_eq!(site.counters().statements_deferred, 1);
    // What else is asked of it is the server's to say, who prepares it then.
    for text in ["insert into t values (?)", "insert into t values (2) returning a", "delete from t"] {
        played.says(&prepare(1, 3, text));
        assert_eq!(played.output, b"", "{text}");
        let id = played.relayed();
        played.replies(id, &[Reply::Response(Response::data(Handle(0), description(3).to_vec()))]);
        played.response();
    }
}

/// Plans differ within a shape.
#[test]
fn a_question_about_more_than_the_shape_is_relayed() {
    let site = site_that(true);
    let mut played = Played::attached(&site, 1);
    played.says(&begin());
    played.says(&allocate());
    for number in 0..3 {
        let sql = format!("delete from t where a = {number}");
        let Request::Prepare(text) = prepare(1, 2, &sql) else { unreachable!() };
        played.asked();
        played.says(&Request::Prepare(StatementText { items: vec![21, 22], ..text }));
        let id = played.relayed();
        played.replies(id, &[Reply::Response(Response::data(Handle(0), description(4).to_vec()))]);
    }
}

/// The server describes it otherwise: it has refused its execution, and the next one of its shape is asked for.
#[test]
fn what_is_not_as_it_seemed_is_asked_for_the_next_time() {
    let site = site_that(true);
    let mut played = prepared(&site);
    played.says(&prepare(1, 3, "insert into t values (2)"));
    played.answers(2);
    played.asked();
    let described = Fingerprint::of(b"another");
    played.tell(Tell::Statement { statement: 3, described, reads: None });
    played.says(&prepare(1, 3, "insert into t values (3)"));
    assert_eq!(played.output, b"");
    played.relayed();
}
