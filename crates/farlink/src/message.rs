//! What edge and origin tell each other.
//!
//! Each program that is connected to the edge has a *channel*, and the origin has one conversation with the server for each channel, in
//! the protocol version that program and server have agreed upon. So packets, and rows in them, are the same bytes on both sides; only
//! handles differ: those that the program sees are the edge's own, and the origin knows what they stand for at the server. Wherever
//! a message carries packets, their handles are the edge's. The edge chooses the handle of each object before it is made, and says so
//! with the packet that makes it; 0xFFFF ("the latest") and op_disconnect never get to the origin.
//!
//! The answer to op_connect, which [`ToOrigin::Open`] carries, is the [`Tell::Reply`] with [`RequestId::CONNECT`]; what op_connect offers
//! is what the edge can speak. A reply that carries keys ([`farbird_wire::crypt::keys`]) has [`Tell::Key`] before it, or its keys mean
//! nothing to the edge, which leaves them out. Compression and encryption are each hop's own: packets here are plain.
//!
//! Messages of one direction arrive exactly once, and on a channel in the order in which they were sent, with these exceptions: what is
//! pushed ([`Tell::Rows`], [`Tell::Blob`], [`Tell::Ahead`], [`Tell::NotAhead`], [`Tell::AheadRests`]) may be overtaken by everything else
//! that an origin sends, and keeps its order among itself; [`Ask::Cancel`] overtakes what else waits. What is not pushed arrives in the
//! order in which it was sent across all channels, so a notice is there before any answer that was sent after it.
//! [`crate::link::Class`] has the rules.

mod bytes;

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

/// How deep [`AskAhead`]s may be nested: deeper ones of a peer are unreadable, so that none can exhaust the stack.
pub const AHEAD_DEPTH_MAX: usize = 8;

/// Most items of a [`Question`] that is asked before the program asks it, in bytes: both ends keep it.
pub const QUESTION_ITEMS_MAX: usize = 64;

/// Most room of its answer, in bytes.
pub const QUESTION_ROOM_MAX: u32 = 65_535;

/// Most bytes of rows, as long as they can be, that come with the op_fetch that a [`Question`] stands behind: it is for as many rows as the
/// program's, whatever else bounds what is pushed.
pub const QUESTION_ROW_BYTES_MAX: usize = 1 << 20;

/// A program's conversation. The edge counts them up; none is used again on the same link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Channel(pub u32);

/// A request of a channel, counted up by the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestId(pub u32);

impl RequestId {
    /// The op_connect of the channel.
    pub const CONNECT: RequestId = RequestId(0);
}

/// One opening of a cursor on a channel, counted up by the edge: rows of an earlier one are not taken for those of a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cursor(pub u32);

/// A rule that the edge has learned: one statement whose parameters come from another's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Rule(pub u32);

/// A login prepared in advance: salt and server key of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub u64);

/// What lets an edge log a user in again: nobody but the server understands it. It stands for the user's password as long as it
/// is valid, so it is not shown.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass(#[serde(with = "bytes")] pub Vec<u8>);

impl fmt::Debug for Pass {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Pass")
    }
}

/// A relation of a database, by a number that its origin gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Relation(pub u32);

/// A point in the order of a database's commits, as its origin counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CommitPoint(pub u64);

/// From the edge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToOrigin {
    /// A program has connected.
    Open {
        /// Its channel from now on.
        channel: Channel,
        /// Its op_connect as it came.
        #[serde(with = "bytes")]
        connect: Vec<u8>,
        /// Its address, as the server is to show it.
        peer: String,
        /// The prepared login that the edge has answered it with.
        ticket: Option<Ticket>,
        /// By which the edge attaches again for a program that was attached in an earlier session: [`Tell::Pass`].
        pass: Option<Pass>,
    },
    /// Something on a channel.
    On {
        /// Which.
        channel: Channel,
        /// What.
        ask: Ask,
    },
    /// What became of a commit whose answer was lost with an earlier session? Answered by [`ToEdge::Outcome`]; until then the edge may ask
    /// again. From then on the commit has happened or never will.
    Outcome {
        /// The channel that it was on.
        channel: Channel,
        /// The database, as the program's op_attach named it.
        file: Vec<u8>,
        /// As in [`Tell::Attached`].
        guid: String,
        /// The commit.
        commit: NamedCommit,
    },
    /// The program is gone, or the edge has given it up: what it has open ends. No answer.
    Close {
        /// Whose.
        channel: Channel,
    },
}

