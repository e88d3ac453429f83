//! One long table: groups by few and many keys, distinct values, sorts and windows past the memory that a statement has, and a
//! self-join.

use super::bench::{Bench, Loaded};
use super::side::{Dialect, Field, TableDefinition, Visitor};
use super::statements;
use crate::Result;
use crate::random::mixed;

/// The name of the section.
pub const SECTION: &str = "groups";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Rows of the table.
    pub rows: u64,
}

const QUERY_FILE: &str = include_str!("../../data/groups.sql");

const TABLE: TableDefinition = TableDefinition {
    name: "numbers",
    columns: &[
        ("id", "integer"),
        ("few", "integer"),
        ("many", "integer"),
        ("most", "integer"),
        ("partner", "integer"),
        ("amount", "numeric(15,2)"),
        ("name", "varchar(24)"),
        ("filler", "varchar(100)"),
    ],
    primary_key: "id",
    indexes: &[],
};

/// Keys of the three columns to group by.
const KEYS: [u64; 3] = [10, 10_000, 1_000_000];
/// A prime: multiples of it go through all rows in an order that no cache foresees.
const STRIDE: u64 = 15_485_863;

/// Loads the table and asks the queries.
///
/// # Errors
/// A side cannot load the table; the user wants no more.
pub fn run(bench: &mut Bench<'_>, plan: Plan) -> Result<()> {
    let rows = plan.rows;
    let table = Loaded {
        definition: &TABLE,
        row_count: rows,
        rows: Box::new(move |visit| (0..rows).try_for_each(|id| row(id, rows, visit))),
    };
    // The self-join is to be made without an index.
    bench.load(SECTION, &[table], false, &Dialect::ALL)?;
    let variables = [("last", (rows - 1).to_string())];
    for query in statements::parse(QUERY_FILE) {
        bench.measure(SECTION, &query, &variables, None)?;
    }
    Ok(())
}

fn row(id: u64, rows: u64, visit: &mut Visitor<'_>) -> Result<()> {
    let number = |number: u64| Field::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let [few, many, most] = KEYS;
    let scattered = mixed(id);
    let name = format!("name of group {:05}", scattered % many);
    let filler = format!("{scattered:016x}{:-<64}", "");
    visit(&[
        number(id),
        number(scattered % few),
        number((scattered >> 8) % many),
        // As many as there can be: a permutation.
        number(id * STRIDE % most),
        number(id * STRIDE % rows),
        Field::Money(i64::try_from(scattered % 1_000_000).unwrap_or_default()),
        Field::Text(&name),
        Field::Text(&filler),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_partner_of_its_own() {
        let rows = 1_000;
        let mut partners = Vec::new();
        for id in 0..rows {
            let visited = row(id, rows, &mut |row| {
                assert_eq!(row.len(), TABLE.columns.len());
                if let Field::Integer(partner) = row[4] {
                    partners.push(partner);
                }
                Ok(())
            });
            visited.expect("a row");
        }
        partners.sort_unstable();
        assert!(partners.iter().copied().eq(0..1_000));
        assert!(statements::parse(QUERY_FILE).len() >= 10);
    }
}
