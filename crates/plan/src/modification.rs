//! Plans of the statements that change rows.
//!
//! Rows of a table are whole and by slot (field id), as the store writes them. The expressions of a modification look
//! at a wide row: what each plan says about it stands at its fields.

use std::sync::{Arc, OnceLock};

use farbird_catalog::{Access, ReferentialAction, Relation, RelationKind};
use farbird_expression::{BoundExpression, Expression, FrameSize};
use farbird_session::ColumnDescription;
use farbird_store::{IndexId, RelationLayout, SequenceId};
use farbird_types::{ColumnType, SqlType};

use crate::bound::environment::Environment;
use crate::node::Node;

/// A statement that changes rows, ready to run.
#[derive(Debug)]
pub struct ModifyPlan {
    /// What it does.
    pub action: ModifyAction,
    /// What its frame needs.
    pub frame: FrameSize,
    /// RETURNING: the values, over the row that each action says. Empty without RETURNING.
    pub returning: Vec<Expression>,
    /// Its columns.
    pub columns: Vec<ColumnDescription>,
    /// Whether it changes one row at most, and that last: where it fails it leaves nothing to undo.
    pub is_one_change: bool,
    /// Whether it is an INSERT of one row that can be executed for many rows of parameters together: none of them sees the others.
    pub is_repeatable: bool,
}

impl ModifyPlan {
    /// A plan of these parts.
    pub fn new(
        action: ModifyAction,
        frame: FrameSize,
        returning: Vec<Expression>,
        columns: Vec<ColumnDescription>,
    ) -> ModifyPlan {
        let is_one_change = match &action {
            ModifyAction::Insert(insert) => returning.is_empty() && insert.is_one_change(),
            ModifyAction::Update(update) => update.is_alone && update.source.has_one_row_at_most(),
            ModifyAction::Delete(delete) => delete.is_alone && delete.source.has_one_row_at_most(),
            ModifyAction::UpdateOrInsert(_) | ModifyAction::Merge(_) => false,
        };
        let is_repeatable = match &action {
            ModifyAction::Insert(insert) => is_one_change && frame.is_empty() && insert.is_repeatable(),
            _ => false,
        };
        ModifyPlan { action, frame, returning, columns, is_one_change, is_repeatable }
    }

    /// As [`crate::identity`].
    pub fn identity(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }

    /// Whether its rows are those of a system table, which hides sources of definitions.
    pub fn changes_definitions(&self) -> bool {
        self.action.target().relation.kind == RelationKind::System
    }
}

/// What a statement does to rows.
#[derive(Debug)]
pub enum ModifyAction {
    /// INSERT.
    Insert(InsertPlan),
    /// UPDATE.
    Update(UpdatePlan),
    /// DELETE.
    Delete(DeletePlan),
    /// UPDATE OR INSERT.
    UpdateOrInsert(UpdateOrInsertPlan),
    /// MERGE.
    Merge(MergePlan),
}

impl ModifyAction {
    /// Where the rows come from.
    pub fn source(&self) -> &Node {
        match self {
            ModifyAction::Insert(insert) => &insert.source,
            ModifyAction::Update(update) => &update.source,
            ModifyAction::Delete(delete) => &delete.source,
            ModifyAction::UpdateOrInsert(statement) => &statement.source,
            ModifyAction::Merge(merge) => &merge.source,
        }
    }

    /// The table that is changed.
    pub fn target(&self) -> &Target {
        match self {
            ModifyAction::Insert(insert) => &insert.row.target,
            ModifyAction::Update(update) => &update.target,
            ModifyAction::Delete(delete) => &delete.target,
            ModifyAction::UpdateOrInsert(statement) => &statement.insert.target,
            ModifyAction::Merge(merge) => &merge.target,
        }
    }

