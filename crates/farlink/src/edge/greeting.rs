//! What a server's answer to op_connect depends on: programs that greet alike are answered alike.

use farbird_wire::negotiation::UserIdentification;
use farbird_wire::packet::{Connect, Reply};

/// What the server's answer to op_connect depends on, beside salt and server key of the user.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Greeting {
    /// Version, type with flags and weight of each offer.
    offers: Vec<(u16, u16, u16)>,
    plugin: Vec<u8>,
    plugin_list: Vec<u8>,
    crypt: u8,
}

impl Greeting {
    /// That of a program that begins its login by SRP at once.
    pub(super) fn of(connect: &Connect, user: &UserIdentification) -> Option<Greeting> {
        let plugin = user.plugin.clone().filter(|plugin| plugin.starts_with(b"Srp"))?;
        user.specific_data.as_ref().filter(|data| !data.is_empty())?;
        Some(Greeting {
            offers: connect
                .offers
                .iter()
                .map(|offer| (offer.version, offer.type_max, offer.weight))
                .collect(),
            plugin,
            plugin_list: user.plugin_list.clone().unwrap_or_default(),
            crypt: user.wire_crypt as u8,
        })
    }
}

/// Salt and server key in an answer to op_connect that begins a login by SRP.
pub(super) fn challenge(reply: &Reply) -> Option<Vec<u8>> {
    match reply {
        Reply::ConditionalAccept(accept) => Some(accept.data.clone()),
        Reply::AcceptWithData(accept) if !accept.authenticated => Some(accept.data.clone()),
        _ => None,
    }
}

/// The same answer with another salt and server key.
pub(super) fn with_challenge(mut reply: Reply, data: &[u8]) -> Reply {
    if let Reply::ConditionalAccept(accept) | Reply::AcceptWithData(accept) = &mut reply {
        data.clone_into(&mut accept.data);
    }
    reply
}

/// Whether an answer to op_connect depends on nothing but the greeting, salt and server key.
pub(super) fn can_be_given_again(reply: &Reply) -> bool {
    let has_keys = match reply {
        Reply::ConditionalAccept(accept) | Reply::AcceptWithData(accept) => !accept.keys.is_empty(),
        _ => true,
    };
    !has_keys && challenge(reply).is_some_and(|data| !data.is_empty())
}
