//! What gbak restores into a server by requests (`gbak -c` without `-se`): rows that it has stored into system tables become
//! definitions, in the order of a restored backup.
//!
//! 1. Tables are made when gbak prepares to store rows into them. What is computed, and which CHECKs domains have, it says only later.
//! 2. When it commits what it has read of the backup, everything else is made: the other tables, keys and indexes, code.
//! 3. Then it activates indexes one by one, and learns which of them could not be made.
//! 4. In its last transaction it says who owns what: owners, comments, privileges and the values of sequences come then.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use farbird_gbak::attribute::{charset, constraint, index};
use farbird_gbak::write::{Database as _, Definitions, LeftOut};
use farbird_gbak::{Attribute, Record, RecordKind};
use farbird_types::{CharacterSet, Error, Result, Value, isc};

use super::failure::{GbakError, GbakResult, status};
use super::file_database::{CopyError, FileDatabase};
use super::maker::Maker;
use super::runner::Runner;
use super::schema::Schema;
use super::statements::Statements;
use crate::api::{AttachOptions, CreateDatabaseOptions, TransactionHandle};
use crate::attachment::{Attachment, DatabaseRestore};
use crate::backup::Difference;
use crate::catalog::CatalogObject;
use crate::engine::Engine;
use crate::users::UserDirectory;

/// RDB$OBJECT_TYPE as Firebird 4 and later have it. What gbak of Firebird 3 writes has format 10's numbers.
const FORMAT: i64 = 11;
const FORMAT_OF_3: i64 = 10;
/// Other default collations than the character sets' own.
const DEFAULT_COLLATIONS: &str = "select RDB$CHARACTER_SET_NAME, RDB$DEFAULT_COLLATE_NAME from RDB$CHARACTER_SETS \
                                  where RDB$DEFAULT_COLLATE_NAME <> RDB$CHARACTER_SET_NAME";

/// RDB$INDEX_INACTIVE of an index that stays so. gbak has 3 there until it activates it.
const INACTIVE: i64 = 1;
const FILTERS: &str = "filters are not supported";
const SHADOWS: &str = "shadows are not supported";
const REPLICATION: &str = "replication is not supported";

/// A restore by requests.
struct LiveRestore {
    maker: Maker,
    format: i64,
    is_defined: bool,
    /// Indexes that transactions activate.
    activated: BTreeMap<TransactionHandle, String>,
    /// What there is nothing for here.
    without_records: Vec<Difference>,
    /// The transaction by which gbak says who owns what.
    last: Option<TransactionHandle>,
}

impl Engine {
    /// As [`Engine::create_database`], for gbak, which restores into it by requests: it stores rows into system tables. `is_of_3` says
    /// that it is the one of Firebird 3. As gbak asks for, nobody else is let in until it brings the database online.
    ///
    /// # Errors
    /// As [`Engine::create_database`].
    pub fn create_restored_database(
        self: &Arc<Self>,
        path: &Path,
        create: &CreateDatabaseOptions,
        options: AttachOptions,
        users: Arc<dyn UserDirectory>,
        is_of_3: bool,
    ) -> Result<Attachment> {
        let mut attachment = self.create_database(path, create, options, users)?;
        let runner = Runner::beside(self, &attachment)?;
        attachment.begin_restoring(Box::new(LiveRestore {
            maker: Maker::new(Schema::default(), runner, &attachment.interrupt().cancel),
            format: if is_of_3 { FORMAT_OF_3 } else { FORMAT },
            is_defined: false,
            activated: BTreeMap::new(),
            without_records: Vec::new(),
            last: None,
        }))?;
        Ok(attachment)
    }
}

impl DatabaseRestore for LiveRestore {
    fn is_defined(&self) -> bool {
        self.is_defined
    }

    fn note_activated(&mut self, by: TransactionHandle, index: String) {
        self.activated.insert(by, index);
    }

    fn note_last(&mut self, transaction: TransactionHandle) {
        self.last = Some(transaction);
    }

    fn is_last(&self, transaction: TransactionHandle) -> bool {
        self.last == Some(transaction)
    }

    fn forget(&mut self, transaction: TransactionHandle) {
        self.activated.remove(&transaction);
    }

