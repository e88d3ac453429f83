//! GRANT and REVOKE.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_sql::ast::{
    DdlAction as WrittenAction, DdlPrivilegeObject, DdlStatement, ExecutableKind, GrantStatement,
    GrantedRole, Grantee, GranteeKind, Name, Privileges, TablePrivilege, UsageKind,
};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::{object_type, owner_of};
use crate::catalog::{Catalog, CatalogObject, ObjectKind, Privilege, SystemPrivilege};
use crate::ddl::editor::Editor;
use crate::ddl::error;
use crate::ddl::security_database;

/// A privilege on an object, without who has it.
struct Item {
    letter: char,
    column: Option<String>,
}

/// What privileges are about.
struct Object {
    name: String,
    number: i16,
    kind: Option<ObjectKind>,
}

/// Only users and roles can grant on. Databases that older versions have made may say otherwise: their backups are taken as they are.
///
/// # Errors
/// `dsql_cant_grant_option`.
fn check_grant_option(user_type: i16) -> Result<()> {
    let grantees = match user_type {
        object_type::VIEW => "views",
        object_type::TRIGGER => "triggers",
        object_type::PROCEDURE => "procedures",
        object_type::FUNCTION => "functions",
        object_type::PACKAGE => "packages",
        object_type::SYSTEM_PRIVILEGE => "system privileges",
        _ => return Ok(()),
    };
    Err(Error::new(isc::DSQL_ERROR).and(isc::DSQL_CANT_GRANT_OPTION).with(grantees))
}

/// GRANT, REVOKE.
pub(super) fn change(editor: &mut Editor<'_, '_>, ast: &GrantStatement) -> Result<()> {
    if creates_databases(ast) && editor.context.database.users.keeps_users() {
        check_database_creators(ast)?;
        let denied = Error::new(isc::NO_PRIV).with("CREATE").with("DATABASE").with("");
        return security_database::run(editor, DdlStatement::Grant(ast.clone()), denied);
    }
    match ast {
        GrantStatement::Grant { privileges, grantees, with_grant_option, granted_by } => {
            check_first(&editor.catalog(), grantees)?;
            let (object, items) = resolve(&editor.catalog(), privileges)?;
            let grantor = grantor(editor, granted_by.as_ref())?;
            check_may_grant(editor, &object, &items, &grantor)?;
            for grantee in grantees {
                let (user, user_type) = grantee_of(&editor.catalog(), grantee)?;
                if *with_grant_option && !editor.context.session.settings.lock().restores {
                    check_grant_option(user_type)?;
                }
                for item in &items {
                    grant(
                        editor,
                        Privilege {
                            user: user.clone(),
                            user_type,
                            grantor: grantor.clone(),
                            privilege: item.letter,
                            grant_option: i16::from(*with_grant_option),
                            object: object.name.clone(),
                            object_type: object.number,
                            column: item.column.clone(),
                        },
                    )?;
                }
            }
            Ok(())
        }
        GrantStatement::Revoke { privileges, grantees, grant_option_for, granted_by } => {
            check_first(&editor.catalog(), grantees)?;
            let (object, items) = resolve(&editor.catalog(), privileges)?;
            let grantor = grantor(editor, granted_by.as_ref())?;
            for grantee in grantees {
                let (user, user_type) = grantee_of(&editor.catalog(), grantee)?;
                for item in &items {
                    revoke(editor, &object, item, (&user, user_type), &grantor, *grant_option_for)?;
                }
            }
            Ok(())
        }
        GrantStatement::GrantRoles { roles, grantees, with_admin_option, granted_by } => {
            let grantor = grantor(editor, granted_by.as_ref())?;
            for role in roles {
                for grantee in grantees {
                    grant_role(editor, role, grantee, *with_admin_option, &grantor)?;
                }
            }
            Ok(())
        }
        GrantStatement::RevokeRoles { roles, grantees, admin_option_for, granted_by } => {
            let grantor = grantor(editor, granted_by.as_ref())?;
            for role in roles {
                for grantee in grantees {
                    revoke_role(editor, role, grantee, *admin_option_for, &grantor)?;
                }
            }
            Ok(())
        }
        GrantStatement::RevokeAll { grantees } => {
            for grantee in grantees {
                revoke_all(editor, grantee)?;
            }
            Ok(())
        }
    }
}

