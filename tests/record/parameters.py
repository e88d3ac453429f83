#!/usr/bin/env python3
"""Records how a Firebird server types the parameters of many statements.

    tests/record/parameters.py HOST/PORT:FOLDER USER PASSWORD > crates/engine/tests/data/parameters.tsv

A database is created in FOLDER (a path of the server's machine) and filled by SETUP, each statement of `statements()` is
prepared in it and written with what came of it, and the database is dropped. `crates/engine/tests/parameters.rs` replays
the file. Lines that begin with `=` are the statements of SETUP. Another line is a statement, a tab, and either

    (parameters) (columns)   types as `described` writes them: LONG, INT64.-2:1?, VARYING(80)4?, where `.` precedes a
                             scale, `:` a subtype, `(..)` holds the length in bytes, after which comes the number of
                             the character set, and `?` says that NULL may stand there
    ! code code ...          the codes of the status

Lines that begin with `>` are statements that were run: the statement, values for its parameters separated by `|`, and
the rows that came of it, separated by ` ; `, or those of CONTENTS if it has none. Each was rolled back.

Needs the package firebird-driver and Firebird's client library.
"""

import datetime
import decimal
import re
import sys

from firebird.driver import create_database, DatabaseError, driver_config

SETUP = """
create domain dm as varchar(12)
create table t (id integer not null primary key, a varchar(20), c char(5), n numeric(10,2), i smallint, bi bigint, d date, ti time, ts timestamp, f double precision, fl float, bo boolean, df decfloat(34), i128 int128, bl blob sub_type text, bb blob, tz timestamp with time zone, o varchar(8) character set octets, w varchar(10) character set win1252, x varchar(12) default 'x')
create table s (k integer, v varchar(30))
create sequence g
create function fn (p int, q varchar(10)) returns numeric(9,3) as begin return p; end
create procedure sp (p smallint, q char(7) = 'q') returns (r int, z varchar(9)) as begin r = p; z = q; suspend; end
create procedure ep (p bigint) as begin end
insert into t (id, a, c, n, i, bi, d, ti, ts, f, bo, df, i128, bl) values (1, 'abc', 'ab', 10.5, 1, 100, '2020-02-29', '10:00:00', '2020-02-29 10:00:00', 1.5, true, 1.25, 7, 'blob one')
insert into t (id, a, c, n, i, bi, d, ti, ts, f, bo, df, i128, bl) values (2, 'ABC', 'xy', 20, 2, 200, '2021-01-01', '11:30:00', '2021-01-01 11:30:00', 2.5, false, 2.5, 8, 'two')
insert into t (id, a, n) values (3, null, null)
insert into s values (1, 'abc')
insert into s values (2, 'DEF')
""".strip().splitlines()

# Values with parameters: every operator and special form.
OPERATORS = """
?
-?
+?
? + 1
1 + ?
? + ?
id + ?
? - id
n + ?
? * 2
2 * ?
n * ?
? * ?
? / 2
n / ?
? / ?
f + ?
f * ?
df * ?
i128 + ?
bi * ?
i - ?
(? + 1) * 2
-(? + id)
d + ?
? + d
d - ?
? - d
ts + ?
ts - ?
? - ts
ti - ?
tz - ?
d + ti + ?
? || ?
a || ?
? || a
'x' || ?
? || 'x'
id || ?
bl || ?
o || ?
w || ?
a || ? || c
case when id = ? then ? else 1 end
case when id = 1 then ? end
case when id = 1 then ? else ? end
case when id = 1 then ? else a end
case when id = 1 then n when id = 2 then ? else f end
case when ? then 1 else 2 end
case ? when 1 then 'a' when 2 then 'b' end
case id when ? then 'a' when ? then 'b' else ? end
case id when 1 then ? else ? end
case ? when ? then 1 end
case a when ? then id else ? end
coalesce(?, id)
coalesce(id, ?)
coalesce(?, ?)
coalesce(?, ?, n)
coalesce(a, ?)
coalesce(? + 1, id)
coalesce(? * 2, id)
coalesce(null, ?)
nullif(?, 1)
nullif(id, ?)
nullif(?, ?)
nullif(a, ?)
iif(?, 1, 2)
iif(id = ?, ?, n)
iif(id = 1, ?, ?)
iif(id > ?, a, ?)
decode(id, ?, 'a', ?, 'b', ?)
decode(?, 1, 'a', 'b')
decode(?, ?, 'a', 'b')
decode(id, 1, ?, 2, n)
decode(id, 1, ?, 2, ?)
cast(? as integer)
cast(? as varchar(10))
cast(? as char(3) character set octets)
cast(? as numeric(18,4))
cast(? as timestamp)
cast(? as blob sub_type text)
cast(? as dm)
cast(? as type of column t.n)
cast(? as boolean)
cast(? + 1 as integer)
cast(? || 'x' as varchar(10))
cast(upper(?) as varchar(10))
date '2020-01-01' + ?
extract(year from ?)
extract(second from ?)
extract(year from d + ?)
? at time zone 'UTC'
ts at time zone ?
? at time zone ?
? at local
? collate unicode_ci
a collate unicode_ci || ?
gen_id(g, ?)
gen_id(g, ? + 1)
(select ? from rdb$database)
(select max(id) from t where a = ?)
(select max(k) from s where v = upper(?))
(select first 1 v from s where k = t.id + ?)
(select coalesce(?, k) from s)
(id = ?)
(? = 1)
(? = ?)
not ?
(? is null)
(? and bo)
exists (select 1 from s where k = ?)
fn(?, ?)
fn(? + 1, upper(?))
fn(id, ?)
""".strip().splitlines()

