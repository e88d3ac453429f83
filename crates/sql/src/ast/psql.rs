//! PSQL: the procedural language of blocks, procedures, functions and triggers.

use crate::ast::expression::Expression;
use crate::ast::name::{Name, Position, Source};
use crate::ast::query::SelectStatement;
use crate::ast::routine::{FunctionSignature, ProcedureSignature};
use crate::ast::session::SessionStatement;
use crate::ast::statement::{
    Delete, ExecuteProcedure, Insert, Merge, Target, TypedName, Update, UpdateOrInsert,
};

/// What follows AS: declarations and a block.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutineBody {
    /// DECLARE ...
    pub declarations: Vec<Declaration>,
    /// BEGIN ... END.
    pub block: Block,
    /// The text from the first declaration (or BEGIN) to the final END.
    pub source: Source,
}

/// A local name.
#[derive(Debug, Clone, PartialEq)]
pub struct Declaration {
    /// What it is.
    pub kind: DeclarationKind,
    /// Where DECLARE stands.
    pub position: Position,
}

impl Declaration {
    /// Whether it only announces a routine, whose body comes later.
    pub fn is_forward(&self) -> bool {
        matches!(
            self.kind,
            DeclarationKind::Procedure { body: None, .. } | DeclarationKind::Function { body: None, .. }
        )
    }
}

/// The kinds of local names.
#[derive(Debug, Clone, PartialEq)]
pub enum DeclarationKind {
    /// DECLARE \[VARIABLE\] name type \[= value\].
    Variable {
        /// The name and its type.
        variable: Box<TypedName>,
        /// DEFAULT or `=`.
        initial: Option<Expression>,
    },
    /// DECLARE name \[SCROLL\] CURSOR FOR (query).
    Cursor {
        /// The name.
        name: Name,
        /// SCROLL.
        scroll: bool,
        /// The query.
        query: Box<SelectStatement>,
    },
    /// DECLARE PROCEDURE; without a body a forward declaration.
    Procedure {
        /// Name and parameters.
        signature: Box<ProcedureSignature>,
        /// AS ...
        body: Option<Box<RoutineBody>>,
    },
    /// DECLARE FUNCTION; without a body a forward declaration.
    Function {
        /// Name, parameters and result.
        signature: Box<FunctionSignature>,
        /// AS ...
        body: Option<Box<RoutineBody>>,
    },
}

/// BEGIN statements handlers END.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// The statements.
    pub statements: Vec<PsqlStatement>,
    /// WHEN ... DO.
    pub handlers: Vec<Handler>,
    /// Where BEGIN stands.
    pub position: Position,
    /// Where END stands.
    pub end: Position,
}

/// WHEN condition, ... DO statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Handler {
    /// What it catches, at least one.
    pub conditions: Vec<HandlerCondition>,
    /// What it does.
    pub action: PsqlStatement,
    /// Where WHEN stands.
    pub position: Position,
}

/// What a handler catches.
#[derive(Debug, Clone, PartialEq)]
pub enum HandlerCondition {
    /// ANY
    Any,
    /// GDSCODE name: the symbol of a code, without `isc_`.
    GdsCode(Name),
    /// SQLCODE number
    SqlCode(i16),
    /// SQLSTATE 'xxxxx'
    SqlState(String),
    /// EXCEPTION name
    Exception(Name),
}

/// A statement with its position, as error stacks name it (`At block line: 3, col: 5`).
#[derive(Debug, Clone, PartialEq)]
pub struct PsqlStatement {
    /// What it is.
    pub kind: PsqlStatementKind,
    /// Where it begins.
    pub position: Position,
}

