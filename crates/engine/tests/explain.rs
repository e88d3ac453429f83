//! EXPLAIN and EXPLAIN ANALYZE: what people are shown of a plan, and of what it did.

mod ddl_support;

use std::time::Duration;

use ddl_support::{Session, TestDatabase, described};
use farbird_engine::api::StatementKind;
use farbird_engine::budget::Limits;
use farbird_engine::session::StopReason;
use farbird_types::Value;

/// A line of EXPLAIN ANALYZE.
#[derive(Debug)]
struct Line {
    estimated: f64,
    rows: u64,
    loops: u64,
    milliseconds: f64,
    own: f64,
    memory: u64,
    spilled: u64,
    /// Rows read, blocks read, blocks skipped, rows without a partner.
    scanned: Option<[u64; 4]>,
    operator: String,
}

fn analyze(session: &mut Session, sql: &str) -> Vec<Line> {
    let lines = session.rows(&format!("explain analyze {sql}"));
    lines.iter().map(|line| parsed(line)).collect()
}

fn parsed(line: &str) -> Line {
    let fields: Vec<&str> = line.split('|').collect();
    let number = |place: usize| fields[place].parse::<f64>().unwrap_or(f64::NAN);
    let count = |place: usize| fields[place].parse::<u64>();
    let scanned = [8, 9, 10, 11].map(|place| count(place).ok());
    Line {
        estimated: number(1),
        rows: count(2).expect("rows"),
        loops: count(3).expect("loops"),
        milliseconds: number(4),
        own: number(5),
        memory: count(6).expect("memory"),
        spilled: count(7).expect("spilled"),
        scanned: scanned[0].map(|_| scanned.map(|value| value.expect("all or none"))),
        operator: fields[13].to_owned(),
    }
}

/// The only line whose operator begins so.
fn line<'l>(lines: &'l [Line], operator: &str) -> &'l Line {
    let mut found = lines.iter().filter(|line| line.operator.trim_start().starts_with(operator));
    let line = found.next().unwrap_or_else(|| panic!("no {operator} in {lines:#?}"));
    assert!(found.next().is_none(), "several {operator} in {lines:#?}");
    line
}

/// 100 customers; 10,000 orders of the first 50 of them, some 200 each, numbered in order; settled in row blocks.
fn shop() -> (TestDatabase, Session) {
    let (database, mut session) = TestDatabase::create_unswept();
    session.execute("create table customer (id int not null primary key, name varchar(30), city int)");
    session.execute(
        "create table orders (id int not null primary key, customer int, amount int, note varchar(60))",
    );
    session.execute("create table sink (id int not null primary key, n int)");
    session.execute("create sequence numbers");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin while (i < 100) do begin
           insert into customer values (:i, 'customer ' || :i, mod(:i, 10)); i = i + 1; end end",
    );
    session.execute(
        "execute block as declare i int = 0; begin while (i < 10000) do begin
           insert into orders values (:i, mod(:i, 50), mod(:i, 7), rpad('', mod(:i, 50), 'x')); i = i + 1; end end",
    );
    session.commit();
    session.execute("create index orders_customer on orders (customer)");
    session.commit();
    session.execute("set statistics index orders_customer");
    session.commit();
    (database, session)
}

#[test]
fn explain_shows_the_plan_and_runs_nothing() {
    let (_database, mut session) = shop();
    let description = session.prepare("explain select id from customer where id = 3").expect("EXPLAIN");
    assert_eq!(description.kind, StatementKind::Select, "drivers fetch its rows");
    let names: Vec<&str> = description.columns.iter().map(|column| column.alias.as_str()).collect();
    assert_eq!(names, ["DEPTH", "ESTIMATED_ROWS", "ESTIMATED_COST", "OPERATOR"]);
    let shown = session.rows("explain select c.id, next value for numbers from customer c where c.id = 3");
    let operators: Vec<&str> = shown.iter().map(|line| line.split('|').next_back().unwrap()).collect();
    assert_eq!(
        operators,
        [
            "Select Expression",
            "  Filter",
            "    Table \"CUSTOMER\" as \"C\" Access By ID: Index \"RDB$PRIMARY1\" Unique Scan",
        ]
    );
    let depths: Vec<&str> = shown.iter().map(|line| line.split('|').next().unwrap()).collect();
    assert_eq!(depths, ["0", "1", "2"]);
    for sql in [
        "insert into sink values (1, next value for numbers)",
        "delete from orders",
        "update orders set amount = next value for numbers",
        "update or insert into sink values (1, 1)",
        "merge into sink using orders o on o.id = sink.id when not matched then insert values (o.id, 1)",
        "execute block as begin delete from orders; end",
    ] {
        let first = session.rows(&format!("explain {sql}")).remove(0);
        let word = sql.split_whitespace().next().unwrap().to_uppercase();
        assert!(first.to_uppercase().contains(&word), "{first}");
    }
    session.commit();
    let counts = "select (select count(*) from orders), (select count(*) from sink), gen_id(numbers, 0) from rdb$database";
    assert_eq!(session.rows(counts), ["10000|0|0"]);
}

