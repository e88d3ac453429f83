//! op_connect, and what answers it.
//!
//! What the program offers goes to the server but for what each hop does by itself: compression, and protocols whose messages
//! are memory images. The program proves its password to the server by what is relayed as it stands.

use farbird_wire::decoder::{Limits as DecoderLimits, RequestDecoder};
use farbird_wire::negotiation::UserIdentification;
use farbird_wire::packet::{Connect, Reply, Request};
use farbird_wire::protocol::{ARCHITECTURE_GENERIC, FLAG_COMPRESS, ProtocolVersion};

use super::private::{self, PrivateKeys};

/// The op_connect for the server; `None` if `packet` is none.
pub(super) fn for_server(packet: &[u8]) -> Option<Connect> {
    let mut decoder = RequestDecoder::new(DecoderLimits::default());
    decoder.feed(packet);
    let Ok(Some(Request::Connect(mut connect))) = decoder.next_request() else { return None };
    if !decoder.unread().is_empty() {
        return None;
    }
    connect.offers.retain(|offer| {
        offer.architecture == ARCHITECTURE_GENERIC && ProtocolVersion::from_wire(offer.version).is_some()
    });
    for offer in &mut connect.offers {
        offer.type_max &= !FLAG_COMPRESS;
    }
    Some(connect)
}

/// The user whom an op_connect names, as typed, if the login that it begins is one that can be prepared in advance.
pub fn user_of(packet: &[u8]) -> Option<String> {
    let connect = for_server(packet)?;
    let user = UserIdentification::parse(&connect.user_identification).ok()?;
    user.plugin.filter(|plugin| plugin.starts_with(b"Srp"))?;
    String::from_utf8(user.login?).ok()
}

/// The keys that a reply announces.
pub(super) fn keys_of(reply: &mut Reply) -> Option<&mut Vec<u8>> {
    match reply {
        Reply::AcceptWithData(accept) | Reply::ConditionalAccept(accept) => Some(&mut accept.keys),
        Reply::ContinueAuthentication(step) => Some(&mut step.keys),
        Reply::Response(response) => Some(&mut response.data),
        _ => None,
    }
}

/// Takes what is for an origin alone out of a reply to a step of the login.
pub(super) fn take_private_keys(reply: &mut Reply) -> PrivateKeys {
    keys_of(reply).map(private::take_private_keys).unwrap_or_default()
}
