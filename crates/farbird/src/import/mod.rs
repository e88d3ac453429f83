//! `farbird import`: the rows of a file into a table.
//!
//! Rows go through the batch API of a server (through a pipeline of single executions where it has none: before Firebird
//! 4), or into the engine. What is committed is told, so that an import that ended early can go on.

mod convert;
mod csv;
mod feed;
mod infer;
mod json;
mod parquet;
mod record;

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use farbird_types::CharacterSet;
use indicatif::{ProgressBar, ProgressStyle};

use crate::access::{Credentials, Line};
use crate::exchange::{CsvArguments, CsvStyle, FileFormat, PIPE, catalog_name, quoted};
use crate::session::{Attached, Column, Failure, Opening, Session};
use convert::Target;
use feed::{Feed, OnError, Reading};
use infer::Guess;
use record::{Record, RecordReader};

/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 20;
/// Records that are looked at for types where the input can be read only once.
const RECORDS_FOR_TYPES: u64 = 100_000;

/// Put the rows of a CSV, JSON lines or Parquet file into a table.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database: a file, or a database of a server as host:name, host/port:name or inet://host:port/name.
    database: String,
    /// The table, written as in SQL: in upper case unless it is in double quotes.
    table: String,
    /// The file; `-` is standard input.
    file: PathBuf,
    /// The file's format; known by its name if it ends in .csv, .tsv, .jsonl, .ndjson, .json or .parquet.
    #[arg(long, value_enum)]
    format: Option<FileFormat>,
    /// The columns that the file's fields fill, in order. Without it the names in the file say so.
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    columns: Vec<String>,
    /// Make the table first, with types that all values of the file have.
    #[arg(long)]
    create_table: bool,
    /// What becomes of rows that the table does not take.
    #[arg(long, value_enum, default_value_t = OnRefusal::Stop, value_name = "WHAT")]
    on_error: OnRefusal,
    /// Where refused rows are written, with --on-error skip.
    #[arg(long, value_name = "FILE")]
    rejects: Option<PathBuf>,
    /// Commit after so many rows; else all rows are one transaction.
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    commit_every: Option<u64>,
    /// Pass over so many rows of the file first: those that an earlier import has committed.
    #[arg(long, value_name = "ROWS", default_value_t = 0)]
    skip: u64,
    #[command(flatten)]
    csv: CsvArguments,
    #[command(flatten)]
    credentials: Credentials,
    #[command(flatten)]
    line: Line,
}

/// What becomes of rows that the table does not take.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnRefusal {
    /// The first one ends the import; what was not committed is undone.
    Stop,
    /// They are left out.
    Skip,
}

const EXAMPLES: &str = "\
Examples:
  farbird import app.fbd people people.csv
  farbird import localhost:app.fbd people people.parquet --create-table
  farbird import db/3051:app people - --format jsonl < people.jsonl
  farbird import app.fbd people people.csv --columns id,name --no-header --delimiter ';' --encoding WIN1250
  farbird import app.fbd people people.csv --on-error skip --rejects refused.csv --commit-every 100000

An unquoted empty field of a CSV file is NULL, \"\" is an empty text. Bytes are hexadecimal digits.
Exit codes: 0 all rows are in, 1 some were refused and left out, 2 the import ended early.";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let format = FileFormat::of(&arguments.file, arguments.format)?;
    if arguments.rejects.is_some() && arguments.on_error == OnRefusal::Stop {
        bail!("--rejects belongs to --on-error skip");
    }
    let input = Input { path: arguments.file.clone(), format, style: arguments.csv.style(&arguments.file)? };
    let opening = Opening::default();
    let mut attached =
        Attached::open(&arguments.database, &arguments.credentials, &arguments.line, &opening)?;
    let code = attached.with(|session| import(arguments, &input, session))?;
    attached.close()?;
    Ok(code)
}

