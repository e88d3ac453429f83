//! Scripts: statements with terminators between them, as isql reads them.

use crate::lexer::alternative_quoted;

/// A statement of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScriptStatement<'a> {
    /// The statement without its terminator and without the comments and spaces around it; never empty.
    pub text: &'a str,
    /// Line of the script on which it begins, from 1.
    pub line: u32,
    /// Whether a terminator ended it, rather than the script.
    pub terminated: bool,
}

/// Splits a script into its statements, obeying SET TERM; a terminator within a string, a quoted name or a comment ends
/// nothing.
///
/// SET TERM itself is not handed out. Costs time in proportion to the text.
pub fn split_script(script: &str) -> ScriptStatements<'_> {
    ScriptStatements { script, offset: 0, line: 1, terminator: ";" }
}

/// The statements of a script; made by [`split_script`].
#[derive(Debug, Clone)]
pub struct ScriptStatements<'a> {
    script: &'a str,
    offset: usize,
    line: u32,
    terminator: &'a str,
}

impl<'a> Iterator for ScriptStatements<'a> {
    type Item = ScriptStatement<'a>;

    fn next(&mut self) -> Option<ScriptStatement<'a>> {
        loop {
            let statement = self.next_piece()?;
            match new_terminator(statement.text) {
                Some(terminator) => self.terminator = terminator,
                None if statement.text.is_empty() => {}
                None => return Some(statement),
            }
        }
    }
}

impl<'a> ScriptStatements<'a> {
    /// The same, with another terminator in force at the beginning than `;`.
    pub fn with_terminator(self, terminator: &'a str) -> ScriptStatements<'a> {
        ScriptStatements { terminator, ..self }
    }

    /// What is left of the script, without the spaces and comments before it. What it says of another language, such as
    /// a shell's commands, can be taken with [`ScriptStatements::take_line`].
    pub fn upcoming(&mut self) -> &'a str {
        self.skip_spaces();
        self.rest()
    }

    /// The rest of this line, which is not handed out as a statement, and its number.
    pub fn take_line(&mut self) -> (&'a str, u32) {
        let (line, number) = (self.rest().lines().next().unwrap_or_default(), self.line);
        self.skip(line.len());
        (line, number)
    }

    /// The terminator now in force.
    pub fn terminator(&self) -> &'a str {
        self.terminator
    }

    /// What stands before the next terminator; empty if there is nothing but comments.
    fn next_piece(&mut self) -> Option<ScriptStatement<'a>> {
        self.skip_spaces();
        if self.rest().is_empty() {
            return None;
        }
        let (start, line) = (self.offset, self.line);
        // Behind the last thing that is neither space nor comment.
        let mut end = start;
        let mut terminated = false;
        while let Some(first) = self.rest().chars().next() {
            if self.rest().starts_with(self.terminator) {
                self.skip(self.terminator.len());
                terminated = true;
                break;
            }
            let space = self.space_length();
            if space > 0 {
                self.skip(space);
                continue;
            }
            self.skip(quoted_length(self.rest()).unwrap_or(first.len_utf8()));
            end = self.offset;
        }
        let text = self.script.get(start..end).unwrap_or_default();
        Some(ScriptStatement { text, line, terminated })
    }

    fn rest(&self) -> &'a str {
        self.script.get(self.offset..).unwrap_or_default()
    }

    fn skip(&mut self, bytes: usize) {
        let passed = self.rest().get(..bytes).unwrap_or_default();
        let lines = passed.bytes().filter(|byte| *byte == b'\n').count();
        self.line = self.line.saturating_add(u32::try_from(lines).unwrap_or(u32::MAX));
        self.offset += passed.len();
    }

    fn skip_spaces(&mut self) {
        loop {
            match self.space_length() {
                0 => return,
                length => self.skip(length),
            }
        }
    }

    /// Length of the white space or comment that begins here; 0 if there is none.
    fn space_length(&self) -> usize {
        let rest = self.rest();
        if rest.starts_with("--") {
            return rest.find('\n').unwrap_or(rest.len());
        }
        if let Some(body) = rest.strip_prefix("/*") {
            return body.find("*/").map_or(rest.len(), |length| length + 4);
        }
        rest.len() - rest.trim_start().len()
    }
}

/// Length of the string or quoted name that begins a text; none if there is none. One without an end reaches to the end.
fn quoted_length(text: &str) -> Option<usize> {
    let mut characters = text.chars();
    let first = characters.next()?;
    match first {
        '\'' | '"' => Some(text.get(1..)?.find(first).map_or(text.len(), |length| length + 2)),
        'q' | 'Q' if characters.next() == Some('\'') => alternative_quoted(text).map(|(_, length)| length),
        // A word is passed over whole, so that its last letter is not taken for the q of a string.
        letter if letter.is_ascii_alphabetic() => Some(
            text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '$').unwrap_or(text.len()),
        ),
        _ => None,
    }
}

/// The terminator that a statement sets, if it is SET TERM.
fn new_terminator(statement: &str) -> Option<&str> {
    let mut words = statement.split_whitespace();
    let is_set_term = words.next()?.eq_ignore_ascii_case("SET")
        && matches!(words.next()?.to_ascii_uppercase().as_str(), "TERM" | "TERMINATOR");
    let terminator = words.next()?;
    (is_set_term && words.next().is_none()).then_some(terminator)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(script: &str) -> Vec<(&str, u32)> {
        split_script(script).map(|statement| (statement.text, statement.line)).collect()
    }

    #[test]
    fn terminators_in_strings_and_comments_end_nothing() {
        let script = "-- first; of all\nselect ';', q'{;'}', \";\" /* ; */ from t -- ; \n;\n\n;select 2";
        assert_eq!(texts(script), [("select ';', q'{;'}', \";\" /* ; */ from t", 2), ("select 2", 5)]);
    }

    #[test]
    fn set_term_changes_the_terminator() {
        let script = "SET TERM ^ ;\nexecute block as begin exit; end^\nset term ;^\nselect 1 from t;";
        assert_eq!(texts(script), [("execute block as begin exit; end", 2), ("select 1 from t", 4)]);
    }

    #[test]
    fn lines_of_another_language_can_be_taken_out() {
        let mut statements =
            split_script("-- note\n\\x on; no statement\nselect 1^ select 2^").with_terminator("^");
        assert!(statements.upcoming().starts_with("\\x"));
        assert_eq!(statements.take_line(), ("\\x on; no statement", 2));
        let rest: Vec<_> = statements.map(|statement| (statement.text, statement.line)).collect();
        assert_eq!(rest, [("select 1", 3), ("select 2", 3)]);
    }

    #[test]
    fn the_last_statement_says_that_nothing_ended_it() {
        let last = split_script("a; b").last();
        assert_eq!(last, Some(ScriptStatement { text: "b", line: 1, terminated: false }));
        assert_eq!(split_script(" -- nothing\n").next(), None);
    }

    #[test]
    fn quotes_without_an_end_reach_to_the_end() {
        assert_eq!(texts("select 'a; b"), [("select 'a; b", 1)]);
        assert_eq!(texts("seq'a;b' ; c"), [("seq'a;b'", 1), ("c", 1)]);
    }
}
