//! What stands in FROM: tables, views, procedures, common tables, derived tables and their joins.
//!
//! Views, common tables and derived tables that only select and rename are taken into the query they stand in, so that
//! its conditions reach their tables' indexes. Others become plans of their own.

use std::ops::Range;
use std::sync::Arc;

use farbird_catalog::{AccessPrivilege, ObjectKind, Relation, RelationKind, Routine, RoutineEngine};
use farbird_expression::Expression;
use farbird_sql::ast::{self, Name};
use farbird_types::{ColumnType, Error, Result, isc};

use crate::bind::binder::Binder;
use crate::bind::error::{at, dsql, invalid_blr, sqlcode, unknown_table};
use crate::bind::namespace::{
    MergedColumn, NamedTable, Namespace, RowKey, RowNumber, TableOrigin, alias_of, is_not_null, row_table,
};
use crate::bound::column::{ComputedRow, NamedColumn, NamedValue, Origin, RowSlot};
use crate::bound::environment::Environment;
use crate::bound::query::Block;
use crate::bound::source::{FromTree, Source, SourceColumn, SourceKind};

/// Most sources of one block: Firebird's limit on contexts.
const SOURCES_MAX: usize = 255;

/// The tables on both sides of a join, by their places in the namespace.
struct Operands {
    left: Range<usize>,
    right: Range<usize>,
    kind: ast::JoinKind,
}

/// A column on one side of a join, with what it was made of.
struct Operand {
    column: NamedColumn,
    members: Vec<(usize, usize)>,
}

/// LEFT JOIN. What a view or a LATERAL on its right side asks of its rows is a condition of the join, the first one.
fn left_join(left: FromTree, mut right: FromTree, mut on: Vec<Expression>) -> FromTree {
    if let FromTree::Group(items, conditions) = &mut right {
        let of_join = std::mem::replace(&mut on, std::mem::take(conditions));
        on.extend(of_join);
        if items.len() == 1
            && let Some(item) = items.pop()
        {
            right = item;
        }
    }
    FromTree::Left(Box::new(left), Box::new(right), on)
}

