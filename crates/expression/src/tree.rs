//! Bound expressions: names are positions, types are known, conversions are explicit.
//!
//! An expression looks at the row it is evaluated on ([`Expression::Column`]), at values that an enclosing part of
//! the plan put into the frame ([`Expression::Register`]) and at parameters. It is immutable and shared; state stands
//! in the [`Frame`](crate::Frame).

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use farbird_sql::ast::{ComparisonOperator, ContextVariable, ErrorItem, Quantifier, Truth};
use farbird_types::arithmetic::ArithmeticOperator;
use farbird_types::{Collation, ColumnType, SqlType, Value};

use crate::frame_size::FrameSize;
use crate::whole::WholeProgram;
use farbird_catalog::Routine;
use farbird_function::{ScalarFunction, Signature};

/// A value to be computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant.
    Constant(Value),
    /// A value of the row at hand.
    Column(usize),
    /// A value that an enclosing part of the plan took from its row.
    Register(usize),
    /// A parameter of the statement, or a variable of the PSQL frame.
    Parameter(usize),
    /// Conversion, as CAST and assignments do it.
    Cast {
        /// What is converted.
        operand: Box<Expression>,
        /// To what.
        to: SqlType,
    },
    /// A value that a domain must allow: CAST to the domain.
    Constrained {
        /// The value, of the domain's type.
        operand: Box<Expression>,
        /// What is allowed.
        constraint: Arc<DomainConstraint>,
    },
    /// `+ - * /`
    Arithmetic {
        /// The operator.
        operator: ArithmeticOperator,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// Type of the result.
        result: SqlType,
    },
    /// `-x`
    Negate(Box<Expression>),
    /// `left || right`
    Concatenate {
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// Type of the result; a BLOB if either operand is one.
        result: SqlType,
    },
    /// `left = right` and its siblings.
    Comparison {
        /// The operator.
        operator: ComparisonOperator,
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// Order of texts.
        collation: Collation,
    },
    /// `left IS DISTINCT FROM right`
    Distinct {
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// Order of texts.
        collation: Collation,
    },
    /// `operand BETWEEN low AND high`; the operand is evaluated once.
    Between {
        /// What is looked at.
        operand: Box<Expression>,
        /// Lower bound.
        low: Box<Expression>,
        /// Upper bound.
        high: Box<Expression>,
        /// Order of texts.
        collation: Collation,
    },
    /// `operand IN (list)`
    InList {
        /// What is looked at.
        operand: Box<Expression>,
        /// The values.
        list: Vec<Expression>,
        /// Order of texts.
        collation: Collation,
    },
    /// LIKE, STARTING WITH, CONTAINING, SIMILAR TO.
    Pattern(Box<PatternMatch>),
    /// `SUBSTRING(operand SIMILAR pattern ESCAPE escape)`
    SubstringSimilar {
        /// Operand, pattern and escape.
        pattern: Box<PatternMatch>,
        /// Type of the result.
        result: SqlType,
    },
    /// `operand IS NULL`
    IsNull(Box<Expression>),
    /// `operand IS TRUE`, `IS FALSE`, `IS UNKNOWN`
    IsTruth {
        /// What is looked at.
        operand: Box<Expression>,
        /// What it is compared to.
        truth: Truth,
    },
    /// `NOT operand`
    Not(Box<Expression>),
    /// All are true.
    And(Vec<Expression>),
    /// One is true.
    Or(Vec<Expression>),
    /// Searched CASE.
    Case {
        /// Condition and result, in order.
        branches: Vec<(Expression, Expression)>,
        /// ELSE.
        otherwise: Box<Expression>,
    },
    /// Simple CASE, DECODE; the operand is evaluated once.
    SimpleCase {
        /// What is compared.
        operand: Box<Expression>,
        /// Value and result, in order.
        branches: Vec<(Expression, Expression)>,
        /// ELSE.
        otherwise: Box<Expression>,
        /// Order of texts.
        collation: Collation,
    },
    /// The first that is not NULL.
    Coalesce(Vec<Expression>),
    /// A built-in function.
    Function {
        /// Which.
        function: FunctionReference,
        /// Its arguments.
        arguments: Vec<Expression>,
        /// Types of the arguments and of the result.
        signature: Box<Signature>,
    },
    /// A stored function.
    Routine {
        /// Which.
        routine: Arc<Routine>,
        /// Its arguments, converted to the types of its parameters; defaults filled in.
        arguments: Vec<Expression>,
    },
    /// A function declared in the routine that the expression stands in: its number is the routine's matter.
    LocalRoutine {
        /// Its number within the routine.
        number: usize,
        /// Its arguments, converted.
        arguments: Vec<Expression>,
    },
    /// NEXT VALUE FOR, GEN_ID.
    Sequence {
        /// Its number in the store.
        sequence: farbird_store::SequenceId,
        /// How far to go; 0 only reads.
        step: Box<Expression>,
        /// Whether the result is INTEGER (dialect 1) rather than BIGINT.
        short: bool,
    },
    /// A query as a value or predicate.
    Subquery(Box<Subquery>),
    /// CURRENT_USER, ROW_COUNT ...
    Context(ContextVariable),
    /// RDB$ERROR.
    ErrorContext(ErrorItem),
    /// `operand AT TIME ZONE zone`; without a zone AT LOCAL.
    AtTimeZone {
        /// A time or timestamp.
        operand: Box<Expression>,
        /// The zone.
        zone: Option<Box<Expression>>,
    },
    /// RDB$DB_KEY: eight bytes made of a relation's number and the row number that the operand gives.
    DbKey {
        /// RDB$RELATION_ID.
        relation: u32,
        /// The row number, or NULL on the empty side of an outer join.
        row: Box<Expression>,
    },
    /// RDB$RECORD_VERSION: the transaction that wrote the version of a row which the statement sees.
    RecordVersion {
        /// RDB$RELATION_ID.
        relation: u32,
        /// The row number, or NULL on the empty side of an outer join.
        row: Box<Expression>,
    },
    /// An aggregate of the query being bound, by number. Only while binding: becomes a column.
    Aggregate(usize),
    /// A window function of the query being bound, by number. Only while binding: becomes a column.
    Window(usize),
}