# Built-in functions, a parameter in each place of an argument; `{}` becomes it, the rest of the places hold values.
FUNCTIONS = """
abs(n)
acos(f)
ascii_char(id)
ascii_val(a)
asin(f)
atan(f)
atan2(f, f)
base64_decode(a)
base64_encode(o)
bin_and(id, i)
bin_and(id, bi)
bin_not(id)
bin_or(id, id, id)
bin_shl(id, i)
bin_shl(bi, i)
bin_shr(id, i)
bin_xor(i128, id)
bit_length(a)
blob_append(bl, a, c)
ceil(n)
ceil(df)
ceiling(f)
char_length(a)
char_to_uuid(a)
compare_decfloat(df, df)
cos(f)
cosh(f)
cot(f)
crypt_hash(a using sha256)
dateadd(id day to d)
dateadd(day, id, d)
dateadd(n millisecond to ts)
dateadd(id hour to ti)
dateadd(month, id, tz)
datediff(day from d to d)
datediff(second, ts, ts)
datediff(second from ti to ti)
datediff(day, d, ts)
exp(f)
exp(df)
first_day(of month from d)
first_day(of month from ts)
floor(n)
hash(a)
hash(a using crc32)
hex_decode(a)
hex_encode(o)
last_day(of year from d)
left(a, id)
left(bl, id)
ln(f)
ln(i128)
log(f, n)
log(df, n)
log10(f)
lower(a)
lpad(a, id)
lpad(a, id, c)
make_dbkey('T', id)
make_dbkey('T', id, id)
maxvalue(id, n, f)
maxvalue(a, c)
maxvalue(d, d)
minvalue(id, bi)
minvalue(n, i)
mod(id, i)
mod(bi, n)
normalize_decfloat(df)
octet_length(a)
overlay(a placing c from id)
overlay(a placing c from id for i)
pi() + f
position(a in c)
position(a, c)
position(a, c, id)
power(f, n)
power(df, n)
quantize(df, df)
rdb$get_context(a, c)
rdb$set_context(a, c, w)
rdb$get_transaction_cn(bi)
rdb$role_in_use(a)
rdb$system_privilege(user_management)
replace(a, c, w)
reverse(a)
right(a, id)
round(n)
round(n, id)
round(f, id)
rpad(a, id)
rpad(a, id, c)
sign(n)
sin(f)
sqrt(n)
sqrt(df)
substring(a from id)
substring(a from id for i)
substring(bl from id for i)
substring(a similar c escape w)
tan(f)
tanh(f)
totalorder(df, df)
trim(a)
trim(c from a)
trim(leading from a)
trim(both c from bl)
trunc(n)
trunc(f, id)
unicode_char(id)
unicode_val(a)
upper(a)
upper(bl)
uuid_to_char(o)
""".strip().splitlines()

# Arguments of FUNCTIONS that parameters replace.
COLUMNS = "id a c n i bi d ti ts f fl bo df i128 bl bb tz o w x".split()


def with_parameters(call):
    """The call with a parameter in each argument place, and with parameters in all of them."""
    name, _, arguments = call.partition("(")
    places = [m for m in re.finditer(r"\b(\w+)\b", arguments) if m.group(1) in COLUMNS]
    for m in places:
        yield f"{name}({arguments[:m.start()]}?{arguments[m.end():]}"
    if len(places) > 1:
        text = arguments
        for m in reversed(places):
            text = text[: m.start()] + "?" + text[m.end():]
        yield f"{name}({text}"


