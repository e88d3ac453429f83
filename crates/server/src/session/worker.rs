//! What works for one connection: first the handshake, then a database or the services manager.
//!
//! Runs on a blocking thread while there are requests and for a moment longer ([`super::waiting`]): a client that soon
//! asks again is answered without waking anybody else. Otherwise it rests as a value.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::api::{AttachOptions, ClientDescription, CreateDatabaseOptions};
use farbird_engine::attachment::Attachment;
use farbird_engine::maintenance::Maintenance;
use farbird_engine::session::Tool;
use farbird_engine::session::external::ExternalCaller;
use farbird_engine::users::UserDirectory;
use farbird_types::{Error, Result, isc};
use farbird_wire::auth::{AuthPlugin, normalize_user_name};
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::crypt::keys::{self, Keys};
use farbird_wire::negotiation::{Choice, UserIdentification, WireCrypt};
use farbird_wire::packet::{
    Accept, AcceptWithData, Attach, Connect, ContinueAuthentication, Reply, Request, Response,
};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::status::StatusVector;
use socket2::Socket;

use super::Session;
use super::attach_parameters::{DatabaseParameters, LoginItems};
use super::maintenance;
use super::output::Output;
use super::traced;
use super::waiting::Haste;
use crate::config::WireEncryption;
use crate::connection_input::{ConnectionInput, READ_BYTES, Taken};
use crate::external_callers::{OneTimePassword, OwnCaller, counted_as};
use crate::farlink::Introduction;
use crate::handshake::{Guard, Identity, Login, Step, refused};
use crate::security::random;
use crate::service::ServiceSession;
use crate::shared::Shared;

/// Newest protocol that we accept: that of Firebird 5.0.4, whose version we give. Drivers take a server that accepts 20 for
/// Firebird 6, and ask for schemas.
const PROTOCOL_NEWEST: ProtocolVersion = ProtocolVersion::V19;
/// Architectures of clients on macOS (remote/protocol.h): PowerPC, 64 bits, PowerPC of 64 bits.
const MACOS_ARCHITECTURES: [u32; 3] = [39, 41, 42];
/// Inline BLOBs of an attachment that does not ask for another size.
const INLINE_BLOB_BYTES_DEFAULT: u32 = 65_535;

/// The session side of a connection. See the module's text.
pub(crate) struct Worker {
    shared: Arc<Shared>,
    peer: SocketAddr,
    /// Whose connection it is, if an origin of a farlink has made it.
    introduction: Option<Introduction>,
    /// Whose connection it is, if EXECUTE STATEMENT in this process has made it.
    caller: Option<OwnCaller>,
    /// What lets its user in, once.
    one_time_password: Option<OneTimePassword>,
    output: Output,
    negotiated: Negotiated,
    haste: Haste,
    stage: Stage,
}

/// What was agreed upon with the client, and who it is.
#[derive(Default)]
struct Negotiated {
    choice: Option<Choice>,
    /// Whether the client's system is macOS.
    is_macos: bool,
    encryption: WireCrypt,
    user: UserIdentification,
    identity: Option<Identity>,
    /// Keys that were announced, with each cipher's data.
    keys: Option<Keys>,
    cipher: Option<CryptPlugin>,
}

enum Stage {
    /// Nothing said yet.
    Start,
    /// Logging in before any attach.
    Connecting(Login),
    /// Logged in, or to log in with the attach.
    Connected,
    /// Logging in; the client's next step comes with its attach.
    LoginInAttach(Login),
    /// Logging in inside an attach, which goes on when that is done.
    Attaching(Login, Box<Pending>),
    Database(Box<Session>),
    Service(Box<ServiceSession>),
    Ended,
}

/// An attach that waits for its login.
struct Pending {
    attach: Attach,
    kind: AttachKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachKind {
    Database,
    Create,
    Service,
}

impl Worker {
    /// A worker for a fresh connection.
    pub(crate) fn new(
        shared: Arc<Shared>,
        peer: SocketAddr,
        introduction: Option<Introduction>,
        input: Arc<ConnectionInput>,
    ) -> Worker {
        Worker {
            shared,
            peer,
            introduction,
            caller: None,
            one_time_password: None,
            output: Output::new(input),
            negotiated: Negotiated::default(),
            haste: Haste::default(),
            stage: Stage::Start,
        }
    }

