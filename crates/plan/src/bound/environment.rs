//! What binding and planning look at besides the statement.

use std::sync::Arc;

use farbird_catalog::{Catalog, Relation};
use farbird_expression::BoundExpression;
use farbird_sql::{Dialect, ParseOptions};
use farbird_types::{CharacterSet, Result};

/// What binding looks at.
#[derive(Debug, Clone)]
pub struct Environment {
    /// What exists.
    pub catalog: Arc<Catalog>,
    /// Character set of the attachment: that of its literals.
    pub character_set: CharacterSet,
    /// SQL dialect of the statement, 1 to 3.
    pub dialect: u8,
    /// Whether queries hurry to their first rows that do not say (OPTIMIZE FOR).
    pub first_rows: bool,
    /// The package whose routine is being compiled: its own routines are seen by their names alone.
    pub package: Option<Arc<str>>,
}

impl Environment {
    /// How sources of definitions are parsed: in the database's dialect.
    pub(crate) fn parse_options(&self) -> ParseOptions {
        ParseOptions::of(Dialect::numbered(self.catalog.database.dialect))
    }
}

/// Whoever binds expressions over the rows of a table, given by slot (field id): the binder, for indexes are computed of
/// such.
pub(crate) trait RowExpressions {
    /// What an index is computed of.
    ///
    /// # Errors
    /// Those of parsing and binding it.
    fn value(&self, relation: &Arc<Relation>, source: &str) -> Result<BoundExpression>;

    /// The condition of a partial index.
    ///
    /// # Errors
    /// As [`RowExpressions::value`].
    fn condition(&self, relation: &Arc<Relation>, source: &str) -> Result<BoundExpression>;
}

/// What planning looks at besides the query.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    /// What exists.
    pub(crate) catalog: &'a Catalog,
    /// What indexes are computed of.
    pub(crate) row_expressions: &'a dyn RowExpressions,
}
