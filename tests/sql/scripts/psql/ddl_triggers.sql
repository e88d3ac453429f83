-- Triggers that fire on definitions: when, with which context, and what their errors do.
create table log (id integer generated always as identity, moment char(1), event varchar(20), kind varchar(20), ddl varchar(40), object varchar(63), old_name varchar(63), new_name varchar(63), text blob sub_type text);
create exception refused 'not now';

set term ^;
create procedure note (moment char(1)) as
begin
  insert into log (moment, event, kind, ddl, object, old_name, new_name, text)
    values (:moment, rdb$get_context('DDL_TRIGGER', 'EVENT_TYPE'), rdb$get_context('DDL_TRIGGER', 'OBJECT_TYPE'),
      rdb$get_context('DDL_TRIGGER', 'DDL_EVENT'), rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME'),
      rdb$get_context('DDL_TRIGGER', 'OLD_OBJECT_NAME'), rdb$get_context('DDL_TRIGGER', 'NEW_OBJECT_NAME'),
      rdb$get_context('DDL_TRIGGER', 'SQL_TEXT'));
end^
create trigger w_before before any ddl statement position 1 as begin execute procedure note('B'); end^
create trigger w_after after any ddl statement as begin execute procedure note('A'); end^
set term ;^
select moment, event, kind, ddl, object, old_name, new_name, text from log order by id;
delete from log;

-- Tables, indexes, views.
create table t (a integer);
alter table t add b integer;
create index t_a on t (a);
alter index t_a inactive;
alter index t_a active;
set statistics index t_a;
drop index t_a;
recreate table t (a integer);
recreate table t_new (a integer);
create view v as select a from t;
alter view v as select a + 1 as a from t;
create or alter view v as select a + 2 as a from t;
recreate view v as select a + 3 as a from t;
drop view v;
create or alter view v as select a from t;
drop view v;
drop table t_new;
select moment, ddl, object, old_name, new_name, text from log order by id;
delete from log;

-- Domains, sequences, exceptions, roles, collations, character sets.
create domain d as integer;
alter domain d set default 1;
alter domain d to d_new;
alter domain d_new set default 2 to d;
drop domain d;
create sequence s;
alter sequence s restart with 5;
set generator s to 7;
create or alter sequence s increment by 2;
recreate sequence s;
drop sequence s;
create exception e 'one';
alter exception e 'two';
create or alter exception e 'three';
recreate exception e 'four';
drop exception e;
create role r;
alter role r set system privileges to use_gstat_utility;
drop role r;
create collation c for utf8 from unicode;
drop collation c;
alter character set utf8 set default collation utf8;
select moment, ddl, object, old_name, new_name, text from log order by id;
delete from log;

-- Routines, triggers, packages.
set term ^;
create procedure p as begin end^
alter procedure p as begin end^
create or alter procedure p as begin end^
recreate procedure p as begin end^
drop procedure p^
create function f returns integer as begin return 1; end^
alter function f returns integer as begin return 2; end^
create or alter function f returns integer as begin return 3; end^
recreate function f returns integer as begin return 4; end^
drop function f^
create trigger t_bi for t before insert as begin end^
alter trigger t_bi inactive^
create or alter trigger t_bi for t before insert as begin end^
recreate trigger t_bi for t before insert as begin end^
drop trigger t_bi^
create package k as begin procedure p; end^
create package body k as begin procedure p as begin end end^
alter package k as begin procedure p; end^
recreate package body k as begin procedure p as begin end end^
create or alter package k as begin procedure p; end^
recreate package k as begin procedure p; end^
create package body k as begin procedure p as begin end end^
drop package body k^
drop package k^
set term ;^
select moment, ddl, object, old_name, new_name, text from log order by id;
delete from log;

-- What fires nothing, and what fails.
comment on table t is 'a table';
grant select on t to public;
revoke select on t from public;
alter database set linger to 0;
select count(*) from log;
drop table nowhere;
alter table nowhere add a integer;
drop trigger nowhere;
alter domain nowhere to d;
create table t (a integer);
select count(*) from log;

