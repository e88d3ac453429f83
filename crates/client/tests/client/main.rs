//! The driver against a Farbird server in this process, and against real Firebird servers if they are named:
//!
//! ```text
//! FARBIRD_TEST_FIREBIRD="127.0.0.1/3050:/tmp/fbdata/client,SYSDBA,secret 127.0.0.1/3054:/tmp,SYSDBA,masterkey"
//! ```
//!
//! Each is a folder on the server, where databases are made and dropped, a user and a password. With `FARBIRD_TEST_OWN=no`
//! they take Farbird's place. `tests/client-servers/run` brings such servers along.

mod ahead;
mod arrays;
mod backpressure;
mod batches;
mod blobs;
mod blobs_ahead;
mod cancels;
mod character_sets;
mod counters;
mod deferred;
mod events;
mod expected;
mod generations;
mod hostile;
mod keys;
mod logins;
mod pipelines;
mod pools;
mod replay;
mod retries;
mod round_trips;
mod scrolls;
mod servers;
mod services;
mod statements;
mod tasks;
mod transactions;
mod trips;
mod two_phases;
mod typed;
