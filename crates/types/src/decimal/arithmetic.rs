//! Addition, multiplication, division, comparison, quantize.

use std::cmp::Ordering;

use super::wide::Wide;
use super::{Condition, Conditions, Decimal, DecimalContext, DecimalParts, Precision, Rounding, round};
use crate::error::Result;

use DecimalParts::{Finite, Infinity, Nan};

/// Beyond this distance a smaller addend only tells that the sum is not exact.
const ALIGN_MAX: u32 = 36;

/// Computes in 34 digits, as Firebird does for both sizes of DECFLOAT.
impl Decimal {
    /// The sum.
    ///
    /// # Errors
    /// `decfloat_overflow`; `decfloat_invalid_operation` for Infinity - Infinity and signalling NaNs.
    #[expect(clippy::should_implement_trait, reason = "a sum can fail")]
    pub fn add(self, other: Decimal) -> Result<Decimal> {
        self.add_in(other, &DecimalContext::DEFAULT)
    }

    /// As [`Decimal::add`], by a context.
    ///
    /// # Errors
    /// Those conditions that are trapped.
    pub fn add_in(self, other: Decimal, context: &DecimalContext) -> Result<Decimal> {
        let (a, b) = (self.parts(), other.parts());
        if let Some(nan) = nan_of(a, b, context)? {
            return Ok(nan);
        }
        match (a, b) {
            (Infinity { negative: a }, Infinity { negative: b }) if a != b => context.invalid(),
            (Infinity { negative }, _) | (_, Infinity { negative }) => Ok(Decimal::infinity(negative)),
            (
                Finite { negative: a, coefficient: a_coefficient, exponent: a_exponent },
                Finite { negative: b, coefficient: b_coefficient, exponent: b_exponent },
            ) => add_finite((a, a_coefficient, a_exponent), (b, b_coefficient, b_exponent), context),
            (Nan { .. }, _) | (_, Nan { .. }) => Ok(Decimal::nan()),
        }
    }

    /// The difference.
    ///
    /// # Errors
    /// As [`Decimal::add`].
    pub fn subtract(self, other: Decimal) -> Result<Decimal> {
        self.add(other.negated())
    }

    /// As [`Decimal::subtract`], by a context.
    ///
    /// # Errors
    /// Those conditions that are trapped.
    pub fn subtract_in(self, other: Decimal, context: &DecimalContext) -> Result<Decimal> {
        self.add_in(other.negated(), context)
    }

    /// The product.
    ///
    /// # Errors
    /// `decfloat_overflow`; `decfloat_invalid_operation` for 0 * Infinity and signalling NaNs.
    pub fn multiply(self, other: Decimal) -> Result<Decimal> {
        self.multiply_in(other, &DecimalContext::DEFAULT)
    }

    /// As [`Decimal::multiply`], by a context.
    ///
    /// # Errors
    /// Those conditions that are trapped.
    pub fn multiply_in(self, other: Decimal, context: &DecimalContext) -> Result<Decimal> {
        let (a, b) = (self.parts(), other.parts());
        if let Some(nan) = nan_of(a, b, context)? {
            return Ok(nan);
        }
        let negative = self.is_negative() != other.is_negative();
        match (a, b) {
            (
                Finite { coefficient: a, exponent: a_exponent, .. },
                Finite { coefficient: b, exponent: b_exponent, .. },
            ) => finish(negative, Wide::product(a, b), a_exponent + b_exponent, false, context),
            _ if self.is_zero() || other.is_zero() => context.invalid(),
            _ => Ok(Decimal::infinity(negative)),
        }
    }

    /// The quotient, with as few digits as say it exactly, if 34 can.
    ///
    /// # Errors
    /// `decfloat_divide_by_zero`, `decfloat_overflow`; `decfloat_invalid_operation` for 0 / 0,
    /// Infinity / Infinity and signalling NaNs.
    pub fn divide(self, other: Decimal) -> Result<Decimal> {
        self.divide_in(other, &DecimalContext::DEFAULT)
    }

