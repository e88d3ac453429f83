//! What an edge may take, and what it may answer: names and defaults.

use std::time::Duration;

use crate::speculation;

/// Limits and switches of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of statements' texts and descriptions that are kept for all programs. The one used longest ago goes first.
    pub statement_bytes: usize,
    /// Bytes of a cursor's rows and their BLOBs that the origin may have sent and the program not taken: what a link of 35 Mbit/s and
    /// 200 ms carries in a round trip if they shrink to a fifth, as sources and texts do, four times.
    pub cursor_bytes: usize,
    /// The least that a cursor is granted, when programs or the edge have reached their limits: without any there were no rows.
    pub cursor_bytes_least: usize,
    /// The same for all cursors of a program, but for what may be kept outside of memory.
    pub program_row_bytes: usize,
    /// The same for all programs.
    pub edge_row_bytes: usize,
    /// Largest BLOB whose contents come before its row.
    pub blob_bytes: usize,
    /// Bytes of BLOBs that are kept for a program until its transactions end. The oldest goes first.
    pub program_blob_bytes: usize,
    /// The same for all programs.
    pub edge_blob_bytes: usize,
    /// Bytes of rows and BLOBs beyond those in memory that are kept elsewhere, of all programs; nothing is if nobody has said where.
    pub spill_bytes: usize,
    /// Bytes of rows that a program may have there.
    pub program_spill_bytes: usize,
    /// Bytes of a BLOB that came alone and that the origin may have sent and the program not taken.
    pub opened_blob_bytes: usize,
    /// Bytes that a program may write into BLOBs before one of its requests waits for the origin.
    pub quiet_bytes: usize,
    /// Most BLOBs that are made before the program asks for them.
    pub spare_blobs: usize,
    /// Requests of a program that may wait for their answers; it is not read from while there are more.
    pub requests_waiting: usize,
    /// Statement texts that are counted one by one.
    pub counted_texts: usize,
    /// Transactions begin and end at the server before the program is answered.
    pub strict_transactions: bool,
    /// Whether a statement is described from its text alone where that tells how: it is prepared when it is executed, which then fails if
    /// it cannot be.
    pub deferred_prepare: bool,
    /// Whether an INSERT, UPDATE or DELETE is answered as done before it is: the first that fails fails what its transaction asks for next, and
    /// its commit.
    pub optimistic_writes: bool,
    /// Bytes of such writes of a program that are answered and not done; further ones wait.
    pub optimistic_bytes: usize,
    /// Before a Firebird server: whether a query is taken to change nothing if its text calls nothing that could, and a commit of
    /// nothing is taken to succeed. Wrong where a query reads a procedure without parameters that writes, which looks like a table, or
    /// where triggers run on commits: no server tells of either, so somebody must have said that there are none.
    pub texts_show_purity: bool,
    /// Whether statements are run ahead by rules that were learned.
    pub speculates: bool,
    /// Before a server that tells of no commits: how old what was run ahead in READ COMMITTED may be. `None`: nothing is.
    pub read_committed_age: Option<Duration>,
    /// How long a program waits for a result that is said to be on its way; then it is asked for.
    pub ahead_wait: Duration,
    /// What speculation may take.
    pub speculation: speculation::Limits,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            statement_bytes: 16 << 20,
            cursor_bytes: 16 << 20,
            cursor_bytes_least: 64 << 10,
            program_row_bytes: 32 << 20,
            edge_row_bytes: 256 << 20,
            blob_bytes: 256 << 10,
            program_blob_bytes: 32 << 20,
            edge_blob_bytes: 256 << 20,
            spill_bytes: 1 << 30,
            program_spill_bytes: 256 << 20,
            opened_blob_bytes: 4 << 20,
            quiet_bytes: 4 << 20,
            spare_blobs: 32,
            requests_waiting: 1_000,
            counted_texts: 1_000,
            strict_transactions: false,
            deferred_prepare: false,
            optimistic_writes: false,
            optimistic_bytes: 4 << 20,
            texts_show_purity: false,
            speculates: true,
            read_committed_age: None,
            ahead_wait: Duration::from_secs(2),
            speculation: speculation::Limits::default(),
        }
    }
}
