-- PSQL statement by statement in anonymous blocks.
create table t (id integer not null primary key, a varchar(10));
insert into t values (1, 'one');
insert into t values (2, 'two');
insert into t values (3, 'three');
create exception e_mine 'mine @1 and @2';
create sequence s;
set term ^;
execute block as begin end^
execute block returns (x integer, y varchar(5)) as begin x = 5; y = 'abc'; suspend; x = x + 1; y = y || '!'; suspend; end^
execute block returns (x integer) as begin x = 5; end^
execute block returns (x integer) as declare a integer = 3; declare variable b integer default 4; declare c type of column t.id; begin c = a * b; x = c; suspend; end^
execute block returns (x integer) as declare a integer not null; begin a = null; end^
execute block returns (x varchar(3)) as begin x = 'toolong'; suspend; end^
execute block returns (x integer) as begin if (1 = 1) then x = 1; else x = 2; suspend; if (null = 1) then x = 3; else if (x = 1) then x = 4; suspend; end^
execute block returns (x integer) as begin x = 0; while (x < 3) do begin x = x + 1; suspend; end end^
execute block returns (x integer) as begin x = 0; while (true) do begin x = x + 1; if (x = 2) then continue; if (x > 4) then break; suspend; end end^
execute block returns (x integer) as declare y integer = 0; begin x = 0; outer_loop: while (x < 5) do begin x = x + 1; y = 0; while (true) do begin y = y + 1; if (y > 2) then continue outer_loop; if (x = 3) then leave outer_loop; suspend; end end end^
execute block as begin leave; end^
execute block as begin while (1 = 1) do leave nowhere; end^
execute block returns (x integer) as begin x = 1; suspend; exit; x = 2; suspend; end^
execute block returns (x integer, y varchar(10)) as begin for select id, a from t order by id into x, y do suspend; end^
execute block returns (x integer, y varchar(10)) as begin for select id, a from t order by id into :x, :y do begin if (x = 2) then continue; suspend; end end^
execute block returns (x integer) as begin select id from t where a = 'two' into x; suspend; end^
execute block returns (x integer) as begin x = 9; select id from t where a = 'nobody' into x; suspend; end^
execute block returns (x integer) as begin select id from t into x; suspend; end^
execute block returns (x integer) as begin select id, a from t where id = 1 into x; suspend; end^
execute block returns (x integer) as begin select id from t where id = 1; suspend; end^
execute block returns (x integer, y integer) as begin update t set a = 'x' where id > 1; x = row_count; delete from t where id = 99; y = row_count; suspend; end^
rollback^
execute block returns (x integer) as begin insert into t values (10, 'ten') returning id into x; suspend; end^
rollback^
execute block as begin exception e_mine; end^
execute block as begin exception e_mine 'other text'; end^
execute block as begin exception e_mine using (1, 'two'); end^
execute block as begin exception nowhere; end^
execute block as begin exception; end^
execute block returns (x varchar(100)) as begin begin exception e_mine 'caught'; when exception e_mine do x = 'handled'; end suspend; end^
execute block returns (x varchar(100)) as begin begin exception e_mine 'caught'; when any do x = 'any'; end suspend; end^
execute block returns (x integer) as begin begin x = 1 / 0; when gdscode arith_except do x = -1; end suspend; end^
execute block returns (x integer) as begin begin x = 1 / 0; when sqlcode -802 do x = -2; end suspend; end^
execute block returns (x integer) as begin begin x = 1 / 0; when sqlstate '22012' do x = -3; end suspend; end^
execute block returns (x integer) as begin begin x = 1 / 0; when gdscode unique_key_violation do x = -3; end suspend; end^
execute block returns (g integer, c integer, st char(5)) as begin begin insert into t values (1, 'x'); when any do begin g = gdscode; c = sqlcode; st = sqlstate; end end suspend; end^
execute block returns (e varchar(60), m varchar(100)) as begin begin exception e_mine 'text'; when any do begin e = rdb$error(exception); m = rdb$error(message); end end suspend; end^
execute block returns (g integer) as begin g = gdscode; suspend; end^
execute block as begin begin exception e_mine 'again'; when any do exception; end end^
execute block returns (x integer) as begin begin insert into t values (50, 'x'); insert into t values (1, 'x'); when any do x = 1; end select count(*) from t where id = 50 into x; suspend; end^
rollback^
execute block as begin when nowhere do begin end end^
execute block as begin begin exit; when gdscode nowhere do begin end end end^
execute block returns (x integer) as declare c cursor for (select id from t order by id); begin open c; fetch c into x; suspend; fetch c into x; suspend; close c; end^
execute block returns (x integer) as declare c cursor for (select id from t order by id); begin open c; while (1 = 1) do begin fetch c into x; if (row_count = 0) then leave; suspend; end close c; end^
execute block returns (x integer) as declare c cursor for (select id from t); begin fetch c into x; end^
execute block as declare c cursor for (select id from t); begin open c; open c; end^
execute block as declare c cursor for (select id from t); begin close c; end^
execute block returns (x integer) as declare c scroll cursor for (select id from t order by id); begin open c; fetch last from c into x; suspend; fetch prior from c into x; suspend; fetch first from c into x; suspend; fetch absolute 2 from c into x; suspend; fetch relative 1 from c into x; suspend; end^
execute block returns (x integer) as declare c cursor for (select id from t order by id); begin open c; fetch prior from c into x; end^
execute block returns (x integer, y varchar(10)) as declare c cursor for (select id, a from t order by id); begin open c; fetch c; x = c.id; y = :c.a; suspend; end^
execute block returns (x integer) as begin for select id from t order by id as cursor k do begin update t set a = 'cur' where current of k; x = k.id; suspend; end end^
select * from t order by id^
rollback^
execute block as declare c cursor for (select id from t for update); begin open c; fetch c; delete from t where current of c; end^
select count(*) from t^
rollback^
execute block returns (x integer) as begin execute statement 'select count(*) from t' into x; suspend; end^
execute block returns (x integer, y varchar(10)) as begin for execute statement 'select id, a from t order by id' into x, y do suspend; end^
execute block returns (x varchar(10)) as begin execute statement ('select a from t where id = ?') (2) into x; suspend; end^
execute block returns (x varchar(10)) as begin execute statement ('select a from t where id = :i') (i := 3) into x; suspend; end^
execute block returns (x varchar(10)) as begin execute statement ('select a from t where id = :i') (j := 3) into x; suspend; end^
execute block returns (x integer) as begin execute statement 'select id from t' into x; suspend; end^
execute block returns (x integer) as begin execute statement 'selec' into x; suspend; end^
execute block as begin execute statement 'create table dyn (a integer)'; end^
execute block as begin execute statement 'commit'; end^
execute block as begin execute statement null; end^
execute block returns (x integer) as begin x = next value for s; suspend; x = gen_id(s, 5); suspend; end^
execute block returns (x integer) as declare function f (a integer) returns integer as begin return a * 2; end begin x = f(21); suspend; end^
execute block returns (x integer) as declare procedure p (a integer) returns (b integer) as begin b = a + 1; suspend; b = a + 2; suspend; end begin for select b from p(1) into x do suspend; execute procedure p(5) returning_values x; suspend; end^
execute block as declare procedure p as begin end declare procedure p as begin end begin end^
execute block as declare x integer; declare x integer; begin end^
execute block as begin x = 1; end^
execute block returns (x integer) as begin y = 1; end^
execute block as begin select 1 from rdb$database into 5; end^
execute block as begin suspend; end^
execute block as begin return 1; end^
execute block (a integer = ?) returns (b integer) as begin b = a; suspend; end^
execute block (a integer, b d) as begin end^
execute block returns (x integer) as begin in autonomous transaction do insert into t values (70, 'auto'); select count(*) from t into x; suspend; end^
rollback^
select count(*) from t^
execute block as begin post_event 'something'; end^
execute block returns (x timestamp) as begin x = '2020-01-01 10:00'; suspend; end^
execute block returns (x integer) as begin x = 'abc'; suspend; end^
execute block returns (x integer) as begin x = null; x = coalesce(x, 0) + 1; suspend; end^
execute block returns (x boolean) as begin x = 1 = 1; suspend; x = not x; suspend; end^
execute block returns (x varchar(20)) as begin x = iif(inserting, 'i', 'n'); suspend; end^
execute block returns (x integer) as begin x = 1 suspend; end^
execute block as begin if 1 = 1 then exit; end^
execute block as begin^
execute block returns (x integer) as declare y integer; begin for select id from t into y do begin x = y; suspend; if (y = 2) then exception e_mine 'in the middle'; end end^
execute block returns (n varchar(10), x integer) as begin for select 'a', 1 from rdb$database union all select 'b', 2 from rdb$database into n, x do suspend; end^
execute block returns (x integer) as begin x = (select max(id) from t); suspend; x = (select id from t where 1 = 0); suspend; end^
execute block returns (x integer) as begin if (exists (select * from t where id = 1)) then x = 1; suspend; end^
execute block returns (x integer) as declare i integer = 0; begin while (i < 3) do i = i + 1; x = i; suspend; end^
execute block returns (a integer, b integer) as begin select 1, 2 from rdb$database into a, b; suspend; end^
execute block as begin insert into nowhere values (1); end^
execute block as begin update t set id = 1; end^
execute block as begin execute statement 'create table made (a integer)' with autonomous transaction; execute statement 'insert into made values (1)' with autonomous transaction; end^
commit^
select * from made^
execute block as begin execute statement 'create table unseen (a integer)' with autonomous transaction; execute statement 'insert into unseen values (1)'; end^
commit^
select count(*) from unseen^
execute block as begin in autonomous transaction do begin execute statement 'create table undone (a integer)'; exception e_mine; end end^
commit^
select count(*) from undone^
execute block returns (n rdb$field_name, k type of rdb$field_type) as begin n = 'X'; k = 7; suspend; end^
execute block (n rdb$user = ?) returns (k rdb$nothing) as begin suspend; end^
create table of_system_types (a rdb$field_type, b rdb$relation_name)^
select * from of_system_types^
execute block returns (x varchar(60), y varchar(60)) as begin set time zone '+03:00'; x = extract(timezone_hour from current_timestamp); execute statement 'set time zone ''-05:00'''; y = extract(timezone_hour from current_timestamp); set time zone local; suspend; end^
select extract(timezone_hour from current_timestamp) from rdb$database^
execute block returns (x varchar(60)) as begin set decfloat traps to; x = 1 / cast(0 as decfloat); set decfloat traps to division_by_zero; x = x || (1 / cast(0 as decfloat)); suspend; end^
execute block as begin set decfloat traps to nowhere; end^
execute block returns (x varchar(60)) as begin set role nowhere; end^
execute block as begin set time zone 'Nowhere/City'; end^
execute block as begin set decfloat traps to division_by_zero, invalid_operation, overflow; set decfloat round half_up; end^
