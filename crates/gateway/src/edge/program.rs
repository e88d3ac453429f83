//! The task of one program.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::edge::{Program, Standing};
use farbird_farlink::message::{Channel, ToEdge};
use parking_lot::Mutex;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, sleep, timeout};

use super::auxiliary::Auxiliary;
use super::shared::{Begun, Item, Shared};

/// With so much that a program does not take, nothing more is made for it.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
const READ_BYTES: usize = 64 << 10;
/// How long a program may take for its last bytes.
const LAST_BYTES: Duration = Duration::from_secs(5);

/// Messages that are taken in before the program is given what they lead to.
const TOLD_AT_ONCE: usize = 16;
/// How soon the status page sees what a program has open.
const SHOWN_EVERY: Duration = Duration::from_millis(500);

/// A vanished machine is noticed though its program says nothing for hours.
const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(20));

/// Prepares the socket of a program.
pub(super) fn tune(stream: &TcpStream, peer: &str) {
    let tuned = stream.set_nodelay(true).and_then(|()| SockRef::from(stream).set_tcp_keepalive(&KEEPALIVE));
    if let Err(error) = tuned {
        tracing::debug!("{peer}: {error}");
    }
}

/// Serves a program until it is gone.
pub(super) async fn serve(
    shared: Arc<Shared>,
    begun: Begun,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) {
    let Begun { program, channel, standing, inbox, ends } = begun;
    let peer = program.peer().to_owned();
    tracing::debug!("{peer} has connected, channel {}", channel.0);
    let mut shown_every = interval(SHOWN_EVERY);
    shown_every.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut task = Task {
        shared,
        channel,
        program,
        standing,
        shown_every,
        has_news: true,
        ends,
        auxiliary: None,
        output: Vec::new(),
        written: 0,
    };
    if *task.shared.is_lost.borrow() {
        task.program.link_lost();
    }
    task.run(reader, writer, inbox).await;
    task.shared.ended(channel);
    tracing::debug!("{peer} is gone, channel {}", channel.0);
}

struct Task {
    shared: Arc<Shared>,
    channel: Channel,
    program: Program,
    /// What the status page shows of it.
    standing: Arc<Mutex<Standing>>,
    shown_every: Interval,
    /// Whether there may be something that is not shown yet.
    has_news: bool,
    /// Addresses of this end and of the program, if it has come over the network.
    ends: Option<(IpAddr, IpAddr)>,
    /// Its second connection.
    auxiliary: Option<Auxiliary>,
    /// What the program is to be sent, of which `written` bytes are.
    output: Vec<u8>,
    written: usize,
}

impl Task {
    async fn run(
        &mut self,
        mut reader: impl AsyncRead + Unpin,
        mut writer: impl AsyncWrite + Unpin,
        mut inbox: mpsc::UnboundedReceiver<Item>,
    ) {
        let mut buffer = vec![0; READ_BYTES];
        let mut link = self.shared.link.subscribe();
        loop {
            self.flush();
            if self.program.wants_auxiliary() {
                self.open_auxiliary().await;
                continue;
            }
            self.pass_events();
            if self.program.is_ended() {
                self.output.extend_from_slice(&self.program.take_output());
                let last = writer.write_all(&self.output[self.written..]);
                drop(timeout(LAST_BYTES, last).await);
                drop(timeout(LAST_BYTES, writer.shutdown()).await);
                return;
            }
            let waiting = self.output.len() - self.written;
            let may_make = waiting < OUTPUT_BYTES_MAX;
            let has_room = self.shared.hub.has_room(self.channel);
            let now = self.shared.hub.now();
            let is_linked = link.borrow_and_update().since.is_some();
            let waits_for_link = self.waits_for_link(is_linked && inbox.is_empty());
            let rest = self.program.wake_at().map(|at| at.saturating_sub(now));
            tokio::select! {
                written = writer.write(&self.output[self.written..]), if waiting > 0 => match written {
                    Ok(written) => self.written(written),
                    Err(_) => self.program.disconnected(),
                },
                read = reader.read(&mut buffer), if may_make && has_room && !waits_for_link && !self.program.is_full() => match read {
                    Ok(0) | Err(_) => self.program.disconnected(),
                    Ok(length) => {
                        self.has_news = true;
                        self.program.receive(&mut buffer[..length], self.shared.hub.now());
                    }
                },
                _ = link.changed() => {}
                () = self.shared.hub.room(self.channel), if !has_room => {}
                () = closed(self.auxiliary.as_ref()), if self.auxiliary.is_some() => self.auxiliary_gone(),
                () = sleep(rest.unwrap_or_default()), if rest.is_some() => {
                    self.program.wake(self.shared.hub.now());
                }
                item = inbox.recv(), if may_make => match item {
                    Some(item) => {
                        self.told(item);
                        // What came with it is known before the program has its answer and asks on.
                        for _ in 1..TOLD_AT_ONCE {
                            let Ok(item) = inbox.try_recv() else { break };
                            self.told(item);
                        }
                    }
                    None => self.program.closed("the edge is shut down"),
                },
                _ = self.shown_every.tick(), if self.has_news => self.show(),
            }
        }
    }

