//! Types as they are written, made types as they are.

use farbird_sql::ast;
use farbird_types::{CharacterSet, Collation, Error, ExactSubtype, ExactWidth, Result, SqlType, TextType, isc};

use crate::bind::Environment;
use crate::bind::error::{at, dsql, sqlcode};
use crate::catalog::Domain;

/// The longest CHAR in bytes.
pub const CHAR_BYTES_MAX: u32 = 32_767;

/// The longest VARCHAR in bytes.
pub const VARCHAR_BYTES_MAX: u32 = 32_765;

/// A type with what a domain adds to it.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedType {
    /// The type.
    pub sql_type: SqlType,
    /// The domain it was declared by; its NOT NULL, default and CHECK count.
    pub domain: Option<std::sync::Arc<Domain>>,
    /// Whether NOT NULL comes with it.
    pub not_null: bool,
}

/// Makes a type of what was written. Texts that name no character set are of the database's default one.
///
/// # Errors
/// Unknown character sets, collations, domains and columns; lengths past the longest.
pub fn resolve(
    environment: &Environment,
    data_type: &ast::DataType,
    collation: Option<&ast::Name>,
) -> Result<ResolvedType> {
    let plain = |sql_type: SqlType| ResolvedType { sql_type, domain: None, not_null: false };
    let exact = |width, scale: u8, subtype| {
        let scale = i8::try_from(scale).map_or(i8::MIN, |scale| -scale);
        plain(SqlType::Exact { width, scale, subtype })
    };
    let resolved = match &data_type.kind {
        ast::DataTypeKind::Smallint => plain(SqlType::SMALLINT),
        ast::DataTypeKind::Integer => plain(SqlType::INTEGER),
        ast::DataTypeKind::Bigint => plain(SqlType::BIGINT),
        ast::DataTypeKind::Int128 => plain(SqlType::INT128),
        ast::DataTypeKind::Numeric { precision, scale } => {
            exact(numeric_width(*precision), *scale, ExactSubtype::Numeric)
        }
        ast::DataTypeKind::Decimal { precision, scale } => {
            // DECIMAL of up to four digits is an INTEGER in Firebird: only NUMERIC makes SMALLINTs.
            exact(numeric_width(*precision).max(ExactWidth::Long), *scale, ExactSubtype::Decimal)
        }
        ast::DataTypeKind::Float => plain(SqlType::Float),
        ast::DataTypeKind::Double => plain(SqlType::Double),
        ast::DataTypeKind::DecFloat16 => plain(SqlType::DecFloat16),
        ast::DataTypeKind::DecFloat34 => plain(SqlType::DecFloat34),
        ast::DataTypeKind::Boolean => plain(SqlType::Boolean),
        ast::DataTypeKind::Date => plain(SqlType::Date),
        ast::DataTypeKind::Time => plain(SqlType::Time),
        ast::DataTypeKind::TimeTz => plain(SqlType::TimeTz),
        ast::DataTypeKind::Timestamp => plain(SqlType::Timestamp),
        ast::DataTypeKind::TimestampTz => plain(SqlType::TimestampTz),
        ast::DataTypeKind::Char { length, character_set } => {
            plain(text(environment, false, *length, character_set.as_ref(), data_type.position)?)
        }
        ast::DataTypeKind::Varchar { length, character_set }
        | ast::DataTypeKind::CString { length, character_set } => {
            plain(text(environment, true, *length, character_set.as_ref(), data_type.position)?)
        }
        ast::DataTypeKind::Binary { length } => plain(octets(false, *length, data_type.position)?),
        ast::DataTypeKind::Varbinary { length } => plain(octets(true, *length, data_type.position)?),
        ast::DataTypeKind::Blob { subtype, character_set, .. } => {
            plain(blob(environment, subtype.as_ref(), character_set.as_ref())?)
        }
        ast::DataTypeKind::Domain(name) => {
            let domain = find_domain(environment, name)?;
            ResolvedType { sql_type: domain.sql_type, not_null: domain.not_null, domain: Some(domain) }
        }
        ast::DataTypeKind::TypeOfDomain(name) => plain(find_domain(environment, name)?.sql_type),
        ast::DataTypeKind::TypeOfColumn { relation, column } => {
            let table = environment
                .catalog
                .relations
                .get(relation.name.as_str())
                .ok_or_else(|| super::error::unknown_table(&relation.name))?;
            let found = table.column(column.as_str()).ok_or_else(|| {
                super::error::unknown_column(Some(&relation.name), column.as_str(), column.position)
            })?;
            plain(found.sql_type)
        }
    };
    match collation {
        Some(collation) => {
            Ok(ResolvedType { sql_type: collated(&resolved.sql_type, collation)?, ..resolved })
        }
        None => Ok(resolved),
    }
}

