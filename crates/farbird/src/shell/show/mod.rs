//! SHOW and the short forms beside it: what there is in the database, from its system tables. Everything is asked in a way
//! that Firebird 3 and later and Farbird answer.

mod listings;
mod relation;
mod routine;
mod type_name;

use std::io::Write;

use farbird_types::convert::to_display_text;
use farbird_types::{CharacterSet, Error, SqlType, Value};

pub(super) use listings::words;

use super::command::Show;
use super::output::{Format, Printer, Style};
use crate::session::{Blobs, Column, Contents, Description, Failure, Session, Sink};

/// A part of what is shown.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Section {
    /// What stands above the next part.
    Title(String),
    /// Rows below the names of their columns.
    Table { heads: &'static [&'static str], rows: Vec<Vec<Value>> },
    /// A source, as it was written.
    Text(String),
}

/// A row of the catalog whose texts have no padding.
struct CatalogRow(Vec<Value>);

impl CatalogRow {
    /// A column as text; empty for NULL.
    fn text(&self, index: usize) -> String {
        match self.0.get(index) {
            None | Some(Value::Null) => String::new(),
            Some(value) => to_display_text(value).trim_end_matches(' ').to_owned(),
        }
    }

    /// A column as number; 0 for NULL.
    fn number(&self, index: usize) -> i64 {
        match self.0.get(index) {
            Some(Value::Integer { unscaled, .. }) => *unscaled,
            Some(Value::Boolean(truth)) => i64::from(*truth),
            _ => 0,
        }
    }

    fn is_null(&self, index: usize) -> bool {
        self.0.get(index).is_none_or(Value::is_null)
    }
}

/// Asks the catalog.
fn rows(session: &mut dyn Session, sql: &str, names: &[&str]) -> Result<Vec<CatalogRow>, Error> {
    let parameters: Vec<Value> = names.iter().map(|name| Value::text(name)).collect();
    Ok(session.look_up(sql, &parameters)?.into_iter().map(CatalogRow).collect())
}

/// A cell of a table that is shown.
fn cell(text: impl AsRef<str>) -> Value {
    Value::text(text.as_ref())
}

/// What is to be shown.
///
/// # Errors
/// Inside: that there is no such kind or object, in words. Outside: what the database says.
pub(super) fn sections(
    session: &mut dyn Session,
    wanted: &Show,
) -> Result<Result<Vec<Section>, String>, Error> {
    let kind = match wanted.kind.as_str() {
        "" => match &wanted.name {
            Some(name) => match kind_of(session, name)? {
                Some(kind) => kind,
                None => return Ok(Err(format!("there is nothing called {name}"))),
            },
            None => "RELATIONS",
        },
        kind => kind,
    };
    let found = match (kind, wanted.name.as_deref()) {
        ("TABLE" | "TABLES" | "VIEW" | "VIEWS" | "RELATION", Some(name)) => {
            relation::sections(session, name)?
        }
        ("PROCEDURE" | "PROCEDURES" | "PROC", Some(name)) => routine::procedure(session, name)?,
        ("FUNCTION" | "FUNCTIONS", Some(name)) => routine::function(session, name)?,
        ("TRIGGER" | "TRIGGERS", Some(name)) => routine::trigger(session, name)?,
        ("PACKAGE" | "PACKAGES", Some(name)) => routine::package(session, name)?,
        ("DOMAIN" | "DOMAINS", Some(name)) => relation::domain(session, name)?,
        ("INDEX" | "INDEXES" | "INDICES" | "IND", name) => relation::indexes(session, name)?,
        ("SEQUENCE" | "SEQUENCES" | "GENERATOR" | "GENERATORS" | "GEN", name) => sequences(session, name)?,
        ("DOMAIN" | "DOMAINS", None) => relation::domains(session)?,
        ("TRIGGER" | "TRIGGERS", None) => routine::triggers(session, None)?,
        ("DATABASE" | "DB", None) => database(session)?,
        ("VERSION" | "VER", None) => version(session)?,
        (kind, name) => match listings::find(kind) {
            Some(listing) => listed(session, listing, name)?,
            None => return Ok(Err(format!("SHOW {kind}: HELP SHOW lists what can be shown"))),
        },
    };
    Ok(match (found.is_empty(), &wanted.name) {
        (false, _) => Ok(found),
        (true, Some(name)) => Err(match listings::parts(kind) {
            Some(parts) => format!("{name} has no {}", parts.to_lowercase()),
            None => format!("there is no {} {name}", kind.to_lowercase()),
        }),
        (true, None) => Ok(vec![Section::Title("there are none".to_owned())]),
    })
}

