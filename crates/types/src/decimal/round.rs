//! Rounding to a number of digits and a range of exponents.

use super::wide::Wide;
use super::{Condition, Conditions, Decimal, DecimalContext, DecimalParts, Precision, bits};
use crate::error::Result;

/// Where a number between two representable ones goes: the modes of SET DECFLOAT ROUND.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Rounding {
    /// Towards plus infinity.
    Ceiling,
    /// Away from zero.
    Up,
    /// To the nearest; the middle away from zero. Firebird's default.
    #[default]
    HalfUp,
    /// To the nearest; the middle to the even digit.
    HalfEven,
    /// To the nearest; the middle towards zero.
    HalfDown,
    /// Towards zero.
    Down,
    /// Towards minus infinity.
    Floor,
    /// Away from zero if the last digit would be 0 or 5, otherwise towards zero.
    Reround,
}

impl Rounding {
    const NAMES: [(&str, Rounding); 8] = [
        ("CEILING", Rounding::Ceiling),
        ("UP", Rounding::Up),
        ("HALF_UP", Rounding::HalfUp),
        ("HALF_EVEN", Rounding::HalfEven),
        ("HALF_DOWN", Rounding::HalfDown),
        ("DOWN", Rounding::Down),
        ("FLOOR", Rounding::Floor),
        ("REROUND", Rounding::Reround),
    ];

    /// The mode of its name in SET DECFLOAT ROUND.
    pub fn by_name(name: &str) -> Option<Rounding> {
        Rounding::NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, mode)| *mode)
    }

    /// Its name in SET DECFLOAT ROUND.
    pub fn name(self) -> &'static str {
        Rounding::NAMES.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| *name)
    }

    /// Whether to take the next greater magnitude, given the last digit kept and what is dropped.
    fn away_from_zero(self, negative: bool, last_digit: u128, dropped: Dropped) -> bool {
        if dropped == Dropped::Nothing {
            return false;
        }
        match self {
            Rounding::Ceiling => !negative,
            Rounding::Floor => negative,
            Rounding::Up => true,
            Rounding::Down => false,
            Rounding::HalfUp => dropped >= Dropped::Half,
            Rounding::HalfDown => dropped > Dropped::Half,
            Rounding::HalfEven => dropped > Dropped::Half || dropped == Dropped::Half && last_digit % 2 == 1,
            Rounding::Reround => last_digit.is_multiple_of(5),
        }
    }
}

/// What is dropped, in units of the last digit kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Dropped {
    Nothing,
    LessThanHalf,
    Half,
    MoreThanHalf,
}

/// Divides a coefficient by ten to the `count`, rounding, and says whether anything was dropped that was not 0. `inexact` says that
/// something below the coefficient was dropped already.
pub(super) fn drop_digits(
    negative: bool,
    coefficient: Wide,
    count: u32,
    inexact: bool,
    rounding: Rounding,
) -> (Wide, bool) {
    // No coefficient has more than 77 digits: dropping more leaves less than half.
    let (kept, dropped) = if count > 77 {
        let dropped =
            if coefficient.is_zero() && !inexact { Dropped::Nothing } else { Dropped::LessThanHalf };
        (Wide::from(0), dropped)
    } else {
        let mut kept = coefficient;
        let mut sticky = inexact;
        // All but the last digit in steps of at most 10^38, the last one alone to tell half.
        let mut rest = count.saturating_sub(1);
        while rest > 0 {
            let step = rest.min(38);
            let (quotient, remainder) = kept.divided_by(10u128.pow(step));
            sticky |= remainder != 0;
            kept = quotient;
            rest -= step;
        }
        let mut digit = 0;
        if count > 0 {
            (kept, digit) = kept.divided_by(10);
        }
        let dropped = match (digit, sticky) {
            (0, false) => Dropped::Nothing,
            (0..5, _) => Dropped::LessThanHalf,
            (5, false) => Dropped::Half,
            _ => Dropped::MoreThanHalf,
        };
        (kept, dropped)
    };
    let last_digit = kept.divided_by(10).1;
    let away = rounding.away_from_zero(negative, last_digit, dropped);
    (if away { kept.plus(Wide::from(1)) } else { kept }, dropped != Dropped::Nothing)
}

/// Makes a number of a coefficient of any length: rounds it to the precision, fits the exponent into the range.
///
/// # Errors
/// `decfloat_overflow`, `decfloat_underflow` and `decfloat_inexact_result`, as far as they are trapped.
pub(super) fn finish(
    negative: bool,
    coefficient: Wide,
    exponent: i32,
    inexact: bool,
    precision: Precision,
    context: &DecimalContext,
) -> Result<Decimal> {
    let digits_max = precision.digits();
    let surplus_digits = coefficient.digits().saturating_sub(digits_max);
    let surplus_exponent = u32::try_from(precision.exponent_min().saturating_sub(exponent)).unwrap_or(0);
    let count = surplus_digits.max(surplus_exponent);
    let lowest = precision.exponent_min().saturating_add_unsigned(digits_max - 1);
    let top = exponent.saturating_add_unsigned(coefficient.digits()).saturating_sub(1);
    let is_tiny = !coefficient.is_zero() && top < lowest;
    let (mut rounded, is_inexact) = drop_digits(negative, coefficient, count, inexact, context.rounding);
    let mut exponent = exponent.saturating_add_unsigned(count);
    if rounded.digits() > digits_max {
        // 99.5 became 100: exactly a power of ten.
        rounded = rounded.divided_by(10).0;
        exponent = exponent.saturating_add(1);
    }
    if rounded.is_zero() {
        exponent = exponent.clamp(precision.exponent_min(), precision.exponent_max());
    }
    // A high exponent may be written with more zeros in the coefficient.
    while exponent > precision.exponent_max() && rounded.digits() < digits_max {
        rounded = rounded.times_power_of_ten(1);
        exponent -= 1;
    }
    if exponent > precision.exponent_max() {
        return context.overflow(negative, precision);
    }
    let met = Conditions::NONE
        .with_if(is_inexact, Condition::Inexact)
        .with_if(is_inexact && is_tiny, Condition::Underflow);
    context.check(met)?;
    let parts = DecimalParts::Finite { negative, coefficient: rounded.low(), exponent };
    Ok(Decimal(bits::pack_128(parts)))
}
