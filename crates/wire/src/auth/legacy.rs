//! Legacy_Auth: a DES hash of the password.
//!
//! No session key arises, so such a connection cannot be encrypted. Source: wire-protocol.md, 3.4.

use sha1::{Digest, Sha1};

use super::des_crypt as des;
use super::same_bytes;

/// Characters of the hash that travels.
pub const HASH_BYTES: usize = 11;
/// Characters of salt in a stored record.
pub const SALT_BYTES: usize = 12;
/// The salt `9z` of the hash that travels, as its twelve bits (`9` is 11, `z` is 63).
const WIRE_SALT: u16 = 63 << 6 | 11;

/// The hash that a client sends in place of the password.
pub fn hash(password: &str) -> [u8; HASH_BYTES] {
    des::crypt(password.as_bytes(), WIRE_SALT)
}

/// What the client sent, as the hash. One driver sends its characters in hexadecimal; that is accepted too.
pub fn parse_hash(data: &[u8]) -> Option<[u8; HASH_BYTES]> {
    if let Ok(plain) = data.try_into() {
        return Some(plain);
    }
    let (pairs, rest) = data.as_chunks::<2>();
    if pairs.len() != HASH_BYTES || !rest.is_empty() {
        return None;
    }
    let mut out = [0; HASH_BYTES];
    for (byte, pair) in out.iter_mut().zip(pairs) {
        let text = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(text, 16).ok()?;
    }
    Some(out)
}

/// The record that a server stores: salt and base64 of SHA-1 over salt, user and hash.
pub fn stored_record(user: &str, hash: &[u8; HASH_BYTES], salt: &[u8; SALT_BYTES]) -> Vec<u8> {
    let mut digest = Sha1::new();
    digest.update(salt);
    digest.update(user.as_bytes());
    digest.update(hash);
    let mut record = salt.to_vec();
    append_base64(&digest.finalize(), &mut record);
    record
}

/// Whether a hash belongs to a stored record.
pub fn verify(user: &str, hash: &[u8; HASH_BYTES], record: &[u8]) -> bool {
    let salt = record.split_first_chunk::<SALT_BYTES>();
    salt.is_some_and(|(salt, _)| same_bytes(&stored_record(user, hash, salt), record))
}

fn append_base64(bytes: &[u8], out: &mut Vec<u8>) {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for group in bytes.chunks(3) {
        let word =
            (0..3).fold(0_u32, |word, i| word << 8 | u32::from(group.get(i).copied().unwrap_or_default()));
        for digit in 0..4 {
            let six = word >> (18 - 6 * digit) & 0x3F;
            let filler = digit > group.len();
            out.push(if filler { b'=' } else { ALPHABET.get(six as usize).copied().unwrap_or_default() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_famous_password_has_its_famous_hash() {
        assert_eq!(&hash("masterkey"), b"QP3LMZ/MJh.");
        assert_eq!(hash("masterke"), hash("masterkey"));
    }

    #[test]
    fn records_verify_their_own_hash_only() {
        let record = stored_record("SYSDBA", &hash("masterkey"), b"abcdefghijkl");
        assert_eq!(record.len(), 12 + 28);
        assert!(verify("SYSDBA", &hash("masterkey"), &record));

        assert!(!verify("SYSDBA", &hash("other"), &record));
        assert!(!verify("JOE", &hash("masterkey"), &record));
        assert!(!verify("SYSDBA", &hash("masterkey"), b"short"));
    }

    #[test]
    fn hexadecimal_hashes_are_accepted() {
        let hex: String = hash("masterkey").iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(parse_hash(hex.as_bytes()), Some(hash("masterkey")));
        assert_eq!(parse_hash(b"QP3LMZ/MJh."), Some(hash("masterkey")));
        assert_eq!(parse_hash(b"QP3LMZ/MJh"), None);
    }
}
