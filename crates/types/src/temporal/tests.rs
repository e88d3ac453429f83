use proptest::prelude::*;

use super::*;
use crate::convert::{CastContext, cast, to_display_text};
use crate::error::isc;
use crate::sql_type::SqlType;
use crate::value::Value;

fn context() -> CastContext {
    CastContext {
        session_zone: ZoneId::parse("Europe/Prague").expect("a zone"),
        now: ten_in_prague,
        ..CastContext::UTC
    }
}

/// 2026-11-20 10:00 in Prague.
fn ten_in_prague() -> Timestamp {
    let date = Date::from_year_month_day(2026, 11, 20).expect("a day");
    Timestamp { date, time: Time::from_parts(9, 0, 0, 0).expect("a time") }
}

fn value(text: &str, sql_type: SqlType) -> Value {
    cast(&Value::text(text), &sql_type, &context()).expect(text)
}

fn date(text: &str) -> Value {
    value(text, SqlType::Date)
}

fn time(text: &str) -> Value {
    value(text, SqlType::Time)
}

fn timestamp(text: &str) -> Value {
    value(text, SqlType::Timestamp)
}

fn zoned(text: &str) -> Value {
    value(text, SqlType::TimestampTz)
}

#[test]
fn days_are_counted_from_1858() {
    for (text, days) in [
        ("0001-01-01", Date::MIN.0),
        ("1858-11-17", 0),
        ("1970-01-01", Date::UNIX_EPOCH.0),
        ("2000-02-29", 51603),
        ("2020-01-01", Date::TIME_ZONE_BASE.0),
        ("9999-12-31", Date::MAX.0),
    ] {
        assert_eq!(date(text), Value::Date(Date(days)));
        assert_eq!(Date(days).to_string(), text);
    }
    assert_eq!(Date::from_year_month_day(1900, 2, 29), None);
    assert_eq!(Date::from_year_month_day(2020, 13, 1), None);
    assert_eq!(Date::from_year_month_day(10000, 1, 1), None);
}

/// Recorded from Firebird 4 in 2026.
#[test]
fn dates_are_read_as_recorded() {
    for (text, expected) in [
        ("31.12.20", "2020-12-31"),
        ("jan 5", "2026-01-05"),
        ("5-jan-1999", "1999-01-05"),
        ("1/2/99", "1999-01-02"),
        ("1 2 2003", "2003-01-02"),
        ("123-1-1", "0123-01-01"),
        ("1.1", "2026-01-01"),
        ("1-1", "2026-01-01"),
        (" 2020 - 01 - 02 ", "2020-01-02"),
        ("feb 29 2020", "2020-02-29"),
        ("2020-1-2", "2020-01-02"),
        ("1/2/3", "2003-01-02"),
        ("1.2.30", "2030-02-01"),
        ("1.2.75", "2075-02-01"),
        ("1.2.76", "1976-02-01"),
        ("2020/01/02", "2020-01-02"),
        ("2020.01.02", "2020-01-02"),
        ("September 1 2020", "2020-09-01"),
    ] {
        let read = parse_date_time(text, Expected::Date, &context()).expect(text);
        assert_eq!(read.local.date.to_string(), expected, "{text}");
    }
    for (text, expected) in [
        ("10:11:12:13", "10:11:12.1300"),
        ("10:11.5", "10:11:00.5000"),
        (" 1:2:3.4567 ", "01:02:03.4567"),
        ("23:59:59.9999", "23:59:59.9999"),
    ] {
        let read = parse_date_time(text, Expected::Time, &context()).expect(text);
        assert_eq!(read.local.time.to_string(), expected, "{text}");
    }
}

/// Recorded from Firebird 4.
#[test]
fn what_is_no_date_is_refused_as_recorded() {
    use Expected::{Date, Time, Timestamp};
    for (text, expected, code) in [
        ("2020-13-01", Date, isc::CONVERT_ERROR),
        ("2020-02-30", Date, isc::CONVERT_ERROR),
        ("20200102", Date, isc::CONVERT_ERROR),
        ("2020-01/02", Date, isc::CONVERT_ERROR),
        ("2020-01-01 10:00", Date, isc::CONVERT_ERROR),
        ("ja 5 2020", Date, isc::CONVERT_ERROR),
        ("today x", Date, isc::CONVERT_ERROR),
        ("today", Time, isc::CONVERT_ERROR),
        ("10", Time, isc::CONVERT_ERROR),
        ("", Date, isc::CONVERT_ERROR),
        ("2020-07-01 12", Timestamp, isc::CONVERT_ERROR),
        ("2020-07-01 12:00:60", Timestamp, isc::CONVERT_ERROR),
        ("2020-01-01 10:11:12.12345", Timestamp, isc::CONVERT_ERROR),
        ("0000-01-01", Date, isc::DATE_RANGE_EXCEEDED),
        ("2020-01-01", Time, isc::INVALID_TIMEZONE_OFFSET),
        ("2020-07-01 12:00 +15:00", Timestamp, isc::INVALID_TIMEZONE_OFFSET),
        ("2020-01-02T10:00", Timestamp, isc::INVALID_TIMEZONE_REGION),
        ("2020-07-01 12:00 Europe/Nowhere", Timestamp, isc::INVALID_TIMEZONE_REGION),
    ] {
        let error = parse_date_time(text, expected, &context()).expect_err(text);
        assert_eq!(error.gds_code(), code, "{text}");
    }
    let edge = Value::text("9999-12-31 23:59:59.9999 -14:00");
    let error = cast(&edge, &SqlType::TimestampTz, &context()).expect_err("the year 10000 in UTC");
    assert_eq!(error.gds_code(), isc::DATETIME_RANGE_EXCEEDED);
}

