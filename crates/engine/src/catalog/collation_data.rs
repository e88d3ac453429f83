//! With which collation data the index entries of a database were made.
//!
//! The sort keys of an index are bytes that a collation makes of texts: see [`farbird_types::collation::version`]. A
//! database file names the versions its entries were made with. If this program has others, the indexes that depend on
//! them are made anew before anybody uses the database (`ddl::collation_data`); until then a check leaves them out.

use farbird_types::collation::{self, version};
use farbird_types::{Collation, SqlType};
use serde::{Deserialize, Serialize};

use crate::catalog::layout::collation_of;
use crate::catalog::{Catalog, Index, Relation};

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
    pub(crate) fn unknown() -> CollationData {
        CollationData { unicode: String::new(), national: String::new() }
    }

    /// Whether keys of this type are others now.
    fn has_changed(&self, sql_type: &SqlType) -> bool {
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

    /// Whether an index's entries may be others now. Of expressions and conditions the columns they look at are taken to
    /// say it, and any of the table's.
    pub(crate) fn outdates(&self, relation: &Relation, index: &Index) -> bool {
        if *self == CollationData::current() || !relation.is_stored() || index.inactive {
            return false;
        }
        let computed = index.expression_source.is_some() || index.condition_source.is_some();
        relation
            .columns
            .iter()
            .filter(|column| computed || index.columns.contains(&column.name))
            .any(|column| collation_of(&column.sql_type).0 != 0 && self.has_changed(&column.sql_type))
    }
}

impl Catalog {
    /// The indexes whose entries were made with other collation data than this program's, with their tables.
    pub(crate) fn outdated_indexes(&self) -> impl Iterator<Item = (&Relation, &Index)> {
        let data = &self.database.collation_data;
        self.relations
            .values()
            .flat_map(|relation| relation.indexes.iter().map(move |index| (relation.as_ref(), index)))
            .filter(move |(relation, index)| data.outdates(relation, index))
    }
}
