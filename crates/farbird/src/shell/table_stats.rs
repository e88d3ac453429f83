//! SET PER_TABLE_STATS: what a statement has done with the rows of tables, in the form of Firebird 5's isql.

use std::collections::BTreeMap;

use farbird::TableCounts;

/// Least width of the column with the names.
const NAME_WIDTH: usize = 32;
/// Width of a count.
const COUNT_WIDTH: usize = 9;
const HEADINGS: [&str; 8] = ["Natural", "Index", "Insert", "Update", "Delete", "Backout", "Purge", "Expunge"];

fn fields(counts: &TableCounts) -> [u64; 8] {
    let TableCounts { natural, indexed, inserted, updated, deleted, backed_out, purged, expunged } = *counts;
    [natural, indexed, inserted, updated, deleted, backed_out, purged, expunged]
}

/// The tables of which something was done between two moments, with how much.
pub(super) fn between(
    before: &BTreeMap<u32, TableCounts>,
    after: &BTreeMap<u32, TableCounts>,
) -> Vec<(u32, [u64; 8])> {
    let done = after.iter().map(|(table, after)| {
        let before = before.get(table).map(fields).unwrap_or_default();
        let mut counts = fields(after);
        counts.iter_mut().zip(before).for_each(|(count, before)| *count = count.saturating_sub(before));
        (*table, counts)
    });
    done.filter(|(_, counts)| counts.iter().any(|count| *count > 0)).collect()
}

/// Tables by name with what was done.
pub(super) fn text(tables: &[(String, [u64; 8])]) -> String {
    let longest = tables.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    let width = longest.next_multiple_of(4).max(NAME_WIDTH);
    let line = format!("{:->width$}+{}", "", format!("{:->COUNT_WIDTH$}+", "").repeat(HEADINGS.len()));
    let mut text = format!("Per table statistics:\n{line}\n{:width$}|", " Table name");
    for heading in HEADINGS {
        text.push_str(&format!(" {heading:0$}|", COUNT_WIDTH - 1));
    }
    text.push_str(&format!("\n{line}\n"));
    for (name, counts) in tables {
        text.push_str(&format!("{name:width$}|"));
        for count in counts {
            let shown = if *count == 0 { String::new() } else { count.to_string() };
            text.push_str(&format!("{shown:>COUNT_WIDTH$}|"));
        }
        text.push('\n');
    }
    text + &line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_below_each_other_with_what_was_done() {
        let counts = |natural, inserted| TableCounts { natural, inserted, ..TableCounts::default() };
        let before = BTreeMap::from([(128, counts(5, 0)), (129, counts(7, 7))]);
        let after = BTreeMap::from([(128, counts(1_005, 2)), (129, counts(7, 7))]);
        let done = between(&before, &after);
        assert_eq!(done, [(128, [1_000, 0, 2, 0, 0, 0, 0, 0])]);
        let text = text(&[("T".to_owned(), done[0].1)]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[2],
            " Table name                     | Natural | Index   | Insert  | Update  | Delete  | Backout | Purge   | Expunge |"
        );
        assert_eq!(
            lines[4],
            "T                               |     1000|         |        2|         |         |         |         |         |"
        );
        assert_eq!((lines.len(), lines[1], lines[3]), (6, lines[5], lines[5]));
    }
}
