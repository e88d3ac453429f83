//! Statements that change rows.

use std::sync::Arc;

use farbird_sql::ast::{self, AssignedValue, Name};
use farbird_types::{Error, Result, SqlType, Value, isc};

use crate::api::{ColumnDescription, StatementKind};
use crate::bind::binder::{Binder, Block, Bound};
use crate::bind::error::{at, dsql, sqlcode, unknown_table};
use crate::bind::query::describe_column;
use crate::bind::scope::{NamedTable, NamedValue, Namespace, unknown};
use crate::bind::source::{FromTree, SourceColumn, SourceKind};
use crate::bind::target::{positional_table, slot_count, table_target};
use crate::bind::{AccessPrivilege, Action, Environment, Prepared, VariableScope};
use crate::catalog::{ObjectKind, Relation, RelationKind};
use crate::expression::{BoundExpression, Expression};
use crate::plan::block::{RowOutline, RowsOutline};
use crate::plan::modification::{
    CheckRule, DeletePlan, InsertPlan, InsertRow, MergeActionPlan, MergeClausePlan, MergePlan, ModifyAction,
    ModifyPlan, Target, UpdateOrInsertPlan, UpdatePlan,
};
use crate::plan::{self, Node};
use crate::psql::{TriggerMoment, has_triggers};

/// What a statement changes: a table, a view over one, or a view whose triggers do all.
struct Changed {
    /// What the statement names.
    name: String,
    /// The table that is changed; the view itself if its triggers do all.
    relation: Arc<Relation>,
    /// The table's place among the block's sources; none if triggers do all.
    source: Option<usize>,
    /// What the statement calls it, with its columns.
    named: NamedTable,
    /// Its columns over the changed row, by slot (field id).
    row: NamedTable,
    /// How its rows are found.
    tree: FromTree,
    /// WITH CHECK OPTION: what must hold for the changed row.
    view_checks: Vec<Expression>,
}

pub(crate) fn bind_insert(
    environment: &Environment,
    insert: &ast::Insert,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    let mut binder = Binder::new(environment, variables);
    let changed = binder.changed_table(&insert.table, ast::TriggerAction::Insert)?;
    let target = Arc::new(binder.target_of(&changed, ast::TriggerAction::Insert)?);
    let columns = binder.insert_columns(&changed, insert.columns.as_deref(), &insert.source)?;
    // The table was made known only to find its columns: an INSERT looks at none of its rows.
    binder.blocks = vec![Block::default()];
    binder.namespaces = vec![Namespace::new(0)];
    let (source, row) = match &insert.source {
        ast::InsertSource::Values(values) => {
            let row = binder.insert_values(&target, &columns, values, insert.overriding)?;
            (Node::Single, row)
        }
        ast::InsertSource::DefaultValues => {
            (Node::Single, insert_row(&target, Vec::new(), insert.overriding, &[])?)
        }
        ast::InsertSource::Query(query) => {
            binder.insert_query(&target, &columns, query, insert.overriding)?
        }
    };
    for (column, _) in &columns {
        binder.access(ObjectKind::Relation, &changed.name, Some(column), AccessPrivilege::Insert);
    }
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Insert);
    let several = matches!(insert.source, ast::InsertSource::Query(_));
    let returning = Returned { row: changed.row, old: None, new: Some(0), others: Vec::new() };
    let (returning, columns) = binder.bind_returning(insert.returning.as_ref(), returning)?;
    let action = ModifyAction::Insert(InsertPlan { source, row });
    binder.prepared(StatementKind::Insert, action, returning, columns, several)
}

pub(crate) fn bind_update(
    environment: &Environment,
    update: &ast::Update,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    let mut binder = Binder::new(environment, variables);
    let changed = binder.changed_table(&update.table, ast::TriggerAction::Update)?;
    let target = Arc::new(binder.target_of(&changed, ast::TriggerAction::Update)?);
    let (conditions, positioned) = binder.changed_rows(&update.rows, &changed)?;
    let mut assignments = binder.assignments(&update.assignments, &changed, &target)?;
    let order = binder.bind_order(&update.order_by, &[])?;
    let limits = binder.bind_optional_rows(update.limit.as_ref())?;
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Update);
    let outline = RowsOutline { tree: &changed.tree, conditions, order, limits, row: changed.outline_row() };
    let (source, width) = binder.plan_rows(outline, &mut assignments)?;
    let returning = Returned { row: changed.row, old: Some(0), new: Some(width), others: Vec::new() };
    let (returning, columns) = binder.bind_returning(update.returning.as_ref(), returning)?;
    let action = ModifyAction::Update(UpdatePlan {
        source,
        target,
        assignments,
        positioned,
        skip_locked: update.skip_locked,
    });
    binder.prepared(StatementKind::Update, action, returning, columns, !positioned)
}

