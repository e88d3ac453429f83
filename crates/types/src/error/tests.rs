use super::*;

#[test]
fn errors_tell_their_kind() {
    let conflict =
        Error::new(isc::DEADLOCK).and(isc::UPDATE_CONFLICT).and(isc::CONCURRENT_TRANSACTION).with(7);
    let lost = Error::new(isc::NETWORK_ERROR).with("db").and(isc::NET_READ_ERR);
    let limit = Error::new(isc::CANCELLED).and(isc::REQ_STMT_TIMEOUT);
    let cancelled = Error::new(isc::CANCELLED);
    let key = Error::new(isc::UNIQUE_KEY_VIOLATION).with("PK").with("T");
    let kinds = |error: &Error| {
        [
            error.is_conflict(),
            error.is_disconnected(),
            error.is_cancelled(),
            error.is_timed_out(),
            error.is_constraint_violation(),
        ]
    };
    assert_eq!(kinds(&conflict), [true, false, false, false, false]);
    assert_eq!(kinds(&lost), [false, true, false, false, false]);
    assert_eq!(kinds(&limit), [false, false, true, true, false]);
    assert_eq!(kinds(&cancelled), [false, false, true, false, false]);
    assert_eq!(kinds(&key), [false, false, false, false, true]);
}

/// SQLSTATE as Firebird 4's shell printed it.
#[test]
fn states_are_those_that_firebird_derives() {
    for (error, state) in [
        (Error::new(isc::ARITH_EXCEPT).and(isc::EXCEPTION_INTEGER_DIVIDE_BY_ZERO), "22012"),
        (Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE), "22003"),
        (
            Error::new(isc::ARITH_EXCEPT).and(isc::STRING_TRUNCATION).and(isc::TRUNC_LIMITS).with(3).with(5),
            "22001",
        ),
        (Error::new(isc::CONVERT_ERROR).with("abc"), "22018"),
        (Error::new(isc::DECFLOAT_INVALID_OPERATION), "22000"),
        (Error::new(isc::DECFLOAT_INVALID_OPERATION).and(isc::CONVERT_ERROR).with("x"), "22018"),
        (Error::new(isc::ARITH_EXCEPT).and(isc::TRANSLITERATION_FAILED), "22018"),
        (Error::new(isc::MALFORMED_STRING), "22000"),
        (Error::new(isc::INVALID_TIMEZONE_REGION).with("x"), "22009"),
        (Error::new(isc::DSQL_ERROR).and(isc::EXPRESSION_EVAL_ERR).and(isc::DSQL_INVALID_TYPE_NEG), "42000"),
        (Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-204).and(isc::DSQL_RELATION_ERR), "42S02"),
        (Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-104).and(isc::DSQL_TOKEN_UNK_ERR), "42000"),
        (
            Error::new(isc::UNIQUE_KEY_VIOLATION).with("K").with("T").and(isc::IDX_KEY_VALUE).with("1"),
            "23000",
        ),
        (Error::new(isc::RANDOM).with("whatever"), "HY000"),
        (Error::new(1), "HY000"),
    ] {
        assert_eq!(error.sql_state(), state, "{error}");
    }
}

#[test]
fn the_stated_sql_code_wins() {
    let unknown =
        Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-204).and(isc::DSQL_RELATION_ERR).with("T");
    assert_eq!(unknown.sql_code(), -204);
    assert_eq!(Error::new(isc::UNIQUE_KEY_VIOLATION).sql_code(), -803);
    assert_eq!(Error::new(1).sql_code(), -999);
}

#[test]
fn messages_are_lines_with_their_arguments() {
    let error = Error::new(isc::UNIQUE_KEY_VIOLATION)
        .with("PK_T")
        .with("T")
        .and(isc::IDX_KEY_VALUE)
        .with("(\"ID\" = 1)");
    assert_eq!(
        error.message(),
        "the primary or unique key PK_T of table T has this value already\n-the value is (\"ID\" = 1)"
    );
    assert_eq!(
        error.to_string(),
        "the primary or unique key PK_T of table T has this value already; the value is (\"ID\" = 1)"
    );
    // Without text of ours: the name. Arguments may contain what looks like a place, and may be missing.
    assert_eq!(Error::new(isc::TOM_HASH_BAD).with("md9").message(), "tom hash bad: md9");
    assert_eq!(Error::new(isc::EXCEPT2).with("mail @2 me@x").message(), "mail @2 me@x");
    assert_eq!(Error::new(isc::NOT_VALID).message(), "column  does not take the value \"\"");
    assert_eq!(Error::new(7).with(1).with("b").message(), "error 7: 1, b");
}
