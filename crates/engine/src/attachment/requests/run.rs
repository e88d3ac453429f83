//! An instance of a request, running from one message to the next.
//!
//! An instance stops where it waits for its client, and wherever it fails: then it has ended, its loops are closed, and what its
//! statements have changed stays with the transaction, each statement whole.

use std::sync::Arc;

use farbird_types::convert::cast;
use farbird_types::{Error, Result, SqlType, Value, isc};

use super::instance::{Instance, PreparedQuery, Running, State};
use super::program::{Instruction, Program, QueryNumber, Source, SystemChange, declared_bytes};
use crate::api::{ExecuteOptions, Execution, FetchEnd, RecordCounts, RowsWanted, TransactionHandle};
use crate::attachment::Attachment;
use crate::catalog::Relation;

/// Rows that a loop takes at a time if nothing in its request changes any.
const ROWS_AT_A_TIME: usize = 100;
/// Memory for the rows that a loop takes at a time, in bytes; an estimate from their declared lengths.
const ROWS_BYTES_MAX: usize = 1 << 18;

impl Instance {
    /// Places it before its first step.
    pub(super) fn begin(
        &mut self,
        attachment: &mut Attachment,
        program: &Program,
        transaction: TransactionHandle,
    ) {
        self.end(attachment);
        self.transaction = transaction;
        self.state = State::At(0);
        for (values, message) in self.messages.iter_mut().zip(&program.messages) {
            values.clear();
            values.resize(message.items.len(), Value::Null);
        }
    }

    /// Closes its loops.
    pub(super) fn end(&mut self, attachment: &mut Attachment) {
        self.state = State::Ended;
        self.failed = None;
        for running in &mut self.statements {
            running.close(attachment);
        }
    }

    /// Forgets its statements.
    pub(super) fn release(self, attachment: &mut Attachment) {
        for prepared in self.statements.into_iter().filter_map(|running| running.prepared) {
            // It is gone already if the session has ended.
            let _ = attachment.drop_statement(prepared.handle);
        }
    }

    pub(super) fn counts(&self, attachment: &Attachment) -> RecordCounts {
        let mut sum = RecordCounts::default();
        for prepared in self.statements.iter().filter_map(|running| running.prepared.as_ref()) {
            let counts = attachment.record_counts(prepared.handle).unwrap_or_default();
            sum.selected += counts.selected;
            sum.inserted += counts.inserted;
            sum.updated += counts.updated;
            sum.deleted += counts.deleted;
        }
        sum
    }

