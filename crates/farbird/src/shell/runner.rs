//! Runs the statements of a script or a conversation, one transaction after another.

use std::io::{self, Read};

use farbird::{Connection, Error, Row, Rows, Script, Value};
use farbird_types::convert::to_display_text;

use super::Format;
use super::output::{Cell, Heading, Printer};

/// Longest BLOB that is shown; the rest is said to be there.
const BLOB_BYTES_SHOWN: u64 = 1 << 20;
/// What SHOW TABLES asks.
const SHOW_TABLES: &str = "select trim(rdb$relation_name) as table_name,
    case when rdb$view_blr is null then 'TABLE' else 'VIEW' end as kind
    from rdb$relations where coalesce(rdb$system_flag, 0) = 0 order by 1";
/// What SHOW TABLE asks.
const SHOW_TABLE: &str = "select trim(rf.rdb$field_name) as column_name, trim(t.rdb$type_name) as type,
    f.rdb$field_length as bytes, iif(coalesce(rf.rdb$null_flag, 0) = 1, 'NOT NULL', '') as nullability
    from rdb$relation_fields rf join rdb$fields f on f.rdb$field_name = rf.rdb$field_source
    left join rdb$types t on t.rdb$field_name = 'RDB$FIELD_TYPE' and t.rdb$type = f.rdb$field_type
    where rf.rdb$relation_name = ? order by rf.rdb$field_position";

/// What the shell remembers between statements.
pub(super) struct Runner<'c> {
    script: Script<'c>,
    format: Format,
    terminator: String,
}

/// Why a statement did not do what was asked.
enum Failure {
    /// The database says so.
    Statement(Error),
    /// Standard output cannot be written to.
    Output(io::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Statement(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Output(error)
    }
}

impl<'c> Runner<'c> {
    /// Nothing has run yet.
    pub(super) fn new(connection: &'c Connection, format: Format) -> Runner<'c> {
        let mut script = Script::new(connection);
        script.commit_definitions(true);
        Runner { script, format, terminator: ";".to_owned() }
    }

    /// Whether a text ends with the terminator, so that its statements can run.
    pub(super) fn is_complete(&self, text: &str) -> bool {
        text.trim_end().ends_with(self.terminator.as_str())
    }

    /// Runs statements until one fails. Says what failed on stderr; false then.
    ///
    /// # Errors
    /// That the output cannot be written. A closed pipe ends the shell quietly, as its reader wanted.
    pub(super) fn run_script(&mut self, text: &str) -> anyhow::Result<bool> {
        // The splitter begins each script with `;`: tell it what this conversation has set.
        let prefix =
            if self.terminator == ";" { String::new() } else { format!("SET TERM {} ;", self.terminator) };
        let script = prefix + text;
        let mut statements = farbird_sql::split_script(&script);
        for statement in statements.by_ref() {
            match self.run_statement(statement.text) {
                Ok(()) => {}
                Err(Failure::Statement(error)) => {
                    eprintln!("Statement failed, SQLSTATE = {}", error.sql_state());
                    eprintln!("{}", error.message());
                    eprintln!("At line {}", statement.line);
                    return Ok(false);
                }
                Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    std::process::exit(0);
                }
                Err(Failure::Output(error)) => return Err(error.into()),
            }
        }
        self.terminator = statements.terminator().to_owned();
        Ok(true)
    }

    /// Commits what is open, or rolls it back.
    pub(super) fn finish(mut self, commit: bool) -> Result<(), Error> {
        if commit { self.script.commit() } else { self.script.rollback() }
    }

    fn run_statement(&mut self, sql: &str) -> Result<(), Failure> {
        let words: Vec<String> = sql.split_whitespace().take(4).map(str::to_uppercase).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] => Ok(()),
            ["SET", "AUTODDL", rest @ ..] => {
                self.script.commit_definitions(!matches!(rest, ["OFF"]));
                Ok(())
            }
            ["SHOW", "TABLES", ..] => print(self.format, self.script.query(SHOW_TABLES, ())?),
            ["SHOW", "TABLE", name] => print(self.format, self.script.query(SHOW_TABLE, (*name,))?),
            _ => print(self.format, self.script.query(sql, ())?),
        }
    }
}

/// Prints the rows of a statement, if it is one that has any.
fn print(format: Format, rows: Rows<'_>) -> Result<(), Failure> {
    let headings: Vec<Heading> = rows
        .columns()
        .map(|column| Heading { name: column.name().to_owned(), sql_type: column.sql_type() })
        .collect();
    if headings.is_empty() {
        return Ok(());
    }
    let mut printer = Printer::new(format, &headings, io::stdout().lock());
    for row in rows {
        let row = row?;
        printer.row(row.values(), cells(&row)?)?;
    }
    let count = printer.finish()?;
    if format == Format::Table {
        eprintln!("({count} row{})", if count == 1 { "" } else { "s" });
    }
    Ok(())
}

/// The texts of a row's values; BLOBs by their contents.
fn cells(row: &Row<'_>) -> Result<Vec<Cell>, Failure> {
    let cell = |(index, value): (usize, &Value)| match value {
        Value::Null => Ok(None),
        Value::Blob(_) => blob_text(row, index).map(Some),
        other => Ok(Some(to_display_text(other))),
    };
    row.values().iter().enumerate().map(cell).collect()
}

fn blob_text(row: &Row<'_>, index: usize) -> Result<String, Failure> {
    let mut blob = row.open_blob(index)?;
    let mut bytes = Vec::new();
    blob.by_ref().take(BLOB_BYTES_SHOWN).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    if blob.len() > BLOB_BYTES_SHOWN {
        text.push_str(&format!(" ... ({} bytes)", blob.len()));
    }
    Ok(text)
}