    /// Answers requests in order, those that wait and those that come soon after the last answer. The socket must not
    /// block.
    pub(crate) fn work(&mut self, socket: Arc<Socket>) {
        self.output_mut().connect(Arc::clone(&socket));
        self.answer_all(&socket);
        self.output_mut().rest();
        self.output.input().rest();
    }

    fn answer_all(&mut self, socket: &Socket) {
        let input = Arc::clone(self.output.input());
        // Steps of a login are each a work of their own: few of them may run at a time.
        let may_wait = input.is_logged_in();
        let mut buffer = [0; READ_BYTES];
        loop {
            while let Some(taken) = input.take_request() {
                self.handle(taken);
                if matches!(self.stage, Stage::Ended) || self.output_mut().is_broken() {
                    self.output_mut().close();
                    return;
                }
            }
            if input.is_stopped() {
                return self.output_mut().flush();
            }
            if !may_wait || input.has_ended() || !self.wait_for_request(socket) {
                return;
            }
            input.receive(socket, &mut buffer);
        }
    }

    /// Waits for the client's next request, if not too many threads do that already.
    fn wait_for_request(&mut self, socket: &Socket) -> bool {
        // What a slow client has not taken yet is written by the connection's task.
        if self.output_mut().has_unwritten() {
            return false;
        }
        self.haste.wait(&self.shared.waiting_threads, socket)
    }

    /// The way out.
    pub(crate) fn output_mut(&mut self) -> &mut Output {
        match &mut self.stage {
            Stage::Database(session) => session.output_mut(),
            _ => &mut self.output,
        }
    }

    /// Detaches a session that somebody else has ended.
    pub(crate) fn detach_if_ended(&mut self) {
        if let Stage::Database(session) = &mut self.stage {
            session.detach_if_ended();
        }
    }

    fn handle(&mut self, taken: Taken) {
        match &mut self.stage {
            _ if matches!(taken.request, Request::Dummy) => {
                let output = self.output_mut();
                output.reply(&Reply::Dummy);
                output.flush();
            }
            Stage::Database(session) if session.is_ahead() && matches!(taken.request, Request::Detach(_)) => {
                self.give_up_ahead();
            }
            Stage::Database(session) => {
                // Who has work to do leaves no processor for threads that help others.
                let _working = self.shared.engine.budget().begin_working();
                if !session.handle(taken) {
                    self.end();
                }
            }
            Stage::Service(service) => {
                if !service.handle(&taken.request, &mut self.output) {
                    self.end();
                }
            }
            _ => self.log_in(taken.request),
        }
    }

    /// Nobody has taken what was attached ahead: it is detached as quietly as it was attached.
    fn give_up_ahead(&mut self) {
        if let Stage::Database(session) = std::mem::replace(&mut self.stage, Stage::Connected) {
            self.output = session.into_output();
        }
        self.respond(&Response::success());
    }

    /// The conversation is over: the database is detached.
    fn end(&mut self) {
        if let Stage::Database(session) = std::mem::replace(&mut self.stage, Stage::Ended) {
            self.output = session.into_output();
        }
        self.output.close();
    }

