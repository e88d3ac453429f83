//! Reads JSON lines: one object on each line. Values that are arrays or objects are taken as their JSON text.

use std::collections::HashMap;
use std::io::BufRead;

use anyhow::{Context, bail};

use super::record::{Field, Record, RecordReader};

/// Lines that are looked at for the names of fields.
const LINES_FOR_NAMES: usize = 1_000;
/// Objects and arrays within one another.
const DEPTH_MAX: usize = 128;

/// Reads the objects of a file.
pub(super) struct JsonReader<R> {
    input: R,
    /// Lines that were looked at for names, last first.
    ahead: Vec<Vec<u8>>,
    buffer: Vec<u8>,
    line: u64,
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl<R: BufRead> JsonReader<R> {
    /// Begins to read: looks which names the first objects have.
    pub(super) fn new(input: R) -> anyhow::Result<JsonReader<R>> {
        let mut reader = JsonReader {
            input,
            ahead: Vec::new(),
            buffer: Vec::new(),
            line: 0,
            names: Vec::new(),
            places: HashMap::new(),
        };
        let mut scratch = Record::default();
        while reader.ahead.len() < LINES_FOR_NAMES {
            let mut line = Vec::new();
            if !read_line(&mut reader.input, &mut line)? {
                break;
            }
            // Damage is told when the line is read in earnest.
            let names = parse_object(&line, &mut scratch).unwrap_or_default();
            for (name, _) in names {
                if !reader.places.contains_key(&name) {
                    reader.places.insert(name.clone(), reader.names.len());
                    reader.names.push(name);
                }
            }
            reader.ahead.push(line);
        }
        reader.ahead.reverse();
        Ok(reader)
    }
}

/// Reads a line without its end; false if there is none.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> anyhow::Result<bool> {
    line.clear();
    if input.read_until(b'\n', line).context("cannot read the file")? == 0 {
        return Ok(false);
    }
    while line.last().is_some_and(|byte| [b'\n', b'\r'].contains(byte)) {
        line.pop();
    }
    Ok(true)
}

impl<R: BufRead + Send> RecordReader for JsonReader<R> {
    fn names(&self) -> Option<&[String]> {
        Some(&self.names)
    }

    fn next_record(&mut self, record: &mut Record) -> anyhow::Result<bool> {
        loop {
            match self.ahead.pop() {
                Some(line) => self.buffer = line,
                None => {
                    if !read_line(&mut self.input, &mut self.buffer)? {
                        return Ok(false);
                    }
                }
            }
            self.line += 1;
            if !self.buffer.trim_ascii().is_empty() {
                break;
            }
        }
        record.clear();
        record.line = self.line;
        if record.keeps_raw {
            self.buffer.clone_into(&mut record.raw);
        }
        let line = self.line;
        let fields =
            parse_object(&self.buffer, record).map_err(|words| anyhow::anyhow!("line {line}: {words}"))?;
        record.fields.resize(self.names.len(), Field::Null);
        for (name, field) in fields {
            match self.places.get(&name).and_then(|place| record.fields.get_mut(*place)) {
                Some(place) => *place = field,
                None => bail!("line {line}: none of the first {LINES_FOR_NAMES} lines has a field {name:?}"),
            }
        }
        Ok(true)
    }

    fn header(&self) -> Option<Vec<u8>> {
        None
    }
}

/// The fields of an object; their texts are added to the record's bytes.
fn parse_object(text: &[u8], record: &mut Record) -> Result<Vec<(String, Field)>, String> {
    let mut parser = Parser { text, at: 0 };
    let mut fields = Vec::new();
    parser.expect(b'{')?;
    if !parser.eat(b'}') {
        loop {
            let mut name = Vec::new();
            parser.spaces();
            parser.string(&mut name)?;
            parser.expect(b':')?;
            let field = parser.value(&mut record.bytes)?;
            fields.push((String::from_utf8_lossy(&name).into_owned(), field));
            if parser.eat(b'}') {
                break;
            }
            parser.expect(b',')?;
        }
    }
    parser.spaces();
    match parser.at == text.len() {
        true => Ok(fields),
        false => Err(parser.error("something follows the object")),
    }
}

struct Parser<'t> {
    text: &'t [u8],
    at: usize,
}

