//! Which outer rows of a join have had a partner, where inner rows that do not fit in memory are joined by blocks: each block meets all
//! outer rows again.

use farbird_budget::{Reservation, extend_within, room};
use farbird_types::Result;

/// Outer rows by number, from 0 on.
pub(crate) struct MatchedRows {
    /// A bit for each.
    words: Vec<u64>,
    memory: Reservation,
}

impl MatchedRows {
    /// No row has had one; what is noted is charged to a reservation.
    pub(crate) fn new(memory: Reservation) -> MatchedRows {
        MatchedRows { words: Vec::new(), memory }
    }

    /// Notes whether a row had a partner in a block; in the last one, gives whether it had one in any.
    ///
    /// # Errors
    /// `virmemexh` past the statement's budget.
    pub(crate) fn note(&mut self, row: usize, matched: bool, is_last_block: bool) -> Result<Option<bool>> {
        let (word, bit) = (row / 64, 1 << (row % 64));
        if is_last_block {
            let before = self.words.get(word).is_some_and(|bits| bits & bit != 0);
            return Ok(Some(matched || before));
        }
        let missing = (word + 1).saturating_sub(self.words.len());
        if matched && missing > 0 {
            self.memory.grow(room(&self.words, missing) * size_of::<u64>())?;
            extend_within(&mut self.words, missing, std::iter::repeat_n(0, missing));
        }
        if let Some(bits) = self.words.get_mut(word)
            && matched
        {
            *bits |= bit;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_budget::StatementBudget;

    #[test]
    fn a_row_has_had_a_partner_if_it_had_one_in_any_block() {
        let mut rows = MatchedRows::new(StatementBudget::alone().reserve());
        for row in 0..1_000 {
            assert_eq!(rows.note(row, row % 130 == 3, false).unwrap(), None);
        }
        for row in 0..1_000 {
            assert_eq!(rows.note(row, row % 100 == 7, false).unwrap(), None);
        }
        for row in 0..1_000 {
            let expected = row % 130 == 3 || row % 100 == 7 || row == 11;
            assert_eq!(rows.note(row, row == 11, true).unwrap(), Some(expected));
        }
    }
}
