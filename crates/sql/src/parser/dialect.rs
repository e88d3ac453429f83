//! What the dialects do not have in common: types that a statement's dialect or its database's does not know, and definitions
//! that the two would understand differently.
//!
//! Source: as Firebird 5 refuses and warns in each of the dialects.

use super::cursor::Parser;
use crate::ast::DataTypeKind;
use crate::{Dialect, error};
use farbird_types::{Error, Result, isc};

/// Digits of a NUMERIC that dialect 3 keeps in 64 bits, and dialect 1 in a double.
const WIDE_PRECISIONS: std::ops::RangeInclusive<i32> = 10..=18;
/// SQLCODE of the warning that DATE is a TIMESTAMP.
const SQLCODE_RENAMED: i32 = 301;

impl Parser<'_> {
    /// Refuses a type that came with dialect 3: BIGINT, DATE, TIME.
    ///
    /// # Errors
    /// `isc_sql_dialect_datatype_unsupport` in dialect 1, `isc_sql_db_dialect_dtype_unsupport` in a database of it.
    pub(super) fn check_type_is_known(&self, data_type: &str) -> Result<()> {
        let (rule, dialect) = match self.options {
            options if options.any_type => return Ok(()),
            options if options.dialect == Dialect::One => {
                (isc::SQL_DIALECT_DATATYPE_UNSUPPORT, options.dialect)
            }
            options if options.database == Dialect::One => {
                (isc::SQL_DB_DIALECT_DTYPE_UNSUPPORT, options.database)
            }
            _ => return Ok(()),
        };
        Err(error::no_such_type(rule, dialect, data_type))
    }

    /// DATE as a type: dialect 1's has a time, and dialect 2 does not say which of the two it means.
    pub(super) fn date(&mut self) -> Result<DataTypeKind> {
        let position = self.position();
        self.take();
        self.has_ambiguous_type = true;
        match self.options.dialect {
            Dialect::One => {
                self.warn(Error::new(isc::SQLWARN).with(SQLCODE_RENAMED).and(isc::DTYPE_RENAMED));
                Ok(DataTypeKind::Timestamp)
            }
            Dialect::Two => Err(error::bad_name(isc::TRANSITIONAL_DATE, position)),
            Dialect::Three => Ok(DataTypeKind::Date),
        }
    }

    /// Refuses a NUMERIC of 10 to 18 digits where the dialects of statement and database take it for different types.
    ///
    /// # Errors
    /// `isc_ddl_not_allowed_by_db_sql_dial`.
    pub(super) fn check_numeric(&mut self, precision: i32) -> Result<()> {
        let (dialect, database) = (self.options.dialect, self.options.database);
        if !WIDE_PRECISIONS.contains(&precision) {
            return Ok(());
        }
        if (dialect == Dialect::One) != (database == Dialect::One) {
            return Err(error::definition_of_other_dialect(database));
        }
        if dialect == Dialect::Two {
            self.warn(
                Error::new(isc::DSQL_WARN_PRECISION_AMBIGUOUS)
                    .and(isc::DSQL_WARN_PRECISION_AMBIGUOUS1)
                    .and(isc::DSQL_WARN_PRECISION_AMBIGUOUS2),
            );
        }
        Ok(())
    }

    /// Refuses a definition in another dialect than the database's that means something else there: it is kept as text.
    ///
    /// # Errors
    /// `isc_ddl_not_allowed_by_db_sql_dial`.
    pub(super) fn check_definition_is_clear(&self) -> Result<()> {
        let database = self.options.database;
        if self.is_ambiguous() && self.options.dialect != database {
            return Err(error::definition_of_other_dialect(database));
        }
        Ok(())
    }
}
