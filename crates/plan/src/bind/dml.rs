//! Statements that change rows.

use std::borrow::Cow;
use std::sync::Arc;

use farbird_catalog::{AccessPrivilege, ObjectKind, Relation};
use farbird_expression::Expression;
use farbird_session::{ColumnDescription, StatementKind};
use farbird_sql::ast::{self, AssignedValue, Name};
use farbird_types::{ColumnType, Error, Result, SqlType, Value, isc};

use crate::bind::alone::surroundings;
use crate::bind::binder::{Binder, Bound};
use crate::bind::changed::{Changed, repeated};
use crate::bind::error::{dsql, sqlcode, unknown_column};
use crate::bind::inference::inferred;
use crate::bind::namespace::{NamedTable, Namespace};
use crate::bind::prepared::{Action, Prepared, VariableScope};
use crate::bind::query::unused_tables_warning;
use crate::bind::returning::Returned;
use crate::bind::scope::unknown;
use crate::bind::target::slot_count;
use crate::block::RowsOutline;
use crate::bound::column::{NamedValue, RowSlot};
use crate::bound::environment::Environment;
use crate::bound::query::Block;
use crate::bound::source::{FromTree, SourceColumn, SourceKind};
use crate::modification::{
    DeletePlan, GoneRow, InsertPlan, InsertRow, MergeActionPlan, MergeClausePlan, MergePlan, ModifyAction,
    ModifyPlan, Target, UpdateOrInsertPlan, UpdatePlan,
};
use crate::node::Node;

pub(crate) fn bind_insert(
    environment: &Environment,
    insert: &ast::Insert,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    inferred(environment, variables, |binder| insert_once(binder, insert))
}

fn insert_once(binder: &mut Binder<'_>, insert: &ast::Insert) -> Result<Prepared> {
    let changed = binder.changed_table(&insert.table, ast::TriggerAction::Insert)?;
    let target = Arc::new(binder.target_of(&changed)?);
    let (names, written) = match &insert.source {
        ast::InsertSource::Values(values) => changed.said(insert.columns.as_deref(), values),
        _ => (insert.columns.as_deref().map(Cow::Borrowed), Cow::Borrowed([].as_slice())),
    };
    let columns = binder.insert_columns(&changed, names.as_deref(), &insert.source)?;
    // The table was made known only to find its columns: an INSERT looks at none of its rows.
    binder.blocks = vec![Block::default()];
    binder.namespaces = vec![Namespace::new(0)];
    let (source, row) = match &insert.source {
        ast::InsertSource::Values(_) => {
            let row = binder.insert_values(&target, &columns, &written, insert.overriding)?;
            (Node::Single, row)
        }
        ast::InsertSource::DefaultValues => {
            (Node::Single, insert_row(&target, Vec::new(), insert.overriding, &[])?)
        }
        ast::InsertSource::Query(query) => {
            binder.insert_query(&target, &columns, query, insert.overriding)?
        }
    };
    binder.rows_are_changed(&changed, &target, AccessPrivilege::Insert);
    let several = matches!(insert.source, ast::InsertSource::Query(_));
    let returning = Returned::of(&changed, RowSlot::at(0));
    let (returning, columns) = binder.bind_returning(insert.returning.as_ref(), returning)?;
    let is_alone = several && insert.returning.is_none() && target.inserts_alone(&row);
    let action = ModifyAction::Insert(InsertPlan { source, row, is_alone });
    binder.prepared(StatementKind::Insert, action, returning, columns, several)
}

pub(crate) fn bind_update(
    environment: &Environment,
    update: &ast::Update,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    inferred(environment, variables, |binder| update_once(binder, update))
}

