//! BLOBs of an attachment: written and read by handle.

use std::sync::Arc;

use farbird_store::{BlobOptions, BlobReader, SeekFrom, SegmentRead};
use farbird_types::{BlobId, Error, Result, isc};

use crate::api::{BlobFacts, BlobHandle, BlobParameters, TransactionHandle};
use crate::attachment::blob_text::{needs_conversion, read_converted, unmarked};
use crate::attachment::known_blobs::Source;
use crate::attachment::open_blob::{BlobState, ConvertedBlob, OpenBlob};
use crate::attachment::{Attachment, HANDLES_MAX};
use crate::catalog::SystemPrivilege;
use crate::catalog::privileges::Actor;
use crate::psql::authority;

impl Attachment {
    /// Begins a BLOB. Its id may be stored in a row once it is closed.
    pub fn create_blob(
        &mut self,
        transaction: TransactionHandle,
        parameters: BlobParameters,
    ) -> Result<(BlobHandle, BlobId)> {
        self.check_blob_count()?;
        // The character set is that of the bytes to come; what the column needs is known when a row takes the BLOB.
        let (subtype, character_set) = parameters.client.or(parameters.column).unwrap_or_default();
        let options = BlobOptions { stream: parameters.stream, subtype, character_set };
        let writer = self.transaction(transaction)?.store.create_blob(options);
        let writer = writer.map_err(|error| self.database().status(error))?;
        let id = writer.id();
        let facts = BlobFacts { id, stream: parameters.stream, ..BlobFacts::default() };
        let state = BlobState::Writing { writer, facts };
        let handle = BlobHandle(self.new_handle());
        self.blobs.insert(handle, OpenBlob { transaction, state });
        self.known_blobs.note(id, &Source { transaction, accesses: Arc::from([]) });
        Ok((handle, id))
    }

    /// Opens a BLOB for reading. The id 0 is an empty BLOB.
    pub fn open_blob(
        &mut self,
        transaction: TransactionHandle,
        id: BlobId,
        parameters: BlobParameters,
    ) -> Result<BlobHandle> {
        self.check_blob_count()?;
        self.check_may_open_blob(transaction, id)?;
        let state = self.open_state(transaction, id, parameters)?;
        let handle = BlobHandle(self.new_handle());
        self.blobs.insert(handle, OpenBlob { transaction, state });
        Ok(handle)
    }

    /// As [`Attachment::open_blob`], for reading and seeking in all of its bytes, whatever its segments.
    pub fn open_blob_as_stream(&mut self, transaction: TransactionHandle, id: BlobId) -> Result<BlobHandle> {
        self.check_blob_count()?;
        self.check_may_open_blob(transaction, id)?;
        let state = match self.open_state(transaction, id, BlobParameters::default())? {
            BlobState::Reading(reader) => BlobState::Reading(reader.as_stream()),
            BlobState::Converted(converted) => {
                BlobState::Converted(ConvertedBlob { stream: true, ..converted })
            }
            writing @ BlobState::Writing { .. } => writing,
        };
        let handle = BlobHandle(self.new_handle());
        self.blobs.insert(handle, OpenBlob { transaction, state });
        Ok(handle)
    }

    /// Checks that a BLOB may be opened by its id: see [`super::known_blobs`].
    ///
    /// # Errors
    /// `isc_no_priv` if what gave the id is not allowed any more, `isc_bad_segstr_id` for an id that nothing gave.
    pub(super) fn check_may_open_blob(&self, transaction: TransactionHandle, id: BlobId) -> Result<()> {
        let actor = Actor::of(&self.session);
        let catalog = self.database().catalog();
        if id == BlobId(0) || actor.has(&catalog, SystemPrivilege::SelectAnyObjectInDatabase) {
            return Ok(());
        }
        match self.known_blobs.source(id) {
            Some(source) if source.transaction == transaction => Ok(()),
            Some(source) => authority::verify(&catalog, &actor, None, &source.accesses),
            None => Err(Error::new(isc::BAD_SEGSTR_ID)),
        }
    }

