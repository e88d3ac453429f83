//! What the programs read: made once for each server.

use farbird_client::TransactionOptions;
use farbird_client::blocking::Connection;

use super::super::{BlobFile, Observer, Server, blobs, fetch, go_on};
use super::{Sizes, Work};
use crate::Result;
use crate::link::LinkOptions;

/// Tables of the programs that are no other experiment's.
const TABLES: [&str; 6] = [
    "create table far_outer (id integer not null primary key, name varchar(30))",
    "create table far_one (outer_id integer, amount integer)",
    "create table far_two (outer_id integer, amount integer)",
    "create table far_written (id integer not null primary key, note varchar(40))",
    "create index far_one_outer on far_one (outer_id)",
    "create index far_two_outer on far_two (outer_id)",
];
const NAMES: [&str; 4] = ["FAR_OUTER", "FAR_ONE", "FAR_TWO", "FAR_WRITTEN"];

/// Makes the tables that these programs read, and fills them; gives whether BLOB_TEST was there already, which is used as it is.
///
/// # Errors
/// What the server says; [`crate::Failure::Interrupted`].
pub fn load(
    server: &Server,
    works: &[Work],
    sizes: &Sizes,
    files: &[BlobFile],
    observer: &mut dyn Observer,
) -> Result<bool> {
    let has_blobs = blobs::has_table(server)?;
    let connection = server.attach()?;
    for table in TABLES {
        go_on(observer)?;
        run(&connection, table)?;
    }
    run(&connection, &fill(sizes))?;
    connection.close()?;
    if works.contains(&Work::Blobs) {
        if !has_blobs {
            blobs::load(server, files, sizes.blobs, observer)?;
        }
        blobs::warm_up(server)?;
    }
    let plan = fetch_plan(works, sizes);
    fetch::load(server, &plan, observer)?;
    fetch::warm_up(server, &plan)?;
    Ok(has_blobs)
}

/// Drops what [`load`] has made, which said whether BLOB_TEST was there before.
///
/// # Errors
/// What the server says.
pub fn unload(server: &Server, has_blobs: bool) -> Result<()> {
    if !has_blobs {
        blobs::unload(server)?;
    }
    fetch::unload(server)?;
    let connection = server.attach()?;
    for name in NAMES {
        if blobs::table_exists(&connection, name)? {
            run(&connection, &format!("drop table {name}"))?;
        }
    }
    Ok(connection.close()?)
}

/// Each outer row has two rows in one table and one in the other. Keys up to the number of iterations and of point queries.
fn fill(sizes: &Sizes) -> String {
    let keys = sizes.outer.max(sizes.loops).max(sizes.points);
    format!(
        "execute block as declare k integer = 0; begin while (k < {keys}) do begin k = k + 1; \
         insert into far_outer values (:k, 'outer ' || :k); \
         insert into far_one values (:k, 1); insert into far_one values (:k, 2); \
         insert into far_two values (:k, 3); end end"
    )
}

/// The tables that `bench fetch` has as well.
pub(super) fn fetch_plan(works: &[Work], sizes: &Sizes) -> fetch::FetchPlan {
    let mut tables = Vec::new();
    if works.contains(&Work::Customers) {
        tables.push(fetch::FetchTable::Full);
    }
    if works.contains(&Work::Fetch) {
        tables.push(fetch::FetchTable::Narrow);
    }
    fetch::FetchPlan {
        rows: sizes.customers,
        narrow_rows: sizes.rows,
        tables,
        links: vec![LinkOptions::default()],
        compress: vec![false],
        encrypt: true,
        presets: Vec::new(),
    }
}

fn run(connection: &Connection, statement: &str) -> Result<()> {
    let transaction = connection.begin(&TransactionOptions::default())?;
    connection.run(&transaction, statement)?;
    Ok(connection.commit(transaction)?)
}
