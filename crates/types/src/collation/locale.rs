//! The locales that CREATE COLLATION takes.
//!
//! A locale's number is kept in the types of columns, so this table only grows at its end. What differs in nothing but
//! the region (`es_MX`, `es_ES`) is one entry, unless CLDR orders it otherwise.

use icu_collator::CollatorPreferences;

/// A locale, by its place in the table; 0 is the root's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Locale(pub(super) u8);

/// ICU's name, and the BCP 47 name where that is not the same with hyphens.
const LOCALES: &[(&str, &str)] = &[
    ("", "und"),
    ("af", ""),
    ("am", ""),
    ("ar", ""),
    ("as", ""),
    ("az", ""),
    ("be", ""),
    ("bg", ""),
    ("bn", ""),
    ("bo", ""),
    ("br", ""),
    ("bs", ""),
    ("bs_Cyrl", ""),
    ("ca", ""),
    ("ceb", ""),
    ("chr", ""),
    ("cs", ""),
    ("cy", ""),
    ("da", ""),
    ("de", ""),
    ("de_AT@collation=phonebook", "de-AT-u-co-phonebk"),
    ("de@collation=phonebook", "de-u-co-phonebk"),
    ("dsb", ""),
    ("dz", ""),
    ("ee", ""),
    ("el", ""),
    ("en", ""),
    ("eo", ""),
    ("es", ""),
    ("es@collation=traditional", "es-u-co-trad"),
    ("et", ""),
    ("eu", ""),
    ("fa", ""),
    ("fa_AF", ""),
    ("fi", ""),
    ("fi@collation=traditional", "fi-u-co-trad"),
    ("fil", ""),
    ("fo", ""),
    ("fr", ""),
    ("fr_CA", ""),
    ("fy", ""),
    ("ga", ""),
    ("gl", ""),
    ("gu", ""),
    ("ha", ""),
    ("haw", ""),
    ("he", ""),
    ("hi", ""),
    ("hr", ""),
    ("hsb", ""),
    ("hu", ""),
    ("hy", ""),
    ("id", ""),
    ("ig", ""),
    ("is", ""),
    ("it", ""),
    ("ja", ""),
    ("ka", ""),
    ("kk", ""),
    ("kl", ""),
    ("km", ""),
    ("kn", ""),
    ("ko", ""),
    ("kok", ""),
    ("ku", ""),
    ("ky", ""),
    ("lb", ""),
    ("lkt", ""),
    ("ln", ""),
    ("lo", ""),
    ("lt", ""),
    ("lv", ""),
    ("mk", ""),
    ("ml", ""),
    ("mn", ""),
    ("mr", ""),
    ("ms", ""),
    ("mt", ""),
    ("my", ""),
    ("nb", ""),
    ("ne", ""),
    ("nl", ""),
    ("nn", ""),
    ("no", ""),
    ("nso", ""),
    ("om", ""),
    ("or", ""),
    ("pa", ""),
    ("pl", ""),
    ("ps", ""),
    ("pt", ""),
    ("ro", ""),
    ("ru", ""),
    ("se", ""),
    ("si", ""),
    ("si@collation=dictionary", "si-u-co-dict"),
    ("sk", ""),
    ("sl", ""),
    ("smn", ""),
    ("sq", ""),
    ("sr", ""),
    ("sr_Latn", ""),
    ("sv", ""),
    ("sv@collation=traditional", "sv-u-co-trad"),
    ("sw", ""),
    ("ta", ""),
    ("te", ""),
    ("th", ""),
    ("tk", ""),
    ("tn", ""),
    ("to", ""),
    ("tr", ""),
    ("ug", ""),
    ("uk", ""),
    ("ur", ""),
    ("uz", ""),
    ("vi", ""),
    ("vi@collation=traditional", "vi-u-co-trad"),
    ("wae", ""),
    ("wo", ""),
    ("xh", ""),
    ("yi", ""),
    ("yo", ""),
    ("zh", ""),
    ("zh@collation=stroke", "zh-u-co-stroke"),
    ("zh@collation=zhuyin", "zh-u-co-zhuyin"),
    ("zh@collation=unihan", "zh-u-co-unihan"),
    ("zh_Hant", ""),
    ("zu", ""),
];

const _: () = assert!(LOCALES.len() <= 256);

impl Locale {
    pub(super) const ROOT: Locale = Locale(0);

    /// The locale of an ICU name, in any case of letters: `es`, `es_ES`, `fr_CA`, `zh_Hant_TW`,
    /// `de@collation=phonebook`.
    pub(super) fn by_name(name: &str) -> Option<Locale> {
        let (place, keywords) = match name.find('@') {
            Some(at) => name.split_at(at),
            None => (name, ""),
        };
        let mut parts: Vec<&str> = place.split(['_', '-']).collect();
        // The whole name, then without its region, then without its script.
        loop {
            let wanted = format!("{}{keywords}", parts.join("_"));
            if let Some(found) = LOCALES.iter().position(|(known, _)| known.eq_ignore_ascii_case(&wanted)) {
                return u8::try_from(found).ok().map(Locale);
            }
            let last = parts.pop()?;
            let region = last.len() == 2 || last.len() == 3 && last.bytes().all(|byte| byte.is_ascii_digit());
            let droppable =
                (region || last.len() == 4) && last.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if parts.is_empty() || !droppable {
                return None;
            }
            // Chinese of Taiwan is written in traditional characters.
            if last.eq_ignore_ascii_case("TW") || last.eq_ignore_ascii_case("HK") {
                parts.push("Hant");
                parts.dedup();
            }
        }
    }

    /// ICU's name.
    #[cfg(test)]
    pub(super) fn all() -> impl Iterator<Item = (Locale, &'static str)> {
        LOCALES.iter().zip(0..).map(|((name, _), number)| (Locale(number), *name))
    }

    /// The locale as the collator takes it; the root for a number that this version does not know.
    pub(super) fn parsed(self) -> CollatorPreferences {
        let (name, tag) = LOCALES.get(usize::from(self.0)).copied().unwrap_or(("", "und"));
        let tag = if tag.is_empty() { name.replace('_', "-") } else { tag.to_owned() };
        match icu_locale_core::Locale::try_from_str(&tag) {
            Ok(locale) => CollatorPreferences::from(&locale),
            Err(_) => CollatorPreferences::default(),
        }
    }
}
