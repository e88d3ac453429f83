//! Arrays of an attachment: slices read by the array's id, and written for a column.
//!
//! Who may read an array is what [`super::known_blobs`] says of its BLOB. One that is written is nobody's until a row takes it,
//! as a BLOB; a slice of an array that is there makes another one, with the other elements as they were.

use std::sync::Arc;

use farbird_record::array::element_bytes;
use farbird_types::{ArrayShape, BlobId, Error, Result, SqlType, Value, isc};

use crate::api::{ArrayColumn, Named, TransactionHandle};
use crate::attachment::Attachment;
use crate::attachment::blob_text::unmarked;
use crate::attachment::known_blobs::Source;
use crate::budget::Reservation;
use crate::catalog::{Catalog, RelationId};
use crate::function::array::{ArrayContents, StoredArray};

impl Attachment {
    /// Memory for work that is no statement's, charged to the attachment: a request's copies of an array.
    pub fn working_memory(&self) -> Reservation {
        self.session.budget.statement().reserve()
    }

    /// The elements of a slice, in its order. `bounds`: the first and last subscript of each dimension. `memory` grows by what the
    /// elements take, before they are read.
    ///
    /// # Errors
    /// `isc_virmemexh`, `isc_invalid_array_id`, `isc_invalid_dimension`, `isc_ss_out_of_bounds`; those of [`Attachment::open_blob`].
    pub fn array_slice(
        &self,
        transaction: TransactionHandle,
        id: BlobId,
        bounds: &[(i32, i32)],
        memory: &mut Reservation,
    ) -> Result<Vec<Value>> {
        if id == BlobId(0) {
            return Err(Error::new(isc::INVALID_ARRAY_ID));
        }
        self.check_may_open_blob(transaction, id)?;
        let store = &self.transaction(transaction)?.store;
        let mut array = StoredArray::open(store, unmarked(id).0)?;
        memory.grow(places_bytes(array.shape(), bounds))?;
        let places = array.shape().places(bounds)?;
        memory.grow(places.len().saturating_mul(value_bytes(&array.shape().element)))?;
        places
            .into_iter()
            .map(|place| {
                store.cancel_flag().check()?;
                array.element(store, place)
            })
            .collect()
    }

    /// Makes an array for a column: of these elements in a slice, and of those of the array `id` elsewhere (0: as nobody has set
    /// them). Gives its id, which a row can take. `memory` grows by what the array takes.
    ///
    /// # Errors
    /// `isc_invalid_dimension` for a column that is no array, `isc_out_of_bounds` for another number of elements than the slice
    /// has; those of [`Attachment::array_slice`] and of conversions to the type of the elements.
    pub fn write_array_slice(
        &mut self,
        transaction: TransactionHandle,
        id: BlobId,
        column: ArrayColumn<'_>,
        bounds: &[(i32, i32)],
        elements: &[Value],
        memory: &mut Reservation,
    ) -> Result<BlobId> {
        if id != BlobId(0) {
            self.check_may_open_blob(transaction, id)?;
        }
        let cast = self.cast_context();
        let within = self.transaction(transaction)?;
        let shape = array_of(&within.current_catalog(), column)
            .ok_or_else(|| Error::new(isc::INVALID_DIMENSION).with(0).with(dimensions(bounds)))?;
        memory.grow(places_bytes(&shape, bounds))?;
        let places = shape.places(bounds)?;
        if places.len() != elements.len() {
            return Err(Error::new(isc::OUT_OF_BOUNDS));
        }
        let store = &within.store;
        let shape = ArrayShape::clone(&shape);
        memory.grow(contents_bytes(&shape, id != BlobId(0)))?;
        let mut contents = match id {
            BlobId(0) => ArrayContents::new(shape),
            id => ArrayContents::of(store, StoredArray::open(store, unmarked(id).0)?, shape, &cast)?,
        };
        for (place, element) in places.into_iter().zip(elements) {
            store.cancel_flag().check()?;
            contents.set(place, element, &cast)?;
        }
        let made = contents.store(store)?;
        self.known_blobs.note(made, &Source { transaction, accesses: Arc::from([]) });
        Ok(made)
    }
}

/// What the numbers of the elements of a slice take. One that is greater than the array has none.
fn places_bytes(shape: &ArrayShape, bounds: &[(i32, i32)]) -> usize {
    let elements = bounds.iter().fold(1usize, |elements, (lower, upper)| {
        let extent = i64::from(*upper) - i64::from(*lower) + 1;
        elements.saturating_mul(usize::try_from(extent).unwrap_or(0))
    });
    elements.min(count(shape)).saturating_mul(size_of::<u64>())
}

/// What an array takes that is going to be stored. One that is `made_of_another` needs the numbers of all its elements if they
/// have to be converted one by one.
fn contents_bytes(shape: &ArrayShape, made_of_another: bool) -> usize {
    let number = if made_of_another { size_of::<u64>() } else { 0 };
    count(shape).saturating_mul(element_bytes(&shape.element).saturating_add(number))
}

/// What an element takes as a value, at most.
fn value_bytes(element: &SqlType) -> usize {
    size_of::<Value>().saturating_add(element_bytes(element))
}

fn count(shape: &ArrayShape) -> usize {
    usize::try_from(shape.element_count()).unwrap_or(usize::MAX)
}

fn dimensions(bounds: &[(i32, i32)]) -> i32 {
    i32::try_from(bounds.len()).unwrap_or(i32::MAX)
}

/// What a column is an array of.
fn array_of(catalog: &Catalog, column: ArrayColumn<'_>) -> Option<Arc<ArrayShape>> {
    let relation = match column.relation {
        Named::Name(name) => catalog.relation(name)?,
        Named::Number(number) => catalog.relation_by_id(RelationId(u32::from(number)))?,
    };
    let found = match column.field {
        Named::Name(name) => relation.column(name)?,
        Named::Number(number) => relation.columns.iter().find(|column| column.field_id == number)?,
    };
    found.array.clone()
}
