//! A responder as small as its task: one request for each connection, a request of at most [`REQUEST_BYTES_MAX`], at most
//! [`CONNECTIONS_MAX`] at a time: one more takes the place of the oldest that has not yet sent its request. Only GET, and POST of JSON where a site takes that.
//!
//! A site says which answers have to wait for something ([`Lane`]): only so many of these are given at a time, one more is told 503. So
//! there are places left for what is answered at once, whoever waits.
//!
//! A web page from elsewhere cannot read what is served here, nor do anything: nothing allows it to; a request that comes by a name which is
//! not one of ours is refused, so that nobody's name can be made to lead here (DNS rebinding); and so is a POST that another site's page
//! has made, or one whose contents a page may send without asking.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::timeout;

use crate::page::Page;

const REQUEST_BYTES_MAX: usize = 8 * 1024;
const CONNECTIONS_MAX: usize = 32;
/// Logins that are answered at a time.
const LOGINS_MAX: usize = 4;
/// Other answers at a time that have to wait. With the logins they leave a quarter of the places.
const WORK_MAX: usize = 20;
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

/// What an answer has to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// For nothing.
    Quick,
    /// For the look at a password, which is slowed down behind wrong ones.
    Login,
    /// For a database.
    Work,
}

/// How many more answers of each lane may be begun.
struct Lanes {
    logins: Arc<Semaphore>,
    work: Arc<Semaphore>,
}

impl Lanes {
    fn new() -> Lanes {
        Lanes { logins: Arc::new(Semaphore::new(LOGINS_MAX)), work: Arc::new(Semaphore::new(WORK_MAX)) }
    }

    /// A turn in a lane, for as long as the answer takes.
    ///
    /// # Errors
    /// The answer if there is none.
    fn enter(&self, lane: Lane) -> Result<Option<OwnedSemaphorePermit>, Response> {
        let turns = match lane {
            Lane::Quick => return Ok(None),
            Lane::Login => &self.logins,
            Lane::Work => &self.work,
        };
        Arc::clone(turns).try_acquire_owned().map(Some).map_err(|_| {
            let body = r#"{"error":"Too many ask at the same time: try again in a while."}"#;
            Response::refusal("503 Service Unavailable", body.to_owned())
        })
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

    /// What the answer to a request has to wait for.
    fn lane(&self, _request: &Request) -> Lane {
        Lane::Quick
    }

    /// Answers. May block for a while: it runs on a thread for that.
    fn answer(&self, request: &Request) -> Response;
}

/// The connections that there are, the oldest first, and how one is told to make room: only those whose request has not come yet.
#[derive(Default)]
struct Places {
    taken: BTreeMap<u64, Option<oneshot::Sender<()>>>,
    next: u64,
}

impl Places {
    /// A place, and what says that it is to be given up. `None`: all are taken by those who are being answered.
    fn take(&mut self) -> Option<(u64, oneshot::Receiver<()>)> {
        if self.taken.len() >= CONNECTIONS_MAX {
            let waiting = self.taken.iter().find(|(_, leave)| leave.is_some()).map(|(place, _)| *place)?;
            // Nobody listens any more if it has just ended by itself.
            let _ = self.taken.remove(&waiting).flatten().map(|leave| leave.send(()));
        }
        let (leave, told) = oneshot::channel();
        let place = self.next;
        self.next += 1;
        self.taken.insert(place, Some(leave));
        Some((place, told))
    }

    /// The request has come: the place is kept until the answer is sent. Not if it was given to somebody else meanwhile.
    fn keep(&mut self, place: u64) -> bool {
        self.taken.get_mut(&place).is_some_and(|leave| leave.take().is_some())
    }
}

/// A place that is given back however the answer ends.
struct Place {
    number: u64,
    places: Arc<Mutex<Places>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().taken.remove(&self.number);
    }
}

/// Answers those who connect, until it is dropped.
pub async fn serve(listener: TcpListener, names: Names, site: Arc<dyn Site>) {
    let places = Arc::new(Mutex::new(Places::default()));
    let lanes = Arc::new(Lanes::new());
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Some((number, told)) = places.lock().take() else { continue };
        let place = Place { number, places: Arc::clone(&places) };
        let (site, names, lanes) = (site.clone(), names.clone(), lanes.clone());
        tokio::spawn(async move {
            if let Err(error) = respond(stream, peer, &names, site, &lanes, &place, told).await {
                tracing::debug!("status page, {peer}: {error}");
            }
        });
    }
}

