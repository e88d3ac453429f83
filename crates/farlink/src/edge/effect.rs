//! What a reply of the server changes at the edge.

use std::sync::Arc;

use farbird_wire::packet::{Information, Reply, Request, StatementText};

use super::greeting::Greeting;
use super::information;
use super::statement_cache::{Described, Key};
use crate::message::{Cursor, NamedCommit, RequestId};

/// What a reply changes here, beside being the program's answer.
#[derive(Debug)]
pub(super) enum Effect {
    /// op_connect.
    Connect { greeting: Option<Greeting> },
    /// op_connect that was answered with a login prepared in advance.
    Greeted { expected: Box<Reply> },
    /// op_connect of the edge's own, for a program that was attached in an earlier session.
    ConnectedAgain,
    /// The op_attach behind it.
    AttachedAgain,
    /// A step of the login, the attaching included.
    Login,
    /// A transaction was to begin.
    Begun { handle: u16, tpb: Vec<u8> },
    /// A transaction in limbo was to be taken over.
    Reconnected { handle: u16 },
    /// A transaction was to end.
    Ended { transaction: u16, named: Option<NamedCommit> },
    /// What a transaction has changed was to be committed or undone; it goes on.
    Retained { transaction: u16, named: Option<NamedCommit> },
    /// A statement was to be prepared.
    Prepared { statement: u16, text: Box<StatementText>, key: Option<Box<Key>> },
    /// Something was asked about a statement.
    StatementInformation { described: Arc<Described>, items: Vec<u8>, room: u32 },
    /// Something that stays was asked about the attachment, or about a transaction if it is not 0; by which of the program's requests.
    Kept { transaction: u16, asked: Box<Information>, by: u64 },
    /// Something constant was asked about the database.
    Information { key: Box<information::Key> },
    /// A statement was to be executed: its transaction, the handle that a transaction which it begins has, whose cursor it opens.
    Executed { request: Box<Request>, transaction: u16, made: u16, cursor_of: Option<u16> },
    /// A write that was answered as done was to be done.
    Written(Unanswered),
    /// A cursor was to be opened whose rows are pushed.
    Opened { statement: u16, cursor: Cursor },
    /// A BLOB was to be opened whose contents come.
    BlobOpened { handle: u16, cursor: Cursor },
    /// A BLOB was to be opened at the server, or to be made.
    BlobMade { id: RequestId, handle: u16, kind: MadeBlob, reserved: Option<u16> },
    /// A BLOB was to be made that nobody has asked for.
    Spare { handle: u16, transaction: u16 },
    /// Something was asked about an execution before the program asks it.
    Foreseen { statement: u16 },
    /// A second connection was to be made.
    Auxiliary,
    /// A BLR request was to be compiled.
    Compiled { handle: u16, blr: Vec<u8> },
    /// The database was to be detached.
    Detached,
}

/// A write that was answered as done.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unanswered {
    pub(super) transaction: u16,
    /// How often its transaction had been asked to undo what it has written.
    pub(super) undone: u32,
    pub(super) bytes: usize,
}

/// How a BLOB is to be worked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeBlob {
    Opened,
    Written,
}
