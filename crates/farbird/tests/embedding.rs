//! What a program that embeds Farbird meets: opening, transactions, statements, rows, threads, errors.

use std::time::Duration;

use farbird::{
    Canceller, Connection, Database, Date, Decimal, Error, Isolation, Script, Statement, Timestamp, ToValue,
    Transaction, TransactionOptions, Value,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn numbers() -> farbird::Result<Connection> {
    let connection = Database::in_memory()?.connect()?;
    connection.execute("create table numbers (id int primary key, square bigint)", ())?;
    let mut insert = connection.prepare("insert into numbers values (?, ?)")?;
    let transaction = connection.transaction()?;
    for id in 1..=1000i64 {
        insert.execute(&transaction, (id, id * id))?;
    }
    transaction.commit()?;
    Ok(connection)
}

fn count(connection: &Connection) -> farbird::Result<i64> {
    connection.query_one("select count(*) from numbers", ())
}

#[test]
fn threads_may_share_what_is_said_to_be_shared() {
    fn shared<T: Send + Sync>() {}
    shared::<Database>();
    shared::<Connection>();
    shared::<Canceller>();
    shared::<Error>();
    shared::<Transaction<'_>>();
    fn sent<T: Send>() {}
    sent::<Statement>();
}

#[test]
fn a_file_is_made_once_and_opened_often() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("app.fbd");
    assert!(Database::open(&path).is_err(), "there is no file yet");

    let db = Database::create(&path)?;
    db.connect()?.execute("create table t (a int)", ())?;
    assert!(Database::create(&path).is_err(), "there is a file already");

    // The same file in the same process is the same database, whatever its path looks like.
    let again = Database::open(folder.path().join(".").join("app.fbd"))?;
    again.connect()?.execute("insert into t values (1)", ())?;
    assert_eq!(db.connect()?.query_one::<i64>("select count(*) from t", ())?, 1);
    drop((db, again));

    let db = Database::open_or_create(&path)?;
    assert_eq!(db.connect()?.query_one::<i64>("select a from t", ())?, 1);
    drop(db);

    std::fs::write(&path, "SQLite format 3\0 and so on")?;
    let error = Database::open(&path).unwrap_err();
    assert!(error.to_string().contains("SQLite"), "{error}");
    Ok(())
}

#[test]
fn a_database_in_memory_is_nobody_elses() -> Outcome {
    let (one, other) = (Database::in_memory()?, Database::in_memory()?);
    one.connect()?.execute("create table t (a int)", ())?;
    assert!(other.connect()?.execute("insert into t values (1)", ()).is_err());
    // It lives as long as a connection does.
    let connection = one.connect()?;
    drop(one);
    assert_eq!(connection.execute("insert into t values (1)", ())?, 1);
    Ok(())
}

#[test]
fn a_transaction_that_is_dropped_never_was() -> Outcome {
    let connection = numbers()?;
    let transaction = connection.transaction()?;
    assert_eq!(transaction.execute("delete from numbers where id <= ?", (10,))?, 10);
    assert_eq!(transaction.query_one::<i64>("select count(*) from numbers", ())?, 990);
    drop(transaction);
    assert_eq!(count(&connection)?, 1000);

    let failed = connection.in_transaction(|transaction| {
        transaction.execute("delete from numbers", ())?;
        transaction.execute("insert into numbers values (1, 'no number')", ())
    });
    assert!(failed.is_err());
    assert_eq!(count(&connection)?, 1000);

    connection.in_transaction(|transaction| transaction.execute("delete from numbers where id > 1", ()))?;
    assert_eq!(count(&connection)?, 1);
    Ok(())
}

#[test]
fn savepoints_and_retaining_are_there() -> Outcome {
    let connection = numbers()?;
    let transaction = connection.transaction()?;
    transaction.execute("delete from numbers where id = 1", ())?;
    transaction.execute("savepoint here", ())?;
    transaction.execute("delete from numbers", ())?;
    transaction.execute("rollback to savepoint here", ())?;
    transaction.commit_retaining()?;
    transaction.execute("delete from numbers", ())?;
    transaction.rollback()?;
    assert_eq!(count(&connection)?, 999);
    Ok(())
}

