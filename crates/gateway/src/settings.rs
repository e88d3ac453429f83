//! What an administrator can set for an edge and for an origin: one TOML file each, under what the command line says.
//!
//! Unknown keys are refused, so that a misspelt setting does not silently keep its default. The tables are in docs/farlink.md.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::link::Settings;
use farbird_farlink::speculation::RunnerLimits;
use farbird_farlink::{edge, origin};
pub use farbird_status::StatusAddress;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::edge::EdgeOptions;
use crate::error::GatewayError;
use crate::origin::{CredentialsByUser, Knowledge, OriginOptions, credentials};
use crate::pairing::Keys;
use crate::transport::{PORT, Transport};

pub use crate::error::SettingsError;

/// The folder of keys where none is said.
pub const KEYS_FOLDER: &str = "farbird-farlink";
/// Firebird's port.
const FIREBIRD_PORT: u16 = 3050;
/// Rules are written when there are others than so long ago, and at the end.
const RULES_SAVED_EVERY: Duration = Duration::from_secs(60);
/// No machine has more use of them.
const THREADS_MAX: usize = 1024;
/// Largest file that is read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What both ends have in common.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkSettings {
    /// What may be under way to this end.
    pub window_mib: Option<u32>,
    /// The same for one program.
    pub program_window_mib: Option<u32>,
    /// Zstandard's level; 0: none.
    pub compression_level: Option<i32>,
    /// After so long a silence the other end is asked.
    pub ping_seconds: Option<u64>,
    /// After so long a silence the connection is given up.
    pub silence_seconds: Option<u64>,
    /// How long programs that have nothing under way are kept without a link.
    pub resume_seconds: Option<u64>,
}

/// The settings of an edge, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EdgeSettings {
    /// Where programs connect.
    pub listen: Option<SocketAddr>,
    /// Where the origin is.
    pub origin: Option<String>,
    /// By what it is reached.
    pub transport: Option<Transport>,
    /// The folder of keys.
    pub keys: Option<PathBuf>,
    /// Programs at a time.
    pub programs_max: Option<usize>,
    /// Threads that carry programs' bytes.
    pub threads: Option<usize>,
    /// What is kept of statements, for all programs.
    pub statement_cache_mib: Option<usize>,
    /// Rows that have come and no program has taken, of all programs.
    pub row_memory_mib: Option<usize>,
    /// BLOBs that have come, of all programs.
    pub blob_memory_mib: Option<usize>,
    /// What of both is kept in a file where it has no room in memory, of all programs; 0: nothing.
    pub spill_mib: Option<usize>,
    /// In which folder that file is.
    pub spill_folder: Option<PathBuf>,
    /// Largest BLOB that comes with its row.
    pub inline_blob_kib: Option<usize>,
    /// Transactions begin and end at the server before the program is answered.
    pub strict_transactions: Option<bool>,
    /// Whether statements are described from their texts alone where these tell how, and prepared when they are executed.
    pub deferred_prepare: Option<bool>,
    /// Whether writes are answered before they are done.
    pub optimistic_writes: Option<bool>,
    /// What a program may have written so that is not done yet.
    pub optimistic_write_kib: Option<usize>,
    /// Before a Firebird server: whether the text of a query is believed to show that it changes nothing, and a commit of nothing to
    /// succeed.
    pub texts_show_purity: Option<bool>,
    /// Whether statements are run ahead by rules that were learned.
    pub speculation: Option<bool>,
    /// Before a Firebird server: how old an answer in READ COMMITTED may be that was run ahead; without it there is none.
    pub read_committed_age_ms: Option<u64>,
    /// How long a program waits for a result that is said to be on its way, before it is asked for.
    pub ahead_wait_ms: Option<u64>,
    /// Without a link for so long, what is under way ends.
    pub transaction_grace_seconds: Option<u64>,
    /// How long programs may go on at the end.
    pub shutdown_grace_seconds: Option<u64>,
    /// Where the status page is served: a port (of this machine only) or an address.
    pub status: Option<StatusAddress>,
    /// By which names the status page may be asked for, beside addresses and `localhost`.
    pub status_names: Vec<String>,
    /// The link.
    pub link: LinkSettings,
}

