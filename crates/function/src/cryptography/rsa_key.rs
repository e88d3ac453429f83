//! Keys of RSA: made, written and read in the form of PKCS#1.

use farbird_session::Interrupt;
use farbird_types::{Error, Result, isc};
use num_bigint::BigUint;

use super::value::{failed, fault};
use crate::random::random;

/// The exponent of every public key that is made.
const EXPONENT: u32 = 65_537;
/// Shortest and longest prime, in bytes.
const PRIME_BYTES_MIN: usize = 2;
const PRIME_BYTES_MAX: usize = 512;
/// Primes below it are tried before anything that costs.
const SMALL_PRIMES_BELOW: u32 = 2_000;
/// How often a number may pass for a prime of so many bits before it is taken for one: small ones deceive more often.
const ROUNDS_OF_LARGE: usize = 12;
const ROUNDS_OF_SMALL: usize = 40;
const LARGE_BITS: u64 = 512;
/// Longest number that is read out of a key, in bytes: that of the longest key that is made, with a 0 before it.
const NUMBER_BYTES_MAX: usize = 1_025;

/// A key.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RsaKey {
    modulus: BigUint,
    exponent: BigUint,
    /// Only a private key has it.
    secret: Option<Secret>,
}

/// What makes a key a private one.
#[derive(Debug, Clone, PartialEq)]
struct Secret {
    exponent: BigUint,
    primes: [BigUint; 2],
    /// The exponent modulo each prime less one.
    exponents: [BigUint; 2],
    /// The inverse of the second prime modulo the first.
    coefficient: BigUint,
}

impl RsaKey {
    /// A private key of so many bytes.
    ///
    /// # Errors
    /// If that is too few or too many; that somebody stops it, for long keys take their time.
    pub(super) fn make(bytes: usize, interrupt: &Interrupt) -> Result<RsaKey> {
        let exponent = BigUint::from(EXPONENT);
        loop {
            let first = make_prime(bytes / 2, &exponent, interrupt)?;
            let second = make_prime(bytes / 2, &exponent, interrupt)?;
            // Of two bytes there are few.
            if first != second
                && let Some(key) = RsaKey::of_primes([first, second], exponent.clone())
            {
                return Ok(key);
            }
        }
    }

    fn of_primes(primes: [BigUint; 2], exponent: BigUint) -> Option<RsaKey> {
        let [less_first, less_second] = primes.each_ref().map(|prime| prime - 1_u32);
        let common = common_divisor(less_first.clone(), less_second.clone());
        let period = &less_first * &less_second / common;
        let secret = exponent.modinv(&period)?;
        let coefficient = primes[1].modinv(&primes[0])?;
        let exponents = [&secret % &less_first, &secret % &less_second];
        let modulus = &primes[0] * &primes[1];
        let secret = Secret { exponent: secret, primes, exponents, coefficient };
        Some(RsaKey { modulus, exponent, secret: Some(secret) })
    }