/// Whether it is about CREATE DATABASE, which is no privilege in one database.
fn creates_databases(ast: &GrantStatement) -> bool {
    let (GrantStatement::Grant { privileges, .. } | GrantStatement::Revoke { privileges, .. }) = ast else {
        return false;
    };
    matches!(privileges, Privileges::Ddl { kind: DdlPrivilegeObject::Database, actions }
        if actions.contains(&WrittenAction::Create))
}

/// Refuses what would have no effect where CREATE DATABASE is granted, and what Firebird refuses of it.
fn check_database_creators(ast: &GrantStatement) -> Result<()> {
    let (privileges, grantees, option, granted_by) = match ast {
        GrantStatement::Grant { privileges, grantees, with_grant_option, granted_by } => {
            (privileges, grantees, with_grant_option, granted_by)
        }
        GrantStatement::Revoke { privileges, grantees, grant_option_for, granted_by } => {
            (privileges, grantees, grant_option_for, granted_by)
        }
        _ => return Ok(()),
    };
    let is_alone = |actions: &[WrittenAction]| actions.iter().all(|it| matches!(it, WrittenAction::Create));
    if !matches!(privileges, Privileges::Ddl { actions, .. } if is_alone(actions)) {
        return Err(error::unsupported(
            "CREATE DATABASE together with ALTER or DROP, which are of one database",
        ));
    }
    if !grantees.iter().all(|it| matches!(it.kind, Some(GranteeKind::User))) {
        return Err(error::unsupported("CREATE DATABASE for others than USER"));
    }
    match *option || granted_by.is_some() {
        true => Err(error::unsupported("an option or GRANTED BY for CREATE DATABASE")),
        false => Ok(()),
    }
}

/// Firebird looks for who gets or loses something before it looks for what.
fn check_first(catalog: &Catalog, grantees: &[Grantee]) -> Result<()> {
    match grantees.first() {
        Some(first) => grantee_of(catalog, first).map(drop),
        None => Ok(()),
    }
}

/// In whose name: whoever is attached, unless an administrator says otherwise.
fn grantor(editor: &Editor<'_, '_>, written: Option<&Name>) -> Result<String> {
    let actor = editor.context.actor();
    match written {
        None => Ok(actor.user),
        Some(name) if name.as_str() == actor.user || actor.is_administrator(&editor.catalog()) => {
            Ok(name.as_str().to_owned())
        }
        Some(_) if actor.has(&editor.catalog(), SystemPrivilege::UseGrantedByClause) => {
            Ok(written.map_or(actor.user, |name| name.as_str().to_owned()))
        }
        Some(_) => {
            let owner = editor.catalog().database.owner.clone();
            Err(Error::new(LOCKSMITH_USE_GRANTED).with(owner))
        }
    }
}

