"""known.txt: where Farbird answers otherwise than Firebird, and why.

A line that begins with `##` says a reason; the lines below it name the statements: script, key, the statement's beginning.
The file may only shrink: tests/sql/run fails when something in it no longer differs.
"""

from script import HERE

FILE = HERE / "known.txt"
STATEMENT_SHOWN_MAX = 90


def read():
    """The keys of known differences by name of the script."""
    keys = {}
    for line in FILE.read_text().splitlines() if FILE.exists() else []:
        if line.strip() and not line.startswith("#"):
            name, key, *_ = line.split()
            keys.setdefault(name, set()).add(key)
    return keys


def add(reason, differences):
    """Puts statements under a reason, which may be new."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    heading = f"## {reason}"
    if heading not in lines:
        lines += ["", heading]
    at = lines.index(heading) + 1
    for script, statement in differences:
        shown = " ".join(statement.text.split())[:STATEMENT_SHOWN_MAX]
        lines.insert(at, f"{script.name} {statement.key} {shown}")
        at += 1
    FILE.write_text("\n".join(lines).strip("\n") + "\n")


def forget(mended):
    """Takes statements out that no longer differ, and reasons that nothing is left of."""
    kept = []
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#") and tuple(line.split()[:2]) in mended:
            continue
        if kept and kept[-1].startswith("##") and (not line or line.startswith("##")):
            kept.pop()
        kept.append(line)
    if kept and kept[-1].startswith("##"):
        kept.pop()
    FILE.write_text("\n".join(kept).strip("\n") + "\n")