# Where a value can stand; `{}` is the value.
POSITIONS = """
select {} from t
select 1 from t where a = {}
select 1 from t where {} = n
select 1 from t where id > {}
select 1 from t order by {}
update t set a = {}
insert into t (id, n) values (1, {})
insert into t (id, x) select 1, {} from t
""".strip().splitlines()

MORE_POSITIONS = """
select 1 from t where {} = ?
select 1 from t where id between {} and 5
select 1 from t where d between ? and {}
select 1 from t where {} in (1, 2)
select 1 from t where {} in ('a', 'bcd')
select 1 from t where id in ({}, 2)
select 1 from t where {} is null
select 1 from t where {} is distinct from id
select 1 from t where {}
select 1 from t where a like {}
select 1 from t where {} like a
select 1 from t where {} starting with 'a'
select 1 from t where id containing {}
select 1 from t where {} = any (select k from s)
select 1 from t where {} in (select v from s)
select 1 from t join s on k = {}
select count(*) from t having max(id) = {}
select count(*) from t having sum(n) > {}
select count(*) from t group by {}
select {}, count(*) from t group by 1
select max({}) from t
select sum({}) from t
select count({}) from t
select list(a, {}) from t
select sum(id) filter (where {} = id) from t
select lag(id, {}) over (order by id) from t
select lag(id, 1, {}) over (order by id) from t
select sum(id) over (partition by {}) from t
select first ({}) id from t
select skip ({}) id from t
select id from t rows {}
select id from t rows 1 to {}
select id from t offset {} rows fetch first 1 rows only
select * from sp({}, 'x')
select * from sp(1, {})
execute procedure ep({})
insert into t (id) values (1) returning {}
update t set id = 1 where id = 2 returning {}
update or insert into t (id, a) values (1, {})
merge into t using s on t.id = s.k when matched then update set a = {}
merge into t using s on t.id = {} when not matched then insert (id, bi) values (1, {})
merge into t using (select {} q from s) s on t.id = s.q when matched then delete
select 1 from (select {} q from s) z where q = 5
with z as (select {} q from t) select q from z
select 1 from t union all select {} from t
select {} from t union all select 1 from t
""".strip().splitlines()

# Values for MORE_POSITIONS: one of each kind.
SOME_VALUES = """
?
-?
? + 1
? + ?
? * 2
id + ?
? || 'x'
upper(?)
trim(?)
substring(? from 1 for 3)
coalesce(?, 1)
case when id = 1 then ? else ? end
case when id = 1 then ? else a end
nullif(?, 'a')
cast(? as bigint)
extract(day from ?)
abs(?)
(select ? from rdb$database)
fn(?, 'x')
decode(id, 1, ?, 2, ?)
position(?, a)
char_length(?)
lpad(?, 3)
dateadd(1 day to ?)
gen_id(g, ?)
""".strip().splitlines()

