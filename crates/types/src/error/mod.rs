//! The one error that crosses rooms: a Firebird status.
//!
//! A status is a list of items, each a gds code with its arguments. The first code classifies the error; the others
//! add detail, in the order in which Firebird's clients print them. Codes are the constants of [`isc`]; SQLSTATE and
//! SQLCODE come from the same table; texts, in our own words, from `messages`.

pub mod isc;
mod messages;
#[cfg(test)]
mod tests;

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

    /// An invariant of ours that does not hold: clients show their own text of the code, so the argument says what to do.
    pub fn internal(what: &str) -> Error {
        Error::new(isc::BUG_CHECK).with(format!("Farbird, {what}; please report this with the statement"))
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

    /// Puts a file's name into each `isc_io_error` that was made without one, where nobody knew it: an empty text.
    #[must_use]
    pub fn about_file(mut self, name: &str) -> Error {
        for item in self.items.iter_mut().filter(|item| item.gds_code == isc::IO_ERROR) {
            if let Some(StatusArgument::Text(file)) = item.arguments.get_mut(1)
                && file.is_empty()
            {
                name.clone_into(file);
            }
        }
        self
    }

    /// Puts one code in the place of another, wherever it stands.
    #[must_use]
    pub fn with_code(mut self, gds_code: u32, instead_of: u32) -> Error {
        for item in self.items.iter_mut().filter(|item| item.gds_code == instead_of) {
            item.gds_code = gds_code;
        }
        self
    }

    /// Changes the texts among the arguments.
    #[must_use]
    pub fn with_texts(mut self, change: impl Fn(&str) -> String) -> Error {
        for argument in self.items.iter_mut().flat_map(|item| &mut item.arguments) {
            if let StatusArgument::Text(text) = argument {
                *text = change(text);
            }
        }
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

/// What kind of failure it is, for programs that decide what to do about it.
impl Error {
    /// Another transaction was in the way: a deadlock, an update conflict, a lock that was not waited for or not long
    /// enough. The same work in a new transaction may succeed.
    pub fn is_conflict(&self) -> bool {
        const CODES: [u32; 7] = [
            isc::DEADLOCK,
            isc::LOCK_CONFLICT,
            isc::LOCK_TIMEOUT,
            isc::UPDATE_CONFLICT,
            isc::READ_CONFLICT,
            isc::CONCURRENT_TRANSACTION,
            isc::DSQL_WLOCK_CONFLICT,
        ];
        self.has_any(&CODES)
    }

    /// The connection, or the attachment behind it, is lost: the network failed, or the server, its administrator or a
    /// limit of idle time ended it. What was under way may have been done or not.
    pub fn is_disconnected(&self) -> bool {
        const CODES: [u32; 12] = [
            isc::NETWORK_ERROR,
            isc::NET_CONNECT_ERR,
            isc::NET_READ_ERR,
            isc::NET_WRITE_ERR,
            isc::NET_SERVER_SHUTDOWN,
            isc::SHUTDOWN,
            isc::ATT_SHUTDOWN,
            isc::ATT_SHUT_KILLED,
            isc::ATT_SHUT_IDLE,
            isc::ATT_SHUT_DB_DOWN,
            isc::ATT_SHUT_ENGINE,
            isc::CONNECT_REJECT,
        ];
        self.has_any(&CODES)
    }

    /// The statement was stopped: by a request to cancel it, or by a limit of time ([`Error::is_timed_out`]).
    pub fn is_cancelled(&self) -> bool {
        self.has(isc::CANCELLED)
    }

    /// The statement took longer than the server, the attachment or the statement itself allows.
    pub fn is_timed_out(&self) -> bool {
        self.has_any(&[isc::CFG_STMT_TIMEOUT, isc::ATT_STMT_TIMEOUT, isc::REQ_STMT_TIMEOUT])
    }

    /// A key, a CHECK, or NOT NULL does not allow the change (SQLSTATE class 23).
    pub fn is_constraint_violation(&self) -> bool {
        self.sql_state().starts_with("23")
    }

    fn has_any(&self, gds_codes: &[u32]) -> bool {
        self.items.iter().any(|item| gds_codes.contains(&item.gds_code))
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

impl Error {
    /// The SQLSTATE that Firebird's client derives: of the first code that has a telling one, otherwise of the last that
    /// has a general one (22000, 42000, HY000). Informational codes (00000) have none.
    pub fn sql_state(&self) -> &'static str {
        let mut state = GENERAL_STATE;
        for item in self.items.iter() {
            // "SQL error code" and free text say nothing.
            if matches!(item.gds_code, isc::RANDOM | isc::SQLERR) {
                continue;
            }
            match row(item.gds_code).map(|row| row.sql_state) {
                None | Some(NO_STATE) => {}
                Some(general @ ("22000" | "42000" | GENERAL_STATE)) => state = general,
                Some(telling) => return telling,
            }
        }
        state
    }

    /// The SQLCODE: the one that the status states (`sqlerr` with a number), otherwise that of the first code; -999 if
    /// there is none.
    pub fn sql_code(&self) -> i32 {
        let stated =
            self.items.iter().filter(|item| item.gds_code == isc::SQLERR).find_map(|item| {
                match item.arguments.first() {
                    Some(StatusArgument::Number(code)) => Some(*code),
                    _ => None,
                }
            });
        stated.unwrap_or_else(|| row(self.gds_code()).map_or(NO_SQL_CODE, |row| i32::from(row.sql_code)))
    }

    /// The message as Firebird's shell prints it: a line for each code, all but the first after a hyphen.
    pub fn message(&self) -> String {
        let lines: Vec<String> = self.items.iter().map(StatusItem::message).collect();
        lines.join("\n-")
    }
}

const GENERAL_STATE: &str = "HY000";
const NO_STATE: &str = "00000";
const NO_SQL_CODE: i32 = -999;

/// What the table says of a code.
fn row(gds_code: u32) -> Option<&'static isc::CodeRow> {
    let position = isc::CODES.binary_search_by_key(&gds_code, |row| row.gds_code).ok()?;
    isc::CODES.get(position)
}

/// The code of a name in Firebird's API without `isc_`.
pub fn code_by_symbol(symbol: &str) -> Option<u32> {
    isc::CODES.iter().find(|row| row.symbol == symbol).map(|row| row.gds_code)
}

impl StatusItem {
    /// The name of the code in Firebird's API without `isc_`; nothing if Firebird does not know the code.
    pub fn symbol(&self) -> Option<&'static str> {
        row(self.gds_code).map(|row| row.symbol)
    }

    /// The meaning of the code with its arguments, in one line.
    pub fn message(&self) -> String {
        if let Some(template) = messages::template(self.gds_code) {
            return self.filled_in(template);
        }
        let mut message = match self.symbol() {
            Some(symbol) => symbol.replace('_', " "),
            None => format!("error {}", self.gds_code),
        };
        for (position, argument) in self.arguments.iter().enumerate() {
            message.push_str(if position == 0 { ": " } else { ", " });
            message.push_str(&argument.to_string());
        }
        message
    }

    fn filled_in(&self, template: &str) -> String {
        let mut message = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('@') {
            message.push_str(before);
            let number =
                after.chars().next().and_then(|digit| digit.to_digit(10)).filter(|number| *number > 0);
            rest = match number.and_then(|number| usize::try_from(number).ok()) {
                Some(number) => {
                    if let Some(argument) = self.arguments.get(number - 1) {
                        message.push_str(&argument.to_string());
                    }
                    after.get(1..).unwrap_or_default()
                }
                None => {
                    message.push('@');
                    after
                }
            };
        }
        message.push_str(rest);
        message
    }
}

impl fmt::Display for StatusArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StatusArgument::Text(text) => f.write_str(text),
            StatusArgument::Number(number) => write!(f, "{number}"),
        }
    }
}

/// All codes in one line, separated by semicolons; [`Error::message`] has lines.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, item) in self.items.iter().enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            f.write_str(&item.message())?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
