//! A portion of a relation that is swept together: what is to be done with its rows, found without the right to write.
//!
//! Index entries are gathered for as many rows as memory allows, so that they can be deleted in the order of their index:
//! page by page, not a page for each.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use farbird_types::{BlobId, Value};

use super::entry_list::EntryList;
use super::images::image_of_version;
use crate::block::Block;
use crate::changes;
use crate::committed::{block_commit, block_of};
use crate::decoder::RowDecoder;
use crate::layout::KeySource;
use crate::store::Inner;
use crate::substrate::{Direction, Slice, Space, SubstrateState};
use crate::version::{StoredVersion, VersionContent};
use crate::{CommitNumber, IndexId, Projection, RelationLayout, Result, RowId, StoreError, keyspace};

/// Versions looked at together; of a row that has more of them the rest is left to the next round.
const STRETCH_VERSIONS_MAX: usize = 16_384;
/// BLOBs that a stretch gives up together.
const STRETCH_BLOBS_MAX: usize = 128;

/// A version of a row, by its key.
pub(super) type VersionKey = (RowId, CommitNumber);

/// What is to be done with rows that follow each other.
#[derive(Debug, Default)]
pub(super) struct RangeWork {
    /// Versions that everybody sees, and that nothing speaks against putting into a block: at most one per row.
    pub(super) settled: Vec<VersionKey>,
    /// Versions that nobody sees.
    pub(super) dead: Vec<VersionKey>,
    /// BLOBs that only images which nobody sees refer to.
    pub(super) blobs: Vec<(RowId, BlobId)>,
}

impl RangeWork {
    pub(super) fn is_empty(&self) -> bool {
        self.settled.is_empty() && self.dead.is_empty()
    }

    fn bytes(&self) -> usize {
        (self.settled.len() + self.dead.len()) * size_of::<VersionKey>()
            + self.blobs.len() * size_of::<(RowId, BlobId)>()
    }
}

/// What is found of a relation, from a row on.
#[derive(Debug)]
pub(super) struct Gathered {
    pub(super) stretches: Vec<RangeWork>,
    /// Entries that only images have which nobody sees.
    pub(super) entries: BTreeMap<IndexId, EntryList>,
    /// Where to go on; `None` at the end of the relation.
    pub(super) next_row: Option<RowId>,
    /// Memory taken.
    pub(super) bytes: usize,
}

impl Gathered {
    pub(super) fn from(row: RowId) -> Gathered {
        Gathered { stretches: Vec::new(), entries: BTreeMap::new(), next_row: Some(row), bytes: 0 }
    }

    /// Gathers rows of the next block, or behind it up to the next one.
    pub(super) fn add_stretch(&mut self, inner: &Inner, layout: &RelationLayout) -> Result<()> {
        let Some(from) = self.next_row else { return Ok(()) };
        // Nothing that is in the snapshot may be published later only: somebody could begin to read it meanwhile.
        let (snapshot, published) = {
            let _guard = inner.begin_write();
            (inner.snapshot(), inner.last_commit())
        };
        let projection = image_projection(layout);
        let mut gathering = Gathering {
            inner,
            layout,
            snapshot: &*snapshot,
            published,
            horizon: inner.registry.horizon(published),
            decoder: RowDecoder::new(inner, layout, &projection),
            slots: projection.slots(),
            container: Container::default(),
            entries: &mut self.entries,
            bytes: &mut self.bytes,
            stretch: RangeWork::default(),
        };
        self.next_row = gathering.read(from)?;
        let stretch = gathering.stretch;
        self.entries.values_mut().for_each(EntryList::end_run);
        self.bytes += stretch.bytes();
        if !stretch.is_empty() {
            self.stretches.push(stretch);
        }
        Ok(())
    }
}

/// The columns that index entries and BLOBs of a row are found by.
fn image_projection(layout: &RelationLayout) -> Projection {
    let mut slots: Vec<u16> = Vec::new();
    for index in layout.indexes.iter().filter(|index| index.active) {
        for part in &index.parts {
            match &part.source {
                KeySource::Column(slot) if index.condition.is_none() => slots.push(*slot),
                _ => return Projection::all(),
            }
        }
    }
    for format in &layout.formats {
        slots.extend(format.blob_slots().filter_map(|slot| u16::try_from(slot).ok()));
    }
    slots.sort_unstable();
    slots.dedup();
    Projection::of(slots)
}

/// The block that holds the rows of a stretch, if one does.
#[derive(Default)]
struct Container {
    block: Option<Arc<Block>>,
    /// Whether everybody sees it.
    is_settled: bool,
    /// Projected values of all its rows, once several were asked for.
    values: Option<Vec<Value>>,
    asked: usize,
}

/// Rows asked for one by one before all of a block are decoded together.
const SINGLE_ROWS_MAX: usize = 16;

