//! RETURNING.

use farbird_sql::ast;
use farbird_types::Result;

use crate::api::ColumnDescription;
use crate::bind::binder::{Binder, Block};
use crate::bind::query::describe_column;
use crate::bind::scope::{NamedTable, NamedValue, Namespace};
use crate::expression::Expression;

/// What RETURNING can see: where the old and the new row begin in the row it looks at.
pub(super) struct Returned {
    /// The columns of a row that begins at 0.
    pub(super) row: NamedTable,
    pub(super) old: Option<usize>,
    pub(super) new: Option<usize>,
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
        // A statement may return no row, which the client sees as a row of NULLs: Firebird describes every column so.
        let mut columns: Vec<_> = items.iter().map(describe_column).collect();
        columns.iter_mut().for_each(|column| column.column_type.nullable = true);
        Ok((items.into_iter().map(|item| item.expression).collect(), columns))
    }
}
