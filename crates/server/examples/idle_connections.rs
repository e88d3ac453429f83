//! What an idle connection costs: starts a server in a process of its own, attaches clients to it, and prints how much
//! its resident memory grew for each.
//!
//! `cargo run --release -p farbird-server --example idle_connections 2000`

#[path = "../tests/common/mod.rs"]
mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use common::{Client, Login, TestServer};
use farbird_wire::crypt::CryptPlugin;

/// Connections if the command line does not say.
const CONNECTIONS_DEFAULT: usize = 1000;
/// What the server's process is told to be.
const SERVE: &str = "serve";
/// Connections made before the first measurement, so that what is shared by all is not counted.
const WARM_UP: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let argument = std::env::args().nth(1);
    if argument.as_deref() == Some(SERVE) {
        return serve();
    }
    let count = argument.map_or(Ok(CONNECTIONS_DEFAULT), |text| text.parse())?;
    let (mut server, address) = start()?;
    let login = Login { cipher: Some(CryptPlugin::ChaCha64), ..Login::default() };
    let connect = || -> Result<Client, farbird_types::Error> {
        let mut client = Client::log_in(address, &login)?;
        client.attach("idle.fbd", &[])?;
        assert_eq!(client.query("SELECT 1 FROM RDB$DATABASE").len(), 1);
        Ok(client)
    };
    let mut owner = Client::log_in(address, &Login::default())?;
    owner.create("idle.fbd", &[])?;
    let mut clients = Vec::new();
    for _ in 0..WARM_UP {
        clients.push(connect()?);
    }
    let before = resident(&server)?;
    for _ in 0..count {
        clients.push(connect()?);
    }
    let after = resident(&server)?;
    println!(
        "{count} idle encrypted attachments, each after one query: {before} KiB -> {after} KiB resident"
    );
    println!("{:.1} KiB per connection", (after - before) as f64 / count as f64);
    drop(clients);
    // The end of its input tells the server to stop.
    drop(server.stdin.take());
    server.wait()?;
    Ok(())
}

/// The server's process: says where it listens, and stops at the end of its input.
fn serve() -> Result<(), Box<dyn std::error::Error>> {
    let server = TestServer::start();
    println!("{}", server.address);
    std::io::stdout().flush()?;
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(())
}

fn start() -> Result<(Child, SocketAddr), Box<dyn std::error::Error>> {
    let mut server = Command::new(std::env::current_exe()?)
        .arg(SERVE)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    BufReader::new(server.stdout.take().ok_or("no output")?).read_line(&mut line)?;
    Ok((server, line.trim().parse()?))
}

/// Resident memory of a process in KiB.
fn resident(process: &Child) -> Result<i64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id()))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.split_whitespace().nth(1).ok_or("no number")?.parse()?)
}
