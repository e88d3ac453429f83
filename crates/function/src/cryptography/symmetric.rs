//! ENCRYPT and DECRYPT: what their clauses ask for.

use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use super::block_cipher::BlockAlgorithm;
use super::mode::{self, Counter, Direction, Mode, Use};
use super::stream_cipher;
use super::value::{OCTETS, bytes_of, failed, fault, key_bytes, name_of, octets};
use crate::context::Context;
use crate::result_type::{required, text_bytes, varying};
use crate::{Argument, Call, ScalarFunction, argument, blob};

/// Places of the arguments, as `call::keyword_call` puts them in order.
const VALUE: usize = 0;
const ALGORITHM: usize = 1;
const MODE: usize = 2;
const KEY: usize = 3;
const VECTOR: usize = 4;
const COUNTER_ORDER: usize = 5;
const COUNTER: usize = 6;
const ARGUMENTS: usize = 7;

/// Bytes that a `?` is told to have.
const PARAMETER_BYTES: u32 = 64;
/// RC4 takes no keys up to so many bytes.
const RC4_KEY_BYTES_TOO_FEW: usize = 4;
/// Ciphers of Firebird that are not built.
const NOT_BUILT: [&str; 4] = ["ANUBIS", "KHAZAD", "SAFER+", "SOBER128"];

pub(super) const ENCRYPT: ScalarFunction =
    function("ENCRYPT", |context, call| crypt(Direction::Encrypt, context, call));
pub(super) const DECRYPT: ScalarFunction =
    function("DECRYPT", |context, call| crypt(Direction::Decrypt, context, call));

const fn function(name: &'static str, body: crate::ScalarBody) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (ARGUMENTS, ARGUMENTS),
        result: |_, arguments| Ok(result(arguments)),
        parameter_type: |place, _| match place {
            VALUE | KEY => required(varying(PARAMETER_BYTES, OCTETS)),
            _ => None,
        },
        body,
        strict: false,
        deterministic: true,
    }
}

