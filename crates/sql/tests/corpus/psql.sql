-- The procedural language.
set term ^ ;
execute block as begin end^
execute block (a int = ?, b varchar(10) character set utf8 not null = ?, c type of column t.c collate unicode = ?) returns (x int, y d not null) as begin x = a; y = :b; suspend; end^
execute block returns (n int) as
  declare i int = 0;
  declare variable j bigint not null default 5;
  declare k varchar(10) character set utf8 collate unicode = 'x';
  declare l my_domain;
  declare m type of my_domain;
  declare o type of column t.a not null = -1;
  declare c cursor for (select a, b from t where a > 5 for update);
  declare s scroll cursor for (select a from t order by a);
  declare n2 no scroll cursor for (select a from t);
begin
  -- assignments
  i = 1; :i = 2; i = i + 1; j = (select max(a) from t); k = null; l = gen_id(g, 1);
  i = case when j > 1 then 2 else 3 end;
  /* control */
  if (i > 5) then i = 0;
  if (i > 5) then begin i = 0; end else i = 1;
  if (i = 1) then
    if (j = 2) then k = 'a';
    else k = 'b';
  else k = 'c';
  if (i = 1) then i = 2; else if (i = 2) then i = 3; else begin end
  while (i < 10) do i = i + 1;
  while (true) do begin
    if (i > 5) then leave;
    if (i > 4) then continue;
    if (i > 3) then break;
    i = i + 1;
  end
  outer_loop: while (i < 10) do
  begin
    inner_loop: for select a from t into :n do
    begin
      if (n = 1) then leave outer_loop;
      continue inner_loop;
    end
  end
  for select a, b from t where a = :i into n, :k do suspend;
  for select a from t as cursor cur do begin n = cur.a; delete from t where current of cur; end
  for select a, b from t into :n, :k as cursor cur do update t set a = :cur.a + 1 where current of cur;
  for with x as (select 1 as a from t) select a from x into n do suspend;
  for select a from t order by a rows 5 into n do exit;
  select count(*) from t into :n;
  select a, b from t where a = 1 into n, :k;
  select first 1 a from t order by a into n;
  select a from t where a = 1 for update with lock into n;
  with x as (select 1 as a from t) select a from x into n;
  insert into t (a, b) values (:i, :k);
  insert into t (a) values (1) returning a, b into :n, k;
  insert into t select * from u;
  update t set a = :i where b = :k returning old.a into n;
  update or insert into t (a) values (:i) matching (a) returning a into n;
  delete from t where a = :i returning a into :n;
  merge into t using u on t.a = u.a when matched then delete returning t.a into n;
  execute procedure p;
  execute procedure p(1, :i) returning_values :n, k;
  execute procedure pkg.p 1, i returning_values (n);
  open c; fetch c into n, k; fetch c; close c;
  open s; fetch next from s into n; fetch prior from s; fetch first from s into n; fetch last from s into n; fetch absolute 5 from s into n; fetch relative -1 from s into n; close s;
  execute statement 'delete from t';
  execute statement k || ' where a = 1' into n;
  execute statement ('select a from t where b = ? and c = ?') (1, :i) into :n;
  execute statement ('select a from t where b = :x') (x := i, excess y := i + 1) into n;
  execute statement 'select 1 from t' on external data source 'localhost:x' as user 'a' password 'b' role 'r' with autonomous transaction with caller privileges into n;
  execute statement 'x' on external 'y' with common transaction;
  for execute statement 'select a from t' into :n do suspend;
  l2: for execute statement ('select a from t where b = ?') (i) on external 'x' into :n do leave l2;
  in autonomous transaction do insert into log (a) values (1);
  in autonomous transaction do begin post_event 'x'; end
  exception;
  exception e;
  exception e 'message ' || i;
  exception e using (1, 'x', i + 1);
  post_event 'event';
  post_event 'event' || i;
  rdb$set_context('USER_SESSION', 'x', 1);
  my_function(1);
  pkg.my_function(i);
  set decfloat round half_up;
  set time zone local;
  n = rdb$error(message); k = rdb$error(gdscode);
  n = row_count;
  begin
    i = 1 / 0;
  when gdscode arith_except do n = 1;
  end
end^
execute block as begin
  begin
    i = 1;
    when gdscode unique_key_violation, sqlcode -803, sqlstate '23000', exception e do begin n = gdscode; end
    when gdscode "grant_obj_notfound" do exception;
    when any do n = sqlcode;
  end
end^
create procedure p as begin end^
create procedure p (a int, b varchar(10) = 'x', c int default 5, d type of column t.a not null collate unicode default null) returns (x int, y varchar(5) character set utf8) as
declare v int;
begin
  -- the body
  suspend;
