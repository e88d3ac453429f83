//! The same random programs, once at the server and once through edge and origin: each answer is the same.
//!
//! Several attachments of one edge change the same tables; what one does comes behind what another did before, on either way. So
//! not only under SNAPSHOT but in READ COMMITTED too each answer has to be the one that the server gives without edge and origin.
//! `FARBIRD_SEED` runs one seed, `FARBIRD_SEEDS` another number of them.

use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{
    ConnectOptions, Isolation, Statement, Transaction, TransactionOptions, Tuning, Value, Wait,
};

use crate::server::{TestServer, run};
use crate::world::{Link, World};

const TABLES: [&str; 4] = [
    "create table customer (id integer primary key, region char(4), note blob sub_type text)",
    "create table orders (id integer primary key, customer bigint, total numeric(9, 2))",
    "create table item (orders integer, name varchar(20))",
    "create index item_orders on item (orders)",
];

/// Everything as it was: the same on both sides.
const FILL: &str = "execute block as declare n integer = 1; begin \
    delete from item; delete from orders; delete from customer; \
    while (n <= 12) do begin \
      insert into customer values (:n, 'R' || mod(:n, 3), 'note ' || :n); \
      insert into orders values (:n * 10, :n, :n * 1.5); insert into orders values (:n * 10 + 1, :n, 2.25); \
      insert into item values (:n * 10, 'a' || :n); insert into item values (:n * 10 + 1, 'b' || :n); \
      insert into item values (:n * 10 + 1, 'c' || :n); n = n + 1; end end";

/// Statements of the programs. Queries with parameters take one.
const QUERIES: [&str; 4] = [
    "select id, region from customer order by id",
    "select id, total from orders where customer = ? order by id",
    "select name from item where orders = ? order by name",
    "select count(*), min(id) from customer where region = ?",
];

const ATTACHMENTS: usize = 3;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    pub(crate) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

struct Program {
    connection: Connection,
    transaction: Option<Transaction>,
    statements: Vec<Option<Statement>>,
}

/// Plays a random program, and writes down all that it is answered.
struct Player {
    random: Random,
    programs: Vec<Program>,
    log: Vec<String>,
    depth: usize,
}

type Outcome = Result<(), farbird_types::Error>;

impl Player {
    fn new(seed: u64, attach: impl Fn(&str) -> Connection) -> Player {
        let mut random = Random(seed);
        let generations = ["2.0", "2.5", "5.0.1", "farbird"];
        let programs = (0..ATTACHMENTS)
            .map(|_| Program {
                connection: attach(generations[usize::try_from(random.below(4)).unwrap()]),
                transaction: None,
                statements: (0..QUERIES.len()).map(|_| None).collect(),
            })
            .collect();
        Player { random, programs, log: Vec::new(), depth: 0 }
    }

    fn play(mut self) -> Vec<String> {
        for _ in 0..6 + self.random.below(12) {
            let program = self.any_program();
            self.step(program);
        }
        for mut program in self.programs {
            program.statements.clear();
            if let Some(transaction) = program.transaction.take() {
                let _ = program.connection.rollback(transaction);
            }
            if let Err(error) = program.connection.close() {
                panic!("{error}: {:#?}", self.log);
            }
        }
        self.log
    }

    fn any_program(&mut self) -> usize {
        usize::try_from(self.random.below(ATTACHMENTS as u64)).unwrap()
    }

    fn step(&mut self, program: usize) {
        let outcome = match self.random.below(if self.depth == 0 { 12 } else { 8 }) {
            0..=2 => self.write(program),
            3 => self.end(program, false),
            4 => self.end(program, true),
            5 => self.point(program),
            6 | 7 => self.retain(program),
            _ => self.looped(program),
        };
        if let Err(error) = outcome {
            self.log.push(format!("{program}: error {:?}", error.to_string()));
        }
    }

    fn begin(&mut self, program: usize) -> Outcome {
        if self.programs[program].transaction.is_none() {
            let isolation = match self.random.below(8) {
                0 => Isolation::TableStability,
                1..=4 => Isolation::Snapshot,
                5 => Isolation::ReadCommittedNoRecordVersion,
                _ => Isolation::ReadCommitted,
            };
            self.log.push(format!("{program}: begin {isolation:?}"));
            let options = TransactionOptions { isolation, wait: Wait::No, ..TransactionOptions::default() };
            let begun = self.programs[program].connection.begin(&options)?;
            self.programs[program].transaction = Some(begun);
        }
        Ok(())
    }

    fn end(&mut self, program: usize, commits: bool) -> Outcome {
        let Program { connection, transaction, .. } = &mut self.programs[program];
        let Some(transaction) = transaction.take() else { return Ok(()) };
        self.log.push(format!("{program}: ends, {commits}"));
        if commits { connection.commit(transaction) } else { connection.rollback(transaction) }
    }

    fn retain(&mut self, program: usize) -> Outcome {
        let Program { connection, transaction, .. } = &self.programs[program];
        let Some(transaction) = transaction else { return Ok(()) };
        self.log.push(format!("{program}: retains"));
        connection.commit_retaining(transaction)
    }

