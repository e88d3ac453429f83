//! What the client does to save round trips, each a switch.

use farbird_types::{Error, Result, isc};

/// What takes round trips away, each a switch. [`Tuning::default`] has everything on that keeps the contract of the calls.
///
/// [`Tuning::preset`] gives what generations of Firebird's client library did, so that the history of the protocol can be
/// measured; the methods change one switch each:
///
/// ```
/// use farbird_client::Tuning;
///
/// let tuning = Tuning::preset("2.5")?.lazy_queries(true).statement_cache(16);
/// assert!(tuning.join_prepare && !tuning.predict_handles);
/// # Ok::<(), farbird_client::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tuning {
    /// Name objects by the handles that the server is going to give them, so that what uses them need not wait for the
    /// reply: a transaction's start costs no round trip.
    pub predict_handles: bool,
    /// Agree on deferred packets (lazy_send): what was closed or dropped is told to the server with the next flight. Off:
    /// the next request waits for the answer first, and nothing can be joined: [`Tuning::join_prepare`] and
    /// [`Tuning::join_blob_open`] have no effect.
    pub deferred_packets: bool,
    /// Allocate and prepare a statement in one flight.
    pub join_prepare: bool,
    /// Prepare without waiting for what the server says: [`Connection::prepare`] and its relatives do as
    /// [`Connection::prepare_deferred`], which changes their contract: errors of a text appear when it is executed. Off in all
    /// presets and by default.
    ///
    /// [`Connection::prepare`]: crate::Connection::prepare
    /// [`Connection::prepare_deferred`]: crate::Connection::prepare_deferred
    pub deferred_prepare: bool,
    /// Ask for a query's first rows together with its execute, so that several queries share a flight. Off: they are asked
    /// for when the first one is wanted; with [`Tuning::lazy_queries`] the execute leaves with that.
    pub join_fetch: bool,
    /// A query's execute waits for nothing; its error comes with the first row.
    pub lazy_queries: bool,
    /// Ask for more rows while those that are here are read: the next batch when half of one has been used.
    pub fetch_ahead: bool,
    /// Size by bytes what is asked for ahead: many batches in a flight, and with each flight twice as much. Off: batches of
    /// up to 1,000 rows, one at a time, as Firebird's client asks for them. No effect without [`Tuning::fetch_ahead`].
    pub fetch_windows: bool,
    /// Open a BLOB and ask for its first piece in one flight.
    pub join_blob_open: bool,
    /// When a program reads BLOBs of a column, ask for those of the next rows in the same flight; read in pieces of 64 KiB,
    /// several at a time. Off: each BLOB when it is wanted, in pieces of 16 KiB one after the other. No effect without
    /// [`Tuning::join_blob_open`].
    pub blob_ahead: bool,
    /// Let small BLOBs travel with their rows (protocol 19), up to [`ConnectOptions::inline_blob_bytes`].
    ///
    /// [`ConnectOptions::inline_blob_bytes`]: crate::ConnectOptions::inline_blob_bytes
    pub inline_blobs: bool,
    /// Roll back a transaction that is dropped at once (without waiting for the answer), instead of with the next flight:
    /// for connections that may lie idle after that, in a pool. On a blocking connection it leaves when the pool takes the
    /// connection back, or with the next call. Off in all presets and by default; the pools of this crate switch it on.
    pub rollback_at_once: bool,
    /// Most statements kept prepared for [`Connection::prepare_cached`].
    ///
    /// [`Connection::prepare_cached`]: crate::Connection::prepare_cached
    pub statement_cache: usize,
    /// Most bytes of rows that are asked for before somebody reads them, over all cursors.
    pub read_ahead_bytes: usize,
    /// Most flights of which a timeline is kept ([`Connection::flights`](crate::Connection::flights)); 0: none.
    pub timeline_flights: usize,
    /// Most bytes of BLOBs that are kept before somebody reads them: those that came with their rows, and as much again of
    /// those asked for ahead.
    pub blob_ahead_bytes: usize,
}

/// Default for what is read ahead.
const AHEAD_BYTES: usize = 16 * 1024 * 1024;
/// What Firebird's client keeps of BLOBs that came with their rows.
const FIREBIRD_CACHE_BYTES: usize = 10 * 1024 * 1024;