#[test]
fn a_connection_holds_several_transactions() -> Outcome {
    let connection = numbers()?;
    let before = connection.transaction()?;
    connection.execute("delete from numbers", ())?;
    assert_eq!(before.query_one::<i64>("select count(*) from numbers", ())?, 1000);
    let committed = connection
        .transaction_with(&TransactionOptions::new().isolation(Isolation::ReadCommitted).read_only())?;
    assert_eq!(committed.query_one::<i64>("select count(*) from numbers", ())?, 0);
    assert!(committed.execute("insert into numbers values (1, 1)", ()).is_err());
    Ok(())
}

#[test]
fn transactions_end_by_their_methods_only() -> Outcome {
    let connection = numbers()?;
    let transaction = connection.transaction()?;
    for sql in ["commit", "rollback", "set transaction"] {
        assert_eq!(transaction.execute(sql, ()).unwrap_err().sql_state(), "25000");
    }
    transaction.commit()?;
    Ok(())
}

#[test]
fn a_statement_outlives_transactions_and_their_tables_shape() -> Outcome {
    let connection = numbers()?;
    let mut find = {
        let transaction = connection.transaction()?;
        transaction.prepare("select square from numbers where id = ?")?
    };
    let transaction = connection.transaction()?;
    assert_eq!(find.query_one::<i64>(&transaction, (12,))?, 144);
    transaction.commit()?;
    connection.execute("alter table numbers add name varchar(10)", ())?;
    assert_eq!(find.query_one::<i64>(&connection, (13,))?, 169);
    // A column of another type is not what the program was told.
    connection.execute("alter table numbers alter square type varchar(30)", ())?;
    assert!(find.query_one::<String>(&connection, (13,)).is_err());
    // Given as text, it is simply prepared again.
    let text = "select square from numbers where id = ?";
    assert_eq!(connection.query_one::<String>(text, (13,))?, "169");
    connection.execute("alter table numbers drop square", ())?;
    connection.execute("alter table numbers add square date default current_date not null", ())?;
    assert!(connection.query_one::<Date>(text, (13,)).is_ok());
    Ok(())
}

#[test]
fn a_statement_outlives_its_connection_but_not_its_closing() -> Outcome {
    let connection = numbers()?;
    let mut find = connection.prepare("select square from numbers where id = ?")?;
    let other = numbers()?;
    assert_eq!(find.query_one::<i64>(&other, (2,)).unwrap_err().sql_state(), "08003");
    assert_eq!(find.query_one::<i64>(&connection, (2,))?, 4);
    connection.close()?;
    drop(find);
    Ok(())
}

#[test]
fn things_may_be_dropped_in_any_order() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("order.fbd");
    let db = Database::create(&path)?;
    let connection = db.connect()?;
    drop(db);
    connection.execute("create table t (a int)", ())?;
    let statement = connection.prepare("select a from t")?;
    drop(connection);
    // The statement keeps its session, and that the file: it is opened again as the same database.
    let db = Database::open(&path)?;
    drop(statement);
    db.connect()?.execute("insert into t values (1)", ())?;
    drop(db);
    std::fs::rename(&path, folder.path().join("moved.fbd"))?;
    let db = Database::open(folder.path().join("moved.fbd"))?;
    assert_eq!(db.connect()?.query_one::<i32>("select a from t", ())?, 1);
    Ok(())
}

