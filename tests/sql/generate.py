#!/usr/bin/env python3
"""Writes the scripts that try every combination: every value cast to every type, every operator between every two types,
every function with an argument of every type. Run it by hand and commit what it writes: tests/sql/generate.py
"""

from script import SCRIPTS

# One value of each type, as an expression.
VALUES = {
    "smallint": "cast(-7 as smallint)",
    "integer": "42",
    "bigint": "9007199254740993",
    "int128": "cast(12345678901234567890123 as int128)",
    "numeric4": "cast(12.5 as numeric(4,1))",
    "numeric9": "cast(-12.345 as numeric(9,2))",
    "numeric18": "cast(98765.4321 as numeric(18,4))",
    "numeric38": "cast(1.234567 as numeric(38,6))",
    "float": "cast(0.1 as float)",
    "double": "2.5e0",
    "decfloat16": "cast(1.25 as decfloat(16))",
    "decfloat34": "cast(3.75 as decfloat(34))",
    "char": "cast('abc' as char(5))",
    "varchar": "cast('12' as varchar(10))",
    "octets": "x'3132'",
    "text blob": "cast('17' as blob sub_type text)",
    "binary blob": "cast('bytes' as blob sub_type binary)",
    "boolean": "true",
    "date": "date '2020-02-29'",
    "time": "time '13:14:15.1678'",
    "timestamp": "timestamp '2020-02-29 13:14:15.1678'",
    "time tz": "time '13:14:15.1678 +02:00'",
    "timestamp tz": "timestamp '2020-02-29 13:14:15.1678 -05:30'",
    "null": "null",
}

# Texts and numbers at the edges of what can be converted.
EDGES = [
    "''", "' '", "'0'", "'-0'", "' 12 '", "'+12'", "'12.5'", "'12,5'", "'1e3'", "'1e400'", "'.5'", "'5.'", "'0x1F'", "'abc'", "'true'",
    "'FALSE'", "'unknown'", "'t'", "'32768'", "'2147483648'", "'9223372036854775808'", "'99999999999999999999999999999999999999999'",
    "'2020-02-29'", "'2019-02-29'", "'29.02.2020'", "'02/29/2020'", "'20200229'", "'1.2.20'", "'0001-01-01'", "'9999-12-31'", "'10000-01-01'",
    "'2020-13-01'", "'12:34'", "'12:34:56.7891'", "'24:00:00'", "'12:60:00'", "'2020-02-29 12:34:56.7891'", "'2020-02-29T12:34:56'",
    "'12:34 +02:00'", "'2020-06-01 12:34 Europe/Berlin'", "'2020-06-01 12:34 Nowhere/City'", "'NaN'", "'Infinity'",
    "32767", "32768", "-32768", "-32769", "2147483647", "2147483648", "-2147483648", "9223372036854775807", "9223372036854775808",
    "0.5", "1.5", "-0.5", "-1.5", "2.5", "99999.9", "1e10", "1e19", "1e39", "1e308", "-1e-320",
]

TYPES = [
    "smallint", "integer", "bigint", "int128", "numeric(4,1)", "numeric(9,2)", "decimal(9,2)", "numeric(18,4)", "numeric(38,6)", "float",
    "double precision", "decfloat(16)", "decfloat(34)", "char(3)", "varchar(40)", "varchar(10) character set octets",
    "varchar(20) character set win1252", "blob sub_type text", "blob sub_type binary", "boolean", "date", "time", "timestamp",
    "time with time zone", "timestamp with time zone",
]
# What edges are cast to: the others behave as one of these.
EDGE_TYPES = ["smallint", "integer", "bigint", "numeric(9,2)", "numeric(38,6)", "double precision", "decfloat(34)", "boolean", "date", "time",
              "timestamp", "timestamp with time zone", "varchar(4)"]

# They look at the date of today.
OF_TODAY = {("time", "timestamp"), ("time", "timestamp with time zone"), ("time tz", "timestamp"), ("time tz", "timestamp with time zone")}
EDGES_OF_TODAY = {("'12:34'", "timestamp"), ("'12:34:56.7891'", "timestamp"), ("'12:34 +02:00'", "timestamp"),
                  ("'12:34'", "timestamp with time zone"), ("'12:34:56.7891'", "timestamp with time zone"),
                  ("'12:34 +02:00'", "timestamp with time zone"), ("'1.2.20'", "date"), ("'1.2.20'", "timestamp"), ("'1.2.20'", "timestamp with time zone")}

OPERAND_KINDS = ["smallint", "integer", "bigint", "int128", "numeric9", "numeric38", "float", "double", "decfloat16", "decfloat34", "varchar",
                 "boolean", "date", "time", "timestamp", "time tz", "timestamp tz", "null"]

