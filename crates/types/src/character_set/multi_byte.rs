//! East Asian character sets, by `encoding_rs`.
//!
//! Its encodings are the Web's, which hold Firebird's as subsets: GB_2312 is read as GBK, KSC_5601 as its superset
//! of Windows, CP943C and SJIS_0208 both as the Shift JIS of Windows.

use std::borrow::Cow;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, Encoding, GB18030, GBK, SHIFT_JIS};

const SJIS_0208: u8 = 5;
const EUCJ_0208: u8 = 6;
const KSC_5601: u8 = 44;
const BIG_5: u8 = 56;
const GB_2312: u8 = 57;
const GBK_ID: u8 = 67;
const CP943C: u8 = 68;
const GB18030_ID: u8 = 69;

fn encoding(id: u8) -> Option<&'static Encoding> {
    Some(match id {
        SJIS_0208 | CP943C => SHIFT_JIS,
        EUCJ_0208 => EUC_JP,
        KSC_5601 => EUC_KR,
        BIG_5 => BIG5,
        GB_2312 | GBK_ID => GBK,
        GB18030_ID => GB18030,
        _ => return None,
    })
}

/// Reads bytes; nothing if they are malformed.
pub(super) fn decode(id: u8, bytes: &[u8]) -> Option<Cow<'_, str>> {
    encoding(id)?.decode_without_bom_handling_and_without_replacement(bytes)
}

/// Writes characters; nothing if one is not in the set or longer than the set's characters may be.
pub(super) fn encode(id: u8, text: &str) -> Option<Cow<'_, [u8]>> {
    let (bytes, _, replaced) = encoding(id)?.encode(text);
    (!replaced).then_some(bytes)
}

/// How many bytes a character takes that begins with `first`, which is no ASCII.
pub(super) fn character_length(id: u8, first: u8, second: Option<u8>) -> usize {
    match id {
        // 0xA1 to 0xDF are half-width katakana of one byte.
        SJIS_0208 | CP943C if matches!(first, 0x80 | 0xA0..=0xDF | 0xFD..=0xFF) => 1,
        GB18030_ID if second.is_some_and(|byte| byte.is_ascii_digit()) => 4,
        // Three-byte characters of JIS X 0212: `encoding_rs` reads them, Firebird's EUCJ_0208 does not write them.
        EUCJ_0208 if first == 0x8F => 3,
        _ => 2,
    }
}
