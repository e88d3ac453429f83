//! Statements, and those that change rows.

use crate::ast::data_type::DataType;
use crate::ast::ddl::DdlStatement;
use crate::ast::expression::Expression;
use crate::ast::name::{Name, ObjectName, Position};
use crate::ast::psql::RoutineBody;
use crate::ast::query::{Limit, OrderItem, Plan, Query, SelectItem, SelectStatement, TableReference};
use crate::ast::routine::ParameterDeclaration;
use crate::ast::session::SessionStatement;
use crate::ast::transaction::TransactionStatement;
use farbird_types::Error;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What it is.
    pub kind: StatementKind,
    /// Number of `?` in its text.
    pub parameter_count: u32,
    /// What its client is warned of: what means something else in another dialect.
    pub warnings: Option<Error>,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// SELECT.
    Select(Box<SelectStatement>),
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Box<Update>),
    /// DELETE.
    Delete(Box<Delete>),
    /// UPDATE OR INSERT.
    UpdateOrInsert(Box<UpdateOrInsert>),
    /// MERGE.
    Merge(Box<Merge>),
    /// EXECUTE PROCEDURE.
    ExecuteProcedure(Box<ExecuteProcedure>),
    /// EXECUTE BLOCK.
    ExecuteBlock(Box<ExecuteBlock>),
    /// COMMIT, ROLLBACK, SAVEPOINT, SET TRANSACTION ...
    Transaction(Box<TransactionStatement>),
    /// SET ROLE, SET TIME ZONE, ALTER SESSION RESET ...
    Session(Box<SessionStatement>),
    /// CREATE, ALTER, DROP, GRANT ...
    Ddl(Box<DdlStatement>),
    /// EXPLAIN.
    Explain(Box<Explain>),
}

/// `EXPLAIN [ANALYZE] statement`: Farbird's own.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// ANALYZE: the statement runs, and what its plan does is measured.
    pub analyze: bool,
    /// A statement that reads or changes rows, or calls a routine.
    pub statement: Statement,
}

/// `table [[AS] alias]`: what a statement changes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedTable {
    /// The table or view.
    pub name: Name,
    /// Alias.
    pub alias: Option<Name>,
}

/// INSERT.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Into what.
    pub table: ChangedTable,
    /// The columns, if written.
    pub columns: Option<Vec<Name>>,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// The rows.
    pub source: InsertSource,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Where INSERT stands.
    pub position: Position,
}

/// Rows to insert.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// VALUES (...): one row.
    Values(Vec<AssignedValue>),
    /// A query.
    Query(Box<Query>),
    /// DEFAULT VALUES.
    DefaultValues,
}

/// A value, or DEFAULT.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignedValue {
    /// A value.
    Expression(Expression),
    /// DEFAULT.
    Default(Position),
}

/// What becomes of values for identity columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Overriding {
    /// OVERRIDING USER VALUE: generated values win.
    UserValue,
    /// OVERRIDING SYSTEM VALUE: given values win.
    SystemValue,
}

/// RETURNING items \[INTO targets\].
#[derive(Debug, Clone, PartialEq)]
pub struct Returning {
    /// What is returned; `NEW.` and `OLD.` qualify columns.
    pub items: Vec<SelectItem>,
    /// Where it goes, in PSQL.
    pub into: Vec<Target>,
}

/// Where a value goes: `[:][qualifier.]name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// NEW, or a table's alias.
    pub qualifier: Option<Name>,
    /// The variable, parameter or column.
    pub name: Name,
    /// Written with a colon: certainly a variable.
    pub colon: bool,
}

impl Target {
    /// Where it begins.
    pub fn position(&self) -> Position {
        self.qualifier.as_ref().unwrap_or(&self.name).position
    }
}

/// column = value.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The column.
    pub target: Target,
    /// The value.
    pub value: AssignedValue,
}

/// Which rows UPDATE and DELETE change.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangedRows {
    /// All.
    All,
    /// WHERE condition.
    Where(Expression),
    /// WHERE CURRENT OF cursor.
    CurrentOf(Name),
}

