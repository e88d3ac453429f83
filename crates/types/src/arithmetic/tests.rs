use super::ArithmeticOperator::{Add, Divide, Multiply, Subtract};
use super::*;
use crate::character_set::CharacterSet;
use crate::convert::{cast, to_display_text};
use crate::sql_type::ExactSubtype;
use crate::temporal::{Date, Timestamp, ZoneId};

const CONTEXT: CastContext = CastContext::UTC;

fn numeric(width: ExactWidth, scale: i8) -> SqlType {
    SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric }
}

fn value(text: &str, sql_type: SqlType) -> Value {
    cast(&Value::text(text), &sql_type, &CONTEXT).expect(text)
}

/// The printed result of `left operator right` with its type.
fn compute(
    operator: ArithmeticOperator,
    left: (&str, SqlType),
    right: (&str, SqlType),
) -> Result<(String, SqlType)> {
    let result = result_type(operator, &left.1, &right.1)?;
    let computed = apply(operator, &value(left.0, left.1), &value(right.0, right.1), &result, &CONTEXT)?;
    let same = cast(&computed, &result, &CONTEXT).expect("a value of its own type");
    assert_eq!(same, computed, "{left:?} {operator:?} {right:?}");
    Ok((to_display_text(&computed), result))
}

const N9_2: SqlType = SqlType::Exact { width: ExactWidth::Long, scale: -2, subtype: ExactSubtype::Numeric };
const N18_2: SqlType = SqlType::Exact { width: ExactWidth::Int64, scale: -2, subtype: ExactSubtype::Numeric };

/// A quotient in 64 bits, which is described as no NUMERIC.
fn quotient(scale: i8) -> SqlType {
    SqlType::Exact { width: ExactWidth::Int64, scale, subtype: ExactSubtype::Integer }
}

/// Recorded from Firebird 4, quotients from Firebird 5.
#[test]
fn numbers_are_typed_and_computed_as_recorded() {
    use ExactWidth::{Int64, Int128};
    let (i, b, si, i128) = (SqlType::INTEGER, SqlType::BIGINT, SqlType::SMALLINT, SqlType::INT128);
    let (df, dp, f) = (SqlType::DecFloat34, SqlType::Double, SqlType::Float);
    let max = "9223372036854775807";
    for (operator, left, right, printed, result) in [
        (Add, ("2147483647", i), ("2147483647", i), "4294967294", b),
        (Add, ("32767", si), ("32767", si), "65534", b),
        (Multiply, ("2147483647", i), ("2147483647", i), "4611686014132420609", b),
        (Multiply, ("2147483647", i), (max, b), "19807040619342712359383728129", i128),
        (Multiply, ("12.34", N9_2), ("12.34", N9_2), "152.2756", numeric(Int64, -4)),
        (Divide, ("12.34", N9_2), ("12.34", N9_2), "1.0000", quotient(-4)),
        (Multiply, ("1.23", N18_2), ("1.23", N18_2), "1.5129", numeric(Int128, -4)),
        (Divide, ("1.23", N18_2), ("12.34", N9_2), "0.0996", numeric(Int128, -4)),
        (Multiply, ("1.23", N18_2), ("2147483647", i), "2641404885.81", numeric(Int128, -2)),
        (Multiply, (max, b), (max, b), "85070591730234615847396907784232501249", i128),
        (Divide, ("12.34", N9_2), ("3", i), "4.11", quotient(-2)),
        (Divide, ("1", i), ("3", i), "0", b),
        (Divide, ("-7", i), ("2", i), "-3", b),
        (Divide, (max, b), ("1.00", N18_2), "9223372036854775807.00", numeric(Int128, -2)),
        (Divide, (max, b), ("0.01", N18_2), "922337203685477580700.00", numeric(Int128, -2)),
        (Add, ("2.5", df), ("12.34", N9_2), "14.84", df),
        (Multiply, ("2.5", df), ("1.5", dp), "3.75000000000000000", df),
        (Add, ("2.5", df), (max, b), "9223372036854775809.5", df),
        (Add, ("0.1", f), ("0.1", f), "0.2000000029802322", dp),
        (Multiply, ("0.1", f), ("12.34", N9_2), "1.234000018388033", dp),
        (Add, ("1.5", dp), (max, b), "9.223372036854776e+18", dp),
    ] {
        assert_eq!(
            compute(operator, left, right),
            Ok((printed.to_owned(), result)),
            "{left:?} {operator:?} {right:?}"
        );
    }
}

