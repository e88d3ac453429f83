//! What an attach says in its parameter block: about the login, the session, and a database to be made.
//!
//! Source: wire-protocol.md, 1.5, 3.6 and 11.2. Unknown items are ignored, as Firebird does.

use farbird_engine::api::{CreateDatabaseOptions, reported_page_size};
use farbird_engine::session::external::CALLS_MAX;
use farbird_types::{CharacterSet, Error, Result, isc};
use farbird_wire::auth::legacy;
use farbird_wire::clumplet::{Clumplet, ClumpletReader, dpb, spb};

use super::worker::AttachKind;

/// The login items of a DPB or SPB (wire-protocol.md, 3.6).
#[derive(Default)]
pub(super) struct LoginItems {
    pub(super) user: Option<String>,
    pub(super) password: Option<Vec<u8>>,
    pub(super) password_encoded: Option<Vec<u8>>,
    pub(super) plugin: Option<Vec<u8>>,
    pub(super) plugin_list: Option<Vec<u8>>,
    pub(super) data: Option<Vec<u8>>,
}

impl LoginItems {
    pub(super) fn parse(bytes: &[u8], kind: AttachKind) -> Result<LoginItems> {
        let mut items = LoginItems::default();
        let service = kind == AttachKind::Service;
        let reader = if service { ClumpletReader::spb_attach(bytes) } else { ClumpletReader::dpb(bytes) };
        for item in reader.map_err(|_| Error::new(isc::BAD_DPB_FORM))? {
            let item = item.map_err(|_| Error::new(isc::BAD_DPB_FORM))?;
            let data = || Some(item.data.to_vec());
            match item.tag {
                // One driver uses the numbers of the DPB in its SPB: both are taken there.
                dpb::USER_NAME => items.user = Some(item.text()),
                dpb::PASSWORD => items.password = data(),
                dpb::PASSWORD_ENC => items.password_encoded = data(),
                dpb::AUTH_PLUGIN_NAME => items.plugin = data(),
                dpb::AUTH_PLUGIN_LIST => items.plugin_list = data(),
                dpb::SPECIFIC_AUTH_DATA => items.data = data(),
                spb::AUTH_PLUGIN_NAME if service => items.plugin = data(),
                spb::AUTH_PLUGIN_LIST if service => items.plugin_list = data(),
                spb::TRUSTED_AUTH if service => items.data = data(),
                _ => {}
            }
        }
        Ok(items)
    }

    pub(super) fn password_hash(&self) -> Option<[u8; legacy::HASH_BYTES]> {
        match (&self.password_encoded, &self.password) {
            (Some(encoded), _) => legacy::parse_hash(encoded),
            (None, Some(plain)) => Some(legacy::hash(&String::from_utf8_lossy(plain))),
            (None, None) => None,
        }
    }
}

/// The items of a DPB that concern the attachment or a database to be made.
pub(super) struct DatabaseParameters {
    pub(super) user: Option<String>,
    pub(super) role: Option<String>,
    pub(super) character_set: CharacterSet,
    pub(super) dialect: u8,
    /// isc_dpb_parallel_workers.
    parallel_workers: Option<i32>,
    pub(super) time_zone: Option<String>,
    pub(super) no_database_triggers: bool,
    pub(super) process_name: String,
    pub(super) process_id: Option<i32>,
    pub(super) client_version: String,
    pub(super) inline_blob_bytes: Option<u32>,
    /// Whether an origin attaches before its program has asked for it.
    pub(super) is_ahead: bool,
    /// How many EXECUTE STATEMENTs the session is to run inside of.
    pub(super) external_depth: u32,
    /// The version of gbak that attaches.
    pub(super) gbak: Option<String>,
    /// Whether it is gfix that attaches.
    pub(super) is_gfix: bool,
    /// Rules of SET BIND, separated by semicolons.
    pub(super) set_bind: String,
    /// A mode of SET DECFLOAT ROUND.
    pub(super) decfloat_round: String,
    /// Traps of SET DECFLOAT TRAPS, separated by commas.
    pub(super) decfloat_traps: Option<String>,
    pub(super) create: CreateDatabaseOptions,
}

