//! Where to connect, as whom, and with which wire.

use std::time::Duration;

use farbird_types::{CharacterSet, Error, Result, isc};
use farbird_wire::auth::AuthPlugin;
use farbird_wire::auth::srp::ProofHash;
use farbird_wire::crypt::CryptPlugin;
pub use farbird_wire::negotiation::WireCrypt;
pub use farbird_wire::protocol::ProtocolVersion;

use crate::attach_options::AttachOptions;
use crate::key_callback::KeyCallback;
use crate::tuning::Tuning;

/// The port of servers that name none.
pub const DEFAULT_PORT: u16 = 3050;

/// A database on a server: `host:database`, `host/port:database`, `[::1]/3050:database`, `inet://host:port/database`.
///
/// Behind the slash of the last form comes an alias or a path of another operating system; a path that begins at the root
/// needs a second slash. Source: wire-protocol.md, 12.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Name or address of the machine.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Path or alias, as the server knows it.
    pub database: String,
}

impl Location {
    /// Understands a location as Firebird's tools write it.
    ///
    /// # Errors
    /// `isc_io_error` for a text that names no host, or no port where one should stand.
    pub fn parse(text: &str) -> Result<Location> {
        let bad = || {
            Error::new(isc::IO_ERROR)
                .with("connect")
                .with(text)
                .and(isc::RANDOM)
                .with("a database on a server is written host:database, host/port:database or inet://host:port/database")
        };
        if text.get(..10).is_some_and(|begin| begin.eq_ignore_ascii_case("farlink://")) {
            let words = match cfg!(feature = "farlink") {
                true => "this does not go over a farlink: name the server, or an edge",
                false => "farlink:// needs the client's feature `farlink`",
            };
            return Err(Error::new(isc::IO_ERROR).with("connect").with(text).and(isc::RANDOM).with(words));
        }
        let (host, port, database) = match after_scheme(text) {
            Some(rest) => url(rest),
            None => classic(text),
        }
        .ok_or_else(bad)?;
        // Firebird's other ways to a server, which are those of one machine or of Windows.
        if text.contains("://") && ["xnet", "wnet"].iter().any(|scheme| host.eq_ignore_ascii_case(scheme)) {
            return Err(bad());
        }
        if host.is_empty() || database.is_empty() {
            return Err(bad());
        }
        Ok(Location { host: host.to_owned(), port, database: database.to_owned() })
    }
}

/// What follows `inet://`; the address family is the resolver's affair.
fn after_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    ["inet", "inet4", "inet6"].iter().any(|known| scheme.eq_ignore_ascii_case(known)).then_some(rest)
}

/// `host:port/database`; without a host it is this machine, and the database's path begins at the root.
fn url(rest: &str) -> Option<(&str, u16, &str)> {
    if rest.starts_with('/') {
        return Some(("localhost", DEFAULT_PORT, rest));
    }
    let (server, database) = rest.split_once('/')?;
    let (host, port) = match server.strip_prefix('[') {
        Some(bracketed) => {
            let (host, port) = bracketed.split_once(']')?;
            (host, port.strip_prefix(':'))
        }
        None => match server.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().ok()?,
        None => DEFAULT_PORT,
    };
    Some((host, port, database))
}

/// `host:database`, `host/port:database`.
fn classic(text: &str) -> Option<(&str, u16, &str)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(bracketed) => bracketed.split_once(']')?,
        None => text.split_at(text.find(['/', ':'])?),
    };
    match rest.strip_prefix('/') {
        Some(rest) => {
            let (port, database) = rest.split_once(':')?;
            Some((host, port.parse().ok()?, database))
        }
        None => Some((host, DEFAULT_PORT, rest.strip_prefix(':')?)),
    }
}

