//! A responder as small as its task: one request for each connection, a request of at most [`REQUEST_BYTES_MAX`], at most
//! [`CONNECTIONS_MAX`] at a time. Only GET, and POST of JSON where a site takes that.
//!
//! A web page from elsewhere cannot read what is served here, nor do anything: nothing allows it to; a request that comes by a name which is
//! not one of ours is refused, so that nobody's name can be made to lead here (DNS rebinding); and so is a POST that another site's page
//! has made, or one whose contents a page may send without asking.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::page::Page;

const REQUEST_BYTES_MAX: usize = 8 * 1024;
const CONNECTIONS_MAX: usize = 32;
/// How long a request may take to come, and its answer to be taken.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a site may take for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(60);
const JSON: &str = "application/json";

/// By which names pages may be asked for, beside addresses and `localhost`.
#[derive(Debug, Clone, Default)]
pub struct Names(pub Vec<String>);

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

/// What a request wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// To look.
    Get,
    /// That something be done.
    Post,
}

/// A request that is in order.
#[derive(Debug, Clone)]
pub struct Request {
    /// What it wants.
    pub method: Method,
    /// The path, with its slash.
    pub path: String,
    /// What stands behind the question mark, as it came.
    pub query: String,
    /// The token of the header `Authorization: Bearer`.
    pub token: Option<String>,
    /// What came with a POST.
    pub body: Vec<u8>,
    /// Who asks.
    pub peer: SocketAddr,
}

/// What is answered.
#[derive(Debug, Clone)]
pub struct Response {
    status: &'static str,
    kind: &'static str,
    body: String,
}

impl Response {
    /// A page.
    pub fn page(page: &Page) -> Response {
        Response { status: "200 OK", kind: "text/html; charset=utf-8", body: page.text.clone() }
    }

    /// JSON.
    pub fn json(body: String) -> Response {
        Response { status: "200 OK", kind: JSON, body }
    }

    /// JSON that says why something was refused; `status` as "403 Forbidden".
    pub fn refusal(status: &'static str, body: String) -> Response {
        Response { status, kind: JSON, body }
    }

    /// What [`crate::metrics::Metrics`] gives.
    pub fn metrics(body: String) -> Response {
        Response { status: "200 OK", kind: "text/plain; version=0.0.4; charset=utf-8", body }
    }

    /// Words; `status` as "404 Not Found".
    pub fn words(status: &'static str, body: &str) -> Response {
        Response { status, kind: "text/plain; charset=utf-8", body: body.to_owned() }
    }
}

/// Who shows something.
pub trait Site: Send + Sync + 'static {
    /// What its pages may do: see [`Page::policy`].
    fn policy(&self) -> &str;

    /// Whether it takes requests that something be done.
    fn takes_posts(&self) -> bool {
        false
    }

    /// Answers. May block for a while: it runs on a thread for that.
    fn answer(&self, request: &Request) -> Response;
}

/// Answers those who connect, until it is dropped.
pub async fn serve(listener: TcpListener, names: Names, site: Arc<dyn Site>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else { continue };
        let (site, names) = (site.clone(), names.clone());
        tokio::spawn(async move {
            if let Err(error) = respond(stream, peer, &names, site).await {
                tracing::debug!("status page, {peer}: {error}");
            }
            drop(permit);
        });
    }
}

async fn respond(
    mut stream: TcpStream,
    peer: SocketAddr,
    names: &Names,
    site: Arc<dyn Site>,
) -> std::io::Result<()> {
    let Some((head, body)) = timeout(PATIENCE, receive(&mut stream)).await?? else { return Ok(()) };
    let response = match understand(&head, body, peer, names, site.takes_posts()) {
        Err(refused) => refused,
        Ok(request) => {
            let asked = Arc::clone(&site);
            let answer = tokio::task::spawn_blocking(move || asked.answer(&request));
            match timeout(ANSWER_TIME, answer).await {
                Ok(Ok(response)) => response,
                Ok(Err(_)) => Response::words("500 Internal Server Error", "This has failed: see the log.\n"),
                Err(_) => Response::words("504 Gateway Timeout", "This takes too long.\n"),
            }
        }
    };
    tracing::debug!("status page, {peer}: {}", response.status);
    timeout(PATIENCE, send(&mut stream, &response, site.policy())).await?
}

