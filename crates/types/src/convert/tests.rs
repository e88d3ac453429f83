use super::*;
use crate::character_set::CharacterSet;
use crate::decimal::{Condition, Conditions};
use crate::sql_type::{ExactSubtype, ExactWidth};
use crate::value::{BlobId, Text};

fn context() -> CastContext {
    let prague = ZoneId::parse("Europe/Prague").expect("a zone");
    CastContext { session_zone: prague, now: ten_in_prague, ..CastContext::UTC }
}

/// 2026-11-20 10:00 in Prague.
fn ten_in_prague() -> Timestamp {
    let date = Date::from_year_month_day(2026, 11, 20).expect("a day");
    Timestamp { date, time: crate::temporal::Time(9 * 36_000_000) }
}

fn numeric(width: ExactWidth, scale: i8) -> SqlType {
    SqlType::Exact { width, scale, subtype: ExactSubtype::Numeric }
}

const N9_2: SqlType = SqlType::Exact { width: ExactWidth::Long, scale: -2, subtype: ExactSubtype::Numeric };
const N4_1: SqlType = SqlType::Exact { width: ExactWidth::Short, scale: -1, subtype: ExactSubtype::Numeric };

fn shown(value: &Value, to: SqlType) -> Result<String> {
    cast(value, &to, &context()).map(|value| to_display_text(&value))
}

fn codes(result: Result<String>) -> Vec<u32> {
    let error = result.expect_err("fails in Firebird as well");
    error.items().iter().map(|item| item.gds_code).collect()
}

fn double(value: f64) -> Value {
    Value::Double(value)
}

/// Recorded from Firebird 4.
#[test]
fn doubles_print_as_recorded() {
    for (value, text) in [
        (0.1, "0.1000000000000000"),
        (1.0, "1.000000000000000"),
        (1e22, "1.000000000000000e+22"),
        (123_456_789.0, "123456789.0000000"),
        (0.00001, "1.000000000000000e-05"),
        (0.0001, "0.0001000000000000000"),
        (1e16, "1.000000000000000e+16"),
        (1e15, "1000000000000000."),
        (-123.456, "-123.4560000000000"),
        (1.7976931348623157e308, "1.797693134862316e+308"),
        (0.0, "0.000000000000000"),
        (-0.0, "0.000000000000000"),
        (-1.5e-10, "-1.500000000000000e-10"),
    ] {
        assert_eq!(shown(&double(value), SqlType::varchar(30, CharacterSet::NONE)), Ok(text.to_owned()));
    }
    for (value, text) in [(2.71821f32, "2.7182100"), (1e10, "1.0000000e+10"), (16_777_216.0, "16777216.")] {
        assert_eq!(
            shown(&Value::Float(value), SqlType::varchar(30, CharacterSet::NONE)),
            Ok(text.to_owned())
        );
    }
    // Fewer digits where there is less room.
    assert_eq!(shown(&double(0.1), SqlType::varchar(10, CharacterSet::NONE)), Ok("0.1000000".to_owned()));
    let out_of_range = vec![isc::ARITH_EXCEPT, isc::NUMERIC_OUT_OF_RANGE];
    assert_eq!(codes(shown(&double(0.1), SqlType::varchar(4, CharacterSet::NONE))), out_of_range);
    assert_eq!(
        cast(&double(0.1), &SqlType::varchar(10, CharacterSet::UTF8), &context()).expect_err("18 digits"),
        Error::new(isc::ARITH_EXCEPT).and(isc::STRING_TRUNCATION).and(isc::TRUNC_LIMITS).with(10).with(18)
    );
}

