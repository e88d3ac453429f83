//! What a compiled routine can do.

use std::sync::{Arc, OnceLock};

use farbird_sql::ast::StatementTransaction;
use farbird_types::SqlType;

use crate::catalog::Routine;
use crate::expression::BoundExpression;
use crate::plan::SelectPlan;
use crate::plan::modification::ModifyPlan;
use crate::psql::routine::CompiledRoutine;

/// One step of a routine. Targets of jumps are indexes of instructions.
#[derive(Debug)]
pub enum Instruction {
    /// variable = value; the expression gives the variable's type.
    Assign {
        /// The value.
        value: BoundExpression,
        /// The variable.
        slot: usize,
    },
    /// As `Assign`, for a variable with a constraint.
    AssignChecked {
        /// The value.
        value: BoundExpression,
        /// The variable.
        slot: usize,
        /// The constraint's number.
        constraint: usize,
    },
    /// Goes on elsewhere.
    Jump(usize),
    /// Goes on elsewhere unless the condition is true.
    JumpUnless {
        /// The condition.
        condition: BoundExpression,
        /// Where to.
        target: usize,
    },
    /// FOR SELECT, FOR EXECUTE STATEMENT: opens the loop's cursor.
    OpenLoop {
        /// The cursor's number.
        cursor: usize,
    },
    /// Gets a row for the loop's body, or jumps when there are no more.
    NextRow {
        /// The cursor's number.
        cursor: usize,
        /// Where the row goes.
        targets: Vec<Store>,
        /// Where to go at the end.
        end: usize,
    },
    /// Ends a loop.
    CloseLoop {
        /// The cursor's number.
        cursor: usize,
    },
    /// OPEN
    OpenCursor {
        /// The cursor's number.
        cursor: usize,
    },
    /// FETCH
    Fetch {
        /// The cursor's number.
        cursor: usize,
        /// Which row.
        scroll: Scroll,
        /// Where the row goes.
        targets: Vec<Store>,
    },
    /// CLOSE
    CloseCursor {
        /// The cursor's number.
        cursor: usize,
    },
    /// SELECT ... INTO
    SelectInto {
        /// The query.
        plan: Arc<SelectPlan>,
        /// Where the row goes.
        targets: Vec<Store>,
    },
    /// INSERT, UPDATE, DELETE, UPDATE OR INSERT, MERGE
    Modify {
        /// What is changed.
        plan: Arc<ModifyPlan>,
        /// Where the row of RETURNING goes.
        targets: Vec<Store>,
        /// Whether it reads tables, and so must see what the routine has changed before.
        reads: bool,
        /// WHERE CURRENT OF: the slot with the number of the cursor's row.
        current_row: Option<usize>,
    },
    /// EXECUTE PROCEDURE of a stored procedure.
    CallProcedure(Box<ProcedureCall>),
    /// EXECUTE STATEMENT
    ExecuteStatement(Box<DynamicStatement>),
    /// SUSPEND
    Suspend,
    /// A block inside a block with handlers begins: an error that leaves it undoes what it did.
    EnterBlock,
    /// It ended.
    LeaveBlock,
    /// Begins to watch for errors.
    EnterHandlers(usize),
    /// The block ended without one.
    LeaveHandlers,
    /// A handler has done its work.
    EndHandler,
    /// EXCEPTION name
    Raise(Box<Raise>),
    /// EXCEPTION: the handled error again.
    RaiseAgain,
    /// IN AUTONOMOUS TRANSACTION DO: what follows up to `EndAutonomous` runs in a transaction of its own.
    Autonomous,
    /// Commits it.
    EndAutonomous,
    /// POST_EVENT
    PostEvent(BoundExpression),
    /// The routine is done.
    End,
}

/// Where a value of a row goes.
#[derive(Debug, Clone)]
pub struct Store {
    /// Position in the row.
    pub column: usize,
    /// The variable.
    pub slot: usize,
    /// Its type, if the row's value must be converted.
    pub cast: Option<SqlType>,
    /// Its constraint's number.
    pub constraint: Option<usize>,
}

