//! Rows in runs are the rows one by one, wherever the network cuts them; rows written from columns are the rows written
//! from values.

use std::sync::Arc;

use farbird_types::temporal::{TimeTz, TimestampTz, ZoneId};
use farbird_types::{BlobId, CharacterSet, Date, Text, Time, Timestamp, Value};
use farbird_wire::decoder::{Limits, ReplyDecoder};
use farbird_wire::message::{
    ColumnData, ColumnSlice, EncodeFault, Mark, Message, MessageForm, MessageFormat, MessageType, RowRun,
    RunLimits,
};
use farbird_wire::packet::{
    Fetch, FetchResponse, Output, ProtocolOffer, Reply, Request, Response, encode_fetch_row,
};
use farbird_wire::protocol::{Handle, ProtocolVersion};
use proptest::prelude::*;

fn kind() -> impl Strategy<Value = MessageType> {
    prop_oneof![
        3 => Just(MessageType::Long { scale: 0 }),
        1 => Just(MessageType::Short { scale: -2 }),
        1 => Just(MessageType::Int64 { scale: -4 }),
        1 => Just(MessageType::Int128 { scale: -4 }),
        1 => Just(MessageType::Float),
        1 => Just(MessageType::Double),
        1 => Just(MessageType::Date),
        1 => Just(MessageType::Time),
        1 => Just(MessageType::Timestamp),
        1 => Just(MessageType::TimeTz),
        1 => Just(MessageType::TimestampTz),
        1 => Just(MessageType::Boolean),
        1 => Just(MessageType::Quad { scale: 0 }),
        2 => (0_u16..9).prop_map(|length| MessageType::Text { length, charset: Some(4) }),
        3 => (0_u16..9).prop_map(|length| MessageType::Varying { length, charset: Some(4) }),
    ]
}

/// A value of a type, out of a number.
fn value(kind: &MessageType, number: i64) -> Value {
    let text =
        |length: usize| Value::Text(Text::new(vec![b'a' + (number & 15) as u8; length], CharacterSet(4)));
    let timestamp = Timestamp { date: Date((number >> 40) as i32), time: Time(number as u32 % 864_000_000) };
    match *kind {
        MessageType::Short { scale } => Value::Integer { unscaled: i64::from(number as i16), scale },
        MessageType::Long { scale } => Value::Integer { unscaled: i64::from(number as i32), scale },
        MessageType::Int64 { scale } => Value::Integer { unscaled: number, scale },
        MessageType::Int128 { scale } => Value::Int128 { unscaled: i128::from(number) << 40, scale },
        MessageType::Float => Value::Float(number as f32),
        MessageType::Double => Value::Double(number as f64),
        MessageType::Date => Value::Date(timestamp.date),
        MessageType::Time => Value::Time(timestamp.time),
        MessageType::Timestamp => Value::Timestamp(timestamp),
        MessageType::TimeTz => Value::TimeTz(TimeTz { utc: timestamp.time, zone: ZoneId(5) }),
        MessageType::TimestampTz => Value::TimestampTz(TimestampTz { utc: timestamp, zone: ZoneId(7) }),
        MessageType::Boolean => Value::Boolean(number & 1 == 1),
        MessageType::Quad { .. } => Value::Blob(BlobId(number.cast_unsigned())),
        MessageType::Text { length, .. } => text(usize::from(length)),
        MessageType::Varying { length, .. } => text((number & 7) as usize % (usize::from(length) + 1)),
        _ => Value::Null,
    }
}

/// A format and rows of it; a third of the tables have NULLs.
fn table() -> impl Strategy<Value = (Arc<MessageFormat>, Vec<Vec<Value>>)> {
    let numbers = prop::collection::vec((any::<i64>(), any::<u8>()), 0..300);
    (prop::collection::vec(kind(), 1..20), numbers, 0_u8..3).prop_map(|(kinds, numbers, nulls)| {
        let rows = numbers.chunks_exact(kinds.len()).map(|numbers| {
            let pairs = kinds.iter().zip(numbers);
            let is_null = |chance: u8| nulls == 0 && chance < 60;
            pairs
                .map(|(kind, (number, chance))| match is_null(*chance) {
                    true => Value::Null,
                    false => value(kind, *number),
                })
                .collect()
        });
        let rows = rows.collect();
        (Arc::new(MessageFormat::from_columns(kinds)), rows)
    })
}

