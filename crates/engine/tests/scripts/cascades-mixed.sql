-- Cascades in views, UPDATE OR INSERT, MERGE, with triggers that write NEW, with defaults and CHECK constraints.
-- The answers are those of Firebird 5.0.4.

create table m(a int not null, b int not null, pa int, pb int, primary key(a,b));
alter table m add foreign key (pa,pb) references m(a,b) on update cascade on delete set null;
commit;
insert into m values(1,1,null,null); insert into m values(1,2,1,1); insert into m values(2,1,1,2); commit;
update m set a=a+10; select * from m; rollback;
update m set b=b+10; select * from m; rollback;
update m set b=b+10, pb=pb+10; select * from m; rollback;
update m set b=b+10, pa=pa; select * from m; rollback;
update m set b=b+10, pa=null; select * from m; rollback;
delete from m where b=2; select * from m; rollback;
update m set a=-a,b=-b; select * from m; delete from m where a=-1; select * from m; rollback;
-- view, update or insert, merge, returning
create table t(x int not null primary key, y int references t on update cascade on delete set null, v int);
create view tv as select x,y from t;
create view tw as select x,y from t where x>0;
commit;
insert into t values(1,null,1); insert into t values(2,1,1); insert into t values(3,2,1); commit;
update tv set x=-x; select * from t; rollback;
delete from tv where x<3; select * from t; rollback;
update tw set x=x+100; select * from t; rollback;
update or insert into t(x,y,v) values(1,1,5) matching(v) returning x,y,v; select * from t; rollback;
merge into t using (select 1 q from rdb$database) on t.v=q when matched then update set x=-x, v=9; select * from t; rollback;
merge into t using (select 1 q from rdb$database) on t.v=q when matched and t.x<3 then delete when matched then update set v=7; select * from t; rollback;
-- triggers writing NEW
set term ^;
create trigger t_bu for t before update as begin if (new.v=50) then new.y=3; if (new.v=51) then new.x=new.x+1000; end^
set term ;^
commit;
update t set x=-x,v=50 where x<3; select * from t; rollback;
update t set v=51; select * from t; rollback;
update t set x=x+10 where y is null or y=1; select * from t; rollback;
-- set default with several rows
create table d(x int not null primary key, y int default 1 references d on update set default on delete set default, v int);
commit;
insert into d values(1,null,1); insert into d values(2,1,1); insert into d values(3,2,1); insert into d values(4,3,1); commit;
update d set x=x+10 where x>1; select * from d; rollback;
delete from d where x>1 and x<4; select * from d; rollback;
delete from d where x=1; rollback;
update d set x=1 where x=1; update d set x=5 where x=1; rollback;
-- check constraints on cascaded columns
create table k(x int not null primary key, y int references k on update cascade, check (y is null or y < 100 or x>100));
commit;
insert into k values(1,null); insert into k values (2,1);insert into k values (3,2);
update k set x=x+100; select * from k; rollback;
create table e(x int not null primary key, y int references e on update cascade, v int);
set term ^;
create trigger e_au for e after update as begin if (new.v=1) then update e set v=2,y=null where y=new.x; end^
create trigger e_ad for e after delete as begin insert into e values(old.x+100,null,null); end^
set term ;^
commit;
insert into e values(1,null,0); insert into e values (2,1,0);insert into e values (3,2,0);commit;
update e set v=1; select * from e; rollback;
update e set v=1,x=x+10; select * from e; rollback;
delete from e where x=3; select * from e; rollback;
set term ^;
execute block returns(n int) as begin update e set x=x+10; n=row_count; suspend; delete from e; n=row_count; suspend; when any do begin n=-1; suspend; end end^
select * from e^ rollback^
execute block returns(n int) as begin delete from t where x<4; n=row_count; suspend; end^
rollback^
set term ;^
