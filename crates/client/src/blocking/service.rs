//! The services manager of a server: see [`crate::Services`], whose calls these are.

use farbird_types::Result;

use super::connection::{open, runner};
use super::driver::{Runner, Transport};
use crate::core::Shared;
use crate::options::ConnectOptions;
use crate::service_backup::Heard;
use crate::service_backup_options::{BackupOptions, RestoreOptions};

/// A connection with a server's services manager. One service runs at a time.
#[derive(Debug)]
pub struct Services {
    pub(super) inner: crate::Services,
    pub(super) runner: Runner,
}

impl Services {
    /// Connects and logs in.
    ///
    /// # Round trips
    /// Four, or two if the line is not encrypted; one more for each authentication plugin that the server does not know.
    ///
    /// # Errors
    /// `isc_network_error` if nobody answers, `isc_login` for a wrong password.
    pub fn attach(host: &str, port: u16, options: &ConnectOptions) -> Result<Services> {
        Services::attach_over(open(host, port, options)?, host, options)
    }

    /// Logs in over an open transport; `peer` is the server's name in messages.
    ///
    /// # Round trips
    /// As [`Services::attach`].
    ///
    /// # Errors
    /// As [`Services::attach`].
    pub fn attach_over(
        transport: impl Transport + 'static,
        peer: &str,
        options: &ConnectOptions,
    ) -> Result<Services> {
        let shared = Shared::new(options.tuning.clone());
        let runner = runner(&shared, transport, peer, options)?;
        let inner = runner.run(crate::Services::attach_over(&shared, options))?;
        Ok(Services { inner, runner })
    }

    /// As [`crate::Services::back_up`].
    ///
    /// # Round trips
    /// One to start, then about one per megabyte.
    ///
    /// # Errors
    /// What the server says of the database or the user's privileges; those of `take`, after which the connection is of
    /// no more use.
    pub fn back_up<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.runner.run(self.inner.back_up(database, take))
    }

    /// As [`crate::Services::back_up_with`].
    ///
    /// # Round trips
    /// As [`Services::back_up`].
    ///
    /// # Errors
    /// As [`Services::back_up`].
    pub fn back_up_with<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        options: &BackupOptions,
        take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.runner.run(self.inner.back_up_with(database, options, take))
    }

    /// As [`crate::Services::back_up_level`].
    ///
    /// # Round trips
    /// As [`Services::back_up`].
    ///
    /// # Errors
    /// As [`Services::back_up`]; a level below which there is no backup.
    pub fn back_up_level<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        level: u8,
        take: impl FnMut(&[u8]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.runner.run(self.inner.back_up_level(database, level, take))
    }

    /// As [`crate::Services::restore_with`].
    ///
    /// # Round trips
    /// As [`Services::restore`].
    ///
    /// # Errors
    /// As [`Services::restore`].
    pub fn restore_with<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        options: &RestoreOptions,
        read: impl FnMut(&mut [u8]) -> std::result::Result<usize, E>,
        hear: impl FnMut(Heard<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        self.runner.run(self.inner.restore_with(database, options, read, hear))
    }

    /// As [`crate::Services::restore`].
    ///
    /// # Round trips
    /// One to start, then one for each 60,000 bytes and each line.
    ///
    /// # Errors
    /// What the server says of the backup or the database; those of `read` and `hear`, after which the connection is of
    /// no more use.
    pub fn restore<E: From<farbird_types::Error>>(
        &self,
        database: &str,
        replace: bool,
        read: impl FnMut(&mut [u8]) -> std::result::Result<usize, E>,
        hear: impl FnMut(Heard<'_>) -> std::result::Result<(), E>,
    ) -> std::result::Result<u64, E> {
        self.runner.run(self.inner.restore(database, replace, read, hear))
    }

    /// As [`crate::Services::open_databases`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`crate::Services::open_databases`].
    pub fn open_databases(&self) -> Result<crate::OpenDatabases> {
        self.runner.run(self.inner.open_databases())
    }

    /// Takes leave.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn close(self) -> Result<()> {
        self.runner.run(self.inner.close())
    }
}
