//! BLOBs that came with their rows, until somebody reads them or their transaction ends.

use std::collections::HashMap;

use farbird_types::BlobId;
use farbird_wire::packet::InlineBlob;
use farbird_wire::protocol::Handle;

/// Most bytes kept; what comes beyond is dropped and read from the server if it is wanted after all.
const BYTES_MAX: usize = 10 * 1024 * 1024;

/// The contents, each segment behind its length.
#[derive(Debug, Default)]
pub(crate) struct InlineBlobs {
    contents: HashMap<(Handle, BlobId), Vec<u8>>,
    bytes: usize,
}

impl InlineBlobs {
    pub(crate) fn keep(&mut self, transaction: Handle, blob: InlineBlob) {
        if self.bytes + blob.data.len() > BYTES_MAX {
            return;
        }
        self.bytes += blob.data.len();
        // A server may use the id of a temporary BLOB again: the newer contents hold.
        if let Some(old) = self.contents.insert((transaction, blob.blob), blob.data) {
            self.bytes -= old.len();
        }
    }

    /// Takes the contents out.
    pub(crate) fn take(&mut self, transaction: Handle, id: BlobId) -> Option<Vec<u8>> {
        let data = self.contents.remove(&(transaction, id))?;
        self.bytes -= data.len();
        Some(data)
    }

    /// The transaction has ended, and its handle may be used again.
    pub(crate) fn forget(&mut self, transaction: Handle) {
        let bytes = &mut self.bytes;
        self.contents.retain(|(of, _), data| {
            let stays = *of != transaction;
            if !stays {
                *bytes -= data.len();
            }
            stays
        });
    }
}
