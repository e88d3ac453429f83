//! Stored procedures, functions and triggers, and what PSQL does to rows: as Firebird 4.0.5 does it.

mod psql_support;

use psql_support::Session;

fn stock() -> Session {
    Session::with(&[
        "create table t (id int not null primary key, v varchar(10))",
        "create exception e1 'message one'",
    ])
}

#[test]
fn rows_changed_before_an_error_stay_when_it_is_handled() {
    let mut session = stock();
    let rows = session.rows(
        "execute block returns (g int, n int) as
         begin
           insert into t values (1, 'a');
           begin
             insert into t values (2, 'b');
             insert into t values (1, 'c');
             when any do begin g = gdscode; n = (select count(*) from t); suspend; end
           end
           begin
             insert into t values (3, 'b');
             exception e1;
             when exception e1 do begin g = gdscode; n = (select count(*) from t); suspend; end
           end
         end",
    );
    assert_eq!(rows, ["335544665|2", "335544517|3"]);
}

#[test]
fn blocks_inside_a_handled_one_are_undone_by_themselves() {
    let mut session = stock();
    let rows = session.rows(
        "execute block returns (w varchar(5), n int) as
         declare x int = 40;
         begin
           w = 'loop';
           begin
             while (x < 50) do
             begin
               insert into t values (:x, 'l');
               x = x + 1;
               if (x = 45) then exception e1;
             end
             when any do begin n = (select count(*) from t); suspend; end
           end
           w = 'nest';
           begin
             insert into t values (60, 'n');
             begin
               insert into t values (61, 'n');
               insert into t values (61, 'n');
             end
             when any do begin n = (select count(*) from t); suspend; end
           end
           w = 'two';
           begin
             insert into t values (70, 'n');
             begin
               insert into t values (71, 'n');
               begin
                 insert into t values (72, 'n');
                 exception e1;
                 when gdscode arith_except do n = 0;
               end
               when exception e1 do begin n = (select count(*) from t); suspend; end
             end
             when any do n = -1;
           end
         end",
    );
    // The row of the fifth turn, and the first 61, went with their blocks; so did 72.
    assert_eq!(rows, ["loop|4", "nest|5", "two|7"]);
}

#[test]
fn a_failing_block_leaves_nothing() {
    let mut session = stock();
    let error = session.error(
        "execute block as\nbegin\n  insert into t values (5, 'a');\n  insert into t values (5, 'a');\nend",
    );
    assert!(
        error.starts_with("unique_key_violation(")
            && error.ends_with("stack_trace(At block line: 4, col: 3)"),
        "{error}"
    );
    assert_eq!(session.row("select count(*) from t"), "0");
}

#[test]
fn routines_that_fail_leave_nothing_even_if_handled() {
    let mut session = stock();
    session.execute("create procedure pins as begin insert into t values (10, 'p'); exception e1; end");
    session.execute(
        "create function fins returns int as begin insert into t values (20, 'p'); exception e1; return 1; end",
    );
    session.execute(
        "create procedure psel returns (a int) as
         begin insert into t values (30, 'p'); a = 1; suspend; insert into t values (31, 'p'); exception e1; end",
    );
    session.commit();
    let rows = session.rows(
        "execute block returns (w varchar(5), n int) as
         declare x int;
         begin
           w = 'proc';
           begin execute procedure pins; when any do begin n = (select count(*) from t); suspend; end end
           w = 'func';
           begin x = fins(); when any do begin n = (select count(*) from t); suspend; end end
           w = 'sel';
           begin for select a from psel into x do n = 0;
             when any do begin n = (select count(*) from t); suspend; end end
         end",
    );
    assert_eq!(rows, ["proc|0", "func|0", "sel|1"]);
}

#[test]
fn error_stacks_name_every_frame() {
    let mut session = stock();
    session.execute(
        "create procedure p1(a int) as\nbegin\n  if (a = 0) then exception e1;\n  execute procedure p1(a - 1);\nend",
    );
    session.execute(
        "create function f1(a int) returns int as\nbegin\n  if (a = 0) then exception e1;\n  return f1(a-1);\nend",
    );
    session.commit();
    let error = session.error("execute procedure p1(2)");
    assert!(
        error.ends_with(
            "stack_trace(At procedure 'P1' line: 3, col: 19\nAt procedure 'P1' line: 4, col: 3\n\
             At procedure 'P1' line: 4, col: 3)"
        ),
        "{error}"
    );
    let error = session.error("execute block as declare x int; begin\n  x = f1(1);\nend");
    assert!(
        error.ends_with(
            "stack_trace(At function 'F1' line: 3, col: 19\nAt function 'F1' line: 4, col: 3\n\
             At block line: 2, col: 3)"
        ),
        "{error}"
    );
}

