//! The first two packets: what a client offers, what a server picks, whether the line is to be encrypted.
//!
//! Uses [`crate::packet`], [`crate::clumplet`]. Source: wire-protocol.md, 2.

use farbird_types::{Error, isc};

use crate::clumplet::{ClumpletReader, ClumpletWriter, Form};
use crate::packet::{Accept, Connect, ProtocolOffer};
use crate::protocol::{
    ARCHITECTURE_GENERIC, CONNECTION_TYPE_MASK, ConnectionType, FLAG_COMPRESS, ProtocolVersion,
};
use crate::xdr::DecodeError;

/// What a server picked from the offers of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    /// The version.
    pub version: ProtocolVersion,
    /// The connection type: [`ConnectionType`] as a number.
    pub connection_type: u16,
    /// Whether everything after the accept is compressed.
    pub compress: bool,
}

impl Choice {
    /// Whether packets may be deferred and [`crate::protocol::Handle::LATEST`] be used.
    pub fn is_lazy(&self) -> bool {
        self.connection_type == ConnectionType::LazySend as u16
    }
}

impl From<Choice> for Accept {
    fn from(choice: Choice) -> Accept {
        let flags = if choice.compress { FLAG_COMPRESS } else { 0 };
        Accept::generic(choice.version, choice.connection_type | flags)
    }
}

impl Connect {
    /// Picks a protocol up to `newest` as Firebird does: the greatest weight wins, of equal ones the last. `None`
    /// if nothing suits: answer op_reject.
    pub fn choose(&self, newest: ProtocolVersion) -> Option<Choice> {
        let mut best: Option<(u16, Choice)> = None;
        for offer in &self.offers {
            let Some(version) = ProtocolVersion::from_wire(offer.version) else { continue };
            let outweighed = best.as_ref().is_some_and(|(weight, _)| offer.weight < *weight);
            if version > newest || offer.architecture != ARCHITECTURE_GENERIC || outweighed {
                continue;
            }
            let most = offer.type_max & CONNECTION_TYPE_MASK;
            let choice = Choice {
                version,
                connection_type: most.min(ConnectionType::LazySend as u16),
                compress: version.has_plugins() && offer.type_max & FLAG_COMPRESS != 0,
            };
            best = Some((offer.weight, choice));
        }
        best.map(|(_, choice)| choice)
    }
}

/// The offers of a client that speaks all versions from `oldest` to `newest`, the later the better.
pub fn offers(oldest: ProtocolVersion, newest: ProtocolVersion, compress: bool) -> Vec<ProtocolOffer> {
    let versions = (oldest.number()..=newest.number()).filter_map(ProtocolVersion::new);
    versions
        .zip(1_u16..)
        .map(|(version, rank)| ProtocolOffer {
            version: version.to_wire(),
            architecture: ARCHITECTURE_GENERIC,
            type_min: 0,
            type_max: ConnectionType::LazySend as u16
                | if compress && version.has_plugins() { FLAG_COMPRESS } else { 0 },
            weight: rank * 2,
        })
        .collect()
}

/// Tags of the user identification.
pub mod tag {
    #![allow(missing_docs)]
    pub const USER: u8 = 1;
    pub const HOST: u8 = 4;
    pub const GROUP: u8 = 5;
    pub const USER_VERIFICATION: u8 = 6;
    pub const SPECIFIC_DATA: u8 = 7;
    pub const PLUGIN_NAME: u8 = 8;
    pub const LOGIN: u8 = 9;
    pub const PLUGIN_LIST: u8 = 10;
    pub const CLIENT_CRYPT: u8 = 11;
}

/// Who a client says it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserIdentification {
    /// User of the client's operating system.
    pub user: Vec<u8>,
    /// Name of the client's machine.
    pub host: Vec<u8>,
    /// The login, as typed.
    pub login: Option<Vec<u8>>,
    /// The plugin that made the data.
    pub plugin: Option<Vec<u8>>,
    /// All plugins of the client.
    pub plugin_list: Option<Vec<u8>>,
    /// The plugin's first data, put together from its parts.
    pub specific_data: Option<Vec<u8>>,
    /// Encryption wanted; "enabled" if the client does not say.
    pub wire_crypt: WireCrypt,
    /// Items of tags that Firebird does not know: where our own peers announce themselves.
    pub extensions: Vec<(u8, Vec<u8>)>,
}

