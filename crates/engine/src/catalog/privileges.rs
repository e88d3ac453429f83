//! Who may do what: RDB$USER_PRIVILEGES asked, owners and administrators known.
//!
//! SYSDBA, the owner of the database and whoever acts in the role RDB$ADMIN may do everything; an object's owner
//! everything with the object. Others need a privilege: granted to themselves, to PUBLIC, to their role, or to a role
//! that was granted to one of these as a default.
//!
//! Source: Firebird 5 language reference, chapter Security.

use std::collections::BTreeSet;

use farbird_types::{Error, Result, isc};

use crate::bind::{Access, AccessPrivilege};
use crate::catalog::{Catalog, ObjectKind, Relation, RelationKind};
use crate::execute::context::ExecutionContext;
use crate::session::Session;

/// Kinds of objects and grantees as RDB$USER_PRIVILEGES numbers them (RDB$TYPES of RDB$OBJECT_TYPE).
pub(crate) mod object_type {
    pub(crate) const RELATION: i16 = 0;
    pub(crate) const VIEW: i16 = 1;
    pub(crate) const TRIGGER: i16 = 2;
    pub(crate) const COMPUTED: i16 = 3;
    pub(crate) const VALIDATION: i16 = 4;
    pub(crate) const PROCEDURE: i16 = 5;
    pub(crate) const INDEX_EXPRESSION: i16 = 6;
    pub(crate) const EXCEPTION: i16 = 7;
    pub(crate) const USER: i16 = 8;
    pub(crate) const DOMAIN: i16 = 9;
    pub(crate) const CHARACTER_SET: i16 = 11;
    pub(crate) const ROLE: i16 = 13;
    pub(crate) const SEQUENCE: i16 = 14;
    pub(crate) const FUNCTION: i16 = 15;
    pub(crate) const COLLATION: i16 = 17;
    pub(crate) const PACKAGE: i16 = 18;
    pub(crate) const INDEX_CONDITION: i16 = 37;
}

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
    pub(crate) fn letter(self) -> char {
        match self {
            DdlAction::Create => 'C',
            DdlAction::Alter => 'L',
            DdlAction::Drop => 'O',
        }
    }
}

impl AccessPrivilege {
    /// RDB$PRIVILEGE.
    pub(crate) fn letter(self) -> char {
        match self {
            AccessPrivilege::Select => 'S',
            AccessPrivilege::Insert => 'I',
            AccessPrivilege::Update => 'U',
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
            AccessPrivilege::Update => "UPDATE",
            AccessPrivilege::Delete => "DELETE",
            AccessPrivilege::References => "REFERENCES",
            AccessPrivilege::Execute => "EXECUTE",
            AccessPrivilege::Usage => "USAGE",
        }
    }
}

/// In whose name something is done.
#[derive(Debug, Clone)]
pub struct Actor {
    /// The user.
    pub user: String,
    /// The role, if one is active.
    pub role: Option<String>,
}

impl Actor {
    /// Whoever is attached.
    pub fn of(session: &Session) -> Actor {
        Actor { user: session.options.user.clone(), role: session.settings.lock().role.clone() }
    }

    /// Whether everything is allowed.
    pub fn is_administrator(&self, catalog: &Catalog) -> bool {
        self.user == catalog.database.owner || self.is_server_administrator(catalog)
    }

    /// Whether everything is allowed in every database, and with users.
    pub fn is_server_administrator(&self, catalog: &Catalog) -> bool {
        self.user == "SYSDBA" || self.active_role(catalog) == Some("RDB$ADMIN")
    }

    /// The role, if it is the user's to take: a client may ask for any when it attaches.
    fn active_role(&self, catalog: &Catalog) -> Option<&str> {
        self.role.as_deref().filter(|role| may_take_role(catalog, &self.user, role))
    }

    /// The roles whose privileges count: the active one, those granted to it, and the user's default roles.
    fn roles(&self, catalog: &Catalog) -> BTreeSet<String> {
        let mut roles = BTreeSet::new();
        let mut pending: Vec<String> = self.active_role(catalog).into_iter().map(str::to_owned).collect();
        let granted = |to: &str, to_type: i16, only_default: bool| -> Vec<String> {
            catalog
                .privileges
                .values()
                .filter(|it| {
                    it.privilege == 'M'
                        && it.user == to
                        && it.user_type == to_type
                        && (!only_default || it.column.as_deref() == Some("D"))
                })
                .map(|it| it.object.clone())
                .collect()
        };
        pending.extend(granted(&self.user, object_type::USER, true));
        pending.extend(granted("PUBLIC", object_type::USER, true));
        while let Some(role) = pending.pop() {
            if roles.insert(role.clone()) {
                for inner in granted(&role, object_type::ROLE, false) {
                    if !roles.contains(&inner) {
                        pending.push(inner);
                    }
                }
            }
        }
        roles
    }
}

/// Whether a role can be taken by a user (SET ROLE, or at attaching).
pub fn may_take_role(catalog: &Catalog, user: &str, role: &str) -> bool {
    let actor = Actor { user: user.to_owned(), role: None };
    if role == "NONE" || actor.is_administrator(catalog) {
        return true;
    }
    catalog.privileges.values().any(|it| {
        it.privilege == 'M'
            && it.object == role
            && it.user_type == object_type::USER
            && (it.user == user || it.user == "PUBLIC")
    })
}

/// Checks one use of an object by a statement.
///
/// # Errors
/// `isc_no_priv` with the privilege, the kind and the name of the object, and `isc_effective_user`.
pub fn check(catalog: &Catalog, session: &Session, access: &Access) -> Result<()> {
    check_as(catalog, &Actor::of(session), access)
}