pub(crate) fn bind_delete(
    environment: &Environment,
    delete: &ast::Delete,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    let mut binder = Binder::new(environment, variables);
    let changed = binder.changed_table(&delete.table, ast::TriggerAction::Delete)?;
    let target = Arc::new(binder.target_of(&changed, ast::TriggerAction::Delete)?);
    let (conditions, positioned) = binder.changed_rows(&delete.rows, &changed)?;
    let order = binder.bind_order(&delete.order_by, &[])?;
    let limits = binder.bind_optional_rows(delete.limit.as_ref())?;
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Delete);
    let outline = RowsOutline { tree: &changed.tree, conditions, order, limits, row: changed.outline_row() };
    let (source, _) = binder.plan_rows(outline, &mut [])?;
    let returning = Returned { row: changed.row, old: Some(0), new: None, others: Vec::new() };
    let (returning, columns) = binder.bind_returning(delete.returning.as_ref(), returning)?;
    let action =
        ModifyAction::Delete(DeletePlan { source, target, positioned, skip_locked: delete.skip_locked });
    binder.prepared(StatementKind::Delete, action, returning, columns, !positioned)
}

pub(crate) fn bind_update_or_insert(
    environment: &Environment,
    statement: &ast::UpdateOrInsert,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    let mut binder = Binder::new(environment, variables);
    let changed = binder.changed_table(&statement.table, ast::TriggerAction::Update)?;
    let target = Arc::new(binder.target_of(&changed, ast::TriggerAction::Update)?);
    let written = ast::InsertSource::Values(statement.values.clone());
    let columns = binder.insert_columns(&changed, statement.columns.as_deref(), &written)?;
    // The values look at no row: they are bound before the table's names are known to anybody.
    let tables = std::mem::take(&mut binder.namespace().tables);
    let insert = binder.insert_values(&target, &columns, &statement.values, statement.overriding)?;
    binder.namespace().tables = tables;
    let matching = matching_columns(&changed.relation, &columns, &statement.matching)?;
    let mut conditions = Vec::new();
    for slot in matching {
        let Some((_, value)) = insert.assignments.iter().find(|(assigned, _)| *assigned == slot) else {
            continue;
        };
        let column = binder.slot_of(&changed, slot);
        conditions.push(Expression::Not(Box::new(Expression::Distinct {
            left: Box::new(column),
            right: Box::new(value.clone()),
            collation: collation_of_slot(&target, slot),
        })));
    }
    let order = binder.bind_order(&statement.order_by, &[])?;
    let limits = binder.bind_optional_rows(statement.limit.as_ref())?;
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Insert);
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Update);
    let assignments = insert.assignments.clone();
    let outline = RowsOutline { tree: &changed.tree, conditions, order, limits, row: changed.outline_row() };
    let (source, width) = binder.plan_rows(outline, &mut [])?;
    let returning = Returned { row: changed.row, old: Some(0), new: Some(width), others: Vec::new() };
    let (returning, columns) = binder.bind_returning(statement.returning.as_ref(), returning)?;
    let action = ModifyAction::UpdateOrInsert(UpdateOrInsertPlan { source, assignments, insert });
    binder.prepared(StatementKind::Insert, action, returning, columns, false)
}

