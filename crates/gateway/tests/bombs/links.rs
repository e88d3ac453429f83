//! Bombs of ends of the farlink: frames in Zstandard, ten thousand to one.

use std::time::Duration;

use farbird_farlink::frame::Frame;
use farbird_farlink::link::{Greeting, Hello, SessionId};
use farbird_farlink::message::{Channel, Cursor, Tell, ToEdge};
use farbird_gateway::edge::Edge;
use farbird_gateway::transport::{Acceptor, Connection, Dialer, Transport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::site::{Site, edge_options, keys, runtime};
use crate::{ANYWHERE, BOMB_BYTES, Memory, PATIENCE, SWARM_BYTES};

/// How long an end that reads nothing tries to get rid of more.
const UNTAKEN: Duration = Duration::from_millis(500);

/// Plain frames, again and again.
fn bombs() -> Vec<(&'static str, usize, Vec<u8>)> {
    let frames = |frame: Frame<'_>| {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        bytes.repeat((1 << 20) / bytes.len() + 1)
    };
    let fragment = |lane, is_last| Frame::Fragment { lane, is_last, bytes: &[0; 16_000] };
    let rows = Tell::Rows { cursor: Cursor(1), packets: vec![0; 15_000], rows: 9, end: None };
    let message = ToEdge::On { channel: Channel(1), tell: rows }.encode();
    vec![
        ("nothing", SWARM_BYTES, vec![0; 1 << 20]),
        ("pings", SWARM_BYTES, frames(Frame::Ping(7))),
        ("pongs", SWARM_BYTES, frames(Frame::Pong(7))),
        ("a message without an end", BOMB_BYTES, frames(fragment(1, false))),
        ("no messages", BOMB_BYTES, frames(fragment(1, true))),
        (
            "messages for nobody",
            BOMB_BYTES,
            frames(Frame::Fragment { lane: 1, is_last: true, bytes: &message }),
        ),
        ("empty fragments", SWARM_BYTES, frames(Frame::Fragment { lane: 0, is_last: false, bytes: &[] })),
    ]
}

/// What it looks like when it travels: Zstandard at its best, and with a window beyond what is allowed.
fn packed(piece: &[u8], bytes: usize) -> Vec<Vec<u8>> {
    use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};
    [22, 27]
        .map(|window_log| {
            let mut encoder = Encoder::new(3).unwrap();
            encoder.set_parameter(CParameter::WindowLog(window_log)).unwrap();
            let mut out = Vec::new();
            let mut room = vec![0; 1 << 20];
            for _ in 0..bytes / piece.len() {
                let mut input = InBuffer::around(piece);
                while input.pos() < piece.len() {
                    let mut output = OutBuffer::around(room.as_mut_slice());
                    encoder.run(&mut input, &mut output).unwrap();
                    out.extend_from_slice(output.as_slice());
                }
            }
            let mut output = OutBuffer::around(room.as_mut_slice());
            encoder.finish(&mut output, true).unwrap();
            out.extend_from_slice(output.as_slice());
            out
        })
        .into()
}

/// Frames that hold nothing at all, of any format that Zstandard skips.
fn skipped() -> Vec<u8> {
    [0x50, 0x2A, 0x4D, 0x18, 0xF0, 0xFF, 0xFF, 0x7F].into_iter().chain(vec![0; 8 << 20]).collect()
}

fn all() -> Vec<(String, Vec<u8>)> {
    let mut all = vec![("skipped frames".to_owned(), skipped())];
    for (name, bytes, piece) in bombs() {
        for (number, bytes) in packed(&piece, bytes).into_iter().enumerate() {
            all.push((format!("{name}, window {number}"), bytes));
        }
    }
    all
}

fn hello(session: SessionId) -> Vec<u8> {
    Greeting::Hello(Hello {
        name: "foe".to_owned(),
        software: "hostile".to_owned(),
        session,
        resumes: false,
        greeting: 1,
        begun_by: None,
        received: 0,
        window: 1 << 20,
        channel_window: 1 << 20,
        message_bytes: 1 << 20,
        is_compressed: true,
    })
    .encode()
}

/// Throws it, as far as anybody takes it, and reads nothing.
async fn throw(connection: &mut Connection, bytes: &[u8]) {
    let _ = timeout(UNTAKEN, async {
        connection.writer.write_all(bytes).await?;
        connection.writer.flush().await
    })
    .await;
    // What has come is looked at before the connection is closed.
    tokio::time::sleep(Duration::from_millis(50)).await;
}

#[test]
fn edges_at_an_origin() {
    let site = Site::start();
    let foe = keys(site.keys.path(), "foe");
    let dialer = Dialer::new(&site.origin.address().to_string(), Transport::Tcp, &foe).unwrap();
    let all = all();
    let mut memory = Memory::watch();
    for (number, (name, bomb)) in all.iter().enumerate() {
        let session = SessionId([u8::try_from(number + 1).unwrap(); 16]);
        site.runtime.block_on(async {
            let mut connection = timeout(PATIENCE, dialer.connect()).await.unwrap().unwrap();
            throw(&mut connection, &[hello(session), bomb.clone()].concat()).await;
        });
        memory.is_bounded(&format!("{name} of an edge"));
        site.works();
    }
    site.stop();
}

#[test]
fn origins_at_an_edge() {
    let folder = tempfile::tempdir().unwrap();
    let [near, far] = ["near", "far"].map(|name| keys(folder.path(), name));
    near.trust(&far.line(), None).unwrap();
    far.trust(&near.line(), None).unwrap();
    let runtime = runtime();
    let all = all();
    let mut memory = Memory::watch();
    runtime.block_on(async {
        let mut acceptor = Acceptor::new(ANYWHERE, &far).await.unwrap();
        let edge = Edge::start(edge_options(acceptor.address(), near, folder.path())).await.unwrap();
        for (name, bomb) in &all {
            let mut connection =
                timeout(PATIENCE, acceptor.accept()).await.expect("the edge does not dial again").unwrap();
            let mut said = vec![0; 8_192];
            let mut length = 0;
            let session = loop {
                length +=
                    timeout(PATIENCE, connection.reader.read(&mut said[length..])).await.unwrap().unwrap();
                match Greeting::decode(&said[..length]).unwrap() {
                    Some((Greeting::Hello(hello), _)) => break hello.session,
                    Some(other) => panic!("{other:?}"),
                    None => {}
                }
            };
            throw(&mut connection, &[hello(session), bomb.clone()].concat()).await;
            drop(connection);
            memory.is_bounded(&format!("{name} of an origin"));
        }
        // It is still there for programs.
        assert!(tokio::net::TcpStream::connect(edge.address()).await.is_ok());
        edge.shutdown().await;
    });
}
