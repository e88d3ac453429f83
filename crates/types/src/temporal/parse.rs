//! Dates and times as Firebird reads them from text.
//!
//! | form | read as |
//! |---|---|
//! | `2020-01-31` | first part of three or four digits: year, month, day |
//! | `31.01.2020` | points: day, month, year |
//! | `01/31/2020`, `1-31-20`, `1 31` | otherwise month, day, year; two digits are the nearest year within fifty, none this year |
//! | `31-JAN-2020`, `January 31 2020` | with a month's name, of which three letters suffice |
//! | `10:11`, `10:11:12.1234` | time |
//! | `... +02:00`, `... Europe/Prague` | time zone |
//! | `NOW`, `TODAY`, `TOMORROW`, `YESTERDAY` | relative to the current time that is handed in |
//!
//! Source: Firebird 5 language reference, section "Format of Date/Time Literals"; Firebird's CVT_string_to_datetime for
//! the odd corners.

use super::{
    Date, FRACTIONS_PER_SECOND, Time, Timestamp, TimestampTz, ZoneId, localize, localize_time, to_local,
};
use crate::convert::CastContext;
use crate::error::{Error, Result, isc};

/// What a text is to be read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// DATE.
    Date,
    /// TIME, with or without zone.
    Time,
    /// TIMESTAMP, with or without zone.
    Timestamp,
}

/// What a text said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsedDateTime {
    /// Local time; the date of a mere time is 2020-01-01.
    pub local: Timestamp,
    /// The zone, if there was one. `NOW` has the session's.
    pub zone: Option<ZoneId>,
}

impl ParsedDateTime {
    /// The point in time, taking the session's zone if the text had none.
    pub fn with_zone(self, context: &CastContext) -> TimestampTz {
        localize(self.local, self.zone.unwrap_or(context.session_zone))
    }

    /// The local time in the session's zone.
    pub fn without_zone(self, context: &CastContext) -> Timestamp {
        match self.zone {
            Some(zone) if zone != context.session_zone => {
                let instant = localize(self.local, zone);
                to_local(TimestampTz { zone: context.session_zone, ..instant })
            }
            _ => self.local,
        }
    }
}

const MONTHS: [&str; 12] = [
    "JANUARY",
    "FEBRUARY",
    "MARCH",
    "APRIL",
    "MAY",
    "JUNE",
    "JULY",
    "AUGUST",
    "SEPTEMBER",
    "OCTOBER",
    "NOVEMBER",
    "DECEMBER",
];

const MONTH_LETTERS_MIN: usize = 3;

/// Places of the parts of a date and time.
const HOUR: usize = 3;
const FRACTION: usize = 6;
const PARTS: usize = 7;

/// One part as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Part {
    #[default]
    Missing,
    Number {
        value: u32,
        digits: usize,
    },
    Month(u32),
}

impl Part {
    /// The number, if it has 1 to `digits_max` digits.
    fn number(self, digits_max: usize) -> Option<u32> {
        match self {
            Part::Number { value, digits } if digits <= digits_max => Some(value),
            _ => None,
        }
    }
}

/// Reads a date, a time or both.
///
/// # Errors
/// `convert_error` with the text if it is none; `date_range_exceeded` or `datetime_range_exceeded` outside 0001-01-01
/// to 9999-12-31; `invalid_timezone_offset` and `invalid_timezone_region`.
pub fn parse_date_time(text: &str, expected: Expected, context: &CastContext) -> Result<ParsedDateTime> {
    let no_date = || Error::new(isc::CONVERT_ERROR).with(text);
    if let Some(word) = special_word(text) {
        return special(word, expected, context).ok_or_else(no_date);
    }
    let scanned = scan(text, expected).ok_or_else(no_date)?;
    let zone = match scanned.rest.trim_matches([' ', '\t', '\0']) {
        "" => None,
        _ if expected == Expected::Date => return Err(no_date()),
        zone => Some(ZoneId::parse(zone)?),
    };
    let time = match scanned.parts.get(HOUR..) {
        Some(parts) if scanned.has_time => time_of(parts).ok_or_else(no_date)?,
        _ => Time(0),
    };
    let date = if expected == Expected::Time {
        Date::TIME_ZONE_BASE
    } else {
        date_of(&scanned, text, expected, context)?
    };
    Ok(ParsedDateTime { local: Timestamp { date, time }, zone })
}

/// The only word of a text of letters that is no month's name.
fn special_word(text: &str) -> Option<&str> {
    let word = text.trim_matches([' ', '\t', '\0']);
    let letters = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    letters.then_some(word)
}

fn special(word: &str, expected: Expected, context: &CastContext) -> Option<ParsedDateTime> {
    let now = || to_local(TimestampTz { utc: (context.now)(), zone: context.session_zone });
    let is = |name: &str| word.eq_ignore_ascii_case(name);
    let local = if is("NOW") {
        if expected == Expected::Time {
            // The clock's time as of the day on which times with zone are counted.
            Timestamp { date: Date::TIME_ZONE_BASE, time: now().time }
        } else {
            now()
        }
    } else if expected == Expected::Time {
        return None;
    } else {
        let days = match () {
            () if is("TODAY") => 0,
            () if is("TOMORROW") => 1,
            () if is("YESTERDAY") => -1,
            () => return None,
        };
        Timestamp::midnight(Date(now().date.0.saturating_add(days)))
    };
    Some(ParsedDateTime { local, zone: None })
}