pub(crate) fn bind_merge(
    environment: &Environment,
    merge: &ast::Merge,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    let mut binder = Binder::new(environment, variables);
    let changed = binder.changed_table(&merge.target, ast::TriggerAction::Update)?;
    let target = Arc::new(binder.target_of(&changed, ast::TriggerAction::Update)?);
    let not_matched = merge.clauses.iter().any(|clause| clause.rows == ast::MergeRows::NotMatchedByTarget);
    let by_source = merge.clauses.iter().any(|clause| clause.rows == ast::MergeRows::NotMatchedBySource);
    let using = binder.bind_table_reference(&merge.source, by_source)?;
    let mut on = Vec::new();
    binder.bind_condition(&merge.condition)?.into_conjuncts(&mut on);
    let target_tree = changed.tree.clone();
    let mut clauses = Vec::with_capacity(merge.clauses.len());
    for clause in &merge.clauses {
        clauses.push(binder.merge_clause(clause, &changed, &target)?);
    }
    // Rows without a partner in USING are told by a row number of USING's first table, or by any of its columns.
    let present = if by_source { binder.presence_slot(&using) } else { None };
    let tree = match (not_matched, by_source) {
        (false, false) => FromTree::Group(vec![using, target_tree], on),
        (true, false) => FromTree::Left(Box::new(using), Box::new(target_tree), on),
        (false, true) => FromTree::Left(Box::new(target_tree), Box::new(using), on),
        (true, true) => FromTree::Full(Box::new(using), Box::new(target_tree), on),
    };
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Update);
    let others = binder.namespace().tables.clone();
    let outline = RowsOutline {
        tree: &tree,
        conditions: Vec::new(),
        order: Vec::new(),
        limits: Vec::new(),
        row: changed.outline_row(),
    };
    let mut loose: Vec<Expression> = present.into_iter().map(Expression::Column).collect();
    let (source, width, others) = binder.plan_merge(outline, &changed, &mut clauses, &mut loose, others)?;
    let returning = Returned { row: changed.row, old: Some(0), new: Some(width), others };
    let (returning, columns) = binder.bind_returning(merge.returning.as_ref(), returning)?;
    let source_present = loose.first().and_then(|expression| match expression {
        Expression::Column(position) => Some(*position),
        _ => None,
    });
    let action = ModifyAction::Merge(MergePlan { source, target, source_present, clauses });
    binder.prepared(StatementKind::Update, action, returning, columns, true)
}

/// What RETURNING can see: where the old and the new row begin in the row it looks at.
struct Returned {
    /// The columns of a row that begins at 0.
    row: NamedTable,
    old: Option<usize>,
    new: Option<usize>,
    /// Other tables (of MERGE), over the same row.
    others: Vec<NamedTable>,
}

