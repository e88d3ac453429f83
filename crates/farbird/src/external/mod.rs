//! EXECUTE STATEMENT ON EXTERNAL: who connects to other databases for the databases that this process serves.
//!
//! The engine asks by [`ExternalSources`]; the driver answers. A place must be one that the administrator has named
//! (`external-data-sources`), or this server itself: AS USER without a data source, and names without a host, log in here like any
//! client, over the loopback.
//!
//! Promises: what stops the caller's statement stops the other one within a tenth of a second or so (`line`); passwords are in no
//! message and no log; a connection goes to another caller only if it is of the same place, user, password and role (`pool`).

mod line;
mod pool;
mod transaction;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Error, Isolation, Location, Result, TransactionOptions, Wait, isc};
use farbird_engine::api::{Isolation as CallersIsolation, TransactionParameters};
use farbird_engine::session::Interrupt;
use farbird_engine::session::external::{
    ExternalCaller, ExternalPool, ExternalSources, ExternalTarget, ExternalTransaction, PoolChange,
};
use farbird_server::config::{Config, ExternalHost};
use farbird_server::{ExternalCallers, OwnCaller, Server};

use line::{Line, Watch};
use pool::{Key, Lent, Pool};
use transaction::OpenTransaction;

/// How long to try to reach a server: nothing stops that but its end.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// `isc_dpb_ext_call_depth`.
const CALL_DEPTH: u8 = 78;

/// The server that this process is.
struct Own {
    /// Where it listens.
    address: SocketAddr,
    /// Who is told whose the connections are.
    callers: Arc<ExternalCallers>,
}

/// Whoever connects for one server.
pub(crate) struct External {
    /// Where the administrator lets connect to.
    allowed: Vec<ExternalHost>,
    /// Names of databases, by the files that they stand for.
    aliases: Vec<(PathBuf, String)>,
    /// This server; not before it listens.
    own: OnceLock<Own>,
    pool: Arc<Pool>,
}

impl External {
    /// As a server's settings say.
    pub(crate) fn new(config: &Config) -> External {
        let file = |path: &Path| {
            let path = config.data.join(path);
            path.canonicalize().unwrap_or(path)
        };
        External {
            allowed: config.external.data_sources.clone(),
            aliases: config.aliases.iter().map(|(name, path)| (file(path), name.clone())).collect(),
            own: OnceLock::new(),
            pool: Arc::new(Pool::new(config.external.pool_size, config.external.pool_lifetime)),
        }
    }

    /// Says which server it connects for.
    pub(crate) fn serves(&self, server: &Server) {
        let address = server.local_address();
        let host = match address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        // Said once.
        let address = SocketAddr::new(host, address.port());
        let _ = self.own.set(Own { address, callers: server.external_callers() });
    }

    /// The place of a target.
    ///
    /// # Errors
    /// `isc_no_priv` for a place that the administrator has not named.
    fn place(&self, target: &ExternalTarget) -> Result<Location> {
        let Some(source) = &target.data_source else {
            let path = &target.own_database;
            let alias = self.aliases.iter().find(|(file, _)| file == path).map(|(_, name)| name.clone());
            return self.own(alias.unwrap_or_else(|| path.display().to_string()));
        };
        match Location::parse(source) {
            Ok(place) if self.allows(&place) => Ok(place),
            Ok(place) => {
                let named = format!("{}/{}", place.host, place.port);
                Err(Error::new(isc::NO_PRIV).with("CONNECT").with("EXTERNAL DATA SOURCE").with(named).and(isc::RANDOM).with(
                    "the server's configuration lists the hosts that may be connected to: external-data-sources",
                ))
            }
            // A name without a host is of this server.
            Err(_) if !source.contains("://") => self.own(source.clone()),
            Err(error) => Err(error),
        }
    }

    fn allows(&self, place: &Location) -> bool {
        self.allowed
            .iter()
            .any(|allowed| allowed.port == place.port && allowed.host.eq_ignore_ascii_case(&place.host))
    }

    /// A database of this server.
    fn own(&self, database: String) -> Result<Location> {
        let Own { address, .. } = self.own.get().ok_or_else(|| Error::new(isc::NET_SERVER_SHUTDOWN))?;
        Ok(Location { host: address.ip().to_string(), port: address.port(), database })
    }

