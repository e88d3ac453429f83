//! Days of the proleptic Gregorian calendar, counted and named.
//!
//! Source: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms": years begin in March, so that the leap day is
//! the last one, and 400 years always have 146,097 days.

use super::Date;

const DAYS_PER_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1858-11-17.
const EPOCH_SHIFT: i64 = 678_881;

/// Whether a year has a 29th of February.
pub fn is_leap_year(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// How many days a month has; 0 for a month that is none.
pub fn days_in_month(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap_year(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    }
}

/// The number of an existing day.
pub(super) fn from_civil(year: i32, month: u32, day: u32) -> Date {
    let march_year = i64::from(year) - i64::from(month <= 2);
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let march_month = i64::from((month + 9) % 12);
    let day_of_year = (153 * march_month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * DAYS_PER_ERA + day_of_era - EPOCH_SHIFT;
    Date(i32::try_from(days).unwrap_or(i32::MAX))
}

/// Year, month and day of any number.
pub(super) fn to_civil(date: Date) -> (i32, u32, u32) {
    let days = i64::from(date.0) + EPOCH_SHIFT;
    let era = days.div_euclid(DAYS_PER_ERA);
    let day_of_era = days.rem_euclid(DAYS_PER_ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    // Six million years either way at most; months and days are small.
    let small = |number: i64| u32::try_from(number).unwrap_or(1);
    (i32::try_from(year).unwrap_or(i32::MAX), small(month), small(day))
}

/// Days since the first of January of its year, which has 0.
pub(super) fn day_of_year(date: Date) -> i32 {
    let (year, ..) = to_civil(date);
    date.0 - from_civil(year, 1, 1).0
}

/// 0 is Sunday.
pub(super) fn day_of_week(date: Date) -> i32 {
    // 1858-11-17 was a Wednesday.
    let day = (i64::from(date.0) + 3).rem_euclid(7);
    i32::try_from(day).unwrap_or(0)
}

/// The week by ISO 8601: it begins on Monday and belongs to the year of its Thursday.
pub(super) fn iso_week(date: Date) -> i32 {
    let since_monday = (day_of_week(date) + 6) % 7;
    let thursday = Date(date.0.saturating_add(3 - since_monday));
    day_of_year(thursday) / 7 + 1
}
