//! `farbird migrate --users`: the users of the other server as a script that makes them here.
//!
//! # Promises
//! - Passwords are known to nobody, the other server included: each user gets one that is made up, and stands in the script. Only the user of
//!   the system who runs this may read the file.
//! - An existing file is not replaced.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use anyhow::Context;
use farbird_engine::gbak::write::Database;
use farbird_types::Value;

use crate::server_database::ServerDatabase;

/// Random bytes of a password that is made up.
const PASSWORD_BYTES: usize = 12;
/// Every server has one.
const SYSDBA: &str = "SYSDBA";

const USERS: &str = "select SEC$USER_NAME, SEC$FIRST_NAME, SEC$MIDDLE_NAME, SEC$LAST_NAME, SEC$ACTIVE, SEC$ADMIN from SEC$USERS";
const ATTRIBUTES: &str = "select SEC$USER_NAME, SEC$KEY, SEC$VALUE from SEC$USER_ATTRIBUTES";

/// A user as SEC$USERS tells of one.
#[derive(Debug, Default, PartialEq, Eq)]
struct User {
    /// FIRSTNAME and its like, with their values.
    names: Vec<(&'static str, String)>,
    is_inactive: bool,
    is_admin: bool,
    tags: BTreeMap<String, String>,
}

/// Writes the script; gives how many users are in it. Whoever is asked for must administer the other server: others see themselves only.
///
/// # Errors
/// Of the other server; if there is a file of that name; of writing.
pub(crate) fn write(source: &ServerDatabase, script: &Path) -> anyhow::Result<usize> {
    let users = read(source)?;
    let mut text = String::from(
        "/* Run it as SYSDBA in any database of the new server, and hand the passwords out. */\n",
    );
    for (name, user) in &users {
        let mut random = [0; PASSWORD_BYTES];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
        let password: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&statement(name, user, &password));
    }
    text.push_str("COMMIT;\n");
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(script).with_context(|| format!("cannot make {}", script.display()))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .with_context(|| format!("cannot write {}", script.display()))?;
    Ok(users.len())
}

/// All users but SYSDBA. One who is there by several plugins is one.
fn read(source: &ServerDatabase) -> anyhow::Result<BTreeMap<String, User>> {
    let mut users: BTreeMap<String, User> = BTreeMap::new();
    source.query(USERS, &mut |row| {
        let [name, first, middle, last, active, admin] = row else { return Ok(()) };
        let Some(name) = text_of(name).filter(|name| name != SYSDBA) else { return Ok(()) };
        let names = [("FIRSTNAME", first), ("MIDDLENAME", middle), ("LASTNAME", last)];
        let names = names.into_iter().filter_map(|(word, value)| Some((word, text_of(value)?)));
        let user = users.entry(name).or_default();
        *user = User {
            names: names.collect(),
            is_inactive: *active == Value::Boolean(false),
            is_admin: *admin == Value::Boolean(true) || user.is_admin,
            tags: BTreeMap::new(),
        };
        Ok(())
    })?;
    source.query(ATTRIBUTES, &mut |row| {
        let [name, key, value] = row else { return Ok(()) };
        if let (Some(name), Some(key), Some(value)) = (text_of(name), text_of(key), text_of(value))
            && let Some(user) = users.get_mut(&name)
        {
            user.tags.insert(key, value);
        }
        Ok(())
    })?;
    Ok(users)
}

/// A text that is not empty.
fn text_of(value: &Value) -> Option<String> {
    let Value::Text(text) = value else { return None };
    Some(text.decode_lossy().trim_end().to_owned()).filter(|text| !text.is_empty())
}

fn statement(name: &str, user: &User, password: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let named = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut sql = format!("CREATE USER {} PASSWORD {}", named(name), quoted(password));
    for (word, value) in &user.names {
        sql.push_str(&format!(" {word} {}", quoted(value)));
    }
    sql.push_str(if user.is_inactive { " INACTIVE" } else { "" });
    sql.push_str(if user.is_admin { " GRANT ADMIN ROLE" } else { "" });
    let tags: Vec<String> =
        user.tags.iter().map(|(key, value)| format!("{} = {}", named(key), quoted(value))).collect();
    if !tags.is_empty() {
        sql.push_str(&format!(" TAGS ({})", tags.join(", ")));
    }
    sql + ";\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_is_called_and_has_stands_in_the_statement() {
        let user = User {
            names: vec![("FIRSTNAME", "D'Arcy".to_owned())],
            is_inactive: true,
            is_admin: true,
            tags: BTreeMap::from([("CITY".to_owned(), "Oslo".to_owned())]),
        };
        assert_eq!(
            statement("A\"B", &user, "secret"),
            "CREATE USER \"A\"\"B\" PASSWORD 'secret' FIRSTNAME 'D''Arcy' INACTIVE GRANT ADMIN ROLE TAGS (\"CITY\" = 'Oslo');\n"
        );
        assert_eq!(statement("ANN", &User::default(), "x"), "CREATE USER \"ANN\" PASSWORD 'x';\n");
    }
}
