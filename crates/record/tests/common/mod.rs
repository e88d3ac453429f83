//! Any record format, and any row of it.
#![allow(dead_code, unreachable_pub, missing_docs)]

use farbird_record::RecordFormat;
use farbird_types::character_set::{CharacterSet, Collation};
use farbird_types::decimal::Decimal;
use farbird_types::{
    BlobId, Date, ExactSubtype, ExactWidth, SqlType, Text, TextType, Time, TimeTz, Timestamp, TimestampTz,
    Value, ZoneId,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn sql_type() -> impl Strategy<Value = SqlType> {
    let width = prop_oneof![
        Just(ExactWidth::Short),
        Just(ExactWidth::Long),
        Just(ExactWidth::Int64),
        Just(ExactWidth::Int128)
    ];
    let exact = (width, -18i8..=0).prop_map(|(width, scale)| SqlType::Exact {
        width,
        scale,
        subtype: ExactSubtype::Integer,
    });
    let sets = prop_oneof![
        Just(CharacterSet::NONE),
        Just(CharacterSet::OCTETS),
        Just(CharacterSet::UTF8),
        Just(CharacterSet(53)),
        Just(CharacterSet(5))
    ];
    let text = (any::<bool>(), 0u32..40, sets).prop_map(|(varying, length_chars, character_set)| {
        SqlType::Text(TextType { varying, length_chars, character_set, collation: Collation(0) })
    });
    prop_oneof![
        1 => Just(SqlType::Null),
        1 => Just(SqlType::Boolean),
        4 => exact,
        1 => Just(SqlType::Float),
        2 => Just(SqlType::Double),
        1 => Just(SqlType::DecFloat16),
        1 => Just(SqlType::DecFloat34),
        1 => Just(SqlType::Date),
        1 => Just(SqlType::Time),
        1 => Just(SqlType::Timestamp),
        1 => Just(SqlType::TimeTz),
        1 => Just(SqlType::TimestampTz),
        4 => text,
        1 => Just(SqlType::BLOB_BINARY),
    ]
}

/// Numbers of all magnitudes.
fn number() -> impl Strategy<Value = i128> {
    (any::<i128>(), 0u32..127).prop_map(|(number, shift)| number >> shift)
}

fn timestamp() -> impl Strategy<Value = Timestamp> {
    (-700_000i32..3_000_000, 0u32..864_000_000)
        .prop_map(|(date, time)| Timestamp { date: Date(date), time: Time(time) })
}

fn text(declared: TextType) -> BoxedStrategy<Value> {
    let set = declared.character_set;
    let length = declared.length_chars as usize;
    let bytes = match set {
        CharacterSet::UTF8 => vec(prop_oneof![Just(' '), any::<char>()], 0..=length)
            .prop_map(|chars| chars.into_iter().collect::<String>().into_bytes())
            .boxed(),
        _ => vec(prop_oneof![Just(b' '), Just(0), any::<u8>()], 0..=length).boxed(),
    };
    bytes
        .prop_map(move |mut bytes| {
            if !declared.varying && set.bytes_per_character() == 1 {
                bytes.resize(length, if set == CharacterSet::OCTETS { 0 } else { b' ' });
            }
            Value::Text(Text::new(bytes, set))
        })
        .boxed()
}

fn value(sql_type: SqlType) -> BoxedStrategy<Value> {
    match sql_type {
        SqlType::Null => Just(Value::Null).boxed(),
        SqlType::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        SqlType::Exact { width: ExactWidth::Int128, scale, .. } => {
            number().prop_map(move |unscaled| Value::Int128 { unscaled, scale }).boxed()
        }
        SqlType::Exact { width, scale, .. } => number()
            .prop_map(move |number| {
                let unscaled = match width {
                    ExactWidth::Short => i64::from(number as i16),
                    ExactWidth::Long => i64::from(number as i32),
                    _ => number as i64,
                };
                Value::Integer { unscaled, scale }
            })
            .boxed(),
        // NaN is not equal to itself, which is all that these tests look at.
        SqlType::Float => any::<f32>().prop_filter("NaN", |f| !f.is_nan()).prop_map(Value::Float).boxed(),
        SqlType::Double => prop_oneof![
            any::<f64>().prop_filter("NaN", |f| !f.is_nan()),
            any::<i32>().prop_map(f64::from),
            Just(-0.0),
            Just(9_007_199_254_740_993.0)
        ]
        .prop_map(Value::Double)
        .boxed(),
        SqlType::DecFloat16 | SqlType::DecFloat34 => {
            number().prop_map(|bits| Value::DecFloat(Decimal(bits as u128))).boxed()
        }
        SqlType::Date => timestamp().prop_map(|stamp| Value::Date(stamp.date)).boxed(),
        SqlType::Time => timestamp().prop_map(|stamp| Value::Time(stamp.time)).boxed(),
        SqlType::Timestamp => timestamp().prop_map(Value::Timestamp).boxed(),
        SqlType::TimeTz => (timestamp(), any::<u16>())
            .prop_map(|(stamp, zone)| Value::TimeTz(TimeTz { utc: stamp.time, zone: ZoneId(zone) }))
            .boxed(),
        SqlType::TimestampTz => (timestamp(), any::<u16>())
            .prop_map(|(utc, zone)| Value::TimestampTz(TimestampTz { utc, zone: ZoneId(zone) }))
            .boxed(),
        SqlType::Text(declared) => text(declared),
        SqlType::Blob { .. } | SqlType::Array => any::<u64>().prop_map(|id| Value::Blob(BlobId(id))).boxed(),
    }
}

/// A format and rows of it.
pub fn rows(rows_max: usize) -> impl Strategy<Value = (RecordFormat, Vec<Vec<Value>>)> {
    vec(sql_type(), 0..20).prop_flat_map(move |columns| {
        let row: Vec<_> = columns
            .iter()
            .map(|column| option::weighted(0.7, value(*column)).prop_map(Option::unwrap_or_default))
            .collect();
        (Just(RecordFormat::new(columns)), vec(row, 1..=rows_max))
    })
}
