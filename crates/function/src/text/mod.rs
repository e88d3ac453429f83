//! Functions on texts: case, length, parts, padding, search and replacement.
//!
//! Texts are counted in characters, compared by the collation's idea of case, and given back in the character set of
//! the first argument (or the one that `result_type::joined_kind` finds). BLOB arguments are read whole and give BLOB results.
//!
//! Source: Firebird 5 language reference, section String Functions; error cases as Firebird 4 answers them.

mod case;
mod code_point;
mod kinds;
mod length;
mod pad;
mod part;
pub(crate) use part::{TRIM_BOTH, TRIM_LEADING, TRIM_TRAILING};
mod search;
mod seen;

use farbird_types::{ColumnType, Result, SqlType};

use crate::result_type::{integer_parameter, is_blob, nullable_as, text_kind, unknown_parameter, varying};
use crate::text::kinds::{any_null, ascii_text, null_text};
use crate::{Argument, ScalarFunction, result_type};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    function("UPPER", (1, 1), text_or_ascii, unknown_parameter, case::upper),
    function("LOWER", (1, 1), text_or_ascii, unknown_parameter, case::lower),
    function("REVERSE", (1, 1), first_text, unknown_parameter, case::reverse),
    function("CHAR_LENGTH", (1, 1), length::result, unknown_parameter, length::char_length),
    function("CHARACTER_LENGTH", (1, 1), length::result, unknown_parameter, length::char_length),
    function("OCTET_LENGTH", (1, 1), length::result, unknown_parameter, length::octet_length),
    function("BIT_LENGTH", (1, 1), length::result, unknown_parameter, length::bit_length),
    function("ASCII_CHAR", (1, 1), code_point::ascii_char_result, integer_parameter, code_point::ascii_char),
    function("ASCII_VAL", (1, 1), result_type::smallint, code_point::ascii_parameter, code_point::ascii_val),
    function(
        "UNICODE_CHAR",
        (1, 1),
        code_point::unicode_char_result,
        integer_parameter,
        code_point::unicode_char,
    ),
    function(
        "UNICODE_VAL",
        (1, 1),
        result_type::integer,
        code_point::unicode_parameter,
        code_point::unicode_val,
    ),
    function("LEFT", (2, 2), first_text, part::count_parameter, part::left),
    function("RIGHT", (2, 2), first_text, part::count_parameter, part::right),
    function("SUBSTRING", (2, 3), part::substring_result, unknown_parameter, part::substring),
    function("TRIM", (2, 3), part::trim_result, unknown_parameter, part::trim),
    function("OVERLAY", (3, 4), part::overlay_result, part::overlay_parameter, part::overlay),
    function("LPAD", (2, 3), pad::result, part::count_parameter, pad::left),
    function("RPAD", (2, 3), pad::result, part::count_parameter, pad::right),
    function("POSITION", (2, 3), result_type::integer, search::position_parameter, search::position),
    function("REPLACE", (3, 3), search::replace_result, result_type::common_parameter, search::replace),
];

type ResultRule = fn(&'static str, &[Argument<'_>]) -> Result<ColumnType>;
type ParameterRule = fn(usize, &[Argument<'_>]) -> Option<ColumnType>;

const fn function(
    name: &'static str,
    arity: (usize, usize),
    result: ResultRule,
    parameter_type: ParameterRule,
    body: crate::ScalarBody,
) -> ScalarFunction {
    ScalarFunction { name, arity, result, parameter_type, body, strict: true, deterministic: true }
}

/// A VARCHAR as long as the first argument; a BLOB for a BLOB.
fn first_text(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let [first, ..] = arguments else { return Ok(null_text()) };
    if any_null(arguments) {
        return Ok(null_text());
    }
    let sql_type = *first.sql_type();
    if is_blob(&sql_type) {
        return Ok(nullable_as(sql_type, arguments));
    }
    let kind = text_kind(&sql_type);
    Ok(nullable_as(varying(result_type::text_chars_in(&sql_type, kind.0), kind), arguments))
}

/// The type of the argument itself if it is a text; otherwise an ASCII text of its length (UPPER, LOWER).
fn text_or_ascii(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let [first, ..] = arguments else { return Ok(null_text()) };
    Ok(match first.sql_type() {
        SqlType::Null => null_text(),
        text @ (SqlType::Text(_) | SqlType::Blob { .. }) => nullable_as(*text, arguments),
        other => nullable_as(ascii_text(other), arguments),
    })
}
