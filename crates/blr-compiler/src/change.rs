//! INSERT, UPDATE and DELETE.

use farbird_blr::{Code, code};
use farbird_catalog::Relation;
use farbird_sql::ast::{
    AssignedValue, Assignment, ChangedRows, ChangedTable, Delete, Insert, InsertSource, Name, Overriding,
    Returning, SelectItem, Update,
};
use std::sync::Arc;

use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::piece::{assignment, block};
use crate::scope::{Scope, Source, row_of};

/// What a row is returned from: the row as it is and, of an UPDATE, as it was.
pub(crate) struct Returned {
    /// The row that columns without NEW and OLD are of.
    pub(crate) plain: Source,
    pub(crate) old: Option<Source>,
    pub(crate) new: Option<Source>,
}

impl Compiler<'_> {
    pub(crate) fn changed(&self, table: &ChangedTable) -> Made<Arc<Relation>> {
        match self.catalog.relation(table.name.as_str()) {
            Some(relation) => Ok(Arc::clone(relation)),
            None => unsupported(format!("the table {}", table.name)),
        }
    }

    /// INSERT.
    pub(crate) fn insert(&mut self, insert: &Insert) -> Made<Code> {
        let relation = self.changed(&insert.table)?;
        let columns = written_columns(&relation, insert.columns.as_deref());
        match &insert.source {
            InsertSource::DefaultValues => self.store(insert, &relation, Vec::new()),
            InsertSource::Values(values) => {
                let assigned = self.assigned(&relation, &columns, values)?;
                self.store(insert, &relation, assigned)
            }
            InsertSource::Query(query) => {
                let selected = self.query(query)?;
                let values = columns.into_iter().zip(selected.columns.into_iter().map(|it| it.value.code));
                let stored = self.store(insert, &relation, values.collect())?;
                let mut made = Code::of(&[code::FOR]);
                if insert.returning.is_some() {
                    made.byte(code::SINGULAR);
                }
                made.piece(&selected.records).piece(&stored);
                Ok(made)
            }
        }
    }

    /// Values for columns; those with DEFAULT are left out.
    pub(crate) fn assigned(
        &mut self,
        relation: &Relation,
        columns: &[String],
        values: &[AssignedValue],
    ) -> Made<Vec<(String, Code)>> {
        let mut assigned = Vec::new();
        for (column, value) in columns.iter().zip(values) {
            match value {
                AssignedValue::Expression(value) => assigned.push((column.clone(), self.code(value)?)),
                AssignedValue::Default(_) if relation.is_view() => {
                    return unsupported("DEFAULT for a column of a view");
                }
                AssignedValue::Default(_) => {}
            }
        }
        Ok(assigned)
    }

    fn store(&mut self, insert: &Insert, relation: &Relation, values: Vec<(String, Code)>) -> Made<Code> {
        let row = (&insert.table, relation);
        self.store_row(row, insert.overriding, &values, insert.returning.as_ref())
    }

    /// A new row.
    pub(crate) fn store_row(
        &mut self,
        (table, relation): (&ChangedTable, &Relation),
        overriding: Option<Overriding>,
        values: &[(String, Code)],
        returning: Option<&Returning>,
    ) -> Made<Code> {
        let context = self.context()?;
        let mut made = match (overriding, returning) {
            (None, None) => Code::of(&[code::STORE]),
            (None, Some(_)) => Code::of(&[code::STORE2]),
            (Some(overriding), _) => Code::of(&[
                code::STORE3,
                match overriding {
                    Overriding::UserValue => code::STORE_OVERRIDE_USER,
                    Overriding::SystemValue => code::STORE_OVERRIDE_SYSTEM,
                },
            ]),
        };
        made.piece(&relation_of(table, context)?).piece(&assignments(context, values)?);
        match returning {
            Some(returning) => {
                let plain = row_of(relation, context, name_of(table))?;
                let (old, new) = (Some(no_row(&plain, "OLD")), Some(named(&plain, "NEW")));
                let returned = Returned { plain, old, new };
                made.piece(&self.returning(returned, returning)?);
            }
            None if overriding.is_some() => drop(made.byte(code::NULL)),
            None => {}
        }
        Ok(made)
    }

    /// RETURNING ... INTO.
    pub(crate) fn returning(&mut self, returned: Returned, returning: &Returning) -> Made<Code> {
        let rows = std::iter::once(returned.plain).chain(returned.old).chain(returned.new);
        let mut sources: Vec<Source> = rows.collect();
        for source in sources.iter_mut().skip(1) {
            source.qualified_only = true;
        }
        let (values, _) = self.inside(Scope::of(sources), |it| {
            let items = it.expanded(&returning.items)?;
            items.iter().map(|(value, _)| it.code(value)).collect::<Made<Vec<_>>>()
        })?;
        let pairs = values.iter().zip(&returning.into);
        let assigned = pairs.map(|(value, target)| Ok(assignment(value, &self.target(target)?)));
        let assigned = assigned.collect::<Made<Vec<_>>>()?;
        if returning.items.iter().all(|it| matches!(it, SelectItem::Expression { .. }))
            && assigned.len() != returning.items.len()
        {
            return unsupported("RETURNING without INTO");
        }
        Ok(block(&assigned))
    }

    /// UPDATE.
    pub(crate) fn update(&mut self, update: &Update) -> Made<Code> {
        let relation = self.changed(&update.table)?;
        let (row, records) = match &update.rows {
            ChangedRows::CurrentOf(cursor) => (self.current_row(cursor)?, None),
            rows => {
                let row = self.context()?;
                let source = row_of(&relation, row, name_of(&update.table))?;
                let (records, _) = self.inside(Scope::of(vec![source]), |it| {
                    let condition = it.where_clause(rows)?;
                    let source = relation_of(&update.table, row)?;
                    let limit = update.limit.as_ref();
                    it.changed_rows(source, condition, &update.order_by, limit, update.skip_locked)
                })?;
                (row, Some(records))
            }
        };
        let table = (&update.table, &*relation);
        let modify = self.modify(table, row, &update.assignments, update.returning.as_ref())?;
        Ok(for_each(records.as_ref(), update.returning.is_some(), &modify))
    }

    /// Changes a row.
    pub(crate) fn modify(
        &mut self,
        (table, relation): (&ChangedTable, &Relation),
        row: u8,
        changes: &[Assignment],
        returning: Option<&Returning>,
    ) -> Made<Code> {
        let old = row_of(relation, row, name_of(table))?;
        let (values, _) = self.inside(Scope::of(vec![old.clone()]), |it| {
            let values = changes.iter().map(|change| {
                let column = change.target.name.text.clone();
                match &change.value {
                    AssignedValue::Expression(value) => Ok((column, it.code(value)?)),
                    AssignedValue::Default(_) => Ok((column.clone(), it.default_of(relation, &column)?)),
                }
            });
            values.collect::<Made<Vec<_>>>()
        })?;
        let context = self.context()?;
        let new = row_of(relation, context, name_of(table))?;
        let returned = Returned { old: Some(named(&old, "OLD")), new: Some(named(&new, "NEW")), plain: new };
        self.modify_row(row, context, &values, returning.map(|it| (returned, it)))
    }

    /// blr_modify with its assignments.
    pub(crate) fn modify_row(
        &mut self,
        row: u8,
        context: u8,
        values: &[(String, Code)],
        returning: Option<(Returned, &Returning)>,
    ) -> Made<Code> {
        let code = if returning.is_some() { code::MODIFY2 } else { code::MODIFY };
        let mut made = Code::of(&[code, row, context]);
        made.piece(&assignments(context, values)?);
        if let Some((returned, returning)) = returning {
            made.piece(&self.returning(returned, returning)?);
        }
        Ok(made)
    }

    /// The value that a column has by default.
    pub(crate) fn default_of(&mut self, relation: &Relation, column: &str) -> Made<Code> {
        let Some(found) = relation.column(column).filter(|_| !relation.is_view()) else {
            return unsupported("DEFAULT for a column of a view");
        };
        let of_domain = self.catalog.domains.get(&found.domain).and_then(|it| it.default_source.clone());
        match found.default_source.clone().or(of_domain) {
            Some(source) => self.default_value(&source),
            None => Ok(Code::of(&[code::NULL])),
        }
    }

    /// DELETE.
    pub(crate) fn delete(&mut self, delete: &Delete) -> Made<Code> {
        let relation = self.changed(&delete.table)?;
        let (row, records) = match &delete.rows {
            ChangedRows::CurrentOf(cursor) => (self.current_row(cursor)?, None),
            rows => {
                let row = self.context()?;
                let source = row_of(&relation, row, name_of(&delete.table))?;
                let (records, _) = self.inside(Scope::of(vec![source]), |it| {
                    let condition = it.where_clause(rows)?;
                    let source = relation_of(&delete.table, row)?;
                    let limit = delete.limit.as_ref();
                    it.changed_rows(source, condition, &delete.order_by, limit, delete.skip_locked)
                })?;
                (row, Some(records))
            }
        };
        let erase = self.erase((&delete.table, &relation), row, delete.returning.as_ref())?;
        Ok(for_each(records.as_ref(), delete.returning.is_some(), &erase))
    }

    /// Deletes a row, and gives back first what it was.
    pub(crate) fn erase(
        &mut self,
        (table, relation): (&ChangedTable, &Relation),
        row: u8,
        returning: Option<&Returning>,
    ) -> Made<Code> {
        let erase = Code::of(&[code::ERASE, row]);
        let Some(returning) = returning else { return Ok(erase) };
        let plain = row_of(relation, row, name_of(table))?;
        let (old, new) = (Some(named(&plain, "OLD")), Some(no_row(&plain, "NEW")));
        let returned = Returned { plain, old, new };
        Ok(block(&[self.returning(returned, returning)?, erase]))
    }

    fn where_clause(&mut self, rows: &ChangedRows) -> Made<Option<Code>> {
        match rows {
            ChangedRows::Where(condition) => self.condition(condition).map(Some),
            ChangedRows::All | ChangedRows::CurrentOf(_) => Ok(None),
        }
    }

    /// The row that a cursor is at.
    fn current_row(&mut self, cursor: &Name) -> Made<u8> {
        let found = self.frame()?.cursors.iter().rev().find(|it| it.name == cursor.text).cloned();
        match found.and_then(|it| it.table) {
            Some((_, context)) => Ok(context),
            None => unsupported(format!("WHERE CURRENT OF {cursor}, which is not at a row of one table")),
        }
    }
}