/// The kinds of PSQL statements.
#[derive(Debug, Clone, PartialEq)]
pub enum PsqlStatementKind {
    /// BEGIN ... END.
    Block(Box<Block>),
    /// target = value.
    Assignment {
        /// The variable.
        target: Target,
        /// The value.
        value: Expression,
    },
    /// IF (condition) THEN then \[ELSE otherwise\].
    If {
        /// The condition.
        condition: Expression,
        /// When it is true.
        then: Box<PsqlStatement>,
        /// When it is false or unknown.
        otherwise: Option<Box<PsqlStatement>>,
    },
    /// \[label:\] WHILE (condition) DO body.
    While {
        /// The label.
        label: Option<Name>,
        /// The condition.
        condition: Expression,
        /// The body.
        body: Box<PsqlStatement>,
    },
    /// \[label:\] FOR query \[INTO targets\] \[AS CURSOR name\] DO body.
    ForSelect(Box<ForSelect>),
    /// \[label:\] FOR EXECUTE STATEMENT ... INTO targets DO body.
    ForExecuteStatement {
        /// The label.
        label: Option<Name>,
        /// The statement, with its targets.
        statement: Box<ExecuteStatement>,
        /// The body.
        body: Box<PsqlStatement>,
    },
    /// LEAVE \[label\]; BREAK is LEAVE without a label.
    Leave(Option<Name>),
    /// CONTINUE \[label\].
    Continue(Option<Name>),
    /// EXIT.
    Exit,
    /// SUSPEND.
    Suspend,
    /// RETURN value.
    Return(Expression),
    /// EXCEPTION: raises the handled one again, or a named one.
    Exception(Option<Box<RaiseException>>),
    /// POST_EVENT name.
    PostEvent(Expression),
    /// OPEN cursor.
    Open(Name),
    /// FETCH \[scroll FROM\] cursor \[INTO targets\].
    Fetch {
        /// The cursor.
        cursor: Name,
        /// Which row; none: the next, by FETCH without a word.
        scroll: Option<FetchScroll>,
        /// Where the row goes; empty: into the cursor's own fields.
        into: Vec<Target>,
    },
    /// CLOSE cursor.
    Close(Name),
    /// EXECUTE STATEMENT.
    ExecuteStatement(Box<ExecuteStatement>),
    /// EXECUTE PROCEDURE.
    ExecuteProcedure(Box<ExecuteProcedure>),
    /// IN AUTONOMOUS TRANSACTION DO body.
    AutonomousTransaction(Box<PsqlStatement>),
    /// SELECT ... INTO targets: a query of one row.
    SelectInto {
        /// The query.
        query: Box<SelectStatement>,
        /// Where the row goes.
        into: Vec<Target>,
    },
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
    /// A function called for what it does: `RDB$SET_CONTEXT(...)`.
    Call(Expression),
    /// SET DECFLOAT ROUND ... and the rest of session management.
    Session(Box<SessionStatement>),
}

/// FOR query.
#[derive(Debug, Clone, PartialEq)]
pub struct ForSelect {
    /// The label.
    pub label: Option<Name>,
    /// The query.
    pub query: SelectStatement,
    /// INTO.
    pub into: Vec<Target>,
    /// AS CURSOR.
    pub cursor: Option<Name>,
    /// DO.
    pub body: PsqlStatement,
}

/// EXCEPTION name ...
#[derive(Debug, Clone, PartialEq)]
pub struct RaiseException {
    /// The exception.
    pub name: Name,
    /// A message in place of its own.
    pub message: Option<Expression>,
    /// USING (values): what replaces @1, @2 ... in its message.
    pub arguments: Vec<Expression>,
}

/// Which row FETCH gets.
#[derive(Debug, Clone, PartialEq)]
pub enum FetchScroll {
    /// NEXT
    Next,
    /// PRIOR
    Prior,
    /// FIRST
    First,
    /// LAST
    Last,
    /// ABSOLUTE n
    Absolute(Expression),
    /// RELATIVE n
    Relative(Expression),
}

/// EXECUTE STATEMENT.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteStatement {
    /// The text.
    pub sql: Expression,
    /// Its inputs.
    pub parameters: Vec<StatementParameter>,
    /// ON EXTERNAL \[DATA SOURCE\].
    pub data_source: Option<Expression>,
    /// AS USER.
    pub user: Option<Expression>,
    /// PASSWORD.
    pub password: Option<Expression>,
    /// ROLE.
    pub role: Option<Expression>,
    /// WITH AUTONOMOUS | COMMON TRANSACTION.
    pub transaction: Option<StatementTransaction>,
    /// WITH CALLER PRIVILEGES.
    pub caller_privileges: bool,
    /// INTO.
    pub into: Vec<Target>,
}

/// An input of EXECUTE STATEMENT: `[[EXCESS] name :=] value`.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementParameter {
    /// Its name in the text; none: by position.
    pub name: Option<Name>,
    /// EXCESS: need not be used by the text.
    pub excess: bool,
    /// The value.
    pub value: Expression,
}

/// In which transaction EXECUTE STATEMENT runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StatementTransaction {
    /// AUTONOMOUS
    Autonomous,
    /// COMMON
    Common,
}
