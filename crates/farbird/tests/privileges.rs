//! Who may do what, along every way to data, held against Firebird.
//!
//! `tests/privileges/*.txt` hold statements of several users with what Firebird answered. The test replays them against a
//! server of its own and compares. The answers are recorded by this same program:
//!
//! ```sh
//! FARBIRD_RECORD_5=USER:PASSWORD@HOST/PORT:FOLDER \
//! FARBIRD_RECORD_3=USER:PASSWORD@HOST/PORT:FOLDER \
//!     cargo test -p farbird --test privileges
//! ```
//!
//! # Format
//! | line | meaning |
//! |---|---|
//! | `== NAME` | a section, in a database of its own; `== NAME \| 5` for what Firebird 3 lacks |
//! | `WHO: TEXT` | a statement, committed if it succeeds; WHO is `USER`, `USER/ROLE`, or either with `#N` for a connection that stays open with one transaction |
//! | `grant NAME: TEXT; TEXT` | SYSDBA's statements in front of every `way` |
//! | `way NAME: TEXT` | ANN's statement, tried with each `grant` in a database of its own and rolled back |
//! | `-> TEXT` | what Firebird 5 answers; Farbird must answer it too |
//! | `3> TEXT` | what Firebird 3 answers, where that is something else |
//! | `farbird> TEXT` | what Farbird answers, where that is something else |
//! | `= GRANT / WAY -> TEXT` | the answer for one pair |
//!
//! Texts go on in lines that begin with a blank. Verbs on open connections: `\begin`, `\commit`, `\open TEXT`, `\fetch`,
//! `\prepare TEXT`, `\execute`, `\keep TEXT` (remembers the BLOB id of the first row), `\read` (opens that BLOB).
//! # Where Farbird differs
//! - Of several rights that are missing Firebird names that on the object whose security class has the lowest number;
//!   Farbird follows the numbers of tables, so that another one may be named.
//! - System tables are protected from everybody by `protect_sys_tab`; Firebird refuses others than administrators first.
//! - A view WITH CHECK OPTION changes its table in its owner's name as other views do; in Firebird the triggers that hold
//!   the option make whoever runs the statement need what the table's own triggers need.
//! - A BLOB is opened by whoever was given its id (`engine::attachment::known_blobs`): others are told `bad_segstr_id`.
//! - Whoever may not change users is told so by the statement; in Firebird by the commit, in the words of its security database.
//! - A table that a view shows cannot be dropped at the statement; Firebird finds out at the commit.
#![cfg(feature = "cli")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use farbird_client::blocking::{Connection, Cursor};
use farbird_client::{
    ConnectOptions, CreateOptions, Error, Isolation, Result, Statement, Transaction, TransactionOptions,
    Value, Wait,
};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};

const PASSWORD: &str = "masterkey";
/// The users of the scripts. All have the password [`USER_PASSWORD`].
const USERS: [&str; 2] = ["ANN", "BOB"];
const USER_PASSWORD: &str = "guest-pw";

#[test]
fn everybody_may_do_what_firebird_lets_them_do() {
    let scripts = scripts();
    assert!(!scripts.is_empty(), "no scripts");
    let newest = std::env::var("FARBIRD_RECORD_5").ok();
    let oldest = std::env::var("FARBIRD_RECORD_3").ok();
    if let Some(newest) = newest {
        for path in scripts {
            record(&path, &Target::parse(&newest), oldest.as_deref().map(Target::parse).as_ref());
        }
        return;
    }
    let server = OwnServer::start();
    let only = std::env::var("FARBIRD_SECTION").unwrap_or_default();
    let mut differences = String::new();
    for path in scripts {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for section in Section::read(&path).into_iter().filter(|section| section.name.contains(&only)) {
            let answers = section.run(&server.target);
            for (entry, answer) in section.answered().zip(answers) {
                if entry.expected != answer {
                    let _ = writeln!(
                        differences,
                        "{name}, {}: {}\n  Firebird: {}\n  Farbird:  {answer}",
                        section.name, entry.label, entry.expected
                    );
                }
            }
        }
    }
    assert!(differences.is_empty(), "{} differ:\n{differences}", differences.matches("Farbird:").count());
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/privileges");
    let only = std::env::var("FARBIRD_PRIVILEGES").unwrap_or_default();
    let mut scripts: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension().is_some_and(|end| end == "txt") && path.to_string_lossy().contains(&only)
        })
        .collect();
    scripts.sort();
    scripts
}