/// The settings of an origin, as written.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OriginSettings {
    /// Where edges connect.
    pub listen: Option<SocketAddr>,
    /// Where the server is.
    pub server: Option<String>,
    /// The folder of keys.
    pub keys: Option<PathBuf>,
    /// The file of passwords with which the origin logs in itself.
    pub credentials: Option<PathBuf>,
    /// Edges at a time.
    pub sessions_max: Option<usize>,
    /// Programs at a time.
    pub programs_max: Option<usize>,
    /// Threads that carry programs' bytes.
    pub threads: Option<usize>,
    /// The server's time that statements run ahead may take for one cursor before their results are used; 0: none are.
    pub ahead_cursor_ms: Option<u64>,
    /// The same for one program, with what was never used; 0: none are.
    pub ahead_program_ms: Option<u64>,
    /// Results of statements run ahead for one program that are not used.
    pub ahead_program_mib: Option<usize>,
    /// Without a link for so long, open transactions are rolled back.
    pub transaction_grace_seconds: Option<u64>,
    /// How long programs may go on at the end.
    pub shutdown_grace_seconds: Option<u64>,
    /// Where the status page is served: a port (of this machine only) or an address.
    pub status: Option<StatusAddress>,
    /// By which names the status page may be asked for, beside addresses and `localhost`.
    pub status_names: Vec<String>,
    /// The link.
    pub link: LinkSettings,
}

impl EdgeSettings {
    /// Reads the file, if one is named; what the command line says (`over`) goes before.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn load(file: Option<&Path>, over: EdgeSettings) -> Result<EdgeSettings, SettingsError> {
        let mut settings: EdgeSettings = load(file)?;
        settings.listen = over.listen.or(settings.listen);
        settings.origin = over.origin.or(settings.origin);
        settings.transport = over.transport.or(settings.transport);
        settings.keys = over.keys.or(settings.keys);
        settings.status = over.status.or(settings.status);
        settings.deferred_prepare = over.deferred_prepare.or(settings.deferred_prepare);
        settings.optimistic_writes = over.optimistic_writes.or(settings.optimistic_writes);
        settings.texts_show_purity = over.texts_show_purity.or(settings.texts_show_purity);
        Ok(settings)
    }

    /// Programs at a time.
    pub fn programs_max(&self) -> usize {
        self.programs_max.unwrap_or(1000)
    }

    /// Threads of the runtime that it is to be started in.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn threads(&self) -> Result<usize, SettingsError> {
        threads(self.threads)
    }

    /// Checks them, and opens the keys.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub fn options(&self) -> Result<EdgeOptions, GatewayError> {
        let missing = "say where the origin is: --origin HOST, or origin = \"HOST\" in the settings file";
        let origin = self.origin.clone().filter(|origin| !origin.is_empty());
        let origin = origin.ok_or(SettingsError::Value { setting: "origin", reason: missing.to_owned() })?;
        Ok(EdgeOptions {
            listen: self.listen.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, FIREBIRD_PORT))),
            origin,
            transport: self.transport.unwrap_or_default(),
            keys: Keys::open(&keys_folder(self.keys.as_deref()))?,
            programs_max: self.programs_max(),
            threads: self.threads()?,
            transaction_grace: seconds(self.transaction_grace_seconds, 30),
            shutdown_grace: seconds(self.shutdown_grace_seconds, 10),
            status: self.status.map(|status| status.0),
            status_names: self.status_names.clone(),
            rules: keys_folder(self.keys.as_deref()).join("rules"),
            rules_saved_every: RULES_SAVED_EVERY,
            link: self.link.settings()?,
            limits: self.limits()?,
            spill_folder: self.spill_folder()?,
        })
    }

    /// The folder of the file in which rows and BLOBs are kept that have no room in memory, if there is to be one.
    fn spill_folder(&self) -> Result<Option<PathBuf>, SettingsError> {
        let wrong = |reason| Err(SettingsError::Value { setting: "spill-folder", reason });
        match &self.spill_folder {
            Some(_) if self.spill_mib == Some(0) => {
                wrong("with spill-mib = 0 nothing is kept there".to_owned())
            }
            Some(folder) if !folder.is_dir() => wrong(format!("{} is no folder", folder.display())),
            Some(folder) => Ok(Some(folder.clone())),
            None if self.spill_mib == Some(0) => Ok(None),
            None => Ok(Some(std::env::temp_dir())),
        }
    }

    fn limits(&self) -> Result<edge::Limits, SettingsError> {
        let default = edge::Limits::default();
        let mib = |setting, value: Option<usize>, default| match value {
            Some(mib) => bytes(setting, mib, 1, 65_536),
            None => Ok(default),
        };
        let spill_bytes = match self.spill_mib {
            Some(mib) => bytes("spill-mib", mib, 0, 1 << 20)?,
            None => default.spill_bytes,
        };
        let blob_bytes = match self.inline_blob_kib {
            // It must fit into one message with what is around it.
            Some(kib) if kib > 16 << 10 => {
                let reason = format!("{kib} is more than {}", 16 << 10);
                return Err(SettingsError::Value { setting: "inline-blob-kib", reason });
            }
            Some(kib) => kib << 10,
            None => default.blob_bytes,
        };
        let optimistic_writes = self.optimistic_writes.unwrap_or(default.optimistic_writes);
        if optimistic_writes && self.strict_transactions == Some(true) {
            let reason = "with strict-transactions every answer is the server's".to_owned();
            return Err(SettingsError::Value { setting: "optimistic-writes", reason });
        }
        let deferred_prepare = self.deferred_prepare.unwrap_or(default.deferred_prepare);
        let optimistic_bytes = match self.optimistic_write_kib {
            Some(_) if !optimistic_writes => {
                let reason = "it bounds optimistic-writes, which is off".to_owned();
                return Err(SettingsError::Value { setting: "optimistic-write-kib", reason });
            }
            // An origin gives a program up that has 128 MiB waiting there.
            Some(kib) if !(1..=64 << 10).contains(&kib) => {
                let reason = format!("{kib} is not among 1 to {}", 64 << 10);
                return Err(SettingsError::Value { setting: "optimistic-write-kib", reason });
            }
            Some(kib) => kib << 10,
            None => default.optimistic_bytes,
        };
        Ok(edge::Limits {
            statement_bytes: mib("statement-cache-mib", self.statement_cache_mib, default.statement_bytes)?,
            edge_row_bytes: mib("row-memory-mib", self.row_memory_mib, default.edge_row_bytes)?,
            edge_blob_bytes: mib("blob-memory-mib", self.blob_memory_mib, default.edge_blob_bytes)?,
            spill_bytes,
            program_spill_bytes: spill_bytes / 4,
            blob_bytes,
            strict_transactions: self.strict_transactions.unwrap_or(default.strict_transactions),
            deferred_prepare,
            optimistic_writes,
            optimistic_bytes,
            texts_show_purity: self.texts_show_purity.unwrap_or(default.texts_show_purity),
            speculates: self.speculation.unwrap_or(default.speculates),
            read_committed_age: self.read_committed_age_ms.map(Duration::from_millis),
            ahead_wait: self.ahead_wait_ms.map_or(default.ahead_wait, Duration::from_millis),
            ..default
        })
    }
}

