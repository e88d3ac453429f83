//! A program that does not take its rows: they come all the same, and wait in memory and beyond it in a file.

use std::time::Instant;

use farbird_client::TransactionOptions;
use farbird_farlink::edge::Limits;

use crate::{PATIENCE, Site};

const ROWS: i64 = 40_000;

#[test]
fn rows_of_two_cursors_that_nobody_takes_wait_in_a_file() {
    let site = Site::start();
    let connection = site.create();
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    connection.run(&transaction, "create table long_one (id integer, name varchar(100))").unwrap();
    connection.commit(transaction).unwrap();
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let fill = format!(
        "execute block as declare n integer = 0; begin while (n < {ROWS}) do begin \
         insert into long_one values (:n, lpad('', 60, 'row ' || :n)); n = n + 1; end end"
    );
    connection.run(&transaction, &fill).unwrap();
    connection.commit(transaction).unwrap();

    // Each cursor's rows take some three MiB.
    let limits = site.edge.site().limits();
    let tight = Limits { program_row_bytes: 1 << 20, edge_row_bytes: 1 << 20, ..limits };
    site.edge.site().set_limits(tight);
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let [up, down] = ["", " desc"].map(|order| {
        let query = format!("select id, name from long_one order by id{order}");
        connection.prepare(&transaction, &query).unwrap()
    });
    let mut up = connection.query(&transaction, &up, &[]).unwrap();
    let mut down = connection.query(&transaction, &down, &[]).unwrap();
    let mut next = |number: i64, place: i64| {
        for (rows, expected) in [(&mut up, number), (&mut down, ROWS - 1 - number)] {
            let row = rows.next().unwrap().unwrap().to_values();
            assert_eq!(row[0], farbird_client::Value::integer(expected), "row {place}");
            let name = format!("row {expected}").repeat(60);
            assert_eq!(row[1], farbird_client::Value::text(&name[..60]));
        }
    };
    next(0, 0);
    let end = Instant::now() + PATIENCE;
    let spilled = || site.edge.site().memory().spilled;
    while spilled().rows < 2 << 20 {
        assert!(Instant::now() < end, "{:?}", site.edge.site().memory());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    for number in 1..ROWS {
        next(number, number);
    }
    assert!(up.next().is_none() && down.next().is_none());
    drop((up, down));
    connection.commit(transaction).unwrap();
    assert_eq!(spilled().rows, 0);
    assert!(spilled().in_all >= 2 << 20 && spilled().failures == 0, "{:?}", spilled());
    drop(connection);
    site.stop();
}
