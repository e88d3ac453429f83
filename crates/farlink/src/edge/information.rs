//! Questions about a database, an attachment or a transaction whose answers cannot change as long as that is there.

use std::sync::Arc;

use farbird_wire::info::{database as item, transaction};
use farbird_wire::packet::{Information, Response};

/// Answers that are kept.
pub(super) const KEPT_MAX: usize = 1_000;

/// What an answer depends on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) database: u32,
    /// As in the key of statements.
    pub(super) context: Arc<[u8]>,
    pub(super) items: Vec<u8>,
    pub(super) room: u32,
}

/// Whether each of the items is one whose answer cannot change: what the server is and how the file was made.
pub(super) fn is_constant(items: &[u8]) -> bool {
    all_are(items, is_constant_item)
}

/// The same while the program is attached.
pub(super) fn is_constant_of_attachment(items: &[u8]) -> bool {
    all_are(items, |asked| asked == item::ATTACHMENT_ID || is_constant_item(asked))
}

/// The same until the transaction ends, with or without going on.
pub(super) fn is_constant_of_transaction(items: &[u8]) -> bool {
    all_are(items, |asked| {
        matches!(
            asked,
            transaction::TRA_ID
                | transaction::TRA_ISOLATION
                | transaction::TRA_ACCESS
                | transaction::TRA_LOCK_TIMEOUT
                | transaction::TRA_DBPATH
        )
    })
}

fn all_are(items: &[u8], is_constant: impl Fn(u8) -> bool) -> bool {
    let end = items.iter().position(|item| *item == 1).unwrap_or(items.len());
    let asked = items.get(..end).unwrap_or_default();
    !asked.is_empty() && asked.iter().all(|asked| is_constant(*asked))
}

fn is_constant_item(asked: u8) -> bool {
    matches!(
        asked,
        item::IMPLEMENTATION
            | item::ISC_VERSION
            | item::BASE_LEVEL
            | item::PAGE_SIZE
            | item::ODS_VERSION
            | item::ODS_MINOR_VERSION
            | item::DB_CLASS
            | item::FIREBIRD_VERSION
            | item::DB_PROVIDER
            | item::CREATION_DATE
            | item::FB_IMPLEMENTATION
            | item::PROTOCOL_VERSION
            | item::FEATURES
    )
}

/// Answers that are kept with an attachment or a transaction.
#[derive(Debug, Default)]
pub(super) struct Kept {
    answers: Vec<(Vec<u8>, u32, Response)>,
}

/// Most of them.
const KEPT_WITH_ONE_MAX: usize = 8;
/// Longest question and answer that are kept, in bytes.
const KEPT_BYTES_MAX: usize = 1_024;

impl Kept {
    pub(super) fn find(&self, asked: &Information) -> Option<Response> {
        let is_same = |(items, room, _): &&(Vec<u8>, u32, Response)| {
            (items, *room) == (&asked.items, asked.buffer_length.0)
        };
        self.answers.iter().find(is_same).map(|(.., response)| response.clone())
    }

    pub(super) fn keep(&mut self, asked: Information, response: Response) {
        let bytes = asked.items.len() + response.data.len();
        if self.answers.len() < KEPT_WITH_ONE_MAX && bytes <= KEPT_BYTES_MAX {
            self.answers.push((asked.items, asked.buffer_length.0, response));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_change_is_not_constant() {
        assert!(is_constant(&[item::ISC_VERSION, item::ODS_VERSION, 1]));
        assert!(!is_constant(&[item::ISC_VERSION, item::OLDEST_ACTIVE, 1]));
        assert!(!is_constant(&[item::ATTACHMENT_ID]));
        assert!(!is_constant(&[1]));
        assert!(is_constant_of_attachment(&[item::ATTACHMENT_ID, item::ODS_VERSION]));
        assert!(!is_constant_of_attachment(&[item::ATTACHMENT_ID, item::OLDEST_ACTIVE]));
        assert!(is_constant_of_transaction(&[transaction::TRA_ID, 1]));
        assert!(!is_constant_of_transaction(&[transaction::TRA_ID, transaction::TRA_OLDEST_ACTIVE]));
        assert!(!is_constant_of_transaction(&[transaction::TRA_SNAPSHOT_NUMBER]));
    }
}
