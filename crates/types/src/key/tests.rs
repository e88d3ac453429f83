use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::compare::compare;
use crate::temporal::{Date, Time};

fn key(value: &Value, part: KeyPart) -> Vec<u8> {
    let mut out = Vec::new();
    encode_key(value, &part, &mut out).expect("has an order");
    out
}

const ASCENDING: KeyPart =
    KeyPart { collation: Collation(0), descending: false, nulls: NullsPosition::Lowest };
const DESCENDING: KeyPart = KeyPart { descending: true, ..ASCENDING };

#[test]
fn numbers_ascend_across_widths() {
    let numbers = [
        i128::MIN,
        i64::MIN.into(),
        -65537,
        -257,
        -256,
        -255,
        -2,
        -1,
        0,
        1,
        255,
        256,
        i64::MAX.into(),
        i128::MAX,
    ];
    let keys: Vec<_> =
        numbers.iter().map(|n| key(&Value::Int128 { unscaled: *n, scale: 0 }, ASCENDING)).collect();
    assert!(keys.is_sorted());
    assert_eq!(key(&Value::integer(-257), ASCENDING), keys[3]);
    assert_eq!(key(&Value::integer(5), ASCENDING).len(), 2);
}

#[test]
fn doubles_ascend() {
    let numbers =
        [f64::NEG_INFINITY, -1e300, -1.5, -1e-300, 0.0, 1e-300, 1.5, 1e300, f64::INFINITY, f64::NAN];
    let keys: Vec<_> = numbers.iter().map(|n| key(&Value::Double(*n), ASCENDING)).collect();
    assert!(keys.is_sorted());
    assert_eq!(key(&Value::Double(-0.0), ASCENDING), key(&Value::Double(0.0), ASCENDING));
    assert_eq!(key(&Value::Float(1.5), ASCENDING), key(&Value::Double(1.5), ASCENDING));
}

#[test]
fn nulls_stand_where_they_are_told() {
    let value = Value::text("a");
    for (descending, nulls, null_first) in [
        (false, NullsPosition::Lowest, true),
        (true, NullsPosition::Lowest, false),
        (false, NullsPosition::First, true),
        (true, NullsPosition::First, true),
        (false, NullsPosition::Last, false),
        (true, NullsPosition::Last, false),
    ] {
        let part = KeyPart { descending, nulls, ..ASCENDING };
        for value in
            [&value, &Value::integer(i64::MIN), &Value::Double(f64::NEG_INFINITY), &Value::Boolean(false)]
        {
            let first = key(&Value::Null, part) < key(value, part);
            assert_eq!(first, null_first, "{part:?} {value:?}");
        }
    }
}

#[test]
fn blobs_have_no_key() {
    assert!(encode_key(&Value::Blob(Default::default()), &ASCENDING, &mut Vec::new()).is_err());
}

#[test]
fn a_prefix_finds_its_texts() {
    for part in [ASCENDING, DESCENDING, KeyPart { nulls: NullsPosition::Last, ..ASCENDING }] {
        let mut prefix = Vec::new();
        encode_prefix(&Text::utf8("ab"), &part, &mut prefix);
        assert!(key(&Value::text("abc"), part).starts_with(&prefix));
        assert!(key(&Value::text("ab"), part).starts_with(&prefix));
        assert!(!key(&Value::text("aab"), part).starts_with(&prefix));
    }
}

fn values() -> impl Strategy<Value = (Value, Value)> {
    fn two<T>(strategy: T, make: fn(T::Value) -> Value) -> impl Strategy<Value = (Value, Value)>
    where
        T: Strategy + Clone,
    {
        (strategy.clone(), strategy).prop_map(move |(a, b)| (make(a), make(b)))
    }
    prop_oneof![
        two(any::<i64>(), |unscaled| Value::Integer { unscaled, scale: -2 }),
        two(-300i64..300, |unscaled| Value::Integer { unscaled, scale: 0 }),
        two(any::<i128>(), |unscaled| Value::Int128 { unscaled, scale: -2 }),
        two(any::<f64>(), Value::Double),
        two(any::<f32>(), Value::Float),
        two(any::<bool>(), Value::Boolean),
        two((-1000i128..1000, -4i8..4), |(u, s)| Value::DecFloat(Decimal::from_unscaled(u, s))),
        two(any::<u128>(), |bits| Value::DecFloat(Decimal(bits))),
        two((any::<i32>(), 0u32..864_000_000), |(d, t)| Value::Timestamp(Timestamp {
            date: Date(d),
            time: Time(t)
        })),
        two("[ ab\t!é]{0,4}", |text| Value::text(&text)),
    ]
}

proptest! {
    #[test]
    fn keys_order_as_values_do((a, b) in values()) {
        let ordering = compare(&a, &b, Collation(0)).expect("comparable");
        prop_assert_eq!(key(&a, ASCENDING).cmp(&key(&b, ASCENDING)), ordering);
        prop_assert_eq!(key(&a, DESCENDING).cmp(&key(&b, DESCENDING)), ordering.reverse());
        prop_assert!(key(&Value::Null, ASCENDING) < key(&a, ASCENDING));
        prop_assert!(key(&Value::Null, DESCENDING) > key(&a, DESCENDING));
    }

    #[test]
    fn parts_concatenate((a, b) in values(), (c, d) in values()) {
        let joined = |first: &Value, second: &Value| [key(first, ASCENDING), key(second, DESCENDING)].concat();
        let expected = compare(&a, &b, Collation(0)).expect("comparable")
            .then_with(|| compare(&c, &d, Collation(0)).expect("comparable").reverse());
        prop_assert_eq!(joined(&a, &c).cmp(&joined(&b, &d)), expected);
        if expected == Ordering::Equal {
            prop_assert_eq!(joined(&a, &c), joined(&b, &d));
        }
    }
}

#[test]
fn texts_and_nulls_are_told_by_keys_that_begin_with_them() {
    for nulls in [NullsPosition::Lowest, NullsPosition::First, NullsPosition::Last] {
        for descending in [false, true] {
            let part = KeyPart { descending, nulls, ..ASCENDING };
            let mut texts = TextsOfKeys::new(part, crate::CharacterSet::UTF8);
            for value in [Value::Null, Value::text(""), Value::text("a b"), Value::text("\u{1}\u{20}\u{3}é")]
            {
                let mut begun = key(&value, part);
                encode_key(&Value::integer(7), &part, &mut begun).unwrap();
                assert_eq!(texts.value_of(&begun), Some(value), "{part:?}");
            }
        }
    }
}
