//! Stored procedures and functions: their signatures and their texts.

use std::sync::Arc;

use farbird_sql::ast::{AlterRoutineOptions, DefineFunction, DefineMode, DefineProcedure};
use farbird_types::{Error, Result, isc};

use crate::catalog::dependencies::{self, Dependency};
use crate::catalog::privileges::{DdlAction, object_type};
use crate::catalog::{Catalog, CatalogObject, ObjectKind, Routine, RoutineEngine, RoutineParameter};
use crate::ddl::editor::Editor;
use crate::ddl::signature::{body_of, declare_function, declare_procedure, definer, definer_after, start_of};
use crate::ddl::table::check_name_is_free;
use crate::ddl::{drop, error, rights};
use crate::psql;

/// Characters of a name in Firebird's system tables, from which some of its errors have it.
const NAME_CHARACTERS: usize = 63;

/// CREATE | ALTER | CREATE OR ALTER | RECREATE PROCEDURE.
pub(super) fn define_procedure(editor: &mut Editor<'_, '_>, ast: &DefineProcedure) -> Result<()> {
    let name = ast.signature.name.as_str();
    let existing = editor.catalog().procedures.get(name).cloned();
    if ast.mode == DefineMode::Alter && existing.is_none() {
        return Err(Error::new(isc::DYN_PROC_NOT_FOUND).with(name));
    }
    let kept = match (ast.mode, existing) {
        (DefineMode::Create, Some(_)) => return Err(error::procedure_exists(name)),
        (DefineMode::Recreate, Some(_)) => {
            drop::drop_procedure(editor, name)?;
            None
        }
        (_, existing) => existing,
    };
    let action = if kept.is_some() { DdlAction::Alter } else { DdlAction::Create };
    rights::check_ddl(editor.context, ObjectKind::Procedure, action, name)?;
    if kept.is_none() {
        check_name_is_free(editor, name)?;
    }
    let before = editor.catalog();
    let body = body_of(&ast.definition)?;
    let (mut inputs, mut outputs) = declare_procedure(editor, &ast.signature)?;
    if let Some(kept) = &kept {
        keep_comments(&mut inputs, &kept.inputs);
        keep_comments(&mut outputs, &kept.outputs);
    }
    let routine = Routine {
        id: match &kept {
            Some(kept) => kept.id,
            None => editor.counters().procedure_id()?,
        },
        name: name.to_owned(),
        package: None,
        private: false,
        owner: kept.as_ref().map_or_else(|| editor.user().to_owned(), |kept| kept.owner.clone()),
        inputs,
        outputs,
        selectable: dependencies::identifiers(&body.source.text).contains("SUSPEND"),
        deterministic: false,
        source: body.source.text.clone(),
        source_start: start_of(&body.source),
        source_hidden: false,
        sql_security_definer: definer(ast.signature.sql_security),
        description: kept.as_ref().and_then(|kept| kept.description.clone()),
        engine: RoutineEngine::Psql,
    };
    let routine = Arc::new(routine);
    editor.put(CatalogObject::Procedure(Arc::clone(&routine)))?;
    psql::check_procedure(&editor.catalog(), &routine, editor.restores())
        .map_err(|failure| error::in_statement(failure, routine.source_start))?;
    match &kept {
        Some(kept) => check_lost_outputs(editor, &before, kept, &routine),
        None => Ok(()),
    }
}

/// Fails if somebody reads an output of a procedure that it has no longer.
fn check_lost_outputs(
    editor: &Editor<'_, '_>,
    before: &Arc<Catalog>,
    old: &Routine,
    new: &Routine,
) -> Result<()> {
    let after = editor.catalog();
    let is_kept = |output: &RoutineParameter| new.outputs.iter().any(|kept| kept.name == output.name);
    let mut lost = old.outputs.iter().filter(|output| !is_kept(output)).peekable();
    if lost.peek().is_none() {
        return Ok(());
    }
    let of_procedure = |it: &Dependency| {
        it.used == old.name && it.used_type == object_type::PROCEDURE && it.used_package.is_none()
    };
    let users: Vec<_> = dependencies::dependencies(before).into_iter().filter(of_procedure).collect();
    for output in lost {
        let reads = |it: &&Dependency| {
            names(before, it, &output.name) && lacks_column(&after, it) && !lacks_column(before, it)
        };
        match users.iter().filter(reads).count() {
            0 => {}
            // The name is as long there as Firebird's own.
            count => {
                let parameter = format!("{}.{:<NAME_CHARACTERS$}", old.name, output.name);
                return Err(error::in_use(isc::PARAMETER_NAME, &parameter, count));
            }
        }
    }
    Ok(())
}