impl OriginSettings {
    /// As [`EdgeSettings::load`].
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn load(file: Option<&Path>, over: OriginSettings) -> Result<OriginSettings, SettingsError> {
        let mut settings: OriginSettings = load(file)?;
        settings.listen = over.listen.or(settings.listen);
        settings.server = over.server.or(settings.server);
        settings.keys = over.keys.or(settings.keys);
        settings.status = over.status.or(settings.status);
        settings.credentials = over.credentials.or(settings.credentials);
        Ok(settings)
    }

    /// Programs at a time.
    pub fn programs_max(&self) -> usize {
        self.programs_max.unwrap_or(1000)
    }

    /// Threads of the runtime that it is to be started in.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn threads(&self) -> Result<usize, SettingsError> {
        threads(self.threads)
    }

    /// Checks them, and opens the keys. `knowledge`: the server's own word, if it is a Farbird server in this process.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub fn options(&self, knowledge: Option<Arc<dyn Knowledge>>) -> Result<OriginOptions, GatewayError> {
        let missing =
            "say where the server is: --server HOST:PORT, or server = \"HOST:PORT\" in the settings file";
        let server = self.server.clone().filter(|server| !server.is_empty());
        let server = server.ok_or(SettingsError::Value { setting: "server", reason: missing.to_owned() })?;
        Ok(OriginOptions {
            listen: self.listen.unwrap_or(SocketAddr::from((Ipv4Addr::UNSPECIFIED, PORT))),
            server: with_port(&server),
            keys: Keys::open(&keys_folder(self.keys.as_deref()))?,
            sessions_max: self.sessions_max.unwrap_or(100),
            programs_max: self.programs_max(),
            threads: self.threads()?,
            transaction_grace: seconds(self.transaction_grace_seconds, 30),
            shutdown_grace: seconds(self.shutdown_grace_seconds, 10),
            status: self.status.map(|status| status.0),
            status_names: self.status_names.clone(),
            link: self.link.settings()?,
            limits: self.limits()?,
            credentials: Arc::new(match &self.credentials {
                Some(path) => credentials::load(path)?,
                None => CredentialsByUser::default(),
            }),
            knowledge,
        })
    }

    fn limits(&self) -> Result<origin::Limits, SettingsError> {
        let default = origin::Limits::default();
        let ahead = RunnerLimits {
            cursor_time: self.ahead_cursor_ms.map_or(default.ahead.cursor_time, Duration::from_millis),
            program_time: self.ahead_program_ms.map_or(default.ahead.program_time, Duration::from_millis),
            program_bytes: match self.ahead_program_mib {
                Some(mib) => bytes("ahead-program-mib", mib, 1, 1_024)?,
                None => default.ahead.program_bytes,
            },
            ..default.ahead
        };
        Ok(origin::Limits { ahead, ..default })
    }
}

