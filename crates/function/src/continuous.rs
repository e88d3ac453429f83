//! Roots, logarithms and powers of DECFLOAT(34), which `number` asks for.
//!
//! They are computed in whole numbers with more digits than a result keeps, and rounded once: the results are those of Firebird,
//! digit for digit, with as many zeros behind the point as there. EXP raises the 34 digits of e, as Firebird does.

use std::sync::LazyLock;

use farbird_types::decimal::{Decimal, DecimalParts, Rounding};
use farbird_types::{Error, Result, isc};
use num_bigint::{BigInt, BigUint, Sign};

/// Digits after the point of the fixed-point numbers here.
const PLACES: u32 = 80;

/// The same as an exponent of ten.
const PLACES_EXPONENT: i32 = 80;

/// Digits that are kept until the one rounding, more than any result has.
const DIGITS_KEPT: u32 = 36;

/// Beyond this power of e there is no DECFLOAT: it is more than the logarithm of the largest, and less than that of the smallest.
const POWER_OF_E_MAX: u32 = 20_000;

/// Above this power of ten no power of a DECFLOAT is one.
const EXPONENT_MAX: i64 = 100_000;

/// Most that powers are computed by squaring for.
const SQUARING_MAX: i128 = 999_999_999;

/// 1 in fixed point.
static UNIT: LazyLock<BigInt> = LazyLock::new(|| BigInt::from(10).pow(PLACES));

/// The natural logarithm of ten in fixed point: its digits in pieces of 27.
static LOGARITHM_OF_TEN: LazyLock<BigInt> = LazyLock::new(|| {
    const PIECES: [u128; 3] = [
        230_258_509_299_404_568_401_799_145,
        468_436_420_760_110_148_862_877_297,
        603_332_790_096_757_260_967_735_248,
    ];
    let piece = BigInt::from(10).pow(27);
    PIECES.iter().fold(BigInt::ZERO, |digits, part| digits * &piece + BigInt::from(*part))
});

/// e, as many digits as a DECFLOAT(34) has.
fn base_of_logarithms() -> Result<Decimal> {
    Decimal::from_parts(false, 2_718_281_828_459_045_235_360_287_471_352_662, -33)
}

fn small(number: i64) -> Decimal {
    Decimal::from_unscaled(i128::from(number), 0)
}

/// Whether a number has no digits after the point.
///
/// # Errors
/// None for numbers; infinities are integral.
pub(super) fn is_integral(value: Decimal) -> Result<bool> {
    Ok(match value.reduced() {
        Some((_, coefficient, exponent)) => coefficient == 0 || exponent >= 0,
        None => true,
    })
}

/// The square root: with half as many digits after the point if it is exact.
///
/// # Errors
/// Those of decimal arithmetic.
pub(super) fn square_root(operand: Decimal) -> Result<Decimal> {
    const MORE: u32 = 40;
    const MORE_EXPONENT: i32 = 40;
    let DecimalParts::Finite { negative, coefficient, exponent } = operand.parts() else {
        return Ok(operand);
    };
    let odd = u32::from(exponent.rem_euclid(2) != 0);
    let square = BigUint::from(coefficient) * power_of_ten(odd);
    let half = exponent.div_euclid(2);
    let root = square.sqrt();
    if &root * &root == square {
        return rounded(negative, &root, half, true);
    }
    let root = (square * power_of_ten(2 * MORE)).sqrt();
    rounded(negative, &root, half - MORE_EXPONENT, false)
}

/// e to the operand.
///
/// # Errors
/// `decfloat_overflow`.
pub(super) fn exponential(operand: Decimal) -> Result<Decimal> {
    match operand.parts() {
        DecimalParts::Finite { .. } => power(base_of_logarithms()?, operand),
        _ if operand.is_negative() => Ok(Decimal::ZERO),
        _ => Err(Error::new(isc::DECFLOAT_OVERFLOW)),
    }
}

/// The natural logarithm of a positive number.
///
/// # Errors
/// Those of decimal arithmetic.
pub(super) fn logarithm(operand: Decimal) -> Result<Decimal> {
    let DecimalParts::Finite { coefficient, exponent, .. } = operand.parts() else { return Ok(operand) };
    from_fixed(&fixed_logarithm(coefficient, exponent))
}

/// The logarithm of a positive number to base ten.
///
/// # Errors
/// Those of decimal arithmetic.
pub(super) fn logarithm_to_base_ten(operand: Decimal) -> Result<Decimal> {
    let DecimalParts::Finite { coefficient, exponent, .. } = operand.parts() else { return Ok(operand) };
    let (mantissa, power) = normalized(coefficient, exponent);
    let fraction = logarithm_of_mantissa(&mantissa) * &*UNIT / &*LOGARITHM_OF_TEN;
    if fraction == BigInt::ZERO {
        return Ok(small(i64::from(power)));
    }
    from_fixed(&(fraction + BigInt::from(power) * &*UNIT))
}

