//! What administrators ask to be done with a database as a whole: shutting it down and bringing it online, its settings, a check, a
//! sweep. gfix asks for it by attaching, the services manager by its own actions: both come to
//! [`Engine::attach_to_maintain`](crate::engine::Engine::attach_to_maintain).
//!
//! Firebird 5.0.4 was asked how each of them goes, and fails.

use std::time::Duration;

pub use crate::catalog::ShutdownMode;

/// What is to be done with a database, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Maintenance {
    /// To shut it down further.
    pub shutdown: Option<Shutdown>,
    /// To let more users in again.
    pub online: Option<ShutdownMode>,
    /// To check all of it while nobody else is attached: [`Attachment::verification`](crate::attachment::Attachment::verification) tells what was found.
    pub verify: bool,
    /// Its SQL dialect.
    pub dialect: Option<u8>,
    /// After how many transactions it is to be swept at the latest; 0: only when somebody asks for it.
    pub sweep_interval: Option<u32>,
    /// Whether it takes no changes.
    pub read_only: Option<bool>,
    /// To close it with its last attachment this time, whatever its linger says.
    pub no_linger: bool,
    /// To sweep it now.
    pub sweep: bool,
}

/// How a database is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shutdown {
    /// How far.
    pub mode: ShutdownMode,
    /// What it waits for.
    pub wait: ShutdownWait,
    /// For how long.
    pub timeout: Duration,
}

/// What a shutdown waits for, and what it does when its time is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShutdownWait {
    /// Until the others have left; then it ends their sessions.
    Force,
    /// Until the others have left, while nobody may attach; then it fails.
    Attachments,
    /// Until the others have no transaction, while nobody may begin one; then it fails. Once they have none it ends their sessions.
    Transactions,
}
