//! Array columns: what they are like, and how arrays and slices of them are read and written.
//!
//! The description of a slice (SDL) is made on this side, of what the system tables say of the column.
//! Source: wire-protocol.md, 6.8 and 11.9; FirebirdSQL/firebird src/jrd/blb.cpp (which elements are not given back).

use std::ops::RangeInclusive;

use farbird_types::convert::cast;
use farbird_types::{BlobId, CastContext, CharacterSet, Error, Result, SqlType, Text, TextType, Value, isc};
use farbird_wire::decoder::PACKET_BYTES_MAX;
use farbird_wire::message::MessageType;
use farbird_wire::packet::{Reply, Request, Slice};
use farbird_wire::protocol::Handle;
use farbird_wire::slice::{DIMENSIONS_MAX, SliceDescription, SliceElements, element_type};

use crate::array::{Array, count};
use crate::character_set::travelling;
use crate::connection::Connection;
use crate::core::{Question, checked};
use crate::error;
use crate::transaction::Transaction;
use crate::typed::Row;

/// What the system tables say of an array column, a row for each dimension.
const LOOK_UP: &str = "select f.rdb$field_type, f.rdb$field_scale, f.rdb$field_length, f.rdb$character_length, \
                       f.rdb$character_set_id, d.rdb$lower_bound, d.rdb$upper_bound \
                       from rdb$relation_fields r \
                       join rdb$fields f on f.rdb$field_name = r.rdb$field_source \
                       join rdb$field_dimensions d on d.rdb$field_name = f.rdb$field_name \
                       where r.rdb$relation_name = ? and r.rdb$field_name = ? \
                       order by d.rdb$dimension";

/// What an array column is like. It is asked for once ([`Connection::array_column`]) and used for any number of arrays.
///
/// ```no_run
/// # use farbird_client::blocking::Connection;
/// # use farbird_client::{Array, BlobId, Result, Statement, Transaction, Value};
/// # fn example(connection: &Connection, transaction: &Transaction, insert: &Statement) -> Result<()> {
/// // CREATE TABLE job (id INTEGER, languages VARCHAR(15)[1:5])
/// let languages = connection.array_column(transaction, "JOB", "LANGUAGES")?;
/// let array = Array::from(vec!["English", "Deutsch", "", "", ""]);
/// let id = connection.write_array(transaction, &languages, &array)?;
/// connection.execute(transaction, insert, (1, id))?;
/// # let row: BlobId = id;
/// let read = connection.read_array(transaction, &languages, row)?;
/// let second = connection.read_array_slice(transaction, &languages, row, &[2..=2])?;
/// assert_eq!(read.get(&[2]), second.get(&[2]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayColumn {
    relation: String,
    name: String,
    /// Type in which elements are asked for and sent. Texts travel in the column's own character set and are converted on
    /// this side: Firebird 3 converts only those of every second element as it should.
    element: MessageType,
    /// What the bytes of texts are.
    character_set: CharacterSet,
    bounds: Vec<RangeInclusive<i32>>,
}

impl ArrayColumn {
    /// The table.
    pub fn relation(&self) -> &str {
        &self.relation
    }

    /// The column.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of the elements, as far as their values tell.
    pub fn element_type(&self) -> SqlType {
        match self.element.sql_type() {
            SqlType::Text(text) => SqlType::Text(TextType { character_set: self.character_set, ..text }),
            other => other,
        }
    }

    /// Lowest and highest subscript of each dimension.
    pub fn bounds(&self) -> &[RangeInclusive<i32>] {
        &self.bounds
    }