    /// Goes on behind a message that has been taken.
    ///
    /// # Errors
    /// What was met ahead; `isc_req_sync` if its transaction has ended, and the instance with it.
    pub(super) fn proceed(&mut self, attachment: &mut Attachment, program: &Program) -> Result<()> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if attachment.transaction(self.transaction).is_err() {
            self.end(attachment);
            return Err(Error::new(isc::REQ_SYNC));
        }
        match self.state {
            State::At(_) => self.run(attachment, program),
            _ => Ok(()),
        }
    }

    /// As [`Instance::proceed`]; a failure is kept.
    pub(super) fn look_ahead(&mut self, attachment: &mut Attachment, program: &Program) {
        if self.failed.is_none()
            && let Err(error) = self.proceed(attachment, program)
        {
            self.failed = Some(error);
        }
    }

    /// Runs until it waits, ends or fails.
    pub(super) fn run(&mut self, attachment: &mut Attachment, program: &Program) -> Result<()> {
        let outcome = self.steps(attachment, program);
        if outcome.is_err() {
            self.end(attachment);
        }
        outcome
    }

    fn steps(&mut self, attachment: &mut Attachment, program: &Program) -> Result<()> {
        while let State::At(step) = self.state {
            if let Err(error) = attachment.session.interrupt.check() {
                attachment.session.interrupt.end();
                return Err(error);
            }
            let Some(instruction) = program.instructions.get(step) else {
                self.end(attachment);
                return Ok(());
            };
            self.state = match instruction {
                Instruction::Open(query) => {
                    self.open(attachment, program, *query)?;
                    State::At(step + 1)
                }
                Instruction::Next(query, end) => match self.next(attachment, program, *query)? {
                    true => State::At(step + 1),
                    false => State::At(*end),
                },
                Instruction::Assign(source, target) => {
                    let value = self.value(attachment, program, source)?;
                    self.assign(program, *target, value);
                    State::At(step + 1)
                }
                Instruction::Change(query) => {
                    self.execute(attachment, program, *query, RowsWanted::Cursor)?;
                    State::At(step + 1)
                }
                Instruction::Restore(change) => {
                    self.restore(attachment, program, change)?;
                    State::At(step + 1)
                }
                Instruction::Send(message) => State::Sending(*message, step + 1),
                Instruction::Receive(choices) => State::Receiving(choices.clone()),
                Instruction::Jump(to) => State::At(*to),
                Instruction::JumpUnless(query, to) => {
                    let truth = self.single(attachment, program, *query)?;
                    let holds = matches!(truth, Value::Integer { unscaled: 1, .. });
                    State::At(if holds { step + 1 } else { *to })
                }
            };
        }
        Ok(())
    }

    fn open(&mut self, attachment: &mut Attachment, program: &Program, query: QueryNumber) -> Result<()> {
        if let Some(running) = self.statements.get_mut(query) {
            running.close(attachment);
        }
        self.execute(attachment, program, query, RowsWanted::Cursor).map(|_| ())
    }

    /// Moves a loop to its next row that differs from the one before; false if there is none.
    fn next(&mut self, attachment: &mut Attachment, program: &Program, query: QueryNumber) -> Result<bool> {
        let different_by = program.queries.get(query).map_or(&[][..], |query| &query.different_by);
        loop {
            let is_there = self.next_row(attachment, program, query)?;
            if !is_there || different_by.is_empty() {
                return Ok(is_there);
            }
            let Some(running) = self.statements.get_mut(query) else { return Ok(false) };
            let row = running.rows.row(running.next.saturating_sub(1));
            let kind: Vec<Value> =
                different_by.iter().map(|column| row.get(*column).cloned().unwrap_or_default()).collect();
            if running.kind.as_ref() != Some(&kind) {
                running.kind = Some(kind);
                return Ok(true);
            }
        }
    }

    /// Moves a loop to its next row; false if there is none.
    fn next_row(
        &mut self,
        attachment: &mut Attachment,
        program: &Program,
        query: QueryNumber,
    ) -> Result<bool> {
        let Some(running) = self.statements.get_mut(query) else { return Ok(false) };
        let is_singular = program.queries.get(query).is_some_and(|query| query.singular);
        let rows_max = match (program.changes_rows, is_singular) {
            (_, true) => 2,
            (true, false) => 1,
            (false, false) => running.prepared.as_ref().map_or(1, |prepared| prepared.rows_max),
        };
        if running.next >= running.rows.len() {
            match running.after.take() {
                Some(Err(error)) => return Err(error),
                Some(Ok(())) => {
                    running.close(attachment);
                    return Ok(false);
                }
                None => running.fetch(attachment, rows_max)?,
            }
            if is_singular && running.rows.len() > 1 {
                return Err(Error::new(isc::SING_SELECT_ERR));
            }
            if running.rows.is_empty() {
                return self.next_row(attachment, program, query);
            }
        }
        running.next += 1;
        Ok(true)
    }

    /// Executes a statement with its parameters.
    fn execute(
        &mut self,
        attachment: &mut Attachment,
        program: &Program,
        query: QueryNumber,
        rows: RowsWanted,
    ) -> Result<Execution> {
        let Some(definition) = program.queries.get(query) else { return Err(Error::new(isc::REQ_SYNC)) };
        self.prepare(attachment, program, query)?;
        let mut values = Vec::with_capacity(definition.parameters.len());
        for source in &definition.parameters {
            values.push(self.value(attachment, program, source)?);
        }
        let running = self.statements.get(query).and_then(|running| running.prepared.as_ref());
        let Some(prepared) = running else { return Err(Error::new(isc::REQ_SYNC)) };
        let context = attachment.cast_context();
        for (value, described) in values.iter_mut().zip(&prepared.parameters) {
            if !value.is_null() && !matches!(value, Value::Blob(_)) {
                *value = cast(value, &described.sql_type.of_parameter_value(), &context)?;
            }
        }
        let options = ExecuteOptions { rows, ..ExecuteOptions::default() };
        attachment.execute(prepared.handle, Some(self.transaction), values, options)
    }

    /// Does with a row of a system table what gbak wants.
    fn restore(
        &mut self,
        attachment: &mut Attachment,
        program: &Program,
        change: &SystemChange,
    ) -> Result<()> {
        let transaction = self.transaction;
        match change {
            SystemChange::Store { relation, values } => {
                let values = self.restored_values(attachment, program, relation, values)?;
                attachment.restore_row(transaction, relation, values)
            }
            SystemChange::Modify { relation, key, values } => {
                let key = self.value(attachment, program, key)?;
                let values = self.restored_values(attachment, program, relation, values)?;
                attachment.restore_change(transaction, relation, &key, values)
            }
            SystemChange::Erase { relation, key } => {
                let key = self.value(attachment, program, key)?;
                attachment.restore_erasure(transaction, relation, &key)
            }
            SystemChange::AddToSequence { name, increment } => {
                let increment = self.value(attachment, program, increment)?;
                attachment.restore_sequence(transaction, name, &increment)
            }
        }
    }

    /// Values as columns of a system table have them, by the columns' places: what is in BLOBs as bytes.
    fn restored_values(
        &mut self,
        attachment: &mut Attachment,
        program: &Program,
        relation: &Relation,
        values: &[(usize, Source)],
    ) -> Result<Vec<(usize, Value)>> {
        let mut restored = Vec::with_capacity(values.len());
        for (place, source) in values {
            let Some(column) = relation.columns.get(*place) else { continue };
            let value = match self.value(attachment, program, source)? {
                Value::Null => Value::Null,
                Value::Blob(id) if matches!(column.sql_type, SqlType::Blob { .. }) => {
                    attachment.restored_blob(self.transaction, id)?
                }
                value => cast(&value, &column.sql_type, &attachment.cast_context())?,
            };
            restored.push((*place, value));
        }
        Ok(restored)
    }

    fn prepare(&mut self, attachment: &mut Attachment, program: &Program, query: QueryNumber) -> Result<()> {
        let (Some(running), Some(definition)) = (self.statements.get_mut(query), program.queries.get(query))
        else {
            return Err(Error::new(isc::REQ_SYNC));
        };
        if running.prepared.is_some() {
            return Ok(());
        }
        let handle = attachment.allocate_statement()?;
        let (tree, sql) = (Arc::clone(&definition.tree), Arc::clone(&definition.sql));
        let prepared = attachment.prepare_tree(handle, self.transaction, tree, sql).and_then(|description| {
            let types = description.columns.iter().map(|one| &one.column_type.sql_type);
            let row_bytes = types.map(declared_bytes).fold(0, usize::saturating_add).max(1);
            let rows_max = (ROWS_BYTES_MAX / row_bytes).clamp(1, ROWS_AT_A_TIME);
            Ok(PreparedQuery {
                handle,
                parameters: description.parameters.iter().map(|one| one.column_type).collect(),
                width: description.columns.len(),
                rows_max,
                _memory: attachment.session.budget.charge(rows_max.saturating_mul(row_bytes))?,
            })
        });
        match prepared {
            Ok(prepared) => {
                running.prepared = Some(prepared);
                Ok(())
            }
            Err(error) => {
                attachment.drop_statement(handle)?;
                Err(error)
            }
        }
    }

    /// The only value of a query's only row; NULL if it has none.
    fn single(
        &mut self,
        attachment: &mut Attachment,
        program: &Program,
        query: QueryNumber,
    ) -> Result<Value> {
        match self.execute(attachment, program, query, RowsWanted::AtMostOne)? {
            Execution::Row(Some(row)) => Ok(row.into_iter().next().unwrap_or_default()),
            _ => Ok(Value::Null),
        }
    }

    fn value(&mut self, attachment: &mut Attachment, program: &Program, source: &Source) -> Result<Value> {
        Ok(match source {
            Source::Constant(value) => value.clone(),
            Source::Parameter(parameter) => {
                let values = program.message(parameter.message).and_then(|index| self.messages.get(index));
                let item = |item: u16| values.and_then(|values| values.get(usize::from(item)));
                let flag = parameter.null_flag.and_then(item);
                match flag {
                    Some(Value::Integer { unscaled, .. }) if *unscaled != 0 => Value::Null,
                    _ => item(parameter.item).cloned().unwrap_or_default(),
                }
            }
            Source::Column(query, column) => {
                let running = self.statements.get(*query);
                let row = running.and_then(|running| Some(running.rows.row(running.next.checked_sub(1)?)));
                row.and_then(|row| row.get(*column)).cloned().unwrap_or_default()
            }
            Source::Query(query) => self.single(attachment, program, *query)?,
            Source::Sequence(name) => Value::integer(attachment.restored_sequence(name)?),
        })
    }
}

impl Running {
    fn close(&mut self, attachment: &mut Attachment) {
        self.rows.reset(0);
        self.next = 0;
        self.after = None;
        self.kind = None;
        if let Some(prepared) = &self.prepared {
            // Its cursor is closed already if its transaction has ended.
            let _ = attachment.close_cursor(prepared.handle);
        }
    }

    /// Takes the loop's next rows. What comes behind them is kept.
    fn fetch(&mut self, attachment: &mut Attachment, rows_max: usize) -> Result<()> {
        let Some(prepared) = &self.prepared else { return Err(Error::new(isc::REQ_SYNC)) };
        self.rows.reset(prepared.width);
        self.next = 0;
        self.after = match attachment.fetch(prepared.handle, rows_max, &mut self.rows) {
            Ok(FetchEnd::MoreToCome) => None,
            Ok(FetchEnd::EndOfCursor) => Some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        Ok(())
    }
}