/// Recorded from Firebird 4.
#[test]
fn failures_have_the_recorded_codes() {
    let (i, b, i128) = (SqlType::INTEGER, SqlType::BIGINT, SqlType::INT128);
    let max = "9223372036854775807";
    let max_128 = "170141183460469231731687303715884105727";
    for (operator, left, right, codes) in [
        (Add, (max, b), ("1", i), &[isc::EXCEPTION_INTEGER_OVERFLOW][..]),
        (Subtract, ("-9223372036854775808", b), ("1", i), &[isc::EXCEPTION_INTEGER_OVERFLOW]),
        (Add, (max_128, i128), ("1", i), &[isc::ARITH_EXCEPT, isc::EXCEPTION_INTEGER_OVERFLOW]),
        (Multiply, (max_128, i128), (max_128, i128), &[isc::ARITH_EXCEPT, isc::EXCEPTION_INTEGER_OVERFLOW]),
        (Divide, (max_128, i128), ("2.00", N18_2), &[isc::ARITH_EXCEPT, isc::NUMERIC_OUT_OF_RANGE]),
        (Divide, (max, b), ("0", i), &[isc::ARITH_EXCEPT, isc::EXCEPTION_INTEGER_DIVIDE_BY_ZERO]),
        (Divide, ("1", i), ("0", i), &[isc::ARITH_EXCEPT, isc::EXCEPTION_INTEGER_DIVIDE_BY_ZERO]),
        (Divide, ("2.5", SqlType::DecFloat34), ("0", i), &[isc::DECFLOAT_DIVIDE_BY_ZERO]),
        (
            Divide,
            ("1.5", SqlType::Double),
            ("0", i),
            &[isc::ARITH_EXCEPT, isc::EXCEPTION_FLOAT_DIVIDE_BY_ZERO],
        ),
        (
            Multiply,
            ("1e300", SqlType::Double),
            ("1e300", SqlType::Double),
            &[isc::ARITH_EXCEPT, isc::EXCEPTION_FLOAT_OVERFLOW],
        ),
        (Add, ("2020-01-01", SqlType::Date), ("100000000", i), &[isc::DATE_RANGE_EXCEEDED]),
        (Add, ("2020-01-01", SqlType::Timestamp), ("3000000", i), &[isc::DATETIME_RANGE_EXCEEDED]),
    ] {
        let error = compute(operator, left, right).expect_err("fails in Firebird as well");
        let actual: Vec<u32> = error.items().iter().map(|item| item.gds_code).collect();
        assert_eq!(actual, codes, "{left:?} {operator:?} {right:?}");
    }
}

/// Recorded from Firebird 4.
#[test]
fn types_that_do_not_compute_are_refused_at_preparation() {
    let text = SqlType::varchar(10, CharacterSet::UTF8);
    let i = SqlType::INTEGER;
    for (operator, left, right, code) in [
        (Add, SqlType::Date, SqlType::Date, isc::DSQL_INVALID_DATEORTIME_ADD),
        (Subtract, i, SqlType::Date, isc::DSQL_INVALID_TYPE_MINUS_DATE),
        (Add, SqlType::Time, SqlType::Timestamp, isc::DSQL_INVALID_DATEORTIME_ADD),
        (Add, text, i, isc::DSQL_NOSTRING_ADDSUB_DIAL3),
        (Multiply, text, i, isc::DSQL_NOSTRING_MULTIP_DIAL3),
        (Divide, i, text, isc::DSQL_NOSTRING_DIV_DIAL3),
        (Add, SqlType::Boolean, i, isc::DSQL_INVALID_TYPE_ADDSUB_DIAL3),
        (Multiply, SqlType::Date, i, isc::DSQL_INVALID_TYPE_MULTIP_DIAL3),
        (Subtract, SqlType::Date, SqlType::Time, isc::DSQL_INVALID_DATETIME_SUBTRACT),
        (Add, SqlType::BLOB_BINARY, i, isc::DSQL_NO_BLOB_ARRAY),
    ] {
        let error = result_type(operator, &left, &right).expect_err("refused in Firebird as well");
        assert_eq!(error.gds_code(), isc::DSQL_ERROR);
        assert!(error.has(code), "{left:?} {operator:?} {right:?}: {error:?}");
    }
    assert!(negated_type(&text).expect_err("a text").has(isc::DSQL_NOSTRING_NEG_DIAL3));
    assert!(negated_type(&SqlType::Date).expect_err("a date").has(isc::DSQL_INVALID_TYPE_NEG));
}