/// Recorded from Firebird 4.
#[test]
fn zones_are_read_and_counted_as_recorded() {
    for (text, in_gmt) in [
        ("2020-07-01 12:00 europe/prague", "2020-07-01 10:00:00.0000"),
        ("2020-07-01 12:00 CST", "2020-07-01 17:00:00.0000"),
        // Local mean time, less its seconds.
        ("1850-07-01 12:00 Europe/Prague", "1850-07-01 11:03:00.0000"),
        // The hour left out, and the first of the hours that come twice.
        ("2020-03-29 02:30 Europe/Prague", "2020-03-29 01:30:00.0000"),
        ("2020-10-25 02:30 Europe/Prague", "2020-10-25 00:30:00.0000"),
        ("2020-07-01 +02:00", "2020-06-30 22:00:00.0000"),
        ("2020-07-01 12:00 -03:30", "2020-07-01 15:30:00.0000"),
    ] {
        let Value::TimestampTz(instant) = zoned(text) else { panic!("a timestamp with zone") };
        assert_eq!(instant.utc.to_string(), in_gmt, "{text}");
    }
    assert_eq!(
        to_display_text(&zoned("2020-03-29 02:30 Europe/Prague")),
        "2020-03-29 03:30:00.0000 Europe/Prague"
    );
    assert_eq!(to_display_text(&zoned("2020-07-01 12:00 cst")), "2020-07-01 12:00:00.0000 CST");
    assert_eq!(to_display_text(&zoned("2020-07-01 12:00 -3:5")), "2020-07-01 12:00:00.0000 -03:05");
}

#[test]
fn every_zone_has_rules_and_a_name_that_reads_back() {
    let noon = Timestamp { date: Date::TIME_ZONE_BASE, time: Time(FRACTIONS_PER_DAY / 2) };
    let mut offsets = 0;
    for (zone, name) in ZoneId::regions() {
        assert_eq!(ZoneId::parse(name), Ok(zone));
        assert_eq!(zone.to_string(), name);
        offsets += usize::from(zone.offset_at_utc(noon) != 0);
    }
    // Those on the meridian of Greenwich aside, zones that the database did not know would all be 0.
    assert!(offsets > 540, "{offsets}");
    assert_eq!(ZoneId::GMT, ZoneId(65535));
    assert_eq!(ZoneId::parse("Africa/Abidjan"), Ok(ZoneId(65529)));
    assert_eq!(ZoneId::parse("+02:00"), Ok(ZoneId(1439 + 120)));
    assert_eq!(ZoneId(1439 - 210).to_string(), "-03:30");
    assert!(ZoneId(30000).check().is_err());
}

/// Recorded from Firebird 4; QUARTER is Firebird 5's.
#[test]
fn parts_are_extracted_as_recorded() {
    use DatePart::{
        Day, Hour, Millisecond, Month, Quarter, Second, TimeZoneHour, TimeZoneMinute, TimeZoneName, Week,
        WeekDay, Year, YearDay,
    };
    let offset_time = value("10:11:12 -03:30", SqlType::TimeTz);
    for (part, from, expected) in [
        (Week, date("2021-01-03"), "53"),
        (Week, date("2020-12-31"), "53"),
        (Week, date("2018-12-31"), "1"),
        (WeekDay, date("2020-01-05"), "0"),
        (YearDay, date("2020-12-31"), "365"),
        (Quarter, date("2020-05-05"), "2"),
        (Year, timestamp("2020-05-06 10:00"), "2020"),
        (Month, date("2020-05-06"), "5"),
        (Day, date("2020-05-06"), "6"),
        (Hour, zoned("2020-05-06 10:00 +02:00"), "10"),
        (Second, time("10:11:12.1234"), "12.1234"),
        (Millisecond, time("10:11:12.1234"), "123.4"),
        (TimeZoneHour, offset_time.clone(), "-3"),
        (TimeZoneMinute, offset_time, "-30"),
        (TimeZoneName, timestamp("2020-01-01 00:00"), "Europe/Prague"),
    ] {
        let extracted = extract(part, &from, &context()).expect("has the part");
        assert_eq!(to_display_text(&extracted), expected, "{part:?} {from:?}");
    }
    for (part, from, code) in [
        (Hour, date("2020-01-01"), isc::INVALID_EXTRACTPART_DATE),
        (Year, time("10:00"), isc::INVALID_EXTRACTPART_TIME),
        (Year, Value::integer(1), isc::INVALIDARG_EXTRACT),
    ] {
        assert!(extract(part, &from, &context()).expect_err("no such part").has(code));
    }
    assert_eq!(extract(Year, &Value::Null, &context()), Ok(Value::Null));
}

