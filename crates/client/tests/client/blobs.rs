//! BLOBs, long and short.

use std::io::{Cursor, Read, Seek, SeekFrom, Write};
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::virtual_clock::{VirtualClock, VirtualLink};
use farbird_client::{BlobOptions, Value};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::servers::{all, begin, run};

fn insert(connection: &mut Connection, contents: &[&[u8]]) {
    run(connection, &["create table t (id integer not null primary key, b blob)"]);
    let transaction = begin(connection);
    let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
    for (id, contents) in (1..).zip(contents) {
        let blob = connection.write_blob(&transaction, contents).unwrap();
        connection.execute(&transaction, &insert, &[Value::integer(id), Value::Blob(blob)]).unwrap();
    }
    connection.commit(transaction).unwrap();
}

#[test]
fn contents_come_back_as_they_went() {
    let long: Vec<u8> = (0..1_000_000_u32).map(|i| (i / 7) as u8).collect();
    let contents: [&[u8]; 5] = [b"", b"small", &long[..32_000], &long[..64_001], &long];
    for place in all() {
        let mut connection = place.create();
        insert(&mut connection, &contents);
        let transaction = begin(&connection);
        let rows = connection.query_all(&transaction, "select b from t order by id").unwrap();
        for (row, wanted) in rows.iter().zip(contents) {
            let Value::Blob(id) = row[0] else { panic!("{row:?}") };
            let read = connection.read_blob(&transaction, id).unwrap();
            assert!(read == wanted, "{} bytes instead of {}", read.len(), wanted.len());
            // A second time it cannot have come with its row.
            assert!(connection.read_blob(&transaction, id).unwrap() == wanted);
        }
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn small_blobs_cost_no_round_trip_where_the_protocol_lets_them_travel_with_their_rows() {
    for place in all() {
        let mut connection = place.create();
        insert(&mut connection, &[b"one", b"two"]);
        let transaction = begin(&connection);
        let rows = connection.query_all(&transaction, "select b from t order by id").unwrap();
        let before = connection.counters().round_trips;
        for (row, wanted) in rows.iter().zip([b"one", b"two"]) {
            let Value::Blob(id) = row[0] else { panic!("{row:?}") };
            assert_eq!(connection.read_blob(&transaction, id).unwrap(), wanted);
        }
        let trips = connection.counters().round_trips - before;
        // Elsewhere the first brings the second along.
        assert_eq!(trips, if connection.version().has_inline_blobs() { 0 } else { 1 });
        drop(transaction);
        connection.drop_database().unwrap();
    }
}

#[test]
fn blobs_are_read_and_written_by_the_traits_of_std() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (b blob)"]);
        let transaction = begin(&connection);
        let mut writer = connection.create_blob(&transaction, BlobOptions { stream: true }).unwrap();
        for n in 0..10_000 {
            writeln!(writer, "line {n}").unwrap();
        }
        let id = writer.finish().unwrap();
        let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
        connection.execute(&transaction, &insert, &[Value::Blob(id)]).unwrap();
        // A writer that is dropped leaves nothing.
        connection.create_blob(&transaction, BlobOptions::default()).unwrap().put(b"lost").unwrap();
        let rows = connection.query_all(&transaction, "select b from t").unwrap();
        let Value::Blob(id) = rows[0][0] else { panic!("{rows:?}") };
        let mut text = String::new();
        connection.open_blob(&transaction, id).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text.lines().count(), 10_000);
        assert!(text.ends_with("line 9999\n"));
        // A reader that is dropped early leaves the connection in order.
        let mut start = [0; 6];
        connection.open_blob(&transaction, id).unwrap().read_exact(&mut start).unwrap();
        assert_eq!(&start, b"line 0");
        connection.ping().unwrap();
        drop(insert);
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn blobs_are_read_and_written_by_the_traits_of_tokio() {
    let contents: Vec<u8> = (0..3_000_000_u32).map(|number| (number / 7) as u8).collect();
    for place in all() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let location = place.location();
        let keeper = place.create_at(&location);
        run(&keeper, &["create table t (b blob)"]);
        runtime.block_on(async {
            let connection = farbird_client::Connection::attach(&location, &place.options).await.unwrap();
            let transaction = connection.begin(&Default::default()).await.unwrap();
            let mut writer = connection.create_blob(&transaction, BlobOptions::default()).await.unwrap();
            let (head, tail) = contents.split_at(1_000_001);
            assert_eq!(tokio::io::copy(&mut &*head, &mut writer).await.unwrap(), head.len() as u64);
            writer.flush().await.unwrap();
            // Both ways one after the other.
            writer.put(&tail[..100_000]).await.unwrap();
            writer.write_all(&tail[100_000..]).await.unwrap();
            writer.shutdown().await.unwrap();
            let id = writer.finish().await.unwrap();
            let insert = connection.prepare(&transaction, "insert into t values (?)").await.unwrap();
            connection.execute(&transaction, &insert, (id,)).await.unwrap();
            let rows = connection.query_all(&transaction, "select b from t").await.unwrap();
            let Value::Blob(id) = rows[0][0] else { panic!("{rows:?}") };
            let mut reader = connection.open_blob(&transaction, id).await.unwrap();
            let mut read = Vec::new();
            let mut piece = vec![0; 70_000];
            while read.len() < 1_500_000 {
                // A poll that nobody waits for any more takes nothing with it.
                let polled = poll_once(AsyncReadExt::read(&mut reader, &mut piece)).await;
                let count = match polled {
                    Some(count) => count.unwrap(),
                    None => reader.read(&mut piece).await.unwrap(),
                };
                assert!(count > 0);
                read.extend_from_slice(&piece[..count]);
            }
            AsyncReadExt::read_to_end(&mut reader, &mut read).await.unwrap();
            assert!(read == contents);
            // An error comes through as it is.
            let mut reader = connection.open_blob(&transaction, id).await.unwrap();
            connection.canceller().abort();
            let error = AsyncReadExt::read_to_end(&mut reader, &mut Vec::new()).await.unwrap_err();
            let error = error.get_ref().unwrap().downcast_ref::<farbird_client::Error>().unwrap();
            assert_eq!(error.gds_code(), farbird_types::isc::ATT_SHUTDOWN);
        });
        drop(runtime);
        keeper.close().unwrap();
        place.drop_when_alone(&location);
    }
}

