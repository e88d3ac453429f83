//! Secure Remote Password as Firebird has it: SRP-6a with its own proof.
//!
//! x, u, k and the session key always use SHA-1; only the proof's hash differs by plugin. Numbers are hashed without
//! leading zero bytes, the salt as its hexadecimal text. User names come normalised
//! ([`super::normalize_user_name`]). Source: wire-protocol.md, 3.3.

use num_bigint::BigUint;
use sha1::{Digest, Sha1};
use sha2::{Sha224, Sha256, Sha384, Sha512};

use super::{AuthError, same_bytes};

/// Random bytes of a private key.
pub const PRIVATE_KEY_BYTES: usize = 32;
/// Random bytes of a salt.
pub const SALT_BYTES: usize = 32;
/// Bytes of a session key.
pub const SESSION_KEY_BYTES: usize = 20;

const GENERATOR: u32 = 2;
const PRIME_HEX: &[u8] = b"E67D2E994B2F900C3F41F08F5BB2627ED0D49EE1FE767A52EFCD565CD6E768812C3E1E9CE8F0A8BEA6CB13CD29DDEBF7\
A96D4A93B55D488DF099A15C89DCB0640738EB2CBDD9A8F7BAB561AB1B0DC1C6CDABF303264A08D1BCA932D1F1EE428B619D970F342ABA9A65793B8B\
2F041AE5364350C16F735F56ECBCA87BD57B29E7";
const PRIME_BYTES: usize = 128;
/// Longest public key as text. Peers may pad to whole bytes.
const PUBLIC_KEY_TEXT_MAX: usize = 2 * PRIME_BYTES;
const SALT_TEXT_MAX: usize = 2 * SALT_BYTES;
/// Longest proof as text (SHA-512).
const PROOF_TEXT_MAX: usize = 128;

/// What distinguishes the plugins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProofHash {
    /// Srp
    Sha1,
    /// Srp224
    Sha224,
    /// Srp256
    Sha256,
    /// Srp384
    Sha384,
    /// Srp512
    Sha512,
}

impl ProofHash {
    fn digest(self, parts: &[&[u8]]) -> BigUint {
        fn of<D: Digest>(parts: &[&[u8]]) -> BigUint {
            BigUint::from_bytes_be(&hash::<D>(parts))
        }
        match self {
            ProofHash::Sha1 => of::<Sha1>(parts),
            ProofHash::Sha224 => of::<Sha224>(parts),
            ProofHash::Sha256 => of::<Sha256>(parts),
            ProofHash::Sha384 => of::<Sha384>(parts),
            ProofHash::Sha512 => of::<Sha512>(parts),
        }
    }
}

fn hash<D: Digest>(parts: &[&[u8]]) -> Vec<u8> {
    let mut digest = D::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().to_vec()
}

fn sha1(parts: &[&[u8]]) -> Vec<u8> {
    hash::<Sha1>(parts)
}

fn number_of(parts: &[&[u8]]) -> BigUint {
    BigUint::from_bytes_be(&sha1(parts))
}

/// Minimal big-endian bytes; none for zero.
fn bytes(number: &BigUint) -> Vec<u8> {
    if *number == BigUint::ZERO { Vec::new() } else { number.to_bytes_be() }
}

fn hex(number: &BigUint) -> String {
    number.to_str_radix(16).to_ascii_uppercase()
}

fn parse_hex(text: &[u8], length_max: usize) -> Result<BigUint, AuthError> {
    let plain = !text.is_empty() && text.len() <= length_max && text.iter().all(u8::is_ascii_hexdigit);
    let number = if plain { BigUint::parse_bytes(text, 16) } else { None };
    number.ok_or(AuthError::Malformed)
}

fn prime() -> BigUint {
    BigUint::parse_bytes(PRIME_HEX, 16).unwrap_or_default()
}

fn generator() -> BigUint {
    BigUint::from(GENERATOR)
}