impl LinkSettings {
    fn settings(&self) -> Result<Settings, SettingsError> {
        let default = Settings::default();
        let mib = |setting, value: Option<u32>, default| match value {
            Some(mib) => {
                bytes(setting, mib as usize, 1, 2047).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
            }
            None => Ok(default),
        };
        let compression = self.compression_level.unwrap_or(default.compression);
        if !(0..=19).contains(&compression) {
            let reason = format!("{compression} is not among 0 (none) to 19");
            return Err(SettingsError::Value { setting: "compression-level", reason });
        }
        let (ping, silence) = (seconds(self.ping_seconds, 5), seconds(self.silence_seconds, 15));
        if ping.is_zero() || silence <= ping {
            let reason = "it must be longer than ping-seconds, which must not be 0".to_owned();
            return Err(SettingsError::Value { setting: "silence-seconds", reason });
        }
        Ok(Settings {
            window: mib("window-mib", self.window_mib, default.window)?,
            channel_window: mib("program-window-mib", self.program_window_mib, default.channel_window)?,
            compression,
            ping,
            silence,
            resume: self.resume_seconds.map_or(default.resume, Duration::from_secs),
            ..default
        })
    }
}

/// The folder of keys.
pub fn keys_folder(said: Option<&Path>) -> PathBuf {
    said.unwrap_or(Path::new(KEYS_FOLDER)).to_owned()
}

/// HOST, HOST:PORT, or Firebird's HOST/PORT.
fn with_port(server: &str) -> String {
    if let Some((host, port)) = server.rsplit_once('/') {
        return format!("{host}:{port}");
    }
    if crate::transport::has_port(server) { server.to_owned() } else { format!("{server}:{FIREBIRD_PORT}") }
}

fn threads(set: Option<usize>) -> Result<usize, SettingsError> {
    match set {
        Some(threads) if !(1..=THREADS_MAX).contains(&threads) => {
            let reason = format!("{threads} is not among 1 to {THREADS_MAX}");
            Err(SettingsError::Value { setting: "threads", reason })
        }
        set => Ok(set.unwrap_or(1)),
    }
}

fn seconds(set: Option<u64>, default: u64) -> Duration {
    Duration::from_secs(set.unwrap_or(default))
}

fn bytes(setting: &'static str, mib: usize, least: usize, most: usize) -> Result<usize, SettingsError> {
    if !(least..=most).contains(&mib) {
        return Err(SettingsError::Value {
            setting,
            reason: format!("{mib} is not among {least} to {most}"),
        });
    }
    Ok(mib << 20)
}