/// Bytes of plugin data in one item: one of its 255 numbers the part.
const PART_BYTES: usize = 254;

impl UserIdentification {
    /// Understands the block of op_connect.
    ///
    /// # Errors
    /// isc_multi_segment_dup or isc_multi_segment for plugin data in wrong parts, isc_bad_dpb_form for a block
    /// that ends inside an item.
    pub fn parse(bytes: &[u8]) -> Result<UserIdentification, Error> {
        let mut user = UserIdentification::default();
        let mut parts: Vec<(u8, &[u8])> = Vec::new();
        for item in ClumpletReader::untagged(Form::Traditional, bytes) {
            let item = item.map_err(|_: DecodeError| Error::new(isc::BAD_DPB_FORM))?;
            let data = || item.data.to_vec();
            match item.tag {
                tag::USER => user.user = data(),
                tag::HOST => user.host = data(),
                tag::LOGIN => user.login = Some(data()),
                tag::PLUGIN_NAME => user.plugin = Some(data()),
                tag::PLUGIN_LIST => user.plugin_list = Some(data()),
                tag::SPECIFIC_DATA => {
                    if let Some((number, part)) = item.data.split_first() {
                        parts.push((*number, part));
                    }
                }
                tag::CLIENT_CRYPT => {
                    user.wire_crypt = WireCrypt::from_level(item.integer().unwrap_or(1));
                }
                2 | 3 | tag::GROUP | tag::USER_VERIFICATION => {}
                _ => user.extensions.push((item.tag, data())),
            }
        }
        user.specific_data = join_parts(parts)?;
        Ok(user)
    }

    /// The block of op_connect, in fbclient's order.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = ClumpletWriter::untagged(Form::Traditional);
        let optional = |writer: &mut ClumpletWriter, tag, data: &Option<Vec<u8>>| {
            if let Some(data) = data {
                writer.bytes(tag, data);
            }
        };
        optional(&mut writer, tag::LOGIN, &self.login);
        optional(&mut writer, tag::PLUGIN_NAME, &self.plugin);
        optional(&mut writer, tag::PLUGIN_LIST, &self.plugin_list);
        if let Some(data) = &self.specific_data {
            // Even no data is one part, which tells it from no answer.
            let parts = data.chunks(PART_BYTES).chain(data.is_empty().then_some(&[][..]));
            for (number, part) in (0_u8..).zip(parts) {
                writer.bytes(tag::SPECIFIC_DATA, &[&[number], part].concat());
            }
        }
        writer.integer(tag::CLIENT_CRYPT, self.wire_crypt as i32);
        writer.bytes(tag::USER, &self.user);
        writer.bytes(tag::HOST, &self.host);
        writer.flag(tag::USER_VERIFICATION);
        for (tag, data) in &self.extensions {
            writer.bytes(*tag, data);
        }
        writer.into_bytes()
    }
}

fn join_parts(mut parts: Vec<(u8, &[u8])>) -> Result<Option<Vec<u8>>, Error> {
    if parts.is_empty() {
        return Ok(None);
    }
    parts.sort_by_key(|(number, _)| *number);
    let mut joined = Vec::new();
    for (wanted, (number, part)) in (0_u8..).zip(&parts) {
        if *number < wanted {
            return Err(Error::new(isc::MULTI_SEGMENT_DUP).with(i32::from(*number)));
        }
        if *number > wanted {
            return Err(Error::new(isc::MULTI_SEGMENT).with(i32::from(wanted)));
        }
        joined.extend_from_slice(part);
    }
    Ok(Some(joined))
}

/// How much a side wants the line encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum WireCrypt {
    /// Not at all.
    Disabled = 0,
    /// If the other side can.
    #[default]
    Enabled = 1,
    /// Or no connection.
    Required = 2,
}

impl WireCrypt {
    fn from_level(level: i64) -> WireCrypt {
        match level {
            0 => WireCrypt::Disabled,
            2 => WireCrypt::Required,
            _ => WireCrypt::Enabled,
        }
    }

