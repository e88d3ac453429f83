//! Carries bytes between a [`Link`] and its connection, and says when there is room for more messages.
//!
//! Promises: nothing is taken from the link before the connection can have it, so what is urgent can still go first; a wait ends as
//! soon as what it waits for is there.
//!
//! One task reads the connection, and writes what others have said. Who says something on another thread ([`Hub::write_now`]) writes it
//! itself where the connection takes it at once: between neighbours waking the task would take longer than all the rest.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use farbird_farlink::link::{Event, Health, Link, LinkError, Message};
use farbird_farlink::message::Channel;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
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
/// How long what comes next is looked for between neighbours before the thread sleeps.
const LOOKING: Duration = Duration::from_micros(250);
/// How often the list of trusted ends is looked at.
const REVOCATION_CHECK: Duration = Duration::from_secs(1);

/// A link with those who wait for it.
pub(crate) struct Hub<Out, In> {
    link: Mutex<Link<Out, In>>,
    /// There while a connection is carried. Locked before `link` where both are.
    sending: Mutex<Option<Sending>>,
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
}

/// The way into the connection.
struct Sending {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    batch: Batch,
    /// When a batch was taken or a part of it written last.
    moved: Duration,
}

impl Sending {
    fn new(writer: Box<dyn AsyncWrite + Send + Unpin>, now: Duration) -> Sending {
        Sending { writer, batch: Batch::new(Vec::new()), moved: now }
    }

    /// Takes what is to be written next, once the batch before is written.
    fn take<Out: Message, In: Message>(&mut self, link: &mut Link<Out, In>, now: Duration) {
        self.batch = Batch::new(link.take_output(BATCH_BYTES));
        self.moved = now;
    }

    /// Writes what is left of the batch.
    fn poll_write(&mut self, now: Duration, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        while let rest @ [_, ..] = &self.batch.bytes[self.batch.written..] {
            match ready!(Pin::new(&mut self.writer).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(std::io::ErrorKind::WriteZero.into())),
                written => (self.batch.written, self.moved) = (self.batch.written + written, now),
            }
        }
        ready!(Pin::new(&mut self.writer).poll_flush(context))?;
        self.batch.is_flushed = true;
        Poll::Ready(Ok(()))
    }
}

/// What is known of how quickly things follow each other on a connection.
///
/// A sleeping thread is woken tens of microseconds after something has come, more where its processor sleeps too: several times as long as an end
/// has work with a short request. So between neighbours an end looks for the next thing for a moment, if the one before came soon. It leaves
/// its processor to whoever wants it meanwhile, and all else that its thread does goes on.
struct Haste {
    latest: Duration,
    is_quick: bool,
}

impl Haste {
    fn new(now: Duration) -> Haste {
        Haste { latest: now, is_quick: false }
    }

    /// Something has come or is said.
    fn happened(&mut self, now: Duration) {
        self.is_quick = now < self.latest + LOOKING;
        self.latest = now;
    }

    /// Whether the next thing may come so soon that it is looked for.
    fn looks(&self, now: Duration) -> bool {
        self.is_quick && now < self.latest + LOOKING
    }
}

/// Closes the way into a connection that is not carried any longer: what is said then is for the next one.
struct Carried<'h>(&'h Mutex<Option<Sending>>);

