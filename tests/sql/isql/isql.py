#!/usr/bin/env python3
"""Scripts through isql-fb, Firebird's own shell, compared text for text: `run` at a Farbird of its own, `record` at a Firebird."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "drivers"))
from server import Farbird, default_binary  # noqa: E402

USER, PASSWORD = "SYSDBA", "masterkey"
ISQL_SECONDS_MAX = 60


def output_of(script, database, user, password):
    """What isql prints, with the errors where they happen and without the name of the database."""
    create = f"create database '{database}' user '{user}' password '{password}' default character set utf8;\n"
    dialect = re.match(r"-- dialect (\d)", script.read_text())
    if dialect:
        create = f"set sql dialect {dialect[1]};\n" + create
    done = subprocess.run(
        ["isql-fb", "-q", "-m", "-m2"], input=create + script.read_text() + "drop database;\n", stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=ISQL_SECONDS_MAX, env=os.environ | {"LC_ALL": "C"})
    # Ids of BLOBs are each engine's own.
    shown = re.sub(r" +[0-9a-f]+:[0-9a-f]+ *$", " BLOB", done.stdout.replace(database, "DATABASE"), flags=re.MULTILINE)
    lines = [line.rstrip() for line in shown.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", metavar="HOST/PORT:FOLDER", help="write NAME.expected of what a Firebird answers")
    parser.add_argument("--password", default=PASSWORD)
    options = parser.parse_args()
    scripts = sorted(HERE.glob("*.sql"))
    if options.record:
        for script in scripts:
            text = output_of(script, f"{options.record}/{script.stem}.fdb", USER, options.password)
            script.with_suffix(".expected").write_text(text)
        return
    server = Farbird(os.environ.get("FARBIRD_BIN") or default_binary(), USER, PASSWORD)
    server.start()
    passed = failed = 0
    try:
        for script in scripts:
            text = output_of(script, f"{server.host}/{server.port}:{script.stem}.fbd", USER, PASSWORD)
            if text == script.with_suffix(".expected").read_text():
                passed += 1
                continue
            failed += 1
            shown = subprocess.run(["diff", "-u", script.with_suffix(".expected"), "-"], input=text, stdout=subprocess.PIPE, text=True)
            print(shown.stdout)
    finally:
        server.close()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
