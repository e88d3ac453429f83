//! Any action of the services manager: its arguments, what it says, and those that are wanted most by name.
//!
//! Source: wire-protocol 11.5; FirebirdSQL/firebird doc/README.services_extension.

use std::time::Duration;

use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::spb;
use farbird_wire::info::common;
use farbird_wire::packet::Request;
use farbird_wire::protocol::Handle;

use crate::error;
use crate::service::Services;

/// An action with its arguments; each has one of five forms, which the tag decides.
///
/// ```
/// use farbird_client::ServiceAction;
///
/// // isc_action_svc_db_stats with isc_spb_dbname and isc_spb_options.
/// let statistics = ServiceAction::new(11).text(106, "/data/app.fdb")?.integer(108, 1);
/// # let _ = statistics;
/// # Ok::<(), farbird_client::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceAction {
    block: Vec<u8>,
}

impl ServiceAction {
    /// An action by its number, `isc_action_svc_*`.
    pub fn new(action: u8) -> ServiceAction {
        ServiceAction { block: vec![action] }
    }

    /// Adds a text.
    ///
    /// # Errors
    /// `isc_bad_spb_form` for one of more than 65,535 bytes.
    pub fn text(self, tag: u8, text: &str) -> Result<ServiceAction> {
        let length = u16::try_from(text.len()).map_err(|_| Error::new(isc::BAD_SPB_FORM))?;
        Ok(self.with(tag, &length.to_le_bytes()).bytes(text.as_bytes()))
    }

    /// Adds a number of four bytes.
    pub fn integer(self, tag: u8, number: u32) -> ServiceAction {
        self.with(tag, &number.to_le_bytes())
    }

    /// Adds a number of eight bytes.
    pub fn big(self, tag: u8, number: u64) -> ServiceAction {
        self.with(tag, &number.to_le_bytes())
    }

    /// Adds one byte.
    pub fn byte(self, tag: u8, byte: u8) -> ServiceAction {
        self.with(tag, &[byte])
    }

    /// Adds an argument without a value.
    pub fn flag(self, tag: u8) -> ServiceAction {
        self.with(tag, &[])
    }

    fn with(mut self, tag: u8, value: &[u8]) -> ServiceAction {
        self.block.push(tag);
        self.bytes(value)
    }

    fn bytes(mut self, bytes: &[u8]) -> ServiceAction {
        self.block.extend_from_slice(bytes);
        self
    }
}

/// A user of the server.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct User {
    /// Login name.
    pub name: String,
    /// First name.
    pub first_name: String,
    /// Middle name.
    pub middle_name: String,
    /// Last name.
    pub last_name: String,
    /// Whether the user is an administrator of users.
    pub is_admin: bool,
}

/// What a database's statistics are about: bits of `isc_spb_sts_*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statistics {
    /// The header page.
    Header,
    /// Data and index pages.
    Data,
    /// Index pages.
    Indices,
    /// Data and index pages, system tables included.
    System,
}

impl Statistics {
    fn bits(self) -> u32 {
        match self {
            Statistics::Header => 4,
            Statistics::Data => 1,
            Statistics::Indices => 8,
            Statistics::System => 16,
        }
    }
}

/// What came of [`Services::poll_for`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Polled {
    /// What the action has said.
    Said(Vec<u8>),
    /// It has said nothing in that time, and is at work.
    Nothing,
    /// It has ended.
    Ended,
}

/// Longest time that a server is asked to wait: it counts seconds in 16 bits.
const TIMEOUT_SECONDS_MAX: u32 = 65_535;

impl Services {
    /// Starts an action.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says of the action, its arguments or the user's privileges.
    pub async fn start_action(&self, action: &ServiceAction) -> Result<()> {
        let spb = action.block.clone();
        let request = Request::ServiceStart { service: Handle::NONE, incarnation: 0, spb };
        self.shared.response(&request).await.map(|_| ())
    }

    /// What the running action has said since the last call; `None` when it has ended. Waits until there is something.
    ///
    /// # Round trips
    /// One for each time that the server has nothing to say yet, and one for what it says.
    ///
    /// # Errors
    /// Why the action failed.
    pub async fn poll(&self) -> Result<Option<Vec<u8>>> {
        loop {
            let answer = self.answer(self.ask_service(Vec::new(), &[spb::info::TO_EOF])?).await?;
            if !answer.bytes.is_empty() {
                return Ok(Some(answer.bytes));
            }
            if !answer.goes_on {
                return Ok(None);
            }
        }
    }