#[test]
fn analyze_counts_what_each_operator_did() {
    let (_database, mut session) = shop();
    let lines = analyze(
        &mut session,
        "select c.name, o.id from customer c left join orders o on o.customer = c.id and o.amount = 3 where c.city = 4",
    );
    let select = line(&lines, "Select Expression");
    let table = lines.iter().position(|line| line.operator.contains("\"CUSTOMER\" as")).expect("customers");
    let filter = &lines[table - 1];
    let expected: u64 = session
        .rows("select count(*) from customer c left join orders o on o.customer = c.id and o.amount = 3 where c.city = 4")[0]
        .parse()
        .unwrap();
    assert_eq!((select.rows, select.loops), (expected, 1));
    assert_eq!(filter.rows, 10);
    let looked_up = lines.iter().find(|line| line.operator.contains("ORDERS_CUSTOMER"));
    if let Some(looked_up) = looked_up {
        assert_eq!(looked_up.loops, 10, "once for each customer");
        assert_eq!(looked_up.rows, 5 * 200, "whatever the join asks besides");
    }
    assert!(select.milliseconds >= filter.milliseconds && filter.own <= filter.milliseconds);
    // Where the planner knows the values it is right.
    assert!((5.0..20.0).contains(&filter.estimated), "{filter:?}");
}

#[test]
fn queries_for_each_row_are_shown_with_their_loops() {
    let (_database, mut session) = shop();
    let lines = analyze(
        &mut session,
        "select c.id, (select first 1 o.note from orders o where o.customer = c.id order by o.amount, o.id) from customer c",
    );
    let query = line(&lines, "Sub-query: Value");
    assert_eq!((query.loops, query.rows), (100, 50));
    let sort = line(&lines, "Sort");
    assert_eq!(sort.loops, 100);
    // One that looks at nothing outside runs once, and is asked for that only when it is needed.
    let lines = analyze(&mut session, "select id from customer where id < (select avg(amount) from orders)");
    assert_eq!(line(&lines, "Sub-query (invariant): Value").loops, 1);
    let lines = analyze(
        &mut session,
        "select case when id < 0 then (select avg(amount) from orders) end from customer",
    );
    assert_eq!(line(&lines, "Sub-query (invariant): Value").loops, 0);
}

#[test]
fn scans_say_what_they_have_passed_over() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table t (n int, same int, k int)");
    session.execute("create table few (k int)");
    session.commit();
    for part in 0..5 {
        session.execute(&format!(
            "execute block as declare i int = 0; begin while (i < 20000) do begin
               insert into t values ({part} * 20000 + :i, 1, mod(:i, 1000)); i = i + 1; end end"
        ));
        session.commit();
    }
    session.execute("insert into few values (3)");
    session.execute("insert into few values (5)");
    session.commit();
    // A small part: blocks that cannot have such rows are not read, and rows that are not read are not said to be.
    let lines = analyze(&mut session, "select sum(same) from t where n >= 99000");
    let table = line(&lines, "Table \"T\"");
    let [read, blocks, skipped, _] = table.scanned.expect("a scan by columns");
    assert!(skipped > 0 && blocks > 0, "{table:?}");
    assert!((1_000..100_000).contains(&read), "{table:?}");
    assert_eq!(table.rows, read, "what the condition looked at");
    assert_eq!(line(&lines, "Filter").rows, 1_000);
    assert_eq!(line(&lines, "Aggregate").rows, 1);
    // A join that drops what has no partner says so to the scan.
    let lines = analyze(&mut session, "select count(*) from t join few on few.k = t.k where t.same = 1");
    let table = line(&lines, "Table \"T\"");
    let [read, _, _, without_partner] = table.scanned.expect("a scan by columns");
    assert_eq!((read, without_partner), (100_000, 100_000 - 200));
    assert_eq!(line(&lines, "Hash Join (inner)").rows, 200);
    assert_eq!(line(&lines, "Filter").rows, 200, "handed out to the join");
}

