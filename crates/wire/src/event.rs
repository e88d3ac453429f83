//! Event parameter blocks: names of events with counts.
//!
//! Source: wire-protocol.md, 6.12.

use crate::xdr::DecodeError;

const VERSION1: u8 = 1;

/// An event and how often it was posted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// Name, in the connection's character set.
    pub name: Vec<u8>,
    /// Posts so far; 0 in a first wait.
    pub count: u32,
}

/// Understands a block.
///
/// # Errors
/// [`DecodeError`] for another version or a block that ends inside an item.
pub fn parse_events(bytes: &[u8]) -> Result<Vec<EventCount>, DecodeError> {
    let mut events = Vec::new();
    let Some((version, mut rest)) = bytes.split_first() else { return Ok(events) };
    if *version != VERSION1 {
        return Err(DecodeError::BadValue { offset: 0, value: u32::from(*version) });
    }
    while let Some((length, after)) = rest.split_first() {
        let truncated = DecodeError::Truncated { offset: bytes.len() - rest.len() };
        let (name, after) = after.split_at_checked(usize::from(*length)).ok_or(truncated)?;
        let (count, after) = after.split_first_chunk().ok_or(truncated)?;
        events.push(EventCount { name: name.to_vec(), count: u32::from_le_bytes(*count) });
        rest = after;
    }
    Ok(events)
}

/// Writes a block. Names are cut at 255 bytes.
pub fn write_events(events: &[EventCount]) -> Vec<u8> {
    let mut out = vec![VERSION1];
    for EventCount { name, count } in events {
        let length = u8::try_from(name.len()).unwrap_or(u8::MAX);
        out.push(length);
        out.extend_from_slice(name.get(..usize::from(length)).unwrap_or(name));
        out.extend_from_slice(&count.to_le_bytes());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_back_as_written() {
        let events = [
            EventCount { name: b"ORDER".to_vec(), count: 0 },
            EventCount { name: b"X".to_vec(), count: 0x0102_0304 },
        ];
        let bytes = write_events(&events);
        assert_eq!(parse_events(&bytes).unwrap(), events);
        assert!(parse_events(&bytes[..bytes.len() - 1]).is_err());
    }
}
