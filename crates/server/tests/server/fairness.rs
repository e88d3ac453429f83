//! A hundred busy connections share what there is.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::TestServer;

const CONNECTIONS: usize = 100;
/// Statements after which the fastest connection ends the race.
const STATEMENTS: u32 = 40;

#[test]
fn no_busy_connection_starves() {
    let server = TestServer::start();
    let mut owner = server.create("t.fbd");
    owner.run("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)");
    let (start, finished) = (Barrier::new(CONNECTIONS), AtomicBool::new(false));
    let counts: Vec<u32> = std::thread::scope(|scope| {
        let busy: Vec<_> = (0..CONNECTIONS)
            .map(|number| {
                let (server, start, finished) = (&server, &start, &finished);
                scope.spawn(move || {
                    let mut client = server.attach("t.fbd");
                    start.wait();
                    let mut count = 0;
                    while !finished.load(Ordering::Relaxed) {
                        client.run(&format!(
                            "UPDATE OR INSERT INTO T VALUES ({number}, {count}) MATCHING (ID)"
                        ));
                        count += 1;
                        if count == STATEMENTS {
                            finished.store(true, Ordering::Relaxed);
                        }
                    }
                    count
                })
            })
            .collect();
        busy.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let least = counts.iter().min().copied().unwrap();
    assert!(least >= STATEMENTS / 10, "{counts:?}");
}
