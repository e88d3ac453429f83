//! LIST: the values as texts, one after the other, in a BLOB.

use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Value, isc};

use super::types::{argument_type, nullable};
use crate::blob::{self, releasing};
use crate::context::Context;
use crate::result_type::text_kind;
use crate::{Accumulator, argument};
use farbird_budget::{Reservation, extend_within, room};

/// Most bytes that a list collects.
const LIST_BYTES_MAX: usize = 256 << 20;

/// A BLOB of the argument's subtype and character set; text for anything else, OCTETS too.
pub(super) fn result(_: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    let sql_type = argument_type(arguments);
    let (character_set, collation) = text_kind(sql_type);
    nullable(match sql_type {
        blob @ SqlType::Blob { .. } => *blob,
        _ => SqlType::Blob { subtype: 1, character_set, collation },
    })
}

pub(super) fn start(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    let (subtype, character_set) = match result.sql_type {
        SqlType::Blob { subtype, character_set, .. } => (subtype, character_set),
        _ => (1, CharacterSet::NONE),
    };
    Box::new(List { bytes: None, memory: None, null_delimiter: false, subtype, character_set })
}

struct List {
    bytes: Option<Vec<u8>>,
    /// What those are charged to.
    memory: Option<Reservation>,
    /// A NULL between two values makes the whole NULL.
    null_delimiter: bool,
    subtype: i16,
    character_set: CharacterSet,
}

impl List {
    /// The character set in which the list is put together.
    fn set(&self) -> CharacterSet {
        if self.subtype == 1 { self.character_set } else { CharacterSet::OCTETS }
    }

    fn add_value(
        &mut self,
        context: &mut Context<'_>,
        value: &Value,
        delimiter: Option<&Value>,
    ) -> Result<()> {
        let set = self.set();
        let text = argument::text_in(context, value, set)?;
        if self.bytes.is_none() {
            return self.append(context, &[text.bytes()]);
        }
        match delimiter {
            None => self.append(context, &[b",", text.bytes()]),
            Some(Value::Null) => {
                self.null_delimiter = true;
                Ok(())
            }
            Some(delimiter) => {
                let delimiter = argument::text_in(context, delimiter, set)?;
                self.append(context, &[delimiter.bytes(), text.bytes()])
            }
        }
    }

    fn append(&mut self, context: &Context<'_>, parts: &[&[u8]]) -> Result<()> {
        let bytes = self.bytes.get_or_insert_default();
        let more = parts.iter().map(|part| part.len()).sum();
        if bytes.len() + more > LIST_BYTES_MAX {
            return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG));
        }
        self.memory.get_or_insert_with(|| context.budget.reserve()).grow(room(bytes, more))?;
        extend_within(bytes, more, parts.iter().copied().flatten().copied());
        Ok(())
    }
}

impl Accumulator for List {
    fn add(&mut self, context: &mut Context<'_>, arguments: &[Value]) -> Result<()> {
        let value = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        releasing(context, |context| self.add_value(context, value, arguments.get(1)))
    }

    fn result(&self, context: &mut Context<'_>) -> Result<Value> {
        match &self.bytes {
            Some(bytes) if !self.null_delimiter => {
                // They are in the BLOB's own character set.
                Ok(Value::Blob(blob::bytes_blob(context, bytes, self.subtype, self.character_set)?))
            }
            _ => Ok(Value::Null),
        }
    }
}
