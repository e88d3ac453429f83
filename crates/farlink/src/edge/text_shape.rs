//! What the text of a statement alone tells of its description: statements of one shape are described alike by one server to one
//! attachment (the setting `deferred-prepare`).
//!
//! | statement | its shape |
//! |---|---|
//! | INSERT, UPDATE, DELETE, MERGE, UPDATE OR INSERT, EXECUTE BLOCK without parameters and without RETURNING or RETURNS | its kind: it has neither parameters nor columns |
//! | definitions, GRANT, REVOKE, COMMENT | that it is one |
//! | SELECT without parameters | its text but for the literals that something is compared with (`=`, `<`, `>`, IN, BETWEEN, LIKE, CONTAINING, STARTING WITH) |
//!
//! A comparison is true, false or unknown whatever it compares with, so its literals are in no description; they would be in those of
//! parameters. Promises: what is not understood has no shape. Nothing depends on its being right but that a program is spared an error: the
//! origin compares the description before the statement is executed.

use farbird_wire::info::sql;

use super::statement_cache::{Key, Kind, first_two_words, is_stable_information, kind_of_text};

/// Begins each shape, and no text that a server prepares.
const MARK: u8 = 0;

/// The key of all statements of the shape of this one, if its text tells its description and nothing is asked that differs within a shape.
pub(super) fn key_of_shape(key: &Key) -> Option<Key> {
    let asks_for_plan = key.items.iter().any(|item| matches!(*item, sql::GET_PLAN | sql::EXPLAIN_PLAN));
    let may_be = !asks_for_plan && is_stable_information(&key.items);
    let shape = shape(&key.sql).filter(|_| may_be)?;
    Some(Key { sql: shape, ..key.clone() })
}

/// The shape of a statement, if its text tells it.
fn shape(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    let [first, second] = first_two_words(text);
    let kind = match (first.as_str(), second.as_str()) {
        // They are about the session and the server.
        ("alter", "session" | "external") => return None,
        (word, _) if kind_of_text(word) == Kind::Definition => "definition",
        ("select", _) => return query(text),
        ("update", "or") => "update or insert",
        (word @ ("insert" | "update" | "delete" | "merge"), _) => word,
        ("execute", "block") => "execute block",
        _ => return None,
    };
    // Wherever they stand: in a string, at worst.
    let has_more = text.contains('?') || has_word_with(text, "return");
    (kind == "definition" || !has_more).then(|| marked(kind.as_bytes()))
}

fn marked(shape: &[u8]) -> Vec<u8> {
    [&[MARK][..], shape].concat()
}

/// Whether a part of a word is somewhere in a text.
fn has_word_with(text: &str, part: &str) -> bool {
    text.as_bytes().windows(part.len()).any(|window| window.eq_ignore_ascii_case(part.as_bytes()))
}

/// A query without the literals that it compares with; `None` if it has none, or what else is to be understood.
fn query(text: &str) -> Option<Vec<u8>> {
    if text.contains('?') || text.contains("--") || text.contains("/*") {
        return None;
    }
    let mut shape = vec![MARK];
    let mut rest = text;
    let mut has_literals = false;
    let mut expected = Expected::Anything;
    while !rest.is_empty() {
        let token = token(rest)?;
        let (taken, behind) = rest.split_at_checked(token.length)?;
        rest = behind;
        if token.kind == TokenKind::Literal && expected.is_compared() {
            has_literals = true;
            shape.push(MARK);
        } else {
            shape.extend_from_slice(taken.as_bytes());
        }
        expected = expected.behind(token.kind, taken);
    }
    has_literals.then_some(shape)
}

/// What a literal would be that comes next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Anything,
    /// The right side of a comparison.
    Operand,
    /// Behind BETWEEN, and behind the literal there.
    From,
    And,
    /// Behind IN, and among its literals.
    List,
    Item,
    Comma,
}

impl Expected {
    fn is_compared(self) -> bool {
        matches!(self, Expected::Operand | Expected::From | Expected::Item)
    }

    fn behind(self, kind: TokenKind, taken: &str) -> Expected {
        let word = taken.to_ascii_lowercase();
        match (self, kind, word.as_str()) {
            (_, TokenKind::Space, _) => self,
            (Expected::From, TokenKind::Literal, _) => Expected::And,
            (Expected::Item, TokenKind::Literal, _) => Expected::Comma,
            // Signs, and DATE '2026-01-01'.
            (_, _, "-" | "+" | "date" | "time" | "timestamp") if self.is_compared() => self,
            (Expected::And, _, "and") | (_, _, "=" | "<" | ">" | "like" | "containing" | "starting") => {
                Expected::Operand
            }
            (Expected::Operand, _, "with") => self,
            (_, _, "between") => Expected::From,
            (_, _, "in") => Expected::List,
            (Expected::List, _, "(") | (Expected::Comma, _, ",") => Expected::Item,
            _ => Expected::Anything,
        }
    }
}

