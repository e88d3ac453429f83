create table t (a integer);
create exception e 'No @1';
set term ^;
create package p as begin
  procedure a (x integer = 5, y varchar(10) = 'q') returns (r integer);
  function f (n integer) returns integer deterministic;
  procedure store (n integer);
end^
select rdb$package_name, rdb$valid_body_flag, rdb$package_body_source from rdb$packages where rdb$system_flag = 0^
select rdb$procedure_name, rdb$private_flag, rdb$procedure_type, rdb$valid_blr, rdb$procedure_source from rdb$procedures where rdb$package_name = 'P' order by 1^
select p.f(3) from rdb$database^
execute procedure p.a^
create package body p as begin
  procedure z (d integer = 1) returns (r integer);
  procedure a (x integer, y varchar(10)) returns (r integer) as begin r = f(x) + char_length(y); suspend; end
  function f (n integer) returns integer deterministic as begin execute procedure z returning_values n; return n + 1; end
  procedure store (n integer) as begin insert into t values (:n); if (n < 0) then exception e using (:n); end
  procedure z (d integer) returns (r integer) as begin r = 7 + d; end
end^
create package body p as begin end^
select rdb$package_name, rdb$package_header_source, rdb$package_body_source, rdb$valid_body_flag, rdb$owner_name, rdb$sql_security from rdb$packages where rdb$system_flag = 0^
select rdb$procedure_name, rdb$private_flag, rdb$procedure_type, rdb$valid_blr, rdb$procedure_source, rdb$procedure_inputs, rdb$procedure_outputs from rdb$procedures where rdb$package_name = 'P' order by 1^
select rdb$function_name, rdb$private_flag, rdb$valid_blr, rdb$function_source, rdb$deterministic_flag, rdb$return_argument from rdb$functions where rdb$package_name = 'P'^
select rdb$procedure_name, rdb$parameter_name, rdb$parameter_number, rdb$parameter_type, rdb$default_source from rdb$procedure_parameters where rdb$package_name = 'P' order by 1, 4, 3^
select rdb$function_name, rdb$argument_name, rdb$argument_position, rdb$default_source from rdb$function_arguments where rdb$package_name = 'P' order by 3^
select rdb$dependent_name, rdb$depended_on_name, rdb$field_name, rdb$dependent_type, rdb$depended_on_type, rdb$package_name from rdb$dependencies where rdb$depended_on_type <> 17 order by 1, 2, 3, 4^
select p.f(3) from rdb$database^
execute procedure p.a^
execute procedure p.a(1)^
select * from p.a^
select q.r from p.a(1, 'abc') q^
select * from rdb$database cross join p.a^
execute procedure p.store(4)^
execute procedure p.store(-4)^
select a from t^
execute block returns (n integer) as begin execute procedure p.a(1) returning_values n; n = n + p.f(1); suspend; end^
execute procedure p.z^
select * from p.z^
execute block as declare n integer; begin execute procedure p.z returning_values n; end^
select p.q(3) from rdb$database^
select * from p.q^
execute procedure p.q^
select q.q(3) from rdb$database^
select p.f from rdb$database^
select p.f(1, 2) from rdb$database^
execute procedure p.a(1, 2, 3)^
select * from p.a(1, 2, 3)^
select * from p.store(1)^
create procedure g as declare n integer; begin select p.f(1) from t into n; execute procedure p.a(1) returning_values n; end^
create view v as select p.f(1) f from t^
create package q as begin procedure a; procedure b; end^
create package body q as begin
  procedure a as declare n integer; begin n = p.f(1); execute procedure g; end
  procedure b as begin execute procedure a; insert into t values (1); end
end^
select rdb$dependent_name, rdb$depended_on_name, rdb$field_name, rdb$dependent_type, rdb$depended_on_type, rdb$package_name from rdb$dependencies where rdb$dependent_name in ('Q', 'G', 'V') order by 1, 2, 3, 4^
drop package p^
drop table t^
drop procedure g^
commit^
alter package p as begin
  function f (n integer) returns integer deterministic;
  procedure a (x integer = 5, y varchar(10) = 'q') returns (r integer);
