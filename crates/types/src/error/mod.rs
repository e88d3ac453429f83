//! The one error that crosses rooms: a Firebird status.
//!
//! A status is a list of items, each a gds code with its arguments. The first code classifies the error; the others
//! add detail, in the order in which Firebird's clients print them. Codes are the constants of [`isc`]; SQLSTATE and
//! SQLCODE come from the same table; texts, in our own words, from `messages`.

pub mod isc;

use std::fmt;

/// Result with a Firebird status as its error.
pub type Result<T> = std::result::Result<T, Error>;

/// A Firebird status: what went wrong, as codes with arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    #[expect(clippy::box_collection, reason = "an error of one word keeps every Result small")]
    items: Box<Vec<StatusItem>>,
}

/// One code of a status with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusItem {
    /// Firebird's code (see [`isc`]).
    pub gds_code: u32,
    /// What replaces @1, @2 ... in the message.
    pub arguments: Vec<StatusArgument>,
}

/// An argument of a code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusArgument {
    /// A name or a piece of text, in UTF-8.
    Text(String),
    /// A number.
    Number(i32),
}

impl Error {
    /// A status of one code, without arguments yet.
    pub fn new(gds_code: u32) -> Error {
        Error { items: Box::new(vec![StatusItem { gds_code, arguments: Vec::new() }]) }
    }

    /// Adds an argument to the last code.
    #[must_use]
    pub fn with(mut self, argument: impl Into<StatusArgument>) -> Error {
        if let Some(last) = self.items.last_mut() {
            last.arguments.push(argument.into());
        }
        self
    }

    /// Adds a further code.
    #[must_use]
    pub fn and(mut self, gds_code: u32) -> Error {
        self.items.push(StatusItem { gds_code, arguments: Vec::new() });
        self
    }

    /// Appends all codes of another status: the detail after the summary.
    #[must_use]
    pub fn and_all(mut self, detail: Error) -> Error {
        self.items.extend(*detail.items);
        self
    }

    /// The first code: what the error is about.
    pub fn gds_code(&self) -> u32 {
        self.items.first().map_or(0, |item| item.gds_code)
    }

    /// Whether any of the codes is this one.
    pub fn has(&self, gds_code: u32) -> bool {
        self.items.iter().any(|item| item.gds_code == gds_code)
    }

    /// The codes with their arguments, summary first.
    pub fn items(&self) -> &[StatusItem] {
        &self.items
    }
}

impl From<&str> for StatusArgument {
    fn from(text: &str) -> Self {
        StatusArgument::Text(text.to_owned())
    }
}

impl From<String> for StatusArgument {
    fn from(text: String) -> Self {
        StatusArgument::Text(text)
    }
}

impl From<i32> for StatusArgument {
    fn from(number: i32) -> Self {
        StatusArgument::Number(number)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.items)
    }
}

impl std::error::Error for Error {}
