//! Passes: with one, an edge logs a user in again whom it has seen logging in, when the session that it had with the origin is over and
//! nobody is there who could type the password.
//!
//! A pass says when the password was proved and for which edge and user, and is sealed with the user's verifier (HMAC, RFC 2104, with SHA-256). So the
//! server keeps nothing of it, and another process knows it for its own; it is void as soon as the user has another password, is
//! inactive or is dropped, and of no use to any other edge. Nobody but an origin in this process can bring one.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use farbird_types::Result;
use farbird_wire::auth::srp::Verifier;
use sha2::{Digest, Sha256};

use crate::security::random;

/// How long after the password was proved a pass may be used: one that is given for another says the same.
const LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// How far in the future that may be: clocks are set back.
const AHEAD_MAX: Duration = Duration::from_secs(300);
/// Bytes of SHA-256's blocks and of its result.
const BLOCK_BYTES: usize = 64;
const SEAL_BYTES: usize = 32;
/// When the password was proved, and something that makes it differ from others.
const HEAD_BYTES: usize = 8 + 16;
/// What the seal is for: nothing else that is sealed with a verifier can be taken for a pass.
const PURPOSE: &[u8] = b"farbird farlink pass 1";

/// Who a pass is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder<'h> {
    /// The edge's name.
    pub(crate) edge: &'h str,
    /// The user's normalised name.
    pub(crate) user: &'h str,
    pub(crate) verifier: &'h Verifier,
}

/// Issues a pass; `proved`: when the user has proved the password, since the epoch.
///
/// # Errors
/// There are no random bytes.
pub(crate) fn issue(holder: Holder<'_>, proved: Duration) -> Result<Vec<u8>> {
    let mut pass = proved.as_secs().to_le_bytes().to_vec();
    pass.extend(random::<16>()?);
    let seal = seal(holder, &pass);
    pass.extend(seal);
    Ok(pass)
}

/// When its user has proved the password, if this pass is the holder's and not too old.
pub(crate) fn valid_since(pass: &[u8], holder: Holder<'_>) -> Option<Duration> {
    valid_since_at(pass, holder, now())
}

fn valid_since_at(pass: &[u8], holder: Holder<'_>, now: Duration) -> Option<Duration> {
    let (head, given) = pass.split_at_checked(HEAD_BYTES)?;
    let proved = Duration::from_secs(u64::from_le_bytes(*head.first_chunk::<8>()?));
    let is_in_time = proved <= now + AHEAD_MAX && now.saturating_sub(proved) < LIFETIME;
    let expected = seal(holder, head);
    // All bytes are looked at: how long that takes tells nothing.
    let differing = expected.iter().zip(given).fold(0, |differing, (a, b)| differing | (a ^ b));
    (is_in_time && given.len() == SEAL_BYTES && differing == 0).then_some(proved)
}

/// The time since the epoch.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn seal(holder: Holder<'_>, head: &[u8]) -> [u8; SEAL_BYTES] {
    let part = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let (edge, user) = (part(holder.edge), part(holder.user));
    hmac(&holder.verifier.verifier(), &[PURPOSE, &edge, &user, head].concat())
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; SEAL_BYTES] {
    let mut block = [0; BLOCK_BYTES];
    if key.len() <= BLOCK_BYTES {
        block.iter_mut().zip(key).for_each(|(place, byte)| *place = *byte);
    } else {
        block.iter_mut().zip(Sha256::digest(key)).for_each(|(place, byte)| *place = byte);
    }
    let inner = Sha256::new().chain_update(block.map(|byte| byte ^ 0x36)).chain_update(message).finalize();
    let outer = Sha256::new().chain_update(block.map(|byte| byte ^ 0x5c)).chain_update(inner).finalize();
    outer.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test cases 2 and 6 of RFC 4231.
    #[test]
    fn seals_are_those_of_the_standard() {
        let hex = |bytes: [u8; SEAL_BYTES]| bytes.map(|byte| format!("{byte:02x}")).concat();
        assert_eq!(
            hex(hmac(b"Jefe", b"what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        assert_eq!(
            hex(hmac(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        );
    }

    #[test]
    fn a_pass_is_for_one_user_of_one_edge_with_one_password_and_for_a_day() {
        let verifier = Verifier::create("ALICE", "secret", [7; 32]);
        let holder = Holder { edge: "london", user: "ALICE", verifier: &verifier };
        let proved = Duration::from_secs(now().as_secs());
        let pass = issue(holder, proved).unwrap();
        let is_valid = |pass: &[u8], holder| valid_since(pass, holder).is_some();
        assert_eq!(valid_since(&pass, holder), Some(proved));
        assert!(!is_valid(&pass, Holder { edge: "paris", ..holder }));
        assert!(!is_valid(&pass, Holder { user: "BOB", ..holder }));
        let other = Verifier::create("ALICE", "another", [7; 32]);
        assert!(!is_valid(&pass, Holder { verifier: &other, ..holder }));
        for at in 0..pass.len() {
            let mut forged = pass.clone();
            forged[at] ^= 1;
            assert!(!is_valid(&forged, holder), "byte {at}");
            assert!(!is_valid(&pass[..at], holder), "{at} bytes");
        }
        assert!(!is_valid(&[&pass[..], &[0]].concat(), holder));
        let hour = Duration::from_secs(3_600);
        assert!(valid_since_at(&pass, holder, proved + 23 * hour).is_some());
        assert!(valid_since_at(&pass, holder, proved + 25 * hour).is_none());
        assert!(valid_since_at(&pass, holder, proved - hour).is_none(), "proved in the future");
    }
}
