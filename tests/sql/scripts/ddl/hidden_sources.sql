-- Sources that are hidden: their columns of system tables are set to NULL, and what they define goes on.
create table t (a integer, b integer, c integer check (c > 0));
create view v as select a, b from t;
set term ^;
create procedure ps (a integer) returns (b integer) as begin b = a + 1; suspend; end^
create trigger tr for t before insert as begin new.b = 1; end^
create function f returns integer as begin return 5; end^
create package pk as begin procedure p returns (x integer); end^
create package body pk as begin procedure p returns (x integer) as begin x = 3; end end^
set term ;^
update rdb$procedures set rdb$procedure_source = null where rdb$procedure_name = 'PS';
update rdb$triggers set rdb$trigger_source = null where rdb$trigger_name = 'TR';
update rdb$functions set rdb$function_source = null where rdb$function_name = 'F';
update rdb$relations set rdb$view_source = null where rdb$relation_name = 'V';
update rdb$packages set rdb$package_body_source = null where rdb$package_name = 'PK';
commit;
select rdb$procedure_source from rdb$procedures where rdb$procedure_name = 'PS';
select rdb$trigger_source from rdb$triggers where rdb$trigger_name = 'TR';
select rdb$function_source from rdb$functions where rdb$function_name = 'F';
select rdb$view_source from rdb$relations where rdb$relation_name = 'V';
select rdb$package_header_source, rdb$package_body_source from rdb$packages where rdb$package_name = 'PK';
select * from ps(1);
insert into t (a) values (1) returning b;
select f() from rdb$database;
select * from v;
execute procedure pk.p;
update rdb$procedures set rdb$procedure_source = null where rdb$procedure_name = 'PS';
update rdb$procedures set rdb$procedure_source = 'x' where rdb$procedure_name = 'PS';
update rdb$functions set rdb$function_name = 'G' where rdb$function_name = 'F';
update rdb$packages set rdb$package_header_source = null, rdb$description = 'x' where rdb$package_name = 'PK';
update rdb$packages set rdb$package_header_source = null, rdb$package_name = rdb$package_name where rdb$package_name = 'PK';
update rdb$relations set rdb$view_source = null where rdb$relation_name = 'T';
update rdb$procedures set rdb$procedure_source = null where rdb$procedure_name = 'NOWHERE';
update rdb$fields set rdb$validation_source = null where rdb$field_name = 'D';
delete from rdb$procedures where rdb$procedure_name = 'PS';
set term ^;
alter procedure ps (a integer) returns (b integer) as begin b = a + 2; suspend; end^
alter view v as select b from t^
alter trigger tr inactive^
set term ;^
select rdb$procedure_source from rdb$procedures where rdb$procedure_name = 'PS';
select rdb$view_source from rdb$relations where rdb$relation_name = 'V';
select rdb$trigger_source from rdb$triggers where rdb$trigger_name = 'TR';
select * from ps(1);
update rdb$procedures set rdb$procedure_source = null where rdb$procedure_name = 'PS';
rollback;
select rdb$procedure_source from rdb$procedures where rdb$procedure_name = 'PS';
set term ^;
execute block as
begin
  update rdb$procedures set rdb$procedure_source = null where rdb$procedure_name = 'PS';
  execute statement 'update rdb$procedures set rdb$procedure_source = ''x'' where rdb$procedure_name = ''PS''';
  when any do begin end
end^
set term ;^
select rdb$procedure_source from rdb$procedures where rdb$procedure_name = 'PS';
drop procedure ps;
drop trigger tr;
drop function f;
drop package pk;
drop view v;