fn import(arguments: &Arguments, input: &Input, session: &mut dyn Session) -> anyhow::Result<ExitCode> {
    let table = catalog_name(&arguments.table);
    if arguments.create_table {
        create_table(session, input, &table, &arguments.columns)?;
    }
    let bar = input.bar()?;
    let reader = input.open(&bar)?;
    let (names, fields) = targets_by_name(session, &table, reader.as_ref(), &arguments.columns)?;
    let columns: Vec<String> = names.iter().map(|(name, _)| quoted(name)).collect();
    let marks = vec!["?"; columns.len()];
    let insert =
        format!("insert into {} ({}) values ({})", quoted(&table), columns.join(", "), marks.join(", "));
    let parameters =
        session.describe(&insert).map_err(|error| anyhow::anyhow!("{}", error.message()))?.parameters;
    let targets = names
        .into_iter()
        .zip(&parameters)
        .map(|((name, field), parameter)| Target { name, sql_type: parameter.sql_type, field })
        .collect();
    let on_error = match arguments.on_error {
        OnRefusal::Stop => OnError::Stop,
        OnRefusal::Skip => OnError::Skip(rejects(arguments.rejects.as_deref(), reader.as_ref())?),
    };
    let reading = Reading {
        reader,
        targets,
        fields,
        encoding: input.encoding(),
        skip: arguments.skip,
        keeps_raw: arguments.rejects.is_some(),
    };
    let started = Instant::now();
    let mut feed = Feed::new(reading, on_error, bar.clone());
    let result = session.load(&insert, arguments.commit_every, &mut feed);
    bar.finish_and_clear();
    feed.flush().context("cannot write the file of refused rows")?;
    tell(arguments, &feed, &table, result, started.elapsed().as_secs_f64())
}

