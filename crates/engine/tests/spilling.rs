//! Joins, sorts and groups of more rows than their statement's memory: the same answers, and everything happens once.

mod ddl_support;

use ddl_support::{Session, TestDatabase};
use farbird_engine::budget::{Limits, Resource, STATEMENT_UNCOUNTED_BYTES};

/// Memory of a statement that must spill.
const LITTLE: u64 = 200_000;

fn set_memory(database: &TestDatabase, bytes: u64) {
    database.engine().budget().set_limits(Limits { statement_memory: bytes, ..Limits::default() });
}

/// Two tables with keys of every kind: some that are there once, one that half of all rows have, and NULL.
fn tables(rows: u32) -> (TestDatabase, Session) {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table a (k int, n int, t varchar(40))");
    session.execute("create table b (k int, n int, t varchar(40))");
    session.execute("create sequence s");
    session.commit();
    for (table, step) in [("a", 7), ("b", 3)] {
        session.execute(&format!(
            "execute block as declare i int = 0; begin
             while (i < {rows}) do begin
               insert into {table} values (
                 case when mod(i, 50) = 0 then null when mod(i, {step}) = 1 then -1 else i / {step} end,
                 i, 'row ' || i || ' of table {table}');
               i = i + 1;
             end end"
        ));
    }
    session.commit();
    (database, session)
}

fn sorted_rows(session: &mut Session, sql: &str) -> Vec<String> {
    let mut rows = session.rows(sql);
    rows.sort();
    rows
}

#[test]
fn joins_past_their_memory_give_the_same_rows() {
    let (database, mut session) = tables(2_000);
    // The table on the right has an expression around it, so that no index or order of its own is in the way.
    let queries = [
        "select a.n, b.n, b.t from a join b on a.k = b.k and mod(a.n + b.n, 100) = 3",
        "select a.n, b.n, b.t from a left join b on a.k = b.k and mod(a.n + b.n, 100) = 3",
        "select a.n, b.n, b.t from a full join b on a.k = b.k and mod(a.n + b.n, 100) = 3",
        "select a.n, b.n, b.t from a full join b on a.n = b.n + 1000 and a.k = b.k",
        "select a.n, b.n, a.t, b.t from a join b on a.n = b.n",
        "select a.n, b.n from (select * from a rows 100) a full join b on a.n > b.n + 1990",
        "select a.n, a.t from a where exists (select * from b where b.k = a.k and mod(a.n + b.n, 100) = 3)",
        "select a.n, a.t from a where not exists (select * from b where b.k = a.k and mod(a.n + b.n, 100) = 3)",
        "select a.n, a.t from a where a.n + 0 < 1500
         and exists (select * from b where b.n = a.n + 600 and b.t > '')",
        "select a.n, a.t from a where a.n + 0 < 1500
         and not exists (select * from b where b.n = a.n + 600 and b.t > '')",
        "select b.n, b.t from b where b.n in (select a.n + 900 from a)",
        "select b.n, a.t from (select * from b where n < 1500) b left join a on a.n = b.n + 700",
        "select c.n, x.n from (select n from a rows 3) c
         left join lateral (select a.n from a join b on a.n = b.n and a.n > c.n + 1990) x on true",
    ];
    for query in queries {
        set_memory(&database, u64::MAX);
        let expected = sorted_rows(&mut session, query);
        assert!(!expected.is_empty());
        set_memory(&database, LITTLE);
        assert!(sorted_rows(&mut session, query) == expected, "{query}");
    }
    let budget = database.engine().budget();
    assert!(budget.usage(Resource::Temporary).peak > 0);
    assert_eq!(budget.usage(Resource::Temporary).used, 0);
    assert_eq!(budget.usage(Resource::Memory).used, 0);
}

