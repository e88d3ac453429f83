//! Array slices: the SDL that describes one, and its elements on the wire.
//!
//! Promises: element counts follow from bytes that are there; nesting does not exist in what is accepted; elements that
//! arrive slowly are not counted again with each piece.
//! Uses [`crate::message`] and [`crate::xdr`]. Source: wire-protocol.md, 6.8 and 11.9.

use farbird_types::Value;

use crate::message::{EncodeError, EncodeFault, MessageFormat, MessageType, skip_values, whole};
use crate::xdr::{DecodeError, Reader, Stop, Writer};

/// Most dimensions of an array (Firebird's limit).
pub const DIMENSIONS_MAX: usize = 16;
/// Most bytes of a slice's description, and of the values of its variables: far more than [`DIMENSIONS_MAX`] need.
pub const SDL_BYTES_MAX: usize = 64 * 1024;

mod sdl {
    pub(super) const VERSION1: u8 = 1;
    pub(super) const END: u8 = 255;
    pub(super) const RELATION: u8 = 2;
    pub(super) const RELATION_ID: u8 = 3;
    pub(super) const FIELD: u8 = 4;
    pub(super) const FIELD_ID: u8 = 5;
    pub(super) const STRUCT: u8 = 6;
    pub(super) const VARIABLE: u8 = 7;
    pub(super) const SCALAR: u8 = 8;
    pub(super) const TINY_INTEGER: u8 = 9;
    pub(super) const SHORT_INTEGER: u8 = 10;
    pub(super) const LONG_INTEGER: u8 = 11;
    pub(super) const DO2: u8 = 34;
    pub(super) const DO1: u8 = 35;
    pub(super) const ELEMENT: u8 = 36;
    pub(super) const SCHEMA: u8 = 37;
}

/// What a slice description says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SliceDescription {
    /// Type of the elements as they travel.
    pub element: MessageType,
    /// Name of the relation; empty if it is given by number.
    pub relation: Vec<u8>,
    /// Name of the field; empty if it is given by number.
    pub field: Vec<u8>,
    /// Number of the relation, if it is given so.
    pub relation_id: Option<u16>,
    /// Number of the field, if it is given so.
    pub field_id: Option<u16>,
    /// Lower and upper bound of the slice in each dimension, the slowest first.
    pub bounds: Vec<(i32, i32)>,
}

struct SdlReader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> SdlReader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.offset.saturating_add(length);
        let taken = self.bytes.get(self.offset..end).ok_or(DecodeError::Truncated { offset: self.offset })?;
        self.offset = end;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        Ok(self.take(1)?.first().copied().unwrap_or_default())
    }

    fn word(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn name(&mut self) -> Result<Vec<u8>, DecodeError> {
        let length = self.byte()?;
        Ok(self.take(usize::from(length))?.to_vec())
    }

    fn bad<T>(&self, value: u8) -> Result<T, DecodeError> {
        Err(DecodeError::BadValue { offset: self.offset.saturating_sub(1), value: u32::from(value) })
    }

    fn expect(&mut self, wanted: u8) -> Result<(), DecodeError> {
        match self.byte()? {
            byte if byte == wanted => Ok(()),
            byte => self.bad(byte),
        }
    }

    /// Version and element type, which come first.
    fn element(&mut self) -> Result<MessageType, DecodeError> {
        self.expect(sdl::VERSION1)?;
        self.expect(sdl::STRUCT)?;
        self.expect(1)?;
        let start = self.offset;
        // The element is described in BLR: lend it to the message parser as a message of one item.
        let code = self.byte()?;
        let operands = match code {
            14 | 37 | 40 => 2,
            15 | 38 | 41 => 4,
            7 | 8 | 9 | 16 | 26 => 1,
            _ => 0,
        };
        self.take(operands)?;
        let item = self.bytes.get(start..self.offset).unwrap_or_default();
        let blr = [&[5, 2, 4, 0, 2, 0], item, &[7, 0, 255, 76]].concat();
        let format = MessageFormat::parse(&blr)?;
        let element = format.as_ref().and_then(|format| format.types().first().copied());
        match element {
            // In a slice a varying element takes the room of its length word but travels as a cstring.
            Some(MessageType::Varying { length, charset }) => {
                Ok(MessageType::Cstring { length: length.saturating_add(2), charset })
            }
            // A text of no length would make every count of elements possible.
            Some(element) if element.memory_length() > 0 => Ok(element),
            _ => self.bad(code),
        }
    }

    fn literal(&mut self) -> Result<i32, DecodeError> {
        Ok(match self.byte()? {
            sdl::TINY_INTEGER => i32::from(self.byte()?.cast_signed()),
            sdl::SHORT_INTEGER => i32::from(self.word()?.cast_signed()),
            sdl::LONG_INTEGER => i32::from_le_bytes([self.byte()?, self.byte()?, self.byte()?, self.byte()?]),
            byte => return self.bad(byte),
        })
    }
}

