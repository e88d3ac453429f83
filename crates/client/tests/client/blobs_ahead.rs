//! BLOBs asked for ahead of their readers: how few round trips they take, and that each reader gets its own.

use std::io::Read;
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::virtual_clock::{VirtualClock, VirtualLink};
use farbird_client::{BlobId, BlobOptions, ConnectOptions, Error, Transaction, Tuning, Value};

use crate::ahead::{compressed, trips};
use crate::servers::{TestServer, all, begin, run};

/// A text of so many bytes, as compressible as texts are, and no other like it.
fn text(number: u64, bytes: usize) -> Vec<u8> {
    let mut random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = Vec::with_capacity(bytes + 16);
    while text.len() < bytes {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let words: [&[u8]; 4] = [b"select ", b"firebird ", b"latency ", b"of "];
        text.extend_from_slice(words[(random % 4) as usize]);
        text.extend_from_slice(format!("{:x} ", random % 4093).as_bytes());
    }
    text.truncate(bytes);
    text
}

/// Sizes as texts have them: half of them below 8 KB, a third above 16 KB, some of 100 KB.
fn size_of_any(number: u64) -> usize {
    let number = number as usize;
    match number % 12 {
        0..6 => 500 + number * 37 % 7_500,
        6..8 => 8_000 + number * 41 % 8_000,
        8..11 => 16_000 + number * 97 % 24_000,
        _ if number % 60 == 11 => 100_000 + number % 1_000,
        _ => 40_000 + number * 89 % 20_000,
    }
}

fn size_of_short(number: u64) -> usize {
    500 + number as usize * 37 % 5_800
}

fn fill(connection: &Connection, contents: impl Iterator<Item = Option<Vec<u8>>>) {
    run(connection, &["create table t (id integer not null primary key, b blob)"]);
    let transaction = begin(connection);
    let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
    for (id, contents) in (0..).zip(contents) {
        let blob = contents.map(|contents| connection.write_blob(&transaction, &contents).unwrap());
        let blob = blob.map_or(Value::Null, Value::Blob);
        connection.execute(&transaction, &insert, &[Value::integer(id), blob]).unwrap();
    }
    drop(insert);
    connection.commit(transaction).unwrap();
}

fn blob(value: &Value) -> BlobId {
    let Value::Blob(id) = value else { panic!("{value:?}") };
    *id
}

/// Reads the table, each BLOB with its row; gives the cost.
fn read_all(connection: &Connection, wanted: impl Fn(u64) -> Option<Vec<u8>>) -> u64 {
    let transaction = connection.begin(&Default::default()).unwrap();
    let statement = connection.prepare(&transaction, "select id, b from t order by id").unwrap();
    let (cost, ()) = trips(connection, || {
        for (row, number) in connection.query(&transaction, &statement, &[]).unwrap().zip(0..) {
            let row = row.unwrap();
            let read = match row.value(1).unwrap() {
                Value::Null => None,
                value => Some(connection.read_blob(&transaction, blob(&value)).unwrap()),
            };
            assert!(read == wanted(number), "BLOB {number}");
        }
    });
    drop(statement);
    connection.commit(transaction).unwrap();
    cost
}

