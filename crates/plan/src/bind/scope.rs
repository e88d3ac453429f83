//! Names that can be seen, and the search for them.

use std::sync::Arc;

use farbird_catalog::RelationKind;
use farbird_expression::Expression;
use farbird_sql::ast::{ContextVariable, Name, Position, RecordKeyKind};
use farbird_types::{CharacterSet, Error, Result, SqlType, Text, Value, isc};

use crate::bind::binder::{AggregatedColumn, Binder, Bound};
use crate::bind::error::{dsql, sqlcode, unknown_column};
use crate::bind::namespace::{CommonTable, NamedTable, Namespace, RowKey, RowNumber, alias_of};
use crate::bind::prepared::RowKeyVariable;
use crate::bound::column::{NamedColumn, NamedValue, Origin};
use crate::bound::opaque::ColumnPlace;
use crate::bound::source::SourceColumn;

/// A column that was found: the namespace, and what it is there.
struct Found {
    block: usize,
    column: NamedColumn,
    /// Its place among the namespace's tables and columns.
    place: ColumnPlace,
}

impl Binder<'_> {
    /// The namespace being filled.
    pub(crate) fn namespace(&mut self) -> &mut Namespace {
        if self.namespaces.is_empty() {
            self.namespaces.push(Namespace::new(0));
        }
        let last = self.namespaces.len() - 1;
        &mut self.namespaces[last]
    }

    /// A column by name; `None` if there is none.
    ///
    /// # Errors
    /// `dsql_ambiguous_field_name` if there are several.
    pub(crate) fn resolve_column(
        &mut self,
        qualifier: Option<&Name>,
        name: &str,
        position: Position,
    ) -> Result<Option<Bound>> {
        let Some(found) = self.find_column(qualifier, name, position)? else { return Ok(None) };
        self.note_column_access(&found.column);
        self.note_aggregated(found.block);
        let mut bound = self.column_value(found.block, &found.column, found.place)?;
        bound.expression = self.bring_in(found.block, bound.expression);
        Ok(Some(bound))
    }

    fn find_column(&self, qualifier: Option<&Name>, name: &str, position: Position) -> Result<Option<Found>> {
        for namespace in self.namespaces.iter().rev() {
            if !namespace.hidden {
                let mut found: Option<(&NamedTable, &NamedColumn, (usize, usize))> = None;
                for (number, table) in namespace.visible() {
                    if qualifier.is_some_and(|qualifier| qualifier.as_str() != table.name) {
                        continue;
                    }
                    let Some(place) = table.find(name) else { continue };
                    let Some(column) = namespace.shown(qualifier, number, place) else { continue };
                    if found.is_some() {
                        let tables = namespace.descriptions(|number, table| {
                            qualifier.is_none_or(|qualifier| qualifier.as_str() == table.name)
                                && table
                                    .find(name)
                                    .is_some_and(|place| namespace.shown(qualifier, number, place).is_some())
                        });
                        return Err(ambiguous(&tables, name));
                    }
                    found = Some((table, column, (number, place)));
                }
                if let Some((_, column, (table, place))) = found {
                    let is_merged = qualifier.is_none() && namespace.merged_with((table, place)).is_some();
                    return Ok(Some(Found {
                        block: namespace.block,
                        column: column.clone(),
                        place: match is_merged {
                            true => ColumnPlace::Merged(table, place),
                            false => ColumnPlace::Own(table, place),
                        },
                    }));
                }
                // A qualifier that names a table here hides tables of that name further out.
                if let Some(qualifier) = qualifier
                    && namespace.visible().any(|(_, table)| qualifier.as_str() == table.name)
                {
                    return Err(unknown_column(Some(qualifier), name, position));
                }
            }
            if namespace.barrier {
                break;
            }
        }
        Ok(None)
    }

    /// RDB$DB_KEY or RDB$RECORD_VERSION: with a qualifier of the first table of that name, otherwise of the only table or view. A derived table
    /// has them where there is no other.
    ///
    /// # Errors
    /// An unknown column if there is no table, `dsql_ambiguous_field_name` if there are several.
    pub(crate) fn resolve_record_key(
        &mut self,
        qualifier: Option<&Name>,
        kind: RecordKeyKind,
        position: Position,
    ) -> Result<Bound> {
        let (name, field, sql_type) = match kind {
            RecordKeyKind::DbKey => ("RDB$DB_KEY", "DB_KEY", SqlType::char(8, CharacterSet::OCTETS)),
            RecordKeyKind::RecordVersion => ("RDB$RECORD_VERSION", "RDB$RECORD_VERSION", SqlType::BIGINT),
        };
        let mut found: Option<(usize, &NamedTable)> = None;
        let mut names_another = false;
        for namespace in self.namespaces.iter().rev() {
            if !namespace.hidden {
                for (_, table) in namespace.visible() {
                    if qualifier.is_some_and(|qualifier| qualifier.as_str() != table.name) {
                        continue;
                    }
                    if table.row_keys.is_empty() {
                        names_another |= qualifier.is_some();
                        continue;
                    }
                    match found {
                        Some(_) if qualifier.is_some() || table.derived => {}
                        Some((_, first)) if !first.derived => {
                            let is_meant = |table: &NamedTable| !table.row_keys.is_empty() && !table.derived;
                            return Err(ambiguous(&namespace.descriptions(|_, table| is_meant(table)), name));
                        }
                        _ => found = Some((namespace.block, table)),
                    }
                }
            }
            if found.is_some() || namespace.barrier {
                break;
            }
        }
        let variable = qualifier.and_then(|qualifier| self.variables.row_key(qualifier.as_str()));
        if let (None, Some(variable)) = (&found, variable.filter(|_| !self.inside_definition)) {
            return Ok(self.row_key_of_variable(variable, kind, sql_type));
        }
        let Some((block, table)) = found else {
            return Err(match names_another {
                true => {
                    Error::new(isc::SQLERR).with(sqlcode::NOT_ALLOWED).and(isc::DSQL_DBKEY_FROM_NON_TABLE)
                }
                false => unknown_column(qualifier, field, position),
            });
        };
        let alias = table.name.clone();
        let keys = table.row_keys.clone();
        let called = table.origin.clone();
        self.note_aggregated(block);
        let RowKey { relation, number } = match <[RowKey; 1]>::try_from(keys) {
            Ok([key]) => key,
            Err(keys) => return self.joined_key(block, keys, called.name(), &alias, kind),
        };
        let (number, is_new) = match number {
            RowNumber::Returned { number, is_new } => (number, is_new),
            RowNumber::Source(source) => match self.blocks.get_mut(block) {
                Some(block) => (Expression::Column(block.slot(source, SourceColumn::RowNumber)), false),
                None => return Err(unknown_column(qualifier, name, position)),
            },
        };
        let table = self.environment.catalog.relation_by_id(farbird_catalog::RelationId(relation));
        // Rows of system tables are made as they are asked for; those of files have no versions.
        let is_stored = table.is_some_and(|table| table.kind != RelationKind::System && !table.is_external());
        let name = table.map_or("", |table| table.name.as_str());
        let origin = Origin {
            field: field.to_owned(),
            relation: name.to_owned(),
            owner: table.map_or(String::new(), |table| table.owner.clone()),
            alias: alias_of(&alias, name),
            array: None,
        };
        let row = Box::new(self.bring_in(block, number));
        let expression = match kind {
            RecordKeyKind::DbKey => Expression::DbKey { relation, row },
            RecordKeyKind::RecordVersion if is_new => {
                Expression::Context(ContextVariable::CurrentTransaction)
            }
            RecordKeyKind::RecordVersion if is_stored => Expression::RecordVersion { relation, row },
            RecordKeyKind::RecordVersion => Expression::NULL,
        };
        Ok(Bound { origin: Some(origin), ..Bound::new(expression, sql_type, true) })
    }

    /// RDB$DB_KEY of a view of several tables: the keys of their rows one after the other, zeros for one that an outer join lacks.
    ///
    /// # Errors
    /// `dsql_record_version_table` for RDB$RECORD_VERSION.
    fn joined_key(
        &mut self,
        block: usize,
        keys: Vec<RowKey>,
        view: &str,
        alias: &str,
        kind: RecordKeyKind,
    ) -> Result<Bound> {
        if kind == RecordKeyKind::RecordVersion {
            return Err(Error::new(isc::SQLERR)
                .with(sqlcode::NOT_ALLOWED)
                .and(isc::DSQL_RECORD_VERSION_TABLE)
                .with(view));
        }
        let mut whole = Expression::Constant(octets(&[]));
        let mut length = 0;
        for RowKey { relation, number } in keys {
            let number = match (number, self.blocks.get_mut(block)) {
                (RowNumber::Source(source), Some(block)) => {
                    Expression::Column(block.slot(source, SourceColumn::RowNumber))
                }
                _ => return Err(Error::internal("a key of a row that is no view's")),
            };
            let row = Box::new(self.bring_in(block, number));
            let key = Expression::Coalesce(vec![
                Expression::DbKey { relation, row },
                Expression::Constant(octets(&[0; KEY_BYTES])),
            ]);
            length += KEY_BYTES;
            let (left, right) = (Box::new(whole), Box::new(key));
            whole = Expression::Concatenate { left, right, result: octets_type(length) };
        }
        let owner = self.environment.catalog.relation(view).map(|relation| relation.owner.clone());
        let origin = Origin {
            field: String::from("DB_KEY"),
            relation: view.to_owned(),
            owner: owner.unwrap_or_default(),
            alias: alias_of(alias, view),
            array: None,
        };
        Ok(Bound { origin: Some(origin), ..Bound::new(whole, octets_type(length), true) })
    }

    /// RDB$DB_KEY or RDB$RECORD_VERSION of a trigger's NEW or OLD.
    fn row_key_of_variable(
        &mut self,
        variable: RowKeyVariable,
        kind: RecordKeyKind,
        sql_type: SqlType,
    ) -> Bound {
        self.variables_used += 1;
        let RowKeyVariable { relation, slot, is_new, exists } = variable;
        let row = Box::new(Expression::Parameter(slot));
        let expression = match kind {
            _ if !exists => Expression::NULL,
            RecordKeyKind::DbKey => Expression::DbKey { relation, row },
            RecordKeyKind::RecordVersion if is_new => {
                Expression::Context(ContextVariable::CurrentTransaction)
            }
            RecordKeyKind::RecordVersion => Expression::RecordVersion { relation, row },
        };
        Bound::new(expression, sql_type, true)
    }

    /// As [`Binder::named_value`], for a column at a place of the block's namespace: while the block's grouping is bound one
    /// that stands for an expression is opaque.
    pub(crate) fn column_value(
        &mut self,
        block: usize,
        column: &NamedColumn,
        place: ColumnPlace,
    ) -> Result<Bound> {
        let mut bound = self.named_value(block, column)?;
        let namespace = self.namespaces.iter().rev().find(|namespace| namespace.block == block);
        let same = match (&column.value, place) {
            (NamedValue::Source(..), _) => return Ok(bound),
            (_, ColumnPlace::Merged(table, column)) => {
                namespace.and_then(|namespace| Some(namespace.merged_with((table, column))?.whole.clone()))
            }
            (NamedValue::Computed { .. }, _) => None,
            (NamedValue::Expression(_), ColumnPlace::Own(table, _)) => namespace
                .and_then(|namespace| namespace.tables.get(table))
                .filter(|table| table.derived)
                .map(|_| bound.expression.clone()),
        };
        if let Some(opaque) = self.blocks.get_mut(block).and_then(|block| block.opaque.as_mut()) {
            bound.expression = opaque.refer(place, bound.expression, same);
        }
        Ok(bound)
    }

    /// What a column of a namespace is, in terms of the block that the namespace speaks of.
    pub(crate) fn named_value(&mut self, block: usize, column: &NamedColumn) -> Result<Bound> {
        let expression = match &column.value {
            NamedValue::Source(source, place) => match self.blocks.get_mut(block) {
                Some(block) => Expression::Column(block.slot(*source, *place)),
                None => return Err(Error::internal("a name of a query that is not being bound")),
            },
            NamedValue::Expression(expression) => expression.clone(),
            NamedValue::Computed { row, relation, column } => {
                self.bind_computed_column(block, *row, relation, *column)?
            }
        };
        Ok(Bound {
            expression,
            column_type: column.column_type,
            origin: Some(column.origin.clone()),
            shape: None,
            computed_as: None,
            sent_as_char: column.sent_as_char,
        })
    }

    /// A value of an outer block, in terms of the block being bound: by way of a register.
    pub(crate) fn bring_in(&mut self, block: usize, expression: Expression) -> Expression {
        if block + 1 >= self.blocks.len() || expression.is_row_independent() {
            return expression;
        }
        self.outermost_reference = self.outermost_reference.min(block);
        let deeper = block + 2 < self.blocks.len();
        if let Some(inner) = self.blocks.get_mut(block + 1) {
            inner.captured_deeper |= deeper;
        }
        let known = self.blocks.get(block + 1).and_then(|inner| {
            inner.captures.iter().find(|(_, value)| *value == expression).map(|(register, _)| *register)
        });
        let register = match known {
            Some(register) => register,
            None => {
                let register = self.new_register();
                if let Some(inner) = self.blocks.get_mut(block + 1) {
                    inner.captures.push((register, expression));
                }
                register
            }
        };
        Expression::Register(register)
    }

    pub(crate) fn note_column_access(&mut self, column: &NamedColumn) {
        self.column_is_read(&column.origin);
    }

    /// Notes that a column of a block is referred to, if it is part of an aggregate.
    fn note_aggregated(&mut self, block: usize) {
        if self.aggregate_depth > 0 {
            let seen_from = self.blocks.len().saturating_sub(1);
            self.aggregated.push(AggregatedColumn { block, seen_from });
        }
    }

    /// A common table by name, with the number of the scope that defines it.
    pub(crate) fn find_common_table(&self, name: &str) -> Option<(Arc<CommonTable>, usize)> {
        self.common_tables.iter().enumerate().rev().find_map(|(number, scope)| {
            let table = scope.tables.iter().rev().find(|table| table.name == name)?;
            Some((table.clone(), number))
        })
    }
}