/// A commit by its name: whoever has lost the answer to it can ask what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedCommit {
    /// The name, which nobody can guess.
    pub name: [u8; 16],
    /// The newest commit that was known of when it was asked for: it is a later one.
    pub since: CommitPoint,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommitOutcome {
    /// It has happened.
    Committed,
    /// It has not happened, and will not.
    NotCommitted,
    /// Nobody can tell.
    Unknown,
}

/// What the edge asks on a channel. What is asked in order is done in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// A packet of the program, whose replies it waits for: [`Tell::Reply`].
    Relay {
        /// The request.
        id: RequestId,
        /// The handle that the edge gives to what this makes, if it makes something: a transaction, a statement, a BLOB, a BLR
        /// request. Where the packet fails, nothing has the handle. 0 if it makes nothing.
        object: u16,
        /// The packet.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
    },
    /// Attach as a program did before that began as this one, if the login that is under way succeeds with the last packet. The
    /// database stays nobody's until [`Ask::Attached`]. Only before a Farbird server; answered by [`Tell::AttachedAhead`].
    AttachAhead {
        /// The request.
        id: RequestId,
        /// The op_attach, without what only says who the program is.
        packet: Vec<u8>,
    },
    /// The program has attached, and the edge has answered it, by what was attached ahead.
    Attached {
        /// The number of its process, if it says one.
        process_id: Option<i32>,
    },
    /// The program does not take what was attached ahead.
    DetachAhead,
    /// Names the next commit of a transaction: see [`ToOrigin::Outcome`]. Only before a Farbird server.
    NameCommit {
        /// The transaction: the edge's handle.
        transaction: u16,
        /// As in [`NamedCommit`].
        name: [u8; 16],
    },
    /// A packet that the edge has answered already. If it fails, what needs its outcome fails with the same status.
    Quiet {
        /// As in [`Ask::Relay`].
        object: u16,
        /// The packet.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
    },
    /// An INSERT, UPDATE or DELETE without output (op_execute or op_exec_immediate in a transaction) that the edge has answered as done:
    /// its replies are told by [`Tell::Reply`], but no program waits for them. It is sent when what its transaction has written before
    /// has succeeded. If it fails, whatever names its transaction behind it fails with the same status and is not sent, but for
    /// op_rollback and [`Ask::Undo`].
    Write {
        /// The request.
        id: RequestId,
        /// The packet.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
    },
    /// As [`Ask::Relay`], for what undoes writes of its transaction, which goes on: op_rollback_retaining, or ROLLBACK as a statement. It is
    /// sent although an [`Ask::Write`] of the transaction has failed, and if it succeeds that is over.
    Undo {
        /// The request.
        id: RequestId,
        /// The packet.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
    },
    /// A statement that the edge has answered from its cache: it is prepared when it is first needed, and must be described as it was.
    Prepared {
        /// The op_prepare_statement of the program, with its handles.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
        /// The reply that the program was given.
        described: Fingerprint,
    },
    /// op_execute or op_execute2 of a query: its rows are pushed.
    Open {
        /// The request.
        id: RequestId,
        /// This opening.
        cursor: Cursor,
        /// The op_execute.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
        /// How rows are to be pushed; `None` if nothing is known of how the program will fetch: then it asks.
        push: Option<Push>,
        /// What the program is expected to ask about the execution.
        question: Option<AskBehind>,
        /// What to ask ahead for each of its rows.
        ahead: Vec<AskAhead>,
    },
    /// How the rows of a cursor are to be pushed that was opened without saying so.
    Push {
        /// Which.
        cursor: Cursor,
        /// How.
        push: Push,
    },
    /// op_open_blob or op_open_blob2 of a BLOB whose contents are not at the edge: they are pushed, from its start to its end, by
    /// [`Tell::Blob`]. What the program reads and seeks in it is the edge's affair; it is closed by [`Ask::CloseCursor`].
    OpenBlob {
        /// The request.
        id: RequestId,
        /// This opening.
        cursor: Cursor,
        /// The op_open_blob.
        #[serde(with = "bytes")]
        packet: Vec<u8>,
        /// Bytes that may be sent without further credit.
        credit: u32,
    },
    /// More may be pushed.
    Credit {
        /// Of which cursor, or opening of a BLOB.
        cursor: Cursor,
        /// How many bytes more.
        bytes: u32,
    },
    /// More to ask ahead for a cursor that was opened before: a rule was learned, or began to hold, while its rows were read.
    Ahead {
        /// For the rows of which cursor.
        outer: Cursor,
        /// The transaction: the edge's handle.
        transaction: u16,
        /// The statements.
        statements: Vec<AskAhead>,
        /// With which parameters, in the order in which they will be needed.
        parameters: Vec<GivenParameters>,
    },
    /// What was run ahead for the rows of a cursor is being used: so many more statements may be run.
    AheadCredit {
        /// Of which cursor.
        outer: Cursor,
        /// How many more.
        statements: u32,
    },
    /// Nothing more is to be run ahead for the rows of a cursor.
    AheadStop {
        /// Of which cursor.
        outer: Cursor,
    },
    /// Rows of a cursor are wanted no longer: it is closed at the server (if it is open there still). The statement stays.
    CloseCursor {
        /// Which cursor, or opening of a BLOB.
        cursor: Cursor,
    },
    /// The program has closed its second connection, on which events come.
    CloseAuxiliary,
    /// Before a server that does not say what statements read: their texts are to be believed from here on, and the catalogue is not asked.
    BelieveTexts,
    /// op_cancel: at once, before what waits.
    Cancel {
        /// [`farbird_wire::protocol::cancel`].
        kind: u16,
    },
}

