//! CREATE TABLE, and what CREATE and ALTER TABLE share: a table while it is changed.

use farbird_sql::ast::{
    ColumnConstraintKind, ColumnDefinition, ColumnGeneration, CreateTable, DefineMode, SqlSecurity, Storage,
    TableElement, TemporaryRows,
};
use farbird_store::CodecId;
use farbird_types::Result;

use crate::catalog::privileges::DdlAction;
use crate::catalog::{LayoutCache, ObjectKind, Relation, RelationKind};
use crate::ddl::column::{self, NewColumn};
use crate::ddl::constraint::{self, NewConstraint};
use crate::ddl::editor::Editor;
use crate::ddl::table_edit::TableEdit;
use crate::ddl::{drop, error, external_table, rights};

/// CREATE TABLE, RECREATE TABLE.
pub(super) fn create(editor: &mut Editor<'_, '_>, ast: &CreateTable) -> Result<()> {
    let name = ast.name.as_str();
    if ast.mode == DefineMode::Recreate
        && let Some(existing) = editor.catalog().relations.get(name).filter(|it| !it.is_view())
    {
        drop::drop_table(editor, existing)?;
    }
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Create, name)?;
    check_name_is_free(editor, name)?;
    let kind = match (&ast.external_file, ast.temporary) {
        (Some(file), _) => external_table::kind(file)?,
        (None, None) => RelationKind::Table,
        (None, Some(TemporaryRows::DeleteOnCommit)) => RelationKind::TemporaryTransaction,
        (None, Some(TemporaryRows::PreserveOnCommit)) => RelationKind::TemporarySession,
    };
    if ast.external_file.is_some() && ast.storage.is_some() {
        return Err(error::unsupported("STORAGE of an external table"));
    }
    let relation = new_relation(editor, name, kind, ast.sql_security)?;
    let mut edit = TableEdit::new(relation);
    if let Some(written) = &ast.storage {
        edit.relation.codec = codec_name(written)?;
    }
    let mut computed = Vec::new();
    for element in &ast.elements {
        if let TableElement::Column(definition) = element {
            match &definition.generation {
                ColumnGeneration::Computed(_) => {
                    // Its value may look at columns that come later: its place is kept.
                    computed.push((edit.relation.columns.len(), definition));
                    column::reserve(editor, &mut edit, definition)?;
                }
                _ => column::add(editor, &mut edit, definition, NewColumn::OfNewTable)?,
            }
        }
    }
    for (place, definition) in computed {
        column::complete_computed(editor, &mut edit, place, definition)?;
    }
    for element in &ast.elements {
        match element {
            TableElement::Column(definition) => {
                add_column_constraints(editor, &mut edit, definition)?;
            }
            TableElement::Constraint(constraint) => {
                constraint::add(editor, &mut edit, NewConstraint::of_table(constraint))?;
            }
        }
    }
    edit.finish(editor)?;
    Ok(())
}

/// The constraints written behind a column. A primary key that does not say NOT NULL gets that constraint too, unless
/// the column is an identity one, which needs no saying (observed on Firebird 4).
pub(super) fn add_column_constraints(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    definition: &ColumnDefinition,
) -> Result<()> {
    let column = definition.name.as_str();
    let constraints = &definition.constraints;
    let is_key = constraints.iter().any(|it| matches!(it.kind, ColumnConstraintKind::PrimaryKey(_)));
    let says_not_null = constraints.iter().any(|it| matches!(it.kind, ColumnConstraintKind::NotNull))
        || matches!(definition.generation, ColumnGeneration::Identity(_));
    if is_key && !says_not_null {
        constraint::add_not_null(editor, edit, column, None)?;
    }
    for constraint in constraints {
        constraint::add(editor, edit, NewConstraint::of_column(column, constraint))?;
    }
    Ok(())
}

/// STORAGE: the name of a codec as the catalog keeps it; `None` for DEFAULT.
///
/// # Errors
/// If there is no such codec.
pub(super) fn codec_name(written: &Storage) -> Result<Option<String>> {
    let Storage::Codec(name) = written else { return Ok(None) };
    name.parse::<CodecId>()
        .map(|codec| Some(codec.to_string()))
        .map_err(|error| error::unknown_codec(name, error))
}

/// Tables, views and procedures share their names.
pub(super) fn check_name_is_free(editor: &Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    if catalog.relations.contains_key(name) {
        return Err(error::table_exists(name));
    }
    if catalog.procedures.contains_key(name) {
        return Err(error::procedure_exists(name));
    }
    Ok(())
}

/// A relation without columns.
pub(super) fn new_relation(
    editor: &Editor<'_, '_>,
    name: &str,
    kind: RelationKind,
    sql_security: Option<SqlSecurity>,
) -> Result<Relation> {
    Ok(Relation {
        id: editor.counters().relation_id()?,
        name: name.to_owned(),
        owner: editor.user().to_owned(),
        kind,
        columns: Vec::new(),
        formats: Vec::new(),
        next_field_id: 0,
        indexes: Vec::new(),
        constraints: Vec::new(),
        description: None,
        sql_security_definer: sql_security.map(|security| security == SqlSecurity::Definer),
        view_contexts: Vec::new(),
        source_hidden: false,
        codec: None,
        layout: LayoutCache::default(),
    })
}
