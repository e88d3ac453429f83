//! Arrays: an element of one in an expression, and slices of them for clients.
//!
//! An array is a BLOB of [`ARRAY_SUBTYPE`], so versions, garbage collection and backups treat it as one; its bytes are
//! described in [`farbird_record::array`]. One that is written again becomes another BLOB: rows share none.

use farbird_record::array;
use farbird_store::{ARRAY_SUBTYPE, BlobOptions, BlobReader, SeekFrom, Transaction};
use farbird_types::{
    ArrayShape, BlobId, CastContext, CharacterSet, Error, Result, SqlType, Value, convert, isc,
};

use crate::context::Context;
use crate::{Call, ScalarFunction};

/// Bytes of each segment of an array.
const SEGMENT_BYTES: usize = 32_767;

/// `array[subscript, ...]`: the array, then its subscripts. Bound with the element's type as its result, never by its name.
pub static ELEMENT: ScalarFunction = ScalarFunction {
    name: "ARRAY ELEMENT",
    arity: (2, 1 + farbird_types::array::DIMENSIONS_MAX),
    result: |name, _| Err(Error::new(isc::FUNMISMAT).with(name)),
    parameter_type: |_, _| None,
    body: element,
    strict: true,
    deterministic: true,
};

fn element(context: &mut Context<'_>, call: &Call<'_>) -> Result<Value> {
    let Some((Value::Blob(id), subscripts)) = call.arguments.split_first() else {
        return Err(Error::new(isc::DSQL_INVALID_ARRAY));
    };
    let subscripts =
        subscripts.iter().map(|value| subscript(value, &context.cast)).collect::<Result<Vec<i32>>>()?;
    let store = &context.transaction.store;
    let mut array = StoredArray::open(store, *id)?;
    let place = array.shape.place(&subscripts)?;
    let value = array.element(store, place)?;
    convert::cast(&value, call.result_type(), &context.cast)
}

fn subscript(value: &Value, cast: &CastContext) -> Result<i32> {
    match convert::cast(value, &SqlType::INTEGER, cast)? {
        Value::Integer { unscaled, .. } => {
            i32::try_from(unscaled).map_err(|_| Error::new(isc::DSQL_INVALID_ARRAY))
        }
        _ => Err(Error::new(isc::DSQL_INVALID_ARRAY)),
    }
}

/// Whether a BLOB holds an array.
///
/// # Errors
/// `bad_segstr_id` if there is no such BLOB.
pub fn is_array(transaction: &Transaction, id: BlobId) -> Result<bool> {
    Ok(transaction.open_blob(id)?.properties().options.subtype == ARRAY_SUBTYPE)
}

/// An array that can be read.
#[derive(Debug)]
pub struct StoredArray {
    shape: ArrayShape,
    header_bytes: usize,
    reader: BlobReader,
}

impl StoredArray {
    /// Opens an array.
    ///
    /// # Errors
    /// `isc_invalid_array_id` for a BLOB that is no array; those of the store.
    pub fn open(transaction: &Transaction, id: BlobId) -> Result<StoredArray> {
        let invalid = || Error::new(isc::INVALID_ARRAY_ID);
        let mut reader = transaction.open_blob(id)?.as_stream();
        let properties = reader.properties();
        if properties.options.subtype != ARRAY_SUBTYPE {
            return Err(invalid());
        }
        let mut header = Vec::new();
        reader.read_segment(transaction, array::HEADER_BYTES_MAX, &mut header)?;
        let (shape, header_bytes) = array::decode_header(&header).map_err(|_| invalid())?;
        let bytes = (shape.element_count()).saturating_mul(array::element_bytes(&shape.element) as u64);
        if properties.bytes != bytes.saturating_add(header_bytes as u64) {
            return Err(invalid());
        }
        Ok(StoredArray { shape, header_bytes, reader })
    }

    /// What it is an array of.
    pub fn shape(&self) -> &ArrayShape {
        &self.shape
    }

    /// The element of a number that the shape has given.
    ///
    /// # Errors
    /// `isc_invalid_array_id` for contents that are no array's; those of the store.
    pub fn element(&mut self, transaction: &Transaction, place: u64) -> Result<Value> {
        let width = array::element_bytes(&self.shape.element);
        let offset = place.saturating_mul(width as u64).saturating_add(self.header_bytes as u64);
        self.reader.seek(SeekFrom::Start, i64::try_from(offset).unwrap_or(i64::MAX))?;
        let mut bytes = Vec::with_capacity(width);
        self.reader.read_segment(transaction, width, &mut bytes)?;
        array::decode_element(&self.shape.element, &bytes).map_err(|_| Error::new(isc::INVALID_ARRAY_ID))
    }