end^
create procedure p () sql security definer as begin exit; end^
create or alter procedure p (a int) as begin end^
alter procedure p returns (x int) as begin x = 1; suspend; end^
recreate procedure p as begin end^
create procedure p (a int) external name 'mod!func' engine udr^
create procedure p external engine udr as 'text'^
alter procedure p sql security invoker^
drop procedure p^
create function f returns int as begin return 1; end^
create function f (a int, b int = 2) returns varchar(10) character set utf8 not null collate unicode deterministic as declare x int; begin x = a; return x; end^
create function f (a int) returns my_domain not deterministic sql security invoker as begin return a; end^
create or alter function f (a int) returns type of column t.a as begin if (a = 1) then return 1; return 2; end^
alter function f returns int as begin return 2; end^
recreate function f returns int external name 'x' engine udr as 'y'^
alter function f deterministic^
drop function f^
create procedure with_locals returns (n int) as
  declare procedure fwd (a int) returns (b int);
  declare function fwd2 (a int) returns int;
  declare x int = 5;
  declare procedure fwd (a int) returns (b int) as
    declare y int;
  begin
    b = a + x;
  end
  declare function fwd2 (a int) returns int deterministic as
  begin
    return a * 2;
  end
begin
  execute procedure fwd(1) returning_values n;
  n = fwd2(n);
  suspend;
end^
create trigger tr for t before insert as begin new.id = next value for g; end^
create trigger tr for t active after update position 5 as begin if (old.a is distinct from new.a) then insert into log values (old.a, new.a); end^
create trigger tr inactive before insert or update or delete position 10 on t as begin if (inserting) then new.a = 1; if (updating or deleting) then old.a = 2; end^
create trigger tr before delete or insert on t sql security definer as declare x int; begin x = 1; end^
create trigger tr on connect as begin end^
create trigger tr active on disconnect position 1 as begin end^
create trigger tr on transaction start as begin end^
create trigger tr on transaction commit as begin end^
create trigger tr on transaction rollback as begin end^
create trigger tr before any ddl statement as begin end^
create trigger tr active after create table or alter table or drop table or create procedure or alter character set or drop package body or create collation position 3 as begin post_event rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME'); end^
create trigger tr for t before insert external name 'x' engine udr^
create or alter trigger tr for t before insert as begin end^
recreate trigger tr for t before insert position 0 as begin end^
alter trigger tr inactive^
alter trigger tr active before update position 7^
alter trigger tr after insert or delete as begin end^
alter trigger tr as declare x int; begin x = 2; end^
alter trigger tr drop sql security^
drop trigger tr^
create package pkg as begin
  function f (a int) returns int;
  procedure p (b int = 1) returns (c int);
  -- done
end^
create package pkg sql security definer as begin end^
create or alter package pkg as begin procedure p; end^
alter package pkg as begin end^
recreate package body pkg as begin
  procedure local_one (z int);
  function f (a int) returns int as begin return a + 1; end
  procedure p (b int) returns (c int) as declare x int; begin c = b; suspend; end
  function g returns int external name 'x' engine udr;
  procedure local_one (z int) as begin end
end^
create package body pkg as begin end^
drop package body pkg^
drop package pkg^
/* In the manner of the employee database. */
CREATE PROCEDURE GET_EMP_PROJ (EMP_NO SMALLINT)
RETURNS (PROJ_ID CHAR(5)) AS
BEGIN
	FOR SELECT proj_id
		FROM employee_project
		WHERE emp_no = :emp_no
		INTO :proj_id
	DO
		SUSPEND;
END^
CREATE PROCEDURE SHIP_ORDER (PO_NUM CHAR(8)) AS
	DECLARE VARIABLE ord_stat CHAR(7);
	DECLARE VARIABLE hold_stat CHAR(1);
	DECLARE VARIABLE cust_no INTEGER;
BEGIN
	SELECT s.order_status, c.on_hold, c.cust_no
	FROM sales s, customer c
	WHERE po_number = :po_num
	AND s.cust_no = c.cust_no
	INTO :ord_stat, :hold_stat, :cust_no;

	/* This purchase order has been already shipped. */
	IF (ord_stat = 'shipped') THEN
	BEGIN
		EXCEPTION order_already_shipped;
		SUSPEND;
	END
	/*	Customer is on hold. */
	ELSE IF (hold_stat = '*') THEN
	BEGIN
		EXCEPTION customer_on_hold;
		SUSPEND;
	END

	FOR SELECT po_number FROM sales WHERE cust_no = :cust_no AND order_status = 'shipped' AND paid = 'n' AND ship_date < CAST('NOW' AS TIMESTAMP) - 60 INTO :po_num
	DO
	BEGIN
		EXCEPTION customer_check;
		UPDATE customer SET on_hold = '*' WHERE cust_no = :cust_no;
		SUSPEND;
	END

	UPDATE sales SET order_status = 'shipped', ship_date = 'NOW' WHERE po_number = :po_num;
	SUSPEND;
END^
CREATE TRIGGER SAVE_SALARY_CHANGE FOR EMPLOYEE ACTIVE AFTER UPDATE POSITION 0 AS
BEGIN
    IF (old.salary <> new.salary) THEN
        INSERT INTO salary_history (emp_no, change_date, updater_id, old_salary, percent_change)
        VALUES (old.emp_no, 'NOW', user, old.salary, (new.salary - old.salary) * 100 / old.salary);
END^
CREATE VIEW PHONE_LIST AS SELECT emp_no, first_name, last_name, phone_ext, location, phone_no FROM employee, department WHERE employee.dept_no = department.dept_no^
