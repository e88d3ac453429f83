//! The catalog: everything that a database says about itself.
//!
//! A [`Catalog`] is an immutable value behind an `Arc`: a transaction holds the one it started with (or the one its
//! own DDL made of it), so other people's DDL never moves under it. DDL makes a copy with some objects replaced; the
//! commit applies the same replacements to the newest committed catalog and publishes it together with the commit.
//!
//! Objects are stored one per key in the store's catalog space, as JSON: small, readable, and able to grow fields.
//!
//! | file | subject |
//! |---|---|
//! | `catalog` | all objects of a database |
//! | `model` | the objects |
//! | `ordered_map` | maps whose copies share what they have in common |
//! | `cross_reference` | what belongs to which table |
//! | `persistence` | objects as entries of the store: creating and loading a catalog |
//! | `edit` | catalogs made of catalogs: changes, marks, publication with a commit |
//! | `counters` | numbers and generated names that are never used twice |
//! | `footprint` | what a statement depends on, and whether that has changed |
//! | `stamps` | when objects changed |
//! | `lookup` | finding things by name |
//! | `layout` | what the store must know of a relation |
//! | `index_compiler` | how expressions of indexes are come by: the binder stands above |
//! | `statistics` | what is known of the contents of tables |
//! | `privileges` | who may do what |
//! | `database` | an open database: its store, its newest catalog, who is attached |
//! | `shutdown_gate` | what may not begin while the database is being shut down |
//! | `transaction` | a transaction: that of the store, and the catalog that it sees |
//! | `system_tables`, `system_packages` | definitions of the system tables, domains and packages |
//! | `slots` | what upper floors keep beside a catalog or a transaction |
//! | `triggers` | which triggers of a relation fire, and when |
//! | `system_privilege` | what roles can be allowed for a whole database |
//! | `access` | what a statement needs to be allowed |
//! | `dependencies` | what uses what |
//! | `external` | the records of external tables' files |
//! | `declared_type` | types as declared to types as stored |
//!
//! Uses `types`, `record`, `sql`, `store`, `budget` and `session`. Knows no plan and no expression: what it needs of those
//! that stand above comes through [`IndexCompiler`], and what they keep beside it stands in its [`Slots`].
#![forbid(unsafe_code)]

mod access;
mod catalog;
mod collation_data;
mod counters;
mod cross_reference;
pub mod database;
mod declared_type;
pub mod dependencies;
mod edit;
pub mod external;
mod footprint;
mod index_compiler;
pub mod layout;
mod layout_cache;
mod lookup;
pub mod model;
mod ordered_map;
mod outdated_indexes;
mod persistence;
pub mod privileges;
pub mod purity;
mod shutdown_gate;
mod slots;
mod stamps;
pub mod statistics;
pub mod system_packages;
mod system_privilege;
pub mod system_tables;
pub mod transaction;
pub mod triggers;

pub use access::{Access, AccessPrivilege};
pub use catalog::Catalog;
pub use collation_data::CollationData;
pub use counters::{Counters, IndexPurpose, SYSTEM_SEQUENCES, system_sequence, system_sequence_name};
pub use declared_type::{
    DeclaredType, character_set_named, collation_named, declared_type, value_type, with_collation,
    with_default_collation,
};
pub use edit::{CatalogMark, publication};
pub use footprint::Footprint;
pub use index_compiler::{IndexCompiler, set_index_compiler};
pub use layout::layout;
pub use layout_cache::LayoutCache;
pub use model::*;
pub use ordered_map::OrderedMap;
pub use persistence::new_guid;
pub use shutdown_gate::{Denied, ShutdownGate};
pub use slots::Slots;
pub use system_privilege::SystemPrivilege;
