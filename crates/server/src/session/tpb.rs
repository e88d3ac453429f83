//! Transaction parameter blocks.
//!
//! Promises: what contradicts itself is refused with the code that says which items do, as in Firebird.
//! Source: wire-protocol.md, 11.3; the rules and their codes: Firebird 5.0.4, tra.cpp, transaction_options, asked item by
//! item.

use std::time::Duration;

use farbird_engine::api::{Isolation, TableReservation, TransactionParameters};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::tpb;

/// Versions of the block that are understood.
const VERSIONS: [u8; 2] = [1, 3];
/// Longest name of a table, in bytes.
const NAME_BYTES_MAX: usize = 252;
/// Longest wait for a lock, in seconds.
const LOCK_TIMEOUT_MAX: i64 = i16::MAX as i64;

/// Understands a TPB; an empty one is Firebird's default, SNAPSHOT, WAIT, READ WRITE.
///
/// # Errors
/// `isc_bad_tpb_form` for unknown items; `isc_bad_tpb_content` for what contradicts itself, is said twice or cut short.
pub(super) fn parse(bytes: &[u8]) -> Result<TransactionParameters> {
    let Some((version, mut rest)) = bytes.split_first() else { return Ok(TransactionParameters::default()) };
    if !VERSIONS.contains(version) {
        return Err(Error::new(isc::BAD_TPB_FORM).and(isc::WROTPBVER));
    }
    let mut block = Block::default();
    while let Some((item, after)) = rest.split_first() {
        rest = block.item(*item, after)?;
    }
    Ok(block.parameters())
}

/// What has been said so far.
#[derive(Default)]
struct Block {
    isolation: Option<Isolation>,
    read_only: Option<bool>,
    wait: Option<bool>,
    lock_timeout: Option<Duration>,
    /// The kind of READ COMMITTED that was asked for. Here it is always read consistency; the others change nothing that
    /// can be seen.
    record_version: Option<u8>,
    read_consistency: bool,
    at_snapshot: Option<u64>,
    auto_commit: bool,
    no_auto_undo: bool,
    ignore_limbo: bool,
    reservations: Vec<TableReservation>,
}

