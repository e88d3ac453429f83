//! MAKE_DBKEY: the RDB$DB_KEY of a row from its numbers.
//!
//! Source: Firebird 5 language reference, section MAKE_DBKEY. The store has no data and pointer pages: a record is
//! named by its number in the table alone.

use farbird_types::{CharacterSet, ColumnType, Error, Result, SqlType, Value, isc};

use crate::context::Context;
use crate::result_type::required;
use crate::{Call, ScalarFunction, argument};

/// The functions of this module.
pub const FUNCTIONS: &[ScalarFunction] = &[ScalarFunction {
    name: "MAKE_DBKEY",
    arity: (2, 2),
    result: |_, _| Ok(ColumnType { sql_type: SqlType::char(8, CharacterSet::OCTETS), nullable: true }),
    parameter_type: |index, _| required(if index == 0 { SqlType::INTEGER } else { SqlType::BIGINT }),
    body: make_dbkey,
    strict: true,
    deterministic: true,
}];

/// MAKE_DBKEY(table, number): the table by name or RDB$RELATION_ID, the record by number from 0.
fn make_dbkey(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let relation = match call.argument(0) {
        Value::Text(name) => {
            let name = name.decode_lossy().trim_end().to_owned();
            let catalog = context.transaction.current_catalog();
            catalog
                .relation(&name)
                .map(|relation| relation.id.0)
                .ok_or_else(|| Error::new(isc::RELNOTDEF).with(name))?
        }
        number => u32::try_from(argument::integer(context, number)?)
            .map_err(|_| Error::new(isc::RELNOTDEF).with("?"))?,
    };
    let number = argument::integer(context, call.argument(1))?;
    Ok(u64::try_from(number).map_or(Value::Null, |number| db_key(relation, number.saturating_add(1))))
}

/// RDB$DB_KEY: two bytes of relation number, the high two bytes of the row number, its low four bytes; little-endian,
/// as Firebird lays it out.
pub fn db_key(relation: u32, row: u64) -> Value {
    let mut key = Vec::with_capacity(8);
    key.extend(relation.to_le_bytes().into_iter().take(2));
    key.extend(row.to_le_bytes().into_iter().skip(4).take(2));
    key.extend(row.to_le_bytes().into_iter().take(4));
    Value::Text(farbird_types::Text::new(key, farbird_types::CharacterSet::OCTETS))
}
