//! A hostile end of a farlink: greetings, frames, messages, and a link that is fed what the other end should never say.
//!
//! The first byte chooses. Beyond not panicking: what was accepted comes back as it was from our own encoder, and a link that has
//! met damage stays in that error.
#![no_main]

use std::time::Duration;

use farbird_farlink::frame::Frame;
use farbird_farlink::link::{EdgeLink, Greeting, Hello, Link, OriginLink, SessionId, Settings};
use farbird_farlink::message::{ToEdge, ToOrigin};
use libfuzzer_sys::fuzz_target;

const SESSION: SessionId = SessionId([1; 16]);

fn settings() -> Settings {
    Settings { window: 1 << 16, channel_window: 1 << 14, message_bytes: 1 << 16, ..Settings::default() }
}

fn hello(is_compressed: bool) -> Hello {
    Hello {
        name: "peer".to_owned(),
        software: "fuzz".to_owned(),
        session: SESSION,
        resumes: false,
        greeting: 1,
        begun_by: None,
        received: 0,
        window: 1 << 16,
        channel_window: 1 << 14,
        message_bytes: 1 << 16,
        is_compressed,
    }
}

/// Feeds the rest in pieces whose lengths it gives itself.
fn feed<Out: farbird_farlink::link::Message, In: farbird_farlink::link::Message>(
    mut link: Link<Out, In>,
    mut rest: &[u8],
) {
    let mut failure = None;
    while let [length, after @ ..] = rest {
        let (piece, after) = after.split_at((usize::from(*length) + 1).min(after.len()));
        rest = after;
        let result = link.receive(piece, Duration::from_secs(1));
        if let Some(before) = failure.replace(result.clone()) {
            assert!(before.is_ok() || before == result, "an error does not go away");
        }
        while link.take_message().is_some() {}
        while link.take_event().is_some() {}
        link.take_output(1 << 16);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 6 {
        0 => {
            if let Ok(Some((greeting, _))) = Greeting::decode(rest) {
                let bytes = greeting.encode();
                assert_eq!(Greeting::decode(&bytes), Ok(Some((greeting, bytes.len()))));
            }
        }
        1 => {
            if let Ok(Some((frame, length))) = Frame::decode(rest) {
                let mut bytes = Vec::new();
                frame.encode(&mut bytes);
                assert_eq!(bytes, &rest[..length]);
            }
        }
        2 => {
            if let Ok(message) = ToOrigin::decode(rest) {
                assert_eq!(ToOrigin::decode(&message.encode()), Ok(message));
            }
        }
        3 => {
            if let Ok(message) = ToEdge::decode(rest) {
                assert_eq!(ToEdge::decode(&message.encode()), Ok(message));
            }
        }
        4 => {
            let mut link: OriginLink = Link::origin(settings(), "origin", SESSION, Duration::ZERO);
            let is_compressed = rest.first().is_some_and(|first| first % 2 == 1);
            link.accept(&hello(is_compressed), Duration::ZERO).expect("a lawful greeting");
            feed(link, rest.get(1..).unwrap_or_default());
        }
        _ => {
            let mut link: EdgeLink = Link::edge(settings(), "edge", SESSION, Duration::ZERO);
            link.connected(Duration::ZERO);
            let is_compressed = rest.first().is_some_and(|first| first % 2 == 1);
            let greeting = Greeting::Hello(hello(is_compressed)).encode();
            link.receive(&greeting, Duration::ZERO).expect("a lawful greeting");
            feed(link, rest.get(1..).unwrap_or_default());
        }
    }
});
