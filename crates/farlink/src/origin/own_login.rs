//! A login that the origin performs itself: at the server as the user, whose password it has from the administrator, and towards the
//! program as the server. Both sides get keys, which a relayed login gives to program and server alone; so both can encrypt.
//!
//! The program must prove the same password: who does not know it gets no further than at the server. Only SRP: what goes with it
//! is [`farbird_wire::auth::srp`]. Randomness is handed in.

use farbird_types::{Error, isc};
use farbird_wire::auth::srp::{
    ClientLogin, PRIVATE_KEY_BYTES, ProofHash, SALT_BYTES, SESSION_KEY_BYTES, ServerLogin, Verifier,
};
use farbird_wire::auth::{AuthPlugin, normalize_user_name};
use farbird_wire::clumplet::{ClumpletReader, ClumpletWriter, dpb, spb};
use farbird_wire::crypt::keys::Keys;
use farbird_wire::crypt::{CHACHA_DATA_BYTES, CHACHA64_DATA_BYTES, CryptPlugin};
use farbird_wire::negotiation::{UserIdentification, WireCrypt};
use farbird_wire::packet::{Connect, ContinueAuthentication};
use farbird_wire::protocol::ProtocolVersion;
use farbird_wire::status::StatusVector;

use crate::message::RequestId;

/// Bytes of randomness that one login takes.
pub const RANDOM_BYTES: usize = 2 * PRIVATE_KEY_BYTES + SALT_BYTES + CHACHA_DATA_BYTES + CHACHA64_DATA_BYTES;

/// The name and password with which the origin logs in.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    user: String,
    password: String,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("user", &self.user).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Those of a user as typed; `None` if there can be no such user.
    pub fn new(user: &str, password: &str) -> Option<Credentials> {
        Some(Credentials { user: normalize_user_name(user).ok()?, password: password.to_owned() })
    }

    /// The user, normalised.
    pub fn user(&self) -> &str {
        &self.user
    }
}

/// What a program is to be answered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ForProgram {
    /// It is to go on with this plugin; without data, to begin with it.
    GoOn { plugin: &'static str, data: Vec<u8> },
    /// It has proved the password. This is the key that it has now.
    Proved([u8; SESSION_KEY_BYTES]),
    /// It has not.
    Refused,
}

/// A login under way.
pub(super) struct OwnLogin {
    credentials: Credentials,
    client: ClientLogin,
    /// By which it goes on at the server.
    plugin: AuthPlugin,
    /// The key that the origin has with the server.
    pub(super) server_key: Option<[u8; SESSION_KEY_BYTES]>,
    salt: [u8; SALT_BYTES],
    private_key: [u8; PRIVATE_KEY_BYTES],
    nonces: [Vec<u8>; 2],
    /// By which the program goes on.
    program_hash: ProofHash,
    program: Option<ServerLogin>,
    steps: u32,
}

impl std::fmt::Debug for OwnLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OwnLogin").field("credentials", &self.credentials).finish_non_exhaustive()
    }
}

/// What the program has said first: its plugin and that plugin's data.
pub(super) type FirstWord = (Vec<u8>, Vec<u8>);

/// Where a login of the origin's own stands.
#[derive(Debug)]
pub(super) struct LoggingIn {
    pub(super) login: OwnLogin,
    /// Until the program is answered for the first time.
    pub(super) first: FirstWord,
    /// What the server has said first, and waits for an answer to: plugin and data.
    pub(super) challenge: Option<(Vec<u8>, Vec<u8>)>,
    /// What the server has said in the end; `None` until then.
    pub(super) server: Option<Result<(), StatusVector>>,
    /// What the program has proved, and its request that waits for the server's word.
    pub(super) program: Option<([u8; SESSION_KEY_BYTES], RequestId)>,
    pub(super) is_program_in: bool,
    /// The step of the login that goes with the attach, to a server that wants it there.
    pub(super) attach_step: Option<ContinueAuthentication>,
}

/// Steps that a login may take on either side.
const STEPS_MAX: u32 = 16;

impl OwnLogin {
    pub(super) fn new(credentials: Credentials, random: &[u8; RANDOM_BYTES]) -> OwnLogin {
        let mut rest = random.iter().copied();
        let mut take = |bytes: &mut [u8]| bytes.iter_mut().zip(&mut rest).for_each(|(to, from)| *to = from);
        let (mut own, mut private_key, mut salt) =
            ([0; PRIVATE_KEY_BYTES], [0; PRIVATE_KEY_BYTES], [0; SALT_BYTES]);
        let (mut long, mut short) = (vec![0; CHACHA_DATA_BYTES], vec![0; CHACHA64_DATA_BYTES]);
        for bytes in [&mut own[..], &mut private_key, &mut salt, &mut long, &mut short] {
            take(bytes);
        }
        // Behind the nonce stands the counter, which begins with 0.
        long.iter_mut().skip(CHACHA_DATA_BYTES - 4).for_each(|byte| *byte = 0);
        OwnLogin {
            credentials,
            client: ClientLogin::new(own),
            plugin: AuthPlugin::Srp(ProofHash::Sha256),
            server_key: None,
            salt,
            private_key,
            nonces: [short, long],
            program_hash: ProofHash::Sha256,
            program: None,
            steps: 0,
        }
    }

    /// The op_connect of the origin, in place of the program's.
    pub(super) fn connect(&self, connect: &Connect, user: &UserIdentification) -> Connect {
        let identification = UserIdentification {
            login: Some(self.credentials.user.clone().into_bytes()),
            plugin: Some(self.plugin.name().into()),
            plugin_list: Some(plugin_list()),
            specific_data: Some(self.client.public_key().into_bytes()),
            wire_crypt: WireCrypt::Enabled,
            ..user.clone()
        };
        Connect { user_identification: identification.to_bytes(), ..connect.clone() }
    }

