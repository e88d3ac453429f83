//! Passwords with which the origin logs in itself, before a server that wants the line encrypted: one TOML file.
//!
//! ```toml
//! [users]
//! SYSDBA = "masterkey"
//! ```

use std::collections::{BTreeMap, HashMap};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use farbird_farlink::origin::Credentials;
use serde::Deserialize;

use crate::error::SettingsError;

/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    users: BTreeMap<String, String>,
}

/// Users' passwords, by their names as the server writes them.
pub type CredentialsByUser = HashMap<String, Credentials>;

/// Reads the file.
///
/// # Errors
/// It cannot be read or understood, or others than its owner may read or write it.
pub(crate) fn load(path: &Path) -> Result<CredentialsByUser, SettingsError> {
    let read = |error| SettingsError::Read { path: path.to_owned(), error };
    let refused = |message| SettingsError::Parse { path: path.to_owned(), message };
    let metadata = std::fs::metadata(path).map_err(read)?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(refused("others than its owner may use it: chmod 600".to_owned()));
    }
    if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
        return Err(refused("it is no file, or too long".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(read)?;
    // What is wrong is told without the line, which may hold a password.
    let file: File = toml::from_str(&text).map_err(|error| refused(error.message().to_owned()))?;
    let mut known = HashMap::new();
    for (user, password) in &file.users {
        let credentials = Credentials::new(user, password)
            .ok_or_else(|| refused(format!("`{user}` cannot be the name of a user")))?;
        known.insert(credentials.user().to_owned(), credentials);
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_owner_may_read_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credentials");
        let set = |text: &str, mode| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set("[users]\nalice = \"secret\"\n\"\\\"Bob\\\"\" = \"x\"\n", 0o600);
        let known = load(&path).unwrap();
        assert!(known.contains_key("ALICE") && known.contains_key("Bob"), "{known:?}");
        assert!(!format!("{known:?}").contains("secret"));
        for mode in [0o640, 0o604, 0o620] {
            set("[users]\nalice = \"secret\"\n", mode);
            let told = load(&path).unwrap_err().to_string();
            assert!(told.contains("chmod 600"), "{told}");
        }
        for text in ["[users]\nalice = secret\n", "[user]\nalice = \"secret\"\n", "alice = \"secret\""] {
            set(text, 0o600);
            let told = load(&path).unwrap_err().to_string();
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