    /// What is assigned, and what clauses ask.
    pub(crate) fn values(&self) -> Vec<&Expression> {
        fn of(assignments: &[(usize, Expression)]) -> impl Iterator<Item = &Expression> {
            assignments.iter().map(|(_, value)| value)
        }
        match self {
            ModifyAction::Insert(insert) => of(&insert.row.assignments).collect(),
            ModifyAction::Update(update) => of(&update.assignments).collect(),
            ModifyAction::Delete(_) => Vec::new(),
            ModifyAction::UpdateOrInsert(statement) => of(&statement.values)
                .chain(of(&statement.assignments))
                .chain(of(&statement.insert.assignments))
                .collect(),
            ModifyAction::Merge(merge) => {
                let mut values: Vec<&Expression> = merge.source_missing.iter().collect();
                for clause in &merge.clauses {
                    values.extend(&clause.condition);
                    match &clause.action {
                        MergeActionPlan::Update(assignments) => values.extend(of(assignments)),
                        MergeActionPlan::Insert(row) => values.extend(of(&row.assignments)),
                        MergeActionPlan::Delete => {}
                    }
                }
                values
            }
        }
    }
}

/// INSERT. RETURNING looks at the new row.
#[derive(Debug)]
pub struct InsertPlan {
    /// Where the rows come from; its rows are what the assignments look at.
    pub source: Node,
    /// What is done with each.
    pub row: InsertRow,
    /// Whether many rows can be inserted at once: nobody sees in which order that happens, see [`Target::inserts_alone`].
    pub is_alone: bool,
}

impl InsertPlan {
    /// Whether it only inserts one row: no other code runs, no BLOB changes hands, nothing is checked behind it.
    fn is_one_change(&self) -> bool {
        let target = &self.row.target;
        let columns = || target.columns.iter().flatten();
        let bound = target.checks.iter().map(|rule| &rule.condition);
        let bound =
            bound.chain(columns().flat_map(|column| [&column.default, &column.domain_check]).flatten());
        let mut values = self.row.assignments.iter().map(|(_, value)| value);
        matches!(self.source, Node::Single)
            && target.stored
            && target.foreign_keys.is_empty()
            && !target.triggers.before_insert
            && !target.triggers.after_insert
            && !columns().any(|column| matches!(column.sql_type, SqlType::Blob { .. } | SqlType::Array))
            && !values.any(Expression::runs_code)
            && !bound.map(|bound| &*bound.expression).any(Expression::runs_code)
    }
}

impl InsertPlan {
    /// Whether an INSERT that is [one change](InsertPlan::is_one_change), and whose values run no query, makes the same row
    /// whichever other rows its other executions have made.
    fn is_repeatable(&self) -> bool {
        let target = &self.row.target;
        let columns = || target.columns.iter().flatten();
        let bound = target.checks.iter().map(|rule| &rule.condition);
        let mut bound =
            bound.chain(columns().flat_map(|column| [&column.default, &column.domain_check]).flatten());
        target.inserts_alone(&self.row) && !bound.any(|bound| bound.frame.subqueries > 0)
    }
}

/// How a new row is made.
#[derive(Debug)]
pub struct InsertRow {
    /// The table.
    pub target: Arc<Target>,
    /// Slot and value, converted to the slot's type.
    pub assignments: Vec<(usize, Expression)>,
    /// Slots to which nothing is assigned: they get their default, their sequence's next value, or NULL.
    pub missing: Vec<usize>,
}

/// What UPDATE and DELETE do whose WHERE CURRENT OF names a row that is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoneRow {
    /// Nothing: a DELETE at the cursor of FOR SELECT ... AS CURSOR.
    Ignored,
    /// `no_cur_rec`: an UPDATE there, or at a cursor that the routine has declared.
    NoCurrentRecord,
    /// `update_conflict`: the cursor is the client's.
    Conflict,
}

impl GoneRow {
    /// What UPDATE does where DELETE does this.
    pub(crate) fn of_update(self) -> GoneRow {
        match self {
            GoneRow::Ignored => GoneRow::NoCurrentRecord,
            other => other,
        }
    }
}

