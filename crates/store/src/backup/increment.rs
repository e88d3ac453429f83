//! What a file of a chain of incremental backups says of itself, and which chunks it need not have.

use xxhash_rust::xxh3::xxh3_64;

use super::digest::{ChunkDigest, DIGEST_BYTES};
use super::error::{BackupError, BackupResult};
use super::frame::ChunkList;
use crate::BuildMemory;

/// Bytes of the second header, and how many of them its checksum covers.
pub(crate) const INCREMENT_HEADER_BYTES: usize = 41;
const INCREMENT_HEADER_CHECKED_BYTES: usize = 33;
/// What a file of a chain says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IncrementHeader {
    /// How many files it builds on.
    pub level: u8,
    /// Its own GUID.
    pub guid: [u8; 16],
    /// The GUID of the file that it builds on; zeros in level 0.
    pub parent: [u8; 16],
}

impl IncrementHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![self.level];
        bytes.extend_from_slice(&self.guid);
        bytes.extend_from_slice(&self.parent);
        bytes.extend_from_slice(&xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// None if it is damaged.
    pub(crate) fn decode(bytes: &[u8; INCREMENT_HEADER_BYTES]) -> Option<IncrementHeader> {
        let (checked, checksum) = bytes.split_at(INCREMENT_HEADER_CHECKED_BYTES);
        if checksum != xxh3_64(checked).to_le_bytes() {
            return None;
        }
        let (mut guid, mut parent) = ([0; 16], [0; 16]);
        guid.copy_from_slice(&bytes[1..17]);
        parent.copy_from_slice(&bytes[17..33]);
        Some(IncrementHeader { level: bytes[0], guid, parent })
    }
}

/// The chunks of an incremental backup that is being written, and those that it need not have.
pub struct KnownChunks {
    /// Those of the backup that it builds on, in order.
    earlier: Vec<ChunkDigest>,
    all: Vec<ChunkDigest>,
    memory: Box<dyn BuildMemory>,
}

impl KnownChunks {
    /// With the chunks of the backup that the new one builds on, for which memory is taken already; more is taken of `memory`.
    pub fn new(mut earlier: Vec<ChunkDigest>, memory: Box<dyn BuildMemory>) -> KnownChunks {
        earlier.sort_unstable();
        KnownChunks { earlier, all: Vec::new(), memory }
    }

    /// All chunks of the backup that was written, in their order.
    pub fn into_all(self) -> Vec<ChunkDigest> {
        self.all
    }
}

impl ChunkList for KnownChunks {
    fn add(&mut self, digest: ChunkDigest) -> BackupResult<bool> {
        if self.all.len() == self.all.capacity() {
            let more = self.all.len().max(1_024);
            if !self.memory.try_grow(more * DIGEST_BYTES) {
                return Err(BackupError::TooManyChunks { chunks: self.all.len() as u64 });
            }
            self.all.reserve_exact(more);
        }
        self.all.push(digest);
        Ok(self.earlier.binary_search(&digest).is_ok())
    }
}

/// A GUID as Firebird writes it: 32 digits in groups, in braces.
pub fn guid_text(guid: &[u8; 16]) -> String {
    let digits: String = guid.iter().map(|byte| format!("{byte:02X}")).collect();
    let group = |from, to| digits.get(from..to).unwrap_or_default();
    format!("{{{}-{}-{}-{}-{}}}", group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32))
}

/// The GUID that such a text says; none if it is something else.
pub fn guid_of_text(text: &str) -> Option<[u8; 16]> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let shape: String = text.chars().map(|c| if c.is_ascii_hexdigit() { '0' } else { c }).collect();
    if shape != "{00000000-0000-0000-0000-000000000000}" {
        return None;
    }
    let mut guid = [0; 16];
    for (byte, pair) in guid.iter_mut().zip(digits.chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(guid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_come_back_and_other_texts_are_none() {
        for guid in [[0; 16], [0xA5; 16], std::array::from_fn(|i| i as u8)] {
            assert_eq!(guid_of_text(&guid_text(&guid)), Some(guid));
        }
        let written = "{2A410E1F-B28C-4CCA-8415-2560A8D228DC}";
        assert_eq!(guid_text(&guid_of_text(written).expect("guid")), written);
        assert_eq!(guid_of_text(&written.to_lowercase()), guid_of_text(written));
        let bare = written.trim_matches(['{', '}']);
        let joined = written.replace('-', "");
        for other in ["", "zzz", "{2A410E1F}", bare, &joined] {
            assert_eq!(guid_of_text(other), None, "{other}");
        }
    }
}
