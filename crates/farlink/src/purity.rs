//! What the text of a query shows: that it calls nothing which could change something, and that asking twice gives the same.
//!
//! Only for servers that do not tell themselves. Promises: what is not understood counts as doing more. Views, and procedures without
//! parameters, look like tables: what they are the origin looks up (`origin::definitions`).

use farbird_types::query_text::is_pure_query;

/// Words that make an answer depend on more than what is read.
const MOVING: &[&str] = &[
    "current_date",
    "current_role",
    "current_time",
    "current_timestamp",
    "current_transaction",
    "localtime",
    "localtimestamp",
    "row_count",
];

/// Texts that a date may be made of, which say another one each time.
const MOMENTS: &[&str] = &["now", "today", "tomorrow", "yesterday"];

/// Whether a text is a query, with or without common table expressions, that calls nothing but what is known to change nothing.
pub(crate) fn changes_nothing(text: &str, first_word: &str) -> bool {
    if first_word != "with" {
        return is_pure_query(text);
    }
    // WITH a AS (...) SELECT ... calls what SELECT a AS (...) SELECT ... would. (`a (b) AS` looks like a call, and counts as one.)
    // What stands before it, a comment, might hide where it is.
    let text = text.trim_start();
    let Some(rest) = text.get(4..).filter(|_| has_prefix(text, "with")) else { return false };
    is_pure_query(&format!("select {rest}"))
}

/// Whether a query that changes nothing gives the same whenever it is asked in one view of the data.
pub(crate) fn is_timeless(text: &str) -> bool {
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let words = text.split(|letter| !is_part(letter));
    let has_moving = words.into_iter().any(|word| {
        MOVING.iter().any(|moving| word.eq_ignore_ascii_case(moving))
            || has_prefix(word, "mon$")
            || has_prefix(word, "sec$")
    });
    let has_moment = text
        .split('\'')
        .skip(1)
        .any(|piece| MOMENTS.iter().any(|moment| has_prefix(piece.trim_start(), moment)));
    !has_moving && !has_moment
}

/// Whether the query of a view calls nothing that changes something, and gives the same whenever it is asked in one view of the data.
pub(crate) fn is_plain_query(source: &str) -> bool {
    let first_word = if has_prefix(source.trim_start(), "with") { "with" } else { "select" };
    changes_nothing(source, first_word) && is_timeless(source)
}

/// The same of an expression that computes a column.
pub(crate) fn is_plain_expression(source: &str) -> bool {
    is_plain_query(&format!("select {source}"))
}

fn has_prefix(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_table_expressions_are_looked_into() {
        let pure = |text| changes_nothing(text, "with");
        assert!(pure("with a as (select 1 as x from t) select * from a"));
        assert!(pure("WITH recursive a as (select 1 as x from t union all select x from a) select x from a"));
        assert!(!pure("with a as (select f(1) as x from t) select * from a"));
        assert!(!pure("with a as (select gen_id(g, 1) as x from t) select * from a"));
        assert!(!pure("with a as (select 1 as x from t) select next value for g from a"));
        assert!(!pure("/*with'*/ with a as (select f(1) as x from t) select x from a /*'*/"));
        assert!(changes_nothing("select 1 from t", "select"));
        assert!(!changes_nothing("insert into t values (1)", "insert"));
    }

    #[test]
    fn what_asks_for_the_time_is_not_timeless() {
        for text in ["select a from t where b = 'x'", "select \"A\" from t -- it''s", "select a from today"] {
            assert!(is_timeless(text), "{text}");
        }
        for text in [
            "select current_timestamp from t",
            "select a from t where d > date 'TODAY'",
            "select cast(' now' as timestamp) from t",
            "select 1 from mon$attachments",
        ] {
            assert!(!is_timeless(text), "{text}");
        }
    }
}
