//! The keys buffer: which keys a server has and which ciphers it would use them with.
//!
//! Source: wire-protocol.md, 4.1.

use super::CryptPlugin;
use crate::clumplet::{ClumpletReader, ClumpletWriter, Form};
use crate::protocol::ProtocolVersion;
use crate::xdr::DecodeError;

/// Tags of the buffer.
mod tag {
    pub(super) const KEY_TYPE: u8 = 0;
    pub(super) const KEY_PLUGINS: u8 = 1;
    pub(super) const KNOWN_PLUGINS: u8 = 2;
    pub(super) const PLUGIN_SPECIFIC: u8 = 3;
}

/// The session key itself, as a Farbird server hands it to the origin of a farlink in its own process, and to nobody else: a clumplet
/// behind all others.
pub const FARLINK_SESSION_KEY: u8 = 240;

/// Tag of a pass by which an edge logs the user in again.
pub const FARLINK_PASS: u8 = 241;

/// The only type of key there is.
pub const SYMMETRIC: &str = "Symmetric";

/// The clumplet of [`FARLINK_SESSION_KEY`].
pub fn farlink_session_key(key: &[u8]) -> Vec<u8> {
    let mut writer = ClumpletWriter::untagged(Form::Traditional);
    writer.bytes(FARLINK_SESSION_KEY, key);
    writer.into_bytes()
}

/// The clumplet of [`FARLINK_PASS`].
pub fn farlink_pass(pass: &[u8]) -> Vec<u8> {
    let mut writer = ClumpletWriter::untagged(Form::Traditional);
    writer.bytes(FARLINK_PASS, pass);
    writer.into_bytes()
}

/// A keys buffer, understood.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// Ciphers announced for the symmetric key, in the server's order; unknown ones left out.
    pub plugins: Vec<CryptPlugin>,
    /// Data of each cipher that has any.
    pub plugin_data: Vec<(CryptPlugin, Vec<u8>)>,
    /// Authentication plugins of the server, when it asks for another.
    pub known_plugins: Option<String>,
}

impl Keys {
    /// The announcement of a session key: the plugins with their data. Before protocol 16 there is no data, so only
    /// [`CryptPlugin::Arc4`] can be announced there, and the others are left out.
    pub fn announce(plugins: &[(CryptPlugin, Vec<u8>)], version: ProtocolVersion) -> Keys {
        let with_data = version.has_statement_timeout();
        let usable = plugins.iter().filter(|(plugin, _)| with_data || *plugin == CryptPlugin::Arc4);
        Keys {
            plugins: usable.clone().map(|(plugin, _)| *plugin).collect(),
            plugin_data: usable.filter(|(_, data)| !data.is_empty()).cloned().collect(),
            known_plugins: None,
        }
    }

    /// The data announced for a cipher.
    pub fn data_of(&self, plugin: CryptPlugin) -> &[u8] {
        let found = self.plugin_data.iter().find(|(of, _)| *of == plugin);
        found.map(|(_, data)| data.as_slice()).unwrap_or_default()
    }

    /// The buffer.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = ClumpletWriter::untagged(Form::Traditional);
        if let Some(known) = &self.known_plugins {
            writer.text(tag::KNOWN_PLUGINS, known);
        }
        if !self.plugins.is_empty() {
            writer.text(tag::KEY_TYPE, SYMMETRIC);
            let names: Vec<&str> = self.plugins.iter().map(|plugin| plugin.name()).collect();
            writer.text(tag::KEY_PLUGINS, &names.join(" "));
            for (plugin, data) in &self.plugin_data {
                let entry = [plugin.name().as_bytes(), &[0], data].concat();
                writer.bytes(tag::PLUGIN_SPECIFIC, &entry);
            }
        }
        writer.into_bytes()
    }

    /// Understands a buffer; unknown tags and ciphers are passed over.
    ///
    /// # Errors
    /// [`DecodeError`] for a buffer that ends inside an item.
    pub fn parse(bytes: &[u8]) -> Result<Keys, DecodeError> {
        let mut keys = Keys::default();
        let mut symmetric = false;
        for item in ClumpletReader::untagged(Form::Traditional, bytes) {
            let item = item?;
            match item.tag {
                tag::KEY_TYPE => symmetric = item.data == SYMMETRIC.as_bytes(),
                tag::KEY_PLUGINS if symmetric => {
                    let names = item.data.split(|byte| matches!(byte, b' ' | b','));
                    keys.plugins.extend(names.filter_map(CryptPlugin::from_name));
                }
                tag::KNOWN_PLUGINS => {
                    keys.known_plugins = Some(String::from_utf8_lossy(item.data).into_owned())
                }
                tag::PLUGIN_SPECIFIC => {
                    let mut parts = item.data.splitn(2, |byte| *byte == 0);
                    let plugin = parts.next().and_then(CryptPlugin::from_name);
                    if let (Some(plugin), Some(data)) = (plugin, parts.next()) {
                        keys.plugin_data.push((plugin, data.to_vec()));
                    }
                }
                _ => {}
            }
        }
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugins() -> Vec<(CryptPlugin, Vec<u8>)> {
        vec![
            (CryptPlugin::ChaCha64, vec![0, 1, 2, 3, 4, 5, 6, 7]),
            (CryptPlugin::ChaCha, vec![0; 16]),
            (CryptPlugin::Arc4, vec![]),
        ]
    }

    /// wire-protocol.md, 4.1, "Example for P≥16"
    #[test]
    fn the_example_of_protocol_16() {
        let keys = Keys::announce(&plugins(), ProtocolVersion::V16);
        let bytes = keys.to_bytes();
        let head = b"\x00\x09Symmetric\x01\x14ChaCha64 ChaCha Arc4\x03\x11ChaCha64\x00\x00\x01";
        assert!(bytes.starts_with(head));
        assert_eq!(Keys::parse(&bytes), Ok(keys));
    }

    #[test]
    fn before_protocol_16_only_arc4_is_announced() {
        let bytes = Keys::announce(&plugins(), ProtocolVersion::V13).to_bytes();
        assert_eq!(bytes, b"\x00\x09Symmetric\x01\x04Arc4");
    }
}