/// Recorded from Firebird 4.
#[test]
fn parts_are_added_as_recorded() {
    use DatePart::{Day, Hour, Millisecond, Minute, Month, Second, Week, WeekDay, Year};
    let amount = |unscaled, scale| Value::Integer { unscaled, scale };
    for (part, amount, to, expected) in [
        (Month, amount(1, 0), date("2020-01-31"), "2020-02-29"),
        (Month, amount(13, 0), date("2020-02-29"), "2021-03-31"),
        (Month, amount(1, 0), date("2020-02-29"), "2020-03-29"),
        (Year, amount(-1, 0), date("2020-02-29"), "2019-02-28"),
        (Hour, amount(25, 0), timestamp("2020-01-01 10:00"), "2020-01-02 11:00:00.0000"),
        (Hour, amount(25, 0), time("10:00"), "11:00:00.0000"),
        (Minute, amount(90, 0), date("2020-01-01"), "2020-01-01"),
        (Hour, amount(36, 0), date("2020-01-01"), "2020-01-02"),
        (Second, amount(-1, 0), date("2020-01-01"), "2020-01-01"),
        (Day, amount(15, -1), timestamp("2020-01-01 00:00"), "2020-01-03 00:00:00.0000"),
        (Millisecond, amount(155, -2), time("10:00"), "10:00:00.0016"),
        (Second, amount(4, -1), time("10:00"), "10:00:00.0000"),
        (Second, amount(6, -1), time("10:00"), "10:00:01.0000"),
        (Week, amount(1, 0), date("2020-01-01"), "2020-01-08"),
        (
            Day,
            amount(1, 0),
            zoned("2020-03-28 12:00 Europe/Prague"),
            "2020-03-29 13:00:00.0000 Europe/Prague",
        ),
        (
            Month,
            amount(1, 0),
            zoned("2020-03-28 12:00 Europe/Prague"),
            "2020-04-28 13:00:00.0000 Europe/Prague",
        ),
        (
            Month,
            amount(1, 0),
            zoned("2020-03-31 00:30 Europe/Prague"),
            "2020-05-01 00:30:00.0000 Europe/Prague",
        ),
        (
            Month,
            amount(1, 0),
            zoned("2020-05-01 00:30 Europe/Prague"),
            "2020-05-31 00:30:00.0000 Europe/Prague",
        ),
    ] {
        let moved = add_to_part(part, &amount, &to).expect("in range");
        assert_eq!(to_display_text(&moved), expected, "{part:?} {amount:?} {to:?}");
    }
    for (part, units, to, code) in [
        (Year, 100_000, date("2020-01-01"), isc::DATE_RANGE_EXCEEDED),
        (Day, i64::MAX, timestamp("2020-01-01 00:00"), isc::DATETIME_RANGE_EXCEEDED),
        (Month, 1, time("10:00"), isc::SYSF_INVALID_ADDPART_TIME),
        (WeekDay, 1, date("2020-01-01"), isc::SYSF_INVALID_ADDPART_DTIME),
        (Day, 1, Value::integer(1), isc::SYSF_INVALID_ADD_DATETIME),
    ] {
        assert!(add_to_part(part, &amount(units, 0), &to).expect_err("fails in Firebird as well").has(code));
    }
}

