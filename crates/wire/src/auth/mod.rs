//! Authentication: the plugins' names, SRP, Legacy_Auth, and the form of user names.
//!
//! Promises: no randomness (bytes are handed in), no clock, no storage. Secrets are compared without telling by time
//! where they differ; the modular powers are not constant-time.
//! Uses `farbird_types` for errors. Source: wire-protocol.md, 3.

mod des_crypt;
pub mod legacy;
pub mod srp;
mod user_name;

pub use user_name::{USER_NAME_BYTES_MAX, normalize_user_name};

/// An authentication plugin that we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthPlugin {
    /// SRP with a proof of one hash.
    Srp(srp::ProofHash),
    /// DES of the password.
    Legacy,
}

impl AuthPlugin {
    /// All, in the order of preference.
    pub const ALL: [AuthPlugin; 6] = [
        AuthPlugin::Srp(srp::ProofHash::Sha256),
        AuthPlugin::Srp(srp::ProofHash::Sha512),
        AuthPlugin::Srp(srp::ProofHash::Sha384),
        AuthPlugin::Srp(srp::ProofHash::Sha224),
        AuthPlugin::Srp(srp::ProofHash::Sha1),
        AuthPlugin::Legacy,
    ];

    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            AuthPlugin::Srp(srp::ProofHash::Sha1) => "Srp",
            AuthPlugin::Srp(srp::ProofHash::Sha224) => "Srp224",
            AuthPlugin::Srp(srp::ProofHash::Sha256) => "Srp256",
            AuthPlugin::Srp(srp::ProofHash::Sha384) => "Srp384",
            AuthPlugin::Srp(srp::ProofHash::Sha512) => "Srp512",
            AuthPlugin::Legacy => "Legacy_Auth",
        }
    }

    /// The plugin of a name, in any case.
    pub fn from_name(name: &[u8]) -> Option<AuthPlugin> {
        AuthPlugin::ALL.into_iter().find(|plugin| plugin.name().as_bytes().eq_ignore_ascii_case(name))
    }

    /// The plugins of a list separated by commas and spaces; unknown names are left out.
    pub fn parse_list(list: &[u8]) -> Vec<AuthPlugin> {
        let names = list.split(|byte| matches!(byte, b',' | b' ' | b';' | b'\t'));
        names.filter_map(AuthPlugin::from_name).collect()
    }

    /// The plugins to try for a client, in order: the server's that the client has, the one the client began with
    /// first.
    pub fn select(
        server: &[AuthPlugin],
        client: &[AuthPlugin],
        begun: Option<AuthPlugin>,
    ) -> Vec<AuthPlugin> {
        let mut common: Vec<_> = server.iter().copied().filter(|plugin| client.contains(plugin)).collect();
        if let Some(position) = common.iter().position(|plugin| Some(*plugin) == begun) {
            common.swap(0, position);
        }
        common
    }
}

/// Why authentication data cannot be used. Users are told no more than "login failed".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    /// A public key, salt or proof that is not what it should be.
    #[error("malformed authentication data")]
    Malformed,
    /// A public key that is 0 or 1 modulo the prime: it would make the session key known.
    #[error("trivial public key")]
    TrivialKey,
    /// The proof is wrong: not the password.
    #[error("wrong proof")]
    WrongProof,
}

/// Compares without stopping at the first difference.
fn same_bytes(left: &[u8], right: &[u8]) -> bool {
    left.len() == right.len() && left.iter().zip(right).fold(0, |all, (l, r)| all | (l ^ r)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_that_the_client_began_with_goes_first() {
        let client = AuthPlugin::parse_list(b"Srp256, srp,Win_Sspi Legacy_Auth");
        assert_eq!(client.len(), 3);
        let begun = AuthPlugin::from_name(b"SRP");
        let selected = AuthPlugin::select(&AuthPlugin::ALL[..5], &client, begun);
        assert_eq!(selected, [begun.unwrap(), AuthPlugin::Srp(srp::ProofHash::Sha256)]);
    }
}
