"""What a stack's program reported, and what is to be thought of it: compared with what it reported on Firebird 5.

A program prints a line for each of its checks: "ok NAME", "FAIL NAME: why" or "skip NAME: why"; no name contains ": ", which ends it.
STACK/firebird5.results has these lines as Firebird 5 made the program print them (written by `run --record`).
STACK/differences.txt, if it is there, names checks in which Farbird differs on purpose, each with its reason, as "NAME: why".
"""

OUTCOMES = ("ok", "FAIL", "skip")
WHY_CHARACTERS_MAX = 300


def read_lines(text):
    """(outcome, name, why) for each line of a program's output that reports a check."""
    found = []
    for line in text.splitlines():
        outcome, _, rest = line.partition(" ")
        if outcome in OUTCOMES and rest:
            name, _, why = rest.partition(": ")
            found.append((outcome, name, why))
    return found


class Results:
    """The recorded results of a stack."""

    def __init__(self, folder):
        self.path = folder / "firebird5.results"
        self.recorded = {name: (outcome, why) for outcome, name, why in read_lines(self.path.read_text() if self.path.exists() else "")}
        differences = folder / "differences.txt"
        lines = differences.read_text().splitlines() if differences.exists() else []
        self.differences = dict(line.split(": ", 1) for line in lines if line and not line.startswith("#"))

    def record(self, given):
        """Writes what a Firebird 5 made of the checks; reasons are cut to their beginning."""
        lines = [f"{outcome} {name}" + (f": {why[:WHY_CHARACTERS_MAX].strip()}" if why else "") for outcome, name, why in given]
        self.path.write_text("".join(line.rstrip() + "\n" for line in lines))
        self.__init__(self.path.parent)

    def judged(self, given, partial=False):
        """(outcome, text) for each check that was reported, and for each that should have been."""
        for outcome, name, why in given:
            yield self.judge(outcome, name, why)
        reported = {name for _, name, _ in given}
        if not partial:
            for name, (outcome, _) in self.recorded.items():
                if outcome == "ok" and name not in reported:
                    yield "FAIL", f"{name}: not reached"
        if not given:
            yield "FAIL", "no check was reported"

    def judge(self, outcome, name, why):
        """What one report counts as."""
        before, reason = self.recorded.get(name, ("ok", ""))
        if outcome == "ok":
            if name in self.differences:
                return "FAIL", f"{name}: passes, but differences.txt says that it does not"
            return "ok", name
        if name in self.differences:
            return "skip", f"{name}: {self.differences[name]}"
        if before != "ok":
            return "skip", f"{name}: as on Firebird 5: {reason}"
        return "FAIL", f"{name}: {why}" if outcome == "FAIL" else f"{name}: skipped here, not on Firebird 5: {why}"
