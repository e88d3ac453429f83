//! What a database is like and whether it may be used: the settings that gfix changes.
//!
//! Source: wire-protocol.md, 11.5 (isc_spb_prp_).

use std::time::Duration;

use farbird_types::Result;
use farbird_wire::clumplet::spb;
use farbird_wire::clumplet::spb::properties as tag;

use crate::service::Services;
use crate::service_action::ServiceAction;

/// A setting of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// Pages of cache that it wants; 0 for the server's default.
    PageBuffers(u32),
    /// Transactions between the oldest one and the next from which on the server sweeps by itself; 0 for never.
    SweepInterval(u32),
    /// Whether room is left on data pages for versions of their rows.
    ReserveSpace(bool),
    /// Whether each commit waits for the disk.
    ForcedWrites(bool),
    /// Whether nothing may be changed.
    ReadOnly(bool),
    /// SQL dialect, 1 or 3.
    Dialect(u32),
    /// The database is closed with its last attachment this time, whatever its linger says.
    NoLinger,
    /// What it is in replication (Firebird 4 and later).
    Replica(ReplicaMode),
}

/// What a database is in replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplicaMode {
    /// None.
    None,
    /// One that only the replication changes.
    ReadOnly,
    /// One that others may change, too.
    ReadWrite,
}

/// Who may use a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnlineMode {
    /// Everybody.
    Normal,
    /// Its owner and administrators.
    Multi,
    /// One of them.
    Single,
    /// Nobody.
    Full,
}

impl OnlineMode {
    fn number(self) -> u8 {
        match self {
            OnlineMode::Normal => tag::SM_NORMAL,
            OnlineMode::Multi => tag::SM_MULTI,
            OnlineMode::Single => tag::SM_SINGLE,
            OnlineMode::Full => tag::SM_FULL,
        }
    }
}

/// What becomes of those who use a database that is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// They may end their work in so much time, then they are cut off. Whole seconds.
    Force(Duration),
    /// No new attachments; it fails if some are left after that time.
    DenyAttachments(Duration),
    /// No new transactions; it fails if some are left after that time.
    DenyTransactions(Duration),
}

impl Services {
    /// Changes a setting of a database. One at a time: of several in one action Firebird takes some and passes over others.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn set_property(&self, database: &str, property: Property) -> Result<()> {
        let action = ServiceAction::new(spb::action::PROPERTIES).text(spb::DBNAME, database)?;
        let action = match property {
            Property::PageBuffers(pages) => action.integer(tag::PAGE_BUFFERS, pages),
            Property::SweepInterval(count) => action.integer(tag::SWEEP_INTERVAL, count),
            Property::ReserveSpace(true) => action.byte(tag::RESERVE_SPACE, tag::RES),
            Property::ReserveSpace(false) => action.byte(tag::RESERVE_SPACE, tag::RES_USE_FULL),
            Property::ForcedWrites(true) => action.byte(tag::WRITE_MODE, tag::WM_SYNC),
            Property::ForcedWrites(false) => action.byte(tag::WRITE_MODE, tag::WM_ASYNC),
            Property::ReadOnly(true) => action.byte(tag::ACCESS_MODE, tag::AM_READONLY),
            Property::ReadOnly(false) => action.byte(tag::ACCESS_MODE, tag::AM_READWRITE),
            Property::Dialect(dialect) => action.integer(tag::SET_SQL_DIALECT, dialect),
            Property::NoLinger => action.integer(spb::OPTIONS, tag::NOLINGER),
            Property::Replica(ReplicaMode::None) => action.byte(tag::REPLICA_MODE, tag::RM_NONE),
            Property::Replica(ReplicaMode::ReadOnly) => action.byte(tag::REPLICA_MODE, tag::RM_READONLY),
            Property::Replica(ReplicaMode::ReadWrite) => action.byte(tag::REPLICA_MODE, tag::RM_READWRITE),
        };
        self.run(&action).await.map(|_| ())
    }

    /// Lets only some use a database, or nobody.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`]; that some still use it, unless they are cut off.
    pub async fn shut_down(&self, database: &str, mode: OnlineMode, how: Shutdown) -> Result<()> {
        let (how, time) = match how {
            Shutdown::Force(time) => (tag::FORCE_SHUTDOWN, time),
            Shutdown::DenyAttachments(time) => (tag::ATTACHMENTS_SHUTDOWN, time),
            Shutdown::DenyTransactions(time) => (tag::TRANSACTIONS_SHUTDOWN, time),
        };
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        let action = ServiceAction::new(spb::action::PROPERTIES)
            .text(spb::DBNAME, database)?
            .byte(tag::SHUTDOWN_MODE, mode.number())
            .integer(how, seconds);
        self.run(&action).await.map(|_| ())
    }

    /// Lets more use a database that was shut down: everybody, or as `mode` says.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn bring_online(&self, database: &str, mode: OnlineMode) -> Result<()> {
        let action = ServiceAction::new(spb::action::PROPERTIES)
            .text(spb::DBNAME, database)?
            .byte(tag::ONLINE_MODE, mode.number());
        self.run(&action).await.map(|_| ())
    }
}
