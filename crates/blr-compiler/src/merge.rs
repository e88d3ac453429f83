//! MERGE and UPDATE OR INSERT.

use farbird_blr::{Code, code};
use farbird_catalog::{ConstraintKind, Relation};
use farbird_sql::ast::{
    AssignedValue, ChangedTable, JoinKind, Merge, MergeAction, MergeClause, MergeRows, UpdateOrInsert,
};

use crate::change::{Returned, name_of, named, relation_of, written_columns};
use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::piece::{block, joined};
use crate::scope::{Scope, row_of};
use crate::select::simple_selection;
use crate::value::{INFO_ROW_COUNT, info, operation};

impl Compiler<'_> {
    /// UPDATE OR INSERT: the update, and the insert if it found nothing.
    pub(crate) fn update_or_insert(&mut self, statement: &UpdateOrInsert) -> Made<Code> {
        if !statement.order_by.is_empty() || statement.limit.is_some() {
            return unsupported("ORDER BY of UPDATE OR INSERT");
        }
        let relation = self.changed(&statement.table)?;
        let columns = written_columns(&relation, statement.columns.as_deref());
        let values = self.assigned(&relation, &columns, &statement.values)?;
        let has_default = statement.values.iter().any(|it| matches!(it, AssignedValue::Default(_)));
        if has_default {
            return unsupported("DEFAULT in UPDATE OR INSERT");
        }
        let by_key = statement.matching.is_empty();
        let matching: Vec<String> = match by_key {
            true => placed(primary_key(&relation))?,
            false => statement.matching.iter().map(|it| it.text.clone()).collect(),
        };
        let table = (&statement.table, &*relation);
        let returning = statement.returning.as_ref();
        let inserted = self.store_row(table, statement.overriding, &values, returning)?;
        let (context, row) = (self.context()?, self.context()?);
        // A primary key has no NULLs to look for.
        let comparison = if by_key { code::EQUAL } else { code::EQUIVALENT };
        let conditions = matching.iter().map(|name| {
            let (_, value) = placed(values.iter().find(|(column, _)| column == name))?;
            Ok(operation(&[comparison], &[&placed(Code::field(row, name))?, value]))
        });
        let conditions = conditions.collect::<Made<Vec<_>>>()?;
        let source = relation_of(&statement.table, row)?;
        let records = simple_selection(&[source], Some(joined(code::AND, &conditions)))?;
        let old = row_of(&relation, row, name_of(&statement.table))?;
        let new = row_of(&relation, context, name_of(&statement.table))?;
        let returned = Returned { old: Some(named(&old, "OLD")), new: Some(named(&new, "NEW")), plain: new };
        let updated = self.modify_row(row, context, &values, returning.map(|it| (returned, it)))?;
        let mut update = Code::of(&[code::FOR]);
        if returning.is_some() {
            update.byte(code::SINGULAR);
        }
        update.piece(&records).piece(&updated);
        let nothing = operation(&[code::EQUAL], &[&info(INFO_ROW_COUNT), &Code::number(0)]);
        let mut insert = operation(&[code::IF], &[&nothing, &inserted]);
        insert.byte(code::END);
        Ok(block(&[update, insert]))
    }

    /// MERGE: a join of source and target, and choices of what is done with each of its rows.
    pub(crate) fn merge(&mut self, merge: &Merge) -> Made<Code> {
        if !merge.order_by.is_empty() {
            return unsupported("ORDER BY of MERGE");
        }
        let clauses =
            |rows| -> Vec<&MergeClause> { merge.clauses.iter().filter(|it| it.rows == rows).collect() };
        if !clauses(MergeRows::NotMatchedBySource).is_empty() {
            return unsupported("WHEN NOT MATCHED BY SOURCE");
        }
        let (matched, not_matched) = (clauses(MergeRows::Matched), clauses(MergeRows::NotMatchedByTarget));
        let relation = self.changed(&merge.target)?;
        let number = self.frame()?.enter_loop(None)?;
        let made =
            self.inside(Scope::new(), |it| it.merge_inside(merge, &relation, &matched, &not_matched, number));
        self.frame()?.leave_loop();
        Ok(made?.0)
    }

    fn merge_inside(
        &mut self,
        merge: &Merge,
        relation: &Relation,
        matched: &[&MergeClause],
        not_matched: &[&MergeClause],
        number: u8,
    ) -> Made<Code> {
        let source = self.table(&merge.source)?;
        let target = self.context()?;
        self.scope()?.sources.push(row_of(relation, target, name_of(&merge.target))?);
        let kind = if not_matched.is_empty() { JoinKind::Inner } else { JoinKind::Left };
        let mut join = Code::of(&[code::STREAM, 2]);
        join.piece(placed(source.sources.first())?).piece(&relation_of(&merge.target, target)?);
        if kind == JoinKind::Left {
            join.more(&[code::JOIN_TYPE, 1]);
        }
        let condition = self.condition(&merge.condition)?;
        join.byte(code::BOOLEAN).piece(&condition).byte(code::END);
        let records = simple_selection(&[join], None)?;
        let missing = Code::of(&[code::MISSING, code::DB_KEY, target]);
        let matched_code = self.choices(merge, relation, target, matched)?;
        let not_matched_code = self.choices(merge, relation, target, not_matched)?;
        let mut choice = Code::of(&[code::IF]);
        match (not_matched_code, matched_code) {
            (Some(insert), change) => {
                choice.piece(&missing).piece(&insert);
                match change {
                    Some(change) => drop(choice.piece(&change)),
                    None => drop(choice.byte(code::END)),
                }
            }
            (None, Some(change)) => {
                choice.byte(code::NOT).piece(&missing).piece(&change).byte(code::END);
            }
            (None, None) => return unsupported("a MERGE that does nothing"),
        }
        let mut made = Code::of(&[code::LABEL, number, code::FOR]);
        if merge.returning.is_some() {
            made.byte(code::SINGULAR);
        }
        made.piece(&records).piece(&block(&[choice]));
        Ok(made)
    }

    /// What is done with a row: by the first clause whose condition holds.
    fn choices(
        &mut self,
        merge: &Merge,
        relation: &Relation,
        target: u8,
        clauses: &[&MergeClause],
    ) -> Made<Option<Code>> {
        let mut made: Option<Code> = None;
        for clause in clauses.iter().rev() {
            let action = self.merge_action(merge, relation, target, clause)?;
            made = Some(match &clause.condition {
                None => action,
                Some(condition) => {
                    let condition = self.condition(condition)?;
                    let mut choice = operation(&[code::IF], &[&condition, &action]);
                    match &made {
                        Some(otherwise) => drop(choice.piece(otherwise)),
                        None => drop(choice.byte(code::END)),
                    }
                    choice
                }
            });
        }
        Ok(made)
    }

    fn merge_action(
        &mut self,
        merge: &Merge,
        relation: &Relation,
        target: u8,
        clause: &MergeClause,
    ) -> Made<Code> {
        let table: (&ChangedTable, &Relation) = (&merge.target, relation);
        let returning = merge.returning.as_ref();
        match &clause.action {
            MergeAction::Update(changes) => self.modify(table, target, changes, returning),
            MergeAction::Delete => self.erase(table, target, returning),
            MergeAction::Insert { columns, overriding, values } => {
                let columns = written_columns(relation, columns.as_deref());
                let assigned = self.assigned(relation, &columns, values)?;
                self.store_row(table, *overriding, &assigned, returning)
            }
        }
    }
}

/// The columns of a table's primary key.
fn primary_key(relation: &Relation) -> Option<Vec<String>> {
    let key = relation.constraints.iter().find(|it| matches!(it.kind, ConstraintKind::PrimaryKey { .. }))?;
    Some(relation.index(key.index()?)?.columns.clone())
}
