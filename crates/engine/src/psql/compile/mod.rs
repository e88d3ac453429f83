//! From syntax trees to instructions.
//!
//! One pass over the tree: declarations give names slots, statements become instructions, jumps forward are patched when
//! their target is known. Whatever is open when control leaves early (cursors of loops, handlers, autonomous
//! transactions) stands on a stack of constructs, from which the leaving statement reads what it must close.

mod declaration;
mod query;
mod scope;
mod statement;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use farbird_sql::ast::{self, Position, TriggerAction};
use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, isc};

use crate::api::{ColumnDescription, StatementDescription, StatementKind};
use crate::bind::{self, Access, AccessPrivilege, ComputedVariable, Environment, Variable};
use crate::catalog::triggers::fires_for;
use crate::catalog::{Catalog, ObjectKind, Relation, Routine, RoutineParameter, SourceStart, Trigger};
use crate::expression::{BoundExpression, Expression};
use crate::function::blob_util;
use crate::psql::instruction::{
    CursorDefinition, HandlerTable, Instruction, Procedure, ProcedureCall, Store,
};
use crate::psql::routine::{CompiledRoutine, Declared, RoutineKind, VariableConstraint};
use declaration::parsed_default;
use scope::{Known, Scope, Writable, sql_error};

/// EXECUTE BLOCK or EXECUTE PROCEDURE of a client, compiled.
#[derive(Debug, Clone)]
pub struct CompiledStatement {
    /// What the client is told.
    pub description: StatementDescription,
    /// What it does.
    pub(super) routine: Arc<CompiledRoutine>,
}

impl CompiledStatement {
    /// What its user must be allowed.
    pub fn accesses(&self) -> &[Access] {
        self.routine.accesses()
    }
}

/// Compiles EXECUTE BLOCK or EXECUTE PROCEDURE.
///
/// # Errors
/// Unknown names, types that do not go together, calls with a wrong number of arguments; `wish_list` for other
/// statements.
pub fn compile_statement(environment: &Environment, statement: &ast::Statement) -> Result<CompiledStatement> {
    match &statement.kind {
        ast::StatementKind::ExecuteBlock(block) => compile_block(environment, block),
        ast::StatementKind::ExecuteProcedure(call) => {
            compile_call(environment, call, statement.parameter_count)
        }
        _ => Err(Error::new(isc::WISH_LIST)),
    }
}

fn compile_block(environment: &Environment, block: &ast::ExecuteBlock) -> Result<CompiledStatement> {
    let mut compiler = Compiler::new(environment, RoutineKind::Block, "");
    let mut parameters = Vec::new();
    for parameter in &block.parameters {
        let declaration = &parameter.declaration;
        let column_type = compiler.declare_input(declaration)?;
        // A parameter declared NOT NULL is checked when the block runs; Firebird describes none as such.
        let column_type = ColumnType { nullable: true, ..column_type };
        parameters.push(described(declaration.parameter.name.as_str(), column_type));
    }
    let mut columns = Vec::new();
    for declaration in &block.returns {
        // Neither does it promise anything of what a block returns.
        let column_type = compiler.declare_output(&declaration.parameter)?;
        let column_type = ColumnType { nullable: true, ..column_type };
        columns.push(described(declaration.parameter.name.as_str(), column_type));
    }
    compiler.body(&block.body)?;
    let routine = compiler.finish();
    let has_cursor = routine.suspends;
    let description = StatementDescription {
        kind: if has_cursor { StatementKind::Select } else { StatementKind::ExecuteProcedure },
        parameters,
        columns,
        has_cursor,
        plan: String::new(),
        explained_plan: String::new(),
    };
    Ok(CompiledStatement { description, routine: Arc::new(routine) })
}