/// UPDATE. Rows of the source are the old row by slot, its row number, and what else the view's other tables give.
/// Assignments look at that row; RETURNING looks at it followed by the new row.
#[derive(Debug)]
pub struct UpdatePlan {
    /// The rows to be changed.
    pub source: Node,
    /// The table.
    pub target: Arc<Target>,
    /// Slot and value, converted to the slot's type.
    pub assignments: Vec<(usize, Expression)>,
    /// Whether it stands on a cursor's row, and what happens when that is gone.
    pub positioned: Option<GoneRow>,
    /// SKIP LOCKED.
    pub skip_locked: bool,
    /// Whether many rows can be changed at once: nobody sees in which order that happens, see [`Target::updates_alone`].
    pub is_alone: bool,
}

/// DELETE. Rows of the source are as in [`UpdatePlan`]; RETURNING looks at them. Of rows that [go alone](DeletePlan::is_alone) only
/// the number is read, and what conditions look at.
#[derive(Debug)]
pub struct DeletePlan {
    /// The rows to be deleted.
    pub source: Node,
    /// The table.
    pub target: Arc<Target>,
    /// Whether it stands on a cursor's row, and what happens when that is gone.
    pub positioned: Option<GoneRow>,
    /// SKIP LOCKED.
    pub skip_locked: bool,
    /// Whether many rows can be deleted at once, whatever is in them: see [`Target::deletes_alone`].
    pub is_alone: bool,
}

/// UPDATE OR INSERT: updates the rows that the source finds, or inserts. RETURNING looks at the old row (NULLs when
/// inserted), the row number, and the new row.
#[derive(Debug)]
pub struct UpdateOrInsertPlan {
    /// Register and value of what is matched: evaluated once, before anything else.
    pub values: Vec<(usize, Expression)>,
    /// The rows that match.
    pub source: Node,
    /// What is assigned to them: only parameters and registers are looked at.
    pub assignments: Vec<(usize, Expression)>,
    /// What is inserted if none matches.
    pub insert: InsertRow,
}

/// MERGE. Rows of the source are the old row by slot (NULLs if there is none), its row number, and the row of USING.
/// Conditions and assignments look at that; RETURNING at it followed by the new row (NULLs if there is none), the row as it
/// is now or was when it was deleted, and a value that is NULL if there is no new row.
#[derive(Debug)]
pub struct MergePlan {
    /// The joined rows.
    pub source: Node,
    /// The table.
    pub target: Arc<Target>,
    /// TRUE exactly where the row of USING is missing, if rows without one can come.
    pub source_missing: Option<Expression>,
    /// The WHEN clauses, in order.
    pub clauses: Vec<MergeClausePlan>,
    /// Whether many rows can be changed at once: nobody sees in which order that happens, see [`Target::merges_alone`].
    pub is_alone: bool,
}

/// WHEN ... THEN.
#[derive(Debug)]
pub struct MergeClausePlan {
    /// For which rows.
    pub rows: farbird_sql::ast::MergeRows,
    /// AND.
    pub condition: Option<Expression>,
    /// What is done.
    pub action: MergeActionPlan,
}

/// What MERGE does with a row.
#[derive(Debug)]
pub enum MergeActionPlan {
    /// UPDATE SET.
    Update(Vec<(usize, Expression)>),
    /// DELETE.
    Delete,
    /// INSERT.
    Insert(InsertRow),
}

/// A table that is changed, with everything that holds for its rows.
#[derive(Debug)]
pub struct Target {
    /// The table.
    pub relation: Arc<Relation>,
    /// What the store knows of it.
    pub layout: Arc<RelationLayout>,
    /// By slot; `None` for the slots of dropped columns.
    pub columns: Vec<Option<TargetColumn>>,
    /// CHECK constraints.
    pub checks: Vec<CheckRule>,
    /// Foreign keys of this table.
    pub foreign_keys: Vec<ForeignKeyRule>,
    /// Foreign keys of other tables (or this one) that point here.
    pub references: Vec<ReferenceRule>,
    /// Names that the store's unique violations need.
    pub unique_names: Vec<UniqueName>,
    /// Which triggers there are.
    pub triggers: TriggerPresence,
    /// Whether it has rows of its own: views whose triggers do all have none.
    pub stored: bool,
    /// What later binding (of cascades) looks at.
    pub environment: Environment,
    /// What defaults, domains and CHECK constraints use when a row is inserted.
    pub insert_accesses: Vec<Access>,
    /// As `insert_accesses`, when a row is updated.
    pub update_accesses: Vec<Access>,
}

