//! The documents hang together: every one has its place in the book, and every link leads somewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(top().join("docs")).expect("docs").map(|entry| entry.expect("an entry")) {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            found.insert(format!("docs/{name}"), std::fs::read_to_string(entry.path()).expect("read"));
        }
    }
    found.insert("README.md".to_owned(), std::fs::read_to_string(top().join("README.md")).expect("read"));
    found
}

/// The text without blocks of code and code within lines: brackets there are no links.
fn prose(text: &str) -> String {
    let mut out = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if !is_code {
            line.split('`').step_by(2).for_each(|part| {
                out.push_str(part);
                out.push('`');
            });
            out.push('\n');
        }
    }
    out
}

/// Where links of a document lead.
fn links(text: &str) -> Vec<String> {
    let prose = prose(text);
    let mut found = Vec::new();
    for part in prose.split("](").skip(1) {
        if let Some((target, _)) = part.split_once(')') {
            found.push(target.split(' ').next().unwrap_or_default().to_owned());
        }
    }
    found
}

/// The names of a document's headings, as browsers and mdBook know them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if is_code || !line.starts_with('#') {
            continue;
        }
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept =
            heading.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
        found.insert(kept.collect::<String>().replace(' ', "-"));
    }
    found
}

#[test]
fn every_link_leads_somewhere() {
    let documents = documents();
    let mut dead = Vec::new();
    for (name, text) in &documents {
        let folder = Path::new(name).parent().unwrap_or(Path::new(""));
        for link in links(text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(path, anchor)| (path, Some(anchor)));
            let target = if path.is_empty() { PathBuf::from(name) } else { folder.join(path) };
            if !top().join(&target).exists() {
                dead.push(format!("{name}: {link}"));
            } else if let Some(anchor) = anchor
                && let Some(text) = documents.get(&target.to_string_lossy().replace("docs/../", ""))
                && !anchors(text).contains(anchor)
            {
                dead.push(format!("{name}: {link}: there is no such heading"));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn every_document_has_one_place_in_the_book() {
    let documents = documents();
    let summary = documents.get("docs/SUMMARY.md").expect("the book");
    let listed = links(summary);
    let unique: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(unique.len(), listed.len(), "a document stands twice in the book");
    for name in
        documents.keys().filter_map(|name| name.strip_prefix("docs/")).filter(|name| *name != "SUMMARY.md")
    {
        assert!(listed.iter().any(|listed| listed == name), "{name} has no place in docs/SUMMARY.md");
    }
    // Pages of the book cannot lead out of it: what lies elsewhere is named by its address.
    for (name, text) in documents.iter().filter(|(name, _)| name.starts_with("docs/")) {
        let out: Vec<_> = links(text).into_iter().filter(|link| link.starts_with("../")).collect();
        assert!(out.is_empty(), "{name} leads out of the book: {out:?}");
    }
}