/// The type in which the elements of a slice travel.
///
/// # Errors
/// [`DecodeError`] if the description does not begin with an element type that messages have.
pub fn element_type(bytes: &[u8]) -> Result<MessageType, DecodeError> {
    SdlReader { bytes, offset: 0 }.element()
}

impl SliceDescription {
    /// The description as it travels: names and numbers as far as they are given, bounds as literals. A varying element
    /// is asked for as such.
    ///
    /// # Errors
    /// [`EncodeError`] for a name of more than 255 bytes, no dimension, or more than [`DIMENSIONS_MAX`].
    pub fn to_bytes(&self) -> Result<Vec<u8>, EncodeError> {
        let count = self.bounds.len();
        if count == 0 || count > DIMENSIONS_MAX {
            let fault = EncodeFault::TooLong { length: count, limit: DIMENSIONS_MAX };
            return Err(EncodeError { column: 0, fault });
        }
        let mut out = vec![sdl::VERSION1, sdl::STRUCT, 1];
        self.element.write_blr(&mut out);
        write_reference(&mut out, (sdl::RELATION, &self.relation), (sdl::RELATION_ID, self.relation_id))?;
        write_reference(&mut out, (sdl::FIELD, &self.field), (sdl::FIELD_ID, self.field_id))?;
        let variables = 0..u8::try_from(count).unwrap_or(u8::MAX);
        for (variable, (lower, upper)) in variables.clone().zip(&self.bounds) {
            out.extend([sdl::DO2, variable]);
            write_literal(&mut out, *lower);
            write_literal(&mut out, *upper);
        }
        out.extend([sdl::ELEMENT, 1, sdl::SCALAR, 0, variables.end]);
        out.extend(variables.flat_map(|variable| [sdl::VARIABLE, variable]));
        out.push(sdl::END);
        Ok(out)
    }

    /// Understands a slice description whose bounds are literals, as all drivers and Firebird's tools write them.
    ///
    /// # Errors
    /// [`DecodeError`] for anything else.
    pub fn parse(bytes: &[u8]) -> Result<SliceDescription, DecodeError> {
        let mut reader = SdlReader { bytes, offset: 0 };
        let mut description = SliceDescription {
            element: reader.element()?,
            relation: Vec::new(),
            field: Vec::new(),
            relation_id: None,
            field_id: None,
            bounds: Vec::new(),
        };
        loop {
            match reader.byte()? {
                sdl::RELATION => description.relation = reader.name()?,
                sdl::RELATION_ID => description.relation_id = Some(reader.word()?),
                sdl::FIELD => description.field = reader.name()?,
                sdl::FIELD_ID => description.field_id = Some(reader.word()?),
                sdl::SCHEMA => {
                    reader.name()?;
                }
                dimension @ (sdl::DO1 | sdl::DO2) if description.bounds.len() < DIMENSIONS_MAX => {
                    reader.byte()?;
                    let lower = if dimension == sdl::DO1 { 1 } else { reader.literal()? };
                    description.bounds.push((lower, reader.literal()?));
                }
                sdl::ELEMENT => {
                    reader.expect(1)?;
                    reader.expect(sdl::SCALAR)?;
                    reader.byte()?;
                    let dimensions = reader.byte()?;
                    if usize::from(dimensions) != description.bounds.len() {
                        return reader.bad(dimensions);
                    }
                    for _ in 0..dimensions {
                        reader.expect(sdl::VARIABLE)?;
                        reader.byte()?;
                    }
                    reader.expect(sdl::END)?;
                    return Ok(description);
                }
                byte => return reader.bad(byte),
            }
        }
    }
}

/// Names a relation or a field: by its number, if it has one here, else by its name.
fn write_reference(
    out: &mut Vec<u8>,
    (name_code, name): (u8, &[u8]),
    (number_code, number): (u8, Option<u16>),
) -> Result<(), EncodeError> {
    if let Some(number) = number {
        out.push(number_code);
        out.extend_from_slice(&number.to_le_bytes());
        return Ok(());
    }
    let fault = EncodeFault::TooLong { length: name.len(), limit: usize::from(u8::MAX) };
    let length = u8::try_from(name.len()).map_err(|_| EncodeError { column: 0, fault })?;
    out.extend([name_code, length]);
    out.extend_from_slice(name);
    Ok(())
}

