//! The services manager: information about the server, users, backup and restore, properties, checks, sweeps, transactions in limbo,
//! trace sessions.
//!
//! Other services answer with an error that leaves the connection usable.
//! Source: wire-protocol.md, 11.5.

mod access;
mod backup;
mod command_line;
mod nbackup;
mod pipe;
mod properties;
mod repair;
mod restore;
mod running;
mod statistics;
mod step_times;
mod task;
mod trace;
mod traced;
mod users;
mod validation;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::session::trace::{Event, Outcome, Tracer};
use farbird_engine::users::{UserChange, UserRecord};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{
    ClumpletReader, StartItem, StartValue, parse_service_query, parse_service_start, spb,
};
use farbird_wire::packet::{BufferLength, Reply, Request, Response};

use self::backup::Arguments;
use self::pipe::Ready;
use self::repair::Repaired;
pub(crate) use self::running::RunningServices;
use self::task::Running;
use crate::connection_input::ConnectionInput;
use crate::handshake::Identity;
use crate::session::maintenance::refused;
use crate::session::output::Output;
use crate::shared::Shared;
use crate::version;

/// isc_info_svc_version: the version of the services manager itself.
const MANAGER_VERSION: i32 = 2;
/// isc_info_svc_capabilities: multi-client server, remote access, multiple databases (0x1 | 0x80 | ...), as Firebird's.
const CAPABILITIES: i32 = 0x2 | 0x4 | 0x10 | 0x100;

const END: u8 = 1;
const TRUNCATED: u8 = 2;
const DATA_NOT_READY: u8 = 4;
const FLAG_END: u8 = 127;
/// isc_spb_num_att and isc_spb_num_db: entries of isc_info_svc_svr_db_info.
const NUMBER_OF_ATTACHMENTS: u8 = 5;
const NUMBER_OF_DATABASES: u8 = 6;

/// How long a call waits for a service that says nothing: the client asks again. Firebird waits for ever; here a client
/// that has vanished is noticed.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// A connection to the services manager.
pub(crate) struct ServiceSession {
    shared: Arc<Shared>,
    identity: Identity,
    /// What the service that ran last has to say: text, or items for the users.
    lines: VecDeque<u8>,
    /// Users to be told by isc_info_svc_get_users.
    users: Vec<UserRecord>,
    /// Whether it is also told who administers (isc_action_svc_display_user_adm).
    users_with_admin: bool,
    /// What gbak was called with, if it is gbak.
    command_line: Vec<u8>,
    /// Transactions to be told by isc_info_svc_limbo_trans.
    limbo: Vec<u64>,
    /// A backup or restore that was started.
    running: Option<Running>,
    /// Names the connection among those to the services.
    number: u64,
    /// The service that was started last, as trace sessions show it.
    started: &'static str,
    tracer: Tracer,
}

impl Drop for ServiceSession {
    fn drop(&mut self) {
        if self.tracer.wants(Event::Service) {
            self.tracer.service_connection("DETACH_SERVICE");
        }
        self.tracer.end();
    }
}

impl ServiceSession {
    /// Attaches to the services manager.
    pub(crate) fn attach(
        shared: Arc<Shared>,
        identity: &Identity,
        peer: SocketAddr,
        block: &[u8],
    ) -> Result<ServiceSession> {
        let items = ClumpletReader::spb_attach(block).map_err(|_| Error::new(isc::BAD_SPB_FORM))?;
        let (mut command_line, mut role) = (None, None);
        for item in items.map_while(std::result::Result::ok) {
            match item.tag {
                spb::COMMAND_LINE => command_line = Some(item.data.to_vec()),
                spb::SQL_ROLE_NAME => role = Some(item.text()).filter(|role| !role.is_empty()),
                _ => {}
            }
        }
        let (number, tracer) = traced::tracer(shared.engine.traces(), identity, peer, block);
        if tracer.wants(Event::Service) {
            tracer.service_connection("ATTACH_SERVICE");
        }
        Ok(ServiceSession {
            shared,
            identity: Identity { role, ..identity.clone() },
            lines: VecDeque::new(),
            users: Vec::new(),
            users_with_admin: false,
            limbo: Vec::new(),
            command_line: command_line.unwrap_or_default(),
            running: None,
            number,
            started: "",
            tracer,
        })
    }

