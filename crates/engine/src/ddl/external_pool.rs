//! ALTER EXTERNAL CONNECTIONS POOL: the idle connections of EXECUTE STATEMENT ON EXTERNAL. It is the server's, not a database's,
//! and lasts until the server ends; no transaction undoes it.

use std::time::Duration;

use farbird_sql::ast::{ConnectionsPoolChange, Timeout, TimeoutUnit};
use farbird_types::{Error, Result, isc};

use crate::catalog::SystemPrivilege;
use crate::ddl::editor::Editor;
use crate::session::external::PoolChange;

/// Firebird's limits.
const SIZE_MAX: u32 = 1_000;
const LIFETIME_SECONDS: std::ops::RangeInclusive<u64> = 1..=86_400;

/// ALTER EXTERNAL CONNECTIONS POOL.
///
/// # Errors
/// `isc_miss_prvlg`; a value beyond its limits.
pub(super) fn alter(editor: &mut Editor<'_, '_>, change: &ConnectionsPoolChange) -> Result<()> {
    let context = &*editor.context;
    if !context.actor().has(&context.transaction.current_catalog(), SystemPrivilege::ModifyExtConnPool) {
        return Err(Error::new(isc::NO_META_UPDATE).and(isc::MISS_PRVLG).with("MODIFY_EXT_CONN_POOL"));
    }
    let change = match change {
        ConnectionsPoolChange::Size(size) if *size > SIZE_MAX => {
            return Err(refused(format!("the pool can have 0 to {SIZE_MAX} connections, not {size}")));
        }
        ConnectionsPoolChange::Size(size) => PoolChange::Size(*size),
        ConnectionsPoolChange::Lifetime(lifetime) => {
            let seconds = seconds(*lifetime);
            if !LIFETIME_SECONDS.contains(&seconds) {
                return Err(refused(format!(
                    "a connection of the pool can wait {} to {} seconds, not {seconds}",
                    LIFETIME_SECONDS.start(),
                    LIFETIME_SECONDS.end()
                )));
            }
            PoolChange::Lifetime(Duration::from_secs(seconds))
        }
        ConnectionsPoolChange::ClearAll => PoolChange::ClearAll,
        ConnectionsPoolChange::ClearOldest => PoolChange::ClearOldest,
        ConnectionsPoolChange::Clear(_) => {
            return Err(refused(String::from("CLEAR takes ALL or OLDEST")));
        }
    };
    let Some(sources) = context.database.external.get() else {
        return Err(refused(String::from("this process connects to no other databases: a server does")));
    };
    sources.change_pool(change);
    Ok(())
}

fn refused(why: String) -> Error {
    Error::new(isc::NO_META_UPDATE).and(isc::RANDOM).with(why)
}

fn seconds(lifetime: Timeout) -> u64 {
    let count = u64::from(lifetime.count);
    match lifetime.unit {
        TimeoutUnit::Hour => count * 3_600,
        TimeoutUnit::Minute => count * 60,
        TimeoutUnit::Second => count,
        TimeoutUnit::Millisecond => count / 1_000,
    }
}