end^
commit^
select rdb$valid_body_flag, rdb$package_body_source is not null from rdb$packages where rdb$package_name = 'P'^
select rdb$procedure_name, rdb$private_flag, rdb$valid_blr from rdb$procedures where rdb$package_name = 'P'^
execute procedure p.a^
select * from v^
execute procedure q.b^
recreate package body p as begin end^
recreate package body p as begin
  function g (n integer) returns integer;
  function f (n integer) returns integer deterministic as begin if (n <= 0) then return 0; return n + g(n - 1); end
  function g (n integer) returns integer as begin return f(n); end
  procedure a (x integer, y varchar(10)) returns (r integer) as begin r = 1 / x; end
end^
select p.f(4) from rdb$database^
execute procedure p.a(0)^
select p.g(4) from rdb$database^
select * from v^
drop package body p^
select p.f(4) from rdb$database^
select rdb$valid_body_flag, rdb$package_body_source from rdb$packages where rdb$package_name = 'P'^
drop package body nope^
drop package nope^
alter package nope as begin end^
create package p as begin end^
create package body nope as begin end^
create package dup as begin procedure a; procedure a; end^
create package dup as begin procedure a (x nodom); end^
create package dup as begin procedure a; function a returns integer; end^
create package body dup as begin procedure a as begin end procedure a as begin end function a returns integer as begin return 1; end end^
create package body dup as begin procedure x; procedure x; procedure a as begin end function a returns integer as begin return 1; end end^
create package body dup as begin procedure a; procedure a as begin end function a returns integer as begin return 1; end end^
create package body dup as begin procedure a (x integer) as begin end function a returns integer as begin return 1; end end^
create package body dup as begin procedure a as begin end function a returns bigint as begin return 1; end end^
create package body dup as begin procedure a as begin end end^
create package body dup as begin procedure b; procedure a as begin end function a returns integer as begin return 1; end end^
create package body dup as begin procedure a as begin end function a returns integer as begin return 1; end procedure f; end^
create package body dup as begin procedure a sql security definer as begin end function a returns integer as begin return 1; end end^
create package dup2 as begin procedure a (x integer = 1); end^
create package body dup2 as begin procedure a (x integer = 1) as begin end end^
create package body dup2 as begin procedure a (y integer) as begin end end^
create package dup3 as begin function a (x integer = 1) returns integer; end^
create package body dup3 as begin function a (x integer = 1) returns integer as begin return 1; end end^
create package body dup3 as begin function a (x integer) returns integer deterministic as begin return 1; end end^
create package body dup3 as begin
  function a (x integer) returns integer as begin return nope; end end^
create package body dup3 as begin function a (x integer) returns integer as begin return b(1); end function b (x integer = 3) returns integer as begin return 1; end end^
create package body dup3 as begin function b (x integer = 3) returns integer; function b (x integer = 3) returns integer as begin return 1; end function a (x integer) returns integer as begin return b(1); end end^
create package body dup3 as begin function b (x integer = 3) returns integer; function b (x integer) returns integer as begin return x; end function a (x integer) returns integer as begin return b(); end end^
select dup3.b() from rdb$database^
select dup3.a() from rdb$database^
recreate package body dup3 as begin function a (x integer) returns integer as begin return x; end end^
select dup3.a() from rdb$database^
comment on package dup3 is 'a package'^
comment on function dup3.a is 'a function'^
comment on parameter dup3.a.x is 'a parameter'^
comment on procedure dup3.a is 'none'^
comment on package nope is 'none'^
select rdb$description from rdb$packages where rdb$package_name = 'DUP3'^
select rdb$description from rdb$functions where rdb$package_name = 'DUP3'^
select rdb$description from rdb$function_arguments where rdb$package_name = 'DUP3' order by rdb$argument_position^
create or alter package dup3 as begin function a (x integer = 2) returns integer; end^
select rdb$description from rdb$packages where rdb$package_name = 'DUP3'^
select rdb$description from rdb$functions where rdb$package_name = 'DUP3'^
grant execute on package dup3 to public^
grant execute on package nope to public^
grant select on t to package q^
grant select on t to package nope^
select rdb$user, rdb$user_type, rdb$privilege, rdb$grant_option, rdb$relation_name, rdb$object_type from rdb$user_privileges where rdb$relation_name = 'DUP3' or rdb$user = 'Q' order by 1, 2^
recreate package dup3 as begin end^
select count(*) from rdb$functions where rdb$package_name = 'DUP3'^
create package body dup3 as begin end^
drop package dup3^
create domain d integer^
create package dd as begin function a (x d) returns d; end^
drop domain d^
drop package dd^
drop domain d^
