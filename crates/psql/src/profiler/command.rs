//! The routines of the package RDB$PROFILER.
//!
//! Those that name another attachment do there what they are told, whatever it is doing; a session that begins there is told of what
//! is called next.

use std::sync::Arc;
use std::time::Duration;

use farbird_catalog::SystemPrivilege;
use farbird_expression::ExecutionContext;
use farbird_session::profile::Profile;
use farbird_session::{Session, clock};
use farbird_types::{Error, Result, Value, isc};

use crate::condition;
use crate::execution::Execution;
use crate::profiler::{tables, written};
use crate::routine::ProfilerCommand;

/// The only plugin that there is.
const PLUGIN: &str = "Default_Profiler";
/// The only option that it has.
const DETAILED_REQUESTS: &str = "DETAILED_REQUESTS";

impl Execution {
    /// Runs a routine of the package with its inputs in the order of their declaration; gives what a function returns.
    pub(crate) fn profiler_command(
        command: ProfilerCommand,
        inputs: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let input = |place: usize| inputs.get(place).unwrap_or(&Value::Null);
        match command {
            ProfilerCommand::StartSession => return start(inputs, context),
            ProfilerCommand::PauseSession => {
                let session = target(input(1), context)?;
                session.profiler.pause();
                if is_true(input(0)) {
                    written::write(&session, context)?;
                }
            }
            ProfilerCommand::FinishSession => {
                let session = target(input(1), context)?;
                session.profiler.finish(now(&session));
                if is_true(input(0)) {
                    written::write(&session, context)?;
                }
            }
            ProfilerCommand::ResumeSession => target(input(0), context)?.profiler.resume(),
            ProfilerCommand::CancelSession => target(input(0), context)?.profiler.cancel(),
            ProfilerCommand::Discard => target(input(0), context)?.profiler.discard(),
            ProfilerCommand::Flush => {
                let session = target(input(0), context)?;
                written::write(&session, context)?;
            }
            ProfilerCommand::SetFlushInterval => {
                let seconds = seconds(input(0))?;
                target(input(1), context)?.profiler.set_interval(interval(seconds.unwrap_or(0)));
            }
        }
        Ok(Value::Null)
    }
}

fn start(inputs: &[Value], context: &mut ExecutionContext<'_>) -> Result<Value> {
    let input = |place: usize| inputs.get(place).unwrap_or(&Value::Null);
    let text = |place: usize, context: &mut ExecutionContext<'_>| match input(place) {
        Value::Null => Ok(String::new()),
        text => condition::text_of(text, context),
    };
    let seconds = seconds(input(1))?;
    let session = target(input(2), context)?;
    let plugin = text(3, context)?;
    if !(plugin.is_empty() || plugin == PLUGIN) {
        return Err(refused(format!("Profiler plugin {plugin} is not found")));
    }
    tables::make(context)?;
    let options = text(4, context)?;
    let options = options.trim_matches(' ').to_uppercase();
    if !(options.is_empty() || options == DETAILED_REQUESTS) {
        return Err(refused(format!("Invalid OPTIONS for {PLUGIN}.")));
    }
    let description = Some(text(0, context)?).filter(|description| !description.is_empty());
    let id = tables::next_profile_id(context)?;
    session.profiler.start(Profile::new(id, description, !options.is_empty(), now(&session)));
    if let Some(seconds) = seconds {
        session.profiler.set_interval(interval(seconds));
    }
    Ok(Value::integer(id))
}

fn now(session: &Session) -> farbird_types::TimestampTz {
    clock::now(session.settings.lock().time_zone)
}

fn refused(what: String) -> Error {
    Error::new(isc::RANDOM).with(what)
}

fn is_true(value: &Value) -> bool {
    *value == Value::Boolean(true)
}

/// Seconds, which are not negative.
fn seconds(value: &Value) -> Result<Option<u64>> {
    let Value::Integer { unscaled, .. } = value else { return Ok(None) };
    match u64::try_from(*unscaled) {
        Ok(seconds) => Ok(Some(seconds)),
        Err(_) => Err(Error::new(isc::NOT_VALID_FOR_VAR).with("FLUSH_INTERVAL").with(unscaled.to_string())),
    }
}

fn interval(seconds: u64) -> Option<Duration> {
    (seconds > 0).then(|| Duration::from_secs(seconds))
}

/// The attachment that is meant: this one, or another one of the same user, or of anybody for who may profile anybody.
fn target(attachment: &Value, context: &ExecutionContext<'_>) -> Result<Arc<Session>> {
    let own = context.session.id;
    let wanted = match attachment {
        Value::Integer { unscaled, .. } => u64::try_from(*unscaled).ok(),
        _ => Some(own),
    };
    let known = wanted.and_then(|wanted| context.database.attachments.lock().get(&wanted).cloned());
    let Some(session) = known else {
        return Err(refused("Cannot start remote profile session - attachment is not active".to_owned()));
    };
    let is_own_user = session.options.user == context.session.options.user;
    let catalog = context.transaction.current_catalog();
    if is_own_user || context.actor().has(&catalog, SystemPrivilege::ProfileAnyAttachment) {
        return Ok(session);
    }
    Err(Error::new(isc::MISS_PRVLG).with("PROFILE_ANY_ATTACHMENT"))
}
