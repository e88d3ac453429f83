//! SIMILAR TO: the regular expressions of standard SQL.
//!
//! A pattern becomes a small program that is run over the text keeping the set of places it can be at (Thompson's
//! construction), so no pattern takes more time than its length times the text's. Sets that were met before are not made again
//! ([`PatternStates`]).
//!
//! Source: Firebird 5 language reference, section SIMILAR TO.

use farbird_session::Interrupt;
use farbird_types::{Error, Result, isc};
use parking_lot::Mutex;

use crate::pattern_states::{PatternStates, StateNumber};

/// Most instructions of a compiled pattern: `{n,m}` multiplies what it applies to.
const INSTRUCTIONS_MAX: usize = 20_000;

/// Deepest nesting of parentheses.
const DEPTH_MAX: usize = 100;

/// Characters of a text between two looks whether the work is to stop.
const CHARACTERS_PER_CHECK: usize = 1_024;

/// Most repetitions that `{n,m}` may ask for.
const REPETITIONS_MAX: usize = 32_767;

/// A compiled SIMILAR TO pattern.
#[derive(Debug)]
pub(crate) struct SimilarPattern {
    program: Vec<Instruction>,
    ignore_case: bool,
    /// What is known of it: for each thread that matches with it at the same time.
    known: Mutex<Vec<PatternStates>>,
}

#[derive(Debug, Clone)]
enum Instruction {
    Character(char),
    Any,
    Class(Box<Class>),
    /// Go on at both, rather at the first.
    Split(usize, usize),
    /// The second one of three patterns begins here.
    Start,
    /// It ends here.
    End,
    Jump(usize),
    Match,
}

#[derive(Debug, Clone, Default)]
struct Class {
    included: Vec<(char, char)>,
    excluded: Vec<(char, char)>,
    included_kinds: Vec<Kind>,
    excluded_kinds: Vec<Kind>,
    /// `[^...]`: everything but the excluded.
    all: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Alpha,
    Upper,
    Lower,
    Digit,
    Space,
    Whitespace,
    Alnum,
}

/// The syntax of a pattern.
#[derive(Debug, Clone)]
enum Node {
    Empty,
    Character(char),
    Any,
    Class(Box<Class>),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    Repeat { node: Box<Node>, least: usize, most: Option<usize> },
}

