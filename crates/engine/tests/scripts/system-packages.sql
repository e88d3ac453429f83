set term !;
select rdb$package_name, rdb$package_header_source, rdb$valid_body_flag, rdb$system_flag, rdb$sql_security from rdb$packages!
select rdb$package_name, rdb$procedure_name, rdb$procedure_id, rdb$procedure_inputs, rdb$procedure_outputs, rdb$procedure_type, rdb$procedure_source, rdb$valid_blr, rdb$engine_name, rdb$private_flag, rdb$system_flag from rdb$procedures order by rdb$procedure_id!
select rdb$package_name, rdb$function_name, rdb$function_id, rdb$function_source, rdb$valid_blr, rdb$engine_name, rdb$legacy_flag, rdb$deterministic_flag, rdb$private_flag, rdb$system_flag from rdb$functions order by rdb$function_id!
select rdb$procedure_name, rdb$parameter_name, rdb$parameter_number, rdb$parameter_type, rdb$field_source, rdb$null_flag, rdb$default_source, rdb$parameter_mechanism, rdb$system_flag from rdb$procedure_parameters order by rdb$package_name, 1, 4, 3!
select rdb$function_name, rdb$argument_name, rdb$argument_position, rdb$field_source, rdb$null_flag, rdb$default_source, rdb$argument_mechanism, rdb$system_flag from rdb$function_arguments order by rdb$package_name, 1, 3!
select rdb$user, rdb$grantor, rdb$privilege, rdb$grant_option, rdb$relation_name, rdb$object_type from rdb$user_privileges where rdb$object_type = 18!
select count(*) from rdb$dependencies!
select char_length(rdb$time_zone_util.database_version()) from rdb$database!
select * from rdb$time_zone_util.transitions('America/Sao_Paulo', timestamp '2017-01-01 00:00 UTC', timestamp '2018-06-01 00:00 UTC')!
select * from rdb$time_zone_util.transitions('europe/berlin', timestamp '2026-03-29 01:00 UTC', timestamp '2026-10-25 01:00 UTC')!
select * from rdb$time_zone_util.transitions('Europe/Berlin', timestamp '2026-03-29 01:00 Europe/London', timestamp '2026-10-25 00:59:59.9999 UTC')!
select first 2 * from rdb$time_zone_util.transitions('Europe/Berlin', timestamp '0001-01-01 00:00 UTC', timestamp '9999-12-31 23:59:59 UTC')!
select * from rdb$time_zone_util.transitions('UTC', timestamp '1990-01-01 00:00 UTC', timestamp '9999-12-31 23:59:59 UTC')!
select * from rdb$time_zone_util.transitions('Europe/Berlin', timestamp '2020-01-01 00:00 UTC', timestamp '1990-12-31 23:59:59 UTC')!
select * from rdb$time_zone_util.transitions('+03:00', timestamp '1990-01-01 00:00 UTC', timestamp '2020-12-31 23:59:59 UTC')!
select * from rdb$time_zone_util.transitions('Europe/Berlin', null, timestamp '1990-12-31 23:59:59 UTC')!
select * from rdb$time_zone_util.transitions('Europe/Berlin')!
execute procedure rdb$time_zone_util.transitions('Europe/Berlin', timestamp '2026-03-29 01:00 UTC', timestamp '2026-10-25 01:00 UTC')!
select rdb$time_zone_util.transitions('Europe/Berlin', timestamp '2026-03-29 01:00 UTC', timestamp '2026-10-25 01:00 UTC') from rdb$database!
select rdb$time_zone_util.transition_start('Europe/Berlin', current_timestamp) from rdb$database!
select rdb$profiler.start_session('x', null, null, null, 'nothing') from rdb$database!
select rdb$profiler.start_session('x', 1, null, 'Foo') from rdb$database!
execute procedure rdb$profiler.pause_session!
execute procedure rdb$profiler.finish_session!
execute procedure rdb$profiler.finish_session(false)!
execute procedure rdb$profiler.flush!
execute procedure rdb$profiler.set_flush_interval(3)!
execute procedure rdb$profiler.set_flush_interval(-3)!
execute procedure rdb$profiler.discard!
execute procedure rdb$profiler.cancel_session!
execute procedure rdb$profiler.resume_session(99999)!
select rdb$blob_util.new_blob(null, true) from rdb$database!
select rdb$blob_util.read_data(77, 10) from rdb$database!
create procedure p (n integer) as declare s varchar(10); begin s = rdb$blob_util.read_data(n, 1); end!
execute procedure p(77)!
drop package rdb$time_zone_util!
alter package rdb$time_zone_util as begin end!
recreate package rdb$time_zone_util as begin end!
create package rdb$time_zone_util as begin end!
recreate package body rdb$time_zone_util as begin end!
drop package body rdb$time_zone_util!
commit!
select rdb$procedure_name, rdb$procedure_id from rdb$procedures where rdb$system_flag = 0!
comment on package rdb$time_zone_util is 'of a package'!
comment on procedure rdb$time_zone_util.transitions is 'of a procedure'!
comment on function rdb$time_zone_util.database_version is 'of a function'!
comment on parameter rdb$time_zone_util.transitions.rdb$time_zone_name is 'of a parameter'!
comment on package rdb$nix is 'of none'!
commit!
select rdb$package_name, rdb$description, rdb$system_flag from rdb$packages order by 1!
select rdb$procedure_name, rdb$description from rdb$procedures where rdb$description is not null union all
select rdb$function_name, rdb$description from rdb$functions where rdb$description is not null union all
select rdb$parameter_name, rdb$description from rdb$procedure_parameters where rdb$description is not null!
select count(*) from rdb$time_zone_util.transitions('Europe/Berlin', timestamp '2026-01-01 UTC', timestamp '2026-12-31 UTC')!
