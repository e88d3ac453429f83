//! Types by the names that a database gives them.

use farbird_sql::ast::DataType;
use farbird_types::{CharacterSet, Result, SqlType};

/// What a session asks of the database that it is attached to when somebody writes a type. The catalog answers.
pub trait TypeNames {
    /// A type as it is written: a domain's, a column's, or a type of the language.
    ///
    /// # Errors
    /// Those of what there is not: domains, columns, character sets, lengths.
    fn declared(&self, data_type: &DataType) -> Result<SqlType>;

    /// Character set of texts that name none.
    fn default_character_set(&self) -> CharacterSet;
}
