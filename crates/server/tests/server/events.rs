//! Events as they are on the wire: the second connection, and what is refused. What is posted and told is a matter of the
//! client's tests.

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use farbird_types::isc;
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::event::{EventCount, parse_events};
use farbird_wire::packet::{QueueEvents, Reply, Request};
use farbird_wire::protocol::Handle;

use crate::common::{Client, TestServer};

const CONNECT: Request = Request::ConnectRequest { kind: 1, database: Handle::NONE, partner: 0 };

fn wait(epb: &[u8]) -> Request {
    Request::QueueEvents(QueueEvents {
        database: Handle::NONE,
        epb: epb.to_vec(),
        ast: 0,
        argument: 0,
        id: 7,
    })
}

/// The second connection.
fn second(client: &mut Client) -> TcpStream {
    let data = client.ask(CONNECT).unwrap().data;
    let [2, 0, high, low, 127, 0, 0, 1, ..] = data[..] else { panic!("{data:?}") };
    let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], u16::from_be_bytes([high, low]))));
    let stream = stream.unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The next packet there; `None` at the end. A connection that the server closes before it has taken it is reset by the kernel.
fn told(stream: &mut TcpStream) -> Option<QueueEvents> {
    let mut decoder = ReplyDecoder::new(Limits::default());
    loop {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(0) => return None,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
            read => read.map(drop).unwrap(),
        }
        decoder.feed(&byte);
        match decoder.next_reply().unwrap() {
            None => {}
            Some(answer) => match answer.reply {
                Reply::Event(events) => return Some(events),
                other => panic!("{other:?}"),
            },
        }
    }
}

#[test]
fn a_wait_needs_a_second_connection_and_a_list_of_events() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let a = [1, 1, b'A', 0, 0, 0, 0];
    let refused = |client: &mut Client, epb: &[u8]| client.ask(wait(epb)).unwrap_err().gds_code();
    assert_eq!(refused(&mut client, &a), isc::NET_EVENT_CONNECT_ERR);
    // There is nothing to be cancelled, which is no error in Firebird either.
    client.ask(Request::CancelEvents { database: Handle::NONE, id: 7 }).unwrap();
    let mut stream = second(&mut client);
    for malformed in [&[2, 1, b'A', 0, 0, 0, 0][..], &[1, 9, b'A', 0, 0, 0, 0], &[1, 1, b'A', 0, 0, 0]] {
        assert_eq!(refused(&mut client, malformed), isc::BAD_EPB_FORM, "{malformed:?}");
    }
    client.ask(wait(&a)).unwrap();
    let first = told(&mut stream).unwrap();
    assert_eq!(first.id, 7);
    assert_eq!(parse_events(&first.epb).unwrap(), [EventCount { name: b"A".to_vec(), count: 1 }]);
    client.send(&[Request::AbortAuxConnection]);
    assert!(told(&mut stream).is_none(), "closed");
    assert_eq!(refused(&mut client, &a), isc::NET_EVENT_CONNECT_ERR);
    client.run("EXECUTE BLOCK AS BEGIN POST_EVENT 'A'; END");
}

/// A client may ask again: the connection that it had is closed, and what was waited for there is not told.
#[test]
fn the_second_connection_ends_with_the_attachment_and_with_the_next_one() {
    let server = TestServer::start();
    let mut client = server.create("t.fbd");
    let mut poster = server.attach("t.fbd");
    let next = [1, 1, b'A', 1, 0, 0, 0];
    let mut earlier = second(&mut client);
    client.ask(wait(&next)).unwrap();
    let mut stream = second(&mut client);
    assert!(told(&mut earlier).is_none(), "closed");
    client.ask(wait(&next)).unwrap();
    poster.run("EXECUTE BLOCK AS BEGIN POST_EVENT 'A'; END");
    let counts = parse_events(&told(&mut stream).unwrap().epb).unwrap();
    assert_eq!(counts, [EventCount { name: b"A".to_vec(), count: 2 }]);
    client.ask(Request::Detach(Handle::NONE)).unwrap();
    assert!(told(&mut stream).is_none(), "closed");
    poster.run("EXECUTE BLOCK AS BEGIN POST_EVENT 'A'; END");
}