impl Parser<'_> {
    fn error(&self, words: &str) -> String {
        format!("column {}: {words}", self.at + 1)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while self.peek().is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.spaces();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), String> {
        match self.eat(byte) {
            true => Ok(()),
            false => Err(self.error(&format!("expected {}", char::from(byte)))),
        }
    }

    fn value(&mut self, bytes: &mut Vec<u8>) -> Result<Field, String> {
        self.spaces();
        let from = bytes.len();
        let quoted = match self.peek() {
            Some(b'"') => {
                self.string(bytes)?;
                true
            }
            Some(b'{' | b'[') => {
                let start = self.at;
                self.skip_nested()?;
                bytes.extend_from_slice(self.text.get(start..self.at).unwrap_or_default());
                true
            }
            Some(_) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let end = |byte: &u8| matches!(byte, b',' | b'}' | b']') || byte.is_ascii_whitespace();
                let length = rest.iter().position(end).unwrap_or(rest.len());
                let word = rest.get(..length).unwrap_or_default();
                let is_number = word.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
                if word != b"null" && word != b"true" && word != b"false" && !is_number {
                    return Err(self.error("expected a value"));
                }
                self.at += length;
                if word == b"null" {
                    return Ok(Field::Null);
                }
                bytes.extend_from_slice(word);
                false
            }
            None => return Err(self.error("the object is not closed")),
        };
        Ok(Field::Text { range: from..bytes.len(), quoted })
    }

    /// Passes over an object or array.
    fn skip_nested(&mut self) -> Result<(), String> {
        let mut depth = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string(&mut Vec::new())?;
                    continue;
                }
                Some(b'{' | b'[') => depth += 1,
                Some(b'}' | b']') => depth -= 1,
                Some(_) => {}
                None => return Err(self.error("it is not closed")),
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
            if depth > DEPTH_MAX {
                return Err(self.error("too deep"));
            }
        }
    }

    /// Adds the text of a string.
    fn string(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        if self.peek() != Some(b'"') {
            return Err(self.error("expected a string"));
        }
        self.at += 1;
        loop {
            let rest = self.text.get(self.at..).unwrap_or_default();
            let length = rest
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\\'))
                .ok_or_else(|| self.error("a string is not closed"))?;
            out.extend_from_slice(rest.get(..length).unwrap_or_default());
            self.at += length + 1;
            if rest.get(length) == Some(&b'"') {
                return Ok(());
            }
            self.escape(out)?;
        }
    }

    /// What stands behind a backslash.
    fn escape(&mut self, out: &mut Vec<u8>) -> Result<(), String> {
        let byte = self.peek().ok_or_else(|| self.error("a string is not closed"))?;
        self.at += 1;
        match byte {
            b'n' => out.push(b'\n'),
            b't' => out.push(b'\t'),
            b'r' => out.push(b'\r'),
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'"' | b'\\' | b'/' => out.push(byte),
            b'u' => {
                let mut code = self.four_digits()?;
                // Characters beyond the first 65,536 are two escapes.
                if (0xD800..0xDC00).contains(&code) && self.text.get(self.at..self.at + 2) == Some(b"\\u") {
                    self.at += 2;
                    let low = self.four_digits()?;
                    code = 0x10000 + ((code - 0xD800) << 10) + low.wrapping_sub(0xDC00) % 0x400;
                }
                let character = char::from_u32(code).ok_or_else(|| self.error("half a character"))?;
                out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return Err(self.error("no such escape")),
        }
        Ok(())
    }

    fn four_digits(&mut self) -> Result<u32, String> {
        let digits = self.text.get(self.at..self.at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        code.ok_or_else(|| self.error("four hexadecimal digits belong behind \\u"))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    type Rows = Vec<Vec<Option<String>>>;

    fn rows(text: &str) -> anyhow::Result<(Vec<String>, Rows)> {
        let mut reader = JsonReader::new(Cursor::new(text.as_bytes().to_vec()))?;
        let mut record = Record::default();
        let mut rows = Vec::new();
        while reader.next_record(&mut record)? {
            let field = |field: &Field| match field {
                Field::Text { range, .. } => {
                    Some(String::from_utf8(record.bytes[range.clone()].to_vec()).unwrap())
                }
                _ => None,
            };
            rows.push(record.fields.iter().map(field).collect());
        }
        Ok((reader.names.clone(), rows))
    }

    #[test]
    fn objects_become_rows_whatever_the_order_of_their_fields() {
        let text = r#"{"a": 1, "b": "x\n\"\u00e4\ud83d\ude00"}

            {"b":null,"a":-1.50e3,"c":{"d":[1,"}"]}}
            {}"#;
        let (names, rows) = rows(text).unwrap();
        assert_eq!(names, ["a", "b", "c"]);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(rows[0], [some("1"), some("x\n\"ä😀"), None]);
        assert_eq!(rows[1], [some("-1.50e3"), None, some(r#"{"d":[1,"}"]}"#)]);
        assert_eq!(rows[2], [None, None, None]);
    }

    #[test]
    fn damage_is_told_with_its_place() {
        for (text, place) in [
            ("{\"a\":1}\n{\"a\":}", "line 2: column 6"),
            ("{\"a\":\"x", "line 1: column 7"),
            ("[1]", "line 1: column 1"),
            ("{\"a\":1} x", "line 1: column 9"),
            ("{\"a\":\"\\ud800\"}", "line 1"),
            ("{\"a\":[[", "line 1"),
        ] {
            let error = rows(text).unwrap_err().to_string();
            assert!(error.starts_with(place), "{text}: {error}");
        }
    }
}
