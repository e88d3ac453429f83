-- How many rows a statement is said to have changed: those that it changes itself, not those of routines and texts that it calls.
create table t (id integer);
create table u (id integer);
set term ^;
create procedure p as begin insert into t values (1); insert into u values (1); end^
create procedure q as begin insert into t values (1); update t set id = 2; end^
create procedure r returns (a integer) as begin insert into t values (1); a = 1; suspend; end^
create trigger tb for t before insert as begin new.id = new.id + 1; end^
commit^
execute procedure p^
execute procedure q^
execute procedure r^
select * from r^
commit^
execute procedure p^
execute procedure p^
commit^
drop trigger tb^
commit^
execute procedure p^
execute procedure p^
execute procedure q^
execute block as begin insert into t values (1); end^
execute block as begin execute procedure p; end^
insert into t values (1)^
execute procedure p^
execute block as begin execute statement 'insert into t values (1)'; end^
execute block as begin in autonomous transaction do insert into t values (1); end^
execute block as declare procedure l as begin insert into t values (1); end begin execute procedure l; end^
execute block as declare x integer; begin insert into t values (1); for select a from r into x do insert into u values (:x); end^
execute block returns (x integer) as begin insert into t values (1); x = 1; suspend; insert into t values (1); end^
create function f returns integer as begin insert into t values (1); return 1; end^
commit^
insert into u values (f())^
update u set id = f()^
select f() from rdb$database^
execute block returns (n integer) as declare x integer; begin x = f(); select count(*) from t into n; x = f(); n = (select count(*) from t) - n; suspend; end^
execute block returns (n integer) as declare x integer; begin select count(*) from t into n; execute statement 'insert into t values (7)'; n = (select count(*) from t) - n; suspend; end^