    /// What both sides together want.
    ///
    /// # Errors
    /// isc_wirecrypt_incompatible if one refuses what the other requires.
    pub fn merge(self, other: WireCrypt) -> Result<WireCrypt, Error> {
        match (self.min(other), self.max(other)) {
            (WireCrypt::Disabled, WireCrypt::Required) => Err(Error::new(isc::WIRECRYPT_INCOMPATIBLE)),
            (WireCrypt::Disabled, _) => Ok(WireCrypt::Disabled),
            (_, most) => Ok(most),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connect(offers: Vec<ProtocolOffer>) -> Connect {
        Connect {
            operation: 0,
            version: 3,
            architecture: 1,
            file: b"employee".to_vec(),
            user_identification: Vec::new(),
            offers,
        }
    }

    #[test]
    fn the_newest_common_version_wins_with_its_flags() {
        let connect = connect(offers(ProtocolVersion::V10, ProtocolVersion::V20, true));
        let choice = connect.choose(ProtocolVersion::V19).unwrap();
        assert_eq!(choice, Choice { version: ProtocolVersion::V19, connection_type: 5, compress: true });
        let accept = Accept::from(choice);
        assert_eq!((accept.version, accept.architecture, accept.connection_type), (0x8013, 1, 0x105));
        let old = connect.choose(ProtocolVersion::V12).unwrap();
        assert_eq!((old.version, old.compress), (ProtocolVersion::V12, false));
    }

    #[test]
    fn strange_offers_are_passed_over_and_later_ones_win_ties() {
        let offer = |version, architecture, type_max, weight| ProtocolOffer {
            version,
            architecture,
            type_min: 2,
            type_max,
            weight,
        };
        let chosen = connect(vec![
            offer(10, 1, 3, 2),
            offer(0x800B, 1, 5, 4),
            offer(0x800C, 1, 5, 4),
            offer(0x800D, 36, 5, 6),
            offer(0xC001, 1, 5, 8),
        ])
        .choose(ProtocolVersion::V19);
        assert_eq!(chosen.map(|choice| choice.version), Some(ProtocolVersion::V12));
        assert_eq!(connect(vec![offer(9, 1, 5, 2)]).choose(ProtocolVersion::V19), None);
    }

    #[test]
    fn plugin_data_travels_in_parts() {
        let user = UserIdentification {
            login: Some(b"SYSDBA".to_vec()),
            plugin: Some(b"Srp256".to_vec()),
            plugin_list: Some(b"Srp256,Srp".to_vec()),
            specific_data: Some((0..300_u32).map(|i| i as u8).collect()),
            user: b"joe".to_vec(),
            host: b"box".to_vec(),
            wire_crypt: WireCrypt::Required,
            extensions: vec![(0xF0, vec![1, 2])],
        };
        assert_eq!(UserIdentification::parse(&user.to_bytes()), Ok(user));
        let code = |bytes: &[u8]| UserIdentification::parse(bytes).unwrap_err().gds_code();
        assert_eq!(code(&[7, 2, 0, b'A', 7, 2, 0, b'B']), isc::MULTI_SEGMENT_DUP);
        assert_eq!(code(&[7, 2, 0, b'A', 7, 2, 2, b'B']), isc::MULTI_SEGMENT);
        assert_eq!(
            UserIdentification::parse(&[7, 2, 1, b'B', 7, 2, 0, b'A']).unwrap().specific_data.unwrap(),
            b"AB"
        );
    }

    #[test]
    fn wire_encryption_levels_merge_as_in_the_table() {
        use WireCrypt::{Disabled, Enabled, Required};
        for (client, server, merged) in [
            (Disabled, Disabled, Some(Disabled)),
            (Disabled, Enabled, Some(Disabled)),
            (Disabled, Required, None),
            (Enabled, Enabled, Some(Enabled)),
            (Enabled, Required, Some(Required)),
            (Required, Required, Some(Required)),
        ] {
            assert_eq!(client.merge(server).ok(), merged);
            assert_eq!(server.merge(client).ok(), merged);
        }
    }
}
