//! Any BLR and any message: two bytes of length, the BLR, the message.
//!
//! Beyond not panicking: a format prints to BLR that parses to it, and decoded values encode to bytes that give the
//! same values (compared as bytes, since a NaN differs from itself). Rows in a run are
//! the rows one by one.
#![no_main]

use std::sync::Arc;

use farbird_types::Value;
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::message::{MessageForm, MessageFormat, RunLimits};
use farbird_wire::packet::{Fetch, Output, Request};
use farbird_wire::protocol::Handle;
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

/// The rows of a run in which this message comes first.
fn run(format: &MessageFormat, message: &[u8]) -> Option<Vec<Vec<Value>>> {
    const HEAD: [u8; 12] = [0, 0, 0, 66, 0, 0, 0, 0, 0, 0, 0, 1];
    let mut decoder = ReplyDecoder::new(Limits::default());
    let output = Output::new(Some(Arc::new(format.clone())));
    decoder.expect(&Request::Fetch(Fetch { statement: Handle(1), output, count: 10 })).ok()?;
    decoder.feed(&HEAD);
    decoder.feed(message);
    let run = decoder.next_run(RunLimits::default()).ok()??;
    Some(run.rows().map(|row| row.to_values()).collect())
}

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(rest.len());
    let (blr, message) = rest.split_at(length);
    let Ok(Some(format)) = MessageFormat::parse(blr) else { return };
    assert_eq!(MessageFormat::parse(&format.to_blr()), Ok(Some(format.clone())));
    let encoded = |values: &[Value]| encode(&format, MessageForm::Packed, values);
    let alone = decode(&format, MessageForm::Packed, message);
    let first = run(&format, message).map(|rows| rows.first().map(|row| encoded(row)));
    assert_eq!(first, alone.map(|values| Some(encoded(&values))));
    for form in [MessageForm::Packed, MessageForm::Unpacked] {
        if let Some(values) = decode(&format, form, message) {
            let encoded = encode(&format, form, &values);
            let again = decode(&format, form, &encoded).expect("what we encode can be decoded");
            assert_eq!(encode(&format, form, &again), encoded);
        }
    }
});