/// The generations that [`Tuning::preset`] knows, oldest first.
pub const PRESETS: [&str; 6] = ["2.0", "2.5", "5.0.1", "5.0.2", "5.0.3", "farbird"];

impl Tuning {
    /// Does as a generation of clients did:
    ///
    /// | name | as |
    /// |---|---|
    /// | `2.0` | Firebird 2.0: each request waits for its answer |
    /// | `2.5` | Firebird 2.1 to 5.0.0: deferred packets: allocate with prepare, a query's execute with its first fetch once a row is wanted, closing with what comes next |
    /// | `5.0.1` | fetches are asked for ahead |
    /// | `5.0.2` | a BLOB is opened, described and its first piece read in one flight |
    /// | `5.0.3` | small BLOBs travel with their rows |
    /// | `farbird` | everything, as [`Tuning::default`] |
    ///
    /// # Errors
    /// An unknown name.
    pub fn preset(name: &str) -> Result<Tuning> {
        let generation = PRESETS.iter().position(|preset| *preset == name).ok_or_else(|| {
            let known = PRESETS.join(", ");
            Error::new(isc::RANDOM).with(format!("there is no preset {name}; there are {known}"))
        })?;
        let since = |preset: usize| generation >= preset;
        Ok(Tuning {
            predict_handles: since(5),
            deferred_packets: since(1),
            join_prepare: since(1),
            deferred_prepare: false,
            join_fetch: since(5),
            lazy_queries: since(1),
            fetch_ahead: since(2),
            fetch_windows: since(5),
            join_blob_open: since(3),
            blob_ahead: since(5),
            inline_blobs: since(4),
            rollback_at_once: false,
            statement_cache: 64,
            timeline_flights: 0,
            read_ahead_bytes: AHEAD_BYTES,
            blob_ahead_bytes: if since(5) { AHEAD_BYTES } else { FIREBIRD_CACHE_BYTES },
        })
    }
}

impl Tuning {
    /// Whether a statement is allocated and prepared in one flight.
    pub(crate) fn joins_prepare(&self) -> bool {
        self.join_prepare && self.deferred_packets
    }

    /// Whether a BLOB is opened and read in one flight.
    pub(crate) fn joins_blob_open(&self) -> bool {
        self.join_blob_open && self.deferred_packets
    }

    /// Whether BLOBs are asked for before somebody wants them.
    pub(crate) fn reads_blobs_ahead(&self) -> bool {
        self.blob_ahead && self.joins_blob_open()
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            predict_handles: true,
            deferred_packets: true,
            join_prepare: true,
            deferred_prepare: false,
            join_fetch: true,
            lazy_queries: true,
            fetch_ahead: true,
            fetch_windows: true,
            join_blob_open: true,
            blob_ahead: true,
            inline_blobs: true,
            rollback_at_once: false,
            statement_cache: 64,
            timeline_flights: 0,
            read_ahead_bytes: AHEAD_BYTES,
            blob_ahead_bytes: AHEAD_BYTES,
        }
    }
}

/// A method for each switch, so that options are written in one expression.
macro_rules! switches {
    ($($name:ident: $type:ty),+ $(,)?) => {
        impl Tuning {
            $(
                #[doc = concat!("Sets [`Tuning::", stringify!($name), "`](#structfield.", stringify!($name), ").")]
                #[must_use]
                pub fn $name(self, $name: $type) -> Tuning {
                    Tuning { $name, ..self }
                }
            )+
        }
    };
}

switches! {
    predict_handles: bool,
    deferred_packets: bool,
    join_prepare: bool,
    deferred_prepare: bool,
    join_fetch: bool,
    lazy_queries: bool,
    fetch_ahead: bool,
    fetch_windows: bool,
    join_blob_open: bool,
    blob_ahead: bool,
    inline_blobs: bool,
    rollback_at_once: bool,
    statement_cache: usize,
    read_ahead_bytes: usize,
    timeline_flights: usize,
    blob_ahead_bytes: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_known_by_name_and_the_last_is_the_default() {
        assert_eq!(Tuning::preset("farbird").unwrap(), Tuning::default());
        assert!(Tuning::preset("1.0").is_err());
        let oldest = Tuning::preset("2.0").unwrap();
        assert!(!oldest.join_prepare && !oldest.fetch_ahead && !oldest.inline_blobs);
    }
}