    /// Answers what comes before a database or the services manager is attached.
    fn log_in(&mut self, request: Request) {
        let stage = std::mem::replace(&mut self.stage, Stage::Ended);
        self.stage = match (stage, request) {
            (Stage::Start, Request::Connect(connect)) => self.connect(&connect),
            (Stage::Connecting(login), Request::ContinueAuthentication(step)) => {
                self.continue_connect(login, &step)
            }
            (Stage::Connected, Request::Crypt { plugin, key: _ }) => self.encrypt(&plugin),
            (Stage::Connected, Request::Attach(attach)) => self.attach(attach, AttachKind::Database),
            (Stage::Connected, Request::Create(attach)) => self.attach(attach, AttachKind::Create),
            (Stage::Connected, Request::ServiceAttach(attach)) => self.attach(attach, AttachKind::Service),
            (Stage::Connected, Request::Ping) => {
                self.respond(&Response::success());
                Stage::Connected
            }
            (Stage::Attaching(login, pending), Request::ContinueAuthentication(step)) => {
                self.continue_attach(login, pending, &step)
            }
            (Stage::LoginInAttach(login), Request::Attach(attach)) => {
                self.attach_with(login, attach, AttachKind::Database)
            }
            (Stage::LoginInAttach(login), Request::Create(attach)) => {
                self.attach_with(login, attach, AttachKind::Create)
            }
            (Stage::LoginInAttach(login), Request::ServiceAttach(attach)) => {
                self.attach_with(login, attach, AttachKind::Service)
            }
            (_, Request::Disconnect) => Stage::Ended,
            (
                Stage::Start
                | Stage::Connecting(_)
                | Stage::Connected
                | Stage::LoginInAttach(_)
                | Stage::Attaching(..),
                request,
            ) => {
                tracing::warn!(peer = %self.peer, operation = ?request.operation(), "request before login");
                Stage::Ended
            }
            (Stage::Database(_) | Stage::Service(_) | Stage::Ended, _) => Stage::Ended,
        };
        if matches!(self.stage, Stage::Ended) {
            self.output.close();
        }
    }

    fn connect(&mut self, connect: &Connect) -> Stage {
        // An address that an edge tells proves nothing.
        if self.introduction.is_none()
            && let Some((caller, password)) = self.shared.external_callers.take(self.peer)
        {
            (self.caller, self.one_time_password) = (Some(caller), password);
        }
        let Some(choice) = connect.choose(PROTOCOL_NEWEST) else {
            self.output.reply(&Reply::Reject);
            return Stage::Ended;
        };
        self.negotiated.choice = Some(choice);
        self.negotiated.is_macos = MACOS_ARCHITECTURES.contains(&connect.architecture);
        if !choice.version.has_plugins() {
            if self.shared.config.wire_encryption == WireEncryption::Required {
                self.output.reply(&Reply::Reject);
                return Stage::Ended;
            }
            self.accept(choice, None);
            return Stage::Connected;
        }
        match self.begin_login(connect, choice) {
            Ok(stage) => stage,
            Err(error) => self.refuse(&error),
        }
    }

    /// The first step of a login in the connect phase.
    fn begin_login(&mut self, connect: &Connect, choice: Choice) -> Result<Stage> {
        self.negotiated.user = UserIdentification::parse(&connect.user_identification)?;
        let wanted = match self.shared.config.wire_encryption {
            WireEncryption::Disabled => WireCrypt::Disabled,
            WireEncryption::Enabled => WireCrypt::Enabled,
            WireEncryption::Required => WireCrypt::Required,
        };
        self.negotiated.encryption = self.negotiated.user.wire_crypt.merge(wanted)?;
        let user = &self.negotiated.user;
        let (Some(typed), Some(list)) = (&user.login, &user.plugin_list) else {
            // Nothing to log in with yet: the attach must bring it.
            if self.negotiated.encryption == WireCrypt::Required {
                return Err(Error::new(isc::LOGIN_ERROR));
            }
            self.accept(choice, None);
            return Ok(Stage::Connected);
        };
        let begun = user.plugin.as_deref().and_then(AuthPlugin::from_name);
        let typed = String::from_utf8_lossy(typed).into_owned();
        let mut login =
            Login::new(&typed, &self.shared.config.authentication, &AuthPlugin::parse_list(list), begun)?;
        login.use_one_time_password(self.one_time_password.take());
        if let Some(introduction) = &mut self.introduction {
            login.use_ticket(introduction.ticket);
            login.use_pass(&introduction.edge, introduction.pass.take());
        }
        let data = user.specific_data.clone().unwrap_or_default();
        let step = login.step(begun, &data, self.guard());
        self.output.delay(login.delay());
        let step = step?;
        let with_data =
            |plugin: AuthPlugin, data: Vec<u8>, authenticated: bool, keys: Vec<u8>| AcceptWithData {
                accept: Accept::from(choice),
                data,
                plugin: plugin.name().as_bytes().to_vec(),
                authenticated,
                keys,
            };
        Ok(match step {
            Step::Done(identity) => {
                let plugin = identity.plugin;
                let keys = self.logged_in(identity, Some(&login))?;
                self.accept(choice, Some(Reply::AcceptWithData(with_data(plugin, Vec::new(), true, keys))));
                Stage::Connected
            }
            Step::Continue { plugin, data } if self.negotiated.encryption == WireCrypt::Disabled => {
                self.accept(choice, Some(Reply::AcceptWithData(with_data(plugin, data, false, Vec::new()))));
                Stage::LoginInAttach(login)
            }
            Step::Continue { plugin, data } => {
                let keys = if data.is_empty() { self.known_plugins() } else { Vec::new() };
                self.accept(choice, Some(Reply::ConditionalAccept(with_data(plugin, data, false, keys))));
                Stage::Connecting(login)
            }
        })
    }