impl Drop for Carried<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
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
        let (said, room) = (Notify::new(), Notify::new());
        Hub { link: Mutex::new(link), sending: Mutex::new(None), said, room, clock }
    }

    pub(crate) fn now(&self) -> Duration {
        self.clock.now()
    }

    pub(crate) fn send(&self, messages: &[Out]) {
        if !messages.is_empty() {
            self.queue(messages);
            self.said.notify_one();
        }
    }

    /// As [`Hub::send`], but nobody is told: [`Hub::write_now`] must follow.
    pub(crate) fn queue(&self, messages: &[Out]) {
        let mut link = self.link.lock();
        for message in messages {
            link.send(message);
        }
    }

    /// Writes what was said, on this thread, as far as the connection takes it at once; the rest is the task's that carries it.
    pub(crate) fn write_now(&self) {
        if !self.try_write() {
            self.said.notify_one();
        }
    }

    /// Whether nothing is left to be written.
    fn try_write(&self) -> bool {
        let Some(mut sending) = self.sending.try_lock() else { return false };
        let Some(sending) = sending.as_mut().filter(|sending| sending.batch.is_written()) else {
            return false;
        };
        let now = self.clock.now();
        sending.take(&mut self.link.lock(), now);
        // The task that carries waits for the connection, should it have to be waited for.
        match sending.poll_write(now, &mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => {
                self.room.notify_waiters();
                !self.link.lock().has_output()
            }
            Poll::Ready(Err(_)) | Poll::Pending => false,
        }
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
        let (mut reader, writer, keep) = connection.split();
        *self.sending.lock() = Some(Sending::new(writer, self.clock.now()));
        let carried = Carried(&self.sending);
        let heard = self.link.lock().receive(unread, self.clock.now());
        let end = match heard {
            Err(error) => End::Link(error),
            Ok(()) => {
                deliver();
                tokio::select! {
                    end = self.exchange(&mut reader, &mut deliver) => end,
                    () = revoked(keys, peer) => End::Revoked,
                }
            }
        };
        let sending = self.sending.lock().take();
        drop(carried);
        self.link.lock().disconnected(self.clock.now());
        deliver();
        self.room.notify_waiters();
        if let Some(mut sending) = sending {
            drop(timeout(LEAVE_TIMEOUT, sending.writer.shutdown()).await);
        }
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
    async fn exchange(&self, reader: &mut (impl AsyncReadExt + Unpin), deliver: &mut impl FnMut()) -> End {
        let silence = self.link.lock().silence();
        let mut buffer = vec![0; READ_BYTES];
        let mut heard = self.clock.now();
        let mut haste = Haste::new(heard);
        let timer = sleep(Duration::ZERO);
        tokio::pin!(timer);
        loop {
            let Next { is_writing, due, is_near } = match self.next_batch(heard, silence) {
                Ok(next) => next,
                Err(end) => return end,
            };
            if is_writing {
                haste.happened(self.clock.now());
            }
            let is_looking = is_near && !is_writing && haste.looks(self.clock.now());
            if let Some(due) = due {
                let due = self.clock.at(due);
                if due < timer.deadline() || timer.is_elapsed() {
                    timer.as_mut().reset(due);
                }
            }
            tokio::select! {
                read = reader.read(&mut buffer) => match read {
                    Ok(0) => return End::Closed,
                    Ok(length) => {
                        heard = self.clock.now();
                        haste.happened(heard);
                        let result = self.link.lock().receive(&buffer[..length], heard);
                        deliver();
                        if let Err(error) = result {
                            return End::Link(error);
                        }
                    }
                    Err(error) => return End::Network(error),
                },
                written = poll_fn(|context| self.poll_write(context)), if is_writing => match written {
                    Ok(()) => self.room.notify_waiters(),
                    Err(error) => return End::Network(error),
                },
                () = self.said.notified(), if !is_writing => {}
                () = timer.as_mut(), if due.is_some() => {}
                () = give_way(), if is_looking => {}
            }
        }
    }

    /// Sees to it that there is something to be written if anything is to be said or due.
    fn next_batch(&self, heard: Duration, silence: Duration) -> Result<Next, End> {
        let mut sending = self.sending.lock();
        let Some(sending) = sending.as_mut() else { return Err(End::Closed) };
        loop {
            let now = self.clock.now();
            if !sending.batch.is_written() {
                // What is due must wait until this is written. A connection that takes nothing is as silent as one that gives nothing.
                let given_up = heard.max(sending.moved) + silence;
                if now >= given_up {
                    return Err(End::Link(LinkError::Silent(silence)));
                }
                return Ok(Next { is_writing: true, due: Some(given_up), is_near: false });
            }
            let mut link = self.link.lock();
            sending.take(&mut link, now);
            if sending.batch.is_written() {
                let due = link.poll_timeout();
                if due.is_none_or(|due| due > now) {
                    return Ok(Next { is_writing: false, due, is_near: link.is_near() });
                }
                link.handle_timeout(now).map_err(End::Link)?;
            }
        }
    }

    fn poll_write(&self, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.sending.lock().as_mut() {
            Some(sending) => sending.poll_write(self.clock.now(), context),
            None => Poll::Ready(Ok(())),
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

/// What a connection is to do next.
struct Next {
    /// Whether there is something to be written.
    is_writing: bool,
    /// When to look again.
    due: Option<Duration>,
    /// Whether the other end is a neighbour that nothing is to be written to.
    is_near: bool,
}

/// Lets others have the processor and this thread; connections are looked at meanwhile.
async fn give_way() {
    std::thread::yield_now();
    tokio::task::yield_now().await;
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

    #[test]
    fn what_comes_next_is_looked_for_where_things_follow_each_other_soon() {
        let at = |micros: u64| Duration::from_micros(micros);
        let mut haste = Haste::new(at(0));
        haste.happened(at(100_000));
        assert!(!haste.looks(at(100_001)), "the one before was long ago");
        haste.happened(at(100_100));
        assert!(haste.looks(at(100_200)) && !haste.looks(at(100_400)));
        haste.happened(at(200_000));
        assert!(!haste.looks(at(200_001)));
    }

    #[tokio::test]
    async fn a_connection_that_takes_nothing_is_given_up() {
        let silence = Duration::from_millis(50);
        let settings = Settings { ping: silence / 2, silence, ..Settings::default() };
        let clock = Clock::new();
        let link = Link::edge(settings, "london", SessionId([1; 16]), clock.now());
        let hub: Hub<ToOrigin, ToEdge> = Hub::new(link, clock);
        hub.with_link(|link| link.connected(clock.now()));
        let (here, _there) = duplex(8);
        let (mut reader, writer) = split(here);
        *hub.sending.lock() = Some(Sending::new(Box::new(writer), clock.now()));
        let end = timeout(Duration::from_secs(60), hub.exchange(&mut reader, &mut || ())).await;
        assert!(matches!(end, Ok(End::Link(LinkError::Silent(_)))), "{end:?}");
    }

    #[tokio::test]
    async fn what_is_written_at_once_and_what_is_not_arrive_in_their_order() {
        let clock = Clock::new();
        let (here, there) = duplex(100);
        let edge: Hub<ToOrigin, ToEdge> =
            Hub::new(Link::edge(Settings::default(), "london", SessionId([1; 16]), clock.now()), clock);
        edge.with_link(|link| link.connected(clock.now()));
        let origin: Hub<ToEdge, ToOrigin> =
            Hub::new(Link::origin(Settings::default(), "tokyo", SessionId([1; 16]), clock.now()), clock);
        let (mut near_reader, near_writer) = split(here);
        let (mut far_reader, far_writer) = split(there);
        *edge.sending.lock() = Some(Sending::new(Box::new(near_writer), clock.now()));
        let mut hello = vec![0; 4_096];
        edge.write_now();
        let mut unread = Vec::new();
        let mut says = None;
        while says.is_none() {
            // A greeting is longer than what the connection takes at once.
            let length = far_reader.read(&mut hello).await.unwrap();
            unread.extend_from_slice(&hello[..length]);
            edge.write_now();
            drop(edge.poll_write(&mut Context::from_waker(Waker::noop())));
            says = farbird_farlink::link::Greeting::decode(&unread).unwrap();
        }
        let Some((farbird_farlink::link::Greeting::Hello(hello), _)) = says else { panic!("{says:?}") };
        origin.with_link(|link| link.accept(&hello, clock.now())).unwrap();
        *origin.sending.lock() = Some(Sending::new(Box::new(far_writer), clock.now()));

        let said =
            |number: u32| ToEdge::Closed { channel: Channel(1), reason: number.to_string().repeat(20) };
        let count = 200;
        let heard = parking_lot::Mutex::new(Vec::new());
        let carrying = async {
            let mut silent = || ();
            let mut hear = || {
                while let Some((message, _)) = edge.take_message() {
                    heard.lock().push(message);
                }
            };
            tokio::join!(
                edge.exchange(&mut near_reader, &mut hear),
                origin.exchange(&mut far_reader, &mut silent),
            );
        };
        let saying = async {
            for number in 0..count {
                match number % 3 {
                    0 => origin.send(&[said(number)]),
                    _ => {
                        origin.queue(&[said(number)]);
                        origin.write_now();
                    }
                }
                if number % 7 == 0 {
                    tokio::task::yield_now().await;
                }
            }
            while heard.lock().len() < count as usize {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = carrying => panic!("the connection is over"),
            said = timeout(Duration::from_secs(60), saying) => said.expect("all arrives"),
        }
        assert_eq!(*heard.lock(), (0..count).map(said).collect::<Vec<_>>());
    }
}
