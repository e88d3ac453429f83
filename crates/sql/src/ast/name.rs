//! Positions, names and pieces of source text.

use std::fmt;
use std::hash::{Hash, Hasher};

/// Where something begins in the statement's text.
///
/// Positions say where, not what: any two compare equal, so that trees can be compared. Compare the fields to tell
/// positions apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Offset in bytes of the UTF-8 text, from 0.
    pub offset: u32,
}

impl PartialEq for Position {
    fn eq(&self, _other: &Position) -> bool {
        true
    }
}

impl Eq for Position {}

/// A piece of the statement's text, word for word, as the catalog keeps it (RDB$..._SOURCE).
///
/// It is derived from the statement and accompanies the tree of the same piece; any two compare equal.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The text.
    pub text: String,
    /// Where it begins.
    pub position: Position,
}

impl PartialEq for Source {
    fn eq(&self, _other: &Source) -> bool {
        true
    }
}

impl Eq for Source {}

/// An identifier.
///
/// Names are equal when they name the same thing: `"ABC"` and `abc` are.
#[derive(Debug, Clone)]
pub struct Name {
    /// The name as the catalog knows it: in upper case unless it was quoted; without the quotes.
    pub text: String,
    /// Whether it was written in double quotes (and so cannot be taken for a keyword).
    pub quoted: bool,
    /// Where it was written.
    pub position: Position,
}

impl Name {
    /// A name that stands in no text.
    pub fn new(text: impl Into<String>) -> Name {
        Name { text: text.into(), quoted: false, position: Position::default() }
    }

    /// The name as the catalog knows it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Name) -> bool {
        self.text == other.text
    }
}

impl Eq for Name {}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The name of something that may live in a package: `[package.]name`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    /// The package, when one was written.
    pub package: Option<Name>,
    /// The name itself.
    pub name: Name,
}

impl ObjectName {
    /// Where the name begins.
    pub fn position(&self) -> Position {
        self.package.as_ref().unwrap_or(&self.name).position
    }
}

impl From<Name> for ObjectName {
    fn from(name: Name) -> ObjectName {
        ObjectName { package: None, name }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.package {
            Some(package) => write!(f, "{package}.{}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}
