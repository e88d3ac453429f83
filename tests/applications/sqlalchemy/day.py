"""Runs SQLAlchemy's compliance suite for dialects with sqlalchemy-firebird: python day.py [part of a test's name ...]

The suite stands in the package SQLAlchemy itself (sqlalchemy.testing.suite); the driver is firebird-driver over Firebird 5's client.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

HERE = Path(__file__).resolve().parent

where = {name: os.environ[f"FIREBIRD_{name}"] for name in ("USER", "PASSWORD", "HOST", "PORT", "DATABASE", "CLIENT_LIBRARY")}
url = "firebird+firebird://{USER}:{password}@{HOST}:{PORT}/{DATABASE}?charset=UTF8&fb_client_library={CLIENT_LIBRARY}".format(
    password=quote(where["PASSWORD"]), **where)

with tempfile.TemporaryDirectory(prefix="farbird-sqlalchemy-") as folder:
    checks, settings = Path(folder) / "checks", Path(folder) / "setup.cfg"
    settings.write_text("[tool:pytest]\n\n[sqla_testing]\nrequirement_cls=sqlalchemy_firebird.requirements:Requirements\nprofile_file=profiles.txt\n")
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", "-p", "no:warnings", "--rootdir", folder,
               "-c", str(settings), "--dburi", url, str(HERE / "test_suite.py")]
    if sys.argv[1:]:
        command += ["-k", " or ".join(sys.argv[1:])]
    done = subprocess.run(command, env=os.environ | {"CHECKS_FILE": str(checks), "PYTHONDONTWRITEBYTECODE": "1"}, cwd=folder)
    print(checks.read_text(encoding="utf-8") if checks.exists() else "")
    # 1 says only that some test failed, which the lines say already.
    sys.exit(0 if done.returncode in (0, 1) else done.returncode)
