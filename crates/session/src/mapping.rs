//! Mappings: as whom somebody who has logged in works in a database (CREATE MAPPING).
//!
//! A database has its own mappings; those that are global are the server's, which keeps them with its users. Firebird 5.0.4 was
//! asked how they work together: for the user and for the role the first of these places counts that says anything, and within
//! one place all must say the same:
//!
//! 1. the database's mappings that name plugin, security database and user,
//! 2. the global ones that do,
//! 3. the database's that leave one of these open,
//! 4. the global ones that do.
//!
//! Names are compared without regard to case, as names in capitals are what unquoted ones become.

use std::sync::Arc;

use farbird_types::{Error, Result, isc};
use serde::{Deserialize, Serialize};

/// What stands for any name.
pub const ANY: &str = "*";
/// The role of administrators, in every database.
const ADMIN_ROLE: &str = "RDB$ADMIN";
/// The type of what a login by name and password brings.
const USER: &str = "USER";

/// A mapping: a line of RDB$AUTH_MAPPING.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mapping {
    /// Name.
    pub name: String,
    /// USING.
    pub using: MappingSource,
    /// The plugin; `None` for any.
    pub plugin: Option<String>,
    /// IN: the security database, or that of an earlier mapping; `None` for any.
    pub database: Option<String>,
    /// The type of what is mapped.
    pub from_type: String,
    /// What is mapped; [`ANY`] for all of that type.
    pub from: String,
    /// TO ROLE rather than TO USER.
    pub to_role: bool,
    /// To whom; `None` for the same name.
    pub to: Option<String>,
    /// RDB$DESCRIPTION.
    pub description: Option<String>,
}

/// Where a mapped name comes from (RDB$MAP_USING).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MappingSource {
    /// PLUGIN, ANY PLUGIN.
    Plugin,
    /// ANY PLUGIN SERVERWIDE: plugins whose users are in no database.
    ServerWide,
    /// MAPPING: a mapping of another database.
    Mapping,
    /// `*`
    Any,
}

impl MappingSource {
    const ALL: [MappingSource; 4] =
        [MappingSource::Plugin, MappingSource::ServerWide, MappingSource::Mapping, MappingSource::Any];

    /// RDB$MAP_USING.
    pub fn letter(self) -> char {
        match self {
            MappingSource::Plugin => 'P',
            MappingSource::ServerWide => 'S',
            MappingSource::Mapping => 'M',
            MappingSource::Any => '*',
        }
    }

    /// What RDB$MAP_USING says.
    pub fn of_letter(letter: char) -> Option<MappingSource> {
        Self::ALL.into_iter().find(|source| source.letter() == letter)
    }
}

/// The mappings that are valid in all databases of a server.
#[derive(Debug, Clone, Default)]
pub struct GlobalMappings {
    /// The mappings.
    pub mappings: Vec<Arc<Mapping>>,
    /// What the place where the users are is called after IN.
    pub security_database: Vec<String>,
}

/// Somebody who has logged in.
#[derive(Debug, Clone, Copy)]
pub struct Login<'l> {
    /// The name.
    pub user: &'l str,
    /// The plugin that has let the user in.
    pub plugin: &'l str,
}

/// What mappings make of a login; what they say nothing about stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapped {
    /// The user.
    pub user: Option<String>,
    /// The role: one to be trusted, nobody need have granted it.
    pub role: Option<String>,
}

impl Mapped {
    /// Asks the mappings of a database and of its server.
    ///
    /// # Errors
    /// `isc_map_multi` if mappings of one place contradict each other; `isc_map_aster` for a user of the name that stands for all.
    pub fn of<'m>(
        login: Login<'_>,
        own: impl Iterator<Item = &'m Arc<Mapping>> + Clone,
        global: &'m GlobalMappings,
    ) -> Result<Mapped> {
        let mut mapped = Mapped::default();
        let security = global.security_database.as_slice();
        for exact in [true, false] {
            mapped.add(login, security, own.clone(), exact)?;
            mapped.add(login, security, global.mappings.iter(), exact)?;
        }
        Ok(mapped)
    }

    /// Adds what one place says about what no place before it has said.
    fn add<'m>(
        &mut self,
        login: Login<'_>,
        security: &[String],
        mappings: impl Iterator<Item = &'m Arc<Mapping>>,
        exact: bool,
    ) -> Result<()> {
        let mut said = Mapped::default();
        for mapping in mappings.filter(|mapping| mapping.matches(login, security, exact)) {
            if login.user == ANY {
                return Err(Error::new(isc::MAP_ASTER));
            }
            let name = mapping.to.as_deref().unwrap_or(login.user);
            let place = if mapping.to_role { &mut said.role } else { &mut said.user };
            if place.as_ref().is_some_and(|other| !other.eq_ignore_ascii_case(name)) {
                return Err(Error::new(isc::MAP_MULTI).with(login.user));
            }
            place.get_or_insert_with(|| name.to_owned());
        }
        self.user = self.user.take().or(said.user);
        self.role = self.role.take().or(said.role);
        Ok(())
    }
}

