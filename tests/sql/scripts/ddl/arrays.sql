-- Columns and domains that are arrays. Nothing in SQL sets an element, so all arrays here are NULL; what is in them is the
-- matter of the drivers' tests.
create domain dm as integer[1:3];
create domain d_text as varchar(5)[-1:1] character set utf8 collate unicode_ci;
create domain d_checked as integer[3] check (value is null);
create domain d_one as integer[1:1];
create domain d_backwards as integer[2:1];
create domain d_default as integer[3] default 4;
create domain d_blob as blob[2];
create domain d_set as varchar(5) character set utf8 [2];
alter domain dm set default 3;
alter domain dm type integer;

create table t (
  id integer not null primary key,
  a integer[2, 3],
  b varchar(5)[-1:1] character set utf8,
  c dm,
  n numeric(10, 2)[3],
  d date[0:2]
);
create table low (a integer[0], b integer[-3], c integer[2]);
create table types (
  a boolean[2], b int128[2], c decfloat(16)[2], d decfloat(34)[2], e time with time zone[2], f timestamp with time zone[2],
  g float[2], h double precision[2], i char(3)[2], j bigint[2], k smallint[2], l time[2], m timestamp[2], n varbinary(3)[2]
);
create table no_default (a integer[2] default 3);
create table not_null (a integer[2] not null);
create table checked (id integer, a integer[2] check (a[1] > 0), x computed by (a[2]));
create table many (a integer[1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2,1:2]);
create table one (a integer[1, 2]);
create table keyed (a integer[2] unique);
create table of_domain (a dm[2]);
commit;

select rdb$field_name, rdb$dimension, rdb$lower_bound, rdb$upper_bound from rdb$field_dimensions
  where rdb$field_name not starting with 'RDB$' order by 1, 2;
select f.rdb$field_name, d.rdb$dimension, d.rdb$lower_bound, d.rdb$upper_bound
  from rdb$relation_fields f join rdb$field_dimensions d on d.rdb$field_name = f.rdb$field_source
  where f.rdb$relation_name = 'LOW' order by 1, 2;
select r.rdb$field_name, f.rdb$field_length, f.rdb$field_scale, f.rdb$field_type, f.rdb$field_sub_type, f.rdb$dimensions,
  f.rdb$character_length, f.rdb$field_precision, f.rdb$segment_length, f.rdb$character_set_id
  from rdb$relation_fields r join rdb$fields f on f.rdb$field_name = r.rdb$field_source
  where r.rdb$relation_name in ('T', 'TYPES') order by r.rdb$relation_name, r.rdb$field_position;

insert into t (id) values (1);
select a, b, c, n, d from t;
select t.a[1, 1], t.b[0], x.n[3], x.d[0] from t, t x;
select a[1] from t;
select a[0, 1] from t;
select a[1, 2, 3] from t;
select a[null, 1], a['1', 1], a[id, id], a[a[1, 1], 1] from t;
select id[1] from t;
select rdb$relation_name[1] from rdb$relations;
select nothing[1] from t;
select iif(1 = 1, 2, 3)[1] from t;
select id from t where a[1, 1] is null order by a[2, 3], b[1];
select coalesce(a[1, 1], 0), b[0] || 'x', upper(b[1]), n[1] + 1, extract(year from d[1]) from t;
select sum(a[1, 1]), max(b[0]), count(*) from t group by n[1];
select id from t where a[1, 1] = ? and b[0] like ?;
select q.a[1, 1], q.z from (select a, a[2, 2] from t) q (a, z);
with q as (select a x from t) select x[1, 1] from q;

select * from t where a is null;
select * from t where a = 1;
select t.id from t join t x on t.a = x.a;
select count(a) from t;
select count(distinct a) from t;
select list(a) from t;
select id from t order by a;
select distinct a from t;
select a from t group by a;
select a from t union select a from t;
select a from t union all select c from t;
select row_number() over (order by a) from t;
select row_number() over (partition by a) from t;
select a + 1 from t;
select -a from t;
select coalesce(a, 1) from t;
select case when id = 1 then a end from t;
select nullif(a, 1) from t;
select char_length(a) from t;
select cast(a as integer), cast(a as varchar(20)) from t;
select (select a from t) from rdb$database;

update t set a = 1;
update t set a = 'x';
update t set a = null;
update t set a = ?;
update t set a = c, c = a;
update t set a[1, 1] = 5;
insert into t (id, a) values (5, 7);
insert into t (id, a) select id + 1, a from t;
insert into no_default default values;
insert into not_null (a) values (null);
insert into checked (id) values (1);
select * from checked;
insert into t (id, a) values (?, ?) returning id, a, a[1, 1];

create index i on t (a);
create descending index i on t computed by (a);
alter table low add constraint u unique (a);
alter table low alter a type integer;
alter table low alter a type integer[5];
alter table low alter a set default 3;
alter table low alter a to aa;
alter table low drop c;
alter table low add z integer[4];
alter table low add y computed by (z[2]);
select aa, b, z, y from low;
create view v as select id, a, c, a[1, 1] as e from t;
commit;
select * from v;
select v.a[1, 2], e from v;
select e[1] from v;
select rdb$field_name, rdb$base_field from rdb$relation_fields where rdb$relation_name = 'V' order by rdb$field_position;

set term ^;
execute block returns (x integer[2]) as begin suspend; end^
execute block returns (x dm) as begin suspend; end^
execute block returns (x type of dm) as begin suspend; end^
execute block returns (x type of column t.a) as begin suspend; end^
execute block returns (x integer) as begin for select a[1, 1] from t order by id into x do suspend; end^
create procedure p (x dm) as begin end^
create function f (x integer) returns dm as begin return null; end^
create trigger tr for t before insert as begin new.id = new.a[1, 1]; end^
create trigger tr for t before insert as begin new.a = null; if (new.c is null) then new.a = new.c; end^
set term ;^
commit;
insert into t (id) values (20);
select id, a from t where id = 20;
drop domain dm;
drop domain d_text;
