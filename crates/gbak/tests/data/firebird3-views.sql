-- create database ... page_size 8192 default character set UTF8;
create table T (A integer, B varchar(20));
create view V as select A, B from T;
set term ^;
create procedure P_ONE (X type of column V.B) returns (R type of column V.B) as begin r = 'one: ' || x; end^
create function F_ONE (X type of column V.A) returns type of column V.A as begin return x + 1; end^
create procedure P_ODD (N type of column V.A) returns (R varchar(4)) as begin r = 'even'; end^
create procedure P_EVEN (N type of column V.A) returns (R varchar(4)) as begin r = 'even'; if (n > 0) then execute procedure P_ODD(n - 1) returning_values :r; end^
alter procedure P_ODD (N type of column V.A) returns (R varchar(4)) as begin r = 'odd'; if (n > 0) then execute procedure P_EVEN(n - 1) returning_values :r; end^
set term ;^
insert into T values (1, 'x');