impl Binder<'_> {
    /// Binds a FROM clause: its names come into the current namespace.
    pub(crate) fn bind_from(&mut self, from: &[ast::TableReference]) -> Result<FromTree> {
        let mut items = Vec::with_capacity(from.len());
        for reference in from {
            items.push(self.bind_table_reference(reference, false)?);
        }
        if items.len() == 1
            && let Some(item) = items.pop()
        {
            return Ok(item);
        }
        Ok(FromTree::Group(items, Vec::new()))
    }

    /// Binds something in FROM. `nullable`: it stands on the side of an outer join that may be missing.
    pub(crate) fn bind_table_reference(
        &mut self,
        reference: &ast::TableReference,
        nullable: bool,
    ) -> Result<FromTree> {
        match reference {
            ast::TableReference::Named(named) => self.bind_named_table(named, nullable),
            ast::TableReference::Derived(derived) => self.bind_derived_table(derived, nullable),
            ast::TableReference::Join(join) => self.deeper(|binder| binder.bind_join(join, nullable)),
        }
    }

    fn bind_join(&mut self, join: &ast::Join, nullable: bool) -> Result<FromTree> {
        use ast::JoinKind::{Cross, Full, Inner, Left, Right};
        let left_nullable = nullable || matches!(join.kind, Right | Full);
        let right_nullable = nullable || matches!(join.kind, Left | Full);
        let start = self.namespace().tables.len();
        let visible_before = std::mem::replace(&mut self.namespace().visible_from, start);
        let left = self.bind_table_reference(&join.left, left_nullable)?;
        let middle = self.namespace().tables.len();
        // There may be no row of the left side where RIGHT and FULL JOIN take one of the right side.
        if matches!(join.kind, Right | Full) {
            self.namespace().visible_from = middle;
        }
        let right = self.bind_table_reference(&join.right, right_nullable)?;
        self.namespace().visible_from = start;
        let end = self.namespace().tables.len();
        let first = if matches!(join.kind, Right | Full) { middle } else { start };
        self.namespace().operands_are_bound(start, first);
        let operands = Operands { left: start..middle, right: middle..end, kind: join.kind };
        let mut conditions = Vec::new();
        match &join.condition {
            ast::JoinCondition::None => {}
            ast::JoinCondition::On(condition) => {
                self.bind_condition(condition)?.into_conjuncts(&mut conditions);
            }
            ast::JoinCondition::Using(columns) => {
                for (place, name) in columns.iter().enumerate() {
                    if columns.iter().take(place).any(|earlier| earlier == name) {
                        let error = dsql(sqlcode::SYNTAX).and(isc::DSQL_COL_MORE_THAN_ONCE_USING);
                        return Err(error.with(name.as_str()));
                    }
                    conditions.push(self.merge_columns(name, &operands)?);
                }
            }
            ast::JoinCondition::Natural => {
                for name in self.common_columns(&operands) {
                    conditions.push(self.merge_columns(&name, &operands)?);
                }
            }
        }
        self.namespace().visible_from = visible_before;
        self.namespace().join_is_bound(start);
        Ok(match join.kind {
            Inner | Cross => FromTree::Group(vec![left, right], conditions),
            Left => left_join(left, right, conditions),
            Right => left_join(right, left, conditions),
            Full => FromTree::Full(Box::new(left), Box::new(right), conditions),
        })
    }

    /// Names of columns that both sides of a NATURAL JOIN have, in the order of the left side.
    fn common_columns(&mut self, operands: &Operands) -> Vec<Name> {
        let tables = &self.namespace().tables;
        let left = tables.get(operands.left.clone()).unwrap_or_default();
        let right = tables.get(operands.right.clone()).unwrap_or_default();
        let mut names: Vec<Name> = Vec::new();
        for column in left.iter().flat_map(|table| &table.columns) {
            let shared = right.iter().any(|table| table.find(&column.name).is_some());
            if shared && !names.iter().any(|name| name.as_str() == column.name) {
                names.push(Name::new(column.name.clone()));
            }
        }
        names
    }

    /// Makes one column of two that USING or NATURAL join by: the condition that they are equal.
    ///
    /// What is seen is COALESCE(left, right), with its type and its name in descriptions.
    fn merge_columns(&mut self, name: &Name, operands: &Operands) -> Result<Expression> {
        let block = self.namespace().block;
        let left = self.operand_column(name, operands.left.clone())?;
        let left = left.ok_or_else(|| unknown_in_using("left", name))?;
        let right = self.operand_column(name, operands.right.clone())?;
        let right = right.ok_or_else(|| unknown_in_using("right", name))?;
        self.note_column_access(&left.column);
        self.note_column_access(&right.column);
        let left_value = self.named_value(block, &left.column)?;
        let right_value = self.named_value(block, &right.column)?;
        let types = [*left_value.sql_type(), *right_value.sql_type()];
        let sql_type = farbird_types::arithmetic::common_type(&types)?;
        let whole = Expression::Coalesce(vec![
            left_value.clone().converted(&sql_type).expression,
            right_value.clone().converted(&sql_type).expression,
        ]);
        let value = match operands.kind {
            ast::JoinKind::Full | ast::JoinKind::Right => whole.clone(),
            // Where the left side has NULL there is no partner.
            _ => left_value.clone().converted(&sql_type).expression,
        };
        let nullable = left_value.column_type.nullable || right_value.column_type.nullable;
        let merged = MergedColumn {
            column: NamedColumn {
                name: name.as_str().to_owned(),
                value: NamedValue::Expression(value),
                column_type: ColumnType { sql_type, nullable },
                origin: Origin { field: String::from("COALESCE"), ..Origin::default() },
                sent_as_char: false,
            },
            members: left.members.into_iter().chain(right.members).collect(),
            whole,
        };
        let namespace = self.namespace();
        namespace
            .merged
            .retain(|earlier| !earlier.members.first().is_some_and(|member| merged.members.contains(member)));
        namespace.merged.push(merged);
        self.compare(ast::ComparisonOperator::Equal, left_value, right_value)
    }

    /// The column of that name on one side of a join, which may be a merged one already.
    ///
    /// # Errors
    /// `dsql_ambiguous_field_name` if there are several.
    fn operand_column(&mut self, name: &Name, tables: Range<usize>) -> Result<Option<Operand>> {
        let namespace = self.namespace();
        let mut found = None;
        for number in tables {
            let Some(place) = namespace.tables.get(number).and_then(|table| table.find(name.as_str())) else {
                continue;
            };
            let Some(column) = namespace.unqualified(number, place) else { continue };
            if found.is_some() {
                return Err(dsql(sqlcode::UNKNOWN_TABLE)
                    .and(isc::DSQL_AMBIGUOUS_FIELD_NAME)
                    .with("a field")
                    .with("a field in the select list with name")
                    .and(isc::RANDOM)
                    .with(name.as_str()));
            }
            let members = match namespace.merged_with((number, place)) {
                Some(merged) => merged.members.clone(),
                None => vec![(number, place)],
            };
            found = Some(Operand { column: column.clone(), members });
        }
        Ok(found)
    }

    fn bind_named_table(&mut self, named: &ast::NamedTable, nullable: bool) -> Result<FromTree> {
        let name = named.name.name.as_str();
        let alias = named.alias.as_ref().map_or(name, Name::as_str).to_owned();
        if named.arguments.is_none()
            && named.name.package.is_none()
            && let Some((table, scope)) = self.find_common_table(name)
        {
            return self.bind_common_table_use(&table, scope, &alias, nullable);
        }
        // A local procedure hides the tables of its name.
        let may_be_local = named.name.package.is_none() && !self.inside_definition;
        let local = self.variables.local_procedure(name).filter(|_| may_be_local);
        if named.arguments.is_none()
            && named.name.package.is_none()
            && local.is_none()
            && let Some(relation) = self.environment.catalog.relations.get(name).cloned()
        {
            self.check_alias(named.alias.as_ref())?;
            self.access(ObjectKind::Relation, &relation.name, None, AccessPrivilege::Select);
            return match &relation.kind {
                RelationKind::View { source, .. } => self.bind_view(&relation, source, &alias, nullable),
                _ => self.bind_table(&relation, &alias, nullable),
            };
        }
        let package = named.name.package.as_ref().map(Name::as_str);
        let catalog = Arc::clone(&self.environment.catalog);
        let procedure = match &local {
            Some(local) => Some(local),
            None => catalog.procedure_named(package, name, self.package())?,
        };
        if let Some(procedure) = procedure {
            let arguments = named.arguments.as_deref().unwrap_or_default();
            if procedure.outputs.is_empty() {
                let error =
                    dsql(sqlcode::NO_VALUES).and(isc::DSQL_PROCEDURE_USE_ERR).with(procedure.full_name());
                return Err(at(error, named.name.position()));
            }
            self.check_alias(named.alias.as_ref())?;
            return self.bind_procedure(procedure, arguments, &alias, nullable);
        }
        match named.arguments {
            // Only procedures are in packages.
            None if named.name.package.is_none() => Err(unknown_table(&named.name.name)),
            _ => {
                let error = dsql(sqlcode::UNKNOWN_TABLE)
                    .and(isc::DSQL_PROCEDURE_ERR)
                    .and(isc::RANDOM)
                    .with(named.name.to_string());
                Err(at(error, named.name.position()))
            }
        }
    }

    /// Refuses an alias that is taken in the same FROM. As in Firebird the name of a table or procedure is none: it may stand
    /// there several times, and only columns that are asked for by it are ambiguous.
    pub(super) fn check_alias(&mut self, alias: Option<&Name>) -> Result<()> {
        let Some(alias) = alias.map(Name::as_str) else { return Ok(()) };
        match self.namespace().tables.iter().find(|table| table.name == alias) {
            Some(taken) => Err(dsql(sqlcode::UNKNOWN_TABLE).and(taken.conflict_code()).with(alias)),
            None => Ok(()),
        }
    }

    /// Adds a source to the block.
    pub(crate) fn add_source(&mut self, kind: SourceKind, path: Vec<String>) -> Result<usize> {
        let block = self.block();
        if block.sources.len() >= SOURCES_MAX {
            return Err(dsql(sqlcode::SYNTAX).and(isc::DSQL_TOO_OLD_ODS));
        }
        block.sources.push(Source::new(kind, path));
        Ok(block.sources.len() - 1)
    }

    /// A table as a source, with its names.
    pub(crate) fn bind_table(
        &mut self,
        relation: &Arc<Relation>,
        alias: &str,
        nullable: bool,
    ) -> Result<FromTree> {
        let source = self.add_source(SourceKind::Table(relation.clone()), vec![alias.to_owned()])?;
        let named = named_relation(self.environment, relation, alias, source, nullable);
        self.namespace().tables.push(named);
        Ok(FromTree::Source(source))
    }

    fn bind_procedure(
        &mut self,
        procedure: &Arc<Routine>,
        arguments: &[ast::Expression],
        alias: &str,
        nullable: bool,
    ) -> Result<FromTree> {
        if !procedure.selectable && !self.was_accepted_unknown(procedure) {
            return Err(invalid_blr().and(isc::ILLEGAL_PRC_TYPE).with(procedure.full_name()));
        }
        let arguments = match procedure.engine {
            // What is not given gets its default when it is called.
            RoutineEngine::Local(_) => {
                self.calls_local_routines = true;
                self.bind_given_arguments(procedure, arguments)?
            }
            _ => {
                self.call_access(ObjectKind::Procedure, procedure);
                self.bind_routine_arguments(procedure, arguments, true)?
            }
        };
        let source =
            self.add_source(SourceKind::Procedure(procedure.clone(), arguments), vec![alias.to_owned()])?;
        let columns = procedure.outputs.iter().enumerate().map(|(place, output)| NamedColumn {
            name: output.name.clone(),
            value: NamedValue::Source(source, SourceColumn::Field(place)),
            column_type: ColumnType { sql_type: output.sql_type, nullable: nullable || !output.not_null },
            origin: Origin {
                field: output.name.clone(),
                relation: procedure.name.clone(),
                alias: alias_of(alias, &procedure.name),
                owner: procedure.owner.clone(),
                array: None,
            },
            sent_as_char: false,
        });
        let named = NamedTable {
            name: alias.to_owned(),
            origin: TableOrigin::Procedure(procedure.name.clone()),
            columns: columns.collect(),
            derived: false,
            row_keys: Vec::new(),
        };
        self.namespace().tables.push(named);
        Ok(FromTree::Source(source))
    }

    /// Whether a procedure is one whose body was, or may have been, unknown when the query over it was accepted: one that a
    /// package has only declared yet, which may turn out to suspend, or a public one of the package whose body this is. As
    /// in the attachment that creates such a body in Firebird, one that never suspends gives no rows there.
    fn was_accepted_unknown(&self, procedure: &Routine) -> bool {
        let catalog = &self.environment.catalog;
        let is_own = procedure.package.as_deref() == self.package();
        let package = self.package().and_then(|own| catalog.packages.get(own)).filter(|_| is_own);
        let own_body_was_accepted = package.is_some_and(|package| package.body_is_valid == Some(true));
        procedure.source.is_empty() || (own_body_was_accepted && !procedure.private)
    }

    /// Binds something in a block and a namespace of its own. A `barrier` hides all names outside.
    pub(crate) fn in_new_block<T>(
        &mut self,
        barrier: bool,
        bind: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        self.blocks.push(Block::default());
        let mut namespace = Namespace::new(self.blocks.len() - 1);
        namespace.barrier = barrier;
        self.namespaces.push(namespace);
        let result = bind(self);
        self.namespaces.pop();
        self.blocks.pop();
        result
    }

    /// A computed column's value, over its table's other columns in the row that it is computed of.
    pub(crate) fn bind_computed_column(
        &mut self,
        block: usize,
        row: ComputedRow,
        relation: &Arc<Relation>,
        column: usize,
    ) -> Result<Expression> {
        let definition = relation.columns.get(column);
        let text = definition.and_then(|definition| definition.computed_source.as_deref());
        let (Some(definition), Some(text)) = (definition, text) else {
            return Err(Error::internal("a computed column that is none"));
        };
        let computed = farbird_sql::parse_computed(text, &self.parse_options())?;
        let inside = std::mem::replace(&mut self.inside_definition, true);
        let definer = self.environment.catalog.is_definer(relation.sql_security_definer);
        let outer = std::mem::replace(&mut self.computing_for, definer.then(|| relation.name.clone()));
        // Bound in the block whose row has the table, whatever blocks are open inside of it.
        let inner_blocks = self.blocks.split_off((block + 1).min(self.blocks.len()));
        let mut namespace = Namespace::new(block);
        namespace.barrier = true;
        namespace.tables.push(match row {
            ComputedRow::Source { source, .. } => {
                named_relation(self.environment, relation, &relation.name, source, false)
            }
            ComputedRow::Columns(place) => {
                row_table(self.environment, relation, ComputedRow::Columns(RowSlot::at(place.offset)))
            }
            ComputedRow::Parameters { .. } => row_table(self.environment, relation, row),
        });
        self.namespaces.push(namespace);
        // Its subqueries read the tables that its table was made with, whatever a WITH around calls by their names.
        let around_with = std::mem::take(&mut self.common_tables);
        let bound = self.deeper(|binder| binder.bind_value(&computed.value));
        self.common_tables = around_with;
        self.namespaces.pop();
        self.blocks.extend(inner_blocks);
        self.inside_definition = inside;
        self.computing_for = outer;
        let value = bound?.converted(&definition.sql_type).expression;
        let presence = match row {
            ComputedRow::Source { source, nullable: true } if !value.is_null_without_row() => {
                self.blocks.get_mut(block).map(|block| block.slot(source, SourceColumn::RowNumber))
            }
            ComputedRow::Columns(place) => place.presence,
            _ => None,
        };
        Ok(value.null_without(presence))
    }

    /// How sources kept in the catalog are parsed.
    pub(crate) fn parse_options(&self) -> farbird_sql::ParseOptions {
        self.environment.parse_options()
    }
}

