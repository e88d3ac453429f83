//! Statements: deferred replies, batches of rows, rows of single-row statements, transactions as SQL.

use std::sync::Arc;

use farbird_types::{Value, isc};
use farbird_wire::info::{StatementInformation, sql};
use farbird_wire::message::{MessageFormat, MessageType};
use farbird_wire::packet::{Execute2, ExecuteImmediate2, Output, Reply, Request, StatementText};
use farbird_wire::protocol::{Handle, prepare_reply};

use crate::common::client::check;
use crate::common::{Client, Prepared, TestServer};

/// A database with the table T (ID, NAME) of so many rows.
fn with_rows(server: &TestServer, count: u32) -> Client {
    let mut client = server.create("t.fbd");
    client.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20))");
    if count > 0 {
        client.run(&format!(
            "EXECUTE BLOCK AS DECLARE I INTEGER = 0; BEGIN WHILE (I < {count}) DO BEGIN I = I + 1;
             INSERT INTO T VALUES (:I, 'row ' || :I); END END"
        ));
    }
    client
}

#[test]
fn a_deferred_reply_travels_with_the_next_one() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    let transaction = client.start();
    for _ in 0..5 {
        // In two writes, so that the server could answer the first by itself.
        client.send(&[Request::AllocateStatement(Handle::NONE)]);
        let text = client.text(transaction, Handle::LATEST, "SELECT ID FROM T");
        client.send(&[Request::Prepare(text)]);
        let reads = client.counters.receive_packets;
        let handle = client.response().unwrap().object;
        let response = client.response().unwrap();
        assert_eq!(client.counters.receive_packets, reads + 1, "both replies came with one read");
        let statement = client.prepared(handle, &response);
        assert_eq!(statement.flags, prepare_reply::DEFER_EXECUTE);
        client.drop_statement(&statement);
    }
}

#[test]
fn rows_come_in_batches_as_large_as_asked_with_their_end_markers() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 25);
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT ID, NAME FROM T ORDER BY ID").unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    let batches: Vec<_> = (0..3).map(|_| client.fetch(&statement, 10).unwrap()).collect();
    let sizes: Vec<_> = batches.iter().map(|batch| (batch.rows.len(), batch.is_end)).collect();
    assert_eq!(sizes, [(10, false), (10, false), (5, true)]);
    assert_eq!(batches[2].rows[4], [Value::integer(25), Value::text("row 25")]);
    for _ in 0..2 {
        let error = client.fetch(&statement, 10).unwrap_err();
        assert!(error.has(isc::REQ_SYNC), "{error}");
    }
    client.close_cursor(&statement).unwrap();
    let error = client.fetch(&statement, 10).unwrap_err();
    assert!(error.has(isc::DSQL_CURSOR_ERR), "{error}");
    let error = client.close_cursor(&statement).unwrap_err();
    assert!(error.has(isc::DSQL_CURSOR_CLOSE_ERR), "{error}");
    // The statement is still prepared.
    client.execute(transaction, &statement, &[]).unwrap();
    assert_eq!(client.fetch(&statement, 100).unwrap().rows.len(), 25);
}

#[test]
fn everything_from_prepare_to_the_last_row_may_be_asked_at_once() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 25);
    let transaction = client.start();
    let known = client.prepare(transaction, "SELECT ID FROM T ORDER BY ID").unwrap();
    let text = client.text(transaction, Handle::LATEST, "SELECT ID FROM T ORDER BY ID");
    let latest = Prepared { handle: Handle::LATEST, ..known };
    let execute = client.execution(transaction, &latest, &[]);
    let fetch = client.fetch_request(&latest, 10);
    client.send(&[
        Request::AllocateStatement(Handle::NONE),
        Request::Prepare(text),
        Request::Execute(execute),
        Request::Fetch(fetch.clone()),
        Request::Fetch(fetch.clone()),
        Request::Fetch(fetch),
    ]);
    for _ in 0..3 {
        client.response().unwrap();
    }
    let sizes: Vec<_> = (0..3).map(|_| client.batch().unwrap()).map(|b| (b.rows.len(), b.is_end)).collect();
    assert_eq!(sizes, [(10, false), (10, false), (5, true)]);
}