/// The base to the exponent: by squaring for whole exponents of moderate size, otherwise by logarithm.
///
/// # Errors
/// `decfloat_overflow`, `decfloat_invalid_operation` for 0 to the power 0, and those of decimal arithmetic.
pub(super) fn power(base: Decimal, exponent: Decimal) -> Result<Decimal> {
    if base.is_zero() && exponent.is_zero() {
        return Err(Error::new(isc::DECFLOAT_INVALID_OPERATION));
    }
    let integral = is_integral(exponent)?;
    if integral
        && let Ok(whole) = exponent.to_unscaled(0, Rounding::Down)
        && whole.abs() <= SQUARING_MAX
        && let DecimalParts::Finite { negative, coefficient, exponent } = base.parts()
        && (coefficient != 0 || whole > 0)
    {
        return raised(negative && whole % 2 != 0, coefficient, exponent, whole);
    }
    let (
        DecimalParts::Finite { coefficient, exponent: base_exponent, .. },
        DecimalParts::Finite { negative: is_root, coefficient: times, exponent: shift },
    ) = (base.parts(), exponent.parts())
    else {
        return base.multiply(exponent);
    };
    if coefficient == 0 {
        return Ok(Decimal::ZERO);
    }
    let mut power = shifted(fixed_logarithm(coefficient, base_exponent) * BigInt::from(times), shift);
    if is_root {
        power = -power;
    }
    let magnitude = match power.magnitude() > (&*UNIT * BigInt::from(POWER_OF_E_MAX)).magnitude() {
        true if power.sign() == Sign::Minus => Decimal::ZERO,
        true => return Err(Error::new(isc::DECFLOAT_OVERFLOW)),
        false => {
            let (mantissa, tens) = fixed_exponential(&power);
            rounded(false, mantissa.magnitude(), tens - PLACES_EXPONENT, false)?
        }
    };
    let odd = integral && exponent.to_unscaled(0, Rounding::Down).is_ok_and(|whole| whole % 2 != 0);
    Ok(if base.is_negative() && odd { magnitude.negated() } else { magnitude })
}

/// A number to a whole power, exactly as far as its digits are kept.
fn raised(negative: bool, coefficient: u128, exponent: i32, power: i128) -> Result<Decimal> {
    let mut result = Long { digits: BigUint::from(1_u32), exponent: 0, exact: true };
    let mut square = Long { digits: BigUint::from(coefficient), exponent: i64::from(exponent), exact: true };
    let mut rest = power.unsigned_abs();
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.times(&square);
        }
        rest >>= 1;
        if rest > 0 {
            square = square.times(&square);
        }
    }
    if power < 0 {
        result = result.reciprocal();
    }
    let exponent = result.exponent.clamp(-EXPONENT_MAX, EXPONENT_MAX);
    rounded(negative, &result.digits, i32::try_from(exponent).unwrap_or(i32::MAX), result.exact)
}

/// A number of at most `PLACES` digits.
struct Long {
    digits: BigUint,
    exponent: i64,
    /// Whether no digit has been dropped.
    exact: bool,
}

impl Long {
    fn times(&self, other: &Long) -> Long {
        let digits = &self.digits * &other.digits;
        let surplus = length(&digits).saturating_sub(PLACES);
        let unit = power_of_ten(surplus);
        let kept = &digits / &unit;
        let exact = self.exact && other.exact && &kept * &unit == digits;
        Long { digits: kept, exponent: self.exponent + other.exponent + i64::from(surplus), exact }
    }

    /// 1 by a number that is not 0, without zeros at its end if it is exact.
    fn reciprocal(&self) -> Long {
        let places = 2 * PLACES;
        let one = power_of_ten(places);
        let mut digits = &one / &self.digits;
        let exact = self.exact && &digits * &self.digits == one;
        let mut exponent = -self.exponent - i64::from(places);
        let ten = BigUint::from(10_u32);
        while exact && &digits % &ten == BigUint::ZERO {
            digits /= &ten;
            exponent += 1;
        }
        Long { digits, exponent, exact }
    }
}

fn power_of_ten(exponent: u32) -> BigUint {
    BigUint::from(10_u32).pow(exponent)
}

/// Digits of a number, 1 for 0.
fn length(number: &BigUint) -> u32 {
    u32::try_from(number.to_string().len()).unwrap_or(u32::MAX)
}

