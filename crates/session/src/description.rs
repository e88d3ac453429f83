//! What a statement is said to be and to have done.

use farbird_types::ColumnType;

/// Kind of a prepared statement (`isc_info_sql_stmt_*`; wire-protocol.md, 11.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// SELECT, EXECUTE BLOCK with SUSPEND, RETURNING with a cursor.
    Select = 1,
    /// INSERT.
    Insert = 2,
    /// UPDATE.
    Update = 3,
    /// DELETE.
    Delete = 4,
    /// DDL and session commands.
    Ddl = 5,
    /// EXECUTE PROCEDURE, EXECUTE BLOCK without SUSPEND, singleton RETURNING.
    ExecuteProcedure = 8,
    /// SET TRANSACTION.
    StartTransaction = 9,
    /// COMMIT.
    Commit = 10,
    /// ROLLBACK.
    Rollback = 11,
    /// SELECT ... FOR UPDATE.
    SelectForUpdate = 12,
    /// SET GENERATOR.
    SetGenerator = 13,
    /// SAVEPOINT and its relatives.
    Savepoint = 14,
}

/// A column of a result or a parameter of a statement, as prepare describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDescription {
    /// Type and nullability.
    pub column_type: ColumnType,
    /// Source column's name, or the expression's (`ADD`, `COUNT`).
    pub field: String,
    /// Source relation's name, or empty.
    pub relation: String,
    /// Alias of the relation in the query, or empty.
    pub relation_alias: String,
    /// Owner of the source relation, or empty.
    pub owner: String,
    /// Label of the column: its alias, or its name.
    pub alias: String,
}

/// What prepare found out about a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementDescription {
    /// Kind.
    pub kind: StatementKind,
    /// Parameters in order.
    pub parameters: Vec<ColumnDescription>,
    /// Result columns.
    pub columns: Vec<ColumnDescription>,
    /// Whether executing it opens a cursor (as opposed to handing back one row, or none).
    pub has_cursor: bool,
    /// Access plan in Firebird's short form (`PLAN (T NATURAL)`), or empty.
    pub plan: String,
    /// Access plan in Firebird's explained form, or empty.
    pub explained_plan: String,
}

/// Rows a statement touched (`isc_info_sql_records`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordCounts {
    /// Rows handed to the client.
    pub selected: u64,
    /// Rows inserted.
    pub inserted: u64,
    /// Rows updated.
    pub updated: u64,
    /// Rows deleted.
    pub deleted: u64,
}
