-- Segment sizes, BLOBs that a character set makes texts, and what unknown types and procedures are answered with: as
-- Firebird 5.0.4.

create table t(a int, b1 blob sub_type text segment size 100, b2 blob sub_type binary character set octets, b3 blob sub_type 0 character set utf8, b4 blob character set win1252, b5 blob(200,1), b6 blob(300), b7 blob sub_type -5 segment size 12, b8 blob sub_type text, b9 blob sub_type 1 segment size 4096 character set none, b10 blob sub_type binary);
create domain dm as blob sub_type 1 segment size 77;
create domain dm2 as blob sub_type 0 segment size 78 character set utf8;
create table t2(a dm, b dm2);
alter table t add b11 blob segment size 55;
select f0.rdb$field_name, d.rdb$segment_length, d.rdb$field_sub_type, d.rdb$character_set_id from rdb$relation_fields f0 join rdb$fields d on d.rdb$field_name = f0.rdb$field_source where d.rdb$field_type = 261 and f0.rdb$relation_name in ('T', 'T2') order by f0.rdb$relation_name, f0.rdb$field_id;
insert into t(a,b2,b3,b1) values(1,'abc','äöü','x');
select b1, b2, b3, char_length(b3), octet_length(b3) from t;
create table bad(b2 blob sub_type 2 character set utf8);
create table bad(b2 blob sub_type -5 character set utf8);
create domain bad as blob sub_type blr;
create domain bad as blob collate unicode_ci;
create table text_after_all(b2 blob sub_type binary character set utf8 collate unicode_ci);
select cast('x' as blob sub_type 2) from rdb$database;
select count(*) from rdb$relations where rdb$system_flag = 1;
select count(*) from rdb$relation_fields where rdb$relation_name starting with 'FARBIRD' or rdb$field_name starting with 'FARBIRD';
select count(*) from rdb$fields where rdb$field_name starting with 'FARBIRD';
execute procedure nope;
execute procedure nope(1,2);
select * from nope(1);
set term ^;
create procedure px(a type of column nope.x) as begin end^
create procedure px(a type of nodomain) as begin end^
create procedure px as declare b type of column t.nope; begin end^
create procedure px as declare b type of nodom; begin end^
create function fx(a int) returns type of column t.nope as begin end^
execute block as declare b type of column nope.x; begin end^
execute block as declare b type of nodom; begin end^
execute block as begin execute procedure nope; end^
create procedure px as begin execute procedure nope; end^
create procedure px as declare a int; begin for select a from nope(1) into a do begin end end^
set term ;^
select cast(1 as type of column nope.x) from rdb$database;
select cast(1 as type of column t.nope) from rdb$database;
select cast(1 as type of nodom) from rdb$database;
create table ty(a nodom);
alter table t add zz nodom;
create procedure px(a int, a int) as begin end;
set term ^;
create function fx(a int) returns varchar(10) character set nope as begin return ''; end^
create procedure seg(a blob sub_type text segment size 33) returns (b blob sub_type binary character set utf8) as declare v blob segment size 12; begin b = a; suspend; end^
set term ;^
select f.rdb$segment_length, f.rdb$field_sub_type, f.rdb$character_set_id from rdb$fields f join rdb$procedure_parameters p on p.rdb$field_source = f.rdb$field_name where p.rdb$procedure_name = 'SEG' order by p.rdb$parameter_type;