/// The kind of the object that has a name.
fn kind_of(session: &mut dyn Session, name: &str) -> Result<Option<&'static str>, Error> {
    let found = rows(session, listings::KIND_OF, &[name; 9])?;
    let numbers = found.iter().map(|row| row.number(0)).min();
    Ok(numbers.map(|number| match number {
        1 => "RELATION",
        2 => "PROCEDURE",
        3 => "FUNCTION",
        4 => "TRIGGER",
        5 => "SEQUENCE",
        6 => "DOMAIN",
        7 => "EXCEPTIONS",
        8 => "INDEX",
        _ => "PACKAGE",
    }))
}

/// A list, of one object or of all.
fn listed(
    session: &mut dyn Session,
    listing: &listings::Listing,
    name: Option<&str>,
) -> Result<Vec<Section>, Error> {
    let found = rows(session, listing.sql, &[])?;
    let of_name = |row: &CatalogRow| name.is_none_or(|name| row.text(listing.name_column) == name);
    let found: Vec<Vec<Value>> = found.into_iter().filter(of_name).map(|row| trimmed(&row)).collect();
    Ok(match found.is_empty() {
        true => Vec::new(),
        false => vec![Section::Table { heads: listing.heads, rows: found }],
    })
}

/// A row without the padding of its texts.
fn trimmed(row: &CatalogRow) -> Vec<Value> {
    let value = |(index, value): (usize, &Value)| match value {
        Value::Text(_) => cell(row.text(index)),
        other => other.clone(),
    };
    row.0.iter().enumerate().map(value).collect()
}

/// Sequences with their values, which are not in the catalog.
fn sequences(session: &mut dyn Session, name: Option<&str>) -> Result<Vec<Section>, Error> {
    let mut shown = Vec::new();
    for row in rows(session, listings::SEQUENCES, &[])? {
        let sequence = row.text(0);
        if name.is_some_and(|name| name != sequence) {
            continue;
        }
        let quoted = sequence.replace('"', "\"\"");
        let value = rows(session, &format!("select gen_id(\"{quoted}\", 0) from rdb$database"), &[])?;
        let value = value.into_iter().next().and_then(|row| row.0.into_iter().next()).unwrap_or_default();
        let increment = row.0.get(2).cloned().unwrap_or_default();
        let start = row.0.get(1).cloned().unwrap_or_default();
        shown.push(vec![cell(sequence), value, start, increment]);
    }
    Ok(match shown.is_empty() {
        true => Vec::new(),
        false => {
            vec![Section::Table {
                heads: &["SEQUENCE", "CURRENT_VALUE", "INITIAL_VALUE", "INCREMENT"],
                rows: shown,
            }]
        }
    })
}

/// Facts below one another.
fn facts(facts: Vec<(&str, Value)>) -> Vec<Section> {
    let rows = facts.into_iter().map(|(name, value)| vec![cell(name), value]).collect();
    vec![Section::Table { heads: &["PROPERTY", "VALUE"], rows }]
}

fn database(session: &mut dyn Session) -> Result<Vec<Section>, Error> {
    let Some(row) = rows(session, listings::DATABASE, &[])?.into_iter().next() else { return Ok(Vec::new()) };
    let on = |index: usize, yes: &str, no: &str| cell(if row.number(index) == 0 { no } else { yes });
    Ok(facts(vec![
        ("Database", cell(row.text(0))),
        ("Owner", cell(row.text(1))),
        ("Character set", cell(row.text(2))),
        ("Dialect", cell(row.text(3))),
        ("On-disk structure", cell(format!("{}.{}", row.number(4), row.number(5)))),
        ("Page size", cell(format!("{} bytes", row.number(6)))),
        ("Pages", cell(row.text(7))),
        ("Created", cell(row.text(8))),
        ("Forced writes", on(9, "on", "off")),
        ("Access", on(10, "read only", "read and write")),
        ("Sweep interval", cell(row.text(11))),
        ("Oldest transaction", cell(row.text(12))),
        ("Oldest active", cell(row.text(13))),
        ("Oldest snapshot", cell(row.text(14))),
        ("Next transaction", cell(row.text(15))),
    ]))
}