#[test]
fn rows_that_indexes_name_are_told_from_those_looked_at() {
    let (_database, mut session) = shop();
    session.execute("create index orders_amount on orders (amount)");
    session.commit();
    let lines = analyze(&mut session, "select id from orders where customer in (3, 9) or amount = 5");
    let expected = session.rows("select count(*) from orders where customer + 0 in (3, 9) or amount + 0 = 5");
    assert_eq!(line(&lines, "Filter").rows.to_string(), expected[0]);
    let table = line(&lines, "Table \"ORDERS\"");
    assert!(table.rows >= line(&lines, "Filter").rows, "{table:?}");
    if let Some([read, ..]) = table.scanned {
        assert!(table.rows <= read, "{table:?}");
    }
}

#[test]
fn memory_and_files_are_those_of_the_operator_that_takes_them() {
    let (database, mut session) = shop();
    let budget = database.engine().budget().clone();
    budget.set_limits(Limits { statement_memory: 1 << 20, ..Limits::default() });
    let lines = analyze(
        &mut session,
        "select o.id, o.note, c.name from orders o join customer c on c.id = o.customer order by o.note desc, o.id",
    );
    let sort = line(&lines, "Sort");
    assert!(sort.memory > 100_000 && sort.memory <= 1 << 20, "{sort:?}");
    assert!(sort.spilled > 100_000, "{sort:?}");
    let join = lines.iter().find(|line| line.operator.contains("Join")).expect("a join");
    assert!(join.memory < sort.memory && join.spilled == 0, "{join:?}");
    assert!(lines.iter().filter(|line| line.operator.contains("Table")).all(|line| line.memory == 0));
    let whole = line(&lines, "Select Expression");
    assert!(
        whole.memory >= sort.memory && whole.memory <= 1 << 20 && whole.spilled == sort.spilled,
        "{whole:?}"
    );
    session.rollback();
    let used = budget.usage(farbird_engine::budget::Resource::Memory).used;
    assert_eq!(used, 0, "all is given back");
}

#[test]
fn analyze_of_a_change_changes() {
    let (_database, mut session) = shop();
    session.execute("create table log (n int)");
    session
        .execute("create trigger noted for sink after insert as begin insert into log values (new.id); end");
    session.commit();
    let lines = analyze(
        &mut session,
        "insert into sink select id, amount from orders where customer = 7 returning id",
    );
    let insert = line(&lines, "Insert \"SINK\"");
    assert_eq!((insert.rows, insert.loops), (200, 1));
    assert_eq!(
        session.rows("select (select count(*) from sink), (select count(*) from log) from rdb$database"),
        ["200|200"]
    );
    let lines = analyze(
        &mut session,
        "update sink set n = (select max(amount) from orders o where o.customer = sink.id) where id < 50",
    );
    let of_sink = session.rows("select count(*) from sink where id < 50");
    assert_eq!(line(&lines, "Update \"SINK\"").rows.to_string(), of_sink[0]);
    assert!(lines.iter().any(|line| line.operator.contains("Sub-query") || line.operator.contains("Join")));
    assert_eq!(line(&analyze(&mut session, "delete from sink"), "Delete \"SINK\"").rows, 200);
    session.rollback();
    assert_eq!(session.rows("select count(*) from sink"), ["0"], "as any statement, in its transaction");
    // What fails is undone whole, and its error is the statement's own.
    let error = session.error("explain analyze insert into sink select 1, amount from orders");
    assert!(error.starts_with("unique_key_violation"), "{error}");
    assert_eq!(session.rows("select count(*) from sink"), ["0"]);
}

#[test]
fn routines_show_their_statements() {
    let (_database, mut session) = shop();
    session.execute(
        "create procedure totals (city int) returns (customer int, total bigint) as begin
           for select id from customer where city = :city into customer do begin
             select sum(amount) from orders where customer = :customer into total;
             suspend;
           end
         end",
    );
    session.execute(
        "create procedure empty_sink as begin insert into sink values (1, 1); delete from sink; end",
    );
    session.commit();
    let block = "execute block (city int = ?) returns (n int) as begin
           for select id from customer where city = :city into n do begin
             update orders set amount = amount where customer = :n; suspend;
           end
         end";
    let shown = session.run_with(&format!("explain {block}"), vec![Value::integer(4)]).expect("a block");
    assert_eq!(shown[0][3], Value::text("Execute Block"));
    let lines: Vec<Line> = session
        .run_with(&format!("explain analyze {block}"), vec![Value::integer(4)])
        .expect("a block")
        .iter()
        .map(|row| {
            let texts: Vec<String> = row.iter().map(|value| session.shown(value)).collect();
            parsed(&texts.join("|"))
        })
        .collect();
    assert_eq!(line(&lines, "Execute Block").rows, 10);
    let update = line(&lines, "Update \"ORDERS\" (line 3");
    assert_eq!((update.loops, update.rows), (10, 5 * 200));
    let lines = analyze(&mut session, "execute procedure empty_sink");
    assert_eq!(line(&lines, "Execute Procedure \"EMPTY_SINK\"").loops, 1);
    assert_eq!((line(&lines, "Insert \"SINK\"").rows, line(&lines, "Delete \"SINK\"").rows), (1, 1));
    // A procedure that is read like a table is one line.
    let lines = analyze(&mut session, "select * from totals(4)");
    assert_eq!(line(&lines, "Procedure \"TOTALS\" Scan").rows, 10);
}

