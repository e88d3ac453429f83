-- Local routines that are declared before their bodies come, and bodies unlike their declarations.
set term ^;
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (a integer, c integer) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (a bigint) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (x integer) returns (b integer) as begin b = x; end
begin end^
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (a integer) returns (c integer) as begin c = a; end
begin end^
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (a integer) returns (b bigint) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (a integer) as begin end
begin end^
execute block as
declare procedure s1 (a integer = 1) returns (b integer);
declare procedure s1 (a integer) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer) returns (b integer);
declare procedure s1 (a integer = 1) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer = 1) returns (b integer);
declare procedure s1 (a integer = 1) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer = 1) returns (b integer);
declare procedure s1 (a integer = 2) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a integer not null) returns (b integer);
declare procedure s1 (a integer) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a varchar(10)) returns (b integer);
declare procedure s1 (a varchar(20)) returns (b integer) as begin b = a; end
begin end^
execute block as
declare procedure s1 (a varchar(10)) returns (b integer);
declare procedure s1 (a varchar(10) character set utf8) returns (b integer) as begin b = a; end
begin end^
execute block as
declare function f1 (a integer) returns integer;
declare function f1 (a integer) returns bigint as begin return a; end
begin end^
execute block as
declare function f1 (a integer) returns integer;
declare function f1 (a integer, b integer) returns integer as begin return a; end
begin end^
execute block as
declare function f1 (a integer) returns integer;
declare function f1 (a integer) returns integer deterministic as begin return a; end
begin end^
execute block as
declare function f1 (a integer) returns integer deterministic;
declare function f1 (a integer) returns integer as begin return a; end
begin end^
execute block as
declare function f1 (a integer) returns integer;
begin end^
execute block as
declare function f1 (a integer) returns integer;
declare function f1 (a integer) returns integer;
declare function f1 (a integer) returns integer as begin return a; end
begin end^
execute block as
declare function f1 (a integer) returns integer as begin return a; end
declare function f1 (a integer) returns integer as begin return a; end
begin end^
execute block as
declare function f1 (a integer) returns integer as begin return a; end
declare function f1 (a integer) returns integer;
begin end^
execute block as
declare v integer;
declare function f1 (a integer) returns integer;
declare w integer;
declare function f1 (a integer) returns integer as begin return a; end
begin end^
execute block returns (x integer) as
declare procedure s1 (a integer = 5) returns (b integer);
declare procedure s1 (a integer) returns (b integer) as begin b = a; end
begin execute procedure s1 returning_values x; suspend; end^
execute block returns (x integer) as
declare procedure s1 (a integer = 5) returns (b integer);
declare procedure s1 (a integer) returns (b integer) as begin b = a; suspend; end
begin select b from s1 into x; suspend; end^
execute block returns (x integer) as
declare function s1 (a integer, b integer = 5) returns integer;
declare function s1 (a integer, b integer) returns integer as begin return a + b; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a integer, b integer) returns integer;
declare v integer = 1;
declare function s1 (a integer, b integer) returns integer as begin return a + b; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a integer, b integer) returns integer as begin return a + b; end
declare c cursor for (select 1 a from rdb$database);
declare v integer;
begin x = s1(1, 2); suspend; end^
execute block returns (x integer) as
declare v integer;
declare function s1 (a integer, b integer) returns integer as begin return a + b; end
declare function s2 (a integer, b integer) returns integer;
begin x = s1(1, 2); suspend; end^
execute block returns (x integer) as
declare v integer;
declare function s1 (a integer = 1, b integer) returns integer as begin return a + b; end
begin x = s1(1, 2); suspend; end^
execute block returns (x integer) as
declare function s1 (a integer = 1) returns integer as begin return a; end
declare function s1 (a integer = 1) returns integer as begin return a; end
begin x = s1(1, 2); suspend; end^
execute block returns (x integer) as
declare function s1 (a int) returns int;
declare function s1 (a integer) returns integer as begin return a; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a type of column rdb$relations.rdb$relation_id) returns int;
declare function s1 (a type of column rdb$relations.rdb$relation_id) returns integer as begin return a; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a char varying(3)) returns int;
declare function s1 (a varchar(3)) returns integer as begin return a; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a numeric(5,2)) returns int;
declare function s1 (a decimal(5,2)) returns integer as begin return a; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a numeric) returns int;
declare function s1 (a numeric(9)) returns integer as begin return a; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a blob) returns int;
declare function s1 (a blob sub_type 0) returns integer as begin return 1; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a blob sub_type text) returns int;
declare function s1 (a blob sub_type 1) returns integer as begin return 1; end
begin x = s1(1); suspend; end^
execute block returns (x integer) as
declare function s1 (a blob sub_type text) returns int;
declare function s1 (a blob sub_type text segment size 80) returns integer as begin return 1; end
begin x = s1(1); suspend; end^
set term ;^
