use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

fn decimal(text: &str) -> Decimal {
    text.parse().expect(text)
}

#[test]
fn bits_are_those_of_the_standard() {
    // From the specification's own examples (decimal128 and decimal64).
    for (text, bits) in [
        ("0", 0x2208_0000_0000_0000_0000_0000_0000_0000_u128),
        ("1", 0x2208_0000_0000_0000_0000_0000_0000_0001),
        ("-7.50", 0xA207_8000_0000_0000_0000_0000_0000_03D0),
        ("Infinity", 0x7800_0000_0000_0000_0000_0000_0000_0000),
        ("NaN", 0x7C00_0000_0000_0000_0000_0000_0000_0000),
        ("9.999999999999999999999999999999999E+6144", 0x77FF_CFF3_FCFF_3FCF_F3FC_FF3F_CFF3_FCFF),
    ] {
        assert_eq!(decimal(text).0, bits, "{text}");
        assert_eq!(Decimal(bits).to_string(), text);
    }
    assert_eq!(decimal("-7.50").to_decimal64_bits().expect("in range"), 0xA230_0000_0000_03D0);
    assert_eq!(Decimal::from_decimal64_bits(0xA230_0000_0000_03D0).to_string(), "-7.50");
}

#[test]
fn text_is_scientific_only_when_needed() {
    for (text, printed) in [
        ("123", "123"),
        ("-123.4500", "-123.4500"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1E-7"),
        ("1e3", "1E+3"),
        ("12.3e10", "1.23E+11"),
        ("0E+3", "0E+3"),
        ("-0", "-0"),
        ("+inf", "Infinity"),
        ("snan", "sNaN"),
        ("12345678901234567890123456789012345", "1.234567890123456789012345678901235E+34"),
        ("00000000000000000000000000000000000000000000000000000000000000000000000001.5", "1.5"),
        ("1e-7000", "0E-6176"),
    ] {
        assert_eq!(decimal(text).to_string(), printed, "{text}");
    }
    for bad in ["", ".", "1e", "e5", "1.2.3", "abc", "1 2", "--1"] {
        assert_eq!(bad.parse::<Decimal>().expect_err(bad).gds_code(), isc::DECFLOAT_INVALID_OPERATION);
    }
    assert_eq!("1e7000".parse::<Decimal>().expect_err("too great").gds_code(), isc::DECFLOAT_OVERFLOW);
}

#[test]
fn arithmetic_rounds_to_34_digits() {
    let add = |a, b| decimal(a).add(decimal(b)).expect("finite").to_string();
    assert_eq!(add("1.1", "2.20"), "3.30");
    assert_eq!(add("1e34", "1"), "1.000000000000000000000000000000000E+34");
    assert_eq!(add("1e40", "-1"), "1.000000000000000000000000000000000E+40");
    assert_eq!(add("9999999999999999999999999999999999", "0.5"), "1.000000000000000000000000000000000E+34");
    assert_eq!(add("1", "-1.00"), "0.00");
    let divide = |a, b| decimal(a).divide(decimal(b)).expect("finite").to_string();
    assert_eq!(divide("1", "3"), "0.3333333333333333333333333333333333");
    assert_eq!(divide("2", "3"), "0.6666666666666666666666666666666667");
    assert_eq!(divide("10", "4"), "2.5");
    assert_eq!(divide("600", "2"), "300");
    assert_eq!(divide("-1", "8"), "-0.125");
    let multiply = |a, b| decimal(a).multiply(decimal(b)).expect("finite").to_string();
    assert_eq!(multiply("1.20", "3"), "3.60");
    assert_eq!(
        multiply("9999999999999999999999999999999999", "9999999999999999999999999999999999"),
        "9.999999999999999999999999999999998E+67"
    );
}

#[test]
fn traps_are_errors() {
    let code = |result: Result<Decimal>| result.expect_err("trapped").gds_code();
    assert_eq!(code(decimal("1").divide(decimal("0"))), isc::DECFLOAT_DIVIDE_BY_ZERO);
    assert_eq!(code(decimal("0").divide(decimal("0"))), isc::DECFLOAT_INVALID_OPERATION);
    assert_eq!(code(decimal("inf").subtract(decimal("inf"))), isc::DECFLOAT_INVALID_OPERATION);
    assert_eq!(code(decimal("snan").add(decimal("1"))), isc::DECFLOAT_INVALID_OPERATION);
    assert_eq!(code(decimal("9e6144").multiply(decimal("10"))), isc::DECFLOAT_OVERFLOW);
    assert!(decimal("nan").add(decimal("1")).expect("quiet").is_nan());
    assert_eq!(
        decimal("9e384").to_decimal64_bits().map(Decimal::from_decimal64_bits).map(|d| d.to_string()),
        Ok("9.000000000000000E+384".to_owned())
    );
    assert_eq!(
        decimal("9e385").to_decimal64_bits().expect_err("out of range").gds_code(),
        isc::DECFLOAT_OVERFLOW
    );
}

#[test]
fn rounding_modes_differ_at_the_middle() {
    let quantize = |text, mode| {
        let context = DecimalContext::DEFAULT.rounding(mode);
        decimal(text).quantize(decimal("1"), &context).expect("small").to_string()
    };
    for (mode, expected) in [
        (Rounding::HalfUp, ["3", "-3", "4", "2"]),
        (Rounding::HalfEven, ["2", "-2", "4", "2"]),
        (Rounding::HalfDown, ["2", "-2", "3", "2"]),
        (Rounding::Up, ["3", "-3", "4", "3"]),
        (Rounding::Down, ["2", "-2", "3", "2"]),
        (Rounding::Ceiling, ["3", "-2", "4", "3"]),
        (Rounding::Floor, ["2", "-3", "3", "2"]),
        (Rounding::Reround, ["2", "-2", "3", "2"]),
    ] {
        let actual = ["2.5", "-2.5", "3.5", "2.4"].map(|text| quantize(text, mode));
        assert_eq!(actual, expected, "{mode:?}");
    }
    assert_eq!(Rounding::by_name("half_even"), Some(Rounding::HalfEven));
}

#[test]
fn order_is_by_value() {
    let ascending =
        ["-Infinity", "-1e6000", "-1", "-0.5", "0", "1e-6000", "1", "1.5", "15", "1e6000", "Infinity", "NaN"];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(decimal(a).compare(decimal(b)), i.cmp(&j), "{a} {b}");
        }
    }
    assert_eq!(decimal("1.0").compare(decimal("1.00")), Ordering::Equal);
    assert_eq!(decimal("-0").compare(decimal("0")), Ordering::Equal);
}

