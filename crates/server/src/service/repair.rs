//! The service that repairs databases (isc_action_svc_repair), as far as it is about transactions in limbo: it lists them, and commits
//! them or rolls them back one by one.
//!
//! A transaction that has parts in other databases is decided in this one only: the service does not attach to others.

use std::sync::Arc;

use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{StartItem, StartValue, spb};

use super::backup::attach;
use super::text;
use crate::handshake::Identity;
use crate::server::Shared;

/// Items of isc_info_svc_limbo_trans: a transaction's number, in four bytes or in eight.
const SINGLE: u8 = 19;
const SINGLE_64: u8 = 47;

/// Whom the privilege to repair is asked by.
const PRIVILEGE: &str = "USE_GFIX_UTILITY";

/// Does what is asked for; gives the transactions in limbo if that is to list them.
///
/// # Errors
/// `isc_wish_list` for what is not built; those of attaching and of deciding.
pub(super) fn repair(shared: &Arc<Shared>, identity: &Identity, items: &[StartItem]) -> Result<Vec<u64>> {
    let database = text(items, spb::DBNAME).ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
    let (mut lists, mut decisions) = (false, Vec::new());
    for item in items {
        match (item.tag, &item.value) {
            (spb::OPTIONS, StartValue::Integer(bits))
                if *bits == i32::from(spb::repair::LIST_LIMBO_TRANS) =>
            {
                lists = true
            }
            (spb::DBNAME | spb::repair::PAR_WORKERS, _) => {}
            _ => decisions.push(Decision::of(item)?),
        }
    }
    if !lists && decisions.is_empty() {
        return Err(Error::new(isc::BAD_SPB_FORM));
    }
    let mut attachment = attach(shared, identity, &database, PRIVILEGE)?;
    for Decision { id, commits } in decisions {
        let transaction = attachment.reconnect_transaction(id)?;
        match commits {
            true => attachment.commit(transaction)?,
            false => attachment.rollback(transaction)?,
        }
    }
    Ok(if lists { attachment.prepared_transactions() } else { Vec::new() })
}

/// How a transaction is to end.
struct Decision {
    id: u64,
    commits: bool,
}

impl Decision {
    fn of(item: &StartItem) -> Result<Decision> {
        let commits = match item.tag {
            spb::repair::COMMIT_TRANS | spb::repair::COMMIT_TRANS_64 => true,
            spb::repair::ROLLBACK_TRANS | spb::repair::ROLLBACK_TRANS_64 => false,
            _ => return Err(Error::new(isc::WISH_LIST)),
        };
        match item.value {
            StartValue::Integer(id) => Ok(Decision { id: u64::from(id.cast_unsigned()), commits }),
            StartValue::Big(id) => Ok(Decision { id: id.cast_unsigned(), commits }),
            _ => Err(Error::new(isc::BAD_SPB_FORM)),
        }
    }
}

/// The items of as many transactions as fit into so many bytes, which are taken out of the list.
pub(super) fn take_items(transactions: &mut Vec<u64>, room: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut taken = 0;
    for id in transactions.iter() {
        let item = match u32::try_from(*id) {
            Ok(short) => [&[SINGLE], &short.to_le_bytes()[..]].concat(),
            Err(_) => [&[SINGLE_64], &id.to_le_bytes()[..]].concat(),
        };
        if out.len() + item.len() > room {
            break;
        }
        out.extend(item);
        taken += 1;
    }
    transactions.drain(..taken);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_told_as_far_as_there_is_room() {
        let mut list = vec![7, 1 << 32, 8];
        assert_eq!(take_items(&mut list, 13), [19, 7, 0, 0, 0]);
        assert_eq!(take_items(&mut list, 14), [47, 0, 0, 0, 0, 1, 0, 0, 0, 19, 8, 0, 0, 0]);
        assert_eq!((take_items(&mut list, 99), list), (Vec::new(), Vec::new()));
    }
}