/// What a statement was described as: a hash of the data of the reply to op_prepare_statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    /// That of the data of an op_response: FNV-1a. It tells descriptions apart that are not the same by chance; nothing depends on
    /// its withstanding an attack, since whoever could make a description may as well make rows.
    pub fn of(data: &[u8]) -> Fingerprint {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        Fingerprint(data.iter().fold(0xcbf2_9ce4_8422_2325, step))
    }
}

/// How rows are pushed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Push {
    /// BLR of the rows, as the program's op_fetch gives it.
    #[serde(with = "bytes")]
    pub blr: Vec<u8>,
    /// Bytes of rows and BLOBs that may be sent without further credit.
    pub credit: u32,
    /// Largest BLOB whose contents follow their row; 0 for none.
    pub blob_bytes: u32,
}

/// Where a parameter of a statement to be asked ahead comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Source {
    /// A column of the row that the statement above gave, counted from 0.
    Column(u16, Fit),
    /// A column of the row of an outer one: 1 is the statement above the one above.
    Outer(u16, u16, Fit),
    /// Always the same: a message of this parameter alone, in the packed form.
    Constant(#[serde(with = "bytes")] Vec<u8>),
}

/// What a program makes of a text before it hands it on as a parameter. Other values are only converted to its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Fit {
    /// Nothing.
    Whole,
    /// Spaces at its end are cut off.
    Trimmed,
    /// It is cut to the number of characters of a CHAR, which travels with room for its longest characters.
    Characters,
}

/// A parameter of a statement to be asked ahead.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parameter {
    /// Where it comes from.
    pub source: Source,
    /// Whether its type has the length of its value each time: many drivers describe texts so.
    pub has_own_length: bool,
}

/// Parameters that the edge has put together itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenParameters {
    /// Of which statement, counted from 0.
    pub statement: u16,
    /// BLR of the message; empty for that of the statement.
    #[serde(with = "bytes")]
    pub blr: Vec<u8>,
    /// The message.
    #[serde(with = "bytes")]
    pub message: Vec<u8>,
}

/// What stands in an op_execute beside the parameters, and makes its rows others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Execution {
    /// Timeout in milliseconds.
    pub timeout_ms: u32,
    /// Largest BLOB wanted inline.
    pub inline_blob_bytes: u32,
}

