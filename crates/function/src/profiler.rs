//! What the package RDB$PROFILER is made of: there is no profiler here.
//!
//! START_SESSION is refused as by a Firebird that has no plugin of that name. So no session is ever active, and the procedures that
//! concern the active one have as little to do as there.
//!
//! Source: Firebird 5's doc/sql.extensions/README.profiler.md.

use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::argument;
use crate::context::Context;
use crate::{Call, ScalarBody, ScalarFunction};

/// The plugin of sessions that name none.
const DEFAULT_PLUGIN: &str = "Default_Profiler";

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    function("RDB$PROFILER.START_SESSION", 5, start_session),
    function("RDB$PROFILER.CANCEL_SESSION", 1, |context, call| of_attachment(context, call, 0)),
    function("RDB$PROFILER.DISCARD", 1, |context, call| of_attachment(context, call, 0)),
    function("RDB$PROFILER.FINISH_SESSION", 2, |context, call| of_attachment(context, call, 1)),
    function("RDB$PROFILER.FLUSH", 1, |context, call| of_attachment(context, call, 0)),
    function("RDB$PROFILER.PAUSE_SESSION", 2, |context, call| of_attachment(context, call, 1)),
    function("RDB$PROFILER.RESUME_SESSION", 1, |context, call| of_attachment(context, call, 0)),
    function("RDB$PROFILER.SET_FLUSH_INTERVAL", 2, set_flush_interval),
];

const fn function(name: &'static str, arguments: usize, body: ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result: |_, _| Ok(ColumnType { sql_type: SqlType::BIGINT, nullable: true }),
        parameter_type: |_, _| None,
        body,
        strict: false,
        deterministic: false,
    }
}

fn refused(what: String) -> Error {
    Error::new(isc::RANDOM).with(what)
}

fn start_session(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    check_interval(context, call.argument(1))?;
    of_attachment(context, call, 2)?;
    let plugin = match call.argument(3) {
        Value::Null => DEFAULT_PLUGIN.to_owned(),
        name => String::from_utf8_lossy(argument::text(context, name)?.bytes()).into_owned(),
    };
    Err(refused(format!("Profiler plugin {plugin} is not found")))
}

fn set_flush_interval(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    check_interval(context, call.argument(0))?;
    of_attachment(context, call, 1)
}

/// Seconds are not negative.
fn check_interval(context: &Context<'_>, seconds: &Value) -> Result<()> {
    if seconds.is_null() {
        return Ok(());
    }
    let seconds = argument::int32(context, seconds)?;
    if seconds >= 0 {
        return Ok(());
    }
    Err(Error::new(isc::NOT_VALID_FOR_VAR).with("FLUSH_INTERVAL").with(seconds.to_string()))
}

/// The attachment that is meant: this one, or one that would have to listen.
fn of_attachment(context: &mut Context<'_>, call: &Call<'_>, place: usize) -> Result<Value> {
    let own = i64::try_from(context.session.id).unwrap_or(i64::MAX);
    match call.argument(place) {
        Value::Null => Ok(Value::Null),
        other if argument::integer(context, other)? == own => Ok(Value::Null),
        _ => Err(refused("Cannot start remote profile session - attachment is not active".to_owned())),
    }
}
