//! What a statement changes: a table, or a view and what stands behind it.

use std::borrow::Cow;
use std::sync::Arc;

use farbird_catalog::system_tables::{is_live, refuse_change};
use farbird_catalog::triggers::{TriggerMoment, has_triggers};
use farbird_catalog::{Access, AccessPrivilege, ObjectKind, Relation, RelationKind};
use farbird_expression::{BoundExpression, Expression};
use farbird_sql::ast::{self, AssignedValue, Name};
use farbird_types::{Error, Result, SqlType, isc};

use crate::bind::binder::Binder;
use crate::bind::error::{at, dsql, sqlcode, unknown_table};
use crate::bind::namespace::{NamedTable, row_table};
use crate::bind::scope::unknown;
use crate::bind::target::{slot_count, table_target};
use crate::block::RowOutline;
use crate::bound::column::{ComputedRow, NamedValue, RowSlot};
use crate::bound::source::{FromTree, SourceColumn, SourceKind};
use crate::modification::{CheckRule, GoneRow, Target};

/// What a statement changes: a table, a view over one, or a view whose triggers do all.
pub(super) struct Changed {
    /// What the statement names.
    pub(super) name: String,
    /// The table that is changed; the view itself if its triggers do all.
    pub(super) relation: Arc<Relation>,
    /// The table's place among the block's sources; none if triggers do all.
    pub(super) source: Option<usize>,
    /// What the statement calls it, with its columns.
    pub(super) named: NamedTable,
    /// Its columns over the changed row, by slot (field id).
    pub(super) row: NamedTable,
    /// How its rows are found.
    pub(super) tree: FromTree,
    /// WITH CHECK OPTION: what must hold for the changed row.
    pub(super) view_checks: Vec<Expression>,
    /// The views between what the statement names and the table, each with what it shows.
    behind: Vec<(String, String)>,
}

