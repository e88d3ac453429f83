//! Everything up to the attachment.
//!
//! A login is relayed step by step: the program proves its password to the server. The server hands the session key to the edge, which
//! encrypts with it as the program demands; without a key the edge takes the announcement of keys out of the server's replies, and the
//! program does not encrypt. Compression is between program and edge alone.

use std::sync::Arc;

use farbird_wire::clumplet::{ClumpletReader, dpb};
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::crypt::keys::Keys;
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::packet::{Accept, Attach, Connect, Reply, Request, Response};
use farbird_wire::protocol::{ARCHITECTURE_GENERIC, FLAG_COMPRESS, ProtocolVersion};

use super::Program;
use super::attachment::{Attachment, Facts, Purpose};
use super::bond::Bond;
use super::counters::Saved;
use super::effect::Effect;
use super::greeting::{Greeting, challenge, with_challenge};
use super::information::Kept;
use super::usual::{self, Usual};
use crate::message::{Ask, RequestId};

/// Longest name of a program that is shown.
const PROCESS_NAME_CHARACTERS_MAX: usize = 60;

impl Program {
    /// op_connect.
    pub(super) fn connect(&mut self, mut connect: Connect) {
        if self.login.is_agreed() {
            return self.end();
        }
        connect.offers.retain(|offer| {
            offer.architecture == ARCHITECTURE_GENERIC && ProtocolVersion::from_wire(offer.version).is_some()
        });
        for offer in &mut connect.offers {
            if offer.type_max & FLAG_COMPRESS != 0 {
                self.login.compressed.push(offer.version);
                offer.type_max &= !FLAG_COMPRESS;
            }
        }
        let identification = UserIdentification::parse(&connect.user_identification).ok();
        let greeting = identification.as_ref().and_then(|user| Greeting::of(&connect, user));
        self.login.usual = identification.as_ref().map(|user| Usual::new(greeting.as_ref(), &connect, user));
        self.login.user = identification.and_then(|user| user.login).unwrap_or_default();
        let packet = self.packet(&Request::Connect(connect));
        self.login.connect.clone_from(&packet);
        let prepared = greeting
            .as_ref()
            .and_then(|greeting| self.site.take_ticket(&self.login.user, greeting, self.now));
        let Some((ticket, expected)) = prepared else {
            self.open(packet, None);
            self.login.is_waiting = true;
            return self.wait_for(RequestId::CONNECT, Some(Effect::Connect { greeting }));
        };
        self.open(packet, Some(ticket));
        let reply = self.connection_reply(expected.clone());
        self.put(&reply);
        self.is_urgent = true;
        self.site.save(Saved::Login);
        self.own.insert(RequestId::CONNECT, Effect::Greeted { expected: Box::new(expected) });
        self.begin_compression();
    }

    /// The server's answer to an op_connect that was answered here. If salt and key are others, because the user has another password
    /// now or is gone, the proof that the program gives is worth nothing: the server refuses it, as it would refuse a wrong password. The
    /// next connection goes the long way.
    pub(super) fn greeted(&mut self, expected: &Reply, replies: &[Reply]) {
        if replies == std::slice::from_ref(expected) {
            return;
        }
        self.site.drop_tickets(&self.login.user);
        let is_alike = match (replies, challenge(expected)) {
            ([reply], Some(expected_data)) => {
                challenge(reply).is_some() && with_challenge(reply.clone(), &expected_data) == *expected
            }
            _ => false,
        };
        if !is_alike {
            self.end();
        }
    }

    /// A step of the login.
    pub(super) fn authenticate(&mut self, request: &Request) {
        self.login.is_waiting = true;
        self.relay(request, 0, Some(Effect::Login));
        if matches!(request, Request::ContinueAuthentication(_)) {
            self.attach_ahead();
        }
    }

    /// op_attach, op_create, op_service_attach.
    pub(super) fn attach(&mut self, request: &Request, attach: Attach, purpose: Purpose) {
        if self.attachment.is_some() {
            return self.relay(request, 0, None);
        }
        self.login.is_waiting = true;
        self.login.attach_again = None;
        if matches!(request, Request::Attach(_)) {
            self.login.attach_again = usual::without_proof(&attach).filter(|attach| !usual::has_role(attach));
            self.login.usual_attach = usual::usual(&attach);
            if self.take_ahead(&attach) {
                return;
            }
        } else {
            self.leave_ahead();
        }
        self.login.attaching = Some((attach, purpose));
        if self.site.is_farbird() == Some(false) && self.site.limits().texts_show_purity {
            self.ask(Ask::BelieveTexts);
        }
        self.relay(request, 0, Some(Effect::Login));
    }

