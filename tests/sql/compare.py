"""Runs the scripts at Farbird and compares each answer with what Firebird gave."""

import argparse
import os
import sys

import known
import script as scripts
import worker

sys.path.insert(0, str(scripts.HERE.parent / "drivers"))
from server import Farbird, default_binary  # noqa: E402

USER, PASSWORD = "SYSDBA", "masterkey"
DIFFERENCES_SHOWN_MAX = 40


def main():
    parser = argparse.ArgumentParser(prog="tests/sql/run", description=__doc__)
    parser.add_argument("names", nargs="*", help="CHAPTER or CHAPTER/NAME; all without")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="show every difference, the known ones too")
    parser.add_argument("--write-known", metavar="REASON", help="add what differs to known.txt, for this reason")
    parser.add_argument("--forget-mended", action="store_true", help="take out of known.txt what no longer differs")
    options = parser.parse_args()
    chosen = scripts.all_scripts(options.names)
    expected = known.read()
    server = Farbird(os.environ.get("FARBIRD_BIN") or default_binary(), USER, PASSWORD)
    server.start()
    tally = Tally(options)
    try:
        dsn_of = lambda script: f"{server.host}/{server.port}:{script.name.replace('/', '-')}.fbd"
        for script, (answers, problem) in worker.run_all(chosen, dsn_of, USER, PASSWORD, options.jobs):
            tally.script(script, answers, problem, expected.get(script.name, set()))
        died = server.process.poll()
        if died is not None:
            tally.fail(f"the server ended with exit code {died}")
    finally:
        server.close()
    if options.write_known:
        known.add(options.write_known, tally.new)
    if options.forget_mended:
        known.forget(tally.mended)
    print(f"{tally.known} known differences (tests/sql/known.txt)")
    print(f"{tally.passed} passed, {tally.failed} failed")
    sys.exit(1 if tally.failed else 0)


class Tally:
    """What passed, what failed, and what is shown of it."""

    def __init__(self, options):
        self.all, self.passed, self.failed, self.known, self.new, self.mended = options.all, 0, 0, 0, [], set()

    def script(self, script, answers, problem, known_keys):
        recorded = scripts.read_expected(script)
        for index, statement in enumerate(script.statements):
            answer = [script.masked(line) for line in answers[index]] if index < len(answers) else [problem or "no answer"]
            self.statement(script, statement, recorded[index], answer, statement.key in known_keys)
        for key in known_keys - {statement.key for statement in script.statements}:
            self.fail(f"{script.name}: known.txt names a statement {key} that is not there")

    def statement(self, script, statement, recorded, answer, is_known):
        where = f"{script.path.relative_to(scripts.HERE)}:{statement.line}"
        if recorded == answer and is_known:
            self.mended.add((script.name, statement.key))
            self.fail(f"{where}: no longer differs, and known.txt says that it does ({statement.key})")
        elif recorded == answer:
            self.passed += 1
        elif is_known:
            self.known += 1
            if self.all:
                show(where, statement, recorded, answer)
        else:
            self.new.append((script, statement))
            self.failed += 1
            if self.all or self.failed <= DIFFERENCES_SHOWN_MAX:
                show(where, statement, recorded, answer)

    def fail(self, text):
        self.failed += 1
        print(text)


def show(where, statement, recorded, answer):
    """What both said, where they differ."""
    print(f"{where} {statement.key}")
    print("\n".join(f"    {line}" for line in statement.text.splitlines()))
    common = 0
    while common < min(len(recorded), len(answer)) and recorded[common] == answer[common]:
        common += 1
    for name, lines in (("Firebird", recorded), ("Farbird ", answer)):
        for line in lines[common:common + 12] or ["(nothing more)"]:
            print(f"  {name} {line}")


if __name__ == "__main__":
    main()
