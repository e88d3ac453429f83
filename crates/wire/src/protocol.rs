//! Protocol versions, what each brought, and the small code sets that packets share.
//!
//! Uses nothing of ours. Source: wire-protocol.md, 1.6, 2.1 and 2.5.

/// A negotiated protocol version, 10 to 20.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProtocolVersion(u16);

impl ProtocolVersion {
    /// Firebird 1.0.
    pub const V10: ProtocolVersion = ProtocolVersion(10);
    /// Firebird 2.1: deferred packets.
    pub const V11: ProtocolVersion = ProtocolVersion(11);
    /// Firebird 2.5: op_cancel.
    pub const V12: ProtocolVersion = ProtocolVersion(12);
    /// Firebird 3.0: authentication plugins, encryption, compression, packed messages.
    pub const V13: ProtocolVersion = ProtocolVersion(13);
    /// Firebird 3.0.1: reply size in op_crypt_key_callback.
    pub const V14: ProtocolVersion = ProtocolVersion(14);
    /// Firebird 3.0.2: op_crypt_key_callback before the accept.
    pub const V15: ProtocolVersion = ProtocolVersion(15);
    /// Firebird 4.0: statement timeouts, batches.
    pub const V16: ProtocolVersion = ProtocolVersion(16);
    /// Firebird 4.0.1: op_batch_sync, op_info_batch.
    pub const V17: ProtocolVersion = ProtocolVersion(17);
    /// Firebird 5.0: scrollable cursors.
    pub const V18: ProtocolVersion = ProtocolVersion(18);
    /// Firebird 5.0.3: inline blobs.
    pub const V19: ProtocolVersion = ProtocolVersion(19);
    /// Firebird 6.0: flags in op_prepare_statement.
    pub const V20: ProtocolVersion = ProtocolVersion(20);
    /// The newest we speak.
    pub const NEWEST: ProtocolVersion = ProtocolVersion::V20;

    const FLAG: u16 = 0x8000;

    /// A version by its number, if we speak it.
    pub const fn new(number: u16) -> Option<ProtocolVersion> {
        if number >= 10 && number <= 20 { Some(ProtocolVersion(number)) } else { None }
    }

    /// The version of a wire value: 10 is 0x000A, later ones carry 0x8000.
    pub const fn from_wire(value: u16) -> Option<ProtocolVersion> {
        match value {
            10 => Some(ProtocolVersion::V10),
            _ if value & Self::FLAG == 0 => None,
            _ => match value & !Self::FLAG {
                10 => None,
                number => ProtocolVersion::new(number),
            },
        }
    }

    /// The wire value.
    pub const fn to_wire(self) -> u16 {
        if self.0 == 10 { 10 } else { self.0 | Self::FLAG }
    }

    /// 10 to 20.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// Rows travel with a bitmap of NULLs instead of an indicator per value; strings have 32-bit lengths.
    pub fn has_packed_messages(self) -> bool {
        self >= Self::V13
    }

    /// Authentication plugins, op_crypt, compression, op_ping.
    pub fn has_plugins(self) -> bool {
        self >= Self::V13
    }

    /// op_cancel; blob columns described by blr_blob2.
    pub fn has_cancel(self) -> bool {
        self >= Self::V12
    }

    /// op_crypt_key_callback carries the size of the reply buffer.
    pub fn has_callback_size(self) -> bool {
        self >= Self::V14
    }

    /// op_execute carries a timeout; op_batch_* exist.
    pub fn has_statement_timeout(self) -> bool {
        self >= Self::V16
    }

    /// op_batch_sync and op_info_batch exist.
    pub fn has_batch_sync(self) -> bool {
        self >= Self::V17
    }

    /// op_execute carries cursor flags; op_fetch_scroll and op_info_cursor exist.
    pub fn has_scrollable_cursors(self) -> bool {
        self >= Self::V18
    }

    /// op_execute carries the largest blob wanted inline; op_inline_blob exists.
    pub fn has_inline_blobs(self) -> bool {
        self >= Self::V19
    }

