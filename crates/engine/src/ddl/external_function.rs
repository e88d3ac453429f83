//! External functions: DECLARE EXTERNAL FUNCTION and ALTER EXTERNAL FUNCTION.
//!
//! As in Firebird any may be declared; those that are not of the libraries that are built in cannot be called.

use std::sync::Arc;

use farbird_sql::ast::{
    DataTypeKind, DeclareExternalFunction, ExternalArgument, ExternalMechanism, ExternalResult,
};
use farbird_types::{Error, Result, SqlType, isc};

use crate::bind::data_type::as_dsql;
use crate::catalog::privileges::DdlAction;
use crate::catalog::{
    CatalogObject, LibraryArgument, LibraryFunction, Mechanism, ObjectKind, Routine, RoutineEngine,
    RoutineParameter, SourceStart, value_type,
};
use crate::ddl::editor::Editor;
use crate::ddl::{error, rights};

/// DECLARE EXTERNAL FUNCTION.
pub(super) fn declare(editor: &mut Editor<'_, '_>, ast: &DeclareExternalFunction) -> Result<()> {
    let name = ast.name.as_str();
    if editor.catalog().functions.contains_key(name) {
        return Err(error::function_exists(name));
    }
    rights::check_ddl(editor.context, ObjectKind::Function, DdlAction::Create, name)?;
    let declared = declared(editor, ast)?;
    let routine = Routine {
        id: editor.counters().function_id()?,
        name: name.to_owned(),
        package: None,
        private: false,
        owner: editor.user().to_owned(),
        inputs: declared.inputs().map(parameter).collect(),
        outputs: declared.result().map(parameter).into_iter().collect(),
        selectable: false,
        deterministic: false,
        source: String::new(),
        source_start: SourceStart::default(),
        source_hidden: false,
        sql_security_definer: None,
        description: None,
        engine: RoutineEngine::Library(declared),
    };
    editor.put(CatalogObject::Function(Arc::new(routine)))
}

/// ALTER EXTERNAL FUNCTION: another entry point, another module.
pub(super) fn alter(
    editor: &mut Editor<'_, '_>,
    name: &str,
    entry_point: Option<&str>,
    module: Option<&str>,
) -> Result<()> {
    let function = editor.catalog().functions.get(name).cloned();
    let function = function.ok_or_else(|| Error::new(isc::DYN_FUNC_NOT_FOUND).with(name))?;
    rights::check_ddl(editor.context, ObjectKind::Function, DdlAction::Alter, name)?;
    let RoutineEngine::Library(library) = &function.engine else {
        return Err(Error::new(isc::DYN_NEWFC_OLDSYNTAX).with(name));
    };
    // Empty ones are taken as not given.
    let (entry_point, module) = (entry_point.filter(|it| !it.is_empty()), module.filter(|it| !it.is_empty()));
    if entry_point.is_none() && module.is_none() {
        return Err(Error::new(isc::SQLERR).with(-104));
    }
    let mut library = library.clone();
    if let Some(entry_point) = entry_point {
        library.entry_point = stored(entry_point)?;
    }
    if let Some(module) = module {
        library.module = stored(module)?;
    }
    let engine = RoutineEngine::Library(library);
    editor.put(CatalogObject::Function(Arc::new(Routine { engine, ..Routine::clone(&function) })))
}

fn declared(editor: &Editor<'_, '_>, ast: &DeclareExternalFunction) -> Result<LibraryFunction> {
    let mut arguments = Vec::with_capacity(ast.arguments.len() + 1);
    for argument in &ast.arguments {
        // RDB$ARGUMENT_POSITION is a SMALLINT.
        let position = i16::try_from(arguments.len() + 1).map_err(|_| Error::new(isc::IMP_EXC))?;
        arguments.push(declared_argument(editor, argument, position.unsigned_abs())?);
    }
    let returned = match &ast.returns {
        ExternalResult::Parameter(number) => {
            if !(1..=arguments.len()).contains(&usize::from(*number)) {
                let count = i32::try_from(arguments.len()).unwrap_or(i32::MAX);
                return Err(command_error().and(isc::DSQL_UDF_RETURN_POS_ERR).with(count));
            }
            *number
        }
        ExternalResult::Value(result) => append_result(editor, &mut arguments, result, ast.free_it)?,
    };
    if ast.module_name.is_empty() {
        return Err(error::unsupported("an external function whose MODULE_NAME is empty"));
    }
    Ok(LibraryFunction {
        module: stored(&ast.module_name)?,
        entry_point: stored(&ast.entry_point)?,
        returned,
        arguments,
    })
}

/// The result stands before the arguments, at place 0; a BLOB is given back in an argument of its own behind them. Tells the place.
fn append_result(
    editor: &Editor<'_, '_>,
    arguments: &mut Vec<LibraryArgument>,
    result: &ExternalArgument,
    free_it: bool,
) -> Result<u16> {
    const BLOB_POSITION_MAX: u16 = 15;
    let declared = LibraryArgument { free_it, ..declared_argument(editor, result, 0)? };
    let has_no_value =
        matches!(declared.sql_type, SqlType::Text(_) | SqlType::Timestamp | SqlType::Blob { .. });
    if has_no_value && declared.mechanism == Mechanism::Value {
        return Err(command_error().and(isc::RETURN_MODE_ERR));
    }
    if !matches!(declared.sql_type, SqlType::Blob { .. }) {
        arguments.insert(0, declared);
        return Ok(0);
    }
    let position = u16::try_from(arguments.len() + 1).ok().filter(|position| *position <= BLOB_POSITION_MAX);
    let position = position.ok_or_else(|| command_error().and(isc::EXTERN_FUNC_ERR))?;
    arguments.push(LibraryArgument { position, mechanism: Mechanism::BlobDescriptor, ..declared });
    Ok(position)
}

/// A text of a declaration as far as the system tables can show it.
fn stored(text: &str) -> Result<String> {
    const BYTES_MAX: usize = 255;
    if text.len() > BYTES_MAX {
        return Err(Error::new(isc::DYN_NAME_LONGER));
    }
    Ok(text.to_owned())
}

fn command_error() -> Error {
    Error::new(isc::SQLERR).with(-607).and(isc::DSQL_COMMAND_ERR)
}

fn declared_argument(
    editor: &Editor<'_, '_>,
    ast: &ExternalArgument,
    position: u16,
) -> Result<LibraryArgument> {
    let declared = value_type(&editor.catalog(), &ast.data_type, None).map_err(as_dsql)?;
    let is_blob = matches!(declared.sql_type, SqlType::Blob { .. });
    let mechanism = match ast.mechanism {
        ExternalMechanism::Value => Mechanism::Value,
        ExternalMechanism::Reference if is_blob => Mechanism::BlobDescriptor,
        ExternalMechanism::Reference => Mechanism::Reference,
        ExternalMechanism::Descriptor => Mechanism::Descriptor,
        ExternalMechanism::ScalarArray => Mechanism::ScalarArray,
        ExternalMechanism::ReferenceWithNull => Mechanism::ReferenceWithNull,
    };
    Ok(LibraryArgument {
        position,
        sql_type: declared.sql_type,
        precision: declared.precision,
        is_cstring: matches!(ast.data_type.kind, DataTypeKind::CString { .. }),
        mechanism,
        free_it: false,
    })
}

fn parameter(argument: &LibraryArgument) -> RoutineParameter {
    RoutineParameter {
        name: String::new(),
        sql_type: argument.sql_type,
        precision: argument.precision,
        segment_size: None,
        domain: None,
        type_of_domain: None,
        type_of_column: None,
        not_null: false,
        default_source: None,
        description: None,
    }
}
