//! Interleavings that speculation could get wrong, written down: something happens in the middle of a loop whose queries were run ahead.
//!
//! Each is played twice, at the server and through edge and origin, in databases of their own; what the program is answered is the same.
//! A loop is played twice before without anything in between, so that the edge has learned it; that its queries were in fact
//! run ahead is asserted where they may be.

use std::cell::RefCell;
use std::time::Duration;

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, Isolation, Transaction, TransactionOptions, Tuning, Value, Wait};
use farbird_types::Error;

use crate::network::Conditions;
use crate::player::{FILL, TABLES};
use crate::server::{TestServer, run};
use crate::world::World;

const ISOLATIONS: [Isolation; 5] = [
    Isolation::Snapshot,
    Isolation::ReadCommitted,
    Isolation::ReadConsistency,
    Isolation::ReadCommittedNoRecordVersion,
    Isolation::TableStability,
];

const CUSTOMERS: &str = "select id, region from customer order by id";
const ORDERS: &str = "select id, total from orders where customer = ? order by id";
const ITEMS: &str = "select name from item where orders = ? order by name";

/// Where a program is attached.
enum Side<'a> {
    Near(&'a TestServer),
    Far(&'a TestServer, World, World),
}

impl Side<'_> {
    fn file(&self) -> &'static str {
        match self {
            Side::Near(_) => "near.fdb",
            Side::Far(..) => "away.fdb",
        }
    }

    fn options(&self) -> ConnectOptions {
        let server = match self {
            Side::Near(server) | Side::Far(server, ..) => server,
        };
        ConnectOptions { tuning: Tuning::preset("2.5").unwrap(), ..server.options.clone() }
    }

    /// As the program itself is.
    fn attach(&self, options: &ConnectOptions) -> Connection {
        match self {
            Side::Near(server) => server.attach(self.file(), options).unwrap(),
            Side::Far(_, world, _) => world.attach(self.file(), options).unwrap(),
        }
    }

    /// At the server, on either side.
    fn attach_at_server(&self) -> Connection {
        match self {
            Side::Near(server) | Side::Far(server, ..) => {
                server.attach(self.file(), &self.options()).unwrap()
            }
        }
    }

    /// Through another edge.
    fn attach_elsewhere(&self) -> Connection {
        match self {
            Side::Near(_) => self.attach_at_server(),
            Side::Far(_, _, other) => other.attach(self.file(), &self.options()).unwrap(),
        }
    }

    /// What was said at the server is heard at edges.
    fn pass(&self) {
        if let Side::Far(_, world, other) = self {
            other.pass(Duration::from_secs(1));
            world.pass(Duration::from_secs(1));
        }
    }
}

/// What may be used by what happens in between.
struct Scene<'a> {
    side: &'a Side<'a>,
    connection: &'a Connection,
    isolation: Isolation,
    transaction: &'a RefCell<Option<Transaction>>,
    log: &'a RefCell<Vec<String>>,
}

impl Scene<'_> {
    /// A statement of the program, in its transaction.
    fn run(&self, text: &str) {
        if let Some(transaction) = &*self.transaction.borrow() {
            self.note(text, self.connection.run(transaction, text));
        }
    }

    fn note<T: std::fmt::Debug>(&self, what: &str, result: Result<T, Error>) {
        self.log.borrow_mut().push(match result {
            Ok(seen) => format!("{what}: {seen:?}"),
            Err(error) => format!("{what}: {error}"),
        });
    }

    fn begin(&self) {
        let begun = begin(self.connection, self.isolation);
        *self.transaction.borrow_mut() = Some(begun);
    }

    /// A statement of somebody else, committed.
    fn by(&self, other: &Connection, text: &str) {
        let options = TransactionOptions { wait: Wait::No, ..TransactionOptions::default() };
        let transaction = other.begin(&options).unwrap();
        let done = other.run(&transaction, text);
        match &done {
            Ok(()) => other.commit(transaction).unwrap(),
            Err(_) => other.rollback(transaction).unwrap(),
        }
        self.note(text, done);
        self.side.pass();
    }
}