impl Binder<'_> {
    /// What a statement changes.
    fn changed_table(&mut self, table: &ast::ChangedTable, action: ast::TriggerAction) -> Result<Changed> {
        let name = &table.name;
        let Some(relation) = self.environment.catalog.relations.get(name.as_str()).cloned() else {
            return Err(unknown_table(name));
        };
        if relation.kind == RelationKind::System {
            return Err(crate::system::refuse_change(operation(action), &relation.name));
        }
        let reference =
            ast::NamedTable { name: name.clone().into(), arguments: None, alias: table.alias.clone() };
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
                let row = positional_table(self.environment, &relation, &named.name, 0)?;
                self.use_whole_row(0, &relation);
                Ok(Changed {
                    name: relation.name.clone(),
                    source: Some(0),
                    named,
                    row,
                    tree,
                    view_checks: Vec::new(),
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

    /// A view whose triggers do all: its rows are those of its query.
    fn triggered_view(
        &mut self,
        relation: Arc<Relation>,
        mut named: NamedTable,
        tree: FromTree,
    ) -> Result<Changed> {
        let row = positional_table(self.environment, &relation, &named.name, 0)?;
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
        })
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
    fn target_of(&self, changed: &Changed, action: ast::TriggerAction) -> Result<Target> {
        let mut target = table_target(self.environment, &changed.relation)?;
        // Firebird holds the option by two triggers: for UPDATE, then for INSERT.
        let trigger = if action == ast::TriggerAction::Insert { "CHECK_2" } else { "CHECK_1" };
        target.checks.extend(changed.view_checks.iter().map(|check| CheckRule {
            name: String::new(),
            relation: changed.name.clone(),
            trigger: trigger.to_owned(),
            condition: BoundExpression {
                expression: Arc::new(check.clone()),
                column_type: farbird_types::ColumnType { sql_type: SqlType::Boolean, nullable: true },
                frame: self.frame,
            },
        }));
        Ok(target)
    }

    /// The column of the changed table that a slot (field id) holds.
    fn slot_of(&mut self, changed: &Changed, slot: usize) -> Expression {
        let place = changed.relation.columns.iter().position(|column| usize::from(column.field_id) == slot);
        match (place, changed.source) {
            (Some(place), Some(source)) => {
                Expression::Column(self.block().slot(source, SourceColumn::Field(place)))
            }
            (Some(place), None) => {
                let block_number = self.namespace().block;
                let column = changed.named.columns.get(place).cloned();
                column
                    .and_then(|column| self.named_value(block_number, &column).ok())
                    .map_or(Expression::NULL, |bound| bound.expression)
            }
            (None, _) => Expression::NULL,
        }
    }

    /// The slot (field id) that an assignment to a name goes to.
    fn assigned_slot(&self, changed: &Changed, name: &Name) -> Result<usize> {
        let Some(column) = changed.row.columns.iter().find(|column| column.name == name.as_str()) else {
            return Err(unknown(None, name));
        };
        match &column.value {
            NamedValue::Expression(Expression::Column(field)) => Ok(*field),
            _ => Err(Error::new(isc::READ_ONLY_FIELD).with(format!("{}.{}", changed.name, name))),
        }
    }

    /// Names and slots of the columns that an INSERT gives values for.
    fn insert_columns(
        &mut self,
        changed: &Changed,
        written: Option<&[Name]>,
        source: &ast::InsertSource,
    ) -> Result<Vec<(String, usize)>> {
        let mut columns: Vec<(String, usize)> = Vec::new();
        match written {
            Some(names) => {
                for name in names {
                    let slot = self.assigned_slot(changed, name)?;
                    if columns.iter().any(|(_, known)| *known == slot) {
                        return Err(repeated(changed, name, "INSERT"));
                    }
                    columns.push((name.as_str().to_owned(), slot));
                }
            }
            None if matches!(source, ast::InsertSource::DefaultValues) => {}
            None => {
                for column in &changed.row.columns {
                    if let Ok(slot) = self.assigned_slot(changed, &Name::new(column.name.clone())) {
                        columns.push((column.name.clone(), slot));
                    }
                }
            }
        }
        Ok(columns)
    }

    fn insert_values(
        &mut self,
        target: &Arc<Target>,
        columns: &[(String, usize)],
        values: &[AssignedValue],
        overriding: Option<ast::Overriding>,
    ) -> Result<InsertRow> {
        if values.len() != columns.len() {
            return Err(dsql(sqlcode::VALUES).and(isc::DSQL_VAR_COUNT_ERR));
        }
        let mut assignments = Vec::with_capacity(values.len());
        for ((_, slot), value) in columns.iter().zip(values) {
            if let AssignedValue::Expression(value) = value {
                assignments.push((*slot, self.value_for_slot(target, *slot, value)?));
            }
        }
        let given: Vec<usize> = assignments.iter().map(|(slot, _)| *slot).collect();
        insert_row(target, assignments, overriding, &given)
    }

    fn insert_query(
        &mut self,
        target: &Arc<Target>,
        columns: &[(String, usize)],
        query: &ast::Query,
        overriding: Option<ast::Overriding>,
    ) -> Result<(Node, InsertRow)> {
        let mut select = self.in_new_block(false, |binder| binder.bind_parts(query))?;
        if select.items.len() != columns.len() {
            return Err(dsql(sqlcode::VALUES).and(isc::DSQL_VAR_COUNT_ERR));
        }
        let mut assignments = Vec::with_capacity(columns.len());
        for (place, ((_, slot), item)) in columns.iter().zip(&mut select.items).enumerate() {
            let Some(column) = target_column(target, *slot) else { continue };
            let mut bound =
                Bound { expression: item.expression.clone(), column_type: item.column_type, origin: None };
            self.infer(&mut bound, &column.sql_type);
            let from = *bound.sql_type();
            assignments.push((*slot, Expression::Column(place).converted(&from, &column.sql_type)));
        }
        let (plan, _) = self.plan_select(select)?;
        let given: Vec<usize> = columns.iter().map(|(_, slot)| *slot).collect();
        Ok((plan, insert_row(target, assignments, overriding, &given)?))
    }

    fn value_for_slot(
        &mut self,
        target: &Target,
        slot: usize,
        value: &ast::Expression,
    ) -> Result<Expression> {
        match target_column(target, slot) {
            Some(column) => {
                let sql_type = column.sql_type;
                self.bind_value_for(value, &sql_type)
            }
            None => Ok(Expression::NULL),
        }
    }

    fn assignments(
        &mut self,
        assignments: &[ast::Assignment],
        changed: &Changed,
        target: &Arc<Target>,
    ) -> Result<Vec<(usize, Expression)>> {
        let mut bound: Vec<(usize, Expression)> = Vec::with_capacity(assignments.len());
        for assignment in assignments {
            let name = &assignment.target.name;
            if let Some(qualifier) = &assignment.target.qualifier
                && qualifier.as_str() != changed.named.name
            {
                return Err(unknown(Some(qualifier), name));
            }
            let slot = self.assigned_slot(changed, name)?;
            if bound.iter().any(|(known, _)| *known == slot) {
                return Err(repeated(changed, name, "UPDATE"));
            }
            let value = match &assignment.value {
                AssignedValue::Expression(value) => self.value_for_slot(target, slot, value)?,
                AssignedValue::Default(_) => self.default_of(target, slot),
            };
            self.access(ObjectKind::Relation, &changed.name, Some(name.as_str()), AccessPrivilege::Update);
            bound.push((slot, value));
        }
        Ok(bound)
    }

    /// DEFAULT as a value.
    fn default_of(&mut self, target: &Target, slot: usize) -> Expression {
        let Some(column) = target_column(target, slot) else { return Expression::NULL };
        if let Some((sequence, increment, _)) = column.identity {
            let step = Box::new(Expression::Constant(Value::integer(increment)));
            let next = Expression::Sequence { sequence, step, short: false };
            return next.converted(&SqlType::BIGINT, &column.sql_type);
        }
        column.default.as_ref().map_or(Expression::NULL, |default| (*default.expression).clone())
    }

    /// The condition of WHERE, or of WHERE CURRENT OF; and whether it is the latter.
    fn changed_rows(
        &mut self,
        rows: &ast::ChangedRows,
        changed: &Changed,
    ) -> Result<(Vec<Expression>, bool)> {
        match rows {
            ast::ChangedRows::All => Ok((Vec::new(), false)),
            ast::ChangedRows::Where(condition) => {
                let mut conditions = Vec::new();
                self.bind_condition(condition)?.into_conjuncts(&mut conditions);
                Ok((conditions, false))
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
                Ok((vec![condition], true))
            }
        }
    }

    /// Plans the rows of a statement: the changed row by slot, its number, and what else is used. Expressions over
    /// them are moved to where the values stand. Gives the plan and the width of its rows.
    fn plan_rows(
        &mut self,
        outline: RowsOutline<'_>,
        assignments: &mut [(usize, Expression)],
    ) -> Result<(Node, usize)> {
        let block = std::mem::take(self.block());
        let planned = plan::block::plan_rows(outline, &block, self.environment, &mut self.frame)?;
        let moved = |slot: usize| planned.positions.get(slot).copied().unwrap_or(usize::MAX);
        assignments.iter_mut().for_each(|(_, value)| value.move_columns(&moved));
        let width = planned.node.width();
        Ok((planned.node, width))
    }

    /// As [`Binder::plan_rows`], for MERGE; gives the tables of USING over the planned rows too.
    fn plan_merge(
        &mut self,
        outline: RowsOutline<'_>,
        changed: &Changed,
        clauses: &mut [MergeClausePlan],
        loose: &mut [Expression],
        mut tables: Vec<NamedTable>,
    ) -> Result<(Node, usize, Vec<NamedTable>)> {
        tables.retain(|table| table.name != changed.named.name);
        let block_number = self.namespace().block;
        // Each column of USING that RETURNING may ask for must have a place in the row.
        for table in &mut tables {
            for column in &mut table.columns {
                let value = self.named_value(block_number, column)?;
                column.value = NamedValue::Expression(value.expression);
            }
        }
        let block = std::mem::take(self.block());
        let planned = plan::block::plan_rows(outline, &block, self.environment, &mut self.frame)?;
        let moved = |slot: usize| planned.positions.get(slot).copied().unwrap_or(usize::MAX);
        for clause in clauses {
            clause.condition.iter_mut().for_each(|condition| condition.move_columns(&moved));
            match &mut clause.action {
                MergeActionPlan::Update(assignments) => {
                    assignments.iter_mut().for_each(|(_, value)| value.move_columns(&moved));
                }
                MergeActionPlan::Insert(row) => {
                    row.assignments.iter_mut().for_each(|(_, value)| value.move_columns(&moved));
                }
                MergeActionPlan::Delete => {}
            }
        }
        loose.iter_mut().for_each(|value| value.move_columns(&moved));
        for column in tables.iter_mut().flat_map(|table| &mut table.columns) {
            if let NamedValue::Expression(value) = &mut column.value {
                value.move_columns(&moved);
            }
        }
        let width = planned.node.width();
        Ok((planned.node, width, tables))
    }

    fn merge_clause(
        &mut self,
        clause: &ast::MergeClause,
        changed: &Changed,
        target: &Arc<Target>,
    ) -> Result<MergeClausePlan> {
        let condition =
            clause.condition.as_ref().map(|condition| self.bind_condition(condition)).transpose()?;
        let action = match &clause.action {
            ast::MergeAction::Update(assignments) => {
                MergeActionPlan::Update(self.assignments(assignments, changed, target)?)
            }
            ast::MergeAction::Delete => MergeActionPlan::Delete,
            ast::MergeAction::Insert { columns, overriding, values } => {
                let source = ast::InsertSource::Values(values.clone());
                let columns = self.insert_columns(changed, columns.as_deref(), &source)?;
                MergeActionPlan::Insert(self.insert_values(target, &columns, values, *overriding)?)
            }
        };
        Ok(MergeClausePlan { rows: clause.rows, condition, action })
    }

    /// A slot that is NULL exactly when the row of USING is missing.
    fn presence_slot(&mut self, using: &FromTree) -> Option<usize> {
        let mut sources = Vec::new();
        using.sources(&mut sources);
        let table = sources.into_iter().find(|source| {
            matches!(self.block().sources.get(*source).map(|source| &source.kind), Some(SourceKind::Table(_)))
        })?;
        Some(self.block().slot(table, SourceColumn::RowNumber))
    }

    /// Binds RETURNING over the row that the statement makes of each row it changes.
    fn bind_returning(
        &mut self,
        returning: Option<&ast::Returning>,
        returned: Returned,
    ) -> Result<(Vec<Expression>, Vec<ColumnDescription>)> {
        let Some(returning) = returning else { return Ok((Vec::new(), Vec::new())) };
        self.blocks = vec![Block::default()];
        let mut namespace = Namespace::new(0);
        let row = |alias: &str, offset: usize| {
            let mut table = NamedTable { name: alias.to_owned(), ..returned.row.clone() };
            for column in &mut table.columns {
                if let NamedValue::Expression(value) = &mut column.value {
                    value.move_columns(&|field| field + offset);
                }
            }
            table
        };
        // A bare column is that of the new row, or of the deleted one.
        if let Some(offset) = returned.new.or(returned.old) {
            namespace.tables.push(row(&returned.row.name, offset));
        }
        namespace.tables.extend(returned.others);
        self.namespaces = vec![namespace];
        // NEW and OLD stand outside: they are found by their qualifier, and never make a bare column ambiguous.
        let mut qualified = Namespace::new(0);
        qualified.tables.extend(returned.old.map(|offset| row("OLD", offset)));
        qualified.tables.extend(returned.new.map(|offset| row("NEW", offset)));
        self.namespaces.insert(0, qualified);
        let items = self.bind_items(&returning.items)?;
        let columns = items.iter().map(describe_column).collect();
        Ok((items.into_iter().map(|item| item.expression).collect(), columns))
    }

    /// The finished statement.
    fn prepared(
        self,
        kind: StatementKind,
        action: ModifyAction,
        returning: Vec<Expression>,
        columns: Vec<ColumnDescription>,
        several: bool,
    ) -> Result<Prepared> {
        let parameters = self.described_parameters(self.parameter_count())?;
        let (plan, explained_plan) = match source_of(&action) {
            Some(source) => (plan::text::short(source), plan::text::explained(source)),
            None => (String::new(), String::new()),
        };
        let has_rows = !returning.is_empty();
        let kind = match (has_rows, several) {
            (false, _) => kind,
            (true, true) => StatementKind::Select,
            (true, false) => StatementKind::ExecuteProcedure,
        };
        let plan_of_statement = ModifyPlan { action, frame: self.frame, returning, columns: columns.clone() };
        Ok(Prepared {
            kind,
            action: Action::Modify(Arc::new(plan_of_statement)),
            parameters,
            columns,
            has_cursor: has_rows && several,
            plan,
            explained_plan,
            accesses: self.accesses.into_iter().collect(),
        })
    }
}

impl Changed {
    /// What the planned rows begin with.
    fn outline_row(&self) -> RowOutline<'_> {
        let fields = slot_count(&self.relation);
        match self.source {
            Some(source) => RowOutline::Table { source, relation: &self.relation, fields },
            None => RowOutline::View { columns: &self.named.columns, relation: &self.relation, fields },
        }
    }
}