/// Recorded from Firebird 4, session time zone GMT.
#[test]
fn dates_and_times_move_as_recorded() {
    let (d, t, ts) = (SqlType::Date, SqlType::Time, SqlType::Timestamp);
    let (ttz, tz) = (SqlType::TimeTz, SqlType::TimestampTz);
    let day = ("2020-01-02", d);
    let time = ("10:11:12.5", t);
    let stamp = ("2020-01-02 10:11:12.5", ts);
    let zoned = ("2020-01-02 10:11:12.5 Europe/Prague", tz);
    let zoned_time = ("10:11:12.5 Europe/Prague", ttz);
    let n = |text| (text, numeric(ExactWidth::Long, -2));
    let seconds = numeric(ExactWidth::Long, -4);
    let days = numeric(ExactWidth::Int64, -9);
    for (operator, left, right, printed, result) in [
        (Add, day, n("1.5"), "2020-01-04", d),
        (Add, n("1"), day, "2020-01-03", d),
        (Subtract, day, n("1"), "2020-01-01", d),
        (Add, day, time, "2020-01-02 10:11:12.5000", ts),
        (Add, time, day, "2020-01-02 10:11:12.5000", ts),
        (Subtract, day, ("2019-01-01", d), "366", SqlType::INTEGER),
        (Subtract, stamp, ("2020-01-01", ts), "1.424450231", days),
        (Subtract, time, ("09:00", t), "4272.5000", seconds),
        (Add, time, n("90.5"), "10:12:43.0000", t),
        (Subtract, time, n("20"), "10:10:52.5000", t),
        (Add, stamp, n("0.25"), "2020-01-02 16:11:12.5000", ts),
        (Add, stamp, ("0.3333333333333333", SqlType::Double), "2020-01-02 18:11:12.5000", ts),
        (Add, zoned, n("1"), "2020-01-03 10:11:12.5000 Europe/Prague", tz),
        (Subtract, zoned, stamp, "-0.041666667", days),
        (Subtract, stamp, zoned, "0.041666667", days),
        (Subtract, zoned_time, time, "-3600.0000", seconds),
        (Add, zoned_time, n("3600"), "11:11:12.5000 Europe/Prague", ttz),
        (Add, day, zoned_time, "2020-01-02 10:11:12.5000 Europe/Prague", tz),
        (Add, stamp, ("2.5", SqlType::DecFloat34), "2020-01-04 22:11:12.5000", ts),
        (Add, time, ("2.5", SqlType::DecFloat34), "10:11:15.0000", t),
        (Add, n("0.5"), time, "10:11:13.0000", t),
    ] {
        assert_eq!(
            compute(operator, left, right),
            Ok((printed.to_owned(), result)),
            "{left:?} {operator:?} {right:?}"
        );
    }
    // Typed at preparation, but refused at execution.
    for (left, right) in [(stamp, day), (day, stamp), (zoned, day)] {
        let error = compute(Subtract, left, right).expect_err("not supported by Firebird either");
        assert!(error.has(isc::INVALID_TYPE_DATETIME_OP));
    }
}

