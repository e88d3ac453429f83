//! The orders of all collations against those of a real Firebird, recorded in `data/recorded-orders.txt`.
//!
//! What is left of differences stands here, collation by collation, and in docs/collations.md: how many of the neighbours
//! in Firebird's order are the other way round, or equal, with us.

use std::collections::BTreeMap;

use farbird_types::collation::{CollationRequest, append_order_key, compare_text, lower, upper};
use farbird_types::{CharacterSet, Collation, Text};

const RECORDED: &str = include_str!("../data/recorded-orders.txt");

/// Neighbours that we place otherwise.
const DIFFERENT: &[(&str, usize)] = &[
    // A control character and the no-break space, equal there.
    ("ES_ES", 1),
    // That, and neighbours that Firebird sorts as equal and compares as different, with others between them.
    ("ES_ES_CI_AI", 2),
    ("FR_CA_CI_AI", 2),
    ("FR_FR_CI_AI", 2),
    // Ideographs that have moved since CLDR 46.
    ("UNICODE", 7),
    ("UNICODE_CI_AI", 1),
    ("U_LT", 1),
    ("U_RU", 1),
];

#[test]
fn texts_are_sorted_as_by_firebird() {
    let mut different: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut compared = 0;
    let mut lines = RECORDED.lines().filter(|line| !line.starts_with('#'));
    while let (Some(title), Some(texts)) = (lines.next(), lines.next()) {
        let (name, set, collation) = collation_of(title);
        let mut previous: Option<Text> = None;
        for word in texts.split(' ') {
            let (equal, hex) = match word.strip_prefix('=') {
                Some(hex) => (true, hex),
                None => (false, word),
            };
            let text = Text::new(bytes_of(hex), set);
            if let Some(before) = previous.replace(text.clone()) {
                let order = key(&before, collation).cmp(&key(&text, collation));
                let same = compare_text(&before, &text, collation).is_eq();
                if same != equal || order.is_gt() {
                    let relation = if equal { '=' } else { '<' };
                    let pair = format!("{} {relation} {}", before.decode_lossy(), text.decode_lossy());
                    different.entry(name).or_default().push(pair);
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 40_000, "{compared} pairs");
    let counts: Vec<_> = different.iter().map(|(name, pairs)| (*name, pairs.len())).collect();
    assert_eq!(counts, DIFFERENT, "{different:#?}");
}

fn collation_of(title: &str) -> (&str, CharacterSet, Collation) {
    let mut words = title.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (name, set) = (word(), word());
    let set = CharacterSet::by_name(set).expect("a character set");
    let base = word();
    if base.is_empty() {
        return (name, set, set.collation_by_name(name).expect("a collation"));
    }
    let attributes = word().parse().expect("attributes");
    let request = CollationRequest { base, attributes, specific: word() };
    (name, set, Collation::make(set, 126, &request).expect("it can be made"))
}

fn key(text: &Text, collation: Collation) -> Vec<u8> {
    let mut key = Vec::new();
    append_order_key(text, collation, &mut key);
    key
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digit = |digit: u8| char::from(digit).to_digit(16).expect("a hex digit") as u8;
    hex.as_bytes().chunks_exact(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

const CASES: &str = include_str!("../data/recorded-cases.txt");

/// Errors there: characters whose capitals are not in the set, which we let be.
const DIFFERENT_CASES: &[&str] = &["NXT_ESP UPPER a6", "ISO8859_13 UPPER b5"];

/// UPPER and LOWER of every character of every single-byte set, by every collation. Bytes without a meaning are left out:
/// Firebird makes zeros of them.
#[test]
fn case_is_mapped_as_by_firebird() {
    let mut wrong = Vec::new();
    for line in CASES.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (name, set, function, mapped) = (word(), word(), word(), word());
        let set = CharacterSet::by_name(set).expect("a character set");
        let collation = set.collation_by_name(name).expect("a collation");
        // There the character set cannot be converted from some of its own bytes.
        if name == "WIN1258" {
            continue;
        }
        for (byte, expected) in (0x80..=0xFFu8).zip(mapped.as_bytes().chunks_exact(2)) {
            let text = Text::new([byte], set);
            if text.decode().is_err() {
                continue;
            }
            let got = match function {
                "UPPER" => upper(&text, collation),
                _ => lower(&text, collation),
            };
            let got = got.map_or_else(|_| "!!".to_owned(), |bytes| format!("{:02x}", bytes[0]));
            let pair = format!("{name} {function} {byte:02x}");
            if got.as_bytes() != expected && !DIFFERENT_CASES.contains(&pair.as_str()) {
                let expected = String::from_utf8_lossy(expected);
                wrong.push(format!("{pair}: {got}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
}