/// A result: as it is if it is exact and has the digits for that, otherwise with all the digits that a DECFLOAT has.
fn rounded(negative: bool, digits: &BigUint, exponent: i32, exact: bool) -> Result<Decimal> {
    let count = length(digits);
    if exact && count <= DIGITS_KEPT {
        return Decimal::from_parts(negative, to_coefficient(digits), exponent);
    }
    // One digit more tells whether anything but zeros is dropped.
    let (kept, dropped, exponent) = if count > DIGITS_KEPT {
        let unit = power_of_ten(count - DIGITS_KEPT);
        let kept = digits / &unit;
        let dropped = &kept * &unit != *digits;
        (kept, dropped, exponent.saturating_add_unsigned(count - DIGITS_KEPT))
    } else {
        let missing = DIGITS_KEPT - count;
        (digits * power_of_ten(missing), false, exponent.saturating_sub_unsigned(missing))
    };
    let sticky = u128::from(dropped || !exact);
    Decimal::from_parts(negative, to_coefficient(&kept) * 10 + sticky, exponent.saturating_sub(1))
}

/// A number of no more than 36 digits.
fn to_coefficient(digits: &BigUint) -> u128 {
    u128::try_from(digits).unwrap_or(u128::MAX / 16)
}

/// A number in fixed point that is not exact unless it is 0.
fn from_fixed(number: &BigInt) -> Result<Decimal> {
    match number.sign() {
        Sign::NoSign => Ok(Decimal::ZERO),
        sign => rounded(sign == Sign::Minus, number.magnitude(), -PLACES_EXPONENT, false),
    }
}

/// Times ten to the `places`.
fn shifted(number: BigInt, places: i32) -> BigInt {
    let unit = BigInt::from(10).pow(places.unsigned_abs());
    if places < 0 { number / unit } else { number * unit }
}

/// A positive number as one from 1 to 10, in fixed point, and a power of ten.
fn normalized(coefficient: u128, exponent: i32) -> (BigInt, i32) {
    let digits = coefficient.checked_ilog10().unwrap_or(0);
    let mantissa = BigInt::from(coefficient) * BigInt::from(10).pow(PLACES - digits);
    (mantissa, exponent.saturating_add_unsigned(digits))
}

/// The natural logarithm of a positive number, in fixed point.
fn fixed_logarithm(coefficient: u128, exponent: i32) -> BigInt {
    let (mantissa, power) = normalized(coefficient, exponent);
    logarithm_of_mantissa(&mantissa) + BigInt::from(power) * &*LOGARITHM_OF_TEN
}

/// The natural logarithm of a number from 1 to 10: Halley's iteration on the exponential, which trebles the digits of a double's.
fn logarithm_of_mantissa(mantissa: &BigInt) -> BigInt {
    const DOUBLE_PLACES: u32 = 15;
    if *mantissa == *UNIT {
        return BigInt::ZERO;
    }
    let leading = mantissa / BigInt::from(10).pow(PLACES - DOUBLE_PLACES);
    let leading = i64::try_from(leading).unwrap_or(i64::MAX) as f64 / 1e15;
    let mut estimate =
        BigInt::from((leading.ln() * 1e15).round() as i64) * BigInt::from(10).pow(PLACES - DOUBLE_PLACES);
    for _ in 0..2 {
        let (power, tens) = fixed_exponential(&estimate);
        let power = shifted(power, tens);
        estimate += BigInt::from(2) * (mantissa - &power) * &*UNIT / (mantissa + &power);
    }
    estimate
}

