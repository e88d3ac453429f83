//! What a link does to connections, beside the time that it takes.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use farbird_lab::kernel::KernelLink;
use farbird_lab::link::{Direction, Link, LinkOptions, Traffic};

/// A server for one connection.
fn serve(work: impl FnOnce(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || work(listener.accept().unwrap().0));
    address
}

/// Sends back all it gets, then ends.
fn echo(mut stream: TcpStream) {
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    stream.write_all(&all).unwrap();
}

fn pattern(count: u32) -> Vec<u8> {
    (0..count).map(|number| (number % 251) as u8).collect()
}

fn link(target: SocketAddr, options: &str) -> Link {
    Link::start(target, &options.parse().unwrap()).unwrap()
}

#[test]
fn bytes_and_their_end_arrive_complete_in_both_directions() {
    for options in
        ["", "rtt=2ms", "rtt=4ms,loss=3%,jitter=3ms,rate=500mbit", "rate=100mbit,queue=64kb,window=64kb"]
    {
        let link = link(serve(echo), options);
        let mut stream = TcpStream::connect(link.address()).unwrap();
        let sent = pattern(700_000);
        let mut received = Vec::new();
        thread::scope(|scope| {
            let mut writer = stream.try_clone().unwrap();
            let sent = &sent;
            scope.spawn(move || {
                writer.write_all(sent).unwrap();
                writer.shutdown(Shutdown::Write).unwrap();
            });
            stream.read_to_end(&mut received).unwrap();
        });
        assert!(received == sent, "{options}: {} bytes came back", received.len());
        let traffic = link.traffic();
        assert_eq!((traffic.connections, traffic.up.bytes, traffic.down.bytes), (1, 700_000, 700_000));
        assert_eq!(traffic.up.lost > 0, options.contains("loss"), "{traffic:?}");
    }
}

#[test]
fn the_timeline_shows_each_flight() {
    let link = link(
        serve(|mut stream| {
            let mut question = [0; 10];
            while stream.read_exact(&mut question).is_ok() {
                stream.write_all(&[1; 300]).unwrap();
            }
        }),
        "rtt=10ms",
    );
    let mut stream = TcpStream::connect(link.address()).unwrap();
    for _ in 0..3 {
        stream.write_all(&[0; 10]).unwrap();
        stream.read_exact(&mut [0; 300]).unwrap();
    }
    let timeline = link.take_timeline();
    let flights: Vec<_> = timeline.iter().map(|burst| (burst.direction, burst.bytes)).collect();
    let exchange = [(Direction::Up, 10), (Direction::Down, 300)];
    assert_eq!(flights, [exchange, exchange, exchange].concat());
    // Computed, not measured: the first leaves when the connection is there, and takes one way.
    let way = Duration::from_millis(5);
    assert!(timeline[0].sent_from >= way * 2);
    assert!(timeline.iter().all(|burst| burst.received_from == burst.sent_from + way));
    assert!(
        timeline.iter().zip(timeline.iter().skip(1)).all(|(one, next)| next.sent_from >= one.received_until)
    );
}

#[test]
fn a_server_that_is_not_there_ends_the_connection() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let link = link(nobody, "rtt=2ms");
    let mut stream = TcpStream::connect(link.address()).unwrap();
    let end = stream.read(&mut [0; 10]);
    assert!(
        end.as_ref().map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |count| *count == 0),
        "{end:?}"
    );
}

#[test]
fn a_last_word_arrives_though_its_sender_hears_nothing_more() {
    let link = link(
        serve(|mut stream| {
            stream.write_all(b"no").unwrap();
            // Closed with what the client sent still unread.
        }),
        "rtt=20ms",
    );
    let mut stream = TcpStream::connect(link.address()).unwrap();
    stream.write_all(&pattern(100_000)).unwrap();
    let mut word = [0; 2];
    stream.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"no");
}

#[test]
fn a_sender_whose_bytes_nobody_takes_is_held_back() {
    let (release, released) = std::sync::mpsc::channel::<()>();
    let link = link(
        serve(move |stream| {
            released.recv().unwrap();
            drop(stream);
        }),
        "rtt=2ms,window=256kb",
    );
    let mut stream = TcpStream::connect(link.address()).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let piece = pattern(64 * 1024);
    let mut taken = 0;
    // The sockets' own buffers take some megabytes.
    while taken < 200_000_000 {
        match stream.write(&piece) {
            Ok(count) => taken += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{error}");
                release.send(()).unwrap();
                return;
            }
        }
    }
    panic!("the link took {taken} bytes that nobody wants");
}

#[test]
fn connections_end_with_their_link() {
    let (told, tell) = std::sync::mpsc::channel();
    let address =
        serve(move |mut stream| told.send(stream.read(&mut [0; 10]).is_ok_and(|count| count > 0)).unwrap());
    let link = link(address, "rtt=10ms");
    let mut stream = TcpStream::connect(link.address()).unwrap();
    while link.traffic().connections == 0 {
        thread::yield_now();
    }
    let address = link.address();
    drop(link);
    assert!(!stream.read(&mut [0; 10]).is_ok_and(|count| count > 0));
    assert!(!tell.recv_timeout(Duration::from_secs(20)).unwrap_or(false), "nothing was sent");
    assert!(TcpStream::connect(address).is_err());
}

fn kernel_link(options: &str) -> Option<KernelLink> {
    let link = KernelLink::start(&options.parse::<LinkOptions>().unwrap());
    link.inspect_err(|error| println!("skipped: {error}")).ok()
}

