use farbird_types::{BlobId, CharacterSet, Error, ExactSubtype, ExactWidth};

use super::*;
use crate::session::Contents;

struct OneBlob;

impl Blobs for OneBlob {
    fn read(&mut self, _id: BlobId, bytes_max: usize) -> Result<Contents, Error> {
        let bytes = b"first line\nsecond | line";
        Ok(Contents { bytes: bytes[..bytes.len().min(bytes_max)].to_vec(), cut: false })
    }
}

fn column(name: &str, sql_type: SqlType) -> Column {
    Column { name: name.to_owned(), table: String::new(), sql_type, nullable: true }
}

fn printed_with(style: &Style) -> String {
    let money = SqlType::Exact { width: ExactWidth::Int64, scale: -2, subtype: ExactSubtype::Numeric };
    let columns = [
        column("ID", SqlType::INTEGER),
        column("NAME", SqlType::varchar(20, CharacterSet::UTF8)),
        column("PRICE", money),
        column("NOTE", SqlType::blob_text(CharacterSet::UTF8)),
    ];
    let rows = [
        [Value::integer(1), Value::text("a,\"b\""), Value::Integer { unscaled: 125, scale: -2 }, Value::Null],
        [Value::integer(20), Value::Null, Value::Integer { unscaled: -5, scale: -2 }, Value::Blob(BlobId(7))],
        [Value::integer(300), Value::text("日本"), Value::Null, Value::Null],
    ];
    let mut out = Vec::new();
    let mut printer = Printer::new(style, &mut out);
    printer.columns(&columns).unwrap();
    for row in &rows {
        printer.row(row, &mut OneBlob).unwrap();
    }
    assert_eq!(printer.finish().unwrap(), Some(3));
    String::from_utf8(out).unwrap()
}

fn printed(format: Format) -> String {
    printed_with(&Style::new(format))
}

#[test]
fn tables_align_numbers_right_and_texts_left() {
    let expected = " \
ID  NAME     PRICE  NOTE
---  ------  ------  ------------------------
  1  a,\"b\"     1.25  <null>
 20  <null>   -0.05  first line⏎second | line
300  日本    <null>  <null>
";
    assert_eq!(printed(Format::Table), expected);
}

#[test]
fn headings_null_and_blobs_are_shown_as_told() {
    let style =
        Style { heading: false, null: "-".to_owned(), blobs: BlobDisplay::Off, ..Style::new(Format::Table) };
    assert_eq!(
        printed_with(&style),
        "  1  a,\"b\"   1.25  -\n 20  -      -0.05  0:7\n300  日本       -  -\n"
    );
}

#[test]
fn expanded_rows_stand_one_above_the_other() {
    let expected = "\
-- row 1 -----
ID    | 1
NAME  | a,\"b\"
PRICE | 1.25
NOTE  | <null>
-- row 2 -----
ID    | 20
NAME  | <null>
PRICE | -0.05
NOTE  | first line
      | second | line
-- row 3 -----
ID    | 300
NAME  | 日本
PRICE | <null>
NOTE  | <null>
";
    assert_eq!(printed(Format::Expanded), expected);
}

#[test]
fn csv_quotes_what_needs_it_and_leaves_null_empty() {
    let expected =
        "ID,NAME,PRICE,NOTE\n1,\"a,\"\"b\"\"\",1.25,\n20,,-0.05,\"first line\nsecond | line\"\n300,日本,,\n";
    assert_eq!(printed(Format::Csv), expected);
}

#[test]
fn json_keeps_types() {
    let expected = "{\"ID\":1,\"NAME\":\"a,\\\"b\\\"\",\"PRICE\":\"1.25\",\"NOTE\":null}\n\
        {\"ID\":20,\"NAME\":null,\"PRICE\":\"-0.05\",\"NOTE\":\"first line\\nsecond | line\"}\n\
        {\"ID\":300,\"NAME\":\"日本\",\"PRICE\":null,\"NOTE\":null}\n";
    assert_eq!(printed(Format::Json), expected);
}

#[test]
fn markdown_keeps_rows_on_their_lines() {
    let expected = "\
| ID | NAME | PRICE | NOTE |
| ---: | --- | ---: | --- |
| 1 | a,\"b\" | 1.25 |  |
| 20 |  | -0.05 | first line<br>second \\| line |
| 300 | 日本 |  |  |
";
    assert_eq!(printed(Format::Markdown), expected);
}

#[test]
fn a_screen_holds_what_fits() {
    let mut screen = Screen::new(24, 80);
    screen.write_all(b"a\nb\n").unwrap();
    assert!(!screen.is_paging());
}