/// Recorded from Firebird 4.
#[test]
fn differences_are_counted_as_recorded() {
    use DatePart::{Day, Hour, Millisecond, Minute, Month, Second, Week, WeekDay, Year};
    for (part, from, to, expected) in [
        (Hour, time("10:59"), time("12:01"), "2"),
        (Week, date("2020-01-01"), date("2020-01-14"), "1"),
        (Month, date("2020-01-31"), date("2020-02-01"), "1"),
        (Year, date("2019-12-31"), date("2020-01-01"), "1"),
        (Millisecond, time("10:00"), time("10:00:00.1234"), "123.4"),
        (Minute, timestamp("2020-01-01 10:00:59"), timestamp("2020-01-01 10:01:00"), "1"),
        (Second, time("12:00:00.9"), time("11:00:00.1"), "-3600"),
        (Hour, date("2020-01-01"), date("2020-01-02"), "24"),
        (Day, timestamp("2020-01-01 23:00"), timestamp("2020-01-02 01:00"), "1"),
        (Day, zoned("2020-03-28 23:30 GMT"), zoned("2020-03-29 01:00 Europe/Prague"), "1"),
        (Hour, zoned("2020-05-01 10:59 +00:30"), zoned("2020-05-01 11:01 +00:30"), "0"),
    ] {
        let counted = difference_in_parts(part, &from, &to, &context()).expect("comparable");
        assert_eq!(to_display_text(&counted), expected, "{part:?} {from:?} {to:?}");
    }
    for (part, from, to, code) in [
        (Day, time("10:00"), time("11:00"), isc::SYSF_INVALID_TIMEDIFF),
        (Hour, time("10:00"), date("2020-01-01"), isc::SYSF_INVALID_DATETIMEDIFF),
        (Hour, time("10:00"), timestamp("2020-01-01 10:00"), isc::SYSF_INVALID_TSTAMPTIMEDIFF),
        (WeekDay, date("2020-01-01"), date("2020-01-01"), isc::SYSF_INVALID_DIFFPART),
        (Day, Value::integer(1), date("2020-01-01"), isc::SYSF_INVALID_DIFF_DTIME),
    ] {
        assert!(
            difference_in_parts(part, &from, &to, &context())
                .expect_err("fails in Firebird as well")
                .has(code)
        );
    }
}

/// Recorded from Firebird 4.
#[test]
fn first_and_last_days_are_as_recorded() {
    for (part, from, first, last) in [
        (DatePart::Week, date("2020-01-01"), "2019-12-29", "2020-01-04"),
        (DatePart::Month, date("2020-02-05"), "2020-02-01", "2020-02-29"),
        (DatePart::Quarter, date("2020-05-05"), "2020-04-01", "2020-06-30"),
        (DatePart::Year, date("2020-01-01"), "2020-01-01", "2020-12-31"),
    ] {
        assert_eq!(first_day(part, &from).map(|day| to_display_text(&day)), Ok(first.to_owned()));
        assert_eq!(last_day(part, &from).map(|day| to_display_text(&day)), Ok(last.to_owned()));
    }
    let last = last_day(DatePart::Month, &timestamp("2020-02-05 10:00"));
    assert_eq!(last.map(|day| to_display_text(&day)), Ok("2020-02-29 10:00:00.0000".to_owned()));
    assert!(first_day(DatePart::Day, &date("2020-01-01")).is_err());
    assert!(last_day(DatePart::Month, &time("10:00")).is_err());
    assert!(
        first_day(DatePart::Week, &date("0001-01-01")).is_ok_and(|day| day == date("0001-01-01"))
            || first_day(DatePart::Week, &date("0001-01-01")).is_err()
    );
}

proptest! {
    #[test]
    fn days_come_back(days in Date::MIN.0..=Date::MAX.0) {
        let (year, month, day) = Date(days).year_month_day();
        prop_assert_eq!(Date::from_year_month_day(year, month, day), Some(Date(days)));
        let printed = parse_date_time(&Date(days).to_string(), Expected::Date, &context());
        prop_assert_eq!(printed.map(|read| read.local.date), Ok(Date(days)));
    }

    #[test]
    fn instants_come_back(
        days in Date::MIN.0 + 2..Date::MAX.0 - 2,
        time in 0..FRACTIONS_PER_DAY,
        zone in prop_oneof![0u16..=2878, 64898u16..=65535],
    ) {
        let utc = Timestamp { date: Date(days), time: Time(time) };
        let instant = TimestampTz { utc, zone: ZoneId(zone) };
        let local = to_local(instant);
        // In the hours that come twice the first is meant.
        let again = localize(local, ZoneId(zone));
        prop_assert_eq!(to_local(again), local);
        prop_assert!(again.utc <= utc);
        prop_assert_eq!(Timestamp::from_ticks(utc.ticks()), Some(utc));
    }

    #[test]
    fn any_number_is_shown(days: i32, time: u32, zone: u16) {
        let utc = Timestamp { date: Date(days), time: Time(time) };
        let _ = TimestampTz { utc, zone: ZoneId(zone) }.to_string();
        let _ = TimeTz { utc: Time(time), zone: ZoneId(zone) }.to_string();
    }
}