/// Recorded from Firebird 4.
#[test]
fn text_becomes_numbers_as_recorded() {
    for (text, to, expected) in [
        ("1.5", SqlType::SMALLINT, "2"),
        (" +5 ", SqlType::INTEGER, "5"),
        (".5", N4_1, "0.5"),
        ("5.", SqlType::INTEGER, "5"),
        ("1e2", SqlType::INTEGER, "100"),
        ("12e-1", N4_1, "1.2"),
        ("0x7F", SqlType::INTEGER, "127"),
        ("0xFFFFFFFF", SqlType::INTEGER, "-1"),
        ("0xFFFF", SqlType::INTEGER, "65535"),
        ("0x8000", SqlType::SMALLINT, "-32768"),
        ("0xFFFFFFFF", SqlType::BIGINT, "-1"),
        ("0x0FFFFFFFF", SqlType::BIGINT, "4294967295"),
        ("1.000000000000000", SqlType::INTEGER, "1"),
        ("-9223372036854775808", SqlType::BIGINT, "-9223372036854775808"),
        (
            "-170141183460469231731687303715884105728",
            SqlType::INT128,
            "-170141183460469231731687303715884105728",
        ),
        ("1e-5", SqlType::Double, "1.000000000000000e-05"),
        (" 2.5E+3 ", SqlType::Double, "2500.000000000000"),
        ("1.10", SqlType::DecFloat34, "1.10"),
        ("1e400", SqlType::DecFloat34, "1E+400"),
        ("12345678901234567890", SqlType::DecFloat16, "1.234567890123457E+19"),
        (" FALSE ", SqlType::Boolean, "FALSE"),
        ("true", SqlType::Boolean, "TRUE"),
    ] {
        assert_eq!(shown(&Value::text(text), to), Ok(expected.to_owned()), "{text}");
    }
    let out_of_range = [isc::ARITH_EXCEPT, isc::NUMERIC_OUT_OF_RANGE];
    for (text, to, expected) in [
        ("1.23456789012345", SqlType::INTEGER, &out_of_range[..]),
        ("40000", SqlType::SMALLINT, &out_of_range),
        ("1e-400", SqlType::Double, &out_of_range),
        ("1e99999999999", SqlType::INTEGER, &out_of_range),
        ("", SqlType::INTEGER, &[isc::CONVERT_ERROR]),
        ("- 5", SqlType::INTEGER, &[isc::CONVERT_ERROR]),
        ("1,5", SqlType::INTEGER, &[isc::CONVERT_ERROR]),
        ("abc", SqlType::Double, &[isc::CONVERT_ERROR]),
        ("yes", SqlType::Boolean, &[isc::CONVERT_ERROR]),
        (" 1.5 ", SqlType::DecFloat34, &[isc::DECFLOAT_INVALID_OPERATION, isc::CONVERT_ERROR]),
        ("1e7000", SqlType::DecFloat34, &[isc::DECFLOAT_OVERFLOW]),
    ] {
        assert_eq!(codes(shown(&Value::text(text), to)), expected, "{text}");
    }
    let error = cast(&Value::text("a\n"), &SqlType::INTEGER, &context()).expect_err("no number");
    assert_eq!(error, Error::new(isc::CONVERT_ERROR).with("a#x0a"));
}

/// Recorded from Firebird 4.
#[test]
fn numbers_become_numbers_as_recorded() {
    let exact = |unscaled, scale| Value::Integer { unscaled, scale };
    let decimal = |text: &str| Value::DecFloat(text.parse().expect(text));
    for (value, to, expected) in [
        (exact(12_345_678, -3), N9_2, "12345.68"),
        (exact(-5, -3), N9_2, "-0.01"),
        (exact(-12, 0), N4_1, "-12.0"),
        (double(1.5), SqlType::INTEGER, "2"),
        (double(2.5), SqlType::INTEGER, "3"),
        (double(-2.5), SqlType::INTEGER, "-3"),
        (double(1.005), N9_2, "1.01"),
        (decimal("12.345"), N9_2, "12.35"),
        (decimal("2.5"), SqlType::INTEGER, "3"),
        (double(0.1), SqlType::DecFloat34, "0.10000000000000001"),
        (double(1.5), SqlType::DecFloat34, "1.5000000000000000"),
        (Value::Float(0.1), SqlType::DecFloat34, "0.10000000149011612"),
        (exact(i64::MAX, 0), SqlType::DecFloat16, "9.223372036854776E+18"),
        (double(0.1), SqlType::INT128, "0"),
        (exact(150, -2), SqlType::Double, "1.500000000000000"),
    ] {
        assert_eq!(shown(&value, to), Ok(expected.to_owned()), "{value:?}");
    }
    let out_of_range = [isc::ARITH_EXCEPT, isc::NUMERIC_OUT_OF_RANGE];
    for (value, to, expected) in [
        (exact(40_000, 0), SqlType::SMALLINT, &out_of_range[..]),
        (exact(i64::MAX, 0), numeric(ExactWidth::Int64, -1), &out_of_range),
        (Value::Int128 { unscaled: i128::MAX, scale: 0 }, numeric(ExactWidth::Int128, -1), &out_of_range),
        (double(1e20), SqlType::BIGINT, &out_of_range),
        (double(f64::NAN), SqlType::INT128, &out_of_range),
        (double(1e300), SqlType::Float, &out_of_range),
        (decimal("1e50"), SqlType::INT128, &out_of_range),
        (decimal("1e36"), SqlType::INT128, &[isc::DECFLOAT_INVALID_OPERATION]),
        (decimal("1e20"), SqlType::BIGINT, &[isc::EXCEPTION_FLOAT_INVALID_OPERAND]),
        (decimal("1e20"), SqlType::INTEGER, &[isc::DECFLOAT_INVALID_OPERATION]),
        (decimal("NaN"), SqlType::INTEGER, &[isc::DECFLOAT_INVALID_OPERATION]),
        (decimal("1e400"), SqlType::Double, &[isc::EXCEPTION_FLOAT_OVERFLOW]),
    ] {
        assert_eq!(codes(shown(&value, to)), expected, "{value:?}");
    }
}

