#!/usr/bin/env python3
"""The working day with isql-fb, Firebird's own shell: runs day.sql or after-restart.sql and compares what it prints with
the .expected file beside it. UPDATE_GOLDENFILES=1 writes that file instead; do so against a real Firebird 4 only."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LINE_CHARACTERS_MAX = 500
CUT = "@@"
# Without an attachment the rest would only say so, sixty times.
ATTACHES = {"connect: right password", "restart: reconnect"}


def checks_of(script, server_version):
    """The script's parts: (kind, name, sql), kind being "check", "skip" or, for what comes first, "setup"."""
    parts = re.split(r"^-- (check|skip): (.*)\n", script, flags=re.MULTILINE)
    yield "setup", "", parts[0]
    for kind, name, sql in zip(parts[1::3], parts[2::3], parts[3::3]):
        if sql.startswith("-- since 4") and server_version < 4:
            yield "skip", f"{name}: needs Firebird 4", ""
        else:
            yield kind, name, sql


def readable(text, database):
    """What isql printed, without what differs from run to run, long lines as their length and hash."""
    lines = []
    for line in re.sub(rf'"[^"]*{re.escape(database)}', '"DATABASE', text).splitlines():
        line = re.sub(r"(^|\s+)[0-9a-f]+:[0-9a-f]+$", " BLOB ID", line.rstrip())
        line = re.sub(r"^(After line \d+|At line \d+) in file .*", "AT", line)
        if len(line) > LINE_CHARACTERS_MAX:
            line = f"{len(line)} characters, SHA-256 {hashlib.sha256(line.encode()).hexdigest()}"
        if line:
            lines.append(line)
    if len(lines) > 1000:
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        lines = [*lines[:3], f"{len(lines)} lines, SHA-256 {digest}", *lines[-4:]]
    return "\n".join(lines) + "\n"


def sections(text):
    """isql's output, or an .expected file, cut at its marks: check -> text."""
    parts = re.split(rf"^{CUT}(.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def difference(found, wanted):
    """The first line in which two texts differ."""
    for line, other in zip(found.splitlines(), wanted.splitlines()):
        if line != other:
            return f"expected {other!r}, got {line!r}"
    return f"expected {len(wanted.splitlines())} lines, got {len(found.splitlines())}: {found[-200:]!r}"


def run(checks):
    """What isql prints, cut by check. The marks come from its SHELL command: without an attachment it cannot SELECT."""
    source = "".join(
        sql if kind == "setup" else f"SHELL echo '{CUT}{name}';\n{sql}" for kind, name, sql in checks if kind != "skip"
    )
    done = subprocess.run(["isql-fb", "-q", "-m"], input=source.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return sections(done.stdout.decode(errors="replace"))


def main():
    phase = sys.argv[1]
    host, port, path = (os.environ[f"FIREBIRD_{name}"] for name in ("HOST", "PORT", "DATABASE"))
    names = {
        "database": f"{host}/{port}:{path}",
        "user": os.environ["FIREBIRD_USER"],
        "password": os.environ["FIREBIRD_PASSWORD"],
        "schema": os.environ["FIREBIRD_SCHEMA"],
    }
    script = (HERE / f"{phase}.sql").read_text()
    for name, value in names.items():
        script = script.replace("{" + name + "}", value)
    checks = list(checks_of(script, int(os.environ.get("FIREBIRD_SERVER_VERSION", "5"))))
    found = {name: readable(text, path) for name, text in run(checks).items()}

    golden = HERE / f"{phase}.expected"
    if os.environ.get("UPDATE_GOLDENFILES"):
        golden.write_text("".join(f"{CUT}{name}\n{text}" for name, text in found.items()))
    wanted = sections(golden.read_text())
    for kind, name, _ in checks:
        if kind == "skip":
            print(f"skip {name}")
        elif kind == "check" and name not in found:
            print(f"FAIL {name}: isql ended before it")
        elif kind == "check":
            same = found[name] == wanted[name]
            print(f"ok {name}" if same else f"FAIL {name}: {difference(found[name], wanted[name])}")
            if name in ATTACHES and not same:
                break


main()
