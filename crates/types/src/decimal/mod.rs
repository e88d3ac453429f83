//! DECFLOAT: decimal floating point of 16 or 34 digits (IEEE 754-2008 decimal64 and decimal128).
//!
//! A number is a sign, a whole coefficient and a power of ten; 1.0 and 1.00 are different representations of equal
//! numbers. Results are rounded to the precision of their type as a [`DecimalContext`] says, which also says what is an error: by
//! default division by zero, invalid operations (a signalling NaN, Infinity - Infinity) and overflow, as in Firebird. What takes no
//! context works by the default one.
//!
//! Source: IEEE 754-2008, section 3.5; the General Decimal Arithmetic specification for exponents and text.

mod arithmetic;
mod bits;
mod context;
mod round;
#[cfg(test)]
mod tests;
mod text;
mod wide;

use std::cmp::Ordering;

use crate::error::{Error, Result, isc};

pub use context::{Condition, Conditions, DecimalContext};
pub use round::Rounding;

/// A decimal floating-point number of up to 34 digits, kept as its decimal128 bits (DPD encoding, big-endian value).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct Decimal(pub u128);

/// The two sizes of DECFLOAT.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Precision {
    /// DECFLOAT(16), decimal64.
    Sixteen,
    /// DECFLOAT(34), decimal128.
    ThirtyFour,
}

impl Precision {
    /// How many digits a coefficient may have.
    pub const fn digits(self) -> u32 {
        match self {
            Precision::Sixteen => 16,
            Precision::ThirtyFour => 34,
        }
    }

    /// The lowest exponent of a whole coefficient.
    pub const fn exponent_min(self) -> i32 {
        match self {
            Precision::Sixteen => -398,
            Precision::ThirtyFour => -6176,
        }
    }

    /// The highest exponent of a whole coefficient.
    pub const fn exponent_max(self) -> i32 {
        match self {
            Precision::Sixteen => 369,
            Precision::ThirtyFour => 6111,
        }
    }
}

/// What a [`Decimal`] says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DecimalParts {
    /// A number: coefficient times ten to the exponent.
    Finite {
        /// Below zero; zero has a sign as well.
        negative: bool,
        /// Below 10 to the 34th.
        coefficient: u128,
        /// -6176 to 6111.
        exponent: i32,
    },
    /// Infinity.
    Infinity {
        /// Below zero.
        negative: bool,
    },
    /// Not a number.
    Nan {
        /// Its sign, which means nothing.
        negative: bool,
        /// Whether using it is an invalid operation.
        signaling: bool,
    },
}

impl Decimal {
    /// 0.
    pub const ZERO: Decimal = Decimal(0x2208_0000_0000_0000_0000_0000_0000_0000);

    /// Takes the bits apart.
    pub fn parts(self) -> DecimalParts {
        bits::unpack_128(self.0)
    }

    /// Puts a number together. Coefficient and exponent must be in the ranges of [`DecimalParts::Finite`]: beyond
    /// them the number is rounded as by [`Decimal::rounded`].
    ///
    /// # Errors
    /// `decfloat_overflow`.
    pub fn from_parts(negative: bool, coefficient: u128, exponent: i32) -> Result<Decimal> {
        let context = &DecimalContext::DEFAULT;
        round::finish(negative, coefficient.into(), exponent, false, Precision::ThirtyFour, context)
    }

    /// The decimal64 bits of DECFLOAT(16), rounding to 16 digits.
    ///
    /// # Errors
    /// `decfloat_overflow` beyond the range of DECFLOAT(16).
    pub fn to_decimal64_bits(self) -> Result<u64> {
        Ok(bits::pack_64(self.rounded(Precision::Sixteen, &DecimalContext::DEFAULT)?.parts()))
    }

    /// The number of decimal64 bits.
    pub fn from_decimal64_bits(bits: u64) -> Decimal {
        Decimal(bits::pack_128(bits::unpack_64(bits)))
    }

    /// Infinity.
    pub fn infinity(negative: bool) -> Decimal {
        Decimal(bits::pack_128(DecimalParts::Infinity { negative }))
    }

    /// The NaN that does not signal.
    pub fn nan() -> Decimal {
        Decimal(bits::pack_128(DecimalParts::Nan { negative: false, signaling: false }))
    }

    /// Whether this is not a number.
    pub fn is_nan(self) -> bool {
        matches!(self.parts(), DecimalParts::Nan { .. })
    }

    /// Whether this is plus or minus infinity.
    pub fn is_infinite(self) -> bool {
        matches!(self.parts(), DecimalParts::Infinity { .. })
    }

    /// Whether this is zero of either sign.
    pub fn is_zero(self) -> bool {
        matches!(self.parts(), DecimalParts::Finite { coefficient: 0, .. })
    }

    /// Whether the sign bit is set.
    pub fn is_negative(self) -> bool {
        self.0 >> 127 == 1
    }