    /// Whether a connection has ended up at this server, by whatever name.
    fn reaches_itself(&self, stream: &TcpStream) -> std::io::Result<Option<&Own>> {
        let (local, peer) = (stream.local_addr()?, stream.peer_addr()?);
        let is_here = peer.ip().is_loopback() || peer.ip() == local.ip();
        Ok(self.own.get().filter(|own| is_here && peer.port() == own.address.port()))
    }

    fn connect(&self, key: &Key, caller: ExternalCaller, interrupt: &Arc<Interrupt>) -> Result<Lent> {
        let place = &key.place;
        let peer = format!("{}:{}", place.host, place.port);
        let failed = |error: &std::io::Error| {
            Error::new(isc::NETWORK_ERROR)
                .with(place.host.as_str())
                .and(isc::NET_CONNECT_ERR)
                .and(isc::RANDOM)
                .with(error.to_string())
        };
        let addresses =
            (place.host.as_str(), place.port).to_socket_addrs().map_err(|error| failed(&error))?;
        let mut stream = Err(std::io::ErrorKind::AddrNotAvailable.into());
        for address in addresses {
            interrupt.check()?;
            stream = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
            if stream.is_ok() {
                break;
            }
        }
        let stream = stream.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let own = self.reaches_itself(&stream).map_err(|error| failed(&error))?;
        let mut password = key.password.clone();
        if let Some(own) = own {
            let local = stream.local_addr().map_err(|error| failed(&error))?;
            let caller = OwnCaller::Statement(caller);
            let is_awaited = match key.is_own_login {
                true => own.callers.introduce_as(local, caller, &key.user)?.map(|it| password = it).is_some(),
                false => own.callers.introduce(local, caller),
            };
            if !is_awaited {
                return Err(failed(&std::io::ErrorKind::QuotaExceeded.into()));
            }
        }
        let watch = Arc::new(Watch::new(Arc::clone(interrupt)));
        let user = match key.is_own_login {
            // As it is, small letters and all.
            true => format!("\"{}\"", key.user.replace('"', "\"\"")),
            false => key.user.clone(),
        };
        let mut options = ConnectOptions::new(user, password);
        options.role.clone_from(&key.role);
        options.tuning.rollback_at_once = true;
        options.attach.raw.push((CALL_DEPTH, key.depth.to_le_bytes().to_vec()));
        let line = Line::new(stream, Arc::clone(&watch));
        let connection = Connection::attach_over(line, &peer, &place.database, &options)?;
        watch.set_canceller(connection.canceller());
        Ok(Pool::lend(&self.pool, key.clone(), connection, watch, own.is_none()))
    }
}

impl ExternalSources for External {
    fn begin(
        &self,
        target: &ExternalTarget,
        caller: &ExternalCaller,
        parameters: &TransactionParameters,
        interrupt: &Arc<Interrupt>,
    ) -> Result<Box<dyn ExternalTransaction>> {
        let key = Key {
            place: self.place(target)?,
            user: target.user.clone(),
            password: target.password.clone(),
            role: target.role.clone(),
            is_own_login: target.is_own_login,
            depth: caller.depth.saturating_add(1),
        };
        let lent = match Pool::take(&self.pool, &key, interrupt) {
            Some(lent) => lent,
            None => {
                let caller = ExternalCaller { depth: key.depth, ..caller.clone() };
                self.connect(&key, caller, interrupt)?
            }
        };
        Ok(Box::new(OpenTransaction::begin(lent, &options_of(parameters))?))
    }

    fn pool(&self) -> ExternalPool {
        self.pool.state()
    }

    fn change_pool(&self, change: PoolChange) {
        self.pool.change(change);
    }
}

/// The transaction there is of the caller's kind.
fn options_of(parameters: &TransactionParameters) -> TransactionOptions {
    TransactionOptions {
        isolation: match parameters.isolation {
            CallersIsolation::Snapshot => Isolation::Snapshot,
            CallersIsolation::TableStability => Isolation::TableStability,
            CallersIsolation::ReadCommitted => Isolation::ReadCommitted,
        },
        read_only: parameters.read_only,
        wait: match parameters.lock_timeout {
            None => Wait::Forever,
            Some(timeout) if timeout.is_zero() => Wait::No,
            Some(timeout) => Wait::Timeout(timeout),
        },
        no_auto_undo: parameters.no_auto_undo,
        ..TransactionOptions::default()
    }
}
