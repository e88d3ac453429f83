//! From syntax trees to instructions.
//!
//! One pass over the tree: declarations give names slots, statements become instructions, jumps forward are patched when
//! their target is known. Whatever is open when control leaves early (cursors of loops, handlers, autonomous
//! transactions) stands on a stack of constructs, from which the leaving statement reads what it must close.

mod compiler;
mod declaration;
mod forward;
mod query;
mod scope;
mod statement;

pub use compiler::CompiledStatement;
pub(crate) use compiler::Fired;

use std::sync::{Arc, OnceLock};

use farbird_catalog::{Catalog, Relation, Routine, Trigger};
use farbird_plan::bind::Environment;
use farbird_session::{ColumnDescription, StatementDescription, StatementKind};
use farbird_sql::ast;
use farbird_types::{CharacterSet, ColumnType, Error, Result, isc};

use crate::compile::compiler::{Compiler, described, execute_access, inputs_of, procedure_mismatch};
use crate::routine::{
    CompiledRoutine, Instruction, Procedure, ProcedureCall, ProfilerCommand, RoutineKind, Store,
};

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
        parameters.push(described("", column_type));
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
    // A block that returns something has a cursor, with no rows unless it suspends.
    let has_cursor = routine.suspends || !columns.is_empty();
    let (plan, explained_plan) = routine.plan_texts();
    let description = StatementDescription {
        kind: if has_cursor { StatementKind::Select } else { StatementKind::ExecuteProcedure },
        parameters,
        columns,
        has_cursor,
        plan,
        explained_plan,
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

/// What routines of the catalog are compiled with, once for all attachments: literals are of the database's character set.
fn stored_environment(catalog: &Arc<Catalog>) -> Environment {
    let character_set = match catalog.database.default_character_set {
        CharacterSet::NONE => CharacterSet::UTF8,
        other => other,
    };
    Environment {
        catalog: Arc::clone(catalog),
        character_set,
        dialect: catalog.database.dialect,
        first_rows: false,
        package: None,
    }
}

fn parse_body(source: &str, environment: &Environment) -> Result<ast::RoutineBody> {
    let dialect = farbird_sql::Dialect::numbered(environment.dialect);
    farbird_sql::parse_psql_body(source, &farbird_sql::ParseOptions::of(dialect))
}

/// Compiles a stored procedure. `is_known` says that it has been accepted before, or comes out of a backup.
///
/// # Errors
/// As [`compile_statement`].
pub(super) fn compile_procedure(
    catalog: &Arc<Catalog>,
    procedure: &Routine,
    is_known: bool,
) -> Result<CompiledRoutine> {
    compile_stored(catalog, procedure, RoutineKind::Procedure, is_known)
}

/// Compiles a stored function.
///
/// # Errors
/// As [`compile_statement`].
pub(super) fn compile_function(catalog: &Arc<Catalog>, function: &Routine) -> Result<CompiledRoutine> {
    compile_stored(catalog, function, RoutineKind::Function, false)
}

fn compile_stored(
    catalog: &Arc<Catalog>,
    routine: &Routine,
    kind: RoutineKind,
    is_known: bool,
) -> Result<CompiledRoutine> {
    if !routine.has_body() {
        let code = match kind {
            RoutineKind::Function => isc::FUNC_PACK_NOT_IMPLEMENTED,
            _ => isc::PROC_PACK_NOT_IMPLEMENTED,
        };
        let package = routine.package.as_deref().unwrap_or_default();
        return Err(Error::new(code).with(routine.name.as_str()).with(package));
    }
    let package: Option<Arc<str>> = routine.package.as_deref().map(Arc::from);
    let mut environment = Environment { package: package.clone(), ..stored_environment(catalog) };
    if routine.is_system() {
        environment.dialect = 3;
    }
    let body = parse_body(&routine.source, &environment)?;
    let mut compiler = Compiler::new(&environment, kind, &routine.full_name());
    compiler.package = package;
    compiler.may_suspend_nothing = is_known;
    compiler.is_system = routine.is_system();
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
    let mut compiled = compiler.finish();
    let own = routine.package.as_deref().filter(|_| compiled.is_system);
    if let Some(command) = own.and_then(|package| ProfilerCommand::of(package, &routine.name)) {
        compiled.instructions = vec![Instruction::Profiler(command), Instruction::End];
        compiled.positions.clear();
    }
    Ok(compiled)
}

/// Compiles a trigger. The frame's first slots are OLD and NEW by field id, and the numbers of their rows.
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
