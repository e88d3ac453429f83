//! Who is it? One login, plugin by plugin, until somebody is let in or refused.
//!
//! The same steps serve a login in the connect phase (op_cond_accept, op_cont_auth) and one inside an attach.
//! Knows users and passwords, no packets. Source: wire-protocol.md, 3.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use farbird_types::{Error, Result, isc};
use farbird_wire::auth::srp::{
    PRIVATE_KEY_BYTES, ProofHash, SALT_BYTES, SESSION_KEY_BYTES, ServerLogin, Verifier,
};
use farbird_wire::auth::{AuthPlugin, legacy, normalize_user_name};

use crate::external_callers::OneTimePassword;
use crate::farlink::Desk;
use crate::farlink_pass::{self, Holder};
use crate::security::{Credentials, SecurityDatabase, random};
use crate::throttle::Throttle;

/// Steps that one login may take before it is refused (Firebird's limit is 100).
const STEPS_MAX: u32 = 16;

/// Who has logged in.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// Normalised name.
    pub(crate) user: String,
    /// The role that was asked for, of a connection to the services: that of a session stands in its parameters.
    pub(crate) role: Option<String>,
    /// Whether the user administers the server.
    pub(crate) admin: bool,
    /// The plugin.
    pub(crate) plugin: AuthPlugin,
    /// Key for the wire, if the plugin yields one.
    pub(crate) session_key: Option<[u8; SESSION_KEY_BYTES]>,
}

impl Identity {
    /// The same in another role, if one is said.
    pub(crate) fn in_role(&self, role: Option<String>) -> Identity {
        Identity { role: role.or_else(|| self.role.clone()), ..self.clone() }
    }
}

/// What a step of a login led to.
pub(crate) enum Step {
    /// The client must go on with this plugin, given this data. No data: it must begin with the plugin.
    Continue {
        /// The plugin.
        plugin: AuthPlugin,
        /// For the client's side of it.
        data: Vec<u8>,
    },
    /// Let in.
    Done(Identity),
}

/// A login under way.
pub(crate) struct Login {
    user: String,
    /// Plugins to be tried, the one at hand first.
    plugins: Vec<AuthPlugin>,
    srp: Option<ServerLogin>,
    admin: bool,
    active: bool,
    steps: u32,
    /// How long the answer to the password must be held back.
    delay: Duration,
    /// The number of a login that was prepared in advance.
    ticket: Option<u64>,
    /// A pass that an edge has brought, and the edge's name.
    pass: Option<(String, Vec<u8>)>,
    /// The password in place of the user's own, of a connection that this process makes for who is attached already.
    one_time: Option<String>,
    /// What the user is known by.
    verifier: Option<Verifier>,
    /// When the password was proved, if that was for an earlier login, whose pass has let the user in.
    proved: Option<Duration>,
}

/// What a login looks at and counts with.
#[derive(Clone, Copy)]
pub(crate) struct Guard<'s> {
    pub(crate) security: &'s SecurityDatabase,
    pub(crate) throttle: &'s Throttle,
    pub(crate) farlink: &'s Desk,
    /// Who logs in.
    pub(crate) peer: IpAddr,
}

impl Login {
    /// Begins a login of a name as the client typed it.
    ///
    /// # Errors
    /// `isc_login_error` if client and server have no plugin in common, those of malformed names.
    pub(crate) fn new(
        typed_user: &str,
        server: &[AuthPlugin],
        client: &[AuthPlugin],
        begun: Option<AuthPlugin>,
    ) -> Result<Login> {
        let user = normalize_user_name(typed_user)?;
        let plugins = AuthPlugin::select(server, client, begun);
        if plugins.is_empty() {
            return Err(Error::new(isc::LOGIN_ERROR));
        }
        Ok(Login {
            user,
            plugins,
            srp: None,
            admin: false,
            active: false,
            steps: 0,
            delay: Duration::ZERO,
            ticket: None,
            pass: None,
            one_time: None,
            verifier: None,
            proved: None,
        })
    }

    /// Goes on with a login that was prepared in advance, if it is this user's.
    pub(crate) fn use_ticket(&mut self, ticket: Option<u64>) {
        self.ticket = ticket;
    }

    /// Lets the user in by a password that this process has made for the connection, if it is this user's.
    pub(crate) fn use_one_time_password(&mut self, password: Option<OneTimePassword>) {
        self.one_time = password.filter(|it| it.user == self.user).map(|it| it.password);
    }

