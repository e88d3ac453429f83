//! What a request says.

use farbird_types::{SqlType, Value};

/// A request.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The messages that it declares, in order of appearance; no two of one number.
    pub messages: Vec<Message>,
    /// What it does.
    pub body: Statement,
}

/// A message: what a request receives or sends in one piece.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Its number.
    pub number: u8,
    /// Its items.
    pub items: Vec<Item>,
}

/// A type of a message's item, of a cast, of a constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Item {
    /// The type. The length of a text is in bytes if nobody said its character set.
    pub sql_type: SqlType,
    /// Whether it is a text of the attachment's character set (nobody said one).
    pub of_attachment: bool,
}

/// A number under which the fields of a record source are known.
pub type Context = u8;

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Statement {
    /// One after the other.
    Block(Vec<Statement>),
    /// For each record.
    For {
        /// Of which.
        source: Selection,
        /// What is done.
        body: Box<Statement>,
    },
    /// Fills a message and hands it out.
    Send {
        /// The message.
        message: u8,
        /// What fills it.
        body: Box<Statement>,
    },
    /// Waits for a message, then goes on.
    Receive {
        /// The message.
        message: u8,
        /// What is done with it.
        body: Box<Statement>,
    },
    /// Waits for one of several messages.
    Select(Vec<(u8, Statement)>),
    /// To a parameter or a field.
    Assign {
        /// What.
        value: Expression,
        /// Where to.
        target: Target,
    },
    /// If.
    If {
        /// The condition.
        condition: Condition,
        /// When it is true.
        then: Box<Statement>,
        /// When it is not.
        otherwise: Option<Box<Statement>>,
    },
    /// For ever.
    Loop(Box<Statement>),
    /// Something that can be left.
    Label(u8, Box<Statement>),
    /// Leaves it.
    Leave(u8),
    /// Makes a record.
    Store {
        /// In which relation.
        relation: Relation,
        /// Which values identity columns get, if that is said.
        overriding: Option<Overriding>,
        /// What gives its fields values.
        body: Box<Statement>,
    },
    /// Changes a record of a loop.
    Modify {
        /// The record.
        from: Context,
        /// The record as it is to be.
        to: Context,
        /// What gives its fields values.
        body: Box<Statement>,
    },
    /// Deletes a record of a loop.
    Erase(Context),
}

/// Which values win in identity columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overriding {
    /// Those that the server makes.
    User,
    /// Those that are given.
    System,
}

/// Where a value goes.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A parameter of a message.
    Parameter(Parameter),
    /// A field of a record that is being stored or modified.
    Field(Field),
    /// A variable: nobody reads it here, so what counts is that the value is computed.
    Variable(u16),
}

/// An item of a message, with the item that says whether it is NULL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// The message.
    pub message: u8,
    /// The item.
    pub item: u16,
    /// The item that is not 0 for NULL.
    pub null_flag: Option<u16>,
}

/// A field of a record source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Of which one.
    pub context: Context,
    /// Which.
    pub name: FieldName,
}

/// How a field is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldName {
    /// By its name.
    Name(String),
    /// By RDB$FIELD_ID, or by its place in a map.
    Id(u16),
    /// RDB$DB_KEY.
    DbKey,
    /// RDB$RECORD_VERSION.
    RecordVersion,
}

/// A relation by its name or number, and the context of its fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Which.
    pub name: RelationName,
    /// The context.
    pub context: Context,
}

/// How a relation is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RelationName {
    /// By its name.
    Name(String),
    /// By RDB$RELATION_ID.
    Id(u16),
}

/// What records come from.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordSource {
    /// A relation.
    Relation(Relation),
    /// A procedure.
    Procedure {
        /// Its name.
        name: String,
        /// The context.
        context: Context,
        /// Its arguments.
        arguments: Vec<Expression>,
    },
    /// A selection in a selection.
    Selection(Box<Selection>),
    /// Groups.
    Aggregate(Box<Aggregate>),
}