/// SHA1(bytes(N), g padded to the length of N): the only padded number.
fn multiplier(prime: &BigUint) -> BigUint {
    let mut padded = [0; PRIME_BYTES];
    if let Some(last) = padded.last_mut() {
        *last = GENERATOR as u8;
    }
    number_of(&[&bytes(prime), &padded])
}

fn user_key(user: &str, password: &str, salt_text: &[u8]) -> BigUint {
    let inner = sha1(&[user.as_bytes(), b":", password.as_bytes()]);
    number_of(&[salt_text, &inner])
}

fn parse_public_key(text: &[u8], prime: &BigUint) -> Result<BigUint, AuthError> {
    let key = parse_hex(text, PUBLIC_KEY_TEXT_MAX)?;
    if &key % prime < BigUint::from(2_u32) { Err(AuthError::TrivialKey) } else { Ok(key) }
}

/// What both sides know at the end.
struct Exchange<'a> {
    prime: &'a BigUint,
    user: &'a str,
    salt_text: &'a [u8],
    client_key: &'a BigUint,
    server_key: &'a BigUint,
}

impl Exchange<'_> {
    fn scrambler(&self) -> BigUint {
        number_of(&[&bytes(self.client_key), &bytes(self.server_key)])
    }

    fn proof(&self, hash: ProofHash, session_key: &[u8]) -> BigUint {
        let prime_hash = number_of(&[&bytes(self.prime)]);
        let generator_hash = number_of(&[&bytes(&generator())]);
        // A modular power, where SRP's authors have an exclusive or.
        let group = prime_hash.modpow(&generator_hash, self.prime);
        let user_hash = number_of(&[self.user.as_bytes()]);
        hash.digest(&[
            &bytes(&group),
            &bytes(&user_hash),
            self.salt_text,
            &bytes(self.client_key),
            &bytes(self.server_key),
            session_key,
        ])
    }
}

fn session_key(secret: &BigUint) -> [u8; SESSION_KEY_BYTES] {
    let mut key = [0; SESSION_KEY_BYTES];
    key.copy_from_slice(&sha1(&[&bytes(secret)]));
    key
}

/// What a server stores about a user: good for all five plugins.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    salt: BigUint,
    verifier: BigUint,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Verifier")
    }
}

impl Verifier {
    /// Makes a verifier for a password. The salt's text always has 64 digits: some clients rely on it.
    pub fn create(user: &str, password: &str, mut random: [u8; SALT_BYTES]) -> Verifier {
        if let Some(first) = random.first_mut() {
            *first |= 0x10;
        }
        let salt = BigUint::from_bytes_be(&random);
        let key = user_key(user, password, hex(&salt).as_bytes());
        Verifier { salt, verifier: generator().modpow(&key, &prime()) }
    }

    /// A verifier from its stored bytes (PLG$SALT and PLG$VERIFIER of Firebird's security database).
    pub fn from_stored(salt: &[u8], verifier: &[u8]) -> Verifier {
        Verifier { salt: BigUint::from_bytes_be(salt), verifier: BigUint::from_bytes_be(verifier) }
    }

    /// The salt's bytes to store.
    pub fn salt(&self) -> Vec<u8> {
        bytes(&self.salt)
    }

    /// The verifier's bytes to store.
    pub fn verifier(&self) -> Vec<u8> {
        bytes(&self.verifier)
    }
}

/// The server's side of one login.
///
/// For an unknown user run it as well, with a verifier made from a secret of the server and the name: then the
/// client cannot tell an unknown user from a wrong password.
pub struct ServerLogin {
    hash: ProofHash,
    user: String,
    stored: Verifier,
    private_key: BigUint,
    public_key: BigUint,
    client_key: BigUint,
}

impl std::fmt::Debug for ServerLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerLogin").field("user", &self.user).finish_non_exhaustive()
    }
}

