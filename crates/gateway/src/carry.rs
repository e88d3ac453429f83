//! Carries bytes between a [`Link`] and its connection, and says when there is room for more messages.
//!
//! Promises: nothing is taken from the link before the connection can have it, so what is urgent can still go first; a wait ends as
//! soon as what it waits for is there.

use std::time::{Duration, Instant};

use farbird_farlink::link::{Event, Health, Link, LinkError, Message};
use farbird_farlink::message::Channel;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::pairing::{Keys, PublicKey};
use crate::transport::Connection;

/// Bytes of messages handed to the connection at a time.
const BATCH_BYTES: usize = 64 << 10;
/// Bytes taken from the connection at a time.
const READ_BYTES: usize = 64 << 10;
/// With so much waiting for the link a channel makes nothing more.
pub(crate) const QUEUED_BYTES_MAX: usize = 1 << 20;
/// How long the last bytes of a connection may take.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(1);
/// How often the list of trusted ends is looked at.
const REVOCATION_CHECK: Duration = Duration::from_secs(1);

/// A link with those who wait for it.
pub(crate) struct Hub<Out, In> {
    link: Mutex<Link<Out, In>>,
    /// Somebody has said something.
    said: Notify,
    /// Something has gone to the connection.
    room: Notify,
    clock: Clock,
}

/// Time since the process began to count.
#[derive(Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Clock {
        Clock(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }
}

/// Why a connection is over.
#[derive(Debug)]
pub(crate) enum End {
    /// The link says so.
    Link(LinkError),
    /// The network does.
    Network(std::io::Error),
    /// The other end has closed it.
    Closed,
    /// It is not trusted any longer.
    Revoked,
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Link(error) => error.fmt(f),
            End::Network(error) => error.fmt(f),
            End::Closed => f.write_str("the peer has closed the connection"),
            End::Revoked => f.write_str("the peer was revoked"),
        }
    }
}

impl<Out: Message, In: Message> Hub<Out, In> {
    pub(crate) fn new(link: Link<Out, In>, clock: Clock) -> Hub<Out, In> {
        Hub { link: Mutex::new(link), said: Notify::new(), room: Notify::new(), clock }
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    pub(crate) fn send(&self, messages: &[Out]) {
        if messages.is_empty() {
            return;
        }
        let mut link = self.link.lock();
        for message in messages {
            link.send(message);
        }
        drop(link);
        self.said.notify_one();
    }

    /// A channel is done with a message.
    pub(crate) fn taken(&self, channel: Channel, charge: u32) {
        if charge > 0 {
            let mut link = self.link.lock();
            link.taken(channel, charge);
            if link.has_output() {
                self.said.notify_one();
            }
        }
    }

    pub(crate) fn has_room(&self, channel: Channel) -> bool {
        self.link.lock().queued(channel) < QUEUED_BYTES_MAX
    }

    /// Waits until a channel may say more.
    pub(crate) async fn room(&self, channel: Channel) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.has_room(channel) {
                return;
            }
            room.await;
        }
    }

    pub(crate) fn forget(&self, channel: Channel, is_over: bool) {
        self.link.lock().forget(channel, is_over);
        self.room.notify_waiters();
    }

    pub(crate) fn health(&self) -> Health {
        self.link.lock().health()
    }

    pub(crate) fn with_link<T>(&self, act: impl FnOnce(&mut Link<Out, In>) -> T) -> T {
        let result = act(&mut self.link.lock());
        self.said.notify_one();
        result
    }

    pub(crate) fn take_message(&self) -> Option<(In, u32)> {
        self.link.lock().take_message()
    }

    pub(crate) fn take_event(&self) -> Option<Event> {
        self.link.lock().take_event()
    }

    /// Carries until the connection is over; `deliver` is called when there may be messages or events. `unread`: bytes that were
    /// read before. The link is told that the connection is lost.
    pub(crate) async fn carry(
        &self,
        connection: Connection,
        unread: &[u8],
        keys: &Keys,
        mut deliver: impl FnMut(),
    ) -> End {
        let peer = connection.peer;
        let (mut reader, mut writer, keep) = connection.split();
        let end = match self.received(unread) {
            Err(error) => End::Link(error),
            Ok(()) => {
                deliver();
                tokio::select! {
                    end = self.read(&mut reader, &mut deliver) => end,
                    end = self.write(&mut writer) => end,
                    () = revoked(keys, peer) => End::Revoked,
                }
            }
        };
        self.link.lock().disconnected(self.clock.now());
        deliver();
        self.room.notify_waiters();
        drop(timeout(LEAVE_TIMEOUT, writer.shutdown()).await);
        drop(keep);
        end
    }

    /// Says goodbye on a connection that is being carried, and waits, no longer than a second, until the other end has closed it.
    pub(crate) async fn leave(&self, reason: &str) {
        self.with_link(|link| link.leave(reason));
        let gone = async {
            loop {
                let room = self.room.notified();
                tokio::pin!(room);
                room.as_mut().enable();
                if !self.health().is_established {
                    return;
                }
                room.await;
            }
        };
        drop(timeout(LEAVE_TIMEOUT, gone).await);
    }

    fn received(&self, bytes: &[u8]) -> Result<(), LinkError> {
        let mut link = self.link.lock();
        let before = link.poll_timeout();
        link.receive(bytes, self.clock.now())?;
        if link.has_output() || link.poll_timeout() < before {
            self.said.notify_one();
        }
        Ok(())
    }

    async fn read(&self, reader: &mut (impl AsyncReadExt + Unpin), deliver: &mut impl FnMut()) -> End {
        let mut buffer = vec![0; READ_BYTES];
        loop {
            match reader.read(&mut buffer).await {
                Ok(0) => return End::Closed,
                Ok(length) => {
                    let result = self.received(&buffer[..length]);
                    deliver();
                    if let Err(error) = result {
                        return End::Link(error);
                    }
                }
                Err(error) => return End::Network(error),
            }
        }
    }

    async fn write(&self, writer: &mut (impl AsyncWriteExt + Unpin)) -> End {
        loop {
            let (out, due) = {
                let mut link = self.link.lock();
                (link.take_output(BATCH_BYTES), link.poll_timeout())
            };
            if !out.is_empty() {
                let written = async {
                    writer.write_all(&out).await?;
                    writer.flush().await
                };
                if let Err(error) = written.await {
                    return End::Network(error);
                }
                self.room.notify_waiters();
                continue;
            }
            let wait = due.map_or(Duration::from_secs(60), |due| due.saturating_sub(self.clock.now()));
            tokio::select! {
                () = self.said.notified() => {}
                () = sleep(wait) => {
                    let result = self.link.lock().handle_timeout(self.clock.now());
                    if let Err(error) = result {
                        return End::Link(error);
                    }
                }
            }
        }
    }

    /// While there is no connection: does what is due, and returns how long nothing more is.
    pub(crate) fn rest(&self) -> Duration {
        let mut link = self.link.lock();
        // Without a connection nothing can be wrong with it.
        let _ = link.handle_timeout(self.clock.now());
        let due = link.poll_timeout().map(|due| due.saturating_sub(self.clock.now()));
        due.unwrap_or(Duration::from_secs(60)).max(Duration::from_millis(1))
    }
}

/// Waits until an end is trusted no longer.
pub(crate) async fn revoked(keys: &Keys, peer: PublicKey) {
    loop {
        if let Err(error) = keys.reload() {
            tracing::error!("nobody is trusted: {error}");
        }
        if keys.peer(peer).is_none() {
            return;
        }
        sleep(REVOCATION_CHECK).await;
    }
}
