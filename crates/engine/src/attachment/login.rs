//! As whom somebody attaches who has logged in: what mappings make of the login.

use farbird_types::Result;

use crate::api::AttachOptions;
use crate::catalog::Catalog;
use crate::session::ServerUser;
use crate::session::mapping::{Login, Mapped};
use crate::users::UserDirectory;

/// What mappings have made of a login, beside its user.
pub(crate) struct MappedLogin {
    /// Who it is to the server.
    pub(crate) server: ServerUser,
    /// The role that it has.
    pub(crate) trusted_role: Option<String>,
}

impl MappedLogin {
    /// Asks the mappings of the server, and those of a database that there is already, and puts the user in `options` who they say.
    /// Only logins by a plugin are mapped: a program that embeds the engine, and the server for itself, say who they are.
    ///
    /// # Errors
    /// `isc_map_multi` for contradictions; those of the place where users live.
    pub(crate) fn map(
        users: &dyn UserDirectory,
        catalog: Option<&Catalog>,
        options: &mut AttachOptions,
    ) -> Result<MappedLogin> {
        let plugin = options.client.authentication.clone();
        let name = options.user.clone();
        if plugin.is_empty() {
            let server = ServerUser { login: name.clone(), user: name, role: None };
            return Ok(MappedLogin { server, trusted_role: None });
        }
        let global = users.mappings()?;
        let login = Login { user: &options.user, plugin: &plugin };
        let to_server = Mapped::of(login, [].iter(), &global);
        let own = catalog.into_iter().flat_map(|catalog| catalog.mappings.values());
        let mapped = Mapped::of(login, own, &global)?;
        // Contradictions of the server's are none for a database that decides itself; whoever it is has no rights elsewhere then.
        let server = match to_server {
            Ok(Mapped { user, role }) => {
                let user = user.unwrap_or_else(|| name.clone());
                ServerUser { login: name, user, role }
            }
            Err(_) => ServerUser { login: name, ..ServerUser::default() },
        };
        if let Some(user) = mapped.user {
            options.user = user;
            options.client.authentication = format!("Mapped from {plugin}");
        }
        Ok(MappedLogin { server, trusted_role: mapped.role })
    }
}
