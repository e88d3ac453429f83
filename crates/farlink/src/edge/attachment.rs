//! How far a program's login is, and what the program is attached to.

use std::sync::Arc;

use farbird_wire::crypt::keys::Keys;
use farbird_wire::packet::{Accept, Attach, Response};
use farbird_wire::protocol::{CONNECTION_TYPE_MASK, ConnectionType};

use super::bond::{Again, Bond};
use super::information::Kept;
use super::usual::{AttachAhead, Usual};
use crate::message::{CommitPoint, Pass, RequestId};

/// How far the login is.
#[derive(Debug, Default)]
pub(super) struct Login {
    /// Whether nothing may be understood before the server has answered: layers may change with it.
    pub(super) is_waiting: bool,
    /// Versions that the program wants compressed.
    pub(super) compressed: Vec<u16>,
    pub(super) accept: Option<Accept>,
    /// Who logs in, as it says with op_connect.
    pub(super) user: Vec<u8>,
    /// The session key.
    pub(super) key: Option<Vec<u8>>,
    /// What the server has announced.
    pub(super) keys: Keys,
    /// The attach that is going on.
    pub(super) attaching: Option<(Attach, Purpose)>,
    /// What programs are known by that begin as it began.
    pub(super) usual: Option<Usual>,
    /// The op_attach that is going on, for those that come after it.
    pub(super) usual_attach: Option<Attach>,
    /// What is attached ahead of it.
    pub(super) ahead: Option<AttachAhead>,
    /// Its op_connect.
    pub(super) connect: Vec<u8>,
    /// The op_attach that is going on, should it have to be done again.
    pub(super) attach_again: Option<Attach>,
    /// What the server has given to log the user in again.
    pub(super) pass: Option<Pass>,
}

impl Login {
    /// Whether a protocol is agreed upon.
    pub(super) fn is_agreed(&self) -> bool {
        self.accept.is_some()
    }

    /// Whether the program can take replies later than they are known.
    pub(super) fn is_lazy(&self) -> bool {
        let kind = self.accept.map_or(0, |accept| accept.connection_type & CONNECTION_TYPE_MASK);
        kind == ConnectionType::LazySend as u16
    }
}

/// What a Farbird server tells of a database.
#[derive(Debug, Clone)]
pub(super) struct Facts {
    /// Names it in what the origin tells.
    pub(super) database: u32,
    /// Where its commits were.
    pub(super) commit: CommitPoint,
    pub(super) strict_transactions: bool,
    /// Names it for good.
    pub(super) guid: String,
}

/// What is attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Database,
    Service,
}

/// What a program is attached to.
#[derive(Debug)]
pub(super) struct Attachment {
    pub(super) file: String,
    /// The file as it was named, and what names the database for good, if the server tells that.
    pub(super) identity: Option<(Vec<u8>, String)>,
    /// The program, as it calls itself, with its number.
    pub(super) process: String,
    pub(super) purpose: Purpose,
    /// The database, as the origin names it.
    pub(super) database: Option<u32>,
    /// Whether beginning and ending transactions may do more than that.
    pub(super) strict_transactions: bool,
    /// What descriptions depend on beside the text.
    pub(super) context: Arc<[u8]>,
    /// Whether the session is still as it was attached: no SET BIND, SET ROLE and the like.
    pub(super) is_plain: bool,
    /// What the server has said of it and stays.
    pub(super) information: Kept,
    /// How it can be attached again.
    pub(super) again: Option<Box<Again>>,
    /// What binds the program to the session.
    pub(super) bond: Bond,
}

/// How far a program's second connection is.
#[derive(Debug, Default)]
pub(super) enum Auxiliary {
    /// There is none.
    #[default]
    None,
    /// The server's answer, which waits for an address of the edge.
    Wanted { id: RequestId, response: Box<Response> },
    /// Events go there.
    Open { waiting: Vec<u8> },
}
