//! Who may do what: RDB$USER_PRIVILEGES asked, owners and administrators known.
//!
//! SYSDBA, the owner of the database and whoever acts in the role RDB$ADMIN may do everything; an object's owner
//! everything with the object. Others need a privilege: granted to themselves, to PUBLIC, to their role, or to a role
//! that was granted to one of these as a default. Roles can have system privileges, which are for all objects.
//! The authority of the engine (`psql::authority`) says what a statement needs; this module whether somebody has it.
//!
//! Source: Firebird 5 language reference, chapter Security.

use std::collections::BTreeSet;

use farbird_types::{Error, Result, isc};

use crate::system_privilege::SystemPrivilege;
use crate::{Access, AccessPrivilege, Catalog, ObjectKind, Relation, RelationKind};
use farbird_session::Session;
use farbird_session::users::UserDirectory;

/// Kinds of objects and grantees as RDB$USER_PRIVILEGES numbers them (RDB$TYPES of RDB$OBJECT_TYPE).
#[allow(missing_docs)]
pub mod object_type {
    pub const RELATION: i16 = 0;
    pub const VIEW: i16 = 1;
    pub const TRIGGER: i16 = 2;
    pub const COMPUTED: i16 = 3;
    pub const VALIDATION: i16 = 4;
    pub const PROCEDURE: i16 = 5;
    pub const INDEX_EXPRESSION: i16 = 6;
    pub const EXCEPTION: i16 = 7;
    pub const USER: i16 = 8;
    pub const DOMAIN: i16 = 9;
    pub const INDEX: i16 = 10;
    pub const CHARACTER_SET: i16 = 11;
    pub const ROLE: i16 = 13;
    pub const SEQUENCE: i16 = 14;
    pub const FUNCTION: i16 = 15;
    pub const COLLATION: i16 = 17;
    pub const PACKAGE: i16 = 18;
    pub const PACKAGE_BODY: i16 = 19;
    pub const SYSTEM_PRIVILEGE: i16 = 20;
    pub const DATABASE: i16 = 21;
    pub const INDEX_CONDITION: i16 = 37;
}

/// The administrator of every server.
const SYSDBA: &str = "SYSDBA";
/// The role of administrators, in every database.
pub const ADMIN_ROLE: &str = "RDB$ADMIN";

/// What a DDL statement does to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum DdlAction {
    Create,
    Alter,
    Drop,
}

impl DdlAction {
    fn name(self) -> &'static str {
        match self {
            DdlAction::Create => "CREATE",
            DdlAction::Alter => "ALTER",
            DdlAction::Drop => "DROP",
        }
    }

    /// RDB$PRIVILEGE.
    pub fn letter(self) -> char {
        match self {
            DdlAction::Create => 'C',
            DdlAction::Alter => 'L',
            DdlAction::Drop => 'O',
        }
    }
}

impl AccessPrivilege {
    /// RDB$PRIVILEGE.
    pub fn letter(self) -> char {
        match self {
            AccessPrivilege::Select => 'S',
            AccessPrivilege::Insert => 'I',
            AccessPrivilege::Update | AccessPrivilege::Lock => 'U',
            AccessPrivilege::Delete => 'D',
            AccessPrivilege::References => 'R',
            AccessPrivilege::Execute => 'X',
            AccessPrivilege::Usage => 'G',
        }
    }

    fn name(self) -> &'static str {
        match self {
            AccessPrivilege::Select => "SELECT",
            AccessPrivilege::Insert => "INSERT",
            AccessPrivilege::Update | AccessPrivilege::Lock => "UPDATE",
            AccessPrivilege::Delete => "DELETE",
            AccessPrivilege::References => "REFERENCES",
            AccessPrivilege::Execute => "EXECUTE",
            AccessPrivilege::Usage => "USAGE",
        }
    }
}

/// A routine, trigger or view as somebody to whom privileges are granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grantee<'a> {
    /// RDB$USER_TYPE.
    pub kind: i16,
    /// Its name.
    pub name: &'a str,
}

