//! What kind of column an expression is compiled for.

use farbird_types::{ExactWidth, SqlType};
use farbird_vector::{Column, Unit, Vectors};

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum ColumnKind {
    Numbers(Unit),
    Doubles,
    Floats,
    Truths,
    /// Values of a type; NULL's type stands for one that is not known.
    Values(SqlType),
}

impl ColumnKind {
    /// Of a table's column of a type.
    pub(crate) fn of_type(sql_type: &SqlType) -> ColumnKind {
        match sql_type {
            SqlType::Exact { width: ExactWidth::Int128, .. } => ColumnKind::Values(*sql_type),
            SqlType::Exact { scale, .. } => ColumnKind::Numbers(Unit::Exact(*scale)),
            SqlType::Date => ColumnKind::Numbers(Unit::Date),
            SqlType::Time => ColumnKind::Numbers(Unit::Time),
            SqlType::Timestamp => ColumnKind::Numbers(Unit::Timestamp),
            SqlType::Double => ColumnKind::Doubles,
            SqlType::Float => ColumnKind::Floats,
            SqlType::Boolean => ColumnKind::Truths,
            other => ColumnKind::Values(*other),
        }
    }

    /// Of the columns that an operator has handed out. Those that are not there are of no known type.
    pub(crate) fn of_vectors(vectors: &Vectors) -> Vec<ColumnKind> {
        let kind = |column: &Option<Column<'static>>| match column {
            Some(Column::Numbers(_, unit)) => ColumnKind::Numbers(*unit),
            Some(Column::Doubles(_)) => ColumnKind::Doubles,
            Some(Column::Floats(_)) => ColumnKind::Floats,
            Some(Column::Truths(_)) => ColumnKind::Truths,
            Some(Column::Values(_)) | None => ColumnKind::Values(SqlType::Null),
        };
        vectors.columns().iter().map(kind).collect()
    }
}
