//! Columns of tables: new ones, and what their type and default may be.

use std::collections::BTreeSet;
use std::sync::Arc;

use farbird_sql::ast::{
    ColumnConstraintKind, ColumnDefinition, ColumnGeneration, DefaultValue, Identity as IdentityClause,
};
use farbird_types::{CastContext, CharacterSet, ExactSubtype, Result, SqlType, Value, convert};

use crate::bind;
use crate::catalog::dependencies::identifiers;
use crate::catalog::{Column, DeclaredType, Identity, Relation, Sequence, declared_type};
use crate::ddl::editor::Editor;
use crate::ddl::error;
use crate::ddl::table_edit::TableEdit;

/// When a column is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NewColumn {
    /// With its table: there are no rows yet.
    OfNewTable,
    /// Later: rows that exist have to get a value.
    OfExistingTable,
}

/// Adds a column that is not computed.
pub(super) fn add(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    definition: &ColumnDefinition,
    when: NewColumn,
) -> Result<()> {
    let name = definition.name.as_str();
    let table = edit.relation.name.clone();
    let Some(data_type) = &definition.data_type else {
        return Err(error::unsupported("a column without a type"));
    };
    let declared = declared_type(&editor.catalog(), data_type, definition.collation.as_ref())
        .map_err(|failure| with_column(failure, name))?;
    let mut column = new_column(editor, edit, name, &declared)?;
    column.not_null = definition.constraints.iter().any(|constraint| {
        matches!(constraint.kind, ColumnConstraintKind::NotNull | ColumnConstraintKind::PrimaryKey(_))
    });
    match &definition.generation {
        ColumnGeneration::Stored { default } => {
            if let Some(default) = default {
                column.default_source = Some(check_default(editor, default, &column.sql_type)?);
            }
            let not_null = column.not_null || declared.not_null;
            if not_null {
                // Computed for a new table too: Firebird refuses one whose default cannot be a value of its type.
                let default = added_default(editor, default.as_ref(), &declared)?;
                if when == NewColumn::OfExistingTable {
                    if default.is_none() {
                        edit.made_not_null.push(name.to_owned());
                    }
                    column.added_default = default;
                }
            }
        }
        ColumnGeneration::Identity(identity) => {
            check_identity_type(&declared.sql_type, name, &table)?;
            let sequence = identity_sequence(editor, identity, name, &table)?;
            column.identity = Some(Identity { always: identity.always, sequence: sequence.name.clone() });
            column.not_null = true;
            edit.sequences.push(sequence);
            if when == NewColumn::OfExistingTable {
                edit.made_not_null.push(name.to_owned());
            }
        }
        ColumnGeneration::Computed(_) => {}
    }
    push(edit, column)
}

/// Keeps the place of a computed column whose value cannot be looked at yet.
pub(super) fn reserve(
    editor: &Editor<'_, '_>,
    edit: &mut TableEdit,
    definition: &ColumnDefinition,
) -> Result<()> {
    let unknown = DeclaredType::plain(SqlType::Null);
    let column = new_column(editor, edit, definition.name.as_str(), &unknown)?;
    push(edit, column)
}

/// Gives a computed column its value, and its type: the declared one, or its value's.
pub(super) fn complete_computed(
    editor: &mut Editor<'_, '_>,
    edit: &mut TableEdit,
    place: usize,
    definition: &ColumnDefinition,
) -> Result<()> {
    let ColumnGeneration::Computed(computed) = &definition.generation else { return Ok(()) };
    let declared = match &definition.data_type {
        Some(data_type) => Some(declared_type(&editor.catalog(), data_type, definition.collation.as_ref())?),
        None => None,
    };
    let sql_type = computed_type(editor, edit, definition.name.as_str(), computed, declared.as_ref())?;
    if let Some(column) = edit.relation.columns.get_mut(place) {
        column.sql_type = sql_type;
        column.precision = declared.as_ref().map_or_else(|| digits_of(&sql_type), |it| it.precision);
        column.array = declared.as_ref().and_then(|it| it.array.clone());
        column.segment_size = declared.and_then(|it| it.segment_size);
        column.computed_source = Some(computed.source.text.clone());
    }
    Ok(())
}

/// The type of a computed column.
pub(super) fn computed_type(
    editor: &Editor<'_, '_>,
    edit: &TableEdit,
    name: &str,
    computed: &farbird_sql::ast::Computed,
    declared: Option<&DeclaredType>,
) -> Result<SqlType> {
    let target = declared.map(|declared| declared.sql_type);
    let mut relation = Relation::clone(&edit.so_far());
    hide_dependents(&mut relation, name);
    let relation = Arc::new(relation);
    let bound =
        bind::bind_row_expression(&editor.environment(), &relation, &computed.value, target.as_ref())?;
    Ok(target.unwrap_or(bound.column_type.sql_type))
}

