//! The greeting: what both ends say of themselves before anything else, uncompressed.
//!
//! | bytes | field |
//! |---|---|
//! | 8 | [`MAGIC`] |
//! | 2, 2 | first and last version of the farlink that the sender speaks, little-endian |
//! | 2 | length of what follows, at most [`GREETING_BYTES_MAX`] |
//! | n | a [`Greeting`] |
//!
//! The versions stand outside of what they govern, so that ends which have none in common can say so.

use serde::{Deserialize, Serialize};

/// How every link begins.
pub const MAGIC: [u8; 8] = *b"FARLINK\n";
/// Longest greeting behind the head.
pub const GREETING_BYTES_MAX: usize = 4096;
/// The version that this is.
pub const VERSION: u16 = 6;

const HEAD_BYTES: usize = 14;

/// A session of two ends, which may outlive its connections: random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SessionId(pub [u8; 16]);

/// What one end says first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Greeting {
    /// It wants to talk.
    Hello(Hello),
    /// It does not, and why.
    Refused(String),
}

/// Who it is and what may be sent to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Its name, for people. Who it is was proved below.
    pub name: String,
    /// Its software, for people.
    pub software: String,
    /// From the edge: the session that it has or begins. From the origin: the same.
    pub session: SessionId,
    /// Whether that session goes on: the edge asks for it, the origin decides.
    pub resumes: bool,
    /// From the edge: counts its greetings.
    pub greeting: u64,
    /// Which greeting of the edge began the session, as far as the sender knows: an origin that began it by another one is another origin, whose
    /// answer to that one was lost.
    pub begun_by: Option<u64>,
    /// Whole messages of the session that it has got.
    pub received: u64,
    /// Bytes of messages that may be under way to it.
    pub window: u32,
    /// The same of one channel, for what is pushed.
    pub channel_window: u32,
    /// Longest message that it takes.
    pub message_bytes: u32,
    /// Whether what it sends from here on is compressed.
    pub is_compressed: bool,
}

/// A greeting that cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadGreeting {
    /// Somebody else's protocol.
    #[error("the peer does not speak the farlink")]
    NoFarlink,
    /// No version in common.
    #[error("the peer speaks versions {0} to {1} of the farlink, this end version {VERSION}")]
    Version(u16, u16),
}

impl Greeting {
    /// As bytes.
    pub fn encode(&self) -> Vec<u8> {
        // Names are bounded where they are made, so this is short.
        let body = postcard::to_allocvec(self).unwrap_or_default();
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&u16::try_from(body.len()).unwrap_or(u16::MAX).to_le_bytes());
        out.extend_from_slice(&body);
        out
    }

    /// The greeting at the start of `bytes` and how long it is; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`BadGreeting`], as soon as the bytes show it.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Greeting, usize)>, BadGreeting> {
        let compared = bytes.len().min(MAGIC.len());
        if bytes[..compared] != MAGIC[..compared] {
            return Err(BadGreeting::NoFarlink);
        }
        let Some(head) = bytes.first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let word = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let (first, last, length) = (word(8), word(10), usize::from(word(12)));
        if !(first..=last).contains(&VERSION) {
            return Err(BadGreeting::Version(first, last));
        }
        if length > GREETING_BYTES_MAX {
            return Err(BadGreeting::NoFarlink);
        }
        let Some(body) = bytes.get(HEAD_BYTES..HEAD_BYTES + length) else { return Ok(None) };
        let greeting = postcard::from_bytes(body).map_err(|_| BadGreeting::NoFarlink)?;
        Ok(Some((greeting, HEAD_BYTES + length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_come_back_as_they_were() {
        let greeting = Greeting::Refused("not today".to_owned());
        let bytes = greeting.encode();
        for cut in 0..bytes.len() {
            assert_eq!(Greeting::decode(&bytes[..cut]), Ok(None));
        }
        assert_eq!(Greeting::decode(&bytes), Ok(Some((greeting, bytes.len()))));
    }

    #[test]
    fn others_are_told_apart() {
        assert_eq!(Greeting::decode(b"\0\0\0\x01"), Err(BadGreeting::NoFarlink));
        let mut newer = Greeting::Refused(String::new()).encode();
        newer[8] = 7;
        newer[10] = 9;
        assert_eq!(Greeting::decode(&newer), Err(BadGreeting::Version(7, 9)));
    }
}
