//! With which collation data the index entries of a database were made.
//!
//! The sort keys of an index are bytes that a collation makes of texts: see [`farbird_types::collation::version`]. A
//! database file names the versions its entries were made with. If this program has others, the indexes that depend on
//! them are made anew before anybody uses the database (`ddl::collation_data`); until then a check leaves them out.

use farbird_types::collation::{self, version};
use farbird_types::{Collation, SqlType};
use serde::{Deserialize, Serialize};

/// Versions of the data that orders go by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CollationData {
    /// Of the Unicode collations: [`version::UNICODE`].
    pub unicode: String,
    /// Of the national ones: [`version::NATIONAL`].
    pub national: String,
}

impl CollationData {
    /// What this program has.
    pub fn current() -> CollationData {
        CollationData { unicode: version::UNICODE.to_owned(), national: version::NATIONAL.to_owned() }
    }

    /// What files say that were made before they named it.
    pub fn unknown() -> CollationData {
        CollationData { unicode: String::new(), national: String::new() }
    }

    /// Whether keys of this type are others now.
    pub(crate) fn has_changed(&self, sql_type: &SqlType) -> bool {
        let (set, collation) = match sql_type {
            SqlType::Text(text) => (text.character_set, text.collation),
            _ => return false,
        };
        let is_unicode = collation::depends_on_unicode(set, collation);
        match collation {
            Collation(0) => false,
            _ if is_unicode => self.unicode != version::UNICODE,
            _ => self.national != version::NATIONAL,
        }
    }
}
