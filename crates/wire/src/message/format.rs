//! Message formats: the BLR that lists the items of a message, parsed and printed.
//!
//! Uses [`super::descriptor`]. Source: wire-protocol.md, 7.1 and 7.4; trailing bytes after the last descriptor are
//! not looked at, as Firebird does not either.

use std::sync::Arc;

use farbird_types::ColumnType;

use super::descriptor::{MessageType, blr};
use super::layout::RowLayout;
use crate::xdr::DecodeError;

/// What the items of a message are, in order. In SQL messages each value is followed by its NULL indicator (a
/// SMALLINT), and such a pair is a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageFormat {
    number: u8,
    types: Vec<MessageType>,
    length: u32,
    paired: bool,
    /// Where the columns lie on the wire; of no columns if the items are not in pairs.
    layout: RowLayout,
}

const INDICATOR: MessageType = MessageType::Short { scale: 0 };

impl MessageFormat {
    /// A format of these items.
    pub fn from_types(number: u8, types: Vec<MessageType>) -> MessageFormat {
        let length = types.iter().fold(0_u64, |offset, item| {
            offset.next_multiple_of(u64::from(item.alignment())) + u64::from(item.memory_length())
        });
        let (pairs, rest) = types.as_chunks::<2>();
        let paired =
            rest.is_empty() && pairs.iter().all(|[_, tail]| matches!(tail, MessageType::Short { .. }));
        let layout = match paired {
            true => RowLayout::of(pairs.iter().map(|[value, _]| value)),
            false => RowLayout::default(),
        };
        MessageFormat { number, length: u32::try_from(length).unwrap_or(u32::MAX), paired, layout, types }
    }

    /// The format of an SQL message with these columns.
    pub fn from_columns(columns: impl IntoIterator<Item = MessageType>) -> MessageFormat {
        MessageFormat::from_types(0, columns.into_iter().flat_map(|column| [column, INDICATOR]).collect())
    }

    /// The format in which rows of these columns travel unconverted (see [`MessageType::natural`]).
    pub fn natural(columns: &[ColumnType]) -> MessageFormat {
        MessageFormat::from_columns(columns.iter().map(|column| MessageType::natural(&column.sql_type)))
    }

    /// Understands the BLR of an SQL message. Empty BLR is no message: `None`.
    ///
    /// # Errors
    /// [`DecodeError`] for BLR that is cut short, names an unknown type, or whose descriptors are not pairs of a
    /// value and an indicator.
    pub fn parse(bytes: &[u8]) -> Result<Option<MessageFormat>, DecodeError> {
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut reader = BlrReader { bytes, offset: 0 };
        reader.header()?;
        reader.expect(blr::MESSAGE)?;
        let format = reader.message()?;
        if format.paired {
            Ok(Some(format))
        } else {
            Err(DecodeError::BadValue { offset: reader.offset, value: u32::from(reader.peek()) })
        }
    }

    /// The BLR of a message of this format, for dialect 3.
    pub fn to_blr(&self) -> Vec<u8> {
        let mut out = vec![blr::VERSION5, blr::BEGIN, blr::MESSAGE, self.number];
        let count = u16::try_from(self.types.len()).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        for item in self.types.iter().take(usize::from(count)) {
            item.write_blr(&mut out);
        }
        out.extend([blr::END, blr::END_OF_CODE]);
        out
    }

    /// Message number: 0 in SQL messages, chosen by the request in BLR requests.
    pub fn number(&self) -> u8 {
        self.number
    }

    /// All items, indicators included.
    pub fn types(&self) -> &[MessageType] {
        &self.types
    }

    /// Whether the items are pairs of a value and its indicator.
    pub fn is_paired(&self) -> bool {
        self.paired
    }

    /// How many columns an SQL message of this format has.
    pub fn column_count(&self) -> usize {
        self.types.len() / 2
    }

