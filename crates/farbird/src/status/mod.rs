//! The status page of `farbird serve`: what `farbird admin` shows, in a browser; metrics for Prometheus; a sign of life.
//!
//! | file | subject |
//! |---|---|
//! | `logins` | who has logged in at the page, and the attachments by which it asks |
//! | `page.html` | the page |
//!
//! # Who may what
//! - `/metrics` and `/health` are for everybody who gets there: numbers, and names of databases.
//! - All else takes a login with a user's name and password, which the server checks as it does any login (slowly, after some wrong ones).
//!   The page then asks as that user, so it shows and does what that user may see and do, by the server's decision.
//! - Wrong passwords here slow down those who log in here, not programs of this machine; and those who wait for that leave places for
//!   `/metrics` and `/health`.
//! - Passwords travel here in the clear: who is not on this machine is refused. From elsewhere: a tunnel, or a proxy with TLS on this
//!   machine.
//! - A login is a random token that the page's script sends with each request. There are no cookies, so no other site's page can ask or do
//!   anything in its name.

mod logins;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::Context;
use farbird_server::{Observer, Server};
use farbird_status::{Lane, Method, Names, Page, Request, Response, Site};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::admin::reports::*;
use crate::admin::{action, answers, json as json_of};
use logins::{Logins, Refusal};

static PAGE: LazyLock<Page> = LazyLock::new(|| Page::new(include_str!("page.html")));

/// How often it is looked whether attachments of the page are still asked.
const TIDY_EVERY: Duration = Duration::from_secs(5);

/// Serves the page of a server; gives where. Ends with the runtime.
pub(crate) async fn serve(
    address: SocketAddr,
    names: Vec<String>,
    server: &Server,
) -> anyhow::Result<SocketAddr> {
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot serve the status page at {address}"))?;
    let address = listener.local_addr()?;
    let logins = Arc::new(Logins::of(server.local_address(), server.external_callers()));
    let tidied = Arc::clone(&logins);
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(TIDY_EVERY).await;
            let tidied = Arc::clone(&tidied);
            // Taking leave of a server is not for an I/O thread.
            let _ = tokio::task::spawn_blocking(move || tidied.tidy()).await;
        }
    });
    let site = Arc::new(StatusSite { observer: server.observer(), logins });
    tokio::spawn(farbird_status::serve(listener, Names(names), site));
    Ok(address)
}

struct StatusSite {
    observer: Observer,
    logins: Arc<Logins>,
}

/// What a login says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LoginRequest {
    user: String,
    password: String,
}

/// What a question is about.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    database: String,
}

/// What is to be ended.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ending {
    database: String,
    attachment: u64,
}

impl Site for StatusSite {
    fn policy(&self) -> &str {
        PAGE.policy()
    }

    fn takes_posts(&self) -> bool {
        true
    }

    fn lane(&self, request: &Request) -> Lane {
        match (request.method, request.path.as_str()) {
            // Those who are not here are refused at once.
            (Method::Post, _) if !is_here(request) => Lane::Quick,
            (Method::Post, "/login") => Lane::Login,
            (Method::Post, _) => Lane::Work,
            (Method::Get, _) => Lane::Quick,
        }
    }

    fn answer(&self, request: &Request) -> Response {
        match (request.method, request.path.as_str()) {
            (Method::Get, "/") => Response::page(&PAGE),
            (Method::Get, "/metrics") => Response::metrics(self.observer.metrics()),
            (Method::Get, "/health") => Response::words("200 OK", "ok\n"),
            (Method::Post, path) => match self.post(path, request) {
                Ok(answer) => Response::json(answer.to_string()),
                Err(refusal) => Response::refusal(refusal.status(), refusal.json().to_string()),
            },
            _ => Response::words("404 Not Found", "There are /, /metrics and /health.\n"),
        }
    }
}

impl StatusSite {
    fn post(&self, path: &str, request: &Request) -> Result<Value, Refusal> {
        if !is_here(request) {
            return Err(Refusal::NotHere);
        }
        if path == "/login" {
            return self.log_in(&parsed(request)?);
        }
        let token = request.token.as_deref().ok_or(Refusal::NoLogin)?;
        match path {
            "/logout" => {
                self.logins.end(token);
                Ok(json!({}))
            }
            "/state" => {
                let Question { database } = parsed(request)?;
                let reports = [
                    &DATABASE,
                    &ATTACHMENTS,
                    &STATEMENTS,
                    &TRANSACTIONS,
                    &LOCK_WAITS,
                    &LOCKS,
                    &SWEEP,
                    &MEMORY,
                    &CACHE,
                    &FIGURES,
                    &BACKUPS,
                ];
                let mut state = self
                    .logins
                    .ask(token, &database, |connection| Ok(json_of(&answers(connection, &reports)?)))?;
                state["uptime_ms"] =
                    u64::try_from(self.observer.uptime().as_millis()).unwrap_or(u64::MAX).into();
                state["databases"] = self.databases(token)?;
                Ok(state)
            }
            "/sizes" => {
                let Question { database } = parsed(request)?;
                let reports = [&TABLE_SIZES, &INDEX_SIZES];
                self.logins.ask(token, &database, |connection| Ok(json_of(&answers(connection, &reports)?)))
            }
            "/kill" | "/cancel" => {
                let Ending { database, attachment } = parsed(request)?;
                let wanted = if path == "/kill" { action::Wanted::Kill } else { action::Wanted::Cancel };
                let outcome = self
                    .logins
                    .ask(token, &database, |connection| action::end(connection, wanted, attachment))?;
                let mut told = outcome.json(attachment);
                told["words"] = outcome.words(attachment).into();
                Ok(told)
            }
            _ => Err(Refusal::NoSuchPlace),
        }
    }

    fn log_in(&self, request: &LoginRequest) -> Result<Value, Refusal> {
        let token = self.logins.begin(&request.user, &request.password)?;
        Ok(json!({ "token": token, "databases": self.databases(&token)? }))
    }

    /// The databases that somebody is attached to, if it is an administrator who asks.
    fn databases(&self, token: &str) -> Result<Value, Refusal> {
        match self.logins.is_administrator(token)? {
            true => Ok(self.observer.open_databases().into()),
            false => Ok(Value::Array(Vec::new())),
        }
    }
}

/// Whether it is somebody on this machine who asks.
fn is_here(request: &Request) -> bool {
    request.peer.ip().to_canonical().is_loopback()
}

fn parsed<'r, T: Deserialize<'r>>(request: &'r Request) -> Result<T, Refusal> {
    serde_json::from_slice(&request.body).map_err(|error| Refusal::Nonsense(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_needs_nothing_from_elsewhere_and_has_one_script_and_one_style() {
        assert!(PAGE.faults().is_empty(), "{:?}", PAGE.faults());
    }
}
