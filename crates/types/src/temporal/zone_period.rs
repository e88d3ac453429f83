//! The spans of time in which the clocks of a region are not set: what RDB$TIME_ZONE_UTIL.TRANSITIONS shows.
//!
//! Times are UTC. Firebird knows of a region's standard offset and what summer time adds to it; the IANA database that is bundled
//! with `jiff` tells only the sum and whether it is summer time: what is added is told from the standard times before and behind.

use jiff::tz::{Dst, TimeZone, TimeZoneTransition};

use super::zone::{rules, unix_seconds, whole_minutes};
use super::{Date, FRACTIONS_PER_SECOND, Time, Timestamp, ZoneId};
use crate::error::{Error, Result, isc};

/// Most entries of the database that are looked at for another offset: regions have renamed their time without setting clocks.
const ENTRIES_MAX: usize = 200;

/// A span of time in which clocks are not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZonePeriod {
    /// Its first moment.
    pub start: Timestamp,
    /// Its last one.
    pub end: Timestamp,
    /// Minutes east of GMT, without summer time.
    pub zone_minutes: i32,
    /// What summer time adds, in minutes.
    pub summer_minutes: i32,
}

/// What clocks show, in minutes: standard time, and what summer time adds.
type Offsets = (i32, i32);

impl ZoneId {
    /// The region of this name, in any case; offsets are none.
    ///
    /// # Errors
    /// `invalid_timezone_region`.
    pub fn parse_region(name: &str) -> Result<ZoneId> {
        let zone = ZoneId::parse(name).ok().filter(|zone| zone.region_name().is_some());
        zone.ok_or_else(|| Error::new(isc::INVALID_TIMEZONE_REGION).with(name))
    }

    /// The span around a moment; `None` in an unknown zone.
    pub fn period_at(self, utc: Timestamp) -> Option<ZonePeriod> {
        let (first, last) = (Timestamp::midnight(Date::MIN), Timestamp { date: Date::MAX, time: Time::MAX });
        let always = ZonePeriod { start: first, end: last, zone_minutes: 0, summer_minutes: 0 };
        if let Some(minutes) = self.offset_minutes() {
            return Some(ZonePeriod { zone_minutes: minutes, ..always });
        }
        let zone = rules(self)?;
        let instant = jiff::Timestamp::from_second(unix_seconds(utc)).ok()?;
        let (zone_minutes, summer_minutes) = offsets_at(zone, instant);
        let here = (zone_minutes, summer_minutes);
        Some(ZonePeriod {
            start: start_of(zone, instant, here).and_then(timestamp).unwrap_or(first),
            end: end_of(zone, instant, here).and_then(timestamp).map_or(last, tick_before),
            zone_minutes,
            summer_minutes,
        })
    }
}

fn tick_before(moment: Timestamp) -> Timestamp {
    Timestamp::from_ticks_unchecked(moment.ticks() - 1)
}

fn offsets_at(zone: &TimeZone, instant: jiff::Timestamp) -> Offsets {
    let info = zone.to_offset_info(instant);
    let all = whole_minutes(info.offset());
    if info.dst() == Dst::No {
        return (all, 0);
    }
    const USUAL: i32 = 60;
    let standard = |it: &TimeZoneTransition<'_>| (it.dst() == Dst::No).then(|| whole_minutes(it.offset()));
    let before = zone.preceding(after(instant)).take(ENTRIES_MAX).find_map(|it| standard(&it));
    let behind = zone.following(instant).take(ENTRIES_MAX).find_map(|it| standard(&it));
    // A zone may change its standard time and begin summer time at once: that standard time is seen behind the summer only.
    let is_usual = |standard: &i32| all - standard == USUAL;
    let standard = before
        .filter(is_usual)
        .or(behind.filter(is_usual))
        .or(before.filter(|standard| *standard < all))
        .unwrap_or(all - USUAL);
    (standard, all - standard)
}

/// One second later: what is asked for is before that.
fn after(instant: jiff::Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_second(instant.as_second().saturating_add(1)).unwrap_or(instant)
}

/// The entry that begins a span of these offsets.
fn start_of(zone: &TimeZone, instant: jiff::Timestamp, here: Offsets) -> Option<jiff::Timestamp> {
    zone.preceding(after(instant)).take(ENTRIES_MAX).map(|it| it.timestamp()).find(|start| {
        let before = jiff::Timestamp::from_second(start.as_second() - 1);
        before.is_ok_and(|before| offsets_at(zone, before) != here)
    })
}

