//! SELECT and its clauses.

use crate::ast::expression::{Expression, WindowSpecification};
use crate::ast::name::{Name, ObjectName, Position};

/// SELECT as a statement: a query with the clauses that only the outermost one may have.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectStatement {
    /// The query.
    pub query: Query,
    /// FOR UPDATE; the columns after OF.
    pub for_update: Option<Vec<ColumnName>>,
    /// WITH LOCK.
    pub with_lock: Option<WithLock>,
    /// OPTIMIZE FOR.
    pub optimize_for: Option<OptimizeFor>,
}

/// WITH LOCK \[SKIP LOCKED\].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WithLock {
    /// SKIP LOCKED: rows that others hold are left out.
    pub skip_locked: bool,
}

/// Which rows the planner should hurry to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OptimizeFor {
    /// OPTIMIZE FOR FIRST ROWS
    FirstRows,
    /// OPTIMIZE FOR ALL ROWS
    AllRows,
}

/// A query: WITH, a body, its order and its limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// WITH.
    pub with: Option<With>,
    /// SELECT, or several combined.
    pub body: QueryBody,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ROWS, or OFFSET and FETCH.
    pub limit: Option<Limit>,
    /// Where it begins.
    pub position: Position,
}

/// WITH \[RECURSIVE\] name AS (query), ...
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// RECURSIVE.
    pub recursive: bool,
    /// At least one.
    pub tables: Vec<CommonTable>,
}

/// name \[(column, ...)\] AS (query).
#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    /// Its name.
    pub name: Name,
    /// Names of its columns, if written.
    pub columns: Vec<Name>,
    /// Its query.
    pub query: Query,
}

/// What a query consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    /// SELECT.
    Select(Box<Select>),
    /// left UNION right.
    Union(Box<Union>),
    /// A query in parentheses, with an order and a limit of its own.
    Nested(Box<Query>),
}

/// left UNION \[ALL | DISTINCT\] right.
#[derive(Debug, Clone, PartialEq)]
pub struct Union {
    /// Left side; UNIONs associate to the left.
    pub left: QueryBody,
    /// Right side.
    pub right: QueryBody,
    /// ALL.
    pub all: bool,
    /// Where UNION stands.
    pub position: Position,
}

/// SELECT without order.
#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// FIRST.
    pub first: Option<Expression>,
    /// SKIP.
    pub skip: Option<Expression>,
    /// DISTINCT.
    pub distinct: bool,
    /// The select list, at least one.
    pub items: Vec<SelectItem>,
    /// FROM, at least one.
    pub from: Vec<TableReference>,
    /// WHERE.
    pub condition: Option<Expression>,
    /// GROUP BY; a whole number is an ordinal of the select list.
    pub group_by: Vec<Expression>,
    /// HAVING.
    pub having: Option<Expression>,
    /// WINDOW.
    pub windows: Vec<NamedWindow>,
    /// PLAN.
    pub plan: Option<Plan>,
    /// Where SELECT stands.
    pub position: Position,
}

/// name AS (specification).
#[derive(Debug, Clone, PartialEq)]
pub struct NamedWindow {
    /// The name.
    pub name: Name,
    /// The window.
    pub specification: WindowSpecification,
}

/// An item of a select list or of RETURNING.
#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    Star(Position),
    /// `qualifier.*`
    QualifiedStar(Name),
    /// `value [[AS] alias]`
    Expression {
        /// The value.
        value: Expression,
        /// Its name.
        alias: Option<Name>,
    },
}

/// `[qualifier.]name`: a column that is named, not computed with.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnName {
    /// Alias or table.
    pub qualifier: Option<Name>,
    /// The column.
    pub name: Name,
}

/// Something that stands in FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableReference {
    /// A table, view, common table or procedure.
    Named(NamedTable),
    /// A query in parentheses.
    Derived(Box<DerivedTable>),
    /// Two joined ones.
    Join(Box<Join>),
}

/// `name[(arguments)] [[AS] alias]`.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTable {
    /// The table, view, common table or procedure.
    pub name: ObjectName,
    /// Arguments of a procedure; none when no parentheses were written.
    pub arguments: Option<Vec<Expression>>,
    /// Alias.
    pub alias: Option<Name>,
}

/// `[LATERAL] (query) [[AS] alias [(column, ...)]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DerivedTable {
    /// LATERAL: may refer to what stands before it in FROM.
    pub lateral: bool,
    /// The query.
    pub query: Query,
    /// Alias.
    pub alias: Option<Name>,
    /// Names of its columns, if written.
    pub columns: Vec<Name>,
    /// Where it begins.
    pub position: Position,
}

/// A join.
#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    /// Left side.
    pub left: TableReference,
    /// Right side.
    pub right: TableReference,
    /// INNER, LEFT ...
    pub kind: JoinKind,
    /// ON, USING, NATURAL.
    pub condition: JoinCondition,
    /// Where the join's first keyword stands.
    pub position: Position,
}

/// Kinds of joins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// \[INNER\] JOIN
    Inner,
    /// LEFT \[OUTER\] JOIN
    Left,
    /// RIGHT \[OUTER\] JOIN
    Right,
    /// FULL \[OUTER\] JOIN
    Full,
    /// CROSS JOIN
    Cross,
}

/// How the sides of a join belong together.
#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    /// CROSS JOIN.
    None,
    /// ON.
    On(Expression),
    /// USING (column, ...).
    Using(Vec<Name>),
    /// NATURAL.
    Natural,
}

/// An item of ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// A value; a whole number is an ordinal of the select list.
    pub value: Expression,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST or NULLS LAST.
    pub nulls: Option<NullsOrder>,
}

/// Where NULLs come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NullsOrder {
    /// NULLS FIRST
    First,
    /// NULLS LAST
    Last,
}

/// How many rows.
#[derive(Debug, Clone, PartialEq)]
pub enum Limit {
    /// `ROWS to` or `ROWS from TO to`: ordinals from 1, both inclusive.
    Rows {
        /// The first row; none: from the beginning.
        from: Option<Box<Expression>>,
        /// The last row.
        to: Box<Expression>,
    },
    /// `OFFSET offset ROWS FETCH FIRST fetch ROWS ONLY`.
    OffsetFetch {
        /// Rows passed over.
        offset: Option<Box<Expression>>,
        /// Rows given; none: all; FETCH FIRST ROW ONLY is 1.
        fetch: Option<Box<Expression>>,
    },
}

/// PLAN: how the user wants the query done.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// `[JOIN | SORT [MERGE] | MERGE | HASH] (item, ...)`; a list without a word is a JOIN.
    Join(Vec<Plan>),
    /// SORT MERGE, MERGE.
    Merge(Vec<Plan>),
    /// HASH.
    Hash(Vec<Plan>),
    /// SORT.
    Sort(Vec<Plan>),
    /// `table [table ...] access`.
    Table {
        /// An alias, with the aliases of the views it stands in before it.
        path: Vec<Name>,
        /// How it is read.
        access: PlanAccess,
    },
}

/// How a table is read.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanAccess {
    /// NATURAL
    Natural,
    /// INDEX (index, ...)
    Index(Vec<Name>),
    /// ORDER index \[INDEX (index, ...)\]
    Order {
        /// The index whose order is followed.
        index: Name,
        /// Indexes that select rows.
        indexes: Vec<Name>,
    },
}
