//! The steps of a login that the origin performs itself ([`super::own_login`]), as packets in both directions.
//!
//! The program is answered as a server would as soon as the server has agreed upon a protocol. When it has proved its password the
//! origin logs in at the server, and when that has let it in the program is; between origin and server everything from there on is encrypted, if the server can.

use farbird_wire::crypt::keys::Keys;
use farbird_wire::crypt::{Cipher, CryptPlugin, keys};
use farbird_wire::packet::{AcceptWithData, Attach, ContinueAuthentication, Reply, Request, Response};
use farbird_wire::status::StatusVector;

use super::conversation::Conversation;
use super::objects::Named;
use super::own_login::{Block, ForProgram, attach_parameters, refusal};
use super::work::Purpose;
use crate::message::{RequestId, Tell};

impl Conversation {
    /// A reply of the server to a step of the origin's own login.
    pub(super) fn own_login_replied(&mut self, reply: Reply) {
        match reply {
            Reply::ConditionalAccept(accept) => {
                self.protocol_agreed();
                if let Some(logging_in) = &mut self.logging_in {
                    logging_in.challenge = Some((accept.plugin.clone(), accept.data.clone()));
                }
                self.answer_connect(&accept);
            }
            Reply::AcceptWithData(accept) => {
                self.protocol_agreed();
                self.answer_connect(&accept);
                let Some(logging_in) = &mut self.logging_in else { return };
                if !accept.authenticated {
                    // It is not to be encrypted: the login goes on inside the attach.
                    logging_in.attach_step = logging_in.login.answer_server(&accept.plugin, &accept.data);
                }
                self.server_decided(Ok(()));
            }
            Reply::ContinueAuthentication(step) => self.go_on_with_login(&step.plugin, &step.data),
            Reply::Response(response) if response.status.is_success() => {
                self.encrypt_line(&response.data);
                self.server_decided(Ok(()));
            }
            Reply::Response(response) => self.server_decided(Err(response.status)),
            _ => self.end("the server's login cannot be understood"),
        }
    }

    /// The program's answer to op_connect: as the server's, with the origin's data.
    fn answer_connect(&mut self, accept: &AcceptWithData) {
        let Some(logging_in) = &mut self.logging_in else { return };
        let (plugin, data) = std::mem::take(&mut logging_in.first);
        let (plugin, data) = match logging_in.login.answer_program(&plugin, &data) {
            ForProgram::GoOn { plugin, data } => (plugin, data),
            ForProgram::Proved(_) | ForProgram::Refused => {
                return self.end("the program cannot log in by SRP");
            }
        };
        let reply = Reply::ConditionalAccept(AcceptWithData {
            accept: accept.accept,
            data,
            plugin: plugin.into(),
            authenticated: false,
            keys: Vec::new(),
        });
        self.tell_reply(RequestId::CONNECT, &reply);
        self.take_early();
    }

    fn go_on_with_login(&mut self, plugin: &[u8], data: &[u8]) {
        let Some(logging_in) = &mut self.logging_in else { return };
        match logging_in.login.answer_server(plugin, data) {
            Some(step) => {
                let request = Request::ContinueAuthentication(step);
                self.transmit(&request, Named::default(), Purpose::OwnLogin);
            }
            None => self.end("the server wants a login that the origin cannot perform"),
        }
    }

    /// Encrypts what goes to and comes from the server, if it announces a cipher.
    fn encrypt_line(&mut self, announced: &[u8]) {
        let Some(key) = self.logging_in.as_ref().and_then(|logging_in| logging_in.login.server_key) else {
            return;
        };
        let keys = Keys::parse(announced).unwrap_or_default();
        // Servers also name ciphers for which they give no nonce, because the protocol has no place for one.
        let usable =
            CryptPlugin::ALL.into_iter().filter(|plugin| keys.plugins.contains(plugin)).find_map(|plugin| {
                let cipher = || plugin.cipher(&key, keys.data_of(plugin)).ok();
                Some((plugin, cipher()?, cipher()?))
            });
        let Some((plugin, incoming, outgoing)) = usable else { return };
        let request = Request::Crypt { plugin: plugin.name().into(), key: keys::SYMMETRIC.into() };
        self.transmit(&request, Named::default(), Purpose::Ignored);
        self.encrypt(incoming, outgoing);
    }

    fn encrypt(&mut self, incoming: Cipher, outgoing: Cipher) {
        if let Err(error) = self.line.encrypt(incoming, outgoing) {
            self.end(&format!("the server's line is used up: {error}"));
        }
    }

    fn server_decided(&mut self, decision: Result<(), StatusVector>) {
        if let Some(logging_in) = &mut self.logging_in {
            logging_in.server = Some(decision);
        }
        self.let_program_in();
    }

    /// A further step of the program's login.
    pub(super) fn program_logs_in(&mut self, id: RequestId, step: &ContinueAuthentication) {
        let Some(logging_in) = &mut self.logging_in else { return };
        match logging_in.login.answer_program(&step.plugin, &step.data) {
            ForProgram::GoOn { plugin, data } => {
                let reply = Reply::ContinueAuthentication(ContinueAuthentication {
                    data,
                    plugin: plugin.into(),
                    plugin_list: Vec::new(),
                    keys: Vec::new(),
                });
                self.tell_reply(id, &reply);
            }
            ForProgram::Proved(key) => {
                logging_in.program = Some((key, id));
                match logging_in.challenge.take() {
                    // Nobody logs in at the server who has not proved the password here.
                    Some((plugin, data)) => self.go_on_with_login(&plugin, &data),
                    None => self.let_program_in(),
                }
            }
            ForProgram::Refused => {
                self.tell_reply(id, &refused(refusal()));
                // One guess for each connection.
                self.end("the program has not proved its password");
            }
        }
    }

    /// Lets the program in when both sides are known to be.
    fn let_program_in(&mut self) {
        let version = self.line.version();
        let Some(logging_in) = &mut self.logging_in else { return };
        let (Some((key, id)), Some(decision)) = (logging_in.program, logging_in.server.clone()) else {
            return;
        };
        logging_in.program = None;
        match decision {
            Ok(()) => {
                logging_in.is_program_in = true;
                let data = logging_in.login.announcement(version);
                self.tell(Tell::Key { key: key.to_vec() });
                self.tell_reply(id, &Reply::Response(Response { data, ..Response::success() }));
            }
            Err(status) => {
                self.tell_reply(id, &refused(status));
                self.end("the server has refused the origin's login");
            }
        }
    }

    /// An attach behind a login of the origin's own, with that login's step; false if the program is not let in.
    pub(super) fn own_attach(&mut self, block: Block, attach: &mut Attach) -> bool {
        let Some(logging_in) = self.logging_in.as_ref().filter(|logging_in| logging_in.is_program_in) else {
            return false;
        };
        match attach_parameters(block, &attach.parameters, logging_in.attach_step.as_ref()) {
            Some(parameters) => {
                attach.parameters = parameters;
                true
            }
            None => false,
        }
    }

    fn tell_reply(&mut self, id: RequestId, reply: &Reply) {
        let mut packets = Vec::new();
        reply.encode(self.line.version(), &mut packets);
        self.tell(Tell::Reply { id, packets });
    }
}

fn refused(status: StatusVector) -> Reply {
    Reply::Response(Response { status, ..Response::success() })
}