#[test]
fn endless_recursion_ends() {
    let mut session = stock();
    session.execute("create procedure inf as begin execute procedure inf; end");
    session.commit();
    let error = session.error("execute procedure inf");
    assert!(error.starts_with("req_max_clones_exceeded stack_trace(At procedure 'INF'"), "{error}");
}

#[test]
fn texts_that_execute_each_other_end_and_each_place_is_told_once() {
    let mut session = stock();
    session.execute("create procedure p as begin execute statement 'execute procedure q'; end");
    session.execute("create procedure q as begin execute statement 'execute procedure p'; end");
    session.execute(
        "create procedure counted (n int) as
        begin
          if (n > 1) then execute statement 'execute procedure counted(' || (n - 1) || ')';
        end",
    );
    session.execute(
        "create procedure rows_of (n int) returns (a int) as
        begin for execute statement 'select a from rows_of(' || (n + 1) || ')' into a do suspend; end",
    );
    session.commit();
    assert_eq!(
        session.error("execute procedure p"),
        "exec_sql_max_call_exceeded stack_trace(At procedure 'P' line: 1, col: 29) \
         stack_trace(At procedure 'Q' line: 1, col: 29)"
    );
    session.execute("execute procedure counted(51)");
    assert!(session.error("execute procedure counted(52)").starts_with("exec_sql_max_call_exceeded"));
    assert!(session.error("select * from rows_of(1)").starts_with("exec_sql_max_call_exceeded"));
    // Texts that follow each other are not within each other.
    session.execute(
        "execute block as declare n int = 0; begin
          while (n < 100) do begin execute statement 'execute procedure counted(1)'; n = n + 1; end
        end",
    );
}

#[test]
fn procedures_have_defaults_and_outputs() {
    let mut session = stock();
    session.execute(
        "create procedure p(a int, b int = 5) returns (s int, d int) as
         begin s = a + b; d = a - b; suspend; s = 0; suspend; end",
    );
    session.commit();
    assert_eq!(session.row("execute procedure p(10)"), "15|5");
    assert_eq!(session.rows("select * from p(10, 1)"), ["11|9", "0|9"]);
    assert_eq!(
        session.row(
            "execute block returns (x int, y int) as
             begin execute procedure p(1, 2) returning_values x, y; suspend; end"
        ),
        "3|-1"
    );
    assert_eq!(session.error("execute procedure p"), "dsql_error prcmismat(P)");
    assert_eq!(session.error("execute procedure p(1, 2, 3)"), "dsql_error prcmismat(P)");
}

#[test]
fn functions_are_called_in_queries() {
    let mut session = stock();
    session.execute("create function plus(a int, b int = 1) returns int as begin return a + b; end");
    session.execute(
        "create function fact(n int) returns bigint as
         begin if (n <= 1) then return 1; return n * fact(n - 1); end",
    );
    session.commit();
    assert_eq!(session.row("select plus(2), plus(2, 3), fact(10) from rdb$database"), "3|5|3628800");
}

#[test]
fn triggers_fire_in_order_and_change_rows() {
    let mut session = stock();
    session.execute("create table log (n int, what varchar(40))");
    session.commit();
    session.execute(
        "create trigger t_b2 for t before insert or update position 2 as
         begin new.v = coalesce(new.v, '') || '2'; end",
    );
    session.execute(
        "create trigger t_b1 for t before insert or update position 1 as
         begin new.v = coalesce(new.v, 'null') || '1'; end",
    );
    session.execute(
        "create trigger t_a for t after insert or update or delete as
         begin
           insert into log values (coalesce(new.id, old.id),
             iif(inserting, 'I', iif(updating, 'U', 'D')) || coalesce(old.v, '-') || '>' || coalesce(new.v, '-'));
         end",
    );
    session.commit();
    session.execute("insert into t values (1, 'x')");
    session.execute("insert into t (id) values (2)");
    session.execute("update t set v = 'y' where id = 1");
    session.execute("delete from t where id = 2");
    assert_eq!(session.rows("select id, v from t"), ["1|y12"]);
    assert_eq!(
        session.rows("select n, what from log"),
        ["1|I->x12", "2|I->null12", "1|Ux12>y12", "2|Dnull12>-"]
    );
}

