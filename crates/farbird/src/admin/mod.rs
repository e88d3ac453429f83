//! `farbird admin`: what goes on in a running server's database, and putting an end to it.
//!
//! | file | subject |
//! |---|---|
//! | `reports` | the questions |
//! | `report` | asking, and showing answers to people and programs |
//! | `action` | ending attachments, cancelling statements |
//! | `watch` | asking again and again |
//! | `health` | whether a server lives |

pub(crate) mod action;
mod health;
pub(crate) mod report;
pub(crate) mod reports;
mod watch;

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use farbird_client::Location;
use farbird_client::blocking::{Connection, Services};
use farbird_status::StatusAddress;
use farbird_types::{Error, isc};

use crate::access::{Credentials, DatabaseAddress, Line};
use crate::backup::Format;
use crate::output;
use report::{Answered, Report};

/// Look after a running server: who is attached, what runs, who waits for whom; end what should not go on.
///
/// Each command asks the server's monitoring tables (MON$, FARBIRD$) as the user who is named. SYSDBA, owners of the database and users
/// with the privilege MONITOR_ANY_ATTACHMENT see everybody; others see and end only what is their own.
#[derive(Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    ask: Ask,
}

#[derive(Subcommand)]
enum Ask {
    /// The database in short: size, attachments, what runs longest, who waits, the oldest transactions.
    Overview(Look),
    /// Who is attached, from where, since when, with how much memory.
    Attachments(Look),
    /// What runs and which cursors are open, the longest first.
    Statements(Look),
    /// Open transactions, the oldest first, and which of them keep the sweep from removing old versions.
    Transactions(Look),
    /// Who waits for whom, and what is locked.
    Locks(Look),
    /// What the database, its tables and its indexes take.
    Sizes(Look),
    /// Memory and temporary space of statements, and the cache.
    Memory(Look),
    /// What the sweep does, and for whom it keeps old versions.
    Sweep(Look),
    /// All counters of the database since it was opened, by name.
    Figures(Look),
    /// Backups that the server makes by itself: those that are kept, the next one, and what has failed.
    Backups(Look),
    /// The databases of a server that somebody is attached to.
    Databases(OfServer),
    /// Whether a server lives, by its status page: for health checks of containers and the like. No login is needed.
    Health(Page),
    /// End an attachment: what it has not committed is rolled back.
    Kill(Target),
    /// Cancel what an attachment runs; its transaction goes on.
    Cancel(Target),
}

#[derive(Args)]
struct Access {
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    line: Line,
}

#[derive(Args)]
struct Look {
    /// The database of a running server: host:name or host/port:name.
    database: String,
    #[command(flatten)]
    access: Access,
    /// How the answer is told: `json` is an object with a list for each part, keys with their units.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Ask again every so many seconds until Ctrl-C. For programs: an object in a line each time.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "2", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    watch: Option<u32>,
}