    /// Sends the accept; compression begins right after it.
    ///
    /// What comes in counts as compressed before the accept leaves: the client's answer may be read in the same breath.
    fn accept(&mut self, choice: Choice, reply: Option<Reply>) {
        self.output.set_version(choice.version);
        if choice.compress {
            self.output.input().compress_incoming();
        }
        self.output.reply(&reply.unwrap_or_else(|| Reply::Accept(Accept::from(choice))));
        self.output.flush();
        if choice.compress {
            self.output.compress();
        }
    }

    fn continue_connect(&mut self, mut login: Login, step: &ContinueAuthentication) -> Stage {
        let step = login.step(AuthPlugin::from_name(&step.plugin), &step.data, self.guard());
        self.output.delay(login.delay());
        match step {
            Ok(Step::Continue { plugin, data }) => {
                self.ask_further(plugin, data);
                Stage::Connecting(login)
            }
            Ok(Step::Done(identity)) => match self.logged_in(identity, Some(&login)) {
                Ok(keys) => {
                    self.respond(&Response { data: keys, ..Response::success() });
                    Stage::Connected
                }
                Err(error) => self.refuse(&error),
            },
            Err(error) => self.refuse(&error),
        }
    }

    fn ask_further(&mut self, plugin: AuthPlugin, data: Vec<u8>) {
        let keys = if data.is_empty() { self.known_plugins() } else { Vec::new() };
        self.output.reply(&Reply::ContinueAuthentication(ContinueAuthentication {
            data,
            plugin: plugin.name().as_bytes().to_vec(),
            plugin_list: Vec::new(),
            keys,
        }));
        self.output.flush();
    }

    /// The buffer that tells a client which plugins the server takes.
    fn known_plugins(&self) -> Vec<u8> {
        let names: Vec<&str> = self.shared.config.authentication.iter().map(|plugin| plugin.name()).collect();
        Keys { known_plugins: Some(names.join(" ")), ..Keys::default() }.to_bytes()
    }

    /// Remembers who it is; gives the keys to be announced.
    fn logged_in(&mut self, identity: Identity, login: Option<&Login>) -> Result<Vec<u8>> {
        let version = self.negotiated.choice.map_or(ProtocolVersion::V10, |choice| choice.version);
        let mut announced = Vec::new();
        if identity.session_key.is_some()
            && self.negotiated.encryption > WireCrypt::Disabled
            && version.has_plugins()
        {
            // The last four bytes are the initial counter: some clients assume 0.
            let mut nonce = random::<16>()?;
            nonce[12..].fill(0);
            let keys = Keys::announce(
                &[
                    (CryptPlugin::ChaCha64, random::<8>()?.to_vec()),
                    (CryptPlugin::ChaCha, nonce.to_vec()),
                    (CryptPlugin::Arc4, Vec::new()),
                ],
                version,
            );
            announced = keys.to_bytes();
            if self.introduction.is_some()
                && let Some(key) = &identity.session_key
            {
                announced.extend(keys::farlink_session_key(key));
            }
            self.negotiated.keys = Some(keys);
        }
        if let Some(introduction) = &self.introduction
            && version.has_plugins()
            && let Some(pass) = login.and_then(|login| login.issue_pass(&introduction.edge))
        {
            announced.extend(keys::farlink_pass(&pass));
        }
        self.negotiated.identity = Some(identity);
        self.shared.counts.logins.count();
        self.output.input().set_logged_in();
        Ok(announced)
    }

