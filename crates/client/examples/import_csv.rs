//! Imports a CSV file (numbers and names, without quotes): `import_csv FILE`, or three lines of its own.

mod common;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines: Box<dyn BufRead> = match std::env::args().nth(1) {
        Some(file) => Box::new(BufReader::new(File::open(file)?)),
        None => Box::new(Cursor::new("1,bread\n2,butter\n2,another with the same number\n")),
    };
    let connection = common::attach()?;
    common::run(&connection, &["recreate table example_import (id integer primary key, name varchar(80))"])?;
    let transaction = connection.begin(&Default::default())?;
    let insert = connection.prepare(&transaction, "insert into example_import values (?, ?)")?;
    let mut bulk = connection.bulk(&transaction, &insert)?;
    for line in lines.lines() {
        let line = line?;
        let (id, name) = line.split_once(',').ok_or_else(|| format!("no comma in {line:?}"))?;
        // An empty field is NULL.
        bulk.add((id.parse::<i32>()?, Some(name).filter(|name| !name.is_empty())))?;
    }
    let outcome = bulk.finish()?;
    for (row, error) in &outcome.failures {
        eprintln!("line {}: {error}", row + 1);
    }
    connection.commit(transaction)?;
    println!("{} of {} lines imported", outcome.executed - outcome.failed, outcome.executed);
    connection.close()?;
    Ok(())
}