/// Which row FETCH gets.
#[derive(Debug)]
pub enum Scroll {
    /// The next one.
    Next,
    /// The one before.
    Prior,
    /// The first.
    First,
    /// The last.
    Last,
    /// By number, from 1; negative from the end.
    Absolute(BoundExpression),
    /// So many from here.
    Relative(BoundExpression),
}

impl Scroll {
    /// The word for anything but the next row.
    pub(super) fn option_name(&self) -> Option<&'static str> {
        match self {
            Scroll::Next => None,
            Scroll::Prior => Some("PRIOR"),
            Scroll::First => Some("FIRST"),
            Scroll::Last => Some("LAST"),
            Scroll::Absolute(_) => Some("ABSOLUTE"),
            Scroll::Relative(_) => Some("RELATIVE"),
        }
    }
}

/// A cursor of a routine.
#[derive(Debug)]
pub struct CursorDefinition {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Where its rows come from.
    pub source: CursorSource,
    /// SCROLL.
    pub scroll: bool,
    /// Slots of its own fields and row numbers: filled by each fetch.
    pub fields: Vec<Store>,
}

/// Where the rows of a cursor come from.
#[derive(Debug)]
pub enum CursorSource {
    /// A query.
    Query(Arc<SelectPlan>),
    /// FOR EXECUTE STATEMENT.
    Dynamic(Box<DynamicStatement>),
}

/// EXECUTE PROCEDURE.
#[derive(Debug)]
pub struct ProcedureCall {
    /// Which.
    pub procedure: Procedure,
    /// Its inputs, converted; as many as were given.
    pub arguments: Vec<BoundExpression>,
    /// Where its outputs go.
    pub targets: Vec<Store>,
}

/// What EXECUTE PROCEDURE calls.
#[derive(Debug)]
pub enum Procedure {
    /// A stored procedure, compiled when it is first called: the caller belongs to one catalog, as it does.
    Stored(Arc<Routine>, OnceLock<Arc<CompiledRoutine>>),
    /// A local one, by number.
    Local(usize),
}

/// EXECUTE STATEMENT.
#[derive(Debug)]
pub struct DynamicStatement {
    /// The text.
    pub sql: BoundExpression,
    /// Its inputs.
    pub parameters: Vec<DynamicParameter>,
    /// Where the row goes.
    pub targets: Vec<Store>,
    /// WITH AUTONOMOUS TRANSACTION.
    pub transaction: Option<StatementTransaction>,
    /// WITH CALLER PRIVILEGES.
    pub caller_privileges: bool,
    /// ON EXTERNAL: refused unless NULL or empty.
    pub data_source: Option<BoundExpression>,
    /// AS USER and ROLE: refused unless NULL or what the session has.
    pub user: Option<BoundExpression>,
    /// ROLE
    pub role: Option<BoundExpression>,
}

/// An input of EXECUTE STATEMENT.
#[derive(Debug)]
pub struct DynamicParameter {
    /// Its name; none: by position.
    pub name: Option<String>,
    /// EXCESS.
    pub excess: bool,
    /// Its value.
    pub value: BoundExpression,
}

/// EXCEPTION name.
#[derive(Debug)]
pub struct Raise {
    /// RDB$EXCEPTION_NUMBER.
    pub number: i32,
    /// Its name.
    pub name: String,
    /// Its message.
    pub message: String,
    /// A message in place of its own.
    pub replacement: Option<BoundExpression>,
    /// USING.
    pub arguments: Vec<BoundExpression>,
}

/// The handlers of a block.
#[derive(Debug)]
pub struct HandlerTable {
    /// In the order of the text.
    pub handlers: Vec<Handler>,
}

/// WHEN ... DO.
#[derive(Debug)]
pub struct Handler {
    /// What it catches.
    pub conditions: Vec<Condition>,
    /// Its first instruction.
    pub target: usize,
}

/// What a handler catches.
#[derive(Debug)]
pub enum Condition {
    /// ANY
    Any,
    /// GDSCODE
    GdsCode(u32),
    /// SQLCODE
    SqlCode(i16),
    /// SQLSTATE
    SqlState(String),
    /// EXCEPTION, by number.
    Exception(i32),
}
