//! ROW_NUMBER, RANK and DENSE_RANK: what they say of a row follows from its key and from the rows before it, so no partition is kept.

use farbird_plan::{WindowCall, WindowFunction};
use farbird_vector::{Column, Nulls, Operand, Unit};

use crate::sort_keys::window_key;

/// Numbers rows that come in the window's order.
pub(super) struct Numbers {
    calls: Vec<(Numbering, Vec<i64>)>,
    /// The key of the row before.
    latest: Option<Vec<u8>>,
    /// The number of the latest row in its partition, that of the first of its peers, and of the group of those.
    row: i64,
    first_peer: i64,
    peers: i64,
}

#[derive(Clone, Copy)]
enum Numbering {
    Row,
    Rank,
    DenseRank,
}

impl Numbers {
    /// What computes these calls, if all of them only number rows.
    pub(super) fn of(calls: &[WindowCall]) -> Option<Numbers> {
        let numbering = |call: &WindowCall| match call.function {
            WindowFunction::RowNumber => Some((Numbering::Row, Vec::new())),
            WindowFunction::Rank => Some((Numbering::Rank, Vec::new())),
            WindowFunction::DenseRank => Some((Numbering::DenseRank, Vec::new())),
            _ => None,
        };
        let calls = calls.iter().map(numbering).collect::<Option<_>>()?;
        Some(Numbers { calls, latest: None, row: 0, first_peer: 0, peers: 0 })
    }

    /// Numbers the next row, which has this key.
    pub(super) fn number(&mut self, key: &[u8]) {
        let (partition, order) = window_key(key);
        let before = self.latest.as_deref().map(window_key);
        let is_same_partition = before.is_some_and(|(before, _)| before == partition);
        if !is_same_partition {
            (self.row, self.first_peer, self.peers) = (0, 0, 0);
        }
        self.row += 1;
        if !is_same_partition || before.is_some_and(|(_, before)| before != order) {
            self.first_peer = self.row;
            self.peers += 1;
            let latest = self.latest.get_or_insert_default();
            latest.clear();
            latest.extend_from_slice(key);
        }
        for (numbering, numbers) in &mut self.calls {
            numbers.push(match numbering {
                Numbering::Row => self.row,
                Numbering::Rank => self.first_peer,
                Numbering::DenseRank => self.peers,
            });
        }
    }

    /// The numbers of the rows since it was last asked, a column for each call.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Column<'static>> {
        self.calls.iter_mut().map(|(_, numbers)| {
            Column::Numbers(Operand::many(std::mem::take(numbers), Nulls::None), Unit::Exact(0))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farbird_plan::{FrameBound, WindowFrame};

    fn call(function: WindowFunction) -> WindowCall {
        let exclusion = farbird_sql::ast::FrameExclusion::NoOthers;
        let (start, end) = (FrameBound::UnboundedPreceding, FrameBound::CurrentRow);
        WindowCall { function, frame: WindowFrame { rows: false, start, end, exclusion } }
    }

    #[test]
    fn rows_are_numbered_in_their_partitions() {
        let calls = [WindowFunction::RowNumber, WindowFunction::Rank, WindowFunction::DenseRank].map(call);
        let mut numbers = Numbers::of(&calls).unwrap();
        // The partition `a` with the order `ab` and the partition `aa` with the order `b` are told apart by the length.
        let rows = [("a", "ab"), ("a", "ab"), ("a", "c"), ("aa", "b"), ("aa", "b"), ("b", "")];
        let mut found = Vec::new();
        for part in rows.chunks(4) {
            for (partition, order) in part {
                let mut key = [partition.as_bytes(), order.as_bytes()].concat();
                key.extend((partition.len() as u32).to_le_bytes());
                numbers.number(&key);
            }
            let columns: Vec<_> = numbers.take().collect();
            for row in 0..part.len() {
                found.push(columns.iter().map(|column| column.value(row).unwrap()).collect::<Vec<_>>());
            }
        }
        let expected = [[1, 1, 1], [2, 1, 1], [3, 3, 2], [1, 1, 1], [2, 1, 1], [1, 1, 1]];
        assert_eq!(found, expected.map(|row| row.map(farbird_types::Value::integer).to_vec()));
        assert!(Numbers::of(&[call(WindowFunction::Rank), call(WindowFunction::CumeDist)]).is_none());
    }
}