/// A question about a statement: what an op_info_sql asks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Question {
    /// The items.
    #[serde(with = "bytes")]
    pub items: Vec<u8>,
    /// Room for the answer, in bytes.
    pub room: u32,
    /// When programs ask it: right behind the op_execute if 0, else right behind the first op_fetch, which is for so many rows.
    pub rows: u16,
}

impl Question {
    /// Whether it may be asked before the program asks it.
    pub fn is_ordinary(&self) -> bool {
        Question::may_be(&self.items, self.room)
    }

    /// Whether a question of these items, with so much room for the answer, may be asked before the program asks it.
    pub fn may_be(items: &[u8], room: u32) -> bool {
        items.len() <= QUESTION_ITEMS_MAX && room <= QUESTION_ROOM_MAX
    }

    /// Whether so many rows, of a format so long, may come with the op_fetch that a question stands behind.
    pub fn allows_rows(rows: u16, format_bytes: u32) -> bool {
        (usize::from(rows)).saturating_mul(format_bytes as usize) <= QUESTION_ROW_BYTES_MAX
    }
}

/// A [`Question`] about an execution, sent before the program asks it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskBehind {
    /// The request.
    pub id: RequestId,
    /// As in [`Question`]: it goes to the server before any row is asked for, or behind an op_fetch for so many rows.
    pub rows: u16,
    /// The op_info_sql.
    #[serde(with = "bytes")]
    pub packet: Vec<u8>,
}

/// The server's answers to a question about an execution that was run ahead: op_response packets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// What was asked.
    pub question: Question,
    /// The answer before any row was fetched.
    #[serde(with = "bytes")]
    pub opened: Vec<u8>,
    /// The answer behind the last row.
    #[serde(with = "bytes")]
    pub ended: Vec<u8>,
}

/// A statement to be run for each row of another one. Nested [`AHEAD_DEPTH_MAX`] deep at most.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AskAhead {
    /// The rule that asks for it.
    pub rule: Rule,
    /// Its op_prepare_statement, as the program would send it. It is prepared under a handle of the origin's.
    #[serde(with = "bytes")]
    pub prepare: Vec<u8>,
    /// What it was described as.
    pub described: Fingerprint,
    /// BLR of its parameters, as the program's op_execute gives it, but for lengths of their own.
    #[serde(with = "bytes")]
    pub input_blr: Vec<u8>,
    /// Each parameter's source.
    pub parameters: Vec<Parameter>,
    /// What else its op_execute says.
    pub execution: Execution,
    /// What programs ask about its executions.
    pub question: Option<Question>,
    /// BLR of its rows, as the program's op_fetch gives it.
    #[serde(with = "bytes")]
    pub output_blr: Vec<u8>,
    /// How many statements may be run without further credit ([`Ask::AheadCredit`]), those below included. Only that of the
    /// first statement of an opening counts.
    pub window: u32,
    /// What to run for each of its rows in turn. The last field: what is before it is read as one (`AheadHead`).
    pub ahead: Vec<AskAhead>,
}

/// [`AskAhead`] without what is nested in it, field by field in the same order.
#[derive(Deserialize)]
struct AheadHead {
    rule: Rule,
    #[serde(with = "bytes")]
    prepare: Vec<u8>,
    described: Fingerprint,
    #[serde(with = "bytes")]
    input_blr: Vec<u8>,
    parameters: Vec<Parameter>,
    execution: Execution,
    question: Option<Question>,
    #[serde(with = "bytes")]
    output_blr: Vec<u8>,
    window: u32,
}

impl<'de> Deserialize<'de> for AskAhead {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<AskAhead, D::Error> {
        OneAhead { depth: AHEAD_DEPTH_MAX }.deserialize(deserializer)
    }
}

/// Reads one [`AskAhead`] with at most `depth` levels, its own included.
struct OneAhead {
    depth: usize,
}

/// Reads those that are nested in one.
struct NestedAhead {
    depth: usize,
}

impl<'de> DeserializeSeed<'de> for OneAhead {
    type Value = AskAhead;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<AskAhead, D::Error> {
        // In postcard a structure is its fields one behind the other, however they are grouped.
        deserializer.deserialize_tuple(2, self)
    }
}

