//! Index keys: from a row's values to the bytes of its entry.

use farbird_types::Value;
use farbird_types::key::{self, NullsPosition, encode_key, encode_prefix};

use crate::index::KeyRange;
use crate::layout::{IndexDefinition, KeyPart, KeySource};
use crate::{KeyBound, Result, RowId, StoreError, keyspace};

/// Room for the keys of most indexes, to begin with.
const KEY_BYTES_USUAL: usize = 32;

/// A row's key in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexKey {
    pub(crate) bytes: Vec<u8>,
    /// Keys whose values are all NULL never collide.
    pub(crate) all_null: bool,
}

impl IndexKey {
    /// The entry under which the row stands in the index.
    pub(crate) fn entry(&self, row: RowId) -> Vec<u8> {
        let mut entry = Vec::with_capacity(self.bytes.len() + keyspace::ROW_BYTES);
        entry.extend_from_slice(&self.bytes);
        entry.extend_from_slice(&row.0.to_be_bytes());
        entry
    }
}

/// A range of entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EntrySpan {
    /// Entries from here on; `None`: all.
    pub(crate) start: Option<Vec<u8>>,
    /// Entries before this; `None`: all.
    pub(crate) end: Option<Vec<u8>>,
}

impl IndexDefinition {
    pub(crate) fn key_part(&self, position: usize) -> Option<key::KeyPart> {
        self.parts.get(position).map(|part| self.encoding(part))
    }

    fn encoding(&self, part: &KeyPart) -> key::KeyPart {
        key::KeyPart { collation: part.collation, descending: self.descending, nulls: NullsPosition::Lowest }
    }

    /// The values of a row's key, or `None` if the index leaves the row out.
    pub(crate) fn key_values(&self, row: &[Value]) -> Result<Option<Vec<Value>>> {
        if let Some(condition) = &self.condition
            && !condition.holds(row)?
        {
            return Ok(None);
        }
        let values = self.parts.iter().map(|part| match &part.source {
            KeySource::Column(slot) => Ok(row.get(usize::from(*slot)).cloned().unwrap_or_default()),
            KeySource::Expression(expression) => Ok(expression.evaluate(row)?),
        });
        values.collect::<Result<Vec<Value>>>().map(Some)
    }

    /// A row's key, or `None` if the index leaves the row out.
    pub(crate) fn key(&self, row: &[Value]) -> Result<Option<IndexKey>> {
        let mut bytes = Vec::with_capacity(KEY_BYTES_USUAL);
        let all_null = self.append_key(row, &mut bytes)?;
        Ok(all_null.map(|all_null| IndexKey { bytes, all_null }))
    }

    /// Appends a row's key and tells whether all its values are NULL; `None` if the index leaves the row out.
    pub(crate) fn append_key(&self, row: &[Value], out: &mut Vec<u8>) -> Result<Option<bool>> {
        if let Some(condition) = &self.condition
            && !condition.holds(row)?
        {
            return Ok(None);
        }
        let start = out.len();
        let mut all_null = true;
        for part in &self.parts {
            let computed;
            let value = match &part.source {
                KeySource::Column(slot) => row.get(usize::from(*slot)).unwrap_or(&Value::Null),
                KeySource::Expression(expression) => {
                    computed = expression.evaluate(row)?;
                    &computed
                }
            };
            all_null &= value.is_null();
            encode_key(value, &self.encoding(part), out)?;
        }
        self.check_length(out.len() - start)?;
        Ok(Some(all_null))
    }

    /// Fails for a key that is too long.
    pub(crate) fn check_length(&self, size: usize) -> Result<()> {
        match size <= StoreError::KEY_BYTES_MAX {
            true => Ok(()),
            false => Err(StoreError::KeyTooLong { index: self.id, size }),
        }
    }

    /// The key, or beginning of keys, of values for the first parts.
    pub(crate) fn encode(&self, values: &[Value]) -> Result<IndexKey> {
        let mut bytes = Vec::with_capacity(KEY_BYTES_USUAL);
        self.encode_into(values.iter(), &mut bytes)?;
        Ok(IndexKey { bytes, all_null: values.iter().all(Value::is_null) })
    }

    /// Appends the key, or beginning of keys, of values for the first parts.
    pub(crate) fn encode_into<'v>(
        &self,
        values: impl Iterator<Item = &'v Value>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        for (position, value) in values.enumerate() {
            let Some(part) = self.key_part(position) else { break };
            encode_key(value, &part, bytes)?;
        }
        self.check_length(bytes.len())
    }

    /// The entries of a range of keys, in the order of the index.
    pub(crate) fn span(&self, range: &KeyRange) -> Result<EntrySpan> {
        if let Some(prefix) = &range.starting_with {
            let (mut beginning, position) = match &range.lower {
                KeyBound::Included(values) => (self.encode(values)?.bytes, values.len()),
                _ => (Vec::new(), 0),
            };
            if let Some(part) = self.key_part(position) {
                encode_prefix(prefix, &part, &mut beginning);
            }
            let after = keyspace::after_prefix(&beginning);
            return Ok(EntrySpan { start: Some(beginning), end: after });
        }
        if let (KeyBound::Included(values), true) = (&range.lower, range.lower == range.upper) {
            let start = self.encode(values)?.bytes;
            return Ok(EntrySpan { end: keyspace::after_prefix(&start), start: Some(start) });
        }
        let (first, last) = match self.descending {
            false => (&range.lower, &range.upper),
            true => (&range.upper, &range.lower),
        };
        let start = match first {
            KeyBound::Unbounded => None,
            KeyBound::Included(values) => Some(self.encode(values)?.bytes),
            // Nothing comes after a beginning of nothing but the highest bytes: an empty range.
            KeyBound::Excluded(values) => {
                let beginning = self.encode(values)?.bytes;
                Some(keyspace::after_prefix(&beginning).unwrap_or_else(|| vec![0xFF; beginning.len() + 1]))
            }
        };
        let end = match last {
            KeyBound::Unbounded => None,
            KeyBound::Included(values) => keyspace::after_prefix(&self.encode(values)?.bytes),
            KeyBound::Excluded(values) => Some(self.encode(values)?.bytes),
        };
        Ok(EntrySpan { start, end })
    }
}
