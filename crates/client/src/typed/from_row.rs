//! What a row becomes.

use farbird_types::{Error, Result, Value, isc};

use super::expected::ExpectedColumn;
use super::from_value::FromValue;
use super::row::Row;

/// A type that rows become values of; `'r` is the life of the row, for types that borrow from it.
///
/// Tuples of up to 16 values take the columns in their order, and as many as there are. Structs take them by name, with
/// `#[derive(FromRow)]`:
///
/// ```
/// use farbird_client::FromRow;
///
/// #[derive(FromRow)]
/// struct Customer {
///     id: i64,
///     name: String,
///     #[farbird(rename = "POSTAL_CODE")]
///     zip: Option<String>,
/// }
/// ```
pub trait FromRow<'r>: Sized {
    /// The row's value.
    ///
    /// # Errors
    /// As [`Row::get`]; `isc_dsql_sqlda_err` for another number of columns than is wanted.
    fn from_row(row: &'r Row) -> Result<Self>;

    /// The columns that it takes, all of them and in this order, if each is of one kind: this saves a round trip, see
    /// [`Connection::query_all_as`](crate::Connection::query_all_as). Tuples and derived structs tell it if their fields do.
    fn expected_columns() -> Option<Vec<ExpectedColumn>> {
        None
    }
}

impl<'r> FromRow<'r> for Row {
    fn from_row(row: &'r Row) -> Result<Row> {
        Ok(row.clone())
    }
}

impl<'r> FromRow<'r> for Vec<Value> {
    fn from_row(row: &'r Row) -> Result<Vec<Value>> {
        Ok(row.to_values())
    }
}

macro_rules! tuples {
    ($($count:literal ($($name:ident $index:tt),*),)*) => {
        $(impl<'r, $($name: FromValue<'r>),*> FromRow<'r> for ($($name,)*) {
            #[inline]
            fn from_row(row: &'r Row) -> Result<Self> {
                if row.len() != $count {
                    return Err(wrong_count($count, row.len()));
                }
                Ok(($(row.get::<$name>($index)?,)*))
            }

            fn expected_columns() -> Option<Vec<ExpectedColumn>> {
                Some(vec![$(ExpectedColumn::at_its_place($name::column_type()?)),*])
            }
        })*
    };
}

tuples! {
    1 (A 0),
    2 (A 0, B 1),
    3 (A 0, B 1, C 2),
    4 (A 0, B 1, C 2, D 3),
    5 (A 0, B 1, C 2, D 3, E 4),
    6 (A 0, B 1, C 2, D 3, E 4, F 5),
    7 (A 0, B 1, C 2, D 3, E 4, F 5, G 6),
    8 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7),
    9 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8),
    10 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9),
    11 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10),
    12 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11),
    13 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12),
    14 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13),
    15 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14),
    16 (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11, M 12, N 13, O 14, P 15),
}

fn wrong_count(wanted: usize, found: usize) -> Error {
    Error::new(isc::DSQL_SQLDA_ERR)
        .and(isc::RANDOM)
        .with(format!("the row has {found} columns, and a tuple of {wanted} was wanted"))
}
