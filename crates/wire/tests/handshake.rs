//! A client and a server joined in memory: negotiation, SRP, encryption and compression, as fbclient does them.

use farbird_wire::auth::srp::{ClientLogin, ServerLogin, Verifier};
use farbird_wire::auth::{AuthPlugin, normalize_user_name};
use farbird_wire::counters::Counters;
use farbird_wire::crypt::CryptPlugin;
use farbird_wire::crypt::keys::{Keys, SYMMETRIC};
use farbird_wire::decoder::{Limits, ReplyDecoder, RequestDecoder};
use farbird_wire::layers::{Incoming, Outgoing};
use farbird_wire::negotiation::{UserIdentification, offers};
use farbird_wire::packet::{
    AcceptWithData, Attach, Connect, ContinueAuthentication, Reply, Request, Response,
};
use farbird_wire::protocol::{Handle, ProtocolVersion};

/// One end of the line.
#[derive(Default)]
struct End {
    incoming: Incoming,
    outgoing: Outgoing,
    counters: Counters,
    version: Option<ProtocolVersion>,
}

impl End {
    fn version(&self) -> ProtocolVersion {
        self.version.unwrap_or(ProtocolVersion::NEWEST)
    }

    fn send(&mut self, plain: &[u8]) -> Vec<u8> {
        let mut wire = Vec::new();
        self.counters.packet_out();
        self.outgoing.send(plain, &mut self.counters, &mut wire).unwrap();
        self.counters.sent(wire.len());
        wire
    }

    fn receive(&mut self, mut wire: Vec<u8>) -> Vec<u8> {
        let mut plain = Vec::new();
        self.incoming.receive(&mut wire, &mut self.counters, &mut plain).unwrap();
        while self.incoming.has_more() {
            self.incoming.receive_more(&mut self.counters, &mut plain).unwrap();
        }
        plain
    }
}

struct Pair {
    client: End,
    server: End,
    requests: RequestDecoder,
    replies: ReplyDecoder,
}

impl Pair {
    fn new() -> Pair {
        Pair {
            client: End::default(),
            server: End::default(),
            requests: RequestDecoder::new(Limits::default()),
            replies: ReplyDecoder::new(Limits::default()),
        }
    }

    /// The client sends a request; gives it as the server got it.
    fn ask(&mut self, request: &Request) -> Request {
        let mut plain = Vec::new();
        request.encode(self.client.version(), &mut plain);
        self.replies.expect(request).unwrap();
        let wire = self.client.send(&plain);
        let plain = self.server.receive(wire);
        self.requests.feed(&plain);
        self.requests.next_request().unwrap().expect("a flushed request is whole")
    }

    /// The server answers; gives the reply as the client got it.
    fn answer(&mut self, reply: &Reply) -> Reply {
        let mut plain = Vec::new();
        reply.encode(self.server.version(), &mut plain);
        let wire = self.server.send(&plain);
        let plain = self.client.receive(wire);
        self.replies.feed(&plain);
        self.replies.next_reply().unwrap().expect("a flushed reply is whole").reply
    }
}