impl Binder<'_> {
    /// What a statement changes.
    pub(super) fn changed_table(
        &mut self,
        table: &ast::ChangedTable,
        action: ast::TriggerAction,
    ) -> Result<Changed> {
        let name = &table.name;
        let Some(relation) = self.environment.catalog.relations.get(name.as_str()).cloned() else {
            return Err(unknown_table(name));
        };
        // Others are refused at their rows: NULL hides a source.
        let is_insert = action == ast::TriggerAction::Insert;
        if relation.kind == RelationKind::System && is_insert && !is_live(&relation) {
            return Err(refuse_change("INSERT", &relation.name));
        }
        let reference =
            ast::NamedTable { name: name.clone().into(), arguments: None, alias: table.alias.clone() };
        // Changing rows is not reading them: SELECT is asked for where a column is read.
        let accesses = self.accesses.clone();
        let tree = self.bind_table_reference(&ast::TableReference::Named(reference), false)?;
        self.accesses = accesses;
        let Some(named) = self.namespace().tables.last().cloned() else { return Err(unknown_table(name)) };
        match relation.kind {
            RelationKind::View { .. } if self.has_triggers(&relation, action) => {
                self.triggered_view(relation, named, tree)
            }
            RelationKind::View { check_option, .. } => {
                self.updatable_view(&relation, named, tree, check_option)
            }
            _ => {
                let row = self.row_of(&relation, &named.name);
                match action {
                    // Who deletes says by `use_deleted_row` if more of the row matters.
                    ast::TriggerAction::Delete => drop(self.block().slot(0, SourceColumn::RowNumber)),
                    _ => self.use_whole_row(0, &relation),
                }
                Ok(Changed {
                    name: relation.name.clone(),
                    source: Some(0),
                    named,
                    row,
                    tree,
                    view_checks: Vec::new(),
                    behind: Vec::new(),
                    relation,
                })
            }
        }
    }

    fn has_triggers(&self, relation: &Relation, action: ast::TriggerAction) -> bool {
        [TriggerMoment::Before, TriggerMoment::After]
            .into_iter()
            .any(|moment| has_triggers(&self.environment.catalog, &relation.name, moment, action))
    }

    /// The columns of a table over its row by slot, under the name that the statement has for it.
    fn row_of(&self, relation: &Arc<Relation>, alias: &str) -> NamedTable {
        let mut row = row_table(self.environment, relation, ComputedRow::Columns(RowSlot::at(0)));
        row.name = alias.to_owned();
        row.columns.iter_mut().for_each(|column| column.origin.alias = alias.to_owned());
        row
    }

    /// A view whose triggers do all: its rows are those of its query.
    fn triggered_view(
        &mut self,
        relation: Arc<Relation>,
        mut named: NamedTable,
        tree: FromTree,
    ) -> Result<Changed> {
        let row = self.row_of(&relation, &named.name);
        let block_number = self.namespace().block;
        for column in &mut named.columns {
            column.value = NamedValue::Expression(self.named_value(block_number, column)?.expression);
        }
        Ok(Changed {
            name: relation.name.clone(),
            source: None,
            named,
            row,
            tree,
            view_checks: Vec::new(),
            behind: Vec::new(),
            relation,
        })
    }

    /// A view that selects from one table and renames: the table is changed.
    fn updatable_view(
        &mut self,
        view: &Relation,
        mut named: NamedTable,
        mut tree: FromTree,
        check_option: bool,
    ) -> Result<Changed> {
        let base = match self.block().sources.as_slice() {
            [source] => match &source.kind {
                SourceKind::Table(base) if base.kind != RelationKind::System => Some(base.clone()),
                _ => None,
            },
            _ => None,
        };
        let Some(base) = base else { return Err(Error::new(isc::READ_ONLY_VIEW).with(view.name.clone())) };
        self.use_whole_row(0, &base);
        let block_number = self.namespace().block;
        let mut row = named.clone();
        for (column, over_row) in named.columns.iter_mut().zip(&mut row.columns) {
            let mut value = self.named_value(block_number, column)?.expression;
            column.value = NamedValue::Expression(value.clone());
            value.move_columns(&|slot| self.field_of(slot, &base));
            over_row.value = NamedValue::Expression(value);
        }
        let mut view_checks = Vec::new();
        if check_option {
            tree.for_each_condition_mut(&mut |condition| {
                let mut check = condition.clone();
                check.move_columns(&|slot| self.field_of(slot, &base));
                view_checks.push(check);
            });
        }
        Ok(Changed {
            name: view.name.clone(),
            relation: base,
            source: Some(0),
            named,
            row,
            tree,
            view_checks,
            behind: self.views_behind(view),
        })
    }

    /// An updatable view and those it is made of, each with the table or view that it shows.
    fn views_behind(&self, view: &Relation) -> Vec<(String, String)> {
        let mut behind = Vec::new();
        let mut current = Some(view);
        while let Some(view) = current.filter(|relation| relation.is_view()) {
            let Some(shown) = view.view_contexts.first() else { break };
            behind.push((view.name.clone(), shown.relation.clone()));
            current = self.environment.catalog.relation(&shown.relation).map(|relation| &**relation);
        }
        behind
    }

    /// Notes what changing rows needs: the privilege on what the statement names; on what stands behind a view in the
    /// name of the view's owner; and whatever defaults, domains and CHECK constraints use.
    pub(super) fn rows_are_changed(
        &mut self,
        changed: &Changed,
        target: &Target,
        privilege: AccessPrivilege,
    ) {
        self.access(ObjectKind::Relation, &changed.name, None, privilege);
        let outer = self.owner_of.clone();
        for (view, shown) in &changed.behind {
            self.owner_of = Some(view.clone());
            self.access(ObjectKind::Relation, shown, None, privilege);
        }
        let own = match privilege {
            AccessPrivilege::Insert => &target.insert_accesses[..],
            AccessPrivilege::Update => &target.update_accesses[..],
            _ => &[],
        };
        for access in own {
            let owner_of = access.owner_of.clone().or_else(|| self.owner_of.clone());
            self.accesses.insert(Access { owner_of, ..access.clone() });
        }
        self.owner_of = outer;
    }

    /// The whole row of a changed table is needed, whatever is assigned.
    fn use_whole_row(&mut self, source: usize, relation: &Relation) {
        for (place, column) in relation.columns.iter().enumerate() {
            if column.computed_source.is_none() {
                self.block().slot(source, SourceColumn::Field(place));
            }
        }
        self.block().slot(source, SourceColumn::RowNumber);
    }

    /// The rows that a DELETE finds are looked at, and not just deleted.
    pub(super) fn use_deleted_row(&mut self, changed: &Changed) {
        if let Some(source) = changed.source {
            self.use_whole_row(source, &changed.relation);
        }
    }

    /// The field id of the column that a slot of the block stands for.
    fn field_of(&self, slot: usize, relation: &Relation) -> usize {
        let column = self.blocks.last().and_then(|block| block.slots.get(slot)).map(|slot| slot.column);
        match column {
            Some(SourceColumn::Field(place)) => {
                relation.columns.get(place).map_or(usize::MAX, |column| usize::from(column.field_id))
            }
            _ => usize::MAX,
        }
    }

    /// The target with everything that holds for its rows, a view's CHECK OPTION included.
    pub(super) fn target_of(&self, changed: &Changed) -> Result<Target> {
        let mut target = table_target(self.environment, &changed.relation)?;
        // Firebird holds the option by two triggers: for UPDATE, then for INSERT.
        let triggers = ["CHECK_2", "CHECK_1"];
        target.checks.extend(changed.view_checks.iter().map(|check| CheckRule {
            name: String::new(),
            relation: changed.name.clone(),
            triggers: triggers.map(str::to_owned),
            condition: BoundExpression::new(
                check.clone(),
                farbird_types::ColumnType { sql_type: SqlType::Boolean, nullable: true },
                self.frame,
            ),
        }));
        Ok(target)
    }

    /// The column of the changed table that a slot (field id) holds.
    pub(super) fn slot_of(&mut self, changed: &Changed, slot: usize) -> Result<Expression> {
        let place = changed.relation.columns.iter().position(|column| usize::from(column.field_id) == slot);
        Ok(match (place, changed.source) {
            (Some(place), Some(source)) => {
                Expression::Column(self.block().slot(source, SourceColumn::Field(place)))
            }
            (Some(place), None) => {
                let block_number = self.namespace().block;
                let column = changed.named.columns.get(place).cloned();
                let column = column.ok_or_else(|| Error::internal("a column of a view that has no name"))?;
                self.named_value(block_number, &column)?.expression
            }
            // The slot of a column that was dropped.
            (None, _) => Expression::NULL,
        })
    }

    /// The slot (field id) that an assignment to a name goes to.
    pub(super) fn assigned_slot(&self, changed: &Changed, name: &Name) -> Result<usize> {
        let Some(column) = changed.row.columns.iter().find(|column| column.name == name.as_str()) else {
            return Err(unknown(None, name));
        };
        match &column.value {
            NamedValue::Expression(Expression::Column(field)) => Ok(*field),
            _ => Err(Error::new(isc::READ_ONLY_FIELD).with(format!("{}.{}", changed.name, name))),
        }
    }

    /// The condition of WHERE, or of WHERE CURRENT OF; and, if it is the latter, what happens without a row.
    pub(super) fn changed_rows(
        &mut self,
        rows: &ast::ChangedRows,
        changed: &Changed,
    ) -> Result<(Vec<Expression>, Option<GoneRow>)> {
        match rows {
            ast::ChangedRows::All => Ok((Vec::new(), None)),
            ast::ChangedRows::Where(condition) => {
                let mut conditions = Vec::new();
                self.bind_condition(condition)?.into_conjuncts(&mut conditions);
                Ok((conditions, None))
            }
            ast::ChangedRows::CurrentOf(cursor) => {
                let slot = self.variables.cursor_row_number(cursor.as_str(), &changed.relation.name);
                let (Some(slot), Some(source)) = (slot, changed.source) else {
                    return Err(dsql(CURSOR_SQLCODE)
                        .and(isc::DSQL_CURSOR_ERR)
                        .and(isc::DSQL_CURSOR_NOT_FOUND)
                        .with(cursor.as_str()));
                };
                let row = self.block().slot(source, SourceColumn::RowNumber);
                let condition = Expression::Comparison {
                    operator: ast::ComparisonOperator::Equal,
                    left: Box::new(Expression::Column(row)),
                    right: Box::new(Expression::Parameter(slot)),
                    collation: farbird_types::Collation::default(),
                };
                let gone = if !self.variables.is_psql() {
                    GoneRow::Conflict
                } else if self.variables.is_loop_cursor(cursor.as_str()) {
                    GoneRow::Ignored
                } else {
                    GoneRow::NoCurrentRecord
                };
                Ok((vec![condition], Some(gone)))
            }
        }
    }
}

