-- GRANT and REVOKE, and what the system tables say of them.
create table t (a integer, b integer);
create view v as select a from t;
create role r;
create role r2 set system privileges to use_gstat_utility, read_raw_pages;
create sequence s;
create exception e 'x';
create domain d integer;
set term ^;
create procedure p as begin end^
create function f returns integer as begin return 1; end^
set term ;^
grant select on t to alice;
grant select, insert, update (a), references (b), delete on t to alice with grant option;
grant all on t to role r;
grant all privileges on v to public;
grant r to alice;
grant r to alice with admin option;
grant default r to bob;
grant r to role r2;
grant r2 to role r;
grant execute on procedure p to alice;
grant execute on function f to public;
grant usage on sequence s to alice;
grant usage on exception e to r;
grant usage on domain d to alice;
grant create table to alice;
grant alter any view to role r;
grant drop any procedure to alice with grant option;
grant select on nowhere to alice;
grant update (nowhere) on t to alice;
grant execute on procedure nowhere to alice;
grant nowhere to alice;
grant select on t to nowhere_user granted by alice;
grant select on t to view v;
grant select on t to procedure p;
grant select on t to trigger nowhere;
grant nothing on t to alice;
grant execute on table t to alice;
select rdb$user, rdb$grantor, rdb$privilege, rdb$grant_option, rdb$relation_name, rdb$field_name, rdb$user_type, rdb$object_type from rdb$user_privileges where rdb$user <> 'SYSDBA' and rdb$object_type not in (11, 17) and char_length(trim(rdb$relation_name)) <= 2 order by 1, 5, 3, 6;
revoke insert on t from alice;
revoke grant option for select on t from alice;
revoke all on t from role r;
revoke select on t from nobody;
revoke all on all from alice;
revoke r from alice;
revoke admin option for r from alice;
revoke execute on function f from public;
select rdb$user, rdb$privilege, rdb$grant_option, rdb$relation_name, rdb$field_name, rdb$user_type, rdb$object_type from rdb$user_privileges where rdb$user <> 'SYSDBA' and rdb$object_type not in (11, 17) and char_length(trim(rdb$relation_name)) <= 2 order by 1, 4, 2, 5;
select rdb$role_name, rdb$owner_name, rdb$system_privileges from rdb$roles where rdb$system_flag = 0 order by 1;
alter role r2 drop system privileges;
alter role r2 set system privileges to nowhere;
drop role r;
drop role nowhere;
select * from sec$users where 1 = 0;
create or alter mapping m using plugin srp from user x to user y;
drop mapping m;
drop mapping m;
set term ^;
execute block as begin execute statement 'select * from t' as user 'ALICE' password 'x'; end^
set term ;^