    /// What goes to the server for what its side of a plugin has said.
    pub(super) fn answer_server(&mut self, plugin: &[u8], data: &[u8]) -> Option<ContinueAuthentication> {
        self.steps += 1;
        if let Some(named) = AuthPlugin::from_name(plugin) {
            self.plugin = named;
        }
        let AuthPlugin::Srp(hash) = self.plugin else { return None };
        if self.steps > STEPS_MAX {
            return None;
        }
        let said = match data.is_empty() {
            true => self.client.public_key(),
            false => {
                let Credentials { user, password } = &self.credentials;
                let proof = self.client.respond(hash, user, password, data).ok()?;
                self.server_key = Some(proof.session_key);
                proof.proof
            }
        };
        Some(ContinueAuthentication {
            data: said.into_bytes(),
            plugin: self.plugin.name().into(),
            plugin_list: plugin_list(),
            keys: Vec::new(),
        })
    }

    /// What the program's side of a plugin has said.
    pub(super) fn answer_program(&mut self, plugin: &[u8], data: &[u8]) -> ForProgram {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return ForProgram::Refused;
        }
        if let Some(login) = self.program.take() {
            return login.verify(data).map_or(ForProgram::Refused, ForProgram::Proved);
        }
        let begun = match AuthPlugin::from_name(plugin) {
            Some(AuthPlugin::Srp(hash)) if !data.is_empty() => Some(hash),
            _ => None,
        };
        let Some(hash) = begun else {
            let plugin = AuthPlugin::Srp(self.program_hash).name();
            return ForProgram::GoOn { plugin, data: Vec::new() };
        };
        self.program_hash = hash;
        let Credentials { user, password } = &self.credentials;
        let verifier = Verifier::create(user, password, self.salt);
        match ServerLogin::new(hash, user, verifier, data, self.private_key) {
            Ok(login) => {
                let data = login.challenge();
                self.program = Some(login);
                ForProgram::GoOn { plugin: AuthPlugin::Srp(hash).name(), data }
            }
            Err(_) => ForProgram::Refused,
        }
    }

    /// What the program is told of the ciphers that it can use with its key.
    pub(super) fn announcement(&self, version: ProtocolVersion) -> Vec<u8> {
        let [short, long] = self.nonces.clone();
        let ciphers =
            [(CryptPlugin::ChaCha64, short), (CryptPlugin::ChaCha, long), (CryptPlugin::Arc4, Vec::new())];
        Keys::announce(&ciphers, version).to_bytes()
    }
}

/// What a program is told that has not proved the password.
pub(super) fn refusal() -> StatusVector {
    StatusVector::from_error(&Error::new(isc::LOGIN))
}

fn plugin_list() -> Vec<u8> {
    let names: Vec<_> = AuthPlugin::ALL
        .iter()
        .filter(|plugin| matches!(plugin, AuthPlugin::Srp(_)))
        .map(|plugin| plugin.name())
        .collect();
    names.join(",").into_bytes()
}

/// Which block an attach has: services have tags of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Database,
    Service,
}

/// The parameters of an attach with the origin's login, if that goes on there, in place of the program's; `None` if they cannot be read.
pub(super) fn attach_parameters(
    block: Block,
    parameters: &[u8],
    step: Option<&ContinueAuthentication>,
) -> Option<Vec<u8>> {
    let (reader, [name, list, data], is_wide) = match block {
        Block::Database => (
            ClumpletReader::dpb(parameters),
            [dpb::AUTH_PLUGIN_NAME, dpb::AUTH_PLUGIN_LIST, dpb::SPECIFIC_AUTH_DATA],
            parameters.first() == Some(&dpb::VERSION2),
        ),
        Block::Service => (
            ClumpletReader::spb_attach(parameters),
            [spb::AUTH_PLUGIN_NAME, spb::AUTH_PLUGIN_LIST, spb::TRUSTED_AUTH],
            parameters.first() == Some(&spb::VERSION3),
        ),
    };
    // What does not fit into a traditional block makes it a wide one, which servers with such logins read.
    let is_long = |item: &[u8]| item.len() > usize::from(u8::MAX);
    let is_wide = is_wide || step.is_some_and(|step| is_long(&step.data) || is_long(&step.plugin_list));
    let mut writer = match (block, is_wide) {
        (Block::Database, true) => ClumpletWriter::wide_dpb(),
        (Block::Database, false) => ClumpletWriter::dpb(),
        (Block::Service, true) => ClumpletWriter::spb_attach(),
        (Block::Service, false) => ClumpletWriter::old_spb_attach(),
    };
    for item in reader.ok()? {
        let item = item.ok()?;
        let is_login = [name, list, data, dpb::PASSWORD, dpb::PASSWORD_ENC].contains(&item.tag);
        if !is_login {
            writer.bytes(item.tag, item.data);
        }
    }
    if let Some(step) = step {
        writer.bytes(name, &step.plugin).bytes(list, &step.plugin_list).bytes(data, &step.data);
    }
    Some(writer.into_bytes())
}

/// The user whom an op_connect names, normalised.
pub fn login_of(packet: &[u8]) -> Option<String> {
    let connect = super::connect::for_server(packet)?;
    let user = UserIdentification::parse(&connect.user_identification).ok()?;
    normalize_user_name(std::str::from_utf8(&user.login?).ok()?).ok()
}