impl Changed {
    /// Whether an assignment leaves everything as it is: DEFAULT may be written for a computed column.
    pub(super) fn says_nothing(&self, column: &Name, value: &AssignedValue) -> bool {
        let is_computed = |relation: &Relation| {
            relation.column(column.as_str()).is_some_and(|column| column.computed_source.is_some())
        };
        matches!(value, AssignedValue::Default(_))
            && self.name == self.relation.name
            && is_computed(&self.relation)
    }

    /// Names and values as they are written, but for those that say nothing.
    pub(super) fn said<'s>(
        &self,
        names: Option<&'s [Name]>,
        values: &'s [AssignedValue],
    ) -> (Option<Cow<'s, [Name]>>, Cow<'s, [AssignedValue]>) {
        let says_nothing = |(name, value): (&Name, &AssignedValue)| self.says_nothing(name, value);
        let some_say_nothing =
            |names: &&[Name]| names.len() == values.len() && names.iter().zip(values).any(says_nothing);
        let Some(written) = names.filter(some_say_nothing) else {
            return (names.map(Cow::Borrowed), Cow::Borrowed(values));
        };
        let kept = written.iter().zip(values).filter(|(name, value)| !self.says_nothing(name, value));
        let (names, values): (Vec<Name>, Vec<AssignedValue>) =
            kept.map(|(name, value)| (name.clone(), value.clone())).unzip();
        (Some(Cow::Owned(names)), Cow::Owned(values))
    }

    /// What the planned rows begin with.
    pub(super) fn outline_row(&self) -> RowOutline<'_> {
        let fields = slot_count(&self.relation);
        match self.source {
            Some(source) => RowOutline::Table { source, relation: &self.relation, fields },
            None => RowOutline::View { columns: &self.named.columns, relation: &self.relation, fields },
        }
    }
}

pub(super) fn repeated(changed: &Changed, name: &Name, statement: &str) -> Error {
    let column = format!("{}.{}", changed.name, name);
    let error = dsql(sqlcode::UNKNOWN_COLUMN).and(isc::DSQL_NO_DUP_NAME).with(column).with(statement);
    at(error, name.position)
}

/// SQLCODE of errors about cursors.
const CURSOR_SQLCODE: i32 = -504;
