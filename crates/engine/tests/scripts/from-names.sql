-- A table may stand in FROM several times by its name; an alias must be one of its own. As Firebird 5.0.4 answers.
create table t (id int not null primary key, a varchar(5));
create view v as select id, a from t;
set term ^;
create procedure p returns (x int) as begin x = 3; suspend; end^
set term ;^
commit;
insert into t values (1, 'a');
select count(*) from t, t;
select count(*) from t join t on 1 = 1;
select t.id from t, t;
select id from t, t;
select * from t, t;
select t.* from t, t;
select count(*) from v, v;
select count(*) from p, p;
select count(*) from t v, v;
select count(*) from t join t using (id);
select id from t join t using (id);
select a from t join t using (id);
select count(*) from t natural join t;
select * from (select 1 as x from t) t, t;
select count(*) from t, t t;
select count(*) from t v, t v;
select count(*) from t, v t;
select count(*) from v, t v;
select count(*) from t, p t;
select count(*) from p, t p;
select 1 from t, (select 1 as x from t) t;
with a as (select 1 as x from t) select count(*) from a, a;
select 1 from (select 1 as x from t) d, (select 1 as y from t) d;
select rdb$db_key from t, v;
select count(t.rdb$db_key) from t join v on v.id = t.id;
select count(rdb$db_key) from t, (select 1 x from rdb$database) q;
select count(t.rdb$db_key) from t, t;
select rdb$db_key from t, t s;
select 1 from t, t plan join (t natural, t natural);
select 1 from t, t plan (t natural);
