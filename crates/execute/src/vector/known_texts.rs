//! What has been computed of texts that repeat.
//!
//! A column with few different texts shares one in all rows of a block: its place in memory tells it from others for as
//! long as the column is there.

use farbird_types::Value;

/// How many are remembered; a power of two.
const PLACES: usize = 64;

/// Results by text.
pub(crate) struct KnownTexts<T> {
    places: Vec<Option<(*const u8, T)>>,
}

impl<T: Clone> KnownTexts<T> {
    /// Nothing is known.
    pub(crate) fn new() -> KnownTexts<T> {
        KnownTexts { places: Vec::new() }
    }

    /// What `compute` makes of a value. For the same text, of the same column, it is not called again if that is known
    /// still. The column must outlive this.
    #[inline]
    pub(crate) fn get_or_compute<E>(
        &mut self,
        value: &Value,
        compute: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let Value::Text(text) = value else { return compute() };
        // All empty texts may share a place, and some other text may begin there: they are not worth it.
        if text.bytes().is_empty() {
            return compute();
        }
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        let address = text.bytes().as_ptr();
        let hash = (address as usize as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
            >> (u64::BITS - PLACES.trailing_zeros());
        let Some(place) = self.places.get_mut(hash as usize) else { return compute() };
        if let Some((known, result)) = place
            && *known == address
        {
            return Ok(result.clone());
        }
        let result = compute()?;
        *place = Some((address, result.clone()));
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_looked_at_once_while_it_repeats() {
        let texts: Vec<Value> = (0..8).map(|number| Value::text(&format!("text {number}"))).collect();
        let column: Vec<Value> = (0..1_000).map(|row| texts[row * 5 % 8].clone()).collect();
        let mut known = KnownTexts::new();
        let mut computed = 0;
        for (row, value) in column.iter().enumerate() {
            let found = known.get_or_compute(value, || -> Result<_, ()> {
                computed += 1;
                Ok(row * 5 % 8)
            });
            assert_eq!(found, Ok(row * 5 % 8));
        }
        // Two of the eight may want one place.
        assert!(computed < 1_000, "{computed}");
    }
}
