--@ dialect 1
execute procedure rdb$profiler.flush;
select rdb$profiler.start_session('x', null, null, 'nix') from rdb$database;
create table b (x blob sub_type text);
insert into b values ('some text');
set term ^;
execute block returns (part varchar(20)) as
  declare h integer;
begin
  select rdb$blob_util.open_blob(x) from b into h;
  part = rdb$blob_util.read_data(h, 4);
  suspend;
  execute procedure rdb$blob_util.close_handle(h);
end^
set term ;^
select rdb$time_zone_util.database_version() is null from rdb$database;
