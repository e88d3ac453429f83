//! Users, roles, privileges and mappings.

use crate::ast::ddl::DefineMode;
use crate::ast::name::{Name, ObjectName};

/// CREATE | ALTER | CREATE OR ALTER | RECREATE USER.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineUser {
    /// Which of the four.
    pub mode: DefineMode,
    /// The user; none: ALTER CURRENT USER.
    pub name: Option<Name>,
    /// PASSWORD.
    pub password: Option<String>,
    /// FIRSTNAME.
    pub first_name: Option<String>,
    /// MIDDLENAME.
    pub middle_name: Option<String>,
    /// LASTNAME.
    pub last_name: Option<String>,
    /// ACTIVE, INACTIVE.
    pub active: Option<bool>,
    /// GRANT ADMIN ROLE (true), REVOKE ADMIN ROLE (false).
    pub admin_role: Option<bool>,
    /// USING PLUGIN.
    pub plugin: Option<Name>,
    /// TAGS.
    pub tags: Vec<UserTag>,
}

/// A tag of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct UserTag {
    /// The tag.
    pub name: Name,
    /// Its value; none: DROP.
    pub value: Option<String>,
}

/// CREATE | ALTER ROLE.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineRole {
    /// CREATE or ALTER.
    pub mode: DefineMode,
    /// The role.
    pub name: Name,
    /// SET SYSTEM PRIVILEGES TO; empty list: DROP SYSTEM PRIVILEGES.
    pub system_privileges: Option<Vec<Name>>,
    /// SET AUTO ADMIN MAPPING (true), DROP AUTO ADMIN MAPPING (false): ALTER ROLE RDB$ADMIN.
    pub auto_admin_mapping: Option<bool>,
}

/// CREATE | ALTER | CREATE OR ALTER \[GLOBAL\] MAPPING.
#[derive(Debug, Clone, PartialEq)]
pub struct DefineMapping {
    /// CREATE, ALTER or CREATE OR ALTER.
    pub mode: DefineMode,
    /// GLOBAL: of all databases.
    pub global: bool,
    /// The mapping.
    pub name: Name,
    /// USING.
    pub using: MappingUsing,
    /// FROM: the type of what is mapped; `*` as "*".
    pub from_type: Name,
    /// What is mapped; none: ANY.
    pub from: Option<MappingName>,
    /// TO ROLE rather than TO USER.
    pub to_role: bool,
    /// To whom; none: the same name.
    pub to: Option<Name>,
}

/// A name in a mapping.
#[derive(Debug, Clone, PartialEq)]
pub enum MappingName {
    /// An identifier.
    Name(Name),
    /// A text in single quotes.
    Text(String),
}

/// Where a mapped name comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum MappingUsing {
    /// PLUGIN name \[IN database\]
    Plugin {
        /// The plugin.
        name: Name,
        /// The security database.
        database: Option<Name>,
    },
    /// ANY PLUGIN \[IN database | SERVERWIDE\]
    AnyPlugin {
        /// The security database.
        database: Option<Name>,
        /// SERVERWIDE.
        server_wide: bool,
    },
    /// MAPPING \[IN database\]
    Mapping {
        /// The database.
        database: Option<Name>,
    },
    /// `*` \[IN database\]
    Any {
        /// The security database.
        database: Option<Name>,
    },
}

/// GRANT and REVOKE.
#[derive(Debug, Clone, PartialEq)]
pub enum GrantStatement {
    /// GRANT privileges ON object TO grantees \[WITH GRANT OPTION\].
    Grant {
        /// What.
        privileges: Privileges,
        /// To whom.
        grantees: Vec<Grantee>,
        /// WITH GRANT OPTION.
        with_grant_option: bool,
        /// GRANTED BY.
        granted_by: Option<Name>,
    },
    /// REVOKE \[GRANT OPTION FOR\] privileges ON object FROM grantees.
    Revoke {
        /// What.
        privileges: Privileges,
        /// From whom.
        grantees: Vec<Grantee>,
        /// GRANT OPTION FOR.
        grant_option_for: bool,
        /// GRANTED BY.
        granted_by: Option<Name>,
    },
    /// GRANT roles TO grantees \[WITH ADMIN OPTION\].
    GrantRoles {
        /// Which roles.
        roles: Vec<GrantedRole>,
        /// To whom.
        grantees: Vec<Grantee>,
        /// WITH ADMIN OPTION.
        with_admin_option: bool,
        /// GRANTED BY.
        granted_by: Option<Name>,
    },
    /// REVOKE \[ADMIN OPTION FOR\] roles FROM grantees.
    RevokeRoles {
        /// Which roles.
        roles: Vec<GrantedRole>,
        /// From whom.
        grantees: Vec<Grantee>,
        /// ADMIN OPTION FOR.
        admin_option_for: bool,
        /// GRANTED BY.
        granted_by: Option<Name>,
    },
    /// REVOKE ALL ON ALL FROM grantees.
    RevokeAll {
        /// From whom.
        grantees: Vec<Grantee>,
    },
}

/// \[DEFAULT\] role.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantedRole {
    /// The role.
    pub name: Name,
    /// DEFAULT: active without SET ROLE.
    pub default: bool,
}

/// Privileges with what they are for.
#[derive(Debug, Clone, PartialEq)]
pub enum Privileges {
    /// ON \[TABLE\] table; an empty list: ALL \[PRIVILEGES\].
    Table {
        /// The table or view.
        table: Name,
        /// SELECT, INSERT ...
        privileges: Vec<TablePrivilege>,
    },
    /// EXECUTE ON PROCEDURE | FUNCTION | PACKAGE.
    Execute {
        /// Procedure, Function or Package.
        kind: ExecutableKind,
        /// Its name.
        name: Name,
    },
    /// USAGE ON EXCEPTION | GENERATOR | SEQUENCE | ...
    Usage {
        /// Of what.
        kind: UsageKind,
        /// Its name.
        name: Name,
    },
    /// CREATE, ALTER ANY, DROP ANY of a kind of objects; an empty list: ALL \[PRIVILEGES\].
    Ddl {
        /// Of what.
        kind: DdlPrivilegeObject,
        /// Which.
        actions: Vec<crate::ast::ddl_event::DdlAction>,
    },
}

/// A privilege on a table.
#[derive(Debug, Clone, PartialEq)]
pub enum TablePrivilege {
    /// SELECT
    Select,
    /// INSERT
    Insert,
    /// DELETE
    Delete,
    /// UPDATE \[(column, ...)\]
    Update(Vec<Name>),
    /// REFERENCES \[(column, ...)\]
    References(Vec<Name>),
}

/// What can be executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum ExecutableKind {
    Procedure,
    Function,
    Package,
}

/// What can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum UsageKind {
    Exception,
    Sequence,
    Domain,
    CharacterSet,
    Collation,
}

/// What DDL privileges are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum DdlPrivilegeObject {
    Table,
    View,
    Procedure,
    Function,
    Package,
    Sequence,
    Domain,
    Exception,
    Role,
    CharacterSet,
    Collation,
    Filter,
    /// CREATE, ALTER, DROP DATABASE; without ANY.
    Database,
}

/// Who gets or loses a privilege.
#[derive(Debug, Clone, PartialEq)]
pub struct Grantee {
    /// The word before the name; none: a user, or a role of that name.
    pub kind: Option<GranteeKind>,
    /// The name.
    pub name: ObjectName,
}

/// Kinds of grantees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is its own keyword")]
pub enum GranteeKind {
    User,
    Role,
    Group,
    Procedure,
    Function,
    Package,
    Trigger,
    View,
    SystemPrivilege,
}
