//! RETURNING. Of a row that is not there - OLD of an inserted row, NEW of a deleted one - every column is NULL, computed ones
//! too.

use farbird_sql::ast;
use farbird_types::Result;

use crate::api::ColumnDescription;
use crate::bind::binder::{Binder, Block};
use crate::bind::query::describe_column;
use crate::bind::scope::{ComputedRow, NamedTable, NamedValue, Namespace, RowSlot};
use crate::bind::source::alias_of;
use crate::expression::Expression;

/// What RETURNING can see: where the old and the new row begin in the row it looks at.
pub(super) struct Returned {
    /// The columns of a row that begins at 0.
    pub(super) row: NamedTable,
    pub(super) old: Option<RowSlot>,
    pub(super) new: Option<RowSlot>,
    /// What bare columns are of: the new row, or the deleted one.
    pub(super) current: RowSlot,
    /// Other tables (of MERGE), over the same row.
    pub(super) others: Vec<NamedTable>,
}

impl Binder<'_> {
    /// Binds RETURNING over the row that the statement makes of each row it changes.
    pub(super) fn bind_returning(
        &mut self,
        returning: Option<&ast::Returning>,
        returned: Returned,
    ) -> Result<(Vec<Expression>, Vec<ColumnDescription>)> {
        let Some(returning) = returning else { return Ok((Vec::new(), Vec::new())) };
        self.blocks = vec![Block::default()];
        let mut namespace = Namespace::new(0);
        let row = |alias: &str, place: RowSlot| {
            let mut table = NamedTable { name: alias.to_owned(), ..returned.row.clone() };
            for column in &mut table.columns {
                column.origin.alias = alias_of(alias, &column.origin.relation);
                match &mut column.value {
                    NamedValue::Expression(value) => {
                        value.move_columns(&|field| field + place.offset);
                        *value = place.value(std::mem::replace(value, Expression::NULL));
                    }
                    NamedValue::Computed { row, .. } => *row = ComputedRow::Columns(place),
                    NamedValue::Source(..) => {}
                }
            }
            table
        };
        namespace.tables.push(row(&returned.row.name, returned.current));
        namespace.tables.extend(returned.others);
        self.namespaces = vec![namespace];
        // NEW and OLD stand outside: they are found by their qualifier, and never make a bare column ambiguous.
        let mut qualified = Namespace::new(0);
        qualified.tables.extend(returned.old.map(|place| row("OLD", place)));
        qualified.tables.extend(returned.new.map(|place| row("NEW", place)));
        self.namespaces.insert(0, qualified);
        // `*` is the changed table, whatever else stands there.
        let changed = ast::Name::new(returned.row.name);
        let written = returning.items.iter().map(|item| match item {
            ast::SelectItem::Star(_) => ast::SelectItem::QualifiedStar(changed.clone()),
            other => other.clone(),
        });
        let mut items = self.bind_items(&written.collect::<Vec<_>>())?;
        self.describe_items(&mut items)?;
        // A statement may return no row, which the client sees as a row of NULLs: Firebird describes every column so.
        let mut columns: Vec<_> = items.iter().map(describe_column).collect();
        columns.iter_mut().for_each(|column| column.column_type.nullable = true);
        Ok((items.into_iter().map(|item| item.expression).collect(), columns))
    }
}