/// What a text begins with.
struct Token {
    kind: TokenKind,
    length: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TokenKind {
    Space,
    /// A whole number, or a string of no character set.
    Literal,
    Other,
}

fn token(text: &str) -> Option<Token> {
    let mut letters = text.chars();
    let first = letters.next()?;
    let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
    let word = || text.find(|letter| !is_part(letter)).unwrap_or(text.len());
    let (kind, length) = match first {
        _ if first.is_whitespace() => (TokenKind::Space, first.len_utf8()),
        '\'' => (TokenKind::Literal, quoted(text, '\'')?),
        '"' => (TokenKind::Other, quoted(text, '"')?),
        '0'..='9' => {
            let length = word();
            let is_whole = text.get(..length)?.bytes().all(|byte| byte.is_ascii_digit());
            // 1.5 and 1e5 are other literals.
            let is_followed = text.get(length..)?.starts_with('.');
            (if is_whole && !is_followed { TokenKind::Literal } else { TokenKind::Other }, length)
        }
        _ if is_part(first) => {
            let length = word();
            // Q'{...}', X'...', _UTF8'...': what ends the string depends on the word.
            if text.get(length..)?.starts_with('\'') {
                return None;
            }
            (TokenKind::Other, length)
        }
        _ => (TokenKind::Other, first.len_utf8()),
    };
    Some(Token { kind, length })
}

/// How long what is quoted is, its quotation marks included; two of them within mean one.
fn quoted(text: &str, mark: char) -> Option<usize> {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != mark {
            continue;
        }
        match letters.peek() {
            Some((_, next)) if *next == mark => drop(letters.next()),
            _ => return Some(at + mark.len_utf8()),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(one: &str, other: &str) -> bool {
        let [one, other] = [one, other].map(|text| shape(text.as_bytes()));
        one.is_some() && one == other
    }

    #[test]
    fn what_gives_nothing_and_takes_nothing_is_described_by_its_kind() {
        assert!(same("insert into t values (1)", "/* a */ INSERT INTO u SELECT * FROM v"));
        assert!(same("execute block as begin end", "execute block as declare a int; begin a = 1; end"));
        assert!(same("create table a (b int)", "grant select on a to b"));
        assert!(same("create procedure p returns (a int) as begin suspend; end", "drop table a"));
        assert!(!same("update t set a = 1", "update or insert into t values (1)"));
        assert!(!same("update t set a = 1", "delete from t"));
        for text in [
            "insert into t values (?)",
            "insert into t values (1) returning a",
            "execute block returns (a int) as begin suspend; end",
            "execute block (a int = ?) as begin end",
            "execute procedure p",
            "alter session reset",
            "alter external connections pool clear all",
            "set role r",
            "commit",
            "with a as (select 1 x from t) select x from a where x = 1",
        ] {
            assert_eq!(shape(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn queries_that_compare_with_other_literals_are_described_alike() {
        assert!(same("select a from t where b = 1", "select a from t where b = 22"));
        assert!(same(
            "select a from t where b='x' and c<>5",
            "select a from t where b='it''s, b = 1' and c<>0"
        ));
        assert!(same("select a from t where b >= 'x'", "select a from t where b >= ''"));
        for (one, other) in [
            ("b in (1, -2)", "b in (30, -4)"),
            ("b between 1 and 2 and c = 3", "b between 10 and 20 and c = 30"),
            ("b like 'x%' escape '\\'", "b like '' escape '\\'"),
            ("b not containing 'x'", "b not containing 'y'"),
            ("b STARTING WITH 'x' or b starting 'y'", "b STARTING WITH 'z' or b starting ''"),
            ("b > date '2026-01-01'", "b > date '2026-12-31'"),
        ] {
            let [one, other] = [one, other].map(|condition| format!("select a from t where {condition}"));
            assert!(same(&one, &other), "{one}, {other}");
        }
        for (one, other) in [
            ("select 1 from t where b = 1", "select 2 from t where b = 1"),
            ("select a from t where b = 1", "select a from t where c = 1"),
            ("select 'b = 1' from t where c = 1", "select 'b = 2' from t where c = 1"),
            ("select \"b = 1\" from t where c = 1", "select \"b = 2\" from t where c = 1"),
            ("select a from t where b = 1 rows 1", "select a from t where b = 1 rows 2"),
            ("select cast(a as char(5)) from t where b = 1", "select cast(a as char(6)) from t where b = 1"),
            ("select a from t where b = 1.5", "select a from t where b = 1.6"),
            ("select a from t where b = x'00'", "select a from t where b = x'01'"),
            ("select a from t where b in (1)", "select a from t where b in (1, 2)"),
            ("select a from t where b in (1, c, 2)", "select a from t where b in (1, c, 3)"),
            ("select a from t where b between 1 and 2 + 3", "select a from t where b between 1 and 2 + 4"),
            ("select (a in (1)), 2 from t", "select (a in (1)), 3 from t"),
            (
                "select a in (select 1 from t), 5 from t where b = 1",
                "select a in (select 2 from t), 5 from t where b = 1",
            ),
            ("select a from t where b = 1 and 2 < c", "select a from t where b = 1 and 3 < c"),
        ] {
            assert!(!same(one, other), "{one}, {other}");
        }
        for text in [
            "select a from t",
            "select a from t where b = 1 and c = ?",
            "select a from t where b = 1 -- c",
            "select a from t where b = 1 and c = q'{'}'",
            "select a from t where b = 'unfinished",
        ] {
            assert_eq!(shape(text.as_bytes()), None, "{text}");
        }
    }
}
