//! Programs with loops, an edge and an origin without a link, and a server that is a table of functions: how many trips each loop
//! costs, and what is run for nothing.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use farbird_types::{Text, Value};
use farbird_wire::message::{MessageForm, MessageFormat, MessageType};
use farbird_wire::operation::Operation;

use super::*;
use crate::message::{Ask, AskAhead, CommitPoint, Cursor, Execution, Fingerprint, Relation, Tell};

mod budgets;

const FORM: MessageForm = MessageForm::Packed;
const LONG: MessageType = MessageType::Long { scale: 0 };
const BIGINT: MessageType = MessageType::Int64 { scale: 0 };
const NAME: MessageType = MessageType::Varying { length: 40, charset: Some(4) };
const CHAR8: MessageType = MessageType::Text { length: 8, charset: Some(4) };

/// SNAPSHOT, and READ COMMITTED with record versions.
const SNAPSHOT: &[u8] = &[3, 2, 6, 9];
const READ_COMMITTED: &[u8] = &[3, 15, 17, 6, 9];
const TABLE_STABILITY: &[u8] = &[3, 1, 6, 9];

type Function = Box<dyn Fn(&[Value]) -> Option<Vec<Vec<Value>>>>;

struct Table {
    columns: Vec<MessageType>,
    rows: Function,
}

/// What programs of one edge share, and one program with its conversation.
struct World {
    tables: HashMap<&'static str, Table>,
    rules: Rules,
    speculator: Speculator,
    runner: Runner,
    fetched: Vec<&'static str>,
    cursors: u32,
    /// Asks that have come to the server.
    asked: u32,
    trips: u32,
    ran_ahead: u32,
    newest: BTreeMap<u32, u64>,
    commit: u64,
    has_notices: bool,
    /// Works that are run for each trip; all if `None`.
    works: Option<u32>,
    now: Duration,
    /// The server's time for each of them.
    work_time: Duration,
}

fn numbers(values: impl IntoIterator<Item = i64>) -> Vec<Value> {
    values.into_iter().map(Value::integer).collect()
}

impl World {
    fn new() -> World {
        World::with(Rules::new(Limits::default()))
    }

    fn with(rules: Rules) -> World {
        let limits = *rules.limits();
        let mut world = World {
            tables: HashMap::new(),
            rules,
            speculator: Speculator::new(limits, FORM, 0),
            runner: Runner::new(RunnerLimits::default(), FORM),
            fetched: Vec::new(),
            cursors: 0,
            asked: 0,
            trips: 0,
            ran_ahead: 0,
            newest: BTreeMap::new(),
            commit: 0,
            has_notices: true,
            works: None,
            now: Duration::ZERO,
            work_time: Duration::ZERO,
        };
        // 56 customers, each with two orders and a region; each order with two items.
        world.table("customers", &[LONG, NAME, CHAR8], |_| {
            let row = |id: i64| {
                let code = format!("C{:<7}", id % 7);
                vec![Value::integer(id), Value::text(&format!("name {id}")), Value::text(&code)]
            };
            Some((100..156).map(row).collect())
        });
        world.table("orders", &[LONG, LONG], |given| {
            let id = integer(&given[0]);
            Some((0..2).map(|number| numbers([id, id * 10 + number])).collect())
        });
        world.table("items", &[LONG], |given| {
            if given[0].is_null() {
                return Some(Vec::new());
            }
            let id = integer(&given[0]);
            Some((0..2).map(|number| numbers([id * 10 + number])).collect())
        });
        world.table("region", &[NAME], |given| Some(vec![vec![given[0].clone()]]));
        world
    }

    fn table(
        &mut self,
        name: &'static str,
        columns: &[MessageType],
        rows: impl Fn(&[Value]) -> Option<Vec<Vec<Value>>> + 'static,
    ) {
        self.tables.insert(name, Table { columns: columns.to_vec(), rows: Box::new(rows) });
    }

    /// The same program starts again: nothing is left but the rules.
    fn restart(&mut self) {
        self.speculator.finish(&mut self.rules);
        self.speculator = Speculator::new(*self.rules.limits(), FORM, 0);
        self.runner = Runner::new(RunnerLimits::default(), FORM);
        (self.asked, self.trips, self.ran_ahead) = (0, 0, 0);
    }

