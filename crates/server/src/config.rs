//! What an administrator can set: one TOML file, read once at start, checked into a [`Config`] that cannot be wrong.
//!
//! Unknown keys are refused, so that a misspelt setting does not silently keep its default.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::budget::Limits;
use farbird_engine::engine::Engine;
use farbird_engine::session::external_files::ExternalFolders;
use farbird_engine::{CodecId, StoreOptions};
use farbird_status::StatusAddress;
use farbird_wire::auth::AuthPlugin;
use serde::Deserialize;

use crate::backups::schedule::{self, RawSchedule};
pub use crate::backups::schedule::{BackupSchedule, When};

/// Where databases may lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DatabaseAccess {
    /// Only inside the data folder, and what aliases name. The default: a login is not a file browser.
    #[default]
    Restrict,
    /// Anywhere that the server's own user may read and write.
    Full,
}

/// Whether the wire is encrypted (Firebird's WireCrypt).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WireEncryption {
    /// Never.
    Disabled,
    /// Whenever the client can.
    #[default]
    Enabled,
    /// Clients that cannot are refused.
    Required,
}

/// The server's settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Data folder: databases without a folder of their own, and the security database.
    pub data: PathBuf,
    /// Where databases may lie.
    pub database_access: DatabaseAccess,
    /// Names that stand for files.
    pub aliases: BTreeMap<String, PathBuf>,
    /// Wire encryption.
    pub wire_encryption: WireEncryption,
    /// Authentication plugins in order of preference.
    pub authentication: Vec<AuthPlugin>,
    /// Most connections at a time; further ones are refused.
    pub connections_max: usize,
    /// Port of second connections, on which events come; 0: any.
    pub events_port: u16,
    /// How long a peer may take to log in.
    pub login_timeout: Duration,
    /// Longest a statement may run; `None`: as long as it likes.
    pub statement_timeout: Option<Duration>,
    /// Whether queries hurry to their first rows where neither they nor SET OPTIMIZE say.
    pub optimize_for_first_rows: bool,
    /// How long running statements may go on after SIGTERM before they are cancelled.
    pub shutdown_grace: Duration,
    /// How rows are packed where neither table nor database says.
    pub codec: CodecId,
    /// Memory for pages of each open database, in bytes.
    pub database_cache_bytes: usize,
    /// How much memory and temporary space statements may take.
    pub limits: Limits,
    /// Databases elsewhere.
    pub external: ExternalConfig,
    /// The folders whose files external tables may use (Firebird's ExternalFileAccess); none by default.
    pub external_file_folders: Vec<PathBuf>,
    /// Where the status page and metrics are served, if they are.
    pub status: Option<SocketAddr>,
    /// By which names the status page may be asked for, beside addresses and `localhost`.
    pub status_names: Vec<String>,
    /// Backups that the server makes by itself.
    pub backups: Vec<BackupSchedule>,
}

/// What EXECUTE STATEMENT ON EXTERNAL may do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalConfig {
    /// Servers that may be connected to; none by default.
    pub data_sources: Vec<ExternalHost>,
    /// How many idle connections wait for their next user (Firebird's ExtConnPoolSize).
    pub pool_size: u32,
    /// How long one waits (ExtConnPoolLifeTime).
    pub pool_lifetime: Duration,
}

/// A server that may be connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalHost {
    /// Its name or address, as data sources write it.
    pub host: String,
    /// Its port.
    pub port: u16,
}

