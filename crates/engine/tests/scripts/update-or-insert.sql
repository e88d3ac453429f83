-- UPDATE OR INSERT: what is matched is evaluated once, what else is assigned once for each row. As Firebird 5.0.4, which
-- evaluates what is matched again for each row that it finds.

create table log(n int generated always as identity, s varchar(20));
create sequence g;
create table u(id int not null primary key, v int, w int);
set term ^;
create function fx(name varchar(10)) returns int as begin insert into log(s) values(:name); return 1; end^
set term ;^
commit;
update or insert into u values(fx('id'), fx('v'), 7) matching(id);
update or insert into u values(fx('id'), fx('v'), 8) matching(id);
update or insert into u values(fx('id') + 1, fx('v'), 9) matching(v, w);
select s from log order by n;
select * from u;
insert into u values(3, 1, 3);
update or insert into u(id, v, w) values(next value for g + 100, 1, next value for g) matching(v);
select * from u;
select gen_id(g, 0) from rdb$database;
update or insert into u(id, v) values(next value for g, 5);
update or insert into u(v, id) values(next value for g, 103) matching(id) returning v, old.v;
select * from u;
select gen_id(g, 0) from rdb$database;
rollback;
