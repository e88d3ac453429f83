//! Executions that are answered by what was run ahead, or wait for it, as a program sees them.

use farbird_wire::message::{Message, MessageForm};

use super::*;
use crate::message::{Answered, Question, Rule};

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
        Loop::learned_by(false)
    }

    /// By a program that asks after each inner execution how many rows it has changed, or one that does not.
    fn learned_by(asks: bool) -> Loop {
        Loop::learned_at(asks, Limits::default())
    }

    fn learned_at(asks: bool, limits: Limits) -> Loop {
        let site = Site::new(Limits { texts_show_purity: true, ..limits });
        site.message(&ToEdge::Welcome { is_farbird: false, server: "played".to_owned() });
        let mut played = Played::attached(&site, 1);
        played.says(&begin());
        played.prepares(1, 2, OUTER, 1);
        played.prepares(1, 3, INNER, 1);
        let mut learned = Loop { site, played };
        learned.open_outer();
        for number in [101, 102] {
            learned.execute_inner(number);
            if asks {
                learned.played.says(&counts(3));
            }
            let asked = learned.played.asked();
            let (mut opening, mut question) = (None, None);
            for ask in &asked {
                match ask {
                    Ask::Open { id, cursor, question: about, .. } => {
                        opening = Some((*id, *cursor));
                        question = about.as_ref().map(|about| about.id);
                    }
                    Ask::Relay { id, .. } => {
                        assert_eq!(question, None, "it is not asked twice");
                        question = Some(*id);
                    }
                    _ => {}
                }
            }
            let (id, cursor) = opening.unwrap_or_else(|| panic!("{asked:?}"));
            learned.played.replies(id, &[made(1)]);
            if let Some(question) = question {
                learned.played.replies(question, &[Reply::Response(Response::data(Handle(3), vec![7]))]);
                assert_eq!(
                    learned.played.answers(2).pop(),
                    Some(Reply::Response(Response::data(Handle(3), vec![7])))
                );
            } else {
                assert!(learned.played.response().status.is_success());
            }
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
        self.told_with(outer, rule, number, result, None);
    }

    /// And the server has said this about it.
    fn told_with(&mut self, outer: Cursor, rule: Rule, number: i64, result: i64, answered: Option<Answered>) {
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
            answered,
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

fn told_counts(statement: u16, data: u8, version: ProtocolVersion) -> Vec<u8> {
    let mut packets = Vec::new();
    Reply::Response(Response::data(Handle(statement), vec![data])).encode(version, &mut packets);
    packets
}

/// Drivers ask after each execution how many rows it has changed, also after queries.
#[test]
fn what_is_asked_after_an_execution_that_was_run_ahead_came_with_its_result() {
    let mut program = Loop::learned_by(true);
    let version = program.played.version;
    program.played.says(&execute(1, 2));
    let asked = program.played.asked();
    let [Ask::Open { id, cursor: outer, ahead, .. }] = &asked[..] else { panic!("{asked:?}") };
    let question = Question { items: vec![23], room: 64, rows: 0 };
    assert_eq!(ahead[0].question, Some(question.clone()));
    let (id, outer, rule) = (*id, *outer, ahead[0].rule);
    program.played.replies(id, &[made(1)]);
    program.played.answers(1);
    program.fetch(2, outer, &[101, 102, 103]);
    let answered =
        Answered { question, opened: told_counts(77, 0, version), ended: told_counts(77, 1, version) };
    program.told_with(outer, rule, 101, 1_011, Some(answered));
    program.execute_inner(101);
    program.played.says(&counts(3));
    program.played.says(&fetch(3, 10));
    program.played.says(&counts(3));
    let mut decoder = ReplyDecoder::new(DecoderLimits::default());
    decoder.set_version(version);
    for request in [execute(1, 3), counts(3), fetch(3, 10), counts(3)] {
        decoder.expect(&request).unwrap();
    }
    decoder.feed(&std::mem::take(&mut program.played.output));
    let mut told = Vec::new();
    while let Some(answer) = decoder.next_reply().unwrap() {
        if let Reply::Response(response) = answer.reply {
            told.push((response.object, response.data));
        }
    }
    let told_of = |data: u8| (Handle(3), vec![data]);
    assert_eq!(told, [(Handle(1), Vec::new()), told_of(0), told_of(1)]);
    assert!(program.played.asked().iter().all(|ask| matches!(ask, Ask::AheadCredit { .. })));
    program.close(3);
}

/// A question that nobody has foreseen: the server is asked, after it has seen the execution too.
#[test]
fn the_server_sees_an_execution_that_it_is_asked_about() {
    let mut program = Loop::learned();
    let (outer, rule) = program.open_outer();
    program.told(outer, rule.expect("the rule is learned"), 101, 1_011);
    program.execute_inner(101);
    assert!(program.played.response().status.is_success());
    program.played.asked();
    program.played.says(&counts(3));
    let asked = program.played.asked();
    let relayed: Vec<_> = asked
        .iter()
        .filter_map(|ask| match ask {
            Ask::Relay { id, packet, .. } => Some((*id, packet[3])),
            _ => None,
        })
        .collect();
    let operations: Vec<u8> = relayed.iter().map(|(_, operation)| *operation).collect();
    assert_eq!(operations, [63, 67, 70], "op_execute, op_free_statement, op_info_sql: {asked:?}");
    program.played.replies(relayed[0].0, &[made(1)]);
    program.played.replies(relayed[2].0, &[Reply::Response(Response::data(Handle(3), vec![9]))]);
    assert_eq!(program.played.response().data, [9]);
    // Its rows are those that it has been answered with.
    program.played.says(&fetch(3, 10));
    assert_eq!(program.played.rows().0, [1_011]);
}

#[test]
fn an_execution_waits_for_its_result_so_long_and_no_longer() {
    let mut program = Loop::learned();
    let (outer, rule) = program.open_outer();
    program.execute_inner(101);
    let until = program.played.machine.wake_at().expect("its result is on its way");
    assert_eq!(until, program.site.limits().ahead_wait);
    program.played.machine.wake(until / 2);
    program.played.collect();
    assert!(!program.played.asked().iter().any(|ask| matches!(ask, Ask::Open { .. })));
    program.played.machine.wake(until);
    program.played.collect();
    let (id, cursor) = program.opening();
    assert_eq!(program.played.machine.wake_at(), None);
    // What comes too late answers nobody.
    program.told(outer, rule.expect("the rule is learned"), 101, 9_999);
    assert_eq!(program.played.output, b"");
    program.played.replies(id, &[made(1)]);
    assert!(program.played.response().status.is_success());
    program.fetch(3, cursor, &[1_011]);
}

/// Before a server that does not tell, what the text asks for decides.
#[test]
fn what_asks_for_the_time_is_not_run_ahead() {
    let mut program = Loop::learned();
    program.close(2);
    program.played.prepares(1, 4, "select a, current_timestamp from t where a = ?", 1);
    for number in [101, 102, 103] {
        program.open_outer();
        let Request::Execute(mut request) = execute(1, 4) else { unreachable!() };
        request.input_blr = format().to_blr();
        request.message = Some(parameter(number, program.played.version));
        program.played.says(&Request::Execute(request));
        let (id, cursor) = program.opening();
        program.played.replies(id, &[made(1)]);
        assert!(program.played.response().status.is_success());
        program.fetch(4, cursor, &[number]);
        program.close(4);
        program.close(2);
    }
    program.played.says(&execute(1, 2));
    let asked = program.played.asked();
    let [Ask::Open { ahead, .. }] = &asked[..] else { panic!("{asked:?}") };
    let texts: Vec<_> = ahead.iter().map(|ask| String::from_utf8_lossy(&ask.prepare).into_owned()).collect();
    assert!(texts.iter().all(|text| !text.contains("current_timestamp")), "{texts:?}");
}

/// Some drivers ask when they have fetched for the first time.
#[test]
fn what_is_asked_behind_the_first_fetch_is_asked_at_that_place() {
    let mut program = Loop::learned();
    program.close(2);
    let version = program.played.version;
    let mut executed = |number: i64, rows: &[i64], is_foreseen: bool| {
        program.execute_inner(number);
        let asked = program.played.asked();
        let opened = asked.iter().find_map(|ask| match ask {
            Ask::Open { id, cursor, question, .. } => Some((*id, *cursor, question.clone())),
            _ => None,
        });
        let (id, cursor, question) = opened.unwrap_or_else(|| panic!("{asked:?}"));
        assert_eq!(question.as_ref().map(|question| question.rows), is_foreseen.then_some(10));
        program.played.replies(id, &[made(1)]);
        assert!(program.played.response().status.is_success());
        program.played.says(&fetch(3, 10));
        let (packets, count) = (packets_of(rows, version), u32::try_from(rows.len()).unwrap());
        program.played.tell(Tell::Rows { cursor, packets, rows: count, end: Some(End::Complete) });
        assert_eq!(program.played.rows().0, rows);
        program.played.asked();
        program.played.says(&counts(3));
        let about = match question {
            Some(question) => {
                assert_eq!(program.played.asked(), [], "it is not asked twice");
                question.id
            }
            None => program.played.relayed(),
        };
        program.played.replies(about, &[Reply::Response(Response::data(Handle(3), vec![5]))]);
        assert_eq!(program.played.response().data, [5]);
        program.close(3);
    };
    executed(7, &[70], false);
    executed(8, &[80, 81], true);

    // An opening that fails has no rows: what is asked about it is asked for itself.
    program.execute_inner(9);
    let (id, _) = program.opening();
    program.played.replies(id, &[Reply::Response(Response::error(&Error::new(isc::DEADLOCK)))]);
    assert!(!program.played.response().status.is_success());
    program.played.says(&counts(3));
    program.played.relayed();
}

/// A write was answered as done, the server has run on behind it, and then it is told that it has failed: what was read in its transaction
/// answers nothing any more, and the program hears of the failure.
#[test]
fn what_was_run_ahead_behind_a_write_that_has_failed_answers_nothing() {
    for fails in [false, true] {
        let mut program = Loop::learned_at(false, Limits { optimistic_writes: true, ..Limits::default() });
        let (outer, rule) = program.open_outer();
        let rule = rule.expect("the rule is learned");
        program.played.says(&execute_immediately(1, "insert into u values (1)"));
        assert!(program.played.response().status.is_success());
        let asked = program.played.asked();
        let [Ask::Write { id, .. }] = asked[..] else { panic!("{asked:?}") };
        program.told(outer, rule, 101, 1_011);
        let failed = Response::error(&Error::new(isc::UNIQUE_KEY_VIOLATION));
        program.played.replies(id, &[if fails { Reply::Response(failed) } else { made(1) }]);
        program.execute_inner(101);
        let asked = program.played.asked();
        assert_eq!(asked.iter().any(|ask| matches!(ask, Ask::Open { .. })), fails, "{asked:?}");
    }
}