impl ExternalHost {
    /// `host` or `host/port`, IPv6 in brackets.
    fn parse(text: &str) -> Option<ExternalHost> {
        let (host, port) = match text.rsplit_once('/') {
            Some((host, port)) => (host, port.parse().ok()?),
            None => (text, FIREBIRD_PORT),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        (!host.is_empty()).then(|| ExternalHost { host: host.to_owned(), port })
    }
}

/// The port of servers that are named without one.
const FIREBIRD_PORT: u16 = 3050;
/// Firebird's limit on the pool of external connections.
const EXTERNAL_POOL_SIZE_MAX: u32 = 1_000;
/// Firebird's own setting and limit: how long, in seconds, a connection of the pool waits.
const EXTERNAL_POOL_LIFETIME_SECONDS: u64 = 7_200;
const EXTERNAL_POOL_LIFETIME_SECONDS_MAX: u64 = 86_400;

/// Memory for pages of each open database, unless it is said, in MiB: as PostgreSQL has by default.
const DATABASE_CACHE_MIB: u32 = 128;
/// Less is of no use: pages of a tree's upper levels would be read again and again.
const DATABASE_CACHE_MIB_MIN: u32 = 8;

/// Settings that the command line gives; they override the file.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--data`.
    pub data: Option<PathBuf>,
    /// `--database-access`.
    pub database_access: Option<DatabaseAccess>,
    /// `--database-cache-mib`.
    pub database_cache_mib: Option<u32>,
    /// `--status`.
    pub status: Option<StatusAddress>,
    /// `--temporary-folder` and the limits of memory and temporary space.
    pub limits: LimitSettings,
}

/// Limits of memory and temporary space as they are set. In MiB; 0: no limit.
#[derive(Debug, Clone, Default)]
pub struct LimitSettings {
    /// `statement-memory-mib`.
    pub statement_memory_mib: Option<u64>,
    /// `server-memory-mib`.
    pub server_memory_mib: Option<u64>,
    /// `statement-temporary-mib`.
    pub statement_temporary_mib: Option<u64>,
    /// `server-temporary-mib`.
    pub server_temporary_mib: Option<u64>,
    /// `temporary-folder`.
    pub temporary_folder: Option<PathBuf>,
    /// `parallel-workers`; 0: as many as there are processors.
    pub parallel_workers: Option<usize>,
}

/// Why the settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration file {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not what we expect.
    #[error("the configuration file {path} is not valid: {message}")]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong and where.
        message: String,
    },
    /// A value is out of range.
    #[error("the setting {setting} is not usable: {reason}")]
    Value {
        /// Its name.
        setting: &'static str,
        /// Why.
        reason: String,
    },
}

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawConfig {
    listen: Option<SocketAddr>,
    data: Option<PathBuf>,
    database_access: Option<DatabaseAccess>,
    wire_encryption: Option<WireEncryption>,
    authentication: Option<Vec<String>>,
    connections_max: Option<usize>,
    events_port: Option<u16>,
    login_timeout_seconds: Option<u64>,
    statement_timeout_seconds: Option<u64>,
    optimize_for_first_rows: Option<bool>,
    shutdown_grace_seconds: Option<u64>,
    storage_codec: Option<String>,
    database_cache_mib: Option<u32>,
    statement_memory_mib: Option<u64>,
    server_memory_mib: Option<u64>,
    statement_temporary_mib: Option<u64>,
    server_temporary_mib: Option<u64>,
    temporary_folder: Option<PathBuf>,
    parallel_workers: Option<usize>,
    #[serde(default)]
    external_data_sources: Vec<String>,
    external_pool_size: Option<u32>,
    external_pool_lifetime_seconds: Option<u64>,
    #[serde(default)]
    external_file_folders: Vec<PathBuf>,
    status: Option<StatusAddress>,
    #[serde(default)]
    status_names: Vec<String>,
    #[serde(default)]
    backups: BTreeMap<String, RawSchedule>,
    #[serde(default)]
    aliases: BTreeMap<String, PathBuf>,
}

