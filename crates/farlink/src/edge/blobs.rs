//! Reading and writing BLOBs.
//!
//! Small BLOBs come before the rows that name them; opening others asks for their contents, which are then read here. A BLOB's id is
//! known only at the server, so making one waits for its reply; a program that makes many gets them from a stock that was asked for
//! ahead, together with the first. What is written into them goes quietly: should it fail, so does what uses the BLOB.

use std::sync::Arc;
use std::time::Duration;

use farbird_types::{BlobId, Error, isc};
use farbird_wire::clumplet::{ClumpletReader, bpb};
use farbird_wire::packet::{OpenBlob, Reply, Request, Response};
use farbird_wire::protocol::Handle;

use super::Program;
use super::blob_contents::{Contents, Place};
use super::counters::Saved;
use super::effect::{Effect, MadeBlob};
use super::objects::{Blob, BlobKind, Coming, KeptBlob, Object, Spare, Transaction};
use super::program::Answer;
use super::site::Site;
use crate::message::{Ask, BlobFacts, RequestId};

/// Whether a BLOB opened with this BPB is read as it is stored.
fn reads_as_stored(bytes: &[u8]) -> bool {
    let Ok(mut items) = ClumpletReader::bpb(bytes) else { return false };
    items.all(|item| item.is_ok_and(|item| matches!(item.tag, bpb::TYPE | bpb::STORAGE)))
}

impl Program {
    /// Keeps a BLOB until its transaction ends: in memory, where the oldest makes room for it by being kept outside; if nothing more has room
    /// there, the oldest is dropped. `segments` are those that came.
    pub(super) fn keep_blob(&mut self, transaction: u16, blob: u64, facts: BlobFacts, segments: &[u8]) {
        let contents = Contents::whole(facts, segments);
        let bytes = contents.memory();
        let (program_max, now) = (self.site.limits().program_blob_bytes, self.now);
        let site = Arc::clone(&self.site);
        let Some(transaction) = self.objects.transaction(transaction) else { return };
        let mut program = self.blob_bytes;
        while program.saturating_add(bytes) > program_max
            && let Some(oldest) = transaction.blob_order.pop_front()
        {
            let freed = make_room(transaction, oldest, &site, now);
            program = program.saturating_sub(freed);
            site.give_back_blob(freed);
        }
        self.blob_bytes = program;
        let fits = program.saturating_add(bytes) <= program_max && site.take_blob_room(bytes);
        let kept = if fits {
            self.blob_bytes += bytes;
            KeptBlob::Inside(Arc::new(contents))
        } else {
            let Some(outside) = site.spill_blob(segments, now) else {
                return site.count(|counters| counters.blobs_evicted += 1);
            };
            KeptBlob::Outside(facts, outside)
        };
        let before = transaction.blobs.insert(blob, kept);
        let freed = before.as_ref().map_or(0, KeptBlob::memory);
        self.blob_bytes = self.blob_bytes.saturating_sub(freed);
        site.give_back_blob(freed);
        let was_inside = matches!(before, Some(KeptBlob::Inside(_)));
        match (was_inside, fits) {
            (false, true) => transaction.blob_order.push_back(blob),
            (true, false) => transaction.blob_order.retain(|of| *of != blob),
            _ => {}
        }
    }

    /// The contents of a BLOB that has come with its row.
    fn kept_blob(&mut self, transaction: u16, blob: u64) -> Option<Arc<Contents>> {
        let transaction = self.objects.transaction(transaction)?;
        let read = match transaction.blobs.get(&blob)? {
            KeptBlob::Inside(contents) => return Some(Arc::clone(contents)),
            KeptBlob::Outside(facts, outside) => {
                outside.read().map(|segments| Contents::whole(*facts, &segments))
            }
        };
        if read.is_err() {
            // The server has it still.
            transaction.blobs.remove(&blob);
            self.site.count(|counters| counters.blobs_evicted += 1);
        }
        read.ok().map(Arc::new)
    }

