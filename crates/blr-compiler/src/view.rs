//! Views: their records, their columns, and what holds those that are written WITH CHECK OPTION.

use farbird_blr::{Code, code};
use farbird_catalog::{Catalog, Column, Relation, RelationKind};
use farbird_sql::ast::{Query, QueryBody, Select, SelectStatement, TableReference};

use crate::compiler::Compiler;
use crate::data_type::cast;
use crate::definition::abort;
use crate::failure::{Made, Unsupported, placed, unsupported};
use crate::piece::{block, joined};
use crate::scope::{Scope, Source, row_of};
use crate::select::simple_selection;
use crate::value::operation;

/// A view's programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct View {
    /// Its records: RDB$VIEW_BLR.
    pub records: Vec<u8>,
    /// Each of its columns as a value over them: RDB$COMPUTED_BLR of those that show no table's column.
    pub columns: Vec<Vec<u8>>,
}

fn query_of(compiler: &Compiler<'_>, view: &Relation) -> Made<SelectStatement> {
    let RelationKind::View { source, .. } = &view.kind else { return unsupported("a table as a view") };
    let parsed = farbird_sql::parse_query(source, &compiler.parse_options());
    parsed.map_err(|error| Unsupported(error.to_string()))
}

/// A view.
pub(crate) fn view(catalog: &Catalog, view: &Relation) -> Made<View> {
    let mut compiler = Compiler::of_view(catalog, &view.view_contexts)?;
    let parsed = query_of(&compiler, view)?;
    let selected = compiler.statement_query(&parsed)?;
    if selected.columns.len() != view.columns.len() {
        return unsupported("a view of other columns");
    }
    let columns = selected.columns.iter().zip(&view.columns).map(|(made, column)| {
        // What a choice gives is of the type that its column has.
        let code = match made.value.code.bytes().first() {
            Some(&(code::VALUE_IF | code::COALESCE | code::DECODE)) => {
                cast(&column.sql_type, &made.value.code).unwrap_or_else(|_| made.value.code.clone())
            }
            _ => made.value.code.clone(),
        };
        code.program()
    });
    Ok(View { records: selected.records.program(), columns: columns.collect() })
}

/// The triggers of WITH CHECK OPTION: before a row is changed, and before one is made.
pub(crate) fn check_option(catalog: &Catalog, view: &Relation) -> Made<[Vec<u8>; 2]> {
    const OLD: u8 = 0;
    const NEW: u8 = 1;
    const BASE: u8 = 2;
    let mut compiler = Compiler::new(catalog, u16::from(BASE) + 1);
    let parsed = query_of(&compiler, view)?;
    let (select, table, alias) = placed(of_one_table(&parsed.query))?;
    let condition = placed(select.condition.as_ref())?;
    let Some(base) = catalog.relation(table).cloned() else { return unsupported("a view of no table") };
    // Columns of the table: as the view's row has them, or what they are where it does not show them.
    let shown = |of_hidden: &dyn Fn(&str) -> Option<Code>| -> Made<Source> {
        let mut row = row_of(&base, BASE, alias)?;
        for column in &mut row.columns {
            let shows = |it: &&Column| {
                it.view_context.is_some() && it.view_origin.as_ref().is_some_and(|it| it.1 == column.name)
            };
            column.value.code = placed(match view.columns.iter().find(shows) {
                Some(shown) => Code::field(NEW, &shown.name),
                None => of_hidden(&column.name),
            })?;
        }
        Ok(row)
    };
    let mut holds = |row: Source| -> Made<Code> {
        Ok(compiler.inside(Scope::of(vec![row]), |it| it.condition(condition))?.0)
    };
    let updated = holds(shown(&|name| Code::field(BASE, name))?)?;
    let inserted = holds(shown(&|_| Some(Code::of(&[code::NULL])))?)?;
    let row = row_of(&base, BASE, alias)?;
    let held = holds(row)?;
    let mut wanted = vec![held];
    for column in view.columns.iter().filter(|it| it.view_context.is_some()) {
        let origin = placed(column.view_origin.as_ref())?;
        let old = placed(Code::field(OLD, &column.name))?;
        let own = placed(Code::field(BASE, &origin.1))?;
        wanted.push(operation(&[code::EQUIVALENT], &[&old, &own]));
    }
    let mut relation = Code::of(&[code::RELATION]);
    placed(relation.name(&base.name))?.byte(BASE);
    let records = simple_selection(&[relation], Some(joined(code::AND, &wanted)))?;
    let choice =
        |holds: &Code| -> Made<Code> { Ok(operation(&[code::IF], &[holds, &block(&[]), &abort()?])) };
    let mut update = Code::of(&[code::FOR]);
    update.piece(&records).piece(&choice(&updated)?);
    Ok([block(&[update]).program(), block(&[choice(&inserted)?]).program()])
}

/// The table of a query of one, with the name that its columns are found behind.
fn of_one_table(query: &Query) -> Option<(&Select, &str, &str)> {
    let QueryBody::Select(select) = &query.body else { return None };
    let [TableReference::Named(named)] = select.from.as_slice() else { return None };
    let name = named.name.name.as_str();
    Some((select, name, named.alias.as_ref().map_or(name, |it| it.as_str())))
}
