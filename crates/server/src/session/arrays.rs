//! Slices of arrays: op_get_slice and op_put_slice.
//!
//! What a slice is its SDL says, whose lengths and bounds are compared with the array before anything is allocated by them;
//! what a request takes is charged to its attachment as long as it runs.
//! Source: wire-protocol.md, 6.8 and 11.9.

use farbird_engine::api::{ArrayColumn, Named};
use farbird_types::{Error, Result, Text, Value, isc};
use farbird_wire::packet::{Reply, Response, Slice, SliceResponse};
use farbird_wire::slice::{SliceDescription, SliceElements};
use farbird_wire::xdr::DecodeError;

use super::Session;
use super::convert::{message_item, text_character_set};

/// Most bytes of a slice in its client's memory.
const SLICE_BYTES_MAX: u64 = 64 << 20;

/// Bytes that an element may take more as it travels than in its client's memory: a length, and padding.
const ELEMENT_OVERHEAD_BYTES: u64 = 8;

impl Session {
    /// op_get_slice: writes the elements, as the client describes them.
    ///
    /// # Errors
    /// `isc_invalid_sdl`, `isc_out_of_bounds` for more than the client has room for, `isc_virmemexh`; those of the array.
    pub(super) fn get_slice(&mut self, slice: &Slice) -> Result<()> {
        let description = description(slice)?;
        let element = description.element;
        let count = description.bounds.iter().fold(1, |count: u64, (lower, upper)| {
            let extent = i64::from(*upper) - i64::from(*lower) + 1;
            count.saturating_mul(u64::try_from(extent).unwrap_or(0))
        });
        let bytes = count.saturating_mul(u64::from(element.memory_length()));
        if bytes > u64::from(slice.length) || bytes > SLICE_BYTES_MAX {
            return Err(Error::new(isc::OUT_OF_BOUNDS));
        }
        let transaction = self.objects.resolve(slice.transaction);
        let transaction = self.objects.transaction(transaction)?;
        let connection = self.character_set;
        let attachment = self.attachment()?;
        let context = attachment.cast_context();
        let mut memory = attachment.working_memory();
        let values = attachment.array_slice(transaction, slice.array, &description.bounds, &mut memory)?;
        // They are there again as the client wants them, then as they travel, and in the reply.
        let travelling = bytes.saturating_add(count.saturating_mul(ELEMENT_OVERHEAD_BYTES));
        memory.grow(values_bytes(count, bytes).saturating_add(as_usize(travelling.saturating_mul(2))))?;
        let values = values
            .iter()
            .map(|value| message_item(value, &element, connection, &context))
            .collect::<Result<Vec<_>>>()?;
        let elements = SliceElements::new(element, &values).map_err(Error::from)?;
        self.output.reply(&Reply::Slice(SliceResponse { length: elements.length(), elements }));
        Ok(())
    }

    /// op_put_slice: makes an array, whose id the reply has.
    ///
    /// # Errors
    /// `isc_invalid_sdl`, `isc_virmemexh`; those of the array and of its elements.
    pub(super) fn put_slice(&mut self, slice: &Slice) -> Result<Response> {
        let description = description(slice)?;
        let character_set = text_character_set(&description.element, self.character_set);
        let mut memory = self.attachment()?.working_memory();
        let count = u64::from(slice.elements.count());
        memory.grow(values_bytes(count, u64::from(slice.elements.length())))?;
        let mut values = slice.elements.values().map_err(super::undecodable)?;
        if let Some(character_set) = character_set {
            for value in &mut values {
                if let Value::Text(text) = value {
                    character_set.check(text.bytes())?;
                    *text = Text::new(text.bytes(), character_set);
                }
            }
        }
        let transaction = self.objects.resolve(slice.transaction);
        let transaction = self.objects.transaction(transaction)?;
        let (relation, field) =
            (self.decode_text(&description.relation)?, self.decode_text(&description.field)?);
        let column = ArrayColumn {
            relation: named(description.relation_id, &relation),
            field: named(description.field_id, &field),
        };
        let made = self.attachment()?.write_array_slice(
            transaction,
            slice.array,
            column,
            &description.bounds,
            &values,
            &mut memory,
        )?;
        Ok(Response { blob: made, ..Response::success() })
    }
}

/// What elements take as values, which have so many bytes in their client's memory.
fn values_bytes(count: u64, bytes: u64) -> usize {
    as_usize(count.saturating_mul(size_of::<Value>() as u64).saturating_add(bytes))
}

fn as_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn description(slice: &Slice) -> Result<SliceDescription> {
    SliceDescription::parse(&slice.sdl).map_err(|error| {
        let offset = match error {
            DecodeError::Truncated { offset } | DecodeError::BadValue { offset, .. } => offset,
            _ => 0,
        };
        Error::new(isc::INVALID_SDL).with(i32::try_from(offset).unwrap_or(i32::MAX))
    })
}

/// Names are padded by some programs.
fn named(number: Option<u16>, name: &str) -> Named<'_> {
    number.map_or(Named::Name(name.trim_end()), Named::Number)
}
