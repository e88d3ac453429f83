-- RDB$RECORD_VERSION is the transaction that wrote the version of a row which the statement sees.
create table t (a int primary key, b int);
create table u (a int, c int);
commit;
insert into t values (1, 1);
insert into t values (2, 2);
insert into u values (1, 1);
commit;
select a, rdb$record_version - current_transaction from t;
update t set b = 3 where a = 1;
select a, rdb$record_version - current_transaction from t order by rdb$record_version, a;
delete from t where a = 2 returning rdb$record_version - current_transaction;
insert into t values (3, 3) returning rdb$record_version - current_transaction;
update t set b = 5 where a = 3 returning old.rdb$record_version - current_transaction, new.rdb$record_version - current_transaction;
update or insert into t values (4, 3) returning rdb$record_version - current_transaction;
merge into t using u on t.a = u.a + 77 when not matched then insert values (88, 1) returning t.rdb$record_version - current_transaction;
-- What was read a while ago is written only if nobody has changed it since.
commit;
update t set b = 9 where a = 1 and rdb$record_version = current_transaction - 1;
update t set b = 10 where a = 1 and rdb$record_version = current_transaction - 1;
rollback;
-- Everywhere an expression can be.
select count(*) from t where t.rdb$record_version < current_transaction;
select count(*) from t group by rdb$record_version;
select max(x.rdb$record_version) - min(x.rdb$record_version) from t x;
select t.a, u.rdb$record_version is null from t left join u on u.a = t.a;
create view v as select * from t;
select a, rdb$record_version - current_transaction from v;
update t set b = rdb$record_version - current_transaction;
select a, b from t;
-- Nowhere where no row is stored.
select rdb$record_version from mon$attachments where 1 = 0;
create index i on t computed by (rdb$record_version);
create table w (a int, b computed by (rdb$record_version));
-- RETURNING knows the row, too.
insert into u values (5, 5) returning rdb$db_key is null;
update u set c = 6 where a = 5 returning rdb$db_key is null;
update or insert into u values (6, 6) matching (a) returning rdb$db_key is null;
delete from u where a = 5 returning rdb$db_key is null;
merge into u using t on t.a = u.a when matched then update set c = 0 returning u.rdb$db_key is null;
