//! Opaque columns: those of derived tables, views, computed columns and those that USING has merged, while a query that groups is
//! bound.
//!
//! Such a column stands for an expression, which the query is planned with. Whether a query that groups may show it is
//! decided by the column, though: two columns that happen to be the same constant are two columns, and one that is
//! computed of a grouped column is not grouped by that. So GROUP BY, select list, HAVING and ORDER BY are bound over numbers
//! for these columns, and the expressions take their places when the grouping has been checked.
//!
//! Source: Firebird 5's answers; like it, an expression and the column of a derived table that stands for it are the same.

use farbird_expression::Expression;

/// Numbers of opaque columns begin here: no block has so many slots.
const FIRST: usize = usize::MAX / 2;

/// The opaque columns of a block that were referred to.
#[derive(Debug, Default)]
pub(crate) struct OpaqueColumns {
    columns: Vec<OpaqueColumn>,
}

#[derive(Debug)]
struct OpaqueColumn {
    place: ColumnPlace,
    value: Expression,
    /// The expression that it is the same as, if there is one.
    same: Option<Expression>,
}

/// Where a column stands in the block's namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnPlace {
    /// Table and column.
    Own(usize, usize),
    /// One of those that USING and NATURAL have merged, by the place of the first one.
    Merged(usize, usize),
}

impl OpaqueColumns {
    /// The number for a column, as an expression. `value` computes what it stands for; `same` is what may be written in its
    /// stead: the expression of a derived table's column, COALESCE of those that were merged.
    pub(crate) fn refer(
        &mut self,
        place: ColumnPlace,
        value: Expression,
        same: Option<Expression>,
    ) -> Expression {
        let known = self.columns.iter().position(|column| column.place == place);
        let number = known.unwrap_or_else(|| {
            self.columns.push(OpaqueColumn { place, value, same });
            self.columns.len() - 1
        });
        Expression::Column(FIRST + number)
    }

    /// Puts the expressions in the places of the numbers.
    pub(crate) fn resolve(&self, expression: &mut Expression) {
        if !self.columns.is_empty() {
            self.replace(expression, false);
        }
    }

    /// Whether two expressions mean the same.
    pub(crate) fn are_same(&self, left: &Expression, right: &Expression) -> bool {
        if left == right {
            return true;
        }
        // Two columns are the same only by their numbers.
        if self.is_derived(left) == self.is_derived(right) {
            return false;
        }
        let (mut left, mut right) = (left.clone(), right.clone());
        self.replace(&mut left, true);
        self.replace(&mut right, true);
        left == right
    }

    fn find(&self, expression: &Expression) -> Option<&OpaqueColumn> {
        match expression {
            Expression::Column(number) => self.columns.get(number.checked_sub(FIRST)?),
            _ => None,
        }
    }

    fn is_derived(&self, expression: &Expression) -> bool {
        self.find(expression).is_some_and(|column| column.same.is_some())
    }

    /// Puts what columns stand for in the places of their numbers, or what may be written in their stead.
    fn replace(&self, expression: &mut Expression, as_written: bool) {
        expression.rewrite(&mut |part| {
            let column = self.find(part)?;
            if as_written { column.same.clone() } else { Some(column.value.clone()) }
        });
    }
}
