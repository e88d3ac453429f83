-- In a CHECK of a domain a quantified subquery that gives unknown is not fulfilled (Firebird 5).
create table t(id int not null primary key, s int);
insert into t(id) values (1);
commit;
create domain d1 as int check (value in (select id from t));
create domain d2 as int check (value not in (select id from t));
create domain d3 as int check (value = any (select id from t));
create domain d4 as int check (value > all (select id from t));
create domain d5 as int check (exists (select 1 from t where id = value));
create domain d6 as int check (value = (select max(id) from t));
create domain d7 as int check (value in (select id from t) or value > 3);
create domain d8 as int check (value > 3 or value in (select id from t));
create domain d9 as int check (value > 0 and value in (select id from t));
create domain d10 as int check (value in (select id from t) and value > 0);
create domain d11 as int check (not (value in (select id from t)));
create domain d12 as int check (value is null or value in (select id from t));
create domain d13 as int check (value in (select s from t));
commit;
create table x1(x d1, y int);
create table x2(x d2, y int);
create table x3(x d3, y int);
create table x4(x d4, y int);
create table x5(x d5, y int);
create table x6(x d6, y int);
create table x7(x d7, y int);
create table x8(x d8, y int);
create table x9(x d9, y int);
create table x10(x d10, y int);
create table x11(x d11, y int);
create table x12(x d12, y int);
create table x13(x d13, y int);
commit;
insert into x1(y) values (1);
insert into x2(y) values (1);
insert into x3(y) values (1);
insert into x4(y) values (1);
insert into x5(y) values (1);
insert into x6(y) values (1);
insert into x7(y) values (1);
insert into x8(y) values (1);
insert into x9(y) values (1);
insert into x10(y) values (1);
insert into x11(y) values (1);
insert into x12(y) values (1);
insert into x13(y) values (1);
insert into x13(x) values (2);
insert into x13(x) values (null);
select cast(null as d13) from rdb$database;
select cast(2 as d13) from rdb$database;
select cast(null as d2) from rdb$database;
select cast(null as d6) from rdb$database;
set term ^;
execute block as declare v d1; begin end^
execute block as declare v d1; begin v = null; end^
execute block as declare v d1; begin v = 1; end^
execute block as declare v d6; begin v = null; end^
set term ;^
insert into x1(x, y) values (1, 1);
update x1 set y = 2;
update x1 set x = null;
create table ct (x int check (x in (select id from t)), y int);
insert into ct(y) values (1);
insert into x5(x) values (1);
insert into x5(x) values (5);
select x from x5;
