//! Statements that change rows, and those about transactions.

use super::Printer;
use crate::ast::{
    AssignedValue, Assignment, ChangedRows, ChangedTable, Delete, ExecuteBlock, ExecuteProcedure, Insert,
    InsertSource, IsolationLevel, Merge, MergeAction, MergeRows, Name, Overriding, ReadCommittedMode,
    Returning, SetTransaction, StatementKind, TableReservation, Target, TransactionAccess,
    TransactionStatement, Update, UpdateOrInsert,
};

impl Printer {
    pub(super) fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Select(select) => self.select_statement(select),
            StatementKind::Insert(insert) => self.insert(insert),
            StatementKind::Update(update) => self.update(update),
            StatementKind::Delete(delete) => self.delete(delete),
            StatementKind::UpdateOrInsert(upsert) => self.update_or_insert(upsert),
            StatementKind::Merge(merge) => self.merge(merge),
            StatementKind::ExecuteProcedure(execute) => self.execute_procedure(execute),
            StatementKind::ExecuteBlock(block) => self.execute_block(block),
            StatementKind::Transaction(transaction) => self.transaction(transaction),
            StatementKind::Session(session) => self.session(session),
            StatementKind::Ddl(ddl) => self.ddl(ddl),
            StatementKind::Explain(explain) => {
                self.word(if explain.analyze { "EXPLAIN ANALYZE" } else { "EXPLAIN" });
                self.statement(&explain.statement.kind);
            }
        }
    }

    pub(super) fn insert(&mut self, insert: &Insert) {
        self.word("INSERT INTO").changed_table(&insert.table);
        self.insert_head(insert.columns.as_deref(), insert.overriding);
        match &insert.source {
            InsertSource::Values(values) => self.values(values),
            InsertSource::Query(query) => self.query(query),
            InsertSource::DefaultValues => {
                self.word("DEFAULT VALUES");
            }
        }
        self.returning(insert.returning.as_ref());
    }

    fn changed_table(&mut self, table: &ChangedTable) {
        self.name(&table.name);
        self.alias(table.alias.as_ref());
    }

    fn insert_head(&mut self, columns: Option<&[Name]>, overriding: Option<Overriding>) {
        self.names_in_parentheses(columns.unwrap_or_default());
        match overriding {
            Some(Overriding::UserValue) => {
                self.word("OVERRIDING USER VALUE");
            }
            Some(Overriding::SystemValue) => {
                self.word("OVERRIDING SYSTEM VALUE");
            }
            None => {}
        }
    }

    fn values(&mut self, values: &[AssignedValue]) {
        self.word("VALUES").parentheses(values, Self::assigned_value);
    }

    fn assigned_value(&mut self, value: &AssignedValue) {
        match value {
            AssignedValue::Expression(value) => self.expression(value),
            AssignedValue::Default(_) => {
                self.word("DEFAULT");
            }
        }
    }

    fn returning(&mut self, returning: Option<&Returning>) {
        if let Some(returning) = returning {
            self.word("RETURNING").select_items(&returning.items);
            self.targets("INTO", &returning.into);
        }
    }

    /// Targets with their keyword, if there are any.
    pub(super) fn targets(&mut self, keyword: &str, targets: &[Target]) {
        if !targets.is_empty() {
            self.word(keyword).list(targets, Self::target);
        }
    }

    pub(super) fn target(&mut self, target: &Target) {
        self.word_if(target.colon, ":").qualified(target.qualifier.as_ref(), &target.name);
    }

    pub(super) fn update(&mut self, update: &Update) {
        self.word("UPDATE").changed_table(&update.table);
        self.word("SET").assignments(&update.assignments);
        self.changed_rows(&update.rows);
        self.plan(update.plan.as_ref());
        self.order_by(&update.order_by);
        self.limit(update.limit.as_ref());
        self.word_if(update.skip_locked, "SKIP LOCKED").returning(update.returning.as_ref());
    }

    fn assignments(&mut self, assignments: &[Assignment]) {
        self.list(assignments, |printer, assignment| {
            printer.target(&assignment.target);
            printer.word("=").assigned_value(&assignment.value);
        });
    }

    fn changed_rows(&mut self, rows: &ChangedRows) {
        match rows {
            ChangedRows::All => {}
            ChangedRows::Where(condition) => self.word("WHERE").expression(condition),
            ChangedRows::CurrentOf(cursor) => {
                self.word("WHERE CURRENT OF").name(cursor);
            }
        }
    }

    pub(super) fn delete(&mut self, delete: &Delete) {
        self.word("DELETE FROM").changed_table(&delete.table);
        self.changed_rows(&delete.rows);
        self.plan(delete.plan.as_ref());
        self.order_by(&delete.order_by);
        self.limit(delete.limit.as_ref());
        self.word_if(delete.skip_locked, "SKIP LOCKED").returning(delete.returning.as_ref());
    }

    pub(super) fn update_or_insert(&mut self, upsert: &UpdateOrInsert) {
        self.word("UPDATE OR INSERT INTO").changed_table(&upsert.table);
        self.insert_head(upsert.columns.as_deref(), upsert.overriding);
        self.values(&upsert.values);
        self.word_if(!upsert.matching.is_empty(), "MATCHING").names_in_parentheses(&upsert.matching);
        self.plan(upsert.plan.as_ref());
        self.order_by(&upsert.order_by);
        self.limit(upsert.limit.as_ref());
        self.returning(upsert.returning.as_ref());
    }

    pub(super) fn merge(&mut self, merge: &Merge) {
        self.word("MERGE INTO").changed_table(&merge.target);
        self.word("USING").table_reference(&merge.source);
        self.word("ON").expression(&merge.condition);
        for clause in &merge.clauses {
            self.word(match clause.rows {
                MergeRows::Matched => "WHEN MATCHED",
                MergeRows::NotMatchedByTarget => "WHEN NOT MATCHED",
                MergeRows::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
            });
            self.expression_after("AND", clause.condition.as_ref());
            self.word("THEN").merge_action(&clause.action);
        }
        self.plan(merge.plan.as_ref());
        self.order_by(&merge.order_by);
        self.returning(merge.returning.as_ref());
    }

    fn merge_action(&mut self, action: &MergeAction) {
        match action {
            MergeAction::Update(assignments) => self.word("UPDATE SET").assignments(assignments),
            MergeAction::Delete => {
                self.word("DELETE");
            }
            MergeAction::Insert { columns, overriding, values } => {
                self.word("INSERT").insert_head(columns.as_deref(), *overriding);
                self.values(values);
            }
        }
    }

    pub(super) fn execute_procedure(&mut self, execute: &ExecuteProcedure) {
        self.word("EXECUTE PROCEDURE").object_name(&execute.name);
        if !execute.arguments.is_empty() {
            self.parentheses(&execute.arguments, Self::expression);
        }
        self.targets("RETURNING_VALUES", &execute.returning_values);
    }

    fn execute_block(&mut self, block: &ExecuteBlock) {
        self.word("EXECUTE BLOCK");
        if !block.parameters.is_empty() {
            self.parentheses(&block.parameters, |printer, parameter| {
                printer.typed_name(&parameter.declaration.parameter);
                printer.word("= ?");
            });
        }
        self.returns(&block.returns);
        self.word("AS").line().routine_body(&block.body);
    }

    // Transactions.

    fn transaction(&mut self, statement: &TransactionStatement) {
        match statement {
            TransactionStatement::Set(set) => self.set_transaction(set),
            TransactionStatement::Commit { retain } => {
                self.word("COMMIT").word_if(*retain, "RETAIN");
            }
            TransactionStatement::Rollback { retain } => {
                self.word("ROLLBACK").word_if(*retain, "RETAIN");
            }
            TransactionStatement::RollbackToSavepoint(name) => {
                self.word("ROLLBACK TO SAVEPOINT").name(name);
            }
            TransactionStatement::Savepoint(name) => {
                self.word("SAVEPOINT").name(name);
            }
            TransactionStatement::ReleaseSavepoint { name, only } => {
                self.word("RELEASE SAVEPOINT").name(name).word_if(*only, "ONLY");
            }
        }
    }

    fn set_transaction(&mut self, set: &SetTransaction) {
        self.word("SET TRANSACTION");
        match set.access {
            Some(TransactionAccess::ReadOnly) => {
                self.word("READ ONLY");
            }
            Some(TransactionAccess::ReadWrite) => {
                self.word("READ WRITE");
            }
            None => {}
        }
        self.word_if(set.wait == Some(true), "WAIT").word_if(set.wait == Some(false), "NO WAIT");
        if let Some(isolation) = set.isolation {
            self.isolation(isolation);
        }
        self.word_if(set.no_auto_undo, "NO AUTO UNDO")
            .word_if(set.ignore_limbo, "IGNORE LIMBO")
            .word_if(set.restart_requests, "RESTART REQUESTS")
            .word_if(set.auto_commit, "AUTO COMMIT")
            .word_if(set.auto_release_temp_blobs, "AUTO RELEASE TEMP BLOBID")
            .number_after("LOCK TIMEOUT", set.lock_timeout);
        if !set.reserving.is_empty() {
            self.word("RESERVING").list(&set.reserving, Self::reservation);
        }
    }

    fn isolation(&mut self, isolation: IsolationLevel) {
        match isolation {
            IsolationLevel::Snapshot { at_number } => {
                self.word("SNAPSHOT").number_after("AT NUMBER", at_number);
            }
            IsolationLevel::SnapshotTableStability => {
                self.word("SNAPSHOT TABLE STABILITY");
            }
            IsolationLevel::ReadUncommitted => {
                self.word("READ UNCOMMITTED");
            }
            IsolationLevel::ReadCommitted(mode) => {
                self.word("READ COMMITTED");
                match mode {
                    None => {}
                    Some(ReadCommittedMode::ReadConsistency) => {
                        self.word("READ CONSISTENCY");
                    }
                    Some(ReadCommittedMode::RecordVersion) => {
                        self.word("RECORD_VERSION");
                    }
                    Some(ReadCommittedMode::NoRecordVersion) => {
                        self.word("NO RECORD_VERSION");
                    }
                }
            }
        }
    }

    fn reservation(&mut self, reservation: &TableReservation) {
        self.names(&reservation.tables)
            .word("FOR")
            .word(if reservation.protected { "PROTECTED" } else { "SHARED" })
            .word(if reservation.write { "WRITE" } else { "READ" });
    }
}
