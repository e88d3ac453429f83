-- Whole status vectors, as Firebird 5 gives them.
create table t (id int not null primary key, s varchar(5), d date, ts timestamp, tt time, dbl double precision, bo boolean);
insert into t (id) values (1);
set term ^;
create procedure p1(a int) returns (b int) as begin b = 10/a; suspend; end^
create function f1(a int) returns int as begin return 10/a; end^
commit^
execute block as begin execute procedure nope; end^
execute block as begin execute procedure p1(1,2); end^
execute block returns (x int) as begin select b from p1 into x; end^
execute block as begin execute statement 'select 1 from rdb$database'; end^
execute block as begin execute statement 'select 1 from rdb$database where 1=0'; end^
execute block as declare x int; declare y int; begin execute statement 'select 1 from rdb$database' into x, y; end^
execute block as declare x int; declare y int; begin execute statement 'select 1/0 from rdb$database' into x, y; end^
execute block as declare x int; declare y int; begin for execute statement 'select 1/0 from rdb$database' into x, y do begin end end^
execute block as begin execute statement 'select 1/0 from rdb$database'; end^
execute block as declare x int; begin execute statement 'insert into t(id) values (5)' into x; end^
execute block as declare x int; begin execute statement 'insert into t(id) values (6) returning id'; end^
execute block as begin execute statement 'update t set id = 7 where id = 6 returning id'; end^
execute block as begin execute statement ('insert into t(id) values (:a)') (1); end^
execute block as declare x int; begin execute statement ('select id from t where id = :a') (b := 1) into x; end^
execute block as declare x int; begin execute statement 'select :a from t' into x; end^
execute block as declare x int; begin execute statement 'select 1 from t where id = ? and :b = 1' into x; end^
execute block as begin execute statement 'execute procedure p1(1)'; end^
execute block as begin execute statement 'execute procedure p1(0)'; end^
execute block as begin execute statement 'execute block returns (a int) as begin a = 1; suspend; end'; end^
execute block as begin execute statement 'insert into t(id) values (:a)'; end^
execute block as declare x int; begin for execute statement 'select id, s from t' into x do begin end end^
execute block as declare x int; begin for execute statement 'update t set s = s' into x do begin end end^
execute block as declare x int; begin execute statement 'select id, 1 from t union all select id, 1 from t' into x; end^
execute block as declare x int; begin x = :nope; end^
execute block as declare x int; begin x = nope; end^
select id from t order by 1^
create procedure px as declare v varchar(3); begin v = _utf8 x'ff'; end^
create table txx (a int, b computed by (cast(1 as nope)))^
create procedure py as declare v nope; begin end^
create procedure pz as declare v type of column t.nope; begin end^
set term ;^
select id from t order by 1;
select * from p1;
select * from p1(1, 2);
execute procedure p1;
execute procedure nope;
execute procedure nope(1);
execute procedure f1(1);
select f1() from rdb$database;
select f1(1, 2) from rdb$database;
select id from t union select d from t;
select 1 from t where id in (select id, s from t);
select (select id, s from t) from rdb$database;
select 1 from t where id > all (select id, s from t);
select lag(id, -1) over (order by id) from t;
select lead(id, -1) over (order by id) from t;
select ntile(0) over (order by id) from t;
select nth_value(id, 0) over (order by id) from t;
select sum(id) over w from t;
update or insert into t (id, s) values (1, 'a') matching (d);
select cast(1 as nope) from rdb$database;
select cast(1 as type of column t.nope) from rdb$database;
select cast(1 as type of column nope.id) from rdb$database;
select cast(1 as type of nope) from rdb$database;
select _utf8 x'ff' from rdb$database;
select _ascii 'ä' from rdb$database;
select * from t where s = _utf8 x'ff';
with r as (select 1 n from rdb$database) select * from r, r;
with r as (select 1 n from rdb$database) select * from r, t r;
with r as (select 1 n from rdb$database) select * from t r, r;
with r as (select 1 n from rdb$database) select * from r x, r x;
with r as (select 1 n from rdb$database) select * from r x, r y;
select * from (select 1 a from rdb$database) x, (select 2 b from rdb$database) x;
select * from t x, (select 2 b from rdb$database) x;
select * from (select 2 b from rdb$database) x, t x;
with recursive r as (select 1 n from rdb$database union all select r.n+1 from r, r where r.n < 3) select * from r;
select sum(id) over (order by id range between 'x' preceding and current row) from t;
select sum(id) over (order by id range between '1' preceding and current row) from t;
select sum(id) over (order by s range 1 preceding) from t;
select sum(id) over (order by s range 'a' preceding) from t;
select sum(id) over (order by d range 1.5 preceding) from t;
select sum(id) over (order by d range current_date preceding) from t;
select sum(id) over (order by ts range 1.5 preceding) from t;
select sum(id) over (order by tt range 1.5 preceding) from t;
select sum(id) over (order by tt range between current row and 'x' following) from t;
select sum(id) over (order by dbl range 1 preceding) from t;
select sum(id) over (order by bo range 1 preceding) from t;
select sum(id) over (order by bo range true preceding) from t;
select sum(id) over (order by id, s range 1 preceding) from t;
select sum(id) over (order by s, id range 1 preceding) from t;
select sum(id) over (range 1 preceding) from t;
select sum(id) over (order by id range null preceding) from t;
select sum(id) over (order by id rows 'x' preceding) from t;
select sum(id) over (order by id rows d preceding) from t;
select sum(id) over (order by id rows null preceding) from t;
select sum(id) over (order by id rows 1.5 preceding) from t;
select sum(id) over (order by s rows 1 preceding) from t;
select sum(id) over (order by s range unbounded preceding) from t;
select sum(id) over (order by s, id range current row) from t;
select sum(id) over (order by null range 1 preceding) from t;
