//! Statements that read or change rows: cursors, loops over queries, SELECT INTO, DML with RETURNING INTO.

use std::sync::Arc;

use farbird_plan::bind::{self, Action, Prepared, QueryOptions, Variable};
use farbird_plan::modification::{ModifyAction, ModifyPlan};
use farbird_plan::{Node, SelectPlan};
use farbird_session::ColumnDescription;
use farbird_sql::ast;
use farbird_types::{ColumnType, Error, Result, SqlType, isc};

use super::compiler::{Compiler, Construct, PositionedStatement};
use super::scope::{Known, RowPlace, Writable, sql_error};
use crate::routine::{
    CursorDefinition, CursorSource, DynamicParameter, DynamicStatement, Instruction, Positioned, Scroll,
    Store,
};

/// The wrong number of targets.
fn count_mismatch() -> Error {
    sql_error(-313).and(isc::DSQL_COUNT_MISMATCH)
}

/// Whether a statement inserts one row of values that no query is needed for.
fn is_plain_insert(plan: &ModifyPlan) -> bool {
    match &plan.action {
        ModifyAction::Insert(insert) => {
            let single = match &insert.source {
                Node::Single => true,
                Node::Project(project) => matches!(project.input, Node::Single),
                _ => false,
            };
            single && plan.frame.subqueries == 0
        }
        _ => false,
    }
}