fn write_literal(out: &mut Vec<u8>, number: i32) {
    if let Ok(tiny) = i8::try_from(number) {
        out.extend([sdl::TINY_INTEGER, tiny.cast_unsigned()]);
    } else if let Ok(short) = i16::try_from(number) {
        out.push(sdl::SHORT_INTEGER);
        out.extend_from_slice(&short.to_le_bytes());
    } else {
        out.push(sdl::LONG_INTEGER);
        out.extend_from_slice(&number.to_le_bytes());
    }
}

/// The elements of a slice as they travel.
#[derive(Debug, Clone, PartialEq)]
pub struct SliceElements {
    element: Option<MessageType>,
    length: u32,
    wire: Vec<u8>,
}

impl SliceElements {
    /// No elements.
    pub fn empty() -> SliceElements {
        SliceElements { element: None, length: 0, wire: Vec::new() }
    }

    /// Encodes elements of one type.
    ///
    /// # Errors
    /// [`EncodeError`] names the element that does not fit.
    pub fn new(element: MessageType, values: &[Value]) -> Result<SliceElements, EncodeError> {
        let mut wire = Vec::new();
        let format = MessageFormat::from_types(0, vec![element]);
        for (column, value) in values.iter().enumerate() {
            format
                .encode_descriptors(std::slice::from_ref(value), &mut wire)
                .map_err(|error| EncodeError { column, ..error })?;
        }
        let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
        Ok(SliceElements {
            element: Some(element),
            length: count.saturating_mul(element.memory_length()),
            wire,
        })
    }

    /// Bytes that the elements take in memory, which is how slices are measured.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// How many elements there are.
    pub fn count(&self) -> u32 {
        self.element.map_or(0, |element| self.length / element.memory_length().max(1))
    }

    /// The elements.
    ///
    /// # Errors
    /// [`DecodeError`] cannot happen for elements that came through a decoder.
    pub fn values(&self) -> Result<Vec<Value>, DecodeError> {
        let mut values = Vec::new();
        let Some(element) = self.element else { return Ok(values) };
        let format = MessageFormat::from_types(0, vec![element]);
        let mut reader = Reader::new(&self.wire);
        for _ in 0..self.count() {
            format.decode_descriptors(&mut reader, &mut values).map_err(whole)?;
        }
        Ok(values)
    }

    pub(crate) fn read(
        reader: &mut Reader<'_>,
        element: impl FnOnce() -> Result<MessageType, DecodeError>,
        bytes_max: usize,
    ) -> Result<SliceElements, Stop> {
        let offset = reader.offset();
        let length = reader.u32()?;
        if length == 0 {
            return Ok(SliceElements::empty());
        }
        if length as usize > bytes_max {
            let length = length as usize;
            return Err(DecodeError::TooLong { offset, length, limit: bytes_max }.into());
        }
        let element = element()?;
        let start = reader.offset();
        skip_values(&element, (length / element.memory_length().max(1)) as usize, reader)?;
        Ok(SliceElements { element: Some(element), length, wire: reader.since(start).to_vec() })
    }

    pub(crate) fn write(&self, writer: &mut Writer<'_>) {
        writer.u32(self.length);
        writer.raw(&self.wire);
    }
}

#[cfg(test)]
mod tests {
    use farbird_types::{CharacterSet, Date, Text, Time, Timestamp};

    use super::*;

    #[test]
    fn elements_of_no_length_are_refused() {
        assert!(element_type(&[1, 6, 1, 14, 0, 0, 255]).is_err());
        assert!(element_type(&[1, 6, 1, 14, 1, 0, 255]).is_ok());
    }

    /// INTEGER elements of JOB.LANGUAGE_REQ[1:5]-like field, elements 2 to 4.
    const SDL: &[u8] =
        &[1, 6, 1, 8, 0, 2, 3, b'J', b'O', b'B', 4, 1, b'L', 34, 0, 9, 2, 9, 4, 36, 1, 8, 0, 1, 7, 0, 255];