/// UPDATE.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// What.
    pub table: ChangedTable,
    /// SET.
    pub assignments: Vec<Assignment>,
    /// WHERE.
    pub rows: ChangedRows,
    /// PLAN.
    pub plan: Option<Plan>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ROWS.
    pub limit: Option<Limit>,
    /// SKIP LOCKED.
    pub skip_locked: bool,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Where UPDATE stands.
    pub position: Position,
}

/// DELETE.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// From what.
    pub table: ChangedTable,
    /// WHERE.
    pub rows: ChangedRows,
    /// PLAN.
    pub plan: Option<Plan>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ROWS.
    pub limit: Option<Limit>,
    /// SKIP LOCKED.
    pub skip_locked: bool,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Where DELETE stands.
    pub position: Position,
}

/// UPDATE OR INSERT.
#[derive(Debug, Clone, PartialEq)]
pub struct UpdateOrInsert {
    /// Into what.
    pub table: ChangedTable,
    /// The columns, if written.
    pub columns: Option<Vec<Name>>,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// VALUES.
    pub values: Vec<AssignedValue>,
    /// MATCHING; empty: the primary key.
    pub matching: Vec<Name>,
    /// PLAN.
    pub plan: Option<Plan>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ROWS.
    pub limit: Option<Limit>,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Where UPDATE stands.
    pub position: Position,
}

/// MERGE.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// INTO.
    pub target: ChangedTable,
    /// USING.
    pub source: TableReference,
    /// ON.
    pub condition: Expression,
    /// WHEN ..., in the order of the text.
    pub clauses: Vec<MergeClause>,
    /// PLAN.
    pub plan: Option<Plan>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// RETURNING.
    pub returning: Option<Returning>,
    /// Where MERGE stands.
    pub position: Position,
}

/// WHEN ... THEN ...
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// For which rows.
    pub rows: MergeRows,
    /// AND.
    pub condition: Option<Expression>,
    /// THEN.
    pub action: MergeAction,
    /// Where WHEN stands.
    pub position: Position,
}

/// Rows of a MERGE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeRows {
    /// WHEN MATCHED
    Matched,
    /// WHEN NOT MATCHED \[BY TARGET\]
    NotMatchedByTarget,
    /// WHEN NOT MATCHED BY SOURCE
    NotMatchedBySource,
}

/// What MERGE does with a row.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// UPDATE SET ...
    Update(Vec<Assignment>),
    /// DELETE
    Delete,
    /// INSERT \[(columns)\] \[OVERRIDING ...\] VALUES (...)
    Insert {
        /// The columns, if written.
        columns: Option<Vec<Name>>,
        /// OVERRIDING.
        overriding: Option<Overriding>,
        /// VALUES.
        values: Vec<AssignedValue>,
    },
}

/// EXECUTE PROCEDURE.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteProcedure {
    /// Which.
    pub name: ObjectName,
    /// Its inputs.
    pub arguments: Vec<Expression>,
    /// RETURNING_VALUES, in PSQL.
    pub returning_values: Vec<Target>,
    /// Where EXECUTE stands.
    pub position: Position,
}

/// EXECUTE BLOCK.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteBlock {
    /// Its inputs.
    pub parameters: Vec<BlockParameter>,
    /// RETURNS.
    pub returns: Vec<ParameterDeclaration>,
    /// AS ...
    pub body: RoutineBody,
    /// Where EXECUTE stands.
    pub position: Position,
}

/// `name type [NOT NULL] [COLLATE ...] = ?`.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockParameter {
    /// The parameter.
    pub declaration: ParameterDeclaration,
    /// Number of its `?`, from 0.
    pub parameter: u32,
}

/// A declared name with a type: shared by parameters and variables.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedName {
    /// The name.
    pub name: Name,
    /// Its type.
    pub data_type: DataType,
    /// NOT NULL.
    pub not_null: bool,
    /// COLLATE.
    pub collation: Option<Name>,
}