/// Resident memory of this process in KiB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_large_result_is_streamed_not_collected() {
    const ROWS: usize = 100_000;
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    let transaction = client.start();
    let sql = format!(
        "EXECUTE BLOCK RETURNS (I INTEGER, TEXT VARCHAR(2000) CHARACTER SET ASCII) AS BEGIN I = 0; TEXT = RPAD('x', 2000, 'abcd');
         WHILE (I < {ROWS}) DO BEGIN I = I + 1; SUSPEND; END END"
    );
    let statement = client.prepare(transaction, &sql).unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    let before = resident();
    let mut most = 0;
    let mut rows = 0;
    loop {
        let batch = client.fetch(&statement, 1000).unwrap();
        for row in &batch.rows {
            rows += 1;
            assert_eq!(row[0], Value::integer(rows as i64));
        }
        most = most.max(resident());
        if batch.is_end {
            break;
        }
    }
    assert_eq!(rows, ROWS);
    // The result is 200 MB.
    let growth = most.saturating_sub(before);
    assert!(growth < 100_000, "the process grew by {growth} KiB");
}

#[test]
fn an_error_takes_the_place_of_the_row_that_has_it() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 25);
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT 1 / (20 - ID) FROM T ORDER BY ID").unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    assert_eq!(client.fetch(&statement, 10).unwrap().rows.len(), 10);
    let error = client.fetch(&statement, 100).unwrap_err();
    assert!(error.has(isc::EXCEPTION_INTEGER_DIVIDE_BY_ZERO), "{error}");
    client.ask(Request::Ping).unwrap();
}

#[test]
fn returning_gives_its_row_before_the_response() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 1);
    let transaction = client.start();
    let sql = "INSERT INTO T VALUES (?, ?) RETURNING ID + 1, NAME";
    let statement = client.prepare(transaction, sql).unwrap();
    let row = client.execute2(transaction, &statement, &[Value::integer(5), Value::text("five")]).unwrap();
    assert_eq!(row, Some(vec![Value::integer(6), Value::text("five")]));

    // A failure is announced by an empty row too.
    let execute = client.execution(transaction, &statement, &[Value::integer(5), Value::Null]);
    let output = Output::new(statement.output.clone());
    client.send(&[Request::Execute2(Execute2 { execute, output })]);
    let Reply::SqlResponse(row) = client.reply() else { panic!("the row comes first") };
    assert_eq!(row.message, None);
    let Reply::Response(response) = client.reply() else { panic!("then the response") };
    assert!(check(response).unwrap_err().has(isc::UNIQUE_KEY_VIOLATION));

    let nobody = client.prepare(transaction, "UPDATE T SET NAME = '' WHERE ID = 99 RETURNING ID").unwrap();
    if !nobody.has_cursor() {
        assert_eq!(client.execute2(transaction, &nobody, &[]).unwrap(), None);
    }
    client.ask(Request::Ping).unwrap();
}

/// op_exec_immediate2 with an input message and an output row.
fn immediate(
    client: &Client,
    transaction: Handle,
    sql: &str,
    like: &crate::common::Prepared,
    values: &[Value],
) -> Request {
    let execute = client.execution(transaction, like, values);
    Request::ExecuteImmediate2(ExecuteImmediate2 {
        input_blr: execute.input_blr,
        message_number: 0,
        message: execute.message,
        output: Output::new(like.output.clone()),
        inline_blob_bytes: 0,
        text: StatementText { items: Vec::new(), ..client.text(transaction, Handle::NONE, sql) },
    })
}

#[test]
fn a_statement_is_prepared_and_executed_in_one_go() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    let transaction = client.start();
    let sql = "INSERT INTO T VALUES (?, ?) RETURNING ID";
    let like = client.prepare(transaction, sql).unwrap();
    let request = immediate(&client, transaction, sql, &like, &[Value::integer(7), Value::Null]);
    client.send(std::slice::from_ref(&request));
    let Reply::SqlResponse(row) = client.reply() else { panic!("the row comes first") };
    assert_eq!(row.message.unwrap().values().unwrap(), [Value::integer(7)]);
    assert_eq!(client.response().unwrap().object, transaction);
    client.send(&[request]);
    let Reply::SqlResponse(row) = client.reply() else { panic!("an empty row announces the failure") };
    assert_eq!(row.message, None);
    assert!(client.response().unwrap_err().has(isc::UNIQUE_KEY_VIOLATION));
}

