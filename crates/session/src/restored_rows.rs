//! Rows that gbak has stored into system tables while it restores a database by BLR requests.
//!
//! System tables are views over the catalog, so such rows are kept here until definitions are made of them. Meanwhile the session
//! that stores them sees them in the place of what the catalog has of users; the server's own rows stay in front of them, and are
//! changed here only.

use std::collections::BTreeMap;

use farbird_budget::Charge;
use farbird_types::Value;

/// Rows by system table.
#[derive(Debug, Default)]
pub struct RestoredRows {
    tables: BTreeMap<String, RestoredTable>,
    /// What sequences have been set to.
    sequences: BTreeMap<String, i64>,
    /// How to take back what transactions have done that have not ended, the latest last.
    undo: Vec<(TransactionNumber, Undo)>,
    next_row: u64,
    /// What the rows take.
    memory: Vec<Charge>,
}

/// The transaction that has done something.
pub type TransactionNumber = u32;

/// The rows of a system table.
#[derive(Debug, Default)]
struct RestoredTable {
    /// How many rows of the server's own stand in front.
    system_rows: usize,
    /// Values of those that were changed, by their places and columns.
    changed: BTreeMap<usize, BTreeMap<usize, Value>>,
    rows: Vec<RestoredRow>,
}

#[derive(Debug)]
struct RestoredRow {
    number: u64,
    values: Vec<Value>,
}

#[derive(Debug)]
enum Undo {
    Stored { table: String, number: u64 },
    Changed { table: String, number: u64, values: Vec<Value> },
    ChangedSystem { table: String, place: usize, values: Option<BTreeMap<usize, Value>> },
    Erased { table: String, row: RestoredRow },
    Sequence { name: String, value: Option<i64> },
}

impl RestoredRows {
    /// Stores a row: a value for each column of the table.
    pub fn store(&mut self, by: TransactionNumber, table: &str, values: Vec<Value>, memory: Charge) {
        let number = self.next_row;
        self.next_row += 1;
        self.memory.push(memory);
        self.table(table).rows.push(RestoredRow { number, values });
        self.undo.push((by, Undo::Stored { table: table.to_owned(), number }));
    }

    /// Changes values of the row at a place, counted from 1; gives the row's values, unless it is one of the server's.
    pub fn change(
        &mut self,
        by: TransactionNumber,
        table: &str,
        place: u64,
        changes: Vec<(usize, Value)>,
        memory: Charge,
    ) -> Option<&[Value]> {
        self.memory.push(memory);
        let name = table.to_owned();
        let found = self.tables.get_mut(table)?;
        let place = usize::try_from(place).ok()?.checked_sub(1)?;
        let Some(of_rows) = place.checked_sub(found.system_rows) else {
            let values = found.changed.get(&place).cloned();
            found.changed.entry(place).or_default().extend(changes);
            self.undo.push((by, Undo::ChangedSystem { table: name, place, values }));
            return None;
        };
        let row = found.rows.get_mut(of_rows)?;
        self.undo.push((by, Undo::Changed { table: name, number: row.number, values: row.values.clone() }));
        for (column, value) in changes {
            if let Some(place) = row.values.get_mut(column) {
                *place = value;
            }
        }
        Some(&row.values)
    }

    /// Erases the row at a place, counted from 1. The server's own stay.
    pub fn erase(&mut self, by: TransactionNumber, table: &str, place: u64) {
        let Some(found) = self.tables.get_mut(table) else { return };
        let place = usize::try_from(place).ok().and_then(|it| it.checked_sub(found.system_rows + 1));
        let Some(place) = place.filter(|place| *place < found.rows.len()) else { return };
        let row = found.rows.remove(place);
        self.undo.push((by, Undo::Erased { table: table.to_owned(), row }));
    }

    /// Adds to a sequence, as GEN_ID does.
    pub fn add_to_sequence(&mut self, by: TransactionNumber, name: &str, increment: i64) {
        let value = self.sequences.get(name).copied();
        self.sequences.insert(name.to_owned(), value.unwrap_or_default().wrapping_add(increment));
        self.undo.push((by, Undo::Sequence { name: name.to_owned(), value }));
    }

