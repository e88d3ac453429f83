//! What a command answers on stdout. A pipe that nobody reads any more (`| head`) is the end of the answer and no failure: `println!`
//! would panic. The exit code is what it would have been.

use std::io::{ErrorKind, Write};

/// Writes an answer; nobody may read to its end.
///
/// # Errors
/// Whatever else keeps stdout from being written: a full disk behind a redirection.
pub(crate) fn answer(text: &str) -> std::io::Result<()> {
    match write(text) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// As [`answer`], with an end of line.
///
/// # Errors
/// As [`answer`].
pub(crate) fn answer_line(line: &str) -> std::io::Result<()> {
    answer(&format!("{line}\n"))
}

/// Writes to stdout at once.
///
/// # Errors
/// `BrokenPipe` if nobody reads on; as [`answer`].
pub(crate) fn write(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
