//! Every statement of the corpus is understood, and printed so that it is understood alike.

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
    assert!(statements.len() > 400, "the corpus has only {} statements", statements.len());
    statements
}

/// Runs a check on each statement and reports all faults together.
fn check(check: impl Fn(&str) -> Result<(), String>) {
    let faults: Vec<String> = corpus()
        .iter()
        .filter_map(|(place, text)| check(text).err().map(|fault| format!("{place}: {fault}\n{text}")))
        .collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}

#[test]
fn every_statement_is_understood() {
    check(|text| match parse_statement(text, &ParseOptions::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{error:?}")),
    });
}

#[test]
fn what_is_printed_means_the_same() {
    let options = ParseOptions::default();
    check(|text| {
        let Ok(statement) = parse_statement(text, &options) else { return Ok(()) };
        let printed = statement.to_string();
        let again = parse_statement(&printed, &options).map_err(|error| format!("{error:?}\n{printed}"))?;
        if again != statement {
            return Err(format!("differs\n{printed}\n{statement:?}\n{again:?}"));
        }
        if again.to_string() != printed {
            return Err(format!("prints differently the second time\n{printed}\n{again}"));
        }
        Ok(())
    });
}
