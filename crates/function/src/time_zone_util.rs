//! What the package RDB$TIME_ZONE_UTIL is made of: the edition of the time zone database, and the spans of time between two settings
//! of a region's clocks.
//!
//! TRANSITIONS asks for one span after the other, part by part.

use farbird_types::temporal::{ZonePeriod, tz_database_version};
use farbird_types::{
    CharacterSet, ColumnType, ExactSubtype, ExactWidth, Result, SqlType, Text, Timestamp, TimestampTz, Value,
    ZoneId,
};

use crate::argument;
use crate::context::Context;
use crate::{Call, ScalarBody, ScalarFunction};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    function("RDB$TIME_ZONE_UTIL.DATABASE_VERSION", 0, VERSION, database_version),
    function("RDB$TIME_ZONE_UTIL.TRANSITION_START", 2, SqlType::TimestampTz, start),
    function("RDB$TIME_ZONE_UTIL.TRANSITION_END", 2, SqlType::TimestampTz, end),
    function("RDB$TIME_ZONE_UTIL.TRANSITION_NEXT", 2, SqlType::TimestampTz, next),
    function("RDB$TIME_ZONE_UTIL.TRANSITION_OFFSET", 2, MINUTES, zone_minutes),
    function("RDB$TIME_ZONE_UTIL.TRANSITION_SUMMER", 2, MINUTES, summer_minutes),
];

const VERSION: SqlType = SqlType::varchar(10, CharacterSet::ASCII);
const MINUTES: SqlType =
    SqlType::Exact { width: ExactWidth::Short, scale: 0, subtype: ExactSubtype::Integer };

const fn function(name: &'static str, arguments: usize, result: SqlType, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result: match result {
            SqlType::Text(_) => |_, _| Ok(ColumnType { sql_type: VERSION, nullable: false }),
            SqlType::TimestampTz => |_, _| Ok(ColumnType { sql_type: SqlType::TimestampTz, nullable: true }),
            _ => |_, _| Ok(ColumnType { sql_type: MINUTES, nullable: true }),
        },
        parameter_type: |_, _| None,
        body,
        strict: true,
        deterministic: true,
    }
}

fn database_version(_: &mut Context<'_>, _: &Call<'_>) -> Result<Value> {
    Ok(Value::Text(Text::new(tz_database_version().as_bytes(), CharacterSet::ASCII)))
}

/// The span of a region that a moment is in.
fn period(context: &mut Context<'_>, call: &Call<'_>) -> Result<Option<ZonePeriod>> {
    context.check_interrupt()?;
    let name = argument::text_in(context, call.argument(0), CharacterSet::UTF8)?;
    let zone = ZoneId::parse_region(&String::from_utf8_lossy(name.bytes()))?;
    Ok(match call.argument(1) {
        Value::TimestampTz(moment) => zone.period_at(moment.utc),
        _ => None,
    })
}

fn in_gmt(utc: Timestamp) -> Value {
    Value::TimestampTz(TimestampTz { utc, zone: ZoneId::GMT })
}

fn start(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    Ok(period(context, call)?.map_or(Value::Null, |it| in_gmt(it.start)))
}

fn end(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    Ok(period(context, call)?.map_or(Value::Null, |it| in_gmt(it.end)))
}

/// The moment after the span; NULL at the end of time.
fn next(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let next = period(context, call)?.and_then(|it| Timestamp::from_ticks(it.end.ticks() + 1));
    Ok(next.map_or(Value::Null, in_gmt))
}

fn zone_minutes(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    Ok(period(context, call)?.map_or(Value::Null, |it| Value::integer(i64::from(it.zone_minutes))))
}

fn summer_minutes(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    Ok(period(context, call)?.map_or(Value::Null, |it| Value::integer(i64::from(it.summer_minutes))))
}
