-- What a cursor's fields show after UPDATE and DELETE ... WHERE CURRENT OF, and what ROW_COUNT counts.
create table t (id integer primary key, a integer, b varchar(10), c computed by (a * 10));
create table u (id integer primary key, x integer);
create view v as select id, a aa, b from t;
insert into t values (1, 10, 'one');
insert into t values (2, 20, 'two');
insert into u values (1, 7);
insert into u values (2, 8);
commit;
set term ^;
execute block returns (w varchar(20), id integer, a integer, b varchar(10), c integer, e integer) as begin for select id, a, b, c, a + 1 e from t as cursor q do begin w = 'before'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set a = a + 100, b = 'x' || q.id where current of q; w = 'after'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set a = q.a + 1000 where current of q; w = 'again'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set a = 5 where id = q.id; w = 'by key'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set b = 'last' where current of q; w = 'last'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; select a, b from t where id = q.id into a, b; w = 'table'; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, b varchar(10), c integer, e integer) as begin for select id, a, b, c, a + 1 e from t as cursor q do begin delete from t where current of q; w = 'deleted'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, b varchar(10), c integer, e integer) as declare q cursor for (select id, a, b, c, a + 1 e from t); begin open q; while (1=1) do begin fetch q; if (row_count = 0) then leave; w = 'before'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set a = a + 100, b = 'x' where current of q; w = 'after'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; delete from t where current of q; w = 'deleted'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, b varchar(10), c integer, e integer) as declare q cursor for (select id, a, b, c, a + 1 e from t order by a + 0 desc); begin open q; while (1=1) do begin fetch q; if (row_count = 0) then leave; w = 'before'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set a = a + 100, b = 'x' where current of q; w = 'after'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; end end^
rollback^
rollback^
execute block returns (w varchar(20), id integer, a integer) as begin for select id, a from t as cursor q do begin delete from t where current of q; w = 'deleted'; id = q.id; a = row_count; suspend; update t set a = 7 where current of q; w = 'again'; id = q.id; a = row_count; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as begin for select id, a from t as cursor q do begin delete from t where current of q; delete from t where current of q; w = 'again'; id = q.id; a = row_count; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as declare q cursor for (select id, a from t); begin open q; fetch q; delete from t where current of q; w = 'deleted'; id = q.id; a = row_count; suspend; begin delete from t where current of q; w = 'again'; id = q.id; a = row_count; suspend; when any do begin a = gdscode; suspend; end end close q; end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a from t as cursor q do begin delete from t where id = q.id; w = 'deleted'; id = q.id; a = row_count; suspend; update t set a = 7 where current of q; w = 'again'; id = q.id; a = row_count; x = q.a; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as begin for select id, aa from v as cursor q do begin update v set aa = 7 where current of q; w = 'view'; id = q.id; a = q.aa; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a, (select max(a) from t) m from t as cursor q do begin update t set a = a + 50 where current of q returning a into x; w = 'sub'; id = q.a; a = q.m; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a from t where a < 100 as cursor q do begin update t set a = a + 500 where current of q; w = 'filter'; id = q.id; a = q.a; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a from t as cursor q do begin begin update t set id = null where current of q; when any do begin w = 'failed'; id = q.id; a = q.a; suspend; end end end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a from t as cursor q do begin begin update t set a = 77 where current of q; w = 'changed'; id = q.id; a = q.a; suspend; x = 1 / 0; when any do begin w = 'undone'; id = q.id; a = q.a; suspend; end end end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a from t for update as cursor q do begin update t set a = 77 where current of q; w = 'changed'; id = q.id; a = q.a; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as declare q scroll cursor for (select id, a from t order by id); begin open q; fetch q; update t set a = 77 where current of q; w = 'changed'; id = q.id; a = q.a; suspend; fetch next from q; fetch prior from q; w = 'back'; id = q.id; a = q.a; suspend; end^
execute block returns (w varchar(20), id integer, a integer) as begin for select id, a from t as cursor q do begin update t set a = 7 where current of q; w = 'update'; id = q.id; a = row_count; suspend; insert into t values (100 + q.id, 1, 1); w = 'insert'; id = q.id; a = row_count; suspend; update t set a = 8 where current of q; w = 'update'; id = q.id; a = row_count; suspend; update t set a = 8 where id > 0; w = 'update all'; id = q.id; a = row_count; suspend; delete from t where current of q; w = 'delete'; id = q.id; a = row_count; suspend; leave; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as declare q cursor for (select id, a from t); begin open q; fetch q; update t set a = 7; w = 'all'; id = q.id; a = row_count; suspend; update t set a = 7 where current of q; w = 'update'; id = q.id; a = row_count; suspend; delete from t where current of q; w = 'delete'; id = q.id; a = row_count; suspend; end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as begin for select id, a from t as cursor q do begin delete from t where id = q.id; delete from t where current of q; w = 'again'; id = q.id; a = row_count; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as declare q cursor for (select id, a from t); begin open q; fetch q; delete from t where id = q.id; delete from t where current of q; w = 'again'; id = q.id; a = row_count; suspend; end^
rollback^
execute block returns (w varchar(20), id integer, a integer) as declare q cursor for (select id, a from t); begin open q; fetch q; delete from t where id = q.id; update t set a = 5 where current of q; w = 'again'; id = q.id; a = row_count; suspend; end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as begin for select id, a from t as cursor q do begin delete from t where id = q.id; w = 'deleted'; id = q.id; a = row_count; suspend; begin update t set a = 7 where current of q; w = 'again'; id = q.id; a = row_count; x = q.a; suspend; when any do begin a = gdscode; suspend; end end end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, x integer) as declare q cursor for (select id, a from t); begin open q; fetch q; delete from t where current of q; w = 'deleted'; id = q.id; a = row_count; suspend; update t set a = 7 where current of q; w = 'again'; id = q.id; a = row_count; x = q.a; suspend; close q; begin update t set a = 7 where current of q; when any do begin a = gdscode; suspend; end end open q; begin update t set a = 7 where current of q; when any do begin a = gdscode; suspend; end end end^
rollback^
execute block returns (w varchar(20), n integer) as declare i integer; begin w = 'start'; n = row_count; suspend; for select id from t into i do begin w = 'outer'; n = row_count; suspend; for select id from u into i do begin w = 'inner'; n = row_count; suspend; end w = 'after'; n = row_count; suspend; end w = 'end'; n = row_count; suspend; end^
execute block returns (w varchar(20), n integer) as declare i integer; begin for select id from t into i do begin w = 'outer'; n = row_count; suspend; update t set a = 5; w = 'update'; n = row_count; suspend; end w = 'end'; n = row_count; suspend; end^
rollback^
execute block returns (w varchar(20), n integer) as declare i integer; begin for select id from t into i as cursor q do begin w = 'outer'; n = row_count; suspend; update t set a = 5 where current of q; w = 'update'; n = row_count; suspend; end w = 'end'; n = row_count; suspend; select count(*) from t into i; w = 'select'; n = row_count; suspend; select id from t where id = 99 into i; w = 'none'; n = row_count; suspend; end^
rollback^
execute block returns (w varchar(20), n integer) as declare i integer; declare q cursor for (select id from t); begin open q; w = 'open'; n = row_count; suspend; fetch q; w = 'fetch'; n = row_count; suspend; update t set a = 5 where current of q; w = 'update'; n = row_count; suspend; fetch q; w = 'fetch'; n = row_count; suspend; fetch q; fetch q; w = 'fetch'; n = row_count; suspend; end^
rollback^
execute block returns (w varchar(20), n integer) as declare i integer; begin for execute statement 'select id from t' into i do begin w = 'outer'; n = row_count; suspend; end w = 'end'; n = row_count; suspend; execute statement 'update t set a = 5'; w = 'es'; n = row_count; suspend; update t set a = 5 where id = 1; execute statement 'select count(*) from t' into i; w = 'es'; n = row_count; suspend; end^
rollback^
create trigger tb for t before update as begin new.b = 'trig'; end^
commit^
execute block returns (w varchar(20), id integer, a integer, b varchar(10), c integer, e integer) as begin for select id, a, b, c, a + 1 e from t as cursor q do begin update t set a = a + 100 where current of q; w = 'after trig'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; update t set a = a + 100 where id = q.id; w = 'by key'; id = q.id; a = q.a; b = q.b; c = q.c; e = q.e; suspend; end end^
rollback^
execute block returns (w varchar(20), id integer, a integer, i integer, b varchar(10)) as begin for select id, a, b from t into id, a, b as cursor q do begin update t set a = a + 100 where current of q; w = 'into'; suspend; i = q.a; a = q.a; b = q.b; suspend; end end^
rollback^
rollback^
execute block returns (n integer, s integer) as declare i integer = 0; begin for select id, a from t as cursor q do begin while (i < 3) do begin n = q.a; update t set a = a + 1 where current of q; i = i + 1; suspend; end i = 0; end end^
rollback^
execute block returns (n integer) as begin for select id, a from t as cursor q do begin begin update t set a = a + 100 where current of q; if (q.a > 110) then exception; n = q.a; suspend; end end end^
rollback^
execute block returns (n integer, k integer) as begin for select id, a from t as cursor q do for select a from t where id = q.id as cursor r do begin update t set a = a + 1 where current of r; n = q.a; k = r.a; suspend; update t set a = a + 1 where current of q; n = q.a; k = r.a; suspend; end end^
rollback^
