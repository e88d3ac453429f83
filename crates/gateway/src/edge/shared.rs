//! What an edge's tasks share: the link, the programs, the options.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};
use std::time::Duration;

use farbird_farlink::edge::{Limits, Site};
use farbird_farlink::link::Settings;
use farbird_farlink::message::{Channel, ToEdge, ToOrigin};
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use crate::carry::Hub;
use crate::pairing::Keys;
use crate::status::ProgramFacts;
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
    /// Without a link for so long, what programs have under way ends.
    pub transaction_grace: Duration,
    /// How long programs may go on after [`super::Edge::shutdown`].
    pub shutdown_grace: Duration,
    /// Where the status page is served, if anywhere.
    pub status: Option<SocketAddr>,
    /// Where the rules that programs have taught are kept.
    pub rules: PathBuf,
    /// Limits of the link.
    pub link: Settings,
    /// Limits of what is kept for programs.
    pub limits: Limits,
}

/// What a program's task is told.
pub(super) enum Item {
    /// A message on its channel, and what to give back when it is done with.
    Message(ToEdge, u32),
    /// The link has been gone for longer than programs are kept waiting.
    LinkLost,
    /// It is there again.
    LinkRestored,
    /// The channel is over.
    Over(&'static str),
}

/// A program, as others see it.
pub(super) struct Known {
    pub(super) inbox: mpsc::UnboundedSender<Item>,
    pub(super) facts: Arc<Mutex<ProgramFacts>>,
}

pub(super) struct Shared {
    pub(super) hub: Hub<ToOrigin, ToEdge>,
    pub(super) site: Arc<Site>,
    pub(super) programs: Mutex<HashMap<Channel, Known>>,
    pub(super) channels: AtomicU32,
    pub(super) programs_max: AtomicUsize,
    pub(super) is_lost: watch::Sender<bool>,
    pub(super) options: EdgeOptions,
}

impl Shared {
    /// A program's task is done.
    pub(super) fn ended(&self, channel: Channel) {
        self.programs.lock().remove(&channel);
        self.hub.forget(channel, false);
    }
}
