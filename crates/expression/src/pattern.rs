//! LIKE, STARTING WITH, CONTAINING and SIMILAR TO on values.
//!
//! Patterns are compiled when they change: a constant or a parameter once per statement, not once per row.

use std::sync::Arc;

use farbird_types::{CharacterSet, Collation, Error, Result, SqlType, Text, Value, collation, isc};
use memchr::memmem;

use crate::compiled_pattern::{CompiledPattern, Like, Similar};
use crate::context::ExecutionContext;
use crate::like::LikePattern;
use crate::similar::SimilarPattern;
use crate::tree::{Expression, PatternKind, PatternMatch};
use farbird_function::argument;
use farbird_function::blob::text_of;

impl PatternMatch {
    /// Whether the operand matches; `None` if any part is NULL.
    ///
    /// # Errors
    /// Those of the operands; `escape_invalid`, `invalid_similar_pattern`.
    pub(crate) fn matches(&self, row: &[Value], context: &mut ExecutionContext<'_>) -> Result<Option<bool>> {
        let operand = self.operand.evaluate(row, context)?;
        let pattern = self.pattern.evaluate(row, context)?;
        let escape = match &self.escape {
            Some(escape) => Some(escape.evaluate(row, context)?),
            None => None,
        };
        if operand.is_null() || pattern.is_null() || escape.as_ref().is_some_and(Value::is_null) {
            return Ok(None);
        }
        let is_blob = matches!(operand, Value::Blob(_));
        let operand = text_of(&operand, context)?;
        let character_set = operand.character_set();
        match self.kind {
            PatternKind::LikeBytes => Ok(Some(operand.bytes() == text_of(&pattern, context)?.bytes())),
            PatternKind::Starting => {
                let prefix = in_character_set(&text_of(&pattern, context)?, character_set)?;
                let (_, seen) = collation::canonical(&operand, self.collation);
                Ok(Some(seen.starts_with(&collation::canonical(&prefix, self.collation).1)))
            }
            PatternKind::Containing => {
                let part = in_character_set(&text_of(&pattern, context)?, character_set)?;
                // Case counts in texts of bytes, but not in BLOBs of bytes.
                let seen_as = if is_blob { CharacterSet::NONE } else { CharacterSet::OCTETS };
                let (operand, part) = match character_set == CharacterSet::OCTETS {
                    true => {
                        let bytes = |text: Text| Text::new(text.bytes().to_vec(), seen_as);
                        (bytes(operand), bytes(part))
                    }
                    false => (operand, part),
                };
                let (operand, part) =
                    (without_case(&operand, self.collation), without_case(&part, self.collation));
                context.check_interrupt()?;
                Ok(Some(memmem::find(&operand, &part).is_some()))
            }
            PatternKind::Like | PatternKind::Similar | PatternKind::SubstringSimilar => {
                let compiled = self.compiled(pattern, escape, character_set, context)?;
                match compiled.as_ref() {
                    CompiledPattern::Like(Like(like)) => {
                        let operand = collation::canonical(&operand, self.collation).1;
                        like.matches(&operand, || context.check_interrupt()).map(Some)
                    }
                    CompiledPattern::Similar(Similar(similar)) => {
                        let operand = collation::without_ignored_accents(&operand, self.collation);
                        similar.matches(&operand, &context.session.interrupt).map(Some)
                    }
                }
            }
        }
    }

