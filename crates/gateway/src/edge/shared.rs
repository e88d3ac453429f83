//! What an edge's tasks share: the link, the programs, the options.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::Duration;

use farbird_farlink::edge::{Limits, Program, Record, Site, Standing};
use farbird_farlink::link::Settings;
use farbird_farlink::message::{Channel, ToEdge, ToOrigin};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use crate::carry::Hub;
use crate::link_state::LinkState;
use crate::pairing::Keys;
use crate::transport::Transport;

/// What an edge is to do.
#[derive(Debug, Clone)]
pub struct EdgeOptions {
    /// Where programs connect.
    pub listen: SocketAddr,
    /// HOST or HOST:PORT of the origin.
    pub origin: String,
    /// By what it is reached.
    pub transport: Transport,
    /// Who this end is, and whom it trusts.
    pub keys: Keys,
    /// Programs at a time; further ones are turned away.
    pub programs_max: usize,
    /// Threads of the runtime that it is started in, which its starter makes.
    pub threads: usize,
    /// Without a link for so long, what programs have under way ends.
    pub transaction_grace: Duration,
    /// How long programs may go on after [`super::Edge::shutdown`].
    pub shutdown_grace: Duration,
    /// Where the status page is served, if anywhere.
    pub status: Option<SocketAddr>,
    /// By which names the status page may be asked for, beside addresses and `localhost`.
    pub status_names: Vec<String>,
    /// Where the rules that programs have taught are kept.
    pub rules: PathBuf,
    /// How soon after they have changed they are written.
    pub rules_saved_every: Duration,
    /// Limits of the link.
    pub link: Settings,
    /// Limits of what is kept for programs.
    pub limits: Limits,
    /// Where the file is made of rows and BLOBs that have no room in memory; `None`: there is none.
    pub spill_folder: Option<PathBuf>,
}

/// What a program's task is told.
pub(super) enum Item {
    /// A message on its channel, and what to give back when it is done with.
    Message(Box<ToEdge>, u32),
    /// The link has been gone for longer than programs are kept waiting.
    LinkLost,
    /// It is there again.
    LinkRestored,
    /// The channel is over.
    Over(&'static str),
    /// The session with the origin is over, and all channels with it.
    SessionOver,
}

/// A program, as others see it.
pub(super) struct Known {
    pub(super) inbox: mpsc::UnboundedSender<Item>,
    pub(super) peer: String,
    pub(super) since: Duration,
    /// What it has open, as of a moment ago.
    pub(super) standing: Arc<Mutex<Standing>>,
    pub(super) record: Arc<Record>,
}

/// A program that is gone, for the status page.
pub(super) struct Gone {
    pub(super) channel: Channel,
    pub(super) peer: String,
    pub(super) since: Duration,
    pub(super) until: Duration,
    pub(super) standing: Standing,
    pub(super) record: Arc<Record>,
}

/// Programs that are gone and still shown; the one that went longest ago is forgotten first.
const GONE_MAX: usize = 32;

pub(super) struct Shared {
    pub(super) hub: Hub<ToOrigin, ToEdge>,
    pub(super) site: Arc<Site>,
    pub(super) programs: Mutex<HashMap<Channel, Known>>,
    pub(super) gone: Mutex<VecDeque<Gone>>,
    /// The connection with the origin.
    pub(super) link: watch::Sender<LinkState>,
    pub(super) channels: AtomicU32,
    pub(super) programs_max: AtomicUsize,
    pub(super) is_lost: watch::Sender<bool>,
    /// What can be set while it runs.
    pub(super) graces: Mutex<Graces>,
    /// As it was started.
    pub(super) options: EdgeOptions,
}

/// A program that has connected and is to be served.
pub(super) struct Begun {
    pub(super) program: Program,
    pub(super) channel: Channel,
    pub(super) standing: Arc<Mutex<Standing>>,
    pub(super) inbox: mpsc::UnboundedReceiver<Item>,
    /// Addresses of this end and of the program, if it has come over the network.
    pub(super) ends: Option<(IpAddr, IpAddr)>,
}

/// How long things are waited for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Graces {
    pub(super) transaction: Duration,
    pub(super) shutdown: Duration,
}

impl EdgeOptions {
    pub(super) fn graces(&self) -> Graces {
        Graces { transaction: self.transaction_grace, shutdown: self.shutdown_grace }
    }

    /// Settings that differ from those of a running edge and cannot be changed in it.
    pub(super) fn fixed_changes(&self, running: &EdgeOptions) -> Vec<&'static str> {
        let changes = [
            ("listen", self.listen != running.listen),
            ("origin", self.origin != running.origin),
            ("transport", self.transport != running.transport),
            ("keys", self.rules != running.rules),
            ("threads", self.threads != running.threads),
            ("status", self.status != running.status),
            ("status-names", self.status_names != running.status_names),
            ("spill-folder", self.spill_folder != running.spill_folder),
            ("[link]", self.link != running.link),
        ];
        changes.into_iter().filter_map(|(name, has_changed)| has_changed.then_some(name)).collect()
    }
}

impl Shared {
    /// A program's task is done.
    pub(super) fn ended(&self, channel: Channel) {
        if let Some(known) = self.programs.lock().remove(&channel) {
            let Known { peer, since, standing, record, .. } = known;
            let (until, standing) = (self.hub.now(), standing.lock().clone());
            let mut gone = self.gone.lock();
            if gone.len() >= GONE_MAX {
                gone.pop_front();
            }
            gone.push_back(Gone { channel, peer, since, until, standing, record });
        }
        self.hub.forget(channel, false);
    }
}
