//! Writes and reads a BLOB as a stream: it is never whole in memory.

mod common;

use std::io::{self, Read, Write};

use farbird_client::{BlobId, BlobOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let connection = common::attach()?;
    common::run(&connection, &["recreate table example_file (name varchar(255), contents blob)"])?;
    let transaction = connection.begin(&Default::default())?;

    // Any reader: a file, a socket, or forty megabytes of nothing.
    let mut source = io::repeat(7).take(40 * 1024 * 1024);
    let mut writer = connection.create_blob(&transaction, BlobOptions::default())?;
    io::copy(&mut source, &mut writer)?;
    writer.flush()?;
    let contents = writer.finish()?;
    let insert = connection.prepare(&transaction, "insert into example_file values (?, ?)")?;
    connection.execute(&transaction, &insert, ("nothing.bin", contents))?;

    let select = connection.prepare(&transaction, "select name, contents from example_file")?;
    for row in connection.query(&transaction, &select, ())? {
        let row = row?;
        let (name, contents): (&str, BlobId) = row.convert()?;
        let mut reader = connection.open_blob(&transaction, contents)?;
        let bytes = io::copy(&mut reader, &mut io::sink())?;
        println!("{name}: {bytes} bytes");
    }
    connection.commit(transaction)?;
    connection.close()?;
    Ok(())
}
