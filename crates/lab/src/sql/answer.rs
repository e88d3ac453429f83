//! What a query gives, and whether two databases gave the same.
//!
//! Databases write the same number in different forms (`12.50`, `12.5`, `12.500000000000000001`) and pad texts. So cells
//! are numbers where they look like numbers, and numbers are compared with a tolerance. Rows that tie in the order asked
//! for may come in any order: only the columns of the order are compared in place, all else as a set.

use std::cmp::Ordering;

/// The cells of a row. NULL is `None`.
type Row = Vec<Option<String>>;

/// The rows of a query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Answer {
    rows: Vec<Row>,
}

/// How far apart two numbers may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tolerance {
    /// As a share of the larger one.
    pub(super) relative: f64,
    /// Beside that.
    pub(super) absolute: f64,
}

/// Sums of DOUBLE PRECISION depend on the order of their terms; PostgreSQL gives averages with 16 digits.
pub(super) const USUAL: Tolerance = Tolerance { relative: 1e-7, absolute: 1e-6 };

impl Answer {
    /// Adds a row. Blanks at the ends of texts do not count.
    pub(super) fn push(&mut self, row: impl IntoIterator<Item = Option<String>>) {
        let row = row.into_iter().map(|cell| {
            cell.map(|mut text| {
                text.truncate(text.trim_end_matches(' ').len());
                text
            })
        });
        self.rows.push(row.collect());
    }

    /// The cells of the rows.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Option<String>]> {
        self.rows.iter().map(Vec::as_slice)
    }

    /// How many rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The cells of the first row, for people.
    pub(super) fn first_row(&self) -> String {
        let row = self.rows.first().map(Vec::as_slice).unwrap_or_default();
        let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
        cells.join(", ")
    }

    /// The sum of all cells that are numbers: a figure by which an answer is known again.
    pub fn number_sum(&self) -> f64 {
        let numbers = self.rows.iter().flatten().filter_map(|cell| number(cell.as_deref()?));
        // Not `sum`, which makes -0 of no numbers.
        numbers.fold(0.0, |sum, number| sum + number)
    }

    /// Says how the other differs, if it does; `order` are the columns, from 0, that have to be in place.
    pub(super) fn difference(&self, other: &Answer, order: &[usize], tolerance: Tolerance) -> Option<String> {
        if self.len() != other.len() {
            return Some(format!("{} rows instead of {}", other.len(), self.len()));
        }
        for (place, (own, others)) in self.rows.iter().zip(&other.rows).enumerate() {
            for column in order {
                let (own, others) = (cell(own, *column), cell(others, *column));
                if !same(own, others, tolerance) {
                    return Some(format!("row {} begins with {others:?} instead of {own:?}", place + 1));
                }
            }
        }
        let (own, others) = (sorted(&self.rows), sorted(&other.rows));
        for (own, others) in own.iter().zip(others) {
            let is_same = own.len() == others.len()
                && own.iter().zip(others).all(|(a, b)| same(a.as_deref(), b.as_deref(), tolerance));
            if !is_same {
                return Some(format!("{} instead of {}", shown(others), shown(own)));
            }
        }
        None
    }
}

fn cell(row: &[Option<String>], column: usize) -> Option<&str> {
    row.get(column)?.as_deref()
}

fn shown(row: &[Option<String>]) -> String {
    let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL")).collect();
    format!("({})", cells.join(", "))
}

fn number(text: &str) -> Option<f64> {
    // Not everything that Rust reads as a number is one: `inf`, `nan`.
    let looks_like_one = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if looks_like_one { text.parse().ok() } else { None }
}

fn same(a: Option<&str>, b: Option<&str>, tolerance: Tolerance) -> bool {
    let (Some(a), Some(b)) = (a, b) else { return a == b };
    match (number(a), number(b)) {
        (Some(a), Some(b)) => (a - b).abs() <= tolerance.relative * a.abs().max(b.abs()) + tolerance.absolute,
        _ => a == b,
    }
}

/// By texts first: numbers that differ a little must not change places.
fn sorted(rows: &[Row]) -> Vec<&Row> {
    let mut keyed: Vec<(Vec<&str>, Vec<f64>, &Row)> = rows
        .iter()
        .map(|row| {
            let cells = || row.iter().map(|cell| cell.as_deref().unwrap_or(""));
            let texts = cells().filter(|cell| number(cell).is_none()).collect();
            (texts, cells().filter_map(number).collect(), row)
        })
        .collect();
    keyed.sort_by(|(texts, numbers, _), (other_texts, other_numbers, _)| {
        texts.cmp(other_texts).then_with(|| numbers.partial_cmp(other_numbers).unwrap_or(Ordering::Equal))
    });
    keyed.into_iter().map(|(_, _, row)| row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[&str]]) -> Answer {
        let mut answer = Answer::default();
        for row in rows {
            answer.push(row.iter().map(|cell| (*cell != "NULL").then(|| (*cell).to_owned())));
        }
        answer
    }

    fn differs(a: &Answer, b: &Answer, order: &[usize]) -> bool {
        a.difference(b, order, USUAL).is_some()
    }

    #[test]
    fn forms_of_numbers_and_padding_do_not_matter_but_values_do() {
        let a = answer(&[&["1", "12.50", "x  "], &["2", "NULL", "y"]]);
        assert!(!differs(&a, &answer(&[&["1", "12.5000000001", "x"], &["2", "NULL", "y"]]), &[0]));
        assert!(differs(&a, &answer(&[&["1", "12.51", "x"], &["2", "NULL", "y"]]), &[0]));
        assert!(differs(&a, &answer(&[&["1", "12.5", "x"], &["2", "0", "y"]]), &[0]));
        assert!(differs(&a, &answer(&[&["1", "12.5", "x"]]), &[]));
        assert_eq!(a.number_sum(), 15.5);
    }

    #[test]
    fn only_what_is_ordered_by_has_to_be_in_place() {
        let a = answer(&[&["1", "a"], &["1", "b"], &["2", "c"]]);
        let ties = answer(&[&["1", "b"], &["1", "a"], &["2", "c"]]);
        let wrong = answer(&[&["2", "c"], &["1", "a"], &["1", "b"]]);
        assert!(!differs(&a, &ties, &[0]));
        assert!(differs(&a, &wrong, &[0]));
        assert!(!differs(&a, &wrong, &[]));
    }
}
