//! Views: CREATE, ALTER.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_sql::ast::{
    DefineMode, DefineView, ExpressionKind, Query, QueryBody, Select, SelectItem, TableReference,
};
use farbird_types::{Error, Result, SqlType, isc};

use crate::api::ColumnDescription;
use crate::bind;
use crate::catalog::dependencies::{dependencies, identifiers};
use crate::catalog::privileges::{self, DdlAction};
use crate::catalog::{Catalog, Column, ObjectKind, Relation, RelationKind, ViewContext};
use crate::ddl::column::digits_of;
use crate::ddl::editor::Editor;
use crate::ddl::table::{check_name_is_free, new_relation};
use crate::ddl::{drop, error, rights};

/// CREATE | ALTER | CREATE OR ALTER | RECREATE VIEW.
pub(super) fn define(editor: &mut Editor<'_, '_>, ast: &DefineView) -> Result<()> {
    let name = ast.name.as_str();
    let existing = editor.catalog().relation(name).filter(|relation| relation.is_view()).cloned();
    match (ast.mode, existing) {
        (DefineMode::Alter, None) => Err(Error::new(isc::DYN_VIEW_NOT_FOUND).with(name)),
        (DefineMode::Alter | DefineMode::CreateOrAlter, Some(existing)) => alter(editor, ast, &existing),
        (DefineMode::Recreate, Some(existing)) => {
            drop::drop_view(editor, &existing)?;
            create(editor, ast)
        }
        (DefineMode::Create | DefineMode::CreateOrAlter | DefineMode::Recreate, _) => create(editor, ast),
    }
}

fn create(editor: &mut Editor<'_, '_>, ast: &DefineView) -> Result<()> {
    let name = ast.name.as_str();
    check_name_is_free(editor, name)?;
    rights::check_create_view(editor.context, name)?;
    let mut relation = new_relation(editor, name, kind(ast), None)?;
    complete(editor, ast, &mut relation)?;
    editor.put_relation(relation)?;
    Ok(())
}

/// Replaces a view's query; privileges, triggers and comments stay. Columns that others use must stay too.
fn alter(editor: &mut Editor<'_, '_>, ast: &DefineView, existing: &Arc<Relation>) -> Result<()> {
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Alter, &existing.name)?;
    let kept = Relation::clone(existing);
    let mut relation = Relation { kind: kind(ast), columns: Vec::new(), source_hidden: false, ..kept };
    relation.formats.clear();
    relation.next_field_id = 0;
    check_shows_not_itself(editor, &existing.name, &ast.source.text)?;
    complete(editor, ast, &mut relation)?;
    for column in &mut relation.columns {
        if let Some(old) = existing.column(&column.name) {
            column.description.clone_from(&old.description);
        }
    }
    check_lost_columns(editor, existing, &relation)?;
    editor.put_relation(relation)?;
    Ok(())
}

/// Fails if a view would come to show itself, through others perhaps.
fn check_shows_not_itself(editor: &Editor<'_, '_>, name: &str, source: &str) -> Result<()> {
    let catalog = editor.catalog();
    let mut seen = BTreeSet::new();
    let mut pending: Vec<String> = identifiers(source).into_iter().collect();
    while let Some(current) = pending.pop() {
        if current == name {
            return Err(error::in_use(isc::VIEW_NAME, name, 1));
        }
        if let Some(RelationKind::View { source, .. }) = catalog.relation(&current).map(|it| &it.kind)
            && seen.insert(current)
        {
            pending.extend(identifiers(source));
        }
    }
    Ok(())
}

fn check_lost_columns(editor: &Editor<'_, '_>, before: &Relation, after: &Relation) -> Result<()> {
    let uses = dependencies(&editor.catalog());
    for column in before.columns.iter().filter(|column| after.column(&column.name).is_none()) {
        let users = uses
            .iter()
            .filter(|it| it.used == before.name && it.column.as_deref() == Some(column.name.as_str()))
            .count();
        if users > 0 {
            return Err(error::in_use(isc::FIELD_NAME, &format!("{}.{}", before.name, column.name), users));
        }
    }
    Ok(())
}

fn kind(ast: &DefineView) -> RelationKind {
    RelationKind::View { source: ast.source.text.clone(), check_option: ast.check_option }
}

