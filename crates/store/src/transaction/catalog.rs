//! Catalog entries: the engine's own keys and values, committed with the transaction.

use super::Transaction;
use crate::Result;
use crate::locks::Resource;
use crate::substrate::Space;

impl Transaction {
    /// Writes a catalog entry; committed or undone with the transaction. A second transaction that writes the same entry
    /// waits, or fails, as with rows.
    pub fn catalog_put(&self, key: &[u8], value: &[u8]) -> Result<()> {
        self.catalog_write(key, Some(value.to_vec()))
    }

    /// Deletes a catalog entry.
    pub fn catalog_delete(&self, key: &[u8]) -> Result<()> {
        self.catalog_write(key, None)
    }

    fn catalog_write(&self, key: &[u8], value: Option<Vec<u8>>) -> Result<()> {
        self.check_writable()?;
        let id = self.core()?.id;
        self.store.inner.locks.lock(&Resource::CatalogEntry(key.into()), &mut self.waiter(id))?;
        self.core()?.writes.put_catalog(key, value, &self.live);
        Ok(())
    }

    /// Reads a catalog entry: the transaction's own, or the latest committed.
    pub fn catalog_get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        if let Some(own) = self.core()?.writes.catalog(key) {
            return Ok(own.map(<[u8]>::to_vec));
        }
        let committed = self.store.inner.snapshot().get(Space::Catalog, key)?;
        Ok(committed.map(|value| value.to_vec()))
    }
}