#[test]
fn transactions_begin_and_end_as_sql() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    let transaction = client.run_in(Handle::NONE, "SET TRANSACTION READ COMMITTED WAIT").unwrap().object;
    assert_ne!(transaction, Handle::NONE);
    client.run_in(transaction, "INSERT INTO T VALUES (1, 'one')").unwrap();
    assert_eq!(client.run_in(transaction, "COMMIT").unwrap().object, Handle::NONE);
    assert_eq!(client.ask(Request::Commit(transaction)).unwrap_err().gds_code(), isc::BAD_TRANS_HANDLE);
    let transaction = client.run_in(Handle::NONE, "SET TRANSACTION").unwrap().object;
    client.run_in(transaction, "INSERT INTO T VALUES (2, 'two')").unwrap();
    assert_eq!(client.run_in(transaction, "ROLLBACK").unwrap().object, Handle::NONE);
    assert_eq!(client.value("SELECT COUNT(*) FROM T"), Value::integer(1));
}

#[test]
fn retaining_keeps_the_handle() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    let transaction = client.start();
    client.run_in(transaction, "INSERT INTO T VALUES (1, 'one')").unwrap();
    client.ask(Request::CommitRetaining(transaction)).unwrap();
    client.run_in(transaction, "INSERT INTO T VALUES (2, 'two')").unwrap();
    client.ask(Request::RollbackRetaining(transaction)).unwrap();
    let rows = client.query_in(transaction, "SELECT ID FROM T", &[]).unwrap();
    assert_eq!(rows, [[Value::integer(1)]]);
    client.rollback(transaction);
}

#[test]
fn wrong_handles_are_errors() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    let transaction = client.start();
    let text = client.text(transaction, Handle(4711), "SELECT 1 FROM RDB$DATABASE");
    assert_eq!(client.ask(Request::Prepare(text)).unwrap_err().gds_code(), isc::BAD_STMT_HANDLE);
    let text = client.text(transaction, transaction, "SELECT 1 FROM RDB$DATABASE");
    assert_eq!(client.ask(Request::Prepare(text)).unwrap_err().gds_code(), isc::BAD_STMT_HANDLE);
    assert_eq!(client.ask(Request::Rollback(Handle(99))).unwrap_err().gds_code(), isc::BAD_TRANS_HANDLE);
    assert_eq!(client.ask(Request::CloseBlob(Handle(99))).unwrap_err().gds_code(), isc::BAD_SEGSTR_HANDLE);
    assert_eq!(client.value("SELECT 1 FROM RDB$DATABASE"), Value::integer(1));
}

/// op_execute2 with a format for its row gives one row of whatever has rows, or says why not.
#[test]
fn a_single_row_is_wanted_of_a_statement_with_a_cursor() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 2);
    let transaction = client.start();
    let mut one = |sql: &str| {
        let statement = client.prepare(transaction, sql).unwrap();
        let row = client.execute2(transaction, &statement, &[]);
        client.drop_statement(&statement);
        row.map_err(|error| error.gds_code())
    };
    let given = Ok(Some(vec![Value::integer(1)]));
    assert_eq!(one("SELECT ID FROM T WHERE ID = 1"), given);
    assert_eq!(one("SELECT ID FROM T WHERE ID = 9"), Err(isc::STREAM_EOF));
    assert_eq!(one("SELECT ID FROM T"), Err(isc::SING_SELECT_ERR));
    assert_eq!(one("UPDATE T SET ID = 1 WHERE ID = 1 RETURNING ID"), given);
    assert_eq!(one("UPDATE T SET ID = 9 WHERE ID = 9 RETURNING ID"), Err(isc::STREAM_EOF));
    let block = |body: &str| format!("EXECUTE BLOCK RETURNS (N INTEGER) AS BEGIN N = 1; {body} END");
    assert_eq!(one(&block("SUSPEND;")), given);
    assert_eq!(one(&block("IF (1 = 0) THEN SUSPEND;")), Err(isc::STREAM_EOF));
    assert_eq!(one(&block("SUSPEND; SUSPEND;")), Err(isc::SING_SELECT_ERR));
    assert_eq!(one(&block("SUSPEND; N = 1 / 0;")), Err(isc::ARITH_EXCEPT));
    // What a failed one has done is undone.
    let insert = "INSERT INTO T VALUES (50, 'x');";
    assert_eq!(one(&block(&format!("{insert} IF (1 = 0) THEN SUSPEND;"))), Err(isc::STREAM_EOF));
    assert_eq!(one("SELECT ID FROM T WHERE ID = 50"), Err(isc::STREAM_EOF));
}

