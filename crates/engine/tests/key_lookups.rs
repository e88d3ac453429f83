//! Rows looked up and changed by whole keys of unique indexes, again and again in loops: what is found and what becomes of them is what
//! scans find, whatever happens between two executions of a statement.

mod ddl_support;

use ddl_support::{Session, TestDatabase};
use farbird_engine::api::{Isolation, TransactionParameters};

/// A table whose rows are found by three keys.
fn create(session: &mut Session) {
    session.execute(
        "create table t (id int, a smallint not null, b varchar(12) character set utf8 collate unicode_ci, v int, \
         note varchar(40))",
    );
    session.execute("create unique index t_id on t (id)");
    session.execute("create unique descending index t_ab on t (a, b)");
    session.execute("create unique index t_v on t computed by (v * 2)");
    session.commit();
    session.execute(
        "execute block as declare i int = 0; begin while (i < 400) do begin \
         insert into t values (:i, mod(:i, 20), 'b' || (:i / 20), :i, 'note ' || :i); i = i + 1; end end",
    );
    session.commit();
}

#[test]
fn loops_find_by_key_what_scans_find() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    for seed in 1..=4 {
        // A linear congruential generator says what is done next, and with which row.
        let row = session.rows(&format!(
            "execute block returns (wrong int, found int, changed int, dup int) as
             declare i int = 0; declare r bigint = {seed}; declare k int; declare op int;
             declare x varchar(60); declare y varchar(60);
             begin
               wrong = 0; found = 0; changed = 0; dup = 0;
               while (i < 200) do
               begin
                 i = i + 1;
                 r = mod(r * 1103515245 + 12345, 2147483648);
                 op = mod(r / 65536, 10);
                 r = mod(r * 1103515245 + 12345, 2147483648);
                 k = mod(r / 65536, 440) - 5;
                 if (k = 434) then k = null;
                 begin
                   if (op = 0) then
                   begin
                     update t set note = note || '+' where id = :k; changed = changed + row_count;
                   end
                   else if (op = 1) then
                   begin
                     update t set id = id + 1000 where id = :k; changed = changed + row_count;
                   end
                   else if (op = 2) then
                   begin
                     delete from t where a = mod(:k, 20) and b = 'B' || (:k / 20); changed = changed + row_count;
                   end
                   else if (op = 3) then
                     insert into t values (:k, mod(:k, 20), 'b' || (:k / 20), -:i - {seed} * 10000, 'new');
                   else if (op = 4) then
                   begin
                     update t set v = v + 100000, note = 'v' where id = :k + 1000; changed = changed + row_count;
                   end
                   when any do dup = dup + 1;
                 end
                 x = null; y = null;
                 select note || id from t where id = :k into x;
                 found = found + row_count;
                 select note || id from t where id + 0 = :k into y;
                 if (x is distinct from y) then wrong = wrong + 1;
                 x = null; y = null;
                 select t.v || t.b from t where t.a = mod(:k, 20) and t.b = 'B' || (:k / 20) and t.v > -1000000 into x;
                 found = found + row_count;
                 select t.v || t.b from t where t.a + 0 = mod(:k, 20) and t.b || '' = 'B' || (:k / 20) into y;
                 if (x is distinct from y) then wrong = wrong + 1;
                 x = null; y = null;
                 select id from t where v * 2 = :k * 2 into x;
                 found = found + row_count;
                 select id from t where v + 0 = :k into y;
                 if (x is distinct from y) then wrong = wrong + 1;
               end
               suspend;
             end"
        ));
        let counts: Vec<i64> = row[0].split('|').map(|count| count.parse().unwrap()).collect();
        assert_eq!(counts[0], 0, "seed {seed}: {row:?}");
        assert!(counts[1] > 60 && counts[2] > 10, "seed {seed}: {row:?}");
        if seed % 2 == 0 {
            session.commit();
        } else if seed == 3 {
            session.rollback();
        }
    }
}

