//! Rows as they are told: op_fetch_response packets one behind the other, with inline BLOBs between them.
//!
//! Promises: no panic and no unbounded memory on any bytes; what cannot be read ends the walk.

use farbird_types::Value;
use farbird_wire::message::{MessageForm, MessageFormat};
use farbird_wire::operation::Operation;
use farbird_wire::xdr::Reader;

/// Calls `take` with each row until it gives false. Gives how many bytes were walked.
pub fn walk(
    packets: &[u8],
    format: &MessageFormat,
    form: MessageForm,
    mut take: impl FnMut(Vec<Value>) -> bool,
) -> usize {
    let mut reader = Reader::new(packets);
    let mut walked = 0;
    while let Some(row) = next(&mut reader, format, form) {
        walked = reader.offset();
        if !take(row) {
            break;
        }
    }
    walked
}

/// The next row; `None` at the end of the bytes, and where something else stands.
fn next(reader: &mut Reader<'_>, format: &MessageFormat, form: MessageForm) -> Option<Vec<Value>> {
    loop {
        let operation = reader.u32().ok()?;
        if operation == Operation::FetchResponse.code() {
            let (status, count) = (reader.u32().ok()?, reader.u16().ok()?);
            if status != 0 || count == 0 {
                return None;
            }
            let mut values = Vec::with_capacity(format.column_count());
            format.decode_row(form, reader, &mut values).ok()?;
            return Some(values);
        }
        if operation != Operation::InlineBlob.code() {
            return None;
        }
        reader.u16().ok()?;
        reader.u64().ok()?;
        for _ in 0..2 {
            reader.counted(reader.remaining()).ok()?;
        }
    }
}