    /// As [`Decimal::divide`], by a context.
    ///
    /// # Errors
    /// Those conditions that are trapped.
    pub fn divide_in(self, other: Decimal, context: &DecimalContext) -> Result<Decimal> {
        let (a, b) = (self.parts(), other.parts());
        if let Some(nan) = nan_of(a, b, context)? {
            return Ok(nan);
        }
        let negative = self.is_negative() != other.is_negative();
        match (a, b) {
            (
                Finite { coefficient: a, exponent: a_exponent, .. },
                Finite { coefficient: b, exponent: b_exponent, .. },
            ) => divide_finite(negative, (a, a_exponent), (b, b_exponent), context),
            (Infinity { .. }, Infinity { .. }) => context.invalid(),
            (Infinity { .. }, _) => Ok(Decimal::infinity(negative)),
            _ => finish(negative, Wide::from(0), Precision::ThirtyFour.exponent_min(), false, context),
        }
    }

    /// This number with the exponent of `pattern`: QUANTIZE.
    ///
    /// # Errors
    /// `decfloat_invalid_operation` if the coefficient would need more than 34 digits, or for one Infinity alone.
    pub fn quantize(self, pattern: Decimal, context: &DecimalContext) -> Result<Decimal> {
        let (a, b) = (self.parts(), pattern.parts());
        if let Some(nan) = nan_of(a, b, context)? {
            return Ok(nan);
        }
        match (a, b) {
            (Finite { negative, coefficient, exponent: from }, Finite { exponent: to, .. }) => {
                requantize(negative, coefficient, from, to, context)
            }
            (Infinity { .. }, Infinity { .. }) => Ok(self),
            _ => context.invalid(),
        }
    }

    /// This number with the digits after 10 to the `exponent` rounded off: what CEIL, FLOOR, ROUND and TRUNC need. A
    /// number without such digits stays as it is.
    ///
    /// # Errors
    /// `decfloat_invalid_operation` for a signalling NaN.
    pub fn rounded_to_exponent(self, exponent: i32, rounding: Rounding) -> Result<Decimal> {
        let context = &DecimalContext::DEFAULT.rounding(rounding);
        match self.parts() {
            Finite { negative, coefficient, exponent: from } if from < exponent => {
                requantize(negative, coefficient, from, exponent, context)
            }
            Nan { signaling: true, .. } => context.invalid(),
            _ => Ok(self),
        }
    }
}

fn finish(
    negative: bool,
    coefficient: Wide,
    exponent: i32,
    inexact: bool,
    context: &DecimalContext,
) -> Result<Decimal> {
    round::finish(negative, coefficient, exponent, inexact, Precision::ThirtyFour, context)
}

/// The NaN that a NaN operand makes of the result.
fn nan_of(a: DecimalParts, b: DecimalParts, context: &DecimalContext) -> Result<Option<Decimal>> {
    match (a, b) {
        (Nan { signaling: true, .. }, _) | (_, Nan { signaling: true, .. }) => context.invalid().map(Some),
        (Nan { .. }, _) | (_, Nan { .. }) => Ok(Some(Decimal::nan())),
        _ => Ok(None),
    }
}

type Finited = (bool, u128, i32);

fn add_finite(a: Finited, b: Finited, context: &DecimalContext) -> Result<Decimal> {
    let (upper, lower) = if a.2 >= b.2 { (a, b) } else { (b, a) };
    let mut distance = upper.2.abs_diff(lower.2);
    if upper.1 == 0 {
        // A zero takes the lower exponent and changes nothing else.
        let negative = if lower.1 == 0 { upper.0 && lower.0 } else { lower.0 };
        return finish(negative, lower.1.into(), lower.2, false, context);
    }
    let mut lower_coefficient = lower.1;
    let mut exponent = lower.2;
    let mut inexact = false;
    if distance > ALIGN_MAX {
        if lower.1 == 0 {
            // Only the exponent counts: as near to it as 34 digits allow, which `finish` would not know.
            distance = (Precision::ThirtyFour.digits() - Wide::from(upper.1).digits()).min(distance);
        } else {
            let kept = distance - ALIGN_MAX;
            inexact = true;
            lower_coefficient = if kept > 38 { 0 } else { lower.1 / 10u128.pow(kept) };
            // What lies between two whole numbers is counted as the lower one and something.
            inexact &= kept > 38 || lower_coefficient * 10u128.pow(kept) != lower.1;
            distance = ALIGN_MAX;
        }
        exponent = upper.2 - distance.cast_signed();
    }
    let upper_coefficient = Wide::from(upper.1).times_power_of_ten(distance);
    let lower_coefficient = Wide::from(lower_coefficient);
    if upper.0 == lower.0 {
        return finish(upper.0, upper_coefficient.plus(lower_coefficient), exponent, inexact, context);
    }
    match upper_coefficient.cmp(&lower_coefficient) {
        // A sum of nothing is -0 only where rounding goes down.
        Ordering::Equal => {
            let negative = context.rounding == Rounding::Floor;
            finish(negative, Wide::from(0), exponent, false, context)
        }
        Ordering::Less => {
            finish(lower.0, lower_coefficient.minus(upper_coefficient), exponent, false, context)
        }
        Ordering::Greater => {
            let mut difference = upper_coefficient.minus(lower_coefficient);
            if inexact {
                // upper - (lower + something) lies just below: one less, and something.
                difference = difference.minus(Wide::from(1));
            }
            finish(upper.0, difference, exponent, inexact, context)
        }
    }
}

