//! ROW_COUNT: what a routine's statements count.

/// What a routine has read and changed since its count was last begun anew. Once something has been changed, changes are what
/// counts; what a loop reads after that does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AffectedRows {
    read: i64,
    /// `None`: nothing has been told of changes.
    changed: Option<i64>,
}

impl AffectedRows {
    /// The count of a statement that has read so many rows.
    pub fn of_read(rows: i64) -> AffectedRows {
        AffectedRows { read: rows, changed: None }
    }

    /// The count of a statement that has changed so many rows.
    pub fn of_changed(rows: u64) -> AffectedRows {
        AffectedRows { read: 0, changed: Some(i64::try_from(rows).unwrap_or(i64::MAX)) }
    }

    /// A loop has read one more row.
    pub fn add_read(&mut self) {
        self.read = self.read.saturating_add(1);
    }

    /// A statement on the row of a cursor has changed so many: it begins no count of its own.
    pub fn add_changed(&mut self, rows: u64) {
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        self.changed = Some(self.changed.unwrap_or(0).saturating_add(rows));
    }

    /// What ROW_COUNT gives.
    pub fn count(self) -> i64 {
        self.changed.unwrap_or(self.read)
    }
}
