//! Files of databases: made, opened, and told from others.

use std::path::Path;
use std::sync::Arc;

use farbird_store::{FileKind, Store, StoreError, StoreOptions};
use farbird_types::{Error, Result, isc};

use super::failure::{io_error, store_error};
use crate::api::CreateDatabaseOptions;
use crate::budget::Account;
use crate::catalog::Catalog;
use crate::database::{Database, shown};
use crate::users::UserDirectory;

/// Makes a database file of `owner`'s.
pub(crate) fn create_file(
    path: &Path,
    create: &CreateDatabaseOptions,
    options: &StoreOptions,
    owner: &str,
    users: Arc<dyn UserDirectory>,
    budget: &Arc<Account>,
) -> Result<Arc<Database>> {
    match identify(path)? {
        None => {}
        Some(FileKind::Farbird) if create.overwrite => {
            std::fs::remove_file(path).map_err(|error| io_error("delete", path, &error))?;
        }
        Some(_) => return Err(exists(path)),
    }
    let store = Store::create(path, options.clone()).map_err(|error| match error {
        StoreError::Io(error) => io_error("open O_CREAT", path, &error),
        other => store_error(path, other),
    })?;
    let catalog = Catalog::create(&store, create, owner).inspect_err(|_| {
        // Nothing was acknowledged: a half-made file would only be in the way of the next attempt.
        if let Err(error) = store.close().map_err(|e| e.to_string()).and_then(|()| {
            std::fs::remove_file(path).map_err(|e| e.to_string())
        }) {
            tracing::warn!(path = %path.display(), error, "a database that could not be created was left behind");
        }
    });
    let catalog = catalog.map_err(|error| error.about_file(&shown(path)))?;
    Ok(Arc::new(Database::new(path, Arc::new(store), catalog, users, budget)))
}

pub(crate) fn open_file(
    path: &Path,
    options: &StoreOptions,
    users: Arc<dyn UserDirectory>,
    budget: &Arc<Account>,
) -> Result<Database> {
    match identify(path)? {
        Some(FileKind::Farbird) => {}
        None => {
            return Err(Error::new(isc::IO_ERROR)
                .with("open")
                .with(shown(path))
                .and(isc::IO_OPEN_ERR)
                .and(isc::RANDOM)
                .with("No such file or directory"));
        }
        Some(other) => {
            return Err(Error::new(isc::BAD_DB_FORMAT)
                .with(shown(path))
                .and(isc::RANDOM)
                .with(format!("the file is {other}; Farbird opens only databases that it created")));
        }
    }
    let store = Store::open(path, options.clone()).map_err(|error| store_error(path, error))?;
    let catalog = Catalog::load(&store).map_err(|error| error.about_file(&shown(path)))?;
    Ok(Database::new(path, Arc::new(store), catalog, users, budget))
}

/// What the file is; `None` if there is none.
fn identify(path: &Path) -> Result<Option<FileKind>> {
    match farbird_store::identify(path) {
        Ok(kind) => Ok(Some(kind)),
        Err(StoreError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(store_error(path, error)),
    }
}

pub(crate) fn exists(path: &Path) -> Error {
    Error::new(isc::IO_ERROR)
        .with("open O_CREAT")
        .with(shown(path))
        .and(isc::IO_CREATE_ERR)
        .and(isc::DB_OR_FILE_EXISTS)
}
