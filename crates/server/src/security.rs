//! The server's users: a Farbird database of its own, `security.fbd` in the data folder.
//!
//! Passwords are kept as SRP verifiers; Legacy_Auth's weaker hash only where the configuration allows that plugin at
//! the time the password is set. Clients cannot open the file: `location` refuses its name.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use farbird_engine::api::{
    AttachOptions, ClientDescription, CreateDatabaseOptions, ExecuteOptions, Execution, Rows,
    TransactionHandle, TransactionParameters,
};
use farbird_engine::attachment::Attachment;
use farbird_engine::engine::Engine;
use farbird_engine::session::mapping::GlobalMappings;
use farbird_engine::users::{NoUsers, PreparedUsers, UserChange, UserDirectory, UserRecord, UserSettings};
use farbird_types::{CharacterSet, Error, Result, Text, Value, isc};
use farbird_wire::auth::legacy;
use farbird_wire::auth::srp::{SALT_BYTES, Verifier};
use parking_lot::Mutex;

use crate::location::SECURITY_DATABASE;

/// The administrator.
pub(crate) const SYSDBA: &str = "SYSDBA";
/// Everybody, as privileges say it.
const PUBLIC: &str = "PUBLIC";
/// RDB$USER_TYPE of users.
const USER_TYPE: i16 = 8;
/// "Password must be specified when creating user"
const PASSWORD_MISSING: u32 = 336_068_899;
/// What Firebird calls a security database, whatever its file is.
const SECURITY_ALIAS: &str = "security.db";
/// Characters of a generated password: no two look alike.
const PASSWORD_CHARACTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz23456789A";
/// Length of a generated password: 80 bits.
const PASSWORD_LENGTH: usize = 16;

/// What happened at the first start in a data folder.
#[derive(Debug)]
pub struct FirstStart {
    /// SYSDBA's password, if it was generated.
    pub generated_password: Option<String>,
}

/// Columns as Firebird's SRP user manager has them, so that an administrator recognises the table.
const CREATE_TABLE: &str = "CREATE TABLE PLG$SRP (
    PLG$USER_NAME VARCHAR(63) CHARACTER SET UTF8 NOT NULL PRIMARY KEY,
    PLG$VERIFIER VARCHAR(128) CHARACTER SET OCTETS NOT NULL,
    PLG$SALT VARCHAR(32) CHARACTER SET OCTETS NOT NULL,
    PLG$LEGACY VARCHAR(64) CHARACTER SET OCTETS,
    PLG$FIRST VARCHAR(32) CHARACTER SET UTF8,
    PLG$MIDDLE VARCHAR(32) CHARACTER SET UTF8,
    PLG$LAST VARCHAR(32) CHARACTER SET UTF8,
    PLG$COMMENT VARCHAR(4096) CHARACTER SET UTF8,
    PLG$ATTRIBUTES VARCHAR(4096) CHARACTER SET UTF8,
    PLG$ACTIVE BOOLEAN DEFAULT TRUE NOT NULL,
    PLG$ADMIN BOOLEAN DEFAULT FALSE NOT NULL)";

const SELECT_USER: &str =
    "SELECT PLG$USER_NAME, PLG$VERIFIER, PLG$SALT, PLG$LEGACY, PLG$FIRST, PLG$MIDDLE, PLG$LAST,
    PLG$COMMENT, PLG$ATTRIBUTES, PLG$ACTIVE, PLG$ADMIN FROM PLG$SRP";

/// The security database.
pub(crate) struct SecurityDatabase {
    /// One attachment serves all: logins are short and few.
    attachment: Mutex<Attachment>,
    legacy: bool,
}

/// What a login needs to know of a user.
pub(crate) struct Credentials {
    pub(crate) verifier: Verifier,
    /// The record of Legacy_Auth, if there is one.
    pub(crate) legacy: Option<Vec<u8>>,
    /// Whether the user may log in.
    pub(crate) active: bool,
    /// Whether the user administers the server.
    pub(crate) admin: bool,
}

/// A line of PLG$SRP.
#[derive(Clone, Default)]
struct UserRow {
    record: UserRecord,
    verifier: Vec<u8>,
    salt: Vec<u8>,
    legacy: Option<Vec<u8>>,
}