/// Fills in what follows from the query: columns and tables.
fn complete(editor: &mut Editor<'_, '_>, ast: &DefineView, relation: &mut Relation) -> Result<()> {
    let environment = editor.environment();
    let description = bind::describe_query(&environment, &ast.query.query)?;
    // Its owner must be able to read what it shows; functions and procedures are asked for when it is read.
    let actor = editor.context.actor();
    let is_read = |access: &&bind::Access| access.kind == ObjectKind::Relation && access.owner_of.is_none();
    for access in description.accesses.iter().filter(is_read) {
        privileges::check(&environment.catalog, &actor, None, access)
            .map_err(|_| privileges::refusal("SELECT", "TABLE/VIEW", &access.object, None))?;
    }
    relation.view_contexts = contexts(&environment.catalog, &ast.query.query);
    if ast.check_option {
        check_updatable(&ast.query.query, &relation.view_contexts)?;
    }
    let names = column_names(ast, &description.columns)?;
    let plain = shows_rows_as_they_are(&ast.query.query.body);
    for (name, described) in names.into_iter().zip(&description.columns) {
        if relation.column(&name).is_some() {
            return Err(error::column_exists(&name, &relation.name));
        }
        let column = view_column(editor, &environment.catalog, relation, name, described, plain)?;
        relation.next_field_id = relation.next_field_id.saturating_add(1);
        relation.columns.push(column);
    }
    Ok(())
}

/// The names of the columns: those written, or those that the query gives to columns.
fn column_names(ast: &DefineView, described: &[ColumnDescription]) -> Result<Vec<String>> {
    let command = |code: u32| Error::new(isc::SQLERR).with(-607).and(isc::DSQL_COMMAND_ERR).and(code);
    if !ast.columns.is_empty() {
        if ast.columns.len() != described.len() {
            return Err(command(isc::NUM_FIELD_ERR));
        }
        return Ok(ast.columns.iter().map(|name| name.as_str().to_owned()).collect());
    }
    let unnamed = unnamed_items(&ast.query.query);
    described
        .iter()
        .enumerate()
        .map(|(place, column)| {
            // Labels like ADD or CONSTANT are no names: an expression needs an alias.
            let is_named = !column.field.is_empty() && !column.relation.is_empty()
                || !column.alias.is_empty() && !unnamed.contains(&place);
            if is_named { Ok(column.alias.clone()) } else { Err(command(isc::SPECIFY_FIELD_ERR)) }
        })
        .collect()
}

/// Places of the select list that are expressions without an alias. Stars make the places unknown; they name what
/// they stand for, so nothing after a star is looked at.
fn unnamed_items(query: &Query) -> Vec<usize> {
    let Some(select) = first_select(&query.body) else { return Vec::new() };
    let mut unnamed = Vec::new();
    for (place, item) in select.items.iter().enumerate() {
        match item {
            SelectItem::Star(_) | SelectItem::QualifiedStar(_) => break,
            SelectItem::Expression { value, alias: None }
                if !matches!(value.kind, ExpressionKind::Column { .. }) =>
            {
                unnamed.push(place);
            }
            SelectItem::Expression { .. } => {}
        }
    }
    unnamed
}

/// The SELECT that names a query's columns.
fn first_select(body: &QueryBody) -> Option<&Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        // Unions associate to the left; the parser bounds their height.
        QueryBody::Union(union) => first_select(&union.left),
        QueryBody::Nested(query) => first_select(&query.body),
    }
}

fn view_column(
    editor: &Editor<'_, '_>,
    catalog: &Catalog,
    relation: &Relation,
    name: String,
    described: &ColumnDescription,
    shown_as_it_is: bool,
) -> Result<Column> {
    let base = catalog.relation(&described.relation).and_then(|table| table.column(&described.field));
    // An element of an array is called as the array is, and is another value.
    let base = base
        .filter(|base| base.sql_type != SqlType::Array || described.column_type.sql_type == SqlType::Array);
    let alias = match described.relation_alias.as_str() {
        "" => &described.relation,
        alias => alias,
    };
    let context = relation
        .view_contexts
        .iter()
        .find(|context| context.relation == described.relation && context.alias == *alias)
        .filter(|_| shown_as_it_is);
    let sql_type = described.column_type.sql_type;
    Ok(Column {
        name,
        field_id: relation.next_field_id,
        sql_type,
        precision: base.map_or_else(|| digits_of(&sql_type), |column| column.precision),
        segment_size: base.and_then(|column| column.segment_size),
        array: base.and_then(|column| column.array.clone()),
        domain: match base.filter(|_| context.is_some()) {
            Some(column) => column.domain.clone(),
            None => editor.counters().domain_name()?,
        },
        not_null: false,
        default_source: None,
        computed_source: None,
        identity: None,
        added_default: None,
        view_origin: base.map(|column| (described.relation.clone(), column.name.clone())),
        view_context: base.and(context).map(|context| context.number),
        description: None,
    })
}

