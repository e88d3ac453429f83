//! Who has logged in at the status page, and the attachments by which it asks.
//!
//! A login is known by a token of 256 random bits. It ends when the page says so, after [`IDLE_MAX`] without a question, and after
//! [`LOGIN_MAX`] in any case. The password is kept in memory for so long: each database takes an attachment of its own, which goes when
//! nobody has asked for [`ATTACHMENT_IDLE_MAX`], so that a page that was left open holds no database open.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farbird_client::ConnectOptions;
use farbird_client::blocking::{Connection, Services};
use farbird_server::{ExternalCallers, OwnCaller};
use farbird_types::{Error, isc};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A login that asks nothing for so long is over.
const IDLE_MAX: Duration = Duration::from_secs(30 * 60);
/// And any login after so long.
const LOGIN_MAX: Duration = Duration::from_secs(12 * 3_600);
/// An attachment that is not asked for so long goes.
const ATTACHMENT_IDLE_MAX: Duration = Duration::from_secs(15);
/// Logins at a time.
const LOGINS_MAX: usize = 32;
/// And of one user: a new one beyond that ends the oldest, so that no user takes the others' places.
const LOGINS_OF_USER_MAX: usize = 4;
/// How long it is believed that a user is, or is no, administrator.
const ADMINISTRATOR_BELIEVED: Duration = Duration::from_secs(3 * 60);
/// Attachments of a login at a time.
const ATTACHMENTS_MAX: usize = 4;
/// How long the server may take to be reached: it is this process.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(45);
const TOKEN_BYTES: usize = 32;

/// Why something is not answered.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It takes a login.
    NoLogin,
    /// Name or password are wrong.
    WrongPassword,
    /// Who asks is not on this machine.
    NotHere,
    /// There are as many logins as there may be.
    TooMany,
    /// The request is none.
    Nonsense(String),
    NoSuchPlace,
    /// The server says no.
    Server(Error),
}

impl Refusal {
    pub(super) fn status(&self) -> &'static str {
        match self {
            Refusal::NoLogin | Refusal::WrongPassword => "401 Unauthorized",
            Refusal::NotHere => "403 Forbidden",
            Refusal::TooMany => "503 Service Unavailable",
            Refusal::Nonsense(_) => "400 Bad Request",
            Refusal::NoSuchPlace => "404 Not Found",
            Refusal::Server(_) => "422 Unprocessable Content",
        }
    }

    pub(super) fn json(&self) -> Value {
        let words = match self {
            Refusal::NoLogin => "Log in first.".to_owned(),
            Refusal::WrongPassword => "Your user name and password are not those of a user.".to_owned(),
            Refusal::NotHere => {
                "A password would travel in the clear: log in on the server's own machine, by a tunnel (ssh -L 8080:localhost:8080 HOST) or a \
                 proxy with TLS there."
                    .to_owned()
            }
            Refusal::TooMany => "Too many are logged in at this page.".to_owned(),
            Refusal::Nonsense(why) => format!("This is no such request: {why}"),
            Refusal::NoSuchPlace => "There is no such place.".to_owned(),
            Refusal::Server(error) => error.message(),
        };
        json!({ "error": words })
    }
}

/// All logins at the page.
pub(super) struct Logins {
    /// Where the server listens.
    server: SocketAddr,
    /// Who is told that connections are the page's: wrong passwords here are not those of programs of this machine.
    callers: Arc<ExternalCallers>,
    all: Mutex<HashMap<String, Arc<Login>>>,
}

struct Login {
    options: ConnectOptions,
    user: String,
    /// Whether the user is an administrator, and when that was asked.
    is_administrator: Mutex<(bool, Instant)>,
    begun: Instant,
    asked: Mutex<Instant>,
    /// By database. Questions of one login are asked one after the other.
    attachments: Mutex<HashMap<String, (Connection, Instant)>>,
}

impl Login {
    fn close(&self) {
        close(self.attachments.lock().drain().map(|(_, (connection, _))| connection));
    }

    fn is_over(&self, now: Instant) -> bool {
        now - self.begun > LOGIN_MAX || now.saturating_duration_since(*self.asked.lock()) > IDLE_MAX
    }
}

impl Logins {
    /// At the server that listens at an address.
    pub(super) fn of(mut server: SocketAddr, callers: Arc<ExternalCallers>) -> Logins {
        if server.ip().is_unspecified() {
            let is_v4 = server.is_ipv4();
            server.set_ip(if is_v4 { Ipv4Addr::LOCALHOST.into() } else { Ipv6Addr::LOCALHOST.into() });
        }
        Logins { server, callers, all: Mutex::default() }
    }

