create table t (id int not null primary key, name varchar(20), amt numeric(10,2), d date, b blob sub_type text);
create table u (id int not null primary key, tid int references t(id), q smallint, s char(5) character set ascii);
create domain dom as varchar(10) default 'x' check (value <> 'y');
create exception ex 'hello @1';
create sequence g;
commit;
create view v1 as select id, name, amt * 2 as dbl from t where amt > 1.5 and name like 'a%';
create view v2 (a, b, c) as select t.id, u.id, coalesce(u.q, 0) from t left join u on u.tid = t.id;
create view v3 (n, c, m) as select name, count(*), max(amt) from t where id > 0 group by name having sum(amt) > 5;
create view v4 (id) as select id from t union select tid from u;
create view v4b (id, x) as select id, name from t union all select tid, s from u union all select 1, 'zz' from rdb$database;
create view v5 (id, cnt) as select id, (select count(*) from u where u.tid = t.id) from t where exists (select 1 from u where u.tid = t.id) and id in (select tid from u) and id not in (select q from u) and id > all (select q from u) and id = any (select id from v1);
create view v6 (id, x) as select x.a, x.c from (select a.id as a, 1 as c, a.name from t a) x left join (select tid, 5 as five from u) y on y.tid = x.a;
create view v7 (id, x) as with c as (select tid, count(*) as n from u group by tid) select t.id, c.n from t join c on c.tid = t.id;
create view v8 (id, rn, s) as select id, row_number() over (order by id), sum(amt) over (partition by name order by id) from t;
create view v9 as select first 3 skip 1 distinct name, id from t order by name desc, id;
create view v10 as select id, name from t order by name desc nulls last rows 2 to 4;
create view v11 (id,x) as select id, case name when 'a' then 1 when 'b' then 2 else 3 end from t where case when id=1 then true else false end;
create view v12 as select t.id, u.q from t join u on t.id=u.tid join v1 on v1.id=t.id right join v2 on v2.a=t.id;
create view v13 (id, x) as with recursive r as (select id, 1 as lev from t where id=1 union all select u.id, r.lev+1 from u join r on u.tid=r.id) select id, lev from r;
create view v14 as select t.id, name from t natural join u;
create view v15 as select id, name from t join u using (id);
create view v16 (x) as select t1.id from t t1, u, t t2 where t1.id=u.id and t2.id=u.id;
create view v17 (a,b2,c,d2,e,f,g1,h,i,j,k,l,m) as select cast(id as varchar(10)), extract(year from d), substring(name from 2 for 3), trim(leading 'x' from name), trim(name), position('a' in name), upper(name), char_length(name), iif(id=1,2,3), nullif(id,1), decode(id,1,'a',2,'b','c'), dateadd(1 day to d), datediff(day, d, current_date) from t;
create view v18 (a,b2,c,d2,e) as select cast(id as dom), cast(id as type of dom), cast(id as type of column t.name), gen_id(g,1), next value for g from t;
create view v19 as select id, name from t where id > 3 with check option;
create view v20 (a, b2,c,d2,e) as select list(name), list(distinct name, ';'), count(distinct id), avg(amt), min(distinct id) from t;
create view v21 (a) as select id from t where name similar to 'a' or name containing 'x' or name starting with 'y' or id between 1 and 2 or not (id=3) or id is null or id is not distinct from 4 or id in (1,2,3) or id not in (7,8) or name like 'b' escape '!' or singular(select * from u) ;
create view v22 (a,b2,c) as select overlay(name placing 'x' from 1 for 2), cast(name as varchar(20)) collate unicode_ci, abs(id) from t t where cast(name as varchar(20)) collate unicode_ci = 'a';
commit;
set term ^;
create procedure p1 (a int, b dom, c varchar(5) not null = 'q') returns (x int, y type of column t.name) as declare v int = 3; declare w type of dom; declare z char(3) character set ascii; begin x = a + v; y = b; suspend; end^
create procedure p2 as begin end^
create procedure p3 (a int) returns (x int) as declare i int; begin i = 0; while (i < a) do begin i = i + 1; if (i = 3) then continue; if (i = 5) then leave; else x = i; end end^
create procedure p4 returns (i int, n varchar(20)) as begin for select id, name from t order by id into :i, :n do begin suspend; end end^
create procedure p5 as declare a int; begin for select id from t into :a as cursor c do begin update t set name = 'x' where current of c; delete from t where current of c; end select id from t where id = 1 into :a; select count(*) from t into :a; end^
create procedure p6 (a int) as declare r int; begin insert into t (id, name) values (:a, 'x') returning id into :r; update t set name = 'y', amt = amt+1 where id = :a; delete from t where id = :a; insert into t (id) select id from u; update t set name='z' where id=1 returning new.id, old.name into :r, :a; delete from t where id=1 returning id into :r; update or insert into t (id, name) values (:a, 'q') matching (id); update or insert into t (id, name) values (:a, 'q') returning id into :r;end^
create procedure p7 as declare a int; begin merge into t using u on t.id=u.tid when matched and u.q = 1 then update set name='m' when matched then delete when not matched then insert (id, name) values (u.id, 'n'); end^
create procedure p8 as declare x int; declare y varchar(20); begin execute procedure p1 (1, 'a', 'b') returning_values :x, :y; execute procedure p2; execute procedure p3(:x) returning_values :x; exception ex; end^
create procedure p9 as begin exception ex 'mm'; exception ex using (1, 'a'); begin x: while (1=1) do begin leave x; end when exception ex do begin exception; end when sqlcode -803, gdscode arith_except, any do exit; end when sqlstate '22012' do begin end end^
create procedure p10 as declare c cursor for (select id, name from t); declare i int; declare n varchar(20); begin open c; fetch c into :i, :n; if (row_count = 0) then exit; close c; end^
create procedure p11 as declare a int; declare b int; begin execute statement 'delete from t'; execute statement 'select 1 from rdb$database' into :a; execute statement ('select ? from rdb$database') (:a) into :b; execute statement ('x :q') (q := :a) with autonomous transaction as user 'x' password 'y' role 'z' on external 'h'; for execute statement 'select 1 from rdb$database' into :a do begin b = a; end in autonomous transaction do begin a = 1; end post_event 'x'; end^
create procedure p12 (a int) returns (b int) as declare function f (x int) returns int as begin return x + 1; end declare procedure sp (y int) returns (z int) as begin z = y; suspend; end begin b = f(a); execute procedure sp(1) returning_values :b; suspend; end^
create procedure p13 as declare a int; declare b varchar(20); begin select x, y from p1(1, 'a', 'b') into :a, :b; for select x, y from p4 join p1(p4.i, 'a', 'b') p on p.x = p4.i into :a, :b do begin a=1; end  select first 1 p1.x from t left join p1(t.id,'x','y') on 1=1 into a; end^
create procedure p14 as declare a int; begin a = gdscode; a= sqlcode; a=row_count; a = (select max(id) from t); rdb$set_context('USER_SESSION','a','b'); end^
create function f1 (a int, b varchar(10) = 'x') returns int as begin return a + 1; end^
create function f2 (a dom) returns dom deterministic as declare v dom; begin v = upper(a); if (a = 'x') then return 'q'; return v; end^
create trigger tr1 for t before insert or update position 5 as begin if (new.id is null) then new.id = next value for g; if (updating) then new.name = old.name || 'x'; end^
create trigger tr2 for t after delete as declare a int; begin insert into u (id, q) values (old.id, 1); a = f1(old.id); end^
create trigger tr3 on connect as begin rdb$set_context('USER_SESSION', 'x', 'y'); end^
create trigger tr4 before create table as declare x varchar(100); begin x = rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME'); end^
create trigger tr5 for v1 before insert as begin insert into t (id, name) values (new.id, new.name); end^
create package pk as begin procedure a (x int); function b (y int) returns int; end^
create package body pk as begin procedure c as begin end procedure a (x int) as begin execute procedure c; x = b(x); end function b (y int) returns int as begin return y; end end^
create procedure p15 as declare a int; begin a = pk.b(3); execute procedure pk.a(1); end^
set term ;^
commit;
