//! Which crate may use which: the table in docs/architecture.md is the law, `cargo metadata` is what happens. They are
//! compared both ways, so that neither the code nor the page can move alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Crate names without `farbird-`, and what each uses; in the order of the table, users before what they use.
type Arrows = Vec<(String, BTreeSet<String>)>;

/// Crates that may know of tokio: nothing else waits asynchronously. The client does in one of its faces, by a feature.
const MAY_USE_TOKIO: [&str; 5] = ["farbird", "server", "gateway", "client", "status"];

#[test]
fn crates_use_what_the_page_says() {
    let written: BTreeMap<_, _> = written_arrows().into_iter().collect();
    let real: BTreeMap<_, _> = real_packages()
        .iter()
        .map(|package| (short(package["name"].as_str().expect("a name")), own_dependencies(package)))
        .collect();
    assert_eq!(real, written, "left: Cargo.toml, right: docs/architecture.md");
}

#[test]
fn arrows_point_down_only() {
    let arrows = written_arrows();
    for (position, (user, used)) in arrows.iter().enumerate() {
        for below in used {
            let place = arrows.iter().position(|(name, _)| name == below);
            assert!(place > Some(position), "{user} stands above {below}, which it uses");
        }
    }
}

#[test]
fn only_the_edges_know_tokio() {
    for package in real_packages() {
        let name = short(package["name"].as_str().expect("a name"));
        let uses = dependencies(&package).any(|dependency| dependency == "tokio");
        assert!(!uses || MAY_USE_TOKIO.contains(&name.as_str()), "{name} uses tokio");
    }
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The rows of the table: crate, what it is, what it uses.
fn written_arrows() -> Arrows {
    let page = std::fs::read_to_string(workspace().join("docs/architecture.md")).expect("the page");
    let rows: Vec<Vec<String>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| crate "))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect();
    assert!(rows.len() > 5, "the table of crates was not found");
    rows.iter()
        .map(|cells| {
            let used = cells[3].split('`').skip(1).step_by(2).map(str::to_owned).collect();
            (cells[1].trim_matches('`').to_owned(), used)
        })
        .collect()
}

fn real_packages() -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .current_dir(workspace())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo's JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

/// Normal dependencies: those of tests and build scripts are not part of what is built.
fn dependencies(package: &Value) -> impl Iterator<Item = &str> {
    let all = package["dependencies"].as_array().expect("dependencies");
    all.iter().filter(|one| one["kind"].is_null()).filter_map(|one| one["name"].as_str())
}

fn own_dependencies(package: &Value) -> BTreeSet<String> {
    dependencies(package).filter(|name| name.starts_with("farbird-")).map(short).collect()
}

fn short(name: &str) -> String {
    name.strip_prefix("farbird-").unwrap_or(name).to_owned()
}