/// A cursor's name is like any name of SQL: in capitals unless it stands in quotes.
#[test]
fn a_cursor_is_found_by_its_name() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 3);
    let transaction = client.start();
    let statement = client.prepare(transaction, "SELECT ID FROM T ORDER BY ID FOR UPDATE").unwrap();
    let name = |client: &mut Client, name: &str| {
        let name = [name.as_bytes(), b"\0"].concat();
        client.ask(Request::SetCursor { statement: statement.handle, name, kind: 0 })
    };
    let delete = |client: &mut Client, cursor: &str| {
        let sql = format!("UPDATE T SET NAME = NAME || '!' WHERE CURRENT OF {cursor}");
        client.run_in(transaction, &sql).map_err(|error| error.gds_code())
    };
    for (given, found, not_found) in
        [("mine", "MINE", "\"mine\""), ("\"a \"\"b\"", "\"a \"\"b\"", "A"), ("c of 4 ", "c", "D")]
    {
        name(&mut client, given).unwrap();
        client.execute(transaction, &statement, &[]).unwrap();
        assert_eq!(client.fetch(&statement, 1).unwrap().rows.len(), 1);
        delete(&mut client, found).unwrap();
        assert!(delete(&mut client, not_found).is_err());
        // While it is open the cursor keeps its name; the same once more is no change.
        name(&mut client, given).unwrap();
        let error = name(&mut client, "other").unwrap_err();
        assert!(error.has(isc::DSQL_CURSOR_REDEFINED), "{error}");
        client.close_cursor(&statement).unwrap();
    }
    let error = name(&mut client, "").unwrap_err();
    assert!(error.has(isc::DSQL_CURSOR_INVALID), "{error}");
    client.commit(transaction);
    assert_eq!(client.value("SELECT NAME FROM T WHERE ID = 1"), Value::text("row 1!!!"));
}

/// Values for a statement without parameters are passed over; else there must be as many as it has.
#[test]
fn surplus_values_are_firebirds_business() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 1);
    let transaction = client.start();
    for (sql, given, codes) in [
        ("SELECT ID FROM T", 1, &[][..]),
        ("UPDATE T SET NAME = 'x'", 3, &[]),
        ("SAVEPOINT A", 1, &[]),
        ("SELECT ID FROM T WHERE ID = ?", 1, &[]),
        (
            "SELECT ID FROM T WHERE ID = ?",
            0,
            &[isc::DSQL_ERROR, isc::DSQL_SQLDA_ERR, isc::DSQL_NO_INPUT_SQLDA],
        ),
        (
            "SELECT ID FROM T WHERE ID = ?",
            2,
            &[isc::DSQL_ERROR, isc::DSQL_SQLDA_ERR, isc::DSQL_WRONG_PARAM_NUM],
        ),
        (
            "DELETE FROM T WHERE ID > ? + ?",
            1,
            &[isc::DSQL_ERROR, isc::DSQL_SQLDA_ERR, isc::DSQL_WRONG_PARAM_NUM],
        ),
    ] {
        let statement = client.prepare(transaction, sql).unwrap();
        let types = vec![MessageType::Long { scale: 0 }; given];
        let input = (given > 0).then(|| Arc::new(MessageFormat::from_columns(types)));
        let statement = Prepared { input, ..statement };
        let result = client.execute(transaction, &statement, &vec![Value::integer(1); given]);
        let got: Vec<_> =
            result.err().iter().flat_map(|error| error.items()).map(|item| item.gds_code).collect();
        assert_eq!(got, codes, "{sql} with {given}");
        client.drop_statement(&statement);
    }
}