/// In whose name something is done.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The user.
    pub user: String,
    /// The role, if one is active.
    pub role: Option<String>,
    /// Whoever is attached, with the role: what the user is when acting in the own name again.
    attached: Option<(String, Option<String>)>,
    /// The role that whoever is attached has by a mapping, which nobody need have granted.
    trusted_role: Option<String>,
}

impl Actor {
    /// Whoever is attached.
    pub fn of(session: &Session) -> Actor {
        let user = session.options.user.clone();
        let role = session.settings.lock().role.clone();
        let trusted_role = session.trusted_role.clone();
        Actor { attached: Some((user.clone(), role.clone())), user, role, trusted_role }
    }

    /// Somebody who is not attached, in a role.
    pub fn named(user: &str, role: Option<&str>) -> Actor {
        let role = role.map(role_as_named).filter(|role| role != "NONE");
        Actor { user: user.to_owned(), role, attached: None, trusted_role: None }
    }

    /// Somebody else, on behalf of whoever is attached; who keeps the role when it is the same one.
    pub fn in_name_of(&self, user: &str) -> Actor {
        let role = match &self.attached {
            Some((attached, role)) if attached == user => role.clone(),
            _ => None,
        };
        let (attached, trusted_role) = (self.attached.clone(), self.trusted_role.clone());
        Actor { user: user.to_owned(), role, attached, trusted_role }
    }

    /// Whether everything in the database is allowed.
    pub fn is_administrator(&self, catalog: &Catalog) -> bool {
        self.user == SYSDBA
            || self.user == catalog.database.owner
            || self.active_role(catalog) == Some(ADMIN_ROLE)
    }

    /// Whether a system privilege is among those of the roles in use. Administrators have them all.
    pub fn has(&self, catalog: &Catalog, privilege: SystemPrivilege) -> bool {
        self.is_administrator(catalog)
            || catalog.has_privileged_roles()
                && self
                    .roles(catalog)
                    .iter()
                    .filter_map(|role| catalog.roles.get(role))
                    .any(|role| role.system_privileges & privilege.bit() != 0)
    }

    /// The role, if it is the user's to take: a client may ask for any when it attaches.
    fn active_role(&self, catalog: &Catalog) -> Option<&str> {
        let is_trusted = |role: &str| self.trusted_role.as_deref() == Some(role);
        self.role.as_deref().filter(|role| is_trusted(role) || may_take_role(catalog, &self.user, role))
    }

    /// The roles whose privileges count: the active one with all that were granted to it, and the user's default roles
    /// with those granted to them as defaults.
    pub fn roles(&self, catalog: &Catalog) -> BTreeSet<String> {
        let mut roles = BTreeSet::new();
        let granted = |to: &str, to_type: i16, only_default: bool| -> Vec<String> {
            catalog
                .memberships()
                .filter(|it| {
                    it.user == to
                        && it.user_type == to_type
                        && (!only_default || it.column.as_deref() == Some("D"))
                })
                .map(|it| it.object.clone())
                .collect()
        };
        let mut reach = |mut pending: Vec<String>, only_default: bool| {
            let mut seen = BTreeSet::new();
            while let Some(role) = pending.pop() {
                if seen.insert(role.clone()) {
                    pending.extend(granted(&role, object_type::ROLE, only_default));
                    roles.insert(role);
                }
            }
        };
        reach(self.active_role(catalog).into_iter().map(str::to_owned).collect(), false);
        let mut defaults = granted(&self.user, object_type::USER, true);
        defaults.extend(granted("PUBLIC", object_type::USER, true));
        reach(defaults, true);
        roles
    }
}

/// Whether a role can be taken by a user (SET ROLE, or at attaching): one that exists and was granted. SYSDBA and the
/// owner of the database may take RDB$ADMIN too; they need no other.
pub fn may_take_role(catalog: &Catalog, user: &str, role: &str) -> bool {
    if role == "NONE" {
        return true;
    }
    if role == ADMIN_ROLE && (user == SYSDBA || user == catalog.database.owner) {
        return true;
    }
    catalog.memberships().any(|it| {
        it.object == role && it.user_type == object_type::USER && (it.user == user || it.user == "PUBLIC")
    })
}

