//! Checking a database file: what the store finds, with the names that the catalog knows, and what can be done about it.
//!
//! A file is only looked at, and refused if somebody has it open: what `farbird check` does. A database that is open is
//! checked among its users.

mod references;
mod tables;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use farbird_store::check::{CheckReport, Finding, Location, check_pages};
use farbird_store::{CancelFlag, IndexId, RelationId, RelationLayout, Store, StoreError, StoreOptions};
use farbird_types::{Error, Result};

use crate::budget::{Account, Limits};
use crate::build_room::StatementRoom;
use crate::catalog::layout::layout;
use crate::catalog::{Catalog, CollationData, Relation};
use crate::database::Database;
use crate::index_expression;
use crate::open_databases::store_error;
use references::check_references;

pub use tables::CheckedTable;
pub(crate) use tables::{check_table, tables_to_check};

/// What was found in a database.
#[derive(Debug, Clone, Default)]
pub struct DatabaseReport {
    /// What is damaged.
    pub damages: Vec<Damage>,
    /// The store's counts; its findings are those above.
    pub counts: CheckReport,
    /// Prepared transactions that somebody has to commit or roll back, by number. They are no damage.
    pub prepared: Vec<u64>,
}

impl DatabaseReport {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damages.is_empty()
    }

    /// How many things of a kind are damaged. Those that were only counted are taken for rows.
    pub fn errors(&self, kind: DamageKind) -> u64 {
        let described = self.damages.iter().filter(|damage| damage.kind == kind).count() as u64;
        described + if kind == DamageKind::Rows { self.counts.more_findings } else { 0 }
    }
}

/// What kind of thing is damaged, as Firebird's tools count errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DamageKind {
    /// The file, or what stands in it beside tables.
    Pages,
    /// Rows and references between them.
    Rows,
    /// BLOBs.
    Blobs,
    /// Index entries.
    Indexes,
}

/// Something that is damaged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The kind of it.
    pub kind: DamageKind,
    /// The table that it belongs to, if it does to one.
    pub table: Option<String>,
    /// Where, in words: "table CUSTOMERS, row 7".
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub advice: &'static str,
}

/// How far a check is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckStep {
    /// The checksums of the file's pages are compared.
    Pages,
    /// What the pages hold is compared.
    Contents {
        /// The table being looked at, if it is one.
        table: Option<String>,
        /// Work done.
        done: u64,
        /// All work, as estimated.
        total: u64,
    },
    /// The rows that the foreign keys of a table refer to are looked for.
    References {
        /// The table.
        table: String,
    },
}

/// Checks a database file.
///
/// # Errors
/// If it cannot be checked: there is no such file, it is none of ours, somebody has it open, or `cancel` is raised.
pub fn check_database(
    path: &Path,
    options: &StoreOptions,
    progress: &mut dyn FnMut(CheckStep),
    cancel: &Arc<CancelFlag>,
) -> Result<DatabaseReport> {
    progress(CheckStep::Pages);
    let failed = |error| store_error(path, error);
    let mut report = check_pages(path, options.cache_bytes).map_err(failed)?;
    let mut names = Names::default();
    let mut prepared = Vec::new();
    let options = StoreOptions { background_sweep: false, ..options.clone() };
    match Store::open_unchanged(path, options) {
        Err(StoreError::Corrupt { what }) => {
            // The check of the pages has said so already, unless it is the store's own.
            if report.is_sound() {
                report.add(Location::File, what);
            }
        }
        Err(error) => return Err(failed(error)),
        Ok(store) => {
            prepared = prepared_in(&store);
            let catalog = load_catalog(&store, &mut report);
            let room = room_of(&Account::server(Limits::default()));
            let layouts = names.learn(&catalog);
            let mut told = |at: farbird_store::check::CheckProgress| {
                let table = at.relation.map(|relation| names.relation(relation));
                progress(CheckStep::Contents { table, done: at.done, total: at.total });
            };
            let mut contents = store.check(&layouts, &room, &mut told, cancel).map_err(Error::from)?;
            let mut begun = |table: &str| progress(CheckStep::References { table: table.to_owned() });
            check_references(&store, &catalog, &mut contents, &mut begun, cancel).map_err(Error::from)?;
            let mut findings = report.findings;
            findings.extend(contents.findings);
            report = CheckReport { findings, ..contents };
        }
    }
    Ok(DatabaseReport { prepared, ..names.report(report) })
}