/// A built-in function; equal if it is the same one.
#[derive(Clone, Copy)]
pub struct FunctionReference(pub &'static ScalarFunction);

impl PartialEq for FunctionReference {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl std::fmt::Debug for FunctionReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

/// Which of the pattern predicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternKind {
    /// LIKE
    Like,
    /// LIKE of a text of bytes: Firebird knows no `%` and `_` in those.
    LikeBytes,
    /// STARTING WITH
    Starting,
    /// CONTAINING: case never counts.
    Containing,
    /// SIMILAR TO
    Similar,
    /// SUBSTRING ... SIMILAR: three patterns, of which the second one says what is wanted.
    SubstringSimilar,
}

/// LIKE and its relatives.
#[derive(Debug, Clone)]
pub struct PatternMatch {
    /// Which of them.
    pub kind: PatternKind,
    /// What is looked at.
    pub operand: Expression,
    /// The pattern.
    pub pattern: Expression,
    /// ESCAPE.
    pub escape: Option<Expression>,
    /// Order of texts: says whether case and accents count.
    pub collation: Collation,
    /// Place of the compiled pattern in the frame.
    pub place: usize,
}

impl PartialEq for PatternMatch {
    /// Where the compiled pattern is kept does not matter.
    fn eq(&self, other: &Self) -> bool {
        let PatternMatch { kind, operand, pattern, escape, collation, place: _ } = self;
        *kind == other.kind
            && *operand == other.operand
            && *pattern == other.pattern
            && *escape == other.escape
            && *collation == other.collation
    }
}

/// A query inside an expression.
#[derive(Debug, Clone)]
pub struct Subquery {
    /// Place of its operators in the frame.
    pub place: usize,
    /// What is asked of its rows.
    pub kind: SubqueryKind,
    /// The plan of the query, as the planner has made it.
    pub plan: Arc<dyn Subplan>,
    /// What it takes from the enclosing row: register and value. Without any (and without side effects) its result is
    /// kept for the whole statement.
    pub captures: Vec<(usize, Expression)>,
    /// Whether its result may be kept.
    pub invariant: bool,
    /// Whether its result depends on nothing but `captures`: it may be kept for their values.
    pub repeatable: bool,
}

/// The plan of a query inside an expression: the planner's own matter, which finds it again by its type.
pub trait Subplan: Any + Debug + Send + Sync {}

impl PartialEq for Subquery {
    /// Subqueries are never merged: each place is its own.
    fn eq(&self, other: &Self) -> bool {
        self.place == other.place && self.captures == other.captures
    }
}

/// What is asked of the rows of a subquery.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryKind {
    /// The one value of its one row; NULL without a row; an error with several.
    Scalar,
    /// EXISTS.
    Exists,
    /// SINGULAR.
    Singular,
    /// `operand operator ANY | ALL (query)`; IN is `= ANY`.
    Quantified {
        /// Left operand.
        operand: Box<Expression>,
        /// The comparison.
        operator: ComparisonOperator,
        /// ANY or ALL.
        quantifier: Quantifier,
        /// Order of texts.
        collation: Collation,
        /// What the column's values are converted to before they are kept: texts of another character set than the
        /// collation's.
        column: Option<SqlType>,
    },
}

/// NOT NULL and CHECK of a domain.
#[derive(Debug, Clone)]
pub struct DomainConstraint {
    /// The domain's name.
    pub domain: String,
    /// NOT NULL.
    pub not_null: bool,
    /// CHECK, over a row of just the value.
    pub check: Option<BoundExpression>,
}

impl PartialEq for DomainConstraint {
    fn eq(&self, other: &Self) -> bool {
        self.domain == other.domain
    }
}

/// An expression ready to be evaluated by itself: a PSQL condition, a default, a computed value.
#[derive(Debug, Clone)]
pub struct BoundExpression {
    /// The expression.
    pub expression: Arc<Expression>,
    /// Its type.
    pub column_type: ColumnType,
    /// What its frame needs.
    pub frame: FrameSize,
    /// Its quick way, if it has one.
    pub(crate) program: Option<Arc<WholeProgram>>,
}

impl Expression {
    /// NULL.
    pub const NULL: Expression = Expression::Constant(Value::Null);

    /// The conjunction of conditions; TRUE of none.
    pub fn all(mut conditions: Vec<Expression>) -> Expression {
        match conditions.len() {
            0 => Expression::Constant(Value::Boolean(true)),
            1 => conditions.swap_remove(0),
            _ => Expression::And(conditions),
        }
    }

    /// This expression's conjuncts.
    pub fn into_conjuncts(self, out: &mut Vec<Expression>) {
        match self {
            Expression::And(parts) => parts.into_iter().for_each(|part| part.into_conjuncts(out)),
            other => out.push(other),
        }
    }

    /// Converted to a type, unless it is of that type already.
    #[must_use]
    pub fn converted(self, from: &SqlType, to: &SqlType) -> Expression {
        if from == to {
            return self;
        }
        Expression::Cast { operand: Box::new(self), to: *to }
    }
}
