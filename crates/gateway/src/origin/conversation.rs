//! The task of one program's conversation with the server.

use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::message::{Channel, ToEdge};
use farbird_farlink::origin::{AuxiliaryStep, Conversation, RANDOM_BYTES, login_of};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::Introduction;
use super::auxiliary;
use super::knowledge::ServerStream;
use super::shared::{Item, Session, Shared};

/// With so much that the server does not take, nothing more is made for it.
const OUTPUT_BYTES_MAX: usize = 1 << 20;
const READ_BYTES: usize = 64 << 10;
/// Asks that are taken in before the server is given what they lead to.
const TOLD_AT_ONCE: usize = 16;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
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
    match reach(shared, introduction).await {
        Ok(stream) => {
            let conversation = conversation(shared, channel, connect);
            let mut task = Task {
                session,
                channel,
                conversation,
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
    let limits = shared.options.limits;
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
async fn reach(shared: &Shared, introduction: Introduction) -> std::io::Result<ServerStream> {
    if let Some(knowledge) = &shared.options.knowledge {
        return knowledge.connect(introduction);
    }
    let connecting = timeout(CONNECT_TIMEOUT, TcpStream::connect(&shared.options.server)).await;
    let stream = connecting.map_err(|_| std::io::Error::from(std::io::ErrorKind::TimedOut))??;
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.into_split();
    Ok(ServerStream { reader: Box::new(reader), writer: Box::new(writer) })
}

struct Task<'a> {
    session: &'a Arc<Session>,
    channel: Channel,
    conversation: Conversation,
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
        loop {
            self.flush();
            if self.conversation.is_ended() {
                break;
            }
            let waiting = self.output.len() - self.written;
            let has_room = self.session.hub.has_room(self.channel);
            tokio::select! {
                written = writer.write(&self.output[self.written..]), if waiting > 0 => match written {
                    Ok(written) => self.written(written),
                    Err(error) => self.server_lost(&error.to_string()),
                },
                read = reader.read(&mut buffer), if has_room => match read {
                    Ok(0) => self.server_lost("the server has closed the connection"),
                    Ok(length) => self.conversation.receive(&mut buffer[..length], self.session.hub.now()),
                    Err(error) => self.server_lost(&error.to_string()),
                },
                () = self.session.hub.room(self.channel), if !has_room => {}
                event = next(self.events.as_mut()), if has_room && self.events.is_some() => match event {
                    Some(bytes) => self.conversation.auxiliary_came(&bytes),
                    None => {
                        self.events = None;
                        self.conversation.auxiliary_over();
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
        self.conversation.server_lost(reason);
    }

    fn told(&mut self, item: Item) {
        match item {
            Item::Ask(ask, charge) => {
                self.conversation.ask(ask, self.session.hub.now());
                self.session.hub.taken(self.channel, charge);
            }
            // What reads only goes on when the edge is back.
            Item::EdgeLost => self.conversation.edge_lost(),
            Item::EdgeBack => self.conversation.edge_back(),
        }
    }

    fn written(&mut self, length: usize) {
        self.written += length;
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        }
    }

    /// Takes from the machine what is for the server and for the edge.
    fn flush(&mut self) {
        match self.conversation.take_auxiliary() {
            Some(AuxiliaryStep::Connect(port)) => {
                self.events = Some(auxiliary::listen(&self.session.shared.options.server, port));
            }
            Some(AuxiliaryStep::Close) => self.events = None,
            None => {}
        }
        let messages = self.conversation.take_messages();
        if !messages.is_empty() {
            self.session.send(messages);
        }
        let output = self.conversation.take_output();
        if self.output.is_empty() {
            self.output = output;
        } else {
            self.output.extend_from_slice(&output);
        }
    }
}

/// The next piece of what the server says on a second connection.
async fn next(events: Option<&mut mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    events?.recv().await
}
