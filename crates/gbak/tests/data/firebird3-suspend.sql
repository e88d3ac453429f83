-- create database ... default character set utf8;
create table t (a integer);
set term ^;
create procedure plain as
begin
  insert into t values (1);
  suspend;
end^
create procedure raises (a integer) as
begin
  insert into t values (:a);
  suspend;
end^
set term ;^