    /// The elements as they are stored, one after the other.
    ///
    /// # Errors
    /// Those of the store.
    fn all_elements(&mut self, transaction: &Transaction) -> Result<Vec<u8>> {
        let mut bytes = self.reader.read_all(transaction, self.reader.properties().bytes)?;
        bytes.drain(..self.header_bytes.min(bytes.len()));
        Ok(bytes)
    }
}

/// An array in memory, to be changed and stored.
#[derive(Debug)]
pub struct ArrayContents {
    shape: ArrayShape,
    elements: Vec<u8>,
}

impl ArrayContents {
    /// An array whose elements nobody has set.
    pub fn new(shape: ArrayShape) -> ArrayContents {
        let width = array::element_bytes(&shape.element);
        let mut unset = vec![0; width];
        // A shape's element type has such a value, of that many bytes.
        let encoded = array::encode_element(&array::unset_element(&shape.element), &mut unset);
        debug_assert!(encoded.is_ok());
        let count = usize::try_from(shape.element_count()).unwrap_or_default();
        ArrayContents { elements: unset.repeat(count), shape }
    }

    /// A copy of a stored array, as the shape of its column now is: elements that it has not are as nobody has set them.
    ///
    /// # Errors
    /// Those of conversions between the types of elements, and of the store.
    pub fn of(
        transaction: &Transaction,
        mut stored: StoredArray,
        shape: ArrayShape,
        cast: &CastContext,
    ) -> Result<ArrayContents> {
        let is_same = stored.shape.bounds == shape.bounds
            && farbird_record::array::element_bytes(&stored.shape.element)
                == farbird_record::array::element_bytes(&shape.element)
            && without_collation(stored.shape.element) == without_collation(shape.element);
        if is_same {
            let elements = stored.all_elements(transaction)?;
            return Ok(ArrayContents { shape, elements });
        }
        let mut contents = ArrayContents::new(shape);
        // An array of another size is not read at all.
        if stored.shape.element_count() == contents.shape.element_count() {
            for place in stored.shape.places(&stored.shape.bounds.clone())? {
                transaction.cancel_flag().check()?;
                let value = stored.element(transaction, place)?;
                contents.set(place, &value, cast)?;
            }
        }
        Ok(contents)
    }

    /// Sets an element, by the number that the shape has given; NULL becomes what an element is that nobody has set.
    ///
    /// # Errors
    /// Those of the conversion to the type of the elements.
    pub fn set(&mut self, place: u64, value: &Value, cast: &CastContext) -> Result<()> {
        let element = &self.shape.element;
        let value = match convert::cast(value, element, cast)? {
            Value::Null => array::unset_element(element),
            value => value,
        };
        let width = array::element_bytes(element);
        let start = usize::try_from(place).unwrap_or(usize::MAX).saturating_mul(width);
        let place = self.elements.get_mut(start..start.saturating_add(width));
        let place = place.ok_or_else(|| Error::new(isc::OUT_OF_BOUNDS))?;
        array::encode_element(&value, place).map_err(|_| Error::new(isc::ARRAY_CONVERT_ERROR))
    }

    /// What it is an array of.
    pub fn shape(&self) -> &ArrayShape {
        &self.shape
    }

    /// Makes a BLOB of it, which a row can take.
    ///
    /// # Errors
    /// Those of the store.
    pub fn store(&self, transaction: &Transaction) -> Result<BlobId> {
        let mut header = Vec::new();
        array::encode_header(&self.shape, &mut header).map_err(|_| Error::new(isc::ARRAY_CONVERT_ERROR))?;
        let options = BlobOptions { stream: true, subtype: ARRAY_SUBTYPE, character_set: CharacterSet::NONE };
        let mut writer = transaction.create_blob(options)?;
        writer.write_segment(transaction, &header)?;
        for segment in self.elements.chunks(SEGMENT_BYTES) {
            transaction.cancel_flag().check()?;
            writer.write_segment(transaction, segment)?;
        }
        Ok(writer.close(transaction)?)
    }
}

/// A type whose values are the same bytes, whatever their order.
fn without_collation(sql_type: SqlType) -> SqlType {
    match sql_type {
        SqlType::Text(text) => {
            SqlType::Text(farbird_types::TextType { collation: farbird_types::Collation(0), ..text })
        }
        other => other,
    }
}
