-- Cascades over several tables, long chains, keys of several columns, two references of one table to another. Unlike
-- Firebird, a cascade that comes back over another table (FA and FB) is kept: there it fails, since the statement overwrites
-- the key that the cascade has changed.
-- The answers are those of Firebird 5.0.4.

create table t(x int not null primary key, y int references t on delete cascade on update cascade);
create table s(x int not null primary key, y int references s on delete cascade on update cascade);
create table a(x int not null primary key, k int);
create table b(x int not null primary key references a on update cascade on delete cascade, v int);
create table c(x int not null primary key references b on update cascade on delete cascade, v int);
create table fa(id int not null primary key, u int not null unique, p int);
create table fb(id int not null primary key, u int not null unique references fa(u) on update cascade on delete cascade);
alter table fa add constraint fa_p foreign key(p) references fb(u) on update cascade on delete set null;
create table m(a int not null, b int not null, pa int, pb int, primary key(a,b), foreign key (pa,pb) references m(a,b) on update cascade on delete set null);
create table two_p(x int not null primary key);
create table two_c(id int, f int references two_p, g int references two_p on delete cascade on update cascade);
create table two_d(id int, f int references two_p on delete cascade on update cascade, g int references two_p );
commit;
set term ^;
execute block as declare i int = 1; begin insert into t values(0,null); while (i<700) do begin insert into t values(:i,:i-1); i=i+1; end end^
execute block as declare i int = 1; begin insert into s values(0,null); while (i<1100) do begin insert into s values(:i,:i-1); i=i+1; end end^
set term ;^
commit;
delete from t where x=0;
select count(*) from t; rollback;
update t set x=-x; select count(*) from t where y>0; rollback;
update t set x=-x order by x desc; select count(*) from t where y>0; rollback;
delete from s where x=0;
select count(*) from s; rollback;
insert into a values(1,0); insert into a values(2,0); insert into b values(1,1); insert into b values (2,2); insert into c select * from b; commit;
update a set x=-x;
select * from a; select * from b; select * from c;
update b set x=x; update b set x=5; 
rollback;
insert into fa values(1,1,null); insert into fb values(1,1); insert into fa values(2,2,1);insert into fb values(2,2);
insert into fa values(3,3,2);
commit;
update fa set u=-u; select * from fa; select * from fb; rollback;
update fa set u=-u order by u desc; select * from fa; select * from fb; rollback;
update fb set u=u; delete from fa where u<3; select * from fa; select * from fb; rollback;
delete from fa; select * from fa; select * from fb; rollback;
insert into m values(1,1,null,null); insert into m values(1,2,1,1); insert into m values(2,1,1,2); commit;
update m set a=a+10; select * from m; rollback;
update m set b=b+10; select * from m; rollback;
update m set b=b+10, pb=pb+10; select * from m; rollback;
update m set b=b+10, pa=pa; select * from m; rollback;
delete from m where b=2; select * from m; rollback;
update m set a=-a,b=-b; select * from m; delete from m where a=-1; select * from m; rollback;
insert into two_p values(1); insert into two_p values(2); insert into two_c values(1,1,1); insert into two_d values(1,1,1);
commit;
delete from two_p where x=1; select * from two_c; rollback;
delete from two_d; delete from two_p where x=1; select * from two_c; rollback;
delete from two_c; delete from two_p where x=1; select * from two_d; rollback;
update two_p set x=x+10; rollback;
create table r(x int not null primary key, y int references r);
insert into r values (1,1); commit;
update r set x=-x; select * from r; rollback;
delete from r; select * from r; rollback;
insert into r values(2,1); insert into r values(3,2); commit;
delete from r; rollback;
delete from r order by x desc; select * from r; rollback;
update r set x=x,y=null; delete from r; rollback;
create table rc(x int not null primary key, y int references rc on update cascade);
insert into rc values (1,1); commit;
update rc set x=-x returning x,y; select * from rc; rollback;
insert into rc values(2,1); commit;
update rc set x=-x returning old.x,old.y,new.x,new.y; select * from rc; rollback;
update rc set x=-x, y=-y; select * from rc; rollback;
update rc set x=-x, y=2; select * from rc; rollback;
merge into rc using rc r2 on rc.x=r2.x when matched then update set x=-rc.x; select * from rc; rollback;
merge into rc using rc r2 on rc.x=r2.x when matched then delete; select * from rc; rollback;
set term ^;
execute block as begin for select x from rc as cursor c do update rc set x=-x where current of c; end^
select * from rc^ rollback^
execute block as declare x int; begin for select x from rc into x as cursor c do begin update rc set x=-x where x=:x; end end^
select * from rc^ rollback^
set term ;^