/// A role as it is named in a client's attach parameters: as it stands in double quotes; in single ones, and without, in
/// capitals if it could be written without quotes. Source: dpbItemUpper of Firebird 5.
pub fn role_as_named(written: &str) -> String {
    let quoted = |quote: char| {
        let inner = written.strip_prefix(quote)?.strip_suffix(quote)?;
        let (escaped, plain) = (format!("{quote}{quote}"), quote.to_string());
        Some(inner.replace(&escaped, &plain))
    };
    let is_plain = |name: &str| {
        !name.starts_with(|first: char| first.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '$'))
    };
    if let Some(name) = quoted('"') {
        return name;
    }
    let name = quoted('\'').unwrap_or_else(|| written.to_owned());
    if is_plain(&name) { name.to_ascii_uppercase() } else { name }
}

/// Whether whoever is attached may manage the server's users: SYSDBA, and administrators of the server (GRANT ADMIN ROLE)
/// who act in the role RDB$ADMIN. That role alone makes nobody one: every owner of a database can grant it there, and map whomever
/// they like to SYSDBA. So it is asked who that is to the server; a global mapping to RDB$ADMIN is enough.
///
/// # Errors
/// Those of looking users up.
pub fn manages_users(catalog: &Catalog, session: &Session, users: &dyn UserDirectory) -> Result<bool> {
    let (actor, server) = (Actor::of(session), &session.server);
    if server.user == SYSDBA || server.role.as_deref() == Some(ADMIN_ROLE) {
        return Ok(true);
    }
    if actor.active_role(catalog) != Some(ADMIN_ROLE) {
        return Ok(false);
    }
    Ok(users.list()?.iter().any(|known| known.name == server.user && known.admin))
}

/// Checks that whoever is attached may drop the database.
///
/// # Errors
/// `isc_no_priv`.
pub fn check_drop_database(catalog: &Catalog, session: &Session) -> Result<()> {
    let actor = Actor::of(session);
    let letter = DdlAction::Drop.letter();
    if actor.has(catalog, SystemPrivilege::DropDatabase)
        || is_granted(catalog, &actor, &[], letter, &[DATABASE.number], DATABASE.object, |_| true)
    {
        return Ok(());
    }
    Err(refusal("DROP", DATABASE.label, "", None))
}

