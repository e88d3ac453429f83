//! `farbird export`: a table or the rows of a query into a file. Rows are written as they come.

mod csv;
mod json;
mod parquet;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use farbird_types::{Error, SqlType, Value, isc};
use indicatif::{ProgressBar, ProgressStyle};

use crate::access::{Credentials, Line};
use crate::exchange::{CsvArguments, FileFormat, PIPE, catalog_name, quoted};
use crate::session::{Attached, Blobs, Column, Failure, Opening, Session, Sink};

/// Bytes gathered before they are written.
const BUFFER_BYTES: usize = 1 << 20;
/// Rows between two moves of the progress bar.
const ROWS_PER_MOVE: u64 = 1_000;

/// Write a table, or the rows of a query, to a CSV, JSON lines or Parquet file.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a file, or a database of a server as host:name, host/port:name or inet://host:port/name.
    database: String,
    /// The table, written as in SQL: in upper case unless it is in double quotes. Left out with --query.
    #[arg(value_name = "TABLE")]
    table_or_file: String,
    /// The file; `-` is standard output.
    #[arg(required_unless_present = "query")]
    file: Option<PathBuf>,
    /// A query whose rows are written, instead of a table's.
    #[arg(long, value_name = "SQL", conflicts_with = "file")]
    query: Option<String>,
    /// The file's format; known by its name if it ends in .csv, .tsv, .jsonl, .ndjson, .json or .parquet.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// The columns to be written, in order; all of them otherwise.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", conflicts_with = "query")]
    columns: Vec<String>,
    /// Replace a file of that name.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    csv: CsvArguments,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    line: Line,
}

const EXAMPLES: &str = "\
Examples:
  farbird export app.fbd people people.csv
  farbird export localhost:app.fbd people people.parquet --columns id,name
  farbird export localhost:app.fbd --query \"select * from people where id < 100\" people.jsonl
  farbird export app.fbd people - --format csv | head

farbird import reads what this writes and gets the same values: NULL is an unquoted empty field of a CSV file, bytes are
hexadecimal digits there and in JSON, decimals keep all their digits.
Exit codes: 0 the file is whole, 2 it is not.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let (sql, file) = match (&arguments.query, &arguments.file) {
        (Some(query), _) => (query.clone(), PathBuf::from(&arguments.table_or_file)),
        (None, Some(file)) => {
            let columns: Vec<String> =
                arguments.columns.iter().map(|name| quoted(&catalog_name(name))).collect();
            let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
            (
                format!("select {columns} from {}", quoted(&catalog_name(&arguments.table_or_file))),
                file.clone(),
            )
        }
        (None, None) => bail!("which file?"),
    };
    let format = FileFormat::of(&file, arguments.format)?;
    let style = arguments.csv.style(&file)?;
    let is_pipe = file.as_os_str() == PIPE;
    if !is_pipe && !arguments.replace && file.exists() {
        bail!("{} exists; --replace takes its place", file.display());
    }
    let opening = Opening::default();
    let mut attached =
        Attached::open(&arguments.database, &arguments.credentials, &arguments.line, &opening)?;
    let out: Box<dyn Write + Send> = match is_pipe {
        true => Box::new(std::io::stdout()),
        false => Box::new(File::create(&file).with_context(|| format!("cannot write {}", file.display()))?),
    };
    let out = BufWriter::with_capacity(BUFFER_BYTES, out);
    let writer: Box<dyn RowWriter> = match format {
        FileFormat::Csv => Box::new(csv::CsvWriter::new(out, style)),
        FileFormat::Jsonl => Box::new(json::JsonWriter::new(out)),
        FileFormat::Parquet => Box::new(parquet::ParquetWriter::new(out)),
    };
    let started = Instant::now();
    let rows = attached.with(|session| export(session, &sql, writer))?;
    attached.close()?;
    let seconds = started.elapsed().as_secs_f64();
    let rate = rows as f64 / seconds.max(1e-9);
    eprintln!("exported {rows} rows to {} in {seconds:.2} s ({rate:.0} rows/s)", file.display());
    Ok(ExitCode::SUCCESS)
}

fn export(session: &mut dyn Session, sql: &str, writer: Box<dyn RowWriter>) -> anyhow::Result<u64> {
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template("{msg} {pos} rows {per_sec} {elapsed}")?);
    let mut sink = FileSink { writer, columns: Vec::new(), contents: Vec::new(), rows: 0, bar };
    let result = session.run(sql, &[], false, &mut sink);
    sink.bar.finish_and_clear();
    match result {
        Ok(_) if sink.columns.is_empty() => bail!("the statement gives no rows"),
        Ok(_) => {}
        Err(Failure::Statement(error)) => bail!("{}", error.message()),
        // Whoever reads the pipe has seen enough.
        Err(Failure::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            std::process::exit(0)
        }
        Err(other) => return Err(other.into()),
    }
    sink.writer.finish().context("cannot write the file")?;
    Ok(sink.rows)
}

/// Writes rows in a format.
trait RowWriter {
    /// Before the first row.
    fn begin(&mut self, columns: &[Column]) -> std::io::Result<()>;

    /// A row; `contents` has the contents of BLOBs in their places.
    fn row(
        &mut self,
        columns: &[Column],
        values: &[Value],
        contents: &mut [Option<Vec<u8>>],
    ) -> std::io::Result<()>;

    /// Behind the last row.
    fn finish(&mut self) -> std::io::Result<()>;
}

/// Hands rows with their BLOBs to a writer.
struct FileSink {
    writer: Box<dyn RowWriter>,
    columns: Vec<Column>,
    contents: Vec<Option<Vec<u8>>>,
    rows: u64,
    bar: ProgressBar,
}

impl Sink for FileSink {
    fn columns(&mut self, columns: &[Column]) -> Result<(), Failure> {
        self.columns = columns.to_vec();
        Ok(self.writer.begin(columns)?)
    }

    fn row(&mut self, values: &[Value], blobs: &mut dyn Blobs) -> Result<(), Failure> {
        self.contents.clear();
        for (value, column) in values.iter().zip(&self.columns) {
            self.contents.push(match value {
                Value::Blob(id) => {
                    let contents = blobs.read(*id, usize::MAX - 1)?;
                    if contents.cut {
                        return Err(Error::new(isc::IMP_EXC).and(isc::BLOBTOOBIG).into());
                    }
                    Some(in_utf8(contents.bytes, column.sql_type))
                }
                _ => None,
            });
        }
        self.writer.row(&self.columns, values, &mut self.contents)?;
        self.rows += 1;
        if self.rows.is_multiple_of(ROWS_PER_MOVE) {
            self.bar.set_position(self.rows);
        }
        Ok(())
    }
}

/// Text in UTF-8, whatever its column's character set; other contents as they are.
fn in_utf8(bytes: Vec<u8>, sql_type: SqlType) -> Vec<u8> {
    use farbird_types::CharacterSet;
    match sql_type {
        SqlType::Blob { subtype: 1, character_set, .. }
            if ![CharacterSet::UTF8, CharacterSet::NONE, CharacterSet::OCTETS].contains(&character_set) =>
        {
            character_set.decode_lossy(&bytes).into_owned().into_bytes()
        }
        _ => bytes,
    }
}
