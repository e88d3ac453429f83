#!/usr/bin/env python3
"""Writes the statements of plan-texts.txt with a Firebird's plans for them to standard output, in the form of that file.

    record_plan_texts.py HOST/PORT FILE USER PASSWORD      (package firebird-driver)

The database is made anew by plan-texts.sql. Lengths of records and keys are left out: rows have no fixed size in Farbird.
"""
import pathlib
import re
import sys

from firebird.driver import create_database

HERE = pathlib.Path(__file__).parent
LENGTHS = re.compile(r" \(record length: \d+(, key length: \d+)?\)")


def statements():
    text = (HERE / "plan-texts.txt").read_text()
    return [line[2:] for line in text.splitlines() if line.startswith("> ")]


def shown(text):
    return LENGTHS.sub("", text or "").strip()


host, file, user, password = sys.argv[1:]
connection = create_database(f"{host}:{file}", user=user, password=password, overwrite=True)
for definition in (HERE / "plan-texts.sql").read_text().split("\n\n"):
    connection.execute_immediate(definition)
    connection.commit()
for sql in statements():
    with connection.cursor() as cursor:
        statement = cursor.prepare(sql)
        print(f"> {sql}\n{shown(statement.plan)}\n{shown(statement.detailed_plan)}\n")
        statement.free()
connection.drop_database()
