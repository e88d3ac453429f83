//! What a disk was told to do, and what power cuts may have left of it.

use std::sync::Arc;

use crate::{Image, Random};

/// A write reaches the disk in sectors of this size, each whole or not at all.
const SECTOR_BYTES: usize = 512;

/// A change of a disk.
#[derive(Debug, Clone)]
pub enum Operation {
    /// Bytes at a place.
    Write {
        /// The place.
        offset: usize,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// A new length.
    Resize(usize),
    /// Everything before it is there for good.
    Sync,
}

/// The changes of a disk, from a state that was there for good.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// What was there for good behind so many operations, ascending; the first one behind none.
    synced: Vec<(usize, Image)>,
    operations: Vec<Operation>,
}

impl Recording {
    /// Nothing yet.
    pub fn new(start: Image) -> Recording {
        Recording { synced: vec![(0, start)], operations: Vec::new() }
    }

    /// Adds a change; `current` is what the disk holds then.
    pub(crate) fn push(&mut self, operation: Operation, current: &Image) {
        let is_sync = matches!(operation, Operation::Sync);
        self.operations.push(operation);
        if is_sync {
            self.synced.push((self.operations.len(), current.clone()));
        }
    }

    /// Number of changes.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// What a power cut may leave that comes after `point` operations: of those since the latest sync any may have
    /// reached the disk, or parts of them.
    pub fn after_power_cut(&self, point: usize, random: &mut Random) -> Image {
        let at = self.synced.partition_point(|(operations, _)| *operations <= point).saturating_sub(1);
        let Some((since, image)) = self.synced.get(at) else { return Image::default() };
        let mut image = image.clone();
        let unsynced = &self.operations[*since..point.max(*since)];
        // As often as chance: nothing, everything, everything up to some operation.
        let fate = random.below(6);
        let whole = match fate {
            0 => 0,
            1 => unsynced.len(),
            2 => random.below(unsynced.len() as u64 + 1) as usize,
            _ => 0,
        };
        for (index, operation) in unsynced.iter().enumerate() {
            match operation {
                Operation::Sync => {}
                _ if index < whole => apply(&mut image, operation),
                _ if fate <= 2 => break,
                Operation::Resize(size) if !random.once_in(4) => image.resize(*size),
                Operation::Resize(_) => {}
                Operation::Write { offset, bytes } => {
                    let all = random.below(3);
                    for (sector, bytes) in bytes.chunks(SECTOR_BYTES).enumerate() {
                        if all == 0 || (all == 1 && !random.once_in(3)) {
                            image.write(offset + sector * SECTOR_BYTES, bytes);
                        }
                    }
                }
            }
        }
        image
    }
}

/// Does to an image what was done to the disk.
pub(crate) fn apply(image: &mut Image, operation: &Operation) {
    match operation {
        Operation::Write { offset, bytes } => image.write(*offset, bytes),
        Operation::Resize(size) => image.resize(*size),
        Operation::Sync => {}
    }
}