#[test]
fn every_type_goes_in_and_comes_back() -> Outcome {
    let connection = Database::in_memory()?.connect()?;
    connection.execute(
        "create table t (si smallint, i int, b bigint, h int128, n numeric(9, 2), n38 numeric(38, 10), f float,
            d double precision, df decfloat(34), bo boolean, da date, ts timestamp, c char(3), v varchar(20),
            bin varbinary(4), te blob sub_type text, bl blob)",
        (),
    )?;
    let date = Date::from_year_month_day(2026, 11, 20).unwrap();
    let exact: Decimal = "12.34".parse()?;
    let parameters: [&dyn ToValue; 17] = [
        &-7i16,
        &70_000,
        &(1i64 << 40),
        &i128::MIN,
        &exact,
        &1,
        &1.5f32,
        &2.5,
        &exact,
        &true,
        &date,
        &Timestamp::midnight(date),
        &"ab",
        &"naïve",
        &[1u8, 2],
        &"a text",
        &vec![0u8, 255],
    ];
    let insert = format!("insert into t values ({}?)", "?, ".repeat(16));
    assert_eq!(connection.execute(&insert, parameters)?, 1);

    let mut rows = connection.query("select * from t", ())?;
    let row = rows.next().unwrap()?;
    assert_eq!(row.get::<i16>("SI")?, -7);
    assert_eq!(row.get::<u32>("I")?, 70_000);
    assert_eq!(row.get::<i64>("b")?, 1 << 40);
    assert_eq!(row.get::<i128>("h")?, i128::MIN);
    assert_eq!(row.get::<Decimal>("n")?.to_string(), "12.34");
    assert_eq!(row.get::<f64>("n")?, 12.34);
    assert_eq!(row.get::<i64>("n38")?, 1);
    assert_eq!((row.get::<f32>("f")?, row.get::<f64>("d")?), (1.5, 2.5));
    assert_eq!(row.get::<Decimal>("df")?, exact);
    assert!(row.get::<bool>("bo")?);
    assert_eq!(row.get::<Date>("da")?.to_string(), "2026-11-20");
    assert_eq!(row.get::<Timestamp>("ts")?, Timestamp::midnight(date));
    assert_eq!((row.get::<&str>("c")?, row.get::<&str>("v")?), ("ab ", "naïve"));
    assert_eq!(row.get::<&[u8]>("bin")?, [1, 2]);
    assert_eq!(row.get::<String>("te")?, "a text");
    assert_eq!(row.get::<Vec<u8>>("bl")?, [0, 255]);
    assert_eq!(row.len(), 17);

    // What does not fit is said, and not made to fit.
    assert!(row.get::<i32>("b").unwrap_err().to_string().contains("BIGINT is no i32"));
    assert!(row.get::<i32>("n").is_err(), "12.34 is no whole number");
    assert!(row.get::<i32>("v").is_err());
    assert!(row.get::<i32>("nowhere").is_err());
    assert!(row.get::<i32>(17).is_err());
    drop((row, rows));

    assert_eq!(connection.execute("update t set i = null, v = null", ())?, 1);
    let (i, v): (Option<i32>, Option<String>) = connection.query_one("select i, v from t", ())?;
    assert_eq!((i, v), (None, None));
    assert!(connection.query_one::<i32>("select i from t", ()).unwrap_err().to_string().contains("NULL"));
    assert_eq!(connection.query_one::<Value>("select i from t", ())?, Value::Null);
    Ok(())
}

#[test]
fn parameters_are_counted_and_must_fit() -> Outcome {
    let connection = numbers()?;
    let error = connection.execute("insert into numbers values (?, ?)", (1,)).unwrap_err();
    assert_eq!(error.to_string(), "the statement has 2 parameters, 1 were given");
    let error = connection.execute("insert into numbers values (?, ?)", ("one", 1)).unwrap_err();
    assert_eq!(error.sql_state(), "22018");
    assert!(connection.execute("insert into numbers values (?, ?)", (1u64 << 40, 1)).is_err());
    Ok(())
}

#[test]
fn a_query_for_one_row_wants_one() -> Outcome {
    let connection = numbers()?;
    let sql = "select square from numbers where id between ? and ?";
    assert_eq!(connection.query_one::<i64>(sql, (5, 5))?, 25);
    assert!(connection.query_one::<i64>(sql, (5, 6)).unwrap_err().sql_state() == "21000");
    assert!(connection.query_one::<i64>(sql, (6, 5)).unwrap_err().is_no_row());
    assert_eq!(connection.query_optional::<i64>(sql, (6, 5))?, None);
    Ok(())
}

