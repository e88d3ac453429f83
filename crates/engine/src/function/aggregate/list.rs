//! LIST: the values as texts, one after the other, in a BLOB.

use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Text, Value, isc};

use super::{argument_type, nullable};
use crate::execute::context::ExecutionContext;
use crate::expression::blob;
use crate::function::result_type::text_kind;
use crate::function::{Accumulator, argument};

/// Most bytes that a list collects.
const LIST_BYTES_MAX: usize = 256 << 20;

/// A BLOB of the argument's subtype and character set; text for anything else.
pub(super) fn result(_: &'static str, arguments: &[ColumnType]) -> Result<ColumnType> {
    let sql_type = argument_type(arguments);
    let (character_set, collation) = text_kind(sql_type);
    nullable(match sql_type {
        blob @ SqlType::Blob { .. } => *blob,
        SqlType::Text(_) if character_set == CharacterSet::OCTETS => SqlType::BLOB_BINARY,
        _ => SqlType::Blob { subtype: 1, character_set, collation },
    })
}

pub(super) fn start(_: &[ColumnType], result: &ColumnType) -> Box<dyn Accumulator> {
    let (subtype, character_set) = match result.sql_type {
        SqlType::Blob { subtype, character_set, .. } => (subtype, character_set),
        _ => (1, CharacterSet::NONE),
    };
    Box::new(List { bytes: None, null_delimiter: false, subtype, character_set })
}

struct List {
    bytes: Option<Vec<u8>>,
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
}

impl Accumulator for List {
    fn add(&mut self, context: &mut ExecutionContext<'_>, arguments: &[Value]) -> Result<()> {
        let value = match arguments.first() {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        let set = self.set();
        let text = argument::text_in(context, value, set)?;
        let Some(bytes) = &mut self.bytes else {
            self.bytes = Some(text.bytes().to_vec());
            return Ok(());
        };
        match arguments.get(1) {
            None => bytes.push(b','),
            Some(Value::Null) => self.null_delimiter = true,
            Some(delimiter) => bytes.extend_from_slice(argument::text_in(context, delimiter, set)?.bytes()),
        }
        bytes.extend_from_slice(text.bytes());
        if bytes.len() > LIST_BYTES_MAX {
            return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG));
        }
        Ok(())
    }

    fn result(&self, context: &mut ExecutionContext<'_>) -> Result<Value> {
        match &self.bytes {
            Some(bytes) if !self.null_delimiter => {
                let text = Text::new(bytes.as_slice(), self.set());
                Ok(Value::Blob(blob::text_blob(context, &text, self.subtype, self.character_set)?))
            }
            _ => Ok(Value::Null),
        }
    }
}
