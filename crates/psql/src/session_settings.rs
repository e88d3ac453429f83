//! SET ROLE, SET TIME ZONE, SET DECFLOAT and what else changes the settings of a session: alone, in a routine, by EXECUTE STATEMENT.

use std::time::Duration;

use farbird_catalog::Catalog;
use farbird_catalog::privileges::may_take_role;
use farbird_expression::ExecutionContext;
use farbird_session::Session;
use farbird_sql::ast::{OptimizeFor, SessionStatement, Timeout, TimeoutUnit};
use farbird_types::decimal::{Condition, Conditions, Rounding};
use farbird_types::{Error, Result, ZoneId, isc};

/// Changes what the statement says. ALTER SESSION RESET is the attachment's, which knows its transactions.
///
/// # Errors
/// `isc_set_invalid_role` for a role that does not exist or is not granted, an unknown time zone or type, `isc_wish_list` for what is
/// not supported.
pub fn change(session: &Session, catalog: &Catalog, statement: &SessionStatement) -> Result<()> {
    match statement {
        SessionStatement::SetRole(role) => {
            if !may_take_role(catalog, &session.options.user, &role.text) {
                return Err(Error::new(isc::SET_INVALID_ROLE).with(role.text.as_str()));
            }
            session.settings.lock().role = (role.text != "NONE").then(|| role.text.clone());
        }
        // A trusted role comes with a mapping.
        SessionStatement::SetTrustedRole => match &session.trusted_role {
            Some(role) => session.settings.lock().role = Some(role.clone()),
            None => return Err(Error::new(isc::MISS_TRUSTED_ROLE)),
        },
        SessionStatement::SetTimeZone(zone) => {
            let mut settings = session.settings.lock();
            settings.time_zone = match zone {
                None => settings.original_time_zone,
                Some(name) => ZoneId::parse(name)?,
            };
        }
        SessionStatement::SetStatementTimeout(timeout) => {
            let timeout = duration(*timeout);
            session.settings.lock().statement_timeout = (!timeout.is_zero()).then_some(timeout);
        }
        SessionStatement::SetBind { from, to } => session.settings.lock().bindings.set(catalog, from, to)?,
        SessionStatement::SetOptimize(mode) => {
            session.settings.lock().first_rows = mode.map(|mode| mode == OptimizeFor::FirstRows);
        }
        // It says how the server may go about its work; nothing that a client sees follows from it.
        SessionStatement::SetDebugOption { .. } => {}
        SessionStatement::SetDecFloatRound(mode) => {
            session.settings.lock().decimal.rounding = rounding(mode.as_str())?;
        }
        SessionStatement::SetDecFloatTraps(names) => {
            session.settings.lock().decimal.traps = traps(names.iter().map(|name| name.as_str()))?;
        }
        SessionStatement::SetSessionIdleTimeout(timeout) => {
            let seconds = u32::try_from(duration(*timeout).as_secs()).unwrap_or(u32::MAX);
            session.interrupt.idle.set_seconds(seconds);
        }
        SessionStatement::Reset => {
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with("ALTER SESSION RESET inside PSQL"));
        }
    }
    Ok(())
}

/// Refuses names that are known to be wrong before anything runs.
///
/// # Errors
/// `isc_invalid_decfloat_round`, `isc_invalid_decfloat_trap`.
pub(crate) fn check_names(statement: &SessionStatement) -> Result<()> {
    match statement {
        SessionStatement::SetDecFloatRound(mode) => rounding(mode.as_str()).map(drop),
        SessionStatement::SetDecFloatTraps(names) => traps(names.iter().map(|name| name.as_str())).map(drop),
        _ => Ok(()),
    }
}

/// The same from within a routine, whose own values follow the new settings from here on.
///
/// # Errors
/// As [`change`].
pub(crate) fn change_within(context: &mut ExecutionContext<'_>, statement: &SessionStatement) -> Result<()> {
    change(context.session, &context.transaction.current_catalog(), statement)?;
    let settings = context.session.settings.lock();
    let (zone, decimal) = (settings.time_zone, settings.decimal);
    drop(settings);
    context.cast.decimal = decimal;
    context.cast.session_zone = zone;
    context.now.zone = zone;
    Ok(())
}

/// A rounding mode of DECFLOAT.
///
/// # Errors
/// `isc_invalid_decfloat_round`.
pub fn rounding(name: &str) -> Result<Rounding> {
    Rounding::by_name(name).ok_or_else(|| Error::new(isc::INVALID_DECFLOAT_ROUND).with(name))
}

/// What DECFLOAT fails at.
///
/// # Errors
/// `isc_invalid_decfloat_trap`.
pub fn traps<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<Conditions> {
    names.try_fold(Conditions::NONE, |traps, name| match Condition::by_name(name) {
        Some(condition) => Ok(traps.with(condition)),
        None => Err(Error::new(isc::INVALID_DECFLOAT_TRAP).with(name)),
    })
}

fn duration(timeout: Timeout) -> Duration {
    let count = u64::from(timeout.count);
    match timeout.unit {
        TimeoutUnit::Hour => Duration::from_secs(count * 3600),
        TimeoutUnit::Minute => Duration::from_secs(count * 60),
        TimeoutUnit::Second => Duration::from_secs(count),
        TimeoutUnit::Millisecond => Duration::from_millis(count),
    }
}