    /// Logs a user in; gives the token.
    pub(super) fn begin(&self, user: &str, password: &str) -> Result<String, Refusal> {
        let options = ConnectOptions {
            connect_timeout: CONNECT_TIMEOUT,
            read_timeout: Some(READ_TIMEOUT),
            program: "farbird status page".to_owned(),
            ..ConnectOptions::new(user, password)
        };
        let is_administrator = self.ask_whether_administrator(&options).map_err(|error| {
            if is_login_error(&error) { Refusal::WrongPassword } else { Refusal::Server(error) }
        })?;
        let mut bytes = [0; TOKEN_BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| Refusal::Server(Error::new(isc::RANDOM).with(error.to_string())))?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let now = Instant::now();
        let login = Login {
            options,
            user: plain_name(user),
            is_administrator: Mutex::new((is_administrator, now)),
            begun: now,
            asked: Mutex::new(now),
            attachments: Mutex::default(),
        };
        let replaced = enter(&mut self.all.lock(), token.clone(), Arc::new(login))?;
        if let Some(replaced) = replaced {
            replaced.close();
        }
        tracing::info!(user, "logged in at the status page");
        Ok(token)
    }

    /// Only administrators are told which databases are open.
    fn ask_whether_administrator(&self, options: &ConnectOptions) -> Result<bool, Error> {
        let services = Services::attach_over(self.dial()?, &self.server.to_string(), options)?;
        let is_administrator = services.open_databases().is_ok();
        let _ = services.close();
        Ok(is_administrator)
    }

    /// Ends a login, if there is such a one.
    pub(super) fn end(&self, token: &str) {
        let ended = self.all.lock().remove(token);
        if let Some(login) = ended {
            login.close();
        }
    }

    /// Whether it is an administrator who has logged in. It is asked again every few minutes: rights are taken away, passwords change.
    pub(super) fn is_administrator(&self, token: &str) -> Result<bool, Refusal> {
        let login = self.login(token)?;
        let (known, asked) = *login.is_administrator.lock();
        if asked.elapsed() <= ADMINISTRATOR_BELIEVED {
            return Ok(known);
        }
        match self.ask_whether_administrator(&login.options) {
            Ok(is_administrator) => {
                *login.is_administrator.lock() = (is_administrator, Instant::now());
                Ok(is_administrator)
            }
            Err(error) if is_login_error(&error) => {
                self.end(token);
                Err(Refusal::NoLogin)
            }
            Err(error) => Err(Refusal::Server(error)),
        }
    }

    fn login(&self, token: &str) -> Result<Arc<Login>, Refusal> {
        let login = self.all.lock().get(token).cloned().ok_or(Refusal::NoLogin)?;
        let now = Instant::now();
        if login.is_over(now) {
            self.end(token);
            return Err(Refusal::NoLogin);
        }
        *login.asked.lock() = now;
        Ok(login)
    }

    /// Asks a database as the user who has logged in.
    pub(super) fn ask<T>(
        &self,
        token: &str,
        database: &str,
        question: impl Fn(&Connection) -> Result<T, Error>,
    ) -> Result<T, Refusal> {
        let login = self.login(token)?;
        let mut attachments = login.attachments.lock();
        let known = attachments.get(database).map(|(connection, _)| connection.clone());
        let answer = match known.as_ref().map(&question) {
            // Somebody has ended that attachment, or the server was started anew.
            Some(Err(error)) if error.is_disconnected() => None,
            other => other,
        };
        let answer = match answer {
            Some(answer) => answer,
            None => {
                attachments.remove(database);
                if attachments.len() >= ATTACHMENTS_MAX {
                    let oldest =
                        attachments.iter().min_by_key(|(_, (_, asked))| *asked).map(|(name, _)| name.clone());
                    close(
                        oldest.and_then(|name| attachments.remove(&name)).map(|(connection, _)| connection),
                    );
                }
                let connection = self.attach(&login, database).map_err(Refusal::Server)?;
                let answer = question(&connection);
                attachments.insert(database.to_owned(), (connection, Instant::now()));
                answer
            }
        };
        if let Some((_, asked)) = attachments.get_mut(database) {
            *asked = Instant::now();
        }
        answer.map_err(Refusal::Server)
    }

    fn attach(&self, login: &Login, database: &str) -> Result<Connection, Error> {
        let attach =
            |options| Connection::attach_over(self.dial()?, &self.server.to_string(), database, options);
        let mut options = login.options.clone();
        options.attach.no_database_triggers = true;
        match attach(&options) {
            // That is for administrators; others attach as anybody does.
            Err(error) if error.has(isc::NO_PRIV) || error.has(isc::MISS_PRVLG) => attach(&login.options),
            other => other,
        }
    }

