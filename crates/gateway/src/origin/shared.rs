//! What an origin's tasks share: all of them its options and its sessions, those of one link its session.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use farbird_farlink::link::{Hello, SessionId, Settings};
use farbird_farlink::message::{Ask, Channel, ToEdge, ToOrigin};
use farbird_farlink::origin::{Conversation, Limits};
use farbird_farlink::speculation::RunnerCounts;
use parking_lot::Mutex;
use tokio::sync::{mpsc, watch};

use super::credentials::CredentialsByUser;
use super::knowledge::{Knowledge, News};
use crate::carry::{Clock, Hub};
use crate::link_state::LinkState;
use crate::pairing::{Keys, PublicKey};
use crate::transport::Connection;

/// What an origin is to do.
#[derive(Clone)]
pub struct OriginOptions {
    /// Where edges connect.
    pub listen: SocketAddr,
    /// HOST:PORT of the server; of one in this process where its events come from.
    pub server: String,
    /// Who this end is, and whom it trusts.
    pub keys: Keys,
    /// Sessions at a time, each of one edge; further ones are refused.
    pub sessions_max: usize,
    /// Programs at a time, of all edges; further ones are turned away.
    pub programs_max: usize,
    /// Threads of the runtime that it is started in, which its starter makes.
    pub threads: usize,
    /// Without a link for so long, transactions that are open are rolled back.
    pub transaction_grace: Duration,
    /// How long programs may go on after [`super::Origin::shutdown`].
    pub shutdown_grace: Duration,
    /// Where the status page is served, if anywhere.
    pub status: Option<SocketAddr>,
    /// By which names the status page may be asked for, beside addresses and `localhost`.
    pub status_names: Vec<String>,
    /// Limits of the link.
    pub link: Settings,
    /// Limits of conversations.
    pub limits: Limits,
    /// Passwords of users as whom the origin logs in itself.
    pub credentials: Arc<CredentialsByUser>,
    /// The server's own word, if it is a Farbird server in this process.
    pub knowledge: Option<Arc<dyn Knowledge>>,
}

/// An edge has connected.
pub(super) struct Arrival {
    pub(super) connection: Connection,
    pub(super) hello: Hello,
    /// What came behind it.
    pub(super) unread: Vec<u8>,
}

pub(super) struct Shared {
    /// As it was started.
    pub(super) options: OriginOptions,
    /// What can be set while it runs.
    pub(super) changing: Mutex<Changing>,
    pub(super) sessions: Mutex<HashMap<(PublicKey, SessionId), mpsc::Sender<Arrival>>>,
    /// The same sessions for the status page.
    pub(super) shown: Mutex<HashMap<(PublicKey, SessionId), Arc<Session>>>,
    /// Sessions begun, programs come, and both turned away, since it began.
    pub(super) begun: AtomicU64,
    pub(super) came: AtomicU64,
    pub(super) refused: AtomicU64,
    /// What was run ahead since it began.
    pub(super) ahead: Mutex<RunnerCounts>,
    pub(super) clock: Clock,
    pub(super) programs: AtomicUsize,
    pub(super) programs_max: AtomicUsize,
    pub(super) stop: watch::Receiver<bool>,
}

/// What can be set while an origin runs.
#[derive(Debug, Clone)]
pub(super) struct Changing {
    pub(super) sessions_max: usize,
    pub(super) transaction_grace: Duration,
    pub(super) shutdown_grace: Duration,
    /// Of sessions that begin from now on.
    pub(super) link: Settings,
    /// Of programs that come from now on.
    pub(super) limits: Limits,
    pub(super) credentials: Arc<CredentialsByUser>,
}

impl OriginOptions {
    pub(super) fn changing(&self) -> Changing {
        Changing {
            sessions_max: self.sessions_max,
            transaction_grace: self.transaction_grace,
            shutdown_grace: self.shutdown_grace,
            link: self.link.clone(),
            limits: self.limits,
            credentials: self.credentials.clone(),
        }
    }

