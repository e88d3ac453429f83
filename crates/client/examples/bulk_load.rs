//! Loads many rows: by a batch, or by a pipeline of executions where the server knows no batches (before Firebird 4).

mod common;

use std::time::Instant;

use farbird_client::Result;

const ROWS: i64 = 100_000;

fn main() -> Result<()> {
    let connection = common::attach()?;
    common::run(
        &connection,
        &["recreate table example_load (id bigint, name varchar(40), price double precision)"],
    )?;

    let begin = Instant::now();
    let before = connection.counters();
    let transaction = connection.begin(&Default::default())?;
    let insert = connection.prepare(&transaction, "insert into example_load values (?, ?, ?)")?;
    let mut bulk = connection.bulk(&transaction, &insert)?;
    for id in 0..ROWS {
        bulk.add((id, format!("article {id}"), id as f64 / 100.0))?;
    }
    // Rows that fail do not keep the others from being executed; whoever wants all or nothing rolls back.
    let outcome = bulk.finish()?;
    for (row, error) in &outcome.failures {
        eprintln!("row {row}: {error}");
    }
    connection.commit(transaction)?;

    let seconds = begin.elapsed().as_secs_f64();
    let trips = (connection.counters() - before).round_trips;
    println!("{} rows in {seconds:.2} s, {trips} round trips", outcome.executed - outcome.failed);
    connection.close()
}
