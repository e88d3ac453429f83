//! Runs the statements and commands of a script or a conversation, one after another.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird::{Dialect, TableCounts};
use farbird_types::error::StatusArgument;
use farbird_types::{Error, Value, isc};

use super::command::{self, Command, Set};
use super::connect::Connect;
use super::output::{Format, Printer, Screen};
use super::running::Running;
use super::settings::{Plan, Settings};
use super::{help, show, table_stats};
use crate::session::{Blobs, Column, Failure, Kind, Session, Sink, WireCounters};

/// Scripts that may run from within one another.
const INPUT_DEPTH_MAX: usize = 32;

/// What outlives a session: CONNECT goes on where another one has stopped.
pub(super) struct Kept {
    settings: Settings,
    terminator: String,
    /// Somebody sits in front of it.
    is_person: bool,
    /// Where results go instead of standard output.
    output: Option<BufWriter<File>>,
    /// What is left of the scripts in which CONNECT stood, the innermost first.
    rest: Vec<Rest>,
    /// The character set of the next connection.
    names: String,
    /// The line of that CONNECT.
    switched_at: u32,
    /// A statement of a script has failed, and the script went on.
    has_failed: bool,
}

/// What is left of a script.
struct Rest {
    text: String,
    /// The line on which it begins.
    line: u32,
    is_person: bool,
}

impl Kept {
    /// Nothing has run yet.
    pub(super) fn new(settings: Settings, is_person: bool, names: &str) -> Kept {
        Kept {
            settings,
            terminator: ";".to_owned(),
            is_person,
            output: None,
            rest: Vec::new(),
            names: names.to_owned(),
            switched_at: 1,
            has_failed: false,
        }
    }

    /// The character set of the next connection.
    pub(super) fn names(&self) -> &str {
        &self.names
    }

    /// The SQL dialect of statements and of a database that is made.
    pub(super) fn dialect(&self) -> Dialect {
        self.settings.dialect
    }

    /// Whether scripts end at their first error.
    pub(super) fn bails(&self) -> bool {
        self.settings.bail
    }

    /// The next session is not to be had: says so, with the line of a script.
    pub(super) fn refused(&mut self, error: &anyhow::Error) {
        eprintln!("{error:#}");
        if !self.is_person {
            eprintln!("At line {}", self.switched_at);
        }
        self.fail();
    }

    /// Something of a script has failed, which goes on.
    fn fail(&mut self) {
        self.has_failed = !self.is_person;
    }

    /// Whether something of a script has failed that went on.
    pub(super) fn has_failed(&self) -> bool {
        self.has_failed
    }
}

/// Runs what is to run in one session.
pub(super) struct Runner<'s> {
    session: &'s mut dyn Session,
    kept: &'s mut Kept,
    /// The database to go on with.
    wanted: Option<Wanted>,
    /// Values for the parameters of the next statement.
    bound: Vec<Option<String>>,
    input_depth: usize,
    running: Arc<Running>,
    /// Something was changed and not committed.
    has_changes: bool,
    /// The catalog may have become another.
    catalog_changed: bool,
}

/// How it goes on behind a statement or a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    /// A statement failed, and what comes behind it does not run.
    Stop,
    /// EXIT, or QUIT, which undoes what is not committed.
    Leave {
        commit: bool,
    },
    /// It goes on in another session: [`Runner::take_wanted`].
    Switch,
}

/// Which session is to come next.
#[derive(Debug)]
pub(super) enum Wanted {
    Connect(Connect),
    /// None: the database is to be dropped.
    Drop,
}

/// Why a statement or command did not do what was asked.
enum Trouble {
    Failure(Failure),
    /// The shell says so.
    Words(String),
}

impl<F: Into<Failure>> From<F> for Trouble {
    fn from(failure: F) -> Self {
        Trouble::Failure(failure.into())
    }
}

