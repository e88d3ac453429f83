--@ dialect 1
-- Texts of points in time in dialect 1: with the name of the month, without a time at midnight, cut where they do not fit.
create table t (a date, v varchar(60));
commit;
insert into t values ('2023-08-29 10:23:45.0123', '');
update t set v = a;
select v from t;
select cast(a as varchar(40)) x, a || '' y, '[' || a || ']' z, cast(a as char(26)) w from t;
select cast(cast('2023-08-29' as date) as varchar(40)) x from t;
select cast(cast('2023-08-29 00:00' as date) as varchar(40)) x from t;
select cast(cast('0083-12-02 11:00' as date) as varchar(40)) x from t;
select cast(extract(year from a) as varchar(10)) from t;
select a from t where a = '29-AUG-2023 10:23:45.0123';
select a from t where a like '29-AUG%';
select a from t where a starting with '29-AUG';
select a from t where cast(a as varchar(30)) containing 'aug';
select list(a) from t;
select cast(a as blob sub_type text) from t;
select substring(a from 1 for 11) from t;
select cast(cast(a as timestamp) as varchar(24)) from t;
set term ^;
execute block returns (v varchar(50)) as declare d timestamp; begin d = '2020-01-05 11:22:33'; v = d; suspend; end^
execute block returns (v varchar(50)) as declare d timestamp; begin d = '2020-01-05'; v = d; suspend; end^
set term ;^
select cast('29-AUG-2023' as date) from t;
create table k (a date not null primary key);
commit;
insert into k values ('2023-08-29 10:23:45.0123');
insert into k values ('2023-08-29 10:23:45.0123');
select max(a) || '' from t;
select cast(cast('2023-08-29 00:00 Europe/Berlin' as timestamp with time zone) as varchar(60)) from t;
select cast(cast('2023-08-05 00:00:01 Europe/Berlin' as timestamp with time zone) as varchar(60)) from t;
select cast(cast('2023-08-05 00:00:01' as timestamp) as varchar(13)) from t;
select cast(cast('2023-08-05 00:00:01' as timestamp) as varchar(8)) from t;
select cast(cast('00:00:01' as time) as varchar(3)) from t;
select cast(cast('00:00:01' as time) as varchar(30)) from t;
select cast(cast('0001-08-05 00:00:01' as timestamp) as varchar(13)) from t;
select cast('abc' as date) from t;
select cast(a as integer) from t;
