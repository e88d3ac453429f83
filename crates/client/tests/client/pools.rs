//! Pools: what a connection costs that has served before, and what its next user sees of the one before.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use farbird_client::blocking::pool as blocking_pool;
use farbird_client::pool::{self, RecyclingMethod};
use farbird_client::virtual_clock::{VirtualClock, VirtualLink};
use farbird_client::{Connection, Error, Location, Transaction, TransactionOptions, Value, Wait, blocking};
use farbird_types::isc;
use tokio::runtime::{Builder, Runtime};

use crate::servers::{Cancelling, TestServer, all, farbird, run, value};

const WHO: &str = "select current_connection from rdb$database";
const ROUND_TRIP: Duration = Duration::from_secs(1);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// A new database with a table of one row: where it lies, and a connection that stays. (Where nobody stays, servers begin
/// to count their attachments anew.)
fn database(place: &TestServer) -> (String, blocking::Connection) {
    let location = place.location();
    let keeper = place.create_at(&location);
    run(&keeper, &["create table t (id integer)", "insert into t values (0)"]);
    (location, keeper)
}

/// Drops it.
fn drop_database(place: &TestServer, location: &str, keeper: blocking::Connection) {
    keeper.close().unwrap();
    place.drop_when_alone(location);
}

fn pool_of(location: &str, place: &TestServer, method: RecyclingMethod) -> pool::Pool {
    let manager = pool::Manager::new(location, place.options.clone()).recycling(method);
    pool::Pool::builder(manager).max_size(2).build().unwrap()
}

fn blocking_pool_of(location: &str, place: &TestServer, method: RecyclingMethod) -> blocking_pool::Pool {
    let manager = blocking_pool::Manager::new(location, place.options.clone()).recycling(method);
    blocking_pool::Pool::builder()
        .max_size(1)
        .connection_timeout(Duration::from_secs(20))
        .build(manager)
        .unwrap()
}

async fn begin(connection: &Connection) -> Transaction {
    connection.begin(&TransactionOptions::default()).await.unwrap()
}

/// Which attachment of the server it is.
async fn who(connection: &Connection) -> Value {
    let transaction = begin(connection).await;
    let statement = connection.prepare_cached(&transaction, WHO).await.unwrap();
    let row = connection.execute(&transaction, &statement, ()).await.unwrap().unwrap();
    connection.commit(transaction).await.unwrap();
    row.value(0).unwrap()
}

/// The same, of a blocking one.
fn blocking_who(connection: &blocking::Connection) -> Value {
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let statement = connection.prepare_cached(&transaction, WHO).unwrap();
    let row = connection.execute(&transaction, &statement, ()).unwrap().unwrap();
    connection.commit(transaction).unwrap();
    row.value(0).unwrap()
}

/// Something that takes long enough to be stopped.
const WORK: &str = "select count(*) from rdb$types a, rdb$types b where a.rdb$type + b.rdb$type > 0";
/// Hours of work.
const HOURS: &str = "execute block as declare n bigint = 0; begin while (n < 100000000000) do n = n + 1; end";

/// The methods that a server knows, with the round trips of a connection that is handed out.
fn methods(is_new: bool) -> Vec<(RecyclingMethod, u64)> {
    let mut methods = vec![(RecyclingMethod::Fast, 0), (RecyclingMethod::Verified, 1)];
    if is_new {
        methods.push((RecyclingMethod::Clean, 1));
    }
    methods
}

#[test]
fn a_connection_that_has_served_costs_what_its_method_says_and_keeps_its_statements() {
    for place in all() {
        let (location, keeper) = database(&place);
        for (method, expected) in methods(keeper.version().has_statement_timeout()) {
            runtime().block_on(async {
                let pool = pool_of(&location, &place, method);
                let connection = pool.get().await.unwrap();
                let first = who(&connection).await;
                let before = connection.counters().round_trips;
                drop(connection);
                let connection = pool.get().await.unwrap();
                assert_eq!(connection.counters().round_trips - before, expected, "{method:?}");
                assert_eq!(who(&connection).await, first, "{method:?}");
                // The statement was prepared: execute and commit.
                assert_eq!(connection.counters().round_trips - before, expected + 2, "{method:?}");
            });
            let pool = blocking_pool_of(&location, &place, method);
            let connection = pool.get().unwrap();
            let first = blocking_who(&connection);
            let before = connection.counters().round_trips;
            drop(connection);
            let connection = pool.get().unwrap();
            assert_eq!(connection.counters().round_trips - before, expected, "{method:?}");
            assert_eq!(blocking_who(&connection), first, "{method:?}");
            assert_eq!(connection.counters().round_trips - before, expected + 2, "{method:?}");
        }
        drop_database(&place, &location, keeper);
    }
}