    fn begin(&mut self, transaction: u16, tpb: &[u8]) {
        self.send();
        self.speculator.begun(transaction, tpb);
    }

    fn end(&mut self, transaction: u16) {
        self.send();
        self.speculator.ended(&mut self.rules, transaction);
        self.runner.transaction_ended(transaction);
        self.told();
    }

    /// The program writes in a transaction; it waits for the answer.
    fn write(&mut self, transaction: u16) {
        self.speculator.wrote(&mut self.rules, transaction);
        self.send();
        self.trips += 1;
        self.asked = self.asked.max(1);
    }

    fn send(&mut self) {
        self.speculator.count_ask();
        self.asked += 1;
    }

    /// Somebody else changes a relation; the edge is told so.
    fn others_commit(&mut self, relation: u32) {
        self.commit += 1;
        self.newest.insert(relation, self.commit);
    }

    fn asks(&mut self, asks: Vec<Ask>) {
        for ask in asks {
            self.send();
            match ask {
                Ask::Ahead { outer, transaction, statements, parameters } => {
                    self.runner.given(outer, transaction, statements, parameters);
                }
                Ask::AheadCredit { outer, statements } => self.runner.credit(outer, statements),
                Ask::AheadStop { outer } => self.runner.stop(outer),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Runs what there is to be run ahead.
    fn run_ahead(&mut self) {
        let mut left = self.works.unwrap_or(u32::MAX);
        while left > 0 {
            let Some(work) = self.runner.next_work() else { break };
            left -= 1;
            self.ran_ahead += 1;
            let name = String::from_utf8(work.prepare().to_vec()).unwrap();
            let given = Given::read(&work.blr, &work.message, FORM);
            let values = given.map(|given| given.values).unwrap_or_default();
            let is_read_committed = self.has_notices && work.transaction >= 10;
            let ran = match self.rows_of(&name, &values) {
                None => Ran::Nothing,
                Some((packets, rows)) => Ran::Result(Ahead {
                    transaction: if is_read_committed { 0 } else { work.transaction },
                    asked: self.asked,
                    commit: CommitPoint(self.commit),
                    reads: vec![relation(&name)],
                    opened: Vec::new(),
                    packets,
                    rows,
                    answered: None,
                }),
            };
            self.now += self.work_time;
            self.runner.pass(self.now);
            self.runner.took(Some(work.outer), self.work_time);
            self.runner.done(work, ran);
        }
        self.told();
    }

    fn told(&mut self) {
        for tell in self.runner.take_tells() {
            let credit = self.speculator.tell(&mut self.rules, tell, self.now);
            self.asks(credit.into_iter().collect());
        }
    }

    fn rows_of(&self, name: &str, values: &[Value]) -> Option<(Vec<u8>, u32)> {
        let table = &self.tables[name];
        let format = MessageFormat::from_columns(table.columns.iter().copied());
        let rows = (table.rows)(values)?;
        let mut packets = Vec::new();
        for row in &rows {
            packets.extend_from_slice(&Operation::FetchResponse.code().to_be_bytes());
            packets.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1]);
            format.encode_row(FORM, row, &mut packets).unwrap();
        }
        Some((packets, u32::try_from(rows.len()).unwrap()))
    }

    /// A program executes a query and reads all of its rows. Transactions from 10 on are READ COMMITTED.
    fn query(
        &mut self,
        transaction: u16,
        name: &'static str,
        given: &[(MessageType, Value)],
    ) -> Vec<Vec<Value>> {
        let table = &self.tables[name];
        let output = MessageFormat::from_columns(table.columns.iter().copied());
        let is_known = self.fetched.contains(&name);
        self.fetched.push(name);
        let facts = Facts {
            prepare: name.as_bytes().into(),
            described: Fingerprint(1),
            execution: Execution::default(),
            question: None,
            output_blr: if is_known { output.to_blr().into() } else { [].into() },
        };
        let statement = StatementText::new(b"db", name.as_bytes());
        let format = MessageFormat::from_columns(given.iter().map(|(kind, _)| *kind));
        let values: Vec<Value> = given.iter().map(|(_, value)| value.clone()).collect();
        let (blr, mut message) = (format.to_blr(), Vec::new());
        format.encode_row(FORM, &values, &mut message).unwrap();
        self.cursors += 1;
        let execute = Execute {
            cursor: Cursor(self.cursors),
            statement: &statement,
            transaction,
            facts: &facts,
            parameters: (!given.is_empty()).then_some((&blr, &message)),
        };
        let newest = self.newest.clone();
        let newest = move |relation: Relation| CommitPoint(newest.get(&relation.0).copied().unwrap_or(0));
        let database = Database { has_notices: self.has_notices, newest: &newest, age_max: None };
        let (mut verdict, asks) = self.speculator.execute(&mut self.rules, &execute, &database, self.now);
        self.asks(asks);
        loop {
            match verdict {
                Verdict::Answer(answer) => {
                    self.learn(execute.cursor, &output, &answer.packets);
                    return read(&answer.packets, &output);
                }
                Verdict::Await(awaited) => {
                    let before = self.trips;
                    self.run_ahead();
                    let (next, asks) =
                        self.speculator.resume(&mut self.rules, &awaited, &execute, &database, self.now);
                    self.asks(asks);
                    // What waits for what had to be asked for a moment ago has waited for a trip.
                    self.trips = before;
                    assert_ne!(next, Verdict::Await(awaited), "waits for ever");
                    verdict = next;
                }
                Verdict::Ask(ahead) => return self.ask(&execute, &values, &output, ahead),
            }
        }
    }

    fn ask(
        &mut self,
        execute: &Execute<'_>,
        values: &[Value],
        output: &MessageFormat,
        ahead: Vec<AskAhead>,
    ) -> Vec<Vec<Value>> {
        self.trips += 1;
        self.send();
        let name = String::from_utf8(execute.facts.prepare.to_vec()).unwrap();
        if !ahead.is_empty() {
            self.runner.opened(execute.cursor, execute.transaction, &output.to_blr(), ahead);
        }
        let (packets, _) = self.rows_of(&name, values).unwrap_or_default();
        self.runner.rows(execute.cursor, &packets);
        self.runner.ended(execute.cursor);
        self.run_ahead();
        self.learn(execute.cursor, output, &packets);
        read(&packets, output)
    }

    /// The edge looks at rows that the program gets.
    fn learn(&mut self, cursor: Cursor, output: &MessageFormat, packets: &[u8]) {
        let format = Arc::new(output.clone());
        self.speculator.rows(&mut self.rules, cursor, (&output.to_blr(), &format), packets);
    }

    fn tally(&self) -> Tally {
        self.rules.total()
    }
}

fn relation(name: &str) -> Relation {
    Relation(name.bytes().map(u32::from).sum())
}

fn integer(value: &Value) -> i64 {
    match value {
        Value::Integer { unscaled, .. } => *unscaled,
        Value::Int128 { unscaled, .. } => i64::try_from(*unscaled).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn read(packets: &[u8], format: &MessageFormat) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    rows::walk(packets, format, FORM, |row| {
        rows.push(row);
        true
    });
    rows
}

fn text(value: &str) -> Value {
    Value::Text(Text::utf8(value))
}

/// Two queries for each of 56 customers, parameters sent as other types than the columns have.
fn nested_loop(world: &mut World, transaction: u16) {
    for customer in world.query(transaction, "customers", &[]) {
        let orders = world.query(transaction, "orders", &[(BIGINT, customer[0].clone())]);
        assert_eq!(orders.len(), 2);
        assert_eq!(orders[1][1], Value::integer(integer(&customer[0]) * 10 + 1));
        let Value::Text(code) = &customer[2] else { panic!() };
        let code = std::str::from_utf8(code.bytes()).unwrap().trim_end();
        let length = u16::try_from(code.len()).unwrap();
        let kind = MessageType::Varying { length, charset: None };
        let region = world.query(transaction, "region", &[(kind, text(code))]);
        let Value::Text(name) = &region[0][0] else { panic!() };
        assert_eq!(name.bytes(), code.as_bytes());
    }
}

#[test]
fn a_loop_costs_two_of_its_turns_at_first_and_one_trip_from_then_on() {
    for (transaction, tpb) in [(1, SNAPSHOT), (11, READ_COMMITTED)] {
        let mut world = World::new();
        world.begin(transaction, tpb);
        nested_loop(&mut world, transaction);
        assert_eq!(world.trips, 1 + 2 * 2, "first run");
        for run in 2..4 {
            world.restart();
            world.begin(transaction, tpb);
            nested_loop(&mut world, transaction);
            assert_eq!(world.trips, 1, "run {run}");
            // Each region is run once only: there are seven.
            assert_eq!(world.ran_ahead, 56 + 7);
        }
        world.speculator.finish(&mut world.rules);
        assert_eq!(world.tally().wasted, 0);
    }
}

#[test]
fn loops_in_loops_in_loops_cost_one_trip() {
    let mut world = World::new();
    let run = |world: &mut World| {
        world.begin(1, SNAPSHOT);
        for customer in world.query(1, "customers", &[]) {
            for order in world.query(1, "orders", &[(LONG, customer[0].clone())]) {
                let items = world.query(1, "items", &[(LONG, order[1].clone())]);
                assert_eq!(integer(&items[1][0]), integer(&order[1]) * 10 + 1);
            }
        }
    };
    run(&mut world);
    let first = world.trips;
    assert!(first <= 8, "{first} trips");
    world.restart();
    run(&mut world);
    assert!(world.trips <= 2, "the window of a new rule, then it is wider");
    world.restart();
    run(&mut world);
    assert_eq!(world.trips, 1);
}

#[test]
fn a_list_drives_a_loop_after_its_cursor_and_its_transaction_have_ended() {
    let mut world = World::new();
    let run = |world: &mut World| {
        world.begin(11, READ_COMMITTED);
        let list = world.query(11, "customers", &[]);
        world.end(11);
        for customer in list {
            world.begin(11, READ_COMMITTED);
            assert_eq!(world.query(11, "orders", &[(LONG, customer[0].clone())]).len(), 2);
            world.end(11);
        }
    };
    run(&mut world);
    let first = world.trips;
    assert!(first <= 5, "{first}");
    world.restart();
    run(&mut world);
    assert_eq!(world.trips, 1);
}

#[test]
fn in_snapshot_a_list_of_another_transaction_drives_a_loop_in_one_transaction() {
    let mut world = World::new();
    for _ in 0..2 {
        world.restart();
        world.begin(1, SNAPSHOT);
        let list = world.query(1, "customers", &[]);
        world.end(1);
        world.begin(2, SNAPSHOT);
        for customer in list {
            assert_eq!(world.query(2, "orders", &[(LONG, customer[0].clone())]).len(), 2);
        }
        world.end(2);
        assert!(world.trips <= 4, "{}", world.trips);
    }
}

#[test]
fn in_snapshot_nothing_of_an_earlier_transaction_answers() {
    let mut world = World::new();
    for _ in 0..3 {
        world.restart();
        world.begin(1, SNAPSHOT);
        let list = world.query(1, "customers", &[]);
        world.end(1);
        for customer in list {
            world.begin(1, SNAPSHOT);
            world.query(1, "orders", &[(LONG, customer[0].clone())]);
            world.end(1);
        }
        assert_eq!(world.trips, 57);
    }
    let wasted = world.tally().wasted;
    assert!(wasted <= 64 + 16, "{wasted} run for nothing: the rule is dropped");
}

#[test]
fn the_row_of_one_statement_is_the_parameter_of_the_next() {
    let mut world = World::new();
    world.table("order", &[LONG, LONG], |given| {
        Some(vec![numbers([integer(&given[0]), integer(&given[0]) / 10])])
    });
    let run = |world: &mut World, id: i64| {
        world.begin(1, SNAPSHOT);
        let order = world.query(1, "order", &[(LONG, Value::integer(id))]);
        world.query(1, "orders", &[(LONG, order[0][1].clone())]);
        world.end(1);
    };
    for id in [7_771, 5_553, 9_992] {
        run(&mut world, id);
    }
    world.trips = 0;
    run(&mut world, 4_448);
    assert_eq!(world.trips, 1);
}

#[test]
fn parameters_that_count_up_are_run_ahead_further_and_further() {
    let mut world = World::new();
    for run in 0..3 {
        world.restart();
        world.begin(1, SNAPSHOT);
        for id in 500..1_000 {
            world.query(1, "items", &[(LONG, Value::integer(id))]);
        }
        assert!(world.trips <= 4, "run {run}: {} trips", world.trips);
        world.end(1);
    }
}

#[test]
fn the_same_statement_for_two_columns_is_two_rules() {
    let mut world = World::new();
    world.table("sales", &[LONG, LONG], |_| {
        Some((0..40).map(|row| numbers([1_000 + row * 3, 5_000 - row])).collect())
    });
    for run in 0..3 {
        world.restart();
        world.begin(1, SNAPSHOT);
        for sale in world.query(1, "sales", &[]) {
            for item in &sale[..2] {
                world.query(1, "items", &[(LONG, item.clone())]);
            }
        }
        assert!(world.trips <= [6, 1, 1][run], "run {run}: {} trips", world.trips);
    }
}

#[test]
fn rows_may_be_passed_over_and_nulls_met() {
    let mut world = World::new();
    world.table("sparse", &[LONG, LONG], |_| {
        let row = |row: i64| {
            let link = if row % 3 == 0 { Value::Null } else { Value::integer(9_000 + row) };
            vec![Value::integer(row), link]
        };
        Some((0..60).map(row).collect())
    });
    for run in 0..2 {
        world.restart();
        world.begin(1, SNAPSHOT);
        for row in world.query(1, "sparse", &[]) {
            if !row[1].is_null() && integer(&row[0]) % 5 != 0 {
                world.query(1, "items", &[(LONG, row[1].clone())]);
            }
        }
        assert!(world.trips <= [4, 1][run], "run {run}: {} trips", world.trips);
    }
}

#[test]
fn constants_and_outer_columns_are_parameters_too() {
    let mut world = World::new();
    world.table("detail", &[LONG], |given| Some(vec![numbers([given.iter().map(integer).sum()])]));
    let run = |world: &mut World| {
        world.begin(1, SNAPSHOT);
        for customer in world.query(1, "customers", &[]).into_iter().take(20) {
            for order in world.query(1, "orders", &[(LONG, customer[0].clone())]) {
                let (a, b, c) = (order[1].clone(), customer[0].clone(), Value::integer(3));
                let sum = integer(&a) + integer(&b) + 3;
                let given = [(LONG, a), (BIGINT, b), (MessageType::Short { scale: 0 }, c)];
                assert_eq!(world.query(1, "detail", &given), [numbers([sum])]);
            }
        }
        world.end(1);
    };
    run(&mut world);
    world.restart();
    run(&mut world);
    world.restart();
    run(&mut world);
    assert_eq!(world.trips, 1);
}

#[test]
fn own_writes_are_seen() {
    for (transaction, tpb) in [(1, SNAPSHOT), (2, TABLE_STABILITY), (11, READ_COMMITTED)] {
        let mut world = World::new();
        for _ in 0..3 {
            world.restart();
            world.begin(transaction, tpb);
            for customer in world.query(transaction, "customers", &[]) {
                let before = world.trips;
                world.query(transaction, "orders", &[(LONG, customer[0].clone())]);
                if integer(&customer[0]) > 110 {
                    // Written since: what ran before must not answer.
                    assert!(transaction != 11 || world.trips > before, "{customer:?}");
                }
                if integer(&customer[0]) == 110 {
                    let saved = world.tally().trips_saved;
                    world.write(transaction);
                    let next = Value::integer(integer(&customer[0]) + 1);
                    let before = world.trips;
                    world.query(transaction, "items", &[(LONG, next)]);
                    assert_eq!(world.trips, before + 1);
                    assert_eq!(world.tally().trips_saved, saved);
                }
            }
            world.end(transaction);
        }
    }
}

#[test]
fn after_a_write_nothing_that_ran_before_it_answers() {
    for (transaction, tpb) in [(1, SNAPSHOT), (2, TABLE_STABILITY), (11, READ_COMMITTED)] {
        let mut world = World::new();
        for _ in 0..2 {
            world.restart();
            world.begin(transaction, tpb);
            nested_loop(&mut world, transaction);
            world.end(transaction);
        }
        world.restart();
        world.begin(transaction, tpb);
        let customers = world.query(transaction, "customers", &[]);
        world.query(transaction, "orders", &[(LONG, customers[0][0].clone())]);
        world.query(transaction, "orders", &[(BIGINT, customers[1][0].clone())]);
        world.works = Some(0);
        world.write(transaction);
        let before = world.trips;
        world.query(transaction, "orders", &[(BIGINT, customers[2][0].clone())]);
        assert_eq!(world.trips, before + 1);
    }
}

#[test]
fn others_commits_are_seen_in_read_committed_and_not_in_snapshot() {
    for (transaction, tpb, extra) in [(1, SNAPSHOT, 0), (11, READ_COMMITTED, 1)] {
        let mut world = World::new();
        for _ in 0..3 {
            world.restart();
            world.begin(transaction, tpb);
            nested_loop(&mut world, transaction);
            world.end(transaction);
        }
        world.restart();
        world.begin(transaction, tpb);
        let customers = world.query(transaction, "customers", &[]);
        for (index, customer) in customers.iter().take(3).enumerate() {
            if index == 1 {
                world.others_commit(relation("orders").0);
            }
            if index == 2 {
                world.others_commit(relation("elsewhere").0);
            }
            let before = world.trips;
            world.query(transaction, "orders", &[(BIGINT, customer[0].clone())]);
            let outdated = if index >= 1 { extra } else { 0 };
            assert!(world.trips - before <= outdated, "{index}");
            assert!(index != 1 || world.trips - before == outdated);
        }
    }
}

#[test]
fn without_notices_read_committed_is_not_answered() {
    let mut world = World::new();
    world.has_notices = false;
    for _ in 0..3 {
        world.restart();
        world.begin(11, READ_COMMITTED);
        nested_loop(&mut world, 11);
        assert_eq!(world.trips, 1 + 2 * 56);
        assert_eq!(world.ran_ahead, 0, "nothing is run for nobody");
    }
}

#[test]
fn definitions_that_change_drop_what_was_run() {
    let mut world = World::new();
    for _ in 0..2 {
        world.restart();
        world.begin(1, SNAPSHOT);
        nested_loop(&mut world, 1);
    }
    world.restart();
    world.begin(1, SNAPSHOT);
    let customers = world.query(1, "customers", &[]);
    world.query(1, "orders", &[(BIGINT, customers[0][0].clone())]);
    assert_eq!(world.trips, 1);
    world.speculator.redefined(&mut world.rules);
    world.query(1, "orders", &[(BIGINT, customers[1][0].clone())]);
    assert_eq!(world.trips, 2);
}

#[test]
fn table_stability_reads_ahead_nothing_that_the_transaction_has_not_read() {
    let mut world = World::new();
    for _ in 0..2 {
        world.restart();
        world.begin(2, TABLE_STABILITY);
        nested_loop(&mut world, 2);
        world.end(2);
    }
    world.restart();
    world.begin(2, TABLE_STABILITY);
    let customers = world.query(2, "customers", &[]);
    assert_eq!(world.ran_ahead, 0);
    world.query(2, "orders", &[(BIGINT, customers[0][0].clone())]);
    world.query(2, "orders", &[(BIGINT, customers[1][0].clone())]);
    assert_eq!(world.trips, 2, "the customers, and the first orders");
    assert!(world.ran_ahead >= 55);
}

#[test]
fn table_stability_reads_ahead_nothing_that_was_read_before_the_transaction_was_retained() {
    let mut world = World::new();
    world.begin(2, TABLE_STABILITY);
    for _ in 0..3 {
        nested_loop(&mut world, 2);
    }
    let ran_ahead = world.ran_ahead;
    assert!(ran_ahead > 0);
    world.speculator.retained(&mut world.rules, 2);
    let customers = world.query(2, "customers", &[]);
    assert_eq!(world.ran_ahead, ran_ahead, "the orders are locked no longer");
    world.query(2, "orders", &[(BIGINT, customers[0][0].clone())]);
    world.query(2, "customers", &[]);
    assert!(world.ran_ahead > ran_ahead);
}

#[test]
fn what_fails_is_asked_for_again() {
    let mut world = World::new();
    world.table("orders", &[LONG, LONG], |given| {
        let id = integer(&given[0]);
        (id % 10 != 3).then(|| (0..2).map(|number| numbers([id, id * 10 + number])).collect())
    });
    for _ in 0..3 {
        world.restart();
        world.begin(1, SNAPSHOT);
        for customer in world.query(1, "customers", &[]) {
            world.query(1, "orders", &[(BIGINT, customer[0].clone())]);
        }
    }
    assert_eq!(world.trips, 1 + 6, "103, 113 and so on to 153");
}

#[test]
fn a_loop_that_is_left_early_costs_a_bounded_number_of_statements() {
    let mut world = World::new();
    world.table("long", &[LONG], |_| Some((0..5_000).map(|row| numbers([row * 7])).collect()));
    world.begin(1, SNAPSHOT);
    for run in 0..10 {
        let rows = world.query(1, "long", &[]);
        let before = world.ran_ahead;
        for row in rows.iter().take(if run == 0 { 50 } else { 3 }) {
            world.query(1, "orders", &[(LONG, row[0].clone())]);
        }
        let cursor = Cursor(world.cursors);
        if let Some(ask) = world.speculator.closed_early(cursor) {
            world.asks(vec![ask]);
        }
        assert!(world.ran_ahead - before <= 200, "run {run}: {}", world.ran_ahead - before);
    }
}

#[test]
fn a_rule_that_is_never_right_again_is_dropped() {
    let mut world = World::new();
    world.begin(1, SNAPSHOT);
    let customers = world.query(1, "customers", &[]);
    for customer in &customers {
        world.query(1, "orders", &[(LONG, customer[0].clone())]);
    }
    world.end(1);
    world.restart();
    for _ in 0..50 {
        world.begin(1, SNAPSHOT);
        world.query(1, "customers", &[]);
        world.end(1);
    }
    assert!(world.ran_ahead <= 128 + 64, "{}", world.ran_ahead);
    world.speculator.finish(&mut world.rules);
    assert_eq!(world.rules.active(), 0);
}

#[test]
fn rules_survive_on_disk_and_damage_is_met_with_none() {
    let mut world = World::new();
    world.begin(1, SNAPSHOT);
    nested_loop(&mut world, 1);
    world.end(1);
    let saved = world.rules.to_bytes();
    let mut loaded = Rules::new(Limits::default());
    loaded.load(&saved).unwrap();
    assert_eq!(loaded.active(), 2);
    let mut next = World::with(loaded);
    next.fetched = world.fetched.clone();
    next.begin(1, SNAPSHOT);
    nested_loop(&mut next, 1);
    assert_eq!(next.trips, 1);

    let mut rules = Rules::new(Limits::default());
    assert_eq!(rules.load(b""), Err(NotLoaded::Damaged));
    let mut other = saved.clone();
    other[7] = u8::MAX;
    assert_eq!(rules.load(&other), Err(NotLoaded::OtherVersion));
    for at in 8..saved.len() {
        let mut damaged = saved.clone();
        damaged[at] ^= 0x10;
        assert_eq!(rules.load(&damaged), Err(NotLoaded::Damaged), "{at}");
        assert_eq!(rules.load(&saved[..at]), Err(NotLoaded::Damaged), "{at}");
    }
    assert!(rules.is_empty());
}

#[test]
fn a_hostile_origin_makes_nothing_grow() {
    let mut world = World::new();
    world.begin(1, SNAPSHOT);
    nested_loop(&mut world, 1);
    let rules: Vec<_> = world.rules.of_inner(&StatementText::new(b"db", b"orders"));
    for number in 0..40_000_u32 {
        let tell = Tell::Ahead {
            outer: Cursor(number % 50),
            rule: rules[0],
            blr: number.to_be_bytes().to_vec(),
            parameters: vec![0; 1_000],
            transaction: u16::try_from(number % 9).unwrap(),
            asked: number,
            commit: CommitPoint(u64::MAX),
            reads: vec![Relation(0); 3],
            opened: Vec::new(),
            packets: vec![7; 1_000],
            rows: u32::MAX,
            answered: None,
        };
        world.speculator.tell(&mut world.rules, tell, Duration::ZERO);
    }
    assert!(world.speculator.bytes() <= Limits::default().result_bytes);
    nested_loop(&mut world, 1);
}

#[test]
fn a_program_without_end_makes_nothing_grow() {
    let limits = Limits { rules: 50, ..Limits::default() };
    let mut world = World::with(Rules::new(limits));
    world.begin(1, SNAPSHOT);
    for round in 0..300_i64 {
        let name: &'static str = Box::leak(format!("t{}", round % 97).into_boxed_str());
        world.table(name, &[LONG], move |given| {
            let id = given.first().map_or(round, integer);
            Some((0..4).map(|row| numbers([id + row])).collect())
        });
        for row in world.query(1, name, &[(LONG, Value::integer(round))]) {
            world.query(1, "items", &[(LONG, row[0].clone())]);
        }
    }
    assert!(world.rules.len() <= 50, "{}", world.rules.len());
}
