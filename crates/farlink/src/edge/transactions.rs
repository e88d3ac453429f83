//! Beginning and ending transactions.
//!
//! A transaction begins at the server when the quiet op_transaction gets there, which is sent at once: in the same order as everything
//! else that this edge's programs do. It ends at the edge if it has changed nothing.

use farbird_types::isc;
use farbird_wire::clumplet::{ClumpletReader, tpb};
use farbird_wire::packet::{Request, Response};
use farbird_wire::protocol::Handle;

use super::Program;
use super::counters::Saved;
use super::effect::Effect;
use super::information::Kept;
use super::objects::{BlobKind, CursorPlace, Object, Transaction};
use crate::message::{Ask, NamedCommit};

/// Whether a transaction of this TPB can be begun without asking: nothing in it can fail or wait.
fn is_ordinary(bytes: &[u8]) -> bool {
    let Ok(items) = ClumpletReader::tpb(bytes) else { return false };
    for item in items {
        let Ok(item) = item else { return false };
        let is_known = matches!(
            item.tag,
            tpb::CONSISTENCY
                | tpb::CONCURRENCY
                | tpb::WAIT
                | tpb::NOWAIT
                | tpb::READ
                | tpb::WRITE
                | tpb::IGNORE_LIMBO
                | tpb::READ_COMMITTED
                | tpb::REC_VERSION
                | tpb::NO_REC_VERSION
                | tpb::NO_AUTO_UNDO
                | tpb::LOCK_TIMEOUT
                | tpb::READ_CONSISTENCY
        );
        if !is_known {
            return false;
        }
    }
    true
}

impl Program {
    fn is_strict(&self) -> bool {
        let attached = self.attachment.as_ref();
        // What the origin has not told of counts as strict.
        let told =
            attached.is_none_or(|attached| attached.strict_transactions || attached.database.is_none());
        told || self.site.limits().strict_transactions
    }

    pub(super) fn start_transaction(&mut self, database: Handle, tpb: Vec<u8>) {
        let Some(handle) = self.objects.insert(Object::Other) else {
            return self.refuse(isc::TOO_MANY_HANDLES);
        };
        self.objects.set_latest(Some(handle));
        let is_strict = self.is_strict() || !is_ordinary(&tpb);
        let request = Request::StartTransaction { database, tpb: tpb.clone() };
        if is_strict {
            return self.relay(&request, handle, Some(Effect::Begun { handle, tpb }));
        }
        self.quietly(&request, handle);
        self.speculate_begun(handle, &tpb);
        let transaction = Transaction::default();
        self.objects.set(handle, Object::Transaction(Box::new(transaction)));
        self.answer(Response::object(Handle(handle)), Some(Saved::Begin));
    }

    /// op_commit, op_rollback and their retaining forms.
    pub(super) fn finish_transaction(&mut self, request: &Request, handle: Handle, retains: bool) {
        if retains {
            // What goes on has another number.
            if let Some(transaction) = self.objects.transaction(handle.0) {
                transaction.information = Kept::default();
            }
            self.speculate(|speculator, rules| speculator.retained(rules, handle.0));
        }
        let (ends_here, ran_pure) = match self.objects.transaction(handle.0) {
            Some(transaction) => (!transaction.wrote && !transaction.is_opaque, transaction.ran_pure),
            None => (false, false),
        };
        // A rollback cannot fail; a trigger on commits may refuse one.
        let is_commit = matches!(request, Request::Commit(_) | Request::CommitRetaining(_));
        let is_told = ran_pure || self.site.limits().texts_show_purity;
        let may_be_refused = is_commit && self.site.is_farbird() == Some(false) && !is_told;
        if !ends_here || may_be_refused || self.is_strict() {
            let named = if is_commit { self.name_commit(handle.0) } else { None };
            let effect = match retains {
                false => Effect::Ended { transaction: handle.0, named },
                true => Effect::Retained { transaction: handle.0, named },
            };
            if retains && !is_commit {
                return self.undo(request, handle.0, effect);
            }
            return self.relay(request, 0, Some(effect));
        }
        self.quietly(request, 0);
        if !retains {
            self.end_transaction(handle.0);
        }
        self.answer(Response::success(), Some(Saved::End));
    }

    /// op_prepare, op_prepare2: the first phase of a two-phase commit. From here on the server alone answers for the transaction.
    pub(super) fn prepare_transaction(&mut self, request: &Request, handle: u16) {
        // A statement in it is refused: nothing is to be answered by what was run ahead.
        self.speculate(|speculator, rules| speculator.wrote(rules, handle));
        if let Some(transaction) = self.objects.transaction(handle) {
            (transaction.is_opaque, transaction.is_prepared) = (true, true);
        }
        self.relay(request, 0, None);
    }

