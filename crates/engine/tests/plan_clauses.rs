//! PLAN and OPTIMIZE FOR: the same statements as real Firebirds were given, with the same answers.
//!
//! tests/data/plan-clauses.tsv was recorded from Firebird 3.0, 4.0 and 5.0: a statement per line, and what each of the three
//! made of it: OK, the plan of a query that was only prepared (several lines of it separated by ` / `), or the status as
//! `symbol(arguments) symbol ...`. An answer of one of them will do.
//!
//! data/record_plan_clauses.py records it again.

mod ddl_support;

use ddl_support::{Session, TestDatabase, described};

/// Lines on which Farbird answers as none of them: the reason, the statement, its answer.
const DIFFERENCES: &str = include_str!("data/plan-clauses-differences.tsv");

fn difference(sql: &str) -> Option<&'static str> {
    DIFFERENCES.lines().find_map(|line| {
        let (_, answered) = line.split_once('\t').expect("a reason");
        answered.strip_prefix(sql)?.strip_prefix('\t')
    })
}

/// Statuses without the offsets in Firebird's BLR, symbols in small letters.
fn without_offsets(answer: &str) -> String {
    let answer = answer.replace("_BLR(", "_blr(");
    let mut words: Vec<String> = answer.split(' ').map(str::to_owned).collect();
    for word in &mut words {
        if word.starts_with("invalid_blr(") {
            *word = String::from("invalid_blr(2)");
        }
    }
    match words.iter().position(|word| word.starts_with("syntaxerr(")) {
        Some(place) => words[..place].join(" ") + " syntaxerr",
        None => words.join(" "),
    }
}

fn is_prepared(sql: &str) -> bool {
    let is_query = ["select", "with", "update", "delete", "merge"].iter().any(|word| sql.starts_with(word));
    is_query || sql.starts_with("insert into c ") && sql.contains("select")
}

fn answer(session: &mut Session, sql: &str) -> String {
    let answer = match is_prepared(sql) {
        true => session.prepare(sql).map(|description| description.plan.trim().replace('\n', " / ")),
        false => session.run(sql).map(|_| String::from("OK")),
    };
    match answer {
        Ok(answer) => {
            session.commit();
            answer
        }
        Err(error) => {
            session.rollback();
            described(&error)
        }
    }
}

#[test]
fn plan_clauses_are_answered_as_by_firebird() {
    let (_database, mut session) = TestDatabase::create();
    let mut differing = Vec::new();
    for line in include_str!("data/plan-clauses.tsv").lines() {
        let (sql, recorded) = line.split_once('\t').expect("a statement and its answers");
        let found = without_offsets(&answer(&mut session, sql));
        let is_right = match difference(sql) {
            Some(ours) => found == ours,
            None => recorded.split('\t').any(|recorded| without_offsets(recorded) == found),
        };
        if !is_right {
            differing.push(format!(
                "{sql}\n  recorded {}\n  found    {found}",
                recorded.replace('\t', "\n           ")
            ));
        }
    }
    assert!(differing.is_empty(), "{} of the answers differ:\n{}", differing.len(), differing.join("\n"));
}

/// A table of a thousand rows and one of as many that refers to it.
fn big_tables(session: &mut Session) {
    session.execute("create table t (id int not null constraint t_id primary key, a int, s varchar(20))");
    session.execute("create table u (id int not null constraint u_id primary key, t int, v int)");
    session.execute("create index t_a on t (a)");
    session.execute("create index u_t on u (t)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin while (i < 4000) do begin insert into t values (:i, mod(:i * 7919, 4001), 'x'); \
         insert into u values (:i, mod(:i * 3, 4000), :i); i = i + 1; end end",
    );
    session.commit();
    session.execute("set statistics index t_a");
    session.execute("set statistics index u_t");
    session.commit();
}

fn plan(session: &mut Session, sql: &str) -> String {
    session.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {}", described(&error))).plan.trim().to_owned()
}

