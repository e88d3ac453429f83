//! A hostile server: any bytes at any stage of a conversation with the client, from the first packet of the login to the
//! last of a BLOB. No panic, no endless loop, no operation that waits for what cannot come, no unbounded memory.
//!
//! The input is: switches of the client, the number of recorded answers that are played first, and then
//! - with an even first byte, answers as they come, each behind its length (a byte);
//! - with an odd one, changes to the recorded answers that follow: place (two bytes) and what is XORed.
//!
//! The recorded answers are made anew by
//! `FARBIRD_RECORD_CONVERSATION=$PWD/fuzz/seeds/conversation cargo test -p farbird-client the_blocking_face_survives`.
#![no_main]

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use farbird_client::core::Shared;
use farbird_client::{BlobId, ConnectOptions, Connection, Error, Result, Tuning, Value, WireCrypt};
use libfuzzer_sys::fuzz_target;

const CONVERSATION: &[u8] = include_bytes!("../seeds/conversation");

/// The recorded answers.
fn recorded() -> Vec<Vec<u8>> {
    let mut rest = CONVERSATION;
    let mut answers = Vec::new();
    while let [a, b, c, d, after @ ..] = rest {
        let length = (u32::from_be_bytes([*a, *b, *c, *d]) as usize).min(after.len());
        let (answer, after) = after.split_at(length);
        answers.push(answer.to_vec());
        rest = after;
    }
    answers
}

/// The answers to come, in their order.
fn answers(is_patched: bool, played: usize, data: &[u8]) -> Vec<Vec<u8>> {
    let mut answers = recorded();
    let played = played % (answers.len() + 1);
    if is_patched {
        let later = &mut answers[played..];
        for patch in data.chunks_exact(3) {
            let place = usize::from(u16::from_be_bytes([patch[0], patch[1]]));
            let bytes = later.iter_mut().flat_map(|answer| answer.iter_mut());
            if let Some(byte) = bytes.skip(place).next() {
                *byte ^= patch[2];
            }
        }
        return answers;
    }
    answers.truncate(played);
    let mut rest = data;
    while let [length, after @ ..] = rest {
        let (answer, after) = after.split_at(usize::from(*length).min(after.len()));
        answers.push(answer.to_vec());
        rest = after;
    }
    answers
}

/// A program that uses what there is.
async fn talk(shared: &Shared, options: &ConnectOptions) -> Result<()> {
    let connection = Connection::attach_over(shared, "player", options).await?;
    let transaction = connection.begin(&Default::default()).await?;
    let statement = connection.prepare(&transaction, "select id, few, many from t where id < ?").await?;
    let mut rows = connection.query(&transaction, &statement, (10,)).await?;
    while let Some(row) = rows.next().await? {
        for value in row.to_values() {
            let Value::Blob(id) = value else { continue };
            read(&connection, &transaction, id).await?;
        }
    }
    drop(rows);
    let insert =
        connection.prepare_deferred(&transaction, "insert into t (id) values (?) returning id").await?;
    connection.execute(&transaction, &insert, (4,)).await?;
    let mut pipeline = connection.pipeline(&transaction, &insert);
    for id in 5..8 {
        pipeline.execute((id,)).await?;
    }
    pipeline.finish().await?;
    connection.write_blob(&transaction, b"new").await?;
    connection.rollback(transaction).await?;
    connection.server_version().await?;
    connection.close().await
}

/// A BLOB may have no end.
async fn read(
    connection: &Connection,
    transaction: &farbird_client::Transaction,
    id: BlobId,
) -> Result<()> {
    let mut reader = connection.open_blob(transaction, id).await?;
    let mut buffer = [0; 1024];
    while reader.read(&mut buffer).await? > 0 {}
    Ok(())
}

fuzz_target!(|data: &[u8]| {
    let [switches, played, data @ ..] = data else { return };
    let mut options = ConnectOptions::new("sysdba", "masterkey");
    options.wire_crypt = if switches & 2 == 0 { WireCrypt::Disabled } else { WireCrypt::Enabled };
    options.compress = switches & 4 != 0;
    options.inline_blob_bytes = 100;
    options.tuning = Tuning::default().predict_handles(switches & 8 == 0).fetch_ahead(switches & 16 == 0);
    let shared = Shared::new(options.tuning.clone());
    let driven = shared.driven();
    let mut operation = pin!(talk(&shared, &options));
    let mut context = Context::from_waker(Waker::noop());
    let mut answers = answers(switches & 1 == 1, usize::from(*played), data).into_iter();
    let mut now = Duration::ZERO;
    let mut out = Vec::new();
    // Each turn sends something or takes an answer.
    loop {
        if let Poll::Ready(_) = operation.as_mut().poll(&mut context) {
            return;
        }
        let mut core = driven.lock();
        now += Duration::from_millis(1);
        core.set_now(now);
        let has_left = core.take_output(&mut out).is_ok_and(|flight| flight.is_some());
        core.sent(out.len());
        out.clear();
        if has_left && !core.somebody_waits() {
            continue;
        }
        assert!(core.somebody_waits(), "an operation waits for nothing");
        let Some(mut answer) = answers.next() else {
            core.fail(Error::new(farbird_types::isc::NETWORK_ERROR));
            break;
        };
        if core.feed(&mut answer).is_ok() {
            while core.deliver_one().is_ok_and(|delivered| delivered.is_some()) {}
        }
    }
    assert!(operation.as_mut().poll(&mut context).is_ready(), "a lost connection ends every operation");
});