#[test]
fn a_failing_trigger_undoes_the_statement() {
    let mut session = stock();
    session.execute(
        "create trigger tb for t before insert as\nbegin\n  if (new.id = 200) then begin insert into t values (201, 'x'); exception e1; end\nend",
    );
    session.commit();
    let error = session.error("insert into t values (200, 'a')");
    assert!(error.ends_with("stack_trace(At trigger 'TB' line: 3, col: 65)"), "{error}");
    assert_eq!(session.row("select count(*) from t"), "0");
}

#[test]
fn old_and_new_are_there_when_the_row_is() {
    let mut session = stock();
    let mut status = |sql: &str| {
        let error = session.error(sql);
        error.split_once(' ').map_or(error.clone(), |(_, rest)| rest.to_owned())
    };
    assert!(
        status("create trigger tb for t before insert as begin new.v = old.v; end")
            .contains("dsql_field_err random(OLD.V)")
    );
    assert!(
        status("create trigger tb for t before delete as begin new.v = 'x'; end")
            .contains("dsql_field_err random(NEW.V)")
    );
    assert!(
        status("create trigger tb for t after insert as begin new.v = 'x'; end")
            .contains("read_only_field(T.V)")
    );
    assert!(
        status("create trigger tb for t before update as begin old.v = 'x'; end")
            .contains("read_only_field(T.V)")
    );
}

#[test]
fn inputs_and_results_obey_not_null() {
    let mut session = stock();
    session.execute("create function f9(a int not null) returns int not null as begin return null; end");
    session.execute("create procedure p9(a int not null) as begin end");
    session.commit();
    assert_eq!(
        session.error("select f9(1) from rdb$database"),
        "not_valid_for_var(number 1, *** null ***) stack_trace(At function 'F9' line: 1, col: 66)"
    );
    assert_eq!(
        session.error("select f9(null) from rdb$database"),
        "not_valid_for_var(A, *** null ***) stack_trace(At function 'F9')"
    );
    assert_eq!(
        session.error("execute procedure p9(null)"),
        "not_valid_for_var(A, *** null ***) stack_trace(At procedure 'P9')"
    );
}

#[test]
fn dml_gives_values_and_counts_back() {
    let mut session = stock();
    let rows = session.rows(
        "execute block returns (a int, v varchar(10), n int) as
         begin
           insert into t values (1, 'x') returning id, v into a, v; n = row_count; suspend;
           insert into t values (2, 'y');
           update t set v = 'q'; n = row_count; suspend;
           update t set v = 'z' where id = 99 returning id into a; n = row_count; suspend;
           delete from t where id = 2 returning id, v into a, v; n = row_count; suspend;
           update or insert into t values (1, 'uoi') matching (id) returning v into v; suspend;
         end",
    );
    assert_eq!(rows, ["1|x|1", "1|x|2", "1|x|0", "2|q|1", "2|uoi|1"]);
    session.execute("insert into t values (3, 'c')");
    assert_eq!(
        session.error(
            "execute block as declare a int;\nbegin\n  update t set v = 'q' where id > 0 returning id into a;\nend"
        ),
        "sing_select_err stack_trace(At block line: 3, col: 3)"
    );
}

#[test]
fn where_current_of_means_the_cursor_s_row() {
    let mut session = stock();
    for id in 1..=3 {
        session.execute(&format!("insert into t values ({id}, 'a')"));
    }
    session.execute(
        "execute block as
         declare c cursor for (select id, v from t order by id);
         begin
           open c;
           fetch c; fetch c;
           update t set v = 'second' where current of c;
           close c;
           for select id from t as cursor d do
             if (d.id = 3) then delete from t where current of d;
         end",
    );
    assert_eq!(session.rows("select id, v from t order by id"), ["1|a", "2|second"]);
}

