//! What an attachment keeps of a statement: what it was bound to, and what its run has come to.
//!
//! Knows nothing of the attachment: its methods are in [`super::statements`], [`super::preparation`], [`super::execution`] and
//! [`super::fetching`].

use std::cell::OnceCell;
use std::sync::Arc;

use farbird_sql::ast;
use farbird_store::Counted;
use farbird_types::{Error, Result, isc};

use crate::api::{RecordCounts, StatementDescription, TransactionHandle};
use crate::attachment::blob_text::BlobTexts;
use crate::attachment::explain::{self, Explained};
use crate::attachment::known_blobs::Source;
use crate::attachment::open_cursor::OpenCursor;
use crate::attachment::table_sizes::TableSizes;
use crate::attachment::traced_run::TracedRun;
use crate::bind::{self, Access};
use crate::budget::{Charge, StatementBudget};
use crate::catalog::{Catalog, Footprint};
use crate::database::Database;
use crate::psql::{self, WatchedBody};
use crate::session::{Session, StatementActivity, trace};

/// A statement and what it is doing.
pub(super) struct StatementSlot {
    /// MON$STATEMENT_ID.
    pub(super) id: u64,
    /// Whether a client has written it.
    pub(super) is_written: bool,
    /// Its run, if trace sessions are to be told of the end.
    pub(super) traced: Option<TracedRun>,
    /// What its run has done with rows, if trace sessions are to be told of that.
    pub(super) told_counts: Option<Counted>,
    /// What MON$STATEMENTS shows of it, once it is prepared.
    pub(super) activity: Option<Arc<StatementActivity>>,
    pub(super) prepared: Option<Prepared>,
    pub(super) open: Option<OpenCursor>,
    pub(super) cursor_name: Option<String>,
    pub(super) counts: RecordCounts,
    /// What it takes while it is prepared.
    pub(super) prepared_memory: Option<Charge>,
    /// What its runs and its cursor have taken.
    pub(super) budget: Arc<StatementBudget>,
}

/// A statement bound to a catalog.
pub(super) struct Prepared {
    pub(super) tree: Arc<ast::Statement>,
    pub(super) sql: Arc<str>,
    pub(super) dialect: u8,
    /// The catalog it was bound to; one in which its footprint is another means binding again.
    pub(super) catalog: Arc<Catalog>,
    /// What it depends on, found when the catalog has changed for the first time.
    pub(super) footprint: OnceCell<Footprint>,
    /// How large its tables were.
    pub(super) sizes: TableSizes,
    pub(super) body: Body,
    /// Cursors of other statements that it refers to (WHERE CURRENT OF): their row numbers follow the parameters.
    pub(super) cursors: Vec<(String, String)>,
    pub(super) description: Arc<StatementDescription>,
    /// Whether a parameter is a BLOB.
    pub(super) takes_blobs: bool,
    /// Whether a column is a BLOB.
    pub(super) gives_blobs: bool,
    pub(super) blob_texts: BlobTexts,
    /// What its user must be allowed.
    pub(super) accesses: Arc<[Access]>,
}

pub(super) enum Body {
    Plan(bind::Prepared),
    Explained(Explained),
    Routine(psql::CompiledStatement),
    Ddl,
    Transaction,
    Session,
}

impl Body {
    /// What its user must be allowed.
    pub(super) fn accesses(&self) -> &[bind::Access] {
        match self {
            Body::Plan(bound) => &bound.accesses,
            Body::Routine(compiled) => compiled.accesses(),
            Body::Explained(explained) => match &explained.statement {
                explain::Statement::Plan(bound) => &bound.accesses,
                explain::Statement::Routine(compiled) => compiled.accesses(),
            },
            Body::Ddl | Body::Transaction | Body::Session => &[],
        }
    }
}

impl Prepared {
    /// A watch of a run of it, if the profiler listens.
    pub(super) fn watch(
        &self,
        session: &Session,
        database: &Database,
        budget: &Arc<StatementBudget>,
    ) -> Result<Option<psql::Watch>> {
        let body = match &self.body {
            Body::Plan(bound) => WatchedBody::Plan(&bound.action),
            Body::Routine(compiled) => WatchedBody::Routine(compiled),
            Body::Explained(_) | Body::Ddl | Body::Transaction | Body::Session => return Ok(None),
        };
        psql::Watch::of_statement(session, database, budget, &self.sql, body)
    }

    /// What was done with the rows of tables, by their names.
    pub(super) fn table_work(&self, counted: &Counted) -> Vec<trace::TableWork> {
        self.catalog.table_work(counted)
    }

    /// The routine that it runs, if it does.
    pub(super) fn routine(&self) -> Option<&psql::CompiledStatement> {
        match &self.body {
            Body::Routine(compiled) => Some(compiled),
            Body::Plan(_) | Body::Explained(_) | Body::Ddl | Body::Transaction | Body::Session => None,
        }
    }

    /// Where the BLOBs of its rows come from.
    pub(super) fn blob_source(&self, transaction: TransactionHandle) -> Source {
        Source { transaction, accesses: Arc::clone(&self.accesses) }
    }
}

pub(super) fn bad_handle() -> Error {
    Error::new(isc::BAD_STMT_HANDLE)
}

pub(super) fn bad_transaction() -> Error {
    Error::new(isc::BAD_TRANS_HANDLE)
}

pub(super) fn unprepared() -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-901).and(isc::UNPREPARED_STMT)
}
