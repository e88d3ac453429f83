--@ dialect 3
--@ client-dialect 2
create table t (i integer, m numeric(9,2), f double precision, ts timestamp, vc varchar(10));
insert into t values (7, 12.34, 1.5, '2020-02-29 12:00', '12');
select 1/2, i/2, i*i, m*m, 1.5, 3000000000 from t;
select "I" from t;
select vc + 1 from t;
create table q (d date);
create table q (b bigint, t time);
create table r (n numeric(15,2));
select cast('2020-01-01' as date) from rdb$database;
select date '2020-01-01', current_time is null from rdb$database;
