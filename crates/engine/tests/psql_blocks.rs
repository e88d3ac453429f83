//! EXECUTE BLOCK: control flow, variables, handlers, error stacks; results and statuses as Firebird 4.0.5 gave them.

mod psql_support;

use psql_support::Session;

#[test]
fn a_block_without_rows_runs() {
    let mut session = Session::new();
    assert_eq!(session.rows("execute block as begin end"), Vec::<String>::new());
}

#[test]
fn variables_loops_and_suspend() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (n int, f bigint) as
         declare i int = 1;
         declare variable p bigint default 1;
         begin
           while (i <= 5) do
           begin
             p = p * i;
             n = i; f = :p;
             suspend;
             i = i + 1;
           end
         end",
    );
    assert_eq!(rows, ["1|1", "2|2", "3|6", "4|24", "5|120"]);
}

#[test]
fn parameters_are_inputs() {
    let mut session = Session::new();
    let rows = session
        .run_with(
            "execute block (a int = ?, b varchar(10) = ?) returns (r varchar(30)) as
             begin r = b || '-' || (a + 1); suspend; end",
            vec![farbird_types::Value::integer(41), farbird_types::Value::text("x")],
        )
        .unwrap();
    assert_eq!(farbird_types::convert::to_display_text(&rows[0][0]), "x-42");
}

#[test]
fn outputs_without_suspend_are_no_row() {
    let mut session = Session::new();
    let rows = session.rows("execute block returns (a int) as begin a = 7; exit; a = 8; end");
    assert!(rows.is_empty(), "{rows:?}");
}

#[test]
fn leave_and_continue_obey_labels() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int, b int) as
         begin
           a = 0;
           rows_of: while (a < 5) do
           begin
             a = a + 1;
             b = 0;
             while (true) do
             begin
               b = b + 1;
               if (b > a) then continue rows_of;
               if (a = 4) then leave rows_of;
               if (b = 2) then leave;
               suspend;
             end
           end
         end",
    );
    assert_eq!(rows, ["1|1", "2|1", "3|1"]);
}

#[test]
fn if_takes_unknown_for_false() {
    let mut session = Session::new();
    let row = session.row(
        "execute block returns (a varchar(10)) as declare x int;
         begin if (x = 1) then a = 'true'; else a = 'not'; suspend; end",
    );
    assert_eq!(row, "not");
}

#[test]
fn queries_fill_variables() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int, b varchar(5), n int) as
         begin
           select 5, 'five' from rdb$database into a, b; n = row_count; suspend;
           select 6, 'six' from rdb$database where 1 = 0 into a, b; n = row_count; suspend;
           for select x, 't' || x from (select 1 x from rdb$database union all select 2 from rdb$database)
             into :a, :b do begin n = row_count; suspend; end
           for select x as y from (select 8 x from rdb$database union all select 9 from rdb$database)
             as cursor c do begin a = c.y; b = :c.y; suspend; end
         end",
    );
    assert_eq!(rows, ["5|five|1", "5|five|0", "1|t1|1", "2|t2|2", "8|8|2", "9|9|2"]);
}

#[test]
fn cursors_open_fetch_close() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int, n int) as
         declare c cursor for (select x from (select 1 x from rdb$database union all select 2 from rdb$database));
         begin
           open c;
           fetch c into a; n = row_count; suspend;
           fetch c; a = c.x; n = row_count; suspend;
           fetch c into a; n = row_count; suspend;
           close c;
         end",
    );
    assert_eq!(rows, ["1|1", "2|1", "2|0"]);
    assert_eq!(
        session.error(
            "execute block returns (a int) as declare c cursor for (select 1 x from rdb$database);
             begin fetch c into a; end"
        ),
        "cursor_not_open stack_trace(At block line: 2, col: 20)"
    );
}

#[test]
fn scroll_cursors_go_both_ways() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int) as
         declare c scroll cursor for (select x from (select 1 x from rdb$database
           union all select 2 from rdb$database union all select 3 from rdb$database));
         begin
           open c;
           fetch last from c into a; suspend;
           fetch prior from c into a; suspend;
           fetch first from c into a; suspend;
           fetch absolute 3 from c into a; suspend;
           fetch absolute -2 from c into a; suspend;
           fetch relative -1 from c into a; suspend;
           fetch next from c into a; suspend;
         end",
    );
    assert_eq!(rows, ["3", "2", "1", "3", "2", "1", "2"]);
}

