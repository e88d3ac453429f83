#!/usr/bin/env python3
"""Records what SET BIND makes of columns and parameters in a Firebird server.

    tests/record/bindings.py HOST/PORT:FOLDER USER PASSWORD > crates/engine/tests/data/bindings.tsv

A database is created in FOLDER (a path of the server's machine) with the table of SETUP. Each line is one or more rules,
separated by `;`, a tab, and what came of them after ALTER SESSION RESET: `! code code ...`, or the columns of the table
whose descriptions they change, as `name=type`, with the types as `parameters.py` writes them. Parameters are described as
the columns are; where they are not, `name=type/type` has both. `crates/engine/tests/bindings.rs` replays the file.
"""

import sys

from firebird.driver import create_database, DatabaseError, driver_config

import parameters

COLUMNS = [
    ("si", "smallint"), ("i", "integer"), ("bi", "bigint"), ("i128", "int128"), ("n4", "numeric(4,1)"),
    ("n9", "numeric(9,2)"), ("n18", "numeric(18,3)"), ("n38", "numeric(38,4)"), ("de", "decimal(9,2)"),
    ("fl", "float"), ("db", "double precision"), ("d16", "decfloat(16)"), ("d34", "decfloat(34)"), ("bo", "boolean"),
    ("da", "date"), ("ti", "time"), ("ts", "timestamp"), ("tit", "time with time zone"),
    ("tst", "timestamp with time zone"), ("c5", "char(5)"), ("v10", "varchar(10)"), ("w10", "varchar(10) character set win1252"),
    ("o8", "char(8) character set octets"), ("n10", "varchar(10) character set none"), ("bt", "blob sub_type text"), ("bb", "blob sub_type binary"),
]

SETUP = "create table t (" + ", ".join(f"{name} {kind}" for name, kind in COLUMNS) + ")"

SOURCES = """
smallint
integer
bigint
int128
numeric
numeric(9,2)
numeric(9)
numeric(18,3)
numeric(38,4)
numeric(38)
decimal
decimal(9,2)
float
double precision
decfloat
decfloat(16)
decfloat(34)
boolean
date
time
timestamp
time with time zone
timestamp with time zone
time zone
char
char(5)
varchar
varchar(10)
varchar(10) character set win1252
char(8) character set octets
binary(8)
blob
blob sub_type text
blob sub_type 0
""".strip().splitlines()

TARGETS = """
legacy
native
extended
extended time with time zone
extended timestamp with time zone
smallint
integer
bigint
int128
numeric
numeric(18,2)
numeric(38,3)
decimal(9,1)
float
double precision
decfloat
decfloat(16)
decfloat(34)
boolean
date
time
timestamp
time with time zone
timestamp with time zone
char
char(30)
varchar
varchar(30)
varchar(30) character set win1252
varchar(30) character set none
binary(30)
blob
blob sub_type text
blob sub_type 0
""".strip().splitlines()

SEVERAL = """
decfloat to legacy; decfloat to native
decfloat to legacy; decfloat to varchar
decfloat(16) to varchar; decfloat to legacy
decfloat to legacy; decfloat(16) to varchar
int128 to bigint; int128 to legacy
numeric(38,4) to varchar; numeric to double precision
time zone to legacy; timestamp with time zone to extended
time zone to extended; time with time zone to native
boolean to legacy; decfloat to legacy; int128 to legacy; time zone to legacy
int128 to varchar; alter session reset
nosuch to legacy
int128 to nosuch
int128
decfloat(17) to legacy
int128 to varchar(10) character set nosuch
dm to legacy
""".strip().splitlines()


def messages(connection):
    """Types of the table's columns and of parameters for them."""
    cursor = connection.cursor()
    query = cursor.prepare("select * from t")
    columns = [parameters.described(query._out_meta, place) for place in range(len(COLUMNS))]
    query.free()
    insert = cursor.prepare("insert into t values (" + ", ".join("?" for _ in COLUMNS) + ")")
    values = [parameters.described(insert._in_meta, place) for place in range(len(COLUMNS))]
    insert.free()
    return [column if column == value else f"{column}/{value}" for column, value in zip(columns, values)]


def answer(connection, rules, native):
    """What the rules change."""
    connection.execute_immediate("alter session reset")
    try:
        for rule in rules.split("; "):
            connection.execute_immediate(rule if rule.startswith("alter") else "set bind of " + rule)
    except DatabaseError as error:
        return "! " + " ".join(str(code) for code in error.gds_codes)
    found = messages(connection)
    changed = (f"{name}={new}" for (name, _), new, old in zip(COLUMNS, found, native) if new != old)
    return " ".join(text.replace(" ", "_") for text in changed)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    server, user, password = sys.argv[1:]
    dsn = f"{server}/farbird-bindings.fdb"
    defaults = driver_config.server_defaults
    defaults.user.value, defaults.password.value = user, password
    driver_config.db_defaults.db_charset.value = "UTF8"
    with create_database(dsn, charset="UTF8", overwrite=True) as connection:
        connection.execute_immediate(SETUP)
        connection.commit()
        native = messages(connection)
        print("=" + SETUP)
        rules = [f"{source} to {target}" for source in SOURCES for target in TARGETS] + SEVERAL
        for rule in rules:
            print(f"{rule}\t{answer(connection, rule, native)}")
        connection.drop_database()


if __name__ == "__main__":
    main()