async fn respond(
    mut stream: TcpStream,
    peer: SocketAddr,
    names: &Names,
    site: Arc<dyn Site>,
    lanes: &Lanes,
    place: &Place,
    told: oneshot::Receiver<()>,
) -> std::io::Result<()> {
    let received = tokio::select! {
        received = timeout(PATIENCE, receive(&mut stream)) => received??,
        _ = told => return Ok(()),
    };
    let Some((head, body)) = received else { return Ok(()) };
    if !place.places.lock().keep(place.number) {
        return Ok(());
    }
    let request = understand(&head, body, peer, names, site.takes_posts());
    let request = request.and_then(|request| lanes.enter(site.lane(&request)).map(|turn| (turn, request)));
    let response = match request {
        Err(refused) => refused,
        Ok((turn, request)) => {
            let asked = Arc::clone(&site);
            // The turn lasts as long as the answer takes, be it longer than its client waits.
            let answer = tokio::task::spawn_blocking(move || {
                let response = asked.answer(&request);
                drop(turn);
                response
            });
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

    struct Echo {
        takes_posts: bool,
        /// Answers that wait end when nobody holds the other end.
        gate: std::sync::Mutex<std::sync::mpsc::Receiver<()>>,
    }

    impl Site for Echo {
        fn policy(&self) -> &str {
            "default-src 'none'"
        }

        fn takes_posts(&self) -> bool {
            self.takes_posts
        }

        fn lane(&self, request: &Request) -> Lane {
            match request.path.as_str() {
                "/login" => Lane::Login,
                "/slow" => Lane::Work,
                _ => Lane::Quick,
            }
        }

        fn answer(&self, request: &Request) -> Response {
            match request.path.as_str() {
                "/login" | "/slow" => {
                    self.gate.lock().unwrap().recv().ok();
                    Response::words("200 OK", "")
                }
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
        let (address, serving, _) = started_with_gate(takes_posts).await;
        (address, serving)
    }

    /// While the sender lives answers that wait are not given.
    async fn started_with_gate(
        takes_posts: bool,
    ) -> (SocketAddr, tokio::task::JoinHandle<()>, std::sync::mpsc::Sender<()>) {
        let (open, gate) = std::sync::mpsc::channel();
        let site = Echo { takes_posts, gate: std::sync::Mutex::new(gate) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let names = Names(vec!["edge.example.com".to_owned()]);
        (address, tokio::spawn(serve(listener, names, Arc::new(site))), open)
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
    async fn those_who_say_nothing_take_no_places_from_others() {
        let (address, serving) = started(false).await;
        let mut silent = Vec::new();
        for number in 0..3 * CONNECTIONS_MAX {
            let mut stream = TcpStream::connect(address).await.unwrap();
            if number % 2 == 0 {
                let _ = stream.write_all(b"GET / HTTP/1.1\r\n").await;
            }
            silent.push(stream);
        }
        for _ in 0..3 {
            let answer = ask(address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        }
        serving.abort();
    }

    #[tokio::test]
    async fn those_who_wait_for_answers_leave_places_for_what_is_answered_at_once() {
        let (address, serving, gate) = started_with_gate(true).await;
        let request = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut waiting = tokio::task::JoinSet::new();
        const SURPLUS: usize = 3;
        for (path, turns) in [("/login", LOGINS_MAX), ("/slow", WORK_MAX)] {
            for _ in 0..turns + SURPLUS {
                let request = request(path);
                waiting.spawn(async move { ask(address, &request).await });
            }
        }
        // All that found no turn are told so, while the others wait.
        for _ in 0..2 * SURPLUS {
            let answer = waiting.join_next().await.unwrap().unwrap();
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        }
        let answer = ask(address, &request("/")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        drop(gate);
        while let Some(answer) = waiting.join_next().await {
            assert!(answer.unwrap().starts_with("HTTP/1.1 200"));
        }
        let answer = ask(address, &request("/login")).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        serving.abort();
    }

    #[test]
    fn the_oldest_that_waits_makes_room_and_none_that_is_answered_does() {
        let mut places = Places::default();
        let mut told: Vec<_> = (0..CONNECTIONS_MAX).map(|_| places.take().unwrap()).collect();
        assert!(places.keep(told[0].0));
        let one_more = places.take().unwrap();
        assert!(
            told[0].1.try_recv().is_err() && told[1].1.try_recv().is_ok() && told[2].1.try_recv().is_err()
        );
        assert!(!places.keep(told[1].0), "its place is another's now");
        assert!(places.keep(one_more.0) && places.taken.len() == CONNECTIONS_MAX);
        for (place, _) in &told[2..] {
            assert!(places.keep(*place));
        }
        assert!(places.take().is_none(), "all are being answered");
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
