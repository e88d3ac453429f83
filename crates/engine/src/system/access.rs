//! Rows about who may do what: roles, privileges, users, mappings.

use std::sync::Arc;

use farbird_types::{CharacterSet, Result};

use crate::catalog::privileges::{self, object_type};
use crate::catalog::system_tables::domains;
use crate::catalog::{Mapping, Privilege, Role, SYSTEM_SEQUENCES};
use crate::system::row_set::RowSet;
use crate::system::tables::{is_our_own, is_system, relations_in_order};

/// What an owner has of a table, and of everything else.
const TABLE_PRIVILEGES: &str = "SIUDR";

/// System tables that a system privilege (CREATE_USER_TYPES, USE_NBACKUP_UTILITY, GRANT_REVOKE_ANY_DDL_RIGHT) opens to who
/// has it, and its number. Source: RDB$USER_PRIVILEGES of a new database of Firebird 5.0.4.
const OPENED_TABLES: [(&str, &str); 3] =
    [("RDB$TYPES", "3"), ("RDB$BACKUP_HISTORY", "4"), ("RDB$DB_CREATORS", "22")];

pub(super) fn roles(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    let mut roles: Vec<_> = catalog.roles.values().collect();
    roles.sort_by_key(|role| !role.system);
    for role in roles {
        rows.row()
            .text("RDB$ROLE_NAME", &role.name)
            .text("RDB$OWNER_NAME", &role.owner)
            .blob("RDB$DESCRIPTION", role.description.as_deref())
            .flag("RDB$SYSTEM_FLAG", role.system)
            .octets("RDB$SYSTEM_PRIVILEGES", &system_privileges(role).to_le_bytes());
    }
}

/// A bit for each privilege; RDB$ADMIN has those to come as well.
fn system_privileges(role: &Role) -> u64 {
    if role.system { u64::MAX } else { role.system_privileges }
}

/// Privileges as granted, after those that owners have of what is theirs.
pub(super) fn user_privileges(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for relation in relations_in_order(&catalog) {
        let grantor = if is_system(&relation) { "" } else { relation.owner.as_str() };
        for letter in TABLE_PRIVILEGES.chars() {
            owner_row(rows, &relation.owner, grantor, letter, &relation.name, object_type::RELATION);
        }
        if is_system(&relation) {
            system_row(rows, ("PUBLIC", object_type::USER), 'S', &relation.name, object_type::RELATION);
        }
        if let Some((_, number)) = OPENED_TABLES.iter().find(|(name, _)| *name == relation.name) {
            for letter in TABLE_PRIVILEGES.chars() {
                let privilege = (*number, object_type::SYSTEM_PRIVILEGE);
                system_row(rows, privilege, letter, &relation.name, object_type::RELATION);
            }
        }
    }
    usage_of_system_objects(rows);
    for it in catalog.procedures.values() {
        owner_row(rows, &it.owner, &it.owner, 'X', &it.name, object_type::PROCEDURE);
    }
    for it in catalog.functions.values() {
        owner_row(rows, &it.owner, &it.owner, 'X', &it.name, object_type::FUNCTION);
    }
    for it in catalog.packages.values() {
        let grantor = if it.is_system() { "" } else { it.owner.as_str() };
        owner_row(rows, &it.owner, grantor, 'X', &it.name, object_type::PACKAGE);
        if it.is_system() {
            system_row(rows, ("PUBLIC", object_type::USER), 'X', &it.name, object_type::PACKAGE);
        }
    }
    for it in catalog.domains.values() {
        owner_row(rows, &it.owner, &it.owner, 'G', &it.name, object_type::DOMAIN);
    }
    for it in catalog.collations.values() {
        owner_row(rows, &it.owner, &it.owner, 'G', &it.name, object_type::COLLATION);
    }
    for it in catalog.sequences.values() {
        owner_row(rows, &it.owner, &it.owner, 'G', &it.name, object_type::SEQUENCE);
    }
    for it in catalog.exceptions.values() {
        owner_row(rows, &it.owner, &it.owner, 'G', &it.name, object_type::EXCEPTION);
    }
    // Who made the database has RDB$ADMIN as a default role (D), with the right to grant it.
    rows.row()
        .text("RDB$USER", &catalog.database.owner)
        .text("RDB$PRIVILEGE", "M")
        .number("RDB$GRANT_OPTION", 2)
        .text("RDB$RELATION_NAME", "RDB$ADMIN")
        .text("RDB$FIELD_NAME", "D")
        .number("RDB$USER_TYPE", object_type::USER)
        .number("RDB$OBJECT_TYPE", object_type::ROLE);
    for privilege in catalog.privileges.values() {
        privilege_row(rows, privilege);
    }
}

/// Everybody may use the system's domains, character sets, collations and generators; SYSDBA may let others.
fn usage_of_system_objects(rows: &mut RowSet<'_, '_, '_>) {
    let mut names: Vec<(&str, i16)> = Vec::new();
    names.extend(
        domains().values().filter(|it| !is_our_own(it.name)).map(|it| (it.name, object_type::DOMAIN)),
    );
    for character_set in CharacterSet::all() {
        names.push((character_set.name(), object_type::CHARACTER_SET));
        names.extend(character_set.collations().map(|(_, name, _)| (name, object_type::COLLATION)));
    }
    names.extend(SYSTEM_SEQUENCES.map(|(name, _)| (name, object_type::SEQUENCE)));
    for (name, kind) in names {
        owner_row(rows, "SYSDBA", "", 'G', name, kind);
        system_row(rows, ("PUBLIC", object_type::USER), 'G', name, kind);
    }
}