    /// A slice of it, or all.
    fn slice(&self, bounds: &[RangeInclusive<i32>]) -> Result<Wanted> {
        if bounds.len() != self.bounds.len() {
            let (expected, given) = (number(self.bounds.len()), number(bounds.len()));
            return Err(Error::new(isc::INVALID_DIMENSION).with(expected).with(given));
        }
        for (wanted, room) in bounds.iter().zip(&self.bounds) {
            let outside = [wanted.start(), wanted.end()].into_iter().find(|bound| !room.contains(bound));
            if let Some(outside) = outside {
                return Err(Error::new(isc::SS_OUT_OF_BOUNDS)
                    .with(*outside)
                    .with(*room.start())
                    .with(*room.end()));
            }
        }
        let description = SliceDescription {
            element: self.element,
            relation: self.relation.as_bytes().to_vec(),
            field: self.name.as_bytes().to_vec(),
            relation_id: None,
            field_id: None,
            bounds: bounds.iter().map(|bounds| (*bounds.start(), *bounds.end())).collect(),
        };
        let sdl = description.to_bytes()?;
        let element = element_type(&sdl).map_err(|error| error::broken(&error))?;
        let count = count(bounds).ok_or_else(|| Error::new(isc::OUT_OF_BOUNDS))?;
        let bytes = count.checked_mul(element.memory_length() as usize);
        let length =
            bytes.filter(|bytes| *bytes <= PACKET_BYTES_MAX).and_then(|bytes| u32::try_from(bytes).ok());
        let Some(length) = length else {
            return Err(Error::new(isc::IMP_EXC).and(isc::RANDOM).with(format!(
                "an array of {count} elements is too long for one request: read and write slices of it"
            )));
        };
        Ok(Wanted { sdl, element, count, length })
    }

    /// The elements as they travel.
    fn encode(&self, wanted: &Wanted, array: &Array) -> Result<SliceElements> {
        let sql_type = self.element_type();
        let encoded = |value: &Value| match value {
            Value::Null => Err(Error::new(isc::WISH_LIST)
                .and(isc::RANDOM)
                .with(format!("an element of {}.{} cannot be NULL", self.relation, self.name))),
            value => cast(value, &sql_type, &CastContext::UTC),
        };
        let values = array.elements().iter().map(encoded).collect::<Result<Vec<_>>>()?;
        Ok(SliceElements::new(wanted.element, &values)?)
    }

    /// The elements that came. Those behind the last that was ever written are not given back: they are zeros.
    fn decode(&self, wanted: &Wanted, elements: &SliceElements) -> Result<Vec<Value>> {
        let mut values = elements.values().map_err(|error| error::broken(&error))?;
        if values.len() > wanted.count {
            return Err(error::unexpected("op_get_slice"));
        }
        if values.len() < wanted.count {
            let zero = SliceElements::new(wanted.element, &[Value::Null])?;
            let zero = zero.values().map_err(|error| error::broken(&error))?.pop().unwrap_or_default();
            values.resize(wanted.count, zero);
        }
        for value in &mut values {
            if let Value::Text(text) = value {
                *text = self.decode_text(text)?;
            }
        }
        Ok(values)
    }

    /// In UTF8, unless it is bytes. A CHAR comes with more spaces than it has characters.
    fn decode_text(&self, text: &Text) -> Result<Text> {
        let end = match self.element {
            MessageType::Text { length, .. } => {
                let characters = length / u16::from(self.character_set.bytes_per_character());
                self.character_set.byte_offset(text.bytes(), usize::from(characters))
            }
            _ => text.bytes().len(),
        };
        let text = Text::new(text.bytes().get(..end).unwrap_or_default(), self.character_set);
        if self.character_set.is_bytes() { Ok(text) } else { text.transliterate(CharacterSet::UTF8) }
    }
}