    #[test]
    fn a_description_is_understood_whole_and_refused_when_cut() {
        let description = SliceDescription::parse(SDL).unwrap();
        assert_eq!(description.element, MessageType::Long { scale: 0 });
        assert_eq!((&description.relation[..], &description.field[..]), (&b"JOB"[..], &b"L"[..]));
        assert_eq!(description.bounds, [(2, 4)]);
        for cut in 0..SDL.len() {
            assert!(SliceDescription::parse(&SDL[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn a_description_is_written_as_it_was_read() {
        let description = SliceDescription::parse(SDL).unwrap();
        assert_eq!(description.to_bytes().unwrap(), SDL);
        let bounds = vec![(-128, 127), (-129, 300), (i32::MIN, 40_000)];
        let numbered =
            SliceDescription { relation_id: Some(128), field_id: Some(3), bounds, ..description.clone() };
        let read = SliceDescription::parse(&numbered.to_bytes().unwrap()).unwrap();
        let nameless = SliceDescription { relation: Vec::new(), field: Vec::new(), ..numbered };
        assert_eq!(read, nameless);
        for bounds in [vec![], vec![(1, 1); DIMENSIONS_MAX + 1]] {
            assert!(SliceDescription { bounds, ..description.clone() }.to_bytes().is_err());
        }
        assert!(SliceDescription { relation: vec![b'X'; 256], ..description }.to_bytes().is_err());
    }

    /// Replies to op_get_slice as Firebird 4.0 gave them, without the operation: length, length, elements.
    #[test]
    fn what_a_real_server_gave_is_read_and_written_again() {
        let text = |bytes: &[u8], set| Value::Text(Text::new(bytes, CharacterSet(set)));
        let stamp = Value::Timestamp(Timestamp { date: Date(58_849), time: Time(863_999_999) });
        let numeric = |unscaled| Value::Integer { unscaled, scale: -2 };
        let varying = |length, set| MessageType::Varying { length, charset: Some(set) };
        let recorded: [(MessageType, u32, &[u8], [Value; 2]); 6] = [
            (
                MessageType::Short { scale: -2 },
                4,
                &[0xFF, 0xFF, 0xFB, 0x2E, 0, 0, 0, 1],
                [numeric(-1234), numeric(1)],
            ),
            (
                MessageType::Timestamp,
                16,
                &[0, 0, 0xE5, 0xE1, 0x33, 0x7F, 0x97, 0xFF, 0, 0, 0xE5, 0xE1, 0x33, 0x7F, 0x97, 0xFF],
                [stamp.clone(), stamp],
            ),
            (
                varying(28, 4),
                60,
                b"\0\0\0\x08gr\xC3\xB6\xC3\x9Fte\0\0\0\0",
                [Value::text("größte"), Value::text("")],
            ),
            (
                varying(7, 53),
                18,
                b"\0\0\0\x06gr\xF6\xDFte\0\0\0\0\0\x01\x80\0\0\0",
                [text(b"gr\xF6\xDFte", 53), text(b"\x80", 53)],
            ),
            (
                MessageType::Text { length: 4, charset: Some(53) },
                8,
                b"f\xFCr \x80\x80\x80\x80",
                [text(b"f\xFCr ", 53), text(b"\x80\x80\x80\x80", 53)],
            ),
            (
                MessageType::Boolean,
                2,
                &[1, 0, 0, 0, 0, 0, 0, 0],
                [Value::Boolean(true), Value::Boolean(false)],
            ),
        ];
        for (element, length, elements, values) in recorded {
            let description =
                SliceDescription { element, bounds: vec![(1, 2)], ..SliceDescription::parse(SDL).unwrap() };
            let sdl = description.to_bytes().unwrap();
            let reply = [&length.to_be_bytes()[..], elements].concat();
            let read = SliceElements::read(&mut Reader::new(&reply), || element_type(&sdl), 1000).unwrap();
            assert_eq!(read.values().unwrap(), values, "{element:?}");
            let mut written = Vec::new();
            let slice = SliceElements::new(element_type(&sdl).unwrap(), &values).unwrap();
            slice.write(&mut Writer::new(&mut written));
            assert_eq!(written, reply, "{element:?}");
        }
    }

    #[test]
    fn varying_elements_count_their_length_word_and_travel_as_strings() {
        let sdl = [1, 6, 1, 38, 4, 0, 15, 0, 255];
        let element = element_type(&sdl).unwrap();
        let slice = SliceElements::new(element, &[Value::text("abc"), Value::text("")]).unwrap();
        assert_eq!(slice.length(), 2 * 17);
        let mut out = Vec::new();
        slice.write(&mut Writer::new(&mut out));
        assert_eq!(out, [0, 0, 0, 34, 0, 0, 0, 3, b'a', b'b', b'c', 0, 0, 0, 0, 0]);
        let read = SliceElements::read(&mut Reader::new(&out), || element_type(&sdl), 1000).unwrap();
        assert_eq!(read.values().unwrap(), [Value::text("abc"), Value::text("")]);
    }
}
