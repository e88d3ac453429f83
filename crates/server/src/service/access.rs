//! Attaching to a database for a service, as the user who has asked for it.

use std::sync::Arc;

use farbird_engine::api::{AttachOptions, ClientDescription};
use farbird_engine::attachment::Attachment;
use farbird_engine::maintenance::Maintenance;
use farbird_engine::session::{Interrupt, Tool};
use farbird_engine::users::UserDirectory;
use farbird_types::{CharacterSet, Error, Result, isc};

use crate::handshake::Identity;
use crate::shared::Shared;

/// Attaches as the user, for what takes the privilege of a tool: administrators, the database's owner, and roles that have it.
/// Triggers of the database fire for all but administrators and gfix.
///
/// # Errors
/// `isc_adm_task_denied` with the privilege; for administrators why it cannot be attached to.
pub(super) fn attach(
    shared: &Arc<Shared>,
    identity: &Identity,
    database: &str,
    tool: Tool,
) -> Result<Attachment> {
    let users: Arc<dyn UserDirectory> = Arc::clone(&shared.security) as Arc<dyn UserDirectory>;
    let mut options = attach_options(identity);
    options.no_database_triggers = identity.admin || tool == Tool::Gfix;
    options.client.tool = Some(tool).filter(|_| !identity.admin);
    let attached =
        shared.locations.resolve(database).and_then(|path| shared.engine.attach(&path, options, users));
    // Whoever may not do it is not told what the file is, nor whether there is one.
    attached.map_err(|error| {
        if identity.admin {
            return error;
        }
        tracing::info!(user = identity.user, database, %error, "a service could not attach");
        denied(match tool {
            Tool::Gbak => "USE_GBAK_UTILITY",
            Tool::Gfix => "USE_GFIX_UTILITY",
            Tool::Nbackup => "USE_NBACKUP_UTILITY",
        })
    })
}

fn denied(privilege: &str) -> Error {
    Error::new(isc::ADM_TASK_DENIED).and(isc::MISS_PRVLG).with(privilege)
}

/// Checks that the user may create this database, or replace it.
///
/// # Errors
/// `isc_no_priv`: only administrators replace databases, others' perhaps, and others create none unless that was granted.
pub(super) fn check_may_create(
    shared: &Shared,
    identity: &Identity,
    database: &str,
    replaces: bool,
) -> Result<()> {
    let may = identity.admin || (!replaces && shared.security.may_create_databases(&identity.user)?);
    match may {
        true => Ok(()),
        false => Err(Error::new(isc::NO_PRIV).with("CREATE").with("DATABASE").with(database)),
    }
}

/// Attaches and does what is asked for with the database; `interrupt` stops it.
///
/// # Errors
/// As [`Engine::attach_to_maintain`](farbird_engine::engine::Engine::attach_to_maintain). Where databases lie is for administrators.
pub(super) fn maintain(
    shared: &Shared,
    identity: &Identity,
    database: &str,
    maintenance: &Maintenance,
    interrupt: &Arc<Interrupt>,
) -> Result<Attachment> {
    maintain_as(shared, identity, database, maintenance, true, interrupt)
}

/// As [`maintain`]; `is_gfix`: as gfix, which needs a privilege of its own.
///
/// # Errors
/// As [`maintain`].
pub(super) fn maintain_as(
    shared: &Shared,
    identity: &Identity,
    database: &str,
    maintenance: &Maintenance,
    is_gfix: bool,
    interrupt: &Arc<Interrupt>,
) -> Result<Attachment> {
    let users: Arc<dyn UserDirectory> = Arc::clone(&shared.security) as Arc<dyn UserDirectory>;
    let mut options = attach_options(identity);
    options.client.tool = is_gfix.then_some(Tool::Gfix);
    options.no_database_triggers = is_gfix;
    let mut known = |session| interrupt.pass_on_to(session);
    let done = shared
        .locations
        .resolve(database)
        .and_then(|path| shared.engine.attach_to_maintain(&path, options, users, maintenance, &mut known));
    done.map_err(|error| if identity.admin { error } else { shared.locations.without_folder(error) })
}

/// As whom the service is attached; what it may do has been checked already.
fn attach_options(identity: &Identity) -> AttachOptions {
    AttachOptions {
        user: identity.user.clone(),
        role: identity.role.clone(),
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: true,
        client: ClientDescription { leaves_when_told: true, ..ClientDescription::default() },
    }
}
