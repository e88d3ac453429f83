//! ENCRYPT, DECRYPT and the functions of RSA.
//!
//! | file | subject |
//! |---|---|
//! | `symmetric` | ENCRYPT and DECRYPT: what their clauses ask for |
//! | `block_cipher` | ciphers of blocks: AES, Blowfish, Twofish, RC5, RC6, XTEA |
//! | `mode` | what makes a cipher of blocks one of texts: ECB, CBC, CFB, OFB, CTR |
//! | `stream_cipher` | RC4, ChaCha20 |
//! | `rsa` | the functions of RSA |
//! | `rsa_key` | keys: made, written and read |
//! | `rsa_padding` | what stands around a message and a digest before they meet a key |
//! | `value` | arguments as bytes, results, and what Firebird's library calls its faults |
//!
//! Source: Firebird's doc/sql.extensions/README.builtin_functions.txt, and what Firebird 5.0.4 answers, byte for byte; RFC 8017 (PKCS#1).
//! Not built: the ciphers ANUBIS, KHAZAD, SAFER+ and SOBER128, which are refused by name. Nothing here takes care that its time does
//! not depend on keys: whoever can measure statements of a server can also ask it to decrypt.

mod block_cipher;
mod mode;
mod rsa;
mod rsa_key;
mod rsa_padding;
mod stream_cipher;
mod symmetric;
mod value;

use crate::ScalarFunction;

/// The functions of this module.
pub(crate) const FUNCTIONS: &[ScalarFunction] = &[
    symmetric::ENCRYPT,
    symmetric::DECRYPT,
    rsa::RSA_PRIVATE,
    rsa::RSA_PUBLIC,
    rsa::RSA_ENCRYPT,
    rsa::RSA_DECRYPT,
    rsa::RSA_SIGN_HASH,
    rsa::RSA_VERIFY_HASH,
];