#[test]
fn a_join_past_its_memory_reads_each_side_once() {
    let (database, mut session) = tables(2_000);
    session.execute("create table log (n int)");
    session.execute(
        "create procedure p returns (n int) as begin
         for select n from a into :n do begin insert into log values (:n); suspend; end end",
    );
    session.commit();
    set_memory(&database, LITTLE);
    // Whichever side is read into memory, the procedure's rows and the sequence's numbers are made once.
    for (query, rows) in [
        ("select count(*) from p join b on b.n = p.n", 2_000),
        ("select count(*) from p left join (select * from b where n < 1500) b on b.n = p.n", 2_000),
        ("select count(*) from b full join p on b.n = p.n", 2_000),
        ("select count(*) from b left join p on b.n = p.n", 2_000),
    ] {
        session.execute("delete from log");
        assert_eq!(session.rows(query), [rows.to_string()], "{query}");
        assert_eq!(session.rows("select count(*), count(distinct n) from log"), ["2000|2000"], "{query}");
        session.rollback();
    }
    let numbered =
        "select count(distinct x.v), max(x.v) - min(x.v) from (select n, next value for s as v from a) x
         join b on b.n = x.n";
    assert_eq!(session.rows(numbered), ["2000|1999"]);
}

#[test]
fn sorts_and_groups_past_their_memory_give_the_same_rows() {
    let (database, mut session) = tables(3_000);
    for query in [
        "select n, t from a order by t desc, n",
        "select distinct t, k from a",
        "select k, count(*), sum(n), max(t) from a group by k",
        "select t, n from a union select t, n from b",
        "select sum(n), count(*) from (select n, t from a order by t)",
        "select n, row_number() over (partition by mod(n, 50) order by t) from a",
    ] {
        set_memory(&database, u64::MAX);
        let expected = session.rows(query);
        set_memory(&database, LITTLE);
        assert!(session.rows(query) == expected, "{query}");
    }
    assert_eq!(database.engine().budget().usage(Resource::Memory).used, 0);
}

#[test]
fn rows_that_are_kept_for_later_go_to_a_file() {
    let (database, mut session) = tables(3_000);
    set_memory(&database, LITTLE);
    let budget = database.engine().budget();
    let returned = session.rows("update a set t = t || '!' returning n, old.t, new.t");
    assert_eq!(returned.len(), 3_000);
    assert_eq!(returned[2_999], "2999|row 2999 of table a|row 2999 of table a!");
    session.rollback();
    assert!(budget.usage(Resource::Temporary).peak > 0);
    let scrolled = session.rows(
        "execute block returns (t varchar(40)) as
           declare c scroll cursor for (select t from a order by n);
         begin
           open c;
           fetch last from c into t; suspend;
           fetch first from c into t; suspend;
           fetch absolute 2000 from c into t; suspend;
           fetch prior from c into t; suspend;
           fetch relative -1000 from c into t; suspend;
         end",
    );
    let expected = [2_999, 0, 1_999, 1_998, 998].map(|n| format!("row {n} of table a"));
    assert_eq!(scrolled, expected);
    // Rows found by several ranges of an index come once, and MERGE knows which it has changed.
    session.execute("create index i on a (n)");
    session.commit();
    let overlapping = "select count(*), count(distinct n) from a where n < 2000 or n between 1000 and 2500 or n in (7, 2700)";
    assert_eq!(session.rows(overlapping), ["2502|2502"]);
    let twice = "merge into a using (select n from b union all select n from b) b on a.n = b.n
         when matched then update set t = 'merged'";
    assert!(session.error(twice).contains("merge_dup_update"));
    assert_eq!(budget.usage(Resource::Temporary).used, 0);
    assert_eq!(budget.usage(Resource::Memory).used, 0);
}

#[test]
fn statements_spill_when_others_have_the_servers_memory() {
    let (database, mut session) = tables(3_000);
    let mut other = database.attach("SYSDBA", None);
    let limits = Limits { server_memory: 600_000, ..Limits::default() };
    database.engine().budget().set_limits(limits);
    // Both sorts keep what they have while they are open.
    let sorted = "select t from a order by t desc";
    let cursor = other.open(sorted);
    other.fetch_one(cursor);
    let before = database.engine().budget().usage(Resource::Temporary).used;
    assert_eq!(session.rows("select count(*) from (select distinct n, t from a)"), ["3000"]);
    assert_eq!(session.rows("select count(*) from a join b on a.n = b.n"), ["3000"]);
    assert!(database.engine().budget().usage(Resource::Temporary).peak > before);
    assert!(database.engine().budget().usage(Resource::Memory).peak <= 600_000);
    other.rollback();
    drop((session, other));
    assert_eq!(database.engine().budget().usage(Resource::Memory).used, 0);
    assert_eq!(database.engine().budget().usage(Resource::Temporary).used, 0);
}