/// All versions of a row that matter.
struct RowVersions {
    row: RowId,
    /// Those that somebody sees, or may come to see, newest first.
    kept: Vec<(CommitNumber, Slice)>,
    /// Some of the others.
    dead: Vec<(CommitNumber, Slice)>,
    /// The one read last.
    successor: CommitNumber,
    /// Whether there are more dead ones.
    has_more: bool,
}

struct Gathering<'a> {
    inner: &'a Inner,
    layout: &'a RelationLayout,
    snapshot: &'a dyn SubstrateState,
    published: CommitNumber,
    /// Everybody sees commits up to this one.
    horizon: CommitNumber,
    decoder: RowDecoder<'a>,
    /// The columns of images; `None`: all.
    slots: Option<&'a [u16]>,
    container: Container,
    entries: &'a mut BTreeMap<IndexId, EntryList>,
    bytes: &'a mut usize,
    stretch: RangeWork,
}

impl Gathering<'_> {
    /// Reads versions of whole rows; gives the row to go on with, if there may be more.
    fn read(&mut self, from: RowId) -> Result<Option<RowId>> {
        let first = keyspace::version(from, CommitNumber(u64::MAX));
        let span = (Bound::Included(&first[..]), Bound::Unbounded);
        let entries = self.snapshot.scan(Space::Versions(self.layout.id), span, Direction::Forward)?;
        let mut end = None;
        let mut current: Option<RowVersions> = None;
        for (count, entry) in entries.enumerate() {
            let (key, value) = entry?;
            let (row, commit) =
                keyspace::parse_version(&key).ok_or_else(|| StoreError::corrupt("key of a version"))?;
            if let Some(same) = current.as_mut().filter(|current| current.row == row) {
                same.add(self.inner, self.published, commit, value);
                continue;
            }
            match current.take() {
                None => end = self.begin_stretch(row)?,
                Some(whole) => self.take_row(&whole)?,
            }
            let is_full = count >= STRETCH_VERSIONS_MAX || self.stretch.blobs.len() >= STRETCH_BLOBS_MAX;
            if is_full || end.is_some_and(|end| row.0 >= end) {
                return Ok(Some(row));
            }
            let mut begun = RowVersions {
                row,
                kept: Vec::new(),
                dead: Vec::new(),
                successor: CommitNumber(u64::MAX),
                has_more: false,
            };
            begun.add(self.inner, self.published, commit, value);
            current = Some(begun);
        }
        if let Some(last) = current {
            self.take_row(&last)?;
        }
        Ok(None)
    }

    /// Finds the block of the first row; gives the first row of the one behind.
    fn begin_stretch(&mut self, first: RowId) -> Result<Option<u64>> {
        let block = block_of(self.snapshot, self.layout.id, first)?;
        let is_settled = block.as_ref().is_none_or(|block| {
            block_commit(self.inner, block.stamp).is_some_and(|commit| commit <= self.horizon)
        });
        let last = block.as_ref().map_or(first.0, |block| block.last);
        self.container = Container { block, is_settled, values: None, asked: 0 };
        next_block(self.snapshot, self.layout, last)
    }

    fn take_row(&mut self, versions: &RowVersions) -> Result<()> {
        let row = versions.row;
        let newest = versions.kept.first();
        let is_settled = !versions.has_more
            && self.container.is_settled
            && versions.kept.len() == 1
            && newest.is_some_and(|newest| newest.0 <= self.horizon);
        let in_block = self.container.block.as_ref().and_then(|block| block.index_of(row.0));
        if !versions.dead.is_empty() || (is_settled && in_block.is_some()) {
            self.forget_images(versions, in_block, is_settled)?;
        }
        self.stretch.dead.extend(versions.dead.iter().map(|(commit, _)| (row, *commit)));
        if let Some((commit, _)) = newest.filter(|_| is_settled) {
            self.stretch.settled.push((row, *commit));
        }
        Ok(())
    }

    /// Gathers what only dead images of a row refer to.
    fn forget_images(
        &mut self,
        versions: &RowVersions,
        in_block: Option<usize>,
        is_block_dead: bool,
    ) -> Result<()> {
        if self.slots.is_some_and(<[u16]>::is_empty) {
            return Ok(());
        }
        let row = versions.row;
        let mut alive = self.uncommitted_images(row)?;
        for (_, value) in &versions.kept {
            alive.extend(self.image(row, value)?);
        }
        let mut dead = Vec::new();
        for (_, value) in &versions.dead {
            dead.extend(self.image(row, value)?);
        }
        if let Some(index) = in_block {
            let image = self.block_image(index)?;
            if is_block_dead { dead.push(image) } else { alive.push(image) }
        }
        self.forget_entries(row, &dead, &alive);
        let blobs = |images: &[Vec<Value>]| -> Vec<BlobId> {
            let blobs = images.iter().flatten().filter_map(|value| match value {
                Value::Blob(blob) => Some(*blob),
                _ => None,
            });
            blobs.collect()
        };
        let (mut dead, alive) = (blobs(&dead), blobs(&alive));
        dead.sort_unstable();
        dead.dedup();
        dead.retain(|blob| !alive.contains(blob));
        self.stretch.blobs.extend(dead.into_iter().map(|blob| (row, blob)));
        Ok(())
    }

    fn forget_entries(&mut self, row: RowId, dead: &[Vec<Value>], alive: &[Vec<Value>]) {
        for index in self.layout.indexes.iter().filter(|index| index.active) {
            // An entry too many is only a hint that leads nowhere: not worth failing for an expression that does.
            let keys = |images: &[Vec<Value>]| -> Vec<Vec<u8>> {
                images.iter().filter_map(|image| Some(index.key(image).ok()??.bytes)).collect()
            };
            let (mut dead, alive) = (keys(dead), keys(alive));
            dead.sort_unstable();
            dead.dedup();
            for key in dead.iter().filter(|key| !alive.contains(key)) {
                *self.bytes += EntryList::cost(key);
                self.entries.entry(index.id).or_default().push(key, row);
            }
        }
    }

    /// What running transactions have spilled of a row: nothing else is there, since all others' changes are settled.
    fn uncommitted_images(&self, row: RowId) -> Result<Vec<Vec<Value>>> {
        let mut images = Vec::new();
        if self.snapshot.bounds(Space::Changes(self.layout.id))?.is_some() {
            for entry in changes::scan(self.snapshot, self.layout.id, row, row)? {
                images.extend(self.image(row, &entry?.1)?);
            }
        }
        Ok(images)
    }

    /// The values of a stored version, or `None` if it is a deletion.
    fn image(&self, row: RowId, value: &[u8]) -> Result<Option<Vec<Value>>> {
        Ok(image_of_version(&self.decoder, row, value)?.map(|values| self.spread(values)))
    }

    fn block_image(&mut self, index: usize) -> Result<Vec<Value>> {
        let Container { block: Some(block), values, asked, .. } = &mut self.container else {
            return Ok(Vec::new());
        };
        let format = self.decoder.format(block.format)?;
        let columns = self.decoder.columns();
        let width = columns.width(format);
        *asked += 1;
        let mut image = match values {
            Some(values) => values.get(index * width..(index + 1) * width).unwrap_or_default().to_vec(),
            None => {
                let reader = block.reader(format)?;
                let mut image = Vec::new();
                reader.decode_row(index, columns, &mut image).map_err(|error| block.damaged(&error))?;
                if *asked > SINGLE_ROWS_MAX {
                    let mut all = Vec::with_capacity(block.rows * width);
                    reader
                        .decode_rows(0..block.rows, columns, &mut all)
                        .map_err(|error| block.damaged(&error))?;
                    *values = Some(all);
                }
                image
            }
        };
        self.decoder.adapt(block.format, 0, &mut image)?;
        Ok(self.spread(image))
    }

    /// Puts projected values at their slots.
    fn spread(&self, values: Vec<Value>) -> Vec<Value> {
        let Some(slots) = self.slots else { return values };
        let width = slots.last().map_or(0, |last| usize::from(*last) + 1);
        if width == values.len() {
            return values;
        }
        let mut row = vec![Value::Null; width];
        for (slot, value) in slots.iter().zip(values) {
            if let Some(place) = row.get_mut(usize::from(*slot)) {
                *place = value;
            }
        }
        row
    }
}

