//! CONNECT, CREATE DATABASE and `\c`: which database the shell is to go on with, in isql's words.

use crate::session::NewDatabase;

/// A database to go on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Connect {
    pub(super) database: String,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) role: Option<String>,
    /// It is to be made.
    pub(super) new: Option<NewDatabase>,
}

const CONNECT_USAGE: &str = "CONNECT 'database' [USER 'name'] [PASSWORD 'password'] [ROLE 'role']";
const CREATE_USAGE: &str = "CREATE DATABASE 'database' [USER 'name'] [PASSWORD 'password'] [ROLE 'role'] \
                            [PAGE_SIZE bytes] [DEFAULT CHARACTER SET name]";

/// What stands behind CONNECT.
///
/// # Errors
/// How it is written.
pub(super) fn connect(text: &str) -> Result<Connect, String> {
    let mut words = Words { rest: text };
    let database = words.next().ok_or(CONNECT_USAGE)?;
    let mut wanted = Connect { database: database.text, ..Connect::default() };
    while let Some(word) = words.next() {
        match word.upper().as_str() {
            // Where isql would keep pages. Farbird's cache is the server's.
            "CACHE" => drop(words.next().ok_or(CONNECT_USAGE)?),
            name => wanted.take(name, &mut words).map_err(|()| CONNECT_USAGE)?,
        }
    }
    Ok(wanted)
}

/// What stands behind CREATE DATABASE.
///
/// # Errors
/// How it is written.
pub(super) fn create(text: &str) -> Result<Connect, String> {
    let mut words = Words { rest: text };
    let database = words.next().ok_or(CREATE_USAGE)?;
    let mut wanted = Connect { database: database.text, ..Connect::default() };
    let mut new = NewDatabase::default();
    while let Some(word) = words.next() {
        match word.upper().as_str() {
            "PAGE_SIZE" => new.page_size = Some(words.value().parse().map_err(|_| CREATE_USAGE)?),
            "DEFAULT" => {}
            "CHARACTER" => match words.next().map(|word| word.upper()).as_deref() {
                Some("SET") => new.character_set = Some(words.next().ok_or(CREATE_USAGE)?.upper()),
                _ => return Err(CREATE_USAGE.to_owned()),
            },
            name => wanted.take(name, &mut words).map_err(|()| CREATE_USAGE)?,
        }
    }
    Ok(Connect { new: Some(new), ..wanted })
}

/// What stands behind `\c`: a database, and a user if one is named.
///
/// # Errors
/// How it is written.
pub(super) fn short(text: &str) -> Result<Connect, String> {
    let mut words = Words { rest: text };
    let usage = "\\c DATABASE [USER]";
    let database = words.next().ok_or(usage)?.text;
    let user = words.next().map(|word| word.text);
    if words.next().is_some() {
        return Err(usage.to_owned());
    }
    Ok(Connect { database, user, ..Connect::default() })
}

/// The values behind `\bind`: texts in single quotes, or words; NULL for none.
pub(super) fn values(text: &str) -> Vec<Option<String>> {
    let words = Words { rest: text };
    let value = |word: Word| match word.is_quoted {
        false if word.text.eq_ignore_ascii_case("null") => None,
        _ => Some(word.text),
    };
    words.map(value).collect()
}

impl Connect {
    fn take(&mut self, name: &str, words: &mut Words<'_>) -> Result<(), ()> {
        let place = match name {
            "USER" => &mut self.user,
            "PASSWORD" => &mut self.password,
            "ROLE" => &mut self.role,
            _ => return Err(()),
        };
        *place = Some(words.next().ok_or(())?.text);
        Ok(())
    }
}

/// A word, or what stood in quotes.
struct Word {
    text: String,
    is_quoted: bool,
}

impl Word {
    fn upper(&self) -> String {
        self.text.to_uppercase()
    }
}

/// The words of a command; what is in quotes is one, with quotes in it doubled.
struct Words<'t> {
    rest: &'t str,
}

impl Words<'_> {
    /// The next word; an equals sign before it is passed over.
    fn value(&mut self) -> String {
        let rest = self.rest.trim_start();
        self.rest = rest.strip_prefix('=').unwrap_or(rest);
        self.next().map(|word| word.text).unwrap_or_default()
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let rest = self.rest.trim_start();
        let first = rest.chars().next()?;
        if first != '\'' && first != '"' {
            let end = rest.find(|c: char| c.is_whitespace() || c == '=').filter(|end| *end > 0);
            let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
            self.rest = rest;
            return Some(Word { text: word.to_owned(), is_quoted: false });
        }
        let mut text = String::new();
        let mut characters = rest.char_indices().skip(1).peekable();
        let mut end = rest.len();
        while let Some((at, character)) = characters.next() {
            match character == first {
                true if characters.next_if(|(_, next)| *next == first).is_some() => text.push(first),
                true => {
                    end = at + first.len_utf8();
                    break;
                }
                false => text.push(character),
            }
        }
        self.rest = rest.get(end..).unwrap_or_default();
        Some(Word { text, is_quoted: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn databases_are_named_as_in_isql() {
        let wanted = connect(" 'localhost:a b.fdb' user 'joe' PASSWORD 'it''s' role admin").unwrap();
        assert_eq!(wanted.database, "localhost:a b.fdb");
        assert_eq!((wanted.user, wanted.password), (some("joe"), some("it's")));
        assert_eq!((wanted.role, wanted.new), (some("admin"), None));
        let wanted = create("\"x.fdb\" page_size=16384 default character set win1250 user joe").unwrap();
        let new = NewDatabase { page_size: Some(16384), character_set: some("WIN1250") };
        assert_eq!((wanted.database.as_str(), wanted.new), ("x.fdb", Some(new)));
        assert_eq!(short("app.fbd joe").unwrap().user, some("joe"));
        for bad in ["", "'x' user", "'x' nonsense"] {
            assert!(connect(bad).is_err() && create(bad).is_err(), "{bad}");
        }
        assert!(create("'x' page_size many").is_err() && create("'x' character sets").is_err());
    }

    #[test]
    fn bound_values_are_words_and_texts() {
        assert_eq!(values("1 'a ''b''' null 'null'"), [some("1"), some("a 'b'"), None, some("null")]);
        assert_eq!(values("2025-01-01 ='x'"), [some("2025-01-01"), some("='x'")]);
        assert_eq!(values(""), []);
    }
}
