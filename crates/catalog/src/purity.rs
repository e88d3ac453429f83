//! Whether a query does nothing but read tables, and which.
//!
//! Told from texts, that of the statement and those of what it names: what is not understood counts as doing more. The answer of a
//! query for which this gives relations depends on their contents, its parameters, its transaction's view and its attachment, and
//! on nothing else: not on when it runs, and running it changes nothing.
//!
//! Not so are queries that call anything but the built-in functions which only compute, that name a procedure, a function, a system table
//! or a temporary one, that lock, that ask for the time, the role or the number of the transaction or the attachment, or that hold texts
//! like 'NOW'. (The attachment's number is another one when an edge attaches again for its program.) CURRENT_USER stays as it is.

use std::collections::BTreeSet;

use farbird_types::query_text::is_pure_query;

use crate::dependencies::identifiers;
use crate::{Catalog, RelationId, RelationKind};

/// Most names that are followed.
const NAMES_MAX: usize = 500;

/// Words that make an answer depend on more than what is read, or make reading do more.
const WORDS: &[&str] = &[
    "CURRENT_CONNECTION",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_TRANSACTION",
    "GEN_ID",
    "GEN_UUID",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "LOCK",
    "NEXT",
    "RAND",
    "RESETTING",
    "ROW_COUNT",
    "UPDATE",
];

/// Texts that a date may be made of, which say another one each time.
const MOMENTS: &[&str] = &["NOW", "TODAY", "TOMORROW", "YESTERDAY"];

/// The relations that a query reads, if that is all it does.
pub fn reads(catalog: &Catalog, sql: &str) -> Option<BTreeSet<RelationId>> {
    let mut walk =
        Walk { catalog, seen: BTreeSet::new(), pending: vec![sql.to_owned()], read: BTreeSet::new() };
    while let Some(text) = walk.pending.pop() {
        walk.text(&text)?;
    }
    Some(walk.read)
}

struct Walk<'c> {
    catalog: &'c Catalog,
    seen: BTreeSet<String>,
    /// Queries to be looked at.
    pending: Vec<String>,
    read: BTreeSet<RelationId>,
}

impl Walk<'_> {
    fn text(&mut self, text: &str) -> Option<()> {
        if !is_pure_query(text) || names_moment(text) {
            return None;
        }
        for name in identifiers(text) {
            if WORDS.contains(&name.as_str()) {
                return None;
            }
            self.name(&name)?;
        }
        Some(())
    }

    fn name(&mut self, name: &str) -> Option<()> {
        let catalog = self.catalog;
        let runs_code = catalog.procedures.contains_key(name)
            || catalog.functions.contains_key(name)
            || catalog.packages.contains_key(name);
        if runs_code {
            return None;
        }
        let Some(relation) = catalog.relation(name) else { return Some(()) };
        if !self.seen.insert(name.to_owned()) {
            return Some(());
        }
        if self.seen.len() > NAMES_MAX {
            return None;
        }
        match &relation.kind {
            RelationKind::Table => {
                self.read.insert(relation.id);
            }
            RelationKind::View { source, .. } => self.pending.push(source.clone()),
            RelationKind::TemporaryTransaction
            | RelationKind::TemporarySession
            | RelationKind::External { .. }
            | RelationKind::System => return None,
        }
        let computed = relation.columns.iter().filter_map(|column| column.computed_source.as_deref());
        self.pending.extend(computed.map(|source| format!("SELECT {source}")));
        Some(())
    }
}

/// Whether a text in quotes begins like one that stands for a moment.
fn names_moment(text: &str) -> bool {
    text.split('\'').skip(1).any(|piece| {
        let piece = piece.trim_start().to_ascii_uppercase();
        MOMENTS.iter().any(|moment| piece.starts_with(moment))
    })
}