/// e to a power, as a number in fixed point and a power of ten: the tens are taken out, the rest is a series.
fn fixed_exponential(power: &BigInt) -> (BigInt, i32) {
    /// How often the operand of the series is halved, and its sum squared.
    const HALVINGS: u32 = 6;
    let tens = power / &*LOGARITHM_OF_TEN;
    let rest = (power - &tens * &*LOGARITHM_OF_TEN) >> HALVINGS;
    let mut term = UNIT.clone();
    let mut sum = UNIT.clone();
    let mut step = 0_u32;
    while term.magnitude() > &BigUint::from(1_u32) {
        step += 1;
        term = term * &rest / &*UNIT / BigInt::from(step);
        sum += &term;
    }
    for _ in 0..HALVINGS {
        sum = &sum * &sum / &*UNIT;
    }
    (sum, i32::try_from(tens).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    fn computed(function: fn(Decimal) -> Result<Decimal>, operand: &str) -> String {
        function(decimal(operand)).unwrap().to_string()
    }

    /// Recorded from Firebird 5.
    #[test]
    fn roots_have_firebirds_digits() {
        for (operand, root) in [
            ("2", "1.414213562373095048801688724209698"),
            ("1.00", "1.0"),
            ("4.0000", "2.00"),
            ("400", "20"),
            ("1e10", "1E+5"),
            ("0.00", "0.0"),
            ("1.44000", "1.200"),
            ("1.234567", "1.111110705555481541639651584896590"),
            ("2e-6001", "4.472135954999579392818347337462552E-3001"),
            ("1e6001", "3.162277660168379331998893544432719E+3000"),
        ] {
            assert_eq!(computed(square_root, operand), root, "of {operand}");
        }
    }

    /// Recorded from Firebird 5.
    #[test]
    fn logarithms_have_firebirds_digits() {
        for (operand, natural) in [
            ("1", "0"),
            ("1.000", "0"),
            ("10", "2.302585092994045684017991454684364"),
            ("1.000000000000000000000000000000001", "9.999999999999999999999999999999995E-34"),
            ("0.9999999999999999999999999999999999", "-1.000000000000000000000000000000000E-34"),
            ("1e6144", "14147.08281135541668260653949758073"),
            ("1e-6176", "-14220.76553433122614449511522413063"),
            ("3.75", "1.321755839982319447161540327232360"),
        ] {
            assert_eq!(computed(logarithm, operand), natural, "of {operand}");
        }
        for (operand, to_base_ten) in [
            ("1.000", "0"),
            ("1000.00", "3"),
            ("0.001", "-3"),
            ("1e-6176", "-6176"),
            ("2", "0.3010299956639811952137388947244930"),
            ("3.75", "0.5740312677277188516538112190816362"),
        ] {
            assert_eq!(computed(logarithm_to_base_ten, operand), to_base_ten, "of {operand}");
        }
    }

    /// Recorded from Firebird 5.
    #[test]
    fn exponentials_have_firebirds_digits() {
        for (operand, power) in [
            ("0.000", "1"),
            ("1", "2.718281828459045235360287471352662"),
            ("-1", "0.3678794411714423215955237701614609"),
            ("1e-40", "1.000000000000000000000000000000000"),
            ("1e-10", "1.000000000100000000005000000000167"),
            ("3.75", "42.52108200006278305551817262160383"),
            ("100", "2.688117141816135448412625551579964E+43"),
            ("-100", "3.720075976020835962959695803863186E-44"),
            ("14149", "6.801809260978894125530050851880107E+6144"),
            ("-14200", "1.043174528E-6167"),
            ("-14230", "0E-6176"),
        ] {
            assert_eq!(computed(exponential, operand), power, "of {operand}");
        }
        for operand in ["14150", "1e30"] {
            assert_eq!(exponential(decimal(operand)).unwrap_err().gds_code(), isc::DECFLOAT_OVERFLOW);
        }
    }

    /// Recorded from Firebird 5.
    #[test]
    fn powers_have_firebirds_digits() {
        for (base, exponent, expected) in [
            ("2", "0.5", "1.414213562373095048801688724209698"),
            ("4", "1.5", "8.000000000000000000000000000000000"),
            ("1.1", "1000", "2.469932918005826334124088385085221E+41"),
            ("1.10", "2", "1.2100"),
            ("10", "3", "1000"),
            ("2", "-3", "0.125"),
            ("3", "-3", "0.03703703703703703703703703703703704"),
            ("-2", "3", "-8"),
            ("1.234567", "2.5", "1.693505690191195765175417325283975"),
            ("99.99", "12.34", "4780397975602605241223786.743705943"),
            ("7", "333", "2.616057737058708040363301421995058E+281"),
            ("0", "2", "0"),
        ] {
            let power = power(decimal(base), decimal(exponent)).unwrap();
            assert_eq!(power.to_string(), expected, "{base} to {exponent}");
        }
        let error = power(Decimal::ZERO, Decimal::ZERO).unwrap_err();
        assert_eq!(error.gds_code(), isc::DECFLOAT_INVALID_OPERATION);
    }

    #[test]
    fn powers_that_are_no_numbers_end() {
        assert_eq!(
            power(decimal("9e6000"), decimal("999999999")).unwrap_err().gds_code(),
            isc::DECFLOAT_OVERFLOW
        );
        assert!(power(decimal("9e6000"), decimal("-999999999")).unwrap().is_zero());
        assert_eq!(power(decimal("1.5"), decimal("1e6000")).unwrap_err().gds_code(), isc::DECFLOAT_OVERFLOW);
        assert!(power(decimal("1.5"), decimal("-1e6000")).unwrap().is_zero());
        assert_eq!(
            power(decimal("1"), decimal("1.5e-6000")).unwrap().compare(decimal("1")),
            std::cmp::Ordering::Equal
        );
    }
}
