"""What pytest needs for SQLAlchemy's suite, and what writes a line for each test to the file that CHECKS_FILE names."""

import os
import re

import pytest
from sqlalchemy.dialects import registry

registry.register("firebird", "sqlalchemy_firebird.firebird", "FBDialect_firebird")
registry.register("firebird.firebird", "sqlalchemy_firebird.firebird", "FBDialect_firebird")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F401, F403

# SQLAlchemy adds the dialect and the server's version to the names of its classes.
DATABASE_IN_NAME = re.compile(r"_firebird\S*?(?=::|$)")
CHECKS = open(os.environ["CHECKS_FILE"], "w", encoding="utf-8", buffering=1)
WHY_CHARACTERS_MAX = 1000


def pytest_runtest_logreport(report):
    """One line for each test: what its body did, or what went wrong before or behind it."""
    if report.when != "call" and report.passed:
        return
    name = DATABASE_IN_NAME.sub("", report.nodeid.split("::", 1)[1]).replace(": ", ":_").replace("\n", " ")
    if report.skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        CHECKS.write(f"skip {name}: {' '.join(why.split())}\n")
    elif report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        why = " ".join((crash.message if crash else str(report.longrepr)).split())[:WHY_CHARACTERS_MAX]
        at = "" if report.when == "call" else f" ({report.when})"
        CHECKS.write(f"FAIL {name}{at}: {why}\n")
    else:
        CHECKS.write(f"ok {name}\n")
