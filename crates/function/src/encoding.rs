//! Texts and bytes in other clothes: BASE64, hexadecimal, UUIDs, hashes.
//!
//! Source: Firebird 5 language reference, sections Cryptographic Functions and UUID Functions; error cases as Firebird 4
//! answers them.

use farbird_types::{CharacterSet, Collation, ColumnType, Error, Result, SqlType, Text, Value, isc};
use md5::{Digest, Md5};
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};

use crate::context::Context;
use crate::result_type::{
    COLUMN_BYTES_MAX, nullable_as, required, text_bytes, text_chars_in, unknown_parameter, varying,
};
use crate::{Argument, Call, ScalarBody, ScalarFunction, argument};
use farbird_session::Interrupt;

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[
    encoding("BASE64_ENCODE", base64_encode_result, base64_encode),
    encoding("BASE64_DECODE", base64_decode_result, base64_decode),
    encoding("HEX_ENCODE", hex_encode_result, hex_encode),
    encoding("HEX_DECODE", hex_decode_result, hex_decode),
    ScalarFunction {
        name: "GEN_UUID",
        arity: (0, 0),
        result: uuid_result,
        parameter_type: unknown_parameter,
        body: gen_uuid,
        strict: true,
        deterministic: false,
    },
    ScalarFunction {
        name: "CHAR_TO_UUID",
        arity: (1, 1),
        result: |_, arguments| Ok(uuid_of(arguments, SqlType::char(UUID_BYTES, CharacterSet::OCTETS))),
        parameter_type: |_, _| required(SqlType::char(UUID_CHARS, CharacterSet::ASCII)),
        body: char_to_uuid,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "UUID_TO_CHAR",
        arity: (1, 1),
        result: |_, arguments| Ok(uuid_of(arguments, SqlType::char(UUID_CHARS, CharacterSet::ASCII))),
        parameter_type: |_, _| required(SqlType::char(UUID_BYTES, CharacterSet::OCTETS)),
        body: uuid_to_char,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "HASH",
        arity: (1, 2),
        result: hash_result,
        parameter_type: bytes_parameter,
        body: hash,
        strict: true,
        deterministic: true,
    },
    ScalarFunction {
        name: "CRYPT_HASH",
        arity: (2, 2),
        result: hash_result,
        parameter_type: bytes_parameter,
        body: hash,
        strict: true,
        deterministic: true,
    },
];

/// Characters of a UUID's text form.
const UUID_CHARS: u32 = 36;

/// Bytes of a UUID.
const UUID_BYTES: u32 = 16;

const fn encoding(
    name: &'static str,
    result: fn(&'static str, &[Argument<'_>]) -> Result<ColumnType>,
    body: ScalarBody,
) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (1, 1),
        result,
        parameter_type: unknown_parameter,
        body,
        strict: true,
        deterministic: true,
    }
}

const ASCII: (CharacterSet, Collation) = (CharacterSet::ASCII, Collation(0));
const OCTETS: (CharacterSet, Collation) = (CharacterSet::OCTETS, Collation(0));

/// Bytes for a hash to be computed of.
fn bytes_parameter(_: usize, _: &[Argument<'_>]) -> Option<ColumnType> {
    required(SqlType::varchar(64, CharacterSet::OCTETS))
}

// ---- BASE64 and hexadecimal ----

/// An ASCII text of so many characters, or a BLOB for a BLOB and for what no column could hold.
fn encoded(arguments: &[Argument<'_>], length: impl Fn(u32) -> u32) -> Result<ColumnType> {
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        SqlType::Text(_) => match length(text_bytes(first)) {
            chars if chars <= COLUMN_BYTES_MAX => varying(chars, ASCII),
            _ => SqlType::blob_text(CharacterSet::ASCII),
        },
        SqlType::Blob { .. } => SqlType::blob_text(CharacterSet::ASCII),
        _ => return Err(Error::new(isc::TOM_STRBLOB)),
    };
    Ok(nullable_as(sql_type, arguments))
}

/// Bytes, as many as the characters of the argument stand for, or a BLOB for a BLOB.
fn decoded(arguments: &[Argument<'_>], length: impl Fn(u32) -> Result<u32>) -> Result<ColumnType> {
    let first = arguments.first().map_or(&SqlType::Null, Argument::sql_type);
    let sql_type = match first {
        // A bare NULL is described as a text of one character.
        SqlType::Null => varying(length(1)?, OCTETS),
        SqlType::Text(text) => varying(length(text_chars_in(first, text.character_set))?, OCTETS),
        SqlType::Blob { .. } => SqlType::BLOB_BINARY,
        _ => return Err(Error::new(isc::TOM_STRBLOB)),
    };
    Ok(nullable_as(sql_type, arguments))
}

fn base64_encode_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    encoded(arguments, |bytes| bytes.div_ceil(3).saturating_mul(4))
}

fn base64_decode_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    decoded(arguments, |chars| {
        if chars == 0 || chars % 4 != 0 {
            return Err(Error::new(isc::TOM_DECODE64LEN).with(argument_number(chars as usize)));
        }
        Ok(chars / 4 * 3)
    })
}

