//! Which types a column or domain may change to.
//!
//! Firebird allows only changes after which every stored value still fits. Source: Firebird 5 language reference,
//! ALTER TABLE, "ALTER COLUMN TYPE", and the answers of Firebird 4.

use farbird_types::{Error, ExactSubtype, ExactWidth, Result, SqlType, isc};

/// Lengths of texts that any value of a type fits into (as dates and numbers are written).
const TIME_ZONE_CHARS: u32 = 33;

/// Checks a change of type.
///
/// # Errors
/// `isc_dyn_dtype_invalid`, `isc_dyn_dtype_conv_invalid`, `isc_dyn_char_fld_too_small`,
/// `isc_dyn_invalid_dtype_conversion`, `isc_dyn_scale_too_big`, `isc_dyn_precision_too_small`.
pub(super) fn check_change(
    name: &str,
    old: (&SqlType, Option<u8>),
    new: (&SqlType, Option<u8>),
) -> Result<()> {
    let invalid = || Err(Error::new(isc::DYN_DTYPE_INVALID).with(name));
    let unsupported = || {
        Err(Error::new(isc::DYN_INVALID_DTYPE_CONVERSION)
            .with(name)
            .with(type_name(old.0))
            .with(type_name(new.0)))
    };
    let too_small = |needed: u32| {
        Err(Error::new(isc::DYN_CHAR_FLD_TOO_SMALL)
            .with(name)
            .with(i32::try_from(needed).unwrap_or(i32::MAX)))
    };
    if matches!(old.0, SqlType::Blob { .. } | SqlType::Array) || matches!(new.0, SqlType::Array) {
        return invalid();
    }
    match (old.0, new.0) {
        (SqlType::Boolean, SqlType::Boolean) => Ok(()),
        (SqlType::Boolean, _) => unsupported(),
        (_, SqlType::Blob { .. }) if !is_temporal(old.0) => invalid(),
        (SqlType::Text(old), SqlType::Text(new)) => {
            if new.length_chars < old.length_chars {
                return too_small(old.length_chars);
            }
            Ok(())
        }
        (SqlType::Text(_), _) => Err(Error::new(isc::DYN_DTYPE_CONV_INVALID).with(name)),
        (old, SqlType::Text(new)) => {
            let needed = text_length(old);
            if new.length_chars < needed { too_small(needed) } else { Ok(()) }
        }
        (SqlType::Exact { .. }, SqlType::Exact { .. }) => check_exact(name, old, new, &unsupported),
        (old, new) if is_allowed(old, new) => Ok(()),
        _ => unsupported(),
    }
}

fn check_exact(
    name: &str,
    old: (&SqlType, Option<u8>),
    new: (&SqlType, Option<u8>),
    unsupported: &dyn Fn() -> Result<()>,
) -> Result<()> {
    let (
        SqlType::Exact { width: old_width, scale: old_scale, subtype: old_subtype },
        SqlType::Exact { width: new_width, scale: new_scale, subtype: new_subtype },
    ) = (old.0, new.0)
    else {
        return Ok(());
    };
    if new_width < old_width {
        return unsupported();
    }
    if *new_width == ExactWidth::Int128
        || *old_subtype == ExactSubtype::Integer
        || *new_subtype == ExactSubtype::Integer
    {
        return Ok(());
    }
    // The digits before the point must not become fewer.
    let digits = |precision: Option<u8>| i32::from(precision.unwrap_or(0));
    let old_integral = digits(old.1) + i32::from(*old_scale);
    let new_integral = digits(new.1) + i32::from(*new_scale);
    if old_integral <= new_integral {
        return Ok(());
    }
    let room = digits(new.1) - old_integral;
    if room < 0 {
        let needed = digits(new.1) - i32::from(*new_scale) - room;
        return Err(Error::new(isc::DYN_PRECISION_TOO_SMALL).with(name).with(needed));
    }
    Err(Error::new(isc::DYN_SCALE_TOO_BIG).with(name).with(room))
}

fn is_temporal(sql_type: &SqlType) -> bool {
    matches!(
        sql_type,
        SqlType::Date | SqlType::Time | SqlType::Timestamp | SqlType::TimeTz | SqlType::TimestampTz
    )
}

fn is_allowed(old: &SqlType, new: &SqlType) -> bool {
    let narrow = |sql_type: &SqlType| {
        matches!(sql_type, SqlType::Exact { width: ExactWidth::Short | ExactWidth::Long, .. })
    };
    match new {
        SqlType::Date => matches!(old, SqlType::Date | SqlType::Timestamp),
        SqlType::Time => matches!(old, SqlType::Time | SqlType::Timestamp),
        SqlType::Timestamp => matches!(old, SqlType::Timestamp | SqlType::Date),
        SqlType::TimeTz => matches!(old, SqlType::TimeTz | SqlType::TimestampTz),
        SqlType::TimestampTz => matches!(old, SqlType::TimestampTz),
        SqlType::Float => {
            matches!(old, SqlType::Float | SqlType::Exact { width: ExactWidth::Short, .. })
        }
        SqlType::Double => matches!(old, SqlType::Double | SqlType::Float) || narrow(old),
        SqlType::DecFloat16 => {
            matches!(old, SqlType::Float | SqlType::Double | SqlType::DecFloat16) || narrow(old)
        }
        SqlType::DecFloat34 => matches!(
            old,
            SqlType::Exact { .. }
                | SqlType::Float
                | SqlType::Double
                | SqlType::DecFloat16
                | SqlType::DecFloat34
        ),
        _ => false,
    }
}