impl ServerLogin {
    /// Takes the client's first data, its public key as text.
    ///
    /// # Errors
    /// [`AuthError::Malformed`], [`AuthError::TrivialKey`].
    pub fn new(
        hash: ProofHash,
        user: &str,
        stored: Verifier,
        client_data: &[u8],
        random: [u8; PRIVATE_KEY_BYTES],
    ) -> Result<ServerLogin, AuthError> {
        let prime = prime();
        let client_key = parse_public_key(client_data, &prime)?;
        let private_key = BigUint::from_bytes_be(&random);
        let public_key =
            (multiplier(&prime) * &stored.verifier + generator().modpow(&private_key, &prime)) % &prime;
        Ok(ServerLogin { hash, user: user.to_owned(), stored, private_key, public_key, client_key })
    }

    /// What to send: salt and public key.
    pub fn challenge(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for text in [hex(&self.stored.salt), hex(&self.public_key)] {
            // Both texts are 256 digits at most.
            out.extend_from_slice(&(text.len() as u16).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    /// Checks the client's second data, its proof as text; gives the session key.
    ///
    /// # Errors
    /// [`AuthError::Malformed`], [`AuthError::WrongProof`].
    pub fn verify(&self, client_proof: &[u8]) -> Result<[u8; SESSION_KEY_BYTES], AuthError> {
        let given = parse_hex(client_proof, PROOF_TEXT_MAX)?;
        let prime = prime();
        let salt_text = hex(&self.stored.salt);
        let exchange = Exchange {
            prime: &prime,
            user: &self.user,
            salt_text: salt_text.as_bytes(),
            client_key: &self.client_key,
            server_key: &self.public_key,
        };
        let blinded = &self.client_key * self.stored.verifier.modpow(&exchange.scrambler(), &prime) % &prime;
        let key = session_key(&blinded.modpow(&self.private_key, &prime));
        // Proofs are compared as numbers: peers differ in leading zeros and case.
        if same_bytes(&bytes(&given), &bytes(&exchange.proof(self.hash, &key))) {
            Ok(key)
        } else {
            Err(AuthError::WrongProof)
        }
    }
}

/// The client's side of one login. The key pair serves several plugins if the server asks for another.
pub struct ClientLogin {
    private_key: BigUint,
    public_key: BigUint,
}

impl std::fmt::Debug for ClientLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientLogin")
    }
}

/// What a client has after the server's challenge.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientProof {
    /// The proof to send, as text.
    pub proof: String,
    /// The session key.
    pub session_key: [u8; SESSION_KEY_BYTES],
}

impl std::fmt::Debug for ClientProof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ClientProof")
    }
}

impl ClientLogin {
    /// Makes a key pair.
    pub fn new(random: [u8; PRIVATE_KEY_BYTES]) -> ClientLogin {
        let private_key = BigUint::from_bytes_be(&random);
        let public_key = generator().modpow(&private_key, &prime());
        ClientLogin { private_key, public_key }
    }

    /// The first data to send: the public key as text.
    pub fn public_key(&self) -> String {
        hex(&self.public_key)
    }

    /// Answers the server's challenge.
    ///
    /// # Errors
    /// [`AuthError::Malformed`], [`AuthError::TrivialKey`].
    pub fn respond(
        &self,
        hash: ProofHash,
        user: &str,
        password: &str,
        challenge: &[u8],
    ) -> Result<ClientProof, AuthError> {
        let (salt_text, rest) = take_text(challenge)?;
        let (server_text, rest) = take_text(rest)?;
        if salt_text.len() > SALT_TEXT_MAX || !rest.is_empty() {
            return Err(AuthError::Malformed);
        }
        let prime = prime();
        let server_key = parse_public_key(server_text, &prime)?;
        let exchange = Exchange {
            prime: &prime,
            user,
            salt_text,
            client_key: &self.public_key,
            server_key: &server_key,
        };
        let key = user_key(user, password, salt_text);
        let masked = multiplier(&prime) * generator().modpow(&key, &prime) % &prime;
        let base = (server_key.clone() % &prime + &prime - masked) % &prime;
        let exponent = &self.private_key + exchange.scrambler() * key;
        let session_key = session_key(&base.modpow(&exponent, &prime));
        Ok(ClientProof { proof: hex(&exchange.proof(hash, &session_key)), session_key })
    }
}

