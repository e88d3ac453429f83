"""What the generator asks only of a Firebird that has it: the one place that names the versions."""

FIRST_VERSION = {
    "lateral": (4, 0),
    "window frames": (4, 0),
    "ntile": (4, 0),
    "aggregate filter": (4, 0),
    "merge by source": (5, 0),
    "partial index": (5, 0),
    # Firebird 3 answers NULL where one bound is NULL and the other one decides for FALSE.
    "between NULLs": (4, 0),
}


def of(version):
    """The names of the features that a version has."""
    return frozenset(name for name, first in FIRST_VERSION.items() if version >= first)
