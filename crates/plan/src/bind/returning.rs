//! RETURNING. Of a row that is not there - OLD of an inserted row, NEW of a deleted one - every column is NULL, computed ones
//! too.

use farbird_expression::Expression;
use farbird_session::ColumnDescription;
use farbird_sql::ast;
use farbird_types::Result;

use crate::bind::binder::Binder;
use crate::bind::namespace::{NamedTable, Namespace, RowKey, RowNumber, alias_of};
use crate::bind::query::describe_column;
use crate::bind::scope::unknown;
use crate::bound::column::{ComputedRow, NamedValue, RowSlot};
use crate::bound::query::Block;

/// What RETURNING can see: where the old and the new row begin in the row it looks at.
pub(super) struct Returned {
    /// The columns of a row that begins at 0.
    pub(super) row: NamedTable,
    /// Of what may update a row: elsewhere there are no OLD and NEW.
    pub(super) old: Option<RowSlot>,
    pub(super) new: Option<RowSlot>,
    /// What bare columns are of: the new row, or the deleted one.
    pub(super) current: RowSlot,
    /// Whether bare columns are those of a row that is no more.
    pub(super) is_deleted: bool,
    /// Other tables (of MERGE), over the same row.
    pub(super) others: Vec<NamedTable>,
    /// Where the changed row's number stands, if it is a stored table's.
    pub(super) number: Option<Expression>,
    /// The changed table's number.
    pub(super) relation: u32,
}

impl Binder<'_> {
    /// Binds RETURNING over the row that the statement makes of each row it changes.
    pub(super) fn bind_returning(
        &mut self,
        returning: Option<&ast::Returning>,
        returned: Returned,
    ) -> Result<(Vec<Expression>, Vec<ColumnDescription>)> {
        let Some(returning) = returning else { return Ok((Vec::new(), Vec::new())) };
        // Only PSQL has variables.
        if let Some(target) = returning.into.first().filter(|_| !self.variables.is_psql()) {
            return Err(unknown(target.qualifier.as_ref(), &target.name));
        }
        self.blocks = vec![Block::default()];
        let mut namespace = Namespace::new(0);
        let row = |alias: &str, place: RowSlot, is_new: bool| {
            let number = returned.number.clone().map(|number| place.value(number));
            let row_key = number.map(|number| RowKey {
                relation: returned.relation,
                number: RowNumber::Returned { number, is_new },
            });
            let row_keys = Vec::from_iter(row_key);
            let mut table = NamedTable { name: alias.to_owned(), row_keys, ..returned.row.clone() };
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
        namespace.tables.push(row(&returned.row.name, returned.current, !returned.is_deleted));
        namespace
            .tables
            .extend(returned.others.into_iter().map(|other| NamedTable { row_keys: Vec::new(), ..other }));
        // Errors name the table of USING first, as where they are joined.
        namespace.operands_are_bound(0, 0);
        namespace.join_is_bound(0);
        self.namespaces = vec![namespace];
        // NEW and OLD stand outside: they are found by their qualifier, and never make a bare column ambiguous.
        let mut qualified = Namespace::new(0);
        qualified.tables.extend(returned.old.map(|place| row("OLD", place, false)));
        qualified.tables.extend(returned.new.map(|place| row("NEW", place, true)));
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