    /// Lets the user in by a pass of this edge's, if it is one.
    pub(crate) fn use_pass(&mut self, edge: &str, pass: Option<Vec<u8>>) {
        self.pass = pass.map(|pass| (edge.to_owned(), pass));
    }

    /// A pass by which this edge may log in the user again who is logged in now; none for who has logged in by Legacy_Auth. Who was let in
    /// by a pass gets one that lasts no longer.
    pub(crate) fn issue_pass(&self, edge: &str) -> Option<Vec<u8>> {
        let verifier = self.verifier.as_ref()?;
        let proved = self.proved.unwrap_or_else(farlink_pass::now);
        farlink_pass::issue(Holder { edge, user: &self.user, verifier }, proved).ok()
    }

    /// Takes what the client's side of `plugin` says.
    ///
    /// # Errors
    /// `isc_login`: refused, without saying why.
    pub(crate) fn step(&mut self, plugin: Option<AuthPlugin>, data: &[u8], guard: Guard<'_>) -> Result<Step> {
        self.steps += 1;
        if self.steps > STEPS_MAX {
            return Err(refused().and(isc::AUTH_HANDSHAKE_LIMIT));
        }
        let Some(current) = self.plugins.first().copied() else { return Err(refused()) };
        if let Some((edge, pass)) = self.pass.take()
            && self.has_passed(&edge, &pass, guard)?
        {
            return self.let_in(current, None, guard);
        }
        if let Some(srp) = self.srp.take() {
            self.count(guard)?;
            let key = srp.verify(data).map_err(|_| refused())?;
            return self.let_in(current, Some(key), guard);
        }
        if data.is_empty() || plugin.is_some_and(|plugin| plugin != current) {
            // The client began with nothing, or with a plugin we do not take: name ours. If it was ours that it had
            // nothing to say for, go on to the next.
            if plugin == Some(current) && self.steps > 1 {
                self.plugins.remove(0);
            }
            let plugin = self.plugins.first().copied().ok_or_else(refused)?;
            return Ok(Step::Continue { plugin, data: Vec::new() });
        }
        match current {
            AuthPlugin::Srp(hash) => {
                let credentials = guard.security.credentials(&self.user)?;
                self.begin_srp(hash, credentials, data, guard.farlink)
            }
            AuthPlugin::Legacy => {
                let hash = legacy::parse_hash(data).ok_or_else(refused)?;
                self.check_legacy(&hash, guard)
            }
        }
    }

    /// A plain or hashed password out of a DPB, as clients before protocol 13 send it.
    ///
    /// # Errors
    /// `isc_login` if it is wrong, or Legacy_Auth is not allowed.
    pub(crate) fn password(&mut self, hash: &[u8; legacy::HASH_BYTES], guard: Guard<'_>) -> Result<Identity> {
        match self.check_legacy(hash, guard)? {
            Step::Done(identity) => Ok(identity),
            Step::Continue { .. } => Err(refused()),
        }
    }

    /// How long the answer must be held back, be it yes or no.
    pub(crate) fn delay(&self) -> Duration {
        self.delay
    }

    /// Counts a guess before it is looked at.
    fn count(&mut self, guard: Guard<'_>) -> Result<()> {
        self.delay = guard.throttle.begin(guard.peer, &self.user, Instant::now()).ok_or_else(refused)?;
        Ok(())
    }

    fn has_passed(&mut self, edge: &str, pass: &[u8], guard: Guard<'_>) -> Result<bool> {
        let Some(known) = guard.security.credentials(&self.user)? else { return Ok(false) };
        let holder = Holder { edge, user: &self.user, verifier: &known.verifier };
        let Some(proved) = farlink_pass::valid_since(pass, holder) else { return Ok(false) };
        self.proved = Some(proved);
        (self.active, self.admin) = (known.active, known.admin);
        self.verifier = Some(known.verifier);
        Ok(true)
    }

