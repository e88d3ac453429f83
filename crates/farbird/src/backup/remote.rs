//! The services of running servers that back databases up and restore them.

use std::cell::RefCell;
use std::io::{Read, Write};

use anyhow::Context;
use farbird_client::blocking::Services;
use farbird_client::{BackupOptions, ConnectOptions, Heard, Location, RestoreOptions};
use farbird_engine::backup::Difference;
use farbird_types::{Error, isc};
use indicatif::{ProgressBar, ProgressStyle};

use super::Interrupt;

/// What a server puts before what it warns of.
const WARNING: &str = "WARNING: ";

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

/// What a backup of a server's database is to be.
pub(crate) enum Wire {
    /// All of it, or what these options say.
    Whole(BackupOptions),
    /// A level of a chain of incremental backups.
    Level(u8),
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
    pub(crate) fn write(&self, out: &mut impl Write, name: &str, what: &Wire) -> anyhow::Result<u64> {
        let Location { host, port, database } = self.location;
        let services = Services::attach(host, *port, self.options)?;
        let bar = counter("backup");
        let mut bytes = 0;
        let take = |piece: &[u8]| {
            if self.interrupt.cancel().is_raised() {
                return Err(Failure::Server(Error::new(isc::CANCELLED)));
            }
            out.write_all(piece).with_context(|| format!("cannot write {name}")).map_err(Failure::Own)?;
            bytes += piece.len() as u64;
            bar.set_position(bytes);
            Ok(())
        };
        let made = match what {
            Wire::Whole(options) => services.back_up_with(database, options, take),
            Wire::Level(level) => services.back_up_level(database, *level, take),
        };
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
    how: RestoreOptions,
    interrupt: &'a Interrupt,
}

impl<'a> ServerRestore<'a> {
    pub(crate) fn new(
        location: &'a Location,
        options: &'a ConnectOptions,
        how: RestoreOptions,
        interrupt: &'a Interrupt,
    ) -> Self {
        ServerRestore { location, options, how, interrupt }
    }

    /// Sends the backup that `input`, called `name`, holds; gives its size, and what is not as it was.
    pub(crate) fn read(
        &self,
        mut input: impl Read,
        name: &str,
        bar: &ProgressBar,
    ) -> anyhow::Result<(u64, Vec<Difference>)> {
        let Location { host, port, database } = self.location;
        let services = Services::attach(host, *port, self.options)?;
        let input = RefCell::new(&mut input);
        let mut differences = Vec::new();
        let restored = services.restore_with(
            database,
            &self.how,
            |piece| {
                if self.interrupt.cancel().is_raised() {
                    return Err(Failure::Server(Error::new(isc::CANCELLED)));
                }
                let read = input.borrow_mut().read(piece);
                read.with_context(|| format!("cannot read {name}")).map_err(Failure::Own)
            },
            |heard| {
                match heard {
                    Heard::Line(line) => match line.strip_prefix(WARNING) {
                        Some(warning) => differences.push(difference(warning)),
                        None => bar.set_message(line.to_owned()),
                    },
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
        Ok((bytes, differences))
    }
}

/// What a server warns of: an object, and what became of it.
fn difference(warning: &str) -> Difference {
    let (object, reason) = warning.split_once(": ").unwrap_or((warning, ""));
    Difference { object: object.to_owned(), reason: reason.to_owned() }
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
