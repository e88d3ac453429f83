use proptest::prelude::*;

use super::*;

const UTF8: Collation = Collation(0);
const UNICODE: Collation = Collation(2);
const UNICODE_CI: Collation = Collation(3);
const UNICODE_CI_AI: Collation = Collation(4);

fn compare(left: &str, right: &str, collation: Collation) -> Ordering {
    compare_text(&Text::utf8(left), &Text::utf8(right), collation)
}

#[test]
fn trailing_spaces_do_not_count() {
    for collation in [UTF8, UNICODE, UNICODE_CI, UNICODE_CI_AI] {
        assert_eq!(compare("ab", "ab   ", collation), Ordering::Equal);
        assert_eq!(compare("", "   ", collation), Ordering::Equal);
        assert_eq!(compare("a", "ab", collation), Ordering::Less);
    }
    // A space is above a tab.
    assert_eq!(compare("a", "a\t", UTF8), Ordering::Greater);
    assert_eq!(compare("a  b", "a\t", UTF8), Ordering::Greater);
}

#[test]
fn octets_pad_with_zeros() {
    // Recorded from Firebird 4: x'61' = x'610000', x'61' <> x'612020', x'61' < x'6110'.
    let octets = |bytes: &[u8]| Text::new(bytes, CharacterSet::OCTETS);
    let compare = |left: &[u8], right: &[u8]| compare_text(&octets(left), &octets(right), Collation(0));
    assert_eq!(compare(b"a", b"a\0\0"), Ordering::Equal);
    assert_eq!(compare(b"a", b"a  "), Ordering::Less);
    assert_eq!(compare(b"a", b"a\x10"), Ordering::Less);
}

#[test]
fn case_and_accents_count_as_the_collation_says() {
    for (left, right, collation, equal) in [
        ("Straße", "STRASSE", UNICODE_CI, false),
        ("straße", "STRASSE", UNICODE_CI_AI, true),
        ("Ærø", "aero", UNICODE_CI_AI, true),
        ("Æ", "æ", UNICODE_CI, true),
        ("æ", "ae", UNICODE_CI, false),
        ("İ", "i", UNICODE_CI_AI, true),
        ("ı", "i", UNICODE_CI_AI, false),
        ("й", "и", UNICODE_CI_AI, false),
        ("Й", "й", UNICODE_CI, true),
        ("ё", "е", UNICODE_CI_AI, true),
        ("ς", "Σ", UNICODE_CI, true),
        ("ﬁ", "FI", UNICODE_CI, true),
        ("ﬁ", "fi", UNICODE, false),
        ("²", "2", UNICODE_CI, true),
        ("ｱ", "あ", UNICODE_CI, true),
        ("ア", "あ", UNICODE, false),
        ("co\u{AD}op", "coop", UNICODE, true),
        ("co-op", "coop", UNICODE_CI_AI, false),
        ("’", "'", UNICODE_CI_AI, true),
        ("é", "É", UNICODE_CI, true),
        ("é", "e", UNICODE_CI, false),
        ("É", "e", UNICODE_CI_AI, true),
        ("é", "e\u{301}", UNICODE, true),
        ("é", "E", UNICODE, false),
        ("a", "A", UTF8, false),
    ] {
        assert_eq!(compare(left, right, collation).is_eq(), equal, "{left} {right}");
    }
}

#[test]
fn a_dictionary_goes_by_letters_then_accents_then_case() {
    // In Firebird 4's order.
    let ascending: Vec<&str> = concat!(
        "_ _a -a — , ; : ! ? ( ) [ ] { {} } @ * / \\ & # % ` ^ ° © ® + ÷ × < = > | ~ $ £ ¥ € 0 1 10 2 ² 2a 9 ",
        "a A á Á ä Ä a_b a-b a.b a1 a10 a2 ab aB Ab abc ae æ b B c C č Č ch CH co-op CO-OP coop d đ e E é É fi ﬁ ",
        "i I İ l ł n ñ o ö ø oe œ resume Resume résumé Résumé ss SS ß xy z Z ž þ α Α ά а А я Я א ه"
    )
    .split(' ')
    .collect();
    for pair in ascending.windows(2) {
        assert_eq!(compare(pair[0], pair[1], UNICODE), Ordering::Less, "{pair:?}");
    }
}

