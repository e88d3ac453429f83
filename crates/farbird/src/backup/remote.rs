//! Databases of running servers: where they are, as whom to ask, and the services that back them up and restore them.

use std::cell::RefCell;
use std::io::{IsTerminal, Read, Write};
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use farbird_client::blocking::Services;
use farbird_client::{ConnectOptions, Heard, Location};
use farbird_types::{Error, isc};
use indicatif::{ProgressBar, ProgressStyle};

use super::Interrupt;

/// Where a database is.
pub(crate) enum DatabaseAddress {
    /// A file of this machine.
    File(PathBuf),
    /// A database that a server has.
    Server(Location),
}

impl DatabaseAddress {
    /// `host:name` and `host/port:name` are databases of servers, everything else is a file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<DatabaseAddress> {
        let is_file = match text.split_once(':') {
            None => true,
            // An address of IPv6 has colons itself.
            Some((host, _)) if host.starts_with('[') => false,
            // A single letter is a drive of another operating system, not a host.
            Some((host, _)) => host.len() == 1 || host.starts_with(['.', '/']),
        };
        if is_file {
            Ok(DatabaseAddress::File(PathBuf::from(text)))
        } else {
            Ok(DatabaseAddress::Server(Location::parse(text)?))
        }
    }
}

/// As whom to ask a server. A password on the command line could be read by every user of the machine: it comes from the
/// environment, a file, or the terminal.
#[derive(Args)]
pub(crate) struct Credentials {
    /// User, for a database of a server.
    #[arg(long, env = "ISC_USER", default_value = "SYSDBA", help_heading = "Databases of servers")]
    user: String,
    /// File whose first line is the password. Without it, ISC_PASSWORD counts; then the terminal is asked.
    #[arg(long, value_name = "FILE", help_heading = "Databases of servers")]
    password_file: Option<PathBuf>,
}

/// The password, if it is in the environment: the name that Firebird's tools know.
const PASSWORD_VARIABLE: &str = "ISC_PASSWORD";

impl Credentials {
    /// How to connect.
    pub(crate) fn options(&self) -> anyhow::Result<ConnectOptions> {
        Ok(ConnectOptions::new(&self.user, self.password()?))
    }

    fn password(&self) -> anyhow::Result<String> {
        if let Some(path) = &self.password_file {
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("cannot read the password from {}", path.display()))?;
            return Ok(text.lines().next().unwrap_or_default().to_owned());
        }
        if let Ok(password) = std::env::var(PASSWORD_VARIABLE) {
            return Ok(password);
        }
        let terminal = console::Term::stderr();
        if !std::io::stdin().is_terminal() || !terminal.is_term() {
            bail!("no password for {}: give --password-file or {PASSWORD_VARIABLE}", self.user);
        }
        terminal.write_str(&format!("Password of {}: ", self.user))?;
        terminal.read_secure_line().context("cannot read the password")
    }
}

/// Why a conversation about bytes ended.
enum Failure {
    /// The server, or the connection with it.
    Server(Error),
    /// Our own end.
    Own(anyhow::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Server(error)
    }
}

/// A backup of a server's database.
pub(crate) struct ServerBackup<'a> {
    location: &'a Location,
    options: &'a ConnectOptions,
    interrupt: &'a Interrupt,
}

impl<'a> ServerBackup<'a> {
    pub(crate) fn new(location: &'a Location, options: &'a ConnectOptions, interrupt: &'a Interrupt) -> Self {
        ServerBackup { location, options, interrupt }
    }

    /// Writes the backup to `out`, called `name`; gives its size.
    pub(crate) fn write(&self, out: &mut impl Write, name: &str) -> anyhow::Result<u64> {
        let Location { host, port, database } = self.location;
        let services = Services::attach(host, *port, self.options)?;
        let bar = counter("backup");
        let mut bytes = 0;
        let made = services.back_up(database, |piece| {
            if self.interrupt.cancel().is_raised() {
                return Err(Failure::Server(Error::new(isc::CANCELLED)));
            }
            out.write_all(piece).with_context(|| format!("cannot write {name}")).map_err(Failure::Own)?;
            bytes += piece.len() as u64;
            bar.set_position(bytes);
            Ok(())
        });
        bar.finish_and_clear();
        made.map_err(|failure| self.interrupt.explain_failure(failure, "no backup was made"))?;
        out.flush().with_context(|| format!("cannot write {name}"))?;
        services.close()?;
        Ok(bytes)
    }
}

/// A restore to a server's database.
pub(crate) struct ServerRestore<'a> {
    location: &'a Location,
    options: &'a ConnectOptions,
    replace: bool,
    interrupt: &'a Interrupt,
}

impl<'a> ServerRestore<'a> {
    pub(crate) fn new(
        location: &'a Location,
        options: &'a ConnectOptions,
        replace: bool,
        interrupt: &'a Interrupt,
    ) -> Self {
        ServerRestore { location, options, replace, interrupt }
    }

    /// Sends the backup that `input`, called `name`, holds; gives its size.
    pub(crate) fn read(&self, mut input: impl Read, name: &str, bar: &ProgressBar) -> anyhow::Result<u64> {
        let Location { host, port, database } = self.location;
        let services = Services::attach(host, *port, self.options)?;
        let input = RefCell::new(&mut input);
        let restored = services.restore(
            database,
            self.replace,
            |piece| {
                if self.interrupt.cancel().is_raised() {
                    return Err(Failure::Server(Error::new(isc::CANCELLED)));
                }
                let read = input.borrow_mut().read(piece);
                read.with_context(|| format!("cannot read {name}")).map_err(Failure::Own)
            },
            |heard| {
                match heard {
                    Heard::Line(line) => bar.set_message(line.to_owned()),
                    Heard::Sent(bytes) => bar.set_position(bytes),
                }
                match self.interrupt.cancel().is_raised() {
                    true => Err(Failure::Server(Error::new(isc::CANCELLED))),
                    false => Ok(()),
                }
            },
        );
        let bytes =
            restored.map_err(|failure| self.interrupt.explain_failure(failure, "no database was made"))?;
        services.close()?;
        Ok(bytes)
    }
}

impl Interrupt {
    fn explain_failure(&self, failure: Failure, outcome: &str) -> anyhow::Error {
        match failure {
            Failure::Server(error) => self.explain(error, outcome),
            Failure::Own(error) => error,
        }
    }
}

/// A count of bytes whose end is unknown.
fn counter(label: &'static str) -> ProgressBar {
    let bar = ProgressBar::no_length().with_message(label);
    let style = ProgressStyle::with_template("{msg:<18} {bytes} {bytes_per_sec} {elapsed}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_databases_of_servers() {
        for file in ["app.fbd", "./a:b.fbd", "/data/a:b.fbd", "C:/app.fbd"] {
            assert!(matches!(DatabaseAddress::parse(file), Ok(DatabaseAddress::File(_))), "{file}");
        }
        for server in ["localhost:app.fbd", "db/3051:/data/app.fbd", "[::1]/3050:app"] {
            assert!(matches!(DatabaseAddress::parse(server), Ok(DatabaseAddress::Server(_))), "{server}");
        }
        assert!(DatabaseAddress::parse("db/x:app.fbd").is_err());
    }
}