    /// The types of the columns, without indicators.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = &MessageType> {
        self.types.as_chunks::<2>().0.iter().map(|[value, _]| value)
    }

    /// The type of a column, from 0.
    #[inline]
    pub fn column_type(&self, column: usize) -> Option<&MessageType> {
        self.types.as_chunks::<2>().0.get(column).map(|[value, _]| value)
    }

    /// Where the columns lie on the wire.
    #[inline]
    pub(super) fn layout(&self) -> &RowLayout {
        &self.layout
    }

    /// Length of the message in memory: the end of its last item (fmt_length). op_batch_create carries it, and
    /// fbclient computes its fetch batches from it.
    pub fn length(&self) -> u32 {
        self.length
    }

    /// Distance of rows in a batch buffer: [`MessageFormat::length`] rounded up to 8.
    pub fn aligned_length(&self) -> u32 {
        self.length.checked_next_multiple_of(8).unwrap_or(u32::MAX)
    }

    /// How many rows fbclient asks for with one op_fetch.
    pub fn fetch_count(&self, packed: bool) -> u16 {
        const BATCH_BYTES_MAX: u32 = 1_048_576;
        const BATCH_ROWS_MIN: u32 = 10;
        const BATCH_ROWS_MAX: u32 = 1_000;
        const OLD_BUFFERS_BYTES: u32 = 16 * 8_192;
        let length = self.length.max(1);
        let by_bytes = BATCH_BYTES_MAX / length;
        let most = if packed {
            BATCH_ROWS_MAX
        } else {
            OLD_BUFFERS_BYTES / length.checked_next_multiple_of(4).unwrap_or(u32::MAX)
        };
        u16::try_from(by_bytes.min(most).max(BATCH_ROWS_MIN)).unwrap_or(u16::MAX)
    }
}

/// The formats of all messages that a compiled request declares, in order of appearance. They stand at the start of
/// the BLR; what follows them is not looked at. BLR that declares none gives an empty list.
///
/// # Errors
/// [`DecodeError`] for a message clause that is cut short or names an unknown type.
pub fn parse_message_formats(bytes: &[u8]) -> Result<Vec<Arc<MessageFormat>>, DecodeError> {
    let mut reader = BlrReader { bytes, offset: 0 };
    let mut formats = Vec::new();
    if reader.header().is_err() {
        return Ok(formats);
    }
    while reader.peek() == blr::MESSAGE && reader.offset < bytes.len() {
        reader.offset += 1;
        formats.push(Arc::new(reader.message()?));
    }
    Ok(formats)
}