// ---- The servers ----

/// A server to ask, as SYSDBA.
struct Target {
    user: String,
    password: String,
    /// `host/port:folder`.
    place: String,
}

impl Target {
    /// `USER:PASSWORD@HOST/PORT:FOLDER`.
    fn parse(text: &str) -> Target {
        let (login, place) = text.split_once('@').unwrap();
        let (user, password) = login.split_once(':').unwrap();
        Target { user: user.to_owned(), password: password.to_owned(), place: place.to_owned() }
    }

    /// Name of a new database.
    fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        format!("{}/privileges-{}-{number}.fdb", self.place, std::process::id())
    }

    fn options(&self, who: &Who) -> ConnectOptions {
        let password = if who.user == self.user { &self.password } else { USER_PASSWORD };
        ConnectOptions { role: who.role.clone(), ..ConnectOptions::new(who.user.clone(), password) }
    }

    fn create(&self, database: &str) -> Connection {
        let administrator = Who { user: self.user.clone(), role: None, number: None };
        let create = CreateOptions { overwrite: true, ..CreateOptions::default() };
        let mut connection = Connection::create(database, &create, &self.options(&administrator)).unwrap();
        for user in USERS {
            let text = format!("create or alter user {user} password '{USER_PASSWORD}' revoke admin role");
            commit(&mut connection, &text).unwrap();
        }
        connection
    }
}

/// A Farbird server in this process.
struct OwnServer {
    runtime: tokio::runtime::Runtime,
    server: Option<Server>,
    target: Target,
    _folder: tempfile::TempDir,
}

impl OwnServer {
    fn start() -> OwnServer {
        let folder = tempfile::tempdir().unwrap();
        let overrides = Overrides {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            data: Some(folder.path().join("data")),
            ..Overrides::default()
        };
        let config = Config::load(None, overrides).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let (server, _) = runtime.block_on(Server::start(config, Some(PASSWORD.to_owned()))).unwrap();
        let address = server.local_address();
        let place = format!("127.0.0.1/{}:{}", address.port(), folder.path().join("data").display());
        let target = Target { user: "SYSDBA".to_owned(), password: PASSWORD.to_owned(), place };
        OwnServer { runtime, server: Some(server), target, _folder: folder }
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            self.runtime.block_on(server.shutdown());
        }
    }
}

// ---- The scripts ----

/// Who says something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Who {
    user: String,
    role: Option<String>,
    /// A connection that stays open.
    number: Option<String>,
}

impl Who {
    fn parse(text: &str) -> Who {
        let (text, number) = match text.split_once('#') {
            Some((text, number)) => (text, Some(number.to_owned())),
            None => (text, None),
        };
        let (user, role) = match text.split_once('/') {
            Some((user, role)) => (user, Some(role.to_owned())),
            None => (text, None),
        };
        Who { user: user.to_owned(), role, number }
    }
}

/// What stands in a section.
enum Line {
    Comment(String),
    Statement { who: Who, label: String, text: String },
    Grant { name: String, texts: String },
    Way { name: String, text: String },
}

/// An answer that is expected.
struct Entry {
    label: String,
    expected: String,
}

/// A section of a script.
struct Section {
    name: String,
    /// Whether Firebird 3 knows all of it.
    for_old: bool,
    lines: Vec<Line>,
    /// Answers as recorded, by label; statements are numbered.
    expected: BTreeMap<String, String>,
    /// Answers of Farbird that differ on purpose, by label.
    own: BTreeMap<String, String>,
}