impl Config {
    /// Reads the file, if any, and puts the command line's settings over it.
    ///
    /// # Errors
    /// [`ConfigError`], naming the file or the setting.
    pub fn load(file: Option<&Path>, overrides: Overrides) -> Result<Config, ConfigError> {
        let raw = match file {
            None => RawConfig::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
                toml::from_str(&text).map_err(|error| ConfigError::Parse {
                    path: path.to_owned(),
                    message: error.to_string(),
                })?
            }
        };
        Config::check(raw, overrides)
    }

    fn check(raw: RawConfig, overrides: Overrides) -> Result<Config, ConfigError> {
        let authentication = match raw.authentication {
            // All but Legacy_Auth, whose hash is as good as the password to whoever overhears it.
            None => AuthPlugin::ALL.into_iter().filter(|plugin| *plugin != AuthPlugin::Legacy).collect(),
            Some(names) => names.iter().map(|name| plugin(name)).collect::<Result<Vec<_>, _>>()?,
        };
        if authentication.is_empty() {
            return Err(ConfigError::Value {
                setting: "authentication",
                reason: "an empty list lets nobody in".to_owned(),
            });
        }
        let wire_encryption = raw.wire_encryption.unwrap_or_default();
        if wire_encryption == WireEncryption::Required
            && authentication.iter().all(|plugin| *plugin == AuthPlugin::Legacy)
        {
            return Err(ConfigError::Value {
                setting: "wire-encryption",
                reason: "Legacy_Auth yields no key, so nobody could meet \"required\"".to_owned(),
            });
        }
        let file = LimitSettings {
            statement_memory_mib: raw.statement_memory_mib,
            server_memory_mib: raw.server_memory_mib,
            statement_temporary_mib: raw.statement_temporary_mib,
            server_temporary_mib: raw.server_temporary_mib,
            temporary_folder: raw.temporary_folder,
            parallel_workers: raw.parallel_workers,
        };
        let external =
            external(&raw.external_data_sources, raw.external_pool_size, raw.external_pool_lifetime_seconds)?;
        let data = overrides.data.or(raw.data).unwrap_or_else(|| PathBuf::from("farbird-data"));
        check_external_file_folders(&raw.external_file_folders, &data)?;
        let backups = schedule::check(raw.backups)
            .map_err(|reason| ConfigError::Value { setting: "backups", reason })?;
        Ok(Config {
            external,
            external_file_folders: raw.external_file_folders,
            status: overrides.status.or(raw.status).map(|StatusAddress(address)| address),
            status_names: raw.status_names,
            backups,
            limits: limits(overrides.limits, file)?,
            listen: overrides
                .listen
                .or(raw.listen)
                .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 3050))),
            data,
            database_access: overrides.database_access.or(raw.database_access).unwrap_or_default(),
            aliases: raw.aliases.into_iter().map(|(name, path)| (name.to_lowercase(), path)).collect(),
            wire_encryption,
            authentication,
            connections_max: raw.connections_max.unwrap_or(10_000),
            events_port: raw.events_port.unwrap_or(0),
            login_timeout: Duration::from_secs(raw.login_timeout_seconds.unwrap_or(60)),
            statement_timeout: raw.statement_timeout_seconds.filter(|s| *s > 0).map(Duration::from_secs),
            optimize_for_first_rows: raw.optimize_for_first_rows.unwrap_or(false),
            shutdown_grace: Duration::from_secs(raw.shutdown_grace_seconds.unwrap_or(10)),
            database_cache_bytes: cache_bytes(overrides.database_cache_mib.or(raw.database_cache_mib))?,
            codec: match raw.storage_codec {
                None => StoreOptions::default().codec,
                Some(name) => name.parse().map_err(|error| ConfigError::Value {
                    setting: "storage-codec",
                    reason: format!("{name}: {error}"),
                })?,
            },
        })
    }

    /// An engine as these settings have it.
    pub fn engine(&self) -> Arc<Engine> {
        let engine = Engine::with_limits(self.store_options(), self.limits.clone());
        match ExternalFolders::new(&self.external_file_folders) {
            Ok(folders) => engine.set_external_folders(folders),
            Err((folder, error)) => {
                tracing::error!(folder = %folder.display(), %error, "external tables have no files");
            }
        }
        engine
    }

    /// How the engine opens databases.
    pub(crate) fn store_options(&self) -> StoreOptions {
        StoreOptions {
            codec: self.codec,
            cache_bytes: self.database_cache_bytes,
            temporary_blob_bytes_max: self.limits.statement_temporary,
            ..StoreOptions::default()
        }
    }
}

