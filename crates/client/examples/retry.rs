//! A job that tries again when another transaction was quicker: four threads that add to the same account.

mod common;

use std::num::NonZeroU32;
use std::thread;

use farbird_client::{Isolation, Result, TransactionOptions, Wait};

const THREADS: i64 = 4;
const DEPOSITS: i64 = 25;
const ATTEMPTS_MAX: NonZeroU32 = NonZeroU32::MAX;

/// One deposit; whoever loses against another transaction begins anew, with a new snapshot. Gives the number of attempts.
fn deposit(connection: &farbird_client::blocking::Connection, amount: i64) -> Result<u32> {
    let options =
        TransactionOptions { isolation: Isolation::Snapshot, wait: Wait::Forever, ..Default::default() };
    let mut attempts = 0;
    connection.in_transaction(&options, ATTEMPTS_MAX, |transaction| {
        attempts += 1;
        let update = "update example_account set balance = balance + ?";
        let update = connection.prepare_cached(transaction, update)?;
        connection.execute(transaction, &update, (amount,))
    })?;
    Ok(attempts)
}

fn main() -> Result<()> {
    let connection = common::attach()?;
    common::run(&connection, &["recreate table example_account (balance bigint)"])?;
    common::run(&connection, &["insert into example_account values (0)"])?;
    let workers = (0..THREADS).map(|_| {
        thread::spawn(|| -> Result<u32> {
            let connection = common::attach()?;
            (0..DEPOSITS).map(|_| deposit(&connection, 10)).sum()
        })
    });
    let workers: Vec<_> = workers.collect();
    let mut attempts = 0;
    for worker in workers {
        attempts += worker.join().expect("the thread does not panic")?;
    }
    let transaction = connection.begin(&Default::default())?;
    let select = connection.prepare(&transaction, "select balance from example_account")?;
    let row = connection.execute(&transaction, &select, ())?.expect("there is one row");
    let balance: i64 = row.get(0)?;
    println!("balance {balance} after {attempts} attempts for {} deposits", THREADS * DEPOSITS);
    connection.commit(transaction)?;
    connection.close()
}
