-- A condition that would fail is not evaluated on rows that another one keeps away from it.
create table a (id integer not null primary key, kind integer, v varchar(10), x integer);
create table b (id integer not null primary key, aid integer, kind integer, x integer, y integer);
create sequence evaluated;
create view v as select id, x from a where x <> 0;
commit;
insert into a values (1, 1, '5', 0);
insert into a values (2, 2, 'abc', 2);
insert into a values (3, 2, 'x', null);
insert into a values (4, 2, '7', 5);
insert into b values (1, 1, 1, 0, 1);
insert into b values (2, 2, 2, 0, 5);
insert into b values (3, 3, 2, 5, null);
insert into b values (4, 1, 1, 0, 4);
insert into b values (5, 4, 1, 7, 2);
commit;
-- The alternatives of an OR.
select a.id, b.id from a join b on b.aid = a.id where (b.kind = 1 and cast(a.v as integer) = 5) or (b.kind = 2 and a.v = 'x') order by 1, 2;
select a.id, b.id from a join b on b.aid = a.id where (a.x <> 0 and 10 / a.x > 1) or (b.kind = 2 and 10 / a.x > 1) order by 1, 2;
select a.id, b.id from a, b where (a.x <> 0 and 10 / a.x > 1 and b.aid = a.id) or (b.aid = a.id and b.kind = 2 and 10 / a.x > 1) order by 1, 2;
-- The keys of joins.
select a.id from a where exists (select 1 from b where b.aid = a.id and a.x <> 0 and b.y = 10 / a.x) order by 1;
select a.id from a where not exists (select 1 from b where b.aid = a.id and a.x <> 0 and b.y = 10 / a.x) order by 1;
select a.id from a where exists (select 1 from b where b.aid = a.id and a.kind = 1 and b.y = cast(a.v as integer));
select a.id, b.id from a left join b on b.aid = a.id and a.x <> 0 and b.y = 10 / a.x order by 1, 2;
-- What views, derived tables and ON ask for comes before WHERE.
select id from v where 10 / x > 0 order by 1;
select v.id from v join b on b.aid = v.id where 10 / v.x > 0 order by 1;
select v.id from b left join v on b.aid = v.id and 10 / v.x > 0 order by 1;
select id from a where exists (select 1 from v where v.id = a.id and 10 / v.x > 0) order by 1;
select q.id from (select id, x from a where x <> 0) q where 10 / q.x > 0 order by 1;
select a.id, b.id from a join b on a.x <> 0 and b.aid = a.id where 10 / a.x > 1 order by 1, 2;
select a.id from a where 10 / a.x > 0 and a.x <> 0;
-- What an index could answer comes first, whether or not the index is read.
select count(*) from a where cast(v as integer) = 5 and id < 2;
select count(*) from a where cast(v as integer) > 5 and id in (1, 4) and kind > 0;
select count(*) from a where cast(v as integer) = 5 and id < 2 or cast(v as integer) = 7 and id = 4;
-- Something volatile is evaluated for the rows that the conditions before it leave.
select a.id from a where exists (select 1 from b where b.aid = a.id and b.kind = 1) and next value for evaluated > 0 order by 1;
select next value for evaluated from rdb$database;
