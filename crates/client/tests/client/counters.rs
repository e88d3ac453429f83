//! What is counted: for a connection, for each of its statements, and as items of information.

use farbird_client::Value;
use farbird_wire::info::{InfoReader, database};

use crate::servers::{all, begin, run};

const ONE: &str = "select 1 from rdb$database";

#[test]
fn a_statement_knows_what_it_has_cost() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer, text varchar(100))"]);
        let start = connection.counters();
        let transaction = begin(&connection);
        let texts = ["insert into t values (?, ?)", "select * from t", "select count(*) from t"];
        let [insert, select, count] =
            connection.prepare_all(&transaction, &texts).unwrap().try_into().unwrap();
        for statement in [&insert, &select, &count] {
            // Each was allocated and prepared in the same round trip.
            let counters = statement.counters();
            assert_eq!((counters.out_packets, counters.in_packets, counters.round_trips), (2, 2, 1));
        }
        let prepared = connection.counters() - start;
        assert_eq!(prepared.round_trips, 1);
        // Beside the statements nothing but the transaction's start.
        assert_eq!((prepared.out_packets, prepared.in_packets), (7, 7));
        let sum: u64 = [&insert, &select, &count].iter().map(|statement| statement.counters().in_bytes).sum();
        assert!(sum < prepared.in_bytes && sum > prepared.in_bytes - 200, "{sum} of {}", prepared.in_bytes);

        let before = (insert.counters(), select.counters());
        let mut pipeline = connection.pipeline(&transaction, &insert);
        for id in 0..100 {
            pipeline.execute(&[Value::integer(id), Value::text("a text of some length")]).unwrap();
        }
        pipeline.finish().unwrap().into_result().unwrap();
        let inserted = insert.counters() - before.0;
        assert_eq!((inserted.out_packets, inserted.in_packets, inserted.round_trips), (100, 100, 1));
        assert!(inserted.out_bytes > 100 * 40, "{inserted:?}");
        assert_eq!(select.counters(), before.1);

        // Two queries share a round trip, which counts for both.
        let start = connection.counters();
        let mut rows = connection.query(&transaction, &select, &[]).unwrap();
        let mut number = connection.query(&transaction, &count, &[]).unwrap();
        number.next().unwrap().unwrap();
        let (ours, theirs) = (select.counters() - before.1, count.counters());
        assert_eq!((ours.round_trips, theirs.round_trips), (1, 2));
        assert_eq!((connection.counters() - start).round_trips, 1);
        assert_eq!(rows.by_ref().count(), 100);
        let read = select.counters() - before.1;
        // The answer to execute, the rows, and the end behind them.
        assert!(read.in_packets >= 102 && read.in_bytes > 100 * 20, "{read:?}");
        assert_eq!(read.round_trips, 1, "{read:?}");
        drop((rows, number, insert, select, count));
        connection.commit(transaction).unwrap();
        connection.drop_database().unwrap();
    }
}

#[test]
fn blobs_are_on_the_account_of_the_statement_whose_rows_hold_them() {
    for place in all() {
        let connection = place.create();
        run(&connection, &["create table t (id integer, b blob)"]);
        let transaction = begin(&connection);
        let insert = connection.prepare(&transaction, "insert into t values (?, ?)").unwrap();
        for id in 0..20 {
            // Too long to travel with its row.
            let blob = connection.write_blob(&transaction, &[7; 100_000]).unwrap();
            connection.execute(&transaction, &insert, (id, blob)).unwrap();
        }
        let select = connection.prepare(&transaction, "select b from t order by id").unwrap();
        let other = connection.prepare(&transaction, "select b, 1 from t").unwrap();
        let (inserts, others) = (insert.counters(), other.counters());
        let (start, before) = (connection.counters(), select.counters());
        for row in connection.query(&transaction, &select, ()).unwrap() {
            let id = row.unwrap().get(0).unwrap();
            assert_eq!(connection.read_blob(&transaction, id).unwrap().len(), 100_000);
        }
        let (all, read) = (connection.counters() - start, select.counters() - before);
        assert!(read.in_bytes > 20 * 100_000, "{read:?} of {all:?}");
        assert!(read.in_packets >= 20 * 3 && read.out_packets >= 20 * 3, "{read:?}");
        // Nobody else did anything but close BLOBs.
        assert!(all.in_bytes - read.in_bytes < 20 * 100 + 1000, "{read:?} of {all:?}");
        assert_eq!(read.round_trips, all.round_trips);
        assert_eq!((insert.counters(), other.counters()), (inserts, others));
        drop((select, other, insert, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_new_statement_does_not_inherit_the_costs_of_its_number() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let first = connection.prepare(&transaction, ONE).unwrap();
        connection.execute(&transaction, &first, &[]).unwrap();
        assert!(first.counters().round_trips > 1);
        drop(first);
        let second = connection.prepare(&transaction, ONE).unwrap();
        assert_eq!((second.counters().out_packets, second.counters().round_trips), (2, 1));
        drop((second, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn wire_statistics_are_answered_on_this_side_as_by_the_client_library() {
    for place in all() {
        let connection = place.create();
        let read = |reply: &[u8]| -> Vec<(u8, i64)> {
            let items = InfoReader::new(reply).map(|item| item.unwrap());
            items.map(|item| (item.item, item.integer().unwrap())).collect()
        };
        let counters = connection.counters();
        let expected: Vec<_> =
            counters.items().iter().map(|(item, count)| (*item, i64::try_from(*count).unwrap())).collect();
        let items: Vec<u8> = (150..=158).collect();
        assert_eq!(read(&connection.database_information(&items).unwrap()), expected);
        assert_eq!(connection.counters(), counters, "nothing was sent");
        // What is left is the server's to answer, and comes behind.
        let mixed = [database::PAGE_SIZE, database::WIRE_ROUNDTRIPS, database::ODS_VERSION];
        let reply = read(&connection.database_information(&mixed).unwrap());
        assert_eq!(reply[0], (database::WIRE_ROUNDTRIPS, i64::try_from(counters.round_trips).unwrap()));
        assert_eq!((reply[1].0, reply[2].0, reply.len()), (database::PAGE_SIZE, database::ODS_VERSION, 3));
        assert_eq!(connection.counters().round_trips, counters.round_trips + 1);
        connection.drop_database().unwrap();
    }
}
