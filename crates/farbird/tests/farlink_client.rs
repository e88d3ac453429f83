//! The client with the edge's machine inside: `farlink://site/database`, in both faces and with pools, before a Farbird server that
//! is its own origin. What a program saves is counted in round trips, which the link counts exactly.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::farlink::{self, Transport};
use farbird_client::{
    BlobOptions, ConnectOptions, CreateOptions, Isolation, Posted, TransactionOptions, Value, blocking, pool,
};
use tempfile::TempDir;

/// A server with a farlink, and a folder of keys for programs that use it.
struct Site {
    server: Child,
    address: SocketAddr,
    folder: TempDir,
}

impl Site {
    fn start() -> Site {
        let folder = tempfile::tempdir().unwrap();
        let near = pair(folder.path(), "near", &["--name", "program"]);
        let far = pair(folder.path(), "far", &["--name", "tokyo", &near]);
        pair(folder.path(), "near", &[&far]);
        let mut command = farbird(folder.path());
        command.args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--farlink",
            "127.0.0.1:0",
            "--farlink-keys",
            "far",
        ]);
        let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let said = "its farlink listens on ";
        let address =
            lines.find_map(|line| line.unwrap().strip_prefix(said).map(|rest| rest.parse().unwrap()));
        std::thread::spawn(move || lines.count());
        Site { server, address: address.unwrap(), folder }
    }

    fn name(&self) -> String {
        self.address.to_string()
    }

    fn database(&self) -> String {
        format!("farlink://{}/app.fdb", self.address)
    }

    fn options(&self) -> ConnectOptions {
        let mut options = ConnectOptions::new("sysdba", "masterkey");
        options.farlink.keys = self.folder.path().join("near");
        // Neither of the tests is about which of both works.
        options.farlink.transport = Transport::Tcp;
        options
    }

    fn create(&self) -> Connection {
        let connection =
            Connection::create(&self.database(), &CreateOptions::default(), &self.options()).unwrap();
        for text in [
            "create table customer (id integer not null primary key, name varchar(40), note blob sub_type text)",
            "create table invoice (number integer not null primary key, customer integer)",
            "execute block as declare n integer = 0; begin while (n < 50) do begin \
             insert into customer values (:n, 'customer ' || :n, lpad('', 10000, 'note ' || :n)); \
             insert into invoice values (:n * 2, :n); insert into invoice values (:n * 2 + 1, :n); \
             n = n + 1; end end",
        ] {
            let transaction = connection.begin(&TransactionOptions::default()).unwrap();
            connection.run(&transaction, text).unwrap();
            connection.commit(transaction).unwrap();
        }
        // How it was created is something that descriptions are taken to depend on.
        connection.close().unwrap();
        Connection::attach(&self.database(), &self.options()).unwrap()
    }

    /// What some work costs.
    fn trips<T>(&self, work: impl FnOnce() -> T) -> (u64, T) {
        let trips = || farlink::sums(&self.name(), &self.options().farlink).map_or(0, |sums| sums.trips);
        let before = trips();
        let result = work();
        (trips() - before, result)
    }
}

/// No event takes as long on any machine; a test that would wait for ever fails instead.
const PATIENCE: Duration = Duration::from_secs(60);