/// The same type with another collation of its character set.
///
/// # Errors
/// `collation_not_found`, `collation_not_for_charset`, or `invalid_coll` for types without one.
pub fn collated(sql_type: &SqlType, name: &ast::Name) -> Result<SqlType> {
    let find = |character_set: CharacterSet| {
        character_set.collation_by_name(name.as_str()).ok_or_else(|| {
            dsql(sqlcode::UNKNOWN_TABLE)
                .and(isc::COLLATION_NOT_FOUND)
                .with(name.as_str())
                .with(character_set.name())
        })
    };
    match sql_type {
        SqlType::Text(text) => {
            Ok(SqlType::Text(TextType { collation: find(text.character_set)?, ..*text }))
        }
        SqlType::Blob { subtype: 1, character_set, .. } => {
            Ok(SqlType::Blob { subtype: 1, character_set: *character_set, collation: find(*character_set)? })
        }
        _ => Err(dsql(sqlcode::VALUES).and(isc::COLLATION_REQUIRES_TEXT)),
    }
}

/// The collation of texts of a type; the character set's own order for everything else.
pub fn collation_of(sql_type: &SqlType) -> Collation {
    match sql_type {
        SqlType::Text(text) => text.collation,
        SqlType::Blob { collation, .. } => *collation,
        _ => Collation::default(),
    }
}

fn numeric_width(precision: u8) -> ExactWidth {
    match precision {
        0..=4 => ExactWidth::Short,
        5..=9 => ExactWidth::Long,
        10..=18 => ExactWidth::Int64,
        _ => ExactWidth::Int128,
    }
}

/// A character set by name.
///
/// # Errors
/// `charset_not_found`.
pub fn character_set(name: &ast::Name) -> Result<CharacterSet> {
    CharacterSet::by_name(name.as_str())
        .ok_or_else(|| dsql(sqlcode::UNKNOWN_TABLE).and(isc::CHARSET_NOT_FOUND).with(name.as_str()))
}

fn text(
    environment: &Environment,
    varying: bool,
    length: u32,
    name: Option<&ast::Name>,
    position: ast::Position,
) -> Result<SqlType> {
    let character_set = match name {
        Some(name) => character_set(name)?,
        None => environment.catalog.database.default_character_set,
    };
    checked(TextType { varying, length_chars: length, character_set, collation: Collation::default() }, position)
}

fn octets(varying: bool, length: u32, position: ast::Position) -> Result<SqlType> {
    let text = TextType {
        varying,
        length_chars: length,
        character_set: CharacterSet::OCTETS,
        collation: Collation::default(),
    };
    checked(text, position)
}

fn checked(text: TextType, position: ast::Position) -> Result<SqlType> {
    let longest = if text.varying { VARCHAR_BYTES_MAX } else { CHAR_BYTES_MAX };
    if text.length_bytes() > longest {
        let error = dsql(sqlcode::VALUES).and(isc::DSQL_DATATYPE_ERR).and(isc::IMP_EXC).and(isc::FIELD_NAME);
        return Err(at(error, position));
    }
    Ok(SqlType::Text(text))
}

/// Names of BLOB subtypes, as RDB$TYPES has them.
const BLOB_SUBTYPES: [(&str, i16); 10] = [
    ("BINARY", 0),
    ("TEXT", 1),
    ("BLR", 2),
    ("ACL", 3),
    ("RANGES", 4),
    ("SUMMARY", 5),
    ("FORMAT", 6),
    ("TRANSACTION_DESCRIPTION", 7),
    ("EXTERNAL_FILE_DESCRIPTION", 8),
    ("DEBUG_INFORMATION", 9),
];

fn blob(
    environment: &Environment,
    subtype: Option<&ast::BlobSubtype>,
    character_set_name: Option<&ast::Name>,
) -> Result<SqlType> {
    let subtype = match subtype {
        None if character_set_name.is_some() => 1,
        None => 0,
        Some(ast::BlobSubtype::Number(number)) => *number,
        Some(ast::BlobSubtype::Name(name)) => BLOB_SUBTYPES
            .iter()
            .find(|(known, _)| *known == name.as_str())
            .map(|(_, number)| *number)
            .ok_or_else(|| {
                at(dsql(sqlcode::UNKNOWN_TABLE).and(isc::DSQL_BLOB_TYPE_UNKNOWN).with(name.as_str()), name.position)
            })?,
    };
    if subtype != 1 {
        return Ok(SqlType::Blob { subtype, character_set: CharacterSet::NONE, collation: Collation::default() });
    }
    let character_set = match character_set_name {
        Some(name) => character_set(name)?,
        None => environment.catalog.database.default_character_set,
    };
    Ok(SqlType::blob_text(character_set))
}

fn find_domain(environment: &Environment, name: &ast::Name) -> Result<std::sync::Arc<Domain>> {
    environment.catalog.domains.get(name.as_str()).cloned().ok_or_else(|| {
        let error: Error = dsql(sqlcode::SYNTAX).and(isc::DSQL_DOMAIN_NOT_FOUND).with(name.as_str());
        error
    })
}