fn update_once(binder: &mut Binder<'_>, update: &ast::Update) -> Result<Prepared> {
    binder.note_plan(update.plan.as_ref());
    let changed = binder.changed_table(&update.table, ast::TriggerAction::Update)?;
    let target = Arc::new(binder.target_of(&changed)?);
    let (conditions, positioned) = binder.changed_rows(&update.rows, &changed)?;
    let positioned = positioned.map(GoneRow::of_update);
    let mut assignments = binder.assignments(&update.assignments, &changed, &target)?;
    let order = binder.bind_order(&update.order_by, &[])?;
    let limits = binder.bind_optional_rows(update.limit.as_ref())?;
    binder.rows_are_changed(&changed, &target, AccessPrivilege::Update);
    let outline = RowsOutline { tree: &changed.tree, conditions, order, limits, row: changed.outline_row() };
    binder.resolve_plan(update.plan.as_ref(), false)?;
    let (source, width) = binder.plan_rows(outline, &mut assignments)?;
    let (old, new) = (Some(RowSlot::at(0)), RowSlot::at(width));
    let returning = Returned { old, new: Some(new), ..Returned::of(&changed, new) };
    let (returning, columns) = binder.bind_returning(update.returning.as_ref(), returning)?;
    let skip_locked = update.skip_locked;
    let is_alone = update.returning.is_none() && !skip_locked && target.updates_alone(&assignments);
    let action =
        ModifyAction::Update(UpdatePlan { source, target, assignments, positioned, skip_locked, is_alone });
    binder.prepared(StatementKind::Update, action, returning, columns, positioned.is_none())
}

pub(crate) fn bind_delete(
    environment: &Environment,
    delete: &ast::Delete,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    inferred(environment, variables, |binder| delete_once(binder, delete))
}

fn delete_once(binder: &mut Binder<'_>, delete: &ast::Delete) -> Result<Prepared> {
    binder.note_plan(delete.plan.as_ref());
    let changed = binder.changed_table(&delete.table, ast::TriggerAction::Delete)?;
    let target = Arc::new(binder.target_of(&changed)?);
    let skip_locked = delete.skip_locked;
    let is_alone = delete.returning.is_none() && !skip_locked && target.deletes_alone();
    if !is_alone {
        binder.use_deleted_row(&changed);
    }
    let (conditions, positioned) = binder.changed_rows(&delete.rows, &changed)?;
    let order = binder.bind_order(&delete.order_by, &[])?;
    let limits = binder.bind_optional_rows(delete.limit.as_ref())?;
    binder.rows_are_changed(&changed, &target, AccessPrivilege::Delete);
    let outline = RowsOutline { tree: &changed.tree, conditions, order, limits, row: changed.outline_row() };
    binder.resolve_plan(delete.plan.as_ref(), false)?;
    let (source, _) = binder.plan_rows(outline, &mut [])?;
    let returning = Returned { is_deleted: true, ..Returned::of(&changed, RowSlot::at(0)) };
    let (returning, columns) = binder.bind_returning(delete.returning.as_ref(), returning)?;
    let action = ModifyAction::Delete(DeletePlan { source, target, positioned, skip_locked, is_alone });
    binder.prepared(StatementKind::Delete, action, returning, columns, positioned.is_none())
}

pub(crate) fn bind_update_or_insert(
    environment: &Environment,
    statement: &ast::UpdateOrInsert,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    inferred(environment, variables, |binder| update_or_insert_once(binder, statement))
}

