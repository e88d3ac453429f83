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


# isc_dsql_agg_column_err
NOT_GROUPED = 335544824


def double_in_key(question, ours, theirs):
    """Firebird, up to 5, does not always find a GROUP BY expression again that has a DOUBLE PRECISION literal in it."""
    return NOT_GROUPED in theirs.get("error", ()) and "group by" in question and "e0" in question


# isc_invalid_blr
INVALID_BLR = 335544343


def lost_in_request(question, ours, theirs):
    """Firebird 3 cannot compile a subquery twice that stands in a column of a derived table or of a WITH."""
    return INVALID_BLR in theirs.get("error", ())


def equal_texts(question, ours, theirs):
    """Of texts that differ in blanks at their ends, and so are equal, DISTINCT, UNION and GROUP BY may show either."""
    if "rows" not in ours or "rows" not in theirs or not any(word in question for word in ("distinct", "union", "group by")):
        return False
    trimmed = lambda answer: sorted(repr([value and value.rstrip(" ") for value in row]) for row in answer["rows"])
    return ours["names"] == theirs["names"] and trimmed(ours) == trimmed(theirs)


KNOWN = [value_errors, both_fail, position_in_query, double_in_key, lost_in_request, equal_texts]


def is_known(question, ours, theirs):
    return any(known(question, ours, theirs) for known in KNOWN)