impl Target {
    /// Whether to delete a row is that and nothing else: nothing fires, and nothing refers to it.
    pub fn deletes_alone(&self) -> bool {
        self.stored
            && self.relation.kind != RelationKind::System
            && !self.triggers.before_delete
            && !self.triggers.after_delete
            && self.references.is_empty()
    }

    /// Whether these assignments replace a row and do nothing else: nothing fires, no reference changes, no BLOB changes
    /// hands, and it does not matter how often and when values and checks are computed.
    pub fn updates_alone(&self, assignments: &[(usize, Expression)]) -> bool {
        let is_assigned = |slots: &[usize]| assignments.iter().any(|(slot, _)| slots.contains(slot));
        self.stored
            && self.relation.kind != RelationKind::System
            && !self.triggers.before_update
            && !self.triggers.after_update
            && !self.foreign_keys.iter().any(|rule| is_assigned(&rule.slots))
            && !self.references.iter().any(|rule| is_assigned(&rule.slots))
            && !self.has_blobs()
            && self.are_computed_alone(assignments, &[])
    }

    /// Whether to insert such a row is that and nothing else: nothing fires, what it refers to is in other tables, no BLOB changes hands, and
    /// it does not matter how often and when values, defaults and checks are computed.
    pub fn inserts_alone(&self, row: &InsertRow) -> bool {
        let missing = || row.missing.iter().filter_map(|slot| self.columns.get(*slot)?.as_ref());
        self.stored
            && self.relation.kind != RelationKind::System
            && !self.triggers.before_insert
            && !self.triggers.after_insert
            && !self.foreign_keys.iter().any(|rule| rule.parent.id == self.relation.id)
            && !self.has_blobs()
            && !missing().any(|column| column.identity.is_some())
            && self.are_computed_alone(&row.assignments, &row.missing)
    }

    /// Whether the clauses of a MERGE change rows and do nothing else, whichever row comes first. Where rows come and others are
    /// deleted or get other unique keys, the order says which keys are free.
    pub fn merges_alone(&self, clauses: &[MergeClausePlan]) -> bool {
        let is_alone = |clause: &MergeClausePlan| {
            let condition = clause.condition.as_ref();
            !condition.is_some_and(sees_order)
                && match &clause.action {
                    MergeActionPlan::Update(assignments) => self.updates_alone(assignments),
                    MergeActionPlan::Delete => self.deletes_alone(),
                    MergeActionPlan::Insert(row) => self.inserts_alone(row),
                }
        };
        let inserts = clauses.iter().any(|clause| matches!(clause.action, MergeActionPlan::Insert(_)));
        let takes_keys = |clause: &MergeClausePlan| match &clause.action {
            MergeActionPlan::Update(assignments) => {
                assignments.iter().any(|(slot, _)| self.layout.is_of_unique_key(*slot))
            }
            MergeActionPlan::Delete => self.layout.has_unique_keys(),
            MergeActionPlan::Insert(_) => false,
        };
        clauses.iter().all(is_alone) && !(inserts && clauses.iter().any(takes_keys))
    }

    fn has_blobs(&self) -> bool {
        let is_blob = |sql_type: &SqlType| matches!(sql_type, SqlType::Blob { .. } | SqlType::Array);
        self.columns.iter().flatten().any(|column| is_blob(&column.sql_type))
    }