impl SecurityDatabase {
    /// Opens the security database of a data folder, or makes it with the user SYSDBA, whose password is `password` or
    /// a generated one.
    pub(crate) fn open(
        engine: Arc<Engine>,
        folder: &Path,
        legacy: bool,
        password: Option<String>,
    ) -> Result<(SecurityDatabase, Option<FirstStart>)> {
        let path = folder.join(SECURITY_DATABASE);
        let users: Arc<dyn UserDirectory> = Arc::new(NoUsers);
        if path.exists() {
            let attachment = engine.attach(&path, own_options(), users)?;
            return Ok((SecurityDatabase { attachment: Mutex::new(attachment), legacy }, None));
        }
        // Made under another name and renamed when whole: a start that breaks off leaves no server without users.
        let unfinished = folder.join(format!("{SECURITY_DATABASE}.new"));
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: true,
            dialect: 3,
        };
        let mut attachment =
            engine.create_database(&unfinished, &create, own_options(), Arc::clone(&users))?;
        in_transaction(&mut attachment, |attachment, transaction| {
            run(attachment, transaction, CREATE_TABLE, Vec::new()).map(|_| ())
        })?;
        let (password, generated_password) = match password {
            Some(password) => (password, None),
            None => {
                let generated = generate_password()?;
                (generated.clone(), Some(generated))
            }
        };
        let security = SecurityDatabase { attachment: Mutex::new(attachment), legacy };
        security.apply(&[UserChange::Create(UserSettings {
            name: SYSDBA.to_owned(),
            password: Some(password),
            admin: Some(true),
            ..UserSettings::default()
        })])?;
        security.attachment.into_inner().detach()?;
        std::fs::rename(&unfinished, &path).map_err(|error| {
            Error::new(isc::IO_ERROR)
                .with("rename")
                .with(path.display().to_string())
                .and(isc::RANDOM)
                .with(error.to_string())
        })?;
        let attachment = engine.attach(&path, own_options(), users)?;
        Ok((
            SecurityDatabase { attachment: Mutex::new(attachment), legacy },
            Some(FirstStart { generated_password }),
        ))
    }

    /// How the commit news call it.
    pub(crate) fn number(&self) -> u32 {
        self.attachment.lock().database().number
    }

    /// What a login of this (normalised) name needs; `None` if there is no such user.
    pub(crate) fn credentials(&self, user: &str) -> Result<Option<Credentials>> {
        let sql = format!("{SELECT_USER} WHERE PLG$USER_NAME = ?");
        let lines = self.read(&sql, vec![Value::text(user)])?;
        Ok(lines.into_iter().next().map(|line| Credentials {
            verifier: Verifier::from_stored(&line.salt, &line.verifier),
            legacy: line.legacy,
            active: line.record.active,
            admin: line.record.admin || user == SYSDBA,
        }))
    }

    /// Whether a user who administers nothing may create databases all the same (GRANT CREATE DATABASE).
    pub(crate) fn may_create_databases(&self, user: &str) -> Result<bool> {
        let creators = self.database_creators()?;
        Ok(creators.iter().any(|(name, kind)| *kind == USER_TYPE && (name == user || name == PUBLIC)))
    }

    fn read(&self, sql: &str, parameters: Vec<Value>) -> Result<Vec<UserRow>> {
        in_transaction(&mut self.attachment.lock(), |attachment, transaction| {
            Ok(run(attachment, transaction, sql, parameters)?.iter().map(|row| line(row)).collect())
        })
    }

    fn apply_one(
        &self,
        attachment: &mut Attachment,
        transaction: TransactionHandle,
        change: &UserChange,
    ) -> Result<()> {
        let known = |attachment: &mut Attachment, name: &str| -> Result<Option<UserRow>> {
            let sql = format!("{SELECT_USER} WHERE PLG$USER_NAME = ?");
            let found = run(attachment, transaction, &sql, vec![Value::text(name)])?;
            Ok(found.first().map(|row| line(row)))
        };
        let not_found = |name: &str| Error::new(isc::GSEC_ERR_REC_NOT_FOUND).with(name);
        let settings = match change {
            UserChange::Statement(statement) => {
                return run(attachment, transaction, statement, Vec::new()).map(|_| ());
            }
            UserChange::Drop(name) => {
                known(attachment, name)?.ok_or_else(|| not_found(name))?;
                if name == SYSDBA {
                    let why = "SYSDBA cannot be dropped; set it INACTIVE instead";
                    return Err(Error::new(isc::RANDOM).with(why));
                }
                let sql = "DELETE FROM PLG$SRP WHERE PLG$USER_NAME = ?";
                return run(attachment, transaction, sql, vec![Value::text(name)]).map(|_| ());
            }
            UserChange::Create(settings)
            | UserChange::Alter(settings)
            | UserChange::CreateOrAlter(settings) => settings,
        };
        let name = settings.name.as_str();
        let old = known(attachment, name)?;
        match (change, &old) {
            (UserChange::Create(_), Some(_)) => {
                return Err(Error::new(isc::GSEC_ERR_ADD)
                    .and(isc::UNIQUE_KEY_VIOLATION)
                    .with("INTEG_2")
                    .with("PLG$SRP")
                    .and(isc::IDX_KEY_VALUE)
                    .with(format!("(\"PLG$USER_NAME\" = '{name}')")));
            }
            (UserChange::Alter(_), None) => return Err(not_found(name)),
            _ => {}
        }
        let is_new = old.is_none();
        if is_new && settings.password.is_none() {
            // "Password must be specified when creating user".
            return Err(Error::new(PASSWORD_MISSING));
        }
        let line = self.changed(old.unwrap_or_default(), settings)?;
        self.write(attachment, transaction, &line)
    }

    fn changed(&self, mut line: UserRow, settings: &UserSettings) -> Result<UserRow> {
        let is_new = line.record.name.is_empty();
        line.record.name.clone_from(&settings.name);
        if is_new {
            line.record.active = true;
        }
        if let Some(password) = &settings.password {
            if password.is_empty() {
                return Err(Error::new(isc::RANDOM).with("an empty password would let anybody in"));
            }
            let verifier = Verifier::create(&settings.name, password, random::<SALT_BYTES>()?);
            line.salt = verifier.salt();
            line.verifier = verifier.verifier();
            line.legacy = match self.legacy {
                false => None,
                true => {
                    let salt = random::<{ legacy::SALT_BYTES }>()?
                        .map(|byte| PASSWORD_CHARACTERS[usize::from(byte) % 32]);
                    Some(legacy::stored_record(&settings.name, &legacy::hash(password), &salt))
                }
            };
        }
        let set = |field: &mut Option<String>, new: &Option<String>| {
            if let Some(new) = new {
                *field = Some(new.clone()).filter(|text| !text.is_empty());
            }
        };
        set(&mut line.record.first_name, &settings.first_name);
        set(&mut line.record.middle_name, &settings.middle_name);
        set(&mut line.record.last_name, &settings.last_name);
        set(&mut line.record.description, &settings.description);
        line.record.active = settings.active.unwrap_or(line.record.active);
        line.record.admin = settings.admin.unwrap_or(line.record.admin);
        for (tag, value) in &settings.tags {
            match value {
                Some(value) => line.record.tags.insert(tag.clone(), value.clone()),
                None => line.record.tags.remove(tag),
            };
        }
        Ok(line)
    }

    fn write(
        &self,
        attachment: &mut Attachment,
        transaction: TransactionHandle,
        line: &UserRow,
    ) -> Result<()> {
        let text = |text: &Option<String>| text.as_deref().map_or(Value::Null, Value::text);
        let octets = |bytes: &[u8]| Value::Text(Text::new(bytes, CharacterSet::OCTETS));
        let record = &line.record;
        let values = vec![
            Value::text(&record.name),
            octets(&line.verifier),
            octets(&line.salt),
            line.legacy.as_deref().map_or(Value::Null, octets),
            text(&record.first_name),
            text(&record.middle_name),
            text(&record.last_name),
            text(&record.description),
            if record.tags.is_empty() { Value::Null } else { Value::text(&print_tags(&record.tags)) },
            Value::Boolean(record.active),
            Value::Boolean(record.admin),
        ];
        let sql =
            "UPDATE OR INSERT INTO PLG$SRP (PLG$USER_NAME, PLG$VERIFIER, PLG$SALT, PLG$LEGACY, PLG$FIRST,
            PLG$MIDDLE, PLG$LAST, PLG$COMMENT, PLG$ATTRIBUTES, PLG$ACTIVE, PLG$ADMIN)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) MATCHING (PLG$USER_NAME)";
        run(attachment, transaction, sql, values).map(|_| ())
    }
}

