"""Scripts: their statements and directives, and what was recorded of them. Reads and writes text, asks no server.

A script is what isql would take: statements with terminators, SET TERM, comments. Lines that begin with `--@` are
directives; README.md lists them.
"""

import hashlib
import re
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = HERE / "scripts"

# Differs by nature in every script: Farbird makes no BLR.
MASKS = [(re.compile(r"invalid request BLR at offset \d+"), "invalid request BLR at offset N")]


@dataclass
class Statement:
    text: str
    line: int
    # Stays the same while other statements come and go: what known differences are named by.
    key: str = ""


@dataclass
class Script:
    path: Path
    statements: list
    charset: str = "UTF8"
    # Of the database, and of the statements if they are not in the database's.
    dialect: int = 3
    client_dialect: int | None = None
    masks: list = field(default_factory=list)

    @property
    def name(self):
        return str(self.path.relative_to(SCRIPTS).with_suffix(""))

    @property
    def expected(self):
        return self.path.with_suffix(".expected")

    def masked(self, line):
        for pattern, replacement in MASKS + self.masks:
            line = pattern.sub(replacement, line)
        return line


def read(path):
    script = Script(path, [])
    terminator, pending, start = ";", [], 0
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not pending:
            if line.startswith("--@"):
                direct(script, line[3:].split(None, 1))
                continue
            if not line.strip() or line.startswith("--"):
                continue
            changed = re.fullmatch(r"(?i)set\s+term\s+(\S+)\s*" + re.escape(terminator), line.strip())
            if changed:
                terminator = changed[1]
                continue
            start = number
        pending.append(line)
        if line.rstrip().endswith(terminator):
            text = "\n".join(pending).rstrip()
            script.statements.append(Statement(text[:-len(terminator)], start))
            pending = []
    if pending:
        raise SystemExit(f"{path}:{start}: the last statement has no terminator")
    name_all(script.statements)
    return script


def direct(script, words):
    """Obeys one directive, or refuses it."""
    name, value = words[0], words[1] if len(words) > 1 else ""
    if name == "charset":
        script.charset = value.strip()
    elif name == "dialect":
        script.dialect = int(value)
    elif name == "client-dialect":
        script.client_dialect = int(value)
    elif name == "mask":
        pattern, replacement = value.split(" => ")
        script.masks.append((re.compile(pattern), replacement))
    else:
        raise SystemExit(f"{script.path}: no directive is called {name}")


def name_all(statements):
    met = {}
    for statement in statements:
        digest = hashlib.sha1(statement.text.encode()).hexdigest()[:8]
        met[digest] = met.get(digest, 0) + 1
        statement.key = digest if met[digest] == 1 else f"{digest}.{met[digest]}"


def all_scripts(names):
    """The scripts whose names begin with one of these; all of them without names."""
    paths = sorted(SCRIPTS.glob("*/*.sql"))
    scripts = [read(path) for path in paths]
    return [script for script in scripts if not names or any(script.name.startswith(name) for name in names)]


def write_expected(script, answers):
    """One block for each statement: the statement behind '>' signs, then the lines of its answer."""
    blocks = []
    for statement, lines in zip(script.statements, answers, strict=True):
        quoted = [f"> {line}".rstrip() for line in statement.text.splitlines()]
        blocks.append("\n".join(quoted + [script.masked(line) for line in lines]) + "\n")
    script.expected.write_text("\n".join(blocks))


def read_expected(script):
    """The recorded lines of each statement, or SystemExit when the script has changed since."""
    if not script.expected.exists():
        raise SystemExit(f"{script.name}: nothing is recorded: tests/sql/record {script.name}")
    answers, asked = [], []
    for block in script.expected.read_text().split("\n\n"):
        lines = block.rstrip("\n").split("\n")
        asked.append([line for line in lines if line.startswith(">")])
        answers.append([line for line in lines if not line.startswith(">")])
    wanted = [[f"> {line}".rstrip() for line in statement.text.splitlines()] for statement in script.statements]
    if asked != wanted:
        raise SystemExit(f"{script.name}: the script has changed since it was recorded: tests/sql/record {script.name}")
    return answers
