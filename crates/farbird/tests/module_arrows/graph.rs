//! The modules of a crate and the arrows between them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::source::{self, Import};
use super::{Arrows, Module};

struct File {
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths that stand in the code itself.
    paths: Vec<Vec<String>>,
}

type Files = BTreeMap<Module, File>;

/// Longest chain of faces that hand an item on.
const FACES_MAX: usize = 8;

/// Who imports whom in the crate whose lib.rs stands in `folder`.
pub(super) fn arrows(folder: &Path) -> Arrows {
    let mut files = Files::new();
    read(&mut files, Module::new(), &folder.join("lib.rs"), folder);
    let arrow = |module: &Module| (module.clone(), imported(&files, module));
    files.keys().map(arrow).collect()
}

fn read(files: &mut Files, module: Module, path: &Path, folder: &Path) {
    let text = std::fs::read_to_string(path).expect("a source file");
    let code = source::code(&text);
    let tokens = source::tokens(&code);
    let (items, children) = source::items(&tokens);
    let (imports, left) = source::imports(&tokens);
    for child in children {
        let own = folder.join(&child);
        let file = folder.join(format!("{child}.rs"));
        let file = if file.exists() { file } else { own.join("mod.rs") };
        let name = [module.as_slice(), &[child]].concat();
        read(files, name, &file, &own);
    }
    files.insert(module, File { items: items.into_iter().collect(), imports, paths: paths(&left) });
}

/// What of the code is a path of several names.
fn paths(tokens: &[&str]) -> Vec<Vec<String>> {
    let is_name = |token: &str| token.bytes().all(source::is_word);
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let mut path = Vec::new();
        if is_name(tokens[at]) && (at == 0 || tokens[at - 1] != "::") {
            path.push(tokens[at].to_owned());
            while tokens.get(at + 1) == Some(&"::") && tokens.get(at + 2).is_some_and(|next| is_name(next)) {
                path.push(tokens[at + 2].to_owned());
                at += 2;
            }
        }
        if path.len() > 1 {
            paths.push(path);
        }
        at += 1;
    }
    paths
}

fn imported(files: &Files, module: &Module) -> BTreeSet<Module> {
    let file = &files[module];
    let mut modules = BTreeMap::new();
    let mut found = BTreeSet::new();
    for import in &file.imports {
        let Some((base, rest)) = absolute(files, module, &import.path) else { continue };
        let (target, item) = resolve(files, base, rest, 0);
        match item {
            None => drop(modules.insert(import.name.as_str(), target)),
            // A face that hands something on has no use for it itself.
            Some(_) if import.is_public => {}
            Some(_) => drop(found.insert(target)),
        }
    }
    for path in &file.paths {
        let start = match modules.get(path[0].as_str()) {
            Some(target) => Some((target.clone(), &path[1..])),
            None => absolute(files, module, path),
        };
        // What ends at a module is an item of the same name, which that module most likely defines.
        if let Some((base, rest)) = start {
            found.insert(resolve(files, base, rest, 0).0);
        }
    }
    found.remove(module);
    found
}

/// Where in this crate a path begins; `None` for one of another crate.
fn absolute<'p>(files: &Files, module: &Module, path: &'p [String]) -> Option<(Module, &'p [String])> {
    let mut base = module.clone();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => return Some((Module::new(), &path[1..])),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        first => {
            base.push(first.to_owned());
            let is_child = files.contains_key(&base);
            base.pop();
            if !is_child {
                return None;
            }
        }
    }
    Some((base, rest))
}

/// The module that a path leads to, and the item of it, if it goes that far.
fn resolve<'p>(files: &Files, base: Module, path: &'p [String], faces: usize) -> (Module, Option<&'p str>) {
    let (mut module, mut rest) = (base, path);
    while let Some((first, tail)) = rest.split_first() {
        module.push(first.clone());
        if !files.contains_key(&module) {
            module.pop();
            break;
        }
        rest = tail;
    }
    let Some(item) = rest.first() else { return (module, None) };
    let file = &files[&module];
    if !file.items.contains(item) && faces < FACES_MAX {
        for import in file.imports.iter().filter(|import| import.is_public) {
            let Some((base, path)) = absolute(files, &module, &import.path) else { continue };
            if import.name == *item {
                let path = [path, &rest[1..]].concat();
                return (resolve(files, base, &path, faces + 1).0, Some(item));
            }
            if import.name == "*" {
                let (target, _) = resolve(files, base, &path[..path.len() - 1], faces + 1);
                if files[&target].items.contains(item) {
                    return (target, Some(item));
                }
            }
        }
    }
    (module, Some(item))
}
