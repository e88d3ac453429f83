//! Queries side by side on one asynchronous connection: what is asked together travels together.

mod common;

use farbird_client::{Connection, Result, Transaction};

const TEXTS: [&str; 3] = [
    "select count(*) from rdb$relations",
    "select count(*) from rdb$relation_fields",
    "select count(*) from rdb$indices",
];

/// Prepares a text and gives its number: as any part of a program would that knows nothing of the others.
async fn number(connection: &Connection, transaction: &Transaction, text: &str) -> Result<i64> {
    let statement = connection.prepare(transaction, text).await?;
    let row = connection.execute(transaction, &statement, ()).await?;
    row.expect("an aggregate gives one row").get(0)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let connection = common::attach_async().await?;
    let transaction = connection.begin(&Default::default()).await?;

    let before = connection.counters();
    for text in TEXTS {
        number(&connection, &transaction, text).await?;
    }
    println!("one after the other: {} round trips", (connection.counters() - before).round_trips);

    let before = connection.counters();
    let [tables, columns, indices] = TEXTS.map(|text| number(&connection, &transaction, text));
    let (tables, columns, indices) = tokio::try_join!(tables, columns, indices)?;
    println!("{tables} tables, {columns} columns, {indices} indices");
    println!("side by side: {} round trips", (connection.counters() - before).round_trips);

    connection.commit(transaction).await?;
    connection.close().await
}
