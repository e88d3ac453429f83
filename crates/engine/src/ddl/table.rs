//! CREATE TABLE, and what CREATE and ALTER TABLE share: a table while it is changed.

use std::sync::Arc;

use farbird_sql::ast::{
    ColumnConstraintKind, ColumnDefinition, ColumnGeneration, CreateTable, DefineMode, SqlSecurity, Storage,
    TableElement,
};
use farbird_store::{CodecId, LockLevel};
use farbird_types::Result;

use crate::catalog::layout::can_be_maintained;
use crate::catalog::privileges::DdlAction;
use crate::catalog::{
    CatalogObject, Column, Format, Index, LayoutCache, ObjectKind, Relation, RelationKind, Sequence,
};
use crate::ddl::column::{self, NewColumn};
use crate::ddl::constraint::{self, NewConstraint};
use crate::ddl::editor::Editor;
use crate::ddl::rights;
use crate::ddl::{drop, error, reference};

/// A table while it is created or altered: nothing is stored before [`TableEdit::finish`].
pub(super) struct TableEdit {
    /// The table as it shall be.
    pub(super) relation: Relation,
    /// The table as it was; none for a new one.
    pub(super) before: Option<Arc<Relation>>,
    /// Sequences of new identity columns.
    pub(super) sequences: Vec<Sequence>,
    /// Sequences of identity columns that are no more.
    pub(super) dropped_sequences: Vec<String>,
    /// Names of indexes whose entries have to be made.
    pub(super) new_indexes: Vec<String>,
    /// Indexes that are no more.
    pub(super) dropped_indexes: Vec<Index>,
    /// Names of foreign keys that rows have to be checked against.
    pub(super) new_foreign_keys: Vec<String>,
    /// Columns that must not hold NULLs from now on.
    pub(super) made_not_null: Vec<String>,
}

impl TableEdit {
    /// A new table.
    pub(super) fn new(relation: Relation) -> TableEdit {
        TableEdit {
            relation,
            before: None,
            sequences: Vec::new(),
            dropped_sequences: Vec::new(),
            new_indexes: Vec::new(),
            dropped_indexes: Vec::new(),
            new_foreign_keys: Vec::new(),
            made_not_null: Vec::new(),
        }
    }

    /// A change of a table.
    pub(super) fn of(relation: &Arc<Relation>) -> TableEdit {
        TableEdit { before: Some(Arc::clone(relation)), ..TableEdit::new(Relation::clone(relation)) }
    }

    /// A column to be changed.
    ///
    /// # Errors
    /// If there is none.
    pub(super) fn column_mut(&mut self, name: &str) -> Result<&mut Column> {
        let Relation { name: table, columns, .. } = &mut self.relation;
        columns
            .iter_mut()
            .find(|column| column.name == name)
            .ok_or_else(|| error::column_not_found(name, table))
    }

    /// The table as it is so far, for binding expressions over its rows.
    pub(super) fn so_far(&self) -> Arc<Relation> {
        let mut relation = self.relation.clone();
        bring_format_up_to_date(&mut relation);
        Arc::new(relation)
    }

    /// Stores the table; then looks at its rows, if there can be any: makes new indexes, checks new constraints.
    pub(super) fn finish(mut self, editor: &mut Editor<'_, '_>) -> Result<Arc<Relation>> {
        bring_format_up_to_date(&mut self.relation);
        // A computed column that an index looks at may have got another definition.
        let computes = |index: &&Index| index.expression_source.is_some() || index.condition_source.is_some();
        let mut computed = self.relation.indexes.iter().filter(computes).filter(|index| !index.inactive);
        if computed.any(|index| !can_be_maintained(&self.relation, index)) {
            return Err(error::index_of_more_than_the_row());
        }
        for sequence in std::mem::take(&mut self.sequences) {
            editor.put(CatalogObject::Sequence(Arc::new(sequence)))?;
        }
        for sequence in &self.dropped_sequences {
            editor.remove(ObjectKind::Sequence, sequence)?;
        }
        let exists = self.before.is_some();
        let looks_at_rows = !self.new_indexes.is_empty()
            || !self.new_foreign_keys.is_empty()
            || !self.made_not_null.is_empty()
            || !self.dropped_indexes.is_empty();
        if exists && looks_at_rows {
            editor.lock(&self.relation, LockLevel::ProtectedWrite)?;
        }
        let relation = editor.put_relation(self.relation)?;
        for index in &self.dropped_indexes {
            editor.drop_index(index)?;
        }
        if exists {
            constraint::check_no_nulls(editor, &relation, &self.made_not_null)?;
            for name in &self.new_indexes {
                if let Some(index) = relation.index(name).filter(|index| !index.inactive) {
                    editor.build_index(&relation, index)?;
                }
            }
            for name in &self.new_foreign_keys {
                reference::check_rows(editor, &relation, name)?;
            }
        }
        Ok(relation)
    }
}

/// Adds a record format if the columns' types are not those of the current one.
fn bring_format_up_to_date(relation: &mut Relation) {
    let mut fields = vec![None; usize::from(relation.next_field_id)];
    for column in &relation.columns {
        if let Some(field) = fields.get_mut(usize::from(column.field_id)) {
            *field = Some(column.sql_type);
        }
    }
    let format = Format { fields };
    if relation.formats.last() != Some(&format) {
        relation.formats.push(format);
    }
}

/// CREATE TABLE, RECREATE TABLE.
pub(super) fn create(editor: &mut Editor<'_, '_>, ast: &CreateTable) -> Result<()> {
    let name = ast.name.as_str();
    if ast.external_file.is_some() {
        return Err(error::unsupported("an external table"));
    }
    if ast.temporary.is_some() {
        // Its rows would have to be each attachment's own: rather none than ones that others see.
        return Err(error::unsupported("a global temporary table"));
    }
    if ast.mode == DefineMode::Recreate
        && let Some(existing) = editor.catalog().relations.get(name).filter(|it| !it.is_view())
    {
        drop::drop_table(editor, existing)?;
    }
    rights::check_ddl(editor.context, ObjectKind::Relation, DdlAction::Create, name)?;
    check_name_is_free(editor, name)?;
    let relation = new_relation(editor, name, RelationKind::Table, ast.sql_security)?;
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
        codec: None,
        layout: LayoutCache::default(),
    })
}