/// Checks one use of an object in somebody's name, by a routine or trigger perhaps.
///
/// # Errors
/// `isc_no_priv` with the privilege, the kind and the name of the object, and `isc_effective_user`.
pub fn check(catalog: &Catalog, actor: &Actor, by: Option<Grantee<'_>>, access: &Access) -> Result<()> {
    if actor.is_administrator(catalog) || owner_of(catalog, access.kind, &access.object) == Some(&actor.user)
    {
        return Ok(());
    }
    let is_system = access.kind == ObjectKind::Relation
        && catalog.relation(&access.object).is_some_and(|relation| relation.kind == RelationKind::System);
    // System tables may be read by everybody; those that tell of others show each only what is theirs.
    if is_system && access.privilege == AccessPrivilege::Select {
        return Ok(());
    }
    // So may its packages be called.
    if access.kind == ObjectKind::Package
        && catalog.packages.get(&access.object).is_some_and(|package| package.is_system())
    {
        return Ok(());
    }
    // An identity column's sequence is the table's.
    if access.kind == ObjectKind::Sequence
        && catalog.sequences.get(&access.object).is_some_and(|sequence| sequence.system)
    {
        return Ok(());
    }
    // A routine may call itself, and those of its package.
    let calls = |kind: ObjectKind, number: i16| {
        access.kind == kind
            && by.is_some_and(|grantee| grantee.kind == number && grantee.name == access.object)
    };
    if calls(ObjectKind::Procedure, object_type::PROCEDURE)
        || calls(ObjectKind::Package, object_type::PACKAGE)
        || calls(ObjectKind::Function, object_type::FUNCTION)
    {
        return Ok(());
    }
    let anywhere = match access.privilege {
        AccessPrivilege::Select => actor.has(catalog, SystemPrivilege::SelectAnyObjectInDatabase),
        _ => false,
    };
    if anywhere || actor.has(catalog, SystemPrivilege::AccessAnyObjectInDatabase) {
        return Ok(());
    }
    let by_column = |column: &Option<String>| match (column, &access.column) {
        (None, _) => true,
        (Some(granted), Some(wanted)) => granted == wanted,
        // Whoever may change one column may say UPDATE: the columns are asked for one by one.
        (Some(_), None) => matches!(access.privilege, AccessPrivilege::Update | AccessPrivilege::Lock),
    };
    let check = access.check.as_deref().map(|name| Grantee { kind: object_type::TRIGGER, name });
    let grantees = [by, check];
    let types = object_types(access.kind);
    // SELECT implies REFERENCES, as it always has.
    let letters: &[char] = match access.privilege {
        AccessPrivilege::References => &['R', 'S'],
        privilege => &[privilege.letter()],
    };
    if letters
        .iter()
        .any(|letter| is_granted(catalog, actor, &grantees, *letter, types, &access.object, by_column))
    {
        return Ok(());
    }
    let (kind, name) = match &access.column {
        Some(column) if matches!(access.privilege, AccessPrivilege::Update | AccessPrivilege::References) => {
            ("COLUMN", format!("{}.{column}", access.object))
        }
        // Whoever reads or writes is told of a table, be it a view.
        _ if access.kind == ObjectKind::Relation => ("TABLE", access.object.clone()),
        _ => (type_name(catalog, access.kind, &access.object), access.object.clone()),
    };
    Err(refusal(access.privilege.name(), kind, &name, Some(&actor.user)))
}

/// Checks that an object may be created, altered or dropped.
///
/// # Errors
/// `isc_no_priv` as for [`check`]; also for system objects, which nobody may change.
pub fn check_ddl(
    catalog: &Catalog,
    actor: &Actor,
    kind: ObjectKind,
    action: DdlAction,
    name: &str,
) -> Result<()> {
    if kind == ObjectKind::Trigger {
        let relation = catalog.triggers.get(name).and_then(|trigger| trigger.relation.as_deref());
        return check_triggers_of(catalog, actor, relation);
    }
    if kind == ObjectKind::Relation
        && action != DdlAction::Create
        && catalog.relation(name).is_some_and(|relation| relation.kind == RelationKind::System)
    {
        return Err(refusal(action.name(), "TABLE", name, None));
    }
    let Some(class) = ddl_class(catalog, kind, name) else { return Ok(()) };
    check_class(catalog, actor, class, action, name, owner_of(catalog, kind, name))
}

/// As [`check_ddl`], for creating a view.
///
/// # Errors
/// As [`check_ddl`].
pub fn check_create_view(catalog: &Catalog, actor: &Actor, name: &str) -> Result<()> {
    check_class(catalog, actor, VIEWS, DdlAction::Create, name, None)
}

/// As [`check_ddl`], for ALTER CHARACTER SET: character sets are the system's, and only whoever may alter any of them may.
///
/// # Errors
/// As [`check_ddl`].
pub fn check_alter_character_set(catalog: &Catalog, actor: &Actor, name: &str) -> Result<()> {
    check_class(catalog, actor, CHARACTER_SETS, DdlAction::Alter, name, None)
}

/// As [`check_ddl`], for the triggers of a table, a view or the database: who may alter that may define them.
///
/// # Errors
/// As [`check_ddl`].
pub fn check_triggers_of(catalog: &Catalog, actor: &Actor, relation: Option<&str>) -> Result<()> {
    let (class, owner) = match relation {
        Some(relation) => (TABLES, owner_of(catalog, ObjectKind::Relation, relation)),
        None => (DATABASE, Some(&catalog.database.owner)),
    };
    check_class(catalog, actor, class, DdlAction::Alter, relation.unwrap_or_default(), owner)
}

