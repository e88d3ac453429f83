//! The status page of an edge: a page for people at `/`, metrics for Prometheus at `/metrics`.
//!
//! A responder of its own, as small as its task: one request for each connection, only GET, a request of at most [`REQUEST_BYTES_MAX`], at
//! most [`CONNECTIONS_MAX`] at a time. The page needs nothing from elsewhere and has no scripts. It shows statements' texts: it is for
//! administrators, and served where they say.

use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use farbird_farlink::edge::{Counters, Saved};
use farbird_farlink::link::Health;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

const REQUEST_BYTES_MAX: usize = 8 * 1024;
const CONNECTIONS_MAX: usize = 16;
const PATIENCE: Duration = Duration::from_secs(5);
/// Statements shown on the page: those with most executions.
const TEXTS_SHOWN: usize = 50;
const PROGRAMS_SHOWN: usize = 200;

/// What the page says.
pub(crate) struct Facts {
    pub(crate) origin: String,
    pub(crate) server: String,
    pub(crate) health: Health,
    pub(crate) counters: Counters,
    pub(crate) programs: Vec<ProgramFacts>,
    /// Rules learned, and those that are asked by.
    pub(crate) rules: (usize, usize),
    /// Statements run ahead and used, by all rules.
    pub(crate) ahead: (u64, u64),
}

/// A program.
#[derive(Debug, Clone, Default)]
pub(crate) struct ProgramFacts {
    pub(crate) peer: String,
    pub(crate) database: String,
    pub(crate) waiting: usize,
}

pub(crate) async fn serve(listener: TcpListener, facts: Arc<dyn Fn() -> Facts + Send + Sync>) {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
        };
        let Ok(permit) = connections.clone().try_acquire_owned() else { continue };
        let facts = facts.clone();
        tokio::spawn(async move {
            if let Ok(Err(error)) = timeout(PATIENCE, respond(stream, peer, &*facts)).await {
                tracing::debug!("status page, {peer}: {error}");
            }
            drop(permit);
        });
    }
}

