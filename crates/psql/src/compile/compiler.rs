//! What is being compiled: a routine's instructions so far, and the names that can be seen.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use farbird_catalog::triggers::fires_for;
use farbird_catalog::{ObjectKind, Relation, Routine, RoutineParameter, SourceStart};
use farbird_expression::{BoundExpression, Expression};
use farbird_plan::bind::{self, Access, ComputedVariable, Environment, RowKeyVariable, Variable};
use farbird_session::{ColumnDescription, StatementDescription, StatementKind};
use farbird_sql::ast::{self, Position, PsqlStatementKind, TriggerAction};
use farbird_types::{ColumnType, Error, Result, SqlType, isc};

use super::scope::{Known, Scope, Writable, sql_error};
use crate::routine::{
    CompiledRoutine, CursorDefinition, Declared, HandlerTable, Instruction, PROFILER_PACKAGE, RoutineKind,
    VariableConstraint,
};

/// Types of a routine's inputs, and how many a call must give.
pub(super) struct Inputs {
    pub(super) types: Vec<ColumnType>,
    pub(super) required: usize,
}

pub(super) fn inputs_of(routine: &Routine) -> Inputs {
    let types = routine
        .inputs
        .iter()
        .map(|input| ColumnType { sql_type: input.sql_type, nullable: !input.not_null })
        .collect();
    let defaults = routine.inputs.iter().rev().take_while(|input| input.default_source.is_some()).count();
    Inputs { types, required: routine.inputs.len() - defaults }
}

/// What calling a stored procedure needs.
pub(super) fn execute_access(procedure: &Routine) -> Access {
    Access::of_call(ObjectKind::Procedure, procedure)
}

/// A call with a wrong number of inputs.
pub(super) fn procedure_mismatch(name: &ast::ObjectName) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::PRCMISMAT).with(name.to_string())
}

/// What a statement that leaves early must close.
pub(super) enum Construct {
    /// A loop: its label, its cursor, where CONTINUE goes, and the jumps of its LEAVEs.
    Loop { label: Option<String>, cursor: Option<usize>, next: usize, leaves: Vec<usize> },
    /// A block that is undone by itself.
    Block,
    /// A block with handlers.
    Handlers,
    /// A handler at work.
    Handling,
    /// IN AUTONOMOUS TRANSACTION.
    Autonomous,
}

/// A statement on the row of a cursor.
pub(super) struct PositionedStatement {
    pub(super) instruction: usize,
    pub(super) cursor: String,
    /// How often the cursor's fields had been read before it.
    pub(super) read_before: usize,
}

