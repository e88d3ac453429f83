//! Which programs only Firebird 4 and later run: those that name what came with it.
//!
//! A program is looked through for the codes with their names, not read: at worst a backup is of a newer format than it need be.

use std::ops::RangeInclusive;

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

/// Before the name of a package: calls of its routines, and those in FROM.
const PACKAGED: [u8; 4] = [192, 193, 194, 198];
const PACKAGES: [&str; 3] = ["RDB$BLOB_UTIL", "RDB$PROFILER", "RDB$TIME_ZONE_UTIL"];
/// A window with a frame, and what comes first in it: PARTITION BY, ORDER BY, its values.
const FRAMED_WINDOW: u8 = 211;
const OF_WINDOW: [u8; 3] = [1, 2, 3];
/// LATERAL, how many sources it has, and what its rows may come from: tables, groups, other queries. More of them would be letters: LATERAL
/// itself is an `n`.
const LATERAL: u8 = 110;
const COUNTS: RangeInclusive<u8> = 1..=31;
const SOURCES: [u8; 8] = [67, 74, 76, 79, 119, 124, 146, 195];
/// Session management: a text that is executed.
const SET: [&[u8]; 2] = [&[176, 21, 15], b"SET "];
/// RESETTING.
const RESETTING: &[u8] = &[177, 21, 8, 0, 10, 0, 0, 0];
/// HASH of two arguments, which names an algorithm.
const HASH_USING: &[u8] = &[186, 4, b'H', b'A', b'S', b'H', 2];

/// Functions and aggregates that Firebird 3 does not have.
const NAMES: [&str; 29] = [
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
    "RSA_SIGN_HASH",
    "RSA_VERIFY_HASH",
    "TOTALORDER",
    "UNICODE_CHAR",
    "UNICODE_VAL",
];

/// Whether a program names something that Firebird 3 does not have.
pub(super) fn needs_firebird_4(program: &[u8]) -> bool {
    let names = |known: &[&str], length: u8, rest: &[u8]| {
        let name = rest.get(..usize::from(length)).unwrap_or_default();
        known.iter().any(|known| known.as_bytes() == name)
    };
    let names_newer = |rest: &[u8]| match rest {
        [FUNCTION | AGGREGATE, length, rest @ ..] if names(&NAMES, *length, rest) => true,
        [call, length, rest @ ..] if PACKAGED.contains(call) => names(&PACKAGES, *length, rest),
        _ => rest.starts_with(HASH_USING) || rest.starts_with(RESETTING),
    };
    let [execute, set] = SET;
    let is_newer = |rest: &[u8]| match rest {
        [FRAMED_WINDOW, _, part, ..] if OF_WINDOW.contains(part) => true,
        [LATERAL, count, source, ..] if COUNTS.contains(count) && SOURCES.contains(source) => true,
        // Between the two stand the character set and the length.
        [..] if rest.starts_with(execute) && rest.get(7..).is_some_and(|text| text.starts_with(set)) => true,
        [before, of, ..] if BEFORE_TYPES.contains(before) && TYPES.contains(of) => true,
        [STORE, wins, table, ..] => OVERRIDING.contains(wins) && TABLES.contains(table),
        rest => names_newer(rest),
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
        assert!(needs_firebird_4(&[5, 211, 2, 3, 1, 0, 76]));
        assert!(needs_firebird_4(&[5, 110, 1, 74, 1, b'T', 0, 255, 76]));
        for text in ["now", "unknown", "in London", "an Order"] {
            assert!(
                !needs_firebird_4(&[&[5, 21, 15, 0, 0, 9, 0], text.as_bytes(), &[76]].concat()),
                "{text}"
            );
        }
        assert!(needs_firebird_4(&[[5, 194, 13].as_slice(), b"RDB$BLOB_UTIL", &[0, 76]].concat()));
        assert!(!needs_firebird_4(&[5, 194, 1, b'P', 1, b'F', 0, 76]));
        assert!(needs_firebird_4(
            &[[5, 176, 21, 15, 4, 0, 14, 0].as_slice(), b"SET ROLE NONE", &[76]].concat()
        ));
        assert!(needs_firebird_4(&[5, 2, 213, 1, 74, 1, b'T', 0, 2, 255, 45, 255, 76]));
    }
}