/// The object and the privileges on it.
fn resolve(catalog: &Catalog, privileges: &Privileges) -> Result<(Object, Vec<Item>)> {
    match privileges {
        Privileges::Table { table, privileges } => resolve_table(catalog, table.as_str(), privileges),
        Privileges::Execute { kind, name } => {
            let name = name.as_str();
            let (exists, kind, number, code) = match kind {
                ExecutableKind::Procedure => (
                    catalog.procedures.contains_key(name),
                    ObjectKind::Procedure,
                    object_type::PROCEDURE,
                    isc::DYN_PROC_NOT_EXIST,
                ),
                ExecutableKind::Function => (
                    catalog.functions.contains_key(name),
                    ObjectKind::Function,
                    object_type::FUNCTION,
                    isc::DYN_FUNC_NOT_EXIST,
                ),
                ExecutableKind::Package => (
                    catalog.packages.contains_key(name),
                    ObjectKind::Package,
                    object_type::PACKAGE,
                    isc::DYN_PACK_NOT_EXIST,
                ),
            };
            one_object(exists, name, kind, number, 'X', code)
        }
        Privileges::Usage { kind, name } => {
            let name = name.as_str();
            match kind {
                UsageKind::Sequence => one_object(
                    catalog.sequences.contains_key(name),
                    name,
                    ObjectKind::Sequence,
                    object_type::SEQUENCE,
                    'G',
                    isc::DYN_GEN_NOT_EXIST,
                ),
                UsageKind::Exception => one_object(
                    catalog.exceptions.contains_key(name),
                    name,
                    ObjectKind::Exception,
                    object_type::EXCEPTION,
                    'G',
                    isc::DYN_EXC_NOT_EXIST,
                ),
                UsageKind::Domain => one_object(
                    catalog.domains.contains_key(name),
                    name,
                    ObjectKind::Domain,
                    object_type::DOMAIN,
                    'G',
                    isc::DYN_FLD_NOT_EXIST,
                ),
                UsageKind::CharacterSet | UsageKind::Collation => {
                    let number = match kind {
                        UsageKind::Collation => object_type::COLLATION,
                        _ => object_type::CHARACTER_SET,
                    };
                    Ok((
                        Object { name: name.to_owned(), number, kind: None },
                        vec![Item { letter: 'G', column: None }],
                    ))
                }
            }
        }
        Privileges::Ddl { kind, actions } => Ok(resolve_ddl(*kind, actions)),
    }
}

fn one_object(
    exists: bool,
    name: &str,
    kind: ObjectKind,
    number: i16,
    letter: char,
    code: u32,
) -> Result<(Object, Vec<Item>)> {
    if !exists {
        return Err(Error::new(code).with(name));
    }
    Ok((Object { name: name.to_owned(), number, kind: Some(kind) }, vec![Item { letter, column: None }]))
}

fn resolve_table(
    catalog: &Catalog,
    table: &str,
    privileges: &[TablePrivilege],
) -> Result<(Object, Vec<Item>)> {
    let relation = catalog.relation(table).ok_or_else(|| Error::new(isc::DYN_REL_NOT_EXIST).with(table))?;
    let mut items = Vec::new();
    let whole = |letter: char| Item { letter, column: None };
    if privileges.is_empty() {
        items.extend("SIUDR".chars().map(whole));
    }
    for privilege in privileges {
        let (letter, columns): (char, &[Name]) = match privilege {
            TablePrivilege::Select => ('S', &[]),
            TablePrivilege::Insert => ('I', &[]),
            TablePrivilege::Delete => ('D', &[]),
            TablePrivilege::Update(columns) => ('U', columns),
            TablePrivilege::References(columns) => ('R', columns),
        };
        if columns.is_empty() {
            items.push(whole(letter));
        }
        for column in columns {
            let column = column.as_str();
            let missing = || Error::new(isc::DYN_FLD_NOT_EXIST).with(column).with(table);
            relation.column(column).ok_or_else(missing)?;
            items.push(Item { letter, column: Some(column.to_owned()) });
        }
    }
    // Firebird keeps privileges on views as those on tables.
    let object =
        Object { name: table.to_owned(), number: object_type::RELATION, kind: Some(ObjectKind::Relation) };
    Ok((object, items))
}

fn resolve_ddl(kind: DdlPrivilegeObject, actions: &[WrittenAction]) -> (Object, Vec<Item>) {
    let (name, number) = match kind {
        DdlPrivilegeObject::Database => ("SQL$DATABASE", 21),
        DdlPrivilegeObject::Table => ("SQL$TABLES", 22),
        DdlPrivilegeObject::View => ("SQL$VIEWS", 23),
        DdlPrivilegeObject::Procedure => ("SQL$PROCEDURES", 24),
        DdlPrivilegeObject::Function => ("SQL$FUNCTIONS", 25),
        DdlPrivilegeObject::Package => ("SQL$PACKAGES", 26),
        DdlPrivilegeObject::Sequence => ("SQL$GENERATORS", 27),
        DdlPrivilegeObject::Domain => ("SQL$DOMAINS", 28),
        DdlPrivilegeObject::Exception => ("SQL$EXCEPTIONS", 29),
        DdlPrivilegeObject::Role => ("SQL$ROLES", 30),
        DdlPrivilegeObject::CharacterSet => ("SQL$CHARSETS", 31),
        DdlPrivilegeObject::Collation => ("SQL$COLLATIONS", 32),
        DdlPrivilegeObject::Filter => ("SQL$FILTERS", 33),
    };
    let letter = |action: &WrittenAction| match action {
        WrittenAction::Create => 'C',
        WrittenAction::Alter => 'L',
        WrittenAction::Drop => 'O',
    };
    let letters: Vec<char> = match (kind, actions) {
        // To create one is nothing that one database could allow.
        (DdlPrivilegeObject::Database, []) => vec!['L', 'O'],
        (_, []) => vec!['C', 'L', 'O'],
        (_, actions) => actions.iter().map(letter).collect(),
    };
    let items = letters.into_iter().map(|letter| Item { letter, column: None }).collect();
    (Object { name: name.to_owned(), number, kind: None }, items)
}