impl SimilarPattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `invalid_similar_pattern`; `escape_invalid` for an escape before a character that has no special meaning.
    pub(crate) fn compile(pattern: &str, escape: Option<char>, ignore_case: bool) -> Result<SimilarPattern> {
        let characters: Vec<char> = pattern.chars().collect();
        let mut parser = Parser { characters: &characters, place: 0, escape, depth: 0 };
        let node = parser.alternatives()?;
        if parser.place != characters.len() {
            return Err(invalid());
        }
        let mut program = Vec::new();
        emit(&node, false, &mut program)?;
        program.push(Instruction::Match);
        Ok(SimilarPattern { program, ignore_case, known: Mutex::default() })
    }

    /// Compiles the three patterns of SUBSTRING ... SIMILAR, which an escaped double quote separates. The first one
    /// repeats as little as it can, the others as much as they can (Firebird 4 as observed).
    ///
    /// # Errors
    /// As [`SimilarPattern::compile`]; `invalid_similar_pattern` if there are not three.
    pub(crate) fn compile_parts(
        pattern: &str,
        escape: Option<char>,
        ignore_case: bool,
    ) -> Result<SimilarPattern> {
        let characters: Vec<char> = pattern.chars().collect();
        let mut program = Vec::new();
        let parts = separated(&characters, escape);
        let [first, middle, last] = parts.as_slice() else { return Err(invalid()) };
        for (part, lazy, mark) in [
            (first, true, Instruction::Start),
            (middle, false, Instruction::End),
            (last, false, Instruction::Match),
        ] {
            let mut parser = Parser { characters: part, place: 0, escape, depth: 0 };
            let node = parser.alternatives()?;
            if parser.place != part.len() {
                return Err(invalid());
            }
            emit(&node, lazy, &mut program)?;
            program.push(mark);
        }
        Ok(SimilarPattern { program, ignore_case, known: Mutex::default() })
    }

    /// Which characters of a text the second one of three patterns matches, if they match the whole text.
    ///
    /// # Errors
    /// The interrupt's: a long text and a long pattern take their time.
    pub(crate) fn middle(&self, text: &str, interrupt: &Interrupt) -> Result<Option<(usize, usize)>> {
        let mut known = vec![false; self.program.len()];
        let mut current = Vec::new();
        self.follow(Thread::default(), 0, &mut known, &mut current);
        let mut passed = 0;
        for character in text.chars() {
            interrupt.check()?;
            passed += 1;
            known.fill(false);
            let mut next = Vec::new();
            for thread in current {
                if self.program.get(thread.place).is_some_and(|step| self.accepts(step, character)) {
                    self.follow(Thread { place: thread.place + 1, ..thread }, passed, &mut known, &mut next);
                }
            }
            current = next;
        }
        let is_match = |thread: &&Thread| matches!(self.program.get(thread.place), Some(Instruction::Match));
        Ok(current.iter().find(is_match).map(|thread| (thread.start, thread.end)))
    }

    /// As [`SimilarPattern::add`], noting where the second pattern begins and ends; preferred threads come first.
    fn follow(&self, thread: Thread, passed: usize, known: &mut [bool], threads: &mut Vec<Thread>) {
        let mut open = vec![thread];
        while let Some(mut thread) = open.pop() {
            match known.get_mut(thread.place) {
                Some(known) if !*known => *known = true,
                _ => continue,
            }
            let next = thread.place + 1;
            match self.program.get(thread.place) {
                Some(Instruction::Jump(to)) => open.push(Thread { place: *to, ..thread }),
                Some(Instruction::Split(first, second)) => {
                    open.extend([*second, *first].map(|place| Thread { place, ..thread }));
                }
                Some(Instruction::Start) => open.push(Thread { place: next, start: passed, ..thread }),
                Some(Instruction::End) => {
                    thread.end = passed;
                    open.push(Thread { place: next, ..thread });
                }
                _ => threads.push(thread),
            }
        }
    }

    /// Whether the whole text matches.
    ///
    /// # Errors
    /// As [`SimilarPattern::middle`].
    pub(crate) fn matches(&self, text: &str, interrupt: &Interrupt) -> Result<bool> {
        let known = self.known.lock().pop();
        let mut known = known.unwrap_or_default();
        let matches = self.matches_by(&mut known, text, interrupt);
        self.known.lock().push(known);
        matches
    }

    fn matches_by(&self, known: &mut PatternStates, text: &str, interrupt: &Interrupt) -> Result<bool> {
        interrupt.check()?;
        let first = known.first().or_else(|| {
            let places = self.before_text();
            let is_match = self.has_match(&places);
            known.add(places, is_match)
        });
        let Some(mut state) = first else { return self.simulate(self.before_text(), text, interrupt) };
        let mut rest = text.chars();
        let mut passed = 0_usize;
        while let Some(character) = rest.next() {
            passed += 1;
            if passed.is_multiple_of(CHARACTERS_PER_CHECK) {
                interrupt.check()?;
            }
            state = match known.next(state, character) {
                Some(next) => next,
                None => match self.step(known, state, character) {
                    Ok(next) => next,
                    Err(places) => return self.simulate(places, rest.as_str(), interrupt),
                },
            };
            if known.places(state).is_empty() {
                return Ok(false);
            }
        }
        Ok(known.is_match(state))
    }

    /// What follows a state by a character, which was not known; its places if there is no room for it.
    fn step(
        &self,
        known: &mut PatternStates,
        state: StateNumber,
        character: char,
    ) -> std::result::Result<StateNumber, Vec<usize>> {
        let places = self.after(known.places(state), character);
        let is_match = self.has_match(&places);
        let next = known.add(places.clone(), is_match).ok_or(places)?;
        known.note(state, character, next);
        Ok(next)
    }

    /// As [`SimilarPattern::matches`], from these places on and without what is known.
    fn simulate(&self, places: Vec<usize>, text: &str, interrupt: &Interrupt) -> Result<bool> {
        let mut places = places;
        let mut after = StateSet::new(self.program.len());
        for character in text.chars() {
            interrupt.check()?;
            self.go_on(&places, character, &mut after);
            places.clear();
            places.extend_from_slice(&after.list);
            after.clear();
            if places.is_empty() {
                return Ok(false);
            }
        }
        Ok(self.has_match(&places))
    }

    fn before_text(&self) -> Vec<usize> {
        let mut places = StateSet::new(self.program.len());
        self.add(0, &mut places);
        places.list
    }

    /// The places that a character leads to from others.
    fn after(&self, places: &[usize], character: char) -> Vec<usize> {
        let mut after = StateSet::new(self.program.len());
        self.go_on(places, character, &mut after);
        after.list
    }

    fn go_on(&self, places: &[usize], character: char, after: &mut StateSet) {
        for place in places {
            if self.program.get(*place).is_some_and(|step| self.accepts(step, character)) {
                self.add(place + 1, after);
            }
        }
    }

    fn has_match(&self, places: &[usize]) -> bool {
        places.iter().any(|place| matches!(self.program.get(*place), Some(Instruction::Match)))
    }

    fn accepts(&self, step: &Instruction, character: char) -> bool {
        match step {
            Instruction::Character(wanted) => {
                *wanted == character || (self.ignore_case && folded(*wanted) == folded(character))
            }
            Instruction::Any => true,
            Instruction::Class(class) => {
                class.contains(character)
                    || (self.ignore_case
                        && (character.to_uppercase().any(|c| class.contains(c))
                            || character.to_lowercase().any(|c| class.contains(c))))
            }
            Instruction::Split(..)
            | Instruction::Jump(_)
            | Instruction::Start
            | Instruction::End
            | Instruction::Match => false,
        }
    }

    /// Adds an instruction and all that can be reached from it without a character.
    fn add(&self, place: usize, places: &mut StateSet) {
        let mut open = vec![place];
        while let Some(place) = open.pop() {
            if !places.insert(place) {
                continue;
            }
            match self.program.get(place) {
                Some(Instruction::Jump(to)) => open.push(*to),
                Some(Instruction::Start | Instruction::End) => open.push(place + 1),
                Some(Instruction::Split(first, second)) => open.extend([*second, *first]),
                _ => {}
            }
        }
    }
}

