"""What the suites of a test report: counted by suite, what failed printed at once, the sums at the end."""


class Report:
    """Counts, and prints what failed."""

    def __init__(self, verbose):
        self.verbose = verbose
        self.counts = {}

    def add(self, driver, outcome, text=None):
        counts = self.counts.setdefault(driver, {"ok": 0, "FAIL": 0, "skip": 0, "seconds": 0.0})
        counts[outcome] += 1
        if text and (outcome == "FAIL" or self.verbose):
            print(f"{driver}: {outcome} {text}", flush=True)

    def seconds(self, driver, seconds):
        self.counts[driver]["seconds"] += seconds

    def close(self):
        for driver, c in self.counts.items():
            print(f"{driver}: {c['ok']} passed, {c['FAIL']} failed, {c['skip']} skipped ({c['seconds']:.1f} s)")
        passed, failed, skipped = (sum(c[k] for c in self.counts.values()) for k in ("ok", "FAIL", "skip"))
        print(f"{passed} passed, {failed} failed, {skipped} skipped")
        return failed