-- What watches, as the catalog has it.
set term ^;
create trigger w_table before create table or alter table or drop table as begin end^
create trigger w_procedure after create procedure or alter procedure or drop procedure as begin end^
create trigger w_function inactive before create function or alter function or drop function position 3 as begin end^
create trigger w_trigger after create trigger or alter trigger or drop trigger as begin end^
create trigger w_exception before create exception or alter exception or drop exception as begin end^
create trigger w_view after create view or alter view or drop view as begin end^
create trigger w_domain before create domain or alter domain or drop domain as begin end^
create trigger w_role after create role or alter role or drop role as begin end^
create trigger w_index before create index or alter index or drop index as begin end^
create trigger w_sequence after create sequence or alter sequence or drop sequence as begin end^
create trigger w_user before create user or alter user or drop user as begin end^
create trigger w_collation after create collation or drop collation as begin end^
create trigger w_set before alter character set as begin end^
create trigger w_package after create package or alter package or drop package as begin end^
create trigger w_body before create package body or drop package body as begin end^
create trigger w_mapping after create mapping or alter mapping or drop mapping as begin end^
create trigger w_twice before create table or create table as begin end^
create trigger w_any before create table or any ddl statement as begin end^
create trigger w_wrong before alter collation as begin end^
create trigger w_wrong before alter package body as begin end^
create trigger w_wrong before create column as begin end^
create trigger w_wrong for t before create table as begin end^
create trigger w_wrong before create table on t as begin end^
create trigger w_wrong before create table as begin new.a = 1; end^
create trigger w_wrong on create table as begin end^
alter trigger w_table before alter table^
alter trigger w_table before insert^
alter trigger w_table inactive position 4^
create or alter trigger w_table before create table as begin end^
set term ;^
select rdb$trigger_name, rdb$relation_name, rdb$trigger_type, rdb$trigger_sequence, rdb$trigger_inactive, rdb$system_flag from rdb$triggers where rdb$trigger_name starting with 'W_' order by 1;

-- Order, errors, and the namespace.
delete from log;
set term ^;
recreate trigger w_any before any ddl statement position 0 as
begin
  insert into log (moment, object) values ('0', rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME'));
  if (rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME') = 'BAD') then exception refused;
end^
recreate trigger w_twice after create table as
begin
  if (rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME') = 'LATE') then exception refused;
end^
set term ;^
delete from log;
create table bad (a integer);
create sequence bad;
create table late (a integer);
select count(*) from rdb$relations where rdb$relation_name in ('BAD', 'LATE');
select moment, ddl, object from log order by id;
create table good (a integer);
select moment, ddl, object from log order by id;
select rdb$get_context('DDL_TRIGGER', 'EVENT_TYPE') from rdb$database;
select rdb$set_context('DDL_TRIGGER', 'EVENT_TYPE', 'X') from rdb$database;
set term ^;
recreate trigger w_twice before create table as
declare x varchar(10);
begin
  x = rdb$get_context('DDL_TRIGGER', 'NOTHING');
end^
set term ;^
create table worse (a integer);
set term ^;
recreate trigger w_twice before create table as
begin
  if (rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME') not starting with 'INNER') then
    execute statement 'create table inner_' || rdb$get_context('DDL_TRIGGER', 'OBJECT_NAME') || ' (a integer)';
end^
set term ;^
delete from log;
create table outer_one (a integer);
select rdb$relation_name from rdb$relations where rdb$relation_name containing 'OUTER' order by 1;
select moment, ddl, object, text from log order by id;

-- Users are the server's.
delete from log;
create user ddl_trigger_user password 'x';
create or alter user ddl_trigger_user password 'y';
alter user ddl_trigger_user password 'z';
drop user ddl_trigger_user;
select moment, ddl, object from log order by id;

-- A trigger notices its own end.
delete from log;
alter trigger w_any inactive;
drop trigger w_after;
select moment, ddl, object from log order by id;
