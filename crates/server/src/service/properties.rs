//! The service that changes what holds for a whole database (isc_action_svc_properties): gfix by the services manager.
//!
//! What is not built is refused by its name, as for gfix itself (`session::maintenance`).
//! Source: wire-protocol.md, 11.5 (isc_spb_prp_).

use std::sync::Arc;
use std::time::Duration;

use farbird_engine::maintenance::{Maintenance, Shutdown, ShutdownMode, ShutdownWait};
use farbird_engine::session::Interrupt;
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::spb::{self, properties};
use farbird_wire::clumplet::{StartItem, StartValue};

use super::access::maintain;
use super::task::{Running, run};
use super::text;
use crate::connection_input::ConnectionInput;
use crate::handshake::Identity;
use crate::session::maintenance::refused;
use crate::shared::Shared;

/// As Firebird names the service.
const NAME: &str = "Database Properties";

/// Does what is asked for; as in Firebird the start of the service is answered when it is done. It does not outlive its client's `line`.
///
/// # Errors
/// `isc_bad_spb_form`, `isc_wish_list` for what is not built; those of attaching and of what is done.
pub(super) fn properties(
    shared: &Arc<Shared>,
    identity: &Identity,
    items: &[StartItem],
    line: &ConnectionInput,
) -> Result<Running> {
    let database = text(items, spb::DBNAME).ok_or_else(bad_form)?;
    let wanted = parse(items)?;
    let (server, identity) = (Arc::clone(shared), identity.clone());
    let running = run(shared, NAME, true, Arc::new(Interrupt::new()), move |_, interrupt| {
        maintain(&server, &identity, &database, &wanted, interrupt).map(|_| ())
    });
    running.finish(line)?;
    Ok(running)
}

fn parse(items: &[StartItem]) -> Result<Maintenance> {
    let mut wanted = Maintenance::default();
    let mut mode = ShutdownMode::Multi;
    let mut wait = None;
    for item in items {
        match (item.tag, &item.value) {
            (spb::DBNAME, _) => {}
            (spb::OPTIONS, StartValue::Integer(bits)) => {
                let bits = bits.cast_unsigned();
                if bits & properties::ACTIVATE != 0 {
                    return Err(refused("shadows"));
                }
                wanted.no_linger |= bits & properties::NOLINGER != 0;
                if bits & properties::DB_ONLINE != 0 {
                    wanted.online = Some(ShutdownMode::Normal);
                }
            }
            (properties::SWEEP_INTERVAL, StartValue::Integer(interval)) => {
                wanted.sweep_interval = Some(u32::try_from(*interval).map_err(|_| bad_form())?);
            }
            (properties::SET_SQL_DIALECT, StartValue::Integer(dialect)) => {
                wanted.dialect = Some(u8::try_from(*dialect).unwrap_or(u8::MAX));
            }
            (properties::ACCESS_MODE, StartValue::Byte(mode)) => {
                wanted.read_only = Some(match *mode {
                    properties::AM_READONLY => true,
                    properties::AM_READWRITE => false,
                    _ => return Err(bad_form()),
                });
            }
            (properties::SHUTDOWN_DB | properties::FORCE_SHUTDOWN, StartValue::Integer(seconds)) => {
                wait = Some((ShutdownWait::Force, *seconds));
            }
            (
                properties::DENY_NEW_ATTACHMENTS | properties::ATTACHMENTS_SHUTDOWN,
                StartValue::Integer(seconds),
            ) => wait = Some((ShutdownWait::Attachments, *seconds)),
            (
                properties::DENY_NEW_TRANSACTIONS | properties::TRANSACTIONS_SHUTDOWN,
                StartValue::Integer(seconds),
            ) => wait = Some((ShutdownWait::Transactions, *seconds)),
            (properties::SHUTDOWN_MODE, StartValue::Byte(number)) => {
                mode = mode_of(*number)?;
                wait = wait.or(Some((ShutdownWait::Force, 0)));
            }
            (properties::ONLINE_MODE, StartValue::Byte(number)) => wanted.online = Some(mode_of(*number)?),
            _ => refuse_or_ignore(item)?,
        }
    }
    if let Some((wait, seconds)) = wait {
        let timeout = Duration::from_secs(u64::try_from(seconds).map_err(|_| bad_form())?);
        wanted.shutdown = Some(Shutdown { mode, wait, timeout });
    }
    Ok(wanted)
}

