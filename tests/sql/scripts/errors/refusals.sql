-- What is refused: things said twice, RETURNING that goes nowhere, too many arguments, grantees that cannot grant on.
set term ^;
create table t (id integer primary key, a integer)^
create procedure p as begin end^
create function f (a integer) returns integer as begin return a; end^
create role r^
create view v as select id from t^
grant execute on procedure p to function f with grant option^
grant select on t to function f with grant option^
grant select on t to procedure p with grant option^
grant select on t to view v with grant option^
grant select on t to role r with grant option^
grant select on t to system privilege use_gstat_utility with grant option^
grant usage on exception e to procedure p with grant option^
execute block as declare y integer; declare y cursor for (select 1 n from rdb$database); begin end^
execute block as declare y cursor for (select 1 n from rdb$database); declare y integer; begin end^
execute block (y integer = ?) as declare y cursor for (select 1 n from rdb$database); begin end^
execute block returns (y integer) as declare y cursor for (select 1 n from rdb$database); begin end^
execute block returns (y integer) as begin for select 1 n from rdb$database as cursor y do begin end end^
execute block as declare procedure y as begin end declare y integer; begin end^
execute block as begin delete from t returning *; end^
execute block as begin delete from t returning id; end^
execute block as declare v integer; begin update t set id = -id returning id as v; end^
execute block as begin insert into t values (1, 2) returning id; end^
execute block as begin update or insert into t values (1, 2) returning id; end^
create table q (a integer not null not null)^
create table q (a integer not null default 5 not null)^
create table q (a integer not null constraint c not null)^
create domain d as integer not null not null^
create exception e 'x'^
select minvalue(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255) from rdb$database^
select maxvalue(0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,51,52,53,54,55,56,57,58,59,60,61,62,63,64,65,66,67,68,69,70,71,72,73,74,75,76,77,78,79,80,81,82,83,84,85,86,87,88,89,90,91,92,93,94,95,96,97,98,99,100,101,102,103,104,105,106,107,108,109,110,111,112,113,114,115,116,117,118,119,120,121,122,123,124,125,126,127,128,129,130,131,132,133,134,135,136,137,138,139,140,141,142,143,144,145,146,147,148,149,150,151,152,153,154,155,156,157,158,159,160,161,162,163,164,165,166,167,168,169,170,171,172,173,174,175,176,177,178,179,180,181,182,183,184,185,186,187,188,189,190,191,192,193,194,195,196,197,198,199,200,201,202,203,204,205,206,207,208,209,210,211,212,213,214,215,216,217,218,219,220,221,222,223,224,225,226,227,228,229,230,231,232,233,234,235,236,237,238,239,240,241,242,243,244,245,246,247,248,249,250,251,252,253,254,255) from rdb$database^
execute block as begin exception e using (1,2,3,4,5,6,7,8,9,10); end^
execute block as begin exception e using (1,2,3,4,5,6,7,8,9); end^
create user qa_u1 password 'x' tags (a = '1', b = '2', a = '3')^
