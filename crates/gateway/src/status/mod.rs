//! The status page of an end of the farlink: a page for people at `/`, what it shows at `/state.json` and `/trips.json`, metrics for
//! Prometheus at `/metrics`.
//!
//! The page is one file without anything from elsewhere; it asks for the JSON each second. It shows statements' texts: it is for
//! administrators, and served where they say.
//!
//! | file | subject |
//! |---|---|
//! | `edge`, `origin` | what either end says |
//! | `link_metrics` | what both say of a link to Prometheus |
//! | `page.html` | the page |

mod edge;
mod link_metrics;
mod origin;

use std::sync::{Arc, LazyLock};

use farbird_status::{Names, Page, Request, Response, Site};
use tokio::net::TcpListener;

pub(crate) use edge::{EdgeFacts, GoneFacts, LoopFacts, ProgramFacts, micros};
pub(crate) use origin::{OriginFacts, SessionFacts};

/// An end, as the page asks it.
pub(crate) trait Shown: Send + Sync + 'static {
    /// What the page shows, as JSON.
    fn state(&self) -> String;
    /// The waterfall of one program, as JSON, if there is such a program.
    fn trips(&self, program: u32) -> Option<String>;
    /// The metrics.
    fn metrics(&self) -> String;
}

static PAGE: LazyLock<Page> = LazyLock::new(|| Page::new(include_str!("page.html")));

/// Serves the page of an end; `names` are those by which it may be asked for, beside addresses and `localhost`.
pub(crate) async fn serve(listener: TcpListener, names: Vec<String>, shown: impl Shown) {
    farbird_status::serve(listener, Names(names), Arc::new(End(shown))).await;
}

/// The pages of an end.
struct End<S>(S);

impl<S: Shown> Site for End<S> {
    fn policy(&self) -> &str {
        PAGE.policy()
    }

    fn answer(&self, request: &Request) -> Response {
        let answer = match request.path.as_str() {
            "/" => Some(Response::page(&PAGE)),
            "/state.json" => Some(Response::json(self.0.state())),
            "/trips.json" => {
                let program = request.query.strip_prefix("program=").and_then(|number| number.parse().ok());
                program.and_then(|program| self.0.trips(program)).map(Response::json)
            }
            "/metrics" => Some(Response::metrics(self.0.metrics())),
            _ => None,
        };
        answer.unwrap_or_else(|| {
            let words = "There are /, /state.json, /trips.json?program=N and /metrics.\n";
            Response::words("404 Not Found", words)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_words_for_all_that_saves_trips() {
        let page = include_str!("page.html");
        let kinds = page.split("const KINDS = {").nth(1).and_then(|behind| behind.split('}').next()).unwrap();
        for kind in farbird_farlink::edge::Saved::ALL {
            assert!(kinds.contains(&format!(" {}: \"", kind.name())), "{}", kind.name());
        }
    }

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_has_one_script_and_one_style() {
        assert!(PAGE.faults().is_empty(), "{:?}", PAGE.faults());
    }

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

    #[test]
    fn what_is_there_is_served_and_nothing_else() {
        let ask = |path: &str, query: &str| {
            let request = Request {
                method: farbird_status::Method::Get,
                path: path.to_owned(),
                query: query.to_owned(),
                token: None,
                body: Vec::new(),
                peer: std::net::SocketAddr::from(([127, 0, 0, 1], 1)),
            };
            format!("{:?}", End(Nothing).answer(&request))
        };
        for (path, query) in [("/", ""), ("/state.json", ""), ("/metrics", ""), ("/trips.json", "program=1")]
        {
            assert!(ask(path, query).contains("200 OK"), "{path}");
        }
        for (path, query) in [("/trips.json", ""), ("/trips.json", "program=2"), ("/etc/passwd", "")] {
            assert!(ask(path, query).contains("404 Not Found"), "{path}");
        }
    }
}