/// A routine being compiled.
pub(super) struct Compiler<'a> {
    pub(super) environment: &'a Environment,
    pub(super) kind: RoutineKind,
    pub(super) name: String,
    pub(super) start: SourceStart,
    pub(super) scope: Scope,
    pub(super) slots: usize,
    pub(super) first_input: usize,
    pub(super) inputs: Vec<Declared>,
    pub(super) outputs: Vec<usize>,
    pub(super) constraints: Vec<VariableConstraint>,
    pub(super) cursors: Vec<CursorDefinition>,
    pub(super) cursor_numbers: HashMap<String, usize>,
    /// Cursors that a statement names by WHERE CURRENT OF: only they carry row numbers.
    pub(super) positioned: HashSet<String>,
    /// Those statements, so far.
    pub(super) positioned_statements: Vec<PositionedStatement>,
    pub(super) handlers: Vec<HandlerTable>,
    pub(super) locals: Vec<OnceLock<Arc<CompiledRoutine>>>,
    pub(super) shared_slots: usize,
    pub(super) instructions: Vec<Instruction>,
    pub(super) positions: Vec<Position>,
    pub(super) position: Position,
    pub(super) constructs: Vec<Construct>,
    /// How many blocks with handlers are around the statement at hand.
    pub(super) handler_depth: u32,
    /// Jumps of EXIT and RETURN, to be led to the end.
    pub(super) exits: Vec<usize>,
    pub(super) result: Option<(usize, ColumnType, Option<usize>)>,
    pub(super) suspends: bool,
    /// Whether SUSPEND may stand where there are no outputs: Firebird refuses it in new routines, and runs those that backups bring.
    pub(super) may_suspend_nothing: bool,
    pub(super) changes: bool,
    pub(super) executes_texts: bool,
    pub(super) accesses: Vec<Access>,
    pub(super) definer: Option<Arc<str>>,
    /// The package that a stored routine is in.
    pub(super) package: Option<Arc<str>>,
    /// Whether a stored routine comes with every database.
    pub(super) is_system: bool,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(environment: &'a Environment, kind: RoutineKind, name: &str) -> Compiler<'a> {
        Compiler {
            environment,
            kind,
            name: name.to_owned(),
            start: SourceStart::default(),
            scope: Scope::new(kind == RoutineKind::Trigger),
            slots: 0,
            first_input: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            constraints: Vec::new(),
            cursors: Vec::new(),
            cursor_numbers: HashMap::new(),
            positioned: HashSet::new(),
            positioned_statements: Vec::new(),
            handlers: Vec::new(),
            locals: Vec::new(),
            shared_slots: 0,
            instructions: Vec::new(),
            positions: Vec::new(),
            position: Position::default(),
            constructs: Vec::new(),
            handler_depth: 0,
            exits: Vec::new(),
            result: None,
            suspends: false,
            may_suspend_nothing: false,
            changes: false,
            executes_texts: false,
            accesses: Vec::new(),
            definer: None,
            package: None,
            is_system: false,
        }
    }

    /// A new slot.
    pub(super) fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Appends an instruction of the statement at hand; gives its index.
    pub(super) fn emit(&mut self, instruction: Instruction) -> usize {
        self.check_cursors();
        self.push(instruction)
    }

    fn push(&mut self, instruction: Instruction) -> usize {
        self.instructions.push(instruction);
        self.positions.push(self.moved(self.position));
        self.instructions.len() - 1
    }

    /// Checks the declared cursors whose fields have been read since the last instruction, and gives the place of the next one
    /// before those checks: where what reads the fields again has to jump.
    pub(super) fn check_cursors(&mut self) -> usize {
        let place = self.instructions.len();
        for name in self.scope.cursors_read() {
            if let Some(cursor) = self.cursor_numbers.get(&name).copied() {
                self.push(Instruction::CheckCursor { cursor });
            }
        }
        place
    }

    /// A position within the source as one within the CREATE statement's text.
    pub(super) fn moved(&self, position: Position) -> Position {
        let column = if position.line <= 1 {
            position.column.saturating_add(self.start.column.saturating_sub(1))
        } else {
            position.column
        };
        Position { line: position.line.saturating_add(self.start.line.saturating_sub(1)), column, ..position }
    }

    /// The index of the next instruction.
    pub(super) fn here(&self) -> usize {
        self.instructions.len()
    }

    /// Leads a jump to the next instruction.
    pub(super) fn land(&mut self, jump: usize) {
        let here = self.here();
        match self.instructions.get_mut(jump) {
            Some(
                Instruction::Jump(target)
                | Instruction::JumpUnless { target, .. }
                | Instruction::NextRow { end: target, .. },
            ) => *target = here,
            _ => debug_assert!(false, "only jumps are landed"),
        }
    }

    pub(super) fn expression(
        &mut self,
        value: &ast::Expression,
        target: Option<&SqlType>,
    ) -> Result<BoundExpression> {
        let (bound, accesses) =
            bind::bind_expression_with_accesses(self.environment, value, &self.scope, target)?;
        self.accesses.extend(accesses);
        if let RoutineKind::Block | RoutineKind::Procedure | RoutineKind::Function = self.kind
            && bound.expression.any(&asks_what_fired)
        {
            return Err(misplaced("INSERTING/UPDATING/DELETING"));
        }
        Ok(bound)
    }

    pub(super) fn condition(&mut self, value: &ast::Expression) -> Result<BoundExpression> {
        let condition = self.expression(value, None)?;
        match condition.column_type.sql_type {
            SqlType::Boolean | SqlType::Null => Ok(condition),
            _ => Err(sql_error(-104).and(isc::INVALID_BOOLEAN_USAGE)),
        }
    }

    /// A stored procedure by name.
    pub(super) fn stored_procedure(&self, name: &ast::ObjectName) -> Result<Arc<Routine>> {
        let package = name.package.as_ref().map(ast::Name::as_str);
        let Environment { catalog, package: within, .. } = self.environment;
        let found = catalog.procedure_named(package, name.name.as_str(), within.as_deref())?;
        found.cloned().ok_or_else(|| {
            sql_error(-204).and(isc::DSQL_PROCEDURE_ERR).and(isc::RANDOM).with(name.to_string())
        })
    }

    /// The arguments of a call, converted to the types of the inputs.
    pub(super) fn call_arguments(
        &mut self,
        arguments: &[ast::Expression],
        inputs: &Inputs,
        mismatch: Error,
    ) -> Result<Vec<BoundExpression>> {
        if arguments.len() < inputs.required || arguments.len() > inputs.types.len() {
            return Err(mismatch);
        }
        arguments
            .iter()
            .zip(&inputs.types)
            .map(|(argument, input)| self.expression(argument, Some(&input.sql_type)))
            .collect()
    }

    /// Makes the `?` in the arguments of a client's EXECUTE PROCEDURE the inputs of its routine; describes them.
    pub(super) fn declare_call_parameters(
        &mut self,
        call: &ast::ExecuteProcedure,
        inputs: &[RoutineParameter],
        count: u32,
    ) -> Result<Vec<ColumnDescription>> {
        let types = self.call_parameters(call, inputs, count)?;
        self.scope.parameter_types = types.clone();
        let mut parameters = Vec::new();
        for column_type in types {
            let slot = self.slot();
            self.inputs.push(Declared { constraint: None, default: None });
            debug_assert_eq!(slot + 1, self.inputs.len(), "inputs come first");
            parameters.push(described("", column_type));
        }
        Ok(parameters)
    }

    /// A client's EXECUTE PROCEDURE, compiled.
    pub(super) fn finish_call(
        mut self,
        parameters: Vec<ColumnDescription>,
        columns: Vec<ColumnDescription>,
    ) -> CompiledStatement {
        self.changes = true;
        let description = StatementDescription {
            kind: StatementKind::ExecuteProcedure,
            parameters,
            columns,
            has_cursor: false,
            plan: String::new(),
            explained_plan: String::new(),
        };
        CompiledStatement { description, routine: Arc::new(self.finish()) }
    }

    /// The types of the `?` in the arguments of a client's EXECUTE PROCEDURE.
    pub(super) fn call_parameters(
        &self,
        call: &ast::ExecuteProcedure,
        inputs: &[RoutineParameter],
        count: u32,
    ) -> Result<Vec<ColumnType>> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if call.arguments.len() > inputs.len() {
            return Err(procedure_mismatch(&call.name));
        }
        let mut types = vec![None; count];
        for (argument, input) in call.arguments.iter().zip(inputs) {
            let target = ColumnType { sql_type: input.sql_type, nullable: true };
            let found = bind::parameters_of_argument(self.environment, argument, &self.scope, target)?;
            for (place, known) in types.iter_mut().zip(found) {
                *place = known.or(*place);
            }
        }
        types.into_iter().map(|known| known.ok_or_else(bind::unknown_type)).collect()
    }

    pub(super) fn declare_stored_input(&mut self, input: &RoutineParameter) -> Result<()> {
        let default = match &input.default_source {
            Some(source) => Some(parsed_default(self.environment, source)?),
            None => None,
        };
        let domain = self.domain(input.domain.as_deref());
        let default = default.map(|value| self.expression(&value, Some(&input.sql_type))).transpose()?;
        let constraint = self.constraint(&input.name, input.not_null, domain.as_deref())?;
        let slot = self.slot();
        self.inputs.push(Declared { constraint, default });
        let column_type = ColumnType { sql_type: input.sql_type, nullable: !input.not_null };
        self.name_slot(&input.name, slot, column_type, constraint)
    }

    pub(super) fn declare_stored_output(&mut self, output: &RoutineParameter) -> Result<()> {
        let domain = self.domain(output.domain.as_deref());
        // A function's result has a number where others have a name.
        let name = if output.name.is_empty() { "number 1" } else { output.name.as_str() };
        let constraint = self.constraint(name, output.not_null, domain.as_deref())?;
        let column_type = ColumnType { sql_type: output.sql_type, nullable: !output.not_null };
        let slot = self.slot();
        self.outputs.push(slot);
        self.default_output(slot, column_type, domain.as_deref())?;
        if self.kind == RoutineKind::Function {
            self.result = Some((slot, column_type, constraint));
            return Ok(());
        }
        self.name_slot(&output.name, slot, column_type, constraint)
    }

    /// Gives a slot a name. In a local routine it may hide one of the routine around it.
    pub(super) fn name_slot(
        &mut self,
        name: &str,
        slot: usize,
        column_type: ColumnType,
        constraint: Option<usize>,
    ) -> Result<()> {
        let known = Known { variable: Variable { slot, column_type }, constraint, writable: Writable::Yes };
        match self.scope.find(None, name) {
            Some(outer) if outer.variable.slot < self.shared_slots => {
                self.scope.declare_over(name, known);
                Ok(())
            }
            _ => self.scope.declare(name, known),
        }
    }

    /// OLD and NEW, by field id, and behind them the numbers of their rows, as far as what fires the trigger has them.
    pub(super) fn declare_rows(&mut self, relation: &Relation, trigger_type: u64, fired: Fired) {
        let width = usize::from(relation.next_field_id);
        self.slots = width * 2 + 2;
        let fires_for = |action| fires_for(trigger_type, action);
        let (inserts, updates, deletes) = (
            fires_for(TriggerAction::Insert),
            fires_for(TriggerAction::Update),
            fires_for(TriggerAction::Delete),
        );
        for column in &relation.columns {
            let field = usize::from(column.field_id);
            let column_type = ColumnType { sql_type: column.sql_type, nullable: true };
            let known = |slot, writable| Known {
                variable: Variable { slot, column_type },
                constraint: None,
                writable,
            };
            if updates || deletes {
                self.scope.declare_field("OLD", &column.name, known(field, Writable::No));
            }
            let computed = column.computed_source.is_some();
            let writable = if fired.is_before && !computed { Writable::Yes } else { Writable::No };
            if inserts || updates {
                self.scope.declare_field("NEW", &column.name, known(width + field, writable));
            }
        }
        let mut declare_key = |qualifier, is_new, lacking| {
            let slot = width * 2 + usize::from(is_new);
            let exists = fired.action != Some(lacking);
            let key = RowKeyVariable { relation: relation.id.0, slot, is_new, exists };
            self.scope.row_keys.insert(qualifier, key);
        };
        if updates || deletes {
            declare_key("OLD", false, TriggerAction::Insert);
        }
        if inserts || updates {
            declare_key("NEW", true, TriggerAction::Delete);
        }
        self.declare_computed(relation, fired.action);
        self.scope.changed_relation = Some(relation.name.clone());
    }

    /// Computed columns of OLD and NEW: computed where they are read.
    pub(super) fn declare_computed(&mut self, relation: &Relation, action: Option<TriggerAction>) {
        if relation.columns.iter().all(|column| column.computed_source.is_none()) {
            return;
        }
        let shared = Arc::new(relation.clone());
        let width = usize::from(relation.next_field_id);
        let old = Some(0).filter(|_| action != Some(TriggerAction::Insert));
        let new = Some(width).filter(|_| action != Some(TriggerAction::Delete));
        for (place, column) in relation.columns.iter().enumerate() {
            if column.computed_source.is_none() {
                continue;
            }
            for (qualifier, first) in [("OLD", old), ("NEW", new)] {
                if self.scope.find(Some(qualifier), &column.name).is_some() {
                    let computed = ComputedVariable { relation: Arc::clone(&shared), column: place, first };
                    self.scope.computed.insert((qualifier.to_owned(), column.name.clone()), computed);
                }
            }
        }
    }

    /// Declarations and the block, with EXITs led to the end.
    pub(super) fn body(&mut self, body: &ast::RoutineBody) -> Result<()> {
        positioned_cursors(&body.block, &mut self.positioned);
        for (place, declaration) in body.declarations.iter().enumerate() {
            self.position = declaration.position;
            let (before, _) = body.declarations.split_at(place);
            self.declaration(declaration, before)?;
        }
        self.check_bodies(&body.declarations)?;
        self.block(&body.block)?;
        self.position = body.block.end;
        Ok(())
    }

    pub(super) fn finish(mut self) -> CompiledRoutine {
        for jump in std::mem::take(&mut self.exits) {
            self.land(jump);
        }
        self.emit(Instruction::End);
        self.forget_unread_fields();
        let calls_profiler = self
            .accesses
            .iter()
            .any(|access| access.kind == ObjectKind::Package && access.object == PROFILER_PACKAGE);
        CompiledRoutine {
            kind: self.kind,
            name: self.name,
            instructions: self.instructions,
            positions: self.positions,
            slots: self.slots,
            first_input: self.first_input,
            inputs: self.inputs,
            outputs: self.outputs,
            constraints: self.constraints,
            cursors: self.cursors,
            handlers: self.handlers,
            locals: self.locals,
            shared_slots: self.shared_slots,
            suspends: self.suspends,
            changes: self.changes,
            executes_texts: self.executes_texts,
            accesses: self.accesses,
            definer: self.definer,
            package: self.package,
            is_system: self.is_system,
            calls_profiler,
        }
    }
}