    /// Connects to the server, which is told that it is the page.
    fn dial(&self) -> Result<TcpStream, Error> {
        let dialled = (|| {
            let stream = TcpStream::connect_timeout(&self.server, CONNECT_TIMEOUT)?;
            stream.set_nodelay(true)?;
            match self.callers.introduce(stream.local_addr()?, OwnCaller::StatusPage) {
                true => Ok(stream),
                false => Err(std::io::Error::from(std::io::ErrorKind::QuotaExceeded)),
            }
        })();
        dialled.map_err(|error| {
            let failed = Error::new(isc::NETWORK_ERROR).with(self.server.to_string());
            failed.and(isc::NET_CONNECT_ERR).and(isc::RANDOM).with(error.to_string())
        })
    }

    /// Ends logins that are over, and lets go of what nobody asks any more.
    pub(super) fn tidy(&self) {
        let now = Instant::now();
        let all: Vec<_> =
            self.all.lock().iter().map(|(token, login)| (token.clone(), Arc::clone(login))).collect();
        for (token, login) in all {
            if login.is_over(now) {
                self.end(&token);
                continue;
            }
            // One that is being asked is not idle.
            let Some(mut attachments) = login.attachments.try_lock() else { continue };
            let idle: Vec<_> = attachments
                .extract_if(|_, (_, asked)| now.saturating_duration_since(*asked) > ATTACHMENT_IDLE_MAX)
                .map(|(_, (connection, _))| connection)
                .collect();
            close(idle);
        }
    }
}

/// Enters a login among all; gives the one that it replaces: the user's own oldest, if there are as many of that user as there may be.
fn enter(
    all: &mut HashMap<String, Arc<Login>>,
    token: String,
    login: Arc<Login>,
) -> Result<Option<Arc<Login>>, Refusal> {
    let own = all.iter().filter(|(_, other)| other.user == login.user);
    let oldest = own.clone().min_by_key(|(_, other)| other.begun).map(|(token, _)| token.clone());
    let replaced = match own.count() >= LOGINS_OF_USER_MAX {
        true => oldest.and_then(|token| all.remove(&token)),
        false => None,
    };
    if all.len() >= LOGINS_MAX {
        return Err(Refusal::TooMany);
    }
    all.insert(token, login);
    Ok(replaced)
}

/// A user's name as it is told from others: without quotes letters are capital ones.
fn plain_name(user: &str) -> String {
    let user = user.trim_end();
    match user.strip_prefix('"').and_then(|user| user.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => user.to_uppercase(),
    }
}

/// Takes leave; a server that is gone need not be told.
fn close(connections: impl IntoIterator<Item = Connection>) {
    connections.into_iter().for_each(|connection| drop(connection.close()));
}

/// Whether it is the login that failed.
fn is_login_error(error: &Error) -> bool {
    error.has(isc::LOGIN) || error.has(isc::LOGIN_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login(user: &str) -> Arc<Login> {
        let now = Instant::now();
        Arc::new(Login {
            options: ConnectOptions::new(user, "secret"),
            user: plain_name(user),
            is_administrator: Mutex::new((false, now)),
            begun: now,
            asked: Mutex::new(now),
            attachments: Mutex::default(),
        })
    }

    #[test]
    fn a_users_logins_replace_their_own_and_leave_room_for_others() {
        let mut all = HashMap::new();
        for number in 0..LOGINS_MAX {
            let user = ["alice", "ALICE", "\"ALICE\""][number % 3];
            let replaced = enter(&mut all, format!("alice {number}"), login(user)).unwrap();
            assert_eq!(replaced.is_some(), number >= LOGINS_OF_USER_MAX, "{number}");
        }
        assert_eq!(all.len(), LOGINS_OF_USER_MAX);
        assert!(all.contains_key(&format!("alice {}", LOGINS_MAX - 1)), "the newest stays");
        for number in LOGINS_OF_USER_MAX..LOGINS_MAX {
            assert!(enter(&mut all, format!("{number}"), login(&format!("user{number}"))).unwrap().is_none());
        }
        assert!(matches!(enter(&mut all, "one more".to_owned(), login("bob")), Err(Refusal::TooMany)));
        assert!(enter(&mut all, "alice again".to_owned(), login("alice")).unwrap().is_some());
        assert_eq!(all.len(), LOGINS_MAX);
    }
}
