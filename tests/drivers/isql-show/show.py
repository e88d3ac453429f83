#!/usr/bin/env python3
"""What isql-fb shows and extracts of a schema, compared text for text with the .expected files beside it. isql asks by BLR
requests here, not by SQL. UPDATE_GOLDENFILES=1 writes those files instead; do so against a real Firebird 4 only."""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
CUT = "@@"
ENVIRONMENT = {name: os.environ[f"FIREBIRD_{name}"] for name in ("HOST", "PORT", "DATABASE", "USER", "PASSWORD")}

# Nothing of which Firebird keeps BLR.
PLAIN = """CREATE TABLE PLAIN (ID INTEGER NOT NULL PRIMARY KEY, NAME VARCHAR(20), NOTE BLOB SUB_TYPE TEXT);
INSERT INTO PLAIN VALUES (1, 'one', 'a note');
INSERT INTO PLAIN VALUES (2, NULL, NULL);
COMMIT;
"""


def isql(arguments, script=""):
    """What isql prints, without blanks at the ends of lines."""
    login = ["-user", ENVIRONMENT["USER"], "-password", ENVIRONMENT["PASSWORD"]]
    done = subprocess.run(
        ["isql-fb", "-q", "-m", *login, *arguments], input=script.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.decode(errors="replace").splitlines())


def sections(text):
    """A text cut at its marks: name -> what stands behind it."""
    parts = re.split(rf"^{CUT}(.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def extracted(database):
    """What isql-fb -x writes down, without the line that names the database."""
    return "".join(line for line in isql(["-x", database]).splitlines(True) if "CREATE DATABASE" not in line)


def create(database, script):
    """Makes a database by a script."""
    head = f"CREATE DATABASE '{database}' USER '{ENVIRONMENT['USER']}' PASSWORD '{ENVIRONMENT['PASSWORD']}' DEFAULT CHARACTER SET UTF8;\n"
    return isql([], head + script)


def compare(name, found, wanted):
    """Reports a check: whether two texts are the same, else their first difference."""
    if found == wanted:
        print(f"ok {name}")
        return True
    pairs = zip(found.splitlines() + ["(nothing)"], wanted.splitlines() + ["(nothing)"])
    line, other = next(((line, other) for line, other in pairs if line != other), ("", ""))
    print(f"FAIL {name}: expected {other!r}, got {line!r}")
    return False


def shown(database):
    """What SHOW prints, check by check."""
    parts = re.split(r"^-- check: (.*)\n", (HERE / "show.sql").read_text(), flags=re.MULTILINE)
    checks = list(zip(parts[1::2], parts[2::2]))
    script = "".join(f"SHELL echo '{CUT}{name}';\n{sql}" for name, sql in checks)
    found = sections(isql([database], script))
    return {name: found.get(name, "isql ended before it\n") for name, _ in checks}


def backed_up(database):
    """What gbak -b complains of. It reads rows by BLR requests, too."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plain.fbk"
        login = ["-user", ENVIRONMENT["USER"], "-password", ENVIRONMENT["PASSWORD"]]
        done = subprocess.run(["gbak", "-b", *login, database, file], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.stdout + done.stderr + ("" if done.returncode == 0 and file.stat().st_size > 0 else "no backup\n")


def main():
    phase = sys.argv[1]
    host, port, path = (ENVIRONMENT[name] for name in ("HOST", "PORT", "DATABASE"))
    database, copy = f"{host}/{port}:{path}", f"{host}/{port}:{path}.copy"
    same = True
    if phase == "day":
        same &= compare("schema", create(database, (HERE / "schema.sql").read_text()), "")
        found = shown(database)
        found["extract"] = extracted(database)
        # What was extracted makes the same schema again, but for what isql of Firebird 3 writes wrongly.
        found["extract: runs"] = create(copy, found["extract"])
        golden = HERE / "show.expected"
        if os.environ.get("UPDATE_GOLDENFILES"):
            golden.write_text("".join(f"{CUT}{name}\n{text}" for name, text in found.items()))
        wanted = sections(golden.read_text())
        for name, text in found.items():
            same &= compare(name, text, wanted.get(name, ""))
        plain = f"{host}/{port}:{path}.plain"
        same &= compare("gbak: table", create(plain, PLAIN), "")
        same &= compare("gbak: backup", backed_up(plain), "")
        same &= compare("extract: of the copy", extracted(copy), found["extract"])
    else:
        wanted = sections((HERE / "show.expected").read_text())
        same &= compare("restart: extract", extracted(database), wanted["extract"])
    sys.exit(0 if same else 1)


main()
