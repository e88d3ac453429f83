//! Queries in FROM: views, derived tables and common tables.
//!
//! Those that only select and rename are taken into the query they stand in, so that its conditions reach their tables'
//! indexes. Others become plans of their own.

use std::sync::Arc;

use farbird_catalog::Relation;
use farbird_expression::Expression;
use farbird_sql::ast::{self, Name};
use farbird_types::{ColumnType, Error, Result, isc};

use crate::bind::binder::Binder;
use crate::bind::error::{dsql, sqlcode};
use crate::bind::namespace::{
    CommonTable, CommonTableScope, NamedTable, RowKey, RowNumber, SharedName, TableOrigin, alias_of,
};
use crate::bind::source::alias_conflict;
use crate::bound::column::{NamedColumn, NamedValue, Origin};
use crate::bound::query::{Block, BoundSelect, OutputColumn};
use crate::bound::source::{FromTree, SourceColumn, SourceKind};

impl Binder<'_> {
    pub(super) fn bind_view(
        &mut self,
        relation: &Arc<Relation>,
        source: &str,
        alias: &str,
        nullable: bool,
    ) -> Result<FromTree> {
        let tree = farbird_sql::parse_query(source, &self.parse_options())?;
        let inside = std::mem::replace(&mut self.inside_definition, true);
        let owner_of = self.owner_of.replace(relation.name.clone());
        self.tell_inside(alias, Some(&relation.name));
        let around = self.begin_shared();
        // The tables that it reads are those that were there when it was made, whatever a WITH around it calls by their names.
        let around_with = std::mem::take(&mut self.common_tables);
        let select = self.deeper(|binder| binder.in_new_block(true, |binder| binder.bind_parts(&tree.query)));
        self.common_tables = around_with;
        self.inside_definition = inside;
        self.owner_of = owner_of;
        let names = relation.columns.iter().map(|column| column.name.clone()).collect();
        let origin = TableOrigin::View(relation.name.clone());
        let select = select?;
        let is_fixed = self.end_shared(&around, &select);
        let shared = is_fixed.then(|| SharedName::View(relation.name.clone()));
        let (tree, mut named) = self.take_in(select, alias, names, origin, nullable, shared)?;
        named.derived = false;
        for (column, definition) in named.columns.iter_mut().zip(&relation.columns) {
            // A view promises nothing about NULL, whatever its tables do.
            column.column_type.nullable = true;
            column.origin = Origin {
                field: definition.name.clone(),
                relation: relation.name.clone(),
                alias: alias_of(alias, &relation.name),
                owner: relation.owner.clone(),
                array: definition.array.clone(),
            };
        }
        self.namespace().tables.push(named);
        Ok(tree)
    }

    pub(super) fn bind_derived_table(
        &mut self,
        derived: &ast::DerivedTable,
        nullable: bool,
    ) -> Result<FromTree> {
        let alias = derived.alias.as_ref().map_or(String::new(), |alias| alias.as_str().to_owned());
        let hidden = std::mem::replace(&mut self.namespace().hidden, !derived.lateral);
        self.tell_inside(&alias, None);
        let select =
            self.deeper(|binder| binder.in_new_block(false, |binder| binder.bind_parts(&derived.query)));
        self.namespace().hidden = hidden;
        let select = select?;
        self.check_alias(derived.alias.as_ref())?;
        let names = column_names(&select, &derived.columns, &alias)?;
        let origin = TableOrigin::Derived(alias.clone());
        let (tree, mut named) = self.take_in(select, &alias, names, origin, nullable, None)?;
        named.forget_joined_keys();
        self.namespace().tables.push(named);
        Ok(tree)
    }

    /// Binds the use of a common table, whose WITH is the scope of that number.
    pub(super) fn bind_common_table_use(
        &mut self,
        table: &Arc<CommonTable>,
        scope: usize,
        alias: &str,
        nullable: bool,
    ) -> Result<FromTree> {
        if table.busy {
            return Err(cycle(&table.name));
        }
        self.check_alias(Some(&Name::new(alias)))?;
        if let Some(working) = &table.working {
            let types = working.columns.iter().map(|(_, column)| column.sql_type).collect();
            let source =
                self.add_source(SourceKind::Working(working.place, types), vec![alias.to_owned()])?;
            let columns =
                working.columns.iter().enumerate().map(|(place, (name, column_type))| NamedColumn {
                    name: name.clone(),
                    value: NamedValue::Source(source, SourceColumn::Field(place)),
                    column_type: *column_type,
                    origin: Origin { field: name.clone(), alias: alias.to_owned(), ..Origin::default() },
                    sent_as_char: false,
                });
            let named = NamedTable {
                name: alias.to_owned(),
                origin: TableOrigin::Derived(table.name.clone()),
                columns: columns.collect(),
                derived: true,
                row_keys: Vec::new(),
            };
            self.namespace().tables.push(named);
            return Ok(FromTree::Source(source));
        }
        let hidden = std::mem::replace(&mut self.namespace().hidden, true);
        self.tell_inside(alias, None);
        let around = self.begin_shared();
        self.used_common_tables.insert((scope, table.name.clone()));
        let select = self.bind_common_table(table, scope);
        self.namespace().hidden = hidden;
        let select = select?;
        let names = column_names(&select, &table.definition.columns, &table.name)?;
        let origin = TableOrigin::Derived(table.name.clone());
        let is_fixed = self.end_shared(&around, &select);
        let shared = is_fixed.then(|| SharedName::Common(table.clone()));
        let (tree, mut named) = self.take_in(select, alias, names, origin, nullable, shared)?;
        named.forget_joined_keys();
        self.namespace().tables.push(named);
        Ok(tree)
    }

    /// Binds the definition of a common table.
    fn bind_common_table(&mut self, table: &Arc<CommonTable>, scope: usize) -> Result<BoundSelect> {
        // A definition sees all tables of its WITH and of those around that, but not itself, however far around; nor what a WITH
        // between them and its use defines: it is the same query wherever it is used.
        let scopes = self.common_tables.clone();
        self.common_tables.truncate(scope + 1);
        self.mark_busy(table);
        let select = self.deeper(|binder| {
            binder.in_new_block(false, |binder| match table.recursive {
                true => binder.bind_recursive(table),
                false => binder.bind_parts(&table.definition.query),
            })
        });
        self.common_tables = scopes;
        select
    }

    /// Notes the tables of a WITH that its query does not read, and looks whether their definitions make sense.
    ///
    /// # Errors
    /// Those of binding the definitions.
    pub(crate) fn check_unused_common_tables(&mut self, scope: usize) -> Result<()> {
        let tables = self.common_tables.get(scope).map(|known| known.tables.clone()).unwrap_or_default();
        let is_used =
            |table: &Arc<CommonTable>| self.used_common_tables.contains(&(scope, table.name.clone()));
        let unused: Vec<_> = tables.into_iter().filter(|table| !is_used(table)).collect();
        // The next WITH of this depth has tables of its own.
        self.used_common_tables.retain(|(of, _)| *of < scope);
        if self.inside_definition {
            return Ok(());
        }
        for table in &unused {
            self.unused_common_tables.push(table.name.clone());
            let hidden = std::mem::replace(&mut self.namespace().hidden, true);
            let bound = self.bind_common_table(table, scope);
            self.namespace().hidden = hidden;
            bound?;
        }
        Ok(())
    }

    /// Notes that a table's definition is being bound.
    fn mark_busy(&mut self, table: &Arc<CommonTable>) {
        let busy = Arc::new(CommonTable {
            name: table.name.clone(),
            definition: table.definition.clone(),
            recursive: table.recursive,
            busy: true,
            working: None,
        });
        for scope in &mut self.common_tables {
            if let Some(known) = scope.tables.iter_mut().find(|known| Arc::ptr_eq(known, table)) {
                *known = busy.clone();
            }
        }
    }

    /// Makes the tables of a WITH known.
    ///
    /// # Errors
    /// `alias_conflict_err` for a name that is taken twice, `dsql_cte_cycle` for a table that reads itself without
    /// RECURSIVE.
    pub(crate) fn define_common_tables(&mut self, with: &ast::With) -> Result<()> {
        for (place, table) in with.tables.iter().enumerate() {
            let name = table.name.as_str();
            if with.tables.iter().take(place).any(|earlier| earlier.name == table.name) {
                return Err(alias_conflict(name));
            }
            if !with.recursive && refers_to(&table.query.body, name) {
                return Err(cycle(name));
            }
        }
        let tables = with.tables.iter().map(|table| {
            Arc::new(CommonTable {
                name: table.name.as_str().to_owned(),
                recursive: with.recursive && refers_to(&table.query.body, table.name.as_str()),
                definition: table.clone(),
                busy: false,
                working: None,
            })
        });
        self.common_tables.push(CommonTableScope { tables: tables.collect() });
        Ok(())
    }

    /// Takes a query into the block that it stands in: its tables themselves if it only selects and renames, a source
    /// with a plan of its own otherwise.
    fn take_in(
        &mut self,
        mut select: BoundSelect,
        alias: &str,
        names: Vec<String>,
        origin: TableOrigin,
        nullable: bool,
        shared: Option<SharedName>,
    ) -> Result<(FromTree, NamedTable)> {
        self.describe_items(&mut select.items)?;
        let plain = select.items.iter().all(|item| matches!(item.expression, Expression::Column(_)));
        let reachable = captures_reachable(&select, nullable);
        let (tree, values, types, row_keys) = match select.into_simple() {
            Ok(simple) if (plain || !nullable) && reachable => {
                let (tree, items, row_keys) = self.absorb(simple, alias)?;
                let types: Vec<OutputColumn> = items;
                let values =
                    types.iter().map(|item| NamedValue::Expression(item.expression.clone())).collect();
                (tree, values, types, row_keys)
            }
            Ok(other) | Err(other) => {
                let items = other.items.clone();
                let (plan, captures) = self.plan_select(*other)?;
                let plan = plan.called(alias);
                let plan = match shared {
                    Some(name) => self.shared(name, plan),
                    None => plan,
                };
                let types = items.iter().map(|item| item.column_type.sql_type).collect();
                let kind = SourceKind::Derived { plan, captures, types };
                let source = self.add_source(kind, vec![alias.to_owned()])?;
                let values: Vec<NamedValue> = (0..items.len())
                    .map(|place| NamedValue::Source(source, SourceColumn::Field(place)))
                    .collect();
                (FromTree::Source(source), values, items, Vec::new())
            }
        };
        let columns = names.into_iter().zip(values).zip(types).map(|((name, value), item)| NamedColumn {
            // What it is inside does not matter for the name by which the query calls its table.
            origin: Origin {
                alias: alias.to_owned(),
                ..item.origin.unwrap_or_else(|| Origin { field: item.label.clone(), ..Origin::default() })
            },
            column_type: ColumnType { nullable: nullable || item.column_type.nullable, ..item.column_type },
            sent_as_char: item.sent_as_char,
            name,
            value,
        });
        let name = alias.to_owned();
        let named = NamedTable { name, origin, columns: columns.collect(), derived: true, row_keys };
        Ok((tree, named))
    }

    /// Adds a query's sources, slots and conditions to the block around it.
    #[allow(clippy::type_complexity)]
    fn absorb(
        &mut self,
        select: Box<BoundSelect>,
        alias: &str,
    ) -> Result<(FromTree, Vec<OutputColumn>, Vec<RowKey>)> {
        let BoundSelect { block: inner, mut tree, keyed_sources, mut conditions, mut items, .. } = *select;
        let offset = self.block().sources.len();
        for source in inner.sources {
            let mut path = source.path;
            if !alias.is_empty() {
                path.insert(0, alias.to_owned());
            }
            let kind = match source.kind {
                SourceKind::Derived { plan, captures, types } => {
                    SourceKind::Derived { plan: plan.called(alias), captures, types }
                }
                kind => kind,
            };
            let number = self.add_source(kind, path)?;
            if let Some(known) = self.block().sources.get_mut(number) {
                known.hint = source.hint;
            }
        }
        for mut hint in inner.join_hints {
            hint.move_sources(offset);
            self.block().join_hints.push(hint);
        }
        self.block().is_told |= inner.is_told;
        let slots: Vec<usize> =
            inner.slots.iter().map(|slot| self.block().slot(slot.source + offset, slot.column)).collect();
        let moved = |position: usize| slots.get(position).copied().unwrap_or(position);
        let first_new = offset;
        // Values that the query takes from this block itself (LATERAL) are at hand here: no register is needed.
        let captures = inner.captures;
        let at_hand = |expression: &mut Expression| {
            expression.rewrite(&mut |part| match part {
                Expression::Register(number) => {
                    captures.iter().find(|(register, _)| register == number).map(|(_, value)| value.clone())
                }
                _ => None,
            });
        };
        let mut adapt = |expression: &mut Expression| {
            expression.move_columns(&moved);
            at_hand(expression);
        };
        for source in self.block().sources.iter_mut().skip(first_new) {
            match &mut source.kind {
                SourceKind::Procedure(_, arguments) => arguments.iter_mut().for_each(&mut adapt),
                SourceKind::Derived { captures, .. } => {
                    captures.iter_mut().for_each(|(_, value)| adapt(value));
                }
                SourceKind::Table(_) | SourceKind::Working(..) => {}
            }
        }
        conditions.iter_mut().for_each(&mut adapt);
        tree.for_each_condition_mut(&mut adapt);
        items.iter_mut().for_each(|item| adapt(&mut item.expression));
        tree.move_sources(offset);
        let sources = &self.block().sources;
        let keys = keyed_sources.iter().filter_map(|source| {
            let source = source + offset;
            match sources.get(source).map(|source| &source.kind) {
                Some(SourceKind::Table(relation)) => {
                    Some(RowKey { relation: relation.id.0, number: RowNumber::Source(source) })
                }
                _ => None,
            }
        });
        let row_keys = keys.collect();
        let tree = if conditions.is_empty() { tree } else { FromTree::Group(vec![tree], conditions) };
        Ok((tree, items, row_keys))
    }
}