impl RowVersions {
    /// Adds the next older version.
    fn add(&mut self, inner: &Inner, published: CommitNumber, commit: CommitNumber, value: Slice) {
        let is_kept =
            self.kept.is_empty() || inner.registry.is_read_between(commit, self.successor, published);
        self.successor = commit;
        if is_kept {
            self.kept.push((commit, value));
        } else if self.dead.len() < STRETCH_VERSIONS_MAX {
            self.dead.push((commit, value));
        } else {
            self.has_more = true;
        }
    }
}

/// Checks that a version is whole; gives its record format, if it is of a row.
pub(super) fn format_of_version(row: RowId, value: &[u8]) -> Result<Option<u16>> {
    Ok(match StoredVersion::decode(value, row)?.content {
        VersionContent::Row { format, .. } => Some(format),
        VersionContent::Deleted => None,
    })
}

/// First row of the first block behind row `last`.
pub(super) fn next_block(
    snapshot: &dyn SubstrateState,
    layout: &RelationLayout,
    last: u64,
) -> Result<Option<u64>> {
    let after = keyspace::block(RowId(last));
    let span = (Bound::Excluded(&after[..]), Bound::Unbounded);
    match snapshot.scan(Space::Blocks(layout.id), span, Direction::Forward)?.next() {
        None => Ok(None),
        Some(entry) => {
            keyspace::number(&entry?.0).map(Some).ok_or_else(|| StoreError::corrupt("key of a row block"))
        }
    }
}