    /// op_prepare_statement and op_exec_immediate end with flags.
    pub fn has_prepare_flags(self) -> bool {
        self >= Self::V20
    }
}

/// The number of an object (transaction, statement, request, blob) within its connection. 0 is the attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Handle(pub u16);

impl Handle {
    /// The attachment; where a transaction is expected: none.
    pub const NONE: Handle = Handle(0);
    /// "The object allocated last on this connection" (lazy_send only).
    pub const LATEST: Handle = Handle(0xFFFF);
}

/// How a connection behaves, in the low byte of the accept type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum ConnectionType {
    /// Remote procedure calls, one by one; no longer in use.
    Rpc = 2,
    /// No asynchronous notices.
    BatchSend = 3,
    /// Events announced by urgent data.
    OutOfBand = 4,
    /// Deferred packets and [`Handle::LATEST`].
    LazySend = 5,
}

/// Flag in a connection type: compression wanted, or agreed.
pub const FLAG_COMPRESS: u16 = 0x100;
/// Mask of the connection type proper.
pub const CONNECTION_TYPE_MASK: u16 = 0xFF;
/// The only architecture whose messages are XDR; the others are raw memory, which we never agree to.
pub const ARCHITECTURE_GENERIC: u32 = 1;
/// Options of op_free_statement (bits).
pub mod free_statement {
    /// Close the cursor.
    pub const CLOSE: u16 = 1;
    /// Drop the statement.
    pub const DROP: u16 = 2;
    /// Forget the prepared text, keep the handle.
    pub const UNPREPARE: u16 = 4;
}
/// Kinds of op_cancel.
pub mod cancel {
    /// Refuse cancellation from now on.
    pub const DISABLE: u16 = 1;
    /// Allow it again.
    pub const ENABLE: u16 = 2;
    /// Cancel what is running.
    pub const RAISE: u16 = 3;
    /// Break the connection (local to a client).
    pub const ABORT: u16 = 4;
}
/// Operations of op_fetch_scroll.
pub mod scroll {
    /// The next row.
    pub const NEXT: u16 = 0;
    /// The row before.
    pub const PRIOR: u16 = 1;
    /// The first row.
    pub const FIRST: u16 = 2;
    /// The last row.
    pub const LAST: u16 = 3;
    /// The row at a position, from 1; negative counts from the end.
    pub const ABSOLUTE: u16 = 4;
    /// The row at a distance.
    pub const RELATIVE: u16 = 5;
}
/// Cursor flag of op_execute: the cursor may scroll.
pub const CURSOR_SCROLLABLE: u32 = 1;
/// Bits in the object field of the reply to op_prepare_statement (lazy_send only).
pub mod prepare_reply {
    /// Fetch one row at a time (SELECT FOR UPDATE).
    pub const NO_BATCH: u16 = 2;
    /// The client may send op_execute without waiting for its reply (SELECT).
    pub const DEFER_EXECUTE: u16 = 4;
}
/// Status word of op_fetch_response at the end of a cursor.
pub const FETCH_END_OF_CURSOR: u32 = 100;
/// Object field of the reply to op_get_segment.
pub mod segment_state {
    /// The data ends at a segment's end; more may follow.
    pub const COMPLETE: u16 = 0;
    /// The last segment in the data goes on with the next request.
    pub const INCOMPLETE: u16 = 1;
    /// End of the blob.
    pub const END_OF_BLOB: u16 = 2;
}
/// Most objects one connection may hold (Firebird's limit).
pub const HANDLES_MAX: u16 = 65_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_travel_with_the_flag_from_11_on() {
        assert_eq!(ProtocolVersion::from_wire(10), Some(ProtocolVersion::V10));
        assert_eq!(ProtocolVersion::from_wire(0x8013), Some(ProtocolVersion::V19));
        assert_eq!(ProtocolVersion::V19.to_wire(), 0x8013);
        for stranger in [0, 9, 11, 13, 0x800A, 0x8009, 0x8015, 0xFFFF] {
            assert_eq!(ProtocolVersion::from_wire(stranger), None, "{stranger:#x}");
        }
    }
}