fn begin(connection: &Connection, isolation: Isolation) -> Transaction {
    let options = TransactionOptions { isolation, wait: Wait::No, ..TransactionOptions::default() };
    connection.begin(&options).unwrap()
}

/// A program: for each customer its orders, for each order its items, and what else is asked for a customer.
struct Loop<'a> {
    inner: &'a [&'a str],
    /// Statements are prepared for each execution.
    prepares: bool,
    options: Option<ConnectOptions>,
}

impl Loop<'_> {
    fn play(
        &self,
        side: &Side<'_>,
        isolation: Isolation,
        between: &dyn Fn(&Scene<'_>, usize),
    ) -> Vec<String> {
        let log = RefCell::new(Vec::new());
        let options = self.options.clone().unwrap_or_else(|| side.options());
        let connection = side.attach(&options);
        let quiet = |_: &Scene<'_>, _: usize| {};
        for (run, between) in [&quiet as &dyn Fn(&Scene<'_>, usize), &quiet, between].into_iter().enumerate()
        {
            let transaction = RefCell::new(Some(begin(&connection, isolation)));
            let scene =
                Scene { side, connection: &connection, isolation, transaction: &transaction, log: &log };
            log.borrow_mut().push(format!("run {run}"));
            self.once(&scene, between);
            if let Some(transaction) = transaction.borrow_mut().take() {
                scene.note("commit", connection.commit(transaction));
            }
        }
        connection.close().unwrap_or_else(|error| panic!("{error}: {:#?}", log.borrow()));
        log.into_inner()
    }

    fn once(&self, scene: &Scene<'_>, between: &dyn Fn(&Scene<'_>, usize)) {
        let texts: Vec<&str> = self.inner.iter().copied().chain([ORDERS, ITEMS]).collect();
        let prepare = |text: &str| {
            let transaction = scene.transaction.borrow();
            scene.connection.prepare(transaction.as_ref().unwrap(), text)
        };
        let kept: Vec<_> = match self.prepares {
            true => Vec::new(),
            false => texts.iter().map(|text| prepare(text).unwrap()).collect(),
        };
        let ask = |query: usize, given: &Value| -> Vec<Value> {
            let transaction = scene.transaction.borrow();
            let Some(transaction) = transaction.as_ref() else { return Vec::new() };
            let mut first = Vec::new();
            let mut rows = Vec::new();
            let result = (|| -> Result<(), Error> {
                let fresh;
                let statement = match kept.get(query) {
                    Some(statement) => statement,
                    None => {
                        fresh = scene.connection.prepare(transaction, texts[query])?;
                        &fresh
                    }
                };
                for row in scene.connection.query(transaction, statement, std::slice::from_ref(given))? {
                    let row = row?.to_values();
                    first.push(row[0].clone());
                    let mut shown = format!("{row:?}");
                    for value in &row {
                        if let Value::Blob(id) = value {
                            shown = format!("{:?}", scene.connection.read_blob(transaction, *id)?);
                        }
                    }
                    rows.push(shown);
                }
                Ok(())
            })();
            let what = format!("{} of {given:?}: {rows:?}", texts[query]);
            scene.note(&what, result);
            first
        };
        let outer = {
            let transaction = scene.transaction.borrow();
            let statement = scene.connection.prepare(transaction.as_ref().unwrap(), CUSTOMERS).unwrap();
            scene.connection.query(transaction.as_ref().unwrap(), &statement, &[]).unwrap()
        };
        for (number, row) in outer.enumerate() {
            let row = match row {
                Ok(row) => row.to_values(),
                Err(error) => return scene.note("outer", Err::<(), _>(error)),
            };
            scene.note("outer", Ok(&row));
            between(scene, number);
            for query in 0..self.inner.len() {
                ask(query, &row[0]);
            }
            for order in ask(self.inner.len(), &row[0]) {
                ask(self.inner.len() + 1, &order);
            }
        }
    }
}

/// Databases on one server, and two edges before one of them.
struct Theatre {
    server: TestServer,
    admins: [Connection; 2],
}

impl Theatre {
    fn new(more: &[&str]) -> Theatre {
        let server = TestServer::start();
        let tables: Vec<&str> = TABLES.iter().chain(more).copied().collect();
        let admins = ["near.fdb", "away.fdb"].map(|file| server.create(file, &tables));
        Theatre { server, admins }
    }

    fn run(&self, text: &str) {
        self.admins.iter().for_each(|admin| run(admin, text));
    }

    fn world(&self) -> World {
        World::new(&self.server, Conditions::delay(Duration::from_millis(100)))
    }

    /// Plays a loop on both sides; gives how many executions were answered by what was run ahead.
    fn check_in(
        &self,
        isolation: Isolation,
        program: &Loop<'_>,
        before: &dyn Fn(&Connection),
        between: &dyn Fn(&Scene<'_>, usize),
    ) -> u64 {
        self.run(FILL);
        self.admins.iter().for_each(before);
        let near = Side::Near(&self.server);
        let expected = program.play(&near, isolation, between);
        let far = Side::Far(&self.server, self.world(), self.world());
        let seen = program.play(&far, isolation, between);
        for (index, (seen, expected_line)) in seen.iter().zip(&expected).enumerate() {
            assert_eq!(
                seen.replace("away.fdb", "near.fdb"),
                *expected_line,
                "{isolation:?}, behind\n{}",
                expected[..index].join("\n")
            );
        }
        assert_eq!(seen.len(), expected.len(), "{isolation:?}");
        let Side::Far(_, world, _) = &far else { unreachable!() };
        world.pass(Duration::from_secs(1));
        world.site().rules().total().used
    }

    /// The same in each isolation; what may be answered by what was run ahead was.
    fn check(&self, program: &Loop<'_>, before: &dyn Fn(&Connection), between: &dyn Fn(&Scene<'_>, usize)) {
        for isolation in ISOLATIONS {
            let used = self.check_in(isolation, program, before, between);
            assert!(used > 0, "{isolation:?}: nothing was run ahead");
        }
    }
}

const PLAIN: Loop<'_> = Loop { inner: &[], prepares: false, options: None };
const EACH_TIME: Loop<'_> = Loop { inner: &[], prepares: true, options: None };

fn nothing(_: &Connection) {}

/// Changes what the loop will read for the customers that are still to come.
const CHANGES: [&str; 4] = [
    "update orders set total = total + 100",
    "insert into item (orders, name) select id, 'late' from orders where id > 40",
    "delete from orders where customer = 5",
    "insert into orders values (60000, 4, 1)",
];

#[test]
fn writes_of_the_program_itself_are_seen_at_once() {
    let theatre = Theatre::new(&[]);
    for change in [0, 2] {
        theatre.check(&PLAIN, &nothing, &|scene, row| {
            if row == 2 {
                scene.run(CHANGES[change]);
            }
        });
    }
    // By a procedure, a trigger, a block, an autonomous transaction, and by what looks like a query.
    let ways = [
        "execute procedure add_order(5)",
        "insert into item (orders, name) values (40, 'fires')",
        "execute block as begin update orders set total = 0; end",
        "execute block as begin in autonomous transaction do update orders set total = 3 where customer = 5; end",
        "merge into orders o using rdb$database on o.customer = 5 when matched then update set total = 9",
        "update or insert into orders values (50, 5, 77) matching (id)",
    ];
    let journal = Loop { inner: &["select count(*) from journal where id >= ?"], ..EACH_TIME };
    for way in ways {
        for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
            theatre.check_in(isolation, &journal, &nothing, &|scene, row| {
                if row == 2 {
                    scene.run(way);
                }
            });
        }
    }
}