/// Recorded from Firebird 4.
#[test]
fn texts_are_cut_and_filled_as_recorded() {
    let utf8 = |length| SqlType::varchar(length, CharacterSet::UTF8);
    assert_eq!(shown(&Value::text("abc   "), utf8(3)), Ok("abc".to_owned()));
    assert_eq!(shown(&Value::text("žlu   "), SqlType::char(3, CharacterSet::UTF8)), Ok("žlu".to_owned()));
    assert_eq!(shown(&Value::text("ž"), SqlType::char(5, CharacterSet::UTF8)), Ok("ž    ".to_owned()));
    let truncated = |expected, actual| {
        Error::new(isc::ARITH_EXCEPT)
            .and(isc::STRING_TRUNCATION)
            .and(isc::TRUNC_LIMITS)
            .with(expected)
            .with(actual)
    };
    for (value, to, expected, actual) in [
        (Value::text("abcde   "), utf8(3), 3, 8),
        (Value::text("žlu   "), utf8(2), 2, 6),
        (Value::text("ž"), SqlType::varchar(1, CharacterSet::NONE), 1, 2),
        (Value::Boolean(true), utf8(3), 3, 4),
        (Value::Date(Date(58849)), utf8(5), 5, 10),
        (Value::integer(12345), utf8(2), 2, 5),
    ] {
        assert_eq!(shown(&value, to), Err(truncated(expected, actual)), "{value:?}");
    }
    // What is too long for the bytes is no truncation.
    let error = shown(&Value::integer(12345), SqlType::varchar(2, CharacterSet::NONE));
    assert_eq!(error, Err(Error::new(isc::CONVERT_ERROR).with("12345")));
    let error = shown(&Value::integer(1_234_567_890), utf8(2));
    assert_eq!(error, Err(Error::new(isc::CONVERT_ERROR).with("1234567890")));
    let octets = cast(&Value::text("ab"), &SqlType::char(4, CharacterSet::OCTETS), &context());
    assert_eq!(octets, Ok(Value::Text(Text::new(&b"ab\0\0"[..], CharacterSet::OCTETS))));
}

/// Recorded from Firebird 4.
#[test]
fn character_sets_are_converted_as_recorded() {
    let error = codes(shown(&Value::text("žluť"), SqlType::varchar(10, CharacterSet::ISO8859_1)));
    assert_eq!(error, [isc::ARITH_EXCEPT, isc::TRANSLITERATION_FAILED]);
    let raw = Value::Text(Text::new(&b"\xC3"[..], CharacterSet::OCTETS));
    assert_eq!(codes(shown(&raw, SqlType::varchar(10, CharacterSet::UTF8))), [isc::MALFORMED_STRING]);
    let western = cast(&Value::text("é"), &SqlType::varchar(1, CharacterSet::WIN1252), &context());
    assert_eq!(western, Ok(Value::Text(Text::new(&b"\xE9"[..], CharacterSet::WIN1252))));
}