fn divide_finite(
    negative: bool,
    a: (u128, i32),
    b: (u128, i32),
    context: &DecimalContext,
) -> Result<Decimal> {
    if b.0 == 0 {
        return if a.0 == 0 { context.invalid() } else { context.divided_by_zero(negative) };
    }
    let ideal = a.1 - b.1;
    if a.0 == 0 {
        return finish(negative, Wide::from(0), ideal, false, context);
    }
    // Enough digits for 34 and one more to round by.
    let (a_digits, b_digits) = (Wide::from(a.0).digits(), Wide::from(b.0).digits());
    let shift = (Precision::ThirtyFour.digits() + 1 + b_digits).saturating_sub(a_digits);
    let (mut quotient, remainder) = Wide::from(a.0).times_power_of_ten(shift).divided_by(b.0);
    let mut exponent = ideal - shift.cast_signed();
    if remainder == 0 {
        // Exact: drop zeros until the ideal exponent.
        while exponent < ideal {
            let (shorter, digit) = quotient.divided_by(10);
            if digit != 0 {
                break;
            }
            quotient = shorter;
            exponent += 1;
        }
    }
    finish(negative, quotient, exponent, remainder != 0, context)
}

fn requantize(
    negative: bool,
    coefficient: u128,
    from: i32,
    to: i32,
    context: &DecimalContext,
) -> Result<Decimal> {
    let digits_max = Precision::ThirtyFour.digits();
    let (rescaled, is_inexact) = if to > from {
        round::drop_digits(negative, coefficient.into(), to.abs_diff(from), false, context.rounding)
    } else if coefficient == 0 {
        (Wide::from(0), false)
    } else {
        let added = from.abs_diff(to);
        if Wide::from(coefficient).digits().saturating_add(added) > digits_max {
            return context.invalid();
        }
        (Wide::from(coefficient).times_power_of_ten(added), false)
    };
    if rescaled.is_wide() || rescaled.digits() > digits_max {
        return context.invalid();
    }
    context.check(Conditions::NONE.with_if(is_inexact, Condition::Inexact))?;
    finish(negative, rescaled, to, false, context)
}

/// Where a number stands among the kinds, lowest first.
fn rank(parts: DecimalParts) -> u8 {
    match parts {
        Infinity { negative: true } => 0,
        Finite { coefficient: 0, .. } => 2,
        Finite { negative: true, .. } => 1,
        Finite { negative: false, .. } => 3,
        Infinity { negative: false } => 4,
        Nan { signaling: false, .. } => 5,
        Nan { signaling: true, .. } => 6,
    }
}

pub(super) fn compare(a: DecimalParts, b: DecimalParts) -> Ordering {
    let by_rank = rank(a).cmp(&rank(b));
    match (a, b) {
        (
            Finite { negative, coefficient: a_coefficient, exponent: a_exponent },
            Finite { coefficient: b_coefficient, exponent: b_exponent, .. },
        ) if by_rank.is_eq() && a_coefficient != 0 => {
            let magnitude = compare_magnitudes((a_coefficient, a_exponent), (b_coefficient, b_exponent));
            if negative { magnitude.reverse() } else { magnitude }
        }
        _ => by_rank,
    }
}

/// Compares coefficients that are not 0.
fn compare_magnitudes(a: (u128, i32), b: (u128, i32)) -> Ordering {
    let top =
        |(coefficient, exponent): (u128, i32)| exponent + Wide::from(coefficient).digits().cast_signed();
    top(a).cmp(&top(b)).then_with(|| {
        // Of the same size, so the exponents differ by less than 34.
        let lowest = a.1.min(b.1);
        let aligned = |(coefficient, exponent): (u128, i32)| {
            Wide::from(coefficient).times_power_of_ten(exponent.abs_diff(lowest))
        };
        aligned(a).cmp(&aligned(b))
    })
}
