//! Programs that ask for much and read slowly: what nobody has asked for yet stays bounded.

use std::time::Duration;

use farbird_client::{ConnectOptions, Connection, CreateOptions, Tuning, blocking};
use tokio::runtime::Builder;

use crate::servers::{TestServer, farbird};

const READ_AHEAD: usize = 1024 * 1024;
/// The rows of one fetch, which come once they are asked for.
const ONE_FETCH: usize = 1024 * 1024;
/// What one read of a socket may bring beyond that, and the packet that is not whole yet.
const ONE_READ: usize = 256 * 1024;
/// Thirty times what may be held; with 200 MB it is the same.
const ROWS: usize = 1_000;
const ROW_BYTES: usize = 32_000;
const SERIES: &str = "execute block (n integer = ?) \
                      returns (i integer, text varchar(32000) character set octets) as begin i = 0; \
                      text = rpad(_octets '', 32000, _octets 'Farbird'); \
                      while (i < n) do begin i = i + 1; suspend; end end";

fn options(place: &TestServer) -> ConnectOptions {
    let tuning = Tuning::default().read_ahead_bytes(READ_AHEAD);
    ConnectOptions { tuning, ..place.options.clone() }
}

#[test]
fn an_asynchronous_reader_that_sleeps_holds_no_more_than_it_may() {
    let place = farbird();
    Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let create = CreateOptions::default();
        let connection = Connection::create(&place.location(), &create, &options(&place)).await.unwrap();
        let transaction = connection.begin(&Default::default()).await.unwrap();
        let statement = connection.prepare(&transaction, SERIES).await.unwrap();
        let mut rows = connection.query(&transaction, &statement, (ROWS as i64,)).await.unwrap();
        let (mut bytes, mut count, mut most) = (0, 0, 0);
        while let Some(row) = rows.next().await.unwrap() {
            bytes += row.get::<&[u8]>(1).unwrap().len();
            count += 1;
            if count % 100 == 0 {
                // The driver's task may read as much as it likes in the meantime.
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            most = most.max(connection.held_bytes());
        }
        assert_eq!((count, bytes), (ROWS, ROWS * ROW_BYTES));
        assert!(most <= READ_AHEAD + ONE_READ, "{most} bytes");
        assert!(most > ROW_BYTES, "nothing was read ahead: {most} bytes");
        drop((rows, statement, transaction));
        connection.drop_database().await.unwrap();
    });
}

#[test]
fn a_blocking_reader_between_two_results_holds_no_more_than_it_may() {
    let place = farbird();
    let connection =
        blocking::Connection::create(&place.location(), &CreateOptions::default(), &options(&place)).unwrap();
    let held = |most: &mut usize| *most = (*most).max(connection.held_bytes());
    let transaction = connection.begin(&Default::default()).unwrap();
    let [first, second] =
        connection.prepare_all(&transaction, &[SERIES, SERIES]).unwrap().try_into().unwrap();
    let mut left = connection.query(&transaction, &first, (ROWS as i64 / 2,)).unwrap();
    let mut right = connection.query(&transaction, &second, (ROWS as i64 / 2,)).unwrap();
    let (mut count, mut most) = (0, 0);
    // One of them is read much more slowly than the other.
    for row in left.by_ref() {
        row.unwrap();
        count += 1;
        held(&mut most);
        if count % 100 == 0 {
            right.next().unwrap().unwrap();
            held(&mut most);
        }
    }
    for row in right.by_ref() {
        row.unwrap();
        held(&mut most);
    }
    assert_eq!(count, ROWS / 2);
    // Rows of the one come before those of the other that are waited for.
    assert!(most <= READ_AHEAD + ONE_FETCH + ONE_READ, "{most} bytes");
    drop((left, right, first, second, transaction));
    connection.drop_database().unwrap();
}
