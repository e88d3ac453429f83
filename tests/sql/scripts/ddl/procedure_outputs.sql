-- ALTER PROCEDURE without an output that somebody reads.
set term ^;
create procedure p1 returns (a integer, b integer) as begin a = 1; suspend; end^
create procedure p2 returns (a integer) as begin select b from p1 into a; suspend; end^
create procedure p3 returns (a integer) as declare c integer; begin execute procedure p1 returning_values a, c; suspend; end^
create procedure p4 (x integer) returns (a integer) as begin a = 1; suspend; end^
create procedure p5 returns (b integer) as begin for select a from p4(1) into b do suspend; end^
set term ;^
set term ^;
alter procedure p1 returns (a integer) as begin a = 1; suspend; end^
set term ;^
select 1 from rdb$database;
set term ^;
create or alter procedure p1 returns (b integer) as begin b = 1; suspend; end^
set term ;^
select 1 from rdb$database;
set term ^;
alter procedure p1 returns (b bigint, a integer) as begin b = 1; suspend; end^
set term ;^
select 1 from rdb$database;
set term ^;
alter procedure p4 returns (a integer) as begin a = 1; suspend; end^
set term ;^
select 1 from rdb$database;
set term ^;
alter procedure p4 (y integer) returns (a integer) as begin a = 1; suspend; end^
set term ;^
select 1 from rdb$database;
