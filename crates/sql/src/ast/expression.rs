//! Values and predicates; Firebird has one grammar for both, since a predicate is a BOOLEAN value.

use crate::ast::data_type::DataType;
use crate::ast::literal::Literal;
use crate::ast::name::{Name, ObjectName, Position};
use crate::ast::query::{OrderItem, Query};

/// A value or predicate.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// What it is.
    pub kind: ExpressionKind,
    /// Where it begins; for a binary operator, where its left operand begins.
    pub position: Position,
}

impl Expression {
    /// An expression at a position.
    pub fn new(kind: ExpressionKind, position: Position) -> Expression {
        Expression { kind, position }
    }
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum ExpressionKind {
    /// A constant.
    Literal(Literal),
    /// `[qualifier.]name`: a column, or in PSQL a variable, a parameter, a cursor's field, NEW/OLD's field.
    Column {
        /// Alias, table, cursor, NEW or OLD.
        qualifier: Option<Name>,
        /// The column or variable.
        name: Name,
    },
    /// `:[cursor.]name`: a PSQL variable or a cursor's field, even where a column has the same name.
    Variable {
        /// Cursor, NEW or OLD.
        qualifier: Option<Name>,
        /// The variable or field.
        name: Name,
    },
    /// `[qualifier.]RDB$DB_KEY` and `[qualifier.]RDB$RECORD_VERSION`.
    RecordKey {
        /// Alias or table.
        qualifier: Option<Name>,
        /// Which of the two.
        kind: RecordKeyKind,
    },
    /// `array[subscript, ...]`.
    ArrayElement {
        /// The array column or variable.
        array: Box<Expression>,
        /// One per dimension.
        subscripts: Vec<Expression>,
    },
    /// `?`, numbered from 0 in the order of the text.
    Parameter(u32),
    /// CURRENT_USER, ROW_COUNT, INSERTING ...
    ContextVariable(ContextVariable),
    /// RDB$ERROR(item): a property of the exception being handled.
    ErrorContext(ErrorItem),
    /// VALUE: the value a domain's CHECK looks at.
    DomainValue,
    /// `+x` or `-x`.
    Unary {
        /// The sign.
        operator: UnaryOperator,
        /// What it applies to.
        operand: Box<Expression>,
    },
    /// Arithmetic and concatenation.
    Binary {
        /// Left operand.
        left: Box<Expression>,
        /// The operator.
        operator: BinaryOperator,
        /// Right operand.
        right: Box<Expression>,
    },
    /// `left = right` and its siblings.
    Comparison {
        /// Left operand.
        left: Box<Expression>,
        /// The operator.
        operator: ComparisonOperator,
        /// Right operand.
        right: Box<Expression>,
    },
    /// `left = ANY (query)`, `left > ALL (query)`.
    Quantified {
        /// Left operand.
        left: Box<Expression>,
        /// The operator.
        operator: ComparisonOperator,
        /// ANY (also written SOME) or ALL.
        quantifier: Quantifier,
        /// A query of one column.
        query: Box<Query>,
    },
    /// `left IS [NOT] DISTINCT FROM right`.
    Distinct {
        /// Left operand.
        left: Box<Expression>,
        /// Right operand.
        right: Box<Expression>,
        /// IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// `operand [NOT] BETWEEN low AND high`.
    Between {
        /// What is looked at.
        operand: Box<Expression>,
        /// Lower bound, inclusive.
        low: Box<Expression>,
        /// Upper bound, inclusive.
        high: Box<Expression>,
        /// NOT BETWEEN.
        negated: bool,
    },
    /// `operand [NOT] LIKE pattern [ESCAPE escape]`.
    Like {
        /// What is looked at.
        operand: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// A single character.
        escape: Option<Box<Expression>>,
        /// NOT LIKE.
        negated: bool,
    },
    /// `operand [NOT] SIMILAR TO pattern [ESCAPE escape]`.
    SimilarTo {
        /// What is looked at.
        operand: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// A single character.
        escape: Option<Box<Expression>>,
        /// NOT SIMILAR TO.
        negated: bool,
    },
    /// `operand [NOT] STARTING [WITH] prefix`.
    StartingWith {
        /// What is looked at.
        operand: Box<Expression>,
        /// The prefix.
        prefix: Box<Expression>,
        /// NOT STARTING.
        negated: bool,
    },
    /// `operand [NOT] CONTAINING part`.
    Containing {
        /// What is looked at.
        operand: Box<Expression>,
        /// The part.
        part: Box<Expression>,
        /// NOT CONTAINING.
        negated: bool,
    },
    /// `operand [NOT] IN (item, ...)`.
    InList {
        /// What is looked at.
        operand: Box<Expression>,
        /// At least one.
        list: Vec<Expression>,
        /// NOT IN.
        negated: bool,
    },
    /// `operand [NOT] IN (query)`.
    InQuery {
        /// What is looked at.
        operand: Box<Expression>,
        /// A query of one column.
        query: Box<Query>,
        /// NOT IN.
        negated: bool,
    },
    /// `EXISTS (query)`.
    Exists(Box<Query>),
    /// `SINGULAR (query)`: exactly one row.
    Singular(Box<Query>),
    /// `operand IS [NOT] NULL`.
    IsNull {
        /// What is looked at.
        operand: Box<Expression>,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `operand IS [NOT] TRUE | FALSE | UNKNOWN`.
    IsTruth {
        /// What is looked at.
        operand: Box<Expression>,
        /// What it is compared to.
        truth: Truth,
        /// IS NOT.
        negated: bool,
    },
    /// `NOT operand`.
    Not(Box<Expression>),
    /// `a AND b AND ...`: two or more, in the order of the text.
    And(Vec<Expression>),
    /// `a OR b OR ...`: two or more, in the order of the text.
    Or(Vec<Expression>),
    /// CASE.
    Case(Box<Case>),
    /// `CAST(operand AS type [FORMAT format])`.
    Cast {
        /// What is converted.
        operand: Box<Expression>,
        /// To which type.
        target: Box<DataType>,
        /// Date and time template.
        format: Option<String>,
    },
    /// `EXTRACT(part FROM operand)`.
    Extract {
        /// Which part.
        part: DatePart,
        /// A date, time or timestamp.
        operand: Box<Expression>,
    },
    /// `SUBSTRING(operand FROM start [FOR length])`.
    Substring {
        /// The text.
        operand: Box<Expression>,
        /// First character, from 1.
        start: Box<Expression>,
        /// Number of characters.
        length: Option<Box<Expression>>,
    },
    /// `SUBSTRING(operand SIMILAR pattern ESCAPE escape)`.
    SubstringSimilar {
        /// The text.
        operand: Box<Expression>,
        /// The pattern.
        pattern: Box<Expression>,
        /// A single character.
        escape: Box<Expression>,
    },
    /// `TRIM([[LEADING | TRAILING | BOTH] [what] FROM] operand)`.
    Trim {
        /// Which ends; BOTH when nothing was written.
        side: TrimSide,
        /// What is taken off; spaces when nothing was written.
        what: Option<Box<Expression>>,
        /// The text.
        operand: Box<Expression>,
    },
    /// `OVERLAY(operand PLACING replacement FROM start [FOR length])`.
    Overlay {
        /// The text.
        operand: Box<Expression>,
        /// What is put in.
        replacement: Box<Expression>,
        /// First character replaced, from 1.
        start: Box<Expression>,
        /// Number of characters replaced.
        length: Option<Box<Expression>>,
    },
    /// `DATEADD(amount part TO operand)`, `DATEADD(part, amount, operand)`.
    DateAdd {
        /// The unit.
        part: DatePart,
        /// How many of them.
        amount: Box<Expression>,
        /// The moment.
        operand: Box<Expression>,
    },
    /// `DATEDIFF(part FROM from TO to)`, `DATEDIFF(part, from, to)`.
    DateDiff {
        /// The unit.
        part: DatePart,
        /// The earlier moment.
        from: Box<Expression>,
        /// The later moment.
        to: Box<Expression>,
    },
    /// `FIRST_DAY(OF part FROM operand)` and `LAST_DAY`.
    PeriodDay {
        /// LAST_DAY.
        last: bool,
        /// YEAR, QUARTER, MONTH or WEEK.
        part: DatePart,
        /// The moment.
        operand: Box<Expression>,
    },
    /// A call with plain arguments: UPPER, POSITION, COALESCE, DECODE, IIF, NULLIF, GEN_ID's siblings, stored and
    /// external functions.
    Function(Box<FunctionCall>),
    /// HASH, CRYPT_HASH, ENCRYPT, RSA_ENCRYPT ...: calls whose arguments have keywords.
    KeywordFunction(Box<KeywordFunctionCall>),
    /// COUNT, SUM, LIST ...
    Aggregate(Box<AggregateCall>),
    /// A call with OVER.
    Window(Box<WindowCall>),
    /// `NEXT VALUE FOR sequence` (`step` is none) and `GEN_ID(sequence, step)`.
    Sequence {
        /// The sequence.
        name: Name,
        /// How far to go.
        step: Option<Box<Expression>>,
    },
    /// `(query)` as a value: one row, one column.
    Subquery(Box<Query>),
    /// `operand COLLATE collation`.
    Collate {
        /// A text.
        operand: Box<Expression>,
        /// The collation.
        collation: Name,
    },
    /// `operand AT TIME ZONE zone` (`zone` given) and `operand AT LOCAL`.
    AtTimeZone {
        /// A time or timestamp.
        operand: Box<Expression>,
        /// Name or displacement of a zone.
        zone: Option<Box<Expression>>,
    },
    /// `RDB$SYSTEM_PRIVILEGE(privilege)`.
    SystemPrivilege(Name),
}

/// Names that a record goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKeyKind {
    /// RDB$DB_KEY.
    DbKey,
    /// RDB$RECORD_VERSION.
    RecordVersion,
}

/// Values that the attachment, the transaction or the running routine knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContextVariable {
    /// CURRENT_USER, USER.
    CurrentUser,
    /// CURRENT_ROLE.
    CurrentRole,
    /// CURRENT_CONNECTION.
    CurrentConnection,
    /// CURRENT_TRANSACTION.
    CurrentTransaction,
    /// CURRENT_DATE.
    CurrentDate,
    /// CURRENT_TIME\[(precision)\]: with time zone; 0 digits when nothing was written.
    CurrentTime {
        /// Digits of the second's fraction, 0 to 3.
        precision: u8,
    },
    /// CURRENT_TIMESTAMP\[(precision)\]: with time zone; 3 digits when nothing was written.
    CurrentTimestamp {
        /// Digits of the second's fraction, 0 to 3.
        precision: u8,
    },
    /// LOCALTIME\[(precision)\]; 0 digits when nothing was written.
    LocalTime {
        /// Digits of the second's fraction, 0 to 3.
        precision: u8,
    },
    /// LOCALTIMESTAMP\[(precision)\]; 3 digits when nothing was written.
    LocalTimestamp {
        /// Digits of the second's fraction, 0 to 3.
        precision: u8,
    },
    /// ROW_COUNT.
    RowCount,
    /// GDSCODE.
    GdsCode,
    /// SQLCODE.
    SqlCode,
    /// SQLSTATE.
    SqlState,
    /// INSERTING.
    Inserting,
    /// UPDATING.
    Updating,
    /// DELETING.
    Deleting,
    /// RESETTING.
    Resetting,
}

/// What RDB$ERROR can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorItem {
    /// GDSCODE.
    GdsCode,
    /// SQLCODE.
    SqlCode,
    /// SQLSTATE.
    SqlState,
    /// EXCEPTION: the name of a user-defined exception.
    Exception,
    /// MESSAGE.
    Message,
}

/// Signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOperator {
    /// `+`
    Plus,
    /// `-`
    Minus,
}

/// Arithmetic and concatenation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `||`
    Concatenate,
}

/// Comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    /// `=`
    Equal,
    /// `<>`, `!=`, `~=`, `^=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`, `!>`, `~>`, `^>`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`, `!<`, `~<`, `^<`
    GreaterOrEqual,
}

/// How many rows of a query a comparison must hold for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantifier {
    /// ANY, SOME.
    Any,
    /// ALL.
    All,
}

/// Truth values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truth {
    /// TRUE
    True,
    /// FALSE
    False,
    /// UNKNOWN
    Unknown,
}

/// CASE.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What simple CASE compares with each WHEN; none for searched CASE.
    pub operand: Option<Expression>,
    /// WHEN and THEN, at least one.
    pub branches: Vec<CaseBranch>,
    /// ELSE.
    pub otherwise: Option<Expression>,
}

/// WHEN condition THEN result.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    /// A value (simple CASE) or predicate (searched CASE).
    pub when: Expression,
    /// The result.
    pub then: Expression,
}

/// Parts of a date or time, and units of date arithmetic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DatePart {
    /// YEAR
    Year,
    /// QUARTER
    Quarter,
    /// MONTH
    Month,
    /// WEEK
    Week,
    /// DAY
    Day,
    /// WEEKDAY
    Weekday,
    /// YEARDAY
    Yearday,
    /// HOUR
    Hour,
    /// MINUTE
    Minute,
    /// SECOND
    Second,
    /// MILLISECOND
    Millisecond,
    /// TIMEZONE_HOUR
    TimezoneHour,
    /// TIMEZONE_MINUTE
    TimezoneMinute,
    /// TIMEZONE_NAME
    TimezoneName,
}

