//! Calls of external functions: what is passed as their declarations say, and what comes back.
//!
//! Arguments are converted to the types of the declaration, but for those BY DESCRIPTOR, which come as they are. What an argument or a
//! result cannot be is told with the name of the function.
//!
//! Source: Firebird 3.0.11's answers.

use farbird_catalog::{LibraryFunction, Mechanism, Routine};
use farbird_expression::ExecutionContext;
use farbird_function::{blob, library};
use farbird_types::{Error, Result, Value, isc};

/// Calls an external function. `arguments` are as they were written.
///
/// # Errors
/// `funnotdef` if there is no such entry point, and those of the conversions.
pub(super) fn call(
    context: &mut ExecutionContext<'_>,
    function: &Routine,
    declared: &LibraryFunction,
    arguments: Vec<Value>,
) -> Result<Value> {
    let entry =
        library::lookup(&declared.module, &declared.entry_point).ok_or_else(|| not_found(&function.name))?;
    compute(context, function, declared, entry, arguments)
        .map_err(|error| error.and(isc::RANDOM).with(format!("UDF: {}", function.name)))
}

fn compute(
    context: &mut ExecutionContext<'_>,
    function: &Routine,
    declared: &LibraryFunction,
    entry: &library::Entry,
    arguments: Vec<Value>,
) -> Result<Value> {
    let mut passed = Vec::with_capacity(arguments.len());
    for (value, input) in arguments.into_iter().zip(declared.inputs()) {
        passed.push(match input.mechanism {
            Mechanism::Descriptor | Mechanism::BlobDescriptor => value,
            _ => blob::cast_value(value, &input.sql_type, context)?,
        });
    }
    let value = (entry.body)(context, &passed)?;
    let refused = |code| Err(Error::new(isc::EXPRESSION_EVAL_ERR).and(code).with(function.name.as_str()));
    match &value {
        Value::Double(number) if number.is_nan() => return refused(isc::UDF_FP_NAN),
        Value::Double(number) if number.is_infinite() => return refused(isc::UDF_FP_OVERFLOW),
        // Functions take texts for bytes and may cut characters.
        Value::Text(text) => text.character_set().check(text.bytes())?,
        _ => {}
    }
    match declared.result() {
        Some(result) => blob::cast_value(value, &result.sql_type, context),
        None => Ok(value),
    }
}

/// As for a library that is not there.
fn not_found(name: &str) -> Error {
    // A place as it could be: drivers take zero for the end of the status and one for its next code, and miss what is wrong.
    Error::new(isc::INVALID_BLR).with(2).and(isc::FUNNOTDEF).with(name).and(isc::MODNOTFOUND)
}
