-- RDB$DB_KEY and RDB$RECORD_VERSION of a trigger's NEW and OLD.
create table t (a integer, b integer);
create table l (n integer generated always as identity, what varchar(30), k char(8) character set octets, v bigint);
set term ^;
create trigger t_bi before insert on t position 1 as begin insert into l (what, k, v) values ('bi new', new.rdb$db_key, new.rdb$record_version); end^
create trigger t_ai after insert on t as begin insert into l (what, k, v) values ('ai new', new.rdb$db_key, new.rdb$record_version); end^
create trigger t_bu before update on t as begin insert into l (what, k, v) values ('bu old', old.rdb$db_key, old.rdb$record_version); insert into l (what, k, v) values ('bu new', new.rdb$db_key, new.rdb$record_version); end^
create trigger t_au after update on t as begin insert into l (what, k, v) values ('au old', old.rdb$db_key, old.rdb$record_version);  insert into l (what, k, v) values ('au new', new.rdb$db_key, new.rdb$record_version); end^
create trigger t_bd before delete on t as begin insert into l (what, k, v) values ('bd old', old.rdb$db_key, old.rdb$record_version); end^
create trigger t_ad after delete on t as begin insert into l (what, k, v) values ('ad old', old.rdb$db_key, old.rdb$record_version); end^
set term ;^
insert into t values (1, 2);
select what, k = (select rdb$db_key from t), v = current_transaction, v is null, k is null from l order by n;
commit;
delete from l;
update t set b = 3;
select what, k = (select rdb$db_key from t), v = current_transaction, v is null, k is null from l order by n;
commit;
delete from l;
commit;
delete from t;
select what, v = current_transaction, v is null, k is null, k = x'0000000000000000' from l order by n;
rollback;
select what from l;
set term ^;
create trigger t_x before insert on t position 0 as begin if (old.rdb$db_key is null) then new.b = 5; end^
create trigger t_y before insert or update or delete on t position 5 as begin if (old.rdb$db_key is null) then insert into l (what) values ('old null'); if (new.rdb$db_key is null) then insert into l (what) values ('new null'); end^
set term ;^
delete from l;
insert into t values (2, 2);
update t set b = 7 where a = 2;
delete from t where a = 2;
select what, k is null from l order by n;
create view v as select a, b from t;
set term ^;
create trigger v_bi before insert on v as begin insert into l (what, k, v) values ('v new', new.rdb$db_key, new.rdb$record_version); end^
create trigger v_bu before update on v as begin insert into l (what, k, v) values ('v bu', old.rdb$db_key, old.rdb$record_version); end^
set term ;^
delete from l;
insert into v values (9, 9);
select what, k is null, v is null from l order by n;
set term ^;
create trigger t_z before insert on t as declare k char(8) character set octets; begin k = new.rdb$db_key; insert into l (what, k) values ('var', :k); select a from t where rdb$db_key = new.rdb$db_key into new.b; end^
create procedure p as begin new.a = 1; end^
create procedure p as declare x integer; begin x = new.rdb$db_key; end^
create trigger t_q before insert on t as begin if (exists (select 1 from t x where x.rdb$db_key = new.rdb$db_key)) then exception; end^
set term ;^
