//! GRANT and REVOKE.

use std::sync::Arc;

use farbird_sql::ast::{
    DdlAction as WrittenAction, DdlPrivilegeObject, ExecutableKind, GrantStatement, GrantedRole, Grantee,
    GranteeKind, Name, Privileges, TablePrivilege, UsageKind,
};
use farbird_types::{Error, Result, isc};

use crate::catalog::privileges::{Actor, object_type, owner_of};
use crate::catalog::{Catalog, CatalogObject, ObjectKind, Privilege};
use crate::ddl::editor::Editor;
use crate::ddl::error;

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

/// GRANT, REVOKE.
pub(super) fn change(editor: &mut Editor<'_, '_>, ast: &GrantStatement) -> Result<()> {
    match ast {
        GrantStatement::Grant { privileges, grantees, with_grant_option, granted_by } => {
            let (object, items) = resolve(&editor.catalog(), privileges)?;
            let grantor = grantor(editor, granted_by.as_ref())?;
            check_may_grant(editor, &object, &items, &grantor)?;
            for grantee in grantees {
                let (user, user_type) = grantee_of(&editor.catalog(), grantee)?;
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

/// In whose name: whoever is attached, unless an administrator says otherwise.
fn grantor(editor: &Editor<'_, '_>, written: Option<&Name>) -> Result<String> {
    let actor = Actor::of(editor.context.session);
    match written {
        None => Ok(actor.user),
        Some(name) if name.as_str() == actor.user || actor.is_administrator(&editor.catalog()) => {
            Ok(name.as_str().to_owned())
        }
        Some(_) => Err(Error::new(isc::MISS_PRVLG).with("USE_GRANTED_BY_CLAUSE")),
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
                ExecutableKind::Package => {
                    (false, ObjectKind::Package, object_type::PACKAGE, isc::DYN_PACK_NOT_EXIST)
                }
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
            relation.column(column).ok_or_else(|| error::column_not_found(column, table))?;
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
    let letters: Vec<char> =
        if actions.is_empty() { vec!['C', 'L', 'O'] } else { actions.iter().map(letter).collect() };
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
            known(catalog.triggers.contains_key(name), isc::DYN_TRIG_NOT_EXIST)?;
            object_type::TRIGGER
        }
        Some(GranteeKind::View) => {
            let is_view = catalog.relation(name).is_some_and(|relation| relation.is_view());
            known(is_view, isc::DYN_VIEW_NOT_EXIST)?;
            object_type::VIEW
        }
        Some(GranteeKind::Package) => return Err(Error::new(isc::DYN_PACK_NOT_EXIST).with(name)),
        Some(GranteeKind::Group | GranteeKind::SystemPrivilege) => {
            return Err(error::unsupported("this kind of grantee"));
        }
    };
    Ok((name.to_owned(), user_type))
}

/// Administrators and owners may grant anything; others what they were granted with the option.
fn check_may_grant(editor: &Editor<'_, '_>, object: &Object, items: &[Item], grantor: &str) -> Result<()> {
    let catalog = editor.catalog();
    let actor = Actor::of(editor.context.session);
    let owns = object
        .kind
        .is_some_and(|kind| owner_of(&catalog, kind, &object.name).is_some_and(|owner| *owner == grantor));
    if actor.is_administrator(&catalog) || owns {
        return Ok(());
    }
    for item in items {
        let may = catalog.privileges.values().any(|it| {
            it.user == grantor
                && it.user_type == object_type::USER
                && it.privilege == item.letter
                && it.object == object.name
                && it.object_type == object.number
                && it.grant_option > 0
                && (it.column.is_none() || it.column == item.column)
        });
        if !may {
            return Err(Error::new(isc::DYN_NO_GRANT_OPT_PRIV)
                .with(item.letter.to_string())
                .with(object.name.as_str()));
        }
    }
    Ok(())
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
    let administrator = Actor::of(editor.context.session).is_administrator(&catalog);
    for (key, existing) in &catalog.privileges {
        let is_it = existing.user == user
            && existing.user_type == user_type
            && existing.privilege == item.letter
            && existing.object == object.name
            && existing.object_type == object.number
            && (item.column.is_none() || existing.column == item.column)
            && (administrator || existing.grantor == grantor);
        if is_it {
            take(editor, key, existing, option_only)?;
        }
    }
    Ok(())
}

/// Removes a privilege, or its option only.
fn take(editor: &mut Editor<'_, '_>, key: &str, existing: &Privilege, option_only: bool) -> Result<()> {
    if option_only {
        editor.put(CatalogObject::Privilege(Arc::new(Privilege { grant_option: 0, ..existing.clone() })))
    } else {
        editor.remove(ObjectKind::Privilege, key)
    }
}

fn check_may_grant_role(editor: &Editor<'_, '_>, role: &str, grantor: &str) -> Result<()> {
    let catalog = editor.catalog();
    let found = catalog.roles.get(role).ok_or_else(|| Error::new(isc::DYN_ROLE_DOES_NOT_EXIST).with(role))?;
    let actor = Actor::of(editor.context.session);
    let has_option = catalog.privileges.values().any(|it| {
        it.privilege == 'M'
            && it.object == role
            && it.user == grantor
            && it.user_type == object_type::USER
            && it.grant_option > 0
    });
    if actor.is_administrator(&catalog) || found.owner == grantor || has_option {
        return Ok(());
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
    let mut seen = std::collections::BTreeSet::new();
    let mut pending = vec![role.to_owned()];
    while let Some(current) = pending.pop() {
        if current == granted {
            return true;
        }
        if seen.insert(current.clone()) {
            let inner = catalog
                .privileges
                .values()
                .filter(|it| it.privilege == 'M' && it.user == current && it.user_type == object_type::ROLE);
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
    for (key, existing) in &catalog.privileges {
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
    let actor = Actor::of(editor.context.session);
    let (user, user_type) = grantee_of(&catalog, grantee)?;
    for (key, existing) in &catalog.privileges {
        let may = actor.is_administrator(&catalog) || existing.grantor == actor.user;
        if may && existing.user == user && existing.user_type == user_type {
            editor.remove(ObjectKind::Privilege, key)?;
        }
    }
    Ok(())
}