    /// Settings that differ from those of a running origin and cannot be changed in it.
    pub(super) fn fixed_changes(&self, running: &OriginOptions) -> Vec<&'static str> {
        let changes = [
            ("listen", self.listen != running.listen),
            ("server", self.server != running.server),
            ("keys", self.keys.folder() != running.keys.folder()),
            ("threads", self.threads != running.threads),
            ("status", self.status != running.status),
            ("status-names", self.status_names != running.status_names),
        ];
        changes.into_iter().filter_map(|(name, has_changed)| has_changed.then_some(name)).collect()
    }
}

/// What a conversation's task is told.
pub(super) enum Item {
    /// An ask, and what to give back when it is done with.
    Ask(Ask, u32),
    /// The edge has been gone for long: no transaction stays open.
    EdgeLost,
    /// It is back.
    EdgeBack,
}

/// A link and its conversations.
pub(super) struct Session {
    pub(super) shared: Arc<Shared>,
    pub(super) hub: Hub<ToEdge, ToOrigin>,
    pub(super) name: String,
    /// The connection with the edge.
    pub(super) link: Mutex<LinkState>,
    /// Since when the edge is gone.
    pub(super) alone_since: Mutex<Option<Duration>>,
    /// With a number, for a hostile edge may open a channel twice.
    pub(super) conversations: Mutex<HashMap<Channel, (u64, mpsc::UnboundedSender<Item>)>>,
    pub(super) opened: AtomicU64,
    pub(super) news: Mutex<Option<Box<dyn News>>>,
    /// Counts the news of users; changes with `news` locked.
    pub(super) user_changes: AtomicU64,
    /// Outcomes of commits that are being looked for.
    pub(super) outcomes: AtomicUsize,
}

impl Shared {
    /// Counts what a conversation has run ahead since the last call.
    pub(super) fn count_ahead(&self, conversation: &mut Conversation) {
        let counts = conversation.take_ahead_counts();
        if counts != RunnerCounts::default() {
            self.ahead.lock().add(&counts);
        }
    }

    /// Ends the session whose edge has been gone for longest, and for so long that its transactions have been given up. Gives whether there
    /// was one: then there is room for another.
    pub(super) fn make_room(
        &self,
        sessions: &mut HashMap<(PublicKey, SessionId), mpsc::Sender<Arrival>>,
    ) -> bool {
        let grace = self.changing.lock().transaction_grace;
        let now = self.clock.now();
        let alone = |session: &Session| *session.alone_since.lock();
        let shown = self.shown.lock();
        let gone = shown
            .iter()
            .filter_map(|(key, session)| Some((alone(session)?, key)))
            .filter(|(since, key)| now.saturating_sub(*since) >= grace && sessions.contains_key(key))
            .min_by_key(|(since, _)| *since);
        // Nobody can send it a connection any more: it ends.
        gone.is_some_and(|(_, key)| sessions.remove(key).is_some())
    }
}

impl Session {
    /// Sends what conversations have made of the server's bytes, and before it the commits that may show in them.
    pub(super) fn send(&self, messages: Vec<ToEdge>) {
        self.send_if(messages, || true);
    }

    /// As [`Session::send`], if something holds still when the news are known.
    pub(super) fn send_if(&self, messages: Vec<ToEdge>, holds: impl FnOnce() -> bool) {
        self.with_news(messages, holds, |all| self.hub.send(all));
    }

    /// As [`Session::send`], for who has it written now: [`Hub::write_now`] must follow.
    pub(super) fn queue(&self, messages: Vec<ToEdge>) {
        self.with_news(messages, || true, |all| self.hub.queue(all));
    }

    /// What becomes of messages and news must be done before others take news: so they are in one order.
    fn with_news(&self, messages: Vec<ToEdge>, holds: impl FnOnce() -> bool, then: impl FnOnce(&[ToEdge])) {
        let mut news = self.news.lock();
        let mut all = news.as_mut().map(|news| news.take()).unwrap_or_default();
        let changes = all.iter().filter(|news| matches!(news, ToEdge::UsersChanged)).count();
        self.user_changes.fetch_add(changes as u64, Ordering::Relaxed);
        if holds() {
            all.extend(messages);
        }
        then(&all);
    }
}