/// The head of a request and its body; `None` if there is none, or too much.
async fn receive(stream: &mut TcpStream) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    let mut end = None;
    loop {
        if let Some(end) = end {
            let (head, body) = request.split_at(end);
            let head = String::from_utf8_lossy(head).into_owned();
            let length = header(&head, "content-length").map_or(Ok(0), str::parse::<usize>);
            match length {
                Ok(length) if length <= REQUEST_BYTES_MAX && body.len() >= length => {
                    return Ok(Some((head, body.get(..length).unwrap_or_default().to_vec())));
                }
                Ok(length) if length <= REQUEST_BYTES_MAX => {}
                _ => return Ok(None),
            }
        }
        let length = stream.read(&mut buffer).await?;
        if length == 0 || request.len() + length > 2 * REQUEST_BYTES_MAX {
            return Ok(None);
        }
        request.extend_from_slice(buffer.get(..length).unwrap_or_default());
        if end.is_none() {
            end = request.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4);
            if end.is_none() && request.len() > REQUEST_BYTES_MAX {
                return Ok(None);
            }
        }
    }
}

async fn send(stream: &mut TcpStream, response: &Response, policy: &str) -> std::io::Result<()> {
    let Response { status, kind, body } = response;
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

/// The values of a header, of which there may be several.
fn headers<'h>(head: &'h str, wanted: &'h str) -> impl Iterator<Item = &'h str> {
    let lines = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    lines.filter(move |(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.trim())
}

fn header<'h>(head: &'h str, wanted: &'h str) -> Option<&'h str> {
    headers(head, wanted).next()
}

/// What a request wants.
///
/// # Errors
/// The answer to one that is not in order.
fn understand(
    head: &str,
    body: Vec<u8>,
    peer: SocketAddr,
    names: &Names,
    takes_posts: bool,
) -> Result<Request, Response> {
    let mut words = head.split("\r\n").next().unwrap_or_default().split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let hosts: Vec<&str> = headers(head, "host").collect();
    let host = match *hosts {
        [host] if names.allow(host) => host,
        [_] => {
            let words =
                "Ask by an address, by localhost, or by one of the names in the setting status-names.\n";
            return Err(Response::words("421 Misdirected Request", words));
        }
        _ => return Err(Response::words("400 Bad Request", "One header Host is needed.\n")),
    };
    let method = match method {
        "GET" => Method::Get,
        "POST" if takes_posts => Method::Post,
        _ => return Err(Response::words("405 Method Not Allowed", "Only GET.\n")),
    };
    if method == Method::Post && !is_own_post(head, host) {
        let words = "Only this server's own page may ask for that, as application/json.\n";
        return Err(Response::words("403 Forbidden", words));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let token = header(head, "authorization").and_then(|value| value.strip_prefix("Bearer "));
    Ok(Request {
        method,
        path: path.to_owned(),
        query: query.to_owned(),
        token: token.map(|token| token.trim().to_owned()),
        body,
        peer,
    })
}

/// Whether a POST is none that a page of another site could have made.
fn is_own_post(head: &str, host: &str) -> bool {
    let kind = header(head, "content-type").unwrap_or_default();
    let is_json = kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON);
    let is_ours = header(head, "sec-fetch-site").is_none_or(|site| matches!(site, "same-origin" | "none"));
    // Behind a proxy the page has come by TLS, under the same name.
    let origin = header(head, "origin").is_none_or(|origin| {
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        name.is_some_and(|name| name.eq_ignore_ascii_case(host))
    });
    is_json && is_ours && origin
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo(bool);

    impl Site for Echo {
        fn policy(&self) -> &str {
            "default-src 'none'"
        }

        fn takes_posts(&self) -> bool {
            self.0
        }

        fn answer(&self, request: &Request) -> Response {
            match request.path.as_str() {
                "/" => Response::words("200 OK", &request.query),
                "/echo" => Response::json(String::from_utf8_lossy(&request.body).into_owned()),
                "/token" => Response::json(request.token.clone().unwrap_or_default()),
                _ => Response::words("404 Not Found", ""),
            }
        }
    }

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8(answer).unwrap()
    }

    async fn started(takes_posts: bool) -> (SocketAddr, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let names = Names(vec!["edge.example.com".to_owned()]);
        (address, tokio::spawn(serve(listener, names, Arc::new(Echo(takes_posts)))))
    }

    #[tokio::test]
    async fn requests_are_answered_or_refused() {
        let (address, serving) = started(false).await;
        let hostile = "x".repeat(20_000);
        let cases = [
            ("GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", "HTTP/1.1 200"),
            ("GET /?a=1 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n", "HTTP/1.1 200"),
            ("GET / HTTP/1.1\r\nHOST: [::1]:8080\r\n\r\n", "HTTP/1.1 200"),
            ("GET / HTTP/1.1\r\nHost: Edge.example.com:8080\r\n\r\n", "HTTP/1.1 200"),
            ("GET /etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404"),
            ("POST / HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405"),
            // A name that somebody else has made to lead here.
            ("GET / HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", "HTTP/1.1 421"),
            ("GET / HTTP/1.1\r\nHost: localhost.evil.example.com:80\r\n\r\n", "HTTP/1.1 421"),
            ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example.com\r\n\r\n", "HTTP/1.1 421"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example.com\r\n\r\n", "HTTP/1.1 400"),
            ("GET / HTTP/1.0\r\n\r\n", "HTTP/1.1 400"),
            ("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n", ""),
            (&hostile, ""),
        ];
        for (request, begins) in cases {
            let answer = ask(address, request).await;
            assert!(
                answer.starts_with(begins) && (!begins.is_empty() || answer.is_empty()),
                "{request}: {answer}"
            );
            assert!(answer.is_empty() || answer.contains("Content-Security-Policy: default-src 'none'"));
        }
        serving.abort();
    }

    #[tokio::test]
    async fn what_changes_something_must_come_from_the_own_page() {
        let (address, serving) = started(true).await;
        let post = |headers: &str| {
            format!("POST /echo HTTP/1.1\r\nHost: localhost:8080\r\n{headers}Content-Length: 2\r\n\r\n{{}}")
        };
        let json = "Content-Type: application/json\r\n";
        for (headers, begins) in [
            (json.to_owned(), "HTTP/1.1 200"),
            (
                format!("{json}Origin: http://localhost:8080\r\nSec-Fetch-Site: same-origin\r\n"),
                "HTTP/1.1 200",
            ),
            // Contents that a form of any page may send.
            ("Content-Type: text/plain\r\n".to_owned(), "HTTP/1.1 403"),
            (String::new(), "HTTP/1.1 403"),
            (format!("{json}Origin: http://evil.example.com\r\n"), "HTTP/1.1 403"),
            (format!("{json}Origin: null\r\n"), "HTTP/1.1 403"),
            (format!("{json}Sec-Fetch-Site: cross-site\r\n"), "HTTP/1.1 403"),
            // Another server of this machine is another site.
            (format!("{json}Origin: http://localhost:9090\r\n"), "HTTP/1.1 403"),
        ] {
            let answer = ask(address, &post(&headers)).await;
            assert!(answer.starts_with(begins), "{headers}: {answer}");
            assert_eq!(begins.ends_with("200"), answer.ends_with("\r\n\r\n{}"), "{answer}");
        }
        let answer =
            ask(address, "GET /token HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer abc\r\n\r\n").await;
        assert!(answer.ends_with("\r\n\r\nabc"), "{answer}");
        serving.abort();
    }
}