/// Which ends TRIM looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrimSide {
    /// BOTH
    Both,
    /// LEADING
    Leading,
    /// TRAILING
    Trailing,
}

/// A call with plain arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    /// The function; names of built-in functions are in upper case, as written (CEIL and CEILING stay two names).
    pub name: ObjectName,
    /// The arguments.
    pub arguments: Vec<Expression>,
}

/// A call whose arguments have keywords: `ENCRYPT(text USING AES MODE CBC KEY key IV iv)`.
#[derive(Debug, Clone, PartialEq)]
pub struct KeywordFunctionCall {
    /// HASH, CRYPT_HASH, ENCRYPT, DECRYPT, RSA_PRIVATE, RSA_PUBLIC, RSA_ENCRYPT, RSA_DECRYPT, RSA_SIGN_HASH,
    /// RSA_VERIFY_HASH.
    pub name: Name,
    /// The argument before all keywords.
    pub operand: Expression,
    /// The others, in the order of the text.
    pub arguments: Vec<KeywordArgument>,
}

/// KEYWORD value.
#[derive(Debug, Clone, PartialEq)]
pub struct KeywordArgument {
    /// USING, MODE, KEY, IV, CTR_LENGTH, CTR_BIG_ENDIAN, CTR_LITTLE_ENDIAN, COUNTER, LPARAM, HASH, SALT_LENGTH,
    /// SIGNATURE, PKCS_1_5.
    pub keyword: Name,
    /// What follows it.
    pub value: KeywordArgumentValue,
}