/// Recorded from Firebird 4 with the session in Prague.
#[test]
fn times_and_zones_are_converted_as_recorded() {
    let value = |text: &str, sql_type: SqlType| cast(&Value::text(text), &sql_type, &context()).expect(text);
    let zoned = value("2020-07-01 12:00 +00:00", SqlType::TimestampTz);
    for (from, to, expected) in [
        (&zoned, SqlType::Timestamp, "2020-07-01 14:00:00.0000"),
        (&zoned, SqlType::Date, "2020-07-01"),
        (&zoned, SqlType::Time, "14:00:00.0000"),
        (&zoned, SqlType::TimeTz, "12:00:00.0000 +00:00"),
        (&value("2020-07-01", SqlType::Date), SqlType::TimestampTz, "2020-07-01 00:00:00.0000 Europe/Prague"),
        (&value("2020-07-01", SqlType::Date), SqlType::Timestamp, "2020-07-01 00:00:00.0000"),
        (&value("10:11:12", SqlType::Time), SqlType::Timestamp, "2026-11-20 10:11:12.0000"),
        (&value("10:11:12", SqlType::Time), SqlType::TimestampTz, "2026-11-20 10:11:12.0000 Europe/Prague"),
        (&value("10:11:12", SqlType::Time), SqlType::TimeTz, "10:11:12.0000 Europe/Prague"),
        (&value("10:11 +05:00", SqlType::TimeTz), SqlType::Time, "06:11:00.0000"),
        (
            &value("2020-07-01 12:00", SqlType::Timestamp),
            SqlType::TimestampTz,
            "2020-07-01 12:00:00.0000 Europe/Prague",
        ),
        (&value("2020-07-01 12:00", SqlType::Timestamp), SqlType::Date, "2020-07-01"),
        (&Value::text("2020-07-01 12:00 +00:00"), SqlType::Timestamp, "2020-07-01 14:00:00.0000"),
        (&Value::text("12:00 +00:00"), SqlType::Time, "13:00:00.0000"),
        (&Value::text("now"), SqlType::TimestampTz, "2026-11-20 10:00:00.0000 Europe/Prague"),
        (&Value::text("NOW"), SqlType::Time, "10:00:00.0000"),
        (&Value::text("yesterday"), SqlType::Date, "2026-11-19"),
        (&Value::text("Tomorrow"), SqlType::Timestamp, "2026-11-21 00:00:00.0000"),
    ] {
        assert_eq!(shown(from, to), Ok(expected.to_owned()), "{from:?} {to:?}");
    }
    for (from, to) in [
        (&Value::Date(Date(58849)), SqlType::INTEGER),
        (&Value::Date(Date(58849)), SqlType::Time),
        (&Value::integer(1), SqlType::Date),
        (&Value::integer(1), SqlType::Boolean),
        (&Value::Boolean(true), SqlType::INTEGER),
    ] {
        assert_eq!(codes(shown(from, to)), [isc::CONVERT_ERROR], "{from:?} {to:?}");
    }
    let error = cast(&Value::Boolean(true), &SqlType::INTEGER, &context());
    assert_eq!(error, Err(Error::new(isc::CONVERT_ERROR).with("BOOLEAN")));
}

#[test]
fn null_stays_null_and_blobs_are_refused() {
    assert_eq!(cast(&Value::Null, &SqlType::BLOB_BINARY, &context()), Ok(Value::Null));
    let error = cast(&Value::Blob(BlobId(1)), &SqlType::BLOB_BINARY, &context()).expect_err("the engine's");
    assert!(error.has(isc::BLOBNOTSUP));
    let error = cast(&Value::Blob(BlobId(1)), &SqlType::INTEGER, &context());
    assert_eq!(error, Err(Error::new(isc::CONVERT_ERROR).with("BLOB")));
    assert!(cast(&Value::integer(1), &SqlType::BLOB_BINARY, &context()).is_err());
}