impl<'de> Visitor<'de> for OneAhead {
    type Value = AskAhead;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a statement to be run ahead")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut fields: A) -> Result<AskAhead, A::Error> {
        let Some(depth) = self.depth.checked_sub(1) else {
            return Err(A::Error::custom("nested too deeply"));
        };
        let head: AheadHead = fields.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        if !head.question.as_ref().is_none_or(Question::is_ordinary) {
            return Err(A::Error::custom("a question that is too long"));
        }
        let ahead = fields
            .next_element_seed(NestedAhead { depth })?
            .ok_or_else(|| A::Error::invalid_length(1, &self))?;
        let AheadHead {
            rule,
            prepare,
            described,
            input_blr,
            parameters,
            execution,
            question,
            output_blr,
            window,
        } = head;
        Ok(AskAhead {
            rule,
            prepare,
            described,
            input_blr,
            parameters,
            execution,
            question,
            output_blr,
            window,
            ahead,
        })
    }
}

impl<'de> DeserializeSeed<'de> for NestedAhead {
    type Value = Vec<AskAhead>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<AskAhead>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for NestedAhead {
    type Value = Vec<AskAhead>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("statements to be run ahead")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<AskAhead>, A::Error> {
        let mut nested = Vec::new();
        while let Some(one) = elements.next_element_seed(OneAhead { depth: self.depth })? {
            nested.push(one);
        }
        Ok(nested)
    }
}

/// From the origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum ToEdge {
    /// What kind of server stands behind the origin.
    Welcome {
        /// Whether it tells of commits, purity and prepared logins: a Farbird server does.
        is_farbird: bool,
        /// Its name and version, for people.
        server: String,
    },
    /// Something on a channel.
    On {
        /// Which.
        channel: Channel,
        /// What.
        tell: Tell,
    },
    /// The server has ended the conversation: the program's connection is to be closed.
    Closed {
        /// Whose.
        channel: Channel,
        /// Why, for people.
        reason: String,
    },
    /// Commits: results that read these relations and are older than this are old.
    Notice {
        /// The database, as [`Tell::Attached`] has named it.
        database: u32,
        /// The newest of them.
        commit: CommitPoint,
        /// What they have changed.
        relations: Vec<Relation>,
    },
    /// Definitions have changed: descriptions of this database that are in the edge's cache are to be asked for again.
    Invalidate {
        /// The database, as [`Tell::Attached`] has named it.
        database: u32,
    },
    /// The answer to [`ToOrigin::Outcome`].
    Outcome {
        /// The channel that it was asked for.
        channel: Channel,
        /// What became of the commit.
        outcome: CommitOutcome,
    },
    /// Users have changed: all logins prepared in advance are void.
    UsersChanged,
    /// A login prepared in advance.
    Ticket {
        /// Which.
        ticket: Ticket,
        /// For whom.
        user: String,
        /// The data of op_cond_accept: salt and server key.
        #[serde(with = "bytes")]
        data: Vec<u8>,
    },
}