/// EXECUTE PROCEDURE of a client: a routine of one call, whose inputs are the statement's parameters and whose outputs are
/// the procedure's.
fn compile_call(
    environment: &Environment,
    call: &ast::ExecuteProcedure,
    parameter_count: u32,
) -> Result<CompiledStatement> {
    let mut compiler = Compiler::new(environment, RoutineKind::Statement, "");
    compiler.scope.is_statement = true;
    compiler.position = call.position;
    if let Some(input) = blob_util_input(&call.name) {
        let parameters = compiler.declare_call_parameters(call, &[input], parameter_count)?;
        compiler.call_blob_util(call)?;
        return Ok(compiler.finish_call(parameters, Vec::new()));
    }
    let procedure = compiler.stored_procedure(&call.name)?;
    let parameters = compiler.declare_call_parameters(call, &procedure.inputs, parameter_count)?;
    let mut columns = Vec::new();
    let mut targets = Vec::new();
    for (column, output) in procedure.outputs.iter().enumerate() {
        let slot = compiler.slot();
        compiler.outputs.push(slot);
        targets.push(Store { column, slot, cast: None, constraint: None });
        let column_type = ColumnType { sql_type: output.sql_type, nullable: !output.not_null };
        columns.push(ColumnDescription {
            relation: procedure.name.clone(),
            owner: procedure.owner.clone(),
            ..described(&output.name, column_type)
        });
    }
    let arguments =
        compiler.call_arguments(&call.arguments, &inputs_of(&procedure), procedure_mismatch(&call.name))?;
    compiler.accesses.push(execute_access(&procedure));
    compiler.emit(Instruction::CallProcedure(Box::new(ProcedureCall {
        procedure: Procedure::Stored(procedure, OnceLock::new()),
        arguments,
        targets,
    })));
    Ok(compiler.finish_call(parameters, columns))
}

/// The one input of a procedure of the package RDB$BLOB_UTIL.
fn blob_util_input(name: &ast::ObjectName) -> Option<RoutineParameter> {
    name.package.as_ref().filter(|package| package.as_str() == blob_util::PACKAGE)?;
    let (input, sql_type) = blob_util::procedure_input(name.name.as_str())?;
    Some(RoutineParameter {
        name: input.to_owned(),
        sql_type,
        segment_size: None,
        domain: None,
        not_null: true,
        default_source: None,
        description: None,
    })
}

fn described(name: &str, column_type: ColumnType) -> ColumnDescription {
    ColumnDescription {
        column_type,
        field: name.to_owned(),
        relation: String::new(),
        relation_alias: String::new(),
        owner: String::new(),
        alias: name.to_owned(),
    }
}

/// Types of a routine's inputs, and how many a call must give.
pub(super) struct Inputs {
    pub(super) types: Vec<ColumnType>,
    pub(super) required: usize,
}

fn inputs_of(routine: &Routine) -> Inputs {
    let types = routine
        .inputs
        .iter()
        .map(|input| ColumnType { sql_type: input.sql_type, nullable: !input.not_null })
        .collect();
    let defaults = routine.inputs.iter().rev().take_while(|input| input.default_source.is_some()).count();
    Inputs { types, required: routine.inputs.len() - defaults }
}

/// Whether a value is INSERTING or one of its siblings: only triggers have them.
fn asks_what_fired(value: &Expression) -> bool {
    use ast::ContextVariable::{Deleting, Inserting, Updating};
    matches!(value, Expression::Context(Inserting | Updating | Deleting))
}

/// What calling a stored procedure needs.
fn execute_access(procedure: &Routine) -> Access {
    Access::of(ObjectKind::Procedure, &procedure.name, AccessPrivilege::Execute)
}

/// A call with a wrong number of inputs.
fn procedure_mismatch(name: &ast::ObjectName) -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::PRCMISMAT).with(name.to_string())
}

/// What routines of the catalog are compiled with: literals are of the database's character set.
fn stored_environment(catalog: &Arc<Catalog>) -> Environment {
    let character_set = match catalog.database.default_character_set {
        CharacterSet::NONE => CharacterSet::UTF8,
        other => other,
    };
    Environment { catalog: Arc::clone(catalog), character_set, dialect: catalog.database.dialect }
}

fn parse_body(source: &str, environment: &Environment) -> Result<ast::RoutineBody> {
    let dialect =
        if environment.dialect == 1 { farbird_sql::Dialect::One } else { farbird_sql::Dialect::Three };
    farbird_sql::parse_psql_body(source, &farbird_sql::ParseOptions { dialect })
}

/// Compiles a stored procedure.
///
/// # Errors
/// As [`compile_statement`].
pub(super) fn compile_procedure(catalog: &Arc<Catalog>, procedure: &Routine) -> Result<CompiledRoutine> {
    compile_stored(catalog, procedure, RoutineKind::Procedure)
}

/// Compiles a stored function.
///
/// # Errors
/// As [`compile_statement`].
pub(super) fn compile_function(catalog: &Arc<Catalog>, function: &Routine) -> Result<CompiledRoutine> {
    compile_stored(catalog, function, RoutineKind::Function)
}

