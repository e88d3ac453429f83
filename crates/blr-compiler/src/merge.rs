//! MERGE and UPDATE OR INSERT.

use farbird_blr::{Code, code};
use farbird_catalog::{ConstraintKind, Relation};
use farbird_sql::ast::{
    AssignedValue, ChangedTable, Merge, MergeAction, MergeClause, MergeRows, UpdateOrInsert,
};

use crate::change::{Returned, name_of, named, relation_of, written_columns};
use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::piece::{block, joined};
use crate::scope::{Scope, row_of};
use crate::table::derived;
use crate::value::{INFO_ROW_COUNT, info, operation};

impl Compiler<'_> {
    /// UPDATE OR INSERT: the update, and the insert if it found nothing.
    pub(crate) fn update_or_insert(&mut self, statement: &UpdateOrInsert) -> Made<Code> {
        let relation = self.changed(&statement.table)?;
        let columns = written_columns(&relation, statement.columns.as_deref());
        let values = self.assigned(&relation, &columns, &statement.values)?;
        let changed = self.values_or_defaults(&relation, &columns, &statement.values)?;
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
            let (_, value) = placed(changed.iter().find(|(column, _)| column == name))?;
            Ok(operation(&[comparison], &[&placed(Code::field(row, name))?, value]))
        });
        let conditions = conditions.collect::<Made<Vec<_>>>()?;
        let source = relation_of(&statement.table, row)?;
        let old = row_of(&relation, row, name_of(&statement.table))?;
        let (records, _) = self.inside(Scope::of(vec![old.clone()]), |it| {
            let condition = Some(joined(code::AND, &conditions));
            it.changed_rows(source, condition, &statement.order_by, statement.limit.as_ref(), false)
        })?;
        let new = row_of(&relation, context, name_of(&statement.table))?;
        let returned = Returned { old: Some(named(&old, "OLD")), new: Some(named(&new, "NEW")), plain: new };
        let updated = self.modify_row(row, context, &changed, returning.map(|it| (returned, it)))?;
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

    /// Values for columns of a row that is there: DEFAULT is what the column has by default.
    fn values_or_defaults(
        &mut self,
        relation: &Relation,
        columns: &[String],
        values: &[AssignedValue],
    ) -> Made<Vec<(String, Code)>> {
        let pairs = columns.iter().zip(values).map(|(column, value)| {
            let code = match value {
                AssignedValue::Expression(value) => self.code(value)?,
                AssignedValue::Default(_) => self.default_of(relation, column)?,
            };
            Ok((column.clone(), code))
        });
        pairs.collect()
    }

    /// MERGE: a join of source and target, and choices of what is done with each of its rows.
    pub(crate) fn merge(&mut self, merge: &Merge) -> Made<Code> {
        let relation = self.changed(&merge.target)?;
        let number = self.frame()?.enter_loop(None)?;
        let made = self.inside(Scope::new(), |it| it.merge_inside(merge, &relation, number));
        self.frame()?.leave_loop();
        Ok(made?.0)
    }

    fn merge_inside(&mut self, merge: &Merge, relation: &Relation, number: u8) -> Made<Code> {
        let clauses =
            |rows| -> Vec<&MergeClause> { merge.clauses.iter().filter(|it| it.rows == rows).collect() };
        let source = self.table(&merge.source)?;
        let source_contexts: Vec<u8> =
            self.scope()?.sources.iter().flat_map(|it| it.contexts.clone()).collect();
        let target = self.context()?;
        self.scope()?.sources.push(row_of(relation, target, name_of(&merge.target))?);
        let mut join = Code::of(&[code::STREAM, 2]);
        join.piece(placed(source.sources.first())?).piece(&relation_of(&merge.target, target)?);
        let has = |rows| merge.clauses.iter().any(|it| it.rows == rows);
        match (has(MergeRows::NotMatchedByTarget), has(MergeRows::NotMatchedBySource)) {
            (false, false) => {}
            (true, false) => drop(join.more(&[code::JOIN_TYPE, 1])),
            (false, true) => drop(join.more(&[code::JOIN_TYPE, 2])),
            (true, true) => drop(join.more(&[code::JOIN_TYPE, 3])),
        }
        let condition = self.condition(&merge.condition)?;
        join.byte(code::BOOLEAN).piece(&condition).byte(code::END);
        // A row of the source shows in a constant of it, and one of the target in its key.
        let no_target = Code::of(&[code::MISSING, code::DB_KEY, target]);
        let truth = Code::of(&[code::LITERAL, code::BOOL, 1]);
        let no_source = operation(&[code::MISSING], &[&derived(&truth, &source_contexts)?]);
        let changed = self.choices(merge, relation, target, &clauses(MergeRows::Matched))?;
        let inserted = self.choices(merge, relation, target, &clauses(MergeRows::NotMatchedByTarget))?;
        let lonely = self.choices(merge, relation, target, &clauses(MergeRows::NotMatchedBySource))?;
        let wanted = lonely.is_some().then(|| wanted_rows(&no_source, &no_target, &changed, &inserted));
        let records = self.changed_rows(join, wanted, &merge.order_by, None, false)?;
        let mut choice = Code::new();
        if let Some(lonely) = &lonely {
            choice.byte(code::IF).piece(&no_source).piece(lonely);
        }
        match (inserted, changed) {
            (Some(insert), change) => {
                choice.byte(code::IF).piece(&no_target).piece(&insert);
                match change {
                    Some(change) => drop(choice.piece(&change)),
                    None => drop(choice.byte(code::END)),
                }
            }
            (None, Some(change)) => {
                choice.more(&[code::IF, code::NOT]).piece(&no_target).piece(&change).byte(code::END);
            }
            (None, None) if lonely.is_none() => return unsupported("a MERGE that does nothing"),
            (None, None) => drop(choice.byte(code::END)),
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

/// Which rows of source and target something is done with, where some have no source.
fn wanted_rows(no_source: &Code, no_target: &Code, changed: &Option<Code>, inserted: &Option<Code>) -> Code {
    let mut wanted = Vec::new();
    if changed.is_some() {
        let both = [no_target, no_source].map(|missing| operation(&[code::NOT], &[missing]));
        wanted.push(joined(code::AND, &both));
    }
    if inserted.is_some() {
        wanted.push(no_target.clone());
    }
    wanted.push(no_source.clone());
    joined(code::OR, &wanted)
}

/// The columns of a table's primary key.
fn primary_key(relation: &Relation) -> Option<Vec<String>> {
    let key = relation.constraints.iter().find(|it| matches!(it.kind, ConstraintKind::PrimaryKey { .. }))?;
    Some(relation.index(key.index()?)?.columns.clone())
}
