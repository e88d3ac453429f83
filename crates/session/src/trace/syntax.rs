//! The syntax of a trace configuration: sections of elements, each with the line that it stands in.
//!
//! ```text
//! database = %[\\/]app.fdb      # a section, with or without a pattern
//! {
//!     enabled = true            # an element
//! }
//! ```
//!
//! `{{` and `}}` stand for one brace, `#` begins a comment outside of quotes. Source: Firebird 5.0.4, fbtrace.conf, and what its
//! server answers to texts that are wrong. Pure functions over texts; sizes are bounded by the text's.

use farbird_types::{Error, Result, isc};

/// `name = value`, or a name alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Element {
    /// In small letters.
    pub(super) name: String,
    /// Empty if there is none.
    pub(super) value: String,
    /// From 1 on.
    pub(super) line: usize,
}

/// A head and the elements between its braces; `None` if it has no braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) head: Element,
    pub(super) elements: Option<Vec<Element>>,
}

/// What stands in a line.
enum Line {
    Blank,
    /// An element, and whether a brace opens behind it; with an empty name it is a brace alone.
    Element(Element, bool),
    Close,
}

/// Takes a configuration apart.
///
/// # Errors
/// `isc_random` with a text that names the line.
pub(super) fn sections(text: &str) -> Result<Vec<Section>> {
    let mut sections: Vec<Section> = Vec::new();
    let mut open: Option<Vec<Element>> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        match (parse_line(line, number)?, &mut open) {
            (Line::Blank, _) => {}
            (Line::Element(head, opens), None) if !head.name.is_empty() => {
                sections.push(Section { head, elements: None });
                open = opens.then(Vec::new);
            }
            // The brace of the section whose head was the line before.
            (Line::Element(_, true), None) if sections.last().is_some_and(|last| last.elements.is_none()) => {
                open = Some(Vec::new());
            }
            (Line::Element(element, false), Some(elements)) => elements.push(element),
            (Line::Close, Some(_)) => {
                if let Some(last) = sections.last_mut() {
                    last.elements = open.take();
                }
            }
            (Line::Element(..) | Line::Close, _) => return Err(illegal(line)),
        }
    }
    match open {
        Some(_) => Err(illegal("missed closing bracket '}'")),
        None => Ok(sections),
    }
}

fn illegal(line: &str) -> Error {
    Error::new(isc::RANDOM).with(format!("Passed text: illegal line <{}>", line.trim()))
}

fn parse_line(line: &str, number: usize) -> Result<Line> {
    let mut name = None;
    let mut content = String::new();
    let mut quotes = 0;
    let mut opens = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if name.is_none() || quotes == 2 => return Err(illegal(line)),
            '"' => quotes += 1,
            '=' if name.is_none() => {
                name = Some(std::mem::take(&mut content));
                continue;
            }
            '#' if quotes != 1 => break,
            '{' | '}' if characters.peek() == Some(&character) => {
                characters.next();
            }
            '}' if quotes != 1 => {
                let rest: String = characters.collect();
                let rest = rest.trim_start();
                let is_alone = name.is_none() && content.trim().is_empty();
                return match is_alone && (rest.is_empty() || rest.starts_with('#')) {
                    true => Ok(Line::Close),
                    false => Err(illegal(line)),
                };
            }
            '{' if quotes != 1 => {
                opens = true;
                let rest: String = characters.collect();
                let rest = rest.trim_start();
                if !(rest.is_empty() || rest.starts_with('#')) {
                    return Err(illegal(line));
                }
                break;
            }
            ' ' | '\t' | '\r' => {}
            _ if quotes == 2 => return Err(illegal(line)),
            _ => {}
        }
        content.push(character);
    }
    if quotes == 1 {
        return Err(illegal(line));
    }
    let (name, value) = match name {
        Some(name) => (name, content.trim().trim_matches('"').to_owned()),
        None => (content, String::new()),
    };
    let name = name.trim().to_lowercase();
    Ok(match name.is_empty() {
        true if !value.is_empty() => return Err(illegal(line)),
        true if !opens => Line::Blank,
        _ => Line::Element(Element { name, value, line: number }, opens),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let sections = match sections(text) {
            Ok(sections) => sections,
            Err(error) => return error.message(),
        };
        let element = |element: &Element| format!("{}:{}={}", element.line, element.name, element.value);
        let lines = sections.iter().map(|section| {
            let elements = section.elements.as_ref().map(|all| all.iter().map(element).collect::<Vec<_>>());
            format!("{} {elements:?}", element(&section.head))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn sections_have_patterns_and_elements() {
        let text = "# all\ndatabase\n{\n\tEnabled = true # yes\n\n}\ndatabase = %[\\\\/]a{{2}}.fdb {\n a=\"x # y\"\n}\nservices\n{\n}\n";
        assert_eq!(
            shown(text),
            "2:database= Some([\"4:enabled=true\"])\n7:database=%[\\\\/]a{2}.fdb Some([\"8:a=x # y\"])\n10:services= Some([])"
        );
        assert_eq!(shown(""), "");
        assert_eq!(shown("database"), "1:database= None");
    }

    #[test]
    fn what_is_no_configuration_is_refused_with_its_line() {
        for (text, line) in [
            ("database\n{\n", "missed closing bracket '}'"),
            ("}", "}"),
            ("{\n}", "{"),
            ("database {\n a = \"x\n}", "a = \"x"),
            ("database {\n a = \"x\" y\n}", "a = \"x\" y"),
            ("database { a = 1\n}", "database { a = 1"),
            ("database {\n b {\n}\n}", "b {"),
            ("= 5", "= 5"),
        ] {
            assert_eq!(shown(text), format!("Passed text: illegal line <{line}>"), "{text}");
        }
    }
}
