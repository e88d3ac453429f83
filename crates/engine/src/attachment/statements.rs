//! Statements of an attachment: prepared once, executed often, fetched from as the client likes. Here are their handles and what is told
//! of them; see [`super::preparation`], [`super::execution`] and [`super::fetching`] for the rest.

use std::sync::Arc;

use farbird_types::convert::CastContext;
use farbird_types::{ColumnType, Error, Result, isc};

use crate::api::{RecordCounts, StatementDescription, StatementHandle};
use crate::attachment::statement_slot::{Body, StatementSlot, bad_handle, unprepared};
use crate::attachment::{Attachment, HANDLES_MAX};
use crate::budget::StatementBudget;
use crate::clock;
use crate::session::binding::ShownType;

impl Attachment {
    /// Makes a statement, to be prepared.
    pub fn allocate_statement(&mut self) -> Result<StatementHandle> {
        if self.statements.len() >= HANDLES_MAX {
            return Err(Error::new(isc::TOO_MANY_HANDLES));
        }
        let slot = StatementSlot {
            id: self.database().next_statement_id(),
            is_written: false,
            traced: None,
            activity: None,
            prepared: None,
            open: None,
            cursor_name: None,
            counts: RecordCounts::default(),
            told_counts: None,
            prepared_memory: None,
            budget: self.session.budget.statement(),
        };
        let handle = StatementHandle(self.new_handle());
        self.statements.insert(handle, slot);
        Ok(handle)
    }

    /// What prepare found out.
    pub fn describe(&self, handle: StatementHandle) -> Result<Arc<StatementDescription>> {
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        slot.prepared.as_ref().map(|prepared| Arc::clone(&prepared.description)).ok_or_else(unprepared)
    }

    /// What the client of a prepared statement is warned of: what means something else in another dialect, and common tables that are
    /// not read.
    pub fn statement_warnings(&self, handle: StatementHandle) -> Option<Error> {
        let prepared = self.statements.get(&handle)?.prepared.as_ref()?;
        let of_query = match &prepared.body {
            Body::Plan(bound) => bound.warnings.clone(),
            _ => None,
        };
        match (prepared.tree.warnings.clone(), of_query) {
            (Some(of_dialect), Some(of_query)) => Some(of_dialect.and_all(of_query)),
            (of_dialect, of_query) => of_dialect.or(of_query),
        }
    }

    /// The relations that a prepared query reads, by number, if that is all it does: see `farbird_catalog::purity`.
    pub fn statement_reads(&self, handle: StatementHandle) -> Option<Vec<u32>> {
        let prepared = self.statements.get(&handle)?.prepared.as_ref()?;
        if !prepared.description.has_cursor {
            return None;
        }
        let read = farbird_catalog::purity::reads(&prepared.catalog, &prepared.sql)?;
        Some(read.into_iter().map(|relation| relation.0).collect())
    }

    /// Whether beginning or ending a transaction does more than that: triggers ON TRANSACTION.
    pub fn has_transaction_triggers(&self) -> bool {
        use farbird_sql::ast::DatabaseEvent::{TransactionCommit, TransactionRollback, TransactionStart};
        let catalog = self.database().catalog();
        !self.session.options.no_database_triggers
            && [TransactionStart, TransactionCommit, TransactionRollback]
                .into_iter()
                .any(|event| crate::psql::has_database_triggers(&catalog, event))
    }

    /// Rows that the statement's latest run has touched so far.
    pub fn record_counts(&self, handle: StatementHandle) -> Result<RecordCounts> {
        Ok(self.statements.get(&handle).ok_or_else(bad_handle)?.counts)
    }

    /// Names the cursor that the statement will open, for WHERE CURRENT OF in others. As in SQL, a name without quotes
    /// stands for its capitals; what follows a space is left out.
    ///
    /// # Errors
    /// `isc_dsql_decl_err` with `isc_dsql_cursor_invalid` for no name, and with `isc_dsql_cursor_redefined` if another
    /// statement's cursor has that name or the statement's cursor is open under another one.
    pub fn set_cursor_name(&mut self, handle: StatementHandle, name: &str) -> Result<()> {
        let wrong =
            |code| Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-502).and(isc::DSQL_DECL_ERR).and(code);
        let name = match name.strip_prefix('"') {
            Some(quoted) => quoted.strip_suffix('"').unwrap_or(quoted).replace("\"\"", "\""),
            None => name.split(' ').next().unwrap_or_default().to_uppercase(),
        };
        let name = name.trim_end_matches(' ');
        if name.is_empty() {
            return Err(wrong(isc::DSQL_CURSOR_INVALID));
        }
        let slot = self.statements.get(&handle).ok_or_else(bad_handle)?;
        if slot.cursor_name.as_deref() == Some(name) {
            return Ok(());
        }
        if self.statements.values().any(|slot| slot.cursor_name.as_deref() == Some(name)) {
            return Err(wrong(isc::DSQL_CURSOR_REDEFINED).with(name));
        }
        if let (Some(own), Some(_)) = (&slot.cursor_name, &slot.open) {
            return Err(wrong(isc::DSQL_CURSOR_REDEFINED).with(own.as_str()));
        }
        self.statements.get_mut(&handle).ok_or_else(bad_handle)?.cursor_name = Some(name.to_owned());
        Ok(())
    }

    /// Forgets what was prepared; the handle stays.
    pub fn unprepare(&mut self, handle: StatementHandle) -> Result<()> {
        self.close_cursor(handle)?;
        let slot = self.statements.get_mut(&handle).ok_or_else(bad_handle)?;
        slot.tell_freed(&self.session.tracer);
        slot.prepared = None;
        slot.is_written = false;
        slot.prepared_memory = None;
        slot.activity = None;
        slot.cursor_name = None;
        self.session.activity.lock().statements.remove(&slot.id);
        Ok(())
    }

    /// What a statement is charged to: for whoever keeps something for it.
    pub fn statement_budget(&self, handle: StatementHandle) -> Result<Arc<StatementBudget>> {
        Ok(Arc::clone(&self.statements.get(&handle).ok_or_else(bad_handle)?.budget))
    }

    /// Forgets a statement.
    pub fn drop_statement(&mut self, handle: StatementHandle) -> Result<()> {
        self.unprepare(handle)?;
        self.statements.remove(&handle);
        Ok(())
    }

    /// What conversions of this session's values need.
    pub fn cast_context(&self) -> CastContext {
        let settings = self.session.settings.lock();
        let (session_zone, decimal) = (settings.time_zone, settings.decimal);
        let month_names = self.session.options.dialect == 1;
        CastContext { session_zone, now: clock::utc, decimal, month_names }
    }

    /// As which type the client is to be shown a type: SET BIND.
    pub fn shown_type(&self, column_type: ColumnType) -> ShownType {
        self.session.settings.lock().bindings.shown(column_type)
    }

    /// The rules of `isc_dpb_set_bind`, which hold from the attach on.
    ///
    /// # Errors
    /// `isc_bind_err` for a rule that is none.
    pub fn set_initial_bindings(&self, rules: &str) -> Result<()> {
        let catalog = self.database().catalog();
        self.session.settings.lock().bindings.set_initial(&*catalog, rules)
    }
}