impl Compiler<'_> {
    /// The cursor that WHERE CURRENT OF names, and where the number of its row is.
    pub(super) fn current_row<'s>(
        &self,
        table: &ast::ChangedTable,
        rows: &'s ast::ChangedRows,
    ) -> Option<(&'s str, Positioned)> {
        let ast::ChangedRows::CurrentOf(cursor) = rows else { return None };
        let place = self.scope.current_row(cursor.as_str(), table.name.as_str())?;
        Some((cursor.as_str(), Positioned { row: place.slot, cursor: place.cursor, shows: true }))
    }

    /// Where the columns of a row go; as many targets as columns.
    pub(super) fn stores(&self, columns: &[ColumnType], targets: &[ast::Target]) -> Result<Vec<Store>> {
        // Firebird looks at the names before it counts them.
        targets.iter().try_for_each(|target| self.scope.target(target).map(|_| ()))?;
        if columns.len() != targets.len() {
            return Err(count_mismatch());
        }
        columns
            .iter()
            .zip(targets)
            .enumerate()
            .map(|(column, (column_type, target))| self.store(column, &column_type.sql_type, target))
            .collect()
    }

    fn store(&self, column: usize, from: &SqlType, target: &ast::Target) -> Result<Store> {
        let known = self.scope.target(target)?;
        let to = known.variable.column_type.sql_type;
        let cast = (*from != to).then_some(to);
        Ok(Store { column, slot: known.variable.slot, cast, constraint: known.constraint })
    }

    /// Binds a query of the routine; with `row_numbers` its rows carry the numbers of the rows they were read from.
    fn select(
        &mut self,
        query: &ast::SelectStatement,
        row_numbers: bool,
    ) -> Result<(Prepared, Arc<SelectPlan>)> {
        let prepared = bind::bind_select(self.environment, query, &self.scope, QueryOptions { row_numbers })?;
        self.accesses.extend(prepared.accesses.iter().cloned());
        match &prepared.action {
            Action::Select(plan) => {
                let plan = Arc::clone(plan);
                Ok((prepared, plan))
            }
            Action::Modify(_) => Err(Error::new(isc::WISH_LIST)),
        }
    }

    /// Gives the columns of the next cursor, and the row numbers it carries, slots of their own.
    fn cursor_fields(
        &mut self,
        cursor: &str,
        columns: &[ColumnDescription],
        plan: &SelectPlan,
    ) -> Vec<Store> {
        let own_number = self.cursors.len();
        let mut fields = Vec::new();
        for (column, description) in columns.iter().enumerate() {
            let slot = self.slot();
            fields.push(Store { column, slot, cast: None, constraint: None });
            let variable = Variable { slot, column_type: description.column_type };
            let known = Known { variable, constraint: None, writable: Writable::No };
            self.scope.declare_field(cursor, &description.alias, known);
        }
        for number in &plan.row_numbers {
            let slot = self.slot();
            fields.push(Store { column: number.position, slot, cast: None, constraint: None });
            let place = RowPlace { slot, cursor: own_number };
            self.scope.declare_row_number(cursor, &number.relation, place);
        }
        fields
    }

    /// The query that reads the columns of the cursor `name` anew from the row that it stands on.
    fn read_again(
        &self,
        query: &ast::SelectStatement,
        plan: &SelectPlan,
        fields: &[Store],
    ) -> Result<Option<Arc<SelectPlan>>> {
        let ([_], Some(number)) = (plan.row_numbers.as_slice(), fields.last()) else { return Ok(None) };
        let bound = bind::bind_row_of_select(self.environment, query, &self.scope, number.slot)?;
        Ok(bound.and_then(|prepared| match prepared.action {
            Action::Select(plan) => Some(plan),
            Action::Modify(_) => None,
        }))
    }

    fn new_cursor(&mut self, definition: CursorDefinition) -> usize {
        self.cursors.push(definition);
        self.cursors.len() - 1
    }

    /// DECLARE ... CURSOR
    pub(super) fn declare_cursor(
        &mut self,
        name: &ast::Name,
        scroll: bool,
        query: &ast::SelectStatement,
    ) -> Result<()> {
        let text = name.as_str();
        self.scope.declare_cursor(text)?;
        let (prepared, plan) = self.select(query, self.positioned.contains(text))?;
        let fields = self.cursor_fields(text, &prepared.columns, &plan);
        let again = self.read_again(query, &plan, &fields)?;
        // What its query reads of other cursors is read when it is opened.
        self.scope.cursors_read();
        let source = CursorSource::Query(plan);
        let number =
            self.new_cursor(CursorDefinition { name: Some(text.to_owned()), source, scroll, fields, again });
        self.cursor_numbers.insert(text.to_owned(), number);
        Ok(())
    }

    /// A declared cursor by name.
    fn cursor(&self, name: &ast::Name) -> Result<usize> {
        self.cursor_numbers.get(name.as_str()).copied().ok_or_else(|| {
            sql_error(-504).and(isc::DSQL_CURSOR_ERR).and(isc::DSQL_CURSOR_NOT_FOUND).with(name.as_str())
        })
    }

    pub(super) fn open_cursor(&mut self, name: &ast::Name) -> Result<()> {
        let cursor = self.cursor(name)?;
        self.emit(Instruction::OpenCursor { cursor });
        Ok(())
    }

    pub(super) fn close_cursor(&mut self, name: &ast::Name) -> Result<()> {
        let cursor = self.cursor(name)?;
        self.emit(Instruction::CloseCursor { cursor });
        Ok(())
    }

    pub(super) fn fetch(
        &mut self,
        name: &ast::Name,
        scroll: Option<&ast::FetchScroll>,
        into: &[ast::Target],
    ) -> Result<()> {
        let cursor = self.cursor(name)?;
        let definition = self.cursors.get(cursor);
        let columns = match definition.map(|definition| &definition.source) {
            Some(CursorSource::Query(plan)) => {
                plan.columns.iter().map(|column| column.column_type).collect::<Vec<_>>()
            }
            _ => Vec::new(),
        };
        let targets = if into.is_empty() { Vec::new() } else { self.stores(&columns, into)? };
        let scroll = match scroll {
            None | Some(ast::FetchScroll::Next) => Scroll::Next,
            Some(ast::FetchScroll::Prior) => Scroll::Prior,
            Some(ast::FetchScroll::First) => Scroll::First,
            Some(ast::FetchScroll::Last) => Scroll::Last,
            Some(ast::FetchScroll::Absolute(position)) => {
                Scroll::Absolute(self.expression(position, Some(&SqlType::BIGINT))?)
            }
            Some(ast::FetchScroll::Relative(distance)) => {
                Scroll::Relative(self.expression(distance, Some(&SqlType::BIGINT))?)
            }
        };
        self.emit(Instruction::Fetch { cursor, scroll, targets });
        Ok(())
    }

    /// FOR SELECT ... [INTO ...] [AS CURSOR ...] DO
    pub(super) fn for_select(&mut self, statement: &ast::ForSelect) -> Result<()> {
        let name = statement.cursor.as_ref().map(ast::Name::as_str);
        let row_numbers = name.is_some_and(|name| self.positioned.contains(name));
        let (prepared, plan) = self.select(&statement.query, row_numbers)?;
        let columns: Vec<ColumnType> = prepared.columns.iter().map(|column| column.column_type).collect();
        let targets = match (name, statement.into.is_empty()) {
            (Some(_), true) => Vec::new(),
            _ => self.stores(&columns, &statement.into)?,
        };
        let fields = match name {
            Some(name) => {
                self.scope.declare_loop_cursor(name);
                self.cursor_fields(name, &prepared.columns, &plan)
            }
            None => Vec::new(),
        };
        let again = self.read_again(&statement.query, &plan, &fields)?;
        let source = CursorSource::Query(plan);
        let cursor = self.new_cursor(CursorDefinition { name: None, source, scroll: false, fields, again });
        self.row_loop(statement.label.as_ref(), cursor, targets, &statement.body)?;
        if let Some(name) = name {
            self.scope.forget_fields(name);
        }
        Ok(())
    }

    /// FOR EXECUTE STATEMENT ... INTO ... DO
    pub(super) fn for_execute_statement(
        &mut self,
        label: Option<&ast::Name>,
        statement: &ast::ExecuteStatement,
        body: &ast::PsqlStatement,
    ) -> Result<()> {
        let dynamic = self.dynamic(statement)?;
        let targets = dynamic.targets.clone();
        let cursor = self.new_cursor(CursorDefinition {
            name: None,
            source: CursorSource::Dynamic(Box::new(dynamic)),
            scroll: false,
            fields: Vec::new(),
            again: None,
        });
        self.changes = true;
        self.executes_texts = true;
        self.row_loop(label, cursor, targets, body)
    }

    /// A loop over the rows of a cursor.
    fn row_loop(
        &mut self,
        label: Option<&ast::Name>,
        cursor: usize,
        targets: Vec<Store>,
        body: &ast::PsqlStatement,
    ) -> Result<()> {
        let position = self.position;
        self.emit(Instruction::OpenLoop { cursor });
        let next = self.emit(Instruction::NextRow { cursor, targets, end: 0 });
        self.begin_loop(label, Some(cursor), next)?;
        self.statement(body)?;
        self.position = position;
        self.emit(Instruction::Jump(next));
        self.land(next);
        self.emit(Instruction::CloseLoop { cursor });
        self.end_loop();
        Ok(())
    }

    /// Leads the LEAVEs of the innermost loop to the next instruction.
    pub(super) fn end_loop(&mut self) {
        if let Some(Construct::Loop { leaves, .. }) = self.constructs.pop() {
            for jump in leaves {
                self.land(jump);
            }
        }
    }

    /// SELECT ... INTO
    pub(super) fn select_into(&mut self, query: &ast::SelectStatement, into: &[ast::Target]) -> Result<()> {
        let (prepared, plan) = self.select(query, false)?;
        let columns: Vec<ColumnType> = prepared.columns.iter().map(|column| column.column_type).collect();
        let targets = self.stores(&columns, into)?;
        self.emit(Instruction::SelectInto { plan, targets });
        Ok(())
    }

    /// INSERT, UPDATE, DELETE, UPDATE OR INSERT, MERGE, with RETURNING ... INTO.
    pub(super) fn modify(
        &mut self,
        prepared: Prepared,
        returning: Option<&ast::Returning>,
        current_row: Option<(&str, Positioned)>,
    ) -> Result<()> {
        self.accesses.extend(prepared.accesses.iter().cloned());
        let Action::Modify(plan) = prepared.action else { return Err(Error::new(isc::WISH_LIST)) };
        let targets = match returning {
            Some(returning) => {
                let columns: Vec<ColumnType> =
                    prepared.columns.iter().map(|column| column.column_type).collect();
                if columns.len() != returning.into.len() {
                    return Err(sql_error(-804).and(isc::DSQL_VAR_COUNT_ERR));
                }
                self.stores(&columns, &returning.into)?
            }
            None => Vec::new(),
        };
        self.changes = true;
        // An UPDATE of a system table changes definitions, as a text could.
        self.executes_texts |= plan.changes_definitions();
        let reads = !is_plain_insert(&plan);
        let positioned = current_row.map(|(_, row)| row);
        let instruction = self.emit(Instruction::Modify { plan, targets, reads, positioned });
        if let Some((name, row)) = current_row {
            self.note_positioned(instruction, name, row.cursor);
        }
        Ok(())
    }

    /// Notes a statement on a cursor's row: at the end it is known whether anybody looks at the cursor's fields behind it.
    fn note_positioned(&mut self, instruction: usize, cursor: &str, number: usize) {
        let innermost = self.constructs.iter().rev().find_map(|construct| match construct {
            Construct::Loop { cursor, .. } => Some(*cursor),
            _ => None,
        });
        // What stands before it in another loop around it comes again without the cursor being moved.
        let comes_again = innermost.is_some_and(|own| own != Some(number));
        let read_before = if comes_again { 0 } else { self.scope.reads_of(cursor) };
        self.positioned_statements.push(PositionedStatement {
            instruction,
            cursor: cursor.to_owned(),
            read_before,
        });
    }

    /// Spares statements on rows of cursors the reading of fields that nobody looks at any more.
    pub(super) fn forget_unread_fields(&mut self) {
        for statement in std::mem::take(&mut self.positioned_statements) {
            if self.scope.reads_of(&statement.cursor) > statement.read_before {
                continue;
            }
            if let Some(Instruction::Modify { positioned: Some(row), .. }) =
                self.instructions.get_mut(statement.instruction)
            {
                row.shows = false;
            }
        }
    }

    /// EXECUTE STATEMENT: its text, inputs and targets.
    pub(super) fn dynamic(&mut self, statement: &ast::ExecuteStatement) -> Result<DynamicStatement> {
        let sql = self.expression(&statement.sql, None)?;
        let mut parameters = Vec::new();
        for parameter in &statement.parameters {
            parameters.push(DynamicParameter {
                name: parameter.name.as_ref().map(|name| name.text.clone()),
                excess: parameter.excess,
                value: self.expression(&parameter.value, None)?,
            });
        }
        let mut targets = Vec::new();
        for (column, target) in statement.into.iter().enumerate() {
            // What the text will give is not known: each value is converted.
            targets.push(self.store(column, &SqlType::Null, target)?);
        }
        let mut optional = |value: &Option<ast::Expression>| {
            value.as_ref().map(|value| self.expression(value, None)).transpose()
        };
        let data_source = optional(&statement.data_source)?;
        let user = optional(&statement.user)?;
        let password = optional(&statement.password)?;
        let role = optional(&statement.role)?;
        Ok(DynamicStatement {
            sql,
            parameters,
            targets,
            transaction: statement.transaction,
            caller_privileges: statement.caller_privileges,
            data_source,
            user,
            password,
            role,
        })
    }
}