fn number(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A slice to be read or written.
struct Wanted {
    sdl: Vec<u8>,
    /// Type in which the elements travel.
    element: MessageType,
    count: usize,
    /// Bytes of the elements in memory.
    length: u32,
}

impl Wanted {
    fn slice(&self, transaction: Handle, array: BlobId) -> Slice {
        Slice {
            transaction,
            array,
            length: self.length,
            sdl: self.sdl.clone(),
            parameters: Vec::new(),
            elements: SliceElements::empty(),
        }
    }
}

impl Connection {
    /// What an array column is like; names as the system tables have them, so mostly in capitals.
    ///
    /// # Round trips
    /// One. With [`Tuning::predict_handles`] off more.
    ///
    /// [`Tuning::predict_handles`]: crate::Tuning::predict_handles
    ///
    /// # Errors
    /// `isc_dsql_field_err` if the table has no array column of this name.
    pub async fn array_column(
        &self,
        transaction: &Transaction,
        relation: &str,
        name: &str,
    ) -> Result<ArrayColumn> {
        let types = [[MessageType::Short { scale: 0 }; 5].as_slice(), &[MessageType::Long { scale: 0 }; 2]];
        let mut cursor = self.query_typed(transaction, LOOK_UP, (relation, name), &types.concat()).await?;
        let mut element = None;
        let mut bounds = Vec::new();
        while let Some(row) = cursor.next().await? {
            element = Some(element_of(&row)?);
            bounds.push(row.get::<i32>(5)?..=row.get::<i32>(6)?);
        }
        match element {
            Some((element, declared)) if bounds.len() <= DIMENSIONS_MAX => Ok(ArrayColumn {
                relation: relation.to_owned(),
                name: name.to_owned(),
                element,
                character_set: match declared {
                    CharacterSet::NONE => travelling(self.session.character_set, declared),
                    declared => declared,
                },
                bounds,
            }),
            _ => Err(Error::new(isc::DSQL_FIELD_ERR)
                .and(isc::RANDOM)
                .with(format!("{relation}.{name} is no array column"))),
        }
    }

    /// Reads an array. `id` is the value of the column, a [`Value::Blob`].
    ///
    /// Elements that were never written are 0, or empty; a CHAR is then of characters of the number 0. Texts come in UTF8,
    /// whatever the column's character set, unless they are bytes.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// What the server says.
    pub async fn read_array(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        id: BlobId,
    ) -> Result<Array> {
        self.read_array_slice(transaction, column, id, column.bounds()).await
    }

    /// As [`Connection::read_array`], for the elements between some bounds: lowest and highest subscript of each dimension.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// `isc_ss_out_of_bounds` for a subscript that the column does not have, `isc_invalid_dimension` for another number of
    /// them; what the server says.
    pub async fn read_array_slice(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        id: BlobId,
        bounds: &[RangeInclusive<i32>],
    ) -> Result<Array> {
        let wanted = column.slice(bounds)?;
        let asked = self.ask_slice(transaction, &wanted, id).await?;
        let elements = transaction.explain(self.slice_read(asked).await)?;
        Ok(Array::of(bounds.to_vec(), column.decode(&wanted, &elements)?))
    }

    /// Reads several arrays of one column, in this order: for programs that have collected ids first.
    ///
    /// # Round trips
    /// One for all of them.
    ///
    /// # Errors
    /// What the server says of the first that it does not give.
    pub async fn read_arrays(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        ids: &[BlobId],
    ) -> Result<Vec<Array>> {
        let wanted = column.slice(column.bounds())?;
        let mut asked = Vec::with_capacity(ids.len());
        for id in ids {
            asked.push(self.ask_slice(transaction, &wanted, *id).await?);
        }
        let mut arrays = Vec::with_capacity(ids.len());
        for asked in asked {
            let elements = transaction.explain(self.slice_read(asked).await)?;
            arrays.push(Array::of(column.bounds().to_vec(), column.decode(&wanted, &elements)?));
        }
        Ok(arrays)
    }

    /// Writes an array. Give the id to a parameter as [`Value::Blob`] in the same transaction; it can be read once it is in a
    /// row.
    ///
    /// The array may be a slice: the elements outside its bounds are then 0, or empty. Values are converted as CAST does.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::read_array_slice`] for its bounds; a value that is no value of the elements' type, NULL among them;
    /// what the server says.
    pub async fn write_array(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        array: &Array,
    ) -> Result<BlobId> {
        self.write_array_slice(transaction, column, BlobId::default(), array).await
    }

    /// Changes some elements of an array: those between the bounds of `array`. Gives the id of the changed array, which has
    /// to be stored in the row by an UPDATE.
    ///
    /// # Round trips
    /// One.
    ///
    /// # Errors
    /// As [`Connection::write_array`].
    pub async fn write_array_slice(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        id: BlobId,
        array: &Array,
    ) -> Result<BlobId> {
        let put = self.ask_to_put(transaction, column, id, array).await?;
        Ok(transaction.explain(put.response().await)?.blob)
    }

    /// Writes several arrays of one column; gives their ids in this order.
    ///
    /// # Round trips
    /// One for all of them.
    ///
    /// # Errors
    /// As [`Connection::write_array`], for the first that is refused.
    pub async fn write_arrays(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        arrays: &[Array],
    ) -> Result<Vec<BlobId>> {
        let mut puts = Vec::with_capacity(arrays.len());
        for array in arrays {
            puts.push(self.ask_to_put(transaction, column, BlobId::default(), array).await?);
        }
        let mut ids = Vec::with_capacity(puts.len());
        for put in puts {
            ids.push(transaction.explain(put.response().await)?.blob);
        }
        Ok(ids)
    }

    async fn ask_to_put(
        &self,
        transaction: &Transaction,
        column: &ArrayColumn,
        id: BlobId,
        array: &Array,
    ) -> Result<Question> {
        let wanted = column.slice(array.bounds())?;
        let elements = column.encode(&wanted, array)?;
        let handle = transaction.handle(&self.shared).await?;
        let question = self.shared.ask(&Request::PutSlice(Slice { elements, ..wanted.slice(handle, id) }))?;
        self.shared.room().await?;
        Ok(question)
    }

    async fn ask_slice(&self, transaction: &Transaction, wanted: &Wanted, id: BlobId) -> Result<Question> {
        let handle = transaction.handle(&self.shared).await?;
        let question = self.shared.ask(&Request::GetSlice(wanted.slice(handle, id)))?;
        self.shared.room().await?;
        Ok(question)
    }

    async fn slice_read(&self, mut asked: Question) -> Result<SliceElements> {
        match asked.next().await? {
            Reply::Slice(slice) => Ok(slice.elements),
            Reply::Response(response) => Err(match checked(response) {
                Err(error) => error,
                Ok(_) => self.shared.lock().fail(error::unexpected("op_get_slice")),
            }),
            _ => Err(self.shared.lock().fail(error::unexpected("op_get_slice"))),
        }
    }
}

/// The type of a column's elements, by RDB$FIELD_TYPE, which has the codes of BLR; and the character set of texts.
fn element_of(row: &Row) -> Result<(MessageType, CharacterSet)> {
    let set = row.get::<Option<i16>>(4)?.and_then(|set| u8::try_from(set).ok());
    let set = CharacterSet(set.unwrap_or_default());
    let scale = i8::try_from(row.get::<Option<i16>>(1)?.unwrap_or_default()).unwrap_or_default();
    let element = match row.get::<i16>(0)? {
        7 => MessageType::Short { scale },
        8 => MessageType::Long { scale },
        16 => MessageType::Int64 { scale },
        26 => MessageType::Int128 { scale },
        10 => MessageType::Float,
        // D_FLOAT is what VAX computers had; it is stored and travels as DOUBLE PRECISION.
        11 | 27 => MessageType::Double,
        12 => MessageType::Date,
        13 => MessageType::Time,
        35 => MessageType::Timestamp,
        28 => MessageType::TimeTz,
        29 => MessageType::TimestampTz,
        23 => MessageType::Boolean,
        24 => MessageType::DecFloat16,
        25 => MessageType::DecFloat34,
        kind @ (14 | 37 | 40) => {
            let (length, charset) = (text_bytes(row, set)?, Some(u16::from(set.0)));
            match kind {
                14 => MessageType::Text { length, charset },
                _ => MessageType::Varying { length, charset },
            }
        }
        other => {
            return Err(Error::new(isc::WISH_LIST)
                .and(isc::RANDOM)
                .with(format!("arrays of elements of the type {other} are not known")));
        }
    };
    Ok((element, set))
}

/// Most bytes of a text element.
fn text_bytes(row: &Row, set: CharacterSet) -> Result<u16> {
    let bytes = row.get::<i16>(2)?.cast_unsigned();
    let characters = row.get::<Option<i16>>(3)?;
    let width = u16::from(set.bytes_per_character());
    let declared = characters.map_or(bytes, |characters| characters.cast_unsigned().saturating_mul(width));
    Ok(declared.max(1))
}