impl UserDirectory for SecurityDatabase {
    fn list(&self) -> Result<Vec<UserRecord>> {
        let sql = format!("{SELECT_USER} ORDER BY PLG$USER_NAME");
        Ok(self.read(&sql, Vec::new())?.into_iter().map(|line| line.record).collect())
    }

    fn mappings(&self) -> Result<GlobalMappings> {
        let attachment = self.attachment.lock();
        let database = attachment.database();
        let file = database.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(GlobalMappings {
            mappings: database.catalog().mappings.values().map(Arc::clone).collect(),
            security_database: vec![SECURITY_ALIAS.to_owned(), file, database.path.display().to_string()],
        })
    }

    fn database_creators(&self) -> Result<Vec<(String, i16)>> {
        Ok(self.attachment.lock().database_creators())
    }

    fn prepare(&self, changes: &[UserChange]) -> Result<Box<dyn PreparedUsers + '_>> {
        let mut attachment = self.attachment.lock();
        // Nobody may wait here: the attachment is locked, and whoever is waited for needs it to go on.
        let parameters = TransactionParameters { lock_timeout: Some(Duration::ZERO), ..Default::default() };
        let transaction = attachment.start_transaction(parameters)?;
        // Undone by its destructor, which needs the lock, if anything fails.
        let prepared = Prepared { security: self, transaction: Some(transaction) };
        let made = changes.iter().try_for_each(|change| self.apply_one(&mut attachment, transaction, change));
        drop(attachment);
        made.map(|()| Box::new(prepared) as Box<dyn PreparedUsers>)
    }
}

