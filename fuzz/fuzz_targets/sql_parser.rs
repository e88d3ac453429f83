//! Any text as a statement, in either dialect, and as a script.
//!
//! Beyond not panicking: what was accepted prints, and what was printed means the same.
#![no_main]

use farbird_sql::{Dialect, ParseOptions, parse_psql_body, parse_statement, split_script};
use farbird_types::isc;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let options = ParseOptions::default();
    if let Ok(statement) = parse_statement(text, &options) {
        let printed = statement.to_string();
        match parse_statement(&printed, &options) {
            Ok(again) => {
                assert_eq!(again, statement, "{printed}");
                assert_eq!(again.to_string(), printed);
            }
            // Parentheses that the original could do without may pass the limit of depth.
            Err(error) => assert!(error.has(isc::IMP_EXC), "{error:?}\n{printed}"),
        }
    }
    // A dialect that prints in the other one's way is only to be survived.
    let _ = parse_statement(text, &ParseOptions::of(Dialect::One)).map(|tree| tree.to_string());
    let _ = parse_psql_body(text, &options).map(|tree| tree.to_string());
    let mut passed = 0;
    for statement in split_script(text) {
        assert!(!statement.text.is_empty());
        passed += statement.text.len();
    }
    assert!(passed <= text.len());
});
