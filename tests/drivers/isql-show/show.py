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
ROOT = HERE.resolve().parents[2]
CUT = "@@"
# Backups of Firebird 3, with something of everything.
BACKUPS = ("firebird3", "firebird3-arrays", "firebird3-inactive", "firebird3-views")
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
    found, wanted = str(found), str(wanted)
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


def gbak(arguments, stdin=subprocess.DEVNULL):
    """What gbak complains of."""
    login = ["-user", ENVIRONMENT["USER"], "-password", ENVIRONMENT["PASSWORD"]]
    done = subprocess.run(["gbak", *login, *arguments], stdin=stdin, capture_output=True, text=True)
    return done.stdout + done.stderr + ("" if done.returncode == 0 else f"exit code {done.returncode}\n")


def backed_up(database, file):
    """What gbak -b complains of. It reads rows by BLR requests, too."""
    return gbak(["-b", database, file]) + ("" if file.exists() and file.stat().st_size > 0 else "no backup\n")


def duplicates(database):
    """gbak is told of an index that cannot be made, which is there and inactive then; the database stays offline."""
    backup = (ROOT / "crates" / "gbak" / "tests" / "data" / "firebird3-inactive.fbk").read_bytes()
    inactive, active = (b"\x09IX_UNIQUE\x02\x04\x01\0\0\0\x03\x04" + flag for flag in (b"\x01", b"\0"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "duplicates.fbk"
        file.write_bytes(backup.replace(inactive, active))
        found = gbak(["-c", "-v", file, database])
    same = compare("gbak: duplicates are told", "cannot commit index IX_UNIQUE" in found, True)
    same &= compare("gbak: and leave the database offline", "Database is not online" in found, True)
    login = ["-user", ENVIRONMENT["USER"], "-password", ENVIRONMENT["PASSWORD"]]
    subprocess.run(["gfix", *login, "-online", database], stdin=subprocess.DEVNULL, check=True)
    rows = isql([database], "SHOW INDEX IX_UNIQUE; SELECT COUNT(*) FROM T;")
    return same & compare("gbak: with an inactive index", "inactive" in rows, True)


def restores(plain, copy):
    """gbak -c, which stores rows into system tables by BLR requests. restored.expected is what isql-fb -x wrote down of databases that
    farbird restore had made of the same files."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plain.fbk"
        same = compare("gbak: backup", backed_up(plain, file), "")
        same &= compare("gbak: restore", gbak(["-c", file, copy]), "")
    rows = "SELECT ID, NAME, CAST(NOTE AS VARCHAR(20)) FROM PLAIN ORDER BY ID;"
    same &= compare("gbak: restored rows", isql([copy], rows), isql([plain], rows))
    same &= compare("gbak: restored table", extracted(copy), extracted(plain))
    wanted = sections((HERE / "restored.expected").read_text())
    for name in BACKUPS:
        file = ROOT / "crates" / "gbak" / "tests" / "data" / f"{name}.fbk"
        database = f"{copy}.{name}"
        same &= compare(f"gbak: restore of {name}", gbak(["-c", file, database]), "")
        same &= compare(f"gbak: extract of {name}", without_versions(extracted(database)), wanted[name])
        # It is replaced only if that is asked for.
        same &= compare(f"gbak: {name} stays", "exists" in gbak(["-c", file, database]), True)
        same &= compare(f"gbak: {name} is replaced", gbak(["-rep", file, database]), "")
        same &= compare(f"gbak: extract of {name}, replaced", without_versions(extracted(database)), wanted[name])
    return same & duplicates(f"{copy}.duplicates")


def backs_up(database, copy, extract):
    """gbak -b of definitions that Firebird keeps as BLR, too: what gbak makes of it is the same schema."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "all.fbk"
        same = compare("gbak: backup of definitions", backed_up(database, file), "")
        same &= compare("gbak: restore of definitions", gbak(["-c", file, copy]), "")
    return same & compare("gbak: extract of definitions", extracted(copy), extract)


def without_versions(extract):
    """An extract without the versions of the libraries that collations are made of."""
    return re.sub(r" 'COLL-VERSION=[^']*'", "", extract)


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
        same &= restores(plain, f"{plain}.copy")
        same &= compare("extract: of the copy", extracted(copy), found["extract"])
        same &= backs_up(database, f"{plain}.all", found["extract"])
    else:
        wanted = sections((HERE / "show.expected").read_text())
        same &= compare("restart: extract", extracted(database), wanted["extract"])
    sys.exit(0 if same else 1)


main()
