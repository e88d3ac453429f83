//! Executions that are answered by what was run ahead, or wait for it, as a program sees them.

use farbird_wire::message::{Message, MessageForm};

use super::*;
use crate::message::Rule;

const OUTER: &str = "select a from t";
const INNER: &str = "select b from u where a = ?";

/// A program whose loop over the rows of statement 2, in transaction 1, runs statement 3 for each of them.
struct Loop {
    site: Arc<Site>,
    played: Played,
}

fn parameter(number: i64, version: ProtocolVersion) -> Message {
    Message::new(format(), MessageForm::of_sql(version), &[Value::integer(number)]).unwrap()
}

impl Loop {
    /// The loop was run once, so its rule is known.
    fn learned() -> Loop {
        let limits = Limits { texts_show_purity: true, ..Limits::default() };
        let site = Site::new(limits);
        site.message(&ToEdge::Welcome { is_farbird: false, server: "played".to_owned() });
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, OUTER, 1);
        played.prepares(1, 3, INNER, 1);
        let mut learned = Loop { site, played };
        learned.open_outer();
        for number in [101, 102] {
            learned.execute_inner(number);
            let (id, cursor) = learned.opening();
            learned.played.replies(id, &[made(1)]);
            assert!(learned.played.response().status.is_success());
            learned.fetch(3, cursor, &[number * 10]);
            learned.close(3);
        }
        learned.close(2);
        learned
    }

    /// Executes the outer statement and reads its rows; gives its opening and the rule that was asked by, if one was.
    fn open_outer(&mut self) -> (Cursor, Option<Rule>) {
        self.played.says(&execute(1, 2));
        let asked = self.played.asked();
        let [Ask::Open { id, cursor, ahead, .. }] = &asked[..] else { panic!("{asked:?}") };
        let (id, cursor, rule) = (*id, *cursor, ahead.first().map(|ask| ask.rule));
        self.played.replies(id, &[made(1)]);
        self.played.answers(1);
        self.fetch(2, cursor, &[101, 102, 103]);
        (cursor, rule)
    }

    /// The only opening that was asked for.
    fn opening(&mut self) -> (RequestId, Cursor) {
        let asked = self.played.asked();
        let openings: Vec<_> = asked
            .iter()
            .filter_map(|ask| match ask {
                Ask::Open { id, cursor, .. } => Some((*id, *cursor)),
                _ => None,
            })
            .collect();
        assert_eq!(openings.len(), 1, "{asked:?}");
        openings[0]
    }

    fn execute_inner(&mut self, number: i64) {
        let Request::Execute(mut request) = execute(1, 3) else { unreachable!() };
        request.input_blr = format().to_blr();
        request.message = Some(parameter(number, self.played.version));
        self.played.says(&Request::Execute(request));
    }

    /// Closes a cursor; nobody waits for the answer, which goes out before the next.
    fn close(&mut self, statement: u16) {
        self.played.says(&free(statement, 1));
        self.played.says(&Request::Ping);
        let id = self.pinged();
        self.played.replies(id, &[done()]);
        self.played.answers(2);
    }

    /// The request of the ping that was asked last.
    fn pinged(&mut self) -> RequestId {
        match self.played.asked().pop() {
            Some(Ask::Relay { id, .. }) => id,
            other => panic!("{other:?}"),
        }
    }

    fn fetch(&mut self, statement: u16, cursor: Cursor, rows: &[i64]) {
        self.played.says(&fetch(statement, 10));
        let packets = packets_of(rows, self.played.version);
        let count = u32::try_from(rows.len()).unwrap();
        self.played.tell(Tell::Rows { cursor, packets, rows: count, end: Some(End::Complete) });
        assert_eq!(self.played.rows().0, rows);
    }

    /// The origin has run the inner statement ahead, with this result.
    fn told(&mut self, outer: Cursor, rule: Rule, number: i64, result: i64) {
        self.played.tell(Tell::Ahead {
            outer,
            rule,
            blr: format().to_blr(),
            parameters: parameter(number, self.played.version).wire().to_vec(),
            transaction: 1,
            asked: u32::MAX,
            commit: CommitPoint(0),
            reads: Vec::new(),
            opened: Vec::new(),
            packets: packets_of(&[result], self.played.version),
            rows: 1,
        });
    }
}

/// A driver that sends op_fetch behind op_execute's answer would wait for ever if that answer waited for a further request.
#[test]
fn an_execution_that_was_run_ahead_is_answered_before_its_rows_are_fetched() {
    let mut program = Loop::learned();
    let (outer, rule) = program.open_outer();
    let rule = rule.expect("the rule is learned");
    program.told(outer, rule, 101, 1_011);
    program.execute_inner(101);
    assert!(program.played.response().status.is_success());
    program.played.says(&fetch(3, 10));
    assert_eq!(program.played.rows().0, [1_011]);
    program.close(3);

    // And when it has waited for its result.
    program.execute_inner(102);
    assert_eq!(program.played.output, b"", "its result is on its way");
    program.told(outer, rule, 102, 1_021);
    assert!(program.played.response().status.is_success());
    program.played.says(&fetch(3, 10));
    assert_eq!(program.played.rows().0, [1_021]);
    assert_eq!(program.site.counters().saved(Saved::Ahead), 2);
    let asked = program.played.asked();
    assert!(!asked.iter().any(|ask| matches!(ask, Ask::Open { .. })), "{asked:?}");
}

#[test]
fn an_execution_that_waits_is_asked_for_when_nothing_comes_any_more() {
    for has_speculator in [true, false] {
        let mut program = Loop::learned();
        let (outer, rule) = program.open_outer();
        assert!(rule.is_some(), "the rule is learned");
        program.execute_inner(101);
        assert_eq!(program.played.output, b"", "its result is on its way");
        program.played.asked();
        if !has_speculator {
            program.played.machine.speculator = None;
        }
        program.played.tell(Tell::AheadRests { outer });
        let (id, cursor) = program.opening();
        program.played.replies(id, &[made(1)]);
        assert!(program.played.response().status.is_success());
        program.fetch(3, cursor, &[1_011]);
    }
}
