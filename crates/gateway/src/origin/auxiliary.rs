//! The second connection to the server, on which events come.

use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Reads that wait for the conversation's task.
const QUEUE: usize = 16;
const READ_BYTES: usize = 16 << 10;

/// What the server says on a second connection to this port, piece by piece until it is over.
pub(super) fn listen(server: &str, port: u16) -> mpsc::Receiver<Vec<u8>> {
    let (pieces, queue) = mpsc::channel(QUEUE);
    let host = server.rsplit_once(':').map_or(server, |(host, _)| host);
    let address = format!("{host}:{port}");
    tokio::spawn(async move {
        match timeout(CONNECT_TIMEOUT, TcpStream::connect(&address)).await {
            Ok(Ok(stream)) => carry(stream, pieces).await,
            Ok(Err(error)) => tracing::warn!("cannot reach the server's port for events, {address}: {error}"),
            Err(_) => tracing::warn!("the server's port for events, {address}, does not answer"),
        }
    });
    queue
}

async fn carry(mut stream: TcpStream, pieces: mpsc::Sender<Vec<u8>>) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let read = tokio::select! {
            read = stream.read(&mut buffer) => read,
            () = pieces.closed() => return,
        };
        let Ok(length) = read else { return };
        let piece = buffer.get(..length).unwrap_or_default().to_vec();
        if piece.is_empty() || pieces.send(piece).await.is_err() {
            return;
        }
    }
}