    /// op_crypt: between program and edge alone.
    pub(super) fn encrypt(&mut self, plugin: &[u8]) {
        let cipher = || {
            let plugin = CryptPlugin::from_name(plugin)?;
            let key = self.login.key.as_deref()?;
            plugin.cipher(key, self.login.keys.data_of(plugin)).ok()
        };
        let (Some(incoming), Some(outgoing)) = (cipher(), cipher()) else {
            // As a server does: the program could not read an answer, for it decrypts already.
            return self.end();
        };
        if !self.answers.is_empty() {
            // Replies to what was asked before would have to leave as they are, and nobody does so.
            return self.end();
        }
        self.pass_output();
        self.outgoing.encrypt(outgoing);
        self.incoming.encrypt(incoming);
        self.answer(Response::success(), None);
        self.pass_unread();
    }

    /// Bytes that came before a layer was switched on belong to the layer.
    fn pass_unread(&mut self) {
        let mut unread = self.decoder.take_unread();
        let (incoming, wire) = (&mut self.incoming, &mut self.wire);
        if self.decoder.feed_by(|plain| incoming.pass(&mut unread, wire, plain)).is_err() {
            self.end();
        }
    }

    pub(super) fn set_key(&mut self, key: Vec<u8>) {
        self.login.key = Some(key);
    }

    /// The database that is being attached, or is attached.
    pub(super) fn attached(&mut self, facts: &Facts) {
        if self.attaching_again.is_some() {
            return self.attached_again(facts);
        }
        self.site.note_commit(facts.database, facts.commit);
        if self.attachment.is_none() {
            self.prepare_attachment(Some(facts.database), facts.strict_transactions);
        }
        if let Some(attachment) = &mut self.attachment {
            attachment.database = Some(facts.database);
            attachment.strict_transactions |= facts.strict_transactions;
            if let Some((_, guid)) = &mut attachment.identity {
                guid.clone_from(&facts.guid);
            }
        }
    }

    fn prepare_attachment(&mut self, database: Option<u32>, strict: bool) {
        let Some((attach, purpose)) = &self.login.attaching else { return };
        let file = String::from_utf8_lossy(&attach.file).into_owned();
        let context = context(self.version(), &self.login.user, attach);
        self.attachment = Some(Attachment {
            file,
            identity: Some((attach.file.clone(), String::new())),
            process: process(attach),
            purpose: *purpose,
            database,
            strict_transactions: strict,
            is_plain: context.is_some(),
            information: Kept::default(),
            again: None,
            bond: Bond::default(),
            context: Arc::from(context.unwrap_or_default()),
        });
    }

    /// The reply to op_connect; gives what the program gets.
    pub(super) fn connected(&mut self, greeting: Option<Greeting>, replies: Vec<Reply>) -> Vec<Reply> {
        self.login.is_waiting = false;
        if let (Some(greeting), [reply]) = (greeting, &*replies) {
            self.site.keep_greeting(greeting, reply);
        }
        replies.into_iter().map(|reply| self.connection_reply(reply)).collect()
    }

    fn connection_reply(&mut self, reply: Reply) -> Reply {
        match reply {
            Reply::Accept(accept) => Reply::Accept(self.accept(accept)),
            Reply::AcceptWithData(mut accept) => {
                accept.accept = self.accept(accept.accept);
                self.announce(&mut accept.keys);
                if accept.authenticated {
                    self.decoder.authenticated();
                }
                Reply::AcceptWithData(accept)
            }
            Reply::ConditionalAccept(mut accept) => {
                accept.accept = self.accept(accept.accept);
                self.announce(&mut accept.keys);
                Reply::ConditionalAccept(accept)
            }
            other => other,
        }
    }

    fn accept(&mut self, mut accept: Accept) -> Accept {
        accept.connection_type &= !FLAG_COMPRESS;
        if self.login.compressed.contains(&accept.version) {
            accept.connection_type |= FLAG_COMPRESS;
        }
        if let Some(version) = accept.protocol_version() {
            self.decoder.set_version(version);
        }
        self.login.accept = Some(accept);
        accept
    }

