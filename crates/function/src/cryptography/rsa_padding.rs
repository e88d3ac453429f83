//! What stands around a message or a digest before it meets a key of RSA: RFC 8017, sections 7.1 (OAEP), 7.2, 9.1 (PSS) and 9.2.

use farbird_types::Result;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

use super::rsa_key::element;
use super::value::fault;
use crate::random::random;

/// Bytes of the old padding beside its message.
const OLD_PADDING_BYTES: usize = 11;

/// The hash of a padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hash {
    Md5,
    Sha1,
    Sha256,
    Sha512,
}

impl Hash {
    pub(super) fn by_name(name: &str) -> Option<Hash> {
        Some(match name.to_ascii_uppercase().as_str() {
            "MD5" => Hash::Md5,
            "SHA1" => Hash::Sha1,
            "" | "SHA256" => Hash::Sha256,
            "SHA512" => Hash::Sha512,
            _ => return None,
        })
    }

    /// How many bytes it gives.
    pub(super) fn bytes(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 => 20,
            Hash::Sha256 => 32,
            Hash::Sha512 => 64,
        }
    }

    fn of(self, parts: &[&[u8]]) -> Vec<u8> {
        fn digest<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
            let mut digest = D::new();
            parts.iter().for_each(|part| digest.update(part));
            digest.finalize().to_vec()
        }
        match self {
            Hash::Md5 => digest::<Md5>(parts),
            Hash::Sha1 => digest::<Sha1>(parts),
            Hash::Sha256 => digest::<Sha256>(parts),
            Hash::Sha512 => digest::<Sha512>(parts),
        }
    }

    /// Its name as an object identifier.
    fn identifier(self) -> &'static [u8] {
        match self {
            Hash::Md5 => &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x02, 0x05],
            Hash::Sha1 => &[0x2B, 0x0E, 0x03, 0x02, 0x1A],
            Hash::Sha256 => &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
            Hash::Sha512 => &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03],
        }
    }

    /// Adds the mask that a seed gives.
    fn mask(self, seed: &[u8], bytes: &mut [u8]) {
        for (number, piece) in (0_u32..).zip(bytes.chunks_mut(self.bytes())) {
            let mask = self.of(&[seed, &number.to_be_bytes()]);
            piece.iter_mut().zip(mask).for_each(|(byte, other)| *byte ^= other);
        }
    }
}

/// Why something cannot be padded, or is not what was padded.
pub(super) type Padded = std::result::Result<Vec<u8>, &'static str>;

/// OAEP of a message, for a key of so many bytes.
///
/// # Errors
/// Those of the machine's randomness. The result says whether the message is too long.
pub(super) fn oaep(hash: Hash, message: &[u8], label: &[u8], key_bytes: usize) -> Result<Padded> {
    let length = hash.bytes();
    let Some(room) = key_bytes.checked_sub(2 * length + 2).filter(|room| message.len() <= *room) else {
        return Ok(Err(fault::SIZE));
    };
    let mut seed = vec![0; length];
    random(&mut seed)?;
    let mut block = hash.of(&[label]);
    block.resize(length + room - message.len(), 0);
    block.push(1);
    block.extend(message);
    hash.mask(&seed, &mut block);
    hash.mask(&block, &mut seed);
    Ok(Ok([&[0], &*seed, &*block].concat()))
}

/// The message out of OAEP; nothing if it is none of this label and hash.
pub(super) fn from_oaep(hash: Hash, padded: &[u8], label: &[u8]) -> Option<Vec<u8>> {
    let length = hash.bytes();
    let (first, rest) = padded.split_first()?;
    let (seed, block) = rest.split_at_checked(length)?;
    let (mut seed, mut block) = (seed.to_vec(), block.to_vec());
    hash.mask(&block, &mut seed);
    hash.mask(&seed, &mut block);
    let (of_label, rest) = block.split_at_checked(length)?;
    let end = rest.iter().position(|byte| *byte != 0)?;
    let (_, message) = rest.split_at_checked(end)?;
    let (mark, message) = message.split_first()?;
    (*first == 0 && *mark == 1 && of_label == hash.of(&[label])).then(|| message.to_vec())
}

/// The old padding of a message.
///
/// # Errors
/// As [`oaep`].
pub(super) fn old(message: &[u8], key_bytes: usize) -> Result<Padded> {
    let Some(room) = key_bytes.checked_sub(message.len() + OLD_PADDING_BYTES) else {
        return Ok(Err(fault::SIZE));
    };
    let mut filling = vec![0; room + 8];
    for byte in &mut filling {
        while *byte == 0 {
            random(std::slice::from_mut(byte))?;
        }
    }
    Ok(Ok([&[0, 2], &*filling, &[0], message].concat()))
}

/// The message out of the old padding.
pub(super) fn from_old(padded: &[u8]) -> Option<Vec<u8>> {
    let rest = padded.strip_prefix(&[0, 2])?;
    let end = rest.iter().position(|byte| *byte == 0).filter(|end| *end >= 8)?;
    rest.get(end + 1..).map(<[u8]>::to_vec)
}