/// The entry that ends it.
fn end_of(zone: &TimeZone, instant: jiff::Timestamp, here: Offsets) -> Option<jiff::Timestamp> {
    let mut later = zone.following(instant).take(ENTRIES_MAX).map(|it| it.timestamp());
    later.find(|entry| offsets_at(zone, *entry) != here)
}

/// A moment of the years that timestamps have.
fn timestamp(instant: jiff::Timestamp) -> Option<Timestamp> {
    let epoch = Timestamp::midnight(Date::UNIX_EPOCH).ticks();
    let ticks = epoch + instant.as_second() * i64::from(FRACTIONS_PER_SECOND);
    let moment = Timestamp::from_ticks_unchecked(ticks);
    moment.date.is_valid().then_some(moment)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn period(zone: &str, at: (i32, u32, u32)) -> (String, String, i32, i32) {
        let zone = ZoneId::parse_region(zone).expect("a region");
        let date = Date::from_year_month_day(at.0, at.1, at.2).expect("a date");
        let it = zone.period_at(Timestamp::midnight(date)).expect("a span");
        let shown = |it: Timestamp| crate::convert::to_display_text(&crate::Value::Timestamp(it));
        (shown(it.start), shown(it.end), it.zone_minutes, it.summer_minutes)
    }

    /// Names that the IANA database has no more have the rules of those that stand for them.
    #[test]
    fn every_region_has_rules() {
        let without: Vec<&str> =
            ZoneId::regions().filter(|(zone, _)| rules(*zone).is_none()).map(|(_, name)| name).collect();
        assert_eq!(without, Vec::<&str>::new());
    }

    /// As RDB$TIME_ZONE_UTIL.TRANSITIONS of Firebird 5.0.4 shows them.
    #[test]
    fn spans_are_those_of_firebird() {
        let cases = [
            (
                "America/Sao_Paulo",
                (2017, 1, 1),
                ("2016-10-16 03:00:00.0000", "2017-02-19 01:59:59.9999", -180, 60),
            ),
            (
                "america/sao_paulo",
                (2019, 6, 1),
                ("2019-02-17 02:00:00.0000", "9999-12-31 23:59:59.9999", -180, 0),
            ),
            ("Europe/Berlin", (2026, 4, 1), ("2026-03-29 01:00:00.0000", "2026-10-25 00:59:59.9999", 60, 60)),
            ("Europe/Berlin", (1, 1, 1), ("0001-01-01 00:00:00.0000", "1893-03-31 23:06:31.9999", 53, 0)),
            ("Asia/Tokyo", (1990, 1, 1), ("1951-09-08 15:00:00.0000", "9999-12-31 23:59:59.9999", 540, 0)),
            // Another standard time since the beginning of summer time.
            ("Pacific/Apia", (2012, 1, 1), ("2011-12-30 10:00:00.0000", "2012-03-31 13:59:59.9999", 780, 60)),
            (
                "America/Inuvik",
                (1979, 6, 1),
                ("1979-04-29 10:00:00.0000", "1979-10-28 07:59:59.9999", -420, 60),
            ),
            (
                "Europe/Moscow",
                (1919, 7, 15),
                ("1919-07-01 00:00:00.0000", "1919-08-15 19:59:59.9999", 180, 60),
            ),
            // The standard time before is an hour less, the one behind half an hour.
            ("Asia/Tehran", (1977, 6, 1), ("1977-03-21 19:30:00.0000", "1977-10-20 19:29:59.9999", 210, 60)),
            // More and less than an hour.
            ("Europe/London", (1941, 6, 1), ("1941-05-04 01:00:00.0000", "1941-08-10 00:59:59.9999", 0, 120)),
            (
                "Antarctica/Troll",
                (2025, 6, 1),
                ("2025-03-30 01:00:00.0000", "2025-10-26 00:59:59.9999", 0, 120),
            ),
            (
                "Australia/Lord_Howe",
                (2026, 1, 1),
                ("2025-10-04 15:30:00.0000", "2026-04-04 14:59:59.9999", 630, 30),
            ),
            (
                "Canada/East-Saskatchewan",
                (1910, 1, 1),
                ("1905-09-01 06:58:36.0000", "1918-04-14 08:59:59.9999", -420, 0),
            ),
            ("UTC", (1990, 1, 1), ("0001-01-01 00:00:00.0000", "9999-12-31 23:59:59.9999", 0, 0)),
        ];
        for (zone, at, (start, end, zone_minutes, summer_minutes)) in cases {
            let expected = (start.to_owned(), end.to_owned(), zone_minutes, summer_minutes);
            assert_eq!(period(zone, at), expected, "{zone}");
        }
        assert!(ZoneId::parse_region("+03:00").is_err());
    }
}
