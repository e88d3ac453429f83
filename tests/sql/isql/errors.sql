-- What isql says of errors of each kind.
create table t (id integer not null primary key, a varchar(3), b integer check (b > 0));
create exception e_mine 'The message';
selec 1;
select nothing from t;
select * from nothing;
select 1 from rdb$database where;
insert into t values (1, 'abcd', 1);
insert into t values (1, 'abc', 0);
insert into t values (1, 'abc', 1);
insert into t values (1, 'abc', 1);
insert into t values (null, 'abc', 1);
insert into t values (2, 'abc', 'x');
insert into t (id) values (1, 2);
select 1/0 from rdb$database;
select cast('abc' as integer) from rdb$database;
select cast('2020-02-30' as date) from rdb$database;
select cast(100000 as smallint) from rdb$database;
select (select id from t union all select 2 from rdb$database) from rdb$database;
create table t (id integer);
create table u (id nowhere);
create index i on t (nowhere);
alter table t add a integer;
alter table t drop nowhere;
drop table nowhere;
drop procedure nowhere;
drop exception nowhere;
grant select on nowhere to x;
execute procedure nowhere;
set term ^;
execute block as begin exception e_mine; end^
execute block as begin exception e_mine 'Another'; end^
execute block as declare x integer; begin x = 1 / 0; end^
create procedure p as begin insert into nowhere values (1); end^
create procedure p as begin x = 1; end^
create procedure q as begin exception e_mine; end^
create trigger tr for t before insert as begin if (new.id = 7) then execute procedure q; end^
set term ;^
insert into t values (7, 'x', 1);
execute procedure q;
select id from t order by 2;
select id, count(*) from t;
savepoint a;
rollback to b;
release savepoint c;
commit;
set nonsense;
show nonsense;
