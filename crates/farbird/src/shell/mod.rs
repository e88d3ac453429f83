//! `farbird sql`: statements from a terminal, a script or the command line, for a database file or a database of a server.
//!
//! Statements run in one transaction after another, as in isql: DDL commits by itself (`SET AUTODDL OFF` changes that), the
//! rest waits for COMMIT or ROLLBACK. A script stops at its first error; a person goes on.

mod command;
mod connect;
mod editor;
mod help;
mod output;
mod runner;
mod running;
mod settings;
mod show;
mod table_stats;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use farbird::Dialect;

use crate::access::{Credentials, Line};
use crate::session::{Attached, Opening, Session, Unconnected};
use connect::Connect;
use editor::{Editor, Names};
pub(crate) use output::Format;
use runner::{Flow, Kept, Runner, Wanted};
use running::Running;
use settings::Settings;

/// Run SQL on a database file or on a server: a shell, a script or one command.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a file, or a database of a server as host:name, host/port:name or inet://host:port/name. Without one the
    /// statements begin with CONNECT or CREATE DATABASE.
    database: Option<String>,
    /// Make the database if there is none.
    #[arg(long)]
    create: bool,
    /// Run a script; `-` reads it from standard input.
    #[arg(short, long, value_name = "FILE", conflicts_with = "command")]
    input: Option<PathBuf>,
    /// Run statements and end.
    #[arg(short, long, value_name = "SQL")]
    command: Option<String>,
    /// Go on behind the errors of a script.
    #[arg(long = "continue")]
    go_on: bool,
    /// The character set in which texts travel to a server and back. What is typed and shown is UTF-8 in any case.
    #[arg(long, value_name = "NAME", default_value = "UTF8")]
    charset: String,
    /// The SQL dialect of statements (1, 2 or 3), and of a database that is made.
    #[arg(long, value_name = "NUMBER", default_value = "3", value_parser = command::dialect)]
    dialect: Dialect,
    /// How results look.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    line: Line,
}

const EXAMPLES: &str = "\
Examples:
  farbird sql app.fbd                                a shell; HELP explains it
  farbird sql localhost:app.fbd                      on a server, asking for SYSDBA's password
  farbird sql app.fbd -i schema.sql                  a script, SET TERM and all
  farbird sql app.fbd -c \"select * from t\" --format json

Exit codes: 0 done, 1 a statement failed, 2 could not run, 130 interrupted.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let is_person =
        arguments.command.is_none() && arguments.input.is_none() && std::io::stdin().is_terminal();
    let mut attached = match &arguments.database {
        Some(database) => {
            let opening = Opening {
                create: arguments.create,
                character_set: Some(arguments.charset.clone()),
                dialect: arguments.dialect,
                ..Opening::default()
            };
            Some(Attached::open(database, &arguments.credentials, &arguments.line, &opening)?)
        }
        None if arguments.create => bail!("which database? farbird sql app.fbd --create"),
        None => None,
    };
    let mut kept = Kept::new(settings(arguments, is_person), is_person, &arguments.charset);
    let running = Running::watch(is_person)?;
    let mut begins = true;
    loop {
        let end = match &mut attached {
            Some(attached) => attached.with(|session| work(arguments, session, &mut kept, &running, begins)),
            None => work(arguments, &mut Unconnected, &mut kept, &running, begins),
        };
        begins = false;
        let wanted = match end? {
            End::Leave(code) => {
                attached.map_or(Ok(()), Attached::close)?;
                return Ok(code);
            }
            End::Switch(wanted) => wanted,
        };
        if let Err(error) = switch(&mut attached, &wanted, arguments, &kept) {
            kept.refused(&error);
            if kept.bails() && !is_person {
                return Ok(ExitCode::from(1));
            }
        }
    }
}

fn settings(arguments: &Arguments, is_person: bool) -> Settings {
    let mut settings = Settings::new(arguments.format);
    settings.bail = !arguments.go_on;
    settings.dialect = arguments.dialect;
    settings.style.color =
        is_person && std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    settings.count = is_person;
    settings
}

