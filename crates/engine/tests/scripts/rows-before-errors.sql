-- A query that fails at some row delivers the rows before it.
create table t (a integer, b integer);
create table big (a integer);
insert into t with recursive r as (select 1 a from rdb$database union all select a + 1 from r where a < 10)
  select a, 11 - a from r;
insert into big with recursive r as (select 1 a from rdb$database union all select a + 1 from r where a < 600)
  select a from r;
select 1 / (a - 5) as q from t;
select 1 / (a - 5) as q from t order by a;
select 1 / (a - 5) as q from t order by 1;
select 1 / (a - 5) as q from t order by b;
select distinct 1 / (a - 5) as q from t;
select a from t where 1 / (a - 5) <> 3;
select first 3 a from t where 1 / (a - 5) <> 3;
select first 4 1 / (a - 4) as q from t;
select a from t where b > 8 union all select 1 / (a - 3) from t;
select t.a, u.a from t join t u on u.a < t.a and 1 / (u.a - 3) < 5;
select a, (select 1 / (t.a - 4) from rdb$database) as q from t;
-- By columns: the conditions look at hundreds of rows at a time.
select a from big where 1 / (a - 200) < 5 and mod(a, 60) = 0;
select a, 1 / (a - 180) as q from big where mod(a, 60) = 0;
select a, 1 / (a - 180) as q from big where 1 / (a - 120) < 5 and mod(a, 60) = 0;
select a, 1 / (a - 120) as q from big where 1 / (a - 180) < 5 and mod(a, 60) = 0;
select first 3 a from big where 1 / (a - 200) < 5 and mod(a, 60) = 0;
-- Which error comes first is decided by the order of the rows.
select sum(cast(iif(a = 300, 'x', '1') as integer)) from big where 1 / (a - 400) = 0;
select sum(cast(iif(a = 400, 'x', '1') as integer)) from big where 1 / (a - 300) = 0;
select sum(cast(iif(a = 300, 'x', '1') as integer)), sum(1 / (a - 200)) from big;
select sum(cast(iif(a = 200, 'x', '1') as integer)), sum(1 / (a - 300)) from big;
-- Groups before the one that fails.
select a, sum(1 / (a - 5)) from t group by a;
select mod(a, 4), max(1 / (a - 301)) from big group by 1;
select a, sum(1 / (a - 5)) from t where 1 / (a - 8) <> 5 group by a;
select a, max(b) from t group by a having 1 / (a - 3) < 7;
-- Windows.
select a, sum(1 / (a - 4)) over (partition by a) from t;
select a, sum(1 / (a - 4)) over (order by a) from t;
select a, row_number() over (order by a), 1 / (a - 4) as q from t;
-- PSQL sees them too.
set term ^;
execute block returns (x integer) as begin
  for select 1 / (a - 4) from t into x do suspend;
  when any do begin x = -99; suspend; end
end^
set term ;^
with recursive r as (select 1 a from rdb$database union all select a + 1 from r where a < 10)
  select a, 1 / (a - 4) as q from r;