/// A statement for each row of a selection.
fn for_each(records: Option<&Code>, singular: bool, statement: &Code) -> Code {
    let Some(records) = records else { return statement.clone() };
    let mut made = Code::of(&[code::FOR]);
    if singular {
        made.byte(code::SINGULAR);
    }
    made.piece(records).piece(statement);
    made
}

/// The name that a table's columns are found behind.
pub(crate) fn name_of(table: &ChangedTable) -> &str {
    table.alias.as_ref().unwrap_or(&table.name).as_str()
}

/// blr_relation.
pub(crate) fn relation_of(table: &ChangedTable, context: u8) -> Made<Code> {
    let code = if table.alias.is_some() { code::RELATION_ALIAS } else { code::RELATION };
    let mut made = Code::of(&[code]);
    placed(made.name(table.name.as_str()))?;
    if let Some(alias) = &table.alias {
        placed(made.name(alias.as_str()))?;
    }
    made.byte(context);
    Ok(made)
}

/// Assignments to columns of a context.
pub(crate) fn assignments(context: u8, values: &[(String, Code)]) -> Made<Code> {
    let list =
        values.iter().map(|(column, value)| Ok(assignment(value, &placed(Code::field(context, column))?)));
    Ok(block(&list.collect::<Made<Vec<_>>>()?))
}

/// A row under another name.
pub(crate) fn named(row: &Source, name: &str) -> Source {
    Source { name: name.to_owned(), ..row.clone() }
}

/// A row that is not there: OLD of one that is inserted, NEW of one that is deleted.
fn no_row(row: &Source, name: &str) -> Source {
    let mut nothing = named(row, name);
    for column in &mut nothing.columns {
        column.value.code = Code::of(&[code::NULL]);
    }
    nothing.key = None;
    nothing
}

/// The columns of an INSERT: those written, or all that can be.
pub(crate) fn written_columns(relation: &Relation, written: Option<&[Name]>) -> Vec<String> {
    match written {
        Some(names) => names.iter().map(|it| it.text.clone()).collect(),
        None => {
            let stored = relation.columns.iter().filter(|it| it.computed_source.is_none());
            stored.map(|it| it.name.clone()).collect()
        }
    }
}
