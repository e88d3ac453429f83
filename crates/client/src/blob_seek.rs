//! Going to another place of a BLOB that is being read.
//!
//! Servers go to places of streams only (`isc_bad_segstr_type` otherwise); of segments what stands before the place is
//! passed over. Source: wire-protocol 6.10 (op_seek_blob).

use std::collections::VecDeque;
use std::io::SeekFrom;

use farbird_types::{Error, Result, isc};
use farbird_wire::info::InfoReader;
use farbird_wire::packet::{Information, Request};
use farbird_wire::protocol::Handle;

use crate::blob::{BLOB_INFORMATION_BYTES, Contents, FIREBIRD_PIECE_BYTES, Origin, Source};
use crate::core::conversation::Ticket;
use crate::core::{Core, PIECE_BYTES, get_segment};
use crate::error;

/// Item of a BLOB's information: its length.
const TOTAL_LENGTH: u8 = 6;
/// The end of the items.
const END: u8 = 1;
/// Mode of op_seek_blob: from the start.
const FROM_START: u16 = 0;
/// Pieces asked for together with the place.
const PIECES: usize = 2;

impl Contents {
    /// Where it is read on.
    fn position(&self) -> u64 {
        self.start + self.taken as u64
    }

    /// Where what is here ends.
    fn here_until(&self) -> u64 {
        self.start + self.data.len() as u64
    }

    pub(crate) async fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let target = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::Current(distance) => self.position().checked_add_signed(distance),
            SeekFrom::End(distance) => self.length().await?.checked_add_signed(distance),
        };
        let target =
            target.ok_or_else(|| Error::new(isc::RANDOM).with("a place before the start of a BLOB"))?;
        self.go_to(target).await?;
        Ok(self.position())
    }

    async fn go_to(&mut self, target: u64) -> Result<()> {
        if target < self.start {
            return self.open_at(target).await;
        }
        let under_way =
            self.source.as_ref().map_or(0, |source| source.pieces.len() * usize::from(PIECE_BYTES));
        if self.source.is_some() && target > self.here_until() + under_way as u64 {
            return self.open_at(target).await;
        }
        while target > self.here_until() {
            self.taken = self.data.len();
            if !self.fill().await? {
                return Ok(());
            }
        }
        // It is here, so it is no farther away than memory reaches.
        self.taken = usize::try_from(target - self.start).unwrap_or(usize::MAX);
        Ok(())
    }

    async fn length(&self) -> Result<u64> {
        let Some(source) = &self.source else { return Ok(self.here_until()) };
        let question = Information {
            object: source.object.handle().await?,
            incarnation: 0,
            items: vec![TOTAL_LENGTH, END],
            buffer_length: BLOB_INFORMATION_BYTES,
        };
        let reply = source.origin.shared.response(&Request::BlobInformation(question)).await?;
        let item = InfoReader::new(&reply.data).next().transpose().map_err(|error| error::broken(&error))?;
        let bytes = item.filter(|item| item.item == TOTAL_LENGTH).map(|item| item.value);
        let bytes =
            bytes.filter(|bytes| bytes.len() <= 8).ok_or_else(|| error::unexpected("op_info_blob"))?;
        let mut length = [0; 8];
        length.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(u64::from_le_bytes(length))
    }

    /// Opens it again, to read on from there.
    async fn open_at(&mut self, target: u64) -> Result<()> {
        let Some(origin) = self.origin.clone() else { return Ok(()) };
        let (source, start) = Source::open_at(origin, target).await?;
        let is_passing_over = source.skip > 0;
        *self =
            Contents { start, data: Vec::new(), taken: 0, origin: self.origin.take(), source: Some(source) };
        if is_passing_over {
            // Whether the place is beyond the end shows when it is reached.
            self.fill().await?;
        }
        Ok(())
    }
}

impl Source {
    /// The BLOB from a place on; the place, or the end if that comes before it.
    async fn open_at(origin: Origin, place: u64) -> Result<(Source, u64)> {
        let transaction = origin.transaction.handle().await?;
        let shared = origin.shared.clone();
        let is_ahead = shared.tuning().reads_blobs_ahead();
        let length = if is_ahead { PIECE_BYTES } else { FIREBIRD_PIECE_BYTES };
        let is_joined = shared.tuning().joins_blob_open();
        let (asked, together) = {
            let mut core = shared.lock();
            let asked = core.ask_blob(transaction, origin.transaction.id(), origin.id, &[])?;
            // Nothing may come between them: they name what was opened last.
            let together =
                if is_joined { Some(ask_from(&mut core, Handle::LATEST, place, length)?) } else { None };
            (asked, together)
        };
        let object = shared.object(asked.object);
        let opened = shared.question(asked.opened);
        let together = match together {
            Some(together) => together,
            None => {
                let handle = object.handle().await?;
                ask_from(&mut shared.lock(), handle, place, length)?
            }
        };
        let pieces: VecDeque<_> = together.pieces.into_iter().map(|ticket| shared.question(ticket)).collect();
        let went = together.went.map(|ticket| shared.question(ticket));
        opened.response().await?;
        let went_to = match went {
            None => None,
            Some(went) => match went.response().await {
                // The low half tells the place.
                Ok(response) => Some(response.blob.0 & u64::from(u32::MAX)),
                Err(error) if error.has(isc::BAD_SEGSTR_TYPE) => None,
                Err(error) => return Err(error),
            },
        };
        let bytes = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let (start, base, skip) = match went_to {
            Some(start) => (start, bytes(start), 0),
            None => (place, 0, bytes(place)),
        };
        Ok((Source { origin, object, pieces, window: 0, base, received: 0, skip }, start))
    }
}

/// What was asked of an open BLOB.
struct AskedFrom {
    /// To go to the place, if the protocol can name it.
    went: Option<Ticket>,
    pieces: Vec<Ticket>,
}

fn ask_from(core: &mut Core, blob: Handle, place: u64, length: u16) -> Result<AskedFrom> {
    let went = match i32::try_from(place) {
        Ok(offset) if offset > 0 => Some(core.ask(&Request::SeekBlob { blob, mode: FROM_START, offset })?),
        _ => None,
    };
    let pieces = (0..PIECES).map(|_| core.ask(&get_segment(blob, length)));
    Ok(AskedFrom { went, pieces: pieces.collect::<Result<_>>()? })
}
