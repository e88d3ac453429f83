create table t (id int not null primary key, v int, w varchar(10));
insert into t values (1, 10, 'a');
insert into t values (2, 20, 'b');
insert into t values (3, 30, 'c');
select * from t where id > 1 with lock;
select * from t for update;
select rdb$db_key, id from t where id = 2;
select id from t where rdb$db_key = (select rdb$db_key from t where id = 3);
set term ^;
execute block as declare variable x int; begin for select id from t into :x as cursor c do begin if (x = 2) then delete from t where current of c; else update t set v = v + 1 where current of c; end end^
select * from t^
execute block as begin insert into t values (9, 9, 'z'); insert into t values (9, 9, 'z'); end^
select count(*) from t^
insert into t select id + 10, v, w from t^
insert into t select id + 100, v, w from t order by id^
select count(*) from t^
update t set id = id + 1000 order by id desc rows 2^
select id from t order by id^
delete from t where id > 1000 returning id^
create table u (a int, b int, constraint ux unique (a, b))^
insert into u values (1, null)^
insert into u values (1, null)^
insert into u values (null, null)^
insert into u values (null, null)^
insert into u values (1, 2)^
insert into u values (1, 2)^
create domain dpos as int check (value > 0) not null^
create domain dd as varchar(5) default 'dflt'^
create table dt (x dpos, y dd, z dd default 'own')^
insert into dt (x) values (1) returning x, y, z^
insert into dt (x) values (-1)^
insert into dt (y) values ('a')^
update dt set x = -5^
update dt set y = default, z = 'abcdef'^
update dt set y = default, z = default returning y, z^
create table s1 (id int primary key, parent int references s1 on delete cascade)^
insert into s1 values (1, null)^
insert into s1 values (2, 1)^
insert into s1 values (3, 2)^
delete from s1 where id = 1^
select count(*) from s1^
insert into s1 values (5, 5)^
create table fkn (id int primary key, p int references t on delete set null on update cascade, q int default 1 references t on delete set default)^
insert into fkn values (1, 3, 3)^
delete from t where id = 3^
select * from fkn^
update t set id = 77 where id = 1^
select * from fkn^
update or insert into t (id, v) values (77, 5) matching (id) returning id, v, old.v, new.v^
select * from t a natural join t b^
select a.id, b.id from t a left join t b on a.id = b.id and b.v > 1000 where b.id is null^
select current_timestamp - 1 < current_timestamp, current_date = cast('today' as date), time '10:00' + 60 from rdb$database^
select cast(timestamp '2020-01-02 03:04:05' as date), date '2020-02-30' from rdb$database^
select 1 from t where id = 1.5^
select id from t where id < 77.5 and id > 10.2^
select id from t where v = '5'^
select id from t where w = 5^
select id from t where id between '10' and 20^
