-- FOR EXECUTE STATEMENT ... WITH AUTONOMOUS TRANSACTION: whose transaction, and what becomes of it.
create table t (id integer primary key, a integer);
create exception e 'oops';
insert into t values (1, 10);
insert into t values (2, 20);
set term ^;
create procedure ins (i integer) returns (x integer) as begin insert into t values (:i, current_transaction); x = current_transaction; suspend; insert into t values (:i + 1, current_transaction); x = current_transaction; suspend; insert into t values (:i + 2, current_transaction); x = current_transaction; suspend; end^
commit^
commit^
execute block returns (same boolean) as declare x integer; begin for execute statement 'select x from ins(10)' with autonomous transaction into x do begin same = (x = current_transaction); suspend; end end^
rollback^
select id from t order by id^
execute block returns (same boolean) as declare x integer; begin for execute statement 'select x from ins(20)' with autonomous transaction into x do begin leave; end end^
rollback^
select id from t order by id^
execute block returns (same boolean) as declare x integer; begin for execute statement 'select x from ins(30)' with autonomous transaction into x do begin exception e; end end^
rollback^
select id from t order by id^
execute block returns (same boolean) as declare x integer; begin begin for execute statement 'select x from ins(40)' with autonomous transaction into x do begin exception e; end when any do begin same = null; suspend; end end end^
rollback^
select id from t order by id^
execute block returns (same boolean) as declare x integer; begin begin for execute statement 'select x / 0 from ins(50)' with autonomous transaction into x do begin exception e; end when any do begin same = null; suspend; end end end^
rollback^
select id from t order by id^
execute block returns (x integer) as begin for execute statement 'insert into t values (60, 60) returning id' with autonomous transaction into x do suspend; for execute statement 'execute block returns (z integer) as begin insert into t values (61, 1); insert into t values (61, 1); z = 2; suspend; end' with autonomous transaction into x do suspend; end^
rollback^
select id from t order by id^
execute block returns (x integer) as begin for execute statement 'select count(*) from t' with autonomous transaction into x do suspend; insert into t values (70, 70); for execute statement 'select count(*) from t' with autonomous transaction into x do suspend; for execute statement 'select count(*) from t' into x do suspend; for execute statement 'select x from ins(80)' with autonomous transaction into x do begin select count(*) from t into x; suspend; exit; end end^
rollback^
select id from t order by id^
execute block returns (x integer) as begin for execute statement 'insert into t values (90, 1) returning id' into x do suspend; for execute statement 'update t set a = 2 where id = 90 returning id' into x do suspend; end^
rollback^
execute block returns (x integer) as begin for execute statement 'delete from t where id > 70 returning id' with autonomous transaction into x do suspend; end^
execute block returns (x integer) as begin for execute statement 'select id from nowhere' with autonomous transaction into x do suspend; end^
execute block returns (x integer) as begin for execute statement ('select id from t where id = ?') (2) with autonomous transaction into x do suspend; end^
execute block returns (x integer, y integer) as begin for execute statement 'select id, a from t' with autonomous transaction into x do suspend; end^
rollback^
create trigger tr_commit on transaction commit as declare n integer; begin n = rdb$set_context('USER_SESSION', 'COMMITS', coalesce(cast(rdb$get_context('USER_SESSION', 'COMMITS') as integer), 0) + 1); end^
create trigger tr_rollback on transaction rollback as declare n integer; begin n = rdb$set_context('USER_SESSION', 'ROLLBACKS', coalesce(cast(rdb$get_context('USER_SESSION', 'ROLLBACKS') as integer), 0) + 1); end^
commit^
execute block as declare x integer; begin x = rdb$set_context('USER_SESSION', 'COMMITS', 0); x = rdb$set_context('USER_SESSION', 'ROLLBACKS', 0); end^
execute block returns (a integer, b integer) as declare x integer; begin for execute statement 'select id from t' with autonomous transaction into x do begin end a = rdb$get_context('USER_SESSION', 'COMMITS'); b = rdb$get_context('USER_SESSION', 'ROLLBACKS'); suspend; end^
execute block returns (a integer, b integer) as declare x integer; begin for execute statement 'select id from t' with autonomous transaction into x do leave; a = rdb$get_context('USER_SESSION', 'COMMITS'); b = rdb$get_context('USER_SESSION', 'ROLLBACKS'); suspend; end^
execute block returns (a integer, b integer) as declare x integer; begin begin for execute statement 'select id / 0 from t' with autonomous transaction into x do begin end when any do x = 0; end a = rdb$get_context('USER_SESSION', 'COMMITS'); b = rdb$get_context('USER_SESSION', 'ROLLBACKS'); suspend; end^