/// What a future gives to the first poll.
async fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        std::task::Poll::Ready(output) => std::task::Poll::Ready(Some(output)),
        std::task::Poll::Pending => std::task::Poll::Ready(None),
    })
    .await
}

#[test]
fn ids_collected_first_take_the_trips_that_are_promised_on_the_clock() {
    let second = Duration::from_secs(1);
    for place in all() {
        let mut options = place.options.clone();
        options.tuning.inline_blobs = false;
        // What the documentation promises at most: one for each 256, and one for each that is longer than 128 KiB.
        for (count, bytes, promised) in [(256, 100, 1), (600, 1_000, 3), (5, 100_000, 1), (3, 200_000, 4)] {
            let location = place.location();
            let keeper = place.create_at(&location);
            run(&keeper, &["create table t (b blob)"]);
            let transaction = begin(&keeper);
            let insert = keeper.prepare(&transaction, "insert into t values (?)").unwrap();
            let contents: Vec<u8> = (0..bytes).map(|number: u32| (number / 7) as u8).collect();
            for _ in 0..count {
                let id = keeper.write_blob(&transaction, &contents).unwrap();
                keeper.execute(&transaction, &insert, (id,)).unwrap();
            }
            drop(insert);
            keeper.commit(transaction).unwrap();
            let (mut clock, connection) =
                VirtualClock::attach(&location, &options, VirtualLink::of_round_trip(second)).unwrap();
            let transaction = clock.run(connection.begin(&Default::default())).unwrap();
            let rows = clock.run(connection.query_all(&transaction, "select b from t")).unwrap();
            let ids: Vec<_> = rows
                .iter()
                .map(|row| match row[0] {
                    Value::Blob(id) => id,
                    ref other => panic!("{other:?}"),
                })
                .collect();
            let (read, cost) = clock.cost(connection.read_blobs(&transaction, &ids));
            let read = read.unwrap();
            assert!(read.len() == count && read.iter().all(|blob| *blob == contents));
            assert!(cost.round_trips <= promised, "{count} of {bytes} bytes: {cost:?}");
            drop(transaction);
            clock.run(connection.close()).unwrap();
            keeper.drop_database().unwrap();
        }
    }
}

