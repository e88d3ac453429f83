//! Answers to a server that asks for the key of an encrypted database.
//!
//! Source: wire-protocol.md, 3.8: while a database is being attached, its key holder plugin may ask the client, any number
//! of times, before the attach is answered.

use std::fmt;
use std::sync::Arc;

use farbird_types::{Error, Result, isc};
use farbird_wire::packet::CryptKeyCallback;

/// Answers a server's key holder plugin: what it says goes in, what is said back to it comes out.
///
/// It runs while the connection is being attached and must not use it. Both sides have to know the same plugin's
/// conversation; the simplest asks nothing and takes the key. The line should be encrypted: see
/// [`ConnectOptions::wire_crypt`](crate::ConnectOptions::wire_crypt).
///
/// ```
/// use farbird_client::{ConnectOptions, KeyCallback};
///
/// let key = b"0123456789abcdef".to_vec();
/// let mut options = ConnectOptions::new("SYSDBA", "masterkey");
/// options.key_callback = Some(KeyCallback::new(move |_question| key.clone()));
/// ```
#[derive(Clone)]
pub struct KeyCallback(Arc<Answer>);

type Answer = dyn Fn(&[u8]) -> Vec<u8> + Send + Sync;

impl KeyCallback {
    /// A closure as the answer.
    pub fn new(answer: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> KeyCallback {
        KeyCallback(Arc::new(answer))
    }

    /// The answer as it travels.
    ///
    /// # Errors
    /// It is longer than the server has room for.
    pub(crate) fn answer(&self, question: &CryptKeyCallback, has_room: bool) -> Result<CryptKeyCallback> {
        let data = (self.0)(&question.data);
        let room = usize::from(question.reply_length);
        if has_room && data.len() > room {
            return Err(Error::new(isc::RANDOM).with(format!(
                "the key callback gave {} bytes where the server has room for {room}",
                data.len()
            )));
        }
        Ok(CryptKeyCallback { data, reply_length: question.reply_length })
    }
}

impl fmt::Debug for KeyCallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyCallback")
    }
}
