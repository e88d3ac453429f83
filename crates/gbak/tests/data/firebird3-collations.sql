-- Procedures without output parameters that suspend, as Firebird 3 still takes them, and collations.
set sql dialect 3;
create database 'suspend.fdb' default character set utf8;
create table notes (what varchar(20));
create collation bare_names for utf8 from unicode no pad case insensitive;
create collation padded_names for utf8 from unicode pad space case insensitive accent insensitive;
create table names (bare varchar(10) collate bare_names, padded varchar(10) collate padded_names);
insert into names values ('a ', 'a ');
set term ^;
create procedure p_suspends (what varchar(20)) as
begin
  insert into notes values (:what);
  suspend;
  insert into notes values ('after it');
end^
create procedure p_calls as
begin
  execute procedure p_suspends('called');
  insert into notes values ('caller');
end^
set term ;^
commit;