#[test]
fn null_makes_null() {
    let null = (Value::Null, Value::integer(1));
    for (left, right) in [(&null.0, &null.1), (&null.1, &null.0)] {
        assert_eq!(apply(Add, left, right, &SqlType::BIGINT, &CONTEXT), Ok(Value::Null));
        assert_eq!(
            concatenate(left, right, &SqlType::varchar(9, CharacterSet::ASCII), &CONTEXT),
            Ok(Value::Null)
        );
    }
    assert_eq!(result_type(Add, &SqlType::Null, &SqlType::SMALLINT), Ok(SqlType::BIGINT));
    assert_eq!(result_type(Add, &SqlType::Null, &SqlType::Null), Ok(SqlType::INTEGER));
    assert_eq!(result_type(Add, &SqlType::Date, &SqlType::Null), Ok(SqlType::Date));
}

#[test]
fn the_smallest_number_has_no_opposite() {
    let smallest = Value::integer(-32768);
    assert_eq!(negate(&smallest), Ok(Value::integer(32768)));
    let error = negate_as(&smallest, &SqlType::SMALLINT).expect_err("32768 is no SMALLINT");
    assert_eq!(error.gds_code(), isc::EXCEPTION_INTEGER_OVERFLOW);
    assert!(negate(&Value::integer(i64::MIN)).is_err());
    assert_eq!(negate(&Value::Double(1.5)), Ok(Value::Double(-1.5)));
    assert_eq!(negate(&Value::Null), Ok(Value::Null));
}

#[test]
fn concatenation_takes_any_value() {
    let text = SqlType::varchar(10, CharacterSet::UTF8);
    let day = Value::Date(Date(58849));
    for (left, right, right_type, expected) in [
        (Value::text("abc"), Value::integer(1), SqlType::INTEGER, "abc1"),
        (Value::text("abc"), day, SqlType::Date, "abc2020-01-01"),
        (Value::text("abc"), Value::Boolean(true), SqlType::Boolean, "abcTRUE"),
        (Value::text("é "), Value::Double(1.5), SqlType::Double, "é 1.500000000000000"),
    ] {
        let result = concatenated_type(&text, &right_type).expect("texts");
        assert_eq!(concatenate(&left, &right, &result, &CONTEXT), Ok(Value::text(expected)));
    }
    let SqlType::Text(merged) = concatenated_type(&text, &SqlType::INTEGER).expect("texts") else {
        panic!("a text");
    };
    assert_eq!((merged.varying, merged.length_chars, merged.character_set), (true, 21, CharacterSet::UTF8));
    let blob = concatenated_type(&text, &SqlType::blob_text(CharacterSet::UTF8));
    assert_eq!(blob, Ok(SqlType::blob_text(CharacterSet::UTF8)));
    let long = Value::text(&"x".repeat(40_000));
    let result = SqlType::varchar(65_533, CharacterSet::ASCII);
    assert!(concatenate(&long, &long, &result, &CONTEXT).expect_err("too long").has(isc::STRING_TRUNCATION));
}