#[test]
fn another_transaction_of_the_same_program_commits() {
    let theatre = Theatre::new(&[]);
    for change in CHANGES {
        theatre.check(&PLAIN, &nothing, &|scene, row| {
            if row == 2 {
                scene.by(scene.connection, change);
            }
        });
    }
}

#[test]
fn others_commit() {
    let theatre = Theatre::new(&[]);
    for (way, change) in CHANGES.iter().enumerate().flat_map(|(index, change)| {
        (0..3).filter(move |way| index == 0 || way % 2 == index % 2).map(move |way| (way, change))
    }) {
        theatre.check(&PLAIN, &nothing, &|scene, row| {
            if row == 2 {
                let other = match way {
                    0 => scene.side.attach(&scene.side.options()),
                    1 => scene.side.attach_at_server(),
                    _ => scene.side.attach_elsewhere(),
                };
                scene.by(&other, change);
                other.close().unwrap();
            }
        });
    }
}

/// Others commit at the server, and nobody waits until the edge has heard of it. In READ COMMITTED an answer may then be as old as an ordinary
/// reply would be that has been on its way for as long; what was seen once is never unseen, and what was heard of is seen.
#[test]
fn what_was_seen_in_read_committed_is_never_unseen() {
    let theatre = Theatre::new(&[]);
    theatre.run(FILL);
    let far = Side::Far(&theatre.server, theatre.world(), theatre.world());
    let [_, admin] = &theatre.admins;
    let connection = far.attach(&far.options());
    let total = "select min(total) from orders where customer = ?";
    for isolation in
        [Isolation::ReadCommitted, Isolation::ReadConsistency, Isolation::ReadCommittedNoRecordVersion]
    {
        run(admin, "update orders set total = 0");
        far.pass();
        let (mut written, mut seen) = (0, 0);
        for round in 0..12 {
            let transaction = begin(&connection, isolation);
            let outer = connection.prepare(&transaction, CUSTOMERS).unwrap();
            let inner = connection.prepare(&transaction, total).unwrap();
            for (number, row) in connection.query(&transaction, &outer, &[]).unwrap().enumerate() {
                let id = row.unwrap().to_values()[0].clone();
                if round > 2 && (number + round) % 3 == 0 {
                    written += 1;
                    run(admin, &format!("update orders set total = {written}"));
                    if (number + round) % 2 == 0 {
                        far.pass();
                        seen = written;
                    }
                }
                let mut rows = connection.query(&transaction, &inner, &[id]).unwrap();
                let Value::Integer { unscaled, .. } = rows.next().unwrap().unwrap().to_values()[0] else {
                    panic!()
                };
                let now = unscaled / 100;
                assert!(
                    seen <= now && now <= written,
                    "{isolation:?}: {now} was read, {seen} is known, {written} written"
                );
                seen = now;
            }
            connection.commit(transaction).unwrap();
        }
        assert!(written > 10);
    }
    let Side::Far(_, world, _) = &far else { unreachable!() };
    assert!(world.site().rules().total().used > 0, "nothing was run ahead");
    connection.close().unwrap();
}

