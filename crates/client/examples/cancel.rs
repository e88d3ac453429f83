//! Stops a statement that takes too long, from another thread. Its transaction goes on.

mod common;

use std::thread;
use std::time::{Duration, Instant};

use farbird_client::{Result, isc};

const SLOW: &str = "execute block as declare n bigint = 0; begin while (n < 100000000000) do n = n + 1; end";

fn main() -> Result<()> {
    let connection = common::attach()?;
    let canceller = connection.canceller();
    let watch = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        canceller.cancel()
    });
    let transaction = connection.begin(&Default::default())?;
    let begin = Instant::now();
    match connection.run(&transaction, SLOW) {
        Err(error) if error.has(isc::CANCELLED) => println!("cancelled after {:.1?}", begin.elapsed()),
        other => println!("not cancelled: {other:?}"),
    }
    watch.join().expect("the thread does not panic")?;
    let select = connection.prepare(&transaction, "select 'goes on' from rdb$database")?;
    let row = connection.execute(&transaction, &select, ())?.expect("there is one row");
    println!("the transaction {}", row.get::<&str>(0)?);
    connection.commit(transaction)?;
    connection.close()
}
