//! Users, as the engine needs them: names to list, changes to hand on.
//!
//! Users belong to the server, not to one database, and passwords to its authentication: the engine sees neither. It
//! collects the changes that a transaction's CREATE, ALTER and DROP USER ask for and hands them to the
//! [`UserDirectory`] when the transaction commits: they are made before its rows are committed, so that what cannot be
//! done fails the commit, and come to last after that, so that a failed commit changes nobody. Until then only the
//! transaction's own list has them: SEC$USERS does not show them, as in Firebird.

use std::collections::BTreeMap;

use farbird_types::{Error, Result, isc};

use crate::mapping::GlobalMappings;

/// A user as SEC$USERS shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserRecord {
    /// Name, normalised.
    pub name: String,
    /// FIRSTNAME.
    pub first_name: Option<String>,
    /// MIDDLENAME.
    pub middle_name: Option<String>,
    /// LASTNAME.
    pub last_name: Option<String>,
    /// Whether it may log in.
    pub active: bool,
    /// Administrator of the security database (GRANT ADMIN ROLE).
    pub admin: bool,
    /// COMMENT ON USER.
    pub description: Option<String>,
    /// TAGS.
    pub tags: BTreeMap<String, String>,
}

/// What a statement asks to be done to a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserChange {
    /// CREATE USER. Fails if it exists.
    Create(UserSettings),
    /// ALTER USER. Fails if it does not exist.
    Alter(UserSettings),
    /// CREATE OR ALTER USER, RECREATE USER.
    CreateOrAlter(UserSettings),
    /// DROP USER. Fails if it does not exist.
    Drop(String),
    /// A statement that the place where users live runs: CREATE, ALTER, DROP of a GLOBAL MAPPING and COMMENT ON one, without the word GLOBAL;
    /// GRANT and REVOKE CREATE DATABASE.
    Statement(String),
}

/// Settings of CREATE and ALTER USER; what was not written is `None`.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct UserSettings {
    /// Name, normalised.
    pub name: String,
    /// PASSWORD.
    pub password: Option<String>,
    /// FIRSTNAME; an empty text clears it.
    pub first_name: Option<String>,
    /// MIDDLENAME.
    pub middle_name: Option<String>,
    /// LASTNAME.
    pub last_name: Option<String>,
    /// ACTIVE, INACTIVE.
    pub active: Option<bool>,
    /// GRANT ADMIN ROLE, REVOKE ADMIN ROLE.
    pub admin: Option<bool>,
    /// COMMENT ON USER.
    pub description: Option<String>,
    /// TAGS; `None` drops a tag.
    pub tags: BTreeMap<String, Option<String>>,
}

impl std::fmt::Debug for UserSettings {
    /// Leaves the password out: settings end up in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UserSettings").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where users live.
pub trait UserDirectory: Send + Sync {
    /// All users, by name.
    fn list(&self) -> Result<Vec<UserRecord>>;

    /// The mappings that are valid in all databases.
    ///
    /// # Errors
    /// Those of the place where users live.
    fn mappings(&self) -> Result<GlobalMappings> {
        Ok(GlobalMappings::default())
    }

    /// Who may create databases besides administrators: names, and whether each is a user (8) or a role (13), as RDB$USER_TYPE says.
    ///
    /// # Errors
    /// Those of the place where users live.
    fn database_creators(&self) -> Result<Vec<(String, i16)>> {
        Ok(Vec::new())
    }

    /// Whether there are users at all: not in an embedded engine, nor where the users themselves are kept.
    fn keeps_users(&self) -> bool {
        true
    }

    /// Makes changes that nobody sees before they are committed: all of them, or none if one fails.
    ///
    /// # Errors
    /// `isc_gsec_err_rec_not_found` and its relatives, as Firebird's user management gives; those of a mapping's statement.
    fn prepare(&self, changes: &[UserChange]) -> Result<Box<dyn PreparedUsers + '_>>;

    /// Applies changes, all or none.
    ///
    /// # Errors
    /// As [`UserDirectory::prepare`].
    fn apply(&self, changes: &[UserChange]) -> Result<()> {
        self.prepare(changes)?.commit()
    }
}

/// Changes of users that wait for the transaction that asked for them. Dropped, they are undone.
pub trait PreparedUsers {
    /// Makes them last.
    ///
    /// # Errors
    /// Those of the place where users live; the changes are undone then.
    fn commit(self: Box<Self>) -> Result<()>;
}

/// The directory of an embedded engine: there is nobody to log in.
#[derive(Debug, Default)]
pub struct NoUsers;

impl UserDirectory for NoUsers {
    fn list(&self) -> Result<Vec<UserRecord>> {
        Ok(Vec::new())
    }

    fn prepare(&self, _changes: &[UserChange]) -> Result<Box<dyn PreparedUsers + '_>> {
        Err(Error::new(isc::WISH_LIST))
    }

    fn keeps_users(&self) -> bool {
        false
    }
}
