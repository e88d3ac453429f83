//! The task of a program's second connection, on which events come.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// How long a program may take to make it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// Pieces that wait to be written.
const QUEUE: usize = 64;

/// A program's second connection, as the program's task sees it.
pub(super) struct Auxiliary {
    pieces: mpsc::Sender<Vec<u8>>,
}

impl Auxiliary {
    /// Listens at a port of this address for a program at that one. Gives where, too.
    pub(super) async fn listen(here: IpAddr, program: IpAddr) -> std::io::Result<(Auxiliary, SocketAddr)> {
        let listener = TcpListener::bind((here, 0)).await?;
        let address = listener.local_addr()?;
        let (pieces, queue) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            if let Ok(Some(stream)) = timeout(CONNECT_TIMEOUT, accept(&listener, program)).await {
                drop(listener);
                carry(stream, queue).await;
            }
        });
        Ok((Auxiliary { pieces }, address))
    }

    /// Sends what the server has said; false if the program takes it no longer.
    pub(super) fn send(&self, piece: Vec<u8>) -> bool {
        self.pieces.try_send(piece).is_ok()
    }

    /// Until the program has closed it.
    pub(super) async fn closed(&self) {
        self.pieces.closed().await;
    }
}

/// The program's connection; others' are closed.
async fn accept(listener: &TcpListener, program: IpAddr) -> Option<TcpStream> {
    loop {
        let (stream, peer) = listener.accept().await.ok()?;
        if peer.ip().to_canonical() == program.to_canonical() {
            return Some(stream);
        }
    }
}

async fn carry(mut stream: TcpStream, mut queue: mpsc::Receiver<Vec<u8>>) {
    let _ = stream.set_nodelay(true);
    let (mut reader, mut writer) = stream.split();
    let mut buffer = [0; 64];
    loop {
        tokio::select! {
            piece = queue.recv() => match piece {
                Some(piece) if writer.write_all(&piece).await.is_ok() => {}
                _ => return,
            },
            // A program says nothing there: it has closed it.
            read = reader.read(&mut buffer) => if !read.is_ok_and(|length| length > 0) {
                return;
            }
        }
    }
}
