//! Definitions of the system tables, as objects of every catalog.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use farbird_types::{CharacterSet, Collation, Error, ExactSubtype, ExactWidth, SqlType, TextType, isc};

use crate::{Column, Format, Index, IndexId, LayoutCache, Relation, RelationId, RelationKind, Role};

/// Owner of what comes with a database.
pub(crate) const SYSTEM_OWNER: &str = "SYSDBA";

/// A domain of the system's columns (a line of RDB$FIELDS).
#[derive(Debug, Clone, PartialEq)]
pub struct SystemDomain {
    /// Name.
    pub name: &'static str,
    /// Type.
    pub sql_type: SqlType,
    /// RDB$FIELD_SUB_TYPE, which for system texts has values of its own.
    pub subtype: Option<i16>,
    /// NOT NULL.
    pub not_null: bool,
}

/// The lines of a table of data/, without its heading, cut at tabs.
pub fn table(text: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    text.lines().skip(1).filter(|line| !line.is_empty()).map(|line| line.split('\t').collect())
}

/// A line of data/system-columns.tsv, which are Firebird's, or data/farbird-columns.tsv, our own.
struct ColumnLine {
    relation: &'static str,
    relation_id: u32,
    name: &'static str,
    domain: SystemDomain,
}

fn column_lines() -> impl Iterator<Item = ColumnLine> {
    let firebirds = table(include_str!("../data/system-columns.tsv"));
    let own = table(include_str!("../data/farbird-columns.tsv"));
    firebirds.chain(own).filter_map(|fields| {
        let field = |number: usize| fields.get(number).copied().unwrap_or("");
        Some(ColumnLine {
            relation: field(0),
            name: field(2),
            domain: SystemDomain {
                name: field(3),
                sql_type: sql_type(field(4), field(5), field(6), field(7), field(9)),
                subtype: field(5).parse().ok(),
                not_null: field(11) == "1",
            },
            relation_id: field(12).parse().ok()?,
        })
    })
}

/// A type from Firebird's numbers (RDB$FIELD_TYPE and its companions).
fn sql_type(code: &str, subtype: &str, bytes: &str, chars: &str, character_set: &str) -> SqlType {
    let character_set = CharacterSet(character_set.parse().unwrap_or(0));
    let bytes: u32 = bytes.parse().unwrap_or(0);
    let exact = |width| SqlType::Exact { width, scale: 0, subtype: ExactSubtype::Integer };
    match code {
        "7" => exact(ExactWidth::Short),
        "8" => exact(ExactWidth::Long),
        "16" => exact(ExactWidth::Int64),
        "27" => SqlType::Double,
        "23" => SqlType::Boolean,
        "29" => SqlType::TimestampTz,
        "35" => SqlType::Timestamp,
        "14" | "37" => SqlType::Text(TextType {
            varying: code == "37",
            length_chars: chars
                .parse()
                .unwrap_or(bytes / u32::from(character_set.bytes_per_character().max(1))),
            character_set,
            collation: Collation::default(),
        }),
        _ => {
            let subtype = subtype.parse().unwrap_or(0);
            let character_set = if subtype == 1 { CharacterSet::UTF8 } else { CharacterSet::NONE };
            SqlType::Blob { subtype, character_set, collation: Collation::default() }
        }
    }
}

/// All system tables, by number.
pub fn relations() -> &'static [Arc<Relation>] {
    static RELATIONS: OnceLock<Vec<Arc<Relation>>> = OnceLock::new();
    RELATIONS.get_or_init(|| {
        let mut relations: BTreeMap<u32, Relation> = BTreeMap::new();
        for line in column_lines() {
            let relation = relations
                .entry(line.relation_id)
                .or_insert_with(|| empty_relation(line.relation, line.relation_id));
            let field_id = u16::try_from(relation.columns.len()).unwrap_or(u16::MAX);
            relation.columns.push(column(&line, field_id));
        }
        for (number, fields) in table(include_str!("../data/system-indices.tsv")).enumerate() {
            add_index_segment(&mut relations, number, &fields);
        }
        for relation in relations.values_mut() {
            let fields = relation.columns.iter().map(|column| Some(column.sql_type)).collect();
            relation.formats.push(Format { fields });
            relation.next_field_id = u16::try_from(relation.columns.len()).unwrap_or(u16::MAX);
        }
        relations.into_values().map(Arc::new).collect()
    })
}

/// The system's domains, by name: those of its columns, and those that only its packages' routines and older tables use.
pub fn domains() -> &'static BTreeMap<&'static str, SystemDomain> {
    static DOMAINS: OnceLock<BTreeMap<&'static str, SystemDomain>> = OnceLock::new();
    DOMAINS.get_or_init(|| {
        let mut domains = BTreeMap::new();
        for line in column_lines() {
            domains.entry(line.domain.name).or_insert(line.domain);
        }
        for fields in table(include_str!("../data/system-domains.tsv")) {
            let field = |number: usize| fields.get(number).copied().unwrap_or("");
            domains.entry(field(0)).or_insert_with(|| SystemDomain {
                name: field(0),
                sql_type: sql_type(field(1), field(2), field(3), field(4), field(5)),
                subtype: field(2).parse().ok(),
                not_null: field(6) == "1",
            });
        }
        domains
    })
}