    pub(super) fn open_blob(&mut self, request: &Request, transaction: Handle, blob: BlobId, bpb: &[u8]) {
        let Some(handle) = self.objects.insert(Object::Other) else {
            return self.refuse(isc::TOO_MANY_HANDLES);
        };
        self.objects.set_latest(Some(handle));
        if self.objects.transaction(transaction.0).is_none() || !reads_as_stored(bpb) {
            return self.ask_for_blob(request, handle, transaction.0, MadeBlob::Opened);
        }
        if let Some(contents) = self.kept_blob(transaction.0, blob.0) {
            let kind = BlobKind::Held { contents, place: Place::default() };
            let blob = Blob { transaction: transaction.0, kind, reserved: None };
            self.objects.set(handle, Object::Blob(Box::new(blob)));
            return self.answer(Response::object(Handle(handle)), Some(Saved::BlobRead));
        }
        let (id, cursor) = (self.new_request(), self.new_cursor());
        let credit = self.site.limits().opened_blob_bytes;
        let packet = self.packet(request);
        let told = u32::try_from(credit).unwrap_or(u32::MAX);
        self.ask(Ask::OpenBlob { id, cursor, packet: packet.clone(), credit: told });
        let coming = Coming {
            cursor,
            packet,
            contents: Contents::default(),
            place: Place::default(),
            credit,
            came: 0,
        };
        let kind = BlobKind::Coming(Box::new(coming));
        let blob = Blob { transaction: transaction.0, kind, reserved: None };
        self.objects.set(handle, Object::Blob(Box::new(blob)));
        self.openings.insert(cursor, handle);
        self.wait_for(id, Some(Effect::BlobOpened { handle, cursor }));
    }

    /// op_get_segment, op_seek_blob, op_info_blob.
    pub(super) fn use_blob(&mut self, request: Request, handle: Handle) {
        match self.objects.blob(handle.0).map(|blob| &blob.kind) {
            Some(BlobKind::Held { .. } | BlobKind::Coming(_)) => {
                self.site.save(Saved::BlobRead);
                self.answers.push_back(Answer::Blob { request: Box::new(request) });
            }
            _ => {
                let request = self.at_origin(request, handle);
                self.relay(&request, 0, None);
            }
        }
    }

    /// A request about an open BLOB, with the handle by which the origin knows it.
    fn at_origin(&mut self, mut request: Request, handle: Handle) -> Request {
        let Some(reserved) = self.objects.blob(handle.0).and_then(|blob| blob.reserved) else {
            return request;
        };
        match &mut request {
            Request::GetSegment(segment) | Request::PutSegment(segment) | Request::BatchSegments(segment) => {
                segment.blob = Handle(reserved);
            }
            Request::SeekBlob { blob, .. } | Request::CloseBlob(blob) | Request::CancelBlob(blob) => {
                *blob = Handle(reserved);
            }
            Request::BlobInformation(information) => information.object = Handle(reserved),
            _ => {}
        }
        request
    }

    /// Answers a question about a BLOB whose turn it is; false if more of it must come first.
    pub(super) fn answer_blob(&mut self, request: &Request) -> bool {
        let handle = match request {
            Request::GetSegment(segment) => segment.blob,
            Request::SeekBlob { blob, .. } => *blob,
            Request::BlobInformation(information) => information.object,
            _ => return true,
        };
        let kept_max = self.site.limits().opened_blob_bytes;
        let closed = || Response::error(&Error::new(isc::BAD_SEGSTR_HANDLE));
        let (response, credit) = match self.objects.blob(handle.0).map(|blob| &mut blob.kind) {
            Some(BlobKind::Held { contents, place }) => match answered(contents, place, request) {
                Some(response) => (response, None),
                // Held contents are whole.
                None => (closed(), None),
            },
            Some(BlobKind::Coming(coming)) if coming.contents.is_broken() => {
                (Response::error(&Error::new(isc::BAD_SEGSTR_ID)), None)
            }
            Some(BlobKind::Coming(coming)) => {
                if coming.contents.is_gone(&coming.place) {
                    self.reopen_blob(handle.0);
                    return false;
                }
                let Some(response) = answered(&coming.contents, &mut coming.place, request) else {
                    return false;
                };
                coming.contents.forget_before(&mut coming.place, kept_max);
                let is_due = coming.came >= coming.credit / 4 && !coming.contents.is_whole;
                let credit = is_due.then(|| (coming.cursor, std::mem::take(&mut coming.came)));
                (response, credit)
            }
            _ => (closed(), None),
        };
        self.put(&Reply::Response(response));
        self.is_urgent = true;
        if let Some((cursor, bytes)) = credit {
            self.give_credit(cursor, bytes);
        }
        true
    }