impl DatabaseParameters {
    /// Understands a DPB; unknown items are ignored, as Firebird does.
    pub(super) fn parse(bytes: &[u8]) -> Result<DatabaseParameters> {
        let mut parameters = DatabaseParameters {
            user: None,
            role: None,
            character_set: CharacterSet::NONE,
            dialect: 3,
            parallel_workers: None,
            time_zone: None,
            no_database_triggers: false,
            process_name: String::new(),
            process_id: None,
            client_version: String::new(),
            inline_blob_bytes: None,
            is_ahead: false,
            external_depth: 0,
            gbak: None,
            is_gfix: false,
            set_bind: String::new(),
            decfloat_round: String::new(),
            decfloat_traps: None,
            create: CreateDatabaseOptions {
                default_character_set: CharacterSet::NONE,
                page_size: 8192,
                overwrite: false,
                dialect: 3,
            },
        };
        for item in ClumpletReader::dpb(bytes).map_err(|_| Error::new(isc::BAD_DPB_FORM))? {
            let item = item.map_err(|_| Error::new(isc::BAD_DPB_FORM))?;
            match item.tag {
                dpb::USER_NAME => parameters.user = Some(item.text()),
                dpb::SQL_ROLE_NAME => parameters.role = Some(item.text()).filter(|role| !role.is_empty()),
                dpb::LC_CTYPE => parameters.character_set = character_set(&item.text())?,
                dpb::SQL_DIALECT => parameters.dialect = client_dialect(item.integer().unwrap_or_default())?,
                dpb::PARALLEL_WORKERS => {
                    parameters.parallel_workers = item.integer().and_then(|n| i32::try_from(n).ok());
                }
                dpb::SESSION_TIME_ZONE => {
                    parameters.time_zone = Some(item.text()).filter(|zone| !zone.is_empty())
                }
                dpb::SET_BIND => parameters.set_bind = item.text(),
                dpb::DECFLOAT_ROUND => parameters.decfloat_round = item.text(),
                dpb::DECFLOAT_TRAPS => parameters.decfloat_traps = Some(item.text()),
                dpb::NO_DB_TRIGGERS => parameters.no_database_triggers = item.flag(),
                dpb::PROCESS_NAME => parameters.process_name = item.text(),
                dpb::PROCESS_ID => {
                    parameters.process_id = item.integer().and_then(|number| i32::try_from(number).ok());
                }
                dpb::CLIENT_VERSION => parameters.client_version = item.text(),
                dpb::MAX_INLINE_BLOB_SIZE => {
                    parameters.inline_blob_bytes =
                        item.integer().and_then(|bytes| u32::try_from(bytes.max(0)).ok());
                }
                dpb::FARLINK_AHEAD => parameters.is_ahead = true,
                dpb::EXT_CALL_DEPTH => {
                    parameters.external_depth = parameters.external_depth.max(external_depth(&item)?);
                }
                dpb::GBAK_ATTACH => parameters.gbak = Some(item.text()),
                dpb::GFIX_ATTACH => parameters.is_gfix = true,
                dpb::SET_DB_CHARSET => {
                    let name = item.text();
                    parameters.create.default_character_set = character_set(&name)
                        .map_err(|_| Error::new(isc::CHARSET_NOT_INSTALLED).with(name))?;
                }
                dpb::PAGE_SIZE => {
                    let size = item.integer().and_then(|size| u32::try_from(size).ok()).unwrap_or_default();
                    parameters.create.page_size = reported_page_size(size);
                }
                dpb::OVERWRITE => parameters.create.overwrite = item.flag(),
                _ => {}
            }
        }
        parameters.create.dialect = parameters.dialect;
        Ok(parameters)
    }