    /// A BLOB to be read, in the client's character set.
    fn open_state(
        &self,
        transaction: TransactionHandle,
        id: BlobId,
        parameters: BlobParameters,
    ) -> Result<BlobState> {
        let transaction = self.transaction(transaction)?;
        if id == BlobId(0) {
            return Ok(BlobState::Converted(ConvertedBlob { bytes: Vec::new(), place: 0, stream: false }));
        }
        let (own, marked) = unmarked(id);
        let mut reader = transaction.store.open_blob(own).map_err(|error| self.database().status(error))?;
        let from = marked.or(parameters.client.map(|(_, character_set)| character_set));
        let to =
            parameters.column.map_or(self.session.options.character_set, |(_, character_set)| character_set);
        match from {
            Some(from) if needs_conversion(from, to) => {
                let bytes = read_converted(&mut reader, transaction, from, to)?;
                let stream = reader.properties().options.stream;
                Ok(BlobState::Converted(ConvertedBlob { bytes, place: 0, stream }))
            }
            _ => Ok(BlobState::Reading(reader)),
        }
    }

    /// Appends a segment to a BLOB being written.
    pub fn put_segment(&mut self, handle: BlobHandle, bytes: &[u8]) -> Result<()> {
        let database = Arc::clone(self.database());
        let blob = self.blobs.get_mut(&handle).ok_or_else(bad_handle)?;
        let transaction = &self.transactions.get(&blob.transaction).ok_or_else(bad_handle)?.transaction;
        let BlobState::Writing { writer, facts } = &mut blob.state else {
            return Err(Error::new(isc::SEGSTR_NO_WRITE));
        };
        writer.write_segment(&transaction.store, bytes).map_err(|error| database.status(error))?;
        facts.segments += 1;
        facts.total_bytes += bytes.len() as u64;
        facts.longest_segment = facts.longest_segment.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        Ok(())
    }

    /// Appends at most `bytes_max` bytes of the current (or next) segment to `out`.
    pub fn get_segment(
        &mut self,
        handle: BlobHandle,
        bytes_max: usize,
        out: &mut Vec<u8>,
    ) -> Result<SegmentRead> {
        let database = Arc::clone(self.database());
        let blob = self.blobs.get_mut(&handle).ok_or_else(bad_handle)?;
        let transaction = &self.transactions.get(&blob.transaction).ok_or_else(bad_handle)?.transaction;
        let read = match &mut blob.state {
            BlobState::Reading(reader) => reader
                .read_segment(&transaction.store, bytes_max, out)
                .map_err(|error| database.status(error)),
            BlobState::Converted(converted) => Ok(converted.read(bytes_max, out)),
            BlobState::Writing { .. } => Err(Error::new(isc::SEGSTR_NO_READ)),
        };
        self.session.tally.take_pages();
        read
    }

    /// Moves the place of the next read; gives it back, counted from the beginning. Stream BLOBs only.
    pub fn seek_blob(&mut self, handle: BlobHandle, from: SeekFrom, offset: i64) -> Result<u64> {
        let database = Arc::clone(self.database());
        let blob = self.blobs.get_mut(&handle).ok_or_else(bad_handle)?;
        match &mut blob.state {
            BlobState::Reading(reader) => reader.seek(from, offset).map_err(|error| database.status(error)),
            BlobState::Converted(converted) => converted.seek(from, offset),
            BlobState::Writing { .. } => Err(Error::new(isc::SEGSTR_NO_READ)),
        }
    }

    /// Facts about an open BLOB.
    pub fn blob_facts(&self, handle: BlobHandle) -> Result<BlobFacts> {
        match &self.blobs.get(&handle).ok_or_else(bad_handle)?.state {
            BlobState::Writing { facts, .. } => Ok(*facts),
            BlobState::Reading(reader) => Ok(facts_of(reader)),
            BlobState::Converted(converted) => Ok(converted.facts()),
        }
    }