fn update_or_insert_once(binder: &mut Binder<'_>, statement: &ast::UpdateOrInsert) -> Result<Prepared> {
    binder.note_plan(statement.plan.as_ref());
    let changed = binder.changed_table(&statement.table, ast::TriggerAction::Update)?;
    let target = Arc::new(binder.target_of(&changed)?);
    let (names, values) = changed.said(statement.columns.as_deref(), &statement.values);
    let written = ast::InsertSource::Values(values.to_vec());
    let columns = binder.insert_columns(&changed, names.as_deref(), &written)?;
    // The values look at no row: they are bound before the table's names are known to anybody.
    let tables = std::mem::take(&mut binder.namespace().tables);
    let mut insert = binder.insert_values(&target, &columns, &values, statement.overriding)?;
    binder.namespace().tables = tables;
    let matching = matching_columns(&changed.relation, &columns, &statement.matching)?;
    check_no_default_is_matched(&matching, &columns, &values)?;
    // What matches, what is assigned and what is inserted are one value: those of MATCHING are evaluated ahead. The others
    // are evaluated for each row.
    let mut ahead = Vec::new();
    for (_, value) in insert.assignments.iter_mut().filter(|(slot, _)| matching.contains(slot)) {
        if !matches!(value, Expression::Constant(_) | Expression::Parameter(_)) {
            let register = binder.new_register();
            ahead.push((register, std::mem::replace(value, Expression::Register(register))));
        }
    }
    let mut assignments = insert.assignments.clone();
    for ((_, slot), value) in columns.iter().zip(values.iter()) {
        if matches!(value, AssignedValue::Default(_)) {
            assignments.push((*slot, binder.default_of(&target, *slot)));
        }
    }
    let mut conditions = Vec::new();
    for slot in matching {
        let Some((_, value)) = insert.assignments.iter().find(|(assigned, _)| *assigned == slot) else {
            continue;
        };
        let column = binder.slot_of(&changed, slot)?;
        conditions.push(Expression::Not(Box::new(Expression::Distinct {
            left: Box::new(column),
            right: Box::new(value.clone()),
            collation: collation_of_slot(&target, slot),
        })));
    }
    let order = binder.bind_order(&statement.order_by, &[])?;
    let limits = binder.bind_optional_rows(statement.limit.as_ref())?;
    binder.rows_are_changed(&changed, &target, AccessPrivilege::Insert);
    binder.rows_are_changed(&changed, &target, AccessPrivilege::Update);
    // The row is looked for by its columns, and each of the others is assigned.
    binder.access(ObjectKind::Relation, &changed.name, None, AccessPrivilege::Select);
    for (column, _) in &columns {
        binder.access(ObjectKind::Relation, &changed.name, Some(column), AccessPrivilege::Update);
    }
    let outline = RowsOutline { tree: &changed.tree, conditions, order, limits, row: changed.outline_row() };
    binder.resolve_plan(statement.plan.as_ref(), false)?;
    let (source, width) = binder.plan_rows(outline, &mut [])?;
    let old = Some(RowSlot { offset: 0, presence: Some(slot_count(&changed.relation)) });
    let new = RowSlot::at(width);
    let number = numbers(&changed, width + slot_count(&changed.relation));
    let returning = Returned { old, new: Some(new), number, ..Returned::of(&changed, new) };
    let (returning, mut columns) = binder.bind_returning(statement.returning.as_ref(), returning)?;
    call_old_constant(statement.returning.as_ref(), &mut columns);
    let action =
        ModifyAction::UpdateOrInsert(UpdateOrInsertPlan { values: ahead, source, assignments, insert });
    binder.prepared(StatementKind::Insert, action, returning, columns, true)
}

pub(crate) fn bind_merge(
    environment: &Environment,
    merge: &ast::Merge,
    variables: &dyn VariableScope,
) -> Result<Prepared> {
    inferred(environment, variables, |binder| merge_once(binder, merge))
}

/// Firebird describes columns of OLD as constants: they are NULL where the row is inserted.
fn call_old_constant(returning: Option<&ast::Returning>, columns: &mut [ColumnDescription]) {
    let Some(items) = returning.map(|returning| &returning.items) else { return };
    if items.len() != columns.len() {
        return;
    }
    for (item, column) in items.iter().zip(columns) {
        let ast::SelectItem::Expression { value, alias } = item else { continue };
        let ast::ExpressionKind::Column { qualifier: Some(qualifier), .. } = &value.kind else { continue };
        if qualifier.as_str() == "OLD" {
            let name = String::from("CONSTANT");
            *column = ColumnDescription {
                column_type: column.column_type,
                alias: alias.as_ref().map_or_else(|| name.clone(), |alias| alias.as_str().to_owned()),
                field: name,
                relation: String::new(),
                relation_alias: String::new(),
                owner: String::new(),
            };
        }
    }
}

