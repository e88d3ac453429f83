//! Logging in, as a machine: the server's packets in, our next packet out.
//!
//! The login runs before the attach if both sides want encryption, and inside it otherwise. Source: the wire's own
//! rules (op_connect, op_cont_auth), as `farbird_wire::negotiation` and `farbird_wire::auth` have them.

use farbird_types::{Error, Result, isc};
use farbird_wire::auth::srp::{ClientLogin, PRIVATE_KEY_BYTES};
use farbird_wire::auth::{AuthPlugin, legacy, normalize_user_name};
use farbird_wire::clumplet::{ClumpletWriter, dpb, spb};
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::crypt::keys::Keys;
use farbird_wire::negotiation::{UserIdentification, WireCrypt, offers};
use farbird_wire::packet::{
    Accept, AcceptWithData, Connect, ContinueAuthentication, ProtocolOffer, Reply, Request,
};
use farbird_wire::protocol::{CONNECTION_TYPE_MASK, ConnectionType, ProtocolVersion};

use crate::error;
use crate::machine;
use crate::options::ConnectOptions;

/// Most times that a server may ask on (Firebird's clients have the same limit).
const STEPS_MAX: u32 = 100;

/// What to do after a packet of the server.
pub(crate) enum Step {
    /// Send this and wait for the answer.
    Send(Request),
    /// Logged in.
    Done,
    /// The login goes on inside the attach: see [`Login::attach_items`].
    AtAttach,
}

/// A cipher that both sides have.
pub(crate) struct ChosenCipher<'a> {
    pub(crate) plugin: CryptPlugin,
    pub(crate) key: &'a [u8],
    pub(crate) data: &'a [u8],
}

/// A login under way.
pub(crate) struct Login<'o> {
    options: &'o ConnectOptions,
    user: String,
    srp: ClientLogin,
    plugin: AuthPlugin,
    /// What the plugin says in the attach, if the login goes on there.
    data: Vec<u8>,
    /// The protocol, if it is one without plugins.
    before_plugins: Option<ProtocolVersion>,
    session_key: Option<Vec<u8>>,
    keys: Keys,
    steps: u32,
}

impl<'o> Login<'o> {
    pub(crate) fn new(options: &'o ConnectOptions) -> Result<Login<'o>> {
        let mut private_key = [0; PRIVATE_KEY_BYTES];
        getrandom::fill(&mut private_key).map_err(|error| {
            Error::new(isc::RANDOM).with(format!("the operating system gives no random bytes: {error}"))
        })?;
        let Some(plugin) = options.plugins.first() else {
            return Err(Error::new(isc::LOGIN).and(isc::RANDOM).with("no authentication plugin is allowed"));
        };
        let mut login = Login {
            options,
            user: normalize_user_name(&options.user)?,
            srp: ClientLogin::new(private_key),
            plugin: *plugin,
            data: Vec::new(),
            before_plugins: None,
            session_key: None,
            keys: Keys::default(),
            steps: 0,
        };
        login.data = login.first_data();
        Ok(login)
    }

    /// op_connect. `file` is only for the server to find the settings of that database.
    pub(crate) fn connect_request(&self, file: &str) -> Request {
        let identification = UserIdentification {
            user: machine::user().into_bytes(),
            host: machine::host().into_bytes(),
            login: Some(self.options.user.clone().into_bytes()),
            plugin: Some(self.plugin.name().into()),
            plugin_list: Some(self.plugin_list()),
            specific_data: Some(self.data.clone()),
            wire_crypt: self.options.wire_crypt,
            extensions: Vec::new(),
        };
        Request::Connect(Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: file.as_bytes().to_vec(),
            user_identification: identification.to_bytes(),
            offers: self.offers(),
        })
    }

    fn offers(&self) -> Vec<ProtocolOffer> {
        let mut offers = offers(self.options.oldest, self.options.newest, self.options.compress);
        if !self.options.tuning.deferred_packets {
            // Servers hold the answers to some requests back if packets are deferred.
            for offer in &mut offers {
                offer.type_max = offer.type_max & !CONNECTION_TYPE_MASK | ConnectionType::BatchSend as u16;
            }
        }
        offers
    }