#[test]
fn partitions_past_their_memory_give_the_same_rows() {
    let (database, mut session) = tables(4_000);
    let functions = [
        "row_number()",
        "rank()",
        "dense_rank()",
        "percent_rank()",
        "cume_dist()",
        "ntile(7)",
        "lag(t, 3, 'none')",
        "lead(n, 1500)",
        "first_value(t)",
        "last_value(t)",
        "nth_value(n, 2000)",
        "sum(n)",
        "count(distinct k)",
        "max(t)",
    ];
    for function in functions {
        let order = match function {
            "count(distinct k)" => "",
            _ => "order by k, mod(n, 97)",
        };
        // One partition of all rows, and a few.
        for partition in ["", "partition by mod(n, 2)"] {
            let query = format!("select n, t, {function} over ({partition} {order}) from a");
            set_memory(&database, u64::MAX);
            let expected = session.rows(&query);
            set_memory(&database, 2 * LITTLE);
            assert_eq!(session.rows(&query), expected, "{query}");
            let budget = database.engine().budget();
            assert!(budget.usage(Resource::Temporary).peak > 0);
            assert_eq!(budget.usage(Resource::Memory).used, 0, "{query}");
            assert_eq!(budget.usage(Resource::Temporary).used, 0, "{query}");
        }
    }
}

#[test]
fn rows_that_indexes_find_are_charged_while_they_are_at_hand() {
    let (database, mut session) = TestDatabase::create();
    session.execute("create table wide (id int not null, t varchar(32000) character set ascii)");
    session.execute("create index wide_id on wide (id)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin
         while (i < 300) do begin insert into wide values (:i, rpad('', 30000, 'x')); i = i + 1; end end",
    );
    session.commit();
    // Row by row in the order of the index: 256 rows at a time.
    let query = "select count(*) from (select id from wide where char_length(t) > 5 plan (wide order wide_id) order by id)";
    set_memory(&database, 1_000_000);
    let refused = session.error(query);
    assert!(refused.starts_with("virmemexh") && refused.contains("statement-memory-mib"), "{refused}");
    set_memory(&database, 16_000_000);
    assert_eq!(session.rows(query), ["300"]);
    assert_eq!(database.engine().budget().usage(Resource::Memory).used, 0);
}

#[test]
fn temporary_space_has_a_limit_and_is_given_back() {
    let (database, mut session) = tables(3_000);
    let limits = Limits { statement_memory: LITTLE, statement_temporary: 100_000, ..Limits::default() };
    database.engine().budget().set_limits(limits);
    for query in
        ["select n, t from a order by k, t", "select count(*) from a join b on a.n = b.n and a.t <> b.t"]
    {
        let error = session.error(query);
        assert!(error.contains("out_of_temp_space") && error.contains("statement-temporary-mib"), "{error}");
    }
    let budget = database.engine().budget();
    assert_eq!(budget.usage(Resource::Temporary).used, 0);
    assert_eq!(budget.usage(Resource::Memory).used, 0);
    set_memory(&database, LITTLE);
    let cursor = session.open("select t from a order by k, t");
    session.fetch_one(cursor);
    assert!(budget.usage(Resource::Temporary).used > 0);
    let shown = "select max(t.farbird$temporary_used), max(m.mon$memory_used)
         from farbird$temporary_space t join mon$memory_usage m on m.mon$stat_id = t.farbird$stat_id
         where t.farbird$stat_group = 3";
    let shown = session.rows(shown).remove(0);
    let (temporary, memory) = shown.split_once('|').expect("two columns");
    assert!(temporary.parse::<u64>().expect("bytes") > 100_000, "{shown}");
    assert!((1..=LITTLE).contains(&memory.parse().expect("bytes")), "{shown}");
    session.rollback();
    assert_eq!(budget.usage(Resource::Temporary).used, 0);
}

