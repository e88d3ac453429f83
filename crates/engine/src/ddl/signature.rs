//! What routines are declared with: parameters, results, SQL SECURITY, and where their texts begin.

use farbird_sql::ast::{
    DataType, DataTypeKind, DdlStatement, FunctionSignature, PackageBodyItem, PackageItem,
    ParameterDeclaration, ProcedureSignature, RoutineBody, RoutineDefinition, Source, SqlSecurity,
    SqlSecurityChange,
};
use farbird_types::{Error, Result, isc};

use crate::bind::data_type::as_dsql;
use crate::catalog::{RoutineParameter, SourceStart, value_type};
use crate::ddl::column::check_default;
use crate::ddl::editor::Editor;
use crate::ddl::error;

/// Inputs and outputs of a procedure.
pub(super) fn declare_procedure(
    editor: &Editor<'_, '_>,
    signature: &ProcedureSignature,
) -> Result<(Vec<RoutineParameter>, Vec<RoutineParameter>)> {
    Ok((declare(editor, &signature.parameters)?, declare(editor, &signature.returns)?))
}

/// Inputs and the result of a function.
pub(super) fn declare_function(
    editor: &Editor<'_, '_>,
    signature: &FunctionSignature,
) -> Result<(Vec<RoutineParameter>, RoutineParameter)> {
    let returns = &signature.returns;
    let declared =
        value_type(&editor.catalog(), &returns.data_type, returns.collation.as_ref()).map_err(as_dsql)?;
    let result = RoutineParameter {
        name: String::new(),
        sql_type: declared.sql_type,
        precision: declared.precision,
        segment_size: declared.segment_size,
        domain: declared.domain.map(|domain| domain.name.clone()),
        type_of_domain: domain_named(editor, &returns.data_type),
        type_of_column: column_named(&returns.data_type),
        not_null: returns.not_null || declared.not_null,
        default_source: None,
        description: None,
    };
    Ok((declare(editor, &signature.parameters)?, result))
}

/// The domain of TYPE OF, if it is one of the database's own: those of the system stay as they are.
fn domain_named(editor: &Editor<'_, '_>, data_type: &DataType) -> Option<String> {
    match &data_type.kind {
        DataTypeKind::TypeOfDomain(name) => {
            let catalog = editor.catalog();
            catalog.domains.get(name.as_str()).map(|domain| domain.name.clone())
        }
        _ => None,
    }
}

/// Table and column of TYPE OF COLUMN.
fn column_named(data_type: &DataType) -> Option<(String, String)> {
    match &data_type.kind {
        DataTypeKind::TypeOfColumn { relation, column } => {
            Some((relation.name.as_str().to_owned(), column.as_str().to_owned()))
        }
        _ => None,
    }
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

/// Resolves the types that procedures and functions are declared with, before anything else is looked at.
///
/// # Errors
/// Unknown domains, columns, character sets and collations; names that stand twice.
pub(super) fn check_signature(editor: &Editor<'_, '_>, statement: &DdlStatement) -> Result<()> {
    match statement {
        DdlStatement::DefineProcedure(it) => check_procedure(editor, &it.signature),
        DdlStatement::DefineFunction(it) => check_function(editor, &it.signature),
        DdlStatement::DefinePackage(it) => it.items.iter().try_for_each(|item| match item {
            PackageItem::Procedure(signature) => check_procedure(editor, signature),
            PackageItem::Function(signature) => check_function(editor, signature),
        }),
        DdlStatement::DefinePackageBody(it) => it.items.iter().try_for_each(|item| match item {
            PackageBodyItem::Procedure { signature, .. } => check_procedure(editor, signature),
            PackageBodyItem::Function { signature, .. } => check_function(editor, signature),
        }),
        _ => Ok(()),
    }
}

fn check_procedure(editor: &Editor<'_, '_>, signature: &ProcedureSignature) -> Result<()> {
    let ProcedureSignature { parameters, returns, .. } = signature;
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

fn check_function(editor: &Editor<'_, '_>, signature: &FunctionSignature) -> Result<()> {
    check_types(editor, &signature.parameters)?;
    let returns = &signature.returns;
    let declared = value_type(&editor.catalog(), &returns.data_type, returns.collation.as_ref());
    declared.map(|_| ()).map_err(as_dsql)
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
        value_type(&catalog, &typed.data_type, typed.collation.as_ref()).map_err(as_dsql)?;
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
        let declared = value_type(&catalog, &typed.data_type, typed.collation.as_ref()).map_err(as_dsql)?;
        let default_source = match &declaration.default {
            None => None,
            Some(default) => Some(check_default(editor, default, &declared.sql_type)?),
        };
        let by_domain =
            matches!(typed.data_type.kind, DataTypeKind::Domain(_) | DataTypeKind::TypeOfDomain(_));
        parameters.push(RoutineParameter {
            name: name.to_owned(),
            sql_type: declared.sql_type,
            precision: declared.precision,
            segment_size: declared.segment_size,
            domain: declared.domain.filter(|_| by_domain).map(|domain| domain.name.clone()),
            type_of_domain: domain_named(editor, &typed.data_type),
            type_of_column: column_named(&typed.data_type),
            not_null: typed.not_null || declared.not_null,
            default_source,
            description: None,
        });
    }
    Ok(parameters)
}
