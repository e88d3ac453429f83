//! The task of one program.

use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::edge::Program;
use farbird_farlink::message::{Channel, ToEdge};
use parking_lot::Mutex;
use socket2::{SockRef, TcpKeepalive};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::shared::{Item, Shared};
use crate::status::ProgramFacts;

/// With so much that a program does not take, nothing more is made for it.
const OUTPUT_BYTES_MAX: usize = 256 << 10;
const READ_BYTES: usize = 64 << 10;
/// How long a program may take for its last bytes.
const LAST_BYTES: Duration = Duration::from_secs(5);

/// A vanished machine is noticed though its program says nothing for hours.
const KEEPALIVE: TcpKeepalive =
    TcpKeepalive::new().with_time(Duration::from_secs(60)).with_interval(Duration::from_secs(20));

pub(super) async fn serve(
    shared: Arc<Shared>,
    stream: TcpStream,
    channel: Channel,
    facts: Arc<Mutex<ProgramFacts>>,
    inbox: mpsc::UnboundedReceiver<Item>,
) {
    let peer = facts.lock().peer.clone();
    let tuned = stream.set_nodelay(true).and_then(|()| SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE));
    if let Err(error) = tuned {
        tracing::debug!("{peer}: {error}");
    }
    tracing::debug!("{peer} has connected, channel {}", channel.0);
    let program = Program::new(shared.site.clone(), channel, peer.clone());
    let mut task = Task { shared, channel, program, facts, output: Vec::new(), written: 0 };
    if *task.shared.is_lost.borrow() {
        task.program.link_lost();
    }
    task.run(stream, inbox).await;
    task.shared.ended(channel);
    tracing::debug!("{peer} is gone, channel {}", channel.0);
}

struct Task {
    shared: Arc<Shared>,
    channel: Channel,
    program: Program,
    /// What the status page shows of it.
    facts: Arc<Mutex<ProgramFacts>>,
    /// What the program is to be sent, of which `written` bytes are.
    output: Vec<u8>,
    written: usize,
}

impl Task {
    async fn run(&mut self, stream: TcpStream, mut inbox: mpsc::UnboundedReceiver<Item>) {
        let (mut reader, mut writer) = stream.into_split();
        let mut buffer = vec![0; READ_BYTES];
        loop {
            self.flush();
            if self.program.is_ended() {
                let last = writer.write_all(&self.output[self.written..]);
                drop(timeout(LAST_BYTES, last).await);
                return;
            }
            let waiting = self.output.len() - self.written;
            let may_make = waiting < OUTPUT_BYTES_MAX;
            let has_room = self.shared.hub.has_room(self.channel);
            tokio::select! {
                written = writer.write(&self.output[self.written..]), if waiting > 0 => match written {
                    Ok(written) => self.written(written),
                    Err(_) => self.program.disconnected(),
                },
                read = reader.read(&mut buffer), if may_make && has_room && !self.program.is_full() => match read {
                    Ok(0) | Err(_) => self.program.disconnected(),
                    Ok(length) => self.program.receive(&mut buffer[..length], self.shared.hub.now()),
                },
                () = self.shared.hub.room(self.channel), if !has_room => {}
                item = inbox.recv(), if may_make => match item {
                    Some(item) => self.told(item),
                    None => self.program.closed("the edge is shut down"),
                },
            }
        }
    }

    fn told(&mut self, item: Item) {
        let now = self.shared.hub.now();
        match item {
            Item::Message(ToEdge::On { tell, .. }, charge) => {
                self.program.tell(tell, now);
                self.shared.hub.taken(self.channel, charge);
            }
            Item::Message(ToEdge::Closed { reason, .. }, _) => self.program.closed(&reason),
            // Not on a channel: the site has seen it.
            Item::Message(..) => {}
            Item::LinkLost => self.program.link_lost(),
            Item::LinkRestored => self.program.link_restored(),
            Item::Over(reason) => self.program.closed(reason),
        }
    }

    fn written(&mut self, length: usize) {
        self.written += length;
        if self.written == self.output.len() {
            self.output.clear();
            self.written = 0;
        }
    }

    fn show(&self) {
        let mut facts = self.facts.lock();
        facts.waiting = self.program.waiting();
        if facts.database.is_empty()
            && let Some(database) = self.program.database()
        {
            database.clone_into(&mut facts.database);
        }
    }

    /// Takes from the machine what is for the origin and for the program.
    fn flush(&mut self) {
        self.show();
        self.shared.hub.send(&self.program.take_messages());
        let output = self.program.take_output();
        if self.output.is_empty() {
            self.output = output;
        } else {
            self.output.extend_from_slice(&output);
        }
    }
}
