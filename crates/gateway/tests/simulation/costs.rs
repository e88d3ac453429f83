//! What each thing costs a program that knows nothing of the distance: a table of exact round trips, before a Farbird server.
//!
//! Each line's program runs in two attachments of an edge that has never seen it. Connecting is not counted, but where the line is about
//! it. All of them behave as clients of Firebird 2.5: nothing is put off but what nobody waits for.

use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{
    Array, ArrayColumn, ConnectOptions, Isolation, Statement, Transaction, TransactionOptions, Tuning, Value,
    WireCrypt,
};

use crate::server::TestServer;
use crate::world::{Link, World};

const TABLES: [&str; 10] = [
    "create table customer (id integer not null primary key, region char(8), note blob sub_type text)",
    "create table orders (id integer not null primary key, customer integer)",
    "create table item (orders integer, name varchar(20))",
    "create table written (id integer, text varchar(20))",
    "create table many (id integer, text varchar(40))",
    "create table measured (id integer not null primary key, readings integer[0:1, 1:2])",
    "create index orders_customer on orders (customer)",
    "create index item_orders on item (orders)",
    "execute block as declare n integer = 1; begin while (n <= 40) do begin \
       insert into customer values (:n, 'R' || mod(:n, 7), lpad('', 3000, 'note ' || :n)); \
       insert into orders values (:n * 10, :n); insert into orders values (:n * 10 + 1, :n); \
       insert into item values (:n * 10, 'a'); insert into item values (:n * 10 + 1, 'b'); n = n + 1; end end",
    "execute block as declare n integer = 0; begin while (n < 20000) do begin n = n + 1; \
       insert into many values (:n, 'the row with the number ' || :n); end end",
];

const CUSTOMERS: &str = "select id, region from customer order by id";
const ORDERS: &str = "select id from orders where customer = ? order by id";
const ITEMS: &str = "select name from item where orders = ?";

/// What a line's program has to work with.
struct Site<'w> {
    world: &'w World,
    options: &'w ConnectOptions,
    connection: Connection,
}

impl Site<'_> {
    fn begin(&self) -> Transaction {
        self.connection.begin(&TransactionOptions::default()).unwrap()
    }

    fn prepare(&self, transaction: &Transaction, sql: &str) -> Statement {
        self.connection.prepare(transaction, sql).unwrap()
    }

    fn rows(&self, transaction: &Transaction, statement: &Statement, given: &[Value]) -> Vec<Vec<Value>> {
        let rows = self.connection.query(transaction, statement, given).unwrap();
        rows.map(|row| row.unwrap().to_values()).collect()
    }

    fn commit(&self, transaction: Transaction) {
        self.connection.commit(transaction).unwrap();
    }

    fn trips(&self, work: impl FnOnce()) -> f64 {
        self.world.trips(work).1
    }
}

/// A line: what it is, what its program gives, and the trips of its first and second run.
type Line = (&'static str, fn(&Site<'_>) -> f64, [u32; 2]);

const LINES: [Line; 23] = [
    ("connect, first row", connect, [3, 2]),
    ("connect with encryption, first row", connect_encrypted, [5, 2]),
    ("begin", begin, [0, 0]),
    ("prepare", prepare, [1, 0]),
    ("first row of a prepared query", |site| rows(site, "select id from many where id = 7"), [1, 1]),
    ("10 rows", |site| rows(site, "select id from many where id <= 10"), [1, 1]),
    ("20,000 rows", |site| rows(site, "select id, text from many"), [1, 1]),
    ("two cursors at a time", two_cursors, [2, 1]),
    ("40 BLOBs with their rows", blobs, [1, 1]),
    ("commit of what only read", |site| ending(site, true, true), [0, 0]),
    ("rollback of what only read", |site| ending(site, true, false), [0, 0]),
    ("a write", a_write, [1, 1]),
    ("commit after a write", |site| ending(site, false, true), [1, 1]),
    // An array does not come with its row, and is written before the row that names it.
    ("a row, its array, commit", an_array, [2, 2]),
    ("an array, its row, commit", a_written_array, [3, 3]),
    ("loop in a loop", |site| nested(site, false), [3, 1]),
    ("loop in a loop in a loop", |site| nested(site, true), [7, 1]),
    ("loop over a list that was read before", over_a_list, [2, 0]),
    ("loop over a list of another transaction", over_an_old_list, [3, 3]),
    // Each has a snapshot of its own: what was run ahead before it began is not what it would see.
    ("a snapshot for each query", |site| transactions(site, Isolation::Snapshot), [40, 40]),
    (
        "a transaction of READ COMMITTED for each query",
        |site| transactions(site, Isolation::ReadCommitted),
        [3, 3],
    ),
    ("prepare and free in each iteration", prepares, [3, 0]),
    ("insert and commit, 10 times", inserts, [20, 20]),
];

