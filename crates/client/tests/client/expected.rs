//! Queries whose columns are known before the server has described them: what they cost, and that nobody notices when the
//! expectation is wrong.

use std::fmt::Debug;
use std::time::Duration;

use farbird_client::types::{Date, Decimal, Time, Timestamp};
use farbird_client::virtual_clock::{VirtualClock, VirtualLink};
use farbird_client::{Connection, FromRow, Location, Parameters, Value, blocking};
use farbird_types::isc;

use crate::servers::{all, begin, run, value};

const TABLE: &str = "create table thing (id integer not null, small smallint, big bigint, price numeric(9, 2), \
    f float, d double precision, name varchar(20), code char(5), long_text varchar(2000), \
    raw varchar(10) character set octets, plain varchar(10) character set none, latin varchar(10) character set win1252, \
    born date, at_time time, stamp timestamp, is_new boolean)";
const ROWS: [&str; 2] = [
    "insert into thing values (1, 2, 5000000000, 1.25, 0.1, 0.1, 'Zoë', 'ab', 'long', x'FF00', 'plain', 'Grüße', \
     '2024-02-29', '12:34:56.7891', '1901-01-01 00:00:00', true)",
    "insert into thing (id) values (2)",
];

#[derive(Debug, PartialEq, FromRow)]
struct Thing {
    id: i64,
    name: Option<String>,
    #[farbird(rename = "BIG")]
    number: Option<i64>,
    #[farbird(skip)]
    seen: bool,
    #[farbird(default)]
    is_new: bool,
}

fn trips<T>(connection: &blocking::Connection, work: impl FnOnce() -> T) -> (u64, T) {
    let before = connection.counters().round_trips;
    let result = work();
    (connection.counters().round_trips - before, result)
}

/// Asks by the text, twice, and by a prepared statement: all three must give the same. Gives the round trips of the first two.
fn ask<T>(connection: &blocking::Connection, text: &str, parameters: impl Parameters + Clone) -> [u64; 2]
where
    T: for<'r> FromRow<'r> + Debug + PartialEq,
{
    let transaction = begin(connection);
    let statement = connection.prepare(&transaction, text).unwrap();
    let wanted = connection.query_as::<T>(&transaction, &statement, parameters.clone());
    let once = || connection.query_all_as::<T>(&transaction, text, parameters.clone());
    let costs = [trips(connection, once), trips(connection, once)].map(|(cost, found)| {
        match (&found, &wanted) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{text}"),
            (Err(found), Err(wanted)) => {
                assert_eq!(found.gds_code(), wanted.gds_code(), "{text}: {found} instead of {wanted}");
            }
            _ => panic!("{text}: {found:?} instead of {wanted:?}"),
        }
        cost
    });
    drop(statement);
    connection.commit(transaction).unwrap();
    costs
}

#[test]
fn rows_come_with_the_attach_on_the_clock() {
    let second = Duration::from_secs(1);
    for place in all() {
        let location = place.location();
        let keeper = place.create_at(&location);
        run(&keeper, &[TABLE, ROWS[0], ROWS[1]]);
        let Location { host, port, database } = Location::parse(&location).unwrap();
        let link = VirtualLink::of_round_trip(second);
        let mut clock = VirtualClock::connect(&host, port, &place.options, link).unwrap();
        let shared = clock.shared().clone();
        let text = "select id, name, big, is_new from thing where id > ? order by id";
        let (found, cost) = clock.cost(async {
            let connector = Connection::connect_over(&shared, &database, &place.options).await?;
            let transaction = connector.begin(&Default::default()).await?;
            let found: Vec<Thing> = connector.query_all_as(&transaction, text, (0,)).await?;
            connector.commit(transaction).await?;
            Ok::<_, farbird_client::Error>((found, connector.attached().await?))
        });
        let (found, connection) = found.unwrap();
        let thing = Thing {
            id: 1,
            name: Some("Zoë".to_owned()),
            number: Some(5_000_000_000),
            seen: false,
            is_new: true,
        };
        let empty = Thing { id: 2, name: None, number: None, seen: false, is_new: false };
        assert_eq!(found, [thing, empty]);
        let another_plugin = u64::from(!connection.version().has_statement_timeout());
        // The login, everything up to the rows, the commit.
        assert_eq!(cost.round_trips, 3 + another_plugin + 1 + 1);
        clock.run(connection.close()).unwrap();
        keeper.drop_database().unwrap();
    }
}

