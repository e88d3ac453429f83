//! What an attachment keeps of a BLOB in use: see [`super::blobs`].

use farbird_store::{BlobReader, BlobWriter, SeekFrom, SegmentRead};
use farbird_types::{BlobId, Error, Result, isc};

use crate::api::{BlobFacts, TransactionHandle};

/// A BLOB in use, in the transaction it was opened in.
pub(super) struct OpenBlob {
    pub(super) transaction: TransactionHandle,
    pub(super) state: BlobState,
}

/// What a BLOB in use is.
pub(super) enum BlobState {
    Writing {
        writer: BlobWriter,
        facts: BlobFacts,
    },
    Reading(BlobReader),
    /// Held in memory: an empty BLOB, or a text converted for the client.
    Converted(ConvertedBlob),
}

/// A BLOB whose contents were made for the client, as one stream.
pub(super) struct ConvertedBlob {
    pub(super) bytes: Vec<u8>,
    pub(super) place: usize,
    pub(super) stream: bool,
}

impl ConvertedBlob {
    pub(super) fn facts(&self) -> BlobFacts {
        let segment = usize::from(u16::MAX);
        BlobFacts {
            id: BlobId::default(),
            segments: self.bytes.len().div_ceil(segment) as u64,
            longest_segment: u32::try_from(self.bytes.len().min(segment)).unwrap_or(u32::MAX),
            total_bytes: self.bytes.len() as u64,
            stream: self.stream,
        }
    }

    pub(super) fn read(&mut self, bytes_max: usize, out: &mut Vec<u8>) -> SegmentRead {
        let rest = self.bytes.get(self.place..).unwrap_or_default();
        if rest.is_empty() {
            return SegmentRead::End;
        }
        let taken = rest.get(..bytes_max.min(usize::from(u16::MAX))).unwrap_or(rest);
        out.extend_from_slice(taken);
        self.place += taken.len();
        SegmentRead::Complete
    }

    pub(super) fn seek(&mut self, from: SeekFrom, offset: i64) -> Result<u64> {
        if !self.stream {
            return Err(Error::new(isc::BAD_SEGSTR_TYPE));
        }
        let length = i64::try_from(self.bytes.len()).unwrap_or(i64::MAX);
        let base = match from {
            SeekFrom::Start => 0,
            SeekFrom::Current => i64::try_from(self.place).unwrap_or(i64::MAX),
            SeekFrom::End => length,
        };
        let place = base.saturating_add(offset).clamp(0, length);
        self.place = usize::try_from(place).unwrap_or(0);
        Ok(self.place as u64)
    }
}
