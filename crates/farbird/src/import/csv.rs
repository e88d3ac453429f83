//! Reads delimited text (RFC 4180).
//!
//! Promises: memory for one record and a buffer; a byte is looked at once, unless a record is longer than the buffer.

use std::io::Read;

use anyhow::{Context, bail};

use super::record::{Field, Record, RecordReader};
use crate::exchange::CsvStyle;

/// Bytes of one read.
const BUFFER_BYTES: usize = 1 << 18;
/// Longest record: beyond it the quote that nobody closed is likelier.
const RECORD_BYTES_MAX: usize = 1 << 30;
/// UTF-8's mark at the beginning of files from Windows.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Reads the records of a file.
pub(super) struct CsvReader<R> {
    input: R,
    style: CsvStyle,
    buffer: Vec<u8>,
    /// Where the next record begins in the buffer.
    start: usize,
    is_at_end: bool,
    /// Line on which the next record begins, from 1.
    line: u64,
    names: Option<Vec<String>>,
}

impl<R: Read + Send> CsvReader<R> {
    /// Begins to read: takes the header, if there is to be one.
    pub(super) fn new(input: R, style: CsvStyle) -> anyhow::Result<CsvReader<R>> {
        let mut reader =
            CsvReader { input, style, buffer: Vec::new(), start: 0, is_at_end: false, line: 1, names: None };
        while reader.buffer.len() < BYTE_ORDER_MARK.len() && !reader.is_at_end {
            reader.fill()?;
        }
        if reader.buffer.starts_with(BYTE_ORDER_MARK) {
            reader.start = BYTE_ORDER_MARK.len();
        }
        if reader.style.header {
            let mut header = Record::default();
            if !reader.next_record(&mut header)? {
                bail!("there is no line with the names of the columns");
            }
            let encoding = reader.style.encoding;
            let name = |field: &Field| match field {
                Field::Text { range, .. } => {
                    let bytes = header.bytes.get(range.clone()).unwrap_or_default();
                    Ok(encoding
                        .decode(bytes)
                        .map_err(|error| anyhow::anyhow!("line 1: {error}"))?
                        .into_owned())
                }
                Field::Null | Field::Value(_) => Ok(String::new()),
            };
            reader.names = Some(header.fields.iter().map(name).collect::<anyhow::Result<_>>()?);
        }
        Ok(reader)
    }

    /// Reads more into the buffer, keeping the record that has begun.
    fn fill(&mut self) -> anyhow::Result<()> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let held = self.buffer.len();
        if held > RECORD_BYTES_MAX {
            bail!("line {}: a record of more than 1 GiB; is a quote not closed?", self.line);
        }
        // Doubled for long records, so that they are not looked at too often.
        self.buffer.resize(held + BUFFER_BYTES.max(held), 0);
        let room = self.buffer.get_mut(held..).unwrap_or_default();
        let read = self.input.read(room).context("cannot read the file")?;
        self.buffer.truncate(held + read);
        self.is_at_end = read == 0;
        Ok(())
    }

    /// Takes the record at the beginning of the buffer apart; `None` if its end is not there.
    fn split(&self, record: &mut Record) -> anyhow::Result<Option<Taken>> {
        record.clear();
        let bytes = self.buffer.get(self.start..).unwrap_or_default();
        let (delimiter, quote) = (self.style.delimiter, self.style.quote);
        let mut at = 0;
        let mut lines = 0;
        loop {
            let from = record.bytes.len();
            let quoted = bytes.get(at) == Some(&quote);
            if quoted {
                at += 1;
                loop {
                    let rest = bytes.get(at..).unwrap_or_default();
                    let Some(length) = rest.iter().position(|byte| *byte == quote) else {
                        return match self.is_at_end {
                            true => bail!("line {}: a quote is not closed", self.line),
                            false => Ok(None),
                        };
                    };
                    let inside = rest.get(..length).unwrap_or_default();
                    lines += inside.iter().filter(|byte| **byte == b'\n').count();
                    record.bytes.extend_from_slice(inside);
                    at += length + 1;
                    match bytes.get(at) {
                        // A doubled quote stands for itself.
                        Some(byte) if *byte == quote => {
                            record.bytes.push(quote);
                            at += 1;
                        }
                        None if !self.is_at_end => return Ok(None),
                        _ => break,
                    }
                }
            } else {
                let rest = bytes.get(at..).unwrap_or_default();
                let end = |byte: &u8| *byte == delimiter || *byte == b'\n' || *byte == b'\r';
                let length = match rest.iter().position(end) {
                    Some(length) => length,
                    None if self.is_at_end => rest.len(),
                    None => return Ok(None),
                };
                record.bytes.extend_from_slice(rest.get(..length).unwrap_or_default());
                at += length;
            }
            let range = from..record.bytes.len();
            let is_null = !quoted && record.bytes.get(range.clone()) == Some(self.style.null.as_bytes());
            record.fields.push(if is_null { Field::Null } else { Field::Text { range, quoted } });
            match bytes.get(at) {
                Some(byte) if *byte == delimiter => at += 1,
                Some(b'\r') => match bytes.get(at + 1) {
                    Some(b'\n') => return Ok(Some(Taken { content: at, all: at + 2, lines: lines + 1 })),
                    None if !self.is_at_end => return Ok(None),
                    _ => return Ok(Some(Taken { content: at, all: at + 1, lines: lines + 1 })),
                },
                Some(b'\n') => return Ok(Some(Taken { content: at, all: at + 1, lines: lines + 1 })),
                None if self.is_at_end => return Ok(Some(Taken { content: at, all: at, lines: lines + 1 })),
                None => return Ok(None),
                Some(_) => bail!(
                    "line {}, column {}: something follows the quote that ends the field",
                    self.line + u64::try_from(lines).unwrap_or_default(),
                    record.fields.len()
                ),
            }
        }
    }
}

