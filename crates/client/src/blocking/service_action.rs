//! Any action of the services manager: the calls of [`crate::Services`].

use std::time::Duration;

use farbird_types::Result;

use super::service::Services;
use crate::service_action::{Polled, ServiceAction, Statistics, User};

impl Services {
    /// As [`crate::Services::start_action`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of the action, its arguments or the user's privileges.
    pub fn start_action(&self, action: &ServiceAction) -> Result<()> {
        self.runner.run(self.inner.start_action(action))
    }

    /// As [`crate::Services::poll`].
    ///
    /// # Round trips
    /// One for each time that the server has nothing to say yet, and one for what it says.
    ///
    /// # Errors
    /// Why the action failed.
    pub fn poll(&self) -> Result<Option<Vec<u8>>> {
        self.runner.run(self.inner.poll())
    }

    /// As [`crate::Services::poll_for`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Services::poll`].
    pub fn poll_for(&self, timeout: Duration) -> Result<Polled> {
        self.runner.run(self.inner.poll_for(timeout))
    }

    /// As [`crate::Services::run`].
    ///
    /// # Round trips
    /// One to start, then as [`Services::poll`].
    ///
    /// # Errors
    /// As [`Services::start_action`] and [`Services::poll`].
    pub fn run(&self, action: &ServiceAction) -> Result<Vec<String>> {
        self.runner.run(self.inner.run(action))
    }

    /// As [`crate::Services::information`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn information(&self, items: &[u8]) -> Result<Vec<u8>> {
        self.runner.run(self.inner.information(items))
    }

    /// As [`crate::Services::server_version`].
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub fn server_version(&self) -> Result<String> {
        self.runner.run(self.inner.server_version())
    }

    /// As [`crate::Services::statistics`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub fn statistics(&self, database: &str, what: Statistics) -> Result<Vec<String>> {
        self.runner.run(self.inner.statistics(database, what))
    }

    /// As [`crate::Services::users`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub fn users(&self, name: Option<&str>) -> Result<Vec<User>> {
        self.runner.run(self.inner.users(name))
    }

    /// As [`crate::Services::add_user`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub fn add_user(&self, user: &User, password: &str) -> Result<()> {
        self.runner.run(self.inner.add_user(user, password))
    }

    /// As [`crate::Services::modify_user`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub fn modify_user(&self, user: &User, password: Option<&str>) -> Result<()> {
        self.runner.run(self.inner.modify_user(user, password))
    }

    /// As [`crate::Services::delete_user`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub fn delete_user(&self, name: &str) -> Result<()> {
        self.runner.run(self.inner.delete_user(name))
    }
}