/// Who gets or loses it, with RDB$USER_TYPE.
fn grantee_of(catalog: &Catalog, grantee: &Grantee) -> Result<(String, i16)> {
    let name = grantee.name.name.as_str();
    let known = |exists: bool, code: u32| if exists { Ok(()) } else { Err(Error::new(code).with(name)) };
    let user_type = match grantee.kind {
        None if catalog.roles.contains_key(name) => object_type::ROLE,
        None | Some(GranteeKind::User) => object_type::USER,
        Some(GranteeKind::Role) => {
            known(catalog.roles.contains_key(name), isc::DYN_ROLE_DOES_NOT_EXIST)?;
            object_type::ROLE
        }
        Some(GranteeKind::Procedure) => {
            known(catalog.procedures.contains_key(name), isc::DYN_PROC_NOT_EXIST)?;
            object_type::PROCEDURE
        }
        Some(GranteeKind::Function) => {
            known(catalog.functions.contains_key(name), isc::DYN_FUNC_NOT_EXIST)?;
            object_type::FUNCTION
        }
        Some(GranteeKind::Trigger) => {
            let exists = catalog.triggers.contains_key(name) || catalog.has_constraint_trigger(name);
            known(exists, isc::DYN_TRIG_NOT_EXIST)?;
            object_type::TRIGGER
        }
        Some(GranteeKind::View) => {
            let is_view = catalog.relation(name).is_some_and(|relation| relation.is_view());
            known(is_view, isc::DYN_VIEW_NOT_EXIST)?;
            object_type::VIEW
        }
        Some(GranteeKind::Package) => {
            known(catalog.packages.contains_key(name), isc::DYN_PACK_NOT_EXIST)?;
            object_type::PACKAGE
        }
        Some(GranteeKind::SystemPrivilege) => {
            known(SystemPrivilege::named(name).is_some(), isc::WRONG_PRVLG)?;
            object_type::SYSTEM_PRIVILEGE
        }
        Some(GranteeKind::Group) => {
            return Err(error::unsupported("this kind of grantee"));
        }
    };
    Ok((name.to_owned(), user_type))
}

/// Administrators may grant anything, owners what is theirs, others what they or their roles have with the option.
fn check_may_grant(editor: &Editor<'_, '_>, object: &Object, items: &[Item], grantor: &str) -> Result<()> {
    let catalog = editor.catalog();
    let actor = editor.context.actor();
    let anything = match object.number {
        FIRST_DDL_TYPE.. => SystemPrivilege::GrantRevokeAnyDdlRight,
        _ => SystemPrivilege::GrantRevokeOnAnyObject,
    };
    if actor.has(&catalog, anything) {
        return Ok(());
    }
    let roles = actor.roles(&catalog);
    let grantor = Grantor { catalog: &catalog, user: grantor, roles: &roles };
    items.iter().try_for_each(|item| match object.number {
        object_type::RELATION => {
            let wanted = Wanted { letter: item.letter, table: &object.name, column: item.column.as_deref() };
            grantor.check_table(wanted, true)
        }
        number => grantor.check_object(item.letter, object, number),
    })
}

