//! The working day of ../README.md with rsfbclient, the wire protocol in pure Rust: `day day|after-restart`.

mod values;

use std::env;
use std::error::Error;
use std::fmt::{Debug, Display};
use std::process::exit;

use chrono::{NaiveDate, NaiveDateTime};
use rsfbclient::prelude::{TrRecordVersion, TransactionConfiguration, transaction_builder};
use rsfbclient::{Execute, FbError, IntoParams, Queryable, Row, SimpleConnection};
use values::{BLOB_SIZES, ColumnType, ERRORS, ROWS, Read, TYPES, content, label, long_text};

type Outcome = Result<(), Box<dyn Error>>;

/// Ends a check that this driver or this server cannot do.
#[derive(Debug)]
struct Skip(&'static str);

impl Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Skip {}

fn expect<T: PartialEq + Debug>(found: T, wanted: T) -> Outcome {
    if found == wanted {
        return Ok(());
    }
    let text = format!("expected {wanted:?}, got {found:?}");
    Err(text.chars().take(400).collect::<String>().into())
}

/// The error of a call that must fail with this text in its message.
fn expect_error<T>(result: Result<T, FbError>, text: &str) -> Outcome {
    match result {
        Ok(_) => Err(format!("no error, expected one with {text:?}").into()),
        Err(error) if error.to_string().contains(text) => Ok(()),
        Err(error) => Err(format!("expected an error with {text:?}, got {error}").into()),
    }
}

fn environment(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn builder(database: &str, password: &str) -> rsfbclient::PureRustConnectionBuilder {
    let mut builder = rsfbclient::builder_pure_rust();
    builder
        .host(environment("FIREBIRD_HOST"))
        .port(environment("FIREBIRD_PORT").parse().expect("a port"))
        .user(environment("FIREBIRD_USER"))
        .pass(password)
        .db_name(database)
        .with_transaction(|t| t.read_write().wait(10).with_read_commited(TrRecordVersion::RecordVersion));
    builder
}

fn connect() -> Result<SimpleConnection, FbError> {
    Ok(builder(&environment("FIREBIRD_DATABASE"), &environment("FIREBIRD_PASSWORD")).connect()?.into())
}

fn snapshot() -> TransactionConfiguration {
    transaction_builder().read_write().wait(10).with_concurrency().build()
}

/// The day, with the attachment that most checks use.
struct Day {
    own: SimpleConnection,
    server_version: u32,
}

impl Day {
    /// Runs one check, reports it, and goes on with a fresh attachment if it failed.
    fn check(&mut self, name: &str, body: impl FnOnce(&mut Self) -> Outcome) {
        if !report(name, body(self)) {
            self.own = connect().unwrap_or_else(|_| exit(1));
        }
    }

    /// Executes in the current transaction, beginning one if there is none; affected rows.
    fn execute(&mut self, sql: &str, parameters: impl IntoParams) -> Result<usize, FbError> {
        self.own.begin_transaction()?;
        self.own.execute(sql, parameters)
    }

    fn query(&mut self, sql: &str, parameters: impl IntoParams) -> Result<Vec<Row>, FbError> {
        self.own.begin_transaction()?;
        self.own.query(sql, parameters)
    }

    /// The first column of each row as text.
    fn texts(&mut self, sql: &str) -> Result<Vec<Option<String>>, FbError> {
        self.query(sql, ())?.iter().map(|row| row.get(0)).collect()
    }

    fn text(&mut self, sql: &str) -> Result<String, FbError> {
        self.query(sql, ())?.first().ok_or(FbError::from("no row"))?.get(0)
    }

    fn number(&mut self, sql: &str) -> Result<i64, FbError> {
        self.query(sql, ())?.first().ok_or(FbError::from("no row"))?.get(0)
    }

    /// Runs a statement by whichever call suits it.
    fn attempt(&mut self, sql: &str) -> Result<(), FbError> {
        if sql.starts_with("SELECT") {
            return self.query(sql, ()).map(drop);
        }
        self.execute(sql, ()).map(drop)
    }
}

/// Prints a check's outcome; whether it did not fail.
fn report(name: &str, outcome: Outcome) -> bool {
    match outcome {
        Ok(()) => println!("ok {name}"),
        Err(error) => match error.downcast_ref::<Skip>() {
            Some(reason) => println!("skip {name}: {reason}"),
            None => {
                println!(
                    "FAIL {name}: {}",
                    error.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
                );
                return false;
            }
        },
    }
    true
}

fn main() {
    let server_version = env::var("FIREBIRD_SERVER_VERSION").map_or(5, |v| v.parse().expect("a version"));
    if env::args().nth(1).as_deref() == Some("day") {
        let mut day = Day { own: connecting(server_version), server_version };
        ddl(&mut day);
        for (number, column) in TYPES.iter().enumerate() {
            day.check(&format!("type: {}", column.0), |day| one_type(day, &format!("T_{number}"), column));
        }
        parameters(&mut day);
        rows(&mut day);
        blobs(&mut day);
        errors(&mut day);
        transactions(&mut day);
    } else {
        after_restart(server_version);
    }
    // Not a clean end: open attachments are to be cut, as a crashed program would cut them.
    exit(0);
}

fn connecting(server_version: u32) -> SimpleConnection {
    let (database, password) = (environment("FIREBIRD_DATABASE"), environment("FIREBIRD_PASSWORD"));
    let refused = match builder(&database, "not the password").connect() {
        // Firebird 4 goes on to its next plugin after a refused proof, where the driver gives up; an origin that logs in itself does not.
        Err(error) if server_version == 4 && error.to_string().contains("ContAuth") => Ok(()),
        result => expect_error(result, "user name and password"),
    };
    report("connect: wrong password", refused);
    let create = || -> Outcome {
        let mut made: SimpleConnection = builder(&database, &password).create_database()?.into();
        expect(made.query_first::<_, (i32,)>("SELECT 1 FROM RDB$DATABASE", ())?, Some((1,)))?;
        Ok(made.close()?)
    };
    report("connect: create database", create());
    report(
        "connect: missing database",
        expect_error(builder(&format!("{database}.none"), &password).connect(), "I/O error"),
    );
    let attach = || -> Result<SimpleConnection, Box<dyn Error>> {
        let mut made = connect()?;
        let me = made.query_first::<_, (String,)>("SELECT CURRENT_USER FROM RDB$DATABASE", ())?;
        expect(me.map(|(name,)| name.trim().to_owned()), Some(environment("FIREBIRD_USER").to_uppercase()))?;
        Ok(made)
    };
    match attach() {
        Ok(made) => {
            println!("ok connect: right password");
            made
        }
        Err(error) => {
            report("connect: right password", Err(error));
            exit(1);
        }
    }
}

/// The statements of an SQL file, without comments.
fn statements(path: &str) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("the schema");
    let code: Vec<&str> = text.lines().filter(|line| !line.starts_with("--")).collect();
    (code.join("\n") + "\n").split(";\n").map(|s| s.trim().to_owned()).filter(|s| !s.is_empty()).collect()
}

fn ddl(day: &mut Day) {
    day.check("ddl: schema", |day| {
        for statement in statements(&environment("FIREBIRD_SCHEMA")) {
            day.execute(&statement, ())?;
        }
        day.own.commit()?;
        let names =
            day.texts("SELECT TRIM(RDB$RELATION_NAME) FROM RDB$RELATIONS WHERE RDB$SYSTEM_FLAG = 0 ORDER BY RDB$RELATION_NAME")?;
        let wanted = ["ACCOUNT", "BLOBS", "CUSTOMER", "INVOICE", "INVOICE_OF_CUSTOMER", "MANY"];
        expect(names, wanted.map(|name| Some(name.to_owned())).to_vec())
    });
    day.check("ddl: rolled back", |day| {
        day.execute("CREATE TABLE NEVER (ID INTEGER)", ())?;
        day.own.rollback()?;
        expect_error(day.query("SELECT * FROM NEVER", ()), "Table unknown")?;
        Ok(day.own.rollback()?)
    });
}

/// Writes NULL and the values into a column of the type and reads them back.
fn one_type(day: &mut Day, table: &str, column: &ColumnType) -> Outcome {
    let (declaration, _, since_firebird_4, values) = *column;
    if since_firebird_4 && day.server_version < 4 {
        return Err(Skip("needs Firebird 4").into());
    }
    day.execute(&format!("CREATE TABLE {table} (ID INTEGER NOT NULL PRIMARY KEY, V {declaration})"), ())?;
    day.own.commit()?;
    let insert = format!("INSERT INTO {table} (ID, V) VALUES (?, ?)");
    day.execute(&insert, (0, None::<String>))?;
    for (row, value) in (1..).zip(values) {
        day.execute(&insert, (row, *value))?;
    }
    day.own.commit()?;
    same_values(day, table, column)?;
    expect(day.number(&format!("SELECT COUNT(*) FROM {table} WHERE V IS NULL"))?, 1)?;
    Ok(day.own.commit()?)
}

fn same_values(day: &mut Day, table: &str, column: &ColumnType) -> Outcome {
    let (declaration, read, _, values) = *column;
    let expression = if read == Read::AsText { "CAST(V AS VARCHAR(60))" } else { "V" };
    let found = day.query(&format!("SELECT {expression} FROM {table} ORDER BY ID"), ())?;
    expect(found.len(), values.len() + 1)?;
    for (row, wanted) in found.iter().zip([None].into_iter().chain(values.iter().copied().map(Some))) {
        let value = match read {
            Read::Bytes => {
                row.get::<Option<Vec<u8>>>(0)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            }
            Read::Native | Read::AsText => row.get::<Option<String>>(0)?,
        };
        let value = value.map(|text| match declaration {
            // Shown with microseconds, of which the last two digits are always 0.
            "TIMESTAMP" if text.contains('.') => text.trim_end_matches("00").to_owned(),
            "DATE" => text.trim_end_matches(" 00:00:00").to_owned(),
            // A time comes as a timestamp of some day.
            "TIME" => {
                let time = text.split_once(' ').map_or("", |(_, time)| time);
                if time.contains('.') { time.trim_end_matches("00").to_owned() } else { time.to_owned() }
            }
            _ if declaration.starts_with("CHAR(") => text.trim_end_matches(' ').to_owned(),
            _ => text,
        });
        expect(value.as_deref(), wanted)?;
    }
    Ok(())
}

fn moment(seconds: i64) -> NaiveDateTime {
    let start =
        NaiveDate::from_ymd_opt(2024, 1, 1).and_then(|day| day.and_hms_opt(0, 0, 0)).expect("a moment");
    start + chrono::Duration::seconds(seconds)
}

fn parameters(day: &mut Day) {
    day.check("parameters: all kinds at once", |day| {
        let sql = "SELECT CAST(? AS INTEGER), CAST(? AS VARCHAR(20) CHARACTER SET UTF8), CAST(? AS NUMERIC(18,4)), \
                   CAST(? AS TIMESTAMP), CAST(? AS DATE), CAST(? AS BOOLEAN), CAST(? AS INTEGER) FROM RDB$DATABASE";
        let at = moment(47655);
        let found = day.query(sql, (7, "Grüße €", 12.3456, at, at.date(), true, None::<i32>))?;
        let row = found.first().ok_or("no row")?;
        expect(row.get::<i32>(0)?, 7)?;
        expect(row.get::<String>(1)?, "Grüße €".to_owned())?;
        expect(row.get::<f64>(2)?, 12.3456)?;
        expect(row.get::<NaiveDateTime>(3)?, at)?;
        expect(row.get::<NaiveDate>(4)?, at.date())?;
        expect(row.get::<bool>(5)?, true)?;
        expect(row.get::<Option<i32>>(6)?, None)?;
        // Descriptions longer than the driver's buffer: it asks again and again for the columns that are missing.
        let columns: Vec<String> =
            (1..=40).map(|number| format!("{number} AS A_COLUMN_WITH_A_LONG_NAME_{number}")).collect();
        let wide = day.query(&format!("SELECT {} FROM RDB$DATABASE", columns.join(", ")), ())?;
        expect(wide.first().ok_or("no row")?.get::<i32>(39)?, 40)
    });
    day.check("parameters: where", |day| {
        day.execute("INSERT INTO CUSTOMER (NAME, EMAIL) VALUES (?, ?)", ("Ada", "ada@example.com"))?;
        day.execute(
            "INSERT INTO CUSTOMER (NAME, EMAIL, CREDIT) VALUES (?, ?, ?)",
            ("Bob", None::<String>, "12.5"),
        )?;
        day.own.commit()?;
        let found = day
            .query("SELECT ID, NAME, CREDIT FROM CUSTOMER WHERE NAME = ? AND CREDIT > ?", ("Bob", "12.4"))?;
        let row = found.first().ok_or("no row")?;
        expect((row.get::<i32>(0)?, row.get::<String>(1)?, row.get::<f64>(2)?), (2, "Bob".to_owned(), 12.5))?;
        let starting = day.query("SELECT NAME FROM CUSTOMER WHERE EMAIL STARTING WITH ?", ("ada@",))?;
        expect(starting.len(), 1)
    });
    day.check("parameters: returning", |day| {
        let sql = "INSERT INTO INVOICE (ID, CUSTOMER_ID, QUANTITY, PRICE) VALUES (NEXT VALUE FOR SEQ_INVOICE, ?, ?, ?) RETURNING ID, TOTAL";
        day.own.begin_transaction()?;
        let made: (i32, f64) = day.own.execute_returnable(sql, (1, 3, "1.25"))?;
        expect(made, (1, 3.75))?;
        day.own.commit()?;
        let found: Vec<(String, i32, f64)> = day.own.query("SELECT CUSTOMER, INVOICE, TOTAL FROM INVOICE_OF_CUSTOMER", ())?;
        expect(found, vec![("Ada".to_owned(), 1, 3.75)])
    });
    day.check("parameters: executed again", |day| {
        for i in 0..50 {
            let found = day.query("SELECT CAST(? AS INTEGER) + 1 FROM RDB$DATABASE", (i,))?;
            expect(found.first().ok_or("no row")?.get::<i64>(0)?, i64::from(i) + 1)?;
        }
        Ok(day.own.commit()?)
    });
}

fn rows(day: &mut Day) {
    let amount = |i: i64| format!("{}.{:04}", i / 10_000, i % 10_000);
    day.check("rows: 10000 inserted", |day| {
        for i in 0..ROWS {
            day.execute(
                "INSERT INTO MANY (ID, LABEL, AMOUNT, MOMENT) VALUES (?, ?, ?, ?)",
                (i, label(i), amount(i), moment(i)),
            )?;
        }
        day.own.commit()?;
        expect(day.number("SELECT COUNT(*) FROM MANY")?, ROWS)
    });
    day.check("rows: 10000 fetched", |day| {
        let sql = "SELECT ID, LABEL, CAST(AMOUNT AS VARCHAR(20)), MOMENT FROM MANY ORDER BY ID";
        let all: Vec<(i64, String, String, NaiveDateTime)> = day.own.query(sql, ())?;
        expect(all == (0..ROWS).map(|i| (i, label(i), amount(i), moment(i))).collect::<Vec<_>>(), true)?;
        expect(day.number("SELECT SUM(ID) FROM MANY")?, ROWS * (ROWS - 1) / 2)
    });
    day.check("rows: two cursors at once", |_| {
        Err(Skip("a transaction is lent to one statement at a time").into())
    });
    day.check("rows: affected", |day| {
        expect(day.execute("UPDATE MANY SET AMOUNT = AMOUNT + 1 WHERE ID < ?", (1000,))?, 1000)?;
        expect(day.execute("DELETE FROM MANY WHERE ID >= ?", (ROWS - 10,))?, 10)?;
        expect(day.number("SELECT COUNT(*) FROM MANY WHERE AMOUNT >= 1")?, 1000)?;
        day.own.rollback()?;
        expect(day.number("SELECT COUNT(*) FROM MANY WHERE AMOUNT < 1")?, ROWS)
    });
}

fn blobs(day: &mut Day) {
    for (row, &(name, size)) in (0..).zip(BLOB_SIZES) {
        day.check(&format!("blob: {name}"), |day| {
            day.execute("INSERT INTO BLOBS (ID, BYTES) VALUES (?, ?)", (row, content(size)))?;
            day.own.commit()?;
            same_blob(day, row, size)
        });
    }
    day.check("blob: text", |day| {
        day.execute("INSERT INTO BLOBS (ID, TEXT) VALUES (10, ?)", (long_text(),))?;
        day.own.commit()?;
        expect(day.text("SELECT TEXT FROM BLOBS WHERE ID = 10")? == long_text(), true)?;
        let characters = long_text().chars().count() as i64;
        expect(day.number("SELECT CHAR_LENGTH(TEXT) FROM BLOBS WHERE ID = 10")?, characters)?;
        Ok(day.own.commit()?)
    });
}

fn same_blob(day: &mut Day, row: i32, size: usize) -> Outcome {
    let found = day.query("SELECT BYTES, OCTET_LENGTH(BYTES) FROM BLOBS WHERE ID = ?", (row,))?;
    let found = found.first().ok_or("no row")?;
    expect(found.get::<Vec<u8>>(0)? == content(size), true)?;
    expect(found.get::<i64>(1)?, size as i64)?;
    Ok(day.own.commit()?)
}

fn errors(day: &mut Day) {
    for (name, sql, text) in ERRORS {
        day.check(&format!("error: {name}"), |day| {
            expect_error(day.attempt(sql), text)?;
            day.own.rollback()?;
            expect(day.number("SELECT 1 FROM RDB$DATABASE")?, 1)
        });
    }
}

const BALANCE: &str = "SELECT BALANCE FROM ACCOUNT WHERE ID = 1";
const ADD: &str = "UPDATE ACCOUNT SET BALANCE = BALANCE + ? WHERE ID = 1";

fn balance(connection: &mut SimpleConnection) -> Result<i64, FbError> {
    connection.query_first::<_, (i64,)>(BALANCE, ())?.map(|(n,)| n).ok_or(FbError::from("no row"))
}

fn transactions(day: &mut Day) {
    day.check("transaction: rollback", |day| {
        day.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (1, 100)", ())?;
        day.own.commit()?;
        day.execute(ADD, (1,))?;
        expect(day.number(BALANCE)?, 101)?;
        day.own.rollback()?;
        expect(day.number(BALANCE)?, 100)?;
        Ok(day.own.commit()?)
    });
    day.check("transaction: isolation", |day| {
        let (mut late, mut reader) = (connect()?, connect()?);
        late.begin_transaction_config(snapshot())?;
        reader.begin_transaction()?;
        expect(balance(&mut late)?, 100)?;
        day.execute(ADD, (10,))?;
        expect(balance(&mut reader)?, 100)?;
        day.own.commit()?;
        expect(balance(&mut reader)?, 110)?;
        expect(balance(&mut late)?, 100)?;
        late.rollback()?;
        Ok(reader.rollback()?)
    });
    day.check("transaction: no wait conflict", |day| {
        let mut impatient = connect()?;
        let no_wait = transaction_builder()
            .read_write()
            .no_wait()
            .with_read_commited(TrRecordVersion::RecordVersion)
            .build();
        impatient.begin_transaction_config(no_wait)?;
        day.execute(ADD, (1,))?;
        expect_error(impatient.execute(ADD, (2,)), "update conflicts with concurrent update")?;
        impatient.rollback()?;
        Ok(day.own.rollback()?)
    });
    day.check("transaction: snapshot conflict", |day| {
        let mut late = connect()?;
        late.begin_transaction_config(snapshot())?;
        expect(balance(&mut late)?, 110)?;
        day.execute(ADD, (5,))?;
        day.own.commit()?;
        expect_error(late.execute(ADD, (7,)), "update conflicts with concurrent update")?;
        late.rollback()?;
        expect(day.number(BALANCE)?, 115)?;
        Ok(day.own.commit()?)
    });
    day.check("transaction: savepoint", |day| {
        day.execute(ADD, (1,))?;
        day.execute("SAVEPOINT HALF", ())?;
        day.execute(ADD, (1000,))?;
        day.execute("ROLLBACK TO SAVEPOINT HALF", ())?;
        expect(day.number(BALANCE)?, 116)?;
        day.own.commit()?;
        expect(day.number(BALANCE)?, 116)?;
        Ok(day.own.commit()?)
    });
    day.check("transaction: failed statement undone alone", |day| {
        day.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (2, 0)", ())?;
        let both = "INSERT INTO ACCOUNT (ID, BALANCE) SELECT 4 - ID, 0 FROM ACCOUNT ORDER BY ID";
        expect_error(day.execute(both, ()), "PK_ACCOUNT")?;
        expect(day.number("SELECT SUM(ID) FROM ACCOUNT")?, 3)?;
        day.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (6, 0)", ())?;
        day.own.commit()?;
        expect(day.number("SELECT COUNT(*) FROM ACCOUNT")?, 3)?;
        Ok(day.own.commit()?)
    });
    day.check("transaction: two in one attachment", |_| {
        Err(Skip("an attachment is lent to one transaction at a time").into())
    });
    day.check("service: server version", |_| Err(Skip("the driver has no services").into()));
    day.check("users: created, logged in, dropped", users);
    day.check("transaction: left open", |day| {
        day.execute("INSERT INTO ACCOUNT (ID, BALANCE) VALUES (99, 99)", ())?;
        // The process ends with this transaction open.
        expect(day.number("SELECT BALANCE FROM ACCOUNT WHERE ID = 99")?, 99)
    });
}

fn users(day: &mut Day) -> Outcome {
    let name = std::env::var("FIREBIRD_GUEST").unwrap_or_else(|_| format!("EVE_{}", std::process::id()));
    let listed = format!("SELECT COUNT(*) FROM SEC$USERS WHERE SEC$USER_NAME = '{name}'");
    let database = environment("FIREBIRD_DATABASE");
    day.execute(&format!("CREATE USER {name} PASSWORD 'first secret'"), ())?;
    day.own.commit()?;
    expect(day.number(&listed)?, 1)?;
    let mut guest: SimpleConnection =
        builder(&database, "first secret").user(name.to_lowercase()).connect()?.into();
    let who = guest.query_first::<_, (String,)>("SELECT CURRENT_USER FROM RDB$DATABASE", ())?;
    expect(who.map(|(who,)| who.trim().to_owned()), Some(name.clone()))?;
    guest.close()?;
    day.execute(&format!("DROP USER {name}"), ())?;
    day.own.commit()?;
    expect(day.number(&listed)?, 0)?;
    day.own.commit()?;
    expect_error(builder(&database, "first secret").user(name).connect(), "user name and password")
}

fn after_restart(server_version: u32) {
    let own = match connect() {
        Ok(own) => own,
        Err(error) => {
            report("restart: reconnect", Err(error.into()));
            exit(1);
        }
    };
    let mut day = Day { own, server_version };
    day.check("restart: reconnect", |day| expect(day.number("SELECT 1 FROM RDB$DATABASE")?, 1));
    day.check("restart: rows", |day| {
        let many: Option<(i64, i64, String)> =
            day.own.query_first("SELECT COUNT(*), SUM(ID), MAX(LABEL) FROM MANY", ())?;
        expect(many, Some((ROWS, ROWS * (ROWS - 1) / 2, label(ROWS - 1))))?;
        let customers: Vec<(String, Option<String>, f64)> =
            day.own.query("SELECT NAME, EMAIL, CREDIT FROM CUSTOMER ORDER BY ID", ())?;
        let wanted =
            vec![("Ada".to_owned(), Some("ada@example.com".to_owned()), 0.0), ("Bob".to_owned(), None, 12.5)];
        expect(customers, wanted)?;
        let accounts: Vec<(i64, i64)> =
            day.own.query("SELECT ID, BALANCE FROM ACCOUNT WHERE ID < 99 ORDER BY ID", ())?;
        expect(accounts, vec![(1, 116), (2, 0), (6, 0)])
    });
    day.check("restart: types", |day| {
        for (number, column) in TYPES.iter().enumerate() {
            if !column.2 || day.server_version >= 4 {
                same_values(day, &format!("T_{number}"), column)?;
            }
        }
        Ok(())
    });
    day.check("restart: blobs", |day| {
        for (row, &(_, size)) in (0..).zip(BLOB_SIZES) {
            same_blob(day, row, size)?;
        }
        expect(day.text("SELECT TEXT FROM BLOBS WHERE ID = 10")? == long_text(), true)
    });
    day.check("restart: constraints", |day| {
        for (name, sql, text) in ERRORS {
            if ["unique", "foreign key", "not null", "check"].contains(name) {
                expect_error(day.attempt(sql), text)?;
            }
        }
        Ok(day.own.rollback()?)
    });
    day.check("restart: sequence", |day| {
        expect(day.number("SELECT NEXT VALUE FOR SEQ_INVOICE FROM RDB$DATABASE")?, 2)?;
        let (identity,): (i64,) =
            day.own.execute_returnable("INSERT INTO CUSTOMER (NAME) VALUES ('Eve') RETURNING ID", ())?;
        expect(identity > 2, true)?;
        Ok(day.own.commit()?)
    });
    day.check("restart: left open is gone", |day| {
        expect(day.number("SELECT COUNT(*) FROM ACCOUNT WHERE ID = 99")?, 0)?;
        Ok(day.own.commit()?)
    });
}
