"""SQLAlchemy's own compliance suite for dialects, as sqlalchemy.testing.suite has it, with sqlalchemy-firebird's requirements."""

from sqlalchemy.testing.suite import *  # noqa: F401, F403