/// dyn_locksmith_use_granted: the table of public codes leaves it out.
const LOCKSMITH_USE_GRANTED: u32 = 336_068_860;
/// Types of objects from this on stand for the right to define objects of a kind.
const FIRST_DDL_TYPE: i16 = 21;
/// How deeply views may be made of views, as far as granting looks.
const VIEWS_MAX: usize = 128;

/// Codes of the facility DYN without a name: no grant option, or no privilege at all, for a privilege on a column, on a
/// table for the sake of a column, and on a table; and as the first four, of a view's table.
mod no_option {
    pub(super) const COLUMN: u32 = 336_068_775;
    pub(super) const BASE_COLUMN: u32 = 336_068_776;
    pub(super) const TABLE_FOR_COLUMN: u32 = 336_068_777;
    pub(super) const BASE_TABLE_FOR_COLUMN: u32 = 336_068_778;
    pub(super) const NOTHING_FOR_COLUMN: u32 = 336_068_779;
    pub(super) const NOTHING_ON_BASE_FOR_COLUMN: u32 = 336_068_780;
    pub(super) const TABLE: u32 = 336_068_781;
    pub(super) const NOTHING: u32 = 336_068_782;
}

/// A privilege on a table or one of its columns.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    letter: char,
    table: &'a str,
    column: Option<&'a str>,
}

/// Whoever grants, with the roles in use.
struct Grantor<'a> {
    catalog: &'a Catalog,
    user: &'a str,
    roles: &'a BTreeSet<String>,
}

impl Grantor<'_> {
    /// The best option that the grantor has among some privileges: none, without option, with it.
    fn option(&self, is_it: impl Fn(&Privilege) -> bool) -> Option<bool> {
        let is_ours = |it: &Privilege| match it.user_type {
            object_type::USER => it.user == self.user,
            object_type::ROLE => self.roles.contains(&it.user),
            _ => false,
        };
        let options = self.catalog.privileges.values().filter(|it| is_ours(it) && is_it(it));
        options.map(|it| it.grant_option > 0).max()
    }

    /// Checks a privilege on a table, or on a table that a view of the grantor's shows.
    fn check_table(&self, wanted: Wanted<'_>, is_top: bool) -> Result<()> {
        self.check_table_at(wanted, is_top, 0)
    }

    fn check_table_at(&self, wanted: Wanted<'_>, is_top: bool, depth: usize) -> Result<()> {
        let Wanted { letter, table, column } = wanted;
        let Some(relation) = self.catalog.relation(table) else { return Ok(()) };
        let is_owner = relation.owner == self.user;
        let on = |it: &Privilege| {
            it.object == table && it.object_type == object_type::RELATION && it.privilege == letter
        };
        let whole = if is_owner { Some(true) } else { self.option(|it| on(it) && it.column.is_none()) };
        let single =
            column.and_then(|column| self.option(|it| on(it) && it.column.as_deref() == Some(column)));
        let name = letter_name(letter);
        let refused = |top: u32, base: u32| Error::new(if is_top { top } else { base }).with(name);
        if let Some(column) = column {
            match (single, whole) {
                (Some(true), _) | (None, Some(true)) => {}
                (Some(false), _) => {
                    return Err(refused(no_option::COLUMN, no_option::BASE_COLUMN).with(column).with(table));
                }
                (None, Some(false)) => {
                    let error = refused(no_option::TABLE_FOR_COLUMN, no_option::BASE_TABLE_FOR_COLUMN);
                    return Err(error.with(table).with(column));
                }
                (None, None) => {
                    let error = refused(no_option::NOTHING_FOR_COLUMN, no_option::NOTHING_ON_BASE_FOR_COLUMN);
                    return Err(error.with(table).with(column));
                }
            }
        } else {
            match whole {
                Some(true) => {}
                Some(false) => return Err(Error::new(no_option::TABLE).with(name).with(table)),
                None => return Err(Error::new(no_option::NOTHING).with(name).with(table)),
            }
        }
        if !is_owner || depth >= VIEWS_MAX {
            return Ok(());
        }
        // Whoever owns a view hands on no more of its tables than may be handed on.
        relation
            .columns
            .iter()
            .filter(|shown| column.is_none_or(|column| column == shown.name))
            .filter_map(|shown| shown.view_origin.as_ref())
            .try_for_each(|(table, column)| {
                let base = Wanted { letter, table: table.as_str(), column: Some(column.as_str()) };
                self.check_table_at(base, false, depth + 1)
            })
    }

    /// Checks a privilege on another object, or the right to define some.
    fn check_object(&self, letter: char, object: &Object, number: i16) -> Result<()> {
        let owns = object.kind.is_some_and(|kind| {
            owner_of(self.catalog, kind, &object.name).is_some_and(|owner| owner == self.user)
        });
        let option =
            self.option(|it| it.object == object.name && it.object_type == number && it.privilege == letter);
        if owns || option == Some(true) {
            return Ok(());
        }
        let code = if number >= FIRST_DDL_TYPE {
            isc::DYN_NO_DDL_GRANT_OPT_PRIV
        } else {
            isc::DYN_NO_GRANT_OPT_PRIV
        };
        Err(Error::new(code).with(letter_name(letter)).with(object.name.as_str()))
    }
}