FUNCTIONS_OF_ONE = [
    "abs({})", "ceil({})", "floor({})", "round({})", "round({}, 1)", "trunc({})", "trunc({}, 1)", "sign({})", "sqrt(abs({}))", "exp({})", "ln({})",
    "log10({})", "sin({})", "mod({}, 5)", "power({}, 2)", "bin_and({}, 6)", "bin_not({})", "bin_shl({}, 2)", "- ({})", "upper({})", "lower({})",
    "char_length({})", "octet_length({})", "bit_length({})", "reverse({})", "trim({})", "trim(leading '1' from {})", "left({}, 2)", "right({}, 2)",
    "substring({} from 2 for 2)", "position('2' in {})", "replace({}, '2', 'xx')", "lpad({}, 12, '*')", "rpad({}, 12)", "overlay({} placing 'z' from 2)",
    "ascii_val({})", "hash({})", "hex_encode({})", "base64_encode({})", "crypt_hash({} using md5)", "extract(year from {})", "extract(hour from {})",
    "extract(second from {})", "dateadd(1 day to {})", "dateadd(-1 month to {})", "datediff(day from {} to {})", "first_day(of month from {})",
    "last_day(of year from {})", "coalesce({}, 1)", "nullif({}, 1)", "iif({} is null, 1, 2)", "maxvalue({}, 3)", "minvalue({}, 3)", "decode({}, 1, 'one', 'other')",
    "{} || '!'", "{} is null", "{} between 1 and 50", "{} in (1, 42)", "{} like '%2%'", "{} containing '2'", "{} starting with '1'", "not ({})",
    "{} is true", "case {} when 42 then 'yes' else 'no' end", "quantize({}, 1.00)", "compare_decfloat({}, 2)", "normalize_decfloat({})", "totalorder({}, 2)",
    "blob_append({}, 'x')", "char_to_uuid({})", "uuid_to_char({})", "unicode_char({})", "unicode_val({})", "ascii_char({})",
]

AGGREGATES = ["sum({})", "avg({})", "min({})", "max({})", "count({})", "count(distinct {})", "list({})", "sum(distinct {})", "stddev_pop({})", "var_samp({})",
              "corr({}, {})", "every({})", "any_value({})", "bin_and_agg({})", "bin_or_agg({})", "bin_xor_agg({})"]


def write(name, purpose, statements):
    path = SCRIPTS / f"{name}.sql"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"-- {purpose} Written by generate.py.\n" + "".join(f"{statement};\n" for statement in statements))


def main():
    one = "select {} from rdb$database"
    write("conversions/casts", "A value of each type, cast to each type.",
          [one.format(f"cast({value} as {kind})") for name, value in VALUES.items() for kind in TYPES if (name, kind) not in OF_TODAY])
    write("conversions/edges", "Texts and numbers at the edges of what can be converted.",
          [one.format(f"cast({value} as {kind})") for value in EDGES for kind in EDGE_TYPES if (value, kind) not in EDGES_OF_TODAY])
    for operator, name in (("+", "add"), ("-", "subtract"), ("*", "multiply"), ("/", "divide")):
        write(f"arithmetic/{name}", f"Operator {operator} between values of every two types.",
              [one.format(f"{VALUES[left]} {operator} {VALUES[right]}") for left in OPERAND_KINDS for right in OPERAND_KINDS])
    write("arithmetic/compare", "Comparisons between values of every two types.",
          [f"select iif({VALUES[left]} < {VALUES[right]}, 'less', 'not less') from rdb$database" for left in OPERAND_KINDS for right in OPERAND_KINDS
           if {left, right} not in ({"time", "timestamp"}, {"time", "timestamp tz"}, {"time tz", "timestamp"}, {"time tz", "timestamp tz"})])
    write("functions/types", "Functions and operators with an argument of each type.",
          [one.format(function.format(value, value)) for function in FUNCTIONS_OF_ONE for value in VALUES.values()])
    columns = [(name.replace(" ", "_"), value) for name, value in VALUES.items() if name != "null"]
    declared = ["smallint", "integer", "bigint", "int128", "numeric(4,1)", "numeric(9,2)", "numeric(18,4)", "numeric(38,6)", "float", "double precision",
                "decfloat(16)", "decfloat(34)", "char(5)", "varchar(10)", "varchar(10) character set octets", "blob sub_type text",
                "blob sub_type binary", "boolean", "date", "time", "timestamp", "time with time zone", "timestamp with time zone"]
    table = "create table t (id integer, " + ", ".join(f"c_{name} {kind}" for (name, _), kind in zip(columns, declared)) + ")"
    rows = [f"insert into t values ({number}, " + ", ".join(row) + ")" for number, row in
            ((1, [value for _, value in columns]), (2, [value for _, value in columns]), (3, ["null"] * len(columns)))]
    write("aggregates/types", "Aggregate functions of columns of each type.",
          [table, *rows, *(f"select {aggregate.format(f'c_{name}', f'c_{name}')} from t" for aggregate in AGGREGATES for name, _ in columns),
           *(f"select c_{name}, count(*) from t group by c_{name} order by 1" for name, _ in columns),
           *(f"select sum(c_{name}) over (order by id), lag(c_{name}) over (order by id) from t" for name, _ in columns),
           *(f"select distinct c_{name} from t order by c_{name} desc nulls last" for name, _ in columns)])


if __name__ == "__main__":
    main()