#[test]
fn parameters_are_those_of_the_statement() {
    let (_database, mut session) = shop();
    let sql = "select count(*) from orders where customer = ? and id < ?";
    for explain in ["explain", "explain analyze"] {
        let description = session.prepare(&format!("{explain} {sql}")).expect("a statement");
        assert_eq!(description.parameters.len(), 2);
        session
            .run_with(&format!("{explain} {sql}"), vec![Value::integer(3), Value::integer(5_000)])
            .expect("rows");
    }
    let rows =
        session.run_with(&format!("explain analyze {sql}"), vec![Value::integer(3), Value::integer(5_000)]);
    let shown: Vec<String> = rows.expect("rows").iter().map(|row| session.shown(&row[2])).collect();
    assert!(shown.contains(&"100".to_owned()), "the rows that the parameters ask for: {shown:?}");
}

#[test]
fn whoever_explains_needs_what_the_statement_needs() {
    let (database, mut session) = shop();
    session.execute("grant select on customer to user reader");
    session.commit();
    let mut reader = database.attach("READER", None);
    assert!(!reader.rows("explain select * from customer").is_empty());
    for sql in [
        "select * from orders",
        "delete from customer",
        "select * from customer c join orders o on o.id = c.id",
    ] {
        for explain in ["explain", "explain analyze"] {
            let error = reader.error(&format!("{explain} {sql}"));
            assert!(error.starts_with("no_priv"), "{explain} {sql}: {error}");
        }
    }
}

#[test]
fn analyze_can_be_stopped() {
    let (_database, mut session) = shop();
    session.timeout = Some(Duration::from_millis(50));
    let endless = "select count(*) from orders a, orders b, orders c where a.id + b.id + c.id < 0";
    let error = session.error(&format!("explain analyze {endless}"));
    assert_eq!(error, "cancelled req_stmt_timeout");
    session.timeout = None;
    let interrupt = session.attachment().interrupt();
    interrupt.end();
    let canceller = std::thread::spawn(move || {
        for _ in 0..1_000 {
            std::thread::sleep(Duration::from_millis(10));
            interrupt.raise(StopReason::Cancelled);
        }
    });
    let error = session.run(&format!("explain analyze {endless}")).expect_err("a cancel");
    assert_eq!(described(&error), "cancelled");
    drop(canceller);
}

#[test]
fn what_cannot_be_explained_is_refused_and_the_words_stay_names() {
    let (_database, mut session) = shop();
    for sql in [
        "explain create table x (id int)",
        "explain commit",
        "explain",
        "explain analyze",
        "explain explain select 1 from rdb$database",
    ] {
        let error = session.error(sql);
        assert!(
            error.starts_with("sqlerr(-104)") || error.starts_with("dsql_error sqlerr(-104)"),
            "{sql}: {error}"
        );
    }
    session.execute("create table explain (analyze int)");
    session.commit();
    session.execute("insert into explain (analyze) values (1)");
    assert_eq!(session.rows("select explain.analyze from explain"), ["1"]);
    assert!(!session.rows("explain analyze select analyze from explain").is_empty());
    assert!(!session.rows("explain (select analyze from explain)").is_empty());
}

/// The plan shown is that of now, not that of when the statement was prepared.
#[test]
fn a_prepared_explain_follows_definitions() {
    let (_database, mut session) = shop();
    let sql = "explain select count(*) from orders where amount = 3 and id > 0";
    let statement = session.keep_prepared(sql).expect("EXPLAIN");
    let shown = |session: &mut Session| -> String {
        let rows = session.run_prepared(statement, 4, Vec::new()).expect("rows");
        rows.iter().map(|row| session.shown(&row[3])).collect::<Vec<_>>().join("\n")
    };
    let before = shown(&mut session);
    session.attachment().close_cursor(statement).expect("a close");
    session.execute("drop index orders_customer");
    session.execute("alter table orders add extra int");
    session.commit();
    let after = shown(&mut session);
    assert_eq!(before, after, "the same plan, found again");
}