    /// How many bytes its messages have.
    pub(super) fn bytes(&self) -> usize {
        usize::try_from(self.modulus.bits().div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// How many bits the modulus has.
    pub(super) fn bits(&self) -> usize {
        usize::try_from(self.modulus.bits()).unwrap_or(usize::MAX)
    }

    /// Raises a message to the public exponent; nothing if it is none of the key's.
    pub(super) fn with_public(&self, message: &[u8]) -> Option<Vec<u8>> {
        let message = BigUint::from_bytes_be(message);
        if message >= self.modulus {
            return None;
        }
        Some(self.padded(&message.modpow(&self.exponent, &self.modulus)))
    }

    /// Raises a message to the private exponent.
    ///
    /// # Errors
    /// What is wrong: that the key is a public one, or that the message is none of the key's.
    pub(super) fn with_private(&self, message: &[u8]) -> std::result::Result<Vec<u8>, &'static str> {
        let Some(secret) = &self.secret else { return Err(fault::NOT_PRIVATE) };
        let message = BigUint::from_bytes_be(message);
        if message >= self.modulus {
            return Err(fault::SIZE);
        }
        let [first, second] = &secret.primes;
        let [of_first, of_second] = &secret.exponents;
        let (left, right) = (message.modpow(of_first, first), message.modpow(of_second, second));
        let difference = (left + first - &right % first) % first;
        Ok(self.padded(&(right + difference * &secret.coefficient % first * second)))
    }

    /// A number in as many bytes as the modulus has.
    fn padded(&self, number: &BigUint) -> Vec<u8> {
        let bytes = number.to_bytes_be();
        let mut padded = vec![0; self.bytes().saturating_sub(bytes.len())];
        padded.extend(bytes);
        padded
    }

    /// The private key's bytes; nothing for a public one.
    pub(super) fn private_form(&self) -> Option<Vec<u8>> {
        let secret = self.secret.as_ref()?;
        let [first, second] = &secret.primes;
        let [of_first, of_second] = &secret.exponents;
        let zero = BigUint::ZERO;
        let numbers = [
            &zero,
            &self.modulus,
            &self.exponent,
            &secret.exponent,
            first,
            second,
            of_first,
            of_second,
            &secret.coefficient,
        ];
        Some(sequence(&numbers))
    }

    /// The public key's bytes.
    pub(super) fn public_form(&self) -> Vec<u8> {
        sequence(&[&self.modulus, &self.exponent])
    }

    /// Reads either form.
    ///
    /// # Errors
    /// If the bytes are no key.
    pub(super) fn read(bytes: &[u8]) -> Result<RsaKey> {
        read_key(bytes).ok_or_else(|| failed(fault::PACKET, isc::TOM_RSA_IMPORT))
    }
}

fn read_key(bytes: &[u8]) -> Option<RsaKey> {
    let numbers = read_sequence(bytes)?;
    let is_usable = |modulus: &BigUint| *modulus > BigUint::from(1_u32) && modulus.bit(0);
    match <[BigUint; 9]>::try_from(numbers) {
        Ok([version, modulus, exponent, secret, first, second, of_first, of_second, coefficient]) => {
            let is_whole = version == BigUint::ZERO && is_usable(&modulus) && &first * &second == modulus;
            is_whole.then_some(RsaKey {
                modulus,
                exponent,
                secret: Some(Secret {
                    exponent: secret,
                    primes: [first, second],
                    exponents: [of_first, of_second],
                    coefficient,
                }),
            })
        }
        Err(numbers) => match <[BigUint; 2]>::try_from(numbers) {
            Ok([modulus, exponent]) if is_usable(&modulus) => {
                Some(RsaKey { modulus, exponent, secret: None })
            }
            _ => None,
        },
    }
}

// ---- Primes ----

fn make_prime(bytes: usize, exponent: &BigUint, interrupt: &Interrupt) -> Result<BigUint> {
    if !(PRIME_BYTES_MIN..=PRIME_BYTES_MAX).contains(&bytes) {
        return Err(failed(fault::PRIME_SIZE, isc::TOM_RSA_MAKE));
    }
    let small = small_primes();
    let mut candidate = vec![0; bytes];
    loop {
        interrupt.check()?;
        random(&mut candidate)?;
        // Two bits on top, so that a product of two has all its bytes.
        if let Some(first) = candidate.first_mut() {
            *first |= 0xC0;
        }
        if let Some(last) = candidate.last_mut() {
            *last |= 1;
        }
        let number = BigUint::from_bytes_be(&candidate);
        let is_divided =
            small.iter().any(|prime| &number % *prime == BigUint::ZERO && number > BigUint::from(*prime));
        let has_inverse = (&number - 1_u32) % exponent != BigUint::ZERO;
        if !is_divided && has_inverse && passes_for_prime(&number, interrupt)? {
            return Ok(number);
        }
    }
}

fn small_primes() -> Vec<u32> {
    let mut primes: Vec<u32> = Vec::new();
    for number in 3..SMALL_PRIMES_BELOW {
        if number % 2 == 1 && primes.iter().all(|prime| number % prime != 0) {
            primes.push(number);
        }
    }
    primes
}

/// Miller and Rabin's test of an odd number, with bases by chance.
fn passes_for_prime(number: &BigUint, interrupt: &Interrupt) -> Result<bool> {
    let one = BigUint::from(1_u32);
    let less = number - &one;
    let twos = less.trailing_zeros().unwrap_or(0);
    let odd = &less >> twos;
    let rounds = if number.bits() >= LARGE_BITS { ROUNDS_OF_LARGE } else { ROUNDS_OF_SMALL };
    let mut base = vec![0; usize::try_from(number.bits() / 8 + 8).unwrap_or(8)];
    'rounds: for _ in 0..rounds {
        interrupt.check()?;
        random(&mut base)?;
        let base = BigUint::from_bytes_be(&base) % (&less - &one) + 2_u32;
        let mut power = base.modpow(&odd, number);
        if power == one || power == less {
            continue;
        }
        for _ in 1..twos {
            power = &power * &power % number;
            if power == less {
                continue 'rounds;
            }
        }
        return Ok(false);
    }
    Ok(true)
}

