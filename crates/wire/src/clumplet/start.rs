//! Arguments of services: the blocks of op_service_start and op_service_info, whose items have no common form.
//!
//! Source: wire-protocol.md, 11.5.

use super::spb;
use crate::info::common;
use crate::xdr::DecodeError;

/// An argument's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartValue {
    /// The tag says it all.
    Flag,
    /// One byte.
    Byte(u8),
    /// Four bytes, little-endian.
    Integer(i32),
    /// Eight bytes, little-endian.
    Big(i64),
    /// Bytes behind their length.
    Text(Vec<u8>),
}

/// One argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartItem {
    /// What it is.
    pub tag: u8,
    /// Its value.
    pub value: StartValue,
}

#[derive(Clone, Copy)]
enum Shape {
    Flag,
    Byte,
    Integer,
    Big,
    Text,
    WideText,
}

/// Shape of an argument of an action.
fn shape(action: u8, tag: u8) -> Option<Shape> {
    use Shape::{Big, Byte, Flag, Integer, Text, WideText};
    use spb::action as svc;
    let authentication =
        matches!(tag, spb::AUTH_BLOCK | spb::TRUSTED_AUTH | spb::AUTH_PLUGIN_NAME | spb::AUTH_PLUGIN_LIST);
    if authentication {
        return Some(WideText);
    }
    if tag == spb::DBNAME && action != svc::GET_FB_LOG {
        return Some(Text);
    }
    Some(match (action, tag) {
        (svc::BACKUP | svc::RESTORE, 5 | 8 | 13..=19) => Text,
        (svc::BACKUP | svc::RESTORE, 6 | 7 | 9..=11 | 21 | spb::OPTIONS | spb::VERBINT) => Integer,
        (svc::BACKUP | svc::RESTORE, 12 | 20) => Byte,
        (svc::BACKUP | svc::RESTORE, spb::VERBOSE) => Flag,
        (svc::REPAIR, spb::OPTIONS | 15 | 34 | 17 | 52) => Integer,
        (svc::REPAIR, 49..=51) => Big,
        (
            svc::ADD_USER
            | svc::DELETE_USER
            | svc::MODIFY_USER
            | svc::DISPLAY_USER
            | svc::DISPLAY_USER_ADM
            | svc::SET_MAPPING
            | svc::DROP_MAPPING,
            tag,
        ) => match tag {
            spb::SQL_ROLE_NAME | 7..=12 => Text,
            5 | 6 | 13 => Integer,
            _ => return None,
        },
        (svc::PROPERTIES, 5..=7 | 9 | 10 | 14 | 41..=43 | spb::OPTIONS) => Integer,
        (svc::PROPERTIES, 11..=13 | 44..=46) => Byte,
        (svc::DB_STATS, spb::COMMAND_LINE | 64) => Text,
        (svc::DB_STATS, spb::OPTIONS) => Integer,
        (svc::NBAK | svc::NREST, 6..=8) => Text,
        (svc::NBAK | svc::NREST, 5 | 10 | 11 | spb::OPTIONS) => Integer,
        (svc::NBAK | svc::NREST, 9) => Flag,
        (svc::NFIX, spb::OPTIONS) => Integer,
        (
            svc::TRACE_START | svc::TRACE_STOP | svc::TRACE_SUSPEND | svc::TRACE_RESUME | svc::TRACE_LIST,
            tag,
        ) => match tag {
            2 | 3 => Text,
            1 => Integer,
            _ => return None,
        },
        (svc::VALIDATE, 1..=4) => Text,
        (svc::VALIDATE, 5) => Integer,
        _ => return None,
    })
}