/// A text with its little-endian length in front.
fn take_text(bytes: &[u8]) -> Result<(&[u8], &[u8]), AuthError> {
    let (length, rest) = bytes.split_first_chunk().ok_or(AuthError::Malformed)?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length))).ok_or(AuthError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "SYSDBA";
    const PASSWORD: &str = "masterkey";
    const SALT: &str = "9C5A4D1F0E2B3C4D5E6F708192A3B4C5D6E7F8091A2B3C4D5E6F708192A3B4C5";
    const CLIENT_PRIVATE: &str = "60975527035CF2AD1989806F0407210BC81EDC04E2762A56AFD529DDDA2D4393";
    const SERVER_PRIVATE: &str = "5C23E1A2E5C9B6D6F7A1D0C3B2A4958677869504132233445566778899AABBCC";
    const VERIFIER: &str = "8E7C83D553EF793938A6DC1E49B860F14A06C25A372714A132508A2F79B663284ACD9D808489C04A4252191EE83F9C6BF5F9FA1F5B02E866F51047EEA8FEB6AAE2382FE3E98466DF05A57F91D086593C3B59B714FC4A5FAACDF649D794545B6CBA7A408A5C7E85058B3C17A5CC6457A716F52030AE4C5D9AC80B7402D4545F4";
    const CLIENT_KEY: &str = "712C5F8A2DB82464C4D640AE971025AA50AB64906D4F044F822E8AF8A58ADABBDBE1EFABA00BCCD4CDAA8A955BC43C3600BEAB9EBB9BD41ACC56E37F1A48F17293F24E876B53EEA6A60712D3F943769056B63202416827B400E162A8C0938D482274307585E0BC1D9DD52EFA7330B28E41B7CFCEFD9E8523FD11440EE5DE93A8";
    const SERVER_KEY: &str = "AC9DF7D4834A467482ADAA1F35192E28C186A606810460AF13DFB11281F4C8F18A0906CFBEF902F0DCA268BF96FD74BD2DF803B1A7AE962640CC0F067A66C4A64D3495C6B226394464302D715F1E7170806F80C1E8CE36618849752CD39ED23A383A6B9C8E07380303D6D9FBB62BE55D0AF8339475C9AAFFC837E44966690B0B";
    const SESSION_KEY: &str = "E5EB3DD46542ACF411EA07F3BD61D9139D21A92A";
    const PROOFS: [(ProofHash, &str); 5] = [
        (ProofHash::Sha1, "B60BB07C8F60FC6A23772C9DEA22DA276F68AAF9"),
        (ProofHash::Sha224, "F49AB10B57F487D207D654F41FE6C5C5132A84D92707500FAA5B3960"),
        (ProofHash::Sha256, "22C6EE7948511B803E520BD48A9C58F79F268410FE1DAF79A519023F2A4DE874"),
        (
            ProofHash::Sha384,
            "34DA95852DDCCB25A1AABBAFB5C56DF54D1614274C8FB47C1A1E2EB401FB08BA0ABEDA302A552F06B39CEBBA43381DD",
        ),
        (
            ProofHash::Sha512,
            "C45614597182276BE1071E2EB2C4446D6A7CAEB663BCF16ADD0BD6A2482B157F321311AF7A7601F9FAF285966287D74F116C709791601881B575334D5AE66B34",
        ),
    ];

    fn number(text: &str) -> BigUint {
        BigUint::parse_bytes(text.as_bytes(), 16).unwrap()
    }

    fn fixed(text: &str) -> [u8; 32] {
        let bytes = number(text).to_bytes_be();
        let mut out = [0; 32];
        out[32 - bytes.len()..].copy_from_slice(&bytes);
        out
    }

    /// wire-protocol.md, 3.3, "Test vector"
    #[test]
    fn the_published_vector_from_both_sides() {
        let stored = Verifier::create(USER, PASSWORD, fixed(SALT));
        assert_eq!(hex(&stored.salt), SALT);
        assert_eq!(hex(&stored.verifier), VERIFIER);
        assert_eq!(Verifier::from_stored(&stored.salt(), &stored.verifier()), stored);
        let client = ClientLogin::new(fixed(CLIENT_PRIVATE));
        assert_eq!(client.public_key(), CLIENT_KEY);
        for (hash, proof) in PROOFS {
            let server =
                ServerLogin::new(hash, USER, stored.clone(), CLIENT_KEY.as_bytes(), fixed(SERVER_PRIVATE))
                    .unwrap();
            let challenge = server.challenge();
            assert!(challenge.ends_with(SERVER_KEY.as_bytes()));
            let answer = client.respond(hash, USER, PASSWORD, &challenge).unwrap();
            assert_eq!(answer.proof, proof);
            assert_eq!(hex(&BigUint::from_bytes_be(&answer.session_key)), SESSION_KEY);
            assert_eq!(server.verify(answer.proof.as_bytes()), Ok(answer.session_key));
            let padded = format!("000{}", answer.proof.to_lowercase());
            assert_eq!(
                server.verify(padded.get(..padded.len().min(128)).unwrap().as_bytes()).is_ok(),
                padded.len() <= 128
            );
            let wrong = client.respond(hash, USER, "wrong", &challenge).unwrap();
            assert_eq!(server.verify(wrong.proof.as_bytes()), Err(AuthError::WrongProof));
        }
    }

    /// Roughly one login in 256 meets each rule about leading zeros.
    #[test]
    fn many_random_logins_succeed() {
        let mut seed = Sha256::digest(b"farbird");
        let mut random = || {
            seed = Sha256::digest(seed);
            <[u8; 32]>::from(seed)
        };
        for _ in 0..300 {
            let stored = Verifier::create(USER, PASSWORD, random());
            assert_eq!(hex(&stored.salt).len(), 64);
            let client = ClientLogin::new(random());
            let key = client.public_key();
            let server = ServerLogin::new(ProofHash::Sha256, USER, stored, key.as_bytes(), random()).unwrap();
            let answer = client.respond(ProofHash::Sha256, USER, PASSWORD, &server.challenge()).unwrap();
            assert_eq!(server.verify(answer.proof.as_bytes()), Ok(answer.session_key));
        }
    }

    #[test]
    fn trivial_and_malformed_keys_are_refused() {
        let stored = Verifier::create(USER, PASSWORD, fixed(SALT));
        let login = |data: &[u8]| {
            ServerLogin::new(ProofHash::Sha256, USER, stored.clone(), data, [1; 32]).map(|_| ()).unwrap_err()
        };
        assert_eq!(login(b"0"), AuthError::TrivialKey);
        assert_eq!(login(b"1"), AuthError::TrivialKey);
        assert_eq!(login(PRIME_HEX), AuthError::TrivialKey);
        for malformed in [&b""[..], b"xyz", b"-5", b"+5", b"1_0", &[b'A'; 257]] {
            assert_eq!(login(malformed), AuthError::Malformed);
        }
        let client = ClientLogin::new([7; 32]);
        let trivial = [&[1, 0, b'A', 1, 0, b'1'][..]].concat();
        let respond = |challenge: &[u8]| {
            client.respond(ProofHash::Sha256, USER, PASSWORD, challenge).map(|_| ()).unwrap_err()
        };
        assert_eq!(respond(&trivial), AuthError::TrivialKey);
        for malformed in [&[][..], &[9, 0, b'A'], &[1, 0, b'A', 1, 0, b'5', 0]] {
            assert_eq!(respond(malformed), AuthError::Malformed);
        }
    }
}