    /// op_crypt: what comes after it is encrypted, and so is the answer.
    fn encrypt(&mut self, name: &[u8]) -> Stage {
        let ciphers = (|| {
            let plugin = CryptPlugin::from_name(name)?;
            let keys = self.negotiated.keys.as_ref().filter(|keys| keys.plugins.contains(&plugin))?;
            let key = self.negotiated.identity.as_ref()?.session_key?;
            let cipher = || plugin.cipher(&key, keys.data_of(plugin)).ok();
            Some((plugin, cipher()?, cipher()?))
        })();
        let Some((plugin, incoming, outgoing)) = ciphers else {
            // An answer could not be read by the client: it decrypts already.
            tracing::warn!(peer = %self.peer, "unknown cipher or key asked for");
            return Stage::Ended;
        };
        self.negotiated.cipher = Some(plugin);
        self.output.input().encrypt_incoming(incoming);
        self.output.encrypt(outgoing);
        self.respond(&Response::success());
        Stage::Connected
    }

    fn attach(&mut self, attach: Attach, kind: AttachKind) -> Stage {
        // A farlink is encrypted, and its edge does with its program as the program demands.
        let is_encrypted = self.negotiated.cipher.is_some() || self.introduction.is_some();
        if self.negotiated.encryption == WireCrypt::Required && !is_encrypted {
            return self.refuse(&Error::new(isc::MISS_WIRECRYPT));
        }
        let pending = Box::new(Pending { attach, kind });
        if self.negotiated.identity.is_some() {
            return self.finish_attach(&pending, Vec::new());
        }
        match self.login_of_attach(&pending) {
            Ok((mut login, plugin, data)) => {
                let step = login.step(plugin, &data, self.guard());
                self.attach_step(step, login, pending)
            }
            Err(LoginAttempt::Password(outcome, delay)) => {
                self.output.delay(delay);
                match outcome.and_then(|identity| self.logged_in(identity, None)) {
                    Ok(keys) => self.finish_attach(&pending, keys),
                    Err(error) => self.refuse(&error),
                }
            }
            Err(LoginAttempt::Refused(error)) => self.refuse(&error),
        }
    }

    /// The attach brings the next step of a login that began with the connect.
    fn attach_with(&mut self, mut login: Login, attach: Attach, kind: AttachKind) -> Stage {
        let pending = Box::new(Pending { attach, kind });
        let items = match LoginItems::parse(&pending.attach.parameters, kind) {
            Ok(items) => items,
            Err(error) => return self.refuse(&error),
        };
        let plugin = items.plugin.as_deref().and_then(AuthPlugin::from_name);
        let step = login.step(plugin, &items.data.unwrap_or_default(), self.guard());
        self.attach_step(step, login, pending)
    }

    /// What an attach says about its login: plugin data, or a password as old clients send it.
    fn login_of_attach(
        &self,
        pending: &Pending,
    ) -> std::result::Result<(Login, Option<AuthPlugin>, Vec<u8>), LoginAttempt> {
        let items = LoginItems::parse(&pending.attach.parameters, pending.kind)?;
        let typed = items.user.clone().ok_or_else(refused)?;
        let server = &self.shared.config.authentication;
        if let Some(hash) = items.password_hash() {
            if !server.contains(&AuthPlugin::Legacy) {
                return Err(refused().into());
            }
            let mut login = Login::new(&typed, server, &[AuthPlugin::Legacy], None)?;
            let outcome = login.password(&hash, self.guard());
            return Err(LoginAttempt::Password(outcome, login.delay()));
        }
        let begun = items.plugin.as_deref().and_then(AuthPlugin::from_name);
        let client =
            items.plugin_list.as_deref().map(AuthPlugin::parse_list).or_else(|| begun.map(|p| vec![p]));
        let login = Login::new(&typed, server, &client.unwrap_or_default(), begun)?;
        Ok((login, begun, items.data.unwrap_or_default()))
    }

