--@ dialect 3
--@ client-dialect 1
create table t (i integer, m numeric(9,2), f double precision, ts timestamp, vc varchar(10));
insert into t values (7, 12.34, 1.5, "2020-02-29 12:00", "12");
select 1/2, i/2, i*i, m*m, 1.5, 3000000000 from t;
select "text", vc + 1, avg(i), count(*) from t;
select ts - ts, ts + 1 from t;
create table q (d date);
create table q (b bigint);
create table q (n numeric(15,2));
create table q (v varchar(10) default "x");
create table q (n numeric(9,2), k integer);
select cast(1 as numeric(15,2)) from rdb$database;
select cast('2020-01-01' as date) from rdb$database;
select current_date from rdb$database;
create generator g;
select gen_id(g, 1) from rdb$database;
