//! What a Farbird server tells an origin beside Firebird's protocol.
//!
//! It is asked by information items that Firebird does not have, and by one tag of a keys buffer. A Firebird server answers such an item
//! by isc_info_error, and sends no such tag.
//!
//! # Items of op_info_sql
//! | item | answer |
//! |---|---|
//! | [`STATEMENT_READS`] | empty if the statement is not pure; else one byte 1 and the relations it reads, each in 4 bytes, little-endian |
//!
//! # Items of op_info_database
//! | item | answer |
//! |---|---|
//! | [`DATABASE_NUMBER`] | 4 bytes: names the database in commit notices, for as long as the server runs |
//! | [`COMMIT_POINT`] | a number: where its commits are |
//! | [`STRICT_TRANSACTIONS`] | 1 byte: 1 if beginning or ending a transaction does more than that |
//!
//! | [`ATTACHED_BY`] | nothing: it says that the program has attached by what was attached ahead, and the number of its process |
//!
//!
//! # Items of op_info_transaction
//! | item | answer |
//! |---|---|
//! | [`COMMIT_NAME`] | nothing: the 16 bytes behind it name the next commit |
//!
//! # Tags of a DPB
//! | tag | data |
//! |---|---|
//! | [`dpb::FARLINK_AHEAD`] | none: the program has not asked for the attachment yet |
//!
//! # Tags of a keys buffer
//! | tag | data |
//! |---|---|
//! | [`SESSION_KEY`] | the session key; only to an origin in the same process |
//! | [`PASS`] | lets the edge log the user in again; only to an origin in the same process |

use farbird_wire::clumplet::{ClumpletReader, ClumpletWriter, Form, dpb};
use farbird_wire::info::{InfoReader, database};

use crate::message::{CommitPoint, Pass, Relation};

/// Keys buffer: a pass.
pub use farbird_wire::crypt::keys::FARLINK_PASS as PASS;
/// Keys buffer: the session key.
pub use farbird_wire::crypt::keys::FARLINK_SESSION_KEY as SESSION_KEY;
pub use farbird_wire::info::farlink::{
    ATTACHED_BY, COMMIT_NAME, COMMIT_POINT, DATABASE_NUMBER, STATEMENT_READS, STRICT_TRANSACTIONS,
};

/// What a prepared statement reads; `None` if it does more, or the server does not say.
pub fn statement_reads(reply: &[u8]) -> Option<Vec<Relation>> {
    let item = InfoReader::new(reply).map_while(Result::ok).find(|item| item.item == STATEMENT_READS)?;
    let (&1, relations) = item.value.split_first()? else { return None };
    let number = |bytes: &[u8]| bytes.try_into().ok().map(|bytes| Relation(u32::from_le_bytes(bytes)));
    relations.chunks(4).map(number).collect()
}

/// What a Farbird server says of an attached database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFacts {
    /// Names it in commit notices.
    pub database: u32,
    /// Where its commits are.
    pub commit: CommitPoint,
    /// Whether beginning or ending a transaction does more than that.
    pub strict_transactions: bool,
    /// Names it for good.
    pub guid: String,
}

/// What a reply to op_info_database says; `None` if the server is no Farbird server.
pub fn database_facts(reply: &[u8]) -> Option<DatabaseFacts> {
    let find = |wanted: u8| {
        let item = InfoReader::new(reply).map_while(Result::ok).find(|item| item.item == wanted)?;
        item.integer()
    };
    Some(DatabaseFacts {
        database: u32::try_from(find(DATABASE_NUMBER)?).ok()?,
        commit: CommitPoint(find(COMMIT_POINT)?.cast_unsigned()),
        strict_transactions: find(STRICT_TRANSACTIONS)? != 0,
        guid: guid(reply)?,
    })
}

fn guid(reply: &[u8]) -> Option<String> {
    let mut items = InfoReader::new(reply).map_while(Result::ok);
    let item = items.find(|item| item.item == database::DB_GUID)?;
    String::from_utf8(item.value.to_vec()).ok()
}

/// The items that name a transaction's next commit.
pub fn commit_name(name: [u8; 16]) -> Vec<u8> {
    [&[COMMIT_NAME][..], &name].concat()
}

/// A DPB for attaching ahead of the program.
pub fn attach_ahead(parameters: &[u8]) -> Option<Vec<u8>> {
    let is_wide = parameters.first() == Some(&dpb::VERSION2);
    let mut writer = if is_wide { ClumpletWriter::wide_dpb() } else { ClumpletWriter::dpb() };
    for item in ClumpletReader::dpb(parameters).ok()? {
        let item = item.ok()?;
        writer.bytes(item.tag, item.data);
    }
    writer.flag(dpb::FARLINK_AHEAD);
    Some(writer.into_bytes())
}

/// The items that say that the program has attached.
pub fn attached_by(process_id: Option<i32>) -> Vec<u8> {
    let mut items = vec![ATTACHED_BY];
    items.extend(process_id.map(i32::to_le_bytes).into_iter().flatten());
    items
}

/// What a keys buffer has for an origin alone.
#[derive(Default)]
pub struct PrivateKeys {
    /// The session key.
    pub session: Option<Vec<u8>>,
    /// By which the edge logs the user in again.
    pub pass: Option<Pass>,
}

/// Takes what is for an origin alone out of a keys buffer.
pub fn take_private_keys(keys: &mut Vec<u8>) -> PrivateKeys {
    let mut found = PrivateKeys::default();
    let mut rest = Vec::new();
    for item in ClumpletReader::untagged(Form::Traditional, keys) {
        let Ok(item) = item else { return PrivateKeys::default() };
        match (item.tag, u8::try_from(item.data.len())) {
            (SESSION_KEY, _) => found.session = Some(item.data.to_vec()),
            (PASS, _) => found.pass = Some(Pass(item.data.to_vec())),
            (tag, Ok(length)) => {
                rest.extend([tag, length]);
                rest.extend_from_slice(item.data);
            }
            (_, Err(_)) => return PrivateKeys::default(),
        }
    }
    if found.session.is_some() || found.pass.is_some() {
        *keys = rest;
    }
    found
}
