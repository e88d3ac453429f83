//! How somebody attaches, creates a database, starts a transaction.

use std::net::IpAddr;
use std::time::Duration;

use farbird_types::CharacterSet;

/// Who attaches, and how.
#[derive(Debug, Clone)]
pub struct AttachOptions {
    /// Authenticated user, normalised (`SYSDBA`).
    pub user: String,
    /// Role asked for, or `None`.
    pub role: Option<String>,
    /// Character set of the client's texts (`isc_dpb_lc_ctype`).
    pub character_set: CharacterSet,
    /// SQL dialect, 1 or 3.
    pub dialect: u8,
    /// `isc_dpb_session_time_zone`.
    pub time_zone: Option<String>,
    /// `isc_dpb_no_db_triggers`.
    pub no_database_triggers: bool,
    /// What MON$ATTACHMENTS shows of the peer.
    pub client: ClientDescription,
}

/// What is known of the program at the other end; shown in MON$ATTACHMENTS.
#[derive(Debug, Clone, Default)]
pub struct ClientDescription {
    /// `TCPv4`, `TCPv6` or empty when embedded.
    pub protocol: String,
    /// Address and port.
    pub address: String,
    /// Host name as the client tells it.
    pub host: String,
    /// Operating system user as the client tells it.
    pub os_user: String,
    /// Program's path.
    pub process_name: String,
    /// Program's process id.
    pub process_id: Option<i32>,
    /// Client library's version.
    pub client_version: String,
    /// `P19` and the like.
    pub remote_version: String,
    /// Authentication plugin used.
    pub authentication: String,
    /// Wire encryption plugin, or empty.
    pub wire_crypt: String,
    /// Whether the wire is compressed.
    pub wire_compressed: bool,
    /// The tool of administration that it is, if it says so (`isc_dpb_gbak_attach`, `isc_dpb_gfix_attach`): each takes a privilege.
    pub tool: Option<Tool>,
    /// Whether whoever keeps the session lets go of it when it is told to end. A server does; a program that embeds the engine may not.
    pub leaves_when_told: bool,
    /// How many threads one of its statements may use (`isc_dpb_parallel_workers`); `None`: as many as the server allows.
    pub parallel_workers: Option<usize>,
    /// Whose it is, as sessions learn that its EXECUTE STATEMENT makes.
    pub caller: ExternalCaller,
}

/// A tool of administration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Tool {
    Gbak,
    Gfix,
    Nbackup,
}

/// Whose a session is, as sessions learn that its EXECUTE STATEMENT makes: they are the same program's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ExternalCaller {
    /// How many EXECUTE STATEMENTs the session runs inside of; 0 for that of a program.
    pub depth: u32,
    /// The address by which logins of the program are counted; none if it is in this process.
    pub address: Option<IpAddr>,
    /// The user who the program has logged in as.
    pub user: String,
}

/// What CREATE DATABASE (or a driver's create call) asks for.
#[derive(Debug, Clone)]
pub struct CreateDatabaseOptions {
    /// `isc_dpb_set_db_charset` / DEFAULT CHARACTER SET.
    pub default_character_set: CharacterSet,
    /// Page size that is reported to those who ask; the store has no pages of that size.
    pub page_size: u32,
    /// Overwrite an existing Farbird database (`isc_dpb_overwrite`).
    pub overwrite: bool,
    /// SQL dialect of the database.
    pub dialect: u8,
}

/// Isolation level of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// SNAPSHOT (concurrency).
    Snapshot,
    /// SNAPSHOT TABLE STABILITY (consistency).
    TableStability,
    /// READ COMMITTED; always with read consistency, as Firebird 4 and later default to.
    ReadCommitted,
}

/// Lock wish of a RESERVING clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableReservation {
    /// Relation's name.
    pub relation: String,
    /// FOR WRITE rather than FOR READ.
    pub write: bool,
    /// PROTECTED rather than SHARED.
    pub protected: bool,
}

/// Transaction parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransactionParameters {
    /// Isolation level.
    pub isolation: Isolation,
    /// READ ONLY.
    pub read_only: bool,
    /// How long to wait for another's lock: `None` for ever, zero not at all.
    pub lock_timeout: Option<Duration>,
    /// SNAPSHOT AT NUMBER.
    pub at_snapshot: Option<u64>,
    /// Each statement commits by itself (`isc_tpb_autocommit`).
    pub auto_commit: bool,
    /// NO AUTO UNDO. It is shown; what is undone at a rollback is the store's affair.
    pub no_auto_undo: bool,
    /// IGNORE LIMBO: rows of transactions in limbo are passed over.
    pub ignore_limbo: bool,
    /// RESERVING.
    pub reservations: Vec<TableReservation>,
}

impl Default for TransactionParameters {
    fn default() -> Self {
        TransactionParameters {
            isolation: Isolation::Snapshot,
            read_only: false,
            lock_timeout: None,
            at_snapshot: None,
            auto_commit: false,
            no_auto_undo: false,
            ignore_limbo: false,
            reservations: Vec::new(),
        }
    }
}