/// A place in the program, and the characters that had been read when the second pattern began and ended.
#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    place: usize,
    start: usize,
    end: usize,
}

/// The parts of a pattern between escaped double quotes.
fn separated(characters: &[char], escape: Option<char>) -> Vec<&[char]> {
    let mut parts = Vec::new();
    let (mut rest, mut place) = (characters, 0);
    while let Some(character) = rest.get(place) {
        let is_escape = Some(*character) == escape;
        if is_escape && rest.get(place + 1) == Some(&'"') {
            let (part, after) = rest.split_at(place);
            parts.push(part);
            rest = after.get(2..).unwrap_or_default();
            place = 0;
        } else {
            place += if is_escape { 2 } else { 1 };
        }
    }
    parts.push(rest);
    parts
}

/// A set of instructions, in the order of insertion.
struct StateSet {
    list: Vec<usize>,
    member: Vec<bool>,
}

impl StateSet {
    fn new(size: usize) -> StateSet {
        StateSet { list: Vec::new(), member: vec![false; size] }
    }

    fn clear(&mut self) {
        for place in self.list.drain(..) {
            if let Some(member) = self.member.get_mut(place) {
                *member = false;
            }
        }
    }

    fn insert(&mut self, place: usize) -> bool {
        match self.member.get_mut(place) {
            Some(member) if !*member => {
                *member = true;
                self.list.push(place);
                true
            }
            _ => false,
        }
    }
}

