//! By what the chunks of incremental backups are told from each other.

use sha2::{Digest, Sha256};

/// Bytes of a digest.
pub(crate) const DIGEST_BYTES: usize = 32;

/// What is in a chunk, as SHA-256: nobody makes another chunk of the same digest, who may write into the database neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkDigest(pub [u8; DIGEST_BYTES]);

impl ChunkDigest {
    pub(crate) fn of(items: &[u8]) -> ChunkDigest {
        ChunkDigest(Sha256::digest(items).into())
    }
}