#[test]
fn errors_tell_where_they_came_from() {
    let mut session =
        Session::with(&["create exception e1 'message one'", "create exception e2 'hello @1 and @2'"]);
    let number = |name: &str, session: &mut Session| {
        session.row(&format!(
            "select rdb$exception_number from rdb$exceptions where rdb$exception_name = '{name}'"
        ))
    };
    let (first, second) = (number("E1", &mut session), number("E2", &mut session));
    assert_eq!(
        session.error("execute block as\nbegin\n  exception e1;\nend"),
        format!("except({first}) random(E1) random(message one) stack_trace(At block line: 3, col: 3)")
    );
    assert_eq!(
        session.error("execute block as\nbegin\n  exception e1 'abc';\nend"),
        format!("except({first}) random(E1) random(abc) stack_trace(At block line: 3, col: 3)")
    );
    assert_eq!(
        session.error("execute block as\nbegin\n  exception e2 using (1, null);\nend"),
        format!(
            "except({second}) random(E2) formatted_exception(hello 1 and *** null ***, 1, *** null ***) \
             stack_trace(At block line: 3, col: 3)"
        )
    );
    assert_eq!(
        session.error("execute block returns (a varchar(3)) as\nbegin\n  a = 'abcd';\nend"),
        "arith_except string_truncation trunc_limits(3, 4) stack_trace(At block line: 3, col: 3)"
    );
}

#[test]
fn handlers_catch_what_they_name() {
    let mut session = Session::with(&["create exception e1 'message one'"]);
    let rows = session.rows(
        "execute block returns (w varchar(12), g int, c int, s char(5), e varchar(10)) as
         declare i int;
         begin
           begin
             i = 1 / 0;
             when sqlstate '22012' do begin w = 'sqlstate'; g = gdscode; c = sqlcode; s = sqlstate;
               e = rdb$error(exception); suspend; end
           end
           begin
             exception e1;
             when gdscode arith_except do w = 'wrong';
             when exception e1 do begin w = 'exception'; g = gdscode; c = sqlcode; s = sqlstate;
               e = rdb$error(exception); suspend; end
           end
           begin
             i = cast('abc' as int);
             when sqlcode -413 do begin w = 'sqlcode'; g = gdscode; c = sqlcode; s = sqlstate;
               e = rdb$error(exception); suspend; end
           end
           begin
             i = cast('abc' as int);
             when gdscode convert_error do begin w = 'gdscode'; suspend; end
           end
           begin
             begin exception e1; end
             when any do begin w = 'any'; suspend; end
           end
           w = 'outside'; g = gdscode; c = sqlcode; s = sqlstate; e = null; suspend;
         end",
    );
    assert_eq!(
        rows,
        [
            "sqlstate|335544321|-802|22012|NULL",
            "exception|335544517|-836|HY000|E1",
            "sqlcode|335544334|-413|22018|NULL",
            "gdscode|335544334|-413|22018|NULL",
            "any|335544334|-413|22018|NULL",
            "outside|0|0|00000|NULL",
        ]
    );
}

#[test]
fn errors_can_be_raised_again() {
    let mut session = Session::new();
    assert_eq!(
        session.error(
            "execute block returns (a int) as\nbegin\n  begin\n    a = 1/0;\n  when any do\n    exception;\n  end\nend"
        ),
        "arith_except exception_integer_divide_by_zero stack_trace(At block line: 4, col: 5) \
         stack_trace(At block line: 6, col: 5)"
    );
    // Outside a handler it does nothing.
    assert_eq!(session.rows("execute block as begin exception; end"), Vec::<String>::new());
}

#[test]
fn a_handler_in_a_loop_goes_on_with_the_loop() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int, e int) as
         begin
           for select x from (select 0 x from rdb$database union all select 5 from rdb$database) into a do
           begin
             e = null;
             begin e = 10 / a; when any do e = -1; end
             suspend;
           end
         end",
    );
    assert_eq!(rows, ["0|-1", "5|2"]);
}

#[test]
fn not_null_variables_refuse_null() {
    let mut session = Session::new();
    assert_eq!(
        session.error("execute block as\ndeclare x int not null = 5;\nbegin\n  x = null;\nend"),
        "not_valid_for_var(X, *** null ***) stack_trace(At block line: 4, col: 3)"
    );
}