/// As in Firebird 5: what a cursor has deleted is let go; of a row that another statement has deleted only the DELETE of a loop is.
#[test]
fn where_current_of_a_row_that_is_gone() {
    let mut session = stock();
    for id in 1..=3 {
        session.execute(&format!("insert into t values ({id}, 'a')"));
    }
    let (update, delete) = ("update t set v = 'x' where current of c", "delete from t where current of c");
    for (gone, then, in_loop, declared) in [
        (delete, update, true, true),
        (delete, delete, true, true),
        ("delete from t where id = c.id", delete, true, false),
        ("delete from t where id = c.id", update, false, false),
    ] {
        let looping = format!(
            "execute block as begin for select id from t as cursor c do begin {gone}; {then}; end end"
        );
        let fetching = format!(
            "execute block as declare c cursor for (select id from t); begin open c; fetch c; {gone}; {then}; end"
        );
        for (lets_go, sql, left) in [(in_loop, looping, "0"), (declared, fetching, "2")] {
            session.execute("savepoint s");
            if lets_go {
                session.execute(&sql);
                assert_eq!(session.rows("select count(*) from t"), [left], "{sql}");
            } else {
                let error = session.error(&sql);
                assert!(error.starts_with("no_cur_rec"), "{sql}: {error}");
            }
            session.execute("rollback to savepoint s");
        }
    }
}

#[test]
fn statements_see_what_those_before_them_did() {
    let mut session = stock();
    let row = session.row(
        "execute block returns (n int, m int) as
         begin
           insert into t values (1, 'a');
           insert into t select id + 10, v from t;
           n = (select count(*) from t);
           for select id from t into m do insert into t values (:m + 100, 'l');
           select count(*) from t into m;
           suspend;
         end",
    );
    assert_eq!(row, "2|4");
}

#[test]
fn autonomous_transactions_commit_by_themselves() {
    let mut session = stock();
    session.execute("create table log (n int)");
    session.commit();
    let error = session.error(
        "execute block as
         begin
           insert into t values (1, 'a');
           in autonomous transaction do insert into log values (1);
           begin
             in autonomous transaction do begin insert into log values (2); exception e1; end
             when any do insert into t values (2, 'handled');
           end
           in autonomous transaction do begin insert into log values (3); end
           exception e1;
         end",
    );
    assert!(error.starts_with("except("), "{error}");
    session.commit();
    assert_eq!(session.rows("select n from log order by n"), ["1", "3"]);
    assert_eq!(session.row("select count(*) from t"), "0");
}

#[test]
fn what_autonomous_transactions_define_stays() {
    let mut session = stock();
    let made = session.row(
        "execute block returns (unseen int) as
         begin
           unseen = 0;
           execute statement 'create table made (a int)' with autonomous transaction;
           execute statement 'alter table made add b int default 7' with autonomous transaction;
           execute statement 'insert into made (a) values (1)' with autonomous transaction;
           in autonomous transaction do execute statement 'create sequence counted';
           begin
             in autonomous transaction do begin execute statement 'create table never (a int)'; exception e1; end
             when any do unseen = unseen + 1;
           end
           begin
             execute statement 'insert into made (a) values (2)';
             when any do unseen = unseen + 1;
           end
           suspend;
         end",
    );
    assert_eq!(
        made, "2",
        "an exception undoes definitions; a statement goes on with the catalog that it began with"
    );
    session.rollback();
    session.execute("insert into made (a) values (3)");
    assert_eq!(session.rows("select a, b from made order by a"), ["1|7", "3|7"]);
    assert_eq!(session.row("select next value for counted from rdb$database"), "1");
    assert!(session.error("select * from never").contains("NEVER"));
}