/// What a record took of the buffer.
struct Taken {
    /// Bytes without the line's end.
    content: usize,
    all: usize,
    lines: usize,
}

impl<R: Read + Send> RecordReader for CsvReader<R> {
    fn names(&self) -> Option<&[String]> {
        self.names.as_deref()
    }

    fn next_record(&mut self, record: &mut Record) -> anyhow::Result<bool> {
        loop {
            if self.start == self.buffer.len() {
                if self.is_at_end {
                    return Ok(false);
                }
                self.fill()?;
                continue;
            }
            let Some(taken) = self.split(record)? else {
                self.fill()?;
                continue;
            };
            let raw = self.buffer.get(self.start..self.start + taken.content).unwrap_or_default();
            let is_empty = raw.is_empty();
            if record.keeps_raw {
                record.raw.clear();
                record.raw.extend_from_slice(raw);
            }
            record.line = self.line;
            self.line += u64::try_from(taken.lines).unwrap_or_default();
            self.start += taken.all;
            // An empty line is no record, unless there is but one column, whose NULL it is.
            let columns = self.names.as_ref().map_or(0, Vec::len);
            if !is_empty || columns == 1 {
                return Ok(true);
            }
        }
    }

    fn header(&self) -> Option<Vec<u8>> {
        let names = self.names.as_ref()?;
        let mut line = String::new();
        for (index, name) in names.iter().enumerate() {
            if index > 0 {
                line.push(char::from(self.style.delimiter));
            }
            let quote = char::from(self.style.quote);
            let doubled = name.replace(quote, &format!("{quote}{quote}"));
            line.push_str(&format!("{quote}{doubled}{quote}"));
        }
        Some(self.style.encoding.encode(&line).map(Vec::from).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use farbird_types::CharacterSet;

    use super::*;

    fn style() -> CsvStyle {
        CsvStyle {
            delimiter: b',',
            quote: b'"',
            header: false,
            null: String::new(),
            encoding: CharacterSet::UTF8,
        }
    }

    /// Gives a few bytes at a time, so that records are cut anywhere.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(out.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            out[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    type Row = (u64, Vec<Option<String>>);

    fn rows(text: &str, style: &CsvStyle, piece: usize) -> anyhow::Result<Vec<Row>> {
        let mut reader = CsvReader::new(Trickle(text.as_bytes(), piece), style.clone())?;
        let mut record = Record::default();
        let mut rows = Vec::new();
        while reader.next_record(&mut record)? {
            let field = |field: &Field| match field {
                Field::Text { range, .. } => {
                    Some(String::from_utf8(record.bytes[range.clone()].to_vec()).unwrap())
                }
                _ => None,
            };
            rows.push((record.line, record.fields.iter().map(field).collect()));
        }
        Ok(rows)
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn records_are_read_wherever_they_are_cut() {
        let text = "a,b\r\n\"x \"\"y\"\"\",\"two\nlines\"\n,\"\"\n\nlast,ä";
        let expected: Vec<Row> = vec![
            (1, vec![some("a"), some("b")]),
            (2, vec![some("x \"y\""), some("two\nlines")]),
            (4, vec![None, some("")]),
            (6, vec![some("last"), some("ä")]),
        ];
        for piece in [1, 2, 3, 7, 1000] {
            assert_eq!(rows(text, &style(), piece).unwrap(), expected, "{piece}");
        }
    }

    #[test]
    fn delimiters_quotes_and_null_are_as_told() {
        let style = CsvStyle { delimiter: b';', quote: b'\'', null: "\\N".to_owned(), ..style() };
        let expected: Vec<Row> = vec![(1, vec![None, some("\\N"), some(""), some("a;b")])];
        assert_eq!(rows("\\N;'\\N';;'a;b'\n", &style, 1000).unwrap(), expected);
    }

    #[test]
    fn broken_quotes_are_told_with_their_lines() {
        let error = rows("a\n\"b\nc", &style(), 1000).unwrap_err().to_string();
        assert_eq!(error, "line 2: a quote is not closed");
        let error = rows("a,\"b\"c\n", &style(), 1000).unwrap_err().to_string();
        assert!(error.starts_with("line 1, column 2"), "{error}");
    }

    #[test]
    fn headers_name_the_columns() {
        let style = CsvStyle { header: true, ..style() };
        let reader = CsvReader::new(Cursor::new(b"\xEF\xBB\xBFid,\"a,b\"\n1,2\n"), style).unwrap();
        assert_eq!(reader.names(), Some(&["id".to_owned(), "a,b".to_owned()][..]));
        assert_eq!(reader.header().unwrap(), b"\"id\",\"a,b\"");
    }
}