/// What follows a keyword in a call.
#[derive(Debug, Clone, PartialEq)]
pub enum KeywordArgumentValue {
    /// Nothing: a switch.
    None,
    /// A name: an algorithm or mode.
    Name(Name),
    /// A value.
    Expression(Expression),
}

/// An aggregate (or, inside [`WindowCall`], a window function).
#[derive(Debug, Clone, PartialEq)]
pub struct AggregateCall {
    /// COUNT, SUM, AVG, MIN, MAX, LIST, VAR_POP, CORR, REGR_SLOPE, ROW_NUMBER, RANK, LAG ...
    pub function: Name,
    /// DISTINCT.
    pub distinct: bool,
    /// What it is applied to.
    pub arguments: AggregateArguments,
    /// WITHIN GROUP (ORDER BY ...).
    pub within_group: Vec<OrderItem>,
    /// FILTER (WHERE ...).
    pub filter: Option<Expression>,
}

/// Arguments of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregateArguments {
    /// COUNT(*).
    Star,
    /// Values; none for ROW_NUMBER() and its like.
    List(Vec<Expression>),
}

/// A call with OVER.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    /// The function.
    pub call: AggregateCall,
    /// FROM LAST of NTH_VALUE.
    pub from_last: bool,
    /// The window.
    pub over: Over,
}

/// What follows OVER.
#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    /// A window of the WINDOW clause.
    Name(Name),
    /// `( ... )`.
    Specification(WindowSpecification),
}

/// A window.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WindowSpecification {
    /// The named window that this one refines.
    pub base: Option<Name>,
    /// PARTITION BY.
    pub partition_by: Vec<Expression>,
    /// ORDER BY.
    pub order_by: Vec<OrderItem>,
    /// ROWS or RANGE.
    pub frame: Option<WindowFrame>,
}

/// The rows of a window around the current one.
#[derive(Debug, Clone, PartialEq)]
pub struct WindowFrame {
    /// ROWS or RANGE.
    pub unit: FrameUnit,
    /// First bound.
    pub start: FrameBound,
    /// Bound after AND; without BETWEEN none, which means CURRENT ROW.
    pub end: Option<FrameBound>,
    /// EXCLUDE.
    pub exclusion: FrameExclusion,
}

/// What frames count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameUnit {
    /// ROWS
    Rows,
    /// RANGE
    Range,
}

/// One end of a frame.
#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    /// UNBOUNDED PRECEDING
    UnboundedPreceding,
    /// value PRECEDING
    Preceding(Box<Expression>),
    /// CURRENT ROW
    CurrentRow,
    /// value FOLLOWING
    Following(Box<Expression>),
    /// UNBOUNDED FOLLOWING
    UnboundedFollowing,
}

/// Which rows of a frame are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum FrameExclusion {
    /// EXCLUDE NO OTHERS
    #[default]
    NoOthers,
    /// EXCLUDE CURRENT ROW
    CurrentRow,
    /// EXCLUDE GROUP
    Group,
    /// EXCLUDE TIES
    Ties,
}