/// The parts of a text in their order, and what follows them.
struct Scanned<'a> {
    parts: [Part; PARTS],
    date_separator: u8,
    has_time: bool,
    rest: &'a str,
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// Takes a text apart; nothing if it cannot be a date or time.
fn scan(text: &str, expected: Expected) -> Option<Scanned<'_>> {
    let start = if expected == Expected::Time { HOUR } else { 0 };
    let mut scanned = Scanned { parts: Default::default(), date_separator: 0, has_time: false, rest: text };
    let mut month_seen = false;
    let mut position = start;
    let mut count = 0;
    let mut zone_follows = false;
    loop {
        scanned.rest = skip_blanks(scanned.rest);
        let Some(&first) = scanned.rest.as_bytes().first() else { break };
        let part = if first.is_ascii_digit() {
            take_number(&mut scanned.rest)
        } else if first.is_ascii_alphabetic() && !month_seen && position < 2 {
            month_seen = true;
            Part::Month(take_month(&mut scanned.rest)?)
        } else if position == HOUR && expected == Expected::Timestamp {
            // A time zone straight after the date.
            break;
        } else {
            return None;
        };
        *scanned.parts.get_mut(position)? = part;
        count += 1;
        scanned.has_time |= position >= HOUR;
        let after = skip_blanks(scanned.rest);
        let spaced = after.len() < scanned.rest.len();
        scanned.rest = after;
        let Some(&separator) = after.as_bytes().first() else { break };
        match position {
            0 | 1 => {
                let separator = date_separator(&mut scanned, separator, spaced)?;
                scanned.date_separator = separator;
                position += 1;
            }
            2 => position += 1,
            FRACTION => break,
            _ => match separator {
                b':' => {
                    scanned.rest = after.get(1..)?;
                    position += 1;
                }
                b'.' => {
                    scanned.rest = after.get(1..)?;
                    position = FRACTION;
                }
                _ => {
                    zone_follows = true;
                    break;
                }
            },
        }
    }
    let fits = expected != Expected::Date || !scanned.has_time;
    // Of a part alone and a zone, the zone is complained about first.
    ((count >= 2 || zone_follows) && fits).then_some(scanned)
}

/// The separator after the first or second part: one of `/ - .`, or spaces; both times the same.
fn date_separator(scanned: &mut Scanned<'_>, next: u8, spaced: bool) -> Option<u8> {
    let punctuation = matches!(next, b'/' | b'-' | b'.');
    let known = scanned.date_separator;
    if punctuation && (known == 0 || known == next) {
        scanned.rest = scanned.rest.get(1..)?;
        return Some(next);
    }
    (spaced && (known == 0 || known == b' ')).then_some(b' ')
}

fn take_number(rest: &mut &str) -> Part {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, tail) = rest.split_at_checked(digits).unwrap_or((rest, ""));
    *rest = tail;
    // Too many digits are refused later, whatever they say.
    Part::Number { value: number.parse().unwrap_or(u32::MAX), digits }
}

fn take_month(rest: &mut &str) -> Option<u32> {
    let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
    let (word, tail) = rest.split_at_checked(letters)?;
    if letters < MONTH_LETTERS_MIN {
        return None;
    }
    let position = MONTHS
        .iter()
        .position(|month| month.get(..letters).is_some_and(|start| start.eq_ignore_ascii_case(word)))?;
    *rest = tail;
    u32::try_from(position + 1).ok()
}

fn time_of(parts: &[Part]) -> Option<Time> {
    let &[hour, minute, second, fraction] = parts else { return None };
    let second = if second == Part::Missing { 0 } else { second.number(2)? };
    let fraction = match fraction {
        Part::Missing => 0,
        Part::Number { value, digits: digits @ 1..=4 } => value * 10u32.pow(4 - u32::try_from(digits).ok()?),
        _ => return None,
    };
    debug_assert!(fraction < FRACTIONS_PER_SECOND);
    Time::from_parts(hour.number(2)?, minute.number(2)?, second, fraction)
}

fn date_of(scanned: &Scanned<'_>, text: &str, expected: Expected, context: &CastContext) -> Result<Date> {
    let no_date = || Error::new(isc::CONVERT_ERROR).with(text);
    let [first, second, third, ..] = scanned.parts;
    let (year, month, day) = match (first, second) {
        (Part::Number { digits: 3.., .. }, _) => (first, second, third),
        (Part::Month(_), _) => (third, first, second),
        (_, Part::Month(_)) => (third, second, first),
        _ if scanned.date_separator == b'.' => (third, second, first),
        _ => (third, first, second),
    };
    let month = match month {
        Part::Month(month) => month,
        number => number.number(2).ok_or_else(no_date)?,
    };
    let day = day.number(2).ok_or_else(no_date)?;
    let (this_year, ..) =
        to_local(TimestampTz { utc: (context.now)(), zone: context.session_zone }).date.year_month_day();
    let year = match year {
        Part::Missing => this_year,
        Part::Number { value, digits: ..=2 } => full_year(value, this_year),
        number => number.number(4).and_then(|year| i32::try_from(year).ok()).ok_or_else(no_date)?,
    };
    if year == 0 {
        return Err(Error::new(match expected {
            Expected::Timestamp => isc::DATETIME_RANGE_EXCEEDED,
            Expected::Date | Expected::Time => isc::DATE_RANGE_EXCEEDED,
        }));
    }
    Date::from_year_month_day(year, month, day).ok_or_else(no_date)
}

/// A year of two digits within the fifty years around this one.
fn full_year(short: u32, this_year: i32) -> i32 {
    let short = i32::try_from(short).unwrap_or(0);
    let turn = (this_year - 1900 - 50).rem_euclid(100);
    if short < turn { short + 2000 } else { short + 1900 }
}

/// A time of day with its zone, from what was read as [`Expected::Time`].
impl ParsedDateTime {
    /// The time of day, taking the session's zone if the text had none.
    pub fn time_with_zone(self, context: &CastContext) -> super::TimeTz {
        localize_time(self.local.time, self.zone.unwrap_or(context.session_zone))
    }
}
