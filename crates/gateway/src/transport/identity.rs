//! Who is who in TLS: raw public keys (RFC 7250) that must be on the list. No certificates, so none expire.

use std::sync::Arc;

use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible,
    ServerConfig, SignatureScheme,
};

use super::connection::{Kind, PROTOCOL, TransportError};
use crate::pairing::{Keys, PublicKey};

/// What stands before the 32 bytes of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410).
const ED25519_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The key that the other end has shown.
fn public_key(shown: &CertificateDer<'_>) -> Option<PublicKey> {
    let key = shown.as_ref().strip_prefix(&ED25519_HEAD)?;
    Some(PublicKey(key.try_into().ok()?))
}

/// Who stands at the other end, as TLS has proved.
pub(super) fn proved(
    certificates: Option<&[CertificateDer<'static>]>,
    kind: Kind,
) -> Result<PublicKey, TransportError> {
    let key = certificates.and_then(|certificates| certificates.first()).and_then(|one| public_key(one));
    key.ok_or_else(|| TransportError::Security(kind, "the peer has shown no key".to_owned()))
}

pub(super) fn client(keys: &Keys) -> Result<ClientConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = own_key(keys)?;
    let verifier = Arc::new(Verifier::new(keys, &provider));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(setup)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(own)));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // A resumed session would not show its key again, and a revoked one could come back by it.
    config.resumption = rustls::client::Resumption::disabled();
    Ok(config)
}

pub(super) fn server(keys: &Keys) -> Result<ServerConfig, TransportError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let own = own_key(keys)?;
    let verifier = Arc::new(Verifier::new(keys, &provider));
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(setup)?
        .with_client_cert_verifier(verifier)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(config)
}

fn setup(error: Error) -> TransportError {
    TransportError::Setup(error.to_string())
}

fn own_key(keys: &Keys) -> Result<Arc<CertifiedKey>, TransportError> {
    let key =
        rustls::crypto::ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(keys.pkcs8())).map_err(setup)?;
    let public = [ED25519_HEAD.as_slice(), &keys.public().0].concat();
    Ok(Arc::new(CertifiedKey::new(vec![CertificateDer::from(public)], key)))
}

/// Looks for the key of the other end on the list, as it is at that moment: who has been put on it or struck off since the last connection is
/// told apart at once.
#[derive(Debug)]
struct Verifier {
    keys: Keys,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(keys: &Keys, provider: &CryptoProvider) -> Verifier {
        Verifier { keys: keys.clone(), algorithms: provider.signature_verification_algorithms }
    }

    fn is_trusted(&self, shown: &CertificateDer<'_>) -> Result<(), Error> {
        if let Err(error) = self.keys.reload() {
            tracing::error!("nobody is trusted: {error}");
        }
        let known = public_key(shown).and_then(|key| self.keys.peer(key));
        known.map(|_| ()).ok_or(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
    }

    fn has_signed(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }
}

const OLD: Error = Error::PeerIncompatible(PeerIncompatible::Tls13RequiredForQuic);

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.is_trusted(shown).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _shown: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(OLD)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.has_signed(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        shown: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.is_trusted(shown).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _shown: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(OLD)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.has_signed(message, shown, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
