//! What a BLR request becomes: instructions that may wait for its client, and the statements that they run.
//!
//! Loops over records and what changes records are ordinary statements (trees of `farbird_sql`, made by `super::translate`), so
//! names, privileges, plans, snapshots and budgets are theirs. What they take from outside, messages and fields of
//! loops around them, are their parameters.

use std::sync::Arc;

use farbird_sql::ast;
use farbird_types::{Error, SqlType, Value, isc};

use crate::catalog::Relation;

/// A compiled request.
pub(super) struct Program {
    pub(super) messages: Vec<farbird_blr::Message>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) queries: Vec<Query>,
    /// Whether it changes records: its loops then take one at a time.
    pub(super) changes_rows: bool,
}

/// A statement of a request, by its place in [`Program::queries`].
pub(super) type QueryNumber = usize;

/// A statement of a request.
pub(super) struct Query {
    pub(super) tree: Arc<ast::Statement>,
    pub(super) sql: Arc<str>,
    /// Where its parameters come from.
    pub(super) parameters: Vec<Source>,
    /// A second row is an error.
    pub(super) singular: bool,
    /// Columns that make a row another one than the row before it; those that repeat them are passed over.
    pub(super) different_by: Vec<usize>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    Constant(Value),
    /// An item of a message, which is NULL if another says so.
    Parameter(farbird_blr::Parameter),
    /// A column of the row that a loop is at.
    Column(QueryNumber, usize),
    /// The only value of the only row of a query.
    Query(QueryNumber),
    /// What a sequence has come to in a restore.
    Sequence(String),
}

/// A step. Numbers of steps say where to go on.
pub(super) enum Instruction {
    /// Begins a loop.
    Open(QueryNumber),
    /// Takes a loop's next row; goes elsewhere if there is none.
    Next(QueryNumber, usize),
    Assign(Source, farbird_blr::Parameter),
    /// Stores, modifies or erases.
    Change(QueryNumber),
    /// Does so with a row of a system table: gbak restores a database.
    Restore(SystemChange),
    /// Waits until a message has been taken.
    Send(u8),
    /// Waits for one of some messages.
    Receive(Vec<(u8, usize)>),
    Jump(usize),
    /// Goes elsewhere unless the query's only value is 1.
    JumpUnless(QueryNumber, usize),
}

/// What gbak does with a system table.
pub(super) enum SystemChange {
    /// Values by the columns' places.
    Store {
        relation: Arc<Relation>,
        values: Vec<(usize, Source)>,
    },
    Modify {
        relation: Arc<Relation>,
        key: Source,
        values: Vec<(usize, Source)>,
    },
    Erase {
        relation: Arc<Relation>,
        key: Source,
    },
    /// GEN_ID of a sequence that may only have been stored yet.
    AddToSequence {
        name: String,
        increment: Source,
    },
}

impl Program {
    /// Whether it may change rows of a system table of this name.
    pub(super) fn modifies(&self, table: &str) -> bool {
        self.instructions.iter().any(|one| {
            matches!(one, Instruction::Restore(SystemChange::Modify { relation, .. }) if relation.name == table)
        })
    }

    /// What an instance takes: the values of its messages, and so many bytes for each query.
    pub(super) fn instance_bytes(&self, query_bytes: usize) -> usize {
        let items = self.messages.iter().flat_map(|message| &message.items);
        let values = items.map(|item| declared_bytes(&item.sql_type)).fold(0, usize::saturating_add);
        values.saturating_add(self.queries.len().saturating_mul(query_bytes))
    }

    /// The place of a message among those declared.
    pub(super) fn message(&self, number: u8) -> Option<usize> {
        self.messages.iter().position(|message| message.number == number)
    }
}

impl Query {
    pub(super) fn new(kind: ast::StatementKind, parameters: Vec<Source>, singular: bool) -> Query {
        let parameter_count = u32::try_from(parameters.len()).unwrap_or(u32::MAX);
        let tree = ast::Statement { kind, parameter_count, warnings: None };
        let sql = tree.to_string().into();
        Query { tree: Arc::new(tree), sql, parameters, singular, different_by: Vec::new() }
    }
}

/// What a value of a type may take.
pub(super) fn declared_bytes(sql_type: &SqlType) -> usize {
    let text = match sql_type {
        SqlType::Text(text) => usize::try_from(text.length_bytes()).unwrap_or(usize::MAX),
        _ => 0,
    };
    size_of::<Value>().saturating_add(text)
}

/// Something that requests are not offered.
pub(super) fn unsupported(what: &str) -> Error {
    Error::new(isc::WISH_LIST).and(isc::RANDOM).with(format!("{what} in a BLR request"))
}
