//! BLOBs through tokio's traits: `AsyncRead` and `AsyncWrite`.
//!
//! A poll that has to wait begins the operation that the methods of [`BlobReader`] and [`BlobWriter`] run; the next one goes
//! on with it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::blob::{BlobReader, BlobWriter};
use crate::error;

impl AsyncRead for BlobReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let contents = ready!(self.contents.poll(context)).map_err(error::io)?;
            if contents.is_ready() {
                let count = contents.give(out.initialize_unfilled());
                out.advance(count);
                return Poll::Ready(Ok(()));
            }
            self.contents.lend(|mut contents| async move {
                let filled = contents.fill().await;
                (contents, filled.map(|_| ()))
            });
        }
    }
}

impl AsyncWrite for BlobWriter {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            let segments = ready!(self.segments.poll(context)).map_err(error::io)?;
            if bytes.is_empty() || !segments.is_full() {
                return Poll::Ready(Ok(segments.take(bytes)));
            }
            self.segments.lend(|mut segments| async move {
                let sent = segments.send_segment().await;
                (segments, sent)
            });
        }
    }

    /// Waits for nothing but what has begun: bytes leave when they are many, or with [`BlobWriter::finish`].
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.segments.poll(context).map_ok(|_| ()).map_err(error::io)
    }

    /// As `poll_flush`: the BLOB is complete with [`BlobWriter::finish`], which gives its id.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_flush(context)
    }
}