/// The roles that come with a database.
pub fn roles() -> &'static [Arc<Role>] {
    static ROLES: OnceLock<Vec<Arc<Role>>> = OnceLock::new();
    ROLES.get_or_init(|| {
        vec![Arc::new(Role {
            name: "RDB$ADMIN".to_owned(),
            owner: SYSTEM_OWNER.to_owned(),
            description: None,
            system: true,
            system_privileges: 0,
        })]
    })
}

/// Whether a system table shows the live server: statements that change it are bound, and fail at its rows if they ask for
/// what cannot be done.
pub fn is_live(relation: &Relation) -> bool {
    relation.kind == RelationKind::System && relation.name.starts_with("MON$")
}

/// The columns of a system table with sources of definitions, which can be set to NULL: that hides them.
pub fn source_columns(relation: &Relation) -> &'static [&'static str] {
    if relation.kind != RelationKind::System {
        return &[];
    }
    match relation.name.as_str() {
        "RDB$RELATIONS" => &["RDB$VIEW_SOURCE"],
        "RDB$TRIGGERS" => &["RDB$TRIGGER_SOURCE"],
        "RDB$PROCEDURES" => &["RDB$PROCEDURE_SOURCE"],
        "RDB$FUNCTIONS" => &["RDB$FUNCTION_SOURCE"],
        "RDB$PACKAGES" => &["RDB$PACKAGE_HEADER_SOURCE", "RDB$PACKAGE_BODY_SOURCE"],
        _ => &[],
    }
}

/// What a statement that would change a system table is told.
///
/// `operation` is INSERT, UPDATE or DELETE.
pub fn refuse_change(operation: &str, relation: &str) -> Error {
    Error::new(isc::PROTECT_SYS_TAB).with(operation).with(relation)
}

fn empty_relation(name: &str, id: u32) -> Relation {
    Relation {
        id: RelationId(id),
        name: name.to_owned(),
        owner: SYSTEM_OWNER.to_owned(),
        kind: RelationKind::System,
        columns: Vec::new(),
        formats: Vec::new(),
        next_field_id: 0,
        indexes: Vec::new(),
        constraints: Vec::new(),
        description: None,
        sql_security_definer: None,
        view_contexts: Vec::new(),
        source_hidden: false,
        codec: None,
        layout: LayoutCache::default(),
    }
}

fn column(line: &ColumnLine, field_id: u16) -> Column {
    Column {
        name: line.name.to_owned(),
        field_id,
        sql_type: line.domain.sql_type,
        precision: None,
        segment_size: None,
        array: None,
        domain: line.domain.name.to_owned(),
        not_null: line.domain.not_null,
        default_source: None,
        computed_source: None,
        identity: None,
        added_default: None,
        view_origin: None,
        view_context: None,
        description: None,
    }
}

/// A line of data/system-indices.tsv: table, index, unique, position, column. Segments stand in their order.
fn add_index_segment(relations: &mut BTreeMap<u32, Relation>, number: usize, fields: &[&'static str]) {
    let [relation, name, unique, _, column] = fields else { return };
    let Some(relation) = relations.values_mut().find(|candidate| candidate.name == *relation) else { return };
    if let Some(index) = relation.indexes.iter_mut().find(|index| index.name == *name) {
        index.columns.push((*column).to_owned());
        return;
    }
    relation.indexes.push(Index {
        // No rows, no index entries: the number is only told apart from those of users.
        id: IndexId(u32::try_from(number).unwrap_or(0)),
        name: (*name).to_owned(),
        unique: *unique == "1",
        descending: false,
        inactive: false,
        columns: vec![(*column).to_owned()],
        expression_source: None,
        condition_source: None,
        dialect: Index::default_dialect(),
        selectivity: Vec::new(),
        foreign_key: None,
        description: None,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(name: &str) -> &'static Relation {
        relations().iter().find(|relation| relation.name == name).expect("a system table")
    }

    #[test]
    fn every_system_table_of_firebird_5_is_described() {
        let firebirds = relations().iter().filter(|relation| !relation.name.starts_with("FARBIRD$"));
        assert_eq!(firebirds.count(), 56);
        assert_eq!(relation("RDB$RELATIONS").id, RelationId(6));
        assert_eq!(relation("RDB$RELATIONS").columns.len(), 18);
        assert_eq!(relation("MON$COMPILED_STATEMENTS").id, RelationId(55));
    }

    #[test]
    fn names_are_63_characters_of_utf8() {
        let column = relation("RDB$RELATIONS").column("RDB$RELATION_NAME").expect("a column");
        assert_eq!(column.sql_type, SqlType::char(63, CharacterSet::UTF8));
        let SqlType::Text(text) = column.sql_type else { panic!("a text") };
        assert_eq!(text.length_bytes(), 252);
    }

    #[test]
    fn indexes_have_their_segments_in_order() {
        let index = relation("RDB$DEPENDENCIES").index("RDB$INDEX_28").expect("an index");
        assert_eq!(index.columns, ["RDB$DEPENDED_ON_NAME", "RDB$DEPENDED_ON_TYPE", "RDB$FIELD_NAME"]);
    }
}
