//! What the documentation promises to say: each call that may wait for the server tells its round trips, and the crate's
//! front page is not at odds with its README.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    files
}

/// A function of the public interface, as its text has it.
struct Function {
    name: String,
    documentation: String,
    text: String,
}

/// The functions that begin with one of these words, of `impl` blocks of a file.
fn functions(file: &Path, beginning: &str) -> Vec<Function> {
    let text = fs::read_to_string(file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let mut documentation = String::new();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        if let Some(comment) = code.strip_prefix("///") {
            documentation.push_str(comment.trim_start());
            documentation.push('\n');
        } else if let Some(rest) = code.strip_prefix(beginning) {
            let indent = &line[..line.len() - code.len()];
            let end = format!("{indent}}}");
            let body = lines[number..].iter().take_while(|line| **line != end);
            let name = rest.split(['(', '<']).next().unwrap_or_default().to_owned();
            let text = body.copied().collect::<Vec<_>>().join("\n");
            found.push(Function { name, documentation: std::mem::take(&mut documentation), text });
        } else if !code.starts_with("#[") {
            documentation.clear();
        }
    }
    found
}

#[test]
fn every_call_that_may_wait_says_its_round_trips() {
    let mut missing = Vec::new();
    let mut count = 0;
    let mut check = |file: &Path, function: &Function| {
        count += 1;
        if !function.documentation.contains("# Round trips") {
            missing.push(format!("{}: {}", file.display(), function.name));
        }
    };
    for file in sources("src") {
        for function in functions(&file, "pub async fn ") {
            check(&file, &function);
        }
    }
    for file in sources("src/blocking") {
        // The driver runs operations; it is none.
        if file.ends_with("driver.rs") {
            continue;
        }
        for function in functions(&file, "pub fn ") {
            if function.text.contains("runner.run(") {
                check(&file, &function);
            }
        }
    }
    assert!(count > 80, "only {count} calls were found: has their form changed?");
    assert!(missing.is_empty(), "without a heading `# Round trips`:\n{}", missing.join("\n"));
}

#[test]
fn the_readme_names_every_feature_and_the_compiler_that_is_needed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = fs::read_to_string(folder.join("README.md")).unwrap();
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let features = manifest.split("[features]").nth(1).unwrap().split("\n[").next().unwrap();
    for line in features.lines().filter(|line| !line.starts_with('#') && line.contains('=')) {
        let feature = line.split('=').next().unwrap().trim();
        assert!(readme.contains(&format!("`{feature}`")), "{feature} is not in README.md");
    }
    let workspace = fs::read_to_string(folder.join("../../Cargo.toml")).unwrap();
    let version = workspace.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(readme.contains(&format!("Rust {version}")), "README.md does not name Rust {version}");
}
