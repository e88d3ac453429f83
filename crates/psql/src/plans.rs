//! The plans of a routine's statements: for those who want to see them.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_catalog::Catalog;
use farbird_expression::Expression;
use farbird_plan::bind::Action;
use farbird_plan::{plan_text, plan_text_of_value};
use farbird_sql::ast::Position;
use farbird_types::Result;

use crate::compile::CompiledStatement;
use crate::compiled::compiled_procedure;
use crate::routine::{CompiledRoutine, CursorSource, Instruction, Procedure, RoutineKind};

/// A statement of a routine that reads or changes rows.
#[derive(Debug, Clone)]
pub struct RoutineStatement {
    /// Where it stands; line 0 for a declared cursor, of which that is not known.
    pub position: Position,
    /// What it does.
    pub action: Action,
}

impl CompiledStatement {
    /// The statements of EXECUTE BLOCK, or of the procedure that EXECUTE PROCEDURE calls, in the order of their text. What those
    /// call is not looked at.
    ///
    /// # Errors
    /// Those of compiling the procedure.
    pub fn statements(&self, catalog: &Arc<Catalog>) -> Result<Vec<RoutineStatement>> {
        let called = self.routine.instructions.iter().find_map(|instruction| match instruction {
            Instruction::CallProcedure(call) => match &call.procedure {
                Procedure::Stored(procedure, _) => Some(procedure),
                Procedure::Local(_) => None,
            },
            _ => None,
        });
        match called.filter(|_| self.routine.kind == RoutineKind::Statement) {
            Some(procedure) => Ok(compiled_procedure(catalog, procedure)?.statements()),
            None => Ok(self.routine.statements()),
        }
    }

    /// The procedure that EXECUTE PROCEDURE calls; nothing for EXECUTE BLOCK.
    pub fn procedure(&self) -> Option<&str> {
        let mut calls =
            self.routine.instructions.iter().filter(|_| self.routine.kind == RoutineKind::Statement);
        calls.find_map(|instruction| match instruction {
            Instruction::CallProcedure(call) => match &call.procedure {
                Procedure::Stored(procedure, _) => Some(procedure.name.as_str()),
                Procedure::Local(_) => None,
            },
            _ => None,
        })
    }
}

impl CompiledRoutine {
    fn statements(&self) -> Vec<RoutineStatement> {
        let mut found = Vec::new();
        self.for_each_plan(&mut |position, _, plan| {
            if let Plan::Statement(action) = plan {
                found.push(RoutineStatement { position, action });
            }
        });
        found
    }

    /// Its plans in Firebird 5's short form and in its explained form, each with the place where it stands.
    pub(crate) fn plan_texts(&self) -> (String, String) {
        let (mut short, mut explained) = (Vec::new(), Vec::new());
        self.for_each_plan(&mut |Position { line, column, .. }, _, plan| {
            let (plan, tree) = match plan {
                Plan::Statement(action) => plan_text(&action),
                Plan::Value(value) => plan_text_of_value(value),
            };
            if plan.is_empty() {
                return;
            }
            if line == 0 {
                short.push(plan);
                return explained.push(tree);
            }
            short.push(format!("-- line {line}, column {column}\n{plan}"));
            let (title, rest) = tree.split_once('\n').unwrap_or((&tree, ""));
            explained.push(format!("{title} (line {line}, column {column})\n{rest}"));
        });
        (short.join("\n"), explained.join("\n"))
    }

    /// Calls `visit` with each statement and value in the order of their text; declared cursors come first, with their names.
    pub(crate) fn for_each_plan<'r>(&'r self, visit: &mut dyn FnMut(Position, Option<&'r str>, Plan<'r>)) {
        let loops: BTreeSet<usize> = self
            .instructions
            .iter()
            .filter_map(|instruction| match instruction {
                Instruction::OpenLoop { cursor } => Some(*cursor),
                _ => None,
            })
            .collect();
        let declared = self.cursors.iter().enumerate().filter(|(number, _)| !loops.contains(number));
        for (number, definition) in declared {
            if let Some(action) = self.query_of(number) {
                visit(Position::default(), definition.name.as_deref(), Plan::Statement(action));
            }
        }
        for (number, instruction) in self.instructions.iter().enumerate() {
            let position = self.position(number);
            let plan = match instruction {
                Instruction::OpenLoop { cursor } => self.query_of(*cursor).map(Plan::Statement),
                Instruction::SelectInto { plan, .. } => {
                    Some(Plan::Statement(Action::Select(Arc::clone(plan))))
                }
                Instruction::Modify { plan, .. } => Some(Plan::Statement(Action::Modify(Arc::clone(plan)))),
                Instruction::Assign { value, .. } | Instruction::AssignChecked { value, .. } => {
                    Some(Plan::Value(&value.expression))
                }
                Instruction::JumpUnless { condition, .. } => Some(Plan::Value(&condition.expression)),
                _ => None,
            };
            if let Some(plan) = plan {
                visit(position, None, plan);
            }
        }
    }

    fn query_of(&self, cursor: usize) -> Option<Action> {
        match &self.cursors.get(cursor)?.source {
            CursorSource::Query(plan) => Some(Action::Select(Arc::clone(plan))),
            CursorSource::Dynamic(_) => None,
        }
    }
}

/// What may have plans.
pub(crate) enum Plan<'r> {
    Statement(Action),
    /// A value with queries in it.
    Value(&'r Expression),
}