    /// Answers one request. Gives false when the conversation has ended.
    pub(crate) fn handle(&mut self, request: &Request, output: &mut Output) -> bool {
        let result = match request {
            Request::Disconnect => {
                return false;
            }
            Request::Cancel { .. } => return true,
            Request::ServiceDetach(_) | Request::Detach(_) | Request::Ping => Ok(Response::success()),
            Request::ServiceStart { spb, .. } => {
                let started = self.start(spb, output.input());
                started.inspect_err(|error| self.tell_error("JService::start", error))
            }
            Request::ServiceInformation { service, send_items, receive_items, buffer_length, .. } => self
                .answer(send_items, receive_items, *buffer_length)
                .map(|data| Response::data(*service, data)),
            _ => Err(Error::new(isc::WISH_LIST)),
        };
        output.reply(&Reply::Response(result.unwrap_or_else(|error| Response::error(&error))));
        output.flush();
        true
    }

    /// Answers a question, and tells trace sessions of it.
    fn answer(&mut self, sent: &[u8], items: &[u8], room: BufferLength) -> Result<Vec<u8>> {
        let answer = self.information(sent, items, room);
        if self.tracer.wants(Event::ServiceQuery) {
            let sent = parse_service_query(sent).map(|items| traced::sent(&items)).unwrap_or_default();
            let wanted = traced::wanted(items);
            self.tracer.service_asked(self.started, &sent, &wanted, Outcome::of(&answer));
        }
        answer.inspect_err(|error| self.tell_error("JService::query", error))
    }

    fn tell_error(&self, call: &str, error: &Error) {
        if self.tracer.wants(Event::Error) {
            self.tracer.error(call, error);
        }
    }

    /// Starts a service, and tells trace sessions of it.
    fn start(&mut self, block: &[u8], line: &ConnectionInput) -> Result<Response> {
        let (service, items) = parse_service_start(block).map_err(|_| Error::new(isc::BAD_SPB_FORM))?;
        let started = self.start_service(service, &items, line);
        self.started = traced::name_of(service);
        if self.tracer.wants(Event::Service) {
            self.tracer.service_started(self.started, &traced::switches(&items), Outcome::of(&started));
        }
        started
    }

