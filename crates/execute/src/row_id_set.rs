//! Sets of rows by number: those that a scan of several ranges has handed out, those that MERGE has touched.
//!
//! Neighbours share a word of bits, so that a set of a whole table takes a few bits per row.

use std::collections::HashMap;

use farbird_budget::{Reservation, reserve_entry};
use farbird_store::RowId;
use farbird_types::Result;

/// Rows of one word.
const ROWS_PER_WORD: u64 = 64;
/// Words of an entry of the map.
const WORDS: usize = 4;
const ROWS_PER_ENTRY: u64 = ROWS_PER_WORD * WORDS as u64;

/// A set of rows.
pub(crate) struct RowIdSet {
    bits: HashMap<u64, [u64; WORDS]>,
    memory: Reservation,
}

impl RowIdSet {
    /// No rows; those to come are charged to a reservation.
    pub(crate) fn new(memory: Reservation) -> RowIdSet {
        RowIdSet { bits: HashMap::new(), memory }
    }

    /// Adds a row; false if it is there already.
    ///
    /// # Errors
    /// `virmemexh` past the statement's budget.
    pub(crate) fn insert(&mut self, row: RowId) -> Result<bool> {
        let place = row.0 % ROWS_PER_ENTRY;
        let (word, bit) = (place / ROWS_PER_WORD, 1 << (place % ROWS_PER_WORD));
        reserve_entry(&mut self.bits, &mut self.memory)?;
        let words = self.bits.entry(row.0 / ROWS_PER_ENTRY).or_default();
        let Some(word) = words.get_mut(word as usize) else { return Ok(false) };
        let is_new = *word & bit == 0;
        *word |= bit;
        Ok(is_new)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use farbird_budget::{Account, Limits, Resource};
    use farbird_types::isc;

    #[test]
    fn it_is_a_set_and_counts_what_it_takes() {
        let server = Account::server(Limits { statement_memory: 100_000, ..Limits::default() });
        let budget = server.statement();
        let mut set = RowIdSet::new(budget.reserve());
        let mut known = HashSet::new();
        for number in 0..3_000u64 {
            let row = RowId(number * number % 4_001);
            assert_eq!(set.insert(row).unwrap(), known.insert(row));
        }
        let error = (0..100_000).find_map(|number| set.insert(RowId(number << 20)).err()).unwrap();
        assert!(error.has(isc::VIRMEMEXH));
        drop(set);
        assert_eq!(budget.usage(Resource::Memory).used, 0);
    }
}