#[test]
fn domains_bring_their_constraints() {
    let mut session = Session::with(&["create domain positive as int default 7 check (value > 0)"]);
    assert_eq!(
        session.row(
            "execute block returns (a int, o positive) as declare x positive; begin a = x; suspend; end"
        ),
        "7|7"
    );
    assert_eq!(
        session.error("execute block as\ndeclare x positive;\nbegin\n  x = -1;\nend"),
        "not_valid_for_var(X, -1) stack_trace(At block line: 4, col: 3)"
    );
}

#[test]
fn faulty_blocks_are_refused_when_prepared() {
    let mut session = Session::new();
    let cases = [
        ("execute block as begin leave; end", "dsql_error sqlerr(-104) token_err random(BREAK/LEAVE)"),
        (
            "execute block returns (a int) as declare a int; begin a = 1; end",
            "dsql_error sqlerr(-637) dsql_duplicate_spec(A)",
        ),
        (
            "execute block as begin\nfoo = 5; end",
            "dsql_error sqlerr(-206) dsql_field_err random(FOO) dsql_line_col_error(2, 1)",
        ),
        ("execute block as begin exception e3; end", "invalid_blr(2) xcpnotdef(E3)"),
        ("execute block as begin suspend; end", "dsql_error sqlerr(-104) suspend_without_returns"),
        (
            "execute block returns (a int) as begin in autonomous transaction do begin suspend; end end",
            "dsql_error sqlerr(-901) dsql_unsupported_in_auto_trans(SUSPEND)",
        ),
        (
            "execute block as declare x int; begin if (x) then x = 1; end",
            "dsql_error sqlerr(-104) invalid_boolean_usage",
        ),
        (
            "execute block as begin if (inserting) then exit; end",
            "dsql_error sqlerr(-104) token_err random(INSERTING/UPDATING/DELETING)",
        ),
        ("execute block as begin return 5; end", "dsql_error sqlerr(-104) token_err random(RETURN)"),
        (
            "execute block as begin close c; end",
            "dsql_error sqlerr(-504) dsql_cursor_err dsql_cursor_not_found(C)",
        ),
        (
            "execute block as begin xx: while (1 = 1) do begin leave yy; end end",
            "dsql_error sqlerr(-104) dsql_command_err dsql_invalid_label(YY, is not found)",
        ),
        (
            "execute block as begin begin end when gdscode foo do begin end end",
            "invalid_blr(2) codnotdef(foo)",
        ),
        (
            "execute block as declare x int; begin select 1, 2 from rdb$database into x; end",
            "dsql_error sqlerr(-313) dsql_count_mismatch",
        ),
    ];
    for (sql, status) in cases {
        let got = session.error(sql);
        assert!(got.starts_with(status), "{sql}: {got}");
    }
}

#[test]
fn sub_routines_see_the_variables_around_them() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int, b int) as
         declare total int = 10;
         declare function twice(x int) returns int as begin return x * 2; end
         declare procedure increase(x int, y int = 100) returns (r int) as
         begin
           total = total + x + y;
           r = twice(total);
         end
         begin
           a = twice(4);
           execute procedure increase(1) returning_values b;
           suspend;
           a = total;
           execute procedure increase(1, 1) returning_values :b;
           suspend;
         end",
    );
    assert_eq!(rows, ["8|222", "111|226"]);
}

#[test]
fn execute_statement_runs_texts() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (a int, b varchar(20)) as
         begin
           execute statement 'select 1, ''one'' from rdb$database' into a, b; suspend;
           execute statement ('select cast(? as int) + 1, ''p'' from rdb$database') (41) into a, b; suspend;
           execute statement ('select cast(:x as int) + cast(:y as int), ''n'' from rdb$database')
             (y := 2, x := 3) into a, b; suspend;
           for execute statement 'select x, ''r'' || x from (select 1 x from rdb$database
             union all select 2 from rdb$database)' into a, b do suspend;
           execute statement 'execute block returns (q int, w char(1)) as begin q = 9; w = ''z''; suspend; end'
             into a, b; suspend;
         end",
    );
    assert_eq!(rows, ["1|one", "42|p", "5|n", "1|r1", "2|r2", "9|z"]);
    assert_eq!(
        session.error("execute block as\ndeclare x int;\nbegin\n  execute statement 'select x from (select 1 x from rdb$database union all select 2 from rdb$database)' into x;\nend"),
        "sing_select_err stack_trace(At block line: 4, col: 3)"
    );
}