    fn read(&mut self, attachment: &mut Attachment, transaction: TransactionHandle) -> Result<CharacterSet> {
        let session = Arc::clone(attachment.session());
        let value = |name: &str| session.restored.lock().as_ref().map_or(0, |rows| rows.sequence(name));
        let database = FileDatabase::attached(attachment, transaction);
        let definitions = Definitions::read_with_values(&database, value).map_err(status_of)?;
        self.maker.schema = Schema::of(&definitions);
        let mut collations = Vec::new();
        let read = database.query(DEFAULT_COLLATIONS, &mut |row| {
            let attributes = [charset::NAME, charset::COLL].into_iter().zip(row);
            let attributes = attributes.filter_map(|(number, value)| match value {
                Value::Text(text) => Some(Attribute { number, bytes: text.bytes().to_vec() }),
                _ => None,
            });
            collations.push(Record { kind: RecordKind::CharacterSet, attributes: attributes.collect() });
            Ok(())
        });
        read.map_err(status_of)?;
        for record in collations {
            self.maker.schema.add(record, None);
        }
        self.without_records = definitions.without_records().iter().filter_map(left_out).collect();
        Ok(self.maker.schema.default_character_set())
    }

    fn knows_table(&self, name: &str) -> bool {
        self.maker.schema.relation(name).is_some()
    }

    fn make_table(&mut self, name: &str, columns: &[String]) -> Result<()> {
        self.maker.make_table(name, columns).map_err(|error| self.status(error))
    }

    fn define(&mut self) -> Result<()> {
        let mut all = || -> GbakResult<()> {
            let waiting = self.maker.begin()?;
            self.maker.keys_and_code(waiting, &mut |_, _, _| {})
        };
        let done = all();
        done.map_err(|error| self.status(error))?;
        self.tell_active_keys();
        self.is_defined = true;
        Ok(())
    }

    fn refusal(&mut self, transaction: TransactionHandle) -> Option<Error> {
        let name = self.activated.remove(&transaction)?;
        let (table, record) = self.maker.schema.index(&name)?;
        let constraints = self.maker.schema.constraints_of(&table.name);
        let own = constraints
            .filter(|it| it.name(constraint::INDEX).as_ref() == Some(&name))
            .find_map(|it| it.name(constraint::NAME));
        let object = match &own {
            Some(constraint) => format!("constraint {constraint} of table {}", table.name),
            None => format!("index {name} of table {}", table.name),
        };
        let error = self.maker.refused.remove(&object)?;
        let statements = Statements { schema: &self.maker.schema };
        let inactive = own.is_none().then(|| statements.index(table, &name, record, true));
        if let Some(inactive) = inactive {
            let made = self.maker.runner.run(&inactive.sql).and_then(|()| self.maker.runner.commit());
            if let Err(error) = made {
                return Some(error);
            }
        }
        self.maker.differences.retain(|it| it.object != object);
        Some(error)
    }

    fn last_objects(&mut self) -> Result<Vec<CatalogObject>> {
        let objects = self.maker.last_objects(self.format);
        objects.map_err(|error| self.status(error))
    }

    fn differences(self: Box<Self>) -> Vec<(String, String)> {
        let all = self.maker.differences.into_iter().chain(self.without_records);
        all.map(|it| (it.object, it.reason)).collect()
    }
}

impl LiveRestore {
    /// Keys are always active, whatever `gbak -i` says of their indexes.
    fn tell_active_keys(&mut self) {
        let schema = &self.maker.schema;
        let keys = schema.all(RecordKind::Constraint).iter().filter_map(|record| {
            let (_, own) = schema.index(&record.name(constraint::INDEX)?)?;
            (own.number(index::INACTIVE) == Some(INACTIVE)).then(|| Difference {
                object: format!(
                    "constraint {} of table {}",
                    record.name(constraint::NAME).unwrap_or_default(),
                    record.name(constraint::REL_NAME).unwrap_or_default(),
                ),
                reason: "its index is active: there are no inactive keys".to_owned(),
            })
        });
        let keys: Vec<Difference> = keys.collect();
        self.maker.differences.extend(keys);
    }

    fn status(&self, error: GbakError) -> Error {
        status(error, &self.maker.runner.database().path, "the backup")
    }
}

fn left_out(what: &LeftOut) -> Option<Difference> {
    let reason = match what {
        LeftOut::Filter(_) => FILTERS,
        LeftOut::Shadow(_) => SHADOWS,
        LeftOut::Publication(_) | LeftOut::Published { .. } => REPLICATION,
        _ => return None,
    };
    Some(Difference { object: what.to_string(), reason: reason.to_owned() })
}

fn status_of(error: CopyError) -> Error {
    match error {
        CopyError::Status(error) => error,
        // Nothing is written, so nothing else can fail.
        CopyError::Io(error) => Error::new(isc::RANDOM).with(error.to_string()),
    }
}
