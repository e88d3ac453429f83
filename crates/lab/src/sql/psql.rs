//! Loops in PSQL: EXECUTE BLOCK in Farbird and Firebird, PL/pgSQL functions in PostgreSQL.

use super::bench::{Bench, Loaded};
use super::side::{Dialect, Field, TableDefinition};
use super::statements;
use crate::Result;

/// The name of the section.
pub const SECTION: &str = "psql";

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// Iterations of the loops; those that touch rows or long texts have a tenth of it.
    pub loops: u64,
}

const STATEMENT_FILE: &str = include_str!("../../data/psql.sql");

const TABLE: TableDefinition = TableDefinition {
    name: "items",
    columns: &[("id", "bigint"), ("n", "bigint"), ("note", "varchar(40)")],
    primary_key: "id",
    indexes: &[],
};

/// Loads a table and runs the loops.
///
/// # Errors
/// A side cannot load the table; the user wants no more.
pub fn run(bench: &mut Bench<'_>, plan: Plan) -> Result<()> {
    let rows = (plan.loops / 10).max(1);
    let table = Loaded {
        definition: &TABLE,
        row_count: rows,
        rows: Box::new(move |visit| {
            (1..=rows).try_for_each(|id| {
                let id = i64::try_from(id).unwrap_or(i64::MAX);
                let note = format!("item number {id}");
                visit(&[Field::Integer(id), Field::Integer(id % 1_000), Field::Text(&note)])
            })
        }),
    };
    bench.load(SECTION, &[table], true, &Dialect::SERVERS)?;
    let variables = [("loops", plan.loops.to_string()), ("rows", rows.to_string())];
    for statement in statements::parse(STATEMENT_FILE) {
        bench.measure(SECTION, &statement, &variables, None)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_loop_is_written_for_two_and_not_for_duckdb() {
        let all = statements::parse(STATEMENT_FILE);
        assert!(all.len() >= 5);
        for statement in all {
            assert!(
                statement.text(Dialect::Firebird, &[]).is_some_and(|text| text.starts_with("execute block"))
            );
            assert!(statement.setup(Dialect::Postgres, &[]).is_some_and(|text| text.contains("plpgsql")));
            assert!(statement.text(Dialect::Postgres, &[]).is_some_and(|text| text.starts_with("select")));
            assert_eq!(statement.text(Dialect::DuckDb, &[]), None, "{}", statement.name);
        }
    }
}