/// Whether rows of the tables come through one by one: a column of a group, of a union or beside a window function is computed.
fn shows_rows_as_they_are(body: &QueryBody) -> bool {
    match body {
        QueryBody::Select(select) => {
            let windows = select.items.iter().any(|item| {
                matches!(item, SelectItem::Expression { value, .. } if matches!(value.kind, ExpressionKind::Window(_)))
            });
            select.group_by.is_empty() && select.having.is_none() && !windows
        }
        QueryBody::Union(_) => false,
        QueryBody::Nested(query) => shows_rows_as_they_are(&query.body),
    }
}

/// The tables in FROM, in the order of the text, through all members of a UNION.
fn contexts(catalog: &Catalog, query: &Query) -> Vec<ViewContext> {
    let mut contexts = Vec::new();
    collect_body(catalog, &query.body, &mut contexts);
    contexts
}

fn collect_body(catalog: &Catalog, body: &QueryBody, contexts: &mut Vec<ViewContext>) {
    match body {
        QueryBody::Select(select) => {
            for table in &select.from {
                collect_table(catalog, table, contexts);
            }
        }
        QueryBody::Union(union) => {
            collect_body(catalog, &union.left, contexts);
            collect_body(catalog, &union.right, contexts);
        }
        QueryBody::Nested(query) => collect_body(catalog, &query.body, contexts),
    }
}

fn collect_table(catalog: &Catalog, table: &TableReference, contexts: &mut Vec<ViewContext>) {
    match table {
        TableReference::Named(named) => {
            let relation = named.name.name.as_str();
            let kind = match catalog.relation(relation) {
                Some(found) if found.is_view() => 1,
                Some(_) => 0,
                None if catalog.procedures.contains_key(relation) => 2,
                // A common table of the query's own.
                None => return,
            };
            contexts.push(ViewContext {
                relation: relation.to_owned(),
                number: u16::try_from(contexts.len() + 1).unwrap_or(u16::MAX),
                alias: named.alias.as_ref().map_or(relation, |alias| alias.as_str()).to_owned(),
                kind,
            });
        }
        TableReference::Derived(derived) => collect_body(catalog, &derived.query.body, contexts),
        TableReference::Join(join) => {
            collect_table(catalog, &join.left, contexts);
            collect_table(catalog, &join.right, contexts);
        }
    }
}

/// WITH CHECK OPTION asks for a view of one table's columns with a condition.
fn check_updatable(query: &Query, contexts: &[ViewContext]) -> Result<()> {
    let command = |code: u32| Error::new(isc::SQLERR).with(-607).and(isc::DSQL_COMMAND_ERR).and(code);
    let QueryBody::Select(select) = &query.body else { return Err(command(isc::COL_NAME_ERR)) };
    let is_plain = |item: &SelectItem| match item {
        SelectItem::Star(_) | SelectItem::QualifiedStar(_) => true,
        SelectItem::Expression { value, .. } => matches!(value.kind, ExpressionKind::Column { .. }),
    };
    if !select.items.iter().all(is_plain) || !select.group_by.is_empty() {
        return Err(command(isc::COL_NAME_ERR));
    }
    if contexts.len() != 1 || select.from.len() != 1 {
        return Err(command(isc::TABLE_VIEW_ERR));
    }
    if select.condition.is_none() {
        return Err(command(isc::WHERE_ERR));
    }
    if select.distinct || !select.group_by.is_empty() || select.having.is_some() {
        return Err(command(isc::DISTINCT_ERR));
    }
    Ok(())
}
