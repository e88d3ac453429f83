//! The rows of one batch in the order of their keys.
//!
//! Sorting a few rows is what loops in PSQL do, many thousand times: they stay as they came, and nothing is made for them but their
//! keys.

use crate::batch::Batch;
use crate::sort_keys::KeyBytes;

/// Longer texts than these, of all rows together, are charged to the statement: such rows are not few.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Rows that are handed out in order.
#[derive(Default)]
pub(crate) struct FewRows {
    rows: Batch,
    /// The numbers of the rows, in order.
    order: Vec<usize>,
    /// How many have been handed out.
    place: usize,
}

impl FewRows {
    /// Whether rows are few, if there are no others.
    pub(crate) fn are(rows: &Batch) -> bool {
        rows.text_bytes() <= TEXT_BYTES_MAX
    }

    /// Rows with a key for each; if `unique`, of those with equal keys the first. So many will be asked for at most.
    pub(crate) fn new(rows: Batch, keys: &KeyBytes, unique: bool, rows_max: usize) -> FewRows {
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by(|left, right| keys.get(*left).cmp(keys.get(*right)));
        if unique {
            order.dedup_by(|later, earlier| keys.get(*later) == keys.get(*earlier));
        }
        order.truncate(rows_max);
        FewRows { rows, order, place: 0 }
    }

    /// Goes on by so many rows at most; gives how many those are.
    pub(crate) fn skip(&mut self, rows: usize) -> usize {
        let rows = rows.min(self.order.len() - self.place);
        self.place += rows;
        rows
    }

    /// Appends the next rows to a batch until it is full.
    pub(crate) fn hand_out(&mut self, batch: &mut Batch) {
        while !batch.is_full()
            && let Some(row) = self.order.get(self.place)
        {
            batch.push(self.rows.drain_row(*row));
            self.place += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_types::Value;

    fn rows(count: i64) -> (Batch, KeyBytes) {
        let (mut rows, mut keys) = (Batch::new(1, 256), KeyBytes::default());
        for number in 0..count {
            keys.push(&[(number * 7 % 5) as u8]);
            rows.push([Value::integer(number)]);
        }
        (rows, keys)
    }

    fn handed_out(mut rows: FewRows) -> Vec<i64> {
        let mut found = Vec::new();
        let mut batch = Batch::new(1, 3);
        loop {
            batch.reset(1);
            rows.hand_out(&mut batch);
            if batch.is_empty() {
                return found;
            }
            found.extend(batch.rows().map(|row| match row {
                [Value::Integer { unscaled, .. }] => *unscaled,
                row => panic!("{row:?}"),
            }));
        }
    }

    #[test]
    fn rows_come_by_their_keys_and_equal_ones_as_they_came() {
        let mut expected: Vec<i64> = (0..17).collect();
        expected.sort_by_key(|number| number * 7 % 5);
        let of = |unique, rows_max| {
            let (rows, keys) = rows(17);
            handed_out(FewRows::new(rows, &keys, unique, rows_max))
        };
        assert_eq!(of(false, usize::MAX), expected);
        assert_eq!(of(false, 4), expected[..4]);
        assert_eq!(of(true, usize::MAX), [0, 3, 1, 4, 2]);
        assert_eq!(of(true, 2), [0, 3]);
    }

    #[test]
    fn rows_with_long_texts_are_not_few() {
        let (mut rows, _) = rows(1);
        assert!(FewRows::are(&rows));
        rows.push([Value::text(&"x".repeat(TEXT_BYTES_MAX))]);
        assert!(!FewRows::are(&rows));
    }
}
