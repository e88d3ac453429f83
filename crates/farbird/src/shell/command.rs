//! What the shell does itself rather than the database: SET, SHOW, INPUT and the like, and the short forms that begin with
//! a backslash.

use farbird::Dialect;

use super::connect::{self, Connect};
use super::output::{BlobDisplay, Format};

/// A command of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// Words about the shell; about a topic if one is named.
    Help(String),
    /// Leave: commit what is open, or undo it.
    Leave {
        commit: bool,
    },
    /// Run a file.
    Input(String),
    /// Results go to a file, or back to the terminal.
    Output(Option<String>),
    /// What there is in the database.
    Show(Show),
    /// The plan of a statement; with ANALYZE in front of it what it did.
    Explain(String),
    /// Go on with another database.
    Connect(Connect),
    /// Drop the database.
    DropDatabase,
    /// Values for the parameters of the next statement; `None` for NULL.
    Bind(Vec<Option<String>>),
    /// Print a line.
    Echo(String),
    /// Run a program of the operating system, or its shell.
    System(String),
    /// The columns and parameters of a statement, without running it.
    Describe(String),
    /// Where we are connected.
    ConnectionInformation,
    Set(Set),
}

/// What is shown: of one kind all, or one by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Show {
    /// The kind in upper case, such as TABLES; empty for whatever has the name.
    pub(super) kind: String,
    /// The name as the catalog has it.
    pub(super) name: Option<String>,
}

/// A change of a setting. `None` for a switch: the other position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Set {
    /// Tell all settings.
    List,
    Autoddl(Option<bool>),
    Bail(Option<bool>),
    Blobs(BlobDisplay),
    Count(Option<bool>),
    Echo(Option<bool>),
    Expanded(Option<bool>),
    Format(Format),
    Heading(Option<bool>),
    Null(String),
    Pager(Option<bool>),
    Plan(Option<bool>),
    PlanOnly(Option<bool>),
    RowsMax(Option<u64>),
    Timing(Option<bool>),
    Wire(Option<bool>),
    PerTable(Option<bool>),
    /// The character set of the next connection.
    Names(String),
    /// The SQL dialect of statements, and of a database that is made.
    Dialect(Dialect),
    /// WARNINGS and the like: what is so anyway.
    Nothing,
}

/// Whether a statement for the database is EXPLAIN.
pub(super) fn is_explain(sql: &str) -> bool {
    sql.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("EXPLAIN"))
}