/// How long the salt of PSS may be.
pub(super) fn salt_bytes_max(hash: Hash, key_bytes: usize) -> Option<usize> {
    key_bytes.checked_sub(hash.bytes() + 2)
}

/// PSS of a digest, for a key of so many bits.
///
/// # Errors
/// As [`oaep`].
pub(super) fn pss(hash: Hash, digest: &[u8], salt_bytes: usize, key_bits: usize) -> Result<Padded> {
    let mut salt = vec![0; salt_bytes];
    random(&mut salt)?;
    Ok(pss_of(hash, digest, &salt, key_bits))
}

fn pss_of(hash: Hash, digest: &[u8], salt: &[u8], key_bits: usize) -> Padded {
    let bits = key_bits.saturating_sub(1);
    let bytes = bits.div_ceil(8);
    let Some(room) = bytes.checked_sub(hash.bytes() + salt.len() + 2) else { return Err(fault::SIZE) };
    let own = hash.of(&[&[0; 8], digest, salt]);
    let mut block = vec![0; room];
    block.push(1);
    block.extend(salt);
    hash.mask(&own, &mut block);
    if let Some(first) = block.first_mut() {
        *first &= 0xFF >> (8 * bytes - bits);
    }
    Ok([&*block, &*own, &[0xBC]].concat())
}

/// Whether a signature's message is PSS of a digest.
pub(super) fn is_pss(hash: Hash, digest: &[u8], salt_bytes: usize, key_bits: usize, message: &[u8]) -> bool {
    let bits = key_bits.saturating_sub(1);
    let bytes = bits.div_ceil(8);
    // A key of 8 n + 1 bits has a byte more, which is 0.
    let Some(above) = message.len().checked_sub(bytes) else { return false };
    let Some((zeros, message)) = message.split_at_checked(above) else { return false };
    let Some(block_bytes) = bytes.checked_sub(hash.bytes() + 1).filter(|bytes| *bytes > salt_bytes) else {
        return false;
    };
    let Some((block, rest)) = message.split_at_checked(block_bytes) else { return false };
    let Some((own, _)) = rest.split_at_checked(hash.bytes()) else { return false };
    let mut block = block.to_vec();
    hash.mask(own, &mut block);
    if let Some(first) = block.first_mut() {
        *first &= 0xFF >> (8 * bytes - bits);
    }
    let salt = block.split_at_checked(block_bytes - salt_bytes).map_or(&[][..], |(_, salt)| salt);
    zeros.iter().all(|byte| *byte == 0)
        && pss_of(hash, digest, salt, key_bits).is_ok_and(|expected| expected == message)
}

/// The old padding of a digest.
///
/// # Errors
/// If the key is too short.
pub(super) fn old_signature(hash: Hash, digest: &[u8], key_bytes: usize) -> Padded {
    let name = element(0x30, &[element(0x06, hash.identifier()), element(0x05, &[])].concat());
    let named = element(0x30, &[name, element(0x04, digest)].concat());
    let Some(room) = key_bytes.checked_sub(named.len() + OLD_PADDING_BYTES) else { return Err(fault::SIZE) };
    Ok([&[0, 1], &*vec![0xFF; room + 8], &[0], &*named].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_back_out_of_their_padding_and_out_of_no_other() {
        let padded = oaep(Hash::Sha256, b"abc", b"label", 128).expect("randomness").expect("it fits");
        assert_eq!(padded.len(), 128);
        assert_eq!(from_oaep(Hash::Sha256, &padded, b"label").as_deref(), Some(&b"abc"[..]));
        assert_eq!(from_oaep(Hash::Sha256, &padded, b"another"), None);
        assert_eq!(from_oaep(Hash::Sha1, &padded, b"label"), None);
        assert!(oaep(Hash::Sha256, &[1; 62], b"", 128).expect("randomness").is_ok());
        assert!(oaep(Hash::Sha256, &[1; 63], b"", 128).expect("randomness").is_err());
        let padded = old(b"abc", 128).expect("randomness").expect("it fits");
        assert_eq!(from_old(&padded).as_deref(), Some(&b"abc"[..]));
        assert!(old(&[1; 118], 128).expect("randomness").is_err());
    }

    #[test]
    fn a_digest_is_known_by_its_salt_and_hash() {
        for bits in [1_024, 1_025, 1_031] {
            let padded = pss(Hash::Sha512, b"digest", 8, bits).expect("randomness").expect("it fits");
            let message = [&vec![0; bits.div_ceil(8) - padded.len()][..], &padded].concat();
            assert!(is_pss(Hash::Sha512, b"digest", 8, bits, &message));
            assert!(!is_pss(Hash::Sha512, b"other", 8, bits, &message));
            assert!(!is_pss(Hash::Sha512, b"digest", 9, bits, &message));
            assert!(!is_pss(Hash::Sha256, b"digest", 8, bits, &message));
            assert!(!is_pss(Hash::Sha512, b"digest", 8, bits, b"short"));
        }
    }
}
