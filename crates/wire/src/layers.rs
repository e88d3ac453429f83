//! What lies between packets and the socket, in its order: compression, then encryption, with counters.
//!
//! Promises: no I/O; one call of [`Incoming::receive`] gives out a bounded number of bytes.
//! Uses [`crate::compress`], [`crate::counters`], [`crate::crypt`]. Source: wire-protocol.md, 4.2 and 5.

use crate::compress::{Deflater, Inflater};
use crate::counters::Counters;
use crate::crypt::{Cipher, CryptError};
use crate::xdr::DecodeError;

/// Most decompressed bytes that one call gives out.
pub const INFLATED_BYTES_MAX: usize = 1024 * 1024;

/// Why bytes could not pass a layer. The connection is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// Decompression failed.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// Encryption failed.
    #[error(transparent)]
    Crypt(#[from] CryptError),
}

/// The way in: socket, cipher, decompression.
#[derive(Debug, Default)]
pub struct Incoming {
    cipher: Option<Cipher>,
    inflater: Option<Inflater>,
    /// Decrypted bytes that decompression has not taken yet.
    waiting: Vec<u8>,
    more: bool,
}

impl Incoming {
    /// Everything after the bytes received so far is encrypted.
    pub fn encrypt(&mut self, cipher: Cipher) {
        self.cipher = Some(cipher);
    }

    /// Everything after the bytes received so far is compressed.
    pub fn compress(&mut self) {
        self.inflater = Some(Inflater::default());
    }

    /// Passes the bytes of one read, which may be changed, appending plain bytes to `out` and counting. With
    /// compression at most [`INFLATED_BYTES_MAX`] come out; as long as [`Incoming::has_more`], take the rest by
    /// [`Incoming::receive_more`] before reading again.
    ///
    /// # Errors
    /// [`LayerError`] for damage.
    pub fn receive(
        &mut self,
        bytes: &mut [u8],
        counters: &mut Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), LayerError> {
        counters.received(bytes.len());
        self.pass(bytes, counters, out)
    }

    /// Passes bytes that came with an earlier read, before the last layer was switched on; they are counted already.
    ///
    /// # Errors
    /// [`LayerError`] for damage.
    pub fn pass(
        &mut self,
        bytes: &mut [u8],
        counters: &mut Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), LayerError> {
        if let Some(cipher) = &mut self.cipher {
            cipher.apply(bytes)?;
        }
        if self.inflater.is_none() {
            counters.bytes_in(bytes.len());
            out.extend_from_slice(bytes);
            return Ok(());
        }
        self.waiting.extend_from_slice(bytes);
        self.receive_more(counters, out)
    }

    /// Whether decompression holds more than it was allowed to give out.
    pub fn has_more(&self) -> bool {
        self.more
    }

    /// Gives out more of what was received.
    ///
    /// # Errors
    /// [`LayerError`] for damage.
    pub fn receive_more(&mut self, counters: &mut Counters, out: &mut Vec<u8>) -> Result<(), LayerError> {
        let Some(inflater) = &mut self.inflater else { return Ok(()) };
        let start = out.len();
        let used = inflater.inflate(&self.waiting, out, INFLATED_BYTES_MAX)?;
        self.waiting.drain(..used);
        let produced = out.len() - start;
        self.more = produced == INFLATED_BYTES_MAX || !self.waiting.is_empty();
        counters.bytes_in(produced);
        Ok(())
    }
}

/// The way out: compression, cipher, socket.
#[derive(Debug, Default)]
pub struct Outgoing {
    cipher: Option<Cipher>,
    deflater: Option<Deflater>,
}

impl Outgoing {
    /// Everything from here is encrypted.
    pub fn encrypt(&mut self, cipher: Cipher) {
        self.cipher = Some(cipher);
    }

    /// Everything from here is compressed.
    pub fn compress(&mut self) {
        self.deflater = Some(Deflater::default());
    }

    /// Passes a flush of packets, appending what goes to the socket to `out` and counting its plain bytes. Count
    /// each write with [`Counters::sent`].
    ///
    /// # Errors
    /// [`LayerError::Crypt`] when a key stream is used up.
    pub fn send(
        &mut self,
        plain: &[u8],
        counters: &mut Counters,
        out: &mut Vec<u8>,
    ) -> Result<(), LayerError> {
        counters.bytes_out(plain.len());
        let start = out.len();
        match &mut self.deflater {
            Some(deflater) => deflater.flush(plain, out),
            None => out.extend_from_slice(plain),
        }
        if let (Some(cipher), Some(fresh)) = (&mut self.cipher, out.get_mut(start..)) {
            cipher.apply(fresh)?;
        }
        Ok(())
    }

    /// As [`Outgoing::send`], with the plain bytes in the place of which what goes to the socket is put.
    ///
    /// # Errors
    /// As [`Outgoing::send`].
    pub fn send_in_place(&mut self, bytes: &mut Vec<u8>, counters: &mut Counters) -> Result<(), LayerError> {
        if self.deflater.is_some() {
            let mut out = Vec::new();
            self.send(bytes, counters, &mut out)?;
            *bytes = out;
            return Ok(());
        }
        counters.bytes_out(bytes.len());
        if let Some(cipher) = &mut self.cipher {
            cipher.apply(bytes)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypt::CryptPlugin;

    #[test]
    fn what_goes_out_comes_in_through_every_stack_of_layers() {
        for layers in 0..4 {
            let (mut outgoing, mut incoming) = (Outgoing::default(), Incoming::default());
            if layers & 1 == 1 {
                outgoing.compress();
                incoming.compress();
            }
            if layers & 2 == 2 {
                let cipher = || CryptPlugin::ChaCha64.cipher(&[1; 20], &[2; 8]).unwrap();
                outgoing.encrypt(cipher());
                incoming.encrypt(cipher());
            }
            let mut counters = Counters::default();
            let plain: Vec<u8> = (0..3_000_000_u32).map(|i| (i / 1000) as u8).collect();
            let mut wire = Vec::new();
            for (number, flush) in plain.chunks(700_000).enumerate() {
                if number % 2 == 0 {
                    outgoing.send(flush, &mut counters, &mut wire).unwrap();
                } else {
                    let mut flush = flush.to_vec();
                    outgoing.send_in_place(&mut flush, &mut counters).unwrap();
                    wire.extend(flush);
                }
            }
            let mut out = Vec::new();
            for read in wire.chunks_mut(50_000) {
                incoming.receive(read, &mut counters, &mut out).unwrap();
                while incoming.has_more() {
                    incoming.receive_more(&mut counters, &mut out).unwrap();
                }
            }
            assert!(out == plain, "{layers}");
            assert_eq!((counters.out_bytes, counters.in_bytes), (3_000_000, 3_000_000));
            assert_eq!(counters.receive_bytes, wire.len() as u64);
        }
    }
}
