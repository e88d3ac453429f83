//! A server that takes part, the line to it, and how the client behaves on that line.

use std::net::ToSocketAddrs;
use std::str::FromStr;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, CreateOptions, Location, Tuning, WireCrypt};
use serde::Serialize;

use crate::link::{Link, LinkOptions};
use crate::{Failure, Result};

/// A server of the Firebird protocol, with the database that an experiment uses there.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its name in figures: `Farbird`, `Firebird 5.0`.
    pub name: String,
    /// Where it is, and the database.
    pub location: Location,
    /// Who connects.
    pub user: String,
    /// With which password.
    pub password: String,
}

impl Server {
    /// The same server with another database.
    pub fn with_database(&self, database: &str) -> Server {
        let location = Location { database: database.to_owned(), ..self.location.clone() };
        Server { location, ..self.clone() }
    }

    /// Address and database, as a location is written.
    pub fn address(&self) -> String {
        self.text(&self.location.host, self.location.port)
    }

    /// Attaches without any detour, for what is not measured: loading, warming up.
    pub(super) fn attach(&self) -> Result<Connection> {
        let options = ConnectOptions::new(&self.user, &self.password);
        Ok(Connection::attach(&self.address(), &options)?)
    }

    /// Creates the database, which must not exist.
    pub(super) fn create(&self) -> Result<Connection> {
        let options = ConnectOptions::new(&self.user, &self.password);
        let create = CreateOptions { forced_writes: Some(false), ..CreateOptions::default() };
        Ok(Connection::create(&self.address(), &create, &options)?)
    }

    /// Where the database is when the server is reached at this address.
    pub(super) fn text(&self, host: &str, port: u16) -> String {
        let database = &self.location.database;
        if host.contains(':') {
            format!("[{host}]/{port}:{database}")
        } else {
            format!("{host}/{port}:{database}")
        }
    }

    pub(super) fn options(&self, settings: &Settings) -> Result<ConnectOptions> {
        let mut options = ConnectOptions::new(&self.user, &self.password);
        options.tuning = Tuning::preset(settings.preset.name())?;
        options.compress = settings.compress;
        options.wire_crypt = if settings.encrypt { WireCrypt::Enabled } else { WireCrypt::Disabled };
        options.inline_blob_bytes = settings.inline_blob_bytes;
        options.tuning.timeline_flights = super::FLIGHTS_MAX;
        Ok(options)
    }
}

/// How the client behaves in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The generation of clients that it behaves as.
    pub preset: Preset,
    /// Whether the line is compressed, if the server can.
    pub compress: bool,
    /// Whether it is encrypted, if the server can.
    pub encrypt: bool,
    /// Largest BLOB that is to come with its row.
    pub inline_blob_bytes: u32,
}

impl Settings {
    /// As a program connects that says nothing of it.
    pub fn new(preset: Preset) -> Settings {
        Settings { preset, compress: false, encrypt: true, inline_blob_bytes: 65_535 }
    }
}

/// A generation of client libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Preset {
    /// Firebird 2.0: waits for the answer to everything.
    #[serde(rename = "2.0")]
    V2_0,
    /// Firebird 2.5: what nobody waits for goes with the next packet.
    #[serde(rename = "2.5")]
    V2_5,
    /// Firebird 5.0.1: asks for rows ahead.
    #[serde(rename = "5.0.1")]
    V5_0_1,
    /// Firebird 5.0.2: opens a BLOB and reads it in one trip.
    #[serde(rename = "5.0.2")]
    V5_0_2,
    /// Firebird 5.0.3: small BLOBs come with their rows.
    #[serde(rename = "5.0.3")]
    V5_0_3,
    /// Everything that this client can.
    #[serde(rename = "farbird")]
    Farbird,
}

impl Preset {
    /// All, oldest first.
    pub const ALL: [Preset; 6] =
        [Preset::V2_0, Preset::V2_5, Preset::V5_0_1, Preset::V5_0_2, Preset::V5_0_3, Preset::Farbird];

    /// The name by which it is chosen.
    pub const fn name(self) -> &'static str {
        match self {
            Preset::V2_0 => "2.0",
            Preset::V2_5 => "2.5",
            Preset::V5_0_1 => "5.0.1",
            Preset::V5_0_2 => "5.0.2",
            Preset::V5_0_3 => "5.0.3",
            Preset::Farbird => "farbird",
        }
    }

    /// Whether small BLOBs can come with their rows.
    pub const fn has_inline_blobs(self) -> bool {
        matches!(self, Preset::V5_0_3 | Preset::Farbird)
    }
}

/// A name that is no preset's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a preset: 2.0, 2.5, 5.0.1, 5.0.2, 5.0.3 or farbird")]
pub struct UnknownPreset;

impl FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(name: &str) -> std::result::Result<Preset, UnknownPreset> {
        Preset::ALL.into_iter().find(|preset| preset.name() == name).ok_or(UnknownPreset)
    }
}

/// A way to a server over a link; without delay and limits there is none in between.
pub(super) struct Road {
    /// Open as long as this is.
    _link: Option<Link>,
    /// Where its near end is.
    pub(super) address: (String, u16),
}

impl Road {
    /// # Errors
    /// The host is not known, or no address is free for the link.
    pub(super) fn open(target: &(String, u16), options: &LinkOptions) -> Result<Road> {
        if *options == LinkOptions::default() {
            return Ok(Road { _link: None, address: target.clone() });
        }
        let (host, port) = target;
        let found = (host.as_str(), *port).to_socket_addrs()?.next();
        let found = found.ok_or_else(|| Failure::Other(format!("{host} has no address")))?;
        let link = Link::start(found, options)?;
        let address = (link.address().ip().to_string(), link.address().port());
        Ok(Road { _link: Some(link), address })
    }
}