impl Block {
    /// Takes an item; gives what comes after it.
    fn item<'a>(&mut self, item: u8, rest: &'a [u8]) -> Result<&'a [u8]> {
        match item {
            tpb::CONSISTENCY => self.isolate(item, Isolation::TableStability)?,
            tpb::CONCURRENCY => self.isolate(item, Isolation::Snapshot)?,
            tpb::READ_COMMITTED => self.isolate(item, Isolation::ReadCommitted)?,
            tpb::REC_VERSION | tpb::NO_REC_VERSION => {
                self.check_read_committed(item)?;
                if self.record_version.is_some() {
                    return Err(twice(item));
                }
                if self.read_consistency {
                    return Err(conflicting(item, tpb::READ_CONSISTENCY));
                }
                self.record_version = Some(item);
            }
            tpb::READ_CONSISTENCY => {
                self.check_read_committed(item)?;
                if self.read_consistency {
                    return Err(twice(item));
                }
                if let Some(other) = self.record_version {
                    return Err(conflicting(item, other));
                }
                self.read_consistency = true;
            }
            tpb::WAIT | tpb::NOWAIT => {
                let waits = item == tpb::WAIT;
                if !waits && self.lock_timeout.is_some() {
                    return Err(conflicting(item, tpb::LOCK_TIMEOUT));
                }
                once(&mut self.wait, waits, item, if waits { tpb::NOWAIT } else { tpb::WAIT })?;
            }
            tpb::READ | tpb::WRITE => {
                let reads = item == tpb::READ;
                once(&mut self.read_only, reads, item, if reads { tpb::WRITE } else { tpb::READ })?;
                if reads && self.reservations.iter().any(|reservation| reservation.write) {
                    return Err(content(isc::TPB_READTXN_AFTER_WRITELOCK));
                }
            }
            tpb::LOCK_TIMEOUT => return self.lock_timeout(rest),
            tpb::AT_SNAPSHOT_NUMBER => return self.snapshot(rest),
            tpb::LOCK_READ | tpb::LOCK_WRITE => return self.reserve(item, rest),
            tpb::SHARED | tpb::PROTECTED | tpb::EXCLUSIVE => {
                return Err(content(isc::TPB_RESERV_BEFORE_TABLE).with(name(item)));
            }
            tpb::VERB_TIME | tpb::COMMIT_TIME => return counted(item, rest).map(|(_, after)| after),
            tpb::AUTOCOMMIT => self.auto_commit = true,
            tpb::NO_AUTO_UNDO => self.no_auto_undo = true,
            tpb::IGNORE_LIMBO => self.ignore_limbo = true,
            tpb::RESTART_REQUESTS | tpb::AUTO_RELEASE_TEMP_BLOBID => {}
            _ => return Err(Error::new(isc::BAD_TPB_FORM)),
        }
        Ok(rest)
    }

    fn isolate(&mut self, item: u8, isolation: Isolation) -> Result<()> {
        if self.isolation.is_some() {
            return Err(content(isc::TPB_MULTIPLE_TXN_ISOLATION));
        }
        if self.read_consistency && isolation != Isolation::ReadCommitted {
            return Err(conflicting(item, tpb::READ_CONSISTENCY));
        }
        if self.at_snapshot.is_some() && isolation != Isolation::Snapshot {
            return Err(conflicting(item, tpb::AT_SNAPSHOT_NUMBER));
        }
        self.isolation = Some(isolation);
        Ok(())
    }

    fn check_read_committed(&self, item: u8) -> Result<()> {
        match self.isolation {
            None | Some(Isolation::ReadCommitted) => Ok(()),
            Some(_) => Err(content(isc::TPB_OPTION_WITHOUT_RC).with(name(item))),
        }
    }

    fn lock_timeout<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8]> {
        let item = tpb::LOCK_TIMEOUT;
        if self.wait == Some(false) {
            return Err(conflicting(item, tpb::NOWAIT));
        }
        if self.lock_timeout.is_some() {
            return Err(twice(item));
        }
        let (seconds, after) = number(item, rest, size_of::<i32>())?;
        let invalid = || {
            let seconds = i32::try_from(seconds).unwrap_or(i32::MAX);
            content(isc::TPB_INVALID_VALUE).with(seconds).with(name(item))
        };
        let valid = u64::try_from(seconds).ok().filter(|_| (1..=LOCK_TIMEOUT_MAX).contains(&seconds));
        self.lock_timeout = Some(Duration::from_secs(valid.ok_or_else(invalid)?));
        Ok(after)
    }

    fn snapshot<'a>(&mut self, rest: &'a [u8]) -> Result<&'a [u8]> {
        let item = tpb::AT_SNAPSHOT_NUMBER;
        if self.at_snapshot.is_some() {
            return Err(twice(item));
        }
        match self.isolation {
            Some(Isolation::ReadCommitted) => return Err(conflicting(item, tpb::READ_COMMITTED)),
            Some(Isolation::TableStability) => return Err(conflicting(item, tpb::CONSISTENCY)),
            Some(Isolation::Snapshot) | None => {}
        }
        let (snapshot, after) = number(item, rest, size_of::<i64>())?;
        self.at_snapshot = Some(u64::try_from(snapshot).unwrap_or_default());
        Ok(after)
    }

    /// A table, and behind it how it is to be locked: shared if nothing is said.
    fn reserve<'a>(&mut self, item: u8, rest: &'a [u8]) -> Result<&'a [u8]> {
        let write = item == tpb::LOCK_WRITE;
        if write && self.read_only == Some(true) {
            return Err(content(isc::TPB_WRITELOCK_AFTER_READTXN));
        }
        let (length, rest) =
            rest.split_first().ok_or_else(|| content(isc::TPB_RESERV_MISSING_TLEN).with(name(item)))?;
        let about = |code: u32| content(code).with(i32::from(*length)).with(name(item));
        let length_bytes = usize::from(*length);
        if length_bytes > NAME_BYTES_MAX {
            return Err(about(isc::TPB_RESERV_LONG_TLEN));
        }
        if length_bytes == 0 {
            return Err(content(isc::TPB_RESERV_NULL_TLEN).with(name(item)));
        }
        if rest.is_empty() {
            return Err(about(isc::TPB_RESERV_MISSING_TNAME));
        }
        let (relation, after) =
            rest.split_at_checked(length_bytes).ok_or_else(|| about(isc::TPB_RESERV_CORRUP_TLEN))?;
        let relation = String::from_utf8_lossy(relation).trim_end().to_owned();
        let (protected, after) = match after.split_first() {
            Some((&tpb::SHARED, after)) => (false, after),
            Some((&(tpb::PROTECTED | tpb::EXCLUSIVE), after)) => (true, after),
            _ => (false, after),
        };
        self.reservations.push(TableReservation { relation, write, protected });
        Ok(after)
    }

    fn parameters(self) -> TransactionParameters {
        let implied = self.read_consistency.then_some(Isolation::ReadCommitted);
        TransactionParameters {
            isolation: self.isolation.or(implied).unwrap_or(Isolation::Snapshot),
            read_only: self.read_only.unwrap_or(false),
            lock_timeout: match self.wait {
                Some(false) => Some(Duration::ZERO),
                _ => self.lock_timeout,
            },
            at_snapshot: self.at_snapshot,
            auto_commit: self.auto_commit,
            no_auto_undo: self.no_auto_undo,
            ignore_limbo: self.ignore_limbo,
            reservations: self.reservations,
        }
    }
}

