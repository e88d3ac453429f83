//! Trace sessions: what they show, to whom, and that nobody waits for who reads them.

use farbird_types::{Error, Value, isc};
use farbird_wire::clumplet::spb::{self, trace};
use farbird_wire::packet::{BufferLength, Request};
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};
use crate::services::{login, manager};

/// Everything about the databases, whatever time it takes.
const EVERYTHING: &str = "database\n{\n enabled = true\n log_initfini = false\n log_connections = true\n \
    log_transactions = true\n log_statement_prepare = true\n log_statement_free = true\n \
    log_statement_start = true\n log_statement_finish = true\n log_procedure_start = true\n \
    log_procedure_finish = true\n log_function_start = true\n log_function_finish = true\n \
    log_trigger_start = true\n log_trigger_finish = true\n log_context = true\n log_errors = true\n \
    print_plan = true\n print_perf = true\n time_threshold = 0\n max_sql_length = 0\n}\n";

/// Starts a service with texts and numbers as arguments.
fn start(client: &mut Client, action: u8, texts: &[(u8, &str)], number: Option<u32>) -> Result<(), Error> {
    let mut block = vec![action];
    for (tag, text) in texts {
        block.push(*tag);
        block.extend((text.len() as u16).to_le_bytes());
        block.extend(text.as_bytes());
    }
    if let Some(number) = number {
        block.push(trace::ID);
        block.extend(number.to_le_bytes());
    }
    client.ask(Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb: block }).map(|_| ())
}

/// What a service says within a second; `None` when it has ended.
fn said(client: &mut Client) -> Option<String> {
    let answer = client.ask(Request::ServiceInformation {
        service: Handle::NONE,
        incarnation: 0,
        send_items: vec![spb::info::TIMEOUT, 4, 0, 1, 0, 0, 0],
        receive_items: vec![spb::info::TO_EOF],
        buffer_length: BufferLength(60_000),
    });
    let answer = answer.unwrap().data;
    let length = usize::from(u16::from_le_bytes([answer[1], answer[2]]));
    let text = String::from_utf8_lossy(&answer[3..3 + length]).into_owned();
    let goes_on = answer[3 + length..].iter().any(|item| [2, 4].contains(item));
    (goes_on || !text.is_empty()).then_some(text)
}

/// What a service says until `end` is in it.
pub(crate) fn said_until(client: &mut Client, end: &str) -> String {
    let mut text = String::new();
    while !text.contains(end) {
        text += &said(client).unwrap_or_else(|| panic!("it has ended without {end}: {text}"));
    }
    text
}

/// What a service says in all.
fn said_in_all(client: &mut Client) -> String {
    std::iter::from_fn(|| said(client)).collect()
}

/// A session that shows what a configuration asks for, and its number.
fn session(server: &TestServer, login: &Login, configuration: &str) -> (Client, u32) {
    let (client, number, _) = begun(server, login, configuration);
    (client, number)
}

/// The same, with what it has said so far.
fn begun(server: &TestServer, login: &Login, configuration: &str) -> (Client, u32, String) {
    let mut client = manager(server, login);
    let texts = [(trace::NAME, "mine"), (trace::CFG, configuration)];
    start(&mut client, spb::action::TRACE_START, &texts, None).unwrap();
    let first = said_until(&mut client, "started\n");
    let number = first.strip_prefix("Trace session ID ").unwrap().split(' ').next().unwrap();
    let number = number.parse().unwrap();
    (client, number, first)
}

/// What a service about a session says.
fn about(server: &TestServer, login: &Login, action: u8, number: Option<u32>) -> String {
    let mut client = manager(server, login);
    start(&mut client, action, &[], number).unwrap();
    said_in_all(&mut client)
}

