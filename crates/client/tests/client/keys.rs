//! Servers that ask for the key of an encrypted database, which no server has without a plugin of its own: they are played.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use farbird_client::{ConnectOptions, Connection, Error, KeyCallback, WireCrypt, blocking, isc};
use farbird_wire::decoder::{Limits, RequestDecoder};
use farbird_wire::packet::{Accept, CryptKeyCallback, Reply, Request, Response};
use farbird_wire::protocol::{Handle, ProtocolVersion};

const QUESTION: &[u8] = b"which key?";

/// A server for one client: it takes any login, and asks `times` times for a key before it lets the database be attached.
/// Gives the answers.
fn asking(version: ProtocolVersion, times: usize, room: u16) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (sender, answers) = channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut decoder = RequestDecoder::new(Limits::default());
        let mut left = times;
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            decoder.feed(&buffer[..count]);
            while let Ok(Some(request)) = decoder.next_request() {
                let mut reply = match request {
                    Request::Connect(_) => {
                        decoder.set_version(version);
                        decoder.authenticated();
                        Reply::Accept(Accept {
                            version: version.to_wire(),
                            architecture: 1,
                            connection_type: 5,
                        })
                    }
                    Request::CryptKeyCallback(answer) => {
                        sender.send(answer.data).unwrap();
                        left -= 1;
                        Reply::Response(Response::object(Handle::NONE))
                    }
                    _ => Reply::Response(Response::object(Handle::NONE)),
                };
                if left > 0 && !matches!(reply, Reply::Accept(_)) {
                    reply = Reply::CryptKeyCallback(CryptKeyCallback {
                        data: QUESTION.to_vec(),
                        reply_length: room,
                    });
                }
                let mut out = Vec::new();
                reply.encode(version, &mut out);
                stream.write_all(&out).unwrap();
            }
        }
    });
    (address, answers)
}

fn options(key_callback: Option<KeyCallback>) -> ConnectOptions {
    let options = ConnectOptions::new("SYSDBA", "masterkey");
    ConnectOptions { wire_crypt: WireCrypt::Disabled, key_callback, ..options }
}

fn attach(address: SocketAddr, options: &ConnectOptions) -> Result<blocking::Connection, Error> {
    blocking::Connection::attach(&format!("{}/{}:db", address.ip(), address.port()), options)
}

#[test]
fn a_closure_answers_with_the_key_as_often_as_it_is_asked() {
    let callback = KeyCallback::new(|question| [b"key for ", question].concat());
    let options = options(Some(callback));
    for version in [ProtocolVersion::V13, ProtocolVersion::V15, ProtocolVersion::V19] {
        let (address, answers) = asking(version, 2, 64);
        let connection = attach(address, &options).unwrap();
        assert_eq!(connection.version(), version);
        let expected = [b"key for ", QUESTION].concat();
        assert_eq!([answers.recv().unwrap(), answers.recv().unwrap()], [expected.clone(), expected.clone()]);

        let (address, answers) = asking(version, 1, 64);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let location = format!("{}/{}:db", address.ip(), address.port());
        runtime.block_on(Connection::attach(&location, &options)).unwrap();
        assert_eq!(answers.recv().unwrap(), expected);
    }
}

#[test]
fn who_has_no_key_says_so_and_who_has_too_long_a_one_is_told() {
    let (address, answers) = asking(ProtocolVersion::V17, 1, 64);
    attach(address, &options(None)).unwrap();
    assert_eq!(answers.recv().unwrap(), b"");

    let (address, _answers) = asking(ProtocolVersion::V17, 1, 3);
    let error = attach(address, &options(Some(KeyCallback::new(|_| vec![7; 4])))).unwrap_err();
    assert!(error.has(isc::RANDOM) && error.to_string().contains("4 bytes"), "{error}");
}