/// Changes of users in a transaction of the security database.
struct Prepared<'s> {
    security: &'s SecurityDatabase,
    transaction: Option<TransactionHandle>,
}

impl PreparedUsers for Prepared<'_> {
    fn commit(mut self: Box<Self>) -> Result<()> {
        let Some(transaction) = self.transaction else { return Ok(()) };
        self.security.attachment.lock().commit(transaction)?;
        self.transaction = None;
        Ok(())
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.take()
            && let Err(error) = self.security.attachment.lock().rollback(transaction)
        {
            tracing::warn!(%error, "rollback in the security database failed");
        }
    }
}

/// How the server itself attaches.
pub(crate) fn own_options() -> AttachOptions {
    AttachOptions {
        user: SYSDBA.to_owned(),
        role: None,
        character_set: CharacterSet::UTF8,
        dialect: 3,
        time_zone: None,
        no_database_triggers: true,
        client: ClientDescription::default(),
    }
}

/// Runs `work` in a transaction: committed if it succeeds, rolled back if not.
fn in_transaction<T>(
    attachment: &mut Attachment,
    work: impl FnOnce(&mut Attachment, TransactionHandle) -> Result<T>,
) -> Result<T> {
    let transaction = attachment.start_transaction(TransactionParameters::default())?;
    let done =
        work(attachment, transaction).and_then(|result| attachment.commit(transaction).map(|()| result));
    if done.is_err()
        && let Err(rollback) = attachment.rollback(transaction)
    {
        tracing::warn!(error = %rollback, "rollback in the security database failed");
    }
    done
}

/// Runs one statement and gives its rows.
fn run(
    attachment: &mut Attachment,
    transaction: TransactionHandle,
    sql: &str,
    parameters: Vec<Value>,
) -> Result<Vec<Vec<Value>>> {
    let statement = attachment.allocate_statement()?;
    let result = (|| {
        let description = attachment.prepare(statement, Some(transaction), sql, 3)?;
        let execution =
            attachment.execute(statement, Some(transaction), parameters, ExecuteOptions::default())?;
        let mut rows = Rows::default();
        rows.reset(description.columns.len());
        if execution == Execution::CursorOpened {
            attachment.fetch(statement, usize::MAX, &mut rows)?;
        }
        Ok(rows.iter().map(<[Value]>::to_vec).collect())
    })();
    attachment.drop_statement(statement)?;
    result
}

/// A row of [`SELECT_USER`].
fn line(row: &[Value]) -> UserRow {
    let bytes = |index: usize| match row.get(index) {
        Some(Value::Text(text)) => Some(text.bytes().to_vec()),
        _ => None,
    };
    let text = |index: usize| bytes(index).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let truth = |index: usize| row.get(index) == Some(&Value::Boolean(true));
    UserRow {
        record: UserRecord {
            name: text(0).unwrap_or_default(),
            first_name: text(4),
            middle_name: text(5),
            last_name: text(6),
            description: text(7),
            tags: text(8).map(|tags| parse_tags(&tags)).unwrap_or_default(),
            active: truth(9),
            admin: truth(10),
        },
        verifier: bytes(1).unwrap_or_default(),
        salt: bytes(2).unwrap_or_default(),
        legacy: bytes(3),
    }
}

/// Tags as `name=value` lines, as Firebird stores them.
fn print_tags(tags: &BTreeMap<String, String>) -> String {
    tags.iter().map(|(name, value)| format!("{name}={value}\n")).collect()
}

fn parse_tags(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Error::new(isc::RANDOM).with(error.to_string()))?;
    Ok(bytes)
}

fn generate_password() -> Result<String> {
    let bytes = random::<PASSWORD_LENGTH>()?;
    Ok(bytes.iter().map(|byte| char::from(PASSWORD_CHARACTERS[usize::from(byte % 32)])).collect())
}
