//! Stored procedures and functions: their signatures and their texts.

use std::sync::Arc;

use farbird_sql::ast::{
    AlterRoutineOptions, DataTypeKind, DdlStatement, DefineFunction, DefineMode, DefineProcedure,
    FunctionSignature, ParameterDeclaration, ProcedureSignature, RoutineBody, RoutineDefinition, Source,
    SqlSecurity, SqlSecurityChange,
};
use farbird_types::{Error, Result, isc};

use crate::bind::data_type::as_dsql;
use crate::catalog::privileges::DdlAction;
use crate::catalog::{
    CatalogObject, ObjectKind, Routine, RoutineParameter, SourceStart, declared_type, dependencies,
};
use crate::ddl::column::check_default;
use crate::ddl::editor::Editor;
use crate::ddl::table::check_name_is_free;
use crate::ddl::{drop, error, rights};
use crate::psql;

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
    let body = body_of(&ast.definition)?;
    let ProcedureSignature { parameters, returns, sql_security, .. } = &ast.signature;
    let routine = Routine {
        id: match &kept {
            Some(kept) => kept.id,
            None => editor.counters().procedure_id()?,
        },
        name: name.to_owned(),
        owner: kept.as_ref().map_or_else(|| editor.user().to_owned(), |kept| kept.owner.clone()),
        inputs: declare(editor, parameters)?,
        outputs: declare(editor, returns)?,
        selectable: dependencies::identifiers(&body.source.text).contains("SUSPEND"),
        deterministic: false,
        source: body.source.text.clone(),
        source_start: start_of(&body.source),
        sql_security_definer: definer(*sql_security),
        description: kept.and_then(|kept| kept.description.clone()),
    };
    let routine = Arc::new(routine);
    editor.put(CatalogObject::Procedure(Arc::clone(&routine)))?;
    psql::check_procedure(&editor.catalog(), &routine)
        .map_err(|failure| error::in_statement(failure, routine.source_start))
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
    let FunctionSignature { parameters, returns, deterministic, sql_security, .. } = &ast.signature;
    let declared =
        declared_type(&editor.catalog(), &returns.data_type, returns.collation.as_ref()).map_err(as_dsql)?;
    let result = RoutineParameter {
        name: String::new(),
        sql_type: declared.sql_type,
        segment_size: declared.segment_size,
        domain: declared.domain.map(|domain| domain.name.clone()),
        not_null: returns.not_null || declared.not_null,
        default_source: None,
        description: None,
    };
    let routine = Routine {
        id: match &kept {
            Some(kept) => kept.id,
            None => editor.counters().function_id()?,
        },
        name: name.to_owned(),
        owner: kept.as_ref().map_or_else(|| editor.user().to_owned(), |kept| kept.owner.clone()),
        inputs: declare(editor, parameters)?,
        outputs: vec![result],
        selectable: false,
        deterministic: *deterministic,
        source: body.source.text.clone(),
        source_start: start_of(&body.source),
        sql_security_definer: definer(*sql_security),
        description: kept.and_then(|kept| kept.description.clone()),
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

pub(super) fn definer(security: Option<SqlSecurity>) -> Option<bool> {
    security.map(|security| security == SqlSecurity::Definer)
}

pub(super) fn definer_after(change: SqlSecurityChange) -> Option<bool> {
    match change {
        SqlSecurityChange::Set(security) => definer(Some(security)),
        SqlSecurityChange::Drop => None,
    }
}

/// Where a body begins in the statement's text.
pub(super) fn start_of(source: &Source) -> SourceStart {
    SourceStart { line: source.position.line, column: source.position.column }
}

pub(super) fn body_of(definition: &RoutineDefinition) -> Result<&RoutineBody> {
    match definition {
        RoutineDefinition::Body(body) => Ok(body),
        RoutineDefinition::External(_) => Err(error::unsupported("an external routine")),
    }
}

/// Resolves the types that a procedure or a function is declared with, before anything else is looked at.
///
/// # Errors
/// Unknown domains, columns, character sets and collations; names that stand twice.
pub(super) fn check_signature(editor: &Editor<'_, '_>, statement: &DdlStatement) -> Result<()> {
    match statement {
        DdlStatement::DefineProcedure(it) => {
            let ProcedureSignature { parameters, returns, .. } = &it.signature;
            check_types(editor, parameters)?;
            check_types(editor, returns)?;
            let is_input = |output: &&ParameterDeclaration| {
                parameters.iter().any(|input| input.parameter.name == output.parameter.name)
            };
            match returns.iter().find(is_input) {
                Some(output) => Err(named_twice(output.parameter.name.as_str())),
                None => Ok(()),
            }
        }
        DdlStatement::DefineFunction(it) => {
            check_types(editor, &it.signature.parameters)?;
            let returns = &it.signature.returns;
            let declared = declared_type(&editor.catalog(), &returns.data_type, returns.collation.as_ref());
            declared.map(|_| ()).map_err(as_dsql)
        }
        _ => Ok(()),
    }
}

fn named_twice(parameter: &str) -> Error {
    Error::new(isc::SQLERR).with(-901).and(isc::DSQL_DUPLICATE_SPEC).with(parameter)
}

fn check_types(editor: &Editor<'_, '_>, declarations: &[ParameterDeclaration]) -> Result<()> {
    let catalog = editor.catalog();
    for (number, declaration) in declarations.iter().enumerate() {
        let typed = &declaration.parameter;
        let name = typed.name.as_str();
        let earlier = declarations.iter().take(number);
        if earlier.map(|earlier| earlier.parameter.name.as_str()).any(|earlier| earlier == name) {
            return Err(named_twice(name));
        }
        declared_type(&catalog, &typed.data_type, typed.collation.as_ref()).map_err(as_dsql)?;
    }
    Ok(())
}

fn declare(editor: &Editor<'_, '_>, declarations: &[ParameterDeclaration]) -> Result<Vec<RoutineParameter>> {
    let mut parameters: Vec<RoutineParameter> = Vec::with_capacity(declarations.len());
    let catalog = editor.catalog();
    for declaration in declarations {
        let typed = &declaration.parameter;
        let name = typed.name.as_str();
        if declaration.default.is_none() && parameters.iter().any(|earlier| earlier.default_source.is_some())
        {
            return Err(Error::new(isc::DSQL_ERROR)
                .and(isc::SQLERR)
                .with(-204)
                .and(isc::BAD_DEFAULT_VALUE)
                .and(isc::INVALID_CLAUSE)
                .with("defaults must be last"));
        }
        let declared =
            declared_type(&catalog, &typed.data_type, typed.collation.as_ref()).map_err(as_dsql)?;
        let default_source = match &declaration.default {
            None => None,
            Some(default) => Some(check_default(editor, default, &declared.sql_type)?),
        };
        let by_domain =
            matches!(typed.data_type.kind, DataTypeKind::Domain(_) | DataTypeKind::TypeOfDomain(_));
        parameters.push(RoutineParameter {
            name: name.to_owned(),
            sql_type: declared.sql_type,
            segment_size: declared.segment_size,
            domain: declared.domain.filter(|_| by_domain).map(|domain| domain.name.clone()),
            not_null: typed.not_null || declared.not_null,
            default_source,
            description: None,
        });
    }
    Ok(parameters)
}
