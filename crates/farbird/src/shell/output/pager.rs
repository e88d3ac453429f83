//! A terminal's screen as the place where a result goes: what is longer than it goes through a pager.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

/// The pager when PAGER does not name one: lines are cut rather than wrapped, colours pass, and short texts stay.
const PAGER: &str = "less -SRFX";
/// Lines of the screen that are not for the result: the prompt and what is said below it.
const LINES_FOR_OTHERS: usize = 3;

/// Shows a result. What fits stays where it is; as soon as it does not fit, a pager has it.
pub(crate) struct Screen {
    lines_max: usize,
    columns: usize,
    held: Vec<u8>,
    /// Lines held, as the terminal would wrap them.
    lines: usize,
    /// Columns of the last line held.
    column: usize,
    state: State,
}

enum State {
    /// All that came is held.
    Holding,
    /// It is too long.
    Paging(Box<Child>),
    /// There is no pager.
    Direct,
}

impl Screen {
    /// A screen of so many lines and columns.
    pub(crate) fn new(lines: usize, columns: usize) -> Screen {
        Screen {
            lines_max: lines.saturating_sub(LINES_FOR_OTHERS).max(1),
            columns: columns.max(1),
            held: Vec::new(),
            lines: 0,
            column: 0,
            state: State::Holding,
        }
    }

    fn count(&mut self, bytes: &[u8]) {
        for byte in bytes {
            // Bytes inside a character take no column; colours are counted, which opens the pager too early at worst.
            if *byte == b'\n' {
                self.lines += 1;
                self.column = 0;
            } else if byte & 0xC0 != 0x80 {
                self.column += 1;
                if self.column > self.columns {
                    self.lines += 1;
                    self.column = 1;
                }
            }
        }
    }

    fn open(&mut self) -> io::Result<()> {
        self.state = match start_pager() {
            Some(pager) => State::Paging(Box::new(pager)),
            None => State::Direct,
        };
        let held = std::mem::take(&mut self.held);
        self.put(&held)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.state {
            State::Holding => self.held.extend_from_slice(bytes),
            State::Direct => io::stdout().lock().write_all(bytes)?,
            State::Paging(pager) => match &mut pager.stdin {
                Some(input) => input.write_all(bytes)?,
                None => return Err(io::ErrorKind::BrokenPipe.into()),
            },
        }
        Ok(())
    }

    /// Shows what is held, or waits until the reader has left the pager.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        match &mut self.state {
            State::Holding => {
                let mut out = io::stdout().lock();
                out.write_all(&self.held)?;
                out.flush()
            }
            State::Direct => io::stdout().lock().flush(),
            State::Paging(pager) => {
                drop(pager.stdin.take());
                pager.wait().map(drop)
            }
        }
    }

    /// Whether a pager has it: one that is left early is no failure.
    pub(crate) fn is_paging(&self) -> bool {
        matches!(self.state, State::Paging(_))
    }
}

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.state, State::Holding) {
            self.count(bytes);
            if self.lines > self.lines_max {
                self.open()?;
            }
        }
        self.put(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if let State::Paging(pager) = &mut self.state {
            drop(pager.stdin.take());
            if let Err(error) = pager.wait() {
                tracing::debug!(%error, "the pager cannot be waited for");
            }
        }
    }
}

/// PAGER, or `less`; nothing if PAGER is empty or the program is not there.
fn start_pager() -> Option<Child> {
    let named = std::env::var("PAGER").unwrap_or_else(|_| PAGER.to_owned());
    let mut words = named.split_whitespace();
    let mut command = Command::new(words.next()?);
    command.args(words).stdin(Stdio::piped());
    match command.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            tracing::debug!(%error, named, "no pager");
            None
        }
    }
}