/// Whether the text of a routine or trigger that depends on a procedure has a name in it.
fn names(catalog: &Catalog, dependency: &Dependency, name: &str) -> bool {
    let dependent = dependency.dependent.as_str();
    let source = match dependency.dependent_type {
        object_type::PROCEDURE => catalog.procedures.get(dependent).map(|it| &it.source),
        object_type::FUNCTION => catalog.functions.get(dependent).map(|it| &it.source),
        object_type::TRIGGER => catalog.triggers.get(dependent).map(|it| &it.source),
        _ => None,
    };
    source.is_some_and(|source| dependencies::identifiers(source).contains(name))
}

/// Whether a routine or trigger cannot be compiled for want of a column.
fn lacks_column(catalog: &Arc<Catalog>, dependency: &Dependency) -> bool {
    let dependent = dependency.dependent.as_str();
    let compiled = match dependency.dependent_type {
        object_type::PROCEDURE => {
            catalog.procedures.get(dependent).map(|it| psql::check_procedure(catalog, it, true))
        }
        object_type::FUNCTION => catalog.functions.get(dependent).map(|it| psql::check_function(catalog, it)),
        object_type::TRIGGER => catalog.triggers.get(dependent).map(|it| psql::check_trigger(catalog, it)),
        _ => None,
    };
    compiled.is_some_and(|result| result.is_err_and(|failure| failure.has(isc::DSQL_FIELD_ERR)))
}

/// Parameters keep their comments by their names when their routine is altered.
fn keep_comments(parameters: &mut [RoutineParameter], before: &[RoutineParameter]) {
    for parameter in parameters {
        let known = before.iter().find(|known| known.name == parameter.name);
        parameter.description = known.and_then(|known| known.description.clone());
    }
}

/// CREATE | ALTER | CREATE OR ALTER | RECREATE FUNCTION.
pub(super) fn define_function(editor: &mut Editor<'_, '_>, ast: &DefineFunction) -> Result<()> {
    let name = ast.signature.name.as_str();
    let existing = editor.catalog().functions.get(name).cloned();
    if ast.mode == DefineMode::Alter && existing.is_none() {
        return Err(Error::new(isc::DYN_FUNC_NOT_FOUND).with(name));
    }
    let kept = match (ast.mode, existing) {
        (DefineMode::Create, Some(_)) => return Err(error::function_exists(name)),
        (DefineMode::Recreate, Some(_)) => {
            drop::drop_function(editor, name)?;
            None
        }
        (_, existing) => existing,
    };
    let action = if kept.is_some() { DdlAction::Alter } else { DdlAction::Create };
    rights::check_ddl(editor.context, ObjectKind::Function, action, name)?;
    let body = body_of(&ast.definition)?;
    let (mut inputs, result) = declare_function(editor, &ast.signature)?;
    if let Some(kept) = &kept {
        keep_comments(&mut inputs, &kept.inputs);
    }
    let routine = Routine {
        id: match &kept {
            Some(kept) => kept.id,
            None => editor.counters().function_id()?,
        },
        name: name.to_owned(),
        package: None,
        private: false,
        owner: kept.as_ref().map_or_else(|| editor.user().to_owned(), |kept| kept.owner.clone()),
        inputs,
        outputs: vec![result],
        selectable: false,
        deterministic: ast.signature.deterministic,
        source: body.source.text.clone(),
        source_start: start_of(&body.source),
        source_hidden: false,
        sql_security_definer: definer(ast.signature.sql_security),
        description: kept.and_then(|kept| kept.description.clone()),
        engine: RoutineEngine::Psql,
    };
    let routine = Arc::new(routine);
    editor.put(CatalogObject::Function(Arc::clone(&routine)))?;
    psql::check_function(&editor.catalog(), &routine)
        .map_err(|failure| error::in_statement(failure, routine.source_start))
}

/// ALTER PROCEDURE | FUNCTION without a body.
pub(super) fn alter_options(editor: &mut Editor<'_, '_>, ast: &AlterRoutineOptions) -> Result<()> {
    let name = ast.name.as_str();
    let catalog = editor.catalog();
    let (found, kind, code) = if ast.function {
        (catalog.functions.get(name), ObjectKind::Function, isc::DYN_FUNC_NOT_FOUND)
    } else {
        (catalog.procedures.get(name), ObjectKind::Procedure, isc::DYN_PROC_NOT_FOUND)
    };
    let mut changed = Routine::clone(found.ok_or_else(|| Error::new(code).with(name))?);
    rights::check_ddl(editor.context, kind, DdlAction::Alter, name)?;
    if let Some(deterministic) = ast.deterministic {
        changed.deterministic = deterministic;
    }
    if let Some(change) = ast.sql_security {
        changed.sql_security_definer = definer_after(change);
    }
    let changed = Arc::new(changed);
    editor.put(if ast.function {
        CatalogObject::Function(changed)
    } else {
        CatalogObject::Procedure(changed)
    })
}
