//! What tests of metrics compare with: the format's rules, and the documents.

use std::collections::{BTreeMap, HashSet};

/// What `promtool check metrics` would look at; the names of the families, with their kinds.
///
/// # Panics
/// If the text breaks a rule: that is what it is for.
pub fn checked(text: &str) -> BTreeMap<String, String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && !name.starts_with(|letter: char| letter.is_ascii_digit())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    assert!(text.ends_with('\n'), "the last line ends");
    let (mut kinds, mut helped, mut series) = (BTreeMap::new(), HashSet::new(), HashSet::new());
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a name and a text");
            assert!(is_name(name) && !help.is_empty() && helped.insert(name.to_owned()), "{line}");
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a name and a kind");
            assert!(helped.contains(name) && ["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} stands twice");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
            for part in ["milliseconds", "_ms", "kilobytes", "_kb", "_count", "_sum", "_bucket"] {
                assert!(!name.contains(part), "{name}: base units, no reserved endings");
            }
            current = name.to_owned();
            continue;
        }
        let (key, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
        assert!(value.parse::<f64>().is_ok_and(|value| value >= 0.0), "{line}");
        assert!(series.insert(key.to_owned()), "{key} stands twice");
        let (name, labels) = key.split_once('{').unwrap_or((key, "}"));
        let is_part =
            ["_bucket", "_sum", "_count"].iter().any(|end| name.strip_suffix(end) == Some(&current));
        let is_histogram = kinds.get(&current).is_some_and(|kind| kind == "histogram");
        assert!(if is_histogram { is_part } else { name == current }, "samples follow their TYPE: {line}");
        let labels = labels.strip_suffix('}').expect("the end of the labels");
        for label in labels.split("\",").filter(|label| !label.is_empty()) {
            let (label, value) = label.split_once('=').expect("a label and a value");
            assert!(is_name(label) && value.starts_with('"'), "{line}");
        }
    }
    for name in kinds.keys() {
        let has_sample =
            series.iter().any(|key| key.split('{').next().is_some_and(|key| key.starts_with(name)));
        assert!(has_sample, "{name} has no sample");
    }
    kinds
}

/// The documented metrics whose names begin with this, and their kinds: lines of a table of name, kind, meaning.
pub fn documented(document: &str, prefix: &str) -> BTreeMap<String, String> {
    let begins = format!("| `{prefix}_");
    let rows = document.lines().filter(|line| line.starts_with(&begins));
    rows.map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').split('{').next().unwrap_or_default();
        (name.to_owned(), cells[2].to_owned())
    })
    .collect()
}