#[test]
fn values_of_other_types_find_what_is_equal_to_them() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    let rows = session.rows(
        "execute block returns (n int, found int) as
         declare d double precision; declare x varchar(20); declare big bigint; declare f decfloat;
         begin
           n = 0;
           while (n < 6) do
           begin
             n = n + 1;
             d = n + iif(n = 3, 0.5, 0); x = ' ' || n; big = iif(n = 4, 5000000000, n); f = n;
             found = 0; select 1 from t where id = :d into found; suspend;
             found = 0; select 1 from t where id = :x into found; suspend;
             found = 0; select 1 from t where id = :big into found; suspend;
             found = 0; select 1 from t where id = :f into found; suspend;
           end
         end",
    );
    let expected: Vec<String> = (1..=6)
        .flat_map(|n| {
            let found = [n != 3, true, n != 4, true];
            found.map(|found| format!("{n}|{}", i32::from(found)))
        })
        .collect();
    assert_eq!(rows, expected);
}

#[test]
fn a_statement_that_fails_in_a_loop_is_undone_alone() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    session.execute("create exception refused 'refused'");
    session.execute("create table log (id int)");
    session.commit();
    session.execute(
        "create trigger t_u for t after update as begin \
         insert into log values (new.id); if (mod(new.id, 7) = 3) then exception refused; end",
    );
    session.commit();
    let rows = session.rows(
        "execute block returns (done int, failed int, logged int, changed int) as declare i int = 0; begin
           done = 0; failed = 0;
           while (i < 50) do
           begin
             update t set note = 'changed' where id = :i;
             done = done + row_count;
             i = i + 1;
             when exception refused do begin failed = failed + 1; i = i + 1; end
           end
           select count(*) from log into logged;
           select count(*) from t where note = 'changed' into changed;
           suspend;
         end",
    );
    // Of 0 to 49 seven leave 3: 3, 10, 17, 24, 31, 38, 45.
    assert_eq!(rows, ["43|7|43|43"]);
}

#[test]
fn a_routine_that_calls_itself_uses_a_look_up_at_each_level() {
    let (_database, mut session) = TestDatabase::create();
    create(&mut session);
    session.execute(
        "create procedure down (n int) returns (s int) as declare v int; declare rest int; begin
           select t.v from t where t.id = :n into v;
           rest = 0;
           if (n > 0) then execute procedure down(n - 1) returning_values rest;
           update t set note = note || '.' where t.id = :n;
           if (n > 0) then execute procedure down(0) returning_values v;
           select t.v from t where t.id = :n into v;
           s = rest + v;
           suspend;
         end",
    );
    session.commit();
    assert_eq!(session.rows("select s from down(20)"), ["210"]);
    assert_eq!(
        session.rows("select note from t where id in (0, 1, 20) order by id"),
        [format!("note 0{}", ".".repeat(21)), "note 1.".to_owned(), "note 20.".to_owned(),]
    );
}

/// What each statement leaves of the rows is what Firebird 5 leaves.
#[test]
fn look_ups_in_the_middle_of_an_update_see_the_rows_that_it_has_changed() {
    let (_database, mut session) = TestDatabase::create();
    session.execute("create table c (id int not null primary key, v int, before int, behind int)");
    session.commit();
    session.execute(
        "create function v_of (k int) returns int as declare x int; begin \
         select v from c where id = :k into x; return x; end",
    );
    session.execute(
        "create function is_there (k int) returns int as declare x int = 0; begin \
         select 1 from c where id = :k into x; return x; end",
    );
    session.execute(
        "execute block as declare i int = 0; begin \
         while (i < 8) do begin i = i + 1; insert into c (id, v) values (:i, :i); end end",
    );
    session.commit();
    let left_by = |session: &mut Session, update: &str, expected: [&str; 8]| {
        session.execute(update);
        let rows = session.rows(
            "select id || ' ' || v || ' ' || coalesce(before, '-') || ' ' || coalesce(behind, '-') from c order by id",
        );
        assert_eq!(rows, expected, "{update}");
        session.rollback();
    };
    left_by(
        &mut session,
        "update c set v = v * 10, before = v_of(id - 1), behind = v_of(id + 1)",
        [
            "1 10 - 2",
            "2 20 10 3",
            "3 30 20 4",
            "4 40 30 5",
            "5 50 40 6",
            "6 60 50 7",
            "7 70 60 8",
            "8 80 70 -",
        ],
    );
    left_by(
        &mut session,
        "update c set id = id + 100, before = is_there(id), behind = is_there(id + 99)",
        [
            "101 1 1 0",
            "102 2 1 1",
            "103 3 1 1",
            "104 4 1 1",
            "105 5 1 1",
            "106 6 1 1",
            "107 7 1 1",
            "108 8 1 1",
        ],
    );
    // A subquery belongs to the statement, which goes through the rows as they were.
    left_by(
        &mut session,
        "update c set v = v * 10, before = (select x.v from c x where x.id = c.id - 1), \
         behind = (select x.v from c x where x.id = c.id + 1)",
        ["1 10 - 2", "2 20 1 3", "3 30 2 4", "4 40 3 5", "5 50 4 6", "6 60 5 7", "7 70 6 8", "8 80 7 -"],
    );
    session.execute(
        "create trigger c_u for c before update as begin \
         select v from c where id = new.id - 1 into new.before; select v from c where id = new.id into new.behind; \
         if (mod(new.id, 3) = 0) then update c set v = -1 where id = new.id + 1 and v > 0; end",
    );
    session.commit();
    session.execute("update c set v = v * 10 where v > 0");
    let rows = session.rows(
        "select id || ' ' || v || ' ' || coalesce(before, '-') || ' ' || coalesce(behind, '-') from c order by id",
    );
    assert_eq!(
        rows,
        [
            "1 10 - 1",
            "2 20 10 2",
            "3 30 20 3",
            "4 40 30 -1",
            "5 50 40 5",
            "6 60 50 6",
            "7 70 60 -1",
            "8 80 70 8"
        ]
    );
}