impl Mapping {
    /// What ALTER ROLE RDB$ADMIN SET AUTO ADMIN MAPPING makes, under Firebird's name for it: administrators of Windows, as its plugin
    /// calls them, have the role.
    pub fn of_windows_administrators() -> Mapping {
        Mapping {
            name: "AutoAdminImplementationMapping".to_owned(),
            using: MappingSource::Plugin,
            plugin: Some("Win_Sspi".to_owned()),
            database: None,
            from_type: "Predefined_Group".to_owned(),
            from: "DOMAIN_ANY_RID_ADMINS".to_owned(),
            to_role: true,
            to: Some(ADMIN_ROLE.to_owned()),
            description: None,
        }
    }

    /// Whether it says something about a login; `exact`: without leaving anything open.
    fn matches(&self, login: Login<'_>, security: &[String], exact: bool) -> bool {
        let source = match self.using {
            MappingSource::Plugin => true,
            MappingSource::Any => !exact,
            // Logins come by plugins whose users are in a database, and have not been mapped elsewhere.
            MappingSource::ServerWide | MappingSource::Mapping => false,
        };
        let is_open_or = |name: &Option<String>, fits: &dyn Fn(&str) -> bool| match name {
            Some(name) => fits(name),
            None => !exact,
        };
        source
            && self.from_type.eq_ignore_ascii_case(USER)
            && is_open_or(&self.plugin, &|plugin| plugin.eq_ignore_ascii_case(login.plugin))
            && is_open_or(&self.database, &|name| security.iter().any(|it| it.eq_ignore_ascii_case(name)))
            && (self.from.eq_ignore_ascii_case(login.user) || !exact && self.from == ANY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: Login<'_> = Login { user: "BOB", plugin: "Srp" };

    /// `plugin database from -> [role ]to`, `-` for what is left out.
    fn mapping(written: &str) -> Arc<Mapping> {
        let (left, to) = written.split_once(" -> ").unwrap();
        let [plugin, database, from] = left.split(' ').collect::<Vec<_>>()[..] else { panic!("{written}") };
        let named = |name: &str| (name != "-").then(|| name.to_owned());
        let (to_role, to) = match to.strip_prefix("role ") {
            Some(role) => (true, role),
            None => (false, to),
        };
        Arc::new(Mapping {
            name: written.to_owned(),
            using: MappingSource::Plugin,
            plugin: named(plugin),
            database: named(database),
            from_type: "USER".to_owned(),
            from: from.to_owned(),
            to_role,
            to: named(to),
            description: None,
        })
    }

    fn mapped(own: &[&str], global: &[&str]) -> Result<(String, String)> {
        let own: Vec<_> = own.iter().map(|it| mapping(it)).collect();
        let global = GlobalMappings {
            mappings: global.iter().map(|it| mapping(it)).collect(),
            security_database: vec!["security.db".to_owned()],
        };
        let Mapped { user, role } = Mapped::of(LOGIN, own.iter(), &global)?;
        Ok((user.unwrap_or_default(), role.unwrap_or_default()))
    }

    #[track_caller]
    fn check(own: &[&str], global: &[&str], user: &str, role: &str) {
        assert_eq!(mapped(own, global).unwrap(), (user.to_owned(), role.to_owned()));
    }

    #[test]
    fn the_closest_mapping_that_says_something_counts() {
        check(&[], &[], "", "");
        check(&["SRP - BOB -> ANN"], &[], "ANN", "");
        check(&["- - * -> -"], &[], "BOB", "");
        check(&["Srp256 - BOB -> ANN", "- other.db BOB -> ANN", "- - EVE -> ANN"], &[], "", "");
        check(&["- - BOB -> JOE"], &["- - BOB -> ANN"], "JOE", "");
        check(&["- - BOB -> JOE"], &["SRP security.db BOB -> ANN"], "ANN", "");
        check(&["srp SECURITY.DB bob -> JOE"], &["SRP security.db BOB -> ANN"], "JOE", "");
        check(&["- - BOB -> role R"], &["- - BOB -> ANN"], "ANN", "R");
    }

    #[test]
    fn contradictions_are_errors() {
        let error = mapped(&["- - * -> ANN", "SRP - BOB -> JOE"], &[]).unwrap_err();
        assert_eq!(error.gds_code(), isc::MAP_MULTI);
        check(&["- - * -> ANN", "SRP - BOB -> ANN", "- - BOB -> role R"], &[], "ANN", "R");
    }

    #[test]
    fn types_and_sources_that_no_login_has_say_nothing() {
        for change in [
            |mapping: &mut Mapping| mapping.using = MappingSource::ServerWide,
            |mapping: &mut Mapping| mapping.using = MappingSource::Mapping,
            |mapping: &mut Mapping| mapping.from_type = "ROLE".to_owned(),
        ] {
            let mut changed = Mapping::clone(&mapping("- - BOB -> ANN"));
            change(&mut changed);
            let own = [Arc::new(changed)];
            assert_eq!(Mapped::of(LOGIN, own.iter(), &GlobalMappings::default()).unwrap(), Mapped::default());
        }
        let mut any = Mapping::clone(&mapping("- - BOB -> ANN"));
        any.using = MappingSource::Any;
        let own = [Arc::new(any)];
        let found = Mapped::of(LOGIN, own.iter(), &GlobalMappings::default()).unwrap();
        assert_eq!(found.user.as_deref(), Some("ANN"));
    }
}