    /// Takes the server's next packet.
    ///
    /// # Errors
    /// The server refuses the login or the protocol, or asks for what we do not have.
    pub(crate) fn next(&mut self, reply: Reply) -> Result<Step> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(Error::new(isc::LOGIN).and(isc::AUTH_HANDSHAKE_LIMIT));
        }
        match reply {
            Reply::Reject => Err(Error::new(isc::CONNECT_REJECT)),
            Reply::Response(response) => match response.status.error() {
                Some(error) => Err(error),
                None => {
                    self.take_keys(&response.data)?;
                    Ok(Step::Done)
                }
            },
            Reply::Accept(accept) => self.accepted(accept),
            Reply::AcceptWithData(AcceptWithData { authenticated: true, keys, .. }) => {
                self.take_keys(&keys)?;
                Ok(Step::Done)
            }
            Reply::AcceptWithData(accept) => {
                self.answer(&accept.plugin, &accept.data)?;
                Ok(Step::AtAttach)
            }
            Reply::ConditionalAccept(accept) => self.go_on(&accept.plugin, &accept.data),
            Reply::ContinueAuthentication(step) => self.go_on(&step.plugin, &step.data),
            _ => Err(error::unexpected("the login")),
        }
    }

    /// The server has nothing to say about plugins. Before protocol 13 there are none: the password goes into the attach.
    fn accepted(&mut self, accept: Accept) -> Result<Step> {
        let Some(version) = accept.protocol_version().filter(|version| !version.has_plugins()) else {
            return Ok(Step::AtAttach);
        };
        let refused = |code, why: &str| {
            let number = version.number();
            Err(Error::new(code).and(isc::RANDOM).with(format!("the server speaks protocol {number}: {why}")))
        };
        if self.options.wire_crypt == WireCrypt::Required {
            return refused(isc::WIRECRYPT_INCOMPATIBLE, "it cannot encrypt");
        }
        if !self.options.plugins.contains(&AuthPlugin::Legacy) {
            return refused(isc::LOGIN, "allow Legacy_Auth, which is all that it has");
        }
        if version == ProtocolVersion::V10 && self.options.tuning.deferred_packets {
            return refused(isc::CONNECT_REJECT, "switch off `deferred_packets`, which it does not know");
        }
        self.before_plugins = Some(version);
        Ok(Step::AtAttach)
    }

    /// Whether the protocol is one without plugins.
    pub(crate) fn is_before_plugins(&self) -> bool {
        self.before_plugins.is_some()
    }

    /// Adds the password as protocols without plugins want it; false if there are plugins.
    fn old_password(&self, items: &mut ClumpletWriter) -> bool {
        let password = &self.options.password;
        match self.before_plugins {
            None => return false,
            // The tags are the same in a DPB and an SPB.
            Some(ProtocolVersion::V10) => items.text(dpb::PASSWORD, password),
            Some(_) => items.bytes(dpb::PASSWORD_ENC, &legacy::hash(password)),
        };
        true
    }

    fn go_on(&mut self, plugin: &[u8], data: &[u8]) -> Result<Step> {
        self.answer(plugin, data)?;
        Ok(Step::Send(Request::ContinueAuthentication(ContinueAuthentication {
            data: self.data.clone(),
            plugin: self.plugin.name().into(),
            plugin_list: self.plugin_list(),
            keys: Vec::new(),
        })))
    }

    /// Puts into `data` what the plugin says to the server's data.
    fn answer(&mut self, name: &[u8], data: &[u8]) -> Result<()> {
        let allowed = &self.options.plugins;
        let named = AuthPlugin::from_name(name).filter(|plugin| allowed.contains(plugin));
        match named {
            None if !name.is_empty() => {
                let names: Vec<_> = allowed.iter().map(|plugin| plugin.name()).collect();
                return Err(Error::new(isc::LOGIN).and(isc::RANDOM).with(format!(
                    "the server wants to authenticate by {}; this client may use {}",
                    String::from_utf8_lossy(name),
                    names.join(", ")
                )));
            }
            Some(plugin) => self.plugin = plugin,
            None => {}
        }
        self.data = match self.plugin {
            AuthPlugin::Srp(hash) if !data.is_empty() => {
                let proof = self
                    .srp
                    .respond(hash, &self.user, &self.options.password, data)
                    .map_err(|error| Error::new(isc::LOGIN).and(isc::RANDOM).with(error.to_string()))?;
                self.session_key = Some(proof.session_key.to_vec());
                proof.proof.into_bytes()
            }
            _ => self.first_data(),
        };
        Ok(())
    }

    fn first_data(&self) -> Vec<u8> {
        match self.plugin {
            AuthPlugin::Srp(_) => self.srp.public_key().into_bytes(),
            AuthPlugin::Legacy => legacy::hash(&self.options.password).to_vec(),
        }
    }

    fn plugin_list(&self) -> Vec<u8> {
        let names: Vec<_> = self.options.plugins.iter().map(|plugin| plugin.name()).collect();
        names.join(",").into_bytes()
    }

    /// The items of a DPB that go on with the login; services have their own tags for the same.
    pub(crate) fn attach_items(&self, items: &mut ClumpletWriter) {
        if self.old_password(items) {
            return;
        }
        items.text(dpb::AUTH_PLUGIN_NAME, self.plugin.name());
        items.bytes(dpb::AUTH_PLUGIN_LIST, &self.plugin_list());
        items.bytes(dpb::SPECIFIC_AUTH_DATA, &self.data);
    }

    /// As [`Login::attach_items`], for the services manager: its items have numbers of their own.
    pub(crate) fn service_items(&self, items: &mut ClumpletWriter) {
        if self.old_password(items) {
            return;
        }
        items.text(spb::AUTH_PLUGIN_NAME, self.plugin.name());
        items.bytes(spb::AUTH_PLUGIN_LIST, &self.plugin_list());
        items.bytes(spb::TRUSTED_AUTH, &self.data);
    }

    /// Keys that came with the answer to an attach.
    pub(crate) fn take_keys(&mut self, keys: &[u8]) -> Result<()> {
        if !keys.is_empty() {
            self.keys = Keys::parse(keys).map_err(|error| error::broken(&error))?;
        }
        Ok(())
    }

    /// The cipher to switch on; `None` if there is none or none is wanted.
    ///
    /// # Errors
    /// `isc_wirecrypt_incompatible` if encryption is required and impossible.
    pub(crate) fn cipher(&self) -> Result<Option<ChosenCipher<'_>>> {
        let wanted = self.options.ciphers.iter().find(|cipher| self.keys.plugins.contains(cipher));
        match (self.options.wire_crypt, wanted, &self.session_key) {
            (WireCrypt::Disabled, _, _) => Ok(None),
            (_, Some(plugin), Some(key)) => {
                Ok(Some(ChosenCipher { plugin: *plugin, key, data: self.keys.data_of(*plugin) }))
            }
            (WireCrypt::Required, _, _) => Err(Error::new(isc::WIRECRYPT_INCOMPATIBLE)),
            (WireCrypt::Enabled, _, _) => Ok(None),
        }
    }
}
