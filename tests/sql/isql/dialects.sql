-- dialect 1: what isql shows of a database of dialect 1, in each of the three dialects.
set term ^;
create table t (i integer, m numeric(9,2), d date, vc varchar(10))^
set term ;^
insert into t values (7, 12.34, '2020-02-29 12:00', "text");
commit;
show sql dialect;
show table t;
select i / 2, m * m, d, d - 1, vc from t;
set sqlda_display on;
select i / 2, m * m, sum(i), avg(i), count(*), "a" from t group by 1, 2;
set sqlda_display off;
select cast('2020-01-01' as date) from rdb$database;
create domain dd date;
show domain dd;
set sql dialect 3;
show sql dialect;
select i / 2 as q from t;
select "I" from t;
create table u (d date);
create table u ("d" integer);
create table u (n numeric(15,2));
create table u (b bigint);
create table u (i integer);
select current_date from rdb$database;
commit;
set sql dialect 2;
select 1.5 as a, 3000000000 as b, 7 as c from rdb$database;
select "a" from rdb$database;
select cast('now' as date) from rdb$database;
select i as q from t;
set sql dialect 1;
select i / 2 as q from t;