struct Items<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Items<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let end = self.offset.saturating_add(length);
        let taken = self.bytes.get(self.offset..end).ok_or(DecodeError::Truncated { offset: self.offset })?;
        self.offset = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let offset = self.offset;
        self.take(N)?.first_chunk().copied().ok_or(DecodeError::Truncated { offset })
    }

    fn value(&mut self, shape: Shape) -> Result<StartValue, DecodeError> {
        Ok(match shape {
            Shape::Flag => StartValue::Flag,
            Shape::Byte => StartValue::Byte(self.array::<1>()?[0]),
            Shape::Integer => StartValue::Integer(i32::from_le_bytes(self.array()?)),
            Shape::Big => StartValue::Big(i64::from_le_bytes(self.array()?)),
            Shape::Text => {
                let length = usize::from(u16::from_le_bytes(self.array()?));
                StartValue::Text(self.take(length)?.to_vec())
            }
            Shape::WideText => {
                let length = u32::from_le_bytes(self.array()?) as usize;
                StartValue::Text(self.take(length)?.to_vec())
            }
        })
    }

    fn all(&mut self, shape: impl Fn(u8) -> Option<Shape>) -> Result<Vec<StartItem>, DecodeError> {
        let mut items = Vec::new();
        while self.offset < self.bytes.len() {
            let offset = self.offset;
            let [tag] = self.array()?;
            let shape = shape(tag).ok_or(DecodeError::BadValue { offset, value: u32::from(tag) })?;
            items.push(StartItem { tag, value: self.value(shape)? });
        }
        Ok(items)
    }
}

/// Understands the block of op_service_start: the action and its arguments. Actions: [`spb::action`].
///
/// # Errors
/// [`DecodeError`] for an argument that the action does not take, or a block that ends inside one.
pub fn parse_service_start(bytes: &[u8]) -> Result<(u8, Vec<StartItem>), DecodeError> {
    let mut items = Items { bytes, offset: 0 };
    let [action] = items.array()?;
    Ok((action, items.all(|tag| shape(action, tag))?))
}

/// Understands the send items of op_service_info. Codes of replies are only their tag: some clients send
/// isc_spb_version (2), which is isc_info_truncated here, as if the block had a version.
///
/// # Errors
/// [`DecodeError`] for a block that ends inside an item.
pub fn parse_service_query(bytes: &[u8]) -> Result<Vec<StartItem>, DecodeError> {
    Items { bytes, offset: 0 }.all(|tag| {
        Some(match tag {
            common::END
            | common::TRUNCATED
            | common::ERROR
            | common::DATA_NOT_READY
            | common::LENGTH
            | common::FLAG_END => Shape::Flag,
            spb::info::AUTH_BLOCK => Shape::WideText,
            _ => Shape::Text,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_may_begin_with_a_version() {
        let item = StartItem { tag: spb::info::TIMEOUT, value: StartValue::Text(vec![5]) };
        let version = StartItem { tag: 2, value: StartValue::Flag };
        assert_eq!(parse_service_query(&[2]).unwrap(), std::slice::from_ref(&version));
        assert_eq!(parse_service_query(&[2, spb::info::TIMEOUT, 1, 0, 5]).unwrap(), [version, item]);
        assert!(parse_service_query(&[spb::info::TIMEOUT, 1]).is_err());
    }

    #[test]
    fn a_backup_with_every_shape_of_argument() {
        let bytes = [
            &[spb::action::BACKUP, spb::DBNAME, 3, 0][..],
            b"emp",
            &[spb::VERBOSE, spb::OPTIONS, 4, 0, 0, 0, spb::backup::FILE, 1, 0, b'f'],
        ]
        .concat();
        let (action, items) = parse_service_start(&bytes).unwrap();
        assert_eq!(action, spb::action::BACKUP);
        assert_eq!(
            items,
            [
                StartItem { tag: spb::DBNAME, value: StartValue::Text(b"emp".to_vec()) },
                StartItem { tag: spb::VERBOSE, value: StartValue::Flag },
                StartItem { tag: spb::OPTIONS, value: StartValue::Integer(4) },
                StartItem { tag: spb::backup::FILE, value: StartValue::Text(b"f".to_vec()) },
            ]
        );
        assert!(parse_service_start(&bytes[..bytes.len() - 1]).is_err());
        assert!(parse_service_start(&[spb::action::GET_FB_LOG, spb::DBNAME, 0, 0]).is_err());
    }
}