#[test]
fn texts_of_two_character_sets_meet() {
    let western = Text::encode("é", CharacterSet::WIN1252).expect("Western");
    assert_eq!(compare_text(&western, &Text::utf8("é"), Collation(0)), Ordering::Equal);
    assert_eq!(compare_text(&Text::utf8("日"), &western, Collation(0)), Ordering::Greater);
    assert_eq!(compare_text(&western, &Text::utf8("日"), Collation(0)), Ordering::Less);
    let raw = Text::new(&b"\xE9"[..], CharacterSet::NONE);
    assert_eq!(compare_text(&raw, &western, Collation(0)), Ordering::Equal);
    let mut keys = [Vec::new(), Vec::new()];
    append_equality_key(&western, Collation(0), &mut keys[0]);
    append_equality_key(&Text::utf8("é "), Collation(0), &mut keys[1]);
    assert_eq!(keys[0], keys[1]);
}

/// UTF8's own collations, and some that CREATE COLLATION makes.
fn unicode_collations() -> impl Strategy<Value = Collation> {
    let made = |attributes: u8, specific: &str| {
        let request = CollationRequest { base: "UNICODE", attributes, specific };
        Collation::make(CharacterSet::UTF8, 126, &request).expect("possible")
    };
    prop_oneof![
        (0u32..5).prop_map(Collation),
        Just(made(1, "LOCALE=es@collation=traditional")),
        Just(made(3, "LOCALE=cs")),
        Just(made(7, "LOCALE=cs")),
        Just(made(3, "LOCALE=tr")),
        Just(made(7, "LOCALE=sv")),
        Just(made(7, "LOCALE=hu_HU")),
        Just(made(1, "LOCALE=da;NUMERIC-SORT=1")),
        Just(made(7, "NUMERIC-SORT=1")),
        Just(made(0, "LOCALE=fr_CA")),
        Just(made(3, "LOCALE=cs;DISABLE-COMPRESSIONS=1")),
    ]
}

/// What STARTING WITH finds by looking at the text stands in an index where the prefix says.
fn found_by_prefix(
    prefix: &Text,
    text: &Text,
    collation: Collation,
) -> std::result::Result<(), TestCaseError> {
    let (_, seen) = canonical(text, collation);
    if seen.starts_with(&canonical(prefix, collation).1) {
        let mut beginning = Vec::new();
        append_prefix(prefix, collation, &mut beginning);
        prop_assert!(sort_key(text, collation).starts_with(&beginning), "{:?} {:?}", prefix, text);
    }
    Ok(())
}

#[test]
fn a_letter_of_several_characters_is_not_cut() {
    let of = |attributes: u8, specific: &str| {
        let request = CollationRequest { base: "UNICODE", attributes, specific };
        Collation::make(CharacterSet::UTF8, 126, &request).expect("possible")
    };
    let hungarian = of(7, "LOCALE=hu_HU");
    for (prefix, text) in
        [("Gyґč", "Gyґč"), ("Gyґč", "gyґčo"), ("Gyorsan", "gYorsan"), ("madzsar", "MADzSAR")]
    {
        found_by_prefix(&Text::utf8(prefix), &Text::utf8(text), hungarian).expect("found");
    }
    let mut prefix = Vec::new();
    append_prefix(&Text::utf8("Kevermek"), hungarian, &mut prefix);
    assert!(prefix.len() > 1, "the beginning is looked up");
    for collation in [of(7, "LOCALE=sv"), Collation(3)] {
        let mut prefix = Vec::new();
        append_prefix(&Text::utf8("เก日\t"), collation, &mut prefix);
        assert!(sort_key(&Text::utf8("เก日\t"), collation).starts_with(&prefix));
    }
}

/// The collations that go by tables.
fn nationals() -> impl Iterator<Item = (CharacterSet, Collation)> {
    let all =
        CharacterSet::all().flat_map(|set| set.collations().map(move |(collation, ..)| (set, collation)));
    all.filter(|(set, collation)| builtin(*set, *collation) == Builtin::National)
}