/// Says what came of it.
fn tell(
    arguments: &Arguments,
    feed: &Feed,
    table: &str,
    result: Result<(), Failure>,
    seconds: f64,
) -> anyhow::Result<ExitCode> {
    let ended = match result {
        Ok(()) => None,
        Err(Failure::Enough) => Some(feed.stopped.clone().unwrap_or_default()),
        Err(Failure::Statement(error)) => Some(error.message()),
        Err(Failure::Output(error)) => Some(error.to_string()),
    };
    if let Some(why) = ended {
        let outcome = match feed.committed {
            0 => "no row was imported".to_owned(),
            rows => format!(
                "{rows} rows are committed; --skip {} goes on behind them",
                feed.committed_records.max(arguments.skip)
            ),
        };
        bail!("{why}\n{outcome}");
    }
    let rate = feed.committed as f64 / seconds.max(1e-9);
    let refused = if feed.refused > 0 { format!(", {} refused", feed.refused) } else { String::new() };
    eprintln!("imported {} rows into {table} in {seconds:.2} s ({rate:.0} rows/s){refused}", feed.committed);
    Ok(if feed.refused > 0 { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The file of refused rows, begun with the file's own header.
fn rejects(path: Option<&Path>, reader: &dyn RecordReader) -> anyhow::Result<Option<Box<dyn Write>>> {
    let Some(path) = path else { return Ok(None) };
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut file = BufWriter::new(file);
    if let Some(header) = reader.header() {
        file.write_all(&header)?;
        file.write_all(b"\n")?;
    }
    Ok(Some(Box::new(file)))
}

/// Names of columns, each with the field that fills it; and how many fields a record must have.
type Chosen = (Vec<(String, usize)>, Option<usize>);

/// Which columns the file's fields fill.
fn targets_by_name(
    session: &mut dyn Session,
    table: &str,
    reader: &dyn RecordReader,
    wanted: &[String],
) -> anyhow::Result<Chosen> {
    let of_table = columns_of(session, table)?;
    let find = |name: &str| {
        let exact = of_table.iter().find(|column| column.name == name);
        let found = exact.or_else(|| of_table.iter().find(|column| column.name == catalog_name(name)));
        let found = found.or_else(|| of_table.iter().find(|column| column.name.eq_ignore_ascii_case(name)));
        found.map(|column| column.name.clone()).with_context(|| {
            let names: Vec<&str> = of_table.iter().map(|column| column.name.as_str()).collect();
            format!("{table} has no column {name:?}; it has {}", names.join(", "))
        })
    };
    let fields = reader.names().map(<[String]>::len);
    let chosen = match (reader.names(), wanted.is_empty()) {
        // Fields in the order of the columns.
        (_, false) => numbered(wanted.iter().map(|name| find(name)))?,
        (Some(names), true) => numbered(names.iter().map(|name| find(name)))?,
        (None, true) => {
            of_table.iter().enumerate().map(|(index, column)| (column.name.clone(), index)).collect()
        }
    };
    let mut seen = std::collections::HashSet::new();
    if let Some((twice, _)) = chosen.iter().find(|(name, _)| !seen.insert(name.clone())) {
        bail!("column {twice} is named twice");
    }
    let expected = fields.unwrap_or(chosen.len());
    if !wanted.is_empty() && expected != chosen.len() {
        bail!("--columns names {} columns, the file has {expected}", chosen.len());
    }
    Ok((chosen, Some(expected)))
}

fn numbered(names: impl Iterator<Item = anyhow::Result<String>>) -> anyhow::Result<Vec<(String, usize)>> {
    names.enumerate().map(|(index, name)| Ok((name?, index))).collect()
}

fn columns_of(session: &mut dyn Session, table: &str) -> anyhow::Result<Vec<Column>> {
    let described = session.describe(&format!("select * from {}", quoted(table)));
    Ok(described.map_err(|error| anyhow::anyhow!("{}", error.message()))?.columns)
}

/// Makes a table whose columns take what the file holds.
fn create_table(
    session: &mut dyn Session,
    input: &Input,
    table: &str,
    wanted: &[String],
) -> anyhow::Result<()> {
    if input.path.as_os_str() == PIPE {
        bail!("--create-table reads the file twice: standard input cannot be");
    }
    let mut reader = input.open(&ProgressBar::hidden())?;
    let mut record = Record::default();
    let mut guesses: Vec<Guess> = Vec::new();
    let mut seen = 0;
    while seen < RECORDS_FOR_TYPES || input.format != FileFormat::Parquet {
        if !reader.next_record(&mut record)? {
            break;
        }
        seen += 1;
        if guesses.len() < record.fields.len() {
            guesses.resize(record.fields.len(), Guess::default());
        }
        for (guess, field) in guesses.iter_mut().zip(&record.fields) {
            guess.see(field, &record, input.encoding());
        }
    }
    let names: Vec<String> = match (wanted.is_empty(), reader.names()) {
        (false, _) => wanted.iter().map(|name| catalog_name(name)).collect(),
        (true, Some(names)) => names.iter().map(|name| catalog_name(name.trim())).collect(),
        (true, None) => (1..=guesses.len()).map(|number| format!("COLUMN_{number}")).collect(),
    };
    if names.is_empty() {
        bail!("the file has no columns");
    }
    guesses.resize(names.len(), Guess::default());
    let columns: Vec<String> = (names.iter().zip(&guesses))
        .map(|(name, guess)| format!("{} {}", quoted(name), guess.type_name()))
        .collect();
    let create = format!("create table {} ({})", quoted(table), columns.join(", "));
    let mut nothing = NoRows;
    match session.run(&create, &[], false, &mut nothing) {
        Ok(_) => {
            eprintln!("{create}");
            Ok(session.commit()?)
        }
        Err(Failure::Statement(error)) => bail!("{create}\n{}", error.message()),
        Err(other) => Err(other.into()),
    }
}

/// For statements that give no rows.
struct NoRows;

impl crate::session::Sink for NoRows {
    fn columns(&mut self, _columns: &[Column]) -> Result<(), Failure> {
        Ok(())
    }

    fn row(
        &mut self,
        _values: &[farbird_types::Value],
        _blobs: &mut dyn crate::session::Blobs,
    ) -> Result<(), Failure> {
        Ok(())
    }
}

/// The file that is imported.
struct Input {
    path: PathBuf,
    format: FileFormat,
    style: CsvStyle,
}

impl Input {
    /// The character set of its texts.
    fn encoding(&self) -> CharacterSet {
        if self.format == FileFormat::Csv { self.style.encoding } else { CharacterSet::UTF8 }
    }

    /// A bar of its bytes, which says how many rows there were.
    fn bar(&self) -> anyhow::Result<ProgressBar> {
        let template =
            "{msg:<18} [{bar:32}] {percent:>3} % {bytes}/{total_bytes} {bytes_per_sec} (left {eta})";
        let bar = match self.path.as_os_str() == PIPE || self.format == FileFormat::Parquet {
            true => ProgressBar::no_length().with_style(ProgressStyle::with_template("{msg:<18} {elapsed}")?),
            false => {
                let length = std::fs::metadata(&self.path).map(|facts| facts.len()).unwrap_or_default();
                ProgressBar::new(length)
                    .with_style(ProgressStyle::with_template(template)?.progress_chars("=> "))
            }
        };
        Ok(bar)
    }

    /// Begins to read.
    fn open(&self, bar: &ProgressBar) -> anyhow::Result<Box<dyn RecordReader>> {
        if self.format == FileFormat::Parquet {
            if self.path.as_os_str() == PIPE {
                bail!("a Parquet file is read from its end: it must be a file");
            }
            return Ok(Box::new(parquet::ParquetReader::open(&self.path)?));
        }
        let bytes: Box<dyn Read + Send> = match self.path.as_os_str() == PIPE {
            true => Box::new(std::io::stdin()),
            false => {
                let file =
                    File::open(&self.path).with_context(|| format!("cannot read {}", self.path.display()))?;
                Box::new(bar.wrap_read(file))
            }
        };
        Ok(match self.format {
            FileFormat::Csv => Box::new(csv::CsvReader::new(bytes, self.style.clone())?),
            _ => Box::new(json::JsonReader::new(BufReader::with_capacity(BUFFER_BYTES, bytes))?),
        })
    }
}