    /// Whether the program is not asked what it wants for now: while there is no link nobody knows whether the session goes on, and a
    /// program without anything under way can go on in another. It is not kept waiting for longer than others.
    fn waits_for_link(&mut self, is_known: bool) -> bool {
        !is_known && !*self.shared.is_lost.borrow() && self.program.is_at_rest()
    }

    /// Listens for the program's second connection.
    async fn open_auxiliary(&mut self) {
        let opened = match self.ends {
            Some((here, program)) => Auxiliary::listen(here, program).await.ok(),
            None => None,
        };
        let address = opened.as_ref().map(|(_, address)| *address);
        self.auxiliary = opened.map(|(auxiliary, _)| auxiliary);
        self.program.auxiliary_at(address, self.shared.hub.now());
    }

    /// Hands on what came for the second connection, and closes it if it is over.
    fn pass_events(&mut self) {
        let events = self.program.take_auxiliary();
        let is_gone = match &self.auxiliary {
            Some(auxiliary) if !events.is_empty() => !auxiliary.send(events),
            _ => false,
        };
        if is_gone {
            self.auxiliary_gone();
        }
        if !self.program.has_auxiliary() {
            self.auxiliary = None;
        }
    }

    fn auxiliary_gone(&mut self) {
        self.auxiliary = None;
        self.program.auxiliary_gone();
    }

    fn message(&mut self, message: ToEdge, charge: u32) {
        match message {
            ToEdge::On { tell, .. } => {
                self.has_news = true;
                self.program.tell(tell, self.shared.hub.now());
                self.shared.hub.taken(self.channel, charge);
            }
            ToEdge::Closed { reason, .. } => {
                tracing::debug!("channel {} is closed by the origin: {reason}", self.channel.0);
                self.program.closed(&reason);
            }
            ToEdge::Outcome { outcome, .. } => self.program.outcome(outcome),
            // Not on a channel: the site has seen it.
            _ => {}
        }
    }

    fn told(&mut self, item: Item) {
        match item {
            Item::Message(message, charge) => self.message(*message, charge),
            Item::LinkLost => self.program.link_lost(),
            Item::LinkRestored => self.program.link_restored(),
            Item::Over(reason) => self.program.closed(reason),
            Item::SessionOver => self.program.session_over("the origin has lost the connection"),
        }
    }

    fn written(&mut self, length: usize) {
        self.written += length;
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        }
    }

    /// What is open changes with what the program asks and with what it is told.
    fn show(&mut self) {
        self.has_news = self.program.waiting() > 0;
        let mut shown = self.standing.lock();
        let before = std::mem::replace(&mut *shown, self.program.standing());
        // One that has detached is still known by what it was.
        if shown.database.is_empty() {
            (shown.database, shown.process) = (before.database, before.process);
        }
    }

    /// Takes from the machine what is for the origin and for the program.
    fn flush(&mut self) {
        // Taking makes room for more.
        if self.output.len() - self.written < OUTPUT_BYTES_MAX {
            let output = self.program.take_output();
            if self.output.is_empty() {
                self.output = output;
            } else {
                self.output.extend_from_slice(&output);
            }
        }
        self.shared.hub.send(&self.program.take_messages());
    }
}

/// Until a second connection is closed.
async fn closed(auxiliary: Option<&Auxiliary>) {
    if let Some(auxiliary) = auxiliary {
        auxiliary.closed().await;
    }
}
