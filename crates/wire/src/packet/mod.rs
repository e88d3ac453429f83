//! Packets: what clients ask ([`Request`]) and servers answer ([`Reply`]).
//!
//! Each packet is an operation word and its fields; the lists of fields stand once and serve decoding and encoding
//! alike. Fields that only some protocol versions have are zero or empty in others.
//! Shorts are written sign-extended as Firebird does, and read by their low half.
//!
//! Promises: what was decoded encodes to the same bytes if the peer wrote them as Firebird does.
//! Uses [`crate::message`], [`crate::status`], [`crate::xdr`]. Source: wire-protocol.md, 6.2.

mod batch;
mod blr_request;
mod field;
mod reply;
mod request;
mod statement;

pub use batch::{BatchBlobs, BatchCreate, BatchMessages};
pub use blr_request::{RequestCall, RequestMessage, Transact};
pub use field::BufferLength;
pub(crate) use field::{Context, Field};
pub use reply::{
    Accept, AcceptWithData, BatchCompletion, FetchResponse, InlineBlob, Reply, Response, SliceResponse,
    SqlResponse, TransactResponse, encode_fetch_row, encode_sql_row,
};
pub use request::{
    Attach, Connect, ContinueAuthentication, CryptKeyCallback, Information, OFFERS_MAX, OpenBlob,
    ProtocolOffer, QueueEvents, Request, Segment, Slice,
};
pub use statement::{Execute, Execute2, ExecuteImmediate2, Fetch, FetchScroll, Output, StatementText};
