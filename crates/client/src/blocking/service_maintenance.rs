//! Settings, maintenance and trace sessions: the calls of [`crate::Services`].

use farbird_types::Result;

use super::service::Services;
use crate::service_maintenance::{LimboTransaction, Repair, Validation};
use crate::service_properties::{OnlineMode, Property, Shutdown};
use crate::service_trace::TraceSession;

impl Services {
    /// As [`crate::Services::set_property`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::set_property`].
    pub fn set_property(&self, database: &str, property: Property) -> Result<()> {
        self.runner.run(self.inner.set_property(database, property))
    }

    /// As [`crate::Services::shut_down`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::shut_down`].
    pub fn shut_down(&self, database: &str, mode: OnlineMode, how: Shutdown) -> Result<()> {
        self.runner.run(self.inner.shut_down(database, mode, how))
    }

    /// As [`crate::Services::bring_online`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::bring_online`].
    pub fn bring_online(&self, database: &str, mode: OnlineMode) -> Result<()> {
        self.runner.run(self.inner.bring_online(database, mode))
    }

    /// As [`crate::Services::sweep`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::sweep`].
    pub fn sweep(&self, database: &str) -> Result<()> {
        self.runner.run(self.inner.sweep(database))
    }

    /// As [`crate::Services::repair`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::repair`].
    pub fn repair(&self, database: &str, how: Repair) -> Result<Vec<String>> {
        self.runner.run(self.inner.repair(database, how))
    }

    /// As [`crate::Services::validate`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::validate`].
    pub fn validate(&self, database: &str, what: &Validation) -> Result<Vec<String>> {
        self.runner.run(self.inner.validate(database, what))
    }

    /// As [`crate::Services::limbo_transactions`].
    ///
    /// # Round trips
    /// Two, and one for each time that the server has nothing to say yet.
    ///
    /// # Errors
    /// As [`crate::Services::limbo_transactions`].
    pub fn limbo_transactions(&self, database: &str) -> Result<Vec<LimboTransaction>> {
        self.runner.run(self.inner.limbo_transactions(database))
    }

    /// As [`crate::Services::end_limbo`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::end_limbo`].
    pub fn end_limbo(&self, database: &str, id: u64, commits: bool) -> Result<()> {
        self.runner.run(self.inner.end_limbo(database, id, commits))
    }

    /// As [`crate::Services::copy_file`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::copy_file`].
    pub fn copy_file(&self, database: &str, level: u32, file: &str) -> Result<()> {
        self.runner.run(self.inner.copy_file(database, level, file))
    }

    /// As [`crate::Services::restore_copies`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::restore_copies`].
    pub fn restore_copies(&self, database: &str, files: &[&str]) -> Result<()> {
        self.runner.run(self.inner.restore_copies(database, files))
    }

    /// As [`crate::Services::fix_copy`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::fix_copy`].
    pub fn fix_copy(&self, database: &str) -> Result<()> {
        self.runner.run(self.inner.fix_copy(database))
    }

    /// As [`crate::Services::server_log`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::server_log`].
    pub fn server_log(&self) -> Result<Vec<String>> {
        self.runner.run(self.inner.server_log())
    }

    /// As [`crate::Services::start_trace`].
    ///
    /// # Round trips
    /// Two, and one for each time that the server has nothing to say yet.
    ///
    /// # Errors
    /// As [`crate::Services::start_trace`].
    pub fn start_trace(&self, name: &str, configuration: &str) -> Result<u32> {
        self.runner.run(self.inner.start_trace(name, configuration))
    }

    /// As [`crate::Services::stop_trace`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::stop_trace`].
    pub fn stop_trace(&self, id: u32) -> Result<()> {
        self.runner.run(self.inner.stop_trace(id))
    }

    /// As [`crate::Services::suspend_trace`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::suspend_trace`].
    pub fn suspend_trace(&self, id: u32) -> Result<()> {
        self.runner.run(self.inner.suspend_trace(id))
    }

    /// As [`crate::Services::resume_trace`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::resume_trace`].
    pub fn resume_trace(&self, id: u32) -> Result<()> {
        self.runner.run(self.inner.resume_trace(id))
    }

    /// As [`crate::Services::trace_sessions`].
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`crate::Services::trace_sessions`].
    pub fn trace_sessions(&self) -> Result<Vec<TraceSession>> {
        self.runner.run(self.inner.trace_sessions())
    }
}
