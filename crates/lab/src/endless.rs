//! Statements that would run for minutes or for ever, one for each operator and each kind of loop: what stops one must stop
//! all. `farbird bench stop` measures how long that takes; tests of the engine and of the server run the same file.

/// The file.
const STATEMENTS: &str = include_str!("../data/endless-statements.sql");

/// A statement of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// What it is about.
    pub name: &'static str,
    /// Its text.
    pub sql: &'static str,
}

/// What is run first, in order, each in a transaction of its own.
pub fn setup() -> impl Iterator<Item = Statement> {
    entries().filter(is_setup)
}

/// The statements that run without end.
pub fn statements() -> impl Iterator<Item = Statement> {
    entries().filter(|statement| !is_setup(statement))
}

fn is_setup(statement: &Statement) -> bool {
    statement.name == "setup"
}

fn entries() -> impl Iterator<Item = Statement> {
    STATEMENTS
        .split("\n== ")
        .skip(1)
        .filter_map(|entry| entry.split_once('\n'))
        .map(|(name, sql)| Statement { name, sql: sql.trim() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_has_a_name_of_its_own() {
        let mut names: Vec<&str> = statements().map(|statement| statement.name).collect();
        assert!(setup().count() > 5 && names.len() > 40);
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
