//! Types as statements declare them to types as values have them.
//!
//! Source: Firebird 5 language reference, chapter Data Types; limits of lengths as Firebird 4 refuses them.

use std::sync::Arc;

use farbird_sql::ast::{BlobSubtype, DataType, DataTypeKind, Name};
use farbird_types::array::DIMENSIONS_MAX;
use farbird_types::{
    ArrayShape, CharacterSet, Collation, Error, ExactSubtype, ExactWidth, Result, SqlType, TextType, isc,
};

use crate::system_tables::{self, SystemDomain};
use crate::{Catalog, Column, Domain};
use farbird_session::TypeNames;

/// The longest CHAR and the longest VARCHAR, in bytes.
const CHAR_BYTES_MAX: u32 = 32_767;
const VARCHAR_BYTES_MAX: u32 = 32_765;

/// A declared type, resolved.
#[derive(Debug, Clone)]
pub struct DeclaredType {
    /// The type.
    pub sql_type: SqlType,
    /// The domain it was declared by, with its constraints; none for TYPE OF.
    pub domain: Option<Arc<Domain>>,
    /// NOT NULL by the domain (or, for TYPE OF COLUMN, never).
    pub not_null: bool,
    /// Digits of a NUMERIC or DECIMAL as declared (RDB$FIELD_PRECISION): the type only knows how many bytes they take.
    pub precision: Option<u8>,
    /// SEGMENT SIZE of a BLOB (RDB$SEGMENT_LENGTH): only tools look at it.
    pub segment_size: Option<u16>,
    /// What an array's elements are; `sql_type` is ARRAY then.
    pub array: Option<Arc<ArrayShape>>,
}

impl DeclaredType {
    /// A type without a domain.
    pub fn plain(sql_type: SqlType) -> DeclaredType {
        DeclaredType {
            sql_type,
            domain: None,
            not_null: false,
            precision: None,
            segment_size: None,
            array: None,
        }
    }
}

impl DeclaredType {
    /// The same with another type, of its elements if it is an array.
    fn with_element_type(mut self, change: impl FnOnce(SqlType) -> Result<SqlType>) -> Result<DeclaredType> {
        match &mut self.array {
            None => self.sql_type = change(self.sql_type)?,
            Some(array) => {
                let element = change(array.element)?;
                *array = Arc::new(ArrayShape { element, bounds: array.bounds.clone() });
            }
        }
        Ok(self)
    }
}

impl TypeNames for Catalog {
    fn declared(&self, data_type: &DataType) -> Result<SqlType> {
        value_type(self, data_type, None).map(|declared| declared.sql_type)
    }

    fn default_character_set(&self) -> CharacterSet {
        self.database.default_character_set
    }
}

/// Resolves a type: lengths against their limits, character sets, collations, domains and columns by name.
///
/// # Errors
/// As Firebird: `isc_dsql_domain_not_found`, `isc_charset_not_found`, `isc_collation_not_found`,
/// `isc_dsql_datatype_err` with the limit that was passed.
pub fn declared_type(
    catalog: &Catalog,
    data_type: &DataType,
    collation: Option<&Name>,
) -> Result<DeclaredType> {
    let mut declared = match &data_type.kind {
        DataTypeKind::Domain(name) => match catalog.domains.get(name.as_str()) {
            Some(domain) => DeclaredType {
                sql_type: domain.sql_type,
                not_null: domain.not_null,
                precision: domain.precision,
                segment_size: domain.segment_size,
                array: domain.array.clone(),
                domain: Some(Arc::clone(domain)),
            },
            None => {
                let domain = system_domain(name)?;
                DeclaredType { not_null: domain.not_null, ..DeclaredType::plain(domain.sql_type) }
            }
        },
        DataTypeKind::TypeOfDomain(name) => match catalog.domains.get(name.as_str()) {
            Some(domain) => {
                let (precision, segment_size) = (domain.precision, domain.segment_size);
                let array = domain.array.clone();
                DeclaredType { precision, segment_size, array, ..DeclaredType::plain(domain.sql_type) }
            }
            None => DeclaredType::plain(system_domain(name)?.sql_type),
        },
        DataTypeKind::TypeOfColumn { relation, column } => {
            let column = column_of(catalog, relation.name.as_str(), column.as_str())?;
            let (precision, segment_size) = (column.precision, column.segment_size);
            let array = column.array.clone();
            DeclaredType { precision, segment_size, array, ..DeclaredType::plain(column.sql_type) }
        }
        kind => {
            let (precision, segment_size) = (precision_of(catalog, kind), segment_size_of(kind));
            let sql_type = with_default_collation(catalog, plain_type(catalog, kind)?);
            DeclaredType { precision, segment_size, ..DeclaredType::plain(sql_type) }
        }
    };
    if let Some(name) = collation {
        declared = declared.with_element_type(|element| with_collation(catalog, element, name))?;
    }
    if !data_type.array.is_empty() {
        let bounds = data_type.array.iter().map(|bounds| (bounds.lower, bounds.upper)).collect();
        declared.array = Some(Arc::new(declared_shape(declared.sql_type, bounds)?));
        declared.sql_type = SqlType::Array;
    }
    Ok(declared)
}