fn common_divisor(mut left: BigUint, mut right: BigUint) -> BigUint {
    while right != BigUint::ZERO {
        (left, right) = (right.clone(), left % right);
    }
    left
}

// ---- DER ----

const TAG_INTEGER: u8 = 0x02;
const TAG_SEQUENCE: u8 = 0x30;

fn sequence(numbers: &[&BigUint]) -> Vec<u8> {
    let mut contents = Vec::new();
    for number in numbers {
        let mut bytes = number.to_bytes_be();
        // A first bit that is set would make it negative.
        if bytes.first().is_some_and(|first| first & 0x80 != 0) {
            bytes.insert(0, 0);
        }
        contents.extend(element(TAG_INTEGER, &bytes));
    }
    element(TAG_SEQUENCE, &contents)
}

/// An element with its tag and its length.
pub(super) fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(contents.len()) {
        Ok(length) if length < 0x80 => bytes.push(length),
        _ => {
            let length = contents.len().to_be_bytes();
            let used = length.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &length[first..]);
            bytes.push(0x80 | used.len() as u8);
            bytes.extend(used);
        }
    }
    bytes.extend(contents);
    bytes
}

fn read_sequence(bytes: &[u8]) -> Option<Vec<BigUint>> {
    let (mut contents, _) = read_element(bytes, TAG_SEQUENCE)?;
    let mut numbers = Vec::new();
    // A private key has nine.
    while !contents.is_empty() && numbers.len() <= 9 {
        let (number, rest) = read_element(contents, TAG_INTEGER)?;
        let is_negative = number.first().is_none_or(|first| first & 0x80 != 0);
        if is_negative || number.len() > NUMBER_BYTES_MAX {
            return None;
        }
        numbers.push(BigUint::from_bytes_be(number));
        contents = rest;
    }
    Some(numbers)
}

/// The contents of the element that bytes begin with, and what follows it.
fn read_element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (own, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        length @ ..=0x7F => (usize::from(*length), rest),
        0x81..=0x84 => {
            let (length, rest) = rest.split_at_checked(usize::from(first & 0x7F))?;
            (length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    (*own == tag).then(|| rest.split_at_checked(length)).flatten()
}

/// What a call with a length that no key has is answered.
pub(super) fn out_of_range() -> Error {
    Error::new(isc::ARITH_EXCEPT).and(isc::NUMERIC_OUT_OF_RANGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_back_from_its_bytes_and_undoes_what_the_other_half_does() {
        let interrupt = Interrupt::new();
        for bytes in [8, 32, 65] {
            let key = RsaKey::make(bytes, &interrupt).expect("a key");
            let private = key.private_form().expect("it is private");
            assert_eq!(RsaKey::read(&private).expect("a key"), key);
            let public = RsaKey::read(&key.public_form()).expect("a key");
            assert_eq!(public.private_form(), None);
            let message = vec![7; key.bytes() - 1];
            let sent = public.with_public(&message).expect("it fits");
            let back = key.with_private(&sent).expect("it fits");
            assert_eq!(BigUint::from_bytes_be(&back), BigUint::from_bytes_be(&message));
            assert_eq!(public.with_private(&sent), Err(fault::NOT_PRIVATE));
        }
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let interrupt = Interrupt::new();
        let key = RsaKey::make(32, &interrupt).expect("a key").private_form().expect("it is private");
        for end in 0..key.len() {
            assert!(RsaKey::read(&key[..end]).is_err(), "{end}");
        }
        for place in 0..key.len() {
            let mut changed = key.clone();
            changed[place] ^= 0x55;
            // Whatever it is read as, using it must not fail otherwise than by an answer.
            if let Ok(read) = RsaKey::read(&changed) {
                let _answer = (read.with_public(b"x"), read.with_private(b"x"));
            }
        }
        assert!(RsaKey::make(3, &interrupt).is_err());
        assert!(RsaKey::make(1_100, &interrupt).is_err());
    }
}