struct BlrReader<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl BlrReader<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.offset).copied().unwrap_or(0)
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        let byte = *self.bytes.get(self.offset).ok_or(DecodeError::Truncated { offset: self.offset })?;
        self.offset += 1;
        Ok(byte)
    }

    fn word(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_le_bytes([self.byte()?, self.byte()?]))
    }

    fn scale(&mut self) -> Result<i8, DecodeError> {
        Ok(self.byte()?.cast_signed())
    }

    fn expect(&mut self, wanted: u8) -> Result<(), DecodeError> {
        let offset = self.offset;
        match self.byte()? {
            byte if byte == wanted => Ok(()),
            byte => Err(DecodeError::BadValue { offset, value: u32::from(byte) }),
        }
    }

    /// Version and blr_begin.
    fn header(&mut self) -> Result<(), DecodeError> {
        match self.byte()? {
            blr::VERSION4 | blr::VERSION5 => self.expect(blr::BEGIN),
            byte => Err(DecodeError::BadValue { offset: 0, value: u32::from(byte) }),
        }
    }

    /// Number, count and descriptors, after blr_message.
    fn message(&mut self) -> Result<MessageFormat, DecodeError> {
        let number = self.byte()?;
        let count = usize::from(self.word()?);
        // Each descriptor takes a byte at least, so the bytes that are here bound what is reserved.
        let mut types = Vec::with_capacity(count.min(self.bytes.len()));
        for _ in 0..count {
            types.push(self.descriptor()?);
        }
        Ok(MessageFormat::from_types(number, types))
    }

    fn descriptor(&mut self) -> Result<MessageType, DecodeError> {
        let offset = self.offset;
        Ok(match self.byte()? {
            blr::TEXT => MessageType::Text { charset: None, length: self.word()? },
            blr::TEXT2 => MessageType::Text { charset: Some(self.word()?), length: self.word()? },
            blr::VARYING => MessageType::Varying { charset: None, length: self.word()? },
            blr::VARYING2 => MessageType::Varying { charset: Some(self.word()?), length: self.word()? },
            blr::CSTRING => MessageType::Cstring { charset: None, length: self.word()? },
            blr::CSTRING2 => MessageType::Cstring { charset: Some(self.word()?), length: self.word()? },
            blr::SHORT => MessageType::Short { scale: self.scale()? },
            blr::LONG => MessageType::Long { scale: self.scale()? },
            blr::INT64 => MessageType::Int64 { scale: self.scale()? },
            blr::INT128 => MessageType::Int128 { scale: self.scale()? },
            blr::QUAD => MessageType::Quad { scale: self.scale()? },
            blr::FLOAT => MessageType::Float,
            blr::DOUBLE => MessageType::Double,
            blr::D_FLOAT => MessageType::DFloat,
            blr::SQL_DATE => MessageType::Date,
            blr::SQL_TIME => MessageType::Time,
            blr::TIMESTAMP => MessageType::Timestamp,
            blr::BLOB2 => MessageType::Blob { subtype: self.word()?.cast_signed(), charset: self.word()? },
            blr::BOOL => MessageType::Boolean,
            blr::DEC64 => MessageType::DecFloat16,
            blr::DEC128 => MessageType::DecFloat34,
            blr::SQL_TIME_TZ => MessageType::TimeTz,
            blr::TIMESTAMP_TZ => MessageType::TimestampTz,
            blr::EX_TIME_TZ => MessageType::ExtendedTimeTz,
            blr::EX_TIMESTAMP_TZ => MessageType::ExtendedTimestampTz,
            byte => return Err(DecodeError::BadValue { offset, value: u32::from(byte) }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked example of wire-protocol.md, 7.7.
    const BLR: &[u8] = &[
        0x05, 0x02, 0x04, 0x00, 0x06, 0x00, 0x08, 0x00, 0x07, 0x00, 0x26, 0x04, 0x00, 0x14, 0x00, 0x07, 0x00,
        0x08, 0x00, 0x07, 0x00, 0xFF, 0x4C,
    ];

    #[test]
    fn the_worked_example_parses_prints_and_measures() {
        let format = MessageFormat::parse(BLR).unwrap().unwrap();
        assert_eq!(
            format.columns().copied().collect::<Vec<_>>(),
            [
                MessageType::Long { scale: 0 },
                MessageType::Varying { length: 20, charset: Some(4) },
                MessageType::Long { scale: 0 },
            ]
        );
        assert_eq!(format.to_blr(), BLR);
        assert_eq!((format.length(), format.aligned_length()), (38, 40));
        assert_eq!(format.fetch_count(true), 1000);
    }

    #[test]
    fn cut_or_odd_formats_are_refused() {
        for cut in 1..BLR.len() - 2 {
            assert!(MessageFormat::parse(&BLR[..cut]).is_err(), "{cut}");
        }
        let unpaired = MessageFormat::from_types(0, vec![MessageType::Double]);
        assert!(MessageFormat::parse(&unpaired.to_blr()).is_err());
        assert_eq!(MessageFormat::parse(&[]), Ok(None));
    }

    #[test]
    fn a_request_declares_its_messages_first() {
        let first = MessageFormat::from_types(1, vec![MessageType::Double]);
        let second = MessageFormat::from_types(0, vec![MessageType::Text { length: 32, charset: None }]);
        let mut request = vec![5, 2];
        request.extend_from_slice(&first.to_blr()[2..][..first.to_blr().len() - 4]);
        request.extend_from_slice(&second.to_blr()[2..][..second.to_blr().len() - 4]);
        request.extend_from_slice(&[7, 67, 255, 76]);
        let formats = parse_message_formats(&request).unwrap();
        assert_eq!(formats, [Arc::new(first), Arc::new(second)]);
    }
}