/// How to connect. Start from [`ConnectOptions::new`] and change what differs.
#[derive(Clone)]
pub struct ConnectOptions {
    /// Login name, as typed.
    pub user: String,
    /// Password.
    pub password: String,
    /// Role to take on.
    pub role: Option<String>,
    /// Character set in which texts travel, by its name: `WIN1252`, `ISO8859_1`. UTF8 by default, which is right unless the
    /// database's texts lie in NONE columns: those are taken for texts in this character set. In `NONE` each column's
    /// texts travel in its own, and nothing that is NONE is converted. Programs have Unicode either way.
    pub character_set: String,
    /// Ways to prove the password, the preferred first. `Legacy_Auth` is not among the default ones: whoever overhears
    /// its hash can log in with it.
    pub plugins: Vec<AuthPlugin>,
    /// Whether the line is to be encrypted.
    pub wire_crypt: WireCrypt,
    /// Ciphers, the preferred first.
    pub ciphers: Vec<CryptPlugin>,
    /// Whether the line is to be compressed: worth it on slow lines.
    pub compress: bool,
    /// Oldest protocol to offer: 13 (Firebird 3) by default. 12 is Firebird 2.5, 10 the first of all; they have `Legacy_Auth`
    /// only, which [`ConnectOptions::plugins`] must allow, and no encryption. For 10 switch off
    /// [`Tuning::deferred_packets`] as well.
    pub oldest: ProtocolVersion,
    /// Newest protocol to offer.
    pub newest: ProtocolVersion,
    /// Largest BLOB, in bytes, that is to travel with its row, up to 65,535; 0 for none. Protocol 19 and later.
    pub inline_blob_bytes: u32,
    /// How long to try to connect.
    pub connect_timeout: Duration,
    /// How long to wait for an answer; `None`: as long as it takes.
    pub read_timeout: Option<Duration>,
    /// What is done to save round trips.
    pub tuning: Tuning,
    /// Name of the program, shown in MON$ATTACHMENTS.
    pub program: String,
    /// Answers a server that asks for the key of an encrypted database. Without one, the server is told that there is none.
    pub key_callback: Option<KeyCallback>,
    /// What else is asked of the server for this attachment.
    pub attach: AttachOptions,
    /// How `farlink://` is reached.
    #[cfg(feature = "farlink")]
    pub farlink: crate::farlink_options::Options,
}

impl ConnectOptions {
    /// A user with a password, everything else as usual: SRP, encryption if the server can, no compression.
    pub fn new(user: impl Into<String>, password: impl Into<String>) -> ConnectOptions {
        ConnectOptions {
            user: user.into(),
            password: password.into(),
            role: None,
            character_set: CharacterSet::UTF8.name().to_owned(),
            plugins: vec![AuthPlugin::Srp(ProofHash::Sha256), AuthPlugin::Srp(ProofHash::Sha1)],
            wire_crypt: WireCrypt::Enabled,
            ciphers: CryptPlugin::ALL.to_vec(),
            compress: false,
            oldest: ProtocolVersion::V13,
            newest: ProtocolVersion::NEWEST,
            inline_blob_bytes: 65_535,
            connect_timeout: Duration::from_secs(20),
            read_timeout: None,
            tuning: Tuning::default(),
            program: std::env::args().next().unwrap_or_default(),
            key_callback: None,
            attach: AttachOptions::default(),
            #[cfg(feature = "farlink")]
            farlink: crate::farlink_options::Options::default(),
        }
    }
}

impl std::fmt::Debug for ConnectOptions {
    /// Leaves the password out: options end up in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConnectOptions")
            .field("user", &self.user)
            .field("plugins", &self.plugins)
            .field("wire_crypt", &self.wire_crypt)
            .field("compress", &self.compress)
            .finish_non_exhaustive()
    }
}

/// What a new database is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateOptions {
    /// Default character set.
    pub character_set: String,
    /// Page size in bytes; the server's default if `None`.
    pub page_size: Option<u32>,
    /// Whether a database of that name is replaced.
    pub overwrite: bool,
    /// Whether each commit waits for the disk (Firebird's forced writes); the server's default if `None`.
    pub forced_writes: Option<bool>,
}

impl Default for CreateOptions {
    fn default() -> Self {
        CreateOptions {
            character_set: "UTF8".to_owned(),
            page_size: None,
            overwrite: false,
            forced_writes: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_read_as_firebird_writes_them() {
        let location = |text| {
            let Location { host, port, database } = Location::parse(text).unwrap();
            (host, port, database)
        };
        let is = |host: &str, port, database: &str| (host.to_owned(), port, database.to_owned());
        assert_eq!(location("db:app"), is("db", 3050, "app"));
        assert_eq!(location("127.0.0.1/3054:/data/app.fdb"), is("127.0.0.1", 3054, "/data/app.fdb"));
        assert_eq!(location("[::1]/3051:C:\\app.fdb"), is("::1", 3051, "C:\\app.fdb"));
        assert_eq!(location("inet://db/emp"), is("db", 3050, "emp"));
        assert_eq!(location("INET4://db:3051//data/app.fdb"), is("db", 3051, "/data/app.fdb"));
        assert_eq!(location("inet6://[::1]:3052/C:\\app.fdb"), is("::1", 3052, "C:\\app.fdb"));
        assert_eq!(location("inet:///data/app.fdb"), is("localhost", 3050, "/data/app.fdb"));
        for bad in [
            "inet://db",
            "inet://db:x/app",
            "xnet://app",
            "app",
            "db:",
            ":app",
            "db/x:app",
            "db/3050",
            "[::1:app",
            "farlink://db/app",
            "",
        ] {
            assert!(Location::parse(bad).is_err(), "{bad}");
        }
    }
}