    fn begin_srp(
        &mut self,
        hash: ProofHash,
        credentials: Option<Credentials>,
        data: &[u8],
        farlink: &Desk,
    ) -> Result<Step> {
        let number = self.ticket.take();
        let prepared = number.zip(credentials.as_ref());
        let prepared = prepared.and_then(|(number, known)| farlink.take_ticket(number, &self.user, known));
        // Made for everybody: the time that it takes must not tell who exists.
        let decoy = decoy(&self.user);
        let verifier = match (credentials, self.one_time.take()) {
            (Some(credentials), Some(password)) => {
                (self.active, self.admin) = (credentials.active, credentials.admin);
                Verifier::create(&self.user, &password, random::<SALT_BYTES>()?)
            }
            (Some(credentials), None) => {
                self.active = credentials.active;
                self.admin = credentials.admin;
                self.verifier = Some(credentials.verifier.clone());
                credentials.verifier
            }
            (None, _) => decoy,
        };
        let private_key = match prepared {
            Some(key) => key,
            None => random::<PRIVATE_KEY_BYTES>()?,
        };
        let srp = ServerLogin::new(hash, &self.user, verifier, data, private_key).map_err(|_| refused())?;
        let data = srp.challenge();
        self.srp = Some(srp);
        Ok(Step::Continue { plugin: AuthPlugin::Srp(hash), data })
    }

    fn check_legacy(&mut self, hash: &[u8; legacy::HASH_BYTES], guard: Guard<'_>) -> Result<Step> {
        self.count(guard)?;
        let credentials = guard.security.credentials(&self.user)?;
        // As much work for whoever does not exist, or has no such record.
        let record = credentials.as_ref().and_then(|known| known.legacy.as_deref());
        let matches = legacy::verify(&self.user, hash, record.unwrap_or(legacy_decoy()));
        let lets_in = record.is_some() && matches;
        let credentials = credentials.filter(|_| lets_in).ok_or_else(refused)?;
        self.active = credentials.active;
        self.admin = credentials.admin;
        self.let_in(AuthPlugin::Legacy, None, guard)
    }

    fn let_in(
        &self,
        plugin: AuthPlugin,
        session_key: Option<[u8; SESSION_KEY_BYTES]>,
        guard: Guard<'_>,
    ) -> Result<Step> {
        if !self.active {
            return Err(refused());
        }
        guard.throttle.succeeded(guard.peer, &self.user);
        Ok(Step::Done(Identity {
            user: self.user.clone(),
            role: None,
            admin: self.admin,
            plugin,
            session_key,
        }))
    }
}

/// A record of Legacy_Auth that is nobody's.
fn legacy_decoy() -> &'static [u8] {
    static DECOY: OnceLock<Vec<u8>> = OnceLock::new();
    DECOY.get_or_init(|| legacy::stored_record("", &legacy::hash(""), &[b'a'; legacy::SALT_BYTES]))
}

/// What every refused login is told.
pub(crate) fn refused() -> Error {
    Error::new(isc::LOGIN)
}

/// A verifier for a user who does not exist: the same each time, so that a client cannot tell by asking twice.
fn decoy(user: &str) -> Verifier {
    static SECRET: OnceLock<RandomState> = OnceLock::new();
    let secret = SECRET.get_or_init(RandomState::new);
    let mut salt = [0; SALT_BYTES];
    for (part, number) in salt.chunks_mut(8).zip(0_u8..) {
        let hash = secret.hash_one((number, user)).to_le_bytes();
        part.copy_from_slice(hash.get(..part.len()).unwrap_or_default());
    }
    Verifier::create(user, &secret.hash_one(user).to_string(), salt)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use farbird_engine::engine::Engine;

    use super::*;
    use crate::config::{Config, Overrides};

    #[test]
    fn a_pass_that_is_given_for_another_lasts_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::load(None, Overrides::default()).unwrap();
        let engine = Engine::with_limits(config.store_options(), config.limits.clone());
        let password = Some("secret".to_owned());
        let (security, _) = SecurityDatabase::open(engine, folder.path(), false, password).unwrap();
        let verifier = security.credentials("SYSDBA").unwrap().unwrap().verifier;
        let holder = Holder { edge: "london", user: "SYSDBA", verifier: &verifier };
        let proved = Duration::from_secs(farlink_pass::now().as_secs() - 3_600);
        let mut pass = farlink_pass::issue(holder, proved).unwrap();
        let (throttle, farlink) = (Throttle::default(), Desk::default());
        let peer = IpAddr::from(Ipv4Addr::LOCALHOST);
        let guard = Guard { security: &security, throttle: &throttle, farlink: &farlink, peer };
        let plugins = [AuthPlugin::Srp(ProofHash::Sha256)];
        for _ in 0..2 {
            let mut login = Login::new("sysdba", &plugins, &plugins, None).unwrap();
            login.use_pass("london", Some(pass));
            assert!(matches!(login.step(None, &[], guard), Ok(Step::Done(_))));
            pass = login.issue_pass("london").unwrap();
            assert_eq!(farlink_pass::valid_since(&pass, holder), Some(proved));
        }
    }
}
