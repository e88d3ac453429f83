//! Values that the attachment, the transaction or the running routine knows.

use farbird_sql::ast::{ContextVariable, ErrorItem, TriggerAction};
use farbird_types::{
    CharacterSet, Result, SqlType, Text, Time, Timestamp, TimestampTz, Value, ZoneId, convert, isc,
};

use farbird_types::error::StatusItem;

use crate::context::ExecutionContext;

/// Ten-thousandths of a second in a second: the unit of times.
const TICKS_PER_SECOND: u32 = 10_000;

/// Longest user and role name in characters.
const NAME_CHARS_MAX: u32 = 63;

/// The type of a context variable.
pub fn context_type(variable: ContextVariable) -> SqlType {
    match variable {
        ContextVariable::CurrentUser | ContextVariable::CurrentRole => {
            SqlType::varchar(NAME_CHARS_MAX, CharacterSet::UTF8)
        }
        ContextVariable::CurrentConnection | ContextVariable::CurrentTransaction => SqlType::BIGINT,
        ContextVariable::CurrentDate => SqlType::Date,
        ContextVariable::CurrentTime { .. } => SqlType::TimeTz,
        ContextVariable::CurrentTimestamp { .. } => SqlType::TimestampTz,
        ContextVariable::LocalTime { .. } => SqlType::Time,
        ContextVariable::LocalTimestamp { .. } => SqlType::Timestamp,
        ContextVariable::RowCount => SqlType::INTEGER,
        ContextVariable::GdsCode | ContextVariable::SqlCode => SqlType::INTEGER,
        ContextVariable::SqlState => SqlType::char(5, CharacterSet::ASCII),
        ContextVariable::Inserting
        | ContextVariable::Updating
        | ContextVariable::Deleting
        | ContextVariable::Resetting => SqlType::Boolean,
    }
}

/// The type of a property of the exception being handled.
pub fn error_type(item: ErrorItem) -> SqlType {
    match item {
        ErrorItem::GdsCode | ErrorItem::SqlCode => SqlType::INTEGER,
        ErrorItem::SqlState => SqlType::char(5, CharacterSet::ASCII),
        ErrorItem::Exception => SqlType::varchar(NAME_CHARS_MAX, CharacterSet::UTF8),
        ErrorItem::Message => SqlType::varchar(1024, CharacterSet::UTF8),
    }
}

/// The value of a context variable.
pub(crate) fn context_value(variable: ContextVariable, context: &ExecutionContext<'_>) -> Result<Value> {
    let now = TimestampTz { utc: context.now.utc, zone: context.cast.session_zone };
    let local = |to: SqlType, precision: u8| -> Result<Value> {
        let value = convert::cast(&Value::TimestampTz(now), &to, &context.cast)?;
        Ok(truncated(value, precision))
    };
    let fires = |action: TriggerAction| Value::Boolean(context.routine.trigger_action == Some(action));
    Ok(match variable {
        ContextVariable::CurrentUser => Value::text(&context.session.options.user),
        ContextVariable::CurrentRole => {
            Value::text(context.session.settings.lock().role.as_deref().unwrap_or("NONE"))
        }
        ContextVariable::CurrentConnection => {
            Value::integer(i64::try_from(context.session.id).unwrap_or(i64::MAX))
        }
        ContextVariable::CurrentTransaction => {
            Value::integer(i64::try_from(context.transaction.store.id().0).unwrap_or(i64::MAX))
        }
        ContextVariable::CurrentDate => local(SqlType::Date, 0)?,
        ContextVariable::CurrentTime { precision } => local(SqlType::TimeTz, precision)?,
        ContextVariable::CurrentTimestamp { precision } => truncated(Value::TimestampTz(now), precision),
        ContextVariable::LocalTime { precision } => local(SqlType::Time, precision)?,
        ContextVariable::LocalTimestamp { precision } => local(SqlType::Timestamp, precision)?,
        ContextVariable::RowCount => Value::integer(context.routine.affected.count()),
        ContextVariable::GdsCode => error_value(ErrorItem::GdsCode, context),
        ContextVariable::SqlCode => error_value(ErrorItem::SqlCode, context),
        ContextVariable::SqlState => error_value(ErrorItem::SqlState, context),
        ContextVariable::Inserting => fires(TriggerAction::Insert),
        ContextVariable::Updating => fires(TriggerAction::Update),
        ContextVariable::Deleting => fires(TriggerAction::Delete),
        ContextVariable::Resetting => Value::Boolean(context.routine.resetting),
    })
}