/// The longest text of a value.
fn text_length(sql_type: &SqlType) -> u32 {
    match sql_type {
        SqlType::Exact { width, scale, .. } => {
            let digits = match width {
                ExactWidth::Short => 6,
                ExactWidth::Long => 11,
                ExactWidth::Int64 => 20,
                ExactWidth::Int128 => 47,
            };
            digits + u32::from(*scale < 0)
        }
        SqlType::Float => 15,
        SqlType::Double => 24,
        SqlType::DecFloat16 => 23,
        SqlType::DecFloat34 => 42,
        SqlType::Date => 10,
        SqlType::Time => 13,
        SqlType::Timestamp => 25,
        SqlType::TimeTz => 14 + TIME_ZONE_CHARS,
        SqlType::TimestampTz => 26 + TIME_ZONE_CHARS,
        _ => 0,
    }
}

/// A type's name as Firebird shows it in these errors.
fn type_name(sql_type: &SqlType) -> &'static str {
    match sql_type {
        SqlType::Null => "<dtype_unknown>",
        SqlType::Boolean => "BOOLEAN",
        SqlType::Exact { width, .. } => match width {
            ExactWidth::Short => "SMALLINT",
            ExactWidth::Long => "INTEGER",
            ExactWidth::Int64 => "BIGINT",
            ExactWidth::Int128 => "INT128",
        },
        SqlType::Float => "FLOAT",
        SqlType::Double => "DOUBLE PRECISION",
        SqlType::DecFloat16 => "DECFLOAT(16)",
        SqlType::DecFloat34 => "DECFLOAT(34)",
        SqlType::Date => "DATE",
        SqlType::Time => "TIME",
        SqlType::Timestamp => "TIMESTAMP",
        SqlType::TimeTz => "TIME WITH TIME ZONE",
        SqlType::TimestampTz => "TIMESTAMP WITH TIME ZONE",
        SqlType::Text(text) if text.varying => "VARCHAR",
        SqlType::Text(_) => "CHAR",
        SqlType::Blob { .. } => "BLOB",
        SqlType::Array => "ARRAY",
    }
}

#[cfg(test)]
mod tests {
    use farbird_types::CharacterSet;

    use super::*;

    const NUMERIC_10_2: SqlType =
        SqlType::Exact { width: ExactWidth::Int64, scale: -2, subtype: ExactSubtype::Numeric };

    fn change(old: SqlType, old_digits: Option<u8>, new: SqlType, new_digits: Option<u8>) -> Option<u32> {
        check_change("C", (&old, old_digits), (&new, new_digits)).err().map(|error| error.gds_code())
    }

    #[test]
    fn texts_may_grow_only() {
        let text = |length| SqlType::varchar(length, CharacterSet::UTF8);
        assert_eq!(change(text(10), None, text(20), None), None);
        assert_eq!(change(text(10), None, text(5), None), Some(isc::DYN_CHAR_FLD_TOO_SMALL));
        assert_eq!(change(text(10), None, SqlType::INTEGER, None), Some(isc::DYN_DTYPE_CONV_INVALID));
    }

    #[test]
    fn numbers_keep_their_width_and_their_digits() {
        assert_eq!(change(SqlType::INTEGER, None, SqlType::BIGINT, None), None);
        assert_eq!(
            change(SqlType::INTEGER, None, SqlType::SMALLINT, None),
            Some(isc::DYN_INVALID_DTYPE_CONVERSION)
        );
        let numeric = |digits: u8, scale| {
            (SqlType::Exact { width: ExactWidth::Int64, scale, subtype: ExactSubtype::Numeric }, Some(digits))
        };
        let (more_scale, digits) = numeric(10, -4);
        assert_eq!(change(NUMERIC_10_2, Some(10), more_scale, digits), Some(isc::DYN_SCALE_TOO_BIG));
        let (fits, digits) = numeric(12, -4);
        assert_eq!(change(NUMERIC_10_2, Some(10), fits, digits), None);
    }

    #[test]
    fn numbers_become_texts_that_are_long_enough() {
        let error =
            check_change("NN", (&NUMERIC_10_2, Some(10)), (&SqlType::varchar(5, CharacterSet::UTF8), None))
                .expect_err("five characters are too few");
        assert_eq!(error, Error::new(isc::DYN_CHAR_FLD_TOO_SMALL).with("NN").with(21));
    }
}