/// As [`check`], in somebody's name: SQL SECURITY DEFINER.
///
/// # Errors
/// As [`check`].
pub fn check_as(catalog: &Catalog, actor: &Actor, access: &Access) -> Result<()> {
    if actor.is_administrator(catalog) || owner_of(catalog, access.kind, &access.object) == Some(&actor.user)
    {
        return Ok(());
    }
    if access.kind == ObjectKind::Relation && is_public_system_table(catalog, access) {
        return Ok(());
    }
    let letter = access.privilege.letter();
    let types = object_types(access.kind);
    let by_column = |column: &Option<String>| match (column, &access.column) {
        (None, _) => true,
        (Some(granted), Some(wanted)) => granted == wanted,
        // Whoever may change one column may say UPDATE: the columns are asked for one by one.
        (Some(_), None) => access.privilege == AccessPrivilege::Update,
    };
    if is_granted(catalog, actor, letter, types, &access.object, by_column) {
        return Ok(());
    }
    let (kind, name) = match &access.column {
        Some(column) if matches!(access.privilege, AccessPrivilege::Update | AccessPrivilege::References) => {
            ("COLUMN", format!("{}.{column}", access.object))
        }
        _ => (type_name(catalog, access.kind, &access.object), access.object.clone()),
    };
    Err(no_privilege(access.privilege.name(), kind, &name, &actor.user))
}

/// Checks that whoever is attached may create, alter or drop an object.
///
/// # Errors
/// `isc_no_priv` as for [`check`]; also for system objects, which nobody may change.
pub fn check_ddl(
    context: &ExecutionContext<'_>,
    kind: ObjectKind,
    action: DdlAction,
    name: &str,
) -> Result<()> {
    let catalog = context.transaction.current_catalog();
    let actor = Actor::of(context.session);
    if kind == ObjectKind::Relation
        && action != DdlAction::Create
        && catalog.relation(name).is_some_and(|relation| relation.kind == RelationKind::System)
    {
        return Err(Error::new(isc::NO_PRIV).with(action.name()).with("TABLE").with(name));
    }
    if actor.is_administrator(&catalog) {
        return Ok(());
    }
    if action != DdlAction::Create && owner_of(&catalog, kind, name) == Some(&actor.user) {
        return Ok(());
    }
    let Some((pseudo_object, type_number)) = ddl_object(&catalog, kind, name) else { return Ok(()) };
    if is_granted(&catalog, &actor, action.letter(), &[type_number], pseudo_object, |_| true) {
        return Ok(());
    }
    Err(no_privilege(action.name(), type_name(&catalog, kind, name), name, &actor.user))
}

fn no_privilege(privilege: &str, kind: &str, name: &str, user: &str) -> Error {
    Error::new(isc::NO_PRIV).with(privilege).with(kind).with(name).and(isc::EFFECTIVE_USER).with(user)
}

fn is_granted(
    catalog: &Catalog,
    actor: &Actor,
    letter: char,
    types: &[i16],
    object: &str,
    column_matches: impl Fn(&Option<String>) -> bool,
) -> bool {
    let candidates: Vec<_> = catalog
        .privileges
        .values()
        .filter(|it| {
            it.privilege == letter
                && it.object == object
                && types.contains(&it.object_type)
                && column_matches(&it.column)
        })
        .collect();
    if candidates.is_empty() {
        return false;
    }
    let roles = actor.roles(catalog);
    candidates.iter().any(|it| match it.user_type {
        object_type::USER => it.user == actor.user || it.user == "PUBLIC",
        object_type::ROLE => roles.contains(&it.user),
        _ => false,
    })
}

/// System tables may be read by everybody; those that tell of others show each only what is theirs.
fn is_public_system_table(catalog: &Catalog, access: &Access) -> bool {
    matches!(access.privilege, AccessPrivilege::Select)
        && catalog.relation(&access.object).is_some_and(|relation| relation.kind == RelationKind::System)
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

/// The object under which DDL privileges are kept, with its type. Triggers belong to their tables: who may alter a
/// table may make triggers for it.
fn ddl_object(catalog: &Catalog, kind: ObjectKind, name: &str) -> Option<(&'static str, i16)> {
    Some(match kind {
        ObjectKind::Database => ("SQL$DATABASE", 21),
        ObjectKind::Relation if catalog.relation(name).is_some_and(|it| Relation::is_view(it)) => {
            ("SQL$VIEWS", 23)
        }
        ObjectKind::Relation | ObjectKind::Trigger => ("SQL$TABLES", 22),
        ObjectKind::Procedure => ("SQL$PROCEDURES", 24),
        ObjectKind::Function => ("SQL$FUNCTIONS", 25),
        ObjectKind::Package => ("SQL$PACKAGES", 26),
        ObjectKind::Sequence => ("SQL$GENERATORS", 27),
        ObjectKind::Domain => ("SQL$DOMAINS", 28),
        ObjectKind::Exception => ("SQL$EXCEPTIONS", 29),
        ObjectKind::Role => ("SQL$ROLES", 30),
        ObjectKind::Collation => ("SQL$COLLATIONS", 32),
        ObjectKind::Privilege | ObjectKind::Mapping => return None,
    })
}

/// Who owns an object.
pub(crate) fn owner_of<'a>(catalog: &'a Catalog, kind: ObjectKind, name: &str) -> Option<&'a String> {
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
        ObjectKind::Package | ObjectKind::Privilege | ObjectKind::Mapping => None,
    }
}