/// What may cost one trip less the first time: the server's threads decide which of its rules is learnt first.
const ONE_LESS: &str = "loop in a loop in a loop";

#[test]
fn each_thing_costs_so_many_trips() {
    let server = TestServer::start();
    drop(server.create("costs.fdb", &TABLES));
    let options = ConnectOptions { tuning: Tuning::preset("2.5").unwrap(), ..server.options.clone() };
    let one_way = Duration::from_millis(100);
    let mut wrong = Vec::new();
    for (name, work, expected) in LINES {
        // An edge that has never seen anything.
        let world = World::of_farbird(server.address, server.farlink(), Link { one_way, rate: None });
        let seen = [0, 1].map(|_| {
            let connection = world.attach("costs.fdb", &options).unwrap();
            let trips = work(&Site { world: &world, options: &options, connection });
            world.pass(Duration::from_secs(1));
            trips
        });
        let is_right = seen.iter().zip(expected).enumerate().all(|(run, (seen, expected))| {
            let least = if run == 0 && name == ONE_LESS { expected - 1 } else { expected };
            (f64::from(least) - 0.01..f64::from(expected) + 0.01).contains(seen)
        });
        println!("{name}: {seen:.2?}");
        if !is_right {
            wrong.push(format!("{name}: {seen:.2?} instead of {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Small BLOBs come before their rows to a client of 5.0.3, wherever the server's bytes are cut.
#[test]
fn blobs_come_inline_to_those_who_ask_for_them() {
    let server = TestServer::start();
    drop(server.create("inline.fdb", &TABLES));
    let options = ConnectOptions { tuning: Tuning::preset("5.0.3").unwrap(), ..server.options.clone() };
    let one_way = Duration::from_millis(100);
    let world = World::of_farbird(server.address, server.farlink(), Link { one_way, rate: None });
    let seen = [0, 1].map(|_| {
        let connection = world.attach("inline.fdb", &options).unwrap();
        blobs(&Site { world: &world, options: &options, connection })
    });
    assert_eq!(seen.map(f64::round), [1.0, 1.0], "{seen:?}");
}

fn connect(site: &Site<'_>) -> f64 {
    connect_as(site, WireCrypt::Disabled)
}

fn connect_encrypted(site: &Site<'_>) -> f64 {
    connect_as(site, WireCrypt::Required)
}

fn connect_as(site: &Site<'_>, wire_crypt: WireCrypt) -> f64 {
    let options = ConnectOptions { wire_crypt, ..site.options.clone() };
    let again = || {
        let connection = site.world.attach_as_said("costs.fdb", &options).unwrap();
        let transaction = connection.begin(&TransactionOptions::default()).unwrap();
        let statement = connection.prepare(&transaction, "select id from customer where id = 1").unwrap();
        connection.query(&transaction, &statement, &[]).unwrap().next().unwrap().unwrap();
    };
    site.trips(again)
}

fn begin(site: &Site<'_>) -> f64 {
    site.trips(|| drop(site.begin()))
}

fn prepare(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    site.trips(|| drop(site.prepare(&transaction, CUSTOMERS)))
}

fn rows(site: &Site<'_>, sql: &str) -> f64 {
    let transaction = site.begin();
    let statement = site.prepare(&transaction, sql);
    site.trips(|| assert!(!site.rows(&transaction, &statement, &[]).is_empty()))
}

fn two_cursors(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let [one, two] = [CUSTOMERS, "select id, text from many"].map(|sql| site.prepare(&transaction, sql));
    site.trips(|| {
        let mut one = site.connection.query(&transaction, &one, &[]).unwrap();
        let mut two = site.connection.query(&transaction, &two, &[]).unwrap();
        for _ in 0..40 {
            one.next().unwrap().unwrap();
            two.next().unwrap().unwrap();
        }
    })
}

fn blobs(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let statement = site.prepare(&transaction, "select note from customer");
    site.trips(|| {
        for row in site.connection.query(&transaction, &statement, &[]).unwrap() {
            let Value::Blob(id) = row.unwrap().to_values()[0] else { panic!("no BLOB") };
            assert_eq!(site.connection.read_blob(&transaction, id).unwrap().len(), 3_000);
        }
    })
}

fn ending(site: &Site<'_>, only_reads: bool, commits: bool) -> f64 {
    let transaction = site.begin();
    match only_reads {
        true => drop(site.connection.query_all(&transaction, CUSTOMERS).unwrap()),
        false => site.connection.run(&transaction, "insert into written values (1, 'a')").unwrap(),
    }
    site.trips(|| {
        let ended = match commits {
            true => site.connection.commit(transaction),
            false => site.connection.rollback(transaction),
        };
        ended.unwrap();
    })
}

fn a_write(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let insert = site.prepare(&transaction, "insert into written values (?, 'a')");
    site.trips(|| drop(site.connection.execute(&transaction, &insert, &[Value::integer(1)]).unwrap()))
}

/// A row of its own for the one who reads it, and what its array is of.
fn measured(site: &Site<'_>, elements: [i64; 4]) -> (Statement, ArrayColumn, Array) {
    let transaction = site.begin();
    site.connection.run(&transaction, "delete from measured").unwrap();
    let insert = site.prepare(&transaction, "insert into measured values (1, ?)");
    let column = site.connection.array_column(&transaction, "MEASURED", "READINGS").unwrap();
    site.commit(transaction);
    (insert, column, Array::new([0..=1, 1..=2], elements.map(Value::integer)).unwrap())
}

fn an_array(site: &Site<'_>) -> f64 {
    let (insert, column, array) = measured(site, [1, -2, 3, 4]);
    let transaction = site.begin();
    let id = site.connection.write_array(&transaction, &column, &array).unwrap();
    site.connection.execute(&transaction, &insert, &[Value::Blob(id)]).unwrap();
    site.commit(transaction);
    let transaction = site.begin();
    let query = site.prepare(&transaction, "select readings from measured");
    site.trips(|| {
        let rows = site.rows(&transaction, &query, &[]);
        let Value::Blob(id) = rows[0][0] else { panic!("no array: {rows:?}") };
        assert_eq!(site.connection.read_array(&transaction, &column, id).unwrap(), array);
        site.commit(transaction);
    })
}

fn a_written_array(site: &Site<'_>) -> f64 {
    let (insert, column, array) = measured(site, [5, 6, 7, 8]);
    let transaction = site.begin();
    site.trips(|| {
        let id = site.connection.write_array(&transaction, &column, &array).unwrap();
        site.connection.execute(&transaction, &insert, &[Value::Blob(id)]).unwrap();
        site.commit(transaction);
    })
}

/// Statements are prepared before the time begins.
fn nested(site: &Site<'_>, is_deep: bool) -> f64 {
    let transaction = site.begin();
    let [customers, orders, items] = [CUSTOMERS, ORDERS, ITEMS].map(|sql| site.prepare(&transaction, sql));
    site.trips(|| {
        let mut count = 0;
        for customer in site.connection.query(&transaction, &customers, &[]).unwrap() {
            let customer = customer.unwrap().to_values();
            for order in site.rows(&transaction, &orders, &customer[..1]) {
                count += 1;
                if is_deep {
                    assert_eq!(site.rows(&transaction, &items, &order[..1]).len(), 1);
                }
            }
        }
        assert_eq!(count, 80);
    })
}

fn over_a_list(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let [customers, orders] = [CUSTOMERS, ORDERS].map(|sql| site.prepare(&transaction, sql));
    let list = site.rows(&transaction, &customers, &[]);
    site.trips(|| {
        for customer in &list {
            assert_eq!(site.rows(&transaction, &orders, &customer[..1]).len(), 2);
        }
    })
}

fn over_an_old_list(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let [customers, orders] = [CUSTOMERS, ORDERS].map(|sql| site.prepare(&transaction, sql));
    let list = site.rows(&transaction, &customers, &[]);
    site.commit(transaction);
    let transaction = site.begin();
    site.trips(|| {
        for customer in &list {
            assert_eq!(site.rows(&transaction, &orders, &customer[..1]).len(), 2);
        }
    })
}

fn transactions(site: &Site<'_>, isolation: Isolation) -> f64 {
    let options = TransactionOptions { isolation, ..TransactionOptions::default() };
    let transaction = site.begin();
    let [customers, orders] = [CUSTOMERS, ORDERS].map(|sql| site.prepare(&transaction, sql));
    let list = site.rows(&transaction, &customers, &[]);
    site.commit(transaction);
    site.trips(|| {
        for customer in &list {
            let transaction = site.connection.begin(&options).unwrap();
            assert_eq!(site.rows(&transaction, &orders, &customer[..1]).len(), 2);
            site.commit(transaction);
        }
    })
}

fn prepares(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let customers = site.prepare(&transaction, CUSTOMERS);
    let list = site.rows(&transaction, &customers, &[]);
    site.trips(|| {
        for customer in &list {
            let orders = site.prepare(&transaction, ORDERS);
            assert_eq!(site.rows(&transaction, &orders, &customer[..1]).len(), 2);
        }
    })
}

fn inserts(site: &Site<'_>) -> f64 {
    let transaction = site.begin();
    let insert = site.prepare(&transaction, "insert into written values (?, 'a')");
    site.commit(transaction);
    site.trips(|| {
        for number in 0..10 {
            let transaction = site.begin();
            site.connection.execute(&transaction, &insert, &[Value::integer(number)]).unwrap();
            site.commit(transaction);
        }
    })
}
