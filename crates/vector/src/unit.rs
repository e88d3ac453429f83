//! What the whole numbers of a column stand for.

use farbird_types::temporal::FRACTIONS_PER_DAY;
use farbird_types::{Date, Time, Timestamp, Value};

/// What a whole number stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// An exact number of this scale, without its point.
    Exact(i8),
    /// An INT128 of this scale: columns hold only those that fit in 64 bits.
    Wide(i8),
    /// DATE: its day.
    Date,
    /// TIME: its ten-thousandths of a second.
    Time,
    /// TIMESTAMP: its ten-thousandths of a second.
    Timestamp,
}

/// Ten-thousandths of a second in a day.
pub const DAY: i64 = FRACTIONS_PER_DAY as i64;

impl Unit {
    /// What it stands for where widths do not count: in comparisons.
    #[inline]
    pub fn narrowed(self) -> Unit {
        match self {
            Unit::Wide(scale) => Unit::Exact(scale),
            other => other,
        }
    }

    /// The value that a number stands for.
    #[inline]
    pub fn value(self, number: i64) -> Value {
        match self {
            Unit::Exact(scale) => Value::Integer { unscaled: number, scale },
            Unit::Wide(scale) => Value::Int128 { unscaled: i128::from(number), scale },
            Unit::Date => Value::Date(day(number)),
            Unit::Time => Value::Time(time(number)),
            Unit::Timestamp => Value::Timestamp(Timestamp {
                date: day(number.div_euclid(DAY)),
                time: time(number.rem_euclid(DAY)),
            }),
        }
    }
}

// Columns hold only numbers that are days and times, and kernels make no others.
fn day(number: i64) -> Date {
    Date(i32::try_from(number).unwrap_or(i32::MAX))
}

fn time(number: i64) -> Time {
    Time(u32::try_from(number).unwrap_or(u32::MAX))
}
