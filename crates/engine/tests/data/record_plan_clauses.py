#!/usr/bin/env python3
"""Writes the answers of one Firebird to the statements of plan-clauses.tsv, in their order, to standard output.

    record_plan_clauses.py HOST PORT FILE USER PASSWORD      (package firebirdsql)

The database is made anew. An answer is OK, the plan of a query (which is only prepared), or the status as
`symbol(arguments) symbol ...`. The columns of plan-clauses.tsv are the statement and the answers of Firebird 3.0, 4.0 and 5.0.
"""
import pathlib
import re
import sys

import firebirdsql
from firebirdsql import fbcore
from firebirdsql.utils import bytes_to_bint

HERE = pathlib.Path(__file__).parent
CODES = HERE.parents[3] / "crates/types/src/error/isc.rs"
NAMES = {
    int(found[2].replace("_", "")): found[1].lower()
    for found in re.finditer(r"pub const (\w+): u32 = ([\d_]+);", CODES.read_text())
}
status = []


def parse_status_vector(self):
    """As the package's own, but keeps which argument belongs to which code."""
    status.clear()
    codes = set()
    while (kind := bytes_to_bint(self._recv_channel(4))) != 0:
        if kind in (1, 4, 18):
            number = bytes_to_bint(self._recv_channel(4))
            if kind != 4 and number:
                codes.add(number)
                status.append([kind, number])
            elif kind == 4 and status:
                status[-1].append(str(number))
        else:
            length = bytes_to_bint(self._recv_channel(4))
            text = self._recv_channel(length, word_alignment=True).decode("utf8", "replace")
            if kind == 2:
                status[-1].append(text)
    return codes, 0, "refused" if codes else ""


for known in vars(fbcore).values():
    if isinstance(known, type) and "_parse_status_vector" in vars(known):
        known._parse_status_vector = parse_status_vector


def described():
    items = [item[1:] for item in status if item[0] == 1]
    return " ".join(
        NAMES.get(code, str(code)) + (f"({', '.join(arguments)})" if arguments else "")
        for code, *arguments in items
    )


def answer(connection, sql):
    cursor = connection.cursor()
    status.clear()
    try:
        if re.match(r"select|with|update|delete|merge|insert into c .*select", sql):
            statement = cursor.prep(sql, True).stmt
            found = (statement.plan or "OK").strip().replace("\n", " / ")
        else:
            cursor.execute(sql)
            found = "OK"
        connection.commit()
        return found
    except firebirdsql.Error:
        found = described()
        connection.rollback()
        return found


host, port, file, user, password = sys.argv[1:]
statements = [line.split("\t")[0] for line in (HERE / "plan-clauses.tsv").read_text().splitlines()]
connection = firebirdsql.create_database(
    host=host, port=int(port), database=file, user=user, password=password, charset="UTF8"
)
for sql in statements:
    print(sql, answer(connection, sql), sep="\t")
connection.drop_database()
