//! System privileges: what roles can be allowed for a whole database (CREATE ROLE ... SET SYSTEM PRIVILEGES TO ...).
//!
//! Source: RDB$TYPES of RDB$SYSTEM_PRIVILEGES; RDB$ROLES.RDB$SYSTEM_PRIVILEGES holds one bit for each number.

/// A system privilege, numbered as RDB$TYPES numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SystemPrivilege {
    UserManagement = 1,
    ReadRawPages,
    CreateUserTypes,
    UseNbackupUtility,
    ChangeShutdownMode,
    TraceAnyAttachment,
    MonitorAnyAttachment,
    AccessShutdownDatabase,
    CreateDatabase,
    DropDatabase,
    UseGbakUtility,
    UseGstatUtility,
    UseGfixUtility,
    IgnoreDbTriggers,
    ChangeHeaderSettings,
    SelectAnyObjectInDatabase,
    AccessAnyObjectInDatabase,
    ModifyAnyObjectInDatabase,
    ChangeMappingRules,
    UseGrantedByClause,
    GrantRevokeOnAnyObject,
    GrantRevokeAnyDdlRight,
    CreatePrivilegedRoles,
    GetDbcryptInfo,
    ModifyExtConnPool,
    ReplicateIntoDatabase,
    ProfileAnyAttachment,
}

const NAMES: [(&str, SystemPrivilege); 27] = {
    use SystemPrivilege::*;
    [
        ("USER_MANAGEMENT", UserManagement),
        ("READ_RAW_PAGES", ReadRawPages),
        ("CREATE_USER_TYPES", CreateUserTypes),
        ("USE_NBACKUP_UTILITY", UseNbackupUtility),
        ("CHANGE_SHUTDOWN_MODE", ChangeShutdownMode),
        ("TRACE_ANY_ATTACHMENT", TraceAnyAttachment),
        ("MONITOR_ANY_ATTACHMENT", MonitorAnyAttachment),
        ("ACCESS_SHUTDOWN_DATABASE", AccessShutdownDatabase),
        ("CREATE_DATABASE", CreateDatabase),
        ("DROP_DATABASE", DropDatabase),
        ("USE_GBAK_UTILITY", UseGbakUtility),
        ("USE_GSTAT_UTILITY", UseGstatUtility),
        ("USE_GFIX_UTILITY", UseGfixUtility),
        ("IGNORE_DB_TRIGGERS", IgnoreDbTriggers),
        ("CHANGE_HEADER_SETTINGS", ChangeHeaderSettings),
        ("SELECT_ANY_OBJECT_IN_DATABASE", SelectAnyObjectInDatabase),
        ("ACCESS_ANY_OBJECT_IN_DATABASE", AccessAnyObjectInDatabase),
        ("MODIFY_ANY_OBJECT_IN_DATABASE", ModifyAnyObjectInDatabase),
        ("CHANGE_MAPPING_RULES", ChangeMappingRules),
        ("USE_GRANTED_BY_CLAUSE", UseGrantedByClause),
        ("GRANT_REVOKE_ON_ANY_OBJECT", GrantRevokeOnAnyObject),
        ("GRANT_REVOKE_ANY_DDL_RIGHT", GrantRevokeAnyDdlRight),
        ("CREATE_PRIVILEGED_ROLES", CreatePrivilegedRoles),
        ("GET_DBCRYPT_INFO", GetDbcryptInfo),
        ("MODIFY_EXT_CONN_POOL", ModifyExtConnPool),
        ("REPLICATE_INTO_DATABASE", ReplicateIntoDatabase),
        ("PROFILE_ANY_ATTACHMENT", ProfileAnyAttachment),
    ]
};

impl SystemPrivilege {
    /// A system privilege by its name, in upper case.
    pub fn named(name: &str) -> Option<SystemPrivilege> {
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, privilege)| *privilege)
    }

    /// Its bit in RDB$SYSTEM_PRIVILEGES, whose first byte holds the lowest eight.
    pub fn bit(self) -> u64 {
        1 << (self as u8)
    }
}
