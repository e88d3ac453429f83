"""Random statements, asked of Farbird and of a Firebird: see README.md."""

import argparse
import dataclasses
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "drivers"))

import features  # noqa: E402
import known  # noqa: E402
from generator import Case, Generator  # noqa: E402
from server import Farbird, default_binary  # noqa: E402
from side import Lost, Side  # noqa: E402
from tree import smaller  # noqa: E402

PASSWORD = "differential"
# Attempts to make one case smaller, and cases that are made smaller before the rest is only counted.
SHRINK_STEPS_MAX = 400
REPORTS_MAX = 5
# Statements for each set of tables.
QUESTIONS = 10


class Comparison:
    """Both sides, and what was found so far."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = ours, theirs
        self.passed, self.failed, self.lost, self.refused, self.known = 0, 0, 0, 0, 0

    def differences(self, cases):
        """For each of some cases with the same tables the first question that is answered differently, with both answers;
        None where there is none.

        A case that brings the reference down or takes too long there says nothing.
        """
        setup, groups = cases[0].setup(), [case.questions() for case in cases]
        try:
            theirs = self.theirs.ask(setup, groups)
        except Lost:
            self.lost += len(cases)
            self.passed -= len(cases)
            return [None for _ in cases]
        try:
            ours = self.ours.ask(setup, groups)
        except Lost as lost:
            if len(cases) > 1:
                return [self.difference(case) for case in cases]
            return [(groups[0][0], {"error": [], "text": f"Farbird: {lost}"}, theirs[0][0])]
        return [self.compared(*each) for each in zip(cases, groups, ours, theirs)]

    def difference(self, case):
        return self.differences([case])[0]

    def compared(self, case, questions, ours, theirs):
        if "setup" in theirs[0] or "setup" in ours[0]:
            if "setup" not in theirs[0] or "setup" not in ours[0]:
                return "setup", ours[0], theirs[0]
            self.lost += 1
            self.passed -= 1
            return None
        self.refused += "error" in theirs[0] and "error" in ours[0]
        for question, our, their in zip(questions, ours, theirs):
            if same(our, their, case.ordered):
                continue
            if not known.is_known(question, our, their):
                return question, our, their
            self.known += 1
        return None

    def smallest(self, case, found):
        """The smallest case that still differs, with what differs. What is tried on the way counts as nothing."""
        counts = self.passed, self.failed, self.lost, self.refused, self.known
        small = self.shrink(case)
        found = self.difference(small) or found
        self.passed, self.failed, self.lost, self.refused, self.known = counts
        return small, found

    def shrink(self, case):
        steps = 0
        while steps < SHRINK_STEPS_MAX:
            for candidate in candidates(case):
                steps += 1
                if self.difference(candidate):
                    case = candidate
                    break
                if steps >= SHRINK_STEPS_MAX:
                    break
            else:
                return case
        return case


def same(ours, theirs, ordered):
    if "rows" not in ours or "rows" not in theirs:
        return ours.keys() == theirs.keys()
    rows = lambda answer: answer["rows"] if ordered else sorted(map(repr, answer["rows"]))
    return ours["names"] == theirs["names"] and rows(ours) == rows(theirs)


def candidates(case):
    """Cases one step smaller: a table less, a row less, a smaller statement."""
    for place, table in enumerate(case.tables):
        if len(table.rows) > 2:
            yield with_table(case, place, rows=table.rows[: len(table.rows) // 2])
    for tree in smaller(case.tree):
        yield dataclasses.replace(case, tree=tree)
    for place, table in enumerate(case.tables):
        if not re.search(rf"\b{table.name}\b", " ".join(case.questions()) + " ".join(
                text for other in case.tables if other is not table for text in other.constraints)):
            yield dataclasses.replace(case, tables=case.tables[:place] + case.tables[place + 1:])
        for row in range(len(table.rows)):
            yield with_table(case, place, rows=table.rows[:row] + table.rows[row + 1:])
        if table.indexes:
            yield with_table(case, place, indexes=[])
        for number, column in enumerate(table.columns[1:], 1):
            stored = [other.name for other in table.stored()]
            rows = table.rows
            if not column.computed:
                at = stored.index(column.name)
                rows = [row[:at] + row[at + 1:] for row in rows]
            indexes = [index for index in table.indexes if f"({column.name})" not in index]
            constraints = [text for text in table.constraints if f"({column.name})" not in text]
            yield with_table(case, place, columns=table.columns[:number] + table.columns[number + 1:],
                             rows=rows, indexes=indexes, constraints=constraints)


def with_table(case, place, **changes):
    tables = list(case.tables)
    tables[place] = dataclasses.replace(tables[place], **changes)
    return Case(tables, case.tree, case.ordered, case.changes)


def script(case, seed, found):
    """The case as a script for isql and `farbird sql`, with both answers as comments."""
    question, ours, theirs = found
    lines = [f"-- seed {seed}"]
    for statement in case.setup()[1:]:
        block = statement.startswith("execute block")
        lines.append(f"set term ^;\n{statement}^\nset term ;^" if block else f"{statement};")
    lines.append("commit;")
    lines += [f"{asked};" for asked in case.questions()]
    lines += [f"-- asked:    {question}", f"-- Farbird:  {brief(ours)}", f"-- Firebird: {brief(theirs)}"]
    return "\n".join(lines)


def brief(answer):
    if "rows" in answer:
        return f"{answer['names']} {answer['rows'][:20]}"
    return " / ".join(str(answer.get("text") or answer).splitlines())


def arguments():
    parser = argparse.ArgumentParser(description="Random statements, asked of Farbird and of a Firebird.")
    parser.add_argument("--count", type=int, default=1500, help="how many statements (default 1500)")
    parser.add_argument("--seed", type=int, help="the first case's seed; the next ones count on")
    parser.add_argument("--seconds", type=float, default=0, help="stop after so many seconds")
    parser.add_argument("--target", help="another Firebird: HOST/PORT:FILE; without it Debian's Firebird 3")
    parser.add_argument("--user", default="SYSDBA")
    parser.add_argument("--password", default="masterkey", help="of the target")
    parser.add_argument("--print", action="store_true", help="only print the cases")
    return parser.parse_args()


def main():
    options = arguments()
    first = options.seed if options.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"seed {first}", flush=True)
    folder = tempfile.TemporaryDirectory(prefix="farbird-differential-")
    target = options.target or os.path.join(folder.name, "reference.fdb")
    # An engine inside of a process keeps its lock files with its database: it shares nothing with a server of this machine.
    os.environ["FIREBIRD_LOCK"] = folder.name
    server = Farbird(default_binary(), "SYSDBA", PASSWORD)
    ours = Side(f"inet://{server.host}:{server.port}/differential.fbd", "SYSDBA", PASSWORD)
    theirs = Side(target, options.user, options.password if options.target else "")
    comparison = Comparison(ours, theirs)
    try:
        version = theirs.version()
        print(f"the reference is Firebird {version[0]}.{version[1]}", flush=True)
        asked = range(first, first + max(options.count // QUESTIONS, 1))
        made = ((seed, Generator(random.Random(seed), features.of(version)).cases(QUESTIONS)) for seed in asked)
        if options.print:
            return show(made)
        server.start()
        run(made, options.seconds, comparison)
    except Lost as lost:
        print(f"the reference does not answer: {lost}")
        return 1
    finally:
        ours.close()
        theirs.close()
        server.close()
        folder.cleanup()
    print(f"{comparison.refused} refused by both, {comparison.known} answered otherwise for known reasons, "
          f"{comparison.lost} lost in the reference")
    print(f"{comparison.passed} passed, {comparison.failed} failed")
    if comparison.lost > comparison.passed:
        print("the reference answers too little to compare with")
        return 1
    return 1 if comparison.failed else 0


def show(made):
    for _, cases in made:
        asked = [question for case in cases for question in case.questions()]
        print("\n".join(f"{statement};" for statement in cases[0].setup() + asked))
    return 0


def run(made, seconds, comparison):
    deadline = time.monotonic() + seconds if seconds else None
    for seed, cases in made:
        if deadline and time.monotonic() > deadline:
            return
        for case, found in zip(cases, comparison.differences(cases)):
            if found is None:
                comparison.passed += 1
                continue
            comparison.failed += 1
            if comparison.failed > REPORTS_MAX:
                print(f"-- seed {seed} differs too: {found[0]}", flush=True)
                continue
            small, found = comparison.smallest(case, found)
            print(script(small, seed, found), "\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