/// What is not committed is not seen; in READ COMMITTED NO RECORD VERSION it stands in the way.
#[test]
fn others_have_not_committed() {
    let theatre = Theatre::new(&[]);
    for isolation in ISOLATIONS {
        theatre.check_in(isolation, &PLAIN, &nothing, &|scene, row| {
            if row == 2 {
                let other = scene.side.attach(&scene.side.options());
                let transaction = begin(&other, Isolation::Snapshot);
                scene.note("other", other.run(&transaction, CHANGES[0]));
                // It is still there while the next ones are asked for.
                std::mem::forget((other, transaction));
            }
        });
        theatre.end_others();
    }
}

impl Theatre {
    /// Ends attachments that a test has left behind.
    fn end_others(&self) {
        for admin in &self.admins {
            run(admin, "delete from mon$attachments where mon$attachment_id <> current_connection");
        }
    }
}

#[test]
fn definitions_change() {
    let theatre = Theatre::new(&[
        "create view shown (id, name) as select orders, name from item",
        "create function doubled (n integer) returns integer as begin return n * 2; end",
    ]);
    let again = |admin: &Connection| {
        for text in [
            "create or alter view shown (id, name) as select orders, name from item",
            "create or alter function doubled (n integer) returns integer as begin return n * 2; end",
        ] {
            run(admin, text);
        }
    };
    let program = Loop {
        inner: &[
            "select count(*), max(name) from shown where id = ? * 10",
            "select doubled(?) from rdb$database",
        ],
        ..EACH_TIME
    };
    let definitions = [
        "create or alter view shown (id, name) as select orders, 'x' || name from item",
        "create or alter function doubled (n integer) returns integer as begin return n * 3; end",
        "create index item_name on item (name)",
        "drop index item_name",
        "alter table item add extra integer default 5",
        "alter table item drop extra",
        "create or alter trigger orders_bu for orders before update as begin new.total = 1; end",
    ];
    for text in definitions {
        for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
            theatre.check_in(isolation, &program, &again, &|scene, row| {
                if row == 2 {
                    let other = scene.side.attach(&scene.side.options());
                    scene.by(&other, text);
                    other.close().unwrap();
                }
            });
        }
    }
}

