//! The status page's responder, as small as its task: one request for each connection, only GET, a request of at most
//! [`REQUEST_BYTES_MAX`], at most [`CONNECTIONS_MAX`] at a time.
//!
//! A web page from elsewhere cannot read what is served here: nothing allows it to, and a request that comes by a name which is not one of
//! ours is refused, so that nobody's name can be made to lead here (DNS rebinding).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{PAGE, POLICY, Shown};

const REQUEST_BYTES_MAX: usize = 8 * 1024;
const CONNECTIONS_MAX: usize = 32;
const PATIENCE: Duration = Duration::from_secs(5);

/// By which names the page may be asked for, beside addresses and `localhost`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names(pub(crate) Vec<String>);

impl Names {
    /// Whether a Host header is one of ours. An address is: whoever has it got here by it, and not by a name of his own.
    fn allow(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(bracketed) => match bracketed.split_once(']') {
                Some((address, _)) => address,
                None => return false,
            },
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.0.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

pub(crate) async fn serve(listener: TcpListener, names: Names, shown: Arc<dyn Shown>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else { continue };
        let (shown, names) = (shown.clone(), names.clone());
        tokio::spawn(async move {
            if let Ok(Err(error)) = timeout(PATIENCE, respond(stream, peer, &names, &*shown)).await {
                tracing::debug!("status page, {peer}: {error}");
            }
            drop(permit);
        });
    }
}

/// What is answered.
struct Response {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Response {
    fn words(status: &'static str, body: &str) -> Response {
        Response { status, kind: "text/plain; charset=utf-8", body: body.to_owned() }
    }
}

async fn respond(
    mut stream: TcpStream,
    peer: SocketAddr,
    names: &Names,
    shown: &dyn Shown,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let length = stream.read(&mut buffer).await?;
        if length == 0 || request.len() + length > REQUEST_BYTES_MAX {
            return Ok(());
        }
        request.extend_from_slice(&buffer[..length]);
    }
    let Response { status, kind, body } = answer(&String::from_utf8_lossy(&request), names, shown);
    tracing::debug!("status page, {peer}: {status}");
    let policy = POLICY.as_str();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

fn answer(request: &str, names: &Names, shown: &dyn Shown) -> Response {
    const JSON: &str = "application/json";
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let hosts: Vec<&str> = lines
        .filter_map(|line| line.split_once(':'))
        .filter(|(name, _)| name.eq_ignore_ascii_case("host"))
        .map(|(_, value)| value.trim())
        .collect();
    match *hosts {
        [host] if names.allow(host) => {}
        [_] => {
            let words =
                "Ask by an address, by localhost, or by one of the names in the setting status-names.\n";
            return Response::words("421 Misdirected Request", words);
        }
        _ => return Response::words("400 Bad Request", "One header Host is needed.\n"),
    }
    if method != "GET" {
        return Response::words("405 Method Not Allowed", "Only GET.\n");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (kind, body) = match path {
        "/" => ("text/html; charset=utf-8", Some(PAGE.to_owned())),
        "/state.json" => (JSON, Some(shown.state())),
        "/trips.json" => {
            let program = query.strip_prefix("program=").and_then(|number| number.parse().ok());
            (JSON, program.and_then(|program| shown.trips(program)))
        }
        "/metrics" => ("text/plain; version=0.0.4; charset=utf-8", Some(shown.metrics())),
        _ => ("", None),
    };
    match body {
        Some(body) => Response { status: "200 OK", kind, body },
        None => Response::words(
            "404 Not Found",
            "There are /, /state.json, /trips.json?program=N and /metrics.\n",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Shown for Nothing {
        fn state(&self) -> String {
            "{}".to_owned()
        }

        fn trips(&self, program: u32) -> Option<String> {
            (program == 1).then(|| "[]".to_owned())
        }

        fn metrics(&self) -> String {
            String::new()
        }
    }

    #[tokio::test]
    async fn requests_are_answered_or_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let names = Names(vec!["edge.example.com".to_owned()]);
        let serving = tokio::spawn(serve(listener, names, Arc::new(Nothing)));
        let hostile = "x".repeat(20_000);
        let cases = [
            ("GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", "HTTP/1.1 200"),
            ("GET /state.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", "HTTP/1.1 200"),
            ("GET /metrics HTTP/1.1\r\nHOST: [::1]:8080\r\n\r\n", "HTTP/1.1 200"),
            ("GET /metrics HTTP/1.1\r\nHost: Edge.example.com:8080\r\n\r\n", "HTTP/1.1 200"),
            ("GET /trips.json?program=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200"),
            ("GET /trips.json?program=2 HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404"),
            ("GET /trips.json HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404"),
            ("GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404"),
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405"),
            // A name that somebody else has made to lead here.
            ("GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", "HTTP/1.1 421"),
            ("GET / HTTP/1.1\r\nHost: localhost.evil.example.com:80\r\n\r\n", "HTTP/1.1 421"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example.com\r\n\r\n", "HTTP/1.1 421"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.com\r\n\r\n", "HTTP/1.1 400"),
            ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 400"),
            (&hostile, ""),
        ];
        for (request, begins) in cases {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let _ = stream.write_all(request.as_bytes()).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            let answer = String::from_utf8(answer).unwrap();
            assert!(
                answer.starts_with(begins) && (!begins.is_empty() || answer.is_empty()),
                "{request}: {answer}"
            );
            assert!(answer.is_empty() || answer.contains("Content-Security-Policy: default-src 'none'"));
        }
        serving.abort();
    }
}
