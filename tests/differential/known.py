"""Differences from Firebird that are meant, or that are Firebird's own: the one place that names them.

Each has a test on the question and both answers. docs/architecture.md, "Where it differs from the first plan", says why.
"""

# isc_convert_error, isc_arith_except, isc_numeric_out_of_range, isc_string_truncation: which values are computed at all,
# and which of two errors comes first, depends on the order in which conditions and joins are evaluated.
ERRORS_OF_VALUES = {335544334, 335544321, 335544916, 335544914, 335544652, 335544606}


def value_errors(question, ours, theirs):
    """An error of a value that one side never computes."""
    return any(ERRORS_OF_VALUES & set(answer.get("error", ())) for answer in (ours, theirs))


def both_fail(question, ours, theirs):
    """Both refuse, for different reasons of several."""
    return "error" in ours and "error" in theirs


# isc_funmismat
FUNCTION_MISMATCH = 335544439


def position_in_query(question, ours, theirs):
    """POSITION('a' IN (SELECT ...)): Firebird, up to 5, takes its argument for a condition, and finds no such function."""
    return FUNCTION_MISMATCH in theirs.get("error", ()) and "position('a' in (select" in question


KNOWN = [value_errors, both_fail, position_in_query]


def is_known(question, ours, theirs):
    return any(known(question, ours, theirs) for known in KNOWN)