    /// Refuses what a restore by requests cannot do: attachments beside the one that creates the database, and texts in another
    /// character set than they were stored in.
    ///
    /// # Errors
    /// `isc_wish_list`.
    pub(super) fn check_restore(&self) -> Result<()> {
        let refused = |why: &str| Err(Error::new(isc::WISH_LIST).and(isc::RANDOM).with(why));
        if self.parallel_workers.is_some_and(|workers| workers > 1) {
            return refused("gbak -c -parallel: one attachment restores; farbird restore is faster");
        }
        if self.character_set != CharacterSet::NONE {
            return refused("gbak -c -fix_fss_metadata");
        }
        Ok(())
    }

    /// How many threads its statements may use, if it says so. As in Firebird a negative number is one, and 0 too.
    pub(super) fn parallel_workers(&self) -> Option<usize> {
        self.parallel_workers.map(|workers| usize::try_from(workers).unwrap_or(1).max(1))
    }

    /// What was asked for and is not given, as Firebird warns of it: more threads than a statement may use.
    pub(super) fn warnings(&self, parallel_workers_max: usize) -> Option<Error> {
        let workers = self.parallel_workers?;
        let most = i32::try_from(parallel_workers_max).unwrap_or(i32::MAX);
        (!(0..=most).contains(&workers)).then(|| Error::new(isc::BAD_PAR_WORKERS).with(workers).with(most))
    }

    /// Whether a database can be made so. Dialect 2 is for clients on their way from 1 to 3 only.
    ///
    /// # Errors
    /// `isc_database_create_failed`.
    pub(super) fn check_create(&self, file: &str) -> Result<()> {
        if self.dialect != 2 {
            return Ok(());
        }
        Err(Error::new(isc::DATABASE_CREATE_FAILED)
            .with(file)
            .and(isc::INV_DIALECT_SPECIFIED)
            .with(2)
            .and(isc::VALID_DB_DIALECTS)
            .with("1 and 3"))
    }
}

/// How deep a session is inside of EXECUTE STATEMENTs. A client that says too much harms itself only.
///
/// # Errors
/// `isc_exec_sql_max_call_exceeded`.
fn external_depth(item: &Clumplet<'_>) -> Result<u32> {
    match item.integer().map(u32::try_from) {
        Some(Ok(depth)) if depth < CALLS_MAX => Ok(depth),
        _ => Err(Error::new(isc::EXEC_SQL_MAX_CALL_EXCEEDED)),
    }
}

/// A client's dialect; 0 asks for the newest.
fn client_dialect(number: i64) -> Result<u8> {
    match u8::try_from(number) {
        Ok(0) => Ok(3),
        Ok(dialect @ 1..=3) => Ok(dialect),
        _ => Err(Error::new(isc::INV_CLIENT_DIALECT_SPECIFIED)
            .with(i32::try_from(number).unwrap_or(i32::MAX))
            .and(isc::VALID_CLIENT_DIALECTS)
            .with("1, 2 or 3")),
    }
}

/// A character set by name.
fn character_set(name: &str) -> Result<CharacterSet> {
    if name.is_empty() {
        return Ok(CharacterSet::NONE);
    }
    CharacterSet::by_name(name)
        .ok_or_else(|| Error::new(isc::BAD_DPB_CONTENT).and(isc::CHARSET_NOT_FOUND).with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_depth_of_external_calls_only_rises() {
        let depth = |blocks: &[&[u8]]| {
            let items = blocks.iter().flat_map(|data| [&[dpb::EXT_CALL_DEPTH, 4], *data].concat());
            let bytes: Vec<u8> = std::iter::once(1).chain(items).collect();
            DatabaseParameters::parse(&bytes).map(|parameters| parameters.external_depth)
        };
        assert_eq!(depth(&[]), Ok(0));
        assert_eq!(depth(&[&[49, 0, 0, 0]]), Ok(49));
        assert_eq!(depth(&[&[7, 0, 0, 0], &[0, 0, 0, 0]]), Ok(7));
        for refused in [[50, 0, 0, 0], [255; 4]] {
            assert!(depth(&[&refused]).is_err_and(|error| error.has(isc::EXEC_SQL_MAX_CALL_EXCEEDED)));
        }
    }
}
