//! What a services manager tells of its server without running a service.
//!
//! Source: wire-protocol.md, 11.5 (isc_info_svc_svr_db_info).

use farbird_types::Result;
use farbird_wire::clumplet::spb;
use farbird_wire::info::common;

use crate::error;
use crate::service::Services;

/// isc_spb_num_att and isc_spb_num_db, and the end of the list.
const NUMBER_OF_ATTACHMENTS: u8 = 5;
const NUMBER_OF_DATABASES: u8 = 6;
const FLAG_END: u8 = 127;

/// The databases of a server that somebody is attached to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpenDatabases {
    /// Attachments to all of them.
    pub attachments: u32,
    /// Their files, as the server names them.
    pub databases: Vec<String>,
}

impl Services {
    /// The databases that somebody is attached to; for administrators.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_insufficient_svc_privileges` for others.
    pub async fn open_databases(&self) -> Result<OpenDatabases> {
        let question = self.ask_service(Vec::new(), &[spb::info::SVR_DB_INFO])?;
        let response = question.response().await?;
        OpenDatabases::parse(&response.data).ok_or_else(|| error::unexpected("a question about databases"))
    }
}

impl OpenDatabases {
    /// `None` if it is not what was asked for. A list that did not fit ends with what did.
    fn parse(data: &[u8]) -> Option<OpenDatabases> {
        let mut found = OpenDatabases::default();
        let mut rest = data;
        while let Some((&item, after)) = rest.split_first() {
            rest = after;
            match item {
                common::END | common::TRUNCATED => break,
                spb::info::SVR_DB_INFO | FLAG_END => {}
                NUMBER_OF_ATTACHMENTS | NUMBER_OF_DATABASES => {
                    let (number, after) = rest.split_first_chunk()?;
                    if item == NUMBER_OF_ATTACHMENTS {
                        found.attachments = u32::from_le_bytes(*number);
                    }
                    rest = after;
                }
                spb::DBNAME => {
                    let (length, after) = rest.split_first_chunk()?;
                    let (name, after) = after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
                    found.databases.push(String::from_utf8_lossy(name).into_owned());
                    rest = after;
                }
                _ => return None,
            }
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_understood_and_nonsense_is_refused() {
        let mut data = vec![50, 5, 3, 0, 0, 0, 6, 1, 0, 0, 0, spb::DBNAME, 2, 0];
        data.extend_from_slice(b"/a");
        data.extend_from_slice(&[127, 1]);
        let found = OpenDatabases::parse(&data).unwrap();
        assert_eq!(found, OpenDatabases { attachments: 3, databases: vec!["/a".to_owned()] });
        for nonsense in [&[50, 5, 1][..], &[50, spb::DBNAME, 9, 0, 1], &[99]] {
            assert_eq!(OpenDatabases::parse(nonsense), None);
        }
    }
}