impl Section {
    fn read(path: &Path) -> Vec<Section> {
        let text = std::fs::read_to_string(path).unwrap();
        let mut sections: Vec<Section> = Vec::new();
        // Lines that begin with a blank go on with the line before.
        let mut joined: Vec<String> = Vec::new();
        for line in text.lines() {
            match joined.last_mut() {
                Some(last) if line.starts_with(' ') => *last = format!("{last}\n{line}"),
                _ => joined.push(line.to_owned()),
            }
        }
        let mut last_label = String::new();
        for line in joined {
            if let Some(title) = line.strip_prefix("== ") {
                let (name, for_old) = match title.split_once(" | ") {
                    Some((name, _)) => (name, false),
                    None => (title, true),
                };
                sections.push(Section {
                    name: name.to_owned(),
                    for_old,
                    lines: Vec::new(),
                    expected: BTreeMap::new(),
                    own: BTreeMap::new(),
                });
                continue;
            }
            let Some(section) = sections.last_mut() else {
                sections.push(Section {
                    name: String::new(),
                    for_old: true,
                    lines: vec![Line::Comment(line)],
                    expected: BTreeMap::new(),
                    own: BTreeMap::new(),
                });
                continue;
            };
            if let Some(answer) = line.strip_prefix("-> ") {
                section.expected.insert(last_label.clone(), answer.to_owned());
            } else if let Some(pair) = line.strip_prefix("= ") {
                if let Some((label, answer)) = pair.split_once(" -> ") {
                    section.expected.insert(label.to_owned(), answer.to_owned());
                    label.clone_into(&mut last_label);
                }
            } else if let Some(answer) = line.strip_prefix("farbird> ") {
                section.own.insert(last_label.clone(), answer.to_owned());
            } else if line.starts_with("3> ") {
                // Firebird 3's answer is there to be read.
            } else if line.is_empty() || line.starts_with('#') {
                section.lines.push(Line::Comment(line));
            } else if let Some(rest) = line.strip_prefix("grant ") {
                let (name, texts) = rest.split_once(':').unwrap();
                section.lines.push(Line::Grant { name: name.to_owned(), texts: texts.trim().to_owned() });
            } else if let Some(rest) = line.strip_prefix("way ") {
                let (name, text) = rest.split_once(':').unwrap();
                section.lines.push(Line::Way { name: name.to_owned(), text: text.trim().to_owned() });
            } else {
                let (who, text) = line.split_once(": ").unwrap_or_else(|| panic!("not a line: {line}"));
                last_label = format!("{}. {line}", section.lines.len());
                section.lines.push(Line::Statement {
                    who: Who::parse(who),
                    label: last_label.clone(),
                    text: text.to_owned(),
                });
            }
        }
        sections
    }

    fn grants(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Grant { name, texts } => Some((name.as_str(), texts.as_str())),
            _ => None,
        })
    }

    fn ways(&self) -> impl Iterator<Item = (&str, &str)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Way { name, text } => Some((name.as_str(), text.as_str())),
            _ => None,
        })
    }

    /// The labels of all answers, in the order of [`Section::run`].
    fn labels(&self) -> Vec<String> {
        let statements = self.lines.iter().filter_map(|line| match line {
            Line::Statement { label, .. } => Some(label.clone()),
            _ => None,
        });
        let pairs =
            self.grants().flat_map(|(grant, _)| self.ways().map(move |(way, _)| format!("{grant} / {way}")));
        statements.chain(pairs).collect()
    }

    fn answered(&self) -> impl Iterator<Item = Entry> {
        self.labels().into_iter().map(|label| {
            let expected = self.own.get(&label).or_else(|| self.expected.get(&label)).cloned();
            let expected = expected.unwrap_or_else(|| "(not recorded)".to_owned());
            Entry { label, expected }
        })
    }

    /// Runs the section against a server: the answers to its statements, then those of its pairs.
    fn run(&self, target: &Target) -> Vec<String> {
        if self.labels().is_empty() {
            return Vec::new();
        }
        let mut stage = Stage::new(target);
        let mut answers: Vec<String> = self.run_statements(&mut stage);
        stage.close();
        for (_, texts) in self.grants() {
            let mut stage = Stage::new(target);
            self.run_statements(&mut stage);
            let administrator = Who::parse(&target.user);
            let texts = texts.split(';').map(str::trim).filter(|text| !text.is_empty());
            let granted: Vec<String> = texts.map(|text| stage.say(&administrator, text)).collect();
            let failed = granted.into_iter().find(|answer| answer.starts_with("refused"));
            answers.extend(self.ways().map(|(_, text)| match &failed {
                Some(failed) => format!("(not granted: {failed})"),
                None => stage.try_as(&Who::parse("ANN"), text),
            }));
            stage.close();
        }
        answers
    }

    fn run_statements(&self, stage: &mut Stage<'_>) -> Vec<String> {
        let mut answers = Vec::new();
        for line in &self.lines {
            if let Line::Statement { who, text, .. } = line {
                answers.push(stage.say(who, text));
            }
        }
        answers
    }
}