/// What a statement does, as refusals name it.
fn operation(action: ast::TriggerAction) -> &'static str {
    match action {
        ast::TriggerAction::Insert => "INSERT",
        ast::TriggerAction::Update => "UPDATE",
        ast::TriggerAction::Delete => "DELETE",
    }
}

fn repeated(changed: &Changed, name: &Name, statement: &str) -> Error {
    let column = format!("{}.{}", changed.name, name);
    let error = dsql(sqlcode::UNKNOWN_COLUMN).and(isc::DSQL_NO_DUP_NAME).with(column).with(statement);
    at(error, name.position)
}

/// SQLCODE of errors about cursors.
const CURSOR_SQLCODE: i32 = -504;

fn source_of(action: &ModifyAction) -> Option<&Node> {
    match action {
        ModifyAction::Insert(insert) => match &insert.source {
            Node::Single => None,
            source => Some(source),
        },
        ModifyAction::Update(update) => Some(&update.source),
        ModifyAction::Delete(delete) => Some(&delete.source),
        ModifyAction::UpdateOrInsert(statement) => Some(&statement.source),
        ModifyAction::Merge(merge) => Some(&merge.source),
    }
}

fn target_column(target: &Target, slot: usize) -> Option<&crate::plan::modification::TargetColumn> {
    target.columns.get(slot).and_then(Option::as_ref)
}