    fn write(&mut self, program: usize) -> Outcome {
        self.begin(program)?;
        let id = 1 + self.random.below(14);
        let text = match self.random.below(5) {
            0 => format!("update orders set total = total + {id} where customer = {id}"),
            1 => format!("delete from item where orders = {}", id * 10),
            2 => format!("insert into item values ({}, 'new {id}')", id * 10 + 1),
            3 => format!("update customer set region = 'R9' where id = {id}"),
            _ => format!("insert into orders values ({}, {id}, 7)", id * 10 + 2),
        };
        self.log.push(format!("{program}: {text}"));
        let Program { connection, transaction, .. } = &self.programs[program];
        let Some(transaction) = transaction else { return Ok(()) };
        connection.run(transaction, &text)
    }

    fn point(&mut self, program: usize) -> Outcome {
        self.begin(program)?;
        let id = 1 + i64::try_from(self.random.below(14)).unwrap();
        let rows = self.rows(program, 1, &[Value::integer(id)])?;
        self.log.push(format!("{program}: {id}: {rows:?}"));
        Ok(())
    }

    /// A query and its rows, all at once.
    fn rows(
        &mut self,
        program: usize,
        query: usize,
        given: &[Value],
    ) -> Result<Vec<Vec<Value>>, farbird_types::Error> {
        let drops = self.random.one_in(3);
        let Program { connection, transaction, statements } = &mut self.programs[program];
        let Some(transaction) = transaction else { return Ok(Vec::new()) };
        let statement = match statements[query].take() {
            Some(statement) => statement,
            None => connection.prepare(transaction, QUERIES[query])?,
        };
        let rows = connection.query(transaction, &statement, given);
        let rows = rows.and_then(|rows| rows.map(|row| row.map(|row| row.to_values())).collect());
        // ORMs prepare and free each time; others keep their statements.
        if !drops {
            statements[query] = Some(statement);
        }
        rows
    }

    /// A loop, perhaps with one in it, during which other things may happen.
    fn looped(&mut self, program: usize) -> Outcome {
        self.begin(program)?;
        self.depth += 1;
        let result = self.loop_of_customers(program);
        self.depth -= 1;
        result
    }

    fn loop_of_customers(&mut self, program: usize) -> Outcome {
        let customers = self.rows(program, 0, &[])?;
        self.log.push(format!("{program}: {customers:?}"));
        let nests = self.random.one_in(2);
        for customer in customers {
            if self.programs[program].transaction.is_none() || self.random.one_in(25) {
                return Ok(());
            }
            if self.random.one_in(15) {
                let other = self.any_program();
                self.step(other);
                if self.programs[program].transaction.is_none() {
                    return Ok(());
                }
            }
            if self.random.one_in(8) {
                continue;
            }
            let orders = self.rows(program, 1, &customer[..1])?;
            self.log.push(format!("{program}: {orders:?}"));
            for order in orders.iter().filter(|_| nests) {
                let items = self.rows(program, 2, &order[..1])?;
                self.log.push(format!("{program}: {items:?}"));
            }
            let Value::Text(region) = &customer[1] else { continue };
            let region = String::from_utf8_lossy(region.bytes()).trim_end().to_owned();
            let regions = self.rows(program, 3, &[Value::text(&region)])?;
            self.log.push(format!("{program}: {regions:?}"));
        }
        Ok(())
    }
}

#[test]
fn random_programs_get_the_same_answers() {
    let server = TestServer::start();
    let direct = server.create("direct.fdb", &TABLES);
    let far = server.create("far.fdb", &TABLES);
    let tuned = |generation: &str| ConnectOptions {
        tuning: Tuning::preset(generation).unwrap(),
        ..server.options.clone()
    };
    let world = World::new(server.address, Link { one_way: Duration::from_millis(100), rate: None });
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (number("FARBIRD_SEED"), number("FARBIRD_SEEDS")) {
        (Some(seed), _) => seed..seed + 1,
        (None, seeds) => 0..seeds.unwrap_or(u64::MAX),
    };
    let began = Instant::now();
    let mut played = 0;
    for seed in seeds {
        if number("FARBIRD_SEEDS").is_none() && began.elapsed() > Duration::from_secs(15) {
            break;
        }
        run(&direct, FILL);
        run(&far, FILL);
        let expected =
            Player::new(seed, |generation| server.attach_with("direct.fdb", &tuned(generation))).play();
        let seen =
            Player::new(seed, |generation| world.attach("far.fdb", &tuned(generation)).unwrap()).play();
        let expected_log = expected.join("\n");
        // What has left the programs gets to the server: nothing of theirs stays locked.
        world.pass(Duration::from_secs(1));
        for (index, (seen, expected)) in seen.iter().zip(&expected).enumerate() {
            assert_eq!(seen, expected, "FARBIRD_SEED={seed}, line {index} of\n{expected_log}");
        }
        assert_eq!(seen.len(), expected.len(), "FARBIRD_SEED={seed}");
        played += 1;
    }
    let total = world.site().rules().total();
    println!("{played} seeds in {:?}: {total:?}", began.elapsed());
    assert!(total.used > 0, "nothing was answered by what was run ahead");
}