/// What somebody has of the system's own without anybody having granted it.
fn system_row(rows: &mut RowSet<'_, '_, '_>, user: (&str, i16), letter: char, object: &str, kind: i16) {
    rows.row()
        .text("RDB$USER", user.0)
        .text("RDB$PRIVILEGE", letter.encode_utf8(&mut [0; 4]))
        .number("RDB$GRANT_OPTION", 0)
        .text("RDB$RELATION_NAME", object)
        .number("RDB$USER_TYPE", user.1)
        .number("RDB$OBJECT_TYPE", kind);
}

fn owner_row(
    rows: &mut RowSet<'_, '_, '_>,
    owner: &str,
    grantor: &str,
    letter: char,
    object: &str,
    kind: i16,
) {
    rows.row()
        .text("RDB$USER", owner)
        .text("RDB$PRIVILEGE", letter.encode_utf8(&mut [0; 4]))
        .number("RDB$GRANT_OPTION", 1)
        .text("RDB$RELATION_NAME", object)
        .number("RDB$USER_TYPE", object_type::USER)
        .number("RDB$OBJECT_TYPE", kind);
    if !grantor.is_empty() {
        rows.text("RDB$GRANTOR", grantor);
    }
}

fn privilege_row(rows: &mut RowSet<'_, '_, '_>, privilege: &Privilege) {
    rows.row()
        .text("RDB$USER", &privilege.user)
        .text("RDB$GRANTOR", &privilege.grantor)
        .text("RDB$PRIVILEGE", privilege.privilege.encode_utf8(&mut [0; 4]))
        .number("RDB$GRANT_OPTION", privilege.grant_option)
        .text("RDB$RELATION_NAME", &privilege.object)
        .optional_text("RDB$FIELD_NAME", privilege.column.as_deref())
        .number("RDB$USER_TYPE", privilege.user_type)
        .number("RDB$OBJECT_TYPE", privilege.object_type);
}

/// RDB$AUTH_MAPPING.
pub(super) fn mappings(rows: &mut RowSet<'_, '_, '_>) {
    let catalog = Arc::clone(&rows.catalog);
    for mapping in catalog.mappings.values() {
        mapping_row(rows, "RDB$", mapping);
        rows.number("RDB$SYSTEM_FLAG", 0);
    }
}

/// SEC$GLOBAL_AUTH_MAPPING.
pub(super) fn global_mappings(rows: &mut RowSet<'_, '_, '_>) -> Result<()> {
    for mapping in rows.context.database.users.mappings()?.mappings {
        mapping_row(rows, "SEC$", &mapping);
    }
    Ok(())
}

fn mapping_row(rows: &mut RowSet<'_, '_, '_>, prefix: &str, mapping: &Mapping) {
    let column = |name: &str| format!("{prefix}{name}");
    rows.row()
        .text(&column("MAP_NAME"), &mapping.name)
        .text(&column("MAP_USING"), mapping.using.letter().encode_utf8(&mut [0; 4]))
        .optional_text(&column("MAP_PLUGIN"), mapping.plugin.as_deref())
        .optional_text(&column("MAP_DB"), mapping.database.as_deref())
        .text(&column("MAP_FROM_TYPE"), &mapping.from_type)
        .text(&column("MAP_FROM"), &mapping.from)
        .number(&column("MAP_TO_TYPE"), i16::from(mapping.to_role))
        .optional_text(&column("MAP_TO"), mapping.to.as_deref())
        .blob(&column("DESCRIPTION"), mapping.description.as_deref());
}

/// SEC$USERS: everybody for administrators, oneself for others.
pub(super) fn users(rows: &mut RowSet<'_, '_, '_>) -> Result<()> {
    for user in visible_users(rows)? {
        rows.row()
            .text("SEC$USER_NAME", &user.name)
            .optional_text("SEC$FIRST_NAME", user.first_name.as_deref())
            .optional_text("SEC$MIDDLE_NAME", user.middle_name.as_deref())
            .optional_text("SEC$LAST_NAME", user.last_name.as_deref())
            .boolean("SEC$ACTIVE", Some(user.active))
            .boolean("SEC$ADMIN", Some(user.admin))
            .blob("SEC$DESCRIPTION", user.description.as_deref())
            .text("SEC$PLUGIN", "Srp");
    }
    Ok(())
}

/// SEC$DB_CREATORS: everybody for administrators, oneself for others.
pub(super) fn database_creators(rows: &mut RowSet<'_, '_, '_>) -> Result<()> {
    let all = manages_users(rows)?;
    let own = rows.context.session.server.user.clone();
    let creators = rows.context.database.users.database_creators()?;
    for (name, kind) in creators.into_iter().filter(|(name, _)| all || *name == own) {
        rows.row().text("SEC$USER", &name).number("SEC$USER_TYPE", kind);
    }
    Ok(())
}

/// SEC$USER_ATTRIBUTES.
pub(super) fn user_attributes(rows: &mut RowSet<'_, '_, '_>) -> Result<()> {
    for user in visible_users(rows)? {
        for (key, value) in &user.tags {
            rows.row()
                .text("SEC$USER_NAME", &user.name)
                .text("SEC$KEY", key)
                .text("SEC$VALUE", value)
                .text("SEC$PLUGIN", "Srp");
        }
    }
    Ok(())
}

fn manages_users(rows: &RowSet<'_, '_, '_>) -> Result<bool> {
    privileges::manages_users(
        &rows.context.transaction.current_catalog(),
        rows.context.session,
        &*rows.context.database.users,
    )
}

fn visible_users(rows: &RowSet<'_, '_, '_>) -> Result<Vec<crate::users::UserRecord>> {
    let all = manages_users(rows)?;
    let own = &rows.context.session.server.user;
    let users = rows.context.database.users.list()?;
    Ok(users.into_iter().filter(|user| all || user.name == *own).collect())
}
