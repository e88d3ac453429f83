//! The service that repairs databases (isc_action_svc_repair): it checks and sweeps them; of transactions in limbo it makes a list, and
//! commits them or rolls them back one by one.
//!
//! A transaction that has parts in other databases is decided in this one only: the service does not attach to others.

use std::sync::Arc;

use farbird_engine::check::{DamageKind, DatabaseReport};
use farbird_engine::maintenance::Maintenance;
use farbird_engine::session::{Interrupt, Tool};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{StartItem, StartValue, spb};

use super::access::{attach, maintain};
use super::pipe::PipeMessages;
use super::task::{Running, run};
use super::text;
use crate::connection_input::ConnectionInput;
use crate::handshake::Identity;
use crate::session::maintenance::refused;
use crate::shared::Shared;

/// Items of isc_info_svc_limbo_trans: a transaction's number, in four bytes or in eight.
const SINGLE: u8 = 19;
const SINGLE_64: u8 = 47;

/// As Firebird names the service.
const NAME: &str = "Repair Database";

/// What a repair leads to.
pub(super) enum Repaired {
    /// Transactions in limbo, if they were to be listed.
    Limbo(Vec<u64>),
    /// What a check has to say.
    Report(Running),
}

/// Does what is asked for. A check or a sweep does not outlive its client's `line`.
///
/// # Errors
/// `isc_wish_list` for what is not built; those of attaching, checking, sweeping and deciding.
pub(super) fn repair(
    shared: &Arc<Shared>,
    identity: &Identity,
    items: &[StartItem],
    line: &ConnectionInput,
) -> Result<Repaired> {
    let database = text(items, spb::DBNAME).ok_or_else(|| Error::new(isc::BAD_SPB_FORM))?;
    let (mut options, mut decisions) = (0, Vec::new());
    for item in items {
        match (item.tag, &item.value) {
            (spb::OPTIONS, StartValue::Integer(bits)) => options |= bits.cast_unsigned(),
            (spb::DBNAME | spb::repair::PAR_WORKERS, _) => {}
            _ => decisions.push(Decision::of(item)?),
        }
    }
    let lists = options & u32::from(spb::repair::LIST_LIMBO_TRANS) != 0;
    if lists || !decisions.is_empty() {
        return decide(shared, identity, &database, lists, decisions).map(Repaired::Limbo);
    }
    let wanted = maintenance(options)?;
    let (server, identity) = (Arc::clone(shared), identity.clone());
    // As in Firebird the start of the service is answered when it is done.
    let running = run(shared, NAME, true, Arc::new(Interrupt::new()), move |pipe, interrupt| {
        let attachment = maintain(&server, &identity, &database, &wanted, interrupt)?;
        let lines = attachment.verification().map(summary).unwrap_or_default();
        lines.iter().for_each(|line| PipeMessages(Arc::clone(pipe)).line(line));
        Ok(())
    });
    running.finish(line)?;
    Ok(Repaired::Report(running))
}

/// What bits of isc_spb_options ask for beside transactions in limbo.
fn maintenance(options: u32) -> Result<Maintenance> {
    use spb::repair;
    let has = |bit: u8| options & u32::from(bit) != 0;
    if has(repair::MEND_DB) {
        return Err(refused("mending a database; farbird check says what can be done"));
    }
    if has(repair::IGNORE_CHECKSUM) {
        return Err(refused("a check without checksums"));
    }
    if options & repair::UPGRADE_DB != 0 {
        return Err(refused("upgrading the on-disk structure; there is one only"));
    }
    // There are no shadows that could be unavailable, and indexes of other collations are made anew by attaching.
    let is_done = has(repair::KILL_SHADOWS) || options & repair::ICU != 0;
    let verify = has(repair::VALIDATE_DB);
    let sweep = has(repair::SWEEP_DB);
    match verify || sweep || is_done {
        true => Ok(Maintenance { verify, sweep, ..Maintenance::default() }),
        false => Err(Error::new(isc::BAD_SPB_FORM)),
    }
}

/// How many errors were found, as gfix tells it; nothing if there are none.
fn summary(report: &DatabaseReport) -> Vec<String> {
    let counts = [
        (DamageKind::Rows, "record level"),
        (DamageKind::Blobs, "Blob page"),
        (DamageKind::Indexes, "index page"),
        (DamageKind::Pages, "database page"),
    ];
    let counted = counts.into_iter().map(|(kind, what)| (report.errors(kind), what));
    let lines: Vec<String> = counted
        .filter(|(errors, _)| *errors > 0)
        .map(|(errors, what)| format!("\tNumber of {what} errors\t: {errors}"))
        .collect();
    match lines.is_empty() {
        true => Vec::new(),
        false => {
            ["Summary of validation errors".to_owned(), String::new()].into_iter().chain(lines).collect()
        }
    }
}

/// Ends transactions in limbo; lists them if that is asked for.
fn decide(
    shared: &Arc<Shared>,
    identity: &Identity,
    database: &str,
    lists: bool,
    decisions: Vec<Decision>,
) -> Result<Vec<u64>> {
    let mut attachment = attach(shared, identity, database, Tool::Gfix)?;
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
