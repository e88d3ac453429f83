#!/usr/bin/env python3
"""Writes collation-predicates.tsv: what a real Firebird answers to predicates over texts of several collations.

    record_collation_predicates.py HOST/PORT:FILE USER PASSWORD      (package firebird-driver)

The database is made anew. A line is: character set, collation, expression over S, answer. The answer to a condition is the
rows for which it is true, by number; to a value, the value of each row.
"""
import pathlib
import sys

from firebird.driver import connect, create_database

HERE = pathlib.Path(__file__).parent
COLLATIONS = [
    ("UTF8", "UTF8"),
    ("UTF8", "UNICODE"),
    ("UTF8", "UNICODE_CI"),
    ("UTF8", "UNICODE_CI_AI"),
    ("ISO8859_1", "PT_BR"),
    ("ISO8859_1", "DE_DE"),
    ("ISO8859_1", "ES_ES_CI_AI"),
    ("ISO8859_1", "FR_FR_CI_AI"),
    ("WIN1252", "PXW_INTL"),
    ("WIN1252", "WIN_PTBR"),
]
# All of them are in every character set above.
WORDS = ["abc", "ABC", "Abc", "ábc", "ÁBC", "abcd", "ábCD", "a-bc", "b", "B", "école", "Ecole", "ÉCOLE", "straße",
         "strasse", "STRASSE", "ñandú", "nandu", "zebra", "Øre", "ore", "æble", "aeble", "llama", "chico", "aba", "ABA",
         "x%y", "X_Y", "", "a b", "A B "]
CONDITIONS = [
    "S = 'abc'", "S <> 'abc'", "S < 'b'", "S >= 'ECOLE'", "S between 'A' and 'B'", "S in ('ABC', 'zebra')",
    "S not in ('ABC', 'zebra')", "S is distinct from 'ábc'", "S is not distinct from 'ábc'", "'ABC' = S", "'b' > S",
    "S like 'abc'", "S like 'A%'", "S like 'á%'", "S like '%C'", "S like '_b%'", "S like 'STRASS%'", "S like 'x#%%' escape '#'",
    "S like 'xX%%' escape 'X'", "S like 'l%'", "S like 'c%'", "S like 'o%'", "S like 'ae%'", "S like 'n%'", "S like '%ß%'",
    "S starting with 'ab'", "S starting with 'Á'", "S starting with 'ec'", "S starting with 'stras'", "S starting with 'l'",
    "S starting with 'll'", "S starting with 'c'", "S starting with 'a '", "S starting with ''", "S starting with 'Ø'",
    "S starting with 'æ'", "S containing 'B'", "S containing 'é'", "S containing 'E'", "S containing 'ss'", "S containing 'ß'",
    "S containing 'ñ'", "S similar to 'a%'", "S similar to 'ÁB(C|D)+'", "S similar to '[A-C]%'", "S similar to 'E%'",
    "S similar to '%(ß|z)%'", "case S when 'ABC' then 1 when 'école' then 1 else 0 end = 1", "decode(S, 'ábc', 1, 'B', 1, 0) = 1",
    "nullif(S, 'ABC') is null", "S = any (select W from WORDS where ID in (2, 13))", "S in (select W from WORDS where ID = 5)",
    "S not in (select W from WORDS where ID = 5)",
]
VALUES = [
    "position('B' in S)", "position('é', S)", "position('a', S, 2)", "replace(S, 'b', '*')", "replace(S, 'É', '*')",
    "trim('a' from S)", "trim(leading 'É' from S)", "trim(both 'AB' from S)", "upper(S)", "lower(S)",
    "overlay(S placing 'x' from 2 for 1)", "substring(S similar '#\"A#\"%' escape '#')", "left(S, 2)", "char_length(S)",
]


def main(target, user, password):
    try:
        connect(target, user=user, password=password, charset="UTF8").drop_database()
    except Exception:
        pass
    connection = create_database(target, user=user, password=password, charset="UTF8")
    lines = ["# Written by record_collation_predicates.py; ROW lines are the texts."]
    lines += [f"ROW\t{number}\t{word}" for number, word in enumerate(WORDS, 1)]
    for character_set, collation in COLLATIONS:
        cursor = connection.cursor()
        cursor.execute(
            f"recreate table T(ID int, S varchar(20) character set {character_set} collate {collation})")
        cursor.execute(
            f"recreate table WORDS(ID int, W varchar(20) character set {character_set} collate {collation})")
        connection.commit()
        for number, word in enumerate(WORDS, 1):
            cursor.execute("insert into T values (?, ?)", (number, word))
            cursor.execute("insert into WORDS values (?, ?)", (number, word))
        connection.commit()
        for condition in CONDITIONS:
            cursor.execute(f"select ID from T where {condition} order by ID")
            answer = " ".join(str(row[0]) for row in cursor.fetchall())
            lines.append(f"{character_set}\t{collation}\t{condition}\t{answer}")
        for value in VALUES:
            cursor.execute(f"select cast({value} as varchar(40) character set utf8) from T order by ID")
            answer = "|".join("NULL" if row[0] is None else str(row[0]) for row in cursor.fetchall())
            lines.append(f"{character_set}\t{collation}\t{value}\t{answer}")
        cursor.close()
        connection.commit()
    (HERE / "collation-predicates.tsv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