#[test]
fn the_memory_of_a_sort_is_shown_as_long_as_its_cursor_is_open() {
    let (database, mut session) = tables(5_000);
    set_memory(&database, u64::MAX);
    let text_bytes: u64 =
        session.rows("select sum(char_length(t)) from a").remove(0).parse().expect("a number");
    // Of statements, attachments and the database: the largest of each.
    let shown = |session: &mut Session| -> Vec<u64> {
        let rows = session.rows(
            "select max(mon$memory_used) from mon$memory_usage where mon$stat_group in (0, 1, 3)
             group by mon$stat_group order by mon$stat_group desc",
        );
        session.commit();
        rows.iter().map(|row| row.parse().expect("bytes")).collect()
    };
    let cursor = session.open("select t from a order by t");
    session.fetch_one(cursor);
    // Not by this session, whose commit would close the cursor.
    let mut other = database.attach("SYSDBA", None);
    let open = shown(&mut other);
    let [statement, attachment, all] = open[..] else { panic!("{open:?}") };
    assert!(statement >= text_bytes && statement <= 20 * text_bytes, "{open:?}, {text_bytes} bytes of texts");
    // The first of a statement's bytes are its own affair.
    assert!(statement <= attachment + STATEMENT_UNCOUNTED_BYTES && attachment <= all, "{open:?}");
    session.rollback();
    let closed = shown(&mut other);
    assert!(closed.iter().all(|bytes| *bytes < text_bytes), "{closed:?}, {text_bytes} bytes of texts");
}

#[test]
fn the_memory_of_groups_and_joins_is_shown_while_their_rows_are_read() {
    let (database, mut session) = tables(5_000);
    set_memory(&database, u64::MAX);
    let text_bytes: u64 =
        session.rows("select sum(char_length(t)) from a").remove(0).parse().expect("a number");
    session.commit();
    let mut other = database.attach("SYSDBA", None);
    let mut shown = || -> u64 {
        let rows = other.rows("select max(mon$memory_used) from mon$memory_usage where mon$stat_group = 3");
        other.commit();
        rows[0].parse().expect("bytes")
    };
    for query in [
        "select t || count(*) from a group by t",
        "select distinct t from a",
        "select b.t from a join b on a.t || '' = replace(b.t, 'table b', 'table a')",
        "select count(*) over (order by t) from a",
    ] {
        let cursor = session.open(query);
        session.fetch_one(cursor);
        let open = shown();
        assert!(
            open >= text_bytes && open <= 40 * text_bytes,
            "{query}: {open} of {text_bytes} bytes of texts"
        );
        session.rollback();
        let closed = shown();
        assert!(closed < text_bytes, "{query}: {closed} when it is closed");
    }
    // Numbers take little, but not nothing.
    let cursor = session.open("select sum(n) from a group by n");
    session.fetch_one(cursor);
    let open = shown();
    assert!((5_000 * 8..5_000 * 200).contains(&open), "{open} for 5,000 groups");
    session.rollback();
}

#[test]
fn numbers_past_64_bits_are_grouped_among_others() {
    let (database, mut session) = tables(0);
    session.execute("create table w (k numeric(38, 2), n int)");
    session.commit();
    // The first ones look as if all were short.
    session.execute(
        "execute block as declare i int = 0; begin while (i < 9000) do begin
           insert into w values (iif(mod(:i, 11) = 0, null, mod(:i * 7919, 4000)
             * cast(iif(:i > 6000 and mod(:i, 3) = 0, '1000000000000000000000000000000', '0.25') as numeric(38, 2))), :i);
           i = i + 1; end end",
    );
    session.commit();
    let as_texts = "select cast(k as varchar(60)) x, count(*), sum(n) from w group by 1 order by 1";
    let as_numbers = "select cast(k as varchar(60)) x, c, s
         from (select k, count(*) c, sum(n) s from w group by k) d order by 1";
    let ordered = "select k from w group by k having count(*) > 0";
    set_memory(&database, u64::MAX);
    let expected = session.rows(as_texts);
    let in_order = session.rows("select distinct k from w order by k");
    assert!(expected.len() > 4_000, "{}", expected.len());
    for memory in [u64::MAX, LITTLE] {
        set_memory(&database, memory);
        assert!(session.rows(as_numbers) == expected, "{memory}");
        assert!(session.rows(ordered) == in_order, "{memory}");
        // Row by row, since one of the arguments can fail.
        let by_rows = session.rows(
            "select cast(k as varchar(60)) x, c, s
             from (select k, count(*) c, sum(iif(n < 0, 1 / (n - n), n)) s from w group by k) d order by 1",
        );
        assert!(by_rows == expected, "{memory}");
    }
}

