-- Rules that were found by running scripts on Firebird 4.0.5 and here.
create domain word as varchar(10) check (value <> 'bad');
create domain positive as integer not null check (value > 0);
create table k (id integer, g integer);
create view kv as select id from k;
insert into k values (1, 1);
-- CAST to a domain checks what the domain allows; TYPE OF does not.
select cast('bad' as word) from rdb$database;
select cast('good' as word), cast(null as word) from rdb$database;
select cast(-5 as positive) from rdb$database;
select cast(null as positive) from rdb$database;
select cast(-5 as type of positive) from rdb$database;
-- Columns of a UNION without a name, and of negated numbers.
select 1 + 1 from rdb$database union select 2 from rdb$database;
select count(*) from rdb$database union all select 2 from rdb$database;
select 'a' x from rdb$database union all select 'abc' from rdb$database;
select - - 5, -(-5), -(2 + 3) from rdb$database;
-- A literal with an exponent keeps its digits as DECFLOAT.
select cast(1e-30 as decfloat(34)), cast(0.1e0 as decfloat(16)) from rdb$database;
-- Common tables see each other, whatever their order, but not themselves.
with a as (select * from b), b as (select 1 x from rdb$database) select * from a;
with a as (select * from b), b as (select * from a) select * from a;
with a as (select * from a) select * from a;
with a (p, q) as (select 1 from rdb$database) select * from a;
select * from (select 1, 2 from rdb$database) x (a);
-- What a recursive common table may be.
with recursive r as (select i + 1 i from r) select * from r;
with recursive r as (select 1 i from rdb$database union select i + 1 from r where i < 3) select * from r;
with recursive r as (select 1 i from rdb$database union all select i + 1 from r where i < 3 union all select 9 from rdb$database) select * from r;
with recursive r as (select 1 i from rdb$database union all select count(*) from r) select * from r;
with recursive r as (select 1 i from rdb$database union all select distinct i from r) select * from r;
with recursive r as (select 1 i from rdb$database union all select r1.i from r r1, r r2) select * from r;
with recursive r as (select 1 i from rdb$database union all select i + 1 from rdb$database left join r on true) select * from r;
-- WITH LOCK is for the rows of one table.
select g, count(*) from k group by g with lock;
select count(*) from k with lock;
select distinct g from k with lock;
select k1.id from k k1 join k k2 on k1.id = k2.id with lock;
select id from k union select g from k with lock;
select id from kv with lock;
select id from (select id from k) with lock;
with c as (select id from k) select * from c with lock;
select 1 from rdb$database with lock;
select id from k where id = 1 order by id with lock;
-- Statuses.
select 1 from rdb$database order by 2;
select 1 a from rdb$database group by 2;
set term ^;
create procedure nothing as begin end^
create function twice (x integer) returns integer as begin return x * 2; end^
set term ;^
select * from nothing;
select twice() from rdb$database;
select twice(1, 2) from rdb$database;
select totalorder(-0e400, 0e400), totalorder(0e400, -0e400), totalorder(-0e0, -0e0), cast(normalize_decfloat(-0e400) as varchar(20)), cast(-0e400 as varchar(20)) from rdb$database;
select cast(-0 as decfloat(34)), cast(-0.00 as decfloat(16)), cast(0 as decfloat), cast(-0 as varchar(5)) from rdb$database;
