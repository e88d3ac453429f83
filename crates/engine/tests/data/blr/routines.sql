create table t (id int not null primary key, name varchar(20), amt numeric(10,2), d date, b blob sub_type text, bo boolean, dp double precision, c2 computed by (amt*2), c3 computed by ((select count(*) from rdb$database)), bi bigint, ts timestamp, constraint ck check (id > 0 and not exists (select 1 from rdb$relations r where r.rdb$relation_id + 1000 = id)));
create table u (id int not null primary key, tid int references t(id) on delete set default on update cascade, q smallint default 5, s char(5) character set ascii, dt timestamp default current_timestamp, us varchar(30) default user, constraint ck2 check (id between 1 and 10 or s is null));
create domain dom as varchar(10) default 'x' check (value <> 'y');
create domain dom2 as int check (value in (select id from t) or value is null);
create domain domn as int not null;
create exception ex 'hello @1';
create sequence g;
create index ix on t computed by (upper(name) || 'x');
commit;
create view w1 as select id from t union select id from u union all select q from u order by 1 desc;
create view w2 as select name, count(*) c from t group by name order by 2 desc, name;
create view w3 (a,b2) as select a.name, sum(a.amt) + max(a.amt) from t a join u b on b.tid = a.id where b.q > 0 group by a.name having count(*) > 1;
create view w4 (a,b2) as select upper(name), count(*) from t group by upper(name);
create view w5 (a,b2) as select upper(name), count(*) from t group by 1;
create view w6 (a,b2,c) as select name, lag(id) over (order by id), rank() over (partition by name order by amt desc) from t where id > 0 order by id;
create view w7 (a,b2,c) as select name, sum(sum(amt)) over (order by name), count(*) from t group by name;
create view w8 (a,b2) as select x.id, x.n from (select id, count(*) from t group by id) x (id, n) where x.n > 1;
create view w9 (a,b2) as select x.id, x.n from (select id, 1 from t union all select id, q from u) x (id, n) order by x.n;
create view w10 (a) as select distinct name from t order by 1;
create view w12 (a) as select id from t where bo and not bo or bo is true or bo is not false or bo is unknown or bo = true;
create view w13 (a,b2,c,d2,e,f,g1,h) as select date '2020-01-02', time '10:11:12.5', timestamp '2020-01-02 10:11:12', 1.5e0, 12345678901, -1, x'4142', _ascii 'a' from rdb$database;
create view w14 (a,b2,c,d2,e) as select stddev_pop(amt), corr(id, amt), regr_slope(id,amt), var_samp(amt), sum(distinct amt) from t;
create view w15 (a,b2) as select id, first_value(name) over (partition by d order by id) from t;
create view w16 (a,b2,c,d2) as select iif(id=1, 1, 2.5), nullif(name, 'abc'), coalesce(name, 'abcd'), case when id=1 then name when id=2 then 'abcdefghijklmnopqrstuvwxyz' end from t;
create view w17 (a, b2, c, d2,e ) as select current_user, current_role, current_connection, current_transaction, current_time from rdb$database;
create view w18 (a,b2,c) as select localtime, localtimestamp, current_timestamp(0) from rdb$database;
create view w19 (a) as select t.id from t full join u on t.id=u.id cross join t t2 where t2.id = (select max(id) from u);
create view w20 (a, b2) as select rdb$db_key, id from t where bo;
create view w21 (a) as select (select first 1 name from t order by id desc) from rdb$database where 1 in (select id from t group by id having count(*)>1) and exists (select id from t union select id from u) and 1 = all(select id from t union select 2 from u);
create view w22 (a,b2) as select t.name, (select max(u.q) from u where u.s = t.name) from t group by t.name;
create view w23 (id) as select id from t full join u using (id);
create view w24 (a,b2,c,d2,e) as select id||name, amt/2, -amt, +amt, (id+1)*2 from t;
create view w25 as select * from t plan (t natural);
create view w26 (a,b2,c) as select hash(name), gen_uuid(), char_to_uuid(name) from t;
create view w27 (a,b2,c,d2) as select left(name,1), lpad(name, 10), replace(name,'a','b'), mod(id,2) from t;
create view w28 (a,b2,c,d2) as select floor(amt), ceiling(amt), round(amt,1), trunc(amt) from t;
create view w29 (a,b2,c,d2) as select bin_and(id,1), ascii_char(65), octet_length(name), rdb$get_context('SYSTEM','ENGINE_VERSION') from t;
create view w30 (a,b2,c) as select substring(name similar 'a#"b#"c' escape '#'), extract(week from d), extract(second from ts) from t;
create view w31 (a,b2) as select x.id, y.id from t x left join (select * from u where q > 1) y on y.tid = x.id where y.id is null;
create view w32 (a,b2) as select cast(null as int), null from rdb$database;
create view w34 (a) as select id from t order by id rows 5;
set term ^;
create procedure q1 as declare c cursor for (select id, name from t); declare i int; begin open c; fetch c; i = c.id; i = :c.id; close c; for select id, name from t where id > :i as cursor k do begin i = k.id; update t set name = 'x' where current of k; end end^
create procedure q2 as declare c scroll cursor for (select id from t); declare i int; begin open c; fetch first from c into i; fetch prior from c into i; fetch absolute 3 from c into i; fetch relative -1 from c into i; fetch last from c into i; fetch next from c into i; end^
create procedure q3 as declare n int; begin insert into t default values; insert into t (id) values (1); insert into t values (1,'a',2,null,null,null,null,1,null); update t set amt = default; update t set name='x' order by id rows 2; delete from t where id=3 order by id rows 1; insert into t (id) select id from t returning id into n; end^
create procedure q4 as declare n int; begin merge into t using u on t.id=u.tid when matched then update set name='m'; merge into t x using (select id, q from u) y on x.id=y.id when not matched then insert (id) values (y.id) returning new.id into n; merge into t using u on t.id=u.tid when matched then update set name='m' when not matched then insert (id) values (u.id) returning t.id into n; end^
create procedure q5 (a domn, b int not null) returns (c domn) as declare v varchar(10) character set utf8 collate unicode_ci; declare w int not null = 3; declare x blob sub_type text; declare y type of column t.name not null; declare z boolean = true; begin if (z) then w = 1; if (not z and a = 1) then w = 2; z = a = b; z = (a > 1) and z; c = 1; end^
create procedure q6 as declare a int; begin for select id from t into a do begin if (a = 1) then leave; if (a=2) then continue; a = a + 1; end when any do begin a = 1; post_event 'x' || a; insert into t (id) values (1); execute procedure q1; execute statement 'x'; a = (select max(id) from t); for select 1 from t into a do delete from t; select 1 from t into a; end end^
create procedure q9 returns (a int) as begin for with x as (select id from t) select id from x into a do suspend; for select id from t union select id from u order by 1 into a do suspend; insert into t(id) select id from u group by id; insert into t(id) select id from u union all select id from t; end^
create function f (a int) returns varchar(10) as declare c cursor for (select id from t); begin while (a > 0) do begin a = a - 1; if (a = 3) then return 'x'; end exit; end^
create procedure q10 as declare a timestamp; begin a = 'now'; a = current_timestamp; exception ex 'm' || a; exception ex using (a); execute statement ('insert into t values (?, ?)') (1, a); execute statement (:a) on external data source 'x' as user current_user password 'p' with common transaction; execute statement 'select 1 from t' with caller privileges into a; for execute statement ('select 1 from t where id = :x') (x := a) with autonomous transaction into a do a = 1; end^
create procedure q11 (a int) as declare b int; begin if (exists(select 1 from t where id = :a)) then b = 1; else if (a in (1,2)) then b = 2; else begin b = 3; end l1: for select id from t into b do l2: while (b>1) do begin leave l1; continue l2; end update t set amt = amt + :b where id in (select id from u where u.q = t.id); delete from u a where a.id = 1;  insert into u (id, tid) values ((select max(id) from t), :b + 1); end^
create trigger trx for u active before insert or update or delete position 0 as begin if (inserting or updating) then new.q = coalesce(new.q, old.q, 0); if (deleting) then exception ex; if (new.id is distinct from old.id) then exit; end^
create trigger trw for w25 before update as begin update t set name = new.name, amt = :new.amt where id = old.id; end^
set term ;^
commit;
