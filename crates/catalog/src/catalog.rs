//! The catalog itself: all objects of a database, by kind and name.

use std::sync::Arc;

use crate::cross_reference::CrossReferences;
use crate::model::{
    CollationDefinition, DatabaseProperties, Domain, ExceptionDefinition, Mapping, Package, Privilege,
    Relation, Role, Routine, Sequence, Trigger,
};
use crate::ordered_map::OrderedMap;
use crate::slots::Slots;
use crate::stamps::Stamps;
use crate::statistics::Statistics;

/// Everything that exists, as of one catalog version.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// Another one for every catalog of this process, be it committed or a transaction's own. Cached statements of
    /// another version are prepared again.
    pub version: u64,
    /// The version of the committed catalog that a transaction's own catalog was made from; its own for a committed one.
    pub base_version: u64,
    /// The database's own properties.
    pub database: Arc<DatabaseProperties>,
    /// Tables and views, by name.
    pub relations: OrderedMap<String, Arc<Relation>>,
    /// Domains, by name; only those that users made (implicit ones are inside their columns).
    pub domains: OrderedMap<String, Arc<Domain>>,
    /// Sequences, by name.
    pub sequences: OrderedMap<String, Arc<Sequence>>,
    /// Exceptions, by name.
    pub exceptions: OrderedMap<String, Arc<ExceptionDefinition>>,
    /// Stored procedures, by name.
    pub procedures: OrderedMap<String, Arc<Routine>>,
    /// Stored functions, by name.
    pub functions: OrderedMap<String, Arc<Routine>>,
    /// Packages, by name.
    pub packages: OrderedMap<String, Arc<Package>>,
    /// Triggers, by name.
    pub triggers: OrderedMap<String, Arc<Trigger>>,
    /// Roles, by name.
    pub roles: OrderedMap<String, Arc<Role>>,
    /// Privileges, by their own key (see [`Privilege::key`]).
    pub privileges: OrderedMap<String, Arc<Privilege>>,
    /// Collations made by CREATE COLLATION, by name.
    pub collations: OrderedMap<String, Arc<CollationDefinition>>,
    /// Mappings of users, by name.
    pub mappings: OrderedMap<String, Arc<Mapping>>,
    /// What upper floors have made of it: routines and triggers, compiled when first needed.
    pub made: Slots,
    /// What is known of the contents of its tables.
    pub statistics: Statistics,
    /// What belongs to which table.
    pub(crate) cross: CrossReferences,
    /// When its objects changed.
    pub(crate) stamps: Stamps,
}
