//! Statements about the session as a client sends them, and what it attaches with: settings are changed by `psql::session_settings`, ALTER
//! SESSION RESET here.

use farbird_sql::ast::SessionStatement;
use farbird_types::{Error, Result, isc};

use crate::attachment::{Attachment, initial_role};
use crate::psql::session_settings::{self, rounding, traps};

/// Runs a statement about the session.
///
/// # Errors
/// Those of [`session_settings::change`], and of rolling back.
pub(super) fn execute(attachment: &mut Attachment, statement: &SessionStatement) -> Result<()> {
    match statement {
        SessionStatement::Reset => reset(attachment),
        statement => {
            session_settings::change(&attachment.session, &attachment.database().catalog(), statement)
        }
    }
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
    session.interrupt.idle.set_seconds(0);
    session.context_variables.lock().clear();
    Ok(())
}
