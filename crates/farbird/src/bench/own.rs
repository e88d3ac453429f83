//! What several benchmarks stand on: a server of our own, a folder of our own, passwords of others, the machine's name.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use farbird_server::Server;
use farbird_server::config::{Config, Overrides};
use farbird_server::farlink::Farlink;
use tokio::runtime::Runtime;

/// SYSDBA's password on the server that lives only as long as this command and listens only on loopback.
const OWN_PASSWORD_BYTES: usize = 24;

/// A folder of our own, which goes with all that is in it.
pub(super) struct WorkFolder {
    path: PathBuf,
}

impl WorkFolder {
    /// Makes one in `parent`, or in the system's temporary folder.
    pub(super) fn create(parent: Option<&Path>) -> anyhow::Result<WorkFolder> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        let path = parent.join(format!("farbird-bench-{}", std::process::id()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(WorkFolder { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.path) {
            eprintln!("farbird: cannot remove {}: {error}", self.path.display());
        }
    }
}

/// A Farbird server in this process, on loopback.
pub(super) struct OwnServer {
    runtime: Runtime,
    server: Server,
    password: String,
    data: PathBuf,
}

impl OwnServer {
    pub(super) fn start(folder: &Path) -> anyhow::Result<OwnServer> {
        let data = folder.join("server");
        let overrides = Overrides {
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
            data: Some(data.clone()),
            ..Overrides::default()
        };
        let config = Config::load(None, overrides)?;
        let mut random = [0; OWN_PASSWORD_BYTES];
        getrandom::fill(&mut random).map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
        let password: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (server, _) = runtime.block_on(Server::start(config, Some(password.clone())))?;
        Ok(OwnServer { runtime, server, password, data })
    }

    /// SYSDBA's password.
    pub(super) fn password(&self) -> &str {
        &self.password
    }

    pub(super) fn port(&self) -> u16 {
        self.server.local_address().port()
    }

    /// What an origin in this process may ask of it.
    pub(super) fn farlink(&self) -> Farlink {
        self.server.farlink()
    }

    /// Where it keeps its databases.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    pub(super) fn stop(self) {
        self.runtime.block_on(self.server.shutdown());
    }
}

/// The password in a file, alone or as Debian's Firebird keeps it; without a file FIREBIRD_PASSWORD, or masterkey.
pub(super) fn password_of_file(file: Option<&Path>) -> anyhow::Result<String> {
    let Some(file) = file else {
        return Ok(std::env::var("FIREBIRD_PASSWORD").unwrap_or_else(|_| "masterkey".to_owned()));
    };
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    match password_in(&text) {
        Some(password) => Ok(password.to_owned()),
        None => bail!("there is no password in {}", file.display()),
    }
}

fn password_in(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let assigned = lines().find_map(|line| line.strip_prefix("ISC_PASSWORD="));
    assigned.map(|password| password.trim_matches('"')).or_else(|| lines().next())
}

/// What the figures depend on besides the databases.
pub(super) fn machine() -> String {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
        .map_or("unknown processor", |(_, model)| model.trim());
    let build = if cfg!(debug_assertions) { ", DEBUG BUILD: figures mean nothing" } else { "" };
    format!("{model}, {processors} cores, {}{build}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_found_alone_and_as_debian_keeps_them() {
        assert_eq!(password_in("secret\n"), Some("secret"));
        assert_eq!(password_in("# for root\n\nISC_USER=sysdba\nISC_PASSWORD=\"a b\"\n"), Some("a b"));
        assert_eq!(password_in("# nothing\n"), None);
    }
}
