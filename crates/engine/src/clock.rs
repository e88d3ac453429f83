//! The machine's clock, in Firebird's units. The only place of the engine that reads it.

use std::time::{SystemTime, UNIX_EPOCH};

use farbird_types::{Date, Time, Timestamp, TimestampTz, ZoneId};

/// 1970-01-01 as a Modified Julian Day.
const UNIX_EPOCH_DAY: i64 = 40_587;
/// Ten-thousandths of a second in a day.
const TICKS_PER_DAY: i64 = 864_000_000;

/// Now, to be shown in `zone`.
pub fn now(zone: ZoneId) -> TimestampTz {
    let ticks = i64::try_from(since_epoch().as_micros() / 100).unwrap_or(i64::MAX);
    let date = Date(i32::try_from(ticks / TICKS_PER_DAY + UNIX_EPOCH_DAY).unwrap_or(i32::MAX));
    let time = Time(u32::try_from(ticks % TICKS_PER_DAY).unwrap_or(0));
    TimestampTz { utc: Timestamp { date, time }, zone }
}

/// Now, in microseconds since 1970, UTC.
pub fn now_us() -> i64 {
    i64::try_from(since_epoch().as_micros()).unwrap_or(i64::MAX)
}

/// The zone of the machine: the one that TZ or /etc/localtime names if Firebird knows it, else UTC.
pub fn local_zone() -> ZoneId {
    let name = std::env::var("TZ").ok().or_else(|| {
        let link = std::fs::read_link("/etc/localtime").ok()?;
        let (_, name) = link.to_str()?.split_once("zoneinfo/")?;
        Some(name.to_owned())
    });
    name.and_then(|name| farbird_types::temporal::zone::parse_zone(&name).ok()).unwrap_or(ZoneId(u16::MAX))
}

/// A clock set before 1970 counts as 1970.
fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
