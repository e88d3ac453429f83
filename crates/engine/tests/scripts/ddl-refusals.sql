-- What DDL refuses, with Firebird 5's statuses: defaults that are no values, references, lengths, names that stand twice.
set term !;
create table t(id int not null primary key, s varchar(5))!
create table t9 (id int default 'abc' not null)!
create table t10 (id int default 'abc')!
create table t11 (id smallint default 70000)!
create table t12 (id smallint default 70000 not null)!
create table t13 (s varchar(2) default 'abcd' not null)!
create table t14 (s varchar(2) default 'abcd')!
create table t15 (d date default 'x' not null)!
create table t16 (d date default current_timestamp not null)!
create table t17 (d timestamp default 'now' not null)!
create table t18 (d date default 'tomorrow')!
create table t19 (b boolean default 5 not null)!
create domain d1 as int default 'abc'!
create domain d2 as int default 'abc' not null!
create table t20 (x d1)!
create table t21 (x d2)!
alter table t add z int default 'abc' not null!
alter table t add zz int default 'abc'!
alter table t add z3 varchar(2) default 'abcd' not null!
insert into t10 default values!
insert into t11 default values!
insert into t14 default values!
create table r1 (id int references nope)!
create table r2 (id int references nope(id))!
create table r3 (id int, foreign key (id) references nope)!
create table r4 (id int, foreign key (id) references nope(id))!
create table r6 (id int, constraint zz foreign key (id) references t(nope))!
create table r7 (id int references t(id, s))!
create table r8 (id int references t)!
create table np (a int)!
create table r9 (id int references np)!
create table r10 (id int references np(a))!
create table r11 (id varchar(5) references t(id))!
alter table np add foreign key (a) references nope!
alter table np add foreign key (a) references nope(x)!
create view vr as select 1 x from rdb$database!
create table r12 (id int references vr)!
create table r13 (id int references vr(x))!
create table v1a (s varchar(70000))!
create table v1b (s char(70000))!
create table v1c (s varchar(65535))!
create table v1d (s varchar(32766) character set utf8)!
create table v1e (s varchar(40000) character set utf8)!
create table v1f (s varchar(0))!
create table v1g (s char(0))!
create table v1h (s varchar(32767))!
create table v1i (s varchar(32765))!
create table v1j (s varbinary(70000))!
create table v1k (n numeric(39,1))!
create table v1l (n numeric(5,6))!
create table v1m (n numeric(0))!
create table v1n (n decfloat(20))!
create table v1o (n float(60))!
create table v1p (n float(0))!
select cast('a' as varchar(70000)) from rdb$database!
select cast('a' as varchar(0)) from rdb$database!
create domain dd as varchar(70000)!
create procedure pp(a varchar(70000)) as begin end!
create view vv1 as select nope from t!
create view vv2 as select id from nope!
create view vv3(a,b) as select id from t!
create view vv4 as select id+1 from t!
create view vv5 as select id, id from t!
create view vv6(a,a) as select id, s from t!
create view vv7 as selec 1!
recreate view vv8 as select nope from t!
create or alter view vv9 as select nope from t!
alter view vr as select nope from t!
alter view vnope as select 1 x from t!
create view t as select 1 x from rdb$database!
create procedure p10(a int, a int) as begin end!
create procedure p11 as declare a int; declare a int; begin end!
create procedure p12(a int) returns (a int) as begin end!
create procedure p13(a int) as declare a int; begin end!
create procedure p14 as begin x = 1; end!
create procedure p15 as begin select nope from t into :x; end!
create procedure p16 as begin insert into nope values (1); end!
create procedure p17(a nope) as begin end!
create procedure p18 as declare x nope; begin end!
create procedure p19 as begin execute procedure nope; end!
create procedure p20(a int default 'x') as begin end!
create procedure p21(a type of column t.nope) as begin end!
create procedure p23 as begin suspend end!
create or alter procedure p24 as begin x = 1; end!
alter procedure pnope as begin end!
recreate procedure p25 as begin x = 1; end!
create function f10(a int) returns nope as begin end!
create function f11(a int) returns int as begin x = 1; end!
create function f12(a int, a int) returns int as begin end!
create function f13 returns int as declare x int; declare x int; begin end!
alter function fnope returns int as begin end!
create trigger tr1 for t before insert as begin x = 1; end!
create trigger tr2 for nope before insert as begin end!
create trigger tr3 for t before insert as begin new.nope = 1; end!
create trigger tr4 for t before insert as declare x int; declare x int; begin end!
create trigger tr5 for t before delete as begin new.id = 1; end!
create trigger tr6 for t after insert as begin new.id = 1; end!
alter trigger trnope as begin end!
create procedure p30 (a int) as begin end!
create procedure p30 (a int) as begin end!
drop procedure p31!
create sequence g!
create sequence g!
create exception ee 'x'!
create exception ee 'x'!
create role rr!
create role rr!
create table t (a int)!
create index ii on t(id)!
create index ii on t(id)!
create domain dq as int!
create domain dq as int!
create table rw (a int, b computed by (nope))!
create table rw2 (a int, check (nope > 1))!
create table rw6 (a int check (a > 'x'))!
create table rw7 (a int default nope)!
create table rw8 (a int default (1+1))!
alter table t alter s type int!
alter table t alter s drop default!
alter table t alter id drop not null!
alter table t alter nope drop not null!
alter table t alter s set not null!
alter table t drop constraint nope!
alter table t alter s position 0!
alter table t alter s to id!
alter table t alter nope to b!
alter table t alter s type varchar(3)!
alter domain nope set default 1!
alter domain dq set default 'x'!
alter domain dq type varchar(5)!
alter domain dq to d1!
drop domain d1!
comment on column t.nope is 'x'!
comment on procedure nope is 'x'!
grant select on nope to public!
grant select on t to role nope!
grant nope to public!
grant execute on procedure nope to public!
grant update(nope) on t to public!
revoke select on nope from public!
create user nope2!
create collation cc for nope!
create collation cc for utf8 from nope!
drop collation nope!
