//! The services about users, and the mapping of administrators: added, changed, deleted, shown (isc_action_svc_add_user and its relatives), as gsec asks for them.
//!
//! As in Firebird the numbers of a user and a group of the system are tags of the user, UID and GID.
//! Source: wire-protocol.md, 11.5 (isc_spb_sec_).

use std::collections::BTreeMap;

use farbird_engine::users::{UserChange, UserDirectory, UserRecord, UserSettings};
use farbird_types::{Error, Result, isc};
use farbird_wire::auth::normalize_user_name;
use farbird_wire::clumplet::spb::user as tag;
use farbird_wire::clumplet::{StartItem, StartValue};

use super::text;
use crate::handshake::Identity;
use crate::shared::Shared;

/// The tags that hold numbers of the system.
const USER_NUMBER: &str = "UID";
const GROUP_NUMBER: &str = "GID";

/// Makes a change, if it is the user's to make.
pub(super) fn change(shared: &Shared, identity: &Identity, change: UserChange) -> Result<()> {
    let is_own = matches!(&change, UserChange::Alter(settings)
        if settings.name == identity.user && settings.admin.is_none() && settings.active.is_none());
    if !is_own && !identity.admin {
        return Err(Error::new(isc::ADM_TASK_DENIED));
    }
    shared.security.apply(&[change]).map_err(as_service)
}

/// What statements say of users, services say in older words, as in Firebird: programs look for these codes.
fn as_service(error: Error) -> Error {
    match error.gds_code() {
        isc::GSEC_ERR_REC_NOT_FOUND => Error::new(isc::USRNAME_NOT_FOUND),
        isc::GSEC_ERR_ADD => error.with_code(isc::ERROR_ADDING_SEC_RECORD, isc::GSEC_ERR_ADD),
        _ => error,
    }
}

/// The users that somebody sees, or the one who is named.
pub(super) fn seen(shared: &Shared, identity: &Identity, items: &[StartItem]) -> Result<Vec<UserRecord>> {
    let wanted = text(items, tag::USERNAME).map(|name| normalize_user_name(&name)).transpose()?;
    let mut users = shared.security.list()?;
    users.retain(|user| {
        wanted.as_ref().is_none_or(|name| *name == user.name)
            && (identity.admin || user.name == identity.user)
    });
    Ok(users)
}

/// The settings that a user action carries.
pub(super) fn settings(items: &[StartItem]) -> Result<UserSettings> {
    let name = text(items, tag::USERNAME).ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
    let number = |wanted| {
        items.iter().find_map(|item| match item.value {
            StartValue::Integer(number) if item.tag == wanted => Some(number),
            _ => None,
        })
    };
    let mut tags = BTreeMap::new();
    for (item, name) in [(tag::USERID, USER_NUMBER), (tag::GROUPID, GROUP_NUMBER)] {
        if let Some(number) = number(item) {
            tags.insert(name.to_owned(), Some(number.to_string()).filter(|_| number != 0));
        }
    }
    Ok(UserSettings {
        name: normalize_user_name(&name)?,
        password: text(items, tag::PASSWORD),
        first_name: text(items, tag::FIRSTNAME),
        middle_name: text(items, tag::MIDDLENAME),
        last_name: text(items, tag::LASTNAME),
        admin: number(tag::ADMIN).map(|number| number != 0),
        tags,
        ..UserSettings::default()
    })
}

/// The items of a user, as isc_info_svc_get_users tells them.
pub(super) fn write(user: &UserRecord, with_admin: bool, out: &mut Vec<u8>) {
    let mut text = |item: u8, text: &str| {
        out.push(item);
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&length.to_le_bytes());
        out.extend_from_slice(text.as_bytes().get(..usize::from(length)).unwrap_or_default());
    };
    text(tag::USERNAME, &user.name);
    text(tag::FIRSTNAME, user.first_name.as_deref().unwrap_or_default());
    text(tag::MIDDLENAME, user.middle_name.as_deref().unwrap_or_default());
    text(tag::LASTNAME, user.last_name.as_deref().unwrap_or_default());
    let number = |name| user.tags.get(name).and_then(|number| number.parse().ok()).unwrap_or(0);
    let admin = with_admin.then_some((tag::ADMIN, i32::from(user.admin)));
    let numbers = [(tag::USERID, number(USER_NUMBER)), (tag::GROUPID, number(GROUP_NUMBER))];
    for (item, number) in numbers.into_iter().chain(admin) {
        out.push(item);
        out.extend_from_slice(&i32::to_le_bytes(number));
    }
}
