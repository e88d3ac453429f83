//! System tables as gbak sees them while it restores a database: the server's own rows, and behind them those that gbak has stored.
//! What has been made of these already is not shown beside them.

use farbird_types::{Result, SqlType, Value};

use crate::catalog::Relation;
use crate::expression::ExecutionContext;
use crate::function::blob::bytes_blob;
use crate::session::Session;
use crate::system::rows::rows as rows_of_catalog;

/// Tables whose rows do not say whether they are the server's own, and are.
const OF_SERVER: [&str; 4] = ["RDB$DATABASE", "RDB$KEYWORDS", "RDB$TIME_ZONES", "RDB$CONFIG"];
const SYSTEM_FLAG: &str = "RDB$SYSTEM_FLAG";

/// Whether the session that asks is one by which gbak restores a database, and this is a table that gbak stores into.
fn is_shown(session: &Session, relation: &Relation) -> bool {
    relation.name.starts_with("RDB$") && session.restored.lock().is_some()
}

/// The rows of a system table, as the catalog has them, and to gbak as it shall see them.
///
/// # Errors
/// From making BLOBs, and from the user directory.
pub(crate) fn rows(
    context: &mut ExecutionContext<'_>,
    relation: &Relation,
    wanted: &[bool],
) -> Result<Vec<Vec<Value>>> {
    if !is_shown(context.session, relation) {
        return rows_of_catalog(context, relation, wanted);
    }
    let flag = relation.columns.iter().position(|column| column.name == SYSTEM_FLAG);
    let mut asked = wanted.to_vec();
    asked.resize(relation.columns.len(), false);
    if let Some(asked) = flag.and_then(|flag| asked.get_mut(flag)) {
        *asked = true;
    }
    let mut shown = match flag.is_some() || OF_SERVER.contains(&relation.name.as_str()) {
        true => rows_of_catalog(context, relation, &asked)?,
        false => Vec::new(),
    };
    if let Some(flag) = flag {
        shown.retain(|row| matches!(row.get(flag), Some(Value::Integer { unscaled: 1, .. })));
    }
    if let Some(restored) = context.session.restored.lock().as_mut() {
        restored.show(&relation.name, &mut shown);
    }
    for row in &mut shown {
        for ((value, column), wanted) in row.iter_mut().zip(&relation.columns).zip(&asked) {
            // What was stored is kept as bytes, which become a BLOB for whoever asks.
            if let (SqlType::Blob { subtype, character_set, .. }, Value::Text(bytes)) =
                (column.sql_type, &*value)
            {
                *value = match wanted {
                    true => Value::Blob(bytes_blob(context, bytes.bytes(), subtype, character_set)?),
                    false => Value::Null,
                };
            }
        }
    }
    Ok(shown)
}
