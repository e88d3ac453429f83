//! Files of statements, and how their texts become a dialect's.
//!
//! ```text
//! == NAME | TITLE | COLUMNS     an entry; the columns, from 1, by which its rows are ordered
//! select ...                    for every dialect that has no part of its own
//! --: postgresql                a part: for that dialect; `none` as its text: the dialect does not take part
//! --: postgresql setup          run once before, not measured
//! --: check                     the measured statement has no rows: this query is asked behind it, not measured
//! ```
//!
//! In texts `{name}` is a variable and `{1995-01-01 + 3 month}` a date, computed by the database.

use super::side::Dialect;

/// An entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Columns from 0 whose values must be in the same order everywhere.
    pub(super) order: Vec<usize>,
    /// Names of parts, the first without one, and their texts.
    parts: Vec<(&'static str, &'static str)>,
}

/// What stands for names in braces.
pub(super) type Variables<'a> = &'a [(&'a str, String)];

/// The entries of a file, in their order.
pub(super) fn parse(file: &'static str) -> Vec<Statement> {
    file.split("\n== ").skip(1).filter_map(|entry| entry.split_once('\n')).map(statement).collect()
}

fn statement((head, body): (&'static str, &'static str)) -> Statement {
    let mut heads = head.split('|').map(str::trim);
    let (name, title) = (heads.next().unwrap_or_default(), heads.next().unwrap_or_default());
    let order = heads.next().unwrap_or_default().split_whitespace();
    let order = order.filter_map(|column| column.parse::<usize>().ok()?.checked_sub(1)).collect();
    let mut texts = body.split("--: ");
    let mut parts = vec![("", texts.next().unwrap_or_default().trim())];
    parts.extend(
        texts.filter_map(|part| part.split_once('\n')).map(|(name, text)| (name.trim(), text.trim())),
    );
    parts.retain(|(_, text)| !text.is_empty());
    Statement { name, title, order, parts }
}

impl Statement {
    fn part(&self, name: &str) -> Option<&'static str> {
        self.parts.iter().find(|(part, _)| *part == name).map(|(_, text)| *text)
    }

    /// What is measured. `None`: the dialect does not take part.
    pub(super) fn text(&self, dialect: Dialect, variables: Variables<'_>) -> Option<String> {
        let text = self.part(dialect.key()).or_else(|| self.part(""))?;
        (text != "none").then(|| expand(text, dialect, variables))
    }

    /// What is run once before.
    pub(super) fn setup(&self, dialect: Dialect, variables: Variables<'_>) -> Option<String> {
        let text = self.part(&format!("{} setup", dialect.key())).or_else(|| self.part("setup"))?;
        Some(expand(text, dialect, variables))
    }

    /// What is asked behind it.
    pub(super) fn check(&self, dialect: Dialect, variables: Variables<'_>) -> Option<String> {
        Some(expand(self.part("check")?, dialect, variables))
    }
}

/// A text with what stands for its braces; braces that are neither a variable nor a date stay.
pub(super) fn expand(text: &str, dialect: Dialect, variables: Variables<'_>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        out.push_str(before);
        let Some((name, behind)) = behind.split_once('}') else {
            out.push('{');
            rest = behind;
            continue;
        };
        match variables.iter().find(|(variable, _)| *variable == name) {
            Some((_, value)) => out.push_str(value),
            None => match date(name, dialect) {
                Some(date) => out.push_str(&date),
                None => {
                    out.push('{');
                    out.push_str(name);
                    out.push('}');
                }
            },
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// `1995-01-01 + 3 month` as the dialect computes it.
fn date(text: &str, dialect: Dialect) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let [date, sign @ ("+" | "-"), count, unit] = words.as_slice() else { return None };
    let count: u32 = count.parse().ok()?;
    Some(match dialect {
        Dialect::Firebird => {
            let sign = if *sign == "-" { "-" } else { "" };
            format!("dateadd({sign}{count} {unit} to date '{date}')")
        }
        Dialect::Postgres | Dialect::DuckDb => {
            format!("(date '{date}' {sign} interval '{count}' {unit})")
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- About.\n\n== a | the first | 2 1\nselect {n}, {1995-01-01 + 3 month}, {other}\n\
                        \n== b | the second |\ndelete\n--: duckdb\nnone\n--: check\nselect 1\n--: setup\ncreate\n";

    #[test]
    fn entries_have_texts_for_each_dialect() {
        let entries = parse(FILE);
        let [a, b] = entries.as_slice() else { panic!("{entries:?}") };
        assert_eq!((a.name, a.title, a.order.as_slice()), ("a", "the first", &[1_usize, 0][..]));
        let variables = [("n", "7".to_owned())];
        let text = |dialect| a.text(dialect, &variables);
        assert_eq!(
            text(Dialect::Firebird).as_deref(),
            Some("select 7, dateadd(3 month to date '1995-01-01'), {other}")
        );
        assert_eq!(
            text(Dialect::Postgres).as_deref(),
            Some("select 7, (date '1995-01-01' + interval '3' month), {other}")
        );
        assert_eq!(b.text(Dialect::Postgres, &[]).as_deref(), Some("delete"));
        assert_eq!(b.text(Dialect::DuckDb, &[]), None);
        assert_eq!(b.check(Dialect::Firebird, &[]).as_deref(), Some("select 1"));
        assert_eq!(b.setup(Dialect::Firebird, &[]).as_deref(), Some("create"));
        assert_eq!(a.check(Dialect::Firebird, &[]), None);
    }
}
