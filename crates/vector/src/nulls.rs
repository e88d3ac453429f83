//! Which rows of a column are NULL.

use std::borrow::Cow;

use farbird_store::NullBits;

/// Which rows are NULL.
#[derive(Debug, Clone)]
pub enum Nulls<'a> {
    /// None is.
    None,
    /// All are.
    All,
    /// Those that it says.
    Some(Cow<'a, [bool]>),
}

impl Nulls<'_> {
    /// The rows of a stored column that are NULL.
    pub fn of_bits(bits: &NullBits, places: Option<&[u32]>) -> Nulls<'static> {
        if bits.count() == 0 {
            return Nulls::None;
        }
        let nulls: Vec<bool> = match places {
            None => (0..bits.len()).map(|row| bits.is_null(row)).collect(),
            Some(places) => places.iter().map(|row| bits.is_null(*row as usize)).collect(),
        };
        Nulls::Some(Cow::Owned(nulls))
    }

    /// The same, of rows that belong to another.
    pub fn borrowed(&self) -> Nulls<'_> {
        match self {
            Nulls::None => Nulls::None,
            Nulls::All => Nulls::All,
            Nulls::Some(nulls) => Nulls::Some(Cow::Borrowed(nulls)),
        }
    }

    /// Whether a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        match self {
            Nulls::None => false,
            Nulls::All => true,
            Nulls::Some(nulls) => nulls.get(row).copied().unwrap_or(false),
        }
    }

    /// Rows that are NULL on either side.
    pub fn or<'r>(self, other: Nulls<'r>) -> Nulls<'r>
    where
        Self: 'r,
    {
        match (self, other) {
            (Nulls::All, _) | (_, Nulls::All) => Nulls::All,
            (Nulls::None, Nulls::None) => Nulls::None,
            (Nulls::None, Nulls::Some(nulls)) => Nulls::Some(nulls),
            (Nulls::Some(nulls), Nulls::None) => Nulls::Some(Cow::Owned(nulls.into_owned())),
            (Nulls::Some(left), Nulls::Some(right)) => {
                let mut nulls = left.into_owned();
                for (left, right) in nulls.iter_mut().zip(right.iter()) {
                    *left |= right;
                }
                Nulls::Some(Cow::Owned(nulls))
            }
        }
    }
}
