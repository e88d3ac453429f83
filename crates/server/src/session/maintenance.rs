//! What administration tools (gfix) ask of a database by attaching to it.
//!
//! What is not built is refused by its name: nothing is done in silence that was asked for.
//! Source: wire-protocol.md, 11.2; FirebirdSQL/firebird consts_pub.h (isc_dpb_shut_*, isc_dpb_verify).

use std::time::Duration;

use farbird_engine::maintenance::{Maintenance, Shutdown, ShutdownMode, ShutdownWait};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{Clumplet, ClumpletReader, dpb};

/// isc_dpb_shut_mode_mask, with the modes under it.
const MODE_MASK: i64 = 0xF0;
const MODE_DEFAULT: i64 = 0x00;
const MODE_NORMAL: i64 = 0x10;
const MODE_MULTI: i64 = 0x20;
const MODE_SINGLE: i64 = 0x30;
const MODE_FULL: i64 = 0x40;
/// isc_dpb_shut_attachment, isc_dpb_shut_transaction.
const WAIT_ATTACHMENTS: i64 = 0x02;
const WAIT_TRANSACTIONS: i64 = 0x04;
/// isc_dpb_ignore, isc_dpb_repair: bits of isc_dpb_verify.
const VERIFY_REPAIR: i64 = 0x20;
const VERIFY_IGNORE: i64 = 0x40;

/// Understands what a DPB asks to be done with the database.
///
/// # Errors
/// `isc_wish_list` for what is not built; `isc_bad_dpb_content` for numbers out of range.
pub(super) fn parse(bytes: &[u8]) -> Result<Maintenance> {
    let mut wanted = Maintenance::default();
    let mut delay_seconds = 0;
    for item in ClumpletReader::dpb(bytes).map_err(|_| Error::new(isc::BAD_DPB_FORM))? {
        let item = item.map_err(|_| Error::new(isc::BAD_DPB_FORM))?;
        match item.tag {
            dpb::SHUTDOWN_DELAY => {
                delay_seconds = i32::try_from(number(&item)).map_err(|_| Error::new(isc::BAD_DPB_CONTENT))?;
            }
            _ => parse_item(&item, &mut wanted)?,
        }
    }
    if let Some(shutdown) = &mut wanted.shutdown {
        shutdown.timeout = Duration::from_secs(u64::try_from(delay_seconds).unwrap_or(0));
    }
    Ok(wanted)
}

fn parse_item(item: &Clumplet<'_>, wanted: &mut Maintenance) -> Result<()> {
    let number = number(item);
    match item.tag {
        dpb::SHUTDOWN => {
            let wait = match number {
                bits if bits & WAIT_ATTACHMENTS != 0 => ShutdownWait::Attachments,
                bits if bits & WAIT_TRANSACTIONS != 0 => ShutdownWait::Transactions,
                _ => ShutdownWait::Force,
            };
            let mode = mode(number, ShutdownMode::Multi)?;
            wanted.shutdown = Some(Shutdown { mode, wait, timeout: Duration::ZERO });
        }
        dpb::ONLINE => wanted.online = Some(mode(number, ShutdownMode::Normal)?),
        dpb::VERIFY if number & VERIFY_REPAIR != 0 => {
            return Err(refused("mending a database; farbird check says what can be done"));
        }
        dpb::VERIFY if number & VERIFY_IGNORE != 0 => return Err(refused("a check without checksums")),
        dpb::VERIFY => wanted.verify = true,
        dpb::SWEEP => wanted.sweep = true,
        dpb::NOLINGER => wanted.no_linger = true,
        dpb::SWEEP_INTERVAL => {
            let interval = u32::try_from(number).map_err(|_| Error::new(isc::BAD_DPB_CONTENT))?;
            wanted.sweep_interval = Some(interval);
        }
        dpb::SET_DB_READONLY => wanted.read_only = Some(number != 0),
        dpb::SET_DB_SQL_DIALECT => wanted.dialect = Some(u8::try_from(number).unwrap_or(u8::MAX)),
        dpb::FORCE_WRITE if number == 0 => return Err(refused("asynchronous writes")),
        dpb::NO_RESERVE if number != 0 => return Err(refused("pages without reserve")),
        dpb::SET_PAGE_BUFFERS => {
            return Err(refused("page buffers of a database; database-cache-mib sets the cache"));
        }
        dpb::ACTIVATE_SHADOW => return Err(refused("shadows")),
        dpb::SET_DB_REPLICA if number != 0 => return Err(refused("replicas")),
        dpb::UPGRADE_DB => return Err(refused("upgrading the on-disk structure; there is one only")),
        _ => {}
    }
    Ok(())
}

