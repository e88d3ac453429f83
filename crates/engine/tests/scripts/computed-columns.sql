-- Computed columns in triggers, CHECK constraints, RETURNING and outer joins; what RETURNING of MERGE shows of rows that are
-- not there; UPDATE OR INSERT evaluates its values once. The answers are those of Firebird 5.0.4, but for the names of
-- columns that are NULL there for sure, and for values that it evaluates again when the row is found.

-- item 3: computed columns
create table t(id int not null primary key, a int, c computed by (a*2), cc computed by (c+1), s varchar(10), d computed by (upper(s)));
create table log(n int generated always as identity, s varchar(200));
set term ^;
create trigger t_bi for t before insert or update or delete as begin
 insert into log(s) values('b '||coalesce(old.c,'n')||' '||coalesce(new.c,'n')||' '||coalesce(old.cc,'n')||' '||coalesce(new.cc,'n')||' '||coalesce(new.d,'n'));
 if (not deleting) then begin if (new.s='up') then begin new.a=100; new.s='down'; insert into log(s) values('b2 '||coalesce(new.c,'n')||' '||coalesce(new.cc,'n')||' '||coalesce(new.d,'n')); end end
end^
create trigger t_bi2 for t before insert or update or delete position 5 as begin
 insert into log(s) values('bb '||coalesce(old.c,'n')||' '||coalesce(new.c,'n')||' '||coalesce(old.cc,'n')||' '||coalesce(new.cc,'n')||' '||coalesce(new.d,'n'));
end^
create trigger t_ai for t after insert or update or delete as begin
 insert into log(s) values('a '||coalesce(old.c,'n')||' '||coalesce(new.c,'n')||' '||coalesce(old.cc,'n')||' '||coalesce(new.cc,'n')||' '||coalesce(new.d,'n'));
end^
set term ;^
commit;
insert into t(id,a,s) values(1,1,'x') returning c,cc,d;
insert into t(id,a,s) values(2,1,'up') returning a,c,cc,d;
update t set a=a+1,s='up' where id=1 returning old.c,new.c,old.cc,new.cc,c,d;
update or insert into t(id,a,s) values(1,7,'q') returning c,cc,old.c,new.c;
update or insert into t(id,a,s) values(3,7,'q') returning c,cc,old.c,new.c;
merge into t using (select 1 i from rdb$database) on id=i when matched then update set a=20 returning old.c,new.c,t.c, t.cc;
merge into t using (select 1 i from rdb$database) on id=i when matched then delete returning old.c,new.c,t.c, t.cc, t.id, i;
merge into t using (select 11 i from rdb$database) on id=i when matched then delete when not matched then insert(id,a) values(i,5) returning old.c,new.c,t.c, t.cc, t.id, i;
delete from t where id=2 returning c,cc,id;
select s from log order by n;
delete from log; commit;
set term ^;
create trigger t_w for t before update position 9 as begin new.c=5; end^
set term ;^
update t set a=a; 
rollback;
create table ck(id int, a int, c computed by (a*2), cc computed by (c+1), check (c<100), constraint cx check(cc <> 7));
insert into ck(id,a) values(1,50);
insert into ck(id,a) values(1,3);
insert into ck(id,a) values(1,4);
update ck set a=3;
update ck set a=60;
alter table ck add e int default 3, add f computed by (e*a);
select * from ck;
commit;
-- left join
create table l(id int); create table r(id int, c computed by (coalesce(id,0)+1), k computed by (5), q computed by (coalesce(k,9)));
commit;
insert into l values(1); insert into l values(2); insert into r(id) values(1); commit;
select l.id, r.id, r.c, r.k,r.q from l left join r on l.id=r.id;
select l.id, r.id, r.c, r.k,r.q from r right join l on l.id=r.id;
select l.id, r.id, r.c, r.k,r.q from r full join l on l.id=r.id;
select l.id, x.* from l left join (select r.id, r.c, r.k, 1 as one, coalesce(r.id,8) as e from r) x on x.id=l.id;
select count(r.k), sum(r.c), count(*) from l left join r on l.id=r.id;
select l.id from l left join r on l.id=r.id where r.c is null;
select l.id from l left join r on l.id=r.id where r.k=5;
select l.id from l left join r on l.id=r.id where coalesce(r.k,0)=0;
select l.id, r.c from l left join r on l.id=r.id order by r.c desc;
select r.k, count(*) from l left join r on l.id=r.id group by r.k;
select l.id, (select r.k from r where r.id=l.id) from l;
create view v as select id, c, k, 7 as seven from r;
select l.id, v.c, v.k, v.seven from l left join v on v.id=l.id;
select l.id, v.c, v.k, v.seven from l left join v on v.id=l.id where v.seven is null;
merge into l using r on l.id=r.id when not matched by source then update set id=coalesce(r.k,77) ;
select * from l; rollback;
-- merge not matched
create table mt(id int, a int default 3, c computed by (a+1));
insert into mt(id,a) values(1,10); insert into mt(id,a) values(2,20); commit;
merge into mt using (select 1 i from rdb$database union all select 3 from rdb$database) s on mt.id=s.i when matched then update set a=11 when not matched then insert(id) values(s.i) when not matched by source then delete returning mt.id, mt.a, mt.c, old.id, old.a, old.c, new.id, new.a, new.c, s.i, id;
rollback;
merge into mt using (select 1 i from rdb$database) s on mt.id=s.i when matched then delete returning mt.id, old.a, new.a, s.i, id,a;
rollback;
merge into mt using (select 1 i from rdb$database) s on mt.id=s.i when matched then delete returning *;
merge into mt using (select 2 i from rdb$database) s on mt.id=s.i when matched then update set a=1 returning *;
merge into mt as m using (select 2 i from rdb$database) s on m.id=s.i when matched then update set a=1 returning m.a, a, old.a, new.a, m.c;
merge into mt using (select 9 i from rdb$database) s on mt.id=s.i when matched then update set a=1 returning mt.a;
rollback;
-- update or insert evaluates once
create sequence g;
create table u(id int not null primary key, v int, w int default 5);
commit;
update or insert into u values(1, next value for g, 1);
update or insert into u values(1, next value for g, 1);
update or insert into u values(2, next value for g, 1);
select * from u; select gen_id(g,0) from rdb$database;
update or insert into u values(next value for g, 3, 1);
select * from u; select gen_id(g,0) from rdb$database;
update or insert into u(id,v) values(1, next value for g) matching(w);
select * from u; select gen_id(g,0) from rdb$database;
update or insert into u(id,v) values(7, default) ;
update or insert into u(id,w,v) values(7, default, 1) ;
update or insert into u(id,v) values(7, 2) ;
select * from u; 
rollback;