#[test]
fn optimize_for_first_rows_neither_sorts_nor_hashes() {
    let (_database, mut session) = TestDatabase::create();
    big_tables(&mut session);
    let query = "select * from t join u on u.t = t.id";
    let (first, all) = ("PLAN JOIN (U NATURAL, T INDEX (T_ID))", "PLAN HASH (T NATURAL, U NATURAL)");
    assert_eq!(plan(&mut session, &format!("{query} optimize for first rows")), first);
    assert_eq!(plan(&mut session, &format!("{query} optimize for all rows")), all);
    assert_eq!(plan(&mut session, query), all);
    session.execute("set optimize for first rows");
    assert_eq!(plan(&mut session, query), first);
    assert_eq!(plan(&mut session, &format!("{query} optimize for all rows")), all);
    session.execute("set optimize to default");
    assert_eq!(plan(&mut session, query), all);
    session.attachment().set_default_first_rows(true);
    assert_eq!(plan(&mut session, query), first);
    session.execute("set optimize for all rows");
    assert_eq!(plan(&mut session, query), all);
    session.commit();
    session.execute("alter session reset");
    assert_eq!(plan(&mut session, query), first);
    session.attachment().set_default_first_rows(false);
    // Of an order the first rows come by its index; all of them are sorted, which is cheaper. A limit says FIRST too.
    let (walked, sorted) = ("PLAN (T ORDER T_A)", "PLAN SORT (T NATURAL)");
    let (ordered, limited) = ("select * from t order by a", "select first 5 * from t order by a");
    assert_eq!(plan(&mut session, &format!("{ordered} optimize for first rows")), walked);
    assert_eq!(plan(&mut session, &format!("{ordered} optimize for all rows")), sorted);
    assert_eq!(plan(&mut session, limited), walked);
    assert_eq!(plan(&mut session, &format!("{limited} optimize for all rows")), sorted);
    let mut first = session.rows(&format!("{query} optimize for first rows"));
    let mut all = session.rows(query);
    first.sort();
    all.sort();
    assert_eq!(first.len(), 4000);
    assert_eq!(first, all);
}

/// Names that Firebird looks up when it reads the BLR of a definition; "Firebird 5 says whose".
#[test]
fn a_missing_exception_is_found_in_the_definition() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table a (id int)");
    session.execute("create procedure p2 as begin end");
    session.commit();
    for (sql, status) in [
        (
            "create procedure p as begin exception nosuch; end",
            "invalid_blr(2) xcpnotdef(NOSUCH) bad_proc_BLR(P)",
        ),
        (
            "create function f returns int as begin exception nosuch; end",
            "invalid_blr(2) xcpnotdef(NOSUCH) bad_fun_BLR(F)",
        ),
        (
            "create trigger t for a before insert as begin exception nosuch; end",
            "invalid_blr(2) xcpnotdef(NOSUCH)",
        ),
        (
            "alter procedure p2 as begin exception nosuch 'text'; end",
            "invalid_blr(2) xcpnotdef(NOSUCH) bad_proc_BLR(P2)",
        ),
        (
            "create procedure p as begin insert into a values (1); when exception nosuch do begin end end",
            "invalid_blr(2) xcpnotdef(NOSUCH) bad_proc_BLR(P)",
        ),
        (
            "create procedure p as declare n bigint; begin n = gen_id(nosuch, 1); end",
            "invalid_blr(2) gennotdef(NOSUCH) bad_proc_BLR(P)",
        ),
        ("execute block as begin exception nosuch; end", "invalid_blr(2) xcpnotdef(NOSUCH)"),
    ] {
        assert_eq!(session.error(sql), status, "{sql}");
        session.rollback();
    }
}

#[test]
fn an_index_that_a_definition_names_is_not_dropped() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table a (id int, x int)");
    session.execute("create index a_x on a (x)");
    session.execute("create index a_id on a (id)");
    session.execute("create view v as select * from a where x = 1 plan (a index (a_x))");
    session.execute(
        "create procedure q returns (m int) as begin for select x from a where x = 1 plan (a index (a_x)) into m do suspend; end",
    );
    session.commit();
    let dependencies = "select trim(rdb$dependent_name), rdb$dependent_type, rdb$depended_on_type from rdb$dependencies \
                        where rdb$depended_on_name = 'A_X' order by 1";
    assert_eq!(session.rows(dependencies), ["Q|5|10", "V|1|10"]);
    assert_eq!(session.error("drop index a_x"), "no_meta_update no_delete index_name(A_X) dependency(2)");
    session.rollback();
    session.execute("drop index a_id");
    session.execute("drop view v");
    session.commit();
    // Names beside a PLAN, or beside a column of that name, are not those of indexes.
    session.execute("create table projects (id int, \"PLAN\" int)");
    session.execute("create index manager on projects (id)");
    session.execute("create view current_plans as select id manager, \"PLAN\" from projects");
    session.execute("create index lead on projects (\"PLAN\")");
    session.execute("create view led as select id lead from projects plan (projects natural)");
    session.commit();
    session.execute("drop index manager");
    session.execute("drop index lead");
    session.commit();
    // Inactive it may become: then the procedure fails.
    session.execute("alter index a_x inactive");
    session.commit();
    assert_eq!(session.error("select * from q"), "invalid_blr(2) indexname(A_X, A)");
}