#[test]
fn recycling_takes_the_trips_that_it_promises_on_the_clock() {
    for place in all() {
        let (location, keeper) = database(&place);
        let link = VirtualLink::of_round_trip(ROUND_TRIP);
        let (mut clock, connection) = VirtualClock::attach(&location, &place.options, link).unwrap();
        for (method, expected) in methods(connection.version().has_statement_timeout()) {
            let (result, cost) = clock.cost(connection.recycle(method));
            result.unwrap();
            assert_eq!((cost.time, cost.round_trips), (ROUND_TRIP * expected as u32, expected), "{method:?}");
        }
        // Rows under way that nobody reads are waited for: they would stand before the next user's.
        let many = "select a.rdb$relation_id from rdb$relations a, rdb$relations b, rdb$relations c";
        let reading = clock.run(async {
            let transaction = begin(&connection).await;
            let statement = connection.prepare(&transaction, many).await?;
            let mut cursor = connection.query(&transaction, &statement, ()).await?;
            cursor.next().await?;
            Ok::<_, Error>((cursor, statement, transaction))
        });
        drop(reading.unwrap());
        let (result, cost) = clock.cost(connection.recycle(RecyclingMethod::Fast));
        result.unwrap();
        assert!(cost.round_trips <= 1, "{cost:?}");
        // And the connection is as before.
        let (result, cost) = clock.cost(connection.recycle(RecyclingMethod::Fast));
        result.unwrap();
        assert_eq!(cost.round_trips, 0);
        assert_eq!(clock.run(who(&connection)), clock.run(who(&connection)));
        clock.run(connection.close()).unwrap();
        drop_database(&place, &location, keeper);
    }
}

/// Waits until others can change the row: nothing holds it.
fn change_the_row(place: &TestServer, location: &str) {
    let other = blocking::Connection::attach(location, &place.options).unwrap();
    let options = TransactionOptions { wait: Wait::No, ..TransactionOptions::default() };
    for attempt in 0.. {
        let transaction = other.begin(&options).unwrap();
        let changed = other.run(&transaction, "update t set id = id + 1");
        match changed {
            Ok(()) => {
                other.commit(transaction).unwrap();
                break;
            }
            Err(error) => assert!(attempt < 500, "{error}"),
        }
        drop(transaction);
        std::thread::sleep(Duration::from_millis(10));
    }
    other.close().unwrap();
}

#[test]
fn what_was_not_committed_is_rolled_back_although_nobody_uses_the_connection_again() {
    for place in all() {
        let (location, keeper) = database(&place);
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let pool = pool_of(&location, &place, RecyclingMethod::Fast);
        runtime.block_on(async {
            let connection = pool.get().await.unwrap();
            let transaction = begin(&connection).await;
            connection.run(&transaction, "update t set id = 77").await.unwrap();
        });
        change_the_row(&place, &location);
        drop(pool);
        let pool = blocking_pool_of(&location, &place, RecyclingMethod::Fast);
        {
            let connection = pool.get().unwrap();
            let transaction = connection.begin(&TransactionOptions::default()).unwrap();
            connection.run(&transaction, "update t set id = 77").unwrap();
        }
        change_the_row(&place, &location);
        let connection = pool.get().unwrap();
        assert_eq!(value(&connection, "select id from t"), Value::integer(2));
        drop((connection, pool, runtime));
        drop_database(&place, &location, keeper);
    }
}

#[test]
fn a_connection_of_which_something_is_held_elsewhere_serves_nobody_else() {
    for place in all() {
        let (location, keeper) = database(&place);
        runtime().block_on(async {
            let pool = pool_of(&location, &place, RecyclingMethod::Fast);
            let connection = pool.get().await.unwrap();
            let first = who(&connection).await;
            let kept = Connection::clone(&connection);
            drop(connection);
            let connection = pool.get().await.unwrap();
            assert_ne!(who(&connection).await, first);
            assert_eq!(who(&kept).await, first);
            let error = kept.recycle(RecyclingMethod::Fast).await;
            error.expect("nobody else holds it");
            // A transaction that lives on, a statement, a cursor.
            let transaction = begin(&kept).await;
            let refusal = kept.recycle(RecyclingMethod::Fast).await.unwrap_err();
            assert!(refusal.has(isc::OBJ_IN_USE), "{refusal}");
            let statement = kept.prepare_cached(&transaction, WHO).await.unwrap();
            kept.commit(transaction).await.unwrap();
            assert!(kept.recycle(RecyclingMethod::Fast).await.is_err());
            drop(statement);
            kept.recycle(RecyclingMethod::Fast).await.unwrap();
        });
        let pool = blocking_pool_of(&location, &place, RecyclingMethod::Fast);
        let connection = pool.get().unwrap();
        let first = blocking_who(&connection);
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        connection.run(&transaction, "update t set id = id").unwrap();
        drop(connection);
        let connection = pool.get().unwrap();
        assert_ne!(blocking_who(&connection), first);
        drop((transaction, connection, pool));
        drop_database(&place, &location, keeper);
    }
}