#[test]
fn rows_come_in_order_and_may_be_left() -> Outcome {
    let connection = numbers()?;
    let transaction = connection.transaction()?;
    let ids: Vec<i64> = transaction
        .query("select id from numbers order by id desc", ())?
        .map(|row| row?.get(0))
        .collect::<farbird::Result<_>>()?;
    assert!(ids.iter().copied().eq((1..=1000).rev()));
    let mut select = transaction.prepare("select id from numbers")?;
    for _ in 0..3 {
        assert_eq!(select.query(&transaction, ())?.take(2).count(), 2);
    }
    // Two queries at a time, and changes between their rows.
    let outer = transaction.query("select id from numbers where id <= 3 order by id", ())?;
    let mut seen = 0;
    for row in outer {
        let id: i32 = row?.get(0)?;
        for inner in transaction.query("select square from numbers where id = ?", (id,))? {
            assert_eq!(inner?.get::<i32>(0)?, id * id);
            seen += transaction.execute("delete from numbers where id = ?", (id,))?;
        }
    }
    assert_eq!(seen, 3);
    Ok(())
}

#[test]
fn there_are_no_rows_behind_an_error() -> Outcome {
    let connection = numbers()?;
    let mut rows = connection.query("select 1000 / (800 - id) from numbers order by id", ())?;
    let error = rows.by_ref().find_map(Result::err).expect("a division by zero");
    assert_eq!(error.sql_state(), "22012");
    assert!(rows.next().is_none());
    Ok(())
}

#[test]
fn returning_gives_rows_whether_they_are_read_or_not() -> Outcome {
    let connection = numbers()?;
    let square: i64 =
        connection.query_one("insert into numbers values (?, ?) returning square", (2000, 5))?;
    assert_eq!(square, 5);
    let deleted: Vec<i64> = connection
        .query("delete from numbers where id <= 3 returning id", ())?
        .map(|row| row?.get(0))
        .collect::<farbird::Result<_>>()?;
    assert_eq!(deleted.len(), 3);
    drop(connection.query("delete from numbers where id <= 10 returning id", ())?);
    assert_eq!(count(&connection)?, 991);
    Ok(())
}

#[test]
fn procedures_and_blocks_are_statements_like_others() -> Outcome {
    let connection = numbers()?;
    connection.execute_script(
        "set term ^;
         create procedure double_of (n int) returns (twice int) as begin twice = n * 2; end^
         create procedure up_to (n int) returns (i int) as
         begin
           i = 0;
           while (i < n) do begin i = i + 1; suspend; end
         end^
         create procedure add_one returns (i int) as
         begin
           insert into numbers values (5000, 1);
           i = 1; suspend;
         end^
         set term ;^",
    )?;
    assert_eq!(connection.query_one::<i32>("execute procedure double_of(?)", (21,))?, 42);
    assert_eq!(connection.query("select i from up_to(?)", (700,))?.count(), 700);
    let (a, b): (i32, String) = connection.query_one(
        "execute block (x int = ?) returns (a int, b varchar(5)) as begin a = x + 1; b = 'yes'; suspend; end",
        (1,),
    )?;
    assert_eq!((a, b.as_str()), (2, "yes"));
    // Nobody looks at the rows, and still the procedure runs to its end.
    connection.execute("select i from add_one", ())?;
    assert_eq!(count(&connection)?, 1001);
    // A query that writes and is left is undone.
    connection.execute("delete from numbers where id = 5000", ())?;
    drop(connection.query("select i from add_one", ())?);
    assert_eq!(count(&connection)?, 1000);
    Ok(())
}

