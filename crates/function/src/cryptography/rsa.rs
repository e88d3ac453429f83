//! RSA_PRIVATE, RSA_PUBLIC, RSA_ENCRYPT, RSA_DECRYPT, RSA_SIGN_HASH, RSA_VERIFY_HASH.

use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use super::rsa_key::{RsaKey, out_of_range};
use super::rsa_padding::{self as padding, Hash};
use super::value::{OCTETS, bytes_of, failed, fault, key_bytes, name_of, octets};
use crate::context::Context;
use crate::result_type::{nullable_as, required, varying};
use crate::{Argument, Call, ScalarBody, ScalarFunction, argument};

/// Most bytes that a key may be asked to have.
const KEY_BYTES_MAX: i32 = 1_024;
/// What results are described with, in bytes.
const PRIVATE_BYTES: u32 = 16 << 10;
const PUBLIC_BYTES: u32 = 8 << 10;
const MESSAGE_BYTES: u32 = 256;
/// Longest encrypted message, and longest one that comes out of it, in bytes.
const ENCRYPTED_BYTES_MAX: usize = 256;
const DECRYPTED_BYTES_MAX: usize = 190;
/// Bytes of salt where nothing is said.
const SALT_BYTES: usize = 8;
/// RSA_VERIFY_HASH has an argument more than the others.
const VERIFY_ARGUMENTS: usize = 6;
/// Bytes that a `?` is told to have.
const PARAMETER_BYTES: u32 = 64;

pub(super) const RSA_PRIVATE: ScalarFunction = ScalarFunction {
    name: "RSA_PRIVATE",
    arity: (1, 1),
    result: |_, arguments| Ok(nullable_as(varying(PRIVATE_BYTES, OCTETS), arguments)),
    parameter_type: |_, _| required(SqlType::INTEGER),
    body: make_private,
    strict: true,
    deterministic: false,
};

pub(super) const RSA_PUBLIC: ScalarFunction = ScalarFunction {
    name: "RSA_PUBLIC",
    arity: (1, 1),
    result: |_, arguments| Ok(nullable_as(varying(PUBLIC_BYTES, OCTETS), arguments)),
    parameter_type: |_, _| required(varying(PARAMETER_BYTES, OCTETS)),
    body: public_of,
    strict: true,
    deterministic: true,
};

pub(super) const RSA_ENCRYPT: ScalarFunction = function("RSA_ENCRYPT", 5, message_result, encrypt, false);
pub(super) const RSA_DECRYPT: ScalarFunction = function("RSA_DECRYPT", 5, message_result, decrypt, true);
pub(super) const RSA_SIGN_HASH: ScalarFunction = function("RSA_SIGN_HASH", 5, signature_result, sign, false);
pub(super) const RSA_VERIFY_HASH: ScalarFunction = function(
    "RSA_VERIFY_HASH",
    VERIFY_ARGUMENTS,
    |_, _| Ok(ColumnType { sql_type: SqlType::Boolean, nullable: false }),
    verify,
    true,
);

const fn function(
    name: &'static str,
    arguments: usize,
    result: fn(&'static str, &[Argument<'_>]) -> Result<ColumnType>,
    body: ScalarBody,
    deterministic: bool,
) -> ScalarFunction {
    ScalarFunction {
        name,
        arity: (arguments, arguments),
        result,
        // That of the optional clauses is not known.
        parameter_type: |place, arguments| {
            let required_places = if arguments.len() == VERIFY_ARGUMENTS { 3 } else { 2 };
            (place < required_places).then(|| required(varying(PARAMETER_BYTES, OCTETS))).flatten()
        },
        body,
        strict: false,
        deterministic,
    }
}

fn message_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let nullable = arguments.first().is_none_or(|argument| argument.column_type.nullable);
    Ok(ColumnType { sql_type: varying(MESSAGE_BYTES, OCTETS), nullable })
}

/// As nullable as digest and key.
fn signature_result(_: &'static str, arguments: &[Argument<'_>]) -> Result<ColumnType> {
    let deciding = arguments.get(..2).unwrap_or(arguments);
    Ok(nullable_as(varying(MESSAGE_BYTES, OCTETS), deciding))
}

fn make_private(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let bytes = argument::int32(context, call.argument(0))?;
    if !(1..=KEY_BYTES_MAX).contains(&bytes) {
        return Err(out_of_range());
    }
    let key = RsaKey::make(usize::try_from(bytes).unwrap_or(0), &context.session.interrupt)?;
    Ok(key.private_form().map_or(Value::Null, octets))
}

