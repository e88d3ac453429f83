//! Attaching to a database for a service, as the user who has asked for it.

use std::sync::Arc;

use farbird_engine::api::{AttachOptions, ClientDescription};
use farbird_engine::attachment::Attachment;
use farbird_engine::maintenance::Maintenance;
use farbird_engine::session::Interrupt;
use farbird_engine::users::UserDirectory;
use farbird_types::{CharacterSet, Error, Result, isc};

use crate::handshake::Identity;
use crate::shared::Shared;

/// Attaches as the user, for what only administrators and the database's owner may do.
///
/// # Errors
/// `isc_miss_prvlg` with the privilege; for administrators why it cannot be attached to.
pub(super) fn attach(
    shared: &Arc<Shared>,
    identity: &Identity,
    database: &str,
    privilege: &str,
) -> Result<Attachment> {
    let users: Arc<dyn UserDirectory> = Arc::clone(&shared.security) as Arc<dyn UserDirectory>;
    let attached = shared
        .locations
        .resolve(database)
        .and_then(|path| shared.engine.attach(&path, attach_options(identity), users));
    // Whoever may not do it is not told what the file is, nor whether there is one.
    let may = |attachment: &Attachment| {
        identity.admin || attachment.database().catalog().database.owner == identity.user
    };
    match attached {
        Ok(attachment) if may(&attachment) => Ok(attachment),
        Err(error) if identity.admin => Err(error),
        _ => Err(Error::new(isc::MISS_PRVLG).with(privilege)),
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
    options.client.is_maintenance = is_gfix;
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
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: true,
        client: ClientDescription { leaves_when_told: true, ..ClientDescription::default() },
    }
}
