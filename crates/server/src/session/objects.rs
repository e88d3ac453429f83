//! The handles of one connection: transactions, statements, BLR requests and BLOBs share a number space.
//!
//! Source: wire-protocol.md, 1.6. A new object takes the lowest free number from 1 on; 0xFFFF names the newest.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use farbird_engine::api::{BlobHandle, TransactionHandle};
use farbird_types::{Error, Result, isc};
use farbird_wire::protocol::{HANDLES_MAX, Handle};

use super::requests::CompiledRequest;
use super::statements::Statement;

/// Something that a client holds a handle of.
pub(crate) enum Object {
    /// A transaction.
    Transaction(TransactionHandle),
    /// A statement, prepared or not.
    Statement(Box<Statement>),
    /// A compiled BLR request.
    Request(Box<CompiledRequest>),
    /// An open BLOB.
    Blob {
        /// The engine's handle.
        blob: BlobHandle,
        /// The transaction it ends with.
        transaction: Handle,
    },
}

/// The handles of one connection.
#[derive(Default)]
pub(crate) struct Objects {
    /// Index 0 is the attachment itself and stays empty.
    slots: Vec<Option<Object>>,
    free: BinaryHeap<Reverse<u16>>,
    latest: Option<Handle>,
}

impl Objects {
    /// Gives an object the lowest free handle.
    ///
    /// # Errors
    /// `isc_too_many_handles`.
    pub(crate) fn insert(&mut self, object: Object) -> Result<Handle> {
        if self.slots.is_empty() {
            self.slots.push(None);
        }
        let number = match self.free.pop() {
            Some(Reverse(number)) => number,
            None => {
                let number = u16::try_from(self.slots.len()).unwrap_or(u16::MAX);
                if number >= HANDLES_MAX {
                    return Err(Error::new(isc::TOO_MANY_HANDLES));
                }
                self.slots.push(None);
                number
            }
        };
        if let Some(slot) = self.slots.get_mut(usize::from(number)) {
            *slot = Some(object);
        }
        self.latest = Some(Handle(number));
        Ok(Handle(number))
    }

    /// What a handle of a request means: itself, or the newest object.
    pub(crate) fn resolve(&self, handle: Handle) -> Handle {
        if handle == Handle::LATEST { self.latest.unwrap_or(Handle::LATEST) } else { handle }
    }

    /// Makes 0xFFFF mean nothing: an allocation failed, and older objects must not be hit instead.
    pub(crate) fn forget_latest(&mut self) {
        self.latest = None;
    }

    /// Takes an object out; its handle is free again.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<Object> {
        let object = self.slots.get_mut(usize::from(handle.0))?.take()?;
        self.free.push(Reverse(handle.0));
        if self.latest == Some(handle) {
            self.latest = None;
        }
        Some(object)
    }

    /// The transaction of a handle.
    pub(crate) fn transaction(&self, handle: Handle) -> Result<TransactionHandle> {
        match self.get(handle) {
            Some(Object::Transaction(transaction)) => Ok(*transaction),
            _ => Err(Error::new(isc::BAD_TRANS_HANDLE)),
        }
    }

    /// The transaction of a handle, or none for 0.
    pub(crate) fn transaction_or_none(&self, handle: Handle) -> Result<Option<TransactionHandle>> {
        if handle == Handle::NONE { Ok(None) } else { self.transaction(handle).map(Some) }
    }

    /// The statement of a handle.
    pub(crate) fn statement(&mut self, handle: Handle) -> Result<&mut Statement> {
        let handle = self.resolve(handle);
        match self.slots.get_mut(usize::from(handle.0)) {
            Some(Some(Object::Statement(statement))) => Ok(statement),
            _ => Err(Error::new(isc::BAD_STMT_HANDLE)),
        }
    }

    /// The BLR request of a handle.
    pub(crate) fn request(&self, handle: Handle) -> Result<&CompiledRequest> {
        match self.get(handle) {
            Some(Object::Request(request)) => Ok(request),
            _ => Err(Error::new(isc::BAD_REQ_HANDLE)),
        }
    }

    /// The BLOB of a handle.
    pub(crate) fn blob(&self, handle: Handle) -> Result<BlobHandle> {
        match self.get(handle) {
            Some(Object::Blob { blob, .. }) => Ok(*blob),
            _ => Err(Error::new(isc::BAD_SEGSTR_HANDLE)),
        }
    }

    /// Removes a transaction that has ended, and the BLOBs that were open in it.
    pub(crate) fn end_transaction(&mut self, handle: Handle) {
        self.remove(handle);
        let blobs: Vec<Handle> = self
            .numbered()
            .filter(
                |(_, object)| matches!(object, Object::Blob { transaction, .. } if *transaction == handle),
            )
            .map(|(blob, _)| blob)
            .collect();
        for blob in blobs {
            self.remove(blob);
        }
        for slot in &mut self.slots {
            if let Some(Object::Statement(statement)) = slot {
                statement.transaction_ended(handle);
            }
        }
    }

    fn get(&self, handle: Handle) -> Option<&Object> {
        self.slots.get(usize::from(self.resolve(handle).0))?.as_ref()
    }

    fn numbered(&self) -> impl Iterator<Item = (Handle, &Object)> {
        self.slots
            .iter()
            .enumerate()
            .filter_map(|(number, slot)| Some((Handle(u16::try_from(number).ok()?), slot.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transaction(number: u32) -> Object {
        Object::Transaction(TransactionHandle(number))
    }

    #[test]
    fn the_lowest_free_handle_is_taken() {
        let mut objects = Objects::default();
        let handles: Vec<u16> = (1..=4).map(|n| objects.insert(transaction(n)).unwrap().0).collect();
        assert_eq!(handles, [1, 2, 3, 4]);
        objects.remove(Handle(3));
        objects.remove(Handle(1));
        assert_eq!(objects.insert(transaction(9)).unwrap(), Handle(1));
        assert_eq!(objects.insert(transaction(9)).unwrap(), Handle(3));
        assert_eq!(objects.insert(transaction(9)).unwrap(), Handle(5));
    }

    #[test]
    fn the_latest_object_is_not_an_older_one_after_it_has_gone() {
        let mut objects = Objects::default();
        objects.insert(transaction(1)).unwrap();
        objects.insert(transaction(2)).unwrap();
        assert_eq!(objects.transaction(Handle::LATEST).unwrap(), TransactionHandle(2));
        objects.remove(Handle(2));
        assert!(objects.transaction(Handle::LATEST).is_err());
    }

    #[test]
    fn a_handle_of_another_kind_is_refused() {
        let mut objects = Objects::default();
        objects.insert(transaction(1)).unwrap();
        assert_eq!(objects.statement(Handle(1)).err().unwrap().gds_code(), isc::BAD_STMT_HANDLE);
        assert_eq!(objects.blob(Handle(1)).err().unwrap().gds_code(), isc::BAD_SEGSTR_HANDLE);
        assert_eq!(objects.transaction(Handle(7)).err().unwrap().gds_code(), isc::BAD_TRANS_HANDLE);
    }
}
