//! SQL scripts with their recorded answers: `tests/scripts/*.sql` beside `*.out`.
//!
//! Each statement is run on a fresh database; rows, plans, affected counts and statuses are written as text and compared
//! with the record. Records were compared with those of a Firebird 4 server when they were made. Run with
//! `UPDATE_GOLDENFILES=1` to record again; the review is the diff.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution, FetchEnd, Rows,
    StatementHandle, TransactionHandle, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::users::NoUsers;
use farbird_types::error::StatusArgument;
use farbird_types::{CharacterSet, Error, Result, Value, convert, isc};

/// Rows asked for at a time: small, so that cursors rest and go on.
const FETCH_ROWS: usize = 3;

struct Session {
    attachment: Attachment,
    transaction: TransactionHandle,
}

impl Session {
    fn new(folder: &Path) -> Session {
        // What the background finds out about tables, whenever that is, changes plans.
        let options = farbird_engine::StoreOptions { background_sweep: false, ..Default::default() };
        let engine = Engine::new(options);
        let options = AttachOptions {
            user: String::from("SYSDBA"),
            role: None,
            character_set: CharacterSet::UTF8,
            dialect: 3,
            time_zone: None,
            no_database_triggers: false,
            client: ClientDescription::default(),
        };
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: true,
            dialect: 3,
        };
        let mut attachment = engine
            .create_database(&folder.join("script.fbd"), &create, options, Arc::new(NoUsers))
            .expect("a fresh database");
        let transaction =
            attachment.start_transaction(TransactionParameters::default()).expect("a transaction");
        Session { attachment, transaction }
    }

    /// Runs one statement and writes down what came of it.
    fn run(&mut self, sql: &str, out: &mut String) {
        if sql.eq_ignore_ascii_case("commit") {
            self.attachment.commit(self.transaction).expect("a commit");
            self.transaction =
                self.attachment.start_transaction(TransactionParameters::default()).expect("a transaction");
            return;
        }
        if sql.eq_ignore_ascii_case("rollback") {
            self.attachment.rollback(self.transaction).expect("a rollback");
            self.transaction =
                self.attachment.start_transaction(TransactionParameters::default()).expect("a transaction");
            return;
        }
        let handle = self.attachment.allocate_statement().expect("a statement");
        if let Err(error) = self.run_statement(handle, sql, out) {
            write_error(&error, out);
        }
        self.attachment.drop_statement(handle).expect("the statement is known");
        let is_ddl = ["create", "alter", "drop", "recreate"]
            .iter()
            .any(|word| sql.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)));
        if is_ddl {
            self.run("commit", out);
        }
    }

    fn run_statement(&mut self, handle: StatementHandle, sql: &str, out: &mut String) -> Result<()> {
        let description = self.attachment.prepare(handle, Some(self.transaction), sql, 3)?;
        if !description.plan.is_empty() {
            writeln!(out, "{}", description.plan).expect("a string takes everything");
        }
        for parameter in &description.parameters {
            writeln!(out, "? {:?}", parameter.column_type.sql_type).expect("a string takes everything");
        }
        if !description.parameters.is_empty() {
            return Ok(());
        }
        match self.attachment.execute(
            handle,
            Some(self.transaction),
            Vec::new(),
            ExecuteOptions::default(),
        )? {
            Execution::Row(Some(row)) => self.write_row(&row, out),
            Execution::CursorOpened => {
                let names: Vec<&str> =
                    description.columns.iter().map(|column| column.alias.as_str()).collect();
                writeln!(out, "[{}]", names.join(" | ")).expect("a string takes everything");
                self.write_rows(handle, names.len(), out)?;
            }
            _ => {
                let counts = self.attachment.record_counts(handle)?;
                let touched =
                    [(counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted")];
                for (count, what) in touched.into_iter().filter(|(count, _)| *count > 0) {
                    writeln!(out, "{count} {what}").expect("a string takes everything");
                }
            }
        }
        Ok(())
    }

    fn write_rows(&mut self, handle: StatementHandle, width: usize, out: &mut String) -> Result<()> {
        loop {
            let mut rows = Rows::default();
            rows.reset(width);
            let end = self.attachment.fetch(handle, FETCH_ROWS, &mut rows);
            for place in 0..rows.len() {
                let row = rows.row(place).to_vec();
                self.write_row(&row, out);
            }
            if end? == FetchEnd::EndOfCursor {
                return Ok(());
            }
        }
    }

    fn write_row(&mut self, row: &[Value], out: &mut String) {
        let values: Vec<String> = row.iter().map(|value| self.shown(value)).collect();
        writeln!(out, "{}", values.join(" | ")).expect("a string takes everything");
    }

    /// A value as text; BLOBs by their contents.
    fn shown(&mut self, value: &Value) -> String {
        match value {
            Value::Null => String::from("NULL"),
            Value::Text(text) if text.character_set() == CharacterSet::OCTETS => {
                text.bytes().iter().map(|byte| format!("{byte:02X}")).collect()
            }
            Value::Blob(id) => {
                let handle = self
                    .attachment
                    .open_blob(self.transaction, *id, Default::default())
                    .expect("the blob is there");
                let mut bytes = Vec::new();
                while self.attachment.get_segment(handle, 60_000, &mut bytes).expect("a segment")
                    != farbird_engine::SegmentRead::End
                {}
                self.attachment.close_blob(handle).expect("the blob is open");
                format!("blob '{}'", String::from_utf8_lossy(&bytes))
            }
            other => format!("'{}'", convert::to_display_text(other)),
        }
    }
}

/// A status as its symbols and arguments: what drivers look at.
fn write_error(error: &Error, out: &mut String) {
    for (place, item) in error.items().iter().enumerate() {
        let symbol = isc::CODES
            .iter()
            .find(|row| row.gds_code == item.gds_code)
            .map_or_else(|| item.gds_code.to_string(), |row| row.symbol.to_owned());
        let arguments: Vec<String> = item
            .arguments
            .iter()
            .map(|argument| match argument {
                StatusArgument::Text(text) => format!(" {text:?}"),
                StatusArgument::Number(number) => format!(" {number}"),
            })
            .collect();
        let sign = if place == 0 { '!' } else { '-' };
        writeln!(out, "{sign} {symbol}{}", arguments.concat()).expect("a string takes everything");
    }
}

fn check(name: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let script = std::fs::read_to_string(folder.join(format!("{name}.sql"))).expect("the script is there");
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let mut session = Session::new(temporary.path());
    let mut out = String::new();
    for statement in farbird_sql::split_script(&script) {
        writeln!(out, "> {}", statement.text).expect("a string takes everything");
        session.run(statement.text, &mut out);
        out.push('\n');
    }
    let record = folder.join(format!("{name}.out"));
    if std::env::var_os("UPDATE_GOLDENFILES").is_some() {
        std::fs::write(&record, out).expect("the record can be written");
        return;
    }
    let expected = std::fs::read_to_string(&record).expect("the record is there");
    assert!(out == expected, "{name} answers otherwise than recorded:\n{}", difference(&expected, &out));
}

/// The first lines that differ, with the statement they belong to.
fn difference(expected: &str, found: &str) -> String {
    let mut statement = "";
    let mut found_lines = found.lines();
    for line in expected.lines() {
        let other = found_lines.next().unwrap_or("(nothing more)");
        if line.starts_with('>') {
            statement = line;
        }
        if line != other {
            return format!("{statement}\n  recorded: {line}\n  now:      {other}");
        }
    }
    format!("{statement}\n  more than recorded: {}", found_lines.next().unwrap_or(""))
}

#[test]
fn queries() {
    check("queries");
}

#[test]
fn subqueries() {
    check("subqueries");
}

#[test]
fn rows() {
    check("rows");
}

#[test]
fn plans() {
    check("plans");
}

#[test]
fn statuses() {
    check("statuses");
}

#[test]
fn changes() {
    check("changes");
}

#[test]
fn cascades_self() {
    check("cascades-self");
}

#[test]
fn cascades_triggers() {
    check("cascades-triggers");
}

#[test]
fn cascades_tables() {
    check("cascades-tables");
}

#[test]
fn cascades_mixed() {
    check("cascades-mixed");
}

#[test]
fn computed_columns() {
    check("computed-columns");
}

#[test]
fn computed_subqueries() {
    check("computed-subqueries");
}

#[test]
fn merge_by_source() {
    check("merge-by-source");
}

#[test]
fn statuses_whole() {
    check("statuses-whole");
}

#[test]
fn domain_subqueries() {
    check("domain-subqueries");
}

#[test]
fn outer_aggregates() {
    check("outer-aggregates");
}

#[test]
fn index_sources() {
    check("index-sources");
}

#[test]
fn declared_types() {
    check("declared-types");
}

#[test]
fn update_or_insert() {
    check("update-or-insert");
}

#[test]
fn views() {
    check("views");
}

#[test]
fn parameters() {
    check("parameters");
}

#[test]
fn substring_similar() {
    check("substring-similar");
}

#[test]
fn ddl_refusals() {
    check("ddl-refusals");
}

#[test]
fn from_names() {
    check("from-names");
}

#[test]
fn grouping_columns() {
    check("grouping-columns");
}

#[test]
fn alter_character_set() {
    check("alter-character-set");
}

#[test]
fn blob_util() {
    check("blob-util");
}

#[test]
fn blobs() {
    check("blobs");
}

#[test]
fn external_functions() {
    check("external-functions");
}

#[test]
fn system_packages() {
    check("system-packages");
}

#[test]
fn packages() {
    check("packages");
}

#[test]
fn conditions_that_fail() {
    check("conditions-that-fail");
}

#[test]
fn rows_before_errors() {
    check("rows-before-errors");
}

#[test]
fn partial_indexes() {
    check("partial-indexes");
}

#[test]
fn firebird_rules() {
    check("firebird-rules");
}

#[test]
fn lateral() {
    check("lateral");
}

#[test]
fn using() {
    check("using");
}

#[test]
fn equal_expressions() {
    check("equal-expressions");
}

#[test]
fn record_version() {
    check("record-version");
}
