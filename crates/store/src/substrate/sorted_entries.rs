//! Many entries of an index in ascending order, one after the other in memory: how a new index is handed to the substrate.
//!
//! Uses nothing of the crate.

/// Entries (key, row) in ascending order.
#[derive(Debug, Default)]
pub struct SortedEntries {
    bytes: Vec<u8>,
    /// Where each entry ends.
    ends: Vec<usize>,
}

impl SortedEntries {
    /// Adds one behind the others.
    pub fn push(&mut self, entry: &[u8]) {
        self.bytes.extend_from_slice(entry);
        self.ends.push(self.bytes.len());
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Size of all of them.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The first one.
    pub fn first(&self) -> Option<&[u8]> {
        self.iter().next()
    }

    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let entry = self.bytes.get(start..*end).unwrap_or_default();
            start = *end;
            entry
        })
    }
}