/// A client's decoder that has asked for rows of this format.
fn asked(format: &Arc<MessageFormat>, version: ProtocolVersion) -> ReplyDecoder {
    let mut decoder = ReplyDecoder::new(Limits::default());
    let connect = farbird_wire::packet::Connect {
        operation: 19,
        version: 3,
        architecture: 1,
        file: Vec::new(),
        user_identification: Vec::new(),
        offers: Vec::<ProtocolOffer>::new(),
    };
    decoder.expect(&Request::Connect(connect)).unwrap();
    let accept =
        farbird_wire::packet::Accept { version: version.to_wire(), architecture: 1, connection_type: 5 };
    let mut bytes = Vec::new();
    Reply::Accept(accept).encode(version, &mut bytes);
    decoder.feed(&bytes);
    decoder.next_reply().unwrap().unwrap();
    let output = Output::new(Some(Arc::clone(format)));
    decoder.expect(&Request::Fetch(Fetch { statement: Handle(1), output, count: 1000 })).unwrap();
    decoder
}

fn encoded(format: &MessageFormat, rows: &[Vec<Value>], version: ProtocolVersion) -> Vec<u8> {
    let mut bytes = Vec::new();
    for row in rows {
        encode_fetch_row(format, version, row, &mut bytes).unwrap();
    }
    bytes
}

fn values_of(run: &RowRun) -> Vec<Vec<Value>> {
    run.rows().map(|row| row.to_values()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn runs_hold_the_rows_wherever_the_network_cuts(
        (format, rows) in table(),
        sizes in prop::collection::vec(1_usize..2000, 1..10),
        packed in any::<bool>(),
        limit in 1_usize..50,
    ) {
        let version = if packed { ProtocolVersion::V19 } else { ProtocolVersion::V12 };
        let mut bytes = encoded(&format, &rows, version);
        let rows_end = bytes.len();
        Reply::FetchResponse(FetchResponse::END_OF_CURSOR).encode(version, &mut bytes);
        let mut decoder = asked(&format, version);
        let limits = RunLimits { rows: limit, bytes: 1000 };
        let (mut found, mut wire, mut ended) = (Vec::new(), Vec::new(), false);
        let mut rest = &bytes[..];
        let mut sizes = sizes.into_iter().cycle();
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            rest = tail;
            decoder.feed(head);
            loop {
                if let Some(run) = decoder.next_run(limits).unwrap() {
                    prop_assert!(!run.is_empty() && run.len() <= limit);
                    found.extend(values_of(&run));
                    wire.extend_from_slice(run.wire());
                } else if let Some(answer) = decoder.next_reply().unwrap() {
                    prop_assert_eq!(&answer.reply, &Reply::FetchResponse(FetchResponse::END_OF_CURSOR));
                    prop_assert!(answer.is_last);
                    ended = true;
                } else {
                    break;
                }
            }
        }
        prop_assert!(ended && decoder.unread().is_empty());
        prop_assert_eq!(found, rows);
        prop_assert_eq!(&wire[..], &bytes[..rows_end]);
    }

    #[test]
    fn values_are_found_in_any_order((format, rows) in table(), packed in any::<bool>(), order in any::<[u8; 8]>()) {
        let form = if packed { MessageForm::Packed } else { MessageForm::Unpacked };
        for row in &rows {
            let run = RowRun::from(Message::new(Arc::clone(&format), form, row).unwrap());
            let view = run.row(0).unwrap();
            let mut mark = Mark::default();
            for column in (0..row.len()).chain(order.iter().map(|place| usize::from(*place) % row.len())) {
                let value = view.value_from(column, &mut mark).unwrap();
                prop_assert_eq!(&value.to_value(), &row[column]);
                prop_assert_eq!(&view.value(column).unwrap(), &value);
            }
            prop_assert!(view.value(row.len()).is_none());
            prop_assert!(run.row(1).is_none());
        }
    }

    #[test]
    fn columns_are_written_as_their_rows_are((format, rows) in table(), skipped in 1_usize..4, most in 1_usize..4000) {
        let columns = columns_of(&format, &rows);
        let slices: Vec<ColumnSlice<'_>> = columns.iter().map(|column| column.slice()).collect();
        let places: Vec<u32> = (0..rows.len() as u32).step_by(skipped).collect();
        let mut out = vec![7];
        let mut done = 0;
        while done < places.len() {
            let before = out.len();
            let written = format.encode_fetch_columns(&slices, &places[done..], most, &mut out);
            prop_assert!(written.error.is_none() && written.rows > 0);
            let longest = 12 + 4 * format.length() as usize + 16;
            prop_assert!(out.len() - before <= most + longest);
            done += written.rows;
        }
        let kept: Vec<Vec<Value>> = places.iter().map(|place| rows[*place as usize].clone()).collect();
        prop_assert_eq!(&out[1..], encoded(&format, &kept, ProtocolVersion::V19));
    }
}

/// A column as an engine holds it.
struct Column {
    numbers: Option<Vec<i64>>,
    doubles: Option<Vec<f64>>,
    values: Vec<Value>,
    nulls: Vec<u64>,
}