#[test]
fn scripts_are_done_whole_or_not_at_all() -> Outcome {
    let connection = numbers()?;
    let error = connection
        .execute_script("create table a (x int);\ninsert into a values (1);\n\nselect nothing;\n")
        .unwrap_err();
    assert_eq!(error.script_line(), Some(4));
    assert!(connection.query_one::<i64>("select count(*) from a", ()).is_err(), "a was undone");

    let committed = "create table a (x int); commit; insert into a values (1); nonsense";
    assert!(connection.execute_script(committed).is_err());
    assert_eq!(connection.query_one::<i64>("select count(*) from a", ())?, 0);

    let mut script = Script::new(&connection);
    script.commit_definitions(true);
    script.execute("create table b (x int)")?;
    script.execute("insert into b values (1)")?;
    script.execute("rollback")?;
    script.execute("set transaction read only")?;
    assert!(script.execute("insert into b values (1)").is_err());
    drop(script);
    assert_eq!(connection.query_one::<i64>("select count(*) from b", ())?, 0);
    Ok(())
}

#[test]
fn errors_say_what_programs_ask() -> Outcome {
    let connection = numbers()?;
    connection.execute_script(
        "create table child (id int references numbers, age int check (age > 0), name varchar(3) not null)",
    )?;
    let fails = |sql: &str| connection.execute(sql, ()).unwrap_err();
    assert!(fails("insert into numbers values (1, 1)").is_unique_violation());
    assert!(fails("insert into child values (-1, 1, 'x')").is_foreign_key_violation());
    assert!(fails("insert into child values (1, 0, 'x')").is_check_violation());
    assert!(fails("insert into child values (1, 1, null)").is_not_null_violation());
    assert_eq!(fails("insert into child values (1, 1, 'long')").sql_state(), "22001");
    assert_eq!(fails("selct 1").sql_state(), "42000");
    let unknown = fails("select x from nowhere");
    assert_eq!((unknown.sql_state(), unknown.gds_code()), ("42S02", farbird::isc::DSQL_ERROR));
    Ok(())
}

#[test]
fn two_transactions_conflict_as_firebird_says() -> Outcome {
    let connection = numbers()?;
    let first = connection.transaction()?;
    let second = connection.transaction_with(&TransactionOptions::new().no_wait())?;
    first.execute("update numbers set square = 0 where id = 1", ())?;
    let error = second.execute("update numbers set square = 1 where id = 1", ()).unwrap_err();
    assert!(error.is_lock_conflict() && error.is_update_conflict() && error.is_retryable());
    assert_eq!(error.sql_state(), "40001");
    Ok(())
}

#[test]
fn threads_work_at_the_same_time() -> Outcome {
    let folder = tempfile::tempdir()?;
    let db = Database::create(folder.path().join("threads.fbd"))?;
    db.connect()?.execute("create table t (thread int, n int, primary key (thread, n))", ())?;
    std::thread::scope(|scope| {
        let work = |thread: i32| {
            let db = db.clone();
            move || -> farbird::Result<()> {
                let connection = db.connect()?;
                let mut insert = connection.prepare("insert into t values (?, ?)")?;
                for n in 0..20 {
                    let transaction = connection.transaction()?;
                    for k in 0..10 {
                        insert.execute(&transaction, (thread, n * 10 + k))?;
                    }
                    transaction.commit()?;
                }
                Ok(())
            }
        };
        let threads: Vec<_> = (0..2).map(|thread| scope.spawn(work(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    assert_eq!(db.connect()?.query_one::<i64>("select count(*) from t", ())?, 400);
    Ok(())
}

#[test]
fn a_connection_may_be_shared_by_threads_that_take_turns() -> Outcome {
    let connection = numbers()?;
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let connection = &connection;
            scope.spawn(move || {
                for id in 1..50 {
                    let square: i64 = connection
                        .query_one("select square from numbers where id = ?", (id,))
                        .unwrap_or_else(|error| panic!("thread {thread}: {error}"));
                    assert_eq!(square, i64::from(id) * i64::from(id));
                }
            });
        }
    });
    Ok(())
}

#[test]
fn another_thread_stops_a_statement() -> Outcome {
    let connection = numbers()?;
    let transaction = connection.transaction()?;
    transaction.execute("delete from numbers where id = 1", ())?;
    let canceller = connection.canceller();
    let timer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(30));
        canceller.cancel();
    });
    let endless = "execute block as begin while (true) do update numbers set square = 0 where id = 2; end";
    assert!(transaction.execute(endless, ()).unwrap_err().is_cancelled());
    timer.join().unwrap();
    // The statement is undone, the transaction goes on.
    let (rows, square): (i64, i64) =
        transaction.query_one("select count(*), max(iif(id = 2, square, null)) from numbers", ())?;
    assert_eq!((rows, square), (999, 4));
    Ok(())
}