    fn start_service(
        &mut self,
        service: u8,
        items: &[StartItem],
        line: &ConnectionInput,
    ) -> Result<Response> {
        use spb::action;
        if let Some(running) = self.running.as_ref().filter(|running| running.pipe.is_running()) {
            return Err(Error::new(isc::SVC_IN_USE).with(running.name));
        }
        self.lines.clear();
        self.users.clear();
        self.limbo.clear();
        self.running = None;
        match service {
            action::BACKUP => {
                let arguments = self.arguments(items, false)?;
                let identity = self.identity.in_role(arguments.role.clone());
                self.running = Some(backup::start_backup(&self.shared, &identity, arguments)?);
            }
            action::RESTORE => {
                self.running =
                    Some(restore::start_restore(&self.shared, &self.identity, self.arguments(items, true)?)?);
            }
            action::ADD_USER => {
                users::change(&self.shared, &self.identity, UserChange::Create(users::settings(items)?))?;
            }
            action::MODIFY_USER => {
                users::change(&self.shared, &self.identity, UserChange::Alter(users::settings(items)?))?;
            }
            action::DELETE_USER => {
                let name = users::settings(items)?.name;
                users::change(&self.shared, &self.identity, UserChange::Drop(name))?;
            }
            action::DISPLAY_USER => self.display_users(items, false)?,
            action::DISPLAY_USER_ADM => self.display_users(items, true)?,
            action::SET_MAPPING | action::DROP_MAPPING => {
                let verb = if service == action::SET_MAPPING { "SET" } else { "DROP" };
                let mapping = format!("ALTER ROLE RDB$ADMIN {verb} AUTO ADMIN MAPPING");
                users::change(&self.shared, &self.identity, UserChange::Statement(mapping))?;
            }
            action::NBAK => {
                self.running = Some(nbackup::start_backup(&self.shared, &self.identity, items)?);
            }
            action::NREST => {
                self.running = Some(nbackup::start_restore(&self.shared, &self.identity, items)?);
            }
            action::NFIX => {
                return Err(refused(
                    "setting copies of a database's file free (nbackup -fixup): a copy is free as it is",
                ));
            }
            action::TRACE_START => {
                self.running = Some(trace::start(&self.shared, &self.identity, self.number, items)?);
            }
            action::TRACE_STOP => self.change_trace(trace::Change::Stop, items)?,
            action::TRACE_SUSPEND => self.change_trace(trace::Change::Suspend, items)?,
            action::TRACE_RESUME => self.change_trace(trace::Change::Resume, items)?,
            action::TRACE_LIST => self.lines.extend(trace::list(&self.shared, &self.identity).bytes()),
            action::PROPERTIES => {
                self.running = Some(properties::properties(&self.shared, &self.identity, items, line)?);
            }
            action::DB_STATS => {
                self.running = Some(statistics::start(&self.shared, &self.identity, items)?);
            }
            action::VALIDATE => {
                self.running = Some(validation::start(&self.shared, &self.identity, items)?);
            }
            action::REPAIR => match repair::repair(&self.shared, &self.identity, items, line)? {
                Repaired::Limbo(limbo) => self.limbo = limbo,
                Repaired::Report(running) => self.running = Some(running),
            },
            action::GET_FB_LOG => {
                self.check_admin()?;
                self.lines.extend(b"The log of this server goes to the standard error of its process.\n");
            }
            _ => return Err(refused("this service")),
        }
        Ok(Response::success())
    }

    fn change_trace(&mut self, change: trace::Change, items: &[StartItem]) -> Result<()> {
        let said = trace::change(&self.shared, &self.identity, change, items)?;
        self.lines.extend(said.bytes());
        Ok(())
    }

    /// What a backup or a restore is to work on.
    fn arguments(&self, items: &[StartItem], restores: bool) -> Result<Arguments> {
        let named = items.iter().any(|item| item.tag == spb::DBNAME);
        match named || self.command_line.is_empty() {
            true => Arguments::of(items),
            false => command_line::parse(&self.command_line, restores),
        }
    }

    fn display_users(&mut self, items: &[StartItem], with_admin: bool) -> Result<()> {
        self.users = users::seen(&self.shared, &self.identity, items)?;
        // Some clients ask for the users (isc_info_svc_get_users), others read what the service says: the same items.
        let mut said = Vec::new();
        self.users.iter().for_each(|user| users::write(user, with_admin, &mut said));
        self.users_with_admin = with_admin;
        self.lines.extend(said);
        Ok(())
    }

    fn check_admin(&self) -> Result<()> {
        if self.identity.admin { Ok(()) } else { Err(Error::new(isc::ADM_TASK_DENIED)) }
    }

    /// Refuses what only administrators may ask.
    fn check_may_ask(&self, item: &str) -> Result<()> {
        match self.identity.admin {
            true => Ok(()),
            false => Err(Error::new(isc::INSUFFICIENT_SVC_PRIVILEGES).with(item)),
        }
    }