/// CHAR of so many bytes.
fn octets_type(length: usize) -> SqlType {
    SqlType::char(u32::try_from(length).unwrap_or(u32::MAX), CharacterSet::OCTETS)
}

/// Bytes of the key of one row.
const KEY_BYTES: usize = 8;

fn octets(bytes: &[u8]) -> Value {
    Value::Text(Text::new(bytes.to_vec(), CharacterSet::OCTETS))
}

/// Of the two arguments the second one names all tables but the first, and ends in a space.
fn ambiguous(tables: &[String], name: &str) -> farbird_types::Error {
    let (first, others) =
        tables.split_first().map_or((String::new(), &[][..]), |(first, others)| (first.clone(), others));
    let others: Vec<String> = others.iter().map(|table| format!("{table} ")).collect();
    dsql(sqlcode::UNKNOWN_TABLE)
        .and(isc::DSQL_AMBIGUOUS_FIELD_NAME)
        .with(first)
        .with(others.join("and "))
        .and(isc::RANDOM)
        .with(name)
}

/// The status of a name that was found nowhere.
pub(crate) fn unknown(qualifier: Option<&Name>, name: &Name) -> farbird_types::Error {
    let position = qualifier.map_or(name.position, |qualifier| qualifier.position);
    unknown_column(qualifier, name.as_str(), position)
}
