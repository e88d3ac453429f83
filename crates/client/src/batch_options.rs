//! How a batch is executed, and what its server says of it.
//!
//! Source: wire-protocol 6.11 (batch parameter block, isc_info_batch items).

use farbird_types::Result;
use farbird_wire::clumplet::{ClumpletWriter, batch};
use farbird_wire::info::{InfoReader, batch as info};

use crate::error;

/// How the BLOBs of a batch come to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum BatchBlobs {
    /// In the batch: [`Batch::add_blob`](crate::Batch::add_blob), and
    /// [`Batch::register_blob`](crate::Batch::register_blob) for existing ones.
    #[default]
    Stream,
    /// Existing ones are registered: [`Batch::register_blob`](crate::Batch::register_blob).
    Registered,
    /// There are none.
    None,
}

/// How a batch is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchOptions {
    /// Nothing is executed behind a row that fails. (Each piece of the batch is then waited for.) By default the others are
    /// executed all the same.
    pub stop_at_error: bool,
    /// Tell of each row how many records it changed: [`Outcome::changed`](crate::Outcome::changed).
    pub record_counts: bool,
    /// Most bytes of rows, and of BLOBs, that the server holds for the batch; 16 MiB if `None`, at most 256 MiB.
    pub buffer_bytes: Option<u32>,
    /// How many failures of one piece of the batch are told in full; 64 if `None`, at most 256.
    pub detailed_errors: Option<u8>,
    /// Its BLOBs.
    pub blobs: BatchBlobs,
}

impl BatchOptions {
    /// The parameter block.
    pub(crate) fn to_bytes(self) -> Vec<u8> {
        let mut items = ClumpletWriter::batch();
        items.integer(batch::MULTIERROR, i32::from(!self.stop_at_error));
        items.integer(batch::RECORD_COUNTS, i32::from(self.record_counts));
        let policy = match self.blobs {
            BatchBlobs::Stream => batch::BLOB_STREAM,
            BatchBlobs::Registered => batch::BLOB_ID_USER,
            BatchBlobs::None => batch::BLOB_NONE,
        };
        items.integer(batch::BLOB_POLICY, i32::from(policy));
        if let Some(bytes) = self.buffer_bytes {
            items.bytes(batch::BUFFER_BYTES_SIZE, &bytes.to_le_bytes());
        }
        if let Some(count) = self.detailed_errors {
            items.integer(batch::DETAILED_ERRORS, i32::from(count));
        }
        items.into_bytes()
    }
}

/// A batch as its server sees it; sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BatchInformation {
    /// Most that it holds of rows, and of BLOBs.
    pub buffer_bytes: u64,
    /// Rows that it holds.
    pub row_bytes: u64,
    /// BLOBs that it holds.
    pub blob_bytes: u64,
    /// Alignment of BLOBs in the stream.
    pub blob_alignment: u64,
    /// Head of a BLOB in the stream.
    pub blob_head_bytes: u64,
}

impl BatchInformation {
    /// What is asked.
    pub(crate) const ITEMS: [u8; 5] = [
        info::BUFFER_BYTES_SIZE,
        info::DATA_BYTES_SIZE,
        info::BLOBS_BYTES_SIZE,
        info::BLOB_ALIGNMENT,
        info::BLOB_HEADER,
    ];

    pub(crate) fn parse(reply: &[u8]) -> Result<BatchInformation> {
        let mut told = BatchInformation::default();
        for item in InfoReader::new(reply) {
            let item = item.map_err(|error| error::broken(&error))?;
            let number = item.integer().and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
            match item.item {
                info::BUFFER_BYTES_SIZE => told.buffer_bytes = number,
                info::DATA_BYTES_SIZE => told.row_bytes = number,
                info::BLOBS_BYTES_SIZE => told.blob_bytes = number,
                info::BLOB_ALIGNMENT => told.blob_alignment = number,
                info::BLOB_HEADER => told.blob_head_bytes = number,
                _ => return Err(error::unexpected("op_info_batch")),
            }
        }
        Ok(told)
    }
}
