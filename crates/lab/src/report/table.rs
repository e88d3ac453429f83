//! Tables of a report.

/// Where a column's texts stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Its heading.
    pub label: String,
    /// Where its texts stand.
    pub align: Align,
}

/// What stands in a row and a column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cell {
    /// The text.
    pub text: String,
    /// Whether it is what the reader looks for: the best of its kind, say.
    pub is_strong: bool,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), is_strong: false }
    }
}

/// A table. Rows have a cell for each column.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Table {
    /// A line over it; may be empty.
    pub caption: String,
    /// The columns.
    pub columns: Vec<TableColumn>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows. A label that begins with `>` stands over numbers.
    pub fn new(caption: impl Into<String>, labels: &[&str]) -> Table {
        let columns = labels.iter().map(|label| match label.strip_prefix('>') {
            Some(label) => TableColumn { label: label.to_owned(), align: Align::Right },
            None => TableColumn { label: (*label).to_owned(), align: Align::Left },
        });
        Table { caption: caption.into(), columns: columns.collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }
}
