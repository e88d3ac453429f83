//! Arguments as bytes, results, and what Firebird's library calls its faults.

use farbird_types::{CharacterSet, Collation, Error, Result, Text, Value, isc};

use crate::argument;
use crate::context::Context;

pub(super) const OCTETS: (CharacterSet, Collation) = (CharacterSet::OCTETS, Collation(0));

/// What Firebird's library says in its errors.
pub(super) mod fault {
    pub(in super::super) const ARGUMENT: &str = "Invalid argument provided.";
    pub(in super::super) const KEY_SIZE: &str = "Invalid key size.";
    pub(in super::super) const PACKET: &str = "Invalid input packet.";
    pub(in super::super) const SIZE: &str = "Invalid sized parameter.";
    pub(in super::super) const PRIME_SIZE: &str = "Invalid size for prime.";
    pub(in super::super) const OVERFLOW: &str = "Buffer overflow.";
    pub(in super::super) const NOT_PRIVATE: &str = "A private PK key is required.";
}

/// A fault of the computation, and what was being done.
pub(super) fn failed(fault: &str, doing: u32) -> Error {
    Error::new(isc::TOM_ERROR).with(fault).and(doing)
}

/// The bytes of an argument; none for NULL.
pub(super) fn bytes_of(value: &Value, context: &mut Context<'_>) -> Result<Vec<u8>> {
    match value {
        Value::Null => Ok(Vec::new()),
        value => Ok(argument::text(context, value)?.bytes().to_vec()),
    }
}

/// The bytes of an argument that must be some.
pub(super) fn key_bytes(value: &Value, what: &str, context: &mut Context<'_>) -> Result<Vec<u8>> {
    let bytes = bytes_of(value, context)?;
    if bytes.is_empty() {
        return Err(Error::new(isc::SYSF_INVALID_NULL_EMPTY).with(what));
    }
    Ok(bytes)
}

/// A name that a clause gives; empty without the clause.
pub(super) fn name_of(value: &Value) -> String {
    match value {
        Value::Text(name) => name.decode_lossy().into_owned(),
        _ => String::new(),
    }
}

pub(super) fn octets(bytes: Vec<u8>) -> Value {
    Value::Text(Text::new(bytes, CharacterSet::OCTETS))
}
