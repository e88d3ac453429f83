//! Walking and rewriting expressions.

use crate::tree::{Expression, Subquery, SubqueryKind};

impl Expression {
    /// Calls `visit` with each direct operand. Of a subquery these are the values it takes from the enclosing row: its
    /// inside is a world of its own.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match self {
            Expression::Constant(_)
            | Expression::Column(_)
            | Expression::Register(_)
            | Expression::Parameter(_)
            | Expression::Context(_)
            | Expression::ErrorContext(_)
            | Expression::Aggregate(_)
            | Expression::Window(_) => {}
            Expression::Cast { operand, .. }
            | Expression::Constrained { operand, .. }
            | Expression::Negate(operand)
            | Expression::IsNull(operand)
            | Expression::IsTruth { operand, .. }
            | Expression::Not(operand)
            | Expression::Sequence { step: operand, .. }
            | Expression::DbKey { row: operand, .. }
            | Expression::RecordVersion { row: operand, .. } => visit(operand),
            Expression::Arithmetic { left, right, .. }
            | Expression::Concatenate { left, right, .. }
            | Expression::Comparison { left, right, .. }
            | Expression::Distinct { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expression::Between { operand, low, high, .. } => {
                visit(operand);
                visit(low);
                visit(high);
            }
            Expression::InList { operand, list, .. } => {
                visit(operand);
                list.iter().for_each(visit);
            }
            Expression::Pattern(pattern) | Expression::SubstringSimilar { pattern, .. } => {
                visit(&pattern.operand);
                visit(&pattern.pattern);
                pattern.escape.iter().for_each(visit);
            }
            Expression::And(parts) | Expression::Or(parts) | Expression::Coalesce(parts) => {
                parts.iter().for_each(visit);
            }
            Expression::Case { branches, otherwise } => {
                branches.iter().for_each(|(when, then)| {
                    visit(when);
                    visit(then);
                });
                visit(otherwise);
            }
            Expression::SimpleCase { operand, branches, otherwise, .. } => {
                visit(operand);
                branches.iter().for_each(|(when, then)| {
                    visit(when);
                    visit(then);
                });
                visit(otherwise);
            }
            Expression::Function { arguments, .. }
            | Expression::Routine { arguments, .. }
            | Expression::LocalRoutine { arguments, .. } => arguments.iter().for_each(visit),
            Expression::AtTimeZone { operand, zone } => {
                visit(operand);
                zone.iter().for_each(|zone| visit(zone));
            }
            Expression::Subquery(subquery) => {
                if let SubqueryKind::Quantified { operand, .. } = &subquery.kind {
                    visit(operand);
                }
                subquery.captures.iter().for_each(|(_, value)| visit(value));
            }
        }
    }

    /// As [`Expression::for_each_child`], to change them.
    pub fn for_each_child_mut(&mut self, visit: &mut dyn FnMut(&mut Expression)) {
        match self {
            Expression::Constant(_)
            | Expression::Column(_)
            | Expression::Register(_)
            | Expression::Parameter(_)
            | Expression::Context(_)
            | Expression::ErrorContext(_)
            | Expression::Aggregate(_)
            | Expression::Window(_) => {}
            Expression::Cast { operand, .. }
            | Expression::Constrained { operand, .. }
            | Expression::Negate(operand)
            | Expression::IsNull(operand)
            | Expression::IsTruth { operand, .. }
            | Expression::Not(operand)
            | Expression::Sequence { step: operand, .. }
            | Expression::DbKey { row: operand, .. }
            | Expression::RecordVersion { row: operand, .. } => visit(operand),
            Expression::Arithmetic { left, right, .. }
            | Expression::Concatenate { left, right, .. }
            | Expression::Comparison { left, right, .. }
            | Expression::Distinct { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Expression::Between { operand, low, high, .. } => {
                visit(operand);
                visit(low);
                visit(high);
            }
            Expression::InList { operand, list, .. } => {
                visit(operand);
                list.iter_mut().for_each(visit);
            }
            Expression::Pattern(pattern) | Expression::SubstringSimilar { pattern, .. } => {
                visit(&mut pattern.operand);
                visit(&mut pattern.pattern);
                pattern.escape.iter_mut().for_each(visit);
            }
            Expression::And(parts) | Expression::Or(parts) | Expression::Coalesce(parts) => {
                parts.iter_mut().for_each(visit);
            }
            Expression::Case { branches, otherwise } => {
                branches.iter_mut().for_each(|(when, then)| {
                    visit(when);
                    visit(then);
                });
                visit(otherwise);
            }
            Expression::SimpleCase { operand, branches, otherwise, .. } => {
                visit(operand);
                branches.iter_mut().for_each(|(when, then)| {
                    visit(when);
                    visit(then);
                });
                visit(otherwise);
            }
            Expression::Function { arguments, .. }
            | Expression::Routine { arguments, .. }
            | Expression::LocalRoutine { arguments, .. } => arguments.iter_mut().for_each(visit),
            Expression::AtTimeZone { operand, zone } => {
                visit(operand);
                zone.iter_mut().for_each(|zone| visit(zone));
            }
            Expression::Subquery(subquery) => {
                let Subquery { kind, captures, .. } = subquery.as_mut();
                if let SubqueryKind::Quantified { operand, .. } = kind {
                    visit(operand);
                }
                captures.iter_mut().for_each(|(_, value)| visit(value));
            }
        }
    }

    /// Whether `test` holds for this expression or any below it.
    pub fn any(&self, test: &dyn Fn(&Expression) -> bool) -> bool {
        if test(self) {
            return true;
        }
        let mut found = false;
        self.for_each_child(&mut |child| found = found || child.any(test));
        found
    }

    /// Calls `visit` with the position of each column it looks at.
    pub fn for_each_column(&self, visit: &mut dyn FnMut(usize)) {
        if let Expression::Column(position) = self {
            visit(*position);
        }
        self.for_each_child(&mut |child| child.for_each_column(visit));
    }

    /// Gives each column another position.
    pub fn move_columns(&mut self, position_of: &dyn Fn(usize) -> usize) {
        if let Expression::Column(position) = self {
            *position = position_of(*position);
        }
        self.for_each_child_mut(&mut |child| child.move_columns(position_of));
    }

    /// Replaces this expression or parts of it, from the outside in: `replace` gives what to put in place of a part.
    pub fn rewrite(&mut self, replace: &mut dyn FnMut(&Expression) -> Option<Expression>) {
        match replace(self) {
            Some(replacement) => *self = replacement,
            None => self.for_each_child_mut(&mut |child| child.rewrite(replace)),
        }
    }

    /// Whether it looks at no row: its value is the same for all rows of one opening of the plan.
    pub fn is_row_independent(&self) -> bool {
        !self.any(&|part| {
            matches!(part, Expression::Column(_) | Expression::Aggregate(_) | Expression::Window(_))
        })
    }

    /// Whether it is NULL for sure where all columns that it looks at are NULL.
    pub fn is_null_without_row(&self) -> bool {
        match self {
            Expression::Column(_) => true,
            Expression::Constant(value) => value.is_null(),
            Expression::Cast { operand, .. } | Expression::Negate(operand) => operand.is_null_without_row(),
            Expression::Arithmetic { left, right, .. }
            | Expression::Concatenate { left, right, .. }
            | Expression::Comparison { left, right, .. } => {
                left.is_null_without_row() || right.is_null_without_row()
            }
            _ => false,
        }
    }

    /// The value, but NULL where the column at `presence` is: where there is no row that it would be of.
    pub fn null_without(self, presence: Option<usize>) -> Expression {
        match presence {
            Some(presence) if !self.is_null_without_row() => {
                let missing = Expression::IsNull(Box::new(Expression::Column(presence)));
                Expression::Case { branches: vec![(missing, Expression::NULL)], otherwise: Box::new(self) }
            }
            _ => self,
        }
    }

    /// Whether routines may run for it, which may do anything.
    pub fn runs_code(&self) -> bool {
        self.any(&|part| {
            matches!(
                part,
                Expression::Routine { .. } | Expression::LocalRoutine { .. } | Expression::Subquery(_)
            )
        })
    }

    /// Whether each evaluation may give something else or change something: such expressions are neither moved, nor
    /// merged, nor evaluated ahead.
    pub fn is_volatile(&self) -> bool {
        self.any(&|part| match part {
            Expression::Sequence { .. } | Expression::LocalRoutine { .. } => true,
            Expression::Function { function, .. } => !function.0.deterministic,
            Expression::Routine { routine, .. } => !routine.deterministic,
            Expression::Subquery(subquery) => !subquery.invariant && subquery.captures.is_empty(),
            _ => false,
        })
    }
}
