-- When a partial index serves a query: rules of Firebird 5 (Retrieval.cpp, checkIndexCondition).
create table t (id integer, a integer, b integer, name varchar(20));
insert into t with recursive r as (select 1 i from rdb$database union all select i + 1 from r where i < 100)
  select i, mod(i, 10), nullif(mod(i, 4), 0), 'n' || mod(i, 5) from r;
-- The examples of Firebird's documentation.
create index it1_col on t (id) where id < 100;
select count(*) from t where id < 100;
create index it1_col2 on t (a) where a is not null;
select count(*) from t where a > 5;
create index it1_col3 on t (b) where b = 1 or b = 2;
select count(*) from t where b = 2;
drop index it1_col;
drop index it1_col2;
drop index it1_col3;
-- The same condition among those of the query.
create index t_a on t (a) where b = 1;
select count(*) from t where a = 3 and b = 1;
select count(*) from t where b = 1 and a > 7;
select count(*) from t where 1 = b and a = 3;
select count(*) from t where a = 3 and b = 2;
select count(*) from t where a = 3;
select count(*) from t where a = 3 and b <= 1;
-- Nothing is said about the key.
select count(*) from t where b = 1;
select first 3 id, a from t where b = 1 order by a;
select first 3 id, a from t where b = 2 order by a;
select first 1 id from t order by a;
select min(a) from t where b = 1;
-- Parameters are no constants.
select count(*) from t where a = 3 and b = ?;
drop index t_a;
-- Two conjuncts: both are needed.
create index t_a on t (a) where b = 1 and name = 'n3';
select count(*) from t where a = 3 and b = 1 and name = 'n3';
select count(*) from t where a = 3 and b = 1;
drop index t_a;
-- Alternatives: one of them is enough.
create index t_a on t (a) where b = 1 or b = 2;
select count(*) from t where a = 3 and b = 1;
select count(*) from t where a = 3 and (b = 1 or b = 2);
select count(*) from t where a = 3 and (b = 2 or b = 1);
select count(*) from t where a = 3 and (b = 1 or b = 3);
drop index t_a;
-- IS NOT NULL follows from a comparison.
create index t_b on t (b) where b is not null;
select count(*) from t where b = 1;
select count(*) from t where b > 1;
select count(*) from t where b between 1 and 2;
select count(*) from t where b in (1, 3);
select count(*) from t where b is not null;
select count(*) from t where b is null;
select count(*) from t where b is not distinct from 1;
select count(*) from t where a = b;
select count(*) from t x join t y on y.b = x.id where x.id < 3;
drop index t_b;
create index t_n on t (id) where name is not null;
select count(*) from t where id < 50 and name like '%3';
select count(*) from t where id < 50 and name starting with 'n3';
select count(*) from t where id < 50 and upper(name) = 'N3';
drop index t_n;
-- Patterns are conditions as any other.
create index t_n on t (id) where name like 'n3%';
select count(*) from t where name like '%3' and id < 50 and name like 'n3%';
select count(*) from t where id < 50 and name like 'n4%';
drop index t_n;
-- Expressions as keys.
create index t_e on t computed by (upper(name)) where a = 1;
select count(*) from t where upper(name) = 'N1' and a = 1;
select count(*) from t where upper(name) = 'N1';
drop index t_e;
-- Uniqueness counts only among the rows that the condition is true for.
create unique index t_u on t (name) where id = a and id not between 5 and 10;
insert into t values (1, 1, 1, 'n1');
insert into t values (1, 2, 1, 'n1');
update t set a = id where id = 1 and a = 2;
update t set a = 11 where id = 11;
update t set name = 'n9', a = 11 where id = 11;
insert into t values (11, 11, 1, 'n9');
delete from t where id = 11;
insert into t values (11, 11, 1, 'n9');
insert into t values (12, 12, 1, null);
insert into t values (13, 13, 1, null);
select count(*) from t where name = 'n9' and id = a and id not between 5 and 10;
drop index t_u;
create unique index t_u2 on t (name) where id < 10;
-- Off and on again.
create index t_a on t (a) where b = 1;
alter index t_a inactive;
select count(*) from t where a = 3 and b = 1;
insert into t values (500, 3, 1, 'new');
alter index t_a active;
select count(*) from t where a = 3 and b = 1;
select rdb$index_name, rdb$condition_source, rdb$unique_flag, rdb$index_inactive from rdb$indices where rdb$relation_name = 'T';
-- What is refused.
create index t_x1 on t (a) where max(b) = 1;
create index t_x2 on t (a) where nothing = 1;
create index t_x3 on t (a) where b;
alter table t drop b;
drop index t_a;
alter table t drop b;