/// Understands a statement as a command; `None` if it is one for the database.
///
/// # Errors
/// A command that is written wrongly: how it is written.
pub(super) fn parse(text: &str) -> Option<Result<Command, String>> {
    if let Some(short) = text.strip_prefix('\\') {
        return Some(short_form(short.trim().trim_end_matches(';').trim_end()));
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let upper: Vec<String> = words.iter().map(|word| word.to_uppercase()).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    let rest = |count: usize| words.get(count..).unwrap_or_default().join(" ");
    Some(match upper.as_slice() {
        ["HELP" | "?", ..] => Ok(Command::Help(rest(1).to_uppercase())),
        ["EXIT"] => Ok(Command::Leave { commit: true }),
        ["QUIT"] => Ok(Command::Leave { commit: false }),
        ["IN" | "INPUT", _, ..] => Ok(Command::Input(unquoted(&rest(1)))),
        ["OUT" | "OUTPUT"] => Ok(Command::Output(None)),
        ["OUT" | "OUTPUT", _, ..] => Ok(Command::Output(Some(unquoted(&rest(1))))),
        ["EXPLAIN", _, ..] => {
            let statement = text.get("EXPLAIN".len()..).unwrap_or_default();
            Ok(Command::Explain(statement.trim().to_owned()))
        }
        ["CONNECT", ..] => {
            connect::connect(text.get("CONNECT".len()..).unwrap_or_default()).map(Command::Connect)
        }
        ["CREATE", kind @ ("DATABASE" | "SCHEMA"), name, ..] if name.starts_with(['\'', '"']) => {
            let behind = text.to_uppercase().find(kind).map(|at| at + kind.len());
            let behind = behind.and_then(|at| text.get(at..)).unwrap_or_default();
            connect::create(behind).map(Command::Connect)
        }
        ["DROP", "DATABASE"] => Ok(Command::DropDatabase),
        ["SHELL", ..] => Ok(Command::System(rest(1))),
        ["EDIT", ..] => Err(EDIT.to_owned()),
        ["DESC" | "DESCRIBE", _] => Ok(show("", Some(catalog_name(&rest(1))))),
        ["SHOW", "SYSTEM", "TABLES"] => Ok(show("SYSTEM", None)),
        ["SHOW"] => Ok(Command::Help("SHOW".to_owned())),
        ["SHOW", "SQL", "DIALECT"] => Ok(show("DIALECT", None)),
        ["SHOW", kind] => Ok(show(kind, None)),
        ["SHOW", kind, ..] => Ok(show(kind, Some(catalog_name(&rest(2))))),
        ["SET"] => Ok(Command::Set(Set::List)),
        ["SET", name, ..] => return set(name, upper.get(2..).unwrap_or_default(), &rest(2)),
        _ => return None,
    })
}

/// How a statement is edited.
const EDIT: &str = "Ctrl-O opens what is typed in VISUAL or EDITOR; Up brings earlier statements back";

fn show(kind: &str, name: Option<String>) -> Command {
    Command::Show(Show { kind: kind.to_owned(), name })
}

/// SET; `None` if it is one of the database's.
fn set(name: &str, values: &[&str], raw: &str) -> Option<Result<Command, String>> {
    let setting = match (name, values) {
        ("AUTODDL" | "AUTO", values) => switch(name, values).map(Set::Autoddl),
        ("BAIL", values) => switch(name, values).map(Set::Bail),
        ("BLOB" | "BLOBDISPLAY", values) => blobs(values),
        ("COUNT", values) => switch(name, values).map(Set::Count),
        ("ECHO", values) => switch(name, values).map(Set::Echo),
        ("LIST" | "EXPANDED", values) => switch(name, values).map(Set::Expanded),
        ("FORMAT", [format]) => format_named(format),
        ("FORMAT", _) => Err(format_usage()),
        ("HEADING" | "HEADINGS", values) => switch(name, values).map(Set::Heading),
        ("NULL", [_, ..]) => Ok(Set::Null(unquoted(raw))),
        ("NULL", []) => Err("SET NULL 'text': what stands for NULL".to_owned()),
        ("PAGER", values) => switch(name, values).map(Set::Pager),
        ("PLAN" | "EXPLAIN", values) => switch(name, values).map(Set::Plan),
        ("PLANONLY", values) => switch(name, values).map(Set::PlanOnly),
        ("MAXROWS" | "ROWCOUNT", [count]) => match count.parse() {
            Ok(0) => Ok(Set::RowsMax(None)),
            Ok(count) => Ok(Set::RowsMax(Some(count))),
            Err(_) => Err("SET MAXROWS count: rows of a result that are shown; 0 for all".to_owned()),
        },
        ("STATS" | "STAT" | "TIMING", values) => switch(name, values).map(Set::Timing),
        ("TIME", [] | ["ON" | "OFF"]) => switch(name, values).map(Set::Timing),
        ("PER_TABLE_STATS" | "PER_TABLE_STAT" | "PER_TABLE" | "PER_TAB", values) => {
            switch(name, values).map(Set::PerTable)
        }
        ("WIRE_STATS" | "WIRE_STAT" | "WIRE", values) => switch(name, values).map(Set::Wire),
        ("SQL", ["DIALECT", number]) => dialect(number).map(Set::Dialect),
        ("SQL", ["DIALECT", ..]) => Err(DIALECT_USAGE.to_owned()),
        // What isql has them for is so anyway.
        ("WARNINGS" | "WARNING" | "WNG", [] | ["ON" | "OFF"]) => Ok(Set::Nothing),
        ("KEEP_TRAN_PARAMS" | "KEEP_TRAN" | "SQLDA_DISPLAY", ["OFF"]) => Ok(Set::Nothing),
        ("KEEP_TRAN_PARAMS" | "KEEP_TRAN", _) => {
            Err("SET TRANSACTION holds for one transaction: say it again for the next".to_owned())
        }
        ("SQLDA_DISPLAY", _) => {
            Err("\\gdesc SELECT ... tells the columns and parameters of a statement".to_owned())
        }
        ("WIDTH", _) => Err("columns are as wide as what is in them: there is no SET WIDTH".to_owned()),
        ("LOCAL_TIMEOUT", _) => Err("SET STATEMENT TIMEOUT count SECOND; ends long statements".to_owned()),
        ("NAMES", []) => Ok(Set::Names("UTF8".to_owned())),
        ("NAMES", [name]) => Ok(Set::Names(unquoted(name))),
        ("NAMES", _) => Err("SET NAMES character_set: that of the next CONNECT".to_owned()),
        _ => return None,
    };
    Some(setting.map(Command::Set))
}

const DIALECT_USAGE: &str =
    "SET SQL DIALECT 1 | 2 | 3: that of statements, and of a database that CREATE DATABASE makes";

/// A dialect by its number.
///
/// # Errors
/// How it is written.
pub(super) fn dialect(number: &str) -> Result<Dialect, String> {
    match number {
        "1" => Ok(Dialect::One),
        "2" => Ok(Dialect::Two),
        "3" => Ok(Dialect::Three),
        _ => Err(DIALECT_USAGE.to_owned()),
    }
}

fn switch(name: &str, values: &[&str]) -> Result<Option<bool>, String> {
    match values {
        [] => Ok(None),
        ["ON"] => Ok(Some(true)),
        ["OFF"] => Ok(Some(false)),
        _ => Err(format!("SET {name} [ON | OFF]")),
    }
}

fn blobs(values: &[&str]) -> Result<Set, String> {
    let usage = || "SET BLOBDISPLAY ALL | OFF | subtype: which BLOBs are shown".to_owned();
    match values {
        ["ALL"] | [] => Ok(Set::Blobs(BlobDisplay::All)),
        ["OFF"] => Ok(Set::Blobs(BlobDisplay::Off)),
        ["TEXT"] => Ok(Set::Blobs(BlobDisplay::Subtype(1))),
        [subtype] => {
            subtype.parse().map(|subtype| Set::Blobs(BlobDisplay::Subtype(subtype))).map_err(|_| usage())
        }
        _ => Err(usage()),
    }
}

fn format_named(name: &str) -> Result<Set, String> {
    Format::by_name(name).map(Set::Format).ok_or_else(format_usage)
}

fn format_usage() -> String {
    "SET FORMAT table | expanded | csv | json | markdown".to_owned()
}

/// A command that begins with a backslash, without it.
fn short_form(text: &str) -> Result<Command, String> {
    let (word, rest) = match text.strip_prefix('!') {
        Some(rest) => ("!", rest),
        None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    let rest = rest.trim();
    let name = (!rest.is_empty()).then(|| catalog_name(rest));
    let upper = rest.to_uppercase();
    let values: Vec<&str> = upper.split_whitespace().collect();
    match word.trim_end_matches('+') {
        "c" | "connect" => connect::short(rest).map(Command::Connect),
        "bind" => Ok(Command::Bind(connect::values(rest))),
        "echo" => Ok(Command::Echo(unquoted(rest))),
        "!" => Ok(Command::System(rest.to_owned())),
        "e" | "edit" => Err(EDIT.to_owned()),
        "gdesc" if !rest.is_empty() => Ok(Command::Describe(rest.to_owned())),
        "gdesc" => Err("\\gdesc SELECT ...".to_owned()),
        "g" => Err("statements run when their terminator comes: there is no \\g".to_owned()),
        "dn" => Err("Firebird has no schemas before version 6; \\dt lists the tables".to_owned()),
        "dT" => Ok(show(if name.is_some() { "DOMAIN" } else { "DOMAINS" }, name)),
        "dg" => Ok(show("ROLES", name)),
        "dx" => Ok(show("PACKAGES", name)),
        "dE" => Ok(show("EXCEPTIONS", name)),
        "password" => Err("ALTER USER name PASSWORD 'text'; changes a password".to_owned()),
        "copy" => Err("farbird export and farbird import copy tables to files and back".to_owned()),
        "?" | "h" | "help" => Ok(Command::Help(upper)),
        "q" | "quit" => Ok(Command::Leave { commit: true }),
        "d" => Ok(show(if name.is_some() { "" } else { "RELATIONS" }, name)),
        "dt" => Ok(show(if name.is_some() { "TABLE" } else { "TABLES" }, name)),
        "dv" => Ok(show(if name.is_some() { "VIEW" } else { "VIEWS" }, name)),
        "di" => Ok(show("INDEXES", name)),
        "ds" => Ok(show("SEQUENCES", name)),
        "df" => Ok(show(if name.is_some() { "FUNCTION" } else { "FUNCTIONS" }, name)),
        "dp" => Ok(show(if name.is_some() { "PROCEDURE" } else { "PROCEDURES" }, name)),
        "dy" => Ok(show(if name.is_some() { "TRIGGER" } else { "TRIGGERS" }, name)),
        "dD" => Ok(show(if name.is_some() { "DOMAIN" } else { "DOMAINS" }, name)),
        "du" => Ok(show("USERS", None)),
        "z" => Ok(show("GRANTS", name)),
        "l" => Ok(show("DATABASE", None)),
        "conninfo" => Ok(Command::ConnectionInformation),
        "i" if !rest.is_empty() => Ok(Command::Input(unquoted(rest))),
        "i" => Err("\\i FILE".to_owned()),
        "o" => Ok(Command::Output((!rest.is_empty()).then(|| unquoted(rest)))),
        "x" => switch("\\x", &values).map(|on| Command::Set(Set::Expanded(on))),
        "timing" => switch("\\timing", &values).map(|on| Command::Set(Set::Timing(on))),
        "wire" => switch("\\wire", &values).map(|on| Command::Set(Set::Wire(on))),
        "pager" => switch("\\pager", &values).map(|on| Command::Set(Set::Pager(on))),
        "format" | "f" => format_named(rest).map(Command::Set),
        "null" => Ok(Command::Set(Set::Null(unquoted(rest)))),
        "set" => match parse(&format!("SET {rest}")) {
            Some(command) => command,
            None => Err(format!("SET {rest}; is the database's: it is written without a backslash")),
        },
        _ => Err(format!("\\{word} is no command; \\? lists them")),
    }
}

/// A name as the catalog has it: in upper case unless it is quoted.
pub(super) fn catalog_name(written: &str) -> String {
    match written.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => written.to_uppercase(),
    }
}

/// A text without the quotes around it.
fn unquoted(written: &str) -> String {
    let inside = |quote: char| written.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(written).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Command {
        parse(text).expect("a command of the shell").expect("written well")
    }

    #[test]
    fn statements_are_left_to_the_database() {
        for sql in [
            "select 1 from rdb$database",
            "set transaction read only",
            "set generator g to 5",
            "set time zone 'UTC'",
            "set role none",
            "create database_link",
            "drop table t",
            "connection",
            "set statistics index i",
            "show_me",
        ] {
            assert_eq!(parse(sql), None, "{sql}");
        }
    }

    #[test]
    fn isqls_words_and_short_forms_mean_the_same() {
        for (long, short) in [
            ("show tables", "\\dt"),
            ("show table People", "\\dt people"),
            ("show index", "\\di;"),
            ("set list on", "\\x on"),
            ("set stats", "\\timing"),
            ("set format CSV", "\\format csv"),
            ("in 'a b.sql'", "\\i a b.sql"),
            ("out x.txt", "\\o x.txt"),
            ("output", "\\o"),
            ("set null '(null)'", "\\null (null)"),
            ("connect 'a.fbd' user 'joe'", "\\c a.fbd joe"),
            ("shell ls", "\\! ls"),
            ("desc people", "\\d+ people"),
        ] {
            let (long, short) = (parsed(long), parsed(short));
            let same = match (&long, &short) {
                (Command::Show(one), Command::Show(other)) => one.name == other.name,
                _ => long == short,
            };
            assert!(same, "{long:?} {short:?}");
        }
        assert_eq!(parsed("show table \"Mixed\"\"Case\""), show("TABLE", Some("Mixed\"Case".to_owned())));
        assert_eq!(parsed("quit"), Command::Leave { commit: false });
        assert_eq!(parsed("exit"), Command::Leave { commit: true });
        assert_eq!(parsed("set sql dialect 1"), Command::Set(Set::Dialect(Dialect::One)));
    }

    #[test]
    fn what_is_written_wrongly_is_refused() {
        for text in [
            "set autoddl maybe",
            "set format pdf",
            "set blob x",
            "\\nonsense",
            "set sql dialect 4",
            "set sql dialect",
            "connect",
            "set width a 5",
            "edit",
        ] {
            assert!(parse(text).expect("a command of the shell").is_err(), "{text}");
        }
    }
}