    /// Compression begins behind the accept, which has been sent.
    pub(super) fn begin_compression(&mut self) {
        let has_plugins = self.version().has_plugins();
        if self.login.accept.is_some_and(|accept| accept.is_compressed() && has_plugins) {
            self.pass_output();
            self.outgoing.compress();
            self.incoming.compress();
            self.pass_unread();
        }
    }

    /// Keys that the server announces: of use if the edge has the key.
    fn announce(&mut self, keys: &mut Vec<u8>) {
        if self.login.key.is_none() {
            keys.clear();
        } else if let Ok(announced) = Keys::parse(keys)
            && !announced.plugins.is_empty()
        {
            self.login.keys = announced;
        }
    }

    /// The reply to a step of the login; gives what the program gets.
    pub(super) fn logged_in(&mut self, replies: Vec<Reply>) -> Vec<Reply> {
        self.login.is_waiting = false;
        replies.into_iter().map(|reply| self.login_reply(reply)).collect()
    }

    fn login_reply(&mut self, reply: Reply) -> Reply {
        match reply {
            Reply::ContinueAuthentication(mut step) => {
                self.announce(&mut step.keys);
                Reply::ContinueAuthentication(step)
            }
            Reply::Response(mut response) => {
                if response.status.is_success() {
                    self.decoder.authenticated();
                    self.keep_usual_attach();
                    self.announce(&mut response.data);
                    if self.attachment.is_none() {
                        // A Farbird server names its databases itself; before others the file's name has to do.
                        let file = self.login.attaching.as_ref().map(|(attach, _)| attach.file.clone());
                        let database = file.and_then(|file| self.site.number_of(&file));
                        self.prepare_attachment(database, false);
                    }
                    self.keep_again();
                } else {
                    self.attachment = None;
                }
                self.login.attaching = None;
                Reply::Response(response)
            }
            other => other,
        }
    }
}

/// The name and the number of the program, as far as it tells them.
fn process(attach: &Attach) -> String {
    let (mut name, mut number) = (String::new(), String::new());
    for item in ClumpletReader::dpb(&attach.parameters).into_iter().flatten().map_while(Result::ok) {
        match item.tag {
            dpb::PROCESS_NAME => {
                let path = String::from_utf8_lossy(item.data);
                let last = path.rsplit(['/', '\\']).next().unwrap_or_default();
                name = last.chars().take(PROCESS_NAME_CHARACTERS_MAX).collect();
            }
            dpb::PROCESS_ID => {
                number = item.integer().map(|id| id.to_string()).unwrap_or_default();
            }
            _ => {}
        }
    }
    match (name.is_empty(), number.is_empty()) {
        (false, false) => format!("{name} ({number})"),
        _ => name,
    }
}

/// What descriptions depend on in an attachment; `None` if that cannot be told.
fn context(version: ProtocolVersion, user: &[u8], attach: &Attach) -> Option<Vec<u8>> {
    let mut context = version.number().to_le_bytes().to_vec();
    let mut add = |tag: u8, data: &[u8]| {
        context.push(tag);
        context.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_le_bytes());
        context.extend_from_slice(data);
    };
    add(0, user);
    add(0, &attach.file);
    for item in ClumpletReader::dpb(&attach.parameters).ok()? {
        let item = item.ok()?;
        match item.tag {
            // Who and where the program is, and how it proves that: nothing that descriptions depend on.
            dpb::PASSWORD
            | dpb::PASSWORD_ENC
            | dpb::SPECIFIC_AUTH_DATA
            | dpb::AUTH_PLUGIN_LIST
            | dpb::AUTH_PLUGIN_NAME
            | dpb::AUTH_BLOCK
            | dpb::PROCESS_ID
            | dpb::PROCESS_NAME
            | dpb::HOST_NAME
            | dpb::OS_USER
            | dpb::CLIENT_VERSION
            | dpb::REMOTE_PROTOCOL
            | dpb::ADDRESS_PATH
            | dpb::WORKING_DIRECTORY
            | dpb::CONNECT_TIMEOUT
            | dpb::DUMMY_PACKET_INTERVAL => {}
            tag => add(tag, item.data),
        }
    }
    Some(context)
}