/// A program of a user whose privileges are taken away in the middle.
#[test]
fn privileges_are_revoked() {
    let theatre = Theatre::new(&[]);
    run(&theatre.admins[0], "create user reader password 'reader'");
    let grants = [
        "grant select on customer to reader",
        "grant select on orders to reader",
        "grant select on item to reader",
    ];
    let grant = |admin: &Connection| grants.iter().for_each(|grant| run(admin, grant));
    let reader =
        ConnectOptions { tuning: Tuning::preset("2.5").unwrap(), ..ConnectOptions::new("reader", "reader") };
    for (prepares, by_edge) in [(true, true), (true, false), (false, true), (false, false)] {
        let program = Loop { inner: &[], prepares, options: Some(reader.clone()) };
        for isolation in [Isolation::Snapshot, Isolation::ReadCommitted] {
            theatre.check_in(isolation, &program, &grant, &|scene, row| {
                if row == 2 {
                    let other = match by_edge {
                        true => scene.side.attach(&scene.side.options()),
                        false => scene.side.attach_at_server(),
                    };
                    scene.by(&other, "revoke select on item from reader");
                    other.close().unwrap();
                }
            });
        }
    }
}

/// The session itself becomes another: what was run ahead for the one before is not for this one.
#[test]
fn the_role_and_the_session_change() {
    let theatre = Theatre::new(&[
        "create role reading",
        "grant select on customer to reader",
        "grant select on orders to reader",
        "grant select on item to reading",
        "grant reading to reader",
        "create table moment (customer integer, at_ timestamp with time zone)",
        "execute block as declare n integer = 1; begin while (n < 7) do begin \
           insert into moment values (:n, timestamp '2020-01-01 10:00 UTC'); n = n + 1; end end",
        "grant select on moment to reader",
    ]);
    run(&theatre.admins[0], "create user reader password 'reader'");
    let reader = ConnectOptions {
        tuning: Tuning::preset("2.5").unwrap(),
        role: Some("READING".to_owned()),
        ..ConnectOptions::new("reader", "reader")
    };
    let changes = [
        "set role none",
        "alter session reset",
        "set time zone 'America/New_York'",
        "set bind of timestamp with time zone to varchar",
    ];
    for prepares in [true, false] {
        let program = Loop {
            inner: &["select cast(at_ as varchar(60)) from moment where customer = ?"],
            prepares,
            options: Some(reader.clone()),
        };
        for (isolation, text) in [Isolation::Snapshot, Isolation::ReadCommitted]
            .into_iter()
            .flat_map(|isolation| changes.map(|text| (isolation, text)))
        {
            // In the transaction that goes on, and in one of its own, which leaves the other untouched.
            theatre.check_in(isolation, &program, &nothing, &|scene, row| {
                if row == 2 {
                    scene.run(text);
                }
            });
            theatre.check_in(isolation, &program, &nothing, &|scene, row| {
                if row == 2 {
                    let own = begin(scene.connection, Isolation::ReadCommitted);
                    scene.note(text, scene.connection.run(&own, text));
                    scene.note("commit", scene.connection.commit(own));
                }
            });
        }
    }
}