    /// What texts of a character set are matched against if pattern and escape are known; nothing if they are no texts, the pattern
    /// is wrong, or parts of the operand are asked for.
    pub fn known(
        &self,
        pattern: &Value,
        escape: Option<&Value>,
        character_set: CharacterSet,
        context: &mut ExecutionContext<'_>,
    ) -> Option<KnownPattern> {
        if !matches!(pattern, Value::Text(_))
            || escape.is_some_and(|escape| !matches!(escape, Value::Text(_)))
        {
            return None;
        }
        let text = |context: &mut ExecutionContext<'_>| {
            let text = text_of(pattern, context).ok()?;
            in_character_set(&text, character_set).ok()
        };
        let known = match self.kind {
            PatternKind::Starting => {
                Known::Starting(collation::canonical(&text(context)?, self.collation).1.into_owned())
            }
            PatternKind::Containing if character_set == CharacterSet::OCTETS => return None,
            PatternKind::Containing => {
                let part = without_case(&text(context)?, self.collation);
                Known::Containing(Box::new(memmem::Finder::new(&part).into_owned()))
            }
            PatternKind::Like => {
                Known::Like(self.compiled(pattern.clone(), escape.cloned(), character_set, context).ok()?)
            }
            PatternKind::LikeBytes | PatternKind::Similar | PatternKind::SubstringSimilar => return None,
        };
        Some(KnownPattern { known: Arc::new(known), character_set, collation: self.collation })
    }

    /// What the middle one of three patterns matches; NULL if they do not match or any part is NULL.
    ///
    /// # Errors
    /// As [`PatternMatch::matches`], and those of making a BLOB.
    pub(crate) fn substring(
        &self,
        result: &SqlType,
        row: &[Value],
        context: &mut ExecutionContext<'_>,
    ) -> Result<Value> {
        let operand = self.operand.evaluate(row, context)?;
        let pattern = self.pattern.evaluate(row, context)?;
        let escape = match &self.escape {
            Some(escape) => Some(escape.evaluate(row, context)?),
            None => None,
        };
        if operand.is_null() || pattern.is_null() || escape.as_ref().is_some_and(Value::is_null) {
            return Ok(Value::Null);
        }
        let operand = text_of(&operand, context)?;
        let set = operand.character_set();
        let compiled = self.compiled(pattern, escape, set, context)?;
        let CompiledPattern::Similar(Similar(similar)) = compiled.as_ref() else { return Ok(Value::Null) };
        let seen = collation::without_ignored_accents(&operand, self.collation);
        let found = similar.middle(&seen, &context.session.interrupt)?;
        let Some((start, end)) = found else { return Ok(Value::Null) };
        let (start, end) = (set.byte_offset(operand.bytes(), start), set.byte_offset(operand.bytes(), end));
        let part = operand.bytes().get(start..end).unwrap_or_default().to_vec();
        argument::text_result(context, part, set, result)
    }

    /// The compiled pattern: the one of last time if the pattern is the same.
    fn compiled(
        &self,
        pattern: Value,
        escape: Option<Value>,
        character_set: CharacterSet,
        context: &mut ExecutionContext<'_>,
    ) -> Result<Arc<CompiledPattern>> {
        // An escape that is computed anew for each row is rare enough to go without the cache.
        let cacheable = escape.is_none() || matches!(self.escape, Some(Expression::Constant(_)));
        if cacheable
            && let Some(Some((known, compiled))) = context.frame.patterns.get(self.place)
            && *known == pattern
        {
            return Ok(compiled.clone());
        }
        let text = in_character_set(&text_of(&pattern, context)?, character_set)?;
        let escape = match escape {
            Some(escape) => Some(in_character_set(&text_of(&escape, context)?, character_set)?),
            None => None,
        };
        if escape.as_ref().is_some_and(|escape| escape.char_length() != 1) {
            return Err(Error::new(isc::ESCAPE_INVALID));
        }
        let compiled = Arc::new(match self.kind {
            PatternKind::Similar | PatternKind::SubstringSimilar => {
                let escape = match &escape {
                    Some(escape) => collation::without_ignored_accents(escape, self.collation).chars().next(),
                    None => None,
                };
                let text = collation::without_ignored_accents(&text, self.collation);
                let ignore_case =
                    collation::attributes(character_set, self.collation) & collation::CASE_INSENSITIVE != 0;
                let compiled = match self.kind {
                    PatternKind::Similar => SimilarPattern::compile(&text, escape, ignore_case)?,
                    _ => SimilarPattern::compile_parts(&text, escape, ignore_case)?,
                };
                CompiledPattern::Similar(Similar(compiled))
            }
            _ => {
                let (seen_set, seen) = collation::canonical(&text, self.collation);
                let escape = escape.as_ref().map(|escape| collation::canonical(escape, self.collation).1);
                CompiledPattern::Like(Like(LikePattern::compile(&seen, escape.as_deref(), seen_set)?))
            }
        });
        if cacheable && let Some(place) = context.frame.patterns.get_mut(self.place) {
            *place = Some((pattern, compiled.clone()));
        }
        Ok(compiled)
    }
}

/// A pattern that is the same for many texts of one character set.
#[derive(Debug, Clone)]
pub struct KnownPattern {
    known: Arc<Known>,
    character_set: CharacterSet,
    collation: Collation,
}

#[derive(Debug)]
enum Known {
    Starting(Vec<u8>),
    Containing(Box<memmem::Finder<'static>>),
    Like(Arc<CompiledPattern>),
}

impl KnownPattern {
    /// Whether a text matches; nothing if it is of another character set.
    ///
    /// # Errors
    /// The interrupt's.
    pub fn matches(&self, text: &Text, context: &ExecutionContext<'_>) -> Result<Option<bool>> {
        if text.character_set() != self.character_set {
            return Ok(None);
        }
        match self.known.as_ref() {
            Known::Starting(prefix) => {
                Ok(Some(collation::canonical(text, self.collation).1.starts_with(prefix)))
            }
            Known::Containing(part) => {
                context.check_interrupt()?;
                Ok(Some(part.find(&without_case(text, self.collation)).is_some()))
            }
            Known::Like(compiled) => match compiled.as_ref() {
                CompiledPattern::Like(Like(like)) => {
                    let seen = collation::canonical(text, self.collation).1;
                    like.matches(&seen, || context.check_interrupt()).map(Some)
                }
                CompiledPattern::Similar(_) => Ok(None),
            },
        }
    }
}

/// A text as CONTAINING sees it: by its capitals, as the collation maps them.
fn without_case(text: &Text, collation: Collation) -> Vec<u8> {
    let character_set = text.character_set();
    // A character whose capital is not in the set keeps its own form.
    let capitals = collation::upper(text, collation).unwrap_or_else(|_| character_set.upper(text.bytes()));
    if !collation::is_insensitive(character_set, collation) {
        return capitals;
    }
    collation::canonical(&Text::new(capitals, character_set), collation).1.into_owned()
}

/// A text in the character set of the operand; texts of no character set are taken as they are.
fn in_character_set(text: &Text, character_set: CharacterSet) -> Result<Text> {
    if character_set.is_bytes() { Ok(text.clone()) } else { text.transliterate(character_set) }
}
