//! BLOBs by handle: create, open, read and write segments, seek, close.
//!
//! Source: wire-protocol.md, 6.7 and 9.1.

use farbird_engine::api::BlobParameters;
use farbird_engine::{SeekFrom, SegmentRead};
use farbird_types::{BlobId, CharacterSet, Error, Result, isc};
use farbird_wire::clumplet::{ClumpletReader, bpb};
use farbird_wire::packet::{Response, Segment};
use farbird_wire::protocol::{Handle, segment_state};

use super::Session;
use super::objects::Object;

/// Bytes of the length in front of each segment.
const SEGMENT_HEAD_BYTES: usize = 2;

impl Session {
    pub(super) fn create_blob(&mut self, transaction: Handle, bpb: &[u8]) -> Result<Response> {
        self.objects.forget_latest();
        let transaction = self.objects.resolve(transaction);
        let engine_transaction = self.objects.transaction(transaction)?;
        let (blob, id) = self.attachment()?.create_blob(engine_transaction, parameters(bpb)?)?;
        let handle = self.objects.insert(Object::Blob { blob, transaction })?;
        Ok(Response { object: handle, blob: id, ..Response::success() })
    }

    pub(super) fn open_blob(&mut self, transaction: Handle, id: BlobId, bpb: &[u8]) -> Result<Response> {
        self.objects.forget_latest();
        let transaction = self.objects.resolve(transaction);
        let engine_transaction = self.objects.transaction(transaction)?;
        let blob = self.attachment()?.open_blob(engine_transaction, id, parameters(bpb)?)?;
        let handle = self.objects.insert(Object::Blob { blob, transaction })?;
        Ok(Response::object(handle))
    }

    /// As many segments as fit, each behind its length; the object field says how it ended.
    pub(super) fn get_segments(&mut self, segment: &Segment) -> Result<Response> {
        let blob = self.objects.blob(segment.blob)?;
        let room = usize::from(segment.length);
        let attachment = self.attachment()?;
        let mut data = Vec::new();
        let mut state = segment_state::COMPLETE;
        while data.len() + SEGMENT_HEAD_BYTES < room {
            let head = data.len();
            data.extend_from_slice(&[0; SEGMENT_HEAD_BYTES]);
            let bytes_max = room - data.len();
            let read = attachment.get_segment(blob, bytes_max, &mut data)?;
            let length = data.len() - head - SEGMENT_HEAD_BYTES;
            if read == SegmentRead::End && length == 0 {
                data.truncate(head);
            } else if let (Ok(length), Some(place)) =
                (u16::try_from(length), data.get_mut(head..head + SEGMENT_HEAD_BYTES))
            {
                place.copy_from_slice(&length.to_le_bytes());
            }
            state = match read {
                SegmentRead::Complete => segment_state::COMPLETE,
                SegmentRead::Incomplete => segment_state::INCOMPLETE,
                SegmentRead::End => segment_state::END_OF_BLOB,
            };
            if state != segment_state::COMPLETE {
                break;
            }
        }
        Ok(Response::data(Handle(state), data))
    }

    pub(super) fn put_segment(&mut self, segment: &Segment) -> Result<Response> {
        let blob = self.objects.blob(segment.blob)?;
        self.attachment()?.put_segment(blob, &segment.data)?;
        Ok(Response::success())
    }

    /// op_batch_segments: segments each behind its length.
    pub(super) fn put_segments(&mut self, segments: &Segment) -> Result<Response> {
        let blob = self.objects.blob(segments.blob)?;
        let attachment = self.attachment()?;
        let mut rest = &*segments.data;
        while let Some((head, tail)) = rest.split_first_chunk::<SEGMENT_HEAD_BYTES>() {
            let length = usize::from(u16::from_le_bytes(*head));
            let (bytes, after) =
                tail.split_at_checked(length).ok_or_else(|| Error::new(isc::BATCH_BIG_SEG2))?;
            attachment.put_segment(blob, bytes)?;
            rest = after;
        }
        Ok(Response::success())
    }

    pub(super) fn seek_blob(&mut self, handle: Handle, mode: u16, offset: i32) -> Result<Response> {
        let from = match mode {
            0 => SeekFrom::Start,
            1 => SeekFrom::Current,
            2 => SeekFrom::End,
            _ => return Err(Error::new(isc::BAD_SEGSTR_TYPE)),
        };
        let blob = self.objects.blob(handle)?;
        let position = self.attachment()?.seek_blob(blob, from, i64::from(offset))?;
        Ok(Response { blob: BlobId(position), ..Response::success() })
    }

    pub(super) fn close_blob(&mut self, handle: Handle, cancel: bool) -> Result<Response> {
        let handle = self.objects.resolve(handle);
        let blob = self.objects.blob(handle)?;
        self.objects.remove(handle);
        let attachment = self.attachment()?;
        if cancel {
            attachment.cancel_blob(blob)?
        } else {
            attachment.close_blob(blob)?
        }
        Ok(Response::success())
    }
}

/// Understands a BPB. Without one a BLOB is segmented and of no type.
///
/// # Errors
/// `isc_bpb_version` for another version, `isc_bad_dpb_form`-like refusals for damage.
pub(super) fn parameters(bytes: &[u8]) -> Result<BlobParameters> {
    let mut parameters = BlobParameters::default();
    if bytes.is_empty() {
        return Ok(parameters);
    }
    let mut source = (None, None);
    let mut target = (None, None);
    for item in ClumpletReader::bpb(bytes).map_err(|_| Error::new(isc::BPB_VERSION))? {
        let item = item.map_err(|_| Error::new(isc::BAD_DPB_FORM))?;
        let number = item.integer().unwrap_or_default();
        match item.tag {
            bpb::TYPE => parameters.stream = number & i64::from(bpb::TYPE_STREAM) != 0,
            bpb::SOURCE_TYPE => source.0 = i16::try_from(number).ok(),
            bpb::TARGET_TYPE => target.0 = i16::try_from(number).ok(),
            bpb::SOURCE_INTERP => source.1 = u8::try_from(number).ok(),
            bpb::TARGET_INTERP => target.1 = u8::try_from(number).ok(),
            _ => {}
        }
    }
    let typed = |(subtype, charset): (Option<i16>, Option<u8>)| {
        (subtype.is_some() || charset.is_some())
            .then(|| (subtype.unwrap_or_default(), CharacterSet(charset.unwrap_or_default())))
    };
    parameters.client = typed(source);
    parameters.column = typed(target);
    Ok(parameters)
}
