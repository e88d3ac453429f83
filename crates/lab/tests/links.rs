//! Both links give the same figures: the model of TCP inside the process, and the kernel's own TCP.
//!
//! The same programs run over both at the same time, several times; the shortest times are compared, since a busy machine
//! can only make them longer. As root on Linux; elsewhere the test says why it compares nothing. `--nocapture` shows the
//! table of docs/lab.md.

use std::io::{BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use farbird_lab::kernel::KernelLink;
use farbird_lab::link::{Link, LinkOptions, Rate};

/// How often each program runs on each link; up to so often while they do not agree.
const RUNS: usize = 2;
const RUNS_MAX: usize = 10;
/// How far the figures may be from each other: this share, or half a round trip, since what both must agree on is how often
/// a program waits for the link.
const TOLERANCE: f64 = 0.10;

/// What a client does on a new connection, and what of it is measured.
struct Program {
    name: &'static str,
    run: fn(SocketAddr, &LinkOptions) -> Duration,
}

const PROGRAMS: &[Program] = &[
    Program { name: "connect, one small exchange", run: |server, _| timed(|| drop(connected(server))) },
    Program {
        name: "four small exchanges",
        run: |server, _| {
            let mut stream = connected(server);
            timed(|| (0..4).for_each(|_| exchange(&mut stream, 100, 100)))
        },
    },
    Program {
        name: "a reply of 3 MB",
        run: |server, _| {
            let mut stream = connected(server);
            timed(|| exchange(&mut stream, 100, 3_000_000))
        },
    },
    Program {
        name: "1.8 MB on the same connection, after a pause",
        run: |server, link| {
            let mut stream = connected(server);
            exchange(&mut stream, 100, 3_000_000);
            thread::sleep(pause(link));
            timed(|| exchange(&mut stream, 100, 1_800_000))
        },
    },
    Program {
        name: "1 MB sent",
        run: |server, _| {
            let mut stream = connected(server);
            timed(|| exchange(&mut stream, 1_000_000, 100))
        },
    },
    Program {
        name: "500 exchanges at once",
        run: |server, _| {
            let mut stream = connected(server);
            timed(|| {
                let questions: Vec<u8> = (0..500).flat_map(|_| question(150, 600)).collect();
                stream.write_all(&questions).unwrap();
                receive(&mut stream, 500 * 600);
            })
        },
    },
];

/// A pause whose effect on the window does not hang on a few milliseconds of the retransmission timeout.
///
/// A pause halves the window once for each timeout. Where no queue forms the timeout is the round trip and 200 ms, and the
/// pause, with the round trip that lies in it, takes one and a half of them. A limited rate makes queues, whose lengths and
/// so the timeouts differ by a third between kernels: that pause is shorter than any of them.
fn pause(link: &LinkOptions) -> Duration {
    let round_trip = link.round_trip();
    let timeout = round_trip + Duration::from_millis(200);
    if link.down.rate.is_some() { timeout / 4 } else { timeout * 3 / 2 - round_trip }
}

/// A connection on which something has been exchanged.
fn connected(server: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_nodelay(true).unwrap();
    exchange(&mut stream, 10, 10);
    stream
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Sends a question of so many bytes and gets an answer of so many.
fn exchange(stream: &mut TcpStream, sent: usize, received: usize) {
    stream.write_all(&question(sent, received)).unwrap();
    receive(stream, received);
}

/// The two lengths, then bytes.
fn question(sent: usize, received: usize) -> Vec<u8> {
    let mut question = Vec::new();
    question.extend_from_slice(&u32::try_from(sent).unwrap().to_be_bytes());
    question.extend_from_slice(&u32::try_from(received).unwrap().to_be_bytes());
    question.resize(8 + sent, 7);
    question
}

fn receive(stream: &mut TcpStream, count: usize) {
    let mut buffer = vec![0; 64 * 1024];
    let mut left = count;
    while left > 0 {
        let most = left.min(buffer.len());
        let count = stream.read(&mut buffer[..most]).unwrap();
        assert!(count > 0, "the connection ended before its answer");
        left -= count;
    }
}

/// A server that answers such questions, one connection after the other or many at a time.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    address
}

fn answer(stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut questions = BufReader::with_capacity(64 * 1024, stream.try_clone().unwrap());
    let mut answers = BufWriter::with_capacity(64 * 1024, stream);
    let mut lengths = [0; 8];
    while questions.read_exact(&mut lengths).is_ok() {
        let length = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap()) as usize;
        let (sent, received) = (length(&lengths[..4]), length(&lengths[4..]));
        std::io::copy(&mut (&mut questions).take(sent as u64), &mut std::io::sink()).unwrap();
        // A client that has seen enough is no failure of the server.
        if answers.write_all(&vec![9; received]).is_err() {
            return;
        }
        if questions.buffer().len() < 8 && answers.flush().is_err() {
            return;
        }
    }
}

