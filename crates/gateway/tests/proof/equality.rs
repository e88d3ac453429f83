//! The same random programs, once at the server and once through edge and origin: each answer is the same.
//!
//! Several attachments of one edge change the same tables; what one does comes behind what another did before, on either way. So
//! not only under SNAPSHOT but in READ COMMITTED too each answer has to be the one that the server gives without edge and origin.
//! `FARBIRD_SEED` runs one seed, `FARBIRD_SEEDS` another number of them, both together so many from there on: what an edge has
//! learned from programs before may matter.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use farbird_client::blocking::Connection;
use farbird_client::{ConnectOptions, TransactionOptions, Tuning};

use crate::network::Conditions;
use crate::player::{FILL, Played, Player, RESTORE, TABLES};
use crate::random::number;
use crate::server::{TestServer, run};
use crate::world::World;

/// How many seeds are played if nobody says so, and how long at most.
const SEEDS: u64 = 2_000;
const TIME_MAX: Duration = Duration::from_secs(100);
/// Programs of so many seeds teach an edge; then comes a new one.
const SEEDS_OF_AN_EDGE: u64 = 50;

/// A database at the server, and the same again behind edge and origin.
struct Stage {
    server: TestServer,
    direct: Connection,
    far: Connection,
    world: World,
}

impl Stage {
    fn new() -> Stage {
        let server = TestServer::start();
        let direct = server.create("near.fdb", &TABLES);
        let far = server.create("away.fdb", &TABLES);
        let world = Stage::world(&server);
        Stage { server, direct, far, world }
    }

    fn world(server: &TestServer) -> World {
        World::new(server, Conditions::delay(Duration::from_millis(100)))
    }

    fn options(&self, generation: &str) -> ConnectOptions {
        ConnectOptions { tuning: Tuning::preset(generation).unwrap(), ..self.server.options.clone() }
    }

    fn reset(&self, restores: bool) {
        for connection in [&self.direct, &self.far] {
            for definition in RESTORE.iter().filter(|_| restores) {
                let transaction = connection.begin(&TransactionOptions::default()).unwrap();
                match connection.run(&transaction, definition) {
                    Ok(()) => connection.commit(transaction).unwrap(),
                    Err(_) => connection.rollback(transaction).unwrap(),
                }
            }
            run(connection, FILL);
        }
    }

    /// Plays one seed on both sides; says where they differ.
    fn play(&self, seed: u64) -> bool {
        let expected = Player::new(seed, "at the server", |generation| {
            self.server.attach("near.fdb", &self.options(generation)).unwrap()
        })
        .play();
        let seen = Player::new(seed, "through edge and origin", |generation| {
            self.world.attach("away.fdb", &self.options(generation)).unwrap()
        })
        .play();
        // What has left the programs gets to the server: nothing of theirs stays locked.
        self.world.pass(Duration::from_secs(1));
        compare(seed, &seen, &expected);
        expected.definitions
    }
}

/// A line without what differs between databases: their names, and numbers of transactions.
fn neutral(line: &str) -> String {
    let line = line.replace("away.fdb", "near.fdb").replace("AWAY.FDB", "NEAR.FDB");
    match line.split_once("it is transaction ") {
        Some((before, after)) => {
            format!("{before}it is transaction {}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
        None => line,
    }
}

fn neutral_lines(log: &[String]) -> impl Iterator<Item = String> {
    log.iter().map(|line| neutral(line))
}

fn compare(seed: u64, seen: &Played, expected: &Played) {
    let (seen_lines, expected_lines) = (neutral_lines(&seen.log), neutral_lines(&expected.log));
    for (index, (seen, expected_line)) in seen_lines.zip(expected_lines).enumerate() {
        if seen != expected_line {
            let before = expected.log[..index].join("\n");
            panic!(
                "{before}\nFARBIRD_SEED={seed}, behind that:\n  through edge and origin: {seen}\n  at the server: {expected_line}"
            );
        }
    }
    let common = seen.log.len().min(expected.log.len());
    let (seen_more, expected_more) = (&seen.log[common..], &expected.log[common..]);
    assert_eq!(
        seen_more,
        expected_more,
        "{}\nFARBIRD_SEED={seed}, behind that",
        expected.log[..common].join("\n")
    );
}

#[test]
fn random_programs_get_the_same_answers() {
    let seeds = match (number("FARBIRD_SEED"), number("FARBIRD_SEEDS")) {
        (Some(seed), seeds) => seed..seed + seeds.unwrap_or(1),
        (None, seeds) => 0..seeds.unwrap_or(SEEDS),
    };
    let time_max = match number("FARBIRD_SEEDS") {
        Some(_) => Duration::MAX,
        None => TIME_MAX,
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from).clamp(1, 4);
    let (next, begun) = (AtomicU64::new(seeds.start), Instant::now());
    let (used, played) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut stage = Stage::new();
                let mut restores = false;
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end || begun.elapsed() > time_max {
                        break;
                    }
                    stage.reset(restores);
                    restores = stage.play(seed);
                    if played.fetch_add(1, Ordering::Relaxed) % SEEDS_OF_AN_EDGE == SEEDS_OF_AN_EDGE - 1 {
                        used.fetch_add(stage.world.site().rules().total().used, Ordering::Relaxed);
                        stage.world = Stage::world(&stage.server);
                    }
                }
                used.fetch_add(stage.world.site().rules().total().used, Ordering::Relaxed);
            });
        }
    });
    let (used, played) = (used.into_inner(), played.into_inner());
    println!(
        "{played} seeds in {:?}; {used} executions were answered by what was run ahead",
        begun.elapsed()
    );
    assert!(used > 0 || played < 20, "nothing was answered by what was run ahead");
}