/// A privilege as it is written in GRANT.
fn letter_name(letter: char) -> &'static str {
    match letter {
        'S' => "SELECT",
        'I' => "INSERT",
        'U' => "UPDATE",
        'D' => "DELETE",
        'R' => "REFERENCES",
        'X' => "EXECUTE",
        'G' => "USAGE",
        'C' => "CREATE",
        'L' => "ALTER",
        'O' => "DROP",
        _ => "ALL",
    }
}

/// Keeps a privilege; an option once given is not lost by granting again without.
fn grant(editor: &mut Editor<'_, '_>, mut privilege: Privilege) -> Result<()> {
    let catalog = editor.catalog();
    if let Some(existing) = catalog.privileges.get(&privilege.key()) {
        privilege.grant_option = privilege.grant_option.max(existing.grant_option);
        if **existing == privilege {
            return Ok(());
        }
    }
    editor.put(CatalogObject::Privilege(Arc::new(privilege)))
}

fn revoke(
    editor: &mut Editor<'_, '_>,
    object: &Object,
    item: &Item,
    (user, user_type): (&str, i16),
    grantor: &str,
    option_only: bool,
) -> Result<()> {
    let catalog = editor.catalog();
    let actor = editor.context.actor();
    let administrator = actor.has(&catalog, SystemPrivilege::GrantRevokeOnAnyObject);
    let (mut taken, mut anothers) = (false, false);
    for (key, existing) in catalog.privileges_on(&[object.number], &object.name) {
        let is_it = existing.user == user
            && existing.user_type == user_type
            && existing.privilege == item.letter
            && (item.column.is_none() || existing.column == item.column);
        if is_it && (administrator || existing.grantor == grantor) {
            take(editor, key, existing, option_only)?;
            taken = true;
        }
        anothers |= is_it;
    }
    match anothers && !taken {
        // It stays with whom it was taken from: that must not pass in silence.
        true => Err(error::not_grantor(grantor, letter_name(item.letter), &object.name, user)),
        false => Ok(()),
    }
}

/// Removes a privilege, or its option only; and with the option whatever was granted by virtue of it.
fn take(editor: &mut Editor<'_, '_>, key: &str, existing: &Privilege, option_only: bool) -> Result<()> {
    // It may have gone already with another one.
    if !editor.catalog().privileges.contains_key(key) {
        return Ok(());
    }
    if option_only {
        editor.put(CatalogObject::Privilege(Arc::new(Privilege { grant_option: 0, ..existing.clone() })))?;
    } else {
        editor.remove(ObjectKind::Privilege, key)?;
    }
    if existing.grant_option == 0 || existing.user_type != object_type::USER || existing.privilege == 'M' {
        return Ok(());
    }
    let is_same = |it: &Privilege| {
        it.privilege == existing.privilege && (it.column == existing.column || existing.column.is_none())
    };
    let catalog = editor.catalog();
    let same_object = || catalog.privileges_on(std::slice::from_ref(&existing.object_type), &existing.object);
    if same_object().any(|(_, it)| {
        it.user == existing.user && it.user_type == object_type::USER && it.grant_option > 0 && is_same(it)
    }) {
        return Ok(());
    }
    for (key, granted) in same_object() {
        if granted.grantor == existing.user && is_same(granted) {
            take(editor, key, granted, false)?;
        }
    }
    Ok(())
}

