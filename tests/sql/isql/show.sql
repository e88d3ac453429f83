-- SHOW COMMENTS with packaged routines, SHOW TRIGGERS with those of definitions.
set term ^;
create package k as begin procedure p (a integer); function f (b integer) returns integer; end^
create package body k as begin procedure p (a integer) as begin end function f (b integer) returns integer as begin return 1; end end^
create procedure q (a integer) as begin end^
create trigger w_any after any ddl statement as begin end^
create trigger w_some inactive before create table or drop package body or alter character set position 7 as begin end^
create trigger w_session on connect as begin end^
set term ;^
comment on package k is 'a package';
comment on procedure k.p is 'a procedure of it';
comment on function k.f is 'a function of it';
comment on procedure parameter k.p.a is 'its a';
comment on function parameter k.f.b is 'its b';
comment on procedure q is 'q';
comment on procedure parameter q.a is 'its a, too';
comment on trigger w_any is 'watches';
comment on database is 'all of it';
commit;
show comments;
show triggers;
show trigger w_any;
show trigger w_some;
show packages;
