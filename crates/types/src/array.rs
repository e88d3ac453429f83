//! Arrays: what a column says of its elements, and where an element stands among them.
//!
//! Elements are numbered row by row: the last subscript runs fastest. Source: Firebird 5 language reference, "Arrays"; the
//! errors are those that Firebird 5 gives.

use crate::error::{Error, Result, isc};
use crate::sql_type::SqlType;

/// Most dimensions of an array.
pub const DIMENSIONS_MAX: usize = 16;
/// Most elements of an array. An array is worked with in memory, so there is a limit; Firebird has that of its BLOBs.
pub const ELEMENTS_MAX: u64 = 1 << 20;
/// Most bytes of the texts in an array, each as long as it may be.
pub const BYTES_MAX: u64 = 64 << 20;

/// The elements of an array column or domain.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct ArrayShape {
    /// Type of each element: neither a BLOB nor an array.
    pub element: SqlType,
    /// First and last subscript of each dimension.
    pub bounds: Vec<(i32, i32)>,
}

impl ArrayShape {
    /// A shape of 1 to [`DIMENSIONS_MAX`] dimensions with at least one element each.
    ///
    /// # Errors
    /// `isc_dsql_max_arr_dim_exceeded`, `isc_dsql_arr_range_error`; `isc_imp_exc` for more than [`ELEMENTS_MAX`] elements
    /// or [`BYTES_MAX`].
    pub fn new(element: SqlType, bounds: Vec<(i32, i32)>) -> Result<ArrayShape> {
        let refused = |code| Err(Error::new(isc::SQLERR).with(-604).and(code));
        if bounds.is_empty() || bounds.len() > DIMENSIONS_MAX {
            return refused(isc::DSQL_MAX_ARR_DIM_EXCEEDED);
        }
        if bounds.iter().any(|(lower, upper)| lower > upper) {
            return refused(isc::DSQL_ARR_RANGE_ERROR);
        }
        let shape = ArrayShape { element, bounds };
        let count = shape.element_count();
        let element_bytes = match element {
            SqlType::Text(text) => u64::from(text.length_bytes()),
            _ => 1,
        };
        let is_too_large = count > ELEMENTS_MAX || count.saturating_mul(element_bytes) > BYTES_MAX;
        if is_too_large { refused(isc::IMP_EXC) } else { Ok(shape) }
    }

    /// How many elements there are; as many as 64 bits can say.
    pub fn element_count(&self) -> u64 {
        count(&self.bounds)
    }

    /// The number of an element, from 0.
    ///
    /// # Errors
    /// `isc_invalid_dimension` if there are more or fewer subscripts than dimensions, `isc_ss_out_of_bounds`.
    pub fn place(&self, subscripts: &[i32]) -> Result<u64> {
        self.check_dimensions(subscripts.len())?;
        let mut place = 0;
        for ((lower, upper), subscript) in self.bounds.iter().zip(subscripts) {
            if subscript < lower || subscript > upper {
                return Err(Error::new(isc::SS_OUT_OF_BOUNDS).with(*subscript).with(*lower).with(*upper));
            }
            place = place * extent((*lower, *upper)) + extent((*lower, *subscript)) - 1;
        }
        Ok(place)
    }

    /// The numbers of the elements of a slice, in its order.
    ///
    /// # Errors
    /// As [`ArrayShape::place`]; `isc_out_of_bounds` for a slice whose bounds are the wrong way round.
    pub fn places(&self, slice: &[(i32, i32)]) -> Result<Vec<u64>> {
        if slice.iter().any(|(lower, upper)| lower > upper) {
            return Err(Error::new(isc::OUT_OF_BOUNDS));
        }
        let mut subscripts: Vec<i32> = slice.iter().map(|(lower, _)| *lower).collect();
        self.place(&subscripts)?;
        self.place(&slice.iter().map(|(_, upper)| *upper).collect::<Vec<_>>())?;
        let mut places = Vec::with_capacity(usize::try_from(count(slice)).unwrap_or_default());
        loop {
            places.push(self.place(&subscripts)?);
            // The next one, as an odometer goes on.
            let mut digits = subscripts.iter_mut().zip(slice).rev();
            let Some((digit, _)) = digits.find_map(|(digit, (lower, upper))| {
                if digit == upper {
                    *digit = *lower;
                    return None;
                }
                Some((digit, upper))
            }) else {
                return Ok(places);
            };
            *digit += 1;
        }
    }

    fn check_dimensions(&self, encountered: usize) -> Result<()> {
        if encountered == self.bounds.len() {
            return Ok(());
        }
        let number = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
        Err(Error::new(isc::INVALID_DIMENSION).with(number(self.bounds.len())).with(number(encountered)))
    }
}

/// How many elements are within bounds.
fn count(bounds: &[(i32, i32)]) -> u64 {
    bounds.iter().fold(1, |count: u64, dimension| count.saturating_mul(extent(*dimension)))
}

/// How many subscripts a dimension has; none if its bounds are the wrong way round.
fn extent((lower, upper): (i32, i32)) -> u64 {
    u64::try_from(i64::from(upper) - i64::from(lower) + 1).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(bounds: &[(i32, i32)]) -> ArrayShape {
        ArrayShape::new(SqlType::INTEGER, bounds.to_vec()).unwrap()
    }

    #[test]
    fn the_last_subscript_runs_fastest() {
        let shape = shape(&[(1, 2), (-1, 1)]);
        assert_eq!(shape.element_count(), 6);
        assert_eq!(shape.places(&[(1, 2), (-1, 1)]).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(shape.places(&[(1, 2), (0, 0)]).unwrap(), [1, 4]);
        assert_eq!(shape.place(&[2, -1]).unwrap(), 3);
    }

    #[test]
    fn subscripts_are_counted_and_compared_with_their_bounds() {
        let shape = shape(&[(1, 2), (-1, 1)]);
        assert_eq!(shape.place(&[1]).unwrap_err(), Error::new(isc::INVALID_DIMENSION).with(2).with(1));
        let outside = Error::new(isc::SS_OUT_OF_BOUNDS).with(2).with(-1).with(1);
        assert_eq!(shape.place(&[1, 2]).unwrap_err(), outside);
        assert!(shape.places(&[(2, 1), (0, 0)]).unwrap_err().has(isc::OUT_OF_BOUNDS));
        assert!(shape.places(&[(i32::MIN, i32::MAX), (0, 0)]).unwrap_err().has(isc::SS_OUT_OF_BOUNDS));
    }

    #[test]
    fn shapes_have_limits() {
        let refused = |bounds: Vec<(i32, i32)>| ArrayShape::new(SqlType::INTEGER, bounds).unwrap_err();
        assert!(refused(vec![(1, 2); DIMENSIONS_MAX + 1]).has(isc::DSQL_MAX_ARR_DIM_EXCEEDED));
        assert!(refused(vec![(2, 1)]).has(isc::DSQL_ARR_RANGE_ERROR));
        assert!(refused(vec![(i32::MIN, i32::MAX); 16]).has(isc::IMP_EXC));
    }
}