/// A record selection expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// What is joined.
    pub sources: Vec<RecordSource>,
    /// How.
    pub join: Join,
    /// Which records.
    pub condition: Option<Condition>,
    /// Their order.
    pub order: Vec<Order>,
    /// What makes records the same, of which one is wanted.
    pub distinct: Vec<Expression>,
    /// How many.
    pub first: Option<Expression>,
    /// Behind how many.
    pub skip: Option<Expression>,
    /// Whether more than one is an error.
    pub singular: bool,
    /// Whether records are locked.
    pub lock: bool,
}

/// How sources are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Join {
    Inner,
    Left,
    Right,
    Full,
}

/// One of the values that records are in the order of.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The value.
    pub value: Expression,
    /// Downwards.
    pub descending: bool,
    /// NULLs first or last, if that is said.
    pub nulls_first: Option<bool>,
}

/// Groups of records.
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// The context of their fields.
    pub context: Context,
    /// Of which records.
    pub source: Selection,
    /// By what.
    pub group_by: Vec<Expression>,
    /// The fields of a group, with the numbers that they are named by.
    pub map: Vec<(u16, Expression)>,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A constant.
    Literal {
        /// Its type.
        item: Item,
        /// The value; a text is the bytes that were sent.
        value: Value,
    },
    /// NULL.
    Null,
    /// A field.
    Field(Field),
    /// What came with a message.
    Parameter(Parameter),
    /// Two operands.
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `-x`
    Negate(Box<Expression>),
    /// A call.
    Call(Function, Vec<Expression>),
    /// A conversion.
    Cast(Item, Box<Expression>),
    /// One value or another.
    If(Box<Condition>, Box<Expression>, Box<Expression>),
    /// GEN_ID.
    Generator(String, Box<Expression>),
    /// Of the first record; the last expression if there is none, and without it an error.
    From(Box<Selection>, Box<Expression>, Option<Box<Expression>>),
    /// Over all records of a selection.
    Statistic(Statistic, Box<Selection>, Option<Box<Expression>>),
    /// Over the records of a group: only in a map.
    Aggregate(Statistic, Option<Box<Expression>>),
}

/// Operators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Concatenate,
}

/// Functions and values that somebody has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Function {
    /// USER.
    User,
    /// CURRENT_ROLE.
    Role,
    /// CURRENT_DATE.
    CurrentDate,
    /// CURRENT_TIME.
    CurrentTime,
    /// CURRENT_TIMESTAMP.
    CurrentTimestamp,
    /// The attachment's number.
    Connection,
    /// The transaction's number.
    Transaction,
    /// UPPER.
    Upper,
    /// LOWER.
    Lower,
    /// From a place (counted from 0) so many characters.
    Substring,
    /// BIT_LENGTH, CHAR_LENGTH, OCTET_LENGTH.
    Length(Length),
    /// TRIM: the text, and what is taken off.
    Trim(TrimSide),
    /// COALESCE.
    Coalesce,
    /// EXTRACT: blr_extract_*.
    Extract(u8),
    /// A built-in or stored function by its name.
    Named(String),
}

/// What a length is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Length {
    Bits,
    Characters,
    Bytes,
}

/// Which ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// Aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Statistic {
    Count,
    Average,
    Maximum,
    Minimum,
    Total,
}

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Two values compared.
    Compare(Comparison, Box<Expression>, Box<Expression>),
    /// From one value to another.
    Between(Box<Expression>, Box<Expression>, Box<Expression>),
    /// LIKE, with an escape.
    Like(Box<Expression>, Box<Expression>, Option<Box<Expression>>),
    /// MATCHING: the value, a pattern, and the definitions of what stands for something in the pattern. Without definitions `?`
    /// stands for any character and `*` for any text.
    Matching(Box<Expression>, Box<Expression>, Option<Box<Expression>>),
    /// One of several values.
    In(Box<Expression>, Vec<Expression>),
    /// NULL.
    Missing(Box<Expression>),
    /// There is a record.
    Any(Box<Selection>),
    /// There is exactly one.
    Unique(Box<Selection>),
    /// Both.
    And(Box<Condition>, Box<Condition>),
    /// One of both.
    Or(Box<Condition>, Box<Condition>),
    /// Not.
    Not(Box<Condition>),
}

/// Comparisons of two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    /// NULLs are equal.
    Equivalent,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    Containing,
    Starting,
}
