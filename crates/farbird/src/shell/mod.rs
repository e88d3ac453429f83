//! `farbird sql`: statements from a terminal, a script or the command line, for a database file or a database of a server.
//!
//! Statements run in one transaction after another, as in isql: DDL commits by itself (`SET AUTODDL OFF` changes that), the
//! rest waits for COMMIT or ROLLBACK. A script stops at its first error; a person goes on.

mod command;
mod editor;
mod help;
mod output;
mod runner;
mod running;
mod settings;
mod show;

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;

use crate::access::{Credentials, Line};
use crate::session::{Attached, Opening, Session};
use editor::{Editor, Names};
pub(crate) use output::Format;
use runner::{Flow, Runner};
use running::Running;
use settings::Settings;

/// Run SQL on a database file or on a server: a shell, a script or one command.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a file, or a database of a server as host:name, host/port:name or inet://host:port/name.
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
    let Some(database) = &arguments.database else {
        bail!("which database? Name a file or a server's database: farbird sql app.fbd --create");
    };
    let opening = Opening { create: arguments.create };
    let mut attached = Attached::open(database, &arguments.credentials, &arguments.line, &opening)?;
    let code = attached.with(|session| work(arguments, session))?;
    attached.close()?;
    Ok(code)
}

fn work(arguments: &Arguments, session: &mut dyn Session) -> anyhow::Result<ExitCode> {
    let is_person =
        arguments.command.is_none() && arguments.input.is_none() && std::io::stdin().is_terminal();
    let mut settings = Settings::new(arguments.format);
    settings.bail = !arguments.go_on;
    settings.style.color =
        is_person && std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    settings.count = is_person;
    let running = Running::watch(session.canceller(), is_person)?;
    let mut runner = Runner::new(session, settings, Arc::clone(&running), is_person);
    let flow = match (&arguments.command, &arguments.input) {
        (Some(command), _) => runner.run_script(command)?,
        (None, Some(path)) => runner.run_script(&read_script(path)?)?,
        (None, None) if is_person => converse(&mut runner)?,
        (None, None) => runner.run_script(&read_script(Path::new("-"))?)?,
    };
    // Behind errors that a script went over what came right is kept.
    let commit = match flow {
        Flow::Next => true,
        Flow::Stop => arguments.go_on,
        Flow::Leave { commit } => commit,
    };
    runner.finish(commit).map_err(|error| anyhow::anyhow!("{}", error.message()))?;
    Ok(if flow == Flow::Stop { ExitCode::from(1) } else { ExitCode::SUCCESS })
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
fn converse(runner: &mut Runner<'_>) -> anyhow::Result<Flow> {
    for (name, value) in runner.session().about().unwrap_or_default() {
        eprintln!("{name:<9} {value}");
    }
    eprintln!(
        "farbird {}: end statements with ;  HELP or \\? shows more, Tab completes, Ctrl-D leaves",
        env!("CARGO_PKG_VERSION")
    );
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
                if let Flow::Leave { commit } = runner.run_script(&text)? {
                    if !commit && runner.has_changes() {
                        eprintln!("rolled back what was not committed");
                    }
                    return Ok(Flow::Leave { commit });
                }
            }
            editor::Line::Cleared => {}
            editor::Line::End => return Ok(Flow::Leave { commit: true }),
        }
    }
}
