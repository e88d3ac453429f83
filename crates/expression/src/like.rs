//! LIKE.
//!
//! A pattern is cut into literal runs, `_` and `%` once; matching walks the bytes of the text, character by character
//! where `_` or `%` ask for it. The time is bounded by the product of both lengths: only the last `%` is ever retried.

use farbird_types::{CharacterSet, Error, Result, isc};
use memchr::memmem::Finder;

/// A compiled LIKE pattern.
#[derive(Debug)]
pub(crate) struct LikePattern {
    parts: Vec<Part>,
    character_set: CharacterSet,
}

#[derive(Debug)]
enum Part {
    /// These bytes: one or more characters.
    Literal(Vec<u8>),
    /// `_`
    One,
    /// `%`; what looks for the literal behind it, if that can be found by its bytes.
    Many(Option<Box<Finder<'static>>>),
}

impl LikePattern {
    /// Compiles a pattern written in `character_set`.
    ///
    /// # Errors
    /// `escape_invalid` if an escape character stands before anything but `%`, `_` or itself.
    pub(crate) fn compile(
        pattern: &[u8],
        escape: Option<&[u8]>,
        character_set: CharacterSet,
    ) -> Result<LikePattern> {
        let mut parts: Vec<Part> = Vec::new();
        let mut characters = character_set.characters(pattern);
        while let Some(character) = characters.next() {
            if escape == Some(character) {
                match characters.next() {
                    Some(next) if next == b"%" || next == b"_" || escape == Some(next) => {
                        literal(&mut parts, next)
                    }
                    _ => return Err(Error::new(isc::ESCAPE_INVALID)),
                }
                continue;
            }
            match character {
                b"%" if matches!(parts.last(), Some(Part::Many(_))) => {}
                b"%" => parts.push(Part::Many(None)),
                b"_" => parts.push(Part::One),
                other => literal(&mut parts, other),
            }
        }
        if character_set.is_found_by_bytes() {
            for place in 1..parts.len() {
                let (before, behind) = parts.split_at_mut(place);
                if let (Some(Part::Many(finder)), Some(Part::Literal(run))) =
                    (before.last_mut(), behind.first())
                {
                    *finder = Some(Box::new(Finder::new(run).into_owned()));
                }
            }
        }
        Ok(LikePattern { parts, character_set })
    }

    /// Whether the whole text matches.
    ///
    /// # Errors
    /// Those of `check`, which is asked now and then: texts may be long BLOBs.
    pub(crate) fn matches(&self, text: &[u8], check: impl Fn() -> Result<()>) -> Result<bool> {
        let mut place = 0;
        let mut part = 0;
        // Where to go on if what follows the last `%` does not match: at that `%`, one character further.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let advanced = match self.parts.get(part) {
                Some(Part::Many(finder)) => {
                    if part + 1 == self.parts.len() {
                        return Ok(true);
                    }
                    check()?;
                    let from = match finder {
                        None => place,
                        Some(finder) => match finder.find(text.get(place..).unwrap_or_default()) {
                            Some(found) => place + found,
                            None => return Ok(false),
                        },
                    };
                    retry = Some((part, from));
                    Some(from)
                }
                Some(Part::One) => self.next_character(text, place),
                Some(Part::Literal(run)) => {
                    let rest = text.get(place..).unwrap_or_default();
                    rest.starts_with(run).then(|| place + run.len())
                }
                None if place == text.len() => return Ok(true),
                None => None,
            };
            match (advanced, retry) {
                (Some(next), _) => {
                    place = next;
                    part += 1;
                }
                (None, Some((many, from))) => {
                    let Some(next) = self.next_character(text, from) else { return Ok(false) };
                    place = next;
                    part = many;
                }
                (None, None) => return Ok(false),
            }
        }
    }

    /// Where the character after the one at `place` begins.
    fn next_character(&self, text: &[u8], place: usize) -> Option<usize> {
        let rest = text.get(place..)?;
        if self.character_set.bytes_per_character() == 1 {
            return (!rest.is_empty()).then_some(place + 1);
        }
        self.character_set.characters(rest).next().map(|character| place + character.len())
    }
}

fn literal(parts: &mut Vec<Part>, character: &[u8]) {
    match parts.last_mut() {
        Some(Part::Literal(run)) => run.extend_from_slice(character),
        _ => parts.push(Part::Literal(character.to_vec())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str, escape: Option<&str>) -> bool {
        LikePattern::compile(pattern.as_bytes(), escape.map(str::as_bytes), CharacterSet::UTF8)
            .unwrap()
            .matches(text.as_bytes(), || Ok(()))
            .unwrap()
    }

    #[test]
    fn wildcards() {
        assert!(like("abc", "abc", None));
        assert!(!like("abcd", "abc", None));
        assert!(like("abc", "a%", None));
        assert!(like("abc", "%c", None));
        assert!(like("abc", "%b%", None));
        assert!(like("", "%", None));
        assert!(!like("", "_", None));
        assert!(like("äöü", "_ö_", None));
        assert!(like("aXbXc", "a%X_", None));
        assert!(!like("aXbX", "a%X_", None));
    }

    #[test]
    fn escapes() {
        assert!(like("10%", "10#%", Some("#")));
        assert!(!like("100", "10#%", Some("#")));
        assert!(like("a#b", "a##b", Some("#")));
        let error = LikePattern::compile(b"a#b", Some(b"#"), CharacterSet::UTF8).unwrap_err();
        assert_eq!(error.gds_code(), isc::ESCAPE_INVALID);
    }

    /// All patterns and texts of few letters, beside a matching that tries everything.
    #[test]
    fn every_short_pattern_matches_what_it_says() {
        fn says(text: &[char], pattern: &[char]) -> bool {
            match pattern.split_first() {
                None => text.is_empty(),
                Some(('%', rest)) => (0..=text.len()).any(|skipped| says(&text[skipped..], rest)),
                Some(('_', rest)) => !text.is_empty() && says(&text[1..], rest),
                Some((letter, rest)) => text.first() == Some(letter) && says(&text[1..], rest),
            }
        }
        let words = |letters: &[char], longest: usize| {
            let mut words = vec![String::new()];
            let mut from = 0;
            for _ in 0..longest {
                let until = words.len();
                for word in from..until {
                    letters.iter().for_each(|letter| words.push(format!("{}{letter}", words[word])));
                }
                from = until;
            }
            words
        };
        let texts = words(&['a', 'ä', 'b'], 4);
        for pattern in words(&['a', 'ä', '%', '_'], 4) {
            for text in &texts {
                let [seen, wanted] =
                    [text.as_str(), pattern.as_str()].map(|word| word.chars().collect::<Vec<_>>());
                assert_eq!(like(text, &pattern, None), says(&seen, &wanted), "{text} like {pattern}");
            }
        }
    }

    #[test]
    fn many_percent_signs_stay_cheap() {
        let text = "a".repeat(5_000);
        assert!(!like(&text, &("%a".repeat(200) + "b"), None));
    }
}
