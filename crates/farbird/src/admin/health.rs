//! Whether a server lives: its status page says so. Opens no database and needs no password.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use crate::output;

/// How long each step may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// The whole of an answer is shorter.
const ANSWER_BYTES_MAX: u64 = 16 << 10;

/// Exit code 0 if it does, 1 if it does not answer or says something else.
pub(super) fn run(address: SocketAddr) -> anyhow::Result<ExitCode> {
    match ask(address) {
        Ok(answer) if answer.starts_with("HTTP/1.1 200 ") => {
            output::answer_line("ok")?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(answer) => {
            eprintln!("farbird: {address} says {}", answer.lines().next().unwrap_or("nothing"));
            Ok(ExitCode::FAILURE)
        }
        Err(error) => {
            eprintln!("farbird: {address}: {error}");
            Ok(ExitCode::FAILURE)
        }
    }
}

fn ask(address: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