fn check_class(
    catalog: &Catalog,
    actor: &Actor,
    class: DdlClass,
    action: DdlAction,
    name: &str,
    owner: Option<&String>,
) -> Result<()> {
    if actor.has(catalog, SystemPrivilege::ModifyAnyObjectInDatabase)
        || action != DdlAction::Create && owner == Some(&actor.user)
        || is_granted(catalog, actor, &[], action.letter(), &[class.number], class.object, |_| true)
    {
        return Ok(());
    }
    if action == DdlAction::Create {
        return Err(Error::new(isc::DYN_NO_CREATE_PRIV).with(class.label));
    }
    let user = (class.object != DATABASE.object).then_some(actor.user.as_str());
    Err(refusal(action.name(), class.label, name, user))
}

/// The status of something that is not allowed.
pub fn refusal(privilege: &str, kind: &str, name: &str, user: Option<&str>) -> Error {
    let error = Error::new(isc::NO_PRIV).with(privilege).with(kind).with(name);
    match user {
        Some(user) => error.and(isc::EFFECTIVE_USER).with(user),
        None => error,
    }
}

fn is_granted(
    catalog: &Catalog,
    actor: &Actor,
    grantees: &[Option<Grantee<'_>>],
    letter: char,
    types: &[i16],
    object: &str,
    column_matches: impl Fn(&Option<String>) -> bool,
) -> bool {
    let candidates: Vec<_> = catalog
        .privileges_on(types, object)
        .map(|(_, privilege)| privilege)
        .filter(|it| it.privilege == letter && column_matches(&it.column))
        .collect();
    if candidates.is_empty() {
        return false;
    }
    let roles = actor.roles(catalog);
    candidates.iter().any(|it| match it.user_type {
        object_type::USER => it.user == actor.user || it.user == "PUBLIC",
        object_type::ROLE => roles.contains(&it.user),
        object_type::SYSTEM_PRIVILEGE => {
            SystemPrivilege::named(&it.user).is_some_and(|privilege| actor.has(catalog, privilege))
        }
        kind => grantees.iter().flatten().any(|grantee| grantee.kind == kind && grantee.name == it.user),
    })
}

fn object_types(kind: ObjectKind) -> &'static [i16] {
    match kind {
        ObjectKind::Relation => &[object_type::RELATION, object_type::VIEW],
        ObjectKind::Procedure => &[object_type::PROCEDURE],
        ObjectKind::Function => &[object_type::FUNCTION],
        ObjectKind::Sequence => &[object_type::SEQUENCE],
        ObjectKind::Exception => &[object_type::EXCEPTION],
        ObjectKind::Domain => &[object_type::DOMAIN],
        ObjectKind::Collation => &[object_type::COLLATION],
        ObjectKind::Role => &[object_type::ROLE],
        ObjectKind::Package => &[object_type::PACKAGE],
        _ => &[],
    }
}

fn type_name(catalog: &Catalog, kind: ObjectKind, name: &str) -> &'static str {
    match kind {
        ObjectKind::Relation if catalog.relation(name).is_some_and(|it| Relation::is_view(it)) => "VIEW",
        ObjectKind::Relation => "TABLE",
        ObjectKind::Procedure => "PROCEDURE",
        ObjectKind::Function => "FUNCTION",
        ObjectKind::Sequence => "GENERATOR",
        ObjectKind::Exception => "EXCEPTION",
        ObjectKind::Domain => "DOMAIN",
        ObjectKind::Collation => "COLLATION",
        ObjectKind::Role => "ROLE",
        ObjectKind::Package => "PACKAGE",
        ObjectKind::Trigger => "TRIGGER",
        ObjectKind::Database | ObjectKind::Mapping | ObjectKind::Privilege => "DATABASE",
    }
}

/// Whether somebody has a privilege on any single column of a table.
pub fn has_column_privilege(
    catalog: &Catalog,
    actor: &Actor,
    table: &str,
    privilege: AccessPrivilege,
) -> bool {
    let types = object_types(ObjectKind::Relation);
    is_granted(catalog, actor, &[], privilege.letter(), types, table, Option::is_some)
}

