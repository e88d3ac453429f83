//! Where the examples connect to: the database `FARBIRD_DATABASE` (`localhost:examples.fdb`), which is created if it is not
//! there, as `FARBIRD_USER` (`SYSDBA`) with the password `FARBIRD_PASSWORD`.
#![allow(dead_code)]

use farbird_client::{ConnectOptions, CreateOptions, Error, Result, blocking, isc};

/// The database and the login, from the environment.
pub(crate) fn place() -> (String, ConnectOptions) {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let options =
        ConnectOptions::new(variable("FARBIRD_USER", "SYSDBA"), variable("FARBIRD_PASSWORD", "masterkey"));
    (variable("FARBIRD_DATABASE", "localhost:examples.fdb"), options)
}

/// Whether there is no such database.
fn is_missing(error: &Error) -> bool {
    error.has(isc::IO_ERROR)
}

/// A connection on the calling thread.
pub(crate) fn attach() -> Result<blocking::Connection> {
    let (database, options) = place();
    match blocking::Connection::attach(&database, &options) {
        Err(error) if is_missing(&error) => {
            blocking::Connection::create(&database, &CreateOptions::default(), &options)
        }
        attached => attached,
    }
}

/// A connection on tokio.
#[cfg(feature = "tokio")]
pub(crate) async fn attach_async() -> Result<farbird_client::Connection> {
    let (database, options) = place();
    match farbird_client::Connection::attach(&database, &options).await {
        Err(error) if is_missing(&error) => {
            farbird_client::Connection::create(&database, &CreateOptions::default(), &options).await
        }
        attached => attached,
    }
}

/// Runs statements without parameters, in one transaction.
pub(crate) fn run(connection: &blocking::Connection, statements: &[&str]) -> Result<()> {
    let transaction = connection.begin(&Default::default())?;
    for statement in statements {
        connection.run(&transaction, statement)?;
    }
    connection.commit(transaction)
}
