//! The transactions that wrote the rows of a block, in the block's order.
//!
//! # Layout
//! Runs of rows of one writer, one after the other: a varint with the difference to the writer before (0 at first) in zigzag
//! form, times two, plus one if the run has several rows; then a varint with their number, if so.

use farbird_record::bytes::{Reader, put_varint};

use crate::TransactionId;

/// The writers of rows that are gathered for a block.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writers {
    /// Runs that have ended.
    ended: Vec<u8>,
    /// The writer before the current run.
    before: u64,
    writer: u64,
    /// Rows of the current run.
    rows: u64,
}

impl Writers {
    /// All rows have this one.
    pub(crate) fn one(writer: TransactionId) -> Writers {
        Writers { writer: writer.0, rows: 1, ..Writers::default() }
    }

    /// Adds the writer of the next row.
    pub(crate) fn push(&mut self, writer: TransactionId) {
        if self.rows > 0 && self.writer != writer.0 {
            self.end_run();
        }
        self.writer = writer.0;
        self.rows += 1;
    }

    /// The writer, if all rows have the same; 0 if there are no rows.
    pub(crate) fn single(&self) -> Option<TransactionId> {
        self.ended.is_empty().then_some(TransactionId(self.writer))
    }

    /// About how many bytes they take.
    pub(crate) fn len(&self) -> usize {
        self.ended.len()
    }

    /// As a block keeps them.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        self.end_run();
        self.ended
    }

    fn end_run(&mut self) {
        let difference = self.writer.wrapping_sub(self.before) as i64;
        let zigzag = ((difference << 1) ^ (difference >> 63)) as u64;
        // Transaction numbers have 62 bits at most: nothing is lost by the shift.
        put_varint(zigzag << 1 | u64::from(self.rows > 1), &mut self.ended);
        if self.rows > 1 {
            put_varint(self.rows, &mut self.ended);
        }
        self.before = self.writer;
        self.rows = 0;
    }
}

/// The writers of all rows. Ends early if the bytes are damaged, which the block's checksum tells beforehand.
pub(crate) fn each(bytes: &[u8]) -> impl Iterator<Item = TransactionId> + '_ {
    let mut reader = Reader::new(bytes);
    let mut writer = 0_u64;
    let runs = std::iter::from_fn(move || {
        let word = reader.varint().ok()?;
        let rows = if word & 1 == 1 { reader.varint().ok()? } else { 1 };
        let zigzag = word >> 1;
        let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
        writer = writer.wrapping_add_signed(difference);
        Some((writer, usize::try_from(rows).ok()?))
    });
    runs.flat_map(|(writer, rows)| std::iter::repeat_n(TransactionId(writer), rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(list: &[u64]) -> Writers {
        let mut writers = Writers::default();
        list.iter().for_each(|writer| writers.push(TransactionId(*writer)));
        writers
    }

    #[test]
    fn writers_come_back_in_order() {
        for list in [&[5, 5, 5, 9, 9, 2, 3, 4, 5, 5][..], &[1, 2], &[u64::MAX >> 2, 0, u64::MAX >> 2]] {
            let writers = written(list);
            assert_eq!(writers.single(), None);
            let read: Vec<u64> = each(&writers.into_bytes()).map(|writer| writer.0).collect();
            assert_eq!(read, list);
        }
        assert_eq!(written(&[7, 7, 7]).single(), Some(TransactionId(7)));
    }

    #[test]
    fn a_row_of_a_transaction_of_its_own_takes_a_byte() {
        let list: Vec<u64> = (1_000_000..1_000_100).collect();
        assert!(written(&list).into_bytes().len() <= 100 + 4);
    }
}
