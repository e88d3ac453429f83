set term !;
declare external function u_abs  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_abs' MODULE_NAME 'ib_udf'!
declare external function u_acos  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_acos' MODULE_NAME 'ib_udf'!
declare external function u_ascii_char  INTEGER RETURNS CSTRING(1) FREE_IT ENTRY_POINT 'IB_UDF_ascii_char' MODULE_NAME 'ib_udf'!
declare external function u_ascii_val  CHAR(1) RETURNS INTEGER BY VALUE ENTRY_POINT 'IB_UDF_ascii_val' MODULE_NAME 'ib_udf'!
declare external function u_asin  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_asin' MODULE_NAME 'ib_udf'!
declare external function u_atan  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_atan' MODULE_NAME 'ib_udf'!
declare external function u_atan2  DOUBLE PRECISION, DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_atan2' MODULE_NAME 'ib_udf'!
declare external function u_bin_and  INTEGER, INTEGER RETURNS INTEGER BY VALUE ENTRY_POINT 'IB_UDF_bin_and' MODULE_NAME 'ib_udf'!
declare external function u_bin_or  INTEGER, INTEGER RETURNS INTEGER BY VALUE ENTRY_POINT 'IB_UDF_bin_or' MODULE_NAME 'ib_udf'!
declare external function u_bin_xor  INTEGER, INTEGER RETURNS INTEGER BY VALUE ENTRY_POINT 'IB_UDF_bin_xor' MODULE_NAME 'ib_udf'!
declare external function u_ceiling  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_ceiling' MODULE_NAME 'ib_udf'!
declare external function u_cos  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_cos' MODULE_NAME 'ib_udf'!
declare external function u_cosh  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_cosh' MODULE_NAME 'ib_udf'!
declare external function u_cot  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_cot' MODULE_NAME 'ib_udf'!
declare external function u_div  INTEGER, INTEGER RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_div' MODULE_NAME 'ib_udf'!
declare external function u_floor  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_floor' MODULE_NAME 'ib_udf'!
declare external function u_udf_frac  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_frac' MODULE_NAME 'ib_udf'!
declare external function u_ln  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_ln' MODULE_NAME 'ib_udf'!
declare external function u_log  DOUBLE PRECISION, DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_log' MODULE_NAME 'ib_udf'!
declare external function u_log10  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_log10' MODULE_NAME 'ib_udf'!
declare external function u_lower  CSTRING(255) RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_lower' MODULE_NAME 'ib_udf'!
declare external function u_lpad  CSTRING(255), INTEGER, CSTRING(1) RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_lpad' MODULE_NAME 'ib_udf'!
declare external function u_ltrim  CSTRING(255) RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_ltrim' MODULE_NAME 'ib_udf'!
declare external function u_mod  INTEGER, INTEGER RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_mod' MODULE_NAME 'ib_udf'!
declare external function u_pi  RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_pi' MODULE_NAME 'ib_udf'!
declare external function u_rand  RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_rand' MODULE_NAME 'ib_udf'!
declare external function u_rpad  CSTRING(255), INTEGER, CSTRING(1) RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_rpad' MODULE_NAME 'ib_udf'!
declare external function u_rtrim  CSTRING(255) RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_rtrim' MODULE_NAME 'ib_udf'!
declare external function u_sign  DOUBLE PRECISION RETURNS INTEGER BY VALUE ENTRY_POINT 'IB_UDF_sign' MODULE_NAME 'ib_udf'!
declare external function u_sin  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_sin' MODULE_NAME 'ib_udf'!
declare external function u_sinh  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_sinh' MODULE_NAME 'ib_udf'!
declare external function u_sqrt  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_sqrt' MODULE_NAME 'ib_udf'!
declare external function u_substr  CSTRING(255), SMALLINT, SMALLINT RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_substr' MODULE_NAME 'ib_udf'!
declare external function u_substrlen  CSTRING(255), SMALLINT, SMALLINT RETURNS CSTRING(255) FREE_IT ENTRY_POINT 'IB_UDF_substrlen' MODULE_NAME 'ib_udf'!
declare external function u_strlen CSTRING(32767) character set none RETURNS INTEGER BY VALUE ENTRY_POINT 'IB_UDF_strlen' MODULE_NAME 'ib_udf'!
declare external function u_tan  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_tan' MODULE_NAME 'ib_udf'!
declare external function u_tanh  DOUBLE PRECISION RETURNS DOUBLE PRECISION BY VALUE ENTRY_POINT 'IB_UDF_tanh' MODULE_NAME 'ib_udf'!
declare external function u_invl  int by descriptor, int by descriptor returns int by descriptor entry_point 'idNvl' module_name 'fbudf'!
declare external function u_i64nvl  numeric(18,0) by descriptor, numeric(18,0) by descriptor returns numeric(18,0) by descriptor entry_point 'idNvl' module_name 'fbudf'!
declare external function u_dnvl  double precision by descriptor, double precision by descriptor returns double precision by descriptor entry_point 'idNvl' module_name 'fbudf'!
declare external function u_snvl  varchar(100) by descriptor, varchar(100) by descriptor, varchar(100) by descriptor returns parameter 3 entry_point 'sNvl' module_name 'fbudf'!
declare external function u_inullif  int by descriptor, int by descriptor returns int by descriptor entry_point 'iNullIf' module_name 'fbudf'!
declare external function u_dnullif  double precision by descriptor, double precision by descriptor returns double precision by descriptor entry_point 'dNullIf' module_name 'fbudf'!
declare external function u_i64nullif  numeric(18,4) by descriptor, numeric(18,4) by descriptor returns numeric(18,4) by descriptor entry_point 'iNullIf' module_name 'fbudf'!
declare external function u_snullif  varchar(100) by descriptor, varchar(100) by descriptor, varchar(100) by descriptor returns parameter 3 entry_point 'sNullIf' module_name 'fbudf'!
declare external function u_dow  timestamp, varchar(15) returns parameter 2 entry_point 'DOW' module_name 'fbudf'!
declare external function u_sdow  timestamp, varchar(5) returns parameter 2 entry_point 'SDOW' module_name 'fbudf'!
declare external function u_sright  varchar(100) by descriptor, smallint, varchar(100) by descriptor returns parameter 3 entry_point 'right' module_name 'fbudf'!
declare external function u_addday  timestamp, int returns timestamp entry_point 'addDay' module_name 'fbudf'!
declare external function u_addday2  timestamp, int, timestamp returns parameter 3 entry_point 'addDay2' module_name 'fbudf'!
declare external function u_addweek  timestamp, int returns timestamp entry_point 'addWeek' module_name 'fbudf'!
declare external function u_addmonth  timestamp, int returns timestamp entry_point 'addMonth' module_name 'fbudf'!
declare external function u_addyear  timestamp, int returns timestamp entry_point 'addYear' module_name 'fbudf'!
declare external function u_addmillisecond  timestamp, int returns timestamp entry_point 'addMilliSecond' module_name 'fbudf'!
declare external function u_addsecond  timestamp, int returns timestamp entry_point 'addSecond' module_name 'fbudf'!
declare external function u_addminute  timestamp, int returns timestamp entry_point 'addMinute' module_name 'fbudf'!
declare external function u_addhour  timestamp, int returns timestamp entry_point 'addHour' module_name 'fbudf'!
declare external function u_getexacttimestamp  timestamp returns parameter 1 entry_point 'getExactTimestamp' module_name 'fbudf'!
declare external function u_getexacttimestamputc  timestamp returns parameter 1 entry_point 'getExactTimestampUTC' module_name 'fbudf'!
declare external function u_isleapyear  timestamp returns int by value entry_point 'isLeapYear' module_name 'fbudf'!
declare external function u_truncate  int by descriptor, int by descriptor returns parameter 2 entry_point 'fbtruncate' module_name 'fbudf'!
declare external function u_i64truncate  numeric(18) by descriptor, numeric(18) by descriptor returns parameter 2 entry_point 'fbtruncate' module_name 'fbudf'!
declare external function u_round  int by descriptor, int by descriptor returns parameter 2 entry_point 'fbround' module_name 'fbudf'!
declare external function u_i64round  numeric(18, 4) by descriptor, numeric(18, 4) by descriptor returns parameter 2 entry_point 'fbround' module_name 'fbudf'!
declare external function u_dpower  double precision by descriptor, double precision by descriptor, double precision by descriptor returns parameter 3 entry_point 'power' module_name 'fbudf'!
declare external function u_string2blob  varchar(300) by descriptor, blob returns parameter 2 entry_point 'string2blob' module_name 'fbudf'!
commit!
select 'bin', u_bin_and(null, 3), u_bin_and(6,3), u_bin_or(6,3), u_bin_xor(6,3), u_ceiling(1.2), u_ceiling(-1.2), u_floor(-1.5) from rdb$database!
select 'cot', u_cot(1) from rdb$database!
select 'cot0', u_cot(0) from rdb$database!
select 'ln', u_ln(2.718281828459045), u_log(2,8), u_log10(1000) from rdb$database!
select 'ln0', u_ln(0) from rdb$database!
select 'ln-1', u_ln(-1) from rdb$database!
select 'log0', u_log(0, 5) from rdb$database!
select 'log1', u_log(1, 5) from rdb$database!
select 'log10', u_log10(0) from rdb$database!
select 'sqrt', u_sqrt(-1) from rdb$database!
select 'sqrt', u_sqrt(2), u_sqrt(null), u_sign(-3), u_sign(0), u_sign(2.5), u_sign(null), u_pi() from rdb$database!
select 'div', u_div(-7,2), u_div(7,2), u_mod(-7,2), u_mod(7,-2), u_udf_frac(-1.5), u_div(null,2) from rdb$database!
select 'div0', u_div(1,0) from rdb$database!
select 'mod0', u_mod(1,0) from rdb$database!
select 'null', '['||u_lower(null)||']' a, '['||u_ltrim(null)||']' b, '['||u_lpad(null, 3, 'x')||']' c, '['||u_rpad('a', null, 'x')||']' d, '['||u_substr(null,1,2)||']' e, '['||u_substrlen(null,1,2)||']' f, u_strlen(null) g, '['||u_rtrim(null)||']' h from rdb$database!
select 'substr', '['||u_substr('abcdef',2,4)||']' a, '['||u_substr('abcdef',4,2)||']' b, '['||u_substr('abcdef',0,2)||']' c, '['||u_substr('abcdef',3,20)||']' d, '['||u_substr('abcdef',7,9)||']' e,'['||u_substr('abcdef',-1,2)||']' f,'['||u_substr('',1,2)||']' from rdb$database!
select 'substrlen','['||u_substrlen('abcdef',2,4)||']' a, '['||u_substrlen('abcdef',4,20)||']' b, '['||u_substrlen('abcdef',0,2)||']' c, '['||u_substrlen('abcdef',3,0)||']' d, '['||u_substrlen('abcdef',7,9)||']' e,'['||u_substrlen('abcdef',-1,2)||']' f,'['||u_substrlen('abcdef',2,-1)||']' g from rdb$database!
select 'strlen',u_strlen('abc') a, u_strlen('abc  ') b,  u_strlen(cast('ab' as char(5))) d, u_strlen('') e, u_strlen(123) f from rdb$database!
select 'nvl',u_invl(null,3), u_invl(2,3), u_invl(null,null), u_i64nvl(null, 5), u_dnvl(null,1.5), u_dnvl(2.5,1.5), '['||u_snvl(null,'x')||']', '['||u_snvl('abc','x')||']' from rdb$database!
select 'nullif', u_dnullif(1.5e0,1.5e0), u_dnullif(1.5e0,2e0), u_dnullif(1.5e0,null),u_dnullif(1.5,1.5) from rdb$database!
select 'nullif',u_inullif(1,1), u_inullif(1,2), u_inullif(null,1), u_inullif(1,null), u_dnullif(1.5,1.5), u_i64nullif(1.5,1.5), u_i64nullif(1.5,1.25), u_snullif('a','a'), u_snullif('a','b'), u_snullif(null,'b'), u_snullif('a',null) from rdb$database!
select 'dow', u_dow(timestamp '2026-11-23'), u_sdow(timestamp '2026-11-23'), u_dow(null), u_sdow(null), u_sdow(date '2026-11-22') from rdb$database!
select 'right', '['||u_sright('abcdef',2)||']', '['||u_sright('abcdef',20)||']', '['||u_sright('abcdef',0)||']', '['||u_sright('abcdef',-2)||']', '['||u_sright(null,2)||']','['||u_sright('abc',null)||']' from rdb$database!
select 'add', u_addday(timestamp '2026-01-31 10:00',30), u_addday(null,3), u_addday2(timestamp '2026-01-31 10:00',-31), u_addweek(timestamp '2026-01-31',1), u_addmonth(timestamp '2026-01-31',1), u_addmonth(timestamp '2026-03-31',-1), u_addyear(timestamp '2024-02-29',1), u_addmonth(timestamp '2026-01-31',13) from rdb$database!
select 'add', u_addmillisecond(timestamp '2026-01-31 23:59:59.9999',1), u_addsecond(timestamp '2026-01-31 23:59:59',1),u_addsecond(timestamp '2026-01-31 00:00:00',-1), u_addminute(timestamp '2026-01-31 23:59:59',1), u_addhour(timestamp '2026-01-31 23:59:59',-25), u_addday(timestamp '2026-01-31',null) from rdb$database!
select 'leap', u_isleapyear(timestamp '2024-01-01'), u_isleapyear(timestamp '2026-01-01'), u_isleapyear(null) from rdb$database!
select 'exact', u_getexacttimestamp() > timestamp '2001-01-01', u_getexacttimestamputc()>timestamp '2001-01-01' from rdb$database!
select 'trunc', u_truncate(14.76), u_truncate(-14.76), u_truncate(null), u_round(14.5), u_round(-14.5), u_round(14.4), u_round(null) from rdb$database!
select 'i64', u_i64truncate(14.76), u_i64truncate(-14.76), u_i64round(14.7654), u_i64round(-14.5555), u_i64round(12345678901.5) from rdb$database!
select 'pow', u_dpower(2,10), u_dpower(2,null), u_dpower(0,-1) from rdb$database!
select 'pow', u_dpower(2,10), u_dpower(2,null) from rdb$database!
select 'blob', cast(u_string2blob('hello') as varchar(20)), u_string2blob(null) is null from rdb$database!
select 'args', u_abs() from rdb$database!
select 'args', u_abs(1,2) from rdb$database!
select 'conv', u_abs('x') from rdb$database!
select 'conv', u_div(1.5,1), u_div('7',2) from rdb$database!
select 'conv', u_div(10000000000,1) from rdb$database!
select 'len', u_lower(lpad('A',300,'A')) from rdb$database!
select 'abs', u_abs(-3.5), u_abs(null), u_acos(1) from rdb$database!
select 'acos', u_acos(2) from rdb$database!
select 'asc', ascii_val(u_ascii_char(65)), '['||u_ascii_char(0)||']', '['||u_ascii_char(null)||']', char_length(u_ascii_char(0)), ascii_val(u_ascii_char(321)), u_ascii_val('A'), u_ascii_val(''), u_ascii_val(null) from rdb$database!
select 'asc', u_ascii_val(x'E9'), ascii_val(u_ascii_char(233)), ascii_val(u_ascii_char(-1)) from rdb$database!
select 'lower', u_lower('ABC'), '['||u_ltrim('  ab ')||']', '['||u_rtrim(' ab  ')||']' , '['||u_lpad('ab',5,'x')||']' , '['||u_rpad('ab',5,'x')||']' , '['||u_lpad('abcdef',3,'x')||']' , '['||u_rpad('abcdef',3,'x')||']', '['||u_lpad('ab',5,'')||']' , '['||u_lpad('ab',-1,'x')||']', '['||u_lpad('ab',0,'x')||']' from rdb$database!
select 'pad', char_length(u_lpad('ab',300,'x')) from rdb$database!
select 'pad', char_length(u_lpad('ab',255,'x')), '['||u_rpad('ab',5,'')||']','['||u_rpad('ab',-5,'x')||']', '['||u_ltrim('')||']','['||u_rtrim('   ')||']' from rdb$database!
select 'sinh', u_sinh(1), u_cosh(1), u_tanh(1), u_sin(1), u_cos(1), u_tan(1), u_atan(1), u_atan2(1,2) from rdb$database!
select 'sign', u_sign(null), u_ceiling(null), u_pi(), u_rand() between 0 and 1 from rdb$database!
select 'add', u_addday(timestamp '9999-12-31',1) from rdb$database!
select 'add', u_addmonth(timestamp '2026-01-31',null), u_addyear(timestamp '2026-01-31 01:02:03',-1), u_isleapyear(timestamp '2000-01-01'),u_isleapyear(timestamp '1900-01-01') from rdb$database!
select 'r', u_round(14.55), u_round(0.5), u_round(-0.5), u_round(-0.51), u_truncate(0.99), u_round(7), u_i64round(1.00005), u_i64truncate(1.5), u_i64truncate(-1.5) from rdb$database!
select u_truncate(1e0), u_round(1.5e0), u_round('1.5') from rdb$database!
select u_invl('a', 1) from rdb$database!
select u_invl(1.6, 1), u_invl(null,1.6), u_i64nvl(1.6,1), u_dnvl('1.5',1), u_inullif(1.5, 1.50), u_dow('2026-11-23') from rdb$database!
select u_inullif('a', 'a') from rdb$database!
declare external function u_asin double precision returns double precision by value entry_point 'IB_UDF_asin' module_name 'ib_udf'!
declare external function u_bad double precision returns double precision by value entry_point 'nope' module_name 'ib_udf'!
declare external function u_bad2 double precision returns double precision by value entry_point 'IB_UDF_asin' module_name 'nope'!
declare external function u_few double precision returns double precision by value entry_point 'IB_UDF_atan2' module_name 'ib_udf'!
declare external function abs double precision returns double precision by value entry_point 'IB_UDF_abs' module_name 'ib_udf'!
commit!
select u_bad(1) from rdb$database!
select u_bad2(1) from rdb$database!
select u_few(1) from rdb$database!
select abs(-3) from rdb$database!
alter external function u_bad entry_point 'IB_UDF_asin'!
commit!
select u_bad(0.5) from rdb$database!
alter external function u_nope entry_point 'IB_UDF_asin'!
alter external function u_bad!
declare external function f1 int, int returns parameter 3 entry_point 'IB_UDF_abs' module_name 'ib_udf'!
declare external function f6 int returns cstring(10) by value entry_point 'IB_UDF_abs' module_name 'ib_udf'!
declare external function f7 int returns timestamp by value entry_point 'IB_UDF_abs' module_name 'ib_udf'!
declare external function f8 int returns blob by value entry_point 'IB_UDF_abs' module_name 'ib_udf'!
declare external function f9 int, int, int, int, int, int, int, int, int, int, int, int, int, int, int returns blob entry_point 'x' module_name 'x'!
declare external function f10 int returns int by value entry_point 'x' module_name ''!
declare external function f11 int returns int by value entry_point 'éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé' module_name 'ib_udf'!
alter external function u_bad module_name 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'!
alter external function u_bad module_name ''!
declare external function f12 varchar(30) by descriptor returns blob entry_point 'string2blob' module_name 'fbudf'!
declare external function f13 blob by descriptor, blob null, blob by scalar_array, blob returns int by value entry_point '' module_name 'x'!
create function p1 returns int as begin return 1; end!
commit!
select cast(f12('hello') as varchar(10)) from rdb$database!
select rdb$return_argument, rdb$entrypoint from rdb$functions where rdb$function_name in ('F12', 'F13') order by rdb$function_name!
select rdb$function_name, rdb$argument_position, rdb$mechanism, rdb$field_type from rdb$function_arguments where rdb$function_name in ('F12', 'F13') order by 1, 2!
alter external function p1 entry_point 'IB_UDF_abs'!
alter function f12 (a int) returns int as begin return a; end!
commit!
select f12(7) from rdb$database!
drop external function u_bad!
drop external function u_nope!
drop function u_bad2!
create table tt (a double precision, b computed by (u_sqrt(a)))!
commit!
insert into tt (a) values (9)!
select b from tt where u_div(a, 2) = 4!
drop external function u_sqrt!
create procedure p (s varchar(20)) returns (t varchar(20)) as begin t = u_lower(s); suspend; end!
select t from p('ABC')!
comment on external function u_lower is 'small letters'!
grant execute on function u_lower to public!
select rdb$function_name, rdb$module_name, rdb$entrypoint, rdb$return_argument, rdb$legacy_flag, rdb$valid_blr, rdb$function_source, rdb$deterministic_flag, rdb$description from rdb$functions where rdb$function_name in ('U_LOWER', 'U_SNVL', 'ABS') order by 1!
select rdb$function_name, rdb$argument_position, rdb$mechanism, rdb$field_type, rdb$field_scale, rdb$field_length, rdb$field_sub_type, rdb$character_set_id, rdb$field_precision, rdb$character_length, rdb$field_source, rdb$collation_id, rdb$null_flag, rdb$argument_mechanism, rdb$system_flag from rdb$function_arguments where rdb$function_name in ('U_LOWER','U_DIV','U_INVL','U_SNVL','U_DOW','U_STRING2BLOB','U_I64ROUND','U_PI','U_SUBSTR') order by 1, 2!
declare external function l_lower cstring(20) returns cstring(20) free_it entry_point 'fn_lower_c' module_name 'udflib'!
declare external function l_fact double precision returns double precision by value entry_point 'fn_fact' module_name '/opt/udf/udflib.so'!
declare external function l_max double precision, double precision returns double precision by value entry_point 'fn_max' module_name 'UDFLIB'!
declare external function l_dow returns cstring(12) entry_point 'fn_dow' module_name 'udflib'!
declare external function l_day returns int by value entry_point 'fn_doy' module_name 'udflib'!
commit!
select l_lower('ABC'), l_fact(5), l_fact(-1), l_max(1, 2), char_length(l_dow()) > 5, l_day() between 1 and 366 from rdb$database!
