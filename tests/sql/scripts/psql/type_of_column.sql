-- Parameters of the types of columns: what is kept of them, and what it means for their tables.
create table t (a integer, b varchar(10), c integer);
create view v as select a from t;
set term ^;
create procedure p (a type of column t.a, x type of column v.a) returns (b type of column t.b) as begin b = a || x; suspend; end^
create function f (a type of column t.a) returns type of column t.b as begin return a; end^
create package k as begin procedure q (a type of column t.a); end^
set term ;^
select rdb$procedure_name, rdb$parameter_name, rdb$parameter_mechanism, rdb$field_name, rdb$relation_name from rdb$procedure_parameters where rdb$system_flag = 0 order by 1, 2;
select rdb$function_name, rdb$argument_name, rdb$argument_mechanism, rdb$field_name, rdb$relation_name from rdb$function_arguments where rdb$system_flag = 0 order by 1, 2;
select rdb$dependent_name, rdb$depended_on_name, rdb$field_name, rdb$dependent_type, rdb$depended_on_type from rdb$dependencies where rdb$dependent_name in ('P', 'F', 'K') and rdb$depended_on_type <> 17 order by 1, 2, 3, 4, 5;
select b from p(1, 2);
select f(5) from rdb$database;
alter table t drop b;
alter table t drop c;
drop view v;
drop table t;
drop procedure p;
drop view v;
drop function f;
drop package k;
drop table t;
set term ^;
create procedure s (a type of column rdb$relations.rdb$relation_name) returns (b type of column rdb$relations.rdb$relation_id) as begin b = char_length(trim(a)); suspend; end^
create procedure s2 (a type of column nowhere.a) as begin end^
create procedure s2 (a type of column rdb$relations.nowhere) as begin end^
set term ;^
select b from s('abc');
