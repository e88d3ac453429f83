-- When triggers, cascades and the check for references run, and rows that triggers of the statement itself have changed or
-- deleted before their turn.
-- The answers are those of Firebird 5.0.4.

create table log(n int generated always as identity, s varchar(200)); 
create table p(id int not null primary key, v int, c computed by (v+1), cc computed by (id*10+v));
create table ch(id int not null primary key, p int references p(id) on update cascade on delete cascade, w int);
set term ^;
create trigger p_bu for p before update position 0 as begin insert into log(s) values('p bu '||old.id||' '||new.id||' '||(select count(*) from ch where p=old.id)); end^
create trigger p_au0 for p after update position 0 as begin insert into log(s) values('p au0 '||old.id||' '||new.id||' '||(select count(*) from ch where p=old.id)); end^
create trigger p_au5 for p after update position 5 as begin insert into log(s) values('p au5 '||old.id||' '||new.id||' '||(select count(*) from ch where p=old.id)); end^
create trigger p_ad0 for p after delete position 0 as begin insert into log(s) values('p ad0 '||old.id||' '||(select count(*) from ch where p=old.id)); end^
create trigger p_ad5 for p after delete position 5 as begin insert into log(s) values('p ad5 '||old.id||' '||(select count(*) from ch where p=old.id)); end^
create trigger p_bd for p before delete position 0 as begin insert into log(s) values('p bd '||old.id||' '||(select count(*) from ch where p=old.id)); end^
create trigger c_au for ch after update position 0 as begin insert into log(s) values('ch au '||old.p||' '||new.p); end^
create trigger c_ad for ch after delete position 0 as begin insert into log(s) values('ch ad '||old.p); end^
set term ;^
commit;
insert into p(id,v) values(1,1); insert into p(id,v) values(2,1);
insert into ch values(1,1,0); insert into ch values(2,1,0);insert into ch values(3,2,0);
update p set id=id+10;
select * from log order by n; delete from log;
delete from p;
select * from log order by n; rollback;

-- NO ACTION and triggers that remove the children
create table p2(id int not null primary key);
create table c2(id int, p int references p2(id));
set term ^;
create trigger p2_ad for p2 after delete as begin delete from c2 where p=old.id; end^
create trigger p2_au for p2 after update as begin update c2 set p=new.id where p=old.id; end^
set term ;^
commit;
insert into p2 values(1); insert into p2 values(2); insert into c2 values(1,1); insert into c2 values(2,2); commit;
update p2 set id=id+10;
select * from c2;
delete from p2 where id=12;
select * from c2; rollback;

-- row deleted by an earlier row's cascade or trigger
create table q(id int not null primary key, nx int);
set term ^;
create trigger q_ad for q after delete as begin delete from q where id=old.nx; insert into log(s) values('q ad '||old.id); end^
create trigger q_au for q after update as begin insert into log(s) values('q au '||old.id||' '||coalesce(old.nx,'n')||' '||coalesce(new.nx,'n')); update q set nx=77 where id=old.nx;  end^
create trigger q_bu for q before update as begin insert into log(s) values('q bu '||old.id||' '||coalesce(old.nx,'n')||' '||coalesce(new.nx,'n'));  end^
set term ;^
commit;
insert into q values(1,2); insert into q values(2,3); insert into q values(3,null);commit;
delete from q; select * from log order by n; rollback;
delete from q returning id,nx; select * from log order by n; rollback;
update q set id=id+10; select * from q; select * from log order by n; rollback;
update q set id=id+10 returning old.id, old.nx, new.id,new.nx; select * from q;  rollback;
update q set id=id+10 where id=1; select * from q; rollback;

-- self-deleting before trigger
create table z(id int not null primary key, v int);
set term ^;
create trigger z_bd for z before delete as begin delete from z where id=old.id+1; end^
create trigger z_bu for z before update as begin if (new.v=5) then delete from z where id=old.id; else if (new.v=6) then update z set v=100,id=id+50 where id=old.id; else if (new.v=8) then delete from z where id=old.id+1; end^
set term ;^
commit;
insert into z values(1,1); insert into z values(2,2); insert into z values(3,3); commit;
delete from z; select * from z; rollback;
delete from z returning id; select * from z; rollback;
update z set v=5 where id=1; select * from z; rollback;
update z set v=6 where id=1; select * from z; rollback;
update z set v=8; select * from z; rollback;
update z set v=8 returning id,v; select * from z; rollback;
set term ^;
create or alter trigger z_bd for z before delete as begin if (old.id=1) then delete from z where id=old.id; end^
set term ;^
delete from z where id=1; select * from z; rollback;
