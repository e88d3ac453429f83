//! The name of a column's type from what RDB$FIELDS says of it.

use super::CatalogRow;

/// The columns of RDB$FIELDS, called `f`, and its relatives that [`type_name`] reads, from column 0 on.
pub(super) const TYPE_COLUMNS: &str =
    "f.rdb$field_type, f.rdb$field_sub_type, f.rdb$field_scale, f.rdb$field_length,
    f.rdb$character_length, f.rdb$field_precision, cs.rdb$character_set_name, co.rdb$collation_name,
    cs.rdb$default_collate_name, db.rdb$character_set_name, f.rdb$segment_length";

/// How many columns those are.
pub(super) const TYPE_COLUMN_COUNT: usize = 11;

/// The joins behind them, which need `f` and the expression of a collation.
pub(super) fn type_joins(collation: &str) -> String {
    format!(
        "left join rdb$character_sets cs on cs.rdb$character_set_id = f.rdb$character_set_id
        left join rdb$collations co on co.rdb$collation_id = {collation}
            and co.rdb$character_set_id = f.rdb$character_set_id
        cross join rdb$database db"
    )
}

/// The type as DDL writes it. A character set is named if it is not the database's, a collation if it is not the character
/// set's.
pub(super) fn type_name(row: &CatalogRow) -> String {
    let (number, subtype, scale) = (row.number(0), row.number(1), row.number(2));
    let exact = |name: &str, digits: i64| match (subtype, scale) {
        (0, 0) => name.to_owned(),
        (subtype, scale) => {
            let precision = if row.number(5) > 0 { row.number(5) } else { digits };
            let kind = if subtype == 2 { "DECIMAL" } else { "NUMERIC" };
            format!("{kind}({precision}, {})", -scale)
        }
    };
    match number {
        7 => exact("SMALLINT", 4),
        8 => exact("INTEGER", 9),
        16 => exact("BIGINT", 18),
        26 => exact("INT128", 38),
        10 => "FLOAT".to_owned(),
        11 | 27 => "DOUBLE PRECISION".to_owned(),
        12 => "DATE".to_owned(),
        13 => "TIME".to_owned(),
        35 => "TIMESTAMP".to_owned(),
        28 => "TIME WITH TIME ZONE".to_owned(),
        29 => "TIMESTAMP WITH TIME ZONE".to_owned(),
        24 => "DECFLOAT(16)".to_owned(),
        25 => "DECFLOAT(34)".to_owned(),
        23 => "BOOLEAN".to_owned(),
        14 => text(row, "CHAR"),
        37 => text(row, "VARCHAR"),
        40 => text(row, "CSTRING"),
        261 => blob(row, subtype),
        other => format!("type {other}"),
    }
}

fn text(row: &CatalogRow, name: &str) -> String {
    let length = if row.is_null(4) { row.number(3) } else { row.number(4) };
    match (row.text(6).as_str(), name) {
        ("OCTETS", "CHAR") => format!("BINARY({length})"),
        ("OCTETS", _) => format!("VARBINARY({length})"),
        _ => format!("{name}({length}){}", character_set(row)),
    }
}

fn blob(row: &CatalogRow, subtype: i64) -> String {
    match subtype {
        0 => "BLOB SUB_TYPE BINARY".to_owned(),
        1 => format!("BLOB SUB_TYPE TEXT{}", character_set(row)),
        other => format!("BLOB SUB_TYPE {other}"),
    }
}

fn character_set(row: &CatalogRow) -> String {
    let (set, collation, usual, of_database) = (row.text(6), row.text(7), row.text(8), row.text(9));
    let of_database = if of_database.is_empty() { "NONE".to_owned() } else { of_database };
    let mut shown = String::new();
    if !set.is_empty() && set != of_database {
        shown.push_str(&format!(" CHARACTER SET {set}"));
    }
    if !collation.is_empty() && collation != usual {
        shown.push_str(&format!(" COLLATE {collation}"));
    }
    shown
}
