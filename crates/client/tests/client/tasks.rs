//! The asynchronous face on tokio: many tasks on one connection, futures dropped in the middle, servers that go.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use farbird_client::{Connection, CreateOptions, Statement, Transaction, TransactionOptions, Value};
use farbird_types::isc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};

use crate::servers::{TestServer, all, farbird};

fn runtimes() -> [Runtime; 2] {
    let one = Builder::new_current_thread().enable_all().build().unwrap();
    let many = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    [one, many]
}

async fn create(place: &TestServer) -> Connection {
    Connection::create(&place.location(), &CreateOptions::default(), &place.options).await.unwrap()
}

async fn begin(connection: &Connection) -> Transaction {
    connection.begin(&TransactionOptions::default()).await.unwrap()
}

async fn number(connection: &Connection, transaction: &Transaction, statement: &Statement) -> i64 {
    let row = connection.execute(transaction, statement, &[]).await.unwrap().unwrap();
    row.get(0).unwrap()
}

#[test]
fn what_is_asked_together_travels_together() {
    for place in all() {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let connection = create(&place).await;
            let transaction = begin(&connection).await;
            let texts = ["select 1 from rdb$database", "select 2 from rdb$database"];
            let statements = connection.prepare_all(&transaction, &texts).await.unwrap();
            let before = connection.counters().round_trips;
            let (one, two) = tokio::join!(
                number(&connection, &transaction, &statements[0]),
                number(&connection, &transaction, &statements[1]),
            );
            assert_eq!((one, two), (1, 2));
            assert_eq!(connection.counters().round_trips - before, 1);
            drop((statements, transaction));
            connection.drop_database().await.unwrap();
        });
    }
}