/// A kind of objects, as far as defining them is concerned.
#[derive(Debug, Clone, Copy)]
struct DdlClass {
    /// The object under which privileges to define them are kept, and its type.
    object: &'static str,
    number: i16,
    /// What they are called.
    label: &'static str,
}

const DATABASE: DdlClass = DdlClass { object: "SQL$DATABASE", number: 21, label: "DATABASE" };
const TABLES: DdlClass = DdlClass { object: "SQL$TABLES", number: 22, label: "TABLE" };
const VIEWS: DdlClass = DdlClass { object: "SQL$VIEWS", number: 23, label: "VIEW" };
const CHARACTER_SETS: DdlClass = DdlClass { object: "SQL$CHARSETS", number: 31, label: "CHARACTER SET" };

fn ddl_class(catalog: &Catalog, kind: ObjectKind, name: &str) -> Option<DdlClass> {
    let class = |object, number| DdlClass { object, number, label: type_name(catalog, kind, name) };
    Some(match kind {
        ObjectKind::Database => DATABASE,
        ObjectKind::Relation if catalog.relation(name).is_some_and(|it| Relation::is_view(it)) => VIEWS,
        ObjectKind::Relation | ObjectKind::Trigger => TABLES,
        ObjectKind::Procedure => class("SQL$PROCEDURES", 24),
        ObjectKind::Function => class("SQL$FUNCTIONS", 25),
        ObjectKind::Package => class("SQL$PACKAGES", 26),
        ObjectKind::Sequence => class("SQL$GENERATORS", 27),
        ObjectKind::Domain => class("SQL$DOMAINS", 28),
        ObjectKind::Exception => class("SQL$EXCEPTIONS", 29),
        ObjectKind::Role => class("SQL$ROLES", 30),
        ObjectKind::Collation => class("SQL$COLLATIONS", 32),
        ObjectKind::Privilege | ObjectKind::Mapping => return None,
    })
}

/// Who owns an object.
pub fn owner_of<'a>(catalog: &'a Catalog, kind: ObjectKind, name: &str) -> Option<&'a String> {
    match kind {
        ObjectKind::Database => Some(&catalog.database.owner),
        ObjectKind::Relation => catalog.relation(name).map(|it| &it.owner),
        ObjectKind::Domain => catalog.domains.get(name).map(|it| &it.owner),
        ObjectKind::Sequence => catalog.sequences.get(name).map(|it| &it.owner),
        ObjectKind::Exception => catalog.exceptions.get(name).map(|it| &it.owner),
        ObjectKind::Procedure => catalog.procedures.get(name).map(|it| &it.owner),
        ObjectKind::Function => catalog.functions.get(name).map(|it| &it.owner),
        ObjectKind::Trigger => {
            let relation = catalog.triggers.get(name)?.relation.as_ref();
            relation.map_or(Some(&catalog.database.owner), |name| {
                catalog.relation(name).map(|relation| &relation.owner)
            })
        }
        ObjectKind::Role => catalog.roles.get(name).map(|it| &it.owner),
        ObjectKind::Collation => catalog.collations.get(name).map(|it| &it.owner),
        ObjectKind::Package => catalog.packages.get(name).map(|it| &it.owner),
        ObjectKind::Privilege | ObjectKind::Mapping => None,
    }
}

#[cfg(test)]
mod tests {
    use super::role_as_named;

    /// What CURRENT_ROLE is at Firebird 5.0.4 for these texts in the attach parameters.
    #[test]
    fn roles_are_named_with_and_without_quotes() {
        for (written, name) in [
            ("rr", "RR"),
            ("rR", "RR"),
            ("'rr'", "RR"),
            ("'r x'", "r x"),
            ("\"rr\"", "rr"),
            ("\"'RR'\"", "'RR'"),
            ("\"o\"\"b\"", "o\"b"),
        ] {
            assert_eq!(role_as_named(written), name, "{written}");
        }
    }
}