    /// Whether it does not matter how often and when these assignments, the defaults of these slots and all checks are computed.
    fn are_computed_alone(&self, assignments: &[(usize, Expression)], missing: &[usize]) -> bool {
        let columns = || self.columns.iter().flatten();
        let defaults = missing.iter().filter_map(|slot| self.columns.get(*slot)?.as_ref()?.default.as_ref());
        let checks = self.checks.iter().map(|rule| &rule.condition);
        let bound = checks.chain(columns().filter_map(|column| column.domain_check.as_ref())).chain(defaults);
        let mut values = assignments.iter().map(|(_, value)| value);
        !values.any(sees_order) && !bound.map(|bound| &*bound.expression).any(sees_order)
    }
}

/// Whether a value may tell what has been done before it is computed, or how often it is.
fn sees_order(value: &Expression) -> bool {
    value.runs_code() || value.is_volatile()
}

/// Whether a table has triggers of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct TriggerPresence {
    pub before_insert: bool,
    pub after_insert: bool,
    pub before_update: bool,
    pub after_update: bool,
    pub before_delete: bool,
    pub after_delete: bool,
}

/// A column of a table that is changed.
#[derive(Debug)]
pub struct TargetColumn {
    /// Name.
    pub name: String,
    /// Type.
    pub sql_type: SqlType,
    /// NOT NULL, its own or its domain's.
    pub not_null: bool,
    /// What it gets when nothing is assigned, converted.
    pub default: Option<BoundExpression>,
    /// COMPUTED BY: never assigned, never stored.
    pub computed: Option<BoundExpression>,
    /// Its sequence, and whether it is GENERATED ALWAYS.
    pub identity: Option<(SequenceId, i64, bool)>,
    /// The domain's CHECK over its value.
    pub domain_check: Option<BoundExpression>,
}

impl TargetColumn {
    /// Its type with nullability.
    pub fn column_type(&self) -> ColumnType {
        ColumnType { sql_type: self.sql_type, nullable: !self.not_null }
    }
}

/// A CHECK constraint, over the row by slot.
#[derive(Debug)]
pub struct CheckRule {
    /// Its name.
    pub name: String,
    /// The table or view that it is of.
    pub relation: String,
    /// The system triggers by which Firebird's catalog holds it: before INSERT and before UPDATE. Errors name them.
    pub triggers: [String; 2],
    /// The condition: violated only if FALSE.
    pub condition: BoundExpression,
}

/// A foreign key of the table: its values must exist in another.
#[derive(Debug)]
pub struct ForeignKeyRule {
    /// Its name.
    pub name: String,
    /// Slots of the columns.
    pub slots: Vec<usize>,
    /// What the store knows of the other table.
    pub parent_layout: Arc<RelationLayout>,
    /// The other table.
    pub parent: Arc<Relation>,
    /// The other table's index.
    pub parent_index: IndexId,
    /// The types of its columns.
    pub parent_types: Vec<SqlType>,
    /// Whether changes of the table itself, or cascades, may change its columns while a statement runs.
    pub may_cascade: bool,
}

/// A foreign key that points at the table.
#[derive(Debug)]
pub struct ReferenceRule {
    /// Its name.
    pub name: String,
    /// Slots of the referenced columns of this table.
    pub slots: Vec<usize>,
    /// Their names.
    pub columns: Vec<String>,
    /// The referring table.
    pub child: Arc<Relation>,
    /// Its index.
    pub child_index: IndexId,
    /// Slots of its columns.
    pub child_slots: Vec<usize>,
    /// ON UPDATE.
    pub on_update: ReferentialAction,
    /// ON DELETE.
    pub on_delete: ReferentialAction,
    /// The system trigger by which Firebird's catalog holds ON UPDATE, if it does anything: errors name it.
    pub update_trigger: Option<String>,
    /// That of ON DELETE.
    pub delete_trigger: Option<String>,
    /// The referring table with everything that holds for its rows; bound when first needed, since tables may refer to
    /// each other in circles.
    pub child_target: OnceLock<Arc<Target>>,
}

/// Names that a unique violation is reported with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueName {
    /// The index.
    pub index: IndexId,
    /// Its name.
    pub index_name: String,
    /// The constraint that it holds, if any.
    pub constraint: Option<String>,
    /// Names of its columns; empty for an expression.
    pub columns: Vec<String>,
}