/// Records without their times, numbers and addresses; equal pieces have short names.
fn without_figures(text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut lines = Vec::new();
    for line in text.lines() {
        let line = match line.split_once(") ") {
            Some((head, action)) if head.contains("(") && head.starts_with("20") => action.to_owned(),
            _ if line.contains(" (ATT_") => "<attachment>".to_owned(),
            _ => line.to_owned(),
        };
        let line = match line.split_once("(TRA_") {
            Some((before, rest)) => format!("{before}(TRA{}", rest.trim_start_matches(is_digit)),
            None => line,
        };
        let line = match line.strip_prefix("Statement ") {
            Some(rest) => format!("Statement{}", rest.trim_start_matches(is_digit)),
            None => line,
        };
        // What was done with pages depends on what was in memory.
        let line = match line.split_once(" ms") {
            Some((figure, rest)) if figure.trim_start().chars().all(is_digit) => match rest {
                "" => "ms".to_owned(),
                rest if rest.starts_with(", ") && (rest.ends_with("(s)") || rest.ends_with("(es)")) => {
                    "ms".to_owned()
                }
                _ => line,
            },
            _ => line,
        };
        let line = line.replace(&"-".repeat(79), "-79-").replace(&"^".repeat(79), "^79^");
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[test]
fn statements_routines_and_transactions_are_shown_as_firebird_shows_them() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N NUMERIC(9, 2))");
    client.run(
        "CREATE TRIGGER TT FOR T BEFORE INSERT AS BEGIN NEW.N = 1.5; \
         RDB$SET_CONTEXT('USER_TRANSACTION', 'K', 'v'); END",
    );
    client.run("CREATE FUNCTION F (X INTEGER) RETURNS VARCHAR(5) AS BEGIN RETURN X; END");
    client.run("CREATE PROCEDURE P (A INTEGER) RETURNS (B INTEGER) AS BEGIN B = A; SUSPEND; END");
    let (mut reader, _) = session(&server, &Login::default(), EVERYTHING);
    let transaction = client.start_with(&[3, 15, 17, 7, 9]);
    let insert = client.prepare(transaction, "INSERT INTO T (ID) VALUES (?)").unwrap();
    client.execute(transaction, &insert, &[Value::integer(7)]).unwrap();
    client.execute(transaction, &insert, &[Value::integer(7)]).unwrap_err();
    client.drop_statement(&insert);
    assert_eq!(client.query_in(transaction, "SELECT F(B) FROM P(5)", &[]).unwrap().len(), 1);
    assert!(client.prepare(transaction, "SELECT * FROM NOPE").is_err());
    client.commit(transaction);
    client.ask(Request::Detach(Handle::NONE)).unwrap();
    let text = without_figures(&said_until(&mut reader, "DETACH_DATABASE"));
    // The last record may have come in part.
    let (text, _) = text.split_once("DETACH_DATABASE").unwrap();
    assert_eq!(text.trim_end(), include_str!("traces/statements.txt").trim_end(), "\n{text}");
}

#[test]
fn users_see_themselves_owners_their_databases_and_administrators_everything() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("CREATE USER ANA PASSWORD 'first'");
    client.run("CREATE USER BOB PASSWORD 'second'");
    let (ana, bob) = (login("ana", "first"), login("bob", "second"));
    let (mut of_ana, number) = session(&server, &ana, EVERYTHING);
    let (mut of_all, number_of_all) = session(&server, &Login::default(), EVERYTHING);
    let run_as = |login: &Login, sql: &str| {
        let mut client = Client::log_in(server.address, login).unwrap();
        client.attach("t.fbd", &[]).unwrap();
        client.query(sql);
        client.ask(Request::Detach(Handle::NONE)).unwrap();
    };
    run_as(&bob, "SELECT 'of bob' FROM RDB$DATABASE");
    client.run("CREATE USER CARL PASSWORD 'third'");
    run_as(&ana, "SELECT 'of ana' FROM RDB$DATABASE");
    let seen = said_until(&mut of_ana, "DETACH_DATABASE");
    assert!(seen.contains("of ana") && !seen.contains("of bob") && !seen.contains("CARL"), "{seen}");
    assert!(seen.contains("\tt.fbd (ATT_"), "where a database lies is for administrators: {seen}");
    let all = said_until(&mut of_all, "of ana");
    assert!(all.contains("of bob") && all.contains("CREATE USER CARL PASSWORD '***'"), "{all}");
    let folder = server.data().display().to_string();
    assert!(all.contains(&format!("\t{folder}/t.fbd (ATT_")), "{all}");
    // Sessions are their users' to list, suspend and stop.
    use spb::action::{TRACE_LIST, TRACE_RESUME, TRACE_STOP, TRACE_SUSPEND};
    assert_eq!(about(&server, &bob, TRACE_LIST, None), "");
    let listed = about(&server, &ana, TRACE_LIST, None);
    assert!(listed.contains(&format!("Session ID: {number}\n  name:  mine\n  user:  ANA\n")), "{listed}");
    assert!(listed.contains("  flags: active, trace\n") && !listed.contains("SYSDBA"), "{listed}");
    assert!(about(&server, &Login::default(), TRACE_LIST, None).contains("user:  ANA"));
    let denied = "No permissions to change other user trace session\n";
    assert_eq!(about(&server, &bob, TRACE_SUSPEND, Some(number)), denied);
    let denied = "No permissions to stop other user trace session\n";
    assert_eq!(about(&server, &ana, TRACE_STOP, Some(number_of_all)), denied);
    assert_eq!(about(&server, &ana, TRACE_STOP, Some(99)), "Trace session ID 99 not found\n");
    // Nothing is shown while it is suspended.
    let paused = format!("Trace session ID {number} paused\n");
    assert_eq!(about(&server, &ana, TRACE_SUSPEND, Some(number)), paused);
    assert!(about(&server, &ana, TRACE_LIST, None).contains("  flags: suspend, trace\n"));
    run_as(&ana, "SELECT 'unseen' FROM RDB$DATABASE");
    let resumed = format!("Trace session ID {number} resumed\n");
    assert_eq!(about(&server, &ana, TRACE_RESUME, Some(number)), resumed);
    run_as(&ana, "SELECT 'seen again' FROM RDB$DATABASE");
    assert!(!said_until(&mut of_ana, "seen again").contains("unseen"));
    // Who reads it is told the rest, and the end.
    let stopped = format!("Trace session ID {number} stopped\n");
    assert_eq!(about(&server, &Login::default(), TRACE_STOP, Some(number)), stopped);
    said_in_all(&mut of_ana);
    assert_eq!(about(&server, &ana, TRACE_LIST, None), "");
    // A session ends with the connection that reads it.
    drop(of_all);
    while !about(&server, &Login::default(), TRACE_LIST, None).is_empty() {}
}

