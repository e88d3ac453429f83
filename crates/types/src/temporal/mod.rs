//! Dates, times and time zones in Firebird's units.

/// Days since 1858-11-17 (the Modified Julian Day). Firebird's range is 0001-01-01 to 9999-12-31.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Date(pub i32);

/// Ten-thousandths of a second since midnight, 0 to 863,999,999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Time(pub u32);

/// A date and a time of day, without time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Timestamp {
    /// The day.
    pub date: Date,
    /// The time of that day.
    pub time: Time,
}

/// A time zone as Firebird numbers them: 0 to 2878 is an offset in minutes + 1439; 65535 is GMT and the other named
/// regions count down from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ZoneId(pub u16);

/// A time of day in UTC with the zone in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TimeTz {
    /// Time in UTC.
    pub utc: Time,
    /// Zone for display.
    pub zone: ZoneId,
}

/// A point in time in UTC with the zone in which it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TimestampTz {
    /// Timestamp in UTC.
    pub utc: Timestamp,
    /// Zone for display.
    pub zone: ZoneId,
}
