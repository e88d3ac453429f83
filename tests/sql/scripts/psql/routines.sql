-- Stored procedures, functions, triggers: definitions, calls, errors with their stacks.
create table t (id integer not null primary key, a varchar(10), n integer);
create table log (what varchar(60));
create exception e_stop 'stop';
set term ^;
create procedure p_none as begin insert into log values ('p_none'); end^
execute procedure p_none^
execute procedure p_none(1)^
create procedure p_none as begin end^
create procedure p_out (a integer, b integer = 5) returns (x integer, y integer) as begin x = a + b; y = a * b; end^
execute procedure p_out(2)^
execute procedure p_out(2, 3)^
execute procedure p_out 2, 3^
execute procedure p_out^
execute procedure p_out(1, 2, 3)^
execute procedure p_out('abc')^
execute procedure p_out(b => 1, a => 2)^
execute procedure p_out(c => 1)^
select * from p_out(1)^
create procedure p_rows (n integer) returns (i integer) as begin i = 0; while (i < n) do begin i = i + 1; suspend; end end^
select * from p_rows(3)^
select sum(i) from p_rows(100)^
select i from p_rows(3) where i > 1 order by i desc^
select p.i, q.i from p_rows(2) p, p_rows(2) q order by 1, 2^
select p.i, q.i from p_rows(3) p left join p_rows(p.i) q on 1 = 1 order by 1, 2^
execute procedure p_rows(3)^
select * from p_rows^
select * from p_rows(null)^
select * from nowhere(1)^
execute procedure nowhere^
create or alter procedure p_rows (n integer, m integer) returns (i integer) as begin i = n + m; suspend; end^
select * from p_rows(3, 4)^
alter procedure p_rows returns (j varchar(5)) as begin j = 'alt'; suspend; end^
select * from p_rows^
alter procedure nowhere as begin end^
drop procedure nowhere^
create function f_add (a integer, b integer default 1) returns integer as begin return a + b; end^
select f_add(1, 2), f_add(5) from rdb$database^
select f_add() from rdb$database^
select f_add(1, 2, 3) from rdb$database^
select f_add('x', 1) from rdb$database^
select f_nowhere(1) from rdb$database^
create function f_text (a varchar(10) not null) returns varchar(5) as begin return a; end^
select f_text('abc') from rdb$database^
select f_text('abcdefgh') from rdb$database^
select f_text(null) from rdb$database^
select f_text('longer than ten') from rdb$database^
create function f_det (a integer) returns integer deterministic as begin return a * 2; end^
select f_det(4) from rdb$database^
create function f_none returns integer as begin end^
select f_none() from rdb$database^
create function f_fac (n bigint) returns bigint as begin if (n < 2) then return 1; return n * f_fac(n - 1); end^
select f_fac(20) from rdb$database^
select f_fac(21) from rdb$database^
create function f_loop (n integer) returns integer as begin return f_loop(n + 1); end^
create procedure p_error as declare x integer; begin x = 1 / 0; end^
execute procedure p_error^
create procedure p_calls as begin execute procedure p_error; end^
execute procedure p_calls^
create procedure p_raises as begin exception e_stop; end^
execute procedure p_raises^
create procedure p_bad as begin insert into nowhere values (1); end^
create procedure p_bad as begin update t set nowhere = 1; end^
create procedure p_bad (a integer, a integer) as begin end^
create procedure p_bad (a nowhere) as begin end^
create procedure p_bad as begin x = 1; end^
create procedure p_bad as declare variable x integer begin end^
create trigger t_bi for t before insert position 1 as begin new.n = coalesce(new.n, 0) + 1; insert into log values ('bi ' || new.id); end^
create trigger t_bi0 for t before insert position 0 as begin new.n = 10; end^
create trigger t_au for t active after update as begin insert into log values (old.a || '->' || new.a); end^
create trigger t_multi for t after insert or update or delete as begin insert into log values (case when inserting then 'i' when updating then 'u' when deleting then 'd' end); end^
insert into t (id, a) values (1, 'x') returning n^
update t set a = 'y' where id = 1^
delete from t where id = 1^
select what from log^
create trigger t_bi for t before insert as begin end^
create trigger t_bad for nowhere before insert as begin end^
create trigger t_bad for t before insert as begin old.a = 1; end^
create trigger t_bad for t before delete as begin new.a = 1; end^
create trigger t_bad for t after insert as begin new.a = 1; end^
create trigger t_stop for t before delete as begin exception e_stop 'no deletes of ' || old.id; end^
insert into t (id, a) values (2, 'x')^
delete from t where id = 2^
alter trigger t_stop inactive^
delete from t where id = 2^
alter trigger t_stop active before update^
update t set a = 'z'^
drop trigger t_stop^
drop trigger nowhere^
create trigger t_std before insert or update on t as begin if (new.a = 'bad') then exception e_stop; end^
insert into t (id, a) values (3, 'bad')^
create or alter trigger t_std before insert on t position 5 as begin new.a = upper(new.a); end^
insert into t (id, a) values (3, 'low') returning a^
recreate trigger t_std for t before insert as begin end^
create trigger db_c on connect as begin end^
create trigger db_t on transaction start as begin insert into log values ('start'); end^
drop trigger db_t^
drop table t^
drop procedure p_error^
create procedure p_uses_t as begin delete from t; end^
drop table t^
alter table t drop n^
drop exception e_stop^
drop procedure p_calls^
drop procedure p_error^
create procedure p_default (a integer = 1 + 2, d date default current_date) returns (x integer) as begin x = a; suspend; end^
select * from p_default^
create procedure p_types (a type of column t.a, b type of column t.id) returns (c type of column t.a) as begin c = a || b; suspend; end^
select * from p_types('q', 5)^
create procedure p_cursor returns (id integer, a varchar(10)) as declare c cursor for (select id, a from t); begin open c; fetch c into id, a; suspend; close c; end^
select * from p_cursor^
create function f_in_sql (i integer) returns integer as declare r integer; begin select count(*) from t where id <= :i into r; return r; end^
select f_in_sql(100) from rdb$database^
select id from t where f_in_sql(id) > 0^
comment on procedure p_none is 'nothing'^
comment on parameter p_out.a is 'an input'^
comment on function f_add is 'adds'^
comment on trigger t_bi is 'fires'^
select rdb$procedure_name, rdb$procedure_inputs, rdb$procedure_outputs, rdb$procedure_type from rdb$procedures where rdb$system_flag = 0 order by 1^
select rdb$trigger_name, rdb$trigger_type, rdb$trigger_sequence, rdb$trigger_inactive from rdb$triggers where rdb$system_flag = 0 order by 1^
select rdb$function_name, rdb$deterministic_flag from rdb$functions where rdb$system_flag = 0 order by 1^
create package pk as begin function f (a integer) returns integer; procedure p returns (x integer); end^
create package body pk as begin function f (a integer) returns integer as begin return a + 100; end procedure p returns (x integer) as begin x = f(1); suspend; end end^
select pk.f(1) from rdb$database^
select * from pk.p^
drop package pk^
create procedure told (a integer, b integer) returns (c integer) as begin c = a; end^
comment on parameter told.a is 'the first'^
comment on parameter told.b is 'the second'^
comment on parameter told.c is 'the result'^
alter procedure told (b varchar(10), d integer) returns (c varchar(10), e integer) as begin c = b; end^
commit^
select rdb$parameter_name, rdb$description from rdb$procedure_parameters where rdb$procedure_name = 'TOLD' order by rdb$parameter_type, rdb$parameter_number^
create function told_too (a integer, b integer) returns integer as begin return a; end^
comment on parameter told_too.b is 'the second'^
create or alter function told_too (b integer) returns integer as begin return b; end^
commit^
select rdb$argument_name, rdb$description from rdb$function_arguments where rdb$function_name = 'TOLD_TOO' order by rdb$argument_position^
create domain d_moved as integer^
create procedure moved (a d_moved, b type of d_moved) returns (c d_moved) as begin c = a; suspend; end^
create function moved_too (a type of d_moved) returns bigint as begin return a; end^
commit^
select rdb$parameter_name, rdb$field_source, rdb$parameter_mechanism from rdb$procedure_parameters where rdb$procedure_name = 'MOVED' order by rdb$parameter_type, rdb$parameter_number^
select rdb$field_source, rdb$argument_mechanism from rdb$function_arguments where rdb$function_name = 'MOVED_TOO' and rdb$argument_position = 1^
select rdb$dependent_name, rdb$depended_on_type from rdb$dependencies where rdb$depended_on_name = 'D_MOVED' order by 1^
drop domain d_moved^
alter domain d_moved to d_other^
select moved_too(3000000000) from rdb$database^
select * from moved(3000000000, 1)^
alter domain d_moved type bigint^
select moved_too(3000000000) from rdb$database^
drop procedure moved^
drop function moved_too^
alter domain d_moved to d_other^
drop domain d_other^
