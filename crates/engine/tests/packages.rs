//! Packages beyond what a script shows (`scripts/packages.sql`): who may call them, in whose name they work, and what is seen
//! of their changes. Asked of Firebird 5 with the same statements.

mod psql_support;

use psql_support::Session;

const BODY: &str = "create package body p as begin
  procedure add_row (n integer) as begin insert into t values (:n); end
  function how_many returns integer as begin return (select count(*) from t); end
  function twice (n integer) returns integer as begin return 2 * n; end
end";

fn session() -> Session {
    Session::with(&[
        "create table t (a integer)",
        "create package p as begin
          procedure add_row (n integer); function how_many returns integer; function twice (n integer) returns integer;
        end",
        BODY,
    ])
}

/// What a statement of somebody's came to: its rows, or the words of the refusal.
fn outcome(somebody: &mut Session, sql: &str) -> String {
    let said = match somebody.try_rows(sql) {
        Ok(rows) => rows.join(" "),
        Err(error) => error.to_string(),
    };
    somebody.commit();
    said
}

fn execute(owner: &mut Session, sql: &str) {
    owner.execute(sql);
    owner.commit();
}

#[test]
fn a_package_is_granted_as_a_whole() {
    let mut owner = session();
    let mut ann = owner.attach_as("ANN");
    let call = "select p.twice(4) from rdb$database";
    let refused = outcome(&mut ann, call);
    assert!(refused.contains("EXECUTE") && refused.contains("PACKAGE P"), "{refused}");
    execute(&mut owner, "grant execute on package p to ann");
    assert_eq!(outcome(&mut ann, call), "8");
    // What its routines do is asked of the caller, unless it is granted to the package.
    let refused = outcome(&mut ann, "execute procedure p.add_row(1)");
    assert!(refused.contains("INSERT") && refused.contains("TABLE T"), "{refused}");
    execute(&mut owner, "grant insert on t to package p");
    assert_eq!(outcome(&mut ann, "execute procedure p.add_row(1)"), "");
    let refused = outcome(&mut ann, "select p.how_many() from rdb$database");
    assert!(refused.contains("SELECT") && refused.contains("TABLE T"), "{refused}");
    execute(
        &mut owner,
        "alter package p sql security definer as begin
          procedure add_row (n integer); function how_many returns integer; function twice (n integer) returns integer;
        end",
    );
    execute(&mut owner, BODY);
    assert_eq!(outcome(&mut ann, "select p.how_many() from rdb$database"), "1");
    execute(&mut owner, "revoke execute on package p from ann");
    assert!(outcome(&mut ann, call).contains("PACKAGE P"));
}

#[test]
fn packages_are_defined_by_those_who_may() {
    let mut owner = session();
    let mut ann = owner.attach_as("ANN");
    for (sql, word) in [
        ("create package q as begin end", "CREATE"),
        ("alter package p as begin end", "ALTER"),
        ("recreate package body p as begin end", "DROP"),
        ("drop package body p", "DROP"),
        ("drop package p", "DROP"),
        ("comment on package p is 'x'", "ALTER"),
        ("comment on function p.twice is 'x'", "ALTER"),
    ] {
        let refused = outcome(&mut ann, sql);
        assert!(refused.contains(word) && refused.contains("PACKAGE"), "{sql}: {refused}");
    }
    execute(&mut owner, "grant create package to ann");
    assert_eq!(outcome(&mut ann, "create package q as begin function one returns integer; end"), "");
    let body = "create package body q as begin function one returns integer as begin return 1; end end";
    assert_eq!(outcome(&mut ann, body), "");
    assert_eq!(outcome(&mut ann, "select q.one() from rdb$database"), "1");
    assert_eq!(
        owner.row("select rdb$owner_name from rdb$packages where rdb$package_name = 'Q'").trim(),
        "ANN"
    );
}