/// Sets a choice between an item and its opposite.
fn once(choice: &mut Option<bool>, value: bool, item: u8, opposite: u8) -> Result<()> {
    match choice.replace(value) {
        None => Ok(()),
        Some(before) if before == value => Err(twice(item)),
        Some(_) => Err(conflicting(item, opposite)),
    }
}

/// Bytes behind their length of one byte.
fn counted(item: u8, rest: &[u8]) -> Result<(&[u8], &[u8])> {
    let (length, rest) = rest.split_first().ok_or_else(|| content(isc::TPB_MISSING_LEN).with(name(item)))?;
    let about = |code: u32| content(code).with(i32::from(*length)).with(name(item));
    if rest.is_empty() && *length > 0 {
        return Err(about(isc::TPB_MISSING_VALUE));
    }
    rest.split_at_checked(usize::from(*length)).ok_or_else(|| about(isc::TPB_CORRUPT_LEN))
}

/// A little-endian number of at most so many bytes.
fn number(item: u8, rest: &[u8], bytes_max: usize) -> Result<(i64, &[u8])> {
    let (bytes, after) = counted(item, rest)?;
    if bytes.is_empty() {
        return Err(content(isc::TPB_NULL_LEN).with(name(item)));
    }
    if bytes.len() > bytes_max {
        let length = i32::try_from(bytes.len()).unwrap_or(i32::MAX);
        return Err(content(isc::TPB_OVERFLOW_LEN).with(length).with(name(item)));
    }
    let value = farbird_wire::clumplet::integer(bytes).unwrap_or_default();
    Ok((value, after))
}

fn content(code: u32) -> Error {
    Error::new(isc::BAD_TPB_CONTENT).and(code)
}

fn twice(item: u8) -> Error {
    content(isc::TPB_MULTIPLE_SPEC).with(name(item))
}

fn conflicting(item: u8, other: u8) -> Error {
    content(isc::TPB_CONFLICTING_OPTIONS).with(name(item)).with(name(other))
}

