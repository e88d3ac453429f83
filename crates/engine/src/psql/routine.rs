//! A compiled routine.

use std::sync::{Arc, OnceLock};

use farbird_sql::ast::Position;
use farbird_types::{Error, Result, Value, convert, isc};

use crate::bind::Access;
use crate::expression::BoundExpression;
use crate::expression::ExecutionContext;
use crate::psql::instruction::{CursorDefinition, HandlerTable, Instruction};

/// A routine ready to run.
#[derive(Debug)]
pub struct CompiledRoutine {
    /// What it is.
    pub(super) kind: RoutineKind,
    /// Its name; empty for blocks.
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

    /// What the routine's statements need to be allowed.
    pub fn accesses(&self) -> &[Access] {
        &self.accesses
    }
}
