//! `farbird lab` as a user runs it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

const FARBIRD: &str = env!("CARGO_BIN_EXE_farbird");

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(FARBIRD);
    command.arg("lab").args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A server for one connection that sends back what it gets.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        stream.write_all(&all).unwrap();
    });
    address
}

fn terminate(child: &Child) {
    assert!(Command::new("kill").arg(child.id().to_string()).status().unwrap().success());
}

#[test]
fn a_proxy_carries_until_it_is_told_to_stop() {
    let folder = tempfile::tempdir().unwrap();
    let timeline = folder.path().join("timeline.jsonl");
    let target = echo().to_string();
    let mut child =
        lab(&["proxy", "--rtt", "2ms", "--up", "rate=100mbit", "--listen", "127.0.0.1:0", "--to", &target])
            .arg("--timeline")
            .arg(&timeline)
            .spawn()
            .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let (address, _) = line.split_once(" leads to ").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"there and back").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).unwrap();
    assert_eq!(back, "there and back");
    terminate(&child);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(said(&output).contains("up: 14 bytes"), "{}", said(&output));
    let timeline = std::fs::read_to_string(timeline).unwrap();
    let bursts: Vec<serde_json::Value> =
        timeline.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let directions: Vec<_> = bursts.iter().map(|burst| burst["direction"].as_str().unwrap()).collect();
    assert_eq!(directions, ["up", "down"]);
    assert!(bursts.iter().all(|burst| burst["bytes"] == 14));
}

#[test]
fn what_is_no_link_is_refused_with_the_reason() {
    for (arguments, reason) in [
        (&["proxy", "--rtt", "200"][..], "200ms"),
        (&["proxy", "--rate", "35"][..], "35mbit"),
        (&["proxy", "--down", "speed=9"][..], "rate"),
        (&["proxy", "--to", "nowhere"][..], "HOST:PORT"),
    ] {
        let output = lab(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(reason), "{}", said(&output));
    }
}

#[test]
fn a_command_runs_at_the_end_of_a_link() {
    let output = lab(&["link", "--rtt", "2ms", "--", "sh", "-c", "echo {} $FARBIRD_LINK_HOST; exit 3"])
        .output()
        .unwrap();
    if output.status.code() == Some(2) {
        println!("skipped: {}", said(&output));
        return;
    }
    assert_eq!(output.status.code(), Some(3));
    let hosts = String::from_utf8(output.stdout).unwrap();
    let (one, other) = hosts.trim().split_once(' ').unwrap();
    assert!(one == other && one.starts_with("198.18."), "{hosts}");
}