/// What the origin tells on a channel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Tell {
    /// All packets that answer a request.
    Reply {
        /// Which.
        id: RequestId,
        /// The packets.
        #[serde(with = "bytes")]
        packets: Vec<u8>,
    },
    /// The session key of the conversation: the program encrypts with it. Only from a Farbird server, only over the link's own encryption.
    Key {
        /// The key.
        #[serde(with = "bytes")]
        key: Vec<u8>,
    },
    /// By which the edge may log the user in again, should the session end ([`ToOrigin::Open`]). Comes before the reply that lets the user
    /// in. Only from a Farbird server.
    Pass {
        /// The pass.
        pass: Pass,
    },
    /// A database is attached.
    Attached {
        /// Names it in what the origin tells from now on.
        database: u32,
        /// Where its commits are now.
        commit: CommitPoint,
        /// Whether beginning and ending transactions may do more than that: triggers ON TRANSACTION, for example.
        strict_transactions: bool,
        /// Names it for good.
        guid: String,
    },
    /// What became of [`Ask::AttachAhead`].
    AttachedAhead {
        /// Which.
        id: RequestId,
        /// The reply of the server, and what [`Tell::Attached`] says; `None` if nothing is attached.
        attached: Option<AttachedAhead>,
    },
    /// What is known of a statement that was prepared.
    Statement {
        /// The edge's handle.
        statement: u16,
        /// Its description, as [`Ask::Prepared`] compares it.
        described: Fingerprint,
        /// What it reads if that is all it does: no generator, nothing that writes, nothing that depends on when it runs. `None`
        /// if it does more or nobody knows.
        reads: Option<Vec<Relation>>,
    },
    /// Rows of a cursor.
    Rows {
        /// Which.
        cursor: Cursor,
        /// op_fetch_response packets, one for each row, without the mark that ends a batch; with inline BLOBs before their rows where
        /// the protocol has them and the program's op_execute asked for them.
        #[serde(with = "bytes")]
        packets: Vec<u8>,
        /// How many rows.
        rows: u32,
        /// How it ends, if it ends here.
        end: Option<End>,
    },
    /// Contents of a BLOB. Those that come with the rows of a cursor are whole, and stand before the rows that name them: a BLOB that
    /// the edge has not got when its row is there does not come by itself. (BLOBs larger than [`Push::blob_bytes`] do not.)
    Blob {
        /// The cursor whose rows name it, or the opening that asks for it.
        cursor: Cursor,
        /// The BLOB.
        blob: u64,
        /// What op_info_blob says of it: segments, longest segment, length, kind.
        information: Option<BlobFacts>,
        /// Where these bytes stand.
        offset: u32,
        /// Segments, each with its little-endian 16-bit length, as op_get_segment gives them.
        #[serde(with = "bytes")]
        segments: Vec<u8>,
        /// Whether it ends here. If it is then shorter than `information` has said, or nothing was said, it could not be read.
        is_last: bool,
    },
    /// A statement that was run ahead.
    Ahead {
        /// For the rows of which cursor.
        outer: Cursor,
        /// By which rule.
        rule: Rule,
        /// BLR of its parameters: that which the program's op_execute would carry; empty without parameters.
        #[serde(with = "bytes")]
        blr: Vec<u8>,
        /// Its parameters: the bytes of the message that the program's op_execute would carry.
        #[serde(with = "bytes")]
        parameters: Vec<u8>,
        /// The transaction in which it ran: the edge's handle.
        transaction: u16,
        /// How many asks of this channel had gone to the server before it: it has seen the writes of those, and the
        /// transaction is the one that its handle stood for then.
        asked: u32,
        /// The commits that it has seen.
        commit: CommitPoint,
        /// What it read.
        reads: Vec<Relation>,
        /// The replies to op_execute.
        #[serde(with = "bytes")]
        opened: Vec<u8>,
        /// All of its rows, as in [`Tell::Rows`].
        #[serde(with = "bytes")]
        packets: Vec<u8>,
        /// How many rows.
        rows: u32,
        /// What the server says about the execution, if that was to be asked.
        answered: Option<Answered>,
    },
    /// A statement was to be run ahead, and was not: it failed, was too large, or may do more than read. The program's own
    /// question is not to wait for it.
    NotAhead {
        /// For the rows of which cursor.
        outer: Cursor,
        /// By which rule.
        rule: Rule,
        /// As in [`Tell::Ahead`].
        #[serde(with = "bytes")]
        blr: Vec<u8>,
        /// As in [`Tell::Ahead`].
        #[serde(with = "bytes")]
        parameters: Vec<u8>,
    },
    /// What the server says on the second connection that it was asked for by op_connect_request: events, as they stand.
    Auxiliary {
        /// The bytes.
        #[serde(with = "bytes")]
        bytes: Vec<u8>,
        /// Whether that connection is over.
        is_over: bool,
    },
    /// Nothing more is run ahead for the rows of a cursor, for now: there are no more, or its window is used up.
    AheadRests {
        /// Of which cursor.
        outer: Cursor,
    },
}

/// A database that was attached ahead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachedAhead {
    /// The op_response.
    pub packets: Vec<u8>,
    /// As in [`Tell::Attached`].
    pub database: u32,
    /// As in [`Tell::Attached`].
    pub commit: CommitPoint,
    /// As in [`Tell::Attached`].
    pub strict_transactions: bool,
    /// As in [`Tell::Attached`].
    pub guid: String,
}

/// How a cursor ends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// There are no more rows.
    Complete,
    /// Fetching failed: the op_response.
    Failed(#[serde(with = "bytes")] Vec<u8>),
}