#[test]
fn a_slow_reader_holds_nobody_up_and_is_told_what_it_misses() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let configuration = "database = %[\\\\/]t.fbd\n{\n enabled = true\n log_statement_prepare = true\n \
                         max_sql_length = 0\n}\n";
    let (mut reader, number) = session(&server, &Login::default(), configuration);
    let long = format!("SELECT '{}' FROM RDB$DATABASE", "x".repeat(30_000));
    for _ in 0..200 {
        let transaction = client.start();
        let statement = client.prepare(transaction, &long).unwrap();
        client.drop_statement(&statement);
        client.rollback(transaction);
    }
    let listed = about(&server, &Login::default(), spb::action::TRACE_LIST, None);
    assert!(listed.contains("  flags: active, trace, log full\n"), "{listed}");
    let notice = format!("\n--- Session {number} is suspended as its log is full ---\n");
    let text = said_until(&mut reader, &notice);
    assert!(text.matches("PREPARE_STATEMENT").count() < 200);
    // What comes now has room again.
    client.query("SELECT 'after' FROM RDB$DATABASE");
    said_until(&mut reader, "'after'");
}

#[test]
fn filters_and_thresholds_choose_what_is_shown() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let shown = |elements: &str, end: &str, client: &mut Client| {
        let start = "database = t.fbd\n{\n enabled = true\n log_initfini = false\n log_errors = true\n";
        let rest = "log_statement_prepare = true\n log_statement_finish = true\n}\n";
        let (mut reader, _) = session(&server, &Login::default(), &format!("{start}{elements}\n{rest}"));
        for sql in ["SELECT 1 FROM RDB$DATABASE", "SELECT 22 FROM MON$DATABASE"] {
            client.query(sql);
        }
        client.try_run("SELECT X FROM NOPE").unwrap_err();
        client.try_run("INSERT INTO NOPE VALUES (1)").unwrap_err();
        client.try_run("EXECUTE PROCEDURE LAST").unwrap_err();
        without_figures(&said_until(&mut reader, end))
    };
    let text = shown("include_filter = %(mon|last)%", "LAST", &mut client);
    assert!(text.contains("SELECT 22") && !text.contains("SELECT 1"), "{text}");
    assert!(!text.contains("EXECUTE_STATEMENT_FINISH"), "nothing took 100 ms: {text}");
    let text = shown("exclude_filter = SELECT%\ntime_threshold = 0", "LAST", &mut client);
    assert!(!text.contains("SELECT") && text.contains("INSERT INTO NOPE"), "{text}");
    let text =
        shown("exclude_gds_codes = dsql_error 335544321\nmax_sql_length = 10", "EXECUTE...", &mut client);
    assert!(!text.contains("ERROR AT") && text.contains("-79-\nSELECT ...\n"), "{text}");
}

