//! Conversations of the origin with real servers: Farbird's, and those that `FARBIRD_TEST_FIREBIRD` names as in the client's tests.

mod farbird;
mod relay;
mod servers;
mod working_day;

use std::net::SocketAddr;

/// Serves programs before the server at `RELAY_TO` until it is killed: for trying drivers by hand.
#[test]
#[ignore = "serves until it is killed"]
fn serve() {
    let server: SocketAddr = std::env::var("RELAY_TO").unwrap().parse().unwrap();
    let kind =
        if std::env::var_os("RELAY_PUSHES").is_some() { relay::Kind::Pushing } else { relay::Kind::Relaying };
    println!("LISTENING {}", relay::start(server, kind, None));
    loop {
        std::thread::park();
    }
}