fn merge_once(binder: &mut Binder<'_>, merge: &ast::Merge) -> Result<Prepared> {
    binder.note_plan(merge.plan.as_ref());
    let changed = binder.changed_table(&merge.target, ast::TriggerAction::Update)?;
    let target = Arc::new(binder.target_of(&changed)?);
    let not_matched = merge.clauses.iter().any(|clause| clause.rows == ast::MergeRows::NotMatchedByTarget);
    let by_source = merge.clauses.iter().any(|clause| clause.rows == ast::MergeRows::NotMatchedBySource);
    let using = binder.bind_table_reference(&merge.source, by_source)?;
    binder.namespace().operands_are_bound(0, 0);
    binder.namespace().join_is_bound(0);
    if not_matched {
        // The target is on the side of the join that may be missing.
        for table in binder.namespace().tables.iter_mut().filter(|table| table.name == changed.named.name) {
            table.columns.iter_mut().for_each(|column| column.column_type.nullable = true);
        }
    }
    let mut on = Vec::new();
    binder.bind_condition(&merge.condition)?.into_conjuncts(&mut on);
    let target_tree = changed.tree.clone();
    let mut clauses = Vec::with_capacity(merge.clauses.len());
    for clause in &merge.clauses {
        clauses.push(binder.merge_clause(clause, &changed, &target)?);
    }
    let missing = by_source.then(|| binder.source_missing(&using));
    let tree = match (not_matched, by_source) {
        (false, false) => FromTree::Group(vec![using, target_tree], on),
        (true, false) => FromTree::Left(Box::new(using), Box::new(target_tree), on),
        (false, true) => FromTree::Left(Box::new(target_tree), Box::new(using), on),
        (true, true) => FromTree::Full(Box::new(using), Box::new(target_tree), on),
    };
    for clause in &clauses {
        let privilege = match clause.action {
            MergeActionPlan::Update(_) => AccessPrivilege::Update,
            MergeActionPlan::Delete => AccessPrivilege::Delete,
            MergeActionPlan::Insert(_) => AccessPrivilege::Insert,
        };
        binder.rows_are_changed(&changed, &target, privilege);
    }
    let others = binder.namespace().tables.clone();
    let outline = RowsOutline {
        tree: &tree,
        conditions: Vec::new(),
        order: Vec::new(),
        limits: Vec::new(),
        row: changed.outline_row(),
    };
    binder.resolve_plan(merge.plan.as_ref(), false)?;
    let mut loose = Vec::from_iter(missing);
    let (source, width, others) = binder.plan_merge(outline, &changed, &mut clauses, &mut loose, others)?;
    // The row that RETURNING looks at: see `MergePlan`.
    let fields = slot_count(&changed.relation);
    let old = Some(RowSlot { offset: 0, presence: Some(fields) });
    let new = Some(RowSlot { offset: width, presence: Some(width + 2 * fields) });
    let current = RowSlot::at(width + fields);
    let number = numbers(&changed, width + 2 * fields + 1);
    let returning = Returned { old, new, others, number, ..Returned::of(&changed, current) };
    let (returning, columns) = binder.bind_returning(merge.returning.as_ref(), returning)?;
    let source_missing = loose.pop();
    let is_alone = merge.returning.is_none()
        && !source_missing.as_ref().is_some_and(Expression::runs_code)
        && target.merges_alone(&clauses);
    let action = ModifyAction::Merge(MergePlan { source, target, source_missing, clauses, is_alone });
    // As Firebird describes it: drivers tell by that which of the changed rows to count.
    binder.prepared(StatementKind::Insert, action, returning, columns, true)
}

/// Where statements that insert or update have the number of the changed row: behind the old row, or at `inserted`.
fn numbers(changed: &Changed, inserted: usize) -> Option<Expression> {
    let old = Expression::Column(slot_count(&changed.relation));
    changed.source.map(|_| Expression::Coalesce(vec![old, Expression::Column(inserted)]))
}

impl Returned {
    /// Of a changed table whose bare columns are those at `current`.
    fn of(changed: &Changed, current: RowSlot) -> Returned {
        Returned {
            row: changed.row.clone(),
            old: None,
            new: None,
            current,
            is_deleted: false,
            others: Vec::new(),
            number: changed.source.map(|_| Expression::Column(slot_count(&changed.relation))),
            relation: changed.relation.id.0,
        }
    }
}