/// The elements of an array as declared. Firebird takes no dimension of one element.
///
/// # Errors
/// Those of [`ArrayShape::new`], and `isc_dsql_arr_range_error` for such a dimension.
fn declared_shape(element: SqlType, bounds: Vec<(i32, i32)>) -> Result<ArrayShape> {
    let is_single = bounds.len() <= DIMENSIONS_MAX && bounds.iter().any(|(lower, upper)| lower == upper);
    let shape = ArrayShape::new(element, bounds)?;
    if is_single { Err(Error::new(isc::SQLERR).with(-604).and(isc::DSQL_ARR_RANGE_ERROR)) } else { Ok(shape) }
}

/// As [`declared_type`], for variables, parameters and CAST: what is no column cannot be an array.
///
/// # Errors
/// Also `isc_wish_list` for a domain or a column that is an array.
pub fn value_type(catalog: &Catalog, data_type: &DataType, collation: Option<&Name>) -> Result<DeclaredType> {
    let declared = declared_type(catalog, data_type, collation)?;
    if declared.array.is_none() {
        return Ok(declared);
    }
    Err(Error::new(isc::DSQL_ERROR)
        .and(isc::WISH_LIST)
        .and(isc::RANDOM)
        .with("Usage of domain or TYPE OF COLUMN of array type in PSQL"))
}

/// A character set by its name or one of its aliases.
///
/// # Errors
/// `isc_charset_not_found`.
pub fn character_set_named(name: &Name) -> Result<CharacterSet> {
    CharacterSet::by_name(name.as_str())
        .ok_or_else(|| data_type_error().and(isc::CHARSET_NOT_FOUND).with(name.as_str()))
}

fn data_type_error() -> Error {
    Error::new(isc::DSQL_ERROR).and(isc::SQLERR).with(-204).and(isc::DSQL_DATATYPE_ERR)
}

/// A domain of the system's own columns: it lends its type and whether it takes NULL, and has neither a default nor a CHECK.
fn system_domain(name: &Name) -> Result<&'static SystemDomain> {
    system_tables::domains().get(name.as_str()).ok_or_else(|| domain_not_found(name))
}

fn domain_not_found(name: &Name) -> Error {
    Error::new(isc::SQLERR)
        .with(-607)
        .and(isc::DSQL_COMMAND_ERR)
        .and(isc::DSQL_DOMAIN_NOT_FOUND)
        .with(name.as_str())
}

fn column_of<'a>(catalog: &'a Catalog, relation: &str, column: &str) -> Result<&'a Column> {
    catalog.relation(relation).and_then(|relation| relation.column(column)).ok_or_else(|| {
        Error::new(isc::DSQL_ERROR)
            .and(isc::SQLERR)
            .with(-607)
            .and(isc::DSQL_COMMAND_ERR)
            .and(isc::DYN_COLUMN_DOES_NOT_EXIST)
            .with(column)
            .with(relation)
    })
}