fn number(item: &Clumplet<'_>) -> i64 {
    item.integer().unwrap_or_default()
}

fn mode(bits: i64, default: ShutdownMode) -> Result<ShutdownMode> {
    Ok(match bits & MODE_MASK {
        MODE_DEFAULT => default,
        MODE_NORMAL => ShutdownMode::Normal,
        MODE_MULTI => ShutdownMode::Multi,
        MODE_SINGLE => ShutdownMode::Single,
        MODE_FULL => ShutdownMode::Full,
        _ => return Err(Error::new(isc::BAD_DPB_CONTENT)),
    })
}

/// What is not built, by its name.
pub(crate) fn refused(what: &str) -> Error {
    Error::new(isc::WISH_LIST).and(isc::RANDOM).with(what)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A DPB of version 1 with these items.
    fn block(items: &[(u8, &[u8])]) -> Vec<u8> {
        let item = |(tag, data): &(u8, &[u8])| [&[*tag, u8::try_from(data.len()).unwrap()], *data].concat();
        [vec![1], items.iter().flat_map(item).collect()].concat()
    }

    #[test]
    fn what_gfix_asks_for_is_understood() {
        // gfix -shut single -attach 5, and -online.
        let wanted = parse(&block(&[(dpb::SHUTDOWN, &[0x32]), (dpb::SHUTDOWN_DELAY, &[5, 0])])).unwrap();
        let shutdown = Shutdown {
            mode: ShutdownMode::Single,
            wait: ShutdownWait::Attachments,
            timeout: Duration::from_secs(5),
        };
        assert_eq!(wanted, Maintenance { shutdown: Some(shutdown), ..Maintenance::default() });
        let online = parse(&block(&[(dpb::ONLINE, &[0])])).unwrap().online;
        assert_eq!(online, Some(ShutdownMode::Normal));
        let settings = [(dpb::SET_DB_READONLY, &[1][..]), (dpb::SWEEP_INTERVAL, &[0xD2, 4, 0, 0])];
        let wanted = parse(&block(&settings)).unwrap();
        assert_eq!((wanted.read_only, wanted.sweep_interval), (Some(true), Some(1234)));
        assert!(parse(&block(&[(dpb::VERIFY, &[1])])).unwrap().verify);
        assert_eq!(parse(&block(&[(dpb::USER_NAME, b"SYSDBA")])).unwrap(), Maintenance::default());
    }

    #[test]
    fn what_is_not_built_is_refused_and_what_is_so_already_is_not() {
        for (tag, data) in [
            (dpb::FORCE_WRITE, &[0][..]),
            (dpb::NO_RESERVE, &[1]),
            (dpb::SET_PAGE_BUFFERS, &[0, 4]),
            (dpb::VERIFY, &[0x21]),
            (dpb::SET_DB_REPLICA, &[1]),
        ] {
            let error = parse(&block(&[(tag, data)])).unwrap_err();
            assert!(error.has(isc::WISH_LIST), "{tag}: {error}");
        }
        for (tag, data) in
            [(dpb::FORCE_WRITE, &[1][..]), (dpb::NO_RESERVE, &[0]), (dpb::SET_DB_REPLICA, &[0])]
        {
            assert_eq!(parse(&block(&[(tag, data)])), Ok(Maintenance::default()), "{tag}");
        }
        let for_ever = i64::MAX.to_le_bytes();
        for (tag, data) in [
            (dpb::SHUTDOWN, &[0x50][..]),
            (dpb::SWEEP_INTERVAL, &[0xFF]),
            (dpb::SHUTDOWN_DELAY, &for_ever),
            (dpb::SHUTDOWN_DELAY, &[0, 0, 0, 0x80, 0, 0, 0, 0]),
        ] {
            assert!(parse(&block(&[(tag, data)])).is_err(), "{tag}");
        }
    }
}
