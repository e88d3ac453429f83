//! Conversations recorded with a server, and played again by a server that hangs up somewhere.
//!
//! What a server sent is cut into chunks, by what it had been asked before each. So the player does not answer before it is
//! asked, and sees a client that waits for an answer without having asked.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use farbird_client::blocking::Transport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Chunks in which the login goes on: its requests differ by some bytes from run to run.
const LOGIN_CHUNKS: usize = 3;
const LOGIN_SLACK: usize = 64;

/// What a server sent behind so many bytes of requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunk {
    asked: usize,
    pub(crate) answer: Vec<u8>,
}

/// A recorded conversation.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tape(Arc<Mutex<Vec<Chunk>>>);

impl Tape {
    pub(crate) fn chunks(&self) -> Vec<Chunk> {
        self.0.lock().unwrap().clone()
    }

    fn wrote(&self, bytes: usize) {
        let mut chunks = self.0.lock().unwrap();
        if chunks.last().is_none_or(|chunk| !chunk.answer.is_empty()) {
            chunks.push(Chunk::default());
        }
        chunks.last_mut().unwrap().asked += bytes;
    }

    fn read(&self, bytes: &[u8]) {
        self.0.lock().unwrap().last_mut().unwrap().answer.extend_from_slice(bytes);
    }
}

/// A connection that is recorded.
#[derive(Debug)]
pub(crate) struct Recorder<S> {
    stream: S,
    tape: Tape,
}

impl<S> Recorder<S> {
    pub(crate) fn new(stream: S, tape: &Tape) -> Recorder<S> {
        Recorder { stream, tape: tape.clone() }
    }
}

impl Read for Recorder<TcpStream> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.stream.read(buffer)?;
        self.tape.read(&buffer[..count]);
        Ok(count)
    }
}

impl Write for Recorder<TcpStream> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.stream.write(bytes)?;
        self.tape.wrote(count);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

impl Transport for Recorder<TcpStream> {
    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.stream.set_read_timeout(timeout)
    }

    fn set_write_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.stream.set_write_timeout(timeout)
    }
}

impl AsyncRead for Recorder<tokio::net::TcpStream> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.tape.read(&buffer.filled()[before..]);
        }
        polled
    }
}

impl AsyncWrite for Recorder<tokio::net::TcpStream> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = polled {
            self.tape.wrote(count);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A server that says what another one has said, and hangs up.
#[derive(Debug, Clone)]
pub(crate) struct Player(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    chunks: Vec<Chunk>,
    /// The chunk that is being given, and how much of it has been.
    current: usize,
    given: usize,
    /// Bytes of requests behind the last chunk that was given whole.
    asked: usize,
    /// Bytes after which the server hangs up.
    left: usize,
    has_hung: bool,
    reader: Option<Waker>,
}

impl Player {
    /// Hangs up after so many bytes.
    pub(crate) fn new(chunks: &[Chunk], bytes: usize) -> Player {
        Player(Arc::new(Mutex::new(State {
            chunks: chunks.to_vec(),
            current: 0,
            given: 0,
            asked: 0,
            left: bytes,
            has_hung: false,
            reader: None,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Whether the client has waited for an answer that it had not asked for.
    pub(crate) fn has_hung(&self) -> bool {
        self.state().has_hung
    }
}

impl State {
    fn wrote(&mut self, bytes: usize) {
        self.asked += bytes;
        if let Some(reader) = self.reader.take() {
            reader.wake();
        }
    }

    /// Some bytes; none behind the end; `None` if the next are not due yet.
    fn read(&mut self, room: usize) -> Option<Vec<u8>> {
        if self.left == 0 {
            return Some(Vec::new());
        }
        let chunk = self.chunks.get(self.current)?;
        let slack = if self.current < LOGIN_CHUNKS { LOGIN_SLACK } else { 0 };
        if self.given == 0 && self.asked < chunk.asked.saturating_sub(slack).max(1) {
            return None;
        }
        let count = room.min(self.left).min(chunk.answer.len() - self.given);
        let bytes = chunk.answer[self.given..self.given + count].to_vec();
        self.left -= count;
        self.given += count;
        if self.given == chunk.answer.len() {
            // What a longer login asked must not count for what follows.
            self.asked = if slack > 0 { 0 } else { self.asked - chunk.asked };
            (self.current, self.given) = (self.current + 1, 0);
        }
        Some(bytes)
    }
}

impl Read for Player {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut state = self.state();
        let Some(bytes) = state.read(buffer.len()) else {
            state.has_hung = true;
            return Err(ErrorKind::TimedOut.into());
        };
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

impl Write for Player {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.state().wrote(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Transport for Player {
    fn set_read_timeout(&mut self, _: Option<Duration>) -> std::io::Result<()> {
        Ok(())
    }

    fn set_write_timeout(&mut self, _: Option<Duration>) -> std::io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for Player {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let mut state = self.state();
        match state.read(buffer.remaining()) {
            Some(bytes) => {
                buffer.put_slice(&bytes);
                Poll::Ready(Ok(()))
            }
            None => {
                state.reader = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl AsyncWrite for Player {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.state().wrote(bytes.len());
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
