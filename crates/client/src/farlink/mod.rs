//! `farlink://site/database`: a distant server without an edge beside the program (feature `farlink`).
//!
//! The program has the edge's machine inside: statements' descriptions are kept, rows and BLOBs come before they are asked for,
//! transactions begin and end without a trip, loops are run ahead at the other end. One link for each site serves all connections of
//! the process, those of pools included, and both faces. What it may answer and what it must ask is in docs/farlink.md.
//!
//! The site is where the origin is: HOST or HOST:PORT of `farbird serve --farlink` or `farbird origin`. Both ends must know each
//! other: `farbird pair` at either (docs/farlink.md), and [`Options::keys`] names the folder. Services do not pass.
//!
//! [`Options`] may stand in the name instead, and then go before those of the program, for programs whose databases are named by
//! their users: `farlink://site/database?keys=FOLDER&transport=tcp&deferred-prepare=true&optimistic-writes=true`. Anything else behind
//! the question mark is refused; a database whose own name has one needs an alias.
//!
//! ```no_run
//! use farbird_client::blocking::Connection;
//! use farbird_client::{ConnectOptions, farlink};
//!
//! # fn main() -> farbird_client::Result<()> {
//! let mut options = ConnectOptions::new("SYSDBA", "masterkey");
//! options.farlink.keys = "/etc/app/farlink".into();
//! let connection = Connection::attach("farlink://db.example.com//data/app.fdb", &options)?;
//! // ... as any other connection.
//! connection.close()?;
//! farlink::leave_all();
//! # Ok(())
//! # }
//! ```
//!
//! # Place
//! The link's tasks run on a thread of their own, with a tokio runtime, from the first connection on; a program that uses no `farlink://` has
//! neither. Uses `farbird_gateway`, which owns transports, keys and the edge's tasks.

mod location;
mod near;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use farbird_gateway::LinkState;
use farbird_gateway::edge::InnerEdge;
use farbird_gateway::settings::EdgeSettings;
use farbird_types::{Error, Result, isc};
use tokio::io::DuplexStream;
use tokio::runtime::{Builder, Runtime};

pub(crate) use location::FarlinkLocation;
pub(crate) use near::{Near, wait_for};

use crate::core::Shared;
pub use crate::farlink_options::{Options, Transport};
use crate::machine;
use crate::options::ConnectOptions;

/// Rules that were learned are on the disk so soon: programs end without a word.
const RULES_SAVED_EVERY: Duration = Duration::from_secs(1);
/// Connections of one process with one site.
const CONNECTIONS_MAX: usize = 65_536;

/// What a site's link has done for all connections of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    /// Requests of connections.
    pub requests: u64,
    /// Round trips that were waited for.
    pub trips: u64,
    /// Round trips that were spared.
    pub saved: u64,
    /// The last measured round trip.
    pub round_trip: Option<Duration>,
    /// Bytes sent and received.
    pub bytes: (u64, u64),
    /// Times that the link went on after a lost connection, without anybody noticing.
    pub resumed: u64,
}

/// The links of this process, by site and options.
struct Links {
    runtime: Runtime,
    edges: Mutex<HashMap<(String, Options), Arc<InnerEdge>>>,
}

static LINKS: OnceLock<std::result::Result<Links, String>> = OnceLock::new();

fn links() -> Result<&'static Links> {
    let made = LINKS.get_or_init(|| {
        let mut builder = Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("farlink").enable_all().build();
        runtime.map(|runtime| Links { runtime, edges: Mutex::default() }).map_err(|error| error.to_string())
    });
    made.as_ref().map_err(|words| failed("this process", words))
}

impl Links {
    /// The link with a site; there is one from the first time on.
    fn edge(&self, site: &str, options: &Options) -> Result<Arc<InnerEdge>> {
        let mut edges = self.edges.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (site.to_owned(), options.clone());
        if let Some(edge) = edges.get(&key) {
            return Ok(edge.clone());
        }
        let settings = EdgeSettings {
            origin: Some(site.to_owned()),
            keys: Some(options.keys.clone()),
            transport: Some(options.transport),
            deferred_prepare: Some(options.deferred_prepare),
            optimistic_writes: Some(options.optimistic_writes),
            programs_max: Some(CONNECTIONS_MAX),
            // A program's own connections leave no files behind them, not even such without a name.
            spill_mib: Some(0),
            ..EdgeSettings::default()
        };
        let mut options = settings.options().map_err(|error| failed(site, &error.to_string()))?;
        options.rules_saved_every = RULES_SAVED_EVERY;
        let _inside = self.runtime.enter();
        let edge = InnerEdge::start(options).map_err(|error| failed(site, &error.to_string()))?;
        let edge = Arc::new(edge);
        edges.insert(key, edge.clone());
        Ok(edge)
    }