/// EXECUTE BLOCK or EXECUTE PROCEDURE of a client, compiled.
#[derive(Debug, Clone)]
pub struct CompiledStatement {
    /// What the client is told.
    pub description: StatementDescription,
    /// What it does.
    pub(crate) routine: Arc<CompiledRoutine>,
}

impl CompiledStatement {
    /// What its user must be allowed.
    pub fn accesses(&self) -> &[Access] {
        self.routine.accesses()
    }
}

pub(super) fn described(name: &str, column_type: ColumnType) -> ColumnDescription {
    ColumnDescription {
        column_type,
        field: name.to_owned(),
        relation: String::new(),
        relation_alias: String::new(),
        owner: String::new(),
        alias: name.to_owned(),
    }
}

/// Whether a value is INSERTING or one of its siblings: only triggers have them.
pub(super) fn asks_what_fired(value: &Expression) -> bool {
    use ast::ContextVariable::{Deleting, Inserting, Updating};
    matches!(value, Expression::Context(Inserting | Updating | Deleting))
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fired {
    /// Whether it comes before the change, so that NEW may be assigned to.
    pub(crate) is_before: bool,
    /// The change; `None` if it is not known yet, or is none of a row.
    pub(crate) action: Option<TriggerAction>,
}

/// Finds the cursors that a block's statements name by WHERE CURRENT OF.
pub(super) fn positioned_cursors(block: &ast::Block, found: &mut HashSet<String>) {
    let handled = block.handlers.iter().map(|handler| &handler.action);
    for statement in block.statements.iter().chain(handled) {
        positioned_in(statement, found);
    }
}

pub(super) fn positioned_in(statement: &ast::PsqlStatement, found: &mut HashSet<String>) {
    let mut note = |rows: &ast::ChangedRows| {
        if let ast::ChangedRows::CurrentOf(cursor) = rows {
            found.insert(cursor.text.clone());
        }
    };
    match &statement.kind {
        PsqlStatementKind::Update(update) => note(&update.rows),
        PsqlStatementKind::Delete(delete) => note(&delete.rows),
        PsqlStatementKind::Block(block) => positioned_cursors(block, found),
        PsqlStatementKind::If { then, otherwise, .. } => {
            positioned_in(then, found);
            if let Some(otherwise) = otherwise {
                positioned_in(otherwise, found);
            }
        }
        PsqlStatementKind::While { body, .. }
        | PsqlStatementKind::ForExecuteStatement { body, .. }
        | PsqlStatementKind::AutonomousTransaction(body) => positioned_in(body, found),
        PsqlStatementKind::ForSelect(statement) => positioned_in(&statement.body, found),
        _ => {}
    }
}

/// The value of a default kept as text: `DEFAULT 5`, `= 5` or just `5`.
pub(super) fn parsed_default(environment: &Environment, source: &str) -> Result<ast::Expression> {
    let dialect = farbird_sql::Dialect::numbered(environment.catalog.database.dialect);
    let options = farbird_sql::ParseOptions::of(dialect);
    let text = source.trim_start();
    let marked =
        text.starts_with('=') || text.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("DEFAULT"));
    if marked {
        return Ok(farbird_sql::parse_default(text, &options)?.value);
    }
    farbird_sql::parse_expression(text, &options)
}

/// A word that has no place here.
pub(super) fn misplaced(word: &str) -> Error {
    sql_error(-104).and(isc::TOKEN_ERR).and(isc::RANDOM).with(word)
}