#[test]
fn readers_go_to_any_place_of_streams_and_of_segments() {
    let contents: Vec<u8> = (0..1_000_003_u32).map(|number| (number / 7) as u8).collect();
    for place in all() {
        for stream in [true, false] {
            for contents in [&contents[..], &contents[..1000]] {
                let connection = place.create();
                run(&connection, &["create table t (b blob)"]);
                let transaction = begin(&connection);
                let mut writer = connection.create_blob(&transaction, BlobOptions { stream }).unwrap();
                writer.put(contents).unwrap();
                let id = writer.finish().unwrap();
                let insert = connection.prepare(&transaction, "insert into t values (?)").unwrap();
                connection.execute(&transaction, &insert, (id,)).unwrap();
                let rows = connection.query_all(&transaction, "select b from t").unwrap();
                let Value::Blob(id) = rows[0][0] else { panic!("{rows:?}") };
                let mut reader = connection.open_blob(&transaction, id).unwrap();
                // What a slice in memory does.
                let mut slice = Cursor::new(contents);
                let length = contents.len() as u64;
                let ways = [
                    SeekFrom::Start(length / 2),
                    SeekFrom::Current(10),
                    SeekFrom::Current(-100),
                    SeekFrom::Start(0),
                    SeekFrom::End(-50),
                    SeekFrom::Start(7),
                    SeekFrom::Start(length - 200),
                    SeekFrom::Current(-40),
                    SeekFrom::End(0),
                    SeekFrom::Current(-1),
                    SeekFrom::Start(length / 3),
                ];
                for (way, bytes) in ways.into_iter().zip([1, 90, 200_000, 3].into_iter().cycle()) {
                    let at = reader.seek(way).unwrap();
                    assert_eq!(at, slice.seek(way).unwrap(), "{way:?} of {length}, stream: {stream}");
                    let (mut found, mut wanted) = (Vec::new(), Vec::new());
                    Read::take(&mut reader, bytes).read_to_end(&mut found).unwrap();
                    Read::take(&mut slice, bytes).read_to_end(&mut wanted).unwrap();
                    assert!(found == wanted, "{bytes} bytes after {way:?} of {length}, stream: {stream}");
                    assert_eq!(reader.stream_position().unwrap(), slice.position());
                }
                // Beyond the end is the end.
                for beyond in [length + 1, length + 5_000_000, u64::MAX / 2] {
                    reader.seek(SeekFrom::Start(3)).unwrap();
                    assert_eq!(reader.seek(SeekFrom::Start(beyond)).unwrap(), length, "stream: {stream}");
                    assert_eq!(reader.read(&mut [0; 10]).unwrap(), 0);
                }
                assert!(
                    reader.seek(SeekFrom::Start(1)).is_ok() && reader.seek(SeekFrom::Current(-2)).is_err()
                );
                drop((reader, insert, transaction));
                connection.drop_database().unwrap();
            }
        }
    }
}

#[test]
fn going_to_a_place_of_a_stream_takes_one_trip_on_the_clock() {
    let second = Duration::from_secs(1);
    for place in all() {
        let location = place.location();
        let keeper = place.create_at(&location);
        run(&keeper, &["create table t (b blob)"]);
        let (mut clock, connection) =
            VirtualClock::attach(&location, &place.options, VirtualLink::of_round_trip(second)).unwrap();
        let transaction = clock.run(connection.begin(&Default::default())).unwrap();
        let id = clock.run(async {
            let mut writer = connection.create_blob(&transaction, BlobOptions { stream: true }).await?;
            writer.put(&vec![7; 5_000_000]).await?;
            writer.finish().await
        });
        let mut reader = clock.run(connection.open_blob(&transaction, id.unwrap())).unwrap();
        let mut piece = [0; 100];
        let mut trips = |way| {
            let (read, cost) = clock.cost(async {
                reader.seek(way).await?;
                reader.read(&mut piece).await
            });
            assert_eq!(read.unwrap(), 100);
            cost.round_trips
        };
        let ways = [
            SeekFrom::Start(4_000_000),
            SeekFrom::Current(1000),
            SeekFrom::Start(1_000_000),
            SeekFrom::End(-1000),
        ];
        assert_eq!(ways.map(&mut trips), [1, 0, 1, 2]);
        drop((reader, transaction));
        clock.run(connection.close()).unwrap();
        keeper.drop_database().unwrap();
    }
}