impl Column {
    fn slice(&self) -> ColumnSlice<'_> {
        let values = match (&self.numbers, &self.doubles) {
            (Some(numbers), _) => ColumnData::Numbers(numbers),
            (_, Some(doubles)) => ColumnData::Doubles(doubles),
            _ => ColumnData::Values(&self.values),
        };
        ColumnSlice { values, nulls: &self.nulls }
    }
}

fn columns_of(format: &MessageFormat, rows: &[Vec<Value>]) -> Vec<Column> {
    let column = |number: usize| {
        let values: Vec<Value> = rows.iter().map(|row| row[number].clone()).collect();
        let mut nulls = vec![0; values.len() / 64 + 1];
        for (row, _) in values.iter().enumerate().filter(|(_, value)| value.is_null()) {
            nulls[row / 64] |= 1 << (row % 64);
        }
        let number_of = |value: &Value| {
            Some(match value {
                Value::Null => 0,
                Value::Integer { unscaled, .. } => *unscaled,
                Value::Date(date) => i64::from(date.0),
                Value::Time(time) => i64::from(time.0),
                Value::Timestamp(timestamp) => timestamp.ticks(),
                Value::Boolean(truth) => i64::from(*truth),
                _ => return None,
            })
        };
        let double_of = |value: &Value| {
            Some(match value {
                Value::Null => 0.0,
                Value::Float(number) => f64::from(*number),
                Value::Double(number) => *number,
                _ => return None,
            })
        };
        let numbers = values.iter().map(number_of).collect();
        let doubles = values.iter().map(double_of).collect();
        // Of a column of NULLs alone the values do not tell the type.
        match format.column_type(number) {
            Some(MessageType::Float | MessageType::Double) => {
                Column { numbers: None, doubles, values, nulls }
            }
            Some(MessageType::Text { .. } | MessageType::Varying { .. }) => {
                Column { numbers: None, doubles: None, values, nulls }
            }
            _ => Column { numbers, doubles: None, values, nulls },
        }
    };
    (0..format.column_count()).map(column).collect()
}

#[test]
fn a_number_that_does_not_fit_ends_the_rows_before_it() {
    let format =
        MessageFormat::from_columns([MessageType::Int64 { scale: 0 }, MessageType::Long { scale: 0 }]);
    let (wide, narrow) = ([1, 2, 3, 4], [10, 20, 1 << 40, 30]);
    let column = |values| ColumnSlice { values: ColumnData::Numbers(values), nulls: &[] };
    let mut out = Vec::new();
    let written =
        format.encode_fetch_columns(&[column(&wide), column(&narrow)], &[0, 1, 2, 3], usize::MAX, &mut out);
    assert_eq!(written.rows, 2);
    assert_eq!(written.error.map(|error| (error.column, error.fault)), Some((1, EncodeFault::OutOfRange)));
    let rows = [[1, 10], [2, 20]].map(|row| row.map(Value::integer).to_vec());
    assert_eq!(out, encoded(&format, &rows, ProtocolVersion::V19));
}

#[test]
fn an_error_behind_rows_comes_after_them() {
    let format = Arc::new(MessageFormat::from_columns([MessageType::Varying { length: 3, charset: None }]));
    let rows = [vec![Value::Null], vec![Value::Text(Text::new(&b"abc"[..], CharacterSet(127)))]];
    let mut bytes = encoded(&format, &rows, ProtocolVersion::V19);
    // A third row, whose text is longer than the format allows.
    let second = bytes[16..].to_vec();
    bytes.extend_from_slice(&second);
    let length = bytes.len() - 5;
    bytes[length] = 4;
    let mut decoder = asked(&format, ProtocolVersion::V19);
    decoder.feed(&bytes);
    let run = decoder.next_run(RunLimits::default()).unwrap().unwrap();
    assert_eq!(values_of(&run), rows);
    let error = decoder.next_run(RunLimits::default()).unwrap_err();
    assert_eq!(decoder.next_reply().unwrap_err(), error);
}

#[test]
fn what_is_no_row_is_left_to_the_other_call() {
    let format = Arc::new(MessageFormat::from_columns([MessageType::Long { scale: 0 }]));
    let mut decoder = asked(&format, ProtocolVersion::V19);
    let mut bytes = Vec::new();
    Reply::Response(Response::success()).encode(ProtocolVersion::V19, &mut bytes);
    decoder.feed(&bytes);
    assert!(decoder.next_run(RunLimits::default()).unwrap().is_none());
    assert!(matches!(decoder.next_reply().unwrap().unwrap().reply, Reply::Response(_)));
    assert!(decoder.next_run(RunLimits::default()).unwrap().is_none());
}
