//! RDB$PROFILER: what is counted of statements, lines and record sources, told apart by runs or not, here and in other attachments.

mod ddl_support;

use ddl_support::{Session, TestDatabase};

/// Routines to be profiled: INS stores the odd numbers up to N, each with its double, which MULT computes.
const ROUTINES: [&str; 4] = [
    "create table tab (id integer not null, val integer not null)",
    "create function mult (a integer, b integer) returns integer as
begin
  return a * b;
end",
    "create procedure ins (n integer) as
  declare i integer = 1;
begin
  while (i <= n) do
  begin
    if (mod(i, 2) = 1) then
      insert into tab values (:i, mult(:i, 2));
    i = i + 1;
  end
end",
    "create procedure own returns (s bigint) as
begin
  s = rdb$profiler.start_session('within');
  s = s + 1;
  execute procedure rdb$profiler.pause_session;
  s = s + 1;
  execute procedure rdb$profiler.resume_session;
  s = s - 2;
  execute procedure rdb$profiler.finish_session;
  suspend;
end",
];

/// The lines of all routines, with how often each was executed.
const LINES: &str = "select routine_name, line_num, column_num, counter from plg$prof_psql_stats_view \
    where profile_id = ? order by routine_name nulls last, line_num";

fn prepared() -> (TestDatabase, Session) {
    let (database, mut session) = TestDatabase::create();
    for text in ROUTINES {
        session.execute(text);
    }
    session.commit();
    (database, session)
}

fn start(session: &mut Session, arguments: &str) -> String {
    let id = session.rows(&format!("select rdb$profiler.start_session({arguments}) from rdb$database"));
    session.commit();
    id[0].clone()
}

fn of(text: &str, id: &str) -> String {
    text.replace('?', id)
}

#[test]
fn lines_and_record_sources_are_counted() {
    let (_database, mut session) = prepared();
    let id = start(&mut session, "'first'");
    session.execute(
        "execute block as begin\n  execute procedure ins(10);\n  delete from tab where id > 3;\nend",
    );
    session.execute("execute procedure rdb$profiler.finish_session");
    // Nobody listens any more.
    session.execute("execute procedure ins(10)");
    session.commit();
    assert_eq!(
        session.rows(&of(LINES, &id)),
        [
            "INS|2|3|1",
            "INS|4|3|11",
            "INS|6|5|10",
            "INS|7|7|5",
            "INS|8|5|10",
            "MULT|3|3|5",
            "NULL|2|3|1",
            "NULL|3|3|1"
        ]
    );
    let sources = "select record_source_id, parent_record_source_id, level, access_path, cursor_line_num, \
        open_counter, fetch_counter from plg$prof_record_source_stats_view where profile_id = ? order by 1";
    assert_eq!(
        session.rows(&of(sources, &id)),
        [
            "1|NULL|0|Select Expression (line 3, column 3)|3|1|4",
            "2|1|1|-> Filter|3|1|4",
            "3|2|2|-> Table \"TAB\" Full Scan|3|1|6",
        ]
    );
    let sessions = "select attachment_id - current_connection, user_name, description, \
        start_timestamp < finish_timestamp from plg$prof_sessions";
    assert_eq!(session.rows(sessions), ["0|SYSDBA|first|TRUE"]);
    assert_eq!(session.rows("select count(*), count(total_elapsed_time) from plg$prof_requests"), ["3|0"]);
    session.execute("delete from plg$prof_sessions");
    assert_eq!(session.rows("select count(*) from plg$prof_psql_stats"), ["0"]);
}

#[test]
fn runs_are_told_apart_where_that_is_asked_for() {
    let (_database, mut session) = prepared();
    start(&mut session, "'detailed', null, null, null, ' detailed_requests '");
    session.execute("execute procedure ins(4)");
    session.execute("execute procedure rdb$profiler.finish_session");
    session.commit();
    let runs = "select s.statement_type, s.routine_name, c.routine_name, count(*), min(r.total_elapsed_time) > 0 \
        from plg$prof_requests r \
        join plg$prof_statements s on s.statement_id = r.statement_id \
        left join plg$prof_statements c on c.statement_id = r.caller_statement_id group by 1, 2, 3 order by 1, 2";
    assert_eq!(
        session.rows(runs),
        ["BLOCK|NULL|NULL|1|TRUE", "FUNCTION|MULT|INS|2|TRUE", "PROCEDURE|INS|NULL|1|TRUE"]
    );
}

