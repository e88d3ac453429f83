//! Collations: CREATE COLLATION as another name for a collation that exists, by its sensitivity.

use std::sync::Arc;

use farbird_sql::ast::{CollationBase, CreateCollation};
use farbird_types::{CharacterSet, Collation, Error, Result, isc};

use crate::catalog::privileges::{self, DdlAction};
use crate::catalog::{CatalogObject, CollationDefinition, ObjectKind};
use crate::ddl::editor::Editor;
use crate::ddl::error;

/// RDB$COLLATION_ATTRIBUTES.
const PAD_SPACE: i16 = 1;
const CASE_INSENSITIVE: i16 = 2;
const ACCENT_INSENSITIVE: i16 = 4;

/// CREATE COLLATION.
pub(super) fn create(editor: &mut Editor<'_, '_>, ast: &CreateCollation) -> Result<()> {
    let name = ast.name.as_str();
    privileges::check_ddl(editor.context, ObjectKind::Collation, DdlAction::Create, name)?;
    let set_name = ast.character_set.as_str();
    let character_set = CharacterSet::by_name(set_name).ok_or_else(|| {
        Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-504).and(isc::CHARSET_NOT_FOUND).with(set_name)
    })?;
    if editor.catalog().collations.contains_key(name) || character_set.collation_by_name(name).is_some() {
        return Err(error::collation_exists(name));
    }
    let (base, base_attributes) = base_of(editor, ast, character_set)?;
    let mut attributes = base_attributes;
    let mut switch = |flag: i16, on: Option<bool>| match on {
        Some(true) => attributes |= flag,
        Some(false) => attributes &= !flag,
        None => {}
    };
    switch(PAD_SPACE, ast.pad_space);
    switch(CASE_INSENSITIVE, ast.case_sensitive.map(|sensitive| !sensitive));
    switch(ACCENT_INSENSITIVE, ast.accent_sensitive.map(|sensitive| !sensitive));
    let order = order_of(character_set, base, attributes)?;
    editor.put(CatalogObject::Collation(Arc::new(CollationDefinition {
        name: name.to_owned(),
        character_set,
        collation: Collation(editor.counters().collation_id()?),
        base: order,
        owner: editor.user().to_owned(),
        attributes,
        specific_attributes: ast.attributes.clone(),
        description: None,
    })))
}

/// The collation it is made from, with its attributes.
fn base_of(
    editor: &Editor<'_, '_>,
    ast: &CreateCollation,
    character_set: CharacterSet,
) -> Result<(Collation, i16)> {
    let name = match &ast.from {
        None => ast.name.as_str(),
        Some(CollationBase::Collation(name)) => name.as_str(),
        Some(CollationBase::External(name)) => name.as_str(),
    };
    if let Some(made) = editor.catalog().collations.get(name).filter(|it| it.character_set == character_set) {
        return Ok((made.base, made.attributes));
    }
    character_set
        .collations()
        .find(|(_, known, _)| known.eq_ignore_ascii_case(name))
        .map(|(collation, _, attributes)| (collation, i16::from(attributes)))
        .ok_or_else(|| Error::new(isc::COLLATION_NOT_FOUND).with(name).with(character_set.name()))
}

/// The collation that orders texts so: the base, or one of its relatives with these attributes.
fn order_of(character_set: CharacterSet, base: Collation, attributes: i16) -> Result<Collation> {
    let of = |wanted: Collation| character_set.collations().find(|(collation, ..)| *collation == wanted);
    if of(base).is_some_and(|(_, _, known)| i16::from(known) == attributes) {
        return Ok(base);
    }
    let base_name = of(base).map_or("", |(_, name, _)| name);
    let family = base_name.split("_CI").next().unwrap_or(base_name);
    character_set
        .collations()
        .find(|(_, name, known)| name.starts_with(family) && i16::from(*known) == attributes)
        .map(|(collation, ..)| collation)
        .ok_or_else(|| Error::new(isc::DYN_INVALID_COLL_ATTR))
}
