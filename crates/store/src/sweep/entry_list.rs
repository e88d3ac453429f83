//! Index entries gathered to be deleted, close together in memory, and given back in the order of their index.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use crate::RowId;
use crate::keyspace;

/// Entries of one index: sorted runs, which are merged when they are taken out, so that no single call takes long.
#[derive(Debug, Default)]
pub(super) struct EntryList {
    bytes: Vec<u8>,
    /// Where each entry stands: start and end.
    places: Vec<(u32, u32)>,
    /// What is left of each run, by place.
    runs: Vec<Range<usize>>,
    /// The next entry of each run.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl EntryList {
    /// Adds the entry of a row under a key. Past 4 GiB it is left out: an entry too many does no harm.
    pub(super) fn push(&mut self, key: &[u8], row: RowId) {
        let start = self.bytes.len();
        let end = start + key.len() + keyspace::ROW_BYTES;
        let (Ok(start), Ok(end)) = (u32::try_from(start), u32::try_from(end)) else { return };
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(&row.0.to_be_bytes());
        self.places.push((start, end));
    }

    /// Memory that an entry takes.
    pub(super) fn cost(key: &[u8]) -> usize {
        key.len() + keyspace::ROW_BYTES + size_of::<(u32, u32)>()
    }

    /// Makes a run of the entries added since the last one. To be called before entries are taken out.
    pub(super) fn end_run(&mut self) {
        let start = self.runs.last().map_or(0, |run| run.end);
        if start == self.places.len() {
            return;
        }
        let bytes = &self.bytes;
        let entry = |(start, end): &(u32, u32)| bytes.get(*start as usize..*end as usize);
        if let Some(run) = self.places.get_mut(start..) {
            run.sort_unstable_by(|a, b| entry(a).cmp(&entry(b)));
        }
        self.runs.push(start..self.places.len());
    }

    /// Takes out the next `count` entries in order; fewer at the end.
    pub(super) fn take(&mut self, count: usize) -> Vec<Vec<u8>> {
        if self.heads.is_empty() {
            for run in 0..self.runs.len() {
                self.advance(run);
            }
        }
        let mut taken = Vec::with_capacity(count.min(self.places.len()));
        while taken.len() < count
            && let Some(Reverse((entry, run))) = self.heads.pop()
        {
            self.advance(run);
            taken.push(entry);
        }
        taken
    }

    fn advance(&mut self, run: usize) {
        let place = self.runs.get_mut(run).and_then(Iterator::next).and_then(|place| self.places.get(place));
        if let Some((start, end)) = place
            && let Some(entry) = self.bytes.get(*start as usize..*end as usize)
        {
            self.heads.push(Reverse((entry.to_vec(), run)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_their_index() {
        let mut list = EntryList::default();
        for (key, row) in [(b"b" as &[u8], 1), (b"a", 9), (b"c", 5), (b"a", 2), (b"b", 0), (b"bb", 7)] {
            list.push(key, RowId(row));
            if row == 9 || row == 2 {
                list.end_run();
            }
        }
        list.end_run();
        let mut rows = Vec::new();
        loop {
            let taken = list.take(4);
            if taken.is_empty() {
                break;
            }
            rows.extend(taken.iter().map(|entry| keyspace::parse_entry(entry).expect("entry").1.0));
        }
        assert_eq!(rows, [2, 9, 0, 1, 7, 5]);
    }
}
