//! From the database name that a client sends to a file, and no further than the administrator allows.
//!
//! Promises: with `restrict`, nothing outside the data folder is reached except through an alias, whatever the name
//! holds (`..`, absolute paths, symbolic links). Uses `config`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use farbird_types::{Error, Result, isc};

use crate::config::{Config, DatabaseAccess};

/// Name of the security database inside the data folder.
pub(crate) const SECURITY_DATABASE: &str = "security.fbd";

/// Longest database name that is looked at, in bytes.
const NAME_BYTES_MAX: usize = 4096;

/// Turns database names into files.
#[derive(Debug)]
pub(crate) struct Locations {
    data: PathBuf,
    access: DatabaseAccess,
    aliases: BTreeMap<String, PathBuf>,
}

impl Locations {
    /// `config.data` must exist.
    pub(crate) fn new(config: &Config) -> io::Result<Locations> {
        Ok(Locations {
            data: config.data.canonicalize()?,
            access: config.database_access,
            aliases: config.aliases.clone(),
        })
    }

    /// The data folder, canonical.
    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// The file of a database name; its folder exists, itself it need not.
    ///
    /// An alias wins; then a name without a folder lands in the data folder; then a path is taken as it is, if access
    /// allows. Symbolic links are followed before the check, so they lead nowhere that a path would not.
    ///
    /// # Errors
    /// `isc_conf_access_denied` as Firebird's DatabaseAccess gives, `isc_io_error` if the folder does not exist.
    pub(crate) fn resolve(&self, name: &str) -> Result<PathBuf> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX || name.contains('\0') {
            return Err(Error::new(isc::BAD_DB_FORMAT).with(name.replace('\0', "?")));
        }
        if let Some(path) = self.aliases.get(&name.to_lowercase()) {
            let path = canonical_parent(&self.data.join(path)).map_err(|error| io_error(name, &error))?;
            return if self.is_security_database(&path) { Err(denied(name)) } else { Ok(path) };
        }
        let path = canonical_parent(&self.data.join(name)).map_err(|error| match self.access {
            DatabaseAccess::Restrict => denied(name),
            DatabaseAccess::Full => io_error(name, &error),
        })?;
        if self.access == DatabaseAccess::Restrict && !path.starts_with(&self.data) {
            return Err(denied(name));
        }
        if self.is_security_database(&path) {
            return Err(denied(name));
        }
        Ok(path)
    }

    /// A name by which clients may attach to a file: an alias, or its place in the data folder. `None` for the security database, and for
    /// what no name leads to.
    pub(crate) fn name_of(&self, path: &Path) -> Option<String> {
        if self.is_security_database(path) {
            return None;
        }
        let alias = self.aliases.iter().find(|(_, target)| self.data.join(target) == path);
        if let Some((alias, _)) = alias {
            return Some(alias.clone());
        }
        match path.strip_prefix(&self.data) {
            Ok(inside) => Some(inside.to_string_lossy().into_owned()),
            Err(_) => (self.access == DatabaseAccess::Full).then(|| path.display().to_string()),
        }
    }

    /// An error that names files in the data folder without the folder.
    pub(crate) fn without_folder(&self, error: Error) -> Error {
        let folder = format!("{}/", self.data.display());
        error.with_texts(|text| text.replace(&folder, ""))
    }

    /// Whether a canonical path leads to the security database, by another name of the file perhaps.
    fn is_security_database(&self, path: &Path) -> bool {
        let security = self.data.join(SECURITY_DATABASE);
        path == security || is_same_file(path, &security)
    }
}

/// Whether two existing paths are links to one file.
#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (one.metadata(), other.metadata()) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

/// Hard links are not looked for elsewhere; symbolic ones have been followed.
#[cfg(not(unix))]
fn is_same_file(_one: &Path, _other: &Path) -> bool {
    false
}

/// The path with its folder canonical and, if the file is a symbolic link, with the link followed.
fn canonical_parent(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Ok(existing) => return Ok(existing),
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Err(_) => {}
    }
    if path.is_symlink() {
        // A dangling link: creating through it would write where it points.
        return Err(io::ErrorKind::NotFound.into());
    }
    match (path.parent(), path.components().next_back()) {
        (Some(folder), Some(Component::Normal(file))) => Ok(folder.canonicalize()?.join(file)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn denied(name: &str) -> Error {
    Error::new(isc::CONF_ACCESS_DENIED).with("database").with(name)
}

fn io_error(name: &str, error: &io::Error) -> Error {
    Error::new(isc::IO_ERROR)
        .with("open")
        .with(name)
        .and(isc::IO_OPEN_ERR)
        .and(isc::RANDOM)
        .with(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locations(data: &Path, access: DatabaseAccess) -> Locations {
        let aliases = BTreeMap::from([("emp".to_owned(), data.join("employee.fbd"))]);
        Locations { data: data.canonicalize().unwrap(), access, aliases }
    }

    #[test]
    fn a_bare_name_lands_in_the_data_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = locations(folder.path(), DatabaseAccess::Restrict).resolve("app.fbd").unwrap();
        assert_eq!(path, folder.path().canonicalize().unwrap().join("app.fbd"));
    }

    #[test]
    fn an_alias_is_found_in_any_case() {
        let folder = tempfile::tempdir().unwrap();
        let path = locations(folder.path(), DatabaseAccess::Restrict).resolve("EMP").unwrap();
        assert!(path.ends_with("employee.fbd"));
    }

    #[test]
    fn nothing_escapes_the_data_folder() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let locations = locations(folder.path(), DatabaseAccess::Restrict);
        std::os::unix::fs::symlink(outside.path(), folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("new.fbd"), folder.path().join("dangling.fbd"))
            .unwrap();
        let absolute = outside.path().join("x.fbd");
        for name in
            ["../x.fbd", "link/x.fbd", "dangling.fbd", absolute.to_str().unwrap(), "security.fbd", "..", ""]
        {
            let error = locations.resolve(name).expect_err(name);
            assert!(error.has(isc::CONF_ACCESS_DENIED) || error.has(isc::BAD_DB_FORMAT), "{name}: {error}");
        }
    }

    #[test]
    fn no_name_leads_to_the_security_database() {
        let folder = tempfile::tempdir().unwrap();
        let security = folder.path().join(SECURITY_DATABASE);
        std::fs::write(&security, b"users").unwrap();
        std::os::unix::fs::symlink(&security, folder.path().join("soft.fbd")).unwrap();
        std::fs::hard_link(&security, folder.path().join("hard.fbd")).unwrap();
        let mut locations = locations(folder.path(), DatabaseAccess::Full);
        for (alias, path) in [("sec", "security.fbd"), ("dotted", "./security.fbd"), ("linked", "hard.fbd")] {
            locations.aliases.insert(alias.to_owned(), PathBuf::from(path));
        }
        for name in
            ["security.fbd", "./security.fbd", "soft.fbd", "hard.fbd", "sec", "SEC", "dotted", "linked"]
        {
            let error = locations.resolve(name).expect_err(name);
            assert!(error.has(isc::CONF_ACCESS_DENIED), "{name}: {error}");
        }
    }

    #[test]
    fn full_access_takes_any_path_but_the_security_database() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let locations = locations(folder.path(), DatabaseAccess::Full);
        assert!(locations.resolve(outside.path().join("x.fbd").to_str().unwrap()).is_ok());
        assert!(locations.resolve("security.fbd").is_err());
    }
}
