//! What an attach asks of the server besides the login: the database parameter block.
//!
//! Source: wire-protocol 11.2 (isc_dpb_). Servers pass over what they do not know.

use farbird_wire::clumplet::{ClumpletWriter, dpb};

/// How the server binds a data type for clients that do not know it: `SET BIND` (Firebird 4 and later).
///
/// One rule: `DECFLOAT TO DOUBLE PRECISION`, `TIME ZONE TO LEGACY`.
pub type BindRule = String;

/// Settings of one attachment. The default asks for nothing special.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AttachOptions {
    /// A role that is trusted: given by the administrator's mapping rather than granted.
    pub trusted_role: Option<String>,
    /// Pages of cache, for servers that keep one for each attachment.
    pub page_buffers: Option<u32>,
    /// Database triggers do not run; for the database's owner and administrators.
    pub no_database_triggers: bool,
    /// Versions of rows that nobody needs any more are left to others.
    pub no_garbage_collection: bool,
    /// The database does not stay open (linger) after this attachment.
    pub no_linger: bool,
    /// Threads that the server may use for a task that it can divide (Firebird 5).
    pub parallel_workers: Option<u16>,
    /// Time zone of the session: `Europe/Vienna`, `+02:00` (Firebird 4 and later).
    pub session_time_zone: Option<String>,
    /// Rules by which the server hands out types (Firebird 4 and later).
    pub bind: Vec<BindRule>,
    /// How DECFLOAT is rounded: `HALF_UP`, `DOWN` ... (Firebird 4 and later).
    pub decfloat_round: Option<String>,
    /// What DECFLOAT fails for: `Division_by_zero, Invalid_operation` ... (Firebird 4 and later).
    pub decfloat_traps: Option<String>,
    /// SQL dialect of texts, 1 to 3, and of a database that is created (dialect 2 makes one of dialect 3); 3 if `None`.
    /// [`Connection::set_dialect`](crate::Connection::set_dialect) goes on with another.
    pub dialect: Option<u8>,
    /// Settings of the server that are this attachment's own, as lines of its configuration file.
    pub configuration: Option<String>,
    /// Any other items: a tag of `isc_dpb_` and its value. They come last.
    pub raw: Vec<(u8, Vec<u8>)>,
}

impl AttachOptions {
    /// The SQL dialect that it begins with.
    pub(crate) fn dialect(&self) -> u8 {
        self.dialect.unwrap_or(3)
    }

    /// Adds the items to a parameter block.
    pub(crate) fn write(&self, items: &mut ClumpletWriter) {
        items.bytes(dpb::SQL_DIALECT, &[self.dialect()]);
        let texts = [
            (dpb::TRUSTED_ROLE, &self.trusted_role),
            (dpb::SESSION_TIME_ZONE, &self.session_time_zone),
            (dpb::DECFLOAT_ROUND, &self.decfloat_round),
            (dpb::DECFLOAT_TRAPS, &self.decfloat_traps),
            (dpb::CONFIG, &self.configuration),
        ];
        for (tag, text) in texts {
            if let Some(text) = text {
                items.text(tag, text);
            }
        }
        if !self.bind.is_empty() {
            items.text(dpb::SET_BIND, &self.bind.join(";"));
        }
        if let Some(pages) = self.page_buffers {
            items.bytes(dpb::NUM_BUFFERS, &pages.to_le_bytes());
        }
        if let Some(workers) = self.parallel_workers {
            items.integer(dpb::PARALLEL_WORKERS, i32::from(workers));
        }
        let flags = [
            (self.no_database_triggers, dpb::NO_DB_TRIGGERS),
            (self.no_garbage_collection, dpb::NO_GARBAGE_COLLECT),
            (self.no_linger, dpb::NOLINGER),
        ];
        for (_, tag) in flags.iter().filter(|(is_set, _)| *is_set) {
            items.bytes(*tag, &[1]);
        }
        for (tag, value) in &self.raw {
            items.bytes(*tag, value);
        }
    }
}
