//! SET BIND and its form for attaches: values go out and come in as the types that a client is shown.

use std::sync::Arc;

use farbird_types::convert::to_display_text;
use farbird_types::{Value, isc};
use farbird_wire::clumplet::dpb;
use farbird_wire::message::{MessageFormat, MessageType};
use farbird_wire::protocol::Handle;

use crate::common::{Client, Login, TestServer};

/// One value after some rules; a text for what is one, BLOBs by their contents.
fn value(client: &mut Client, rules: &str, expression: &str) -> String {
    client.run("alter session reset");
    for rule in rules.split("; ") {
        client.run(&format!("set bind of {rule}"));
    }
    let transaction = client.start();
    let rows = client.query_in(transaction, &format!("select {expression} from rdb$database"), &[]).unwrap();
    let shown = match &rows[0][0] {
        Value::Blob(id) => {
            let bytes = client.read_blob(transaction, *id).unwrap();
            format!("blob {}", String::from_utf8(bytes).unwrap())
        }
        Value::Text(text) => format!("text {}", text.decode_lossy()),
        other => to_display_text(other),
    };
    client.commit(transaction);
    shown
}

#[test]
fn values_go_out_as_they_are_shown() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    for (rules, expression, expected) in [
        ("decfloat to legacy", "cast(1.5 as decfloat(34))", "1.500000000000000"),
        ("decfloat to varchar", "cast(1.5 as decfloat(16))", "text 1.5"),
        ("int128 to varchar", "cast(12 as int128)", "text 12"),
        ("int128 to legacy", "cast(12 as numeric(38, 2))", "12.00"),
        ("int128 to double precision", "cast(12 as int128)", "12.00000000000000"),
        ("boolean to legacy", "true", "text TRUE "),
        ("numeric to double precision", "cast(1.25 as numeric(9, 2))", "1.250000000000000"),
        ("time zone to legacy", "timestamp '2020-01-01 10:00 UTC' at local", "2020-01-01 10:00:00.0000"),
        ("date to varchar", "date '2020-02-29'", "text 2020-02-29"),
        ("blob to varchar(30)", "cast('abc' as blob sub_type text)", "text abc"),
        ("varchar to blob sub_type text", "cast('abc' as varchar(10))", "blob abc"),
        (
            "time zone to extended; time zone to native",
            "cast('10:00 UTC' as time with time zone)",
            "10:00:00.0000 UTC",
        ),
    ] {
        client.run("set time zone 'UTC'");
        assert_eq!(value(&mut client, rules, expression), expected, "{rules}: {expression}");
    }
}

#[test]
fn parameters_come_in_as_they_are_shown() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    client.run("create table t (i int128, b boolean, d decfloat(34), bl blob sub_type text, v varchar(20))");
    for rule in [
        "int128 to varchar",
        "boolean to legacy",
        "decfloat to legacy",
        "blob to varchar(30)",
        "varchar to blob sub_type text",
    ] {
        client.run(&format!("set bind of {rule}"));
    }
    let transaction = client.start();
    let blob = client.write_blob(transaction, b"written", 3);
    let insert = client.prepare(transaction, "insert into t values (?, ?, ?, ?, ?)").unwrap();
    let values = [
        Value::text("77"),
        Value::text("TRUE"),
        Value::Double(0.5),
        Value::text("a text"),
        Value::Blob(blob),
    ];
    client.execute(transaction, &insert, &values).unwrap();
    client.drop_statement(&insert);
    client.commit(transaction);
    client.run("alter session reset");
    let transaction = client.start();
    let sql = "select i || '|' || b || '|' || cast(d * 2 as integer) || '|' || bl || '|' || v from t";
    let rows =
        client.query_in(transaction, &format!("select cast(({sql}) as varchar(99)) from rdb$database"), &[]);
    assert_eq!(rows.unwrap(), [[Value::text("77|TRUE|1|a text|written")]]);
}

#[test]
fn an_attach_brings_rules_of_its_own() {
    let server = TestServer::start();
    let _owner = server.create("t.fbd");
    let attach = |items: &[(u8, &[u8])]| {
        let mut client = Client::log_in(server.address, &Login::default()).unwrap();
        client.attach("t.fbd", items).map(|()| client)
    };
    let mut client = attach(&[(dpb::SET_BIND, b"int128 to varchar; decfloat to legacy")]).unwrap();
    assert_eq!(client.value("select cast(5 as int128) from rdb$database"), Value::text("5"));
    client.run("set bind of int128 to native");
    assert_eq!(
        client.value("select cast(5 as int128) from rdb$database"),
        Value::Int128 { unscaled: 5, scale: 0 }
    );
    client.run("alter session reset");
    assert_eq!(client.value("select cast(5 as int128) from rdb$database"), Value::text("5"));
    assert_eq!(client.value("select cast(5 as decfloat) from rdb$database"), Value::Double(5.0));

    let error = attach(&[(dpb::SET_BIND, b"int128 to varchar;int128 to boolean")]).err().unwrap();
    let codes: Vec<u32> = error.items().iter().map(|item| item.gds_code).collect();
    assert_eq!(codes, [isc::BIND_ERR, isc::BIND_STATEMENT, isc::BIND_CONVERT], "{error}");
    let error = attach(&[(dpb::SESSION_TIME_ZONE, b"Nosuch/Zone")]).err().unwrap();
    assert!(error.has(isc::INVALID_TIMEZONE_REGION), "{error}");
}

#[test]
fn a_statement_without_parameters_takes_any_message() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let transaction = client.start();
    // As a client that knows nothing of the statement's parameters: so many numbers.
    let count = |client: &mut Client, transaction: Handle, sql: &str, values: &[Value]| {
        let mut statement = client.prepare(transaction, sql)?;
        let numbers = values.iter().map(|_| MessageType::Long { scale: 0 });
        statement.input = (!values.is_empty()).then(|| Arc::new(MessageFormat::from_columns(numbers)));
        client.execute(transaction, &statement, values)?;
        client.fetch(&statement, 10).map(|batch| batch.rows.len())
    };
    let one = [Value::integer(1)];
    let many = [Value::integer(1), Value::integer(2)];
    assert_eq!(count(&mut client, transaction, "select 1 from rdb$database", &one).unwrap(), 1);
    assert_eq!(count(&mut client, transaction, "select 1 from rdb$database where 1 = ?", &one).unwrap(), 1);
    let error = count(&mut client, transaction, "select 1 from rdb$database where 1 = ?", &many).unwrap_err();
    assert!(error.has(isc::DSQL_WRONG_PARAM_NUM), "{error}");
    let error = count(&mut client, transaction, "select 1 from rdb$database where 1 = ?", &[]).unwrap_err();
    assert!(error.has(isc::DSQL_NO_INPUT_SQLDA), "{error}");
}
