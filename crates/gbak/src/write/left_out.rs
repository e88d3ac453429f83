//! What is not in a backup, by name and with its reason.

use std::fmt;

/// Something that is not in the backup.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum LeftOut {
    DomainDefault(String),
    DomainCheck(String),
    /// COMPUTED BY.
    Column {
        table: String,
        column: String,
    },
    Default {
        table: String,
        column: String,
    },
    /// Of an expression, or of a part of the rows.
    Index {
        table: String,
        name: String,
        /// Of a part of the rows.
        partial: bool,
    },
    View(String),
    Package(String),
    Procedure(String),
    Function(String),
    Check {
        table: String,
        name: String,
    },
    /// With actions, which are triggers.
    ForeignKey {
        table: String,
        name: String,
    },
    Trigger(String),
    /// Of BLOBs.
    Filter(String),
    /// Of users; of a name that is too long for the one byte that gbak counts it with.
    Mapping(String),
    /// By its file.
    Shadow(String),
    /// That it is enabled.
    Publication(String),
    /// A table's place in a publication.
    Published {
        table: String,
        publication: String,
    },
    /// Another one than the character set's own.
    DefaultCollation {
        collation: String,
        character_set: String,
    },
}

impl LeftOut {
    /// Why it is not in the backup.
    pub fn reason(&self) -> &'static str {
        match self {
            LeftOut::Index { partial: true, .. } => "its condition needs Firebird 5",
            LeftOut::Mapping(_) => "gbak has no room for so long a name",
            LeftOut::Filter(_)
            | LeftOut::Shadow(_)
            | LeftOut::Publication(_)
            | LeftOut::Published { .. }
            | LeftOut::DefaultCollation { .. } => "it is not copied",
            _ => "gbak keeps it as BLR, which there is none of",
        }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::DomainDefault(name) => write!(out, "default of domain {name}"),
            LeftOut::DomainCheck(name) => write!(out, "check of domain {name}"),
            LeftOut::Column { table, column } => write!(out, "column {column} of table {table}"),
            LeftOut::Default { table, column } => write!(out, "default of column {column} of table {table}"),
            LeftOut::Index { table, name, .. } => write!(out, "index {name} of table {table}"),
            LeftOut::View(name) => write!(out, "view {name}"),
            LeftOut::Package(name) => write!(out, "package {name}"),
            LeftOut::Procedure(name) => write!(out, "procedure {name}"),
            LeftOut::Function(name) => write!(out, "function {name}"),
            LeftOut::Check { table, name } | LeftOut::ForeignKey { table, name } => {
                write!(out, "constraint {name} of table {table}")
            }
            LeftOut::Trigger(name) => write!(out, "trigger {name}"),
            LeftOut::Filter(name) => write!(out, "filter {name}"),
            LeftOut::Mapping(name) => write!(out, "mapping {name}"),
            LeftOut::Shadow(file) => write!(out, "shadow {file}"),
            LeftOut::Publication(name) => write!(out, "publication {name}, which is enabled"),
            LeftOut::Published { table, publication } => {
                write!(out, "table {table} in publication {publication}")
            }
            LeftOut::DefaultCollation { collation, character_set } => {
                write!(out, "default collation {collation} of character set {character_set}")
            }
        }
    }
}
