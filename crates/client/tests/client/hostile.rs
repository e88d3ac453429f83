//! Servers that hang up: at whichever byte, each call ends with an error and none waits for ever, in both faces.

use std::net::TcpStream;
use std::time::Duration;

use farbird_client::core::Shared;
use farbird_client::{BlobId, ConnectOptions, Connection, Location, Result, WireCrypt, blocking, drive};
use farbird_types::isc;
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::replay::{Chunk, Player, Recorder, Tape};
use crate::servers::{TestServer, farbird, run};

/// Longer than any of these conversations takes on the slowest machine; reached only by a call that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

const SELECT: &str = "select id, few, many from t where id < ?";
const INSERT: &str = "insert into t (id) values (?) returning id";

/// A database with a BLOB that travels with its row and one that does not.
fn place_with_rows() -> (TestServer, String, ConnectOptions) {
    let place = farbird();
    let location = place.location();
    let connection = blocking::Connection::create(&location, &Default::default(), &place.options).unwrap();
    run(&connection, &["create table t (id integer, few blob, many blob)"]);
    let transaction = connection.begin(&Default::default()).unwrap();
    let insert = connection.prepare(&transaction, "insert into t values (?, ?, ?)").unwrap();
    for id in 0..3 {
        let short = connection.write_blob(&transaction, b"short").unwrap();
        let long = connection.write_blob(&transaction, &[7; 200]).unwrap();
        connection.execute(&transaction, &insert, (id, short, long)).unwrap();
    }
    connection.commit(transaction).unwrap();
    drop(insert);
    connection.close().unwrap();
    let options =
        ConnectOptions { wire_crypt: WireCrypt::Disabled, inline_blob_bytes: 100, ..place.options.clone() };
    (place, location, options)
}

/// Everything that waits for an answer, on the blocking face.
fn talk(connection: &blocking::Connection) -> Result<()> {
    let transaction = connection.begin(&Default::default())?;
    let statement = connection.prepare(&transaction, SELECT)?;
    for row in connection.query(&transaction, &statement, (10,))? {
        let (_, short, long): (i32, BlobId, BlobId) = row?.convert()?;
        connection.read_blob(&transaction, short)?;
        connection.read_blob(&transaction, long)?;
    }
    let insert = connection.prepare_deferred(&transaction, INSERT)?;
    connection.execute(&transaction, &insert, (4,))?;
    let mut pipeline = connection.pipeline(&transaction, &insert);
    for id in 5..8 {
        pipeline.execute((id,))?;
    }
    pipeline.finish()?.into_result()?;
    connection.write_blob(&transaction, b"new")?;
    connection.rollback(transaction)?;
    connection.ping()
}

/// The same on the asynchronous one.
async fn talk_async(connection: &Connection) -> Result<()> {
    let transaction = connection.begin(&Default::default()).await?;
    let statement = connection.prepare(&transaction, SELECT).await?;
    let mut rows = connection.query(&transaction, &statement, (10,)).await?;
    while let Some(row) = rows.next().await? {
        let (_, short, long): (i32, BlobId, BlobId) = row.convert()?;
        connection.read_blob(&transaction, short).await?;
        connection.read_blob(&transaction, long).await?;
    }
    drop(rows);
    let insert = connection.prepare_deferred(&transaction, INSERT).await?;
    connection.execute(&transaction, &insert, (4,)).await?;
    let mut pipeline = connection.pipeline(&transaction, &insert);
    for id in 5..8 {
        pipeline.execute((id,)).await?;
    }
    pipeline.finish().await?.into_result()?;
    connection.write_blob(&transaction, b"new").await?;
    connection.rollback(transaction).await?;
    connection.ping().await
}

fn bytes_of(chunks: &[Chunk]) -> usize {
    chunks.iter().map(|chunk| chunk.answer.len()).sum()
}

/// Each chunk behind its length.
fn file_of(chunks: &[Chunk]) -> Vec<u8> {
    let length = |chunk: &Chunk| u32::try_from(chunk.answer.len()).unwrap().to_be_bytes();
    chunks.iter().flat_map(|chunk| [&length(chunk)[..], &chunk.answer].concat()).collect()
}

#[test]
fn the_blocking_face_survives_a_hang_up_at_every_byte() {
    let (_place, location, options) = place_with_rows();
    let Location { host, port, database } = Location::parse(&location).unwrap();
    let tape = Tape::default();
    let recorder = Recorder::new(TcpStream::connect((&*host, port)).unwrap(), &tape);
    let connection = blocking::Connection::attach_over(recorder, &host, &database, &options).unwrap();
    talk(&connection).unwrap();
    connection.close().unwrap();
    let chunks = tape.chunks();
    // For the fuzz target client_core, which begins with it.
    if let Some(file) = std::env::var_os("FARBIRD_RECORD_CONVERSATION") {
        std::fs::write(file, file_of(&chunks)).unwrap();
    }
    let total = bytes_of(&chunks);
    for bytes in 0..=total {
        let player = Player::new(&chunks, bytes);
        let attached = blocking::Connection::attach_over(player.clone(), "player", &database, &options);
        let result = attached.and_then(|connection| {
            if let Err(error) = talk(&connection) {
                // It is lost, and says so to whatever else is asked.
                assert!(connection.ping().is_err() && connection.server_version().is_err(), "byte {bytes}");
                return Err(error);
            }
            connection.close()
        });
        assert!(!player.has_hung(), "byte {bytes}: waits for what it has not asked");
        assert_eq!(result.is_ok(), bytes == total, "byte {bytes} of {total}: {result:?}");
        if let Err(error) = result {
            assert_eq!(error.gds_code(), isc::NETWORK_ERROR, "byte {bytes}: {error}");
        }
    }
}

/// Attaches over a stream that a task moves.
async fn attach(
    stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Send + Unpin + 'static,
    database: &str,
    options: &ConnectOptions,
) -> Result<Connection> {
    let shared = Shared::new(options.tuning.clone());
    drive(&shared, stream, "player", None);
    Connection::attach_over(&shared, database, options).await
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn the_asynchronous_face_survives_a_hang_up_at_every_byte() {
    let (_place, location, options) = place_with_rows();
    let Location { host, port, database } = Location::parse(&location).unwrap();
    runtime().block_on(async {
        let tape = Tape::default();
        let recorder = Recorder::new(tokio::net::TcpStream::connect((&*host, port)).await.unwrap(), &tape);
        let connection = attach(recorder, &database, &options).await.unwrap();
        talk_async(&connection).await.unwrap();
        connection.close().await.unwrap();
        let chunks = tape.chunks();
        let total = bytes_of(&chunks);
        for bytes in 0..=total {
            let player = Player::new(&chunks, bytes);
            let conversation = async {
                let connection = attach(player, &database, &options).await?;
                if let Err(error) = talk_async(&connection).await {
                    assert!(connection.ping().await.is_err(), "byte {bytes}");
                    return Err(error);
                }
                connection.close().await
            };
            let ended = timeout(PATIENCE, conversation).await;
            let result = ended.unwrap_or_else(|_| panic!("byte {bytes} of {total}: hangs"));
            assert_eq!(result.is_ok(), bytes == total, "byte {bytes} of {total}: {result:?}");
            if let Err(error) = result {
                assert_eq!(error.gds_code(), isc::NETWORK_ERROR, "byte {bytes}: {error}");
            }
        }
    });
}
