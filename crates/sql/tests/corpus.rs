//! Every statement of the corpus is understood.

use farbird_sql::{ParseOptions, parse_statement, split_script};
use std::path::Path;

/// The statements of all scripts in tests/corpus, each with its file and line.
fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut statements = Vec::new();
    for file in files {
        let script = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        for statement in split_script(&script) {
            statements.push((format!("{name}:{}", statement.line), statement.text.to_owned()));
        }
    }
    statements
}

#[test]
fn every_statement_is_understood() {
    let options = ParseOptions::default();
    let mut faults = Vec::new();
    for (place, text) in corpus() {
        if let Err(error) = parse_statement(&text, &options) {
            faults.push(format!("{place}: {error:?}\n{text}"));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}
