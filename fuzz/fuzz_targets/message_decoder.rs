//! Any BLR and any message: two bytes of length, the BLR, the message.
//!
//! Beyond not panicking: a format prints to BLR that parses to it, and decoded values encode to bytes that give the
//! same values (compared as bytes, since a NaN differs from itself).
#![no_main]

use farbird_types::Value;
use farbird_wire::message::{MessageForm, MessageFormat};
use farbird_wire::xdr::Reader;
use libfuzzer_sys::fuzz_target;

fn decode(format: &MessageFormat, form: MessageForm, bytes: &[u8]) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    format.decode_row(form, &mut Reader::new(bytes), &mut values).ok()?;
    Some(values)
}

fn encode(format: &MessageFormat, form: MessageForm, values: &[Value]) -> Vec<u8> {
    let mut out = Vec::new();
    format.encode_row(form, values, &mut out).expect("decoded values fit their own format");
    out
}

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (blr, message) = rest.split_at(length);
    let Ok(Some(format)) = MessageFormat::parse(blr) else { return };
    assert_eq!(MessageFormat::parse(&format.to_blr()), Ok(Some(format.clone())));
    for form in [MessageForm::Packed, MessageForm::Unpacked] {
        if let Some(values) = decode(&format, form, message) {
            let encoded = encode(&format, form, &values);
            let again = decode(&format, form, &encoded).expect("what we encode can be decoded");
            assert_eq!(encode(&format, form, &again), encoded);
        }
    }
});
