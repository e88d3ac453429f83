//! Types of a backup as SQL declares them.

use farbird_gbak::attribute::{field, function_argument};
use farbird_gbak::{Record, RecordKind};
use farbird_types::CharacterSet;

use super::schema::Schema;

/// RDB$FIELD_TYPE of texts.
const CHAR: i64 = 14;
const CSTRING: i64 = 40;
const CHARACTER_SET: &str = " CHARACTER SET ";

/// The type of a domain, with its bounds if it is an array; `None` for one that SQL cannot declare here.
pub(super) fn declared(schema: &Schema, domain: &Record) -> Option<String> {
    let element = element(&|attribute| domain.number(attribute).unwrap_or_default())?;
    if domain.number(field::DIMENSIONS).is_none_or(|it| it <= 0) {
        return Some(element);
    }
    let name = domain.name(field::NAME)?;
    let bounds: Vec<String> =
        bounds(schema, &name)?.into_iter().map(|(lower, upper)| format!("{lower}:{upper}")).collect();
    let bounds = bounds.join(", ");
    // A character set stands behind the bounds.
    Some(match element.split_once(CHARACTER_SET) {
        Some((text, set)) => format!("{text}[{bounds}]{CHARACTER_SET}{set}"),
        None => format!("{element}[{bounds}]"),
    })
}

/// First and last subscript of each dimension of a domain.
fn bounds(schema: &Schema, domain: &str) -> Option<Vec<(i64, i64)>> {
    let records = schema.all(RecordKind::FieldDimensions).iter();
    let mut dimensions = records
        .filter(|record| record.name(field::NAME).as_deref() == Some(domain))
        .map(|record| {
            let bound = |attribute| record.number(attribute);
            Some((bound(field::DIMENSIONS)?, bound(field::RANGE_LOW)?, bound(field::RANGE_HIGH)?))
        })
        .collect::<Option<Vec<_>>>()?;
    dimensions.sort_unstable();
    Some(dimensions.into_iter().map(|(_, lower, upper)| (lower, upper)).collect())
}

/// The type of an argument of an external function.
pub(super) fn of_argument(argument: &Record) -> Option<String> {
    let declared = element(&|attribute| {
        let attribute = match attribute {
            field::TYPE => function_argument::FIELD_TYPE,
            field::SCALE => function_argument::FIELD_SCALE,
            field::LENGTH => function_argument::FIELD_LENGTH,
            field::SUB_TYPE => function_argument::FIELD_SUB_TYPE,
            field::CHARACTER_SET => function_argument::CHARACTER_SET,
            field::PRECISION => function_argument::FIELD_PRECISION,
            _ => return 0,
        };
        argument.number(attribute).unwrap_or_default()
    })?;
    let is_cstring = argument.number(function_argument::FIELD_TYPE) == Some(CSTRING);
    Some(if is_cstring { declared.replacen("VARCHAR", "CSTRING", 1) } else { declared })
}

/// The type of a domain, or of its elements, of its attributes; 0 for those that it does not have.
fn element(number: &dyn Fn(u8) -> i64) -> Option<String> {
    let scale = number(field::SCALE);
    let exact = |name: &str, digits: i64| match (number(field::SUB_TYPE), scale) {
        (0, 0) => name.to_owned(),
        (subtype, _) => {
            let kind = if subtype == 2 { "DECIMAL" } else { "NUMERIC" };
            let precision = match number(field::PRECISION) {
                0 => digits,
                precision => precision,
            };
            format!("{kind}({precision}, {})", scale.unsigned_abs())
        }
    };
    Some(match number(field::TYPE) {
        7 => exact("SMALLINT", 4),
        8 => exact("INTEGER", 9),
        16 => exact("BIGINT", 18),
        26 => exact("INT128", 38),
        10 => "FLOAT".to_owned(),
        11 | 27 => "DOUBLE PRECISION".to_owned(),
        12 => "DATE".to_owned(),
        13 => "TIME".to_owned(),
        35 => "TIMESTAMP".to_owned(),
        28 | 30 => "TIME WITH TIME ZONE".to_owned(),
        29 | 31 => "TIMESTAMP WITH TIME ZONE".to_owned(),
        23 => "BOOLEAN".to_owned(),
        24 => "DECFLOAT(16)".to_owned(),
        25 => "DECFLOAT(34)".to_owned(),
        text @ (CHAR | 37 | CSTRING) => {
            let set = character_set(number)?;
            let characters = match number(field::CHARACTER_LENGTH) {
                0 => number(field::LENGTH) / i64::from(set.bytes_per_character()),
                characters => characters,
            };
            let name = if text == CHAR { "CHAR" } else { "VARCHAR" };
            format!("{name}({}){CHARACTER_SET}{}", characters.max(1), set.name())
        }
        261 => {
            let subtype = number(field::SUB_TYPE);
            let segment = match number(field::SEGMENT_LENGTH) {
                0 => String::new(),
                bytes => format!(" SEGMENT SIZE {bytes}"),
            };
            let set = match subtype {
                1 => format!(" CHARACTER SET {}", character_set(number)?.name()),
                _ => String::new(),
            };
            format!("BLOB SUB_TYPE {subtype}{segment}{set}")
        }
        _ => return None,
    })
}

fn character_set(number: &dyn Fn(u8) -> i64) -> Option<CharacterSet> {
    CharacterSet::by_id(u8::try_from(number(field::CHARACTER_SET)).ok()?)
}

/// The collation that is said of a domain, or of a column beside its domain, if it is not the usual one.
pub(super) fn collation(schema: &Schema, said: Option<i64>, domain: &Record) -> Option<String> {
    let number = said.or_else(|| domain.number(field::COLLATION_ID)).filter(|number| *number != 0)?;
    let is_text = matches!(domain.number(field::TYPE), Some(CHAR | 37 | 40 | 261));
    let set = domain.number(field::CHARACTER_SET).unwrap_or_default();
    if is_text { schema.collation_name(set, number) } else { None }
}
