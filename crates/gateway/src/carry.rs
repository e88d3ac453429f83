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

    fn at(self, time: Duration) -> tokio::time::Instant {
        (self.0 + time).into()
    }
}

/// Bytes on their way into the connection.
struct Batch {
    bytes: Vec<u8>,
    written: usize,
    is_flushed: bool,
}

impl Batch {
    fn new(bytes: Vec<u8>) -> Batch {
        Batch { is_flushed: bytes.is_empty(), bytes, written: 0 }
    }

    fn is_written(&self) -> bool {
        self.is_flushed
    }

    /// Writes what is left of them; may be dropped and called again.
    async fn write(&mut self, writer: &mut (impl AsyncWriteExt + Unpin)) -> std::io::Result<()> {
        while let rest @ [_, ..] = &self.bytes[self.written..] {
            match writer.write(rest).await? {
                0 => return Err(std::io::ErrorKind::WriteZero.into()),
                written => self.written += written,
            }
        }
        writer.flush().await?;
        self.is_flushed = true;
        Ok(())
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
        let heard = self.link.lock().receive(unread, self.clock.now());
        let end = match heard {
            Err(error) => End::Link(error),
            Ok(()) => {
                deliver();
                tokio::select! {
                    end = self.exchange(&mut reader, &mut writer, &mut deliver) => end,
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

    /// One task reads and writes, and its timer is set anew only where it would ring too late: another task that is woken for each
    /// message, and a clock that is set for each of them, cost a near link more than the messages do.
    async fn exchange(
        &self,
        reader: &mut (impl AsyncReadExt + Unpin),
        writer: &mut (impl AsyncWriteExt + Unpin),
        deliver: &mut impl FnMut(),
    ) -> End {
        let silence = self.link.lock().silence();
        let mut buffer = vec![0; READ_BYTES];
        let mut batch = Batch::new(Vec::new());
        // When something passed last, as far as that was looked at, and how much of the batch was written then.
        let (mut passed, mut written) = (self.clock.now(), 0);
        let timer = sleep(Duration::ZERO);
        tokio::pin!(timer);
        loop {
            let mut due = None;
            let now = self.clock.now();
            if batch.is_written() {
                let mut link = self.link.lock();
                batch = Batch::new(link.take_output(BATCH_BYTES));
                (passed, written) = (now, 0);
                // What is due must wait until this is written.
                if batch.is_written() {
                    due = link.poll_timeout();
                    if due.is_some_and(|due| due <= now) {
                        match link.handle_timeout(now) {
                            Ok(()) => continue,
                            Err(error) => return End::Link(error),
                        }
                    }
                }
            }
            if !batch.is_written() {
                // A connection that takes nothing is as silent as one that gives nothing.
                if written != batch.written {
                    (passed, written) = (now, batch.written);
                } else if now >= passed + silence {
                    return End::Link(LinkError::Silent(silence));
                }
                due = Some(passed + silence);
            }
            if let Some(due) = due {
                let due = self.clock.at(due);
                if due < timer.deadline() || timer.is_elapsed() {
                    timer.as_mut().reset(due);
                }
            }
            let is_writing = !batch.is_written();
            tokio::select! {
                read = reader.read(&mut buffer) => match read {
                    Ok(0) => return End::Closed,
                    Ok(length) => {
                        passed = self.clock.now();
                        let result = self.link.lock().receive(&buffer[..length], passed);
                        deliver();
                        if let Err(error) = result {
                            return End::Link(error);
                        }
                    }
                    Err(error) => return End::Network(error),
                },
                written = batch.write(writer), if is_writing => match written {
                    Ok(()) => self.room.notify_waiters(),
                    Err(error) => return End::Network(error),
                },
                () = self.said.notified(), if !is_writing => {}
                () = timer.as_mut(), if due.is_some() => {}
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

#[cfg(test)]
mod tests {
    use farbird_farlink::link::{SessionId, Settings};
    use farbird_farlink::message::{ToEdge, ToOrigin};
    use tokio::io::{duplex, split};

    use super::*;

    #[tokio::test]
    async fn a_connection_that_takes_nothing_is_given_up() {
        let silence = Duration::from_millis(50);
        let settings = Settings { ping: silence / 2, silence, ..Settings::default() };
        let clock = Clock::new();
        let link = Link::edge(settings, "london", SessionId([1; 16]), clock.now());
        let hub: Hub<ToOrigin, ToEdge> = Hub::new(link, clock);
        hub.with_link(|link| link.connected(clock.now()));
        let (here, _there) = duplex(8);
        let (mut reader, mut writer) = split(here);
        let end = timeout(Duration::from_secs(60), hub.exchange(&mut reader, &mut writer, &mut || ())).await;
        assert!(matches!(end, Ok(End::Link(LinkError::Silent(_)))), "{end:?}");
    }
}
