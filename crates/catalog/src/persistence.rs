//! Objects as entries of the store: creating a database's catalog and loading it.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use farbird_store::{CancelFlag, Store, TransactionOptions};
use farbird_types::{Error, Result, isc};

use crate::edit::new_version;
use crate::{Catalog, CatalogObject, DatabaseProperties, ObjectKind, layout};
use crate::{system_packages, system_tables};
use farbird_session::CreateDatabaseOptions;
use farbird_session::clock;

impl ObjectKind {
    /// The first part of the keys of its objects. Part of the file format: never changed.
    fn key_prefix(self) -> &'static str {
        match self {
            ObjectKind::Database => "database",
            ObjectKind::Relation => "relation",
            ObjectKind::Domain => "domain",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Exception => "exception",
            ObjectKind::Procedure => "procedure",
            ObjectKind::Function => "function",
            ObjectKind::Trigger => "trigger",
            ObjectKind::Package => "package",
            ObjectKind::Role => "role",
            ObjectKind::Collation => "collation",
            ObjectKind::Privilege => "privilege",
            ObjectKind::Mapping => "mapping",
        }
    }

    /// The key of an object of this kind: `relation/EMPLOYEE`.
    pub fn key(self, name: &str) -> Vec<u8> {
        format!("{}/{name}", self.key_prefix()).into_bytes()
    }
}

impl CatalogObject {
    /// What stands under the object's key.
    ///
    /// # Errors
    /// Never for objects as they are; the encoder could fail in general.
    pub fn encode(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| damaged("object", &error.to_string()))
    }

    /// Reads what stands under an object's key.
    ///
    /// # Errors
    /// `isc_db_corrupt` if it is not an object.
    pub fn decode(key: &[u8], bytes: &[u8]) -> Result<CatalogObject> {
        let object = serde_json::from_slice(bytes)
            .map_err(|error| damaged(&String::from_utf8_lossy(key), &error.to_string()))?;
        Ok(match object {
            CatalogObject::Collation(it) => {
                CatalogObject::Collation(Arc::new(Arc::unwrap_or_clone(it).brought_up_to_date()))
            }
            CatalogObject::Package(it) if it.is_system() => {
                CatalogObject::Package(Arc::new(system_packages::with_comments_of(&it)))
            }
            object => object,
        })
    }
}

impl Catalog {
    /// Makes the catalog of a new database, owned by `owner`.
    ///
    /// # Durability
    /// It is on the disk when this returns.
    pub fn create(store: &Store, options: &CreateDatabaseOptions, owner: &str) -> Result<Catalog> {
        let properties = CatalogObject::Database(Arc::new(DatabaseProperties {
            default_character_set: options.default_character_set,
            dialect: options.dialect,
            page_size: options.page_size,
            owner: owner.to_owned(),
            created_us: clock::now_us(),
            guid: new_guid(),
            ..DatabaseProperties::default()
        }));
        let (kind, name) = properties.identity();
        let transaction = store.begin(TransactionOptions::default(), Arc::new(CancelFlag::default()))?;
        transaction.catalog_put(&kind.key(&name), &properties.encode()?)?;
        transaction.commit()?;
        Catalog::load(store)
    }

    /// Reads the catalog of a database and tells the store the layouts of its tables.
    ///
    /// # Errors
    /// `isc_db_corrupt` if an entry cannot be read.
    pub fn load(store: &Store) -> Result<Catalog> {
        let mut catalog = Catalog::empty();
        for object in decode_all(&store.catalog_entries()?)? {
            catalog.insert(object);
        }
        catalog.forget_changes();
        for relation in catalog.relations.values().filter(|relation| relation.is_stored()) {
            store.register_layout(layout(relation));
        }
        Ok(catalog)
    }

    /// What every database has: system tables, packages and roles.
    pub fn empty() -> Catalog {
        let mut catalog = Catalog { version: new_version(), ..Catalog::default() };
        catalog.base_version = catalog.version;
        for relation in system_tables::relations() {
            catalog.insert(CatalogObject::Relation(Arc::clone(relation)));
        }
        for role in system_tables::roles() {
            catalog.insert(CatalogObject::Role(Arc::clone(role)));
        }
        for package in system_packages::packages() {
            catalog.insert(CatalogObject::Package(Arc::clone(package)));
        }
        catalog
    }
}

/// Fewer entries are decoded before a second thread has begun.
const ENTRIES_PER_THREAD: usize = 2_000;

/// A part of the entries.
enum Part<'scope> {
    Running(ScopedJoinHandle<'scope, Result<Vec<CatalogObject>>>),
    Decoded(Result<Vec<CatalogObject>>),
}

impl Part<'_> {
    /// Its objects.
    fn end(self) -> Result<Vec<CatalogObject>> {
        match self {
            Part::Running(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Part::Decoded(objects) => objects,
        }
    }
}

