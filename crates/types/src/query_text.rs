//! Whether the text of a query shows that it may be executed twice: that it calls nothing that could change something.
//!
//! Promises: what is not understood counts as changing something. Views, and procedures without parameters, look like tables.

/// Words that stand before a parenthesis in queries, or name functions without effects.
const HARMLESS: &[&str] = &[
    "abs",
    "all",
    "and",
    "any",
    "as",
    "avg",
    "between",
    "bigint",
    "bit_length",
    "by",
    "case",
    "cast",
    "ceil",
    "ceiling",
    "char",
    "char_length",
    "character",
    "character_length",
    "coalesce",
    "count",
    "cross",
    "cume_dist",
    "dateadd",
    "datediff",
    "decfloat",
    "decimal",
    "decode",
    "dense_rank",
    "distinct",
    "else",
    "exists",
    "extract",
    "filter",
    "first",
    "first_value",
    "float",
    "floor",
    "from",
    "hash",
    "having",
    "iif",
    "in",
    "int",
    "is",
    "join",
    "lag",
    "last_value",
    "lead",
    "left",
    "like",
    "list",
    "lower",
    "lpad",
    "max",
    "maxvalue",
    "min",
    "minvalue",
    "mod",
    "not",
    "nth_value",
    "ntile",
    "nullif",
    "numeric",
    "octet_length",
    "on",
    "or",
    "over",
    "overlay",
    "partition",
    "percent_rank",
    "position",
    "power",
    "rank",
    "replace",
    "reverse",
    "right",
    "round",
    "row_number",
    "rpad",
    "select",
    "sign",
    "similar",
    "singular",
    "skip",
    "some",
    "sqrt",
    "stddev_pop",
    "stddev_samp",
    "substring",
    "sum",
    "then",
    "to",
    "trim",
    "trunc",
    "union",
    "upper",
    "using",
    "values",
    "var_pop",
    "var_samp",
    "varchar",
    "when",
    "where",
    "with",
];

/// Whether a text is a SELECT that calls nothing but what is known to change nothing.
pub fn is_pure_query(text: &str) -> bool {
    let mut tokens = Tokens { rest: text };
    let mut last = match tokens.next() {
        Some(Token::Word(word)) if word.eq_ignore_ascii_case("select") => Token::Word(word),
        _ => return false,
    };
    let mut is_qualified = false;
    for token in tokens {
        let is_call = match (last, token) {
            // What stands behind a dot is a routine of a package, whatever its name.
            (Token::Word(word), Token::Opening) => {
                is_qualified || !HARMLESS.iter().any(|known| word.eq_ignore_ascii_case(known))
            }
            (Token::Quoted(_), Token::Opening) => true,
            // NEXT VALUE FOR a sequence.
            (_, Token::Word(word)) => word.eq_ignore_ascii_case("next"),
            (_, Token::Unclear) => true,
            _ => false,
        };
        if is_call {
            return false;
        }
        is_qualified = matches!(last, Token::Dot);
        last = token;
    }
    true
}

/// What a text may name: its words in capitals, as servers keep names that are not quoted, and what stands in quotation marks, in their
/// order. Keywords and aliases are among them. `None` if they cannot be told; names with other letters than those of ASCII cannot.
pub fn names(text: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut tokens = Tokens { rest: text };
    while let Some(token) = tokens.next() {
        let name = match token {
            Token::Word(word) => word.to_ascii_uppercase(),
            // A quotation mark in a name is written twice.
            Token::Quoted(_) if tokens.rest.starts_with('"') => return None,
            Token::Quoted(name) => name.to_owned(),
            Token::Unclear => return None,
            Token::Opening | Token::Dot | Token::Other => continue,
        };
        if !name.is_ascii() {
            return None;
        }
        names.push(name);
    }
    Some(names)
}

#[derive(Debug, Clone, Copy)]
enum Token<'t> {
    Word(&'t str),
    /// A name in quotes, without them.
    Quoted(&'t str),
    Opening,
    Dot,
    Other,
    /// What has no end.
    Unclear,
}

/// What a text consists of; blanks and comments are passed over.
struct Tokens<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Tokens<'t> {
    type Item = Token<'t>;

    fn next(&mut self) -> Option<Token<'t>> {
        loop {
            self.rest = self.rest.trim_start();
            let comment_end = match self.rest.get(..2) {
                Some("--") => self.rest.find('\n').map_or(self.rest.len(), |end| end + 1),
                Some("/*") => match self.rest.find("*/") {
                    Some(end) => end + 2,
                    None => return self.unclear(),
                },
                _ => break,
            };
            self.rest = self.rest.get(comment_end..).unwrap_or_default();
        }
        let first = self.rest.chars().next()?;
        if first.is_alphanumeric() || first == '_' {
            let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
            let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
            let (word, rest) = self.rest.split_at(end);
            // A text in quotes of its own (q'{...}').
            if word.eq_ignore_ascii_case("q") && rest.starts_with('\'') {
                return self.unclear();
            }
            self.rest = rest;
            return Some(Token::Word(word));
        }
        let rest = self.rest.get(first.len_utf8()..).unwrap_or_default();
        let (quoted, rest) = match first {
            '\'' | '"' => match rest.split_once(first) {
                Some(parts) => parts,
                None => return self.unclear(),
            },
            _ => ("", rest),
        };
        self.rest = rest;
        Some(match first {
            '"' => Token::Quoted(quoted),
            '(' => Token::Opening,
            '.' => Token::Dot,
            _ => Token::Other,
        })
    }
}

impl<'t> Tokens<'t> {
    fn unclear(&mut self) -> Option<Token<'t>> {
        self.rest = "";
        Some(Token::Unclear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_as_servers_keep_them() {
        let told = |text| names(text).map(|names| names.join(" "));
        let text = "select a.\"b C\", 'no name' /* nor this */ from t a -- nor this";
        assert_eq!(told(text).as_deref(), Some("SELECT A b C FROM T A"));
        assert_eq!(told("select \"a\"\"b\" from t"), None);
        assert_eq!(told("select \"\u{e4}\" from t"), None);
        assert_eq!(told("select '\u{e4}' from t").as_deref(), Some("SELECT FROM T"));
        assert_eq!(told("select 'open from t"), None);
    }

    #[test]
    fn what_could_change_something_is_not_pure() {
        for text in [
            "select 1 from rdb$database",
            "-- comment\nSelect a, b from t /* (x( */ where a in (1, 2) and b = 'next value for (s'",
            "select count(*), max(\"next\") from t where exists (select 1 from u) group by (a)",
            "select coalesce(a, ''), 'it''s f(x)' from t",
            "select cast(a as varchar(10)) from t where (a > 1) or (b)",
        ] {
            assert!(is_pure_query(text), "{text}");
        }
        for text in [
            "",
            "with a as (select 1 from t) select * from a",
            "select * from p(1)",
            "select f (1) from t",
            "select \"f\"(1) from t",
            "select rdb$set_context('USER_SESSION', 'A', 1) from rdb$database",
            "select gen_id(g, 1) from rdb$database",
            "select next value for g from rdb$database",
            "select p.f(1) from t",
            "select p.round(1) from t",
            "select p . abs /* of p */ (1) from t",
            "select /*f(*/ f/**/(1) from t",
            "select q'{'}' from t",
            "select 'open from t",
            "insert into t values (1)",
        ] {
            assert!(!is_pure_query(text), "{text}");
        }
    }
}