/// Asks Firebird, and writes down what it says.
fn record(path: &Path, newest: &Target, oldest: Option<&Target>) {
    let mut out = String::new();
    for section in Section::read(path) {
        if !section.name.is_empty() {
            let mark = if section.for_old { "" } else { " | 5" };
            let _ = writeln!(out, "== {}{mark}", section.name);
        }
        let new = section.run(newest);
        let old = oldest.filter(|_| section.for_old).map(|target| section.run(target));
        let mut number = 0;
        let others = |out: &mut String, number: usize, label: &str| {
            let older = old.as_ref().and_then(|old| old.get(number));
            if let Some(answer) = older.filter(|old| without_user(&new[number]) != without_user(old)) {
                let _ = writeln!(out, "3> {answer}");
            }
            if let Some(answer) = section.own.get(label) {
                let _ = writeln!(out, "farbird> {answer}");
            }
        };
        for line in &section.lines {
            match line {
                Line::Comment(text) => {
                    let _ = writeln!(out, "{text}");
                }
                Line::Statement { label, .. } => {
                    let text = label.split_once(". ").map_or(label.as_str(), |(_, text)| text);
                    let _ = writeln!(out, "{text}\n-> {}", new[number]);
                    others(&mut out, number, label);
                    number += 1;
                }
                Line::Grant { name, texts } => {
                    let _ = writeln!(out, "grant {name}: {texts}");
                }
                Line::Way { name, text } => {
                    let _ = writeln!(out, "way {name}: {text}");
                }
            }
        }
        for label in section.labels().iter().skip(number) {
            let _ = writeln!(out, "= {label} -> {}", new[number]);
            others(&mut out, number, label);
            number += 1;
        }
    }
    std::fs::write(path, out).unwrap();
}

/// Firebird 3 does not name the effective user.
fn without_user(answer: &str) -> &str {
    answer.split(" + effective_user").next().unwrap_or(answer)
}

// ---- The stage ----

/// A connection that stays open.
struct Open {
    connection: Connection,
    transaction: Option<Transaction>,
    cursor: Option<Cursor>,
    statement: Option<Statement>,
}

/// A database with those who are connected to it.
struct Stage<'t> {
    target: &'t Target,
    database: String,
    administrator: Option<Connection>,
    open: BTreeMap<Who, Open>,
    blob: Option<farbird_client::BlobId>,
}