/// Checks that the folders of external tables are there, and apart from the server's own.
fn check_external_file_folders(folders: &[PathBuf], data: &Path) -> Result<(), ConfigError> {
    let refused = |reason: String| ConfigError::Value { setting: "external-file-folders", reason };
    if let Some(relative) = folders.iter().find(|folder| !folder.is_absolute()) {
        return Err(refused(format!("{} is not a whole path", relative.display())));
    }
    let folders = ExternalFolders::new(folders)
        .map_err(|(folder, error)| refused(format!("{}: {error}", folder.display())))?;
    if folders.overlap(data) {
        return Err(refused(format!("one of them has to do with the data folder {}", data.display())));
    }
    Ok(())
}

/// What EXECUTE STATEMENT ON EXTERNAL may do.
fn external(
    hosts: &[String],
    pool_size: Option<u32>,
    pool_lifetime_seconds: Option<u64>,
) -> Result<ExternalConfig, ConfigError> {
    let data_sources = hosts.iter().map(|text| {
        ExternalHost::parse(text).ok_or_else(|| ConfigError::Value {
            setting: "external-data-sources",
            reason: format!("{text:?} is not host or host/port"),
        })
    });
    let pool_size = pool_size.unwrap_or(0);
    if pool_size > EXTERNAL_POOL_SIZE_MAX {
        return Err(ConfigError::Value {
            setting: "external-pool-size",
            reason: format!("{pool_size} is more than {EXTERNAL_POOL_SIZE_MAX}"),
        });
    }
    let seconds = pool_lifetime_seconds.unwrap_or(EXTERNAL_POOL_LIFETIME_SECONDS);
    if !(1..=EXTERNAL_POOL_LIFETIME_SECONDS_MAX).contains(&seconds) {
        return Err(ConfigError::Value {
            setting: "external-pool-lifetime-seconds",
            reason: format!("{seconds} is not from 1 to {EXTERNAL_POOL_LIFETIME_SECONDS_MAX}"),
        });
    }
    Ok(ExternalConfig {
        data_sources: data_sources.collect::<Result<_, _>>()?,
        pool_size,
        pool_lifetime: Duration::from_secs(seconds),
    })
}

/// Bytes of the cache of each database.
fn cache_bytes(mib: Option<u32>) -> Result<usize, ConfigError> {
    let mib = mib.unwrap_or(DATABASE_CACHE_MIB);
    let bytes = usize::try_from(u64::from(mib) << 20).ok();
    bytes.filter(|_| mib >= DATABASE_CACHE_MIB_MIN).ok_or_else(|| ConfigError::Value {
        setting: "database-cache-mib",
        reason: format!("{mib} is not from {DATABASE_CACHE_MIB_MIN} to what this machine can address"),
    })
}

/// The limits that the command line gives, else the file, else the usual ones.
fn limits(overrides: LimitSettings, file: LimitSettings) -> Result<Limits, ConfigError> {
    let usual = Limits::default();
    let bytes = |given: Option<u64>, otherwise: Option<u64>, usual: u64| match given.or(otherwise) {
        None => usual,
        Some(0) => u64::MAX,
        Some(mib) => mib.saturating_mul(1 << 20),
    };
    let limits = Limits {
        statement_memory: bytes(
            overrides.statement_memory_mib,
            file.statement_memory_mib,
            usual.statement_memory,
        ),
        server_memory: bytes(overrides.server_memory_mib, file.server_memory_mib, usual.server_memory),
        statement_temporary: bytes(
            overrides.statement_temporary_mib,
            file.statement_temporary_mib,
            usual.statement_temporary,
        ),
        server_temporary: bytes(
            overrides.server_temporary_mib,
            file.server_temporary_mib,
            usual.server_temporary,
        ),
        temporary_folder: overrides
            .temporary_folder
            .or(file.temporary_folder)
            .unwrap_or(usual.temporary_folder),
        parallel_workers: overrides
            .parallel_workers
            .or(file.parallel_workers)
            .filter(|workers| *workers > 0)
            .unwrap_or(usual.parallel_workers),
    };
    // Later every query that sorts much would fail with it.
    match limits.temporary_folder.is_dir() {
        true => Ok(limits),
        false => Err(ConfigError::Value {
            setting: "temporary-folder",
            reason: format!("{} is no folder", limits.temporary_folder.display()),
        }),
    }
}

