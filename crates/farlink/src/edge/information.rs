//! Questions about a database whose answers cannot change while its server runs.

use std::sync::Arc;

use farbird_wire::info::database as item;

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
    let end = items.iter().position(|item| *item == 1).unwrap_or(items.len());
    let asked = items.get(..end).unwrap_or_default();
    !asked.is_empty()
        && asked.iter().all(|asked| {
            matches!(
                *asked,
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
        })
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
    }
}
