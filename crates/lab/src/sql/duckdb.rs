//! DuckDB, the mark of what is possible, through its Python package.
//!
//! A Python runs a short program ([`PROGRAM`]) that reads statements from its standard input and writes rows to its standard
//! output: no library is needed to build this. What takes too long is ended with its process, and another one opens the same
//! file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use super::answer::Answer;
use super::guard::{Patience, guarded};
use super::postgres::write_line;
use super::side::{Client, Dialect, Rows, Side, TableDefinition};
use crate::{Failure, Result};

/// What a Python runs: a statement a line, as JSON; a line of JSON for each.
const PROGRAM: &str = include_str!("../../data/duckdb_side.py");

/// DuckDB with a database file made for the benchmark.
pub struct DuckDbSide {
    program: PathBuf,
    /// Where its file and what it loads stand.
    folder: PathBuf,
    process: Process,
    name: String,
}

/// A running DuckDB.
struct Process {
    /// Ended by the thread that watches the time.
    child: Mutex<Child>,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

/// A line of its output.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Rows { rows: Vec<Vec<Option<String>>> },
    Error { error: String },
}

impl DuckDbSide {
    /// Starts a program, a Python with the package duckdb, on a new file in a folder.
    ///
    /// # Errors
    /// It does not start, or has no DuckDB.
    pub fn create(program: &Path, folder: &Path) -> Result<DuckDbSide> {
        let process = start(program, folder)?;
        let mut side = DuckDbSide {
            program: program.to_owned(),
            folder: folder.to_owned(),
            process,
            name: String::new(),
        };
        let version = side.process.ask("select version()")?;
        side.name = format!("DuckDB {}", version.first_row().trim_start_matches('v'));
        Ok(side)
    }

    fn ask(&mut self, sql: &str, patience: &Patience<'_>) -> Result<(Answer, Duration)> {
        let Process { child, input, output } = &mut self.process;
        let cancel = || kill(child);
        let done = guarded(patience, &cancel, || ask(input, output, sql));
        if let Err(Failure::TimedOut(_)) = done {
            self.process.end();
            self.process = start(&self.program, &self.folder)?;
        }
        done
    }

    fn forever(&mut self, sql: &str) -> Result<Answer> {
        self.process.ask(sql)
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("bench.duckdb")
}

fn start(program: &Path, folder: &Path) -> Result<Process> {
    let mut child = Command::new(program)
        .args(["-c", PROGRAM])
        .arg(file(folder))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::Other(format!("cannot run {}: {error}", program.display())))?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(Failure::Other("DuckDB's process has no pipes".to_owned()));
    };
    Ok(Process { child: Mutex::new(child), input, output: BufReader::new(output) })
}

fn kill(child: &Mutex<Child>) {
    // One that has ended cannot be ended.
    let _ = child.lock().unwrap_or_else(PoisonError::into_inner).kill();
}

fn ask(input: &mut ChildStdin, output: &mut BufReader<ChildStdout>, sql: &str) -> Result<Answer> {
    let mut line = json_text(sql);
    line.push('\n');
    input.write_all(line.as_bytes())?;
    input.flush()?;
    line.clear();
    if output.read_line(&mut line)? == 0 {
        return Err(Failure::Other(
            "DuckDB's process has ended: is there a Python with the package duckdb?".to_owned(),
        ));
    }
    let reply = serde_json::from_str(&line).map_err(|error| Failure::Other(format!("{error}: {line}")))?;
    match reply {
        Reply::Error { error } => Err(Failure::Other(error)),
        Reply::Rows { rows } => {
            let mut answer = Answer::default();
            rows.into_iter().for_each(|row| answer.push(row));
            Ok(answer)
        }
    }
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Process {
    fn ask(&mut self, sql: &str) -> Result<Answer> {
        ask(&mut self.input, &mut self.output, sql)
    }

    fn end(&mut self) {
        kill(&self.child);
        let _ = self.child.lock().unwrap_or_else(PoisonError::into_inner).wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

impl Side for DuckDbSide {
    fn name(&self) -> &str {
        &self.name
    }

    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    fn about(&mut self) -> Result<String> {
        let settings = self.forever("select current_setting('threads'), current_setting('memory_limit')")?;
        let mut about = format!("{} in a process of its own", self.name);
        // Writing to a String cannot fail.
        let _ = write!(about, ", threads and memory: {}; no indexes", settings.first_row());
        Ok(about)
    }

    fn run(&mut self, sql: &str, patience: &Patience<'_>) -> Result<Duration> {
        Ok(self.ask(sql, patience)?.1)
    }

    fn answer(&mut self, sql: &str, patience: &Patience<'_>) -> Result<(Answer, Duration)> {
        self.ask(sql, patience)
    }

    fn load(&mut self, table: &TableDefinition, rows: &Rows<'_>) -> Result<()> {
        let path = self.folder.join("load.tsv");
        let mut writer = BufWriter::new(File::create(&path)?);
        let mut line = String::new();
        rows(&mut |row| {
            line.clear();
            write_line(row, &mut line);
            Ok(writer.write_all(line.as_bytes())?)
        })?;
        writer.flush()?;
        if writer.get_ref().metadata()?.len() == 0 {
            // Nothing can be said of the form of an empty file.
            return Ok(std::fs::remove_file(path)?);
        }
        let loaded = self.forever(&format!(
            "copy {} from '{}' (format csv, header false, delimiter '\t', quote '', escape '', nullstr '\\N')",
            table.name,
            path.display().to_string().replace('\'', "''"),
        ));
        std::fs::remove_file(path)?;
        loaded.map(|_| ())
    }

    fn settle(&mut self) -> Result<()> {
        self.forever("checkpoint").map(|_| ())
    }

    fn connect(&self) -> Result<Option<Box<dyn Client>>> {
        Ok(None)
    }

    fn remove(mut self: Box<Self>) -> Result<()> {
        self.process.end();
        for name in ["bench.duckdb", "bench.duckdb.wal"] {
            match std::fs::remove_file(self.folder.join(name)) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}