#[test]
fn a_routine_may_begin_pause_and_end_a_session_itself() {
    let (_database, mut session) = prepared();
    let id = session.rows("select s from own")[0].clone();
    session.commit();
    // Neither the line that begins a session is a part of it, nor those that go on with it and end it.
    assert_eq!(session.rows(&of(LINES, &id)), ["OWN|4|3|1", "OWN|5|3|1", "OWN|8|3|1"]);
}

#[test]
fn what_is_written_is_added_to_what_was_written_before() {
    let (_database, mut session) = prepared();
    let id = start(&mut session, "");
    for _ in 0..3 {
        session.execute("execute procedure ins(2)");
        session.execute("execute procedure rdb$profiler.flush");
    }
    session.execute("execute procedure ins(2)");
    session.execute("execute procedure rdb$profiler.discard");
    session.commit();
    let counted = session.rows(&of(LINES, &id));
    assert_eq!(counted, ["INS|2|3|3", "INS|4|3|9", "INS|6|5|6", "INS|7|7|3", "INS|8|5|6", "MULT|3|3|3"]);
    assert_eq!(session.rows("select finish_timestamp from plg$prof_sessions"), ["NULL"]);
}

#[test]
fn local_routines_texts_and_autonomous_transactions_are_told_of() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (id integer)");
    session.execute(
        "create procedure p as
  declare function f (n integer) returns integer as begin
    return n + 1;
  end
begin
  in autonomous transaction do
    insert into t values (f(1));
  execute statement 'update t set id = id + 1';
end",
    );
    session.commit();
    start(&mut session, "");
    session.execute("execute procedure p");
    session.execute("execute procedure rdb$profiler.finish_session");
    session.commit();
    let lines = "select routine_name, parent_routine_name, line_num, counter from plg$prof_psql_stats_view \
        order by line_num";
    assert_eq!(session.rows(lines), ["F|P|3|1", "P|NULL|6|1", "P|NULL|7|1", "P|NULL|8|1"]);
    let sources = "select sql_text, access_path, fetch_counter from plg$prof_record_source_stats_view \
        where level = 1";
    assert_eq!(session.rows(sources), ["update t set id = id + 1|-> Table \"T\" Full Scan|1"]);
}

#[test]
fn other_attachments_of_the_same_user_can_be_profiled() {
    let (database, mut session) = prepared();
    let mut other = database.attach("SYSDBA", None);
    let number = other.rows("select current_connection from rdb$database")[0].clone();
    let id = start(&mut session, &format!("'other', null, {number}"));
    session.execute("execute procedure ins(2)");
    session.commit();
    other.execute("execute procedure ins(4)");
    other.commit();
    session.execute(&format!("execute procedure rdb$profiler.finish_session(true, {number})"));
    session.commit();
    let profiled = session.rows(&format!("select attachment_id - {number} from plg$prof_sessions"));
    assert_eq!(profiled, ["0"]);
    assert_eq!(session.rows(&of(LINES, &id))[1], "INS|4|3|5");
    let mut stranger = database.attach("BOB", None);
    let refused = stranger.error(&format!("execute procedure rdb$profiler.cancel_session({number})"));
    assert!(refused.contains("PROFILE_ANY_ATTACHMENT"), "{refused}");
    // The tables are everybody's.
    assert_eq!(stranger.rows("select description from plg$prof_sessions"), ["other"]);
    let refused = session.error("execute procedure rdb$profiler.flush(99999)");
    assert!(refused.contains("attachment is not active"), "{refused}");
}

#[test]
fn nothing_is_made_and_nothing_is_kept_without_a_session() {
    let (_database, mut session) = prepared();
    session.execute("execute procedure rdb$profiler.flush");
    session.execute("execute procedure rdb$profiler.resume_session");
    session.execute("execute procedure rdb$profiler.finish_session");
    session.execute("execute procedure ins(4)");
    let made = "select count(*) from rdb$relations where rdb$relation_name starting with 'PLG$'";
    assert_eq!(session.rows(made), ["0"]);
}
