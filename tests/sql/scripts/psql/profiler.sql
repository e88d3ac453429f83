-- RDB$PROFILER: sessions, lines and what they have cost, and the tables that profiles are written to.
create table tab (id integer not null, val integer not null);
create table lg (id integer);
set term ^;
create trigger tb for tab before insert as
begin
  new.val = new.val + 1;
  insert into lg values (new.id);
end^
create procedure ins (n integer) as
  declare i integer = 1;
  declare function f (x integer) returns integer as begin
    return x + 1;
  end
begin
  while (i <= n) do
  begin
    if (mod(i, 2) = 1) then
      insert into tab values (:i, f(:i));
    i = i + 1;
  end
end^
create procedure own returns (s bigint) as
begin
  s = rdb$profiler.start_session('within');
  s = s + 1;
  execute procedure rdb$profiler.pause_session;
  s = s + 1;
  execute procedure rdb$profiler.resume_session;
  s = s - 2;
  execute procedure rdb$profiler.finish_session;
  suspend;
end^
commit^
select rdb$profiler.start_session('first') from rdb$database^
commit^
execute procedure ins(10)^
select count(*) from tab^
select t.id from tab t join lg on lg.id = t.id where t.id > 3 order by t.id^
delete from tab where id > 5^
commit^
execute procedure rdb$profiler.pause_session(true)^
select count(*) from lg^
execute procedure rdb$profiler.resume_session^
execute block as begin
  update lg set id = id + 1;
  update lg set id = id - 1 where id > 2;
end^
execute procedure rdb$profiler.finish_session^
execute procedure own^
commit^
select rdb$profiler.start_session('third', null, null, 'Default_Profiler', ' detailed_requests ') from rdb$database^
commit^
execute procedure ins(3)^
execute procedure rdb$profiler.set_flush_interval(0)^
execute procedure rdb$profiler.finish_session(false)^
select count(*) from plg$prof_sessions^
execute procedure rdb$profiler.flush^
commit^
select profile_id, user_name, description, finish_timestamp >= start_timestamp from plg$prof_sessions order by 1^
select profile_id, statement_type, package_name, routine_name, parent_statement_type, parent_routine_name, line_num, column_num, counter, max_elapsed_time >= min_elapsed_time, total_elapsed_time >= max_elapsed_time from plg$prof_psql_stats_view order by profile_id, routine_name, line_num^
select profile_id, statement_type, package_name, routine_name, counter, total_elapsed_time > 0 from plg$prof_statement_stats_view where statement_type in ('PROCEDURE', 'TRIGGER') and package_name is null order by profile_id, routine_name^
select level, cursor_line_num, open_counter, fetch_counter from plg$prof_record_source_stats_view where sql_text starting with 'delete from tab' or cursor_line_num is not null order by record_source_id, cursor_line_num^
select s.routine_name, c.routine_name, count(*) from plg$prof_requests r join plg$prof_statements s on s.profile_id = r.profile_id and s.statement_id = r.statement_id left join plg$prof_statements c on c.profile_id = r.profile_id and c.statement_id = r.caller_statement_id where r.profile_id = 3 and s.routine_name in ('INS', 'TB', 'F') group by 1, 2 order by 1, 2^
select rdb$relation_name, rdb$field_name, rdb$field_position, rdb$null_flag from rdb$relation_fields where rdb$relation_name starting with 'PLG$PROF' order by 1, 3^
select rdb$index_name, rdb$relation_name, rdb$unique_flag, rdb$segment_count, rdb$foreign_key from rdb$indices where rdb$relation_name starting with 'PLG$PROF' order by 1^
select rdb$constraint_name, rdb$constraint_type, rdb$relation_name from rdb$relation_constraints where rdb$relation_name starting with 'PLG$PROF' and rdb$constraint_type <> 'NOT NULL' order by 1^
select rdb$user, rdb$privilege, rdb$grant_option, rdb$relation_name from rdb$user_privileges where rdb$user = 'PLG$PROFILER' or rdb$relation_name = 'PLG$PROFILER' order by 4, 2^
delete from plg$prof_sessions^
select count(*) from plg$prof_psql_stats^
select count(*) from plg$prof_statements^
commit^
select rdb$profiler.start_session('x', -1) from rdb$database^
select rdb$profiler.start_session('x', null, 99999) from rdb$database^
select rdb$profiler.start_session('x', null, null, 'nope') from rdb$database^
select rdb$profiler.start_session('x', null, null, null, 'nope') from rdb$database^
execute procedure rdb$profiler.set_flush_interval(-1)^
execute procedure rdb$profiler.set_flush_interval(null)^
execute procedure rdb$profiler.finish_session(null)^
execute procedure rdb$profiler.cancel_session^
execute procedure rdb$profiler.discard^
