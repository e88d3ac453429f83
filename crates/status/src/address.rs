//! Where a page is served, as the command line and settings files say it.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;

/// Where a status page is served: a port means this machine only, everything else is said with its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusAddress(pub SocketAddr);

impl std::str::FromStr for StatusAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<StatusAddress, String> {
        let port = text.strip_prefix(':').unwrap_or(text).parse::<u16>();
        let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        match port {
            Ok(port) => Ok(StatusAddress(here(port))),
            Err(_) => text
                .parse()
                .map(StatusAddress)
                .map_err(|_| format!("{text} is neither a port nor ADDRESS:PORT")),
        }
    }
}

impl<'de> Deserialize<'de> for StatusAddress {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<StatusAddress, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Port(u16),
            Text(String),
        }
        match Written::deserialize(from)? {
            Written::Port(port) => Ok(StatusAddress(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))),
            Written::Text(text) => text.parse().map_err(serde::de::Error::custom),
        }
    }
}