/// Held by tests that look whether a link has left nothing: a link of another test would take its address at once.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn the_kernels_link_reaches_servers_on_loopback() {
    let _alone = alone();
    for options in ["rtt=2ms", "rtt=4ms,loss=1%,jitter=3ms,rate=200mbit"] {
        let Some(link) = kernel_link(options) else { return };
        let server = serve(echo);
        let mut stream = TcpStream::connect(link.address(server.port())).unwrap();
        let sent = pattern(200_000);
        stream.write_all(&sent).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut received = Vec::new();
        stream.read_to_end(&mut received).unwrap();
        assert!(received == sent, "{options}: {} bytes came back", received.len());
        let traffic = link.traffic();
        assert!(traffic.up.bytes > 200_000 && traffic.down.bytes > 200_000, "{traffic:?}");
    }
}

#[test]
fn the_kernels_links_are_independent_and_leave_nothing() {
    let _alone = alone();
    let Some(one) = kernel_link("rtt=2ms") else { return };
    let other = kernel_link("rtt=2ms").unwrap();
    assert_ne!(one.host(), other.host());
    let devices = devices_of(&one);
    assert_eq!(devices, 1);
    let host = one.host();
    drop(one);
    assert_eq!(devices_to(&host.to_string()), 0);
    assert_eq!(devices_of(&other), 1);
}

/// Links begin while others end: each has the addresses of its own number, which is free again a moment before the last
/// device of the link that had it is gone.
#[test]
fn links_begin_while_others_end() {
    let _alone = alone();
    if kernel_link("").is_none() {
        return;
    }
    let threads = [(); 6].map(|()| {
        thread::spawn(|| {
            for _ in 0..10 {
                drop(KernelLink::start(&LinkOptions::default()).unwrap());
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// A process that is killed leaves nothing either.
#[test]
fn a_killed_link_leaves_nothing() {
    let _alone = alone();
    if kernel_link("").is_none() {
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--ignored", "--exact", "--nocapture", "holds_a_link_until_it_is_killed"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    let host = output
        .lines()
        .find_map(|line| line.unwrap().split_once("host ").map(|(_, host)| host.to_owned()))
        .unwrap();
    assert_eq!(devices_to(&host), 1);
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel takes devices away a moment after their process.
    for _ in 0..200 {
        if devices_to(&host) == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("the way to {host} is still there");
}

#[test]
#[ignore = "a part of a_killed_link_leaves_nothing"]
fn holds_a_link_until_it_is_killed() {
    let link = kernel_link("rtt=2ms").unwrap();
    println!("host {}", link.host());
    thread::sleep(Duration::from_secs(60));
}

fn devices_of(link: &KernelLink) -> usize {
    devices_to(&link.host().to_string())
}

/// How many routes lead to this address over a link's device.
fn devices_to(host: &str) -> usize {
    let output = Command::new("ip").args(["route", "show", host]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().filter(|line| line.contains("fblink")).count()
}

/// A server that answers each datagram with what it says, twice.
fn answer_datagrams() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap();
    thread::spawn(move || {
        let mut buffer = [0; 2_000];
        while let Ok((length, peer)) = socket.recv_from(&mut buffer) {
            for _ in 0..2 {
                let _ = socket.send_to(&buffer[..length], peer);
            }
        }
    });
    address
}

#[test]
fn datagrams_pass_with_the_delay_and_find_back_to_who_asked() {
    let link = link(answer_datagrams(), "rtt=20ms,rate=100mbit");
    let programs = [0_u8, 1].map(|number| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(link.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (number, socket)
    });
    for (number, socket) in &programs {
        socket.send(&[*number; 500]).unwrap();
    }
    let mut buffer = [0; 2_000];
    for (number, socket) in &programs {
        for _ in 0..2 {
            let length = socket.recv(&mut buffer).unwrap();
            assert!(length == 500 && buffer[..500] == [*number; 500]);
        }
    }
    let traffic = link.traffic();
    assert_eq!((traffic.connections, traffic.up.bytes, traffic.down.bytes), (2, 1_000, 2_000));
    // Computed, not measured.
    for burst in link.take_timeline() {
        assert!(burst.received_from - burst.sent_from >= Duration::from_millis(10), "{burst:?}");
    }
}

#[test]
fn a_full_queue_drops_datagrams_and_so_do_losses() {
    // What would leave the queue while this test is kept from running is nothing.
    for (options, drops) in
        [("rtt=2ms,rate=8kbit,queue=64kb", true), ("rtt=2ms,loss=30%", true), ("rtt=2ms", false)]
    {
        let link = link(answer_datagrams(), options);
        let sockets = [0; 2].map(|_| UdpSocket::bind("127.0.0.1:0").unwrap());
        sockets.iter().for_each(|socket| socket.connect(link.address()).unwrap());
        // As many as fit in a socket's own buffer, which is not to be what drops them.
        for _ in 0..45 {
            for socket in &sockets {
                socket.send(&[7; 1_000]).unwrap();
            }
        }
        let begun = Instant::now();
        let is_over = || {
            let Traffic { up, down, .. } = link.traffic();
            if drops { up.lost > 0 } else { up.bytes == 90_000 && down.bytes == 180_000 }
        };
        while !is_over() && begun.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(5));
        }
        let Traffic { up, down, .. } = link.traffic();
        assert_eq!(up.lost + down.lost > 0, drops, "{options}: {:?}", link.traffic());
    }
}