#[test]
fn a_thousand_short_ones_take_four_round_trips_with_their_rows() {
    for place in all() {
        let connection = place.create_with(&compressed(&place));
        let of = |number| Some(text(number, size_of_short(number)));
        fill(&connection, (0..1000).map(of));
        let cost = read_all(&connection, of);
        let most = if connection.version().has_inline_blobs() { 4 } else { 12 };
        assert!(cost <= most, "{cost}");
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_thousand_of_any_size_take_a_handful_of_round_trips() {
    for place in all() {
        let connection = place.create_with(&compressed(&place));
        let of = |number| Some(text(number, size_of_any(number)));
        fill(&connection, (0..1000).map(of));
        let cost = read_all(&connection, of);
        let most = if place.is_own() { 12 } else { 20 };
        assert!(cost <= most, "{cost}");
        connection.drop_database().unwrap();
    }
}

/// The same by the asynchronous face over a long line, where nothing is here before its time: round trips that are waited
/// for, and flights, which are what counters call round trips.
#[test]
fn the_same_holds_over_a_long_line() {
    let round_trip = Duration::from_millis(100);
    for place in all() {
        let location = place.location();
        let of = |number| Some(text(number, size_of_any(number)));
        let near = place.create_at(&location);
        fill(&near, (0..1000).map(of));
        for bits_per_second in [None, Some(35_000_000)] {
            let link = VirtualLink { round_trip, bits_per_second };
            let (mut clock, connection) = VirtualClock::attach(&location, &compressed(&place), link).unwrap();
            let transaction = clock.run(connection.begin(&Default::default())).unwrap();
            let statement = "select id, b from t order by id";
            let statement = clock.run(connection.prepare(&transaction, statement)).unwrap();
            let (read, cost) = clock.cost(async {
                let mut cursor = connection.query(&transaction, &statement, &[]).await?;
                let mut number = 0;
                while let Some(row) = cursor.next().await? {
                    let contents = connection.read_blob(&transaction, blob(&row.value(1)?)).await?;
                    assert!(Some(contents) == of(number), "BLOB {number}");
                    number += 1;
                }
                Ok::<_, Error>(number)
            });
            assert_eq!(read.unwrap(), 1000);
            // Measured: 4 and 10; the figures to reach are 12 and 20.
            let most = if place.is_own() { 6 } else { 12 };
            assert!(cost.flights <= most, "{cost:?}");
            if bits_per_second.is_none() {
                assert!(cost.round_trips <= most, "{cost:?}");
            }
            drop((statement, transaction));
            clock.run(connection.close()).unwrap();
        }
        near.drop_database().unwrap();
    }
}

/// NULL, nothing, a byte, and everything around the sizes of pieces and segments.
fn odd(number: u64) -> Option<Vec<u8>> {
    let sizes = [0, 1, 31_999, 32_000, 65_533, 65_534, 70_000, 131_066, 131_070, 131_072, 200_000, 1_000_000];
    let index = (number % 13) as usize;
    sizes.get(index).map(|size| text(number, *size))
}

fn without_inline(place: &TestServer) -> ConnectOptions {
    ConnectOptions { tuning: Tuning::default().inline_blobs(false), ..place.options.clone() }
}

#[test]
fn odd_ones_come_as_they_were_written() {
    for place in all() {
        for options in [place.options.clone(), without_inline(&place)] {
            let connection = place.create_with(&options);
            fill(&connection, (0..40).map(odd));
            read_all(&connection, odd);
            connection.drop_database().unwrap();
        }
    }
}

#[test]
fn ids_collected_first_are_read_in_one_flight() {
    for place in all() {
        for options in [place.options.clone(), without_inline(&place)] {
            let connection = place.create_with(&options);
            let of = |number| Some(text(number, size_of_short(number)));
            fill(&connection, (0..200).map(of));
            let transaction = begin(&connection);
            let rows = connection.query_all(&transaction, "select b from t order by id").unwrap();
            let ids: Vec<_> = rows.iter().map(|row| blob(&row[0])).collect();
            let is_inline = connection.version().has_inline_blobs() && options.tuning.inline_blobs;
            let (cost, read) = trips(&connection, || connection.read_blobs(&transaction, &ids).unwrap());
            assert_eq!(cost, u64::from(!is_inline));
            assert!(read.iter().zip(0..).all(|(read, number)| Some(read) == of(number).as_ref()));
            // A second time they are certainly on the server; one by one is as good, since they stand in a row.
            let (cost, _) = trips(&connection, || {
                for (id, number) in ids.iter().zip(0..) {
                    assert!(Some(connection.read_blob(&transaction, *id).unwrap()) == of(number));
                }
            });
            assert!(cost <= if is_inline { 6 } else { 200 }, "{cost}");
            assert!(connection.read_blobs(&transaction, &[]).unwrap().is_empty());
            connection.commit(transaction).unwrap();
            connection.drop_database().unwrap();
        }
    }
}

/// A BLOB that is gone is told to its reader, and nobody else gets or misses a byte because of it.
#[test]
fn one_that_cannot_be_opened_disturbs_no_other() {
    for place in all() {
        let connection = place.create_with(&without_inline(&place));
        let of = |number| Some(text(number, 300_000));
        fill(&connection, (0..6).map(of));
        let transaction = begin(&connection);
        let rows = connection.query_all(&transaction, "select b from t order by id").unwrap();
        let mut ids: Vec<_> = rows.iter().map(|row| blob(&row[0])).collect();
        let bad = BlobId(0x7700_0000_0077);
        // In the middle of another.
        let mut reader = connection.open_blob(&transaction, ids[0]).unwrap();
        let mut read = vec![0; 10];
        reader.read_exact(&mut read).unwrap();
        connection.open_blob(&transaction, bad).unwrap_err();
        reader.read_to_end(&mut read).unwrap();
        assert!(Some(&read) == of(0).as_ref(), "{} bytes", read.len());
        drop(reader);
        // Among those asked for ahead.
        ids.insert(3, bad);
        connection.read_blobs(&transaction, &ids).unwrap_err();
        let good = [&ids[..3], &ids[4..]].concat();
        let read = connection.read_blobs(&transaction, &good).unwrap();
        assert!(read.iter().zip(0..).all(|(read, number)| Some(read) == of(number).as_ref()));
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn what_was_asked_ahead_ends_with_its_transaction() {
    for place in all() {
        let connection = place.create_with(&without_inline(&place));
        let of = |number| Some(text(number, 5_000));
        fill(&connection, (0..300).map(of));
        let statement = {
            let transaction = begin(&connection);
            connection.prepare(&transaction, "select id, b from t order by id").unwrap()
        };
        let first = |transaction: &Transaction| {
            let mut cursor = connection.query(transaction, &statement, &[]).unwrap();
            let id = blob(&cursor.next().unwrap().unwrap().value(1).unwrap());
            assert!(Some(connection.read_blob(transaction, id).unwrap()) == of(0));
            id
        };
        for step in 0..4 {
            let transaction = connection.begin(&Default::default()).unwrap();
            let id = first(&transaction);
            match step {
                0 => connection.commit(transaction).unwrap(),
                1 => connection.rollback(transaction).unwrap(),
                2 => connection.run(&transaction, "commit").unwrap(),
                _ => drop(transaction),
            }
            // The next one has the handle of this one, and its own BLOBs.
            let transaction = connection.begin(&Default::default()).unwrap();
            assert!(Some(connection.read_blob(&transaction, id).unwrap()) == of(0));
        }
        drop(statement);
        connection.drop_database().unwrap();
    }
}

/// Results of expressions are temporary BLOBs, whose ids servers use again.
#[test]
fn temporary_ones_are_each_rows_own() {
    for place in all() {
        for options in [place.options.clone(), without_inline(&place)] {
            let connection = place.create_with(&options);
            let transaction = begin(&connection);
            let query = "execute block returns (n integer, b blob sub_type text) as begin n = 0; \
                         while (n < 300) do begin n = n + 1; b = cast('text ' as blob sub_type text) || n; suspend; \
                         end end";
            let statement = connection.prepare(&transaction, query).unwrap();
            for step in [1, 7] {
                let cursor = connection.query(&transaction, &statement, &[]).unwrap();
                for (row, n) in cursor.zip(1..).step_by(step) {
                    let row = row.unwrap();
                    let contents = connection.read_blob(&transaction, blob(&row.value(1).unwrap())).unwrap();
                    assert_eq!(String::from_utf8_lossy(&contents), format!("text {n}"));
                }
            }
            drop(statement);
            connection.commit(transaction).unwrap();
            connection.drop_database().unwrap();
        }
    }
}

#[test]
fn streams_and_many_segments_are_read_whole() {
    for place in all() {
        let connection = place.create_with(&without_inline(&place));
        run(&connection, &["create table t (b blob)"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
        let wanted = text(1, 180_000);
        for stream in [true, false] {
            let mut writer = connection.create_blob(&transaction, BlobOptions { stream }).unwrap();
            writer.put(&wanted).unwrap();
            let id = writer.finish().unwrap();
            connection.execute(&transaction, &insert, &[Value::Blob(id)]).unwrap();
        }
        let rows = connection.query_all(&transaction, "select b from t").unwrap();
        for row in rows {
            assert!(connection.read_blob(&transaction, blob(&row[0])).unwrap() == wanted);
        }
        drop(insert);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

/// A program that reads few of the BLOBs of a column gets those, and is not flooded with the others.
#[test]
fn those_that_are_passed_over_do_no_harm() {
    for place in all() {
        let connection = place.create_with(&without_inline(&place));
        let of = |number| Some(text(number, 4_000));
        fill(&connection, (0..1000).map(of));
        let transaction = begin(&connection);
        let statement = connection.prepare(&transaction, "select id, b from t order by id").unwrap();
        let before = connection.counters();
        for (row, number) in connection.query(&transaction, &statement, &[]).unwrap().zip(0..).step_by(100) {
            let id = blob(&row.unwrap().value(1).unwrap());
            assert!(Some(connection.read_blob(&transaction, id).unwrap()) == of(number));
        }
        let bytes = connection.counters().in_bytes - before.in_bytes;
        assert!(bytes < 3_000_000, "{bytes}");
        drop(statement);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_statement_has_a_size_of_its_own_for_blobs_with_rows() {
    for place in all() {
        let connection = place.create();
        fill(&connection, (0..10).map(|number| Some(text(number, 1_000))));
        let transaction = begin(&connection);
        let statement = connection.prepare(&transaction, "select b from t").unwrap();
        let received = || {
            let before = connection.counters().in_bytes;
            assert_eq!(connection.query(&transaction, &statement, &[]).unwrap().count(), 10);
            connection.counters().in_bytes - before
        };
        let has_inline = connection.version().has_inline_blobs();
        assert_eq!(received() > 10_000, has_inline);
        statement.set_inline_blob_bytes(500);
        assert!(received() < 10_000);
        statement.set_inline_blob_bytes(2_000);
        assert_eq!(received() > 10_000, has_inline);
        drop(statement);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}
