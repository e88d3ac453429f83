//! The task of one program's conversation with the server.
//!
//! A server in the same process may bring its answer itself ([`Taker`]): its thread, which has just made it, then does what the task would do
//! when it is woken, up to the link's connection. The task sees to all else, and to what comes while it is at work itself.

use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::message::{Channel, ToEdge};
use farbird_farlink::origin::{AuxiliaryStep, Conversation, RANDOM_BYTES, login_of};
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;

use super::Introduction;
use super::auxiliary;
use super::knowledge::{ServerStream, TakesReplies};
use super::shared::{Item, Session, Shared};

/// With so much that the server does not take, nothing more is made for it.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 64 << 10;
/// Asks that are taken in before the server is given what they lead to.
const TOLD_AT_ONCE: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Longest answer that the server's thread brings to the link itself. Longer ones follow each other: while the task passes one on, the server
/// makes the next.
const TAKEN_BYTES_MAX: usize = 8 << 10;
/// How long the server may take for the last bytes.
const LAST_BYTES: Duration = Duration::from_secs(5);

pub(super) async fn serve(
    session: &Arc<Session>,
    channel: Channel,
    connect: &[u8],
    introduction: Introduction,
    inbox: mpsc::UnboundedReceiver<Item>,
) {
    let shared = &session.shared;
    let peer = introduction.peer.clone();
    tracing::debug!("{peer} has connected, channel {}", channel.0);
    let talk = Talk { conversation: conversation(shared, channel, connect), read_bytes: 0, is_over: false };
    let talk = Arc::new(Mutex::new(talk));
    let left = Arc::new(Notify::new());
    let taker = Taker { session: session.clone(), channel, talk: talk.clone(), left: left.clone() };
    match reach(shared, introduction, taker).await {
        Ok(stream) => {
            let mut task = Task {
                session,
                channel,
                talk,
                left,
                events: None,
                output: Vec::new(),
                written: 0,
                is_server_gone: false,
            };
            task.run(stream, inbox).await;
        }
        Err(error) => {
            let server = &shared.options.server;
            tracing::warn!("{peer}: cannot reach the server {server}: {error}");
            let reason = format!("the origin cannot reach the server: {error}");
            session.send(vec![ToEdge::Closed { channel, reason }]);
        }
    }
    tracing::debug!("{peer} is gone, channel {}", channel.0);
}

/// The origin logs in itself as those whose passwords it has.
fn conversation(shared: &Shared, channel: Channel, connect: &[u8]) -> Conversation {
    let limits = shared.changing.lock().limits;
    let has_knowledge = shared.options.knowledge.is_some();
    let mut random = [0; RANDOM_BYTES];
    let credentials = login_of(connect)
        .filter(|_| !has_knowledge)
        .and_then(|user| shared.changing.lock().credentials.get(&user).cloned())
        .filter(|_| getrandom::fill(&mut random).is_ok());
    match credentials {
        Some(credentials) => Conversation::with_login(limits, channel, connect, credentials, &random),
        None => Conversation::new(limits, channel, connect, has_knowledge),
    }
}

/// A server in this process is reached inside it, any other over the network.
async fn reach(shared: &Shared, introduction: Introduction, taker: Taker) -> std::io::Result<ServerStream> {
    if let Some(knowledge) = &shared.options.knowledge {
        return knowledge.connect(introduction, Arc::new(taker));
    }
    let connecting = timeout(CONNECT_TIMEOUT, TcpStream::connect(&shared.options.server)).await;
    let stream = connecting.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok(ServerStream { reader: Box::new(reader), writer: Box::new(writer) })
}

/// A conversation, as its task and the server's thread have it in turns.
struct Talk {
    conversation: Conversation,
    /// Bytes that have come through the server's stream.
    read_bytes: u64,
    /// Whether its task has ended.
    is_over: bool,
}

/// What the server's own thread does with its answers.
struct Taker {
    session: Arc<Session>,
    channel: Channel,
    talk: Arc<Mutex<Talk>>,
    /// Tells the task that something is left to it.
    left: Arc<Notify>,
}

impl TakesReplies for Taker {
    fn take(&self, before: u64, bytes: &mut [u8]) -> bool {
        if bytes.len() > TAKEN_BYTES_MAX {
            return false;
        }
        // Who has it now may be about to read what was said before.
        let Some(mut talk) = self.talk.try_lock() else { return false };
        if talk.is_over || talk.read_bytes != before || !self.session.hub.has_room(self.channel) {
            return false;
        }
        let conversation = &mut talk.conversation;
        conversation.receive(bytes, self.session.hub.now());
        let messages = conversation.take_messages();
        self.session.shared.count_ahead(conversation);
        if conversation.has_more() {
            self.left.notify_one();
        }
        self.session.queue(messages);
        drop(talk);
        self.session.hub.write_now();
        true
    }
}

