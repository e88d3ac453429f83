//! Wire encryption: the ciphers and the buffer that announces keys.
//!
//! Both directions use the same key and nonce with their own cipher; a position in the key stream counts every byte
//! sent since the switch. When to switch is the caller's affair (wire-protocol.md, 4.2).
//!
//! Promises: no randomness; nonces are handed in. Uses [`crate::clumplet`]. Source: wire-protocol.md, 4.

mod arc4;
pub mod keys;

use arc4::Arc4;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use sha2::{Digest, Sha256};

/// A cipher that op_crypt can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CryptPlugin {
    /// RC4 with the session key.
    Arc4,
    /// ChaCha20 as the IETF has it: 96-bit nonce, 32-bit counter.
    ChaCha,
    /// ChaCha20 as first published: 64-bit nonce, 64-bit counter.
    ChaCha64,
}

/// Bytes of the plugin data of ChaCha: nonce and initial counter.
pub const CHACHA_DATA_BYTES: usize = 16;
/// Bytes of the plugin data of ChaCha64: the nonce.
pub const CHACHA64_DATA_BYTES: usize = 8;
const CHACHA_NONCE_BYTES: usize = 12;

impl CryptPlugin {
    /// All, the preferred first (Firebird 5's default).
    pub const ALL: [CryptPlugin; 3] = [CryptPlugin::ChaCha64, CryptPlugin::ChaCha, CryptPlugin::Arc4];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            CryptPlugin::Arc4 => "Arc4",
            CryptPlugin::ChaCha => "ChaCha",
            CryptPlugin::ChaCha64 => "ChaCha64",
        }
    }

    /// The plugin of a name, in any case.
    pub fn from_name(name: &[u8]) -> Option<CryptPlugin> {
        CryptPlugin::ALL.into_iter().find(|plugin| plugin.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// A cipher for one direction.
    ///
    /// `data` is what the server announced for the plugin; for ChaCha 12 bytes of nonce, perhaps followed by the
    /// counter.
    ///
    /// # Errors
    /// [`CryptError`] if the data has the wrong length or the key is empty.
    pub fn cipher(self, session_key: &[u8], data: &[u8]) -> Result<Cipher, CryptError> {
        if session_key.is_empty() {
            return Err(CryptError::NoKey);
        }
        let inner = match self {
            CryptPlugin::Arc4 => Inner::Arc4(Box::new(Arc4::new(session_key))),
            CryptPlugin::ChaCha => {
                let (nonce, counter) =
                    data.split_first_chunk::<CHACHA_NONCE_BYTES>().ok_or(CryptError::BadData)?;
                let counter = match counter {
                    [] => 0,
                    _ => u32::from_be_bytes(counter.try_into().map_err(|_| CryptError::BadData)?),
                };
                let mut cipher = chacha20::ChaCha20::new(&Sha256::digest(session_key), &(*nonce).into());
                seek_block(&mut cipher, counter)?;
                Inner::ChaCha(Box::new(cipher))
            }
            CryptPlugin::ChaCha64 => {
                let nonce: [u8; CHACHA64_DATA_BYTES] = data.try_into().map_err(|_| CryptError::BadData)?;
                let key = Sha256::digest(session_key);
                Inner::ChaCha64(Box::new(chacha20::ChaCha20Legacy::new(&key, &nonce.into())))
            }
        };
        Ok(Cipher { inner })
    }
}

fn seek_block(cipher: &mut chacha20::ChaCha20, block: u32) -> Result<(), CryptError> {
    use chacha20::cipher::StreamCipherSeek;
    const BLOCK_BYTES: u64 = 64;
    cipher.try_seek(u64::from(block) * BLOCK_BYTES).map_err(|_| CryptError::BadData)
}

/// Why a connection cannot be encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CryptError {
    /// There is no session key.
    #[error("no session key")]
    NoKey,
    /// The announced data does not suit the plugin.
    #[error("bad plugin data")]
    BadData,
    /// The key stream is used up (256 GiB with ChaCha).
    #[error("key stream is used up")]
    Exhausted,
}

/// A cipher at work in one direction.
pub struct Cipher {
    inner: Inner,
}