    fn continue_attach(
        &mut self,
        mut login: Login,
        pending: Box<Pending>,
        step: &ContinueAuthentication,
    ) -> Stage {
        let step = login.step(AuthPlugin::from_name(&step.plugin), &step.data, self.guard());
        self.attach_step(step, login, pending)
    }

    fn attach_step(&mut self, step: Result<Step>, login: Login, pending: Box<Pending>) -> Stage {
        self.output.delay(login.delay());
        match step {
            Ok(Step::Continue { plugin, data }) => {
                self.ask_further(plugin, data);
                Stage::Attaching(login, pending)
            }
            Ok(Step::Done(identity)) => match self.logged_in(identity, Some(&login)) {
                Ok(keys) => self.finish_attach(&pending, keys),
                Err(error) => self.refuse(&error),
            },
            Err(error) => self.refuse(&error),
        }
    }

    /// The login is done: attach for real.
    fn finish_attach(&mut self, pending: &Pending, keys: Vec<u8>) -> Stage {
        let Some(identity) = self.negotiated.identity.clone() else { return self.refuse(&refused()) };
        let result = match pending.kind {
            AttachKind::Service => {
                let (shared, parameters) = (Arc::clone(&self.shared), &pending.attach.parameters);
                ServiceSession::attach(shared, &identity, self.peer, parameters)
                    .map(|service| (Stage::Service(Box::new(service)), None))
            }
            AttachKind::Database | AttachKind::Create => {
                let attached = self.attach_database(pending, &identity);
                let counts = &self.shared.counts;
                if attached.is_ok() { &counts.attaches } else { &counts.attaches_failed }.count();
                attached
            }
        };
        match result {
            Ok((mut stage, warnings)) => {
                let status = match &warnings {
                    Some(warnings) => StatusVector::success().with_warnings(warnings),
                    None => StatusVector::success(),
                };
                let response = Reply::Response(Response { data: keys, status, ..Response::success() });
                match &mut stage {
                    Stage::Database(session) => {
                        session.output_mut().reply(&response);
                        session.output_mut().flush();
                    }
                    _ => {
                        self.output.reply(&response);
                        self.output.flush();
                    }
                }
                stage
            }
            Err(error) => {
                // Where databases lie is for administrators.
                let error = match identity.admin {
                    true => error,
                    false => self.shared.locations.without_folder(error),
                };
                // The client may try another database on the same line.
                self.respond(&Response::error(&error));
                Stage::Connected
            }
        }
    }