    fn part_with(&self, edge: Option<Arc<InnerEdge>>) {
        // Somebody who connects at this moment has it still: it is left when the process ends.
        if let Some(edge) = edge.and_then(Arc::into_inner) {
            // A task that was cancelled has left, too.
            drop(wait_for(self.runtime.spawn(edge.leave())));
        }
    }
}

fn failed(site: &str, words: &str) -> Error {
    Error::new(isc::NETWORK_ERROR).with(site).and(isc::NET_CONNECT_ERR).and(isc::RANDOM).with(words)
}

/// A connection with the machine inside, once the link is there.
pub(crate) async fn open(location: &FarlinkLocation, options: &ConnectOptions) -> Result<DuplexStream> {
    let links = links()?;
    let site = &location.site;
    let edge = links.edge(site, &location.options(&options.farlink))?;
    linked(links, &edge, site, options.connect_timeout).await?;
    let name = machine::host();
    let _inside = links.runtime.enter();
    let stream = edge.connect(if name.is_empty() { "farlink" } else { &name });
    stream.ok_or_else(|| failed(site, "there are too many connections"))
}

/// Says what is different on a connection with the machine inside: nobody overhears it, and further ones do not leave this machine.
pub(crate) fn prepare(shared: &Shared) {
    let mut core = shared.lock();
    core.set_private();
    core.set_further_host(&InnerEdge::FURTHER_HOST.to_string());
}

/// Waits until there is a link, or an attempt to make one has failed.
async fn linked(links: &Links, edge: &InnerEdge, site: &str, limit: Duration) -> Result<()> {
    let mut news = edge.link();
    let failures = news.borrow().failures;
    // Timers are those of the links' own runtime: a caller may have none.
    let waiting = links.runtime.spawn(async move {
        let is_known = |state: &LinkState| state.since.is_some() || state.failures > failures;
        let known = tokio::time::timeout(limit, news.wait_for(is_known)).await;
        match known {
            Ok(Ok(state)) if state.since.is_some() => Ok(()),
            Ok(Ok(state)) => Err(state.error.clone().unwrap_or_default()),
            Ok(Err(_)) => Err("the link is closed".to_owned()),
            Err(_) => Err(format!("no answer within {} s", limit.as_secs())),
        }
    });
    match waiting.await {
        Ok(result) => result.map_err(|words| failed(site, &words)),
        Err(error) => Err(failed(site, &error.to_string())),
    }
}

/// What the link with a site has done; `None` if this process has no link with it. `site` and `options` as connections have them; of
/// one whose name says options, those included.
pub fn sums(site: &str, options: &Options) -> Option<Sums> {
    let edges = LINKS.get()?.as_ref().ok()?.edges.lock().unwrap_or_else(PoisonError::into_inner);
    let edge = edges.get(&(site.to_owned(), options.clone()))?;
    let (counters, health) = (edge.site().counters(), edge.health());
    Some(Sums {
        requests: counters.requests,
        trips: counters.trips,
        saved: counters.saved_in_all(),
        round_trip: health.round_trip,
        bytes: health.wire_bytes,
        resumed: health.resumed,
    })
}

/// Takes leave of a site and keeps what was learned: for courtesy, when nothing more is to be asked there. Connections with it that are
/// open are lost. Waits a second at most.
pub fn leave(site: &str, options: &Options) {
    let Some(Ok(links)) = LINKS.get() else { return };
    let edge = links
        .edges
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .remove(&(site.to_owned(), options.clone()));
    links.part_with(edge);
}

/// As [`leave`], of all sites: at the end of a program.
pub fn leave_all() {
    let Some(Ok(links)) = LINKS.get() else { return };
    let edges: Vec<_> = links.edges.lock().unwrap_or_else(PoisonError::into_inner).drain().collect();
    for (_, edge) in edges {
        links.part_with(Some(edge));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_keys_it_says_how_to_get_them() {
        let location = FarlinkLocation::parse("farlink://db/app").unwrap().unwrap();
        let mut options = ConnectOptions::new("a", "b");
        options.farlink.keys = "/nowhere/at/all".into();
        let error = wait_for(open(&location, &options)).unwrap_err();
        assert!(error.has(isc::NETWORK_ERROR) && error.message().contains("/nowhere/at/all"), "{error:?}");
    }
}
