//! The task of one link: it carries its bytes, waits for the edge when the connection is lost, and hands each message to the
//! conversation that it is for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use farbird_farlink::link::{Event, Link, LinkError};
use farbird_farlink::message::{Channel, CommitOutcome, NamedCommit, ToEdge, ToOrigin};
use farbird_farlink::origin::user_of;
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep};

use super::shared::{Arrival, Item, Session, Shared};
use super::{Introduction, Knowledge, conversation};
use crate::carry::{End, Hub, revoked};
use crate::link_state::LinkState;
use crate::stop::stopped;

/// With so much that waits for an edge that is gone, it is waited for no longer.
const WAITING_BYTES_MAX: usize = 256 << 20;

/// Outcomes of commits that one edge may ask for at a time: no edge has more programs.
const OUTCOMES_MAX: usize = 10_000;

pub(super) async fn serve(
    shared: Arc<Shared>,
    name: String,
    arrival: Arrival,
    arrivals: mpsc::Receiver<Arrival>,
) {
    let key = (arrival.connection.peer, arrival.hello.session);
    let clock = shared.clock;
    let options = &shared.options;
    let settings = shared.changing.lock().link.clone();
    let link = Link::origin(settings, options.keys.name(), arrival.hello.session, clock.now());
    let woken = Arc::new(Notify::new());
    let news = options.knowledge.as_ref().map(|knowledge| {
        let woken = woken.clone();
        knowledge.subscribe(Box::new(move || woken.notify_one()))
    });
    let session = Arc::new(Session {
        hub: Hub::new(link, clock),
        shared: shared.clone(),
        name,
        link: Mutex::new(LinkState::default()),
        alone_since: Mutex::new(None),
        conversations: Mutex::new(HashMap::new()),
        opened: AtomicU64::new(0),
        news: Mutex::new(news),
        user_changes: AtomicU64::new(0),
        outcomes: AtomicUsize::new(0),
    });
    session.say_welcome();
    shared.begun.fetch_add(1, Ordering::Relaxed);
    shared.shown.lock().insert(key, session.clone());
    tokio::select! {
        () = session.clone().keep(arrival, arrivals) => {}
        () = session.tell_news(&woken) => {}
    }
    session.end_all();
    // The edge may have come back under the same name already, to a new session.
    let mut shown = shared.shown.lock();
    if shown.get(&key).is_some_and(|known| Arc::ptr_eq(known, &session)) {
        shown.remove(&key);
    }
    drop(shown);
    let mut sessions = shared.sessions.lock();
    if sessions.get(&key).is_some_and(mpsc::Sender::is_closed) {
        sessions.remove(&key);
    }
    drop(sessions);
    tracing::info!("the session with {} is over", session.name);
}

impl Session {
    async fn keep(self: Arc<Session>, first: Arrival, mut arrivals: mpsc::Receiver<Arrival>) {
        let mut stop = self.shared.stop.clone();
        let peer = first.connection.peer;
        let mut next = Some(first);
        while let Some(Arrival { connection, hello, unread }) = next.take() {
            self.link.lock().connected(&connection);
            *self.alone_since.lock() = None;
            let accepted = self.hub.with_link(|link| link.accept(&hello, self.hub.now()));
            if let Err(error) = accepted {
                tracing::warn!("{}: {error}", self.name);
                drop(connection);
            } else {
                for (_, inbox) in self.conversations.lock().values() {
                    let _ = inbox.send(Item::EdgeBack);
                }
                let carrying =
                    self.hub.carry(connection, &unread, &self.shared.options.keys, || self.deliver());
                tokio::pin!(carrying);
                let end = tokio::select! {
                    end = &mut carrying => end,
                    arrival = arrivals.recv() => {
                        next = arrival;
                        continue;
                    }
                    () = stopped(&mut stop) => tokio::select! {
                        end = carrying => end,
                        () = self.hub.leave("the origin is shut down") => End::Closed,
                    },
                };
                tracing::warn!("{}: the link is lost: {end}", self.name);
                self.link.lock().ended(end.to_string());
                *self.alone_since.lock() = Some(self.hub.now());
                if matches!(end, End::Revoked | End::Link(LinkError::Left(_) | LinkError::Misbehaved(_)))
                    || *stop.borrow()
                {
                    return;
                }
            }
            next = tokio::select! {
                arrival = arrivals.recv() => arrival,
                () = self.wait_for_edge() => None,
                () = revoked(&self.shared.options.keys, peer) => None,
                () = stopped(&mut stop) => None,
            };
        }
    }

    /// Returns when the edge has been gone for too long.
    async fn wait_for_edge(&self) {
        let begun = Instant::now();
        let mut is_told = false;
        loop {
            let rest = self.hub.rest();
            let mut is_over = false;
            while let Some(event) = self.hub.take_event() {
                is_over |= event == Event::Over;
            }
            if is_over || self.hub.with_link(|link| link.queued_in_all()) > WAITING_BYTES_MAX {
                return;
            }
            let is_long = begun.elapsed() >= self.shared.changing.lock().transaction_grace;
            // Nobody comes back to a session without programs: each process of an edge has one of its own.
            if is_long && self.conversations.lock().is_empty() {
                return;
            }
            if is_long && !std::mem::replace(&mut is_told, true) {
                for (_, inbox) in self.conversations.lock().values() {
                    let _ = inbox.send(Item::EdgeLost);
                }
            }
            sleep(rest.min(Duration::from_millis(500))).await;
        }
    }

