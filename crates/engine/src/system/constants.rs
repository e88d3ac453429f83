//! Rows that are the same in every database: character sets, collations, types, keywords, time zones.

use std::sync::Arc;

use farbird_types::collation::{builtin_specific_attributes, depends_on_unicode, version};
use farbird_types::{CharacterSet, Collation, ZoneId};

use crate::catalog::system_tables::table;
use crate::system::row_set::RowSet;

const OWNER: &str = "SYSDBA";

pub(super) fn character_sets(rows: &mut RowSet<'_, '_, '_>) {
    let database = Arc::clone(&rows.catalog.database);
    for character_set in CharacterSet::all() {
        let own = character_set.collation_name(Collation::default()).unwrap_or(character_set.name());
        let altered = database.default_collations.get(character_set.name());
        let default = altered.map_or(own, String::as_str);
        rows.row()
            .text("RDB$CHARACTER_SET_NAME", character_set.name())
            .text("RDB$DEFAULT_COLLATE_NAME", default)
            .number("RDB$CHARACTER_SET_ID", character_set.0)
            .number("RDB$SYSTEM_FLAG", 1)
            .number("RDB$BYTES_PER_CHARACTER", character_set.bytes_per_character())
            .text("RDB$OWNER_NAME", OWNER);
    }
}

pub(super) fn collations(rows: &mut RowSet<'_, '_, '_>) {
    for character_set in CharacterSet::all() {
        for (collation, name, attributes) in character_set.collations() {
            rows.row()
                .text("RDB$COLLATION_NAME", name)
                .number("RDB$COLLATION_ID", collation.number())
                .number("RDB$CHARACTER_SET_ID", character_set.0)
                .number("RDB$COLLATION_ATTRIBUTES", attributes)
                .number("RDB$SYSTEM_FLAG", 1)
                .text("RDB$OWNER_NAME", OWNER);
            let specific = match depends_on_unicode(character_set, collation) {
                true => version::SPECIFIC_ATTRIBUTES,
                false => builtin_specific_attributes(name),
            };
            if !specific.is_empty() {
                rows.blob("RDB$SPECIFIC_ATTRIBUTES", Some(specific));
            }
            if let Some(base) = name.strip_suffix("_AI").unwrap_or(name).strip_suffix("_CI")
                && character_set.collation_by_name(base).is_some()
            {
                rows.text("RDB$BASE_COLLATION_NAME", base);
            }
        }
    }
    for collation in Arc::clone(&rows.catalog).collations.values() {
        rows.row()
            .text("RDB$COLLATION_NAME", &collation.name)
            .number("RDB$COLLATION_ID", collation.collation.number())
            .number("RDB$CHARACTER_SET_ID", collation.character_set.0)
            .number("RDB$COLLATION_ATTRIBUTES", collation.attributes)
            .number("RDB$SYSTEM_FLAG", 0)
            .blob("RDB$DESCRIPTION", collation.description.as_deref())
            .optional_text("RDB$BASE_COLLATION_NAME", collation.base_name.as_deref())
            .blob("RDB$SPECIFIC_ATTRIBUTES", collation.specific_attributes.as_deref())
            .text("RDB$OWNER_NAME", &collation.owner);
    }
}

pub(super) fn types(rows: &mut RowSet<'_, '_, '_>) {
    for fields in table(include_str!("../../data/system-types.tsv")) {
        let [field, number, name] = fields.as_slice() else { continue };
        rows.row()
            .text("RDB$FIELD_NAME", field)
            .number("RDB$TYPE", number.parse::<i64>().unwrap_or(0))
            .text("RDB$TYPE_NAME", name)
            .number("RDB$SYSTEM_FLAG", 1);
    }
}

pub(super) fn keywords(rows: &mut RowSet<'_, '_, '_>) {
    for fields in table(include_str!("../../data/keywords.tsv")) {
        let [keyword, reserved] = fields.as_slice() else { continue };
        rows.row()
            .text("RDB$KEYWORD_NAME", keyword)
            .boolean("RDB$KEYWORD_RESERVED", Some(*reserved == "True"));
    }
}

pub(super) fn time_zones(rows: &mut RowSet<'_, '_, '_>) {
    for (zone, name) in ZoneId::regions() {
        rows.row().number("RDB$TIME_ZONE_ID", zone.0).text("RDB$TIME_ZONE_NAME", name);
    }
}

pub(super) fn publications(rows: &mut RowSet<'_, '_, '_>) {
    rows.row()
        .text("RDB$PUBLICATION_NAME", "RDB$DEFAULT")
        .text("RDB$OWNER_NAME", OWNER)
        .number("RDB$SYSTEM_FLAG", 1)
        .number("RDB$ACTIVE_FLAG", 0)
        .number("RDB$AUTO_ENABLE", 0);
}
