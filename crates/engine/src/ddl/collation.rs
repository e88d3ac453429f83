//! Collations: CREATE and DROP COLLATION.

use std::sync::Arc;

use farbird_sql::ast::{CollationBase, CreateCollation};
use farbird_types::collation::{
    self, ACCENT_INSENSITIVE, CASE_INSENSITIVE, CollationRequest, PAD_SPACE, TailoringError,
    builtin_specific_attributes, depends_on_unicode, version,
};
use farbird_types::{CharacterSet, Collation, Error, Result, SqlType, isc};

use crate::catalog::layout::collation_of;
use crate::catalog::privileges::DdlAction;
use crate::catalog::{Catalog, CatalogObject, CollationDefinition, ObjectKind};
use crate::ddl::editor::Editor;
use crate::ddl::{error, rights};

/// What a collation is made from.
struct Base {
    name: String,
    /// RDB$COLLATION_ATTRIBUTES to begin with.
    attributes: u8,
    /// Specific attributes to begin with.
    specific: String,
}

/// CREATE COLLATION.
pub(super) fn create(editor: &mut Editor<'_, '_>, ast: &CreateCollation) -> Result<()> {
    let name = ast.name.as_str();
    rights::check_ddl(editor.context, ObjectKind::Collation, DdlAction::Create, name)?;
    let set_name = ast.character_set.as_str();
    let set = CharacterSet::by_name(set_name).ok_or_else(|| {
        Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-504).and(isc::CHARSET_NOT_FOUND).with(set_name)
    })?;
    let catalog = editor.catalog();
    if catalog.collations.contains_key(name) || Collation::by_name(name).is_some() {
        return Err(error::collation_exists(name));
    }
    let base = base_of(&catalog, ast, set)?;
    let mut attributes = base.attributes;
    let mut switch = |flag: u8, on: Option<bool>| match on {
        Some(true) => attributes |= flag,
        Some(false) => attributes &= !flag,
        None => {}
    };
    switch(PAD_SPACE, ast.pad_space);
    switch(CASE_INSENSITIVE, ast.case_sensitive.map(|sensitive| !sensitive));
    switch(ACCENT_INSENSITIVE, ast.accent_sensitive.map(|sensitive| !sensitive));
    let specific = merged(&base.specific, ast.attributes.as_deref().unwrap_or_default());
    let request = CollationRequest { base: &base.name, attributes, specific: &specific };
    let made =
        Collation::make(set, free_number(&catalog, set)?, &request).map_err(|refused| match refused {
            TailoringError::Attributes => Error::new(isc::DYN_INVALID_COLL_ATTR),
            TailoringError::UnknownBase => {
                Error::new(isc::COLLATION_NOT_INSTALLED).with(base.name.as_str()).with(set.name())
            }
        })?;
    let shown = match depends_on_unicode(set, made) {
        true => merged(&specific, version::SPECIFIC_ATTRIBUTES),
        false => specific,
    };
    editor.put(CatalogObject::Collation(Arc::new(CollationDefinition {
        name: name.to_owned(),
        character_set: set,
        collation: made,
        base_name: Some(base.name),
        former_base: None,
        owner: editor.user().to_owned(),
        attributes: i16::from(attributes),
        specific_attributes: (!shown.is_empty()).then_some(shown),
        description: None,
    })))
}

/// The collation it is made from: of the database, or one that only the server knows, which begins without attributes.
fn base_of(catalog: &Catalog, ast: &CreateCollation, set: CharacterSet) -> Result<Base> {
    let name = match &ast.from {
        None => return Ok(external(ast.name.as_str())),
        Some(CollationBase::Collation(name)) => name.as_str(),
        Some(CollationBase::External(name)) => return Ok(external(name)),
    };
    if let Some(made) = catalog.collations.get(name).filter(|it| it.character_set == set) {
        return Ok(Base {
            name: made.base_name.clone().unwrap_or_default(),
            attributes: u8::try_from(made.attributes).unwrap_or(PAD_SPACE),
            specific: made.specific_attributes.clone().unwrap_or_default(),
        });
    }
    let known = set.collation_by_name(name).ok_or_else(|| {
        Error::new(isc::DSQL_ERROR)
            .and(isc::SQLERR)
            .with(-204)
            .and(isc::COLLATION_NOT_FOUND)
            .with(name)
            .with(set.name())
    })?;
    Ok(Base {
        name: name.to_owned(),
        attributes: collation::attributes(set, known),
        specific: builtin_specific_attributes(name).to_owned(),
    })
}

fn external(name: &str) -> Base {
    Base { name: name.to_owned(), attributes: 0, specific: String::new() }
}

/// Attributes in the order of their names, of each the later value.
fn merged(earlier: &str, later: &str) -> String {
    let mut parts: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    for part in earlier.split(';').chain(later.split(';')).map(str::trim).filter(|part| !part.is_empty()) {
        let name = part.split('=').next().unwrap_or_default();
        parts.insert(name.trim(), part);
    }
    parts.into_values().collect::<Vec<_>>().join(";")
}

/// Firebird counts made collations of a character set down from 126.
fn free_number(catalog: &Catalog, set: CharacterSet) -> Result<u8> {
    const HIGHEST: u8 = 126;
    const LOWEST: u8 = 32;
    let made = catalog.collations.values().filter(|it| it.character_set == set);
    let next = match made.map(|it| it.collation.number()).min() {
        None => HIGHEST,
        Some(lowest) => lowest.saturating_sub(1),
    };
    match next {
        LOWEST.. => Ok(next),
        _ => Err(Error::new(isc::DYN_MAX_COLL_PER_CHARSET)),
    }
}

/// DROP COLLATION.
pub(super) fn drop_collation(editor: &mut Editor<'_, '_>, name: &str) -> Result<()> {
    let catalog = editor.catalog();
    let Some(definition) = catalog.collations.get(name) else {
        return Err(match Collation::by_name(name) {
            Some(_) => Error::new(isc::DYN_CANNOT_DEL_SYSCOLL),
            None => Error::new(isc::DYN_COLLATION_NOT_FOUND).with(name),
        });
    };
    rights::check_ddl(editor.context, ObjectKind::Collation, DdlAction::Drop, name)?;
    let set = definition.character_set.name();
    if catalog.database.default_collations.get(set).is_some_and(|default| default == name) {
        return Err(Error::new(isc::DYN_CANNOT_DEL_DEF_COLL).with(set));
    }
    let uses = |sql_type: &SqlType| {
        let set = match sql_type {
            SqlType::Text(text) => text.character_set,
            SqlType::Blob { character_set, .. } => *character_set,
            _ => return false,
        };
        set == definition.character_set && collation_of(sql_type) == definition.collation
    };
    for relation in catalog.relations.values() {
        if let Some(column) = relation.columns.iter().find(|column| uses(&column.sql_type)) {
            return Err(Error::new(isc::DYN_COLL_USED_TABLE)
                .with(name)
                .with(relation.name.as_str())
                .with(column.name.as_str()));
        }
    }
    if let Some(domain) = catalog.domains.values().find(|domain| uses(&domain.sql_type)) {
        return Err(Error::new(isc::DYN_COLL_USED_DOMAIN).with(name).with(domain.name.as_str()));
    }
    editor.remove(ObjectKind::Collation, name)
}