fn compile_stored(catalog: &Arc<Catalog>, routine: &Routine, kind: RoutineKind) -> Result<CompiledRoutine> {
    let environment = stored_environment(catalog);
    let body = parse_body(&routine.source, &environment)?;
    let mut compiler = Compiler::new(&environment, kind, &routine.name);
    compiler.start = routine.source_start;
    // A function of a definer needs its owner's rights, and runs in its caller's name: Firebird 5 has it so.
    if kind == RoutineKind::Procedure && catalog.is_definer(routine.sql_security_definer) {
        compiler.definer = Some(routine.owner.as_str().into());
    }
    for input in &routine.inputs {
        compiler.declare_stored_input(input)?;
    }
    for output in &routine.outputs {
        compiler.declare_stored_output(output)?;
    }
    compiler.body(&body)?;
    Ok(compiler.finish())
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fired {
    /// Whether it comes before the change, so that NEW may be assigned to.
    pub(super) is_before: bool,
    /// The change; `None` if it is not known yet, or is none of a row.
    pub(super) action: Option<TriggerAction>,
}

/// Compiles a trigger. The frame's first slots are OLD and NEW by field id.
///
/// # Errors
/// As [`compile_statement`].
pub(super) fn compile_trigger(
    catalog: &Arc<Catalog>,
    trigger: &Trigger,
    relation: Option<&Relation>,
    fired: Fired,
) -> Result<CompiledRoutine> {
    let environment = stored_environment(catalog);
    let body = parse_body(&trigger.source, &environment)?;
    let mut compiler = Compiler::new(&environment, RoutineKind::Trigger, &trigger.name);
    compiler.start = trigger.source_start;
    compiler.definer = catalog.definer_of(trigger).map(Arc::from);
    if let Some(relation) = relation {
        compiler.declare_rows(relation, trigger.trigger_type, fired);
    }
    compiler.body(&body)?;
    Ok(compiler.finish())
}

/// What a statement that leaves early must close.
enum Construct {
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

/// A routine being compiled.
struct Compiler<'a> {
    environment: &'a Environment,
    kind: RoutineKind,
    name: String,
    start: SourceStart,
    scope: Scope,
    slots: usize,
    first_input: usize,
    inputs: Vec<Declared>,
    outputs: Vec<usize>,
    constraints: Vec<VariableConstraint>,
    cursors: Vec<CursorDefinition>,
    cursor_numbers: HashMap<String, usize>,
    /// Cursors that a statement names by WHERE CURRENT OF: only they carry row numbers.
    positioned: HashSet<String>,
    handlers: Vec<HandlerTable>,
    locals: Vec<OnceLock<Arc<CompiledRoutine>>>,
    shared_slots: usize,
    instructions: Vec<Instruction>,
    positions: Vec<Position>,
    position: Position,
    constructs: Vec<Construct>,
    /// How many blocks with handlers are around the statement at hand.
    handler_depth: u32,
    /// Jumps of EXIT and RETURN, to be led to the end.
    exits: Vec<usize>,
    result: Option<(usize, ColumnType, Option<usize>)>,
    suspends: bool,
    changes: bool,
    executes_texts: bool,
    accesses: Vec<Access>,
    definer: Option<Arc<str>>,
}

impl<'a> Compiler<'a> {
    fn new(environment: &'a Environment, kind: RoutineKind, name: &str) -> Compiler<'a> {
        Compiler {
            environment,
            kind,
            name: name.to_owned(),
            start: SourceStart::default(),
            scope: Scope::default(),
            slots: 0,
            first_input: 0,
            inputs: Vec::new(),
            outputs: Vec::new(),
            constraints: Vec::new(),
            cursors: Vec::new(),
            cursor_numbers: HashMap::new(),
            positioned: HashSet::new(),
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
            changes: false,
            executes_texts: false,
            accesses: Vec::new(),
            definer: None,
        }
    }

    /// A new slot.
    fn slot(&mut self) -> usize {
        self.slots += 1;
        self.slots - 1
    }

    /// Appends an instruction of the statement at hand; gives its index.
    fn emit(&mut self, instruction: Instruction) -> usize {
        self.instructions.push(instruction);
        self.positions.push(self.moved(self.position));
        self.instructions.len() - 1
    }

    /// A position within the source as one within the CREATE statement's text.
    fn moved(&self, position: Position) -> Position {
        let column = if position.line <= 1 {
            position.column.saturating_add(self.start.column.saturating_sub(1))
        } else {
            position.column
        };
        Position { line: position.line.saturating_add(self.start.line.saturating_sub(1)), column, ..position }
    }

    /// The index of the next instruction.
    fn here(&self) -> usize {
        self.instructions.len()
    }

    /// Leads a jump to the next instruction.
    fn land(&mut self, jump: usize) {
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

    fn expression(&mut self, value: &ast::Expression, target: Option<&SqlType>) -> Result<BoundExpression> {
        let (bound, accesses) =
            bind::bind_expression_with_accesses(self.environment, value, &self.scope, target)?;
        self.accesses.extend(accesses);
        if let RoutineKind::Block | RoutineKind::Procedure | RoutineKind::Function = self.kind
            && bound.expression.any(&asks_what_fired)
        {
            return Err(statement::misplaced("INSERTING/UPDATING/DELETING"));
        }
        Ok(bound)
    }

    fn condition(&mut self, value: &ast::Expression) -> Result<BoundExpression> {
        let condition = self.expression(value, None)?;
        match condition.column_type.sql_type {
            SqlType::Boolean | SqlType::Null => Ok(condition),
            _ => Err(sql_error(-104).and(isc::INVALID_BOOLEAN_USAGE)),
        }
    }

    /// A stored procedure by name.
    fn stored_procedure(&self, name: &ast::ObjectName) -> Result<Arc<Routine>> {
        let found = match &name.package {
            Some(_) => None,
            None => self.environment.catalog.procedures.get(name.name.as_str()),
        };
        found.cloned().ok_or_else(|| {
            sql_error(-204).and(isc::DSQL_PROCEDURE_ERR).and(isc::RANDOM).with(name.to_string())
        })
    }

    /// The arguments of a call, converted to the types of the inputs.
    fn call_arguments(
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
    fn declare_call_parameters(
        &mut self,
        call: &ast::ExecuteProcedure,
        inputs: &[RoutineParameter],
        count: u32,
    ) -> Result<Vec<ColumnDescription>> {
        let types = self.call_parameters(call, inputs, count)?;
        self.scope.parameter_types = types.iter().map(|(_, column_type)| *column_type).collect();
        let mut parameters = Vec::new();
        for (name, column_type) in types {
            let slot = self.slot();
            self.inputs.push(Declared { constraint: None, default: None });
            debug_assert_eq!(slot + 1, self.inputs.len(), "inputs come first");
            parameters.push(described(&name, column_type));
        }
        Ok(parameters)
    }

    /// A client's EXECUTE PROCEDURE, compiled.
    fn finish_call(
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

    /// Names and types of the `?` in the arguments of a client's EXECUTE PROCEDURE.
    fn call_parameters(
        &self,
        call: &ast::ExecuteProcedure,
        inputs: &[RoutineParameter],
        count: u32,
    ) -> Result<Vec<(String, ColumnType)>> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if call.arguments.len() > inputs.len() {
            return Err(procedure_mismatch(&call.name));
        }
        let mut types = vec![None; count];
        for (argument, input) in call.arguments.iter().zip(inputs) {
            let target = ColumnType { sql_type: input.sql_type, nullable: true };
            let found = bind::parameters_of_argument(self.environment, argument, &self.scope, target)?;
            for (place, known) in types.iter_mut().zip(found) {
                if let Some(column_type) = known {
                    *place = Some((input.name.clone(), column_type));
                }
            }
        }
        types.into_iter().map(|known| known.ok_or_else(bind::unknown_type)).collect()
    }

    fn declare_stored_input(&mut self, input: &RoutineParameter) -> Result<()> {
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

    fn declare_stored_output(&mut self, output: &RoutineParameter) -> Result<()> {
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
    fn name_slot(
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

    /// OLD and NEW, by field id, as far as what fires the trigger has them.
    fn declare_rows(&mut self, relation: &Relation, trigger_type: u64, fired: Fired) {
        let width = usize::from(relation.next_field_id);
        self.slots = width * 2;
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
        self.declare_computed(relation, fired.action);
        self.scope.changed_relation = Some(relation.name.clone());
    }

    /// Computed columns of OLD and NEW: computed where they are read.
    fn declare_computed(&mut self, relation: &Relation, action: Option<TriggerAction>) {
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
    fn body(&mut self, body: &ast::RoutineBody) -> Result<()> {
        statement::positioned_cursors(&body.block, &mut self.positioned);
        for declaration in &body.declarations {
            self.position = declaration.position;
            self.declaration(declaration)?;
        }
        self.block(&body.block)?;
        self.position = body.block.end;
        Ok(())
    }

    fn finish(mut self) -> CompiledRoutine {
        for jump in std::mem::take(&mut self.exits) {
            self.land(jump);
        }
        self.emit(Instruction::End);
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
        }
    }
}