    fn information(&mut self, sent: &[u8], items: &[u8], room: BufferLength) -> Result<Vec<u8>> {
        use spb::info;
        let ready = self.prepare(sent, items, room)?;
        let mut reply = ServiceReply { out: Vec::new(), room: room.0 as usize, truncated: false };
        for item in items {
            match *item {
                END => break,
                info::VERSION => reply.integer(*item, MANAGER_VERSION),
                info::CAPABILITIES => reply.integer(*item, CAPABILITIES),
                info::RUNNING => reply.integer(*item, i32::from(ready.is_some_and(|ready| !ready.ended))),
                info::SERVER_VERSION => reply.text(*item, version::FIREBIRD_VERSION.as_bytes()),
                info::IMPLEMENTATION => reply.text(*item, version::IMPLEMENTATION.as_bytes()),
                info::USER_DBPATH | info::GET_ENV | info::GET_ENV_LOCK | info::GET_ENV_MSG => {
                    // As Firebird: the places of the server are for administrators.
                    let name = match *item {
                        info::USER_DBPATH => "isc_info_svc_user_dbpath",
                        _ => "isc_info_svc_get_env",
                    };
                    self.check_may_ask(name)?;
                    let folder = format!("{}/", self.shared.locations.data().display());
                    reply.text(*item, folder.as_bytes());
                }
                info::SVR_DB_INFO => {
                    self.check_may_ask("isc_info_svc_svr_db_info")?;
                    self.databases(&mut reply);
                }
                info::GET_USERS => self.take_users(&mut reply),
                info::LIMBO_TRANS => self.take_limbo(*item, &mut reply),
                info::LINE => self.take_line(&mut reply, ready),
                // A list of transactions in limbo is what its service says: some clients read it so.
                info::TO_EOF if !self.limbo.is_empty() => self.take_limbo(*item, &mut reply),
                info::TO_EOF => self.take_rest(&mut reply, ready),
                info::STDIN => {
                    let wanted = self.running.as_ref().map_or(0, |running| running.pipe.wanted());
                    reply.integer(*item, i32::try_from(wanted).unwrap_or(i32::MAX));
                }
                // As in Firebird nothing is told of the settings.
                info::TIMEOUT | info::GET_CONFIG => {}
                _ => return Err(Error::new(isc::WISH_LIST)),
            }
        }
        Ok(reply.finish())
    }

    /// Hands what was sent to the running service, and waits until it has what is asked for.
    ///
    /// # Errors
    /// How the service failed, once everything else that it said was told.
    fn prepare(&self, sent: &[u8], items: &[u8], room: BufferLength) -> Result<Option<Ready>> {
        use spb::info;
        let Some(Running { pipe, .. }) = &self.running else { return Ok(None) };
        let mut timeout_seconds = 0;
        for item in parse_service_query(sent).map_err(|_| Error::new(isc::BAD_SPB_FORM))? {
            match (item.tag, &item.value) {
                (info::LINE, StartValue::Text(bytes)) if !pipe.give(bytes) => {
                    return Err(Error::new(isc::SVC_BAD_SIZE));
                }
                (info::TIMEOUT, StartValue::Text(bytes)) => {
                    timeout_seconds =
                        bytes.iter().rev().fold(0u32, |value, byte| value << 8 | u32::from(*byte));
                }
                _ => {}
            }
        }
        let room = room.0 as usize;
        let deadline = pipe::deadline(timeout_seconds, WAIT_MAX);
        let ready = if items.contains(&info::TO_EOF) {
            pipe.wait(deadline, |output| output.len() >= room)
        } else if items.contains(&info::LINE) {
            pipe.wait(deadline, |output| output.contains(&b'\n'))
        } else {
            pipe.wait(deadline, |_| true)
        };
        if pipe.wanted() > 0 && !items.contains(&info::STDIN) {
            return Err(Error::new(isc::SVC_NO_STDIN));
        }
        if ready.ended
            && ready.output == 0
            && let Some(failure) = pipe.take_failure()
        {
            return Err(failure);
        }
        Ok(Some(ready))
    }

    /// Attachments and databases, those of the server itself left out.
    fn databases(&self, reply: &mut ServiceReply) {
        let security = self.shared.locations.data().join(crate::location::SECURITY_DATABASE);
        let mut open = self.shared.engine.open_databases();
        open.retain(|(path, _)| *path != security);
        let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        reply.bare(spb::info::SVR_DB_INFO);
        reply.integer(NUMBER_OF_ATTACHMENTS, count(open.iter().map(|(_, attachments)| attachments).sum()));
        reply.integer(NUMBER_OF_DATABASES, count(open.len()));
        for (path, _) in open {
            reply.text(spb::DBNAME, path.display().to_string().as_bytes());
        }
        reply.bare(FLAG_END);
    }