fn national_byte() -> impl Strategy<Value = u8> {
    prop_oneof![prop::sample::select(&b"cChHlLaAsSzZ -"[..]), any::<u8>()]
}

/// Indexes of files that exist have these keys.
#[test]
fn keys_of_binary_orders_are_these_bytes() {
    let key = |bytes: &[u8], set| sort_key(&Text::new(bytes, set), Collation(0));
    assert_eq!(key(b"ab  c \t d  ", CharacterSet::UTF8), b"ab  c\x02\x01\x09 d\x03");
    assert_eq!(key(b"  ", CharacterSet::NONE), b"\x03");
    assert_eq!(key(&[5, 0, 1, 2, 3, 255, 0, 0], CharacterSet::OCTETS), [5, 2, 1, 2, 2, 2, 3, 3, 255, 1]);
}

fn texts() -> impl Strategy<Value = Text> {
    let bytes =
        prop::collection::vec(prop_oneof![Just(b' '), Just(0), Just(9), Just(b'!'), any::<u8>()], 0..6);
    (bytes, prop_oneof![Just(CharacterSet::NONE), Just(CharacterSet::OCTETS)])
        .prop_map(|(bytes, set)| Text::new(bytes, set))
}

proptest! {
    #[test]
    fn keys_order_as_texts_do(left in texts(), right in texts()) {
        prop_assume!(left.character_set() == right.character_set());
        let ordering = compare_text(&left, &right, Collation(0));
        prop_assert_eq!(sort_key(&left, Collation(0)).cmp(&sort_key(&right, Collation(0))), ordering);
    }

    #[test]
    fn no_key_begins_with_another(left in texts(), right in texts()) {
        prop_assume!(left.character_set() == right.character_set());
        let (left, right) = (sort_key(&left, Collation(0)), sort_key(&right, Collation(0)));
        prop_assert!(left == right || !left.starts_with(&right));
        prop_assert!(left[0] != 0);
    }

    #[test]
    fn a_longer_text_has_the_keys_prefix(
        head in "[ a-dhlszA!\t·9éßñжиІ\u{306}\u{301}\u{308}кก\u{e40}か日]{0,4}",
        tail in "[ a-dhlszA!\t·9éßñжиІ\u{306}\u{301}\u{308}кก\u{e40}か日]{0,4}",
        collation in unicode_collations(),
    ) {
        let mut prefix = Vec::new();
        append_prefix(&Text::utf8(&head), collation, &mut prefix);
        let whole = sort_key(&Text::utf8(&format!("{head}{tail}")), collation);
        prop_assert!(whole.starts_with(&prefix), "{:?} {:?}", whole, prefix);
    }

    #[test]
    fn an_index_has_whatever_starts_with_a_prefix(
        prefix in "[ a-zA-ZčĆéÉßıİåÅøØñйЙиИёеґїі]{1,4}",
        text in "[ a-zA-ZčĆéÉßıİåÅøØñйЙиИёеґїі\u{301}\u{30c}\u{306}]{0,6}",
        collation in unicode_collations(),
    ) {
        found_by_prefix(&Text::utf8(&prefix), &Text::utf8(&text), collation)?;
        let other = text.to_uppercase().replace(['É', 'е'], "e").replace('Č', "c\u{30c}");
        found_by_prefix(&Text::utf8(&prefix), &Text::utf8(&format!("{prefix}{text}")), collation)?;
        found_by_prefix(&Text::utf8(&text.to_lowercase()), &Text::utf8(&other), collation)?;
        let turns = |(at, letter): (usize, char)| match at % 2 {
            0 => letter.to_lowercase().to_string(),
            _ => letter.to_uppercase().to_string(),
        };
        let mixed: String = prefix.chars().enumerate().map(turns).collect();
        found_by_prefix(&Text::utf8(&prefix), &Text::utf8(&mixed), collation)?;
    }

    #[test]
    fn a_national_index_has_whatever_starts_with_a_prefix(
        prefix in prop::collection::vec(national_byte(), 1..4),
        text in prop::collection::vec(national_byte(), 0..5),
        which in any::<prop::sample::Index>(),
        attributes in prop::sample::select(&[1u8, 3, 5, 7][..]),
    ) {
        let nationals: Vec<_> = nationals().collect();
        let (set, collation) = *which.get(&nationals);
        let base = set.collation_name(collation).unwrap_or_default();
        let collation = Collation::make(set, 126, &CollationRequest { base, attributes, specific: "" });
        let collation = collation.unwrap_or(which.get(&nationals).1);
        found_by_prefix(&Text::new(prefix, set), &Text::new(text, set), collation)?;
    }

    #[test]
    fn unicode_keys_order_as_texts_do(
        left in "[ a-dA!\t9é\u{0}ß\u{301}и]{0,5}",
        right in "[ a-dA!\t9é\u{0}ß\u{301}и]{0,5}",
        collation in unicode_collations(),
    ) {
        let (left, right) = (Text::utf8(&left), Text::utf8(&right));
        let (left_key, right_key) = (sort_key(&left, collation), sort_key(&right, collation));
        prop_assert_eq!(left_key.cmp(&right_key), compare_text(&left, &right, collation));
        prop_assert!(left_key == right_key || !left_key.starts_with(&right_key));
        prop_assert!(left_key[0] != 0);
    }

    #[test]
    fn national_keys_have_prefixes_and_ends(
        head in prop::collection::vec(national_byte(), 0..5),
        tail in prop::collection::vec(national_byte(), 0..5),
        which in any::<prop::sample::Index>(),
    ) {
        let nationals: Vec<_> = nationals().collect();
        let (set, collation) = *which.get(&nationals);
        let text = |bytes: Vec<u8>| Text::new(bytes, set);
        let mut prefix = Vec::new();
        append_prefix(&text(head.clone()), collation, &mut prefix);
        let whole = sort_key(&text([head.clone(), tail.clone()].concat()), collation);
        prop_assert!(whole.starts_with(&prefix));
        let head = sort_key(&text(head), collation);
        prop_assert!(head == whole || !whole.starts_with(&head));
        prop_assert!(whole[0] != 0);
    }
}

