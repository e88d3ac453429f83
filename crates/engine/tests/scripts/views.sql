create table d (id int not null primary key, name varchar(20));
create table e (id int not null primary key, did int references d, name varchar(20), sal numeric(10,2), hired date, mgr int);
create index e_name on e (name);
create descending index e_sal on e (sal);
insert into d values (1,'Sales');
insert into d values (2,'Dev');
insert into d values (3,'Empty');
insert into e values (1,1,'Ann',100.50,'2020-01-01',null);
insert into e values (2,1,'Bob',200,'2020-02-01',1);
insert into e values (3,2,'Cid',300.25,'2021-01-01',1);
insert into e values (4,2,'Dan',400,null,3);
insert into e values (5,null,'Eve',null,'2022-05-05',3);
commit;
create view v as select e.id, e.name, d.name dname from e join d on d.id = e.did where e.sal > 50;
create view v2 (a, b) as select id, name from e where sal > 100;
select * from v order by id;
select a, b from v2 where a > 2;
update v2 set b = 'Zed' where a = 2;
select * from e where id = 2;
insert into v2 (a, b) values (10, 'Ten');
delete from v2 where a = 3;
select count(*) from e;
create view triggered as select id, name from d where id < 10;
set term ^;
create trigger triggered_change for triggered before insert or update or delete as
begin
  if (inserting) then insert into d (id, name) values (new.id + 50, new.name);
  if (updating) then update d set name = new.name || ' by trigger' where id = old.id;
  if (deleting) then delete from e where did = old.id;
end^
set term ;^
insert into triggered (id, name) values (5, 'Five');
update triggered set name = 'Two' where id = 2;
delete from triggered where id = 2;
select * from d order by id;
select id, did from e order by id;
create view checked as select id, name from d where id > 50 with check option;
insert into checked values (60, 'ok');
insert into checked values (6, 'too low');
update checked set id = 7 where id = 60;
create view joined as select a.id, b.name from d a join d b on a.id = b.id;
update joined set name = 'x';
create view renamed (a, b) as select id, name from d;
update renamed set b = 'R' where a = 1 returning a, b, old.b;
delete from renamed where a = 60 returning b;
select * from (select a x from renamed) where x = 1;