/// Cuts the fraction of the second to so many digits. Zones differ from UTC by whole minutes, so the cut is the same
/// before and after.
fn truncated(value: Value, precision: u8) -> Value {
    let unit = TICKS_PER_SECOND / 10u32.pow(u32::from(precision.min(3)));
    let cut = |time: Time| Time(time.0 - time.0 % unit);
    match value {
        Value::Time(time) => Value::Time(cut(time)),
        Value::TimeTz(mut time) => {
            time.utc = cut(time.utc);
            Value::TimeTz(time)
        }
        Value::Timestamp(timestamp) => {
            Value::Timestamp(Timestamp { date: timestamp.date, time: cut(timestamp.time) })
        }
        Value::TimestampTz(mut timestamp) => {
            timestamp.utc.time = cut(timestamp.utc.time);
            Value::TimestampTz(timestamp)
        }
        other => other,
    }
}

/// A property of the exception being handled; 0, '00000' or NULL when there is none.
pub(crate) fn error_value(item: ErrorItem, context: &ExecutionContext<'_>) -> Value {
    let error = context.routine.error.as_ref();
    match item {
        ErrorItem::GdsCode => Value::integer(error.map_or(0, |error| i64::from(error.gds_code()))),
        ErrorItem::SqlCode => Value::integer(error.map_or(0, |error| i64::from(error.sql_code()))),
        ErrorItem::SqlState => {
            let state = error.map_or("00000", farbird_types::Error::sql_state);
            Value::Text(Text::new(state.as_bytes(), CharacterSet::ASCII))
        }
        ErrorItem::Exception => error.and_then(exception_name).map_or(Value::Null, |name| Value::text(&name)),
        ErrorItem::Message => error.map_or(Value::Null, |error| {
            let lines: Vec<String> = error.items().iter().map(StatusItem::message).collect();
            Value::text(&lines.join("\n"))
        }),
    }
}

/// The name of the user's exception that a status reports.
fn exception_name(error: &farbird_types::Error) -> Option<String> {
    error.items().iter().skip_while(|item| item.gds_code != isc::EXCEPT).find_map(|item| {
        item.arguments.iter().find_map(|argument| match argument {
            farbird_types::error::StatusArgument::Text(name) => Some(name.clone()),
            farbird_types::error::StatusArgument::Number(_) => None,
        })
    })
}

/// AT TIME ZONE, AT LOCAL: the same moment shown in another zone. Values without a zone are of the session's.
pub(crate) fn at_time_zone(
    value: &Value,
    zone: Option<&Value>,
    context: &ExecutionContext<'_>,
) -> Result<Value> {
    let zone = match zone {
        None => context.cast.session_zone,
        Some(Value::Null) => return Ok(Value::Null),
        Some(zone) => zone_of(zone, context)?,
    };
    let to = match value {
        Value::Time(_) | Value::TimeTz(_) => SqlType::TimeTz,
        _ => SqlType::TimestampTz,
    };
    Ok(match convert::cast(value, &to, &context.cast)? {
        Value::TimeTz(mut time) => {
            time.zone = zone;
            Value::TimeTz(time)
        }
        Value::TimestampTz(mut timestamp) => {
            timestamp.zone = zone;
            Value::TimestampTz(timestamp)
        }
        other => other,
    })
}

/// The zone that a text names: read as that of a time in it, which is where texts name zones.
fn zone_of(zone: &Value, context: &ExecutionContext<'_>) -> Result<ZoneId> {
    let text = convert::to_display_text(zone);
    match convert::cast(&Value::text(&format!("00:00:00 {text}")), &SqlType::TimeTz, &context.cast)? {
        Value::TimeTz(time) => Ok(time.zone),
        _ => Ok(context.cast.session_zone),
    }
}
