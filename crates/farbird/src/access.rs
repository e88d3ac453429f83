//! Where a database is, and as whom to ask its server: arguments that several commands share.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use farbird_client::{ConnectOptions, Location, WireCrypt};

/// Where a database is.
pub(crate) enum DatabaseAddress {
    /// A file of this machine.
    File(PathBuf),
    /// A database that a server has.
    Server(Location),
    /// A database behind a farlink, as the client names it.
    Farlink,
}

impl DatabaseAddress {
    /// `host:name`, `host/port:name`, `inet://host/name` and `farlink://site/name` are databases of servers, everything else is a file.
    pub(crate) fn parse(text: &str) -> anyhow::Result<DatabaseAddress> {
        let is_file = match text.split_once(':') {
            None => true,
            // An address of IPv6 has colons itself.
            Some((host, _)) if host.starts_with('[') => false,
            // A single letter is a drive of another operating system, not a host.
            Some((host, _)) => host.len() == 1 || host.starts_with(['.', '/']),
        };
        if text.get(..10).is_some_and(|begin| begin.eq_ignore_ascii_case("farlink://")) {
            return Ok(DatabaseAddress::Farlink);
        }
        if is_file {
            Ok(DatabaseAddress::File(PathBuf::from(text)))
        } else {
            Ok(DatabaseAddress::Server(Location::parse(text)?))
        }
    }
}

/// As whom to ask a server.
#[derive(Clone, Args)]
pub(crate) struct Credentials {
    /// User, for a database of a server.
    #[arg(short, long, env = "ISC_USER", default_value = "SYSDBA", help_heading = "Databases of servers")]
    user: String,
    /// File whose first line is the password. Without it, ISC_PASSWORD counts; then the terminal is asked.
    #[arg(long, value_name = "FILE", help_heading = "Databases of servers")]
    password_file: Option<PathBuf>,
    /// The password itself. Other users of this machine can read it in the list of processes: prefer the other ways.
    #[arg(
        long,
        value_name = "PASSWORD",
        conflicts_with = "password_file",
        help_heading = "Databases of servers"
    )]
    password: Option<String>,
    /// The password is not on the command line, whoever gave it.
    #[arg(skip)]
    is_told: bool,
}

/// The password, if it is in the environment: the name that Firebird's tools know.
const PASSWORD_VARIABLE: &str = "ISC_PASSWORD";

impl Credentials {
    /// Those of another user: with this password, else with the one that counts for all.
    pub(crate) fn of(&self, user: Option<&str>, password: Option<&str>) -> Credentials {
        Credentials {
            user: user.unwrap_or(&self.user).to_owned(),
            password_file: self.password_file.clone().filter(|_| password.is_none()),
            password: password.map(ToOwned::to_owned).or_else(|| self.password.clone()),
            is_told: password.is_some(),
        }
    }

    /// How to connect.
    pub(crate) fn options(&self) -> anyhow::Result<ConnectOptions> {
        Ok(ConnectOptions::new(&self.user, self.password()?))
    }

    fn password(&self) -> anyhow::Result<String> {
        if let Some(password) = &self.password {
            if self.is_told {
                return Ok(password.clone());
            }
            eprintln!(
                "farbird: a password on the command line can be read by every user of this machine: --password-file and \
                 {PASSWORD_VARIABLE} keep it"
            );
            return Ok(password.clone());
        }
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

/// How the line to a server is, and what the user is there.
#[derive(Clone, Args)]
pub(crate) struct Line {
    /// Role to take on.
    #[arg(short, long, env = "ISC_ROLE", help_heading = "Databases of servers")]
    role: Option<String>,
    /// Whether the line is to be encrypted.
    #[arg(
        long,
        value_enum,
        default_value_t = Encryption::Enabled,
        value_name = "WHEN",
        help_heading = "Databases of servers"
    )]
    wire_crypt: Encryption,
    /// Compress what travels: worth it on slow lines.
    #[arg(long, help_heading = "Databases of servers")]
    compress: bool,
}

/// Whether a line is to be encrypted.
#[derive(Clone, Copy, ValueEnum)]
enum Encryption {
    /// Never.
    Disabled,
    /// If the server can.
    Enabled,
    /// Or there is no connection.
    Required,
}

impl Line {
    /// The same with this role, if one is named.
    pub(crate) fn with_role(&self, role: Option<&str>) -> Line {
        Line { role: role.map(ToOwned::to_owned).or_else(|| self.role.clone()), ..self.clone() }
    }

    /// Adds these to how a user connects.
    pub(crate) fn apply(&self, options: ConnectOptions) -> ConnectOptions {
        ConnectOptions {
            role: self.role.clone(),
            compress: self.compress,
            wire_crypt: match self.wire_crypt {
                Encryption::Disabled => WireCrypt::Disabled,
                Encryption::Enabled => WireCrypt::Enabled,
                Encryption::Required => WireCrypt::Required,
            },
            ..options
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_from_databases_of_servers() {
        for file in ["app.fbd", "./a:b.fbd", "/data/a:b.fbd", "C:/app.fbd"] {
            assert!(matches!(DatabaseAddress::parse(file), Ok(DatabaseAddress::File(_))), "{file}");
        }
        for server in ["localhost:app.fbd", "db/3051:/data/app.fbd", "[::1]/3050:app", "inet://db:3051/app"] {
            assert!(matches!(DatabaseAddress::parse(server), Ok(DatabaseAddress::Server(_))), "{server}");
        }
        assert!(DatabaseAddress::parse("db/x:app.fbd").is_err());
    }
}