/// As many bytes as the value has, or a BLOB for a BLOB.
fn result(arguments: &[Argument<'_>]) -> ColumnType {
    let Some(value) = arguments.first() else {
        return ColumnType { sql_type: varying(1, OCTETS), nullable: true };
    };
    let sql_type = match value.sql_type() {
        SqlType::Blob { .. } => SqlType::BLOB_BINARY,
        other => varying(text_bytes(other), OCTETS),
    };
    ColumnType { sql_type, nullable: value.column_type.nullable }
}

/// A cipher, and how it is used.
enum Algorithm {
    Block(BlockAlgorithm, Mode),
    Rc4,
    ChaCha20,
}

fn crypt(direction: Direction, context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let algorithm = algorithm_of(&name_of(call.argument(ALGORITHM)), &name_of(call.argument(MODE)))?;
    let key = key_bytes(call.argument(KEY), "crypt key", context)?;
    let vector = bytes_of(call.argument(VECTOR), context)?;
    let takes_vector = !matches!(algorithm, Algorithm::Block(_, Mode::Ecb) | Algorithm::Rc4);
    match (takes_vector, vector.is_empty()) {
        (true, true) => return Err(Error::new(isc::TOM_IV_MISS)),
        (false, false) => return Err(Error::new(isc::TOM_NO_IV)),
        _ => {}
    }
    let counter = counter_of(&algorithm, key.len(), context, call)?;
    let value = call.argument(VALUE);
    if value.is_null() {
        return Ok(Value::Null);
    }
    let mut text = bytes_of(value, context)?;
    let interrupt = &context.session.interrupt;
    match algorithm {
        Algorithm::Block(cipher, mode) => {
            let block_bytes = cipher.block_bytes();
            if !vector.is_empty() && vector.len() != block_bytes {
                return Err(Error::new(isc::TOM_IV_LENGTH)
                    .with(number(vector.len()))
                    .with(number(block_bytes)));
            }
            let cipher = cipher
                .with_key(&key)
                .ok_or_else(|| failed(fault::KEY_SIZE, isc::TOM_INIT_MODE).with(mode.name()))?;
            let order = name_of(call.argument(COUNTER_ORDER));
            let counter = Counter {
                little_endian: order == "CTR_LITTLE_ENDIAN",
                bytes: usize::try_from(counter).unwrap_or(usize::MAX),
            };
            mode::apply(
                Use { mode, direction, counter },
                &cipher,
                block_bytes,
                vector,
                &mut text,
                interrupt,
            )?;
        }
        Algorithm::Rc4 => {
            if key.len() <= RC4_KEY_BYTES_TOO_FEW {
                return Err(Error::new(isc::TOM_KEY_LENGTH)
                    .with(number(key.len()))
                    .with(number(RC4_KEY_BYTES_TOO_FEW)));
            }
            stream_cipher::rc4(&key, &mut text, interrupt)?;
        }
        Algorithm::ChaCha20 => {
            if !matches!(key.len(), 16 | 32) {
                return Err(Error::new(isc::TOM_CHACHA_KEY).with(number(key.len())));
            }
            if !matches!(vector.len(), 8 | 12) {
                return Err(Error::new(isc::TOM_SETUP_CHACHA).with(number(vector.len())));
            }
            stream_cipher::chacha20(&key, &vector, counter, &mut text, interrupt)?;
        }
    }
    blob::cast_value(octets(text), call.result_type(), context)
}

fn algorithm_of(name: &str, mode: &str) -> Result<Algorithm> {
    if NOT_BUILT.iter().any(|known| name.eq_ignore_ascii_case(known)) {
        return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(format!("the cipher {name}")));
    }
    let Some(cipher) = BlockAlgorithm::by_name(name) else {
        let stream = match name {
            "RC4" => Algorithm::Rc4,
            "CHACHA20" => Algorithm::ChaCha20,
            _ => return Err(Error::new(isc::TOM_ALGORITHM).with(name)),
        };
        return match mode {
            "" => Ok(stream),
            _ => Err(Error::new(isc::TOM_NO_MODE)),
        };
    };
    match mode {
        "" => Err(Error::new(isc::TOM_MODE_MISS)),
        mode => Ok(Algorithm::Block(cipher, Mode::by_name(mode).ok_or_else(mode::unknown)?)),
    }
}

/// What COUNTER says: of CTR how many bytes are counted in, of ChaCha20 where counting begins.
fn counter_of(
    algorithm: &Algorithm,
    key_bytes: usize,
    context: &Context<'_>,
    call: &Call<'_>,
) -> Result<u64> {
    let counts = matches!(algorithm, Algorithm::Block(_, Mode::Ctr));
    if let Algorithm::Block(_, mode) = algorithm
        && !counts
        && !call.argument(COUNTER_ORDER).is_null()
    {
        return Err(Error::new(isc::TOM_NO_CTRTYPE).with(mode.name()));
    }
    let counter = match call.argument(COUNTER) {
        Value::Null => return Ok(0),
        counter => argument::integer(context, counter)?,
    };
    // Firebird takes the number as one without a sign.
    let counter = counter as u64;
    match algorithm {
        Algorithm::Block(_, Mode::Ctr) if counter > key_bytes as u64 => Err(Error::new(isc::TOM_CTR_BIG)
            .with(i32::try_from(counter).unwrap_or(i32::MAX))
            .with(number(key_bytes))),
        Algorithm::Block(_, Mode::Ctr) | Algorithm::ChaCha20 => Ok(counter),
        Algorithm::Block(_, mode) => Err(Error::new(isc::TOM_NO_CTR).with("mode").with(mode.name())),
        Algorithm::Rc4 => Err(Error::new(isc::TOM_NO_CTR).with("cipher").with("RC4")),
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