OTHERS = """
select 1 from t where upper(a) = upper(?)
select 1 from t where upper(?) = upper(a)
select 1 from t where upper(a) like upper(?)
select 1 from t where upper(a) starting with lower(?)
select 1 from t where upper(a) containing upper(?)
select 1 from t where upper(a) in (upper(?), upper(?))
select 1 from t where upper(a) not in (upper(?), 'X')
select 1 from t where lower(w) = lower(?)
select 1 from t where a = substring(? from 1 for 3)
select 1 from t where a = substring(? from ? for ?)
select 1 from t where substring(a from ? for ?) = ?
select 1 from t where id = ? + ?
select 1 from t where id in (?, ? + ?)
select 1 from t where id in (?)
select 1 from t where id in (?, ?, ?)
select 1 from t where ? in (id, n)
select 1 from t where ? in (1, 10000000000, 2.5)
select 1 from t where ? in ('a', a, c)
select 1 from t where ? in (?, 1)
select 1 from t where ? in (?, ?)
select 1 from t where ? + 1 in (?, n)
select 1 from t where n > ? * ?
select 1 from t where id > -?
select 1 from t where id between ? - ? and ? + ?
select 1 from t where id not between ? and ?
select 1 from t where ? between id and n
select 1 from t where ? between ? and n
select 1 from t where ? between n and ?
select 1 from t where ? between ? and ?
select 1 from t where ? + 1 between 2 and ?
select 1 from t where d between ? and ? + 1
select 1 from t where d > ? - 1
select 1 from t where ts between ? and ?
select 1 from t where ts - ? > ?
select 1 from t where ? - ts > 5
select 1 from t where d + ? = ?
select 1 from t where current_date - ? > d
select 1 from t where current_timestamp > ?
select 1 from t where a like ? escape ?
select 1 from t where a like ? escape '\\'
select 1 from t where ? like a
select 1 from t where ? like ?
select 1 from t where id like ?
select 1 from t where bl like ?
select 1 from t where c starting with ?
select 1 from t where n starting with ?
select 1 from t where bl containing ?
select 1 from t where ? containing a
select 1 from t where a similar to ?
select 1 from t where a similar to ? escape ?
select 1 from t where a || ? like ? || '%'
select 1 from t where a like '%' || ? || '%'
select 1 from t where ? = ?
select 1 from t where ? > all (select id from t)
select 1 from t where ? = some (select upper(v) from s)
select 1 from t where ? not in (select k from s where v = ?)
select 1 from t where upper(?) in (select v from s)
select 1 from t where exists (select 1 from s where k = t.id + ? and v like ?)
select 1 from t where singular (select 1 from s where k = ?)
select 1 from t where id = (select ? from rdb$database)
select 1 from t where id = (select ? + 1 from rdb$database)
select 1 from t where (select max(k) from s) = ?
select 1 from t where ? is null
select 1 from t where ? is not null or id = ?
select 1 from t where upper(?) is null
select 1 from t where ? + 1 is null
select 1 from t where a || ? is null
select 1 from t where ? is true
select 1 from t where ? is not false
select 1 from t where (id = ?) is unknown
select 1 from t where ? is not distinct from a
select 1 from t where bo = ?
select 1 from t where ?
select 1 from t where not ?
select 1 from t where ? or id = 1
select 1 from t where coalesce(?, a) = ?
select 1 from t where coalesce(a, ?) like ?
select 1 from t where coalesce(?, ?) = a
select 1 from t where (case when id = ? then ? else n end) = ?
select 1 from t where (case when id = ? then ? else ? end) = a
select 1 from t where iif(id = 1, ?, ?) = d
select 1 from t where cast(? as date) = d
select 1 from t where d = cast(? as date) + ?
select 1 from t where extract(year from d) = ?
select 1 from t where extract(year from ?) = 2020
select 1 from t where char_length(a) > ?
select 1 from t where char_length(?) > 2
select 1 from t where o = ?
select 1 from t where w = ?
select 1 from t where w like ?
select 1 from t where tz > ?
select 1 from t where rdb$db_key = ?
select 1 from t where t.rdb$record_version = ?
select 1 from t where fl = ?
select 1 from t where f between ? and ?
select 1 from t where df = ? * 2
select 1 from t where i128 in (?, 3)
select 1 from t left join s on s.k = t.id and s.v = upper(?)
select 1 from t join s on upper(s.v) = ? and t.id = ? + s.k
select 1 from t group by id having count(*) > ? + ?
select 1 from t group by id having count(*) > ?
select 1 from t group by id having max(a) = upper(?)
select id, count(*) from t group by id having sum(n) between ? and ? + 1
select max(?) from t
select count(?) from t
select sum(id + ?) from t
select sum(case when id = ? then 1 else 0 end) from t
select sum(case when id = ? then ? else n end) from t
select avg(coalesce(n, ?)) from t
select list(a, ?) from t
select list(upper(a) || ?, '') from t
select count(*) filter (where id > ? + 1) from t
select lag(id, ?, ?) over (order by id) from t
select lead(n, ?) over (order by id) from t
select ntile(?) over (order by id) from t
select nth_value(id, ?) over (order by id) from t
select nth_value(id, ? + 1) over (order by id) from t
select first_value(?) over (order by id) from t
select sum(id) over (order by id + ?) from t
select sum(id) over (order by id rows between ? preceding and ? following) from t
select sum(id) over (order by id range between ? preceding and current row) from t
select id from t rows ? + 1 to ? + ?
select id from t rows ?
select id from t rows ? to ?
select first (? * ?) skip (? - ?) id from t
select first ? skip ? id from t
select first (abs(?)) id from t
select id from t offset ? rows fetch next ? rows only
select id from t fetch first ? rows only
select id from t order by ?
select id from t order by id + ?
select id from t order by case when a = ? then 0 else 1 end
select id from t order by iif(a = ?, ?, ?)
select id from t group by id, ?
update t set a = upper(?), n = ? + ?
update t set a = ?, c = ?, n = ?, i = ?, bi = ?, d = ?, ti = ?, ts = ?, f = ?, fl = ?, bo = ?, df = ?, i128 = ?, bl = ?, bb = ?, tz = ?, o = ?, w = ?
update t set n = n + ?, a = a || ? where id = ? + 1
update t set a = substring(? from 1 for ?)
update t set a = case when id = ? then ? else a end
update t set a = case when id = ? then ? end
update t set a = coalesce(?, a), n = coalesce(?, 0)
update t set a = (select v from s where k = ?)
update t set a = (select ? from rdb$database)
update t set d = ? + 1, ts = dateadd(? day to ?)
update t set n = iif(a = ?, ?, ?) where a = ? order by ? rows ?
update t set id = ? returning old.id, new.id + ?
update t set bo = ? = ?
update t set bo = id = ?
insert into t (id, a, n, x) values (?, upper(?), ? * 2, trim(?) || ?)
insert into t (id, a) values (?, ?)
insert into t (id, a) values (? + 1, ? || ?) returning id
insert into t (id, a) values (1, coalesce(?, 'x'))
insert into t (id, a) values (1, nullif(?, ''))
insert into t (id, a) values (gen_id(g, ?), cast(? as varchar(5)))
insert into t (id, bi, n) values (next value for g, abs(?), round(?, 2))
insert into t (id, a) select ?, ? from rdb$database
insert into t (id, a) select k + ?, upper(?) from s where v = ?
insert into t (id, a) select ?, v from s union all select 1, ? from s
insert into t (id, x) values (?, default) returning x || ?
delete from t where a = upper(?) order by id rows ? to ?
delete from t where id = ? returning id, ?
update or insert into t (id, a) values (?, ?) matching (id)
update or insert into t (id, a) values (? + 1, upper(?)) matching (a)
update or insert into t (id, a) values (?, ?) matching (id, a) returning a
merge into t using s on t.id = s.k and s.v = ? when matched and t.a = upper(?) then update set a = upper(?), n = ? + ? when not matched then insert (id, a) values (?, ? || 'x')
merge into t using (select cast(? as integer) k, cast(? as varchar(10)) v from rdb$database) s on t.id = s.k when matched then update set a = s.v when not matched then insert (id, a) values (s.k, s.v)
merge into t using (select ? k from rdb$database) s on t.id = s.k when matched then delete
merge into t using s on t.id = ? when matched then update set a = v returning t.id, ?
select * from sp(?, ?)
select * from sp(? + 1, upper(?))
select r from sp(?) where z = ?
select 1 from t left join sp(t.id + ?, ?) on 1 = 1
execute procedure ep(?)
execute procedure ep(? + 1)
execute procedure sp(?, ?)
execute procedure sp(abs(?), a)
execute block (p int = ?, q varchar(10) = ?) returns (r int) as begin r = p; suspend; end
execute block (p int not null = ?, q dm = ?, u type of column t.n = ?) as begin end
execute block (p int = ? + 1) as begin end
execute block (p varchar(10) character set win1252 = ?) as begin end
select fn(?, ?) from t
select 1 from t where fn(?, a) = ?
select 1 from t where id = fn(? * 2, ? || 'x')
select cast(? as timestamp with time zone) from t
select cast(? as time) from t
select cast(? as decfloat(16)) from t
select cast(? as int128) from t
select cast(? as double precision) from t
select cast(? as varchar(3) character set win1252) from t
select cast(? as varchar(10) character set none) from t
select dateadd(? day to current_date), dateadd(month, ?, ?) from t
select 1 from t where d = dateadd(-? day to ?)
select 1 from t where datediff(day from ? to d) > ?
select 1 from t where datediff(day from ? to ?) > ?
select position(? in a), position('x', ?, ?) from t
select replace(a, ?, ?), replace(?, ?, ?) from t
select overlay(? placing ? from ? for ?) from t
select overlay(a placing ? from ?) from t
select lpad(a, ?, ?), left(a, ?), right(?, 2) from t
select 1 from t where lpad(?, 5) = a
select 1 from t where left(?, 2) = a
select 1 from t where reverse(?) = a
select 1 from t where a = replace(?, 'a', 'b')
select 1 from t where a = lpad(?, 5, ?)
select mod(?, 3), mod(?, ?), maxvalue(?, 1, n), minvalue(?, ?) from t
select round(?, ?), trunc(?), power(?, ?), log(?, ?) from t
select rdb$get_context('USER_SESSION', ?), rdb$set_context(?, ?, ?) from t
select hash(?), hash(? using crc32), crypt_hash(? using sha1) from t
select uuid_to_char(?), char_to_uuid(?) from t
select bin_and(?, ?), bin_shl(?, 2), bin_not(?) from t
select blob_append(?, ?, ?), blob_append(null, ?) from t
select next value for g + ? from t
select * from t where id = ? union all select * from t where a = upper(?)
select id from t where id = ? union select k from s where v like ? || '%' order by 1 rows ?
with q as (select k + ? k2 from s where v = upper(?)) select * from q where k2 > ? + 1
with recursive r as (select 1 x from rdb$database union all select x + 1 from r where x < ?) select x from r
with recursive r as (select cast(? as integer) x from rdb$database union all select x + ? from r where x < ? * 2) select x from r
select * from (select id, a || 'x' ax from t where n > ? * 2) z where ax = upper(?)
select (select max(v) from s where k = ? + t.id) from t where a = ? || ''
select 1 from t where (id, a) = (?, ?)
select 1 from rdb$database where ? = user
select 1 from rdb$database where upper(?) = current_user
select 1 from rdb$database where 'abc' = ?
select 1 from rdb$database where 'abc' like ?
select 1 from rdb$database where 1 = ?
select 1 from rdb$database where 1.5 = ?
select 1 from rdb$database where 1e0 = ?
select 1 from rdb$database where 12345678901234567890 = ?
select 1 from rdb$database where date '2020-01-01' = ?
select 1 from rdb$database where null = ?
select 1 from rdb$database where true = ?
select rdb$relation_name from rdb$relations where rdb$relation_name = ?
select rdb$relation_name from rdb$relations where trim(rdb$relation_name) = upper(?)
select rdb$relation_name from rdb$relations where rdb$relation_name = upper(?) and rdb$system_flag = ?
select rdb$field_name from rdb$relation_fields where rdb$relation_name starting with ? || 'x'
""".strip("\n").splitlines()


