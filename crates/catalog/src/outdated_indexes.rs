//! The indexes whose entries were made with other collation data than this program's.

use crate::layout::collation_of;
use crate::{Catalog, CollationData, Index, Relation};

impl CollationData {
    /// Whether an index's entries may be others now. Of expressions and conditions the columns they look at are taken to
    /// say it, and any of the table's.
    pub fn outdates(&self, relation: &Relation, index: &Index) -> bool {
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
    pub fn outdated_indexes(&self) -> impl Iterator<Item = (&Relation, &Index)> {
        let data = &self.database.collation_data;
        self.relations
            .values()
            .flat_map(|relation| relation.indexes.iter().map(move |index| (relation.as_ref(), index)))
            .filter(move |(relation, index)| data.outdates(relation, index))
    }
}