fn plain_type(catalog: &Catalog, kind: &DataTypeKind) -> Result<SqlType> {
    let default = catalog.database.default_character_set;
    Ok(match kind {
        DataTypeKind::Smallint => SqlType::SMALLINT,
        DataTypeKind::Integer => SqlType::INTEGER,
        DataTypeKind::Bigint => SqlType::BIGINT,
        DataTypeKind::Int128 => SqlType::INT128,
        kind if is_double_in_dialect_1(catalog, kind) => SqlType::Double,
        DataTypeKind::Numeric { precision, scale } => {
            // NUMERIC(4) takes two bytes, DECIMAL(4) four: the standard lets a DECIMAL hold more than it says.
            let width = if *precision <= 4 { ExactWidth::Short } else { width_of(*precision) };
            exact(width, *scale, ExactSubtype::Numeric)?
        }
        DataTypeKind::Decimal { precision, scale } => {
            exact(width_of(*precision), *scale, ExactSubtype::Decimal)?
        }
        DataTypeKind::Float => SqlType::Float,
        DataTypeKind::Double => SqlType::Double,
        DataTypeKind::DecFloat16 => SqlType::DecFloat16,
        DataTypeKind::DecFloat34 => SqlType::DecFloat34,
        DataTypeKind::Boolean => SqlType::Boolean,
        DataTypeKind::Date => SqlType::Date,
        DataTypeKind::Time => SqlType::Time,
        DataTypeKind::TimeTz => SqlType::TimeTz,
        DataTypeKind::Timestamp => SqlType::Timestamp,
        DataTypeKind::TimestampTz => SqlType::TimestampTz,
        DataTypeKind::Char { length, character_set } => {
            text(false, *length, character_set_or(character_set.as_ref(), default)?)?
        }
        DataTypeKind::Varchar { length, character_set } => {
            text(true, *length, character_set_or(character_set.as_ref(), default)?)?
        }
        DataTypeKind::CString { length, character_set } => {
            cstring(*length, character_set_or(character_set.as_ref(), default)?)?
        }
        DataTypeKind::Binary { length } => text(false, *length, CharacterSet::OCTETS)?,
        DataTypeKind::Varbinary { length } => text(true, *length, CharacterSet::OCTETS)?,
        DataTypeKind::Blob { subtype, character_set, .. } => {
            blob(subtype.as_ref(), character_set.as_ref(), default)?
        }
        DataTypeKind::Domain(_) | DataTypeKind::TypeOfDomain(_) | DataTypeKind::TypeOfColumn { .. } => {
            SqlType::Null
        }
    })
}

/// Whether a type is a NUMERIC or DECIMAL that dialect 1 keeps in a double: one of 10 to 18 digits.
fn is_double_in_dialect_1(catalog: &Catalog, kind: &DataTypeKind) -> bool {
    let wide = matches!(
        kind,
        DataTypeKind::Numeric { precision: 10..=18, .. } | DataTypeKind::Decimal { precision: 10..=18, .. }
    );
    wide && catalog.database.dialect == 1
}

fn precision_of(catalog: &Catalog, kind: &DataTypeKind) -> Option<u8> {
    match kind {
        kind if is_double_in_dialect_1(catalog, kind) => None,
        DataTypeKind::Numeric { precision, .. } | DataTypeKind::Decimal { precision, .. } => Some(*precision),
        _ => None,
    }
}

fn segment_size_of(kind: &DataTypeKind) -> Option<u16> {
    if let DataTypeKind::Blob { segment_size, .. } = kind { *segment_size } else { None }
}

fn width_of(precision: u8) -> ExactWidth {
    match precision {
        0..=9 => ExactWidth::Long,
        10..=18 => ExactWidth::Int64,
        _ => ExactWidth::Int128,
    }
}

fn exact(width: ExactWidth, scale: u8, subtype: ExactSubtype) -> Result<SqlType> {
    let scale = i8::try_from(scale).ok().and_then(i8::checked_neg).ok_or_else(|| Error::new(isc::IMP_EXC))?;
    Ok(SqlType::Exact { width, scale, subtype })
}

fn character_set_or(name: Option<&Name>, default: CharacterSet) -> Result<CharacterSet> {
    name.map_or(Ok(default), character_set_named)
}

fn text(varying: bool, length_chars: u32, character_set: CharacterSet) -> Result<SqlType> {
    let limit = if varying { VARCHAR_BYTES_MAX } else { CHAR_BYTES_MAX };
    text_within(limit, varying, length_chars, character_set)
}

/// A CSTRING: values are those of a VARCHAR.
fn cstring(length_chars: u32, character_set: CharacterSet) -> Result<SqlType> {
    text_within(CHAR_BYTES_MAX, true, length_chars, character_set)
}

