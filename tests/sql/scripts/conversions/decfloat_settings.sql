-- SET DECFLOAT ROUND and SET DECFLOAT TRAPS, in arithmetic, casts and functions.
select rdb$get_context('SYSTEM', 'DECFLOAT_ROUND'), rdb$get_context('SYSTEM', 'DECFLOAT_TRAPS') from rdb$database;
set decfloat round nowhere;
set decfloat traps to nowhere;
set decfloat traps to overflow, nowhere;
select rdb$get_context('SYSTEM', 'DECFLOAT_TRAPS') from rdb$database;
set decfloat traps to underflow, inexact, inexact;
select rdb$get_context('SYSTEM', 'DECFLOAT_TRAPS') from rdb$database;
set decfloat traps to;
select rdb$get_context('SYSTEM', 'DECFLOAT_TRAPS') from rdb$database;

-- Nothing is trapped.
select cast(1 as decfloat) / 0, -1 / cast(0 as decfloat(16)), 0 / cast(0 as decfloat) from rdb$database;
select cast('9e6144' as decfloat) * 10, cast('-9e6144' as decfloat) * 10 from rdb$database;
select cast(cast('9e6144' as decfloat) as decfloat(16)) from rdb$database;
select cast('9e6145' as decfloat), cast('9e385' as decfloat(16)) from rdb$database;
select cast('1e-6176' as decfloat) / 10, cast('1e-6176' as decfloat) / 3 from rdb$database;
select cast('sNaN' as decfloat) + 1, cast('NaN' as decfloat) + 1 from rdb$database;
select cast('nonsense' as decfloat) from rdb$database;
select cast('Infinity' as decfloat) - cast('Infinity' as decfloat) from rdb$database;
select cast('Infinity' as decfloat) * 0, cast('Infinity' as decfloat) / cast('Infinity' as decfloat) from rdb$database;
select cast(cast('Infinity' as decfloat) as integer), cast(cast('NaN' as decfloat) as bigint) from rdb$database;
select cast(cast('1e30' as decfloat) as bigint), cast(cast('1e30' as decfloat) as int128) from rdb$database;
select cast(cast('1e10' as decfloat) as integer) from rdb$database;
select cast(cast('1e300' as decfloat) as int128) from rdb$database;
select cast(cast('NaN' as decfloat) as int128) from rdb$database;
select cast(cast('Infinity' as decfloat) as int128) from rdb$database;
select cast(cast('1e36' as decfloat) as int128) from rdb$database;
select cast(cast('1e300' as decfloat) as numeric(38,2)) from rdb$database;
select cast(cast('1e3000' as decfloat) as double precision), cast(cast('-Infinity' as decfloat) as double precision) from rdb$database;
select quantize(cast('1e20' as decfloat), cast('1e-20' as decfloat)) from rdb$database;

-- Rounding.
set decfloat round ceiling;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat round up;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat round half_up;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat round half_even;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat round half_down;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat round down;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
select cast('9e6144' as decfloat) * 10, cast('-9e6144' as decfloat) * 10 from rdb$database;
set decfloat round floor;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.5 as decfloat) as integer), cast(cast(-2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
select cast('9e6144' as decfloat) * 10, cast('-9e6144' as decfloat) * 10, cast(1 as decfloat) - 1 from rdb$database;
set decfloat round reround;
select cast(2 as decfloat) / 3, -cast(2 as decfloat) / 3, cast(cast(2.51 as decfloat) as integer), cast(cast(-5.01 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast('1.23456789012345678' as decfloat(16)), quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat round down;
select cast(99999999999999999999999999999999999999 as decfloat), cast(2e0 / 3 as decfloat(16)), cast(cast(2 as decfloat) / 3 as double precision) from rdb$database;
select cast(2.9 as int128), cast(cast(2.9 as numeric(38,2)) as integer), cast(2.9e0 as bigint) from rdb$database;
select round(cast(2.345 as decfloat), 2), trunc(cast(2.345 as decfloat), 2), ceil(cast(2.345 as decfloat)), floor(cast(-2.345 as decfloat)), abs(cast(-2.345 as decfloat)) from rdb$database;
select sum(x), avg(x) from (select cast(1 as decfloat) / 3 as x from rdb$database union all select cast(2 as decfloat) / 3 from rdb$database);

-- Traps, one by one.
set decfloat round half_up;
set decfloat traps to inexact;
select cast(1 as decfloat) / 3 from rdb$database;
select cast(1 as decfloat) / 2, cast(1 as decfloat) / 0 from rdb$database;
select cast(cast(2.5 as decfloat) as integer), cast(cast('2.25' as decfloat) as numeric(5,1)), cast(cast('2.25' as decfloat) as varchar(20)) from rdb$database;
select cast(1.23456789012345678 as decfloat(16)) from rdb$database;
select cast(cast('1.23456789012345678' as decfloat) as decfloat(16)) from rdb$database;
select cast('1.23456789012345678' as decfloat(16)) from rdb$database;
select cast(0.1e0 as decfloat), cast(cast(0.1 as decfloat) as double precision) from rdb$database;
select quantize(cast(2.345 as decfloat), 1.11) from rdb$database;
set decfloat traps to underflow;
select cast('1e-6176' as decfloat) / 3 from rdb$database;
select cast('1e-6176' as decfloat) / 10 from rdb$database;
select cast('1e-6177' as decfloat) from rdb$database;
select cast('10e-6176' as decfloat) / 10 from rdb$database;
set decfloat traps to division_by_zero;
select cast(1 as decfloat) / 0 from rdb$database;
select cast(0 as decfloat) / 0 from rdb$database;
set decfloat traps to invalid_operation;
select cast(1 as decfloat) / 0 from rdb$database;
select cast(0 as decfloat) / 0 from rdb$database;
select cast('nonsense' as decfloat) from rdb$database;
select cast('9e6144' as decfloat) * 10 from rdb$database;
set decfloat traps to overflow;
select cast('9e6144' as decfloat) * 10 from rdb$database;
select cast('9e6145' as decfloat) from rdb$database;
select cast(cast('9e6144' as decfloat) as decfloat(16)) from rdb$database;
select cast(cast('1e3000' as decfloat) as double precision) from rdb$database;

-- Stored values, blocks, and the session begun anew.
create table t (id integer, d decfloat(16), l decfloat);
set decfloat traps to;
set decfloat round down;
insert into t values (1, cast(2 as decfloat) / 3, cast(2 as decfloat) / 3);
insert into t values (2, cast(1 as decfloat) / 0, 0);
set term ^;
execute block returns (d decfloat(16)) as begin d = cast(2 as decfloat) / 3; suspend; end^
set term ;^
select id, d, l, d * 3, l + 1 from t order by id;
commit;
alter session reset;
select rdb$get_context('SYSTEM', 'DECFLOAT_ROUND'), rdb$get_context('SYSTEM', 'DECFLOAT_TRAPS') from rdb$database;
select cast(2 as decfloat) / 3 from rdb$database;
select cast(1 as decfloat) / 0 from rdb$database;