impl Class {
    fn contains(&self, character: char) -> bool {
        let within =
            |ranges: &[(char, char)]| ranges.iter().any(|(low, high)| (*low..=*high).contains(&character));
        let of_kind = |kinds: &[Kind]| kinds.iter().any(|kind| kind.contains(character));
        let included = self.all || within(&self.included) || of_kind(&self.included_kinds);
        included && !within(&self.excluded) && !of_kind(&self.excluded_kinds)
    }
}

impl Kind {
    /// The names that stand in `[:...:]`. Only Latin letters without accents count, as the language reference says.
    fn by_name(name: &str) -> Option<Kind> {
        Some(match name.to_ascii_uppercase().as_str() {
            "ALPHA" => Kind::Alpha,
            "UPPER" => Kind::Upper,
            "LOWER" => Kind::Lower,
            "DIGIT" => Kind::Digit,
            "SPACE" => Kind::Space,
            "WHITESPACE" => Kind::Whitespace,
            "ALNUM" => Kind::Alnum,
            _ => return None,
        })
    }

    fn contains(self, character: char) -> bool {
        match self {
            Kind::Alpha => character.is_ascii_alphabetic(),
            Kind::Upper => character.is_ascii_uppercase(),
            Kind::Lower => character.is_ascii_lowercase(),
            Kind::Digit => character.is_ascii_digit(),
            Kind::Space => character == ' ',
            Kind::Whitespace => matches!(character, '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | ' '),
            Kind::Alnum => character.is_ascii_alphanumeric(),
        }
    }
}

/// The capital, if that is one character: `ß` is not `S`.
fn folded(character: char) -> char {
    let mut capitals = character.to_uppercase();
    match (capitals.next(), capitals.next()) {
        (Some(capital), None) => capital,
        _ => character,
    }
}

fn invalid() -> Error {
    Error::new(isc::INVALID_SIMILAR_PATTERN)
}

/// Characters that mean something unless escaped.
const SPECIAL: &str = "[]()|^-+*%_?{}";

struct Parser<'a> {
    characters: &'a [char],
    place: usize,
    escape: Option<char>,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.place).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted) && self.escape != Some(wanted);
        if found {
            self.place += 1;
        }
        found
    }

    /// The next character and whether it was escaped.
    fn character(&mut self) -> Result<(char, bool)> {
        let first = self.peek().ok_or_else(invalid)?;
        self.place += 1;
        if self.escape != Some(first) {
            return Ok((first, false));
        }
        let second = self.peek().ok_or_else(|| Error::new(isc::ESCAPE_INVALID))?;
        if !SPECIAL.contains(second) && self.escape != Some(second) {
            return Err(Error::new(isc::ESCAPE_INVALID));
        }
        self.place += 1;
        Ok((second, true))
    }

    fn alternatives(&mut self) -> Result<Node> {
        let mut list = vec![self.sequence()?];
        while self.take('|') {
            list.push(self.sequence()?);
        }
        Ok(if list.len() == 1 { list.swap_remove(0) } else { Node::Alternatives(list) })
    }

    fn sequence(&mut self) -> Result<Node> {
        let mut list = Vec::new();
        while let Some(next) = self.peek() {
            let escaped = self.escape == Some(next);
            if !escaped && (next == '|' || next == ')') {
                break;
            }
            let atom = self.atom()?;
            list.push(self.repeated(atom)?);
        }
        Ok(if list.is_empty() { Node::Empty } else { Node::Sequence(list) })
    }

    fn atom(&mut self) -> Result<Node> {
        let (character, escaped) = self.character()?;
        if escaped {
            return Ok(Node::Character(character));
        }
        match character {
            '_' => Ok(Node::Any),
            '%' => Ok(Node::Repeat { node: Box::new(Node::Any), least: 0, most: None }),
            '[' => self.class(),
            '(' => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(invalid());
                }
                let inner = self.alternatives()?;
                self.depth -= 1;
                if self.take(')') { Ok(inner) } else { Err(invalid()) }
            }
            '*' | '+' | '?' | '{' | '}' | ']' | ')' | '^' | '-' => Err(invalid()),
            other => Ok(Node::Character(other)),
        }
    }

    fn repeated(&mut self, atom: Node) -> Result<Node> {
        let (least, most) = if self.take('*') {
            (0, None)
        } else if self.take('+') {
            (1, None)
        } else if self.take('?') {
            (0, Some(1))
        } else if self.take('{') {
            let least = self.number()?;
            let most = if self.take(',') {
                if self.peek() == Some('}') { None } else { Some(self.number()?) }
            } else {
                Some(least)
            };
            if !self.take('}') || most.is_some_and(|most| most < least) {
                return Err(invalid());
            }
            (least, most)
        } else {
            return Ok(atom);
        };
        Ok(Node::Repeat { node: Box::new(atom), least, most })
    }

    fn number(&mut self) -> Result<usize> {
        let mut number = 0usize;
        let mut digits = 0;
        while let Some(digit) = self.peek().and_then(|character| character.to_digit(10)) {
            number = number.saturating_mul(10).saturating_add(digit as usize);
            digits += 1;
            self.place += 1;
        }
        if digits == 0 || number > REPETITIONS_MAX { Err(invalid()) } else { Ok(number) }
    }

    /// What follows `[`.
    fn class(&mut self) -> Result<Node> {
        let mut class = Class::default();
        let mut excluding = false;
        let mut members = 0;
        loop {
            if self.take(']') {
                break;
            }
            if !excluding && self.take('^') {
                excluding = true;
                class.all = members == 0;
                members = 0;
                continue;
            }
            members += 1;
            if self.peek() == Some('[') && self.characters.get(self.place + 1) == Some(&':') {
                let kind = self.kind()?;
                if excluding {
                    class.excluded_kinds.push(kind)
                } else {
                    class.included_kinds.push(kind)
                }
                continue;
            }
            let (low, _) = self.character()?;
            let high = if self.take('-') { self.character()?.0 } else { low };
            if excluding { class.excluded.push((low, high)) } else { class.included.push((low, high)) }
        }
        if members == 0 { Err(invalid()) } else { Ok(Node::Class(Box::new(class))) }
    }

    /// `[:NAME:]`
    fn kind(&mut self) -> Result<Kind> {
        let rest = self.characters.get(self.place + 2..).unwrap_or_default();
        let length = rest.iter().position(|character| *character == ':').ok_or_else(invalid)?;
        let name: String = rest.iter().take(length).collect();
        if rest.get(length + 1) != Some(&']') {
            return Err(invalid());
        }
        self.place += length + 4;
        Kind::by_name(&name).ok_or_else(invalid)
    }
}