/// Goes on with another database, or with none once it is dropped. If that fails the shell stays where it is.
fn switch(
    attached: &mut Option<Attached>,
    wanted: &Wanted,
    arguments: &Arguments,
    kept: &Kept,
) -> anyhow::Result<()> {
    match wanted {
        Wanted::Connect(connect) => {
            let next = open(connect, arguments, kept)?;
            if let Some(last) = attached.replace(next) {
                last.close()?;
            }
        }
        Wanted::Drop => {
            let Some(last) = attached.take() else { bail!("there is no database to drop") };
            if let Err((still, error)) = last.drop_database() {
                *attached = still;
                bail!("{}", error.message());
            }
        }
    }
    Ok(())
}

fn open(connect: &Connect, arguments: &Arguments, kept: &Kept) -> anyhow::Result<Attached> {
    let credentials = arguments.credentials.of(connect.user.as_deref(), connect.password.as_deref());
    let line = arguments.line.with_role(connect.role.as_deref());
    let opening = Opening {
        create: false,
        new: connect.new.clone(),
        character_set: Some(kept.names().to_owned()),
        dialect: kept.dialect(),
    };
    Attached::open(&connect.database, &credentials, &line, &opening)
}

/// How work in one session ends.
enum End {
    Leave(ExitCode),
    Switch(Wanted),
}

/// Works in a session: from the beginning, or on behind a CONNECT.
fn work(
    arguments: &Arguments,
    session: &mut dyn Session,
    kept: &mut Kept,
    running: &Arc<Running>,
    begins: bool,
) -> anyhow::Result<End> {
    let is_person =
        arguments.command.is_none() && arguments.input.is_none() && std::io::stdin().is_terminal();
    running.stop_with(session.canceller());
    let mut runner = Runner::new(session, kept, Arc::clone(running));
    let mut flow = if runner.has_rest() { runner.resume()? } else { Flow::Next };
    if is_person && flow != Flow::Switch {
        flow = match flow {
            Flow::Leave { .. } => flow,
            _ => converse(&mut runner, begins)?,
        };
    } else if begins {
        flow = match (&arguments.command, &arguments.input) {
            (Some(command), _) => runner.run_script(command)?,
            (None, Some(path)) => runner.run_script(&read_script(path)?)?,
            (None, None) => runner.run_script(&read_script(Path::new("-"))?)?,
        };
    }
    if let Some(wanted) = runner.take_wanted() {
        return Ok(End::Switch(wanted));
    }
    // Behind errors that a script went over what came right is kept.
    let commit = match flow {
        Flow::Stop => arguments.go_on,
        Flow::Leave { commit } => commit,
        Flow::Next | Flow::Switch => true,
    };
    let undone = !commit && runner.has_changes();
    runner.finish(commit).map_err(|error| anyhow::anyhow!("{}", error.message()))?;
    if is_person && undone {
        eprintln!("rolled back what was not committed");
    }
    let failed = flow == Flow::Stop || kept.has_failed();
    Ok(End::Leave(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS }))
}

/// A script's text; `-` is standard input.
fn read_script(path: &Path) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    if path.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
    } else {
        bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    }
    String::from_utf8(bytes).with_context(|| format!("{} is not UTF-8", path.display()))
}

/// Reads statements from a person and runs each when its terminator comes.
fn converse(runner: &mut Runner<'_>, begins: bool) -> anyhow::Result<Flow> {
    for (name, value) in runner.session().about().unwrap_or_default() {
        eprintln!("{name:<9} {value}");
    }
    if begins {
        eprintln!(
            "farbird {}: end statements with ;  HELP or \\? shows more, Tab completes, Ctrl-D leaves",
            env!("CARGO_PKG_VERSION")
        );
    }
    let context = editor::Context::default();
    let mut editor = Editor::new(&context);
    loop {
        if runner.take_catalog_changed() {
            // Without them completion knows the keywords only.
            match Names::read(runner.session()) {
                Ok(names) => context.set_names(names),
                Err(error) => tracing::debug!(%error, "no names to complete"),
            }
        }
        context.set_terminator(runner.terminator());
        match editor.read(runner.has_changes())? {
            editor::Line::Entered(text) => {
                let flow = runner.run_script(&text)?;
                if matches!(flow, Flow::Leave { .. } | Flow::Switch) {
                    return Ok(flow);
                }
            }
            editor::Line::Cleared => {}
            editor::Line::End => return Ok(Flow::Leave { commit: true }),
        }
    }
}