#[test]
fn the_block_of_the_article_runs() {
    let mut session = Session::with(&[
        "CREATE TABLE BLOB_SAMPLE (ID BIGINT GENERATED BY DEFAULT AS IDENTITY,
           FILE_NAME VARCHAR(255) CHARACTER SET UTF8 NOT NULL, CONTENT BLOB SUB_TYPE TEXT CHARACTER SET UTF8)",
        "ALTER TABLE BLOB_SAMPLE ADD PRIMARY KEY (ID)",
        "ALTER TABLE BLOB_SAMPLE ADD UNIQUE (FILE_NAME)",
        "RECREATE TABLE BLOB_TEST (ID BIGINT GENERATED BY DEFAULT AS IDENTITY,
           SHORT_CONTENT VARCHAR(8191) CHARACTER SET UTF8, CONTENT BLOB SUB_TYPE TEXT CHARACTER SET UTF8,
           SHORT_BLOB BOOLEAN DEFAULT FALSE NOT NULL, CONSTRAINT PK_BLOB_TEST PRIMARY KEY (ID))",
    ]);
    session.execute("insert into blob_sample (file_name, content) values ('b', 'short')");
    session.execute("insert into blob_sample (file_name, content) values ('a', lpad('', 9000, 'x'))");
    session.commit();
    session.execute(
        "EXECUTE BLOCK AS
         DECLARE I INTEGER = 0; DECLARE IS_SHORT BOOLEAN;
         BEGIN
           WHILE (TRUE) DO
           BEGIN
             FOR SELECT ID, CONTENT, CHAR_LENGTH(CONTENT) AS CH_L FROM BLOB_SAMPLE ORDER BY FILE_NAME AS CURSOR C
             DO
             BEGIN
               I = I + 1;
               IS_SHORT = (C.CH_L < 8191);
               INSERT INTO BLOB_TEST (SHORT_CONTENT, CONTENT, SHORT_BLOB)
                 VALUES (IIF(:IS_SHORT, :C.CONTENT, NULL), :C.CONTENT, :IS_SHORT);
               IF (I = 100) THEN EXIT;
             END
           END
         END",
    );
    session.commit();
    assert_eq!(session.row("select count(*), min(id), max(id) from blob_test"), "100|1|100");
    assert_eq!(
        session.row(
            "select first 1 id, short_content, content, short_blob from blob_test where short_blob is true"
        ),
        "2|short|short|TRUE"
    );
    assert_eq!(
        session.row(
            "select count(*), sum(char_length(content)), count(short_content) from blob_test where not short_blob"
        ),
        "50|450000|0"
    );
}

#[test]
fn blocks_need_the_privileges_of_what_they_use() {
    let mut session = stock();
    session.execute("create procedure p returns (a int) as begin a = 1; suspend; end");
    session.commit();
    let mut guest = session.attach_as("GUEST");
    for block in [
        "execute block as begin insert into t values (1, 'x'); end",
        "execute block returns (n int) as begin n = (select count(*) from t); end",
        "execute block returns (n int) as begin for select id from t into n do suspend; end",
        "execute block returns (n int) as begin execute procedure p returning_values n; end",
        "execute block as begin execute statement 'insert into t values (1, ''x'')'; end",
        "execute procedure p",
    ] {
        assert!(guest.error(block).starts_with("no_priv("), "{block}");
    }
}

#[test]
fn a_selectable_procedure_sees_behind_suspend_what_it_has_changed() {
    let mut session = Session::with(&[
        "create table t (id int not null primary key, a int, b int)",
        "create table q (id int)",
        "insert into t values (1, 10, 0)",
        "create procedure move returns (o int) as
         begin
           update t set a = a - 5 where id = 1; o = 1; suspend;
           select a from t where id = 1 into :o; suspend;
           update t set b = b + 5 where id = 1; o = 2; suspend;
         end",
        "create procedure fill returns (o int) as
         begin
           insert into q values (1); o = 0; suspend;
           select count(*) from q into :o; suspend;
           delete from q; o = row_count; suspend;
           select count(*) from q into :o; suspend;
         end",
        "create procedure around returns (o int) as
         declare n int;
         begin
           for select o from move into :n do
           begin
             update t set a = a + 100 where id = 1;
             o = (select a from t where id = 1);
             suspend;
           end
           o = (select b from t where id = 1);
           suspend;
         end",
    ]);
    assert_eq!(session.rows("select o from move"), ["1", "5", "2"]);
    assert_eq!(session.rows("select a, b from t"), ["5|5"]);
    assert_eq!(session.rows("select o from fill"), ["0", "1", "1", "0"]);
    assert_eq!(session.rows("select count(*) from q"), ["0"]);
    assert_eq!(session.rows("select o from around"), ["100", "200", "300", "10"]);
    assert_eq!(session.rows("select a, b from t"), ["300|10"]);
}