/// Whether everything that a query takes from the block around it (LATERAL) would still be at hand in that block: neither
/// the plans of queries inside of it nor outer joins see more than their own sources.
fn captures_reachable(select: &BoundSelect, nullable: bool) -> bool {
    let Block { captures, captured_deeper, .. } = &select.block;
    captures.is_empty()
        || !captured_deeper
            && match select.tree {
                FromTree::Source(_) => true,
                _ => !nullable && select.tree.is_inner(),
            }
}

/// Names of the columns of a derived or common table: those written beside it, or those of its items.
fn column_names(select: &BoundSelect, written: &[Name], table: &str) -> Result<Vec<String>> {
    let items = &select.items;
    if !written.is_empty() {
        if written.len() > items.len() {
            return Err(column_count(isc::DSQL_DERIVED_TABLE_MORE_COLUMNS, table));
        }
        if written.len() < items.len() {
            return Err(column_count(isc::DSQL_DERIVED_TABLE_LESS_COLUMNS, table));
        }
    }
    let shown = if table.is_empty() { "<unnamed>" } else { table };
    let command = dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR);
    let mut names: Vec<String> = Vec::with_capacity(items.len());
    for (place, item) in items.iter().enumerate() {
        let written = written.get(place).map(Name::as_str);
        let Some(name) = written.or(item.name.as_deref()) else {
            return Err(command
                .and(isc::DSQL_DERIVED_FIELD_UNNAMED)
                .with(i32::try_from(place + 1).unwrap_or(i32::MAX))
                .with(shown));
        };
        if names.iter().any(|other| other == name) {
            return Err(command.and(isc::DSQL_DERIVED_FIELD_DUP_NAME).with(name).with(shown));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

fn column_count(code: u32, table: &str) -> Error {
    dsql(sqlcode::SYNTAX).and(isc::DSQL_COMMAND_ERR).and(code).with(table)
}

fn cycle(table: &str) -> Error {
    dsql(sqlcode::SYNTAX).and(isc::DSQL_CTE_CYCLE).with(table)
}

/// How often a member of a query reads the table of that name in FROM, directly; and whether in an outer join.
pub(crate) fn references_to(from: &[ast::TableReference], name: &str) -> (usize, bool) {
    from.iter().fold((0, false), |(count, outer), reference| {
        let (more, more_outer) = references_in(reference, name);
        (count + more, outer || more_outer)
    })
}

fn references_in(reference: &ast::TableReference, name: &str) -> (usize, bool) {
    match reference {
        ast::TableReference::Join(join) => {
            let (left, left_outer) = references_in(&join.left, name);
            let (right, right_outer) = references_in(&join.right, name);
            let is_outer =
                matches!(join.kind, ast::JoinKind::Left | ast::JoinKind::Right | ast::JoinKind::Full);
            (left + right, left_outer || right_outer || (is_outer && left + right > 0))
        }
        other => (usize::from(reads(other, name)), false),
    }
}

/// Whether any member of a query reads the table of that name directly.
pub(crate) fn refers_to(body: &ast::QueryBody, name: &str) -> bool {
    match body {
        ast::QueryBody::Select(select) => select.from.iter().any(|reference| reads(reference, name)),
        ast::QueryBody::Union(union) => refers_to(&union.left, name) || refers_to(&union.right, name),
        ast::QueryBody::Nested(query) => refers_to(&query.body, name),
    }
}

fn reads(reference: &ast::TableReference, name: &str) -> bool {
    match reference {
        ast::TableReference::Named(named) => named.arguments.is_none() && named.name.name.as_str() == name,
        ast::TableReference::Derived(derived) => refers_to(&derived.query.body, name),
        ast::TableReference::Join(join) => reads(&join.left, name) || reads(&join.right, name),
    }
}