    /// The program has gone back to what was forgotten: it comes again, from the BLOB's start.
    fn reopen_blob(&mut self, handle: u16) {
        let (id, cursor) = (self.new_request(), self.new_cursor());
        let credit = u32::try_from(self.site.limits().opened_blob_bytes).unwrap_or(u32::MAX);
        let Some(Blob { kind: BlobKind::Coming(coming), .. }) = self.objects.blob(handle) else { return };
        let before = std::mem::replace(&mut coming.cursor, cursor);
        coming.contents.restart();
        coming.came = 0;
        let packet = coming.packet.clone();
        self.openings.remove(&before);
        self.openings.insert(cursor, handle);
        self.ask(Ask::CloseCursor { cursor: before });
        self.ask(Ask::OpenBlob { id, cursor, packet, credit });
        self.own.insert(id, Effect::BlobOpened { handle, cursor });
        self.count_trip();
    }

    pub(super) fn close_blob(&mut self, request: Request, handle: Handle) {
        let Some(blob) = self.objects.blob(handle.0) else { return self.relay(&request, 0, None) };
        match &blob.kind {
            BlobKind::Held { .. } => {}
            BlobKind::Coming(coming) => {
                let cursor = coming.cursor;
                self.openings.remove(&cursor);
                self.ask(Ask::CloseCursor { cursor });
            }
            BlobKind::Asked(_) | BlobKind::Server | BlobKind::Written => {
                let request = self.at_origin(request, handle);
                self.quietly(&request, 0);
            }
        }
        self.objects.remove(handle.0);
        self.answer(Response::success(), Some(Saved::Free));
    }

    /// op_create_blob, op_create_blob2.
    pub(super) fn create_blob(&mut self, request: &Request, transaction: Handle, bpb: &[u8]) {
        self.wrote(transaction.0);
        let before = self.blobs_before;
        let Some(known) = self.objects.transaction(transaction.0) else {
            return self.make_blob(request, transaction.0);
        };
        known.created += 1;
        let created = known.created;
        let spare = match known.spares.iter().position(|spare| spare.bpb == bpb) {
            Some(place) => known.spares.remove(place),
            None => None,
        };
        match spare {
            Some(spare) => self.use_spare(spare, transaction.0),
            None => {
                self.make_blob(request, transaction.0);
                // Twice as many each time; at once as many as the last transaction made.
                let expected = if created == 1 { before.saturating_sub(1) } else { created };
                self.make_spares(request, transaction.0, bpb, expected);
            }
        }
    }

    /// The program asks for a BLOB that was made before.
    fn use_spare(&mut self, spare: Spare, transaction: u16) {
        let Spare { handle: reserved, id, blob, .. } = spare;
        let Some(handle) = self.objects.insert(Object::Other) else {
            self.own.remove(&id);
            self.objects.release(reserved);
            return self.refuse(isc::TOO_MANY_HANDLES);
        };
        self.objects.set_latest(Some(handle));
        let reserved = Some(reserved);
        match blob {
            Some(blob) => {
                let response = Response { object: Handle(handle), blob, ..Response::success() };
                let blob = Blob { transaction, kind: BlobKind::Written, reserved };
                self.objects.set(handle, Object::Blob(Box::new(blob)));
                self.answer(response, Some(Saved::BlobWrite));
            }
            None => {
                self.own.remove(&id);
                self.wait_for_blob(id, handle, transaction, MadeBlob::Written, reserved);
            }
        }
    }

    fn make_blob(&mut self, request: &Request, transaction: u16) {
        let Some(handle) = self.objects.insert(Object::Other) else {
            return self.refuse(isc::TOO_MANY_HANDLES);
        };
        self.objects.set_latest(Some(handle));
        self.ask_for_blob(request, handle, transaction, MadeBlob::Written);
    }

    fn ask_for_blob(&mut self, request: &Request, handle: u16, transaction: u16, kind: MadeBlob) {
        let id = self.new_request();
        let packet = self.packet(request);
        self.ask(Ask::Relay { id, object: handle, packet });
        self.wait_for_blob(id, handle, transaction, kind, None);
    }

    /// A program may go on with a BLOB, and close it, before it has heard that it is open: the handle is then free for something else.
    fn wait_for_blob(
        &mut self,
        id: RequestId,
        handle: u16,
        transaction: u16,
        kind: MadeBlob,
        reserved: Option<u16>,
    ) {
        let asked = Blob { transaction, kind: BlobKind::Asked(id), reserved };
        self.objects.set(handle, Object::Blob(Box::new(asked)));
        self.wait_for(id, Some(Effect::BlobMade { id, handle, kind, reserved }));
    }

