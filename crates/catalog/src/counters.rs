//! Numbers and generated names that are never used twice.
//!
//! They come from sequences of the store, outside of transactions, so that two transactions never get the same one and
//! a rolled back one leaves a gap. The names count as Firebird's do, in its own system generators.

use farbird_store::{SequenceId as StoreSequence, Store};
use farbird_types::{Error, Result, isc};

use crate::{IndexId, RelationId, SequenceId};

/// The system's own sequences by their RDB$GENERATOR_ID, as Firebird names and numbers them. Some of them count nothing here.
pub const SYSTEM_SEQUENCES: [(&str, SequenceId); 11] = [
    ("RDB$SECURITY_CLASS", SequenceId(1)),
    ("SQL$DEFAULT", SequenceId(2)),
    ("RDB$PROCEDURES", SequenceId(PROCEDURES)),
    ("RDB$EXCEPTIONS", SequenceId(EXCEPTIONS)),
    ("RDB$CONSTRAINT_NAME", SequenceId(CONSTRAINT_NAME)),
    ("RDB$FIELD_NAME", SequenceId(FIELD_NAME)),
    ("RDB$INDEX_NAME", SequenceId(INDEX_NAME)),
    ("RDB$TRIGGER_NAME", SequenceId(TRIGGER_NAME)),
    ("RDB$BACKUP_HISTORY", SequenceId(9)),
    ("RDB$FUNCTIONS", SequenceId(FUNCTIONS)),
    ("RDB$GENERATOR_NAME", SequenceId(GENERATOR_NAME)),
];

/// The number of one of the system's own sequences.
pub fn system_sequence(name: &str) -> Option<SequenceId> {
    SYSTEM_SEQUENCES.iter().find(|(own, _)| *own == name).map(|(_, id)| *id)
}

/// The name of one of the system's own sequences.
pub fn system_sequence_name(id: SequenceId) -> Option<&'static str> {
    SYSTEM_SEQUENCES.iter().find(|(_, own)| *own == id).map(|(name, _)| *name)
}

const PROCEDURES: u32 = 3;
const EXCEPTIONS: u32 = 4;
const CONSTRAINT_NAME: u32 = 5;
const FIELD_NAME: u32 = 6;
const INDEX_NAME: u32 = 7;
const TRIGGER_NAME: u32 = 8;
const FUNCTIONS: u32 = 10;
const GENERATOR_NAME: u32 = 11;

/// Counters of our own stand at the far end of the sequences' numbers.
const RELATION_ID: u32 = u32::MAX;
const INDEX_ID: u32 = u32::MAX - 1;
const SEQUENCE_ID: u32 = u32::MAX - 2;
// u32::MAX - 3 numbered collations once.

/// Relations of users are numbered from here (RDB$RELATION_ID).
pub(crate) const FIRST_USER_RELATION: u32 = 128;
/// Sequences of users are numbered from here (RDB$GENERATOR_ID): the system's own come before.
pub(crate) const FIRST_USER_SEQUENCE: u32 = 12;
/// Procedures of users are numbered from here (RDB$PROCEDURE_ID), functions from there: those of the system's packages come before.
const FIRST_USER_PROCEDURE: u32 = 11;
const FIRST_USER_FUNCTION: u32 = 8;
/// Indexes of users are numbered from here in the store.
pub(crate) const FIRST_USER_INDEX: u32 = 256;

/// What an index without a name is for: it says so in its generated name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexPurpose {
    /// `RDB$PRIMARYn`
    PrimaryKey,
    /// `RDB$FOREIGNn`
    ForeignKey,
    /// `RDB$n`
    Unique,
}

/// Hands out numbers and names.
#[derive(Debug, Clone, Copy)]
pub struct Counters<'a> {
    store: &'a Store,
}

impl<'a> Counters<'a> {
    /// The counters of a database.
    pub fn new(store: &'a Store) -> Counters<'a> {
        Counters { store }
    }

    /// A new relation's number.
    pub fn relation_id(self) -> Result<RelationId> {
        Ok(RelationId(self.number(RELATION_ID, FIRST_USER_RELATION)?))
    }

    /// A new index's number.
    pub fn index_id(self) -> Result<IndexId> {
        Ok(IndexId(self.number(INDEX_ID, FIRST_USER_INDEX)?))
    }

    /// A new sequence's number.
    pub fn sequence_id(self) -> Result<SequenceId> {
        Ok(SequenceId(self.number(SEQUENCE_ID, FIRST_USER_SEQUENCE)?))
    }

    /// A new procedure's number.
    pub fn procedure_id(self) -> Result<u32> {
        self.number(PROCEDURES, FIRST_USER_PROCEDURE)
    }

    /// A new function's number.
    pub fn function_id(self) -> Result<u32> {
        self.number(FUNCTIONS, FIRST_USER_FUNCTION)
    }

    /// A new exception's number.
    pub fn exception_number(self) -> Result<u32> {
        self.number(EXCEPTIONS, 1)
    }

    /// A name for a constraint that has none: `INTEG_n`.
    pub fn constraint_name(self, taken: impl Fn(&str) -> bool) -> Result<String> {
        self.name(CONSTRAINT_NAME, "INTEG_", taken)
    }

    /// A name for a column's own domain: `RDB$n`.
    pub fn domain_name(self) -> Result<String> {
        self.name(FIELD_NAME, "RDB$", |_| false)
    }

    /// A name for an index that has none.
    pub fn index_name(self, purpose: IndexPurpose, taken: impl Fn(&str) -> bool) -> Result<String> {
        let prefix = match purpose {
            IndexPurpose::PrimaryKey => "RDB$PRIMARY",
            IndexPurpose::ForeignKey => "RDB$FOREIGN",
            IndexPurpose::Unique => "RDB$",
        };
        self.name(INDEX_NAME, prefix, taken)
    }

    /// A name for a constraint's trigger: `CHECK_n`.
    pub fn trigger_name(self, taken: impl Fn(&str) -> bool) -> Result<String> {
        self.name(TRIGGER_NAME, "CHECK_", taken)
    }

    /// A name for an identity column's sequence: `RDB$n`.
    pub fn identity_sequence_name(self) -> Result<String> {
        self.name(GENERATOR_NAME, "RDB$", |_| false)
    }

    /// The next name of a series that nobody took (users may name things as the system does).
    fn name(self, counter: u32, prefix: &str, taken: impl Fn(&str) -> bool) -> Result<String> {
        loop {
            let name = format!("{prefix}{}", self.number(counter, 1)?);
            if !taken(&name) {
                return Ok(name);
            }
        }
    }

    fn number(self, counter: u32, first: u32) -> Result<u32> {
        let count = self.store.sequence_next(StoreSequence(counter), 1)?;
        u32::try_from(count)
            .ok()
            .and_then(|count| count.checked_add(first - 1))
            .ok_or_else(|| Error::new(isc::IMP_EXC))
    }
}