#[derive(Args)]
struct OfServer {
    /// The server: host or host/port.
    server: String,
    #[command(flatten)]
    access: Access,
    /// How the answer is told.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Args)]
struct Page {
    /// Where the status page is: a port of this machine, or address:port.
    page: StatusAddress,
}

#[derive(Args)]
struct Target {
    /// The database of a running server: host:name or host/port:name.
    database: String,
    /// The attachment's number, as `farbird admin attachments` shows it.
    attachment: u64,
    #[command(flatten)]
    access: Access,
    /// How the outcome is told.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  farbird admin overview localhost:app.fbd                      asks for SYSDBA's password
  farbird admin statements localhost:app.fbd --watch            what runs now, every two seconds
  farbird admin locks db.example.com/3051:app.fbd --user BOSS --password-file secret.txt
  farbird admin transactions localhost:app.fbd --format json | jq '.transactions[] | select(.age_ms > 60000)'
  farbird admin cancel localhost:app.fbd 17                     its statement fails with \"operation was cancelled\"
  farbird admin kill localhost:app.fbd 17                       the attachment is gone, its work is rolled back

ISC_USER and ISC_PASSWORD count as for Firebird's tools. The same in a browser: farbird serve --status 8080 (docs/administration.md).

Exit codes: 0 done, 1 there is no such attachment, nothing that it runs, or it did not end in time, 2 it could not be asked.";

impl Ask {
    /// The reports that a command asks for.
    fn reports(&self) -> Vec<&'static Report> {
        use reports::*;
        match self {
            Ask::Overview(_) => vec![&DATABASE, &LOCK_WAITS, &STATEMENTS, &TRANSACTIONS],
            Ask::Attachments(_) => vec![&ATTACHMENTS],
            Ask::Statements(_) => vec![&STATEMENTS],
            Ask::Transactions(_) => vec![&TRANSACTIONS],
            Ask::Locks(_) => vec![&LOCK_WAITS, &LOCKS],
            Ask::Sizes(_) => vec![&DATABASE, &TABLE_SIZES, &INDEX_SIZES],
            Ask::Memory(_) => vec![&MEMORY, &CACHE],
            Ask::Sweep(_) => vec![&SWEEP, &SWEEP_HOLDERS],
            Ask::Figures(_) => vec![&FIGURES],
            Ask::Backups(_) => vec![&BACKUPS],
            Ask::Databases(_) | Ask::Health(_) | Ask::Kill(_) | Ask::Cancel(_) => vec![],
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    match &arguments.ask {
        Ask::Databases(of) => databases(of),
        Ask::Health(Page { page: StatusAddress(address) }) => health::run(*address),
        Ask::Kill(target) => end(target, action::Wanted::Kill),
        Ask::Cancel(target) => end(target, action::Wanted::Cancel),
        ask @ (Ask::Overview(look)
        | Ask::Attachments(look)
        | Ask::Statements(look)
        | Ask::Transactions(look)
        | Ask::Locks(look)
        | Ask::Sizes(look)
        | Ask::Memory(look)
        | Ask::Sweep(look)
        | Ask::Figures(look)
        | Ask::Backups(look)) => {
            let connection = attach(&look.database, &look.access)?;
            let reports = ask.reports();
            match look.watch {
                Some(seconds) => {
                    watch::run(look.format, seconds, || told(&connection, &reports, look.format))
                }
                None => {
                    output::answer(&told(&connection, &reports, look.format)?)?;
                    connection.close()?;
                    Ok(ExitCode::SUCCESS)
                }
            }
        }
    }
}

/// Attaches as the user who is named.
fn attach(database: &str, access: &Access) -> anyhow::Result<Connection> {
    if matches!(DatabaseAddress::parse(database)?, DatabaseAddress::File(_)) {
        bail!(
            "{database} is a file: name the database of a running server as host:name, as in localhost:{database}"
        );
    }
    let mut options = access.line.apply(access.credentials.options()?);
    // Who looks after a database changes nothing in it.
    options.attach.no_database_triggers = true;
    let attached = match Connection::attach(database, &options) {
        // That is for administrators; others attach as anybody does.
        Err(error) if error.has(isc::NO_PRIV) || error.has(isc::MISS_PRVLG) => {
            options.attach.no_database_triggers = false;
            Connection::attach(database, &options)
        }
        other => other,
    };
    attached.map_err(|error| anyhow::anyhow!("cannot attach to {database}: {}", error.message()))
}

/// Asks all of them.
pub(crate) fn answers(connection: &Connection, reports: &[&'static Report]) -> Result<Vec<Answered>, Error> {
    reports.iter().map(|report| report.ask(connection)).collect()
}

/// The answers as an object with a list for each report.
pub(crate) fn json(answers: &[Answered]) -> serde_json::Value {
    let parts = answers.iter().map(|answered| (answered.report.name.to_owned(), answered.json()));
    serde_json::Value::Object(parts.collect())
}

/// The answers as they are printed.
fn told(connection: &Connection, reports: &[&'static Report], format: Format) -> anyhow::Result<String> {
    let answers = answers(connection, reports).map_err(|error| explained(&error))?;
    let terminal = console::Term::stdout();
    let width = terminal.is_term().then(|| usize::from(terminal.size().1));
    Ok(match format {
        Format::Json => format!("{}\n", json(&answers)),
        Format::Text => answers.iter().map(|one| one.table(width)).collect::<Vec<_>>().join("\n"),
    })
}

/// What a server that is no Farbird says, in words that help.
fn explained(error: &Error) -> anyhow::Error {
    match error.has(isc::DSQL_RELATION_ERR) {
        true => anyhow::anyhow!("this needs a Farbird server of this version or later: {}", error.message()),
        false => anyhow::anyhow!("{}", error.message()),
    }
}

fn databases(of: &OfServer) -> anyhow::Result<ExitCode> {
    // As a location, whose database counts for nothing here.
    let location = Location::parse(&format!("{}:x", of.server))
        .with_context(|| format!("{} is neither a host nor host/port", of.server))?;
    let options = of.access.line.apply(of.access.credentials.options()?);
    let services = Services::attach(&location.host, location.port, &options)
        .map_err(|error| anyhow::anyhow!("cannot ask {}: {}", of.server, error.message()))?;
    let open = services.open_databases()?;
    services.close()?;
    match of.format {
        Format::Json => {
            let object = serde_json::json!({ "attachments": open.attachments, "databases": open.databases });
            output::answer_line(&object.to_string())?;
        }
        Format::Text => {
            let mut lines =
                format!("{} attachments to {} databases\n", open.attachments, open.databases.len());
            open.databases.iter().for_each(|database| lines.push_str(&format!("  {database}\n")));
            output::answer(&lines)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn end(target: &Target, wanted: action::Wanted) -> anyhow::Result<ExitCode> {
    let connection = attach(&target.database, &target.access)?;
    let outcome = action::end(&connection, wanted, target.attachment)?;
    connection.close()?;
    match target.format {
        Format::Json => output::answer_line(&outcome.json(target.attachment).to_string())?,
        Format::Text if outcome.is_done() => output::answer_line(&outcome.words(target.attachment))?,
        Format::Text => eprintln!("farbird: {}", outcome.words(target.attachment)),
    }
    Ok(ExitCode::from(u8::from(!outcome.is_done())))
}