fn version(session: &mut dyn Session) -> Result<Vec<Section>, Error> {
    let mut shown = vec![("Shell", cell(concat!("farbird ", env!("CARGO_PKG_VERSION"))))];
    shown.extend(session.about()?.into_iter().map(|(name, value)| (name, cell(value))));
    let engine = rows(session, "select rdb$get_context('SYSTEM', 'ENGINE_VERSION') from rdb$database", &[])?;
    if let Some(row) = engine.first() {
        shown.push(("Speaks as Firebird", cell(row.text(0))));
    }
    Ok(facts(shown))
}

/// What a statement gives and takes.
pub(super) fn of_statement(description: &Description) -> Vec<Section> {
    let described = |title: &str, columns: &[Column]| {
        let row = |(index, column): (usize, &Column)| {
            let number = i64::try_from(index + 1).unwrap_or(i64::MAX);
            let nullable = if column.nullable { "" } else { "NOT NULL" };
            vec![
                Value::integer(number),
                cell(&column.name),
                cell(column.sql_type.to_string()),
                cell(nullable),
                cell(&column.table),
            ]
        };
        let rows: Vec<Vec<Value>> = columns.iter().enumerate().map(row).collect();
        let table = Section::Table { heads: &["NUMBER", "NAME", "TYPE", "NULLABLE", "TABLE_NAME"], rows };
        (!columns.is_empty()).then(|| [Section::Title(title.to_owned()), table])
    };
    let mut sections: Vec<Section> =
        described("Columns", &description.columns).into_iter().flatten().collect();
    sections.extend(described("Parameters", &description.parameters).into_iter().flatten());
    if sections.is_empty() {
        sections.push(Section::Title("neither columns nor parameters".to_owned()));
    }
    sections
}

/// Prints sections; titles only in formats for people.
pub(super) fn print(sections: &[Section], style: &Style, out: &mut dyn Write) -> Result<(), Failure> {
    // Rows of a catalog are short: they are never expanded, and what is not there needs no word.
    let format = if style.format == Format::Expanded { Format::Table } else { style.format };
    let style = &Style { format, null: String::new(), ..style.clone() };
    for (index, section) in sections.iter().enumerate() {
        match section {
            Section::Title(title) if style.format.is_for_people() => {
                writeln!(out, "{}{title}", if index > 0 { "\n" } else { "" })?;
            }
            Section::Title(_) => {}
            Section::Text(text) => writeln!(out, "{}", text.trim_matches(['\r', '\n']))?,
            Section::Table { heads, rows } => {
                let mut printer = Printer::new(style, out);
                printer.columns(&columns(heads, rows))?;
                for row in rows {
                    printer.row(row, &mut NoBlobs)?;
                }
                printer.finish()?;
            }
        }
    }
    Ok(())
}

/// Columns of a table that is shown: numbers if all of their values are.
fn columns(heads: &[&str], rows: &[Vec<Value>]) -> Vec<Column> {
    let is_number = |index: usize| {
        let mut values =
            rows.iter().filter_map(|row| row.get(index)).filter(|value| !value.is_null()).peekable();
        values.peek().is_some() && values.all(|value| matches!(value, Value::Integer { .. }))
    };
    let column = |(index, head): (usize, &&str)| Column {
        name: (*head).to_owned(),
        table: String::new(),
        sql_type: if is_number(index) { SqlType::BIGINT } else { SqlType::varchar(1, CharacterSet::UTF8) },
        nullable: true,
    };
    heads.iter().enumerate().map(column).collect()
}

/// The catalog's BLOBs have become texts already.
struct NoBlobs;

impl Blobs for NoBlobs {
    fn read(&mut self, _id: farbird_types::BlobId, _bytes_max: usize) -> Result<Contents, Error> {
        Ok(Contents { bytes: Vec::new(), cut: false })
    }
}