#[test]
fn what_others_do_between_two_executions_counts_as_the_isolation_says() {
    let (database, mut session) = TestDatabase::create();
    create(&mut session);
    let mut other = database.attach("SYSDBA", None);
    session.execute(
        "create procedure look (n int) returns (x varchar(60)) as begin \
         select note || '/' || id from t where id = :n into x; suspend; end",
    );
    session.commit();
    for (isolation, after) in [(Isolation::Snapshot, "note 5/5"), (Isolation::ReadCommitted, "other/5")] {
        session.start(TransactionParameters { isolation, ..TransactionParameters::default() });
        assert_eq!(session.rows("select x from look(5)"), ["note 5/5"]);
        other.execute("update t set note = 'other' where id = 5");
        other.execute("delete from t where id = 6");
        other.execute("update t set id = 6 where id = 7");
        other.commit();
        assert_eq!(session.rows("select x from look(5)"), [after]);
        let moved =
            if isolation == Isolation::Snapshot { ["note 6/6", "note 7/7"] } else { ["note 7/6", "NULL"] };
        assert_eq!(session.rows("select x from look(6)"), [moved[0]]);
        let last = session.rows("select coalesce(x, 'NULL') from look(7)");
        assert_eq!(last, [moved[1]]);
        session.commit();
        session.execute("update t set note = 'note 5' where id = 5");
        session.execute("update t set id = 7 where id = 6");
        session.execute("insert into t values (6, 6, 'b0', 6, 'note 6')");
        session.commit();
    }
}

#[test]
fn definitions_and_privileges_may_change_between_two_executions() {
    let (database, mut session) = TestDatabase::create();
    create(&mut session);
    session.execute(
        "create procedure look (n int) returns (x varchar(60)) as begin \
         update t set note = note || '!' where id = :n returning note into x; \
         select note || '/' || id from t where id = :n into x; suspend; end",
    );
    session.commit();
    session.execute("grant execute on procedure look to user reader");
    session.execute("grant select, update on t to procedure look");
    session.commit();
    let mut reader = database.attach("READER", None);
    assert_eq!(reader.rows("select x from look(5)"), ["note 5!/5"]);
    reader.commit();
    session.execute("drop index t_id");
    session.commit();
    assert_eq!(reader.rows("select x from look(5)"), ["note 5!!/5"]);
    reader.commit();
    session.execute("create unique index t_again on t (id, a)");
    session.execute("create unique descending index t_id on t (id)");
    session.execute("alter table t alter id type bigint");
    session.commit();
    assert_eq!(reader.rows("select x from look(5)"), ["note 5!!!/5"]);
    reader.commit();
    session.execute("revoke update on t from procedure look");
    session.commit();
    let error = reader.error("select x from look(5)");
    assert!(error.contains("no_priv(UPDATE"), "{error}");
}