#[test]
fn transactions_restart_in_the_middle() {
    let theatre = Theatre::new(&[]);
    let ends: [fn(&Scene<'_>); 4] = [
        |scene| {
            let transaction =
                scene.transaction.borrow().as_ref().map(|own| scene.connection.commit_retaining(own));
            scene.note("retained", transaction.unwrap());
        },
        |scene| {
            let transaction =
                scene.transaction.borrow().as_ref().map(|own| scene.connection.rollback_retaining(own));
            scene.note("rolled back", transaction.unwrap());
        },
        |scene| {
            let transaction = scene.transaction.borrow_mut().take().unwrap();
            scene.note("committed", scene.connection.commit(transaction));
            scene.begin();
        },
        |scene| {
            let transaction = scene.transaction.borrow_mut().take().unwrap();
            scene.note("rolled back", scene.connection.rollback(transaction));
            scene.begin();
        },
    ];
    for end in ends {
        for writes in [true, false] {
            theatre.check(&PLAIN, &nothing, &|scene, row| {
                if row == 1 {
                    let other = scene.side.attach(&scene.side.options());
                    scene.by(&other, CHANGES[1]);
                    other.close().unwrap();
                }
                if row == 2 {
                    if writes {
                        scene.run("update orders set total = 5 where customer = 4");
                    }
                    end(scene);
                }
            });
        }
    }
}

#[test]
fn savepoints_are_rolled_back() {
    let theatre = Theatre::new(&[]);
    theatre.check(&PLAIN, &nothing, &|scene, row| match row {
        1 => scene.run("savepoint here"),
        2 => scene.run(CHANGES[0]),
        3 => scene.run("rollback to savepoint here"),
        4 => scene.run("release savepoint here"),
        _ => {}
    });
}

/// A statement of the loop fails for one of the rows, and the program goes on.
#[test]
fn exceptions_inside_the_loop() {
    let theatre = Theatre::new(&[
        "create exception odd 'odd'",
        "create function picky (n integer) returns integer as begin if (n = 3) then exception odd; return n; end",
    ]);
    let program = Loop {
        inner: &[
            "select total / (customer - 4) from orders where customer = ?",
            "select picky(?) from rdb$database",
            "select cast(substring(name from 2) as integer) + 1 from item where orders = ? * 10",
        ],
        ..PLAIN
    };
    theatre.check(&program, &nothing, &|_, _| {});
}

/// What is no query of relations alone is done exactly as often as the program asks.
#[test]
fn what_does_more_than_read_is_never_run_ahead() {
    let theatre = Theatre::new(&[
        "create function noting (n integer) returns integer as begin insert into journal values ('noted', :n); return n; end",
        "create procedure noted (n integer) returns (m integer) as begin m = n; insert into journal values ('proc', :n); suspend; end",
        "create view noting_view (id, m) as select id, noting(id) from customer",
        "create table lazy (id integer, done computed by (noting(id)))",
        "insert into lazy (id) values (3)",
        "create package tools as begin \
           function noting (n integer) returns integer; \
           procedure listed returns (m integer); end",
        "create package body tools as begin \
           function noting (n integer) returns integer as begin insert into journal values ('packed', :n); return n; end \
           procedure listed returns (m integer) as begin insert into journal values ('listed', 1); m = 3; suspend; end end",
        "create view packed_view (id, m) as select id, tools.noting(id) from customer",
        "create function dynamic (n integer) returns integer as begin \
           execute statement ('insert into journal values (''dynamic'', ?)') (:n); return n; end",
        "create view dynamic_view (id, m) as select id, dynamic(id) from customer",
    ]);
    let program = Loop {
        inner: &[
            "select next value for counted, cast(? as integer) from rdb$database",
            "select gen_id(counted, 1) from customer where id = ?",
            "select rdb$set_context('USER_SESSION', 'last', ?) from rdb$database",
            "select rdb$get_context('USER_SESSION', 'last'), id from customer where id = ?",
            "select noting(?) from rdb$database",
            "select m from noted(?)",
            "select m from noting_view where id = ?",
            "select done from lazy where id = ?",
            "select id from customer where id = ? with lock",
            "select id from customer where id = ? for update",
            "select (select count(*) from journal where what = 'noted') from customer where id = ?",
            "select id from customer where id = ? and exists (select m from noted(1))",
            "select tools.noting(?) from rdb$database",
            "select m from tools.listed where m = ?",
            "select m from packed_view where id = ?",
            "select dynamic(?) from rdb$database",
            "select m from dynamic_view where id = ?",
            "execute block (n integer = ?) returns (m integer) as begin \
               execute statement ('insert into journal values (''block'', ?)') (:n); m = n; suspend; end",
        ],
        ..PLAIN
    };
    for isolation in ISOLATIONS {
        theatre.check_in(isolation, &program, &nothing, &|_, _| {});
        let [near, away] = &theatre.admins;
        let journal = "select what, id, count(*) from journal group by 1, 2 order by 1, 2";
        assert_eq!(crate::server::all(near, journal), crate::server::all(away, journal), "{isolation:?}");
        let counted = "select gen_id(counted, 0) from rdb$database";
        assert_eq!(crate::server::all(near, counted), crate::server::all(away, counted), "{isolation:?}");
    }
}

/// What depends on when it runs is asked each time.
#[test]
fn moments_are_asked_for() {
    let theatre = Theatre::new(&[]);
    theatre.run(FILL);
    let world = theatre.world();
    let options = ConnectOptions { tuning: Tuning::preset("2.5").unwrap(), ..theatre.server.options.clone() };
    for inner in [
        "select localtimestamp from customer where id = ?",
        "select cast('now' as timestamp) from customer where id = ?",
        "select rand() from customer where id = ?",
        "select gen_uuid() from customer where id = ?",
        "select current_transaction from customer where id = ?",
    ] {
        let connection = world.attach("away.fdb", &options).unwrap();
        let mut seen = Vec::new();
        for _ in 0..3 {
            let transaction = begin(&connection, Isolation::Snapshot);
            let outer = connection.prepare(&transaction, CUSTOMERS).unwrap();
            let statement = connection.prepare(&transaction, inner).unwrap();
            for row in connection.query(&transaction, &outer, &[]).unwrap() {
                let id = row.unwrap().to_values()[0].clone();
                let rows = connection.query(&transaction, &statement, &[id]).unwrap();
                seen.extend(rows.map(|row| row.unwrap().to_values()[0].clone()));
            }
            connection.commit(transaction).unwrap();
        }
        connection.close().unwrap();
        assert!(!seen.is_empty());
        // A transaction's number is another in each of the three.
        let mut distinct: Vec<String> = seen.iter().map(|value| format!("{value:?}")).collect();
        distinct.dedup();
        assert!(distinct.len() >= 3, "{inner}: {seen:?}");
        let total = world.site().rules().total();
        assert_eq!(total.used, 0, "{inner}");
    }
}

/// SNAPSHOT TABLE STABILITY locks what it reads, and nothing that it has not read.
#[test]
fn table_stability_locks_what_the_program_reads() {
    let theatre = Theatre::new(&[]);
    let tries = |scene: &Scene<'_>| {
        let other = scene.side.attach(&scene.side.options());
        for table in ["customer", "orders", "item", "picture", "journal"] {
            scene.by(&other, &format!("delete from {table} where 1 = 0"));
            scene.by(
                &other,
                &format!(
                    "update {table} set {} = null where rdb$db_key = x''",
                    match table {
                        "customer" => "region",
                        "orders" => "total",
                        "item" => "name",
                        "picture" => "content",
                        _ => "what",
                    }
                ),
            );
        }
        other.close().unwrap();
    };
    theatre.check_in(Isolation::TableStability, &PLAIN, &nothing, &|scene, row| {
        if row == 0 || row == 3 {
            tries(scene);
        }
    });
}

