//! The machine's clock, in Firebird's units. The only place of the engine that reads it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farbird_types::{Date, Time, Timestamp, TimestampTz, ZoneId};

/// 1970-01-01 as a Modified Julian Day.
const UNIX_EPOCH_DAY: i64 = 40_587;
/// Ten-thousandths of a second in a day.
const TICKS_PER_DAY: i64 = 864_000_000;

/// Now, to be shown in `zone`.
pub fn now(zone: ZoneId) -> TimestampTz {
    TimestampTz { utc: timestamp_of_us(now_us()), zone }
}

/// Now, in UTC and whole milliseconds: what 'NOW' stands for.
pub fn utc() -> Timestamp {
    timestamp_of_us(now_us().div_euclid(1_000) * 1_000)
}

/// A point in time given in microseconds since 1970, in UTC.
pub fn timestamp_of_us(us: i64) -> Timestamp {
    let ticks = us.div_euclid(100);
    Timestamp {
        date: Date(i32::try_from(ticks.div_euclid(TICKS_PER_DAY) + UNIX_EPOCH_DAY).unwrap_or(i32::MAX)),
        time: Time(u32::try_from(ticks.rem_euclid(TICKS_PER_DAY)).unwrap_or(0)),
    }
}

/// So much later; the last moment that there is if that is beyond it.
pub fn later(moment: Timestamp, by: Duration) -> Timestamp {
    let ticks = i64::try_from(by.as_micros() / 100).unwrap_or(i64::MAX);
    let ticks = i64::from(moment.time.0).saturating_add(ticks);
    let days = i64::from(moment.date.0).saturating_add(ticks.div_euclid(TICKS_PER_DAY));
    Timestamp {
        date: Date(i32::try_from(days).unwrap_or(i32::MAX)),
        time: Time(u32::try_from(ticks.rem_euclid(TICKS_PER_DAY)).unwrap_or(0)),
    }
}

/// Now, in microseconds since 1970, UTC.
pub fn now_us() -> i64 {
    i64::try_from(since_epoch().as_micros()).unwrap_or(i64::MAX)
}

/// The zone that a session starts in when its client names none. UTC, so that the same database answers the same on
/// every machine; `isc_dpb_session_time_zone` and SET TIME ZONE choose another.
pub const DEFAULT_ZONE: ZoneId = ZoneId(u16::MAX);

/// A clock set before 1970 counts as 1970.
fn since_epoch() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
