//! A compiled routine, and what it can do.

use std::sync::{Arc, OnceLock};

use farbird_catalog::privileges::{Grantee, object_type};
use farbird_catalog::{Access, Routine};
use farbird_expression::{BoundExpression, ExecutionContext};
use farbird_plan::SelectPlan;
use farbird_plan::modification::ModifyPlan;
use farbird_sql::ast::{Position, SessionStatement, StatementTransaction};
use farbird_types::{Error, Result, SqlType, Value, convert, isc};

/// The package whose routines may begin to listen to who calls them.
pub(super) const PROFILER_PACKAGE: &str = "RDB$PROFILER";

/// A routine ready to run.
#[derive(Debug)]
pub struct CompiledRoutine {
    /// What it is.
    pub(super) kind: RoutineKind,
    /// Its name, with its package's before it; empty for blocks.
    pub(super) name: String,
    /// What it does.
    pub(super) instructions: Vec<Instruction>,
    /// Where each instruction comes from.
    pub(super) positions: Vec<Position>,
    /// How many slots its frame has.
    pub(super) slots: usize,
    /// First slot of its inputs, which lie side by side.
    pub(super) first_input: usize,
    /// Its inputs.
    pub(super) inputs: Vec<Declared>,
    /// Slots of its outputs; the one result of a function.
    pub(super) outputs: Vec<usize>,
    /// Constraints of variables, by number.
    pub(super) constraints: Vec<VariableConstraint>,
    /// Its cursors, by number.
    pub(super) cursors: Vec<CursorDefinition>,
    /// Handlers of blocks, by number.
    pub(super) handlers: Vec<HandlerTable>,
    /// Local procedures and functions, by number; a forward declaration gets its body later.
    pub(super) locals: Vec<OnceLock<Arc<CompiledRoutine>>>,
    /// How many slots it shares with the routine that declares it: they are copied in and out.
    pub(super) shared_slots: usize,
    /// Whether it has a SUSPEND.
    pub(super) suspends: bool,
    /// Whether it changes rows or calls what may: then a failure has something to undo.
    pub(super) changes: bool,
    /// Whether it has EXECUTE STATEMENT, which may change the catalog.
    pub(super) executes_texts: bool,
    /// What its owner or caller must be allowed.
    pub(super) accesses: Vec<Access>,
    /// SQL SECURITY DEFINER of a procedure or trigger: in whose name it runs.
    pub(super) definer: Option<Arc<str>>,
    /// The package that a stored routine is in.
    pub(super) package: Option<Arc<str>>,
    /// Whether a stored routine comes with every database.
    pub(super) is_system: bool,
    /// Whether it calls RDB$PROFILER, which may begin to listen to it.
    pub(super) calls_profiler: bool,
}

/// What a routine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RoutineKind {
    Block,
    /// EXECUTE PROCEDURE of a client: does not show in error stacks.
    Statement,
    Procedure,
    Function,
    Trigger,
    LocalProcedure,
    LocalFunction,
}

/// A parameter as a call must fill it.
#[derive(Debug, Clone)]
pub(super) struct Declared {
    /// Its constraint.
    pub(super) constraint: Option<usize>,
    /// The value when a call gives none.
    pub(super) default: Option<BoundExpression>,
}

/// NOT NULL and the CHECK of a domain, for a variable.
#[derive(Debug, Clone)]
pub(super) struct VariableConstraint {
    /// The variable's name, for the error.
    pub(super) name: String,
    /// NOT NULL.
    pub(super) not_null: bool,
    /// CHECK, over a row of just the value.
    pub(super) check: Option<BoundExpression>,
}

impl VariableConstraint {
    /// Fails unless the value may be assigned.
    pub(super) fn verify(&self, value: &Value, context: &mut ExecutionContext<'_>) -> Result<()> {
        let fails = match (&self.check, value) {
            (_, Value::Null) if self.not_null => true,
            (Some(check), value) => check.truth_on(std::slice::from_ref(value), context)? == Some(false),
            (None, _) => false,
        };
        if !fails {
            return Ok(());
        }
        let shown = match value {
            Value::Null => "*** null ***".to_owned(),
            value => convert::to_display_text(value),
        };
        Err(Error::new(isc::NOT_VALID_FOR_VAR).with(self.name.clone()).with(shown))
    }
}

impl CompiledRoutine {
    /// Where an instruction comes from.
    pub(super) fn position(&self, instruction: usize) -> Position {
        self.positions.get(instruction).copied().unwrap_or_default()
    }

    /// A local routine by number.
    pub(super) fn local(&self, number: usize) -> Result<&Arc<CompiledRoutine>> {
        self.locals
            .get(number)
            .and_then(OnceLock::get)
            .ok_or_else(|| Error::new(isc::WISH_LIST).and(isc::RANDOM).with("local routine without body"))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// As whom privileges are granted to a stored routine or trigger: a package's routines have the package's.
    pub(super) fn grantee(&self) -> Option<Grantee<'_>> {
        let kind = match self.kind {
            RoutineKind::Procedure => object_type::PROCEDURE,
            RoutineKind::Function => object_type::FUNCTION,
            RoutineKind::Trigger => object_type::TRIGGER,
            _ => return None,
        };
        Some(match &self.package {
            Some(package) => Grantee { kind: object_type::PACKAGE, name: package },
            None => Grantee { kind, name: &self.name },
        })
    }

