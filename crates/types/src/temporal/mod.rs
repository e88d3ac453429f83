//! Dates, times and time zones in Firebird's units.
//!
//! Days are counted in the proleptic Gregorian calendar; there are no leap seconds. Nothing reads a clock: whoever
//! needs the current time is handed it ([`crate::CastContext`]).

mod civil;
mod parse;
mod parts;
mod zone;
mod zone_names;
mod zone_period;

#[cfg(test)]
mod tests;

use std::fmt;

pub use civil::{days_in_month, is_leap_year};
pub use parse::{Expected, ParsedDateTime, parse_date_time};
pub use parts::{DatePart, add_to_part, difference_in_parts, extract, first_day, last_day};
pub use zone::{ZoneId, localize, localize_time, to_local, to_local_time, tz_database_version};
pub use zone_period::ZonePeriod;

/// Ten-thousandths of a second in a second.
pub const FRACTIONS_PER_SECOND: u32 = 10_000;
/// Ten-thousandths of a second in a day.
pub const FRACTIONS_PER_DAY: u32 = 86_400 * FRACTIONS_PER_SECOND;

/// Days since 1858-11-17 (the Modified Julian Day). Firebird's range is 0001-01-01 to 9999-12-31.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Date(pub i32);

/// Ten-thousandths of a second since midnight, 0 to 863,999,999.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Time(pub u32);

/// A date and a time of day, without time zone.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct Timestamp {
    /// The day.
    pub date: Date,
    /// The time of that day.
    pub time: Time,
}

/// A time of day in UTC with the zone in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct TimeTz {
    /// Time in UTC.
    pub utc: Time,
    /// Zone for display.
    pub zone: ZoneId,
}

/// A point in time in UTC with the zone in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct TimestampTz {
    /// Timestamp in UTC.
    pub utc: Timestamp,
    /// Zone for display.
    pub zone: ZoneId,
}

impl Date {
    /// 0001-01-01.
    pub const MIN: Date = Date(-678_575);
    /// 9999-12-31.
    pub const MAX: Date = Date(2_973_483);
    /// 1970-01-01.
    pub const UNIX_EPOCH: Date = Date(40_587);
    /// 2020-01-01, the day on which TIME WITH TIME ZONE values are taken to be.
    pub const TIME_ZONE_BASE: Date = Date(58_849);

    /// A day of the calendar; month and day count from 1. Nothing if there is no such day, or not in Firebird's range.
    pub fn from_year_month_day(year: i32, month: u32, day: u32) -> Option<Date> {
        let exists = (1..=9999).contains(&year) && (1..=12).contains(&month);
        (exists && (1..=days_in_month(year, month)).contains(&day))
            .then(|| civil::from_civil(year, month, day))
    }

    /// Year, month and day, of which the latter two count from 1.
    pub fn year_month_day(self) -> (i32, u32, u32) {
        civil::to_civil(self)
    }

    /// Whether this is in Firebird's range.
    pub fn is_valid(self) -> bool {
        (Date::MIN..=Date::MAX).contains(&self)
    }
}

impl Time {
    /// The last moment of a day.
    pub const MAX: Time = Time(FRACTIONS_PER_DAY - 1);

    /// A time of day; `fraction` in ten-thousandths of a second. Nothing if there is no such time.
    pub fn from_parts(hour: u32, minute: u32, second: u32, fraction: u32) -> Option<Time> {
        (hour < 24 && minute < 60 && second < 60 && fraction < FRACTIONS_PER_SECOND)
            .then(|| Time(((hour * 60 + minute) * 60 + second) * FRACTIONS_PER_SECOND + fraction))
    }

    /// Hour, minute, second, ten-thousandths.
    pub fn parts(self) -> (u32, u32, u32, u32) {
        let seconds = self.0 / FRACTIONS_PER_SECOND;
        (seconds / 3600, seconds / 60 % 60, seconds % 60, self.0 % FRACTIONS_PER_SECOND)
    }

    /// Whether this is a time of day.
    pub fn is_valid(self) -> bool {
        self <= Time::MAX
    }
}

impl Timestamp {
    /// Midnight at the beginning of a day.
    pub const fn midnight(date: Date) -> Timestamp {
        Timestamp { date, time: Time(0) }
    }

    /// Ten-thousandths of a second since 1858-11-17.
    pub fn ticks(self) -> i64 {
        i64::from(self.date.0) * i64::from(FRACTIONS_PER_DAY) + i64::from(self.time.0)
    }

    /// The reverse of [`Timestamp::ticks`]. Nothing if that is not in Firebird's range.
    pub fn from_ticks(ticks: i64) -> Option<Timestamp> {
        Some(Timestamp::from_ticks_unchecked(ticks)).filter(|timestamp| timestamp.date.is_valid())
    }

    /// As [`Timestamp::from_ticks`] for ticks a time zone's offset from a timestamp: the first and the last day may
    /// be left. Beyond what a date holds the last one is given.
    pub(crate) fn from_ticks_unchecked(ticks: i64) -> Timestamp {
        let day = i64::from(FRACTIONS_PER_DAY);
        let date = ticks.div_euclid(day);
        let date = i32::try_from(date).unwrap_or(if date < 0 { i32::MIN } else { i32::MAX });
        // Below a day, thus in range.
        let time = u32::try_from(ticks.rem_euclid(day)).unwrap_or(0);
        Timestamp { date: Date(date), time: Time(time) }
    }
}

/// `2020-01-02`
impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.year_month_day();
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

/// `10:11:12.1234`
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (hour, minute, second, fraction) = self.parts();
        write!(f, "{hour:02}:{minute:02}:{second:02}.{fraction:04}")
    }
}

/// `2020-01-02 10:11:12.1234`
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.date, self.time)
    }
}

/// `10:11:12.1234 Europe/Prague`
impl fmt::Display for TimeTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", to_local_time(*self), self.zone)
    }
}

/// `2020-01-02 10:11:12.1234 +02:00`
impl fmt::Display for TimestampTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", to_local(*self), self.zone)
    }
}
