--@ dialect 1
--@ client-dialect 3
create table t (i integer, m numeric(9,2), f double precision, ts timestamp, vc varchar(10));
insert into t values (7, 12.34, 1.5, '2020-02-29 12:00', '12');
select 1/2, i/2, i*i, m*m, 1.5, 3000000000 from t;
select "I" as "x" from t;
select "text" from t;
select vc + 1 from t;
select sum(i), avg(i), count(*) from t;
select ts - ts, ts + 1 from t;
create table "q" (i integer);
create table q (d date);
create table q (t time);
create table q (b bigint);
create table q (n numeric(15,2));
create table q (n numeric(9,2), k integer);
create domain dd as date;
select cast(1 as numeric(15,2)) from rdb$database;
select cast(1 as bigint) from rdb$database;
select cast('2020-01-01' as date) from rdb$database;
select cast('10:00' as time) from rdb$database;
select date '2020-01-01' from rdb$database;
select current_date from rdb$database;
select current_time from rdb$database;
select current_timestamp is null from rdb$database;
create generator g;
select gen_id(g, 1) from rdb$database;
