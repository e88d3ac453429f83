//! Types as they are written, in the binder's words: the work is the catalog's.

use farbird_catalog::{value_type, with_collation};
use farbird_sql::ast;
use farbird_types::{Collation, Error, Result, SqlType, isc};

use crate::bound::environment::Environment;

/// A type with what a domain adds to it.
pub use farbird_catalog::DeclaredType as ResolvedType;

/// Makes a type of what was written. Texts that name no character set are of the database's default one.
///
/// # Errors
/// Unknown character sets, collations, domains and columns; lengths past the longest.
pub fn resolve(
    environment: &Environment,
    data_type: &ast::DataType,
    collation: Option<&ast::Name>,
) -> Result<ResolvedType> {
    value_type(&environment.catalog, data_type, collation).map_err(as_dsql)
}

/// Outside of the definitions of tables and domains an unknown domain is told of as an error of the statement.
pub fn as_dsql(error: Error) -> Error {
    if error.gds_code() == isc::SQLERR { Error::new(isc::DSQL_ERROR).and_all(error) } else { error }
}

/// The same type with another collation of its character set.
///
/// # Errors
/// `collation_not_found`, or `collation_requires_text` for types without one.
pub fn collated(environment: &Environment, sql_type: &SqlType, name: &ast::Name) -> Result<SqlType> {
    with_collation(&environment.catalog, *sql_type, name)
}

/// The collation of texts of a type; the character set's own order for everything else.
pub fn collation_of(sql_type: &SqlType) -> Collation {
    farbird_catalog::layout::collation_of(sql_type)
}