/// A table's names.
pub(crate) fn named_relation(
    environment: &Environment,
    relation: &Arc<Relation>,
    alias: &str,
    source: usize,
    nullable: bool,
) -> NamedTable {
    let columns = relation.columns.iter().enumerate().map(|(place, column)| NamedColumn {
        name: column.name.clone(),
        value: match column.computed_source {
            Some(_) => NamedValue::Computed {
                row: ComputedRow::Source { source, nullable },
                relation: relation.clone(),
                column: place,
            },
            None => NamedValue::Source(source, SourceColumn::Field(place)),
        },
        column_type: ColumnType {
            sql_type: column.sql_type,
            nullable: nullable || !is_not_null(environment, column),
        },
        origin: Origin {
            field: column.name.clone(),
            relation: relation.name.clone(),
            alias: alias_of(alias, &relation.name),
            owner: relation.owner.clone(),
            array: column.array.clone(),
        },
        sent_as_char: false,
    });
    NamedTable {
        name: alias.to_owned(),
        origin: TableOrigin::Table(relation.name.clone()),
        columns: columns.collect(),
        derived: false,
        row_keys: vec![RowKey { relation: relation.id.0, number: RowNumber::Source(source) }],
    }
}

/// The status of a column of USING that a side of the join has not.
fn unknown_in_using(side: &str, name: &Name) -> Error {
    let shown = format!("<{side} side of USING>.{name}");
    at(dsql(sqlcode::UNKNOWN_COLUMN).and(isc::DSQL_FIELD_ERR).and(isc::RANDOM).with(shown), name.position)
}

pub(super) fn alias_conflict(alias: &str) -> Error {
    dsql(sqlcode::UNKNOWN_TABLE).and(isc::ALIAS_CONFLICT_ERR).with(alias)
}