    /// What the routine's statements need to be allowed.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }
}

/// One step of a routine. Targets of jumps are indexes of instructions.
#[derive(Debug)]
pub(super) enum Instruction {
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
    /// A declared cursor must stand on a row: its fields are read next.
    CheckCursor {
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
        /// WHERE CURRENT OF: the cursor's row.
        positioned: Option<Positioned>,
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
    /// SET TIME ZONE, SET DECFLOAT ROUND and the rest of session management.
    ChangeSession(Box<SessionStatement>),
    /// POST_EVENT
    PostEvent(BoundExpression),
    /// All that a routine of RDB$PROFILER does.
    Profiler(ProfilerCommand),
    /// The routine is done.
    End,
}

/// A routine of RDB$PROFILER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProfilerCommand {
    StartSession,
    PauseSession,
    ResumeSession,
    FinishSession,
    CancelSession,
    Discard,
    Flush,
    SetFlushInterval,
}

impl ProfilerCommand {
    /// What a routine of a system package does; nothing if it is not one of these.
    pub(super) fn of(package: &str, routine: &str) -> Option<ProfilerCommand> {
        if package != PROFILER_PACKAGE {
            return None;
        }
        Some(match routine {
            "START_SESSION" => ProfilerCommand::StartSession,
            "PAUSE_SESSION" => ProfilerCommand::PauseSession,
            "RESUME_SESSION" => ProfilerCommand::ResumeSession,
            "FINISH_SESSION" => ProfilerCommand::FinishSession,
            "CANCEL_SESSION" => ProfilerCommand::CancelSession,
            "DISCARD" => ProfilerCommand::Discard,
            "FLUSH" => ProfilerCommand::Flush,
            "SET_FLUSH_INTERVAL" => ProfilerCommand::SetFlushInterval,
            _ => return None,
        })
    }
}

/// Where a value of a row goes.
#[derive(Debug, Clone)]
pub(super) struct Store {
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
pub(super) enum Scroll {
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
pub(super) struct CursorDefinition {
    /// The name that it is declared with.
    pub name: Option<String>,
    /// Where its rows come from.
    pub source: CursorSource,
    /// SCROLL.
    pub scroll: bool,
    /// Slots of its own fields and row numbers: filled by each fetch.
    pub fields: Vec<Store>,
    /// Reads its columns anew from the row that it stands on; none if it stands on no row of one table, or nobody changes that.
    pub again: Option<Arc<SelectPlan>>,
}

/// The row of a cursor that UPDATE or DELETE ... WHERE CURRENT OF changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Positioned {
    /// The slot with the row's number.
    pub row: usize,
    /// The cursor's number.
    pub cursor: usize,
    /// Whether the routine may look at the cursor's fields before it moves on.
    pub shows: bool,
}

/// Where the rows of a cursor come from.
#[derive(Debug)]
pub(super) enum CursorSource {
    /// A query.
    Query(Arc<SelectPlan>),
    /// FOR EXECUTE STATEMENT.
    Dynamic(Box<DynamicStatement>),
}

/// EXECUTE PROCEDURE.
#[derive(Debug)]
pub(super) struct ProcedureCall {
    /// Which.
    pub procedure: Procedure,
    /// Its inputs, converted; as many as were given.
    pub arguments: Vec<BoundExpression>,
    /// Where its outputs go.
    pub targets: Vec<Store>,
}

/// What EXECUTE PROCEDURE calls.
#[derive(Debug)]
pub(super) enum Procedure {
    /// A stored procedure, compiled when it is first called: the caller belongs to one catalog, as it does.
    Stored(Arc<Routine>, OnceLock<Arc<CompiledRoutine>>),
    /// A local one, by number.
    Local(usize),
}

/// EXECUTE STATEMENT.
#[derive(Debug)]
pub(super) struct DynamicStatement {
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
    /// ON EXTERNAL
    pub data_source: Option<BoundExpression>,
    /// AS USER
    pub user: Option<BoundExpression>,
    /// PASSWORD
    pub password: Option<BoundExpression>,
    /// ROLE
    pub role: Option<BoundExpression>,
}

/// An input of EXECUTE STATEMENT.
#[derive(Debug)]
pub(super) struct DynamicParameter {
    /// Its name; none: by position.
    pub name: Option<String>,
    /// EXCESS.
    pub excess: bool,
    /// Its value.
    pub value: BoundExpression,
}

/// EXCEPTION name.
#[derive(Debug)]
pub(super) struct Raise {
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
pub(super) struct HandlerTable {
    /// In the order of the text.
    pub handlers: Vec<Handler>,
}

/// WHEN ... DO.
#[derive(Debug)]
pub(super) struct Handler {
    /// What it catches.
    pub conditions: Vec<Condition>,
    /// Its first instruction.
    pub target: usize,
}

/// What a handler catches.
#[derive(Debug)]
pub(super) enum Condition {
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