#[test]
fn exact_numbers_print_with_their_point() {
    for (unscaled, scale, text) in [
        (5, -2, "0.05"),
        (-5, -2, "-0.05"),
        (1234, -2, "12.34"),
        (0, -3, "0.000"),
        (12, 2, "1200"),
        (0, 2, "0"),
        (i128::MIN, 0, "-170141183460469231731687303715884105728"),
        (i128::MIN, -38, "-1.70141183460469231731687303715884105728"),
    ] {
        assert_eq!(exact_to_text(unscaled, scale), text);
    }
}

proptest::proptest! {
    #[test]
    fn numbers_survive_text(unscaled: i64, scale in -18i8..=0, value: f64) {
        let exact = Value::Integer { unscaled, scale };
        let text = cast(&exact, &SqlType::varchar(50, CharacterSet::ASCII), &context()).expect("digits");
        let again = cast(&text, &numeric(ExactWidth::Int64, scale), &context());
        proptest::prop_assert_eq!(again, Ok(exact));
        if value.is_finite() {
            let text = Value::text(&format!("{value:e}"));
            if let Ok(again) = cast(&text, &SqlType::Double, &context()) {
                proptest::prop_assert_eq!(again, Value::Double(value));
            }
        }
    }

    #[test]
    fn no_text_is_too_odd(text: String) {
        let types = [
            SqlType::INTEGER, SqlType::INT128, SqlType::Double, SqlType::DecFloat16, SqlType::Date, SqlType::Time,
            SqlType::Timestamp, SqlType::TimestampTz, SqlType::Boolean, SqlType::char(3, CharacterSet::WIN1252),
        ];
        for to in types {
            let _ = cast(&Value::text(&text), &to, &context());
        }
    }

    #[test]
    fn no_date_is_too_odd(text in "[-0-9 ./:+a-zA-Z]{0,24}") {
        for to in [SqlType::Date, SqlType::Time, SqlType::Timestamp, SqlType::TimestampTz, SqlType::TimeTz] {
            let _ = cast(&Value::text(&text), &to, &context());
        }
    }
}

#[test]
fn values_are_shown_as_people_write_them() {
    let shown = [
        (Value::Null, "<null>"),
        (Value::Boolean(true), "TRUE"),
        (Value::Integer { unscaled: -1234, scale: -2 }, "-12.34"),
        (Value::Int128 { unscaled: 5, scale: -3 }, "0.005"),
        (Value::Double(0.1), "0.1000000000000000"),
        (Value::Date(Date(58_849)), "2020-01-01"),
        (Value::text("Grün"), "Grün"),
        (Value::Text(Text::new(b"Gr\xFCn".to_vec(), CharacterSet::WIN1252)), "Grün"),
        (Value::Blob(BlobId(0x80_0000_001F)), "80:1f"),
    ];
    for (value, text) in shown {
        assert_eq!(value.to_string(), text);
    }
    assert_eq!(format!("{:>6}|{:<8}|", Value::integer(7), Value::Null), "     7|<null>  |");
}

/// As Firebird 5 does with SET DECFLOAT TRAPS TO Underflow, and to nothing.
#[test]
fn decimals_too_small_for_a_double_underflow() {
    let traps = Conditions::NONE.with(Condition::Underflow);
    let trapping = CastContext { decimal: DecimalContext { traps, ..DecimalContext::DEFAULT }, ..context() };
    let decimal = |text: &str| cast(&Value::text(text), &SqlType::DecFloat34, &context()).expect("a decimal");
    for text in ["1e-6100", "-1e-320", "2.2250738585072009e-308"] {
        for to in [SqlType::Double, SqlType::Float] {
            let error = cast(&decimal(text), &to, &trapping).expect_err(text);
            assert_eq!(error, Error::new(isc::DECFLOAT_UNDERFLOW), "{text}");
            assert!(cast(&decimal(text), &to, &context()).is_ok(), "{text} is not trapped");
        }
    }
    for text in ["0", "0e-6000", "2.2250738585072014e-308", "-1.1"] {
        assert!(cast(&decimal(text), &SqlType::Double, &trapping).is_ok(), "{text}");
    }
    assert!(cast(&decimal("1e-50"), &SqlType::Float, &trapping).is_ok(), "only the double is asked");
}