fn public_of(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let key = RsaKey::read(&key_bytes(call.argument(0), "private key", context)?)?;
    Ok(octets(key.public_form()))
}

/// A function's own clauses: KEY, LPARAM or SALT_LENGTH, HASH, PKCS_1_5.
fn hash_of(value: &Value) -> Result<Hash> {
    let name = name_of(value);
    Hash::by_name(&name).ok_or_else(|| Error::new(isc::TOM_HASH_BAD).with(name))
}

/// Whether PKCS_1_5 is there.
fn is_old(value: &Value) -> bool {
    !value.is_null()
}

fn encrypt(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let hash = hash_of(call.argument(3))?;
    let message = bytes_of(call.argument(0), context)?;
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let key = RsaKey::read(&key_bytes(call.argument(1), "crypt key", context)?)?;
    let label = bytes_of(call.argument(2), context)?;
    let wrong = |fault: &str| failed(fault, isc::TOM_CRYPT_CIP).with("RSA");
    if key.bytes() > ENCRYPTED_BYTES_MAX {
        return Err(wrong(fault::OVERFLOW));
    }
    let padded = match is_old(call.argument(4)) {
        true => padding::old(&message, key.bytes())?,
        false => padding::oaep(hash, &message, &label, key.bytes())?,
    };
    let padded = padded.map_err(wrong)?;
    key.with_public(&padded).map(octets).ok_or_else(|| wrong(fault::SIZE))
}

fn decrypt(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let hash = hash_of(call.argument(3))?;
    let message = bytes_of(call.argument(0), context)?;
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let key = RsaKey::read(&key_bytes(call.argument(1), "crypt key", context)?)?;
    let label = bytes_of(call.argument(2), context)?;
    let wrong = |fault: &str| failed(fault, isc::TOM_DECRYPT_CIP).with("RSA");
    if message.len() != key.bytes() {
        return Err(wrong(fault::PACKET));
    }
    let padded = key.with_private(&message).map_err(wrong)?;
    let plain = match is_old(call.argument(4)) {
        true => padding::from_old(&padded),
        false => padding::from_oaep(hash, &padded, &label),
    };
    match plain {
        None => Err(wrong(fault::PACKET)),
        Some(plain) if plain.len() > DECRYPTED_BYTES_MAX => Err(wrong(fault::OVERFLOW)),
        Some(plain) => Ok(octets(plain)),
    }
}

/// SALT_LENGTH.
fn salt_bytes(value: &Value, hash: Hash, key: &RsaKey, context: &Context<'_>) -> Result<usize> {
    if value.is_null() {
        return Ok(SALT_BYTES);
    }
    let most = padding::salt_bytes_max(hash, key.bytes());
    let length = usize::try_from(argument::int32(context, value)?).ok();
    length.filter(|length| most.is_some_and(|most| *length <= most)).ok_or_else(out_of_range)
}

fn sign(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let hash = hash_of(call.argument(2))?;
    let digest = bytes_of(call.argument(0), context)?;
    if digest.is_empty() {
        return Ok(Value::Null);
    }
    let key = RsaKey::read(&key_bytes(call.argument(1), "private key", context)?)?;
    let salt = salt_bytes(call.argument(3), hash, &key, context)?;
    let wrong = |fault: &str| failed(fault, isc::TOM_RSA_SIGN);
    let padded = match is_old(call.argument(4)) {
        true => padding::old_signature(hash, &digest, key.bytes()),
        false => padding::pss(hash, &digest, salt, key.bits())?,
    };
    let signature = padded.and_then(|padded| key.with_private(&padded));
    signature.map(octets).map_err(wrong)
}

fn verify(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let hash = hash_of(call.argument(3))?;
    let digest = bytes_of(call.argument(0), context)?;
    if digest.is_empty() {
        return Ok(Value::Null);
    }
    let signature = bytes_of(call.argument(1), context)?;
    if signature.is_empty() {
        return Ok(Value::Boolean(false));
    }
    let key = RsaKey::read(&key_bytes(call.argument(2), "public key", context)?)?;
    let salt = salt_bytes(call.argument(4), hash, &key, context)?;
    let message = key.with_public(&signature).filter(|_| signature.len() == key.bytes());
    let is_genuine = message.is_some_and(|message| match is_old(call.argument(5)) {
        true => padding::old_signature(hash, &digest, key.bytes()).is_ok_and(|expected| expected == message),
        false => padding::is_pss(hash, &digest, salt, key.bits(), &message),
    });
    Ok(Value::Boolean(is_genuine))
}