/// What op_info_blob says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobFacts {
    /// How many segments.
    pub segments: u32,
    /// The longest, in bytes.
    pub longest_segment: u32,
    /// All of them, in bytes.
    pub length: u32,
    /// Whether it is a stream.
    pub is_stream: bool,
}

/// A message that could not be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer sent a farlink message that cannot be read")]
pub struct Unreadable;

impl ToOrigin {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// # Errors
    /// [`Unreadable`].
    pub fn decode(bytes: &[u8]) -> Result<ToOrigin, Unreadable> {
        decode(bytes)
    }
}

impl ToEdge {
    /// The message as bytes.
    pub fn encode(&self) -> Vec<u8> {
        encode(self)
    }

    /// # Errors
    /// [`Unreadable`].
    pub fn decode(bytes: &[u8]) -> Result<ToEdge, Unreadable> {
        decode(bytes)
    }
}

fn encode(message: &impl Serialize) -> Vec<u8> {
    // Into memory, of plain data: there is nothing that could fail.
    postcard::to_allocvec(message).unwrap_or_default()
}

fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, Unreadable> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_as_any_sequence_is() {
        for length in [0, 1, 127, 128, 70_000] {
            let packets: Vec<u8> = (0..length).map(|at: u32| at.to_le_bytes()[0]).collect();
            let end = End::Failed(packets.clone());
            let expected = postcard::to_allocvec(&(1_u8, &packets)).unwrap();
            assert_eq!(postcard::to_allocvec(&end).unwrap(), expected);
            assert_eq!(postcard::from_bytes::<End>(&expected), Ok(end));
            // A length beyond what is there.
            let cut = expected.get(..expected.len() - 1).unwrap();
            assert!(postcard::from_bytes::<End>(cut).is_err());
        }
    }

    #[test]
    fn messages_come_back_as_they_were() {
        let ask = Ask::Relay { id: RequestId(3), object: 0, packet: vec![1, 2, 3] };
        let message = ToOrigin::On { channel: Channel(7), ask };
        assert_eq!(ToOrigin::decode(&message.encode()), Ok(message.clone()));
        let mut long = message.encode();
        long.push(0);
        assert_eq!(ToOrigin::decode(&long), Err(Unreadable));
    }

    fn opening(depth: usize) -> ToOrigin {
        let push = Push { blr: vec![5], credit: 1 << 16, blob_bytes: 0 };
        let mut ahead = Vec::new();
        for level in 0..depth {
            ahead = vec![AskAhead {
                rule: Rule(u32::try_from(level).unwrap()),
                prepare: vec![1, 2],
                described: Fingerprint(9),
                input_blr: vec![3],
                parameters: vec![Parameter {
                    source: Source::Outer(1, 2, Fit::Trimmed),
                    has_own_length: true,
                }],
                execution: Execution::default(),
                question: Some(Question { items: vec![23], room: 100, rows: 0 }),
                output_blr: vec![5],
                window: 64,
                ahead,
            }];
        }
        let question = Some(AskBehind { id: RequestId(5), rows: 9, packet: vec![6] });
        let (id, cursor, push) = (RequestId(1), Cursor(2), Some(push));
        let ask = Ask::Open { id, cursor, packet: vec![4], push, question, ahead };
        ToOrigin::On { channel: Channel(7), ask }
    }

    #[test]
    fn statements_to_be_run_ahead_nest_so_deep_and_no_deeper() {
        for depth in 0..=AHEAD_DEPTH_MAX {
            let message = opening(depth);
            assert_eq!(ToOrigin::decode(&message.encode()), Ok(message));
        }
        assert_eq!(ToOrigin::decode(&opening(AHEAD_DEPTH_MAX + 1).encode()), Err(Unreadable));
        // Bytes of a hostile peer: each level is its count and its fields.
        let (none, one) = (opening(0).encode(), opening(1).encode());
        let (before, end) = none.split_at(none.len() - 1);
        let level = &one[before.len()..one.len() - 1];
        let hostile = [before, &level.repeat(1_000_000), end].concat();
        assert_eq!(ToOrigin::decode(&hostile), Err(Unreadable));
    }
}