    /// What a sequence has come to.
    pub fn sequence(&self, name: &str) -> i64 {
        self.sequences.get(name).copied().unwrap_or_default()
    }

    /// A transaction's work stays.
    pub fn commit(&mut self, transaction: TransactionNumber) {
        self.undo.retain(|(by, _)| *by != transaction);
    }

    /// A transaction's work is undone.
    pub fn roll_back(&mut self, transaction: TransactionNumber) {
        let own: Vec<Undo> =
            self.undo.extract_if(.., |(by, _)| *by == transaction).map(|(_, it)| it).collect();
        for undo in own.into_iter().rev() {
            self.undo(undo);
        }
    }

    fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Stored { table, number } => self.table(&table).rows.retain(|row| row.number != number),
            Undo::Changed { table, number, values } => {
                let rows = &mut self.table(&table).rows;
                if let Some(row) = rows.iter_mut().find(|row| row.number == number) {
                    row.values = values;
                }
            }
            Undo::ChangedSystem { table, place, values } => {
                let changed = &mut self.table(&table).changed;
                match values {
                    Some(values) => drop(changed.insert(place, values)),
                    None => drop(changed.remove(&place)),
                }
            }
            Undo::Erased { table, row } => {
                let rows = &mut self.table(&table).rows;
                let place = rows.partition_point(|it| it.number < row.number);
                rows.insert(place, row);
            }
            Undo::Sequence { name, value } => match value {
                Some(value) => drop(self.sequences.insert(name, value)),
                None => drop(self.sequences.remove(&name)),
            },
        }
    }

    /// Puts what has been stored behind the server's own rows of a table, and changes those as they were changed.
    pub fn show(&mut self, table: &str, rows: &mut Vec<Vec<Value>>) {
        let table = self.table(table);
        table.system_rows = rows.len();
        for (place, changes) in &table.changed {
            let Some(row) = rows.get_mut(*place) else { continue };
            for (column, value) in changes {
                if let Some(place) = row.get_mut(*column) {
                    *place = value.clone();
                }
            }
        }
        rows.extend(table.rows.iter().map(|row| row.values.clone()));
    }

    fn table(&mut self, name: &str) -> &mut RestoredTable {
        self.tables.entry(name.to_owned()).or_default()
    }
}

#[cfg(test)]
mod tests {
    use farbird_budget::{Account, Limits};

    use super::*;

    fn memory() -> Charge {
        Account::server(Limits::default()).charge(1).unwrap()
    }

    fn shown(rows: &mut RestoredRows) -> Vec<i64> {
        let mut shown = vec![vec![Value::integer(0)]];
        rows.show("T", &mut shown);
        let number = |row: &Vec<Value>| match row.as_slice() {
            [Value::Integer { unscaled, .. }] => *unscaled,
            other => panic!("{other:?}"),
        };
        shown.iter().map(number).collect()
    }

    #[test]
    fn what_a_transaction_has_done_is_undone_with_it_and_only_that() {
        let mut rows = RestoredRows::default();
        for number in 1..=3 {
            rows.store(1, "T", vec![Value::integer(number)], memory());
        }
        rows.add_to_sequence(1, "S", 7);
        assert_eq!(shown(&mut rows), [0, 1, 2, 3]);
        rows.commit(1);
        rows.erase(2, "T", 3);
        rows.change(2, "T", 1, vec![(0, Value::integer(10))], memory());
        assert!(rows.change(3, "T", 2, vec![(0, Value::integer(11))], memory()).is_some());
        rows.store(2, "T", vec![Value::integer(4)], memory());
        rows.add_to_sequence(2, "S", 5);
        assert_eq!((shown(&mut rows), rows.sequence("S")), (vec![10, 11, 3, 4], 12));
        rows.commit(3);
        rows.roll_back(2);
        assert_eq!((shown(&mut rows), rows.sequence("S")), (vec![0, 11, 2, 3], 7));
    }
}