    /// A BLOB that was asked for is open, or is not.
    pub(super) fn blob_made(&mut self, id: RequestId, handle: u16, kind: MadeBlob, succeeded: bool) {
        let Some(blob) = self.objects.blob(handle) else { return };
        if !matches!(blob.kind, BlobKind::Asked(asked) if asked == id) {
            return;
        }
        match (succeeded, kind) {
            (true, MadeBlob::Opened) => blob.kind = BlobKind::Server,
            (true, MadeBlob::Written) => blob.kind = BlobKind::Written,
            (false, _) => {
                self.objects.remove(handle);
            }
        }
    }

    fn make_spares(&mut self, request: &Request, transaction: u16, bpb: &[u8], wanted: usize) {
        for _ in 0..wanted.min(self.site.limits().spare_blobs) {
            let Some(handle) = self.objects.reserve() else { return };
            let id = self.new_request();
            let packet = self.packet(request);
            self.ask(Ask::Relay { id, object: handle, packet });
            self.own.insert(id, Effect::Spare { handle, transaction });
            if let Some(transaction) = self.objects.transaction(transaction) {
                transaction.spares.push_back(Spare { handle, id, bpb: bpb.to_vec(), blob: None });
            }
        }
    }

    /// The server has made a BLOB that nobody has asked for, or has failed to.
    pub(super) fn spare_made(&mut self, handle: u16, transaction: u16, blob: Option<BlobId>) {
        let Some(known) = self.objects.transaction(transaction) else { return };
        let Some(place) = known.spares.iter().position(|spare| spare.handle == handle) else { return };
        if blob.is_none() {
            known.spares.remove(place);
            self.objects.release(handle);
        } else if let Some(spare) = known.spares.get_mut(place) {
            spare.blob = blob;
        }
    }

    /// op_put_segment, op_batch_segments.
    pub(super) fn write_blob(&mut self, request: Request, handle: Handle, bytes: usize) {
        let request = self.at_origin(request, handle);
        let is_written = matches!(self.objects.blob(handle.0), Some(Blob { kind: BlobKind::Written, .. }));
        let is_short = bytes <= usize::from(u16::MAX);
        self.quiet_bytes += bytes;
        // So much at a time, or a program would be faster than the link without noticing.
        if !is_written || !is_short || self.quiet_bytes > self.site.limits().quiet_bytes {
            return self.relay(&request, 0, None);
        }
        self.quietly(&request, 0);
        self.answer(Response::success(), Some(Saved::BlobWrite));
    }

    /// The parts of a request that opens or makes a BLOB.
    pub(super) fn blob_request(&mut self, request: &Request) {
        match request {
            Request::OpenBlob { transaction, blob } => self.open_blob(request, *transaction, *blob, &[]),
            Request::OpenBlob2(OpenBlob { bpb, transaction, blob }) => {
                self.open_blob(request, *transaction, *blob, bpb);
            }
            Request::CreateBlob { transaction, .. } => self.create_blob(request, *transaction, &[]),
            Request::CreateBlob2(OpenBlob { bpb, transaction, .. }) => {
                self.create_blob(request, *transaction, bpb);
            }
            _ => {}
        }
    }
}

/// Keeps a BLOB outside of memory, or drops it; gives what it took.
fn make_room(transaction: &mut Transaction, blob: u64, site: &Site, now: Duration) -> usize {
    let Some(KeptBlob::Inside(contents)) = transaction.blobs.get(&blob) else { return 0 };
    let freed = contents.memory();
    let outside = contents.facts.and_then(|facts| {
        let outside = site.spill_blob(&contents.segments(), now)?;
        Some(KeptBlob::Outside(facts, outside))
    });
    match outside {
        Some(outside) => drop(transaction.blobs.insert(blob, outside)),
        None => {
            transaction.blobs.remove(&blob);
            site.count(|counters| counters.blobs_evicted += 1);
        }
    }
    freed
}

/// The answer to a question about a BLOB; `None` if it depends on what has not come.
fn answered(contents: &Contents, place: &mut Place, request: &Request) -> Option<Response> {
    match request {
        Request::GetSegment(segment) => {
            let (state, data) = contents.read(place, usize::from(segment.length))?;
            Some(Response::data(Handle(state), data))
        }
        Request::SeekBlob { mode, offset, .. } => Some(match contents.seek(place, *mode, *offset)? {
            Ok(position) => Response { blob: BlobId(position), ..Response::success() },
            Err(code) => Response::error(&Error::new(code)),
        }),
        Request::BlobInformation(information) => {
            let data = contents.information(&information.items, information.buffer_length)?;
            Some(Response::data(information.object, data))
        }
        _ => None,
    }
}
