-- The system's own sequences can be looked at, and nothing else.
select gen_id(rdb$procedures, 0) is null, gen_id(rdb$exceptions, 0) is null, gen_id(rdb$security_class, 0) is null, gen_id(sql$default, 0) is null  from rdb$database;
select gen_id(rdb$procedures, 1) from rdb$database;
create sequence rdb$foo;
create sequence sql$default;
alter sequence rdb$procedures restart with 5;
drop sequence rdb$procedures;
set generator rdb$procedures to 1;
create sequence rdb$procedures;
recreate sequence rdb$procedures;
create or alter sequence rdb$procedures start with 3;