    /// So that it can be asked what became of the commit, should the answer be lost.
    fn name_commit(&mut self, transaction: u16) -> Option<NamedCommit> {
        let database = self.attachment.as_ref()?.database?;
        let named = self.site.name_commit(database)?;
        self.ask(Ask::NameCommit { transaction, name: named.name });
        Some(named)
    }

    /// The transaction is no more, nor what depended on it.
    pub(super) fn end_transaction(&mut self, handle: u16) {
        let Some(Object::Transaction(transaction)) = self.objects.remove(handle) else { return };
        self.speculate(|speculator, rules| speculator.ended(rules, handle));
        let kept = transaction.blobs.values().map(|contents| contents.memory()).sum::<usize>();
        self.blob_bytes = self.blob_bytes.saturating_sub(kept);
        self.site.give_back_blob(kept);
        self.blobs_before = transaction.created;
        for spare in &transaction.spares {
            self.own.remove(&spare.id);
            self.objects.release(spare.handle);
        }
        if transaction.redefined
            && let Some(database) = self.attachment.as_ref().and_then(|attachment| attachment.database)
        {
            self.site.invalidate(database);
        }
        let (mut blobs, mut cursors) = (Vec::new(), Vec::new());
        for (of, object) in self.objects.iter_mut() {
            match object {
                Object::Blob(blob) if blob.transaction == handle => {
                    if let BlobKind::Coming(coming) = &blob.kind {
                        cursors.push((coming.cursor, 0));
                    }
                    blobs.push(of);
                }
                Object::Statement(statement) if statement.cursor.transaction() == Some(handle) => {
                    if let CursorPlace::Pushed(rows) = &statement.cursor {
                        cursors.push((rows.cursor, rows.granted));
                    }
                    statement.cursor = CursorPlace::None;
                }
                _ => {}
            }
        }
        for blob in blobs {
            self.objects.remove(blob);
        }
        for (cursor, granted) in cursors {
            self.openings.remove(&cursor);
            self.granted_rows = self.granted_rows.saturating_sub(granted);
            self.site.give_back_rows(granted);
        }
    }

    /// What the transaction has changed is committed or undone, and it goes on.
    pub(super) fn retained(&mut self, handle: u16) {
        let Some(transaction) = self.objects.transaction(handle) else { return };
        transaction.wrote = false;
        let redefined = std::mem::take(&mut transaction.redefined);
        if redefined && let Some(database) = self.attachment.as_ref().and_then(|attached| attached.database) {
            self.site.invalidate(database);
        }
    }

    /// The transaction may have changed something.
    pub(super) fn wrote(&mut self, transaction: u16) {
        self.speculate(|speculator, rules| speculator.wrote(rules, transaction));
        if let Some(transaction) = self.objects.transaction(transaction) {
            transaction.wrote = true;
        }
    }

    /// The transaction may have changed definitions.
    pub(super) fn redefined(&mut self, transaction: u16) {
        self.speculate(|speculator, rules| {
            // COMMIT RETAIN is a statement too.
            speculator.retained(rules, transaction);
            speculator.wrote(rules, transaction);
        });
        if let Some(transaction) = self.objects.transaction(transaction) {
            transaction.wrote = true;
            transaction.redefined = true;
            transaction.information = Kept::default();
        }
    }

    /// Whether definitions may have changed that only this program sees.
    pub(super) fn has_own_definitions(&mut self) -> bool {
        self.objects
            .iter_mut()
            .any(|(_, object)| matches!(object, Object::Transaction(transaction) if transaction.redefined))
    }

    /// Whether a transaction is open.
    pub(super) fn has_transactions(&mut self) -> bool {
        self.objects.iter_mut().any(|(_, object)| matches!(object, Object::Transaction(_)))
    }

    /// Whether a transaction has changed something.
    pub(super) fn has_changes(&mut self) -> bool {
        self.objects.iter_mut().any(|(_, object)| {
            matches!(object, Object::Transaction(transaction) if transaction.wrote || transaction.is_opaque)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reservations_and_what_is_unknown_are_left_to_the_server() {
        assert!(is_ordinary(&[]));
        assert!(is_ordinary(&[3, 15, 17, 9, 6]));
        assert!(is_ordinary(&[3, 2, 21, 4, 10, 0, 0, 0]));
        assert!(!is_ordinary(&[3, 10, 1, b'T', 3]));
        assert!(!is_ordinary(&[3, 23, 1, 5]));
        assert!(!is_ordinary(&[3, 99]));
        assert!(!is_ordinary(&[7, 2]));
    }
}