    /// As [`Services::poll`], but waits no longer than so long; whole seconds, at least one.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Services::poll`].
    pub async fn poll_for(&self, timeout: Duration) -> Result<Polled> {
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX).clamp(1, TIMEOUT_SECONDS_MAX);
        let wait = [&[spb::info::TIMEOUT, 4, 0][..], &seconds.to_le_bytes()].concat();
        let answer = self.answer(self.ask_service(wait, &[spb::info::TO_EOF])?).await?;
        Ok(match answer.bytes.is_empty() {
            false => Polled::Said(answer.bytes),
            true if answer.goes_on => Polled::Nothing,
            true => Polled::Ended,
        })
    }

    /// Starts an action and waits for its end; gives what it said, in lines.
    ///
    /// # Round trips
    /// One to start, then as [`Services::poll`].
    ///
    /// # Errors
    /// As [`Services::start_action`] and [`Services::poll`].
    pub async fn run(&self, action: &ServiceAction) -> Result<Vec<String>> {
        self.start_action(action).await?;
        let mut said = Vec::new();
        while let Some(more) = self.poll().await? {
            said.extend_from_slice(&more);
        }
        Ok(String::from_utf8_lossy(&said).lines().map(str::to_owned).collect())
    }

    /// Asks the services manager: items of `isc_info_svc_*`, answered as they are.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn information(&self, items: &[u8]) -> Result<Vec<u8>> {
        Ok(self.ask_service(Vec::new(), items)?.response().await?.data)
    }

    /// The server's version, such as `LI-V4.0.5.3140 Firebird 4.0`.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn server_version(&self) -> Result<String> {
        let reply = self.information(&[spb::info::SERVER_VERSION]).await?;
        let [spb::info::SERVER_VERSION, rest @ ..] = &reply[..] else {
            return Err(error::unexpected("a service"));
        };
        let (text, _) = split_text(rest).ok_or_else(|| error::unexpected("a service"))?;
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Statistics of a database, as gstat prints them.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn statistics(&self, database: &str, what: Statistics) -> Result<Vec<String>> {
        let action = ServiceAction::new(spb::action::DB_STATS).text(spb::DBNAME, database)?;
        self.run(&action.integer(spb::OPTIONS, what.bits())).await
    }

    /// The server's users; with a name, that one.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn users(&self, name: Option<&str>) -> Result<Vec<User>> {
        let mut action = ServiceAction::new(spb::action::DISPLAY_USER_ADM);
        if let Some(name) = name {
            action = action.text(spb::user::USERNAME, name)?;
        }
        self.start_action(&action).await?;
        let mut block = Vec::new();
        loop {
            let reply = self.information(&[spb::info::GET_USERS]).await?;
            let [spb::info::GET_USERS, rest @ ..] = &reply[..] else { break };
            let (users, rest) = split_text(rest).ok_or_else(|| error::unexpected("a service"))?;
            block.extend_from_slice(users);
            if users.is_empty() || !rest.contains(&common::TRUNCATED) {
                break;
            }
        }
        parse_users(&block).ok_or_else(|| error::unexpected("a service"))
    }

    /// Adds a user with a password.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn add_user(&self, user: &User, password: &str) -> Result<()> {
        self.user_action(spb::action::ADD_USER, user, Some(password)).await
    }

    /// Changes a user's names and, if one is given, the password.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn modify_user(&self, user: &User, password: Option<&str>) -> Result<()> {
        self.user_action(spb::action::MODIFY_USER, user, password).await
    }

    /// Removes a user.
    ///
    /// # Round trips
    /// As [`Services::run`].
    ///
    /// # Errors
    /// As [`Services::run`].
    pub async fn delete_user(&self, name: &str) -> Result<()> {
        let action = ServiceAction::new(spb::action::DELETE_USER).text(spb::user::USERNAME, name)?;
        self.run(&action).await.map(|_| ())
    }

    async fn user_action(&self, action: u8, user: &User, password: Option<&str>) -> Result<()> {
        let mut action = ServiceAction::new(action)
            .text(spb::user::USERNAME, &user.name)?
            .text(spb::user::FIRSTNAME, &user.first_name)?
            .text(spb::user::MIDDLENAME, &user.middle_name)?
            .text(spb::user::LASTNAME, &user.last_name)?;
        if let Some(password) = password {
            action = action.text(spb::user::PASSWORD, password)?;
        }
        if user.is_admin {
            action = action.integer(spb::user::ADMIN, 1);
        }
        self.run(&action).await.map(|_| ())
    }
}

/// A text behind its length, and what follows.
pub(crate) fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))
}

/// The list of users. `None` if it is damaged.
fn parse_users(mut block: &[u8]) -> Option<Vec<User>> {
    let mut users: Vec<User> = Vec::new();
    while let Some((&tag, rest)) = block.split_first() {
        if matches!(tag, spb::user::USERID | spb::user::GROUPID | spb::user::ADMIN) {
            let (number, rest) = rest.split_first_chunk::<4>()?;
            if tag == spb::user::ADMIN {
                users.last_mut()?.is_admin = u32::from_le_bytes(*number) != 0;
            }
            block = rest;
            continue;
        }
        let (text, rest) = split_text(rest)?;
        let text = String::from_utf8_lossy(text).into_owned();
        match tag {
            spb::user::USERNAME => users.push(User { name: text, ..User::default() }),
            spb::user::FIRSTNAME => users.last_mut()?.first_name = text,
            spb::user::MIDDLENAME => users.last_mut()?.middle_name = text,
            spb::user::LASTNAME => users.last_mut()?.last_name = text,
            _ => {}
        }
        block = rest;
    }
    Some(users)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_and_damage_is_refused() {
        let block = [7, 1, 0, b'A', 10, 1, 0, b'B', 5, 0, 0, 0, 0, 13, 1, 0, 0, 0, 7, 1, 0, b'C'];
        let users = parse_users(&block).unwrap();
        assert_eq!(
            (users[0].name.as_str(), users[0].first_name.as_str(), users[0].is_admin),
            ("A", "B", true)
        );
        assert_eq!(users[1], User { name: "C".to_owned(), ..User::default() });
        assert_eq!(parse_users(&block[..block.len() - 1]), None);
        assert_eq!(parse_users(&[13, 1, 0, 0, 0]), None);
    }
}
