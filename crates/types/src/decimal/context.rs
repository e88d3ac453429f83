//! How results are rounded, and which conditions are errors: SET DECFLOAT ROUND and SET DECFLOAT TRAPS.
//!
//! A condition that is not trapped gives the result that the General Decimal Arithmetic specification says: an infinity or the
//! greatest number for an overflow, an infinity for a division by zero, NaN for an invalid operation.

use std::fmt::{self, Display};

use super::{Decimal, Precision, Rounding};
use crate::error::{Error, Result, isc};

/// What a computation may meet that is not plainly a number: the traps of SET DECFLOAT TRAPS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Condition {
    /// A number that is not 0 divided by 0.
    DivisionByZero,
    /// Digits were dropped that were not 0.
    Inexact,
    /// What has no answer: 0 / 0, Infinity - Infinity, a text that is no number, a signalling NaN.
    InvalidOperation,
    /// A number too great for its type.
    Overflow,
    /// A number so small that it lost digits.
    Underflow,
}

impl Condition {
    /// In the order in which Firebird looks whether they are trapped.
    const ALL: [Condition; 5] = [
        Condition::DivisionByZero,
        Condition::Inexact,
        Condition::InvalidOperation,
        Condition::Overflow,
        Condition::Underflow,
    ];

    /// The trap of its name in SET DECFLOAT TRAPS.
    pub fn by_name(name: &str) -> Option<Condition> {
        Condition::ALL.into_iter().find(|condition| condition.name().eq_ignore_ascii_case(name))
    }

    /// As DECFLOAT_TRAPS of the namespace SYSTEM shows it.
    fn name(self) -> &'static str {
        match self {
            Condition::DivisionByZero => "Division_by_zero",
            Condition::Inexact => "Inexact",
            Condition::InvalidOperation => "Invalid_operation",
            Condition::Overflow => "Overflow",
            Condition::Underflow => "Underflow",
        }
    }

    fn error(self) -> Error {
        Error::new(match self {
            Condition::DivisionByZero => isc::DECFLOAT_DIVIDE_BY_ZERO,
            Condition::Inexact => isc::DECFLOAT_INEXACT_RESULT,
            Condition::InvalidOperation => isc::DECFLOAT_INVALID_OPERATION,
            Condition::Overflow => isc::DECFLOAT_OVERFLOW,
            Condition::Underflow => isc::DECFLOAT_UNDERFLOW,
        })
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Conditions(u8);

impl Conditions {
    /// No condition.
    pub const NONE: Conditions = Conditions(0);

    /// The set with one more.
    #[must_use]
    pub const fn with(self, condition: Condition) -> Conditions {
        Conditions(self.0 | condition.bit())
    }

    /// The set with one more, if `holds`.
    #[must_use]
    pub(super) fn with_if(self, holds: bool, condition: Condition) -> Conditions {
        if holds { self.with(condition) } else { self }
    }

    /// Whether a condition is in it.
    pub const fn has(self, condition: Condition) -> bool {
        self.0 & condition.bit() != 0
    }
}

/// As DECFLOAT_TRAPS of the namespace SYSTEM: `Division_by_zero,Overflow`, or `None`.
impl Display for Conditions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Conditions::NONE {
            return formatter.write_str("None");
        }
        let mut separator = "";
        for condition in Condition::ALL.into_iter().filter(|condition| self.has(*condition)) {
            write!(formatter, "{separator}{}", condition.name())?;
            separator = ",";
        }
        Ok(())
    }
}

/// How decimals are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecimalContext {
    /// SET DECFLOAT ROUND.
    pub rounding: Rounding,
    /// SET DECFLOAT TRAPS: what is an error.
    pub traps: Conditions,
}

impl DecimalContext {
    /// What a session begins with.
    pub const DEFAULT: DecimalContext = DecimalContext {
        rounding: Rounding::HalfUp,
        traps: Conditions::NONE
            .with(Condition::DivisionByZero)
            .with(Condition::InvalidOperation)
            .with(Condition::Overflow),
    };

    /// This context with another rounding.
    #[must_use]
    pub const fn rounding(self, rounding: Rounding) -> DecimalContext {
        DecimalContext { rounding, ..self }
    }

    /// Fails if a condition that was met is trapped.
    ///
    /// # Errors
    /// That of the first one.
    pub(crate) fn check(&self, met: Conditions) -> Result<()> {
        let trapped = |condition: &Condition| met.has(*condition) && self.traps.has(*condition);
        Condition::ALL.into_iter().find(trapped).map_or(Ok(()), |condition| Err(condition.error()))
    }

    /// The result of an invalid operation: NaN.
    ///
    /// # Errors
    /// `decfloat_invalid_operation`, if it is trapped.
    pub(super) fn invalid(&self) -> Result<Decimal> {
        self.check(Conditions::NONE.with(Condition::InvalidOperation))?;
        Ok(Decimal::nan())
    }

    /// The result of a division by zero: an infinity.
    ///
    /// # Errors
    /// `decfloat_divide_by_zero`, if it is trapped.
    pub(super) fn divided_by_zero(&self, negative: bool) -> Result<Decimal> {
        self.check(Conditions::NONE.with(Condition::DivisionByZero))?;
        Ok(Decimal::infinity(negative))
    }

    /// The result of an overflow: an infinity, or the greatest number if that is nearer zero and the rounding goes there.
    ///
    /// # Errors
    /// `decfloat_overflow` or `decfloat_inexact_result`, if they are trapped.
    pub(super) fn overflow(&self, negative: bool, precision: Precision) -> Result<Decimal> {
        self.check(Conditions::NONE.with(Condition::Overflow).with(Condition::Inexact))?;
        let towards_zero = match self.rounding {
            Rounding::Down | Rounding::Reround => true,
            Rounding::Ceiling => negative,
            Rounding::Floor => !negative,
            Rounding::Up | Rounding::HalfUp | Rounding::HalfEven | Rounding::HalfDown => false,
        };
        if towards_zero {
            let greatest = 10u128.pow(precision.digits()) - 1;
            return Decimal::from_parts(negative, greatest, precision.exponent_max());
        }
        Ok(Decimal::infinity(negative))
    }
}

impl Default for DecimalContext {
    fn default() -> DecimalContext {
        DecimalContext::DEFAULT
    }
}
