//! Both machines of the farlink, joined in memory between programs and a server: no link, no delay, what was saved counted.
//!
//! `cargo run -p farbird-farlink --example joined -- 127.0.0.1:3060 localhost:3050`
//!
//! Connect any driver to the first address. After each connection it prints how often the program had to wait for the server, and what
//! was answered without. With `FARLINK_TRACE=1` it prints every message.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use farbird_farlink::edge::{Counters, Limits, Program, Saved, Site};
use farbird_farlink::message::{Channel, ToEdge, ToOrigin};
use farbird_farlink::origin::{self, Conversation};

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [listen, server] = arguments.as_slice() else {
        eprintln!("usage: joined LISTEN SERVER");
        std::process::exit(2);
    };
    let listener = TcpListener::bind(listen)?;
    let site = Site::new(Limits::default());
    site.message(&ToEdge::Welcome { is_farbird: false, server: server.clone() });
    let mut channel = 0;
    loop {
        let (program, peer) = listener.accept()?;
        program.set_nodelay(true)?;
        channel += 1;
        let joined = Joined {
            site: Arc::clone(&site),
            machine: Program::new(Arc::clone(&site), Channel(channel), peer.to_string()),
            conversation: None,
            program,
            server: None,
            address: server.clone(),
            began: Instant::now(),
            is_traced: std::env::var("FARLINK_TRACE").is_ok_and(|on| on == "1"),
        };
        thread::spawn(move || serve(joined));
    }
}

/// One program, both machines, and the connection to the server.
struct Joined {
    site: Arc<Site>,
    machine: Program,
    conversation: Option<Conversation>,
    program: TcpStream,
    server: Option<TcpStream>,
    address: String,
    began: Instant,
    is_traced: bool,
}

fn serve(joined: Joined) {
    let Ok(mut from_program) = joined.program.try_clone() else { return };
    let before = joined.site.counters();
    let joined = Arc::new(Mutex::new(joined));
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = from_program.read(&mut buffer).unwrap_or(0);
        let mut here = joined.lock().unwrap_or_else(PoisonError::into_inner);
        match buffer.get_mut(..length) {
            None | Some([]) => here.machine.disconnected(),
            Some(bytes) => {
                let now = here.began.elapsed();
                here.machine.receive(bytes, now);
            }
        }
        let is_new = here.carry();
        if is_new && let Some(Ok(from_server)) = here.server.as_ref().map(TcpStream::try_clone) {
            let joined = Arc::clone(&joined);
            thread::spawn(move || read_server(&joined, from_server));
        }
        if here.machine.is_ended() {
            report(&before, &here.site.counters());
            return;
        }
    }
}

fn read_server(joined: &Mutex<Joined>, mut from_server: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = from_server.read(&mut buffer).unwrap_or(0);
        let mut here = joined.lock().unwrap_or_else(PoisonError::into_inner);
        let now = here.began.elapsed();
        if let Some(conversation) = &mut here.conversation {
            match buffer.get_mut(..length) {
                None | Some([]) => conversation.server_lost("the server has closed the connection"),
                Some(bytes) => conversation.receive(bytes, now),
            }
        }
        here.carry();
        if length == 0 || here.machine.is_ended() {
            return;
        }
    }
}

impl Joined {
    /// Carries everything where it belongs; gives whether the server was connected.
    fn carry(&mut self) -> bool {
        let mut is_new = false;
        loop {
            let asked = self.machine.take_messages();
            for message in asked.iter().cloned() {
                if self.is_traced {
                    eprintln!("> {message:?}");
                }
                is_new |= self.ask(message);
            }
            let told = self.conversation.as_mut().map(Conversation::take_messages).unwrap_or_default();
            for message in told.iter().cloned() {
                if self.is_traced {
                    eprintln!("< {message:?}");
                }
                self.tell(message);
            }
            if asked.is_empty() && told.is_empty() {
                break;
            }
        }
        let output = self.machine.take_output();
        let _ = self.program.write_all(&output);
        if let (Some(conversation), Some(server)) = (&mut self.conversation, &mut self.server) {
            let _ = server.write_all(&conversation.take_output());
        }
        if self.machine.is_ended() {
            let _ = self.program.shutdown(Shutdown::Both);
            let _ = self.server.as_ref().map(|server| server.shutdown(Shutdown::Both));
        }
        is_new
    }

    fn ask(&mut self, message: ToOrigin) -> bool {
        match message {
            ToOrigin::Open { channel, connect, .. } => {
                self.conversation =
                    Some(Conversation::new(origin::Limits::default(), channel, &connect, false));
                self.server = TcpStream::connect(&self.address).ok();
                if let Some(server) = &self.server {
                    let _ = server.set_nodelay(true);
                }
                return self.server.is_some();
            }
            ToOrigin::On { ask, .. } => {
                let now = self.began.elapsed();
                if let Some(conversation) = &mut self.conversation {
                    conversation.ask(ask, now);
                }
            }
            ToOrigin::Close { .. } | ToOrigin::Outcome { .. } => {}
        }
        false
    }

    fn tell(&mut self, message: ToEdge) {
        self.site.message(&message);
        let now = self.began.elapsed();
        match message {
            ToEdge::On { tell, .. } => self.machine.tell(tell, now),
            ToEdge::Closed { reason, .. } => {
                eprintln!("closed: {reason}");
                self.machine.closed(&reason);
            }
            _ => {}
        }
    }
}

fn report(before: &Counters, after: &Counters) {
    let saved: Vec<String> = Saved::ALL
        .iter()
        .map(|kind| (kind.name(), after.saved(*kind) - before.saved(*kind)))
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    eprintln!(
        "trips {}, requests {}, rows {}; saved: {}",
        after.trips - before.trips,
        after.requests - before.requests,
        after.rows - before.rows,
        saved.join(", ")
    );
}