#[test]
fn a_cancel_stops_nothing_of_the_next_user() {
    for place in all() {
        let (location, keeper) = database(&place);
        runtime().block_on(async {
            let pool = pool_of(&location, &place, RecyclingMethod::Fast);
            let connection = pool.get().await.unwrap();
            let first = who(&connection).await;
            let canceller = connection.canceller();
            // Nothing runs: the server keeps it for the next statement.
            canceller.cancel().unwrap();
            drop(connection);
            let connection = pool.get().await.unwrap();
            assert_eq!(who(&connection).await, first);
            connection.query_all(&begin(&connection).await, WORK).await.unwrap();
            // What the user before has kept reaches nobody.
            canceller.cancel().unwrap();
            canceller.abort();
            assert_eq!(who(&connection).await, first);
            // A connection that was given up serves nobody.
            connection.canceller().abort();
            drop(connection);
            assert_ne!(who(&pool.get().await.unwrap()).await, first);
        });
        let pool = blocking_pool_of(&location, &place, RecyclingMethod::Fast);
        let connection = pool.get().unwrap();
        let first = blocking_who(&connection);
        let canceller = connection.canceller();
        canceller.disable().unwrap();
        canceller.cancel().unwrap();
        drop(connection);
        let connection = pool.get().unwrap();
        assert_eq!(blocking_who(&connection), first);
        value(&connection, WORK);
        // Cancels work again, if they did for the first one.
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let cancelling = Cancelling::after(Duration::from_millis(100), connection.canceller());
        let stopped = connection.run(&transaction, HOURS).unwrap_err();
        assert!(stopped.has(isc::CANCELLED), "{stopped}");
        cancelling.end();
        drop(transaction);
        connection.canceller().abort();
        drop(connection);
        assert_ne!(blocking_who(&pool.get().unwrap()), first);
        drop(pool);
        drop_database(&place, &location, keeper);
    }
}

#[test]
fn work_that_was_given_up_is_stopped() {
    let place = farbird();
    let (location, keeper) = database(&place);
    runtime().block_on(async {
        let pool = pool_of(&location, &place, RecyclingMethod::Fast);
        let connection = pool.get().await.unwrap();
        let first = who(&connection).await;
        let transaction = begin(&connection).await;
        let running = connection.run(&transaction, HOURS);
        tokio::time::timeout(Duration::from_millis(50), running).await.expect_err("it takes longer");
        drop((transaction, connection));
        let connection = pool.get().await.unwrap();
        assert_eq!(who(&connection).await, first);
    });
    drop_database(&place, &location, keeper);
}

/// Passes bytes between clients and a server until it is told to hang up.
struct Switchboard {
    location: String,
    lines: Arc<Mutex<Vec<TcpStream>>>,
}

impl Switchboard {
    fn start(database: &str) -> Switchboard {
        let Location { host, port, database } = Location::parse(database).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let location = format!("127.0.0.1/{}:{database}", listener.local_addr().unwrap().port());
        let lines = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&lines);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (client, server) = (client.unwrap(), TcpStream::connect((&*host, port)).unwrap());
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    std::thread::spawn(move || {
                        let _ = std::io::copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                kept.lock().unwrap().extend([client, server]);
            }
        });
        Switchboard { location, lines }
    }

    fn hang_up(&self) {
        for line in self.lines.lock().unwrap().drain(..) {
            let _ = line.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn a_connection_that_the_server_has_closed_is_replaced_without_a_round_trip_to_find_out() {
    let place = farbird();
    let (location, keeper) = database(&place);
    let switchboard = Switchboard::start(&location);
    runtime().block_on(async {
        let pool = pool_of(&switchboard.location, &place, RecyclingMethod::Fast);
        let connection = pool.get().await.unwrap();
        let first = who(&connection).await;
        drop(connection);
        switchboard.hang_up();
        // The news has to come through.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let connection = pool.get().await.unwrap();
        assert_ne!(who(&connection).await, first);
        assert_eq!(pool.status().size, 1);
    });
    let pool = blocking_pool_of(&switchboard.location, &place, RecyclingMethod::Fast);
    let connection = pool.get().unwrap();
    let first = blocking_who(&connection);
    drop(connection);
    switchboard.hang_up();
    std::thread::sleep(Duration::from_millis(200));
    assert_ne!(blocking_who(&pool.get().unwrap()), first);
    drop(pool);
    drop_database(&place, &location, keeper);
}

#[test]
fn a_clean_connection_is_as_it_was_attached() {
    for place in all() {
        let (location, keeper) = database(&place);
        if keeper.version().has_statement_timeout() {
            let pool = blocking_pool_of(&location, &place, RecyclingMethod::Clean);
            let set = "select rdb$set_context('USER_SESSION', 'A', 'kept') from rdb$database";
            let get = "select rdb$get_context('USER_SESSION', 'A') from rdb$database";
            let connection = pool.get().unwrap();
            value(&connection, set);
            assert_ne!(value(&connection, get), Value::Null);
            drop(connection);
            assert_eq!(value(&pool.get().unwrap(), get), Value::Null);
            drop(pool);
        } else {
            let manager = pool::Manager::new(&*location, place.options.clone());
            let pool = pool::Pool::builder(manager.recycling(RecyclingMethod::Clean)).build().unwrap();
            let refusal = runtime().block_on(async { pool.get().await.map(drop) }).unwrap_err();
            assert!(
                matches!(&refusal, pool::PoolError::Backend(error) if error.has(isc::WISH_LIST)),
                "{refusal}"
            );
        }
        drop_database(&place, &location, keeper);
    }
}