/// Recorded from Firebird 4; numbers and dates together are NONE in Firebird 5.
#[test]
fn lengths_and_character_sets_of_joined_texts_are_as_recorded() {
    let varchar = SqlType::varchar;
    let (utf8, none, octets) = (CharacterSet::UTF8, CharacterSet::NONE, CharacterSet::OCTETS);
    let (ascii, western) = (CharacterSet::ASCII, CharacterSet::WIN1252);
    let decimal = SqlType::Exact { width: ExactWidth::Int64, scale: -4, subtype: ExactSubtype::Decimal };
    for (left, right, length_chars, set) in [
        (SqlType::char(3, utf8), varchar(5, utf8), 8, utf8),
        (SqlType::char(3, utf8), varchar(4, none), 7, utf8),
        (varchar(4, none), varchar(5, utf8), 9, utf8),
        (varchar(5, utf8), varchar(6, octets), 26, octets),
        (varchar(6, octets), varchar(5, utf8), 26, octets),
        (varchar(7, ascii), varchar(5, utf8), 12, utf8),
        (varchar(8, western), varchar(5, utf8), 13, western),
        (varchar(4, none), varchar(8, western), 12, western),
        (SqlType::INTEGER, varchar(5, utf8), 16, utf8),
        (N9_2, decimal, 33, none),
        (SqlType::Date, SqlType::Time, 23, none),
        (SqlType::Float, SqlType::Double, 39, none),
        (SqlType::DecFloat16, SqlType::DecFloat34, 65, none),
        (SqlType::Null, varchar(5, utf8), 5, utf8),
    ] {
        assert_eq!(concatenated_type(&left, &right), Ok(varchar(length_chars, set)), "{left} || {right}");
    }
    for (left, right, expected) in [
        (varchar(5, utf8), varchar(6, octets), varchar(6, octets)),
        (varchar(7, ascii), varchar(5, utf8), varchar(7, utf8)),
        (varchar(8, western), varchar(5, utf8), varchar(8, western)),
        (varchar(4, none), SqlType::INTEGER, varchar(11, ascii)),
        (varchar(6, octets), SqlType::INTEGER, varchar(11, octets)),
        (SqlType::INTEGER, decimal, decimal),
        (N9_2, decimal, decimal),
        (
            SqlType::BLOB_BINARY,
            SqlType::blob_text(utf8),
            SqlType::Blob { subtype: 0, character_set: octets, collation: crate::Collation(0) },
        ),
    ] {
        assert_eq!(common_type(&[left, right]), Ok(expected), "{left}, {right}");
    }
}

#[test]
fn a_common_type_holds_all() {
    let c = |varying, length| {
        SqlType::Text(crate::sql_type::TextType {
            varying,
            length_chars: length,
            character_set: CharacterSet::UTF8,
            collation: crate::Collation(0),
        })
    };
    for (types, expected) in [
        (&[SqlType::SMALLINT, SqlType::BIGINT, SqlType::INTEGER][..], SqlType::BIGINT),
        (&[SqlType::INTEGER, N9_2], N9_2),
        (&[SqlType::Null, SqlType::Date, SqlType::Null], SqlType::Date),
        (&[SqlType::Null], SqlType::Null),
        (&[SqlType::INTEGER, SqlType::Float, SqlType::BIGINT], SqlType::Float),
        (&[SqlType::Double, SqlType::DecFloat16], SqlType::DecFloat16),
        (&[c(false, 3), c(false, 5)], c(false, 5)),
        (&[c(false, 3), c(true, 2)], c(true, 3)),
        (&[c(false, 3), SqlType::INTEGER], c(true, 11)),
        (&[SqlType::Date, c(true, 3)], c(true, 10)),
        (&[SqlType::Time, SqlType::TimeTz], SqlType::TimeTz),
        (&[c(true, 3), SqlType::blob_text(CharacterSet::UTF8)], SqlType::blob_text(CharacterSet::UTF8)),
    ] {
        assert_eq!(common_type(types), Ok(expected), "{types:?}");
    }
    let error = common_type_in(&[SqlType::Date, SqlType::INTEGER], "UNION").expect_err("nothing in common");
    assert!(error.has(isc::DSQL_DATATYPES_NOT_COMPARABLE));
}

#[test]
fn local_dates_are_of_the_session() {
    let prague = ZoneId::parse("Europe/Prague").expect("a zone");
    let context =
        CastContext { session_zone: prague, now: || Timestamp::midnight(Date(58849)), ..CastContext::UTC };
    let noon = cast(&Value::text("2020-01-01 12:00"), &SqlType::Timestamp, &context).expect("a timestamp");
    let same =
        cast(&Value::text("2020-01-01 11:00 GMT"), &SqlType::TimestampTz, &context).expect("a timestamp");
    let result = result_type(Subtract, &SqlType::Timestamp, &SqlType::TimestampTz).expect("a type");
    assert_eq!(
        apply(Subtract, &noon, &same, &result, &context),
        Ok(Value::Integer { unscaled: 0, scale: -9 })
    );
}