fn collation_of_slot(target: &Target, slot: usize) -> farbird_types::Collation {
    target_column(target, slot)
        .map_or_else(Default::default, |column| super::data_type::collation_of(&column.sql_type))
}

/// A new row: what is assigned, and what has to be found otherwise. OVERRIDING says what becomes of identity columns.
fn insert_row(
    target: &Arc<Target>,
    mut assignments: Vec<(usize, Expression)>,
    overriding: Option<ast::Overriding>,
    given: &[usize],
) -> Result<InsertRow> {
    for slot in given {
        let Some((_, _, always)) = target_column(target, *slot).and_then(|column| column.identity) else {
            continue;
        };
        match overriding {
            Some(ast::Overriding::UserValue) => assignments.retain(|(assigned, _)| assigned != slot),
            Some(ast::Overriding::SystemValue) => {}
            None if always => {
                return Err(Error::new(isc::OVERRIDING_MISSING).with(target.relation.name.clone()));
            }
            None => {}
        }
    }
    let missing = (0..slot_count(&target.relation))
        .filter(|slot| !assignments.iter().any(|(assigned, _)| assigned == slot))
        .filter(|slot| {
            target_column(target, *slot)
                .is_some_and(|column| column.default.is_some() || column.identity.is_some())
        })
        .collect();
    Ok(InsertRow { target: target.clone(), assignments, missing })
}

/// The slots that UPDATE OR INSERT looks for its row by.
fn matching_columns(
    relation: &Relation,
    columns: &[(String, usize)],
    matching: &[Name],
) -> Result<Vec<usize>> {
    let names: Vec<String> = if matching.is_empty() {
        match relation.primary_key() {
            Some(index) => index.columns.clone(),
            None => return Err(Error::new(isc::PRIMARY_KEY_REQUIRED).with(relation.name.clone())),
        }
    } else {
        matching.iter().map(|name| name.as_str().to_owned()).collect()
    };
    names
        .iter()
        .map(|name| {
            let slot = relation.column(name).map(|column| usize::from(column.field_id));
            let given = slot.filter(|slot| columns.iter().any(|(_, known)| known == slot));
            given.ok_or_else(|| {
                let code = match matching.is_empty() {
                    true => isc::UPD_INS_DOESNT_MATCH_PK,
                    false => isc::UPD_INS_DOESNT_MATCH_MATCHING,
                };
                Error::new(isc::DSQL_ERROR).and(code).with(relation.name.clone())
            })
        })
        .collect()
}