#[test]
fn locales_have_their_letters() {
    let compare = |locale: &str, left: &str, right: &str| {
        let specific = format!("LOCALE={locale}");
        let request = CollationRequest { base: "UNICODE", attributes: 1, specific: &specific };
        compare(left, right, Collation::make(CharacterSet::UTF8, 126, &request).expect("a locale"))
    };
    for (locale, low, high) in [
        ("", "ch", "d"),
        ("cs", "hz", "ch"),
        ("sv_SE", "z", "å"),
        ("es", "nz", "ñ"),
        ("es@collation=traditional", "lz", "ll"),
        ("de", "ä", "b"),
        ("de@collation=phonebook", "ad", "ä"),
        ("da", "z", "aa"),
        ("et", "z", "u"),
        ("lt", "y", "j"),
        ("fr_CA", "côte", "coté"),
        ("zh_TW", "一", "丁"),
    ] {
        assert_eq!(compare(locale, low, high), Ordering::Less, "{locale}: {low} {high}");
    }
    for unknown in ["xx", "es_", "esperanto", "es@collation=nonsense", "@"] {
        let specific = format!("LOCALE={unknown}");
        let request = CollationRequest { base: "UNICODE", attributes: 1, specific: &specific };
        assert_eq!(
            Collation::make(CharacterSet::UTF8, 126, &request),
            Err(TailoringError::Attributes),
            "{unknown}"
        );
    }
}

#[test]
fn every_locale_is_known_to_the_collator() {
    for (locale, name) in locale::Locale::all() {
        let options =
            UnicodeOptions { locale, accents: true, case: true, numeric: false, contractions: true };
        assert!(UnicodeOrder::of(options).compare("a", "b").is_lt(), "{name}");
        assert_eq!(locale::Locale::by_name(name), Some(locale), "{name}");
    }
}