fn hex_encode_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    encoded(arguments, |bytes| bytes.saturating_mul(2))
}

fn hex_decode_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    decoded(arguments, |chars| {
        if chars == 0 || chars % 2 != 0 {
            return Err(odd_hex_length(chars as usize));
        }
        Ok(chars / 2)
    })
}

fn odd_hex_length(length: usize) -> Error {
    Error::new(isc::ODD_HEX_LEN).with(argument_number(length))
}

fn argument_number(number: usize) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

const BASE64_DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64_encode(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let mut encoded = Vec::with_capacity(text.bytes().len().div_ceil(3) * 4);
    for group in text.bytes().chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let used = digit <= group.len();
            encoded.push(if used { BASE64_DIGITS[value as usize] } else { b'=' });
        }
    }
    argument::text_result(context, encoded, CharacterSet::ASCII, call.result_type())
}

/// Characters that are no digits are passed over; decoding ends at the first `=`.
fn base64_decode(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let mut decoded = Vec::with_capacity(text.bytes().len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes() {
        if *byte == b'=' {
            break;
        }
        let Some(digit) = BASE64_DIGITS.iter().position(|digit| digit == byte) else { continue };
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    argument::text_result(context, decoded, CharacterSet::OCTETS, call.result_type())
}

fn hex_encode(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let text = argument::text(context, call.argument(0))?;
    let mut encoded = Vec::with_capacity(text.bytes().len() * 2);
    for byte in text.bytes() {
        encoded.push(DIGITS[usize::from(byte >> 4)]);
        encoded.push(DIGITS[usize::from(byte & 15)]);
    }
    argument::text_result(context, encoded, CharacterSet::ASCII, call.result_type())
}

fn hex_decode(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = argument::text(context, call.argument(0))?;
    let bytes = text.bytes();
    if bytes.len() % 2 != 0 {
        return Err(odd_hex_length(bytes.len()));
    }
    let digit = |index: usize, byte: u8| {
        char::from(byte).to_digit(16).map(|digit| digit as u8).ok_or_else(|| {
            Error::new(isc::INVALID_HEX_DIGIT)
                .with(char::from(byte).to_string())
                .with(argument_number(index + 1))
        })
    };
    let mut decoded = Vec::with_capacity(bytes.len() / 2);
    for (index, pair) in bytes.chunks_exact(2).enumerate() {
        decoded.push(digit(index * 2, pair[0])? << 4 | digit(index * 2 + 1, pair[1])?);
    }
    argument::text_result(context, decoded, CharacterSet::OCTETS, call.result_type())
}

// ---- UUIDs ----

fn uuid_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    Ok(nullable_as(SqlType::char(UUID_BYTES, CharacterSet::OCTETS), arguments))
}

/// One form of a UUID from the other one; the shortest text for a bare NULL.
fn uuid_of(arguments: &[Argument<'_>], sql_type: SqlType) -> ColumnType {
    let is_null = arguments.iter().any(|argument| *argument.sql_type() == SqlType::Null);
    nullable_as(if is_null { SqlType::char(1, CharacterSet::NONE) } else { sql_type }, arguments)
}

/// A random UUID (RFC 4122, version 4), in network byte order.
fn gen_uuid(_: &mut Context<'_>, _: &Call<'_>) -> Result<Value> {
    let mut bytes = [0; 16];
    crate::random::random(&mut bytes)?;
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    Ok(Value::Text(Text::new(bytes.to_vec(), CharacterSet::OCTETS)))
}

/// Where a UUID's text has its hyphens.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

fn char_to_uuid(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let rule = |rule: u32| Error::new(isc::EXPRESSION_EVAL_ERR).and(rule);
    let text = match call.argument(0) {
        Value::Text(_) => argument::text(context, call.argument(0))?,
        _ => return Err(rule(isc::SYSF_ARGVIOLATES_UUIDTYPE).with(call.name)),
    };
    // A CHAR longer than a UUID ends in spaces.
    let bytes = text.bytes().trim_ascii_end();
    if bytes.len() != UUID_CHARS as usize {
        return Err(rule(isc::SYSF_ARGVIOLATES_UUIDLEN).with(UUID_CHARS as i32).with(call.name));
    }
    let mut digits = Vec::with_capacity(32);
    for (index, byte) in bytes.iter().enumerate() {
        let position = argument_number(index + 1);
        if HYPHENS.contains(&index) {
            if *byte != b'-' {
                return Err(rule(isc::SYSF_ARGVIOLATES_UUIDFMT)
                    .with(described(*byte))
                    .with(position)
                    .with(call.name));
            }
            continue;
        }
        let Some(digit) = char::from(*byte).to_digit(16) else {
            return Err(rule(isc::SYSF_ARGVIOLATES_GUIDIGITS)
                .with(described(*byte))
                .with(position)
                .with(call.name));
        };
        digits.push(digit as u8);
    }
    let uuid: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    Ok(Value::Text(Text::new(uuid, CharacterSet::OCTETS)))
}

/// A byte as messages about UUIDs show it.
fn described(byte: u8) -> String {
    format!("{} (ASCII {byte})", char::from(byte))
}

fn uuid_to_char(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let text = match call.argument(0) {
        Value::Text(_) => argument::text(context, call.argument(0))?,
        _ => {
            return Err(Error::new(isc::EXPRESSION_EVAL_ERR)
                .and(isc::SYSF_BINUUID_MUSTBE_STR)
                .with(call.name));
        }
    };
    if text.bytes().len() != UUID_BYTES as usize {
        return Err(Error::new(isc::EXPRESSION_EVAL_ERR)
            .and(isc::SYSF_BINUUID_WRONGSIZE)
            .with(UUID_BYTES as i32)
            .with(call.name));
    }
    let mut formatted = String::with_capacity(UUID_CHARS as usize);
    for byte in text.bytes() {
        if HYPHENS.contains(&formatted.len()) {
            formatted.push('-');
        }
        formatted.push_str(&format!("{byte:02X}"));
    }
    Ok(Value::Text(Text::new(formatted.into_bytes(), CharacterSet::ASCII)))
}

// ---- Hashes ----

#[derive(Clone, Copy)]
enum Algorithm {
    Legacy,
    Crc32,
    Md5,
    Sha1,
    Sha256,
    Sha512,
    Sha3x224,
    Sha3x256,
    Sha3x384,
    Sha3x512,
}

impl Algorithm {
    /// The algorithm that a call names as a constant; HASH without one is Firebird's own of old.
    fn of(function: &str, constant: Option<&Value>) -> Result<Algorithm> {
        let Some(Value::Text(name)) = constant else {
            return Ok(Algorithm::Legacy);
        };
        let name = name.decode_lossy().to_ascii_uppercase();
        let algorithm = match (function, name.as_str()) {
            ("HASH", "CRC32") => Algorithm::Crc32,
            ("CRYPT_HASH", "MD5") => Algorithm::Md5,
            ("CRYPT_HASH", "SHA1") => Algorithm::Sha1,
            ("CRYPT_HASH", "SHA256") => Algorithm::Sha256,
            ("CRYPT_HASH", "SHA512") => Algorithm::Sha512,
            ("CRYPT_HASH", "SHA3_224") => Algorithm::Sha3x224,
            ("CRYPT_HASH", "SHA3_256") => Algorithm::Sha3x256,
            ("CRYPT_HASH", "SHA3_384") => Algorithm::Sha3x384,
            ("CRYPT_HASH", "SHA3_512") => Algorithm::Sha3x512,
            _ => return Err(Error::new(isc::SYSF_INVALID_HASH_ALGORITHM).with(name)),
        };
        Ok(algorithm)
    }

    fn result(self) -> SqlType {
        let bytes = match self {
            Algorithm::Legacy => return SqlType::BIGINT,
            Algorithm::Crc32 => return SqlType::INTEGER,
            Algorithm::Md5 => 16,
            Algorithm::Sha1 => 20,
            Algorithm::Sha256 | Algorithm::Sha3x256 => 32,
            Algorithm::Sha3x224 => 28,
            Algorithm::Sha3x384 => 48,
            Algorithm::Sha512 | Algorithm::Sha3x512 => 64,
        };
        varying(bytes, OCTETS)
    }

    fn compute(self, bytes: &[u8], interrupt: &Interrupt) -> Result<Value> {
        let digest = match self {
            Algorithm::Legacy => {
                return Ok(Value::integer(in_pieces(bytes, 0, legacy_hash, interrupt)?));
            }
            Algorithm::Crc32 => {
                let crc = in_pieces(bytes, u32::MAX, crc32, interrupt)?;
                // Its bytes are read from the other end, as Firebird does.
                return Ok(Value::integer(i64::from((!crc).swap_bytes() as i32)));
            }
            Algorithm::Md5 => digest::<Md5>(bytes, interrupt)?,
            Algorithm::Sha1 => digest::<Sha1>(bytes, interrupt)?,
            Algorithm::Sha256 => digest::<Sha256>(bytes, interrupt)?,
            Algorithm::Sha512 => digest::<Sha512>(bytes, interrupt)?,
            Algorithm::Sha3x224 => digest::<Sha3_224>(bytes, interrupt)?,
            Algorithm::Sha3x256 => digest::<Sha3_256>(bytes, interrupt)?,
            Algorithm::Sha3x384 => digest::<Sha3_384>(bytes, interrupt)?,
            Algorithm::Sha3x512 => digest::<Sha3_512>(bytes, interrupt)?,
        };
        Ok(Value::Text(Text::new(digest, CharacterSet::OCTETS)))
    }
}

/// Bytes that are hashed between two looks at the interrupt.
const PIECE_BYTES: usize = 1 << 18;

/// Takes the bytes piece by piece, from state to state.
fn in_pieces<T>(bytes: &[u8], start: T, take: fn(T, &[u8]) -> T, interrupt: &Interrupt) -> Result<T> {
    let mut state = start;
    for piece in bytes.chunks(PIECE_BYTES) {
        interrupt.check()?;
        state = take(state, piece);
    }
    Ok(state)
}

fn digest<D: Digest>(bytes: &[u8], interrupt: &Interrupt) -> Result<Vec<u8>> {
    let taken = in_pieces(bytes, D::new(), |digest, piece| digest.chain_update(piece), interrupt)?;
    Ok(taken.finalize().to_vec())
}

fn hash_result(function: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let algorithm = Algorithm::of(function, arguments.get(1).and_then(|argument| argument.constant))?;
    let nullable = arguments.first().is_none_or(|argument| argument.column_type.nullable);
    Ok(ColumnType { sql_type: algorithm.result(), nullable })
}

fn hash(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let algorithm = Algorithm::of(call.name, call.arguments.get(1))?;
    let text = argument::text(context, call.argument(0))?;
    algorithm.compute(text.bytes(), &context.session.interrupt)
}

/// The PJW hash over 64 bits that HASH has always computed, with Firebird's signed shift of the top bits.
fn legacy_hash(mut hash: i64, bytes: &[u8]) -> i64 {
    for byte in bytes {
        hash = (hash << 4).wrapping_add(i64::from(*byte));
        let top = hash & (0xF << 60);
        if top != 0 {
            hash ^= top >> 56;
        }
        hash &= !top;
    }
    hash
}

/// CRC-32 (IEEE 802.3, reflected), before its last step.
fn crc32(mut crc: u32, bytes: &[u8]) -> u32 {
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0xEDB8_8320 } else { crc >> 1 };
        }
    }
    crc
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_firebird_s() {
        assert_eq!(legacy_hash(0, b"abc"), 26499);
        assert_eq!(
            legacy_hash(0, "hello world, a longer text than 16".as_bytes()),
            3_792_380_977_896_707_206
        );
        assert_eq!(legacy_hash(0, "äö".as_bytes()), 844_006);
        assert_eq!(
            Algorithm::Crc32.compute(b"abc", &Interrupt::new()).unwrap(),
            Value::integer(-1_035_918_283)
        );
        assert_eq!(
            Algorithm::Crc32.compute(b"123456789", &Interrupt::new()).unwrap(),
            Value::integer(641_332_427)
        );
    }

    #[test]
    fn results_have_the_length_of_the_digest() {
        for algorithm in [Algorithm::Md5, Algorithm::Sha1, Algorithm::Sha512, Algorithm::Sha3x384] {
            let (SqlType::Text(declared), Value::Text(digest)) =
                (algorithm.result(), algorithm.compute(b"", &Interrupt::new()).unwrap())
            else {
                panic!("a digest is bytes");
            };
            assert_eq!(declared.length_chars as usize, digest.bytes().len());
        }
    }
}