#[test]
fn execute_statement_is_strict_about_inputs_and_outputs() {
    let mut session = Session::new();
    let cases = [
        ("execute statement 'commit'", "eds_expl_tran_ctrl"),
        ("execute statement 'select 1, 2 from rdb$database' into x", "eds_output_prm_mismatch"),
        ("execute statement 'select 1 from rdb$database'", "eds_output_prm_mismatch"),
        ("execute statement ('select 1 from rdb$database where 1 = ?') into x", "eds_input_prm_mismatch"),
        (
            "execute statement ('select 1 from rdb$database where 1 = ?') (1, 2) into x",
            "eds_input_prm_mismatch",
        ),
        (
            "execute statement ('select 1 from rdb$database where 1 = :a') (b := 1) into x",
            "eds_input_prm_not_used(B)",
        ),
        (
            "execute statement ('select 1 from rdb$database where 1 = :a') (a := 1, b := 1) into x",
            "eds_input_prm_not_used(B)",
        ),
        (
            "execute statement ('select 1 from rdb$database where :c = :a') (a := 1) into x",
            "eds_input_prm_not_set(C)",
        ),
        (
            "execute statement ('select 1 from rdb$database where 1 = :a') into x",
            "dsql_error sqlerr(-206) dsql_field_err random(A) dsql_line_col_error(1, 38)",
        ),
    ];
    for (statement, status) in cases {
        let got = session.error(&format!("execute block as declare x int; begin {statement}; end"));
        assert_eq!(got, format!("{status} stack_trace(At block line: 1, col: 39)"), "{statement}");
    }
    assert_eq!(
        session.row(
            "execute block returns (x int) as begin
             execute statement ('select 1 from rdb$database where 1 = :a') (excess b := 5, a := 1) into x;
             suspend; end"
        ),
        "1"
    );
}

#[test]
fn messages_of_handled_errors_are_whole() {
    let mut session = Session::new();
    assert_eq!(
        session
            .row(
                "execute block returns (a varchar(1000)) as declare x int;\nbegin\n begin x = 1/0;\n \
             when any do begin a = rdb$error(message); suspend; end end end"
            )
            .lines()
            .last(),
        Some("At block line: 3, col: 8")
    );
}

#[test]
fn a_million_steps_take_no_time_to_speak_of() {
    let mut session = Session::new();
    let row = session.row(
        "execute block returns (i int) as
         begin
           i = 0;
           while (i < 300000) do i = i + 1;
           suspend;
         end",
    );
    assert_eq!(row, "300000");
}

/// 'NOW' is read from the clock whenever it is converted; CURRENT_TIMESTAMP is that of the statement, and EXECUTE STATEMENT
/// runs a statement of its own. As in Firebird 5.
#[test]
fn now_moves_on_and_current_timestamp_does_not() {
    let mut session = Session::new();
    let rows = session.rows(
        "execute block returns (now_moves boolean, current_moves boolean, local_moves boolean, text_is_later boolean) as
         declare now_before timestamp;
         declare current_before timestamp with time zone;
         declare local_before timestamp;
         declare of_text timestamp with time zone;
         declare rounds int = 0;
         begin
           now_before = cast('now' as timestamp);
           current_before = current_timestamp;
           local_before = localtimestamp;
           while (cast('now' as timestamp) = now_before and rounds < 100000000) do rounds = rounds + 1;
           now_moves = cast('now' as timestamp) > now_before;
           current_moves = current_timestamp > current_before;
           local_moves = localtimestamp > local_before;
           execute statement 'select current_timestamp from rdb$database' into of_text;
           text_is_later = of_text > current_before;
           suspend;
         end",
    );
    assert_eq!(rows, ["TRUE|FALSE|FALSE|TRUE"]);
}

/// A literal is read when the statement is prepared: what depends on the present is for CAST.
#[test]
fn literals_know_no_now() {
    let mut session = Session::new();
    for literal in ["timestamp 'now'", "date 'today'", "date 'tomorrow'", "time 'now'"] {
        let error = session.error(&format!("select {literal} from rdb$database"));
        assert!(error.contains("convert_error"), "{literal}: {error}");
    }
}
