//! Frames: what the bytes of a link are cut into, behind the greeting and inside the compression.
//!
//! Messages travel in fragments on three lanes, so that an answer need not wait until a long BLOB has passed. No length in a frame
//! is more than [`FRAGMENT_BYTES_MAX`]. Numbers are little-endian. Uses nothing of ours.
//!
//! | first byte | what follows | frame |
//! |---|---|---|
//! | 0, 1, 2 | length (2), that many bytes | a fragment on that lane; more of its message follow |
//! | 128, 129, 130 | the same | the last fragment of its message |
//! | 16 | messages (8), bytes (8) | [`Frame::Acknowledge`] |
//! | 17 | channel (4), bytes (8) | [`Frame::Credit`] |
//! | 18, 19 | number (4) | [`Frame::Ping`], [`Frame::Pong`] |
//! | 20 | length (2), that many bytes of UTF-8 | [`Frame::Goodbye`] |

use crate::message::Channel;

/// Longest fragment of a message: what an answer waits for at most once the link is its own.
pub const FRAGMENT_BYTES_MAX: usize = 16 * 1024;
/// How many lanes there are.
pub const LANES: usize = 3;

const LAST: u8 = 0x80;
const ACKNOWLEDGE: u8 = 16;
const CREDIT: u8 = 17;
const PING: u8 = 18;
const PONG: u8 = 19;
const GOODBYE: u8 = 20;

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frame<'a> {
    /// A piece of a message.
    Fragment {
        /// Its lane, less than [`LANES`].
        lane: u8,
        /// Whether the message ends here.
        is_last: bool,
        /// The piece.
        bytes: &'a [u8],
    },
    /// What the sender of this has got, since the session began: whole messages, and bytes of messages that it has handed on.
    Acknowledge {
        /// Messages that need not be kept any longer.
        messages: u64,
        /// Bytes that count no longer against the link's window.
        bytes: u64,
    },
    /// Bytes of a channel that count no longer against its window, since the channel began.
    Credit {
        /// Which.
        channel: Channel,
        /// How many in all.
        bytes: u64,
    },
    /// To be answered by [`Frame::Pong`] with the same number.
    Ping(u32),
    /// The answer.
    Pong(u32),
    /// The sender leaves and will not come back to this session.
    Goodbye(&'a str),
}

/// Bytes that are no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the peer sent bytes that are no frame of the farlink")]
pub struct NoFrame;

impl<'a> Frame<'a> {
    /// Appends the frame. Fragments and reasons longer than [`FRAGMENT_BYTES_MAX`] are cut off there: callers cut them before.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Frame::Fragment { lane, is_last, bytes } => {
                out.push(if is_last { lane | LAST } else { lane });
                encode_bytes(bytes, out);
            }
            Frame::Acknowledge { messages, bytes } => {
                out.push(ACKNOWLEDGE);
                out.extend_from_slice(&messages.to_le_bytes());
                out.extend_from_slice(&bytes.to_le_bytes());
            }
            Frame::Credit { channel, bytes } => {
                out.push(CREDIT);
                out.extend_from_slice(&channel.0.to_le_bytes());
                out.extend_from_slice(&bytes.to_le_bytes());
            }
            Frame::Ping(number) => {
                out.push(PING);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Frame::Pong(number) => {
                out.push(PONG);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Frame::Goodbye(reason) => {
                out.push(GOODBYE);
                encode_bytes(shortened(reason, FRAGMENT_BYTES_MAX).as_bytes(), out);
            }
        }
    }

    /// The first frame of `bytes` and how long it is; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`NoFrame`].
    pub fn decode(bytes: &'a [u8]) -> Result<Option<(Frame<'a>, usize)>, NoFrame> {
        let Some((&kind, rest)) = bytes.split_first() else { return Ok(None) };
        let mut reader = Reader { rest };
        let frame = match kind {
            ACKNOWLEDGE => {
                reader.u64().and_then(|messages| Some(Frame::Acknowledge { messages, bytes: reader.u64()? }))
            }
            CREDIT => reader
                .u32()
                .and_then(|channel| Some(Frame::Credit { channel: Channel(channel), bytes: reader.u64()? })),
            PING => reader.u32().map(Frame::Ping),
            PONG => reader.u32().map(Frame::Pong),
            GOODBYE => match reader.bytes()? {
                Some(bytes) => Some(Frame::Goodbye(std::str::from_utf8(bytes).map_err(|_| NoFrame)?)),
                None => None,
            },
            _ if usize::from(kind & !LAST) < LANES => {
                let (lane, is_last) = (kind & !LAST, kind & LAST != 0);
                reader.bytes()?.map(|bytes| Frame::Fragment { lane, is_last, bytes })
            }
            _ => return Err(NoFrame),
        };
        Ok(frame.map(|frame| (frame, bytes.len() - reader.rest.len())))
    }
}

fn encode_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    let bytes = &bytes[..bytes.len().min(FRAGMENT_BYTES_MAX)];
    out.extend_from_slice(&u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes());
    out.extend_from_slice(bytes);
}

const _: () = assert!(FRAGMENT_BYTES_MAX <= u16::MAX as usize);

/// Takes numbers and bytes as far as there are any.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Result<Option<&'a [u8]>, NoFrame> {
        let Some(length) = self.array().map(u16::from_le_bytes).map(usize::from) else { return Ok(None) };
        if length > FRAGMENT_BYTES_MAX {
            return Err(NoFrame);
        }
        let Some((bytes, rest)) = self.rest.split_at_checked(length) else { return Ok(None) };
        self.rest = rest;
        Ok(Some(bytes))
    }
}

/// A text's beginning of so many bytes at most, without a torn character.
pub(crate) fn shortened(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_back_as_they_were_however_they_are_cut() {
        let long = vec![7; FRAGMENT_BYTES_MAX];
        let frames = [
            Frame::Fragment { lane: 0, is_last: false, bytes: b"abc" },
            Frame::Fragment { lane: 2, is_last: true, bytes: &long },
            Frame::Fragment { lane: 1, is_last: true, bytes: b"" },
            Frame::Acknowledge { messages: 1 << 40, bytes: 5 },
            Frame::Credit { channel: Channel(9), bytes: 1 << 33 },
            Frame::Ping(3),
            Frame::Pong(u32::MAX),
            Frame::Goodbye("going home"),
        ];
        for frame in frames {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            for cut in 0..bytes.len() {
                assert_eq!(Frame::decode(&bytes[..cut]), Ok(None), "{frame:?} cut at {cut}");
            }
            bytes.push(0xEE);
            assert_eq!(Frame::decode(&bytes), Ok(Some((frame, bytes.len() - 1))));
        }
    }

    #[test]
    fn what_is_no_frame_is_refused_at_its_first_bytes() {
        assert_eq!(Frame::decode(&[3]), Err(NoFrame));
        assert_eq!(Frame::decode(&[0x80 | 16]), Err(NoFrame));
        assert_eq!(Frame::decode(&[0, 0xFF, 0xFF]), Err(NoFrame));
        assert_eq!(Frame::decode(&[GOODBYE, 1, 0, 0xFF]), Err(NoFrame));
    }
}
