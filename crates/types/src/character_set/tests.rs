use super::*;

#[test]
fn names_and_aliases_lead_to_the_same_set() {
    for (name, id) in
        [("UTF8", 4), ("utf-8", 4), ("BINARY", 1), ("latin1", 21), ("WIN_1252", 53), ("dos_950", 56)]
    {
        assert_eq!(CharacterSet::by_name(name), Some(CharacterSet(id)), "{name}");
    }
    assert_eq!(CharacterSet::by_name("EBCDIC"), None);
    for set in CharacterSet::all() {
        assert_eq!(CharacterSet::by_name(set.name()), Some(set));
        assert!(set.collation_name(Collation(0)).is_some(), "{}", set.name());
    }
}

#[test]
fn sizes_are_those_of_the_table() {
    for (id, name, size) in tables::CHARACTER_SETS {
        assert_eq!(CharacterSet(*id).bytes_per_character(), *size, "{name}");
    }
}

#[test]
fn collations_are_found_by_name() {
    assert_eq!(CharacterSet::UTF8.collation_by_name("unicode_ci_ai"), Some(Collation(4)));
    assert_eq!(CharacterSet::UTF8.collation_by_name("DE_DE"), None);
    assert_eq!(Collation::by_name("DE_DE"), Some((CharacterSet::ISO8859_1, Collation(6))));
    assert_eq!(CharacterSet::UTF8.collation_name(Collation(3)), Some("UNICODE_CI"));
}

#[test]
fn every_set_reads_what_it_writes() {
    for set in CharacterSet::all().filter(|set| set.encoding() == Encoding::SingleByte) {
        for byte in 0x80..=0xFF {
            let bytes = [byte];
            let Ok(text) = set.decode(&bytes) else { continue };
            assert_eq!(*set.encode(&text).expect("just decoded"), bytes, "{} {byte:02X}", set.name());
        }
    }
    for (name, text) in [
        ("SJIS_0208", "日本語ｱ"),
        ("EUCJ_0208", "日本語"),
        ("KSC_5601", "한국어"),
        ("BIG_5", "繁體中文"),
        ("GB_2312", "简体中文"),
        ("GBK", "简体中文"),
        ("GB18030", "简体中文😀"),
        ("WIN1251", "Привет"),
        ("KOI8R", "Привет"),
        ("TIS620", "ไทย"),
        ("UTF8", "žluťoučký 😀"),
    ] {
        let set = CharacterSet::by_name(name).expect("a known name");
        let bytes = set.encode(text).expect(name).into_owned();
        assert_eq!(set.decode(&bytes).expect(name), text, "{name}");
        assert_eq!(set.char_length(&bytes), text.chars().count(), "{name}");
        assert_eq!(set.char_length(&bytes), set.characters(&bytes).count(), "{name}");
    }
}

#[test]
fn characters_without_a_place_are_refused() {
    let error = CharacterSet::WIN1252.encode("日").expect_err("not a Western character");
    assert_eq!(error.gds_code(), isc::ARITH_EXCEPT);
    assert!(error.has(isc::TRANSLITERATION_FAILED));
    assert!(CharacterSet::UNICODE_FSS.encode("😀").is_err());
    assert!(CharacterSet::ASCII.encode("é").is_err());
}

#[test]
fn bytes_of_none_are_taken_as_they_are_if_well_formed() {
    let raw = Text::new(&b"\xC3\xA9"[..], CharacterSet::NONE);
    assert_eq!(raw.transliterate(CharacterSet::UTF8).expect("well-formed").bytes(), b"\xC3\xA9");
    assert_eq!(raw.transliterate(CharacterSet::WIN1252).expect("any bytes").char_length(), 2);
    let broken = Text::new(&b"\xC3"[..], CharacterSet::OCTETS);
    let error = broken.transliterate(CharacterSet::UTF8).expect_err("half a character");
    assert_eq!(error.gds_code(), isc::MALFORMED_STRING);
    let e_acute = Text::encode("é", CharacterSet::WIN1252).expect("a Western character");
    assert_eq!(e_acute.transliterate(CharacterSet::UTF8).expect("in Unicode"), Text::utf8("é"));
    assert_eq!(e_acute.transliterate(CharacterSet::NONE).expect("raw").bytes(), b"\xE9");
}

#[test]
fn case_maps_one_character_to_one() {
    let upper = |text: &str, set: CharacterSet| {
        let bytes = set.encode(text).expect("test text").into_owned();
        set.decode_lossy(&set.upper(&bytes)).into_owned()
    };
    assert_eq!(upper("žluť straße 😀", CharacterSet::UTF8), "ŽLUŤ STRAßE 😀");
    assert_eq!(upper("straße é", CharacterSet::WIN1252), "STRAßE É");
    // The capital of ÿ is in WIN1252 but not in ISO8859_1.
    assert_eq!(upper("ÿ", CharacterSet::ISO8859_1), "ÿ");
    assert_eq!(upper("aé", CharacterSet::NONE), "Aé");
    assert_eq!(CharacterSet::UTF8.lower("ŽAİ".as_bytes()), "žai".as_bytes());
}

#[test]
fn characters_never_lose_a_byte() {
    for set in CharacterSet::all() {
        for bytes in [&b"\xFF\xFE\x80"[..], b"a\xE9", b"\x81\x30\x81", b"\xF0\x9F"] {
            let joined: Vec<u8> = set.characters(bytes).flatten().copied().collect();
            assert_eq!(joined, bytes, "{}", set.name());
            let _ = set.decode_lossy(bytes);
            let _ = set.upper(bytes);
        }
    }
}

#[test]
fn byte_offsets_count_characters() {
    assert_eq!(CharacterSet::UTF8.byte_offset("éab".as_bytes(), 2), 3);
    assert_eq!(CharacterSet::UTF8.byte_offset("éab".as_bytes(), 9), 4);
    assert_eq!(CharacterSet::NONE.byte_offset("éab".as_bytes(), 2), 2);
}