    /// Gives the session, and what its client is to be warned of.
    fn attach_database(&mut self, pending: &Pending, identity: &Identity) -> Result<(Stage, Option<Error>)> {
        let parameters = DatabaseParameters::parse(&pending.attach.parameters)?;
        if let Some(login) = &parameters.user
            && normalize_user_name(login)? != identity.user
        {
            return Err(refused().and(isc::LOGIN_CHANGED));
        }
        let name = String::from_utf8(pending.attach.file.clone()).map_err(|error| {
            Error::new(isc::BAD_DB_FORMAT).with(String::from_utf8_lossy(error.as_bytes()).into_owned())
        })?;
        let maintenance = match pending.kind {
            AttachKind::Create => {
                parameters.check_create(&name)?;
                if parameters.gbak.is_some() {
                    parameters.check_restore()?;
                }
                Maintenance::default()
            }
            _ => maintenance::parse(&pending.attach.parameters)?,
        };
        // Nobody but an origin knows of programs that have not asked yet.
        let is_ahead = parameters.is_ahead && self.introduction.is_some();
        let path = self.shared.locations.resolve(&name)?;
        let options = AttachOptions {
            user: identity.user.clone(),
            role: parameters.role.clone(),
            character_set: parameters.character_set,
            dialect: parameters.dialect,
            time_zone: parameters.time_zone.clone(),
            no_database_triggers: parameters.no_database_triggers || parameters.is_gfix,
            client: self.client_description(&parameters, identity),
        };
        let creates = pending.kind == AttachKind::Create;
        let attached =
            self.attach_to(pending.kind, identity, &name, &path, &parameters, &maintenance, options.clone());
        let attachment = attached.inspect_err(|error| {
            traced::tell_failed_attach(self.shared.engine.traces(), &path, &options, creates, error);
        })?;
        if parameters.gbak.is_some()
            && pending.kind != AttachKind::Create
            && let Some(definition) = attachment.compiled_definition()
        {
            let why = format!(
                "gbak -b: {definition} would be without its BLR, which there is none of; use farbird backup or gbak -se"
            );
            return Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(why));
        }
        attachment.set_default_statement_timeout(self.shared.config.statement_timeout);
        attachment.set_default_first_rows(self.shared.config.optimize_for_first_rows);
        if !parameters.set_bind.is_empty() {
            attachment.set_initial_bindings(&parameters.set_bind)?;
        }
        let traps = parameters.decfloat_traps.as_deref();
        attachment.set_initial_decfloat(&parameters.decfloat_round, traps)?;
        self.output.input().set_interrupt(attachment.interrupt());
        tracing::info!(peer = %self.peer, user = identity.user, database = %path.display(), "attached");
        let placeholder = Output::new(Arc::clone(self.output.input()));
        let output = std::mem::replace(&mut self.output, placeholder);
        let lazy = self.negotiated.choice.is_some_and(|choice| choice.is_lazy());
        let inline = parameters.inline_blob_bytes.unwrap_or(INLINE_BLOB_BYTES_DEFAULT);
        let facts = super::ConnectionFacts {
            host: self.line_host(),
            encrypted: self.negotiated.cipher.is_some(),
            compressed: self.negotiated.choice.is_some_and(|choice| choice.compress),
            cipher: self.negotiated.cipher.map_or("", CryptPlugin::name),
            is_macos: self.negotiated.is_macos,
        };
        let workers_max = self.shared.engine.budget().parallel_workers();
        let events_port = self.shared.events_port.clone();
        let counts = Arc::clone(&self.shared.counts);
        let session = Session::new(events_port, attachment, output, lazy, inline, facts, is_ahead, counts);
        Ok((Stage::Database(Box::new(session)), parameters.warnings(workers_max)))
    }

    /// Attaches to a database, or creates it.
    #[expect(clippy::too_many_arguments, reason = "what an attach says, each of its own kind")]
    fn attach_to(
        &self,
        kind: AttachKind,
        identity: &Identity,
        name: &str,
        path: &Path,
        parameters: &DatabaseParameters,
        maintenance: &Maintenance,
        options: AttachOptions,
    ) -> Result<Attachment> {
        let engine = &self.shared.engine;
        let users: Arc<dyn UserDirectory> = Arc::clone(&self.shared.security) as Arc<dyn UserDirectory>;
        match kind {
            AttachKind::Create if !self.may_create(identity, path, parameters)? => {
                Err(Error::new(isc::NO_PRIV).with("CREATE").with("DATABASE").with(name))
            }
            AttachKind::Create => {
                // What has come into being since it was looked for is no more theirs to replace.
                let overwrite = parameters.create.overwrite && identity.admin;
                let create = CreateDatabaseOptions { overwrite, ..parameters.create.clone() };
                match &parameters.gbak {
                    Some(version) => {
                        let is_of_3 = version.contains("V3.");
                        engine.create_restored_database(path, &create, options, users, is_of_3)
                    }
                    None => engine.create_database(path, &create, options, users),
                }
            }
            // Nobody but an origin knows of programs that have not asked yet.
            _ if parameters.is_ahead && self.introduction.is_some() => {
                engine.attach_ahead(path, options, users)?.ok_or_else(|| Error::new(isc::WISH_LIST))
            }
            _ if *maintenance == Maintenance::default() => engine.attach(path, options, users),
            _ => {
                let input = Arc::clone(self.output.input());
                let mut known = |interrupt| input.set_interrupt(interrupt);
                engine.attach_to_maintain(path, options, users, maintenance, &mut known)
            }
        }
    }