def statements():
    """All statements, each once."""
    values = list(OPERATORS)
    for call in FUNCTIONS:
        values.extend(with_parameters(call))
    listed = [position.format(value) for value in values for position in POSITIONS]
    listed += [position.replace("{}", value) for value in SOME_VALUES for position in MORE_POSITIONS]
    listed += OTHERS
    return dict.fromkeys(statement for statement in listed if "?" in statement)


TYPES = {
    452: "TEXT", 448: "VARYING", 500: "SHORT", 496: "LONG", 580: "INT64", 32752: "INT128", 482: "FLOAT",
    480: "DOUBLE", 32760: "DEC16", 32762: "DEC34", 570: "DATE", 560: "TIME", 510: "TIMESTAMP", 32756: "TIME TZ",
    32754: "TIMESTAMP TZ", 520: "BLOB", 32764: "BOOLEAN", 32766: "NULL",
}

# What a statement without rows has changed.
CONTENTS = "select id, a, n, x from t order by id"

# Statements to be run, with the values of their parameters.
RUNS = [
    ("select id from t where upper(a) = upper(?) order by id", ["aBc"]),
    ("select id from t where upper(a) like upper(?) order by id", ["a%"]),
    ("select id from t where upper(a) starting with upper(?) order by id", ["ab"]),
    ("select id from t where lower(a) containing lower(?) order by id", ["B"]),
    ("select id from t where upper(a) in (upper(?), upper(?)) order by id", ["x", "abc"]),
    ("select id from t where a = substring(? from 1 for 3)", ["abcdef"]),
    ("select id from t where a = trim(?)", ["  abc "]),
    ("select id from t where a = trim(? from ?)", ["x", "xxabcx"]),
    ("select id from t where id = ? + ?", [1, 1]),
    ("select id from t where id in (?, ? + ?) order by id", [1, 1, 2]),
    ("select id from t where n > ? * ? order by id", [2, 5]),
    ("select id from t where n = ? / ?", [21, 2]),
    ("select id from t where id > -? order by id", [5]),
    ("select id from t where id between ? - ? and ? + ? order by id", [3, 2, 1, 1]),
    ("select id from t where ? between id and n order by id", [10]),
    ("select id from t where d between ? and ? order by id", ["2020-01-01", "2020-12-31"]),
    ("select id from t where d > ? order by id", ["2020-03-01"]),
    ("select id from t where d = dateadd(? day to ?)", [-1, "2020-03-01 00:00:00"]),
    ("select id from t where ts - 1 > ?", ["2020-12-01 00:00:00"]),
    ("select id from t where a like ? escape ?", ["a$bc", "$"]),
    ("select id from t where a || ? = ?", ["x", "abcx"]),
    ("select id from t where ? || a = 'xabc'", ["x"]),
    ("select id from t where a like '%' || ? || '%' order by id", ["b"]),
    ("select id from t where ? is null order by id", [None]),
    ("select id from t where coalesce(?, a) = 'abc'", [None]),
    ("select id from t where coalesce(a, ?) = 'zz'", ["zz"]),
    ("select id from t where nullif(?, 1) is null order by id", [1]),
    ("select coalesce(?, id) from t order by id", [None]),
    ("select coalesce(?, id) from t order by id", [9]),
    ("select nullif(a, ?) from t order by id", ["abc"]),
    ("select iif(id = ?, ?, n) from t order by id", [1, "7.25"]),
    ("select case when id = ? then ? else a end from t order by id", [2, "two"]),
    ("select case ? when 1 then 'a' when 2 then 'b' end from rdb$database", [2]),
    ("select decode(id, ?, 'a', ?, 'b', 'c') from t order by id", [1, 2]),
    ("select cast(? as integer) + 1 from rdb$database", [41]),
    ("select cast(? as varchar(10)) || 'x' from rdb$database", ["abc"]),
    ("select cast(? as numeric(9,2)) from rdb$database", ["1.25"]),
    ("select cast(cast(? as date) + 1 as varchar(10)) from rdb$database", ["2020-02-28"]),
    ("select position(?, a) from t order by id", ["b"]),
    ("select replace(a, ?, ?) from t order by id", ["b", "--"]),
    ("select lpad(a, ?, '.') from t order by id", [5]),
    ("select left(a, ?) from t order by id", [2]),
    ("select substring(a from 2 for 1) from t where id = ?", [1]),
    ("select overlay(a placing ? from 2) from t order by id", ["Q"]),
    ("select iif(round(?, 1) between 1.29 and 1.31, 1, 0) from rdb$database", ["1.25"]),
    ("select mod(?, 3) from rdb$database", [7]),
    ("select maxvalue(?, id) from t order by id", [2]),
    ("select bin_and(?, 6) from rdb$database", [12]),
    ("select char_length(cast(? as varchar(20))) from rdb$database", ["héé"]),
    ("select datediff(day from ? to d) from t where id = 1", ["2020-02-01"]),
    ("select extract(year from d) from t where extract(month from d) = ?", [2]),
    ("select fn(?, 'x') from rdb$database", [4]),
    ("select r, z from sp(? + 1, upper(?))", [1, "ab"]),
    ("select first (? + 1) id from t order by id", [1]),
    ("select id from t order by id rows ? + 1 to ? + ?", [1, 1, 2]),
    ("select first (? * ?) skip (? - ?) id from t order by id", [1, 2, 3, 2]),
    ("select id from t order by id offset ? rows fetch next ? rows only", [1, 1]),
    ("select id, count(*) from t group by id having count(*) > ? - ? order by id", [1, 1]),
    ("select max(id) from t having max(a) = lower(?)", ["ABC"]),
    ("select list(v, ?) from (select v from s order by k)", ["-"]),
    ("select sum(coalesce(n, ?)) from t", [1]),
    ("select sum(case when id = ? then 1 else 0 end) from t", [2]),
    ("select lag(id, ?) over (order by id) from t order by id", [2]),
    ("select ntile(?) over (order by id) from t order by id", [2]),
    ("select count(*) from t where ? in (id, n)", [20]),
    ("select id from t where ? = any (select k from s) order by id", [2]),
    ("select id from t where ? not in (select k from s) order by id", [2]),
    ("select id from t where exists (select 1 from s where k = t.id + ?)", [1]),
    ("select t.id from t join s on s.k = t.id + ? and upper(s.v) = upper(?)", [1, "def"]),
    ("select id from t where bo = ?", [True]),
    ("select id from t where ? and id = 1", [True]),
    ("select id from t where bl containing ?", ["ONE"]),
    ("select id from t where i128 = ? + 1", [7]),
    ("select id from t where df = ?", ["2.5"]),
    ("select id from t where f < ? order by id", [2]),
    ("select id from t where id = (select max(k) from s where v = upper(?))", ["def"]),
    ("with q as (select k from s where v = upper(?)) select k from q where k > ? - 1", ["def", 2]),
    ("with recursive r as (select 1 x from rdb$database union all select x + 1 from r where x < ?) select x from r", [3]),
    ("select id from t where id = ? union select k from s where v like ? || '%' order by 1", [3, "D"]),
    ("insert into t (id, a, n, x) values (?, upper(?), ? * 2, trim(?) || ?)", [9, "qq", "1.5", " y ", "z"]),
    ("insert into t (id, a) values (? + 1, ? || ?) returning id, a", [9, "a", "b"]),
    ("insert into t (id, a) select k + ?, upper(?) from s where v = ?", [10, "n", "abc"]),
    ("update t set a = upper(?), n = ? + ? where id = ?", ["new", "1.25", 1, 1]),
    ("update t set n = n + ?, a = a || ? where id = ? + 1", ["0.25", "!", 1]),
    ("update t set a = case when id = ? then ? else a end", [2, "second"]),
    ("update t set a = substring(? from 1 for 2), d = dateadd(? day to d) where id = 1 returning a, d", ["wxyz", 1]),
    ("update t set a = nullif(?, '') returning a", [""]),
    ("delete from t where a = upper(?)", ["abc"]),
    ("update or insert into t (id, a) values (?, upper(?)) matching (id)", [1, "m"]),
    ("update or insert into t (id, a) values (? + 1, ?) matching (id)", [9, "m"]),
    ("merge into t using s on t.id = s.k and s.v = ? when matched then update set a = upper(?), n = ? * ?"
     " when not matched then insert (id, a) values (s.k + ?, ? || 'x')", ["abc", "up", 2, 3, 20, "ins"]),
    ("execute procedure sp(?, ?)", [5, "w"]),
    ("execute procedure sp(abs(?), upper(?))", [-5, "w"]),
    ("execute block (p int = ?, q varchar(10) = ?) returns (r varchar(30)) as begin r = q || p; suspend; end", [3, "n"]),
]

