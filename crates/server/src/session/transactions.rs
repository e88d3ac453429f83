//! Transactions: start by a TPB, commit, roll back.
//!
//! Source: wire-protocol.md, 1.5, 6.4 and 11.3.

use std::time::Duration;

use farbird_engine::api::{Isolation, TableReservation, TransactionParameters};
use farbird_types::{Error, Result, isc};
use farbird_wire::clumplet::{ClumpletReader, tpb};
use farbird_wire::packet::Response;
use farbird_wire::protocol::Handle;

use super::Session;
use super::objects::Object;

impl Session {
    pub(super) fn start_transaction(&mut self, tpb: &[u8]) -> Result<Response> {
        self.objects.forget_latest();
        let parameters = parse(tpb)?;
        let transaction = self.attachment()?.start_transaction(parameters)?;
        let handle = self.objects.insert(Object::Transaction(transaction))?;
        Ok(Response::object(handle))
    }

    pub(super) fn commit(&mut self, handle: Handle) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let transaction = self.objects.transaction(handle)?;
        let result = self.attachment()?.commit(transaction);
        self.forget_if_ended(handle);
        result.map(|()| Response::success())
    }

    pub(super) fn rollback(&mut self, handle: Handle) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let transaction = self.objects.transaction(handle)?;
        let result = self.attachment()?.rollback(transaction);
        self.forget_if_ended(handle);
        result.map(|()| Response::success())
    }

    pub(super) fn commit_retaining(&mut self, handle: Handle) -> Result<Response> {
        let transaction = self.objects.transaction(handle)?;
        self.attachment()?.commit_retaining(transaction)?;
        Ok(Response::success())
    }

    pub(super) fn rollback_retaining(&mut self, handle: Handle) -> Result<Response> {
        let transaction = self.objects.transaction(handle)?;
        self.attachment()?.rollback_retaining(transaction)?;
        Ok(Response::success())
    }

    /// After an error the transaction may still be there: then its handle stays.
    fn forget_if_ended(&mut self, handle: Handle) {
        let alive = match (self.objects.transaction(handle), &self.attachment) {
            (Ok(transaction), Some(attachment)) => attachment.has_transaction(transaction),
            _ => false,
        };
        if !alive {
            self.objects.end_transaction(handle);
        }
    }
}

/// Understands a TPB; an empty one is Firebird's default, SNAPSHOT, WAIT, READ WRITE.
///
/// # Errors
/// `isc_bad_tpb_form`, `isc_bad_tpb_content` for what contradicts itself.
fn parse(bytes: &[u8]) -> Result<TransactionParameters> {
    let mut parameters = TransactionParameters::default();
    let mut wait = true;
    let mut timeout = None;
    // The table that the next lock level is about.
    let mut table: Option<(String, bool)> = None;
    if bytes.is_empty() {
        return Ok(parameters);
    }
    for item in ClumpletReader::tpb(bytes).map_err(|_| Error::new(isc::BAD_TPB_FORM))? {
        let item = item.map_err(|_| Error::new(isc::BAD_TPB_FORM))?;
        let number = item.integer().unwrap_or_default();
        match item.tag {
            // In front of the isolation level these are levels themselves; behind a table they are lock levels.
            tpb::CONSISTENCY if table.is_none() => parameters.isolation = Isolation::TableStability,
            tpb::CONCURRENCY => parameters.isolation = Isolation::Snapshot,
            tpb::READ_COMMITTED => parameters.isolation = Isolation::ReadCommitted,
            tpb::WAIT => wait = true,
            tpb::NOWAIT => wait = false,
            tpb::READ => parameters.read_only = true,
            tpb::WRITE => parameters.read_only = false,
            tpb::AUTOCOMMIT => parameters.auto_commit = true,
            tpb::LOCK_TIMEOUT => {
                timeout = Some(u64::try_from(number).map_err(|_| Error::new(isc::BAD_TPB_CONTENT))?);
            }
            tpb::AT_SNAPSHOT_NUMBER => parameters.at_snapshot = u64::try_from(number).ok(),
            tpb::LOCK_READ | tpb::LOCK_WRITE => {
                let name = String::from_utf8_lossy(item.data).trim_end().to_owned();
                table = Some((name, item.tag == tpb::LOCK_WRITE));
            }
            tpb::SHARED | tpb::PROTECTED | tpb::EXCLUSIVE => {
                let (relation, write) = table.take().ok_or_else(|| Error::new(isc::BAD_TPB_CONTENT))?;
                let protected = item.tag != tpb::SHARED;
                parameters.reservations.push(TableReservation { relation, write, protected });
            }
            // The kind of READ COMMITTED: always read consistency. The others change nothing that can be seen.
            tpb::REC_VERSION
            | tpb::NO_REC_VERSION
            | tpb::READ_CONSISTENCY
            | tpb::NO_AUTO_UNDO
            | tpb::IGNORE_LIMBO
            | tpb::RESTART_REQUESTS
            | tpb::AUTO_RELEASE_TEMP_BLOBID
            | tpb::VERB_TIME
            | tpb::COMMIT_TIME => {}
            _ => return Err(Error::new(isc::BAD_TPB_FORM)),
        }
    }
    if let Some((relation, write)) = table {
        parameters.reservations.push(TableReservation { relation, write, protected: false });
    }
    parameters.lock_timeout = match (wait, timeout) {
        (false, Some(_)) => return Err(Error::new(isc::BAD_TPB_CONTENT)),
        (false, None) => Some(Duration::ZERO),
        (true, timeout) => timeout.map(Duration::from_secs),
    };
    Ok(parameters)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_blocks_are_understood() {
        let snapshot = parse(&[3, 2, 6, 9]).unwrap();
        assert_eq!(snapshot, TransactionParameters::default());
        let read_committed = parse(&[3, 15, 17, 7, 8]).unwrap();
        assert_eq!(read_committed.isolation, Isolation::ReadCommitted);
        assert!(read_committed.read_only);
        assert_eq!(read_committed.lock_timeout, Some(Duration::ZERO));
    }

    #[test]
    fn tables_are_reserved_with_their_levels() {
        let reserving = parse(&[3, 2, 6, 9, 11, 1, b'T', 4, 10, 1, b'U', 3]).unwrap();
        let expected = [("T", true, true), ("U", false, false)];
        let reserved: Vec<_> =
            reserving.reservations.iter().map(|r| (r.relation.as_str(), r.write, r.protected)).collect();
        assert_eq!(reserved, expected);
    }

    #[test]
    fn a_timeout_without_waiting_contradicts_itself() {
        assert_eq!(parse(&[3, 2, 7, 21, 1, 5]).unwrap_err().gds_code(), isc::BAD_TPB_CONTENT);
        assert_eq!(parse(&[3, 99]).unwrap_err().gds_code(), isc::BAD_TPB_FORM);
    }
}