    fn say_welcome(&self) {
        let options = &self.shared.options;
        let is_farbird = options.knowledge.is_some();
        let server = match is_farbird {
            true => format!("Farbird {}", env!("CARGO_PKG_VERSION")),
            false => format!("Firebird at {}", options.server),
        };
        self.hub.send(&[ToEdge::Welcome { is_farbird, server }]);
    }

    /// Hands on what the link has.
    fn deliver(self: &Arc<Session>) {
        while let Some(event) = self.hub.take_event() {
            match event {
                Event::Established { peer, is_resumed } => {
                    let how = if is_resumed { " again, nothing is lost" } else { "" };
                    tracing::info!("{}: linked with {peer}{how}", self.name);
                    self.link.lock().established(self.hub.now());
                }
                Event::Over => {
                    self.end_all();
                    self.say_welcome();
                }
            }
        }
        while let Some((message, charge)) = self.hub.take_message() {
            match message {
                ToOrigin::Open { channel, connect, peer, ticket, pass } => {
                    self.hub.taken(channel, charge);
                    // Who comes with a pass begins no login of the kind that is prepared.
                    if pass.is_none() {
                        self.prepare_logins(&connect, ticket.is_some());
                    }
                    self.open(channel, connect, Introduction { peer, edge: self.name.clone(), ticket, pass });
                }
                ToOrigin::On { channel, ask } => {
                    let is_known = match self.conversations.lock().get(&channel) {
                        Some((_, inbox)) => inbox.send(Item::Ask(ask, charge)).is_ok(),
                        None => false,
                    };
                    if !is_known {
                        self.hub.forget(channel, true);
                    }
                }
                ToOrigin::Outcome { channel, file, guid, commit } => {
                    self.tell_outcome(channel, file, guid, commit);
                }
                ToOrigin::Close { channel } => {
                    self.conversations.lock().remove(&channel);
                    self.hub.forget(channel, true);
                }
            }
        }
    }

    /// Tells what became of a commit of an earlier session.
    fn tell_outcome(self: &Arc<Session>, channel: Channel, file: Vec<u8>, guid: String, commit: NamedCommit) {
        let under_way = self.outcomes.fetch_add(1, Ordering::Relaxed);
        let knowledge = self.shared.options.knowledge.clone().filter(|_| under_way < OUTCOMES_MAX);
        let Some(knowledge) = knowledge else {
            self.outcomes.fetch_sub(1, Ordering::Relaxed);
            return self.send(vec![ToEdge::Outcome { channel, outcome: CommitOutcome::Unknown }]);
        };
        let session = self.clone();
        // It may open a database: not for an I/O thread.
        tokio::task::spawn_blocking(move || {
            let outcome = knowledge.commit_outcome(&file, &guid, commit);
            tracing::info!("{}: a commit whose answer was lost: {outcome:?}", session.name);
            session.send(vec![ToEdge::Outcome { channel, outcome }]);
            session.outcomes.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// Gives the edge logins of the user who logs in now, for the next times: one for one, and one more for whom it had none.
    fn prepare_logins(self: &Arc<Session>, connect: &[u8], is_prepared: bool) {
        let Some(knowledge) = self.shared.options.knowledge.clone() else { return };
        let Some(user) = user_of(connect) else { return };
        let session = self.clone();
        // Arithmetic on big numbers: not for an I/O thread.
        tokio::task::spawn_blocking(move || {
            for _ in 0..if is_prepared { 1 } else { 2 } {
                session.prepare_login(&*knowledge, &user);
            }
        });
    }

    /// Gives the edge a login, unless users change meanwhile: the edge would take it for one of the users as they are then.
    fn prepare_login(&self, knowledge: &dyn Knowledge, user: &str) {
        let before = self.user_changes.load(Ordering::Relaxed);
        let Some(issued) = knowledge.issue_ticket(user) else { return };
        let ticket = ToEdge::Ticket { ticket: issued.ticket, user: user.to_owned(), data: issued.data };
        self.send_if(vec![ticket], || self.user_changes.load(Ordering::Relaxed) == before);
    }

    fn open(self: &Arc<Session>, channel: Channel, connect: Vec<u8>, introduction: Introduction) {
        let shared = &self.shared;
        shared.came.fetch_add(1, Ordering::Relaxed);
        if shared.programs.fetch_add(1, Ordering::Relaxed) >= shared.programs_max.load(Ordering::Relaxed) {
            shared.programs.fetch_sub(1, Ordering::Relaxed);
            tracing::warn!("{}: {} was turned away: too many programs", self.name, introduction.peer);
            shared.refused.fetch_add(1, Ordering::Relaxed);
            let reason = "the origin has too many programs already".to_owned();
            self.hub.send(&[ToEdge::Closed { channel, reason }]);
            return self.hub.forget(channel, false);
        }
        let (sender, inbox) = mpsc::unbounded_channel();
        let number = self.opened.fetch_add(1, Ordering::Relaxed);
        self.conversations.lock().insert(channel, (number, sender));
        let session = self.clone();
        tokio::spawn(async move {
            conversation::serve(&session, channel, &connect, introduction, inbox).await;
            session.ended(channel, number);
            session.shared.programs.fetch_sub(1, Ordering::Relaxed);
        });
    }

    /// A conversation's task is done: the server has ended it, or the edge has.
    fn ended(&self, channel: Channel, number: u64) {
        let mut conversations = self.conversations.lock();
        if conversations.get(&channel).is_some_and(|(known, _)| *known == number) {
            conversations.remove(&channel);
            drop(conversations);
            self.hub.forget(channel, false);
        }
    }

    fn end_all(&self) {
        self.conversations.lock().clear();
    }

    async fn tell_news(&self, woken: &Notify) {
        loop {
            woken.notified().await;
            self.send(Vec::new());
        }
    }
}