/// An item's name in messages.
fn name(item: u8) -> &'static str {
    match item {
        tpb::CONSISTENCY => "isc_tpb_consistency",
        tpb::CONCURRENCY => "isc_tpb_concurrency",
        tpb::READ_COMMITTED => "isc_tpb_read_committed",
        tpb::REC_VERSION => "isc_tpb_rec_version",
        tpb::NO_REC_VERSION => "isc_tpb_no_rec_version",
        tpb::READ_CONSISTENCY => "isc_tpb_read_consistency",
        tpb::WAIT => "isc_tpb_wait",
        tpb::NOWAIT => "isc_tpb_nowait",
        tpb::READ => "isc_tpb_read",
        tpb::WRITE => "isc_tpb_write",
        tpb::LOCK_TIMEOUT => "isc_tpb_lock_timeout",
        tpb::AT_SNAPSHOT_NUMBER => "isc_tpb_at_snapshot_number",
        tpb::LOCK_READ => "isc_tpb_lock_read",
        tpb::LOCK_WRITE => "isc_tpb_lock_write",
        tpb::SHARED => "isc_tpb_shared",
        tpb::PROTECTED => "isc_tpb_protected",
        tpb::EXCLUSIVE => "isc_tpb_exclusive",
        tpb::VERB_TIME => "isc_tpb_verb_time",
        tpb::COMMIT_TIME => "isc_tpb_commit_time",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_blocks_are_understood() {
        assert_eq!(parse(&[]).unwrap(), TransactionParameters::default());
        let snapshot = parse(&[3, 2, 6, 9]).unwrap();
        assert_eq!(snapshot, TransactionParameters::default());
        let read_committed = parse(&[3, 15, 17, 7, 8]).unwrap();
        assert_eq!(read_committed.isolation, Isolation::ReadCommitted);
        assert!(read_committed.read_only);
        assert_eq!(read_committed.lock_timeout, Some(Duration::ZERO));
        let patient = parse(&[1, 22, 21, 2, 44, 1, 16, 20]).unwrap();
        assert_eq!(patient.isolation, Isolation::ReadCommitted, "which READ CONSISTENCY implies");
        assert_eq!(patient.lock_timeout, Some(Duration::from_secs(300)));
        assert!(patient.auto_commit && patient.no_auto_undo);
    }

    #[test]
    fn tables_are_reserved_with_their_levels() {
        let reserving = parse(&[3, 2, 6, 9, 11, 1, b'T', 4, 10, 1, b'U', 3, 10, 1, b'V']).unwrap();
        let expected = [("T", true, true), ("U", false, false), ("V", false, false)];
        let reserved: Vec<_> =
            reserving.reservations.iter().map(|r| (r.relation.as_str(), r.write, r.protected)).collect();
        assert_eq!(reserved, expected);
    }

    /// Each with what Firebird 5.0.4 answers.
    #[test]
    fn what_makes_no_sense_is_refused_in_firebirds_words() {
        let refused = |block: &[u8]| {
            let error = parse(block).expect_err(&format!("{block:?}"));
            let second = error.items().get(1);
            let arguments = second.map(|item| format!("{:?}", item.arguments)).unwrap_or_default();
            (error.gds_code(), second.map_or(0, |item| item.gds_code), arguments)
        };
        let content = isc::BAD_TPB_CONTENT;
        for (block, code, arguments) in [
            (&[3, 2, 15][..], isc::TPB_MULTIPLE_TXN_ISOLATION, "[]"),
            (&[3, 6, 6], isc::TPB_MULTIPLE_SPEC, r#"[Text("isc_tpb_wait")]"#),
            (&[3, 6, 7], isc::TPB_CONFLICTING_OPTIONS, r#"[Text("isc_tpb_nowait"), Text("isc_tpb_wait")]"#),
            (&[3, 8, 9], isc::TPB_CONFLICTING_OPTIONS, r#"[Text("isc_tpb_write"), Text("isc_tpb_read")]"#),
            (&[3, 8, 8], isc::TPB_MULTIPLE_SPEC, r#"[Text("isc_tpb_read")]"#),
            (
                &[3, 7, 21, 1, 5],
                isc::TPB_CONFLICTING_OPTIONS,
                r#"[Text("isc_tpb_lock_timeout"), Text("isc_tpb_nowait")]"#,
            ),
            (
                &[3, 21, 1, 5, 7],
                isc::TPB_CONFLICTING_OPTIONS,
                r#"[Text("isc_tpb_nowait"), Text("isc_tpb_lock_timeout")]"#,
            ),
            (&[3, 6, 21, 1, 0], isc::TPB_INVALID_VALUE, r#"[Number(0), Text("isc_tpb_lock_timeout")]"#),
            (
                &[3, 6, 21, 4, 255, 255, 255, 127],
                isc::TPB_INVALID_VALUE,
                r#"[Number(2147483647), Text("isc_tpb_lock_timeout")]"#,
            ),
            (&[3, 21], isc::TPB_MISSING_LEN, r#"[Text("isc_tpb_lock_timeout")]"#),
            (&[3, 2, 17], isc::TPB_OPTION_WITHOUT_RC, r#"[Text("isc_tpb_rec_version")]"#),
            (&[3, 15, 17, 18], isc::TPB_MULTIPLE_SPEC, r#"[Text("isc_tpb_no_rec_version")]"#),
            (
                &[3, 15, 22, 17],
                isc::TPB_CONFLICTING_OPTIONS,
                r#"[Text("isc_tpb_rec_version"), Text("isc_tpb_read_consistency")]"#,
            ),
            (&[3, 2, 22], isc::TPB_OPTION_WITHOUT_RC, r#"[Text("isc_tpb_read_consistency")]"#),
            (&[3, 3], isc::TPB_RESERV_BEFORE_TABLE, r#"[Text("isc_tpb_shared")]"#),
            (&[3, 10], isc::TPB_RESERV_MISSING_TLEN, r#"[Text("isc_tpb_lock_read")]"#),
            (&[3, 10, 0], isc::TPB_RESERV_NULL_TLEN, r#"[Text("isc_tpb_lock_read")]"#),
            (&[3, 10, 5, b'Q'], isc::TPB_RESERV_CORRUP_TLEN, r#"[Number(5), Text("isc_tpb_lock_read")]"#),
            (&[3, 8, 11, 1, b'T'], isc::TPB_WRITELOCK_AFTER_READTXN, "[]"),
            (&[3, 11, 1, b'T', 8], isc::TPB_READTXN_AFTER_WRITELOCK, "[]"),
            (
                &[3, 15, 23, 1, 1],
                isc::TPB_CONFLICTING_OPTIONS,
                r#"[Text("isc_tpb_at_snapshot_number"), Text("isc_tpb_read_committed")]"#,
            ),
            (
                &[3, 23, 1, 1, 15],
                isc::TPB_CONFLICTING_OPTIONS,
                r#"[Text("isc_tpb_read_committed"), Text("isc_tpb_at_snapshot_number")]"#,
            ),
        ] {
            assert_eq!(refused(block), (content, code, arguments.to_owned()), "{block:?}");
        }
        assert_eq!(refused(&[3, 99]), (isc::BAD_TPB_FORM, 0, String::new()));
        assert_eq!(refused(&[9]), (isc::BAD_TPB_FORM, isc::WROTPBVER, "[]".to_owned()));
    }
}