# isc_dsql_field_err
UNKNOWN_COLUMN = "335544578"


def described(meta, place):
    """A type of a message, as the file writes it."""
    number = int(meta.get_type(place)) & ~1
    name = TYPES.get(number, str(number))
    text = name
    if name in ("TEXT", "VARYING"):
        text += f"({meta.get_length(place)}){meta.get_charset(place)}"
    elif name == "BLOB":
        text += f":{meta.get_subtype(place)}" + (f" {meta.get_charset(place)}" if meta.get_subtype(place) == 1 else "")
    elif name in ("SHORT", "LONG", "INT64", "INT128"):
        if meta.get_scale(place):
            text += f".{meta.get_scale(place)}"
        if meta.get_subtype(place):
            text += f":{meta.get_subtype(place)}"
    return text + ("?" if meta.is_nullable(place) else "")


def message(meta):
    """All types of a message."""
    return "" if meta is None else ", ".join(described(meta, place) for place in range(meta.get_count()))


def answer(connection, sql):
    """What the server makes of a statement."""
    cursor = connection.cursor()
    try:
        statement = cursor.prepare(sql)
    except DatabaseError as error:
        return "! " + " ".join(str(code) for code in error.gds_codes)
    found = f"({message(statement._in_meta)}) ({message(statement._out_meta)})"
    statement.free()
    return found