    /// Ends a BLOB: one being written is complete from here.
    pub fn close_blob(&mut self, handle: BlobHandle) -> Result<()> {
        let blob = self.blobs.remove(&handle).ok_or_else(bad_handle)?;
        if let BlobState::Writing { writer, .. } = blob.state {
            let transaction = &self.transactions.get(&blob.transaction).ok_or_else(bad_handle)?.transaction;
            writer.close(&transaction.store).map_err(|error| self.database().status(error))?;
        }
        Ok(())
    }

    /// Ends a BLOB; one being written is thrown away.
    pub fn cancel_blob(&mut self, handle: BlobHandle) -> Result<()> {
        let blob = self.blobs.remove(&handle).ok_or_else(bad_handle)?;
        if let BlobState::Writing { writer, .. } = blob.state
            && let Some(slot) = self.transactions.get(&blob.transaction)
        {
            writer.cancel(&slot.transaction.store).map_err(|error| self.database().status(error))?;
        }
        Ok(())
    }

    /// A BLOB's facts and its segments, each `LE16 length + bytes`, if all of it is at most `bytes_max` that way:
    /// what may travel beside a row. `None` if it is larger.
    pub fn small_blob(
        &self,
        transaction: TransactionHandle,
        id: BlobId,
        bytes_max: usize,
    ) -> Result<Option<(BlobFacts, Vec<u8>)>> {
        let mut state = self.open_state(transaction, id, BlobParameters::default())?;
        let transaction = self.transaction(transaction)?;
        let facts = match &state {
            BlobState::Reading(reader) => facts_of(reader),
            BlobState::Converted(converted) => converted.facts(),
            BlobState::Writing { facts, .. } => *facts,
        };
        let segments = match (facts.stream, facts.longest_segment) {
            (false, _) => facts.segments,
            (true, 0) => 0,
            (true, longest) => facts.total_bytes.div_ceil(u64::from(longest)),
        };
        if facts.total_bytes.saturating_add(segments.saturating_mul(2)) > bytes_max as u64 {
            return Ok(None);
        }
        let mut out = Vec::new();
        loop {
            let length_at = out.len();
            out.extend_from_slice(&[0, 0]);
            let most = usize::from(u16::MAX);
            let end = match &mut state {
                BlobState::Reading(reader) => reader
                    .read_segment(&transaction.store, most, &mut out)
                    .map_err(|error| self.database().status(error))?,
                BlobState::Converted(converted) => converted.read(most, &mut out),
                BlobState::Writing { .. } => SegmentRead::End,
            };
            let length = u16::try_from(out.len() - length_at - 2).unwrap_or(u16::MAX);
            if end == SegmentRead::End && length == 0 {
                out.truncate(length_at);
                return Ok(Some((facts, out)));
            }
            out[length_at..length_at + 2].copy_from_slice(&length.to_le_bytes());
            if out.len() > bytes_max {
                return Ok(None);
            }
        }
    }

    /// Forgets the BLOBs that were open in a transaction that has ended.
    pub(super) fn forget_blobs_of(&mut self, transaction: TransactionHandle) {
        self.blobs.retain(|_, blob| blob.transaction != transaction);
    }

    fn check_blob_count(&self) -> Result<()> {
        if self.blobs.len() >= HANDLES_MAX { Err(Error::new(isc::TOO_MANY_HANDLES)) } else { Ok(()) }
    }
}

fn facts_of(reader: &BlobReader) -> BlobFacts {
    let properties = reader.properties();
    BlobFacts {
        id: BlobId::default(),
        segments: properties.segments,
        longest_segment: u32::try_from(properties.segment_bytes_max).unwrap_or(u32::MAX),
        total_bytes: properties.bytes,
        stream: properties.options.stream,
    }
}

fn bad_handle() -> Error {
    Error::new(isc::BAD_SEGSTR_HANDLE)
}