/// Checks a database that is open; others may go on working. The checksums of pages that nothing is read from are not
/// compared.
///
/// # Errors
/// If the check cannot go on, or `cancel` is raised.
pub fn check_open_database(database: &Database, cancel: &Arc<CancelFlag>) -> Result<DatabaseReport> {
    let mut names = Names::default();
    let catalog = database.catalog();
    let layouts = names.learn(&catalog);
    let failed = |error| database.status(error);
    let room = room_of(&database.budget);
    let mut report = database.store.check(&layouts, &room, &mut |_| {}, cancel).map_err(failed)?;
    check_references(&database.store, &catalog, &mut report, &mut |_| {}, cancel).map_err(failed)?;
    Ok(DatabaseReport { prepared: prepared_in(&database.store), ..names.report(report) })
}

/// What sorting keys may take.
fn room_of(account: &Arc<Account>) -> StatementRoom {
    StatementRoom::new(&account.statement(), account.parallel_workers())
}

fn prepared_in(store: &Store) -> Vec<u64> {
    store.prepared().iter().map(|prepared| prepared.id.0).collect()
}

/// Reads the catalog; an empty one if it is damaged.
fn load_catalog(store: &Store, report: &mut CheckReport) -> Catalog {
    index_expression::install();
    Catalog::load(store).unwrap_or_else(|error| {
        report.add(Location::Catalog, error.to_string());
        Catalog::default()
    })
}

/// Names by number.
#[derive(Debug, Default)]
struct Names {
    relations: HashMap<RelationId, String>,
    indexes: HashMap<IndexId, String>,
    /// Indexes whose collation data are not this program's.
    outdated: Vec<(RelationId, IndexId)>,
}

impl Names {
    /// Takes the names from a catalog; gives the layouts of all tables.
    fn learn(&mut self, catalog: &Catalog) -> Vec<Arc<RelationLayout>> {
        let data = &catalog.database.collation_data;
        let stored = catalog.relations.values().filter(|relation| relation.is_stored());
        stored.map(|relation| self.learn_relation(relation, data)).collect()
    }

    /// Takes the names of a table and its indexes; gives its layout.
    fn learn_relation(&mut self, relation: &Relation, data: &CollationData) -> Arc<RelationLayout> {
        self.relations.insert(RelationId(relation.id.0), relation.name.clone());
        for index in &relation.indexes {
            self.indexes.insert(IndexId(index.id.0), index.name.clone());
        }
        let mut layout = layout(relation);
        for index in relation.indexes.iter().filter(|index| data.outdates(relation, index)) {
            let (table, id) = (RelationId(relation.id.0), IndexId(index.id.0));
            // Its entries would all seem wrong.
            for definition in Arc::make_mut(&mut layout).indexes.iter_mut().filter(|it| it.id == id) {
                definition.active = false;
            }
            self.outdated.push((table, id));
        }
        layout
    }

    fn relation(&self, relation: RelationId) -> String {
        self.relations.get(&relation).cloned().unwrap_or_else(|| format!("number {}", relation.0))
    }

    fn place_of_index(&self, relation: RelationId, index: IndexId) -> String {
        let name = self.indexes.get(&index).cloned().unwrap_or_else(|| format!("number {}", index.0));
        format!("index {name} of table {}", self.relation(relation))
    }

    /// What the store found, in words.
    fn report(&self, mut counts: CheckReport) -> DatabaseReport {
        let findings = std::mem::take(&mut counts.findings);
        let mut damages: Vec<Damage> = findings.iter().map(|finding| self.damage(finding)).collect();
        damages.extend(self.outdated.iter().map(|(relation, index)| Damage {
            kind: DamageKind::Indexes,
            table: Some(self.relation(*relation)),
            place: self.place_of_index(*relation, *index),
            what: "it was made with other collation data than this program has".to_owned(),
            advice: OUTDATED,
        }));
        DatabaseReport { damages, counts, prepared: Vec::new() }
    }

    fn damage(&self, finding: &Finding) -> Damage {
        let table = |relation| format!("table {}", self.relation(relation));
        let (place, advice) = match finding.place {
            Location::File => ("the file".to_owned(), RESTORE),
            Location::Meta => ("the store's own numbers".to_owned(), RESTORE),
            Location::Catalog => ("the catalog".to_owned(), RESTORE),
            Location::Sequences => ("the sequences".to_owned(), SEQUENCES),
            Location::Relation(relation) => (table(relation), SALVAGE),
            Location::Row(relation, row) => (format!("{}, row {}", table(relation), row.0), SALVAGE),
            Location::Index(relation, index) => (self.place_of_index(relation, index), REBUILD),
            Location::Blob(relation, row, blob) => {
                (format!("{}, row {}, BLOB {}", table(relation), row.0, blob.0), SALVAGE)
            }
            Location::Blobs => ("the BLOBs".to_owned(), RESTORE),
            Location::Reference(relation, row) => (format!("{}, row {}", table(relation), row.0), REFERENCE),
            _ => ("somewhere".to_owned(), RESTORE),
        };
        let (kind, relation) = match finding.place {
            Location::Relation(relation) | Location::Row(relation, _) | Location::Reference(relation, _) => {
                (DamageKind::Rows, Some(relation))
            }
            Location::Index(relation, _) => (DamageKind::Indexes, Some(relation)),
            Location::Blob(relation, ..) => (DamageKind::Blobs, Some(relation)),
            Location::Blobs => (DamageKind::Blobs, None),
            _ => (DamageKind::Pages, None),
        };
        let table = relation.map(|relation| self.relation(relation));
        Damage { kind, table, place, what: finding.what.clone(), advice }
    }
}