def shown(value):
    """A value as the file writes it."""
    if value is None:
        return "<null>"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return str(value)


def given(meta, place, text):
    """A value of RUNS as the driver takes it for a parameter."""
    if not isinstance(text, str):
        return text
    name = described(meta, place).rstrip("?")
    if name == "DATE":
        return datetime.date.fromisoformat(text[:10])
    if name == "TIMESTAMP":
        return datetime.datetime.fromisoformat(text)
    if name.startswith(("INT", "LONG", "SHORT", "DEC")):
        return decimal.Decimal(text)
    return float(text) if name == "DOUBLE" else text


def outcome(connection, sql, values):
    """The rows that come of a statement, or its status."""
    try:
        return rows(connection, sql, values)
    except DatabaseError as error:
        return "! " + " ".join(str(code) for code in error.gds_codes)


def rows(connection, sql, values):
    """The rows that come of a statement."""
    cursor = connection.cursor()
    statement = cursor.prepare(sql)
    try:
        values = [given(statement._in_meta, place, value) for place, value in enumerate(values)]
        cursor.execute(statement, values)
        if statement._out_cnt == 0:
            cursor.execute(CONTENTS)
        return " ; ".join("|".join(shown(value).rstrip() for value in row) for row in cursor.fetchall())
    finally:
        cursor.close()
        statement.free()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    server, user, password = sys.argv[1:]
    database = f"{server}/farbird-parameters.fdb"
    driver_config.db_defaults.db_charset.value = "UTF8"
    connection = create_database(database, user=user, password=password, charset="UTF8")
    try:
        for sql in SETUP:
            connection.execute_immediate(sql)
            connection.commit()
            print("=" + sql)
        connection.begin()
        for sql in statements():
            found = answer(connection, sql)
            # A value that names columns where there are none says nothing about parameters.
            if UNKNOWN_COLUMN not in found.split():
                print(f"{sql}\t{found}")
        connection.rollback()
        for sql, values in RUNS:
            connection.begin()
            found = outcome(connection, sql, values)
            print(f">{sql}\t{'|'.join(map(shown, values))}\t{found}")
            connection.rollback()
    finally:
        connection.drop_database()


if __name__ == "__main__":
    main()
