//! What a Farbird server in the same process tells an origin beside Firebird's protocol.
//!
//! Most of it travels on the conversations themselves (`farbird_farlink::origin::private`); here is what does not belong to one. The
//! binary implements [`Knowledge`] over its server. Before an unmodified Firebird there is none.

use std::sync::Arc;

use farbird_farlink::message::{CommitOutcome, NamedCommit, Pass, Ticket, ToEdge};
use tokio::io::{AsyncRead, AsyncWrite};

/// A Farbird server, as the origin in its process sees it.
pub trait Knowledge: Send + Sync {
    /// Makes a connection to the server, inside the process, and says whose it is. What the server says there goes to `replies`, if that takes
    /// it, else through the stream. Called in the origin's runtime.
    ///
    /// # Errors
    /// The server takes no more connections.
    fn connect(
        &self,
        introduction: Introduction,
        replies: Arc<dyn TakesReplies>,
    ) -> std::io::Result<ServerStream>;

    /// Prepares a login of a user, as typed, to be used once: see [`IssuedTicket::lifetime`]. `None` if the server issues none.
    fn issue_ticket(&self, user: &str) -> Option<IssuedTicket>;

    /// What became of a commit that an edge has named, in a database as a program names it, whose GUID is `guid`. May take long. After it
    /// a commit that has not happened never will.
    fn commit_outcome(&self, file: &[u8], guid: &str, commit: NamedCommit) -> CommitOutcome;

    /// Begins to collect news for one link. `wake` is called, on any thread and with locks held, whenever there are some: it must
    /// only leave a sign.
    fn subscribe(&self, wake: Box<dyn Fn() + Send + Sync>) -> Box<dyn News>;
}

/// News for one link: [`ToEdge::Notice`] and [`ToEdge::Invalidate`] of all databases of the server, and [`ToEdge::UsersChanged`].
pub trait News: Send {
    /// What has happened since the last call.
    ///
    /// A commit is among the news before anybody can see it. So that the edge hears of a commit before any reply that may have seen it,
    /// call this between reading bytes of the server and handing to the link what a conversation has made of them, each time.
    fn take(&mut self) -> Vec<ToEdge>;
}

/// Takes what a server says on a connection, on the thread that says it.
pub trait TakesReplies: Send + Sync {
    /// Takes bytes of the server, behind `before` that have gone through the stream since the connection began; they may be changed. False:
    /// they are as they were, and go through the stream. Does not wait.
    fn take(&self, before: u64, bytes: &mut [u8]) -> bool;
}

/// A connection to a server: Firebird's protocol goes over it. Dropping both halves closes it.
pub struct ServerStream {
    /// Bytes from the server.
    pub reader: Box<dyn AsyncRead + Send + Unpin>,
    /// Bytes to the server.
    pub writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Whose connection to the server it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Introduction {
    /// The program's address, as the edge gives it: the server shows it.
    pub peer: String,
    /// The edge's name: the server counts failed logins by it, for what an edge says of its programs it might make up.
    pub edge: String,
    /// The prepared login that the program goes on with.
    pub ticket: Option<Ticket>,
    /// By which the edge logs the user in again.
    pub pass: Option<Pass>,
}

/// A login prepared in advance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedTicket {
    /// Names it in [`farbird_farlink::message::ToOrigin::Open`].
    pub ticket: Ticket,
    /// The data of op_cond_accept: salt and server key.
    pub data: Vec<u8>,
    /// How long it may be used.
    pub lifetime: std::time::Duration,
}