#[test]
fn distinct_arguments_are_told_apart_as_numbers_as_values_and_in_files() {
    let (database, mut session) = tables(0);
    session.execute("create table w (id int, k numeric(38, 2), n int, d double precision)");
    session.commit();
    // The numbers come first, then such as have no place among them.
    session.execute(
        "execute block as declare i int = 0; begin while (i < 9000) do begin
           insert into w values (:i, iif(mod(:i, 11) = 0, null, mod(:i * 7919, 4000)
             * cast(iif(:i > 6000 and mod(:i, 3) = 0, '1000000000000000000000000000000', '0.25') as numeric(38, 2))),
             iif(mod(:i, 7) = 0, null, mod(:i * 7919, 4001)), mod(:i, 2000) / 4e0);
           i = i + 1; end end",
    );
    session.commit();
    for argument in ["k", "n", "n + 1", "iif(id < 4500, n, -n)", "d", "cast(n as date)", "id"] {
        let argument = match argument {
            "cast(n as date)" => "dateadd(n day to date '2000-01-01')",
            other => other,
        };
        let once = format!("select count(distinct {argument}), min(distinct {argument}) from w");
        let by_group =
            format!("select mod(id, 2) g, count(distinct {argument}) c from w group by 1 order by 1");
        let filtered = format!("select count(distinct {argument}) filter (where id > 3000) from w");
        set_memory(&database, u64::MAX);
        let expected = [
            session.rows(&format!("select count(x), min(x) from (select distinct {argument} x from w) d")),
            session.rows(&format!(
                "select g, count(x) c from (select distinct mod(id, 2) g, {argument} x from w) d group by 1 order by 1"
            )),
            session.rows(&format!("select count(x) from (select distinct {argument} x from w where id > 3000) d")),
        ];
        // Each group waits in a sort of its own.
        for memory in [u64::MAX, 2 * LITTLE, LITTLE] {
            set_memory(&database, memory);
            for (query, expected) in [&once, &by_group, &filtered].into_iter().zip(&expected) {
                if memory > LITTLE || query != &by_group {
                    assert!(session.rows(query) == *expected, "{query} with {memory}");
                }
            }
        }
    }
}

#[test]
fn aggregates_of_groups_are_those_of_the_groups_one_by_one() {
    let (database, mut session) = tables(2_000);
    for (columns, keys) in [("k", "k"), ("t", "t"), ("k, t", "k, t"), ("mod(n, 7) as m", "mod(n, 7)")] {
        let inner = format!("select {columns}, count(*) as c, sum(n) as s from a group by {keys}");
        // Counted, added up and compared here, and in whatever order the groups come there.
        for memory in [u64::MAX, LITTLE] {
            set_memory(&database, memory);
            let rows = session.rows(&format!("select c, s from ({inner}) g"));
            let numbers: Vec<(i64, i64)> = rows
                .iter()
                .map(|row| {
                    let mut fields = row.split('|').map(|field| field.trim().parse().unwrap());
                    (fields.next().unwrap(), fields.next().unwrap())
                })
                .collect();
            let count: i64 = numbers.iter().map(|(count, _)| count).sum();
            let most = numbers.iter().map(|(_, sum)| *sum).max().unwrap();
            let sql = format!("select count(*) || ' ' || sum(c) || ' ' || max(s) from ({inner}) g");
            assert_eq!(session.rows(&sql), [format!("{} {count} {most}", numbers.len())], "{sql}");
        }
        set_memory(&database, u64::MAX);
    }
}
