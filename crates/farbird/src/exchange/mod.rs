//! What import and export share: the formats of files, and the names of tables and columns.

pub(crate) mod text;

use std::path::Path;

use anyhow::bail;
use clap::{Args, ValueEnum};
use farbird_types::CharacterSet;

/// Stands for standard input or output.
pub(crate) const PIPE: &str = "-";

/// Formats of files of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileFormat {
    /// Delimited text (RFC 4180).
    Csv,
    /// One JSON object per line.
    #[value(alias = "json", alias = "ndjson")]
    Jsonl,
    /// Parquet.
    Parquet,
}

impl FileFormat {
    /// The format that was given, or else that of the file's name.
    pub(crate) fn of(path: &Path, given: Option<FileFormat>) -> anyhow::Result<FileFormat> {
        if let Some(format) = given {
            return Ok(format);
        }
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        Ok(match extension.as_deref() {
            Some("csv" | "tsv" | "txt") => FileFormat::Csv,
            Some("jsonl" | "json" | "ndjson") => FileFormat::Jsonl,
            Some("parquet" | "pq") => FileFormat::Parquet,
            _ => bail!("what format has {}? Give --format csv, jsonl or parquet", path.display()),
        })
    }
}

/// How delimited text is written.
#[derive(Args)]
pub(crate) struct CsvArguments {
    /// Between the fields of a line: one character, or `tab`. Files named .tsv have tabs.
    #[arg(long, value_name = "CHARACTER", help_heading = "CSV")]
    delimiter: Option<String>,
    /// Around fields with a delimiter, a quote or a line's end in them.
    #[arg(long, value_name = "CHARACTER", default_value = "\"", help_heading = "CSV")]
    quote: String,
    /// There is no line with the names of the columns.
    #[arg(long, help_heading = "CSV")]
    no_header: bool,
    /// An unquoted field of this text is NULL.
    #[arg(long, value_name = "TEXT", default_value = "", help_heading = "CSV")]
    null: String,
    /// Character set of the file: UTF8, WIN1250, ISO8859_1 ...
    #[arg(long, value_name = "NAME", default_value = "UTF8", help_heading = "CSV")]
    encoding: String,
}

/// How delimited text is written, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CsvStyle {
    pub(crate) delimiter: u8,
    pub(crate) quote: u8,
    pub(crate) header: bool,
    pub(crate) null: String,
    pub(crate) encoding: CharacterSet,
}

impl CsvArguments {
    /// Checks them, for a file of this name.
    pub(crate) fn style(&self, path: &Path) -> anyhow::Result<CsvStyle> {
        let is_tsv = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("tsv"));
        let delimiter = match self.delimiter.as_deref() {
            None if is_tsv => b'\t',
            None => b',',
            Some("tab" | "\\t") => b'\t',
            Some(text) => one_byte(text, "--delimiter")?,
        };
        let quote = one_byte(&self.quote, "--quote")?;
        if delimiter == quote || [b'\n', b'\r'].contains(&delimiter) || [b'\n', b'\r'].contains(&quote) {
            bail!("--delimiter and --quote must differ from each other and from the ends of lines");
        }
        let Some(encoding) = CharacterSet::by_name(&self.encoding.to_uppercase()) else {
            bail!("there is no character set {}", self.encoding);
        };
        Ok(CsvStyle { delimiter, quote, header: !self.no_header, null: self.null.clone(), encoding })
    }
}

fn one_byte(text: &str, option: &str) -> anyhow::Result<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => bail!("{option} takes one ASCII character, not {text:?}"),
    }
}

/// A name as the catalog has it, of one that is written as in SQL: in upper case unless it is quoted.
pub(crate) fn catalog_name(written: &str) -> String {
    match written.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => written.to_uppercase(),
    }
}

/// A name of the catalog as it stands in a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_files_names() {
        for (name, format) in [
            ("a.CSV", FileFormat::Csv),
            ("a.b.ndjson", FileFormat::Jsonl),
            ("x.parquet", FileFormat::Parquet),
        ] {
            assert_eq!(FileFormat::of(Path::new(name), None).unwrap(), format, "{name}");
        }
        assert!(FileFormat::of(Path::new("-"), None).is_err());
        assert_eq!(FileFormat::of(Path::new("-"), Some(FileFormat::Csv)).unwrap(), FileFormat::Csv);
    }

    #[test]
    fn names_are_written_as_in_sql() {
        assert_eq!(catalog_name("people"), "PEOPLE");
        assert_eq!(quoted(&catalog_name("\"My \"\"own\"\"\"")), "\"My \"\"own\"\"\"");
    }
}
