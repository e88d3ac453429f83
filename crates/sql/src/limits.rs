//! The limits of the language, by name.

/// Longest statement, in bytes (Firebird's own limit).
pub const STATEMENT_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Most `?` in one statement: Firebird numbers the fields of a message, two for each parameter, with 16 bits.
pub const PARAMETERS_MAX: u32 = 32_767;

/// Most values of an IN list (Firebird's MAX_MEMBER_LIST).
pub const LIST_VALUES_MAX: usize = 65_535;

/// Longest identifier, in characters.
pub const IDENTIFIER_CHARACTERS_MAX: usize = 63;

/// Longest string constant, in bytes (Firebird's MAX_STR_SIZE).
pub const STRING_BYTES_MAX: usize = 65_535;

/// Greatest height of a tree: of parentheses within parentheses, operators upon operators, blocks within blocks.
///
/// Every walk over a tree (the parser, the printer, dropping it, the engine's binder) may recurse this deep; a thread
/// with the usual 2 MiB of stack must survive it in a debug build.
pub const DEPTH_MAX: u32 = 200;

/// Codes of warnings of one text after which there are no more: a status is not to grow with it.
pub const WARNING_CODES_MAX: usize = 16;
