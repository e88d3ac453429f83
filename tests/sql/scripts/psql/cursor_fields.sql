-- Fields of declared cursors: they can be read where the cursor stands on a row, and nowhere else.
create table t (id integer);
insert into t values (1);
commit;
set term ^;
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; a = c.id; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; fetch c; a = c.id; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; a = c.id; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin a = c.id; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; close c; a = c.id; suspend; end^
execute block returns (a integer) as declare c scroll cursor for (select id from t); begin open c; fetch prior from c; a = c.id; suspend; end^
execute block returns (a integer) as declare c scroll cursor for (select id from t); begin open c; fetch next from c; fetch next from c; fetch first from c; a = c.id; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; while (row_count > 0) do fetch c; a = coalesce(c.id, 7); suspend; end^
execute block returns (a integer) as begin for select id from t as cursor c do begin a = c.id; suspend; end end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; fetch c; a = c.id; suspend; when any do begin a = gdscode; suspend; end end^
execute block as declare c cursor for (select id from t); begin open c; fetch c; fetch c; insert into t (id) values (:c.id); end^
execute block as declare c cursor for (select id from t); begin open c; fetch c; fetch c; delete from t where current of c; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; if (c.id = 1) then a = 5; suspend; fetch c; if (c.id = 1) then a = 6; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; a = 0; while (c.id = 1) do begin a = a + 1; fetch c; end suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; for select c.id from t into a do suspend; select c.id + 1 from t into a; suspend; end^
execute block returns (a integer) as declare c cursor for (select id from t); begin open c; fetch c; a = 0; while (a < 3) do begin a = a + c.id; if (a = 2) then continue; end suspend; end^