#[test]
fn callers_see_another_body_and_a_rollback() {
    let mut owner = session();
    execute(&mut owner, "create view v as select p.twice(a) b from t");
    execute(&mut owner, "create procedure g returns (r integer) as begin r = p.twice(3); suspend; end");
    execute(&mut owner, "insert into t values (5)");
    let ask = "select b, r from v, g";
    assert_eq!(owner.row(ask), "10|6");
    owner.commit();
    let thrice = "recreate package body p as begin
        procedure add_row (n integer) as begin end
        function how_many returns integer as begin return 0; end
        function twice (n integer) returns integer as begin return 3 * n; end
      end";
    owner.execute(thrice);
    assert_eq!(owner.row(ask), "15|9");
    owner.rollback();
    assert_eq!(owner.row(ask), "10|6");
    owner.commit();
    execute(&mut owner, thrice);
    assert_eq!(owner.row(ask), "15|9");
}

#[test]
fn endless_recursion_ends() {
    let mut owner = session();
    execute(&mut owner, "create package r as begin function f (n integer) returns integer; end");
    execute(
        &mut owner,
        "create package body r as begin function f (n integer) returns integer as begin return f(n + 1); end end",
    );
    let refused = outcome(&mut owner, "select r.f(1) from rdb$database");
    assert!(refused.contains("R.F"), "{refused}");
}

/// Names alone do not make a use: those of a package's own routines are its own inside it, others' stand behind its name.
#[test]
fn what_only_shares_its_name_is_dropped() {
    let mut owner = session();
    for sql in [
        "create procedure q as begin end",
        "create function g returns integer as begin return 1; end",
        "create package r as begin procedure q; function f returns integer; end",
        "create package body r as begin
           function g returns integer as begin return 2; end
           procedure q as begin end
           function f returns integer as begin execute procedure q; return g(); end
         end",
        "create procedure outside as declare f integer; begin f = 1; execute procedure r.q; end",
        "create procedure inside as declare n integer; begin n = g(); end",
    ] {
        execute(&mut owner, sql);
    }
    assert_eq!(outcome(&mut owner, "drop procedure q"), "");
    let refused = outcome(&mut owner, "drop function g");
    assert!(refused.contains("there are 1 dependencies"), "{refused}");
    execute(&mut owner, "drop procedure inside");
    assert_eq!(outcome(&mut owner, "drop function g"), "");
    assert_eq!(outcome(&mut owner, "select r.f() from rdb$database"), "2");
    assert_eq!(outcome(&mut owner, "alter package r as begin procedure q; end"), "");
    let refused = outcome(&mut owner, "drop package r");
    assert!(refused.contains("R.Q"), "{refused}");
}

#[test]
fn a_query_over_a_procedure_that_never_suspends_is_refused_once_its_body_is_known() {
    let mut owner = session();
    let (a, b) = ("procedure a returns (n integer)", "procedure b returns (n integer)");
    let query = "as begin for select n from b into n do suspend; end";
    for name in ["behind", "before", "hidden", "suspends"] {
        let header = match name {
            "hidden" | "suspends" => format!("create package {name} as begin {a}; end"),
            _ => format!("create package {name} as begin {a}; {b}; end"),
        };
        execute(&mut owner, &header);
    }
    let refused = |said: String| said.contains("has no SUSPEND");
    let sets = "as begin n = 3; end";
    // Its body comes later: there is nothing to refuse yet, and no rows then.
    let body = format!("create package body behind as begin {a} {query} {b} {sets} end");
    assert_eq!(outcome(&mut owner, &body), "");
    assert_eq!(outcome(&mut owner, "select * from behind.a"), "");
    assert!(refused(outcome(&mut owner, "select * from behind.b")));
    let body = format!("create package body before as begin {b} {sets} {a} {query} end");
    assert!(refused(outcome(&mut owner, &body)));
    let body = format!("create package body hidden as begin {b}; {a} {query} {b} {sets} end");
    assert!(refused(outcome(&mut owner, &body)));
    let body = format!(
        "create package body suspends as begin {b}; {a} {query} {b} as begin n = 3; suspend; end end"
    );
    assert_eq!(outcome(&mut owner, &body), "");
    assert_eq!(outcome(&mut owner, "select * from suspends.a"), "3");
}
