//! Which programs only Firebird 4 and later run: those that name what came with it.
//!
//! A program is looked through for the codes with their names, not read: at worst a backup is of a newer format than it need be.

/// Codes before the name of a function, and of an aggregate.
const FUNCTION: u8 = 186;
const AGGREGATE: u8 = 199;
/// Codes before a type, and the types: DECFLOAT, INT128, those with time zones.
const BEFORE_TYPES: [u8; 2] = [131, 21];
const TYPES: [u8; 5] = [24, 25, 26, 28, 29];
/// Of an INSERT with OVERRIDING: the code, which values win, and the code of a table.
const STORE: u8 = 213;
const OVERRIDING: [u8; 2] = [1, 2];
const TABLES: [u8; 2] = [74, 146];

/// Functions and aggregates that Firebird 3 does not have.
const NAMES: [&str; 27] = [
    "BASE64_DECODE",
    "BASE64_ENCODE",
    "BLOB_APPEND",
    "COMPARE_DECFLOAT",
    "CRYPT_HASH",
    "CUME_DIST",
    "DECRYPT",
    "ENCRYPT",
    "FIRST_DAY",
    "HEX_DECODE",
    "HEX_ENCODE",
    "LAST_DAY",
    "MAKE_DBKEY",
    "NORMALIZE_DECFLOAT",
    "NTILE",
    "PERCENT_RANK",
    "QUANTIZE",
    "RDB$GET_TRANSACTION_CN",
    "RDB$ROLE_IN_USE",
    "RDB$SYSTEM_PRIVILEGE",
    "RSA_DECRYPT",
    "RSA_ENCRYPT",
    "RSA_PRIVATE",
    "RSA_PUBLIC",
    "TOTALORDER",
    "UNICODE_CHAR",
    "UNICODE_VAL",
];

/// Whether a program names something that Firebird 3 does not have.
pub(super) fn needs_firebird_4(program: &[u8]) -> bool {
    let names_function = |rest: &[u8]| match rest {
        [FUNCTION | AGGREGATE, length, rest @ ..] => {
            let name = rest.get(..usize::from(*length)).unwrap_or_default();
            NAMES.iter().any(|known| known.as_bytes() == name)
        }
        _ => false,
    };
    let is_newer = |rest: &[u8]| match rest {
        [before, of, ..] if BEFORE_TYPES.contains(before) && TYPES.contains(of) => true,
        [STORE, wins, table, ..] => OVERRIDING.contains(wins) && TABLES.contains(table),
        rest => names_function(rest),
    };
    (0..program.len()).any(|place| program.get(place..).is_some_and(is_newer))
}

#[cfg(test)]
mod tests {
    use super::needs_firebird_4;

    #[test]
    fn what_firebird_3_does_not_have_is_found_by_its_name() {
        let called = |name: &str| {
            [&[5, 186, u8::try_from(name.len()).unwrap()], name.as_bytes(), &[1, 45, 76]].concat()
        };
        assert!(needs_firebird_4(&called("LAST_DAY")));
        assert!(!needs_firebird_4(&called("LPAD")));
        assert!(needs_firebird_4(&[5, 131, 25, 45, 76]));
        assert!(!needs_firebird_4(&[5, 131, 8, 0, 45, 76]));
        assert!(needs_firebird_4(&[5, 2, 213, 1, 74, 1, b'T', 0, 2, 255, 45, 255, 76]));
    }
}
