//! SET ROLE, SET TIME ZONE, SET DECFLOAT, timeouts and ALTER SESSION RESET.

use std::time::Duration;

use farbird_sql::ast::{OptimizeFor, SessionStatement, Timeout, TimeoutUnit};
use farbird_types::decimal::{Condition, Conditions, Rounding};
use farbird_types::{Error, Result, ZoneId, isc};

use crate::attachment::{Attachment, initial_role};
use crate::catalog::privileges::may_take_role;

/// Runs a statement about the session.
///
/// # Errors
/// `isc_role_...` for a role that does not exist or is not granted, an unknown time zone, `isc_wish_list` for what is
/// not supported.
pub(super) fn execute(attachment: &mut Attachment, statement: &SessionStatement) -> Result<()> {
    let session = &attachment.session;
    match statement {
        SessionStatement::SetRole(role) => {
            let catalog = attachment.database().catalog();
            if !may_take_role(&catalog, &session.options.user, &role.text) {
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
        SessionStatement::Reset => reset(attachment)?,
        SessionStatement::SetBind { from, to } => {
            let catalog = attachment.database().catalog();
            session.settings.lock().bindings.set(&*catalog, from, to)?;
        }
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
        SessionStatement::SetSessionIdleTimeout(_) => return Err(Error::new(isc::WISH_LIST)),
    }
    Ok(())
}

impl Attachment {
    /// What a client asks for in its DPB: a rounding mode, where an empty text asks for nothing, and traps separated by commas.
    ///
    /// # Errors
    /// `isc_invalid_decfloat_round`, `isc_invalid_decfloat_trap`.
    pub fn set_initial_decfloat(&self, mode: &str, trapped: Option<&str>) -> Result<()> {
        let mut settings = self.session.settings.lock();
        if !mode.is_empty() {
            settings.decimal.rounding = rounding(mode)?;
        }
        if let Some(trapped) = trapped {
            let names = trapped.split(',').map(str::trim).filter(|name| !name.is_empty());
            settings.decimal.traps = traps(names)?;
        }
        settings.original_decimal = settings.decimal;
        Ok(())
    }
}

fn rounding(name: &str) -> Result<Rounding> {
    Rounding::by_name(name).ok_or_else(|| Error::new(isc::INVALID_DECFLOAT_ROUND).with(name))
}

fn traps<'n>(mut names: impl Iterator<Item = &'n str>) -> Result<Conditions> {
    names.try_fold(Conditions::NONE, |traps, name| match Condition::by_name(name) {
        Some(condition) => Ok(traps.with(condition)),
        None => Err(Error::new(isc::INVALID_DECFLOAT_TRAP).with(name)),
    })
}

/// ALTER SESSION RESET: settings as at the start, open transactions rolled back.
fn reset(attachment: &mut Attachment) -> Result<()> {
    let open: Vec<_> = attachment.transactions.keys().copied().collect();
    if open.len() > 1 {
        let active = i32::try_from(open.len()).unwrap_or(i32::MAX);
        return Err(Error::new(isc::SES_RESET_ERR).and(isc::SES_RESET_OPEN_TRANS).with(active));
    }
    for transaction in open {
        attachment.rollback_retaining(transaction)?;
    }
    if let Some(temporary) = &attachment.temporary {
        temporary.clear();
    }
    let session = &attachment.session;
    let mut settings = session.settings.lock();
    let catalog = attachment.database().catalog();
    settings.role = initial_role(&catalog, &session.options, session.trusted_role.as_ref());
    settings.time_zone = settings.original_time_zone;
    settings.statement_timeout = None;
    settings.first_rows = None;
    settings.decimal = settings.original_decimal;
    settings.bindings.reset();
    drop(settings);
    session.context_variables.lock().clear();
    Ok(())
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