#[test]
fn exact_numerics_come_and_go() {
    assert_eq!(Decimal::from_unscaled(-1234, -2).to_string(), "-12.34");
    assert_eq!(decimal("12.345").to_unscaled(-2, Rounding::HalfUp), Ok(1235));
    assert_eq!(decimal("-12.345").to_unscaled(-2, Rounding::HalfUp), Ok(-1235));
    assert_eq!(decimal("1e3").to_unscaled(0, Rounding::HalfUp), Ok(1000));
    assert!(decimal("1e40").to_unscaled(0, Rounding::HalfUp).is_err());
    assert!(decimal("NaN").to_unscaled(0, Rounding::HalfUp).is_err());
    assert_eq!(Decimal::from_unscaled(i128::MIN, 0).to_string(), "-1.701411834604692317316873037158841E+38");
}

#[test]
fn what_is_not_trapped_has_a_result() {
    let quiet = |rounding| DecimalContext { rounding, traps: Conditions::NONE };
    let half_up = quiet(Rounding::HalfUp);
    let divide = |a, b, context: &DecimalContext| {
        decimal(a).divide_in(decimal(b), context).map(|quotient| quotient.to_string())
    };
    assert_eq!(divide("-1", "0", &half_up).expect("quiet"), "-Infinity");
    assert_eq!(divide("0", "0", &half_up).expect("quiet"), "NaN");
    assert_eq!(divide("1", "3", &quiet(Rounding::Up)).expect("quiet"), format!("0.{}4", "3".repeat(33)));
    assert_eq!(Decimal::parse_in("no number", &half_up).expect("quiet").to_string(), "NaN");
    let great = |rounding| decimal("9e6144").multiply_in(decimal("10"), &quiet(rounding)).expect("quiet");
    assert!(great(Rounding::HalfEven).is_infinite());
    assert_eq!(great(Rounding::Down).to_string(), "9.999999999999999999999999999999999E+6144");
    let trapping =
        |condition| DecimalContext { rounding: Rounding::HalfUp, traps: Conditions::NONE.with(condition) };
    for (a, b, condition, code) in [
        ("1", "3", Condition::Inexact, isc::DECFLOAT_INEXACT_RESULT),
        ("1e-6176", "3", Condition::Underflow, isc::DECFLOAT_UNDERFLOW),
        ("1", "0", Condition::DivisionByZero, isc::DECFLOAT_DIVIDE_BY_ZERO),
        ("0", "0", Condition::InvalidOperation, isc::DECFLOAT_INVALID_OPERATION),
        ("9e6144", "0.1", Condition::Overflow, isc::DECFLOAT_OVERFLOW),
    ] {
        assert_eq!(divide(a, b, &trapping(condition)).expect_err(a).gds_code(), code, "{a} / {b}");
    }
    // A half is exact, and a small number that keeps its digits has lost nothing.
    assert_eq!(divide("1", "2", &trapping(Condition::Inexact)).expect("exact"), "0.5");
    assert_eq!(divide("10e-6176", "10", &trapping(Condition::Underflow)).expect("exact"), "1E-6176");
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(bits in any::<u128>()) {
        let value = Decimal(bits);
        let again: Decimal = value.to_string().parse().expect("printed");
        prop_assert_eq!(again.parts(), value.parts());
    }

    #[test]
    fn small_sums_are_exact(a in any::<i64>(), b in any::<i64>()) {
        let sum = Decimal::from_unscaled(a.into(), -3).add(Decimal::from_unscaled(b.into(), -3)).expect("small");
        prop_assert_eq!(sum.to_unscaled(-3, Rounding::HalfUp), Ok(i128::from(a) + i128::from(b)));
    }

    #[test]
    fn small_products_are_exact(a in any::<i32>(), b in any::<i32>()) {
        let product = Decimal::from_unscaled(a.into(), -3).multiply(Decimal::from_unscaled(b.into(), 0)).expect("small");
        prop_assert_eq!(product.to_unscaled(-3, Rounding::HalfUp), Ok(i128::from(a) * i128::from(b)));
    }

    #[test]
    fn nothing_panics(a in any::<u128>(), b in any::<u128>()) {
        let (a, b) = (Decimal(a), Decimal(b));
        let _ = (a.add(b), a.multiply(b), a.divide(b), a.quantize(b, &DecimalContext::DEFAULT), a.compare(b), a.to_f64());
        let _ = (a.to_decimal64_bits(), a.to_unscaled(-5, Rounding::Up), a.reduced());
    }
}
