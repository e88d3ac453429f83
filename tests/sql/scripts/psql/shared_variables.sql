-- Variables that local routines share with the routine around them, also where a query calls them.
create table t (a integer);
insert into t values (1);
commit;
set term ^;
execute block returns (x integer) as
  declare n integer = 10;
  declare procedure p returns (b integer) as begin n = n + 1; b = n; suspend; end
begin
  select b from p into x; suspend;
  x = n; suspend;
  n = 20;
  select b from p into x; suspend;
  x = n; suspend;
end^
execute block returns (x integer) as
  declare n integer = 10;
  declare procedure p returns (b integer) as begin n = n + 1; b = n; suspend; n = n + 10; b = n; suspend; end
begin
  for select b from p into x do begin suspend; x = n; suspend; n = 100; end
  x = n; suspend;
end^
execute block returns (x integer) as
  declare n integer = 10;
  declare procedure p returns (b integer) as begin n = n + 1; b = n; suspend; end
begin
  x = (select b from p) + n; suspend;
  x = n; suspend;
end^
execute block returns (x integer) as
  declare n integer = 10;
  declare procedure p as begin n = n + 1; end
  declare function f returns integer as begin n = n + 100; return n; end
begin
  execute procedure p; x = n; suspend;
  x = f(); suspend; x = n; suspend;
  select f() from rdb$database into x; suspend; x = n; suspend;
  for select f() from rdb$database into x do suspend; x = n; suspend;
end^
execute block returns (x integer) as
  declare n integer = 1;
  declare procedure p returns (b integer) as begin n = n + 1; b = n; suspend; end
begin
  for select p1.b + p2.b from p p1 cross join p p2 into x do begin suspend; end
  x = n; suspend;
  insert into t select b from p;
  x = n; suspend;
  select max(a) from t into x; suspend;
end^
set term ;^