const RESTORE: &str = "restore the latest backup";
const SALVAGE: &str = "restore the latest backup, or copy the rows that can be read into a new table";
const REBUILD: &str = "build the index anew: ALTER INDEX ... INACTIVE, then ALTER INDEX ... ACTIVE";
const OUTDATED: &str = "attach to the database: the first attachment makes it anew";
const REFERENCE: &str = "insert the row that is missing, or delete or change the one that refers to it";
const SEQUENCES: &str = "set the sequences anew with ALTER SEQUENCE ... RESTART WITH";

#[cfg(test)]
mod tests {
    use farbird_store::RowId;
    use farbird_types::CharacterSet;

    use super::*;
    use crate::api::{AttachOptions, CreateDatabaseOptions, ExecuteOptions};
    use crate::catalog::ConstraintKind;
    use crate::engine::Engine;
    use crate::users::NoUsers;

    #[test]
    fn what_is_found_in_an_open_database_has_the_names_of_tables_and_indexes() {
        let create = CreateDatabaseOptions {
            default_character_set: CharacterSet::UTF8,
            page_size: 8192,
            overwrite: false,
            dialect: 3,
        };
        let options = StoreOptions::default();
        let hold = Engine::new(options.clone())
            .hold_in_memory(&create, &options, "SYSDBA", Arc::new(NoUsers))
            .unwrap();
        let user = AttachOptions {
            user: "SYSDBA".to_owned(),
            role: None,
            character_set: CharacterSet::UTF8,
            dialect: 3,
            time_zone: None,
            no_database_triggers: false,
            client: Default::default(),
        };
        let mut attachment = hold.attach(user).unwrap();
        let statement = attachment.allocate_statement().unwrap();
        for sql in [
            "create table customers (id int)",
            "create index by_id on customers (id)",
            "create table parents (id varchar(10) not null constraint parents_id primary key)",
            "create table others (id varchar(10) not null constraint others_id primary key)",
            "create table children (parent char(12) constraint parent references parents)",
            "insert into parents values ('a')",
            "insert into children values ('a')",
            "insert into children values (null)",
        ] {
            let transaction = attachment.start_transaction(Default::default()).unwrap();
            attachment.prepare(statement, Some(transaction), sql, 3).unwrap();
            attachment.execute(statement, Some(transaction), Vec::new(), ExecuteOptions::default()).unwrap();
            attachment.commit(transaction).unwrap();
        }
        let report = check_open_database(hold.database(), &CancelFlag::new()).unwrap();
        assert!(report.is_sound(), "{report:?}");
        assert_eq!(report.counts.rows, 3);

        // The same rows under a foreign key that they do not fulfil.
        let mut other = Catalog::clone(&hold.database().catalog());
        let children = Arc::make_mut(other.relations.get_mut("CHILDREN").unwrap());
        for constraint in &mut children.constraints {
            if let ConstraintKind::ForeignKey { referenced_relation, referenced_constraint, .. } =
                &mut constraint.kind
            {
                *referenced_relation = "OTHERS".to_owned();
                *referenced_constraint = "OTHERS_ID".to_owned();
            }
        }
        let mut found = CheckReport::default();
        let store = &hold.database().store;
        check_references(store, &other, &mut found, &mut |_| {}, &CancelFlag::new()).unwrap();
        assert_eq!(found.findings.len(), 1, "{found:?}");
        assert!(matches!(found.findings[0].place, Location::Reference(..)));

        let catalog = hold.database().catalog();
        let relation = catalog.relations.get("CUSTOMERS").unwrap();
        let (table, index) = (RelationId(relation.id.0), IndexId(relation.indexes[0].id.0));
        let mut names = Names::default();
        names.learn(&catalog);
        let mut found = CheckReport::default();
        found.add(Location::Row(table, RowId(7)), "its format is unknown");
        found.add(Location::Index(table, index), "an entry is missing");
        let places: Vec<_> = names.report(found).damages.into_iter().map(|damage| damage.place).collect();
        assert_eq!(places, ["table CUSTOMERS, row 7", "index BY_ID of table CUSTOMERS"]);
    }
}
