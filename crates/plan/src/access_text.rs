//! How tables are read, in Firebird's words.

use farbird_catalog::Relation;

use crate::node::{Access, IndexRange, RowSet, TableScan};

/// From so many values of an index on a list of them is what Firebird 5 makes of IN.
const LIST_MIN: usize = 3;

/// A table with its names in the query: `"T" as "V X"`.
pub(crate) fn quoted(name: &str, path: &[String]) -> String {
    let called = path.join(" ");
    match called.is_empty() || called == name {
        true => format!("\"{name}\""),
        false => format!("\"{name}\" as \"{called}\""),
    }
}

/// Whether ranges are the values of one list, which are looked up one after the other.
pub(crate) fn is_list(ranges: &[&IndexRange]) -> bool {
    let Some(first) = ranges.first() else { return false };
    let is_value = |range: &IndexRange| {
        range.name == first.name
            && range.equal.len() == first.equal.len()
            && !range.equal.is_empty()
            && range.lower.is_none()
            && range.upper.is_none()
            && range.starting.is_none()
    };
    ranges.len() >= LIST_MIN && ranges.iter().copied().all(is_value)
}

/// A range of an index: `Index "I" Range Scan (lower bound: 1/2)`, bounds by how many parts of the key they are about.
pub(crate) fn range(relation: &Relation, range: &IndexRange, listed: bool) -> String {
    let index = relation.index(&range.name);
    let parts = index.map_or(1, |index| index.columns.len().max(1));
    let equal = range.equal.len();
    let matched = |count: usize| match count == parts {
        true => "full match".to_owned(),
        false => format!("partial match: {count}/{parts}"),
    };
    let has_bounds = range.lower.is_some() || range.upper.is_some();
    let how = match (range.unique && !listed, &range.starting) {
        (true, _) => "Unique Scan".to_owned(),
        _ if listed => format!("List Scan ({})", matched(equal)),
        (_, Some(_)) => format!("Range Scan ({})", matched(equal + 1)),
        _ if has_bounds => {
            let lower = equal + usize::from(range.lower.is_some());
            let upper = equal + usize::from(range.upper.is_some());
            let is_descending = index.is_some_and(|index| index.descending);
            let (lower, upper) = if is_descending { (upper, lower) } else { (lower, upper) };
            let bounds = [("lower", lower), ("upper", upper)].into_iter().filter(|(_, count)| *count > 0);
            let bounds: Vec<String> =
                bounds.map(|(word, count)| format!("{word} bound: {count}/{parts}")).collect();
            format!("Range Scan ({})", bounds.join(", "))
        }
        _ if equal == 0 => "Full Scan".to_owned(),
        _ => format!("Range Scan ({})", matched(equal)),
    };
    format!("Index \"{}\" {how}", range.name)
}

/// A table and how it is read, on one line.
pub(crate) fn table(scan: &TableScan) -> String {
    let name = quoted(&scan.relation.name, &scan.path);
    match &scan.access {
        Access::Natural => format!("Table {name} Full Scan"),
        Access::RowKeys(_) | Access::RowNumber(_) => format!("Table {name} Access By ID: DBKEY"),
        Access::Index { ranges, .. } => {
            let ranges: Vec<&IndexRange> = ranges.iter().collect();
            format!("Table {name} Access By ID: {}", any_of(&scan.relation, &ranges))
        }
        Access::Rows(set) => {
            let sets: Vec<String> =
                parts(set).iter().map(|set| any_of(&scan.relation, &set.ranges())).collect();
            format!("Table {name} Access By ID: {}", sets.join(" and "))
        }
    }
}

/// The sets that rows must all be in.
pub(crate) fn parts(set: &RowSet) -> &[RowSet] {
    match set {
        RowSet::All(sets) => sets,
        other => std::slice::from_ref(other),
    }
}

fn any_of(relation: &Relation, ranges: &[&IndexRange]) -> String {
    let listed = is_list(ranges);
    let shown = if listed { 1 } else { ranges.len() };
    let shown_ranges = ranges.iter().take(shown.min(LIST_MIN));
    let mut texts: Vec<String> = shown_ranges.map(|one| range(relation, one, listed)).collect();
    if shown > LIST_MIN {
        texts.push(format!("{} more", shown - LIST_MIN));
    }
    texts.join(" or ")
}