impl Binder<'_> {
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
        // DEFAULT for an identity column needs no OVERRIDING and goes with either.
        let given: Vec<usize> = match overriding {
            None => assignments.iter().map(|(slot, _)| *slot).collect(),
            Some(_) => columns.iter().map(|(_, slot)| *slot).collect(),
        };
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
            let mut bound = Bound {
                expression: item.expression.clone(),
                column_type: item.column_type,
                origin: None,
                shape: item.shape.clone(),
                computed_as: None,
                sent_as_char: false,
            };
            self.tell(
                &mut bound,
                Some(ColumnType { sql_type: column.sql_type, nullable: !column.not_null }),
            )?;
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
                self.note_array_parameter(value, target, column);
                let wanted = ColumnType { sql_type: column.sql_type, nullable: !column.not_null };
                self.bind_value_for(value, wanted)
            }
            None => Err(Error::internal("an assignment to no column")),
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
            if changed.says_nothing(name, &assignment.value) {
                continue;
            }
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

    /// Plans the rows of a statement: the changed row by slot, its number, and what else is used. Expressions over
    /// them are moved to where the values stand. Gives the plan and the width of its rows.
    fn plan_rows(
        &mut self,
        outline: RowsOutline<'_>,
        assignments: &mut [(usize, Expression)],
    ) -> Result<(Node, usize)> {
        let block = std::mem::take(self.block());
        let planned =
            crate::block::plan_rows(outline, &block, surroundings(self.environment), &mut self.frame)?;
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
        let planned =
            crate::block::plan_rows(outline, &block, surroundings(self.environment), &mut self.frame)?;
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
        // Where a side has no row its columns cannot be seen. The target's names came first.
        let names = self.namespace();
        let (tables, merged) = (names.tables.clone(), names.merged.clone());
        match clause.rows {
            ast::MergeRows::Matched => {}
            ast::MergeRows::NotMatchedByTarget => drop(names.tables.drain(..names.tables.len().min(1))),
            ast::MergeRows::NotMatchedBySource => {
                names.tables.truncate(1);
                names.merged.clear();
            }
        }
        let bound = self.merge_clause_over_its_rows(clause, changed, target);
        let names = self.namespace();
        (names.tables, names.merged) = (tables, merged);
        bound
    }

    fn merge_clause_over_its_rows(
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
                let (names, values) = changed.said(columns.as_deref(), values);
                let source = ast::InsertSource::Values(values.to_vec());
                let columns = self.insert_columns(changed, names.as_deref(), &source)?;
                MergeActionPlan::Insert(self.insert_values(target, &columns, &values, *overriding)?)
            }
        };
        Ok(MergeClausePlan { rows: clause.rows, condition, action })
    }

    /// TRUE exactly where the row of USING is missing.
    fn source_missing(&mut self, using: &FromTree) -> Expression {
        match using {
            FromTree::Source(source) => self.row_missing(*source),
            FromTree::Left(outer, _, _) => self.source_missing(outer),
            FromTree::Dropping { query, .. } | FromTree::Optional { query, .. } => self.source_missing(query),
            FromTree::Group(items, _) => match items.first() {
                Some(first) => self.source_missing(first),
                None => Expression::Constant(Value::Boolean(false)),
            },
            FromTree::Full(left, right, _) => {
                Expression::And(vec![self.source_missing(left), self.source_missing(right)])
            }
        }
    }

    fn row_missing(&mut self, source: usize) -> Expression {
        let mark = match self.block().sources.get_mut(source).map(|source| &mut source.kind) {
            Some(SourceKind::Derived { plan, .. }) => {
                // The rows of a query get one more column, which is never NULL.
                let width = plan.width();
                let mut items: Vec<Expression> = (0..width).map(Expression::Column).collect();
                items.push(Expression::Constant(Value::Boolean(true)));
                let input = std::mem::replace(plan, Node::Single);
                *plan = Node::Project(Arc::new(crate::node::Project { input, items }));
                SourceColumn::Field(width)
            }
            Some(SourceKind::Procedure(routine, _)) => {
                let outputs = routine.outputs.len();
                let missing = (0..outputs).map(|place| {
                    let slot = self.block().slot(source, SourceColumn::Field(place));
                    Expression::IsNull(Box::new(Expression::Column(slot)))
                });
                return Expression::And(missing.collect());
            }
            _ => SourceColumn::RowNumber,
        };
        Expression::IsNull(Box::new(Expression::Column(self.block().slot(source, mark))))
    }

    /// The finished statement.
    fn prepared(
        &mut self,
        kind: StatementKind,
        action: ModifyAction,
        returning: Vec<Expression>,
        columns: Vec<ColumnDescription>,
        several: bool,
    ) -> Result<Prepared> {
        let parameters = self.described_parameters(self.parameter_count())?;
        let values: Vec<&Expression> = action.values().into_iter().chain(&returning).collect();
        let source = action.source();
        self.count_shared(source, &values);
        let (plan, explained_plan) =
            (crate::text::short(source, &values), crate::text::explained(source, &values));
        let has_rows = !returning.is_empty();
        let kind = match (has_rows, several) {
            (false, _) => kind,
            (true, true) => StatementKind::Select,
            (true, false) => StatementKind::ExecuteProcedure,
        };
        let plan_of_statement = ModifyPlan::new(action, self.frame, returning, columns.clone());
        Ok(Prepared {
            kind,
            action: Action::Modify(Arc::new(plan_of_statement)),
            parameters,
            columns,
            has_cursor: has_rows && several,
            plan,
            explained_plan,
            accesses: std::mem::take(&mut self.accesses).into_iter().collect(),
            warnings: unused_tables_warning(&self.unused_common_tables),
        })
    }
}