/// The alias of a column's table is the name that the query gave it: none if it gave none.
#[test]
fn columns_are_described_with_the_alias_of_their_table() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 1);
    client.run("CREATE VIEW W (A) AS SELECT ID FROM T");
    let transaction = client.start();
    let items = [
        sql::SELECT,
        sql::DESCRIBE_VARS,
        sql::SQLDA_SEQ,
        sql::FIELD,
        sql::RELATION,
        sql::RELATION_ALIAS,
        sql::ALIAS,
        sql::DESCRIBE_END,
    ];
    for (query, described) in [
        ("SELECT ID FROM T", "ID T  ID"),
        ("SELECT T.ID FROM T", "ID T  ID"),
        ("SELECT X.ID AS N FROM T X", "ID T X N"),
        ("SELECT A.NN FROM (SELECT ID NN FROM T) A", "ID T A NN"),
        ("SELECT K FROM (SELECT 1 K FROM T) A", "CONSTANT  A K"),
        ("SELECT ID FROM (SELECT ID FROM T)", "ID T  ID"),
        ("WITH C AS (SELECT ID, 5 AS FIVE FROM T) SELECT FIVE FROM C", "CONSTANT  C FIVE"),
        ("WITH C AS (SELECT ID, 5 AS FIVE FROM T) SELECT Z.ID FROM C Z", "ID T Z ID"),
        ("WITH A AS (SELECT ID FROM T), B AS (SELECT ID FROM A) SELECT ID FROM B", "ID T B ID"),
        ("SELECT A FROM W", "A W  A"),
        ("SELECT Q.A FROM W Q", "A W Q A"),
        ("SELECT COUNT(*) FROM T", "COUNT   COUNT"),
        ("SELECT 1 FROM T X", "CONSTANT   CONSTANT"),
        ("UPDATE T SET ID = 1 RETURNING NEW.ID", "ID T NEW ID"),
        ("UPDATE T SET ID = 1 RETURNING ID AS R", "ID T  R"),
        ("SELECT ID FROM T UNION SELECT ID FROM T X", "ID T  ID"),
    ] {
        let statement = client.prepare(transaction, query).unwrap();
        let information = client.information(statement.handle, &items);
        let reply = client.ask(Request::StatementInformation(information)).unwrap().data;
        let mut read = StatementInformation::default();
        read.read(&reply).unwrap();
        let variable = &read.outputs[0];
        let texts = [&variable.field, &variable.relation, &variable.relation_alias, &variable.alias];
        let texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
        assert_eq!(texts.join(" "), described, "{query}");
    }
}

/// With isc_tpb_autocommit a selectable procedure's work is committed row by row, as it goes.
#[test]
fn a_running_procedure_is_committed_where_it_stops() {
    let server = TestServer::start();
    let mut client = with_rows(&server, 0);
    client.run(
        "CREATE PROCEDURE P RETURNS (N INTEGER) AS BEGIN N = 0;
         WHILE (N < 4) DO BEGIN N = N + 1; INSERT INTO T (ID) VALUES (:N); SUSPEND; END END",
    );
    let mut other = server.attach("t.fbd");
    let mut others_see = || match other.value("SELECT COUNT(*) FROM T") {
        Value::Integer { unscaled, .. } => unscaled,
        count => panic!("{count:?}"),
    };
    // SNAPSHOT, and committing by itself.
    let transaction = client.start_with(&[3, 2, 16]);
    for query in ["SELECT N FROM P", "SELECT N FROM P ORDER BY N"] {
        client.run_in(transaction, "DELETE FROM T").unwrap();
        let statement = client.prepare(transaction, query).unwrap();
        client.execute(transaction, &statement, &[]).unwrap();
        for fetched in 1..=4 {
            assert_eq!(client.fetch(&statement, 1).unwrap().rows, [[Value::integer(fetched)]]);
            client.ask(Request::Ping).unwrap();
            let seen = others_see();
            // The next row may have been fetched ahead; a sort fetches them all.
            assert!((fetched..=4).contains(&seen), "{query}: {seen} after row {fetched}");
        }
        assert!(client.fetch(&statement, 1).unwrap().is_end);
        client.drop_statement(&statement);
    }
    let statement = client.prepare(transaction, "UPDATE T SET ID = ID + 10 RETURNING ID").unwrap();
    client.execute(transaction, &statement, &[]).unwrap();
    assert_eq!(client.fetch(&statement, 10).unwrap().rows.len(), 4);
    client.rollback(transaction);
    assert_eq!(client.value("SELECT MIN(ID) FROM T"), Value::integer(11));
}