impl Site {
    /// Repeats some work until it costs so many trips at most: news of what was changed before may come in the midst of any one time.
    /// How many trips each time takes is told exactly by `simulation/costs.rs` of the gateway, on a clock of its own.
    fn until_trips<T>(&self, trips_max: u64, mut work: impl FnMut() -> T) -> T {
        let begun = Instant::now();
        loop {
            let (trips, result) = self.trips(&mut work);
            if trips <= trips_max {
                return result;
            }
            assert!(begun.elapsed() < PATIENCE, "it never costs {trips_max} trips: {trips} the last time");
        }
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        farlink::leave(&self.name(), &self.options().farlink);
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn farbird(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_farbird"));
    command.current_dir(folder).env("FARBIRD_SYSDBA_PASSWORD", "masterkey").env("ISC_PASSWORD", "masterkey");
    command
}

fn pair(folder: &Path, keys: &str, arguments: &[&str]) -> String {
    let output = farbird(folder).args(["pair", "--keys", keys]).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn read_committed() -> TransactionOptions {
    TransactionOptions { isolation: Isolation::ReadCommitted, ..TransactionOptions::default() }
}

/// A query for each row of another one, with its statements prepared anew; gives how many rows there were.
fn nested_loop(connection: &Connection) -> usize {
    let transaction = connection.begin(&read_committed()).unwrap();
    let outer = connection.prepare(&transaction, "select id from customer order by id").unwrap();
    let inner = connection.prepare(&transaction, "select number from invoice where customer = ?").unwrap();
    let mut found = 0;
    for row in connection.query(&transaction, &outer, ()).unwrap() {
        let (id,): (i32,) = row.unwrap().convert().unwrap();
        let numbers: Vec<(i32,)> = connection.query_as(&transaction, &inner, (id,)).unwrap();
        assert_eq!(numbers, [(id * 2,), (id * 2 + 1,)]);
        found += numbers.len();
    }
    connection.commit(transaction).unwrap();
    found
}

#[test]
fn a_loop_costs_its_first_rounds_once_and_then_one_trip() {
    let site = Site::start();
    let connection = site.create();
    let (first, found) = site.trips(|| nested_loop(&connection));
    assert_eq!(found, 100);
    assert!((4..=12).contains(&first), "{first} trips");
    assert_eq!(site.until_trips(1, || nested_loop(&connection)), 100);
    // Another connection has learned it with the first.
    let other = Connection::attach(&site.database(), &site.options()).unwrap();
    assert_eq!(site.until_trips(1, || nested_loop(&other)), 100);
    // Another process, too.
    connection.close().unwrap();
    other.close().unwrap();
    let begun = Instant::now();
    loop {
        farlink::leave(&site.name(), &site.options().farlink);
        let anew = Connection::attach(&site.database(), &site.options()).unwrap();
        let (trips, found) = site.trips(|| nested_loop(&anew));
        anew.close().unwrap();
        assert_eq!(found, 100);
        // Two descriptions, the loop, the end of a transaction.
        if trips <= 4 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{trips} trips: what was learned is not kept");
    }
}

#[test]
fn statements_transactions_rows_and_blobs_save_their_trips() {
    let site = Site::start();
    let connection = site.create();
    // On a warm link.
    drop(site.until_trips(2, || Connection::attach(&site.database(), &site.options()).unwrap()));
    let read = |text: &str| {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let rows = connection.query_all(&transaction, text).unwrap();
        connection.commit(transaction).unwrap();
        rows
    };
    let all = "select c.id, i.number from customer c cross join invoice i";
    // The description is known, rows come together, nothing was changed.
    assert_eq!(site.until_trips(1, || read(all)).len(), 5000);

    let notes = || {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let statement =
            connection.prepare(&transaction, "select id, note from customer order by id").unwrap();
        let mut bytes = 0;
        for row in connection.query(&transaction, &statement, ()).unwrap() {
            let row = row.unwrap();
            let id: i32 = row.get(0).unwrap();
            let text = connection.read_text(&transaction, row.get(1).unwrap()).unwrap();
            assert!(text.starts_with(&format!("note {id}")), "{text}");
            bytes += text.len();
        }
        connection.commit(transaction).unwrap();
        bytes
    };
    assert_eq!(site.until_trips(1, notes), 500_000);

    // Writes are exact: the statement, and the commit.
    let insert = |number: i32| {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let statement = connection.prepare(&transaction, "insert into invoice values (?, 1)").unwrap();
        connection.execute(&transaction, &statement, (number,)).unwrap();
        connection.commit(transaction).unwrap();
    };
    let mut number = 1000;
    let mut one_more = || {
        insert(number);
        number += 1;
    };
    site.until_trips(2, &mut one_more);
    assert!(site.trips(one_more).0 >= 2, "writes are asked for");
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let statement = connection.prepare(&transaction, "insert into invoice values (?, 1)").unwrap();
    let twice = connection.execute(&transaction, &statement, (1000,)).unwrap_err();
    assert!(twice.is_constraint_violation(), "{twice:?}");
    connection.rollback(transaction).unwrap();

    // A long BLOB, both ways.
    let transaction = connection.begin(&TransactionOptions::default()).unwrap();
    let contents: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    let mut writer = connection.create_blob(&transaction, BlobOptions::default()).unwrap();
    std::io::Write::write_all(&mut writer, &contents).unwrap();
    let id = writer.finish().unwrap();
    assert!(connection.read_blob(&transaction, id).unwrap() == contents);
    connection.commit(transaction).unwrap();
    connection.close().unwrap();
}

/// What edges do for unmodified programs by their settings, by the name of the database alone: twenty rows and their commit cost a trip
/// instead of twenty-one, and what is wrong with one of them is told by the commit at the latest, and none is kept.
#[test]
fn writes_are_answered_early_where_a_program_says_so() {
    let site = Site::start();
    site.create().close().unwrap();
    let mut options = site.options();
    (options.farlink.optimistic_writes, options.farlink.deferred_prepare) = (true, true);
    let name = format!("{}?optimistic-writes=true&deferred-prepare=true", site.database());
    let far = Connection::attach(&name, &site.options()).unwrap();
    let trips = || farlink::sums(&site.name(), &options.farlink).map_or(0, |sums| sums.trips);
    let add = |first: i64| -> farbird_client::Result<()> {
        let transaction = far.begin(&TransactionOptions::default())?;
        for id in first..first + 20 {
            let text = format!("insert into customer values ({id}, 'customer {id}', null)");
            let statement = far.prepare(&transaction, &text)?;
            far.execute(&transaction, &statement, ())?;
        }
        far.commit(transaction)
    };
    // A transaction that begins before the edge has heard which database this is begins at the server, which then does what is asked in it.
    let begun = Instant::now();
    let mut first = 100;
    loop {
        let before = trips();
        add(first).unwrap();
        first += 20;
        if trips() - before <= 2 {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "twenty rows never cost two trips at most");
    }
    let refused = add(first - 1).unwrap_err();
    assert!(refused.is_constraint_violation(), "{refused:?}");
    let transaction = far.begin(&TransactionOptions::default()).unwrap();
    let query = "select count(*) from customer where id >= 100";
    assert_eq!(far.query_all(&transaction, query).unwrap(), [[Value::integer(first - 100)]]);
    far.commit(transaction).unwrap();
    farlink::leave(&site.name(), &options.farlink);
    // What is misspelt does not silently have no effect.
    let error = Connection::attach(&format!("{}?optimistic=true", site.database()), &options).unwrap_err();
    assert!(error.message().contains("`optimistic` is none of"), "{error:?}");
}

#[test]
fn what_is_refused_is_refused_as_by_a_server() {
    let site = Site::start();
    site.create().close().unwrap();
    let mut options = site.options();
    options.password = "wrong".to_owned();
    let error = Connection::attach(&site.database(), &options).unwrap_err();
    assert!(error.has(farbird_client::isc::LOGIN), "{error:?}");
    let missing = Connection::attach(&format!("farlink://{}/other.fdb", site.address), &site.options());
    assert!(missing.unwrap_err().has(farbird_client::isc::IO_ERROR));
    // Who is not paired gets nowhere, and learns why.
    pair(site.folder.path(), "stranger", &["--name", "stranger"]);
    pair(site.folder.path(), "stranger", &[&pair(site.folder.path(), "far", &[])]);
    options.farlink.keys = site.folder.path().join("stranger");
    let error = Connection::attach(&site.database(), &options).unwrap_err();
    assert!(error.message().contains("not paired with each other"), "{error:?}");
    // Services have their own ways.
    let backup = farbird(site.folder.path()).args(["backup", &site.database(), "-"]).output().unwrap();
    assert!(String::from_utf8_lossy(&backup.stderr).contains("services do not pass"), "{backup:?}");
}

#[test]
fn the_asynchronous_face_and_pools_share_one_link() {
    let site = Site::start();
    site.create().close().unwrap();
    let manager = blocking::pool::Manager::new(site.database(), site.options());
    let pool = blocking::pool::Pool::builder().max_size(3).build(manager).unwrap();
    let connections: Vec<_> = (0..3).map(|_| pool.get().unwrap()).collect();
    for connection in &connections {
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        assert_eq!(connection.query_all(&transaction, "select count(*) from customer").unwrap().len(), 1);
        connection.commit(transaction).unwrap();
    }
    let count = async {
        let manager = pool::Manager::new(site.database(), site.options());
        let pool = pool::Pool::builder(manager).max_size(4).build().unwrap();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let pool = pool.clone();
            tasks.spawn(async move {
                let connection = pool.get().await.unwrap();
                let transaction = connection.begin(&TransactionOptions::default()).await.unwrap();
                let text = "select id from customer where id = 7";
                let rows = connection.query_all(&transaction, text).await.unwrap();
                connection.commit(transaction).await.unwrap();
                rows.len()
            });
        }
        tasks.join_all().await.into_iter().sum::<usize>()
    };
    // Runtimes come and go; the link stays.
    for _ in 0..2 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let count = async {
            let manager = pool::Manager::new(site.database(), site.options());
            let pool = pool::Pool::builder(manager).max_size(4).build().unwrap();
            let connection = pool.get().await.unwrap();
            let transaction = connection.begin(&TransactionOptions::default()).await.unwrap();
            connection.query_all(&transaction, "select 1 from rdb$database").await.unwrap().len()
        };
        assert_eq!(runtime.block_on(count), 1);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(count), 4);
}

#[test]
fn the_shell_goes_over_a_farlink() {
    let site = Site::start();
    site.create().close().unwrap();
    let shell = |arguments: &[&str]| {
        let mut command = farbird(site.folder.path());
        command
            .env("FARBIRD_FARLINK_KEYS", "near")
            .args(["sql", &site.database(), "-u", "sysdba"])
            .args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let rows = shell(&["-c", "select id, name from customer where id < 2 order by id", "--format", "csv"]);
    assert!(rows.contains("0,customer 0") && rows.contains("1,customer 1"), "{rows}");
    shell(&["-c", "insert into customer (id, name) values (77, 'new'); commit;"]);
    assert!(shell(&["-c", "select name from customer where id = 77"]).contains("new"));
}

/// Listening makes a second connection, which ends on this machine: what is posted far away comes over the link.
#[test]
fn events_come_over_the_link() {
    let site = Site::start();
    let poster = site.create();
    let post = "execute block as begin post_event 'ORDER'; post_event 'other'; post_event 'ORDER'; end";
    let run = || {
        let transaction = poster.begin(&TransactionOptions::default()).unwrap();
        poster.run(&transaction, post).unwrap();
        poster.commit(transaction).unwrap();
    };
    run();
    let wanted = [Posted { name: "ORDER".to_owned(), count: 2 }];
    let listener = Connection::attach(&site.database(), &site.options()).unwrap();
    let mut events = listener.events(&["ORDER"]).unwrap();
    assert_eq!(events.next(Some(Duration::from_millis(100))).unwrap(), None, "what was posted before");
    for _ in 0..2 {
        run();
        assert_eq!(events.next(Some(PATIENCE)).unwrap().expect("events in time"), wanted);
    }
    drop(events);
    // Once more on the same connection, and in the other face.
    let mut events = listener.events(&["ORDER"]).unwrap();
    run();
    assert_eq!(events.next(Some(PATIENCE)).unwrap().expect("events in time"), wanted);
    drop(events);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let told = runtime.block_on(async {
        let listener = farbird_client::Connection::attach(&site.database(), &site.options()).await.unwrap();
        let mut events = listener.events(&["ORDER"]).await.unwrap();
        run();
        let told = tokio::time::timeout(PATIENCE, events.next()).await.expect("events in time").unwrap();
        drop(events);
        listener.close().await.unwrap();
        told
    });
    assert_eq!(told, wanted);
}
