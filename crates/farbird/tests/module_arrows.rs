//! Which module of a crate imports which, and that there are no circles but the known ones, which may only shrink.
//!
//! A module is a file. Module `a` imports `b` if `a` names an item that `b` defines, in a `use` or by a path; where a
//! face (`pub use`) hands the item on, the arrow goes to the file that defines it. Tests inside files do not count, and
//! methods are not looked through: what calls a method names its type somewhere. `module_arrows/circles.txt` lists the
//! circles that there still are: one line each, the crate and its modules; a module stands for those below it too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

#[path = "module_arrows/circles.rs"]
mod circles;
#[path = "module_arrows/graph.rs"]
mod graph;
#[path = "module_arrows/source.rs"]
mod source;

/// A module by its path inside its crate: `["catalog", "model"]`; the root is empty.
type Module = Vec<String>;

/// Who imports whom.
type Arrows = BTreeMap<Module, BTreeSet<Module>>;

#[test]
fn modules_import_each_other_in_no_new_circle() {
    let allowed = known_circles();
    let mut new = Vec::new();
    for (name, folder) in crates() {
        for circle in circles::circles(&graph::arrows(&folder)) {
            let is_known = allowed.iter().any(|(owner, known)| {
                *owner == name && circle.iter().all(|module| known.iter().any(|one| module.starts_with(one)))
            });
            if !is_known {
                new.push(format!("{name}: {}", shown(&circle)));
            }
        }
    }
    assert!(new.is_empty(), "new circles, each module imports another one:\n{}", new.join("\n"));
}

/// What has been untied stays untied: its line goes.
#[test]
fn known_circles_are_still_there() {
    let all: BTreeMap<String, Vec<Vec<Module>>> = crates()
        .into_iter()
        .map(|(name, folder)| (name, circles::circles(&graph::arrows(&folder))))
        .collect();
    for (name, known) in known_circles() {
        let found = all.get(&name).map(Vec::as_slice).unwrap_or_default();
        for module in &known {
            let is_tied = found.iter().flatten().any(|tied| tied.starts_with(module));
            assert!(is_tied, "{name}: {} is in no circle any more: strike it", module.join("::"));
        }
    }
}

#[test]
fn a_circle_is_seen_through_faces_and_paths() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/module_arrows/example");
    let found = circles::circles(&graph::arrows(&folder));
    let found: Vec<String> = found.iter().map(|circle| shown(circle)).collect();
    assert_eq!(found, ["face::first second third"]);
}

fn shown(circle: &[Module]) -> String {
    circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" ")
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The crates of the workspace: their folders' names, and where their sources are.
fn crates() -> Vec<(String, PathBuf)> {
    let folders = std::fs::read_dir(workspace().join("crates")).expect("the crates");
    let sources = folders.map(|folder| folder.expect("a folder").path()).filter_map(|folder| {
        let name = folder.file_name()?.to_str()?.to_owned();
        Some((name, folder.join("src"))).filter(|(_, source)| source.join("lib.rs").exists())
    });
    sources.collect()
}

/// The lines of circles.txt: the crate, and the modules of its circle.
fn known_circles() -> Vec<(String, Vec<Module>)> {
    let lines = include_str!("module_arrows/circles.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, modules) = line.split_once(':').expect("crate: modules");
            let modules = modules.split_whitespace();
            (name.to_owned(), modules.map(|path| path.split("::").map(str::to_owned).collect()).collect())
        })
        .collect()
}