fn target_column(target: &Target, slot: usize) -> Option<&crate::modification::TargetColumn> {
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
    let is_identity =
        |slot: &usize| target_column(target, *slot).is_some_and(|column| column.identity.is_some());
    if overriding.is_some() && !given.iter().any(is_identity) {
        return Err(Error::new(isc::OVERRIDING_WITHOUT_IDENTITY).with(target.relation.name.clone()));
    }
    for slot in given {
        let Some((_, _, always)) = target_column(target, *slot).and_then(|column| column.identity) else {
            continue;
        };
        match overriding {
            Some(ast::Overriding::UserValue) => assignments.retain(|(assigned, _)| assigned != slot),
            Some(ast::Overriding::SystemValue) if always => {}
            Some(ast::Overriding::SystemValue) => {
                return Err(Error::new(isc::OVERRIDING_SYSTEM_INVALID).with(target.relation.name.clone()));
            }
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
            None => {
                return Err(Error::new(isc::DSQL_ERROR)
                    .and(isc::PRIMARY_KEY_REQUIRED)
                    .with(relation.name.clone()));
            }
        }
    } else {
        if let Some(unknown) = matching.iter().find(|name| relation.column(name.as_str()).is_none()) {
            return Err(unknown_column(None, unknown.as_str(), unknown.position));
        }
        matching.iter().map(|name| name.as_str().to_owned()).collect()
    };
    names
        .iter()
        .map(|name| {
            let slot = relation.column(name).map(|column| usize::from(column.field_id));
            let given = slot.filter(|slot| columns.iter().any(|(_, known)| known == slot));
            given.ok_or_else(|| {
                let error = Error::new(isc::DSQL_ERROR);
                match matching.is_empty() {
                    true => error.and(isc::UPD_INS_DOESNT_MATCH_PK).with(relation.name.clone()),
                    false => error.and(isc::UPD_INS_DOESNT_MATCH_MATCHING),
                }
            })
        })
        .collect()
}

/// DEFAULT is no value that a row could be looked for by.
fn check_no_default_is_matched(
    matching: &[usize],
    columns: &[(String, usize)],
    values: &[AssignedValue],
) -> Result<()> {
    let defaults = columns.iter().zip(values).filter(|(_, value)| matches!(value, AssignedValue::Default(_)));
    match defaults.map(|(column, _)| column).find(|(_, slot)| matching.contains(slot)) {
        Some((name, _)) => {
            Err(Error::new(isc::DSQL_ERROR).and(isc::UPD_INS_CANNOT_DEFAULT).with(name.as_str()))
        }
        None => Ok(()),
    }
}