async fn respond(
    mut stream: TcpStream,
    peer: SocketAddr,
    facts: &(dyn Fn() -> Facts + Send + Sync),
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
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let mut words = line.split(|byte| *byte == b' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    tracing::debug!("status page, {peer}: {}", String::from_utf8_lossy(path));
    let (status, kind, body) = match (method, path) {
        (b"GET", b"/") => ("200 OK", "text/html; charset=utf-8", page(&facts())),
        (b"GET", b"/metrics") => ("200 OK", "text/plain; version=0.0.4", metrics(&facts())),
        (b"GET", _) => ("404 Not Found", "text/plain", "There are / and /metrics.\n".to_owned()),
        _ => ("405 Method Not Allowed", "text/plain", "Only GET.\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\nX-Content-Type-Options: nosniff\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Seconds that were not waited for, as far as the last measured round trip says.
fn seconds_saved(facts: &Facts) -> Option<f64> {
    Some(facts.counters.saved_in_all() as f64 * facts.health.round_trip?.as_secs_f64())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($words:tt)*) => { let _ = write!($out, $($words)*); };
}

fn page(facts: &Facts) -> String {
    let Facts { health, counters, .. } = facts;
    let mut out = String::from(HEAD);
    let state = if health.is_established { "<b class=ok>up</b>" } else { "<b class=bad>down</b>" };
    let trip = health
        .round_trip
        .map_or("not measured yet".to_owned(), |trip| format!("{:.1} ms", trip.as_secs_f64() * 1e3));
    put!(out, "<h1>Farbird edge</h1><p>Link to {}: {state}, round trip {trip}.", escaped(&facts.origin));
    put!(
        out,
        " Behind it: {}.</p>",
        if facts.server.is_empty() { "not known yet".to_owned() } else { escaped(&facts.server) }
    );
    out.push_str("<section class=tiles>");
    let saved = seconds_saved(facts).map_or("-".to_owned(), |seconds| format!("{seconds:.1} s"));
    let tiles = [
        ("programs", facts.programs.len().to_string()),
        ("requests", counters.requests.to_string()),
        ("waited for the origin", counters.trips.to_string()),
        ("trips saved", counters.saved_in_all().to_string()),
        ("time saved", saved),
        ("descriptions from the cache", share(counters.statement_hits, counters.statement_misses)),
        ("run ahead and used", share(facts.ahead.1, facts.ahead.0.saturating_sub(facts.ahead.1))),
        ("rules in use, of", format!("{} / {}", facts.rules.1, facts.rules.0)),
    ];
    for (name, value) in tiles {
        put!(out, "<div><b>{value}</b>{name}</div>");
    }
    out.push_str("</section><h2>Trips saved, by what was answered here</h2><table>");
    let most = Saved::ALL.iter().map(|kind| counters.saved(*kind)).max().unwrap_or_default().max(1);
    for kind in Saved::ALL {
        let count = counters.saved(kind);
        let width = count * 100 / most;
        put!(out, "<tr><td>{}<td class=n>{count}<td class=bar><i style=\"width:{width}%\"></i>", kind.name());
    }
    out.push_str("</table><h2>Programs</h2><table><tr><th>from<th>database<th>requests waiting");
    for program in facts.programs.iter().take(PROGRAMS_SHOWN) {
        let (peer, database) = (escaped(&program.peer), escaped(&program.database));
        put!(out, "<tr><td>{peer}<td>{database}<td class=n>{}", program.waiting);
    }
    out.push_str("</table><h2>Statements</h2><table><tr><th>text<th>executions<th>of them run ahead<th>rows<th>trips saved");
    let mut texts: Vec<_> = counters.texts().collect();
    texts.sort_by_key(|(text, counts)| (std::cmp::Reverse(counts.executions), *text));
    for (text, counts) in texts.into_iter().take(TEXTS_SHOWN) {
        let shown = escaped(&text.chars().take(300).collect::<String>());
        let mut row = format!("<tr><td class=sql>{shown}");
        for number in [counts.executions, counts.ahead, counts.rows, counts.saved] {
            put!(row, "<td class=n>{number}");
        }
        out.push_str(&row);
    }
    let ((sent, received), (plain_sent, plain_received)) = (health.wire_bytes, health.plain_bytes);
    out.push_str("</table><h2>Link</h2><table><tr><th><th>sent<th>received");
    put!(out, "<tr><td>bytes<td class=n>{sent}<td class=n>{received}");
    put!(out, "<tr><td>before compression<td class=n>{plain_sent}<td class=n>{plain_received}");
    put!(out, "<tr><td>messages<td class=n>{}<td class=n>{}", health.messages.0, health.messages.1);
    put!(
        out,
        "</table><p>Rebuilt without loss {} times; {} programs lost their connection with it.</p>",
        health.resumed,
        counters.lost
    );
    out
}

fn share(hits: u64, misses: u64) -> String {
    match hits + misses {
        0 => "-".to_owned(),
        all => format!("{} %", hits * 100 / all),
    }
}

fn metrics(facts: &Facts) -> String {
    let Facts { health, counters, .. } = facts;
    let mut out = String::new();
    let mut counter = |name: &str, help: &str, value: u64| {
        put!(
            out,
            "# HELP farbird_edge_{name} {help}\n# TYPE farbird_edge_{name} counter\nfarbird_edge_{name} {value}\n"
        );
    };
    counter("programs_total", "Programs that have connected.", counters.programs);
    counter("requests_total", "Requests of programs.", counters.requests);
    counter("trips_total", "Times that a program waited for the origin.", counters.trips);
    counter("rows_total", "Rows given to programs.", counters.rows);
    counter("statement_hits_total", "Descriptions found in the cache.", counters.statement_hits);
    counter("statement_misses_total", "Descriptions not found in the cache.", counters.statement_misses);
    counter("ahead_guessed_total", "Statements run ahead.", facts.ahead.0);
    counter("ahead_used_total", "Statements run ahead whose results were used.", facts.ahead.1);
    counter("programs_lost_total", "Programs that lost their connection with the link.", counters.lost);
    counter("link_resumed_total", "Times that the link was rebuilt without loss.", health.resumed);
    counter("link_sent_bytes_total", "Bytes sent on the link.", health.wire_bytes.0);
    counter("link_received_bytes_total", "Bytes received on the link.", health.wire_bytes.1);
    out.push_str(
        "# HELP farbird_edge_saved_total Round trips saved.\n# TYPE farbird_edge_saved_total counter\n",
    );
    for kind in Saved::ALL {
        put!(out, "farbird_edge_saved_total{{by=\"{}\"}} {}\n", kind.name(), counters.saved(kind));
    }
    let mut gauge = |name: &str, help: &str, value: f64| {
        put!(
            out,
            "# HELP farbird_edge_{name} {help}\n# TYPE farbird_edge_{name} gauge\nfarbird_edge_{name} {value}\n"
        );
    };
    gauge("programs", "Programs that are connected.", facts.programs.len() as f64);
    gauge("rules_active", "Rules by which statements are run ahead.", facts.rules.1 as f64);
    gauge("link_up", "Whether the link is up.", f64::from(u8::from(health.is_established)));
    if let Some(trip) = health.round_trip {
        gauge("link_round_trip_seconds", "The last measured round trip.", trip.as_secs_f64());
    }
    out
}

const HEAD: &str = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
<meta http-equiv=refresh content=5><title>Farbird edge</title><style>\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .6rem;border-bottom:1px solid #8884;vertical-align:top}\
.n{text-align:right;font-variant-numeric:tabular-nums;width:8rem}.sql{font-family:ui-monospace,monospace;font-size:.85em;word-break:break-word}\
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem}.tiles div{border:1px solid #8884;border-radius:.5rem;padding:.6rem}\
.tiles b{display:block;font-size:1.5em}.bar{width:50%}.bar i{display:block;height:1em;background:#3a7bd5;border-radius:.2em}\
.ok{color:#1a8a3a}.bad{color:#c62828}</style>";

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> Facts {
        let programs =
            vec![ProgramFacts { peer: "10.0.0.1:5".to_owned(), database: "<script>".to_owned(), waiting: 2 }];
        let mut counters = Counters::default();
        (counters.statement_hits, counters.statement_misses) = (3, 1);
        let health = Health { round_trip: Some(Duration::from_millis(200)), ..Health::default() };
        let (origin, server) = ("db.example.com:3052".to_owned(), "Farbird".to_owned());
        Facts { origin, server, health, counters, programs, rules: (4, 2), ahead: (10, 9) }
    }

    #[test]
    fn the_page_shows_what_is_and_lets_nobody_write_into_it() {
        let page = page(&facts());
        assert!(page.contains("75 %") && page.contains("90 %") && page.contains("200.0 ms"), "{page}");
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
        assert!(!page.contains("http://") && !page.contains("https://"), "nothing from elsewhere");
    }

    #[test]
    fn each_metric_is_one_line_of_name_and_number() {
        let metrics = metrics(&facts());
        for line in metrics.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with("farbird_edge_") && value.parse::<f64>().is_ok(), "{line}");
        }
        assert!(metrics.contains("farbird_edge_link_round_trip_seconds 0.2\n"));
    }

    #[tokio::test]
    async fn requests_are_answered_or_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Arc::new(facts)));
        let hostile = [b'x'; 20_000];
        let cases: [(&[u8], &str); 4] = [
            (b"GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 200"),
            (b"GET /etc/passwd HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
            (b"POST / HTTP/1.1\r\n\r\n", "HTTP/1.1 405"),
            (&hostile, ""),
        ];
        for (request, begins) in cases {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let _ = stream.write_all(request).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.starts_with(begins) && (!begins.is_empty() || answer.is_empty()), "{answer}");
        }
        serving.abort();
    }
}
