//! What an edge has asked and saved, for its status page.

use crate::quick_hash::QuickMap;

/// What an answer of the edge's own has made unnecessary: one round trip each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Saved {
    /// op_connect answered with a login prepared in advance.
    Login,
    /// op_attach answered by what was attached ahead.
    Attach,
    /// op_allocate_statement and op_prepare_statement, and questions about what was prepared.
    Prepare,
    /// The beginning of a transaction.
    Begin,
    /// The end of a transaction that had changed nothing.
    End,
    /// op_fetch answered by rows that were here.
    Fetch,
    /// Reading a BLOB.
    BlobRead,
    /// Writing a BLOB.
    BlobWrite,
    /// A question about server or database.
    Information,
    /// Closing and freeing.
    Free,
    /// Detaching.
    Detach,
    /// A statement that was run ahead.
    Ahead,
    /// A write that was answered before it was done.
    Write,
}

impl Saved {
    /// All of them.
    pub const ALL: [Saved; 13] = [
        Saved::Login,
        Saved::Attach,
        Saved::Prepare,
        Saved::Begin,
        Saved::End,
        Saved::Fetch,
        Saved::BlobRead,
        Saved::BlobWrite,
        Saved::Information,
        Saved::Free,
        Saved::Detach,
        Saved::Ahead,
        Saved::Write,
    ];

    /// Its name, for people and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Saved::Login => "login",
            Saved::Attach => "attach",
            Saved::Prepare => "prepare",
            Saved::Begin => "begin",
            Saved::End => "end",
            Saved::Fetch => "fetch",
            Saved::BlobRead => "blob_read",
            Saved::BlobWrite => "blob_write",
            Saved::Information => "information",
            Saved::Free => "free",
            Saved::Detach => "detach",
            Saved::Ahead => "ahead",
            Saved::Write => "write",
        }
    }
}

/// Counts of an edge, since it began.
#[derive(Debug, Clone, Default)]
pub struct Counters {
    /// Programs that have connected.
    pub programs: u64,
    /// Requests of programs.
    pub requests: u64,
    /// Times that a program had to wait for the origin.
    pub trips: u64,
    saved: [u64; Saved::ALL.len()],
    /// Rows given to programs.
    pub rows: u64,
    /// Bytes from programs, before decryption.
    pub received_bytes: u64,
    /// Bytes to programs.
    pub sent_bytes: u64,
    /// Statements found in the cache, and not found.
    pub statement_hits: u64,
    /// See above.
    pub statement_misses: u64,
    /// Of those not found, statements that were described from their texts alone.
    pub statements_deferred: u64,
    /// Descriptions dropped from the cache for want of room.
    pub statements_evicted: u64,
    /// Descriptions dropped because definitions changed.
    pub statements_invalidated: u64,
    /// BLOBs dropped for want of room.
    pub blobs_evicted: u64,
    /// Writes that were answered as done and have failed since, or were not done because one before them had failed.
    pub optimistic_failed: u64,
    /// Writes that waited to be done because too many before them were not.
    pub optimistic_waited: u64,
    /// Programs that lost their connection with the link.
    pub lost: u64,
    /// Programs that went on in another session.
    pub attached_again: u64,
    texts: QuickMap<String, TextCounters>,
}

/// Counts of one statement text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TextCounters {
    /// Executions.
    pub executions: u64,
    /// Those that were answered without asking.
    pub ahead: u64,
    /// Rows given to programs.
    pub rows: u64,
    /// Trips saved by its rows and its description.
    pub saved: u64,
}

impl Counters {
    /// Trips saved by one kind of answer.
    pub fn saved(&self, kind: Saved) -> u64 {
        self.saved.get(kind as usize).copied().unwrap_or_default()
    }

    /// Trips saved in all.
    pub fn saved_in_all(&self) -> u64 {
        self.saved.iter().sum()
    }

    pub(super) fn save(&mut self, kind: Saved) {
        if let Some(count) = self.saved.get_mut(kind as usize) {
            *count += 1;
        }
    }

    /// Counts by statement text, in no order.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &TextCounters)> {
        self.texts.iter().map(|(text, counters)| (text.as_str(), counters))
    }

    /// Counts of one text; beyond `texts_max` new ones are not counted.
    pub(super) fn text(&mut self, text: &str, texts_max: usize, change: impl FnOnce(&mut TextCounters)) {
        if let Some(counters) = self.texts.get_mut(text) {
            change(counters);
        } else if self.texts.len() < texts_max {
            change(self.texts.entry(text.to_owned()).or_default());
        }
    }
}