#[test]
fn what_is_expected_costs_one_trip_and_what_is_not_two_once() {
    for place in all() {
        let connection = place.create();
        run(&connection, &[TABLE, ROWS[0], ROWS[1]]);
        let c = &connection;
        let expected = [
            ask::<Thing>(c, "select id, name, big, is_new from thing where name = ? or id = 2", ("Zoë",)),
            ask::<(u8, i32, Option<i64>)>(c, "select id, small, big from thing where id = 1", ()),
            ask::<(Option<f32>, Option<f64>, Option<f64>)>(c, "select f, f, d from thing", ()),
            ask::<(Option<Vec<u8>>, String)>(c, "select raw, latin from thing where id < 2", ()),
            ask::<(Option<Date>, Option<Time>, Option<Timestamp>, Option<bool>)>(
                c,
                "select born, at_time, stamp, is_new from thing order by id",
                (),
            ),
            // It fits or it does not, as always.
            ask::<(u8,)>(c, "select big from thing where id = 1", ()),
            ask::<(String,)>(c, "select name from thing order by id", ()),
        ];
        assert_eq!(expected, [[1, 1]; 7]);
        let unexpected = [
            // Other types, other columns, another order, more or less of them.
            ask::<(f64,)>(c, "select price from thing where id = 1", ()),
            ask::<(i32,)>(c, "select price from thing where id < 2", ()),
            ask::<(f64,)>(c, "select id from thing", ()),
            ask::<(Option<String>,)>(c, "select code from thing order by id", ()),
            ask::<(Option<String>,)>(c, "select long_text from thing order by id", ()),
            ask::<(String,)>(c, "select plain from thing where id = 1", ()),
            ask::<(String,)>(c, "select raw from thing where id = 1", ()),
            ask::<(Vec<u8>,)>(c, "select name from thing where id = 1", ()),
            ask::<(String,)>(c, "select id from thing where id < 2", ()),
            ask::<(i64,)>(c, "select name from thing", ()),
            ask::<(i64, i64)>(c, "select id from thing order by id", ()),
            ask::<(i64,)>(c, "select id, small from thing", ()),
            ask::<Thing>(c, "select name, id, big, is_new from thing order by id", ()),
            ask::<Thing>(c, "select id, name, big, is_new, d from thing order by id", ()),
            ask::<Thing>(c, "select id, name label, big, is_new from thing order by id", ()),
        ];
        assert_eq!(unexpected, [[2, 1]; 15]);
        // What no type tells, and what the text does not show.
        assert_eq!(ask::<(Decimal,)>(c, "select price from thing where id <> 2", ()), [2, 1]);
        assert_eq!(ask::<Vec<Value>>(c, "select id, price from thing", ()), [2, 1]);
        connection.drop_database().unwrap();
    }
}

#[test]
fn a_text_that_is_refused_leaves_the_connection_in_order() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let (cost, refused) = trips(&connection, || {
            connection.query_all_as::<(i64,)>(&transaction, "select nothing from nowhere", ())
        });
        assert_eq!((cost, refused.unwrap_err().gds_code()), (1, isc::DSQL_ERROR));
        let rows = connection.query_all_as::<(i64,)>(&transaction, "select 1 from rdb$database", ()).unwrap();
        assert_eq!(rows, [(1,)]);
        let failing = "select 10 / (rdb$relation_id - rdb$relation_id) from rdb$relations";
        assert!(connection.query_all_as::<(i64,)>(&transaction, failing, ()).is_err());
        assert!(connection.query_all_as::<(String,)>(&transaction, failing, ()).is_err());
        let wrong =
            connection.query_all_as::<(i64,)>(&transaction, "select 1 from rdb$database where 1 = ?", ());
        assert!(wrong.is_err(), "a parameter is missing");
        let rows = connection.query_all_as::<(i64,)>(&transaction, "select 1 from rdb$database", ()).unwrap();
        assert_eq!(rows, [(1,)]);
        drop(transaction);
        connection.drop_database().unwrap();
    }
}

#[test]
fn what_changes_something_is_executed_once() {
    for place in all() {
        let connection = place.create();
        run(
            &connection,
            &[
                "create table log (n integer)",
                "create sequence g",
                "create procedure p (n integer) returns (m numeric(9, 2)) as begin insert into log values (:n); m = n; \
                 suspend; end",
            ],
        );
        let transaction = begin(&connection);
        // Neither has the columns that are expected.
        let next = "select (next value for g) || '' from rdb$database";
        let rows = connection.query_all_as::<(i64,)>(&transaction, next, ());
        assert!(rows.is_err());
        let rows = connection.query_all_as::<(f64,)>(&transaction, "select m from p(7)", ()).unwrap();
        assert_eq!(rows, [(7.0,)]);
        let logged: Vec<(i64,)> = connection.query_all_as(&transaction, "select n from log", ()).unwrap();
        assert_eq!(logged, [(7,)]);
        connection.commit(transaction).unwrap();
        assert_eq!(value(&connection, "select gen_id(g, 0) from rdb$database"), Value::integer(1));
        connection.drop_database().unwrap();
    }
}

#[test]
fn many_rows_come_whole() {
    for place in all() {
        let connection = place.create();
        let transaction = begin(&connection);
        let text = "select a.rdb$relation_id * 1000 + b.rdb$relation_id, a.rdb$relation_id || ' text' \
                    from rdb$relations a, rdb$relations b order by 1";
        let found: Vec<(i64, String)> = connection.query_all_as(&transaction, text, ()).unwrap();
        let statement = connection.prepare(&transaction, text).unwrap();
        let wanted: Vec<(i64, String)> = connection.query_as(&transaction, &statement, ()).unwrap();
        assert!(found == wanted && found.len() > 1000, "{} of {}", found.len(), wanted.len());
        drop((statement, transaction));
        connection.drop_database().unwrap();
    }
}

#[test]
fn texts_are_expected_in_the_connection_s_character_set() {
    for place in all() {
        let location = place.location();
        let keeper = place.create_at(&location);
        run(&keeper, &[TABLE, ROWS[0], ROWS[1]]);
        for (set, expected) in [("WIN1252", [1, 1, 2]), ("UTF8", [1, 2, 2]), ("NONE", [2, 1, 2])] {
            let mut options = place.options.clone();
            set.clone_into(&mut options.character_set);
            let connection = blocking::Connection::attach(&location, &options).unwrap();
            let c = &connection;
            let costs = [
                ask::<(String, i64)>(c, "select name, id from thing where name = ?", ("Zoë",)),
                ask::<(String,)>(c, "select plain from thing where id = 1", ()),
                ask::<(String,)>(c, "select code from thing where id = 1", ()),
            ];
            assert_eq!(costs.map(|[first, _]| first), expected, "{set}");
            connection.close().unwrap();
        }
        keeper.drop_database().unwrap();
    }
}
