//! A farlink of our own: an edge and an origin in this process, with an emulated link between them, and keys that go with it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use farbird_gateway::edge::Edge;
use farbird_gateway::origin::{Credentials, Knowledge, Origin};
use farbird_gateway::pairing::Keys;
use farbird_gateway::settings::{EdgeSettings, OriginSettings};
use farbird_gateway::transport::Transport;
use farbird_lab::articles::far::Asked;
use farbird_lab::link::{Link, LinkOptions};
use tokio::runtime::Runtime;

use crate::farlink::runtime;

/// How long edge and origin may take until they know each other.
const LINK_PATIENCE: Duration = Duration::from_secs(30);
const LOOPBACK: &str = "127.0.0.1:0";

/// What stands before which server.
pub(super) struct Before<'s> {
    /// HOST:PORT of the server.
    pub(super) server: String,
    /// Its own word, if it is our own.
    pub(super) knowledge: Option<Arc<dyn Knowledge>>,
    /// As whom the origin logs in itself, where a server may want the line encrypted that it is not its own.
    pub(super) credentials: Option<Credentials>,
    /// Whether the texts of queries are believed.
    pub(super) texts_show_purity: bool,
    /// Whether statements are described from their texts.
    pub(super) deferred_prepare: bool,
    /// Whether writes are answered before they are done.
    pub(super) optimistic_writes: bool,
    /// By what the edge reaches the origin.
    pub(super) transport: Transport,
    /// A folder for keys.
    pub(super) folder: &'s Path,
}

/// Edge, link and origin. Edge and origin have a runtime each, as they have in processes of their own.
pub(super) struct Site {
    edge_runtime: Runtime,
    origin_runtime: Runtime,
    edge: Edge,
    origin: Origin,
    link: Option<Link>,
}

impl Site {
    /// Starts them, and waits until the link is warm. The edge has never seen a program.
    pub(super) fn start(before: &Before<'_>, options: &LinkOptions) -> anyhow::Result<Site> {
        let (here, there) = (before.folder.join("here"), before.folder.join("there"));
        for folder in [&here, &there] {
            if folder.exists() {
                std::fs::remove_dir_all(folder)?;
            }
        }
        let (edge_keys, origin_keys) =
            (Keys::open_or_create(&here, Some("here"))?, Keys::open_or_create(&there, Some("there"))?);
        edge_keys.trust(&origin_keys.line(), None)?;
        origin_keys.trust(&edge_keys.line(), None)?;
        let settings = OriginSettings {
            listen: Some(LOOPBACK.parse()?),
            server: Some(before.server.clone()),
            keys: Some(there),
            ..OriginSettings::default()
        };
        let mut options_of_origin = settings.options(before.knowledge.clone())?;
        if let Some(credentials) = &before.credentials {
            let known = [(credentials.user().to_owned(), credentials.clone())];
            options_of_origin.credentials = Arc::new(known.into());
        }
        let origin_runtime = runtime(options_of_origin.threads)?;
        let origin = origin_runtime.block_on(Origin::start(options_of_origin))?;
        let link = match *options == LinkOptions::default() {
            true => None,
            false => Some(Link::start(origin.address(), options)?),
        };
        let address = link.as_ref().map_or(origin.address(), Link::address);
        let settings = EdgeSettings {
            listen: Some(LOOPBACK.parse()?),
            origin: Some(address.to_string()),
            transport: Some(before.transport),
            keys: Some(here),
            texts_show_purity: Some(before.texts_show_purity),
            deferred_prepare: Some(before.deferred_prepare),
            optimistic_writes: Some(before.optimistic_writes),
            ..EdgeSettings::default()
        };
        let options = settings.options()?;
        let edge_runtime = runtime(options.threads)?;
        let edge = edge_runtime.block_on(Edge::start(options)).context("cannot start an edge")?;
        let site = Site { edge_runtime, origin_runtime, edge, origin, link };
        site.warm()?;
        Ok(site)
    }

    fn warm(&self) -> anyhow::Result<()> {
        let begin = Instant::now();
        while !self.edge.status().link.is_established || self.edge.site().is_farbird().is_none() {
            if begin.elapsed() > LINK_PATIENCE {
                bail!("edge and origin have not found each other within {} s", LINK_PATIENCE.as_secs());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Where programs connect.
    pub(super) fn port(&self) -> u16 {
        self.edge.address().port()
    }

    /// How often programs have waited for the origin.
    pub(super) fn trips(&self) -> u64 {
        self.edge.site().counters().trips
    }

    /// The time by the edge's clock.
    pub(super) fn now(&self) -> Duration {
        self.edge.now()
    }

    /// What programs have asked of the edge since then, as far as it remembers.
    pub(super) fn asked_since(&self, begin: Duration) -> Vec<Asked> {
        let entries = self.edge.entries().into_iter().filter_map(|entry| {
            let requests = vec![(entry.verb.name().to_owned(), entry.count)];
            Some(Asked { at: entry.begun.checked_sub(begin)?, requests })
        });
        entries.collect()
    }

    /// What lies between edge and origin.
    pub(super) fn link(&self) -> Option<&Link> {
        self.link.as_ref()
    }

    pub(super) fn stop(self) {
        let Site { edge_runtime, origin_runtime, edge, origin, link } = self;
        edge_runtime.block_on(edge.shutdown());
        origin_runtime.block_on(origin.shutdown());
        drop(link);
    }
}
