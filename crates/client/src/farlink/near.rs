//! The blocking side of a connection with the machine inside: a thread that waits is parked, with no runtime of its own.

use std::io::{ErrorKind, Read, Write};
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

use crate::blocking::Transport;

/// Wakes whichever thread waits.
#[derive(Debug, Default)]
struct Alarm {
    has_rung: Mutex<bool>,
    bell: Condvar,
}

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        *self.has_rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.bell.notify_all();
    }
}

impl Alarm {
    /// Waits until it rings; false if that takes longer than `limit`.
    fn wait(&self, limit: Option<Duration>) -> bool {
        let mut has_rung = self.has_rung.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        while !*has_rung {
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            has_rung = match left {
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    self.bell.wait_timeout(has_rung, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.bell.wait(has_rung).unwrap_or_else(PoisonError::into_inner),
            };
        }
        *has_rung = false;
        true
    }
}

/// Waits for a future on this thread.
pub(crate) fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let alarm = Arc::new(Alarm::default());
    let waker = Waker::from(alarm.clone());
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        alarm.wait(None);
    }
}

/// A connection with the machine inside, as the blocking driver wants it.
#[derive(Debug)]
pub(crate) struct Near {
    stream: DuplexStream,
    alarm: Arc<Alarm>,
    read_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    is_nonblocking: bool,
}

impl Near {
    pub(crate) fn new(stream: DuplexStream) -> Near {
        Near { stream, alarm: Arc::default(), read_timeout: None, write_timeout: None, is_nonblocking: false }
    }

    /// Polls until there is a result, for `limit` at most.
    fn poll<T>(
        &mut self,
        limit: Option<Duration>,
        mut poll: impl FnMut(Pin<&mut DuplexStream>, &mut Context<'_>) -> Poll<std::io::Result<T>>,
    ) -> std::io::Result<T> {
        let waker = Waker::from(self.alarm.clone());
        let begun = Instant::now();
        loop {
            if let Poll::Ready(result) = poll(Pin::new(&mut self.stream), &mut Context::from_waker(&waker)) {
                return result;
            }
            if self.is_nonblocking {
                return Err(ErrorKind::WouldBlock.into());
            }
            let left = limit.map(|limit| limit.saturating_sub(begun.elapsed()));
            if !self.alarm.wait(left) {
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

impl Read for Near {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut buffer = ReadBuf::new(buffer);
        self.poll(self.read_timeout, |stream, context| {
            stream.poll_read(context, &mut buffer).map_ok(|()| buffer.filled().len())
        })
    }
}

impl Write for Near {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.poll(self.write_timeout, |stream, context| stream.poll_write(context, bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Transport for Near {
    fn set_read_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.read_timeout = timeout;
        Ok(())
    }

    fn set_write_timeout(&mut self, timeout: Option<Duration>) -> std::io::Result<()> {
        self.write_timeout = timeout;
        Ok(())
    }

    fn set_nonblocking(&mut self, is_nonblocking: bool) -> std::io::Result<()> {
        self.is_nonblocking = is_nonblocking;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_wait_as_long_as_they_may_and_end_with_the_other_side() {
        let (near, far) = tokio::io::duplex(4);
        let (mut near, mut far) = (Near::new(near), Near::new(far));
        near.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(near.read(&mut [0; 4]).unwrap_err().kind(), ErrorKind::TimedOut);
        near.set_nonblocking(true).unwrap();
        assert_eq!(near.read(&mut [0; 4]).unwrap_err().kind(), ErrorKind::WouldBlock);
        near.set_nonblocking(false).unwrap();
        near.set_write_timeout(Some(Duration::from_millis(1))).unwrap();
        assert_eq!(near.write(b"abcdef").unwrap(), 4);
        assert_eq!(near.write(b"ef").unwrap_err().kind(), ErrorKind::TimedOut);
        near.set_write_timeout(None).unwrap();
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            far.read_to_end(&mut all).unwrap();
            all
        });
        near.write_all(b"efgh").unwrap();
        drop(near);
        assert_eq!(reader.join().unwrap(), b"abcdefgh");
    }
}
