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
    fn a_longer_text_has_the_keys_prefix(head in "[ a-cA!\t]{0,4}", tail in "[ a-cA!\t]{0,4}", id in 0u8..5) {
        let mut prefix = Vec::new();
        append_prefix(&Text::utf8(&head), Collation(id), &mut prefix);
        let whole = sort_key(&Text::utf8(&format!("{head}{tail}")), Collation(id));
        prop_assert!(whole.starts_with(&prefix), "{:?} {:?}", whole, prefix);
    }
}