/// Takes out of a table what a computed column must not look at: itself, columns that are not known yet, and computed
/// columns that look at it, through others perhaps.
fn hide_dependents(relation: &mut Relation, name: &str) {
    let mut hidden = BTreeSet::from([name.to_owned()]);
    loop {
        let looks_at_hidden = |column: &Column| {
            let source = column.computed_source.as_deref().unwrap_or("");
            column.sql_type == SqlType::Null || !identifiers(source).is_disjoint(&hidden)
        };
        let more: Vec<String> = relation
            .columns
            .iter()
            .filter(|column| !hidden.contains(&column.name) && looks_at_hidden(column))
            .map(|column| column.name.clone())
            .collect();
        if more.is_empty() {
            break;
        }
        hidden.extend(more);
    }
    relation.columns.retain(|column| !hidden.contains(&column.name));
}

/// The digits that RDB$FIELD_PRECISION shows for a type that was found, not declared.
pub(super) fn digits_of(sql_type: &SqlType) -> Option<u8> {
    use farbird_types::ExactWidth;
    match sql_type {
        SqlType::Exact { subtype: ExactSubtype::Integer, .. } => None,
        SqlType::Exact { width, .. } => Some(match width {
            ExactWidth::Short => 4,
            ExactWidth::Long => 9,
            ExactWidth::Int64 => 18,
            ExactWidth::Int128 => 38,
        }),
        _ => None,
    }
}

fn push(edit: &mut TableEdit, column: Column) -> Result<()> {
    if edit.relation.column(&column.name).is_some() {
        return Err(error::column_exists(&column.name, &edit.relation.name));
    }
    edit.relation.next_field_id = edit
        .relation
        .next_field_id
        .checked_add(1)
        .ok_or_else(|| error::unsupported("a table of more than 65535 columns, dropped ones counted"))?;
    edit.relation.columns.push(column);
    Ok(())
}

fn new_column(
    editor: &Editor<'_, '_>,
    edit: &TableEdit,
    name: &str,
    declared: &DeclaredType,
) -> Result<Column> {
    Ok(Column {
        name: name.to_owned(),
        field_id: edit.relation.next_field_id,
        sql_type: declared.sql_type,
        precision: declared.precision,
        segment_size: declared.segment_size,
        array: declared.array.clone(),
        domain: match &declared.domain {
            Some(domain) => domain.name.clone(),
            None => editor.counters().domain_name()?,
        },
        not_null: false,
        default_source: None,
        computed_source: None,
        identity: None,
        added_default: None,
        view_origin: None,
        view_context: None,
        description: None,
    })
}

/// Checks that a default can be a value of the type; gives its source.
pub(super) fn check_default(
    editor: &Editor<'_, '_>,
    default: &DefaultValue,
    sql_type: &SqlType,
) -> Result<String> {
    bind::bind_expression(&editor.environment(), &default.value, &bind::NoVariables, Some(sql_type))?;
    Ok(default.source.text.trim().to_owned())
}

/// What rows that exist show in a new column that must not be NULL: the default, as of now.
fn added_default(
    editor: &mut Editor<'_, '_>,
    default: Option<&DefaultValue>,
    declared: &DeclaredType,
) -> Result<Option<String>> {
    let value = match (default, &declared.domain) {
        (Some(default), _) => editor.evaluate(&default.value, &declared.sql_type)?,
        (None, Some(domain)) => {
            let Some(source) = &domain.default_source else { return Ok(None) };
            let default = farbird_sql::parse_default(source, &editor.parse_options())?;
            editor.evaluate(&default.value, &declared.sql_type)?
        }
        (None, None) => return Ok(None),
    };
    value_text(editor, &value)
}

/// A value as a text that casts back to it; none for NULL.
fn value_text(editor: &Editor<'_, '_>, value: &Value) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let context: &CastContext = &editor.context.cast;
    let text = convert::cast(value, &SqlType::varchar(TEXT_CHARS_MAX, CharacterSet::UTF8), context)?;
    match text {
        Value::Text(text) => Ok(Some(text.decode()?.into_owned())),
        _ => Ok(None),
    }
}

/// The longest default of an added column, in characters: the longest VARCHAR of UTF8.
const TEXT_CHARS_MAX: u32 = 8191;

pub(super) fn check_identity_type(sql_type: &SqlType, column: &str, table: &str) -> Result<()> {
    match sql_type {
        SqlType::Exact { scale: 0, .. } => Ok(()),
        _ => Err(error::identity_type(column, table)),
    }
}

/// The sequence behind a new identity column.
fn identity_sequence(
    editor: &Editor<'_, '_>,
    identity: &IdentityClause,
    column: &str,
    table: &str,
) -> Result<Sequence> {
    let increment = identity.increment.unwrap_or(1);
    if increment == 0 {
        return Err(error::identity_zero_increment(column, table));
    }
    let sequence = Sequence {
        id: editor.counters().sequence_id()?,
        name: editor.counters().identity_sequence_name()?,
        owner: editor.user().to_owned(),
        initial_value: identity.start.unwrap_or(1),
        increment,
        system: true,
        description: None,
    };
    crate::ddl::sequence::set_next_value(editor, &sequence, sequence.initial_value)?;
    Ok(sequence)
}

/// Firebird says for which column a type is too large.
fn with_column(failure: farbird_types::Error, column: &str) -> farbird_types::Error {
    use farbird_types::isc;
    if failure.has(isc::IMP_EXC) { failure.and(isc::FIELD_NAME).with(column) } else { failure }
}
