//! What running ahead may take before anything of it is used: time of the server and bytes, of one cursor and of a program.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A program that has learned to read the orders of each customer, started anew, at an origin with these limits.
fn learned(limits: RunnerLimits) -> World {
    let mut world = World::new();
    world.begin(1, SNAPSHOT);
    orders_of_all(&mut world, 1);
    world.end(1);
    world.restart();
    world.runner = Runner::new(limits, FORM);
    world
}

fn orders_of_all(world: &mut World, transaction: u16) {
    for customer in world.query(transaction, "customers", &[]) {
        let orders = world.query(transaction, "orders", &[(LONG, customer[0].clone())]);
        assert_eq!(orders.len(), 2);
    }
}

/// Opens the outer cursor and uses nothing of what is run ahead for it: gives how much that was.
fn guess_wrong(world: &mut World, transaction: u16) -> u32 {
    let before = world.ran_ahead;
    world.begin(transaction, SNAPSHOT);
    world.query(transaction, "customers", &[]);
    world.end(transaction);
    world.ran_ahead - before
}

#[test]
fn a_wrong_guess_costs_the_server_so_much_time_and_no_more() {
    let mut world = learned(RunnerLimits { cursor_time: 10 * SECOND, ..RunnerLimits::default() });
    world.work_time = SECOND;
    assert_eq!(guess_wrong(&mut world, 1), 10);
    let counts = world.runner.take_counts();
    assert_eq!((counts.ran, counts.time, counts.unused), (10, 10 * SECOND, 10 * SECOND));
    assert_eq!(counts.spent, [1, 0, 0]);
}

#[test]
fn what_is_used_is_run_ahead_further_whatever_it_takes() {
    let mut world = learned(RunnerLimits { cursor_time: 10 * SECOND, ..RunnerLimits::default() });
    world.work_time = SECOND;
    world.begin(1, SNAPSHOT);
    orders_of_all(&mut world, 1);
    assert!(world.trips < 10, "{} trips for 57 queries", world.trips);
    world.end(1);
    let counts = world.runner.take_counts();
    assert!(counts.unused < 10 * SECOND, "{counts:?}");
}

#[test]
fn quick_loops_are_not_charged_for_what_was_used() {
    let limits = RunnerLimits { program_time: SECOND, ..RunnerLimits::default() };
    let mut world = learned(limits);
    world.work_time = Duration::from_millis(10);
    for transaction in 1..10 {
        let before = world.trips;
        world.begin(transaction, SNAPSHOT);
        orders_of_all(&mut world, transaction);
        world.end(transaction);
        assert_eq!(world.trips - before, 1, "loop {transaction}");
    }
    assert_eq!(world.runner.take_counts().spent, [0, 0, 0]);
}

#[test]
fn a_program_that_guesses_wrong_again_and_again_rests_until_time_has_passed() {
    let mut world = learned(RunnerLimits { program_time: 10 * SECOND, ..RunnerLimits::default() });
    world.work_time = SECOND;
    assert_eq!(guess_wrong(&mut world, 1), 10);
    assert_eq!(guess_wrong(&mut world, 2), 0);
    assert_eq!(world.runner.take_counts().spent, [0, 2, 0]);
    world.now += 300 * SECOND;
    world.runner.pass(world.now);
    assert_eq!(guess_wrong(&mut world, 3), 6, "five seconds are forgotten, and a little while these run");
}

#[test]
fn results_that_nobody_uses_are_sent_up_to_so_many_bytes() {
    let mut world = learned(RunnerLimits { program_bytes: 100_000, ..RunnerLimits::default() });
    world.table("orders", &[LONG, LONG], |given| {
        let id = integer(&given[0]);
        Some((0..1_000).map(|number| numbers([id, id * 1_000 + number])).collect())
    });
    let ran = guess_wrong(&mut world, 1);
    assert!((3..=6).contains(&ran), "{ran} results of 20 KB");
    assert_eq!(world.runner.take_counts().spent, [0, 0, 1]);
    // Those of a cursor that is over are the edge's to drop: the next one has its own.
    assert_eq!(guess_wrong(&mut world, 2), ran);
}

#[test]
fn nothing_is_run_ahead_without_a_budget() {
    for limits in [
        RunnerLimits { cursor_time: Duration::ZERO, ..RunnerLimits::default() },
        RunnerLimits { program_time: Duration::ZERO, ..RunnerLimits::default() },
    ] {
        let mut world = learned(limits);
        world.begin(1, SNAPSHOT);
        orders_of_all(&mut world, 1);
        assert_eq!((world.ran_ahead, world.trips), (0, 57));
    }
}