enum Inner {
    Arc4(Box<Arc4>),
    ChaCha(Box<chacha20::ChaCha20>),
    ChaCha64(Box<chacha20::ChaCha20Legacy>),
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher")
    }
}

impl Cipher {
    /// Encrypts or decrypts in place; the key stream goes on.
    ///
    /// # Errors
    /// [`CryptError::Exhausted`].
    pub fn apply(&mut self, bytes: &mut [u8]) -> Result<(), CryptError> {
        match &mut self.inner {
            Inner::Arc4(cipher) => {
                cipher.apply(bytes);
                Ok(())
            }
            Inner::ChaCha(cipher) => cipher.try_apply_keystream(bytes).map_err(|_| CryptError::Exhausted),
            Inner::ChaCha64(cipher) => cipher.try_apply_keystream(bytes).map_err(|_| CryptError::Exhausted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[i * 2..i * 2 + 2], 16).unwrap()).collect()
    }

    /// Test vectors of RFC 6229 (RC4, 40-bit key 0102030405).
    #[test]
    fn arc4_makes_the_published_key_stream() {
        let mut cipher = CryptPlugin::Arc4.cipher(&[1, 2, 3, 4, 5], &[]).unwrap();
        let mut bytes = [0; 16];
        cipher.apply(&mut bytes).unwrap();
        assert_eq!(bytes[..], hex("b2396305f03dc027ccc3524a0a1118a8"));
    }

    #[test]
    fn both_directions_agree_whatever_the_cuts() {
        for plugin in CryptPlugin::ALL {
            let data: Vec<u8> = match plugin {
                CryptPlugin::Arc4 => vec![],
                CryptPlugin::ChaCha => [&[7; 12][..], &[0; 4]].concat(),
                CryptPlugin::ChaCha64 => vec![7; 8],
            };
            let key = [42; 20];
            let plain: Vec<u8> = (0..1000_u32).map(|i| i as u8).collect();
            let mut whole = plain.clone();
            plugin.cipher(&key, &data).unwrap().apply(&mut whole).unwrap();
            assert_ne!(whole, plain);
            let mut receiver = plugin.cipher(&key, &data).unwrap();
            for piece in whole.chunks_mut(77) {
                receiver.apply(piece).unwrap();
            }
            assert_eq!(whole, plain, "{plugin:?}");
        }
    }

    /// The key of the test vector in wire-protocol.md, 3.3, and the block function with it: both forms of ChaCha
    /// agree while nonce and counter words are the same.
    #[test]
    fn chacha_forms_agree_where_their_state_is_the_same() {
        let key = hex("E5EB3DD46542ACF411EA07F3BD61D9139D21A92A");
        assert_eq!(
            Sha256::digest(&key)[..],
            hex("94A643065063D71E69906815FEBA70552697C1CA25BECEA62E3034E97B9BEECD")
        );
        let mut ietf = [0; 128];
        let data = [&[0; 4][..], &[9; 8]].concat();
        CryptPlugin::ChaCha.cipher(&key, &data).unwrap().apply(&mut ietf).unwrap();
        let mut original = [0; 128];
        CryptPlugin::ChaCha64.cipher(&key, &[9; 8]).unwrap().apply(&mut original).unwrap();
        assert_eq!(ietf, original);
        // An initial counter skips blocks.
        let mut second = [0; 64];
        let data = [&data[..], &1_u32.to_be_bytes()].concat();
        CryptPlugin::ChaCha.cipher(&key, &data).unwrap().apply(&mut second).unwrap();
        assert_eq!(second[..], ietf[64..]);
    }

    #[test]
    fn unsuitable_data_is_refused() {
        assert!(CryptPlugin::ChaCha.cipher(b"k", &[0; 11]).is_err());
        assert!(CryptPlugin::ChaCha.cipher(b"k", &[0; 14]).is_err());
        assert!(CryptPlugin::ChaCha64.cipher(b"k", &[0; 12]).is_err());
        assert!(CryptPlugin::Arc4.cipher(b"", &[]).is_err());
        assert_eq!(CryptPlugin::from_name(b"chacha"), Some(CryptPlugin::ChaCha));
    }
}
