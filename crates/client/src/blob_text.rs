//! Text BLOBs as text: their contents travel in the connection's character set.

use std::borrow::Cow;

use farbird_types::{BlobId, Result};

use crate::connection::Connection;
use crate::transaction::Transaction;

impl Connection {
    /// Reads a text BLOB to its end, as [`Connection::read_blob`].
    ///
    /// # Round trips
    /// As [`Connection::read_blob`].
    ///
    /// # Errors
    /// What the server says; `isc_malformed_string` for bytes that are no text in the connection's character set, which
    /// those of another BLOB may be, and on a connection in NONE those that are not UTF-8.
    pub async fn read_text(&self, transaction: &Transaction, id: BlobId) -> Result<String> {
        let contents = self.read_blob(transaction, id).await?;
        self.character_set().decode(&contents).map(Cow::into_owned)
    }

    /// Writes a text BLOB, as [`Connection::write_blob`].
    ///
    /// # Round trips
    /// As [`Connection::write_blob`].
    ///
    /// # Errors
    /// What the server says; `isc_transliteration_failed` for a character that the connection's character set has not.
    pub async fn write_text(&self, transaction: &Transaction, text: &str) -> Result<BlobId> {
        let contents = self.character_set().encode(text)?;
        self.write_blob(transaction, &contents).await
    }
}