#[test]
fn a_cancel_between_two_rows_stops_the_query() -> Outcome {
    let connection = numbers()?;
    let mut rows = connection.query("select id from numbers order by id", ())?;
    assert_eq!(rows.next().expect("a row")?.get::<i64>("ID")?, 1);
    connection.canceller().cancel();
    // Rows that have been fetched already may come first.
    assert!(rows.find_map(Result::err).expect("an error").is_cancelled());
    drop(rows);
    assert_eq!(connection.query_one::<i64>("select count(*) from numbers", ())?, 1_000);
    Ok(())
}

#[test]
fn users_and_roles_count() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("users.fbd");
    let owner = Database::create(&path)?;
    owner.connect()?.execute_script(
        "create table secret (a int); create table shown (a int); grant select on shown to public;",
    )?;
    let guest = Database::options().user("GUEST").open(&path)?;
    let connection = guest.connect()?;
    assert!(connection.query_one::<i64>("select count(*) from shown", ()).is_ok());
    assert_eq!(
        connection.query_one::<i64>("select count(*) from secret", ()).unwrap_err().sql_state(),
        "28000"
    );
    Ok(())
}

/// SET SESSION IDLE TIMEOUT: locks go with the connection, and its program is told when it asks again.
#[test]
fn a_connection_at_rest_for_too_long_is_over() -> Outcome {
    let database = Database::in_memory()?;
    let (victim, observer) = (database.connect()?, database.connect()?);
    victim.execute("create table t (id int primary key)", ())?;
    victim.execute("insert into t values (1)", ())?;
    victim.execute("set session idle timeout 1 second", ())?;
    let transaction = victim.transaction()?;
    transaction.execute("update t set id = 2", ())?;
    // Waits for the row.
    observer.execute("update t set id = 3", ())?;
    drop(transaction);
    let error = victim.query_one::<i32>("select id from t", ()).expect_err("the session is over");
    assert_eq!(error.gds_code(), farbird::isc::ATT_SHUTDOWN);
    assert_eq!(observer.query_one::<i32>("select id from t", ())?, 3);
    Ok(())
}

/// A connection that rests in the midst of a transaction, when somebody deletes its row of MON$ATTACHMENTS: its locks go at
/// once, and its program is told when it asks again.
#[test]
fn a_connection_at_rest_that_was_ended_holds_nothing() -> Outcome {
    let database = Database::in_memory()?;
    let (victim, observer) = (database.connect()?, database.connect()?);
    victim.execute("create table t (id int primary key)", ())?;
    victim.execute("insert into t values (1)", ())?;
    let transaction = victim.transaction()?;
    transaction.execute("update t set id = 2", ())?;
    let others = "from mon$attachments where mon$attachment_id <> current_connection";
    observer.execute(&format!("delete {others}"), ())?;
    assert_eq!(observer.query_one::<i64>(&format!("select count(*) {others}"), ())?, 0);
    let without_waiting = TransactionOptions::new().no_wait();
    let other = observer.transaction_with(&without_waiting)?;
    other.execute("update t set id = 3", ())?;
    other.commit()?;
    let error = transaction.execute("update t set id = 4", ()).expect_err("the session is over");
    assert_eq!(error.gds_code(), farbird::isc::ATT_SHUTDOWN);
    drop(transaction);
    let error = victim.query_one::<i32>("select id from t", ()).expect_err("the session is over");
    assert_eq!(error.gds_code(), farbird::isc::ATT_SHUTDOWN);
    assert_eq!(observer.query_one::<i32>("select id from t", ())?, 3);
    Ok(())
}