    /// Whether somebody may create a database. What is there is replaced by administrators only: it may be another's.
    fn may_create(&self, identity: &Identity, path: &Path, parameters: &DatabaseParameters) -> Result<bool> {
        let replaces = parameters.create.overwrite && path.exists();
        Ok(identity.admin || (!replaces && self.shared.security.may_create_databases(&identity.user)?))
    }

    fn client_description(&self, parameters: &DatabaseParameters, identity: &Identity) -> ClientDescription {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let choice = self.negotiated.choice;
        ClientDescription {
            protocol: if self.peer.is_ipv4() { "TCPv4" } else { "TCPv6" }.to_owned(),
            address: self.peer.to_string(),
            host: text(&self.negotiated.user.host),
            os_user: text(&self.negotiated.user.user),
            process_name: parameters.process_name.clone(),
            process_id: parameters.process_id,
            client_version: parameters.client_version.clone(),
            remote_version: choice.map(|choice| format!("P{}", choice.version.number())).unwrap_or_default(),
            authentication: identity.plugin.name().to_owned(),
            wire_crypt: self.negotiated.cipher.map_or("", CryptPlugin::name).to_owned(),
            wire_compressed: choice.is_some_and(|choice| choice.compress),
            tool: match (parameters.is_gfix, &parameters.gbak) {
                (true, _) => Some(Tool::Gfix),
                (false, Some(_)) => Some(Tool::Gbak),
                (false, None) => None,
            },
            leaves_when_told: true,
            parallel_workers: parameters.parallel_workers(),
            caller: self.caller_of_session(parameters, identity),
        }
    }

    /// Whose the session is: the program's, however deep in EXECUTE STATEMENTs. What the client says can only make it deeper.
    fn caller_of_session(&self, parameters: &DatabaseParameters, identity: &Identity) -> ExternalCaller {
        let said = parameters.external_depth;
        match &self.caller {
            Some(OwnCaller::Statement(caller)) => {
                ExternalCaller { depth: caller.depth.max(said), ..caller.clone() }
            }
            Some(OwnCaller::StatusPage) | None => {
                ExternalCaller { depth: said, address: Some(self.guard().peer), user: identity.user.clone() }
            }
        }
    }

    fn line_host(&self) -> String {
        String::from_utf8_lossy(&self.negotiated.user.host).into_owned()
    }

    fn respond(&mut self, response: &Response) {
        self.output.reply(&Reply::Response(response.clone()));
        self.output.flush();
    }

    /// What a login looks at and counts with.
    fn guard(&self) -> Guard<'_> {
        let peer = match (&self.introduction, &self.caller) {
            (Some(introduction), _) => introduction.counted_as(),
            (None, Some(caller)) => counted_as(caller),
            (None, None) => self.peer.ip(),
        };
        let Shared { security, throttle, farlink, .. } = &*self.shared;
        Guard { security, throttle, farlink, peer }
    }

    /// Refuses for good. Failed logins are counted; their answers have been held back.
    fn refuse(&mut self, error: &Error) -> Stage {
        if error.has(isc::LOGIN) || error.has(isc::LOGIN_ERROR) {
            let total = self.shared.throttle.refused();
            self.shared.counts.logins_refused.count();
            match &self.caller {
                Some(OwnCaller::Statement(ExternalCaller { address, user, .. })) => {
                    tracing::warn!(
                        ?address,
                        user,
                        failed_logins = total,
                        "login by EXECUTE STATEMENT refused"
                    );
                }
                Some(OwnCaller::StatusPage) => {
                    tracing::warn!(failed_logins = total, "login at the status page refused");
                }
                None => tracing::warn!(peer = %self.peer, failed_logins = total, "login refused"),
            }
        }
        self.respond(&Response::error(error));
        Stage::Ended
    }
}

/// How a login inside an attach came out at once.
enum LoginAttempt {
    /// A password that came with the attach, and how long its answer must be held back.
    Password(Result<Identity>, Duration),
    Refused(Error),
}

impl From<Error> for LoginAttempt {
    fn from(error: Error) -> LoginAttempt {
        LoginAttempt::Refused(error)
    }
}