impl<'s> Runner<'s> {
    /// Goes on with what is kept, in a session.
    pub(super) fn new(session: &'s mut dyn Session, kept: &'s mut Kept, running: Arc<Running>) -> Runner<'s> {
        session.commit_definitions(kept.settings.autoddl);
        session.set_dialect(kept.settings.dialect);
        Runner {
            session,
            kept,
            wanted: None,
            bound: Vec::new(),
            input_depth: 0,
            running,
            has_changes: false,
            catalog_changed: true,
        }
    }

    /// The session to go on with, behind [`Flow::Switch`].
    pub(super) fn take_wanted(&mut self) -> Option<Wanted> {
        self.wanted.take()
    }

    /// Whether scripts are left behind a CONNECT.
    pub(super) fn has_rest(&self) -> bool {
        !self.kept.rest.is_empty()
    }

    /// Goes on with the scripts in which CONNECT stood.
    ///
    /// # Errors
    /// As [`Runner::run_script`].
    pub(super) fn resume(&mut self) -> anyhow::Result<Flow> {
        let mut rest = std::mem::take(&mut self.kept.rest).into_iter().peekable();
        let mut end = Flow::Next;
        while let Some(script) = rest.next() {
            let was_person = std::mem::replace(&mut self.kept.is_person, script.is_person);
            let flow = self.run_from(&script.text, script.line);
            self.kept.is_person = was_person;
            match flow? {
                Flow::Next => {}
                Flow::Stop if self.kept.settings.bail => return Ok(Flow::Stop),
                Flow::Stop => end = Flow::Stop,
                // EXIT and QUIT of a script end that script.
                Flow::Leave { .. } if rest.peek().is_some() => {}
                flow @ Flow::Leave { .. } => return Ok(flow),
                Flow::Switch => {
                    self.kept.rest.extend(rest);
                    return Ok(Flow::Switch);
                }
            }
        }
        Ok(end)
    }

    pub(super) fn session(&mut self) -> &mut dyn Session {
        self.session
    }

    /// What ends a statement now.
    pub(super) fn terminator(&self) -> &str {
        &self.kept.terminator
    }

    /// Whether something was changed and not committed.
    pub(super) fn has_changes(&self) -> bool {
        self.has_changes
    }

    /// Whether the catalog may have become another since this was asked last.
    pub(super) fn take_catalog_changed(&mut self) -> bool {
        std::mem::take(&mut self.catalog_changed)
    }

    /// Runs statements until one fails, or all of them if errors do not end scripts. Says what failed on stderr.
    ///
    /// # Errors
    /// That the output cannot be written. A closed pipe ends the shell quietly, as its reader wanted.
    pub(super) fn run_script(&mut self, text: &str) -> anyhow::Result<Flow> {
        self.run_from(text, 1)
    }

    /// As [`Runner::run_script`], of a text that begins on this line of its script.
    fn run_from(&mut self, text: &str, first_line: u32) -> anyhow::Result<Flow> {
        let terminator = self.kept.terminator.clone();
        let mut statements = farbird_sql::split_script(text).with_terminator(&terminator);
        let mut end = Flow::Next;
        loop {
            let (statement, line) = match statements.upcoming().starts_with('\\') {
                true => statements.take_line(),
                false => match statements.next() {
                    Some(statement) => (statement.text, statement.line),
                    None => break,
                },
            };
            match self.run_statement(statement) {
                Ok(Flow::Next) => {}
                Ok(Flow::Stop) if self.kept.settings.bail => {
                    end = Flow::Stop;
                    break;
                }
                Ok(Flow::Stop) => {
                    end = Flow::Stop;
                    self.kept.fail();
                }
                Ok(Flow::Switch) => {
                    end = Flow::Switch;
                    if self.kept.rest.is_empty() {
                        self.kept.switched_at = line + first_line - 1;
                    }
                    let text = statements.upcoming().to_owned();
                    let (_, line) = statements.take_line();
                    let line = line + first_line - 1;
                    self.kept.rest.push(Rest { text, line, is_person: self.kept.is_person });
                    break;
                }
                Ok(leave) => {
                    end = leave;
                    break;
                }
                Err(trouble) => {
                    self.tell(&trouble, statement, line + first_line - 1)?;
                    end = Flow::Stop;
                    self.kept.fail();
                    if self.kept.settings.bail {
                        break;
                    }
                }
            }
        }
        self.kept.terminator = statements.terminator().to_owned();
        Ok(end)
    }

    /// Says what went wrong.
    fn tell(&self, trouble: &Trouble, statement: &str, line: u32) -> anyhow::Result<()> {
        match trouble {
            Trouble::Failure(Failure::Statement(error)) => {
                eprintln!("Statement failed, SQLSTATE = {}", error.sql_state());
                eprintln!("{}", error.message());
                match self.kept.is_person {
                    true => point_at(error, statement),
                    false => eprintln!("At line {line}"),
                }
            }
            Trouble::Failure(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                std::process::exit(0);
            }
            Trouble::Failure(Failure::Output(error)) => {
                return Err(io::Error::new(error.kind(), error.to_string()).into());
            }
            Trouble::Failure(Failure::Enough) => {}
            Trouble::Words(words) if self.kept.is_person => eprintln!("{words}"),
            Trouble::Words(words) => eprintln!("{words}\nAt line {line}"),
        }
        Ok(())
    }

    /// Commits what is open, or rolls it back.
    pub(super) fn finish(self, commit: bool) -> Result<(), Error> {
        if let Some(output) = &mut self.kept.output
            && let Err(error) = output.flush()
        {
            eprintln!("farbird: cannot write the output file: {error}");
        }
        if commit { self.session.commit() } else { self.session.rollback() }
    }

    fn run_statement(&mut self, text: &str) -> Result<Flow, Trouble> {
        if self.kept.settings.echo {
            let echoed = format!("{text}{}\n", self.kept.terminator);
            self.print_words(&echoed)?;
        }
        match command::parse(text) {
            Some(command) => self.run_command(command.map_err(Trouble::Words)?),
            None => self.run_sql(text).map(|()| Flow::Next),
        }
    }

    fn run_command(&mut self, command: Command) -> Result<Flow, Trouble> {
        match command {
            Command::Help(topic) => self.print_words(&help::about(&topic))?,
            Command::Leave { commit } => return Ok(Flow::Leave { commit }),
            Command::Input(path) => return self.run_file(Path::new(&path)),
            Command::Output(path) => self.redirect(path.as_deref())?,
            Command::Show(wanted) => {
                let sections = show::sections(self.session, &wanted).map_err(Trouble::from)?;
                let sections = sections.map_err(Trouble::Words)?;
                self.print_sections(&sections)?;
            }
            Command::Explain(statement) => self.explain(&statement)?,
            Command::Connect(connect) => {
                self.session.commit()?;
                self.wanted = Some(Wanted::Connect(connect));
                return Ok(Flow::Switch);
            }
            Command::DropDatabase => {
                self.session.commit()?;
                self.wanted = Some(Wanted::Drop);
                return Ok(Flow::Switch);
            }
            Command::Bind(values) => self.bound = values,
            Command::Echo(words) => self.print_words(&format!("{words}\n"))?,
            Command::System(line) => system(&line)?,
            Command::Describe(sql) => {
                let description = self.session.describe(sql.trim_end_matches(';'))?;
                self.print_sections(&show::of_statement(&description))?;
            }
            Command::ConnectionInformation => {
                let transaction = match (self.session.is_in_transaction(), self.has_changes) {
                    (false, _) => "none",
                    (true, false) => "open, nothing to commit",
                    (true, true) => "open, with changes that are not committed",
                };
                let mut facts = self.session.about()?;
                facts.push(("Transaction", transaction.to_owned()));
                self.print_facts(&facts)?;
            }
            Command::Set(set) => self.set(set)?,
        }
        Ok(Flow::Next)
    }

    /// EXPLAIN: a statement of Farbird's; of other servers the plan is asked for.
    fn explain(&mut self, statement: &str) -> Result<(), Trouble> {
        match self.run_sql(&format!("EXPLAIN {statement}")) {
            Err(Trouble::Failure(Failure::Statement(error))) if is_unknown(&error) => {}
            result => return result,
        }
        if statement.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("ANALYZE")) {
            return Err(Trouble::Words("this server does not know EXPLAIN ANALYZE".to_owned()));
        }
        let plan = self.session.describe(statement)?.plan;
        let plan = if plan.is_empty() { "no plan" } else { plan.trim() };
        self.print_words(&format!("{plan}\n"))
    }

    fn set(&mut self, set: Set) -> Result<(), Trouble> {
        let settings = &mut self.kept.settings;
        let flip = |on: Option<bool>, setting: &mut bool| *setting = on.unwrap_or(!*setting);
        match set {
            Set::List => {
                let list = settings.list();
                return self.print_facts(&list);
            }
            Set::Autoddl(on) => {
                flip(on, &mut settings.autoddl);
                let autoddl = settings.autoddl;
                self.session.commit_definitions(autoddl);
            }
            Set::Bail(on) => flip(on, &mut settings.bail),
            Set::Blobs(blobs) => settings.style.blobs = blobs,
            Set::Count(on) => flip(on, &mut settings.count),
            Set::Echo(on) => flip(on, &mut settings.echo),
            Set::Expanded(on) => {
                settings.expand(on.unwrap_or(settings.style.format != Format::Expanded));
            }
            Set::Format(format) => settings.style.format = format,
            Set::Heading(on) => flip(on, &mut settings.style.heading),
            Set::Null(text) => settings.style.null = text,
            Set::Pager(on) => flip(on, &mut settings.pager),
            Set::Plan(on) => {
                let on = on.unwrap_or(settings.plan == Plan::Off);
                settings.plan = if on { Plan::On } else { Plan::Off };
            }
            Set::PlanOnly(on) => {
                let on = on.unwrap_or(settings.plan != Plan::Only);
                settings.plan = if on { Plan::Only } else { Plan::Off };
            }
            Set::RowsMax(rows) => settings.rows_max = rows,
            Set::Timing(on) => flip(on, &mut settings.timing),
            Set::PerTable(on) => flip(on, &mut settings.per_table),
            Set::Wire(on) => {
                flip(on, &mut settings.wire);
                if settings.wire && self.session.counters().is_none() {
                    return Err(Trouble::Words("there is no wire: the database is a file".to_owned()));
                }
            }
            Set::Names(names) => self.kept.names = names,
            Set::Dialect(dialect) => {
                settings.dialect = dialect;
                self.session.set_dialect(dialect);
            }
            Set::Nothing => {}
        }
        Ok(())
    }

    /// INPUT: runs a script within this one.
    fn run_file(&mut self, path: &Path) -> Result<Flow, Trouble> {
        let text = super::read_script(path).map_err(|error| Trouble::Words(format!("{error:#}")))?;
        if self.input_depth == INPUT_DEPTH_MAX {
            return Err(Trouble::Words("too many scripts run one another".to_owned()));
        }
        self.input_depth += 1;
        let was_person = std::mem::replace(&mut self.kept.is_person, false);
        let flow = self.run_script(&text);
        self.kept.is_person = was_person;
        self.input_depth -= 1;
        match flow {
            // EXIT and QUIT of a script end that script.
            Ok(Flow::Leave { .. }) => Ok(Flow::Next),
            Ok(flow) => Ok(flow),
            Err(error) => Err(Trouble::Words(format!("{error:#}"))),
        }
    }

    /// OUTPUT: results go to the end of a file, or to standard output again.
    fn redirect(&mut self, path: Option<&str>) -> Result<(), Trouble> {
        if let Some(mut output) = self.kept.output.take() {
            output.flush()?;
        }
        if let Some(path) = path {
            let file = File::options().create(true).append(true).open(path);
            let file = file.map_err(|error| Trouble::Words(format!("cannot write {path}: {error}")))?;
            self.kept.output = Some(BufWriter::new(file));
        }
        Ok(())
    }

    fn run_sql(&mut self, sql: &str) -> Result<(), Trouble> {
        if self.kept.settings.plan != Plan::Off {
            let plan = self.session.describe(sql)?.plan;
            if !plan.trim().is_empty() {
                self.print_words(&format!("{}\n", plan.trim()))?;
            }
            if self.kept.settings.plan == Plan::Only {
                return Ok(());
            }
        }
        let tables = match self.kept.settings.per_table {
            true => Some(self.session.table_counts()?),
            false => None,
        };
        let counters = self.session.counters();
        let started = Instant::now();
        self.running.begin();
        let result = self.run_and_print(sql);
        let elapsed = started.elapsed();
        // A cancel that came behind the end must not stop the next statement.
        let was_cancelled = self.running.end();
        let stopped = matches!(&result, Err(Failure::Statement(error)) if error.has(isc::CANCELLED));
        if was_cancelled && !stopped {
            self.session.forget_cancel();
        }
        let told = result?;
        self.remember(told.kind);
        self.tell_outcome(&told);
        self.tell_cost(elapsed, counters);
        tables.map_or(Ok(()), |before| self.tell_tables(&before))
    }

    fn remember(&mut self, kind: Kind) {
        match kind {
            Kind::Query => {}
            Kind::Change | Kind::Other => self.has_changes = true,
            Kind::Definition => {
                self.has_changes = !self.kept.settings.autoddl;
                self.catalog_changed = true;
            }
            Kind::Transaction => self.has_changes = false,
        }
        if !self.session.is_in_transaction() {
            self.has_changes = false;
        }
    }

    fn tell_outcome(&self, told: &Told) {
        let rows = |count: u64| if count == 1 { "row" } else { "rows" };
        if let Some(count) = told.rows
            && self.kept.settings.style.format.is_for_people()
            && self.kept.output.is_none()
        {
            eprintln!("({count} {}{})", rows(count), if told.cut { ", and more" } else { "" });
        }
        if let Some(changed) = told.changed {
            eprintln!("{changed} {} changed", rows(changed));
        }
    }

    fn tell_cost(&self, elapsed: Duration, before: Option<WireCounters>) {
        if self.kept.settings.timing {
            eprintln!("Time: {}", duration(elapsed));
        }
        if self.kept.settings.wire
            && let (Some(before), Some(after)) = (before, self.session.counters())
        {
            eprintln!("Wire: {}", wire(&before, &after));
        }
    }

    /// Tells what a statement has done with the rows of tables.
    fn tell_tables(&mut self, before: &BTreeMap<u32, TableCounts>) -> Result<(), Trouble> {
        let done = table_stats::between(before, &self.session.table_counts()?);
        if done.is_empty() {
            return Ok(());
        }
        let sql = "select rdb$relation_id, trim(rdb$relation_name) from rdb$relations";
        let mut names = BTreeMap::new();
        for row in self.session.look_up(sql, &[])? {
            if let [Value::Integer { unscaled, .. }, Value::Text(name)] = row.as_slice() {
                names.insert(*unscaled, String::from_utf8_lossy(name.bytes()).into_owned());
            }
        }
        let named = done.into_iter().map(|(table, counts)| {
            let name = names.get(&table.into()).cloned();
            (name.unwrap_or_else(|| table.to_string()), counts)
        });
        eprintln!("{}", table_stats::text(&named.collect::<Vec<_>>()));
        Ok(())
    }

    /// Runs a statement for the database and prints its rows as they come.
    fn run_and_print(&mut self, sql: &str) -> Result<Told, Failure> {
        let count = self.kept.settings.count;
        let bound = std::mem::take(&mut self.bound);
        let (session, settings) = (&mut *self.session, &self.kept.settings);
        let mut told = Told { kind: Kind::Other, rows: None, changed: None, cut: false };
        to_output(&mut self.kept.output, self.kept.is_person && settings.pager, |out| {
            let mut printer = match command::is_explain(sql) {
                true => Printer::of_plan(&settings.style, out),
                false => Printer::new(&settings.style, out),
            };
            let mut limited = Limited { sink: &mut printer, left: settings.rows_max };
            match session.run(sql, &bound, count, &mut limited) {
                Ok(ran) => (told.kind, told.changed) = (ran.kind, ran.changed),
                Err(Failure::Enough) => (told.kind, told.cut) = (Kind::Query, true),
                // The rows before the error have been seen by now.
                Err(error) => {
                    if printer.rows() > 0 {
                        printer.finish()?;
                    }
                    return Err(error);
                }
            }
            told.rows = printer.finish()?;
            Ok(())
        })?;
        Ok(told)
    }

    fn print_words(&mut self, words: &str) -> Result<(), Trouble> {
        let pages = self.kept.is_person && self.kept.settings.pager;
        Ok(to_output(&mut self.kept.output, pages, |out| Ok(out.write_all(words.as_bytes())?))?)
    }

    fn print_facts(&mut self, facts: &[(&'static str, String)]) -> Result<(), Trouble> {
        let width = facts.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
        let words: String = facts.iter().map(|(name, value)| format!("{name:width$}  {value}\n")).collect();
        self.print_words(&words)
    }

    fn print_sections(&mut self, sections: &[show::Section]) -> Result<(), Trouble> {
        let pages = self.kept.is_person && self.kept.settings.pager;
        let style = &self.kept.settings.style;
        Ok(to_output(&mut self.kept.output, pages, |out| show::print(sections, style, out))?)
    }
}

/// Runs a line in the operating system's shell, or that shell itself.
fn system(line: &str) -> Result<(), Trouble> {
    let program = |variable: &str, other: &str| std::env::var(variable).unwrap_or_else(|_| other.to_owned());
    let (shell, option) = match cfg!(windows) {
        true => (program("COMSPEC", "cmd"), "/C"),
        false => (program("SHELL", "/bin/sh"), "-c"),
    };
    let mut command = std::process::Command::new(&shell);
    if !line.is_empty() {
        command.args([option, line]);
    }
    let status = command.status().map_err(|error| Trouble::Words(format!("cannot run {shell}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Trouble::Words(format!("{}: {status}", if line.is_empty() { &shell } else { line }))),
    }
}

/// What is to be told of a statement that has run.
struct Told {
    kind: Kind,
    /// Rows shown, if it is a statement that gives any.
    rows: Option<u64>,
    changed: Option<u64>,
    /// Whether there are more rows than were shown.
    cut: bool,
}

/// Has something written to the file, the screen or standard output.
fn to_output(
    file: &mut Option<BufWriter<File>>,
    pages: bool,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if let Some(file) = file {
        write(file)?;
        return Ok(file.flush()?);
    }
    match console::Term::stdout().size_checked().filter(|_| pages) {
        Some((lines, columns)) => {
            let mut screen = Screen::new(usize::from(lines), usize::from(columns));
            let written = write(&mut screen);
            let is_paging = screen.is_paging();
            screen.finish()?;
            match written {
                // The reader has left the pager.
                Err(Failure::Output(error)) if is_paging && error.kind() == io::ErrorKind::BrokenPipe => {
                    Err(Failure::Enough)
                }
                other => other,
            }
        }
        None => {
            let mut out = BufWriter::new(io::stdout().lock());
            let written = write(&mut out);
            out.flush()?;
            written
        }
    }
}

/// Lets only so many rows through.
struct Limited<'a> {
    sink: &'a mut dyn Sink,
    left: Option<u64>,
}

impl Sink for Limited<'_> {
    fn columns(&mut self, columns: &[Column]) -> Result<(), Failure> {
        self.sink.columns(columns)
    }

    fn row(&mut self, values: &[Value], blobs: &mut dyn Blobs) -> Result<(), Failure> {
        match &mut self.left {
            Some(0) => return Err(Failure::Enough),
            Some(left) => *left -= 1,
            None => {}
        }
        self.sink.row(values, blobs)
    }
}

/// Whether a server does not know the first word of a statement.
fn is_unknown(error: &Error) -> bool {
    let first = [StatusArgument::Number(1), StatusArgument::Number(1)];
    let mut items = error.items().iter();
    items.any(|item| item.gds_code == isc::DSQL_TOKEN_UNK_ERR && item.arguments.starts_with(&first))
}

/// Shows the line of a statement that an error names, with a mark under the place.
fn point_at(error: &Error, statement: &str) {
    let names_a_place =
        |code| [isc::DSQL_LINE_COL_ERROR, isc::DSQL_TOKEN_UNK_ERR, isc::COMMAND_END_ERR2].contains(&code);
    let Some(item) = error.items().iter().find(|item| names_a_place(item.gds_code)) else { return };
    let number = |argument: Option<&StatusArgument>| match argument {
        Some(StatusArgument::Number(number)) => usize::try_from(*number).ok(),
        _ => None,
    };
    if let (Some(line), Some(column)) = (number(item.arguments.first()), number(item.arguments.get(1)))
        && let Some(text) = statement.lines().nth(line.saturating_sub(1))
    {
        eprintln!("  {text}\n  {}^", " ".repeat(column.saturating_sub(1)));
    }
}

fn duration(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 1.0 { format!("{:.3} ms", seconds * 1000.0) } else { format!("{seconds:.3} s") }
}

/// What the wire carried between two moments.
fn wire(before: &WireCounters, after: &WireCounters) -> String {
    let trips = after.round_trips - before.round_trips;
    format!(
        "{trips} round trip{}, sent {} packets in {} writes ({} bytes, {} before compression), received {} packets in \
         {} reads ({} bytes, {} after decompression)",
        if trips == 1 { "" } else { "s" },
        after.out_packets - before.out_packets,
        after.send_packets - before.send_packets,
        after.send_bytes - before.send_bytes,
        after.out_bytes - before.out_bytes,
        after.in_packets - before.in_packets,
        after.receive_packets - before.receive_packets,
        after.receive_bytes - before.receive_bytes,
        after.in_bytes - before.in_bytes,
    )
}