fn load<T: DeserializeOwned + Default>(file: Option<&Path>) -> Result<T, SettingsError> {
    let Some(path) = file else { return Ok(T::default()) };
    let read = |error| SettingsError::Read { path: path.to_owned(), error };
    let parse = |message| SettingsError::Parse { path: path.to_owned(), message };
    if std::fs::metadata(path).map_err(read)?.len() > FILE_BYTES_MAX {
        return Err(parse("it is too long".to_owned()));
    }
    toml::from_str(&std::fs::read_to_string(path).map_err(read)?).map_err(|error| parse(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(text: &str) -> Result<EdgeSettings, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn settings_are_obeyed_or_refused() {
        let settings =
            edge("origin = \"db\"\ntransport = \"tcp\"\n[link]\nwindow-mib = 4\ncompression-level = 0")
                .unwrap();
        assert_eq!(settings.transport, Some(Transport::Tcp));
        let link = settings.link.settings().unwrap();
        assert_eq!((link.window, link.compression), (4 << 20, 0));
        assert!(edge("orgin = \"db\"").is_err());
        assert!(edge("transport = \"pigeon\"").is_err());
        assert!(edge("inline-blob-kib = 99999").unwrap().limits().is_err());
        assert!(!edge("").unwrap().limits().unwrap().texts_show_purity);
        assert!(edge("texts-show-purity = true").unwrap().limits().unwrap().texts_show_purity);
        assert!(edge("strict-transactions = true").unwrap().limits().unwrap().strict_transactions);
        assert!(!edge("").unwrap().limits().unwrap().deferred_prepare);
        assert!(edge("deferred-prepare = true").unwrap().limits().unwrap().deferred_prepare);
        assert!(!edge("").unwrap().limits().unwrap().optimistic_writes);
        let allowed = edge("optimistic-writes = true\noptimistic-write-kib = 8").unwrap().limits().unwrap();
        assert_eq!((allowed.optimistic_writes, allowed.optimistic_bytes), (true, 8 << 10));
        for wrong in [
            "optimistic-writes = true\nstrict-transactions = true",
            "optimistic-writes = true\noptimistic-write-kib = 0",
            "optimistic-write-kib = 8",
        ] {
            assert!(edge(wrong).unwrap().limits().is_err(), "{wrong}");
        }
        let spill = |text: &str| edge(text).unwrap().limits().unwrap().spill_bytes;
        assert_eq!((spill(""), spill("spill-mib = 5"), spill("spill-mib = 0")), (1 << 30, 5 << 20, 0));
        let folder = |text: &str| edge(text).unwrap().spill_folder();
        assert_eq!(folder("").unwrap(), Some(std::env::temp_dir()));
        assert_eq!(folder("spill-mib = 0").unwrap(), None);
        assert!(folder("spill-folder = \"/no/such/folder\"").is_err());
        assert!(folder("spill-mib = 0\nspill-folder = \"/\"").is_err());
        for wrong in ["window-mib = 0", "compression-level = 99", "ping-seconds = 9\nsilence-seconds = 9"] {
            assert!(edge(&format!("[link]\n{wrong}")).unwrap().link.settings().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_an_origin_runs_ahead_has_budgets() {
        let origin = |text: &str| toml::from_str::<OriginSettings>(text).unwrap().limits();
        let said = "ahead-cursor-ms = 0\nahead-program-ms = 2500\nahead-program-mib = 3";
        let ahead = origin(said).unwrap().ahead;
        assert_eq!((ahead.cursor_time, ahead.program_time), (Duration::ZERO, Duration::from_millis(2_500)));
        assert_eq!(ahead.program_bytes, 3 << 20);
        assert_eq!(origin("").unwrap(), origin::Limits::default());
        assert!(origin("ahead-program-mib = 0").is_err());
    }

    #[test]
    fn a_status_page_is_for_this_machine_unless_an_address_is_said() {
        let status = |text: &str| edge(text).map(|settings| settings.status.unwrap().0.to_string()).ok();
        assert_eq!(status("status = 8080").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(status("status = \"8080\"").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(status("status = \":8080\"").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(status("status = \"0.0.0.0:8080\"").as_deref(), Some("0.0.0.0:8080"));
        assert_eq!(status("status = \"example.com:8080\""), None);
        assert_eq!(status("status = 80800"), None);
    }

    #[test]
    fn servers_are_named_as_firebird_names_them() {
        assert_eq!(with_port("db"), "db:3050");
        assert_eq!(with_port("db:3055"), "db:3055");
        assert_eq!(with_port("db/3055"), "db:3055");
    }
}