fn text_within(limit: u32, varying: bool, length_chars: u32, character_set: CharacterSet) -> Result<SqlType> {
    let text = TextType { varying, length_chars, character_set, collation: Collation::default() };
    if text.length_bytes() > limit {
        return Err(data_type_error().and(isc::IMP_EXC));
    }
    Ok(SqlType::Text(text))
}

/// Subtypes that have names, by number (RDB$TYPES of RDB$FIELD_SUB_TYPE).
const BLOB_SUBTYPES: [&str; 10] = [
    "BINARY",
    "TEXT",
    "BLR",
    "ACL",
    "RANGES",
    "SUMMARY",
    "FORMAT",
    "TRANSACTION_DESCRIPTION",
    "EXTERNAL_FILE_DESCRIPTION",
    "DEBUG_INFORMATION",
];

fn blob(
    subtype: Option<&BlobSubtype>,
    character_set: Option<&Name>,
    default: CharacterSet,
) -> Result<SqlType> {
    let subtype = match subtype {
        None => 0,
        Some(BlobSubtype::Number(number)) => *number,
        Some(BlobSubtype::Name(name)) => BLOB_SUBTYPES
            .iter()
            .position(|known| *known == name.as_str())
            .and_then(|position| i16::try_from(position).ok())
            .ok_or_else(|| data_type_error().and(isc::DSQL_BLOB_TYPE_UNKNOWN).with(name.as_str()))?,
    };
    if subtype > 1 || subtype == farbird_store::ARRAY_SUBTYPE {
        return Err(data_type_error().and(isc::SUBTYPE_FOR_INTERNAL_USE));
    }
    // A character set makes a BLOB a text, whatever else is said, but for the users' own subtypes.
    let subtype = match character_set {
        Some(_) if subtype < 0 => return Err(data_type_error().and(isc::COLLATION_REQUIRES_TEXT)),
        Some(_) => 1,
        None => subtype,
    };
    let character_set = match character_set {
        Some(name) => character_set_named(name)?,
        None if subtype == 1 => default,
        None => CharacterSet::NONE,
    };
    Ok(SqlType::Blob { subtype, character_set, collation: Collation::default() })
}

/// A collation of a character set by its name: one of the system's, or one that CREATE COLLATION made.
pub fn collation_named(catalog: &Catalog, character_set: CharacterSet, name: &str) -> Option<Collation> {
    character_set.collation_by_name(name).or_else(|| {
        let made = catalog.collations.get(name).filter(|made| made.character_set == character_set)?;
        Some(made.collation)
    })
}

/// A text with the collation that ALTER CHARACTER SET has made the default of its character set.
pub fn with_default_collation(catalog: &Catalog, sql_type: SqlType) -> SqlType {
    let defaults = &catalog.database.default_collations;
    let of = |set: CharacterSet| collation_named(catalog, set, defaults.get(set.name())?);
    match sql_type {
        _ if defaults.is_empty() => sql_type,
        SqlType::Text(text) => {
            SqlType::Text(TextType { collation: of(text.character_set).unwrap_or(text.collation), ..text })
        }
        SqlType::Blob { subtype: 1, character_set, collation } => {
            SqlType::Blob { subtype: 1, character_set, collation: of(character_set).unwrap_or(collation) }
        }
        _ => sql_type,
    }
}

/// A text type with another collation of its character set.
///
/// # Errors
/// `isc_collation_not_found`, `isc_collation_requires_text`.
pub fn with_collation(catalog: &Catalog, sql_type: SqlType, name: &Name) -> Result<SqlType> {
    let of = |character_set: CharacterSet| {
        collation_named(catalog, character_set, name.as_str()).ok_or_else(|| {
            Error::new(isc::DSQL_ERROR)
                .and(isc::SQLERR)
                .with(-204)
                .and(isc::COLLATION_NOT_FOUND)
                .with(name.as_str())
                .with(character_set.name())
        })
    };
    match sql_type {
        SqlType::Text(text) => Ok(SqlType::Text(TextType { collation: of(text.character_set)?, ..text })),
        SqlType::Blob { subtype: 1, character_set, .. } => {
            Ok(SqlType::Blob { subtype: 1, character_set, collation: of(character_set)? })
        }
        _ => Err(data_type_error().and(isc::COLLATION_REQUIRES_TEXT)),
    }
}
