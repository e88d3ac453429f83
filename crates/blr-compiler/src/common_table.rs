//! WITH: each use of a common table is its query anew, as Firebird does. Recursive ones are a union with themselves.

use farbird_blr::code;
use farbird_sql::ast::{Query, QueryBody, Select, TableReference};

use crate::common_tables::Known;
use crate::compiler::Compiler;
use crate::failure::{Made, placed, unsupported};
use crate::piece::Typed;
use crate::scope::{Source, SourceColumn};
use crate::select::{selection, union_of};
use crate::selected::{Selected, Streams};
use crate::table::source_of;
use farbird_blr::Code;

impl Compiler<'_> {
    /// A table of WITH, if there is one of this name.
    pub(crate) fn common_table(&mut self, name: &str, alias: &str) -> Made<Option<Streams>> {
        let Some(place) = self.common_tables.0.iter().rposition(|it| it.table.name.text == name) else {
            return Ok(None);
        };
        let known = placed(self.common_tables.0.get(place))?.clone();
        if let Some(mut rows) = known.rows {
            rows.name = alias.to_owned();
            self.scope()?.sources.push(rows);
            return Ok(Some(Streams::default()));
        }
        let beside = placed(self.scopes.pop())?;
        // Its query sees the common tables before it, and itself if it is recursive.
        let hidden: Vec<Known> = self.common_tables.0.drain(place..).collect();
        let selected = self.apart(|it| match recursive_parts(&known) {
            Some(parts) => it.recursive(&known, parts),
            None => it.query(&known.table.query),
        });
        self.common_tables.0.extend(hidden);
        self.scopes.push(beside);
        let (records, source) = source_of(selected?, alias, &known.table.columns)?;
        self.scope()?.sources.push(source);
        Ok(Some(Streams { sources: vec![records], conditions: Vec::new() }))
    }

    /// The first part, and the part that goes on from the rows that there are.
    fn recursive(&mut self, known: &Known, (first, next): (&QueryBody, &Select)) -> Made<Selected> {
        // The rows made so far have a context of their own, which nobody names.
        let (rows_so_far, context) = (self.context()?, self.context()?);
        let first = match first {
            QueryBody::Select(select) => self.query(&query_of(QueryBody::Select(select.clone()), known))?,
            _ => return unsupported("a recursive query of more than two parts"),
        };
        let rows = |columns: &[SourceColumn]| -> Made<Source> {
            let columns = columns.iter().enumerate().map(|(place, column)| {
                let code = Code::place(context, placed(u16::try_from(place).ok())?);
                let name = known.table.columns.get(place).map_or(&column.name, |it| &it.text);
                let value = Typed { code, sql_type: column.value.sql_type };
                Ok(SourceColumn { name: name.clone(), value })
            });
            let columns = columns.collect::<Made<_>>()?;
            Ok(Source { columns, contexts: vec![context], ..Source::default() })
        };
        let rows = Some(rows(&first.columns)?);
        let mark = self.common_tables.mark();
        self.common_tables.0.push(Known { rows, ..known.clone() });
        let next = self.query(&query_of(QueryBody::Select(Box::new(next.clone())), known));
        self.common_tables.back_to(mark);
        let head = [code::RECURSE, context, rows_so_far];
        let (source, columns) = union_of(&head, context, vec![first, next?])?;
        let mut records = selection(&[source])?;
        records.byte(code::END);
        Ok(Selected { records, columns, contexts: vec![context], table: None })
    }
}

fn query_of(body: QueryBody, known: &Known) -> Query {
    let position = known.table.query.position;
    Query { with: None, body, order_by: Vec::new(), limit: None, position }
}

/// The parts of a query that names itself.
fn recursive_parts(known: &Known) -> Option<(&QueryBody, &Select)> {
    let QueryBody::Union(union) = &known.table.query.body else { return None };
    let QueryBody::Select(next) = &union.right else { return None };
    let names_itself = next.from.iter().any(|it| names(it, &known.table.name.text));
    (known.recursive && union.all && names_itself).then_some((&union.left, &**next))
}

fn names(table: &TableReference, name: &str) -> bool {
    match table {
        TableReference::Named(named) => named.name.package.is_none() && named.name.name.text == name,
        TableReference::Derived(_) => false,
        TableReference::Join(join) => names(&join.left, name) || names(&join.right, name),
    }
}