fn plugin(name: &str) -> Result<AuthPlugin, ConfigError> {
    AuthPlugin::from_name(name.as_bytes()).ok_or_else(|| ConfigError::Value {
        setting: "authentication",
        reason: format!(
            "there is no plugin {name}; known are Srp, Srp224, Srp256, Srp384, Srp512 and Legacy_Auth"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let raw: RawConfig = toml::from_str(text).map_err(|e| e.to_string())?;
        Config::check(raw, Overrides::default()).map_err(|e| e.to_string())
    }

    #[test]
    fn an_empty_file_gives_safe_defaults() {
        let config = parse("").unwrap();
        assert_eq!(config.listen.to_string(), "127.0.0.1:3050");
        assert_eq!(config.database_access, DatabaseAccess::Restrict);
        assert_eq!(config.wire_encryption, WireEncryption::Enabled);
        assert!(!config.authentication.contains(&AuthPlugin::Legacy));
    }

    #[test]
    fn a_misspelt_setting_is_refused() {
        assert!(parse("wire-encrypton = \"required\"").unwrap_err().contains("wire-encrypton"));
    }

    #[test]
    fn encryption_cannot_be_required_of_logins_without_a_key() {
        let text = "wire-encryption = \"required\"\nauthentication = [\"Legacy_Auth\"]";
        assert!(parse(text).unwrap_err().contains("Legacy_Auth"));
    }

    #[test]
    fn a_codec_must_be_one_that_there_is() {
        assert_eq!(parse("storage-codec = \"elekt+lz4\"").unwrap().codec.to_string(), "elekt+lz4");
        assert!(parse("storage-codec = \"zip\"").unwrap_err().contains("elekt"));
    }

    #[test]
    fn limits_are_in_mebibytes_and_0_is_none() {
        let cache = |text: &str| parse(text).map(|config| config.store_options().cache_bytes);
        assert_eq!(cache("database-cache-mib = 9").unwrap(), 9 << 20);
        assert_eq!(cache("").unwrap(), 128 << 20);
        assert!(cache("database-cache-mib = 7").is_err());
        let limits = parse("statement-memory-mib = 3\nserver-temporary-mib = 0").unwrap().limits;
        assert_eq!((limits.statement_memory, limits.server_temporary), (3 << 20, u64::MAX));
        assert_eq!(limits.server_memory, Limits::default().server_memory);
        assert!(parse("temporary-folder = \"/no/such\"").unwrap_err().contains("temporary-folder"));
    }

    #[test]
    fn parallel_workers_are_as_many_as_processors_unless_they_are_said() {
        let usual = Limits::default().parallel_workers;
        let workers = |text: &str| parse(text).unwrap().limits.parallel_workers;
        assert_eq!([workers(""), workers("parallel-workers = 0")], [usual, usual]);
        assert_eq!([workers("parallel-workers = 1"), workers("parallel-workers = 7")], [1, 7]);
    }

    #[test]
    fn the_command_line_overrides_the_file() {
        let overrides = Overrides { data: Some("elsewhere".into()), ..Overrides::default() };
        let raw: RawConfig = toml::from_str("data = \"here\"").unwrap();
        assert_eq!(Config::check(raw, overrides).unwrap().data, PathBuf::from("elsewhere"));
    }
}