    /// Users with all their items, as many as there is room for; the rest with the next call.
    fn take_users(&mut self, reply: &mut ServiceReply) {
        let mut list = Vec::new();
        let mut taken = 0;
        for user in &self.users {
            let before = list.len();
            users::write(user, self.users_with_admin, &mut list);
            if reply.out.len() + list.len() + 4 > reply.room || list.len() > usize::from(u16::MAX) {
                list.truncate(before);
                break;
            }
            taken += 1;
        }
        self.users.drain(..taken);
        reply.text(spb::info::GET_USERS, &list);
    }

    /// Transactions in limbo, as many as there is room for; the rest with the next call.
    fn take_limbo(&mut self, item: u8, reply: &mut ServiceReply) {
        // The item's head, and the end of the reply with what may stand before it.
        let room = reply.room.saturating_sub(reply.out.len() + 6).min(usize::from(u16::MAX));
        let list = repair::take_items(&mut self.limbo, room);
        reply.text(item, &list);
        reply.truncated |= !self.limbo.is_empty();
    }

    /// What has been said and not yet told.
    fn with_lines<T>(&mut self, take: impl FnOnce(&mut VecDeque<u8>) -> T) -> T {
        match &self.running {
            Some(running) => running.pipe.take(take),
            None => take(&mut self.lines),
        }
    }

    fn take_line(&mut self, reply: &mut ServiceReply, ready: Option<Ready>) {
        let line: Vec<u8> = self.with_lines(|lines| match lines.iter().position(|byte| *byte == b'\n') {
            // As in Firebird a space stands for the end of the line: an empty one would be the end of all.
            Some(end) => lines.drain(..=end).map(|byte| if byte == b'\n' { b' ' } else { byte }).collect(),
            None => lines.drain(..).collect(),
        });
        reply.text(spb::info::LINE, &line);
        if line.is_empty() && ready.is_some_and(|ready| !ready.ended) {
            reply.bare(DATA_NOT_READY);
        }
    }

    fn take_rest(&mut self, reply: &mut ServiceReply, ready: Option<Ready>) {
        // The item's head, and the end of the reply with what may stand before it.
        let room = reply.room.saturating_sub(reply.out.len() + 6).min(usize::from(u16::MAX));
        let (text, left) = self.with_lines(|lines| {
            let text: Vec<u8> = lines.drain(..lines.len().min(room)).collect();
            (text, lines.len())
        });
        reply.text(spb::info::TO_EOF, &text);
        match ready {
            Some(Ready { ended: false, .. }) if text.is_empty() => reply.bare(DATA_NOT_READY),
            // A failure is told with the next call.
            Some(ready) => reply.truncated = left > 0 || !ready.ended || ready.output > 0,
            None => reply.truncated = left > 0,
        }
    }
}

/// A reply of op_service_info: items with 16-bit lengths, or bare numbers.
struct ServiceReply {
    out: Vec<u8>,
    room: usize,
    truncated: bool,
}

impl ServiceReply {
    fn fits(&mut self, bytes: usize) -> bool {
        self.truncated = self.truncated || self.out.len().saturating_add(bytes) >= self.room;
        !self.truncated
    }

    fn bare(&mut self, item: u8) {
        if self.fits(1) {
            self.out.push(item);
        }
    }

    fn integer(&mut self, item: u8, value: i32) {
        if self.fits(5) {
            self.out.push(item);
            self.out.extend_from_slice(&value.to_le_bytes());
        }
    }

    fn text(&mut self, item: u8, text: &[u8]) {
        let Ok(length) = u16::try_from(text.len()) else {
            self.truncated = true;
            return;
        };
        if self.fits(3 + text.len()) {
            self.out.push(item);
            self.out.extend_from_slice(&length.to_le_bytes());
            self.out.extend_from_slice(text);
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.truncated {
            self.out.push(TRUNCATED);
        }
        if self.out.len() < self.room.max(1) {
            self.out.push(END);
        }
        self.out
    }
}

fn text(items: &[StartItem], tag: u8) -> Option<String> {
    items.iter().find_map(|item| match &item.value {
        StartValue::Text(bytes) if item.tag == tag => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    })
}
