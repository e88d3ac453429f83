//! LIKE.
//!
//! A pattern is cut into literal runs, `_` and `%` once; matching walks the bytes of the text, character by character
//! where `_` or `%` ask for it. The time is bounded by the product of both lengths: only the last `%` is ever retried.

use farbird_types::{CharacterSet, Error, Result, isc};

use farbird_session::Interrupt;

/// A compiled LIKE pattern.
#[derive(Debug, PartialEq)]
pub(crate) struct LikePattern {
    parts: Vec<Part>,
    character_set: CharacterSet,
}

#[derive(Debug, PartialEq)]
enum Part {
    /// These bytes: one or more characters.
    Literal(Vec<u8>),
    /// `_`
    One,
    /// `%`
    Many,
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
                b"%" if parts.last() == Some(&Part::Many) => {}
                b"%" => parts.push(Part::Many),
                b"_" => parts.push(Part::One),
                other => literal(&mut parts, other),
            }
        }
        Ok(LikePattern { parts, character_set })
    }

    /// Whether the whole text matches.
    ///
    /// # Errors
    /// The interrupt's: texts may be long BLOBs.
    pub(crate) fn matches(&self, text: &[u8], interrupt: &Interrupt) -> Result<bool> {
        let mut place = 0;
        let mut part = 0;
        // Where to go on if what follows the last `%` does not match: the part after it, one character further.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            let advanced = match self.parts.get(part) {
                Some(Part::Many) => {
                    if part + 1 == self.parts.len() {
                        return Ok(true);
                    }
                    retry = Some((part + 1, place));
                    Some(place)
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
                (None, Some((after, from))) => {
                    interrupt.check()?;
                    let Some(next) = self.next_character(text, from) else { return Ok(false) };
                    retry = Some((after, next));
                    place = next;
                    part = after;
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
            .matches(text.as_bytes(), &Interrupt::new())
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

    #[test]
    fn many_percent_signs_stay_cheap() {
        let text = "a".repeat(5_000);
        assert!(!like(&text, &("%a".repeat(200) + "b"), None));
    }
}