/// The objects of entries, in their order. Decoding is most of what opening a database of many tables takes: all processors share it.
///
/// # Errors
/// That of the first entry that cannot be read.
fn decode_all(entries: &[(Vec<u8>, Vec<u8>)]) -> Result<Vec<CatalogObject>> {
    let decode = |entries: &[(Vec<u8>, Vec<u8>)]| -> Result<Vec<CatalogObject>> {
        entries.iter().map(|(key, value)| CatalogObject::decode(key, value)).collect()
    };
    let processors = thread::available_parallelism().map_or(1, NonZero::get);
    let threads = processors.min(entries.len() / ENTRIES_PER_THREAD);
    if threads < 2 {
        return decode(entries);
    }
    let parts = thread::scope(|scope| {
        // Where the system gives no thread the part is decoded here.
        let begin = |part| match thread::Builder::new().spawn_scoped(scope, move || decode(part)) {
            Ok(running) => Part::Running(running),
            Err(_) => Part::Decoded(decode(part)),
        };
        let parts: Vec<_> = entries.chunks(entries.len().div_ceil(threads)).map(begin).collect();
        parts.into_iter().map(Part::end).collect::<Result<Vec<_>>>()
    });
    Ok(parts?.into_iter().flatten().collect())
}

/// A GUID as MON$DATABASE shows it, of random bits.
pub fn new_guid() -> String {
    // Each RandomState has keys of its own from the system's source of randomness.
    let bits = || RandomState::new().build_hasher().finish();
    let (high, low) = (bits(), bits());
    format!(
        "{{{:08X}-{:04X}-4{:03X}-{:04X}-{:012X}}}",
        high >> 32,
        (high >> 16) & 0xFFFF,
        high & 0xFFF,
        (low >> 48) & 0x3FFF | 0x8000,
        low & 0xFFFF_FFFF_FFFF
    )
}

fn damaged(what: &str, detail: &str) -> Error {
    Error::new(isc::DB_CORRUPT).with(what).and(isc::RANDOM).with(detail)
}

#[cfg(test)]
mod tests {
    use farbird_types::Text;
    use farbird_types::collation::compare_text;

    use super::*;
    use crate::{ExceptionDefinition, Package};

    #[test]
    fn collations_of_older_files_are_made_of_what_they_name() {
        let older = br#"{"Collation":{"name":"C","character_set":4,"collation":226,"base":4,"owner":"SYSDBA",
            "attributes":7,"specific_attributes":null,"description":null}}"#;
        let object = CatalogObject::decode(b"collation/C", older).expect("a collation");
        let CatalogObject::Collation(definition) = &object else { panic!("{object:?}") };
        assert_eq!(definition.base_name.as_deref(), Some("UNICODE_CI_AI"));
        assert!(compare_text(&Text::utf8("\u{c1}"), &Text::utf8("a"), definition.collation).is_eq());
        let again =
            CatalogObject::decode(b"collation/C", &object.encode().expect("JSON")).expect("a collation");
        assert_eq!(again, object);
    }

    #[test]
    fn many_entries_are_decoded_in_their_order_and_a_damaged_one_is_named() {
        let name = |number: usize| format!("E{number:05}");
        let entry = |number: usize| {
            let exception = ExceptionDefinition {
                number: 1,
                name: name(number),
                owner: String::from("SYSDBA"),
                message: String::from("out of stock"),
                description: None,
            };
            let object = CatalogObject::Exception(Arc::new(exception));
            (ObjectKind::Exception.key(&name(number)), object.encode().expect("JSON"))
        };
        let mut entries: Vec<_> = (0..3 * ENTRIES_PER_THREAD).map(entry).collect();
        let decoded = decode_all(&entries).expect("objects");
        assert!(decoded.iter().map(|object| object.identity().1).eq((0..entries.len()).map(name)));
        let damaged = 2 * ENTRIES_PER_THREAD + 7;
        entries[damaged].1.truncate(5);
        let error = decode_all(&entries).expect_err("damage");
        assert!(error.has(isc::DB_CORRUPT) && format!("{error:?}").contains(&name(damaged)), "{error:?}");
    }

    /// A database keeps the comments on a package that comes with every database, not what its routines do.
    #[test]
    fn system_packages_are_those_of_the_program_with_comments_of_the_database() {
        let own = &system_packages::packages()[0];
        let mut stored = Package::clone(own);
        stored.description = Some(String::from("of a package"));
        let routine = Arc::make_mut(&mut stored.procedures[0]);
        routine.description = Some(String::from("of a routine"));
        routine.inputs[1].description = Some(String::from("of a parameter"));
        let commented = stored.clone();
        Arc::make_mut(&mut stored.procedures[0]).source = String::from("begin end");
        stored.functions.clear();
        let bytes = CatalogObject::Package(Arc::new(stored)).encode().expect("JSON");
        let read = CatalogObject::decode(b"package/RDB$TIME_ZONE_UTIL", &bytes).expect("a package");
        assert_eq!(read, CatalogObject::Package(Arc::new(commented)));
    }
}