/// What is not built, and what is so already.
fn refuse_or_ignore(item: &StartItem) -> Result<()> {
    match (item.tag, &item.value) {
        (properties::PAGE_BUFFERS, _) => {
            Err(refused("page buffers of a database; database-cache-mib sets the cache"))
        }
        (properties::RESERVE_SPACE, StartValue::Byte(properties::RES))
        | (properties::WRITE_MODE, StartValue::Byte(properties::WM_SYNC))
        | (properties::REPLICA_MODE, StartValue::Byte(properties::RM_NONE)) => Ok(()),
        (properties::RESERVE_SPACE, StartValue::Byte(properties::RES_USE_FULL)) => {
            Err(refused("pages without reserve"))
        }
        (properties::WRITE_MODE, StartValue::Byte(properties::WM_ASYNC)) => {
            Err(refused("asynchronous writes"))
        }
        (properties::REPLICA_MODE, StartValue::Byte(properties::RM_READONLY | properties::RM_READWRITE)) => {
            Err(refused("replicas"))
        }
        _ => Err(bad_form()),
    }
}

fn mode_of(number: u8) -> Result<ShutdownMode> {
    Ok(match number {
        properties::SM_NORMAL => ShutdownMode::Normal,
        properties::SM_MULTI => ShutdownMode::Multi,
        properties::SM_SINGLE => ShutdownMode::Single,
        properties::SM_FULL => ShutdownMode::Full,
        _ => return Err(bad_form()),
    })
}

fn bad_form() -> Error {
    Error::new(isc::BAD_SPB_FORM)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(tag: u8, value: StartValue) -> StartItem {
        StartItem { tag, value }
    }

    #[test]
    fn a_shutdown_needs_a_way_and_has_a_mode() {
        let items = [
            item(properties::SHUTDOWN_MODE, StartValue::Byte(properties::SM_FULL)),
            item(properties::ATTACHMENTS_SHUTDOWN, StartValue::Integer(7)),
        ];
        let shutdown = Shutdown {
            mode: ShutdownMode::Full,
            wait: ShutdownWait::Attachments,
            timeout: Duration::from_secs(7),
        };
        assert_eq!(parse(&items).unwrap().shutdown, Some(shutdown));
        // The old way names no mode.
        let old = parse(&[item(properties::SHUTDOWN_DB, StartValue::Integer(0))]).unwrap().shutdown.unwrap();
        assert_eq!((old.mode, old.wait), (ShutdownMode::Multi, ShutdownWait::Force));
        assert!(parse(&[item(properties::SHUTDOWN_DB, StartValue::Integer(-1))]).is_err());
        assert!(parse(&[item(properties::SHUTDOWN_MODE, StartValue::Byte(9))]).is_err());
    }

    #[test]
    fn what_is_not_built_is_refused() {
        for refused in [
            item(properties::WRITE_MODE, StartValue::Byte(properties::WM_ASYNC)),
            item(properties::RESERVE_SPACE, StartValue::Byte(properties::RES_USE_FULL)),
            item(properties::PAGE_BUFFERS, StartValue::Integer(500)),
            item(properties::REPLICA_MODE, StartValue::Byte(properties::RM_READONLY)),
            item(spb::OPTIONS, StartValue::Integer(256)),
        ] {
            assert!(parse(std::slice::from_ref(&refused)).unwrap_err().has(isc::WISH_LIST), "{refused:?}");
        }
        let same = item(properties::WRITE_MODE, StartValue::Byte(properties::WM_SYNC));
        assert_eq!(parse(&[same]), Ok(Maintenance::default()));
    }
}
