set list on;
with x as (select 1 i from rdb$database), y as (select i from x), z as (select 2 z from rdb$database) select z y, z * 2 x from z;
with a as (select 0 a from rdb$database), b as (select 1 x from c rows 1), c as (select 2 x from d rows 1), d as (select 3 x from e rows 1), e as (select a x from a rows 1) select * from e;
with recursive r as (select 1 n from rdb$database union all select n + 1 from r where n < 3) select max(n) n from r;
create table t (id integer);
insert into t with a as (select 1 x from rdb$database), b as (select 2 y from rdb$database) select x from a;
select id from t;