#[test]
fn fifty_tasks_share_a_connection() {
    for place in all() {
        for runtime in runtimes() {
            runtime.block_on(async {
                let connection = create(&place).await;
                let tasks: Vec<_> = (0..50_i64)
                    .map(|task| {
                        let connection = connection.clone();
                        tokio::spawn(async move {
                            for _ in 0..5 {
                                let transaction = begin(&connection).await;
                                let text = format!(
                                    "execute block returns (n integer) as begin n = {task}; while (n < 2000) do \
                                     begin suspend; n = n + 1; end end"
                                );
                                let statement = connection.prepare(&transaction, &text).await.unwrap();
                                let mut cursor =
                                    connection.query(&transaction, &statement, &[]).await.unwrap();
                                for n in task..300 + task {
                                    let row = cursor.next().await.unwrap().unwrap();
                                    assert_eq!(row, [Value::integer(n)]);
                                }
                                drop((cursor, statement));
                                connection.commit(transaction).await.unwrap();
                            }
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
                connection.drop_database().await.unwrap();
            });
        }
    }
}

/// Polls a future some times and drops it.
async fn poll_and_drop(future: impl Future, polls: usize) {
    let mut future = pin!(future);
    for _ in 0..polls {
        let mut context = Context::from_waker(Waker::noop());
        if future.as_mut().poll(&mut context).is_ready() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn futures_dropped_in_the_middle_leave_the_connection_in_step() {
    for place in all() {
        for runtime in runtimes() {
            runtime.block_on(async {
                let connection = create(&place).await;
                let transaction = begin(&connection).await;
                connection.run(&transaction, "create table t (id integer, b blob)").await.unwrap();
                connection.commit(transaction).await.unwrap();
                let transaction = begin(&connection).await;
                let insert = connection.prepare(&transaction, "insert into t values (?, ?)").await.unwrap();
                let blob = connection.write_blob(&transaction, &[7; 200_000]).await.unwrap();
                connection
                    .execute(&transaction, &insert, &[Value::integer(1), Value::Blob(blob)])
                    .await
                    .unwrap();
                connection.commit_retaining(&transaction).await.unwrap();
                for polls in 1..4 {
                    let select = "select id, b from t, rdb$types";
                    poll_and_drop(connection.prepare(&transaction, select), polls).await;
                    poll_and_drop(connection.query_all(&transaction, select), polls).await;
                    poll_and_drop(connection.read_blob(&transaction, blob), polls).await;
                    poll_and_drop(connection.write_blob(&transaction, &[1; 100_000]), polls).await;
                    poll_and_drop(connection.ping(), polls).await;
                    let other = begin(&connection).await;
                    poll_and_drop(connection.commit(other), polls).await;
                    let other = begin(&connection).await;
                    poll_and_drop(
                        connection.execute(&other, &insert, &[Value::integer(2), Value::Null]),
                        polls,
                    )
                    .await;
                    drop(other);
                    let rows = connection.query_all(&transaction, "select id from t").await.unwrap();
                    assert_eq!(rows, [[Value::integer(1)]]);
                }
                let rows = connection.query_all(&transaction, "select b from t").await.unwrap();
                let Value::Blob(id) = rows[0][0] else { panic!("{rows:?}") };
                assert_eq!(connection.read_blob(&transaction, id).await.unwrap(), [7; 200_000]);
                drop(insert);
                connection.commit(transaction).await.unwrap();
                connection.drop_database().await.unwrap();
            });
        }
    }
}

/// A proxy that passes everything on until it is told to stop, and tells when both its ends are closed.
struct Proxy {
    location: String,
    stop: tokio::sync::watch::Sender<bool>,
    ended: Arc<Mutex<bool>>,
}

impl Proxy {
    async fn start(database: &str) -> Proxy {
        let target = farbird_client::Location::parse(database).unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let location = format!("127.0.0.1/{port}:{}", target.database);
        let (stop, mut stopped) = tokio::sync::watch::channel(false);
        let ended = Arc::new(Mutex::new(false));
        let has_ended = Arc::clone(&ended);
        tokio::spawn(async move {
            let (mut client, _) = listener.accept().await.unwrap();
            let mut server = tokio::net::TcpStream::connect((&*target.host, target.port)).await.unwrap();
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut client, &mut server) => {}
                _ = stopped.wait_for(|stop| *stop) => {}
            }
            *has_ended.lock().unwrap() = true;
        });
        Proxy { location, stop, ended }
    }

    async fn wait_for_end(&self) {
        for _ in 0..500 {
            if *self.ended.lock().unwrap() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the connection was not closed");
    }
}

#[test]
fn a_server_that_goes_is_told_to_everybody_who_waits() {
    let place = farbird();
    for runtime in runtimes() {
        runtime.block_on(async {
            let database = place.location();
            let owner =
                Connection::create(&database, &CreateOptions::default(), &place.options).await.unwrap();
            let proxy = Proxy::start(&database).await;
            let connection = Connection::attach(&proxy.location, &place.options).await.unwrap();
            let transaction = begin(&connection).await;
            let slow =
                "execute block as declare n integer = 0; begin while (n < 100000000) do n = n + 1; end";
            let waiting = {
                let connection = connection.clone();
                tokio::spawn(async move {
                    let transaction = begin(&connection).await;
                    connection.run(&transaction, slow).await
                })
            };
            tokio::time::sleep(Duration::from_millis(50)).await;
            proxy.stop.send(true).unwrap();
            let error = waiting.await.unwrap().unwrap_err();
            assert_eq!(error.gds_code(), isc::NETWORK_ERROR, "{error}");
            // And to everybody who asks later.
            let error = connection.run(&transaction, "select 1 from rdb$database").await.unwrap_err();
            assert_eq!(error.gds_code(), isc::NETWORK_ERROR, "{error}");
            drop((transaction, connection));
            owner.close().await.unwrap();
        });
    }
}

#[test]
fn dropping_the_last_handle_closes_the_socket() {
    let place = farbird();
    for runtime in runtimes() {
        runtime.block_on(async {
            let database = place.location();
            let owner =
                Connection::create(&database, &CreateOptions::default(), &place.options).await.unwrap();
            let proxy = Proxy::start(&database).await;
            let connection = Connection::attach(&proxy.location, &place.options).await.unwrap();
            let transaction = begin(&connection).await;
            let statement = connection.prepare(&transaction, "select 1 from rdb$database").await.unwrap();
            drop((connection, transaction));
            // The statement still holds the connection.
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(!*proxy.ended.lock().unwrap());
            drop(statement);
            proxy.wait_for_end().await;
            owner.drop_database().await.unwrap();
        });
    }
}

#[test]
fn a_server_that_does_not_answer_in_time_is_a_network_error() {
    for runtime in runtimes() {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let silent = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).await.unwrap_or(0) > 0 {}
                let _ = stream.shutdown().await;
            });
            let mut options = farbird_client::ConnectOptions::new("sysdba", "masterkey");
            options.read_timeout = Some(Duration::from_millis(50));
            let error = Connection::attach(&format!("127.0.0.1/{port}:x"), &options).await.unwrap_err();
            assert_eq!(error.gds_code(), isc::NETWORK_ERROR, "{error}");
            silent.await.unwrap();
        });
    }
}