#[test]
fn numbers_in_texts_count_where_they_are_to() {
    let request = CollationRequest { base: "UNICODE", attributes: 1, specific: "NUMERIC-SORT=1" };
    let numeric = Collation::make(CharacterSet::UTF8, 126, &request).expect("possible");
    assert_eq!(compare("a9", "a10", numeric), Ordering::Less);
    assert_eq!(compare("a9", "a10", UNICODE), Ordering::Greater);
    // Nothing but the same characters is the same.
    assert_eq!(compare("a1", "a01", numeric), Ordering::Greater);
}

/// A fingerprint of the keys of all characters of the first plane, by all locales: if it is another, the data have changed.
#[test]
fn keys_have_not_changed_unnoticed() {
    let mut fingerprint: u64 = 0xCBF2_9CE4_8422_2325;
    let mut key = Vec::new();
    for (locale, name) in locale::Locale::all() {
        let options =
            UnicodeOptions { locale, accents: true, case: true, numeric: false, contractions: true };
        let order = UnicodeOrder::of(options);
        // Every character by the root, one of seven by the others.
        let step = if name.is_empty() { 1 } else { 7 };
        for character in (0..0x3000u32).step_by(step).filter_map(char::from_u32) {
            key.clear();
            order.append_key(&format!("{character}h"), &mut key);
            for byte in &key {
                fingerprint = (fingerprint ^ u64::from(*byte)).wrapping_mul(0x100_0000_01B3);
            }
        }
    }
    assert_eq!(
        fingerprint, 11_270_836_309_191_614_894,
        "the keys of Unicode collations are others: give version::UNICODE a new number, then note the fingerprint"
    );
}

#[test]
fn case_is_mapped_as_the_collation_has_it() {
    let upper = |set: &str, collation: &str, text: &str| {
        let set = CharacterSet::by_name(set).expect("a set");
        let collation = set.collation_by_name(collation).expect("a collation");
        upper(&Text::encode(text, set).expect("in the set"), collation)
            .map(|bytes| Text::new(bytes, set).decode_lossy().into_owned())
    };
    assert_eq!(upper("WIN1252", "WIN1252", "éÿ"), Ok("ÉŸ".to_owned()));
    assert_eq!(upper("WIN1252", "PXW_INTL", "é"), Ok("E".to_owned()));
    assert_eq!(upper("WIN1254", "PXW_TURK", "i"), Ok("İ".to_owned()));
    // The capital of the florin sign is not in the set.
    let error = upper("WIN1252", "WIN1252", "ƒ").expect_err("no capital");
    assert_eq!(error.gds_code(), crate::isc::ARITH_EXCEPT);
}

#[test]
fn prefixes_end_before_letters_that_may_go_on() {
    for (set, collation) in nationals() {
        for head in ["Cs", "CS", "cs", "ch", "Dz", "Dzs", "ccs"] {
            for tail in ["", "z", "s", "a"] {
                let mut prefix = Vec::new();
                append_prefix(&Text::new(head.as_bytes(), set), collation, &mut prefix);
                let whole = sort_key(&Text::new([head, tail].concat().as_bytes(), set), collation);
                assert!(whole.starts_with(&prefix), "{head}{tail} in {set:?} {collation:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn texts_of_binary_orders_are_told_by_their_keys(
        bytes in prop::collection::vec(prop_oneof![0u8..4, Just(b' '), any::<u8>()], 0..12),
        behind in prop::collection::vec(any::<u8>(), 0..4),
    ) {
        for set in [CharacterSet::NONE, CharacterSet::OCTETS, CharacterSet::WIN1252] {
            let text = Text::new(bytes.as_slice(), set);
            if is_told_by_key(&text, Collation(0)) {
                let mut key = sort_key(&text, Collation(0));
                key.extend(&behind);
                prop_assert_eq!(text_of_key(&key, set, Collation(0), &mut Vec::new()), Some(text));
            }
        }
    }
}

#[test]
fn texts_with_padding_and_of_other_orders_are_not_told_by_their_keys() {
    let told = |text: &str, collation| is_told_by_key(&Text::utf8(text), collation);
    assert!(told("a b", UTF8) && told("", UTF8));
    assert!(!told("a ", UTF8));
    assert!(!told("a", UNICODE) && !told("a", UNICODE_CI));
    assert_eq!(text_of_key(b"a", CharacterSet::UTF8, UTF8, &mut Vec::new()), None);
}