fn log_in(newest: ProtocolVersion, compress: bool, cipher: CryptPlugin) -> Pair {
    let (plugin, typed, password) = (AuthPlugin::from_name(b"Srp256").unwrap(), "joe", "secret");
    let AuthPlugin::Srp(hash) = plugin else { unreachable!() };
    let user = normalize_user_name(typed).unwrap();
    let stored = Verifier::create(&user, password, [0x5A; 32]);
    let mut pair = Pair::new();

    // 1. op_connect
    let client_login = ClientLogin::new([3; 32]);
    let identification = UserIdentification {
        login: Some(typed.into()),
        plugin: Some(plugin.name().into()),
        plugin_list: Some(b"Srp256, Srp".to_vec()),
        specific_data: Some(client_login.public_key().into_bytes()),
        ..UserIdentification::default()
    };
    let request = pair.ask(&Request::Connect(Connect {
        operation: 0,
        version: 3,
        architecture: 1,
        file: b"employee".to_vec(),
        user_identification: identification.to_bytes(),
        offers: offers(ProtocolVersion::V10, newest, compress),
    }));

    // 2. op_cond_accept with salt and public key
    let Request::Connect(connect) = request else { panic!("{request:?}") };
    let identification = UserIdentification::parse(&connect.user_identification).unwrap();
    let choice = connect.choose(ProtocolVersion::V19).unwrap();
    let data = identification.specific_data.unwrap();
    let server_login = ServerLogin::new(hash, &user, stored, &data, [7; 32]).unwrap();
    pair.requests.set_version(choice.version);
    pair.server.version = Some(choice.version);
    let reply = pair.answer(&Reply::ConditionalAccept(AcceptWithData {
        accept: choice.into(),
        data: server_login.challenge(),
        plugin: plugin.name().into(),
        authenticated: false,
        keys: Vec::new(),
    }));
    let Reply::ConditionalAccept(accept) = reply else { panic!("{reply:?}") };
    pair.client.version = accept.accept.protocol_version();
    assert_eq!(accept.accept.is_compressed(), choice.compress);
    if choice.compress {
        pair.server.incoming.compress();
        pair.server.outgoing.compress();
        pair.client.incoming.compress();
        pair.client.outgoing.compress();
    }

    // 3. op_cont_auth with the proof, 4. op_response with the keys
    let proof = client_login.respond(hash, &user, password, &accept.data).unwrap();
    let request = pair.ask(&Request::ContinueAuthentication(ContinueAuthentication {
        data: proof.proof.clone().into_bytes(),
        plugin: plugin.name().into(),
        plugin_list: b"Srp256, Srp".to_vec(),
        keys: Vec::new(),
    }));
    let Request::ContinueAuthentication(step) = request else { panic!("{request:?}") };
    let session_key = server_login.verify(&step.data).unwrap();
    pair.requests.authenticated();
    let ciphers = [
        (CryptPlugin::ChaCha64, vec![9; 8]),
        (CryptPlugin::ChaCha, [&[8; 12][..], &[0; 4]].concat()),
        (CryptPlugin::Arc4, Vec::new()),
    ];
    let announced = Keys::announce(&ciphers, choice.version);
    let reply = pair.answer(&Reply::Response(Response::data(Handle::NONE, announced.to_bytes())));
    let Reply::Response(response) = reply else { panic!("{reply:?}") };
    let keys = Keys::parse(&response.data).unwrap();
    assert!(keys.plugins.contains(&cipher), "{keys:?}");

    // 5. op_crypt in clear; the server hears and speaks encrypted from there, the client after the answer.
    let request = pair.ask(&Request::Crypt { plugin: cipher.name().into(), key: SYMMETRIC.into() });
    let Request::Crypt { plugin, .. } = request else { panic!("{request:?}") };
    let chosen = CryptPlugin::from_name(&plugin).unwrap();
    let server_cipher = || chosen.cipher(&session_key, announced.data_of(chosen)).unwrap();
    let client_cipher = || cipher.cipher(&proof.session_key, keys.data_of(cipher)).unwrap();
    pair.server.incoming.encrypt(server_cipher());
    pair.server.outgoing.encrypt(server_cipher());
    pair.client.incoming.encrypt(client_cipher());
    assert_eq!(pair.answer(&Reply::Response(Response::success())), Reply::Response(Response::success()));
    pair.client.outgoing.encrypt(client_cipher());
    pair
}

#[test]
fn logins_with_every_cipher_compressed_or_not() {
    for cipher in CryptPlugin::ALL {
        for compress in [false, true] {
            let mut pair = log_in(ProtocolVersion::V20, compress, cipher);
            let attach = Request::Attach(Attach {
                database: Handle::NONE,
                file: b"employee".to_vec(),
                parameters: vec![1, 28, 3, b'j', b'o', b'e'],
            });
            assert_eq!(pair.ask(&attach), attach, "{cipher:?} {compress}");
            let answer = Reply::Response(Response::success());
            assert_eq!(pair.answer(&answer), answer, "{cipher:?} {compress}");
        }
    }
}

/// Connecting, proving, encrypting: three round trips, and one for each request after.
#[test]
fn a_login_takes_three_round_trips() {
    let mut pair = log_in(ProtocolVersion::V19, false, CryptPlugin::ChaCha64);
    assert_eq!(pair.client.counters.round_trips, 3);
    pair.ask(&Request::Ping);
    pair.answer(&Reply::Response(Response::success()));
    assert_eq!(pair.client.counters.round_trips, 4);
    assert_eq!(pair.client.counters.out_bytes, pair.server.counters.in_bytes);
}

#[test]
fn old_clients_get_arc4_only() {
    let mut pair = log_in(ProtocolVersion::V13, false, CryptPlugin::Arc4);
    assert_eq!(pair.ask(&Request::Ping), Request::Ping);
}