fn emit(node: &Node, lazy: bool, program: &mut Vec<Instruction>) -> Result<()> {
    if program.len() > INSTRUCTIONS_MAX {
        return Err(invalid());
    }
    match node {
        Node::Empty => {}
        Node::Character(character) => program.push(Instruction::Character(*character)),
        Node::Any => program.push(Instruction::Any),
        Node::Class(class) => program.push(Instruction::Class(class.clone())),
        Node::Sequence(list) => {
            for part in list {
                emit(part, lazy, program)?;
            }
        }
        Node::Alternatives(list) => emit_alternatives(list, lazy, program)?,
        Node::Repeat { node, least, most } => emit_repeat(node, lazy, *least, *most, program)?,
    }
    Ok(())
}

fn emit_alternatives(list: &[Node], lazy: bool, program: &mut Vec<Instruction>) -> Result<()> {
    let mut jumps = Vec::new();
    for (index, part) in list.iter().enumerate() {
        if index + 1 == list.len() {
            emit(part, lazy, program)?;
            break;
        }
        let split = program.len();
        program.push(Instruction::Match);
        emit(part, lazy, program)?;
        jumps.push(program.len());
        program.push(Instruction::Match);
        program[split] = Instruction::Split(split + 1, program.len());
    }
    let end = program.len();
    for jump in jumps {
        program[jump] = Instruction::Jump(end);
    }
    Ok(())
}