struct Task<'a> {
    session: &'a Arc<Session>,
    channel: Channel,
    talk: Arc<Mutex<Talk>>,
    left: Arc<Notify>,
    /// What the server says on the second connection.
    events: Option<mpsc::Receiver<Vec<u8>>>,
    /// What the server is to be sent, of which `written` bytes are.
    output: Vec<u8>,
    written: usize,
    is_server_gone: bool,
}

impl Task<'_> {
    async fn run(&mut self, stream: ServerStream, mut inbox: mpsc::UnboundedReceiver<Item>) {
        let ServerStream { mut reader, mut writer } = stream;
        let mut buffer = vec![0; READ_BYTES];
        let mut had_room = true;
        loop {
            if self.flush() {
                break;
            }
            let waiting = self.output.len() - self.written;
            let has_room = self.session.hub.has_room(self.channel);
            if has_room && !had_room {
                self.talk.lock().conversation.listens_again(self.session.hub.now());
            }
            had_room = has_room;
            tokio::select! {
                written = writer.write(&self.output[self.written..]), if waiting > 0 => match written {
                    Ok(written) => self.written(written),
                    Err(error) => self.server_lost(&error.to_string()),
                },
                read = reader.read(&mut buffer), if has_room => match read {
                    Ok(0) => self.server_lost("the server has closed the connection"),
                    Ok(length) => self.received(&mut buffer[..length]),
                    Err(error) => self.server_lost(&error.to_string()),
                },
                () = self.left.notified() => {}
                () = self.session.hub.room(self.channel), if !has_room => {}
                event = next(self.events.as_mut()), if has_room && self.events.is_some() => match event {
                    Some(bytes) => self.talk.lock().conversation.auxiliary_came(&bytes),
                    None => {
                        self.events = None;
                        self.talk.lock().conversation.auxiliary_over();
                    }
                },
                item = inbox.recv(), if waiting < OUTPUT_BYTES_MAX => match item {
                    Some(item) => {
                        self.told(item);
                        // What came with it goes to the server together.
                        for _ in 1..TOLD_AT_ONCE {
                            let Ok(item) = inbox.try_recv() else { break };
                            self.told(item);
                        }
                    }
                    // The edge has closed the channel, or is gone.
                    None => break,
                },
            }
        }
        self.talk.lock().is_over = true;
        if !self.is_server_gone {
            let last = async {
                writer.write_all(&self.output[self.written..]).await?;
                writer.shutdown().await
            };
            drop(timeout(LAST_BYTES, last).await);
        }
    }

    fn server_lost(&mut self, reason: &str) {
        self.is_server_gone = true;
        self.talk.lock().conversation.server_lost(reason);
    }

    fn received(&mut self, bytes: &mut [u8]) {
        let mut talk = self.talk.lock();
        talk.read_bytes += bytes.len() as u64;
        talk.conversation.receive(bytes, self.session.hub.now());
    }

    fn told(&mut self, item: Item) {
        let conversation = &mut self.talk.lock().conversation;
        match item {
            Item::Ask(ask, charge) => {
                conversation.ask(ask, self.session.hub.now());
                self.session.hub.taken(self.channel, charge);
            }
            // What reads only goes on when the edge is back.
            Item::EdgeLost => conversation.edge_lost(),
            Item::EdgeBack => conversation.edge_back(),
        }
    }

    fn written(&mut self, length: usize) {
        self.written += length;
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        }
    }

    /// Takes from the machine what is for the server and for the edge. Gives whether the conversation is over.
    fn flush(&mut self) -> bool {
        let mut talk = self.talk.lock();
        let conversation = &mut talk.conversation;
        match conversation.take_auxiliary() {
            Some(AuxiliaryStep::Connect(port)) => {
                self.events = Some(auxiliary::listen(&self.session.shared.options.server, port));
            }
            Some(AuxiliaryStep::Close) => self.events = None,
            None => {}
        }
        self.session.shared.count_ahead(conversation);
        let messages = conversation.take_messages();
        if !messages.is_empty() {
            self.session.send(messages);
        }
        let output = conversation.take_output();
        if self.output.is_empty() {
            self.output = output;
        } else {
            self.output.extend_from_slice(&output);
        }
        conversation.is_ended()
    }
}

/// The next piece of what the server says on a second connection.
async fn next(events: Option<&mut mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    events?.recv().await
}