#[test]
fn a_session_with_a_wrong_configuration_tells_what_is_wrong_and_where() {
    let server = TestServer::start();
    let mut client = manager(&server, &Login::default());
    let mut told = |configuration: &str| {
        let (mut reader, number, first) = begun(&server, &Login::default(), configuration);
        start(&mut client, spb::action::TRACE_STOP, &[], Some(number)).unwrap();
        said_in_all(&mut client);
        first + &said_in_all(&mut reader)
    };
    for (configuration, what) in [
        ("dtabase\n{\n}\n", "line 1: wrong section header, \"database\" or \"service\" is expected"),
        (
            "database\n{\n enabled = maybe\n}\n",
            "line 3, element \"enabled\": \"maybe\" is not a valid boolean value",
        ),
        ("database\n{\n enabled = true\n foo = 1\n}\n", "line 4: element \"foo\" is unknown"),
        ("database\n{\n enabled\n}\n", "line 3: element \"enabled\" have no attribute value set"),
        ("database\n{\n max_sql_length = x\n}\n", "\"x\" is not a valid integer value"),
        ("database = %[(\n{\n}\n", "line 1: error while compiling regular expression \"%[(\""),
        ("database\n{\n}\ndatabase\n{\n}\n", "line 4: second default database section is not allowed"),
        ("services\n{\n log_sweep = true\n}\n", "line 3: element \"log_sweep\" is unknown"),
        ("database\n{\n log_sweep = true\n}\n", "line 3: element \"log_sweep\" is not supported"),
        ("database\n{\n enabled = true\n", "illegal line <missed closing bracket '}'>"),
        ("database", "Trace parameters are not present"),
    ] {
        let message = told(configuration);
        assert!(message.contains(what), "{configuration}: {message}");
    }
    let error = start(&mut client, spb::action::TRACE_START, &[], None).unwrap_err();
    assert_eq!(error.gds_code(), isc::BAD_SPB_FORM);
    let error = start(&mut client, spb::action::TRACE_STOP, &[], None).unwrap_err();
    assert_eq!(error.gds_code(), isc::BAD_SPB_FORM);
}

/// Names of files need not be patterns of SIMILAR TO: a hyphen stands between two characters there, in brackets.
#[test]
fn a_database_is_said_by_its_name_too() {
    let server = TestServer::start();
    let mut client = server.create("app-1.fbd");
    let configuration = "database = app-1.fbd\n{\n enabled = true\n log_statement_prepare = true\n}\n";
    let (mut reader, _) = session(&server, &Login::default(), configuration);
    client.query("SELECT 22 FROM RDB$DATABASE");
    said_until(&mut reader, "SELECT 22");
}

#[test]
fn services_are_shown_without_the_reader_itself() {
    let server = TestServer::start();
    server.create("t.fbd");
    let configuration = "services\n{\n enabled = true\n log_initfini = false\n log_services = true\n \
                         log_service_query = true\n log_errors = true\n}\n";
    let (mut reader, number) = session(&server, &Login::default(), configuration);
    about(&server, &Login::default(), spb::action::TRACE_LIST, None);
    let mut client = manager(&server, &Login::default());
    start(&mut client, spb::action::DB_STATS, &[(spb::DBNAME, "none.fbd")], None).ok();
    said_in_all_or_error(&mut client);
    drop(client);
    about(&server, &Login::default(), spb::action::TRACE_STOP, Some(number));
    let text = said_in_all(&mut reader);
    let text = text.replace(|c: char| c.is_ascii_digit(), "");
    for (piece, times) in [
        (") ATTACH_SERVICE\n\tservice_mgr, (Service x", 3),
        (", SYSDBA, TCPv:.../)\n", 3),
        ("\t\"List Trace Sessions\"\n", 2),
        (" START_SERVICE\n", 2),
        ("\t\"Database Stats\"\n\tnone.fbd\n", 1),
        ("\t Send portion of the query:\n\t\t set timeout: \t Receive portion of the query:\n", 1),
    ] {
        assert!(text.matches(piece).count() >= times, "{piece}: {text}");
    }
    assert!(text.contains("ERROR AT JService::"), "{text}");
    assert!(!text.contains("\"Start Trace Session\""), "{text}");
}

/// Asks a service until it has ended or failed.
fn said_in_all_or_error(client: &mut Client) {
    let items = vec![spb::info::TO_EOF];
    for _ in 0..100 {
        let asked = client.ask(Request::ServiceInformation {
            service: Handle::NONE,
            incarnation: 0,
            send_items: Vec::new(),
            receive_items: items.clone(),
            buffer_length: BufferLength(1_000),
        });
        if asked.is_err() {
            return;
        }
    }
}