/// Cursors that are left half-way, and opened again.
#[test]
fn cursors_are_closed_half_way() {
    let theatre = Theatre::new(&[]);
    theatre.run(FILL);
    let sides = [Side::Near(&theatre.server), Side::Far(&theatre.server, theatre.world(), theatre.world())];
    let play = |side: &Side<'_>, isolation: Isolation| {
        let connection = side.attach(&side.options());
        let mut log = Vec::new();
        for run in 0..4 {
            let transaction = begin(&connection, isolation);
            let outer = connection.prepare(&transaction, CUSTOMERS).unwrap();
            let orders = connection.prepare(&transaction, ORDERS).unwrap();
            for taken in [6, 2, 0, 1, 5] {
                for row in connection.query(&transaction, &outer, &[]).unwrap().take(taken) {
                    let row = row.unwrap().to_values();
                    // Only the first of two orders is read in later runs.
                    let rows = connection.query(&transaction, &orders, &row[..1]).unwrap();
                    let most = if run > 1 { 1 } else { 9 };
                    log.push(rows.take(most).map(|row| row.unwrap().to_values()).collect::<Vec<_>>());
                }
                connection
                    .run(&transaction, "update orders set total = total + 1 where customer = 2")
                    .unwrap();
            }
            connection.rollback(transaction).unwrap();
        }
        connection.close().unwrap();
        log
    };
    for isolation in ISOLATIONS {
        let [expected, seen] = [0, 1].map(|side| play(&sides[side], isolation));
        assert_eq!(seen, expected, "{isolation:?}");
    }
}