/// A program on both links.
struct Comparison {
    program: &'static Program,
    link: String,
    round_trip: Duration,
    in_process: Duration,
    in_kernel: Duration,
}

impl Comparison {
    fn difference(&self) -> f64 {
        self.in_process.as_secs_f64() / self.in_kernel.as_secs_f64() - 1.0
    }

    fn agrees(&self) -> bool {
        self.difference().abs() <= TOLERANCE
            || self.in_process.abs_diff(self.in_kernel) <= self.round_trip / 2
    }
}

/// All programs over links of this kind.
fn compare(options: &LinkOptions, server: SocketAddr) -> Vec<Comparison> {
    let in_process = Link::start(server, options).unwrap();
    let in_kernel = KernelLink::start(options).unwrap();
    let addresses = [in_process.address(), in_kernel.address(server.port())];
    PROGRAMS
        .iter()
        .map(|program| {
            let mut comparison = Comparison {
                program,
                link: options.to_string(),
                round_trip: options.round_trip(),
                in_process: Duration::MAX,
                in_kernel: Duration::MAX,
            };
            for run in 0..RUNS_MAX {
                if run >= RUNS && comparison.agrees() {
                    break;
                }
                let [one, other] = thread::scope(|scope| {
                    addresses
                        .map(|address| scope.spawn(move || (program.run)(address, options)))
                        .map(|run| run.join().unwrap())
                });
                comparison.in_process = comparison.in_process.min(one);
                comparison.in_kernel = comparison.in_kernel.min(other);
            }
            comparison
        })
        .collect()
}

#[test]
fn the_model_and_the_kernel_agree() {
    if let Err(error) = KernelLink::start(&LinkOptions::default()) {
        println!("skipped: {error}");
        return;
    }
    let server = server();
    let link = |milliseconds, rate| {
        LinkOptions::with_round_trip(Duration::from_millis(milliseconds)).with_rate(rate)
    };
    let rate = Some(Rate::mbit(35));
    // Without a limit at 20 ms processor time counts, since the devices carry packet by packet: the link runs alone, and
    // what it shows is printed only.
    let unlimited = compare(&link(20, None), server);
    let mut comparisons = Vec::new();
    thread::scope(|scope| {
        let running = [link(20, rate), link(200, None), link(200, rate)]
            .map(|options| scope.spawn(move || compare(&options, server)));
        comparisons.extend(running.into_iter().flat_map(|link| link.join().unwrap()));
    });
    println!("| link | program | in the process | in the kernel | difference |");
    println!("|---|---|---|---|---|");
    for comparison in unlimited.iter().chain(&comparisons) {
        println!(
            "| {} | {} | {:.1} ms | {:.1} ms | {:+.1} % |",
            comparison.link,
            comparison.program.name,
            comparison.in_process.as_secs_f64() * 1e3,
            comparison.in_kernel.as_secs_f64() * 1e3,
            comparison.difference() * 100.0
        );
    }
    let apart: Vec<_> = comparisons.iter().filter(|comparison| !comparison.agrees()).collect();
    assert!(apart.is_empty(), "{} of {} differ by more than {TOLERANCE}", apart.len(), comparisons.len());
}