/// `lazy`: rather fewer times than more.
fn emit_repeat(
    node: &Node,
    lazy: bool,
    least: usize,
    most: Option<usize>,
    program: &mut Vec<Instruction>,
) -> Result<()> {
    let choice = |more: usize, fewer: usize| match lazy {
        true => Instruction::Split(fewer, more),
        false => Instruction::Split(more, fewer),
    };
    for _ in 0..least {
        let before = program.len();
        emit(node, lazy, program)?;
        // Repeating what matches nothing but the empty text changes nothing, however often it is asked for.
        if program.len() == before {
            return Ok(());
        }
    }
    let Some(most) = most else {
        let split = program.len();
        program.push(Instruction::Match);
        emit(node, lazy, program)?;
        program.push(Instruction::Jump(split));
        program[split] = choice(split + 1, program.len());
        return Ok(());
    };
    let mut splits = Vec::new();
    for _ in least..most {
        splits.push(program.len());
        program.push(Instruction::Match);
        let before = program.len();
        emit(node, lazy, program)?;
        if program.len() == before {
            break;
        }
    }
    let end = program.len();
    for split in splits {
        program[split] = choice(split + 1, end);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn similar(text: &str, pattern: &str) -> bool {
        SimilarPattern::compile(pattern, Some('\\'), false).unwrap().matches(text, &Interrupt::new()).unwrap()
    }

    #[test]
    fn patterns_of_the_language_reference() {
        assert!(similar("Apple", "Apple"));
        assert!(!similar("Apples", "Apple"));
        assert!(similar("Apple", "App%"));
        assert!(similar("Birne", "B[ir]{2}ne"));
        assert!(!similar("Birne", "B[ar]+ne"));
        assert!(similar("Fraga", "Fr[a-f^bc]ga"));
        assert!(!similar("Frbga", "Fr[a-f^bc]ga"));
        assert!(similar("stutter", "(stut|mut)ter"));
        assert!(similar("12345", "[[:DIGIT:]]{3,}"));
        assert!(!similar("12", "[[:DIGIT:]]{3,}"));
        assert!(similar("3+4", "3\\+4"));
        assert!(similar("", "(a|b)*"));
        assert!(similar("x", "[^a-c]"));
    }

    #[test]
    fn bad_patterns_are_refused() {
        for pattern in ["(", "a{", "[", "[]", "*", "a{3,1}", ")"] {
            assert!(SimilarPattern::compile(pattern, None, false).is_err(), "{pattern}");
        }
        assert!(SimilarPattern::compile("((a{30000}){30000}){30000}", None, false).is_err());
    }

    /// What is known of a pattern, or has no room, changes no answer.
    #[test]
    fn texts_match_as_they_do_without_known_states() {
        let long = format!("(a|b)*a(a|b){{{}}}", 14);
        let patterns = ["%ab%", "(a|b)*abb", "[a-c]+_?ä%", "a{2,4}(b|c)*", "%ä_b%", "[^ab]*", long.as_str()];
        let alphabet = ['a', 'b', 'c', 'ä', '語'];
        let mut random = 1_u64;
        for pattern in patterns {
            let compiled = SimilarPattern::compile(pattern, None, false).unwrap();
            for _ in 0..3_000 {
                let mut text = String::new();
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                for place in 0..random >> 59 {
                    text.push(alphabet[(random >> (place % 40)) as usize % alphabet.len()]);
                }
                let simulated = compiled.simulate(compiled.before_text(), &text, &Interrupt::new()).unwrap();
                let found = compiled.matches(&text, &Interrupt::new()).unwrap();
                assert_eq!(found, simulated, "{text} similar to {pattern}");
            }
        }
    }

    #[test]
    fn nested_repetition_stays_cheap() {
        let text = "a".repeat(2_000) + "b";
        assert!(!similar(&text, "((a+)+)+c"));
    }
}