/// Two programs in the same loop, row by row, one of which changes what the other reads.
#[test]
fn two_loops_side_by_side() {
    let theatre = Theatre::new(&[]);
    let play = |side: &Side<'_>, isolation: Isolation| {
        let programs = [(); 2].map(|()| side.attach(&side.options()));
        let mut log = Vec::new();
        for run in 0..3 {
            let transactions = [0, 1].map(|of| begin(&programs[of], isolation));
            let mut outers = [0, 1].map(|of| {
                let outer = programs[of].prepare(&transactions[of], CUSTOMERS).unwrap();
                programs[of].query(&transactions[of], &outer, &[]).unwrap()
            });
            let orders = [0, 1].map(|of| programs[of].prepare(&transactions[of], ORDERS).unwrap());
            'rows: loop {
                for of in [0, 1] {
                    let Some(row) = outers[of].next() else { break 'rows };
                    let id = row.unwrap().to_values()[0].clone();
                    let rows = programs[of].query(&transactions[of], &orders[of], &[id]).unwrap();
                    log.push(format!(
                        "{of}: {:?}",
                        rows.map(|row| row.map(|row| row.to_values())).collect::<Vec<_>>()
                    ));
                }
                let own = begin(&programs[run % 2], Isolation::Snapshot);
                let text = "update orders set total = total + 1 where customer in (3, 4, 5)";
                match programs[run % 2].run(&own, text) {
                    Ok(()) => programs[run % 2].commit(own).unwrap(),
                    Err(error) => {
                        log.push(error.to_string().split("it is transaction").next().unwrap().to_owned());
                        programs[run % 2].rollback(own).unwrap();
                    }
                }
            }
            drop(outers);
            for (program, transaction) in programs.iter().zip(transactions) {
                program.commit(transaction).unwrap();
            }
        }
        for program in programs {
            program.close().unwrap();
        }
        log
    };
    for isolation in [Isolation::Snapshot, Isolation::ReadCommitted, Isolation::ReadConsistency] {
        theatre.run(FILL);
        let expected = play(&Side::Near(&theatre.server), isolation);
        let far = Side::Far(&theatre.server, theatre.world(), theatre.world());
        assert_eq!(play(&far, isolation), expected, "{isolation:?}");
        far.pass();
    }
}