fn check_may_grant_role(editor: &Editor<'_, '_>, role: &str, grantor: &str) -> Result<()> {
    let catalog = editor.catalog();
    let found = catalog.roles.get(role).ok_or_else(|| Error::new(isc::DYN_ROLE_DOES_NOT_EXIST).with(role))?;
    let actor = editor.context.actor();
    let has_option = catalog.memberships().any(|it| {
        it.object == role && it.user == grantor && it.user_type == object_type::USER && it.grant_option > 0
    });
    let anything = actor.has(&catalog, SystemPrivilege::GrantRevokeOnAnyObject);
    if anything || found.owner == grantor || has_option {
        return Ok(());
    }
    let is_member = catalog
        .memberships()
        .any(|it| it.object == role && it.user == grantor && it.user_type == object_type::USER);
    if !is_member {
        return Err(Error::new(isc::DYN_USER_NOT_ROLE_MEMBER).with(grantor).with(role));
    }
    Err(Error::new(isc::DYN_NO_GRANT_ADMIN_OPT).with(grantor).with(role))
}

fn grant_role(
    editor: &mut Editor<'_, '_>,
    role: &GrantedRole,
    grantee: &Grantee,
    with_admin_option: bool,
    grantor: &str,
) -> Result<()> {
    let name = role.name.as_str();
    check_may_grant_role(editor, name, grantor)?;
    let (user, user_type) = grantee_of(&editor.catalog(), grantee)?;
    if user_type == object_type::ROLE && is_member(&editor.catalog(), name, &user) {
        return Err(Error::new(isc::DYN_CYCLIC_ROLE).with(name).with(user));
    }
    grant(
        editor,
        Privilege {
            user,
            user_type,
            grantor: grantor.to_owned(),
            privilege: 'M',
            grant_option: if with_admin_option { 2 } else { 0 },
            object: name.to_owned(),
            object_type: object_type::ROLE,
            column: role.default.then(|| "D".to_owned()),
        },
    )
}

/// Whether `role` has been granted `granted`, directly or through others.
fn is_member(catalog: &Catalog, role: &str, granted: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![role.to_owned()];
    while let Some(current) = pending.pop() {
        if current == granted {
            return true;
        }
        if seen.insert(current.clone()) {
            let inner =
                catalog.memberships().filter(|it| it.user == current && it.user_type == object_type::ROLE);
            pending.extend(inner.map(|it| it.object.clone()));
        }
    }
    false
}

fn revoke_role(
    editor: &mut Editor<'_, '_>,
    role: &GrantedRole,
    grantee: &Grantee,
    option_only: bool,
    grantor: &str,
) -> Result<()> {
    let name = role.name.as_str();
    check_may_grant_role(editor, name, grantor)?;
    let catalog = editor.catalog();
    let (user, user_type) = grantee_of(&catalog, grantee)?;
    for (key, existing) in catalog.privileges.iter() {
        let is_it = existing.privilege == 'M'
            && existing.object == name
            && existing.user == user
            && existing.user_type == user_type;
        if is_it {
            take(editor, key, existing, option_only)?;
        }
    }
    Ok(())
}

fn revoke_all(editor: &mut Editor<'_, '_>, grantee: &Grantee) -> Result<()> {
    let catalog = editor.catalog();
    let actor = editor.context.actor();
    let (user, user_type) = grantee_of(&catalog, grantee)?;
    let (mut taken, mut anothers) = (false, false);
    for (key, existing) in catalog.privileges.iter() {
        let is_it = existing.user == user && existing.user_type == user_type;
        if is_it && (actor.is_administrator(&catalog) || existing.grantor == actor.user) {
            editor.remove(ObjectKind::Privilege, key)?;
            taken = true;
        }
        anothers |= is_it;
    }
    match anothers && !taken {
        true => Err(error::not_grantor(&actor.user, "ALL", "ALL", &user)),
        false => Ok(()),
    }
}