    /// The number with the other sign; never fails, as flipping the sign of a NaN says nothing.
    #[must_use]
    pub fn negated(self) -> Decimal {
        Decimal(self.0 ^ (1 << 127))
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(self) -> Decimal {
        Decimal(self.0 & !(1 << 127))
    }

    /// Rounds to a precision and its range of exponents.
    ///
    /// # Errors
    /// `decfloat_overflow`, `decfloat_underflow` and `decfloat_inexact_result`, as far as they are trapped.
    pub fn rounded(self, precision: Precision, context: &DecimalContext) -> Result<Decimal> {
        match self.parts() {
            DecimalParts::Finite { negative, coefficient, exponent } => {
                round::finish(negative, coefficient.into(), exponent, false, precision, context)
            }
            DecimalParts::Infinity { .. } | DecimalParts::Nan { .. } => Ok(self),
        }
    }

    /// SQL order: by value, whatever the representation, with -Infinity and Infinity at the ends and NaN above all,
    /// so that sorting is well defined; a signalling NaN above a quiet one.
    pub fn compare(self, other: Decimal) -> Ordering {
        arithmetic::compare(self.parts(), other.parts())
    }

    /// Coefficient without trailing zeros, and the exponent to it: the same for equal numbers. Nothing for NaN and
    /// Infinity.
    pub fn reduced(self) -> Option<(bool, u128, i32)> {
        let DecimalParts::Finite { negative, mut coefficient, mut exponent } = self.parts() else {
            return None;
        };
        if coefficient == 0 {
            return Some((false, 0, 0));
        }
        while coefficient % 10 == 0 {
            coefficient /= 10;
            exponent += 1;
        }
        Some((negative, coefficient, exponent))
    }

    /// An exact numeric, rounded half up to 34 digits if it has more.
    pub fn from_unscaled(unscaled: i128, scale: i8) -> Decimal {
        // 39 digits at a scale of -128 to 127 are far from either end of the range.
        Decimal::from_unscaled_in(unscaled, scale, &DecimalContext::DEFAULT).unwrap_or(Decimal::ZERO)
    }

    /// An exact numeric, rounded to 34 digits if it has more.
    ///
    /// # Errors
    /// `decfloat_inexact_result`, if that is trapped.
    pub fn from_unscaled_in(unscaled: i128, scale: i8, context: &DecimalContext) -> Result<Decimal> {
        let (negative, coefficient) = (unscaled < 0, unscaled.unsigned_abs());
        round::finish(negative, coefficient.into(), scale.into(), false, Precision::ThirtyFour, context)
    }

    /// The number in units of 10 to the `scale`, rounded.
    ///
    /// # Errors
    /// `decfloat_invalid_operation` for NaN, Infinity and what is beyond 128 bits.
    pub fn to_unscaled(self, scale: i8, rounding: Rounding) -> Result<i128> {
        let DecimalParts::Finite { negative, coefficient, exponent } = self.parts() else {
            return Err(invalid_operation());
        };
        let shift = exponent - i32::from(scale);
        let magnitude = if shift >= 0 {
            u32::try_from(shift)
                .ok()
                .and_then(|shift| 10u128.checked_pow(shift))
                .and_then(|power| coefficient.checked_mul(power))
                .or((coefficient == 0).then_some(0))
                .ok_or_else(invalid_operation)?
        } else {
            round::drop_digits(negative, coefficient.into(), shift.unsigned_abs(), false, rounding).0.low()
        };
        let value =
            if negative { 0i128.checked_sub_unsigned(magnitude) } else { i128::try_from(magnitude).ok() };
        value.ok_or_else(invalid_operation)
    }

    /// The decimal that a double prints as with 17 significant digits, as Firebird converts; the shortest text that
    /// reads back as the double would be fewer.
    pub fn from_f64(value: f64) -> Decimal {
        if value.is_nan() {
            return Decimal::nan();
        }
        if value.is_infinite() {
            return Decimal::infinity(value < 0.0);
        }
        // Seventeen digits and an exponent within +-324: always readable.
        format!("{value:.16e}").parse().unwrap_or(Decimal::ZERO)
    }

    /// The nearest double.
    ///
    /// # Errors
    /// `exception_float_overflow` for finite numbers beyond the doubles.
    pub fn to_f64(self) -> Result<f64> {
        match self.parts() {
            DecimalParts::Nan { .. } => Ok(f64::NAN),
            DecimalParts::Infinity { negative } => {
                Ok(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
            }
            DecimalParts::Finite { .. } => {
                let value: f64 = self.to_string().parse().unwrap_or(f64::INFINITY);
                if value.is_finite() { Ok(value) } else { Err(Error::new(isc::EXCEPTION_FLOAT_OVERFLOW)) }
            }
        }
    }
}

fn invalid_operation() -> Error {
    Error::new(isc::DECFLOAT_INVALID_OPERATION)
}