impl<'t> Stage<'t> {
    fn new(target: &'t Target) -> Stage<'t> {
        let database = target.database();
        let administrator = Some(target.create(&database));
        Stage { target, database, administrator, open: BTreeMap::new(), blob: None }
    }

    fn close(mut self) {
        for (_, mut open) in std::mem::take(&mut self.open) {
            open.cursor = None;
            open.statement = None;
            open.transaction = None;
            let _ = open.connection.close();
        }
        if let Some(connection) = self.administrator.take() {
            let _ = connection.drop_database();
        }
    }

    fn connect(&self, who: &Who) -> Result<Connection> {
        Connection::attach(&self.database, &self.target.options(who))
    }

    /// Runs a statement and commits it; gives the answer in one line.
    fn say(&mut self, who: &Who, text: &str) -> String {
        let result = match (&who.number, self.administrator.as_mut()) {
            (Some(_), _) => self.say_on_open(who, text),
            // Definitions and contents are SYSDBA's; a query gets a connection that remembers nothing.
            (None, Some(connection))
                if who.user == self.target.user && who.role.is_none() && !text.starts_with("select") =>
            {
                commit(connection, text)
            }
            _ => self.connect(who).and_then(|mut connection| {
                let answer = commit(&mut connection, text);
                connection.close()?;
                answer
            }),
        };
        result.unwrap_or_else(|error| refusal(&error))
    }

    /// Runs a statement and undoes it.
    fn try_as(&mut self, who: &Who, text: &str) -> String {
        let tried = self.connect(who).and_then(|mut connection| {
            let transaction = connection.begin(&read_committed())?;
            let answer = answer(&mut connection, &transaction, text);
            connection.rollback(transaction)?;
            connection.close()?;
            answer
        });
        tried.unwrap_or_else(|error| refusal(&error))
    }

    fn say_on_open(&mut self, who: &Who, text: &str) -> Result<String> {
        if !self.open.contains_key(who) {
            let connection = self.connect(who)?;
            self.open
                .insert(who.clone(), Open { connection, transaction: None, cursor: None, statement: None });
        }
        let open = self.open.get_mut(who).unwrap();
        let (verb, rest) = text.split_once(' ').unwrap_or((text, ""));
        if verb == "\\commit" || verb == "\\rollback" {
            open.cursor = None;
            return match open.transaction.take() {
                Some(transaction) if verb == "\\commit" => open.connection.commit(transaction),
                Some(transaction) => open.connection.rollback(transaction),
                None => Ok(()),
            }
            .map(|()| "ok".to_owned());
        }
        if open.transaction.is_none() {
            open.transaction = Some(open.connection.begin(&read_committed())?);
        }
        let transaction = open.transaction.as_ref().unwrap();
        match verb {
            // The start travels with the first request.
            "\\begin" => open.connection.ping().map(|()| "ok".to_owned()),
            "\\open" => {
                let statement = open.connection.prepare(transaction, rest)?;
                let mut cursor = open.connection.query(transaction, &statement, &[])?;
                cursor.opened()?;
                open.cursor = Some(cursor);
                open.statement = Some(statement);
                Ok("ok".to_owned())
            }
            "\\fetch" => {
                let row = open.cursor.as_mut().unwrap().next().transpose()?;
                Ok(row.map_or_else(|| "end".to_owned(), |row| shown(&row.to_values())))
            }
            "\\prepare" => {
                open.statement = Some(open.connection.prepare(transaction, rest)?);
                Ok("ok".to_owned())
            }
            "\\execute" => {
                let statement = open.statement.as_ref().unwrap();
                let row = open.connection.execute(transaction, statement, &[])?;
                Ok(row.map_or_else(|| "ok".to_owned(), |row| shown(&row.to_values())))
            }
            "\\keep" => {
                let rows = open.connection.query_all(transaction, rest)?;
                self.blob = rows.iter().flatten().find_map(|value| match value {
                    Value::Blob(id) => Some(*id),
                    _ => None,
                });
                Ok(self.blob.map_or("none", |_| "kept").to_owned())
            }
            "\\read" => {
                let bytes = open.connection.read_blob(transaction, self.blob.unwrap())?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => answer(&mut open.connection, transaction, text),
        }
    }
}

fn read_committed() -> TransactionOptions {
    TransactionOptions {
        isolation: Isolation::ReadCommitted,
        wait: Wait::No,
        ..TransactionOptions::default()
    }
}

/// Runs a statement in a transaction of its own.
fn commit(connection: &mut Connection, text: &str) -> Result<String> {
    let transaction = connection.begin(&read_committed())?;
    match answer(connection, &transaction, text) {
        Ok(answer) => connection.commit(transaction).map(|()| answer),
        Err(error) => connection.rollback(transaction).and(Err(error)),
    }
}

/// Runs a statement to its end; its rows in one line.
fn answer(connection: &mut Connection, transaction: &Transaction, text: &str) -> Result<String> {
    let statement = connection.prepare(transaction, text)?;
    let rows = if statement.has_cursor() {
        connection.query(transaction, &statement, &[])?.collect::<Result<Vec<_>>>()?
    } else {
        connection.execute(transaction, &statement, &[])?.into_iter().filter(|row| !row.is_empty()).collect()
    };
    let mut lines = Vec::new();
    for row in rows {
        let mut row = row.to_values();
        for value in &mut row {
            if let Value::Blob(id) = value {
                let bytes = connection.read_blob(transaction, *id)?;
                *value = Value::text(&String::from_utf8_lossy(&bytes));
            }
        }
        lines.push(shown(&row));
    }
    lines.sort();
    Ok(if lines.is_empty() { "ok".to_owned() } else { lines.join("; ") })
}

fn shown(row: &[Value]) -> String {
    let values = row.iter().map(farbird_types::convert::to_display_text);
    values.map(|text| text.trim_end().to_owned()).collect::<Vec<_>>().join(", ")
}

/// The codes that tell, with their arguments.
fn refusal(error: &Error) -> String {
    // What stands around the reason: where, and in which statement.
    const AROUND: [&str; 6] =
        ["dsql_error", "sqlerr", "no_meta_update", "stack_trace", "dsql_line_col_error", "random"];
    let mut parts = Vec::new();
    for item in error.items() {
        let symbol = item.symbol().map_or_else(|| item.gds_code.to_string(), str::to_owned);
        if AROUND.contains(&symbol.as_str()) && !(symbol == "random" && error.items().len() == 1) {
            continue;
        }
        let arguments: Vec<String> = item.arguments.iter().map(ToString::to_string).collect();
        parts.push(format!("{symbol} {}", arguments.join(" ")).trim_end().to_owned());
    }
    if parts.is_empty() {
        parts.push(error.to_string());
    }
    format!("refused: {}", parts.join(" + "))
}
